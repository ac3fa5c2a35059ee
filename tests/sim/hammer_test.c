/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Memory that changes while it is sent.
 *
 * An application may write to a buffer that a peer READs, or that it has posted itself, at any
 * moment; that must never make a frame with a bad ICRC. Here the source is filled with another
 * value between any two frames: every frame must be good, and hold one value, and a packet that is
 * sent again may hold another one. What else must be so, the model says: it lets the bytes that are
 * moved be any, and nothing else.
 */
#include <stdlib.h>
#include <string.h>

#include "cunit_run.h"
#include "judge.h"

enum {
	MTU = 1024,
	BYTES = 64 * MTU,
	MEM = 4 * BYTES
};

struct hammer {
	struct sim sim;
	struct judge judge;
	uint8_t value;
	int side; /* whose memory is the source */
};

static void strike(struct hammer *h)
{
	h->value++;
	memset(h->sim.ep[h->side].mem, h->value, BYTES);
}

/* Every MTU of what arrived is one value: a frame is a moment. */
static bool is_of_whole_frames(const uint8_t *p)
{
	for (uint32_t i = 0; i < BYTES; i++)
		if (p[i] != p[i / MTU * MTU])
			return false;
	return true;
}

static void run(enum uroce_wr_opcode opcode, uint32_t loss_ppm, uint32_t tx_slots)
{
	struct sim_link_conf link = {
		.latency_ns = 1000, .ns_per_kib = 100, .loss_ppm = loss_ppm, .seed = 7};
	struct endpoint_conf a = endpoint_defaults(1, 2), b = endpoint_defaults(2, 1);
	struct hammer *h = malloc(sizeof(*h));
	bool reads = opcode == UROCE_WR_RDMA_READ;
	struct endpoint_wr wr = {.wr_id = 1, .opcode = opcode, .num_segs = 1};
	const char *wrong;

	if (!h)
		abort();
	a.mem_bytes = b.mem_bytes = MEM;
	sim_init(&h->sim, &link, &a, &b);
	h->value = 0;
	h->side = reads ? 1 : 0;
	/* One frame a turn, a blow between turns; or bursts, whose frames are built in one go. */
	h->sim.burst = tx_slots;
	h->sim.tx_slots = tx_slots;
	wr.segs[0].offset = reads ? BYTES : 0;
	wr.segs[0].bytes = BYTES;
	wr.rkey = h->sim.ep[1].key;
	wr.remote_addr = (uintptr_t)(h->sim.ep[1].mem + (reads ? 0 : BYTES));
	judge_begin(&h->judge, &h->sim, NULL, MEM);
	h->judge.unsteady = true;
	if (opcode == UROCE_WR_SEND)
		judge_post_recv(&h->judge, 1, 2, BYTES, BYTES);
	strike(h);
	judge_post_send(&h->judge, 0, &wr);
	while (sim_step(&h->sim, UINT64_MAX - 1))
		strike(h);
	wrong = judge_verdict(&h->judge);
	CU_ASSERT_PTR_NULL(wrong);
	if (wrong)
		printf("  %s\n", wrong);
	CU_ASSERT_EQUAL(h->judge.done[0], 1);
	CU_ASSERT_TRUE(is_of_whole_frames(h->sim.ep[1 - h->side].mem + BYTES));
	for (int side = 0; side < 2; side++)
		CU_ASSERT_EQUAL(h->sim.ep[side].core.counters.drops[UROCE_DROP_ICRC], 0);
	/* It did change on the way, or this shows nothing. */
	CU_ASSERT_NOT_EQUAL(
		h->sim.ep[1 - h->side].mem[BYTES], h->sim.ep[1 - h->side].mem[2 * BYTES - 1]);
	judge_end(&h->judge);
	sim_fini(&h->sim);
	free(h);
}

static void run_all(enum uroce_wr_opcode opcode)
{
	static const uint32_t slots[] = {1, 3, 32};

	for (size_t i = 0; i < 3; i++) {
		run(opcode, 0, slots[i]);
		run(opcode, 50000, slots[i]);
	}
}

static void reads(void)
{
	run_all(UROCE_WR_RDMA_READ);
}

static void writes(void)
{
	run_all(UROCE_WR_RDMA_WRITE);
}

static void sends(void)
{
	run_all(UROCE_WR_SEND);
}

int main(void)
{
	static const struct unit_case cases[] = {
		{"memory that changes while it is READ never makes a bad frame", reads},
		{"memory that changes while it is WRITTEN from never makes a bad frame", writes},
		{"memory that changes while it is sent never makes a bad frame", sends},
	};

	return run_suite("hammer", cases, sizeof(cases) / sizeof(cases[0]));
}
