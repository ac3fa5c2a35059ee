/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Windows and fast regions in the table, where a work request does not reach: slots that change at
 * this moment, domains, ranges, and what kill and remove find.
 */
#include <errno.h>
#include <string.h>

#include "cunit_run.h"
#include "mr.h"
#include "status.h"

enum {
	PD = 3,
	SLOTS = 32,
	BYTES = 4096,
};

static struct uroce_mr_slot slots[SLOTS];
static struct uroce_mr_table table;
static uint8_t memory[BYTES];
static const struct uroce_mr_area area = {memory, BYTES};
static uint32_t region, window, fast;

static uint32_t add(struct uroce_mr_attr attr)
{
	uint32_t key = 0;

	CU_ASSERT_EQUAL_FATAL(uroce_mr_table_add(&table, &attr, 77 + table.used, &key), 0);
	return key;
}

static void start(void)
{
	memset(slots, 0, sizeof(slots));
	uroce_mr_table_init(&table, slots, SLOTS);
	region = add((struct uroce_mr_attr){.pd = PD,
		.access = UROCE_ACCESS_LOCAL_WRITE | UROCE_ACCESS_MW_BIND,
		.ptr = memory,
		.addr = 0x1000,
		.bytes = BYTES});
	window = add((struct uroce_mr_attr){.kind = UROCE_MR_WINDOW_2, .pd = PD});
	fast = add((struct uroce_mr_attr){.kind = UROCE_MR_FAST, .pd = PD, .area = &area});
}

static struct uroce_mr_slot *slot_of(uint32_t key)
{
	return &slots[key >> 8 & (SLOTS - 1)];
}

static uint32_t next(uint32_t key)
{
	return (key & 0xffffff00) | ((key + 1) & 0xff);
}

static struct uroce_mr_change bind_of(void)
{
	return (struct uroce_mr_change){.pd = PD,
		.qpn = 5,
		.key = window,
		.new_key = next(window),
		.access = UROCE_ACCESS_REMOTE_WRITE,
		.lkey = region,
		.addr = 0x1000,
		.bytes = 64};
}

static struct uroce_mr_change register_of(void)
{
	return (struct uroce_mr_change){.pd = PD,
		.key = fast,
		.new_key = next(fast),
		.access = UROCE_ACCESS_LOCAL_WRITE,
		.addr = 0x9000,
		.bytes = 64,
		.ptr = memory};
}

/* Also where nothing lies: an address to be refused. */
static uint8_t *at(int offset)
{
	return (uint8_t *)((uintptr_t)memory + (uintptr_t)(intptr_t)offset);
}

static void of_two_changes_at_once_the_second_is_refused(void)
{
	struct uroce_mr_change bind, reg;
	uint8_t *ptr;

	start();
	bind = bind_of();
	reg = register_of();
	atomic_store(&slot_of(fast)->changing, true);
	CU_ASSERT_EQUAL(uroce_mr_register_fast(&table, &reg), UROCE_MR_IN_USE);
	atomic_store(&slot_of(fast)->changing, false);
	atomic_store(&slot_of(window)->changing, true);
	CU_ASSERT_EQUAL(uroce_mr_bind(&table, &bind), UROCE_MR_IN_USE);
	atomic_store(&slot_of(window)->changing, false);
	CU_ASSERT_EQUAL(uroce_mr_bind(&table, &bind), UROCE_MR_OK);
	atomic_store(&slot_of(window)->changing, true);
	CU_ASSERT_EQUAL(uroce_mr_invalidate(&table, PD, 5, bind.new_key, false), UROCE_MR_IN_USE);
	/* Nobody else notices. */
	CU_ASSERT_EQUAL(uroce_mr_invalidate(&table, PD, 5, bind.new_key, true), UROCE_MR_OK);
	CU_ASSERT_EQUAL(uroce_mr_resolve_for(&table, PD, 5, bind.new_key, bind.addr, 8,
				UROCE_ACCESS_REMOTE_WRITE, &ptr),
		UROCE_MR_OK);
	atomic_store(&slot_of(window)->changing, false);
}

/* Whoever has not the key or is of another domain holds nothing up: its own verdict, at once. */
static void strangers_hold_nothing(void)
{
	struct uroce_mr_change bind, reg;

	start();
	bind = bind_of();
	reg = register_of();
	atomic_store(&slot_of(window)->changing, true);
	atomic_store(&slot_of(fast)->changing, true);
	bind.pd = reg.pd = PD + 1;
	CU_ASSERT_EQUAL(uroce_mr_bind(&table, &bind), UROCE_MR_WRONG_PD);
	CU_ASSERT_EQUAL(uroce_mr_register_fast(&table, &reg), UROCE_MR_WRONG_PD);
	bind.key = next(bind.key);
	reg.key = next(reg.key);
	CU_ASSERT_EQUAL(uroce_mr_bind(&table, &bind), UROCE_MR_NO_KEY);
	CU_ASSERT_EQUAL(uroce_mr_register_fast(&table, &reg), UROCE_MR_NO_KEY);
	CU_ASSERT_EQUAL(uroce_mr_invalidate(&table, PD, 5, next(window), false), UROCE_MR_NO_KEY);
}

static void domains_do_not_mix(void)
{
	struct uroce_mr_change bind, reg;

	start();
	bind = bind_of();
	reg = register_of();
	bind.pd = reg.pd = PD + 1;
	CU_ASSERT_EQUAL(uroce_mr_bind(&table, &bind), UROCE_MR_WRONG_PD);
	CU_ASSERT_EQUAL(uroce_mr_register_fast(&table, &reg), UROCE_MR_WRONG_PD);
	reg.pd = PD;
	CU_ASSERT_EQUAL(uroce_mr_register_fast(&table, &reg), UROCE_MR_OK);
	CU_ASSERT_EQUAL(
		uroce_mr_invalidate(&table, PD + 1, 0, reg.new_key, false), UROCE_MR_WRONG_PD);
}

static void ranges_of_a_registration_are_checked(void)
{
	struct uroce_mr_change reg;

	start();
	reg = register_of();
	reg.ptr = at(-1);
	CU_ASSERT_EQUAL(uroce_mr_register_fast(&table, &reg), UROCE_MR_RANGE);
	reg.ptr = at(BYTES + 1);
	CU_ASSERT_EQUAL(uroce_mr_register_fast(&table, &reg), UROCE_MR_RANGE);
	reg.ptr = memory + BYTES - 63;
	CU_ASSERT_EQUAL(uroce_mr_register_fast(&table, &reg), UROCE_MR_RANGE);
	reg.ptr = memory + BYTES - 64;
	reg.addr = UINT64_MAX - 10;
	CU_ASSERT_EQUAL(uroce_mr_register_fast(&table, &reg), UROCE_MR_RANGE);
	reg.addr = UINT64_MAX - 63;
	CU_ASSERT_EQUAL(uroce_mr_register_fast(&table, &reg), UROCE_MR_OK);
}

static void a_zero_based_registration_counts_from_zero(void)
{
	struct uroce_mr_change reg;
	uint8_t *ptr;

	start();
	reg = register_of();
	reg.access |= UROCE_ACCESS_ZERO_BASED;
	CU_ASSERT_EQUAL(uroce_mr_register_fast(&table, &reg), UROCE_MR_OK);
	CU_ASSERT_EQUAL(uroce_mr_resolve(&table, PD, reg.new_key, 8, 56, 0, &ptr), UROCE_MR_OK);
	CU_ASSERT_PTR_EQUAL(ptr, memory + 8);
	CU_ASSERT_EQUAL(uroce_mr_resolve(&table, PD, reg.new_key, 8, 57, 0, &ptr), UROCE_MR_RANGE);
}

static void a_region_in_use_may_not_be_invalidated(void)
{
	struct uroce_mr_change reg, bind;

	start();
	reg = register_of();
	reg.access |= UROCE_ACCESS_MW_BIND;
	CU_ASSERT_EQUAL(uroce_mr_register_fast(&table, &reg), UROCE_MR_OK);
	bind = bind_of();
	bind.lkey = reg.new_key;
	bind.addr = 0x9000;
	CU_ASSERT_EQUAL(uroce_mr_bind(&table, &bind), UROCE_MR_OK);
	CU_ASSERT_EQUAL(uroce_mr_invalidate(&table, PD, 5, reg.new_key, true), UROCE_MR_IN_USE);
	CU_ASSERT_EQUAL(uroce_mr_invalidate(&table, PD, 5, reg.new_key, false), UROCE_MR_IN_USE);
	CU_ASSERT_EQUAL(uroce_mr_invalidate(&table, PD, 5, bind.new_key, false), UROCE_MR_OK);
	CU_ASSERT_EQUAL(uroce_mr_invalidate(&table, PD, 5, reg.new_key, true), UROCE_MR_OK);
	CU_ASSERT_EQUAL(uroce_mr_invalidate(&table, PD, 5, reg.new_key, false), UROCE_MR_OK);
	CU_ASSERT_EQUAL(uroce_mr_invalidate(&table, PD, 5, reg.new_key, false), UROCE_MR_NO_KEY);
	/* Nor may what is no fast region and no type 2 window. */
	CU_ASSERT_EQUAL(uroce_mr_invalidate(&table, PD, 5, region, true), UROCE_MR_WRONG_KIND);
	CU_ASSERT_EQUAL(uroce_mr_invalidate(&table, PD, 5, region, false), UROCE_MR_WRONG_KIND);
}

static void kill_and_remove_find_a_slot_whatever_its_tag(void)
{
	struct uroce_mr_change bind;

	start();
	bind = bind_of();
	CU_ASSERT_EQUAL(uroce_mr_bind(&table, &bind), UROCE_MR_OK);
	CU_ASSERT_EQUAL(uroce_mr_table_kill(&table, region), -EBUSY);
	/* By the key that it was added with. */
	CU_ASSERT_EQUAL(uroce_mr_table_kill(&table, window), 0);
	CU_ASSERT_EQUAL(uroce_mr_bind(&table, &bind), UROCE_MR_WRONG_KIND);
	CU_ASSERT_EQUAL(uroce_mr_table_remove(&table, window), 0);
	CU_ASSERT_EQUAL(uroce_mr_table_remove(&table, window), -ENOENT);
	CU_ASSERT_EQUAL(uroce_mr_bind(&table, &bind), UROCE_MR_NO_KEY);
	CU_ASSERT_EQUAL(uroce_mr_table_remove(&table, next(region)), -ENOENT);
	CU_ASSERT_EQUAL(uroce_mr_table_remove(&table, region), 0);
	bind.key = bind.new_key = 5;
	CU_ASSERT_EQUAL(uroce_mr_bind(&table, &bind), UROCE_MR_NO_KEY);
}

static void a_window_is_no_region_of_its_own(void)
{
	struct uroce_mr_change bind;

	start();
	bind = bind_of();
	bind.lkey = window;
	CU_ASSERT_EQUAL(uroce_mr_bind(&table, &bind), UROCE_MR_WRONG_KIND);
	bind.bytes = 0;
	CU_ASSERT_EQUAL(uroce_mr_bind(&table, &bind), UROCE_MR_RANGE);
}

/* Another core has decided its end, and not taken the key away yet. */
static void a_dying_region_takes_no_window(void)
{
	struct uroce_mr_change bind;

	start();
	bind = bind_of();
	atomic_store(&slot_of(region)->windows, UINT32_MAX);
	CU_ASSERT_EQUAL(uroce_mr_bind(&table, &bind), UROCE_MR_NO_KEY);
	CU_ASSERT_EQUAL(atomic_load(&slot_of(region)->windows), UINT32_MAX);
	CU_ASSERT_EQUAL(uroce_mr_table_kill(&table, region), 0);
}

int main(void)
{
	static const struct unit_case cases[] = {
		{"of two changes at once the second is refused",
			of_two_changes_at_once_the_second_is_refused},
		{"strangers hold nothing", strangers_hold_nothing},
		{"domains do not mix", domains_do_not_mix},
		{"ranges of a registration are checked", ranges_of_a_registration_are_checked},
		{"a zero-based registration counts from zero",
			a_zero_based_registration_counts_from_zero},
		{"a region in use may not be invalidated", a_region_in_use_may_not_be_invalidated},
		{"kill and remove find a slot whatever its tag",
			kill_and_remove_find_a_slot_whatever_its_tag},
		{"a window is no region of its own", a_window_is_no_region_of_its_own},
		{"a dying region takes no window", a_dying_region_takes_no_window},
	};

	return run_suite("mr_window", cases, sizeof(cases) / sizeof(cases[0]));
}
