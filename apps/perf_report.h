/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What uroce-perf prints: a head line per operation and a row per message size, or JSON objects.
 */
#ifndef UROCE_APP_PERF_REPORT_H
#define UROCE_APP_PERF_REPORT_H

#include <stdbool.h>

#include "perf_client.h"

/* What is measured, and the columns with their units. */
void uroce_perf_report_head(const struct uroce_perf_result *result, bool is_loopback);
/* latency: looked at if the test was one of latency. */
void uroce_perf_report_row(
	const struct uroce_perf_result *result, const struct uroce_latency *latency);
/* The same as an object on a line, with latency null if it was not measured. */
void uroce_perf_report_json(
	const struct uroce_perf_result *result, const struct uroce_latency *latency);

#endif
