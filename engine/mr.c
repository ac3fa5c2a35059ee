/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Keys, and the one function that turns (key, address, length, access) into a pointer.
 *
 * Who changes a slot holds it (changing), so two changes never mix, and has seen before that the
 * key is right, so strangers hold nothing. What is refused has changed nothing that a reader sees.
 * What is not refused is written while the version is odd, which a reader looks at before and
 * after: what it read belongs together, or is read again. It waits for no application: these
 * change only slots whose key is not there. A reader that saw a key just before it died may still
 * use the memory in this turn of its core; the caller of kill waits for that. Windows and the death
 * of their region are counted in one word (windows), so a region dies or is bound to, never both.
 * At most half of the slots are used, so a random draw finds a free slot in two tries on average.
 */
#include "mr.h"

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>

#include "status.h"

enum {
	KEY_INDEX_BITS = 24,
	KEY_TAG_MASK = 0xff,
	DRAWS_MAX = 4096
};

/* Instead of a count of windows: nothing may be bound to this. */
static const uint32_t unbindable = UINT32_MAX;

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

/*
 * Fields of slots are read while others write them: whole values, and in order, so that who sees
 * one new value sees the version that was odd before.
 */
#define GET(slot, field)	__atomic_load_n(&(slot)->field, __ATOMIC_ACQUIRE)
#define SET(slot, field, value) __atomic_store_n(&(slot)->field, (value), __ATOMIC_RELEASE)

static const uint32_t writing_rights = UROCE_ACCESS_REMOTE_WRITE | UROCE_ACCESS_REMOTE_ATOMIC;

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

/* ---- changing ---- */

/* Holds a slot for a change; false while another does. */
static bool try_lock(struct uroce_mr_slot *slot)
{
	return !atomic_exchange_explicit(&slot->changing, true, memory_order_acquire);
}

static void lock(struct uroce_mr_slot *slot)
{
	while (!try_lock(slot))
		;
}

static void unlock(struct uroce_mr_slot *slot)
{
	atomic_store_explicit(&slot->changing, false, memory_order_release);
}

/* Around what a reader must see as one. The slot is held. */
static void begin_write(struct uroce_mr_slot *slot)
{
	SET(slot, version, slot->version + 1);
}

static void end_write(struct uroce_mr_slot *slot)
{
	SET(slot, version, slot->version + 1);
}

static bool wraps(uint64_t addr, uint64_t bytes)
{
	return addr + bytes < addr && addr + bytes != 0;
}

static bool is_window(const struct uroce_mr_slot *slot)
{
	uint8_t kind = GET(slot, kind);

	return kind == UROCE_MR_WINDOW_1 || kind == UROCE_MR_WINDOW_2;
}

/* Rights for a peer to write need the local one. */
static bool rights_fit(uint32_t access)
{
	return !(access & writing_rights) || (access & UROCE_ACCESS_LOCAL_WRITE);
}

static int check_attr(const struct uroce_mr_attr *attr)
{
	if (wraps(attr->addr, attr->bytes) || wraps((uintptr_t)attr->ptr, attr->bytes) ||
		!rights_fit(attr->access))
		return -EINVAL;
	return attr->key != 0 && attr->key >> 8 == 0 ? -EINVAL : 0;
}

static void set_range(struct uroce_mr_slot *slot, uint64_t addr, uint64_t bytes, uint8_t *ptr)
{
	SET(slot, addr, addr);
	SET(slot, bytes, bytes);
	SET(slot, ptr, ptr);
}

int uroce_mr_table_add(struct uroce_mr_table *table, const struct uroce_mr_attr *attr,
	uint64_t random, uint32_t *key)
{
	uint32_t chosen = attr->key;
	struct uroce_mr_slot *slot;
	int err = check_attr(attr);

	if (err)
		return err;
	if (table->used >= (table->mask + 1) / 2)
		return -ENOMEM;
	if (chosen == 0)
		chosen = draw_key(table, random);
	if (chosen == 0)
		return -ENOMEM;
	slot = slot_of(table, chosen);
	if (!slot_is_free(slot))
		return -EEXIST;
	lock(slot);
	begin_write(slot);
	SET(slot, pd, attr->pd);
	SET(slot, qpn, 0);
	SET(slot, access, (uint16_t)attr->access);
	SET(slot, kind, (uint8_t)attr->kind);
	SET(slot, area, attr->area);
	SET(slot, last_key, chosen);
	set_range(slot, attr->addr, attr->bytes, attr->ptr);
	atomic_store(&slot->windows, attr->kind == UROCE_MR_PLAIN ? 0 : unbindable);
	end_write(slot);
	atomic_store(&slot->key, attr->kind == UROCE_MR_PLAIN ? chosen : UROCE_MR_DEAD);
	unlock(slot);
	table->used++;
	*key = chosen;
	return 0;
}

static bool slot_holds(const struct uroce_mr_slot *slot, uint32_t key)
{
	uint32_t last = GET(slot, last_key);

	if (key >> 8 == 0 || atomic_load_explicit(&slot->key, memory_order_relaxed) == 0)
		return false;
	/* The tags of these are the application's business. */
	return last == key || (GET(slot, kind) != UROCE_MR_PLAIN && last >> 8 == key >> 8);
}

/* A window lets go of its region. The window is held. */
static void unbind(struct uroce_mr_table *table, struct uroce_mr_slot *window)
{
	uint32_t region = GET(window, region);

	if (region != 0)
		atomic_fetch_sub(&slot_of(table, region)->windows, 1);
	SET(window, region, 0);
}

/* One window more is bound to this region, unless it is dying: false. */
static bool try_bind(struct uroce_mr_slot *region)
{
	uint32_t windows = atomic_load(&region->windows);

	while (windows != unbindable)
		if (atomic_compare_exchange_weak(&region->windows, &windows, windows + 1))
			return true;
	return false;
}

/* The key of the slot, which is held, dies, unless windows are bound to it: false. */
static bool try_kill(struct uroce_mr_table *table, struct uroce_mr_slot *slot)
{
	uint32_t windows = 0;

	if (!atomic_compare_exchange_strong(&slot->windows, &windows, unbindable) &&
		windows != unbindable)
		return false;
	atomic_store(&slot->key, UROCE_MR_DEAD);
	unbind(table, slot);
	return true;
}

int uroce_mr_table_kill(struct uroce_mr_table *table, uint32_t key)
{
	struct uroce_mr_slot *slot = slot_of(table, key);
	bool killed;

	if (!slot_holds(slot, key))
		return -ENOENT;
	lock(slot);
	killed = try_kill(table, slot);
	if (killed) {
		/* Nothing may be bound or registered here any more. */
		begin_write(slot);
		SET(slot, kind, UROCE_MR_PLAIN);
		SET(slot, last_key, key);
		end_write(slot);
	}
	unlock(slot);
	return killed ? 0 : -EBUSY;
}

int uroce_mr_table_remove(struct uroce_mr_table *table, uint32_t key)
{
	int err = uroce_mr_table_kill(table, key);

	if (err)
		return err;
	atomic_store_explicit(&slot_of(table, key)->key, 0, memory_order_release);
	table->used--;
	return 0;
}

/* ---- resolving ---- */

static enum uroce_mr_verdict judge(const struct uroce_mr_slot *slot, uint32_t pd, uint32_t qpn,
	uint64_t addr, uint64_t bytes, uint32_t access, uint8_t **ptr)
{
	uint64_t slot_bytes = GET(slot, bytes);
	/* addr - slot->addr wraps to something huge when addr is below the region. */
	uint64_t offset = addr - GET(slot, addr);
	uint8_t kind = GET(slot, kind);

	if (kind >= UROCE_MR_WINDOW_1 && !(access & UROCE_ACCESS_REMOTE_ALL))
		return UROCE_MR_NO_KEY;
	if (GET(slot, pd) != pd)
		return UROCE_MR_WRONG_PD;
	if (kind == UROCE_MR_WINDOW_2 && GET(slot, qpn) != qpn)
		return UROCE_MR_WRONG_QP;
	if (access & ~(uint32_t)GET(slot, access))
		return UROCE_MR_NO_RIGHT;
	if (offset > slot_bytes || bytes > slot_bytes - offset)
		return UROCE_MR_RANGE;
	*ptr = GET(slot, ptr) + offset;
	return UROCE_MR_OK;
}

enum uroce_mr_verdict uroce_mr_resolve_for(const struct uroce_mr_table *table, uint32_t pd,
	uint32_t qpn, uint32_t key, uint64_t addr, uint64_t bytes, uint32_t access, uint8_t **ptr)
{
	const struct uroce_mr_slot *slot = slot_of(table, key);
	enum uroce_mr_verdict verdict;
	uint32_t version;

	do {
		version = GET(slot, version);
		if (key >> 8 == 0 || atomic_load_explicit(&slot->key, memory_order_acquire) != key)
			return UROCE_MR_NO_KEY;
		verdict = judge(slot, pd, qpn, addr, bytes, access, ptr);
	} while ((version & 1) || GET(slot, version) != version);
	return verdict;
}

enum uroce_mr_verdict uroce_mr_resolve(const struct uroce_mr_table *table, uint32_t pd,
	uint32_t key, uint64_t addr, uint64_t bytes, uint32_t access, uint8_t **ptr)
{
	return uroce_mr_resolve_for(table, pd, 0, key, addr, bytes, access, ptr);
}

enum uroce_mr_verdict uroce_mr_covers(const struct uroce_mr_table *table, uint32_t pd, uint32_t qpn,
	uint32_t key, uint32_t access)
{
	uint64_t addr = GET(slot_of(table, key), addr);
	uint8_t *ptr;

	/* Its own first byte is in its range; if it changes meanwhile, there is no such region. */
	return uroce_mr_resolve_for(table, pd, qpn, key, addr, 0, access, &ptr);
}

/* ---- windows and fast regions ---- */

/* Whether `slot` is what `key` names now, found or not. */
static enum uroce_mr_verdict check_named(
	const struct uroce_mr_slot *slot, uint32_t pd, uint32_t key)
{
	if (key >> 8 == 0 || atomic_load(&slot->key) == 0 || GET(slot, last_key) != key)
		return UROCE_MR_NO_KEY;
	return GET(slot, pd) == pd ? UROCE_MR_OK : UROCE_MR_WRONG_PD;
}

static bool is_live(struct uroce_mr_slot *slot)
{
	return atomic_load(&slot->key) == GET(slot, last_key);
}

/* The region's side of a bind: kind, rights and range; *ptr is where the window begins. */
static enum uroce_mr_verdict check_region(
	const struct uroce_mr_table *table, const struct uroce_mr_change *change, uint8_t **ptr)
{
	const struct uroce_mr_slot *region = slot_of(table, change->lkey);
	uint32_t access = UROCE_ACCESS_MW_BIND;

	if (is_window(region))
		return UROCE_MR_WRONG_KIND;
	if (change->access & writing_rights)
		access |= UROCE_ACCESS_LOCAL_WRITE;
	return uroce_mr_resolve(
		table, change->pd, change->lkey, change->addr, change->bytes, access, ptr);
}

/* The window's side of a bind. It is held. */
static enum uroce_mr_verdict check_window(
	struct uroce_mr_slot *window, const struct uroce_mr_change *change)
{
	enum uroce_mr_verdict verdict = check_named(window, change->pd, change->key);

	if (verdict != UROCE_MR_OK)
		return verdict;
	if (!is_window(window) || change->key >> 8 != change->new_key >> 8)
		return UROCE_MR_WRONG_KIND;
	if (change->access & ~(uint32_t)(UROCE_ACCESS_REMOTE_ALL | UROCE_ACCESS_ZERO_BASED))
		return UROCE_MR_NO_RIGHT;
	if (GET(window, kind) == UROCE_MR_WINDOW_1)
		return change->access & UROCE_ACCESS_ZERO_BASED ? UROCE_MR_NO_RIGHT : UROCE_MR_OK;
	/* C10-72 ff.: a type 2 window is bound once, to something, under another tag. */
	if (is_live(window))
		return UROCE_MR_IN_USE;
	if (change->bytes == 0)
		return UROCE_MR_RANGE;
	return change->key == change->new_key ? UROCE_MR_WRONG_KIND : UROCE_MR_OK;
}

/* Both are checked, the region is held. */
static void set_window(struct uroce_mr_table *table, struct uroce_mr_slot *window,
	const struct uroce_mr_change *change, uint8_t *ptr)
{
	bool zero = change->access & UROCE_ACCESS_ZERO_BASED;

	unbind(table, window);
	begin_write(window);
	SET(window, access, (uint16_t)(change->access & UROCE_ACCESS_REMOTE_ALL));
	SET(window, qpn, change->qpn);
	SET(window, region, change->bytes ? change->lkey : 0);
	SET(window, last_key, change->new_key);
	set_range(window, zero ? 0 : change->addr, change->bytes, ptr);
	atomic_store(&window->key, change->bytes ? change->new_key : UROCE_MR_DEAD);
	end_write(window);
}

static enum uroce_mr_verdict bind_locked(struct uroce_mr_table *table, struct uroce_mr_slot *window,
	const struct uroce_mr_change *change)
{
	struct uroce_mr_slot *region = slot_of(table, change->lkey);
	enum uroce_mr_verdict verdict = check_window(window, change);
	uint8_t *ptr = NULL;

	if (verdict != UROCE_MR_OK)
		return verdict;
	if (change->bytes > 0) {
		verdict = check_region(table, change, &ptr);
		if (verdict != UROCE_MR_OK)
			return verdict;
		if (!try_bind(region))
			return UROCE_MR_NO_KEY;
		/* It stays from here on, but may have become another since it was looked at. */
		verdict = check_region(table, change, &ptr);
	}
	if (verdict != UROCE_MR_OK)
		atomic_fetch_sub(&region->windows, 1);
	else
		set_window(table, window, change, ptr);
	return verdict;
}

enum uroce_mr_verdict uroce_mr_bind(
	struct uroce_mr_table *table, const struct uroce_mr_change *change)
{
	struct uroce_mr_slot *window = slot_of(table, change->key);
	enum uroce_mr_verdict verdict = check_window(window, change);

	if (verdict != UROCE_MR_OK)
		return verdict;
	if (!try_lock(window))
		return UROCE_MR_IN_USE;
	verdict = bind_locked(table, window, change);
	unlock(window);
	return verdict;
}

static enum uroce_mr_verdict check_fast(
	struct uroce_mr_slot *slot, const struct uroce_mr_change *change)
{
	enum uroce_mr_verdict verdict = check_named(slot, change->pd, change->key);
	const struct uroce_mr_area *area = GET(slot, area);
	uint64_t offset;

	if (verdict != UROCE_MR_OK)
		return verdict;
	if (GET(slot, kind) != UROCE_MR_FAST || change->key >> 8 != change->new_key >> 8)
		return UROCE_MR_WRONG_KIND;
	if (is_live(slot))
		return UROCE_MR_IN_USE;
	offset = (uint64_t)((uintptr_t)change->ptr - (uintptr_t)area->ptr);
	if (offset > area->bytes || change->bytes > area->bytes - offset)
		return UROCE_MR_RANGE;
	if (wraps(change->addr, change->bytes))
		return UROCE_MR_RANGE;
	return rights_fit(change->access) ? UROCE_MR_OK : UROCE_MR_NO_RIGHT;
}

enum uroce_mr_verdict uroce_mr_register_fast(
	struct uroce_mr_table *table, const struct uroce_mr_change *change)
{
	struct uroce_mr_slot *slot = slot_of(table, change->key);
	bool zero = change->access & UROCE_ACCESS_ZERO_BASED;
	enum uroce_mr_verdict verdict = check_fast(slot, change);

	if (verdict != UROCE_MR_OK)
		return verdict;
	if (!try_lock(slot))
		return UROCE_MR_IN_USE;
	verdict = check_fast(slot, change);
	if (verdict == UROCE_MR_OK) {
		begin_write(slot);
		SET(slot, access, (uint16_t)change->access);
		SET(slot, last_key, change->new_key);
		set_range(slot, zero ? 0 : change->addr, change->bytes, change->ptr);
		end_write(slot);
		atomic_store(&slot->windows, 0);
		atomic_store(&slot->key, change->new_key);
	}
	unlock(slot);
	return verdict;
}

static enum uroce_mr_verdict check_invalidate(
	struct uroce_mr_slot *slot, uint32_t pd, uint32_t qpn, uint32_t key)
{
	enum uroce_mr_verdict verdict = check_named(slot, pd, key);
	uint8_t kind = GET(slot, kind);

	if (verdict != UROCE_MR_OK)
		return verdict;
	if (kind != UROCE_MR_FAST && kind != UROCE_MR_WINDOW_2)
		return UROCE_MR_WRONG_KIND;
	if (!is_live(slot))
		return UROCE_MR_NO_KEY;
	if (kind == UROCE_MR_WINDOW_2 && GET(slot, qpn) != qpn)
		return UROCE_MR_WRONG_QP;
	return UROCE_MR_OK;
}

enum uroce_mr_verdict uroce_mr_invalidate(
	struct uroce_mr_table *table, uint32_t pd, uint32_t qpn, uint32_t key, bool check)
{
	struct uroce_mr_slot *slot = slot_of(table, key);
	enum uroce_mr_verdict verdict = check_invalidate(slot, pd, qpn, key);
	uint32_t windows;

	if (verdict != UROCE_MR_OK)
		return verdict;
	if (check) {
		windows = atomic_load(&slot->windows);
		return windows > 0 && windows != unbindable ? UROCE_MR_IN_USE : UROCE_MR_OK;
	}
	if (!try_lock(slot))
		return UROCE_MR_IN_USE;
	verdict = check_invalidate(slot, pd, qpn, key);
	if (verdict == UROCE_MR_OK && !try_kill(table, slot))
		verdict = UROCE_MR_IN_USE;
	unlock(slot);
	return verdict;
}
