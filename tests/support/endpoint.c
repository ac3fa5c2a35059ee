/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The test endpoint. Memory comes from malloc at its exact size, so that a sanitizer sees a step
 * over its edge.
 */
#include "endpoint.h"

#include <inttypes.h>

#include "must.h"
#include "opcode.h"

enum {
	PD = 7,
	NET_192_0_2 = 0xc0000200
};

struct endpoint_conf endpoint_defaults(uint32_t id, uint32_t peer_id)
{
	return (struct endpoint_conf){
		.id = 0,
		.ip = NET_192_0_2 + id,
		.peer_ip = NET_192_0_2 + peer_id,
		.qpn = 0x10 + id,
		.mtu_bytes = 1024,
		.sq_psn = 0x10,
		.rq_psn = 0x10,
		.mem_bytes = 1 << 20,
		.caps = {.type = UROCE_QP_RC,
			.max_send_wr = 64,
			.max_recv_wr = 64,
			.max_send_sge = 16,
			.max_recv_sge = 16,
			.max_inline_bytes = 256,
			.max_dest_rd_atomic = 16,
			.window_pkts = 128},
		.attr = {.timeout = 14,
			.retry_cnt = 7,
			.rnr_retry = 7,
			.min_rnr_timer = 1,
			.max_rd_atomic = 16,
			.max_dest_rd_atomic = 16},
		.access = UROCE_ACCESS_REMOTE_WRITE | UROCE_ACCESS_REMOTE_READ |
			UROCE_ACCESS_REMOTE_ATOMIC | UROCE_ACCESS_FLUSH_GLOBAL,
		.signal_all = true,
	};
}

struct uroce_gid endpoint_gid(const struct endpoint_conf *conf, uint32_t ip)
{
	return conf->ipv6 ? (struct uroce_gid){0x20010db8ull << 32, ip} : uroce_gid_of_ipv4(ip);
}

static void init_core(struct endpoint *ep)
{
	struct uroce_core_conf conf = {
		.id = ep->conf.id,
		.mrs = &ep->mrs,
		.qptable = &ep->qptable,
		.timer_heap = ep->timers,
		.max_qps = 1 << ENDPOINT_QPS_LOG2,
		.events = ep->events,
		.num_events = ENDPOINT_EVENTS,
		.trace = ep->trace,
		.num_trace = ENDPOINT_TRACE,
		.local = {.mac = {2, 0, 0, 0, 0, (uint8_t)ep->conf.ip},
			.num_addrs = 1,
			.addrs = {endpoint_gid(&ep->conf, ep->conf.ip)},
			.vlans = {ep->conf.tci & UROCE_TCI_VLAN_MASK}},
		.ahs = ep->ahs,
		.num_ahs = ENDPOINT_AHS,
		.mtu_bytes = ep->conf.mtu_bytes,
	};

	uroce_mr_table_init(&ep->mrs, ep->mr_slots, ENDPOINT_MRS);
	uroce_qptable_init(&ep->qptable, ep->qp_slots, ENDPOINT_QPS_LOG2, 1);
	uroce_core_init(&ep->core, &conf);
}

static void init_qp(struct endpoint *ep)
{
	struct uroce_cmd cmd = {.kind = UROCE_CMD_QP_CREATE,
		.qpn = ep->conf.qpn,
		.pd = PD,
		.signal_all = ep->conf.signal_all,
		.send_cq = ep->cq,
		.recv_cq = ep->cq,
		.srq = ep->srq};

	MUST(uroce_qp_caps_check(&ep->conf.caps) == 0);
	cmd.qp = uroce_qp_init(must_allocate(uroce_qp_bytes(&ep->conf.caps)), &ep->conf.caps);
	MUST(uroce_core_ctrl(&ep->core, &cmd, 0) == 0);
	ep->qp = cmd.qp;
}

static void set_ah(struct endpoint *ep)
{
	struct uroce_cmd cmd = {.kind = UROCE_CMD_AH_SET,
		.ah = {.number = ENDPOINT_AH, .pd = PD, .path = &ep->path}};

	MUST(uroce_core_ctrl(&ep->core, &cmd, 0) == 0);
}

void endpoint_init(struct endpoint *ep, const struct endpoint_conf *conf)
{
	uint32_t cqes = conf->cqes ? conf->cqes : ENDPOINT_CQES;

	memset(ep, 0, sizeof(*ep));
	ep->conf = *conf;
	init_core(ep);
	ep->path = (struct uroce_path){.src = endpoint_gid(conf, conf->ip),
		.dst = endpoint_gid(conf, conf->peer_ip),
		.smac = {2, 0, 0, 0, 0, (uint8_t)conf->ip},
		.dmac = {2, 0, 0, 0, 0, (uint8_t)conf->peer_ip},
		.ttl = 64,
		.tci = conf->tci,
		.vlan = conf->tci & UROCE_TCI_VLAN_MASK,
		.resolved = true};
	ep->cq = must_allocate(uroce_cq_bytes(cqes, 1));
	uroce_cq_init(ep->cq, cqes, 1);
	ep->mem = must_allocate(conf->mem_bytes);
	ep->key = endpoint_register(ep, 0, conf->mem_bytes,
		UROCE_ACCESS_LOCAL_WRITE | UROCE_ACCESS_REMOTE_WRITE | UROCE_ACCESS_REMOTE_READ |
			UROCE_ACCESS_REMOTE_ATOMIC | UROCE_ACCESS_MW_BIND |
			UROCE_ACCESS_FLUSH_GLOBAL);
	if (conf->srq_wr) {
		ep->srq = must_allocate(uroce_srq_bytes(conf->srq_wr, conf->caps.max_recv_sge));
		uroce_srq_init(ep->srq, conf->srq_wr, conf->caps.max_recv_sge);
	}
	set_ah(ep);
	init_qp(ep);
}

void endpoint_fini(struct endpoint *ep)
{
	struct uroce_cmd cmd = {.kind = UROCE_CMD_QP_DESTROY, .qp = ep->qp};

	MUST(uroce_core_ctrl(&ep->core, &cmd, 0) == 0);
	free(ep->qp);
	free(ep->srq);
	free(ep->cq);
	free(ep->mem);
}

int endpoint_modify(struct endpoint *ep, const struct uroce_qp_attr *attr, uint32_t mask)
{
	struct uroce_cmd cmd = {
		.kind = UROCE_CMD_QP_MODIFY, .qp = ep->qp, .attr = *attr, .attr_mask = mask};

	return uroce_core_ctrl(&ep->core, &cmd, 0);
}

struct endpoint_steps endpoint_steps_of(enum uroce_qp_type type)
{
	const uint32_t base = UROCE_QP_ATTR_STATE | UROCE_QP_ATTR_PKEY_INDEX | UROCE_QP_ATTR_PORT;
	const uint32_t peer = UROCE_QP_ATTR_STATE | UROCE_QP_ATTR_AV | UROCE_QP_ATTR_PATH_MTU |
		UROCE_QP_ATTR_DEST_QPN | UROCE_QP_ATTR_RQ_PSN;
	const uint32_t send = UROCE_QP_ATTR_STATE | UROCE_QP_ATTR_SQ_PSN;

	if (type == UROCE_QP_UD)
		return (struct endpoint_steps){
			base | UROCE_QP_ATTR_QKEY, UROCE_QP_ATTR_STATE, send};
	if (type == UROCE_QP_UC)
		return (struct endpoint_steps){base | UROCE_QP_ATTR_ACCESS_FLAGS, peer, send};
	return (struct endpoint_steps){base | UROCE_QP_ATTR_ACCESS_FLAGS,
		peer | UROCE_QP_ATTR_MAX_DEST_RD_ATOMIC | UROCE_QP_ATTR_MIN_RNR_TIMER,
		send | UROCE_QP_ATTR_TIMEOUT | UROCE_QP_ATTR_RETRY_CNT | UROCE_QP_ATTR_RNR_RETRY |
			UROCE_QP_ATTR_MAX_RD_ATOMIC};
}

void endpoint_connect(struct endpoint *ep, uint32_t peer_qpn)
{
	const struct endpoint_steps steps = endpoint_steps_of(ep->conf.caps.type);
	struct uroce_qp_attr attr = ep->conf.attr;

	attr.access = ep->conf.access;
	attr.path = &ep->path;
	attr.path_mtu_bytes = ep->conf.mtu_bytes;
	attr.dest_qpn = peer_qpn;
	attr.rq_psn = ep->conf.rq_psn;
	attr.sq_psn = ep->conf.sq_psn;
	attr.qkey = ep->conf.qkey;
	attr.state = UROCE_QP_INIT;
	MUST(endpoint_modify(ep, &attr, steps.init) == 0);
	attr.state = UROCE_QP_RTR;
	MUST(endpoint_modify(ep, &attr, steps.rtr) == 0);
	attr.state = UROCE_QP_RTS;
	MUST(endpoint_modify(ep, &attr, steps.rts) == 0);
}

/* The fields of a work request that is no plain transfer. */
static void put_rest(struct uroce_send_wqe *wqe, const struct endpoint_wr *wr)
{
	if (wr->ah) {
		wqe->ah = wr->ah;
		wqe->remote_qpn = wr->remote_qpn;
		wqe->remote_qkey = wr->remote_qkey;
	}
	if (wr->opcode == UROCE_WR_FLUSH)
		wqe->bytes = wr->bytes;
	if (wr->opcode != UROCE_WR_BIND_MW && wr->opcode != UROCE_WR_REG_MR)
		return;
	wqe->bytes = wr->bytes;
	wqe->new_key = wr->change.new_key;
	wqe->change_addr = wr->change.addr;
	wqe->change_bytes = wr->change.bytes;
	if (wr->opcode == UROCE_WR_BIND_MW)
		wqe->lkey = wr->change.lkey;
	else
		wqe->ptr = (uintptr_t)wr->change.ptr;
}

bool endpoint_post_send_to(const struct endpoint_to *to, const struct endpoint_wr *wr)
{
	struct uroce_send_wqe *wqe = uroce_ring_reserve(&to->qp->send_ring);

	if (!wqe)
		return false;
	*wqe = (struct uroce_send_wqe){.wr_id = wr->wr_id,
		.opcode = (uint8_t)wr->opcode,
		.flags = (uint8_t)wr->flags,
		.num_segs = (uint16_t)wr->num_segs,
		.imm = wr->imm,
		.rkey = wr->rkey,
		.remote_addr = wr->remote_addr,
		.compare_add = wr->compare_add,
		.swap = wr->swap};
	if (wr->flags & UROCE_SEND_INLINE) {
		wqe->bytes = wr->segs[0].bytes;
		memcpy(uroce_send_wqe_inline(wqe), to->mem + wr->segs[0].offset, wqe->bytes);
	} else {
		for (uint32_t i = 0; i < wr->num_segs; i++)
			uroce_send_wqe_segs(wqe)[i] =
				(struct uroce_seg){(uintptr_t)(to->mem + wr->segs[i].offset),
					wr->segs[i].bytes, wr->lkey ? wr->lkey : to->key};
	}
	put_rest(wqe, wr);
	uroce_ring_advance(&to->qp->send_ring);
	uroce_ring_publish_seq(&to->qp->send_ring);
	uroce_bell_ring(&to->core->bells, &to->qp->bell);
	return true;
}

bool endpoint_post_recv_to(
	const struct endpoint_to *to, uint64_t wr_id, size_t offset, uint32_t bytes)
{
	const struct uroce_seg seg = {(uintptr_t)(to->mem + offset), bytes, to->key};
	struct uroce_recv_wqe *wqe;

	if (to->qp->srq)
		return uroce_srq_post(to->qp->srq, wr_id, &seg, bytes ? 1 : 0);
	wqe = uroce_ring_reserve(&to->qp->recv_ring);
	if (!wqe)
		return false;
	*wqe = (struct uroce_recv_wqe){.wr_id = wr_id, .num_segs = bytes ? 1 : 0, .bytes = bytes};
	if (bytes)
		uroce_recv_wqe_segs(wqe)[0] = seg;
	uroce_ring_advance(&to->qp->recv_ring);
	uroce_ring_publish_seq(&to->qp->recv_ring);
	if (atomic_load(&to->qp->in_error))
		uroce_bell_ring(&to->core->bells, &to->qp->bell);
	return true;
}

static struct endpoint_to own_qp(struct endpoint *ep)
{
	return (struct endpoint_to){&ep->core, ep->qp, ep->mem, ep->key};
}

bool endpoint_post_send(struct endpoint *ep, const struct endpoint_wr *wr)
{
	struct endpoint_to to = own_qp(ep);

	return endpoint_post_send_to(&to, wr);
}

bool endpoint_post_recv(struct endpoint *ep, uint64_t wr_id, size_t offset, uint32_t bytes)
{
	struct endpoint_to to = own_qp(ep);

	return endpoint_post_recv_to(&to, wr_id, offset, bytes);
}

uint32_t endpoint_poll(struct endpoint *ep, struct uroce_cqe *cqes, uint32_t n)
{
	return uroce_cq_pop(ep->cq, cqes, n);
}

uint32_t endpoint_register(struct endpoint *ep, size_t offset, size_t bytes, uint32_t access)
{
	struct uroce_mr_attr attr = {.pd = PD,
		.access = access,
		.ptr = ep->mem + offset,
		.addr = (uintptr_t)(ep->mem + offset),
		.bytes = bytes};
	uint32_t key;

	MUST(uroce_mr_table_add(&ep->mrs, &attr, 42 + offset + bytes, &key) == 0);
	return key;
}

uint32_t endpoint_slot(struct endpoint *ep, enum uroce_mr_kind kind)
{
	struct uroce_mr_attr attr = {.kind = kind, .pd = PD, .area = &ep->area};
	uint32_t key;

	ep->area = (struct uroce_mr_area){ep->mem, ep->conf.mem_bytes};
	MUST(uroce_mr_table_add(&ep->mrs, &attr, 4242 + ep->mrs.used, &key) == 0);
	return key;
}

bool endpoint_counts_add_up(const struct endpoint *ep)
{
	const struct uroce_counters *c = &ep->core.counters;
	uint64_t sum = c->rx_accepted + c->rx_handed_over;

	for (int i = 0; i < UROCE_DROP_COUNT; i++)
		sum += c->drops[i];
	return sum == c->rx_frames;
}

void endpoint_print_trace(const struct endpoint *ep, uint32_t n)
{
	static const char *const kinds[] = {
		"-", "rx", "drop", "tx", "state", "complete", "timer", "rewind", "nak"};
	const struct uroce_trace *trace = &ep->core.trace;
	uint32_t from = trace->next > n ? trace->next - n : 0;

	for (uint32_t i = from; i != trace->next; i++) {
		const struct uroce_trace_event *e = &trace->events[i & trace->mask];
		bool packet = e->kind == UROCE_TRACE_RX || e->kind == UROCE_TRACE_TX;

		printf("  %12" PRIu64 " ns qp 0x%06x %-8s psn 0x%06x a %u b %" PRIu64 " %s\n",
			e->now_ns, e->qpn, kinds[e->kind], e->psn, e->a, e->b,
			packet && uroce_opcodes[e->a & 0xff].name ? uroce_opcodes[e->a & 0xff].name
								  : "");
	}
}
