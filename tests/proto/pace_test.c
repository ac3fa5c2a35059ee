/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Pacing: when a queue pair with a rate limit may send, to the nanosecond.
 *
 * A SEND MIDDLE of 256 bytes is a frame of 314. At 2.512 Gb/s that is one microsecond.
 */
#include <string.h>

#include "drill.h"

#define US_RATE	  2512000000ull /* a MIDDLE each us */
#define SLOW_RATE 25120000ull	/* a MIDDLE each 100 us */
#define LATE_US	  100u

static void start(struct drill *d, uint64_t rate_bps)
{
	struct endpoint_conf conf = drill_conf(d);

	conf.caps.rate_limit_bps = rate_bps;
	conf.attr.timeout = 20;
	drill_restart(d, &conf);
}

/* Nothing to do before `ns` from now, and nothing on the ready list. */
static void expect_asleep(struct drill *d, uint64_t ns)
{
	expect_nothing(d);
	expect_number(d, d->ep.core.ready.head != NULL, false);
	expect_number(d, uroce_core_next_deadline(&d->ep.core), d->now_ns + ns);
}

static void finish(struct drill *d, const char *cqe)
{
	char line[DRILL_TEXT_BYTES];

	for (int i = 0; i < 100; i++) {
		while (drill_next_line(d, line, sizeof(line)))
			;
		pass(d, DRILL_MS);
	}
	inject(d, "ACKNOWLEDGE psn +%u ACK", (d->ep.qp->req.psn_high - d->sq_psn - 1) & 0xffffff);
	expect_cqe(d, "%s", cqe);
}

static uint32_t count_frames(struct drill *d)
{
	char line[DRILL_TEXT_BYTES];
	uint32_t n = 0;

	while (drill_next_line(d, line, sizeof(line)))
		n++;
	return n;
}

static void one_by_one(struct drill *d)
{
	start(d, US_RATE);
	post(d, "SEND 100 len 1000");
	expect(d, "SEND_FIRST psn +0 len 256");
	expect_asleep(d, 1000);
	pass(d, 999);
	expect_asleep(d, 1);
	pass(d, 1);
	expect(d, "SEND_MIDDLE psn +1 len 256");
	expect_asleep(d, 1000);
	pass(d, 1000);
	expect(d, "SEND_MIDDLE psn +2 len 256");
	pass(d, 1000);
	expect(d, "SEND_LAST psn +3 ack len 232");
	inject(d, "ACKNOWLEDGE psn +3 ACK");
	expect_cqe(d, "send 100 SUCCESS len 1000");
	/* The last frame was shorter, and its time too. */
	post(d, "SEND 101 len 8");
	expect_asleep(d, 923);
	pass(d, 923);
	expect(d, "SEND_ONLY psn +4 ack len 8");
	inject(d, "ACKNOWLEDGE psn +4 ACK");
	expect_cqe(d, "send 101 SUCCESS len 8");
}

/* Fractions of a nanosecond are kept: 3.333 us to a frame. */
static void to_the_fraction(struct drill *d)
{
	start(d, 753600000ull + 75360);
	post(d, "SEND 100 len %u", 61 * 256);
	for (uint32_t i = 0; i < 61; i++) {
		char line[DRILL_TEXT_BYTES];
		uint64_t deadline_ns;

		expect_number(d, drill_next_line(d, line, sizeof(line)), true);
		if (i == 60)
			break;
		deadline_ns = uroce_core_next_deadline(&d->ep.core);
		expect_nothing(d);
		deadline_ns = uroce_core_next_deadline(&d->ep.core);
		pass(d, deadline_ns - d->now_ns);
	}
	/* 60 times 314 * 8 bits */
	expect_number(d, d->now_ns, 60ull * 2512 * 1000000000 / (753600000ull + 75360));
	inject(d, "ACKNOWLEDGE psn +60 ACK");
	expect_cqe(d, "send 100 SUCCESS len 15616");
}

static void idle_time_is_not_saved(struct drill *d)
{
	start(d, US_RATE);
	pass(d, DRILL_S);
	post(d, "SEND 100 len 512");
	expect(d, "SEND_FIRST psn +0 len 256");
	expect_asleep(d, 1000);
	pass(d, 1000);
	expect(d, "SEND_LAST psn +1 ack len 256");
	inject(d, "ACKNOWLEDGE psn +1 ACK");
	expect_cqe(d, "send 100 SUCCESS len 512");
	pass(d, DRILL_S);
	post(d, "SEND 101 len 512");
	expect(d, "SEND_FIRST psn +2 len 256");
	expect_asleep(d, 1000);
	pass(d, 1000);
	expect(d, "SEND_LAST psn +3 ack len 256");
	inject(d, "ACKNOWLEDGE psn +3 ACK");
	expect_cqe(d, "send 101 SUCCESS len 512");
}

static void lateness_is_made_up_for(struct drill *d)
{
	start(d, US_RATE);
	post(d, "SEND 100 len %u", 127 * 256);
	expect_number(d, count_frames(d), 1);
	pass(d, 7000);
	expect_number(d, count_frames(d), 7);
	pass(d, 2500);
	expect_number(d, count_frames(d), 2);
	pass(d, 500);
	expect_number(d, count_frames(d), 1);
	/* But only so much. */
	pass(d, DRILL_MS);
	expect_number(d, count_frames(d), LATE_US + 1);
	finish(d, "send 100 SUCCESS len 32512");
}

static void again_too(struct drill *d)
{
	start(d, US_RATE);
	post(d, "SEND 100 len 1024");
	for (uint32_t i = 0; i < 4; i++) {
		expect_number(d, count_frames(d), 1);
		pass(d, 1000);
	}
	inject(d, "ACKNOWLEDGE psn +0 NAK 0");
	expect(d, "SEND_FIRST psn +0 len 256");
	expect_asleep(d, 1000);
	pass(d, 1000);
	expect(d, "SEND_MIDDLE psn +1 len 256");
	expect_asleep(d, 1000);
	finish(d, "send 100 SUCCESS len 1024");
}

static void answers(struct drill *d)
{
	start(d, US_RATE);
	inject(d, "RDMA_READ_REQUEST psn +0 va 0x1000 dma 700");
	inject(d, "RDMA_WRITE_ONLY psn +3 ack va 0x1000 len 8");
	/* 318 bytes */
	expect(d, "RDMA_READ_RESPONSE_FIRST psn +0 ACK msn 2 len 256");
	expect_asleep(d, 1012);
	pass(d, 1013);
	expect(d, "RDMA_READ_RESPONSE_MIDDLE psn +1 len 256");
	expect_nothing(d);
	pass(d, 1000);
	/* An acknowledgement waits for what comes before it, and for nothing else. */
	expect(d, "RDMA_READ_RESPONSE_LAST psn +2 ACK msn 2 len 188; ACKNOWLEDGE psn +3 ACK msn 2");
	inject(d, "RDMA_WRITE_ONLY psn +4 ack va 0x1000 len 8");
	expect(d, "ACKNOWLEDGE psn +4 ACK msn 3");
	inject_dropped(d, UROCE_DROP_PSN_AHEAD, "RDMA_WRITE_ONLY psn +6 ack va 0x1000 len 8");
	expect(d, "ACKNOWLEDGE psn +5 NAK psn-sequence-error msn 3");
	inject(d, "RDMA_WRITE_ONLY psn +5 ack va 0x1000 len 8 tos 3");
	expect(d, "CNP psn +0 becn len 16; ACKNOWLEDGE psn +5 ACK msn 4");
}

static void both_take_turns(struct drill *d)
{
	uint32_t requests = 0, responses = 0, in_a_row = 0, longest = 0;
	bool was_request = false;

	start(d, US_RATE);
	post(d, "SEND 100 len %u", 100 * 256);
	inject(d, "RDMA_READ_REQUEST psn +0 va 0x1000 dma %u", 100 * 256);
	for (uint32_t i = 0; i < 100; i++) {
		char line[DRILL_TEXT_BYTES];
		bool request;

		while (drill_next_line(d, line, sizeof(line))) {
			request = strncmp(line, "SEND", 4) == 0;
			requests += request;
			responses += !request;
			in_a_row = request == was_request ? in_a_row + 1 : 1;
			was_request = request;
			if (in_a_row > longest)
				longest = in_a_row;
		}
		pass(d, uroce_core_next_deadline(&d->ep.core) - d->now_ns);
	}
	expect_number(d, requests, 50);
	expect_number(d, responses, 50);
	expect_number(d, longest, 1);
	finish(d, "send 100 SUCCESS len 25600");
}

static void the_limit_changes(struct drill *d)
{
	const struct uroce_qp_attr slow = {.rate_limit_bps = 1000},
				   fast = {.rate_limit_bps = US_RATE}, none = {0};

	start(d, 0);
	post(d, "SEND 100 len %u", 8 * 256);
	expect_number(d, drill_modify(d, &slow, UROCE_QP_ATTR_RATE_LIMIT), 0);
	expect(d, "SEND_FIRST psn +0 ack len 256");
	expect_nothing(d);
	expect_number(d, uroce_core_next_deadline(&d->ep.core), 2512000000);
	/* It would wait for seconds, and need not. */
	expect_number(d, drill_modify(d, &fast, UROCE_QP_ATTR_RATE_LIMIT), 0);
	expect(d, "SEND_MIDDLE psn +1 len 256");
	expect_asleep(d, 1000);
	expect_number(d, drill_modify(d, &none, UROCE_QP_ATTR_RATE_LIMIT), 0);
	expect_number(d, count_frames(d), 6);
	expect_number(d, uroce_core_next_deadline(&d->ep.core), 4096ull << 20);
	inject(d, "ACKNOWLEDGE psn +7 ACK");
	expect_cqe(d, "send 100 SUCCESS len 2048");
	expect_number(d, uroce_core_next_deadline(&d->ep.core), UROCE_TIMER_NEVER);
}

static void acknowledged_in_time(struct drill *d)
{
	start(d, SLOW_RATE);
	post(d, "SEND 100 len 700");
	expect(d, "SEND_FIRST psn +0 ack len 256");
	pass(d, 100 * DRILL_US);
	expect(d, "SEND_MIDDLE psn +1 ack len 256");
	pass(d, 100 * DRILL_US);
	expect(d, "SEND_LAST psn +2 ack len 188");
	inject(d, "ACKNOWLEDGE psn +2 ACK");
	expect_cqe(d, "send 100 SUCCESS len 700");
}

/* Acknowledgements that come meanwhile do not hurry it. */
static void awake_and_early(struct drill *d)
{
	start(d, SLOW_RATE);
	post(d, "SEND 100 len 700");
	expect(d, "SEND_FIRST psn +0 ack len 256");
	pass(d, 10 * DRILL_US);
	inject(d, "ACKNOWLEDGE psn +0 ACK");
	expect_asleep(d, 90 * DRILL_US);
	pass(d, 90 * DRILL_US);
	expect(d, "SEND_MIDDLE psn +1 ack len 256");
	finish(d, "send 100 SUCCESS len 700");
}

static void reset_forgets(struct drill *d)
{
	start(d, SLOW_RATE);
	post(d, "SEND 100 len 700");
	inject(d, "RDMA_READ_REQUEST psn +0 va 0x1000 dma 700");
	expect_number(d, count_frames(d), 1);
	drill_to_state(d, UROCE_QP_RESET);
	expect_number(d, uroce_core_next_deadline(&d->ep.core), UROCE_TIMER_NEVER);
	pass(d, DRILL_MS);
	expect_nothing(d);
	expect_number(d, d->ep.qp->attr.rate_limit_bps, SLOW_RATE);
	expect_number(d, d->ep.qp->cc.depart_ns, 0);
}

static void errors_forget(struct drill *d)
{
	start(d, SLOW_RATE);
	post(d, "SEND 100 len 700");
	inject(d, "RDMA_READ_REQUEST psn +0 va 0x1000 dma 700");
	expect_number(d, count_frames(d), 1);
	drill_to_state(d, UROCE_QP_ERR);
	expect_cqe(d, "send 100 WR_FLUSH_ERR");
	expect_ended(d);
	pass(d, DRILL_MS);
	expect_nothing(d);
}

/* A refusal is told after the answers before it, in their time. */
static void a_refusal_waits_its_turn(struct drill *d)
{
	start(d, US_RATE);
	inject(d, "RDMA_READ_REQUEST psn +0 va 0x1000 dma 300");
	expect(d, "RDMA_READ_RESPONSE_FIRST psn +0 ACK msn 1 len 256");
	inject_dropped(
		d, UROCE_DROP_REQUEST_REFUSED, "RDMA_WRITE_ONLY psn +2 ack va 0x1000 rkey 1 len 8");
	expect_event(d, "QP_ACCESS_ERR");
	expect_ended(d);
	expect_asleep(d, 1012);
	pass(d, 1013);
	expect(d,
		"RDMA_READ_RESPONSE_LAST psn +1 ACK msn 1 len 44; "
		"ACKNOWLEDGE psn +2 NAK remote-access-error msn 1");
}

static void datagrams(struct drill *d)
{
	struct endpoint_conf conf = drill_conf(d);

	conf.caps.type = UROCE_QP_UD;
	conf.caps.rate_limit_bps = SLOW_RATE;
	drill_restart(d, &conf);
	post(d, "SEND 100 len 248 ah 0x11 qpn 0x22");
	post(d, "SEND 101 len 248 ah 0x11 qpn 0x22");
	expect_number(d, count_frames(d), 1);
	expect_cqe(d, "send 100 SUCCESS len 248");
	expect_asleep(d, 100 * DRILL_US);
	pass(d, 100 * DRILL_US);
	expect_number(d, count_frames(d), 1);
	expect_cqe(d, "send 101 SUCCESS len 248");
}

static void unreliable(struct drill *d)
{
	struct endpoint_conf conf = drill_conf(d);

	conf.caps.type = UROCE_QP_UC;
	conf.caps.rate_limit_bps = US_RATE;
	drill_restart(d, &conf);
	post(d, "SEND 100 len 512");
	expect(d, "UC_SEND_FIRST psn +0 len 256");
	expect_asleep(d, 1000);
	pass(d, 1000);
	expect(d, "UC_SEND_LAST psn +1 len 256");
	expect_cqe(d, "send 100 SUCCESS len 512");
}

/* DCQCN's rate and the limit: the smaller of the two; DCQCN starts from what the limit allows. */
static void the_smaller_of_both(struct drill *d)
{
	struct endpoint_conf conf = drill_conf(d);
	const struct uroce_qp_attr half = {.rate_limit_bps = US_RATE / 2};

	conf.caps.rate_limit_bps = 2 * US_RATE;
	conf.caps.dcqcn = true;
	drill_restart(d, &conf);
	post(d, "SEND 100 len 1024");
	expect(d, "SEND_FIRST psn +0 len 256");
	expect_asleep(d, 500);
	inject(d, "CNP psn +0 len 16");
	expect_number(d, d->ep.qp->cc.dcqcn.rate_bps, US_RATE);
	pass(d, 500);
	expect(d, "SEND_MIDDLE psn +1 len 256");
	expect_asleep(d, 1000);
	expect_number(d, drill_modify(d, &half, UROCE_QP_ATTR_RATE_LIMIT), 0);
	expect_number(d, d->ep.qp->cc.dcqcn.rate_bps, US_RATE / 2);
	expect(d, "SEND_MIDDLE psn +2 ack len 256");
	expect_nothing(d);
	expect_number(d, uroce_core_next_deadline(&d->ep.core), d->now_ns + 2000);
	finish(d, "send 100 SUCCESS len 1024");
}

/* The rate rises while it sends, and when it is back on line nothing is paced any more. */
static void recovers(struct drill *d)
{
	struct endpoint_conf conf = drill_conf(d);
	uint32_t turns = 0;

	conf.caps.dcqcn = true;
	drill_restart(d, &conf);
	d->ep.core.conf.dcqcn.line_rate_bps = US_RATE;
	drill_to_state(d, UROCE_QP_RESET);
	endpoint_connect(&d->ep, DRILL_PEER_QPN);
	inject(d, "CNP psn +0 len 16");
	expect_number(d, d->ep.qp->cc.paced, true);
	for (; d->ep.qp->cc.paced && turns < 10000; turns++) {
		post(d, "WRITE 1 len 8");
		expect_number(d, count_frames(d), 1);
		inject(d, "ACKNOWLEDGE psn +%u ACK", turns);
		expect_cqe(d, "write 1 SUCCESS len 8");
		pass(d, 55 * DRILL_US);
	}
	/* Fast recovery is five steps; then 40 Mb/s at a time until the rest is less than that. */
	expect_number(d, turns > 5 && turns < 15, true);
	expect_number(d, d->ep.qp->cc.dcqcn.rate_bps, 0);
}

static void what_is_valid(struct drill *d)
{
	static const uint64_t good[] = {0, 1000, 8000000000000ull},
			      bad[] = {1, 999, 8000000000001ull};
	struct uroce_qp_attr attr = {0};

	for (int i = 0; i < 3; i++) {
		attr.rate_limit_bps = bad[i];
		expect_number(d, (uint64_t)drill_modify(d, &attr, UROCE_QP_ATTR_RATE_LIMIT),
			(uint64_t)-22);
		attr.rate_limit_bps = good[i];
		expect_number(d, (uint64_t)drill_modify(d, &attr, UROCE_QP_ATTR_RATE_LIMIT), 0);
	}
}

int main(void)
{
	static const struct drill_case cases[] = {
		{"packets leave one by one, in their time", one_by_one},
		{"fractions of a nanosecond add up", to_the_fraction},
		{"idle time is not saved up", idle_time_is_not_saved},
		{"lateness is made up for, up to 100 us of it", lateness_is_made_up_for},
		{"what is sent again is paced again", again_too},
		{"read responses are paced; acknowledgements are not", answers},
		{"requests and responses take turns", both_take_turns},
		{"a new limit counts at once", the_limit_changes},
		{"of a slow flow each packet is to be acknowledged", acknowledged_in_time},
		{"progress does not hurry a packet whose time has not come", awake_and_early},
		{"RESET forgets what waits for its time", reset_forgets},
		{"ERR forgets what waits for its time", errors_forget},
		{"a refusal waits for the answers before it", a_refusal_waits_its_turn},
		{"datagrams are paced", datagrams},
		{"unreliable connections are paced", unreliable},
		{"of a limit and DCQCN the smaller counts", the_smaller_of_both},
		{"with no more notifications the rate recovers, and pacing ends", recovers},
		{"a limit is none, or between 1 kb/s and 8 Tb/s", what_is_valid},
	};

	return DRILL_SUITE("pace", cases);
}
