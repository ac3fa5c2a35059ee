/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * An application that writes where and what it must not.
 *
 * The rings are its memory, so anything may stand in them, at any time: the core must not read or
 * write out of bounds, not loop, and not take the application's word for a length. What cannot be
 * carried out completes in error; what makes no sense is ignored. Run under the address sanitizer.
 */
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "drill.h"

enum {
	CPU_SECONDS = 4
};

/* Puts raw bytes where the next entry of the send ring goes, and rings. */
static void post_raw(struct drill *d, const void *bytes, size_t n)
{
	void *entry = uroce_ring_reserve(&d->ep.qp->send_ring);

	memcpy(entry, bytes, n);
	uroce_ring_advance(&d->ep.qp->send_ring);
	uroce_ring_publish_seq(&d->ep.qp->send_ring);
	uroce_bell_ring(&d->ep.core.bells, &d->ep.qp->bell);
}

static void again(struct drill *d)
{
	struct endpoint_conf conf = drill_conf(d);

	drill_restart(d, &conf);
}

static void bad_opcodes(struct drill *d)
{
	for (uint32_t opcode = 0; opcode < 256; opcode++) {
		struct uroce_send_wqe wqe = {.wr_id = 100, .opcode = (uint8_t)opcode};

		if (opcode <= 9 || opcode == 14 || opcode == 15 || opcode == 32)
			continue;
		again(d);
		post_raw(d, &wqe, sizeof(wqe));
		expect_nothing(d);
		expect_cqe(d, "send 100 LOC_QP_OP_ERR");
		expect_ended(d);
		expect_number(d, d->ep.qp->report.cause, UROCE_CAUSE_MALFORMED_WQE);
	}
}

static void too_many_segments(struct drill *d)
{
	static const uint16_t nums[] = {17, 18, 255, 256, 4096, 65535};

	for (size_t i = 0; i < sizeof(nums) / sizeof(nums[0]); i++) {
		struct uroce_send_wqe wqe = {
			.wr_id = 100, .opcode = UROCE_WR_SEND, .num_segs = nums[i]};

		again(d);
		post_raw(d, &wqe, sizeof(wqe));
		expect_nothing(d);
		expect_cqe(d, "send 100 LOC_QP_OP_ERR");
		expect_ended(d);
	}
}

static void too_much_inline(struct drill *d)
{
	static const uint32_t nums[] = {257, 512, 65536, 0x7fffffff, 0xffffffff};

	for (size_t i = 0; i < sizeof(nums) / sizeof(nums[0]); i++) {
		struct uroce_send_wqe wqe = {.wr_id = 100,
			.opcode = UROCE_WR_SEND,
			.flags = UROCE_SEND_INLINE,
			.bytes = nums[i]};

		again(d);
		post_raw(d, &wqe, sizeof(wqe));
		expect_nothing(d);
		expect_cqe(d, "send 100 LOC_QP_OP_ERR");
		expect_ended(d);
	}
}

static void lengths_that_lie(struct drill *d)
{
	struct {
		struct uroce_send_wqe wqe;
		struct uroce_seg seg;
	} entry = {.wqe = {.wr_id = 100, .opcode = UROCE_WR_SEND, .num_segs = 1, .bytes = 60000},
		.seg = {(uintptr_t)d->ep.mem, 8, d->ep.key}};

	/* What counts is the sum of the segments. */
	post_raw(d, &entry, sizeof(entry));
	expect(d, "SEND_ONLY psn +0 ack len 8");
	entry.wqe.wr_id = 101;
	entry.wqe.opcode = UROCE_WR_RDMA_READ;
	entry.wqe.bytes = 0xffffffff;
	post_raw(d, &entry, sizeof(entry));
	expect(d, "RDMA_READ_REQUEST psn +1 ack va 0x0 rkey 0x00000000 dma_len 8");
	inject(d, "RDMA_READ_RESPONSE_ONLY psn +1 ACK len 8");
	expect_cqe(d, "send 100 SUCCESS len 8; read 101 SUCCESS len 8");
}

static void segments_outside(struct drill *d)
{
	static const uint64_t addrs[] = {0, 1, UINT64_MAX, UINT64_MAX - 7, 1ull << 63};

	for (size_t i = 0; i < sizeof(addrs) / sizeof(addrs[0]); i++) {
		struct {
			struct uroce_send_wqe wqe;
			struct uroce_seg seg;
		} entry = {.wqe = {.wr_id = 100, .opcode = UROCE_WR_SEND, .num_segs = 1}};

		again(d);
		entry.seg = (struct uroce_seg){addrs[i], 8, d->ep.key};
		post_raw(d, &entry, sizeof(entry));
		expect_nothing(d);
		expect_cqe(d, "send 100 LOC_PROT_ERR why 0x4");
		expect_ended(d);
	}
}

static void atomics_and_inline_that_make_no_sense(struct drill *d)
{
	static const uint8_t opcodes[] = {
		UROCE_WR_RDMA_READ, UROCE_WR_ATOMIC_CMP_AND_SWP, UROCE_WR_ATOMIC_FETCH_AND_ADD};
	static const char *const names[] = {"read", "cas", "fadd"};
	static const uint32_t lens[] = {0, 1, 7, 9, 16};

	for (size_t i = 0; i < 3; i++) {
		struct uroce_send_wqe wqe = {
			.wr_id = 100, .opcode = opcodes[i], .flags = UROCE_SEND_INLINE, .bytes = 8};

		again(d);
		post_raw(d, &wqe, sizeof(wqe));
		expect_nothing(d);
		expect_cqe(d, "%s 100 LOC_QP_OP_ERR", names[i]);
		expect_ended(d);
	}
	for (size_t i = 0; i < sizeof(lens) / sizeof(lens[0]); i++) {
		again(d);
		post(d, "FADD 100 len %u", lens[i]);
		expect_nothing(d);
		expect_cqe(d, "fadd 100 LOC_QP_OP_ERR");
		expect_ended(d);
	}
}

static void scribbling_afterwards(struct drill *d)
{
	post(d, "SEND 100 len 600");
	expect(d, "SEND_FIRST psn +0 len 256");
	/* The whole ring, while the message is being sent: the core has its own copy. */
	memset(d->ep.qp->send_ring.entries, 0xff,
		(size_t)d->ep.qp->send_ring.stride_bytes * (d->ep.qp->send_ring.mask + 1));
	expect(d, "SEND_MIDDLE psn +1 len 256; SEND_LAST psn +2 ack len 88");
	pass(d, 4096ull << 14);
	expect(d,
		"SEND_FIRST psn +0 len 256; SEND_MIDDLE psn +1 len 256; "
		"SEND_LAST psn +2 ack len 88");
	inject(d, "ACKNOWLEDGE psn +2 ACK");
	expect_cqe(d, "send 100 SUCCESS len 600");
}

static void receives_that_lie(struct drill *d)
{
	struct uroce_recv_wqe *wqe = uroce_ring_reserve(&d->ep.qp->recv_ring);

	/* The length counts from the segments. */
	*wqe = (struct uroce_recv_wqe){.wr_id = 200, .num_segs = 1, .bytes = 0xffffffff};
	uroce_recv_wqe_segs(wqe)[0] =
		(struct uroce_seg){(uintptr_t)d->ep.mem + 0x1000, 8, d->ep.key};
	uroce_ring_advance(&d->ep.qp->recv_ring);
	uroce_ring_publish_seq(&d->ep.qp->recv_ring);
	inject_dropped(d, UROCE_DROP_REQUEST_REFUSED, "SEND_ONLY psn +0 ack len 9");
	expect(d, "ACKNOWLEDGE psn +0 NAK invalid-request msn 0");
	expect_cqe(d, "recv 200 LOC_LEN_ERR why 0x61");
	expect_ended(d);
	expect_memory(d, 0x1000, 64, 0, 0x1000);
}

static void receives_with_too_many_segments(struct drill *d)
{
	static const uint32_t nums[] = {17, 256, 65536, 0x10000000, 0xffffffff};

	for (size_t i = 0; i < sizeof(nums) / sizeof(nums[0]); i++) {
		struct uroce_recv_wqe *wqe;

		again(d);
		wqe = uroce_ring_reserve(&d->ep.qp->recv_ring);
		*wqe = (struct uroce_recv_wqe){.wr_id = 200, .num_segs = nums[i], .bytes = 64};
		uroce_ring_advance(&d->ep.qp->recv_ring);
		uroce_ring_publish_seq(&d->ep.qp->recv_ring);
		inject_dropped(d, UROCE_DROP_REQUEST_REFUSED, "SEND_ONLY psn +0 ack len 8");
		expect(d, "ACKNOWLEDGE psn +0 NAK remote-operational-error msn 0");
		expect_cqe(d, "recv 200 LOC_QP_OP_ERR why 0x63");
		expect_ended(d);
		expect_number(d, d->ep.qp->report.refusal, UROCE_REFUSAL_RECV_BAD);
		expect_number(d, d->ep.qp->report.refusal_got, UROCE_MR_RANGE);
	}
}

static void segments_that_add_up_to_too_much(struct drill *d)
{
	struct uroce_recv_wqe *wqe = uroce_ring_reserve(&d->ep.qp->recv_ring);

	*wqe = (struct uroce_recv_wqe){.wr_id = 200, .num_segs = 16};
	for (uint32_t i = 0; i < 16; i++)
		uroce_recv_wqe_segs(wqe)[i] =
			(struct uroce_seg){(uintptr_t)d->ep.mem, 0xffffffff, d->ep.key};
	uroce_ring_advance(&d->ep.qp->recv_ring);
	uroce_ring_publish_seq(&d->ep.qp->recv_ring);
	/* It fits the segments, but not the region; the first part does. */
	inject(d, "SEND_ONLY psn +0 ack len 256");
	expect(d, "ACKNOWLEDGE psn +0 ACK msn 1");
	expect_cqe(d, "recv 200 SUCCESS len 256");
}

/* ---- indices ---- */

static void scribble(_Atomic uint32_t *index, uint32_t value)
{
	atomic_store(index, value);
}

/* Tails that no posting makes: the core takes at most what the ring holds, and goes on. */
static void try_send_tail(struct drill *d, uint32_t moved_by)
{
	char line[DRILL_TEXT_BYTES];
	struct uroce_cqe cqe;
	uint32_t tail, frames = 0;

	again(d);
	for (uint32_t i = 0; i < 5; i++)
		post(d, "SEND %u len 4", 100 + i);
	while (drill_next_line(d, line, sizeof(line)))
		;
	inject(d, "ACKNOWLEDGE psn +2 ACK");
	tail = atomic_load(&d->ep.qp->send_ring.tail);
	scribble(&d->ep.qp->send_ring.tail, tail + moved_by);
	uroce_bell_ring(&d->ep.core.bells, &d->ep.qp->bell);
	while (drill_next_line(d, line, sizeof(line)) && frames < 1000)
		frames++;
	expect_number(d, frames < 1000, true);
	drill_to_state(d, UROCE_QP_ERR);
	while (endpoint_poll(&d->ep, &cqe, 1) == 1)
		;
	/* More than one event may tell of the end. */
	while (d->ep.core.events.head != d->ep.core.events.tail)
		d->ep.core.events.head++;
}

static void send_tails_ahead(struct drill *d)
{
	static const uint32_t moves[] = {1, 2, 59, 62, 63, 64, 65, 1000, 0x7fffffff, 0x80000000};

	for (size_t i = 0; i < sizeof(moves) / sizeof(moves[0]); i++)
		try_send_tail(d, moves[i]);
}

/* In a child with a limit on its time: what loops 2^32 times must not stop the tests. */
static bool ends_in_time(struct drill *d, void (*fn)(struct drill *d, uint32_t), uint32_t moved_by)
{
	const struct rlimit limit = {CPU_SECONDS, CPU_SECONDS};
	int status = 0;
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (pid == 0) {
		signal(SIGXCPU, SIG_DFL);
		setrlimit(RLIMIT_CPU, &limit);
		fn(d, moved_by);
		_exit(0);
	}
	return pid > 0 && waitpid(pid, &status, 0) == pid && WIFEXITED(status) &&
		WEXITSTATUS(status) == 0;
}

static void send_tails_behind(struct drill *d)
{
	static const int moves[] = {-1, -2, -3, -5, -64};

	for (size_t i = 0; i < sizeof(moves) / sizeof(moves[0]); i++)
		if (!ends_in_time(d, try_send_tail, (uint32_t)moves[i])) {
			expect_number(d, moves[i], 0);
			return;
		}
}

static void recv_tails(struct drill *d)
{
	static const uint32_t moves[] = {
		64, 65, 1000, 0x7fffffff, 0x80000000, 0xffffffff, 0xfffffffe, 0xffffffc0};

	for (size_t i = 0; i < sizeof(moves) / sizeof(moves[0]); i++) {
		uint32_t tail;
		uint32_t taken;

		again(d);
		post_recv(d, 200, 0x1000, 64);
		post_recv(d, 201, 0x1000, 64);
		inject(d, "SEND_ONLY psn +0 ack len 8; SEND_ONLY psn +1 ack len 8");
		expect(d, "ACKNOWLEDGE psn +1 ACK msn 2");
		expect_cqe(d, "recv 200 SUCCESS len 8; recv 201 SUCCESS len 8");
		tail = atomic_load(&d->ep.qp->recv_ring.tail);
		scribble(&d->ep.qp->recv_ring.tail, tail + moves[i]);
		taken = d->ep.qp->resp.recv_next;
		inject(d, "SEND_ONLY psn +2 ack len 8");
		/* Whatever stands there is taken for receives, but never more than the ring holds.
		 */
		expect_number(d, d->ep.qp->resp.recv_next - taken <= 64, true);
		drill_to_state(d, UROCE_QP_RESET);
		while (d->ep.core.events.head != d->ep.core.events.tail)
			d->ep.core.events.head++;
		again(d);
	}
}

static void random_entries(struct drill *d)
{
	uint64_t random = 42;

	for (uint32_t round = 0; round < 2000; round++) {
		uint8_t bytes[64];
		char line[DRILL_TEXT_BYTES];
		struct uroce_cqe cqe;
		uint32_t frames = 0, cqes = 0;

		again(d);
		for (size_t i = 0; i < sizeof(bytes); i++) {
			random = random * 6364136223846793005u + 1442695040888963407u;
			bytes[i] = (uint8_t)(random >> 56);
		}
		bytes[8] %= 12;
		bytes[10] %= 3;
		bytes[11] = 0;
		post_raw(d, bytes, sizeof(bytes));
		post(d, "SEND 101 len 4");
		while (drill_next_line(d, line, sizeof(line)) && frames < 200)
			frames++;
		drill_to_state(d, UROCE_QP_ERR);
		while (endpoint_poll(&d->ep, &cqe, 1) == 1)
			cqes++;
		expect_number(d, cqes, 2);
		expect_number(d, frames <= 128, true);
		expect_event(d, "LAST_WQE_REACHED");
	}
}

int main(void)
{
	static const struct drill_case cases[] = {
		{"every opcode that does not exist completes in error", bad_opcodes},
		{"more segments than asked for complete in error", too_many_segments},
		{"more inline bytes than asked for complete in error", too_much_inline},
		{"the length of a message is the sum of its segments", lengths_that_lie},
		{"segments outside every region complete in error", segments_outside},
		{"inline READs and atomics of another length complete in error",
			atomics_and_inline_that_make_no_sense},
		{"scribbling on the ring changes nothing of what was taken", scribbling_afterwards},
		{"the length of a receive is the sum of its segments", receives_that_lie},
		{"receives with too many segments are refused", receives_with_too_many_segments},
		{"segments that add up to more than 2^32 are no trap",
			segments_that_add_up_to_too_much},
		{"a send tail that is ahead of what can be is survived", send_tails_ahead},
		{"a send tail that goes back is survived", send_tails_behind},
		{"a receive tail that cannot be is survived", recv_tails},
		{"random entries end in a completion each", random_entries},
	};

	return DRILL_SUITE("hostile", cases);
}
