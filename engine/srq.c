/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Shared receive queues.
 *
 * Cell i of round r may be filled when its sequence is r * cells + i, and taken when it is one
 * more; taking sets it to that of the next round. An application that scribbles on sequences
 * makes its queue look full or empty, no worse: a number of segments is checked again after it was
 * copied, and every loop ends, since a failed compare-and-swap means that somebody else went on.
 */
#include "srq.h"

#include <string.h>

static size_t cell_stride(uint32_t max_sge)
{
	return uroce_wqe_round((uint32_t)sizeof(struct uroce_srq_cell) +
		max_sge * (uint32_t)sizeof(struct uroce_seg));
}

/* Two at least: with one alone, filled in this round and free in the next look alike. */
static uint32_t num_cells(uint32_t max_wr)
{
	return uroce_ring_round_up(max_wr < 2 ? 2 : max_wr);
}

size_t uroce_srq_bytes(uint32_t max_wr, uint32_t max_sge)
{
	return sizeof(struct uroce_srq) + num_cells(max_wr) * cell_stride(max_sge);
}

static struct uroce_srq_cell *cell_at(const struct uroce_srq *srq, uint32_t index)
{
	return (struct uroce_srq_cell *)(void *)(srq->cells +
		(size_t)(index & srq->mask) * srq->stride_bytes);
}

void uroce_srq_init(struct uroce_srq *srq, uint32_t max_wr, uint32_t max_sge)
{
	memset(srq, 0, uroce_srq_bytes(max_wr, max_sge));
	srq->cells = (uint8_t *)(srq + 1);
	srq->stride_bytes = (uint32_t)cell_stride(max_sge);
	srq->mask = num_cells(max_wr) - 1;
	srq->capacity = max_wr;
	srq->max_sge = max_sge;
	for (uint32_t i = 0; i <= srq->mask; i++)
		atomic_store_explicit(&cell_at(srq, i)->sequence, i, memory_order_relaxed);
}

/* Whether no receive more may be at index `at`. The head only grows: it may be too much. */
static bool is_beyond(struct uroce_srq *srq, uint32_t at)
{
	uint32_t head = atomic_load_explicit(&srq->head, memory_order_acquire);

	return (int32_t)(at - head) >= (int32_t)srq->capacity;
}

/*
 * Takes the next place of one side: the cell whose sequence is `ahead` of its index; NULL: there is
 * none, or it would be one more than the queue holds. An index that another has taken meanwhile
 * cannot be taken, so what was decided for it holds.
 */
static struct uroce_srq_cell *take_place(
	struct uroce_srq *srq, _Atomic uint32_t *side, uint32_t ahead, uint32_t *index)
{
	uint32_t at = atomic_load_explicit(side, memory_order_relaxed);

	for (;;) {
		struct uroce_srq_cell *cell = cell_at(srq, at);
		uint32_t sequence = atomic_load_explicit(&cell->sequence, memory_order_acquire);

		if (sequence != at + ahead || (side == &srq->tail && is_beyond(srq, at))) {
			uint32_t again = atomic_load_explicit(side, memory_order_relaxed);

			if (again == at)
				return NULL;
			at = again;
			continue;
		}
		if (atomic_compare_exchange_weak_explicit(
			    side, &at, at + 1, memory_order_relaxed, memory_order_relaxed)) {
			*index = at;
			return cell;
		}
	}
}

uint32_t uroce_srq_count(struct uroce_srq *srq)
{
	/* The head first: the tail is never behind it, so this may be too much, never too little.
	 */
	uint32_t head = atomic_load_explicit(&srq->head, memory_order_acquire);

	return atomic_load_explicit(&srq->tail, memory_order_acquire) - head;
}

bool uroce_srq_post(
	struct uroce_srq *srq, uint64_t wr_id, const struct uroce_seg *segs, uint32_t num_segs)
{
	struct uroce_srq_cell *cell;
	uint32_t index;

	cell = take_place(srq, &srq->tail, 0, &index);
	if (!cell)
		return false;
	cell->wqe = (struct uroce_recv_wqe){.wr_id = wr_id, .num_segs = num_segs};
	memcpy(cell + 1, segs, num_segs * sizeof(*segs));
	atomic_store_explicit(&cell->sequence, index + 1, memory_order_release);
	return true;
}

/* Whether the limit is undercut; says so once. */
static bool fell_below(struct uroce_srq *srq)
{
	uint32_t limit = atomic_load_explicit(&srq->limit, memory_order_relaxed);

	return limit > 0 && uroce_srq_count(srq) < limit &&
		atomic_compare_exchange_strong(&srq->limit, &limit, 0);
}

bool uroce_srq_pop(struct uroce_srq *srq, struct uroce_recv_wqe *to, bool *limit_reached)
{
	struct uroce_srq_cell *cell;
	uint32_t index;

	*limit_reached = false;
	cell = take_place(srq, &srq->head, 1, &index);
	if (!cell)
		return false;
	*to = cell->wqe;
	if (to->num_segs <= srq->max_sge)
		memcpy(to + 1, cell + 1, to->num_segs * sizeof(struct uroce_seg));
	atomic_store_explicit(&cell->sequence, index + srq->mask + 1, memory_order_release);
	*limit_reached = fell_below(srq);
	return true;
}

void uroce_srq_arm(struct uroce_srq *srq, uint32_t limit)
{
	atomic_store(&srq->limit, limit);
}
