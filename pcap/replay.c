/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The two roles of a replay.
 *
 * As responder the engine is given each delivered request at its time, with receives posted just
 * before they are needed, unless the recorded peer had none. As requester it is given work requests
 * rebuilt from the recorded packets, each at the time of its first packet, and the delivered
 * answers; its timers run on the capture's clock. Either way it sends when it likes, and is
 * compared at the end.
 */
#include "pcap/replay.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pcap/deliver.h"
#include "pcap/frame.h"
#include "pcap/rebuild.h"
#include "pcap/stage.h"
#include "pcap/world.h"

enum {
	OP_WRITE_IMM_LAST = 0x09,
	OP_WRITE_IMM_ONLY = 0x0b,
	RNR_CODE_MASK = 0x1f,
	RECV_BYTES_MAX = 1 << 26,
	SERVICE_RC = 0,
	SERVICE_UC = 1,
	SERVICE_UD = 3,
	SOME_QPN = 0x777, /* where a capture does not tell, and nobody sees it */
};

struct replay {
	const struct uroce_exchange *e;
	const struct uroce_replay_tap *tap;
	struct uroce_replay_result *result;
	struct uroce_sent_list sent;
	struct uroce_stage *stage;
	uint8_t *buffer; /* receives, or the requester's memory */
	uint32_t buffer_key;
	uint64_t buffer_bytes;
};

const char *uroce_replay_verdict_name(enum uroce_replay_verdict verdict)
{
	static const char *const names[] = {"agrees", "departs", "differs", "skipped"};

	return names[verdict];
}

/* Takes everything that the engine wants to send now. */
static int collect(struct replay *r)
{
	uint8_t frame[UROCE_STAGE_FRAME_BYTES];
	uint32_t bytes;
	int err = 0;

	while (!err && (bytes = uroce_stage_tx(r->stage, frame)) > 0) {
		err = uroce_sent_add(&r->sent, frame, bytes);
		if (r->tap)
			r->tap->frame(r->tap->arg, r->stage->now_ns, frame, bytes);
	}
	uroce_stage_drain(r->stage);
	return err;
}

static void copy_macs(const struct uroce_exchange *e, uint8_t requester[6], uint8_t responder[6])
{
	const uint8_t *frame = e->frames[0]->data;

	memcpy(responder, frame, 6);
	memcpy(requester, frame + 6, 6);
}

static int allocate_buffer(struct replay *r, uint64_t bytes)
{
	r->buffer = calloc(1, bytes ? bytes : 1);
	r->buffer_bytes = bytes;
	r->buffer_key = 0;
	if (!r->buffer)
		return -ENOMEM;
	return uroce_stage_register(
		r->stage, &r->buffer_key, (uintptr_t)r->buffer, bytes ? bytes : 1, r->buffer);
}

static struct uroce_seg buffer_seg(const struct replay *r, uint64_t offset, uint32_t bytes)
{
	return (struct uroce_seg){(uintptr_t)(r->buffer + offset), bytes, r->buffer_key};
}

/* ---- responder ---- */

static uint8_t recorded_rnr_code(const struct uroce_exchange *e)
{
	for (uint32_t i = 0; i < e->num_frames; i++)
		if (!e->frames[i]->request && e->frames[i]->text.has_aeth &&
			e->frames[i]->text.aeth.kind == UROCE_TEXT_AETH_RNR)
			return e->frames[i]->text.aeth.syndrome & RNR_CODE_MASK;
	return 0;
}

static bool is_send(uint8_t opcode)
{
	return opcode <= 0x05 || opcode == 0x16 || opcode == 0x17;
}

static bool takes_receive(uint8_t opcode)
{
	return opcode == 0x00 || opcode == 0x04 || opcode == 0x05 || opcode == 0x17 ||
		opcode == OP_WRITE_IMM_LAST || opcode == OP_WRITE_IMM_ONLY;
}

static bool ends_message(uint8_t opcode)
{
	return (opcode >= 0x02 && opcode <= 0x05) || opcode == 0x16 || opcode == 0x17;
}

static bool is_refusal(const struct uroce_exchange_frame *answer)
{
	return answer && answer->text.has_aeth && answer->text.aeth.kind == UROCE_TEXT_AETH_NAK &&
		answer->text.aeth.syndrome != 0x60;
}

/* Bytes of the receive that the recorded peer had for the SEND that begins at index i. */
static uint32_t recv_bytes(const struct uroce_exchange *e, uint32_t i)
{
	uint32_t psn = e->frames[i]->text.psn;
	uint32_t bytes = e->service == SERVICE_UD ? UROCE_GRH_BYTES : 0;

	for (uint32_t k = i; k < e->num_frames; k++) {
		const struct uroce_exchange_frame *f = e->frames[k];

		if (!f->request || f->text.psn != psn)
			continue;
		if (is_refusal(uroce_exchange_find_answer(e, k, psn)))
			return bytes;
		bytes += f->text.payload_bytes;
		if (ends_message(f->op))
			return bytes;
		psn = uroce_psn_add(psn, 1);
	}
	return bytes;
}

/* Posts the receive that this request needs, unless the recorded peer had none for it. */
static void provide_receive(struct replay *r, uint32_t i)
{
	const struct uroce_exchange_frame *f = r->e->frames[i];
	const struct uroce_exchange_frame *answer =
		uroce_exchange_find_answer(r->e, i, f->text.psn);
	uint32_t bytes = 0;

	if (!takes_receive(f->op) ||
		(r->e->service == SERVICE_RC && f->text.psn != r->stage->qp->resp.epsn))
		return;
	/* What a broken message left is used again. */
	if (r->stage->qp->resp.has_recv)
		return;
	if (answer && answer->text.has_aeth && answer->text.aeth.kind == UROCE_TEXT_AETH_RNR)
		return;
	if (is_send(f->op))
		bytes = recv_bytes(r->e, i);
	if (bytes > r->buffer_bytes)
		bytes = (uint32_t)r->buffer_bytes;
	uroce_stage_post_recv(r->stage, buffer_seg(r, 0, bytes));
}

static int feed_requests(struct replay *r, struct uroce_world *world)
{
	int err = 0;

	for (uint32_t i = 0; i < r->e->num_frames && !err; i++) {
		const struct uroce_exchange_frame *f = r->e->frames[i];

		if (!f->request)
			continue;
		if (f->lost) {
			r->result->lost++;
			continue;
		}
		r->stage->now_ns = f->time_ns;
		if (f->text.psn == r->stage->qp->resp.epsn && f->seen_icrc_ok)
			uroce_world_prepare(world, r->e, i);
		provide_receive(r, i);
		uroce_stage_rx(r->stage, f->data, f->bytes);
		uroce_core_expire(&r->stage->core, f->time_ns);
		r->result->fed++;
		err = collect(r);
	}
	uroce_core_rx_empty(&r->stage->core, r->stage->now_ns);
	return err ? err : collect(r);
}

static enum uroce_qp_type type_of(const struct uroce_exchange *e)
{
	if (e->service == SERVICE_UD)
		return UROCE_QP_UD;
	return e->service == SERVICE_UC ? UROCE_QP_UC : UROCE_QP_RC;
}

static uint32_t qkey_of(const struct uroce_exchange *e)
{
	return e->frames[0]->text.has_deth ? e->frames[0]->text.deth.qkey : 0;
}

/* The peer's message count before the capture began, from its first good answer. */
static uint32_t initial_msn(const struct uroce_exchange *e)
{
	const struct uroce_exchange_frame *answer = NULL;
	uint32_t messages = 0;

	for (uint32_t i = 0; i < e->num_frames && !answer; i++)
		if (!e->frames[i]->request && e->frames[i]->text.has_aeth &&
			e->frames[i]->text.aeth.kind == UROCE_TEXT_AETH_ACK)
			answer = e->frames[i];
	if (!answer)
		return 0;
	/* The messages that this answer counts. */
	for (uint32_t i = 0; i < e->num_frames && e->frames[i]->number < answer->number; i++) {
		const struct uroce_exchange_frame *f = e->frames[i];

		messages += f->request && f->first_time && uroce_exchange_ends(f->op) &&
			!uroce_psn_before(answer->text.psn, f->text.psn);
	}
	return uroce_psn_add(answer->text.aeth.msn, -messages);
}

/* ---- receiver of an unreliable service ---- */

static void note_delivery(
	struct replay *r, const struct uroce_exchange_frame *f, bool good, const char *what)
{
	struct uroce_comparison *out = &r->result->comparison;
	char line[UROCE_TEXT_LINE_BYTES];

	out->counts[good ? UROCE_REPLAY_DELIVERED : UROCE_REPLAY_NOT_DELIVERED]++;
	if (good || out->difference[0])
		return;
	uroce_text_line(&f->text, line, sizeof(line));
	snprintf(out->difference, sizeof(out->difference), "frame %llu: %s\n  recorded  %s",
		(unsigned long long)f->number, what, line);
}

/* Whether payload, and in front of a datagram its IP header, are where they belong. */
static bool lies_there(const struct replay *r, const struct uroce_world *world,
	const struct uroce_exchange_frame *f, const struct uroce_delivery_place *place)
{
	uint32_t ip_bytes = uroce_frame_ip_bytes(f->data);
	const uint8_t *payload = f->data + f->text.payload_offset;
	const uint8_t *at = place->in_receive
		? r->buffer + place->offset
		: uroce_world_find(world, place->rkey, place->va, f->text.payload_bytes);

	if (f->text.payload_bytes > 0 && (!at || memcmp(at, payload, f->text.payload_bytes) != 0))
		return false;
	return f->service != SERVICE_UD ||
		memcmp(r->buffer + UROCE_GRH_BYTES - ip_bytes, uroce_frame_ip(f->data), ip_bytes) ==
		0;
}

/* Gives one packet, and looks at what became of it. */
static void deliver(struct replay *r, struct uroce_world *world, struct uroce_delivery *delivery,
	const struct uroce_exchange_frame *f)
{
	struct uroce_delivery_place place = uroce_delivery_take(delivery, f);
	uint64_t placed = r->stage->core.counters.rx_payload_bytes;

	uroce_stage_rx(r->stage, f->data, f->bytes);
	uroce_stage_drain(r->stage);
	placed = r->stage->core.counters.rx_payload_bytes - placed;
	if (r->stage->received != delivery->completed)
		note_delivery(r, f, false, "messages completed are not those that are whole");
	else if (place.nowhere)
		note_delivery(r, f, placed == 0, "part of a broken message was placed");
	else
		note_delivery(r, f, lies_there(r, world, f, &place), "payload is not in its place");
	r->stage->received = delivery->completed;
}

static int feed_unreliable(struct replay *r, struct uroce_world *world)
{
	struct uroce_delivery delivery = {0};
	int err;

	for (uint32_t i = 0; i < r->e->num_frames; i++) {
		const struct uroce_exchange_frame *f = r->e->frames[i];

		if (f->lost || !f->seen_icrc_ok) {
			r->result->lost++;
			continue;
		}
		r->stage->now_ns = f->time_ns;
		provide_receive(r, i);
		deliver(r, world, &delivery, f);
		r->result->fed++;
	}
	uroce_core_rx_empty(&r->stage->core, r->stage->now_ns);
	err = collect(r);
	/* Nobody answers these. */
	r->result->comparison.counts[UROCE_REPLAY_UNEXPECTED] += r->sent.num;
	return err;
}

static void replay_responder(struct replay *r, int *err)
{
	const struct uroce_exchange *e = r->e;
	struct uroce_stage_conf conf = {.type = type_of(e),
		.qkey = qkey_of(e),
		.addr = e->responder,
		.peer_addr = e->requester,
		.qpn = e->responder_qpn == UROCE_QPN_MULTICAST ? SOME_QPN : e->responder_qpn,
		.peer_qpn = e->requester_qpn,
		.rq_psn = e->psn_first,
		.sq_psn = 0,
		.tci = uroce_exchange_tci(e, false),
		.mtu_bytes = e->mtu_bytes,
		.min_rnr_timer = recorded_rnr_code(e)};
	struct uroce_ending ending;
	struct uroce_world world;

	copy_macs(e, conf.peer_mac, conf.mac);
	*err = uroce_stage_init(r->stage, &conf);
	if (!*err)
		*err = allocate_buffer(r, RECV_BYTES_MAX);
	if (*err)
		return;
	r->stage->qp->resp.msn = initial_msn(e);
	r->result->skipped = uroce_world_init(&world, e, r->stage);
	if (!r->result->skipped && e->service != SERVICE_RC) {
		*err = feed_unreliable(r, &world);
	} else if (!r->result->skipped) {
		*err = feed_requests(r, &world);
		ending.refused_length = r->stage->qp->report.refusal == UROCE_REFUSAL_MTU;
		ending.refused_invalidate = r->stage->qp->report.cause == UROCE_CAUSE_INVALIDATE;
		uroce_compare_answers(e, &r->sent, &ending, &r->result->comparison);
	}
	uroce_world_fini(&world);
}

/* ---- requester ---- */

/* Runs the engine's timers up to a moment. */
static int run_until(struct replay *r, uint64_t until_ns)
{
	int err = 0;

	while (!err) {
		uint64_t next_ns = uroce_core_next_deadline(&r->stage->core);

		if (next_ns > until_ns)
			break;
		r->stage->now_ns = next_ns;
		uroce_core_rx_empty(&r->stage->core, next_ns);
		uroce_core_expire(&r->stage->core, next_ns);
		err = collect(r);
	}
	r->stage->now_ns = until_ns;
	return err;
}

/* Work requests and answers, whichever comes first. */
static int perform(struct replay *r, const struct uroce_rebuilt *wrs)
{
	uint32_t next_wr = 0, i = 0;
	int err = 0;

	while (!err && (next_wr < wrs->num || i < r->e->num_frames)) {
		const struct uroce_exchange_frame *f =
			i < r->e->num_frames ? r->e->frames[i] : NULL;

		if (next_wr < wrs->num && (!f || wrs->list[next_wr].time_ns <= f->time_ns)) {
			err = run_until(r, wrs->list[next_wr].time_ns);
			uroce_stage_post_send(
				r->stage, &wrs->list[next_wr].wqe, wrs->list[next_wr].seg);
			next_wr++;
		} else {
			i++;
			if (f->request)
				continue;
			if (f->lost) {
				r->result->lost++;
				continue;
			}
			err = run_until(r, f->time_ns);
			uroce_stage_rx(r->stage, f->data, f->bytes);
			r->result->fed++;
		}
		if (!err)
			err = collect(r);
	}
	/* What is unanswered is tried again until the engine gives up, as the recorded one did. */
	return err ? err : run_until(r, r->stage->now_ns + 60000000000ull);
}

static void replay_requester(struct replay *r, int *err)
{
	const struct uroce_exchange *e = r->e;
	struct uroce_stage_conf conf = {.type = type_of(e),
		.qkey = qkey_of(e),
		.addr = e->requester,
		.peer_addr = e->responder,
		.qpn = e->requester_qpn ? e->requester_qpn : SOME_QPN,
		.peer_qpn = e->responder_qpn,
		.rq_psn = 0,
		.sq_psn = e->psn_first,
		.tci = uroce_exchange_tci(e, true),
		.mtu_bytes = e->mtu_bytes,
		.timeout = uroce_rebuild_timeout(e),
		.retry_cnt = uroce_rebuild_retries(e)};
	struct uroce_rebuilt wrs = {.list = calloc(e->num_frames, sizeof(*wrs.list))};

	copy_macs(e, conf.mac, conf.peer_mac);
	r->result->skipped = uroce_rebuild_check_repeats(e);
	*err = wrs.list ? uroce_stage_init(r->stage, &conf) : -ENOMEM;
	if (!*err)
		*err = allocate_buffer(r, uroce_rebuild_bytes(e));
	if (!*err && !r->result->skipped)
		r->result->skipped = uroce_rebuild(e, r->buffer, r->buffer_key, &wrs);
	if (!*err && !r->result->skipped) {
		*err = perform(r, &wrs);
		uroce_compare_requests(e, &r->sent, &r->result->comparison);
	}
	free(wrs.list);
}

/* ---- both ---- */

static enum uroce_replay_verdict judge(const struct uroce_replay_result *result)
{
	enum uroce_replay_verdict verdict = UROCE_REPLAY_AGREES;

	if (result->skipped)
		return UROCE_REPLAY_SKIPPED;
	for (int c = 0; c < UROCE_REPLAY_CLASS_COUNT; c++) {
		int kind = uroce_replay_class_kind((enum uroce_replay_class)c);

		if (result->comparison.counts[c] == 0)
			continue;
		if (kind == 3)
			return UROCE_REPLAY_DIFFERS;
		if (kind == 2)
			verdict = UROCE_REPLAY_DEPARTS;
	}
	return verdict;
}

/* Whether a group's number goes with a group's address, and datagrams to it. */
static bool is_multicast_right(const struct uroce_exchange *e)
{
	bool number = e->responder_qpn == UROCE_QPN_MULTICAST;
	bool address = uroce_gid_is_multicast(e->responder);

	return number == address && (!number || e->service == SERVICE_UD) &&
		e->requester_qpn != UROCE_QPN_MULTICAST && !uroce_gid_is_multicast(e->requester);
}

static const char *check(const struct uroce_exchange *e, enum uroce_replay_role role)
{
	if (e->incomplete)
		return "the capture has its packets cut short or without an ICRC";
	if (e->requester_qpn == 0 && e->service == SERVICE_RC && role == UROCE_REPLAY_RESPONDER)
		return "nothing was answered, so there is nothing to compare";
	if (e->responder_qpn <= 1 || e->requester_qpn == 1)
		return "queue pairs 0 and 1 are not for users";
	if (!is_multicast_right(e))
		return "only datagrams go to a group, to its address and its number";
	return NULL;
}

int uroce_replay_run(const struct uroce_exchange *exchange, enum uroce_replay_role role,
	const struct uroce_replay_tap *tap, struct uroce_replay_result *result)
{
	struct replay r = {.e = exchange, .tap = tap, .result = result};
	int err = 0;

	memset(result, 0, sizeof(*result));
	result->skipped = check(exchange, role);
	r.stage = calloc(1, sizeof(*r.stage));
	if (!r.stage)
		return -ENOMEM;
	if (!result->skipped && role == UROCE_REPLAY_RESPONDER)
		replay_responder(&r, &err);
	else if (!result->skipped)
		replay_requester(&r, &err);
	result->sent = r.sent.num;
	result->verdict = judge(result);
	uroce_sent_fini(&r.sent);
	uroce_stage_fini(r.stage);
	free(r.buffer);
	free(r.stage);
	return err;
}
