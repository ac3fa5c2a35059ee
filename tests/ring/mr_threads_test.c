/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Slots that change while others look: whoever finds a window finds the address, length and place
 * of one binding, never a mixture of two; and what is there all the time is found all the time,
 * whatever is tried and refused meanwhile.
 */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "cunit_run.h"
#include "mr.h"
#include "status.h"

enum {
	PD = 1,
	SLOTS = 16,
	BINDS = 60000,
	READERS = 2,
	AREA = 4096,
};

static struct uroce_mr_slot slots[SLOTS];
static struct uroce_mr_table table;
static uint8_t memory[2 * AREA];
static uint32_t regions[2], window;
static _Atomic bool stop;
static _Atomic uint32_t wrong, found;

/* Region r is at memory + r * AREA, and peers call its byte i AREA * (r + 1) + i. */
static void add_regions(void)
{
	for (uint32_t r = 0; r < 2; r++) {
		struct uroce_mr_attr attr = {.pd = PD,
			.access = UROCE_ACCESS_LOCAL_WRITE | UROCE_ACCESS_MW_BIND,
			.ptr = memory + r * AREA,
			.addr = AREA * (r + 1),
			.bytes = AREA};

		CU_ASSERT_EQUAL(uroce_mr_table_add(&table, &attr, 99 + r, &regions[r]), 0);
	}
}

static void start(void)
{
	const struct uroce_mr_attr attr = {.kind = UROCE_MR_WINDOW_1, .pd = PD};

	memset(slots, 0, sizeof(slots));
	uroce_mr_table_init(&table, slots, SLOTS);
	add_regions();
	CU_ASSERT_EQUAL(uroce_mr_table_add(&table, &attr, 7, &window), 0);
}

/* Changes the table BINDS times, and until the readers have found something. */
static void change_while(void *(*read)(void *), void (*change)(uint32_t i))
{
	pthread_t readers[READERS];

	atomic_store(&stop, false);
	atomic_store(&found, 0);
	atomic_store(&wrong, 0);
	for (int i = 0; i < READERS; i++)
		pthread_create(&readers[i], NULL, read, NULL);
	for (uint32_t i = 0; i < BINDS || atomic_load(&found) == 0; i++) {
		change(i);
		if (i % 64 == 0)
			sched_yield();
	}
	atomic_store(&stop, true);
	for (int i = 0; i < READERS; i++)
		pthread_join(readers[i], NULL);
	CU_ASSERT_EQUAL(wrong, 0);
}

/* ---- one binding ---- */

static void *read_window(void *arg)
{
	(void)arg;
	while (!atomic_load(&stop)) {
		for (uint32_t tag = 0; tag < 256; tag++) {
			for (uint32_t r = 0; r < 2; r++) {
				uint32_t key = (window & 0xffffff00) | tag;
				uint8_t *ptr = NULL;

				if (uroce_mr_resolve(&table, PD, key, AREA * (r + 1) + 8, 8,
					    UROCE_ACCESS_REMOTE_READ, &ptr) != UROCE_MR_OK)
					continue;
				atomic_fetch_add(&found, 1);
				if (ptr != memory + r * AREA + 8)
					atomic_fetch_add(&wrong, 1);
			}
		}
	}
	return NULL;
}

/* Bound to one region, then to the other, under the key of now. */
static struct uroce_mr_change binding;

/* Tags come round, so an old key may be a new one's. */
static void bind_to_the_other(uint32_t i)
{
	binding.new_key = (window & 0xffffff00) | (i * 7 & 0xff);
	binding.lkey = regions[i & 1];
	binding.addr = AREA * ((i & 1) + 1);
	CU_ASSERT_EQUAL_FATAL(uroce_mr_bind(&table, &binding), UROCE_MR_OK);
	binding.key = binding.new_key;
}

static void whoever_finds_a_window_finds_one_binding(void)
{
	start();
	binding = (struct uroce_mr_change){
		.pd = PD, .key = window, .access = UROCE_ACCESS_REMOTE_READ, .bytes = AREA};
	change_while(read_window, bind_to_the_other);
	CU_ASSERT_TRUE(found > 0);
	CU_ASSERT_EQUAL(uroce_mr_table_remove(&table, binding.key), 0);
	CU_ASSERT_EQUAL(uroce_mr_table_remove(&table, regions[0]), 0);
	CU_ASSERT_EQUAL(uroce_mr_table_remove(&table, regions[1]), 0);
}

/* ---- what stays is found ---- */

/* A region to which the window is bound, and the window, which is bound anew to the same. */
static struct uroce_mr_change lasting;

static void *use_both(void *arg)
{
	uint8_t *ptr;

	(void)arg;
	while (!atomic_load(&stop)) {
		if (uroce_mr_resolve(&table, PD, regions[0], AREA, 8, UROCE_ACCESS_LOCAL_WRITE,
			    &ptr) != UROCE_MR_OK)
			atomic_fetch_add(&wrong, 1);
		if (uroce_mr_resolve(&table, PD, window, AREA, 8, UROCE_ACCESS_REMOTE_READ, &ptr) !=
			UROCE_MR_OK)
			atomic_fetch_add(&wrong, 1);
		atomic_fetch_add(&found, 1);
	}
	return NULL;
}

static void try_all(uint32_t i)
{
	struct uroce_mr_change refused = lasting;

	refused.bytes = 2 * AREA;
	CU_ASSERT_EQUAL_FATAL(uroce_mr_table_kill(&table, regions[0]), -EBUSY);
	CU_ASSERT_EQUAL_FATAL(uroce_mr_bind(&table, &refused), UROCE_MR_RANGE);
	CU_ASSERT_EQUAL_FATAL(uroce_mr_bind(&table, &lasting), UROCE_MR_OK);
	CU_ASSERT_EQUAL_FATAL(
		uroce_mr_invalidate(&table, PD, 0, window, i & 1), UROCE_MR_WRONG_KIND);
}

static void what_stays_is_found_all_the_time(void)
{
	start();
	lasting = (struct uroce_mr_change){.pd = PD,
		.key = window,
		.new_key = window,
		.lkey = regions[0],
		.access = UROCE_ACCESS_REMOTE_READ,
		.addr = AREA,
		.bytes = AREA};
	CU_ASSERT_EQUAL(uroce_mr_bind(&table, &lasting), UROCE_MR_OK);
	change_while(use_both, try_all);
}

int main(void)
{
	static const struct unit_case cases[] = {
		{"whoever finds a window finds one binding",
			whoever_finds_a_window_finds_one_binding},
		{"what stays is found all the time", what_stays_is_found_all_the_time},
	};

	return run_suite("mr_threads", cases, sizeof(cases) / sizeof(cases[0]));
}
