/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One world run to its end, every completion and every byte held against the model; and, if they
 * differ, the smallest part of that world in which they still do.
 */
#ifndef UROCE_TESTS_SOAK_H
#define UROCE_TESTS_SOAK_H

#include <stdbool.h>
#include <stdint.h>

#include "world.h"

struct soak_result {
	bool good;
	bool no_plan;	 /* and nothing ran: the model does not accept what was to be done */
	char wrong[256]; /* what the run and the model differ in */
	uint32_t conns;
	uint32_t broken;  /* connections whose retries ran out */
	uint32_t refused; /* connections that ended with an operation that must be refused */
	uint64_t packets; /* handed to the network */
	uint64_t faults;
	uint64_t end_ns;
	struct net_fate *fates; /* all that befell; the caller frees it */
	uint32_t num_fates;
};

/* Runs a part of a world. trace > 0: prints that many last events of each node if it is bad. */
struct soak_result soak_run(const struct world_part *part, uint32_t trace);

/*
 * Leaves out of a part whose run is bad whatever is not needed for that: connections, pauses,
 * faults, operations, again and again until nothing more can go, or max_runs runs are used up.
 * The fates of the result are new memory. Returns the runs that it took.
 */
uint32_t soak_shrink(struct world_part *part, uint32_t max_runs);

/* What there is left in a part: operations, faults. */
uint32_t soak_count_ops(const struct world_part *part);

/* Tells of a divergence: shrinks it, prints what is left and the command that repeats it. */
void soak_report(const struct world_part *part, const char *wrong);

#endif
