/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Random lives of connections between several nodes over a bad network; restarts that leave stale
 * connections behind.
 *
 * In a life, connections are made, ended and given up in any order while messages are lost, come
 * twice and late. When the network is good again, both sides agree of every connection whether it
 * is there, and with whom; and when all are given up, nothing is left.
 */
#include <stdlib.h>

#include "cm_net.h"
#include "cunit_run.h"
#include "test_random.h"

enum {
	LIVES = 2000,
	STEPS = 60,
	CONNS = 64,
};

static bool is_connected(const struct cm_net_side *side)
{
	return side->state == CM_NET_CONNECTED;
}

/* What is wrong with a connection that nothing is under way of, or NULL. */
static const char *judge(const struct cm_net *net, const struct cm_net_conn *conn)
{
	const struct cm_net_side *a = &conn->side[0], *b = &conn->side[1];

	(void)net;
	if (a->state == CM_NET_ASKED || b->state == CM_NET_ASKED || b->state == CM_NET_ACCEPTED)
		return "nobody waits for ever";
	if (is_connected(a) != is_connected(b))
		return "both are connected, or neither";
	if (is_connected(a) &&
		(a->params.remote_qpn != b->qpn || b->params.remote_qpn != a->qpn ||
			a->params.remote_psn != b->psn || b->params.remote_psn != a->psn))
		return "both know the other's numbers";
	return NULL;
}

/* A connection of which one side hears nothing any more: its queue pair would, as in life. All
 * tries of a peer can be lost, and then its last word too. */
static uint32_t end_halves(struct cm_net *net)
{
	uint32_t halves = 0;

	for (uint32_t i = 0; i < net->num_conns; i++) {
		const struct cm_net_side *side = net->conns[i].side;

		for (uint32_t s = 0; s < 2; s++)
			if (is_connected(&side[s]) && !is_connected(&side[1 - s])) {
				halves++;
				cm_net_disconnect(net, i, s);
			}
	}
	return halves;
}

static void step(struct cm_net *net, uint64_t *random)
{
	uint32_t conn = net->num_conns ? random_below(random, net->num_conns) : 0;
	uint32_t side = random_below(random, 2);

	switch (random_below(random, 6)) {
	case 0:
	case 1:
	case 2:
		if (net->num_conns < CONNS)
			cm_net_connect(net, random_below(random, net->conf.nodes),
				random_below(random, net->conf.nodes));
		break;
	case 3:
	case 4:
		if (net->num_conns > 0 && is_connected(&net->conns[conn].side[side]))
			cm_net_disconnect(net, conn, side);
		break;
	case 5:
		if (net->num_conns > 0)
			cm_net_give_up(net, conn, side);
		break;
	}
}

static bool live(uint64_t seed, uint32_t *halves)
{
	uint64_t random = seed + 1;
	struct cm_net net;
	struct cm_net_conf conf = {.seed = seed, .max_conns = CONNS, .cm = {.max_ids = 2 * CONNS}};
	const char *wrong = NULL;

	conf.nodes = 2 + random_below(&random, 4);
	conf.loss_ppm = random_below(&random, 300000);
	conf.dup_ppm = random_below(&random, 300000);
	conf.delay_min_ns = 1000;
	conf.delay_max_ns = 1000 + random_next(&random) % (100 * CM_NET_MS);
	conf.think_ns = random_below(&random, 3) ? 0 : random_next(&random) % (500 * CM_NET_MS);
	conf.comm_est = random_below(&random, 2);
	cm_net_init(&net, &conf);
	for (uint32_t i = 0; i < STEPS; i++) {
		step(&net, &random);
		cm_net_run(&net, net.now_ns + random_next(&random) % (200 * CM_NET_MS));
	}
	net.conf.loss_ppm = net.conf.dup_ppm = 0;
	cm_net_run(&net, net.now_ns + 120 * CM_NET_S);
	*halves += end_halves(&net);
	cm_net_run(&net, net.now_ns + 20 * CM_NET_S);
	for (uint32_t i = 0; i < net.num_conns && !wrong; i++)
		wrong = judge(&net, &net.conns[i]);
	for (uint32_t i = 0; i < net.num_conns; i++)
		for (uint32_t s = 0; s < 2; s++)
			cm_net_give_up(&net, i, s);
	cm_net_run(&net, UINT64_MAX);
	if (!wrong && cm_net_ids(&net) > 0)
		wrong = "nothing is left";
	if (wrong) {
		fprintf(stderr, "not true: %s\n", wrong);
		cm_net_print(&net);
	}
	cm_net_fini(&net);
	return !wrong;
}

static void lives(void)
{
	uint32_t wrong = 0, halves = 0;

	for (uint64_t seed = 0; seed < LIVES && wrong < 3; seed++)
		wrong += !live(seed, &halves);
	CU_ASSERT_EQUAL(wrong, 0);
	/* Nine losses in a row, and a tenth, at up to three tenths: it hardly happens. */
	CU_ASSERT(halves < LIVES / 20);
}

/* ---- restarts ---------------------------------------------------------------------------- */

static void run_for(struct cm_net *net, uint64_t ns)
{
	cm_net_run(net, net->now_ns + ns);
}

/* Who asked forgets; its queue pair asks again, and finds its old connection in its way, once. */
static void the_active_side_restarts(void)
{
	struct cm_net net;
	const struct cm_net_conf conf = {.nodes = 2};
	uint32_t old, conn;

	cm_net_init(&net, &conf);
	old = cm_net_connect(&net, 0, 1);
	run_for(&net, CM_NET_S);
	CU_ASSERT(is_connected(&net.conns[old].side[1]));
	cm_net_restart(&net, 0);
	conn = cm_net_connect(&net, 0, 1);
	run_for(&net, CM_NET_S);
	CU_ASSERT_EQUAL(net.conns[conn].side[0].state, CM_NET_REJECTED);
	CU_ASSERT_EQUAL(net.conns[conn].side[0].reason, UROCE_CM_REJECT_STALE);
	CU_ASSERT_EQUAL(net.conns[conn].side[1].requests, 0);
	CU_ASSERT_EQUAL(net.conns[old].side[1].state, CM_NET_DISCONNECTED);
	net.nodes[0].next_qpn = 0x100;
	conn = cm_net_connect(&net, 0, 1);
	run_for(&net, CM_NET_S);
	CU_ASSERT(is_connected(&net.conns[conn].side[0]));
	CU_ASSERT(is_connected(&net.conns[conn].side[1]));
	CU_ASSERT_EQUAL(net.conns[conn].side[0].qpn, net.conns[old].side[0].qpn);
	cm_net_disconnect(&net, conn, 0);
	cm_net_run(&net, UINT64_MAX);
	CU_ASSERT_EQUAL(cm_net_ids(&net), 0);
	cm_net_fini(&net);
}

/* Who was asked forgets, and accepts with the same queue pair again. */
static void the_passive_side_restarts(void)
{
	struct cm_net net;
	const struct cm_net_conf conf = {.nodes = 2};
	uint32_t old, conn;

	cm_net_init(&net, &conf);
	old = cm_net_connect(&net, 0, 1);
	run_for(&net, CM_NET_S);
	CU_ASSERT(is_connected(&net.conns[old].side[0]));
	cm_net_restart(&net, 1);
	conn = cm_net_connect(&net, 0, 1);
	run_for(&net, CM_NET_S);
	CU_ASSERT_EQUAL(net.conns[conn].side[0].state, CM_NET_REJECTED);
	CU_ASSERT_EQUAL(net.conns[conn].side[0].reason, UROCE_CM_REJECT_STALE);
	CU_ASSERT_EQUAL(net.conns[conn].side[1].state, CM_NET_REJECTED);
	CU_ASSERT_EQUAL(net.conns[conn].side[1].reason, UROCE_CM_REJECT_STALE);
	CU_ASSERT_EQUAL(net.conns[old].side[0].state, CM_NET_DISCONNECTED);
	conn = cm_net_connect(&net, 0, 1);
	run_for(&net, CM_NET_S);
	CU_ASSERT(is_connected(&net.conns[conn].side[0]));
	CU_ASSERT(is_connected(&net.conns[conn].side[1]));
	cm_net_disconnect(&net, conn, 1);
	cm_net_run(&net, UINT64_MAX);
	CU_ASSERT_EQUAL(cm_net_ids(&net), 0);
	cm_net_fini(&net);
}

/* Either of them, at any time of a connection's making, in which messages are lost. */
static void restarts_at_any_time(void)
{
	uint32_t wrong = 0;

	for (uint64_t seed = 0; seed < 2000 && wrong < 3; seed++) {
		uint64_t random = seed + 1;
		struct cm_net net;
		const struct cm_net_conf conf = {.seed = seed, .loss_ppm = 200000};
		const struct cm_net_side *side;
		uint32_t conn;

		cm_net_init(&net, &conf);
		conn = cm_net_connect(&net, 0, 1);
		side = net.conns[conn].side;
		run_for(&net, random_next(&random) % (300 * CM_NET_MS));
		cm_net_restart(&net, seed & 1);
		net.conf.loss_ppm = 0;
		run_for(&net, 60 * CM_NET_S);
		/* Who is left waits for nothing: it has heard, or believes in the connection. */
		for (uint32_t s = 0; s < 2; s++) {
			wrong += side[s].state == CM_NET_ASKED || side[s].state == CM_NET_ACCEPTED;
			if (is_connected(&side[s]))
				cm_net_disconnect(&net, conn, s);
		}
		cm_net_run(&net, UINT64_MAX);
		wrong += cm_net_ids(&net) > 0;
		if (wrong)
			cm_net_print(&net);
		cm_net_fini(&net);
	}
	CU_ASSERT_EQUAL(wrong, 0);
}

int main(void)
{
	static const struct unit_case cases[] = {
		{"after any life both sides agree, and nothing is left", lives},
		{"a restarted active side clears its old connection away and connects again",
			the_active_side_restarts},
		{"a restarted passive side does so too", the_passive_side_restarts},
		{"a restart at any time leaves nobody waiting", restarts_at_any_time},
	};

	return run_suite("cm_soak", cases, sizeof(cases) / sizeof(cases[0]));
}
