/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Changes of what memory a key stands for, in their turn on the send queue.
 *
 * They are carried out when the cursor comes to them, once, however often it comes again, so a
 * later request on the queue may use the new key. An invalidation waits until all before it is
 * complete: an earlier request that has to be sent again would no longer find its memory.
 */
#include "local.h"

#include "req.h"

static bool has_to_wait(const struct uroce_qp *qp, const struct uroce_send_wqe *wqe)
{
	if (wqe->opcode == UROCE_WR_LOCAL_INV)
		return qp->req.head != qp->req.at;
	return (wqe->flags & UROCE_SEND_FENCE) && qp->req.reads_out > 0;
}

static struct uroce_mr_change change_of(const struct uroce_qp *qp, const struct uroce_send_wqe *wqe)
{
	return (struct uroce_mr_change){.pd = qp->pd,
		.qpn = qp->qpn,
		.key = wqe->imm,
		.new_key = wqe->new_key,
		.access = wqe->bytes,
		.addr = wqe->change_addr,
		.bytes = wqe->change_bytes};
}

static enum uroce_mr_verdict execute(
	struct uroce_core *core, const struct uroce_qp *qp, const struct uroce_send_wqe *wqe)
{
	struct uroce_mr_change change = change_of(qp, wqe);

	if (wqe->opcode == UROCE_WR_LOCAL_INV)
		return uroce_mr_invalidate(core->mrs, qp->pd, qp->qpn, wqe->imm, false);
	if (wqe->opcode == UROCE_WR_BIND_MW) {
		change.lkey = wqe->lkey;
		return uroce_mr_bind(core->mrs, &change);
	}
	change.ptr = (uint8_t *)(uintptr_t)wqe->ptr;
	return uroce_mr_register_fast(core->mrs, &change);
}

bool uroce_local_execute(struct uroce_core *core, struct uroce_qp *qp,
	const struct uroce_send_wqe *wqe, uint64_t now_ns)
{
	enum uroce_mr_verdict verdict;

	if (has_to_wait(qp, wqe))
		return false;
	verdict = execute(core, qp, wqe);
	if (verdict == UROCE_MR_OK)
		return true;
	if (wqe->opcode == UROCE_WR_BIND_MW)
		uroce_req_fail(
			core, qp, UROCE_CAUSE_BIND, UROCE_STATUS_MW_BIND_ERR, verdict, now_ns);
	else
		uroce_req_fail(core, qp, UROCE_CAUSE_MEMORY_CHANGE, UROCE_STATUS_LOC_QP_OP_ERR,
			verdict, now_ns);
	return false;
}
