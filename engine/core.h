/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The core: one thread's share of the endpoint, and the calls that drive it.
 *
 * Bytes and the time go in; bytes, completions and events come out. A core has no clock, no
 * thread, does no I/O and allocates nothing: its memory and its time come from the caller, which
 * makes it as much at home in a test or a replay as on a poll-mode core.
 *
 * All calls on one core are for the thread that owns it. One turn is: uroce_core_rx for each burst
 * received, uroce_core_rx_empty once all queues came up short, uroce_core_expire, uroce_core_tx,
 * uroce_core_ctrl for what other threads asked, uroce_core_events.
 */
#ifndef UROCE_CORE_H
#define UROCE_CORE_H

#include <stdbool.h>
#include <stdint.h>

#include "events.h"
#include "mr.h"
#include "parse.h"
#include "qp.h"
#include "qptable.h"
#include "ready.h"
#include "stats.h"
#include "timer.h"
#include "trace.h"

/* An address handle: the low bits of its number are its slot; number 0: free. */
struct uroce_ah_slot {
	uint32_t number;
	uint32_t pd;
	const struct uroce_path *path;
};

/* A queue pair that takes a multicast group's datagrams; the shell's memory, the core's list. */
struct uroce_group_member {
	struct uroce_qp *qp;
	struct uroce_gid addr;
	struct uroce_group_member *next;
};

struct uroce_core_conf {
	uint32_t id; /* of this core: its ring in completion queues, its number in the table */
	enum uroce_icrc_mode icrc_mode;
	struct uroce_local local;
	struct uroce_mr_table *mrs;	 /* shared by the cores of a device */
	struct uroce_qptable *qptable;	 /* likewise */
	struct uroce_timer **timer_heap; /* room for UROCE_QP_TIMERS times max_qps */
	uint32_t max_qps; /* the management's, number 1, is not counted: it needs no timer */
	struct uroce_core_event *events; /* num_events, a power of two */
	uint32_t num_events;
	struct uroce_trace_event *trace; /* num_trace, a power of two; NULL: no trace */
	uint32_t num_trace;
	struct uroce_ah_slot *ahs; /* num_ahs of them, a power of two, or 0 */
	uint32_t num_ahs;
	uint32_t mtu_bytes;	       /* longest payload of a datagram, in and out */
	uint64_t path_wait_ns;	       /* how long a queue pair waits for a peer's MAC; 0: 3 s */
	struct uroce_dcqcn_conf dcqcn; /* of all queue pairs that have it */
};

/* The last frame for a number that nobody has: it may have been meant for one of ours. */
struct uroce_stray {
	struct uroce_gid src;
	uint32_t qpn;
	uint32_t psn;
	uint64_t ns;
};

struct uroce_core {
	struct uroce_core_conf conf;
	struct uroce_mr_table *mrs;
	struct uroce_bells bells; /* written by application threads */
	struct uroce_ready_list ready;
	struct uroce_timers timers;	    /* for answers, and the lack of them */
	struct uroce_timers paces;	    /* for a turn to send: these are never late */
	struct uroce_group_member *members; /* of multicast groups */
	struct uroce_qp *idle_acks;	    /* owe an ACK that may wait until nothing comes in */
	uint64_t rx_empty_ns;		    /* when the receive side was last seen empty */
	uint32_t rx_full_bursts;	    /* bursts since then */
	uint32_t num_qps;
	struct uroce_events events;
	struct uroce_trace trace;
	struct uroce_stray stray;
	struct uroce_counters counters;
};

/* A buffer for a frame going out. The caller sets data and capacity. */
struct uroce_slot {
	uint8_t *data;
	uint32_t capacity_bytes; /* at least path MTU + UROCE_OVERHEAD_BYTES_MAX */
	uint32_t bytes;		 /* set by the core */
};

enum uroce_cmd_kind {
	UROCE_CMD_QP_CREATE,
	UROCE_CMD_QP_MODIFY,
	UROCE_CMD_QP_DESTROY,
	UROCE_CMD_QP_REPORT,
	UROCE_CMD_PATH_UPDATE,
	UROCE_CMD_AH_SET,    /* ah.number in its slot from now on */
	UROCE_CMD_AH_CLEAR,  /* ah.number is good for nothing any more */
	UROCE_CMD_JOIN,	     /* member->qp takes datagrams to member->addr */
	UROCE_CMD_LEAVE,     /* qp does not; member: its entry, the caller's again */
	UROCE_CMD_GROUP_SET, /* datagrams to group.addr are the core group.owner's */
	UROCE_CMD_GROUP_CLEAR,
	UROCE_CMD_CQ_RESIZE, /* this core's ring of cq moves to resize_entries */
	UROCE_CMD_NOTHING,   /* done when it is done: for those who wait for a turn */
};

/* A control command; see uroce_core_ctrl. */
struct uroce_cmd {
	enum uroce_cmd_kind kind;
	struct uroce_qp *qp;
	/* create: numbers and queues; qp comes from uroce_qp_init */
	uint32_t qpn; /* 0: drawn; after it, the number */
	uint32_t pd;
	bool signal_all;
	struct uroce_cq *send_cq;
	struct uroce_cq *recv_cq;
	struct uroce_srq *srq; /* NULL: receives of its own */
	/* address handles, groups */
	struct uroce_ah_slot ah;
	struct uroce_group_member *member;
	struct uroce_local_group group;
	/* resize */
	struct uroce_cq *cq;
	void *resize_entries;
	uint32_t resize_capacity;
	/* modify: what to set; report: what is set */
	struct uroce_qp_attr attr;
	uint32_t attr_mask;
	struct uroce_qp_report report;
	struct uroce_stray stray;
	/* path update: MAC and source address to use from now on */
	struct uroce_path *path;
	struct uroce_path path_new;
};

/* conf is copied; the memory that it names stays the caller's, and must outlive the core. */
void uroce_core_init(struct uroce_core *core, const struct uroce_core_conf *conf);

/*
 * Takes in n frames: parses, checks, updates state, places payloads, completes. Sends nothing.
 * Each pkt's `drop` says what became of it; a reason that hands back means the frame is not this
 * endpoint's; handed_over means that it is for the core `owner`.
 */
void uroce_core_rx(struct uroce_core *core, uint64_t now_ns, struct uroce_pkt *pkts, uint32_t n);

/*
 * Tells the core that every receive queue has just been seen empty. Retry timers fire only
 * after this (or after eight bursts without it): a host that slept with answers queued must
 * not take its own sleep for a loss.
 */
void uroce_core_rx_empty(struct uroce_core *core, uint64_t now_ns);

/* Fires the timers whose time has come. */
void uroce_core_expire(struct uroce_core *core, uint64_t now_ns);

/* When uroce_core_expire next has something to do; UROCE_TIMER_NEVER if nothing waits. */
uint64_t uroce_core_next_deadline(struct uroce_core *core);

/* Fills up to n slots with frames; returns how many. Fewer than n: there is nothing more. */
uint32_t uroce_core_tx(
	struct uroce_core *core, uint64_t now_ns, struct uroce_slot *slots, uint32_t n);

/*
 * Carries out a control command at once.
 *
 * create: -ENOMEM, -EEXIST, -EINVAL as uroce_qptable_add; -ENOSPC: the core has max_qps.
 * modify: as uroce_qp_change. destroy: no completion, frame or timer of the queue pair exists
 * when it returns, and its memory is the caller's again; completions already on a completion
 * queue are for the poller to purge. report, path update, address handles, clear: cannot fail.
 * join: -EINVAL: no UD queue pair, or no multicast address; -EEXIST: it is a member. leave:
 * -ENOENT: it is not. group set: -ENOSPC: UROCE_LOCAL_GROUPS_MAX are. resize: as
 * uroce_cq_move_ring.
 */
int uroce_core_ctrl(struct uroce_core *core, struct uroce_cmd *cmd, uint64_t now_ns);

/* Takes up to n events. */
uint32_t uroce_core_events(struct uroce_core *core, struct uroce_core_event *out, uint32_t n);

/* A parsed frame for this queue pair, with all checks; for the groups: one member's share. */
enum uroce_drop uroce_core_rx_qp(
	struct uroce_core *core, struct uroce_qp *qp, const struct uroce_pkt *pkt, uint64_t now_ns);

/* For requester, responder and completer: this queue pair has something to send. */
static inline void uroce_core_wake_requests(struct uroce_core *core, struct uroce_qp *qp)
{
	uroce_ready_push(&core->ready, &qp->requests);
}

static inline void uroce_core_wake_responses(struct uroce_core *core, struct uroce_qp *qp)
{
	uroce_ready_push(&core->ready, &qp->responses);
}

/* Counters have one writer; readers in other threads see whole values. */
#define uroce_count_add(core, field, n) \
	__atomic_store_n(&(core)->counters.field, (core)->counters.field + (n), __ATOMIC_RELAXED)
#define uroce_count(core, field) uroce_count_add(core, field, 1)

#endif
