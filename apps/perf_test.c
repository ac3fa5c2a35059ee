/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tests and their records. Limits are checked on both sides: a server does not trust a client's
 * arithmetic with its memory.
 */
#include "perf_test.h"

#include <inttypes.h>
#include <stdio.h>

enum {
	ATOMIC_BYTES = 8,
	LINE_BYTES = 64,
	LATENCY_SLOTS = 2, /* to send from, to receive into */
};

#define VERIFY_BYTES_MAX (UINT64_C(64) << 20)
#define MEMORY_BYTES_MAX (UINT64_C(4) << 30)

const char *uroce_perf_op_name(enum uroce_perf_op op)
{
	static const char *const names[UROCE_PERF_OPS] = {"write", "read", "send", "atomic"};

	return names[op];
}

static uint64_t clamp(uint64_t value, uint64_t min, uint64_t max)
{
	return value < min ? min : value > max ? max : value;
}

/* Enough for a number that means something, in about a second. */
static uint64_t default_iterations(const struct uroce_perf_test *test)
{
	uint64_t size = clamp(test->size_bytes, 1, UROCE_PERF_SIZE_MAX);

	if (test->latency)
		return clamp((UINT64_C(256) << 20) / size, 20, test->verify ? 2000 : 10000);
	if (test->verify)
		return clamp((UINT64_C(128) << 20) / size, 8, 10000);
	return clamp((UINT64_C(2) << 30) / size, 16, 1000000);
}

void uroce_perf_test_settle(struct uroce_perf_test *test)
{
	if (test->op == UROCE_PERF_ATOMIC)
		test->size_bytes = ATOMIC_BYTES;
	test->slots = 1;
	if (test->latency) {
		test->depth = 1;
		test->slots = uroce_perf_test_is_pingpong(test) ? LATENCY_SLOTS : 1;
	} else if (test->verify) {
		uint64_t fit = VERIFY_BYTES_MAX / uroce_perf_test_stride_bytes(test) / test->qps;

		test->depth = (uint32_t)clamp(fit, 1, test->depth);
		test->slots = test->depth;
	}
	if (!test->iterations && !test->duration_ns)
		test->iterations = default_iterations(test);
}

const char *uroce_perf_test_check(const struct uroce_perf_test *test)
{
	if (test->imm && test->op != UROCE_PERF_WRITE && test->op != UROCE_PERF_SEND)
		return "only writes and sends carry immediate data";
	if (test->latency && test->qps != 1)
		return "latency is measured with one queue pair";
	if ((uint64_t)test->qps * test->depth > UROCE_PERF_OUTSTANDING_MAX)
		return "queue pairs times depth are more than 16384";
	if (uroce_perf_test_memory_bytes(test) > MEMORY_BYTES_MAX)
		return "queue pairs times message size take more than 4 GiB of memory";
	return NULL;
}

bool uroce_perf_test_receives(const struct uroce_perf_test *test)
{
	return test->op == UROCE_PERF_SEND || uroce_perf_test_has_imm(test);
}

bool uroce_perf_test_has_imm(const struct uroce_perf_test *test)
{
	/* A write of nothing leaves no byte to wait for: it announces itself by an immediate. */
	return test->imm ||
		(test->op == UROCE_PERF_WRITE && test->latency && test->size_bytes == 0);
}

bool uroce_perf_test_is_pingpong(const struct uroce_perf_test *test)
{
	return test->latency && (test->op == UROCE_PERF_SEND || test->op == UROCE_PERF_WRITE);
}

uint64_t uroce_perf_test_stride_bytes(const struct uroce_perf_test *test)
{
	uint64_t bytes =
		test->size_bytes > test->place_bytes ? test->size_bytes : test->place_bytes;
	uint64_t lines = (bytes + LINE_BYTES - 1) / LINE_BYTES;

	return LINE_BYTES * clamp(lines, 1, UINT64_MAX);
}

uint64_t uroce_perf_test_memory_bytes(const struct uroce_perf_test *test)
{
	return uroce_perf_test_stride_bytes(test) * test->qps * test->slots;
}

void uroce_perf_test_write(char line[UROCE_RECORD_BYTES], const struct uroce_perf_test *test)
{
	snprintf(line, UROCE_RECORD_BYTES,
		"test op=%d cas=%d imm=%d latency=%d verify=%d size=%" PRIu32 " qps=%" PRIu32
		" depth=%" PRIu32 " slots=%" PRIu32,
		(int)test->op, test->cas, test->imm, test->latency, test->verify, test->size_bytes,
		test->qps, test->depth, test->slots);
}

const char *uroce_perf_test_read(const char *line, struct uroce_perf_test *test)
{
	struct uroce_perf_test settled;
	struct uroce_record record;

	*test = (struct uroce_perf_test){0};
	if (!uroce_record_begin(&record, line, "test"))
		return "it does not describe a test";
	test->op = (enum uroce_perf_op)uroce_record_number(&record, "op", 0, UROCE_PERF_OPS - 1);
	test->cas = uroce_record_number(&record, "cas", 0, 1);
	test->imm = uroce_record_number(&record, "imm", 0, 1);
	test->latency = uroce_record_number(&record, "latency", 0, 1);
	test->verify = uroce_record_number(&record, "verify", 0, 1);
	test->size_bytes = (uint32_t)uroce_record_number(&record, "size", 0, UROCE_PERF_SIZE_MAX);
	test->qps = (uint32_t)uroce_record_number(&record, "qps", 1, UROCE_PERF_QPS_MAX);
	test->depth = (uint32_t)uroce_record_number(&record, "depth", 1, UROCE_PERF_DEPTH_MAX);
	test->slots = (uint32_t)uroce_record_number(&record, "slots", 1, UROCE_PERF_DEPTH_MAX);
	if (!uroce_record_end(&record))
		return "a field of the test is missing or out of range";
	settled = *test;
	uroce_perf_test_settle(&settled);
	if (settled.size_bytes != test->size_bytes || settled.depth != test->depth ||
		settled.slots != test->slots)
		return "size, depth and places of the test do not fit each other";
	return uroce_perf_test_check(test);
}
