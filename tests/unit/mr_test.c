/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Memory regions: who may touch what, to the byte, up to the end of the address space.
 *
 * Every way to be refused has its own test. Keys are looked at as an attacker would: forged,
 * remembered from an earlier region, guessed from the last one.
 */
#include "mr.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "status.h"

#include "cunit_run.h"
#include "test_random.h"

enum {
	PD = 7,
	NUM_SLOTS = 64,
	ALL_RIGHTS = UROCE_ACCESS_LOCAL_WRITE | UROCE_ACCESS_REMOTE_WRITE |
		UROCE_ACCESS_REMOTE_READ | UROCE_ACCESS_REMOTE_ATOMIC
};

static struct uroce_mr_slot slots[NUM_SLOTS];
static struct uroce_mr_table table;
static uint8_t memory[4096];
static uint64_t seed;

static void start(void)
{
	memset(slots, 0, sizeof(slots));
	uroce_mr_table_init(&table, slots, NUM_SLOTS);
	seed = 0x5eed;
}

static struct uroce_mr_attr region(uint64_t addr, uint64_t bytes)
{
	return (struct uroce_mr_attr){
		.pd = PD, .access = ALL_RIGHTS, .ptr = memory, .addr = addr, .bytes = bytes};
}

static int add(const struct uroce_mr_attr *attr, uint32_t *key)
{
	return uroce_mr_table_add(&table, attr, random_next(&seed), key);
}

static uint32_t added(struct uroce_mr_attr attr)
{
	uint32_t key = 0;

	CU_ASSERT_EQUAL_FATAL(add(&attr, &key), 0);
	return key;
}

static enum uroce_mr_verdict ask(uint32_t key, uint64_t addr, uint64_t bytes)
{
	uint8_t *ptr = NULL;
	enum uroce_mr_verdict verdict =
		uroce_mr_resolve(&table, PD, key, addr, bytes, UROCE_ACCESS_REMOTE_READ, &ptr);

	CU_ASSERT_EQUAL(verdict == UROCE_MR_OK, ptr != NULL);
	return verdict;
}

static void an_address_becomes_the_pointer_at_its_offset(void)
{
	uint8_t *ptr = NULL;
	uint32_t key;

	start();
	key = added(region(0x10000, 100));
	CU_ASSERT_EQUAL(uroce_mr_resolve(&table, PD, key, 0x10000, 100, 0, &ptr), UROCE_MR_OK);
	CU_ASSERT_PTR_EQUAL(ptr, memory);
	CU_ASSERT_EQUAL(uroce_mr_resolve(&table, PD, key, 0x10063, 1, 0, &ptr), UROCE_MR_OK);
	CU_ASSERT_PTR_EQUAL(ptr, memory + 99);
}

/* Region [base, base + 100): all ranges that begin and end near its edges. */
static void a_range_is_inside_or_refused_to_the_byte(void)
{
	static const uint64_t bases[] = {0, 1, 0x10000, UINT64_C(1) << 32, UINT64_C(1) << 63,
		UINT64_MAX - 150, UINT64_MAX - 99};

	for (size_t i = 0; i < sizeof(bases) / sizeof(bases[0]); i++) {
		uint64_t base = bases[i];
		uint32_t key;

		start();
		key = added(region(base, 100));
		for (int64_t from = -3; from <= 103; from++)
			for (int64_t to = from + 1; to <= from + 108; to++) {
				bool inside = from >= 0 && to <= 100;

				CU_ASSERT_EQUAL(
					ask(key, base + (uint64_t)from, (uint64_t)(to - from)),
					inside ? UROCE_MR_OK : UROCE_MR_RANGE);
			}
	}
}

static void lengths_that_wrap_around_are_outside(void)
{
	static const uint64_t huge[] = {UINT64_MAX, UINT64_MAX - 99, UINT64_MAX - 100,
		UINT64_C(1) << 63, UINT64_C(1) << 32, (UINT64_C(1) << 32) + 1};
	uint32_t key;

	start();
	key = added(region(0x10000, 100));
	for (size_t i = 0; i < sizeof(huge) / sizeof(huge[0]); i++)
		for (uint64_t offset = 0; offset <= 100; offset += 10) {
			CU_ASSERT_EQUAL(ask(key, 0x10000 + offset, huge[i]), UROCE_MR_RANGE);
			CU_ASSERT_EQUAL(ask(key, 0x10000 - offset - 1, huge[i]), UROCE_MR_RANGE);
		}
}

static void memory_may_not_wrap_either(void)
{
	struct uroce_mr_attr attr = region(0, 4096);
	uint32_t key;

	/* Wherever its addresses count from. */
	start();
	attr.ptr = (uint8_t *)(UINTPTR_MAX - 15);
	CU_ASSERT_EQUAL(uroce_mr_table_add(&table, &attr, 1, &key), -EINVAL);
	attr.bytes = 16;
	CU_ASSERT_EQUAL(uroce_mr_table_add(&table, &attr, 1, &key), 0);
}

static void a_region_may_end_at_the_end_of_the_address_space_but_not_wrap(void)
{
	struct uroce_mr_attr attr;
	uint32_t key = 0;

	start();
	attr = region(UINT64_MAX - 15, 16);
	key = added(attr);
	CU_ASSERT_EQUAL(ask(key, UINT64_MAX, 1), UROCE_MR_OK);
	CU_ASSERT_EQUAL(ask(key, UINT64_MAX, 2), UROCE_MR_RANGE);
	CU_ASSERT_EQUAL(ask(key, 0, 1), UROCE_MR_RANGE);
	attr = region(UINT64_MAX - 15, 17);
	CU_ASSERT_EQUAL(add(&attr, &key), -EINVAL);
	attr = region(1, UINT64_MAX);
	attr.ptr = (uint8_t *)1;
	CU_ASSERT_EQUAL(add(&attr, &key), 0);
	attr = region(2, UINT64_MAX);
	CU_ASSERT_EQUAL(add(&attr, &key), -EINVAL);
}

static void an_empty_region_has_no_bytes(void)
{
	uint32_t key;

	start();
	key = added(region(0x10000, 0));
	CU_ASSERT_EQUAL(ask(key, 0x10000, 1), UROCE_MR_RANGE);
	CU_ASSERT_EQUAL(ask(key, 0x10001, 1), UROCE_MR_RANGE);
	CU_ASSERT_EQUAL(ask(key, 0xffff, 1), UROCE_MR_RANGE);
}

/* All sets of rights of a region against all sets asked for. */
static void every_right_asked_for_must_have_been_given(void)
{
	for (uint32_t given = 0; given < 16; given++) {
		const uint32_t writes = UROCE_ACCESS_REMOTE_WRITE | UROCE_ACCESS_REMOTE_ATOMIC;
		struct uroce_mr_attr attr = region(0x10000, 100);
		bool sound = !(given & writes) || (given & UROCE_ACCESS_LOCAL_WRITE);
		uint32_t key = 0;

		start();
		attr.access = given;
		CU_ASSERT_EQUAL(add(&attr, &key), sound ? 0 : -EINVAL);
		if (!sound)
			continue;
		for (uint32_t asked = 0; asked < 16; asked++) {
			uint8_t *ptr = NULL;

			CU_ASSERT_EQUAL(uroce_mr_resolve(&table, PD, key, 0x10000, 8, asked, &ptr),
				(asked & given) == asked ? UROCE_MR_OK : UROCE_MR_NO_RIGHT);
			CU_ASSERT_EQUAL(ptr != NULL, (asked & given) == asked);
		}
	}
}

static void a_region_of_another_protection_domain_is_refused(void)
{
	static const uint32_t pds[] = {0, PD - 1, PD + 1, PD + 256, UINT32_MAX};
	uint8_t *ptr = NULL;
	uint32_t key;

	start();
	key = added(region(0x10000, 100));
	for (size_t i = 0; i < sizeof(pds) / sizeof(pds[0]); i++) {
		CU_ASSERT_EQUAL(uroce_mr_resolve(&table, pds[i], key, 0x10000, 8, 0, &ptr),
			UROCE_MR_WRONG_PD);
		CU_ASSERT_PTR_NULL(ptr);
	}
}

static void a_key_forged_in_any_bit_finds_nothing(void)
{
	uint32_t key;

	start();
	key = added(region(0x10000, 100));
	for (uint32_t bit = 0; bit < 32; bit++)
		CU_ASSERT_EQUAL(ask(key ^ 1u << bit, 0x10000, 8), UROCE_MR_NO_KEY);
	CU_ASSERT_EQUAL(ask(0, 0x10000, 8), UROCE_MR_NO_KEY);
	CU_ASSERT_EQUAL(ask(UINT32_MAX, 0x10000, 8), UROCE_MR_NO_KEY);
	CU_ASSERT_EQUAL(ask(key, 0x10000, 8), UROCE_MR_OK);
}

static void key_zero_finds_nothing_in_an_empty_table(void)
{
	start();
	for (uint32_t key = 0; key < 1024; key++)
		CU_ASSERT_EQUAL(ask(key, 0, 1), UROCE_MR_NO_KEY);
	CU_ASSERT_EQUAL(uroce_mr_table_remove(&table, 0), -ENOENT);
}

static void a_deregistered_key_finds_nothing_and_cannot_go_twice(void)
{
	uint32_t key, other;

	start();
	key = added(region(0x10000, 100));
	other = added(region(0x20000, 100));
	CU_ASSERT_EQUAL(uroce_mr_table_remove(&table, key ^ 1), -ENOENT);
	CU_ASSERT_EQUAL(uroce_mr_table_remove(&table, key), 0);
	CU_ASSERT_EQUAL(ask(key, 0x10000, 8), UROCE_MR_NO_KEY);
	CU_ASSERT_EQUAL(uroce_mr_table_remove(&table, key), -ENOENT);
	CU_ASSERT_EQUAL(ask(other, 0x20000, 8), UROCE_MR_OK);
}

static void a_killed_region_is_not_found_and_keeps_its_slot_until_it_is_removed(void)
{
	struct uroce_mr_attr attr = region(0x30000, 100);
	uint32_t key, other;

	start();
	key = added(region(0x10000, 100));
	other = added(region(0x20000, 100));
	uroce_mr_table_kill(&table, key ^ 1);
	CU_ASSERT_EQUAL(ask(key, 0x10000, 8), UROCE_MR_OK);
	uroce_mr_table_kill(&table, key);
	uroce_mr_table_kill(&table, key);
	CU_ASSERT_EQUAL(ask(key, 0x10000, 8), UROCE_MR_NO_KEY);
	CU_ASSERT_EQUAL(ask(UROCE_MR_DEAD, 0x10000, 8), UROCE_MR_NO_KEY);
	CU_ASSERT_EQUAL(table.used, 2);
	attr.key = key;
	CU_ASSERT_EQUAL(add(&attr, &key), -EEXIST);
	attr.key = key ^ 0x80;
	CU_ASSERT_EQUAL(add(&attr, &key), -EEXIST);
	CU_ASSERT_EQUAL(uroce_mr_table_remove(&table, UROCE_MR_DEAD), -ENOENT);
	CU_ASSERT_EQUAL(uroce_mr_table_remove(&table, key), 0);
	CU_ASSERT_EQUAL(uroce_mr_table_remove(&table, key), -ENOENT);
	CU_ASSERT_EQUAL(table.used, 1);
	CU_ASSERT_EQUAL(add(&attr, &key), 0);
	CU_ASSERT_EQUAL(ask(other, 0x20000, 8), UROCE_MR_OK);
}

static void killing_what_is_not_there_is_nothing(void)
{
	uint32_t key;

	start();
	for (key = 0; key < 1024; key++)
		uroce_mr_table_kill(&table, key);
	CU_ASSERT_EQUAL(table.used, 0);
	key = added(region(0x10000, 100));
	CU_ASSERT_EQUAL(uroce_mr_table_remove(&table, key), 0);
	uroce_mr_table_kill(&table, key);
	CU_ASSERT_EQUAL(ask(key, 0x10000, 8), UROCE_MR_NO_KEY);
	/* the slot is free, not dead: it may be had again */
	for (int i = 0; i < NUM_SLOTS / 2; i++)
		added(region(0x10000, 100));
}

/* The slot of a key is its low index bits; a table of two slots makes reuse certain. */
static void the_tag_changes_whenever_a_slot_is_used_again(void)
{
	uint32_t last_tag[2] = {0, 0};
	bool seen[2] = {false, false};
	unsigned int reuses = 0, same = 0;

	start();
	uroce_mr_table_init(&table, slots, 2);
	for (int i = 0; i < 1000000; i++) {
		uint32_t key = added(region(0x10000, 100));
		uint32_t slot = key >> 8 & 1;

		if (seen[slot]) {
			reuses++;
			/* Not an assertion each time: they would take longer than what they look
			 * at. */
			same += (key & 0xff) == last_tag[slot];
		}
		seen[slot] = true;
		last_tag[slot] = key & 0xff;
		CU_ASSERT_EQUAL_FATAL(uroce_mr_table_remove(&table, key), 0);
	}
	CU_ASSERT_EQUAL(same, 0);
	CU_ASSERT_TRUE(reuses > 900000);
}

/* Even when luck draws the same index again, the remembered key must not open the new region. */
static void a_remembered_key_does_not_open_the_next_region_of_the_same_index(void)
{
	struct uroce_mr_attr attr = region(0x10000, 100);
	uint32_t first = 0, second = 0;

	start();
	CU_ASSERT_EQUAL_FATAL(uroce_mr_table_add(&table, &attr, 99, &first), 0);
	CU_ASSERT_EQUAL_FATAL(uroce_mr_table_remove(&table, first), 0);
	CU_ASSERT_EQUAL_FATAL(uroce_mr_table_add(&table, &attr, 99, &second), 0);
	CU_ASSERT_EQUAL(first >> 8, second >> 8);
	CU_ASSERT_NOT_EQUAL(first, second);
	CU_ASSERT_EQUAL(ask(first, 0x10000, 8), UROCE_MR_NO_KEY);
}

static void the_table_takes_half_of_its_slots(void)
{
	uint32_t keys[NUM_SLOTS / 2], key = 0;
	struct uroce_mr_attr attr = region(0x10000, 100);

	start();
	for (uint32_t i = 0; i < NUM_SLOTS / 2; i++)
		keys[i] = added(region(0x10000 + i, 100));
	CU_ASSERT_EQUAL(add(&attr, &key), -ENOMEM);
	attr.key = 0xabcdef01;
	CU_ASSERT_EQUAL(add(&attr, &key), -ENOMEM);
	for (uint32_t i = 0; i < NUM_SLOTS / 2; i++) {
		CU_ASSERT_EQUAL(ask(keys[i], 0x10000 + i, 100), UROCE_MR_OK);
		for (uint32_t j = 0; j < i; j++)
			CU_ASSERT_NOT_EQUAL(
				keys[i] >> 8 & (NUM_SLOTS - 1), keys[j] >> 8 & (NUM_SLOTS - 1));
	}
	CU_ASSERT_EQUAL(uroce_mr_table_remove(&table, keys[5]), 0);
	attr.key = 0;
	CU_ASSERT_EQUAL(add(&attr, &key), 0);
	CU_ASSERT_EQUAL(add(&attr, &key), -ENOMEM);
}

static void a_failed_registration_changes_nothing(void)
{
	struct uroce_mr_attr bad = region(UINT64_MAX, 2), taken;
	uint32_t key, out = 0x1234;

	start();
	key = added(region(0x10000, 100));
	CU_ASSERT_EQUAL(add(&bad, &out), -EINVAL);
	taken = region(0x20000, 50);
	taken.key = key;
	CU_ASSERT_EQUAL(add(&taken, &out), -EEXIST);
	CU_ASSERT_EQUAL(out, 0x1234);
	CU_ASSERT_EQUAL(table.used, 1);
	CU_ASSERT_EQUAL(ask(key, 0x10000, 100), UROCE_MR_OK);
	CU_ASSERT_EQUAL(ask(key, 0x20000, 50), UROCE_MR_RANGE);
}

static void an_explicit_key_is_taken_as_it_is_or_refused(void)
{
	static const uint32_t good[] = {0x00000100, 0x00000200, 0xffffffff, 0x12345600, 0x000003ff};
	struct uroce_mr_attr attr = region(0x10000, 100);
	uint32_t key;

	start();
	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		attr.key = good[i];
		if (i == 3) /* its slot is 0x16 */
			CU_ASSERT_EQUAL(good[i] >> 8 & (NUM_SLOTS - 1), 0x16);
		CU_ASSERT_EQUAL(add(&attr, &key), 0);
		CU_ASSERT_EQUAL(key, good[i]);
		CU_ASSERT_EQUAL(ask(key, 0x10000, 100), UROCE_MR_OK);
	}
	/* index 0 is nobody's */
	for (attr.key = 1; attr.key <= 0xff; attr.key++)
		CU_ASSERT_EQUAL(add(&attr, &key), -EINVAL);
	/* the same, and another one of the same slot */
	attr.key = 0x00000100;
	CU_ASSERT_EQUAL(add(&attr, &key), -EEXIST);
	attr.key = 0x00000101;
	CU_ASSERT_EQUAL(add(&attr, &key), -EEXIST);
	attr.key = (NUM_SLOTS + 1) << 8;
	CU_ASSERT_EQUAL(add(&attr, &key), -EEXIST);
	/* and each goes again */
	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		uroce_mr_table_kill(&table, good[i]);
		CU_ASSERT_EQUAL(ask(good[i], 0x10000, 100), UROCE_MR_NO_KEY);
		CU_ASSERT_EQUAL(uroce_mr_table_remove(&table, good[i]), 0);
	}
	CU_ASSERT_EQUAL(table.used, 0);
}

static void drawn_keys_keep_clear_of_explicit_ones(void)
{
	struct uroce_mr_attr attr = region(0x10000, 100);
	uint32_t key;

	start();
	for (uint32_t i = 1; i <= NUM_SLOTS / 4; i++) {
		attr.key = i << 8;
		CU_ASSERT_EQUAL(add(&attr, &key), 0);
	}
	for (uint32_t i = 0; i < NUM_SLOTS / 4; i++) {
		key = added(region(0x20000, 100));
		CU_ASSERT_TRUE((key >> 8 & (NUM_SLOTS - 1)) == 0 ||
			(key >> 8 & (NUM_SLOTS - 1)) > NUM_SLOTS / 4);
	}
}

static int compare(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return x < y ? -1 : x > y;
}

/* 64 of 2^24 indexes at random coincide somewhere once in 8000 times; this seed does not. */
static void different_seeds_give_different_indexes(void)
{
	uint32_t indexes[64], set = 0, clear = 0;

	for (uint32_t i = 0; i < 64; i++) {
		struct uroce_mr_attr attr = region(0x10000, 100);
		uint32_t key = 0;

		start();
		/* neighbours in, strangers out */
		CU_ASSERT_EQUAL_FATAL(uroce_mr_table_add(&table, &attr, 1000 + i, &key), 0);
		indexes[i] = key >> 8;
		set |= indexes[i];
		clear |= ~indexes[i];
		CU_ASSERT_NOT_EQUAL(indexes[i], 0);
	}
	/* every bit of the index takes both values */
	CU_ASSERT_EQUAL(set & 0xffffff, 0xffffff);
	CU_ASSERT_EQUAL(clear & 0xffffff, 0xffffff);
	qsort(indexes, 64, sizeof(indexes[0]), compare);
	for (uint32_t i = 1; i < 64; i++)
		CU_ASSERT_NOT_EQUAL(indexes[i], indexes[i - 1]);
}

/* "One chance in 2^32": who knows how the engine draws must not know the tag either. */
static void the_first_tag_of_a_slot_is_not_known_beforehand(void)
{
	bool seen[256] = {false};
	unsigned int different = 0;

	for (uint32_t i = 0; i < 256; i++) {
		struct uroce_mr_attr attr = region(0x10000, 100);
		uint32_t key = 0;

		start();
		CU_ASSERT_EQUAL_FATAL(uroce_mr_table_add(&table, &attr, i, &key), 0);
		different += !seen[key & 0xff];
		seen[key & 0xff] = true;
	}
	CU_ASSERT_TRUE(different > 100);
}

/* The generator's first number from these bits has an index of 0, which is no index. */
static void an_index_of_zero_is_drawn_again(void)
{
	struct uroce_mr_attr attr = region(0x10000, 100);
	uint32_t key = 0;

	start();
	CU_ASSERT_EQUAL(uroce_mr_table_add(&table, &attr, 0x83c953d1d0ee9fb1, &key), 0);
	CU_ASSERT_NOT_EQUAL(key >> 8, 0);
	/* From these an index of 1, which is one. */
	CU_ASSERT_EQUAL(uroce_mr_table_add(&table, &attr, 0x95e79ebcceace16e, &key), 0);
	CU_ASSERT_EQUAL(key >> 8, 1);
}

static void without_luck_no_key_is_drawn(void)
{
	struct uroce_mr_attr attr = region(0x10000, 100);
	uint32_t key = 77;

	/* A table that is full without knowing it: every draw is in vain. */
	start();
	for (uint32_t i = 0; i < NUM_SLOTS; i++)
		atomic_store(&slots[i].key, 0x100);
	CU_ASSERT_EQUAL(add(&attr, &key), -ENOMEM);
	CU_ASSERT_EQUAL(key, 77);
	CU_ASSERT_EQUAL(table.used, 0);
	attr.key = 0x1234500;
	CU_ASSERT_EQUAL(add(&attr, &key), -EEXIST);
}

int main(void)
{
	static const struct unit_case cases[] = {
		{"An address becomes the pointer at its offset",
			an_address_becomes_the_pointer_at_its_offset},
		{"A range is inside or refused, to the byte",
			a_range_is_inside_or_refused_to_the_byte},
		{"Lengths that wrap around are outside", lengths_that_wrap_around_are_outside},
		{"Memory may not wrap either", memory_may_not_wrap_either},
		{"A region may end at the end of the address space but not wrap",
			a_region_may_end_at_the_end_of_the_address_space_but_not_wrap},
		{"An empty region has no bytes", an_empty_region_has_no_bytes},
		{"Every right asked for must have been given",
			every_right_asked_for_must_have_been_given},
		{"A region of another protection domain is refused",
			a_region_of_another_protection_domain_is_refused},
		{"A key forged in any bit finds nothing", a_key_forged_in_any_bit_finds_nothing},
		{"Key zero finds nothing in an empty table",
			key_zero_finds_nothing_in_an_empty_table},
		{"A deregistered key finds nothing and cannot go twice",
			a_deregistered_key_finds_nothing_and_cannot_go_twice},
		{"A killed region is not found, and keeps its slot until it is removed",
			a_killed_region_is_not_found_and_keeps_its_slot_until_it_is_removed},
		{"Killing what is not there is nothing", killing_what_is_not_there_is_nothing},
		{"The tag changes whenever a slot is used again",
			the_tag_changes_whenever_a_slot_is_used_again},
		{"A remembered key does not open the next region of the same index",
			a_remembered_key_does_not_open_the_next_region_of_the_same_index},
		{"The table takes half of its slots", the_table_takes_half_of_its_slots},
		{"A failed registration changes nothing", a_failed_registration_changes_nothing},
		{"An explicit key is taken as it is, or refused",
			an_explicit_key_is_taken_as_it_is_or_refused},
		{"Drawn keys keep clear of explicit ones", drawn_keys_keep_clear_of_explicit_ones},
		{"Different seeds give different indexes", different_seeds_give_different_indexes},
		{"An index of zero is drawn again", an_index_of_zero_is_drawn_again},
		{"Without luck no key is drawn", without_luck_no_key_is_drawn},
		{"The first tag of a slot is not known beforehand",
			the_first_tag_of_a_slot_is_not_known_beforehand},
	};

	return run_suite("mr", cases, sizeof(cases) / sizeof(cases[0]));
}
