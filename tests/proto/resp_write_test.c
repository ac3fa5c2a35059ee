/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * WRITEs at the responder: placement, keys and ranges, lengths, immediate values, refusals.
 *
 * Nothing of a WRITE may be placed before its key, range and right are known to be good for the
 * whole of it, and again for what is left at every packet.
 */
#include "drill.h"

enum {
	RIGHTS = UROCE_ACCESS_LOCAL_WRITE | UROCE_ACCESS_REMOTE_WRITE
};

/* ---- what is right ---- */

static void every_length(struct drill *d)
{
	uint32_t psn = 0;

	for (uint32_t bytes = 0; bytes <= DRILL_MTU; bytes += bytes < 68 ? 1 : 47) {
		inject(d, "RDMA_WRITE_ONLY psn +%u ack va 0x%x len %u fill %u", psn, 0x1000 + bytes,
			bytes, 1 + psn);
		expect(d, "ACKNOWLEDGE psn +%u ACK msn %u", psn, psn + 1);
		expect_memory(d, 0x1000 + bytes, bytes, 1 + psn, 0);
		expect_memory(d, 0x1000 + 2 * bytes, 64, 0, 0x1000 + 2 * bytes);
		psn++;
	}
	expect_memory(d, 0, 0x1000, 0, 0);
}

static void three_packets(struct drill *d)
{
	inject(d,
		"RDMA_WRITE_FIRST psn +0 va 0x1003 dma 601 len 256; "
		"RDMA_WRITE_MIDDLE psn +1 len 256 at 256");
	expect_memory(d, 0x1003, 512, 1, 0);
	expect_memory(d, 0x1203, 256, 0, 0x1203);
	inject(d, "RDMA_WRITE_LAST psn +2 ack len 89 at 512");
	expect(d, "ACKNOWLEDGE psn +2 ACK msn 1");
	expect_memory(d, 0x1003, 601, 1, 0);
	expect_memory(d, 0x125c, 64, 0, 0x125c);
}

static void immediate(struct drill *d)
{
	post_recv(d, 200, 0, 0);
	post_recv(d, 201, 0x3000, 64);
	inject(d, "RDMA_WRITE_ONLY_WITH_IMMEDIATE psn +0 ack se va 0x1000 len 64 imm 77");
	expect(d, "ACKNOWLEDGE psn +0 ACK msn 1");
	expect_cqe(d, "recv_imm 200 SUCCESS len 64 imm 77 se");
	expect_memory(d, 0x1000, 64, 1, 0);
	inject(d,
		"RDMA_WRITE_FIRST psn +1 va 0x2000 dma 300 len 256; "
		"RDMA_WRITE_LAST_WITH_IMMEDIATE psn +2 ack len 44 at 256 imm 0x80000001");
	expect(d, "ACKNOWLEDGE psn +2 ACK msn 2");
	expect_cqe(d, "recv_imm 201 SUCCESS len 300 imm 2147483649");
	expect_memory(d, 0x2000, 300, 1, 0);
	expect_memory(d, 0x3000, 64, 0, 0x3000);
}

static void zero_bytes_need_no_key(struct drill *d)
{
	post_recv(d, 200, 0, 0);
	inject(d, "RDMA_WRITE_ONLY psn +0 ack absva 0xdeadbeef rkey 0x12345678 len 0");
	expect(d, "ACKNOWLEDGE psn +0 ACK msn 1");
	inject(d, "RDMA_WRITE_ONLY_WITH_IMMEDIATE psn +1 ack absva 0 rkey 0 len 0 imm 5");
	expect(d, "ACKNOWLEDGE psn +1 ACK msn 2");
	expect_cqe(d, "recv_imm 200 SUCCESS len 0 imm 5");
}

static void whole_region(struct drill *d)
{
	uint32_t key = endpoint_register(&d->ep, 0x1000, 256, RIGHTS);

	inject(d, "RDMA_WRITE_ONLY psn +0 ack va 0x1000 rkey %u len 256", key);
	expect(d, "ACKNOWLEDGE psn +0 ACK msn 1");
	inject(d, "RDMA_WRITE_ONLY psn +1 ack va 0x10ff rkey %u len 1 fill 3", key);
	expect(d, "ACKNOWLEDGE psn +1 ACK msn 2");
	expect_memory(d, 0x1000, 255, 1, 0);
	expect_memory(d, 0x10ff, 1, 3, 0);
}

/* ---- receiver not ready: at the packet with the immediate value ---- */

static void rnr_only(struct drill *d)
{
	inject_dropped(d, UROCE_DROP_RNR,
		"RDMA_WRITE_ONLY_WITH_IMMEDIATE psn +0 ack va 0x1000 len 64 imm 7");
	expect(d, "ACKNOWLEDGE psn +0 RNR NAK 0.01 ms msn 0");
	expect_memory(d, 0x1000, 64, 0, 0x1000);
	post_recv(d, 200, 0, 0);
	inject(d, "RDMA_WRITE_ONLY_WITH_IMMEDIATE psn +0 ack va 0x1000 len 64 imm 7");
	expect(d, "ACKNOWLEDGE psn +0 ACK msn 1");
	expect_cqe(d, "recv_imm 200 SUCCESS len 64 imm 7");
}

static void rnr_last(struct drill *d)
{
	inject(d, "RDMA_WRITE_FIRST psn +0 va 0x1000 dma 300 len 256");
	inject_dropped(
		d, UROCE_DROP_RNR, "RDMA_WRITE_LAST_WITH_IMMEDIATE psn +1 ack len 44 at 256 imm 7");
	expect(d, "ACKNOWLEDGE psn +1 RNR NAK 0.01 ms msn 0");
	expect_memory(d, 0x1100, 44, 0, 0x1100);
	inject_dropped(d, UROCE_DROP_PSN_AHEAD, "RDMA_WRITE_ONLY psn +2 ack len 0");
	expect_nothing(d);
	post_recv(d, 200, 0, 0);
	inject(d, "RDMA_WRITE_LAST_WITH_IMMEDIATE psn +1 ack len 44 at 256 imm 7");
	expect(d, "ACKNOWLEDGE psn +1 ACK msn 1");
	expect_cqe(d, "recv_imm 200 SUCCESS len 300 imm 7");
	expect_memory(d, 0x1000, 300, 1, 0);
}

/* ---- refusals ---- */

/* A fresh endpoint refuses this WRITE: NAK, event, ERR, posted receive flushed, memory as it was.
 */
static void refused_access(struct drill *d, const char *line, enum uroce_mr_verdict verdict)
{
	inject_dropped(d, UROCE_DROP_REQUEST_REFUSED, "%s", line);
	expect(d, "ACKNOWLEDGE psn +0 NAK remote-access-error msn 0");
	expect_event(d, "QP_ACCESS_ERR");
	expect_ended(d);
	expect_memory(d, 0, DRILL_MEM, 0, 0);
	expect_number(d, d->ep.qp->report.refusal, UROCE_REFUSAL_KEY);
	expect_number(d, d->ep.qp->report.refusal_got, verdict);
	expect_number(d, d->ep.qp->report.status, UROCE_STATUS_REM_ACCESS_ERR);
	expect_number(d, d->ep.core.counters.resp_remote_access_errors, 1);
}

static void again(struct drill *d)
{
	struct endpoint_conf conf = drill_conf(d);

	drill_restart(d, &conf);
}

static void bad_keys(struct drill *d)
{
	char line[DRILL_TEXT_BYTES];
	uint32_t key;

	refused_access(d, "RDMA_WRITE_ONLY psn +0 rkey 0xdead00 len 8", UROCE_MR_NO_KEY);
	again(d);
	refused_access(d, "RDMA_WRITE_ONLY psn +0 rkey 0 len 8", UROCE_MR_NO_KEY);
	again(d);
	snprintf(line, sizeof(line), "RDMA_WRITE_ONLY psn +0 rkey %u len 8", d->ep.key ^ 1);
	refused_access(d, line, UROCE_MR_NO_KEY);
	again(d);
	key = endpoint_register(&d->ep, 0, 64, UROCE_ACCESS_LOCAL_WRITE | UROCE_ACCESS_REMOTE_READ);
	snprintf(line, sizeof(line), "RDMA_WRITE_ONLY psn +0 rkey %u len 8", key);
	refused_access(d, line, UROCE_MR_NO_RIGHT);
	again(d);
	d->ep.qp->pd++;
	refused_access(d, "RDMA_WRITE_ONLY psn +0 len 8", UROCE_MR_WRONG_PD);
}

static void bad_ranges(struct drill *d)
{
	static const char *const lines[] = {
		"RDMA_WRITE_ONLY psn +0 va -1 len 8",
		"RDMA_WRITE_ONLY psn +0 va 0xfff9 len 8",
		"RDMA_WRITE_ONLY psn +0 va 0x10000 len 8",
		"RDMA_WRITE_ONLY psn +0 va 0x10001 len 8",
		"RDMA_WRITE_ONLY psn +0 absva 0 len 8",
		"RDMA_WRITE_ONLY psn +0 absva 0xffffffffffffffff len 8",
		/* The first packet would fit, the whole would not. */
		"RDMA_WRITE_FIRST psn +0 va 0xff00 dma 257 len 256",
		"RDMA_WRITE_FIRST psn +0 va 0 dma 0x80000000 len 256",
	};

	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		again(d);
		refused_access(d, lines[i], UROCE_MR_RANGE);
	}
}

static void region_vanishes(struct drill *d)
{
	uint32_t key = endpoint_register(&d->ep, 0x1000, 0x1000, RIGHTS);

	inject(d, "RDMA_WRITE_FIRST psn +0 va 0x1000 rkey %u dma 768 len 256", key);
	expect_number(d, uroce_mr_table_remove(&d->ep.mrs, key), 0);
	inject_dropped(d, UROCE_DROP_REQUEST_REFUSED, "RDMA_WRITE_MIDDLE psn +1 len 256 at 256");
	expect(d, "ACKNOWLEDGE psn +1 NAK remote-access-error msn 0");
	expect_event(d, "QP_ACCESS_ERR");
	expect_ended(d);
	expect_memory(d, 0x1000, 256, 1, 0);
	expect_memory(d, 0x1100, 512, 0, 0x1100);
}

/* A fresh endpoint finds this request invalid. */
static void refused_invalid(struct drill *d, const char *line, enum uroce_refusal refusal)
{
	again(d);
	inject_dropped(d, UROCE_DROP_REQUEST_REFUSED, "%s", line);
	expect(d, "ACKNOWLEDGE psn +0 NAK invalid-request msn 0");
	expect_event(d, "QP_REQ_ERR");
	expect_ended(d);
	expect_memory(d, 0, DRILL_MEM, 0, 0);
	expect_number(d, d->ep.qp->report.refusal, refusal);
	expect_number(d, d->ep.core.counters.resp_remote_invalid_request, 1);
}

static void bad_lengths(struct drill *d)
{
	refused_invalid(d, "RDMA_WRITE_ONLY psn +0 dma 7 len 8", UROCE_REFUSAL_LENGTH);
	refused_invalid(d, "RDMA_WRITE_ONLY psn +0 dma 9 len 8", UROCE_REFUSAL_LENGTH);
	refused_invalid(d, "RDMA_WRITE_ONLY psn +0 dma 1 len 0", UROCE_REFUSAL_LENGTH);
	refused_invalid(d, "RDMA_WRITE_ONLY psn +0 dma 0 len 1", UROCE_REFUSAL_LENGTH);
	refused_invalid(d, "RDMA_WRITE_ONLY psn +0 len 257", UROCE_REFUSAL_MTU);
	refused_invalid(d, "RDMA_WRITE_FIRST psn +0 dma 256 len 256", UROCE_REFUSAL_LENGTH);
	refused_invalid(d, "RDMA_WRITE_FIRST psn +0 dma 0 len 256", UROCE_REFUSAL_LENGTH);
	refused_invalid(d, "RDMA_WRITE_FIRST psn +0 dma 600 len 252", UROCE_REFUSAL_MTU);
	refused_invalid(d, "RDMA_WRITE_FIRST psn +0 dma 600 len 260", UROCE_REFUSAL_MTU);
	refused_invalid(
		d, "RDMA_WRITE_FIRST psn +0 dma 0x80000001 len 256", UROCE_REFUSAL_TOO_LONG);
	refused_invalid(
		d, "RDMA_WRITE_FIRST psn +0 dma 0xffffffff len 256", UROCE_REFUSAL_TOO_LONG);
	refused_invalid(d, "RDMA_WRITE_ONLY psn +0 len 6 pad 0", UROCE_REFUSAL_PAD);
	refused_invalid(d, "RDMA_WRITE_ONLY psn +0 len 6 pad 3", UROCE_REFUSAL_PAD);
}

static void no_first(struct drill *d)
{
	refused_invalid(d, "RDMA_WRITE_MIDDLE psn +0 len 256", UROCE_REFUSAL_SEQUENCE);
	refused_invalid(d, "RDMA_WRITE_LAST psn +0 len 8", UROCE_REFUSAL_SEQUENCE);
	refused_invalid(d, "RDMA_WRITE_LAST_WITH_IMMEDIATE psn +0 len 8", UROCE_REFUSAL_SEQUENCE);
}

/* The second packet of a WRITE of 600 bytes is not what has to follow. */
static void refused_within(struct drill *d, const char *line, enum uroce_refusal refusal)
{
	again(d);
	post_recv(d, 200, 0x3000, 64);
	inject(d, "RDMA_WRITE_FIRST psn +0 va 0x1000 dma 600 len 256");
	inject_dropped(d, UROCE_DROP_REQUEST_REFUSED, "%s", line);
	expect(d, "ACKNOWLEDGE psn +1 NAK invalid-request msn 0");
	expect_event(d, "QP_REQ_ERR");
	expect_cqe(d, "recv 200 WR_FLUSH_ERR");
	expect_ended(d);
	expect_memory(d, 0x1100, 512, 0, 0x1100);
	expect_number(d, d->ep.qp->report.refusal, refusal);
}

static void wrong_second(struct drill *d)
{
	refused_within(d, "RDMA_WRITE_FIRST psn +1 dma 600 len 256", UROCE_REFUSAL_SEQUENCE);
	refused_within(d, "RDMA_WRITE_ONLY psn +1 len 8", UROCE_REFUSAL_SEQUENCE);
	refused_within(d, "SEND_MIDDLE psn +1 len 256", UROCE_REFUSAL_SEQUENCE);
	refused_within(d, "SEND_LAST psn +1 len 8", UROCE_REFUSAL_SEQUENCE);
	refused_within(d, "SEND_ONLY psn +1 len 8", UROCE_REFUSAL_SEQUENCE);
	refused_within(d, "RDMA_READ_REQUEST psn +1 dma 8", UROCE_REFUSAL_SEQUENCE);
	refused_within(d, "COMPARE_SWAP psn +1", UROCE_REFUSAL_SEQUENCE);
	refused_within(d, "RDMA_WRITE_MIDDLE psn +1 len 255", UROCE_REFUSAL_MTU);
	refused_within(d, "RDMA_WRITE_LAST psn +1 len 0", UROCE_REFUSAL_LENGTH);
	refused_within(d, "RDMA_WRITE_LAST psn +1 len 88", UROCE_REFUSAL_LENGTH);
	refused_within(d, "RDMA_WRITE_LAST psn +1 len 256", UROCE_REFUSAL_LENGTH);
}

/* The last packets of a WRITE of 512 bytes come one too many or too few. */
static void wrong_end(struct drill *d)
{
	static const char *const lines[] = {
		"RDMA_WRITE_MIDDLE psn +1 len 256",
		"RDMA_WRITE_LAST psn +1 len 255",
		"RDMA_WRITE_LAST psn +1 len 257",
	};

	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		again(d);
		inject(d, "RDMA_WRITE_FIRST psn +0 va 0x1000 dma 512 len 256");
		inject_dropped(d, UROCE_DROP_REQUEST_REFUSED, "%s", lines[i]);
		expect(d, "ACKNOWLEDGE psn +1 NAK invalid-request msn 0");
		expect_event(d, "QP_REQ_ERR");
		expect_ended(d);
		expect_memory(d, 0x1100, 512, 0, 0x1100);
	}
}

static void not_allowed(struct drill *d)
{
	struct endpoint_conf conf = drill_conf(d);

	conf.access = UROCE_ACCESS_REMOTE_READ | UROCE_ACCESS_REMOTE_ATOMIC;
	drill_restart(d, &conf);
	inject_dropped(d, UROCE_DROP_REQUEST_REFUSED, "RDMA_WRITE_ONLY psn +0 len 8");
	expect(d, "ACKNOWLEDGE psn +0 NAK invalid-request msn 0");
	expect_event(d, "QP_REQ_ERR");
	expect_ended(d);
	expect_memory(d, 0, DRILL_MEM, 0, 0);
	expect_number(d, d->ep.qp->report.refusal, UROCE_REFUSAL_NOT_ALLOWED);
}

static void duplicate(struct drill *d)
{
	inject(d, "RDMA_WRITE_ONLY psn +0 ack va 0x1000 len 64");
	expect(d, "ACKNOWLEDGE psn +0 ACK msn 1");
	inject(d, "RDMA_WRITE_ONLY psn +0 va 0x1000 len 64 fill 9");
	expect(d, "ACKNOWLEDGE psn +0 ACK msn 1");
	expect_memory(d, 0x1000, 64, 1, 0);
	/* Not looked at closely either: it was executed when it was good. */
	inject(d, "RDMA_WRITE_ONLY psn +0 rkey 0xbad00 len 64");
	expect(d, "ACKNOWLEDGE psn +0 ACK msn 1");
	expect_state(d, UROCE_QP_RTS);
}

int main(void)
{
	static const struct drill_case cases[] = {
		{"WRITEs of every length and alignment place exactly their bytes", every_length},
		{"a WRITE of three packets is placed packet by packet", three_packets},
		{"a WRITE with immediate takes a receive and leaves its memory alone", immediate},
		{"a WRITE of no bytes needs no key", zero_bytes_need_no_key},
		{"a WRITE may reach both edges of its region", whole_region},
		{"a WRITE with immediate without a receive places nothing", rnr_only},
		{"a long WRITE with immediate waits for a receive at its last packet", rnr_last},
		{"rdma-unit-test: a WRITE with a bad key, right or domain is refused", bad_keys},
		{"a WRITE outside its region is refused as a whole", bad_ranges},
		{"a region that vanishes within a WRITE ends it", region_vanishes},
		{"lengths that do not agree are refused", bad_lengths},
		{"MIDDLE and LAST without FIRST are refused", no_first},
		{"what does not continue a WRITE is refused", wrong_second},
		{"a WRITE that does not end where it said is refused", wrong_end},
		{"a WRITE that the queue pair does not allow is refused", not_allowed},
		{"a WRITE that comes twice is executed once and acknowledged again", duplicate},
	};

	return DRILL_SUITE("resp_write", cases);
}
