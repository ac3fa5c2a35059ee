/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Work requests from packets.
 *
 * A message is rebuilt from the first good copy of each of its packets, in the order of their PSNs;
 * what a requester's timers must have been follows from when it sent again.
 */
#include "pcap/rebuild.h"

#include <stdlib.h>
#include <string.h>

#include "engine/psn.h"
#include "pcap/stage.h"

enum {
	OP_WRITE_IMM_ONLY = 0x0b,
	OP_WRITE_IMM_LAST = 0x09,
	OP_READ_REQUEST = 0x0c,
	OP_FETCH_ADD = 0x14,
	RETRY_DEFAULT = 7,
};

static uint8_t wr_opcode(const struct uroce_exchange_frame *last)
{
	uint8_t op = last->op;

	if (op == OP_READ_REQUEST)
		return UROCE_WR_RDMA_READ;
	if (op == 0x13)
		return UROCE_WR_ATOMIC_CMP_AND_SWP;
	if (op == OP_FETCH_ADD)
		return UROCE_WR_ATOMIC_FETCH_AND_ADD;
	if (op >= 0x06 && op <= OP_WRITE_IMM_ONLY)
		return last->text.has_immdt ? UROCE_WR_RDMA_WRITE_WITH_IMM : UROCE_WR_RDMA_WRITE;
	if (last->text.has_ieth)
		return UROCE_WR_SEND_WITH_INV;
	return last->text.has_immdt ? UROCE_WR_SEND_WITH_IMM : UROCE_WR_SEND;
}

static bool begins(uint8_t op)
{
	return op != 0x01 && op != 0x02 && op != 0x03 && op != 0x07 && op != 0x08 &&
		op != OP_WRITE_IMM_LAST && op != 0x16;
}

/* Adds what a packet tells of its work request. */
static void take_packet(
	struct uroce_rebuilt_wr *wr, const struct uroce_exchange_frame *f, uint8_t *buffer)
{
	const struct uroce_text_packet *t = &f->text;

	if (t->has_reth) {
		wr->wqe.remote_addr = t->reth.va;
		wr->wqe.rkey = t->reth.rkey;
	}
	if (t->has_atomiceth) {
		bool swap = f->op == 0x13;

		wr->wqe.remote_addr = t->atomiceth.va;
		wr->wqe.rkey = t->atomiceth.rkey;
		wr->wqe.compare_add = swap ? t->atomiceth.compare : t->atomiceth.swap_add;
		wr->wqe.swap = t->atomiceth.swap_add;
		wr->seg.bytes = sizeof(uint64_t);
	} else if (f->op == OP_READ_REQUEST) {
		wr->seg.bytes = t->reth.dma_len;
	} else {
		memcpy(buffer + wr->seg.bytes, f->data + t->payload_offset, t->payload_bytes);
		wr->seg.bytes += t->payload_bytes;
	}
	if (t->has_deth) {
		wr->wqe.ah = UROCE_STAGE_AH;
		wr->wqe.remote_qpn = t->dqpn;
		wr->wqe.remote_qkey = t->deth.qkey;
	}
	if (t->has_immdt || t->has_ieth)
		wr->wqe.imm = t->has_immdt ? t->immdt : t->ieth;
	if (t->se)
		wr->wqe.flags |= UROCE_SEND_SOLICITED;
	wr->wqe.opcode = wr_opcode(f);
}

uint64_t uroce_rebuild_bytes(const struct uroce_exchange *e)
{
	uint64_t bytes = 0;

	for (uint32_t i = 0; i < e->num_frames; i++) {
		const struct uroce_exchange_frame *f = e->frames[i];

		if (!f->request || !f->first_time)
			continue;
		bytes += f->text.payload_bytes;
		if (f->op == OP_READ_REQUEST && f->text.has_reth)
			bytes += f->text.reth.dma_len;
		if (f->text.has_atomiceth)
			bytes += sizeof(uint64_t);
	}
	return bytes;
}

/* The packet as it was sent: if the wire damaged it, a repeat tells. */
static const struct uroce_exchange_frame *good_copy(const struct uroce_exchange *e, uint32_t i)
{
	const struct uroce_exchange_frame *f = e->frames[i];

	for (uint32_t k = i + 1; !f->seen_icrc_ok && k < e->num_frames; k++)
		if (e->frames[k]->request && e->frames[k]->text.psn == f->text.psn &&
			e->frames[k]->seen_icrc_ok)
			return e->frames[k];
	return f;
}

/* Whether a write announced what it carried, and a read what can be asked for. */
static bool lengths_agree(const struct uroce_rebuilt_wr *wr, uint32_t announced)
{
	return wr->seg.bytes <= UROCE_MESSAGE_BYTES_MAX && announced == wr->seg.bytes;
}

const char *uroce_rebuild(
	const struct uroce_exchange *e, uint8_t *buffer, uint32_t key, struct uroce_rebuilt *out)
{
	struct uroce_rebuilt_wr *wr = NULL;
	uint32_t psn = e->psn_first, announced = UINT32_MAX;
	uint64_t at = 0;

	for (uint32_t i = 0; i < e->num_frames; i++) {
		const struct uroce_exchange_frame *f = e->frames[i];

		if (!f->request || !f->first_time)
			continue;
		f = good_copy(e, i);
		if (f->text.psn != psn)
			return "its PSNs have a gap that no requester leaves";
		if (begins(f->op) == (wr != NULL) || f->text.malformed || !f->seen_icrc_ok ||
			f->text.payload_bytes > e->mtu_bytes ||
			(!uroce_exchange_ends(f->op) && f->text.payload_bytes != e->mtu_bytes))
			return "its packets are not what a requester sends";
		if (!wr) {
			wr = &out->list[out->num];
			*wr = (struct uroce_rebuilt_wr){.time_ns = e->frames[i]->time_ns,
				.seg = {(uintptr_t)(buffer + at), 0, key}};
			announced = f->text.has_reth ? f->text.reth.dma_len : UINT32_MAX;
		}
		take_packet(wr, f, buffer + at);
		psn = uroce_psn_add(psn, e->frames[i]->pkts);
		if (!uroce_exchange_ends(f->op))
			continue;
		if (announced != UINT32_MAX && !lengths_agree(wr, announced))
			return "its lengths are not what a requester sends";
		at += wr->seg.bytes;
		wr = NULL;
		out->num++;
	}
	return NULL;
}

/* A requester goes back only for what it has no answer to. */
const char *uroce_rebuild_check_repeats(const struct uroce_exchange *e)
{
	uint32_t answered = e->psn_first;

	for (uint32_t i = 0; i < e->num_frames; i++) {
		const struct uroce_exchange_frame *f = e->frames[i];

		if (!f->request && !f->lost && f->text.has_aeth &&
			f->text.aeth.kind == UROCE_TEXT_AETH_ACK &&
			!uroce_psn_before(f->text.psn, answered))
			answered = uroce_psn_add(f->text.psn, 1);
		if (f->request && !f->repeated_by_wire && uroce_psn_before(f->text.psn, answered))
			return "it asks again for what was answered, as no requester does";
	}
	return NULL;
}

/* When this PSN was last sent before index i without a complaint since; 0: it was complained about.
 */
static uint64_t sent_before(const struct uroce_exchange *e, uint32_t i)
{
	for (uint32_t k = i; k-- > 0;) {
		const struct uroce_exchange_frame *f = e->frames[k];

		if (!f->request && f->text.has_aeth && f->text.aeth.kind != UROCE_TEXT_AETH_ACK)
			return 0;
		if (f->request && uroce_psn_within(e->frames[i]->text.psn, f->text.psn, f->pkts))
			return f->time_ns;
	}
	return 0;
}

/* How long the first request of a PSN waited for its answer; 0 if it was sent again. */
static uint64_t waited(const struct uroce_exchange *e, uint32_t i)
{
	for (uint32_t k = i + 1; k < e->num_frames; k++) {
		const struct uroce_exchange_frame *f = e->frames[k];

		if (f->request && f->text.psn == e->frames[i]->text.psn)
			return 0;
		if (!f->request && !uroce_psn_before(f->text.psn, e->frames[i]->text.psn))
			return f->time_ns - e->frames[i]->time_ns;
	}
	return 0;
}

/*
 * The longest retry time code within the shortest silence before a retry. 0, no timer, where there
 * was no retry, or the recorded timer was one that cannot be told: soft-RoCE's sometimes fires
 * sooner after a packet than other answers took.
 */
uint8_t uroce_rebuild_timeout(const struct uroce_exchange *e)
{
	uint64_t shortest = UINT64_MAX, longest = 0;
	uint8_t code = 0;

	for (uint32_t i = 0; i < e->num_frames; i++) {
		const struct uroce_exchange_frame *f = e->frames[i];
		uint64_t before, silence;

		if (!f->request || f->repeated_by_wire)
			continue;
		before = f->first_time ? 0 : sent_before(e, i);
		silence = before ? f->time_ns - before : UINT64_MAX;
		if (silence < shortest)
			shortest = silence;
		if (f->first_time && waited(e, i) > longest)
			longest = waited(e, i);
	}
	if (shortest == UINT64_MAX || shortest <= longest)
		return 0;
	while (code < UROCE_TIMER_CODE_MAX && (4096ull << (code + 1)) <= shortest)
		code++;
	return code;
}

/* How often the recorded requester tried before it gave up; the default if it did not. */
uint8_t uroce_rebuild_retries(const struct uroce_exchange *e)
{
	const struct uroce_exchange_frame *last = e->frames[e->num_frames - 1];
	uint32_t tries = 0;

	if (!last->request || last->first_time)
		return RETRY_DEFAULT;
	for (uint32_t i = 0; i < e->num_frames; i++)
		tries += e->frames[i]->request && e->frames[i]->text.psn == last->text.psn;
	return tries - 1 < RETRY_DEFAULT ? (uint8_t)(tries - 1) : RETRY_DEFAULT;
}
