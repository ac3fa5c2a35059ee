/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Datagrams.
 *
 * A datagram is one packet, whole or not there: sent is complete, and what cannot be received is
 * dropped without a word to anybody, its receive left for the next. In front of the payload the
 * receive buffer has 40 bytes for the IP header, as it was received: an IPv4 header lies in the
 * last 20 of them; the first 20 are left as they were then. Memory that a receive names wrongly is
 * the receiver's own fault: that ends the receive in error, and the queue pair with it.
 */
#include "dgram.h"

#include <errno.h>

#include "build.h"
#include "comp.h"
#include "req.h"
#include "sge.h"
#include "wr.h"

/* ---- sending ---- */

/* The path behind a number from the queue, or NULL. */
static const struct uroce_path *find_path(
	const struct uroce_core *core, const struct uroce_qp *qp, uint32_t number)
{
	const struct uroce_ah_slot *slot;

	if (number == 0 || core->conf.num_ahs == 0)
		return NULL;
	slot = &core->conf.ahs[number & (core->conf.num_ahs - 1)];
	return slot->number == number && slot->pd == qp->pd ? slot->path : NULL;
}

/* Its neighbour is asked for; 0: that takes a while, or it was in vain. */
static uint32_t wait(struct uroce_core *core, struct uroce_qp *qp, const struct uroce_send_wqe *wqe,
	uint64_t now_ns)
{
	if (uroce_comp_wait_neighbour(core, qp, now_ns))
		return 0;
	qp->req.path_waits = 0;
	return uroce_req_fail(
		core, qp, UROCE_CAUSE_PATH, UROCE_STATUS_RETRY_EXC_ERR, wqe->ah, now_ns);
}

uint32_t uroce_dgram_build(struct uroce_core *core, struct uroce_qp *qp, struct uroce_slot *slot,
	struct uroce_send_wqe *wqe, const struct uroce_send_state *state, uint64_t now_ns)
{
	bool controlled = wqe->remote_qkey & UROCE_QKEY_CONTROLLED;
	struct uroce_datagram to = {.path = find_path(core, qp, wqe->ah),
		.qpn = wqe->remote_qpn & UROCE_QPN_MASK,
		.qkey = controlled ? qp->attr.qkey : wqe->remote_qkey};
	uint8_t opcode = uroce_wr_wire_opcode(uroce_wr_kind(wqe->opcode), UROCE_QP_UD, true, true);
	enum uroce_mr_verdict verdict;
	uint8_t *p;

	if (!to.path)
		return uroce_req_fail(core, qp, UROCE_CAUSE_ADDRESS_HANDLE,
			UROCE_STATUS_LOC_QP_OP_ERR, wqe->ah, now_ns);
	if (!to.path->resolved)
		return wait(core, qp, wqe, now_ns);
	qp->req.path_waits = 0;
	p = uroce_build_start_datagram(core, qp, slot,
		(struct uroce_bth){.opcode = opcode,
			.psn = state->psn_first,
			.solicited = wqe->flags & UROCE_SEND_SOLICITED},
		&to);
	if (uroce_opcodes[opcode].immdt) {
		uroce_store_be32(p, wqe->imm);
		p += UROCE_IMMDT_BYTES;
	}
	verdict = uroce_req_put_payload(core, qp, wqe, p, 0, wqe->bytes);
	if (verdict != UROCE_MR_OK)
		return uroce_req_fail(core, qp, UROCE_CAUSE_LOCAL_MEMORY, UROCE_STATUS_LOC_PROT_ERR,
			verdict, now_ns);
	uroce_build_finish(core, slot, p + wqe->bytes, wqe->bytes);
	uroce_count_add(core, tx_payload_bytes, wqe->bytes);
	uroce_req_sent_datagram(core, qp, now_ns);
	return slot->bytes;
}

/* ---- receiving ---- */

static void complete(struct uroce_core *core, struct uroce_qp *qp, const struct uroce_pkt *pkt)
{
	struct uroce_cqe cqe = {.opcode = UROCE_WC_RECV,
		.bytes = UROCE_GRH_BYTES + pkt->payload_bytes,
		.flags = UROCE_WC_GRH | (uroce_gid_is_ipv4(pkt->src) ? 0 : UROCE_WC_GRH_IPV6),
		.src_qpn = uroce_load_be24(uroce_pkt_deth(pkt) + UROCE_DETH_SQPN),
		.tci = pkt->tci,
		.solicited = pkt->solicited};

	if (pkt->op->immdt) {
		cqe.imm = uroce_pkt_imm(pkt);
		cqe.flags |= UROCE_WC_WITH_IMM;
	}
	uroce_count(core, messages_received);
	uroce_count_add(core, rx_payload_bytes, pkt->payload_bytes);
	uroce_qp_complete_recv(core, qp, &cqe);
}

/* Header and payload into the receive in hand, after all of it was found good. */
static enum uroce_mr_verdict place(
	const struct uroce_core *core, const struct uroce_qp *qp, const struct uroce_pkt *pkt)
{
	const struct uroce_sge_list list = {.mrs = core->mrs,
		.segs = uroce_recv_wqe_segs(qp->recv),
		.num_segs = qp->recv->num_segs,
		.pd = qp->pd};
	/* Without IPv4's options. */
	uint32_t ip_bytes = uroce_gid_is_ipv4(pkt->src) ? UROCE_IPV4_BYTES : UROCE_IPV6_BYTES;
	enum uroce_mr_verdict verdict =
		uroce_sge_check(&list, 0, UROCE_GRH_BYTES + pkt->payload_bytes);

	if (verdict == UROCE_MR_OK)
		verdict = uroce_sge_scatter(
			&list, UROCE_GRH_BYTES - ip_bytes, pkt->ip, ip_bytes, false);
	if (verdict == UROCE_MR_OK && pkt->payload_bytes > 0)
		verdict = uroce_sge_scatter(
			&list, UROCE_GRH_BYTES, pkt->payload, pkt->payload_bytes, true);
	return verdict;
}

enum uroce_drop uroce_dgram_rx(
	struct uroce_core *core, struct uroce_qp *qp, const struct uroce_pkt *pkt, uint64_t now_ns)
{
	enum uroce_mr_verdict verdict;

	if (uroce_load_be32(uroce_pkt_deth(pkt) + UROCE_DETH_QKEY) != qp->attr.qkey)
		return UROCE_DROP_QKEY;
	if (pkt->payload_bytes > core->conf.mtu_bytes ||
		((pkt->payload_bytes + pkt->pad_bytes) & UROCE_BTH_PAD_MASK))
		return UROCE_DROP_DATAGRAM_LENGTH;
	if (!uroce_qp_take_recv(core, qp))
		return UROCE_DROP_NO_RECV;
	if (qp->recv->num_segs > qp->caps.max_recv_sge)
		return uroce_qp_bad_recv(
			core, qp, UROCE_STATUS_LOC_QP_OP_ERR, UROCE_MR_RANGE, pkt->psn, now_ns);
	if (qp->recv->bytes < UROCE_GRH_BYTES + pkt->payload_bytes) {
		uroce_qp_return_recv(qp);
		return UROCE_DROP_RECV_TOO_SHORT;
	}
	verdict = place(core, qp, pkt);
	if (verdict != UROCE_MR_OK)
		return uroce_qp_bad_recv(
			core, qp, UROCE_STATUS_LOC_PROT_ERR, verdict, pkt->psn, now_ns);
	complete(core, qp, pkt);
	return UROCE_ACCEPTED;
}

/* ---- groups ---- */

enum uroce_drop uroce_dgram_rx_group(
	struct uroce_core *core, const struct uroce_pkt *pkt, uint64_t now_ns)
{
	struct uroce_group_member *member, *next;
	enum uroce_drop fate = UROCE_DROP_NOT_A_MEMBER;

	for (member = core->members; member; member = next) {
		enum uroce_drop drop;

		next = member->next;
		if (!uroce_gid_equal(member->addr, pkt->dst))
			continue;
		drop = uroce_core_rx_qp(core, member->qp, pkt, now_ns);
		/* Taken once is taken. */
		if (fate != UROCE_ACCEPTED)
			fate = drop;
	}
	return fate;
}

static struct uroce_group_member **find_member(
	struct uroce_core *core, const struct uroce_qp *qp, struct uroce_gid addr)
{
	struct uroce_group_member **link = &core->members;

	while (*link && ((*link)->qp != qp || !uroce_gid_equal((*link)->addr, addr)))
		link = &(*link)->next;
	return link;
}

int uroce_dgram_join(struct uroce_core *core, struct uroce_group_member *member)
{
	if (member->qp->caps.type != UROCE_QP_UD || !uroce_gid_is_multicast(member->addr))
		return -EINVAL;
	if (*find_member(core, member->qp, member->addr))
		return -EEXIST;
	member->next = core->members;
	core->members = member;
	return 0;
}

struct uroce_group_member *uroce_dgram_leave(
	struct uroce_core *core, const struct uroce_qp *qp, struct uroce_gid addr)
{
	struct uroce_group_member **link = find_member(core, qp, addr);
	struct uroce_group_member *member = *link;

	if (member)
		*link = member->next;
	return member;
}

void uroce_dgram_leave_all(struct uroce_core *core, const struct uroce_qp *qp)
{
	struct uroce_group_member **link = &core->members;

	while (*link) {
		if ((*link)->qp == qp)
			*link = (*link)->next;
		else
			link = &(*link)->next;
	}
}
