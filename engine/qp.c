/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Queue pairs: memory layout, receives, completions, and the way out.
 *
 * Leaving service always goes through one function, which completes what is outstanding in order,
 * sends before receives, and nothing twice. States and attributes are qp_state's.
 */
#include "qp.h"

#include <errno.h>

#include "build.h"
#include "comp.h"
#include "core.h"
#include "req.h"
#include "resp.h"

/* ---- memory ---- */

bool uroce_qp_rate_is_valid(uint64_t rate_bps)
{
	return rate_bps == 0 || (rate_bps >= UROCE_RATE_MIN_BPS && rate_bps <= UROCE_RATE_MAX_BPS);
}

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
	if (!uroce_qp_rate_is_valid(caps->rate_limit_bps))
		return -EINVAL;
	/* Datagrams have no peer that could notify, and only a reliable one has to answer. */
	if (caps->dcqcn && caps->type == UROCE_QP_UD)
		return -EINVAL;
	if (caps->keepalive_ms && caps->type != UROCE_QP_RC)
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
	uroce_timer_init(&qp->cc.timer);
	uroce_flow_init(&qp->requests, UROCE_FLOW_REQUESTS, qp);
	uroce_flow_init(&qp->responses, UROCE_FLOW_RESPONSES, qp);
	return qp;
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
	/* Those still on a shared queue are for other queue pairs. */
	while (qp->resp.has_recv || (!qp->srq && uroce_qp_take_recv(core, qp)))
		uroce_qp_fail_recv(core, qp, UROCE_STATUS_WR_FLUSH_ERR);
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
	/* A refusal is still to be told, after the answers that come before it. */
	if (!owes_nak)
		uroce_resp_stop(core, qp);
	uroce_qp_flush(core, qp);
	uroce_qp_notify(core, qp, UROCE_EVENT_QP_LAST_WQE_REACHED);
}

/* ---- completions and events ---- */

static void notify(struct uroce_core *core, struct uroce_core_event event)
{
	if (!uroce_events_push(&core->events, event))
		uroce_count(core, events_lost);
}

void uroce_qp_notify(struct uroce_core *core, const struct uroce_qp *qp, enum uroce_event_type type)
{
	notify(core, (struct uroce_core_event){.type = type, .qpn = qp->qpn});
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
			notify(core,
				(struct uroce_core_event){.type = UROCE_EVENT_CQ_ERR, .cq = cq});
		if (qp->state != UROCE_QP_ERR)
			uroce_qp_notify(core, qp, UROCE_EVENT_QP_FATAL);
		uroce_qp_blame(
			qp, UROCE_CAUSE_CQ_OVERFLOW, UROCE_STATUS_FATAL_ERR, cq->capacity, 0, 0);
		uroce_qp_enter_error(core, qp, 0);
		return;
	}
	if (fire)
		uroce_events_push_fired(&core->events, cq);
}

static bool take_shared_recv(struct uroce_core *core, struct uroce_qp *qp)
{
	bool limit_reached;

	if (!uroce_srq_pop(qp->srq, qp->recv, &limit_reached))
		return false;
	if (limit_reached)
		notify(core,
			(struct uroce_core_event){
				.type = UROCE_EVENT_SRQ_LIMIT_REACHED, .srq = qp->srq});
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

void uroce_qp_return_recv(struct uroce_qp *qp)
{
	const struct uroce_recv_wqe *recv = qp->recv;

	if (qp->srq && qp->resp.has_recv && recv->num_segs <= qp->srq->max_sge &&
		uroce_srq_post(qp->srq, recv->wr_id, uroce_recv_wqe_segs(qp->recv), recv->num_segs))
		qp->resp.has_recv = false;
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

void uroce_qp_fail_recv(struct uroce_core *core, struct uroce_qp *qp, enum uroce_status status)
{
	uroce_qp_complete_recv(
		core, qp, &(struct uroce_cqe){.status = status, .opcode = UROCE_WC_RECV});
}

enum uroce_drop uroce_qp_bad_recv(struct uroce_core *core, struct uroce_qp *qp,
	enum uroce_status status, uint32_t verdict, uint32_t psn, uint64_t now_ns)
{
	uroce_qp_blame(qp, UROCE_CAUSE_RECV_BAD, status, verdict, psn, now_ns);
	uroce_qp_fail_recv(core, qp, status);
	uroce_qp_enter_error(core, qp, now_ns);
	return UROCE_DROP_RECV_BAD;
}
