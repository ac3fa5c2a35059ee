/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Things that run out or end, at every possible moment, on every service and with every kind of
 * work: what anomaly_test.c does to the plain operations of a reliable connection, here with UC,
 * UD, a shared receive queue, ATOMIC WRITE and FLUSH, and with changes of what keys stand for.
 *
 * An exchange in both directions is run again and again: with the Nth offer of slots withheld, with
 * bursts of every size, with room for N completions, with the Nth work request a wrong one, and
 * with a command that ends the queue pair after the Nth event, for all N. What completes does so
 * once, in order, and with success only if its bytes are there; after a failure all is flushed.
 */
#include <stdlib.h>
#include <string.h>

#include "cunit_run.h"
#include "sim.h"

enum {
	MTU = 256,
	PLACE = 2048, /* memory of one message */
	OPS = 6,
	MEM = 32 * PLACE,
	GRH_BYTES = 40,
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
	uint32_t fast_keys[2], window_keys[2]; /* of each side, before anything is posted */
	uint32_t wrong;			       /* the work request of side 0 that is; OPS: none */
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

static uint8_t byte_before(uint32_t side, uint32_t at)
{
	return (uint8_t)(at * 7 + (at >> 8) * 13 + side);
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
	for (uint32_t side = 0; side < 2; side++) {
		r->fast_keys[side] = endpoint_slot(&r->sim.ep[side], UROCE_MR_FAST);
		r->window_keys[side] = endpoint_slot(&r->sim.ep[side], UROCE_MR_WINDOW_2);
		for (uint32_t i = 0; i < MEM; i++)
			r->sim.ep[side].mem[i] = byte_before(side, i);
	}
	return r;
}

static void end(struct run *r)
{
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

/* Message i goes from place i to the peer's place 16 + i; a FLUSH is of the one before it. */
static struct endpoint_wr wr_of(struct run *r, uint32_t side, uint32_t i)
{
	struct endpoint *peer = &r->sim.ep[1 - side];
	struct endpoint_wr wr = {.wr_id = i,
		.opcode = r->kind->ops[i],
		.num_segs = 1,
		.segs = {{i * PLACE, bytes_of(r->kind, i)}},
		.imm = i,
		.rkey = peer->key,
		.remote_addr = (uintptr_t)(peer->mem + (16 + i) * PLACE)};

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

/* Names a key that nobody has. */
static void make_wrong(struct endpoint_wr *wr)
{
	if (moves_bytes(wr->opcode) && wr->opcode != UROCE_WR_ATOMIC_WRITE)
		wr->lkey = BAD_KEY;
	wr->rkey = wr->change.lkey = BAD_KEY;
	if (wr->opcode == UROCE_WR_REG_MR || wr->opcode == UROCE_WR_LOCAL_INV)
		wr->imm = BAD_KEY;
}

static void post_all(struct run *r)
{
	for (uint32_t side = 0; side < 2; side++)
		for (uint32_t i = 0; i < OPS; i++) {
			struct endpoint_wr wr = wr_of(r, side, i);

			if (side == 0 && i == r->wrong)
				make_wrong(&wr);
			if (takes_recv(wr.opcode))
				CU_ASSERT_TRUE(endpoint_post_recv(
					&r->sim.ep[1 - side], i, (16 + i) * PLACE, PLACE));
			CU_ASSERT_TRUE(endpoint_post_send(&r->sim.ep[side], &wr));
		}
}

/* ---- what it came to ---- */

/* One queue's completions: so many with success, then perhaps a failure, and flushes. */
struct tally {
	uint32_t done;
	uint32_t failed; /* the flushed too */
	enum uroce_status status;
};

struct outcome {
	struct tally sends, recvs;
};

/* Whether message i of the other side is in this one's memory. */
static bool is_there(const struct run *r, uint32_t side, uint32_t i)
{
	uint32_t grh = r->kind->type == UROCE_QP_UD ? GRH_BYTES : 0;

	return memcmp(r->sim.ep[side].mem + (16 + i) * PLACE + grh,
		       r->sim.ep[1 - side].mem + i * PLACE, bytes_of(r->kind, i)) == 0;
}

/* The operation that takes the rank-th receive. */
static uint32_t op_of_recv(const struct kind *kind, uint32_t rank)
{
	uint32_t i = 0;

	while (i < OPS && (!takes_recv(kind->ops[i]) || rank-- > 0))
		i++;
	return i;
}

static bool count(struct tally *t, const struct uroce_cqe *cqe)
{
	if (cqe->status == UROCE_STATUS_SUCCESS) {
		t->done++;
		return t->failed == 0;
	}
	if (t->failed++ == 0) {
		t->status = cqe->status;
		return true;
	}
	return cqe->status == UROCE_STATUS_WR_FLUSH_ERR;
}

/* Polls all of a side. False: out of order, twice, or with success but without its bytes. */
static bool take_all(struct run *r, uint32_t side, struct outcome *o)
{
	struct uroce_cqe cqe;

	memset(o, 0, sizeof(*o));
	while (endpoint_poll(&r->sim.ep[side], &cqe, 1) == 1) {
		bool recv = cqe.opcode >= UROCE_WC_RECV;
		struct tally *t = recv ? &o->recvs : &o->sends;
		uint32_t rank = t->done + t->failed, id = recv ? op_of_recv(r->kind, rank) : rank;
		bool arrived = recv || r->kind->type == UROCE_QP_RC;

		if (cqe.wr_id != id || id >= OPS || !count(t, &cqe))
			return false;
		if (cqe.status == UROCE_STATUS_SUCCESS && arrived &&
			!is_there(r, recv ? side : 1 - side, id))
			return false;
	}
	return endpoint_counts_add_up(&r->sim.ep[side]);
}

/* Whether the place of message i is as it was. */
static bool is_untouched(const struct run *r, uint32_t side, uint32_t i)
{
	for (uint32_t at = (16 + i) * PLACE; at < (17 + i) * PLACE; at++)
		if (r->sim.ep[side].mem[at] != byte_before(side, at))
			return false;
	return true;
}

/* Whether the registration has ended and the binding has not. */
static bool are_keys_right(const struct run *r, uint32_t side)
{
	const struct endpoint *ep = &r->sim.ep[side];
	uint32_t keys[2] = {r->fast_keys[side] ^ 1, r->window_keys[side] ^ 1};
	enum uroce_mr_verdict verdicts[2];
	uint8_t *ptr;

	if (r->kind->ops[0] != UROCE_WR_REG_MR)
		return true;
	for (int i = 0; i < 2; i++)
		verdicts[i] = uroce_mr_resolve_for(&ep->mrs, ep->qp->pd, ep->qp->qpn, keys[i],
			(uintptr_t)ep->mem, MEM / 2, UROCE_ACCESS_REMOTE_READ, &ptr);
	return verdicts[0] == UROCE_MR_NO_KEY && verdicts[1] == UROCE_MR_OK;
}

/* Every completion in order and with success, every byte in its place, nothing sent twice. */
static bool is_all_done(struct run *r)
{
	for (uint32_t side = 0; side < 2; side++) {
		struct outcome o;

		if (!take_all(r, side, &o) || o.sends.done != OPS ||
			o.recvs.done != count_recvs(r->kind) || o.sends.failed || o.recvs.failed ||
			r->sim.ep[side].core.counters.retransmitted_packets > 0)
			return false;
		for (uint32_t i = 0; i < OPS; i++)
			if (!is_there(r, side, i))
				return false;
		if (!are_keys_right(r, side))
			return false;
	}
	return true;
}

/* A side that has ended: all that was posted completes; but a shared queue's stay there. */
static bool is_all_over(const struct run *r, const struct outcome *o)
{
	uint32_t recvs = o->recvs.done + o->recvs.failed, posted = count_recvs(r->kind);

	return o->sends.done + o->sends.failed == OPS &&
		(r->kind->shared ? recvs <= posted && o->recvs.failed <= 1 : recvs == posted);
}

/* The other side: as a whole, or ended too. */
static bool is_peer_right(struct run *r)
{
	struct outcome o;

	if (!take_all(r, 1, &o))
		return false;
	if (r->sim.ep[1].qp->state == UROCE_QP_ERR)
		return is_all_over(r, &o);
	return o.sends.done == OPS && o.recvs.failed == 0;
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
			blame(r, "slots withheld the nth time:", n, is_all_done(r));
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
			blame(r, "bursts of", burst, is_all_done(r));
			end(r);
		}
}

/* Nobody polls before the end: the completion after the nth does not fit, for all n. */
static void room_for_n_completions(void)
{
	for (uint32_t k = 0; k < KINDS; k++)
		for (uint32_t cqes = 1; cqes < OPS + count_recvs(&kinds[k]); cqes++) {
			struct run *r = start(&kinds[k], cqes);
			struct outcome o;

			post_all(r);
			CU_ASSERT_TRUE(sim_run(&r->sim, 1000 * SECOND_NS));
			CU_ASSERT_EQUAL(r->sim.ep[0].qp->state, UROCE_QP_ERR);
			CU_ASSERT_EQUAL(r->sim.ep[0].qp->report.cause, UROCE_CAUSE_CQ_OVERFLOW);
			blame(r, "right up to completion", cqes, take_all(r, 0, &o));
			CU_ASSERT_EQUAL(o.sends.done + o.recvs.done, cqes);
			CU_ASSERT_EQUAL(o.sends.failed + o.recvs.failed, 0);
			blame(r, "the peer of one with completions for", cqes, is_peer_right(r));
			end(r);
		}
}

/* What a wrong work request fails with. */
static enum uroce_status status_of_wrong(enum uroce_wr_opcode opcode)
{
	if (opcode == UROCE_WR_BIND_MW)
		return UROCE_STATUS_MW_BIND_ERR;
	if (opcode == UROCE_WR_REG_MR || opcode == UROCE_WR_LOCAL_INV)
		return UROCE_STATUS_LOC_QP_OP_ERR;
	if (opcode == UROCE_WR_FLUSH || opcode == UROCE_WR_ATOMIC_WRITE)
		return UROCE_STATUS_REM_ACCESS_ERR;
	return UROCE_STATUS_LOC_PROT_ERR;
}

static void the_nth_request_is_wrong(void)
{
	for (uint32_t k = 0; k < KINDS; k++)
		for (uint32_t n = 0; n < OPS; n++) {
			struct run *r = start(&kinds[k], 2 * OPS);
			struct outcome o;
			bool good;

			r->wrong = n;
			post_all(r);
			CU_ASSERT_TRUE(sim_run(&r->sim, 1000 * SECOND_NS));
			good = take_all(r, 0, &o);
			blame(r, "wrong request", n,
				good && o.sends.done == n && o.sends.failed == OPS - n &&
					o.sends.status == status_of_wrong(kinds[k].ops[n]));
			blame(r, "the peer of one with wrong request", n, is_peer_right(r));
			for (uint32_t i = n; i < OPS; i++)
				blame(r, "memory after wrong request", n, is_untouched(r, 1, i));
			end(r);
		}
}

static bool end_after(const struct kind *kind, uint32_t events)
{
	const struct uroce_qp_attr attr = {.state = UROCE_QP_ERR};
	struct run *r = start(kind, 2 * OPS);
	struct outcome o;
	bool more = true;

	post_all(r);
	for (uint32_t i = 0; more && i < events; i++)
		more = sim_step(&r->sim, SECOND_NS);
	CU_ASSERT_EQUAL(endpoint_modify(&r->sim.ep[0], &attr, UROCE_QP_ATTR_STATE), 0);
	CU_ASSERT_TRUE(sim_run(&r->sim, 1000 * SECOND_NS));
	blame(r, "ended after", events, take_all(r, 0, &o) && is_all_over(r, &o));
	blame(r, "the peer of one that ended after", events, is_peer_right(r));
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
