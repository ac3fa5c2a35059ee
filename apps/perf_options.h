/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The command line of uroce-perf: what is to be measured, and with whom.
 */
#ifndef UROCE_APP_PERF_OPTIONS_H
#define UROCE_APP_PERF_OPTIONS_H

#include "session.h"

struct uroce_perf_options {
	struct uroce_session_options session; /* first: uroce_session_table expects it there */
	bool is_wanted[UROCE_PERF_OPS];
	bool op_is_given, size_is_given, depth_is_given;
	uint32_t size_from_bytes, size_to_bytes;
	struct uroce_perf_test test; /* what all rows have in common */
	bool is_perftest;	     /* the other side is perftest */
	/* What of the above only makes sense where the client is; for the message. */
	const char *client_option;
};

/*
 * Takes the command line in, with defaults for what it leaves out. False: something is wrong with
 * it, and words were said. With options->session.help nothing else is looked at.
 */
bool uroce_perf_options_parse(
	struct uroce_perf_options *options, const struct uroce_arguments *arguments);

/* Prints what --help does. */
void uroce_perf_options_help(void);

/* The operation, if there is just one; else -1. */
int uroce_perf_options_only_op(const struct uroce_perf_options *options);

#endif
