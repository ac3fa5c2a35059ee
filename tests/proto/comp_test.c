/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The completer: acknowledgements, NAKs, receiver not ready, timers, paths, stalls.
 *
 * What a NAK becomes, when something is sent again and how often, and what no answer may do. Reads
 * and atomics have a file of their own.
 */
#include "drill.h"

#define WRITE_LINE(psn) \
	"RDMA_WRITE_ONLY psn " psn " ack va 0x1000 rkey 0x00000abc dma_len 64 len 64"

/* The local ack timeout of the drill: 4.096 us * 2^14. */
#define TIMEOUT_NS (4096ull << 14)

static void post_writes(struct drill *d, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		post(d, "WRITE %u len 64", 100 + i);
	for (uint32_t i = 0; i < n; i++)
		expect(d, "RDMA_WRITE_ONLY psn +%u ack va 0x1000 rkey 0x00000abc dma_len 64 len 64",
			i);
	expect_nothing(d);
}

/* ---- acknowledgements ---- */

static void one_for_all(struct drill *d)
{
	post_writes(d, 4);
	inject(d, "ACKNOWLEDGE psn +2 ACK msn 3");
	expect_cqe(d, "write 100 SUCCESS len 64; write 101 SUCCESS len 64");
	expect_cqe(d, "write 102 SUCCESS len 64; nothing");
	inject(d, "ACKNOWLEDGE psn +3 ACK msn 4");
	expect_cqe(d, "write 103 SUCCESS len 64");
	expect_number(d, uroce_core_next_deadline(&d->ep.core), UROCE_TIMER_NEVER);
}

static void within_a_message(struct drill *d)
{
	post(d, "SEND 100 len 700");
	expect(d,
		"SEND_FIRST psn +0 len 256; SEND_MIDDLE psn +1 len 256; "
		"SEND_LAST psn +2 ack len 188");
	inject(d, "ACKNOWLEDGE psn +0 ACK msn 0");
	expect_no_cqe(d);
	expect_number(d, d->ep.qp->req.psn_una, (d->sq_psn + 1) & 0xffffff);
	inject(d, "ACKNOWLEDGE psn +2 ACK msn 1");
	expect_cqe(d, "send 100 SUCCESS len 700");
}

static void any_credits(struct drill *d)
{
	post_writes(d, 32);
	for (uint32_t code = 0; code < 32; code++) {
		inject(d, "ACKNOWLEDGE psn +%u credits %u msn %u", code, code, code + 1);
		expect_cqe(d, "write %u SUCCESS len 64", 100 + code);
		expect_nothing(d);
	}
	post(d, "WRITE 500 len 64");
	expect(d, WRITE_LINE("+32"));
	inject(d, "ACKNOWLEDGE psn +32 ACK");
	expect_cqe(d, "write 500 SUCCESS len 64");
}

static void any_msn(struct drill *d)
{
	post_writes(d, 2);
	inject(d, "ACKNOWLEDGE psn +0 ACK msn 0xabcdef");
	expect_cqe(d, "write 100 SUCCESS len 64");
	inject(d, "ACKNOWLEDGE psn +1 ACK msn 0");
	expect_cqe(d, "write 101 SUCCESS len 64");
}

static void ghosts(struct drill *d)
{
	inject_dropped(d, UROCE_DROP_GHOST_RESPONSE, "ACKNOWLEDGE psn +0 ACK");
	post_writes(d, 2);
	inject_dropped(d, UROCE_DROP_GHOST_RESPONSE, "ACKNOWLEDGE psn +2 ACK");
	inject_dropped(d, UROCE_DROP_GHOST_RESPONSE, "ACKNOWLEDGE psn +1000 ACK");
	inject_dropped(d, UROCE_DROP_GHOST_RESPONSE, "ACKNOWLEDGE psn +2 NAK 1");
	inject_dropped(d, UROCE_DROP_GHOST_RESPONSE, "ACKNOWLEDGE psn +5 RNR 1");
	expect_no_cqe(d);
	expect_state(d, UROCE_QP_RTS);
	inject(d, "ACKNOWLEDGE psn +1 ACK");
	expect_cqe(d, "write 100 SUCCESS len 64; write 101 SUCCESS len 64");
}

static void old_answers(struct drill *d)
{
	post_writes(d, 3);
	inject(d, "ACKNOWLEDGE psn +1 ACK");
	expect_cqe(d, "write 100 SUCCESS len 64; write 101 SUCCESS len 64");
	inject(d, "ACKNOWLEDGE psn +0 ACK; ACKNOWLEDGE psn +1 ACK");
	inject(d, "ACKNOWLEDGE psn +1 NAK 1; ACKNOWLEDGE psn +0 RNR 1; ACKNOWLEDGE psn +1 NAK 0");
	expect_nothing(d);
	expect_state(d, UROCE_QP_RTS);
	inject(d, "ACKNOWLEDGE psn +2 ACK");
	expect_cqe(d, "write 102 SUCCESS len 64");
}

static void late_after_retry(struct drill *d)
{
	post_writes(d, 3);
	pass(d, TIMEOUT_NS);
	expect(d, WRITE_LINE("+0"));
	/* All three arrive the first time after all: nothing more is sent again. */
	inject(d, "ACKNOWLEDGE psn +2 ACK");
	expect_cqe(d, "write 100 SUCCESS len 64; write 101 SUCCESS len 64");
	expect_cqe(d, "write 102 SUCCESS len 64");
	expect_nothing(d);
	post(d, "WRITE 103 len 64");
	expect(d, WRITE_LINE("+3"));
	inject(d, "ACKNOWLEDGE psn +3 ACK");
	expect_cqe(d, "write 103 SUCCESS len 64");
}

static void late_within_the_retry(struct drill *d)
{
	post(d, "SEND 100 len 1024");
	expect(d,
		"SEND_FIRST psn +0 len 256; SEND_MIDDLE psn +1 len 256; "
		"SEND_MIDDLE psn +2 len 256; SEND_LAST psn +3 ack len 256");
	pass(d, TIMEOUT_NS);
	expect(d, "SEND_FIRST psn +0 len 256");
	inject(d, "ACKNOWLEDGE psn +2 ACK");
	expect(d, "SEND_LAST psn +3 ack len 256");
	inject(d, "ACKNOWLEDGE psn +3 ACK");
	expect_cqe(d, "send 100 SUCCESS len 1024");
}

static void unsignalled(struct drill *d)
{
	struct endpoint_conf conf = drill_conf(d);

	conf.signal_all = false;
	drill_restart(d, &conf);
	post(d, "WRITE 100 len 64");
	post(d, "WRITE 101 len 64 signal");
	post(d, "WRITE 102 len 64");
	post(d, "WRITE 103 len 64");
	expect(d, WRITE_LINE("+0") ";" WRITE_LINE("+1") ";" WRITE_LINE("+2") ";" WRITE_LINE("+3"));
	inject(d, "ACKNOWLEDGE psn +1 ACK");
	expect_cqe(d, "write 101 SUCCESS len 64; nothing");
	/* What goes wrong is always told. */
	inject(d, "ACKNOWLEDGE psn +2 NAK 2");
	expect_cqe(d, "write 102 REM_ACCESS_ERR why 0x62; write 103 WR_FLUSH_ERR");
	expect_ended(d);
}

/* ---- NAKs ---- */

static void nak_table(struct drill *d)
{
	static const struct {
		uint32_t code;
		const char *status;
	} table[] = {{1, "REM_INV_REQ_ERR"}, {2, "REM_ACCESS_ERR"}, {3, "REM_OP_ERR"}};

	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		struct endpoint_conf conf = drill_conf(d);

		drill_restart(d, &conf);
		post_recv(d, 200, 0, 64);
		post_writes(d, 3);
		inject(d, "ACKNOWLEDGE psn +1 NAK %u msn 1", table[i].code);
		expect_cqe(d, "write 100 SUCCESS len 64; write 101 %s why 0x6%u", table[i].status,
			table[i].code);
		expect_cqe(d, "write 102 WR_FLUSH_ERR; recv 200 WR_FLUSH_ERR");
		expect_ended(d);
		expect_number(d, d->ep.qp->report.cause, UROCE_CAUSE_NAK);
		expect_number(d, d->ep.qp->report.detail, 0x60 + table[i].code);
		expect_number(d, d->ep.qp->report.last_syndrome, 0x60 + table[i].code);
		expect_nothing(d);
	}
}

static void unknown_syndromes(struct drill *d)
{
	post_writes(d, 1);
	for (uint32_t syndrome = 0x40; syndrome < 0x100; syndrome++) {
		if (syndrome >= 0x60 && syndrome <= 0x63)
			continue;
		inject_dropped(
			d, UROCE_DROP_RESPONSE_BAD, "ACKNOWLEDGE psn +0 syndrome %u", syndrome);
		expect_state(d, UROCE_QP_RTS);
	}
	expect_no_cqe(d);
	inject(d, "ACKNOWLEDGE psn +0 ACK");
	expect_cqe(d, "write 100 SUCCESS len 64");
}

static void ack_with_payload(struct drill *d)
{
	post_writes(d, 1);
	inject_dropped(d, UROCE_DROP_RESPONSE_BAD, "ACKNOWLEDGE psn +0 ACK len 4");
	inject_dropped(d, UROCE_DROP_RESPONSE_BAD, "ACKNOWLEDGE psn +0 NAK 2 len 4");
	expect_no_cqe(d);
	expect_state(d, UROCE_QP_RTS);
	inject(d, "ACKNOWLEDGE psn +0 ACK");
	expect_cqe(d, "write 100 SUCCESS len 64");
}

static void sequence_nak(struct drill *d)
{
	post_writes(d, 4);
	inject(d, "ACKNOWLEDGE psn +2 NAK 0 msn 2");
	expect_cqe(d, "write 100 SUCCESS len 64; write 101 SUCCESS len 64");
	expect(d, WRITE_LINE("+2") ";" WRITE_LINE("+3"));
	expect_nothing(d);
	expect_number(d, d->ep.core.counters.packet_seq_err, 1);
	expect_number(d, d->ep.core.counters.retransmitted_packets, 2);
	inject(d, "ACKNOWLEDGE psn +3 ACK");
	expect_cqe(d, "write 102 SUCCESS len 64; write 103 SUCCESS len 64");
	/* Only what came since the last progress is told when it ends. */
	expect_number(d, d->ep.qp->report.sequence_naks, 0);
}

/* The message in which it comes is not whole yet: what was sent of it is sent again at once. */
static void sequence_nak_within_a_message(struct drill *d)
{
	post(d, "SEND 100 len 1280");
	expect(d,
		"SEND_FIRST psn +0 len 256; SEND_MIDDLE psn +1 len 256; "
		"SEND_MIDDLE psn +2 len 256");
	inject(d, "ACKNOWLEDGE psn +1 NAK 0");
	expect(d,
		"SEND_MIDDLE psn +1 len 256; SEND_MIDDLE psn +2 len 256; "
		"SEND_MIDDLE psn +3 len 256; SEND_LAST psn +4 ack len 256");
	expect_nothing(d);
	expect_number(d, d->ep.core.counters.retransmitted_packets, 2);
	inject(d, "ACKNOWLEDGE psn +4 ACK");
	expect_cqe(d, "send 100 SUCCESS len 1280");
}

static void same_nak_twice(struct drill *d)
{
	post_writes(d, 2);
	inject(d, "ACKNOWLEDGE psn +0 NAK 0; ACKNOWLEDGE psn +0 NAK 0");
	expect_number(d, d->ep.qp->comp.retries_left, 6);
	expect(d, WRITE_LINE("+0") ";" WRITE_LINE("+1"));
	expect_nothing(d);
	inject(d, "ACKNOWLEDGE psn +1 ACK");
	expect_cqe(d, "write 100 SUCCESS len 64; write 101 SUCCESS len 64");
	expect_number(d, d->ep.qp->comp.retries_left, 7);
}

static void too_many_naks(struct drill *d)
{
	post_writes(d, 2);
	for (int i = 0; i < 7; i++) {
		inject(d, "ACKNOWLEDGE psn +0 NAK 0");
		expect(d, WRITE_LINE("+0") ";" WRITE_LINE("+1"));
	}
	inject(d, "ACKNOWLEDGE psn +0 NAK 0");
	expect_cqe(d, "write 100 RETRY_EXC_ERR why 0x8; write 101 WR_FLUSH_ERR");
	expect_ended(d);
	expect_number(d, d->ep.qp->report.cause, UROCE_CAUSE_SEQUENCE);
}

/* ---- receiver not ready ---- */

static void rnr_table(struct drill *d)
{
	static const uint32_t us_10[32] = {65536, 1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128,
		192, 256, 384, 512, 768, 1024, 1536, 2048, 3072, 4096, 6144, 8192, 12288, 16384,
		24576, 32768, 49152};

	post(d, "SEND 100 len 8");
	expect(d, "SEND_ONLY psn +0 ack len 8");
	for (uint32_t code = 0; code < 32; code++) {
		inject(d, "ACKNOWLEDGE psn +0 RNR %u", code);
		pass(d, us_10[code] * 10 * DRILL_US - 1);
		expect_nothing(d);
		pass(d, 1);
		expect(d, "SEND_ONLY psn +0 ack len 8");
	}
	expect_number(d, d->ep.core.counters.rnr_nak_received, 32);
	inject(d, "ACKNOWLEDGE psn +0 ACK");
	expect_cqe(d, "send 100 SUCCESS len 8");
}

static void rnr_retries(struct drill *d)
{
	for (uint32_t retries = 0; retries < 7; retries++) {
		struct endpoint_conf conf = drill_conf(d);

		conf.attr.rnr_retry = (uint8_t)retries;
		drill_restart(d, &conf);
		post(d, "SEND 100 len 8");
		post(d, "SEND 101 len 8");
		expect(d, "SEND_ONLY psn +0 ack len 8; SEND_ONLY psn +1 ack len 8");
		for (uint32_t i = 0; i < retries; i++) {
			inject(d, "ACKNOWLEDGE psn +0 RNR 1");
			pass(d, 10 * DRILL_US);
			expect(d, "SEND_ONLY psn +0 ack len 8; SEND_ONLY psn +1 ack len 8");
		}
		inject(d, "ACKNOWLEDGE psn +0 RNR 1");
		expect_cqe(d, "send 100 RNR_RETRY_EXC_ERR why 0x%x; send 101 WR_FLUSH_ERR",
			retries + 1);
		expect_ended(d);
		expect_number(d, d->ep.qp->report.cause, UROCE_CAUSE_RNR);
		expect_number(d, d->ep.qp->comp.retries_left, 7);
	}
}

static void rnr_for_ever(struct drill *d)
{
	post(d, "SEND 100 len 8");
	expect(d, "SEND_ONLY psn +0 ack len 8");
	for (uint32_t i = 0; i < 100; i++) {
		inject(d, "ACKNOWLEDGE psn +0 RNR 1");
		/* One timer each, no spinning. */
		expect_nothing(d);
		expect_number(d, uroce_core_next_deadline(&d->ep.core), d->now_ns + 10 * DRILL_US);
		pass(d, 10 * DRILL_US);
		expect(d, "SEND_ONLY psn +0 ack len 8");
	}
	expect_state(d, UROCE_QP_RTS);
	inject(d, "ACKNOWLEDGE psn +0 ACK");
	expect_cqe(d, "send 100 SUCCESS len 8");
}

static void rnr_while_waiting(struct drill *d)
{
	struct endpoint_conf conf = drill_conf(d);

	conf.attr.rnr_retry = 1;
	drill_restart(d, &conf);
	post(d, "SEND 100 len 8");
	expect(d, "SEND_ONLY psn +0 ack len 8");
	inject(d, "ACKNOWLEDGE psn +0 RNR 12; ACKNOWLEDGE psn +0 RNR 12; ACKNOWLEDGE psn +0 NAK 0");
	expect_state(d, UROCE_QP_RTS);
	expect_nothing(d);
	/* New work does not leave before the peer is ready. */
	post(d, "SEND 101 len 8");
	expect_nothing(d);
	pass(d, 640 * DRILL_US);
	expect(d, "SEND_ONLY psn +0 ack len 8; SEND_ONLY psn +1 ack len 8");
	inject(d, "ACKNOWLEDGE psn +1 ACK");
	expect_cqe(d, "send 100 SUCCESS len 8; send 101 SUCCESS len 8");
}

static void rnr_then_progress(struct drill *d)
{
	struct endpoint_conf conf = drill_conf(d);

	conf.attr.rnr_retry = 1;
	drill_restart(d, &conf);
	post(d, "SEND 100 len 8");
	post(d, "SEND 101 len 8");
	expect(d, "SEND_ONLY psn +0 ack len 8; SEND_ONLY psn +1 ack len 8");
	inject(d, "ACKNOWLEDGE psn +0 RNR 1");
	pass(d, 10 * DRILL_US);
	expect(d, "SEND_ONLY psn +0 ack len 8; SEND_ONLY psn +1 ack len 8");
	/* The first is through: the second has its own try. */
	inject(d, "ACKNOWLEDGE psn +1 RNR 1");
	expect_cqe(d, "send 100 SUCCESS len 8");
	expect_number(d, d->ep.qp->report.rnr_naks, 1);
	pass(d, 10 * DRILL_US);
	expect(d, "SEND_ONLY psn +1 ack len 8");
	/* A late acknowledgement ends the waiting. */
	inject(d, "ACKNOWLEDGE psn +1 ACK");
	expect_cqe(d, "send 101 SUCCESS len 8");
	expect_number(d, d->ep.qp->report.rnr_naks, 0);
}

/* ---- timers ---- */

static void timeout_values(struct drill *d)
{
	for (uint8_t code = 1; code < 32; code++) {
		struct endpoint_conf conf = drill_conf(d);

		conf.attr.timeout = code;
		conf.attr.retry_cnt = 1;
		drill_restart(d, &conf);
		post_writes(d, 1);
		pass(d, (4096ull << code) - 1);
		expect_nothing(d);
		pass(d, 1);
		expect(d, WRITE_LINE("+0"));
		pass(d, 4096ull << code);
		expect_cqe(d, "write 100 RETRY_EXC_ERR why 0x2");
		expect_ended(d);
		expect_number(d, d->ep.qp->report.cause, UROCE_CAUSE_TIMEOUT);
		expect_number(d, d->ep.qp->report.timeout_ns, 4096ull << code);
	}
}

static void no_timeout(struct drill *d)
{
	struct endpoint_conf conf = drill_conf(d);

	conf.attr.timeout = 0;
	drill_restart(d, &conf);
	post_writes(d, 1);
	expect_number(d, uroce_core_next_deadline(&d->ep.core), UROCE_TIMER_NEVER);
	pass(d, 86400 * DRILL_S);
	expect_nothing(d);
	inject(d, "ACKNOWLEDGE psn +0 ACK");
	expect_cqe(d, "write 100 SUCCESS len 64");
}

static void retry_counts(struct drill *d)
{
	for (uint8_t retries = 0; retries < 8; retries++) {
		struct endpoint_conf conf = drill_conf(d);

		conf.attr.retry_cnt = retries;
		drill_restart(d, &conf);
		post_recv(d, 200, 0, 64);
		post_writes(d, 2);
		for (uint8_t i = 0; i < retries; i++) {
			pass(d, TIMEOUT_NS);
			expect(d, WRITE_LINE("+0") ";" WRITE_LINE("+1") "; nothing");
		}
		pass(d, TIMEOUT_NS);
		expect_cqe(
			d, "write 100 RETRY_EXC_ERR why 0x%x; write 101 WR_FLUSH_ERR", retries + 1);
		expect_cqe(d, "recv 200 WR_FLUSH_ERR");
		expect_ended(d);
		expect_number(d, d->ep.core.counters.local_ack_timeout_err, retries + 1u);
		expect_number(d, d->ep.core.counters.retry_exceeded_err, 1);
	}
}

static void progress_restores(struct drill *d)
{
	struct endpoint_conf conf = drill_conf(d);

	conf.attr.retry_cnt = 1;
	drill_restart(d, &conf);
	post_writes(d, 3);
	pass(d, TIMEOUT_NS - 1);
	inject(d, "ACKNOWLEDGE psn +0 ACK");
	expect_cqe(d, "write 100 SUCCESS len 64");
	/* The timer starts again with progress. */
	pass(d, TIMEOUT_NS - 1);
	expect_nothing(d);
	pass(d, 1);
	expect(d, WRITE_LINE("+1") ";" WRITE_LINE("+2"));
	inject(d, "ACKNOWLEDGE psn +1 ACK");
	expect_cqe(d, "write 101 SUCCESS len 64");
	/* And so do the retries. An answer that says nothing new is no progress. */
	pass(d, TIMEOUT_NS - 1);
	inject(d, "ACKNOWLEDGE psn +1 ACK; ACKNOWLEDGE psn +0 ACK");
	pass(d, 1);
	expect(d, WRITE_LINE("+2"));
	inject(d, "ACKNOWLEDGE psn +2 ACK");
	expect_cqe(d, "write 102 SUCCESS len 64");
}

static void later_posts_do_not_defer(struct drill *d)
{
	post_writes(d, 1);
	pass(d, TIMEOUT_NS - 1);
	post(d, "WRITE 101 len 64");
	expect(d, WRITE_LINE("+1"));
	pass(d, 1);
	expect(d, WRITE_LINE("+0") ";" WRITE_LINE("+1"));
	inject(d, "ACKNOWLEDGE psn +1 ACK");
	expect_cqe(d, "write 100 SUCCESS len 64; write 101 SUCCESS len 64");
}

static void stalled_host(struct drill *d)
{
	post_writes(d, 4);
	d->now_ns += DRILL_S;
	/* The answers come in full bursts, and the timers are looked at in between. */
	for (uint32_t i = 0; i < 4; i++) {
		inject(d, "ACKNOWLEDGE psn +%u ACK", i);
		uroce_core_expire(&d->ep.core, d->now_ns);
		expect_nothing(d);
		expect_cqe(d, "write %u SUCCESS len 64", 100 + i);
	}
	pass(d, 1);
	expect_nothing(d);
	expect_number(d, d->ep.core.counters.local_ack_timeout_err, 0);
}

static void busy_host(struct drill *d)
{
	post_writes(d, 1);
	/* They are counted from when it was last idle. */
	uroce_core_rx_empty(&d->ep.core, d->now_ns);
	d->now_ns += DRILL_S;
	/* Bursts of nothing are none. */
	for (uint32_t i = 0; i < 8; i++)
		uroce_core_rx(&d->ep.core, d->now_ns, NULL, 0);
	for (uint32_t i = 0; i < 7; i++) {
		inject(d, "RDMA_WRITE_ONLY psn +%u len 0", i);
		uroce_core_expire(&d->ep.core, d->now_ns);
		expect_nothing(d);
	}
	/* Eight bursts without an end: the timer may fire now. */
	inject(d, "RDMA_WRITE_ONLY psn +7 len 0");
	uroce_core_expire(&d->ep.core, d->now_ns);
	expect(d, WRITE_LINE("+0"));
	idle(d);
	expect(d, "ACKNOWLEDGE psn +7 ACK msn 8");
	inject(d, "ACKNOWLEDGE psn +0 ACK");
	expect_cqe(d, "write 100 SUCCESS len 64");
}

/* ---- a work request that fails here, behind others that are on the wire ---- */

static void local_error_waits_for_its_turn(struct drill *d)
{
	post(d, "WRITE 100 len 64");
	post(d, "WRITE 101 len 64 lkey 0xbad00");
	post(d, "WRITE 102 len 64");
	expect(d, WRITE_LINE("+0") "; nothing");
	expect_no_cqe(d);
	inject(d, "ACKNOWLEDGE psn +0 ACK");
	expect_cqe(d, "write 100 SUCCESS len 64; write 101 LOC_PROT_ERR why 0x1");
	expect_cqe(d, "write 102 WR_FLUSH_ERR");
	expect_ended(d);
	expect_number(d, d->ep.qp->report.cause, UROCE_CAUSE_LOCAL_MEMORY);
}

static void loss_before_a_local_error(struct drill *d)
{
	post(d, "WRITE 100 len 64");
	post(d, "WRITE 101 len 64 lkey 0xbad00");
	expect(d, WRITE_LINE("+0") "; nothing");
	pass(d, TIMEOUT_NS);
	expect(d, WRITE_LINE("+0") "; nothing");
	inject(d, "ACKNOWLEDGE psn +0 ACK");
	expect_cqe(d, "write 100 SUCCESS len 64; write 101 LOC_PROT_ERR why 0x1");
	expect_ended(d);
}

static void partial_loss_before_a_local_error(struct drill *d)
{
	post(d, "SEND 100 len 700");
	post(d, "WRITE 101 len 64 lkey 0xbad00");
	expect(d,
		"SEND_FIRST psn +0 len 256; SEND_MIDDLE psn +1 len 256; "
		"SEND_LAST psn +2 ack len 188; nothing");
	inject(d, "ACKNOWLEDGE psn +1 NAK 0");
	expect_state(d, UROCE_QP_RTS);
	expect(d, "SEND_MIDDLE psn +1 len 256; SEND_LAST psn +2 ack len 188; nothing");
	inject(d, "ACKNOWLEDGE psn +1 ACK");
	expect_no_cqe(d);
	inject(d, "ACKNOWLEDGE psn +2 ACK");
	expect_cqe(d, "send 100 SUCCESS len 700; write 101 LOC_PROT_ERR why 0x1");
	expect_ended(d);
}

/* A SEND and, from a region of its own, another; both were sent, and the region is gone. */
static void send_two_and_lose_the_region(struct drill *d, uint32_t bytes)
{
	uint32_t key = endpoint_register(&d->ep, 0x4000, bytes, 0);
	char line[DRILL_TEXT_BYTES];

	post(d, "SEND 100 len 64");
	post(d, "SEND 101 len %u at 0x4000 lkey 0x%x", bytes, key);
	while (drill_next_line(d, line, sizeof(line)))
		;
	pass(d, TIMEOUT_NS);
	expect_number(d, uroce_mr_table_remove(&d->ep.mrs, key), 0);
	/* The first is sent again, the second cannot be. */
	expect(d, "SEND_ONLY psn +0 ack len 64; nothing");
}

/* What was sent whole once may still be acknowledged, and is then no failure. */
static void acknowledged_after_a_local_error(struct drill *d)
{
	send_two_and_lose_the_region(d, 64);
	inject(d, "ACKNOWLEDGE psn +1 ACK");
	expect_cqe(d, "send 100 SUCCESS len 64; send 101 SUCCESS len 64");
	expect_no_cqe(d);
	/* Nor does it become the failure of what comes next. */
	post(d, "SEND 102 len 8");
	expect(d, "SEND_ONLY psn +2 ack len 8");
	inject(d, "ACKNOWLEDGE psn +2 ACK");
	expect_cqe(d, "send 102 SUCCESS len 8");
	expect_state(d, UROCE_QP_RTS);
}

/* In part, the same: the error is met again where the rest begins. */
static void acknowledged_in_part_after_a_local_error(struct drill *d)
{
	send_two_and_lose_the_region(d, 600);
	inject(d, "ACKNOWLEDGE psn +2 ACK");
	expect_cqe(d, "send 100 SUCCESS len 64");
	expect_nothing(d);
	expect_cqe(d, "send 101 LOC_PROT_ERR why 0x1");
	expect_ended(d);
}

static void opcode_for_nobody(struct drill *d)
{
	post(d, "WRITE 100 len 64");
	expect(d, WRITE_LINE("+0"));
	pass(d, TIMEOUT_NS);
	expect(d, WRITE_LINE("+0"));
	drill_to_state(d, UROCE_QP_ERR);
	expect_cqe(d, "write 100 WR_FLUSH_ERR");
	expect_ended(d);
	inject_dropped(d, UROCE_DROP_QP_STATE, "ACKNOWLEDGE psn +0 ACK");
	pass(d, 10 * TIMEOUT_NS);
	expect_nothing(d);
}

static void nak_behind_an_overflow(struct drill *d)
{
	struct endpoint_conf conf = drill_conf(d);

	conf.cqes = 1;
	drill_restart(d, &conf);
	post_writes(d, 4);
	/* The second of the completions that the NAK brings has no room. */
	inject(d, "ACKNOWLEDGE psn +2 NAK 1");
	expect_number(d, d->drop, UROCE_ACCEPTED);
	expect_event(d, "CQ_ERR; QP_FATAL");
	expect_ended(d);
	expect_cqe(d, "write 100 SUCCESS len 64; nothing");
	/* It was for a work request that is flushed by then. */
	expect_number(d, d->ep.core.counters.req_remote_invalid_request, 0);
	expect_number(d, d->ep.qp->report.cause, UROCE_CAUSE_CQ_OVERFLOW);
}

static void errors_are_counted_by_side(struct drill *d)
{
	post_recv(d, 200, 0x1000, 64);
	post_recv(d, 201, 0x1000, 64);
	post_recv(d, 202, 0x1000, 64);
	post_writes(d, 3);
	inject(d, "SEND_ONLY psn +0 len 8; ACKNOWLEDGE psn +0 ACK");
	expect_cqe(d, "recv 200 SUCCESS len 8; write 100 SUCCESS len 64");
	expect_number(d, d->ep.core.counters.req_cqe_error, 0);
	expect_number(d, d->ep.core.counters.resp_cqe_error, 0);
	drill_to_state(d, UROCE_QP_ERR);
	expect_cqe(d, "write 101 WR_FLUSH_ERR; write 102 WR_FLUSH_ERR");
	expect_cqe(d, "recv 201 WR_FLUSH_ERR; recv 202 WR_FLUSH_ERR");
	expect_ended(d);
	expect_number(d, d->ep.core.counters.req_cqe_error, 2);
	expect_number(d, d->ep.core.counters.resp_cqe_error, 2);
	expect_number(d, d->ep.core.counters.messages_sent, 1);
	expect_number(d, d->ep.core.counters.messages_received, 1);
}

int main(void)
{
	static const struct drill_case cases[] = {
		{"one ACK acknowledges everything before it", one_for_all},
		{"an ACK within a message completes nothing yet", within_a_message},
		{"every credit code means continue", any_credits},
		{"the peer's MSN decides nothing", any_msn},
		{"answers to what was never sent are dropped", ghosts},
		{"old answers change nothing", old_answers},
		{"a late ACK after a retry is accepted", late_after_retry},
		{"a late ACK within a retry skips what arrived", late_within_the_retry},
		{"unsignalled work completes only when it fails", unsignalled},
		{"each NAK code has its status", nak_table},
		{"unknown and reserved syndromes are dropped", unknown_syndromes},
		{"an acknowledgement with a payload is dropped", ack_with_payload},
		{"a sequence NAK acknowledges what came before and goes back", sequence_nak},
		{"a sequence NAK within a message goes back at once",
			sequence_nak_within_a_message},
		{"a second NAK for the same gap does nothing", same_nak_twice},
		{"sequence NAKs without end exhaust the retries", too_many_naks},
		{"each RNR code has its time", rnr_table},
		{"RNR retries are counted, and apart from other retries", rnr_retries},
		{"RNR retry 7 is for ever, one timer each", rnr_for_ever},
		{"nothing is sent and nothing counts while waiting for RNR", rnr_while_waiting},
		{"progress restores the RNR retries", rnr_then_progress},
		{"the timeout is 4.096 us * 2^n", timeout_values},
		{"timeout 0 is never", no_timeout},
		{"retry counts 0 to 7 are that many retries", retry_counts},
		{"progress restarts the timer and restores the retries", progress_restores},
		{"later work does not defer the timer of the oldest", later_posts_do_not_defer},
		{"a host that stalled with answers queued sends nothing again", stalled_host},
		{"a host that is never idle still has timers", busy_host},
		{"a local error waits for the work before it", local_error_waits_for_its_turn},
		{"what is lost before a local error is sent again", loss_before_a_local_error},
		{"a local error never hits the work before it", partial_loss_before_a_local_error},
		{"what is acknowledged after a local error is no failure",
			acknowledged_after_a_local_error},
		{"what is acknowledged in part after a local error fails with the rest",
			acknowledged_in_part_after_a_local_error},
		{"after the end nothing is sent or received", opcode_for_nobody},
		{"a NAK behind completions that overflow their queue ends nothing again",
			nak_behind_an_overflow},
		{"completions in error are counted by side", errors_are_counted_by_side},
	};

	return DRILL_SUITE("comp", cases);
}
