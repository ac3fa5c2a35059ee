/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Completion queues: one single-producer ring per worker that feeds it, drained in turn.
 *
 * Threads: push is for the worker's thread, each to its own ring; poll, arm and purge are for one
 * thread at a time. Each ring holds the whole capacity, so what fits the queue fits the ring.
 */
#ifndef UROCE_CQ_H
#define UROCE_CQ_H

#include <stdbool.h>

#include "ring.h"
#include "status.h"

/* A completion as the application sees it. Field names as in libibverbs where they exist there. */
struct uroce_cqe {
	alignas(UROCE_CACHE_LINE_BYTES) uint64_t wr_id;
	uint32_t status; /* enum uroce_status */
	uint32_t opcode; /* enum uroce_wc_opcode */
	uint32_t bytes;
	uint32_t imm; /* immediate value in host order, or the invalidated key */
	uint32_t qpn;
	uint32_t src_qpn;
	uint32_t flags;	     /* enum uroce_wc_flag */
	uint32_t vendor_err; /* enum uroce_drop or NAK syndrome behind an error, else 0 */
	/* The queue whose slots are free again once this completion is polled, and up to where.
	 * NULL: the queue pair was destroyed, and the completion with it. */
	struct uroce_ring *queue;
	uint32_t queue_head;
	uint16_t tci; /* of a datagram's VLAN tag; 0: it had none */
	bool solicited;
};

_Static_assert(sizeof(struct uroce_cqe) == 64, "a completion is one cache line");

enum uroce_cq_arm {
	UROCE_CQ_NOT_ARMED,
	UROCE_CQ_ARMED_SOLICITED,
	UROCE_CQ_ARMED_ANY
};

struct uroce_cq {
	/* what nobody writes while completions flow; workers look at `armed` for each */
	uint32_t num_rings;
	uint32_t capacity;
	_Atomic uint32_t armed;	  /* enum uroce_cq_arm */
	_Atomic uint32_t overrun; /* a completion was lost */
	/* Events still to come of a queue that fired when there was no room for them. */
	_Atomic uint32_t waits;
	struct uroce_cq *waits_next; /* of the core that made `waits` more than 0 */
	void *owner;		     /* the shell's, for events */

	/* the poller's line */
	alignas(UROCE_CACHE_LINE_BYTES) uint32_t turn; /* the ring to drain next */

	struct uroce_ring rings[]; /* by worker */
};

_Static_assert(offsetof(struct uroce_cq, turn) == UROCE_CACHE_LINE_BYTES &&
		offsetof(struct uroce_cq, rings) == 2 * UROCE_CACHE_LINE_BYTES,
	"polling touches no line that a worker reads");

/* Bytes for a queue of `capacity` completions fed by num_workers; cache line aligned. */
size_t uroce_cq_bytes(uint32_t capacity, uint32_t num_workers);
void uroce_cq_init(struct uroce_cq *cq, uint32_t capacity, uint32_t num_workers);

/*
 * Worker: adds a completion. *fire is set when an armed queue must now wake its owner: exactly
 * once per arm. Returns false, and marks the queue overrun, when the queue is full.
 */
bool uroce_cq_push(struct uroce_cq *cq, uint32_t worker, const struct uroce_cqe *cqe, bool *fire);

/* Poller: takes up to n completions; the slots behind them are free again. Returns how many. */
uint32_t uroce_cq_pop(struct uroce_cq *cq, struct uroce_cqe *out, uint32_t n);

/* Bytes of one worker's ring of a queue; uroce_cq_move_ring's entries have them. */
size_t uroce_cq_ring_bytes(uint32_t capacity);

/*
 * Worker, while nobody polls: its ring moves to `entries`, for `capacity` completions; the memory
 * it was in is the caller's again. -EINVAL: more than that are waiting; nothing has changed.
 */
int uroce_cq_move_ring(struct uroce_cq *cq, uint32_t worker, void *entries, uint32_t capacity);

/*
 * Poller: asks for one event at the next completion (solicited ones and errors only, if asked).
 * Returns true when there are completions already: then the queue is not armed; poll again. The
 * worker may have been quicker: then one event for this arm comes all the same.
 */
bool uroce_cq_arm(struct uroce_cq *cq, bool solicited_only);

/* Poller: forgets the completions of a queue (a queue pair is going away). */
void uroce_cq_purge(struct uroce_cq *cq, const struct uroce_ring *queue);

#endif
