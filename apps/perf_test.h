/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One test: what is measured, with how much of it. Both sides of a test hold the same struct; the
 * client sends it to the server as a record.
 */
#ifndef UROCE_APP_PERF_TEST_H
#define UROCE_APP_PERF_TEST_H

#include <stdbool.h>
#include <stdint.h>

#include "record.h"
#include "uroce.h"

/* What the sides say first: the protocol and its version. */
#define UROCE_PERF_HELLO "uroce-perf 1"

enum uroce_perf_op {
	UROCE_PERF_WRITE,
	UROCE_PERF_READ,
	UROCE_PERF_SEND,
	UROCE_PERF_ATOMIC,
	UROCE_PERF_OPS,
};

enum {
	UROCE_PERF_SIZE_MAX = 1 << 30,
	UROCE_PERF_QPS_MAX = 256,
	UROCE_PERF_DEPTH_MAX = 4096,
	/* Queue pairs times depth, bounded by what a completion queue holds. */
	UROCE_PERF_OUTSTANDING_MAX = 16384,
};

struct uroce_perf_test {
	enum uroce_perf_op op;
	bool cas; /* of atomics: compare and swap, not fetch and add */
	bool imm; /* of writes and sends: each carries its number as immediate data */
	bool latency;
	bool verify;
	uint32_t size_bytes;
	uint32_t qps;
	uint32_t depth;
	uint32_t slots; /* places for messages per queue pair; see uroce_perf_test_settle */
	/* From here on what only the client knows. */
	uint64_t iterations;  /* messages in all; 0: until the time is up */
	uint64_t duration_ns; /* 0: until the messages are through */
	uint64_t interval_ns; /* of latency tests: pause between two messages */
	uint32_t place_bytes; /* a message's place is at least that large */
};

const char *uroce_perf_op_name(enum uroce_perf_op op);

/*
 * Settles what follows from the rest: with verify as many places as messages are outstanding, and a
 * depth that does not take them over 64 MiB; of latency tests one message, and for ping-pong one
 * place to send from (0) and one to receive into (1); iterations if neither they nor a duration are
 * set.
 */
void uroce_perf_test_settle(struct uroce_perf_test *test);
/* NULL, or in words why that test cannot be. */
const char *uroce_perf_test_check(const struct uroce_perf_test *test);

/* Whether messages consume receives, and so are answered by messages in a latency test. */
bool uroce_perf_test_receives(const struct uroce_perf_test *test);
/* Whether messages carry immediate data; latency's writes of nothing do without being asked. */
bool uroce_perf_test_has_imm(const struct uroce_perf_test *test);
/* Whether a latency test is ping-pong, so that half of a round trip counts. */
bool uroce_perf_test_is_pingpong(const struct uroce_perf_test *test);
/* Bytes from one place for a message to the next. */
uint64_t uroce_perf_test_stride_bytes(const struct uroce_perf_test *test);
/* Bytes of memory that a side takes. */
uint64_t uroce_perf_test_memory_bytes(const struct uroce_perf_test *test);

void uroce_perf_test_write(char line[UROCE_RECORD_BYTES], const struct uroce_perf_test *test);
/* NULL, or in words what is wrong with the record. */
const char *uroce_perf_test_read(const char *line, struct uroce_perf_test *test);

#endif
