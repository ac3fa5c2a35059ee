/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * States of queue pairs, and the attributes that may change with them.
 *
 * One table says which edges there are for which types, which attributes an edge needs and which
 * it allows; nothing is changed before all of them are checked.
 */
#include "qp_state.h"

#include <errno.h>

#include "build.h"
#include "cc.h"
#include "comp.h"
#include "req.h"
#include "resp.h"

#define A(name) UROCE_QP_ATTR_##name
/* Ours, or not of the standard: whenever there is a connection. */
#define PACE	(A(RATE_LIMIT) | A(DCQCN))
#define RC_PACE (PACE | A(KEEPALIVE))
#define UD_PACE A(RATE_LIMIT)

enum {
	RC = 1 << UROCE_QP_RC,
	UC = 1 << UROCE_QP_UC,
	UD = 1 << UROCE_QP_UD
};

/* InfiniBand table 91: for which types, from, to, attributes required, attributes allowed. */
// clang-format off
static const struct edge {
	uint32_t types;
	enum uroce_qp_state from, to;
	uint32_t required, optional;
} edges[] = {
	{RC | UC, UROCE_QP_RESET, UROCE_QP_INIT,
		A(PKEY_INDEX) | A(PORT) | A(ACCESS_FLAGS), 0},
	{UD, UROCE_QP_RESET, UROCE_QP_INIT,
		A(PKEY_INDEX) | A(PORT) | A(QKEY), 0},
	{RC | UC, UROCE_QP_INIT, UROCE_QP_INIT,
		0, A(PKEY_INDEX) | A(PORT) | A(ACCESS_FLAGS)},
	{UD, UROCE_QP_INIT, UROCE_QP_INIT,
		0, A(PKEY_INDEX) | A(PORT) | A(QKEY)},
	{RC, UROCE_QP_INIT, UROCE_QP_RTR,
		A(AV) | A(PATH_MTU) | A(DEST_QPN) | A(RQ_PSN) | A(MAX_DEST_RD_ATOMIC) |
			A(MIN_RNR_TIMER),
		A(PKEY_INDEX) | A(ACCESS_FLAGS) | RC_PACE},
	{UC, UROCE_QP_INIT, UROCE_QP_RTR,
		A(AV) | A(PATH_MTU) | A(DEST_QPN) | A(RQ_PSN),
		A(PKEY_INDEX) | A(ACCESS_FLAGS) | PACE},
	{UD, UROCE_QP_INIT, UROCE_QP_RTR,
		0, A(PKEY_INDEX) | A(QKEY) | UD_PACE},
	{RC, UROCE_QP_RTR, UROCE_QP_RTS,
		A(SQ_PSN) | A(TIMEOUT) | A(RETRY_CNT) | A(RNR_RETRY) | A(MAX_RD_ATOMIC),
		A(CUR_STATE) | A(ACCESS_FLAGS) | A(MIN_RNR_TIMER) | RC_PACE},
	{UC, UROCE_QP_RTR, UROCE_QP_RTS,
		A(SQ_PSN), A(CUR_STATE) | A(ACCESS_FLAGS) | PACE},
	{UD, UROCE_QP_RTR, UROCE_QP_RTS,
		A(SQ_PSN), A(CUR_STATE) | A(QKEY) | UD_PACE},
	{RC, UROCE_QP_RTS, UROCE_QP_RTS,
		0, A(CUR_STATE) | A(ACCESS_FLAGS) | A(MIN_RNR_TIMER) | RC_PACE},
	{UC, UROCE_QP_RTS, UROCE_QP_RTS,
		0, A(CUR_STATE) | A(ACCESS_FLAGS) | PACE},
	{UD, UROCE_QP_RTS, UROCE_QP_RTS,
		0, A(CUR_STATE) | A(QKEY) | UD_PACE},
	{RC | UC | UD, UROCE_QP_RTS, UROCE_QP_SQD,
		0, A(EN_SQD_ASYNC_NOTIFY)},
	{RC, UROCE_QP_SQD, UROCE_QP_SQD,
		0, A(PKEY_INDEX) | A(PORT) | A(AV) | A(TIMEOUT) | A(RETRY_CNT) | A(RNR_RETRY) |
			A(MAX_RD_ATOMIC) | A(ACCESS_FLAGS) | A(MIN_RNR_TIMER) | RC_PACE},
	{UC, UROCE_QP_SQD, UROCE_QP_SQD,
		0, A(PKEY_INDEX) | A(PORT) | A(AV) | A(ACCESS_FLAGS) | PACE},
	{UD, UROCE_QP_SQD, UROCE_QP_SQD,
		0, A(PKEY_INDEX) | A(QKEY) | UD_PACE},
	{RC, UROCE_QP_SQD, UROCE_QP_RTS,
		0, A(CUR_STATE) | A(ACCESS_FLAGS) | A(MIN_RNR_TIMER) | RC_PACE},
	{UC, UROCE_QP_SQD, UROCE_QP_RTS,
		0, A(CUR_STATE) | A(ACCESS_FLAGS) | PACE},
	{UD, UROCE_QP_SQD, UROCE_QP_RTS,
		0, A(CUR_STATE) | A(QKEY) | UD_PACE},
	{UC, UROCE_QP_SQE, UROCE_QP_RTS,
		0, A(CUR_STATE) | A(ACCESS_FLAGS) | PACE},
	{UD, UROCE_QP_SQE, UROCE_QP_RTS,
		0, A(CUR_STATE) | A(QKEY) | UD_PACE},
};
// clang-format on

static const struct edge *find_edge(
	enum uroce_qp_type type, enum uroce_qp_state from, enum uroce_qp_state to)
{
	for (size_t i = 0; i < sizeof(edges) / sizeof(edges[0]); i++)
		if ((edges[i].types >> type & 1) && edges[i].from == from && edges[i].to == to)
			return &edges[i];
	return NULL;
}

uint32_t uroce_qp_attrs_required(
	enum uroce_qp_type type, enum uroce_qp_state from, enum uroce_qp_state to)
{
	const struct edge *edge = find_edge(type, from, to);

	return edge ? A(STATE) | edge->required : 0;
}

/* RESET is reached from everywhere and ERR from all but RESET; neither takes attributes. */
static int check_edge(const struct uroce_qp *qp, const struct uroce_qp_attr *attr, uint32_t mask)
{
	enum uroce_qp_state to = mask & A(STATE) ? attr->state : qp->state;
	uint32_t rest = mask & ~(uint32_t)A(STATE);
	const struct edge *edge;

	if ((mask & A(CUR_STATE)) && attr->cur_state != qp->state)
		return -EINVAL;
	if ((mask & A(STATE)) && (to == UROCE_QP_RESET || to == UROCE_QP_ERR))
		return (rest & ~(uint32_t)A(CUR_STATE)) ||
				(to == UROCE_QP_ERR && qp->state == UROCE_QP_RESET)
			? -EINVAL
			: 0;
	edge = find_edge(qp->caps.type, qp->state, to);
	if (!edge)
		return -EINVAL;
	if ((rest & edge->required) != edge->required)
		return -EINVAL;
	return rest & ~(edge->required | edge->optional) ? -EINVAL : 0;
}

static int check_values(const struct uroce_qp *qp, const struct uroce_qp_attr *attr, uint32_t mask)
{
	const uint32_t rights = UROCE_ACCESS_LOCAL_WRITE | UROCE_ACCESS_REMOTE_ALL;
	uint32_t mtu = attr->path_mtu_bytes;

	if ((mask & A(ACCESS_FLAGS)) && (attr->access & ~rights))
		return -EINVAL;
	if ((mask & A(AV)) && !attr->path)
		return -EINVAL;
	if ((mask & A(PATH_MTU)) && (mtu < 256 || mtu > 4096 || (mtu & (mtu - 1))))
		return -EINVAL;
	if ((mask & A(DEST_QPN)) && attr->dest_qpn > UROCE_QPN_MASK)
		return -EINVAL;
	if ((mask & A(RQ_PSN)) && attr->rq_psn > UROCE_PSN_MASK)
		return -EINVAL;
	if ((mask & A(SQ_PSN)) && attr->sq_psn > UROCE_PSN_MASK)
		return -EINVAL;
	if ((mask & A(TIMEOUT)) && attr->timeout > UROCE_TIMER_CODE_MAX)
		return -EINVAL;
	if ((mask & A(RETRY_CNT)) && attr->retry_cnt > UROCE_RETRY_MAX)
		return -EINVAL;
	if ((mask & A(RNR_RETRY)) && attr->rnr_retry > UROCE_RNR_RETRY_INFINITE)
		return -EINVAL;
	if ((mask & A(MIN_RNR_TIMER)) && attr->min_rnr_timer > UROCE_TIMER_CODE_MAX)
		return -EINVAL;
	if ((mask & A(MAX_RD_ATOMIC)) && attr->max_rd_atomic > UROCE_RD_ATOMIC_MAX)
		return -EINVAL;
	if ((mask & A(MAX_DEST_RD_ATOMIC)) &&
		attr->max_dest_rd_atomic > qp->caps.max_dest_rd_atomic)
		return -EINVAL;
	if ((mask & A(RATE_LIMIT)) && !uroce_qp_rate_is_valid(attr->rate_limit_bps))
		return -EINVAL;
	return 0;
}

static void leave_path(struct uroce_qp *qp)
{
	struct uroce_qp **link;

	if (!qp->path)
		return;
	for (link = &qp->path->users; *link != qp; link = &(*link)->path_next)
		;
	*link = qp->path_next;
	qp->path = NULL;
}

static void join_path(struct uroce_qp *qp, struct uroce_path *path)
{
	leave_path(qp);
	qp->path = path;
	qp->path_next = path->users;
	path->users = qp;
}

static void set_values(struct uroce_qp *qp, const struct uroce_qp_attr *attr, uint32_t mask)
{
	struct uroce_qp_attr *now = &qp->attr;

	if (mask & A(ACCESS_FLAGS))
		now->access = attr->access;
	if (mask & A(PATH_MTU))
		now->path_mtu_bytes = attr->path_mtu_bytes;
	if (mask & A(DEST_QPN))
		now->dest_qpn = attr->dest_qpn;
	if (mask & A(RQ_PSN))
		now->rq_psn = attr->rq_psn;
	if (mask & A(SQ_PSN))
		now->sq_psn = attr->sq_psn;
	if (mask & A(QKEY))
		now->qkey = attr->qkey;
	if (mask & A(RETRY_CNT))
		now->retry_cnt = attr->retry_cnt;
	if (mask & A(RNR_RETRY))
		now->rnr_retry = attr->rnr_retry;
	if (mask & A(MIN_RNR_TIMER))
		now->min_rnr_timer = attr->min_rnr_timer;
	if (mask & A(MAX_RD_ATOMIC))
		now->max_rd_atomic = attr->max_rd_atomic;
	if (mask & A(MAX_DEST_RD_ATOMIC))
		now->max_dest_rd_atomic = attr->max_dest_rd_atomic;
	if (mask & A(RATE_LIMIT))
		now->rate_limit_bps = attr->rate_limit_bps;
	if (mask & A(DCQCN))
		now->dcqcn = attr->dcqcn;
	if (mask & A(KEEPALIVE))
		now->keepalive_ms = attr->keepalive_ms;
	if (mask & A(TIMEOUT)) {
		now->timeout = attr->timeout;
		/* 4.096 us * 2^n; 0 is for ever (C9-140) */
		qp->ack_timeout_ns = attr->timeout ? 4096ull << attr->timeout : 0;
	}
	if (mask & A(AV)) {
		now->path = attr->path;
		join_path(qp, attr->path);
	}
	if (qp->path && (mask & (A(AV) | A(DEST_QPN) | A(DCQCN))))
		uroce_build_template(qp);
}

void uroce_qp_path_changed(struct uroce_core *core, struct uroce_qp *qp, uint64_t now_ns)
{
	uroce_build_template(qp);
	uroce_comp_path_changed(core, qp, now_ns);
	uroce_core_wake_responses(core, qp);
}

void uroce_qp_clear(const struct uroce_core *core, struct uroce_qp *qp)
{
	qp->attr = (struct uroce_qp_attr){.rate_limit_bps = qp->caps.rate_limit_bps,
		.dcqcn = qp->caps.dcqcn,
		.keepalive_ms = qp->caps.keepalive_ms};
	uroce_cc_reset(core, qp);
}

/* Forgets everything but the memory and the number: a connection leaves nothing to the next. */
static void enter_reset(struct uroce_core *core, struct uroce_qp *qp)
{
	uroce_resp_stop(core, qp);
	uroce_ready_remove(&core->ready, &qp->requests);
	uroce_ready_remove(&core->ready, &qp->responses);
	leave_path(qp);
	uroce_qp_clear(core, qp);
	memset(&qp->report, 0, sizeof(qp->report));
	qp->ack_timeout_ns = 0;
	qp->comm_established = false;
	qp->drained = false;
	uroce_qp_return_recv(qp);
	qp->resp.has_recv = false;
	uroce_req_reset(qp);
	uroce_comp_reset(qp);
	uroce_resp_reset(core, qp);
	/* Posted receives are gone, as posted sends are; their slots are free again. */
	qp->resp.recv_next = uroce_ring_tail(&qp->recv_ring);
	uroce_ring_release(&qp->recv_ring, qp->resp.recv_next);
	uroce_ring_release(&qp->send_ring, qp->req.tail);
	atomic_store(&qp->in_error, 0);
}

/* What happens on the way into a state, after its attributes are set. */
static void enter(struct uroce_core *core, struct uroce_qp *qp, uint32_t mask, uint64_t now_ns)
{
	switch (qp->state) {
	case UROCE_QP_RESET:
		enter_reset(core, qp);
		break;
	case UROCE_QP_RTR:
		uroce_resp_reset(core, qp);
		break;
	case UROCE_QP_RTS:
		if (mask & A(SQ_PSN)) {
			uroce_req_reset(qp);
			uroce_comp_reset(qp);
		}
		uroce_comp_watch(core, qp, now_ns);
		uroce_core_wake_requests(core, qp);
		break;
	case UROCE_QP_SQD:
		qp->want_drained_event = mask & A(EN_SQD_ASYNC_NOTIFY);
		qp->drained = false;
		uroce_comp_check_drained(core, qp);
		break;
	case UROCE_QP_INIT:
	case UROCE_QP_SQE:
	case UROCE_QP_ERR:
		break;
	}
}

int uroce_qp_change(struct uroce_core *core, struct uroce_qp *qp, const struct uroce_qp_attr *attr,
	uint32_t mask, uint64_t now_ns)
{
	int err = check_edge(qp, attr, mask);

	if (!err)
		err = check_values(qp, attr, mask);
	if (err)
		return err;
	if ((mask & A(STATE)) && attr->state == UROCE_QP_ERR) {
		uroce_qp_blame(qp, UROCE_CAUSE_MODIFIED, UROCE_STATUS_WR_FLUSH_ERR, 0, 0, now_ns);
		uroce_qp_enter_error(core, qp, now_ns);
		return 0;
	}
	uroce_trace_push(&core->trace, now_ns, UROCE_TRACE_STATE, qp->qpn, 0,
		mask & A(STATE) ? attr->state : qp->state, qp->state);
	set_values(qp, attr, mask);
	if ((mask & A(AV)) && uroce_qp_sends(qp))
		uroce_qp_path_changed(core, qp, now_ns);
	if (mask & (A(RATE_LIMIT) | A(DCQCN)))
		uroce_cc_changed(core, qp, now_ns);
	if ((mask & A(KEEPALIVE)) && uroce_qp_sends(qp))
		uroce_comp_watch(core, qp, now_ns);
	if (!(mask & A(STATE)))
		return 0;
	/* What was wrong with the send queue is over. */
	if (qp->state == UROCE_QP_SQE)
		qp->report.cause = UROCE_CAUSE_NONE;
	qp->state = attr->state;
	enter(core, qp, mask, now_ns);
	return 0;
}
