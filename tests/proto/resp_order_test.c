/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The order of things at the responder: gaps, repeats, when it answers and in which order.
 *
 * Answers leave in PSN order: an acknowledgement never overtakes an owed read response, and a read
 * response acknowledges what came before it. One acknowledgement per burst covers the rest.
 */
#include "drill.h"

/* ---- when ---- */

static void asked(struct drill *d)
{
	inject(d, "RDMA_WRITE_ONLY psn +0 ack len 0");
	expect(d, "ACKNOWLEDGE psn +0 ACK msn 1; nothing");
}

static void not_asked(struct drill *d)
{
	inject(d, "RDMA_WRITE_ONLY psn +0 len 0; RDMA_WRITE_ONLY psn +1 len 0");
	expect_nothing(d);
	idle(d);
	expect(d, "ACKNOWLEDGE psn +1 ACK msn 2; nothing");
	idle(d);
	expect_nothing(d);
}

static void one_for_a_burst(struct drill *d)
{
	inject(d,
		"RDMA_WRITE_ONLY psn +0 ack len 0; RDMA_WRITE_ONLY psn +1 ack len 0; "
		"RDMA_WRITE_ONLY psn +2 ack len 0; RDMA_WRITE_ONLY psn +3 len 0");
	expect(d, "ACKNOWLEDGE psn +3 ACK msn 4; nothing");
	expect_number(d, d->ep.core.counters.tx_acks, 1);
}

static void enough_have_gathered(struct drill *d)
{
	for (uint32_t i = 0; i < 15; i++) {
		inject(d, "RDMA_WRITE_ONLY psn +%u len 0", i);
		expect_nothing(d);
	}
	inject(d, "RDMA_WRITE_ONLY psn +15 len 0");
	expect(d, "ACKNOWLEDGE psn +15 ACK msn 16; nothing");
	/* The next sixteen begin anew. */
	inject(d, "RDMA_WRITE_ONLY psn +16 len 0");
	expect_nothing(d);
	idle(d);
	expect(d, "ACKNOWLEDGE psn +16 ACK msn 17");
	/* So do those behind a READ, whose answer acknowledges what came before. */
	inject(d, "RDMA_WRITE_ONLY psn +17 len 0; RDMA_READ_REQUEST psn +18 dma 8");
	expect(d, "RDMA_READ_RESPONSE_ONLY psn +18 ACK msn 19 len 8");
	for (uint32_t i = 19; i < 34; i++) {
		inject(d, "RDMA_WRITE_ONLY psn +%u len 0", i);
		expect_nothing(d);
	}
	inject(d, "RDMA_WRITE_ONLY psn +34 len 0");
	expect(d, "ACKNOWLEDGE psn +34 ACK msn 35; nothing");
}

static void ack_within_a_message(struct drill *d)
{
	inject(d, "RDMA_WRITE_FIRST psn +0 ack va 0x1000 dma 600 len 256");
	expect(d, "ACKNOWLEDGE psn +0 ACK msn 0");
	inject(d, "RDMA_WRITE_MIDDLE psn +1 len 256");
	idle(d);
	expect(d, "ACKNOWLEDGE psn +1 ACK msn 0");
	inject(d, "RDMA_WRITE_LAST psn +2 ack len 88");
	expect(d, "ACKNOWLEDGE psn +2 ACK msn 1");
}

/* ---- gaps ---- */

static void one_nak_per_gap(struct drill *d)
{
	inject(d, "RDMA_WRITE_ONLY psn +0 len 0");
	for (uint32_t i = 2; i < 10; i++)
		inject_dropped(
			d, UROCE_DROP_PSN_AHEAD, "RDMA_WRITE_ONLY psn +%u ack va 0x1000 len 8", i);
	expect(d, "ACKNOWLEDGE psn +1 NAK psn-sequence-error msn 1; nothing");
	inject_dropped(d, UROCE_DROP_PSN_AHEAD, "RDMA_WRITE_ONLY psn +10 ack va 0x1000 len 8");
	expect_nothing(d);
	idle(d);
	expect_nothing(d);
	expect_memory(d, 0x1000, 8, 0, 0x1000);
	expect_number(d, d->ep.core.counters.nak_sent, 1);
	expect_number(d, d->ep.core.counters.out_of_sequence, 9);
	/* The expected one ends the silence. */
	inject(d, "RDMA_WRITE_ONLY psn +1 ack len 0");
	expect(d, "ACKNOWLEDGE psn +1 ACK msn 2");
	inject_dropped(d, UROCE_DROP_PSN_AHEAD, "RDMA_WRITE_ONLY psn +3 len 0");
	expect(d, "ACKNOWLEDGE psn +2 NAK psn-sequence-error msn 2");
}

static void gap_filled_in_the_same_burst(struct drill *d)
{
	inject(d,
		"RDMA_WRITE_ONLY psn +1 ack len 0; RDMA_WRITE_ONLY psn +0 ack len 0; "
		"RDMA_WRITE_ONLY psn +1 ack len 0");
	expect(d, "ACKNOWLEDGE psn +1 ACK msn 2; nothing");
}

static void gap_filled_by_a_read(struct drill *d)
{
	inject(d, "RDMA_WRITE_ONLY psn +1 ack len 0; RDMA_READ_REQUEST psn +0 dma 8");
	expect(d, "RDMA_READ_RESPONSE_ONLY psn +0 ACK msn 1 len 8; nothing");
	inject_dropped(d, UROCE_DROP_PSN_AHEAD, "RDMA_WRITE_ONLY psn +2 ack len 0");
	expect(d, "ACKNOWLEDGE psn +1 NAK psn-sequence-error msn 1");
}

static void half_a_circle(struct drill *d)
{
	/* 2^23 - 1 ahead is newer, 2^23 behind is older. */
	inject_dropped(d, UROCE_DROP_PSN_AHEAD, "RDMA_WRITE_ONLY psn +8388607 ack len 0");
	expect(d, "ACKNOWLEDGE psn +0 NAK psn-sequence-error msn 0");
	inject(d, "RDMA_WRITE_ONLY psn +8388608 len 0");
	expect_number(d, d->drop, UROCE_ACCEPTED);
	expect_number(d, d->ep.core.counters.duplicate_request, 1);
	expect(d, "ACKNOWLEDGE psn -1 ACK msn 0");
}

static void gap_of_a_read(struct drill *d)
{
	/* A READ takes as many PSNs as it has answers. */
	inject(d, "RDMA_READ_REQUEST psn +0 va 0x1000 dma 600");
	expect(d,
		"RDMA_READ_RESPONSE_FIRST psn +0 ACK msn 1 len 256; "
		"RDMA_READ_RESPONSE_MIDDLE psn +1 len 256; "
		"RDMA_READ_RESPONSE_LAST psn +2 ACK msn 1 len 88");
	inject_dropped(d, UROCE_DROP_PSN_AHEAD, "RDMA_WRITE_ONLY psn +4 ack len 0");
	expect(d, "ACKNOWLEDGE psn +3 NAK psn-sequence-error msn 1");
	inject(d, "RDMA_WRITE_ONLY psn +3 ack len 0");
	expect(d, "ACKNOWLEDGE psn +3 ACK msn 2");
}

/* ---- in which order ---- */

static void ack_behind_read(struct drill *d)
{
	inject(d,
		"RDMA_READ_REQUEST psn +0 va 0x1000 dma 600; "
		"RDMA_WRITE_ONLY psn +3 ack va 0x3000 len 8");
	expect(d,
		"RDMA_READ_RESPONSE_FIRST psn +0 ACK msn 2 len 256; "
		"RDMA_READ_RESPONSE_MIDDLE psn +1 len 256; "
		"RDMA_READ_RESPONSE_LAST psn +2 ACK msn 2 len 88; "
		"ACKNOWLEDGE psn +3 ACK msn 2; nothing");
}

static void read_acknowledges_what_came_before(struct drill *d)
{
	inject(d,
		"RDMA_WRITE_ONLY psn +0 ack len 0; RDMA_WRITE_ONLY psn +1 len 0; "
		"RDMA_READ_REQUEST psn +2 dma 8");
	expect(d, "RDMA_READ_RESPONSE_ONLY psn +2 ACK msn 3 len 8; nothing");
	idle(d);
	expect_nothing(d);
}

static void ack_between_reads_is_left_out(struct drill *d)
{
	inject(d,
		"RDMA_READ_REQUEST psn +0 dma 8; RDMA_WRITE_ONLY psn +1 ack len 0; "
		"FETCH_ADD psn +2 va 0x1000; RDMA_WRITE_ONLY psn +3 ack len 0");
	expect(d, "RDMA_READ_RESPONSE_ONLY psn +0 ACK msn 4 len 8");
	expect(d, "ATOMIC_ACKNOWLEDGE psn +2 ACK msn 4 orig 0x%llx",
		(unsigned long long)d->ep.qp->replays[1].original);
	expect(d, "ACKNOWLEDGE psn +3 ACK msn 4; nothing");
}

static void nak_behind_read(struct drill *d)
{
	inject(d, "RDMA_READ_REQUEST psn +0 va 0x1000 dma 300; RDMA_WRITE_ONLY psn +3 ack len 0");
	expect(d,
		"RDMA_READ_RESPONSE_FIRST psn +0 ACK msn 1 len 256; "
		"RDMA_READ_RESPONSE_LAST psn +1 ACK msn 1 len 44; "
		"ACKNOWLEDGE psn +2 NAK psn-sequence-error msn 1; nothing");
}

static void rnr_behind_read(struct drill *d)
{
	inject(d, "RDMA_READ_REQUEST psn +0 va 0x1000 dma 300; SEND_ONLY psn +2 ack len 8");
	expect(d,
		"RDMA_READ_RESPONSE_FIRST psn +0 ACK msn 1 len 256; "
		"RDMA_READ_RESPONSE_LAST psn +1 ACK msn 1 len 44; "
		"ACKNOWLEDGE psn +2 RNR NAK 0.01 ms msn 1; nothing");
}

static void refusal_behind_read(struct drill *d)
{
	inject(d,
		"RDMA_READ_REQUEST psn +0 va 0x1000 dma 300; "
		"RDMA_WRITE_ONLY psn +2 rkey 0xbad00 len 8; RDMA_WRITE_ONLY psn +3 ack len 0");
	expect_event(d, "QP_ACCESS_ERR");
	expect_ended(d);
	expect(d,
		"RDMA_READ_RESPONSE_FIRST psn +0 ACK msn 1 len 256; "
		"RDMA_READ_RESPONSE_LAST psn +1 ACK msn 1 len 44; "
		"ACKNOWLEDGE psn +2 NAK remote-access-error msn 1; nothing");
}

static void repeat_behind_a_gap(struct drill *d)
{
	inject(d,
		"RDMA_WRITE_ONLY psn +0 len 0; RDMA_WRITE_ONLY psn +2 len 0; "
		"RDMA_WRITE_ONLY psn +0 ack len 0");
	/* The NAK says what the ACK would, and more. */
	expect(d, "ACKNOWLEDGE psn +1 NAK psn-sequence-error msn 1; nothing");
	inject(d, "RDMA_WRITE_ONLY psn +0 ack len 0");
	expect(d, "ACKNOWLEDGE psn +0 ACK msn 1; nothing");
}

static void late_repeats_get_the_newest(struct drill *d)
{
	for (uint32_t i = 0; i < 5; i++)
		inject(d, "RDMA_WRITE_ONLY psn +%u len 0", i);
	idle(d);
	expect(d, "ACKNOWLEDGE psn +4 ACK msn 5");
	for (uint32_t i = 0; i < 5; i++) {
		inject(d, "RDMA_WRITE_ONLY psn +%u len 0", i);
		expect(d, "ACKNOWLEDGE psn +4 ACK msn 5; nothing");
	}
}

/*
 * Linux's soft-RoCE takes an ACK of a read's or atomic's own PSN for its answer: under loss its
 * application got an atomic's result that was never fetched.
 */
static void repeats_do_not_acknowledge_reads(struct drill *d)
{
	inject(d, "RDMA_WRITE_ONLY psn +0 len 0; RDMA_READ_REQUEST psn +1 dma 300");
	inject(d, "FETCH_ADD psn +3 va 0x1000");
	expect(d,
		"RDMA_READ_RESPONSE_FIRST psn +1 ACK msn 3 len 256; "
		"RDMA_READ_RESPONSE_LAST psn +2 ACK msn 3 len 44; "
		"ATOMIC_ACKNOWLEDGE psn +3 ACK msn 3 orig 0x%llx",
		(unsigned long long)d->ep.qp->replays[1].original);
	inject(d, "RDMA_WRITE_ONLY psn +0 ack len 0");
	expect(d, "ACKNOWLEDGE psn +0 ACK msn 3; nothing");
	inject(d, "RDMA_WRITE_ONLY psn +4 len 0; RDMA_WRITE_ONLY psn +0 ack len 0");
	expect(d, "ACKNOWLEDGE psn +4 ACK msn 4; nothing");
}

static void msn_of_each(struct drill *d)
{
	post_recv(d, 200, 0x2000, 512);
	inject(d, "SEND_FIRST psn +0 ack len 256");
	expect(d, "ACKNOWLEDGE psn +0 ACK msn 0");
	inject(d, "SEND_LAST psn +1 ack len 8");
	expect(d, "ACKNOWLEDGE psn +1 ACK msn 1");
	expect_cqe(d, "recv 200 SUCCESS len 264");
	inject(d, "RDMA_READ_REQUEST psn +2 dma 300");
	expect(d,
		"RDMA_READ_RESPONSE_FIRST psn +2 ACK msn 2 len 256; "
		"RDMA_READ_RESPONSE_LAST psn +3 ACK msn 2 len 44");
	inject(d, "FETCH_ADD psn +4 va 0x1000");
	expect(d, "ATOMIC_ACKNOWLEDGE psn +4 ACK msn 3 orig 0x%llx",
		(unsigned long long)d->ep.qp->replays[1].original);
	inject(d, "RDMA_WRITE_ONLY psn +5 ack len 0");
	expect(d, "ACKNOWLEDGE psn +5 ACK msn 4");
}

int main(void)
{
	static const struct drill_case cases[] = {
		{"an AckReq is answered at once", asked},
		{"what is not asked for is answered when nothing more comes in", not_asked},
		{"one ACK covers a burst", one_for_a_burst},
		{"sixteen packets are answered without being asked", enough_have_gathered},
		{"an ACK within a message counts no message", ack_within_a_message},
		{"a gap is complained about once", one_nak_per_gap},
		{"a gap that is filled in the same burst is not complained about",
			gap_filled_in_the_same_burst},
		{"a gap that a READ fills is not complained about", gap_filled_by_a_read},
		{"half the circle is newer, half is older", half_a_circle},
		{"a READ moves the expected PSN by its answers", gap_of_a_read},
		{"an ACK never overtakes a read response", ack_behind_read},
		{"a read response acknowledges what came before",
			read_acknowledges_what_came_before},
		{"an ACK between reads is left to the next answer", ack_between_reads_is_left_out},
		{"a sequence NAK never overtakes a read response", nak_behind_read},
		{"an RNR NAK never overtakes a read response", rnr_behind_read},
		{"a refusal never overtakes a read response", refusal_behind_read},
		{"a repeat does not undo a NAK that is still to be sent", repeat_behind_a_gap},
		{"every repeat is answered with the newest PSN", late_repeats_get_the_newest},
		{"what a repeat is answered with is no PSN of a read or atomic",
			repeats_do_not_acknowledge_reads},
		{"the MSN counts messages of every kind", msn_of_each},
	};

	return DRILL_SUITE("resp_order", cases);
}
