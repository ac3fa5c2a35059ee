/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Completion queues.
 *
 * Arming is a flag between two sides that each write one thing and then read the other's: the
 * poller sets the flag and then looks for completions, the worker publishes a completion and then
 * looks at the flag. All four accesses are sequentially consistent, so at least one side sees the
 * other; the worker takes the flag by exchange, so an arm fires once.
 */
#include "cq.h"

#include <errno.h>
#include <string.h>

size_t uroce_cq_ring_bytes(uint32_t capacity)
{
	return (size_t)uroce_ring_round_up(capacity) * sizeof(struct uroce_cqe);
}

size_t uroce_cq_bytes(uint32_t capacity, uint32_t num_workers)
{
	size_t head = sizeof(struct uroce_cq) + num_workers * sizeof(struct uroce_ring);

	return head + num_workers * uroce_cq_ring_bytes(capacity);
}

void uroce_cq_init(struct uroce_cq *cq, uint32_t capacity, uint32_t num_workers)
{
	uint8_t *entries = (uint8_t *)&cq->rings[num_workers];

	memset(cq, 0, sizeof(*cq));
	cq->num_rings = num_workers;
	cq->capacity = capacity;
	for (uint32_t i = 0; i < num_workers; i++)
		uroce_ring_init(&cq->rings[i], entries + i * uroce_cq_ring_bytes(capacity),
			sizeof(struct uroce_cqe), capacity);
}

static bool take_arm(struct uroce_cq *cq, const struct uroce_cqe *cqe)
{
	uint32_t armed = atomic_load(&cq->armed);

	if (armed == UROCE_CQ_NOT_ARMED)
		return false;
	if (armed == UROCE_CQ_ARMED_SOLICITED && !cqe->solicited &&
		cqe->status == UROCE_STATUS_SUCCESS)
		return false;
	return atomic_exchange(&cq->armed, UROCE_CQ_NOT_ARMED) != UROCE_CQ_NOT_ARMED;
}

bool uroce_cq_push(struct uroce_cq *cq, uint32_t worker, const struct uroce_cqe *cqe, bool *fire)
{
	struct uroce_ring *ring = &cq->rings[worker];
	struct uroce_cqe *slot = uroce_ring_reserve(ring);

	*fire = false;
	if (!slot) {
		atomic_store_explicit(&cq->overrun, 1, memory_order_relaxed);
		return false;
	}
	*slot = *cqe;
	uroce_ring_advance(ring);
	uroce_ring_publish_seq(ring);
	*fire = take_arm(cq, cqe);
	return true;
}

/* Slots up to head are free again. A queue that was reset since is further on already. */
static void give_back(struct uroce_ring *queue, uint32_t head)
{
	uint32_t now = atomic_load_explicit(&queue->head, memory_order_relaxed);

	if ((int32_t)(head - now) > 0)
		uroce_ring_release(queue, head);
}

uint32_t uroce_cq_pop(struct uroce_cq *cq, struct uroce_cqe *out, uint32_t n)
{
	uint32_t got = 0;

	for (uint32_t tried = 0; tried < cq->num_rings && got < n; tried++) {
		struct uroce_ring *ring = &cq->rings[cq->turn];
		struct uroce_cqe *cqe;

		while (got < n && (cqe = uroce_ring_peek(ring))) {
			out[got] = *cqe;
			uroce_ring_pop(ring);
			if (!out[got].queue)
				continue;
			/* Last: what is posted into the freed slot may complete at once, and needs
			 * the place in this ring that is free by now. */
			give_back(out[got].queue, out[got].queue_head);
			got++;
		}
		cq->turn = cq->turn + 1 == cq->num_rings ? 0 : cq->turn + 1;
	}
	return got;
}

int uroce_cq_move_ring(struct uroce_cq *cq, uint32_t worker, void *entries, uint32_t capacity)
{
	struct uroce_ring *ring = &cq->rings[worker];
	uint32_t tail = uroce_ring_tail(ring);
	uint32_t head = atomic_load_explicit(&ring->head, memory_order_acquire);
	uint32_t mask = uroce_ring_round_up(capacity) - 1;

	if (tail - head > capacity)
		return -EINVAL;
	for (; head != tail; head++)
		memcpy((uint8_t *)entries + (size_t)(head & mask) * ring->stride_bytes,
			uroce_ring_entry(ring, head), ring->stride_bytes);
	ring->entries = entries;
	ring->mask = mask;
	ring->limit = capacity;
	return 0;
}

static bool is_empty(struct uroce_cq *cq)
{
	for (uint32_t i = 0; i < cq->num_rings; i++)
		if (uroce_ring_tail(&cq->rings[i]) !=
			atomic_load_explicit(&cq->rings[i].head, memory_order_relaxed))
			return false;
	return true;
}

bool uroce_cq_arm(struct uroce_cq *cq, bool solicited_only)
{
	uint32_t not_armed = UROCE_CQ_NOT_ARMED;

	/* Who waits for any completion is not made to wait for a solicited one. */
	if (solicited_only)
		atomic_compare_exchange_strong(&cq->armed, &not_armed, UROCE_CQ_ARMED_SOLICITED);
	else
		atomic_store(&cq->armed, UROCE_CQ_ARMED_ANY);
	if (is_empty(cq))
		return false;
	/* If the worker was quicker the arm is spent, and its event comes all the same. */
	atomic_exchange(&cq->armed, UROCE_CQ_NOT_ARMED);
	return true;
}

void uroce_cq_purge(struct uroce_cq *cq, const struct uroce_ring *queue)
{
	for (uint32_t i = 0; i < cq->num_rings; i++) {
		struct uroce_ring *ring = &cq->rings[i];
		uint32_t tail = uroce_ring_tail(ring);
		uint32_t head = atomic_load_explicit(&ring->head, memory_order_relaxed);

		for (; head != tail; head++) {
			struct uroce_cqe *cqe = uroce_ring_entry(ring, head);

			if (cqe->queue == queue)
				cqe->queue = NULL;
		}
	}
}
