/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * From a queue pair number to its worker and queue pair.
 *
 * Any 24-bit number can be in the table. Numbers that uroce draws are made so that their low bits
 * are their slot, and are found at the first look; numbers that a replay asks for may collide and
 * lie up to 16 slots further. A number that was used comes back only after all other slots and
 * then with another generation, so late frames of a dead connection find nobody.
 *
 * Threads: all calls are for any thread at any time; add and remove wait for each other, find for
 * nobody. A core dereferences only queue pairs of its own; of others it uses the owner.
 */
#ifndef UROCE_QPTABLE_H
#define UROCE_QPTABLE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct uroce_qp;

struct uroce_qptable_slot {
	_Atomic uint32_t qpn;	/* 0: free */
	_Atomic uint32_t owner; /* core id */
	_Atomic(struct uroce_qp *) qp;
	uint32_t generation;
};

struct uroce_qptable {
	struct uroce_qptable_slot *slots;
	uint32_t slots_log2;
	uint32_t mask;
	uint32_t used;
	uint32_t next;		/* slot to try next when drawing a number */
	uint32_t owner_mask;	/* bits of a drawn number that are its owner's */
	atomic_flag busy;	/* add and remove, one at a time */
	_Atomic uint32_t reach; /* how far from its home any number lies */
};

/* slots: zeroed, 2^slots_log2 of the caller's (at most 2^22); random: 32 fresh random bits. */
void uroce_qptable_init(struct uroce_qptable *table, struct uroce_qptable_slot *slots,
	uint32_t slots_log2, uint32_t random);

/*
 * Before any is added: numbers that are drawn carry their owner, below num_owners, in as many low
 * bits as that takes. For ports that look at those; finding a queue pair does not depend on it, and
 * numbers that were asked for may leave an owner none of its own, who then gets others.
 */
void uroce_qptable_mark_owners(struct uroce_qptable *table, uint32_t num_owners);

/*
 * Adds a queue pair under *qpn, or under a number of uroce's choice when *qpn is 0, which is never
 * the management's, 1.
 * -ENOMEM: the table is three quarters full, or the number's neighbourhood is;
 * -EEXIST: the number is taken; -EINVAL: it is no queue pair's: 0xffffff, or longer than 24 bits.
 */
int uroce_qptable_add(
	struct uroce_qptable *table, uint32_t *qpn, struct uroce_qp *qp, uint32_t owner);
void uroce_qptable_remove(struct uroce_qptable *table, uint32_t qpn);

/* False when there is none. *qp may be dereferenced only by the core *owner. */
bool uroce_qptable_find(
	const struct uroce_qptable *table, uint32_t qpn, struct uroce_qp **qp, uint32_t *owner);

#endif
