/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Posting: the application's half of the data path.
 *
 * An entry is checked, written into the shared ring, and published with its neighbours in one
 * store; then the bell is rung if it is not already. No lock, no allocation, no system call. What
 * is checked here is for the caller's sake; the engine checks its own copy again.
 */
#include <errno.h>
#include <string.h>

#include "device.h"
#include "wr.h"

static const uint32_t send_flags =
	UROCE_SEND_FENCE | UROCE_SEND_SIGNALED | UROCE_SEND_SOLICITED | UROCE_SEND_INLINE;

static int check_send(const struct uroce_qp *qp, const struct uroce_send_wr *wr, uint64_t *bytes)
{
	const struct uroce_wr_kind *kind = uroce_wr_kind(wr->opcode);

	*bytes = 0;
	for (uint32_t i = 0; i < wr->num_sge; i++)
		*bytes += wr->sge[i].len_bytes;
	if (!uroce_wr_is_for(kind, qp->caps.type) || (wr->flags & ~send_flags))
		return -EINVAL;
	if (*bytes > UROCE_MESSAGE_BYTES_MAX)
		return -EINVAL;
	if (kind->atomic && (*bytes != 8 || wr->rdma.remote_addr % 8 != 0))
		return -EINVAL;
	if (!(wr->flags & UROCE_SEND_INLINE))
		return wr->num_sge > qp->caps.max_send_sge ? -EINVAL : 0;
	if (*bytes > qp->caps.max_inline_bytes)
		return -EINVAL;
	return kind->has_payload ? 0 : -EINVAL;
}

static void put_segments(struct uroce_seg *segs, const struct uroce_sge *sge, uint32_t num)
{
	for (uint32_t i = 0; i < num; i++)
		segs[i] = (struct uroce_seg){(uintptr_t)sge[i].addr, sge[i].len_bytes, sge[i].lkey};
}

static void put_inline(uint8_t *to, const struct uroce_send_wr *wr)
{
	for (uint32_t i = 0; i < wr->num_sge; i++) {
		if (wr->sge[i].len_bytes > 0)
			memcpy(to, wr->sge[i].addr, wr->sge[i].len_bytes);
		to += wr->sge[i].len_bytes;
	}
}

static int put_send(struct uroce_qp *qp, const struct uroce_send_wr *wr)
{
	bool is_inline = wr->flags & UROCE_SEND_INLINE;
	struct uroce_send_wqe *wqe;
	uint64_t bytes;
	int err = check_send(qp, wr, &bytes);

	if (err)
		return err;
	wqe = uroce_ring_reserve(&qp->send_ring);
	if (!wqe)
		return -ENOMEM;
	wqe->wr_id = wr->wr_id;
	wqe->opcode = (uint8_t)wr->opcode;
	wqe->flags = (uint8_t)wr->flags;
	wqe->num_segs = is_inline ? 0 : (uint16_t)wr->num_sge;
	wqe->bytes = (uint32_t)bytes;
	wqe->imm = wr->opcode == UROCE_WR_SEND_WITH_INV ? wr->invalidate_rkey : wr->imm;
	wqe->rkey = wr->rdma.rkey;
	wqe->remote_addr = wr->rdma.remote_addr;
	wqe->compare_add = wr->atomic.compare_add;
	wqe->swap = wr->atomic.swap;
	if (is_inline)
		put_inline(uroce_send_wqe_inline(wqe), wr);
	else
		put_segments(uroce_send_wqe_segs(wqe), wr->sge, wr->num_sge);
	uroce_ring_advance(&qp->send_ring);
	return 0;
}

int uroce_post_send(struct uroce_qp *qp, const struct uroce_send_wr *wr, int n)
{
	const struct qp_shell *shell = qp->owner;
	int posted = 0, err = 0;

	if (atomic_load_explicit(&shell->state, memory_order_relaxed) < UROCE_QP_RTS)
		return -EINVAL;
	for (; posted < n && !err; posted += !err)
		err = put_send(qp, &wr[posted]);
	if (posted == 0)
		return err;
	uroce_ring_publish_seq(&qp->send_ring);
	uroce_bell_ring(&qp->core->bells, &qp->bell);
	return posted;
}

static int put_recv(struct uroce_qp *qp, const struct uroce_recv_wr *wr)
{
	struct uroce_recv_wqe *wqe;

	if (wr->num_sge > qp->caps.max_recv_sge)
		return -EINVAL;
	wqe = uroce_ring_reserve(&qp->recv_ring);
	if (!wqe)
		return -ENOMEM;
	wqe->wr_id = wr->wr_id;
	wqe->num_segs = wr->num_sge;
	put_segments(uroce_recv_wqe_segs(wqe), wr->sge, wr->num_sge);
	uroce_ring_advance(&qp->recv_ring);
	return 0;
}

int uroce_post_recv(struct uroce_qp *qp, const struct uroce_recv_wr *wr, int n)
{
	const struct qp_shell *shell = qp->owner;
	int posted = 0, err = 0;

	if (atomic_load_explicit(&shell->state, memory_order_relaxed) == UROCE_QP_RESET)
		return -EINVAL;
	for (; posted < n && !err; posted += !err)
		err = put_recv(qp, &wr[posted]);
	if (posted == 0)
		return err;
	uroce_ring_publish_seq(&qp->recv_ring);
	/* Receives need no bell, but in ERR somebody has to flush them. */
	if (atomic_load(&qp->in_error))
		uroce_bell_ring(&qp->core->bells, &qp->bell);
	return posted;
}
