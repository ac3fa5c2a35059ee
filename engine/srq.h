/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Shared receive queues: receives posted by any thread, taken by the queue pairs of any core.
 *
 * A bounded queue of many producers and many consumers: each side takes its place by one
 * compare-and-swap, and a sequence number in each cell says whose turn the cell is. Nobody waits
 * for anybody: a cell that is being filled looks empty, one that is being emptied looks full. An
 * entry is free again once a queue pair has taken it.
 *
 * Threads: post, pop, arm and count are for any thread at any time.
 */
#ifndef UROCE_SRQ_H
#define UROCE_SRQ_H

#include <stdbool.h>

#include "ring.h"
#include "wqe.h"

struct uroce_srq_cell {
	_Atomic uint32_t sequence;
	struct uroce_recv_wqe wqe;
	/* segments follow */
};

struct uroce_srq {
	uint8_t *cells;
	uint32_t stride_bytes;
	uint32_t mask;
	uint32_t capacity; /* receives that it holds: at most mask + 1 */
	uint32_t max_sge;
	void *owner; /* the shell's, for events */
	alignas(UROCE_CACHE_LINE_BYTES) _Atomic uint32_t tail;
	alignas(UROCE_CACHE_LINE_BYTES) _Atomic uint32_t head;
	_Atomic uint32_t limit; /* 0: no event wanted */
};

/* Bytes of a queue for max_wr receives of up to max_sge segments; cache line aligned. */
size_t uroce_srq_bytes(uint32_t max_wr, uint32_t max_sge);
void uroce_srq_init(struct uroce_srq *srq, uint32_t max_wr, uint32_t max_sge);

/* Adds a receive. False: the queue is full. num_segs must not be over max_sge. */
bool uroce_srq_post(
	struct uroce_srq *srq, uint64_t wr_id, const struct uroce_seg *segs, uint32_t num_segs);

/*
 * Moves the oldest receive to *to, which has room for max_sge segments; false: there is none.
 * *limit_reached: fewer than the limit are left, for the first time since it was set.
 */
bool uroce_srq_pop(struct uroce_srq *srq, struct uroce_recv_wqe *to, bool *limit_reached);

/* Asks for one event when fewer than `limit` receives are left; 0: for none. */
void uroce_srq_arm(struct uroce_srq *srq, uint32_t limit);

/* Receives that are posted, about. */
uint32_t uroce_srq_count(struct uroce_srq *srq);

#endif
