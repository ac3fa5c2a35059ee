/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The keepalive: a peer that says nothing is asked, by a WRITE of no bytes, whether it is there.
 *
 * The application sees nothing of it, unless there is no answer: then the connection ends as one
 * does whose work requests are not answered. What is posted meanwhile comes behind it, and all that
 * may happen to a request (loss, refusal, a late or early answer) may happen to it.
 */
#include <errno.h>
#include <string.h>

#include "drill.h"

#define ALIVE_NS   (100 * DRILL_MS)
#define TIMEOUT_NS (4096ull << 14)
#define PROBE(psn) "RDMA_WRITE_ONLY psn +" #psn " ack va 0x0 rkey 0x00000000 dma_len 0 len 0"

static void start(struct drill *d)
{
	struct endpoint_conf conf = drill_conf(d);

	conf.caps.keepalive_ms = 100;
	conf.attr.retry_cnt = 2;
	drill_restart(d, &conf);
}

/* The peer is silent until it is asked. */
static void start_asked(struct drill *d)
{
	start(d);
	pass(d, ALIVE_NS);
	expect(d, PROBE(0));
}

static void asked_and_there(struct drill *d)
{
	start(d);
	expect_number(d, uroce_core_next_deadline(&d->ep.core), ALIVE_NS);
	pass(d, ALIVE_NS - 1);
	expect_nothing(d);
	pass(d, 1);
	expect(d, PROBE(0));
	expect_nothing(d);
	pass(d, TIMEOUT_NS - 1);
	inject(d, "ACKNOWLEDGE psn +0 ACK msn 1");
	expect_no_cqe(d);
	pass(d, ALIVE_NS - 1);
	expect_nothing(d);
	pass(d, 1);
	expect(d, PROBE(1));
	inject(d, "ACKNOWLEDGE psn +1 ACK msn 2");
	expect_number(d, d->ep.core.counters.keepalives_sent, 2);
	expect_number(d, d->ep.core.counters.messages_sent, 0);
	expect_number(d, d->ep.core.counters.retransmitted_packets, 0);
	post(d, "SEND 100 len 8");
	expect(d, "SEND_ONLY psn +2 ack len 8");
	inject(d, "ACKNOWLEDGE psn +2 ACK");
	expect_cqe(d, "send 100 SUCCESS len 8");
}

static void who_speaks_is_not_asked(struct drill *d)
{
	start(d);
	for (uint32_t i = 0; i < 10; i++) {
		pass(d, ALIVE_NS - 1);
		expect_nothing(d);
		inject(d, "RDMA_WRITE_ONLY psn +%u ack va 0x1000 len 8", i);
		expect(d, "ACKNOWLEDGE psn +%u ACK msn %u", i, i + 1);
	}
	/* What is not acceptable is not of the peer. */
	pass(d, ALIVE_NS / 2);
	inject_dropped(d, UROCE_DROP_SGID_NOT_PEER,
		"RDMA_WRITE_ONLY psn +10 ack va 0x1000 len 8 src 0xc0000263");
	pass(d, ALIVE_NS / 2);
	expect(d, PROBE(0));
	inject(d, "ACKNOWLEDGE psn +0 ACK");
}

static void who_is_asked_something_else(struct drill *d)
{
	start(d);
	pass(d, ALIVE_NS / 2);
	post(d, "SEND 100 len 8");
	expect(d, "SEND_ONLY psn +0 ack len 8");
	pass(d, TIMEOUT_NS - 1);
	expect_nothing(d);
	inject(d, "ACKNOWLEDGE psn +0 ACK");
	expect_cqe(d, "send 100 SUCCESS len 8");
	pass(d, ALIVE_NS - 1);
	expect_nothing(d);
	pass(d, 1);
	expect(d, PROBE(1));
	inject(d, "ACKNOWLEDGE psn +1 ACK");
}

static void posted_behind(struct drill *d)
{
	start_asked(d);
	post(d, "SEND 100 len 600");
	post(d, "READ 101 len 8");
	expect(d,
		"SEND_FIRST psn +1 len 256; SEND_MIDDLE psn +2 len 256; SEND_LAST psn +3 ack len "
		"88;"
		"RDMA_READ_REQUEST psn +4 ack va 0x1000 rkey 0x00000abc dma_len 8");
	inject(d, "ACKNOWLEDGE psn +0 ACK");
	expect_no_cqe(d);
	inject(d, "ACKNOWLEDGE psn +2 ACK");
	expect_no_cqe(d);
	inject(d, "RDMA_READ_RESPONSE_ONLY psn +4 ACK len 8");
	expect_cqe(d, "send 100 SUCCESS len 600; read 101 SUCCESS len 8");
}

static void one_answer_for_all(struct drill *d)
{
	start_asked(d);
	post(d, "SEND 100 len 8");
	expect(d, "SEND_ONLY psn +1 ack len 8");
	inject(d, "ACKNOWLEDGE psn +1 ACK");
	expect_cqe(d, "send 100 SUCCESS len 8");
	pass(d, ALIVE_NS);
	expect(d, PROBE(2));
	post(d, "READ 101 len 8");
	expect(d, "RDMA_READ_REQUEST psn +3 ack va 0x1000 rkey 0x00000abc dma_len 8");
	inject(d, "RDMA_READ_RESPONSE_ONLY psn +3 ACK len 8");
	expect_cqe(d, "read 101 SUCCESS len 8");
}

static void posted_before_it_left(struct drill *d)
{
	start(d);
	pass(d, ALIVE_NS);
	post(d, "SEND 100 len 8");
	expect(d, PROBE(0) "; SEND_ONLY psn +1 ack len 8");
	inject(d, "ACKNOWLEDGE psn +1 ACK");
	expect_cqe(d, "send 100 SUCCESS len 8");
}

/* What is posted asks in its stead, though its rate limit holds it back for longer. */
static void posted_and_held_back(struct drill *d)
{
	struct endpoint_conf conf = drill_conf(d);

	conf.caps.keepalive_ms = 100;
	conf.caps.rate_limit_bps = 8000; /* a byte each ms */
	drill_restart(d, &conf);
	post(d, "SEND 100 len 256");
	expect(d, "SEND_ONLY psn +0 ack len 256");
	inject(d, "ACKNOWLEDGE psn +0 ACK");
	expect_cqe(d, "send 100 SUCCESS len 256");
	post(d, "SEND 101 len 8");
	expect_nothing(d);
	pass(d, ALIVE_NS);
	expect_nothing(d);
	expect_number(d, d->ep.core.counters.keepalives_sent, 0);
	pass(d, 3 * ALIVE_NS);
	expect(d, "SEND_ONLY psn +1 ack len 8");
	expect_nothing(d);
	inject(d, "ACKNOWLEDGE psn +1 ACK");
	expect_cqe(d, "send 101 SUCCESS len 8");
}

static void lost(struct drill *d)
{
	start_asked(d);
	post(d, "SEND 100 len 8");
	expect(d, "SEND_ONLY psn +1 ack len 8");
	pass(d, TIMEOUT_NS);
	expect(d, PROBE(0) "; SEND_ONLY psn +1 ack len 8");
	expect_number(d, d->ep.core.counters.retransmitted_packets, 2);
	/* The same complaint again, before it was acted upon: once is enough. */
	inject(d, "ACKNOWLEDGE psn +0 NAK 0; ACKNOWLEDGE psn +0 NAK 0");
	expect(d, PROBE(0) "; SEND_ONLY psn +1 ack len 8");
	/* It arrived, and what is behind it did not. */
	inject(d, "ACKNOWLEDGE psn +1 NAK 0");
	expect(d, "SEND_ONLY psn +1 ack len 8");
	inject(d, "ACKNOWLEDGE psn +1 ACK");
	expect_cqe(d, "send 100 SUCCESS len 8");
}

static void late_answer(struct drill *d)
{
	start_asked(d);
	post(d, "SEND 100 len 8");
	expect(d, "SEND_ONLY psn +1 ack len 8");
	pass(d, TIMEOUT_NS);
	inject(d, "ACKNOWLEDGE psn +0 ACK");
	expect(d, "SEND_ONLY psn +1 ack len 8");
	pass(d, TIMEOUT_NS);
	inject(d, "ACKNOWLEDGE psn +1 ACK");
	expect_cqe(d, "send 100 SUCCESS len 8");
	expect_nothing(d);
}

static void expect_dead(struct drill *d)
{
	expect_state(d, UROCE_QP_ERR);
	expect_event(d, "QP_FATAL; LAST_WQE_REACHED");
	expect_number(d, uroce_core_next_deadline(&d->ep.core), UROCE_TIMER_NEVER);
}

static void nobody_there(struct drill *d)
{
	start(d);
	post_recv(d, 200, 0x1000, 64);
	pass(d, ALIVE_NS);
	expect(d, PROBE(0));
	for (int i = 0; i < 2; i++) {
		pass(d, TIMEOUT_NS - 1);
		expect_nothing(d);
		pass(d, 1);
		expect(d, PROBE(0));
	}
	pass(d, TIMEOUT_NS);
	expect_nothing(d);
	expect_cqe(d, "recv 200 WR_FLUSH_ERR");
	expect_dead(d);
	expect_number(d, d->ep.qp->report.cause, UROCE_CAUSE_KEEPALIVE);
	expect_number(d, d->ep.qp->report.status, UROCE_STATUS_RETRY_EXC_ERR);
	expect_number(d, d->ep.qp->report.detail, 3);
	expect_number(d, d->ep.qp->report.error_psn, d->sq_psn);
	expect_number(d, d->ep.core.counters.retry_exceeded_err, 1);
	expect_number(d, d->ep.core.counters.keepalives_sent, 3);
	expect_number(d, d->ep.core.counters.req_cqe_error, 0);
	post(d, "SEND 100 len 8");
	expect_nothing(d);
	expect_cqe(d, "send 100 WR_FLUSH_ERR");
}

static void nobody_there_with_work(struct drill *d)
{
	start_asked(d);
	post(d, "SEND 100 len 8");
	post(d, "SEND 101 len 8");
	for (int i = 0; i < 3; i++) {
		char line[DRILL_TEXT_BYTES];

		while (drill_next_line(d, line, sizeof(line)))
			;
		pass(d, TIMEOUT_NS);
	}
	expect_cqe(d, "send 100 RETRY_EXC_ERR why 0x3; send 101 WR_FLUSH_ERR");
	expect_ended(d);
	expect_number(d, d->ep.qp->report.cause, UROCE_CAUSE_KEEPALIVE);
}

static void refused(struct drill *d)
{
	start_asked(d);
	post(d, "SEND 100 len 8");
	expect(d, "SEND_ONLY psn +1 ack len 8");
	inject(d, "ACKNOWLEDGE psn +0 NAK 1");
	/* No fault of what was posted. */
	expect_cqe(d, "send 100 WR_FLUSH_ERR");
	expect_dead(d);
	expect_number(d, d->ep.qp->report.cause, UROCE_CAUSE_KEEPALIVE_REFUSED);
	expect_number(d, d->ep.qp->report.status, UROCE_STATUS_REM_INV_REQ_ERR);
	start_asked(d);
	inject(d, "ACKNOWLEDGE psn +0 NAK 2");
	expect_dead(d);
}

static void not_ready(struct drill *d)
{
	start_asked(d);
	inject(d, "ACKNOWLEDGE psn +0 RNR 1");
	expect_nothing(d);
	pass(d, 10 * DRILL_US);
	expect(d, PROBE(0));
	inject(d, "ACKNOWLEDGE psn +0 ACK");
}

static void data_for_an_answer(struct drill *d)
{
	start_asked(d);
	post(d, "READ 100 len 8");
	expect(d, "RDMA_READ_REQUEST psn +1 ack va 0x1000 rkey 0x00000abc dma_len 8");
	inject_dropped(d, UROCE_DROP_RESPONSE_BAD, "RDMA_READ_RESPONSE_ONLY psn +0 ACK len 8");
	expect_cqe(d, "read 100 WR_FLUSH_ERR");
	expect_dead(d);
	start_asked(d);
	inject_dropped(d, UROCE_DROP_RESPONSE_BAD, "ATOMIC_ACKNOWLEDGE psn +0 ACK orig 1");
	expect_dead(d);
	expect_number(d, d->ep.qp->report.cause, UROCE_CAUSE_BAD_RESPONSE);
}

static void ghosts(struct drill *d)
{
	start(d);
	inject_dropped(d, UROCE_DROP_GHOST_RESPONSE, "ACKNOWLEDGE psn +0 ACK");
	pass(d, ALIVE_NS);
	/* It has its PSN, and was not sent yet. */
	inject_dropped(d, UROCE_DROP_GHOST_RESPONSE, "ACKNOWLEDGE psn +0 ACK");
	expect(d, PROBE(0));
	inject_dropped(d, UROCE_DROP_GHOST_RESPONSE, "ACKNOWLEDGE psn +1 ACK");
	inject(d, "ACKNOWLEDGE psn +0 ACK; ACKNOWLEDGE psn +0 ACK");
}

/* What cannot be sent ends the connection, in its turn: behind the answer. */
static void bad_work_behind(struct drill *d)
{
	start_asked(d);
	post(d, "SEND 100 len 8 lkey 0x999");
	expect_nothing(d);
	expect_no_cqe(d);
	inject(d, "ACKNOWLEDGE psn +0 ACK");
	expect_cqe(d, "send 100 LOC_PROT_ERR why 0x1");
	expect_ended(d);
}

static void draining(struct drill *d)
{
	const struct uroce_qp_attr sqd = {.state = UROCE_QP_SQD};

	start_asked(d);
	drill_modify(d, &sqd, UROCE_QP_ATTR_STATE | UROCE_QP_ATTR_EN_SQD_ASYNC_NOTIFY);
	expect_event(d, "nothing");
	pass(d, TIMEOUT_NS);
	expect(d, PROBE(0));
	inject(d, "ACKNOWLEDGE psn +0 ACK");
	expect_event(d, "SQ_DRAINED");
	pass(d, 100 * ALIVE_NS);
	expect_nothing(d);
	drill_to_state(d, UROCE_QP_RTS);
	pass(d, ALIVE_NS);
	expect(d, PROBE(1));
	inject(d, "ACKNOWLEDGE psn +1 ACK");
}

static void set_path(struct drill *d, bool resolved)
{
	struct uroce_cmd cmd = {.kind = UROCE_CMD_PATH_UPDATE, .path = &d->ep.path};

	cmd.path_new = d->ep.path;
	cmd.path_new.resolved = resolved;
	uroce_core_ctrl(&d->ep.core, &cmd, d->now_ns);
}

static void without_a_mac(struct drill *d)
{
	start(d);
	set_path(d, false);
	pass(d, ALIVE_NS);
	expect_nothing(d);
	set_path(d, true);
	expect(d, PROBE(0));
	inject(d, "ACKNOWLEDGE psn +0 ACK");
	set_path(d, false);
	pass(d, ALIVE_NS);
	expect_nothing(d);
	pass(d, 3 * DRILL_S);
	expect_dead(d);
	expect_number(d, d->ep.qp->report.cause, UROCE_CAUSE_PATH);
}

static void switched(struct drill *d)
{
	const struct uroce_qp_attr on = {.keepalive_ms = 10}, off = {.keepalive_ms = 0};

	expect_number(d, uroce_core_next_deadline(&d->ep.core), UROCE_TIMER_NEVER);
	expect_number(d, drill_modify(d, &on, UROCE_QP_ATTR_KEEPALIVE), 0);
	pass(d, 10 * DRILL_MS);
	expect(d, PROBE(0));
	expect_number(d, drill_modify(d, &off, UROCE_QP_ATTR_KEEPALIVE), 0);
	/* What was asked is still to be answered. */
	pass(d, TIMEOUT_NS);
	expect(d, PROBE(0));
	inject(d, "ACKNOWLEDGE psn +0 ACK");
	expect_number(d, uroce_core_next_deadline(&d->ep.core), UROCE_TIMER_NEVER);
	expect_number(d, drill_modify(d, &on, UROCE_QP_ATTR_KEEPALIVE), 0);
	expect_number(d, drill_modify(d, &off, UROCE_QP_ATTR_KEEPALIVE), 0);
	expect_number(d, uroce_core_next_deadline(&d->ep.core), UROCE_TIMER_NEVER);
}

static void reset(struct drill *d)
{
	start_asked(d);
	drill_to_state(d, UROCE_QP_RESET);
	expect_number(d, uroce_core_next_deadline(&d->ep.core), UROCE_TIMER_NEVER);
	expect_number(d, d->ep.qp->attr.keepalive_ms, 100);
	endpoint_connect(&d->ep, DRILL_PEER_QPN);
	post(d, "SEND 100 len 8");
	expect(d, "SEND_ONLY psn +0 ack len 8");
	inject(d, "ACKNOWLEDGE psn +0 ACK");
	expect_cqe(d, "send 100 SUCCESS len 8");
}

static void of_the_other_side(struct drill *d)
{
	inject(d, "RDMA_WRITE_ONLY psn +0 ack absva 0 rkey 0 len 0");
	expect(d, "ACKNOWLEDGE psn +0 ACK msn 1");
}

static void reliable_ones_only(struct drill *d)
{
	const struct uroce_qp_attr on = {.keepalive_ms = 10};
	struct endpoint_conf conf = drill_conf(d);

	conf.caps.type = UROCE_QP_UC;
	conf.caps.keepalive_ms = 10;
	expect_number(d, (uint64_t)uroce_qp_caps_check(&conf.caps), (uint64_t)-EINVAL);
	conf.caps.keepalive_ms = 0;
	drill_restart(d, &conf);
	expect_number(
		d, (uint64_t)drill_modify(d, &on, UROCE_QP_ATTR_KEEPALIVE), (uint64_t)-EINVAL);
}

int main(void)
{
	static const struct drill_case cases[] = {
		{"a peer that is silent is asked, and nobody sees it", asked_and_there},
		{"a peer that speaks is not asked", who_speaks_is_not_asked},
		{"a peer that is asked something else is not asked", who_is_asked_something_else},
		{"what is posted behind it completes in order", posted_behind},
		{"an answer to what is behind it answers it too", one_answer_for_all},
		{"what is posted before it leaves comes behind it", posted_before_it_left},
		{"what is posted asks in its stead, though it may not leave yet",
			posted_and_held_back},
		{"a lost one is sent again, with all behind it", lost},
		{"a late answer is an answer", late_answer},
		{"who is not there ends the connection", nobody_there},
		{"who is not there ends the oldest work request", nobody_there_with_work},
		{"a refusal flushes what was posted behind it", refused},
		{"a receiver that is not ready is asked later", not_ready},
		{"data is no answer to it", data_for_an_answer},
		{"answers to what was not sent are none", ghosts},
		{"work that cannot be sent ends behind it", bad_work_behind},
		{"SQD is drained once it is answered, and asks nobody", draining},
		{"a peer whose MAC is lost is found missing", without_a_mac},
		{"it can be switched on and off", switched},
		{"RESET asks nobody", reset},
		{"a peer's own is answered", of_the_other_side},
		{"only a reliable connection has one", reliable_ones_only},
	};

	return DRILL_SUITE("keepalive", cases);
}
