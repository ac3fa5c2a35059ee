/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The queue pair: its three parts, its states, its errors.
 *
 * Requester, responder and completer each own a part and their PSNs: the requester what is sent
 * next, the completer what is answered, the responder what is expected from the peer. Only the
 * core that owns the queue pair touches any of it, but for the two rings and the bell, which the
 * application's threads share.
 */
#ifndef UROCE_QP_H
#define UROCE_QP_H

#include <stdbool.h>
#include <stdint.h>

#include "cq.h"
#include "dcqcn.h"
#include "path.h"
#include "psn.h"
#include "ring.h"
#include "ready.h"
#include "report.h"
#include "srq.h"
#include "status.h"
#include "timer.h"
#include "wire.h"
#include "wqe.h"

struct uroce_core;

enum {
	UROCE_QP_TIMERS = 2,
	UROCE_SGE_MAX = 32,
	UROCE_INLINE_BYTES_MAX = 1024,
	UROCE_RD_ATOMIC_MAX = 128,
	UROCE_WR_MAX = 32768,
	UROCE_WINDOW_DEFAULT_PKTS = 128,
	UROCE_RETRY_MAX = 7,
	UROCE_RNR_RETRY_INFINITE = 7,
	UROCE_TIMER_CODE_MAX = 31,
};

/* What a queue pair is made for; its memory depends on nothing else. */
struct uroce_qp_caps {
	enum uroce_qp_type type;
	uint32_t max_send_wr;
	uint32_t max_recv_wr;
	uint32_t max_send_sge;
	uint32_t max_recv_sge;
	uint32_t max_inline_bytes;
	uint32_t max_dest_rd_atomic; /* upper limit for the attribute of that name */
	uint32_t window_pkts;	     /* request packets in flight; at most 2^23 */
	/* What the attributes of these names are after RESET. */
	uint64_t rate_limit_bps;
	uint32_t keepalive_ms;
	bool dcqcn;
};

/* What uroce_core_ctrl's modify sets; the mask says which fields count. */
struct uroce_qp_attr {
	enum uroce_qp_state state;
	enum uroce_qp_state cur_state;
	uint32_t access; /* enum uroce_access: what the peer may do */
	struct uroce_path *path;
	uint32_t path_mtu_bytes; /* 256, 512, 1024, 2048, 4096 */
	uint32_t dest_qpn;
	uint32_t rq_psn;
	uint32_t sq_psn;
	uint32_t qkey;	       /* UD */
	uint8_t timeout;       /* local ack timeout: 4.096 us * 2^timeout; 0: never */
	uint8_t retry_cnt;     /* 0 to 7 */
	uint8_t rnr_retry;     /* 0 to 6; 7: for ever */
	uint8_t min_rnr_timer; /* code of the RNR table */
	uint8_t max_rd_atomic; /* reads and atomics that we may have outstanding */
	uint8_t max_dest_rd_atomic;
	bool dcqcn;		 /* RC, UC: slow down when notified of congestion */
	uint32_t keepalive_ms;	 /* RC: ask a peer that was silent for so long; 0: never */
	uint64_t rate_limit_bps; /* of frames as built; 0: none */
};

/* What the requester remembers of a work request, besides the entry itself. */
struct uroce_send_state {
	uint32_t psn_first;
	uint32_t pkts;	    /* PSNs it takes; 0: none assigned yet */
	uint32_t done_pkts; /* read or atomic: answers that came, in order */
	uint32_t status;    /* enum uroce_status: not success, if it was bad when it came */
	bool executed;	    /* local: done, and complete once it is the oldest */
};

/* A keepalive: a WRITE of nothing, that no work request asked for. */
enum uroce_probe {
	UROCE_PROBE_NONE,
	/* It has the PSN psn_una, before those of all work requests, until it is answered. */
	UROCE_PROBE_DUE, /* to be sent, or sent again */
	UROCE_PROBE_SENT
};

struct uroce_req {
	uint32_t head;	       /* oldest work request that is not complete */
	uint32_t at;	       /* the one being sent */
	uint32_t at_pkt;       /* its next packet */
	uint32_t tail;	       /* moved out of the ring up to here */
	uint32_t psn_next;     /* first PSN that no work request has */
	uint32_t psn_una;      /* oldest PSN without an answer */
	uint32_t psn_high;     /* one past the newest PSN sent or asked for */
	uint32_t reads_out;    /* read requests and atomics on the wire */
	uint32_t unasked_pkts; /* sent since the last AckReq */
	enum uroce_probe probe;
	bool failed;	     /* the work request `at` cannot be sent: complete it in its turn */
	bool waiting;	     /* for the RNR timer */
	uint16_t path_waits; /* times that a datagram has waited for its neighbour */
	enum uroce_cause failed_cause;
	enum uroce_status failed_status;
	uint32_t failed_detail;
};

enum uroce_timer_use {
	UROCE_TIMER_ACK,
	UROCE_TIMER_RNR,
	UROCE_TIMER_PATH,
	UROCE_TIMER_KEEPALIVE /* nothing is outstanding */
};

struct uroce_comp {
	uint8_t retries_left;
	uint8_t rnr_left;
	bool gap_open; /* an implied NAK was acted upon; once until there is progress */
	bool reasked;  /* answers before reasked_psn may come in either form */
	uint32_t reasked_psn;
	enum uroce_timer_use timer_use;
	struct uroce_timer timer;
};

enum uroce_owed {
	UROCE_OWED_NOTHING,
	UROCE_OWED_ACK,
	UROCE_OWED_NAK
};

enum uroce_replay_kind {
	UROCE_REPLAY_READ,
	UROCE_REPLAY_ATOMIC,
	UROCE_REPLAY_DONE, /* FLUSH, ATOMIC WRITE: answered without data */
};

/* A read or atomic that was accepted: to be answered, and answered again if asked. */
struct uroce_replay {
	enum uroce_replay_kind kind;
	bool owed;	 /* an answer is still to be sent */
	bool first_time; /* and it never was */
	uint32_t psn_first;
	uint32_t pkts;
	uint32_t rkey;
	uint64_t va;
	uint32_t bytes;
	uint32_t start_pkt; /* where the answer being sent began: FIRST or ONLY */
	uint32_t next_pkt;
	uint32_t end_bytes; /* where the answer being sent ends */
	uint64_t original;  /* of an atomic */
	uint8_t opcode;	    /* on the wire */
};

struct uroce_resp {
	uint32_t epsn;
	uint32_t msn;
	/* the message being received */
	bool in_message;
	uint8_t message_kind; /* enum uroce_op_kind */
	bool has_recv;	      /* a receive is in use */
	bool idle_listed;
	uint32_t message_bytes; /* placed so far */
	uint64_t write_va;	/* next byte of a write */
	uint32_t write_rkey;
	uint32_t write_left_bytes;
	/* what is owed to the peer, besides reads and atomics */
	enum uroce_owed owed;
	uint8_t owed_syndrome;
	uint32_t nak_psn;
	bool owed_now; /* not only when idle */
	bool nak_sent; /* silence about gaps until the expected PSN comes */
	uint32_t unacked_pkts;
	uint32_t recv_next; /* next entry of the receive ring */
	/* the last max_dest_rd_atomic reads and atomics, a ring */
	uint32_t replay_next;	    /* free-running */
	uint32_t replay_first_owed; /* no entry before this is owed */
	uint32_t replay_count;	    /* entries that are valid */
	uint32_t reads_owed;	    /* entries that are owed for the first time */
	struct uroce_qp *idle_next; /* list of those that owe an ACK when idle, if idle_listed */
};

/* When a queue pair may send, and what congestion does to it; see cc.h. */
struct uroce_cc {
	bool cnp_owed;
	/* pacing */
	bool paced;	     /* the rest of this part counts */
	bool slow;	     /* so much that one packet in many is too few to have acknowledged */
	uint8_t waiting : 2; /* for depart_ns: a bit for each enum uroce_flow_kind */
	uint8_t first : 1;   /* whose turn it is then */
	uint32_t depart_frac;
	uint64_t depart_ns;	/* no packet before */
	uint64_t ns_per_byte_q; /* in units of 2^-UROCE_CC_FRAC_BITS ns, as depart_frac */
	uint64_t woken_ns;
	struct uroce_timer timer;
	/* congestion that we are told of, and that we tell of */
	struct uroce_dcqcn dcqcn;
	uint64_t cnp_from_ns; /* no other before */
};

struct uroce_qp {
	/* rings and bell: shared with the application */
	struct uroce_ring send_ring;
	struct uroce_ring recv_ring;
	struct uroce_bell bell;
	_Atomic uint32_t in_error; /* posts to it are flushed: ring the bell for receives too */

	/* identity */
	void *owner; /* the shell's, for its own book-keeping */
	struct uroce_core *core;
	uint32_t qpn;
	uint32_t pd;
	enum uroce_qp_state state;
	bool signal_all;
	bool comm_established;
	bool drained;
	bool want_drained_event;
	struct uroce_cq *send_cq;
	struct uroce_cq *recv_cq;
	struct uroce_srq *srq; /* or NULL: receives are its own */
	struct uroce_qp_caps caps;
	struct uroce_qp_attr attr;
	struct uroce_path *path;
	struct uroce_qp *path_next;
	uint64_t ack_timeout_ns;

	/* private queues */
	uint8_t *sends; /* entries, send_ring.stride_bytes each */
	struct uroce_send_state *send_states;
	struct uroce_recv_wqe *recv; /* the receive in use */
	struct uroce_replay *replays;

	struct uroce_req req;
	struct uroce_comp comp;
	struct uroce_resp resp;
	struct uroce_cc cc;
	struct uroce_flow requests;
	struct uroce_flow responses;
	struct uroce_qp_report report;

	uint32_t header_bytes;
	uint8_t header[UROCE_TEMPLATE_BYTES_MAX];
};

/* Bytes of a queue pair, rings included; the memory must be cache line aligned. */
size_t uroce_qp_bytes(const struct uroce_qp_caps *caps);

/*
 * Lays a queue pair out in memory (uroce_qp_bytes of it), in RESET. Owns nothing.
 * caps must have passed uroce_qp_caps_check.
 */
struct uroce_qp *uroce_qp_init(void *memory, const struct uroce_qp_caps *caps);

/* Whether a queue pair may be limited to this; 0 is no limit. */
bool uroce_qp_rate_is_valid(uint64_t rate_bps);

/* 0, or -EINVAL for what no queue pair can have. */
int uroce_qp_caps_check(const struct uroce_qp_caps *caps);

/*
 * To ERR: completes what is outstanding, in order, with WR_FLUSH_ERR. Nothing if it is there
 * already. The cause must be in the report before.
 */
void uroce_qp_enter_error(struct uroce_core *core, struct uroce_qp *qp, uint64_t now_ns);

/*
 * To SQE, where an unreliable queue pair goes when a work request of its own cannot be carried
 * out: what is left on the send queue completes with WR_FLUSH_ERR; receiving goes on.
 */
void uroce_qp_enter_sqe(struct uroce_core *core, struct uroce_qp *qp, uint64_t now_ns);

/* Flushes entries that were posted after the queue pair went to ERR. */
void uroce_qp_flush(struct uroce_core *core, struct uroce_qp *qp);

/* Notes why the queue pair fails; the first cause is kept. */
void uroce_qp_blame(struct uroce_qp *qp, enum uroce_cause cause, enum uroce_status status,
	uint32_t detail, uint32_t psn, uint64_t now_ns);

/* Puts a completion on the send or receive completion queue. */
void uroce_qp_complete(struct uroce_core *core, struct uroce_qp *qp, struct uroce_cq *cq,
	const struct uroce_cqe *cqe);

/* An asynchronous event of this queue pair. */
void uroce_qp_notify(
	struct uroce_core *core, const struct uroce_qp *qp, enum uroce_event_type type);

/*
 * A receive in qp->recv: the one that is there unused, or the next of the receive ring or shared
 * receive queue. False when none is posted.
 */
bool uroce_qp_take_recv(struct uroce_core *core, struct uroce_qp *qp);

/*
 * A receive of a shared queue that is not used here goes back, behind the others. Its place may be
 * taken meanwhile: then it stays in qp->recv. Nothing if there is none, or none of a shared queue.
 */
void uroce_qp_return_recv(struct uroce_qp *qp);

/* Completes qp->recv; result holds all but wr_id, qpn and the slot to free. */
void uroce_qp_complete_recv(
	struct uroce_core *core, struct uroce_qp *qp, const struct uroce_cqe *result);

/* The same in error, with nothing more to say. */
void uroce_qp_fail_recv(struct uroce_core *core, struct uroce_qp *qp, enum uroce_status status);

/*
 * qp->recv names its own memory wrongly (verdict: an enum uroce_mr_verdict) and nobody is to be
 * told: it ends with that status, and the queue pair with it. What became of the frame.
 */
enum uroce_drop uroce_qp_bad_recv(struct uroce_core *core, struct uroce_qp *qp,
	enum uroce_status status, uint32_t verdict, uint32_t psn, uint64_t now_ns);

static inline struct uroce_send_wqe *uroce_qp_send_wqe(const struct uroce_qp *qp, uint32_t index)
{
	return (struct uroce_send_wqe *)(void *)(qp->sends +
		(size_t)(index & qp->send_ring.mask) * qp->send_ring.stride_bytes);
}

static inline struct uroce_send_state *uroce_qp_send_state(
	const struct uroce_qp *qp, uint32_t index)
{
	return &qp->send_states[index & qp->send_ring.mask];
}

static inline bool uroce_qp_receives(const struct uroce_qp *qp)
{
	return qp->state == UROCE_QP_RTR || qp->state == UROCE_QP_RTS ||
		qp->state == UROCE_QP_SQD || qp->state == UROCE_QP_SQE;
}

static inline bool uroce_qp_is_reliable(const struct uroce_qp *qp)
{
	return qp->caps.type == UROCE_QP_RC;
}

static inline bool uroce_qp_sends(const struct uroce_qp *qp)
{
	return qp->state == UROCE_QP_RTS || qp->state == UROCE_QP_SQD;
}

#endif
