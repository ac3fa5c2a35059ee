/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Completion queues, seen from one thread: order, fullness, arming, purging, slots given back.
 *
 * What holds against a worker that pushes at the same time is tests/ring's business.
 */
#include "cq.h"

#include <errno.h>
#include <string.h>

#include "cunit_run.h"
#include "test_random.h"

static struct uroce_cq *cq;
/* A send queue whose slots the completions free. */
static struct uroce_ring queue;
static uint64_t queue_entries[64];

static void start(uint32_t capacity, uint32_t num_workers)
{
	size_t bytes = uroce_cq_bytes(capacity, num_workers);

	free(cq);
	/* exact but for rounding, so that the address sanitizer sees what lies beyond */
	cq = aligned_alloc(UROCE_CACHE_LINE_BYTES, bytes);
	CU_ASSERT_PTR_NOT_NULL_FATAL(cq);
	memset(cq, 0xee, bytes);
	uroce_cq_init(cq, capacity, num_workers);
	uroce_ring_init(&queue, queue_entries, sizeof(queue_entries[0]), 64);
}

static void stop(void)
{
	free(cq);
	cq = NULL;
}

static struct uroce_cqe completion(uint64_t wr_id)
{
	return (struct uroce_cqe){.wr_id = wr_id, .queue = &queue};
}

/* Pushes without interest in arming. */
static bool push(uint32_t worker, uint64_t wr_id)
{
	struct uroce_cqe cqe = completion(wr_id);
	bool fire = true;
	bool fits = uroce_cq_push(cq, worker, &cqe, &fire);

	CU_ASSERT_FALSE(fire);
	return fits;
}

/* Takes one; UINT64_MAX when there is none. */
static uint64_t pop_one(void)
{
	struct uroce_cqe cqe;

	return uroce_cq_pop(cq, &cqe, 1) ? cqe.wr_id : UINT64_MAX;
}

static bool fires_with(const struct uroce_cqe *cqe)
{
	bool fire = false;

	CU_ASSERT_TRUE(uroce_cq_push(cq, 0, cqe, &fire));
	return fire;
}

static bool fires(uint64_t wr_id)
{
	struct uroce_cqe cqe = completion(wr_id);

	return fires_with(&cqe);
}

static void a_new_queue_is_empty_and_not_armed(void)
{
	struct uroce_cqe out[4];

	start(4, 2);
	CU_ASSERT_EQUAL(uroce_cq_pop(cq, out, 4), 0);
	CU_ASSERT_EQUAL(atomic_load(&cq->overrun), 0);
	CU_ASSERT_FALSE(fires(1));
	stop();
}

static void a_completion_comes_out_as_it_went_in(void)
{
	struct uroce_cqe in = {.wr_id = 0x1122334455667788,
		.status = UROCE_STATUS_REM_OP_ERR,
		.opcode = UROCE_WC_RECV_RDMA_WITH_IMM,
		.bytes = 0x80000000,
		.imm = 0xcafef00d,
		.qpn = 0xfffffe,
		.src_qpn = 0x123456,
		.flags = UROCE_WC_WITH_IMM,
		.vendor_err = 0x63,
		.queue = &queue,
		.queue_head = 9,
		.solicited = true};
	struct uroce_cqe out;
	bool fire;

	start(1, 1);
	CU_ASSERT_TRUE(uroce_cq_push(cq, 0, &in, &fire));
	CU_ASSERT_EQUAL(uroce_cq_pop(cq, &out, 1), 1);
	CU_ASSERT_EQUAL(out.wr_id, in.wr_id);
	CU_ASSERT_EQUAL(out.status, in.status);
	CU_ASSERT_EQUAL(out.opcode, in.opcode);
	CU_ASSERT_EQUAL(out.bytes, in.bytes);
	CU_ASSERT_EQUAL(out.imm, in.imm);
	CU_ASSERT_EQUAL(out.qpn, in.qpn);
	CU_ASSERT_EQUAL(out.src_qpn, in.src_qpn);
	CU_ASSERT_EQUAL(out.flags, in.flags);
	CU_ASSERT_EQUAL(out.vendor_err, in.vendor_err);
	CU_ASSERT_EQUAL(out.solicited, in.solicited);
	stop();
}

static void a_poll_takes_no_more_than_asked_for_and_keeps_the_order(void)
{
	struct uroce_cqe out[8];

	start(8, 1);
	for (uint64_t i = 0; i < 8; i++)
		CU_ASSERT_TRUE(push(0, i));
	CU_ASSERT_EQUAL(uroce_cq_pop(cq, out, 0), 0);
	CU_ASSERT_EQUAL(uroce_cq_pop(cq, out, 3), 3);
	CU_ASSERT_EQUAL(uroce_cq_pop(cq, out + 3, 8), 5);
	for (uint64_t i = 0; i < 8; i++)
		CU_ASSERT_EQUAL(out[i].wr_id, i);
	CU_ASSERT_EQUAL(uroce_cq_pop(cq, out, 8), 0);
	stop();
}

static void a_full_queue_refuses_and_reports_the_overrun(void)
{
	struct uroce_cqe cqe = completion(99);
	bool fire = true;

	for (uint32_t capacity = 1; capacity <= 9; capacity++) {
		start(capacity, 1);
		for (uint32_t i = 0; i < capacity; i++)
			CU_ASSERT_TRUE(push(0, i));
		CU_ASSERT_EQUAL(atomic_load(&cq->overrun), 0);
		uroce_cq_arm(cq, false);
		CU_ASSERT_FALSE(uroce_cq_push(cq, 0, &cqe, &fire));
		CU_ASSERT_FALSE(fire);
		CU_ASSERT_EQUAL(atomic_load(&cq->overrun), 1);
		for (uint32_t i = 0; i < capacity; i++)
			CU_ASSERT_EQUAL(pop_one(), i);
		CU_ASSERT_EQUAL(pop_one(), UINT64_MAX);
		CU_ASSERT_TRUE(push(0, 100));
	}
	stop();
}

static void every_worker_has_room_for_the_whole_capacity(void)
{
	struct uroce_cqe out[16];

	start(5, 3);
	for (uint32_t worker = 0; worker < 3; worker++) {
		for (uint64_t i = 0; i < 5; i++)
			CU_ASSERT_TRUE(push(worker, worker * 10 + i));
		CU_ASSERT_FALSE(push(worker, 99));
	}
	CU_ASSERT_EQUAL(uroce_cq_pop(cq, out, 16), 15);
	for (uint64_t i = 0; i < 15; i++)
		CU_ASSERT_EQUAL(out[i].wr_id, i / 5 * 10 + i % 5);
	stop();
}

static void the_rings_are_drained_in_turn(void)
{
	struct uroce_cqe out[8];

	start(4, 3);
	CU_ASSERT_TRUE(push(2, 20));
	CU_ASSERT_TRUE(push(0, 0));
	CU_ASSERT_TRUE(push(1, 10));
	CU_ASSERT_TRUE(push(1, 11));
	CU_ASSERT_EQUAL(uroce_cq_pop(cq, out, 8), 4);
	/* the order between workers is free, that within one is not, and all came */
	for (uint32_t i = 0, eleven = 0; i < 4; i++) {
		if (out[i].wr_id == 11)
			eleven = 1;
		if (out[i].wr_id == 10)
			CU_ASSERT_FALSE(eleven);
	}
	CU_ASSERT_EQUAL(out[0].wr_id + out[1].wr_id + out[2].wr_id + out[3].wr_id, 41);
	stop();
}

/* Worker 0 always has something; the others' single completions must come all the same. */
static void a_busy_ring_does_not_starve_the_others(void)
{
	for (uint32_t n = 1; n <= 3; n++) {
		uint64_t next = 1000;
		uint32_t found = 0;

		start(8, 3);
		CU_ASSERT_TRUE(push(1, 1));
		CU_ASSERT_TRUE(push(2, 2));
		for (uint32_t i = 0; i < 5; i++)
			CU_ASSERT_TRUE(push(0, next++));
		for (int poll = 0; poll < 12; poll++) {
			struct uroce_cqe out[3];
			uint32_t got = uroce_cq_pop(cq, out, n);

			for (uint32_t i = 0; i < got; i++) {
				found += out[i].wr_id < 1000;
				if (out[i].wr_id >= 1000)
					CU_ASSERT_TRUE(push(0, next++));
			}
		}
		CU_ASSERT_EQUAL(found, 2);
	}
	stop();
}

static void an_arm_fires_once(void)
{
	start(8, 1);
	CU_ASSERT_FALSE(uroce_cq_arm(cq, false));
	CU_ASSERT_TRUE(fires(1));
	CU_ASSERT_FALSE(fires(2));
	CU_ASSERT_FALSE(fires(3));
	stop();
}

static void arming_twice_fires_once(void)
{
	start(8, 1);
	CU_ASSERT_FALSE(uroce_cq_arm(cq, false));
	CU_ASSERT_FALSE(uroce_cq_arm(cq, false));
	CU_ASSERT_TRUE(fires(1));
	CU_ASSERT_FALSE(fires(2));
	stop();
}

static void an_arm_fires_for_whichever_worker_is_first(void)
{
	struct uroce_cqe cqe = completion(1);
	bool fire;

	start(8, 3);
	CU_ASSERT_FALSE(uroce_cq_arm(cq, false));
	CU_ASSERT_TRUE(uroce_cq_push(cq, 2, &cqe, &fire));
	CU_ASSERT_TRUE(fire);
	CU_ASSERT_TRUE(uroce_cq_push(cq, 0, &cqe, &fire));
	CU_ASSERT_FALSE(fire);
	stop();
}

static void arming_a_queue_with_completions_says_so_and_does_not_arm(void)
{
	for (uint32_t worker = 0; worker < 2; worker++) {
		start(8, 2);
		CU_ASSERT_TRUE(push(worker, 1));
		CU_ASSERT_TRUE(uroce_cq_arm(cq, false));
		CU_ASSERT_FALSE(fires(2));
		CU_ASSERT_TRUE(uroce_cq_arm(cq, true));
		CU_ASSERT_FALSE(fires(3));
		while (pop_one() != UINT64_MAX)
			;
		CU_ASSERT_FALSE(uroce_cq_arm(cq, false));
		CU_ASSERT_TRUE(fires(4));
	}
	stop();
}

static void a_solicited_arm_waits_for_a_solicited_completion(void)
{
	struct uroce_cqe solicited = completion(3);

	solicited.solicited = true;
	start(8, 1);
	CU_ASSERT_FALSE(uroce_cq_arm(cq, true));
	CU_ASSERT_FALSE(fires(1));
	CU_ASSERT_FALSE(fires(2));
	CU_ASSERT_TRUE(fires_with(&solicited));
	CU_ASSERT_FALSE(fires_with(&solicited));
	stop();
}

static void every_error_fires_a_solicited_arm(void)
{
	static const enum uroce_status errors[] = {UROCE_STATUS_LOC_LEN_ERR,
		UROCE_STATUS_WR_FLUSH_ERR, UROCE_STATUS_REM_ACCESS_ERR, UROCE_STATUS_RETRY_EXC_ERR,
		UROCE_STATUS_GENERAL_ERR};

	for (size_t i = 0; i < sizeof(errors) / sizeof(errors[0]); i++) {
		struct uroce_cqe error = completion(1);

		start(8, 1);
		error.status = errors[i];
		CU_ASSERT_FALSE(uroce_cq_arm(cq, true));
		CU_ASSERT_TRUE(fires_with(&error));
		CU_ASSERT_FALSE(fires_with(&error));
	}
	stop();
}

static void an_arm_for_any_completion_replaces_a_solicited_one(void)
{
	start(8, 1);
	CU_ASSERT_FALSE(uroce_cq_arm(cq, true));
	CU_ASSERT_FALSE(uroce_cq_arm(cq, false));
	CU_ASSERT_TRUE(fires(1));
	stop();
	/* And stays: who was promised any is not made to wait. */
	start(8, 1);
	CU_ASSERT_FALSE(uroce_cq_arm(cq, false));
	CU_ASSERT_FALSE(uroce_cq_arm(cq, true));
	CU_ASSERT_TRUE(fires(1));
	stop();
}

static void polling_a_completion_frees_the_slots_behind_it(void)
{
	struct uroce_cqe cqe = completion(1);
	struct uroce_cqe out;
	bool fire;

	start(8, 1);
	uroce_ring_init(&queue, queue_entries, sizeof(queue_entries[0]), 4);
	for (int i = 0; i < 4; i++) {
		CU_ASSERT_PTR_NOT_NULL(uroce_ring_reserve(&queue));
		uroce_ring_advance(&queue);
	}
	uroce_ring_publish(&queue);
	cqe.queue_head = 3; /* one signalled send that covers two unsignalled ones */
	CU_ASSERT_TRUE(uroce_cq_push(cq, 0, &cqe, &fire));
	CU_ASSERT_PTR_NULL(uroce_ring_reserve(&queue));
	CU_ASSERT_EQUAL(uroce_cq_pop(cq, &out, 1), 1);
	for (int i = 0; i < 3; i++) {
		CU_ASSERT_PTR_NOT_NULL(uroce_ring_reserve(&queue));
		uroce_ring_advance(&queue);
	}
	CU_ASSERT_PTR_NULL(uroce_ring_reserve(&queue));
	stop();
}

static void purging_forgets_one_queues_completions_and_keeps_the_others_in_order(void)
{
	struct uroce_ring gone;
	struct uroce_cqe out[8];
	bool fire;

	start(8, 2);
	uroce_ring_init(&gone, queue_entries, sizeof(queue_entries[0]), 8);
	for (uint32_t worker = 0; worker < 2; worker++)
		for (uint64_t i = 0; i < 6; i++) {
			struct uroce_cqe cqe = completion(worker * 10 + i);

			if (i % 2)
				cqe.queue = &gone;
			cqe.queue_head = 5;
			CU_ASSERT_TRUE(uroce_cq_push(cq, worker, &cqe, &fire));
		}
	uroce_cq_purge(cq, &gone);
	CU_ASSERT_EQUAL(uroce_cq_pop(cq, out, 8), 6);
	for (uint64_t i = 0; i < 6; i++)
		CU_ASSERT_EQUAL(out[i].wr_id, i / 3 * 10 + i % 3 * 2);
	/* its slots are not touched: the memory may be somebody else's by now */
	CU_ASSERT_EQUAL(atomic_load(&gone.head), 0);
	CU_ASSERT_EQUAL(atomic_load(&queue.head), 5);
	stop();
}

static void purged_completions_leave_room_once_they_are_passed_over(void)
{
	start(3, 1);
	for (uint64_t i = 0; i < 3; i++)
		CU_ASSERT_TRUE(push(0, i));
	uroce_cq_purge(cq, &queue);
	CU_ASSERT_EQUAL(pop_one(), UINT64_MAX);
	for (uint64_t i = 0; i < 3; i++)
		CU_ASSERT_TRUE(push(0, 10 + i));
	for (uint64_t i = 0; i < 3; i++)
		CU_ASSERT_EQUAL(pop_one(), 10 + i);
	stop();
}

static void purging_does_not_touch_what_was_polled_or_comes_later(void)
{
	start(4, 1);
	CU_ASSERT_TRUE(push(0, 1));
	CU_ASSERT_EQUAL(pop_one(), 1);
	uroce_cq_purge(cq, &queue);
	CU_ASSERT_TRUE(push(0, 2));
	CU_ASSERT_EQUAL(pop_one(), 2);
	stop();
}

static void a_moved_ring_keeps_what_waits_in_it(void)
{
	static const uint32_t sizes[] = {3, 4, 5, 64, 7, 3};
	void *old = NULL;
	uint64_t in = 0, out = 0;

	start(8, 2);
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		size_t bytes = (uroce_cq_ring_bytes(sizes[i]) + 63) / 64 * 64;
		void *entries = aligned_alloc(UROCE_CACHE_LINE_BYTES, bytes);

		CU_ASSERT_PTR_NOT_NULL_FATAL(entries);
		while (in - out < 3)
			CU_ASSERT_TRUE(push(1, in++));
		CU_ASSERT_EQUAL(uroce_cq_move_ring(cq, 1, entries, 2), -EINVAL);
		CU_ASSERT_EQUAL(uroce_cq_move_ring(cq, 1, entries, sizes[i]), 0);
		free(old);
		old = entries;
		while (in - out < sizes[i])
			CU_ASSERT_TRUE(push(1, in++));
		CU_ASSERT_FALSE(push(1, in));
		while (in - out > 2)
			CU_ASSERT_EQUAL(pop_one(), out++);
	}
	free(old);
	stop();
}

static void random_use_loses_and_invents_nothing(void)
{
	uint64_t seed = 77, in[3] = {0, 0, 0}, out[3] = {0, 0, 0};
	unsigned int wrong = 0;

	start(7, 3);
	for (int step = 0; step < 100000; step++) {
		uint32_t worker = random_below(&seed, 3);
		struct uroce_cqe cqes[5];
		uint32_t got;

		if (random_below(&seed, 3) < 2) {
			bool fits = push(worker, (uint64_t)worker << 32 | in[worker]);

			wrong += fits != (in[worker] - out[worker] < 7);
			in[worker] += fits;
			continue;
		}
		got = uroce_cq_pop(cq, cqes, random_below(&seed, 6));
		for (uint32_t i = 0; i < got; i++) {
			worker = (uint32_t)(cqes[i].wr_id >> 32);
			wrong += (cqes[i].wr_id & UINT32_MAX) != out[worker]++;
		}
	}
	CU_ASSERT_EQUAL(wrong, 0);
	CU_ASSERT_TRUE(out[0] > 5000 && out[1] > 5000 && out[2] > 5000);
	stop();
}

int main(void)
{
	static const struct unit_case cases[] = {
		{"A new queue is empty and not armed", a_new_queue_is_empty_and_not_armed},
		{"A completion comes out as it went in", a_completion_comes_out_as_it_went_in},
		{"A poll takes no more than asked for and keeps the order",
			a_poll_takes_no_more_than_asked_for_and_keeps_the_order},
		{"A full queue refuses and reports the overrun",
			a_full_queue_refuses_and_reports_the_overrun},
		{"Every worker has room for the whole capacity",
			every_worker_has_room_for_the_whole_capacity},
		{"The rings are drained in turn", the_rings_are_drained_in_turn},
		{"A busy ring does not starve the others", a_busy_ring_does_not_starve_the_others},
		{"An arm fires once", an_arm_fires_once},
		{"Arming twice fires once", arming_twice_fires_once},
		{"An arm fires for whichever worker is first",
			an_arm_fires_for_whichever_worker_is_first},
		{"Arming a queue with completions says so and does not arm",
			arming_a_queue_with_completions_says_so_and_does_not_arm},
		{"A solicited arm waits for a solicited completion",
			a_solicited_arm_waits_for_a_solicited_completion},
		{"Every error fires a solicited arm", every_error_fires_a_solicited_arm},
		{"An arm for any completion replaces a solicited one",
			an_arm_for_any_completion_replaces_a_solicited_one},
		{"Polling a completion frees the slots behind it",
			polling_a_completion_frees_the_slots_behind_it},
		{"Purging forgets one queue's completions and keeps the others in order",
			purging_forgets_one_queues_completions_and_keeps_the_others_in_order},
		{"Purged completions leave room once they are passed over",
			purged_completions_leave_room_once_they_are_passed_over},
		{"Purging does not touch what was polled or comes later",
			purging_does_not_touch_what_was_polled_or_comes_later},
		{"a moved ring keeps what waits in it", a_moved_ring_keeps_what_waits_in_it},
		{"Random use loses and invents nothing", random_use_loses_and_invents_nothing},
	};

	return run_suite("cq", cases, sizeof(cases) / sizeof(cases[0]));
}
