/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Memory that changes while a peer reads it: a million READs of a region that a thread hammers.
 *
 * The ICRC is computed over the bytes that go on the wire, so not one frame may be bad, and nothing
 * may be sent twice.
 */
#include <pthread.h>
#include <string.h>

#include "cunit_run.h"
#include "pair.h"

enum {
	READS = 1000000,
	BYTES = 512,
	LIST = 16
};

static struct pair pair;
static atomic_bool stop;

static void *hammer(void *arg)
{
	volatile uint64_t *words = arg;
	uint64_t value = 1;

	while (!atomic_load_explicit(&stop, memory_order_relaxed))
		for (int i = 0; i < BYTES / 8; i++)
			words[i] = value++;
	return NULL;
}

/* Posts a list of READs, the last one signalled. */
static void post_reads(void)
{
	struct uroce_sge sge = pair_sge(&pair, 0, 0, BYTES);
	struct uroce_send_wr wr[LIST];

	for (int i = 0; i < LIST; i++)
		wr[i] = (struct uroce_send_wr){.opcode = UROCE_WR_RDMA_READ,
			.sge = &sge,
			.num_sge = 1,
			.flags = i == LIST - 1 ? UROCE_SEND_SIGNALED : 0,
			.rdma = {.remote_addr = (uintptr_t)pair.side[1].mem,
				.rkey = pair.side[1].mr->rkey}};
	CU_ASSERT_EQUAL(uroce_post_send(pair.side[0].qp, wr, LIST), LIST);
}

static void no_frame_is_bad_while_a_thread_hammers_the_memory(void)
{
	struct uroce_counters counters[2];
	pthread_t thread;
	struct uroce_wc wc;

	pair_init(&pair, NULL);
	atomic_store(&stop, false);
	CU_ASSERT_EQUAL_FATAL(pthread_create(&thread, NULL, hammer, pair.side[1].mem), 0);
	for (int done = 0; done < READS; done += LIST) {
		post_reads();
		while (uroce_cq_poll(pair.side[0].cq, &wc, 1) == 0)
			pair_turn(&pair);
		if (wc.status != UROCE_STATUS_SUCCESS)
			break;
	}
	atomic_store(&stop, true);
	pthread_join(thread, NULL);
	CU_ASSERT_EQUAL(wc.status, UROCE_STATUS_SUCCESS);
	for (int i = 0; i < 2; i++) {
		uroce_device_counters(pair.side[i].dev, &counters[i]);
		CU_ASSERT_EQUAL(counters[i].drops[UROCE_DROP_ICRC], 0);
		CU_ASSERT_EQUAL(counters[i].rx_accepted, counters[i].rx_frames);
		CU_ASSERT_EQUAL(counters[i].retransmitted_packets, 0);
	}
	/* It did change under the reads. */
	CU_ASSERT_TRUE(counters[0].rx_payload_bytes >= (uint64_t)READS * BYTES);
	CU_ASSERT_NOT_EQUAL(pair.side[0].mem[0] | pair.side[0].mem[1] | pair.side[0].mem[2], 0);
	pair_fini(&pair);
}

int main(void)
{
	static const struct unit_case cases[] = {
		{"no frame is bad while a thread hammers the memory that a million READs read",
			no_frame_is_bad_while_a_thread_hammers_the_memory},
	};

	return run_suite("hammer_threads", cases, sizeof(cases) / sizeof(cases[0]));
}
