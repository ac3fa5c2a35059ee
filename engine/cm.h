/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The connection manager: CM messages and the time go in, CM messages and events come out.
 *
 * It makes connections and answers for them: it knows numbers and parameters, not queue pairs.
 * The shell carries its 256-byte messages as datagrams between queue pairs 1 (P_Key 0xffff, Q_Key
 * 0x80010000), moves queue pairs as events say, and passes on what the application wants.
 *
 * Connections and resolutions are named by a number, which is their communication id on the wire.
 * A number that is gone is refused with -ENOENT and is not used again soon, so a late call does no
 * harm. Connections that the peer began are born with UROCE_CM_CONNECT_REQUEST (or _SIDR_REQUEST)
 * and belong to the application from then on like those that it began itself: each must be
 * destroyed. After uroce_cm_destroy no event of it comes any more.
 *
 *   active:  connect ... CONNECT_RESPONSE; queue pair to RTR and RTS; established
 *   passive: listen ... CONNECT_REQUEST; queue pair to RTR and RTS; accept ... ESTABLISHED
 *   the end: disconnect, or the peer does ... DISCONNECTED; queue pair to ERR ... TIMEWAIT_EXIT
 *   instead of any of these: REJECTED or UNREACHABLE, after which only destroy is left
 *
 * All calls are for the one thread that owns the manager. Nothing is allocated, and no call blocks
 * or calls back. A turn is: uroce_cm_rx for each message, uroce_cm_expire, the application's
 * wishes, uroce_cm_event_poll until it is empty, uroce_cm_tx until it is empty.
 *
 * Times are ns of one monotonic clock of the caller's. Private data is copied in every call.
 * Timeouts on the wire are exponents: 4.096 us * 2^n.
 */
#ifndef UROCE_CM_H
#define UROCE_CM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cm_status.h"
#include "gid.h"
#include "status.h"

struct uroce_cm; /* opaque; its memory is the caller's */

enum {
	UROCE_CM_MAD_BYTES = 256,
	/* Longest private data. Service ids of rdma_cm leave 36 bytes less for the first two. */
	UROCE_CM_REQ_PRIVATE_BYTES = 92,
	UROCE_CM_SIDR_REQ_PRIVATE_BYTES = 216,
	UROCE_CM_REP_PRIVATE_BYTES = 196,
	UROCE_CM_REJ_PRIVATE_BYTES = 148,
	UROCE_CM_SIDR_REP_PRIVATE_BYTES = 136,
	UROCE_CM_ARI_BYTES = 72, /* additional information of a refusal */
	UROCE_CM_CMA_BYTES = 36, /* the header of rdma_cm in front of private data */
	UROCE_CM_PRIVATE_BYTES_MAX = 216,
	UROCE_CM_IDS_MAX = 1 << 20,
	UROCE_CM_LISTENERS_MAX = 1 << 12,
	UROCE_CM_REPLIES_MAX = 1 << 16,
};

/* How long to wait and how often to ask again. In a conf, 0 is the default. */
struct uroce_cm_timing {
	uint64_t retry_first_ns; /* until the first repetition; then twice that ...: 40 ms */
	uint64_t retry_max_ns;	 /* ... up to this: 2 s */
	uint64_t linger_ns;	 /* how long refused requests are remembered: 8 s */
	uint8_t retries;	 /* repetitions before giving up, at most max_cm_retries: 8 */
	/* What the peer is told, exponents but for the last; up to 31. */
	uint8_t remote_response_timeout; /* within which the peer should answer: 20, 4.3 s */
	uint8_t local_response_timeout;	 /* within which we do: 16, 268 ms */
	uint8_t service_timeout;	 /* what MRA asks for: 20, 4.3 s */
	uint8_t target_ack_delay;	 /* ours, in REP: 15, as Linux says */
	uint8_t max_cm_retries;		 /* up to 15: 15 */
};

struct uroce_cm_conf {
	uint32_t max_ids; /* connections and resolutions at a time, those in TIMEWAIT included */
	uint32_t max_listeners; /* 0: 64 */
	uint32_t max_replies;	/* answers to strangers that wait to be sent; 0: 256 */
	uint32_t mtu_bytes;	/* longest path MTU that the port can: 256 ... 4096 */
	uint64_t ca_guid;	/* of ours alone: peers tell queue pairs apart by it */
	uint64_t seed;		/* 64 fresh random bits: numbers cannot be guessed */
	struct uroce_cm_timing timing;
};

/* Bytes of a manager; about 650 per id. 0: conf is out of range. */
size_t uroce_cm_bytes(const struct uroce_cm_conf *conf);
/*
 * memory: uroce_cm_bytes(conf) of the caller's, aligned to 64 bytes, in use until the caller stops
 * calling: there is nothing to undo. Returns the manager, NULL for a conf that is out of range.
 */
struct uroce_cm *uroce_cm_init(void *memory, const struct uroce_cm_conf *conf);

/* The port's MTU changed: longest path MTU from now on, 256 ... 4096. */
void uroce_cm_set_mtu(struct uroce_cm *cm, uint32_t mtu_bytes);
const struct uroce_cm_counters *uroce_cm_counters(const struct uroce_cm *cm);

/* ---- messages ---------------------------------------------------------------------------- */

/* Where a message came from, or is to go: always between queue pairs 1. */
struct uroce_cm_route {
	struct uroce_gid src, dst; /* of the datagram: for one that goes out, src is ours */
	uint32_t flow_label;	   /* 20 bits; this and the next two are not looked at in rx */
	uint8_t traffic_class;
	uint8_t hop_limit; /* 0: the shell's default */
};

/*
 * Takes a message: the datagram's payload, from queue pair src_qpn. Whatever it is, it changes
 * nothing or what the standard says; returns UROCE_CM_ACCEPTED or why it was dropped (counted).
 */
enum uroce_cm_drop uroce_cm_rx(struct uroce_cm *cm, uint64_t now_ns,
	const struct uroce_cm_route *from, uint32_t src_qpn, const uint8_t *mad, uint32_t bytes);

/*
 * The next message to send, to queue pair 1 of *to; false: there is none. The time to wait for an
 * answer begins now. A message that cannot be sent may be thrown away: it is repeated.
 */
bool uroce_cm_tx(struct uroce_cm *cm, uint64_t now_ns, uint8_t mad[UROCE_CM_MAD_BYTES],
	struct uroce_cm_route *to);
bool uroce_cm_tx_pending(const struct uroce_cm *cm);

/* Runs the timers that are due. */
void uroce_cm_expire(struct uroce_cm *cm, uint64_t now_ns);
/* When uroce_cm_expire must run next; UINT64_MAX: no timer runs. */
uint64_t uroce_cm_next_deadline(struct uroce_cm *cm);

/* ---- events ------------------------------------------------------------------------------ */

/* What the two ends agreed on, as this end's queue pair needs it. */
struct uroce_cm_params {
	enum uroce_qp_type qp_type;  /* RC or UC */
	uint32_t remote_qpn;	     /* the peer's queue pair */
	uint32_t remote_psn;	     /* the first that it expects: our sq_psn */
	uint32_t remote_qkey;	     /* as the peer sent it; of no use to RC and UC */
	uint32_t path_mtu_bytes;     /* 256 ... 4096 */
	uint8_t responder_resources; /* reads and atomics that the peer may have outstanding to us:
					our max_dest_rd_atomic, at most */
	uint8_t initiator_depth;     /* that we may have outstanding: our max_rd_atomic, at most */
	uint8_t retry_count;	     /* for our queue pair */
	uint8_t rnr_retry;	     /* likewise */
	uint8_t ack_timeout;	     /* exponent, for our queue pair; 0: none */
	uint8_t target_ack_delay;    /* the peer's, in CONNECT_RESPONSE; exponent */
	bool srq;		     /* the peer's queue pair has a shared receive queue */
	bool flow_control;	     /* the peer's sends end-to-end credits */
};

struct uroce_cm_event {
	enum uroce_cm_event_type type;
	uint32_t id;
	uint64_t user;		/* of the id, see connect and uroce_cm_set_user; 0: none yet */
	uint32_t listener;	/* of a request; else 0 */
	uint64_t listener_user; /* of a request: the listener's; else 0 */
	uint64_t service_id;
	/* The connection's own path, src being ours, as the peer asked for it: flow label, traffic
	 * class and hop limit are what its frames have and ours should. */
	struct uroce_cm_route route;
	uint16_t local_port, remote_port; /* of a service id of rdma_cm, else 0 */
	uint32_t local_qpn;		  /* as given by connect, accept; 0: none yet */
	struct uroce_cm_params params;	  /* of CONNECT_REQUEST and CONNECT_RESPONSE */
	/* REJECTED: enum uroce_cm_reject; SIDR_RESOLVED: enum uroce_cm_sidr_status. Numbers that
	 * are in neither are passed on. */
	uint32_t reason;
	uint32_t sidr_qpn, sidr_qkey; /* of SIDR_RESOLVED with reason 0 */
	/* Of REJECTED: additional information, as the reason has it. */
	uint8_t ari_bytes;
	uint8_t ari[UROCE_CM_ARI_BYTES];
	/* Of a request, response, REJECTED, SIDR_RESOLVED: what the peer's application sent. The
	 * standard does not say how much of it was meant: it is zeros up to the longest. */
	uint32_t private_bytes;
	uint8_t private_data[UROCE_CM_PRIVATE_BYTES_MAX];
};

/*
 * Takes the next event; false: there is none. None is lost, and those of an id come in the order
 * in which they happened; but a CONNECT_REQUEST, SIDR_REQUEST or CONNECT_RESPONSE that was not
 * taken before the peer gave up or disconnected does not come (an id that nobody was told of is
 * gone then).
 */
bool uroce_cm_event_poll(struct uroce_cm *cm, struct uroce_cm_event *event);
bool uroce_cm_event_pending(const struct uroce_cm *cm);

/* ---- the application's wishes ------------------------------------------------------------ */

/* The service id of a port of rdma_cm, and what such a one has. */
static inline uint64_t uroce_cm_service_id(enum uroce_cm_port_space space, uint16_t port)
{
	return (uint64_t)space << 16 | port;
}

struct uroce_cm_listen {
	uint64_t service_id;
	struct uroce_gid addr; /* own address; all zeros: any of ours */
	uint32_t backlog;      /* unanswered and half-open requests at a time; 0: 128 */
	uint64_t user;
};

/*
 * Requests for the service become events; more than the backlog are answered with REJ (no
 * resources). A listener on an address goes before one on any. *listener: its number, never 0.
 * -EADDRINUSE: the service has a listener on that address; -ENOSPC: max_listeners.
 */
int uroce_cm_listen(struct uroce_cm *cm, const struct uroce_cm_listen *listen, uint32_t *listener);
/*
 * Ends it. Requests that were not yet polled are rejected; those that were stay as they are.
 * -ENOENT: no such listener.
 */
int uroce_cm_unlisten(struct uroce_cm *cm, uint32_t listener);

struct uroce_cm_connect {
	struct uroce_cm_route route; /* src is ours; hop_limit 0: 64 on the wire */
	uint64_t service_id;
	uint16_t local_port; /* told to the peer with a service id of rdma_cm; any */
	uint64_t user;
	uint32_t qpn, psn; /* of our queue pair, and the first PSN that it expects */
	enum uroce_qp_type qp_type;
	uint32_t path_mtu_bytes;     /* 256 ... 4096, not over the port's */
	uint8_t responder_resources; /* that our queue pair can have of the peer's */
	uint8_t initiator_depth;     /* that it wants to have outstanding itself */
	uint8_t retry_count;	     /* 0 ... 7, for both ends */
	uint8_t rnr_retry;	     /* 0 ... 7, for the peer's queue pair; 7: infinite */
	uint8_t ack_timeout; /* exponent, 0 ... 31, for both ends; also how long TIMEWAIT is */
	bool srq;
	bool flow_control;
	const void *private_data; /* up to 92 bytes; 56 with a service id of rdma_cm */
	uint32_t private_bytes;
};

/*
 * Asks for a connection. Then come CONNECT_RESPONSE, REJECTED or UNREACHABLE, in bounded time.
 * *id: its number, never 0.
 * -EINVAL: a value is out of its range, or private data is longer than allowed;
 * -EADDRINUSE: the queue pair has a connection, or its last one is still in TIMEWAIT: wait for
 * TIMEWAIT_EXIT, or take another; -ENOSPC: max_ids.
 */
int uroce_cm_connect(struct uroce_cm *cm, const struct uroce_cm_connect *connect, uint32_t *id);

struct uroce_cm_accept {
	uint64_t user;
	uint32_t qpn, psn;
	uint8_t responder_resources; /* at most what CONNECT_REQUEST said is sent: less is taken */
	uint8_t initiator_depth;     /* likewise */
	uint8_t rnr_retry;	     /* for the peer's queue pair */
	bool srq;
	bool flow_control;
	const void *private_data; /* up to 196 bytes */
	uint32_t private_bytes;
};

/*
 * Takes a CONNECT_REQUEST; the queue pair should be ready to receive. Then comes ESTABLISHED,
 * REJECTED, UNREACHABLE or DISCONNECTED.
 * -ENOENT; -EINVAL as in connect; -EADDRINUSE likewise; -ENOTCONN: it is no request that waits
 * (the peer gave up meanwhile, an event says so; or it was answered).
 */
int uroce_cm_accept(struct uroce_cm *cm, uint32_t id, const struct uroce_cm_accept *accept);

/*
 * Refuses a CONNECT_REQUEST, or a CONNECT_RESPONSE, with a reason (enum uroce_cm_reject; CONSUMER
 * is an application's), up to 72 bytes of additional information and up to 148 of private data.
 * No event follows; the id is left to be destroyed.
 * -ENOENT, -EINVAL, -ENOTCONN as in accept.
 */
struct uroce_cm_refusal {
	uint16_t reason;
	const void *ari;
	uint32_t ari_bytes;
	const void *private_data;
	uint32_t private_bytes;
};
int uroce_cm_reject(struct uroce_cm *cm, uint32_t id, const struct uroce_cm_refusal *refusal);

/*
 * Active side, after CONNECT_RESPONSE: the queue pair is in RTS, the peer is told (RTU). No event
 * follows. -ENOENT; -ENOTCONN: nothing to confirm (the peer gave up; an event says so).
 */
int uroce_cm_established(struct uroce_cm *cm, uint32_t id);

/*
 * Passive side: the queue pair got its first packet (COMM_EST), so the RTU was lost: as if it had
 * come. 0 also when it has; -ENOENT; -ENOTCONN: nothing was accepted, or it is over.
 */
int uroce_cm_received(struct uroce_cm *cm, uint32_t id);

/*
 * Ends an established connection, or one whose CONNECT_RESPONSE came. DISCONNECTED follows in
 * bounded time. 0 also when it is ending or over; -ENOENT; -ENOTCONN: not connected yet: destroy
 * or reject it.
 */
int uroce_cm_disconnect(struct uroce_cm *cm, uint32_t id);

struct uroce_cm_resolve {
	struct uroce_cm_route route;
	uint64_t service_id;
	uint16_t local_port;
	uint64_t user;
	const void *private_data; /* up to 216 bytes; 180 with a service id of rdma_cm */
	uint32_t private_bytes;
};

/* Asks for a datagram queue pair. Then comes SIDR_RESOLVED or UNREACHABLE. Errors as connect. */
int uroce_cm_resolve(struct uroce_cm *cm, const struct uroce_cm_resolve *resolve, uint32_t *id);

struct uroce_cm_sidr_reply {
	uint8_t status; /* enum uroce_cm_sidr_status */
	uint32_t qpn;	/* ours, and its Q_Key, if status is 0 */
	uint32_t qkey;
	const void *private_data; /* up to 136 bytes */
	uint32_t private_bytes;
};

/*
 * Answers a SIDR_REQUEST. No event follows; the id is left to be destroyed, at once if need be.
 * -ENOENT; -EINVAL; -ENOTCONN: it is no resolution that waits for an answer.
 */
int uroce_cm_sidr_reply(struct uroce_cm *cm, uint32_t id, const struct uroce_cm_sidr_reply *reply);

/* What its events carry from now on. -ENOENT. */
int uroce_cm_set_user(struct uroce_cm *cm, uint32_t id, uint64_t user);

/*
 * The application is done with it: no event comes any more. What the peer must still be told is
 * told: a request that waits is rejected, an established connection disconnected. The number is
 * gone at once; its place is free when TIMEWAIT is over. -ENOENT.
 */
int uroce_cm_destroy(struct uroce_cm *cm, uint32_t id);

/* ---- for those who look on --------------------------------------------------------------- */

struct uroce_cm_info {
	uint32_t id;
	uint32_t remote_id; /* 0: not known yet */
	uint64_t user;
	enum uroce_cm_state state;
	bool active;	/* we asked */
	bool destroyed; /* by the application; it only ends what must be ended */
	struct uroce_cm_route route;
	uint64_t service_id;
	uint32_t local_qpn, remote_qpn;
	uint32_t retries; /* of the message that waits for an answer */
};

/* Places in use, and the id in place `place`, 0 ... max_ids - 1; false: it is free. */
uint32_t uroce_cm_num_ids(const struct uroce_cm *cm);
bool uroce_cm_info(const struct uroce_cm *cm, uint32_t place, struct uroce_cm_info *info);

#endif
