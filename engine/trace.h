/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Trace: the last things that happened in a core, 32 bytes each, in a ring.
 *
 * Written without a branch on the way; read only while the core's thread stands still (a failing
 * test, a debugger, a control command). Built without the option `trace`, it costs nothing.
 */
#ifndef UROCE_TRACE_H
#define UROCE_TRACE_H

#include <stdint.h>

enum uroce_trace_kind {
	UROCE_TRACE_NONE,
	UROCE_TRACE_RX,	      /* a = opcode, b = payload bytes */
	UROCE_TRACE_DROP,     /* a = enum uroce_drop, b = opcode */
	UROCE_TRACE_TX,	      /* a = opcode, b = frame bytes */
	UROCE_TRACE_STATE,    /* a = new state, b = old state */
	UROCE_TRACE_COMPLETE, /* a = enum uroce_status, b = wr_id */
	UROCE_TRACE_TIMER,    /* a = retries left, b = deadline */
	UROCE_TRACE_REWIND,   /* psn = where sending starts again, a = why */
	UROCE_TRACE_NAK,      /* a = syndrome that is owed */
};

struct uroce_trace_event {
	uint64_t now_ns;
	uint32_t qpn;
	uint32_t psn;
	uint32_t kind;
	uint32_t a;
	uint64_t b;
};

_Static_assert(sizeof(struct uroce_trace_event) == 32, "a trace event is half a cache line");

/* A ring of 2^n events in memory of the caller's; mask is 2^n - 1. */
struct uroce_trace {
	struct uroce_trace_event *events;
	uint32_t mask;
	uint32_t next;
};

#ifdef UROCE_TRACE_ENABLED
static inline void uroce_trace_push(struct uroce_trace *t, uint64_t now_ns,
	enum uroce_trace_kind kind, uint32_t qpn, uint32_t psn, uint32_t a, uint64_t b)
{
	if (!t->events)
		return;
	t->events[t->next++ & t->mask] =
		(struct uroce_trace_event){now_ns, qpn, psn, (uint32_t)kind, a, b};
}
#else
static inline void uroce_trace_push(struct uroce_trace *t, uint64_t now_ns,
	enum uroce_trace_kind kind, uint32_t qpn, uint32_t psn, uint32_t a, uint64_t b)
{
	(void)t, (void)now_ns, (void)kind, (void)qpn, (void)psn, (void)a, (void)b;
}
#endif

#endif
