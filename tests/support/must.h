/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Set-up that has to succeed: what fails is a fault of the test, and ends it at once.
 */
#ifndef UROCE_TESTS_MUST_H
#define UROCE_TESTS_MUST_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ring.h"

#define MUST(cond) \
	do { \
		if (!(cond)) { \
			fprintf(stderr, "%s:%d: test set-up failed: %s\n", __FILE__, __LINE__, \
				#cond); \
			abort(); \
		} \
	} while (0)

/* Zeroed, cache line aligned, to be freed by who asked. */
static inline void *must_allocate(size_t bytes)
{
	size_t line = UROCE_CACHE_LINE_BYTES;
	void *p = aligned_alloc(line, (bytes + line - 1) / line * line);

	MUST(p);
	memset(p, 0, bytes);
	return p;
}

#endif
