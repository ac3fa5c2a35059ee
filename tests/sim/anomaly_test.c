/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Things that run out, at every possible moment.
 *
 * One exchange of all operations in both directions is run again and again: with the Nth offer of
 * slots withheld, for all N; with bursts of every size; through a link queue of one frame; with
 * completion queues of just the right size, and of every smaller one. The model judges each run,
 * and what was sent twice is seen on the wire.
 */
#include <stdlib.h>
#include <string.h>

#include "cunit_run.h"
#include "judge.h"

enum {
	MTU = 256,
	PLACE = 2048, /* memory of one message */
	OPS = 6,
	RECVS = 3, /* that they take */
	MEM = 64 * PLACE,
	SECOND_NS = 1000000000,
};

static const enum uroce_wr_opcode opcodes[OPS] = {UROCE_WR_SEND, UROCE_WR_RDMA_READ,
	UROCE_WR_RDMA_WRITE, UROCE_WR_ATOMIC_FETCH_AND_ADD, UROCE_WR_RDMA_WRITE_WITH_IMM,
	UROCE_WR_SEND_WITH_IMM};

static struct endpoint_conf conf_of(uint32_t id)
{
	struct endpoint_conf conf = endpoint_defaults(id, 3 - id);

	conf.mtu_bytes = MTU;
	conf.mem_bytes = MEM;
	conf.sq_psn = conf.rq_psn = 0xfffffe;
	conf.caps.max_send_wr = OPS;
	conf.caps.max_recv_wr = OPS;
	conf.cqes = 2 * OPS;
	return conf;
}

struct run {
	struct sim sim;
	struct judge judge;
};

static struct run *start(const struct endpoint_conf *a, const struct endpoint_conf *b)
{
	struct sim_link_conf link = {.latency_ns = 1000, .ns_per_kib = 100, .seed = 1};
	struct run *r = malloc(sizeof(*r));

	if (!r)
		abort();
	sim_init(&r->sim, &link, a, b);
	return r;
}

static void end(struct run *r)
{
	judge_end(&r->judge);
	sim_fini(&r->sim);
	free(r);
}

static void fill_memory(struct sim *sim)
{
	for (int side = 0; side < 2; side++) {
		for (uint32_t i = 0; i < MEM; i++)
			sim->ep[side].mem[i] = (uint8_t)(i * 7 + (i >> 8) * 13 + (uint32_t)side);
		memset(sim->ep[side].mem + 32 * PLACE, 0, 8);
	}
}

/* Message i of a side goes from its place i to the peer's place 16 + i (READs the other way). */
static struct endpoint_wr wr_of(const struct endpoint *peer, uint32_t i)
{
	bool reads = opcodes[i] == UROCE_WR_RDMA_READ;
	bool atomic = opcodes[i] == UROCE_WR_ATOMIC_FETCH_AND_ADD;
	uint32_t there = reads ? i : 16 + i;
	struct endpoint_wr wr = {.wr_id = i,
		.opcode = opcodes[i],
		.num_segs = 1,
		.imm = i,
		.compare_add = 3,
		.rkey = peer->key};

	wr.segs[0].offset = (reads || atomic ? 16 + i : i) * PLACE;
	wr.segs[0].bytes = atomic ? 8 : 300 * i + 1;
	wr.remote_addr = (uintptr_t)(peer->mem + (atomic ? 32 : there) * PLACE);
	return wr;
}

/* Where the receive for message i is; one that a WRITE takes stays as it is, so elsewhere. */
static uint32_t place_of_recv(uint32_t i)
{
	return opcodes[i] == UROCE_WR_RDMA_WRITE_WITH_IMM ? 48 + i : 16 + i;
}

static bool takes_recv(enum uroce_wr_opcode opcode)
{
	return opcode == UROCE_WR_SEND || opcode == UROCE_WR_SEND_WITH_IMM ||
		opcode == UROCE_WR_RDMA_WRITE_WITH_IMM;
}

/* One exchange, to be judged by itself. */
static void post_all(struct run *r)
{
	fill_memory(&r->sim);
	judge_begin(&r->judge, &r->sim, NULL, MEM);
	for (int side = 0; side < 2; side++) {
		for (uint32_t i = 0; i < OPS; i++) {
			struct endpoint_wr wr = wr_of(&r->sim.ep[1 - side], i);

			if (takes_recv(opcodes[i]))
				CU_ASSERT_TRUE(judge_post_recv(
					&r->judge, 1 - side, i, place_of_recv(i) * PLACE, PLACE));
			CU_ASSERT_TRUE(judge_post_send(&r->judge, side, &wr));
		}
	}
}

static bool is_right(struct run *r)
{
	const char *wrong = judge_verdict(&r->judge);

	if (wrong)
		printf("  %s\n", wrong);
	return !wrong && endpoint_counts_add_up(&r->sim.ep[0]) &&
		endpoint_counts_add_up(&r->sim.ep[1]);
}

/* Every completion in order and with success, every byte in its place. */
static bool is_all_done(struct run *r)
{
	const struct judge *j = &r->judge;

	return is_right(r) && j->failed == 0 && j->done[0] == OPS && j->done[1] == OPS &&
		j->received[0] == RECVS && j->received[1] == RECVS;
}

static void every_offer_of_slots_withheld(void)
{
	const struct endpoint_conf a = conf_of(1), b = conf_of(2);
	uint64_t offers = 1;

	for (uint64_t n = 0; n <= offers; n++) {
		struct run *r = start(&a, &b);

		r->sim.tx_hold = n;
		post_all(r);
		CU_ASSERT_TRUE(sim_run(&r->sim, SECOND_NS));
		CU_ASSERT_TRUE(is_all_done(r));
		CU_ASSERT_TRUE(r->sim.repeated == 0);
		if (n == 0)
			offers = r->sim.tx_offers;
		end(r);
	}
	CU_ASSERT_TRUE(offers > 50);
}

static void every_burst_size(void)
{
	const struct endpoint_conf a = conf_of(1), b = conf_of(2);

	for (uint32_t burst = 1; burst <= 32; burst++) {
		for (uint32_t slots = 1; slots <= burst; slots += slots < 3 ? 1 : 7) {
			struct run *r = start(&a, &b);

			r->sim.burst = burst;
			r->sim.tx_slots = slots;
			post_all(r);
			CU_ASSERT_TRUE(sim_run(&r->sim, SECOND_NS));
			CU_ASSERT_TRUE(is_all_done(r));
			CU_ASSERT_TRUE(r->sim.repeated == 0);
			end(r);
		}
	}
}

static void small_link_queues(void)
{
	uint64_t repeated = 0;

	for (uint32_t frames = 1; frames < 12; frames++) {
		struct endpoint_conf a = conf_of(1), b = conf_of(2);
		struct run *r;

		a.caps.window_pkts = b.caps.window_pkts = 4;
		a.attr.max_rd_atomic = b.attr.max_rd_atomic = 1;
		a.attr.timeout = 6;
		b.attr.timeout = 7; /* or they collide in step for ever */
		r = start(&a, &b);
		r->sim.link.queue_frames = frames;
		post_all(r);
		CU_ASSERT_TRUE(sim_run(&r->sim, 10ull * SECOND_NS));
		CU_ASSERT_TRUE(is_all_done(r));
		repeated += r->sim.repeated;
		end(r);
	}
	/* Or the other cases would not have seen it. */
	CU_ASSERT_TRUE(repeated > 0);
}

static void completion_queues_of_the_right_size(void)
{
	/* As many completions as requests may be outstanding, for many rounds. */
	const struct endpoint_conf a = conf_of(1), b = conf_of(2);
	struct run *r = start(&a, &b);

	for (int round = 0; round < 50; round++) {
		if (round > 0)
			judge_end(&r->judge);
		post_all(r);
		CU_ASSERT_TRUE(sim_run(&r->sim, r->sim.now_ns + SECOND_NS));
		CU_ASSERT_TRUE(is_all_done(r));
	}
	end(r);
}

/* What the owner of an endpoint hears when a completion did not fit. */
static void expect_overflow_events(struct endpoint *ep)
{
	uint32_t cq_errs = 0, fatals = 0;
	struct uroce_core_event event;

	while (uroce_core_events(&ep->core, &event, 1) == 1) {
		cq_errs += event.type == UROCE_EVENT_CQ_ERR;
		fatals += event.type == UROCE_EVENT_QP_FATAL;
	}
	CU_ASSERT_TRUE(cq_errs >= 1);
	CU_ASSERT_EQUAL(fatals, 1);
	CU_ASSERT_EQUAL(ep->qp->report.cause, UROCE_CAUSE_CQ_OVERFLOW);
}

/* Nobody polls: the nth completion does not fit, for all n. */
static void completion_queues_that_are_too_small(void)
{
	for (uint32_t cqes = 1; cqes < OPS + RECVS; cqes++) {
		struct endpoint_conf a = conf_of(1), b = conf_of(2);
		struct endpoint_wr again;
		struct run *r;

		a.cqes = cqes;
		r = start(&a, &b);
		post_all(r);
		CU_ASSERT_TRUE(sim_run(&r->sim, 1000ull * SECOND_NS));
		CU_ASSERT_TRUE(judge_poll(&r->judge, 0));
		CU_ASSERT_EQUAL(r->judge.done[0] + r->judge.received[0], cqes);
		CU_ASSERT_EQUAL(r->judge.failed, 0);
		/* The peer notices in its own way, and everything of it completes. */
		judge_ended(&r->judge, 0, true);
		CU_ASSERT_TRUE(is_right(r));
		again = wr_of(&r->sim.ep[1], 0);
		CU_ASSERT_TRUE(judge_is_mute(&r->judge, 0, &again));
		expect_overflow_events(&r->sim.ep[0]);
		end(r);
	}
}

int main(void)
{
	static const struct unit_case cases[] = {
		{"no slots for once, at any moment, costs nothing", every_offer_of_slots_withheld},
		{"bursts of every size do", every_burst_size},
		{"a link that holds a few frames at a time is enough", small_link_queues},
		{"completion queues of the right size never overflow",
			completion_queues_of_the_right_size},
		{"completion queues that are too small end the queue pair, at any moment",
			completion_queues_that_are_too_small},
	};

	return run_suite("anomaly", cases, sizeof(cases) / sizeof(cases[0]));
}
