/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A capture of any length, made by the simulator: connections that write, read and send through a
 * network that loses, swaps and doubles some of it.
 */
#ifndef UROCE_TESTS_CAPTURES_MADE_H
#define UROCE_TESTS_CAPTURES_MADE_H

#include <stdint.h>

struct captures_made {
	uint64_t frames;
	uint64_t bytes;
	uint64_t lost; /* by the network behind the place of capture */
};

/* Writes the capture to path; the same one always for the same numbers. Ends the program if it
 * cannot. */
struct captures_made captures_make(const char *path, uint64_t frames, uint32_t mtu_bytes);

#endif
