/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * uroce: connection management, on the wire that of Linux's rdma_cm.
 *
 * Who connects names an address and a port; who listens is told, and accepts or rejects. The
 * library asks for the neighbour, exchanges numbers, and moves the queue pairs to RTS. A client
 * (cm: a struct uroce_conn_channel, qp: in INIT, its receives posted):
 *
 *	uroce_conn_channel_create(dev, &cm);
 *	uroce_qp_prepare(qp);
 *	uroce_conn_connect(cm, &(struct uroce_conn_conf){.addr = "192.0.2.1", .port = 7471,
 *		.qp = qp, .private_data = "hello", .private_bytes = 5}, &conn);
 *	while (uroce_conn_poll(cm, &event) == 0)
 *		uroce_worker_poll(worker);       (not needed with a worker on an lcore)
 *	if (event.type != UROCE_CONN_ESTABLISHED)
 *		puts(event.words);               ("192.0.2.1: nobody listens on port 7471")
 *
 * And a server, for as many clients as come:
 *
 *	uroce_conn_channel_create(dev, &cm);
 *	uroce_conn_listen(cm, &(struct uroce_conn_listen_conf){.port = 7471}, &listener);
 *	for (;;) {
 *		if (uroce_conn_poll(cm, &event) == 0)
 *			uroce_worker_poll(worker);
 *		else if (event.type == UROCE_CONN_REQUEST) {
 *			uroce_qp_create(pd, &qp_conf, &qp);
 *			uroce_qp_prepare(qp);    (now post receives)
 *			uroce_conn_accept(event.conn, &(struct uroce_conn_conf){.qp = qp});
 *		} else if (event.type != UROCE_CONN_ESTABLISHED) {
 *			qp = uroce_conn_qp(event.conn);
 *			uroce_conn_destroy(event.conn);
 *			if (qp)
 *				uroce_qp_destroy(qp);
 *		}
 *	}
 *
 * A queue pair of type UD asks for a datagram service instead (SIDR): ESTABLISHED then brings the
 * number, the Q_Key and the address handle's configuration of a queue pair to send to.
 *
 * Conventions are those of uroce.h. All calls are control calls, for any thread; one connection's
 * are for one thread at a time, while another may poll its channel. The first channel takes queue
 * pair number 1 into use; device worker 0 must be polled for anything to happen.
 */
#ifndef UROCE_UROCE_CM_H
#define UROCE_UROCE_CM_H

#include "cm_status.h"
#include "uroce.h"

#ifdef __cplusplus
extern "C" {
#endif

struct uroce_conn_channel;
/* A connection, a listener, or a question. */
struct uroce_conn;

enum {
	/* Longest private data. What is received is zeros up to the longest of its kind: the wire
	 * does not say how much of it was meant. */
	UROCE_CONN_CONNECT_PRIVATE_BYTES = 56,
	UROCE_CONN_ACCEPT_PRIVATE_BYTES = 196,
	UROCE_CONN_REJECT_PRIVATE_BYTES = 148,
	UROCE_CONN_ASK_PRIVATE_BYTES = 180,    /* connect of a UD queue pair */
	UROCE_CONN_ANSWER_PRIVATE_BYTES = 136, /* accept and reject, of such a one */
	UROCE_CONN_PRIVATE_BYTES_MAX = 196,
	UROCE_CONN_WORDS_BYTES = 192,
};

/* ---- channels and events ---- */

/* What happens. Numbers of enum rdma_cm_event_type. */
enum uroce_conn_event_type {
	UROCE_CONN_ROUTE_RESOLVED = 2, /* the neighbour that was asked for is there */
	UROCE_CONN_REQUEST = 4,	       /* somebody wants to connect to a listener */
	UROCE_CONN_ERROR = 6,	       /* the peer accepted, but the queue pair would not move */
	UROCE_CONN_UNREACHABLE = 7,    /* -EHOSTUNREACH, -ETIMEDOUT */
	UROCE_CONN_REJECTED = 8,
	UROCE_CONN_ESTABLISHED = 9,
	UROCE_CONN_DISCONNECTED = 10,  /* by either side; the queue pair is in ERR */
	UROCE_CONN_TIMEWAIT_EXIT = 15, /* the queue pair may be connected again, from RESET */
};

struct uroce_conn_event {
	enum uroce_conn_event_type type;
	struct uroce_conn *conn;     /* of a REQUEST: a new one, the caller's from now on */
	void *context;		     /* conn's; of a REQUEST the listener's */
	struct uroce_conn *listener; /* of a REQUEST; NULL: it is destroyed */
	/*
	 * Why, else 0. -EHOSTUNREACH: nobody has the address; -ETIMEDOUT: somebody has, but answers
	 * no connection management, or gave up waiting; -ECONNREFUSED: nobody listens on the port;
	 * -EACCES: the peer's application rejects; -EAGAIN: the peer has no room, or still knows a
	 * connection of before: try later; -EPROTO: another reason. Of ERROR: uroce_qp_modify's.
	 */
	int error;
	uint32_t reason; /* of REJECTED: enum uroce_cm_reject, or uroce_cm_sidr_status */
	uint8_t local_gid[16], remote_gid[16];
	uint16_t local_port, remote_port;
	bool datagrams;
	/* What was agreed, of ESTABLISHED; what the peer wants, of REQUEST. */
	uint32_t path_mtu_bytes;
	uint8_t max_rd_atomic;	    /* that we may have outstanding */
	uint8_t max_dest_rd_atomic; /* that the peer may */
	/* The peer's queue pair; its Q_Key and how to get there, of datagrams. */
	uint32_t remote_qpn, remote_qkey;
	struct uroce_ah_conf ah;
	/* Of REQUEST, ESTABLISHED on the active side, REJECTED. */
	uint32_t private_bytes;
	uint8_t private_data[UROCE_CONN_PRIVATE_BYTES_MAX];
	char words[UROCE_CONN_WORDS_BYTES]; /* what happened, as a sentence without its full stop */
};

/*
 * A channel: a queue of events with a descriptor. The first of a device also opens queue pair 1.
 * -ENOMEM; -EMFILE; -ETIMEDOUT: worker 0 does not poll.
 */
int uroce_conn_channel_create(struct uroce_device *dev, struct uroce_conn_channel **channel);
/* -EBUSY: connections are left. */
int uroce_conn_channel_destroy(struct uroce_conn_channel *channel);
/* For poll(2): readable while there may be an event. Closed by destroy. */
int uroce_conn_channel_fd(const struct uroce_conn_channel *channel);

/*
 * Takes the next event: 1, or 0 if there is none. Never waits for a peer, but moves queue pairs
 * (ESTABLISHED, DISCONNECTED), so it may wait for their workers.
 */
int uroce_conn_poll(struct uroce_conn_channel *channel, struct uroce_conn_event *event);

/* ---- connections ---- */

/* For connect and accept. */
struct uroce_conn_conf {
	const char *addr;	/* connect: the peer, like "192.0.2.1" or "2001:db8::1" */
	uint16_t port;		/* connect: the peer's */
	const char *local_addr; /* connect: one of the device's; NULL: the one that fits best */
	struct uroce_qp *qp;	/* in RESET or INIT; of a UD queue pair: any state up to RTS */
	void *context;		/* for events; accept: NULL keeps the listener's */
	const void *private_data;
	uint32_t private_bytes;
	/* How the connection is; as in struct uroce_peer. accept: timeout and retry_cnt are what
	 * the peer asked for. */
	uint32_t mtu_bytes; /* the port's; at most */
	uint8_t timeout, retry_cnt, rnr_retry, min_rnr_timer, max_rd_atomic, max_dest_rd_atomic;
	uint32_t access;
};

/*
 * Asks for a connection of conf->qp with whoever listens there. Then come, in bounded time,
 * ESTABLISHED, REJECTED, UNREACHABLE or ERROR.
 * -EINVAL: no address or port, no queue pair or one that is further on, too much private data, or a
 * number out of range; -EADDRNOTAVAIL: the device has no such address, or none of that kind;
 * -EHOSTUNREACH: no MAC address is known, and nobody asks (host_owns_port); -EADDRINUSE: the queue
 * pair has a connection, or had one a moment ago: wait for TIMEWAIT_EXIT, or take another;
 * -ENOMEM: or max_conns exist; -ETIMEDOUT: the queue pair's worker does not poll.
 */
int uroce_conn_connect(struct uroce_conn_channel *channel, const struct uroce_conn_conf *conf,
	struct uroce_conn **conn);

struct uroce_conn_listen_conf {
	uint16_t port;
	const char *addr; /* one of the device's; NULL: any of them */
	bool datagrams;	  /* those of UD queue pairs (port space UDP) */
	uint32_t backlog; /* 128; requests that are not yet answered */
	void *context;
};

/*
 * Requests to this port become events. More than the backlog are refused for want of room.
 * -EINVAL: no port, or addr is none; -EADDRNOTAVAIL: it is not the device's; -EADDRINUSE: somebody
 * listens there; -ENOMEM.
 */
int uroce_conn_listen(struct uroce_conn_channel *channel, const struct uroce_conn_listen_conf *conf,
	struct uroce_conn **listener);

/*
 * Takes a REQUEST with a queue pair, which is moved to RTS. Then comes ESTABLISHED, or, if the peer
 * has gone meanwhile, REJECTED, UNREACHABLE or DISCONNECTED. Of datagrams: tells number and Q_Key
 * of a UD queue pair in RTS; no event follows, and conn is only to be destroyed.
 * -EINVAL: no queue pair of the right type, and else as uroce_conn_connect; -ENOTCONN: it is no
 * request, or the peer has gone (an event says so); -EADDRINUSE, -ENOMEM, -ETIMEDOUT as
 * uroce_conn_connect. Unless it is 0, the request is still there to be answered.
 */
int uroce_conn_accept(struct uroce_conn *conn, const struct uroce_conn_conf *conf);

/*
 * Refuses a REQUEST with some private data (NULL: none). conn is then only to be destroyed.
 * -EINVAL: too much private data; -ENOTCONN.
 */
int uroce_conn_reject(struct uroce_conn *conn, const void *private_data, uint32_t private_bytes);

/*
 * Ends a connection: its queue pair goes to ERR, and the peer is told. DISCONNECTED follows.
 * -ENOTCONN: it is not established; -ETIMEDOUT: the queue pair's worker does not poll.
 */
int uroce_conn_disconnect(struct uroce_conn *conn);

/*
 * Ends whatever it is, a request by refusing it; no event of it comes any more. Its queue pair goes
 * to ERR if it was connected, and is the caller's alone again: only now can it be destroyed. Cannot
 * fail.
 */
void uroce_conn_destroy(struct uroce_conn *conn);

/*
 * Asks for the neighbour that has an address, or leads to it. Then comes ROUTE_RESOLVED, or
 * UNREACHABLE after three seconds. uroce_conn_connect does so by itself; this is for who wants
 * to know before. Of conf: addr, local_addr, context. Errors as uroce_conn_connect.
 */
int uroce_conn_resolve(struct uroce_conn_channel *channel, const struct uroce_conn_conf *conf,
	struct uroce_conn **conn);

/* The queue pair of a connection; NULL: it has none. */
struct uroce_qp *uroce_conn_qp(const struct uroce_conn *conn);

/* ---- names and counters ---- */

/* Names; "?" for what has none. */
const char *uroce_conn_event_name(enum uroce_conn_event_type type);

/* Messages of connection management: what came, what was sent, and why some were dropped. All zero
 * before the first channel. */
void uroce_conn_counters(struct uroce_device *dev, struct uroce_cm_counters *counters);
const char *uroce_cm_counter_name(unsigned int i);

#ifdef __cplusplus
}
#endif

#endif
