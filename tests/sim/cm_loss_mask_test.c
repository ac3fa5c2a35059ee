/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Every way to lose any of the first twelve messages of a connection's life.
 *
 * 4096 masks for each of its stories: connected and then ended by one side, the other, or both;
 * refused; accepted slowly, so that the peer is asked for time; given up by the application while
 * it is made. Whatever is lost, both sides come to the same end in bounded time, hear of it once,
 * and nothing is left in either manager. Nine lost requests are all that there are: then the peer
 * is unreachable, which both sides must agree on too; unless the message that says so is lost
 * besides, or all that say that it is over: then the side that believes in the connection learns
 * from its queue pair that nobody answers, and ends it.
 *
 * MASK_BITS=16 in the environment takes the first sixteen messages.
 */
#ifndef _POSIX_C_SOURCE
#define _POSIX_C_SOURCE 200809L
#endif
#include <stdlib.h>

#include "cm_net.h"
#include "cunit_run.h"

enum {
	MASK_BITS_DEFAULT = 12,
	MASK_BITS_MAX = 24,
	TRIES = 9,
};

/* Longest that making a connection, and ending it, may take: two rounds of retries. */
#define MADE_BY_NS  (60 * CM_NET_S)
#define ENDED_BY_NS (60 * CM_NET_S)

struct story {
	bool ends[2];	     /* which sides disconnect */
	bool give_up[2];     /* which sides destroy it while it is made */
	uint64_t give_up_ns; /* when */
	uint16_t reject;     /* reason; 0: accepted */
	uint64_t think_ns;
	bool comm_est;
};

static uint32_t mask_bits(void)
{
	const char *bits = getenv("MASK_BITS");
	int n = bits ? atoi(bits) : MASK_BITS_DEFAULT;

	return n < 1 || n > MASK_BITS_MAX ? MASK_BITS_DEFAULT : (uint32_t)n;
}

static bool is_connected(const struct cm_net_side *side)
{
	return side->state == CM_NET_CONNECTED;
}

static bool is_over(const struct cm_net_side *side)
{
	return side->state == CM_NET_NONE || side->state >= CM_NET_REJECTED;
}

/* All tries of one side, and then that it gave up. */
static bool is_last_word_lost(const struct cm_net *net)
{
	const struct cm_net_side *a = &net->conns[0].side[0], *b = &net->conns[0].side[1];

	return __builtin_popcountll(net->conf.loss_mask) > TRIES &&
		(a->state == CM_NET_UNREACHABLE || b->state == CM_NET_UNREACHABLE);
}

/* How the making of it must have gone; what is wrong, or NULL. */
static const char *judge_made(const struct cm_net *net, const struct story *story)
{
	const struct cm_net_side *a = &net->conns[0].side[0], *b = &net->conns[0].side[1];

	if (story->give_up[0] || story->give_up[1])
		return NULL;
	if (b->requests > 1)
		return "the application is asked at most once";
	if (story->reject) {
		if (a->state == CM_NET_REJECTED)
			return a->reason == story->reject ? NULL : "the reason is the one given";
		return a->state == CM_NET_UNREACHABLE ? NULL : "refused, or unreachable";
	}
	if (is_connected(a) != is_connected(b) && !is_last_word_lost(net))
		return "both are connected, or neither";
	if (!is_connected(a) && !is_over(a))
		return "who is not connected knows it";
	if (is_connected(a) && is_connected(b) &&
		(a->params.remote_qpn != b->qpn || b->params.remote_qpn != a->qpn ||
			a->params.remote_psn != b->psn || b->params.remote_psn != a->psn))
		return "both know the other's numbers";
	return NULL;
}

/* What is left of a connection that only one side knows to be over: false if that is not because
 * all tries of the other were lost. */
static bool end_the_rest(struct cm_net *net)
{
	for (uint32_t s = 0; s < 2; s++) {
		if (!is_connected(&net->conns[0].side[s]))
			continue;
		if (__builtin_popcountll(net->conf.loss_mask) < TRIES)
			return false;
		cm_net_disconnect(net, 0, s);
		cm_net_run(net, UINT64_MAX);
	}
	return true;
}

static const char *judge_ended(const struct cm_net *net, bool was_made)
{
	const struct cm_net_side *a = &net->conns[0].side[0], *b = &net->conns[0].side[1];

	if (cm_net_ids(net) > 0)
		return "nothing is left in the managers";
	if (!is_over(a) || !is_over(b))
		return "both sides know that it is over";
	if (was_made && (a->state != CM_NET_DISCONNECTED || b->state != CM_NET_DISCONNECTED))
		return "what was connected is disconnected";
	return NULL;
}

/* False: it went wrong, and was printed. */
static bool tell_story(const struct story *story, uint64_t mask)
{
	struct cm_net net;
	const struct cm_net_conf conf = {.seed = 1,
		.loss_mask = mask,
		.reject_reason = story->reject,
		.think_ns = story->think_ns,
		.comm_est = story->comm_est};
	const char *wrong;
	uint64_t ended_ns;
	bool was_made;

	cm_net_init(&net, &conf);
	cm_net_connect(&net, 0, 1);
	if (story->give_up_ns) {
		cm_net_run(&net, net.now_ns + story->give_up_ns);
		for (uint32_t s = 0; s < 2; s++)
			if (story->give_up[s])
				cm_net_give_up(&net, 0, s);
	}
	cm_net_run(&net, net.now_ns + MADE_BY_NS);
	wrong = judge_made(&net, story);
	was_made = is_connected(&net.conns[0].side[0]) && is_connected(&net.conns[0].side[1]);
	ended_ns = net.now_ns;
	for (uint32_t s = 0; s < 2; s++)
		if (story->ends[s] && is_connected(&net.conns[0].side[s]))
			cm_net_disconnect(&net, 0, s);
	cm_net_run(&net, UINT64_MAX);
	if (!wrong && net.now_ns - ended_ns > ENDED_BY_NS)
		wrong = "the end comes in bounded time";
	if (!wrong && !end_the_rest(&net))
		wrong = "both hear that it is over, if one try of many arrives";
	if (!wrong)
		wrong = judge_ended(&net, was_made);
	if (wrong) {
		fprintf(stderr, "not true: %s\n", wrong);
		cm_net_print(&net);
	}
	cm_net_fini(&net);
	return !wrong;
}

static void tell_all(const struct story *story)
{
	uint64_t masks = 1ull << mask_bits(), wrong = 0;

	for (uint64_t mask = 0; mask < masks && wrong < 3; mask++)
		wrong += !tell_story(story, mask);
	CU_ASSERT_EQUAL(wrong, 0);
}

static void the_active_side_ends(void)
{
	tell_all(&(struct story){.ends = {true, false}});
}

static void the_passive_side_ends(void)
{
	tell_all(&(struct story){.ends = {false, true}});
}

static void both_sides_end(void)
{
	tell_all(&(struct story){.ends = {true, true}});
}

static void data_says_it_too(void)
{
	tell_all(&(struct story){.ends = {true, false}, .comm_est = true});
}

static void it_is_refused(void)
{
	tell_all(&(struct story){.reject = UROCE_CM_REJECT_CONSUMER});
}

static void applications_are_slow(void)
{
	tell_all(&(struct story){.ends = {false, true}, .think_ns = 300 * CM_NET_MS});
}

/* At every stage of the messages on the way, of losses included. */
static void give_up_at_all_times(bool active, bool passive)
{
	static const uint64_t at_ns[] = {1, 60000, 120000, 180000, 41 * CM_NET_MS, 121 * CM_NET_MS,
		700 * CM_NET_MS, 3 * CM_NET_S};

	for (uint32_t i = 0; i < sizeof(at_ns) / sizeof(at_ns[0]); i++)
		tell_all(&(struct story){.give_up = {active, passive},
			.give_up_ns = at_ns[i],
			.ends = {true, true}});
}

static void the_active_side_gives_up(void)
{
	give_up_at_all_times(true, false);
}

static void the_passive_side_gives_up(void)
{
	give_up_at_all_times(false, true);
}

static void both_sides_give_up(void)
{
	give_up_at_all_times(true, true);
}

int main(void)
{
	static const struct unit_case cases[] = {
		{"the active side ends it", the_active_side_ends},
		{"the passive side ends it", the_passive_side_ends},
		{"both sides end it at the same time", both_sides_end},
		{"the first packet says what a lost RTU did not", data_says_it_too},
		{"a refusal arrives, or nothing does", it_is_refused},
		{"slow applications ask for time and get it", applications_are_slow},
		{"the active side gives up while it is made", the_active_side_gives_up},
		{"the passive side gives up while it is made", the_passive_side_gives_up},
		{"both sides give up while it is made", both_sides_give_up},
	};

	return run_suite("cm_loss_mask", cases, sizeof(cases) / sizeof(cases[0]));
}
