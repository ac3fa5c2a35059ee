/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The single-producer, single-consumer ring, seen from one thread: what is visible when, how much
 * fits, and that nothing changes when the free-running indices pass 2^32.
 *
 * Two threads on it are tests/ring's business.
 */
#include "ring.h"

#include <string.h>

#include "cunit_run.h"
#include "test_random.h"

enum {
	ENTRIES_MAX = 64
};

static uint64_t entries[ENTRIES_MAX];
static struct uroce_ring ring;

static void start(uint32_t limit)
{
	memset(entries, 0xee, sizeof(entries));
	uroce_ring_init(&ring, entries, sizeof(entries[0]), limit);
}

/* As if `index` entries had gone through already. */
static void start_at(uint32_t limit, uint32_t index)
{
	start(limit);
	atomic_store(&ring.tail, index);
	atomic_store(&ring.head, index);
	ring.producer_tail = index;
	ring.head_cached = index;
	ring.tail_cached = index;
}

static bool put(uint64_t value)
{
	uint64_t *entry = uroce_ring_reserve(&ring);

	if (!entry)
		return false;
	*entry = value;
	uroce_ring_advance(&ring);
	uroce_ring_publish(&ring);
	return true;
}

/* The oldest value, taken; UINT64_MAX when there is none. */
static uint64_t take(void)
{
	uint64_t *entry = uroce_ring_peek(&ring);
	uint64_t value;

	if (!entry)
		return UINT64_MAX;
	value = *entry;
	uroce_ring_pop(&ring);
	return value;
}

static void sizes_are_rounded_up_to_powers_of_two(void)
{
	static const uint32_t lines[][2] = {{1, 1}, {2, 2}, {3, 4}, {4, 4}, {5, 8}, {63, 64},
		{64, 64}, {65, 128}, {32768, 32768}, {32769, 65536}};

	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++)
		CU_ASSERT_EQUAL(uroce_ring_round_up(lines[i][0]), lines[i][1]);
}

static void a_new_ring_is_empty(void)
{
	start(4);
	CU_ASSERT_PTR_NULL(uroce_ring_peek(&ring));
	CU_ASSERT_EQUAL(uroce_ring_tail(&ring), 0);
}

static void entries_come_out_in_the_order_in_which_they_went_in(void)
{
	start(8);
	for (uint64_t i = 0; i < 8; i++)
		CU_ASSERT_TRUE(put(100 + i));
	for (uint64_t i = 0; i < 8; i++)
		CU_ASSERT_EQUAL(take(), 100 + i);
	CU_ASSERT_EQUAL(take(), UINT64_MAX);
}

static void a_ring_is_full_at_its_limit_not_at_its_size(void)
{
	for (uint32_t limit = 1; limit <= 33; limit++) {
		start(limit);
		for (uint32_t i = 0; i < limit; i++)
			CU_ASSERT_TRUE(put(i));
		CU_ASSERT_PTR_NULL(uroce_ring_reserve(&ring));
		CU_ASSERT_EQUAL(take(), 0);
		CU_ASSERT_TRUE(put(limit));
		CU_ASSERT_FALSE(put(limit + 1));
		for (uint32_t i = 1; i <= limit; i++)
			CU_ASSERT_EQUAL(take(), i);
		CU_ASSERT_EQUAL(take(), UINT64_MAX);
	}
}

static void an_entry_is_invisible_until_it_is_published(void)
{
	uint64_t *entry;

	start(4);
	entry = uroce_ring_reserve(&ring);
	CU_ASSERT_PTR_NOT_NULL_FATAL(entry);
	*entry = 7;
	CU_ASSERT_PTR_NULL(uroce_ring_peek(&ring));
	uroce_ring_advance(&ring);
	CU_ASSERT_PTR_NULL(uroce_ring_peek(&ring));
	CU_ASSERT_EQUAL(uroce_ring_tail(&ring), 0);
	uroce_ring_publish(&ring);
	CU_ASSERT_EQUAL(uroce_ring_tail(&ring), 1);
	CU_ASSERT_PTR_EQUAL(uroce_ring_peek(&ring), entry);
}

static void reserving_twice_is_reserving_once(void)
{
	start(4);
	CU_ASSERT_PTR_EQUAL(uroce_ring_reserve(&ring), uroce_ring_reserve(&ring));
}

static void a_batch_becomes_visible_at_once(void)
{
	start(8);
	for (uint64_t i = 0; i < 5; i++) {
		uint64_t *entry = uroce_ring_reserve(&ring);

		CU_ASSERT_PTR_NOT_NULL_FATAL(entry);
		*entry = i;
		uroce_ring_advance(&ring);
	}
	CU_ASSERT_EQUAL(uroce_ring_tail(&ring), 0);
	uroce_ring_publish_seq(&ring);
	CU_ASSERT_EQUAL(uroce_ring_tail(&ring), 5);
	for (uint64_t i = 0; i < 5; i++)
		CU_ASSERT_EQUAL(take(), i);
}

static void unpublished_entries_count_towards_the_limit(void)
{
	start(3);
	for (int i = 0; i < 3; i++) {
		CU_ASSERT_PTR_NOT_NULL(uroce_ring_reserve(&ring));
		uroce_ring_advance(&ring);
	}
	CU_ASSERT_PTR_NULL(uroce_ring_reserve(&ring));
}

static void peeking_takes_nothing(void)
{
	start(4);
	put(5);
	CU_ASSERT_PTR_EQUAL(uroce_ring_peek(&ring), uroce_ring_peek(&ring));
	CU_ASSERT_EQUAL(take(), 5);
}

static void entries_below_a_released_index_are_free_again(void)
{
	start(4);
	for (uint64_t i = 0; i < 4; i++)
		CU_ASSERT_TRUE(put(i));
	uroce_ring_release(&ring, 3);
	for (uint64_t i = 4; i < 7; i++)
		CU_ASSERT_TRUE(put(i));
	CU_ASSERT_FALSE(put(7));
	CU_ASSERT_EQUAL(*(uint64_t *)uroce_ring_entry(&ring, 3), 3);
	CU_ASSERT_EQUAL(*(uint64_t *)uroce_ring_entry(&ring, 6), 6);
}

static void an_index_finds_its_entry_whatever_the_stride(void)
{
	static uint8_t wide[8 * 192];

	uroce_ring_init(&ring, wide, 192, 5);
	for (uint32_t i = 0; i < 20; i++)
		CU_ASSERT_PTR_EQUAL(uroce_ring_entry(&ring, i), wide + (size_t)(i % 8) * 192);
	CU_ASSERT_PTR_EQUAL(uroce_ring_entry(&ring, UINT32_MAX), wide + 7 * 192);
}

static void nothing_happens_when_the_indices_pass_2_to_the_32(void)
{
	for (uint32_t back = 0; back <= 6; back++) {
		start_at(5, (uint32_t)-back);
		for (uint64_t i = 0; i < 5; i++)
			CU_ASSERT_TRUE(put(i));
		CU_ASSERT_FALSE(put(5));
		for (uint64_t i = 0; i < 3; i++)
			CU_ASSERT_EQUAL(take(), i);
		for (uint64_t i = 5; i < 8; i++)
			CU_ASSERT_TRUE(put(i));
		CU_ASSERT_FALSE(put(8));
		for (uint64_t i = 3; i < 8; i++)
			CU_ASSERT_EQUAL(take(), i);
		CU_ASSERT_EQUAL(take(), UINT64_MAX);
	}
}

static void producer_and_consumer_write_to_lines_of_their_own(void)
{
	size_t producer = offsetof(struct uroce_ring, tail);
	size_t consumer = offsetof(struct uroce_ring, head);

	CU_ASSERT_EQUAL(producer % UROCE_CACHE_LINE_BYTES, 0);
	CU_ASSERT_EQUAL(consumer % UROCE_CACHE_LINE_BYTES, 0);
	CU_ASSERT_TRUE(consumer > producer);
	CU_ASSERT_TRUE(offsetof(struct uroce_ring, producer_tail) < consumer);
	CU_ASSERT_TRUE(offsetof(struct uroce_ring, head_cached) < consumer);
	CU_ASSERT_TRUE(offsetof(struct uroce_ring, tail_cached) > consumer);
}

/* Random puts and takes against two counters: what went in and what came out. */
static void random_use_loses_and_invents_nothing(void)
{
	uint64_t seed = 2024, in = 0, out = 0;
	unsigned int wrong = 0;

	start_at(13, (uint32_t)-50000);
	for (int step = 0; step < 200000; step++) {
		if (random_below(&seed, 2)) {
			bool fits = put(in);

			wrong += fits != (in - out < 13);
			in += fits;
		} else {
			uint64_t value = take();

			wrong += value != (in == out ? UINT64_MAX : out);
			out += value != UINT64_MAX;
		}
	}
	CU_ASSERT_EQUAL(wrong, 0);
	CU_ASSERT_TRUE(out > 60000);
}

int main(void)
{
	static const struct unit_case cases[] = {
		{"Sizes are rounded up to powers of two", sizes_are_rounded_up_to_powers_of_two},
		{"A new ring is empty", a_new_ring_is_empty},
		{"Entries come out in the order in which they went in",
			entries_come_out_in_the_order_in_which_they_went_in},
		{"A ring is full at its limit, not at its size",
			a_ring_is_full_at_its_limit_not_at_its_size},
		{"An entry is invisible until it is published",
			an_entry_is_invisible_until_it_is_published},
		{"Reserving twice is reserving once", reserving_twice_is_reserving_once},
		{"A batch becomes visible at once", a_batch_becomes_visible_at_once},
		{"Unpublished entries count towards the limit",
			unpublished_entries_count_towards_the_limit},
		{"Peeking takes nothing", peeking_takes_nothing},
		{"Entries below a released index are free again",
			entries_below_a_released_index_are_free_again},
		{"An index finds its entry whatever the stride",
			an_index_finds_its_entry_whatever_the_stride},
		{"Nothing happens when the indices pass 2^32",
			nothing_happens_when_the_indices_pass_2_to_the_32},
		{"Producer and consumer write to lines of their own",
			producer_and_consumer_write_to_lines_of_their_own},
		{"Random use loses and invents nothing", random_use_loses_and_invents_nothing},
	};

	return run_suite("ring", cases, sizeof(cases) / sizeof(cases[0]));
}
