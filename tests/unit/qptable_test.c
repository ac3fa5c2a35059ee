/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The queue pair table: numbers that uroce draws, numbers that a replay asks for, both together.
 *
 * The table never looks into a queue pair, so the queue pairs here are addresses of bytes.
 */
#include "qptable.h"

#include <errno.h>
#include <string.h>

#include "cunit_run.h"
#include "test_random.h"

enum {
	LOG2 = 6,
	NUM_SLOTS = 1 << LOG2,
	NUM_USABLE = NUM_SLOTS / 4 * 3,
	NEIGHBOURHOOD = 17
};

static struct uroce_qptable_slot slots[NUM_SLOTS];
static struct uroce_qptable table;
static char bodies[NUM_SLOTS];

static struct uroce_qp *body(uint32_t i)
{
	return (struct uroce_qp *)(void *)&bodies[i];
}

static void start(uint32_t slots_log2, uint32_t random)
{
	memset(slots, 0, sizeof(slots));
	uroce_qptable_init(&table, slots, slots_log2, random);
}

static uint32_t drawn(uint32_t i)
{
	uint32_t qpn = 0;

	CU_ASSERT_EQUAL_FATAL(uroce_qptable_add(&table, &qpn, body(i), i), 0);
	return qpn;
}

static int add_as(uint32_t qpn, uint32_t i)
{
	uint32_t number = qpn;
	int err = uroce_qptable_add(&table, &number, body(i), i);

	CU_ASSERT_EQUAL(number, qpn);
	return err;
}

static bool is_known(uint32_t qpn)
{
	struct uroce_qp *qp;
	uint32_t owner;

	return uroce_qptable_find(&table, qpn, &qp, &owner);
}

/* Whether qpn finds queue pair i with its owner. */
static bool is_at(uint32_t qpn, uint32_t i)
{
	struct uroce_qp *qp = NULL;
	uint32_t owner = UINT32_MAX;

	return uroce_qptable_find(&table, qpn, &qp, &owner) && qp == body(i) && owner == i;
}

static void an_empty_table_knows_no_number(void)
{
	start(LOG2, 0x12345678);
	for (uint32_t qpn = 0; qpn < 1000; qpn++)
		CU_ASSERT_FALSE(is_known(qpn));
	CU_ASSERT_FALSE(is_known(0xffffff));
	CU_ASSERT_FALSE(is_known(UINT32_MAX));
}

static void a_drawn_number_finds_its_queue_pair_and_owner(void)
{
	uint32_t qpns[NUM_USABLE];

	start(LOG2, 0x12345678);
	for (uint32_t i = 0; i < NUM_USABLE; i++)
		qpns[i] = drawn(i);
	for (uint32_t i = 0; i < NUM_USABLE; i++) {
		CU_ASSERT_TRUE(is_at(qpns[i], i));
		for (uint32_t j = 0; j < i; j++)
			CU_ASSERT_NOT_EQUAL(qpns[i], qpns[j]);
	}
}

static void drawn_numbers_are_found_at_the_first_look(void)
{
	start(LOG2, 0xabcdef01);
	for (uint32_t i = 0; i < NUM_USABLE; i++) {
		uint32_t qpn = drawn(i);

		CU_ASSERT_EQUAL(atomic_load(&slots[qpn % NUM_SLOTS].qpn), qpn);
	}
	CU_ASSERT_EQUAL(atomic_load(&table.reach), 0);
}

static void a_removed_number_is_unknown_and_the_others_stay(void)
{
	uint32_t qpns[NUM_USABLE];

	start(LOG2, 1);
	for (uint32_t i = 0; i < NUM_USABLE; i++)
		qpns[i] = drawn(i);
	uroce_qptable_remove(&table, qpns[10]);
	uroce_qptable_remove(&table, qpns[10]);
	for (uint32_t i = 0; i < NUM_USABLE; i++)
		CU_ASSERT_EQUAL(is_at(qpns[i], i), i != 10);
	CU_ASSERT_EQUAL(table.used, NUM_USABLE - 1);
}

static void removing_what_is_not_there_is_nothing(void)
{
	uint32_t qpn;

	start(LOG2, 1);
	qpn = drawn(0);
	uroce_qptable_remove(&table, 0);
	uroce_qptable_remove(&table, qpn + NUM_SLOTS);
	uroce_qptable_remove(&table, 0xffffff);
	CU_ASSERT_EQUAL(table.used, 1);
	CU_ASSERT_TRUE(is_at(qpn, 0));
}

static void numbers_of_the_same_slot_are_not_taken_for_each_other(void)
{
	uint32_t qpn;

	start(LOG2, 0x777);
	qpn = drawn(3);
	for (uint32_t bit = LOG2; bit < 24; bit++)
		CU_ASSERT_FALSE(is_known(qpn ^ 1u << bit));
	for (uint32_t bit = 24; bit < 32; bit++)
		CU_ASSERT_FALSE(is_known(qpn | 1u << bit));
}

/* One bit per 24-bit number. */
static uint8_t seen[1 << 21];

static bool first_time(uint32_t qpn)
{
	bool first = !(seen[qpn / 8] & 1u << qpn % 8);

	seen[qpn / 8] |= (uint8_t)(1u << qpn % 8);
	return first;
}

static void a_number_that_was_used_does_not_come_back_soon(void)
{
	unsigned int repeated = 0;

	start(LOG2, 0xfeedbeef);
	memset(seen, 0, sizeof(seen));
	for (int i = 0; i < 200000; i++) {
		uint32_t qpn = drawn(0);

		repeated += !first_time(qpn);
		uroce_qptable_remove(&table, qpn);
	}
	CU_ASSERT_EQUAL(repeated, 0);
}

static void a_slot_comes_back_only_after_all_other_free_ones(void)
{
	uint32_t kept[10], last_turn[NUM_SLOTS];

	start(LOG2, 0x1000);
	memset(last_turn, 0, sizeof(last_turn));
	for (uint32_t i = 0; i < 10; i++)
		kept[i] = drawn(i);
	for (uint32_t turn = 1; turn < 1000; turn++) {
		uint32_t qpn = drawn(20);
		uint32_t slot = qpn % NUM_SLOTS;

		if (last_turn[slot])
			CU_ASSERT_EQUAL(turn - last_turn[slot], NUM_SLOTS - 10);
		last_turn[slot] = turn;
		uroce_qptable_remove(&table, qpn);
	}
	for (uint32_t i = 0; i < 10; i++)
		CU_ASSERT_TRUE(is_at(kept[i], i));
}

/* The last generations before the 24 bits run out, and the first ones after. */
static void drawn_numbers_are_never_the_standards(void)
{
	unsigned int bad = 0, high = 0, low = 0;

	for (uint32_t start_slot = 0; start_slot < 4; start_slot++) {
		/* generation: the number without its slot, less 2 */
		start(4, ((0xfffff - 2) << 8) | start_slot);
		for (int i = 0; i < 16 * 5; i++) {
			uint32_t qpn = drawn(0);

			bad += qpn < 2 || qpn >= 0xffffff;
			high += qpn >= 0xffff00;
			low += qpn < 0x100;
			uroce_qptable_remove(&table, qpn);
		}
	}
	CU_ASSERT_EQUAL(bad, 0);
	CU_ASSERT_TRUE(high > 50 && low > 50);
}

static void different_seeds_begin_with_different_numbers(void)
{
	uint64_t seed = 5;
	unsigned int repeated = 0;

	memset(seen, 0, sizeof(seen));
	for (int i = 0; i < 100; i++) {
		start(LOG2, (uint32_t)random_next(&seed));
		repeated += !first_time(drawn(0));
	}
	CU_ASSERT_EQUAL(repeated, 0);
}

/* So that one who knows the table's size does not know where it begins. */
static void different_seeds_begin_at_different_slots(void)
{
	uint32_t found = 0;

	for (uint32_t seed = 0; seed < 16; seed++) {
		start(LOG2, seed);
		found |= 1u << (drawn(0) & 15);
	}
	CU_ASSERT_TRUE(__builtin_popcount(found) > 8);
}

static void any_24_bit_number_but_the_reserved_ones_may_be_asked_for(void)
{
	static const uint32_t good[] = {1, 2, 3, 0x7fffff, 0x800000, 0xfffffd, 0xfffffe};
	static const uint32_t bad[] = {0xffffff, 0x1000000, 0x1000002, UINT32_MAX};

	start(LOG2, 9);
	for (uint32_t i = 0; i < sizeof(good) / sizeof(good[0]); i++)
		CU_ASSERT_EQUAL(add_as(good[i], i), 0);
	for (uint32_t i = 0; i < sizeof(good) / sizeof(good[0]); i++)
		CU_ASSERT_TRUE(is_at(good[i], i));
	for (uint32_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		CU_ASSERT_EQUAL(add_as(bad[i], 9), -EINVAL);
		CU_ASSERT_FALSE(is_known(bad[i]));
	}
	CU_ASSERT_EQUAL(table.used, sizeof(good) / sizeof(good[0]));
}

static void a_number_that_is_taken_is_refused(void)
{
	uint32_t qpn;

	start(LOG2, 9);
	CU_ASSERT_EQUAL(add_as(0x123456, 1), 0);
	CU_ASSERT_EQUAL(add_as(0x123456, 2), -EEXIST);
	qpn = drawn(3);
	CU_ASSERT_EQUAL(add_as(qpn, 4), -EEXIST);
	CU_ASSERT_TRUE(is_at(0x123456, 1));
	CU_ASSERT_TRUE(is_at(qpn, 3));
	uroce_qptable_remove(&table, 0x123456);
	CU_ASSERT_EQUAL(add_as(0x123456, 2), 0);
	CU_ASSERT_TRUE(is_at(0x123456, 2));
}

/* All of one home slot, the last ones included, where the neighbourhood goes round the end. */
static void numbers_that_collide_are_all_found(void)
{
	for (uint32_t home = 2; home < NUM_SLOTS; home += 3) {
		start(LOG2, 9);
		for (uint32_t i = 0; i < NEIGHBOURHOOD; i++)
			CU_ASSERT_EQUAL(add_as(home + i * NUM_SLOTS, i), 0);
		CU_ASSERT_EQUAL(add_as(home + NEIGHBOURHOOD * NUM_SLOTS, 20), -ENOMEM);
		for (uint32_t i = 0; i < NEIGHBOURHOOD; i++)
			CU_ASSERT_TRUE(is_at(home + i * NUM_SLOTS, i));
		CU_ASSERT_FALSE(is_known(home + NEIGHBOURHOOD * NUM_SLOTS));
	}
}

static void removing_one_of_a_row_of_collisions_loses_none_of_the_others(void)
{
	for (uint32_t gone = 0; gone < NEIGHBOURHOOD; gone++) {
		start(LOG2, 9);
		for (uint32_t i = 0; i < NEIGHBOURHOOD; i++)
			CU_ASSERT_EQUAL(add_as(60 + i * NUM_SLOTS, i), 0);
		uroce_qptable_remove(&table, 60 + gone * NUM_SLOTS);
		for (uint32_t i = 0; i < NEIGHBOURHOOD; i++)
			CU_ASSERT_EQUAL(is_at(60 + i * NUM_SLOTS, i), i != gone);
		CU_ASSERT_EQUAL(add_as(60 + 30 * NUM_SLOTS, 30), 0);
		CU_ASSERT_TRUE(is_at(60 + 30 * NUM_SLOTS, 30));
	}
}

static void drawn_numbers_keep_clear_of_asked_for_ones(void)
{
	start(4, 0);
	/* generation 0 comes first: the numbers that it would draw are 0x10 to 0x1f */
	for (uint32_t i = 0; i < 4; i++)
		CU_ASSERT_EQUAL(add_as(0x20 + i, i), 0);
	/* two that lie away from home, in slots 4 and 5 */
	CU_ASSERT_EQUAL(add_as(0x13, 4), 0);
	CU_ASSERT_EQUAL(add_as(0x12, 5), 0);
	for (uint32_t i = 6; i < 12; i++) {
		uint32_t qpn = drawn(i);

		CU_ASSERT_TRUE(is_at(qpn, i));
		CU_ASSERT_TRUE(qpn % 16 > 5);
	}
	CU_ASSERT_TRUE(is_at(0x13, 4));
	CU_ASSERT_TRUE(is_at(0x12, 5));
	for (uint32_t i = 0; i < 4; i++)
		CU_ASSERT_TRUE(is_at(0x20 + i, i));
}

/* A slot is free, but the number that it would give now is in use a few slots further. */
static void a_number_in_use_elsewhere_is_not_drawn_again(void)
{
	unsigned int repeated = 0;

	start(4, 0);
	CU_ASSERT_EQUAL(add_as(0x23, 0), 0); /* slot 3 */
	CU_ASSERT_EQUAL(add_as(0x13, 1), 0); /* slot 4: home is taken */
	uroce_qptable_remove(&table, 0x23);
	for (int i = 0; i < 64; i++) {
		uint32_t qpn = drawn(2);

		repeated += qpn == 0x13;
		uroce_qptable_remove(&table, qpn);
	}
	CU_ASSERT_EQUAL(repeated, 0);
	CU_ASSERT_TRUE(is_at(0x13, 1));
}

/* ---- owners in numbers ---- */

static uint32_t drawn_by(uint32_t owner)
{
	uint32_t qpn = 0;

	CU_ASSERT_EQUAL_FATAL(uroce_qptable_add(&table, &qpn, body(0), owner), 0);
	return qpn;
}

static void drawn_numbers_end_in_their_owner(void)
{
	static const uint32_t owners[] = {1, 2, 3, 4, 5, 16};
	static const uint32_t masks[] = {0, 1, 3, 3, 7, 15};

	for (size_t i = 0; i < sizeof(owners) / sizeof(owners[0]); i++) {
		start(LOG2, 0x12345678);
		uroce_qptable_mark_owners(&table, owners[i]);
		for (uint32_t n = 0; n < 32; n++) {
			uint32_t owner = n % owners[i], qpn = drawn_by(owner);

			CU_ASSERT_EQUAL(qpn & masks[i], owner & masks[i]);
			CU_ASSERT_TRUE(is_known(qpn));
		}
	}
}

/* Also over many lives of a slot. */
static void an_owner_gets_its_own_numbers_again_and_again(void)
{
	start(LOG2, 7);
	uroce_qptable_mark_owners(&table, 4);
	for (uint32_t i = 0; i < 10000; i++) {
		uint32_t qpn = drawn_by(i % 4);

		CU_ASSERT_EQUAL(qpn % 4, i % 4);
		uroce_qptable_remove(&table, qpn);
	}
}

static void an_owner_without_numbers_of_its_own_gets_others(void)
{
	start(LOG2, 3);
	uroce_qptable_mark_owners(&table, 4);
	/* All that end in 2, asked for by another. */
	for (uint32_t qpn = 0x102; qpn < 0x102 + NUM_SLOTS; qpn += 4)
		CU_ASSERT_EQUAL(add_as(qpn, 1), 0);
	for (uint32_t i = NUM_SLOTS / 4; i < NUM_USABLE; i++) {
		uint32_t qpn = drawn_by(2);

		CU_ASSERT_NOT_EQUAL(qpn % 4, 2);
		CU_ASSERT_TRUE(is_known(qpn));
	}
}

static void a_table_three_quarters_full_takes_no_more(void)
{
	uint32_t qpn = 0, first = 0;

	for (uint32_t slots_log2 = 2; slots_log2 <= LOG2; slots_log2++) {
		uint32_t usable = (1u << slots_log2) / 4 * 3;

		start(slots_log2, 0x4242);
		for (uint32_t i = 0; i < usable; i++) {
			qpn = drawn(i);
			first = i ? first : qpn;
		}
		qpn = 0;
		CU_ASSERT_EQUAL(uroce_qptable_add(&table, &qpn, body(0), 0), -ENOMEM);
		CU_ASSERT_EQUAL(add_as(0x654321, 0), -ENOMEM);
		uroce_qptable_remove(&table, first);
		/* a number whose home is the slot that is free again */
		first = 0x650000 | first % (usable / 3 * 4);
		CU_ASSERT_EQUAL(add_as(first, 0), 0);
		CU_ASSERT_TRUE(is_at(first, 0));
		CU_ASSERT_EQUAL(uroce_qptable_add(&table, &qpn, body(0), 0), -ENOMEM);
	}
}

/* The reference: the numbers in use, in no order. */
static uint32_t in_use[NUM_USABLE];
static uint32_t bodies_in_use[NUM_USABLE];
static uint32_t num_in_use;

static int reference_find(uint32_t qpn)
{
	for (uint32_t i = 0; i < num_in_use; i++)
		if (in_use[i] == qpn)
			return (int)i;
	return -1;
}

static bool random_step_is_right(uint64_t *seed)
{
	uint32_t what = random_below(seed, 8), i = random_below(seed, NUM_SLOTS);
	/* few numbers, few home slots: collisions all the time */
	uint32_t qpn = 2 + random_below(seed, 24) + random_below(seed, 8) * NUM_SLOTS;
	int at = reference_find(qpn), err;

	if (what < 2 && num_in_use > 0) {
		at = (int)random_below(seed, num_in_use);
		uroce_qptable_remove(&table, in_use[at]);
		qpn = in_use[at];
		in_use[at] = in_use[--num_in_use];
		bodies_in_use[at] = bodies_in_use[num_in_use];
		return !is_known(qpn);
	}
	if (what >= 5)
		return at < 0 ? !is_known(qpn) : is_at(qpn, bodies_in_use[at]);
	if (what == 4)
		qpn = 0;
	err = uroce_qptable_add(&table, &qpn, body(i), i);
	if (num_in_use == NUM_USABLE)
		return err == -ENOMEM;
	if (at >= 0 && what != 4)
		return err == -EEXIST;
	if (err)
		return err == -ENOMEM && what != 4;
	at = reference_find(qpn);
	in_use[num_in_use] = qpn;
	bodies_in_use[num_in_use++] = i;
	return at < 0 && is_at(qpn, i);
}

static void a_hundred_thousand_random_steps_agree_with_the_reference(void)
{
	uint64_t seed = 0x9b7ab1e;
	unsigned int wrong = 0;

	start(LOG2, 0x31415926);
	num_in_use = 0;
	for (int step = 0; step < 100000; step++)
		wrong += !random_step_is_right(&seed);
	for (uint32_t i = 0; i < num_in_use; i++)
		wrong += !is_at(in_use[i], bodies_in_use[i]);
	CU_ASSERT_EQUAL(wrong, 0);
	CU_ASSERT_EQUAL(table.used, num_in_use);
}

int main(void)
{
	static const struct unit_case cases[] = {
		{"An empty table knows no number", an_empty_table_knows_no_number},
		{"A drawn number finds its queue pair and owner",
			a_drawn_number_finds_its_queue_pair_and_owner},
		{"Drawn numbers are found at the first look",
			drawn_numbers_are_found_at_the_first_look},
		{"A removed number is unknown and the others stay",
			a_removed_number_is_unknown_and_the_others_stay},
		{"Removing what is not there is nothing", removing_what_is_not_there_is_nothing},
		{"Numbers of the same slot are not taken for each other",
			numbers_of_the_same_slot_are_not_taken_for_each_other},
		{"rdma-unit-test: a number that was used does not come back soon",
			a_number_that_was_used_does_not_come_back_soon},
		{"A slot comes back only after all other free ones",
			a_slot_comes_back_only_after_all_other_free_ones},
		{"Drawn numbers are never the standard's", drawn_numbers_are_never_the_standards},
		{"Different seeds begin with different numbers",
			different_seeds_begin_with_different_numbers},
		{"Different seeds begin at different slots",
			different_seeds_begin_at_different_slots},
		{"Any 24-bit number but the reserved ones may be asked for",
			any_24_bit_number_but_the_reserved_ones_may_be_asked_for},
		{"A number that is taken is refused", a_number_that_is_taken_is_refused},
		{"Numbers that collide are all found", numbers_that_collide_are_all_found},
		{"Removing one of a row of collisions loses none of the others",
			removing_one_of_a_row_of_collisions_loses_none_of_the_others},
		{"Drawn numbers keep clear of asked-for ones",
			drawn_numbers_keep_clear_of_asked_for_ones},
		{"A number in use elsewhere is not drawn again",
			a_number_in_use_elsewhere_is_not_drawn_again},
		{"Drawn numbers end in their owner", drawn_numbers_end_in_their_owner},
		{"An owner gets its own numbers again and again",
			an_owner_gets_its_own_numbers_again_and_again},
		{"An owner without numbers of its own gets others",
			an_owner_without_numbers_of_its_own_gets_others},
		{"A table three quarters full takes no more",
			a_table_three_quarters_full_takes_no_more},
		{"A hundred thousand random steps agree with the reference",
			a_hundred_thousand_random_steps_agree_with_the_reference},
	};

	return run_suite("qptable", cases, sizeof(cases) / sizeof(cases[0]));
}
