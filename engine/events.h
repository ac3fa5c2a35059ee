/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Events: the only way out of the core besides frames and completions.
 *
 * A bounded ring between the core and its own shell, one thread. The shell empties it each turn
 * and turns what it finds into queues, descriptors and log lines of its own.
 */
#ifndef UROCE_EVENTS_H
#define UROCE_EVENTS_H

#include <stdbool.h>
#include <stdint.h>

#include "status.h"

#include "cq.h"

struct uroce_srq;

struct uroce_core_event {
	enum uroce_event_type type;
	uint32_t qpn;	     /* of a queue pair event */
	struct uroce_cq *cq; /* of a completion queue event */
	struct uroce_srq *srq;
};

struct uroce_events {
	struct uroce_core_event *ring; /* 2^n of the caller's */
	uint32_t mask;
	uint32_t head;
	uint32_t tail;
	struct uroce_cq *waiting; /* queues that fired while the ring was full */
};

/* False when the ring is full; the caller counts it. */
static inline bool uroce_events_push(struct uroce_events *events, struct uroce_core_event event)
{
	if (events->tail - events->head > events->mask)
		return false;
	events->ring[events->tail++ & events->mask] = event;
	return true;
}

/*
 * An armed queue fired: somebody may sleep until told, so this is never lost. A queue that waits
 * already, maybe for another core, has one more event to come.
 */
static inline void uroce_events_push_fired(struct uroce_events *events, struct uroce_cq *cq)
{
	const struct uroce_core_event event = {.type = UROCE_EVENT_CQ_FIRED, .cq = cq};

	if (uroce_events_push(events, event) || atomic_fetch_add(&cq->waits, 1) > 0)
		return;
	cq->waits_next = events->waiting;
	events->waiting = cq;
}

static inline bool uroce_events_any(const struct uroce_events *events)
{
	return events->head != events->tail || events->waiting;
}

static inline uint32_t uroce_events_pop(
	struct uroce_events *events, struct uroce_core_event *out, uint32_t n)
{
	uint32_t got = 0;

	while (got < n && events->head != events->tail)
		out[got++] = events->ring[events->head++ & events->mask];
	for (; got < n && events->waiting; got++) {
		struct uroce_cq *cq = events->waiting;

		struct uroce_cq *next = cq->waits_next;

		out[got] = (struct uroce_core_event){.type = UROCE_EVENT_CQ_FIRED, .cq = cq};
		/* At 0 it may be in another core's list. */
		if (atomic_fetch_sub(&cq->waits, 1) == 1)
			events->waiting = next;
	}
	return got;
}

#endif
