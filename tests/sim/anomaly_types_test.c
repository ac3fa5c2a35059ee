/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Things that run out or end, at every possible moment, on every service and with every kind of
 * work: what anomaly_test.c does to the plain operations of a reliable connection, here with UC,
 * UD, a shared receive queue, ATOMIC WRITE and FLUSH, and with changes of what keys stand for.
 *
 * An exchange in both directions is run again and again: with the Nth offer of slots withheld, with
 * bursts of every size, with room for N completions, with the Nth work request a wrong one, and
 * with a command that ends the queue pair after the Nth event, for all N. The model judges each
 * run; and as it lets an unreliable message be missing, here, where none is lost, they are counted.
 */
#include <stdlib.h>
#include <string.h>

#include "cunit_run.h"
#include "judge.h"

enum {
	MTU = 256,
	PLACE = 2048, /* memory of one message */
	OPS = 6,
	MEM = 32 * PLACE,
	QKEY = 0x1234,
	BAD_KEY = 0x66600,
};

#define SECOND_NS 1000000000ull

static const struct kind {
	const char *name;
	enum uroce_qp_type type;
	bool shared; /* receives come from a shared queue */
	enum uroce_wr_opcode ops[OPS];
} kinds[] = {
	{"UC", UROCE_QP_UC, false,
		{UROCE_WR_SEND, UROCE_WR_RDMA_WRITE, UROCE_WR_SEND_WITH_IMM,
			UROCE_WR_RDMA_WRITE_WITH_IMM, UROCE_WR_RDMA_WRITE, UROCE_WR_SEND}},
	{"UD", UROCE_QP_UD, false,
		{UROCE_WR_SEND, UROCE_WR_SEND_WITH_IMM, UROCE_WR_SEND, UROCE_WR_SEND,
			UROCE_WR_SEND_WITH_IMM, UROCE_WR_SEND}},
	{"SRQ", UROCE_QP_RC, true,
		{UROCE_WR_SEND, UROCE_WR_RDMA_WRITE_WITH_IMM, UROCE_WR_RDMA_WRITE,
			UROCE_WR_SEND_WITH_IMM, UROCE_WR_SEND, UROCE_WR_SEND}},
	{"SRQ and UC", UROCE_QP_UC, true,
		{UROCE_WR_SEND, UROCE_WR_RDMA_WRITE_WITH_IMM, UROCE_WR_RDMA_WRITE,
			UROCE_WR_SEND_WITH_IMM, UROCE_WR_SEND, UROCE_WR_SEND}},
	{"ATOMIC WRITE and FLUSH", UROCE_QP_RC, false,
		{UROCE_WR_RDMA_WRITE, UROCE_WR_FLUSH, UROCE_WR_ATOMIC_WRITE, UROCE_WR_FLUSH,
			UROCE_WR_RDMA_WRITE, UROCE_WR_ATOMIC_WRITE}},
	{"keys", UROCE_QP_RC, false,
		{UROCE_WR_REG_MR, UROCE_WR_SEND, UROCE_WR_BIND_MW, UROCE_WR_RDMA_WRITE,
			UROCE_WR_LOCAL_INV, UROCE_WR_SEND}},
};

enum {
	KINDS = sizeof(kinds) / sizeof(kinds[0])
};

struct run {
	const struct kind *kind;
	struct sim sim;
	struct judge judge;
	uint32_t fast_keys[2], window_keys[2]; /* of each side, before anything is posted */
	uint32_t wrong;			       /* the work request of side 0 that is; OPS: none */
	/* As the model numbers keys; the last is one that cannot be used for anything. */
	struct {
		uint32_t fast, window, nobodys;
	} keys[2];
};

/* ---- the exchange ---- */

static bool takes_recv(enum uroce_wr_opcode opcode)
{
	return opcode == UROCE_WR_SEND || opcode == UROCE_WR_SEND_WITH_IMM ||
		opcode == UROCE_WR_RDMA_WRITE_WITH_IMM;
}

static bool moves_bytes(enum uroce_wr_opcode opcode)
{
	return takes_recv(opcode) || opcode == UROCE_WR_RDMA_WRITE ||
		opcode == UROCE_WR_ATOMIC_WRITE;
}

static uint32_t count_recvs(const struct kind *kind)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < OPS; i++)
		n += takes_recv(kind->ops[i]);
	return n;
}

static uint32_t bytes_of(const struct kind *kind, uint32_t i)
{
	if (!moves_bytes(kind->ops[i]))
		return 0;
	if (kind->ops[i] == UROCE_WR_ATOMIC_WRITE)
		return 8;
	return (kind->type == UROCE_QP_UD ? 30 : 300) * i + 1;
}

static struct endpoint_conf conf_of(const struct kind *kind, uint32_t id, uint32_t cqes)
{
	struct endpoint_conf conf = endpoint_defaults(id, 3 - id);

	conf.caps.type = kind->type;
	conf.qkey = QKEY;
	conf.mtu_bytes = MTU;
	conf.mem_bytes = MEM;
	conf.sq_psn = conf.rq_psn = 0xfffffe;
	conf.caps.max_send_wr = conf.caps.max_recv_wr = OPS;
	conf.srq_wr = kind->shared ? OPS : 0;
	conf.cqes = cqes;
	conf.attr.timeout = 10;
	return conf;
}

static void add_keys(struct run *r, uint32_t side)
{
	struct model *m = r->judge.model;

	r->fast_keys[side] = endpoint_slot(&r->sim.ep[side], UROCE_MR_FAST);
	r->window_keys[side] = endpoint_slot(&r->sim.ep[side], UROCE_MR_WINDOW_2);
	r->keys[side].fast = model_add_key(m, side, MODEL_FAST);
	r->keys[side].window = model_add_key(m, side, MODEL_WINDOW_2);
	r->keys[side].nobodys = model_add_key(m, side, MODEL_WINDOW_1);
}

/* cqes: of side 0; the other has room for all. */
static struct run *start(const struct kind *kind, uint32_t cqes)
{
	const struct endpoint_conf a = conf_of(kind, 1, cqes), b = conf_of(kind, 2, 2 * OPS);
	const struct sim_link_conf link = {.latency_ns = 1000, .ns_per_kib = 100, .seed = 1};
	struct run *r = calloc(1, sizeof(*r));

	if (!r)
		abort();
	r->kind = kind;
	r->wrong = OPS;
	sim_init(&r->sim, &link, &a, &b);
	for (uint32_t side = 0; side < 2; side++)
		for (uint32_t i = 0; i < MEM; i++)
			r->sim.ep[side].mem[i] = (uint8_t)(i * 7 + (i >> 8) * 13 + side);
	judge_begin(&r->judge, &r->sim, NULL, MEM);
	for (uint32_t side = 0; side < 2; side++)
		add_keys(r, side);
	return r;
}

static void end(struct run *r)
{
	judge_end(&r->judge);
	sim_fini(&r->sim);
	free(r);
}

/* A registration of all memory, a binding to half of it, or the end of the registration. */
static void change_key(struct run *r, uint32_t side, struct endpoint_wr *wr)
{
	struct endpoint *ep = &r->sim.ep[side];
	bool binds = wr->opcode == UROCE_WR_BIND_MW;

	wr->num_segs = 0;
	wr->imm = binds ? r->window_keys[side] : r->fast_keys[side];
	wr->bytes = UROCE_ACCESS_REMOTE_READ;
	wr->change.new_key = wr->imm ^ 1;
	wr->change.lkey = ep->key;
	wr->change.addr = (uintptr_t)ep->mem;
	wr->change.bytes = binds ? MEM / 2 : MEM;
	wr->change.ptr = ep->mem;
	if (wr->opcode == UROCE_WR_LOCAL_INV)
		wr->imm ^= 1;
}

/* Where a WRITE goes; not where receives are, which it leaves as they were. */
static uint32_t place_of_write(uint32_t i)
{
	return (24 + i) * PLACE;
}

/*
 * Message i goes from place i to the receive at the peer's place 16 + i or, a WRITE, behind those;
 * a FLUSH is of the one before it.
 */
static struct endpoint_wr wr_of(struct run *r, uint32_t side, uint32_t i)
{
	struct endpoint *peer = &r->sim.ep[1 - side];
	struct endpoint_wr wr = {.wr_id = i,
		.opcode = r->kind->ops[i],
		.num_segs = 1,
		.segs = {{i * PLACE, bytes_of(r->kind, i)}},
		.imm = i,
		.rkey = peer->key,
		.remote_addr = (uintptr_t)(peer->mem + place_of_write(i))};

	if (r->kind->type == UROCE_QP_UD) {
		wr.ah = ENDPOINT_AH;
		wr.remote_qpn = peer->qp->qpn;
		wr.remote_qkey = QKEY;
	}
	if (wr.opcode == UROCE_WR_FLUSH) {
		wr.num_segs = 0;
		wr.imm = UROCE_FLUSH_GLOBAL;
		wr.bytes = bytes_of(r->kind, i - 1);
		wr.remote_addr -= PLACE;
	} else if (!moves_bytes(wr.opcode)) {
		change_key(r, side, &wr);
	} else if (r->kind->ops[0] == UROCE_WR_REG_MR && i < 4) {
		wr.lkey = r->fast_keys[side] ^ 1; /* until it is invalidated */
	}
	return wr;
}

/* What it does in the model's words. */
static struct model_op op_of(struct run *r, uint32_t side, const struct endpoint_wr *wr)
{
	struct model_op op = judge_op(&r->judge, (int)side, wr);

	if (wr->opcode == UROCE_WR_REG_MR || wr->opcode == UROCE_WR_BIND_MW) {
		op.bytes = (uint32_t)wr->change.bytes;
		op.rights = MODEL_MAY_READ;
	}
	if (wr->opcode == UROCE_WR_REG_MR || wr->opcode == UROCE_WR_LOCAL_INV)
		op.key = r->keys[side].fast;
	else if (wr->opcode == UROCE_WR_BIND_MW)
		op.key = r->keys[side].window;
	else if (wr->lkey)
		op.source = r->keys[side].fast;
	return op;
}

/* Names a key that nobody has. */
static void make_wrong(struct run *r, uint32_t side, struct endpoint_wr *wr, struct model_op *op)
{
	uint32_t nobodys = r->keys[side].nobodys;

	wr->rkey = wr->change.lkey = BAD_KEY;
	if (wr->opcode == UROCE_WR_REG_MR || wr->opcode == UROCE_WR_LOCAL_INV) {
		wr->imm = BAD_KEY;
		op->key = nobodys;
	} else if (wr->opcode == UROCE_WR_BIND_MW) {
		op->region = nobodys;
	} else if (wr->opcode == UROCE_WR_FLUSH || wr->opcode == UROCE_WR_ATOMIC_WRITE) {
		op->key = r->keys[1 - side].nobodys;
	} else {
		wr->lkey = BAD_KEY;
		op->source = nobodys;
	}
}

static void post(
	struct run *r, uint32_t side, const struct endpoint_wr *wr, const struct model_op *op)
{
	CU_ASSERT_TRUE(endpoint_post_send(&r->sim.ep[side], wr));
	judge_note_send(&r->judge, (int)side, op);
}

static void post_all(struct run *r)
{
	for (uint32_t side = 0; side < 2; side++)
		for (uint32_t i = 0; i < OPS; i++) {
			struct endpoint_wr wr = wr_of(r, side, i);
			struct model_op op = op_of(r, side, &wr);

			if (side == 0 && i == r->wrong)
				make_wrong(r, side, &wr, &op);
			if (takes_recv(wr.opcode))
				CU_ASSERT_TRUE(judge_post_recv(
					&r->judge, 1 - (int)side, i, (16 + i) * PLACE, PLACE));
			post(r, side, &wr, &op);
		}
}

/* ---- what it came to ---- */

static bool is_right(struct run *r)
{
	const char *wrong = judge_verdict(&r->judge);

	if (wrong)
		printf("\n%s", wrong);
	return !wrong && endpoint_counts_add_up(&r->sim.ep[0]) &&
		endpoint_counts_add_up(&r->sim.ep[1]);
}

/* Whether the first n messages of the other side have come; what a receive holds, the model saw. */
static bool have_come(const struct run *r, uint32_t side, uint32_t n)
{
	uint32_t recvs = 0;

	for (uint32_t i = 0; i < n; i++) {
		recvs += takes_recv(r->kind->ops[i]);
		if (r->kind->ops[i] == UROCE_WR_RDMA_WRITE &&
			memcmp(r->sim.ep[side].mem + place_of_write(i),
				r->sim.ep[1 - side].mem + i * PLACE, bytes_of(r->kind, i)) != 0)
			return false;
	}
	return r->judge.received[side] >= recvs;
}

/* A READ of a part of the peer's memory that nobody uses, by a key of the peer. */
static void probe(struct run *r, uint32_t side, uint32_t rkey, uint32_t key, uint32_t place)
{
	const struct endpoint *peer = &r->sim.ep[1 - side];
	struct endpoint_wr wr = {.wr_id = place,
		.opcode = UROCE_WR_RDMA_READ,
		.num_segs = 1,
		.segs = {{place * PLACE, 300}},
		.rkey = rkey,
		.remote_addr = (uintptr_t)(peer->mem + 6 * PLACE)};
	struct model_op op = judge_op(&r->judge, (int)side, &wr);

	op.key = key;
	op.after = OPS;
	post(r, side, &wr, &op);
	CU_ASSERT_TRUE(sim_run(&r->sim, r->sim.now_ns + SECOND_NS));
}

/*
 * Whether the binding is there and the registration has ended, as a peer finds out: the one lets it
 * READ, the other does not, which ends the connection, so that it is tried from one side only.
 */
static bool are_keys_right(struct run *r, uint32_t prober)
{
	const struct judge *j = &r->judge;

	if (r->kind->ops[0] != UROCE_WR_REG_MR)
		return true;
	for (uint32_t side = 0; side < 2; side++)
		probe(r, side, r->window_keys[1 - side] ^ 1, r->keys[1 - side].window, 30);
	if (!is_right(r) || j->failed > 0 || j->done[0] != OPS + 1 || j->done[1] != OPS + 1)
		return false;
	probe(r, prober, r->fast_keys[1 - prober] ^ 1, r->keys[1 - prober].fast, 31);
	return is_right(r) && j->failed == 1 && j->failed_with[prober] == MODEL_ACCESS_REFUSED;
}

/* Every completion with success, every byte in its place, nothing sent twice. */
static bool is_all_done(struct run *r, uint64_t n)
{
	const struct judge *j = &r->judge;

	if (!is_right(r) || j->failed > 0 || r->sim.repeated > 0)
		return false;
	for (uint32_t side = 0; side < 2; side++)
		if (j->done[side] != OPS || !have_come(r, side, OPS))
			return false;
	return are_keys_right(r, n % 2);
}

/* Whether side 0 has fallen silent: the last request, once more, is not sent. */
static bool is_mute(struct run *r)
{
	struct endpoint_wr wr = wr_of(r, 0, OPS - 1);

	return judge_is_mute(&r->judge, 0, &wr);
}

static void blame(const struct run *r, const char *what, uint64_t n, bool good)
{
	if (!good)
		printf("\n%s: %s %u\n", r->kind->name, what, (uint32_t)n);
	CU_ASSERT_TRUE(good);
}

/* ---- the cases ---- */

static void every_offer_of_slots_withheld(void)
{
	for (uint32_t k = 0; k < KINDS; k++) {
		uint64_t offers = 1;

		for (uint64_t n = 0; n <= offers; n++) {
			struct run *r = start(&kinds[k], 2 * OPS);

			r->sim.tx_hold = n;
			post_all(r);
			CU_ASSERT_TRUE(sim_run(&r->sim, SECOND_NS));
			blame(r, "slots withheld the nth time:", n, is_all_done(r, n));
			if (n == 0)
				offers = r->sim.tx_offers;
			end(r);
		}
		CU_ASSERT_TRUE(offers > 2 * OPS);
	}
}

static void every_burst_size(void)
{
	for (uint32_t k = 0; k < KINDS; k++)
		for (uint32_t burst = 1; burst <= 32; burst++) {
			struct run *r = start(&kinds[k], 2 * OPS);

			r->sim.burst = burst;
			r->sim.tx_slots = 1 + burst / 2;
			post_all(r);
			CU_ASSERT_TRUE(sim_run(&r->sim, SECOND_NS));
			blame(r, "bursts of", burst, is_all_done(r, burst));
			end(r);
		}
}

/* Nobody polls before the end: the completion after the nth does not fit, for all n. */
static void room_for_n_completions(void)
{
	for (uint32_t k = 0; k < KINDS; k++)
		for (uint32_t cqes = 1; cqes < OPS + count_recvs(&kinds[k]); cqes++) {
			struct run *r = start(&kinds[k], cqes);
			const struct judge *j = &r->judge;

			post_all(r);
			CU_ASSERT_TRUE(sim_run(&r->sim, 1000 * SECOND_NS));
			blame(r, "right up to completion", cqes, judge_poll(&r->judge, 0));
			CU_ASSERT_EQUAL(j->done[0] + j->received[0], cqes);
			CU_ASSERT_EQUAL(j->failed, 0);
			judge_ended(&r->judge, 0, true);
			blame(r, "room for completions:", cqes, is_right(r));
			blame(r, "what was sent with room for", cqes, have_come(r, 1, j->done[0]));
			blame(r, "silent after completion", cqes, is_mute(r));
			CU_ASSERT_EQUAL(r->sim.ep[0].qp->report.cause, UROCE_CAUSE_CQ_OVERFLOW);
			end(r);
		}
}

static void the_nth_request_is_wrong(void)
{
	for (uint32_t k = 0; k < KINDS; k++)
		for (uint32_t n = 0; n < OPS; n++) {
			struct run *r = start(&kinds[k], 2 * OPS);
			const struct judge *j = &r->judge;

			r->wrong = n;
			post_all(r);
			CU_ASSERT_TRUE(sim_run(&r->sim, 1000 * SECOND_NS));
			blame(r, "wrong request", n, is_right(r));
			CU_ASSERT_EQUAL(j->done[0], n);
			/* The model lets retries run out instead; but no answer was lost. */
			CU_ASSERT_EQUAL(j->failed_with[0], model_refusal(j->model, 0));
			blame(r, "what was sent before wrong request", n, have_come(r, 1, n));
			/* Who has no connection to end goes on receiving. */
			if (kinds[k].type != UROCE_QP_RC)
				blame(r, "received with wrong request", n, have_come(r, 0, OPS));
			end(r);
		}
}

static bool end_after(const struct kind *kind, uint32_t events)
{
	const struct uroce_qp_attr attr = {.state = UROCE_QP_ERR};
	struct run *r = start(kind, 2 * OPS);
	bool more = true;

	post_all(r);
	for (uint32_t i = 0; more && i < events; i++)
		more = sim_step(&r->sim, SECOND_NS);
	blame(r, "right up to event", events, judge_poll(&r->judge, 0));
	CU_ASSERT_EQUAL(endpoint_modify(&r->sim.ep[0], &attr, UROCE_QP_ATTR_STATE), 0);
	judge_ended(&r->judge, 0, false);
	CU_ASSERT_TRUE(sim_run(&r->sim, 1000 * SECOND_NS));
	blame(r, "ended after", events, is_right(r));
	blame(r, "sent before it ended after", events, have_come(r, 1, r->judge.done[0]));
	blame(r, "silent after event", events, is_mute(r));
	end(r);
	return more;
}

static void ended_after_the_nth_event(void)
{
	for (uint32_t k = 0; k < KINDS; k++) {
		uint32_t n = 0;

		while (end_after(&kinds[k], n))
			n++;
		CU_ASSERT_TRUE(n >= 4);
	}
}

int main(void)
{
	static const struct unit_case cases[] = {
		{"no slots for once, at any moment, costs nothing", every_offer_of_slots_withheld},
		{"bursts of every size do", every_burst_size},
		{"completion queues that are too small end the queue pair, at any moment",
			room_for_n_completions},
		{"the Nth request is wrong, for all N", the_nth_request_is_wrong},
		{"a queue pair is ended by command at any moment", ended_after_the_nth_event},
	};

	return run_suite("anomaly_types", cases, sizeof(cases) / sizeof(cases[0]));
}
