/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Datagrams: Q_Keys, address handles, the 40 bytes in front, groups (InfiniBand 9.8.3, A17.4.5.2).
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "drill.h"

enum {
	QKEY = 0x11111111
};

#define GROUP 0xe0000105u /* 224.0.1.5 */

#define GROUP_MAC "dst 0xe0000105 dmac 0x01005e000105 qp 0xffffff"

static void start(struct drill *d)
{
	struct endpoint_conf conf = drill_conf(d);

	conf.caps.type = UROCE_QP_UD;
	conf.qkey = QKEY;
	drill_restart(d, &conf);
}

/* ---- sending ---- */

static void sends(struct drill *d)
{
	start(d);
	post(d, "SEND 100 len 256 at 0x2000 ah 0x11 qpn 0x22 qkey 0x1234");
	expect(d, "UD_SEND_ONLY psn +0 qkey 0x00001234 sqpn 0x000011 len 256");
	expect_payload(d, 0, 0x2000);
	expect_cqe(d, "send 100 SUCCESS len 256");
	post(d, "SEND_IMM 101 len 3 imm 0x99 ah 0x11 qpn 0x22 qkey 0x1234 se");
	expect(d,
		"UD_SEND_ONLY_WITH_IMMEDIATE psn +1 se pad 1 qkey 0x00001234 sqpn 0x000011 "
		"imm 0x00000099 len 3");
	expect_cqe(d, "send 101 SUCCESS len 3");
	post(d, "SEND 102 ah 0x11 qpn 0x33 qkey 0");
	expect(d, "UD_SEND_ONLY qp 0x000033 psn +2 qkey 0x00000000 sqpn 0x000011 len 0");
	expect_cqe(d, "send 102 SUCCESS len 0");
}

static void inline_and_segments(struct drill *d)
{
	start(d);
	post(d, "SEND 100 len 100 at 0x2000 inline ah 0x11 qpn 0x22 qkey 1");
	expect(d, "UD_SEND_ONLY psn +0 qkey 0x00000001 sqpn 0x000011 len 100");
	expect_payload(d, 0, 0x2000);
	post(d, "SEND 101 len 250 at 0x2000 segs 5 ah 0x11 qpn 0x22 qkey 1");
	expect(d, "UD_SEND_ONLY psn +1 pad 2 qkey 0x00000001 sqpn 0x000011 len 250");
	expect_payload(d, 0, 0x2000);
	expect_cqe(d, "send 100 SUCCESS len 100; send 101 SUCCESS len 250");
}

static void a_controlled_qkey_is_the_queue_pairs_own(struct drill *d)
{
	start(d);
	post(d, "SEND 100 len 4 ah 0x11 qpn 0x22 qkey 0x80000000");
	expect(d, "UD_SEND_ONLY psn +0 qkey 0x11111111 sqpn 0x000011 len 4");
	post(d, "SEND 101 len 4 ah 0x11 qpn 0x22 qkey 0x7fffffff");
	expect(d, "UD_SEND_ONLY psn +1 qkey 0x7fffffff sqpn 0x000011 len 4");
	expect_cqe(d, "send 100 SUCCESS len 4; send 101 SUCCESS len 4");
}

static int recover(struct drill *d)
{
	const struct uroce_qp_attr attr = {.state = UROCE_QP_RTS};

	return drill_modify(d, &attr, UROCE_QP_ATTR_STATE);
}

static void what_cannot_be_sent_leads_to_sqe(struct drill *d)
{
	static const struct {
		const char *wr, *cqe;
		enum uroce_cause cause;
	} bad[] = {
		{"SEND 100 len 257 ah 0x11 qpn 0x22", "send 100 LOC_QP_OP_ERR",
			UROCE_CAUSE_MALFORMED_WQE},
		{"SEND 100 len 8 ah 0x12 qpn 0x22", "send 100 LOC_QP_OP_ERR why 0x12",
			UROCE_CAUSE_ADDRESS_HANDLE},
		{"SEND 100 len 8 ah 0x15 qpn 0x22", "send 100 LOC_QP_OP_ERR why 0x15",
			UROCE_CAUSE_ADDRESS_HANDLE},
		{"SEND 100 len 8 lkey 0x666 ah 0x11 qpn 0x22", "send 100 LOC_PROT_ERR why 0x1",
			UROCE_CAUSE_LOCAL_MEMORY},
		{"WRITE 100 len 8 ah 0x11 qpn 0x22", "write 100 LOC_QP_OP_ERR",
			UROCE_CAUSE_MALFORMED_WQE},
		{"LOCAL_INV 100 key 5", "inv 100 LOC_QP_OP_ERR", UROCE_CAUSE_MALFORMED_WQE},
	};

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		start(d);
		post(d, "%s", bad[i].wr);
		post(d, "SEND 101 len 8 ah 0x11 qpn 0x22");
		expect_nothing(d);
		expect_cqe(d, "%s; send 101 WR_FLUSH_ERR", bad[i].cqe);
		expect_state(d, UROCE_QP_SQE);
		expect_number(d, d->ep.qp->report.cause, bad[i].cause);
		post_recv(d, 200, 0x1000, 48);
		inject(d, "UD_SEND_ONLY psn +0 len 8");
		expect_cqe(d, "recv 200 SUCCESS len 48 grh src 0x22");
		expect_number(d, recover(d), 0);
		post(d, "SEND 102 len 8 ah 0x11 qpn 0x22");
		drill_expect(d, __FILE__, __LINE__,
			"UD_SEND_ONLY psn +%d qkey 0x00000000 sqpn 0x000011 len 8",
			bad[i].cause == UROCE_CAUSE_MALFORMED_WQE ? 0 : 1);
		expect_cqe(d, "send 102 SUCCESS len 8");
	}
}

/* It waits for its neighbour, and those behind it; then it fails for a reason that is told. */
static void an_unresolved_handle_is_waited_for(struct drill *d)
{
	start(d);
	d->ep.path.resolved = false;
	post(d, "SEND 100 len 8 ah 0x11 qpn 0x22");
	post(d, "SEND 101 len 8 ah 0x11 qpn 0x22");
	expect_nothing(d);
	pass(d, DRILL_S);
	expect_nothing(d);
	expect_no_cqe(d);
	d->ep.path.resolved = true;
	pass(d, DRILL_MS);
	expect(d,
		"UD_SEND_ONLY psn +0 qkey 0x00000000 sqpn 0x000011 len 8;"
		"UD_SEND_ONLY psn +1 qkey 0x00000000 sqpn 0x000011 len 8");
	expect_cqe(d, "send 100 SUCCESS len 8; send 101 SUCCESS len 8");
	/* A timer that is left over does nothing. */
	pass(d, 10 * DRILL_S);
	expect_nothing(d);
}

static void a_neighbour_that_does_not_answer_is_an_error(struct drill *d)
{
	start(d);
	d->ep.path.resolved = false;
	post(d, "SEND 100 len 8 ah 0x11 qpn 0x22");
	expect_nothing(d);
	for (int i = 0; i < 2999; i++) {
		pass(d, DRILL_MS);
		expect_nothing(d);
	}
	expect_no_cqe(d);
	pass(d, DRILL_MS);
	expect_nothing(d);
	expect_cqe(d, "send 100 RETRY_EXC_ERR why 0x11");
	expect_state(d, UROCE_QP_SQE);
	expect_number(d, d->ep.qp->report.cause, UROCE_CAUSE_PATH);
	/* The next one has its own three seconds. */
	expect_number(d, recover(d), 0);
	post(d, "SEND 101 len 8 ah 0x11 qpn 0x22");
	expect_nothing(d);
	pass(d, DRILL_S);
	expect_nothing(d);
	d->ep.path.resolved = true;
	pass(d, DRILL_MS);
	expect(d, "UD_SEND_ONLY psn +1 qkey 0x00000000 sqpn 0x000011 len 8");
	expect_cqe(d, "send 101 SUCCESS len 8");
}

static void handles_are_of_a_domain(struct drill *d)
{
	struct uroce_cmd cmd = {
		.kind = UROCE_CMD_AH_SET, .ah = {.number = 0x12, .pd = 99, .path = &d->ep.path}};

	start(d);
	expect_number(d, uroce_core_ctrl(&d->ep.core, &cmd, 0), 0);
	post(d, "SEND 100 len 8 ah 0x12 qpn 0x22");
	expect_nothing(d);
	expect_cqe(d, "send 100 LOC_QP_OP_ERR why 0x12");
	/* Of two with the same slot, clearing one that is not there leaves the other. */
	cmd = (struct uroce_cmd){.kind = UROCE_CMD_AH_CLEAR, .ah = {.number = 0x15}};
	expect_number(d, uroce_core_ctrl(&d->ep.core, &cmd, 0), 0);
	expect_number(d, recover(d), 0);
	post(d, "SEND 101 len 8 ah 0x11 qpn 0x22");
	expect(d, "UD_SEND_ONLY psn +1 qkey 0x00000000 sqpn 0x000011 len 8");
	cmd.ah.number = ENDPOINT_AH;
	expect_number(d, uroce_core_ctrl(&d->ep.core, &cmd, 0), 0);
	expect_number(d, d->ep.ahs[ENDPOINT_AH & (ENDPOINT_AHS - 1)].number, 0);
	post(d, "SEND 102 len 8 ah 0x11 qpn 0x22");
	expect_nothing(d);
	expect_cqe(d, "send 101 SUCCESS len 8; send 102 LOC_QP_OP_ERR why 0x11");
	expect_state(d, UROCE_QP_SQE);
}

/* ---- receiving ---- */

static void the_header_lies_in_the_last_20_of_40_bytes(struct drill *d)
{
	uint8_t frame[DRILL_FRAME_BYTES];

	start(d);
	post_recv(d, 200, 0x1000, 40 + 256);
	inject(d, "UD_SEND_ONLY psn +0 se len 256 tos 0x12 ttl 7 sqpn 0xabcdef");
	expect_cqe(d, "recv 200 SUCCESS len 296 grh se src 0xabcdef");
	expect_memory(d, 0x1000, 20, 0, 0x1000);
	drill_build_frame(d, "UD_SEND_ONLY psn +0 se len 256 tos 0x12 ttl 7 sqpn 0xabcdef", frame);
	expect_number(d, memcmp(d->ep.mem + 0x1000 + 20, frame + 14, 20), 0);
	expect_memory(d, 0x1000 + 40, 256, 1, 0);
	expect_memory(d, 0x1000 + 296, 8, 0, 0x1000 + 296);
}

static void the_40_bytes_may_be_cut_anywhere(struct drill *d)
{
	for (uint32_t first = 1; first < 47; first++) {
		struct uroce_recv_wqe *wqe;
		struct uroce_seg *segs;

		start(d);
		wqe = uroce_ring_reserve(&d->ep.qp->recv_ring);
		*wqe = (struct uroce_recv_wqe){.wr_id = 200, .num_segs = 2};
		segs = uroce_recv_wqe_segs(wqe);
		segs[0] = (struct uroce_seg){(uintptr_t)d->ep.mem + 0x1000, first, d->ep.key};
		segs[1] = (struct uroce_seg){(uintptr_t)d->ep.mem + 0x2000, 47 - first, d->ep.key};
		uroce_ring_advance(&d->ep.qp->recv_ring);
		uroce_ring_publish_seq(&d->ep.qp->recv_ring);
		inject(d, "UD_SEND_ONLY psn +0 len 7");
		expect_cqe(d, "recv 200 SUCCESS len 47 grh src 0x22");
		if (first < 40)
			expect_memory(d, 0x2000 + 40 - first, 7, 1, 0);
		else
			expect_memory(d, 0x1000 + 40, first - 40, 1, 0);
		/* The byte of the IP header that says version 4, at offset 20. */
		expect_number(d, d->ep.mem[first > 20 ? 0x1000 + 20 : 0x2000 + 20 - first], 0x45);
	}
}

static void immediate_data_comes_along(struct drill *d)
{
	start(d);
	post_recv(d, 200, 0x1000, 44);
	inject(d, "UD_SEND_ONLY_WITH_IMMEDIATE psn +0 len 4 imm 77");
	expect_cqe(d, "recv 200 SUCCESS len 44 imm 77 grh src 0x22");
}

static void psns_do_not_matter(struct drill *d)
{
	static const int psns[] = {0, 0, 5, -7, 100, 0x7fffff};

	start(d);
	for (size_t i = 0; i < sizeof(psns) / sizeof(psns[0]); i++) {
		post_recv(d, 200 + i, 0x1000, 48);
		inject(d, "UD_SEND_ONLY psn %+d len 8", psns[i]);
		expect_cqe(d, "recv %zu SUCCESS len 48 grh src 0x22", 200 + i);
	}
	idle(d);
	expect_nothing(d);
}

static void anybody_may_send(struct drill *d)
{
	start(d);
	post_recv(d, 200, 0x1000, 48);
	inject(d, "UD_SEND_ONLY psn +0 len 8 src 0xc6336401 sqpn 0x77");
	expect_cqe(d, "recv 200 SUCCESS len 48 grh src 0x77");
}

static void a_short_receive_waits_for_a_shorter_datagram(struct drill *d)
{
	start(d);
	post_recv(d, 200, 0x1000, 48);
	inject_dropped(d, UROCE_DROP_RECV_TOO_SHORT, "UD_SEND_ONLY psn +0 len 9");
	expect_no_cqe(d);
	expect_memory(d, 0x1000, 64, 0, 0x1000);
	inject(d, "UD_SEND_ONLY psn +1 len 8");
	expect_cqe(d, "recv 200 SUCCESS len 48 grh src 0x22");
}

static void too_many_segments_end_the_queue_pair(struct drill *d)
{
	struct uroce_recv_wqe *wqe;

	start(d);
	wqe = uroce_ring_reserve(&d->ep.qp->recv_ring);
	*wqe = (struct uroce_recv_wqe){.wr_id = 200, .num_segs = 17};
	uroce_ring_advance(&d->ep.qp->recv_ring);
	uroce_ring_publish_seq(&d->ep.qp->recv_ring);
	inject_dropped(d, UROCE_DROP_RECV_BAD, "UD_SEND_ONLY psn +0 len 8");
	expect_cqe(d, "recv 200 LOC_QP_OP_ERR");
	expect_ended(d);
	expect_number(d, d->ep.qp->report.detail, UROCE_MR_RANGE);
}

static void in_init_nothing_is_received(struct drill *d)
{
	struct endpoint_conf conf = drill_conf(d);
	const struct uroce_qp_attr attr = {.state = UROCE_QP_INIT, .qkey = QKEY};

	conf.caps.type = UROCE_QP_UD;
	conf.qkey = QKEY;
	drill_restart_reset(d, &conf);
	expect_number(d,
		drill_modify(d, &attr,
			UROCE_QP_ATTR_STATE | UROCE_QP_ATTR_QKEY | UROCE_QP_ATTR_PORT |
				UROCE_QP_ATTR_PKEY_INDEX),
		0);
	post_recv(d, 200, 0x1000, 48);
	inject_dropped(d, UROCE_DROP_QP_STATE, "UD_SEND_ONLY psn +0 len 8");
	expect_number(d, drill_to_state(d, UROCE_QP_RTR), 0);
	inject(d, "UD_SEND_ONLY psn +0 len 8");
	expect_cqe(d, "recv 200 SUCCESS len 48 grh src 0x22");
}

/* ---- groups ---- */

static int ctrl(
	struct drill *d, enum uroce_cmd_kind kind, uint32_t addr, struct uroce_group_member *member)
{
	struct uroce_cmd cmd = {.kind = kind,
		.qp = d->ep.qp,
		.member = member,
		.group = {.addr = uroce_gid_of_ipv4(addr), .owner = d->ep.core.conf.id}};

	return uroce_core_ctrl(&d->ep.core, &cmd, 0);
}

static void a_member_gets_the_groups_datagrams(struct drill *d)
{
	struct uroce_group_member member = {.addr = uroce_gid_of_ipv4(GROUP)};

	start(d);
	member.qp = d->ep.qp;
	post_recv(d, 200, 0x1000, 48);
	/* Before: somebody else's. */
	inject_dropped(d, UROCE_DROP_NOT_OUR_MAC, "UD_SEND_ONLY psn +0 len 8 " GROUP_MAC);
	expect_number(d, ctrl(d, UROCE_CMD_GROUP_SET, GROUP, NULL), 0);
	inject_dropped(d, UROCE_DROP_NOT_A_MEMBER, "UD_SEND_ONLY psn +0 len 8 " GROUP_MAC);
	expect_number(d, ctrl(d, UROCE_CMD_JOIN, GROUP, &member), 0);
	expect_number(d, ctrl(d, UROCE_CMD_JOIN, GROUP, &member), (uint64_t)-EEXIST);
	inject(d, "UD_SEND_ONLY psn +0 len 8 " GROUP_MAC);
	expect_cqe(d, "recv 200 SUCCESS len 48 grh src 0x22");
	/* The rules of datagrams hold. */
	inject_dropped(d, UROCE_DROP_QKEY, "UD_SEND_ONLY psn +0 len 8 qkey 1 " GROUP_MAC);
	inject_dropped(d, UROCE_DROP_NO_RECV, "UD_SEND_ONLY psn +0 len 8 " GROUP_MAC);
	expect_number(d, ctrl(d, UROCE_CMD_LEAVE, GROUP, NULL), 0);
	expect_number(d, ctrl(d, UROCE_CMD_LEAVE, GROUP, NULL), (uint64_t)-ENOENT);
	inject_dropped(d, UROCE_DROP_NOT_A_MEMBER, "UD_SEND_ONLY psn +0 len 8 " GROUP_MAC);
	expect_number(d, ctrl(d, UROCE_CMD_GROUP_CLEAR, GROUP, NULL), 0);
	inject_dropped(d, UROCE_DROP_NOT_OUR_MAC, "UD_SEND_ONLY psn +0 len 8 " GROUP_MAC);
}

/* One that it cannot use is no queue pair's: others find it, and it outlives them. */
static void what_is_too_short_goes_back_to_the_shared_queue(struct drill *d)
{
	struct endpoint_conf conf = drill_conf(d);

	conf.caps.type = UROCE_QP_UD;
	conf.qkey = QKEY;
	conf.srq_wr = 4;
	drill_restart(d, &conf);
	post_recv(d, 200, 0x1000, 60);
	inject_dropped(d, UROCE_DROP_RECV_TOO_SHORT, "UD_SEND_ONLY psn +0 len 21");
	expect_number(d, uroce_srq_count(d->ep.srq), 1);
	/* Behind what was posted since. */
	post_recv(d, 201, 0x1000, 100);
	inject_dropped(d, UROCE_DROP_RECV_TOO_SHORT, "UD_SEND_ONLY psn +0 len 21");
	inject(d, "UD_SEND_ONLY psn +0 len 21");
	expect_cqe(d, "recv 201 SUCCESS len 61 grh src 0x22");
	inject(d, "UD_SEND_ONLY psn +0 len 20");
	expect_cqe(d, "recv 200 SUCCESS len 60 grh src 0x22");
	/* Without room, as somebody was quicker, it waits here for the next. */
	for (uint32_t i = 0; i < 4; i++)
		post_recv(d, 202 + i, 0x1000, 60);
	expect_number(d, uroce_qp_take_recv(&d->ep.core, d->ep.qp), true);
	post_recv(d, 206, 0x1000, 60);
	inject_dropped(d, UROCE_DROP_RECV_TOO_SHORT, "UD_SEND_ONLY psn +0 len 21");
	expect_number(d, uroce_srq_count(d->ep.srq), 4);
	inject(d, "UD_SEND_ONLY psn +0 len 20");
	expect_cqe(d, "recv 202 SUCCESS len 60 grh src 0x22");
	/* What it holds when it goes is for the others. */
	expect_number(d, uroce_qp_take_recv(&d->ep.core, d->ep.qp), true);
	drill_to_state(d, UROCE_QP_RESET);
	expect_number(d, uroce_srq_count(d->ep.srq), 4);
}

/* A second queue pair of the endpoint's core, open for datagrams with another Q_Key. */
static struct uroce_qp *open_second(struct drill *d)
{
	static const uint32_t masks[] = {UROCE_QP_ATTR_STATE | UROCE_QP_ATTR_QKEY |
			UROCE_QP_ATTR_PKEY_INDEX | UROCE_QP_ATTR_PORT,
		UROCE_QP_ATTR_STATE, UROCE_QP_ATTR_STATE | UROCE_QP_ATTR_SQ_PSN};
	const struct uroce_qp_caps *caps = &d->ep.conf.caps;
	size_t bytes = (uroce_qp_bytes(caps) + 63) / 64 * 64;
	struct uroce_cmd cmd = {.kind = UROCE_CMD_QP_CREATE,
		.qp = uroce_qp_init(aligned_alloc(64, bytes), caps),
		.qpn = 0x99,
		.pd = 7,
		.send_cq = d->ep.cq,
		.recv_cq = d->ep.cq};

	expect_number(d, uroce_core_ctrl(&d->ep.core, &cmd, 0), 0);
	cmd.kind = UROCE_CMD_QP_MODIFY;
	cmd.attr.qkey = QKEY + 1;
	for (int i = 0; i < 3; i++) {
		cmd.attr.state = (enum uroce_qp_state)(UROCE_QP_INIT + i);
		cmd.attr_mask = masks[i];
		expect_number(d, uroce_core_ctrl(&d->ep.core, &cmd, 0), 0);
	}
	return cmd.qp;
}

static void each_member_has_its_own_say(struct drill *d)
{
	struct uroce_group_member members[3] = {{.addr = uroce_gid_of_ipv4(GROUP)},
		{.addr = uroce_gid_of_ipv4(GROUP)}, {.addr = uroce_gid_of_ipv4(GROUP + 1)}};
	struct uroce_cmd destroy = {.kind = UROCE_CMD_QP_DESTROY};
	struct uroce_qp *second;

	start(d);
	second = open_second(d);
	members[0].qp = members[2].qp = second;
	members[1].qp = d->ep.qp;
	expect_number(d, ctrl(d, UROCE_CMD_GROUP_SET, GROUP, NULL), 0);
	for (int i = 0; i < 3; i++)
		expect_number(d, ctrl(d, UROCE_CMD_JOIN, GROUP, &members[i]), 0);
	/* The first refuses the Q_Key, the other takes it: the frame is accepted. */
	post_recv(d, 200, 0x1000, 48);
	inject(d, "UD_SEND_ONLY psn +0 len 8 " GROUP_MAC);
	expect_number(d, d->drop, UROCE_ACCEPTED);
	expect_cqe(d, "recv 200 SUCCESS len 48 grh src 0x22");
	/* Both refuse it. */
	inject_dropped(d, UROCE_DROP_QKEY, "UD_SEND_ONLY psn +0 len 8 qkey 3 " GROUP_MAC);
	/* Who is destroyed leaves; the other stays. */
	destroy.qp = second;
	expect_number(d, uroce_core_ctrl(&d->ep.core, &destroy, 0), 0);
	inject_dropped(d, UROCE_DROP_NO_RECV, "UD_SEND_ONLY psn +0 len 8 " GROUP_MAC);
	expect_number(d, ctrl(d, UROCE_CMD_LEAVE, GROUP, NULL), 0);
	expect_number(d, d->ep.core.members == NULL, true);
	free(second);
}

static void a_promiscuous_endpoint_takes_groups_by_any_mac(struct drill *d)
{
	struct uroce_group_member member = {.addr = uroce_gid_of_ipv4(GROUP)};

	start(d);
	member.qp = d->ep.qp;
	d->ep.core.conf.local.promiscuous = true;
	post_recv(d, 200, 0x1000, 48);
	expect_number(d, ctrl(d, UROCE_CMD_GROUP_SET, GROUP, NULL), 0);
	expect_number(d, ctrl(d, UROCE_CMD_JOIN, GROUP, &member), 0);
	inject(d, "UD_SEND_ONLY psn +0 len 8 dst 0xe0000105 qp 0xffffff");
	expect_cqe(d, "recv 200 SUCCESS len 48 grh src 0x22");
	expect_number(d, ctrl(d, UROCE_CMD_LEAVE, GROUP, NULL), 0);
}

static void without_handles_nothing_is_sent(struct drill *d)
{
	static const char *const numbers[] = {"rkey 0", "ah 0x11"};

	for (size_t i = 0; i < 2; i++) {
		struct endpoint_conf conf = drill_conf(d);

		conf.caps.type = UROCE_QP_UD;
		drill_restart(d, &conf);
		if (i == 1) {
			d->ep.core.conf.num_ahs = 0;
			d->ep.core.conf.ahs = NULL;
		}
		post(d, "SEND 100 len 8 %s qpn 0x22", numbers[i]);
		expect_nothing(d);
		expect_cqe(d, "send 100 LOC_QP_OP_ERR%s", i ? " why 0x11" : "");
	}
}

static void groups_and_numbers_do_not_mix(struct drill *d)
{
	struct uroce_group_member member = {.addr = uroce_gid_of_ipv4(GROUP)};

	start(d);
	member.qp = d->ep.qp;
	post_recv(d, 200, 0x1000, 48);
	expect_number(d, ctrl(d, UROCE_CMD_GROUP_SET, GROUP, NULL), 0);
	expect_number(d, ctrl(d, UROCE_CMD_JOIN, GROUP, &member), 0);
	/* The group's address and a queue pair's number; the number of groups and our address;
	 * another group's MAC; our address under a group's MAC. */
	inject_dropped(d, UROCE_DROP_NOT_A_MEMBER,
		"UD_SEND_ONLY psn +0 len 8 dst 0xe0000105 dmac 0x01005e000105");
	inject_dropped(d, UROCE_DROP_NOT_A_MEMBER, "UD_SEND_ONLY psn +0 len 8 qp 0xffffff");
	inject_dropped(d, UROCE_DROP_NOT_OUR_MAC,
		"UD_SEND_ONLY psn +0 len 8 dst 0xe0000105 dmac 0x01005e000106 qp 0xffffff");
	inject_dropped(d, UROCE_DROP_NOT_OUR_MAC, "UD_SEND_ONLY psn +0 len 8 dmac 0x01005e000105");
	inject_dropped(
		d, UROCE_DROP_NOT_OUR_MAC, "UD_SEND_ONLY psn +0 len 8 dst 0xe0000105 qp 0xffffff");
	inject_dropped(d, UROCE_DROP_DGID_NOT_OURS,
		"UD_SEND_ONLY psn +0 len 8 dst 0xe0000106 dmac 0x01005e000106 qp 0xffffff");
	inject_dropped(d, UROCE_DROP_OPCODE_NOT_FOR_QP, "SEND_ONLY psn +0 len 8 " GROUP_MAC);
	expect_no_cqe(d);
	expect_number(d, ctrl(d, UROCE_CMD_LEAVE, GROUP, NULL), 0);
}

static void only_datagram_queue_pairs_join(struct drill *d)
{
	struct uroce_group_member member = {.qp = d->ep.qp, .addr = uroce_gid_of_ipv4(GROUP)};

	expect_number(d, ctrl(d, UROCE_CMD_JOIN, GROUP, &member), (uint64_t)-EINVAL);
	start(d);
	member.qp = d->ep.qp;
	member.addr = uroce_gid_of_ipv4(d->ep.conf.ip);
	expect_number(d, ctrl(d, UROCE_CMD_JOIN, GROUP, &member), (uint64_t)-EINVAL);
}

static void groups_are_bounded(struct drill *d)
{
	start(d);
	for (uint32_t i = 0; i < UROCE_LOCAL_GROUPS_MAX; i++)
		expect_number(d, ctrl(d, UROCE_CMD_GROUP_SET, GROUP + i, NULL), 0);
	expect_number(d, ctrl(d, UROCE_CMD_GROUP_SET, GROUP, NULL), 0);
	expect_number(d, ctrl(d, UROCE_CMD_GROUP_SET, GROUP + 99, NULL), (uint64_t)-ENOSPC);
	expect_number(d, ctrl(d, UROCE_CMD_GROUP_CLEAR, GROUP + 99, NULL), 0);
	expect_number(d, ctrl(d, UROCE_CMD_GROUP_CLEAR, GROUP, NULL), 0);
	inject_dropped(d, UROCE_DROP_DGID_NOT_OURS, "UD_SEND_ONLY psn +0 len 8 " GROUP_MAC);
	expect_number(d, ctrl(d, UROCE_CMD_GROUP_SET, GROUP + 99, NULL), 0);
}

static void a_destroyed_member_is_gone(struct drill *d)
{
	struct uroce_group_member member = {.addr = uroce_gid_of_ipv4(GROUP)};
	struct endpoint_conf conf;

	start(d);
	conf = d->ep.conf;
	member.qp = d->ep.qp;
	expect_number(d, ctrl(d, UROCE_CMD_JOIN, GROUP, &member), 0);
	expect_number(d, ctrl(d, UROCE_CMD_QP_DESTROY, GROUP, NULL), 0);
	expect_number(d, d->ep.core.members == NULL, true);
	/* For the drill's own end: there must be something to destroy. */
	d->ep.qp = uroce_qp_init(d->ep.qp, &conf.caps);
	member.next = NULL;
	{
		struct uroce_cmd cmd = {.kind = UROCE_CMD_QP_CREATE,
			.qp = d->ep.qp,
			.qpn = conf.qpn,
			.send_cq = d->ep.cq,
			.recv_cq = d->ep.cq};

		expect_number(d, uroce_core_ctrl(&d->ep.core, &cmd, 0), 0);
	}
}

static void another_cores_group_is_handed_over(struct drill *d)
{
	struct uroce_cmd cmd = {.kind = UROCE_CMD_GROUP_SET,
		.group = {.addr = uroce_gid_of_ipv4(GROUP), .owner = 3}};
	uint8_t frame[DRILL_FRAME_BYTES];
	struct uroce_pkt pkt = {.data = frame};

	start(d);
	expect_number(d, uroce_core_ctrl(&d->ep.core, &cmd, 0), 0);
	pkt.bytes = drill_build_frame(d, "UD_SEND_ONLY psn +0 len 8 " GROUP_MAC, frame);
	uroce_core_rx(&d->ep.core, 0, &pkt, 1);
	expect_number(d, pkt.handed_over, true);
	expect_number(d, pkt.owner, 3);
}

int main(void)
{
	static const struct drill_case cases[] = {
		{"datagrams go out and are complete", sends},
		{"inline data and lists are gathered", inline_and_segments},
		{"a controlled Q_Key is replaced by the queue pair's own",
			a_controlled_qkey_is_the_queue_pairs_own},
		{"what cannot be sent leads to SQE, and RTS recovers",
			what_cannot_be_sent_leads_to_sqe},
		{"a handle without a MAC is an error, not a wait",
			an_unresolved_handle_is_waited_for},
		{"a neighbour that does not answer is an error",
			a_neighbour_that_does_not_answer_is_an_error},
		{"a handle is of its domain, and gone when cleared", handles_are_of_a_domain},
		{"the IPv4 header lies in the last 20 of 40 bytes",
			the_header_lies_in_the_last_20_of_40_bytes},
		{"the 40 bytes may be cut anywhere", the_40_bytes_may_be_cut_anywhere},
		{"immediate data comes along", immediate_data_comes_along},
		{"PSNs do not matter, and nothing is answered", psns_do_not_matter},
		{"anybody may send who has the Q_Key", anybody_may_send},
		{"a receive that is too short waits for a shorter datagram",
			a_short_receive_waits_for_a_shorter_datagram},
		{"what is too short goes back to the shared queue",
			what_is_too_short_goes_back_to_the_shared_queue},
		{"a receive with too many segments ends the queue pair",
			too_many_segments_end_the_queue_pair},
		{"INIT receives nothing, RTR does", in_init_nothing_is_received},
		{"a member gets the group's datagrams, from join to leave",
			a_member_gets_the_groups_datagrams},
		{"each member has its own say", each_member_has_its_own_say},
		{"a promiscuous endpoint takes groups by any MAC",
			a_promiscuous_endpoint_takes_groups_by_any_mac},
		{"without a handle nothing is sent", without_handles_nothing_is_sent},
		{"groups, numbers and MACs do not mix", groups_and_numbers_do_not_mix},
		{"only datagram queue pairs join groups", only_datagram_queue_pairs_join},
		{"there is room for so many groups", groups_are_bounded},
		{"a destroyed member is no member", a_destroyed_member_is_gone},
		{"another core's group is handed over", another_cores_group_is_handed_over},
	};

	return DRILL_SUITE("dgram", cases);
}
