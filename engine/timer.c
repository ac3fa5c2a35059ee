/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A binary heap of timers, each knowing its place.
 *
 * Invariant: for every timer in the heap key_ns <= deadline_ns, and keys obey heap order. A
 * cancelled timer stays until its key comes up, and is then dropped; an advanced one is pushed
 * down to its real deadline.
 */
#include "timer.h"

#include <assert.h>
#include <stddef.h>

void uroce_timers_init(struct uroce_timers *timers, struct uroce_timer **heap, uint32_t max)
{
	timers->heap = heap;
	timers->num = 0;
	timers->max = max;
}

void uroce_timer_init(struct uroce_timer *timer)
{
	timer->deadline_ns = UROCE_TIMER_NEVER;
	timer->key_ns = 0;
	timer->place = UROCE_TIMER_OUTSIDE;
}

static void put(struct uroce_timers *timers, uint32_t place, struct uroce_timer *timer)
{
	timers->heap[place] = timer;
	timer->place = place;
}

static void sift_up(struct uroce_timers *timers, struct uroce_timer *timer)
{
	uint32_t place = timer->place;

	while (place > 0) {
		uint32_t parent = (place - 1) / 2;

		if (timers->heap[parent]->key_ns <= timer->key_ns)
			break;
		put(timers, place, timers->heap[parent]);
		place = parent;
	}
	put(timers, place, timer);
}

static void sift_down(struct uroce_timers *timers, struct uroce_timer *timer)
{
	uint32_t place = timer->place;

	for (;;) {
		uint32_t child = 2 * place + 1;

		if (child >= timers->num)
			break;
		if (child + 1 < timers->num &&
			timers->heap[child + 1]->key_ns < timers->heap[child]->key_ns)
			child++;
		if (timers->heap[child]->key_ns >= timer->key_ns)
			break;
		put(timers, place, timers->heap[child]);
		place = child;
	}
	put(timers, place, timer);
}

void uroce_timer_arm(struct uroce_timers *timers, struct uroce_timer *timer, uint64_t deadline_ns)
{
	timer->deadline_ns = deadline_ns;
	if (timer->place == UROCE_TIMER_OUTSIDE) {
		assert(timers->num < timers->max);
		timer->key_ns = deadline_ns;
		timer->place = timers->num++;
		sift_up(timers, timer);
	} else if (deadline_ns < timer->key_ns) {
		timer->key_ns = deadline_ns;
		sift_up(timers, timer);
	}
}

void uroce_timer_remove(struct uroce_timers *timers, struct uroce_timer *timer)
{
	struct uroce_timer *moved;
	uint32_t place = timer->place;

	timer->deadline_ns = UROCE_TIMER_NEVER;
	timer->place = UROCE_TIMER_OUTSIDE;
	if (place == UROCE_TIMER_OUTSIDE)
		return;
	moved = timers->heap[--timers->num];
	if (moved == timer)
		return;
	put(timers, place, moved);
	sift_up(timers, moved);
	sift_down(timers, moved);
}

/* Brings the heap's root up to date; returns it, or NULL when nothing is armed. */
static struct uroce_timer *settle_root(struct uroce_timers *timers)
{
	while (timers->num > 0) {
		struct uroce_timer *root = timers->heap[0];

		if (root->deadline_ns == root->key_ns)
			return root;
		if (root->deadline_ns == UROCE_TIMER_NEVER) {
			uroce_timer_remove(timers, root);
			continue;
		}
		root->key_ns = root->deadline_ns;
		sift_down(timers, root);
	}
	return NULL;
}

struct uroce_timer *uroce_timers_expire(struct uroce_timers *timers, uint64_t now_ns)
{
	struct uroce_timer *root;

	if (timers->num == 0 || timers->heap[0]->key_ns > now_ns)
		return NULL;
	root = settle_root(timers);
	if (!root || root->deadline_ns > now_ns)
		return NULL;
	uroce_timer_remove(timers, root);
	return root;
}

uint64_t uroce_timers_next(struct uroce_timers *timers)
{
	struct uroce_timer *root = settle_root(timers);

	return root ? root->deadline_ns : UROCE_TIMER_NEVER;
}
