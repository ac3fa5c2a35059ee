/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Shared receive queues by several threads: every receive that was posted is taken once, whole, and
 * each producer's in its order as seen by each consumer.
 */
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "cunit_run.h"
#include "srq.h"

enum {
	PRODUCERS = 3,
	CONSUMERS = 2,
	EACH = 20000,
	CAPACITY = 16,
};

struct room {
	struct uroce_recv_wqe wqe;
	struct uroce_seg seg;
};

static struct uroce_srq *srq;
static _Atomic uint32_t taken;
static _Atomic uint32_t limits;
static _Atomic uint8_t seen[PRODUCERS][EACH];
static _Atomic uint32_t wrong;

static void *produce(void *arg)
{
	uint64_t producer = (uintptr_t)arg;

	for (uint64_t i = 0; i < EACH; i++) {
		const struct uroce_seg seg = {producer << 32 | i, (uint32_t)i, (uint32_t)producer};

		while (!uroce_srq_post(srq, producer << 32 | i, &seg, 1))
			sched_yield();
	}
	return NULL;
}

static void *consume(void *arg)
{
	int64_t last[PRODUCERS] = {-1, -1, -1};

	(void)arg;
	while (atomic_load(&taken) < PRODUCERS * EACH) {
		struct room room = {0};
		uint64_t producer, i;
		bool limit;

		if (!uroce_srq_pop(srq, &room.wqe, &limit)) {
			sched_yield();
			continue;
		}
		atomic_fetch_add(&taken, 1);
		atomic_fetch_add(&limits, limit);
		producer = room.wqe.wr_id >> 32;
		i = room.wqe.wr_id & 0xffffffff;
		if (producer >= PRODUCERS || i >= EACH || room.wqe.num_segs != 1 ||
			room.seg.addr != room.wqe.wr_id || room.seg.bytes != i ||
			(int64_t)i <= last[producer] ||
			atomic_fetch_add(&seen[producer][i], 1) != 0)
			atomic_fetch_add(&wrong, 1);
		else
			last[producer] = (int64_t)i;
	}
	return NULL;
}

static void every_receive_is_taken_once(void)
{
	pthread_t threads[PRODUCERS + CONSUMERS];

	srq = aligned_alloc(64, (uroce_srq_bytes(CAPACITY, 1) + 63) / 64 * 64);
	CU_ASSERT_PTR_NOT_NULL_FATAL(srq);
	uroce_srq_init(srq, CAPACITY, 1);
	uroce_srq_arm(srq, CAPACITY);
	for (uintptr_t i = 0; i < PRODUCERS; i++)
		pthread_create(&threads[i], NULL, produce, (void *)i);
	for (int i = 0; i < CONSUMERS; i++)
		pthread_create(&threads[PRODUCERS + i], NULL, consume, NULL);
	for (int i = 0; i < PRODUCERS + CONSUMERS; i++)
		pthread_join(threads[i], NULL);
	CU_ASSERT_EQUAL(wrong, 0);
	CU_ASSERT_EQUAL(taken, PRODUCERS * EACH);
	CU_ASSERT_EQUAL(limits, 1);
	CU_ASSERT_EQUAL(uroce_srq_count(srq), 0);
	free(srq);
}

enum {
	HELD = 33, /* no power of two: the ring has more room than the queue */
	ROUNDS = 2000
};

static _Atomic uint32_t ready;

static void *fill(void *arg)
{
	const struct uroce_seg seg = {0};
	uint32_t *accepted = arg;

	/* At the same time, and all the way to the last place. */
	atomic_fetch_add(&ready, 1);
	while (atomic_load(&ready) < PRODUCERS)
		sched_yield();
	while (uroce_srq_post(srq, 1, &seg, 1))
		(*accepted)++;
	return NULL;
}

static void no_more_than_it_holds_from_any_number_of_threads(void)
{
	srq = aligned_alloc(64, (uroce_srq_bytes(HELD, 1) + 63) / 64 * 64);
	CU_ASSERT_PTR_NOT_NULL_FATAL(srq);
	for (int round = 0; round < ROUNDS; round++) {
		uint32_t accepted[PRODUCERS] = {0}, sum = 0;
		pthread_t threads[PRODUCERS];

		uroce_srq_init(srq, HELD, 1);
		atomic_store(&ready, 0);
		for (int i = 0; i < PRODUCERS; i++)
			pthread_create(&threads[i], NULL, fill, &accepted[i]);
		for (int i = 0; i < PRODUCERS; i++) {
			pthread_join(threads[i], NULL);
			sum += accepted[i];
		}
		CU_ASSERT_EQUAL(sum, HELD);
	}
	free(srq);
}

int main(void)
{
	static const struct unit_case cases[] = {
		{"every receive is taken once, whole and in order", every_receive_is_taken_once},
		{"no more than it holds, from any number of threads",
			no_more_than_it_holds_from_any_number_of_threads},
	};

	return run_suite("srq_threads", cases, sizeof(cases) / sizeof(cases[0]));
}
