/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a worker needs of whatever moves its frames: one turn at a time.
 *
 * The library's worker knows nothing of ports. A DPDK port is one kind of link (poller.h); a test
 * ties two workers together in memory with another, where DPDK's code cannot be instrumented.
 */
#ifndef UROCE_GLUE_LINK_H
#define UROCE_GLUE_LINK_H

#include <stdint.h>

#include "core.h"

struct uroce_link_ops {
	/*
	 * Receives a burst, expires timers, transmits. Returns the frames moved. Called by the
	 * core's thread only.
	 */
	uint32_t (*turn)(void *link, struct uroce_core *core, uint64_t now_ns);
};

#endif
