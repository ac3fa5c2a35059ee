/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Packet sequence numbers: 24-bit serial arithmetic (InfiniBand 9.7.2).
 *
 * A PSN names a place on a circle of 2^24; of two PSNs the one less than 2^23 ahead is the newer.
 * Every comparison of PSNs in the engine goes through here: "a < b" on PSNs is always a fault.
 * uroce never has more than 2^23 packets outstanding, so the answer is never ambiguous.
 */
#ifndef UROCE_PSN_H
#define UROCE_PSN_H

#include <stdbool.h>
#include <stdint.h>

#define UROCE_PSN_MASK		  0xffffffu
#define UROCE_PSN_OUTSTANDING_MAX (1u << 23)

/* psn + n on the circle; n may be "negative" in two's complement. */
static inline uint32_t uroce_psn_add(uint32_t psn, uint32_t n)
{
	return (psn + n) & UROCE_PSN_MASK;
}

/* How far a is ahead of b, in [-2^23, 2^23). */
static inline int32_t uroce_psn_diff(uint32_t a, uint32_t b)
{
	return (int32_t)((a - b) << 8) >> 8;
}

static inline bool uroce_psn_before(uint32_t a, uint32_t b)
{
	return uroce_psn_diff(a, b) < 0;
}

/* first <= psn < first + n, on the circle, for n up to 2^23. */
static inline bool uroce_psn_within(uint32_t psn, uint32_t first, uint32_t n)
{
	return ((psn - first) & UROCE_PSN_MASK) < n;
}

#endif
