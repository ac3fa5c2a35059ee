/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The completer: answers to READs and atomics, gaps in them, repeats, answers that do not fit.
 *
 * Only its own data completes a READ or atomic. Whatever comes beyond one that is still open says
 * that an answer was lost: once per gap, until there is progress.
 */
#include <string.h>

#include "drill.h"

#define TIMEOUT_NS (4096ull << 14)

static void post_read(struct drill *d, uint64_t wr_id, uint32_t bytes, uint32_t psn)
{
	post(d, "READ %u len %u at 0x2000", (uint32_t)wr_id, bytes);
	expect(d, "RDMA_READ_REQUEST psn +%u ack va 0x1000 rkey 0x00000abc dma_len %u", psn, bytes);
}

/* ---- what is right ---- */

static void one_packet(struct drill *d)
{
	for (uint32_t bytes = 1; bytes <= DRILL_MTU; bytes += 15) {
		struct endpoint_conf conf = drill_conf(d);

		drill_restart(d, &conf);
		post_read(d, 100, bytes, 0);
		inject(d, "RDMA_READ_RESPONSE_ONLY psn +0 ACK msn 1 len %u", bytes);
		expect_cqe(d, "read 100 SUCCESS len %u", bytes);
		expect_memory(d, 0x2000, bytes, 1, 0);
		expect_memory(d, 0x2000 + bytes, 64, 0, 0x2000 + bytes);
	}
}

static void many_packets(struct drill *d)
{
	post_read(d, 100, 1025, 0);
	inject(d, "RDMA_READ_RESPONSE_FIRST psn +0 ACK msn 1 len 256");
	inject(d,
		"RDMA_READ_RESPONSE_MIDDLE psn +1 len 256 at 256; "
		"RDMA_READ_RESPONSE_MIDDLE psn +2 len 256 at 512");
	expect_no_cqe(d);
	inject(d,
		"RDMA_READ_RESPONSE_MIDDLE psn +3 len 256 at 768; "
		"RDMA_READ_RESPONSE_LAST psn +4 ACK msn 1 len 1 at 1024");
	expect_cqe(d, "read 100 SUCCESS len 1025");
	expect_memory(d, 0x2000, 1025, 1, 0);
	expect_nothing(d);
	expect_number(d, uroce_core_next_deadline(&d->ep.core), UROCE_TIMER_NEVER);
}

static void no_bytes(struct drill *d)
{
	post_read(d, 100, 0, 0);
	inject(d, "RDMA_READ_RESPONSE_ONLY psn +0 ACK msn 1 len 0");
	expect_cqe(d, "read 100 SUCCESS len 0");
}

static void scattered(struct drill *d)
{
	post(d, "READ 100 len 600 at 0x2000 segs 16");
	expect(d, "RDMA_READ_REQUEST psn +0 ack va 0x1000 rkey 0x00000abc dma_len 600");
	inject(d,
		"RDMA_READ_RESPONSE_FIRST psn +0 ACK len 256; "
		"RDMA_READ_RESPONSE_MIDDLE psn +1 len 256 at 256; "
		"RDMA_READ_RESPONSE_LAST psn +2 ACK len 88 at 512");
	expect_cqe(d, "read 100 SUCCESS len 600");
	expect_memory(d, 0x2000, 600, 1, 0);
}

static void atomics(struct drill *d)
{
	uint64_t value;

	post(d, "FADD 100 at 0x2000 add 0x0102030405060708");
	post(d, "CAS 101 at 0x2008 cmp 7 swap 9");
	expect(d,
		"FETCH_ADD psn +0 ack va 0x1000 rkey 0x00000abc swap_add 0x102030405060708 "
		"compare 0x0");
	expect(d, "COMPARE_SWAP psn +1 ack va 0x1000 rkey 0x00000abc swap_add 0x9 compare 0x7");
	inject(d,
		"ATOMIC_ACKNOWLEDGE psn +0 ACK msn 1 orig 0x1122334455667788; "
		"ATOMIC_ACKNOWLEDGE psn +1 ACK msn 2 orig 7");
	expect_cqe(d, "fadd 100 SUCCESS len 8; cas 101 SUCCESS len 8");
	memcpy(&value, d->ep.mem + 0x2000, 8);
	expect_number(d, value, 0x1122334455667788);
	memcpy(&value, d->ep.mem + 0x2008, 8);
	expect_number(d, value, 7);
}

static void answer_acknowledges_work_before(struct drill *d)
{
	post(d, "SEND 100 len 300");
	post(d, "WRITE 101 len 8");
	post(d, "READ 102 len 8 at 0x2000");
	expect(d,
		"SEND_FIRST psn +0 len 256; SEND_LAST psn +1 ack len 44; "
		"RDMA_WRITE_ONLY psn +2 ack va 0x1000 rkey 0x00000abc dma_len 8 len 8; "
		"RDMA_READ_REQUEST psn +3 ack va 0x1000 rkey 0x00000abc dma_len 8");
	inject(d, "RDMA_READ_RESPONSE_ONLY psn +3 ACK msn 3 len 8");
	expect_cqe(d, "send 100 SUCCESS len 300; write 101 SUCCESS len 8; read 102 SUCCESS len 8");
	expect_nothing(d);
}

static void read_and_send_in_one_burst(struct drill *d)
{
	post_read(d, 100, 300, 0);
	post(d, "SEND 101 len 8");
	post(d, "READ 102 len 8 at 0x3000");
	expect(d,
		"SEND_ONLY psn +2 ack len 8; "
		"RDMA_READ_REQUEST psn +3 ack va 0x1000 rkey 0x00000abc dma_len 8");
	inject(d,
		"RDMA_READ_RESPONSE_FIRST psn +0 ACK len 256; "
		"RDMA_READ_RESPONSE_LAST psn +1 ACK len 44 at 256; ACKNOWLEDGE psn +2 ACK; "
		"RDMA_READ_RESPONSE_ONLY psn +3 ACK len 8");
	expect_cqe(d, "read 100 SUCCESS len 300; send 101 SUCCESS len 8; read 102 SUCCESS len 8");
	expect_nothing(d);
	expect_number(d, d->ep.core.counters.implied_nak_seq_err, 0);
	expect_number(d, d->ep.core.counters.retransmitted_packets, 0);
}

/* ---- gaps ---- */

static void gap_within(struct drill *d)
{
	post_read(d, 100, 1000, 0);
	inject(d, "RDMA_READ_RESPONSE_FIRST psn +0 ACK len 256");
	inject_dropped(d, UROCE_DROP_RESPONSE_GAP, "RDMA_READ_RESPONSE_MIDDLE psn +2 len 256");
	/* Asked again from what is missing. */
	expect(d, "RDMA_READ_REQUEST psn +1 ack va 0x1100 rkey 0x00000abc dma_len 744");
	expect_number(d, d->ep.core.counters.implied_nak_seq_err, 1);
	/* The rest of the first answer is behind the same gap: once is enough. */
	inject_dropped(d, UROCE_DROP_RESPONSE_GAP, "RDMA_READ_RESPONSE_LAST psn +3 ACK len 232");
	expect_nothing(d);
	inject(d,
		"RDMA_READ_RESPONSE_FIRST psn +1 ACK len 256 at 256; "
		"RDMA_READ_RESPONSE_MIDDLE psn +2 len 256 at 512; "
		"RDMA_READ_RESPONSE_LAST psn +3 ACK len 232 at 768");
	expect_cqe(d, "read 100 SUCCESS len 1000");
	expect_memory(d, 0x2000, 1000, 1, 0);
	expect_number(d, d->ep.qp->comp.retries_left, 7);
}

static void gap_first(struct drill *d)
{
	post_read(d, 100, 512, 0);
	inject_dropped(d, UROCE_DROP_RESPONSE_GAP, "RDMA_READ_RESPONSE_LAST psn +1 ACK len 256");
	expect(d, "RDMA_READ_REQUEST psn +0 ack va 0x1000 rkey 0x00000abc dma_len 512");
	expect_memory(d, 0x2000, 512, 0, 0x2000);
	inject(d,
		"RDMA_READ_RESPONSE_FIRST psn +0 ACK len 256; "
		"RDMA_READ_RESPONSE_LAST psn +1 ACK len 256 at 256");
	expect_cqe(d, "read 100 SUCCESS len 512");
}

static void ack_beyond(struct drill *d)
{
	post_read(d, 100, 8, 0);
	post(d, "SEND 101 len 8");
	expect(d, "SEND_ONLY psn +1 ack len 8");
	inject_dropped(d, UROCE_DROP_RESPONSE_GAP, "ACKNOWLEDGE psn +1 ACK");
	expect_no_cqe(d);
	expect(d,
		"RDMA_READ_REQUEST psn +0 ack va 0x1000 rkey 0x00000abc dma_len 8; "
		"SEND_ONLY psn +1 ack len 8");
	inject_dropped(d, UROCE_DROP_RESPONSE_GAP, "ACKNOWLEDGE psn +1 ACK");
	expect_nothing(d);
	inject(d, "RDMA_READ_RESPONSE_ONLY psn +0 ACK len 8; ACKNOWLEDGE psn +1 ACK");
	expect_cqe(d, "read 100 SUCCESS len 8; send 101 SUCCESS len 8");
}

static void nak_beyond(struct drill *d)
{
	post_read(d, 100, 8, 0);
	post(d, "WRITE 101 len 8");
	expect(d, "RDMA_WRITE_ONLY psn +1 ack va 0x1000 rkey 0x00000abc dma_len 8 len 8");
	/* The refusal is not acted upon before the READ has its data. */
	inject_dropped(d, UROCE_DROP_RESPONSE_GAP, "ACKNOWLEDGE psn +1 NAK 2");
	expect_state(d, UROCE_QP_RTS);
	expect(d,
		"RDMA_READ_REQUEST psn +0 ack va 0x1000 rkey 0x00000abc dma_len 8; "
		"RDMA_WRITE_ONLY psn +1 ack va 0x1000 rkey 0x00000abc dma_len 8 len 8");
	inject(d, "RDMA_READ_RESPONSE_ONLY psn +0 ACK len 8; ACKNOWLEDGE psn +1 NAK 2");
	expect_cqe(d, "read 100 SUCCESS len 8; write 101 REM_ACCESS_ERR why 0x62");
	expect_ended(d);
}

static void answer_beyond(struct drill *d)
{
	post_read(d, 100, 8, 0);
	post(d, "FADD 101 at 0x3000 add 1");
	expect(d, "FETCH_ADD psn +1 ack va 0x1000 rkey 0x00000abc swap_add 0x1 compare 0x0");
	inject_dropped(d, UROCE_DROP_RESPONSE_GAP, "ATOMIC_ACKNOWLEDGE psn +1 ACK orig 5");
	expect(d,
		"RDMA_READ_REQUEST psn +0 ack va 0x1000 rkey 0x00000abc dma_len 8; "
		"FETCH_ADD psn +1 ack va 0x1000 rkey 0x00000abc swap_add 0x1 compare 0x0");
	inject(d,
		"RDMA_READ_RESPONSE_ONLY psn +0 ACK len 8; "
		"ATOMIC_ACKNOWLEDGE psn +1 ACK orig 5");
	expect_cqe(d, "read 100 SUCCESS len 8; fadd 101 SUCCESS len 8");
}

static void ack_of_the_read_itself(struct drill *d)
{
	/* A plain ACK does not complete a READ: its data is missing. */
	post_read(d, 100, 8, 0);
	inject_dropped(d, UROCE_DROP_RESPONSE_GAP, "ACKNOWLEDGE psn +0 ACK");
	expect_no_cqe(d);
	expect(d, "RDMA_READ_REQUEST psn +0 ack va 0x1000 rkey 0x00000abc dma_len 8");
	inject(d, "RDMA_READ_RESPONSE_ONLY psn +0 ACK len 8");
	expect_cqe(d, "read 100 SUCCESS len 8");
}

static void gaps_exhaust_the_retries(struct drill *d)
{
	struct endpoint_conf conf = drill_conf(d);

	conf.attr.retry_cnt = 0;
	drill_restart(d, &conf);
	post_read(d, 100, 512, 0);
	inject_dropped(d, UROCE_DROP_RESPONSE_GAP, "RDMA_READ_RESPONSE_LAST psn +1 ACK len 256");
	expect_cqe(d, "read 100 RETRY_EXC_ERR why 0x1");
	expect_ended(d);
	expect_number(d, d->ep.qp->report.cause, UROCE_CAUSE_SEQUENCE);
}

/* ---- retries ---- */

static void timeout_within(struct drill *d)
{
	post_read(d, 100, 1000, 0);
	inject(d,
		"RDMA_READ_RESPONSE_FIRST psn +0 ACK len 256; "
		"RDMA_READ_RESPONSE_MIDDLE psn +1 len 256 at 256");
	pass(d, TIMEOUT_NS);
	expect(d, "RDMA_READ_REQUEST psn +2 ack va 0x1200 rkey 0x00000abc dma_len 488");
	/* As to a new request: FIRST, LAST. */
	inject(d,
		"RDMA_READ_RESPONSE_FIRST psn +2 ACK len 256 at 512; "
		"RDMA_READ_RESPONSE_LAST psn +3 ACK len 232 at 768");
	expect_cqe(d, "read 100 SUCCESS len 1000");
	expect_memory(d, 0x2000, 1000, 1, 0);
}

static void old_form_after_retry(struct drill *d)
{
	post_read(d, 100, 1000, 0);
	inject(d, "RDMA_READ_RESPONSE_FIRST psn +0 ACK len 256");
	pass(d, TIMEOUT_NS);
	expect(d, "RDMA_READ_REQUEST psn +1 ack va 0x1100 rkey 0x00000abc dma_len 744");
	/* The old answer was only slow, and goes on as it began. */
	inject(d,
		"RDMA_READ_RESPONSE_MIDDLE psn +1 len 256 at 256; "
		"RDMA_READ_RESPONSE_MIDDLE psn +2 len 256 at 512; "
		"RDMA_READ_RESPONSE_LAST psn +3 ACK len 232 at 768");
	expect_cqe(d, "read 100 SUCCESS len 1000");
	expect_memory(d, 0x2000, 1000, 1, 0);
	/* The answer to the repeat comes too late to matter. */
	inject(d,
		"RDMA_READ_RESPONSE_FIRST psn +1 ACK len 256 fill 9; "
		"RDMA_READ_RESPONSE_MIDDLE psn +2 len 256 fill 9; "
		"RDMA_READ_RESPONSE_LAST psn +3 ACK len 232 fill 9");
	expect_memory(d, 0x2000, 1000, 1, 0);
	expect_state(d, UROCE_QP_RTS);
}

/* Parts that were asked for again may be answered each by itself. */
static void parts_after_retry(struct drill *d)
{
	post_read(d, 100, 1000, 0);
	pass(d, TIMEOUT_NS);
	expect(d, "RDMA_READ_REQUEST psn +0 ack va 0x1000 rkey 0x00000abc dma_len 1000");
	inject(d,
		"RDMA_READ_RESPONSE_FIRST psn +0 ACK len 256; "
		"RDMA_READ_RESPONSE_FIRST psn +1 ACK len 256 at 256; "
		"RDMA_READ_RESPONSE_MIDDLE psn +2 len 256 at 512; "
		"RDMA_READ_RESPONSE_ONLY psn +3 ACK len 232 at 768");
	expect_cqe(d, "read 100 SUCCESS len 1000");
	expect_memory(d, 0x2000, 1000, 1, 0);
}

static void only_after_retry(struct drill *d)
{
	post_read(d, 100, 300, 0);
	inject(d, "RDMA_READ_RESPONSE_FIRST psn +0 ACK len 256");
	pass(d, TIMEOUT_NS);
	expect(d, "RDMA_READ_REQUEST psn +1 ack va 0x1100 rkey 0x00000abc dma_len 44");
	inject(d, "RDMA_READ_RESPONSE_ONLY psn +1 ACK len 44 at 256");
	expect_cqe(d, "read 100 SUCCESS len 300");
	expect_memory(d, 0x2000, 300, 1, 0);
}

static void answers_twice(struct drill *d)
{
	post_read(d, 100, 600, 0);
	inject(d,
		"RDMA_READ_RESPONSE_FIRST psn +0 ACK len 256; "
		"RDMA_READ_RESPONSE_FIRST psn +0 ACK len 256 fill 9; "
		"RDMA_READ_RESPONSE_MIDDLE psn +1 len 256 at 256; "
		"RDMA_READ_RESPONSE_MIDDLE psn +1 len 256 fill 9; "
		"RDMA_READ_RESPONSE_LAST psn +2 ACK len 88 at 512; "
		"RDMA_READ_RESPONSE_LAST psn +2 ACK len 88 fill 9");
	expect_cqe(d, "read 100 SUCCESS len 600");
	expect_memory(d, 0x2000, 600, 1, 0);
	expect_nothing(d);
}

static void retried_forms_end_with_the_retry(struct drill *d)
{
	post_read(d, 100, 300, 0);
	pass(d, TIMEOUT_NS);
	expect(d, "RDMA_READ_REQUEST psn +0 ack va 0x1000 rkey 0x00000abc dma_len 300");
	inject(d,
		"RDMA_READ_RESPONSE_FIRST psn +0 ACK len 256; "
		"RDMA_READ_RESPONSE_LAST psn +1 ACK len 44 at 256");
	expect_cqe(d, "read 100 SUCCESS len 300");
	/* What was asked once has one form again. */
	post_read(d, 101, 300, 2);
	inject_dropped(d, UROCE_DROP_RESPONSE_BAD, "RDMA_READ_RESPONSE_MIDDLE psn +2 len 256");
	expect_cqe(d, "read 101 BAD_RESP_ERR why 0xe");
	expect_ended(d);
}

static void pieces(struct drill *d)
{
	struct endpoint_conf conf = drill_conf(d);

	conf.caps.window_pkts = 4;
	drill_restart(d, &conf);
	post(d, "READ 100 len 1300 at 0x2000");
	/* Six packets are more than the window: pieces of half a window, as room comes. */
	expect(d,
		"RDMA_READ_REQUEST psn +0 ack va 0x1000 rkey 0x00000abc dma_len 512; "
		"RDMA_READ_REQUEST psn +2 ack va 0x1200 rkey 0x00000abc dma_len 512; nothing");
	inject(d,
		"RDMA_READ_RESPONSE_FIRST psn +0 ACK len 256; "
		"RDMA_READ_RESPONSE_LAST psn +1 ACK len 256 at 256");
	expect(d, "RDMA_READ_REQUEST psn +4 ack va 0x1400 rkey 0x00000abc dma_len 276");
	inject(d, "RDMA_READ_RESPONSE_FIRST psn +2 ACK len 256 at 512");
	pass(d, TIMEOUT_NS);
	expect(d,
		"RDMA_READ_REQUEST psn +3 ack va 0x1300 rkey 0x00000abc dma_len 256; "
		"RDMA_READ_REQUEST psn +4 ack va 0x1400 rkey 0x00000abc dma_len 276; nothing");
	inject(d,
		"RDMA_READ_RESPONSE_ONLY psn +3 ACK len 256 at 768; "
		"RDMA_READ_RESPONSE_FIRST psn +4 ACK len 256 at 1024; "
		"RDMA_READ_RESPONSE_LAST psn +5 ACK len 20 at 1280");
	expect_cqe(d, "read 100 SUCCESS len 1300");
	expect_memory(d, 0x2000, 1300, 1, 0);
	expect_number(d, d->ep.qp->req.reads_out, 0);
}

/* ---- answers that do not fit ---- */

/* Posts one work request; the answer is a bad one and ends the queue pair. */
static void bad(struct drill *d, const char *wr, const char *answer, const char *cqe)
{
	struct endpoint_conf conf = drill_conf(d);
	char line[DRILL_TEXT_BYTES];

	drill_restart(d, &conf);
	post(d, "%s", wr);
	while (drill_next_line(d, line, sizeof(line)))
		;
	inject_dropped(d, UROCE_DROP_RESPONSE_BAD, "%s", answer);
	expect_cqe(d, "%s", cqe);
	expect_ended(d);
	expect_memory(d, 0x2000, 0x2000, 0, 0x2000);
	expect_number(d, d->ep.qp->report.cause, UROCE_CAUSE_BAD_RESPONSE);
}

static void wrong_kind(struct drill *d)
{
	bad(d, "WRITE 100 len 8", "RDMA_READ_RESPONSE_ONLY psn +0 ACK len 8",
		"write 100 BAD_RESP_ERR why 0x10");
	bad(d, "SEND 100 len 8", "ATOMIC_ACKNOWLEDGE psn +0 ACK orig 1",
		"send 100 BAD_RESP_ERR why 0x12");
	bad(d, "READ 100 len 8 at 0x2000", "ATOMIC_ACKNOWLEDGE psn +0 ACK orig 1",
		"read 100 BAD_RESP_ERR why 0x12");
	bad(d, "FADD 100 at 0x2000", "RDMA_READ_RESPONSE_ONLY psn +0 ACK len 8",
		"fadd 100 BAD_RESP_ERR why 0x10");
	bad(d, "FADD 100 at 0x2000", "ATOMIC_ACKNOWLEDGE psn +0 ACK orig 1 len 4",
		"fadd 100 BAD_RESP_ERR why 0x12");
}

static void wrong_length(struct drill *d)
{
	const char *cqe_only = "read 100 BAD_RESP_ERR why 0x10";
	const char *cqe_first = "read 100 BAD_RESP_ERR why 0xd";

	bad(d, "READ 100 len 8 at 0x2000", "RDMA_READ_RESPONSE_ONLY psn +0 ACK len 7", cqe_only);
	bad(d, "READ 100 len 8 at 0x2000", "RDMA_READ_RESPONSE_ONLY psn +0 ACK len 9", cqe_only);
	bad(d, "READ 100 len 8 at 0x2000", "RDMA_READ_RESPONSE_ONLY psn +0 ACK len 0", cqe_only);
	bad(d, "READ 100 len 0", "RDMA_READ_RESPONSE_ONLY psn +0 ACK len 1", cqe_only);
	bad(d, "READ 100 len 256 at 0x2000", "RDMA_READ_RESPONSE_ONLY psn +0 ACK len 257",
		cqe_only);
	bad(d, "READ 100 len 600 at 0x2000", "RDMA_READ_RESPONSE_FIRST psn +0 ACK len 255",
		cqe_first);
	bad(d, "READ 100 len 600 at 0x2000", "RDMA_READ_RESPONSE_FIRST psn +0 ACK len 257",
		cqe_first);
	bad(d, "READ 100 len 600 at 0x2000", "RDMA_READ_RESPONSE_FIRST psn +0 ACK len 0",
		cqe_first);
}

static void wrong_place(struct drill *d)
{
	bad(d, "READ 100 len 256 at 0x2000", "RDMA_READ_RESPONSE_FIRST psn +0 ACK len 256",
		"read 100 BAD_RESP_ERR why 0xd");
	bad(d, "READ 100 len 256 at 0x2000", "RDMA_READ_RESPONSE_LAST psn +0 ACK len 256",
		"read 100 BAD_RESP_ERR why 0xf");
	bad(d, "READ 100 len 256 at 0x2000", "RDMA_READ_RESPONSE_MIDDLE psn +0 len 256",
		"read 100 BAD_RESP_ERR why 0xe");
	bad(d, "READ 100 len 600 at 0x2000", "RDMA_READ_RESPONSE_ONLY psn +0 ACK len 256",
		"read 100 BAD_RESP_ERR why 0x10");
	bad(d, "READ 100 len 600 at 0x2000", "RDMA_READ_RESPONSE_MIDDLE psn +0 len 256",
		"read 100 BAD_RESP_ERR why 0xe");
	bad(d, "READ 100 len 600 at 0x2000", "RDMA_READ_RESPONSE_LAST psn +0 ACK len 256",
		"read 100 BAD_RESP_ERR why 0xf");
}

static void wrong_later(struct drill *d)
{
	static const char *const lines[] = {
		"RDMA_READ_RESPONSE_FIRST psn +1 ACK len 256",
		"RDMA_READ_RESPONSE_ONLY psn +1 ACK len 256",
		"RDMA_READ_RESPONSE_LAST psn +1 ACK len 256",
		"RDMA_READ_RESPONSE_LAST psn +1 ACK len 88",
		"RDMA_READ_RESPONSE_MIDDLE psn +1 len 252",
	};
	static const uint32_t why[] = {0xd, 0x10, 0xf, 0xf, 0xe};

	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		struct endpoint_conf conf = drill_conf(d);

		drill_restart(d, &conf);
		post_read(d, 100, 600, 0);
		inject(d, "RDMA_READ_RESPONSE_FIRST psn +0 ACK len 256");
		inject_dropped(d, UROCE_DROP_RESPONSE_BAD, "%s", lines[i]);
		expect_cqe(d, "read 100 BAD_RESP_ERR why 0x%x", why[i]);
		expect_ended(d);
		expect_memory(d, 0x2100, 512, 0, 0x2100);
	}
}

static void error_in_an_answer(struct drill *d)
{
	/* An answer with data is an acknowledgement: an error in its AETH contradicts itself. */
	bad(d, "READ 100 len 8 at 0x2000", "RDMA_READ_RESPONSE_ONLY psn +0 NAK 2 len 8",
		"read 100 BAD_RESP_ERR why 0x10");
	bad(d, "FADD 100 at 0x2000", "ATOMIC_ACKNOWLEDGE psn +0 NAK 2 orig 1",
		"fadd 100 BAD_RESP_ERR why 0x12");
}

static void wrong_pad(struct drill *d)
{
	bad(d, "READ 100 len 5 at 0x2000", "RDMA_READ_RESPONSE_ONLY psn +0 ACK len 5 pad 2",
		"read 100 BAD_RESP_ERR why 0x10");
}

static void ghosts(struct drill *d)
{
	inject_dropped(d, UROCE_DROP_GHOST_RESPONSE, "RDMA_READ_RESPONSE_ONLY psn +0 ACK len 8");
	inject_dropped(d, UROCE_DROP_GHOST_RESPONSE, "ATOMIC_ACKNOWLEDGE psn +0 ACK orig 1");
	post_read(d, 100, 600, 0);
	inject_dropped(d, UROCE_DROP_GHOST_RESPONSE, "RDMA_READ_RESPONSE_ONLY psn +3 ACK len 8");
	inject_dropped(
		d, UROCE_DROP_GHOST_RESPONSE, "RDMA_READ_RESPONSE_FIRST psn +50 ACK len 256");
	expect_state(d, UROCE_QP_RTS);
	expect_nothing(d);
	drill_to_state(d, UROCE_QP_ERR);
	expect_cqe(d, "read 100 WR_FLUSH_ERR");
	expect_ended(d);
}

/* ---- local memory ---- */

static void local_key(struct drill *d)
{
	post(d, "READ 100 len 8 at 0x2000 lkey 0xbad00");
	post(d, "WRITE 101 len 8");
	expect(d,
		"RDMA_READ_REQUEST psn +0 ack va 0x1000 rkey 0x00000abc dma_len 8; "
		"RDMA_WRITE_ONLY psn +1 ack va 0x1000 rkey 0x00000abc dma_len 8 len 8");
	inject_dropped(d, UROCE_DROP_RESPONSE_UNPLACED, "RDMA_READ_RESPONSE_ONLY psn +0 ACK len 8");
	expect_cqe(d, "read 100 LOC_PROT_ERR why 0x1; write 101 WR_FLUSH_ERR");
	expect_ended(d);
	expect_number(d, d->ep.qp->report.cause, UROCE_CAUSE_LOCAL_MEMORY);
}

static void local_right(struct drill *d)
{
	post(d, "FADD 100 at 0x2000 lkey %u",
		endpoint_register(&d->ep, 0x2000, 64, UROCE_ACCESS_REMOTE_READ));
	expect(d, "FETCH_ADD psn +0 ack va 0x1000 rkey 0x00000abc swap_add 0x0 compare 0x0");
	inject_dropped(d, UROCE_DROP_RESPONSE_UNPLACED, "ATOMIC_ACKNOWLEDGE psn +0 ACK orig 1");
	expect_cqe(d, "fadd 100 LOC_PROT_ERR why 0x3");
	expect_ended(d);
	expect_memory(d, 0x2000, 8, 0, 0x2000);
}

static void unasked_partly(struct drill *d)
{
	uint32_t key = endpoint_register(
		&d->ep, 0x2000, 0x1000, UROCE_ACCESS_LOCAL_WRITE | UROCE_ACCESS_REMOTE_WRITE);

	post(d, "READ 100 len 600 at 0x2000 lkey %u", key);
	expect(d, "RDMA_READ_REQUEST psn +0 ack va 0x1000 rkey 0x00000abc dma_len 600");
	inject(d, "RDMA_READ_RESPONSE_FIRST psn +0 ACK len 256");
	expect_number(d, uroce_mr_table_remove(&d->ep.mrs, key), 0);
	inject_dropped(d, UROCE_DROP_RESPONSE_UNPLACED, "RDMA_READ_RESPONSE_MIDDLE psn +1 len 256");
	expect_cqe(d, "read 100 LOC_PROT_ERR why 0x1");
	expect_ended(d);
	expect_memory(d, 0x2100, 512, 0, 0x2100);
}

int main(void)
{
	static const struct drill_case cases[] = {
		{"a READ of up to one MTU completes with its answer", one_packet},
		{"a READ of many packets completes with the last", many_packets},
		{"a READ of no bytes completes with an empty answer", no_bytes},
		{"a READ is scattered over sixteen segments", scattered},
		{"atomics return what was there, in host order", atomics},
		{"an answer acknowledges the work before it", answer_acknowledges_work_before},
		{"READs and SENDs answered in one burst cost no retry", read_and_send_in_one_burst},
		{"a gap within an answer is asked for again, once", gap_within},
		{"a missing first answer is asked for again", gap_first},
		{"an ACK beyond an open READ is a gap", ack_beyond},
		{"a NAK beyond an open READ waits for the READ", nak_beyond},
		{"an answer beyond an open READ is a gap", answer_beyond},
		{"an ACK alone does not complete a READ", ack_of_the_read_itself},
		{"gaps without end exhaust the retries", gaps_exhaust_the_retries},
		{"after a timeout only the rest of a READ is asked for", timeout_within},
		{"after a retry the old answer may go on", old_form_after_retry},
		{"after a retry the rest may be an ONLY", only_after_retry},
		{"after a retry parts may be answered by themselves", parts_after_retry},
		{"answers that come twice are placed once", answers_twice},
		{"the freedom of form ends with the retry", retried_forms_end_with_the_retry},
		{"a READ longer than the window is asked for in pieces", pieces},
		{"an answer of the wrong kind is a bad response", wrong_kind},
		{"an answer of the wrong length is a bad response", wrong_length},
		{"an answer in the wrong place is a bad response", wrong_place},
		{"a later answer that does not fit is a bad response", wrong_later},
		{"an answer whose AETH is an error is a bad response", error_in_an_answer},
		{"an answer with a wrong pad is a bad response", wrong_pad},
		{"answers that nobody asked for are dropped", ghosts},
		{"an answer without a local key ends the READ", local_key},
		{"an answer without the right to write ends the atomic", local_right},
		{"local memory that vanishes within a READ ends it", unasked_partly},
	};

	return DRILL_SUITE("comp_read", cases);
}
