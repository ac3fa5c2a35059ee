/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The completer and paths: a peer whose MAC is not known, not yet, or no longer.
 *
 * A queue pair on such a path does not send and its timers do not run; it waits, for a bounded
 * time, whatever happens meanwhile, and ends with a cause that says so.
 */
#include "drill.h"

#define TIMEOUT_NS   (4096ull << 14)
#define PATH_WAIT_NS (3 * DRILL_S)

static void set_path(struct drill *d, bool resolved)
{
	struct uroce_cmd cmd = {
		.kind = UROCE_CMD_PATH_UPDATE, .path = &d->ep.path, .path_new = d->ep.path};

	cmd.path_new.resolved = resolved;
	expect_number(d, uroce_core_ctrl(&d->ep.core, &cmd, d->now_ns), 0);
}

static void never_resolved(struct drill *d)
{
	set_path(d, false);
	post_recv(d, 200, 0, 64);
	post(d, "SEND 100 len 8");
	post(d, "SEND 101 len 8");
	expect_nothing(d);
	pass(d, PATH_WAIT_NS - 1);
	expect_nothing(d);
	expect_state(d, UROCE_QP_RTS);
	pass(d, 1);
	expect_cqe(d, "send 100 RETRY_EXC_ERR; send 101 WR_FLUSH_ERR; recv 200 WR_FLUSH_ERR");
	expect_ended(d);
	expect_number(d, d->ep.qp->report.cause, UROCE_CAUSE_PATH);
}

static void resolved_in_time(struct drill *d)
{
	set_path(d, false);
	post(d, "SEND 100 len 8");
	expect_nothing(d);
	pass(d, PATH_WAIT_NS - 1);
	d->ep.path.dmac[3] = 0x77;
	set_path(d, true);
	expect(d, "SEND_ONLY psn +0 ack len 8");
	expect_number(d, d->frame[3], 0x77);
	expect_number(d, d->ep.core.counters.retransmitted_packets, 0);
	/* Full retries, and the timer runs from now. */
	pass(d, TIMEOUT_NS - 1);
	expect_nothing(d);
	pass(d, 1);
	expect(d, "SEND_ONLY psn +0 ack len 8");
	inject(d, "ACKNOWLEDGE psn +0 ACK");
	expect_cqe(d, "send 100 SUCCESS len 8");
}

static void answers_wait_too(struct drill *d)
{
	set_path(d, false);
	inject(d, "RDMA_WRITE_ONLY psn +0 ack va 0x1000 len 64");
	expect_nothing(d);
	expect_memory(d, 0x1000, 64, 1, 0);
	pass(d, 10 * PATH_WAIT_NS);
	expect_nothing(d);
	set_path(d, true);
	expect(d, "ACKNOWLEDGE psn +0 ACK msn 1");
}

static void lost_with_work_on_the_wire(struct drill *d)
{
	post(d, "SEND 100 len 8");
	expect(d, "SEND_ONLY psn +0 ack len 8");
	set_path(d, false);
	pass(d, 8 * TIMEOUT_NS);
	expect_nothing(d);
	expect_state(d, UROCE_QP_RTS);
	set_path(d, true);
	pass(d, TIMEOUT_NS);
	expect(d, "SEND_ONLY psn +0 ack len 8");
	inject(d, "ACKNOWLEDGE psn +0 ACK");
	expect_cqe(d, "send 100 SUCCESS len 8");
}

static void lost_for_good(struct drill *d)
{
	post(d, "SEND 100 len 8");
	expect(d, "SEND_ONLY psn +0 ack len 8");
	set_path(d, false);
	pass(d, PATH_WAIT_NS);
	expect_cqe(d, "send 100 RETRY_EXC_ERR");
	expect_ended(d);
	expect_number(d, d->ep.qp->report.cause, UROCE_CAUSE_PATH);
}

static void lost_then_a_part_is_answered(struct drill *d)
{
	post(d, "SEND 100 len 8");
	post(d, "SEND 101 len 8");
	expect(d, "SEND_ONLY psn +0 ack len 8; SEND_ONLY psn +1 ack len 8");
	set_path(d, false);
	/* The peer can still reach us. The rest must not wait for ever. */
	inject(d, "ACKNOWLEDGE psn +0 ACK");
	expect_cqe(d, "send 100 SUCCESS len 8");
	expect_nothing(d);
	pass(d, PATH_WAIT_NS);
	expect_cqe(d, "send 101 RETRY_EXC_ERR");
	expect_ended(d);
	expect_number(d, d->ep.qp->report.cause, UROCE_CAUSE_PATH);
}

static void lost_then_all_is_answered(struct drill *d)
{
	post(d, "SEND 100 len 8");
	expect(d, "SEND_ONLY psn +0 ack len 8");
	set_path(d, false);
	inject(d, "ACKNOWLEDGE psn +0 ACK");
	expect_cqe(d, "send 100 SUCCESS len 8");
	pass(d, 2 * PATH_WAIT_NS);
	expect_state(d, UROCE_QP_RTS);
}

static void lost_while_not_ready(struct drill *d)
{
	post(d, "SEND 100 len 8");
	expect(d, "SEND_ONLY psn +0 ack len 8");
	inject(d, "ACKNOWLEDGE psn +0 RNR 12");
	set_path(d, false);
	pass(d, 10 * DRILL_US);
	set_path(d, true);
	/* Sent again when the receiver's time is up, or at once; in any case within a timeout. */
	pass(d, 640 * DRILL_US);
	pass(d, TIMEOUT_NS);
	expect(d, "SEND_ONLY psn +0 ack len 8");
	inject(d, "ACKNOWLEDGE psn +0 ACK");
	expect_cqe(d, "send 100 SUCCESS len 8");
}

static void unresolved_when_not_ready(struct drill *d)
{
	post(d, "SEND 100 len 8");
	expect(d, "SEND_ONLY psn +0 ack len 8");
	set_path(d, false);
	inject(d, "ACKNOWLEDGE psn +0 RNR 12");
	pass(d, 640 * DRILL_US);
	expect_nothing(d);
	pass(d, PATH_WAIT_NS);
	expect_cqe(d, "send 100 RETRY_EXC_ERR");
	expect_ended(d);
	expect_number(d, d->ep.qp->report.cause, UROCE_CAUSE_PATH);
}

static void new_mac(struct drill *d)
{
	post(d, "SEND 100 len 8");
	expect(d, "SEND_ONLY psn +0 ack len 8");
	d->ep.path.dmac[3] = 0x55;
	set_path(d, true);
	expect_nothing(d);
	pass(d, TIMEOUT_NS);
	expect(d, "SEND_ONLY psn +0 ack len 8");
	expect_number(d, d->frame[3], 0x55);
	inject(d, "ACKNOWLEDGE psn +0 ACK");
	expect_cqe(d, "send 100 SUCCESS len 8");
}

static void nak_while_unresolved(struct drill *d)
{
	post(d, "SEND 100 len 8");
	post(d, "SEND 101 len 8");
	expect(d, "SEND_ONLY psn +0 ack len 8; SEND_ONLY psn +1 ack len 8");
	set_path(d, false);
	inject(d, "ACKNOWLEDGE psn +0 NAK 0");
	expect_nothing(d);
	pass(d, PATH_WAIT_NS - 1);
	set_path(d, true);
	expect(d, "SEND_ONLY psn +0 ack len 8; SEND_ONLY psn +1 ack len 8; nothing");
	inject(d, "ACKNOWLEDGE psn +1 ACK");
	expect_cqe(d, "send 100 SUCCESS len 8; send 101 SUCCESS len 8");
}

/* ---- SQD, and another path ---- */

static void stop(struct drill *d)
{
	const struct uroce_qp_attr attr = {.state = UROCE_QP_SQD};

	expect_number(d,
		drill_modify(d, &attr, UROCE_QP_ATTR_STATE | UROCE_QP_ATTR_EN_SQD_ASYNC_NOTIFY), 0);
}

/* To a path of another MAC, `resolved` or not. */
static void change_path(struct drill *d, bool resolved)
{
	static struct uroce_path other;
	const struct uroce_qp_attr attr = {.path = &other};

	other = d->ep.path;
	other.users = NULL;
	other.resolved = resolved;
	other.dmac[3] = 0x66;
	expect_number(d, drill_modify(d, &attr, UROCE_QP_ATTR_AV), 0);
}

static void nothing_is_waited_for_in_sqd(struct drill *d)
{
	set_path(d, false);
	post(d, "SEND 100 len 8");
	expect_nothing(d);
	stop(d);
	expect_event(d, "SQ_DRAINED");
	/* What SQD holds back waits for no path, and neither does what is posted there. */
	post(d, "SEND 101 len 8");
	expect_nothing(d);
	pass(d, 2 * PATH_WAIT_NS);
	expect_state(d, UROCE_QP_SQD);
	expect_no_cqe(d);
	/* Its time begins when it may leave. */
	expect_number(d, drill_to_state(d, UROCE_QP_RTS), 0);
	expect_nothing(d);
	pass(d, PATH_WAIT_NS - 1);
	expect_state(d, UROCE_QP_RTS);
	pass(d, 1);
	expect_cqe(d, "send 100 RETRY_EXC_ERR; send 101 WR_FLUSH_ERR");
	expect_ended(d);
	expect_number(d, d->ep.qp->report.cause, UROCE_CAUSE_PATH);
}

static void what_stays_at_home_needs_no_path(struct drill *d)
{
	uint32_t key = endpoint_slot(&d->ep, UROCE_MR_WINDOW_2);

	set_path(d, false);
	expect_number(d, drill_to_state(d, UROCE_QP_SQD), 0);
	post(d, "BIND 100 key %u new %u addr 0 bytes 8 access %d", key, key ^ 1,
		UROCE_ACCESS_REMOTE_READ);
	expect_nothing(d);
	expect_no_cqe(d);
	expect_number(d, drill_to_state(d, UROCE_QP_RTS), 0);
	expect_nothing(d);
	expect_cqe(d, "bind 100 SUCCESS len 0");
	pass(d, 2 * PATH_WAIT_NS);
	expect_state(d, UROCE_QP_RTS);
}

static void another_path_for_what_waits(struct drill *d)
{
	set_path(d, false);
	post(d, "SEND 100 len 8");
	expect_nothing(d);
	stop(d);
	expect_event(d, "SQ_DRAINED");
	change_path(d, true);
	expect_number(d, drill_to_state(d, UROCE_QP_RTS), 0);
	expect(d, "SEND_ONLY psn +0 ack len 8");
	expect_number(d, d->frame[3], 0x66);
	/* Answers are waited for as ever. */
	pass(d, TIMEOUT_NS);
	expect(d, "SEND_ONLY psn +0 ack len 8");
	inject(d, "ACKNOWLEDGE psn +0 ACK");
	expect_cqe(d, "send 100 SUCCESS len 8");
	pass(d, 2 * PATH_WAIT_NS);
	expect_state(d, UROCE_QP_RTS);
}

static void another_path_for_what_is_on_the_wire(struct drill *d)
{
	post(d, "SEND 100 len 8");
	expect(d, "SEND_ONLY psn +0 ack len 8");
	set_path(d, false);
	stop(d);
	change_path(d, true);
	pass(d, TIMEOUT_NS);
	expect(d, "SEND_ONLY psn +0 ack len 8");
	expect_number(d, d->frame[3], 0x66);
	pass(d, TIMEOUT_NS);
	expect(d, "SEND_ONLY psn +0 ack len 8");
	inject(d, "ACKNOWLEDGE psn +0 ACK");
	expect_cqe(d, "send 100 SUCCESS len 8");
	expect_event(d, "SQ_DRAINED");
	pass(d, 2 * PATH_WAIT_NS);
	expect_state(d, UROCE_QP_SQD);
}

static void another_path_that_is_not_known(struct drill *d)
{
	post(d, "SEND 100 len 8");
	expect(d, "SEND_ONLY psn +0 ack len 8");
	stop(d);
	change_path(d, false);
	/* Retry timers stand still, as on a path that is lost. */
	pass(d, PATH_WAIT_NS - 1);
	expect_nothing(d);
	expect_state(d, UROCE_QP_SQD);
	expect_number(d, d->ep.core.counters.local_ack_timeout_err, 0);
	pass(d, 1);
	expect_cqe(d, "send 100 RETRY_EXC_ERR");
	expect_ended(d);
	expect_number(d, d->ep.qp->report.cause, UROCE_CAUSE_PATH);
}

static void answers_take_another_path(struct drill *d)
{
	set_path(d, false);
	inject(d, "RDMA_WRITE_ONLY psn +0 ack va 0x1000 len 64");
	expect_nothing(d);
	stop(d);
	expect_event(d, "SQ_DRAINED");
	change_path(d, true);
	expect(d, "ACKNOWLEDGE psn +0 ACK msn 1");
	expect_number(d, d->frame[3], 0x66);
}

int main(void)
{
	static const struct drill_case cases[] = {
		{"a path that is never resolved ends in words after three seconds", never_resolved},
		{"a path that is resolved in time costs no retry", resolved_in_time},
		{"answers wait for the path, and are not forgotten", answers_wait_too},
		{"retry timers stand still on a path that is lost", lost_with_work_on_the_wire},
		{"a path that is lost for good ends what is on the wire", lost_for_good},
		{"a path that is lost for good ends what is left on the wire",
			lost_then_a_part_is_answered},
		{"a path that is lost when all is answered ends nothing",
			lost_then_all_is_answered},
		{"a path that is lost and found while waiting for RNR goes on",
			lost_while_not_ready},
		{"RNR on a lost path does not defer its end for ever", unresolved_when_not_ready},
		{"a new MAC is used from then on", new_mac},
		{"a NAK on a lost path waits for the path", nak_while_unresolved},
		{"what SQD holds back waits for no path", nothing_is_waited_for_in_sqd},
		{"what stays at home needs no path", what_stays_at_home_needs_no_path},
		{"what waited for a path leaves by another", another_path_for_what_waits},
		{"what is on the wire is sent again by another path",
			another_path_for_what_is_on_the_wire},
		{"another path may not be known either", another_path_that_is_not_known},
		{"answers that wait for a path leave by another", answers_take_another_path},
	};

	return DRILL_SUITE("comp_path", cases);
}
