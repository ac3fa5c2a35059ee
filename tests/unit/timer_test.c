/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Timers against a naive reference: an array of deadlines that is searched from end to end.
 *
 * The heap may be lazy inside, but never late, early or forgetful outside. A hundred thousand
 * random steps move, cancel, remove and expire timers; the cases before them name what matters.
 */
#include "timer.h"

#include <string.h>

#include "cunit_run.h"
#include "test_random.h"

enum {
	NUM_TIMERS = 48
};

static struct uroce_timer timers[NUM_TIMERS];
static struct uroce_timer *heap[NUM_TIMERS];
static struct uroce_timers all;

static void start(void)
{
	uroce_timers_init(&all, heap, NUM_TIMERS);
	for (int i = 0; i < NUM_TIMERS; i++)
		uroce_timer_init(&timers[i]);
}

static void nothing_is_armed_at_first(void)
{
	start();
	CU_ASSERT_FALSE(uroce_timer_armed(&timers[0]));
	CU_ASSERT_EQUAL(uroce_timers_next(&all), UROCE_TIMER_NEVER);
	CU_ASSERT_PTR_NULL(uroce_timers_expire(&all, UROCE_TIMER_NEVER - 1));
}

static void a_timer_expires_at_its_deadline_and_not_before(void)
{
	start();
	uroce_timer_arm(&all, &timers[0], 1000);
	CU_ASSERT_TRUE(uroce_timer_armed(&timers[0]));
	CU_ASSERT_EQUAL(uroce_timers_next(&all), 1000);
	CU_ASSERT_PTR_NULL(uroce_timers_expire(&all, 999));
	CU_ASSERT_PTR_EQUAL(uroce_timers_expire(&all, 1000), &timers[0]);
	CU_ASSERT_FALSE(uroce_timer_armed(&timers[0]));
	CU_ASSERT_PTR_NULL(uroce_timers_expire(&all, 1000));
	CU_ASSERT_EQUAL(uroce_timers_next(&all), UROCE_TIMER_NEVER);
}

static void a_deadline_of_zero_has_passed_always(void)
{
	start();
	uroce_timer_arm(&all, &timers[0], 0);
	CU_ASSERT_EQUAL(uroce_timers_next(&all), 0);
	CU_ASSERT_PTR_EQUAL(uroce_timers_expire(&all, 0), &timers[0]);
}

static void a_timer_moved_later_expires_then(void)
{
	start();
	uroce_timer_arm(&all, &timers[0], 1000);
	for (uint64_t deadline = 1001; deadline < 1100; deadline++)
		uroce_timer_arm(&all, &timers[0], deadline);
	CU_ASSERT_EQUAL(all.num, 1);
	CU_ASSERT_PTR_NULL(uroce_timers_expire(&all, 1098));
	CU_ASSERT_EQUAL(uroce_timers_next(&all), 1099);
	CU_ASSERT_PTR_EQUAL(uroce_timers_expire(&all, 1099), &timers[0]);
}

static void a_timer_moved_earlier_expires_then(void)
{
	start();
	for (uint32_t i = 0; i < NUM_TIMERS; i++)
		uroce_timer_arm(&all, &timers[i], 1000 + i);
	uroce_timer_arm(&all, &timers[NUM_TIMERS - 1], 500);
	CU_ASSERT_EQUAL(uroce_timers_next(&all), 500);
	CU_ASSERT_PTR_EQUAL(uroce_timers_expire(&all, 500), &timers[NUM_TIMERS - 1]);
	CU_ASSERT_PTR_NULL(uroce_timers_expire(&all, 999));
}

static void a_cancelled_timer_does_not_expire_and_may_be_armed_again(void)
{
	start();
	uroce_timer_arm(&all, &timers[0], 1000);
	uroce_timer_arm(&all, &timers[1], 2000);
	uroce_timer_cancel(&timers[0]);
	CU_ASSERT_FALSE(uroce_timer_armed(&timers[0]));
	CU_ASSERT_PTR_NULL(uroce_timers_expire(&all, 1999));
	CU_ASSERT_EQUAL(uroce_timers_next(&all), 2000);
	uroce_timer_arm(&all, &timers[0], 1500);
	CU_ASSERT_EQUAL(uroce_timers_next(&all), 1500);
	CU_ASSERT_PTR_EQUAL(uroce_timers_expire(&all, 1500), &timers[0]);
}

/* There is room for one entry per timer, so cancelling must not leave ghosts behind. */
static void arming_and_cancelling_over_and_over_needs_no_more_room(void)
{
	start();
	for (uint64_t round = 0; round < 100; round++)
		for (uint32_t i = 0; i < NUM_TIMERS; i++) {
			uroce_timer_arm(&all, &timers[i], 1000 + round * 7 + i);
			uroce_timer_cancel(&timers[i]);
			uroce_timer_arm(&all, &timers[i], 900 - round);
		}
	CU_ASSERT_EQUAL(all.num, NUM_TIMERS);
	for (uint32_t i = 0; i < NUM_TIMERS; i++)
		CU_ASSERT_PTR_NOT_NULL(uroce_timers_expire(&all, 900));
	CU_ASSERT_PTR_NULL(uroce_timers_expire(&all, UROCE_TIMER_NEVER - 1));
}

static bool heap_knows(const struct uroce_timer *timer)
{
	for (uint32_t i = 0; i < all.num; i++)
		if (heap[i] == timer)
			return true;
	return false;
}

static void a_removed_timer_is_not_looked_at_again(void)
{
	for (uint32_t gone = 0; gone < NUM_TIMERS; gone++) {
		uint64_t last = 0;

		start();
		for (uint32_t i = 0; i < NUM_TIMERS; i++)
			uroce_timer_arm(&all, &timers[i], 1000 + i * 37 % NUM_TIMERS);
		if (gone % 2)
			uroce_timer_cancel(&timers[gone]);
		uroce_timer_remove(&all, &timers[gone]);
		CU_ASSERT_FALSE(heap_knows(&timers[gone]));
		CU_ASSERT_FALSE(uroce_timer_armed(&timers[gone]));
		memset(&timers[gone], 0, sizeof(timers[gone]));
		for (uint32_t i = 1; i < NUM_TIMERS; i++) {
			uint64_t next = uroce_timers_next(&all);

			CU_ASSERT_TRUE(next >= last);
			last = next;
			CU_ASSERT_PTR_NOT_NULL(uroce_timers_expire(&all, next));
		}
		CU_ASSERT_EQUAL(all.num, 0);
	}
}

static void removing_a_timer_that_is_not_armed_is_nothing(void)
{
	start();
	uroce_timer_arm(&all, &timers[1], 1000);
	uroce_timer_remove(&all, &timers[0]);
	uroce_timer_remove(&all, &timers[0]);
	CU_ASSERT_EQUAL(uroce_timers_next(&all), 1000);
}

static void timers_with_one_deadline_all_expire(void)
{
	start();
	for (uint32_t i = 0; i < NUM_TIMERS; i++)
		uroce_timer_arm(&all, &timers[i], 1000);
	for (uint32_t i = 0; i < NUM_TIMERS; i++)
		CU_ASSERT_PTR_NOT_NULL(uroce_timers_expire(&all, 1000));
	CU_ASSERT_PTR_NULL(uroce_timers_expire(&all, 1000));
}

static void an_expired_timer_may_be_armed_from_where_it_expired(void)
{
	struct uroce_timer *timer;
	unsigned int fired = 0;

	start();
	uroce_timer_arm(&all, &timers[0], 10);
	uroce_timer_arm(&all, &timers[1], 35);
	for (uint64_t now = 0; now <= 100; now++)
		while ((timer = uroce_timers_expire(&all, now))) {
			fired++;
			if (timer == &timers[0])
				uroce_timer_arm(&all, timer, now + 10);
		}
	CU_ASSERT_EQUAL(fired, 11);
}

/* The reference. */
static uint64_t deadlines[NUM_TIMERS];

static uint64_t earliest(void)
{
	uint64_t min = UROCE_TIMER_NEVER;

	for (int i = 0; i < NUM_TIMERS; i++)
		if (deadlines[i] < min)
			min = deadlines[i];
	return min;
}

/* Expires all that is due; returns how many answers were wrong. */
static unsigned int expire_all(uint64_t now)
{
	struct uroce_timer *timer;
	unsigned int wrong = 0;

	while ((timer = uroce_timers_expire(&all, now))) {
		uint64_t *deadline = &deadlines[timer - timers];

		wrong += *deadline > now;
		*deadline = UROCE_TIMER_NEVER;
	}
	return wrong + (earliest() <= now);
}

static unsigned int random_step(uint64_t *seed, uint64_t *now)
{
	uint32_t i = random_below(seed, NUM_TIMERS);
	uint32_t what = random_below(seed, 16);

	if (what < 8) {
		deadlines[i] = *now + random_below(seed, 200);
		uroce_timer_arm(&all, &timers[i], deadlines[i]);
	} else if (what < 11) {
		deadlines[i] = UROCE_TIMER_NEVER;
		uroce_timer_cancel(&timers[i]);
	} else if (what < 12) {
		deadlines[i] = UROCE_TIMER_NEVER;
		uroce_timer_remove(&all, &timers[i]);
	} else if (what < 14) {
		return uroce_timers_next(&all) != earliest();
	} else {
		*now += random_below(seed, 30);
		return expire_all(*now);
	}
	return uroce_timer_armed(&timers[i]) != (deadlines[i] != UROCE_TIMER_NEVER);
}

static void a_hundred_thousand_random_steps_agree_with_the_reference(void)
{
	uint64_t seed = 0x7177e5, now = 1000;
	unsigned int wrong = 0;

	start();
	for (int i = 0; i < NUM_TIMERS; i++)
		deadlines[i] = UROCE_TIMER_NEVER;
	for (int step = 0; step < 100000; step++)
		wrong += random_step(&seed, &now);
	CU_ASSERT_EQUAL(wrong, 0);
	CU_ASSERT_TRUE(now > 100000);
}

int main(void)
{
	static const struct unit_case cases[] = {
		{"Nothing is armed at first", nothing_is_armed_at_first},
		{"A timer expires at its deadline and not before",
			a_timer_expires_at_its_deadline_and_not_before},
		{"A deadline of zero has passed always", a_deadline_of_zero_has_passed_always},
		{"A timer moved later expires then", a_timer_moved_later_expires_then},
		{"A timer moved earlier expires then", a_timer_moved_earlier_expires_then},
		{"A cancelled timer does not expire and may be armed again",
			a_cancelled_timer_does_not_expire_and_may_be_armed_again},
		{"Arming and cancelling over and over needs no more room",
			arming_and_cancelling_over_and_over_needs_no_more_room},
		{"A removed timer is not looked at again", a_removed_timer_is_not_looked_at_again},
		{"Removing a timer that is not armed is nothing",
			removing_a_timer_that_is_not_armed_is_nothing},
		{"Timers with one deadline all expire", timers_with_one_deadline_all_expire},
		{"An expired timer may be armed from where it expired",
			an_expired_timer_may_be_armed_from_where_it_expired},
		{"A hundred thousand random steps agree with the reference",
			a_hundred_thousand_random_steps_agree_with_the_reference},
	};

	return run_suite("timer", cases, sizeof(cases) / sizeof(cases[0]));
}
