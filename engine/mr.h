/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Memory regions and their keys.
 *
 * A key is a 24-bit index drawn at random and an 8-bit tag that changes when a slot is used again,
 * so a guessed or remembered key has one chance in 2^32. The low bits of the index are the slot:
 * a lookup is one load and one compare, whatever the number of regions. lkey and rkey are equal.
 *
 * Threads: register and deregister are for one thread at a time (the caller locks); resolve is for
 * any thread at any time. The caller frees memory only after every core has made a turn since
 * deregister.
 */
#ifndef UROCE_MR_H
#define UROCE_MR_H

#include <stdatomic.h>
#include <stdint.h>

enum {
	UROCE_MR_DEAD = 1
}; /* index 0 is never drawn */

struct uroce_mr_slot {
	_Atomic uint32_t key; /* 0: free; UROCE_MR_DEAD: not found, and not free yet */
	uint32_t pd;
	uint32_t access; /* enum uroce_access */
	uint32_t last_key;
	uint64_t addr; /* what the peer calls the first byte */
	uint64_t bytes;
	uint8_t *ptr; /* where it is */
};

struct uroce_mr_table {
	struct uroce_mr_slot *slots;
	uint32_t mask;
	uint32_t used;
};

struct uroce_mr_attr {
	uint32_t pd;
	uint32_t access;
	uint8_t *ptr;
	uint64_t addr;
	uint64_t bytes;
	uint32_t key; /* 0: drawn at random; else exactly this one (replays) */
};

/* Why memory may not be touched. */
enum uroce_mr_verdict {
	UROCE_MR_OK,
	UROCE_MR_NO_KEY, /* no region has this key */
	UROCE_MR_WRONG_PD,
	UROCE_MR_NO_RIGHT, /* the region does not allow this kind of access */
	UROCE_MR_RANGE,	   /* the range is not inside the region */
};

/* slots: zeroed, a power of two of them (num), at most 2^23, owned by the caller. */
void uroce_mr_table_init(struct uroce_mr_table *table, struct uroce_mr_slot *slots, uint32_t num);

/*
 * Adds a region; *key is its key. random: 64 fresh random bits.
 * -EINVAL: a range that wraps past 2^64, an empty key index, or remote rights to write without
 * local ones; -ENOMEM: the table is half full; -EEXIST: the key asked for, or its slot, is taken.
 */
int uroce_mr_table_add(struct uroce_mr_table *table, const struct uroce_mr_attr *attr,
	uint64_t random, uint32_t *key);

/* A region cannot be found from now on, but its slot is not used again before it is removed. */
void uroce_mr_table_kill(struct uroce_mr_table *table, uint32_t key);

/* Removes a region, killed or not. -ENOENT: there is none with this key. */
int uroce_mr_table_remove(struct uroce_mr_table *table, uint32_t key);

/*
 * Whether [addr, addr + bytes) of the region `key` may be accessed so; *ptr is where it is.
 * Not to be asked for 0 bytes: a zero-length access needs no key (C9-88).
 */
enum uroce_mr_verdict uroce_mr_resolve(const struct uroce_mr_table *table, uint32_t pd,
	uint32_t key, uint64_t addr, uint64_t bytes, uint32_t access, uint8_t **ptr);

#endif
