/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Two stages and the frames between them, on one clock.
 *
 * It runs twice: without faults for what the memories must be, then with them.
 */
#include "pcap/rerun.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/psn.h"
#include "pcap/frame.h"
#include "pcap/rebuild.h"
#include "pcap/stage.h"
#include "pcap/world.h"

enum {
	REQUESTER,
	RESPONDER,
	TIMEOUT_DEFAULT = 14, /* 67 ms */
	RETRIES = 7,
	LATENCY_NS = 2000,
	RECV_BYTES_MAX = 1 << 26,
	HELD_MAX = 64,
	SERVICE_RC = 0,
};

#define LIMIT_NS UINT64_C(600000000000)

/* A frame on its way. */
struct flying {
	uint64_t at_ns, order;
	uint32_t bytes;
	uint8_t to;
	bool damaged;
	uint8_t data[];
};

struct held {
	struct flying *frame;
	uint64_t behind; /* frames that go first */
};

struct rerun {
	const struct uroce_exchange *e;
	const struct uroce_faults *faults; /* NULL: without */
	const struct uroce_replay_tap *tap;
	struct uroce_analysis *analysis;
	struct uroce_rerun_result *result;
	uint32_t connection;
	uint64_t now_ns, order, frames;
	struct uroce_stage *stages[2];
	uint8_t *buffers[2];
	uint64_t buffer_bytes[2];
	uint32_t keys[2];
	struct uroce_world world;
	struct uroce_rebuilt wrs;
	struct flying **heap;
	uint32_t num_flying, max_flying;
	struct held held[HELD_MAX];
	uint32_t num_held;
	uint16_t *turns[2]; /* times that a PSN was sent, by distance from the first */
	uint32_t span;
	uint32_t past;	 /* recorded frames that are */
	uint32_t posted; /* receives */
	uint64_t recv_at;
	uint32_t recv_bytes; /* the longest SEND */
	bool out_of_memory;
};

/* ---- frames on their way: a heap by time, then by order ---- */

static bool is_before(const struct flying *a, const struct flying *b)
{
	return a->at_ns != b->at_ns ? a->at_ns < b->at_ns : a->order < b->order;
}

static void push(struct rerun *r, struct flying *f)
{
	uint32_t i;

	if (r->num_flying == r->max_flying) {
		uint32_t more = r->max_flying ? 2 * r->max_flying : 64;
		struct flying **grown = realloc(r->heap, more * sizeof(struct flying *));

		if (!grown) {
			r->out_of_memory = true;
			free(f);
			return;
		}
		r->heap = grown;
		r->max_flying = more;
	}
	f->order = r->order++;
	for (i = r->num_flying++; i > 0 && is_before(f, r->heap[(i - 1) / 2]); i = (i - 1) / 2)
		r->heap[i] = r->heap[(i - 1) / 2];
	r->heap[i] = f;
}

static struct flying *pop(struct rerun *r)
{
	struct flying *first = r->heap[0], *last = r->heap[--r->num_flying];
	uint32_t i = 0, child;

	while ((child = 2 * i + 1) < r->num_flying) {
		if (child + 1 < r->num_flying && is_before(r->heap[child + 1], r->heap[child]))
			child++;
		if (!is_before(r->heap[child], last))
			break;
		r->heap[i] = r->heap[child];
		i = child;
	}
	r->heap[i] = last;
	return first;
}

static struct flying *copy(struct rerun *r, uint8_t to, const uint8_t *data, uint32_t bytes)
{
	struct flying *f = malloc(sizeof(*f) + bytes);

	if (!f) {
		r->out_of_memory = true;
		return NULL;
	}
	f->at_ns = r->now_ns + LATENCY_NS;
	f->to = to;
	f->damaged = false;
	f->bytes = bytes;
	memcpy(f->data, data, bytes);
	return f;
}

/* ---- faults ---- */

static void mark_ce(uint8_t *frame)
{
	uint8_t *ip = frame + uroce_frame_eth_bytes(frame);

	if (uroce_frame_is_ipv6(frame)) {
		ip[UROCE_IPV6_VERSION + 1] |= UROCE_ECN_CE << 4;
		return;
	}
	ip[UROCE_IPV4_TOS] |= UROCE_ECN_CE;
	uroce_store_be16(ip + UROCE_IPV4_CHECKSUM, 0);
	uroce_store_be16(ip + UROCE_IPV4_CHECKSUM,
		(uint16_t)~uroce_ip_fold(uroce_ip_sum(ip, UROCE_IPV4_BYTES, 0)));
}

static void hold(struct rerun *r, struct flying *f, uint64_t behind)
{
	if (r->num_held == HELD_MAX)
		push(r, f);
	else
		r->held[r->num_held++] = (struct held){f, behind};
}

/* Frames to an end went by; who waited for them goes now. all: whatever is held. */
static void let_go(struct rerun *r, uint8_t to, bool all)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < r->num_held; i++) {
		struct held *h = &r->held[i];

		if (!all && (h->frame->to != to || --h->behind > 0)) {
			r->held[kept++] = *h;
			continue;
		}
		h->frame->at_ns = r->now_ns + LATENCY_NS;
		push(r, h->frame);
	}
	r->num_held = kept;
}

/* What befalls the frame; NULL: it is lost, or waits. */
static struct flying *befall(struct rerun *r, struct flying *f, const struct uroce_fault *fault)
{
	struct flying *second;

	r->result->faults++;
	switch (fault->kind) {
	case UROCE_FAULT_DROP:
		free(f);
		return NULL;
	case UROCE_FAULT_DELAY:
		f->at_ns += fault->arg;
		return f;
	case UROCE_FAULT_DUPLICATE:
		second = copy(r, f->to, f->data, f->bytes);
		if (second) {
			second->at_ns += fault->arg;
			push(r, second);
		}
		return f;
	case UROCE_FAULT_REORDER:
		hold(r, f, fault->arg);
		return NULL;
	case UROCE_FAULT_CORRUPT:
		f->data[fault->arg / 8 % f->bytes] ^= (uint8_t)(1 << (fault->arg & 7));
		f->damaged = true;
		return f;
	case UROCE_FAULT_CE:
		mark_ce(f->data);
		return f;
	}
	return f;
}

static uint32_t next_turn(struct rerun *r, bool answer, uint32_t psn)
{
	uint16_t *turn = &r->turns[answer][((psn - r->e->psn_first) & UROCE_PSN_MASK) % r->span];

	if (*turn < UINT16_MAX)
		++*turn;
	return *turn;
}

static void send(struct rerun *r, uint8_t from, const uint8_t *data, uint32_t bytes)
{
	const uint8_t *bth = uroce_frame_bth(data);
	uint32_t psn = uroce_load_be24(bth + UROCE_BTH_PSN);
	bool answer = from == RESPONDER;
	uint32_t turn = next_turn(r, answer, psn);
	struct flying *f = copy(r, !from, data, bytes);
	const struct uroce_fault *fault = NULL;

	while (f && r->faults &&
		(fault = uroce_faults_find(
			 r->faults, fault, r->connection, r->e->psn_first, answer, psn, turn)))
		f = befall(r, f, fault);
	if (f) {
		push(r, f);
		let_go(r, !from, false);
	}
}

/* ---- the ends ---- */

static void show(struct rerun *r, const uint8_t *data, uint32_t bytes)
{
	struct uroce_pcap_frame frame = {.number = ++r->frames,
		.time_ns = r->now_ns,
		.data = data,
		.captured_bytes = bytes,
		.wire_bytes = bytes};

	if (r->tap)
		r->tap->frame(r->tap->arg, r->now_ns, data, bytes);
	if (r->analysis)
		uroce_analysis_add(r->analysis, &frame);
}

/* Takes everything that both ends want to send now. */
static void collect(struct rerun *r)
{
	uint8_t frame[UROCE_STAGE_FRAME_BYTES];
	uint32_t bytes;

	for (uint8_t end = 0; end < 2; end++) {
		while ((bytes = uroce_stage_tx(r->stages[end], frame)) > 0) {
			if (end == REQUESTER)
				r->result->requests++;
			else
				r->result->answers++;
			if (r->faults)
				show(r, frame, bytes);
			send(r, end, frame, bytes);
		}
		uroce_stage_drain(r->stages[end]);
	}
}

/*
 * The first recorded packet with this PSN, by index; num_frames: none. PSNs that are waited for
 * only go on, so what is before the last that was found is past.
 */
static uint32_t recorded(struct rerun *r, uint32_t psn)
{
	const struct uroce_exchange *e = r->e;

	for (uint32_t i = r->past; i < e->num_frames; i++) {
		const struct uroce_exchange_frame *f = e->frames[i];

		if (f->request && f->first_time && f->text.psn == psn)
			return r->past = i;
	}
	return e->num_frames;
}

/* What the responder's application does before a request comes that it waits for. */
static void prepare(struct rerun *r, const uint8_t *frame)
{
	struct uroce_stage *stage = r->stages[RESPONDER];
	const uint8_t *bth = uroce_frame_bth(frame);
	uint32_t psn = uroce_load_be24(bth + UROCE_BTH_PSN), i;
	const struct uroce_opcode *opcode = &uroce_opcodes[bth[UROCE_BTH_OPCODE]];

	if (psn != stage->qp->resp.epsn)
		return;
	i = recorded(r, psn);
	if (i < r->e->num_frames)
		uroce_world_prepare(&r->world, r->e, i);
	if (!opcode->takes_receive || stage->qp->resp.has_recv || r->posted != stage->received)
		return;
	if (r->recv_at + r->recv_bytes > r->buffer_bytes[RESPONDER])
		r->recv_at = 0;
	uroce_stage_post_recv(stage,
		(struct uroce_seg){(uintptr_t)(r->buffers[RESPONDER] + r->recv_at), r->recv_bytes,
			r->keys[RESPONDER]});
	r->recv_at += r->recv_bytes;
	r->posted++;
}

static void arrive(struct rerun *r, struct flying *f)
{
	struct uroce_stage *stage = r->stages[f->to];

	if (f->to == RESPONDER && !f->damaged)
		prepare(r, f->data);
	uroce_stage_rx(stage, f->data, f->bytes);
	free(f);
}

static uint64_t least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static uint64_t next_moment(const struct rerun *r, uint32_t next_wr)
{
	uint64_t at = UINT64_MAX;

	if (next_wr < r->wrs.num)
		at = r->wrs.list[next_wr].time_ns;
	if (r->num_flying)
		at = least(at, r->heap[0]->at_ns);
	for (int end = 0; end < 2; end++)
		at = least(at, uroce_core_next_deadline(&r->stages[end]->core));
	return at;
}

static void take_turn(struct rerun *r, uint32_t *next_wr)
{
	for (int end = 0; end < 2; end++)
		r->stages[end]->now_ns = r->now_ns;
	while (r->num_flying && r->heap[0]->at_ns <= r->now_ns)
		arrive(r, pop(r));
	for (; *next_wr < r->wrs.num && r->wrs.list[*next_wr].time_ns <= r->now_ns; ++*next_wr)
		uroce_stage_post_send(r->stages[REQUESTER], &r->wrs.list[*next_wr].wqe,
			r->wrs.list[*next_wr].seg);
	for (int end = 0; end < 2; end++) {
		uroce_core_rx_empty(&r->stages[end]->core, r->now_ns);
		uroce_core_expire(&r->stages[end]->core, r->now_ns);
	}
	collect(r);
}

static void run(struct rerun *r)
{
	uint32_t next_wr = 0;

	while (!r->out_of_memory) {
		uint64_t at = next_moment(r, next_wr);

		if (at == UINT64_MAX && r->num_held) {
			let_go(r, 0, true);
			continue;
		}
		if (at > LIMIT_NS)
			break;
		if (at > r->now_ns)
			r->now_ns = at;
		take_turn(r, &next_wr);
	}
}

/* ---- set-up ---- */

static uint32_t longest_send(const struct uroce_exchange *e)
{
	uint32_t longest = 0, bytes = 0;

	for (uint32_t i = 0; i < e->num_frames; i++) {
		const struct uroce_exchange_frame *f = e->frames[i];
		const struct uroce_opcode *opcode = &uroce_opcodes[f->text.opcode];

		if (!f->request || !f->first_time || opcode->kind != UROCE_OP_SEND)
			continue;
		bytes = opcode->first ? f->text.payload_bytes : bytes + f->text.payload_bytes;
		if (bytes > longest)
			longest = bytes;
	}
	return longest;
}

static int set_up_end(struct rerun *r, uint8_t end, const struct uroce_stage_conf *conf)
{
	uint64_t bytes = r->buffer_bytes[end] ? r->buffer_bytes[end] : 1;
	int err;

	r->stages[end] = calloc(1, sizeof(*r->stages[end]));
	r->buffers[end] = calloc(1, bytes);
	if (!r->stages[end] || !r->buffers[end])
		return -ENOMEM;
	err = uroce_stage_init(r->stages[end], conf);
	if (err)
		return err;
	return uroce_stage_register(
		r->stages[end], &r->keys[end], (uintptr_t)r->buffers[end], bytes, r->buffers[end]);
}

static int set_up_ends(struct rerun *r)
{
	const struct uroce_exchange *e = r->e;
	uint8_t timeout = uroce_rebuild_timeout(e);
	struct uroce_stage_conf a = {.type = UROCE_QP_RC,
		.addr = e->requester,
		.peer_addr = e->responder,
		.qpn = e->requester_qpn,
		.peer_qpn = e->responder_qpn,
		.sq_psn = e->psn_first,
		.tci = uroce_exchange_tci(e, true),
		.mtu_bytes = e->mtu_bytes,
		.timeout = timeout ? timeout : TIMEOUT_DEFAULT,
		.retry_cnt = RETRIES};
	struct uroce_stage_conf b = a;
	int err;

	memcpy(a.peer_mac, e->frames[0]->data, 6);
	memcpy(a.mac, e->frames[0]->data + 6, 6);
	memcpy(b.mac, a.peer_mac, 6);
	memcpy(b.peer_mac, a.mac, 6);
	b.addr = e->responder;
	b.peer_addr = e->requester;
	b.qpn = e->responder_qpn;
	b.peer_qpn = e->requester_qpn;
	b.rq_psn = e->psn_first;
	b.sq_psn = 0;
	err = set_up_end(r, REQUESTER, &a);
	return err ? err : set_up_end(r, RESPONDER, &b);
}

static int set_up(struct rerun *r)
{
	const struct uroce_exchange *e = r->e;
	int err;

	r->recv_bytes = longest_send(e);
	r->buffer_bytes[REQUESTER] = uroce_rebuild_bytes(e);
	r->buffer_bytes[RESPONDER] = (uint64_t)e->num_frames * r->recv_bytes;
	if (r->buffer_bytes[RESPONDER] > RECV_BYTES_MAX)
		r->buffer_bytes[RESPONDER] = RECV_BYTES_MAX;
	r->span = ((e->psn_next - e->psn_first) & UROCE_PSN_MASK) + 2;
	r->wrs.list = calloc(e->num_frames, sizeof(*r->wrs.list));
	r->turns[0] = calloc(r->span, sizeof(uint16_t));
	r->turns[1] = calloc(r->span, sizeof(uint16_t));
	if (!r->wrs.list || !r->turns[0] || !r->turns[1])
		return -ENOMEM;
	err = set_up_ends(r);
	if (err)
		return err;
	r->result->skipped = uroce_world_init(&r->world, e, r->stages[RESPONDER]);
	if (!r->result->skipped)
		r->result->skipped =
			uroce_rebuild(e, r->buffers[REQUESTER], r->keys[REQUESTER], &r->wrs);
	/* No capture shows which regions may be invalidated: it stays undone. */
	for (uint32_t i = 0; i < r->wrs.num; i++)
		if (r->wrs.list[i].wqe.opcode == UROCE_WR_SEND_WITH_INV)
			r->wrs.list[i].wqe.opcode = UROCE_WR_SEND;
	return 0;
}

static void tear_down(struct rerun *r)
{
	let_go(r, 0, true);
	while (r->num_flying)
		free(pop(r));
	uroce_world_fini(&r->world);
	for (int end = 0; end < 2; end++) {
		if (r->stages[end])
			uroce_stage_fini(r->stages[end]);
		free(r->stages[end]);
		free(r->buffers[end]);
		free(r->turns[end]);
	}
	free(r->wrs.list);
	free(r->heap);
}

/* ---- the verdict ---- */

/* FNV-1a: two memories that differ by chance and agree in it are not a worry here. */
static uint64_t digest(uint64_t hash, const uint8_t *bytes, uint64_t n)
{
	for (uint64_t i = 0; i < n; i++)
		hash = (hash ^ bytes[i]) * UINT64_C(0x100000001b3);
	return hash;
}

/* What both ends have in the end. */
struct outcome {
	uint64_t memory;
	uint32_t completed, received, failed;
	enum uroce_status first_failure;
	uint64_t took_ns;
};

static struct outcome look(const struct rerun *r)
{
	uint64_t hash = UINT64_C(0xcbf29ce484222325);

	for (int end = 0; end < 2; end++)
		hash = digest(hash, r->buffers[end], r->buffer_bytes[end]);
	for (uint32_t i = 0; i < r->world.num; i++)
		hash = digest(hash, r->world.regions[i].content, r->world.regions[i].bytes);
	return (struct outcome){.memory = hash,
		.completed = r->stages[REQUESTER]->completed,
		.received = r->stages[RESPONDER]->received,
		.failed = r->stages[REQUESTER]->failed,
		.first_failure = r->stages[REQUESTER]->first_failure,
		.took_ns = r->now_ns};
}

static void judge(struct uroce_rerun_result *result, const struct outcome *without,
	const struct outcome *with)
{
	result->took_without_ns = without->took_ns;
	result->took_ns = with->took_ns;
	if (with->failed)
		snprintf(result->words, sizeof(result->words),
			"%u work requests did not complete; the first one's status is %u",
			with->failed, (unsigned int)with->first_failure);
	else if (with->completed != without->completed)
		snprintf(result->words, sizeof(result->words),
			"%u work requests completed, and %u without the faults", with->completed,
			without->completed);
	else if (with->received != without->received)
		snprintf(result->words, sizeof(result->words),
			"%u messages were received, and %u without the faults", with->received,
			without->received);
	else if (with->memory != without->memory)
		snprintf(result->words, sizeof(result->words),
			"what is in memory in the end is not what it is without the faults");
	else
		result->recovered = true;
}

/* Runs once. faults NULL: without. */
static int run_once(const struct rerun *how, struct outcome *out)
{
	struct rerun r = *how;
	int err = set_up(&r);

	if (!err && !r.result->skipped) {
		run(&r);
		*out = look(&r);
	}
	tear_down(&r);
	return r.out_of_memory ? -ENOMEM : err;
}

static const char *check(const struct uroce_exchange *e)
{
	if (e->service != SERVICE_RC)
		return "it is not a reliable connection: nothing recovers";
	if (e->incomplete)
		return "the capture has its packets cut short or without an ICRC";
	if (e->requester_qpn == 0)
		return "nothing was answered, so one end is not known";
	return NULL;
}

int uroce_rerun(const struct uroce_exchange *e, uint32_t connection,
	const struct uroce_faults *faults, const struct uroce_replay_tap *tap,
	struct uroce_analysis *analysis, struct uroce_rerun_result *result)
{
	struct rerun r = {.e = e,
		.tap = tap,
		.analysis = analysis,
		.result = result,
		.connection = connection};
	struct outcome without = {0}, with = {0};
	int err;

	*result = (struct uroce_rerun_result){.skipped = check(e)};
	if (result->skipped)
		return 0;
	err = run_once(&r, &without);
	if (err || result->skipped)
		return err;
	if (without.failed) {
		result->skipped = "without faults it does not complete either: it was refused";
		return 0;
	}
	*result = (struct uroce_rerun_result){0};
	r.faults = faults;
	err = run_once(&r, &with);
	if (!err)
		judge(result, &without, &with);
	return err;
}
