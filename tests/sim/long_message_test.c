/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The longest messages: 2^31 bytes, which at MTU 256 are exactly the 2^23 PSNs that may be
 * outstanding.
 *
 * The two gigabytes are one mebibyte of memory, mapped again and again, so what is tested is the
 * arithmetic. To the model, which has one mebibyte, it is one mebibyte that is moved. Eight million
 * packets take a while: it runs with LONG=1 in the environment.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "cunit_run.h"
#include "judge.h"

#define TOTAL	    (1ull << 31)
#define CHUNK	    (1ull << 20)
#define HOUR_NS	    3600000000000ull
#define RIGHTS	    (UROCE_ACCESS_LOCAL_WRITE | UROCE_ACCESS_REMOTE_WRITE | UROCE_ACCESS_REMOTE_READ)
#define FIRST_PSN   0xfffff0u
#define SMALL_BYTES 4096

/* 2 GiB of addresses, 1 MiB of memory; kept from case to case, since faults cost time. */
static uint8_t *map_again_and_again(int side)
{
	static uint8_t *maps[2];

	uint8_t *all;
	int fd;

	if (maps[side])
		return maps[side];
	fd = memfd_create("uroce-test", 0);
	all = mmap(NULL, TOTAL, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (fd < 0 || all == MAP_FAILED || ftruncate(fd, (off_t)CHUNK) != 0)
		return NULL;
	for (uint64_t at = 0; at < TOTAL; at += CHUNK)
		if (mmap(all + at, CHUNK, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, 0) ==
			MAP_FAILED)
			return NULL;
	close(fd);
	maps[side] = all;
	return all;
}

static uint32_t register_all(struct endpoint *ep, uint8_t *all)
{
	struct uroce_mr_attr attr = {.pd = ep->qp->pd,
		.access = RIGHTS,
		.ptr = all,
		.addr = (uintptr_t)all,
		.bytes = TOTAL};
	uint32_t key = 0;

	CU_ASSERT_EQUAL(uroce_mr_table_add(&ep->mrs, &attr, 99, &key), 0);
	return key;
}

static void post_long(struct endpoint *ep, enum uroce_wr_opcode opcode, uint8_t *local,
	uint32_t lkey, const uint8_t *remote, uint32_t rkey)
{
	struct uroce_send_wqe *wqe = uroce_ring_reserve(&ep->qp->send_ring);

	*wqe = (struct uroce_send_wqe){.wr_id = 1,
		.opcode = (uint8_t)opcode,
		.num_segs = 1,
		.remote_addr = (uintptr_t)remote,
		.rkey = rkey};
	uroce_send_wqe_segs(wqe)[0] = (struct uroce_seg){(uintptr_t)local, (uint32_t)TOTAL, lkey};
	uroce_ring_advance(&ep->qp->send_ring);
	uroce_ring_publish_seq(&ep->qp->send_ring);
	uroce_bell_ring(&ep->core.bells, &ep->qp->bell);
}

/* What the model sees of memory: the mebibyte, and the beginning of the endpoint's own. */
static void look(struct sim *sim, uint8_t *const all[2], uint8_t *seen[2])
{
	for (int i = 0; i < 2; i++) {
		memcpy(seen[i], all[i], CHUNK);
		memcpy(seen[i] + CHUNK, sim->ep[i].mem, SMALL_BYTES);
	}
}

static void plan(struct judge *j, enum model_kind kind)
{
	const struct model_op whole = {.kind = kind, .id = 1, .bytes = CHUNK};
	const struct model_op small = {.kind = MODEL_WRITE,
		.id = 2,
		.bytes = SMALL_BYTES,
		.local = CHUNK,
		.remote = CHUNK};

	judge_note_send(j, 0, &whole);
	judge_note_send(j, 0, &small);
}

static void check_model(struct judge *j, const struct uroce_cqe cqes[2])
{
	struct uroce_cqe whole = cqes[0];
	const char *wrong;

	whole.bytes = CHUNK;
	judge_completed(j, 0, &whole);
	judge_completed(j, 0, &cqes[1]);
	wrong = judge_verdict(j);
	CU_ASSERT_PTR_NULL(wrong);
	if (wrong)
		printf("  %s\n", wrong);
}

static void check_end(struct sim *sim, struct judge *judge, uint32_t mtu, bool reads)
{
	const uint32_t psn = (FIRST_PSN + (uint32_t)(TOTAL / mtu)) & 0xffffff;
	struct uroce_cqe cqes[2];

	CU_ASSERT_EQUAL_FATAL(endpoint_poll(&sim->ep[0], cqes, 2), 2);
	for (uint64_t i = 0; i < 2; i++) {
		CU_ASSERT_EQUAL(cqes[i].wr_id, i + 1);
		CU_ASSERT_EQUAL(cqes[i].status, UROCE_STATUS_SUCCESS);
		CU_ASSERT_EQUAL(cqes[i].bytes, i ? SMALL_BYTES : TOTAL);
	}
	check_model(judge, cqes);
	/* The small message follows the long one. */
	CU_ASSERT_EQUAL(sim->ep[0].qp->req.psn_una, (psn + (SMALL_BYTES - 1) / mtu + 1) & 0xffffff);
	CU_ASSERT_EQUAL(sim->ep[reads ? 0 : 1].core.counters.rx_payload_bytes,
		TOTAL + (reads ? 0 : SMALL_BYTES));
	CU_ASSERT_EQUAL(sim->ep[0].core.counters.retransmitted_packets, 0);
	CU_ASSERT_TRUE(endpoint_counts_add_up(&sim->ep[0]));
	CU_ASSERT_TRUE(endpoint_counts_add_up(&sim->ep[1]));
}

static void run(enum uroce_wr_opcode opcode, uint32_t mtu)
{
	struct sim_link_conf link = {.latency_ns = 1000};
	struct endpoint_conf a = endpoint_defaults(1, 2), b = endpoint_defaults(2, 1);
	struct sim *sim = malloc(sizeof(*sim));
	uint8_t *all[2] = {map_again_and_again(0), map_again_and_again(1)};
	bool reads = opcode == UROCE_WR_RDMA_READ;
	struct endpoint_wr small = {.wr_id = 2, .opcode = UROCE_WR_RDMA_WRITE, .num_segs = 1};
	static uint8_t memory[2][CHUNK + SMALL_BYTES];
	uint8_t *seen[2] = {memory[0], memory[1]};
	const uint8_t *const both[2] = {memory[0], memory[1]};
	struct judge judge;
	uint32_t keys[2];

	if (!sim || !all[0] || !all[1])
		abort();
	a.mtu_bytes = b.mtu_bytes = mtu;
	a.sq_psn = b.rq_psn = FIRST_PSN;
	sim_init(sim, &link, &a, &b);
	memset(all[!reads], 0, CHUNK);
	for (uint32_t i = 0; i < CHUNK; i++)
		all[reads][i] = (uint8_t)(i * 7 + (i >> 8) * 13 + (i >> 16));
	for (int i = 0; i < 2; i++)
		keys[i] = register_all(&sim->ep[i], all[i]);
	look(sim, all, seen);
	judge_begin(&judge, sim, both, CHUNK + SMALL_BYTES);
	plan(&judge, reads ? MODEL_READ : MODEL_WRITE);
	post_long(&sim->ep[0], opcode, all[0], keys[0], all[1], keys[1]);
	small.segs[0].bytes = SMALL_BYTES;
	small.rkey = sim->ep[1].key;
	small.remote_addr = (uintptr_t)sim->ep[1].mem;
	endpoint_post_send(&sim->ep[0], &small);
	CU_ASSERT_TRUE(sim_run(sim, HOUR_NS));
	look(sim, all, seen);
	check_end(sim, &judge, mtu, reads);
	judge_end(&judge);
	sim_fini(sim);
	free(sim);
}

static void write_of_2_gib_at_256(void)
{
	if (!getenv("LONG"))
		SKIP("eight million packets; set LONG=1");
	run(UROCE_WR_RDMA_WRITE, 256);
}

static void write_of_2_gib_at_4096(void)
{
	if (!getenv("LONG"))
		SKIP("half a million packets; set LONG=1");
	run(UROCE_WR_RDMA_WRITE, 4096);
}

static void read_of_2_gib_at_256(void)
{
	if (!getenv("LONG"))
		SKIP("eight million packets; set LONG=1");
	run(UROCE_WR_RDMA_READ, 256);
}

static void read_of_2_gib_at_4096(void)
{
	if (!getenv("LONG"))
		SKIP("half a million packets; set LONG=1");
	run(UROCE_WR_RDMA_READ, 4096);
}

int main(void)
{
	static const struct unit_case cases[] = {
		{"a WRITE of 2^31 bytes at MTU 256 arrives", write_of_2_gib_at_256},
		{"a WRITE of 2^31 bytes at MTU 4096 arrives", write_of_2_gib_at_4096},
		{"a READ of 2^31 bytes at MTU 256 arrives", read_of_2_gib_at_256},
		{"a READ of 2^31 bytes at MTU 4096 arrives", read_of_2_gib_at_4096},
	};

	return run_suite("long_message", cases, sizeof(cases) / sizeof(cases[0]));
}
