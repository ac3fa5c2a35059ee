/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Ways between workers, one call at a time: what is seen when, in which order, by whom.
 */
#include <stdbool.h>
#include <string.h>

#include "cunit_run.h"
#include "steer.h"

enum {
	WORKERS = 3,
	PER_WAY = UROCE_STEER_FRAMES_MAX / (WORKERS - 1)
};

#define SECOND_NS 1000000000ull

static struct uroce_steer steer;
static unsigned int wakes[WORKERS];
/* Their addresses are the frames. */
static uint8_t frames[4096];

static void note_wake(void *arg, uint32_t id)
{
	CU_ASSERT_PTR_EQUAL(arg, &steer);
	wakes[id]++;
}

static void start(void)
{
	memset(wakes, 0, sizeof(wakes));
	uroce_steer_init(&steer, WORKERS, note_wake, &steer);
}

static void start_connected(void)
{
	start();
	CU_ASSERT_EQUAL_FATAL(uroce_steer_connect_all(&steer), 0);
}

static bool push(uint32_t from, uint32_t to, unsigned int number)
{
	return uroce_steer_push(&steer, from, to, &frames[number]);
}

/* The number of the next frame for a worker; -1: none. */
static int pop(uint32_t to)
{
	void *frame;

	return uroce_steer_pop(&steer, to, &frame, 1) == 1 ? (int)((uint8_t *)frame - frames) : -1;
}

static void frames_are_seen_once_flushed(void)
{
	start_connected();
	CU_ASSERT_TRUE(push(0, 1, 1) && push(0, 1, 2) && push(0, 2, 3));
	CU_ASSERT_FALSE(uroce_steer_any(&steer, 1));
	CU_ASSERT_EQUAL(pop(1), -1);
	CU_ASSERT_EQUAL(wakes[1] + wakes[2], 0);
	uroce_steer_flush(&steer, 0);
	/* Each who got something is woken once, and nobody else. */
	CU_ASSERT_TRUE(wakes[0] == 0 && wakes[1] == 1 && wakes[2] == 1);
	CU_ASSERT_TRUE(uroce_steer_any(&steer, 1) && uroce_steer_any(&steer, 2));
	CU_ASSERT_FALSE(uroce_steer_any(&steer, 0));
	CU_ASSERT_EQUAL(pop(1), 1);
	CU_ASSERT_EQUAL(pop(1), 2);
	CU_ASSERT_EQUAL(pop(1), -1);
	CU_ASSERT_EQUAL(pop(2), 3);
	uroce_steer_flush(&steer, 0);
	CU_ASSERT_TRUE(wakes[1] == 1 && wakes[2] == 1);
	uroce_steer_fini(&steer);
}

static void who_never_sleeps_is_not_woken(void)
{
	uroce_steer_init(&steer, WORKERS, NULL, NULL);
	CU_ASSERT_EQUAL_FATAL(uroce_steer_connect_all(&steer), 0);
	CU_ASSERT_TRUE(push(0, 1, 1));
	uroce_steer_flush(&steer, 0);
	CU_ASSERT_EQUAL(pop(1), 1);
	uroce_steer_fini(&steer);
}

static void there_is_no_way_but_those_that_were_made(void)
{
	start();
	CU_ASSERT_EQUAL_FATAL(uroce_steer_connect(&steer, 2, 0), 0);
	CU_ASSERT_EQUAL_FATAL(uroce_steer_connect(&steer, 2, 0), 0);
	CU_ASSERT_FALSE(push(0, 2, 1));
	CU_ASSERT_FALSE(push(2, 1, 1));
	CU_ASSERT_FALSE(push(2, WORKERS, 1));
	CU_ASSERT_FALSE(push(2, 255, 1));
	CU_ASSERT_TRUE(push(2, 0, 1));
	uroce_steer_flush(&steer, 2);
	CU_ASSERT_EQUAL(pop(0), 1);
	uroce_steer_fini(&steer);
}

static void a_full_way_takes_no_more_until_there_is_room(void)
{
	start_connected();
	for (unsigned int i = 0; i < PER_WAY; i++)
		CU_ASSERT_TRUE(push(0, 1, i));
	CU_ASSERT_FALSE(push(0, 1, PER_WAY));
	/* Another's is another's. */
	CU_ASSERT_TRUE(push(2, 1, 4000));
	uroce_steer_flush(&steer, 0);
	CU_ASSERT_FALSE(push(0, 1, PER_WAY));
	CU_ASSERT_EQUAL(pop(1), 0);
	CU_ASSERT_TRUE(push(0, 1, PER_WAY));
	CU_ASSERT_FALSE(push(0, 1, PER_WAY + 1));
	uroce_steer_flush(&steer, 0);
	for (int i = 1; i <= PER_WAY; i++)
		CU_ASSERT_EQUAL(pop(1), i);
	CU_ASSERT_EQUAL(pop(1), -1);
	uroce_steer_fini(&steer);
}

/* However the indices stand: they run freely. */
static void a_way_holds_as_much_at_any_time(void)
{
	start_connected();
	for (unsigned int round = 0; round < 5; round++) {
		unsigned int n = 0;

		while (push(0, 1, n))
			n++;
		CU_ASSERT_EQUAL(n, PER_WAY);
		uroce_steer_flush(&steer, 0);
		for (unsigned int i = 0; i < n; i++)
			CU_ASSERT_EQUAL(pop(1), (int)i);
		/* By a number that has no factor in common with the ring's size. */
		for (unsigned int i = 0; i < 77; i++) {
			CU_ASSERT_TRUE(push(0, 1, i));
			uroce_steer_flush(&steer, 0);
			CU_ASSERT_EQUAL(pop(1), (int)i);
		}
	}
	uroce_steer_fini(&steer);
}

/* A sender with more than fits the reader's burst does not shut out the others. */
static void senders_take_turns(void)
{
	unsigned int from_2 = 0;
	void *got[8];

	start_connected();
	for (unsigned int i = 0; i < 100; i++)
		CU_ASSERT_TRUE(push(0, 1, i) && push(2, 1, 1000 + i));
	uroce_steer_flush(&steer, 0);
	uroce_steer_flush(&steer, 2);
	for (int turn = 0; turn < 4; turn++) {
		CU_ASSERT_EQUAL(uroce_steer_pop(&steer, 1, got, 8), 8);
		from_2 += (uint8_t *)got[0] - frames >= 1000;
	}
	CU_ASSERT_EQUAL(from_2, 2);
	uroce_steer_fini(&steer);
}

static void a_burst_is_filled_from_all(void)
{
	void *got[8];

	start_connected();
	CU_ASSERT_TRUE(push(0, 1, 1) && push(0, 1, 2) && push(2, 1, 3));
	uroce_steer_flush(&steer, 0);
	uroce_steer_flush(&steer, 2);
	CU_ASSERT_EQUAL(uroce_steer_pop(&steer, 1, got, 8), 3);
	CU_ASSERT_PTR_EQUAL(got[0], &frames[1]);
	CU_ASSERT_PTR_EQUAL(got[1], &frames[2]);
	CU_ASSERT_PTR_EQUAL(got[2], &frames[3]);
	uroce_steer_fini(&steer);
}

/* ---- for timers ---- */

static void the_oldest_word_counts(void)
{
	start();
	uroce_steer_drained(&steer, 0, 10 * SECOND_NS + 5);
	uroce_steer_drained(&steer, 1, 10 * SECOND_NS + 3);
	/* Of worker 2, who never ran, nothing is waited for. */
	CU_ASSERT_EQUAL(uroce_steer_all_drained(&steer, 10 * SECOND_NS + 7), 10 * SECOND_NS + 3);
	uroce_steer_drained(&steer, 2, 10 * SECOND_NS + 1);
	CU_ASSERT_EQUAL(uroce_steer_all_drained(&steer, 10 * SECOND_NS + 7), 10 * SECOND_NS + 1);
	uroce_steer_drained(&steer, 2, UINT64_MAX);
	CU_ASSERT_EQUAL(uroce_steer_all_drained(&steer, 10 * SECOND_NS + 7), 10 * SECOND_NS + 3);
}

static void nobodys_word_counts_for_the_future(void)
{
	start();
	CU_ASSERT_EQUAL(uroce_steer_all_drained(&steer, 7), 7);
	uroce_steer_drained(&steer, 0, 9);
	CU_ASSERT_EQUAL(uroce_steer_all_drained(&steer, 7), 7);
}

static void who_is_silent_for_a_second_is_not_waited_for(void)
{
	start();
	uroce_steer_drained(&steer, 0, 5);
	CU_ASSERT_EQUAL(uroce_steer_all_drained(&steer, SECOND_NS + 4), 5);
	CU_ASSERT_EQUAL(uroce_steer_all_drained(&steer, SECOND_NS + 5), 5);
	CU_ASSERT_EQUAL(uroce_steer_all_drained(&steer, SECOND_NS + 6), 6);
	CU_ASSERT_EQUAL(uroce_steer_all_drained(&steer, 9 * SECOND_NS), 8 * SECOND_NS);
}

int main(void)
{
	static const struct unit_case cases[] = {
		{"frames are seen once flushed, and who gets them is woken",
			frames_are_seen_once_flushed},
		{"who never sleeps is not woken", who_never_sleeps_is_not_woken},
		{"there is no way but those that were made",
			there_is_no_way_but_those_that_were_made},
		{"a full way takes no more until there is room",
			a_full_way_takes_no_more_until_there_is_room},
		{"a way holds as much at any time", a_way_holds_as_much_at_any_time},
		{"senders take turns", senders_take_turns},
		{"a burst is filled from all senders", a_burst_is_filled_from_all},
		{"of what workers say about their queues the oldest counts",
			the_oldest_word_counts},
		{"nobody's word counts for the future", nobodys_word_counts_for_the_future},
		{"who is silent for a second is not waited for",
			who_is_silent_for_a_second_is_not_waited_for},
	};

	return run_suite("ways", cases, sizeof(cases) / sizeof(cases[0]));
}
