/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tests whose two sides find each other by connection management, without TCP: one connection
 * carries the lines, and each queue pair of a test is connected with the place of its side's memory
 * in the private data. One thread: that which polls the worker.
 */
#ifndef UROCE_APP_PERF_CM_H
#define UROCE_APP_PERF_CM_H

#include <stdbool.h>
#include <stdint.h>

#include "channel.h"
#include "line.h"
#include "perf_side.h"

struct uroce_perf_cm {
	struct uroce_endpoint *endpoint;
	struct uroce_conn_channel *events;
	struct uroce_conn *listener; /* of a server */
	const char *host;	     /* of a client: the server's endpoint */
	uint16_t port;
	struct uroce_line line;
	/* Whose queue pairs are being connected, and how many are; NULL: of none. */
	struct uroce_perf_side *side;
	uint32_t lanes_up;
	int error; /* of a connection that was not made */
	char words[256];
};

/* Nothing is heard of yet. Returns 0, or -1 after words. */
int uroce_perf_cm_open(struct uroce_perf_cm *cm, struct uroce_endpoint *endpoint);
/* Ends all of it; nothing if it is not open. */
void uroce_perf_cm_close(struct uroce_perf_cm *cm);

/* Clients may come to a port. Returns 0, or -1 after words. */
int uroce_perf_cm_listen(struct uroce_perf_cm *cm, uint16_t port);
/* Whether a client has come; then the channel speaks with it. */
bool uroce_perf_cm_accept(struct uroce_perf_cm *cm, struct uroce_channel *channel);
/* Connects to a server's endpoint, and the channel with it. Returns 0, or -1 after words. */
int uroce_perf_cm_connect(
	struct uroce_perf_cm *cm, const char *host, uint16_t port, struct uroce_channel *channel);

/* A server's queue pairs may be connected from now on; side NULL: no more. */
void uroce_perf_cm_expect(struct uroce_perf_cm *cm, struct uroce_perf_side *side);
/* A client's queue pairs: asks for a connection of each. Returns 0; else why has the reason. */
int uroce_perf_cm_ask(
	struct uroce_perf_cm *cm, struct uroce_perf_side *side, char why[UROCE_PERF_WORDS_BYTES]);
/* Whether all of them are up: 1, 0 (not yet); -1: one will not be, and why has the reason. */
int uroce_perf_cm_check(struct uroce_perf_cm *cm, char why[UROCE_PERF_WORDS_BYTES]);

/* Takes what happened. The worker is the caller's to poll. */
void uroce_perf_cm_poll(struct uroce_perf_cm *cm);

#endif
