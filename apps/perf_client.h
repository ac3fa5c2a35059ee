/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The active side of tests: describes a test to the server, sets queue pairs up with it, runs the
 * test and measures. One thread, which polls all workers of the process.
 *
 * Every function returns 0, or -1 after words on standard error; then the session is over.
 */
#ifndef UROCE_APP_PERF_CLIENT_H
#define UROCE_APP_PERF_CLIENT_H

#include <stdbool.h>
#include <stdint.h>

#include "channel.h"
#include "common.h"
#include "endpoint.h"
#include "perf_cm.h"
#include "perf_server.h"
#include "perf_side.h"
#include "perf_test.h"
#include "perftest_link.h"

struct uroce_perf_client {
	struct uroce_endpoint *endpoint;
	struct uroce_channel *channel;
	struct uroce_perf_server *server; /* stepped along, if it is in this process; else NULL */
	struct uroce_perf_cm *cm;	  /* connects the queue pairs; NULL: records do */
	struct uroce_perftest_link *perftest; /* instead of the channel, if that is the server */
	struct uroce_perf_side side;
	struct uroce_samples *samples; /* of latency tests */
	uint64_t messages;	       /* completed */
	uint64_t checked;	       /* by this side */
	uint64_t started_ns, ended_ns, deadline_ns;
	/* When what goes on beside the messages was looked at last. */
	uint64_t tended_ns, shown_ns, moved_ns;
	uint64_t moved_messages;
	uint32_t turns;
};

struct uroce_perf_result {
	struct uroce_perf_test test; /* as it was run */
	uint64_t messages;
	double seconds;
	uint32_t mtu_bytes;
	uint32_t workers; /* of the client */
	bool is_verified; /* every byte of every message was checked and right */
};

/* server: NULL, or that which is in this process; cm: NULL, or what connects. Says hello. */
int uroce_perf_client_hello(struct uroce_perf_client *client, struct uroce_endpoint *endpoint,
	struct uroce_channel *channel, struct uroce_perf_server *server, struct uroce_perf_cm *cm);
/* Takes leave; cannot fail, since nothing depends on it. */
void uroce_perf_client_bye(struct uroce_perf_client *client);

/*
 * Runs one test. The test is settled and has passed its check. samples: for a latency test, empty;
 * else NULL.
 */
int uroce_perf_client_run(struct uroce_perf_client *client, const struct uroce_perf_test *test,
	struct uroce_samples *samples, struct uroce_perf_result *result);

/* ---- for the parts of the client ---- */

/* One turn of everything that is in this process. */
int uroce_perf_client_pump(struct uroce_perf_client *client);
/*
 * Every so many turns: whether the peer is still there and things move, and the progress line.
 * *now_ns: the time, if it was looked at; else unchanged.
 */
int uroce_perf_client_tend(struct uroce_perf_client *client, uint64_t *now_ns);
/* Words for both sides; returns -1. */
int uroce_perf_client_fail(struct uroce_perf_client *client, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
/* The server's next line, waiting for it. */
int uroce_perf_client_expect(struct uroce_perf_client *client, char line[UROCE_CHANNEL_LINE_BYTES]);
/* Asks the server to "check" or "fill" a lane's messages, and waits until it has. */
int uroce_perf_client_ask(struct uroce_perf_client *client, const char *what, uint32_t lane,
	uint64_t first, uint64_t count);

/* Connects the queue pairs of both sides, and sees that frames come through (perf_setup.c). */
int uroce_perf_client_set_up(struct uroce_perf_client *client);
/* Measures bandwidth (perf_bandwidth.c), latency (perf_latency.c), on connected queue pairs. */
int uroce_perf_client_run_bandwidth(struct uroce_perf_client *client);
int uroce_perf_client_run_latency(struct uroce_perf_client *client);

#endif
