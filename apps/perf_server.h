/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The passive side of tests: sets up what the client asks for, posts receives, answers pings,
 * checks what arrived. A state machine that is stepped: by the server's loop in a process of its
 * own, or by the client's loop within one process.
 */
#ifndef UROCE_APP_PERF_SERVER_H
#define UROCE_APP_PERF_SERVER_H

#include <stdbool.h>
#include <stdint.h>

#include "channel.h"
#include "endpoint.h"
#include "perf_cm.h"
#include "perf_side.h"
#include "perf_test.h"

enum uroce_perf_server_state {
	UROCE_PERF_SERVER_HELLO,  /* the client has to say hello */
	UROCE_PERF_SERVER_IDLE,	  /* the client may ask for a test */
	UROCE_PERF_SERVER_PEERS,  /* the client lists its queue pairs, or connects them */
	UROCE_PERF_SERVER_MEMORY, /* the client names its memory */
	UROCE_PERF_SERVER_RUN,	  /* messages flow */
};

struct uroce_perf_server {
	struct uroce_endpoint *endpoint;
	struct uroce_channel *channel;
	struct uroce_perf_cm *cm; /* by which queue pairs are connected; NULL: by records */
	int only_op;		  /* an enum uroce_perf_op; -1: any */
	enum uroce_perf_server_state state;
	struct uroce_perf_side side; /* from PEERS on */
	uint32_t lanes_connected;
	uint64_t pings; /* answered */
	uint64_t checked;
	uint64_t heard_ns; /* of the client, by whatever way */
	bool has_moved;	   /* a frame, since the channel was looked at */
	uint32_t turns;
	uint64_t tests; /* done */
};

/*
 * The channel must stay open until fini. cm: NULL, or that by which queue pairs are connected.
 * only_op: the one operation that is served; -1: all.
 */
void uroce_perf_server_init(struct uroce_perf_server *server, struct uroce_endpoint *endpoint,
	struct uroce_channel *channel, struct uroce_perf_cm *cm, int only_op);
/* Releases what a test left. */
void uroce_perf_server_fini(struct uroce_perf_server *server);

/*
 * One turn: polls the worker and does what is to be done. Returns 0 to be called again, 1 when the
 * client has taken its leave, -1 when it cannot go on: then both sides have got words.
 */
int uroce_perf_server_step(struct uroce_perf_server *server);

/* ---- for the parts of the server: 0, or -1 after words ---- */

/* Words for both sides; returns -1. */
int uroce_perf_server_fail(struct uroce_perf_server *server, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
/* Takes what arrived while messages flow, checks it, answers it. */
int uroce_perf_server_serve_data(struct uroce_perf_server *server);
/* Does what a line of the client asks for while messages flow. */
int uroce_perf_server_obey(struct uroce_perf_server *server, const char *line);

#endif
