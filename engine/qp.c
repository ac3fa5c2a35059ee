/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Queue pairs: memory layout, the state-transition table, errors, completions.
 *
 * The table says which attributes an edge needs and which it allows; nothing is changed before
 * all of them are checked. Leaving service always goes through one function, which completes
 * what is outstanding in order, sends before receives, and nothing twice.
 */
#include "qp.h"

#include <errno.h>

#include "build.h"
#include "comp.h"
#include "core.h"
#include "req.h"
#include "resp.h"

/* ---- memory ---- */

int uroce_qp_caps_check(const struct uroce_qp_caps *caps)
{
	if (caps->type < UROCE_QP_RC || caps->type > UROCE_QP_UD)
		return -EINVAL;
	if (caps->max_send_wr < 1 || caps->max_send_wr > UROCE_WR_MAX)
		return -EINVAL;
	if (caps->max_recv_wr < 1 || caps->max_recv_wr > UROCE_WR_MAX)
		return -EINVAL;
	if (caps->max_send_sge < 1 || caps->max_send_sge > UROCE_SGE_MAX)
		return -EINVAL;
	if (caps->max_recv_sge < 1 || caps->max_recv_sge > UROCE_SGE_MAX)
		return -EINVAL;
	if (caps->max_inline_bytes > UROCE_INLINE_BYTES_MAX)
		return -EINVAL;
	if (caps->max_dest_rd_atomic > UROCE_RD_ATOMIC_MAX)
		return -EINVAL;
	if (caps->window_pkts < 1 || caps->window_pkts > UROCE_PSN_OUTSTANDING_MAX)
		return -EINVAL;
	return 0;
}

/* Where the parts of a queue pair lie behind its struct. */
struct layout {
	size_t send_ring, recv_ring, sends, states, recv, replays, end;
};

static size_t take(size_t *at, size_t bytes)
{
	size_t start = *at;

	*at += (bytes + UROCE_CACHE_LINE_BYTES - 1) & ~(size_t)(UROCE_CACHE_LINE_BYTES - 1);
	return start;
}

static struct layout lay_out(const struct uroce_qp_caps *caps)
{
	size_t sends = uroce_ring_round_up(caps->max_send_wr);
	size_t recvs = uroce_ring_round_up(caps->max_recv_wr);
	size_t send_stride = uroce_send_wqe_stride(caps->max_send_sge, caps->max_inline_bytes);
	size_t recv_stride = uroce_recv_wqe_stride(caps->max_recv_sge);
	size_t replays = uroce_ring_round_up(caps->max_dest_rd_atomic);
	struct layout l;
	size_t at = 0;

	take(&at, sizeof(struct uroce_qp));
	l.send_ring = take(&at, sends * send_stride);
	l.recv_ring = take(&at, recvs * recv_stride);
	l.sends = take(&at, sends * send_stride);
	l.states = take(&at, sends * sizeof(struct uroce_send_state));
	l.recv = take(&at, recv_stride);
	l.replays = take(&at, replays * sizeof(struct uroce_replay));
	l.end = at;
	return l;
}

size_t uroce_qp_bytes(const struct uroce_qp_caps *caps)
{
	return lay_out(caps).end;
}

struct uroce_qp *uroce_qp_init(void *memory, const struct uroce_qp_caps *caps)
{
	struct layout l = lay_out(caps);
	uint8_t *base = memory;
	struct uroce_qp *qp = memory;

	memset(memory, 0, l.end);
	uroce_ring_init(&qp->send_ring, base + l.send_ring,
		uroce_send_wqe_stride(caps->max_send_sge, caps->max_inline_bytes),
		caps->max_send_wr);
	uroce_ring_init(&qp->recv_ring, base + l.recv_ring,
		uroce_recv_wqe_stride(caps->max_recv_sge), caps->max_recv_wr);
	qp->sends = base + l.sends;
	qp->send_states = (struct uroce_send_state *)(void *)(base + l.states);
	qp->recv = (struct uroce_recv_wqe *)(void *)(base + l.recv);
	qp->replays = (struct uroce_replay *)(void *)(base + l.replays);
	qp->caps = *caps;
	qp->bell.qp = qp;
	uroce_timer_init(&qp->comp.timer);
	uroce_flow_init(&qp->requests, UROCE_FLOW_REQUESTS, qp);
	uroce_flow_init(&qp->responses, UROCE_FLOW_RESPONSES, qp);
	return qp;
}

/* ---- states ---- */

#define A(name) UROCE_QP_ATTR_##name

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
		A(PKEY_INDEX) | A(ACCESS_FLAGS)},
	{UC, UROCE_QP_INIT, UROCE_QP_RTR,
		A(AV) | A(PATH_MTU) | A(DEST_QPN) | A(RQ_PSN),
		A(PKEY_INDEX) | A(ACCESS_FLAGS)},
	{UD, UROCE_QP_INIT, UROCE_QP_RTR,
		0, A(PKEY_INDEX) | A(QKEY)},
	{RC, UROCE_QP_RTR, UROCE_QP_RTS,
		A(SQ_PSN) | A(TIMEOUT) | A(RETRY_CNT) | A(RNR_RETRY) | A(MAX_RD_ATOMIC),
		A(CUR_STATE) | A(ACCESS_FLAGS) | A(MIN_RNR_TIMER)},
	{UC, UROCE_QP_RTR, UROCE_QP_RTS,
		A(SQ_PSN), A(CUR_STATE) | A(ACCESS_FLAGS)},
	{UD, UROCE_QP_RTR, UROCE_QP_RTS,
		A(SQ_PSN), A(CUR_STATE) | A(QKEY)},
	{RC, UROCE_QP_RTS, UROCE_QP_RTS,
		0, A(CUR_STATE) | A(ACCESS_FLAGS) | A(MIN_RNR_TIMER)},
	{UC, UROCE_QP_RTS, UROCE_QP_RTS,
		0, A(CUR_STATE) | A(ACCESS_FLAGS)},
	{UD, UROCE_QP_RTS, UROCE_QP_RTS,
		0, A(CUR_STATE) | A(QKEY)},
	{RC | UC | UD, UROCE_QP_RTS, UROCE_QP_SQD,
		0, A(EN_SQD_ASYNC_NOTIFY)},
	{RC, UROCE_QP_SQD, UROCE_QP_SQD,
		0, A(PKEY_INDEX) | A(PORT) | A(AV) | A(TIMEOUT) | A(RETRY_CNT) | A(RNR_RETRY) |
			A(MAX_RD_ATOMIC) | A(ACCESS_FLAGS) | A(MIN_RNR_TIMER)},
	{UC, UROCE_QP_SQD, UROCE_QP_SQD,
		0, A(PKEY_INDEX) | A(PORT) | A(AV) | A(ACCESS_FLAGS)},
	{UD, UROCE_QP_SQD, UROCE_QP_SQD,
		0, A(PKEY_INDEX) | A(QKEY)},
	{RC, UROCE_QP_SQD, UROCE_QP_RTS,
		0, A(CUR_STATE) | A(ACCESS_FLAGS) | A(MIN_RNR_TIMER)},
	{UC, UROCE_QP_SQD, UROCE_QP_RTS,
		0, A(CUR_STATE) | A(ACCESS_FLAGS)},
	{UD, UROCE_QP_SQD, UROCE_QP_RTS,
		0, A(CUR_STATE) | A(QKEY)},
	{UC, UROCE_QP_SQE, UROCE_QP_RTS,
		0, A(CUR_STATE) | A(ACCESS_FLAGS)},
	{UD, UROCE_QP_SQE, UROCE_QP_RTS,
		0, A(CUR_STATE) | A(QKEY)},
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
	const uint32_t rights = UROCE_ACCESS_LOCAL_WRITE | UROCE_ACCESS_REMOTE_WRITE |
		UROCE_ACCESS_REMOTE_READ | UROCE_ACCESS_REMOTE_ATOMIC | UROCE_ACCESS_FLUSH_GLOBAL;
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
	if (mask & A(TIMEOUT)) {
		now->timeout = attr->timeout;
		/* 4.096 us * 2^n; 0 is for ever (C9-140) */
		qp->ack_timeout_ns = attr->timeout ? 4096ull << attr->timeout : 0;
	}
	if (mask & A(AV)) {
		now->path = attr->path;
		join_path(qp, attr->path);
	}
	if (qp->path && (mask & (A(AV) | A(DEST_QPN))))
		uroce_build_template(qp);
}

/* Forgets everything but the memory and the number: a connection leaves nothing to the next. */
static void enter_reset(struct uroce_core *core, struct uroce_qp *qp)
{
	uroce_resp_stop(core, qp);
	uroce_ready_remove(&core->ready, &qp->requests);
	uroce_ready_remove(&core->ready, &qp->responses);
	leave_path(qp);
	memset(&qp->attr, 0, sizeof(qp->attr));
	memset(&qp->report, 0, sizeof(qp->report));
	qp->ack_timeout_ns = 0;
	qp->comm_established = false;
	qp->drained = false;
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
static void enter(struct uroce_core *core, struct uroce_qp *qp, uint32_t mask)
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
	if (!(mask & A(STATE)))
		return 0;
	/* What was wrong with the send queue is over. */
	if (qp->state == UROCE_QP_SQE)
		qp->report.cause = UROCE_CAUSE_NONE;
	qp->state = attr->state;
	enter(core, qp, mask);
	return 0;
}

/* ---- errors ---- */

void uroce_qp_blame(struct uroce_qp *qp, enum uroce_cause cause, enum uroce_status status,
	uint32_t detail, uint32_t psn, uint64_t now_ns)
{
	struct uroce_qp_report *report = &qp->report;

	if (report->cause != UROCE_CAUSE_NONE)
		return;
	report->cause = cause;
	report->status = status;
	report->detail = detail;
	report->error_psn = psn;
	report->error_ns = now_ns;
	report->timeout_ns = qp->ack_timeout_ns;
}

static void flush_recvs(struct uroce_core *core, struct uroce_qp *qp)
{
	if (qp->resp.has_recv)
		uroce_qp_complete_recv(core, qp,
			&(struct uroce_cqe){
				.status = UROCE_STATUS_WR_FLUSH_ERR, .opcode = UROCE_WC_RECV});
	/* Those of a shared queue are for other queue pairs. */
	while (!qp->srq && uroce_qp_take_recv(core, qp))
		uroce_qp_complete_recv(core, qp,
			&(struct uroce_cqe){
				.status = UROCE_STATUS_WR_FLUSH_ERR, .opcode = UROCE_WC_RECV});
}

void uroce_qp_flush(struct uroce_core *core, struct uroce_qp *qp)
{
	uroce_req_pull(qp);
	uroce_comp_flush(core, qp);
	if (qp->state == UROCE_QP_ERR)
		flush_recvs(core, qp);
}

void uroce_qp_enter_sqe(struct uroce_core *core, struct uroce_qp *qp, uint64_t now_ns)
{
	uroce_trace_push(
		&core->trace, now_ns, UROCE_TRACE_STATE, qp->qpn, 0, UROCE_QP_SQE, qp->state);
	qp->state = UROCE_QP_SQE;
	qp->req.failed = false;
	uroce_timer_cancel(&qp->comp.timer);
	uroce_ready_remove(&core->ready, &qp->requests);
	uroce_qp_flush(core, qp);
	/* PSNs of a message that was broken off are not waited for. */
	qp->req.psn_una = qp->req.psn_high = qp->req.psn_next;
}

void uroce_qp_enter_error(struct uroce_core *core, struct uroce_qp *qp, uint64_t now_ns)
{
	enum uroce_cause cause = qp->report.cause;
	bool owes_nak = cause == UROCE_CAUSE_REQUEST_REFUSED || cause == UROCE_CAUSE_RECV_TOO_SHORT;

	if (qp->state == UROCE_QP_ERR)
		return;
	uroce_trace_push(
		&core->trace, now_ns, UROCE_TRACE_STATE, qp->qpn, 0, UROCE_QP_ERR, qp->state);
	qp->state = UROCE_QP_ERR;
	/* Posts from now on see this, or this thread sees them below. */
	atomic_store(&qp->in_error, 1);
	uroce_timer_cancel(&qp->comp.timer);
	uroce_ready_remove(&core->ready, &qp->requests);
	qp->resp.in_message = false;
	/* A refusal is still to be told, after the answers that come before it. */
	if (!owes_nak)
		uroce_resp_stop(core, qp);
	uroce_qp_flush(core, qp);
	uroce_qp_notify(core, qp, UROCE_EVENT_QP_LAST_WQE_REACHED);
}

/* ---- completions and events ---- */

void uroce_qp_notify(struct uroce_core *core, const struct uroce_qp *qp, enum uroce_event_type type)
{
	if (!uroce_events_push(
		    &core->events, (struct uroce_core_event){.type = type, .qpn = qp->qpn}))
		uroce_count(core, events_lost);
}

static void notify_cq(struct uroce_core *core, struct uroce_cq *cq, enum uroce_event_type type)
{
	if (!uroce_events_push(&core->events, (struct uroce_core_event){.type = type, .cq = cq}))
		uroce_count(core, events_lost);
}

void uroce_qp_complete(struct uroce_core *core, struct uroce_qp *qp, struct uroce_cq *cq,
	const struct uroce_cqe *cqe)
{
	bool was_overrun = atomic_load_explicit(&cq->overrun, memory_order_relaxed);
	bool fire;

	uroce_trace_push(
		&core->trace, 0, UROCE_TRACE_COMPLETE, qp->qpn, 0, cqe->status, cqe->wr_id);
	if (!uroce_cq_push(cq, core->conf.id, cqe, &fire)) {
		/* C11-39: the queue is broken, and a queue pair that lost a completion too */
		uroce_count(core, cq_overflows);
		if (!was_overrun)
			notify_cq(core, cq, UROCE_EVENT_CQ_ERR);
		if (qp->state != UROCE_QP_ERR)
			uroce_qp_notify(core, qp, UROCE_EVENT_QP_FATAL);
		uroce_qp_blame(
			qp, UROCE_CAUSE_CQ_OVERFLOW, UROCE_STATUS_FATAL_ERR, cq->capacity, 0, 0);
		uroce_qp_enter_error(core, qp, 0);
		return;
	}
	if (fire)
		notify_cq(core, cq, UROCE_EVENT_CQ_FIRED);
}

static bool take_shared_recv(struct uroce_core *core, struct uroce_qp *qp)
{
	bool limit_reached;

	if (!uroce_srq_pop(qp->srq, qp->recv, &limit_reached))
		return false;
	if (limit_reached &&
		!uroce_events_push(&core->events,
			(struct uroce_core_event){
				.type = UROCE_EVENT_SRQ_LIMIT_REACHED, .srq = qp->srq}))
		uroce_count(core, events_lost);
	return true;
}

static bool take_own_recv(struct uroce_qp *qp)
{
	const struct uroce_recv_wqe *shared;
	uint32_t posted;

	/* More than the queue holds is an application writing where it must not. */
	posted = uroce_ring_tail(&qp->recv_ring) - qp->resp.recv_next;
	if (posted == 0 || posted > qp->recv_ring.limit)
		return false;
	shared = uroce_ring_entry(&qp->recv_ring, qp->resp.recv_next++);
	*qp->recv = *shared;
	if (qp->recv->num_segs <= qp->caps.max_recv_sge)
		memcpy(qp->recv + 1, shared + 1, qp->recv->num_segs * sizeof(struct uroce_seg));
	return true;
}

bool uroce_qp_take_recv(struct uroce_core *core, struct uroce_qp *qp)
{
	const struct uroce_seg *segs = uroce_recv_wqe_segs(qp->recv);
	uint64_t bytes = 0;

	if (qp->resp.has_recv)
		return true;
	if (!(qp->srq ? take_shared_recv(core, qp) : take_own_recv(qp)))
		return false;
	qp->resp.has_recv = true;
	/* One with too many segments takes any message, and fails with it. */
	if (qp->recv->num_segs > qp->caps.max_recv_sge)
		bytes = UINT32_MAX;
	else
		for (uint32_t i = 0; i < qp->recv->num_segs; i++)
			bytes += segs[i].bytes;
	qp->recv->bytes = bytes > UINT32_MAX ? UINT32_MAX : (uint32_t)bytes;
	return true;
}

void uroce_qp_complete_recv(
	struct uroce_core *core, struct uroce_qp *qp, const struct uroce_cqe *result)
{
	struct uroce_cqe cqe = *result;

	cqe.wr_id = qp->recv->wr_id;
	cqe.qpn = qp->qpn;
	if (qp->caps.type != UROCE_QP_UD)
		cqe.src_qpn = qp->attr.dest_qpn;
	cqe.queue = &qp->recv_ring;
	cqe.queue_head = qp->resp.recv_next;
	qp->resp.has_recv = false;
	if (cqe.status != UROCE_STATUS_SUCCESS)
		uroce_count(core, resp_cqe_error);
	uroce_qp_complete(core, qp, qp->recv_cq, &cqe);
}
