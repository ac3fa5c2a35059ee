/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Timers, in a heap ordered by deadline.
 *
 * An acknowledgement moves the deadline of its queue pair, so moving must cost nothing: the heap
 * keeps each timer under the deadline that it had when it was pushed (never later than the real
 * one), and looks at the real one only when that comes up.
 */
#ifndef UROCE_TIMER_H
#define UROCE_TIMER_H

#include <stdbool.h>
#include <stdint.h>

#define UROCE_TIMER_NEVER   UINT64_MAX
#define UROCE_TIMER_OUTSIDE UINT32_MAX

struct uroce_timer {
	uint64_t deadline_ns; /* UROCE_TIMER_NEVER: cancelled */
	uint64_t key_ns;      /* heap order */
	uint32_t place;	      /* in the heap, or UROCE_TIMER_OUTSIDE */
};

struct uroce_timers {
	struct uroce_timer **heap;
	uint32_t num;
	uint32_t max;
};

/* heap: room for max timers, the caller's. */
void uroce_timers_init(struct uroce_timers *timers, struct uroce_timer **heap, uint32_t max);
void uroce_timer_init(struct uroce_timer *timer);

/* (Re)starts a timer. The caller has made room for all there are. */
void uroce_timer_arm(struct uroce_timers *timers, struct uroce_timer *timer, uint64_t deadline_ns);
static inline void uroce_timer_cancel(struct uroce_timer *timer)
{
	timer->deadline_ns = UROCE_TIMER_NEVER;
}
static inline bool uroce_timer_armed(const struct uroce_timer *timer)
{
	return timer->deadline_ns != UROCE_TIMER_NEVER;
}
/* Takes a timer out for good; its memory may go. */
void uroce_timer_remove(struct uroce_timers *timers, struct uroce_timer *timer);

/* A timer whose deadline is at or before now_ns, disarmed; NULL if there is none. */
struct uroce_timer *uroce_timers_expire(struct uroce_timers *timers, uint64_t now_ns);
/* No timer expires before this; UROCE_TIMER_NEVER when none is armed. */
uint64_t uroce_timers_next(struct uroce_timers *timers);

#endif
