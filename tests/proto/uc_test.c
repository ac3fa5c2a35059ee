/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Unreliable connections: messages go out without a thought of answers, and come in whole or not
 * at all (InfiniBand 9.8.2).
 *
 * A lost packet breaks its message: the receive that it held waits for the next one, or, when it
 * came from a shared queue, ends in error. A work request that cannot be carried out leads to SQE,
 * from where the send queue comes back; what is received meanwhile is received.
 */
#include <string.h>

#include "drill.h"

static void start(struct drill *d)
{
	struct endpoint_conf conf = drill_conf(d);

	conf.caps.type = UROCE_QP_UC;
	drill_restart(d, &conf);
}

/* ---- sending ---- */

static void sends(struct drill *d)
{
	start(d);
	post(d, "SEND 100 len 600 at 0x2000");
	expect(d, "UC_SEND_FIRST psn +0 len 256");
	expect_payload(d, 0, 0x2000);
	expect_no_cqe(d);
	expect(d, "UC_SEND_MIDDLE psn +1 len 256; UC_SEND_LAST psn +2 len 88");
	expect_payload(d, 0, 0x2000 + 512);
	expect_cqe(d, "send 100 SUCCESS len 600");
	post(d, "SEND_IMM 101 len 5 imm 0x1234 se");
	expect(d, "UC_SEND_ONLY_WITH_IMMEDIATE psn +3 se pad 3 imm 0x00001234 len 5");
	expect_cqe(d, "send 101 SUCCESS len 5");
	post(d, "SEND_IMM 102 len 257 imm 7");
	expect(d,
		"UC_SEND_FIRST psn +4 len 256; "
		"UC_SEND_LAST_WITH_IMMEDIATE psn +5 pad 3 imm 0x00000007 len 1");
	expect_cqe(d, "send 102 SUCCESS len 257");
	post(d, "SEND 103");
	expect(d, "UC_SEND_ONLY psn +6 len 0");
	expect_cqe(d, "send 103 SUCCESS len 0");
}

static void writes(struct drill *d)
{
	start(d);
	post(d, "WRITE 100 len 513");
	expect(d,
		"UC_RDMA_WRITE_FIRST psn +0 va 0x1000 rkey 0x00000abc dma_len 513 len 256; "
		"UC_RDMA_WRITE_MIDDLE psn +1 len 256; UC_RDMA_WRITE_LAST psn +2 pad 3 len 1");
	expect_cqe(d, "write 100 SUCCESS len 513");
	post(d, "WRITE 101 len 256");
	expect(d, "UC_RDMA_WRITE_ONLY psn +3 va 0x1000 rkey 0x00000abc dma_len 256 len 256");
	expect_cqe(d, "write 101 SUCCESS len 256");
	post(d, "WRITE_IMM 102 len 300 imm 9");
	expect(d,
		"UC_RDMA_WRITE_FIRST psn +4 va 0x1000 rkey 0x00000abc dma_len 300 len 256; "
		"UC_RDMA_WRITE_LAST_WITH_IMMEDIATE psn +5 imm 0x00000009 len 44");
	expect_cqe(d, "write 102 SUCCESS len 300");
	post(d, "WRITE_IMM 103 len 4 imm 10");
	expect(d,
		"UC_RDMA_WRITE_ONLY_WITH_IMMEDIATE psn +6 va 0x1000 rkey 0x00000abc dma_len 4 "
		"imm 0x0000000a len 4");
	expect_cqe(d, "write 103 SUCCESS len 4");
}

static void no_timer_and_no_window(struct drill *d)
{
	struct endpoint_conf conf = drill_conf(d);

	conf.caps.type = UROCE_QP_UC;
	conf.caps.window_pkts = 1;
	drill_restart(d, &conf);
	for (int i = 0; i < 20; i++)
		post(d, "WRITE %d len 256", i);
	for (int i = 0; i < 20; i++)
		expect(d,
			"UC_RDMA_WRITE_ONLY psn +%d va 0x1000 rkey 0x00000abc dma_len 256 len 256",
			i);
	for (int i = 0; i < 20; i++)
		expect_cqe(d, "write %d SUCCESS len 256", i);
	expect_number(d, uroce_core_next_deadline(&d->ep.core), UROCE_TIMER_NEVER);
	pass(d, 100 * DRILL_S);
	expect_nothing(d);
}

static void what_it_cannot_carry(struct drill *d)
{
	static const char *const wrs[] = {"READ 100 len 8", "FADD 100", "CAS 100",
		"SEND_INV 100 len 8 inv 5", "ATOMIC_WRITE 100", "FLUSH 100 imm 1 bytes 8"};

	for (size_t i = 0; i < sizeof(wrs) / sizeof(wrs[0]); i++) {
		struct uroce_cqe cqe;

		start(d);
		post(d, "%s", wrs[i]);
		expect_nothing(d);
		expect_number(d, endpoint_poll(&d->ep, &cqe, 1), 1);
		expect_number(d, cqe.status, UROCE_STATUS_LOC_QP_OP_ERR);
		expect_state(d, UROCE_QP_SQE);
	}
}

/* ---- SQE ---- */

static int recover(struct drill *d)
{
	const struct uroce_qp_attr attr = {.state = UROCE_QP_RTS, .cur_state = UROCE_QP_SQE};

	return drill_modify(d, &attr, UROCE_QP_ATTR_STATE | UROCE_QP_ATTR_CUR_STATE);
}

static void errors_lead_to_sqe_and_back(struct drill *d)
{
	start(d);
	post(d, "SEND 100 len 8");
	post(d, "SEND 101 len 8 lkey 0xbad00");
	post(d, "SEND 102 len 8");
	expect(d, "UC_SEND_ONLY psn +0 len 8");
	expect_nothing(d);
	expect_cqe(
		d, "send 100 SUCCESS len 8; send 101 LOC_PROT_ERR why 0x1; send 102 WR_FLUSH_ERR");
	expect_state(d, UROCE_QP_SQE);
	expect_event(d, "nothing");
	/* Posted meanwhile: flushed. Received meanwhile: received. */
	post(d, "SEND 103 len 8");
	expect_nothing(d);
	expect_cqe(d, "send 103 WR_FLUSH_ERR");
	post_recv(d, 200, 0x1000, 64);
	inject(d, "UC_SEND_ONLY psn +0 len 64");
	expect_cqe(d, "recv 200 SUCCESS len 64");
	expect_number(d, recover(d), 0);
	expect_state(d, UROCE_QP_RTS);
	expect_number(d, d->ep.qp->report.cause, UROCE_CAUSE_NONE);
	post(d, "SEND 104 len 8");
	/* The PSN of what could not be sent is not used again. */
	expect(d, "UC_SEND_ONLY psn +2 len 8");
	expect_cqe(d, "send 104 SUCCESS len 8");
}

static void sqe_in_the_middle_of_a_message(struct drill *d)
{
	struct endpoint_conf conf = drill_conf(d);

	conf.caps.type = UROCE_QP_UC;
	conf.caps.window_pkts = 4;
	drill_restart(d, &conf);
	/* Its second half is not registered: packet 0 leaves, packet 1 cannot. */
	post(d, "SEND 100 len 4000 at %d", DRILL_MEM - 300);
	expect(d, "UC_SEND_FIRST psn +0 len 256");
	expect_nothing(d);
	expect_cqe(d, "send 100 LOC_PROT_ERR why 0x4");
	expect_number(d, recover(d), 0);
	post(d, "SEND 101 len 600");
	expect(d,
		"UC_SEND_FIRST psn +16 len 256; UC_SEND_MIDDLE psn +17 len 256; "
		"UC_SEND_LAST psn +18 len 88");
	expect_cqe(d, "send 101 SUCCESS len 600");
}

static void sqd_holds_and_drains(struct drill *d)
{
	const struct uroce_qp_attr attr = {.state = UROCE_QP_SQD};

	start(d);
	post(d, "SEND 100 len 300");
	expect(d, "UC_SEND_FIRST psn +0 len 256");
	expect_number(d,
		drill_modify(d, &attr, UROCE_QP_ATTR_STATE | UROCE_QP_ATTR_EN_SQD_ASYNC_NOTIFY), 0);
	post(d, "SEND 101 len 8");
	expect_event(d, "nothing");
	expect(d, "UC_SEND_LAST psn +1 len 44");
	expect_nothing(d);
	expect_cqe(d, "send 100 SUCCESS len 300");
	expect_event(d, "SQ_DRAINED");
	expect_number(d, drill_to_state(d, UROCE_QP_RTS), 0);
	expect(d, "UC_SEND_ONLY psn +2 len 8");
	expect_cqe(d, "send 101 SUCCESS len 8");
}

/* ---- receiving ---- */

static void receives(struct drill *d)
{
	start(d);
	post_recv(d, 200, 0x1000, 600);
	inject(d, "UC_SEND_FIRST psn +0 len 256; UC_SEND_MIDDLE psn +1 len 256 at 256");
	expect_no_cqe(d);
	inject(d, "UC_SEND_LAST_WITH_IMMEDIATE psn +2 se len 88 at 512 imm 5");
	expect_cqe(d, "recv 200 SUCCESS len 600 imm 5 se");
	expect_memory(d, 0x1000, 600, 1, 0);
	inject(d, "UC_RDMA_WRITE_FIRST psn +3 va 0x2000 dma 300 len 256");
	inject(d, "UC_RDMA_WRITE_LAST psn +4 len 44 at 256");
	expect_memory(d, 0x2000, 300, 1, 0);
	post_recv(d, 201, 0x1000, 0);
	inject(d, "UC_RDMA_WRITE_ONLY_WITH_IMMEDIATE psn +5 va 0x3000 len 3 imm 6");
	expect_cqe(d, "recv_imm 201 SUCCESS len 3 imm 6");
	expect_memory(d, 0x3000, 3, 1, 0);
	/* Nothing of this is acknowledged, now or later. */
	idle(d);
	expect_nothing(d);
	inject(d, "UC_SEND_ONLY psn +6 ack len 0");
	expect_nothing(d);
}

static void a_lost_middle_breaks_the_message(struct drill *d)
{
	start(d);
	post_recv(d, 200, 0x1000, 1024);
	inject(d, "UC_SEND_FIRST psn +0 len 256");
	inject_dropped(d, UROCE_DROP_MESSAGE_BROKEN, "UC_SEND_MIDDLE psn +2 len 256");
	inject_dropped(d, UROCE_DROP_MESSAGE_BROKEN, "UC_SEND_LAST psn +3 len 8");
	expect_no_cqe(d);
	/* The receive is used again, from its start. */
	inject(d, "UC_SEND_FIRST psn +4 len 256 fill 2");
	inject(d, "UC_SEND_LAST psn +5 len 8 fill 2 at 256");
	expect_cqe(d, "recv 200 SUCCESS len 264");
	expect_memory(d, 0x1000, 264, 2, 0);
}

static void a_lost_last_is_replaced_by_the_next_first(struct drill *d)
{
	start(d);
	post_recv(d, 200, 0x1000, 1024);
	inject(d, "UC_SEND_FIRST psn +0 len 256");
	inject(d, "UC_SEND_ONLY psn +2 len 16 fill 3");
	expect_cqe(d, "recv 200 SUCCESS len 16");
	expect_memory(d, 0x1000, 16, 3, 0);
	/* The same without a gap: the sender gave its message up. */
	post_recv(d, 201, 0x2000, 1024);
	inject(d, "UC_SEND_FIRST psn +3 len 256; UC_SEND_ONLY psn +4 len 4 fill 4");
	expect_cqe(d, "recv 201 SUCCESS len 4");
}

static void a_lost_first_leaves_nothing(struct drill *d)
{
	start(d);
	post_recv(d, 200, 0x1000, 1024);
	inject_dropped(d, UROCE_DROP_MESSAGE_BROKEN, "UC_SEND_MIDDLE psn +1 len 256");
	inject_dropped(d, UROCE_DROP_MESSAGE_BROKEN, "UC_SEND_LAST psn +2 len 8");
	/* Even where the PSNs go on as they should. */
	inject_dropped(d, UROCE_DROP_MESSAGE_BROKEN, "UC_RDMA_WRITE_LAST psn +0 len 8");
	expect_memory(d, 0x1000, 1024, 0, 0x1000);
	inject(d, "UC_SEND_ONLY psn -5 len 8");
	expect_cqe(d, "recv 200 SUCCESS len 8");
}

static void another_kind_breaks_the_message(struct drill *d)
{
	start(d);
	post_recv(d, 200, 0x1000, 1024);
	inject(d, "UC_SEND_FIRST psn +0 len 256");
	inject_dropped(d, UROCE_DROP_MESSAGE_BROKEN, "UC_RDMA_WRITE_MIDDLE psn +1 len 256");
	inject_dropped(d, UROCE_DROP_MESSAGE_BROKEN, "UC_SEND_LAST psn +2 len 8");
	inject(d, "UC_SEND_ONLY psn +3 len 8");
	expect_cqe(d, "recv 200 SUCCESS len 8");
}

static void no_receive_drops_the_whole_message(struct drill *d)
{
	start(d);
	inject_dropped(d, UROCE_DROP_NO_RECV, "UC_SEND_FIRST psn +0 len 256");
	post_recv(d, 200, 0x1000, 1024);
	inject_dropped(d, UROCE_DROP_MESSAGE_BROKEN, "UC_SEND_LAST psn +1 len 8");
	inject(d, "UC_SEND_ONLY psn +2 len 8");
	expect_cqe(d, "recv 200 SUCCESS len 8");
	/* A WRITE with immediate finds out at its end; what it wrote stays written. */
	inject(d, "UC_RDMA_WRITE_FIRST psn +3 va 0x2000 dma 264 len 256");
	inject_dropped(d, UROCE_DROP_NO_RECV, "UC_RDMA_WRITE_LAST_WITH_IMMEDIATE psn +4 len 8");
	expect_memory(d, 0x2000, 256, 1, 0);
	expect_memory(d, 0x2100, 8, 0, 0x2100);
}

static void what_is_not_allowed_is_dropped(struct drill *d)
{
	static const char *const frames[] = {
		"UC_RDMA_WRITE_ONLY psn +0 va 0x2000 rkey 0x666 len 8",
		"UC_RDMA_WRITE_ONLY psn +0 absva 1 len 8",
		"UC_RDMA_WRITE_ONLY psn +0 va 0x2000 dma 9 len 8",
		"UC_RDMA_WRITE_FIRST psn +0 va 0x2000 dma 512 len 255",
		"UC_RDMA_WRITE_FIRST psn +0 va 0x2000 dma 256 len 256",
		"UC_RDMA_WRITE_FIRST psn +0 va 0x2000 dma 0x80000001 len 256",
		"UC_SEND_ONLY psn +0 len 257",
		"UC_SEND_ONLY psn +0 len 255 pad 0",
		"UC_SEND_ONLY psn +0 len 65",
	};

	for (size_t i = 0; i < sizeof(frames) / sizeof(frames[0]); i++) {
		start(d);
		post_recv(d, 200, 0x1000, 64);
		inject_dropped(d, UROCE_DROP_MESSAGE_REFUSED, "%s", frames[i]);
		expect_state(d, UROCE_QP_RTS);
		expect_memory(d, 0, DRILL_MEM, 0, 0);
		inject(d, "UC_SEND_ONLY psn +1 len 64");
		expect_cqe(d, "recv 200 SUCCESS len 64");
	}
}

static void writes_need_the_right(struct drill *d)
{
	struct endpoint_conf conf = drill_conf(d);

	conf.caps.type = UROCE_QP_UC;
	conf.access = UROCE_ACCESS_REMOTE_READ;
	drill_restart(d, &conf);
	inject_dropped(d, UROCE_DROP_MESSAGE_REFUSED, "UC_RDMA_WRITE_ONLY psn +0 len 8");
	expect_memory(d, 0, 8, 0, 0);
}

static void a_bad_receive_ends_the_queue_pair(struct drill *d)
{
	start(d);
	post_recv(d, 200, DRILL_MEM - 8, 64);
	inject_dropped(d, UROCE_DROP_RECV_BAD, "UC_SEND_ONLY psn +0 len 64");
	expect_cqe(d, "recv 200 LOC_PROT_ERR");
	expect_ended(d);
	expect_number(d, d->ep.qp->report.cause, UROCE_CAUSE_RECV_BAD);
	expect_nothing(d);
}

static void broken_receives_of_a_shared_queue_end_in_error(struct drill *d)
{
	struct endpoint_conf conf = drill_conf(d);

	conf.caps.type = UROCE_QP_UC;
	conf.srq_wr = 8;
	drill_restart(d, &conf);
	post_recv(d, 200, 0x1000, 1024);
	post_recv(d, 201, 0x2000, 1024);
	inject(d, "UC_SEND_FIRST psn +0 len 256");
	inject_dropped(d, UROCE_DROP_MESSAGE_BROKEN, "UC_SEND_LAST psn +2 len 8");
	expect_cqe(d, "recv 200 REM_INV_REQ_ERR");
	expect_state(d, UROCE_QP_RTS);
	inject(d, "UC_SEND_ONLY psn +3 len 8");
	expect_cqe(d, "recv 201 SUCCESS len 8");
}

/* The receive of the broken message is the completion too many: what comes after has nobody. */
static void a_broken_message_that_overflows_its_queue_ends_it(struct drill *d)
{
	struct endpoint_conf conf = drill_conf(d);

	conf.caps.type = UROCE_QP_UC;
	conf.srq_wr = 8;
	conf.cqes = 1;
	drill_restart(d, &conf);
	for (uint32_t i = 0; i < 3; i++)
		post_recv(d, 200 + i, 0x1000 + 0x1000 * i, 1024);
	inject(d, "UC_SEND_ONLY psn +0 len 8; UC_SEND_FIRST psn +1 len 256");
	inject_dropped(d, UROCE_DROP_QP_STATE, "UC_RDMA_WRITE_ONLY psn +4 va 0x4000 len 8");
	expect_state(d, UROCE_QP_ERR);
	expect_event(d, "CQ_ERR; QP_FATAL; LAST_WQE_REACHED");
	expect_memory(d, 0x4000, 8, 0, 0x4000);
	expect_cqe(d, "recv 200 SUCCESS len 8");
}

static void answers_are_not_for_it(struct drill *d)
{
	start(d);
	post(d, "SEND 100 len 8");
	expect(d, "UC_SEND_ONLY psn +0 len 8");
	expect_cqe(d, "send 100 SUCCESS len 8");
	inject_dropped(d, UROCE_DROP_OPCODE_NOT_FOR_QP, "ACKNOWLEDGE psn +0 NAK 1");
	expect_state(d, UROCE_QP_RTS);
}

static void an_unresolved_path_is_waited_for(struct drill *d)
{
	struct uroce_cmd cmd = {.kind = UROCE_CMD_PATH_UPDATE};

	start(d);
	cmd.path = &d->ep.path;
	cmd.path_new = d->ep.path;
	cmd.path_new.resolved = false;
	expect_number(d, uroce_core_ctrl(&d->ep.core, &cmd, d->now_ns), 0);
	post(d, "SEND 100 len 8");
	expect_nothing(d);
	cmd.path_new.resolved = true;
	expect_number(d, uroce_core_ctrl(&d->ep.core, &cmd, d->now_ns), 0);
	expect(d, "UC_SEND_ONLY psn +0 len 8");
	expect_cqe(d, "send 100 SUCCESS len 8");
	cmd.path_new.resolved = false;
	expect_number(d, uroce_core_ctrl(&d->ep.core, &cmd, d->now_ns), 0);
	post(d, "SEND 101 len 8");
	expect_nothing(d);
	pass(d, 10 * DRILL_S);
	expect_cqe(d, "send 101 RETRY_EXC_ERR");
	expect_state(d, UROCE_QP_SQE);
	expect_number(d, d->ep.qp->report.cause, UROCE_CAUSE_PATH);
}

static void err_flushes(struct drill *d)
{
	start(d);
	post_recv(d, 200, 0x1000, 512);
	post_recv(d, 201, 0x1000, 512);
	inject(d, "UC_SEND_FIRST psn +0 len 256");
	drill_to_state(d, UROCE_QP_ERR);
	expect_cqe(d, "recv 200 WR_FLUSH_ERR; recv 201 WR_FLUSH_ERR");
	expect_ended(d);
	inject_dropped(d, UROCE_DROP_QP_STATE, "UC_SEND_LAST psn +1 len 8");
}

int main(void)
{
	static const struct drill_case cases[] = {
		{"SENDs go out and are complete", sends},
		{"WRITEs go out and are complete", writes},
		{"no answer is waited for", no_timer_and_no_window},
		{"what UC cannot carry completes in error", what_it_cannot_carry},
		{"a send error leads to SQE, and RTS recovers from it",
			errors_lead_to_sqe_and_back},
		{"a message that breaks off in the middle does not stall the next",
			sqe_in_the_middle_of_a_message},
		{"SQD holds what was not begun", sqd_holds_and_drains},
		{"messages are received, and not acknowledged", receives},
		{"a lost MIDDLE breaks its message and leaves the receive",
			a_lost_middle_breaks_the_message},
		{"a lost LAST gives way to the next message",
			a_lost_last_is_replaced_by_the_next_first},
		{"a lost FIRST leaves nothing of its message", a_lost_first_leaves_nothing},
		{"a packet of another kind breaks the message", another_kind_breaks_the_message},
		{"without a receive the whole message is dropped",
			no_receive_drops_the_whole_message},
		{"what is not allowed is dropped, and nothing else",
			what_is_not_allowed_is_dropped},
		{"a WRITE needs the queue pair's right", writes_need_the_right},
		{"a receive with bad memory ends the queue pair",
			a_bad_receive_ends_the_queue_pair},
		{"a broken message ends its receive of a shared queue in error",
			broken_receives_of_a_shared_queue_end_in_error},
		{"a broken message that overflows its completion queue ends the queue pair",
			a_broken_message_that_overflows_its_queue_ends_it},
		{"answers are not for UC", answers_are_not_for_it},
		{"an unresolved path is waited for, not for ever",
			an_unresolved_path_is_waited_for},
		{"ERR flushes the receive in use and all others", err_flushes},
	};

	return DRILL_SUITE("uc", cases);
}
