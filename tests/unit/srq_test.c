/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Shared receive queues by one thread: order, limits, wrap-around, what a scribbler can do.
 */
#include "srq.h"

#include <stdlib.h>
#include <string.h>

#include "cunit_run.h"

enum {
	SGE_MAX = 3
};

/* Room for a receive with its segments. */
struct room {
	struct uroce_recv_wqe wqe;
	struct uroce_seg segs[SGE_MAX];
};

static struct uroce_srq *make(uint32_t max_wr)
{
	size_t bytes = (uroce_srq_bytes(max_wr, SGE_MAX) + 63) / 64 * 64;
	struct uroce_srq *srq = aligned_alloc(64, bytes);

	CU_ASSERT_PTR_NOT_NULL_FATAL(srq);
	uroce_srq_init(srq, max_wr, SGE_MAX);
	return srq;
}

static bool post(struct uroce_srq *srq, uint64_t wr_id)
{
	const struct uroce_seg segs[SGE_MAX] = {
		{wr_id * 10, 1, 2}, {wr_id * 20, 3, 4}, {wr_id * 30, 5, 6}};

	return uroce_srq_post(srq, wr_id, segs, wr_id % (SGE_MAX + 1));
}

static bool pop_is(struct uroce_srq *srq, uint64_t wr_id)
{
	struct room room;
	bool limit;

	memset(&room, 0xee, sizeof(room));
	if (!uroce_srq_pop(srq, &room.wqe, &limit) || room.wqe.wr_id != wr_id ||
		room.wqe.num_segs != wr_id % (SGE_MAX + 1))
		return false;
	for (uint64_t i = 0; i < room.wqe.num_segs; i++)
		if (room.segs[i].addr != wr_id * 10 * (i + 1) || room.segs[i].lkey != 2 * i + 2)
			return false;
	return true;
}

static void receives_come_out_in_order_round_after_round(void)
{
	static const uint32_t sizes[] = {1, 2, 3, 7, 8, 100};

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		struct uroce_srq *srq = make(sizes[i]);
		struct room room;
		uint64_t in = 0, out = 0;
		bool limit;

		for (int round = 0; round < 50; round++) {
			while (post(srq, in))
				in++;
			CU_ASSERT_EQUAL(in - out, sizes[i]);
			CU_ASSERT_EQUAL(uroce_srq_count(srq), sizes[i]);
			for (uint32_t n = 0; n <= sizes[i] / 2; n++)
				CU_ASSERT_TRUE(pop_is(srq, out++));
		}
		while (out < in)
			CU_ASSERT_TRUE(pop_is(srq, out++));
		CU_ASSERT_FALSE(uroce_srq_pop(srq, &room.wqe, &limit));
		CU_ASSERT_EQUAL(uroce_srq_count(srq), 0);
		free(srq);
	}
}

static void indices_may_wrap(void)
{
	struct uroce_srq *srq = make(4);

	atomic_store(&srq->head, UINT32_MAX - 2);
	atomic_store(&srq->tail, UINT32_MAX - 2);
	for (uint32_t i = 0; i < 4; i++) {
		uint32_t index = UINT32_MAX - 2 + i;
		struct uroce_srq_cell *cell = (struct uroce_srq_cell *)(void *)(srq->cells +
			(size_t)(index & srq->mask) * srq->stride_bytes);

		atomic_store(&cell->sequence, index);
	}
	for (uint64_t i = 0; i < 40; i++) {
		CU_ASSERT_TRUE(post(srq, i));
		CU_ASSERT_TRUE(pop_is(srq, i));
	}
	free(srq);
}

static void the_limit_fires_once_when_undercut(void)
{
	struct uroce_srq *srq = make(8);
	struct room room;
	bool limit;

	for (uint64_t i = 0; i < 8; i++)
		post(srq, i);
	uroce_srq_arm(srq, 7);
	CU_ASSERT_TRUE(uroce_srq_pop(srq, &room.wqe, &limit));
	CU_ASSERT_FALSE(limit);
	CU_ASSERT_TRUE(uroce_srq_pop(srq, &room.wqe, &limit));
	CU_ASSERT_TRUE(limit);
	/* Not again, however few are left. */
	for (int i = 0; i < 6; i++) {
		CU_ASSERT_TRUE(uroce_srq_pop(srq, &room.wqe, &limit));
		CU_ASSERT_FALSE(limit);
	}
	free(srq);
}

/* The least that can be asked for: said with the last one. */
static void a_limit_of_one_fires_when_none_is_left(void)
{
	struct uroce_srq *srq = make(8);
	struct room room;
	bool limit;

	post(srq, 1);
	post(srq, 2);
	uroce_srq_arm(srq, 1);
	CU_ASSERT_TRUE(uroce_srq_pop(srq, &room.wqe, &limit));
	CU_ASSERT_FALSE(limit);
	CU_ASSERT_TRUE(uroce_srq_pop(srq, &room.wqe, &limit));
	CU_ASSERT_TRUE(limit);
	free(srq);
}

static void scribbled_indices_make_it_full_or_empty(void)
{
	struct uroce_srq *srq = make(4);
	struct room room;
	bool limit;

	/* A tail that lags behind its cells: nothing is overwritten. */
	for (uint64_t i = 0; i < 4; i++)
		post(srq, i);
	atomic_store(&srq->tail, atomic_load(&srq->head));
	CU_ASSERT_FALSE(post(srq, 9));
	/* A head that is ahead of them: nothing is taken. */
	atomic_store(&srq->head, 77);
	CU_ASSERT_FALSE(uroce_srq_pop(srq, &room.wqe, &limit));
	free(srq);
}

int main(void)
{
	static const struct unit_case cases[] = {
		{"receives come out in order, round after round",
			receives_come_out_in_order_round_after_round},
		{"indices may wrap", indices_may_wrap},
		{"the limit fires once when undercut", the_limit_fires_once_when_undercut},
		{"a limit of one fires when none is left", a_limit_of_one_fires_when_none_is_left},
		{"scribbled indices make it look full or empty",
			scribbled_indices_make_it_full_or_empty},
	};

	return run_suite("srq", cases, sizeof(cases) / sizeof(cases[0]));
}
