/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The requester.
 *
 * Its place is a cursor, (work request, packet of it). Going back moves the cursor; PSNs, once
 * given to a work request, stay. Packets leave while they fit the window behind the oldest
 * unanswered PSN. A read takes as many PSNs as it has answers; one longer than the window is
 * asked for in pieces of half a window, so that its answers cannot overrun a small device ring:
 * pieces begin at fixed places, so a retry asks for what the responder remembers.
 * Does not know what an answer looks like; that is the completer's.
 */
#include "req.h"

#include "build.h"
#include "cc.h"
#include "comp.h"
#include "dgram.h"
#include "local.h"
#include "sge.h"
#include "wr.h"

enum {
	ACKREQ_EVERY_PKTS = 32
};

void uroce_req_reset(struct uroce_qp *qp)
{
	uint32_t posted = uroce_ring_tail(&qp->send_ring);

	qp->req = (struct uroce_req){.head = posted, .at = posted, .tail = posted};
	qp->req.psn_next = qp->req.psn_una = qp->req.psn_high = qp->attr.sq_psn;
}

/* ---- from the shared ring to the private queue ---- */

/* Sets wqe->bytes from what is really there; false for what cannot be carried out. */
static bool check_wqe(const struct uroce_qp *qp, struct uroce_send_wqe *wqe)
{
	const struct uroce_wr_kind *kind = uroce_wr_kind(wqe->opcode);
	const struct uroce_seg *segs = uroce_send_wqe_segs(wqe);
	uint32_t most =
		qp->caps.type == UROCE_QP_UD ? qp->core->conf.mtu_bytes : UROCE_MESSAGE_BYTES_MAX;
	uint64_t bytes = 0;

	if (!uroce_wr_is_for(kind, qp->caps.type))
		return false;
	if (kind->bare)
		return wqe->num_segs == 0 && !(wqe->flags & UROCE_SEND_INLINE);
	if (wqe->flags & UROCE_SEND_INLINE) {
		bytes = wqe->bytes;
	} else {
		for (uint32_t i = 0; i < wqe->num_segs; i++)
			bytes += segs[i].bytes;
	}
	if (bytes > most || ((wqe->flags & UROCE_SEND_INLINE) && !kind->has_payload))
		return false;
	if (kind->word && bytes != 8)
		return false;
	wqe->bytes = (uint32_t)bytes;
	return true;
}

/* Copies entry `index`, looking at its shared form once: the application may still write there. */
static void take_wqe(struct uroce_qp *qp, uint32_t index)
{
	const uint8_t *shared = uroce_ring_entry(&qp->send_ring, index);
	struct uroce_send_wqe *wqe = uroce_qp_send_wqe(qp, index);
	struct uroce_send_state *state = uroce_qp_send_state(qp, index);
	uint32_t tail_bytes;
	bool good;

	memcpy(wqe, shared, sizeof(*wqe));
	if (wqe->flags & UROCE_SEND_INLINE) {
		good = wqe->bytes <= qp->caps.max_inline_bytes;
		tail_bytes = wqe->bytes;
	} else {
		good = wqe->num_segs <= qp->caps.max_send_sge;
		tail_bytes = wqe->num_segs * (uint32_t)sizeof(struct uroce_seg);
	}
	if (good)
		memcpy(wqe + 1, shared + sizeof(*wqe), tail_bytes);
	good = good && check_wqe(qp, wqe);
	*state = (struct uroce_send_state){
		.status = good ? UROCE_STATUS_SUCCESS : UROCE_STATUS_LOC_QP_OP_ERR};
}

void uroce_req_pull(struct uroce_qp *qp)
{
	uint32_t fresh = uroce_ring_tail(&qp->send_ring) - qp->req.tail;
	uint32_t room = qp->send_ring.limit - (qp->req.tail - qp->req.head);

	/* A tail that cannot be is an application writing where it must not: take what fits. */
	if (fresh > room)
		fresh = room;
	for (; fresh > 0; fresh--)
		take_wqe(qp, qp->req.tail++);
}

/* ---- places ---- */

static uint32_t message_pkts(const struct uroce_qp *qp, const struct uroce_send_wqe *wqe)
{
	uint32_t mtu = qp->attr.path_mtu_bytes;

	/* A datagram is one packet; so is a FLUSH, however long what it flushes. */
	if (qp->caps.type == UROCE_QP_UD || uroce_wr_kind(wqe->opcode)->bare || wqe->bytes == 0)
		return 1;
	return (wqe->bytes - 1) / mtu + 1;
}

static uint32_t read_piece_pkts(const struct uroce_qp *qp, uint32_t pkts)
{
	uint32_t half = qp->caps.window_pkts / 2;

	if (pkts <= qp->caps.window_pkts)
		return pkts;
	return half ? half : 1;
}

bool uroce_req_read_ends(const struct uroce_qp *qp, uint32_t pkts, uint32_t pkt)
{
	return pkt + 1 == pkts || (pkt + 1) % read_piece_pkts(qp, pkts) == 0;
}

uint32_t uroce_req_reads_of(const struct uroce_qp *qp, uint32_t index)
{
	const struct uroce_send_wqe *wqe = uroce_qp_send_wqe(qp, index);
	const struct uroce_send_state *state = uroce_qp_send_state(qp, index);
	uint32_t asked, piece;

	if (!uroce_wr_kind(wqe->opcode)->answered || state->pkts == 0)
		return 0;
	asked = index == qp->req.at ? qp->req.at_pkt : state->pkts;
	/* Not reached by the cursor (again) yet. */
	if ((int32_t)(index - qp->req.at) > 0 || asked <= state->done_pkts)
		return 0;
	piece = read_piece_pkts(qp, state->pkts);
	return (asked - 1) / piece - state->done_pkts / piece + 1;
}

bool uroce_req_is_rewound(const struct uroce_qp *qp)
{
	const struct uroce_req *req = &qp->req;
	const struct uroce_send_state *state = uroce_qp_send_state(qp, req->at);

	if (req->probe != UROCE_PROBE_NONE)
		return req->probe == UROCE_PROBE_DUE;
	return req->at == req->head && req->at != req->tail &&
		uroce_psn_add(state->psn_first, req->at_pkt) == req->psn_una;
}

/* What could not be sent there is not to be sent any more; what still is will be met again. */
static void move_cursor(struct uroce_req *req, uint32_t at, uint32_t at_pkt)
{
	req->at = at;
	req->at_pkt = at_pkt;
	req->failed = false;
}

void uroce_req_catch_up(struct uroce_qp *qp)
{
	struct uroce_req *req = &qp->req;
	uint32_t answered;

	if ((int32_t)(req->head - req->at) > 0)
		move_cursor(req, req->head, 0);
	/* What comes after a probe has no answer before it. */
	if (req->at != req->head || req->at == req->tail || req->probe != UROCE_PROBE_NONE)
		return;
	answered = (req->psn_una - uroce_qp_send_state(qp, req->at)->psn_first) & UROCE_PSN_MASK;
	if (uroce_qp_send_state(qp, req->at)->pkts > 0 && req->at_pkt < answered)
		move_cursor(req, req->at, answered);
}

void uroce_req_rewind(struct uroce_core *core, struct uroce_qp *qp, uint64_t now_ns)
{
	struct uroce_req *req = &qp->req;

	uroce_trace_push(&core->trace, now_ns, UROCE_TRACE_REWIND, qp->qpn, req->psn_una, 0, 0);
	qp->comp.reasked = true;
	qp->comp.reasked_psn = req->psn_high;
	move_cursor(req, req->head, 0);
	req->reads_out = 0;
	req->unasked_pkts = 0;
	req->waiting = false;
	if (req->probe == UROCE_PROBE_SENT)
		req->probe = UROCE_PROBE_DUE;
	uroce_req_catch_up(qp);
	uroce_core_wake_requests(core, qp);
}

/* ---- building ---- */

/* Gives the work request at the cursor its PSNs. False: it has to wait. */
static bool start_message(
	struct uroce_qp *qp, const struct uroce_send_wqe *wqe, struct uroce_send_state *state)
{
	struct uroce_req *req = &qp->req;
	uint32_t pkts = message_pkts(qp, wqe);
	uint32_t outstanding = (req->psn_next - req->psn_una) & UROCE_PSN_MASK;

	if (outstanding + pkts > UROCE_PSN_OUTSTANDING_MAX)
		return false;
	state->psn_first = req->psn_next;
	state->pkts = pkts;
	req->psn_next = uroce_psn_add(req->psn_next, pkts);
	return true;
}

/* Whether the packet at the cursor may leave now. */
static bool may_send(const struct uroce_qp *qp, const struct uroce_send_wqe *wqe, uint32_t psn)
{
	const struct uroce_req *req = &qp->req;

	if (((psn - req->psn_una) & UROCE_PSN_MASK) >= qp->caps.window_pkts)
		return false;
	if ((wqe->flags & UROCE_SEND_FENCE) && req->at_pkt == 0 && req->reads_out > 0)
		return false;
	return !uroce_wr_kind(wqe->opcode)->answered || req->reads_out < qp->attr.max_rd_atomic;
}

uint32_t uroce_req_fail(struct uroce_core *core, struct uroce_qp *qp, enum uroce_cause cause,
	enum uroce_status status, uint32_t detail, uint64_t now_ns)
{
	qp->req.failed = true;
	qp->req.failed_cause = cause;
	qp->req.failed_status = status;
	qp->req.failed_detail = detail;
	uroce_comp_settle(core, qp, now_ns);
	return 0;
}

/* Counts packets seen before, and moves psn_high over pkts PSNs from psn. */
static void note_sent(
	struct uroce_core *core, struct uroce_qp *qp, uint32_t psn, uint32_t pkts, uint64_t now_ns)
{
	struct uroce_req *req = &qp->req;
	uint32_t end = (psn + pkts - req->psn_una) & UROCE_PSN_MASK;
	uint32_t high = (req->psn_high - req->psn_una) & UROCE_PSN_MASK;

	if (((psn - req->psn_una) & UROCE_PSN_MASK) < high)
		uroce_count(core, retransmitted_packets);
	if (end > high)
		req->psn_high = uroce_psn_add(psn, pkts);
	uroce_count(core, tx_requests);
	if (uroce_qp_is_reliable(qp))
		uroce_comp_watch(core, qp, now_ns);
}

/* Moves the cursor past pkts packets of the message. */
static void advance_cursor(struct uroce_qp *qp, uint32_t pkts, uint32_t message_pkts_all)
{
	struct uroce_req *req = &qp->req;

	req->at_pkt += pkts;
	if (req->at_pkt < message_pkts_all)
		return;
	req->at++;
	req->at_pkt = 0;
}

static uint32_t build_read(struct uroce_core *core, struct uroce_qp *qp, struct uroce_slot *slot,
	const struct uroce_send_wqe *wqe, const struct uroce_send_state *state, uint64_t now_ns)
{
	struct uroce_req *req = &qp->req;
	uint32_t piece = read_piece_pkts(qp, state->pkts);
	uint32_t end_pkt = (req->at_pkt / piece + 1) * piece;
	uint64_t from = (uint64_t)req->at_pkt * qp->attr.path_mtu_bytes;
	uint64_t end = (uint64_t)end_pkt * qp->attr.path_mtu_bytes;
	uint32_t psn = uroce_psn_add(state->psn_first, req->at_pkt);
	uint8_t *p;

	if (end_pkt > state->pkts)
		end_pkt = state->pkts;
	if (end > wqe->bytes)
		end = wqe->bytes;
	p = uroce_build_start(qp, slot,
		(struct uroce_bth){
			.opcode = uroce_wr_kind(wqe->opcode)->only, .ackreq = true, .psn = psn});
	p = uroce_build_reth(p, wqe->remote_addr + from, wqe->rkey, (uint32_t)(end - from));
	uroce_build_finish(core, slot, p, 0);
	req->reads_out++;
	req->unasked_pkts = 0;
	note_sent(core, qp, psn, end_pkt - req->at_pkt, now_ns);
	advance_cursor(qp, end_pkt - req->at_pkt, state->pkts);
	return slot->bytes;
}

/* A request of one packet that only its own answer completes was built. */
static uint32_t sent_single(struct uroce_core *core, struct uroce_qp *qp,
	const struct uroce_slot *slot, uint64_t now_ns)
{
	qp->req.reads_out++;
	qp->req.unasked_pkts = 0;
	note_sent(core, qp, uroce_qp_send_state(qp, qp->req.at)->psn_first, 1, now_ns);
	advance_cursor(qp, 1, 1);
	return slot->bytes;
}

static struct uroce_bth single_bth(
	const struct uroce_send_wqe *wqe, const struct uroce_send_state *state)
{
	return (struct uroce_bth){.opcode = uroce_wr_kind(wqe->opcode)->only,
		.ackreq = true,
		.psn = state->psn_first};
}

static uint32_t build_atomic(struct uroce_core *core, struct uroce_qp *qp, struct uroce_slot *slot,
	const struct uroce_send_wqe *wqe, const struct uroce_send_state *state, uint64_t now_ns)
{
	bool swap = wqe->opcode == UROCE_WR_ATOMIC_CMP_AND_SWP;
	uint8_t *p = uroce_build_start(qp, slot, single_bth(wqe, state));

	p = uroce_build_atomiceth(p, wqe->remote_addr, wqe->rkey,
		swap ? wqe->swap : wqe->compare_add, swap ? wqe->compare_add : 0);
	uroce_build_finish(core, slot, p, 0);
	return sent_single(core, qp, slot, now_ns);
}

static uint32_t build_flush(struct uroce_core *core, struct uroce_qp *qp, struct uroce_slot *slot,
	const struct uroce_send_wqe *wqe, const struct uroce_send_state *state, uint64_t now_ns)
{
	uint8_t *p = uroce_build_start(qp, slot, single_bth(wqe, state));

	p = uroce_build_feth(p, wqe->imm);
	p = uroce_build_reth(p, wqe->remote_addr, wqe->rkey, wqe->bytes);
	uroce_build_finish(core, slot, p, 0);
	return sent_single(core, qp, slot, now_ns);
}

/* Extension headers of a SEND or WRITE packet. */
static uint8_t *put_headers(
	uint8_t *p, const struct uroce_opcode *op, const struct uroce_send_wqe *wqe)
{
	if (op->reth)
		p = uroce_build_reth(p, wqe->remote_addr, wqe->rkey, wqe->bytes);
	if (op->immdt || op->ieth) {
		uroce_store_be32(p, wqe->imm);
		p += UROCE_IMMDT_BYTES;
	}
	return p;
}

enum uroce_mr_verdict uroce_req_put_payload(const struct uroce_core *core,
	const struct uroce_qp *qp, struct uroce_send_wqe *wqe, uint8_t *p, uint64_t offset,
	uint32_t bytes)
{
	struct uroce_sge_list list = {.mrs = core->mrs,
		.segs = uroce_send_wqe_segs(wqe),
		.num_segs = wqe->num_segs,
		.pd = qp->pd};

	if (!(wqe->flags & UROCE_SEND_INLINE))
		return uroce_sge_gather(&list, offset, p, bytes);
	memcpy(p, uroce_send_wqe_inline(wqe) + offset, bytes);
	return UROCE_MR_OK;
}

/* Ask for an acknowledgement: at the end of a message, now and then within one, and before the
 * window closes. */
static bool want_ack(const struct uroce_qp *qp, uint32_t psn, bool last)
{
	uint32_t in_flight = (psn - qp->req.psn_una) & UROCE_PSN_MASK;

	if (!uroce_qp_is_reliable(qp))
		return false;
	/* The next may be long in coming, and the retry timer runs. */
	return last || qp->cc.slow || qp->req.unasked_pkts + 1 >= ACKREQ_EVERY_PKTS ||
		in_flight + 1 >= qp->caps.window_pkts;
}

static uint32_t build_data(struct uroce_core *core, struct uroce_qp *qp, struct uroce_slot *slot,
	struct uroce_send_wqe *wqe, const struct uroce_send_state *state, uint64_t now_ns)
{
	uint32_t mtu = qp->attr.path_mtu_bytes;
	uint32_t pkt = qp->req.at_pkt;
	uint32_t psn = uroce_psn_add(state->psn_first, pkt);
	uint64_t offset = (uint64_t)pkt * mtu;
	bool first = pkt == 0, last = pkt + 1 == state->pkts;
	uint32_t bytes = last ? wqe->bytes - (uint32_t)offset : mtu;
	uint8_t opcode =
		uroce_wr_wire_opcode(uroce_wr_kind(wqe->opcode), qp->caps.type, first, last);
	bool ackreq = want_ack(qp, psn, last);
	enum uroce_mr_verdict verdict;
	uint8_t *p;

	p = uroce_build_start(qp, slot,
		(struct uroce_bth){.opcode = opcode,
			.ackreq = ackreq,
			.psn = psn,
			.solicited = last && (wqe->flags & UROCE_SEND_SOLICITED)});
	p = put_headers(p, &uroce_opcodes[opcode], wqe);
	verdict = uroce_req_put_payload(core, qp, wqe, p, offset, bytes);
	if (verdict != UROCE_MR_OK)
		return uroce_req_fail(core, qp, UROCE_CAUSE_LOCAL_MEMORY, UROCE_STATUS_LOC_PROT_ERR,
			verdict, now_ns);
	uroce_build_finish(core, slot, p + bytes, bytes);
	qp->req.unasked_pkts = ackreq ? 0 : qp->req.unasked_pkts + 1;
	uroce_count_add(core, tx_payload_bytes, bytes);
	if (uroce_wr_kind(wqe->opcode)->answered)
		return sent_single(core, qp, slot, now_ns);
	note_sent(core, qp, psn, 1, now_ns);
	advance_cursor(qp, 1, state->pkts);
	if (!uroce_qp_is_reliable(qp))
		uroce_comp_sent_unreliably(core, qp, now_ns);
	return slot->bytes;
}

void uroce_req_sent_datagram(struct uroce_core *core, struct uroce_qp *qp, uint64_t now_ns)
{
	note_sent(core, qp, uroce_qp_send_state(qp, qp->req.at)->psn_first, 1, now_ns);
	advance_cursor(qp, 1, 1);
	uroce_comp_sent_unreliably(core, qp, now_ns);
}

/* Carries out local work requests at the cursor, up to one that has to wait or goes on the wire. */
static void pass_local(struct uroce_core *core, struct uroce_qp *qp, uint64_t now_ns)
{
	struct uroce_req *req = &qp->req;

	while (req->at != req->tail && !req->failed && qp->state == UROCE_QP_RTS) {
		struct uroce_send_state *state = uroce_qp_send_state(qp, req->at);
		const struct uroce_send_wqe *wqe = uroce_qp_send_wqe(qp, req->at);

		if (state->status != UROCE_STATUS_SUCCESS || !uroce_wr_kind(wqe->opcode)->local)
			return;
		if (!state->executed) {
			if (!uroce_local_execute(core, qp, wqe, now_ns))
				return;
			state->psn_first = req->psn_next;
			state->executed = true;
		}
		req->at++;
		uroce_comp_local_done(core, qp);
	}
}

/* A WRITE of nothing, which takes no key (C9-88): the keepalive. */
static uint32_t build_probe(
	struct uroce_core *core, struct uroce_qp *qp, struct uroce_slot *slot, uint64_t now_ns)
{
	struct uroce_req *req = &qp->req;
	uint32_t psn = req->psn_una;
	uint8_t *p = uroce_build_start(qp, slot,
		(struct uroce_bth){.opcode = uroce_wr_kind(UROCE_WR_RDMA_WRITE)->only,
			.ackreq = true,
			.psn = psn});

	p = uroce_build_reth(p, 0, 0, 0);
	uroce_build_finish(core, slot, p, 0);
	req->probe = UROCE_PROBE_SENT;
	req->unasked_pkts = 0;
	uroce_count(core, keepalives_sent);
	note_sent(core, qp, psn, 1, now_ns);
	return slot->bytes;
}

bool uroce_req_probe(struct uroce_core *core, struct uroce_qp *qp)
{
	struct uroce_req *req = &qp->req;

	if (req->head != req->tail || req->psn_una != req->psn_next || qp->state != UROCE_QP_RTS)
		return false;
	req->probe = UROCE_PROBE_DUE;
	req->psn_next = uroce_psn_add(req->psn_next, 1);
	uroce_core_wake_requests(core, qp);
	return true;
}

static bool waits_for_path(struct uroce_core *core, struct uroce_qp *qp, uint64_t now_ns)
{
	if (!qp->path || qp->path->resolved)
		return false;
	uroce_comp_wait_path(core, qp, now_ns);
	return true;
}

static uint32_t build_next(
	struct uroce_core *core, struct uroce_qp *qp, struct uroce_slot *slot, uint64_t now_ns)
{
	struct uroce_req *req = &qp->req;
	const struct uroce_wr_kind *kind;
	struct uroce_send_state *state;
	struct uroce_send_wqe *wqe;

	if (!uroce_qp_sends(qp) || req->waiting)
		return 0;
	if (req->probe == UROCE_PROBE_DUE)
		return waits_for_path(core, qp, now_ns) ? 0 : build_probe(core, qp, slot, now_ns);
	pass_local(core, qp, now_ns);
	if (!uroce_qp_sends(qp) || req->at == req->tail || req->failed)
		return 0;
	wqe = uroce_qp_send_wqe(qp, req->at);
	state = uroce_qp_send_state(qp, req->at);
	kind = uroce_wr_kind(wqe->opcode);
	if (state->status != UROCE_STATUS_SUCCESS)
		return uroce_req_fail(
			core, qp, UROCE_CAUSE_MALFORMED_WQE, UROCE_STATUS_LOC_QP_OP_ERR, 0, now_ns);
	/* The peer takes none at all: it would wait for ever. */
	if (kind->answered && qp->attr.max_rd_atomic == 0)
		return uroce_req_fail(
			core, qp, UROCE_CAUSE_MALFORMED_WQE, UROCE_STATUS_LOC_QP_OP_ERR, 0, now_ns);
	/* Local ones have to wait here; SQD ends what was started, and starts nothing. */
	if (kind->local || (state->pkts == 0 && qp->state == UROCE_QP_SQD))
		return 0;
	if (waits_for_path(core, qp, now_ns))
		return 0;
	if (state->pkts == 0 && !start_message(qp, wqe, state))
		return 0;
	if (!may_send(qp, wqe, uroce_psn_add(state->psn_first, req->at_pkt)))
		return 0;
	if (qp->cc.paced && !uroce_cc_may_send(core, qp, UROCE_FLOW_REQUESTS, now_ns))
		return 0;
	if (qp->caps.type == UROCE_QP_UD)
		return uroce_dgram_build(core, qp, slot, wqe, state, now_ns);
	if (kind->reads)
		return build_read(core, qp, slot, wqe, state, now_ns);
	if (kind->atomic)
		return build_atomic(core, qp, slot, wqe, state, now_ns);
	if (wqe->opcode == UROCE_WR_FLUSH)
		return build_flush(core, qp, slot, wqe, state, now_ns);
	return build_data(core, qp, slot, wqe, state, now_ns);
}

uint32_t uroce_req_build(
	struct uroce_core *core, struct uroce_qp *qp, struct uroce_slot *slot, uint64_t now_ns)
{
	uint32_t bytes = build_next(core, qp, slot, now_ns);

	if (qp->cc.paced && bytes > 0)
		uroce_cc_sent(core, qp, UROCE_FLOW_REQUESTS, bytes, now_ns);
	return bytes;
}
