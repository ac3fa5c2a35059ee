/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * READs at the responder: answers, repeats, limits, refusals.
 *
 * An answer is read from memory when it leaves, a repeat may ask for any rest of what was asked
 * before, and more outstanding READs than agreed are refused.
 */
#include "drill.h"

static void again(struct drill *d)
{
	struct endpoint_conf conf = drill_conf(d);

	drill_restart(d, &conf);
}

/* ---- answers ---- */

static void one_packet(struct drill *d)
{
	for (uint32_t bytes = 1; bytes <= DRILL_MTU; bytes += 17) {
		char pad[16] = "";

		if (-bytes & 3)
			snprintf(pad, sizeof(pad), " pad %u", -bytes & 3);
		again(d);
		inject(d, "RDMA_READ_REQUEST psn +0 ack va 0x1001 dma %u", bytes);
		expect(d, "RDMA_READ_RESPONSE_ONLY psn +0%s ACK msn 1 len %u", pad, bytes);
		expect_payload(d, 0, 0x1001);
		expect_nothing(d);
	}
}

static void many_packets(struct drill *d)
{
	inject(d, "RDMA_READ_REQUEST psn +0 va 0x1000 dma 1025");
	expect(d, "RDMA_READ_RESPONSE_FIRST psn +0 ACK msn 1 len 256");
	expect_payload(d, 0, 0x1000);
	expect(d, "RDMA_READ_RESPONSE_MIDDLE psn +1 len 256");
	expect_payload(d, 0, 0x1100);
	expect(d, "RDMA_READ_RESPONSE_MIDDLE psn +2 len 256");
	expect(d, "RDMA_READ_RESPONSE_MIDDLE psn +3 len 256");
	expect(d, "RDMA_READ_RESPONSE_LAST psn +4 pad 3 ACK msn 1 len 1");
	expect_payload(d, 0, 0x1400);
	/* The next request follows the last answer. */
	inject(d, "RDMA_READ_REQUEST psn +5 va 0x1000 dma 512");
	expect(d,
		"RDMA_READ_RESPONSE_FIRST psn +5 ACK msn 2 len 256; "
		"RDMA_READ_RESPONSE_LAST psn +6 ACK msn 2 len 256");
}

static void zero_bytes_need_no_key(struct drill *d)
{
	inject(d, "RDMA_READ_REQUEST psn +0 absva 0xdeadbeef rkey 0x12345678 dma 0");
	expect(d, "RDMA_READ_RESPONSE_ONLY psn +0 ACK msn 1 len 0");
	inject(d, "RDMA_READ_REQUEST psn +1 absva 0 rkey 0 dma 0");
	expect(d, "RDMA_READ_RESPONSE_ONLY psn +1 ACK msn 2 len 0");
	/* And again. */
	inject(d, "RDMA_READ_REQUEST psn +0 absva 0xdeadbeef rkey 0x12345678 dma 0");
	expect(d, "RDMA_READ_RESPONSE_ONLY psn +0 ACK msn 2 len 0");
}

static void as_it_is_when_sent(struct drill *d)
{
	inject(d, "RDMA_READ_REQUEST psn +0 va 0x1000 dma 512");
	expect(d, "RDMA_READ_RESPONSE_FIRST psn +0 ACK msn 1 len 256");
	for (uint32_t i = 0; i < 256; i++)
		d->ep.mem[0x1100 + i] = drill_pattern(5, i);
	expect(d, "RDMA_READ_RESPONSE_LAST psn +1 ACK msn 1 len 256");
	expect_payload(d, 5, 0);
}

/* ---- how many ---- */

static void exactly_as_many_as_agreed(struct drill *d)
{
	for (uint8_t limit = 1; limit <= 16; limit++) {
		struct endpoint_conf conf = drill_conf(d);

		conf.attr.max_dest_rd_atomic = limit;
		drill_restart(d, &conf);
		for (uint8_t i = 0; i < limit; i++)
			inject(d, "RDMA_READ_REQUEST psn +%u dma 8", i);
		expect_number(d, d->drop, UROCE_ACCEPTED);
		inject_dropped(
			d, UROCE_DROP_REQUEST_REFUSED, "RDMA_READ_REQUEST psn +%u dma 8", limit);
		/* What was accepted is answered before the refusal. */
		for (uint8_t i = 0; i < limit; i++)
			expect(d, "RDMA_READ_RESPONSE_ONLY psn +%u ACK msn %u len 8", i, limit);
		expect(d, "ACKNOWLEDGE psn +%u NAK invalid-request msn %u", limit, limit);
		expect_event(d, "QP_REQ_ERR");
		expect_ended(d);
		expect_number(d, d->ep.qp->report.refusal, UROCE_REFUSAL_TOO_MANY_READS);
	}
}

static void answered_ones_make_room(struct drill *d)
{
	struct endpoint_conf conf = drill_conf(d);

	conf.attr.max_dest_rd_atomic = 3;
	drill_restart(d, &conf);
	for (uint32_t i = 0; i < 20; i++) {
		inject(d, "RDMA_READ_REQUEST psn +%u dma 8", i);
		expect(d, "RDMA_READ_RESPONSE_ONLY psn +%u ACK msn %u len 8", i, i + 1);
	}
	expect_state(d, UROCE_QP_RTS);
}

static void none_agreed(struct drill *d)
{
	struct endpoint_conf conf = drill_conf(d);

	conf.attr.max_dest_rd_atomic = 0;
	drill_restart(d, &conf);
	inject_dropped(d, UROCE_DROP_REQUEST_REFUSED, "RDMA_READ_REQUEST psn +0 dma 8");
	expect(d, "ACKNOWLEDGE psn +0 NAK invalid-request msn 0");
	expect_event(d, "QP_REQ_ERR");
	expect_ended(d);
}

/* ---- repeats ---- */

static void asked_again(struct drill *d)
{
	inject(d, "RDMA_READ_REQUEST psn +0 va 0x1000 dma 600");
	expect(d,
		"RDMA_READ_RESPONSE_FIRST psn +0 ACK msn 1 len 256; "
		"RDMA_READ_RESPONSE_MIDDLE psn +1 len 256; "
		"RDMA_READ_RESPONSE_LAST psn +2 ACK msn 1 len 88");
	inject(d, "RDMA_READ_REQUEST psn +0 va 0x1000 dma 600");
	expect_number(d, d->drop, UROCE_ACCEPTED);
	expect(d,
		"RDMA_READ_RESPONSE_FIRST psn +0 ACK msn 1 len 256; "
		"RDMA_READ_RESPONSE_MIDDLE psn +1 len 256; "
		"RDMA_READ_RESPONSE_LAST psn +2 ACK msn 1 len 88");
	expect_number(d, d->ep.core.counters.duplicate_request, 1);
}

static void asked_again_in_part(struct drill *d)
{
	inject(d, "RDMA_READ_REQUEST psn +0 va 0x1000 dma 1000");
	expect(d,
		"RDMA_READ_RESPONSE_FIRST psn +0 ACK msn 1 len 256; "
		"RDMA_READ_RESPONSE_MIDDLE psn +1 len 256; "
		"RDMA_READ_RESPONSE_MIDDLE psn +2 len 256; "
		"RDMA_READ_RESPONSE_LAST psn +3 ACK msn 1 len 232");
	/* From the second on: a new FIRST at that PSN. */
	inject(d, "RDMA_READ_REQUEST psn +1 va 0x1100 dma 744");
	expect(d, "RDMA_READ_RESPONSE_FIRST psn +1 ACK msn 1 len 256");
	expect_payload(d, 0, 0x1100);
	expect(d,
		"RDMA_READ_RESPONSE_MIDDLE psn +2 len 256; "
		"RDMA_READ_RESPONSE_LAST psn +3 ACK msn 1 len 232");
	/* The last alone. */
	inject(d, "RDMA_READ_REQUEST psn +3 va 0x1300 dma 232");
	expect(d, "RDMA_READ_RESPONSE_ONLY psn +3 ACK msn 1 len 232");
	expect_payload(d, 0, 0x1300);
	/* A part from the middle. */
	inject(d, "RDMA_READ_REQUEST psn +1 va 0x1100 dma 257");
	expect(d,
		"RDMA_READ_RESPONSE_FIRST psn +1 ACK msn 1 len 256; "
		"RDMA_READ_RESPONSE_LAST psn +2 pad 3 ACK msn 1 len 1");
}

static void asked_again_while_being_sent(struct drill *d)
{
	inject(d,
		"RDMA_READ_REQUEST psn +0 va 0x1000 dma 700; "
		"RDMA_READ_REQUEST psn +3 va 0x2000 dma 8");
	expect(d,
		"RDMA_READ_RESPONSE_FIRST psn +0 ACK msn 2 len 256; "
		"RDMA_READ_RESPONSE_MIDDLE psn +1 len 256");
	inject(d, "RDMA_READ_REQUEST psn +0 va 0x1000 dma 700");
	expect(d,
		"RDMA_READ_RESPONSE_FIRST psn +0 ACK msn 2 len 256; "
		"RDMA_READ_RESPONSE_MIDDLE psn +1 len 256; "
		"RDMA_READ_RESPONSE_LAST psn +2 ACK msn 2 len 188; "
		"RDMA_READ_RESPONSE_ONLY psn +3 ACK msn 2 len 8");
	expect_nothing(d);
	expect_number(d, d->ep.qp->resp.reads_owed, 0);
}

static void asked_again_for_what_it_was_not(struct drill *d)
{
	static const char *const lines[] = {
		"RDMA_READ_REQUEST psn +0 va 0x1000 rkey 0x77777 dma 600", /* another key */
		"RDMA_READ_REQUEST psn +0 va 0x1001 dma 600",		   /* another place */
		"RDMA_READ_REQUEST psn +0 va 0x1000 dma 601",		   /* more */
		"RDMA_READ_REQUEST psn +1 va 0x1000 dma 344", /* not where that PSN was */
		"RDMA_READ_REQUEST psn +1 va 0x1100 dma 345", /* more than the rest */
		"RDMA_READ_REQUEST psn +2 va 0x1200 dma 0x80000000",
		"FETCH_ADD psn +0 va 0x1000",
		"FETCH_ADD psn +2 va 0x1000",
	};

	inject(d, "RDMA_READ_REQUEST psn +0 va 0x1000 dma 600");
	expect(d,
		"RDMA_READ_RESPONSE_FIRST psn +0 ACK msn 1 len 256; "
		"RDMA_READ_RESPONSE_MIDDLE psn +1 len 256; "
		"RDMA_READ_RESPONSE_LAST psn +2 ACK msn 1 len 88");
	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		inject_dropped(d, UROCE_DROP_READ_NOT_REMEMBERED, "%s", lines[i]);
		expect_nothing(d);
		expect_state(d, UROCE_QP_RTS);
	}
	expect_memory(d, 0, DRILL_MEM, 0, 0);
}

static void forgotten(struct drill *d)
{
	struct endpoint_conf conf = drill_conf(d);

	conf.attr.max_dest_rd_atomic = 2;
	drill_restart(d, &conf);
	for (uint32_t i = 0; i < 3; i++) {
		inject(d, "RDMA_READ_REQUEST psn +%u va 0x1000 dma 8", i);
		expect(d, "RDMA_READ_RESPONSE_ONLY psn +%u ACK msn %u len 8", i, i + 1);
	}
	inject_dropped(
		d, UROCE_DROP_READ_NOT_REMEMBERED, "RDMA_READ_REQUEST psn +0 va 0x1000 dma 8");
	expect_nothing(d);
	for (uint32_t i = 1; i < 3; i++) {
		inject(d, "RDMA_READ_REQUEST psn +%u va 0x1000 dma 8", i);
		expect(d, "RDMA_READ_RESPONSE_ONLY psn +%u ACK msn 3 len 8", i);
	}
	inject_dropped(
		d, UROCE_DROP_READ_NOT_REMEMBERED, "RDMA_READ_REQUEST psn -5 va 0x1000 dma 8");
}

static void repeat_of_one_that_new_ones_push_out(struct drill *d)
{
	struct endpoint_conf conf = drill_conf(d);

	conf.attr.max_dest_rd_atomic = 1;
	drill_restart(d, &conf);
	inject(d, "RDMA_READ_REQUEST psn +0 va 0x1000 dma 8");
	expect(d, "RDMA_READ_RESPONSE_ONLY psn +0 ACK msn 1 len 8");
	/* The repeat is owed when the next request takes its place. */
	inject(d,
		"RDMA_READ_REQUEST psn +0 va 0x1000 dma 8; "
		"RDMA_READ_REQUEST psn +1 va 0x2000 dma 8");
	expect(d, "RDMA_READ_RESPONSE_ONLY psn +1 ACK msn 2 len 8");
	expect_payload(d, 0, 0x2000);
	expect_nothing(d);
}

/* However the limit divides the ring: what is owed leaves in the order of PSNs. */
static void repeats_leave_in_order(struct drill *d)
{
	static const uint8_t limits[] = {1, 2, 3, 4, 5, 8, 16};

	for (size_t k = 0; k < sizeof(limits); k++) {
		struct endpoint_conf conf = drill_conf(d);
		uint32_t limit = limits[k];

		conf.attr.max_dest_rd_atomic = limits[k];
		drill_restart(d, &conf);
		for (uint32_t i = 0; i < limit; i++) {
			inject(d, "RDMA_READ_REQUEST psn +%u va 0x1000 dma 8", i);
			expect(d, "RDMA_READ_RESPONSE_ONLY psn +%u ACK msn %u len 8", i, i + 1);
		}
		/* All once more, and one that pushes out the oldest, at once. */
		for (uint32_t i = 0; i <= limit; i++)
			inject(d, "RDMA_READ_REQUEST psn +%u va 0x1000 dma 8", i);
		for (uint32_t i = 1; i <= limit; i++) {
			char line[DRILL_TEXT_BYTES];

			expect_number(d, drill_next_line(d, line, sizeof(line)), true);
			expect_number(d, (d->packet.psn - d->rq_psn) & 0xffffff, i);
		}
		expect_nothing(d);
	}
}

/* ---- refusals ---- */

static void refused(struct drill *d, const char *line, bool access)
{
	inject_dropped(d, UROCE_DROP_REQUEST_REFUSED, "%s", line);
	expect(d, "ACKNOWLEDGE psn +0 NAK %s msn 0",
		access ? "remote-access-error" : "invalid-request");
	expect_event(d, access ? "QP_ACCESS_ERR" : "QP_REQ_ERR");
	expect_ended(d);
}

static void bad_keys_and_ranges(struct drill *d)
{
	static const char *const lines[] = {
		"RDMA_READ_REQUEST psn +0 rkey 0xdead00 dma 8",
		"RDMA_READ_REQUEST psn +0 rkey 0 dma 8",
		"RDMA_READ_REQUEST psn +0 va -1 dma 8",
		"RDMA_READ_REQUEST psn +0 va 0xfff9 dma 8",
		"RDMA_READ_REQUEST psn +0 dma 0x10001",
		"RDMA_READ_REQUEST psn +0 dma 0x80000000",
		"RDMA_READ_REQUEST psn +0 absva 0xffffffffffffffff dma 2",
	};
	char line[DRILL_TEXT_BYTES];

	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		again(d);
		refused(d, lines[i], true);
	}
	again(d);
	snprintf(line, sizeof(line), "RDMA_READ_REQUEST psn +0 rkey %u dma 8",
		endpoint_register(
			&d->ep, 0, 64, UROCE_ACCESS_LOCAL_WRITE | UROCE_ACCESS_REMOTE_WRITE));
	refused(d, line, true);
	again(d);
	d->ep.qp->pd++;
	refused(d, "RDMA_READ_REQUEST psn +0 dma 8", true);
}

static void invalid(struct drill *d)
{
	struct endpoint_conf conf = drill_conf(d);

	refused(d, "RDMA_READ_REQUEST psn +0 dma 0x80000001", false);
	expect_number(d, d->ep.qp->report.refusal, UROCE_REFUSAL_TOO_LONG);
	again(d);
	/* A request carries no payload. */
	refused(d, "RDMA_READ_REQUEST psn +0 dma 8 len 8", false);
	expect_number(d, d->ep.qp->report.refusal, UROCE_REFUSAL_LENGTH);
	again(d);
	refused(d, "RDMA_READ_REQUEST psn +0 dma 8 pad 2", false);
	expect_number(d, d->ep.qp->report.refusal, UROCE_REFUSAL_PAD);
	conf.access = UROCE_ACCESS_REMOTE_WRITE | UROCE_ACCESS_REMOTE_ATOMIC;
	drill_restart(d, &conf);
	refused(d, "RDMA_READ_REQUEST psn +0 dma 8", false);
	expect_number(d, d->ep.qp->report.refusal, UROCE_REFUSAL_NOT_ALLOWED);
}

static void region_vanishes(struct drill *d)
{
	uint32_t key = endpoint_register(
		&d->ep, 0x1000, 0x1000, UROCE_ACCESS_LOCAL_WRITE | UROCE_ACCESS_REMOTE_READ);

	post_recv(d, 200, 0x3000, 64);
	inject(d,
		"RDMA_READ_REQUEST psn +0 va 0x1000 rkey %u dma 1000; "
		"RDMA_WRITE_ONLY psn +4 ack va 0x5000 len 8",
		key);
	expect(d,
		"RDMA_READ_RESPONSE_FIRST psn +0 ACK msn 2 len 256; "
		"RDMA_READ_RESPONSE_MIDDLE psn +1 len 256");
	expect_number(d, uroce_mr_table_remove(&d->ep.mrs, key), 0);
	expect(d, "ACKNOWLEDGE psn +2 NAK remote-access-error msn 2");
	expect_nothing(d);
	expect_event(d, "QP_ACCESS_ERR");
	expect_cqe(d, "recv 200 WR_FLUSH_ERR");
	expect_ended(d);
	expect_number(d, d->ep.core.counters.resp_remote_access_errors, 1);
}

static void region_vanishes_within_a_send(struct drill *d)
{
	uint32_t key = endpoint_register(
		&d->ep, 0x1000, 0x1000, UROCE_ACCESS_LOCAL_WRITE | UROCE_ACCESS_REMOTE_READ);

	post_recv(d, 200, 0x3000, 1024);
	inject(d, "RDMA_READ_REQUEST psn +0 va 0x1000 rkey %u dma 8; SEND_FIRST psn +1 len 256",
		key);
	expect_number(d, uroce_mr_table_remove(&d->ep.mrs, key), 0);
	/* The fault is the READ's: the half-done SEND is not to blame, its receive is flushed. */
	expect(d, "ACKNOWLEDGE psn +0 NAK remote-access-error msn 1");
	expect_event(d, "QP_ACCESS_ERR");
	expect_cqe(d, "recv 200 WR_FLUSH_ERR");
	expect_ended(d);
}

/* Its first answer may have arrived, and the application closed the key in good order. */
static void region_vanishes_before_a_repeat(struct drill *d)
{
	uint32_t key = endpoint_register(
		&d->ep, 0x1000, 0x1000, UROCE_ACCESS_LOCAL_WRITE | UROCE_ACCESS_REMOTE_READ);

	inject(d,
		"RDMA_READ_REQUEST psn +0 va 0x1000 rkey %u dma 8; "
		"RDMA_READ_REQUEST psn +1 va 0x2000 dma 8",
		key);
	expect(d,
		"RDMA_READ_RESPONSE_ONLY psn +0 ACK msn 2 len 8; "
		"RDMA_READ_RESPONSE_ONLY psn +1 ACK msn 2 len 8");
	expect_number(d, uroce_mr_table_remove(&d->ep.mrs, key), 0);
	/* Who still waits is told; who does not knows that PSN no more. */
	inject(d,
		"RDMA_READ_REQUEST psn +0 va 0x1000 rkey %u dma 8; "
		"RDMA_READ_REQUEST psn +1 va 0x2000 dma 8",
		key);
	expect(d,
		"RDMA_READ_RESPONSE_ONLY psn +1 ACK msn 2 len 8; "
		"ACKNOWLEDGE psn +0 NAK remote-access-error msn 2");
	expect_nothing(d);
	expect_event(d, "nothing");
	expect_state(d, UROCE_QP_RTS);
	/* That is no complaint of a gap; here is one. */
	inject_dropped(d, UROCE_DROP_PSN_AHEAD, "RDMA_WRITE_ONLY psn +3 ack va 0x5000 len 8");
	expect(d, "ACKNOWLEDGE psn +2 NAK psn-sequence-error msn 2");
	inject(d, "RDMA_WRITE_ONLY psn +2 ack va 0x5000 len 8");
	expect(d, "ACKNOWLEDGE psn +2 ACK msn 3");
	/* An acknowledgement that is owed is not given up for it. */
	inject(d,
		"RDMA_WRITE_ONLY psn +3 ack va 0x5000 len 8; "
		"RDMA_READ_REQUEST psn +0 va 0x1000 rkey %u dma 8",
		key);
	expect(d, "ACKNOWLEDGE psn +3 ACK msn 4");
	expect_nothing(d);
}

static void two_regions_vanish(struct drill *d)
{
	uint32_t key = endpoint_register(
		&d->ep, 0x1000, 0x1000, UROCE_ACCESS_LOCAL_WRITE | UROCE_ACCESS_REMOTE_READ);

	inject(d, "RDMA_READ_REQUEST psn +0 va 0x1000 rkey %u dma 8", key);
	/* The queue pair ends for another reason while the answer is still owed. */
	inject_dropped(d, UROCE_DROP_REQUEST_REFUSED, "SEND_LAST psn +1 len 8");
	expect_event(d, "QP_REQ_ERR");
	expect_ended(d);
	expect_number(d, uroce_mr_table_remove(&d->ep.mrs, key), 0);
	expect(d, "ACKNOWLEDGE psn +0 NAK remote-access-error msn 1");
	expect_nothing(d);
	/* It is in error already: nothing more to tell the application. */
	expect_event(d, "nothing");
	expect_number(d, d->ep.qp->report.refusal, UROCE_REFUSAL_SEQUENCE);
}

int main(void)
{
	static const struct drill_case cases[] = {
		{"a READ of up to one MTU has one answer", one_packet},
		{"a READ of many packets takes that many PSNs", many_packets},
		{"a READ of no bytes needs no key", zero_bytes_need_no_key},
		{"an answer is what memory holds when it leaves", as_it_is_when_sent},
		{"exactly as many READs as agreed may be unanswered", exactly_as_many_as_agreed},
		{"READs that are answered make room for others", answered_ones_make_room},
		{"without READs agreed every one is refused", none_agreed},
		{"a READ that is asked again is answered again", asked_again},
		{"any rest of a READ may be asked again", asked_again_in_part},
		{"a READ asked again while being sent starts anew, and what follows follows",
			asked_again_while_being_sent},
		{"a repeat that asks for something else is dropped",
			asked_again_for_what_it_was_not},
		{"READs before the agreed number are forgotten", forgotten},
		{"a repeat that new READs push out is not answered",
			repeat_of_one_that_new_ones_push_out},
		{"repeats leave in order, whatever the limit", repeats_leave_in_order},
		{"a READ with a bad key, range or right is refused", bad_keys_and_ranges},
		{"an invalid READ is refused", invalid},
		{"a region that vanishes within an answer ends it", region_vanishes},
		{"a region that vanishes while a SEND comes in does not fail the SEND",
			region_vanishes_within_a_send},
		{"a region that vanishes before a repeat of a READ is told to the peer, and ends "
		 "nothing",
			region_vanishes_before_a_repeat},
		{"a region that vanishes after the end is told to the peer alone",
			two_regions_vanish},
	};

	return DRILL_SUITE("resp_read", cases);
}
