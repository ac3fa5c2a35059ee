/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Congestion notifications, in both directions (annex A17.9): what is marked is answered, now and
 * then; who is told slows down, if he is to. What is forged or damaged does neither. A packet is
 * marked by its IP header: "tos 3".
 */
#include <stdlib.h>
#include <string.h>

#include "drill.h"

#define CNP_NS 50000ull /* between two of one flow, at the least */

static void start(struct drill *d, enum uroce_qp_type type, bool dcqcn)
{
	struct endpoint_conf conf = drill_conf(d);

	conf.caps.type = type;
	conf.caps.dcqcn = dcqcn;
	drill_restart(d, &conf);
}

static uint64_t rate(const struct drill *d)
{
	return d->ep.qp->cc.dcqcn.rate_bps;
}

/* ---- notifying ---- */

static void marked_data(struct drill *d)
{
	static const uint8_t reserved[16];

	inject(d, "RDMA_WRITE_ONLY psn +0 ack va 0x1000 len 64 tos 3");
	expect(d, "CNP psn +0 becn len 16");
	expect_number(d, d->frame_bytes, 74);
	expect_number(d, d->frame[15], 0xc2);
	expect_number(d,
		memcmp(d->frame + 42, "\x81\x00\xff\xff\x40\x00\x00\x22\x00\x00\x00\x00", 12), 0);
	expect_number(d, memcmp(d->frame + 54, reserved, sizeof(reserved)), 0);
	expect(d, "ACKNOWLEDGE psn +0 ACK msn 1");
	expect_number(d, d->frame[15], 0);
	expect_memory(d, 0x1000, 64, 1, 0);
	expect_number(d, d->ep.core.counters.np_ecn_marked_roce_packets, 1);
	expect_number(d, d->ep.core.counters.np_cnp_sent, 1);
}

static void capable_is_not_marked(struct drill *d)
{
	for (uint32_t tos = 0; tos < 256; tos++) {
		if ((tos & 3) == 3)
			continue;
		inject(d, "RDMA_WRITE_ONLY psn +0 ack va 0x1000 len 64 tos %u", tos);
		expect(d, "ACKNOWLEDGE psn +0 ACK msn 1");
	}
	expect_number(d, d->ep.core.counters.np_ecn_marked_roce_packets, 0);
}

static void now_and_then(struct drill *d)
{
	inject(d, "RDMA_WRITE_ONLY psn +0 va 0x1000 len 64 tos 3");
	expect(d, "CNP psn +0 becn len 16");
	for (uint32_t i = 1; i <= 10; i++) {
		d->now_ns += i < 10 ? CNP_NS / 10 : CNP_NS / 10 - 1;
		inject(d, "RDMA_WRITE_ONLY psn +%u va 0x1000 len 64 tos 255", i);
		expect_nothing(d);
	}
	d->now_ns += 1;
	inject(d, "RDMA_WRITE_ONLY psn +11 va 0x1000 len 64");
	expect_nothing(d);
	inject(d, "RDMA_WRITE_ONLY psn +12 va 0x1000 len 64 tos 3");
	expect(d, "CNP psn +0 becn len 16");
	idle(d);
	expect(d, "ACKNOWLEDGE psn +12 ACK msn 13");
	expect_number(d, d->ep.core.counters.np_ecn_marked_roce_packets, 12);
	expect_number(d, d->ep.core.counters.np_cnp_sent, 2);
}

static struct uroce_qp *another_flow(struct drill *d)
{
	const struct endpoint_steps steps = endpoint_steps_of(UROCE_QP_RC);
	const uint32_t masks[] = {steps.init, steps.rtr, steps.rts};
	const struct uroce_qp *like = d->ep.qp;
	size_t bytes = (uroce_qp_bytes(&like->caps) + 63) / 64 * 64;
	void *memory = aligned_alloc(64, bytes);
	struct uroce_cmd cmd = {.kind = UROCE_CMD_QP_CREATE,
		.qpn = 0x99,
		.pd = like->pd,
		.send_cq = like->send_cq,
		.recv_cq = like->recv_cq};

	if (!memory)
		abort();
	cmd.qp = uroce_qp_init(memory, &like->caps);
	expect_number(d, uroce_core_ctrl(&d->ep.core, &cmd, d->now_ns), 0);
	cmd.kind = UROCE_CMD_QP_MODIFY;
	cmd.attr = like->attr;
	for (int i = 0; i < 3; i++) {
		cmd.attr.state = (enum uroce_qp_state)(UROCE_QP_INIT + i);
		cmd.attr_mask = masks[i];
		expect_number(d, uroce_core_ctrl(&d->ep.core, &cmd, d->now_ns), 0);
	}
	return cmd.qp;
}

static void each_flow_its_own(struct drill *d)
{
	struct uroce_cmd cmd = {.kind = UROCE_CMD_QP_DESTROY, .qp = another_flow(d)};

	inject(d,
		"RDMA_WRITE_ONLY psn +0 va 0x1000 len 64 tos 3; "
		"RDMA_WRITE_ONLY psn +0 va 0x1000 len 64 tos 3 qp 0x99");
	expect(d, "CNP psn +0 becn len 16; CNP psn +0 becn len 16");
	idle(d);
	expect(d, "ACKNOWLEDGE psn +0 ACK msn 1; ACKNOWLEDGE psn +0 ACK msn 1");
	expect_number(d, uroce_core_ctrl(&d->ep.core, &cmd, d->now_ns), 0);
	free(cmd.qp);
}

static void without_data(struct drill *d)
{
	post(d, "WRITE 100 len 8");
	expect(d, "RDMA_WRITE_ONLY psn +0 ack va 0x1000 rkey 0x00000abc dma_len 8 len 8");
	inject(d, "ACKNOWLEDGE psn +0 ACK tos 3");
	expect_cqe(d, "write 100 SUCCESS len 8");
	inject(d, "RDMA_READ_REQUEST psn +0 va 0x1000 dma 8 tos 3");
	expect(d, "RDMA_READ_RESPONSE_ONLY psn +0 ACK msn 1 len 8");
	inject(d, "RDMA_WRITE_ONLY psn +1 ack va 0x1000 len 0 tos 3");
	expect(d, "ACKNOWLEDGE psn +1 ACK msn 2");
	expect_number(d, d->ep.core.counters.np_ecn_marked_roce_packets, 3);
}

static void marked_answers(struct drill *d)
{
	post(d, "READ 100 len 300");
	expect(d, "RDMA_READ_REQUEST psn +0 ack va 0x1000 rkey 0x00000abc dma_len 300");
	inject(d, "RDMA_READ_RESPONSE_FIRST psn +0 ACK len 256 tos 3");
	expect(d, "CNP psn +0 becn len 16");
	inject(d, "RDMA_READ_RESPONSE_LAST psn +1 ACK len 44 tos 3");
	expect_cqe(d, "read 100 SUCCESS len 300");
}

/* What is not executed has come through the same queues. */
static void marked_again(struct drill *d)
{
	inject(d, "RDMA_WRITE_ONLY psn +0 ack va 0x1000 len 64");
	expect(d, "ACKNOWLEDGE psn +0 ACK msn 1");
	inject(d, "RDMA_WRITE_ONLY psn +0 ack va 0x1000 len 64 tos 3");
	expect(d, "CNP psn +0 becn len 16; ACKNOWLEDGE psn +0 ACK msn 1");
	d->now_ns += CNP_NS;
	inject_dropped(d, UROCE_DROP_PSN_AHEAD, "RDMA_WRITE_ONLY psn +2 va 0x1000 len 64 tos 3");
	expect(d, "CNP psn +0 becn len 16; ACKNOWLEDGE psn +1 NAK psn-sequence-error msn 1");
}

static void forged_or_damaged(struct drill *d)
{
	inject_dropped(d, UROCE_DROP_ICRC, "RDMA_WRITE_ONLY psn +0 va 0x1000 len 64 tos 3 badicrc");
	inject_dropped(d, UROCE_DROP_SGID_NOT_PEER,
		"RDMA_WRITE_ONLY psn +0 va 0x1000 len 64 tos 3 src 0xc0000263");
	inject_dropped(
		d, UROCE_DROP_PKEY, "RDMA_WRITE_ONLY psn +0 va 0x1000 len 64 tos 3 pkey 0x1234");
	inject_dropped(d, UROCE_DROP_QPN_UNKNOWN, "RDMA_WRITE_ONLY psn +0 len 64 tos 3 qp 0x999");
	inject_dropped(d, UROCE_DROP_OPCODE_NOT_FOR_QP, "UC_SEND_ONLY psn +0 len 64 tos 3");
	drill_to_state(d, UROCE_QP_ERR);
	expect_ended(d);
	inject_dropped(d, UROCE_DROP_QP_STATE, "RDMA_WRITE_ONLY psn +0 va 0x1000 len 64 tos 3");
	expect_nothing(d);
	expect_number(d, d->ep.core.counters.np_ecn_marked_roce_packets, 0);
}

static void before_what_is_owed(struct drill *d)
{
	inject(d, "RDMA_READ_REQUEST psn +0 va 0x4000 dma 600");
	inject(d, "RDMA_WRITE_ONLY psn +3 ack va 0x1000 len 64 tos 3");
	expect(d,
		"CNP psn +0 becn len 16; RDMA_READ_RESPONSE_FIRST psn +0 ACK msn 2 len 256; "
		"RDMA_READ_RESPONSE_MIDDLE psn +1 len 256; "
		"RDMA_READ_RESPONSE_LAST psn +2 ACK msn 2 len 88; "
		"ACKNOWLEDGE psn +3 ACK msn 2");
}

static void without_a_mac(struct drill *d)
{
	struct uroce_cmd cmd = {.kind = UROCE_CMD_PATH_UPDATE, .path = &d->ep.path};

	cmd.path_new = d->ep.path;
	cmd.path_new.resolved = false;
	uroce_core_ctrl(&d->ep.core, &cmd, d->now_ns);
	inject(d, "RDMA_WRITE_ONLY psn +0 va 0x1000 len 64 tos 3");
	expect_nothing(d);
	cmd.path_new.resolved = true;
	uroce_core_ctrl(&d->ep.core, &cmd, d->now_ns);
	expect(d, "CNP psn +0 becn len 16");
	idle(d);
	expect(d, "ACKNOWLEDGE psn +0 ACK msn 1");
}

static void forgotten_by_reset(struct drill *d)
{
	inject(d, "RDMA_WRITE_ONLY psn +0 va 0x1000 len 64 tos 3");
	drill_to_state(d, UROCE_QP_RESET);
	expect_nothing(d);
	expect_number(d, d->ep.qp->cc.cnp_owed, false);
}

static void forgotten_in_error(struct drill *d)
{
	inject(d, "RDMA_WRITE_ONLY psn +0 va 0x1000 len 64 tos 3");
	drill_to_state(d, UROCE_QP_ERR);
	expect_ended(d);
	expect_nothing(d);
}

static void of_unreliable_connections(struct drill *d)
{
	start(d, UROCE_QP_UC, false);
	inject(d, "UC_RDMA_WRITE_ONLY psn +0 va 0x1000 len 64 tos 3");
	expect(d, "CNP psn +0 becn len 16");
}

static void of_datagrams(struct drill *d)
{
	start(d, UROCE_QP_UD, false);
	post_recv(d, 200, 0x1000, 256);
	inject(d, "UD_SEND_ONLY psn +0 len 64 tos 3");
	expect_nothing(d);
	expect_cqe(d, "recv 200 SUCCESS len 104 grh src 0x22");
	expect_number(d, d->ep.core.counters.np_ecn_marked_roce_packets, 0);
}

/* ---- being notified ---- */

static void slows_down(struct drill *d)
{
	start(d, UROCE_QP_RC, true);
	expect_number(d, rate(d), 0);
	inject(d, "CNP psn +0 len 16 tos 0xc2 sport 0 ecn");
	expect_number(d, rate(d), 5000000000);
	expect_number(d, d->ep.core.counters.rp_cnp_handled, 1);
	expect_number(d, d->ep.core.counters.rp_cnp_ignored, 0);
	/* And never acknowledged; its PSN is nothing. */
	expect_nothing(d);
	inject(d, "RDMA_WRITE_ONLY psn +0 ack va 0x1000 len 8");
	expect(d, "ACKNOWLEDGE psn +0 ACK msn 1");
	d->now_ns += 10 * DRILL_US;
	inject(d, "CNP psn +77 len 16");
	expect_number(d, rate(d), 2500000000);
}

static void unreliable_slows_down(struct drill *d)
{
	start(d, UROCE_QP_UC, true);
	inject(d, "CNP psn +0 len 16");
	expect_number(d, rate(d), 5000000000);
}

static void repeated_by_the_wire(struct drill *d)
{
	start(d, UROCE_QP_RC, true);
	inject(d, "CNP psn +0 len 16; CNP psn +0 len 16");
	d->now_ns += 3999;
	inject(d, "CNP psn +0 len 16");
	expect_number(d, rate(d), 5000000000);
	expect_number(d, d->ep.core.counters.rp_cnp_handled, 3);
}

static void is_ignored(struct drill *d)
{
	inject_dropped(d, UROCE_DROP_CNP, "CNP psn +0 len 16");
	expect_number(d, d->ep.core.counters.rp_cnp_ignored, 1);
	expect_number(d, d->ep.core.counters.rp_cnp_handled, 0);
	expect_number(d, d->ep.qp->cc.paced, false);
	start(d, UROCE_QP_UD, false);
	inject_dropped(d, UROCE_DROP_OPCODE_NOT_FOR_QP, "CNP psn +0 len 16");
}

static void is_forged(struct drill *d)
{
	start(d, UROCE_QP_RC, true);
	inject_dropped(d, UROCE_DROP_ICRC, "CNP psn +0 len 16 badicrc");
	inject_dropped(d, UROCE_DROP_SGID_NOT_PEER, "CNP psn +0 len 16 src 0xc0000263");
	inject_dropped(d, UROCE_DROP_QPN_UNKNOWN, "CNP psn +0 len 16 qp 0x999");
	inject_dropped(d, UROCE_DROP_NOT_A_MEMBER, "CNP psn +0 len 16 qp 0xffffff");
	inject_dropped(d, UROCE_DROP_PKEY, "CNP psn +0 len 16 pkey 0x1234");
	expect_number(d, rate(d), 0);
	drill_to_state(d, UROCE_QP_RESET);
	inject_dropped(d, UROCE_DROP_QP_STATE, "CNP psn +0 len 16");
	expect_number(d, d->ep.core.counters.rp_cnp_handled, 0);
}

static void is_itself_marked(struct drill *d)
{
	start(d, UROCE_QP_RC, true);
	inject(d, "CNP psn +0 len 16 tos 0xc3");
	expect_nothing(d);
	expect_number(d, rate(d), 5000000000);
}

/* ---- ECN ---- */

static void says_so(struct drill *d)
{
	const struct uroce_qp_attr off = {.dcqcn = false}, on = {.dcqcn = true};

	post(d, "SEND 100 len 8");
	expect(d, "SEND_ONLY psn +0 ack len 8");
	expect_number(d, d->frame[15], 0);
	expect_number(d, drill_modify(d, &on, UROCE_QP_ATTR_DCQCN), 0);
	post(d, "SEND 101 len 8");
	expect(d, "SEND_ONLY psn +1 ack len 8");
	expect_number(d, d->frame[15], 2);
	inject(d, "RDMA_READ_REQUEST psn +0 va 0x1000 dma 8");
	expect(d, "RDMA_READ_RESPONSE_ONLY psn +0 ACK msn 1 len 8");
	expect_number(d, d->frame[15], 2);
	expect_number(d, drill_modify(d, &off, UROCE_QP_ATTR_DCQCN), 0);
	post(d, "SEND 102 len 8");
	expect(d, "SEND_ONLY psn +2 ack len 8");
	expect_number(d, d->frame[15], 0);
	inject(d, "ACKNOWLEDGE psn +2 ACK");
	expect_cqe(d, "send 100 SUCCESS len 8; send 101 SUCCESS len 8; send 102 SUCCESS len 8");
}

static void off_again(struct drill *d)
{
	const struct uroce_qp_attr off = {.dcqcn = false};

	start(d, UROCE_QP_RC, true);
	inject(d, "CNP psn +0 len 16");
	expect_number(d, d->ep.qp->cc.paced, true);
	expect_number(d, drill_modify(d, &off, UROCE_QP_ATTR_DCQCN), 0);
	expect_number(d, d->ep.qp->cc.paced, false);
	inject_dropped(d, UROCE_DROP_CNP, "CNP psn +0 len 16");
	/* And after RESET as it was made. */
	drill_to_state(d, UROCE_QP_RESET);
	expect_number(d, d->ep.qp->attr.dcqcn, true);
	expect_number(d, rate(d), 0);
}

int main(void)
{
	static const struct drill_case cases[] = {
		{"data that was marked on its way is answered by a notification", marked_data},
		{"what might have been marked and was not is no congestion", capable_is_not_marked},
		{"a flow is notified each 50 us at most", now_and_then},
		{"flows are notified each for itself", each_flow_its_own},
		{"who sends no data is not told to send less", without_data},
		{"read responses that were marked are answered too", marked_answers},
		{"repeated and early packets came through the same queues", marked_again},
		{"marks on forged or damaged packets are nothing", forged_or_damaged},
		{"a notification comes before all answers", before_what_is_owed},
		{"a notification waits for the peer's MAC", without_a_mac},
		{"RESET owes no notification", forgotten_by_reset},
		{"ERR owes no notification", forgotten_in_error},
		{"unreliable connections notify", of_unreliable_connections},
		{"datagrams notify nobody", of_datagrams},
		{"a notified queue pair slows down", slows_down},
		{"a notified unreliable connection slows down", unreliable_slows_down},
		{"a notification that the wire repeats counts once", repeated_by_the_wire},
		{"without DCQCN a notification is counted, and that is all", is_ignored},
		{"forged notifications slow down nobody", is_forged},
		{"a notification is never answered by one", is_itself_marked},
		{"with DCQCN packets say that they may be marked", says_so},
		{"DCQCN can be switched off", off_again},
	};

	return DRILL_SUITE("cnp", cases);
}
