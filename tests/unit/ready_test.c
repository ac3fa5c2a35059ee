/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The ready list and the doorbell, seen from one thread.
 *
 * What the doorbell does between threads is tests/ring's business: a model of every interleaving,
 * and two threads that try.
 */
#include "ready.h"

#include <string.h>

#include "cunit_run.h"
#include "test_random.h"

enum {
	NUM_FLOWS = 8
};

static struct uroce_flow flows[NUM_FLOWS];
static struct uroce_ready_list list;

static void start(void)
{
	list = (struct uroce_ready_list){NULL, NULL};
	for (int i = 0; i < NUM_FLOWS; i++)
		uroce_flow_init(&flows[i], UROCE_FLOW_REQUESTS, NULL);
}

/* The list as digits, walked from both ends. */
static const char *order(void)
{
	static char forward[NUM_FLOWS + 1];
	char backward[NUM_FLOWS + 1];
	int n = 0, m = 0;

	for (struct uroce_flow *f = list.head; f && n < NUM_FLOWS; f = f->next)
		forward[n++] = (char)('0' + (f - flows));
	forward[n] = 0;
	for (struct uroce_flow *f = list.tail; f && m < NUM_FLOWS; f = f->prev)
		backward[m++] = (char)('0' + (f - flows));
	CU_ASSERT_EQUAL(n, m);
	for (int i = 0; i < n && i < m; i++)
		CU_ASSERT_EQUAL(forward[i], backward[m - 1 - i]);
	CU_ASSERT_EQUAL(list.head == NULL, list.tail == NULL);
	return forward;
}

static void push(const char *digits)
{
	for (; *digits; digits++)
		uroce_ready_push(&list, &flows[*digits - '0']);
}

static void a_flow_knows_its_kind_and_queue_pair(void)
{
	char body;
	struct uroce_qp *qp = (struct uroce_qp *)(void *)&body;
	struct uroce_flow flow;

	memset(&flow, 0xee, sizeof(flow));
	uroce_flow_init(&flow, UROCE_FLOW_RESPONSES, qp);
	CU_ASSERT_EQUAL(flow.kind, UROCE_FLOW_RESPONSES);
	CU_ASSERT_PTR_EQUAL(flow.qp, qp);
	CU_ASSERT_FALSE(flow.ready);
	CU_ASSERT_EQUAL(flow.deficit_bytes, 0);
}

static void flows_are_served_in_the_order_in_which_they_became_ready(void)
{
	start();
	CU_ASSERT_STRING_EQUAL(order(), "");
	push("3");
	CU_ASSERT_STRING_EQUAL(order(), "3");
	push("105");
	CU_ASSERT_STRING_EQUAL(order(), "3105");
	for (int i = 0; i < NUM_FLOWS; i++)
		CU_ASSERT_EQUAL(flows[i].ready, i == 3 || i == 1 || i == 0 || i == 5);
}

static void a_flow_that_is_ready_keeps_its_place_and_deficit(void)
{
	start();
	push("012");
	flows[1].deficit_bytes = -700;
	push("1");
	push("0");
	CU_ASSERT_STRING_EQUAL(order(), "012");
	CU_ASSERT_EQUAL(flows[1].deficit_bytes, -700);
}

static void a_flow_that_becomes_ready_starts_without_deficit(void)
{
	start();
	push("01");
	flows[0].deficit_bytes = 900;
	uroce_ready_remove(&list, &flows[0]);
	push("0");
	CU_ASSERT_EQUAL(flows[0].deficit_bytes, 0);
	CU_ASSERT_STRING_EQUAL(order(), "10");
}

static void rotating_sends_the_head_to_the_end_with_its_deficit(void)
{
	start();
	push("012");
	flows[0].deficit_bytes = -1500;
	uroce_ready_rotate(&list);
	CU_ASSERT_STRING_EQUAL(order(), "120");
	CU_ASSERT_EQUAL(flows[0].deficit_bytes, -1500);
	CU_ASSERT_TRUE(flows[0].ready);
	uroce_ready_rotate(&list);
	CU_ASSERT_STRING_EQUAL(order(), "201");
	uroce_ready_rotate(&list);
	CU_ASSERT_STRING_EQUAL(order(), "012");
	CU_ASSERT_EQUAL(flows[0].deficit_bytes, -1500);
}

static void rotating_none_or_one_changes_nothing(void)
{
	start();
	uroce_ready_rotate(&list);
	CU_ASSERT_STRING_EQUAL(order(), "");
	push("4");
	flows[4].deficit_bytes = 33;
	uroce_ready_rotate(&list);
	CU_ASSERT_STRING_EQUAL(order(), "4");
	CU_ASSERT_EQUAL(flows[4].deficit_bytes, 33);
}

static void a_flow_may_be_removed_from_head_middle_and_end(void)
{
	static const char *const left[] = {"1234", "0234", "0134", "0124", "0123"};

	for (int i = 0; i < 5; i++) {
		start();
		push("01234");
		uroce_ready_remove(&list, &flows[i]);
		CU_ASSERT_STRING_EQUAL(order(), left[i]);
		CU_ASSERT_FALSE(flows[i].ready);
		push("7");
		CU_ASSERT_EQUAL(order()[4], '7');
	}
}

static void removing_the_only_flow_empties_the_list(void)
{
	start();
	push("6");
	uroce_ready_remove(&list, &flows[6]);
	CU_ASSERT_STRING_EQUAL(order(), "");
	push("2");
	CU_ASSERT_STRING_EQUAL(order(), "2");
}

static void removing_a_flow_that_is_not_ready_is_nothing(void)
{
	start();
	push("01");
	uroce_ready_remove(&list, &flows[5]);
	uroce_ready_remove(&list, &flows[1]);
	uroce_ready_remove(&list, &flows[1]);
	CU_ASSERT_STRING_EQUAL(order(), "0");
}

static void random_use_agrees_with_a_string(void)
{
	uint64_t seed = 11;
	char want[NUM_FLOWS + 1] = "";
	unsigned int wrong = 0;

	start();
	for (int step = 0; step < 20000; step++) {
		uint32_t i = random_below(&seed, NUM_FLOWS);
		char digit = (char)('0' + i);
		char *at = strchr(want, digit);
		size_t n = strlen(want);

		switch (random_below(&seed, 3)) {
		case 0:
			uroce_ready_push(&list, &flows[i]);
			if (!at) {
				want[n] = digit;
				want[n + 1] = 0;
			}
			break;
		case 1:
			uroce_ready_remove(&list, &flows[i]);
			if (at)
				memmove(at, at + 1, strlen(at));
			break;
		default:
			uroce_ready_rotate(&list);
			digit = want[0];
			if (n > 1) {
				memmove(want, want + 1, n - 1);
				want[n - 1] = digit;
			}
		}
		wrong += strcmp(order(), want) != 0;
	}
	CU_ASSERT_EQUAL(wrong, 0);
}

static struct uroce_bells bells;
static struct uroce_bell bell[4];

static void start_bells(void)
{
	memset(&bells, 0, sizeof(bells));
	memset(bell, 0, sizeof(bell));
}

static void no_bell_rung_is_none_taken(void)
{
	start_bells();
	CU_ASSERT_PTR_NULL(uroce_bells_take(&bells));
}

static void a_bell_rung_twice_is_listed_once(void)
{
	start_bells();
	CU_ASSERT_TRUE(uroce_bell_ring(&bells, &bell[0]));
	CU_ASSERT_FALSE(uroce_bell_ring(&bells, &bell[0]));
	CU_ASSERT_EQUAL(atomic_load(&bell[0].rung), 1);
	CU_ASSERT_PTR_EQUAL(uroce_bells_take(&bells), &bell[0]);
	CU_ASSERT_PTR_NULL(bell[0].next);
	CU_ASSERT_PTR_NULL(uroce_bells_take(&bells));
}

static void a_bell_stays_rung_after_it_was_taken_until_it_is_cleared(void)
{
	start_bells();
	uroce_bell_ring(&bells, &bell[0]);
	CU_ASSERT_PTR_EQUAL(uroce_bells_take(&bells), &bell[0]);
	uroce_bell_ring(&bells, &bell[0]);
	CU_ASSERT_PTR_NULL(uroce_bells_take(&bells));
	atomic_store(&bell[0].rung, 0);
	uroce_bell_ring(&bells, &bell[0]);
	CU_ASSERT_PTR_EQUAL(uroce_bells_take(&bells), &bell[0]);
}

static void all_rung_bells_are_taken_at_once_the_latest_first(void)
{
	struct uroce_bell *taken;

	start_bells();
	uroce_bell_ring(&bells, &bell[2]);
	uroce_bell_ring(&bells, &bell[0]);
	uroce_bell_ring(&bells, &bell[2]);
	uroce_bell_ring(&bells, &bell[3]);
	taken = uroce_bells_take(&bells);
	CU_ASSERT_PTR_EQUAL_FATAL(taken, &bell[3]);
	CU_ASSERT_PTR_EQUAL_FATAL(taken->next, &bell[0]);
	CU_ASSERT_PTR_EQUAL_FATAL(taken->next->next, &bell[2]);
	CU_ASSERT_PTR_NULL(taken->next->next->next);
	CU_ASSERT_PTR_NULL(uroce_bells_take(&bells));
	uroce_bell_ring(&bells, &bell[1]);
	CU_ASSERT_PTR_EQUAL(uroce_bells_take(&bells), &bell[1]);
	CU_ASSERT_PTR_NULL(bell[1].next);
}

int main(void)
{
	static const struct unit_case cases[] = {
		{"A flow knows its kind and queue pair", a_flow_knows_its_kind_and_queue_pair},
		{"Flows are served in the order in which they became ready",
			flows_are_served_in_the_order_in_which_they_became_ready},
		{"A flow that is ready keeps its place and deficit",
			a_flow_that_is_ready_keeps_its_place_and_deficit},
		{"A flow that becomes ready starts without deficit",
			a_flow_that_becomes_ready_starts_without_deficit},
		{"Rotating sends the head to the end with its deficit",
			rotating_sends_the_head_to_the_end_with_its_deficit},
		{"Rotating none or one changes nothing", rotating_none_or_one_changes_nothing},
		{"A flow may be removed from head, middle and end",
			a_flow_may_be_removed_from_head_middle_and_end},
		{"Removing the only flow empties the list",
			removing_the_only_flow_empties_the_list},
		{"Removing a flow that is not ready is nothing",
			removing_a_flow_that_is_not_ready_is_nothing},
		{"Random use agrees with a string", random_use_agrees_with_a_string},
		{"No bell rung is none taken", no_bell_rung_is_none_taken},
		{"A bell rung twice is listed once", a_bell_rung_twice_is_listed_once},
		{"A bell stays rung after it was taken until it is cleared",
			a_bell_stays_rung_after_it_was_taken_until_it_is_cleared},
		{"All rung bells are taken at once, the latest first",
			all_rung_bells_are_taken_at_once_the_latest_first},
	};

	return run_suite("ready", cases, sizeof(cases) / sizeof(cases[0]));
}
