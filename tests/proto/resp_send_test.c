/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * SENDs at the responder: receives, placement, completion, refusals, receiver not ready.
 *
 * Each check on the way of a SEND has a test that breaks it and looks at what the peer is told,
 * how the receive ends, which event there is, and that no memory changed.
 */
#include <string.h>

#include "drill.h"

/* ---- what is right ---- */

static void one_packet(struct drill *d)
{
	post_recv(d, 200, 0x1000, 64);
	inject(d, "SEND_ONLY psn +0 ack len 64");
	expect(d, "ACKNOWLEDGE psn +0 ACK msn 1");
	expect_cqe(d, "recv 200 SUCCESS len 64");
	expect_memory(d, 0x1000, 64, 1, 0);
	expect_memory(d, 0x1040, 64, 0, 0x1040);
}

static void every_length_and_pad(struct drill *d)
{
	for (uint32_t bytes = 0; bytes <= DRILL_MTU; bytes += bytes < 68 ? 1 : 47) {
		struct endpoint_conf conf = drill_conf(d);

		drill_restart(d, &conf);
		post_recv(d, 200, 0x1000, DRILL_MTU);
		inject(d, "SEND_ONLY psn +0 ack len %u", bytes);
		expect(d, "ACKNOWLEDGE psn +0 ACK msn 1");
		expect_cqe(d, "recv 200 SUCCESS len %u", bytes);
		expect_memory(d, 0x1000, bytes, 1, 0);
		expect_memory(d, 0x1000 + bytes, 64, 0, 0x1000 + bytes);
	}
}

static void three_packets(struct drill *d)
{
	post_recv(d, 200, 0x1000, 600);
	inject(d, "SEND_FIRST psn +0 len 256");
	inject(d, "SEND_MIDDLE psn +1 len 256 at 256");
	expect_no_cqe(d);
	inject(d, "SEND_LAST psn +2 ack len 88 at 512");
	expect(d, "ACKNOWLEDGE psn +2 ACK msn 1");
	expect_cqe(d, "recv 200 SUCCESS len 600");
	expect_memory(d, 0x1000, 600, 1, 0);
}

static void immediate(struct drill *d)
{
	post_recv(d, 200, 0x1000, 64);
	post_recv(d, 201, 0x2000, 300);
	post_recv(d, 202, 0x3000, 0);
	inject(d, "SEND_ONLY_WITH_IMMEDIATE psn +0 len 5 imm 0x01020304");
	inject(d,
		"SEND_FIRST psn +1 len 256; "
		"SEND_LAST_WITH_IMMEDIATE psn +2 len 4 at 256 imm 0xffffffff");
	inject(d, "SEND_ONLY_WITH_IMMEDIATE psn +3 ack len 0 imm 0");
	expect(d, "ACKNOWLEDGE psn +3 ACK msn 3");
	expect_cqe(d, "recv 200 SUCCESS len 5 imm 16909060");
	expect_cqe(d, "recv 201 SUCCESS len 260 imm 4294967295");
	expect_cqe(d, "recv 202 SUCCESS len 0 imm 0");
}

static void solicited_only_with_the_last(struct drill *d)
{
	post_recv(d, 200, 0x1000, 600);
	post_recv(d, 201, 0x2000, 600);
	inject(d,
		"SEND_FIRST psn +0 se len 256; SEND_LAST psn +1 len 1; "
		"SEND_ONLY psn +2 se ack len 1");
	expect(d, "ACKNOWLEDGE psn +2 ACK msn 2");
	expect_cqe(d, "recv 200 SUCCESS len 257; recv 201 SUCCESS len 1 se");
}

static void zero_bytes_need_a_receive(struct drill *d)
{
	post_recv(d, 200, 0, 0);
	inject(d, "SEND_ONLY psn +0 ack len 0");
	expect(d, "ACKNOWLEDGE psn +0 ACK msn 1");
	expect_cqe(d, "recv 200 SUCCESS len 0");
	inject_dropped(d, UROCE_DROP_RNR, "SEND_ONLY psn +1 ack len 0");
	expect(d, "ACKNOWLEDGE psn +1 RNR NAK 0.01 ms msn 1");
}

static void scattered(struct drill *d)
{
	struct uroce_recv_wqe *wqe = uroce_ring_reserve(&d->ep.qp->recv_ring);
	struct uroce_seg *segs = uroce_recv_wqe_segs(wqe);
	uint64_t base = (uintptr_t)d->ep.mem;

	*wqe = (struct uroce_recv_wqe){.wr_id = 200, .num_segs = 4, .bytes = 1};
	segs[0] = (struct uroce_seg){base + 0x1000, 100, d->ep.key};
	segs[1] = (struct uroce_seg){base + 0x2000, 0, 0xbad};
	segs[2] = (struct uroce_seg){base + 0x3000, 300, d->ep.key};
	segs[3] = (struct uroce_seg){base + 0x4000, 50, d->ep.key};
	uroce_ring_advance(&d->ep.qp->recv_ring);
	uroce_ring_publish_seq(&d->ep.qp->recv_ring);
	inject(d, "SEND_FIRST psn +0 len 256; SEND_LAST psn +1 ack len 160 at 256");
	expect(d, "ACKNOWLEDGE psn +1 ACK msn 1");
	expect_cqe(d, "recv 200 SUCCESS len 416");
	expect_memory(d, 0x1000, 100, 1, 0);
	expect_memory(d, 0x3000, 300, 1, 100);
	expect_memory(d, 0x4000, 16, 1, 400);
	expect_memory(d, 0x4010, 64, 0, 0x4010);
}

static void first_packet_in_rtr(struct drill *d)
{
	const struct uroce_qp_attr attr = {.state = UROCE_QP_RTR,
		.path = &d->ep.path,
		.path_mtu_bytes = DRILL_MTU,
		.dest_qpn = DRILL_PEER_QPN,
		.rq_psn = d->rq_psn,
		.min_rnr_timer = 1};
	struct endpoint_conf conf = drill_conf(d);
	const uint32_t to_init = UROCE_QP_ATTR_STATE | UROCE_QP_ATTR_PKEY_INDEX |
		UROCE_QP_ATTR_PORT | UROCE_QP_ATTR_ACCESS_FLAGS;
	const uint32_t to_rtr = UROCE_QP_ATTR_STATE | UROCE_QP_ATTR_AV | UROCE_QP_ATTR_PATH_MTU |
		UROCE_QP_ATTR_DEST_QPN | UROCE_QP_ATTR_RQ_PSN | UROCE_QP_ATTR_MAX_DEST_RD_ATOMIC |
		UROCE_QP_ATTR_MIN_RNR_TIMER;
	const struct uroce_qp_attr init = {.state = UROCE_QP_INIT};

	drill_restart_reset(d, &conf);
	expect_number(d, drill_modify(d, &init, to_init), 0);
	post_recv(d, 200, 0x1000, 64);
	post_recv(d, 201, 0x2000, 64);
	expect_number(d, drill_modify(d, &attr, to_rtr), 0);
	inject(d, "SEND_ONLY psn +0 ack len 64");
	expect_event(d, "COMM_EST");
	expect(d, "ACKNOWLEDGE psn +0 ACK msn 1");
	expect_cqe(d, "recv 200 SUCCESS len 64");
	inject(d, "SEND_ONLY psn +1 ack len 64");
	expect_event(d, "nothing");
	expect(d, "ACKNOWLEDGE psn +1 ACK msn 2");
	expect_cqe(d, "recv 201 SUCCESS len 64");
}

/* ---- receiver not ready ---- */

static void no_receive(struct drill *d)
{
	inject_dropped(d, UROCE_DROP_RNR, "SEND_ONLY psn +0 ack len 64");
	expect(d, "ACKNOWLEDGE psn +0 RNR NAK 0.01 ms msn 0");
	expect_number(d, d->ep.core.counters.rnr_nak_sent, 1);
	post_recv(d, 200, 0x1000, 64);
	inject(d, "SEND_ONLY psn +0 ack len 64");
	expect(d, "ACKNOWLEDGE psn +0 ACK msn 1");
	expect_cqe(d, "recv 200 SUCCESS len 64");
}

static void silence_behind_rnr(struct drill *d)
{
	inject(d,
		"SEND_ONLY psn +0 ack len 8; SEND_ONLY psn +1 ack len 8; "
		"SEND_ONLY psn +2 ack len 8");
	expect(d, "ACKNOWLEDGE psn +0 RNR NAK 0.01 ms msn 0");
	expect_nothing(d);
	expect_number(d, d->ep.core.counters.drops[UROCE_DROP_PSN_AHEAD], 2);
	expect_number(d, d->ep.core.counters.nak_sent, 0);
	/* A receive that comes late changes nothing for what is out of sequence. */
	post_recv(d, 200, 0x1000, 64);
	inject_dropped(d, UROCE_DROP_PSN_AHEAD, "SEND_ONLY psn +3 ack len 8");
	expect_nothing(d);
	inject(d, "SEND_ONLY psn +0 ack len 8");
	expect(d, "ACKNOWLEDGE psn +0 ACK msn 1");
	expect_cqe(d, "recv 200 SUCCESS len 8");
	/* A new gap is told again. */
	inject_dropped(d, UROCE_DROP_PSN_AHEAD, "SEND_ONLY psn +2 ack len 8");
	expect(d, "ACKNOWLEDGE psn +1 NAK psn-sequence-error msn 1");
}

static void rnr_again(struct drill *d)
{
	for (int i = 0; i < 3; i++) {
		inject_dropped(d, UROCE_DROP_RNR, "SEND_FIRST psn +0 len 256");
		expect(d, "ACKNOWLEDGE psn +0 RNR NAK 0.01 ms msn 0");
	}
	expect_number(d, d->ep.qp->resp.in_message, false);
}

static void rnr_covers_what_came_before(struct drill *d)
{
	post_recv(d, 200, 0x1000, 64);
	inject(d, "SEND_ONLY psn +0 len 8; SEND_ONLY psn +1 len 8");
	expect(d, "ACKNOWLEDGE psn +1 RNR NAK 0.01 ms msn 1");
	expect_nothing(d);
	expect_cqe(d, "recv 200 SUCCESS len 8");
}

static void rnr_timer_is_the_attribute(struct drill *d)
{
	static const char *const words[32] = {"655.36", "0.01", "0.02", "0.03", "0.04", "0.06",
		"0.08", "0.12", "0.16", "0.24", "0.32", "0.48", "0.64", "0.96", "1.28", "1.92",
		"2.56", "3.84", "5.12", "7.68", "10.24", "15.36", "20.48", "30.72", "40.96",
		"61.44", "81.92", "122.88", "163.84", "245.76", "327.68", "491.52"};

	for (uint8_t code = 0; code < 32; code++) {
		struct endpoint_conf conf = drill_conf(d);

		conf.attr.min_rnr_timer = code;
		drill_restart(d, &conf);
		inject_dropped(d, UROCE_DROP_RNR, "SEND_ONLY psn +0 len 8");
		expect(d, "ACKNOWLEDGE psn +0 RNR NAK %s ms msn 0", words[code]);
	}
}

/* ---- refusals ---- */

/* A SEND that is refused: the NAK, how receive 200 ends, the rest flushed, memory untouched. */
static void refused(struct drill *d, const char *nak, const char *status)
{
	expect(d, "ACKNOWLEDGE %s", nak);
	expect_cqe(d, "recv 200 %s", status);
	expect_cqe(d, "recv 201 WR_FLUSH_ERR");
	expect_ended(d);
	inject_dropped(d, UROCE_DROP_QP_STATE, "SEND_ONLY psn +0 ack len 8");
}

static void too_short_one(struct drill *d)
{
	post_recv(d, 200, 0x1000, 63);
	post_recv(d, 201, 0x2000, 64);
	inject_dropped(d, UROCE_DROP_REQUEST_REFUSED, "SEND_ONLY psn +0 ack len 64");
	refused(d, "psn +0 NAK invalid-request msn 0", "LOC_LEN_ERR why 0x61");
	expect_memory(d, 0x1000, 128, 0, 0x1000);
	expect_number(d, d->ep.core.counters.resp_local_length_error, 1);
	expect_number(d, d->ep.qp->report.cause, UROCE_CAUSE_RECV_TOO_SHORT);
	expect_number(d, d->ep.qp->report.refusal_got, 64);
	expect_number(d, d->ep.qp->report.refusal_want, 63);
}

static void too_short_many(struct drill *d)
{
	post_recv(d, 200, 0x1000, 511);
	post_recv(d, 201, 0x2000, 64);
	inject(d, "SEND_FIRST psn +0 len 256");
	inject_dropped(d, UROCE_DROP_REQUEST_REFUSED, "SEND_MIDDLE psn +1 len 256 at 256");
	refused(d, "psn +1 NAK invalid-request msn 0", "LOC_LEN_ERR why 0x61");
	expect_memory(d, 0x1100, 256, 0, 0x1100);
}

static void bad_lkey(struct drill *d)
{
	uint32_t key = d->ep.key;

	d->ep.key = 0xdead00;
	post_recv(d, 200, 0x1000, 64);
	d->ep.key = key;
	post_recv(d, 201, 0x2000, 64);
	inject_dropped(d, UROCE_DROP_REQUEST_REFUSED, "SEND_ONLY psn +0 ack len 64");
	refused(d, "psn +0 NAK remote-operational-error msn 0", "LOC_PROT_ERR why 0x63");
	expect_memory(d, 0x1000, 64, 0, 0x1000);
}

static void no_right_to_write(struct drill *d)
{
	uint32_t key = d->ep.key;

	d->ep.key = endpoint_register(&d->ep, 0x1000, 0x1000, 0);
	post_recv(d, 200, 0x1000, 64);
	d->ep.key = key;
	post_recv(d, 201, 0x2000, 64);
	inject_dropped(d, UROCE_DROP_REQUEST_REFUSED, "SEND_ONLY psn +0 ack len 64");
	refused(d, "psn +0 NAK remote-operational-error msn 0", "LOC_PROT_ERR why 0x63");
	expect_memory(d, 0x1000, 64, 0, 0x1000);
}

static void wrong_pad(struct drill *d)
{
	post_recv(d, 200, 0x1000, 64);
	post_recv(d, 201, 0x1000, 64);
	inject_dropped(d, UROCE_DROP_REQUEST_REFUSED, "SEND_ONLY psn +0 len 5 pad 2");
	expect(d, "ACKNOWLEDGE psn +0 NAK invalid-request msn 0");
	expect_event(d, "QP_REQ_ERR");
	expect_cqe(d, "recv 200 WR_FLUSH_ERR; recv 201 WR_FLUSH_ERR");
	expect_number(d, d->ep.qp->report.refusal_got, 2);
	expect_number(d, d->ep.qp->report.refusal_want, 3);
	expect_ended(d);
	expect_memory(d, 0x1000, 64, 0, 0x1000);
}

/* A request that is refused before a receive is taken; the two receives are flushed. */
static void refused_early(struct drill *d, const char *line, const char *nak)
{
	struct endpoint_conf conf = drill_conf(d);

	drill_restart(d, &conf);
	post_recv(d, 200, 0x1000, 64);
	inject_dropped(d, UROCE_DROP_REQUEST_REFUSED, "%s", line);
	expect(d, "ACKNOWLEDGE psn +0 NAK %s msn 0", nak);
	expect_event(d, "QP_REQ_ERR");
	expect_cqe(d, "recv 200 WR_FLUSH_ERR");
	expect_ended(d);
	expect_memory(d, 0x1000, 512, 0, 0x1000);
}

static void not_one_mtu(struct drill *d)
{
	refused_early(d, "SEND_FIRST psn +0 len 255", "invalid-request");
	refused_early(d, "SEND_FIRST psn +0 len 257", "invalid-request");
	refused_early(d, "SEND_FIRST psn +0 len 0", "invalid-request");
	refused_early(d, "SEND_ONLY psn +0 len 257", "invalid-request");
	refused_early(d, "SEND_ONLY psn +0 len 512", "invalid-request");
	expect_number(d, d->ep.qp->report.refusal, UROCE_REFUSAL_MTU);
	expect_number(d, d->ep.qp->report.refusal_got, 512);
	expect_number(d, d->ep.qp->report.refusal_want, 256);
}

static void no_first(struct drill *d)
{
	refused_early(d, "SEND_MIDDLE psn +0 len 256", "invalid-request");
	refused_early(d, "SEND_LAST psn +0 len 1", "invalid-request");
	refused_early(d, "SEND_LAST_WITH_IMMEDIATE psn +0 len 1 imm 1", "invalid-request");
	refused_early(d, "SEND_LAST_WITH_INVALIDATE psn +0 len 1 inv 1", "invalid-request");
}

/* The second packet of a SEND is not what has to follow. */
static void refused_within(struct drill *d, const char *line, enum uroce_refusal refusal)
{
	struct endpoint_conf conf = drill_conf(d);

	drill_restart(d, &conf);
	post_recv(d, 200, 0x1000, 2048);
	post_recv(d, 201, 0x2000, 64);
	inject(d, "SEND_FIRST psn +0 len 256");
	inject_dropped(d, UROCE_DROP_REQUEST_REFUSED, "%s", line);
	refused(d, "psn +1 NAK invalid-request msn 0", "REM_INV_REQ_ERR why 0x61");
	expect_memory(d, 0x1100, 512, 0, 0x1100);
	expect_number(d, d->ep.qp->report.refusal, refusal);
}

static void wrong_second(struct drill *d)
{
	refused_within(d, "SEND_FIRST psn +1 len 256", UROCE_REFUSAL_SEQUENCE);
	refused_within(d, "SEND_ONLY psn +1 len 1", UROCE_REFUSAL_SEQUENCE);
	refused_within(d, "RDMA_WRITE_MIDDLE psn +1 len 256", UROCE_REFUSAL_SEQUENCE);
	refused_within(d, "RDMA_WRITE_LAST psn +1 len 1", UROCE_REFUSAL_SEQUENCE);
	refused_within(d, "RDMA_WRITE_ONLY psn +1 len 1", UROCE_REFUSAL_SEQUENCE);
	refused_within(d, "RDMA_READ_REQUEST psn +1 dma 1", UROCE_REFUSAL_SEQUENCE);
	refused_within(d, "FETCH_ADD psn +1", UROCE_REFUSAL_SEQUENCE);
	refused_within(d, "SEND_MIDDLE psn +1 len 252", UROCE_REFUSAL_MTU);
	refused_within(d, "SEND_MIDDLE psn +1 len 260", UROCE_REFUSAL_MTU);
	refused_within(d, "SEND_LAST psn +1 len 0", UROCE_REFUSAL_LENGTH);
	refused_within(d, "SEND_LAST psn +1 len 260", UROCE_REFUSAL_MTU);
	refused_within(d, "SEND_LAST_WITH_IMMEDIATE psn +1 len 0 imm 1", UROCE_REFUSAL_LENGTH);
}

static void invalidate_of_a_region(struct drill *d)
{
	post_recv(d, 200, 0x1000, 64);
	post_recv(d, 201, 0x2000, 64);
	inject_dropped(d, UROCE_DROP_REQUEST_REFUSED,
		"SEND_ONLY_WITH_INVALIDATE psn +0 ack len 8 inv %u", d->ep.key);
	expect_nothing(d);
	expect_cqe(d, "recv 200 REM_INV_REQ_ERR; recv 201 WR_FLUSH_ERR");
	expect_ended(d);
	expect_number(d, d->ep.qp->report.cause, UROCE_CAUSE_INVALIDATE);
	expect_number(d, d->ep.qp->report.status, UROCE_STATUS_REM_INV_REQ_ERR);
	expect_number(d, d->ep.core.counters.nak_sent, 0);
}

static void invalidate_at_the_last(struct drill *d)
{
	post_recv(d, 200, 0x1000, 2048);
	inject(d, "SEND_FIRST psn +0 len 256");
	inject_dropped(d, UROCE_DROP_REQUEST_REFUSED,
		"SEND_LAST_WITH_INVALIDATE psn +1 ack len 8 inv 0x777");
	expect_nothing(d);
	expect_cqe(d, "recv 200 REM_INV_REQ_ERR");
	expect_ended(d);
}

/* ---- duplicates, and a completion queue that is too small ---- */

static void duplicate(struct drill *d)
{
	post_recv(d, 200, 0x1000, 64);
	post_recv(d, 201, 0x2000, 64);
	inject(d, "SEND_ONLY psn +0 ack len 64; SEND_ONLY psn +1 ack len 64");
	expect(d, "ACKNOWLEDGE psn +1 ACK msn 2");
	expect_cqe(d, "recv 200 SUCCESS len 64; recv 201 SUCCESS len 64");
	/* Not executed again; answered with the newest, asked or not. */
	inject(d, "SEND_ONLY psn +0 len 64 fill 9");
	expect_number(d, d->drop, UROCE_ACCEPTED);
	expect(d, "ACKNOWLEDGE psn +1 ACK msn 2");
	expect_memory(d, 0x1000, 64, 1, 0);
	expect_number(d, d->ep.core.counters.duplicate_request, 1);
}

static void duplicate_within(struct drill *d)
{
	post_recv(d, 200, 0x1000, 600);
	inject(d, "SEND_FIRST psn +0 len 256; SEND_MIDDLE psn +1 len 256 at 256");
	inject(d, "SEND_FIRST psn +0 len 256 fill 9; SEND_MIDDLE psn +1 len 256 fill 9");
	expect(d, "ACKNOWLEDGE psn +1 ACK msn 0");
	inject(d, "SEND_LAST psn +2 ack len 8 at 512");
	expect(d, "ACKNOWLEDGE psn +2 ACK msn 1");
	expect_cqe(d, "recv 200 SUCCESS len 520");
	expect_memory(d, 0x1000, 520, 1, 0);
}

static void cq_overflow(struct drill *d)
{
	struct endpoint_conf conf = drill_conf(d);

	conf.cqes = 1;
	drill_restart(d, &conf);
	post_recv(d, 200, 0x1000, 64);
	post_recv(d, 201, 0x1000, 64);
	inject(d, "SEND_ONLY psn +0 ack len 8");
	expect(d, "ACKNOWLEDGE psn +0 ACK msn 1");
	inject(d, "SEND_ONLY psn +1 ack len 8");
	expect_state(d, UROCE_QP_ERR);
	expect_event(d, "CQ_ERR; QP_FATAL; LAST_WQE_REACHED");
	expect_cqe(d, "recv 200 SUCCESS len 8");
	expect_number(d, d->ep.core.counters.cq_overflows, 1);
	expect_number(d, d->ep.qp->report.cause, UROCE_CAUSE_CQ_OVERFLOW);
	expect_number(d, d->ep.qp->report.status, UROCE_STATUS_FATAL_ERR);
	expect_number(d, d->ep.qp->report.detail, 1);
	/* A completion knows neither time nor PSN. */
	expect_number(d, d->ep.qp->report.error_ns, 0);
	expect_number(d, d->ep.qp->report.error_psn, 0);
	expect_number(d, atomic_load(&d->ep.cq->overrun), 1);
}

static void cq_overflow_with_more_to_flush(struct drill *d)
{
	struct endpoint_conf conf = drill_conf(d);

	conf.cqes = 1;
	drill_restart(d, &conf);
	for (uint32_t i = 0; i < 60; i++)
		post_recv(d, 200 + i, 0x1000, 64);
	inject(d, "SEND_ONLY psn +0 len 8; SEND_ONLY psn +1 len 8");
	/* One broken queue is one event, however many completions it costs. */
	expect_event(d, "CQ_ERR; QP_FATAL; LAST_WQE_REACHED");
	expect_cqe(d, "recv 200 SUCCESS len 8");
	expect_number(d, d->ep.core.counters.cq_overflows, 59);
}

int main(void)
{
	static const struct drill_case cases[] = {
		{"a SEND of one packet is placed, completed and acknowledged", one_packet},
		{"SENDs of every length and pad place exactly their bytes", every_length_and_pad},
		{"a SEND of three packets completes once, with the last", three_packets},
		{"immediate values arrive in host order", immediate},
		{"only the solicited bit of the last packet counts", solicited_only_with_the_last},
		{"a SEND of no bytes uses up a receive", zero_bytes_need_a_receive},
		{"a SEND is scattered over the segments of its receive", scattered},
		{"the first packet in RTR is an event, and the queue pair answers",
			first_packet_in_rtr},
		{"without a receive the answer is RNR NAK, and the SEND may come again",
			no_receive},
		{"packets behind an RNR NAK are dropped without a NAK", silence_behind_rnr},
		{"a SEND that comes again too early is not ready again", rnr_again},
		{"an RNR NAK acknowledges what came before", rnr_covers_what_came_before},
		{"the RNR timer is the attribute's, for every code", rnr_timer_is_the_attribute},
		{"a SEND longer than its receive is refused", too_short_one},
		{"a SEND that grows longer than its receive is refused at that packet",
			too_short_many},
		{"a receive with a bad key is a remote operational error to the peer", bad_lkey},
		{"a receive into read-only memory is a remote operational error",
			no_right_to_write},
		{"a wrong pad is refused", wrong_pad},
		{"FIRST and ONLY that are not one MTU are refused", not_one_mtu},
		{"MIDDLE and LAST without FIRST are refused", no_first},
		{"what does not continue a SEND is refused", wrong_second},
		{"invalidating an ordinary region ends the receive in error, without a NAK",
			invalidate_of_a_region},
		{"invalidating with the LAST ends the receive in error, without a NAK",
			invalidate_at_the_last},
		{"a SEND that comes twice is executed once and acknowledged again", duplicate},
		{"packets that come twice within a message do no harm", duplicate_within},
		{"a completion queue that overflows is an event and ends the queue pair",
			cq_overflow},
		{"a completion queue that overflows is one event", cq_overflow_with_more_to_flush},
	};

	return DRILL_SUITE("resp_send", cases);
}
