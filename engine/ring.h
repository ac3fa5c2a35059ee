/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A single-producer, single-consumer ring of entries of one size.
 *
 * Indices run freely and are masked on use, so full and empty differ. Each side keeps a cached
 * copy of the other's index on its own cache line and reloads it only when it seems out of luck.
 * Who the consumer is differs: of a completion queue, the poller; of a send or receive queue, the
 * worker reads entries up to the tail at its own pace, and it is the poller of the completion
 * that gives the slot back (so a queue holds what was posted and not yet polled).
 */
#ifndef UROCE_RING_H
#define UROCE_RING_H

#include <stdalign.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	UROCE_CACHE_LINE_BYTES = 64
};

struct uroce_ring {
	uint8_t *entries;
	uint32_t stride_bytes;
	uint32_t mask;	/* entries allocated - 1 */
	uint32_t limit; /* entries that may be used at once */

	/* the producer's line */
	alignas(UROCE_CACHE_LINE_BYTES) _Atomic uint32_t tail;
	uint32_t producer_tail; /* written, not yet published */
	uint32_t head_cached;

	/* the consumer's line */
	alignas(UROCE_CACHE_LINE_BYTES) _Atomic uint32_t head;
	uint32_t tail_cached;
};

static inline uint32_t uroce_ring_round_up(uint32_t limit)
{
	uint32_t n = 1;

	while (n < limit)
		n *= 2;
	return n;
}

/* entries: uroce_ring_round_up(limit) * stride_bytes bytes of the caller's. */
static inline void uroce_ring_init(
	struct uroce_ring *ring, void *entries, uint32_t stride_bytes, uint32_t limit)
{
	ring->entries = entries;
	ring->stride_bytes = stride_bytes;
	ring->mask = uroce_ring_round_up(limit) - 1;
	ring->limit = limit;
	atomic_store_explicit(&ring->tail, 0, memory_order_relaxed);
	atomic_store_explicit(&ring->head, 0, memory_order_relaxed);
	ring->producer_tail = 0;
	ring->head_cached = 0;
	ring->tail_cached = 0;
}

static inline void *uroce_ring_entry(const struct uroce_ring *ring, uint32_t index)
{
	return ring->entries + (size_t)(index & ring->mask) * ring->stride_bytes;
}

/* Producer: the next free entry, or NULL when the ring is full. Not visible until publish. */
static inline void *uroce_ring_reserve(struct uroce_ring *ring)
{
	if (ring->producer_tail - ring->head_cached >= ring->limit) {
		ring->head_cached = atomic_load_explicit(&ring->head, memory_order_acquire);
		if (ring->producer_tail - ring->head_cached >= ring->limit)
			return NULL;
	}
	return uroce_ring_entry(ring, ring->producer_tail);
}

/* Producer: the entry last reserved is filled. */
static inline void uroce_ring_advance(struct uroce_ring *ring)
{
	ring->producer_tail++;
}

/* Producer: all filled entries become visible. */
static inline void uroce_ring_publish(struct uroce_ring *ring)
{
	atomic_store_explicit(&ring->tail, ring->producer_tail, memory_order_release);
}

/*
 * The same, ordered before every later load of this thread: for a producer that then looks at a
 * flag which its consumer clears before it looks at the tail (the doorbell, see ready.h).
 */
static inline void uroce_ring_publish_seq(struct uroce_ring *ring)
{
	atomic_store_explicit(&ring->tail, ring->producer_tail, memory_order_seq_cst);
}

/* Consumer: entries published; everything before them is visible. */
static inline uint32_t uroce_ring_tail(struct uroce_ring *ring)
{
	return atomic_load_explicit(&ring->tail, memory_order_seq_cst);
}

/* Consumer: entries below index are free again. */
static inline void uroce_ring_release(struct uroce_ring *ring, uint32_t index)
{
	atomic_store_explicit(&ring->head, index, memory_order_release);
}

/* Consumer: the entry at the head, or NULL when the ring is empty. */
static inline void *uroce_ring_peek(struct uroce_ring *ring)
{
	uint32_t head = atomic_load_explicit(&ring->head, memory_order_relaxed);

	if (head == ring->tail_cached) {
		ring->tail_cached = atomic_load_explicit(&ring->tail, memory_order_acquire);
		if (head == ring->tail_cached)
			return NULL;
	}
	return uroce_ring_entry(ring, head);
}

/* Consumer: the peeked entry has been read. */
static inline void uroce_ring_pop(struct uroce_ring *ring)
{
	uint32_t head = atomic_load_explicit(&ring->head, memory_order_relaxed);

	atomic_store_explicit(&ring->head, head + 1, memory_order_release);
}

#endif
