/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Keys, and the one function that turns (key, address, length, access) into a pointer.
 *
 * The key of a slot is stored last and cleared first, with release order, and readers load it
 * first: a reader that sees the key sees the region that goes with it. A reader that saw the key
 * just before it was cleared may still use the memory in this turn of its core; the caller of
 * deregister waits for that. At most half of the slots are used, so a random draw finds a free
 * slot in two tries on average.
 */
#include "mr.h"

#include <errno.h>
#include <stdbool.h>

#include "status.h"

enum {
	KEY_INDEX_BITS = 24,
	KEY_TAG_MASK = 0xff,
	DRAWS_MAX = 4096
};

void uroce_mr_table_init(struct uroce_mr_table *table, struct uroce_mr_slot *slots, uint32_t num)
{
	table->slots = slots;
	table->mask = num - 1;
	table->used = 0;
}

static uint64_t next_random(uint64_t *state)
{
	uint64_t z = *state += 0x9e3779b97f4a7c15u;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
	z = (z ^ z >> 27) * 0x94d049bb133111ebu;
	return z ^ z >> 31;
}

static struct uroce_mr_slot *slot_of(const struct uroce_mr_table *table, uint32_t key)
{
	return &table->slots[key >> 8 & table->mask];
}

static bool slot_is_free(struct uroce_mr_slot *slot)
{
	return atomic_load_explicit(&slot->key, memory_order_relaxed) == 0;
}

/* A key whose slot is free; 0 if luck runs out, which a half-empty table makes impossible. */
static uint32_t draw_key(struct uroce_mr_table *table, uint64_t random)
{
	for (int i = 0; i < DRAWS_MAX; i++) {
		uint64_t bits = next_random(&random);
		uint32_t index = (uint32_t)(bits >> (64 - KEY_INDEX_BITS));
		uint32_t tag = (uint32_t)bits & KEY_TAG_MASK;
		struct uroce_mr_slot *slot = slot_of(table, index << 8);

		if (index == 0 || !slot_is_free(slot))
			continue;
		if (tag == (slot->last_key & KEY_TAG_MASK))
			tag = (tag + 1) & KEY_TAG_MASK;
		return index << 8 | tag;
	}
	return 0;
}

int uroce_mr_table_add(struct uroce_mr_table *table, const struct uroce_mr_attr *attr,
	uint64_t random, uint32_t *key)
{
	const uint32_t writes = UROCE_ACCESS_REMOTE_WRITE | UROCE_ACCESS_REMOTE_ATOMIC;
	struct uroce_mr_slot *slot;
	uint32_t chosen = attr->key;

	if (attr->addr + attr->bytes < attr->addr && attr->addr + attr->bytes != 0)
		return -EINVAL;
	if ((attr->access & writes) && !(attr->access & UROCE_ACCESS_LOCAL_WRITE))
		return -EINVAL;
	if (chosen != 0 && chosen >> 8 == 0)
		return -EINVAL;
	if (table->used >= (table->mask + 1) / 2)
		return -ENOMEM;
	if (chosen == 0)
		chosen = draw_key(table, random);
	if (chosen == 0)
		return -ENOMEM;
	slot = slot_of(table, chosen);
	if (!slot_is_free(slot))
		return -EEXIST;
	slot->pd = attr->pd;
	slot->access = attr->access;
	slot->addr = attr->addr;
	slot->bytes = attr->bytes;
	slot->ptr = attr->ptr;
	slot->last_key = chosen;
	atomic_store_explicit(&slot->key, chosen, memory_order_release);
	table->used++;
	*key = chosen;
	return 0;
}

static bool slot_holds(struct uroce_mr_slot *slot, uint32_t key)
{
	return key >> 8 != 0 && slot->last_key == key && !slot_is_free(slot);
}

void uroce_mr_table_kill(struct uroce_mr_table *table, uint32_t key)
{
	struct uroce_mr_slot *slot = slot_of(table, key);

	if (slot_holds(slot, key))
		atomic_store_explicit(&slot->key, UROCE_MR_DEAD, memory_order_release);
}

int uroce_mr_table_remove(struct uroce_mr_table *table, uint32_t key)
{
	struct uroce_mr_slot *slot = slot_of(table, key);

	if (!slot_holds(slot, key))
		return -ENOENT;
	atomic_store_explicit(&slot->key, 0, memory_order_release);
	table->used--;
	return 0;
}

enum uroce_mr_verdict uroce_mr_resolve(const struct uroce_mr_table *table, uint32_t pd,
	uint32_t key, uint64_t addr, uint64_t bytes, uint32_t access, uint8_t **ptr)
{
	const struct uroce_mr_slot *slot = slot_of(table, key);
	uint64_t offset;

	if (key >> 8 == 0 || atomic_load_explicit(&slot->key, memory_order_acquire) != key)
		return UROCE_MR_NO_KEY;
	if (slot->pd != pd)
		return UROCE_MR_WRONG_PD;
	if (access & ~slot->access)
		return UROCE_MR_NO_RIGHT;
	/* addr - slot->addr wraps to something huge when addr is below the region. */
	offset = addr - slot->addr;
	if (offset > slot->bytes || bytes > slot->bytes - offset)
		return UROCE_MR_RANGE;
	*ptr = slot->ptr + offset;
	return UROCE_MR_OK;
}
