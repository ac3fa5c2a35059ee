/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the two sides of perftest (ib_write_bw and its like, version 5.70 to 6.06 of its exchange)
 * tell each other over TCP: records of fixed size, always one there and one back, the client first.
 * Which records a test needs in which order is not known here.
 *
 * Whoever waits for a record polls its worker meanwhile, since the peer may need answers of it.
 * Every function returns 0, or -1 after words on standard error; then the connection is over.
 */
#ifndef UROCE_APP_PERFTEST_LINK_H
#define UROCE_APP_PERFTEST_LINK_H

#include <stdbool.h>
#include <stdint.h>

#include "endpoint.h"

struct uroce_perftest_link {
	int fd; /* does not block; the caller's */
	bool is_client;
	struct uroce_endpoint *endpoint;
	/* Called while a record is waited for, beside polling; NULL: nothing. -1 ends the wait. */
	int (*tend)(void *context);
	void *context;
	/* As both sides settled in the greeting. */
	uint32_t cycle_bytes; /* short messages go around in so much memory */
	uint32_t mtu_bytes;
};

/* Where one queue pair is, and how much its peer may do with it. */
struct uroce_perftest_key {
	uint32_t out_reads;
	uint32_t qpn, psn;
	uint32_t rkey;
	uint64_t addr;
	uint8_t gid[16];
};

/* Versions, sizes and path MTU. */
int uroce_perftest_greet(struct uroce_perftest_link *link);

/* Tells mine, learns theirs. Perftest uses it also where it only waits for the other side. */
int uroce_perftest_swap_keys(struct uroce_perftest_link *link,
	const struct uroce_perftest_key *mine, struct uroce_perftest_key *theirs);

/* What the client measured; on the server what it is told. Bandwidth is in MiB/s. */
struct uroce_perftest_report {
	uint64_t size_bytes, iterations;
	double mib_per_second, mmsg_per_second;
};

int uroce_perftest_swap_reports(
	struct uroce_perftest_link *link, struct uroce_perftest_report *report);

/* The end of a test: after this the peer may close. */
int uroce_perftest_part(struct uroce_perftest_link *link, const struct uroce_perftest_key *mine);

/* Whether the peer has said something, or has closed. */
bool uroce_perftest_heard(const struct uroce_perftest_link *link);

#endif
