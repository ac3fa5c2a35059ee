/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Hand-over rings between the workers of a port.
 *
 * Bounded: a worker that does not keep up loses frames as a port's queue would, counted by who
 * passes them, and the peers send again. Knows nothing of what a frame is. What each worker writes
 * is on cache lines of its own; a turn that hands nothing over reads its own line and the tails of
 * the rings that lead to it, which nobody writes then.
 */
#include "steer.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define GONE_NS 1000000000ull

void uroce_steer_init(
	struct uroce_steer *steer, uint32_t num, void (*wake)(void *arg, uint32_t id), void *arg)
{
	memset(steer, 0, sizeof(*steer));
	steer->num = num;
	steer->wake = wake;
	steer->wake_arg = arg;
}

/* So that one worker that does not run cannot hold all buffers of the port. */
static uint32_t frames_per_way(const struct uroce_steer *steer)
{
	uint32_t share = UROCE_STEER_FRAMES_MAX / (steer->num - 1);

	return share > UROCE_STEER_FRAMES_MIN ? share : UROCE_STEER_FRAMES_MIN;
}

int uroce_steer_connect(struct uroce_steer *steer, uint32_t from, uint32_t to)
{
	uint32_t frames = frames_per_way(steer), line = UROCE_CACHE_LINE_BYTES;
	size_t bytes =
		sizeof(struct uroce_steer_way) + uroce_ring_round_up(frames) * sizeof(void *);
	struct uroce_steer_way *way;

	if (steer->ways[to][from])
		return 0;
	way = aligned_alloc(line, (bytes + line - 1) / line * line);
	if (!way)
		return -ENOMEM;
	uroce_ring_init(&way->ring, way->frames, sizeof(void *), frames);
	steer->ways[to][from] = way;
	return 0;
}

int uroce_steer_connect_all(struct uroce_steer *steer)
{
	for (uint32_t from = 0; from < steer->num; from++)
		for (uint32_t to = 0; to < steer->num; to++)
			if (from != to && uroce_steer_connect(steer, from, to) != 0)
				return -ENOMEM;
	return 0;
}

void uroce_steer_fini(struct uroce_steer *steer)
{
	for (uint32_t from = 0; from < steer->num; from++)
		for (uint32_t to = 0; to < steer->num; to++) {
			free(steer->ways[to][from]);
			steer->ways[to][from] = NULL;
		}
}

/* ---- frames ---- */

bool uroce_steer_push(struct uroce_steer *steer, uint32_t from, uint32_t to, void *frame)
{
	struct uroce_steer_way *way = to < steer->num ? steer->ways[to][from] : NULL;
	void **slot = way ? uroce_ring_reserve(&way->ring) : NULL;

	if (!slot)
		return false;
	*slot = frame;
	uroce_ring_advance(&way->ring);
	steer->ends[from].pushed_to |= 1u << to;
	return true;
}

void uroce_steer_flush(struct uroce_steer *steer, uint32_t from)
{
	uint32_t left = steer->ends[from].pushed_to;

	for (; left; left &= left - 1) {
		uint32_t to = (uint32_t)__builtin_ctz(left);

		uroce_ring_publish(&steer->ways[to][from]->ring);
		if (steer->wake)
			steer->wake(steer->wake_arg, to);
	}
	steer->ends[from].pushed_to = 0;
}

static uint32_t take(struct uroce_ring *ring, void **frames, uint32_t n)
{
	uint32_t head = atomic_load_explicit(&ring->head, memory_order_relaxed);
	uint32_t got;

	if (ring->tail_cached == head)
		ring->tail_cached = atomic_load_explicit(&ring->tail, memory_order_acquire);
	got = ring->tail_cached - head;
	if (got == 0)
		return 0;
	if (got > n)
		got = n;
	for (uint32_t i = 0; i < got; i++)
		frames[i] = *(void **)uroce_ring_entry(ring, head + i);
	uroce_ring_release(ring, head + got);
	return got;
}

uint32_t uroce_steer_pop(struct uroce_steer *steer, uint32_t to, void **frames, uint32_t n)
{
	uint32_t got = 0, from = steer->ends[to].turn;

	for (uint32_t i = 0; i < steer->num && got < n; i++) {
		struct uroce_steer_way *way = steer->ways[to][from];

		if (way)
			got += take(&way->ring, frames + got, n - got);
		from = from + 1 < steer->num ? from + 1 : 0;
	}
	/* Who was cut short now comes last the next time. */
	if (got == n)
		steer->ends[to].turn = from;
	return got;
}

bool uroce_steer_any(struct uroce_steer *steer, uint32_t to)
{
	for (uint32_t from = 0; from < steer->num; from++) {
		struct uroce_steer_way *way = steer->ways[to][from];

		if (way &&
			uroce_ring_tail(&way->ring) !=
				atomic_load_explicit(&way->ring.head, memory_order_relaxed))
			return true;
	}
	return false;
}

/* ---- timers ---- */

void uroce_steer_drained(struct uroce_steer *steer, uint32_t from, uint64_t now_ns)
{
	atomic_store_explicit(&steer->ends[from].drained_ns, now_ns, memory_order_release);
}

uint64_t uroce_steer_all_drained(const struct uroce_steer *steer, uint64_t now_ns)
{
	uint64_t oldest_ns = now_ns;

	for (uint32_t i = 0; i < steer->num; i++) {
		uint64_t ns =
			atomic_load_explicit(&steer->ends[i].drained_ns, memory_order_acquire);

		if (ns != 0 && ns < oldest_ns)
			oldest_ns = ns;
	}
	return now_ns - oldest_ns < GONE_NS ? oldest_ns : now_ns - GONE_NS;
}
