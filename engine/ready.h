/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Who sends next: doorbells from the application's threads, and the ready list of a core.
 *
 * Doorbell. An application thread publishes entries and then, if the queue pair's bell is not
 * already rung, rings it: pushes the queue pair on its core's list. The core takes the whole list,
 * and for each queue pair clears the flag *before* it looks at the ring:
 *
 *	application			core
 *	A1 tail = n	(seq_cst)	C0 next = bell.next
 *	A2 if rung == 0 (seq_cst)	C1 rung = 0	(seq_cst)
 *	A3   if exchange(rung, 1) == 0	C2 take entries up to tail (seq_cst)
 *	A4     push
 *
 * Of A2 and C2 at least one sees the other's store, so no entry is left behind; of two exchanges
 * one wins, so a queue pair is never on the list twice. A bell that rings between C1 and C2 makes
 * the core look once more than it had to.
 *
 * Ready list. Deficit round robin by bytes over flows; a queue pair has two, one for requests and
 * one for responses, so a peer that asks for much cannot starve what we ask for. The cost of a turn
 * depends on the flows that are ready, never on how many queue pairs exist.
 */
#ifndef UROCE_READY_H
#define UROCE_READY_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ring.h"

struct uroce_qp;

enum uroce_flow_kind {
	UROCE_FLOW_REQUESTS,
	UROCE_FLOW_RESPONSES
};

struct uroce_flow {
	struct uroce_flow *next;
	struct uroce_flow *prev;
	struct uroce_qp *qp;
	int32_t deficit_bytes;
	bool ready;
	uint8_t kind; /* enum uroce_flow_kind */
};

struct uroce_ready_list {
	struct uroce_flow *head;
	struct uroce_flow *tail;
};

static inline void uroce_flow_init(
	struct uroce_flow *flow, enum uroce_flow_kind kind, struct uroce_qp *qp)
{
	*flow = (struct uroce_flow){.kind = (uint8_t)kind, .qp = qp};
}

/* Adds a flow at the end; nothing happens to one that is on the list. */
static inline void uroce_ready_push(struct uroce_ready_list *list, struct uroce_flow *flow)
{
	if (flow->ready)
		return;
	flow->ready = true;
	flow->deficit_bytes = 0;
	flow->next = NULL;
	flow->prev = list->tail;
	if (list->tail)
		list->tail->next = flow;
	else
		list->head = flow;
	list->tail = flow;
}

static inline void uroce_ready_remove(struct uroce_ready_list *list, struct uroce_flow *flow)
{
	if (!flow->ready)
		return;
	flow->ready = false;
	if (flow->prev)
		flow->prev->next = flow->next;
	else
		list->head = flow->next;
	if (flow->next)
		flow->next->prev = flow->prev;
	else
		list->tail = flow->prev;
}

/* The head goes to the end, keeping its deficit. */
static inline void uroce_ready_rotate(struct uroce_ready_list *list)
{
	struct uroce_flow *flow = list->head;
	int32_t deficit_bytes;

	if (!flow || !flow->next)
		return;
	deficit_bytes = flow->deficit_bytes;
	uroce_ready_remove(list, flow);
	uroce_ready_push(list, flow);
	flow->deficit_bytes = deficit_bytes;
}

/* A queue pair's bell; part of the queue pair. */
struct uroce_bell {
	_Atomic uint32_t rung;
	struct uroce_bell *next; /* valid while rung */
	struct uroce_qp *qp;
};

/*
 * A core's list of rung bells, which application threads write: apart from what lies around it,
 * which the core's own thread uses all the time. asleep
 * is the shell's, for threads that must be woken: who is about to sleep sets it and then looks at
 * the list, who has put a bell there looks at it; all four are seq_cst, so one of them sees the
 * other.
 */
struct uroce_bells {
	uint8_t before[UROCE_CACHE_LINE_BYTES];
	_Atomic(struct uroce_bell *) head;
	_Atomic uint32_t asleep;
	uint8_t behind[UROCE_CACHE_LINE_BYTES];
};

/*
 * Application: after the entries were published with seq_cst order. Any thread. True: the bell was
 * put on the list, and whoever serves it may have to be woken.
 */
static inline bool uroce_bell_ring(struct uroce_bells *bells, struct uroce_bell *bell)
{
	struct uroce_bell *head;

	if (atomic_load(&bell->rung) || atomic_exchange(&bell->rung, 1))
		return false;
	head = atomic_load_explicit(&bells->head, memory_order_relaxed);
	do {
		bell->next = head;
	} while (!atomic_compare_exchange_weak_explicit(
		&bells->head, &head, bell, memory_order_seq_cst, memory_order_relaxed));
	return true;
}

/* Core: takes all rung bells, the latest first. */
static inline struct uroce_bell *uroce_bells_take(struct uroce_bells *bells)
{
	if (!atomic_load_explicit(&bells->head, memory_order_relaxed))
		return NULL;
	return atomic_exchange_explicit(&bells->head, NULL, memory_order_acquire);
}

#endif
