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

/* What has no payload has no segments: an invalidation, a bind, a registration, a FLUSH. */
static int check_bare(const struct uroce_send_wr *wr)
{
	if (wr->num_sge > 0 || (wr->flags & UROCE_SEND_INLINE))
		return -EINVAL;
	return wr->opcode == UROCE_WR_FLUSH && wr->flush.bytes > UROCE_MESSAGE_BYTES_MAX ? -EINVAL
											 : 0;
}

static int check_length(const struct uroce_qp *qp, const struct uroce_send_wr *wr,
	const struct uroce_wr_kind *kind, uint64_t bytes)
{
	bool datagram = qp->caps.type == UROCE_QP_UD;
	bool word = kind->atomic || wr->opcode == UROCE_WR_ATOMIC_WRITE;

	if (bytes > (datagram ? qp->core->conf.mtu_bytes : UROCE_MESSAGE_BYTES_MAX))
		return -EINVAL;
	if (word && (bytes != 8 || wr->rdma.remote_addr % 8 != 0))
		return -EINVAL;
	return 0;
}

static int check_send(const struct uroce_qp *qp, const struct uroce_send_wr *wr, uint64_t *bytes)
{
	const struct uroce_wr_kind *kind = uroce_wr_kind(wr->opcode);

	*bytes = 0;
	for (uint32_t i = 0; i < wr->num_sge; i++)
		*bytes += wr->sge[i].len_bytes;
	if (!uroce_wr_is_for(kind, qp->caps.type) || (wr->flags & ~send_flags))
		return -EINVAL;
	if (qp->caps.type == UROCE_QP_UD && !wr->ud.ah)
		return -EINVAL;
	if (!kind->has_payload && !kind->reads && !kind->atomic)
		return check_bare(wr);
	if (check_length(qp, wr, kind, *bytes) != 0)
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

static void put_change(struct uroce_send_wqe *wqe, const struct uroce_send_wr *wr)
{
	if (wr->opcode == UROCE_WR_BIND_MW) {
		wqe->imm = wr->bind.key;
		wqe->new_key = wr->bind.new_key;
		wqe->change_addr = wr->bind.addr;
		wqe->change_bytes = wr->bind.bytes;
		wqe->lkey = wr->bind.lkey;
		wqe->bytes = wr->bind.access;
	} else {
		wqe->imm = wr->reg.key;
		wqe->new_key = wr->reg.new_key;
		wqe->change_addr = wr->reg.iova;
		wqe->change_bytes = wr->reg.bytes;
		wqe->ptr = (uintptr_t)wr->reg.addr;
		wqe->bytes = wr->reg.access;
	}
}

/* What the work request's kind needs besides its segments. */
static void put_fields(
	const struct uroce_qp *qp, struct uroce_send_wqe *wqe, const struct uroce_send_wr *wr)
{
	switch (wr->opcode) {
	case UROCE_WR_BIND_MW:
	case UROCE_WR_REG_MR:
		put_change(wqe, wr);
		return;
	case UROCE_WR_SEND_WITH_INV:
	case UROCE_WR_LOCAL_INV:
		wqe->imm = wr->invalidate_rkey;
		break;
	case UROCE_WR_FLUSH:
		wqe->imm = (uint32_t)wr->flush.level << UROCE_FETH_LEVEL_SHIFT |
			(uint32_t)wr->flush.type;
		wqe->bytes = wr->flush.bytes;
		break;
	case UROCE_WR_SEND:
	case UROCE_WR_SEND_WITH_IMM:
	case UROCE_WR_RDMA_WRITE:
	case UROCE_WR_RDMA_WRITE_WITH_IMM:
	case UROCE_WR_RDMA_READ:
	case UROCE_WR_ATOMIC_CMP_AND_SWP:
	case UROCE_WR_ATOMIC_FETCH_AND_ADD:
	case UROCE_WR_ATOMIC_WRITE:
		wqe->imm = wr->imm;
		break;
	}
	if (qp->caps.type == UROCE_QP_UD) {
		wqe->ah = wr->ud.ah->number;
		wqe->remote_qpn = wr->ud.remote_qpn;
		wqe->remote_qkey = wr->ud.remote_qkey;
		return;
	}
	wqe->rkey = wr->rdma.rkey;
	wqe->remote_addr = wr->rdma.remote_addr;
	wqe->compare_add = wr->atomic.compare_add;
	wqe->swap = wr->atomic.swap;
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
	put_fields(qp, wqe, wr);
	if (is_inline)
		put_inline(uroce_send_wqe_inline(wqe), wr);
	else
		put_segments(uroce_send_wqe_segs(wqe), wr->sge, wr->num_sge);
	uroce_ring_advance(&qp->send_ring);
	return 0;
}

/* Rings, and wakes a worker that sleeps: who puts a bell on the list sees that it does. */
static void ring_bell(struct uroce_qp *qp)
{
	const struct qp_shell *shell = qp->owner;
	struct uroce_bells *bells = &qp->core->bells;

	if (uroce_bell_ring(bells, &qp->bell) && atomic_load(&bells->asleep))
		uroce_worker_wake(shell->worker);
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
	ring_bell(qp);
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

	if (qp->srq || atomic_load_explicit(&shell->state, memory_order_relaxed) == UROCE_QP_RESET)
		return -EINVAL;
	for (; posted < n && !err; posted += !err)
		err = put_recv(qp, &wr[posted]);
	if (posted == 0)
		return err;
	uroce_ring_publish_seq(&qp->recv_ring);
	/* Receives need no bell, but in ERR somebody has to flush them. */
	if (atomic_load(&qp->in_error))
		ring_bell(qp);
	return posted;
}

static int put_srq_recv(struct uroce_srq *srq, const struct uroce_recv_wr *wr)
{
	struct uroce_seg segs[UROCE_SGE_MAX];

	if (wr->num_sge > srq->max_sge)
		return -EINVAL;
	put_segments(segs, wr->sge, wr->num_sge);
	return uroce_srq_post(srq, wr->wr_id, segs, wr->num_sge) ? 0 : -ENOMEM;
}

int uroce_post_srq_recv(struct uroce_srq *srq, const struct uroce_recv_wr *wr, int n)
{
	int posted = 0, err = 0;

	for (; posted < n && !err; posted += !err)
		err = put_srq_recv(srq, &wr[posted]);
	return posted > 0 ? posted : err;
}
