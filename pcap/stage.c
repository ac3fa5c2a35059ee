/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Setting the stage.
 *
 * A window of 2^23 packets, so that reads are asked for whole and nothing waits for
 * acknowledgements that a capture may not have; the largest number of reads, so that only the
 * peer's limits count.
 */
#include "pcap/stage.h"

#include <errno.h>
#include <stdlib.h>

#include "qp_state.h"

enum {
	PD = 1,
	QPS_LOG2 = 4,
	CQES = 3 * UROCE_STAGE_WR,
	RD_ATOMIC = UROCE_RD_ATOMIC_MAX
};

static void *allocate(size_t bytes)
{
	size_t line = UROCE_CACHE_LINE_BYTES;
	void *p = aligned_alloc(line, (bytes + line - 1) / line * line);

	if (p)
		memset(p, 0, bytes);
	return p;
}

static void init_core(struct uroce_stage *stage, const struct uroce_stage_conf *conf)
{
	struct uroce_core_conf core = {
		.mrs = &stage->mrs,
		.qptable = &stage->qptable,
		.timer_heap = stage->timers,
		.max_qps = 1,
		.events = stage->events,
		.num_events = 64,
		/* A capture at the sender may have been taken before the checksum was filled in. */
		.local = {.promiscuous = true,
			.ignore_ipv4_checksum = true,
			.num_addrs = uroce_gid_is_multicast(conf->addr) ? 0 : 1,
			.addrs = {conf->addr},
			.vlans = {conf->tci & UROCE_TCI_VLAN_MASK}},
		.ahs = stage->ahs,
		.num_ahs = 2,
		.mtu_bytes = conf->mtu_bytes,
	};

	uroce_mr_table_init(&stage->mrs, stage->mr_slots, UROCE_STAGE_MRS);
	uroce_qptable_init(&stage->qptable, stage->qp_slots, QPS_LOG2, 1);
	uroce_core_init(&stage->core, &core);
	stage->path = (struct uroce_path){.src = conf->addr,
		.dst = conf->peer_addr,
		.tci = conf->tci,
		.vlan = conf->tci & UROCE_TCI_VLAN_MASK,
		.ttl = 64,
		.resolved = true};
	memcpy(stage->path.smac, conf->mac, 6);
	memcpy(stage->path.dmac, conf->peer_mac, 6);
	stage->ahs[UROCE_STAGE_AH] =
		(struct uroce_ah_slot){.number = UROCE_STAGE_AH, .pd = PD, .path = &stage->path};
}

static int advance(
	struct uroce_stage *stage, enum uroce_qp_state from, const struct uroce_qp_attr *attr)
{
	struct uroce_cmd cmd = {.kind = UROCE_CMD_QP_MODIFY,
		.qp = stage->qp,
		.attr = *attr,
		.attr_mask = uroce_qp_attrs_required(stage->qp->caps.type, from, attr->state)};

	return uroce_core_ctrl(&stage->core, &cmd, 0);
}

static int connect_qp(struct uroce_stage *stage, const struct uroce_stage_conf *conf)
{
	struct uroce_qp_attr attr = {
		.state = UROCE_QP_INIT,
		.access = UROCE_ACCESS_REMOTE_WRITE | UROCE_ACCESS_REMOTE_READ |
			UROCE_ACCESS_REMOTE_ATOMIC,
		.path = &stage->path,
		.path_mtu_bytes = conf->mtu_bytes,
		.dest_qpn = conf->peer_qpn,
		.rq_psn = conf->rq_psn,
		.sq_psn = conf->sq_psn,
		.qkey = conf->qkey,
		.timeout = conf->timeout,
		.retry_cnt = conf->retry_cnt,
		.rnr_retry = UROCE_RNR_RETRY_INFINITE,
		.min_rnr_timer = conf->min_rnr_timer,
		.max_rd_atomic = RD_ATOMIC,
		.max_dest_rd_atomic = RD_ATOMIC,
	};
	int err = advance(stage, UROCE_QP_RESET, &attr);

	attr.state = UROCE_QP_RTR;
	if (!err)
		err = advance(stage, UROCE_QP_INIT, &attr);
	attr.state = UROCE_QP_RTS;
	return err ? err : advance(stage, UROCE_QP_RTR, &attr);
}

/* Group and member, where the frames are sent to a group. */
static int join(struct uroce_stage *stage, struct uroce_gid group)
{
	struct uroce_cmd set = {.kind = UROCE_CMD_GROUP_SET, .group = {.addr = group}};
	struct uroce_cmd join = {.kind = UROCE_CMD_JOIN, .member = &stage->member};
	int err = uroce_core_ctrl(&stage->core, &set, 0);

	stage->member = (struct uroce_group_member){.qp = stage->qp, .addr = group};
	return err ? err : uroce_core_ctrl(&stage->core, &join, 0);
}

int uroce_stage_init(struct uroce_stage *stage, const struct uroce_stage_conf *conf)
{
	const struct uroce_qp_caps caps = {.type = conf->type,
		.max_send_wr = UROCE_STAGE_WR,
		.max_recv_wr = UROCE_STAGE_WR,
		.max_send_sge = 1,
		.max_recv_sge = 1,
		.max_dest_rd_atomic = RD_ATOMIC,
		.window_pkts = UROCE_PSN_OUTSTANDING_MAX};
	struct uroce_cmd cmd = {.kind = UROCE_CMD_QP_CREATE, .qpn = conf->qpn, .pd = PD};
	void *memory;
	int err;

	memset(stage, 0, sizeof(*stage));
	init_core(stage, conf);
	stage->cq = allocate(uroce_cq_bytes(CQES, 1));
	memory = allocate(uroce_qp_bytes(&caps));
	if (!stage->cq || !memory) {
		free(memory);
		return -ENOMEM;
	}
	uroce_cq_init(stage->cq, CQES, 1);
	stage->qp = cmd.qp = uroce_qp_init(memory, &caps);
	cmd.send_cq = cmd.recv_cq = stage->cq;
	err = uroce_core_ctrl(&stage->core, &cmd, 0);
	if (!err)
		err = connect_qp(stage, conf);
	if (!err && uroce_gid_is_multicast(conf->addr))
		err = join(stage, conf->addr);
	return err;
}

void uroce_stage_fini(struct uroce_stage *stage)
{
	free(stage->qp);
	free(stage->cq);
	stage->qp = NULL;
	stage->cq = NULL;
}

int uroce_stage_register(
	struct uroce_stage *stage, uint32_t *key, uint64_t va, uint64_t bytes, uint8_t *ptr)
{
	struct uroce_mr_attr attr = {.pd = PD,
		.key = *key,
		.addr = va,
		.bytes = bytes,
		.ptr = ptr,
		.access = UROCE_ACCESS_LOCAL_WRITE | UROCE_ACCESS_REMOTE_WRITE |
			UROCE_ACCESS_REMOTE_READ | UROCE_ACCESS_REMOTE_ATOMIC};

	return uroce_mr_table_add(&stage->mrs, &attr, 1, key);
}

void uroce_stage_post_send(
	struct uroce_stage *stage, const struct uroce_send_wqe *wqe, struct uroce_seg seg)
{
	struct uroce_send_wqe *slot = uroce_ring_reserve(&stage->qp->send_ring);

	if (!slot)
		return;
	*slot = *wqe;
	slot->flags |= UROCE_SEND_SIGNALED;
	slot->num_segs = seg.bytes ? 1 : 0;
	*uroce_send_wqe_segs(slot) = seg;
	uroce_ring_advance(&stage->qp->send_ring);
	uroce_ring_publish_seq(&stage->qp->send_ring);
	uroce_bell_ring(&stage->core.bells, &stage->qp->bell);
}

void uroce_stage_post_recv(struct uroce_stage *stage, struct uroce_seg seg)
{
	struct uroce_recv_wqe *slot = uroce_ring_reserve(&stage->qp->recv_ring);

	if (!slot)
		return;
	*slot = (struct uroce_recv_wqe){.num_segs = seg.bytes ? 1 : 0};
	*uroce_recv_wqe_segs(slot) = seg;
	uroce_ring_advance(&stage->qp->recv_ring);
	uroce_ring_publish_seq(&stage->qp->recv_ring);
}

void uroce_stage_rx(struct uroce_stage *stage, const uint8_t *data, uint32_t bytes)
{
	struct uroce_pkt pkt;

	memset(&pkt, 0, sizeof(pkt));
	pkt.data = data;
	pkt.bytes = bytes;
	uroce_core_rx(&stage->core, stage->now_ns, &pkt, 1);
}

uint32_t uroce_stage_tx(struct uroce_stage *stage, uint8_t *data)
{
	struct uroce_slot slot = {.data = data, .capacity_bytes = UROCE_STAGE_FRAME_BYTES};

	return uroce_core_tx(&stage->core, stage->now_ns, &slot, 1) == 1 ? slot.bytes : 0;
}

static void count(struct uroce_stage *stage, const struct uroce_cqe *cqe)
{
	if (cqe->status == UROCE_STATUS_SUCCESS && cqe->opcode >= UROCE_WC_RECV) {
		stage->received++;
	} else if (cqe->status == UROCE_STATUS_SUCCESS) {
		stage->completed++;
	} else if (stage->failed++ == 0) {
		stage->first_failure = cqe->status;
	}
}

void uroce_stage_drain(struct uroce_stage *stage)
{
	struct uroce_core_event events[8];
	struct uroce_cqe cqes[32];
	uint32_t n;

	do {
		n = uroce_cq_pop(stage->cq, cqes, 32);
		for (uint32_t i = 0; i < n; i++)
			count(stage, &cqes[i]);
	} while (n > 0);
	while (uroce_core_events(&stage->core, events, 8) == 8)
		;
}
