/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tells new requests from those that are sent again.
 *
 * What is on its way is a ring of entries without gaps in their PSNs: where the capture has a gap
 * there are entries for it, so a packet that comes late, or again, always finds its place. Some
 * entries stay when they are answered, to tell what is sent again needlessly.
 *
 * Why something is sent again is what came last: a NAK, an RNR NAK, an answer that skipped one, or
 * nothing, which is the timeout. A packet that equals the one before it was doubled on its way.
 */
#include "pcap/requests.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum {
	ROOM_MIN = 16,
	ROOM_MAX = 1 << 16,
	ROOM_OF_ALL = 2 << 20,
	REMEMBERED = 64,
	JUMP_PSNS = 1 << 16, /* further ahead is another life of the queue pair */
	HOLES_MAX = 256,
	MTU_MIN = 256,
	MTU_MAX = 4096,
	MTU_USUAL = 1024,
};

#define DOUBLED_NS   5000000u
#define OVERTAKEN_NS 2000000u
#define TIMEOUT_NS   200000u /* nobody's timeout is shorter */

const char *const uroce_op_words[UROCE_OPERATIONS] = {
	[UROCE_OP_NONE] = "request",
	[UROCE_OP_SEND] = "SEND",
	[UROCE_OP_WRITE] = "WRITE",
	[UROCE_OP_READ] = "READ",
	[UROCE_OP_COMPARE_SWAP] = "COMPARE-SWAP",
	[UROCE_OP_FETCH_ADD] = "FETCH-ADD",
	[UROCE_OP_READ_RESPONSE] = "READ response",
	[UROCE_OP_ACK] = "ACKNOWLEDGE",
	[UROCE_OP_ATOMIC_ACK] = "ATOMIC ACKNOWLEDGE",
	[UROCE_OP_CNP] = "CNP",
	[UROCE_OP_FLUSH] = "FLUSH",
	[UROCE_OP_ATOMIC_WRITE] = "ATOMIC WRITE",
};

/* ---- the ring ---- */

static void forget(struct uroce_requests *req)
{
	if (req->head == req->una) {
		if (!uroce_requests_entry(req, req->una)->hole)
			req->in_flight_bytes -= uroce_requests_entry(req, req->una)->bytes;
		req->una++;
	}
	req->head++;
}

static void grow(struct uroce_analysis *a, struct uroce_requests *req)
{
	uint32_t room = req->room ? 2 * req->room : ROOM_MIN;
	struct uroce_asked *ring;

	if (room > ROOM_MAX || a->asked_room + room > ROOM_OF_ALL)
		return;
	ring = calloc(room, sizeof(*ring));
	if (!ring)
		return;
	for (uint32_t i = req->head; i != req->tail; i++)
		ring[i & (room - 1)] = *uroce_requests_entry(req, i);
	free(req->ring);
	a->asked_room += room - req->room;
	req->ring = ring;
	req->room = room;
}

/* A new last entry; NULL: no memory for the first. */
static struct uroce_asked *push(struct uroce_analysis *a, struct uroce_requests *req)
{
	while (req->una - req->head > REMEMBERED)
		req->head++;
	if (req->tail - req->head == req->room)
		grow(a, req);
	if (req->room == 0)
		return NULL;
	if (req->tail - req->head == req->room)
		forget(req);
	return uroce_requests_entry(req, req->tail++);
}

struct uroce_asked *uroce_requests_find(const struct uroce_requests *req, uint32_t psn)
{
	uint32_t low = req->head, high = req->tail;

	while (low != high) {
		uint32_t middle = low + (high - low) / 2;
		struct uroce_asked *e = uroce_requests_entry(req, middle);

		if (uroce_psn_within(psn, e->psn, e->pkts))
			return e;
		if (uroce_psn_before(psn, e->psn))
			high = middle;
		else
			low = middle + 1;
	}
	return NULL;
}

bool uroce_requests_is_done(const struct uroce_requests *req, const struct uroce_asked *e)
{
	return req->una == req->tail ||
		uroce_psn_before(e->psn, uroce_requests_entry(req, req->una)->psn);
}

/* ---- the path MTU ---- */

uint32_t uroce_requests_pkts(uint32_t bytes, uint32_t mtu_bytes)
{
	return bytes ? (bytes - 1) / mtu_bytes + 1 : 1;
}

static bool is_mtu(uint32_t bytes)
{
	return bytes >= MTU_MIN && bytes <= MTU_MAX && (bytes & (bytes - 1)) == 0;
}

void uroce_requests_learn_mtu(struct uroce_analysis *a, struct uroce_stream *f, uint64_t number,
	uint32_t payload_bytes, const char *what)
{
	struct uroce_connection *c = f->connection;

	if (c->mtu_bytes == 0 && is_mtu(payload_bytes))
		c->mtu_bytes = payload_bytes;
	else if (payload_bytes != c->mtu_bytes)
		uroce_analysis_note(a, c, UROCE_FINDING_MTU_MISMATCH, number, 0,
			"frame %" PRIu64 ": %s of %u bytes, but the path MTU is %u%s", number, what,
			payload_bytes, c->mtu_bytes ? c->mtu_bytes : MTU_USUAL,
			c->mtu_bytes ? "" : " or another power of two");
}

void uroce_requests_check_mtu(struct uroce_analysis *a, struct uroce_stream *f, uint64_t number,
	uint32_t payload_bytes, const char *what)
{
	uint32_t most = f->connection->mtu_bytes ? f->connection->mtu_bytes : MTU_MAX;

	if (payload_bytes > most)
		uroce_analysis_note(a, f->connection, UROCE_FINDING_MTU_MISMATCH, number, 0,
			"frame %" PRIu64 ": %s of %u bytes, more than the path MTU of %u", number,
			what, payload_bytes, most);
}

static void check_payload(
	struct uroce_analysis *a, struct uroce_stream *f, const struct uroce_packet *p)
{
	if (!p->payload && p->payload_bytes == 0 && p->icrc == UROCE_TEXT_ICRC_UNKNOWN)
		return; /* cut before it */
	if (p->opcode->last)
		uroce_requests_check_mtu(a, f, p->number, p->payload_bytes, p->opcode->name);
	else
		uroce_requests_learn_mtu(a, f, p->number, p->payload_bytes, p->opcode->name);
}

/* ---- messages ---- */

static void count_message(struct uroce_stream *f, uint8_t kind, uint64_t bytes)
{
	if (f->messages[kind] == 0 || bytes < f->sizes_min[kind])
		f->sizes_min[kind] = bytes;
	if (bytes > f->sizes_max[kind])
		f->sizes_max[kind] = bytes;
	f->messages[kind]++;
	f->message_bytes[kind] += bytes;
}

static void check_sequence(
	struct uroce_analysis *a, struct uroce_stream *f, const struct uroce_packet *p)
{
	const struct uroce_requests *req = &f->req;

	if (p->opcode->first && req->in_message)
		uroce_analysis_note(a, f->connection, UROCE_FINDING_OPCODE_SEQUENCE, p->number, 0,
			"frame %" PRIu64 ": %s, although the message that began in frame %" PRIu64
			" has not ended",
			p->number, p->opcode->name, req->message_frame);
	else if (!p->opcode->first && !req->in_message)
		uroce_analysis_note(a, f->connection, UROCE_FINDING_OPCODE_SEQUENCE, p->number, 0,
			"frame %" PRIu64 ": %s, although no message was begun", p->number,
			p->opcode->name);
	else if (!p->opcode->first && req->kind != p->opcode->kind)
		uroce_analysis_note(a, f->connection, UROCE_FINDING_OPCODE_SEQUENCE, p->number, 0,
			"frame %" PRIu64
			": %s goes on with a message of another operation, begun in "
			"frame %" PRIu64,
			p->number, p->opcode->name, req->message_frame);
}

static void begin_message(struct uroce_requests *req, const struct uroce_packet *p)
{
	req->kind = (uint8_t)p->opcode->kind;
	req->message_ns = p->time_ns;
	req->message_frame = p->number;
	req->message_bytes = 0;
	req->dma_len = p->dma_len;
	req->broken = false;
}

static void end_message(
	struct uroce_analysis *a, struct uroce_stream *f, const struct uroce_packet *p)
{
	struct uroce_requests *req = &f->req;
	uint64_t bytes = req->message_bytes;

	if (p->opcode->kind == UROCE_OP_READ)
		bytes = p->dma_len;
	if (uroce_requests_is_atomic(p->opcode->kind))
		bytes = 8;
	if (p->opcode->kind == UROCE_OP_WRITE && req->kind == UROCE_OP_WRITE && !req->broken &&
		bytes != req->dma_len && p->payload)
		uroce_analysis_note(a, f->connection, UROCE_FINDING_LENGTH_MISMATCH, p->number, 0,
			"frame %" PRIu64
			": a WRITE of %u bytes, as its RETH says, ends with %" PRIu64,
			p->number, req->dma_len, bytes);
	req->message_bytes = bytes;
	count_message(f, (uint8_t)p->opcode->kind, bytes);
}

/* Follows the message that a new packet belongs to. */
static void follow_message(struct uroce_analysis *a, struct uroce_stream *f,
	const struct uroce_packet *p, bool after_hole, bool first_seen)
{
	struct uroce_requests *req = &f->req;

	if (!after_hole && !first_seen)
		check_sequence(a, f, p);
	if (p->opcode->first || !req->in_message)
		begin_message(req, p);
	req->broken |= after_hole || (!p->opcode->first && !req->in_message);
	req->in_message = true;
	req->message_bytes += p->payload_bytes;
	check_payload(a, f, p);
	if (p->opcode->last) {
		end_message(a, f, p);
		req->in_message = false;
	}
}

/* ---- new requests ---- */

void uroce_requests_start(struct uroce_requests *req, uint32_t psn)
{
	req->started = true;
	req->psn_first = req->psn_next = psn;
	req->last_psn = uroce_psn_add(psn, UROCE_PSN_MASK);
}

static uint32_t pkts_of(const struct uroce_stream *f, const struct uroce_packet *p)
{
	uint32_t mtu = f->connection->mtu_bytes ? f->connection->mtu_bytes : MTU_USUAL;
	uint32_t pkts = p->opcode->kind == UROCE_OP_READ ? uroce_requests_pkts(p->dma_len, mtu) : 1;

	return pkts < UROCE_PSN_OUTSTANDING_MAX ? pkts : UROCE_PSN_OUTSTANDING_MAX - 1;
}

static void open_hole(struct uroce_analysis *a, struct uroce_stream *f,
	const struct uroce_packet *p, uint32_t pkts)
{
	struct uroce_requests *req = &f->req;

	while (pkts > 0) {
		struct uroce_asked *e = push(a, req);
		uint32_t n = pkts > HOLES_MAX ? pkts - HOLES_MAX : 1;

		if (!e)
			return;
		*e = (struct uroce_asked){.psn = req->psn_next,
			.pkts = n,
			.hole = true,
			.first_ns = p->time_ns,
			.last_ns = p->time_ns,
			.message_ns = p->time_ns,
			.first_frame = p->number};
		uroce_requests_mark(f, p->time_ns, req->psn_next, UROCE_MARK_LOST);
		req->psn_next = uroce_psn_add(req->psn_next, n);
		pkts -= n;
	}
}

static void fill_in(struct uroce_stream *f, const struct uroce_packet *p, struct uroce_asked *e)
{
	struct uroce_requests *req = &f->req;

	e->last_ns = p->time_ns;
	e->last_frame = p->number;
	e->icrc = p->icrc_value;
	e->kind = (uint8_t)p->opcode->kind;
	e->last = p->opcode->last;
	e->bytes = p->opcode->kind == UROCE_OP_READ ? p->dma_len : p->payload_bytes;
	e->answer_psn = p->psn;
	e->sends = 1;
	req->in_flight_bytes += e->bytes;
	if (req->in_flight_bytes > f->in_flight_max_bytes)
		f->in_flight_max_bytes = req->in_flight_bytes;
}

/* The acknowledgement of something not seen yet: was the capture at fault, or the responder? */
static void judge_beyond(
	struct uroce_analysis *a, struct uroce_stream *f, const struct uroce_packet *p)
{
	struct uroce_requests *req = &f->req;

	req->beyond = false;
	if (uroce_psn_before(req->beyond_psn, p->psn))
		return; /* a hole says it */
	uroce_analysis_note(a, f->connection, UROCE_FINDING_ACK_UNSENT, req->beyond_frame, 0,
		"frame %" PRIu64 " acknowledges PSN %u, which is not sent before frame %" PRIu64,
		req->beyond_frame, req->beyond_psn, p->number);
}

static void take_new(struct uroce_analysis *a, struct uroce_stream *f, const struct uroce_packet *p,
	uint32_t hole, bool first_seen)
{
	struct uroce_requests *req = &f->req;
	struct uroce_step *step;
	struct uroce_asked *e;

	if (req->beyond)
		judge_beyond(a, f, p);
	open_hole(a, f, p, hole);
	follow_message(a, f, p, hole > 0, first_seen);
	e = push(a, req);
	if (!e)
		return;
	*e = (struct uroce_asked){.psn = p->psn,
		.pkts = pkts_of(f, p),
		.first_ns = p->time_ns,
		.first_frame = p->number,
		.message_ns = req->message_ns,
		.message_bytes = req->message_bytes,
		.guessed = p->opcode->kind == UROCE_OP_READ && !f->connection->mtu_bytes &&
			p->dma_len > MTU_MIN};
	fill_in(f, p, e);
	req->psn_next = uroce_psn_add(p->psn, e->pkts);
	req->resending = false;
	uroce_requests_mark(f, p->time_ns, p->psn, UROCE_MARK_REQUEST);
	step = uroce_series_step(&f->series, p->time_ns);
	if (step && req->in_flight_bytes > step->in_flight_bytes)
		step->in_flight_bytes = req->in_flight_bytes;
}

/* ---- sent again ---- */

/*
 * Going back too far is wrong. Not far enough may be a loss before the place of capture, but not
 * when the same PSN is asked for again.
 */
static void check_go_back(
	struct uroce_analysis *a, struct uroce_stream *f, const struct uroce_packet *p)
{
	struct uroce_requests *req = &f->req;
	bool beyond = uroce_psn_before(req->cause_psn, p->psn);
	bool twice = beyond && req->skipped && req->skipped_psn == req->cause_psn;

	req->skipped = beyond;
	req->skipped_psn = req->cause_psn;
	if (p->psn == req->cause_psn || (beyond && !twice))
		return;
	uroce_analysis_note(a, f->connection, UROCE_FINDING_GO_BACK_WRONG, p->number, 0,
		"frame %" PRIu64 " goes back to PSN %u, although frame %" PRIu64 " said %u",
		p->number, p->psn, req->cause_frame, req->cause_psn);
}

static void note_loss(struct uroce_analysis *a, struct uroce_stream *f,
	const struct uroce_packet *p, const struct uroce_asked *e)
{
	uint64_t cost_ns = e ? uroce_requests_since(p->time_ns, e->last_ns) : 0;
	struct uroce_finding *finding;

	if (e && e->last_frame)
		finding = uroce_analysis_note(a, f->connection, UROCE_FINDING_LOSS, e->last_frame,
			cost_ns,
			"PSN %u (frame %" PRIu64
			") was lost behind the place of capture: NAK in frame "
			"%" PRIu64 ", sent again %.3f ms later in frame %" PRIu64,
			p->psn, e->last_frame, f->req.cause_frame, uroce_requests_ms(cost_ns),
			p->number);
	else
		finding = uroce_analysis_note(a, f->connection, UROCE_FINDING_LOSS,
			f->req.cause_frame, cost_ns,
			"PSN %u was lost before the place of capture: NAK in frame %" PRIu64
			", sent again in frame %" PRIu64,
			p->psn, f->req.cause_frame, p->number);
	if (finding)
		uroce_finding_frame(finding, p->number);
}

static void note_rnr(struct uroce_analysis *a, struct uroce_stream *f, const struct uroce_packet *p)
{
	const struct uroce_requests *req = &f->req;
	uint64_t waited_ns = uroce_requests_since(p->time_ns, req->cause_ns);
	uint32_t index = f->connection->findings[UROCE_FINDING_RNR];

	if (index)
		a->findings.list[index - 1].cost_ns += waited_ns;
	if (waited_ns < req->wait_ns)
		uroce_analysis_note(a, f->connection, UROCE_FINDING_RNR_IGNORED, p->number, 0,
			"frame %" PRIu64 " sends again %.3f ms after the RNR NAK in frame %" PRIu64
			", which asked for %.2f ms",
			p->number, uroce_requests_ms(waited_ns), req->cause_frame,
			uroce_requests_ms(req->wait_ns));
}

static void note_timeout(struct uroce_analysis *a, struct uroce_stream *f,
	const struct uroce_packet *p, const struct uroce_asked *e)
{
	uint64_t waited_ns = uroce_requests_since(p->time_ns, e->last_ns);
	uint64_t idle_ns = uroce_requests_since(p->time_ns, f->req.progress_ns);
	struct uroce_finding *finding;

	if (waited_ns < TIMEOUT_NS) {
		uroce_analysis_note(a, f->connection, UROCE_FINDING_UNEXPLAINED, p->number, 0,
			"frame %" PRIu64 " sends PSN %u again %.3f ms after frame %" PRIu64
			", although nothing asked for it",
			p->number, p->psn, uroce_requests_ms(waited_ns), e->last_frame);
		return;
	}
	finding = uroce_analysis_note(a, f->connection, UROCE_FINDING_TIMEOUT, e->last_frame,
		waited_ns < idle_ns || f->req.progress_ns == 0 ? waited_ns : idle_ns,
		"PSN %u%s%s: no answer for %.3f ms, and sent again in frame %" PRIu64, p->psn,
		e->last_frame ? "" : " is not in the capture before", e->sends > 1 ? " again" : "",
		uroce_requests_ms(waited_ns), p->number);
	if (finding)
		uroce_finding_frame(finding, p->number);
}

static void note_spurious(struct uroce_analysis *a, struct uroce_stream *f,
	const struct uroce_packet *p, const struct uroce_asked *e)
{
	uint64_t waited_ns = e ? uroce_requests_since(p->time_ns, e->last_ns) : 0;

	uroce_analysis_note(a, f->connection, UROCE_FINDING_SPURIOUS, p->number, waited_ns,
		"frame %" PRIu64 " sends PSN %u again after %.3f ms, although the capture has its "
		"answer: that one was lost behind the place of capture, or came too late",
		p->number, p->psn, uroce_requests_ms(waited_ns));
}

/* The first packet of a going back. */
static void begin_resend(struct uroce_analysis *a, struct uroce_stream *f,
	const struct uroce_packet *p, const struct uroce_asked *e)
{
	struct uroce_requests *req = &f->req;
	enum uroce_resend_cause cause = req->cause;

	if (req->older && p->psn == req->older_psn && p->psn != req->cause_psn) {
		req->older = false;
		note_loss(a, f, p, e);
		return;
	}
	req->older = false;
	req->cause = UROCE_RESEND_NONE;
	switch (cause) {
	case UROCE_RESEND_NAK:
		check_go_back(a, f, p);
		note_loss(a, f, p, e);
		return;
	case UROCE_RESEND_RNR:
		check_go_back(a, f, p);
		note_rnr(a, f, p);
		return;
	case UROCE_RESEND_IMPLIED:
		uroce_analysis_note(a, f->connection, UROCE_FINDING_RESPONSE_LOST, req->cause_frame,
			uroce_requests_since(p->time_ns, req->cause_ns),
			"the response with PSN %u was lost: frame %" PRIu64
			" skipped it, and frame %" PRIu64 " asks again",
			req->cause_psn, req->cause_frame, p->number);
		return;
	case UROCE_RESEND_NONE:
		break;
	}
	if (!e || uroce_requests_is_done(req, e))
		note_spurious(a, f, p, e);
	else
		note_timeout(a, f, p, e);
}

static void resend(struct uroce_analysis *a, struct uroce_stream *f, const struct uroce_packet *p,
	struct uroce_asked *e)
{
	struct uroce_requests *req = &f->req;
	struct uroce_step *step = uroce_series_step(&f->series, p->time_ns);

	f->retransmitted++;
	if (step)
		step->retransmitted++;
	uroce_requests_mark(f, p->time_ns, p->psn, UROCE_MARK_RESENT);
	if (!req->resending || p->psn != req->resend_psn)
		begin_resend(a, f, p, e);
	req->resending = true;
	req->resend_psn = uroce_psn_add(e ? e->psn : p->psn, e ? e->pkts : 1);
	if (!e || e->hole)
		return;
	if (e->sends < UINT16_MAX)
		e->sends++;
	e->last_ns = p->time_ns;
	e->last_frame = p->number;
	if (p->opcode->kind == UROCE_OP_READ && e->kind == UROCE_OP_READ) {
		e->answer_psn = p->psn;
		e->lost_frame = 0;
	}
}

/* A packet that was missing. */
static void fill_hole(struct uroce_analysis *a, struct uroce_stream *f,
	const struct uroce_packet *p, struct uroce_asked *e)
{
	struct uroce_requests *req = &f->req;
	bool again = req->cause != UROCE_RESEND_NONE || req->resending ||
		uroce_requests_since(p->time_ns, e->first_ns) > OVERTAKEN_NS;

	if (again)
		resend(a, f, p, e);
	else
		uroce_analysis_note(a, f->connection, UROCE_FINDING_REORDERED, p->number, 0,
			"frame %" PRIu64 ": PSN %u comes after frame %" PRIu64 ", which has PSN %u",
			p->number, p->psn, e->first_frame, uroce_psn_add(e->psn, e->pkts));
	e->hole = false;
	fill_in(f, p, e);
	if (p->opcode->last)
		count_message(f, e->kind, e->bytes);
	else
		f->message_bytes[e->kind] += e->bytes;
	if (uroce_requests_is_done(req, e))
		req->in_flight_bytes -= e->bytes;
}

static bool is_doubled(
	const struct uroce_requests *req, const struct uroce_packet *p, const struct uroce_asked *e)
{
	return e && !e->hole && p->psn == req->last_psn && e->icrc == p->icrc_value &&
		req->cause == UROCE_RESEND_NONE &&
		uroce_requests_since(p->time_ns, e->last_ns) < DOUBLED_NS;
}

static void take_old(struct uroce_analysis *a, struct uroce_stream *f, const struct uroce_packet *p)
{
	struct uroce_requests *req = &f->req;
	struct uroce_asked *e = uroce_requests_find(req, p->psn);

	if (e && e->hole && e->pkts == 1)
		fill_hole(a, f, p, e);
	else if (is_doubled(req, p, e))
		uroce_analysis_note(a, f->connection, UROCE_FINDING_DUPLICATE, p->number, 0,
			"frame %" PRIu64 " is frame %" PRIu64 " again: a network doubled it",
			p->number, req->last_frame);
	else if (e && e->kind == UROCE_OP_READ && p->opcode->kind != UROCE_OP_READ && !e->hole)
		uroce_analysis_note(a, f->connection, UROCE_FINDING_READ_PSN, p->number, 0,
			"frame %" PRIu64
			": %s has PSN %u, which belongs to the READ of %u bytes in frame "
			"%" PRIu64 " (PSNs %u to %u)",
			p->number, p->opcode->name, p->psn, e->bytes, e->first_frame, e->psn,
			uroce_psn_add(e->psn, e->pkts - 1));
	else
		resend(a, f, p, e);
}

/* ---- all ---- */

/*
 * Nobody stated the path MTU before the last request, a READ: the PSN of this one tells how many
 * packets its answer takes.
 */
static void mend_guess(struct uroce_stream *f, const struct uroce_packet *p)
{
	struct uroce_requests *req = &f->req;
	struct uroce_asked *e;
	uint32_t pkts;

	if (req->tail == req->head || !uroce_requests_entry(req, req->tail - 1)->guessed)
		return;
	e = uroce_requests_entry(req, req->tail - 1);
	pkts = (p->psn - e->psn) & UROCE_PSN_MASK;
	for (uint32_t mtu = MTU_MIN; mtu <= MTU_MAX; mtu *= 2) {
		if (uroce_requests_pkts(e->bytes, mtu) != pkts)
			continue;
		e->pkts = pkts;
		e->guessed = false;
		f->connection->mtu_bytes = mtu;
		req->psn_next = p->psn;
		return;
	}
}

static void take_reliable(
	struct uroce_analysis *a, struct uroce_stream *f, const struct uroce_packet *p)
{
	struct uroce_requests *req = &f->req;
	int32_t ahead = uroce_psn_diff(p->psn, req->psn_next);

	if (ahead >= 0 && ahead < JUMP_PSNS)
		take_new(a, f, p, (uint32_t)ahead, req->tail == 0);
	else
		take_old(a, f, p);
}

static void take_unreliable(
	struct uroce_analysis *a, struct uroce_stream *f, const struct uroce_packet *p)
{
	struct uroce_requests *req = &f->req;
	int32_t ahead = uroce_psn_diff(p->psn, req->psn_next);
	bool first_seen = f->requests_seen == 1;

	if (ahead < 0 && p->psn == req->last_psn) {
		uroce_analysis_note(a, f->connection, UROCE_FINDING_DUPLICATE, p->number, 0,
			"frame %" PRIu64 " is frame %" PRIu64 " again: a network doubled it",
			p->number, req->last_frame);
		return;
	}
	if (ahead < 0) {
		uroce_analysis_note(a, f->connection, UROCE_FINDING_REORDERED, p->number, 0,
			"frame %" PRIu64 ": PSN %u comes after frame %" PRIu64 ", which has PSN %u",
			p->number, p->psn, req->last_frame, req->last_psn);
		return;
	}
	if (ahead > 0)
		uroce_analysis_note(a, f->connection, UROCE_FINDING_UNRELIABLE_LOSS, p->number, 0,
			"%d packet%s missing before frame %" PRIu64
			": the message that they belong to is lost",
			ahead, ahead == 1 ? " is" : "s are", p->number);
	follow_message(a, f, p, ahead > 0, first_seen);
	req->psn_next = uroce_psn_add(p->psn, 1);
	uroce_requests_mark(f, p->time_ns, p->psn, UROCE_MARK_REQUEST);
}

bool uroce_requests_is_new_life(const struct uroce_stream *f, const struct uroce_packet *p)
{
	const struct uroce_requests *req = &f->req;
	int32_t ahead = uroce_psn_diff(p->psn, req->psn_next);
	bool idle = req->una == req->tail || req->dead;
	const struct uroce_asked *e;

	if (!req->started || req->tail == req->head || !p->opcode->first)
		return false;
	e = uroce_requests_find(req, p->psn);
	if (!e && (ahead >= JUMP_PSNS || ahead <= -JUMP_PSNS))
		return true;
	if (!idle || ahead >= 0)
		return false;
	/* It begins where it began, or with something else than what had this PSN. */
	if (p->psn == req->psn_first && ahead < -1 && p->psn != req->last_psn)
		return true;
	if (!e || e->hole || e->psn != p->psn)
		return false;
	return e->kind != p->opcode->kind || (p->payload && e->bytes != p->payload_bytes) ||
		(e->kind == UROCE_OP_READ && e->bytes != p->dma_len);
}

void uroce_requests_take(
	struct uroce_analysis *a, struct uroce_stream *f, const struct uroce_packet *p)
{
	struct uroce_requests *req = &f->req;

	if (!req->started)
		uroce_requests_start(req, p->psn);
	mend_guess(f, p);
	if (f->service == UROCE_SERVICE_RC)
		take_reliable(a, f, p);
	else
		take_unreliable(a, f, p);
	req->last_psn = p->psn;
	req->last_frame = p->number;
}

void uroce_requests_take_datagram(struct uroce_stream *f, const struct uroce_packet *p)
{
	count_message(f, (uint8_t)p->opcode->kind, p->payload_bytes);
	if (!f->req.started)
		uroce_requests_start(&f->req, p->psn);
	uroce_requests_mark(f, p->time_ns, p->psn, UROCE_MARK_REQUEST);
}

void uroce_requests_fini(struct uroce_requests *req)
{
	free(req->ring);
	memset(req, 0, sizeof(*req));
}
