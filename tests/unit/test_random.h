/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Numbers that look random and are the same in every run.
 *
 * A test that fails must fail again tomorrow, so every seed is written down in the test and the
 * generator is ours: the C library's may differ from one system to the next.
 */
#ifndef UROCE_TESTS_TEST_RANDOM_H
#define UROCE_TESTS_TEST_RANDOM_H

#include <stdint.h>

/* Xorshift64*; state must not be 0. */
static inline uint64_t random_next(uint64_t *state)
{
	uint64_t x = *state;

	x ^= x >> 12;
	x ^= x << 25;
	x ^= x >> 27;
	*state = x;
	return x * 0x2545f4914f6cdd1du;
}

/* 0 to n - 1; n is small, so the bias does not matter here. */
static inline uint32_t random_below(uint64_t *state, uint32_t n)
{
	return (uint32_t)((random_next(state) >> 32) % n);
}

#endif
