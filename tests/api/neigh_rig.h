/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A table of neighbours for one test program: started, asked for its next frame, given frames.
 */
#ifndef UROCE_TESTS_NEIGH_RIG_H
#define UROCE_TESTS_NEIGH_RIG_H

#include <string.h>

#include "neigh.h"

#define SECOND_NS 1000000000ull

static struct uroce_neigh neigh;
static uint8_t out[UROCE_NEIGH_FRAME_BYTES]; /* what it said last: no more room than promised */
static uint64_t now_ns;

/* We are at mac and have these addresses. */
static inline void start_with(const uint8_t mac[6], const struct uroce_gid *addrs, uint32_t num)
{
	uroce_neigh_init(&neigh);
	uroce_neigh_start(&neigh, mac);
	for (uint32_t i = 0; i < num; i++)
		uroce_neigh_add_own(&neigh, addrs[i], 0);
	now_ns = SECOND_NS;
}

/* Somebody where frames have no tag. */
static inline struct uroce_hop untagged(struct uroce_gid addr)
{
	return (struct uroce_hop){.addr = addr};
}

/* For the first of our addresses. */
static inline int hold(struct uroce_gid addr)
{
	return uroce_neigh_hold(&neigh, untagged(addr), neigh.own[0].addr);
}

static inline uint32_t find_mac(struct uroce_gid addr, uint8_t mac[6])
{
	return uroce_neigh_find(&neigh, untagged(addr), mac);
}

static inline struct uroce_slot empty_slot(void)
{
	memset(out, 0xee, sizeof(out));
	return (struct uroce_slot){.data = out, .capacity_bytes = sizeof(out)};
}

/* Bytes of the next frame that is due. */
static inline uint32_t next(void)
{
	struct uroce_slot slot = empty_slot();

	return uroce_neigh_tx(&neigh, now_ns, &slot);
}

/* The answer's bytes; -1: it was none of ours. */
static inline int give(const uint8_t *frame, uint32_t bytes)
{
	struct uroce_slot slot = empty_slot();

	return uroce_neigh_rx(&neigh, now_ns, frame, bytes, &slot) ? (int)slot.bytes : -1;
}

#endif
