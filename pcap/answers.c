/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Matches answers with requests.
 *
 * Answers come in the order of requests, so one acknowledges all before it; but a READ or an atomic
 * is only done by its own answer. An answer behind one that is not done says that this one's was
 * lost, and the requester will ask again: or that the capture lost it, if nobody does.
 */
#include "pcap/answers.h"

#include <inttypes.h>

#include "engine/comp.h"
#include "engine/wire.h"
#include "pcap/requests.h"

enum {
	BLOCKED_MAX = 32, /* answers that pass a READ before its own counts as not captured */
	STALL_TIMES = 20, /* as long as usual */
	STALL_SAMPLES = 8,
	GAVE_UP_SENDS = 3,
};

#define STALL_NS       10000000u
#define STALL_ALONE_NS 500000000u
#define UNANSWERED_NS  100000000u

static bool has_own_answer(const struct uroce_asked *e)
{
	return e->kind == UROCE_OP_READ || uroce_requests_is_atomic(e->kind);
}

/* ---- what is done ---- */

static void deliver(struct uroce_stream *g, const struct uroce_asked *e, uint64_t now_ns)
{
	struct uroce_step *step = uroce_series_step(&g->series, now_ns);

	uroce_histogram_add(&g->latency, uroce_requests_since(now_ns, e->message_ns));
	if (g->delivered_first_ns == 0)
		g->delivered_first_ns = e->message_ns;
	g->delivered_last_ns = now_ns;
	g->delivered_bytes += e->message_bytes;
	if (step)
		step->delivered_bytes += e->message_bytes;
}

/* Done with the entry at una. */
static void complete(
	struct uroce_analysis *a, struct uroce_stream *g, uint64_t number, uint64_t now_ns)
{
	struct uroce_requests *req = &g->req;
	struct uroce_asked *e = uroce_requests_entry(req, req->una++);

	if (e->hole) {
		uroce_analysis_note(a, g->connection, UROCE_FINDING_CAPTURE_GAP, number, 0,
			"PSN %u%s not in the capture, but acknowledged in frame %" PRIu64, e->psn,
			e->pkts > 1 ? " and more are" : " is", number);
		return;
	}
	req->in_flight_bytes -= e->bytes;
	if (e->last)
		deliver(g, e, now_ns);
}

/* Whether the oldest entry may be passed by an answer behind it. */
static bool may_pass(struct uroce_analysis *a, struct uroce_stream *g, struct uroce_asked *e,
	const struct uroce_kept_answer *p)
{
	struct uroce_requests *req = &g->req;

	if (e->hole || !has_own_answer(e))
		return true;
	if (!e->acked) {
		e->acked = true;
		e->lost_frame = 0;
		req->cause = UROCE_RESEND_IMPLIED;
		req->cause_psn = e->psn;
		req->cause_frame = p->number;
		req->cause_ns = p->time_ns;
		req->blocked = 0;
	}
	if (++req->blocked < BLOCKED_MAX)
		return false;
	uroce_analysis_note(a, g->connection, UROCE_FINDING_CAPTURE_GAP, p->number, 0,
		"the answer to frame %" PRIu64
		" is not in the capture, but what came behind it was "
		"acknowledged in frame %" PRIu64,
		e->first_frame, p->number);
	if (req->cause == UROCE_RESEND_IMPLIED)
		req->cause = UROCE_RESEND_NONE;
	return true;
}

/* Everything before psn was received. */
static void acknowledge(struct uroce_analysis *a, struct uroce_stream *g, uint32_t psn,
	const struct uroce_kept_answer *p)
{
	struct uroce_requests *req = &g->req;

	while (req->una != req->tail) {
		struct uroce_asked *e = uroce_requests_entry(req, req->una);

		if (!uroce_psn_before(uroce_psn_add(e->psn, e->pkts - 1), psn) ||
			!may_pass(a, g, e, p))
			return;
		complete(a, g, p->number, p->time_ns);
		req->progress_ns = p->time_ns;
	}
}

/* ---- the time it took ---- */

static void check_stall(struct uroce_analysis *a, struct uroce_stream *g,
	const struct uroce_asked *e, const struct uroce_kept_answer *p)
{
	const struct uroce_requests *req = &g->req;
	uint64_t begin_ns = e->last_ns > req->progress_ns ? e->last_ns : req->progress_ns;
	uint64_t took_ns = uroce_requests_since(p->time_ns, begin_ns);
	uint64_t usual_ns = uroce_histogram_mean_ns(&g->latency);
	bool known = g->latency.count >= STALL_SAMPLES;

	if (uroce_requests_is_done(req, e) || took_ns < STALL_NS ||
		took_ns < (known ? STALL_TIMES * usual_ns : STALL_ALONE_NS))
		return;
	uroce_analysis_note(a, g->connection, UROCE_FINDING_STALL, p->number, took_ns,
		"frame %" PRIu64 " answers frame %" PRIu64
		" after %.3f ms%s: the responder was slow, or "
		"its answer waited on its way",
		p->number, e->last_frame, uroce_requests_ms(took_ns),
		known ? ", far longer than usual" : "");
}

/* ---- refusals ---- */

static void note_cause(struct uroce_requests *req, enum uroce_resend_cause cause, uint64_t wait_ns,
	const struct uroce_kept_answer *p)
{
	req->older = req->cause == UROCE_RESEND_NAK;
	req->older_psn = req->cause_psn;
	req->cause = cause;
	req->cause_psn = p->psn;
	req->cause_ns = p->time_ns;
	req->cause_frame = p->number;
	req->wait_ns = wait_ns;
	req->resending = false;
}

static void take_rnr(struct uroce_analysis *a, struct uroce_stream *g,
	const struct uroce_kept_answer *p, const struct uroce_asked *e)
{
	uint64_t wait_ns = uroce_rnr_timer_ns(p->syndrome & UROCE_SYNDROME_VALUE_MASK);

	g->rnr_naks++;
	uroce_requests_mark(g, p->time_ns, p->psn, UROCE_MARK_RNR);
	note_cause(&g->req, UROCE_RESEND_RNR, wait_ns, p);
	uroce_analysis_note(a, g->connection, UROCE_FINDING_RNR, p->number, 0,
		"frame %" PRIu64 ": no receive was posted for PSN %u (frame %" PRIu64
		"), try again in %.2f ms",
		p->number, p->psn, e->last_frame, uroce_requests_ms(wait_ns));
}

static void take_fatal(struct uroce_analysis *a, struct uroce_stream *g,
	const struct uroce_kept_answer *p, const struct uroce_asked *e)
{
	static const struct {
		enum uroce_finding_kind kind;
		const char *words;
	} kinds[] = {
		{UROCE_FINDING_NAK_RESERVED, "a reserved syndrome"},
		{UROCE_FINDING_NAK_INVALID_REQUEST, "invalid request"},
		{UROCE_FINDING_NAK_REMOTE_ACCESS, "remote access error"},
		{UROCE_FINDING_NAK_REMOTE_OPERATIONAL, "remote operational error"},
	};
	uint32_t code = p->syndrome - UROCE_SYNDROME_NAK;
	struct uroce_finding *finding;

	if (code >= sizeof(kinds) / sizeof(kinds[0]))
		code = 0;
	g->req.dead |= code > 0;
	finding = uroce_analysis_note(a, g->connection, kinds[code].kind, e->first_frame, 0,
		"frame %" PRIu64 " refuses PSN %u (%s, frame %" PRIu64 "): %s (syndrome 0x%02x)",
		p->number, p->psn, uroce_op_words[e->kind], e->first_frame, kinds[code].words,
		p->syndrome);
	if (finding)
		uroce_finding_frame(finding, p->number);
}

static void take_nak(struct uroce_analysis *a, struct uroce_stream *g,
	const struct uroce_kept_answer *p, const struct uroce_asked *e)
{
	g->naks++;
	uroce_requests_mark(g, p->time_ns, p->psn, UROCE_MARK_NAK);
	if (p->syndrome == UROCE_SYNDROME_NAK_PSN_SEQUENCE)
		note_cause(&g->req, UROCE_RESEND_NAK, 0, p);
	else
		take_fatal(a, g, p, e);
}

static void take_ack(struct uroce_analysis *a, struct uroce_stream *g,
	const struct uroce_kept_answer *p, struct uroce_asked *e)
{
	uint8_t kind = p->syndrome & UROCE_SYNDROME_KIND_MASK;

	if (kind == UROCE_SYNDROME_ACK) {
		uroce_requests_mark(g, p->time_ns, p->psn, UROCE_MARK_ANSWER);
		check_stall(a, g, e, p);
		acknowledge(a, g, uroce_psn_add(p->psn, 1), p);
		return;
	}
	acknowledge(a, g, p->psn, p);
	if (uroce_requests_is_done(&g->req, e))
		return; /* late: it was answered since */
	if (kind == UROCE_SYNDROME_RNR)
		take_rnr(a, g, p, e);
	else
		take_nak(a, g, p, e);
}

/* ---- READs and atomics ---- */

static void finish_own(struct uroce_analysis *a, struct uroce_stream *g, struct uroce_asked *e,
	uint32_t psn, const struct uroce_kept_answer *p)
{
	struct uroce_requests *req = &g->req;

	check_stall(a, g, e, p);
	acknowledge(a, g, e->psn, p);
	if (req->una == req->tail || uroce_requests_entry(req, req->una) != e)
		return; /* an older one is not done */
	complete(a, g, p->number, p->time_ns);
	req->progress_ns = p->time_ns;
	if (req->cause == UROCE_RESEND_IMPLIED &&
		uroce_psn_before(req->cause_psn, uroce_psn_add(psn, 1)))
		req->cause = UROCE_RESEND_NONE;
}

static void take_atomic(struct uroce_analysis *a, struct uroce_stream *g,
	const struct uroce_kept_answer *p, struct uroce_asked *e)
{
	uroce_requests_mark(g, p->time_ns, p->psn, UROCE_MARK_ANSWER);
	if (!uroce_requests_is_atomic(e->kind) && !e->hole)
		uroce_analysis_note(a, g->connection, UROCE_FINDING_RESPONSE_UNASKED, p->number, 0,
			"frame %" PRIu64 " answers an atomic, but PSN %u (frame %" PRIu64
			") is a %s",
			p->number, p->psn, e->first_frame, uroce_op_words[e->kind]);
	else if (!uroce_requests_is_done(&g->req, e))
		finish_own(a, g, e, p->psn, p);
}

static void note_skipped(
	struct uroce_stream *g, const struct uroce_kept_answer *p, struct uroce_asked *e)
{
	struct uroce_requests *req = &g->req;

	e->lost_psn = e->answer_psn;
	e->lost_frame = p->number;
	note_cause(req, UROCE_RESEND_IMPLIED, 0, p);
	req->cause_psn = e->answer_psn;
	uroce_requests_mark(g, p->time_ns, e->answer_psn, UROCE_MARK_LOST);
}

/* Where the answer stands; false: it was given before, and nothing more is to be said. */
static bool follow_answer(struct uroce_analysis *a, struct uroce_stream *g,
	const struct uroce_kept_answer *p, struct uroce_asked *e)
{
	int32_t ahead = uroce_psn_diff(p->psn, e->answer_psn);

	if (ahead > 0)
		note_skipped(g, p, e);
	if (ahead < 0) {
		if (e->lost_frame == 0 || p->psn != e->lost_psn)
			return false;
		uroce_analysis_note(a, g->connection, UROCE_FINDING_REORDERED, p->number, 0,
			"frame %" PRIu64 ": the answer with PSN %u comes after frame %" PRIu64,
			p->number, p->psn, e->lost_frame);
		e->lost_frame = 0;
		if (g->req.cause == UROCE_RESEND_IMPLIED)
			g->req.cause = UROCE_RESEND_NONE;
		return true;
	}
	e->answer_psn = uroce_psn_add(p->psn, 1);
	return true;
}

/* The last packet of an answer tells how many there are, where that was a guess. */
static void mend_guess(struct uroce_stream *g, struct uroce_asked *e, uint32_t pkts)
{
	struct uroce_requests *req = &g->req;
	bool newest = uroce_psn_add(e->psn, e->pkts) == req->psn_next;

	if (!e->guessed || !newest)
		return;
	e->pkts = pkts;
	e->guessed = false;
	req->psn_next = uroce_psn_add(e->psn, pkts);
}

static void end_answer(struct uroce_analysis *a, struct uroce_stream *g,
	const struct uroce_kept_answer *p, struct uroce_asked *e)
{
	uint32_t pkts = ((p->psn - e->psn) & UROCE_PSN_MASK) + 1;
	uint64_t bytes = (uint64_t)(pkts - 1) * g->connection->mtu_bytes + p->payload_bytes;

	mend_guess(g, e, pkts);
	if (pkts != e->pkts)
		uroce_analysis_note(a, g->connection, UROCE_FINDING_READ_PSN, p->number, 0,
			"frame %" PRIu64 " ends the answer to the READ in frame %" PRIu64
			" with PSN %u, instead of %u",
			p->number, e->first_frame, p->psn, uroce_psn_add(e->psn, e->pkts - 1));
	else if (bytes != e->bytes && (pkts == 1 || g->connection->mtu_bytes))
		uroce_analysis_note(a, g->connection, UROCE_FINDING_LENGTH_MISMATCH, p->number, 0,
			"frame %" PRIu64
			" ends the answer to the READ of %u bytes in frame %" PRIu64
			" after %" PRIu64,
			p->number, e->bytes, e->first_frame, bytes);
}

static void take_read(struct uroce_analysis *a, struct uroce_stream *g,
	const struct uroce_kept_answer *p, struct uroce_asked *e, const struct uroce_opcode *opcode)
{
	if (e->hole)
		return;
	if (e->kind != UROCE_OP_READ) {
		uroce_analysis_note(a, g->connection, UROCE_FINDING_RESPONSE_UNASKED, p->number, 0,
			"frame %" PRIu64 " answers a READ, but PSN %u (frame %" PRIu64 ") is a %s",
			p->number, p->psn, e->first_frame, uroce_op_words[e->kind]);
		return;
	}
	uroce_requests_mark(g, p->time_ns, p->psn, UROCE_MARK_ANSWER);
	if (opcode->last)
		uroce_requests_check_mtu(a, g, p->number, p->payload_bytes, opcode->name);
	else
		uroce_requests_learn_mtu(a, g, p->number, p->payload_bytes, opcode->name);
	if (e->guessed && g->connection->mtu_bytes)
		mend_guess(g, e, uroce_requests_pkts(e->bytes, g->connection->mtu_bytes));
	if (uroce_requests_is_done(&g->req, e) || !follow_answer(a, g, p, e))
		return;
	if (opcode->last)
		end_answer(a, g, p, e);
	if (e->lost_frame == 0 && e->answer_psn == uroce_psn_add(e->psn, e->pkts))
		finish_own(a, g, e, p->psn, p);
}

/* ---- all ---- */

bool uroce_answers_fit(const struct uroce_stream *g, const struct uroce_kept_answer *p)
{
	const struct uroce_asked *e = uroce_requests_find(&g->req, p->psn);
	enum uroce_op_kind kind = uroce_opcodes[p->opcode].kind;

	if (!e || uroce_requests_is_done(&g->req, e))
		return false;
	if (kind == UROCE_OP_READ_RESPONSE)
		return e->kind == UROCE_OP_READ;
	if (kind == UROCE_OP_ATOMIC_ACK)
		return uroce_requests_is_atomic(e->kind);
	return !e->hole;
}

static void note_beyond(struct uroce_stream *g, const struct uroce_kept_answer *p)
{
	struct uroce_requests *req = &g->req;

	if (req->beyond)
		return;
	req->beyond = true;
	req->beyond_psn = p->psn;
	req->beyond_frame = p->number;
}

bool uroce_answers_take(
	struct uroce_analysis *a, struct uroce_stream *g, const struct uroce_kept_answer *p)
{
	const struct uroce_opcode *opcode = &uroce_opcodes[p->opcode];
	struct uroce_asked *e;

	if (!g->req.started || g->req.tail == g->req.head)
		return false;
	e = uroce_requests_find(&g->req, p->psn);
	if (!e) {
		if (!uroce_psn_before(p->psn, g->req.psn_next))
			note_beyond(g, p);
		return false;
	}
	if (opcode->kind == UROCE_OP_READ_RESPONSE)
		take_read(a, g, p, e, opcode);
	else if (opcode->kind == UROCE_OP_ATOMIC_ACK)
		take_atomic(a, g, p, e);
	else if (p->has_aeth)
		take_ack(a, g, p, e);
	return true;
}

static void note_silence(
	struct uroce_analysis *a, struct uroce_stream *g, const struct uroce_asked *e)
{
	uint64_t silent_ns = uroce_requests_since(a->last_ns, e->last_ns);
	struct uroce_finding *finding;

	if (e->sends < GAVE_UP_SENDS && silent_ns < UNANSWERED_NS)
		return;
	finding = uroce_analysis_note(a, g->connection,
		e->sends < GAVE_UP_SENDS ? UROCE_FINDING_UNANSWERED : UROCE_FINDING_GAVE_UP,
		e->first_frame, 0,
		"PSN %u (%s) was sent %u time%s, last in frame %" PRIu64
		", and the capture has no answer to it",
		e->psn, uroce_op_words[e->kind], e->sends, e->sends == 1 ? "" : "s", e->last_frame);
	if (finding && e->last_frame != e->first_frame)
		uroce_finding_frame(finding, e->last_frame);
}

void uroce_answers_finish(struct uroce_analysis *a, struct uroce_stream *g)
{
	const struct uroce_requests *req = &g->req;

	if (req->beyond)
		uroce_analysis_note(a, g->connection, UROCE_FINDING_ACK_UNSENT, req->beyond_frame,
			0, "frame %" PRIu64 " acknowledges PSN %u, which is not in the capture",
			req->beyond_frame, req->beyond_psn);
	for (uint32_t i = req->una; i != req->tail && !req->dead; i++) {
		if (uroce_requests_entry(req, i)->hole)
			continue;
		note_silence(a, g, uroce_requests_entry(req, i));
		return;
	}
}
