/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The core: demultiplexing, the transmit loop, timers, control commands.
 *
 * On receive a frame passes through checks that each need only what the ones before have proved:
 * lengths, ICRC, number, state, addresses, partition; then it is the responder's or the
 * completer's. On transmit flows take turns by bytes. Every frame is counted exactly once:
 * accepted, handed over, or under its reason.
 */
#include "core.h"

#include <errno.h>

#include "build.h"
#include "cc.h"
#include "comp.h"
#include "dgram.h"
#include "qp_state.h"
#include "req.h"
#include "resp.h"

enum {
	QUANTUM_BYTES = 16384,
	FULL_BURSTS_BEFORE_TIMERS = 8,
};

#define PATH_WAIT_DEFAULT_NS 3000000000ull

void uroce_core_init(struct uroce_core *core, const struct uroce_core_conf *conf)
{
	memset(core, 0, sizeof(*core));
	core->conf = *conf;
	core->mrs = conf->mrs;
	if (core->conf.path_wait_ns == 0)
		core->conf.path_wait_ns = PATH_WAIT_DEFAULT_NS;
	uroce_dcqcn_conf_complete(&core->conf.dcqcn);
	uroce_timers_init(&core->timers, conf->timer_heap, conf->max_qps);
	uroce_timers_init(&core->paces, conf->timer_heap + conf->max_qps, conf->max_qps);
	core->events.ring = conf->events;
	core->events.mask = conf->num_events - 1;
	core->trace.events = conf->trace;
	core->trace.mask = conf->num_trace ? conf->num_trace - 1 : 0;
}

/* ---- receive ---- */

static void note_drop(
	struct uroce_qp *qp, const struct uroce_pkt *pkt, enum uroce_drop drop, uint64_t now_ns)
{
	struct uroce_qp_report *report = &qp->report;

	report->drop = drop;
	report->drop_psn = pkt->psn;
	report->drop_src = pkt->src;
	report->drop_ns = now_ns;
	report->drops++;
}

/* Notifications are for connections of either kind: datagrams have no rate of their own. */
static bool service_fits(const struct uroce_qp *qp, enum uroce_service service)
{
	static const enum uroce_service services[] = {[UROCE_QP_RC] = UROCE_SERVICE_RC,
		[UROCE_QP_UC] = UROCE_SERVICE_UC,
		[UROCE_QP_UD] = UROCE_SERVICE_UD};

	return services[qp->caps.type] == service ||
		(service == UROCE_SERVICE_CNP && qp->caps.type != UROCE_QP_UD);
}

/* Service, state, addresses and partition: may this frame be for the queue pair at all? */
static enum uroce_drop check_peer(const struct uroce_qp *qp, const struct uroce_pkt *pkt)
{
	if (!service_fits(qp, pkt->op->service))
		return UROCE_DROP_OPCODE_NOT_FOR_QP;
	if (!uroce_qp_receives(qp))
		return UROCE_DROP_QP_STATE;
	if (qp->caps.type != UROCE_QP_UD) {
		if (!uroce_gid_equal(pkt->src, qp->path->dst))
			return UROCE_DROP_SGID_NOT_PEER;
		if (!uroce_gid_equal(pkt->dst, qp->path->src) ||
			uroce_pkt_vlan(pkt) != qp->path->vlan)
			return UROCE_DROP_DGID_NOT_QP;
	}
	/* One partition, full membership: a limited member may talk to us. */
	if ((pkt->pkey & UROCE_PKEY_BASE_MASK) != (UROCE_PKEY_DEFAULT & UROCE_PKEY_BASE_MASK))
		return UROCE_DROP_PKEY;
	return UROCE_ACCEPTED;
}

static enum uroce_drop rx_service(
	struct uroce_core *core, struct uroce_qp *qp, const struct uroce_pkt *pkt, uint64_t now_ns)
{
	if (qp->caps.type == UROCE_QP_UD)
		return uroce_dgram_rx(core, qp, pkt, now_ns);
	if (pkt->op->kind == UROCE_OP_CNP)
		return uroce_cc_rx_cnp(core, qp, now_ns);
	if (pkt->op->request)
		return uroce_resp_rx(core, qp, pkt, now_ns);
	return uroce_comp_rx(core, qp, pkt, now_ns);
}

enum uroce_drop uroce_core_rx_qp(
	struct uroce_core *core, struct uroce_qp *qp, const struct uroce_pkt *pkt, uint64_t now_ns)
{
	enum uroce_drop drop = check_peer(qp, pkt);

	if (drop == UROCE_ACCEPTED) {
		if (pkt->ecn == UROCE_ECN_CE)
			uroce_cc_marked(core, qp, pkt, now_ns);
		drop = rx_service(core, qp, pkt, now_ns);
	}
	if (drop != UROCE_ACCEPTED) {
		note_drop(qp, pkt, drop, now_ns);
		return drop;
	}
	qp->report.heard = true;
	qp->report.heard_ns = now_ns;
	qp->report.heard_psn = pkt->psn;
	return UROCE_ACCEPTED;
}

/* A frame of a core's whose number is the multicast number: for the members of its group. */
static enum uroce_drop rx_group(struct uroce_core *core, struct uroce_pkt *pkt, uint64_t now_ns)
{
	if (!pkt->group || pkt->dqpn != UROCE_QPN_MULTICAST)
		return UROCE_DROP_NOT_A_MEMBER;
	return uroce_dgram_rx_group(core, pkt, now_ns);
}

/*
 * Whether a frame is for another core, which will look at all of it: for `owner` if `others`, by
 * its number, or for the one whose group it is.
 */
static bool hand_over(
	const struct uroce_core *core, struct uroce_pkt *pkt, bool others, uint32_t owner)
{
	if (pkt->group || pkt->dqpn == UROCE_QPN_MULTICAST) {
		owner = pkt->group ? pkt->group->owner : core->conf.id;
		others = pkt->dqpn == UROCE_QPN_MULTICAST && owner != core->conf.id;
	}
	if (others) {
		pkt->handed_over = true;
		pkt->owner = (uint8_t)owner;
	}
	return others;
}

static enum uroce_drop rx_one(struct uroce_core *core, struct uroce_pkt *pkt, uint64_t now_ns)
{
	enum uroce_drop drop = uroce_parse(&core->conf.local, pkt);
	struct uroce_qp *qp;
	uint32_t owner = 0;
	bool found, mine;

	if (drop != UROCE_ACCEPTED)
		return drop;
	found = uroce_qptable_find(core->conf.qptable, pkt->dqpn, &qp, &owner);
	mine = found && owner == core->conf.id;
	/* Before the ICRC, which costs more than all the rest: who gets it checks that, once. */
	if (hand_over(core, pkt, found && !mine, owner))
		return UROCE_ACCEPTED;
	if (core->conf.icrc_mode == UROCE_ICRC_VERIFY && !uroce_pkt_icrc_check(pkt)) {
		/* Not believed, but worth a note: "nothing heard" has a cause. */
		if (mine)
			note_drop(qp, pkt, UROCE_DROP_ICRC, now_ns);
		return UROCE_DROP_ICRC;
	}
	if (pkt->udp_checksum_wrong)
		uroce_count(core, udp_checksum_wrong);
	if (pkt->group || pkt->dqpn == UROCE_QPN_MULTICAST)
		return rx_group(core, pkt, now_ns);
	if (!found) {
		core->stray = (struct uroce_stray){pkt->src, pkt->dqpn, pkt->psn, now_ns};
		return UROCE_DROP_QPN_UNKNOWN;
	}
	uroce_trace_push(&core->trace, now_ns, UROCE_TRACE_RX, pkt->dqpn, pkt->psn, pkt->op->number,
		pkt->payload_bytes);
	return uroce_core_rx_qp(core, qp, pkt, now_ns);
}

void uroce_core_rx(struct uroce_core *core, uint64_t now_ns, struct uroce_pkt *pkts, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		struct uroce_pkt *pkt = &pkts[i];

		pkt->handed_over = false;
		pkt->drop = rx_one(core, pkt, now_ns);
		uroce_count(core, rx_frames);
		if (pkt->handed_over) {
			uroce_count(core, rx_handed_over);
		} else if (pkt->drop == UROCE_ACCEPTED) {
			uroce_count(core, rx_accepted);
		} else {
			uroce_count(core, drops[pkt->drop]);
			uroce_trace_push(&core->trace, now_ns, UROCE_TRACE_DROP, pkt->dqpn,
				pkt->psn, pkt->drop, 0);
		}
	}
	if (n > 0)
		core->rx_full_bursts++;
}

void uroce_core_rx_empty(struct uroce_core *core, uint64_t now_ns)
{
	core->rx_empty_ns = now_ns;
	core->rx_full_bursts = 0;
	if (core->idle_acks)
		uroce_resp_idle(core);
}

/* ---- timers ---- */

static struct uroce_qp *qp_of_timer(struct uroce_timer *timer)
{
	return (struct uroce_qp *)(void *)((uint8_t *)timer -
		offsetof(struct uroce_qp, comp.timer));
}

void uroce_core_expire(struct uroce_core *core, uint64_t now_ns)
{
	uint64_t until_ns = now_ns;
	struct uroce_timer *timer;

	/* What may be answered by a frame that still waits in a queue has not expired yet. */
	if (core->rx_full_bursts < FULL_BURSTS_BEFORE_TIMERS && core->rx_empty_ns < until_ns)
		until_ns = core->rx_empty_ns;
	while ((timer = uroce_timers_expire(&core->timers, until_ns)))
		uroce_comp_expire(core, qp_of_timer(timer), now_ns);
	while ((timer = uroce_timers_expire(&core->paces, now_ns)))
		uroce_cc_expire(core, timer, now_ns);
}

uint64_t uroce_core_next_deadline(struct uroce_core *core)
{
	uint64_t answer_ns = uroce_timers_next(&core->timers);
	uint64_t pace_ns = uroce_timers_next(&core->paces);

	return pace_ns < answer_ns ? pace_ns : answer_ns;
}

/* ---- transmit ---- */

/* Takes the application's new entries of one queue pair. */
static void attend(struct uroce_core *core, struct uroce_bell *bell)
{
	struct uroce_qp *qp = bell->qp;

	/* Cleared first: what is posted after the look below rings again (see ready.h). */
	atomic_store(&bell->rung, 0);
	if (qp->state == UROCE_QP_ERR || qp->state == UROCE_QP_SQE) {
		uroce_qp_flush(core, qp);
		return;
	}
	uroce_req_pull(qp);
	if (qp->req.at != qp->req.tail)
		uroce_core_wake_requests(core, qp);
}

static void attend_bells(struct uroce_core *core)
{
	struct uroce_bell *bell = uroce_bells_take(&core->bells);
	struct uroce_bell *next, *in_order = NULL;

	for (; bell; bell = next) {
		next = bell->next;
		bell->next = in_order;
		in_order = bell;
	}
	for (bell = in_order; bell; bell = next) {
		next = bell->next;
		attend(core, bell);
	}
}

/* Lets one flow send until its share or the slots are used up. */
static uint32_t serve(struct uroce_core *core, struct uroce_flow *flow, struct uroce_slot *slots,
	uint32_t n, uint64_t now_ns)
{
	struct uroce_qp *qp = flow->qp;
	uint32_t used = 0;

	if (flow->deficit_bytes <= 0)
		flow->deficit_bytes += QUANTUM_BYTES;
	while (used < n && flow->deficit_bytes > 0) {
		const uint8_t *bth;
		uint32_t bytes = flow->kind == UROCE_FLOW_REQUESTS
			? uroce_req_build(core, qp, &slots[used], now_ns)
			: uroce_resp_build(core, qp, &slots[used], now_ns);

		if (bytes == 0) {
			uroce_ready_remove(&core->ready, flow);
			return used;
		}
		bth = uroce_frame_bth(slots[used].data);
		uroce_trace_push(&core->trace, now_ns, UROCE_TRACE_TX, qp->qpn,
			uroce_load_be24(bth + UROCE_BTH_PSN), bth[UROCE_BTH_OPCODE], bytes);
		flow->deficit_bytes -= (int32_t)bytes;
		used++;
	}
	if (flow->deficit_bytes <= 0)
		uroce_ready_rotate(&core->ready);
	return used;
}

uint32_t uroce_core_tx(
	struct uroce_core *core, uint64_t now_ns, struct uroce_slot *slots, uint32_t n)
{
	uint32_t used = 0;

	attend_bells(core);
	while (used < n && core->ready.head)
		used += serve(core, core->ready.head, slots + used, n - used, now_ns);
	return used;
}

/* ---- control ---- */

static int create(struct uroce_core *core, struct uroce_cmd *cmd)
{
	struct uroce_qp *qp = cmd->qp;
	bool counts = cmd->qpn != UROCE_QPN_GSI;
	int err;

	if (counts && core->num_qps >= core->conf.max_qps)
		return -ENOSPC;
	qp->core = core;
	qp->pd = cmd->pd;
	qp->signal_all = cmd->signal_all;
	qp->send_cq = cmd->send_cq;
	qp->recv_cq = cmd->recv_cq;
	qp->srq = cmd->srq;
	uroce_qp_clear(core, qp);
	/* The number last: a frame may come as soon as it is there, to this very thread. */
	err = uroce_qptable_add(core->conf.qptable, &cmd->qpn, qp, core->conf.id);
	if (err)
		return err;
	qp->qpn = cmd->qpn;
	core->num_qps += counts;
	return 0;
}

static void destroy(struct uroce_core *core, struct uroce_qp *qp, uint64_t now_ns)
{
	const struct uroce_qp_attr reset = {.state = UROCE_QP_RESET};

	/* A rung bell is on the list of bells; attended, it is not. */
	attend_bells(core);
	uroce_qptable_remove(core->conf.qptable, qp->qpn);
	uroce_qp_change(core, qp, &reset, UROCE_QP_ATTR_STATE, now_ns);
	uroce_dgram_leave_all(core, qp);
	uroce_timer_remove(&core->timers, &qp->comp.timer);
	uroce_timer_remove(&core->paces, &qp->cc.timer);
	core->num_qps -= qp->qpn != UROCE_QPN_GSI;
}

static void update_path(struct uroce_core *core, struct uroce_cmd *cmd, uint64_t now_ns)
{
	struct uroce_path *path = cmd->path;
	struct uroce_qp *users = path->users;

	*path = cmd->path_new;
	path->users = users;
	for (struct uroce_qp *qp = users; qp; qp = qp->path_next)
		uroce_qp_path_changed(core, qp, now_ns);
}

static void report(const struct uroce_core *core, struct uroce_cmd *cmd)
{
	const struct uroce_qp *qp = cmd->qp;

	cmd->attr = qp->attr;
	cmd->attr.state = cmd->attr.cur_state = qp->state;
	cmd->report = qp->report;
	cmd->stray = core->stray;
}

static struct uroce_ah_slot *ah_slot(struct uroce_core *core, uint32_t number)
{
	return &core->conf.ahs[number & (core->conf.num_ahs - 1)];
}

static int leave(struct uroce_core *core, struct uroce_cmd *cmd)
{
	cmd->member = uroce_dgram_leave(core, cmd->qp, cmd->group.addr);
	return cmd->member ? 0 : -ENOENT;
}

static int set_group(struct uroce_local *local, const struct uroce_local_group *group)
{
	uint32_t at = uroce_local_find_group(local, group->addr);

	if (at == UROCE_LOCAL_GROUPS_MAX)
		return -ENOSPC;
	local->groups[at] = *group;
	if (at == local->num_groups)
		local->num_groups++;
	return 0;
}

static void clear_group(struct uroce_local *local, struct uroce_gid addr)
{
	uint32_t at = uroce_local_find_group(local, addr);

	if (at < local->num_groups)
		local->groups[at] = local->groups[--local->num_groups];
}

int uroce_core_ctrl(struct uroce_core *core, struct uroce_cmd *cmd, uint64_t now_ns)
{
	switch (cmd->kind) {
	case UROCE_CMD_QP_CREATE:
		return create(core, cmd);
	case UROCE_CMD_QP_MODIFY:
		return uroce_qp_change(core, cmd->qp, &cmd->attr, cmd->attr_mask, now_ns);
	case UROCE_CMD_QP_DESTROY:
		destroy(core, cmd->qp, now_ns);
		return 0;
	case UROCE_CMD_QP_REPORT:
		report(core, cmd);
		return 0;
	case UROCE_CMD_PATH_UPDATE:
		update_path(core, cmd, now_ns);
		return 0;
	case UROCE_CMD_AH_SET:
		*ah_slot(core, cmd->ah.number) = cmd->ah;
		return 0;
	case UROCE_CMD_AH_CLEAR:
		if (ah_slot(core, cmd->ah.number)->number == cmd->ah.number)
			*ah_slot(core, cmd->ah.number) = (struct uroce_ah_slot){0};
		return 0;
	case UROCE_CMD_JOIN:
		return uroce_dgram_join(core, cmd->member);
	case UROCE_CMD_LEAVE:
		return leave(core, cmd);
	case UROCE_CMD_GROUP_SET:
		return set_group(&core->conf.local, &cmd->group);
	case UROCE_CMD_GROUP_CLEAR:
		clear_group(&core->conf.local, cmd->group.addr);
		return 0;
	case UROCE_CMD_CQ_RESIZE:
		return uroce_cq_move_ring(
			cmd->cq, core->conf.id, cmd->resize_entries, cmd->resize_capacity);
	case UROCE_CMD_NOTHING:
		return 0;
	}
	return -EINVAL;
}

uint32_t uroce_core_events(struct uroce_core *core, struct uroce_core_event *out, uint32_t n)
{
	return uroce_events_pop(&core->events, out, n);
}
