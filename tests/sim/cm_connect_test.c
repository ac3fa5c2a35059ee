/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Connections over a network that loses, repeats and reorders: how long they take, that both sides
 * come to the same end, and that nothing is left of them.
 */
#include <string.h>

#include "cm_net.h"
#include "cunit_run.h"

enum {
	SEEDS = 10000,
	LOSS_TENTH = 100000,
};

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

int main(void)
{
	static const struct unit_case cases[] = {
		{"two managers connect with three messages and disconnect with two",
			two_connect_and_disconnect},
	};

	return run_suite("cm_connect", cases, sizeof(cases) / sizeof(cases[0]));
}
