/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A model of the doorbell (engine/ready.h): every interleaving of posters and worker.
 *
 * Each poster has a queue and a bell of its own and makes a few posts; the worker walks the list,
 * and the steps are those named in ready.h, with the push taken apart into its loads and stores.
 * What must hold: when nothing moves any more every entry was seen, and no bell is ever in two
 * places at once. Then the same with one thing turned round: the model must notice, or it proves
 * nothing.
 */
#include "model.h"

enum {
	BELLS_MAX = 2
};

/* What is done otherwise than the protocol says. */
enum twist {
	AS_WRITTEN,
	WORKER_LOOKS_BEFORE_IT_CLEARS,
	POSTER_LOOKS_BEFORE_IT_PUBLISHES,
	WORKER_KEEPS_WITHOUT_EXCHANGE,
	POSTER_RINGS_WITHOUT_EXCHANGE,
	WORKER_READS_NEXT_AFTER_IT_CLEARS,
};

enum poster_step {
	PUBLISH, /* A1 */
	LOOK,	 /* A2 */
	RING,	 /* A3 */
	READ_HEAD,
	LINK,
	SWAP_HEAD, /* A4 */
};

enum worker_step {
	TAKE,
	NEXT,
	CONSUME,
	CLEAR,	    /* C1 */
	LOOK_AGAIN, /* C2 */
	RING_SELF,  /* C3 */
	KEEP,	    /* C4 */
	AFTERWARDS,
};

enum {
	LEFT_BEHIND = 1,
	LISTED_TWICE = 2
};

/* Bells are numbered from 1; 0 is NULL. All fields are bytes, so there is no padding. */
struct state {
	uint8_t twist;
	uint8_t num_bells;
	struct {
		uint8_t tail, seen, rung, next;
		uint8_t step, posts_left, head_read;
		uint8_t owned; /* the poster won the bell and has not pushed it yet */
	} bell[BELLS_MAX];
	uint8_t head;		     /* the shared list */
	uint8_t step;		     /* of the worker */
	uint8_t list, current, kept; /* its private lists */
	uint8_t holds_current;	     /* current is not cleared yet, or rung again */
};

static void post_done(struct state *s, int b)
{
	s->bell[b].posts_left--;
	s->bell[b].step = s->twist == POSTER_LOOKS_BEFORE_IT_PUBLISHES ? LOOK : PUBLISH;
}

/* The ring operation is over; with that twist the entry is published only now. */
static void ring_done(struct state *s, int b)
{
	if (s->twist == POSTER_LOOKS_BEFORE_IT_PUBLISHES)
		s->bell[b].step = PUBLISH;
	else
		post_done(s, b);
}

static bool step_poster(struct state *s, int b)
{
	if (s->bell[b].posts_left == 0)
		return false;
	switch ((enum poster_step)s->bell[b].step) {
	case PUBLISH:
		s->bell[b].tail++;
		if (s->twist == POSTER_LOOKS_BEFORE_IT_PUBLISHES)
			post_done(s, b);
		else
			s->bell[b].step = LOOK;
		break;
	case LOOK:
		if (s->bell[b].rung)
			ring_done(s, b);
		else
			s->bell[b].step = RING;
		break;
	case RING:
		if (s->bell[b].rung && s->twist != POSTER_RINGS_WITHOUT_EXCHANGE) {
			ring_done(s, b);
			break;
		}
		s->bell[b].rung = 1;
		s->bell[b].owned = 1;
		s->bell[b].step = READ_HEAD;
		break;
	case READ_HEAD:
		s->bell[b].head_read = s->head;
		s->bell[b].step = LINK;
		break;
	case LINK:
		s->bell[b].next = s->bell[b].head_read;
		s->bell[b].step = SWAP_HEAD;
		break;
	case SWAP_HEAD:
		if (s->head != s->bell[b].head_read) {
			s->bell[b].step = READ_HEAD;
			break;
		}
		s->head = (uint8_t)(b + 1);
		s->bell[b].owned = 0;
		ring_done(s, b);
		break;
	}
	return true;
}

static bool take(struct state *s)
{
	s->list = s->kept;
	s->kept = 0;
	if (!s->list) {
		s->list = s->head;
		s->head = 0;
	}
	if (!s->list)
		return false;
	s->step = NEXT;
	return true;
}

static void next(struct state *s)
{
	s->current = s->list;
	if (!s->current) {
		s->step = TAKE;
		return;
	}
	s->holds_current = 1;
	/* with that twist the list still begins with current until AFTERWARDS */
	if (s->twist != WORKER_READS_NEXT_AFTER_IT_CLEARS) {
		s->list = s->bell[s->current - 1].next;
		s->bell[s->current - 1].next = 0;
	}
	s->step = CONSUME;
}

static bool step_worker(struct state *s)
{
	int b = s->current - 1;

	switch ((enum worker_step)s->step) {
	case TAKE:
		return take(s);
	case NEXT:
		next(s);
		break;
	case CONSUME:
		s->bell[b].seen = s->bell[b].tail;
		s->step = s->twist == WORKER_LOOKS_BEFORE_IT_CLEARS ? LOOK_AGAIN : CLEAR;
		break;
	case CLEAR:
		s->bell[b].rung = 0;
		s->holds_current = 0;
		s->step = s->twist == WORKER_LOOKS_BEFORE_IT_CLEARS ? AFTERWARDS : LOOK_AGAIN;
		break;
	case LOOK_AGAIN:
		if (s->twist == WORKER_LOOKS_BEFORE_IT_CLEARS)
			s->step = s->bell[b].tail != s->bell[b].seen ? CONSUME : CLEAR;
		else
			s->step = s->bell[b].tail != s->bell[b].seen ? RING_SELF : AFTERWARDS;
		break;
	case RING_SELF:
		if (s->bell[b].rung && s->twist != WORKER_KEEPS_WITHOUT_EXCHANGE) {
			s->step = AFTERWARDS;
			break;
		}
		s->bell[b].rung = 1;
		s->holds_current = 1;
		s->step = KEEP;
		break;
	case KEEP:
		s->bell[b].next = s->kept;
		s->kept = s->current;
		s->holds_current = 0;
		s->step = AFTERWARDS;
		break;
	case AFTERWARDS:
		if (s->twist == WORKER_READS_NEXT_AFTER_IT_CLEARS)
			s->list = s->bell[b].next;
		s->current = 0;
		s->step = NEXT;
		break;
	}
	return true;
}

static bool step(void *state, int thread)
{
	struct state *s = state;

	return thread < s->num_bells ? step_poster(s, thread) : step_worker(s);
}

/* Counts how often each bell is on a list; a list that does not end counts more than once. */
static void count(const struct state *s, uint8_t first, uint8_t places[BELLS_MAX])
{
	uint8_t at = first;

	for (int i = 0; at && i <= BELLS_MAX; i++) {
		places[at - 1]++;
		at = s->bell[at - 1].next;
	}
}

static unsigned int judge(const void *state, bool stuck)
{
	const struct state *s = state;
	uint8_t places[BELLS_MAX] = {0};
	unsigned int wrong = 0;

	count(s, s->head, places);
	count(s, s->kept, places);
	if (s->twist != WORKER_READS_NEXT_AFTER_IT_CLEARS) {
		count(s, s->list, places);
		if (s->holds_current)
			places[s->current - 1]++;
	}
	for (int b = 0; b < s->num_bells; b++) {
		if (places[b] + s->bell[b].owned > 1)
			wrong |= LISTED_TWICE;
		if (stuck && s->bell[b].seen != s->bell[b].tail)
			wrong |= LEFT_BEHIND;
		/* nor may a bell say that it is rung when nobody will come */
		if (stuck && s->bell[b].rung)
			wrong |= LEFT_BEHIND;
	}
	return wrong;
}

static struct model_walk explore(enum twist twist, uint8_t num_bells, uint8_t posts)
{
	const struct model model = {.state_bytes = sizeof(struct state),
		.num_threads = num_bells + 1,
		.step = step,
		.judge = judge};
	struct state initial;

	memset(&initial, 0, sizeof(initial));
	initial.twist = (uint8_t)twist;
	initial.num_bells = num_bells;
	initial.step = TAKE;
	for (int b = 0; b < num_bells; b++) {
		initial.bell[b].posts_left = posts;
		initial.bell[b].step = twist == POSTER_LOOKS_BEFORE_IT_PUBLISHES ? LOOK : PUBLISH;
	}
	return model_explore(&model, &initial);
}

static void two_posts_are_never_left_behind_nor_listed_twice(void)
{
	struct model_walk walk = explore(AS_WRITTEN, 1, 2);

	CU_ASSERT_EQUAL(walk.wrong, 0);
	CU_ASSERT_TRUE(walk.num_states > 100);
	CU_ASSERT_TRUE(walk.num_ends > 0);
}

static void neither_are_more_posts(void)
{
	for (uint8_t posts = 1; posts <= 6; posts++)
		CU_ASSERT_EQUAL(explore(AS_WRITTEN, 1, posts).wrong, 0);
}

static void neither_are_two_posters_on_one_list(void)
{
	struct model_walk walk = explore(AS_WRITTEN, 2, 2);

	CU_ASSERT_EQUAL(walk.wrong, 0);
	CU_ASSERT_TRUE(walk.num_states > 10000);
}

static void a_worker_that_looks_before_it_clears_leaves_entries_behind(void)
{
	CU_ASSERT_EQUAL(explore(WORKER_LOOKS_BEFORE_IT_CLEARS, 1, 2).wrong, LEFT_BEHIND);
}

/* What a store that waits in a buffer amounts to: why publishing is sequentially consistent. */
static void a_look_that_overtakes_the_publishing_leaves_entries_behind(void)
{
	CU_ASSERT_EQUAL(explore(POSTER_LOOKS_BEFORE_IT_PUBLISHES, 1, 2).wrong, LEFT_BEHIND);
}

static void a_worker_that_keeps_a_bell_without_exchange_lists_it_twice(void)
{
	CU_ASSERT_TRUE(explore(WORKER_KEEPS_WITHOUT_EXCHANGE, 1, 2).wrong & LISTED_TWICE);
}

static void a_poster_that_rings_without_exchange_lists_it_twice(void)
{
	CU_ASSERT_TRUE(explore(POSTER_RINGS_WITHOUT_EXCHANGE, 1, 2).wrong & LISTED_TWICE);
}

/* The link belongs to the poster again once the bell is cleared. */
static void a_worker_that_reads_the_link_after_it_cleared_goes_astray(void)
{
	CU_ASSERT_NOT_EQUAL(explore(WORKER_READS_NEXT_AFTER_IT_CLEARS, 2, 2).wrong, 0);
}

int main(void)
{
	static const struct unit_case cases[] = {
		{"Two posts are never left behind nor listed twice",
			two_posts_are_never_left_behind_nor_listed_twice},
		{"Neither are more posts", neither_are_more_posts},
		{"Neither are two posters on one list", neither_are_two_posters_on_one_list},
		{"A worker that looks before it clears leaves entries behind",
			a_worker_that_looks_before_it_clears_leaves_entries_behind},
		{"A look that overtakes the publishing leaves entries behind",
			a_look_that_overtakes_the_publishing_leaves_entries_behind},
		{"A worker that keeps a bell without exchange lists it twice",
			a_worker_that_keeps_a_bell_without_exchange_lists_it_twice},
		{"A poster that rings without exchange lists it twice",
			a_poster_that_rings_without_exchange_lists_it_twice},
		{"A worker that reads the link after it cleared goes astray",
			a_worker_that_reads_the_link_after_it_cleared_goes_astray},
	};

	return run_suite("bell_model", cases, sizeof(cases) / sizeof(cases[0]));
}
