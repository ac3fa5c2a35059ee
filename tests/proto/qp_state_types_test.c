/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The state diagrams of UC and UD: every edge with every single attribute left out or put in
 * besides (InfiniBand table 91 and its like), and SQE.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "drill.h"

#define A(name) UROCE_QP_ATTR_##name

struct edge {
	enum uroce_qp_state from, to;
	uint32_t required, optional;
};

static const struct edge uc_edges[] = {
	{UROCE_QP_RESET, UROCE_QP_INIT, A(PKEY_INDEX) | A(PORT) | A(ACCESS_FLAGS), 0},
	{UROCE_QP_INIT, UROCE_QP_INIT, 0, A(PKEY_INDEX) | A(PORT) | A(ACCESS_FLAGS)},
	{UROCE_QP_INIT, UROCE_QP_RTR, A(AV) | A(PATH_MTU) | A(DEST_QPN) | A(RQ_PSN),
		A(PKEY_INDEX) | A(ACCESS_FLAGS)},
	{UROCE_QP_RTR, UROCE_QP_RTS, A(SQ_PSN), A(CUR_STATE) | A(ACCESS_FLAGS)},
	{UROCE_QP_RTS, UROCE_QP_RTS, 0, A(CUR_STATE) | A(ACCESS_FLAGS)},
	{UROCE_QP_RTS, UROCE_QP_SQD, 0, A(EN_SQD_ASYNC_NOTIFY)},
	{UROCE_QP_SQD, UROCE_QP_SQD, 0, A(PKEY_INDEX) | A(PORT) | A(AV) | A(ACCESS_FLAGS)},
	{UROCE_QP_SQD, UROCE_QP_RTS, 0, A(CUR_STATE) | A(ACCESS_FLAGS)},
	{UROCE_QP_SQE, UROCE_QP_RTS, 0, A(CUR_STATE) | A(ACCESS_FLAGS)},
};

static const struct edge ud_edges[] = {
	{UROCE_QP_RESET, UROCE_QP_INIT, A(PKEY_INDEX) | A(PORT) | A(QKEY), 0},
	{UROCE_QP_INIT, UROCE_QP_INIT, 0, A(PKEY_INDEX) | A(PORT) | A(QKEY)},
	{UROCE_QP_INIT, UROCE_QP_RTR, 0, A(PKEY_INDEX) | A(QKEY)},
	{UROCE_QP_RTR, UROCE_QP_RTS, A(SQ_PSN), A(CUR_STATE) | A(QKEY)},
	{UROCE_QP_RTS, UROCE_QP_RTS, 0, A(CUR_STATE) | A(QKEY)},
	{UROCE_QP_RTS, UROCE_QP_SQD, 0, A(EN_SQD_ASYNC_NOTIFY)},
	{UROCE_QP_SQD, UROCE_QP_SQD, 0, A(PKEY_INDEX) | A(QKEY)},
	{UROCE_QP_SQD, UROCE_QP_RTS, 0, A(CUR_STATE) | A(QKEY)},
	{UROCE_QP_SQE, UROCE_QP_RTS, 0, A(CUR_STATE) | A(QKEY)},
};

static const uint32_t all[] = {A(CUR_STATE), A(EN_SQD_ASYNC_NOTIFY), A(ACCESS_FLAGS), A(PKEY_INDEX),
	A(PORT), A(QKEY), A(AV), A(PATH_MTU), A(TIMEOUT), A(RETRY_CNT), A(RNR_RETRY), A(RQ_PSN),
	A(MAX_RD_ATOMIC), A(MIN_RNR_TIMER), A(SQ_PSN), A(MAX_DEST_RD_ATOMIC), A(DEST_QPN)};

static struct uroce_qp_attr attr_of(struct drill *d, enum uroce_qp_state to)
{
	return (struct uroce_qp_attr){.state = to,
		.cur_state = d->ep.qp->state,
		.path = &d->ep.path,
		.path_mtu_bytes = 256,
		.dest_qpn = DRILL_PEER_QPN,
		.qkey = 7,
		.rq_psn = d->rq_psn,
		.sq_psn = d->sq_psn};
}

static int change(struct drill *d, enum uroce_qp_state to, uint32_t mask)
{
	const struct uroce_qp_attr attr = attr_of(d, to);

	return drill_modify(d, &attr, mask | A(STATE));
}

/* A queue pair of this type in this state, by the shortest way. */
static void go(struct drill *d, enum uroce_qp_type type, enum uroce_qp_state state)
{
	const struct edge *edges = type == UROCE_QP_UC ? uc_edges : ud_edges;
	struct endpoint_conf conf = drill_conf(d);

	conf.caps.type = type;
	drill_restart_reset(d, &conf);
	if (state == UROCE_QP_RESET)
		return;
	change(d, UROCE_QP_INIT, edges[0].required);
	if (state != UROCE_QP_INIT)
		change(d, UROCE_QP_RTR, edges[2].required);
	if (state > UROCE_QP_RTR)
		change(d, UROCE_QP_RTS, edges[3].required);
	if (state == UROCE_QP_SQD)
		change(d, UROCE_QP_SQD, 0);
	if (state == UROCE_QP_SQE) {
		post(d, "READ 1 len 4 ah 0x11");
		expect_nothing(d);
		expect_cqe(d, "read 1 LOC_QP_OP_ERR");
	}
	if (state == UROCE_QP_ERR) {
		change(d, UROCE_QP_ERR, 0);
		expect_ended(d);
	}
	expect_state(d, state);
}

static const struct edge *find(
	const struct edge *edges, enum uroce_qp_state from, enum uroce_qp_state to)
{
	for (size_t i = 0; i < 9; i++)
		if (edges[i].from == from && edges[i].to == to)
			return &edges[i];
	return NULL;
}

static void expect_change(struct drill *d, enum uroce_qp_type type, enum uroce_qp_state from,
	enum uroce_qp_state to, uint32_t mask, bool good)
{
	int err;

	go(d, type, from);
	err = change(d, to, mask);
	if (err != (good ? 0 : -EINVAL))
		printf("\ntype %d from %d to %d with 0x%x\n", type, from, to, mask);
	expect_number(d, (uint64_t)err, (uint64_t)(good ? 0 : -EINVAL));
	expect_state(d, good ? to : from);
}

static void every_edge(struct drill *d, enum uroce_qp_type type, const struct edge *edges)
{
	for (enum uroce_qp_state from = UROCE_QP_RESET; from <= UROCE_QP_ERR; from++) {
		for (enum uroce_qp_state to = UROCE_QP_INIT; to < UROCE_QP_ERR; to++) {
			const struct edge *edge = find(edges, from, to);
			uint32_t required = edge ? edge->required : 0;

			expect_change(d, type, from, to, required, edge);
			for (size_t i = 0; edge && i < sizeof(all) / sizeof(all[0]); i++) {
				if (required & all[i])
					expect_change(d, type, from, to, required & ~all[i], false);
				else
					expect_change(d, type, from, to, required | all[i],
						edge->optional & all[i]);
			}
		}
	}
}

static void uc_edges_are_right(struct drill *d)
{
	every_edge(d, UROCE_QP_UC, uc_edges);
}

static void ud_edges_are_right(struct drill *d)
{
	every_edge(d, UROCE_QP_UD, ud_edges);
}

static void reset_and_err_from_everywhere(struct drill *d)
{
	for (int type = UROCE_QP_UC; type <= UROCE_QP_UD; type++) {
		for (enum uroce_qp_state from = UROCE_QP_INIT; from < UROCE_QP_ERR; from++) {
			go(d, (enum uroce_qp_type)type, from);
			expect_number(d, change(d, UROCE_QP_ERR, 0), 0);
			expect_ended(d);
			expect_number(d, change(d, UROCE_QP_RESET, 0), 0);
			expect_state(d, UROCE_QP_RESET);
		}
	}
}

static void a_new_qkey_counts_from_then_on(struct drill *d)
{
	struct uroce_qp_attr attr;

	go(d, UROCE_QP_UD, UROCE_QP_RTS);
	d->ep.conf.qkey = 7;
	post_recv(d, 200, 0, 48);
	attr = attr_of(d, UROCE_QP_RTS);
	attr.qkey = 8;
	expect_number(d, drill_modify(d, &attr, A(QKEY)), 0);
	inject_dropped(d, UROCE_DROP_QKEY, "UD_SEND_ONLY psn +0 len 8");
	inject(d, "UD_SEND_ONLY psn +0 len 8 qkey 8");
	expect_cqe(d, "recv 200 SUCCESS len 48 grh src 0x22");
}

static void types_that_do_not_exist(struct drill *d)
{
	struct uroce_qp_caps caps = d->ep.conf.caps;

	for (int type = 0; type < 10; type++) {
		caps.type = (enum uroce_qp_type)type;
		expect_number(d, (uint64_t)uroce_qp_caps_check(&caps),
			(uint64_t)(type >= 2 && type <= 4 ? 0 : -EINVAL));
	}
}

int main(void)
{
	static const struct drill_case cases[] = {
		{"every edge of UC takes its attributes and no other", uc_edges_are_right},
		{"every edge of UD takes its attributes and no other", ud_edges_are_right},
		{"ERR and RESET are reached from everywhere", reset_and_err_from_everywhere},
		{"a new Q_Key counts from then on", a_new_qkey_counts_from_then_on},
		{"RC, UC and UD are the types that there are", types_that_do_not_exist},
	};

	return DRILL_SUITE("qp_state_types", cases);
}
