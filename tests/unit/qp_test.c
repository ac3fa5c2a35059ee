/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a queue pair may be made for, and the memory that it takes.
 *
 * Each limit is tried at, one below and one beyond; the limits are written down here again. The
 * parts of a queue pair are filled to their ends in memory of exactly the size that was asked for,
 * so that a sanitizer sees a step over the edge and the test an overlap.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cunit_run.h"
#include "qp.h"
#include "wr.h"

static const struct uroce_qp_caps smallest = {
	.type = UROCE_QP_RC,
	.max_send_wr = 1,
	.max_recv_wr = 1,
	.max_send_sge = 1,
	.max_recv_sge = 1,
	.max_inline_bytes = 0,
	.max_dest_rd_atomic = 0,
	.window_pkts = 1,
};

static const struct uroce_qp_caps largest = {
	.type = UROCE_QP_RC,
	.max_send_wr = 32768,
	.max_recv_wr = 32768,
	.max_send_sge = 32,
	.max_recv_sge = 32,
	.max_inline_bytes = 1024,
	.max_dest_rd_atomic = 128,
	.window_pkts = 1u << 23,
};

/* The field of caps that test i is about. */
static uint32_t *field(struct uroce_qp_caps *caps, size_t i)
{
	uint32_t *const fields[] = {&caps->max_send_wr, &caps->max_recv_wr, &caps->max_send_sge,
		&caps->max_recv_sge, &caps->max_inline_bytes, &caps->max_dest_rd_atomic,
		&caps->window_pkts};

	return fields[i];
}

enum {
	NUM_FIELDS = 7
};

static void every_limit_is_allowed_and_one_beyond_is_not(void)
{
	struct uroce_qp_caps low = smallest, high = largest;

	CU_ASSERT_EQUAL(uroce_qp_caps_check(&smallest), 0);
	CU_ASSERT_EQUAL(uroce_qp_caps_check(&largest), 0);
	for (size_t i = 0; i < NUM_FIELDS; i++) {
		struct uroce_qp_caps caps = smallest;

		*field(&caps, i) = *field(&high, i);
		CU_ASSERT_EQUAL(uroce_qp_caps_check(&caps), 0);
		*field(&caps, i) += 1;
		CU_ASSERT_EQUAL(uroce_qp_caps_check(&caps), -EINVAL);
		*field(&caps, i) = UINT32_MAX;
		CU_ASSERT_EQUAL(uroce_qp_caps_check(&caps), -EINVAL);
		caps = largest;
		*field(&caps, i) = *field(&low, i);
		CU_ASSERT_EQUAL(uroce_qp_caps_check(&caps), 0);
		if (*field(&low, i) == 0)
			continue;
		*field(&caps, i) -= 1;
		CU_ASSERT_EQUAL(uroce_qp_caps_check(&caps), -EINVAL);
	}
}

static void rates_and_keepalives_are_for_those_who_can_have_them(void)
{
	static const uint64_t good[] = {0, UROCE_RATE_MIN_BPS, UROCE_RATE_MAX_BPS},
			      bad[] = {1, UROCE_RATE_MIN_BPS - 1, UROCE_RATE_MAX_BPS + 1};

	for (int type = UROCE_QP_RC; type <= UROCE_QP_UD; type++) {
		struct uroce_qp_caps caps = smallest;

		caps.type = (enum uroce_qp_type)type;
		for (int i = 0; i < 3; i++) {
			caps.rate_limit_bps = bad[i];
			CU_ASSERT_EQUAL(uroce_qp_caps_check(&caps), -EINVAL);
			caps.rate_limit_bps = good[i];
			CU_ASSERT_EQUAL(uroce_qp_caps_check(&caps), 0);
		}
		caps.dcqcn = true;
		CU_ASSERT_EQUAL(uroce_qp_caps_check(&caps), type == UROCE_QP_UD ? -EINVAL : 0);
		caps.dcqcn = false;
		caps.keepalive_ms = 1;
		CU_ASSERT_EQUAL(uroce_qp_caps_check(&caps), type == UROCE_QP_RC ? 0 : -EINVAL);
	}
}

/* A part of a queue pair's memory, and how much of it may be written. */
struct part {
	void *start;
	size_t bytes;
};

/* Fills every part to its end, and looks whether one has written into another. */
static void fill_and_look(const struct part *parts, size_t n, size_t bytes_of_all)
{
	size_t sum = 0;

	for (size_t i = 0; i < n; i++) {
		CU_ASSERT_EQUAL((uintptr_t)parts[i].start % 64, 0);
		sum += (parts[i].bytes + 63) / 64 * 64;
	}
	/* Nothing between them but what rounding leaves. */
	CU_ASSERT_EQUAL(sum, bytes_of_all);
	for (size_t i = 0; i < n; i++)
		memset(parts[i].start, (int)i + 1, parts[i].bytes);
	for (size_t i = 0; i < n; i++) {
		const uint8_t *bytes = parts[i].start;
		size_t at = 0;

		while (at < parts[i].bytes && bytes[at] == i + 1)
			at++;
		CU_ASSERT_EQUAL(at, parts[i].bytes);
	}
}

/* An entry has room for what was asked for, and is no longer than it has to be. */
static void stride_is_right(const struct uroce_ring *ring, size_t bytes)
{
	CU_ASSERT_TRUE(ring->stride_bytes >= bytes);
	CU_ASSERT_TRUE(ring->stride_bytes < bytes + 64);
	CU_ASSERT_EQUAL(ring->stride_bytes % 64, 0);
}

static void parts_keep_to_themselves(const struct uroce_qp_caps *caps)
{
	size_t bytes = uroce_qp_bytes(caps);
	uint8_t *memory = aligned_alloc(64, bytes);
	size_t sends = uroce_ring_round_up(caps->max_send_wr);
	size_t recvs = uroce_ring_round_up(caps->max_recv_wr);
	size_t replays = uroce_ring_round_up(caps->max_dest_rd_atomic);
	size_t tail = caps->max_send_sge * sizeof(struct uroce_seg);
	struct uroce_qp *qp;

	CU_ASSERT_EQUAL(bytes % 64, 0);
	if (!memory)
		abort();
	memset(memory, 0xee, bytes);
	qp = uroce_qp_init(memory, caps);
	CU_ASSERT_PTR_EQUAL(qp, memory);
	if (tail < caps->max_inline_bytes)
		tail = caps->max_inline_bytes;
	stride_is_right(&qp->send_ring, sizeof(struct uroce_send_wqe) + tail);
	stride_is_right(&qp->recv_ring,
		sizeof(struct uroce_recv_wqe) + caps->max_recv_sge * sizeof(struct uroce_seg));
	const struct part parts[] = {
		{qp, sizeof(*qp)},
		{qp->send_ring.entries, sends * qp->send_ring.stride_bytes},
		{qp->recv_ring.entries, recvs * qp->recv_ring.stride_bytes},
		{qp->sends, sends * qp->send_ring.stride_bytes},
		{qp->send_states, sends * sizeof(struct uroce_send_state)},
		{qp->recv, qp->recv_ring.stride_bytes},
		{qp->replays, replays * sizeof(struct uroce_replay)},
	};
	fill_and_look(parts, sizeof(parts) / sizeof(parts[0]), bytes);
	free(memory);
}

static void the_parts_of_a_queue_pair_do_not_overlap(void)
{
	struct uroce_qp_caps caps = {.max_send_wr = 5,
		.max_recv_wr = 3,
		.max_send_sge = 2,
		.max_recv_sge = 3,
		.max_inline_bytes = 32,
		.max_dest_rd_atomic = 4,
		.window_pkts = 16};

	parts_keep_to_themselves(&smallest);
	parts_keep_to_themselves(&caps);
	/* Inline bytes need more room than the segments would, or exactly as much. */
	for (caps.max_inline_bytes = 0; caps.max_inline_bytes < 200; caps.max_inline_bytes++)
		parts_keep_to_themselves(&caps);
	for (uint32_t segs = 1; segs <= 32; segs++) {
		caps.max_send_sge = caps.max_recv_sge = segs;
		parts_keep_to_themselves(&caps);
	}
}

static void a_new_queue_pair_knows_its_queues(void)
{
	struct uroce_qp_caps caps = smallest;
	uint8_t *memory;
	struct uroce_qp *qp;

	caps.max_send_wr = 5;
	caps.max_recv_wr = 9;
	memory = aligned_alloc(64, uroce_qp_bytes(&caps));
	if (!memory)
		abort();
	memset(memory, 0xee, uroce_qp_bytes(&caps));
	qp = uroce_qp_init(memory, &caps);
	CU_ASSERT_EQUAL(qp->send_ring.limit, 5);
	CU_ASSERT_EQUAL(qp->send_ring.mask, 7);
	CU_ASSERT_EQUAL(qp->recv_ring.limit, 9);
	CU_ASSERT_EQUAL(qp->recv_ring.mask, 15);
	CU_ASSERT_EQUAL(memcmp(&qp->caps, &caps, sizeof(caps)), 0);
	CU_ASSERT_EQUAL(qp->state, UROCE_QP_RESET);
	CU_ASSERT_PTR_EQUAL(qp->bell.qp, qp);
	CU_ASSERT_PTR_EQUAL(qp->requests.qp, qp);
	CU_ASSERT_EQUAL(qp->requests.kind, UROCE_FLOW_REQUESTS);
	CU_ASSERT_PTR_EQUAL(qp->responses.qp, qp);
	CU_ASSERT_EQUAL(qp->responses.kind, UROCE_FLOW_RESPONSES);
	CU_ASSERT_FALSE(uroce_timer_armed(&qp->comp.timer));
	CU_ASSERT_PTR_NULL(qp->path);
	CU_ASSERT_FALSE(uroce_qp_receives(qp));
	CU_ASSERT_FALSE(uroce_qp_sends(qp));
	free(memory);
}

static void no_work_is_for_a_type_that_there_is_not(void)
{
	CU_ASSERT_TRUE(uroce_wr_is_for(uroce_wr_kind(UROCE_WR_SEND), UROCE_QP_RC));
	CU_ASSERT_FALSE(uroce_wr_is_for(uroce_wr_kind(UROCE_WR_SEND), (enum uroce_qp_type)77));
}

int main(void)
{
	static const struct unit_case cases[] = {
		{"Every limit is allowed and one beyond is not",
			every_limit_is_allowed_and_one_beyond_is_not},
		{"Rates and keepalives are for those who can have them",
			rates_and_keepalives_are_for_those_who_can_have_them},
		{"The parts of a queue pair do not overlap",
			the_parts_of_a_queue_pair_do_not_overlap},
		{"A new queue pair knows its queues", a_new_queue_pair_knows_its_queues},
		{"No work is for a type that there is not",
			no_work_is_for_a_type_that_there_is_not},
	};

	return run_suite("qp", cases, sizeof(cases) / sizeof(cases[0]));
}
