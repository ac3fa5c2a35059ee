/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The planted faults. meson.build names the wrapped calls; the linker sends the engine's own calls
 * of f between its files to __wrap_f, and __real_f is f.
 */
#include "plant.h"

#include <stdbool.h>
#include <stdint.h>

#include "comp.h"
#include "mr.h"
#include "resp.h"
#include "sge.h"

enum {
	SWAP_EVERY = 3,
	MISTAKE_EVERY = 3,
	WORD_BYTES = 8
};

static struct {
	enum plant_kind kind;
	uint32_t completions;
	bool holds; /* a completion that waits for the next of its queue pair */
	struct uroce_qp *held_qp;
	struct uroce_cq *held_cq;
	struct uroce_cqe held;
	const struct uroce_qp *shares; /* a queue pair that took a shared receive */
} planted;

void plant(enum plant_kind kind)
{
	planted.kind = kind;
	planted.completions = 0;
	planted.holds = false;
	planted.shares = NULL;
}

const char *plant_name(enum plant_kind kind)
{
	static const char *const names[PLANT_COUNT] = {"nothing",
		"a SEND or atomic that comes again is carried out again",
		"every third successful send completes after the next",
		"the first work request to be flushed is flushed after the second",
		"the last partial word of a message is not placed",
		"an ATOMIC WRITE that comes again is carried out again",
		"every third shared receive completes as of another queue pair",
		"a key that was invalidated is good for what it was good for",
		"who may read by a key may write by it"};

	return kind < PLANT_COUNT ? names[kind] : "?";
}

/* ---- twice ---- */

enum uroce_drop __real_uroce_resp_rx(
	struct uroce_core *core, struct uroce_qp *qp, const struct uroce_pkt *pkt, uint64_t now_ns);
enum uroce_drop __wrap_uroce_resp_rx(
	struct uroce_core *core, struct uroce_qp *qp, const struct uroce_pkt *pkt, uint64_t now_ns);

static bool is_whole_send_or_atomic(const struct uroce_pkt *pkt)
{
	return pkt->op->atomiceth ||
		(pkt->op->kind == UROCE_OP_SEND && pkt->op->first && pkt->op->last);
}

static bool is_twice(const struct uroce_pkt *pkt)
{
	if (planted.kind == PLANT_WORD)
		return pkt->op->kind == UROCE_OP_ATOMIC_WRITE;
	return planted.kind == PLANT_TWICE && is_whole_send_or_atomic(pkt);
}

enum uroce_drop __wrap_uroce_resp_rx(
	struct uroce_core *core, struct uroce_qp *qp, const struct uroce_pkt *pkt, uint64_t now_ns)
{
	const uint32_t epsn = qp->resp.epsn, msn = qp->resp.msn;
	enum uroce_drop drop;

	if (!is_twice(pkt) || !uroce_psn_before(pkt->psn, epsn) || qp->resp.in_message)
		return __real_uroce_resp_rx(core, qp, pkt, now_ns);
	qp->resp.epsn = pkt->psn;
	drop = __real_uroce_resp_rx(core, qp, pkt, now_ns);
	qp->resp.epsn = epsn;
	qp->resp.msn = msn;
	return drop;
}

/* ---- out of order ---- */

void __real_uroce_qp_complete(struct uroce_core *core, struct uroce_qp *qp, struct uroce_cq *cq,
	const struct uroce_cqe *cqe);
void __wrap_uroce_qp_complete(struct uroce_core *core, struct uroce_qp *qp, struct uroce_cq *cq,
	const struct uroce_cqe *cqe);

static bool is_chosen(const struct uroce_cqe *cqe)
{
	if (planted.kind == PLANT_SWAP)
		return cqe->status == UROCE_STATUS_SUCCESS && cqe->opcode < UROCE_WC_RECV &&
			++planted.completions % SWAP_EVERY == 0;
	if (planted.kind == PLANT_FLUSH)
		return cqe->status == UROCE_STATUS_WR_FLUSH_ERR && planted.completions++ == 0;
	return false;
}

void __wrap_uroce_qp_complete(struct uroce_core *core, struct uroce_qp *qp, struct uroce_cq *cq,
	const struct uroce_cqe *cqe)
{
	if (planted.holds && planted.held_qp == qp && planted.held_cq == cq) {
		planted.holds = false;
		__real_uroce_qp_complete(core, qp, cq, cqe);
		__real_uroce_qp_complete(core, qp, cq, &planted.held);
	} else if (!planted.holds && is_chosen(cqe)) {
		planted.holds = true;
		planted.held_qp = qp;
		planted.held_cq = cq;
		planted.held = *cqe;
	} else {
		__real_uroce_qp_complete(core, qp, cq, cqe);
	}
}

/* ---- of another ---- */

void __real_uroce_qp_complete_recv(
	struct uroce_core *core, struct uroce_qp *qp, const struct uroce_cqe *result);
void __wrap_uroce_qp_complete_recv(
	struct uroce_core *core, struct uroce_qp *qp, const struct uroce_cqe *result);

/* Whose number the receive completes with: now and then, the one's that took the receive before. */
static uint32_t number_of(const struct uroce_qp *qp)
{
	const struct uroce_qp *before = planted.shares;

	planted.shares = qp;
	if (before && before->srq == qp->srq && ++planted.completions % MISTAKE_EVERY == 0)
		return before->qpn;
	return qp->qpn;
}

void __wrap_uroce_qp_complete_recv(
	struct uroce_core *core, struct uroce_qp *qp, const struct uroce_cqe *result)
{
	const uint32_t qpn = qp->qpn;

	if (planted.kind == PLANT_SHARED && qp->srq)
		qp->qpn = number_of(qp);
	__real_uroce_qp_complete_recv(core, qp, result);
	qp->qpn = qpn;
}

/* ---- short ---- */

void __real_uroce_place(uint8_t *dst, const uint8_t *src, uint32_t bytes, bool last);
void __wrap_uroce_place(uint8_t *dst, const uint8_t *src, uint32_t bytes, bool last);
enum uroce_mr_verdict __real_uroce_sge_scatter(const struct uroce_sge_list *list, uint64_t offset,
	const uint8_t *src, uint32_t bytes, bool last);
enum uroce_mr_verdict __wrap_uroce_sge_scatter(const struct uroce_sge_list *list, uint64_t offset,
	const uint8_t *src, uint32_t bytes, bool last);

static uint32_t placed_bytes(uint32_t bytes, bool last)
{
	return planted.kind == PLANT_SHORT && last ? bytes - bytes % WORD_BYTES : bytes;
}

void __wrap_uroce_place(uint8_t *dst, const uint8_t *src, uint32_t bytes, bool last)
{
	__real_uroce_place(dst, src, placed_bytes(bytes, last), last);
}

enum uroce_mr_verdict __wrap_uroce_sge_scatter(const struct uroce_sge_list *list, uint64_t offset,
	const uint8_t *src, uint32_t bytes, bool last)
{
	return __real_uroce_sge_scatter(list, offset, src, placed_bytes(bytes, last), last);
}

/* ---- keys ---- */

enum uroce_mr_verdict __real_uroce_mr_invalidate(
	struct uroce_mr_table *table, uint32_t pd, uint32_t qpn, uint32_t key, bool check);
enum uroce_mr_verdict __wrap_uroce_mr_invalidate(
	struct uroce_mr_table *table, uint32_t pd, uint32_t qpn, uint32_t key, bool check);
enum uroce_mr_verdict __real_uroce_mr_resolve_for(const struct uroce_mr_table *table, uint32_t pd,
	uint32_t qpn, uint32_t key, uint64_t addr, uint64_t bytes, uint32_t access, uint8_t **ptr);
enum uroce_mr_verdict __wrap_uroce_mr_resolve_for(const struct uroce_mr_table *table, uint32_t pd,
	uint32_t qpn, uint32_t key, uint64_t addr, uint64_t bytes, uint32_t access, uint8_t **ptr);

enum uroce_mr_verdict __wrap_uroce_mr_invalidate(
	struct uroce_mr_table *table, uint32_t pd, uint32_t qpn, uint32_t key, bool check)
{
	return __real_uroce_mr_invalidate(
		table, pd, qpn, key, check || planted.kind == PLANT_ALIVE);
}

enum uroce_mr_verdict __wrap_uroce_mr_resolve_for(const struct uroce_mr_table *table, uint32_t pd,
	uint32_t qpn, uint32_t key, uint64_t addr, uint64_t bytes, uint32_t access, uint8_t **ptr)
{
	if (planted.kind == PLANT_RIGHTS && access == UROCE_ACCESS_REMOTE_WRITE)
		access = UROCE_ACCESS_REMOTE_READ;
	return __real_uroce_mr_resolve_for(table, pd, qpn, key, addr, bytes, access, ptr);
}
