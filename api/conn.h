/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Inside the library: connections, their channels, and the device's connection manager.
 *
 * The manager's core (engine/cm.h) has one owner at a time, whoever holds `lock`: the first worker,
 * in its turns, or a thread that calls. The worker only tries: it has other work, and comes again.
 * Nobody waits for a worker while holding it. A channel's own lock is held around a poll and around
 * the end of a connection, so that a connection does not end under the feet of a poll; who waits
 * for it serves the workers that it polls itself, since the holder may be waiting for one of those.
 */
#ifndef UROCE_API_CONN_H
#define UROCE_API_CONN_H

#include "cm.h"
#include "device.h"
#include "gsi.h"
#include "uroce_cm.h"

enum conn_kind {
	CONN_LISTENER,
	CONN_CONNECTION,
	CONN_DATAGRAMS, /* a question for a datagram queue pair, or such a question of a peer's */
	CONN_PROBE,	/* who wants to know whether a neighbour is there */
};

enum conn_state {
	CONN_ASKS,    /* waits for the peer's answer, or listens */
	CONN_ASKED,   /* the peer waits for ours */
	CONN_ANSWERS, /* accepted, and not yet established */
	CONN_UP,
	CONN_OVER
};

struct uroce_conn {
	struct uroce_conn_channel *channel;
	enum conn_kind kind;
	enum conn_state state; /* under the manager's lock, as all but the next three */
	struct uroce_qp *qp;
	void *context;
	bool is_moved; /* the queue pair is the connection's: it goes to ERR with it */
	uint32_t id;   /* the manager's number of it; 0: none (any more) */
	uint32_t psn;  /* where the queue pair begins to receive: the other end is told */
	/* What will be set on the queue pair. */
	uint32_t access;
	uint8_t min_rnr_timer;
	struct uroce_cm_route route; /* src is ours */
	struct uroce_cm_params params;
	uint16_t local_port, remote_port;
	uint32_t num_events; /* on the channel's list */
	bool is_gone;	     /* it is being removed */
	/* While it asks: the list of those who do. */
	struct uroce_conn **asks_in;
	struct uroce_conn *ask_next, *ask_prev;
	/* What became of the neighbour, if that is to be told. */
	bool is_noted;
	int note; /* 0, or -EHOSTUNREACH */
	struct uroce_conn *note_next;
};

/* An event of the manager's on its way to whoever polls. */
struct conn_item {
	struct conn_item *next;
	struct uroce_conn *conn, *listener;
	struct uroce_cm_event event;
};

struct uroce_conn_channel {
	struct conn_manager *manager;
	int fd;
	pthread_mutex_t lock; /* see above */
	/* There may be something for it; raised under the manager's lock. */
	atomic_bool is_raised;
	/* Under the manager's lock. */
	struct conn_item *first, *last;
	struct uroce_conn *notes;
	uint32_t num_conns;
	struct uroce_conn_channel *next;
};

struct conn_manager {
	struct uroce_device *dev;
	pthread_mutex_t lock;
	struct uroce_cm *cm;
	void *cm_memory;
	struct uroce_gsi *gsi;
	_Atomic uint64_t due_ns; /* when there is something to do besides what comes in */
	atomic_bool is_waiting;	 /* for MACs: there may be something to do in any turn */
	struct uroce_conn_channel *channels;
	struct uroce_conn *asking; /* their neighbour may turn out not to be there */
	struct uroce_conn *probes; /* whom nobody has been asked for yet */
};

/* ---- conn_manager.c ---- */

/* Whether what a device's configuration says of connections is in range; -EINVAL. */
int uroce_conn_conf_check(const struct uroce_device_conf *conf);

/* The device's manager, made if there is none. -ENOMEM; -ETIMEDOUT. */
int uroce_conn_manager_get(struct uroce_device *dev, struct conn_manager **manager);
/* Frees it, if there is one; nobody polls the device's workers any more. */
void uroce_conn_manager_fini(struct uroce_device *dev);

void uroce_conn_lock(struct conn_manager *manager);
/* After something was asked of the manager: the worker is to look, and channels may have news. */
void uroce_conn_unlock(struct conn_manager *manager);

/* Into a list of the manager's, and out of the one it is in, if any. Under the lock. */
void uroce_conn_begin_to_ask(struct uroce_conn **list, struct uroce_conn *conn);
void uroce_conn_end_to_ask(struct uroce_conn *conn);

/* Worker 0, in its turn: messages in, timers, messages out. */
void uroce_conn_serve(struct conn_manager *manager, uint64_t now_ns);
/* Whether a turn would find something to do at once, and when it will else. */
bool uroce_conn_has_work(const struct conn_manager *manager);
uint64_t uroce_conn_due_ns(const struct conn_manager *manager);

/* ---- conn_channel.c ---- */

void uroce_conn_channel_lock(struct uroce_conn_channel *channel);
void uroce_conn_channel_unlock(struct uroce_conn_channel *channel);
/* There is something for it. Under the manager's lock. */
void uroce_conn_channel_raise(struct uroce_conn_channel *channel);
/* A new connection on it; NULL: no memory. Under the manager's lock. */
struct uroce_conn *uroce_conn_add(struct uroce_conn_channel *channel, enum conn_kind kind);
/* No event of it comes any more, and requests to it that nobody has seen are refused. Likewise. */
void uroce_conn_remove(struct uroce_conn *conn);

/* ---- conn_qp.c ---- */

/* The queue pair is the connection's from now on; -EADDRINUSE: it is another's. */
int uroce_conn_take_qp(struct uroce_conn *conn, struct uroce_qp *qp);
void uroce_conn_give_qp(struct uroce_conn *conn);
/* To INIT, if it is in RESET. -EINVAL: it is further on; else as uroce_qp_modify. */
int uroce_conn_prepare_qp(struct uroce_qp *qp);
/* To RTS, by the connection's parameters; and to ERR, if it was moved. */
int uroce_conn_move_qp(struct uroce_conn *conn);
int uroce_conn_end_qp(struct uroce_conn *conn);

/* ---- conn_words.c ---- */

/* Fills in event->words by all else that is in it. */
void uroce_conn_describe(struct uroce_conn_event *event);

#endif
