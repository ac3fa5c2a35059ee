/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tests against perftest (ib_write_bw, ib_read_lat and so on) on the other side: one test, which
 * both command lines have to name alike. Perftest does not check what is in messages, so neither
 * can this.
 *
 * Every function returns 0, or -1 after words on standard error.
 */
#ifndef UROCE_APP_PERFTEST_H
#define UROCE_APP_PERFTEST_H

#include "perf_client.h"
#include "perftest_link.h"

/* Perftest's own message size and count where the user names none. */
void uroce_perftest_settle(struct uroce_perf_test *test, bool size_is_given);

/* ---- the client's side, for uroce_perf_client_run ---- */

/* Connects the open side's queue pairs. */
int uroce_perftest_set_up(struct uroce_perf_client *client);
/* Measures the latency of writes or sends. */
int uroce_perftest_run_ping(struct uroce_perf_client *client);
/* Tells what was measured, and takes leave. */
int uroce_perftest_finish(struct uroce_perf_client *client, double seconds);

/* ---- the server's ---- */

/* One client's test, from the greeting to the end. */
int uroce_perftest_serve(struct uroce_perftest_link *link, const struct uroce_perf_test *test);

#endif
