/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Rows of uroce-perf. The columns are those that users of perftest know, under the same names, with
 * one difference: gigabits are always 10^9 bits, and messages are counted in millions.
 */
#include "perf_report.h"

#include <inttypes.h>
#include <stdio.h>

void uroce_perf_report_head(const struct uroce_perf_result *result, bool is_loopback)
{
	const struct uroce_perf_test *test = &result->test;

	printf("\n%s%s, %s, %s, path MTU %" PRIu32 " bytes, %" PRIu32
	       " queue pair%s, depth %" PRIu32 "%s\n",
		uroce_perf_op_name(test->op),
		test->op == UROCE_PERF_ATOMIC
			? test->cas ? " (compare and swap)" : " (fetch and add)"
			: test->imm ? " with immediate"
				    : "",
		test->latency ? uroce_perf_test_is_pingpong(test)
				? "latency (half of a round trip)"
				: "latency (posting to completion)"
			      : "bandwidth",
		is_loopback ? "both sides in this process" : "to another process",
		result->mtu_bytes, test->qps, test->qps == 1 ? "" : "s", test->depth,
		test->verify ? ", every message checked" : "");
	printf(" %-10s %-12s ", "#bytes", "#iterations");
	if (test->latency)
		printf("%13s %13s %13s %13s %13s\n", "t_min[us]", "t_median[us]", "t_99%[us]",
			"t_99.9%[us]", "t_max[us]");
	else
		printf("%18s %18s\n", "BW average[Gb/s]", "MsgRate[Mmsg/s]");
}

static double gbps(const struct uroce_perf_result *result)
{
	return (double)result->messages * result->test.size_bytes * 8 / result->seconds / 1e9;
}

static double mmps(const struct uroce_perf_result *result)
{
	return (double)result->messages / result->seconds / 1e6;
}

void uroce_perf_report_row(
	const struct uroce_perf_result *result, const struct uroce_latency *latency)
{
	printf(" %-10" PRIu32 " %-12" PRIu64 " ", result->test.size_bytes, result->messages);
	if (result->test.latency)
		printf("%13.2f %13.2f %13.2f %13.2f %13.2f\n", latency->min_us, latency->p50_us,
			latency->p99_us, latency->p999_us, latency->max_us);
	else
		printf("%18.3f %18.6f\n", gbps(result), mmps(result));
}

void uroce_perf_report_json(
	const struct uroce_perf_result *result, const struct uroce_latency *latency)
{
	const struct uroce_perf_test *test = &result->test;

	printf("{\"op\": \"%s\", \"size_bytes\": %" PRIu32 ", \"qps\": %" PRIu32
	       ", \"depth\": %" PRIu32 ", \"workers\": %" PRIu32 ", \"mtu_bytes\": %" PRIu32
	       ", \"iterations\": %" PRIu64
	       ", \"seconds\": %.9f, \"gbps\": %.6f, \"mmps\": %.6f, \"lat_us\": ",
		uroce_perf_op_name(test->op), test->size_bytes, test->qps, test->depth,
		result->workers, result->mtu_bytes, result->messages, result->seconds, gbps(result),
		mmps(result));
	if (test->latency)
		printf("{\"min\": %.3f, \"p50\": %.3f, \"p99\": %.3f, \"p999\": %.3f, "
		       "\"max\": %.3f}",
			latency->min_us, latency->p50_us, latency->p99_us, latency->p999_us,
			latency->max_us);
	else
		printf("null");
	printf(", \"verified\": %s, \"imm\": %s}\n", result->is_verified ? "true" : "false",
		test->imm ? "true" : "false");
}
