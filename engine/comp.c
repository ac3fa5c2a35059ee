/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The completer.
 *
 * An answer to PSN n acknowledges everything up to n, except reads and atomics, which only their
 * own data completes: an answer beyond one of those that is still open is an implied NAK, acted
 * upon once per gap. Work requests complete strictly in order. Anything that moves psn_una is
 * progress and restores the retries; what never comes is the timer's business.
 * Distances are taken from psn_una, so that 2^23 packets outstanding are not ambiguous.
 */
#include "comp.h"

#include "req.h"
#include "sge.h"
#include "wr.h"

#define NS_PER_MS 1000000ull

/* RNR timer codes in units of 10 us. Code 0 is the longest, not the shortest. */
static const uint32_t rnr_10us[] = {65536, 1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192,
	256, 384, 512, 768, 1024, 1536, 2048, 3072, 4096, 6144, 8192, 12288, 16384, 24576, 32768,
	49152};

_Static_assert(
	sizeof(rnr_10us) / sizeof(rnr_10us[0]) == UROCE_TIMER_CODE_MAX + 1, "one time per code");

uint64_t uroce_rnr_timer_ns(uint8_t code)
{
	return (uint64_t)rnr_10us[code & UROCE_SYNDROME_VALUE_MASK] * 10000;
}

void uroce_comp_reset(struct uroce_qp *qp)
{
	struct uroce_comp *comp = &qp->comp;

	uroce_timer_cancel(&comp->timer);
	comp->retries_left = qp->attr.retry_cnt;
	comp->rnr_left = qp->attr.rnr_retry;
	comp->gap_open = false;
	comp->reasked = false;
}

/* ---- timers ---- */

static void arm(struct uroce_core *core, struct uroce_qp *qp, enum uroce_timer_use use,
	uint64_t deadline_ns)
{
	qp->comp.timer_use = use;
	uroce_timer_arm(&core->timers, &qp->comp.timer, deadline_ns);
}

/* Nothing is outstanding: there may be nobody to say that the peer is gone. */
static void arm_keepalive(struct uroce_core *core, struct uroce_qp *qp, uint64_t from_ns)
{
	arm(core, qp, UROCE_TIMER_KEEPALIVE, from_ns + qp->attr.keepalive_ms * NS_PER_MS);
}

/* (Re)starts the retry timer if an answer is due, else that of the keepalive, or none. */
static void restart_ack_timer(struct uroce_core *core, struct uroce_qp *qp, uint64_t now_ns)
{
	if (qp->req.psn_una == qp->req.psn_high && qp->attr.keepalive_ms > 0)
		arm_keepalive(core, qp, now_ns);
	else if (qp->req.psn_una == qp->req.psn_high)
		uroce_timer_cancel(&qp->comp.timer);
	else if (!qp->path->resolved)
		uroce_comp_wait_path(core, qp, now_ns);
	else if (qp->ack_timeout_ns > 0)
		arm(core, qp, UROCE_TIMER_ACK, now_ns + qp->ack_timeout_ns);
	else
		uroce_timer_cancel(&qp->comp.timer);
}

void uroce_comp_watch(struct uroce_core *core, struct uroce_qp *qp, uint64_t now_ns)
{
	if (!uroce_timer_armed(&qp->comp.timer) || qp->comp.timer_use == UROCE_TIMER_KEEPALIVE)
		restart_ack_timer(core, qp, now_ns);
}

void uroce_comp_wait_path(struct uroce_core *core, struct uroce_qp *qp, uint64_t now_ns)
{
	if (!uroce_timer_armed(&qp->comp.timer) || qp->comp.timer_use != UROCE_TIMER_PATH)
		arm(core, qp, UROCE_TIMER_PATH, now_ns + core->conf.path_wait_ns);
}

/* Many paths, none of which knows who waits for it: it is looked at again and again. */
bool uroce_comp_wait_neighbour(struct uroce_core *core, struct uroce_qp *qp, uint64_t now_ns)
{
	if (qp->req.path_waits * NS_PER_MS >= core->conf.path_wait_ns)
		return false;
	if (!uroce_timer_armed(&qp->comp.timer))
		arm(core, qp, UROCE_TIMER_PATH, now_ns + NS_PER_MS);
	return true;
}

void uroce_comp_path_changed(struct uroce_core *core, struct uroce_qp *qp, uint64_t now_ns)
{
	if (!qp->path->resolved) {
		/* A receiver that was not ready is waited for first; then sending finds it lost. */
		if (uroce_timer_armed(&qp->comp.timer) && qp->comp.timer_use == UROCE_TIMER_ACK)
			uroce_comp_wait_path(core, qp, now_ns);
		return;
	}
	if (qp->comp.timer_use == UROCE_TIMER_PATH)
		uroce_timer_cancel(&qp->comp.timer);
	uroce_comp_watch(core, qp, now_ns);
	uroce_core_wake_requests(core, qp);
}

/* ---- completing ---- */

/* Completes the work request at the head and moves the head. */
static void finish_head(
	struct uroce_core *core, struct uroce_qp *qp, enum uroce_status status, uint32_t vendor_err)
{
	struct uroce_req *req = &qp->req;
	const struct uroce_send_wqe *wqe = uroce_qp_send_wqe(qp, req->head);
	const struct uroce_wr_kind *kind;
	bool wanted = qp->signal_all || (wqe->flags & UROCE_SEND_SIGNALED) ||
		status != UROCE_STATUS_SUCCESS;

	req->reads_out -= uroce_req_reads_of(qp, req->head);
	req->head++;
	if (status == UROCE_STATUS_SUCCESS)
		uroce_count(core, messages_sent);
	else
		uroce_count(core, req_cqe_error);
	if (!wanted)
		return;
	kind = uroce_wr_kind(wqe->opcode);
	uroce_qp_complete(core, qp, qp->send_cq,
		&(struct uroce_cqe){
			.wr_id = wqe->wr_id,
			.status = status,
			.opcode = kind->completes_as,
			.bytes = status == UROCE_STATUS_SUCCESS && !kind->local ? wqe->bytes : 0,
			.qpn = qp->qpn,
			.src_qpn = qp->attr.dest_qpn,
			.vendor_err = vendor_err,
			.queue = &qp->send_ring,
			.queue_head = req->head,
		});
}

void uroce_comp_flush(struct uroce_core *core, struct uroce_qp *qp)
{
	while (qp->req.head != qp->req.tail)
		finish_head(core, qp, UROCE_STATUS_WR_FLUSH_ERR, 0);
	qp->req.at = qp->req.head;
	qp->req.at_pkt = 0;
	qp->req.reads_out = 0;
	qp->req.probe = UROCE_PROBE_NONE;
	qp->req.psn_una = qp->req.psn_high;
}

void uroce_comp_local_done(struct uroce_core *core, struct uroce_qp *qp)
{
	const struct uroce_req *req = &qp->req;

	while (req->head != req->tail && uroce_qp_send_state(qp, req->head)->executed)
		finish_head(core, qp, UROCE_STATUS_SUCCESS, 0);
}

/* The work request at the head ends the connection, or an unreliable one's send queue. */
static void fail_head(struct uroce_core *core, struct uroce_qp *qp, enum uroce_cause cause,
	enum uroce_status status, uint32_t detail, uint64_t now_ns)
{
	const struct uroce_req *req = &qp->req;
	bool probed = req->probe != UROCE_PROBE_NONE;

	if (probed && cause == UROCE_CAUSE_TIMEOUT)
		cause = UROCE_CAUSE_KEEPALIVE;
	else if (probed && cause == UROCE_CAUSE_NAK)
		cause = UROCE_CAUSE_KEEPALIVE_REFUSED;
	uroce_qp_blame(qp, cause, status, detail, req->psn_una, now_ns);
	/* What the peer does not like of a probe is no work request's fault; its silence is to all.
	 */
	if (req->head != req->tail && (!probed || status == UROCE_STATUS_RETRY_EXC_ERR))
		finish_head(core, qp, status, detail);
	else
		uroce_qp_notify(core, qp, UROCE_EVENT_QP_FATAL);
	if (uroce_qp_is_reliable(qp))
		uroce_qp_enter_error(core, qp, now_ns);
	else if (qp->state != UROCE_QP_ERR)
		uroce_qp_enter_sqe(core, qp, now_ns);
}

void uroce_comp_settle(struct uroce_core *core, struct uroce_qp *qp, uint64_t now_ns)
{
	struct uroce_req *req = &qp->req;

	if (!req->failed || req->head != req->at || req->probe != UROCE_PROBE_NONE ||
		!uroce_qp_sends(qp))
		return;
	fail_head(core, qp, req->failed_cause, req->failed_status, req->failed_detail, now_ns);
}

void uroce_comp_check_drained(struct uroce_core *core, struct uroce_qp *qp)
{
	const struct uroce_req *req = &qp->req;
	bool started = req->at != req->tail && uroce_qp_send_state(qp, req->at)->pkts > 0;

	if (qp->state != UROCE_QP_SQD || qp->drained || req->head != req->at || started ||
		req->probe != UROCE_PROBE_NONE)
		return;
	qp->drained = true;
	/* What may not leave waits for no path. */
	uroce_timer_cancel(&qp->comp.timer);
	if (qp->want_drained_event)
		uroce_qp_notify(core, qp, UROCE_EVENT_SQ_DRAINED);
}

/* psn_una moved: retries are full again, waiting is over, there may be room to send. */
static void note_progress(struct uroce_core *core, struct uroce_qp *qp, uint64_t now_ns)
{
	struct uroce_comp *comp = &qp->comp;

	comp->retries_left = qp->attr.retry_cnt;
	comp->rnr_left = qp->attr.rnr_retry;
	comp->gap_open = false;
	qp->report.timeouts = 0;
	qp->report.rnr_naks = 0;
	qp->report.sequence_naks = 0;
	qp->req.waiting = false;
	if (comp->reasked && !uroce_psn_before(qp->req.psn_una, comp->reasked_psn))
		comp->reasked = false;
	uroce_comp_local_done(core, qp);
	uroce_req_catch_up(qp);
	restart_ack_timer(core, qp, now_ns);
	uroce_core_wake_requests(core, qp);
	uroce_comp_settle(core, qp, now_ns);
	uroce_comp_check_drained(core, qp);
}

static uint32_t distance(const struct uroce_qp *qp, uint32_t psn)
{
	return (psn - qp->req.psn_una) & UROCE_PSN_MASK;
}

static bool is_open_read(const struct uroce_qp *qp, uint32_t index)
{
	return uroce_wr_kind(uroce_qp_send_wqe(qp, index)->opcode)->answered &&
		uroce_qp_send_state(qp, index)->done_pkts < uroce_qp_send_state(qp, index)->pkts;
}

/*
 * Everything in the n PSNs from psn_una is acknowledged; completes what ends there. False: a
 * read or atomic in between is open, and psn_una now stands at its missing answer.
 */
static bool acknowledge(struct uroce_core *core, struct uroce_qp *qp, uint32_t n, uint64_t now_ns)
{
	struct uroce_req *req = &qp->req;
	uint32_t una = req->psn_una;
	bool whole = true;

	if (req->probe != UROCE_PROBE_NONE && n > 0) {
		req->probe = UROCE_PROBE_NONE;
		req->psn_una = uroce_psn_add(req->psn_una, 1);
		n--;
	}
	while (n > 0 && req->head != req->tail) {
		const struct uroce_send_state *state = uroce_qp_send_state(qp, req->head);
		uint32_t left = (state->psn_first + state->pkts - req->psn_una) & UROCE_PSN_MASK;

		if (is_open_read(qp, req->head)) {
			whole = false;
			break;
		}
		if (n < left) {
			req->psn_una = uroce_psn_add(req->psn_una, n);
			break;
		}
		req->psn_una = uroce_psn_add(req->psn_una, left);
		n -= left;
		finish_head(core, qp, UROCE_STATUS_SUCCESS, 0);
	}
	if (req->psn_una != una)
		note_progress(core, qp, now_ns);
	return whole;
}

void uroce_comp_sent_unreliably(struct uroce_core *core, struct uroce_qp *qp, uint64_t now_ns)
{
	struct uroce_req *req = &qp->req;

	req->psn_una = req->psn_high;
	while (req->head != req->at)
		finish_head(core, qp, UROCE_STATUS_SUCCESS, 0);
	uroce_comp_settle(core, qp, now_ns);
	uroce_comp_check_drained(core, qp);
}

/* ---- retrying ---- */

/* Goes back to psn_una if there is a retry left, else ends the connection. */
static void retry(struct uroce_core *core, struct uroce_qp *qp, enum uroce_cause cause,
	uint32_t detail, uint64_t now_ns)
{
	if (qp->comp.retries_left == 0) {
		uroce_count(core, retry_exceeded_err);
		fail_head(core, qp, cause, UROCE_STATUS_RETRY_EXC_ERR, detail, now_ns);
		return;
	}
	qp->comp.retries_left--;
	uroce_req_rewind(core, qp, now_ns);
	restart_ack_timer(core, qp, now_ns);
}

static enum uroce_drop imply_nak(struct uroce_core *core, struct uroce_qp *qp, uint64_t now_ns)
{
	if (!uroce_qp_sends(qp) || qp->comp.gap_open)
		return UROCE_DROP_RESPONSE_GAP;
	qp->comp.gap_open = true;
	qp->report.sequence_naks++;
	uroce_count(core, implied_nak_seq_err);
	retry(core, qp, UROCE_CAUSE_SEQUENCE, qp->report.sequence_naks, now_ns);
	return UROCE_DROP_RESPONSE_GAP;
}

/* Nothing was outstanding for a while. */
static void keep_alive(struct uroce_core *core, struct uroce_qp *qp, uint64_t now_ns)
{
	uint64_t heard_ns = qp->report.heard ? qp->report.heard_ns : 0;

	if (heard_ns + qp->attr.keepalive_ms * NS_PER_MS > now_ns)
		arm_keepalive(core, qp, heard_ns);
	else if (!uroce_req_probe(core, qp))
		arm_keepalive(core, qp, now_ns);
}

void uroce_comp_expire(struct uroce_core *core, struct uroce_qp *qp, uint64_t now_ns)
{
	uroce_trace_push(&core->trace, now_ns, UROCE_TRACE_TIMER, qp->qpn, qp->req.psn_una,
		qp->comp.retries_left, qp->comp.timer_use);
	switch (qp->comp.timer_use) {
	case UROCE_TIMER_ACK:
		uroce_count(core, local_ack_timeout_err);
		qp->report.timeouts++;
		retry(core, qp, UROCE_CAUSE_TIMEOUT, qp->report.timeouts, now_ns);
		break;
	case UROCE_TIMER_RNR:
		uroce_req_rewind(core, qp, now_ns);
		restart_ack_timer(core, qp, now_ns);
		break;
	case UROCE_TIMER_PATH:
		if (qp->caps.type == UROCE_QP_UD) {
			qp->req.path_waits++;
			uroce_core_wake_requests(core, qp);
		} else {
			fail_head(
				core, qp, UROCE_CAUSE_PATH, UROCE_STATUS_RETRY_EXC_ERR, 0, now_ns);
		}
		break;
	case UROCE_TIMER_KEEPALIVE:
		keep_alive(core, qp, now_ns);
		break;
	}
}

/* ---- answers ---- */

static void take_rnr_nak(
	struct uroce_core *core, struct uroce_qp *qp, uint8_t code, uint64_t now_ns)
{
	uroce_count(core, rnr_nak_received);
	if (qp->req.waiting) /* the same one again: nothing was sent since */
		return;
	qp->report.rnr_naks++;
	if (qp->comp.rnr_left == 0) {
		uroce_count(core, rnr_nak_retry_err);
		fail_head(core, qp, UROCE_CAUSE_RNR, UROCE_STATUS_RNR_RETRY_EXC_ERR,
			qp->report.rnr_naks, now_ns);
		return;
	}
	if (qp->comp.rnr_left != UROCE_RNR_RETRY_INFINITE)
		qp->comp.rnr_left--;
	qp->req.waiting = true;
	arm(core, qp, UROCE_TIMER_RNR, now_ns + uroce_rnr_timer_ns(code));
}

static enum uroce_drop take_nak(
	struct uroce_core *core, struct uroce_qp *qp, uint8_t syndrome, uint64_t now_ns)
{
	enum uroce_status status;

	switch (syndrome) {
	case UROCE_SYNDROME_NAK_PSN_SEQUENCE:
		uroce_count(core, packet_seq_err);
		qp->report.sequence_naks++;
		if (!qp->req.waiting && !uroce_req_is_rewound(qp))
			retry(core, qp, UROCE_CAUSE_SEQUENCE, qp->report.sequence_naks, now_ns);
		return UROCE_ACCEPTED;
	case UROCE_SYNDROME_NAK_INVALID_REQUEST:
		uroce_count(core, req_remote_invalid_request);
		status = UROCE_STATUS_REM_INV_REQ_ERR;
		break;
	case UROCE_SYNDROME_NAK_REMOTE_ACCESS:
		uroce_count(core, req_remote_access_errors);
		status = UROCE_STATUS_REM_ACCESS_ERR;
		break;
	case UROCE_SYNDROME_NAK_REMOTE_OPERATIONAL:
		uroce_count(core, req_remote_operational_errors);
		status = UROCE_STATUS_REM_OP_ERR;
		break;
	default:
		return UROCE_DROP_RESPONSE_BAD;
	}
	fail_head(core, qp, UROCE_CAUSE_NAK, status, syndrome, now_ns);
	return UROCE_ACCEPTED;
}

/* ACK, RNR NAK and NAK (InfiniBand 9.7.5.2). n: distance of the PSN from psn_una. */
static enum uroce_drop take_ack(struct uroce_core *core, struct uroce_qp *qp,
	const struct uroce_pkt *pkt, uint32_t n, uint64_t now_ns)
{
	uint8_t syndrome = uroce_pkt_aeth(pkt)[UROCE_AETH_SYNDROME];
	uint8_t kind = syndrome & UROCE_SYNDROME_KIND_MASK;

	if (kind == UROCE_SYNDROME_ACK) {
		/* The credit count does not matter: without credits a receiver says RNR. */
		if (!acknowledge(core, qp, n + 1, now_ns))
			return imply_nak(core, qp, now_ns);
		return UROCE_ACCEPTED;
	}
	if (kind != UROCE_SYNDROME_RNR && kind != UROCE_SYNDROME_NAK)
		return UROCE_DROP_RESPONSE_BAD;
	qp->report.last_syndrome = syndrome;
	qp->report.last_syndrome_valid = true;
	/* A NAK acknowledges what is before it. */
	if (!acknowledge(core, qp, n, now_ns))
		return imply_nak(core, qp, now_ns);
	if (!uroce_qp_sends(qp) ||
		(qp->req.head == qp->req.tail && qp->req.probe == UROCE_PROBE_NONE))
		return UROCE_ACCEPTED;
	if (kind == UROCE_SYNDROME_NAK)
		return take_nak(core, qp, syndrome, now_ns);
	take_rnr_nak(core, qp, syndrome & UROCE_SYNDROME_VALUE_MASK, now_ns);
	return UROCE_ACCEPTED;
}

/* The work request that PSN psn_una + n belongs to; it is known to be outstanding. */
static uint32_t find_wr(const struct uroce_qp *qp, uint32_t n)
{
	uint32_t index = qp->req.head;

	for (; index != qp->req.tail; index++) {
		const struct uroce_send_state *state = uroce_qp_send_state(qp, index);

		if (n < distance(qp, uroce_psn_add(state->psn_first, state->pkts)))
			break;
	}
	return index;
}

static enum uroce_drop bad_response(
	struct uroce_core *core, struct uroce_qp *qp, const struct uroce_pkt *pkt, uint64_t now_ns)
{
	fail_head(core, qp, UROCE_CAUSE_BAD_RESPONSE, UROCE_STATUS_BAD_RESP_ERR, pkt->op->number,
		now_ns);
	return UROCE_DROP_RESPONSE_BAD;
}

/* Whether opcode and length are what answer `at` of a read has to look like. */
static bool read_response_fits(const struct uroce_qp *qp, const struct uroce_pkt *pkt,
	const struct uroce_send_wqe *wqe, uint32_t pkts, uint32_t at)
{
	uint32_t mtu = qp->attr.path_mtu_bytes;
	bool begins = at == 0 || uroce_req_read_ends(qp, pkts, at - 1);
	uint32_t want = at + 1 == pkts ? wqe->bytes - at * mtu : mtu;

	if (pkt->payload_bytes != want || pkt->pad_bytes != (-want & UROCE_BTH_PAD_MASK) ||
		pkt->op->last != uroce_req_read_ends(qp, pkts, at))
		return false;
	/* After a retry the peer may answer as to a new request, or go on as in the old one. */
	return qp->comp.reasked || pkt->op->first == begins;
}

/* Payload of a read or atomic answer to local memory. */
static enum uroce_mr_verdict place(const struct uroce_core *core, const struct uroce_qp *qp,
	struct uroce_send_wqe *wqe, uint64_t offset, const uint8_t *from, uint32_t bytes, bool last)
{
	struct uroce_sge_list list = {.mrs = core->mrs,
		.segs = uroce_send_wqe_segs(wqe),
		.num_segs = wqe->num_segs,
		.pd = qp->pd};

	return bytes == 0 ? UROCE_MR_OK : uroce_sge_scatter(&list, offset, from, bytes, last);
}

/* One answer of the read or atomic at the head was placed. */
static void advance_read(struct uroce_core *core, struct uroce_qp *qp, uint64_t now_ns)
{
	struct uroce_req *req = &qp->req;
	struct uroce_send_state *state = uroce_qp_send_state(qp, req->head);

	req->reads_out -= uroce_req_reads_of(qp, req->head);
	state->done_pkts++;
	req->reads_out += uroce_req_reads_of(qp, req->head);
	req->psn_una = uroce_psn_add(req->psn_una, 1);
	if (state->done_pkts == state->pkts)
		finish_head(core, qp, UROCE_STATUS_SUCCESS, 0);
	note_progress(core, qp, now_ns);
}

/* Whether a packet looks as answer `at` of this work request has to. */
static bool answer_fits(const struct uroce_qp *qp, const struct uroce_pkt *pkt,
	const struct uroce_send_wqe *wqe, uint32_t pkts, uint32_t at)
{
	/* Data comes with good news or none. */
	if (pkt->op->aeth &&
		(uroce_pkt_aeth(pkt)[UROCE_AETH_SYNDROME] & UROCE_SYNDROME_KIND_MASK) !=
			UROCE_SYNDROME_ACK)
		return false;
	if (pkt->op->kind == UROCE_OP_ATOMIC_ACK)
		return pkt->payload_bytes == 0;
	/* A FLUSH or ATOMIC WRITE is answered like a read of nothing (annex A19). */
	if (!uroce_wr_kind(wqe->opcode)->reads)
		return pkt->payload_bytes == 0 && pkt->op->first && pkt->op->last;
	return read_response_fits(qp, pkt, wqe, pkts, at);
}

/* Puts the data of answer `at` where the work request wants it. */
static enum uroce_mr_verdict place_answer(const struct uroce_core *core, const struct uroce_qp *qp,
	const struct uroce_pkt *pkt, struct uroce_send_wqe *wqe, uint32_t pkts, uint32_t at)
{
	const struct uroce_wr_kind *kind = uroce_wr_kind(wqe->opcode);
	uint64_t original;

	if (kind->reads)
		return place(core, qp, wqe, (uint64_t)at * qp->attr.path_mtu_bytes, pkt->payload,
			pkt->payload_bytes, at + 1 == pkts);
	if (!kind->atomic)
		return UROCE_MR_OK;
	/* A number on the wire, a number in memory. */
	original = uroce_load_be64(uroce_pkt_atomicacketh(pkt));
	return place(core, qp, wqe, 0, (const uint8_t *)&original, sizeof(original), true);
}

/* Read responses and atomic acknowledgements (InfiniBand 9.7.5.1.4 to 9.7.5.1.6). */
static enum uroce_drop take_data(struct uroce_core *core, struct uroce_qp *qp,
	const struct uroce_pkt *pkt, uint32_t n, uint64_t now_ns)
{
	uint32_t index = find_wr(qp, n);
	struct uroce_send_wqe *wqe = uroce_qp_send_wqe(qp, index);
	struct uroce_send_state *state = uroce_qp_send_state(qp, index);
	const struct uroce_wr_kind *kind = uroce_wr_kind(wqe->opcode);
	uint32_t at = (pkt->psn - state->psn_first) & UROCE_PSN_MASK;
	enum uroce_mr_verdict verdict;

	/* A probe is a WRITE. */
	if (n == 0 && qp->req.probe != UROCE_PROBE_NONE)
		return bad_response(core, qp, pkt, now_ns);
	if (!kind->answered || (pkt->op->kind == UROCE_OP_ATOMIC_ACK) != kind->atomic)
		return bad_response(core, qp, pkt, now_ns);
	/* An answer acknowledges all work requests before its own. */
	if (!acknowledge(core, qp, n - (at - state->done_pkts), now_ns) || qp->req.head != index ||
		at > state->done_pkts)
		return imply_nak(core, qp, now_ns);
	if (!answer_fits(qp, pkt, wqe, state->pkts, at))
		return bad_response(core, qp, pkt, now_ns);
	verdict = place_answer(core, qp, pkt, wqe, state->pkts, at);
	if (verdict != UROCE_MR_OK) {
		fail_head(core, qp, UROCE_CAUSE_LOCAL_MEMORY, UROCE_STATUS_LOC_PROT_ERR, verdict,
			now_ns);
		return UROCE_DROP_RESPONSE_UNPLACED;
	}
	uroce_count_add(core, rx_payload_bytes, pkt->payload_bytes);
	advance_read(core, qp, now_ns);
	return UROCE_ACCEPTED;
}

enum uroce_drop uroce_comp_rx(
	struct uroce_core *core, struct uroce_qp *qp, const struct uroce_pkt *pkt, uint64_t now_ns)
{
	uint32_t n = distance(qp, pkt->psn);
	uint32_t outstanding = distance(qp, qp->req.psn_high);

	if (!uroce_qp_sends(qp))
		return UROCE_DROP_QP_STATE;
	if (n >= outstanding) {
		/* Behind: an old answer again. Ahead: to something that was never sent. */
		if (uroce_psn_before(pkt->psn, qp->req.psn_una))
			return UROCE_ACCEPTED;
		return UROCE_DROP_GHOST_RESPONSE;
	}
	if (pkt->op->kind == UROCE_OP_ACK && pkt->payload_bytes != 0)
		return UROCE_DROP_RESPONSE_BAD;
	if (pkt->op->kind == UROCE_OP_ACK)
		return take_ack(core, qp, pkt, n, now_ns);
	return take_data(core, qp, pkt, n, now_ns);
}
