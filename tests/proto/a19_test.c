/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * FLUSH and ATOMIC WRITE (InfiniBand annex A19), both directions, and as literal bytes.
 *
 * Both are single packets that count among reads and atomics, are executed once, and are answered
 * by a READ RESPONSE ONLY of no bytes.
 */
#include <string.h>

#include "drill.h"

/* ---- requester ---- */

static void atomic_write_goes_out(struct drill *d)
{
	post(d, "ATOMIC_WRITE 100 at 0x2000 raddr 0x8888");
	expect(d, "ATOMIC_WRITE psn +0 ack va 0x8888 rkey 0x00000abc dma_len 8 len 8");
	expect_payload(d, 0, 0x2000);
	expect_no_cqe(d);
	inject(d, "RDMA_READ_RESPONSE_ONLY psn +0 ACK len 0");
	expect_cqe(d, "atomic_write 100 SUCCESS len 8");
}

static void flush_goes_out(struct drill *d)
{
	post(d, "FLUSH 100 imm 1 bytes 5000 raddr 0x7000");
	expect(d, "FLUSH psn +0 ack type 1 level 0 va 0x7000 rkey 0x00000abc dma_len 5000");
	inject(d, "RDMA_READ_RESPONSE_ONLY psn +0 ACK len 0");
	expect_cqe(d, "flush 100 SUCCESS len 5000");
	post(d, "FLUSH 101 imm 0x11 bytes 0 raddr 0x7000");
	expect(d, "FLUSH psn +1 ack type 1 level 1 va 0x7000 rkey 0x00000abc dma_len 0");
	inject(d, "RDMA_READ_RESPONSE_ONLY psn +1 ACK len 0");
	expect_cqe(d, "flush 101 SUCCESS len 0");
}

static void an_ack_does_not_complete_them(struct drill *d)
{
	post(d, "WRITE 100 len 4");
	post(d, "FLUSH 101 imm 1 bytes 4");
	post(d, "ATOMIC_WRITE 102");
	expect(d,
		"RDMA_WRITE_ONLY psn +0 ack va 0x1000 rkey 0x00000abc dma_len 4 len 4; "
		"FLUSH psn +1 ack type 1 level 0 va 0x1000 rkey 0x00000abc dma_len 4; "
		"ATOMIC_WRITE psn +2 ack va 0x1000 rkey 0x00000abc dma_len 8 len 8");
	inject_dropped(d, UROCE_DROP_RESPONSE_GAP, "ACKNOWLEDGE psn +2 ACK");
	expect_cqe(d, "write 100 SUCCESS len 4");
	expect(d,
		"FLUSH psn +1 ack type 1 level 0 va 0x1000 rkey 0x00000abc dma_len 4; "
		"ATOMIC_WRITE psn +2 ack va 0x1000 rkey 0x00000abc dma_len 8 len 8");
	/* An answer to the second is none to the first. */
	inject_dropped(d, UROCE_DROP_RESPONSE_GAP, "RDMA_READ_RESPONSE_ONLY psn +2 ACK len 0");
	inject(d, "RDMA_READ_RESPONSE_ONLY psn +1 ACK len 0");
	expect_cqe(d, "flush 101 SUCCESS len 4");
	inject(d, "RDMA_READ_RESPONSE_ONLY psn +2 ACK len 0");
	expect_cqe(d, "atomic_write 102 SUCCESS len 8");
}

static void answers_that_do_not_fit(struct drill *d)
{
	static const char *const answers[] = {"RDMA_READ_RESPONSE_ONLY psn +0 ACK len 4",
		"RDMA_READ_RESPONSE_FIRST psn +0 ACK len 0", "ATOMIC_ACKNOWLEDGE psn +0 ACK orig 0",
		"RDMA_READ_RESPONSE_MIDDLE psn +0 len 0",
		"RDMA_READ_RESPONSE_ONLY psn +0 NAK 1 len 0"};

	for (size_t i = 0; i < sizeof(answers) / sizeof(answers[0]); i++) {
		struct endpoint_conf conf = drill_conf(d);
		struct uroce_cqe cqe;

		drill_restart(d, &conf);
		post(d, "FLUSH 100 imm 1 bytes 4");
		expect(d, "FLUSH psn +0 ack type 1 level 0 va 0x1000 rkey 0x00000abc dma_len 4");
		inject_dropped(d, UROCE_DROP_RESPONSE_BAD, "%s", answers[i]);
		expect_number(d, endpoint_poll(&d->ep, &cqe, 1), 1);
		expect_number(d, cqe.status, UROCE_STATUS_BAD_RESP_ERR);
		expect_ended(d);
	}
}

static void they_count_among_reads(struct drill *d)
{
	struct endpoint_conf conf = drill_conf(d);

	conf.attr.max_rd_atomic = 1;
	drill_restart(d, &conf);
	post(d, "ATOMIC_WRITE 100");
	post(d, "FLUSH 101 imm 1 bytes 4");
	post(d, "READ 102 len 4");
	expect(d, "ATOMIC_WRITE psn +0 ack va 0x1000 rkey 0x00000abc dma_len 8 len 8");
	expect_nothing(d);
	inject(d, "RDMA_READ_RESPONSE_ONLY psn +0 ACK len 0");
	expect(d, "FLUSH psn +1 ack type 1 level 0 va 0x1000 rkey 0x00000abc dma_len 4");
	expect_nothing(d);
	inject(d, "RDMA_READ_RESPONSE_ONLY psn +1 ACK len 0");
	expect(d, "RDMA_READ_REQUEST psn +2 ack va 0x1000 rkey 0x00000abc dma_len 4");
	inject(d, "RDMA_READ_RESPONSE_ONLY psn +2 ACK len 4");
	expect_cqe(d,
		"atomic_write 100 SUCCESS len 8; flush 101 SUCCESS len 4; read 102 SUCCESS len 4");
}

static void lengths_are_checked(struct drill *d)
{
	static const char *const wrs[] = {
		"ATOMIC_WRITE 100 len 7", "ATOMIC_WRITE 100 len 9", "FLUSH 100 len 8 imm 1"};

	for (size_t i = 0; i < sizeof(wrs) / sizeof(wrs[0]); i++) {
		struct endpoint_conf conf = drill_conf(d);
		struct uroce_cqe cqe;

		drill_restart(d, &conf);
		post(d, "%s", wrs[i]);
		expect_nothing(d);
		expect_number(d, endpoint_poll(&d->ep, &cqe, 1), 1);
		expect_number(d, cqe.status, UROCE_STATUS_LOC_QP_OP_ERR);
		expect_ended(d);
	}
}

/* ---- responder ---- */

static void atomic_write_is_executed_once(struct drill *d)
{
	inject(d, "ATOMIC_WRITE psn +0 ack va 0x2000 len 8 fill 3");
	expect(d, "RDMA_READ_RESPONSE_ONLY psn +0 ACK msn 1 len 0");
	expect_memory(d, 0x2000, 8, 3, 0);
	inject(d, "RDMA_WRITE_ONLY psn +1 ack va 0x2000 len 8 fill 4");
	expect(d, "ACKNOWLEDGE psn +1 ACK msn 2");
	/* A repeat is answered, and does not undo the write. */
	inject(d, "ATOMIC_WRITE psn +0 ack va 0x2000 len 8 fill 3");
	expect(d, "RDMA_READ_RESPONSE_ONLY psn +0 ACK msn 2 len 0");
	expect_memory(d, 0x2000, 8, 4, 0);
	/* Something else under its PSN is not remembered. */
	inject_dropped(d, UROCE_DROP_READ_NOT_REMEMBERED, "ATOMIC_WRITE psn +0 va 0x2008 len 8");
	inject_dropped(
		d, UROCE_DROP_READ_NOT_REMEMBERED, "ATOMIC_WRITE psn +0 va 0x2000 rkey 5 len 8");
	inject_dropped(d, UROCE_DROP_READ_NOT_REMEMBERED, "FLUSH psn +0 va 0x2000 dma 8");
	inject_dropped(d, UROCE_DROP_READ_NOT_REMEMBERED, "RDMA_READ_REQUEST psn +0 va 0x2000");
	inject_dropped(d, UROCE_DROP_READ_NOT_REMEMBERED, "FETCH_ADD psn +0 va 0x2000");
}

/* A frame that may not be, and what it is told; "invalid-request" or a key's fault. */
struct refusal {
	const char *frame, *nak;
	enum uroce_refusal reason;
};

static void refused_anew(struct drill *d, const struct refusal *refusal)
{
	struct endpoint_conf conf = drill_conf(d);

	drill_restart(d, &conf);
	inject_dropped(d, UROCE_DROP_REQUEST_REFUSED, "%s", refusal->frame);
	expect(d, "ACKNOWLEDGE psn +0 NAK %s msn 0", refusal->nak);
	expect_event(d, refusal->nak[0] == 'i' ? "QP_REQ_ERR" : "QP_ACCESS_ERR");
	expect_ended(d);
	expect_number(d, d->ep.qp->report.refusal, refusal->reason);
}

static void atomic_writes_that_may_not_be(struct drill *d)
{
	static const struct refusal bad[] = {
		{"ATOMIC_WRITE psn +0 ack va 0x2004 len 8", "invalid-request",
			UROCE_REFUSAL_MISALIGNED},
		{"ATOMIC_WRITE psn +0 ack va 0x2000 len 4", "invalid-request",
			UROCE_REFUSAL_LENGTH},
		{"ATOMIC_WRITE psn +0 ack va 0x2000 len 8 dma 16", "invalid-request",
			UROCE_REFUSAL_LENGTH},
		{"ATOMIC_WRITE psn +0 ack va 0x2000 len 16 dma 8", "invalid-request",
			UROCE_REFUSAL_LENGTH},
		{"ATOMIC_WRITE psn +0 ack va 0x2000 rkey 5 len 8", "remote-access-error",
			UROCE_REFUSAL_KEY},
		{"ATOMIC_WRITE psn +0 ack va 0x10000 len 8", "remote-access-error",
			UROCE_REFUSAL_KEY},
	};

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		refused_anew(d, &bad[i]);
		expect_memory(d, 0, DRILL_MEM, 0, 0);
	}
}

static void rights_of_the_queue_pair(struct drill *d)
{
	static const char *const frames[] = {
		"ATOMIC_WRITE psn +0 ack va 0x2000 len 8", "FLUSH psn +0 ack va 0x2000 dma 8"};
	static const uint32_t other[] = {
		UROCE_ACCESS_REMOTE_READ | UROCE_ACCESS_REMOTE_ATOMIC | UROCE_ACCESS_FLUSH_GLOBAL,
		UROCE_ACCESS_REMOTE_READ | UROCE_ACCESS_REMOTE_ATOMIC | UROCE_ACCESS_REMOTE_WRITE};

	for (size_t i = 0; i < 2; i++) {
		struct endpoint_conf conf = drill_conf(d);

		conf.access = other[i];
		drill_restart(d, &conf);
		inject_dropped(d, UROCE_DROP_REQUEST_REFUSED, "%s", frames[i]);
		expect(d, "ACKNOWLEDGE psn +0 NAK invalid-request msn 0");
		expect_event(d, "QP_REQ_ERR");
		expect_ended(d);
		expect_number(d, d->ep.qp->report.refusal, UROCE_REFUSAL_NOT_ALLOWED);
	}
}

static void flushes_are_answered(struct drill *d)
{
	inject(d,
		"RDMA_WRITE_ONLY psn +0 va 0x2000 len 8 fill 3; FLUSH psn +1 ack va 0x2000 dma 8");
	expect(d, "RDMA_READ_RESPONSE_ONLY psn +1 ACK msn 2 len 0");
	inject(d, "FLUSH psn +2 ack level 1 absva 1 dma 0xffffffff");
	expect(d, "RDMA_READ_RESPONSE_ONLY psn +2 ACK msn 3 len 0");
	/* A range of nothing, still under a key that must be good. */
	inject(d, "FLUSH psn +3 ack va 0x10000 dma 0");
	expect(d, "RDMA_READ_RESPONSE_ONLY psn +3 ACK msn 4 len 0");
	/* A repeat is answered again. */
	inject(d, "FLUSH psn +1 ack va 0x2000 dma 8");
	expect(d, "RDMA_READ_RESPONSE_ONLY psn +1 ACK msn 4 len 0");
}

static void flushes_that_may_not_be(struct drill *d)
{
	static const struct refusal bad[] = {
		{"FLUSH psn +0 ack type 2 va 0x2000 dma 8", "invalid-request",
			UROCE_REFUSAL_NOT_ALLOWED},
		{"FLUSH psn +0 ack type 3 va 0x2000 dma 8", "invalid-request",
			UROCE_REFUSAL_NOT_ALLOWED},
		{"FLUSH psn +0 ack type 0 va 0x2000 dma 8", "invalid-request",
			UROCE_REFUSAL_NOT_ALLOWED},
		{"FLUSH psn +0 ack level 2 va 0x2000 dma 8", "invalid-request",
			UROCE_REFUSAL_NOT_ALLOWED},
		{"FLUSH psn +0 ack va 0x2000 dma 8 len 4", "invalid-request", UROCE_REFUSAL_LENGTH},
		{"FLUSH psn +0 ack va 0x2000 rkey 5 dma 8", "remote-access-error",
			UROCE_REFUSAL_KEY},
		{"FLUSH psn +0 ack level 1 va 0x2000 rkey 5 dma 8", "remote-access-error",
			UROCE_REFUSAL_KEY},
		{"FLUSH psn +0 ack va 0xfffc dma 8", "remote-access-error", UROCE_REFUSAL_KEY},
	};

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		refused_anew(d, &bad[i]);
}

static void flush_needs_the_regions_right(struct drill *d)
{
	uint32_t key = endpoint_register(&d->ep, 0, 4096,
		UROCE_ACCESS_LOCAL_WRITE | UROCE_ACCESS_REMOTE_WRITE | UROCE_ACCESS_REMOTE_READ |
			UROCE_ACCESS_REMOTE_ATOMIC);

	inject_dropped(d, UROCE_DROP_REQUEST_REFUSED, "FLUSH psn +0 ack va 0 rkey %u dma 8", key);
	expect(d, "ACKNOWLEDGE psn +0 NAK remote-access-error msn 0");
	expect_event(d, "QP_ACCESS_ERR");
	expect_ended(d);
}

static void too_many_are_refused(struct drill *d)
{
	struct endpoint_conf conf = drill_conf(d);

	conf.attr.max_dest_rd_atomic = 2;
	drill_restart(d, &conf);
	inject(d,
		"ATOMIC_WRITE psn +0 va 0x2000 len 8; FLUSH psn +1 va 0x2000 dma 8; "
		"ATOMIC_WRITE psn +2 va 0x2008 len 8");
	expect(d,
		"RDMA_READ_RESPONSE_ONLY psn +0 ACK msn 2 len 0; "
		"RDMA_READ_RESPONSE_ONLY psn +1 ACK msn 2 len 0; "
		"ACKNOWLEDGE psn +2 NAK invalid-request msn 2");
	expect_event(d, "QP_REQ_ERR");
	expect_ended(d);
}

/* ---- literal bytes ---- */

/* Annex A19: 0x1c, FETH {type 1, level 0}, RETH {va, rkey, length}; 0x1d, RETH, eight bytes. */
static void bytes_are_the_annexs(struct drill *d)
{
	static const uint8_t flush[] = {0x1c, 0x40, 0xff, 0xff, 0, 0, 0, 0x22, 0x80};
	static const uint8_t flush_ext[] = {0, 0, 0, 1, 0x01, 0x02, 0x03, 0x04, 0x05, 0x06, 0x07,
		0x08, 0xaa, 0xbb, 0xcc, 0xdd, 0, 0, 0x13, 0x88};
	static const uint8_t write[] = {0x1d, 0x40, 0xff, 0xff, 0, 0, 0, 0x22, 0x80};
	static const uint8_t write_ext[] = {
		0x01, 0x02, 0x03, 0x04, 0x05, 0x06, 0x07, 0x08, 0xaa, 0xbb, 0xcc, 0xdd, 0, 0, 0, 8};

	post(d, "FLUSH 100 imm 1 bytes 5000 raddr 0x0102030405060708 rkey 0xaabbccdd");
	post(d, "ATOMIC_WRITE 101 at 0x2000 raddr 0x0102030405060708 rkey 0xaabbccdd");
	expect_number(d, drill_next_line(d, (char[DRILL_TEXT_BYTES]){0}, DRILL_TEXT_BYTES), true);
	expect_number(d, d->frame_bytes, 42 + 12 + 20 + 4);
	expect_number(d, memcmp(d->frame + 42, flush, sizeof(flush)), 0);
	expect_number(d, memcmp(d->frame + 54, flush_ext, sizeof(flush_ext)), 0);
	expect_number(d, drill_next_line(d, (char[DRILL_TEXT_BYTES]){0}, DRILL_TEXT_BYTES), true);
	expect_number(d, d->frame_bytes, 42 + 12 + 16 + 8 + 4);
	expect_number(d, memcmp(d->frame + 42, write, sizeof(write)), 0);
	expect_number(d, memcmp(d->frame + 54, write_ext, sizeof(write_ext)), 0);
	expect_number(d, memcmp(d->frame + 70, d->ep.mem + 0x2000, 8), 0);
	drill_to_state(d, UROCE_QP_ERR);
	expect_cqe(d, "flush 100 WR_FLUSH_ERR; atomic_write 101 WR_FLUSH_ERR");
	expect_ended(d);
}

int main(void)
{
	static const struct drill_case cases[] = {
		{"an ATOMIC WRITE goes out, and its answer completes it", atomic_write_goes_out},
		{"a FLUSH goes out, and its answer completes it", flush_goes_out},
		{"an acknowledgement does not complete them", an_ack_does_not_complete_them},
		{"answers that do not fit end the connection", answers_that_do_not_fit},
		{"they count among reads and atomics", they_count_among_reads},
		{"their lengths are checked", lengths_are_checked},
		{"an ATOMIC WRITE is executed once", atomic_write_is_executed_once},
		{"ATOMIC WRITEs that may not be are refused", atomic_writes_that_may_not_be},
		{"both need the queue pair's right", rights_of_the_queue_pair},
		{"FLUSHes are answered", flushes_are_answered},
		{"FLUSHes that may not be are refused", flushes_that_may_not_be},
		{"a FLUSH needs the region's right", flush_needs_the_regions_right},
		{"more than agreed are refused", too_many_are_refused},
		{"their bytes are those of the annex", bytes_are_the_annexs},
	};

	return DRILL_SUITE("a19", cases);
}
