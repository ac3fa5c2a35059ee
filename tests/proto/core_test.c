/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The core around its queue pairs: frames of other cores, control commands, events, the trace.
 *
 * Most cases have more than the one queue pair of the drill. Those have numbers from 0x40 on and
 * the drill's peer; frames to them say `qp`.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "drill.h"

enum {
	FOREIGN_QPN = 0x99,
	FOREIGN_OWNER = 3,
	OTHER_QPN = 0x40,
};

/* A frame as a burst of one; what the core made of it. */
static struct uroce_pkt take_in(struct drill *d, const char *line)
{
	static uint8_t bytes[DRILL_FRAME_BYTES];
	/* What the last user of this memory left there must not count. */
	struct uroce_pkt pkt = {.data = bytes, .handed_over = true, .owner = 77};

	pkt.bytes = drill_build_frame(d, line, bytes);
	uroce_core_rx(&d->ep.core, d->now_ns, &pkt, 1);
	return pkt;
}

/* ---- frames of other cores ---- */

static void handed_over(struct drill *d)
{
	struct uroce_counters before = d->ep.core.counters;
	uint32_t qpn = FOREIGN_QPN;
	struct uroce_pkt pkt;

	/* An address that nothing lies at: only its owner may look there. */
	expect_number(d,
		uroce_qptable_add(
			&d->ep.qptable, &qpn, (struct uroce_qp *)(uintptr_t)64, FOREIGN_OWNER),
		0);
	pkt = take_in(d, "RDMA_WRITE_ONLY psn +0 ack va 0x1000 len 8 qp 0x99");
	expect_number(d, pkt.handed_over, true);
	expect_number(d, pkt.owner, FOREIGN_OWNER);
	expect_number(d, pkt.drop, UROCE_ACCEPTED);
	pkt = take_in(d, "ACKNOWLEDGE psn +0 ACK qp 0x99");
	expect_number(d, pkt.handed_over, true);
	before.rx_frames += 2;
	before.rx_handed_over += 2;
	expect_number(d, memcmp(&before, &d->ep.core.counters, sizeof(before)), 0);
	expect_memory(d, 0x1000, 8, 0, 0x1000);
	/* Whether it is damaged is for the other to find out. */
	pkt = take_in(d, "RDMA_WRITE_ONLY psn +0 ack va 0x1000 len 8 qp 0x99 badicrc");
	expect_number(d, pkt.handed_over, true);
	expect_number(d, d->ep.core.counters.drops[UROCE_DROP_ICRC], 0);
	/* A frame of this core is handed to nobody. */
	pkt = take_in(d, "RDMA_WRITE_ONLY psn +0 ack len 0");
	expect_number(d, pkt.handed_over, false);
	expect_number(d, pkt.drop, UROCE_ACCEPTED);
	expect(d, "ACKNOWLEDGE psn +0 ACK msn 1");
	expect_number(d, d->ep.qp->report.drops, 0);
	uroce_qptable_remove(&d->ep.qptable, FOREIGN_QPN);
}

static void damaged_is_noted(struct drill *d)
{
	take_in(d, "ACKNOWLEDGE psn +0 ACK badicrc");
	expect_number(d, d->ep.qp->report.drop, UROCE_DROP_ICRC);
	expect_number(d, d->ep.qp->report.drops, 1);
	/* To a number that nobody has: noted nowhere, and no stray either. */
	take_in(d, "ACKNOWLEDGE psn +0 ACK qp 0x99 badicrc");
	expect_number(d, d->ep.qp->report.drops, 1);
	expect_number(d, d->ep.core.stray.qpn, 0);
}

/* ---- more queue pairs ---- */

static struct uroce_cmd create_cmd(struct drill *d, uint32_t qpn)
{
	size_t bytes = uroce_qp_bytes(&d->ep.conf.caps);
	void *memory = aligned_alloc(64, (bytes + 63) / 64 * 64);

	if (!memory)
		abort();
	return (struct uroce_cmd){.kind = UROCE_CMD_QP_CREATE,
		.qp = uroce_qp_init(memory, &d->ep.conf.caps),
		.qpn = qpn,
		.pd = d->ep.qp->pd,
		.signal_all = true,
		.send_cq = d->ep.cq,
		.recv_cq = d->ep.cq};
}

/* One more queue pair towards the peer, in RTS. */
static struct uroce_qp *add_qp(struct drill *d, uint32_t qpn)
{
	struct uroce_cmd cmd = create_cmd(d, qpn);
	struct uroce_qp *first = d->ep.qp;

	expect_number(d, uroce_core_ctrl(&d->ep.core, &cmd, d->now_ns), 0);
	d->ep.qp = cmd.qp;
	endpoint_connect(&d->ep, DRILL_PEER_QPN);
	d->ep.qp = first;
	return cmd.qp;
}

static void remove_qp(struct drill *d, struct uroce_qp *qp)
{
	struct uroce_cmd cmd = {.kind = UROCE_CMD_QP_DESTROY, .qp = qp};

	expect_number(d, uroce_core_ctrl(&d->ep.core, &cmd, d->now_ns), 0);
	free(qp);
}

static void waiting_acks(struct drill *d)
{
	struct uroce_qp *qps[3];

	for (uint32_t i = 0; i < 3; i++) {
		char line[DRILL_TEXT_BYTES];

		qps[i] = add_qp(d, OTHER_QPN + i);
		snprintf(line, sizeof(line), "RDMA_WRITE_ONLY psn +0 len 0 qp %u", OTHER_QPN + i);
		take_in(d, line);
	}
	/* Neither the newest nor the oldest goes first. */
	remove_qp(d, qps[1]);
	idle(d);
	expect(d, "ACKNOWLEDGE psn +0 ACK msn 1; ACKNOWLEDGE psn +0 ACK msn 1; nothing");
	take_in(d, "RDMA_WRITE_ONLY psn +1 len 0 qp 0x42");
	take_in(d, "RDMA_WRITE_ONLY psn +1 len 0 qp 0x40");
	remove_qp(d, qps[2]);
	idle(d);
	expect(d, "ACKNOWLEDGE psn +1 ACK msn 2; nothing");
	take_in(d, "RDMA_WRITE_ONLY psn +2 len 0 qp 0x40");
	remove_qp(d, qps[0]);
	idle(d);
	expect_nothing(d);
	expect_number(d, d->ep.path.users == d->ep.qp, true);
	expect_number(d, d->ep.qp->path_next == NULL, true);
}

static void path_of_many(struct drill *d)
{
	struct uroce_cmd cmd = {.kind = UROCE_CMD_PATH_UPDATE, .path = &d->ep.path};
	struct uroce_qp *qps[2] = {add_qp(d, OTHER_QPN), add_qp(d, OTHER_QPN + 1)};

	cmd.path_new = d->ep.path;
	cmd.path_new.dmac[5] = 0x77;
	cmd.path_new.users = NULL;
	expect_number(d, uroce_core_ctrl(&d->ep.core, &cmd, d->now_ns), 0);
	take_in(d, "RDMA_WRITE_ONLY psn +0 ack len 0 qp 0x40");
	expect(d, "ACKNOWLEDGE psn +0 ACK msn 1");
	expect_number(d, d->frame[5], 0x77);
	take_in(d, "RDMA_WRITE_ONLY psn +0 ack len 0 qp 0x41");
	expect(d, "ACKNOWLEDGE psn +0 ACK msn 1");
	expect_number(d, d->frame[5], 0x77);
	take_in(d, "RDMA_WRITE_ONLY psn +0 ack len 0");
	expect(d, "ACKNOWLEDGE psn +0 ACK msn 1");
	expect_number(d, d->frame[5], 0x77);
	remove_qp(d, qps[0]);
	remove_qp(d, qps[1]);
}

/* Destroys what could not be created, but for what is not known to the core. */
static void not_created(struct drill *d, uint32_t qpn, int err)
{
	struct uroce_cmd cmd = create_cmd(d, qpn);
	uint32_t num = d->ep.core.num_qps, used = d->ep.qptable.used;

	expect_number(d, uroce_core_ctrl(&d->ep.core, &cmd, d->now_ns), err);
	expect_number(d, d->ep.core.num_qps, num);
	expect_number(d, d->ep.qptable.used, used);
	free(cmd.qp);
}

static void creating(struct drill *d)
{
	struct uroce_qp *other;

	d->ep.core.conf.max_qps = 2;
	not_created(d, d->ep.qp->qpn, -EEXIST);
	not_created(d, 0xffffff, -EINVAL);
	other = add_qp(d, OTHER_QPN);
	not_created(d, OTHER_QPN + 1, -ENOSPC);
	/* Number 1 is none of the application's. */
	remove_qp(d, add_qp(d, UROCE_QPN_GSI));
	not_created(d, OTHER_QPN + 1, -ENOSPC);
	remove_qp(d, other);
	/* What is gone makes room. */
	remove_qp(d, add_qp(d, OTHER_QPN + 1));
	/* Twelve of sixteen numbers fit the table. */
	d->ep.core.conf.max_qps = 16;
	for (uint32_t qpn = 0x100; qpn < 0x10b; qpn++)
		expect_number(d, uroce_qptable_add(&d->ep.qptable, &qpn, NULL, FOREIGN_OWNER), 0);
	not_created(d, OTHER_QPN, -ENOMEM);
	for (uint32_t qpn = 0x100; qpn < 0x10b; qpn++)
		uroce_qptable_remove(&d->ep.qptable, qpn);
}

/* ---- other commands ---- */

static void reports(struct drill *d)
{
	struct uroce_cmd cmd = {.kind = UROCE_CMD_QP_REPORT, .qp = d->ep.qp};

	take_in(d, "ACKNOWLEDGE psn +0 ACK qp 0x99");
	expect_number(d, drill_to_state(d, UROCE_QP_SQD), 0);
	expect_number(d, uroce_core_ctrl(&d->ep.core, &cmd, d->now_ns), 0);
	expect_number(d, cmd.attr.state, UROCE_QP_SQD);
	expect_number(d, cmd.attr.cur_state, UROCE_QP_SQD);
	expect_number(d, cmd.attr.path_mtu_bytes, DRILL_MTU);
	expect_number(d, cmd.attr.dest_qpn, DRILL_PEER_QPN);
	expect_number(d, cmd.attr.rq_psn, d->rq_psn);
	expect_number(d, cmd.attr.sq_psn, d->sq_psn);
	expect_number(d, cmd.attr.timeout, d->ep.conf.attr.timeout);
	expect_number(d, cmd.attr.path == &d->ep.path, true);
	expect_number(d, cmd.report.cause, UROCE_CAUSE_NONE);
	expect_number(d, cmd.stray.qpn, 0x99);
	expect_number(d, cmd.stray.src.low, uroce_gid_mapped | d->ep.conf.peer_ip);
	expect_number(d, drill_to_state(d, UROCE_QP_ERR), 0);
	expect_number(d, uroce_core_ctrl(&d->ep.core, &cmd, d->now_ns), 0);
	expect_number(d, cmd.attr.state, UROCE_QP_ERR);
	expect_number(d, cmd.report.cause, UROCE_CAUSE_MODIFIED);
	expect_ended(d);
}

static void other_commands(struct drill *d)
{
	struct uroce_cmd cmd = {.kind = UROCE_CMD_NOTHING, .qp = d->ep.qp};
	const struct uroce_core before = d->ep.core;

	expect_number(d, uroce_core_ctrl(&d->ep.core, &cmd, d->now_ns), 0);
	cmd.kind = (enum uroce_cmd_kind)99;
	expect_number(d, uroce_core_ctrl(&d->ep.core, &cmd, d->now_ns), -EINVAL);
	expect_number(d, memcmp(&before, &d->ep.core, sizeof(before)), 0);
}

/* ---- events ---- */

static void armed_queue(struct drill *d)
{
	for (uint32_t i = 0; i < 3; i++)
		post_recv(d, 200 + i, 0x1000, 64);
	expect_number(d, uroce_cq_arm(d->ep.cq, true), false);
	inject(d, "SEND_ONLY psn +0 ack len 8");
	expect_event(d, "nothing");
	inject(d, "SEND_ONLY psn +1 ack se len 8; SEND_ONLY psn +2 ack se len 8");
	expect_event(d, "CQ_FIRED; nothing");
	expect(d, "ACKNOWLEDGE psn +2 ACK msn 3");
	expect_cqe(d, "recv 200 SUCCESS len 8; recv 201 SUCCESS len 8 se");
	expect_cqe(d, "recv 202 SUCCESS len 8 se");
}

static void unread_events(struct drill *d)
{
	/* Room for one. */
	d->ep.core.events.mask = 0;
	post(d, "SEND 100 len 4");
	expect(d, "SEND_ONLY psn +0 ack len 4");
	expect_number(d, uroce_cq_arm(d->ep.cq, false), false);
	inject(d, "RDMA_WRITE_ONLY psn +0 ack rkey 0xbad00 len 8");
	expect(d, "ACKNOWLEDGE psn +0 NAK remote-access-error msn 0");
	expect_cqe(d, "send 100 WR_FLUSH_ERR");
	/* The access error came first; the end found no room. The armed queue's waits for it. */
	expect_event(d, "QP_ACCESS_ERR; CQ_FIRED; nothing");
	expect_number(d, d->ep.core.counters.events_lost, 1);
}

static void an_armed_queue_waits_for_room(struct drill *d)
{
	struct uroce_core_event event = {.type = UROCE_EVENT_COMM_EST, .qpn = d->ep.qp->qpn};

	d->ep.core.events.mask = 0;
	for (uint32_t i = 0; i < 3; i++)
		post_recv(d, 200 + i, 0x1000, 64);
	expect_number(d, uroce_events_push(&d->ep.core.events, event), true);
	/* One event for each arm, however late. */
	for (uint32_t i = 0; i < 2; i++) {
		expect_number(d, uroce_cq_arm(d->ep.cq, false), false);
		inject(d, "SEND_ONLY psn +%u ack len 8", i);
		expect_cqe(d, "recv %u SUCCESS len 8", 200 + i);
	}
	expect_number(d, uroce_events_any(&d->ep.core.events), true);
	expect_event(d, "COMM_EST; CQ_FIRED; CQ_FIRED; nothing");
	expect_number(d, uroce_events_any(&d->ep.core.events), false);
	/* And again. */
	expect_number(d, uroce_events_push(&d->ep.core.events, event), true);
	expect_number(d, uroce_cq_arm(d->ep.cq, false), false);
	inject(d, "SEND_ONLY psn +2 ack len 8");
	expect_event(d, "COMM_EST; CQ_FIRED; nothing");
	expect_cqe(d, "recv 202 SUCCESS len 8");
	expect(d, "ACKNOWLEDGE psn +2 ACK msn 3");
	expect_number(d, d->ep.core.counters.events_lost, 0);
}

/* ---- the trace ---- */

static void no_trace(struct drill *d)
{
	struct uroce_core_conf conf = d->ep.core.conf;
	struct uroce_pkt pkt = {.bytes = 5, .data = d->frame};
	struct uroce_core core;

	conf.trace = NULL;
	conf.num_trace = 0;
	conf.path_wait_ns = 5;
	uroce_core_init(&core, &conf);
	uroce_core_rx(&core, 0, &pkt, 1);
	expect_number(d, pkt.drop, UROCE_DROP_FRAME_TOO_SHORT);
	expect_number(d, core.trace.next, 0);
	/* Nor is a time that was given replaced by the default. */
	expect_number(d, core.conf.path_wait_ns, 5);
	expect_number(d, d->ep.core.conf.path_wait_ns, 3 * DRILL_S);
}

/* The newest event of the trace but `back`, against what it has to be. */
static void traced(
	struct drill *d, uint32_t back, enum uroce_trace_kind kind, uint32_t psn, uint32_t a)
{
	const struct uroce_trace *trace = &d->ep.core.trace;
	const struct uroce_trace_event *e = &trace->events[(trace->next - 1 - back) & trace->mask];

	expect_number(d, e->kind, kind);
	expect_number(d, e->qpn, d->ep.qp->qpn);
	expect_number(d, e->psn, psn);
	expect_number(d, e->a, a);
}

static void trace(struct drill *d)
{
	d->now_ns = 1000;
	post(d, "SEND 100 len 4");
	expect(d, "SEND_ONLY psn +0 ack len 4");
	traced(d, 0, UROCE_TRACE_TX, d->sq_psn, 0x04);
	inject(d, "ACKNOWLEDGE psn +0 ACK");
	expect_cqe(d, "send 100 SUCCESS len 4");
	traced(d, 1, UROCE_TRACE_RX, d->sq_psn, 0x11);
	traced(d, 0, UROCE_TRACE_COMPLETE, 0, UROCE_STATUS_SUCCESS);
	post(d, "SEND 101 len 4");
	expect(d, "SEND_ONLY psn +1 ack len 4");
	pass(d, 4096ull << 14);
	traced(d, 1, UROCE_TRACE_TIMER, (d->sq_psn + 1) & 0xffffff, 7);
	traced(d, 0, UROCE_TRACE_REWIND, (d->sq_psn + 1) & 0xffffff, 0);
	expect(d, "SEND_ONLY psn +1 ack len 4");
	inject_dropped(d, UROCE_DROP_GHOST_RESPONSE, "ACKNOWLEDGE psn +2 ACK");
	traced(d, 0, UROCE_TRACE_DROP, (d->sq_psn + 2) & 0xffffff, UROCE_DROP_GHOST_RESPONSE);
	inject_dropped(d, UROCE_DROP_REQUEST_REFUSED, "SEND_MIDDLE psn +0 len 256");
	traced(d, 1, UROCE_TRACE_COMPLETE, 0, UROCE_STATUS_WR_FLUSH_ERR);
	traced(d, 2, UROCE_TRACE_STATE, 0, UROCE_QP_ERR);
	traced(d, 3, UROCE_TRACE_NAK, d->rq_psn, UROCE_SYNDROME_NAK_INVALID_REQUEST);
	expect(d, "ACKNOWLEDGE psn +0 NAK invalid-request msn 0");
	expect_cqe(d, "send 101 WR_FLUSH_ERR");
	expect_event(d, "QP_REQ_ERR");
	expect_ended(d);
	expect_number(d, drill_to_state(d, UROCE_QP_RESET), 0);
	traced(d, 0, UROCE_TRACE_STATE, 0, UROCE_QP_RESET);
}

static void resized_queue(struct drill *d)
{
	struct uroce_cmd cmd = {.kind = UROCE_CMD_CQ_RESIZE, .cq = d->ep.cq, .resize_capacity = 2};
	void *entries = aligned_alloc(64, uroce_cq_ring_bytes(2));

	cmd.resize_entries = entries;
	post_recv(d, 200, 0x1000, 8);
	inject(d, "SEND_ONLY psn +0 ack len 8");
	expect(d, "ACKNOWLEDGE psn +0 ACK msn 1");
	expect_number(d, uroce_core_ctrl(&d->ep.core, &cmd, 0), 0);
	expect_cqe(d, "recv 200 SUCCESS len 8");
	for (uint64_t i = 0; i < 3; i++)
		post_recv(d, i, 0x1000, 8);
	inject(d, "SEND_ONLY psn +1 len 8; SEND_ONLY psn +2 len 8; SEND_ONLY psn +3 len 8");
	expect_event(d, "CQ_ERR; QP_FATAL; LAST_WQE_REACHED");
	expect_cqe(d, "recv 0 SUCCESS len 8; recv 1 SUCCESS len 8");
	expect_state(d, UROCE_QP_ERR);
	/* The drill's end polls a queue that is freed. */
	cmd.resize_capacity = ENDPOINT_CQES;
	cmd.resize_entries = d->ep.cq->rings + 1;
	expect_number(d, uroce_core_ctrl(&d->ep.core, &cmd, 0), 0);
	free(entries);
}

static void lost_limit_event(struct drill *d)
{
	struct endpoint_conf conf = drill_conf(d);
	struct uroce_core_event event = {.type = UROCE_EVENT_COMM_EST};

	conf.srq_wr = 4;
	drill_restart(d, &conf);
	post_recv(d, 200, 0x1000, 8);
	uroce_srq_arm(d->ep.srq, 2);
	while (uroce_events_push(&d->ep.core.events, event))
		;
	inject(d, "SEND_ONLY psn +0 ack len 8");
	expect(d, "ACKNOWLEDGE psn +0 ACK msn 1");
	expect_cqe(d, "recv 200 SUCCESS len 8");
	expect_number(d, d->ep.core.counters.events_lost, 1);
	while (uroce_core_events(&d->ep.core, &event, 1) == 1)
		;
}

int main(void)
{
	static const struct drill_case cases[] = {
		{"a frame for another core's queue pair is handed over as it is", handed_over},
		{"a damaged frame is noted at the queue pair that it names", damaged_is_noted},
		{"acknowledgements of several queue pairs wait, and those that go are left out",
			waiting_acks},
		{"a path that changes changes for all who use it", path_of_many},
		{"a queue pair that cannot be created leaves nothing behind", creating},
		{"a report says what is set and what went wrong", reports},
		{"no command does nothing, and an unknown one is refused", other_commands},
		{"an armed completion queue fires once", armed_queue},
		{"events that nobody reads are counted", unread_events},
		{"the event of an armed queue waits for room", an_armed_queue_waits_for_room},
		{"a core without a trace writes none", no_trace},
		{"a completion queue's ring moves, with what is in it", resized_queue},
		{"a limit event that finds no room is counted", lost_limit_event},
		{"the trace tells what happened", trace},
	};

	return DRILL_SUITE("core", cases);
}
