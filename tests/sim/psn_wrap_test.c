/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * PSNs at the ends of their circle: a thousand packets across 2^24 and across 2^23, both ways.
 *
 * Over a perfect link nothing may be sent twice or refused: whoever compares two PSNs as plain
 * numbers stalls or goes back here. Over a bad link all must still arrive. What must arrive, and in
 * which order, the model says.
 */
#include <stdlib.h>
#include <string.h>

#include "cunit_run.h"
#include "judge.h"

enum {
	PACKETS = 1000,
	MTU = 256,
	MESSAGE = 3 * MTU - 5, /* three packets */
	DEPTH = 32,
	MEM = 1 << 18
};

static const uint32_t starts[] = {0xfffff0, 0x7ffff0, 0xfffffe, 0x7fffff};

static struct sim *start(uint32_t psn, uint32_t loss_ppm)
{
	struct sim_link_conf link = {
		.latency_ns = 1000, .ns_per_kib = 100, .loss_ppm = loss_ppm, .seed = psn};
	struct endpoint_conf a = endpoint_defaults(1, 2), b = endpoint_defaults(2, 1);
	struct sim *sim = malloc(sizeof(*sim));

	if (!sim)
		abort();
	a.sq_psn = a.rq_psn = b.sq_psn = b.rq_psn = psn;
	a.mtu_bytes = b.mtu_bytes = MTU;
	a.mem_bytes = b.mem_bytes = MEM;
	sim_init(sim, &link, &a, &b);
	for (int side = 0; side < 2; side++)
		for (uint32_t i = 0; i < MEM / 2; i++)
			sim->ep[side].mem[i] = (uint8_t)(i * 7 + (i >> 8) * 13 + (uint32_t)side);
	return sim;
}

static void end(struct sim *sim)
{
	sim_fini(sim);
	free(sim);
}

static struct endpoint_wr work(
	struct sim *sim, int side, enum uroce_wr_opcode opcode, uint32_t i, uint32_t bytes)
{
	size_t local = (size_t)(i % DEPTH) * bytes;
	struct endpoint_wr wr = {
		.wr_id = i, .opcode = opcode, .num_segs = 1, .rkey = sim->ep[1 - side].key};
	bool reads = opcode == UROCE_WR_RDMA_READ;

	wr.segs[0].offset = reads ? MEM / 2 + local : local;
	wr.segs[0].bytes = bytes;
	wr.remote_addr = (uintptr_t)(sim->ep[1 - side].mem + (reads ? local : MEM / 2 + local));
	return wr;
}

/* Posts as long as few enough are on their way. */
static void post_more(struct judge *j, int side, enum uroce_wr_opcode opcode, uint32_t n,
	uint32_t bytes, uint32_t *posted)
{
	for (; *posted < n && *posted - j->done[side] < DEPTH / 2; ++*posted) {
		struct endpoint_wr wr = work(j->sim, side, opcode, *posted, bytes);

		if (opcode == UROCE_WR_SEND)
			judge_post_recv(j, 1 - side, *posted,
				MEM / 2 + (*posted % DEPTH) * (size_t)bytes, bytes);
		judge_post_send(j, side, &wr);
	}
}

/* Until n are done at both ends; false: it stands still, or the model says no. */
static bool run(struct judge *j, enum uroce_wr_opcode opcode, uint32_t n, uint32_t bytes)
{
	uint32_t posted[2] = {0, 0};

	while (j->done[0] < n || j->done[1] < n) {
		for (int side = 0; side < 2; side++)
			post_more(j, side, opcode, n, bytes, &posted[side]);
		if (!sim_step(j->sim, UINT64_MAX - 1) || !judge_poll(j, 0) || !judge_poll(j, 1))
			return false;
	}
	return sim_run(j->sim, j->sim->now_ns + 1000000000);
}

/* Keeps both directions busy until n messages each are done; true if all went well. */
static bool exchange(struct sim *sim, enum uroce_wr_opcode opcode, uint32_t n, uint32_t bytes)
{
	struct judge judge;
	const char *wrong;
	bool good;

	judge_begin(&judge, sim, NULL, MEM);
	good = run(&judge, opcode, n, bytes);
	wrong = judge_verdict(&judge);
	if (wrong)
		printf("  %s\n", wrong);
	good = good && !wrong && judge.failed == 0;
	judge_end(&judge);
	return good;
}

/* Over a perfect link nothing is sent twice and nothing dropped. */
static bool was_smooth(const struct sim *sim)
{
	for (int side = 0; side < 2; side++) {
		const struct uroce_counters *c = &sim->ep[side].core.counters;

		if (c->retransmitted_packets || c->duplicate_request || c->out_of_sequence ||
			c->local_ack_timeout_err || c->nak_sent || c->implied_nak_seq_err ||
			c->rx_frames != c->rx_accepted)
			return false;
	}
	return true;
}

static void across(enum uroce_wr_opcode opcode, uint32_t bytes)
{
	uint32_t pkts = bytes == 0 ? 1 : (bytes - 1) / MTU + 1;

	for (size_t i = 0; i < sizeof(starts) / sizeof(starts[0]); i++) {
		struct sim *sim = start(starts[i], 0);
		uint32_t n = (PACKETS + pkts - 1) / pkts;
		bool good = exchange(sim, opcode, n, bytes);

		CU_ASSERT_TRUE(good);
		CU_ASSERT_TRUE(was_smooth(sim));
		CU_ASSERT_EQUAL(sim->ep[0].qp->req.psn_una, (starts[i] + n * pkts) & 0xffffff);
		CU_ASSERT_EQUAL(sim->ep[0].qp->resp.epsn, (starts[i] + n * pkts) & 0xffffff);
		if (!good || !was_smooth(sim))
			endpoint_print_trace(&sim->ep[0], 40);
		end(sim);
	}
}

static void sends(void)
{
	across(UROCE_WR_SEND, 100);
	across(UROCE_WR_SEND, MESSAGE);
}

static void writes(void)
{
	across(UROCE_WR_RDMA_WRITE, 100);
	across(UROCE_WR_RDMA_WRITE, MESSAGE);
}

static void reads(void)
{
	across(UROCE_WR_RDMA_READ, 100);
	across(UROCE_WR_RDMA_READ, 8 * MTU - 3);
}

static void a_read_that_spans_the_wrap(void)
{
	/* Begins before the wrap and ends after it, whole and with packets lost. */
	for (uint32_t loss = 0; loss < 20; loss++) {
		struct sim *sim = start(0xfffff8, 0);

		sim->link.loss_mask = loss ? 1ull << (loss + 1) : 0;
		CU_ASSERT_TRUE(exchange(sim, UROCE_WR_RDMA_READ, 1, 16 * MTU));
		CU_ASSERT_EQUAL(sim->ep[0].qp->req.psn_una, 0x000008);
		end(sim);
	}
}

static void acks_are_coalesced_over_the_wrap(void)
{
	for (size_t i = 0; i < sizeof(starts) / sizeof(starts[0]); i++) {
		struct sim *sim = start(starts[i], 0);

		/* So fast a link that what leaves in a turn arrives in one. */
		sim->link.ns_per_kib = 0;
		CU_ASSERT_TRUE(exchange(sim, UROCE_WR_RDMA_WRITE, 64, 16 * MTU));
		CU_ASSERT_TRUE(was_smooth(sim));
		/* 1024 packets came in; far fewer acknowledgements went out. */
		CU_ASSERT_TRUE(sim->ep[1].core.counters.tx_acks <= 128);
		CU_ASSERT_TRUE(sim->ep[1].core.counters.tx_acks >= 16);
		end(sim);
	}
}

static void losses(void)
{
	static const enum uroce_wr_opcode opcodes[] = {
		UROCE_WR_SEND, UROCE_WR_RDMA_WRITE, UROCE_WR_RDMA_READ};

	for (size_t i = 0; i < sizeof(starts) / sizeof(starts[0]); i++) {
		for (size_t o = 0; o < 3; o++) {
			struct sim *sim = start(starts[i], 20000);
			bool good = exchange(sim, opcodes[o], 200, MESSAGE);

			CU_ASSERT_TRUE(good);
			if (!good)
				endpoint_print_trace(&sim->ep[0], 40);
			end(sim);
		}
	}
}

int main(void)
{
	static const struct unit_case cases[] = {
		{"a thousand SEND packets cross the ends of the circle smoothly", sends},
		{"a thousand WRITE packets cross the ends of the circle smoothly", writes},
		{"a thousand READ packets cross the ends of the circle smoothly", reads},
		{"rxe psn_compare: a READ may span the wrap, whatever is lost",
			a_read_that_spans_the_wrap},
		{"rxe psn_compare: acknowledgements are coalesced over the wrap",
			acks_are_coalesced_over_the_wrap},
		{"losses at the ends of the circle are repaired", losses},
	};

	return run_suite("psn_wrap", cases, sizeof(cases) / sizeof(cases[0]));
}
