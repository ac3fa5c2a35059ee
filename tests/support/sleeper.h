/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A worker in a thread of its own that polls and, when idle, sleeps; how long at the most is noted.
 */
#ifndef UROCE_TESTS_SLEEPER_H
#define UROCE_TESTS_SLEEPER_H

#include "device.h"

/* What no worker sleeps whom something wakes that may sleep a minute. */
#define SLEEPER_HALF_A_MINUTE_NS 30000000000u

struct sleeper {
	struct uroce_worker *worker;
	pthread_t thread;
	uint64_t longest_ns; /* valid once it is stopped */
};

void sleeper_start(struct sleeper *s, struct uroce_worker *worker);
/* Until it says that it sleeps. */
void sleeper_await(const struct sleeper *s);
/* Wakes it and waits for its end; the worker is offline then. */
void sleeper_stop(struct sleeper *s);

#endif
