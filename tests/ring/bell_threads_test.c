/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The doorbell between application threads and a worker, for the thread sanitizer.
 *
 * Two threads post to queues of their own that ring the same worker's list. The worker looks at a
 * queue only when its bell was on the list, so a doorbell that gets lost leaves entries behind:
 * nothing else would ever find them. Posters wait now and then until their queue is empty, because
 * the protocol is interesting only where busy and idle meet.
 */
#define _GNU_SOURCE
#include "ready.h"

#include <pthread.h>
#include <sched.h>

#include "ring.h"

#include "../unit/cunit_run.h"

enum {
	NUM_POSTERS = 2,
	QUEUES_PER_POSTER = 2,
	NUM_QUEUES = NUM_POSTERS * QUEUES_PER_POSTER,
	POSTS = 40000, /* to each queue */
	LIMIT = 8
};

#define YIELDS_MAX 20000000u

struct queue {
	struct uroce_ring ring;
	struct uroce_bell bell;
	uint64_t entries[LIMIT];
	uint32_t seen;	  /* worker */
	bool in_hand;	  /* worker: on the list that it walks */
	uint32_t wrong;	  /* worker: entries that are not what was posted */
	uint32_t doubled; /* worker: listed while listed */
};

struct poster {
	struct uroce_bells *bells;
	struct queue *queues;
	bool gave_up;
};

static struct uroce_bells bells;
static struct queue queues[NUM_QUEUES];
static _Atomic uint32_t posters_done;

static bool give_way(uint32_t *yields)
{
	sched_yield();
	return ++*yields < YIELDS_MAX;
}

/* Waits until the worker has freed all but `left` entries. */
static bool wait_for_room(struct queue *queue, uint32_t posted, uint32_t left)
{
	uint32_t yields = 0;

	while (posted - atomic_load_explicit(&queue->ring.head, memory_order_acquire) > left)
		if (!give_way(&yields))
			return false;
	return true;
}

static void *post(void *arg)
{
	struct poster *poster = arg;

	for (uint32_t i = 0; i < POSTS; i++)
		for (int q = 0; q < QUEUES_PER_POSTER; q++) {
			struct queue *queue = &poster->queues[q];
			/* most often wait for an idle queue, at times only for room */
			uint32_t left = i % 4 == 3 ? LIMIT - 1 : 0;
			uint64_t *entry;

			if (!wait_for_room(queue, i, left)) {
				poster->gave_up = true;
				goto out;
			}
			entry = uroce_ring_reserve(&queue->ring);
			if (!entry) {
				poster->gave_up = true;
				goto out;
			}
			*entry = i;
			uroce_ring_advance(&queue->ring);
			uroce_ring_publish_seq(&queue->ring);
			uroce_bell_ring(poster->bells, &queue->bell);
		}
out:
	atomic_fetch_add(&posters_done, 1);
	return NULL;
}

static void take_entries(struct queue *queue, uint32_t tail)
{
	for (; queue->seen != tail; queue->seen++) {
		const uint64_t *entry = uroce_ring_entry(&queue->ring, queue->seen);

		queue->wrong += *entry != queue->seen;
	}
	uroce_ring_release(&queue->ring, queue->seen);
}

/* One queue whose bell was rung; true when it must be looked at again next turn (C1 to C4). */
static bool serve(struct queue *queue)
{
	take_entries(queue, uroce_ring_tail(&queue->ring));
	queue->in_hand = false;
	atomic_store(&queue->bell.rung, 0);
	if (uroce_ring_tail(&queue->ring) == queue->seen)
		return false;
	return atomic_exchange(&queue->bell.rung, 1) == 0;
}

static struct queue *queue_of(struct uroce_bell *bell)
{
	return (struct queue *)(void *)((char *)bell - offsetof(struct queue, bell));
}

/* One turn of the worker; returns how many queues it served. */
static unsigned int turn(struct uroce_bell **kept)
{
	struct uroce_bell *lists[2] = {*kept, uroce_bells_take(&bells)};
	unsigned int served = 0;

	*kept = NULL;
	for (int i = 0; i < 2; i++)
		for (struct uroce_bell *bell = lists[i]; bell; bell = bell->next) {
			queue_of(bell)->doubled += queue_of(bell)->in_hand;
			queue_of(bell)->in_hand = true;
		}
	for (int i = 0; i < 2; i++)
		for (struct uroce_bell *bell = lists[i], *next; bell; bell = next) {
			/* once the bell is cleared `next` is the poster's again */
			next = bell->next;
			served++;
			if (serve(queue_of(bell))) {
				bell->next = *kept;
				*kept = bell;
			}
		}
	return served;
}

static void work(void)
{
	struct uroce_bell *kept = NULL;
	uint32_t yields = 0;
	bool done = false;

	/* the last turn begins after the last post */
	while (!done) {
		done = atomic_load(&posters_done) == NUM_POSTERS;
		if (turn(&kept) > 0 || kept) {
			yields = 0;
			done = false;
		} else if (!done && !give_way(&yields)) {
			done = true;
		}
	}
}

static void no_doorbell_is_lost_and_no_queue_is_listed_twice(void)
{
	struct poster posters[NUM_POSTERS];
	pthread_t threads[NUM_POSTERS];

	for (int q = 0; q < NUM_QUEUES; q++)
		uroce_ring_init(&queues[q].ring, queues[q].entries, sizeof(uint64_t), LIMIT);
	for (int p = 0; p < NUM_POSTERS; p++) {
		posters[p] =
			(struct poster){.bells = &bells, .queues = &queues[p * QUEUES_PER_POSTER]};
		CU_ASSERT_EQUAL_FATAL(pthread_create(&threads[p], NULL, post, &posters[p]), 0);
	}
	work();
	for (int p = 0; p < NUM_POSTERS; p++) {
		pthread_join(threads[p], NULL);
		CU_ASSERT_FALSE(posters[p].gave_up);
	}
	for (int q = 0; q < NUM_QUEUES; q++) {
		CU_ASSERT_EQUAL(queues[q].seen, POSTS);
		CU_ASSERT_EQUAL(queues[q].wrong, 0);
		CU_ASSERT_EQUAL(queues[q].doubled, 0);
	}
}

int main(void)
{
	static const struct unit_case cases[] = {
		{"No doorbell is lost and no queue is listed twice",
			no_doorbell_is_lost_and_no_queue_is_listed_twice},
	};

	return run_suite("bell_threads", cases, sizeof(cases) / sizeof(cases[0]));
}
