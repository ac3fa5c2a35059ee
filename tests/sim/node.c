/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Hosts of a simulated network. Memory comes from malloc at its exact size, so that a sanitizer
 * sees a step over its edge.
 */
#include "node.h"

#include "must.h"

enum {
	PD = 7,
	FIRST_IP = 0xc0000201, /* 192.0.2.1 */
	SRQ_SGE = 1,
	RIGHTS = UROCE_ACCESS_LOCAL_WRITE | UROCE_ACCESS_REMOTE_WRITE | UROCE_ACCESS_REMOTE_READ |
		UROCE_ACCESS_REMOTE_ATOMIC | UROCE_ACCESS_FLUSH_GLOBAL | UROCE_ACCESS_MW_BIND,
};

struct node_qp_conf node_qp_defaults(uint32_t peer_node, uint32_t peer_qp)
{
	const struct endpoint_conf one = endpoint_defaults(1, 2);

	return (struct node_qp_conf){
		.peer_node = peer_node,
		.peer_qp = peer_qp,
		.mtu_bytes = one.mtu_bytes,
		.sq_psn = one.sq_psn,
		.rq_psn = one.rq_psn,
		.caps = one.caps,
		.attr = one.attr,
		.access = RIGHTS & UROCE_ACCESS_REMOTE_ALL,
		.signal_all = one.signal_all,
	};
}

static void init_core(struct node *node)
{
	uint32_t log2 = 5, ahs = uroce_ring_round_up(node->num_qps + 1);
	struct uroce_core_conf conf = {
		.mrs = &node->mrs,
		.qptable = &node->qptable,
		.max_qps = node->num_qps,
		.events = node->events,
		.num_events = NODE_EVENTS,
		.trace = node->trace,
		.num_trace = NODE_TRACE,
		.local = {.num_addrs = 1, .addrs = {uroce_gid_of_ipv4(node->ip)}},
		.num_ahs = ahs,
		.mtu_bytes = NODE_MTU,
	};

	while ((1u << log2) < 2 * node->num_qps)
		log2++;
	node->qp_slots = must_allocate(sizeof(node->qp_slots[0]) << log2);
	node->timers =
		must_allocate(sizeof(node->timers[0]) * (UROCE_QP_TIMERS * node->num_qps + 1));
	node->ahs = must_allocate(sizeof(node->ahs[0]) * ahs);
	conf.timer_heap = node->timers;
	conf.ahs = node->ahs;
	memcpy(conf.local.mac, node->mac, sizeof(node->mac));
	uroce_mr_table_init(&node->mrs, node->mr_slots, NODE_MRS);
	uroce_qptable_init(&node->qptable, node->qp_slots, log2, node->number + 1);
	uroce_core_init(&node->core, &conf);
}

static void init_memory(struct node *node, size_t bytes)
{
	struct uroce_mr_attr attr = {.pd = PD, .access = RIGHTS, .bytes = bytes};

	node->mem_bytes = bytes;
	node->mem = malloc(bytes);
	MUST(node->mem);
	memset(node->mem, 0, bytes);
	attr.ptr = node->mem;
	attr.addr = (uintptr_t)node->mem;
	MUST(uroce_mr_table_add(&node->mrs, &attr, 42 + node->number, &node->key) == 0);
}

uint32_t node_add_key(struct node *node, enum uroce_mr_kind kind)
{
	struct uroce_mr_attr attr = {.kind = kind, .pd = PD, .area = &node->area};
	uint32_t key;

	node->area = (struct uroce_mr_area){node->mem, node->mem_bytes};
	MUST(uroce_mr_table_add(&node->mrs, &attr, 4242 + node->mrs.used, &key) == 0);
	return key;
}

static void init_qp(struct node *node, struct node_qp *qp, const struct node_qp_conf *conf)
{
	struct uroce_cmd cmd = {.kind = UROCE_CMD_QP_CREATE,
		.qpn = conf->qpn,
		.pd = PD,
		.signal_all = conf->signal_all,
		.send_cq = node->cqs[conf->send_cq],
		.recv_cq = node->cqs[conf->recv_cq],
		.srq = conf->shares_recvs ? node->srq : NULL};

	qp->conf = *conf;
	MUST(uroce_qp_caps_check(&conf->caps) == 0);
	cmd.qp = uroce_qp_init(must_allocate(uroce_qp_bytes(&conf->caps)), &conf->caps);
	MUST(uroce_core_ctrl(&node->core, &cmd, 0) == 0);
	qp->qp = cmd.qp;
}

void node_init(struct node *node, uint32_t number, const struct node_conf *conf)
{
	memset(node, 0, sizeof(*node));
	node->number = number;
	node->ip = FIRST_IP + number;
	node->mac[0] = 2;
	uroce_store_be32(node->mac + 2, node->ip);
	node->num_qps = conf->num_qps;
	init_core(node);
	init_memory(node, conf->mem_bytes);
	node->num_cqs = conf->num_cqs;
	node->cqs = must_allocate(sizeof(node->cqs[0]) * conf->num_cqs);
	for (uint32_t i = 0; i < conf->num_cqs; i++) {
		node->cqs[i] = must_allocate(uroce_cq_bytes(conf->cqes, 1));
		uroce_cq_init(node->cqs[i], conf->cqes, 1);
	}
	if (conf->srq_wr) {
		node->srq = must_allocate(uroce_srq_bytes(conf->srq_wr, SRQ_SGE));
		uroce_srq_init(node->srq, conf->srq_wr, SRQ_SGE);
	}
	node->qps = must_allocate(sizeof(node->qps[0]) * (conf->num_qps + 1));
	for (uint32_t i = 0; i < conf->num_qps; i++)
		init_qp(node, &node->qps[i], &conf->qps[i]);
}

void node_fini(struct node *node)
{
	for (uint32_t i = 0; i < node->num_qps; i++) {
		struct uroce_cmd cmd = {.kind = UROCE_CMD_QP_DESTROY, .qp = node->qps[i].qp};

		MUST(uroce_core_ctrl(&node->core, &cmd, 0) == 0);
		free(node->qps[i].qp);
	}
	for (uint32_t i = 0; i < node->num_cqs; i++)
		free(node->cqs[i]);
	free(node->cqs);
	free(node->srq);
	free(node->qps);
	free(node->qp_slots);
	free(node->timers);
	free(node->ahs);
	free(node->mem);
}

static void change(struct node *node, struct node_qp *qp, const struct uroce_qp_attr *attr,
	uint32_t mask, uint64_t now_ns)
{
	struct uroce_cmd cmd = {
		.kind = UROCE_CMD_QP_MODIFY, .qp = qp->qp, .attr = *attr, .attr_mask = mask};

	MUST(uroce_core_ctrl(&node->core, &cmd, now_ns) == 0);
}

/* The address handle that datagrams of this queue pair go by. */
static void set_handle(struct node *node, uint32_t index)
{
	struct uroce_cmd cmd = {.kind = UROCE_CMD_AH_SET,
		.ah = {.number = index + 1, .pd = PD, .path = &node->qps[index].path}};

	MUST(uroce_core_ctrl(&node->core, &cmd, 0) == 0);
}

void node_connect(struct node *node, uint32_t index, const struct node *peer, uint64_t now_ns)
{
	struct node_qp *qp = &node->qps[index];
	const struct endpoint_steps steps = endpoint_steps_of(qp->conf.caps.type);
	struct uroce_qp_attr attr = qp->conf.attr;

	attr.state = UROCE_QP_RESET;
	change(node, qp, &attr, UROCE_QP_ATTR_STATE, now_ns);
	qp->path = (struct uroce_path){.src = uroce_gid_of_ipv4(node->ip),
		.dst = uroce_gid_of_ipv4(peer->ip),
		.ttl = 64,
		.resolved = true};
	memcpy(qp->path.smac, node->mac, sizeof(node->mac));
	memcpy(qp->path.dmac, peer->mac, sizeof(peer->mac));
	attr.access = qp->conf.access;
	attr.path = &qp->path;
	attr.path_mtu_bytes = qp->conf.mtu_bytes;
	attr.dest_qpn = qp->peer_qpn = peer->qps[qp->conf.peer_qp].qp->qpn;
	attr.rq_psn = qp->conf.rq_psn;
	attr.sq_psn = qp->conf.sq_psn;
	attr.qkey = NODE_QKEY;
	attr.state = UROCE_QP_INIT;
	change(node, qp, &attr, steps.init, now_ns);
	attr.state = UROCE_QP_RTR;
	change(node, qp, &attr, steps.rtr, now_ns);
	attr.state = UROCE_QP_RTS;
	change(node, qp, &attr, steps.rts, now_ns);
	set_handle(node, index);
}

static struct endpoint_to to_qp(struct node *node, uint32_t qp)
{
	return (struct endpoint_to){&node->core, node->qps[qp].qp, node->mem, node->key};
}

bool node_post_send(struct node *node, uint32_t qp, const struct endpoint_wr *wr)
{
	struct endpoint_to to = to_qp(node, qp);
	struct endpoint_wr datagram = *wr;

	if (node->qps[qp].conf.caps.type != UROCE_QP_UD)
		return endpoint_post_send_to(&to, wr);
	datagram.ah = qp + 1;
	datagram.remote_qpn = node->qps[qp].peer_qpn;
	datagram.remote_qkey = NODE_QKEY;
	return endpoint_post_send_to(&to, &datagram);
}

bool node_post_recv(struct node *node, uint32_t qp, uint64_t wr_id, size_t offset, uint32_t bytes)
{
	struct endpoint_to to = to_qp(node, qp);

	return endpoint_post_recv_to(&to, wr_id, offset, bytes);
}

bool node_post_shared_recv(struct node *node, uint64_t wr_id, size_t offset, uint32_t bytes)
{
	const struct uroce_seg seg = {(uintptr_t)(node->mem + offset), bytes, node->key};

	return uroce_srq_post(node->srq, wr_id, &seg, bytes ? 1 : 0);
}

uint32_t node_poll(struct node *node, uint32_t cq, struct uroce_cqe *cqes, uint32_t n)
{
	return uroce_cq_pop(node->cqs[cq], cqes, n);
}

uint32_t node_qp_of(const struct node *node, uint32_t qpn)
{
	for (uint32_t i = 0; i < node->num_qps; i++)
		if (node->qps[i].qp->qpn == qpn)
			return i;
	return UINT32_MAX;
}

bool node_counts_add_up(const struct node *node)
{
	const struct uroce_counters *c = &node->core.counters;
	uint64_t sum = c->rx_accepted + c->rx_handed_over;

	for (int i = 0; i < UROCE_DROP_COUNT; i++)
		sum += c->drops[i];
	return sum == c->rx_frames;
}
