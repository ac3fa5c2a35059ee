/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * uroce-perf: how much, how many and how fast.
 *
 * This file: the rows that the command line asks for. What a row measures is in perf_*.c.
 */
#include <inttypes.h>
#include <stdio.h>

#include "perf_options.h"
#include "perf_report.h"

#define SAMPLES_MAX UINT64_C(4000000)

static int run_row(struct uroce_perf_client *client, const struct uroce_perf_options *options,
	const struct uroce_perf_test *test, bool is_first)
{
	struct uroce_perf_result result;
	struct uroce_samples samples = {0};
	struct uroce_latency latency;
	uint64_t wanted =
		test->iterations && test->iterations < SAMPLES_MAX ? test->iterations : SAMPLES_MAX;
	int err = -1;

	if (test->latency && !uroce_samples_init(&samples, wanted))
		uroce_app_say("no memory for the samples");
	else
		err = uroce_perf_client_run(client, test, &samples, &result);
	if (!err) {
		uroce_samples_summarise(&samples, &latency);
		if (!options->session.json && is_first)
			uroce_perf_report_head(&result, client->server != NULL);
		if (options->session.json)
			uroce_perf_report_json(&result, &latency);
		else
			uroce_perf_report_row(&result, &latency);
		fflush(stdout);
	}
	uroce_samples_fini(&samples);
	return err;
}

/* The next size of a sweep; 0 doubles to 1, and the last one is where the user said. */
static uint64_t next_size(uint64_t size, uint64_t to)
{
	uint64_t next = size ? 2 * size : 1;

	return size < to && next > to ? to : next;
}

static int drive(struct uroce_perf_client *client, void *context)
{
	const struct uroce_perf_options *options = context;

	for (int op = 0; op < UROCE_PERF_OPS; op++) {
		bool is_sweep = op != UROCE_PERF_ATOMIC;
		uint64_t to = is_sweep ? options->size_to_bytes : 0;

		if (!options->is_wanted[op])
			continue;
		for (uint64_t size = is_sweep ? options->size_from_bytes : 0; size <= to;
			size = next_size(size, to)) {
			struct uroce_perf_test test = options->test;

			test.op = (enum uroce_perf_op)op;
			test.size_bytes = (uint32_t)size;
			test.imm &= op == UROCE_PERF_WRITE || op == UROCE_PERF_SEND;
			uroce_perf_test_settle(&test);
			if (run_row(client, options, &test,
				    size == (is_sweep ? options->size_from_bytes : 0)))
				return -1;
		}
	}
	return 0;
}

int main(int argc, char **argv)
{
	struct uroce_perf_options options;
	struct uroce_arguments arguments;

	uroce_app_name = "uroce-perf";
	uroce_arguments_split(&arguments, argc, argv);
	if (!uroce_perf_options_parse(&options, &arguments))
		return UROCE_APP_USAGE;
	if (options.session.help) {
		uroce_perf_options_help();
		return uroce_app_finish_output(UROCE_APP_DONE);
	}
	return uroce_session_run(&options.session, &arguments, uroce_perf_options_only_op(&options),
		drive, &options);
}
