/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The queue pair table: open addressing with a bounded reach.
 *
 * A slot's number is stored last and cleared first, as in mr.c. Lookups probe `reach` slots past
 * the home slot; reach only grows, and only explicit numbers make it grow, so an endpoint that
 * draws its own numbers probes once. A frame to an unknown number costs at most 17 loads.
 */
#include "qptable.h"

#include <errno.h>

#include "wire.h"

enum {
	REACH_MAX = 16
};

void uroce_qptable_init(struct uroce_qptable *table, struct uroce_qptable_slot *slots,
	uint32_t slots_log2, uint32_t random)
{
	table->slots = slots;
	table->slots_log2 = slots_log2;
	table->mask = (1u << slots_log2) - 1;
	table->used = 0;
	table->owner_mask = 0;
	atomic_flag_clear(&table->busy);
	table->next = random & table->mask;
	atomic_store_explicit(&table->reach, 0, memory_order_relaxed);
	for (uint32_t i = 0; i <= table->mask; i++)
		slots[i].generation = random >> 8;
}

void uroce_qptable_mark_owners(struct uroce_qptable *table, uint32_t num_owners)
{
	uint32_t mask = 0;

	while (mask + 1 < num_owners)
		mask = 2 * mask + 1;
	table->owner_mask = mask & table->mask;
}

static uint32_t qpn_at(const struct uroce_qptable *table, uint32_t slot)
{
	return atomic_load_explicit(&table->slots[slot & table->mask].qpn, memory_order_acquire);
}

static bool find_slot(const struct uroce_qptable *table, uint32_t qpn, uint32_t *slot)
{
	uint32_t reach = atomic_load_explicit(&table->reach, memory_order_relaxed);

	for (uint32_t i = 0; i <= reach; i++) {
		*slot = (qpn + i) & table->mask;
		if (qpn_at(table, *slot) == qpn)
			return qpn != 0;
	}
	return false;
}

static bool qpn_is_reserved(uint32_t qpn)
{
	return qpn == 0 || qpn == UROCE_QPN_MULTICAST;
}

/* An odd factor: every slot once a cycle, and no runs for explicit numbers to collide with. */
#define SPREAD 0x9e3779b1u

/* A free slot in turn, of the owner's if there is one, and its next number. */
static uint32_t draw_qpn(struct uroce_qptable *table, uint32_t owner)
{
	uint32_t slot, qpn, other;

	for (uint64_t tried = 0;; tried++) {
		slot = table->next++ * SPREAD & table->mask;
		if (qpn_at(table, slot) != 0)
			continue;
		/* Twice around: the number of a slot may be in use elsewhere, and its next is not.
		 */
		if (((slot ^ owner) & table->owner_mask) && tried <= 2ull * table->mask)
			continue;
		qpn = (++table->slots[slot].generation << table->slots_log2 | slot) &
			UROCE_QPN_MASK;
		if (!qpn_is_reserved(qpn) && qpn != UROCE_QPN_GSI && !find_slot(table, qpn, &other))
			return qpn;
	}
}

static int place_explicit(struct uroce_qptable *table, uint32_t qpn, uint32_t *slot)
{
	if (qpn_is_reserved(qpn) || qpn > UROCE_QPN_MASK)
		return -EINVAL;
	if (find_slot(table, qpn, slot))
		return -EEXIST;
	for (uint32_t i = 0; i <= REACH_MAX; i++) {
		*slot = (qpn + i) & table->mask;
		if (qpn_at(table, *slot) != 0)
			continue;
		if (i > atomic_load_explicit(&table->reach, memory_order_relaxed))
			atomic_store_explicit(&table->reach, i, memory_order_release);
		return 0;
	}
	return -ENOMEM;
}

static void lock(struct uroce_qptable *table)
{
	while (atomic_flag_test_and_set_explicit(&table->busy, memory_order_acquire))
		;
}

static void unlock(struct uroce_qptable *table)
{
	atomic_flag_clear_explicit(&table->busy, memory_order_release);
}

static int add(struct uroce_qptable *table, uint32_t *qpn, struct uroce_qp *qp, uint32_t owner)
{
	uint32_t slot;
	int err = 0;

	if (table->used >= (table->mask + 1) / 4 * 3)
		return -ENOMEM;
	if (*qpn == 0) {
		*qpn = draw_qpn(table, owner);
		slot = *qpn & table->mask;
	} else {
		err = place_explicit(table, *qpn, &slot);
	}
	if (err)
		return err;
	atomic_store_explicit(&table->slots[slot].qp, qp, memory_order_relaxed);
	atomic_store_explicit(&table->slots[slot].owner, owner, memory_order_relaxed);
	table->used++;
	atomic_store_explicit(&table->slots[slot].qpn, *qpn, memory_order_release);
	return 0;
}

int uroce_qptable_add(
	struct uroce_qptable *table, uint32_t *qpn, struct uroce_qp *qp, uint32_t owner)
{
	int err;

	lock(table);
	err = add(table, qpn, qp, owner);
	unlock(table);
	return err;
}

void uroce_qptable_remove(struct uroce_qptable *table, uint32_t qpn)
{
	uint32_t slot;

	lock(table);
	if (find_slot(table, qpn, &slot)) {
		atomic_store_explicit(&table->slots[slot].qpn, 0, memory_order_release);
		table->used--;
	}
	unlock(table);
}

bool uroce_qptable_find(
	const struct uroce_qptable *table, uint32_t qpn, struct uroce_qp **qp, uint32_t *owner)
{
	uint32_t slot;

	if (!find_slot(table, qpn, &slot))
		return false;
	*qp = atomic_load_explicit(&table->slots[slot].qp, memory_order_acquire);
	*owner = atomic_load_explicit(&table->slots[slot].owner, memory_order_acquire);
	/* The slot may have changed hands between the loads, if it belongs to another core. */
	return qpn_at(table, slot) == qpn;
}
