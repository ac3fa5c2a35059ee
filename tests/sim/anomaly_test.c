/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Things that run out, at every possible moment.
 *
 * One exchange of all operations in both directions is run again and again: with the Nth offer of
 * slots withheld, for all N; with bursts of every size; through a link queue of one frame; with
 * completion queues of just the right size, and of every smaller one.
 */
#include <stdlib.h>
#include <string.h>

#include "cunit_run.h"
#include "sim.h"

enum {
	MTU = 256,
	PLACE = 2048, /* memory of one message */
	OPS = 6,
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

static struct sim *start(const struct endpoint_conf *a, const struct endpoint_conf *b)
{
	struct sim_link_conf link = {.latency_ns = 1000, .ns_per_kib = 100, .seed = 1};
	struct sim *sim = malloc(sizeof(*sim));

	if (!sim)
		abort();
	sim_init(sim, &link, a, b);
	return sim;
}

/* Message i of a side goes from its place i to the peer's place 16 + i (READs the other way). */
static void post_all(struct sim *sim)
{
	for (int side = 0; side < 2; side++) {
		struct endpoint *peer = &sim->ep[1 - side];

		for (uint32_t i = 0; i < MEM; i++)
			sim->ep[side].mem[i] = (uint8_t)(i * 7 + (i >> 8) * 13 + (uint32_t)side);
		memset(sim->ep[side].mem + 32 * PLACE, 0, 8);
		for (uint32_t i = 0; i < OPS; i++) {
			bool reads = opcodes[i] == UROCE_WR_RDMA_READ;
			bool atomic = opcodes[i] == UROCE_WR_ATOMIC_FETCH_AND_ADD;
			struct endpoint_wr wr = {.wr_id = i,
				.opcode = opcodes[i],
				.num_segs = 1,
				.imm = i,
				.compare_add = 3,
				.rkey = peer->key};

			wr.segs[0].offset = (reads || atomic ? 16 + i : i) * PLACE;
			wr.segs[0].bytes = atomic ? 8 : 300 * i + 1;
			wr.remote_addr = (uintptr_t)(peer->mem +
				(atomic			? 32
						: reads ? i
							: 16 + i) *
					PLACE);
			if (opcodes[i] != UROCE_WR_RDMA_WRITE && !reads && !atomic)
				endpoint_post_recv(peer, i, (16 + i) * PLACE, PLACE);
			endpoint_post_send(&sim->ep[side], &wr);
		}
	}
}

/* Every completion in order and with success, every byte in its place. */
static bool is_all_done(struct sim *sim)
{
	static const uint32_t recvs[] = {0, 4, 5};
	struct uroce_cqe cqe;

	for (int side = 0; side < 2; side++) {
		uint32_t sent = 0, received = 0;
		uint64_t word;

		while (endpoint_poll(&sim->ep[side], &cqe, 1) == 1) {
			bool recv = cqe.opcode >= UROCE_WC_RECV;

			if (cqe.status != UROCE_STATUS_SUCCESS ||
				cqe.wr_id != (recv ? recvs[received % 3] : sent))
				return false;
			++*(recv ? &received : &sent);
		}
		if (sent != OPS || received != 3)
			return false;
		for (uint32_t i = 0; i < OPS; i++) {
			bool reads = opcodes[i] == UROCE_WR_RDMA_READ;

			if (opcodes[i] == UROCE_WR_ATOMIC_FETCH_AND_ADD)
				continue;
			if (memcmp(sim->ep[reads ? side : 1 - side].mem + (16 + i) * PLACE,
				    sim->ep[reads ? 1 - side : side].mem + i * PLACE,
				    300 * i + 1) != 0)
				return false;
		}
		memcpy(&word, sim->ep[side].mem + 32 * PLACE, 8);
		if (word != 3 || !endpoint_counts_add_up(&sim->ep[side]))
			return false;
	}
	return true;
}

static bool was_smooth(const struct sim *sim)
{
	return sim->ep[0].core.counters.retransmitted_packets == 0 &&
		sim->ep[1].core.counters.retransmitted_packets == 0;
}

static void every_offer_of_slots_withheld(void)
{
	const struct endpoint_conf a = conf_of(1), b = conf_of(2);
	uint64_t offers = 1;

	for (uint64_t n = 0; n <= offers; n++) {
		struct sim *sim = start(&a, &b);

		sim->tx_hold = n;
		post_all(sim);
		CU_ASSERT_TRUE(sim_run(sim, SECOND_NS));
		CU_ASSERT_TRUE(is_all_done(sim));
		CU_ASSERT_TRUE(was_smooth(sim));
		if (n == 0)
			offers = sim->tx_offers;
		sim_fini(sim);
		free(sim);
	}
	CU_ASSERT_TRUE(offers > 50);
}

static void every_burst_size(void)
{
	const struct endpoint_conf a = conf_of(1), b = conf_of(2);

	for (uint32_t burst = 1; burst <= 32; burst++) {
		for (uint32_t slots = 1; slots <= burst; slots += slots < 3 ? 1 : 7) {
			struct sim *sim = start(&a, &b);

			sim->burst = burst;
			sim->tx_slots = slots;
			post_all(sim);
			CU_ASSERT_TRUE(sim_run(sim, SECOND_NS));
			CU_ASSERT_TRUE(is_all_done(sim));
			CU_ASSERT_TRUE(was_smooth(sim));
			sim_fini(sim);
			free(sim);
		}
	}
}

static void small_link_queues(void)
{
	for (uint32_t frames = 1; frames < 12; frames++) {
		struct endpoint_conf a = conf_of(1), b = conf_of(2);
		struct sim *sim;

		a.caps.window_pkts = b.caps.window_pkts = 4;
		a.attr.max_rd_atomic = b.attr.max_rd_atomic = 1;
		a.attr.timeout = 6;
		b.attr.timeout = 7; /* or they collide in step for ever */
		sim = start(&a, &b);
		sim->link.queue_frames = frames;
		post_all(sim);
		CU_ASSERT_TRUE(sim_run(sim, 10ull * SECOND_NS));
		CU_ASSERT_TRUE(is_all_done(sim));
		sim_fini(sim);
		free(sim);
	}
}

static void completion_queues_of_the_right_size(void)
{
	/* As many completions as requests may be outstanding, for many rounds. */
	const struct endpoint_conf a = conf_of(1), b = conf_of(2);
	struct sim *sim = start(&a, &b);

	for (int round = 0; round < 50; round++) {
		post_all(sim);
		CU_ASSERT_TRUE(sim_run(sim, sim->now_ns + SECOND_NS));
		CU_ASSERT_TRUE(is_all_done(sim));
	}
	CU_ASSERT_EQUAL(sim->ep[0].core.counters.cq_overflows, 0);
	CU_ASSERT_EQUAL(sim->ep[1].core.counters.cq_overflows, 0);
	sim_fini(sim);
	free(sim);
}

/* Nobody polls: the nth completion does not fit, for all n. */
static void completion_queues_that_are_too_small(void)
{
	for (uint32_t cqes = 1; cqes < OPS + 3; cqes++) {
		struct endpoint_conf a = conf_of(1), b = conf_of(2);
		struct uroce_core_event event;
		struct uroce_cqe cqe;
		uint32_t got = 0, cq_errs = 0, fatals = 0;
		struct sim *sim;

		a.cqes = cqes;
		sim = start(&a, &b);
		post_all(sim);
		CU_ASSERT_TRUE(sim_run(sim, 1000ull * SECOND_NS));
		CU_ASSERT_EQUAL(sim->ep[0].qp->state, UROCE_QP_ERR);
		CU_ASSERT_TRUE(sim->ep[0].core.counters.cq_overflows > 0);
		CU_ASSERT_EQUAL(sim->ep[0].qp->report.cause, UROCE_CAUSE_CQ_OVERFLOW);
		while (endpoint_poll(&sim->ep[0], &cqe, 1) == 1) {
			CU_ASSERT_EQUAL(cqe.status, UROCE_STATUS_SUCCESS);
			got++;
		}
		CU_ASSERT_EQUAL(got, cqes);
		while (uroce_core_events(&sim->ep[0].core, &event, 1) == 1) {
			cq_errs += event.type == UROCE_EVENT_CQ_ERR;
			fatals += event.type == UROCE_EVENT_QP_FATAL;
		}
		CU_ASSERT_TRUE(cq_errs >= 1);
		CU_ASSERT_EQUAL(fatals, 1);
		CU_ASSERT_TRUE(endpoint_counts_add_up(&sim->ep[0]));
		/* The peer notices in its own way, and everything of it completes. */
		for (got = 0; endpoint_poll(&sim->ep[1], &cqe, 1) == 1; got++)
			;
		CU_ASSERT_EQUAL(got, sim->ep[1].qp->state == UROCE_QP_ERR ? OPS + 3u : got);
		sim_fini(sim);
		free(sim);
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
