/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Memory regions, windows on them, and their keys.
 *
 * A key is a 24-bit index drawn at random and an 8-bit tag that changes when a slot is used again,
 * so a guessed or remembered key has one chance in 2^32. The low bits of the index are the slot:
 * a lookup is one load and one compare, whatever the number of regions. lkey and rkey are equal.
 *
 * A plain region is good from add to remove. A fast region and a window are slots whose memory,
 * rights and tag come later, by work request, and may go again. A window is a part of a region
 * that peers alone may use; the region stays while windows are bound to it.
 *
 * Threads: add, kill and remove are for one thread at a time (the caller locks); the others are
 * for any thread at any time: each slot has a version that is odd while it changes, and who reads
 * it then reads it again. Two changes of one slot at once: the second is refused (in use). The
 * caller frees memory only after every core has made a turn since its key was killed.
 */
#ifndef UROCE_MR_H
#define UROCE_MR_H

#include <stdalign.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum {
	UROCE_MR_DEAD = 1
}; /* index 0 is never drawn */

enum uroce_mr_kind {
	UROCE_MR_PLAIN,
	UROCE_MR_FAST,
	UROCE_MR_WINDOW_1,
	UROCE_MR_WINDOW_2,
};

/* The memory within which a fast region may be registered. */
struct uroce_mr_area {
	uint8_t *ptr;
	uint64_t bytes;
};

struct uroce_mr_slot {
	alignas(64) _Atomic uint32_t key; /* 0: free; UROCE_MR_DEAD: not found, and not free yet */
	uint32_t version;		  /* odd: being written, if the key is there */
	uint32_t pd;
	uint32_t qpn; /* of a type 2 window: who bound it */
	uint32_t last_key;
	uint16_t access; /* enum uroce_access */
	uint8_t kind;	 /* enum uroce_mr_kind */
	_Atomic bool changing;
	uint64_t addr; /* what the peer calls the first byte */
	uint64_t bytes;
	uint8_t *ptr;		  /* where it is */
	uint32_t region;	  /* of a bound window: the key of what it is bound to */
	_Atomic uint32_t windows; /* bound to this region; UINT32_MAX: none may be */
	const struct uroce_mr_area *area;
};

_Static_assert(sizeof(struct uroce_mr_slot) == 64, "a lookup touches one cache line");

struct uroce_mr_table {
	struct uroce_mr_slot *slots;
	uint32_t mask;
	uint32_t used;
};

struct uroce_mr_attr {
	enum uroce_mr_kind kind;
	uint32_t pd;
	uint32_t access;
	uint8_t *ptr;
	uint64_t addr;
	uint64_t bytes;
	const struct uroce_mr_area *area; /* of a fast region; must outlive it */
	uint32_t key;			  /* 0: drawn at random; else exactly this one (replays) */
};

/* Why memory may not be touched, or a key not be used so. */
enum uroce_mr_verdict {
	UROCE_MR_OK,
	UROCE_MR_NO_KEY, /* no region has this key */
	UROCE_MR_WRONG_PD,
	UROCE_MR_NO_RIGHT,   /* the region does not allow this kind of access */
	UROCE_MR_RANGE,	     /* the range is not inside the region */
	UROCE_MR_WRONG_QP,   /* a type 2 window that another queue pair bound */
	UROCE_MR_WRONG_KIND, /* not what a bind, registration or invalidation is for */
	UROCE_MR_IN_USE,     /* bound or registered already, or windows are bound to it */
};

/* slots: zeroed, a power of two of them (num), at most 2^23, owned by the caller. */
void uroce_mr_table_init(struct uroce_mr_table *table, struct uroce_mr_slot *slots, uint32_t num);

/*
 * Adds a region, or the slot of a fast region or window, which is found only once it is registered
 * or bound; *key is its key. random: 64 fresh random bits.
 * -EINVAL: a range that wraps past 2^64, an empty key index, or remote rights to write without
 * local ones; -ENOMEM: the table is half full; -EEXIST: the key asked for, or its slot, is taken.
 */
int uroce_mr_table_add(struct uroce_mr_table *table, const struct uroce_mr_attr *attr,
	uint64_t random, uint32_t *key);

/*
 * A region cannot be found from now on, but its slot is not used again before it is removed. key:
 * any that the slot has had since it was added; of a window or fast region, the tag may differ.
 * -EBUSY: windows are bound to it, and it stays what it was; -ENOENT: there is none.
 */
int uroce_mr_table_kill(struct uroce_mr_table *table, uint32_t key);

/* Removes a region, killed or not. -ENOENT: there is none with this key; -EBUSY as kill. */
int uroce_mr_table_remove(struct uroce_mr_table *table, uint32_t key);

/*
 * Whether [addr, addr + bytes) of the region `key` may be accessed so; *ptr is where it is.
 * Not to be asked for 0 bytes: a zero-length access needs no key (C9-88). qpn: who asks, for
 * windows of type 2; windows open to remote rights only.
 */
enum uroce_mr_verdict uroce_mr_resolve_for(const struct uroce_mr_table *table, uint32_t pd,
	uint32_t qpn, uint32_t key, uint64_t addr, uint64_t bytes, uint32_t access, uint8_t **ptr);

/* The same for whom no type 2 window is bound. */
enum uroce_mr_verdict uroce_mr_resolve(const struct uroce_mr_table *table, uint32_t pd,
	uint32_t key, uint64_t addr, uint64_t bytes, uint32_t access, uint8_t **ptr);

/* Whether the whole region may be accessed so, whatever its range. */
enum uroce_mr_verdict uroce_mr_covers(const struct uroce_mr_table *table, uint32_t pd, uint32_t qpn,
	uint32_t key, uint32_t access);

/* A BIND_MW or REG_MR: key, the slot's as it is now; new_key, as it shall be: the tag differs. */
struct uroce_mr_change {
	uint32_t pd;
	uint32_t qpn;
	uint32_t key;
	uint32_t new_key;
	uint32_t access; /* UROCE_ACCESS_ZERO_BASED: addresses count from 0 */
	uint32_t lkey;	 /* bind: of the region */
	uint64_t addr;	 /* bind: in the region; register: what peers call the first byte */
	uint64_t bytes;	 /* bind: 0 unbinds a type 1 window */
	uint8_t *ptr;	 /* register: inside the fast region's area */
};

/* Binds a window, or binds a type 1 window anew (InfiniBand 10.6.7). */
enum uroce_mr_verdict uroce_mr_bind(
	struct uroce_mr_table *table, const struct uroce_mr_change *change);

/* Gives a fast region its memory, rights and key (InfiniBand 10.6.4). */
enum uroce_mr_verdict uroce_mr_register_fast(
	struct uroce_mr_table *table, const struct uroce_mr_change *change);

/*
 * Ends a fast registration or the binding of a type 2 window (InfiniBand 10.6.7.2.6): the key is
 * good for nothing from now on. check: only whether it could.
 */
enum uroce_mr_verdict uroce_mr_invalidate(
	struct uroce_mr_table *table, uint32_t pd, uint32_t qpn, uint32_t key, bool check);

#endif
