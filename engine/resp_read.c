/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reads and atomics at the responder.
 *
 * The last max_dest_rd_atomic of them are kept in a ring: those still owed an answer, and those
 * that may be asked for again. An atomic is executed when it arrives, once; a repeat gets
 * the saved value. A read is read from memory each time, by key, so its region may vanish in
 * between: then the answer is a NAK. Answers leave in ring order, which is PSN order.
 * At most that many reads may be unanswered: one more is refused, as the peer agreed not to.
 */
#include "resp_read.h"

#include "build.h"
#include "resp.h"
#include "sge.h"

static struct uroce_replay *replay_at(const struct uroce_qp *qp, uint32_t index)
{
	return &qp->replays[index & (uroce_ring_round_up(qp->caps.max_dest_rd_atomic) - 1)];
}

void uroce_resp_read_reset(struct uroce_qp *qp)
{
	qp->resp.replay_next = 0;
	qp->resp.replay_first_owed = 0;
	qp->resp.replay_count = 0;
	qp->resp.reads_owed = 0;
}

bool uroce_resp_read_owed(const struct uroce_qp *qp)
{
	return qp->resp.replay_first_owed != qp->resp.replay_next;
}

uint32_t uroce_resp_read_acked_psn(const struct uroce_qp *qp)
{
	uint32_t after = qp->resp.epsn;

	for (uint32_t i = 1; i <= qp->resp.replay_count; i++) {
		const struct uroce_replay *replay = replay_at(qp, qp->resp.replay_next - i);

		if (uroce_psn_add(replay->psn_first, replay->pkts) != after)
			break;
		after = replay->psn_first;
	}
	return uroce_psn_add(after, UINT32_MAX);
}

/* Moves the mark past entries that are owed nothing. */
static void skip_answered(struct uroce_qp *qp)
{
	struct uroce_resp *resp = &qp->resp;

	while (resp->replay_first_owed != resp->replay_next &&
		!replay_at(qp, resp->replay_first_owed)->owed)
		resp->replay_first_owed++;
}

/* The answer of entry `index` is owed from packet `pkt` on, up to end_bytes of the whole. */
static void owe(struct uroce_core *core, struct uroce_qp *qp, uint32_t index, uint32_t pkt,
	uint32_t end_bytes)
{
	struct uroce_replay *replay = replay_at(qp, index);

	replay->owed = true;
	replay->start_pkt = pkt;
	replay->next_pkt = pkt;
	replay->end_bytes = end_bytes;
	if ((int32_t)(index - qp->resp.replay_first_owed) < 0)
		qp->resp.replay_first_owed = index;
	uroce_core_wake_responses(core, qp);
}

/* Remembers an accepted request and owes its answer; the oldest is forgotten. */
static void accept(struct uroce_core *core, struct uroce_qp *qp, struct uroce_replay replay)
{
	struct uroce_resp *resp = &qp->resp;
	uint32_t index = resp->replay_next++;

	if (resp->replay_count == qp->attr.max_dest_rd_atomic) {
		/* Owed only to a repeat, if at all: a first answer would have been refused room. */
		replay_at(qp, index - resp->replay_count)->owed = false;
		/* Before the place, which may be the new one's too, is filled again. */
		skip_answered(qp);
	} else {
		resp->replay_count++;
	}
	replay.first_time = true;
	*replay_at(qp, index) = replay;
	owe(core, qp, index, 0, replay.bytes);
	resp->reads_owed++;
	resp->epsn = uroce_psn_add(resp->epsn, replay.pkts);
	resp->msn = uroce_psn_add(resp->msn, 1);
	/* The answer acknowledges all before it, and fills any gap that was complained about. */
	resp->nak_sent = false;
	resp->owed = UROCE_OWED_NOTHING;
	resp->owed_now = false;
	resp->unacked_pkts = 0;
	uroce_count(core, messages_received);
}

static enum uroce_drop refuse(
	struct uroce_core *core, struct uroce_qp *qp, struct uroce_refused why, uint64_t now_ns)
{
	return uroce_resp_refuse(core, qp, qp->resp.epsn, &why, now_ns);
}

/* ---- new requests ---- */

/* What there is to remember of a request with a RETH; for a read, not all there is. */
static struct uroce_replay replay_of(const struct uroce_pkt *pkt)
{
	const uint8_t *reth = uroce_pkt_reth(pkt);

	return (struct uroce_replay){
		.kind = UROCE_REPLAY_DONE,
		.psn_first = pkt->psn,
		.rkey = uroce_load_be32(reth + UROCE_RETH_RKEY),
		.va = uroce_load_be64(reth + UROCE_RETH_VA),
		.pkts = 1,
		.opcode = pkt->op->number,
	};
}

static uint32_t dma_bytes(const struct uroce_pkt *pkt)
{
	return uroce_load_be32(uroce_pkt_reth(pkt) + UROCE_RETH_DMALEN);
}

static enum uroce_drop rx_read(
	struct uroce_core *core, struct uroce_qp *qp, const struct uroce_pkt *pkt, uint64_t now_ns)
{
	uint32_t bytes = dma_bytes(pkt);
	struct uroce_replay replay = replay_of(pkt);
	enum uroce_mr_verdict verdict = UROCE_MR_OK;
	uint8_t *ptr;

	replay.kind = UROCE_REPLAY_READ;
	replay.bytes = bytes;
	if (bytes > 0)
		replay.pkts = (bytes - 1) / qp->attr.path_mtu_bytes + 1;
	if (bytes > UROCE_MESSAGE_BYTES_MAX)
		return refuse(core, qp,
			uroce_refused_invalid(
				UROCE_REFUSAL_TOO_LONG, bytes, UROCE_MESSAGE_BYTES_MAX),
			now_ns);
	if (bytes > 0)
		verdict = uroce_mr_resolve_for(core->mrs, qp->pd, qp->qpn, replay.rkey, replay.va,
			bytes, UROCE_ACCESS_REMOTE_READ, &ptr);
	if (verdict != UROCE_MR_OK)
		return refuse(core, qp, uroce_refused_access(verdict), now_ns);
	accept(core, qp, replay);
	return UROCE_ACCEPTED;
}

/* Other cores and the application touch the word too, so this is a real atomic. */
static uint64_t execute(const struct uroce_pkt *pkt, uint64_t *word)
{
	const uint8_t *eth = uroce_pkt_atomiceth(pkt);
	uint64_t swap_add = uroce_load_be64(eth + UROCE_ATOMICETH_SWAP_ADD);
	uint64_t compare = uroce_load_be64(eth + UROCE_ATOMICETH_COMPARE);

	if (pkt->op->kind == UROCE_OP_FETCH_ADD)
		return __atomic_fetch_add(word, swap_add, __ATOMIC_ACQ_REL);
	__atomic_compare_exchange_n(
		word, &compare, swap_add, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
	/* On success compare is what was there; on failure it was replaced by it. */
	return compare;
}

static enum uroce_drop rx_atomic(
	struct uroce_core *core, struct uroce_qp *qp, const struct uroce_pkt *pkt, uint64_t now_ns)
{
	const uint8_t *eth = uroce_pkt_atomiceth(pkt);
	struct uroce_replay replay = {
		.kind = UROCE_REPLAY_ATOMIC,
		.psn_first = pkt->psn,
		.rkey = uroce_load_be32(eth + UROCE_ATOMICETH_RKEY),
		.va = uroce_load_be64(eth + UROCE_ATOMICETH_VA),
		.bytes = sizeof(uint64_t),
		.pkts = 1,
	};
	enum uroce_mr_verdict verdict;
	uint8_t *ptr;

	if (replay.va % sizeof(uint64_t) != 0)
		return refuse(core, qp,
			uroce_refused_invalid(UROCE_REFUSAL_MISALIGNED,
				(uint32_t)(replay.va % sizeof(uint64_t)), 0),
			now_ns);
	verdict = uroce_mr_resolve_for(core->mrs, qp->pd, qp->qpn, replay.rkey, replay.va,
		sizeof(uint64_t), UROCE_ACCESS_REMOTE_ATOMIC, &ptr);
	if (verdict != UROCE_MR_OK)
		return refuse(core, qp, uroce_refused_access(verdict), now_ns);
	/* A region whose virtual address is aligned otherwise than its memory. */
	if ((uintptr_t)ptr % sizeof(uint64_t) != 0)
		return refuse(
			core, qp, uroce_refused_invalid(UROCE_REFUSAL_MISALIGNED, 0, 0), now_ns);
	replay.original = execute(pkt, (uint64_t *)(void *)ptr);
	accept(core, qp, replay);
	return UROCE_ACCEPTED;
}

/* ATOMIC WRITE (annex A19): the eight bytes land at once, in the order of the wire. */
static enum uroce_drop rx_atomic_write(
	struct uroce_core *core, struct uroce_qp *qp, const struct uroce_pkt *pkt, uint64_t now_ns)
{
	struct uroce_replay replay = replay_of(pkt);
	enum uroce_mr_verdict verdict;
	uint64_t word;
	uint8_t *ptr;

	if (dma_bytes(pkt) != sizeof(word) || pkt->payload_bytes != sizeof(word))
		return refuse(core, qp,
			uroce_refused_invalid(
				UROCE_REFUSAL_LENGTH, pkt->payload_bytes, sizeof(word)),
			now_ns);
	verdict = uroce_mr_resolve_for(core->mrs, qp->pd, qp->qpn, replay.rkey, replay.va,
		sizeof(word), UROCE_ACCESS_REMOTE_WRITE, &ptr);
	if (replay.va % sizeof(word) != 0 ||
		(verdict == UROCE_MR_OK && (uintptr_t)ptr % sizeof(word) != 0))
		return refuse(
			core, qp, uroce_refused_invalid(UROCE_REFUSAL_MISALIGNED, 0, 0), now_ns);
	if (verdict != UROCE_MR_OK)
		return refuse(core, qp, uroce_refused_access(verdict), now_ns);
	memcpy(&word, pkt->payload, sizeof(word));
	__atomic_store_n((uint64_t *)(void *)ptr, word, __ATOMIC_RELEASE);
	uroce_count_add(core, rx_payload_bytes, sizeof(word));
	accept(core, qp, replay);
	return UROCE_ACCEPTED;
}

/*
 * FLUSH (annex A19): earlier writes of this queue pair are in memory already, since they were
 * executed in order; the fence makes all cores see them before the answer leaves.
 */
static enum uroce_drop rx_flush(
	struct uroce_core *core, struct uroce_qp *qp, const struct uroce_pkt *pkt, uint64_t now_ns)
{
	uint32_t feth = uroce_load_be32(uroce_pkt_feth(pkt));
	uint32_t level = feth >> UROCE_FETH_LEVEL_SHIFT & UROCE_FETH_LEVEL_MASK;
	uint32_t type = feth & UROCE_FETH_TYPE_MASK;
	struct uroce_replay replay = replay_of(pkt);
	enum uroce_mr_verdict verdict;
	uint8_t *ptr;

	if (type != UROCE_FLUSH_GLOBAL || level > UROCE_FLUSH_MR)
		return refuse(core, qp,
			uroce_refused_invalid(UROCE_REFUSAL_NOT_ALLOWED, pkt->op->number, 0),
			now_ns);
	verdict = level == UROCE_FLUSH_MR
		? uroce_mr_covers(
			  core->mrs, qp->pd, qp->qpn, replay.rkey, UROCE_ACCESS_FLUSH_GLOBAL)
		: uroce_mr_resolve_for(core->mrs, qp->pd, qp->qpn, replay.rkey, replay.va,
			  dma_bytes(pkt), UROCE_ACCESS_FLUSH_GLOBAL, &ptr);
	if (verdict != UROCE_MR_OK)
		return refuse(core, qp, uroce_refused_access(verdict), now_ns);
	atomic_thread_fence(memory_order_seq_cst);
	accept(core, qp, replay);
	return UROCE_ACCEPTED;
}

enum uroce_drop uroce_resp_read_rx(
	struct uroce_core *core, struct uroce_qp *qp, const struct uroce_pkt *pkt, uint64_t now_ns)
{
	if (pkt->payload_bytes != 0 && pkt->op->kind != UROCE_OP_ATOMIC_WRITE)
		return refuse(core, qp,
			uroce_refused_invalid(UROCE_REFUSAL_LENGTH, pkt->payload_bytes, 0), now_ns);
	if (qp->resp.reads_owed >= qp->attr.max_dest_rd_atomic)
		return refuse(core, qp,
			uroce_refused_invalid(UROCE_REFUSAL_TOO_MANY_READS, qp->resp.reads_owed + 1,
				qp->attr.max_dest_rd_atomic),
			now_ns);
	if (pkt->op->kind == UROCE_OP_READ)
		return rx_read(core, qp, pkt, now_ns);
	if (pkt->op->kind == UROCE_OP_ATOMIC_WRITE)
		return rx_atomic_write(core, qp, pkt, now_ns);
	if (pkt->op->kind == UROCE_OP_FLUSH)
		return rx_flush(core, qp, pkt, now_ns);
	return rx_atomic(core, qp, pkt, now_ns);
}

/* ---- repeated requests ---- */

/* Whether a repeat asks for what was asked before, or a part of it. */
static bool repeats_read(
	const struct uroce_qp *qp, const struct uroce_replay *replay, const struct uroce_pkt *pkt)
{
	const uint8_t *reth = uroce_pkt_reth(pkt);
	uint64_t from = (uint64_t)((pkt->psn - replay->psn_first) & UROCE_PSN_MASK) *
		qp->attr.path_mtu_bytes;

	return pkt->op->kind == UROCE_OP_READ &&
		uroce_load_be32(reth + UROCE_RETH_RKEY) == replay->rkey &&
		uroce_load_be64(reth + UROCE_RETH_VA) == replay->va + from &&
		dma_bytes(pkt) <= replay->bytes - from;
}

static bool repeats_atomic(const struct uroce_replay *replay, const struct uroce_pkt *pkt)
{
	const uint8_t *eth = uroce_pkt_atomiceth(pkt);

	return pkt->op->atomiceth && uroce_load_be32(eth + UROCE_ATOMICETH_RKEY) == replay->rkey &&
		uroce_load_be64(eth + UROCE_ATOMICETH_VA) == replay->va;
}

static bool repeats_done(const struct uroce_replay *replay, const struct uroce_pkt *pkt)
{
	const uint8_t *reth = uroce_pkt_reth(pkt);

	return pkt->op->number == replay->opcode &&
		uroce_load_be32(reth + UROCE_RETH_RKEY) == replay->rkey &&
		uroce_load_be64(reth + UROCE_RETH_VA) == replay->va;
}

/* Whether this one-packet request was executed and is remembered. */
static bool repeats_single(const struct uroce_replay *replay, const struct uroce_pkt *pkt)
{
	return (replay->kind == UROCE_REPLAY_ATOMIC && repeats_atomic(replay, pkt)) ||
		(replay->kind == UROCE_REPLAY_DONE && repeats_done(replay, pkt));
}

enum uroce_drop uroce_resp_read_duplicate(
	struct uroce_core *core, struct uroce_qp *qp, const struct uroce_pkt *pkt)
{
	const struct uroce_resp *resp = &qp->resp;

	for (uint32_t i = 1; i <= resp->replay_count; i++) {
		uint32_t index = resp->replay_next - i;
		const struct uroce_replay *replay = replay_at(qp, index);
		uint32_t pkt_at = (pkt->psn - replay->psn_first) & UROCE_PSN_MASK;

		if (!uroce_psn_within(pkt->psn, replay->psn_first, replay->pkts))
			continue;
		if (repeats_single(replay, pkt)) {
			owe(core, qp, index, 0, replay->bytes);
			return UROCE_ACCEPTED;
		}
		if (replay->kind == UROCE_REPLAY_READ && repeats_read(qp, replay, pkt)) {
			owe(core, qp, index, pkt_at,
				pkt_at * qp->attr.path_mtu_bytes + dma_bytes(pkt));
			return UROCE_ACCEPTED;
		}
	}
	return UROCE_DROP_READ_NOT_REMEMBERED;
}

/* ---- answers ---- */

static void answered(struct uroce_qp *qp, struct uroce_replay *replay)
{
	replay->owed = false;
	if (replay->first_time) {
		replay->first_time = false;
		qp->resp.reads_owed--;
	}
	skip_answered(qp);
}

static uint32_t build_atomic(struct uroce_core *core, struct uroce_qp *qp, struct uroce_slot *slot,
	struct uroce_replay *replay)
{
	uint8_t *p;

	p = uroce_build_start(
		qp, slot, (struct uroce_bth){.opcode = 0x12, .psn = replay->psn_first});
	p = uroce_build_aeth(p, UROCE_SYNDROME_ACK_NO_CREDITS, qp->resp.msn);
	uroce_store_be64(p, replay->original);
	uroce_build_finish(core, slot, p + UROCE_ATOMICACKETH_BYTES, 0);
	uroce_count(core, tx_responses);
	answered(qp, replay);
	return slot->bytes;
}

/* Opcode of a read response by its place in the answer. */
static uint8_t read_response_opcode(bool first, bool last)
{
	if (first)
		return last ? 0x10 : 0x0d;
	return last ? 0x0f : 0x0e;
}

/*
 * The memory of an answer is gone. If it was answered before, the requester may have that answer
 * and its application's word that the key may be closed, while a copy of the request was still on
 * its way: that is nobody's fault. A NAK tells a requester that still waits; to others its PSN is
 * past.
 */
static uint32_t refuse_answer(struct uroce_core *core, struct uroce_qp *qp,
	struct uroce_replay *replay, enum uroce_mr_verdict verdict, uint64_t now_ns)
{
	const struct uroce_refused why = uroce_refused_access(verdict);
	uint32_t psn = uroce_psn_add(replay->psn_first, replay->next_pkt);

	if (replay->first_time) {
		uroce_resp_read_reset(qp);
		uroce_resp_refuse(core, qp, psn, &why, now_ns);
	} else {
		answered(qp, replay);
		uroce_resp_nak_repeat(core, qp, psn);
	}
	return 0;
}

static uint32_t build_read(struct uroce_core *core, struct uroce_qp *qp, struct uroce_slot *slot,
	struct uroce_replay *replay, uint64_t now_ns)
{
	uint32_t mtu = qp->attr.path_mtu_bytes;
	uint32_t from = replay->next_pkt * mtu;
	uint32_t bytes = replay->end_bytes - from < mtu ? replay->end_bytes - from : mtu;
	bool first = replay->next_pkt == replay->start_pkt;
	bool last = from + bytes == replay->end_bytes;
	uint32_t psn = uroce_psn_add(replay->psn_first, replay->next_pkt);
	enum uroce_mr_verdict verdict = UROCE_MR_OK;
	uint8_t *ptr = NULL, *p;

	if (bytes > 0)
		verdict = uroce_mr_resolve_for(core->mrs, qp->pd, qp->qpn, replay->rkey,
			replay->va + from, bytes, UROCE_ACCESS_REMOTE_READ, &ptr);
	if (verdict != UROCE_MR_OK)
		return refuse_answer(core, qp, replay, verdict, now_ns);
	p = uroce_build_start(qp, slot,
		(struct uroce_bth){.opcode = read_response_opcode(first, last), .psn = psn});
	if (first || last)
		p = uroce_build_aeth(p, UROCE_SYNDROME_ACK_NO_CREDITS, qp->resp.msn);
	if (bytes > 0)
		uroce_fetch(p, ptr, bytes);
	uroce_build_finish(core, slot, p + bytes, bytes);
	uroce_count(core, tx_responses);
	uroce_count_add(core, tx_payload_bytes, bytes);
	replay->next_pkt++;
	if (last)
		answered(qp, replay);
	return slot->bytes;
}

uint32_t uroce_resp_read_build(
	struct uroce_core *core, struct uroce_qp *qp, struct uroce_slot *slot, uint64_t now_ns)
{
	struct uroce_replay *replay = replay_at(qp, qp->resp.replay_first_owed);

	if (replay->kind == UROCE_REPLAY_ATOMIC)
		return build_atomic(core, qp, slot, replay);
	/* What is done is answered like a read of nothing: its length is zero. */
	return build_read(core, qp, slot, replay, now_ns);
}
