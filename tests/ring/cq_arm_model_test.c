/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A model of arming a completion queue (engine/cq.c): every interleaving of poller and workers.
 *
 * The poller drains all rings, arms, looks, and either takes the arm back or waits for an event;
 * each worker publishes, tests the flag and takes it by exchange. What must hold: when nothing
 * moves any more the poller has seen every completion, and no arm has made two events. Then the
 * same with one thing turned round: the model must notice, or it proves nothing.
 */
#include "model.h"

enum {
	WORKERS_MAX = 2
};

/* What is done otherwise than cq.c says. */
enum twist {
	AS_WRITTEN,
	POLLER_LOOKS_BEFORE_IT_ARMS,
	POLLER_DOES_NOT_LOOK,
	WORKER_TESTS_BEFORE_IT_PUBLISHES,
	WORKER_TAKES_WITHOUT_EXCHANGE,
};

enum worker_step {
	PUBLISH,
	TEST,
	EXCHANGE
};

enum poller_step {
	DRAIN,
	ARM,
	LOOK,
	DISARM,
	SLEEP
};

enum {
	NEVER_WOKEN = 1,
	FIRED_TWICE = 2
};

/* All fields are bytes, so there is no padding. */
struct state {
	uint8_t twist;
	uint8_t num_workers;
	struct {
		uint8_t tail, seen;
		uint8_t step, pushes_left;
	} worker[WORKERS_MAX];
	uint8_t armed;
	uint8_t step; /* of the poller */
	uint8_t ring; /* that it drains or looks at */
	uint8_t found;
	uint8_t events; /* raised and not yet taken */
	uint8_t fires;	/* since the last arm */
};

static void push_done(struct state *s, int w)
{
	s->worker[w].pushes_left--;
	s->worker[w].step = s->twist == WORKER_TESTS_BEFORE_IT_PUBLISHES ? TEST : PUBLISH;
}

static void fire(struct state *s)
{
	s->armed = 0;
	s->events++;
	s->fires++;
}

static void step_worker_early_test(struct state *s, int w)
{
	switch ((enum worker_step)s->worker[w].step) {
	case TEST:
		s->worker[w].step = s->armed ? EXCHANGE : PUBLISH;
		break;
	case EXCHANGE:
		s->worker[w].tail++;
		if (s->armed)
			fire(s);
		push_done(s, w);
		break;
	case PUBLISH:
		s->worker[w].tail++;
		push_done(s, w);
		break;
	}
}

static bool step_worker(struct state *s, int w)
{
	if (s->worker[w].pushes_left == 0)
		return false;
	if (s->twist == WORKER_TESTS_BEFORE_IT_PUBLISHES) {
		step_worker_early_test(s, w);
		return true;
	}
	switch ((enum worker_step)s->worker[w].step) {
	case PUBLISH:
		s->worker[w].tail++;
		s->worker[w].step = TEST;
		break;
	case TEST:
		if (s->armed)
			s->worker[w].step = EXCHANGE;
		else
			push_done(s, w);
		break;
	case EXCHANGE:
		if (s->armed || s->twist == WORKER_TAKES_WITHOUT_EXCHANGE)
			fire(s);
		push_done(s, w);
		break;
	}
	return true;
}

/* True when that was the last ring. */
static bool next_ring(struct state *s)
{
	s->ring++;
	if (s->ring < s->num_workers)
		return false;
	s->ring = 0;
	return true;
}

static void arm(struct state *s)
{
	s->armed = 1;
	s->fires = 0;
	if (s->twist == POLLER_LOOKS_BEFORE_IT_ARMS || s->twist == POLLER_DOES_NOT_LOOK)
		s->step = SLEEP;
	else
		s->step = LOOK;
}

static void look(struct state *s)
{
	bool early = s->twist == POLLER_LOOKS_BEFORE_IT_ARMS;

	if (s->worker[s->ring].tail != s->worker[s->ring].seen) {
		s->ring = 0;
		s->step = early ? DRAIN : DISARM;
	} else if (next_ring(s)) {
		s->step = early ? ARM : SLEEP;
	}
}

static bool step_poller(struct state *s)
{
	switch ((enum poller_step)s->step) {
	case DRAIN:
		s->worker[s->ring].seen = s->worker[s->ring].tail;
		if (next_ring(s))
			s->step = s->twist == POLLER_LOOKS_BEFORE_IT_ARMS ? LOOK : ARM;
		break;
	case ARM:
		arm(s);
		break;
	case LOOK:
		look(s);
		break;
	case DISARM:
		s->armed = 0;
		s->step = DRAIN;
		break;
	case SLEEP:
		if (s->events == 0)
			return false;
		s->events--;
		s->step = DRAIN;
		break;
	}
	return true;
}

static bool step(void *state, int thread)
{
	struct state *s = state;

	return thread < s->num_workers ? step_worker(s, thread) : step_poller(s);
}

static unsigned int judge(const void *state, bool stuck)
{
	const struct state *s = state;
	unsigned int wrong = s->fires > 1 ? FIRED_TWICE : 0;

	for (int w = 0; stuck && w < s->num_workers; w++)
		if (s->worker[w].seen != s->worker[w].tail)
			wrong |= NEVER_WOKEN;
	return wrong;
}

static struct model_walk explore(enum twist twist, uint8_t num_workers, uint8_t pushes)
{
	const struct model model = {.state_bytes = sizeof(struct state),
		.num_threads = num_workers + 1,
		.step = step,
		.judge = judge};
	struct state initial;

	memset(&initial, 0, sizeof(initial));
	initial.twist = (uint8_t)twist;
	initial.num_workers = num_workers;
	initial.step = DRAIN;
	for (int w = 0; w < num_workers; w++) {
		initial.worker[w].pushes_left = pushes;
		initial.worker[w].step = twist == WORKER_TESTS_BEFORE_IT_PUBLISHES ? TEST : PUBLISH;
	}
	return model_explore(&model, &initial);
}

static void the_poller_always_wakes_and_no_arm_fires_twice(void)
{
	struct model_walk walk = explore(AS_WRITTEN, 1, 3);

	CU_ASSERT_EQUAL(walk.wrong, 0);
	CU_ASSERT_TRUE(walk.num_states > 100);
	CU_ASSERT_TRUE(walk.num_ends > 0);
}

static void nor_does_it_with_two_workers(void)
{
	struct model_walk walk = explore(AS_WRITTEN, 2, 3);

	CU_ASSERT_EQUAL(walk.wrong, 0);
	CU_ASSERT_TRUE(walk.num_states > 1000);
}

static void a_poller_that_looks_before_it_arms_sleeps_for_ever(void)
{
	CU_ASSERT_EQUAL(explore(POLLER_LOOKS_BEFORE_IT_ARMS, 1, 2).wrong, NEVER_WOKEN);
}

static void a_poller_that_does_not_look_again_sleeps_for_ever(void)
{
	CU_ASSERT_EQUAL(explore(POLLER_DOES_NOT_LOOK, 1, 2).wrong, NEVER_WOKEN);
}

/* What a store that waits in a buffer amounts to: why publishing is sequentially consistent. */
static void a_worker_that_tests_before_it_publishes_lets_the_poller_sleep(void)
{
	CU_ASSERT_EQUAL(explore(WORKER_TESTS_BEFORE_IT_PUBLISHES, 1, 2).wrong, NEVER_WOKEN);
}

static void workers_that_take_the_flag_without_exchange_fire_twice(void)
{
	CU_ASSERT_TRUE(explore(WORKER_TAKES_WITHOUT_EXCHANGE, 2, 1).wrong & FIRED_TWICE);
}

int main(void)
{
	static const struct unit_case cases[] = {
		{"The poller always wakes, and no arm fires twice",
			the_poller_always_wakes_and_no_arm_fires_twice},
		{"The same holds with two workers", nor_does_it_with_two_workers},
		{"A poller that looks before it arms sleeps for ever",
			a_poller_that_looks_before_it_arms_sleeps_for_ever},
		{"A poller that does not look again sleeps for ever",
			a_poller_that_does_not_look_again_sleeps_for_ever},
		{"A worker that tests before it publishes lets the poller sleep",
			a_worker_that_tests_before_it_publishes_lets_the_poller_sleep},
		{"Workers that take the flag without exchange fire twice",
			workers_that_take_the_flag_without_exchange_fire_twice},
	};

	return run_suite("cq_arm_model", cases, sizeof(cases) / sizeof(cases[0]));
}
