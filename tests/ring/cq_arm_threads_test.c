/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Arming a completion queue against a worker that pushes, for the thread sanitizer.
 *
 * The poller drains, arms, and then waits for the event and nothing else: if arming and pushing
 * miss each other it waits for ever. After each arm it also waits until the worker has finished
 * the push that it can see, and counts: one event for an arm that took, none or one for an arm
 * that was answered with "there are completions already" (the worker may have been quicker).
 */
#define _GNU_SOURCE
#include "cq.h"

#include <pthread.h>
#include <sched.h>

#include "../unit/cunit_run.h"

enum {
	PUSHES = 100000,
	CAPACITY = 16
};

#define YIELDS_MAX 20000000u

static struct uroce_cq *cq;
static struct uroce_ring queue;
static _Atomic uint32_t fired;	/* worker: events raised */
static _Atomic uint32_t pushed; /* worker: pushes finished, their event included */
static _Atomic uint32_t polled; /* poller: completions taken */
static bool overrun;

/* Looks again at once for a while, since the other thread is most often just about to act. */
static bool give_way(uint32_t *yields)
{
	if (*yields % 64 == 63)
		sched_yield();
	return ++*yields < YIELDS_MAX;
}

/* Passes a little time, a different amount each time: so that each step meets each other step. */
static void dawdle(uint32_t turn)
{
	for (volatile uint32_t i = turn % 61; i > 0; i--)
		;
}

static void *push_all(void *arg)
{
	uint32_t ahead = *(const uint32_t *)arg;

	for (uint32_t i = 0; i < PUSHES; i++) {
		struct uroce_cqe cqe = {.wr_id = i, .queue = &queue, .queue_head = i + 1};
		uint32_t yields = 0;
		bool fire;

		while (i - atomic_load(&polled) >= ahead)
			if (!give_way(&yields))
				return NULL;
		dawdle(i);
		if (!uroce_cq_push(cq, 0, &cqe, &fire))
			overrun = true;
		if (fire)
			atomic_fetch_add(&fired, 1);
		atomic_store(&pushed, i + 1);
	}
	return NULL;
}

/* Takes all there is; false when anything is not the next in order. */
static bool drain(uint32_t *next)
{
	struct uroce_cqe cqes[4];
	uint32_t got;

	while ((got = uroce_cq_pop(cq, cqes, 4)) > 0) {
		for (uint32_t i = 0; i < got; i++)
			if (cqes[i].wr_id != (*next)++)
				return false;
		atomic_store(&polled, *next);
	}
	return true;
}

static bool wait_until(_Atomic uint32_t *counter, uint32_t value)
{
	uint32_t yields = 0;

	while (atomic_load(counter) < value)
		if (!give_way(&yields))
			return false;
	return true;
}

/* Waits until every push that can be seen has raised its event. */
static bool settle(void)
{
	return wait_until(&pushed, uroce_ring_tail(&cq->rings[0]));
}

struct tally {
	uint32_t waits, refused, events_of_refused;
};

/* Drains and arms until all has come; false when an event was missing or came twice. */
static bool poll_all(struct tally *tally)
{
	uint32_t next = 0, events = 0;

	for (;;) {
		bool more;

		if (!drain(&next))
			return false;
		if (next == PUSHES)
			return settle() && atomic_load(&fired) == events;
		more = uroce_cq_arm(cq, false);
		if (!more) {
			tally->waits++;
			/* the push that fired must also have been the only one to do so */
			if (!wait_until(&fired, events + 1) || !settle() ||
				atomic_load(&fired) != ++events)
				return false;
			continue;
		}
		tally->refused++;
		if (!settle() || atomic_load(&fired) > events + 1)
			return false;
		tally->events_of_refused += atomic_load(&fired) - events;
		events = atomic_load(&fired);
	}
}

static void run(uint32_t ahead)
{
	struct tally tally = {0, 0, 0};
	pthread_t worker;
	bool right;

	cq = aligned_alloc(UROCE_CACHE_LINE_BYTES, uroce_cq_bytes(CAPACITY, 1));
	CU_ASSERT_PTR_NOT_NULL_FATAL(cq);
	uroce_cq_init(cq, CAPACITY, 1);
	atomic_store(&fired, 0);
	atomic_store(&pushed, 0);
	atomic_store(&polled, 0);
	overrun = false;
	CU_ASSERT_EQUAL_FATAL(pthread_create(&worker, NULL, push_all, &ahead), 0);
	right = poll_all(&tally);
	/* a worker that waits for a poller that gave up must not wait */
	atomic_store(&polled, PUSHES);
	pthread_join(worker, NULL);
	CU_ASSERT_TRUE(right);
	CU_ASSERT_FALSE(overrun && right);
	CU_ASSERT_EQUAL(atomic_load(&fired), tally.waits + tally.events_of_refused);
	CU_ASSERT_TRUE(tally.waits > 0);
	free(cq);
}

static void one_completion_at_a_time_wakes_the_poller_each_time(void)
{
	run(1);
}

static void a_worker_that_runs_ahead_wakes_the_poller_once_per_arm(void)
{
	run(CAPACITY);
}

int main(void)
{
	static const struct unit_case cases[] = {
		{"One completion at a time wakes the poller each time",
			one_completion_at_a_time_wakes_the_poller_each_time},
		{"A worker that runs ahead wakes the poller once per arm",
			a_worker_that_runs_ahead_wakes_the_poller_once_per_arm},
	};

	return run_suite("cq_arm_threads", cases, sizeof(cases) / sizeof(cases[0]));
}
