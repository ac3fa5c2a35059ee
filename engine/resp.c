/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The responder.
 *
 * Straight-line checks in the order of the standard's clauses; nothing of the application's
 * memory changes before all of them have passed. What is owed leaves in PSN order: read and atomic
 * answers first, then one ACK or NAK that covers all before it. An ACK that the peer did not
 * ask for waits until nothing more comes in, or enough have gathered.
 * Does not know how reads are answered; that is resp_read's.
 */
#include "resp.h"

#include "build.h"
#include "cc.h"
#include "resp_read.h"
#include "sge.h"

enum {
	ACK_EVERY_PKTS = 16
};

void uroce_resp_reset(struct uroce_core *core, struct uroce_qp *qp)
{
	uroce_resp_stop(core, qp);
	qp->resp.epsn = qp->attr.rq_psn;
	qp->resp.msn = 0;
	qp->resp.nak_sent = false;
}

/* ---- owing ---- */

static void leave_idle_list(struct uroce_core *core, struct uroce_qp *qp)
{
	struct uroce_qp **link = &core->idle_acks;

	if (!qp->resp.idle_listed)
		return;
	while (*link != qp)
		link = &(*link)->resp.idle_next;
	*link = qp->resp.idle_next;
	qp->resp.idle_listed = false;
}

void uroce_resp_stop(struct uroce_core *core, struct uroce_qp *qp)
{
	struct uroce_resp *resp = &qp->resp;

	leave_idle_list(core, qp);
	uroce_resp_read_reset(qp);
	resp->in_message = false;
	resp->owed = UROCE_OWED_NOTHING;
	resp->owed_now = false;
	resp->unacked_pkts = 0;
	qp->cc.cnp_owed = false;
}

/* An ACK of what is executed is owed: now, or when idle. A NAK that waits says that too. */
static void owe_ack(struct uroce_core *core, struct uroce_qp *qp, bool now)
{
	struct uroce_resp *resp = &qp->resp;

	if (resp->owed == UROCE_OWED_NOTHING)
		resp->owed = UROCE_OWED_ACK;
	if (now || resp->unacked_pkts >= ACK_EVERY_PKTS)
		resp->owed_now = true;
	if (resp->owed_now) {
		uroce_core_wake_responses(core, qp);
	} else if (!resp->idle_listed) {
		resp->idle_listed = true;
		resp->idle_next = core->idle_acks;
		core->idle_acks = qp;
	}
}

static void owe_nak(struct uroce_core *core, struct uroce_qp *qp, uint8_t syndrome, uint32_t psn)
{
	struct uroce_resp *resp = &qp->resp;

	resp->owed = UROCE_OWED_NAK;
	resp->owed_syndrome = syndrome;
	resp->nak_psn = psn;
	resp->owed_now = true;
	resp->nak_sent = true;
	uroce_core_wake_responses(core, qp);
}

/* What is owed already comes first: whoever still waits asks again. It is no complaint of a gap. */
void uroce_resp_nak_repeat(struct uroce_core *core, struct uroce_qp *qp, uint32_t psn)
{
	bool sent = qp->resp.nak_sent;

	if (qp->resp.owed != UROCE_OWED_NOTHING)
		return;
	uroce_count(core, nak_sent);
	owe_nak(core, qp, UROCE_SYNDROME_NAK_REMOTE_ACCESS, psn);
	qp->resp.nak_sent = sent;
}

void uroce_resp_idle(struct uroce_core *core)
{
	struct uroce_qp *qp = core->idle_acks;

	core->idle_acks = NULL;
	for (; qp; qp = qp->resp.idle_next) {
		qp->resp.idle_listed = false;
		if (qp->resp.owed == UROCE_OWED_NOTHING)
			continue;
		qp->resp.owed_now = true;
		uroce_core_wake_responses(core, qp);
	}
}

/* ---- refusing ---- */

struct uroce_refused uroce_refused_invalid(enum uroce_refusal refusal, uint32_t got, uint32_t want)
{
	return (struct uroce_refused){UROCE_SYNDROME_NAK_INVALID_REQUEST, refusal, got, want,
		UROCE_STATUS_REM_INV_REQ_ERR};
}

struct uroce_refused uroce_refused_access(uint32_t verdict)
{
	return (struct uroce_refused){UROCE_SYNDROME_NAK_REMOTE_ACCESS, UROCE_REFUSAL_KEY, verdict,
		0, UROCE_STATUS_REM_ACCESS_ERR};
}

static void count_refusal(struct uroce_core *core, const struct uroce_refused *why)
{
	uroce_count(core, nak_sent);
	if (why->syndrome == UROCE_SYNDROME_NAK_REMOTE_ACCESS)
		uroce_count(core, resp_remote_access_errors);
	if (why->syndrome == UROCE_SYNDROME_NAK_INVALID_REQUEST)
		uroce_count(core, resp_remote_invalid_request);
	if (why->refusal == UROCE_REFUSAL_RECV_SHORT)
		uroce_count(core, resp_local_length_error);
}

/* The receive that the refused request held ends with it; without one, an event tells. */
static void end_refused(struct uroce_core *core, struct uroce_qp *qp,
	const struct uroce_refused *why, bool holds_recv)
{
	if (holds_recv)
		uroce_qp_complete_recv(core, qp,
			&(struct uroce_cqe){.status = why->recv_status,
				.opcode = UROCE_WC_RECV,
				.vendor_err = why->syndrome});
	else
		uroce_qp_notify(core, qp,
			why->syndrome == UROCE_SYNDROME_NAK_REMOTE_ACCESS
				? UROCE_EVENT_QP_ACCESS_ERR
				: UROCE_EVENT_QP_REQ_ERR);
}

enum uroce_drop uroce_resp_refuse(struct uroce_core *core, struct uroce_qp *qp, uint32_t psn,
	const struct uroce_refused *why, uint64_t now_ns)
{
	/* A read found bad while it is answered holds no receive; a message behind it may. */
	bool holds_recv = qp->resp.has_recv && psn == qp->resp.epsn;

	uroce_trace_push(
		&core->trace, now_ns, UROCE_TRACE_NAK, qp->qpn, psn, why->syndrome, why->refusal);
	owe_nak(core, qp, why->syndrome, psn);
	/* In ERR an earlier read may still turn out bad: the peer is told, nobody else again. */
	if (qp->state == UROCE_QP_ERR)
		return UROCE_DROP_REQUEST_REFUSED;
	count_refusal(core, why);
	if (qp->report.cause == UROCE_CAUSE_NONE) {
		qp->report.refusal = why->refusal;
		qp->report.refusal_got = why->got;
		qp->report.refusal_want = why->want;
	}
	uroce_qp_blame(qp,
		why->refusal == UROCE_REFUSAL_RECV_SHORT ? UROCE_CAUSE_RECV_TOO_SHORT
							 : UROCE_CAUSE_REQUEST_REFUSED,
		why->recv_status, why->syndrome, psn, now_ns);
	end_refused(core, qp, why, holds_recv);
	uroce_qp_enter_error(core, qp, now_ns);
	return UROCE_DROP_REQUEST_REFUSED;
}

/*
 * Without acknowledgements there is nobody to tell: the message is over (InfiniBand 9.8.2.2). The
 * receive that it held waits for the next message; one of a shared queue, which may be wanted
 * elsewhere, ends in error.
 */
static void break_message(struct uroce_core *core, struct uroce_qp *qp)
{
	qp->resp.in_message = false;
	if (qp->srq && qp->resp.has_recv)
		uroce_qp_fail_recv(core, qp, UROCE_STATUS_REM_INV_REQ_ERR);
}

/* A UC message that cannot be executed is dropped; a receive that cannot be used is an error. */
static enum uroce_drop refuse_unreliable(struct uroce_core *core, struct uroce_qp *qp,
	const struct uroce_refused *why, uint32_t psn, uint64_t now_ns)
{
	if (why->refusal == UROCE_REFUSAL_RECV_BAD)
		return uroce_qp_bad_recv(core, qp, why->recv_status, why->got, psn, now_ns);
	break_message(core, qp);
	return UROCE_DROP_MESSAGE_REFUSED;
}

static enum uroce_drop refuse(
	struct uroce_core *core, struct uroce_qp *qp, struct uroce_refused why, uint64_t now_ns)
{
	if (!uroce_qp_is_reliable(qp))
		return refuse_unreliable(core, qp, &why, qp->resp.epsn, now_ns);
	return uroce_resp_refuse(core, qp, qp->resp.epsn, &why, now_ns);
}

/* ---- checks, in the standard's order; REFUSAL_NONE passes ---- */

/* FIRST, MIDDLE and LAST follow each other (C9-92 ff.). */
static bool sequence_is_right(const struct uroce_resp *resp, const struct uroce_opcode *op)
{
	if (op->first)
		return !resp->in_message;
	return resp->in_message && resp->message_kind == op->kind;
}

static bool is_allowed(const struct uroce_qp *qp, const struct uroce_opcode *op)
{
	switch (op->kind) {
	case UROCE_OP_WRITE:
	case UROCE_OP_ATOMIC_WRITE:
		return qp->attr.access & UROCE_ACCESS_REMOTE_WRITE;
	case UROCE_OP_FLUSH:
		return qp->attr.access & UROCE_ACCESS_FLUSH_GLOBAL;
	case UROCE_OP_READ:
		return qp->attr.access & UROCE_ACCESS_REMOTE_READ;
	case UROCE_OP_COMPARE_SWAP:
	case UROCE_OP_FETCH_ADD:
		return qp->attr.access & UROCE_ACCESS_REMOTE_ATOMIC;
	case UROCE_OP_SEND:
		return true;
	case UROCE_OP_NONE:
	case UROCE_OP_READ_RESPONSE:
	case UROCE_OP_ACK:
	case UROCE_OP_ATOMIC_ACK:
	case UROCE_OP_CNP:
		break;
	}
	return false;
}

/* Payload against path MTU and pad (C9-93 ff.): FIRST and MIDDLE are one MTU, LAST is not empty. */
static struct uroce_refused check_length(const struct uroce_qp *qp, const struct uroce_pkt *pkt)
{
	uint32_t mtu = qp->attr.path_mtu_bytes;
	uint32_t bytes = pkt->payload_bytes;

	if ((bytes + pkt->pad_bytes) & UROCE_BTH_PAD_MASK)
		return uroce_refused_invalid(
			UROCE_REFUSAL_PAD, pkt->pad_bytes, -bytes & UROCE_BTH_PAD_MASK);
	if (!pkt->op->last && bytes != mtu)
		return uroce_refused_invalid(UROCE_REFUSAL_MTU, bytes, mtu);
	if (bytes > mtu)
		return uroce_refused_invalid(UROCE_REFUSAL_MTU, bytes, mtu);
	if (!pkt->op->first && bytes == 0)
		return uroce_refused_invalid(UROCE_REFUSAL_LENGTH, 0, 1);
	return uroce_refused_invalid(UROCE_REFUSAL_NONE, 0, 0);
}

/* ---- execution ---- */

/* The packet is executed; what it changes in the order of things. */
static void step(struct uroce_core *core, struct uroce_qp *qp, const struct uroce_pkt *pkt)
{
	struct uroce_resp *resp = &qp->resp;

	resp->epsn = uroce_psn_add(resp->epsn, 1);
	resp->nak_sent = false;
	/* A NAK for a gap that this packet has just filled is no longer true. */
	if (resp->owed == UROCE_OWED_NAK)
		resp->owed = UROCE_OWED_NOTHING;
	resp->in_message = !pkt->op->last;
	resp->message_kind = (uint8_t)pkt->op->kind;
	resp->message_bytes += pkt->payload_bytes;
	resp->unacked_pkts++;
	if (pkt->op->last) {
		resp->msn = uroce_psn_add(resp->msn, 1);
		uroce_count(core, messages_received);
	}
	uroce_count_add(core, rx_payload_bytes, pkt->payload_bytes);
	if (uroce_qp_is_reliable(qp))
		owe_ack(core, qp, pkt->ackreq);
}

/* No receive is posted: the peer shall come back (C9-103). The state stays as it was. */
static enum uroce_drop refuse_rnr(struct uroce_core *core, struct uroce_qp *qp)
{
	if (!uroce_qp_is_reliable(qp)) {
		break_message(core, qp);
		return UROCE_DROP_NO_RECV;
	}
	uroce_count(core, rnr_nak_sent);
	owe_nak(core, qp, (uint8_t)(UROCE_SYNDROME_RNR | qp->attr.min_rnr_timer), qp->resp.epsn);
	return UROCE_DROP_RNR;
}

static struct uroce_refused refused_recv(enum uroce_mr_verdict verdict, bool malformed)
{
	return (struct uroce_refused){UROCE_SYNDROME_NAK_REMOTE_OPERATIONAL, UROCE_REFUSAL_RECV_BAD,
		verdict, 0, malformed ? UROCE_STATUS_LOC_QP_OP_ERR : UROCE_STATUS_LOC_PROT_ERR};
}

static void complete_message(struct uroce_core *core, struct uroce_qp *qp,
	const struct uroce_pkt *pkt, uint32_t wc_opcode)
{
	struct uroce_cqe cqe = {
		.opcode = wc_opcode, .bytes = qp->resp.message_bytes, .solicited = pkt->solicited};

	if (pkt->op->immdt) {
		cqe.imm = uroce_pkt_imm(pkt);
		cqe.flags = UROCE_WC_WITH_IMM;
	}
	if (pkt->op->ieth) {
		cqe.imm = uroce_pkt_ieth(pkt);
		cqe.flags = UROCE_WC_WITH_INV;
	}
	uroce_qp_complete_recv(core, qp, &cqe);
}

/*
 * SEND with invalidate against a key that may not be invalidated (C9-92.1.1, error class J): no
 * NAK code says it; the receive ends in error and the queue pair with it.
 */
static enum uroce_drop refuse_invalidate(
	struct uroce_core *core, struct uroce_qp *qp, const struct uroce_pkt *pkt, uint64_t now_ns)
{
	uroce_qp_blame(qp, UROCE_CAUSE_INVALIDATE, UROCE_STATUS_REM_INV_REQ_ERR,
		uroce_pkt_ieth(pkt), pkt->psn, now_ns);
	uroce_resp_stop(core, qp);
	uroce_qp_fail_recv(core, qp, UROCE_STATUS_REM_INV_REQ_ERR);
	uroce_qp_enter_error(core, qp, now_ns);
	return UROCE_DROP_REQUEST_REFUSED;
}

/* Invalidates the packet's key; check: only whether it could. */
static bool may_invalidate(const struct uroce_core *core, const struct uroce_qp *qp,
	const struct uroce_pkt *pkt, bool check)
{
	return uroce_mr_invalidate(core->mrs, qp->pd, qp->qpn, uroce_pkt_ieth(pkt), check) ==
		UROCE_MR_OK;
}

static enum uroce_drop rx_send(
	struct uroce_core *core, struct uroce_qp *qp, const struct uroce_pkt *pkt, uint64_t now_ns)
{
	struct uroce_resp *resp = &qp->resp;
	struct uroce_sge_list list = {.mrs = core->mrs, .pd = qp->pd};
	enum uroce_mr_verdict verdict = UROCE_MR_OK;

	if (pkt->op->first) {
		if (!uroce_qp_take_recv(core, qp))
			return refuse_rnr(core, qp);
		resp->message_bytes = 0;
	}
	list.segs = uroce_recv_wqe_segs(qp->recv);
	list.num_segs = qp->recv->num_segs;
	if (list.num_segs > qp->caps.max_recv_sge)
		return refuse(core, qp, refused_recv(UROCE_MR_RANGE, true), now_ns);
	if (pkt->payload_bytes > qp->recv->bytes - resp->message_bytes)
		return refuse(core, qp,
			(struct uroce_refused){UROCE_SYNDROME_NAK_INVALID_REQUEST,
				UROCE_REFUSAL_RECV_SHORT, resp->message_bytes + pkt->payload_bytes,
				qp->recv->bytes, UROCE_STATUS_LOC_LEN_ERR},
			now_ns);
	if (pkt->op->ieth && !may_invalidate(core, qp, pkt, true))
		return refuse_invalidate(core, qp, pkt, now_ns);
	if (pkt->payload_bytes > 0)
		verdict = uroce_sge_scatter(&list, resp->message_bytes, pkt->payload,
			pkt->payload_bytes, pkt->op->last);
	if (verdict != UROCE_MR_OK)
		return refuse(core, qp, refused_recv(verdict, false), now_ns);
	/* Another core may have been quicker. */
	if (pkt->op->ieth && !may_invalidate(core, qp, pkt, false))
		return refuse_invalidate(core, qp, pkt, now_ns);
	step(core, qp, pkt);
	if (pkt->op->last)
		complete_message(core, qp, pkt, UROCE_WC_RECV);
	return UROCE_ACCEPTED;
}

/* The RETH of a write's first packet against its own payload (C9-97 ff.). */
static struct uroce_refused check_reth(const struct uroce_qp *qp, const struct uroce_pkt *pkt)
{
	uint32_t dma_len = uroce_load_be32(uroce_pkt_reth(pkt) + UROCE_RETH_DMALEN);

	if (dma_len > UROCE_MESSAGE_BYTES_MAX)
		return uroce_refused_invalid(
			UROCE_REFUSAL_TOO_LONG, dma_len, UROCE_MESSAGE_BYTES_MAX);
	if (pkt->op->last ? dma_len != pkt->payload_bytes : dma_len <= qp->attr.path_mtu_bytes)
		return uroce_refused_invalid(UROCE_REFUSAL_LENGTH, pkt->payload_bytes, dma_len);
	return uroce_refused_invalid(UROCE_REFUSAL_NONE, 0, 0);
}

/* Where the payload of this packet goes; what the write still expects after it must be there. */
static struct uroce_refused check_write(
	struct uroce_core *core, struct uroce_qp *qp, const struct uroce_pkt *pkt, uint8_t **ptr)
{
	struct uroce_resp *resp = &qp->resp;
	uint32_t left = resp->write_left_bytes;
	enum uroce_mr_verdict verdict = UROCE_MR_OK;

	if (pkt->op->last ? left != pkt->payload_bytes : left <= pkt->payload_bytes)
		return uroce_refused_invalid(UROCE_REFUSAL_LENGTH, pkt->payload_bytes, left);
	/* The first packet asks for the whole range; later ones whether it is still there. */
	if (left > 0)
		verdict = uroce_mr_resolve_for(core->mrs, qp->pd, qp->qpn, resp->write_rkey,
			resp->write_va, left, UROCE_ACCESS_REMOTE_WRITE, ptr);
	if (verdict != UROCE_MR_OK)
		return uroce_refused_access(verdict);
	return uroce_refused_invalid(UROCE_REFUSAL_NONE, 0, 0);
}

static enum uroce_drop rx_write(
	struct uroce_core *core, struct uroce_qp *qp, const struct uroce_pkt *pkt, uint64_t now_ns)
{
	struct uroce_resp *resp = &qp->resp;
	const uint8_t *reth = uroce_pkt_reth(pkt);
	struct uroce_refused why;
	uint8_t *ptr = NULL;

	if (pkt->op->reth) {
		why = check_reth(qp, pkt);
		if (why.refusal != UROCE_REFUSAL_NONE)
			return refuse(core, qp, why, now_ns);
		resp->write_va = uroce_load_be64(reth + UROCE_RETH_VA);
		resp->write_rkey = uroce_load_be32(reth + UROCE_RETH_RKEY);
		resp->write_left_bytes = uroce_load_be32(reth + UROCE_RETH_DMALEN);
		resp->message_bytes = 0;
	}
	why = check_write(core, qp, pkt, &ptr);
	if (why.refusal != UROCE_REFUSAL_NONE)
		return refuse(core, qp, why, now_ns);
	if (pkt->op->takes_receive && !uroce_qp_take_recv(core, qp))
		return refuse_rnr(core, qp);
	if (pkt->payload_bytes > 0)
		uroce_place(ptr, pkt->payload, pkt->payload_bytes, pkt->op->last);
	resp->write_va += pkt->payload_bytes;
	resp->write_left_bytes -= pkt->payload_bytes;
	step(core, qp, pkt);
	if (pkt->op->takes_receive)
		complete_message(core, qp, pkt, UROCE_WC_RECV_RDMA_WITH_IMM);
	return UROCE_ACCEPTED;
}

/* ---- the order of PSNs ---- */

/* A request seen before: not executed again, but answered (C9-105 to C9-110). */
static enum uroce_drop rx_duplicate(
	struct uroce_core *core, struct uroce_qp *qp, const struct uroce_pkt *pkt)
{
	uroce_count(core, duplicate_request);
	if (pkt->op->kind != UROCE_OP_SEND && pkt->op->kind != UROCE_OP_WRITE)
		return uroce_resp_read_duplicate(core, qp, pkt);
	owe_ack(core, qp, true);
	return UROCE_ACCEPTED;
}

/* Something before this was lost: say so once per gap (C9-112 ff.). */
static enum uroce_drop rx_ahead(struct uroce_core *core, struct uroce_qp *qp)
{
	uroce_count(core, out_of_sequence);
	if (!qp->resp.nak_sent) {
		uroce_count(core, nak_sent);
		owe_nak(core, qp, UROCE_SYNDROME_NAK_PSN_SEQUENCE, qp->resp.epsn);
	}
	return UROCE_DROP_PSN_AHEAD;
}

static void establish(struct uroce_core *core, struct uroce_qp *qp)
{
	if (qp->comm_established)
		return;
	qp->comm_established = true;
	if (qp->state == UROCE_QP_RTR)
		uroce_qp_notify(core, qp, UROCE_EVENT_COMM_EST);
}

/*
 * Without acknowledgements a lost packet breaks its message, and nothing else: the next message
 * begins with a FIRST or ONLY, whatever its PSN (InfiniBand 9.8.2.2).
 */
static enum uroce_drop resynchronise(
	struct uroce_core *core, struct uroce_qp *qp, const struct uroce_pkt *pkt)
{
	struct uroce_resp *resp = &qp->resp;

	if (pkt->psn == resp->epsn && sequence_is_right(resp, pkt->op))
		return UROCE_ACCEPTED;
	break_message(core, qp);
	/* Its receive may have been the completion that its queue had no room for. */
	if (qp->state == UROCE_QP_ERR)
		return UROCE_DROP_QP_STATE;
	if (!pkt->op->first)
		return UROCE_DROP_MESSAGE_BROKEN;
	resp->epsn = pkt->psn;
	return UROCE_ACCEPTED;
}

/* Whether this is the packet to execute next. */
static enum uroce_drop check_order(
	struct uroce_core *core, struct uroce_qp *qp, const struct uroce_pkt *pkt, uint64_t now_ns)
{
	int32_t ahead = uroce_psn_diff(pkt->psn, qp->resp.epsn);

	if (ahead > 0)
		return rx_ahead(core, qp);
	if (!sequence_is_right(&qp->resp, pkt->op))
		return refuse(core, qp,
			uroce_refused_invalid(
				UROCE_REFUSAL_SEQUENCE, pkt->op->number, qp->resp.message_kind),
			now_ns);
	return UROCE_ACCEPTED;
}

enum uroce_drop uroce_resp_rx(
	struct uroce_core *core, struct uroce_qp *qp, const struct uroce_pkt *pkt, uint64_t now_ns)
{
	const struct uroce_opcode *op = pkt->op;
	struct uroce_refused why;
	enum uroce_drop drop;

	establish(core, qp);
	if (uroce_qp_is_reliable(qp) && uroce_psn_before(pkt->psn, qp->resp.epsn))
		return rx_duplicate(core, qp, pkt);
	drop = uroce_qp_is_reliable(qp) ? check_order(core, qp, pkt, now_ns)
					: resynchronise(core, qp, pkt);
	if (drop != UROCE_ACCEPTED)
		return drop;
	if (!is_allowed(qp, op))
		return refuse(core, qp,
			uroce_refused_invalid(UROCE_REFUSAL_NOT_ALLOWED, op->number, 0), now_ns);
	why = check_length(qp, pkt);
	if (why.refusal != UROCE_REFUSAL_NONE)
		return refuse(core, qp, why, now_ns);
	if (op->kind == UROCE_OP_SEND)
		return rx_send(core, qp, pkt, now_ns);
	if (op->kind == UROCE_OP_WRITE)
		return rx_write(core, qp, pkt, now_ns);
	return uroce_resp_read_rx(core, qp, pkt, now_ns);
}

/* ---- answers out ---- */

static uint32_t build_ack(struct uroce_core *core, struct uroce_qp *qp, struct uroce_slot *slot)
{
	struct uroce_resp *resp = &qp->resp;
	bool nak = resp->owed == UROCE_OWED_NAK;
	uint32_t psn = nak ? resp->nak_psn : uroce_resp_read_acked_psn(qp);
	uint8_t *p;

	p = uroce_build_start(qp, slot, (struct uroce_bth){.opcode = 0x11, .psn = psn});
	p = uroce_build_aeth(
		p, nak ? resp->owed_syndrome : UROCE_SYNDROME_ACK_NO_CREDITS, resp->msn);
	uroce_build_finish(core, slot, p, 0);
	if (!nak)
		uroce_count(core, tx_acks);
	resp->owed = UROCE_OWED_NOTHING;
	resp->owed_now = false;
	resp->unacked_pkts = 0;
	return slot->bytes;
}

uint32_t uroce_resp_build(
	struct uroce_core *core, struct uroce_qp *qp, struct uroce_slot *slot, uint64_t now_ns)
{
	if (!qp->path || !qp->path->resolved)
		return 0;
	if (qp->cc.cnp_owed)
		return uroce_cc_build_cnp(core, qp, slot);
	while (uroce_resp_read_owed(qp)) {
		uint32_t bytes;

		if (qp->cc.paced && !uroce_cc_may_send(core, qp, UROCE_FLOW_RESPONSES, now_ns))
			return 0;
		bytes = uroce_resp_read_build(core, qp, slot, now_ns);
		if (qp->cc.paced && bytes > 0)
			uroce_cc_sent(core, qp, UROCE_FLOW_RESPONSES, bytes, now_ns);
		if (bytes > 0)
			return bytes;
	}
	if (qp->resp.owed == UROCE_OWED_NOTHING || !qp->resp.owed_now)
		return 0;
	return build_ack(core, qp, slot);
}
