/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Every way to lose any of the first twelve packets of an exchange of two messages.
 *
 * 4096 masks for each operation, at the wrap, at the half of the circle and elsewhere, with
 * single-packet and multi-packet messages: whatever is lost, every byte arrives, every work request
 * completes once and in order, and an atomic is executed once: the model says so. Eight lost
 * packets can be eight tries of the same one: with seven retries the connection may then end, in
 * order and with the right status, and nothing is done twice.
 *
 * MASK_BITS=16 in the environment takes the first sixteen packets.
 */
#ifndef _POSIX_C_SOURCE
#define _POSIX_C_SOURCE 200809L
#endif
#include <stdlib.h>
#include <string.h>

#include "cunit_run.h"
#include "judge.h"

enum {
	MASK_BITS_DEFAULT = 12,
	MASK_BITS_MAX = 24,
	AREA = 2048, /* local memory: [0, AREA) out, [AREA, 2 AREA) in */
	MESSAGES = 2,
	RETRIES = 7,
	SECOND_NS = 1000000000,
};

static void fill(uint8_t *p, size_t bytes, uint32_t salt)
{
	for (size_t i = 0; i < bytes; i++)
		p[i] = (uint8_t)((i * 7 + (i >> 8) * 13 + salt) % 255 + 1);
}

static bool is_atomic(enum uroce_wr_opcode opcode)
{
	return opcode == UROCE_WR_ATOMIC_FETCH_AND_ADD || opcode == UROCE_WR_ATOMIC_CMP_AND_SWP;
}

static bool has_imm(enum uroce_wr_opcode opcode)
{
	return opcode == UROCE_WR_SEND_WITH_IMM || opcode == UROCE_WR_RDMA_WRITE_WITH_IMM;
}

static bool takes_receive(enum uroce_wr_opcode opcode)
{
	return opcode == UROCE_WR_SEND || opcode == UROCE_WR_SEND_WITH_INV || has_imm(opcode);
}

/* The responder's fast regions that the two SENDs with invalidate end. */
static uint32_t fast_keys[MESSAGES];

static void register_fast_regions(struct judge *j)
{
	struct endpoint *ep = &j->sim->ep[1];

	for (uint32_t i = 0; i < MESSAGES; i++) {
		struct uroce_mr_change change = {.pd = 7,
			.key = endpoint_slot(ep, UROCE_MR_FAST),
			.access = UROCE_ACCESS_LOCAL_WRITE,
			.bytes = 8,
			.ptr = ep->mem};

		change.new_key = fast_keys[i] = change.key ^ 1;
		CU_ASSERT_EQUAL(uroce_mr_register_fast(&ep->mrs, &change), UROCE_MR_OK);
		judge_add_fast(j, 1, fast_keys[i], 0, 8);
	}
}

/* A region is there until its message is complete, and not after. */
static bool invalidations_are_right(const struct sim *sim, uint32_t done)
{
	uint8_t *ptr;

	for (uint32_t i = 0; i < done; i++)
		if (uroce_mr_resolve(&sim->ep[1].mrs, 7, fast_keys[i], 0, 8, 0, &ptr) !=
			UROCE_MR_NO_KEY)
			return false;
	return true;
}

static struct endpoint_wr wr_of(
	struct sim *sim, enum uroce_wr_opcode opcode, uint32_t i, uint32_t bytes)
{
	struct endpoint_wr wr = {.wr_id = 100 + i,
		.opcode = opcode,
		.num_segs = 1,
		.imm = 77 + i,
		.rkey = sim->ep[1].key};
	bool fetches = opcode == UROCE_WR_RDMA_READ;

	wr.segs[0].offset = (fetches ? AREA : 0) + (size_t)i * bytes;
	wr.segs[0].bytes = bytes;
	wr.remote_addr = (uintptr_t)(sim->ep[1].mem + (fetches ? 0 : AREA) + (size_t)i * bytes);
	if (is_atomic(opcode)) {
		wr.segs[0].offset = AREA + (size_t)i * 8;
		wr.segs[0].bytes = 8;
		wr.remote_addr = (uintptr_t)(sim->ep[1].mem + AREA);
		wr.compare_add = opcode == UROCE_WR_ATOMIC_FETCH_AND_ADD ? 1 : 5 + i;
		wr.swap = 6 + i;
	}
	if (opcode == UROCE_WR_SEND_WITH_INV)
		wr.imm = fast_keys[i];
	/* A FLUSH is for a WRITE before it. */
	if (opcode == UROCE_WR_FLUSH && i == 0)
		wr.opcode = UROCE_WR_RDMA_WRITE;
	if (wr.opcode == UROCE_WR_FLUSH) {
		wr.num_segs = 0;
		wr.imm = UROCE_FLUSH_GLOBAL;
		wr.bytes = bytes;
		wr.remote_addr = (uintptr_t)(sim->ep[1].mem + AREA);
	}
	return wr;
}

/*
 * What went wrong, or NULL: the model says what must have completed and what memory must hold;
 * whether retries may have run out at all, the mask does.
 */
static const char *check(struct judge *j, enum uroce_wr_opcode opcode, uint64_t mask)
{
	const char *wrong = judge_verdict(j);

	if (wrong)
		return wrong;
	if (opcode == UROCE_WR_SEND_WITH_INV && !invalidations_are_right(j->sim, j->done[0]))
		return "what was complete did not invalidate its key";
	if (j->done[0] < MESSAGES && __builtin_popcountll(mask) <= RETRIES)
		return "retries ran out after fewer losses";
	return NULL;
}

/* Memory of its own for each receive, but for a SEND's: there it is where the bytes go. */
static void post_recv(struct judge *j, enum uroce_wr_opcode opcode, uint32_t i, uint32_t bytes)
{
	size_t at = opcode == UROCE_WR_RDMA_WRITE_WITH_IMM ? 0 : AREA;

	if (takes_receive(opcode))
		judge_post_recv(j, 1, 200 + i, at + (size_t)i * bytes, bytes);
}

static const char *run(struct judge *j, enum uroce_wr_opcode opcode, uint32_t bytes, uint64_t mask)
{
	struct sim *sim = j->sim;
	const char *wrong;

	for (uint32_t i = 0; i < MESSAGES; i++) {
		struct endpoint_wr wr = wr_of(sim, opcode, i, bytes);

		post_recv(j, opcode, i, bytes);
		judge_post_send(j, 0, &wr);
	}
	if (!sim_run(sim, 10ull * SECOND_NS))
		return "did not come to rest in ten seconds";
	wrong = check(j, opcode, mask);
	if (wrong)
		return wrong;
	if (!endpoint_counts_add_up(&sim->ep[0]) || !endpoint_counts_add_up(&sim->ep[1]))
		return "frames received are not those accepted and dropped";
	return NULL;
}

/* What went wrong, to be freed, or NULL. */
static char *exchange(
	struct sim *sim, enum uroce_wr_opcode opcode, uint32_t bytes, uint64_t mask, uint32_t psn)
{
	struct sim_link_conf link = {.latency_ns = 1000, .ns_per_kib = 100, .loss_mask = mask};
	struct endpoint_conf a = endpoint_defaults(1, 2), b = endpoint_defaults(2, 1);
	struct judge judge;
	const char *wrong;
	char *copy;
	uint64_t five = 5;

	a.sq_psn = a.rq_psn = b.sq_psn = b.rq_psn = psn;
	a.mtu_bytes = b.mtu_bytes = 256;
	a.cqes = b.cqes = 16;
	a.mem_bytes = b.mem_bytes = 2 * AREA;
	sim_init(sim, &link, &a, &b);
	/* No byte of what is sent is 0, as all is where it goes. */
	fill(sim->ep[0].mem, AREA, 1);
	fill(sim->ep[1].mem, AREA, 2);
	if (is_atomic(opcode))
		memcpy(sim->ep[1].mem + AREA, &five, 8);
	judge_begin(&judge, sim, NULL, 2 * AREA);
	if (opcode == UROCE_WR_SEND_WITH_INV)
		register_fast_regions(&judge);
	wrong = run(&judge, opcode, bytes, mask);
	copy = wrong ? strdup(wrong) : NULL;
	judge_end(&judge);
	return copy;
}

static uint32_t mask_bits(void)
{
	const char *text = getenv("MASK_BITS");
	unsigned long bits = text ? strtoul(text, NULL, 10) : MASK_BITS_DEFAULT;

	return bits < MASK_BITS_MAX ? (uint32_t)bits : MASK_BITS_MAX;
}

static void all_masks(enum uroce_wr_opcode opcode, uint32_t bytes)
{
	static const uint32_t psns[] = {0x000010, 0xfffffe, 0x7fffff};
	struct sim *sim = malloc(sizeof(*sim));
	const uint64_t masks = 1ull << mask_bits();
	uint32_t failures = 0;

	for (size_t p = 0; p < sizeof(psns) / sizeof(psns[0]); p++) {
		for (uint64_t mask = 0; mask < masks; mask++) {
			char *wrong = exchange(sim, opcode, bytes, mask, psns[p]);

			if (wrong && failures++ < 3) {
				printf("opcode %d, %u bytes, loss mask 0x%llx, psn 0x%06x: %s\n",
					opcode, bytes, (unsigned long long)mask, psns[p], wrong);
				printf(" requester:\n");
				endpoint_print_trace(&sim->ep[0], 40);
				printf(" responder:\n");
				endpoint_print_trace(&sim->ep[1], 40);
			}
			free(wrong);
			sim_fini(sim);
		}
	}
	CU_ASSERT_EQUAL(failures, 0);
	free(sim);
}

static void sends_of_one_packet(void)
{
	all_masks(UROCE_WR_SEND, 100);
}

static void sends_of_three_packets(void)
{
	all_masks(UROCE_WR_SEND, 600);
}

static void sends_with_immediate_of_one_packet(void)
{
	all_masks(UROCE_WR_SEND_WITH_IMM, 100);
}

static void sends_with_immediate_of_three_packets(void)
{
	all_masks(UROCE_WR_SEND_WITH_IMM, 600);
}

static void writes_of_one_packet(void)
{
	all_masks(UROCE_WR_RDMA_WRITE, 100);
}

static void writes_of_three_packets(void)
{
	all_masks(UROCE_WR_RDMA_WRITE, 600);
}

static void writes_with_immediate_of_one_packet(void)
{
	all_masks(UROCE_WR_RDMA_WRITE_WITH_IMM, 100);
}

static void writes_with_immediate_of_two_packets(void)
{
	all_masks(UROCE_WR_RDMA_WRITE_WITH_IMM, 300);
}

static void reads_of_one_packet(void)
{
	all_masks(UROCE_WR_RDMA_READ, 77);
}

static void reads_of_three_packets(void)
{
	all_masks(UROCE_WR_RDMA_READ, 600);
}

static void fetch_and_adds(void)
{
	all_masks(UROCE_WR_ATOMIC_FETCH_AND_ADD, 8);
}

static void compare_and_swaps(void)
{
	all_masks(UROCE_WR_ATOMIC_CMP_AND_SWP, 8);
}

static void sends_with_invalidate(void)
{
	all_masks(UROCE_WR_SEND_WITH_INV, 100);
}

static void sends_with_invalidate_of_two_packets(void)
{
	all_masks(UROCE_WR_SEND_WITH_INV, 300);
}

static void atomic_writes(void)
{
	all_masks(UROCE_WR_ATOMIC_WRITE, 8);
}

static void flushes(void)
{
	all_masks(UROCE_WR_FLUSH, 600);
}

int main(void)
{
	static const struct unit_case cases[] = {
		{"two SENDs of one packet survive every loss mask", sends_of_one_packet},
		{"two SENDs of three packets survive every loss mask", sends_of_three_packets},
		{"two SENDs with immediate of one packet survive every loss mask",
			sends_with_immediate_of_one_packet},
		{"two SENDs with immediate of three packets survive every loss mask",
			sends_with_immediate_of_three_packets},
		{"two WRITEs of one packet survive every loss mask", writes_of_one_packet},
		{"two WRITEs of three packets survive every loss mask", writes_of_three_packets},
		{"two WRITEs with immediate of one packet survive every loss mask",
			writes_with_immediate_of_one_packet},
		{"two WRITEs with immediate of two packets survive every loss mask",
			writes_with_immediate_of_two_packets},
		{"two READs of one packet survive every loss mask", reads_of_one_packet},
		{"two READs of three packets survive every loss mask", reads_of_three_packets},
		{"two FETCH-AND-ADDs survive every loss mask", fetch_and_adds},
		{"two COMPARE-AND-SWAPs survive every loss mask", compare_and_swaps},
		{"two SENDs with invalidate survive every loss mask", sends_with_invalidate},
		{"two SENDs with invalidate of two packets survive every loss mask",
			sends_with_invalidate_of_two_packets},
		{"two ATOMIC WRITEs survive every loss mask", atomic_writes},
		{"a WRITE of three packets and its FLUSH survive every loss mask", flushes},
	};

	return run_suite("loss_mask", cases, sizeof(cases) / sizeof(cases[0]));
}
