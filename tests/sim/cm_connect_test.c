/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Connections over a network that loses, repeats and reorders: how long they take, that both sides
 * come to the same end, and that nothing is left of them.
 *
 * CM_REPORT in the environment prints how the times of 10,000 connections are distributed.
 */
#include <stdlib.h>
#include <string.h>

#include "cm_net.h"
#include "cunit_run.h"

enum {
	SEEDS = 10000,
	TENTH = 100000, /* of a million */
	CROWD = 10000,
};

/* What must be true of every run that came to its end: prints it if it is not. */
static bool check(struct cm_net *net, bool ok, const char *what)
{
	if (!ok) {
		fprintf(stderr, "not true: %s\n", what);
		cm_net_print(net);
		CU_FAIL("see above");
	}
	return ok;
}

static void two_connect_and_disconnect(void)
{
	struct cm_net net;
	const struct cm_net_conf conf = {.nodes = 2};
	const struct cm_net_side *a, *b;
	uint32_t conn;

	cm_net_init(&net, &conf);
	conn = cm_net_connect(&net, 0, 1);
	cm_net_run(&net, 2 * CM_NET_S);
	a = &net.conns[conn].side[0];
	b = &net.conns[conn].side[1];
	CU_ASSERT_EQUAL(a->state, CM_NET_CONNECTED);
	CU_ASSERT_EQUAL(b->state, CM_NET_CONNECTED);
	CU_ASSERT_EQUAL(a->params.remote_qpn, b->qpn);
	CU_ASSERT_EQUAL(a->params.remote_psn, b->psn);
	CU_ASSERT_EQUAL(b->params.remote_qpn, a->qpn);
	CU_ASSERT_EQUAL(b->params.remote_psn, a->psn);
	CU_ASSERT_EQUAL(net.sent, 3);
	cm_net_disconnect(&net, conn, 0);
	cm_net_run(&net, UINT64_MAX);
	CU_ASSERT_EQUAL(a->state, CM_NET_DISCONNECTED);
	CU_ASSERT_EQUAL(b->state, CM_NET_DISCONNECTED);
	CU_ASSERT_EQUAL(net.sent, 5);
	CU_ASSERT_EQUAL(cm_net_ids(&net), 0);
	cm_net_fini(&net);
}

static int compare_times(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

static void report(uint64_t *times, uint32_t n)
{
	static const double at[] = {0.5, 0.9, 0.99, 0.999, 0.9999, 1};

	qsort(times, n, sizeof(*times), compare_times);
	if (!getenv("CM_REPORT"))
		return;
	for (uint32_t i = 0; i < sizeof(at) / sizeof(at[0]); i++) {
		uint32_t k = (uint32_t)(at[i] * n);

		printf("%8.4f%% within %8.3f ms\n", at[i] * 100,
			(double)times[k < n ? k : n - 1] / 1e6);
	}
}

/* Until both sides know, from the wish of one. */
static uint64_t time_to_connect(uint64_t seed, const struct cm_net_conf *base, bool *clean)
{
	struct cm_net net;
	struct cm_net_conf conf = *base;
	const struct cm_net_side *side;
	uint64_t ns = UINT64_MAX;

	conf.seed = seed;
	cm_net_init(&net, &conf);
	cm_net_connect(&net, 0, 1);
	cm_net_run(&net, 60 * CM_NET_S);
	side = net.conns[0].side;
	if (side[0].state == CM_NET_CONNECTED && side[1].state == CM_NET_CONNECTED) {
		uint64_t last_ns = side[0].connected_ns > side[1].connected_ns
			? side[0].connected_ns
			: side[1].connected_ns;

		ns = last_ns - side[0].asked_ns;
	}
	cm_net_disconnect(&net, 0, seed & 1);
	cm_net_run(&net, UINT64_MAX);
	*clean = check(&net, cm_net_ids(&net) == 0, "no id is left");
	cm_net_fini(&net);
	return ns;
}

static void most_connect_in_time(const struct cm_net_conf *conf)
{
	static uint64_t times[SEEDS];
	uint32_t late = 0;

	for (uint32_t seed = 0; seed < SEEDS; seed++) {
		bool clean;

		times[seed] = time_to_connect(seed, conf, &clean);
		late += times[seed] > 2 * CM_NET_S;
		if (!clean)
			break;
	}
	report(times, SEEDS);
	CU_ASSERT(late <= SEEDS / 1000);
	/* The first repetition is enough for most of those that need one. */
	CU_ASSERT(times[SEEDS / 2] < 10 * CM_NET_MS);
}

static void a_tenth_is_lost(void)
{
	const struct cm_net_conf conf = {.loss_ppm = TENTH};

	most_connect_in_time(&conf);
}

static void a_tenth_is_lost_far_away(void)
{
	const struct cm_net_conf conf = {.loss_ppm = TENTH,
		.dup_ppm = TENTH,
		.delay_min_ns = 100000,
		.delay_max_ns = 5 * CM_NET_MS};

	most_connect_in_time(&conf);
}

/* ---- many at a time ---------------------------------------------------------------------- */

static uint32_t count(const struct cm_net *net, enum cm_net_state state)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < net->num_conns; i++)
		for (uint32_t s = 0; s < 2; s++)
			n += net->conns[i].side[s].state == state;
	return n;
}

static void a_crowd_is_held(void)
{
	struct cm_net net;
	const struct cm_net_conf conf = {
		.loss_ppm = TENTH, .max_conns = CROWD, .cm = {.max_ids = CROWD}};

	cm_net_init(&net, &conf);
	for (uint32_t i = 0; i < CROWD; i++)
		cm_net_connect(&net, 0, 1);
	cm_net_run(&net, 60 * CM_NET_S);
	CU_ASSERT(count(&net, CM_NET_CONNECTED) >= 2 * CROWD - 10);
	CU_ASSERT(cm_net_ids(&net) >= 2 * CROWD - 10);
	for (uint32_t i = 0; i < CROWD; i++)
		cm_net_disconnect(&net, i, i & 1);
	cm_net_run(&net, UINT64_MAX);
	CU_ASSERT_EQUAL(cm_net_ids(&net), 0);
	CU_ASSERT_EQUAL(count(&net, CM_NET_CONNECTED), 0);
	cm_net_fini(&net);
}

static void all_connect_to_all(void)
{
	struct cm_net net;
	const struct cm_net_conf conf = {.nodes = 5,
		.loss_ppm = TENTH,
		.dup_ppm = TENTH,
		.delay_min_ns = 1000,
		.delay_max_ns = 10 * CM_NET_MS,
		.max_conns = 64};

	cm_net_init(&net, &conf);
	for (uint32_t from = 0; from < 5; from++)
		for (uint32_t to = 0; to < 5; to++)
			cm_net_connect(&net, from, to);
	cm_net_run(&net, 60 * CM_NET_S);
	CU_ASSERT_EQUAL(count(&net, CM_NET_CONNECTED), 50);
	for (uint32_t i = 0; i < net.num_conns; i++) {
		const struct cm_net_side *side = net.conns[i].side;

		CU_ASSERT_EQUAL(side[0].params.remote_qpn, side[1].qpn);
		CU_ASSERT_EQUAL(side[1].params.remote_qpn, side[0].qpn);
		CU_ASSERT_EQUAL(side[1].requests, 1);
	}
	for (uint32_t i = 0; i < net.num_conns; i++) {
		cm_net_disconnect(&net, i, 0);
		cm_net_disconnect(&net, i, 1);
	}
	cm_net_run(&net, UINT64_MAX);
	CU_ASSERT_EQUAL(count(&net, CM_NET_DISCONNECTED), 50);
	CU_ASSERT_EQUAL(cm_net_ids(&net), 0);
	cm_net_fini(&net);
}

int main(void)
{
	static const struct unit_case cases[] = {
		{"two managers connect with three messages and disconnect with two",
			two_connect_and_disconnect},
		{"of 10,000 connections, a tenth of all messages being lost, 99.9% take less than "
		 "2 s",
			a_tenth_is_lost},
		{"so they do when messages also come twice, late and in disorder",
			a_tenth_is_lost_far_away},
		{"10,000 connections are held at a time, and nothing is left of them",
			a_crowd_is_held},
		{"connections between all nodes in all directions are what they should be",
			all_connect_to_all},
	};

	return run_suite("cm_connect", cases, sizeof(cases) / sizeof(cases[0]));
}
