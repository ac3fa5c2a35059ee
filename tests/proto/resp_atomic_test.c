/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Atomics at the responder: executed once, answered with what was there, answered again.
 *
 * The word in memory is in host order, values on the wire are big-endian; a repeat gets the saved
 * value and touches nothing.
 */
#include <string.h>

#include "drill.h"

enum {
	WORD = 0x1008
};

static void set_word(struct drill *d, uint64_t value)
{
	memcpy(d->ep.mem + WORD, &value, 8);
}

static uint64_t word(const struct drill *d)
{
	uint64_t value;

	memcpy(&value, d->ep.mem + WORD, 8);
	return value;
}

static void again(struct drill *d)
{
	struct endpoint_conf conf = drill_conf(d);

	drill_restart(d, &conf);
}

static void fetch_add(struct drill *d)
{
	set_word(d, 5);
	inject(d, "FETCH_ADD psn +0 va 0x1008 swap_add 3");
	expect(d, "ATOMIC_ACKNOWLEDGE psn +0 ACK msn 1 orig 0x5");
	expect_number(d, word(d), 8);
	/* All 64 bits, and around. */
	inject(d, "FETCH_ADD psn +1 va 0x1008 swap_add 0x0102030405060708");
	expect(d, "ATOMIC_ACKNOWLEDGE psn +1 ACK msn 2 orig 0x8");
	expect_number(d, word(d), 0x0102030405060710);
	inject(d, "FETCH_ADD psn +2 va 0x1008 swap_add 0xffffffffffffffff");
	expect(d, "ATOMIC_ACKNOWLEDGE psn +2 ACK msn 3 orig 0x102030405060710");
	expect_number(d, word(d), 0x010203040506070f);
	expect_memory(d, WORD - 64, 64, 0, WORD - 64);
	expect_memory(d, WORD + 8, 64, 0, WORD + 8);
}

static void compare_swap(struct drill *d)
{
	set_word(d, 0x1122334455667788);
	inject(d, "COMPARE_SWAP psn +0 va 0x1008 compare 0x1122334455667788 swap_add 0x99");
	expect(d, "ATOMIC_ACKNOWLEDGE psn +0 ACK msn 1 orig 0x1122334455667788");
	expect_number(d, word(d), 0x99);
	inject(d, "COMPARE_SWAP psn +1 va 0x1008 compare 0x98 swap_add 0x77");
	expect(d, "ATOMIC_ACKNOWLEDGE psn +1 ACK msn 2 orig 0x99");
	expect_number(d, word(d), 0x99);
}

static void repeated(struct drill *d)
{
	set_word(d, 5);
	inject(d, "FETCH_ADD psn +0 va 0x1008 swap_add 3");
	expect(d, "ATOMIC_ACKNOWLEDGE psn +0 ACK msn 1 orig 0x5");
	set_word(d, 100);
	for (int i = 0; i < 3; i++) {
		inject(d, "FETCH_ADD psn +0 va 0x1008 swap_add 3");
		expect_number(d, d->drop, UROCE_ACCEPTED);
		expect(d, "ATOMIC_ACKNOWLEDGE psn +0 ACK msn 1 orig 0x5");
		expect_number(d, word(d), 100);
	}
	expect_number(d, d->ep.core.counters.duplicate_request, 3);
}

static void repeated_before_it_was_answered(struct drill *d)
{
	set_word(d, 5);
	inject(d,
		"FETCH_ADD psn +0 va 0x1008 swap_add 3; FETCH_ADD psn +0 va 0x1008 swap_add 3; "
		"FETCH_ADD psn +1 va 0x1008 swap_add 1; FETCH_ADD psn +0 va 0x1008 swap_add 3");
	expect(d,
		"ATOMIC_ACKNOWLEDGE psn +0 ACK msn 2 orig 0x5; "
		"ATOMIC_ACKNOWLEDGE psn +1 ACK msn 2 orig 0x8");
	expect_nothing(d);
	expect_number(d, word(d), 9);
	expect_number(d, d->ep.qp->resp.reads_owed, 0);
}

static void repeated_all(struct drill *d)
{
	set_word(d, 0);
	for (uint32_t i = 0; i < 16; i++)
		inject(d, "FETCH_ADD psn +%u va 0x1008 swap_add 1", i);
	for (uint32_t i = 0; i < 16; i++)
		expect(d, "ATOMIC_ACKNOWLEDGE psn +%u ACK msn 16 orig 0x%x", i, i);
	/* The last ones are asked for again, out of order; answers come in order. */
	inject(d,
		"FETCH_ADD psn +15 va 0x1008; FETCH_ADD psn +3 va 0x1008; "
		"FETCH_ADD psn +9 va 0x1008");
	expect(d,
		"ATOMIC_ACKNOWLEDGE psn +3 ACK msn 16 orig 0x3; "
		"ATOMIC_ACKNOWLEDGE psn +9 ACK msn 16 orig 0x9; "
		"ATOMIC_ACKNOWLEDGE psn +15 ACK msn 16 orig 0xf; nothing");
	expect_number(d, word(d), 16);
}

static void not_remembered(struct drill *d)
{
	struct endpoint_conf conf = drill_conf(d);

	conf.attr.max_dest_rd_atomic = 1;
	drill_restart(d, &conf);
	set_word(d, 5);
	inject(d, "FETCH_ADD psn +0 va 0x1008 swap_add 3");
	expect(d, "ATOMIC_ACKNOWLEDGE psn +0 ACK msn 1 orig 0x5");
	inject(d, "FETCH_ADD psn +1 va 0x1008 swap_add 1");
	expect(d, "ATOMIC_ACKNOWLEDGE psn +1 ACK msn 2 orig 0x8");
	inject_dropped(d, UROCE_DROP_READ_NOT_REMEMBERED, "FETCH_ADD psn +0 va 0x1008 swap_add 3");
	inject_dropped(d, UROCE_DROP_READ_NOT_REMEMBERED, "FETCH_ADD psn +1 va 0x1010 swap_add 1");
	inject_dropped(d, UROCE_DROP_READ_NOT_REMEMBERED,
		"FETCH_ADD psn +1 va 0x1008 rkey 0x77777 swap_add 1");
	inject_dropped(
		d, UROCE_DROP_READ_NOT_REMEMBERED, "RDMA_READ_REQUEST psn +1 va 0x1008 dma 8");
	expect_nothing(d);
	expect_number(d, word(d), 9);
}

static void refused(struct drill *d, const char *line, bool access)
{
	inject_dropped(d, UROCE_DROP_REQUEST_REFUSED, "%s", line);
	expect(d, "ACKNOWLEDGE psn +0 NAK %s msn 0",
		access ? "remote-access-error" : "invalid-request");
	expect_event(d, access ? "QP_ACCESS_ERR" : "QP_REQ_ERR");
	expect_ended(d);
	expect_memory(d, 0, DRILL_MEM, 0, 0);
}

static void bad_keys_and_ranges(struct drill *d)
{
	static const char *const lines[] = {
		"FETCH_ADD psn +0 va 0x1008 rkey 0xdead00 swap_add 1",
		"COMPARE_SWAP psn +0 va 0x1008 rkey 0 swap_add 1",
		"FETCH_ADD psn +0 va 0x10000 swap_add 1",
		"FETCH_ADD psn +0 va -8 swap_add 1",
		"FETCH_ADD psn +0 absva 0xfffffffffffffff8 swap_add 1",
	};
	char line[DRILL_TEXT_BYTES];

	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		again(d);
		refused(d, lines[i], true);
	}
	again(d);
	snprintf(line, sizeof(line), "FETCH_ADD psn +0 va 0 rkey %u swap_add 1",
		endpoint_register(&d->ep, 0, 64,
			UROCE_ACCESS_LOCAL_WRITE | UROCE_ACCESS_REMOTE_WRITE |
				UROCE_ACCESS_REMOTE_READ));
	refused(d, line, true);
	again(d);
	snprintf(line, sizeof(line), "FETCH_ADD psn +0 va 0x1000 rkey %u swap_add 1",
		endpoint_register(
			&d->ep, 0x1000, 7, UROCE_ACCESS_LOCAL_WRITE | UROCE_ACCESS_REMOTE_ATOMIC));
	refused(d, line, true);
}

static void misaligned(struct drill *d)
{
	char line[DRILL_TEXT_BYTES];

	for (uint32_t off = 1; off < 8; off++) {
		again(d);
		snprintf(line, sizeof(line), "FETCH_ADD psn +0 va %u swap_add 1", 0x1000 + off);
		refused(d, line, false);
		expect_number(d, d->ep.qp->report.refusal, UROCE_REFUSAL_MISALIGNED);
	}
}

static void misaligned_memory(struct drill *d)
{
	struct uroce_mr_attr attr = {.pd = d->ep.qp->pd,
		.access = UROCE_ACCESS_LOCAL_WRITE | UROCE_ACCESS_REMOTE_ATOMIC,
		.ptr = d->ep.mem + 4,
		.addr = 0x10000,
		.bytes = 64,
		.key = 0x7700};
	uint32_t key;

	expect_number(d, uroce_mr_table_add(&d->ep.mrs, &attr, 1, &key), 0);
	refused(d, "FETCH_ADD psn +0 absva 0x10000 rkey 0x7700 swap_add 1", false);
	expect_number(d, d->ep.qp->report.refusal, UROCE_REFUSAL_MISALIGNED);
	/* A crooked address is that, even where it lies straight. */
	again(d);
	attr.pd = d->ep.qp->pd;
	attr.ptr = d->ep.mem + 4;
	expect_number(d, uroce_mr_table_add(&d->ep.mrs, &attr, 1, &key), 0);
	refused(d, "FETCH_ADD psn +0 absva 0x10004 rkey 0x7700 swap_add 1", false);
	expect_number(d, d->ep.qp->report.refusal, UROCE_REFUSAL_MISALIGNED);
	expect_number(d, d->ep.qp->report.refusal_got, 4);
}

static void invalid(struct drill *d)
{
	struct endpoint_conf conf = drill_conf(d);

	refused(d, "FETCH_ADD psn +0 va 0x1008 swap_add 1 len 4", false);
	again(d);
	refused(d, "FETCH_ADD psn +0 va 0x1008 swap_add 1 pad 1", false);
	conf.access = UROCE_ACCESS_REMOTE_WRITE | UROCE_ACCESS_REMOTE_READ;
	drill_restart(d, &conf);
	refused(d, "FETCH_ADD psn +0 va 0x1008 swap_add 1", false);
	drill_restart(d, &conf);
	refused(d, "COMPARE_SWAP psn +0 va 0x1008 swap_add 1", false);
	expect_number(d, d->ep.qp->report.refusal, UROCE_REFUSAL_NOT_ALLOWED);
}

static void one_too_many(struct drill *d)
{
	struct endpoint_conf conf = drill_conf(d);

	conf.attr.max_dest_rd_atomic = 2;
	drill_restart(d, &conf);
	set_word(d, 0);
	inject(d, "FETCH_ADD psn +0 va 0x1008 swap_add 1; RDMA_READ_REQUEST psn +1 dma 8");
	inject_dropped(d, UROCE_DROP_REQUEST_REFUSED, "FETCH_ADD psn +2 va 0x1008 swap_add 1");
	expect(d,
		"ATOMIC_ACKNOWLEDGE psn +0 ACK msn 2 orig 0x0; "
		"RDMA_READ_RESPONSE_ONLY psn +1 ACK msn 2 len 8; "
		"ACKNOWLEDGE psn +2 NAK invalid-request msn 2");
	expect_event(d, "QP_REQ_ERR");
	expect_ended(d);
	expect_number(d, word(d), 1);
}

int main(void)
{
	static const struct drill_case cases[] = {
		{"FETCH-AND-ADD adds all 64 bits and returns what was there", fetch_add},
		{"COMPARE-AND-SWAP swaps what is equal and returns what was there", compare_swap},
		{"an atomic that is asked again is answered from memory of it, not executed",
			repeated},
		{"an atomic that is asked twice before it was answered is executed once",
			repeated_before_it_was_answered},
		{"every atomic of the agreed number is remembered", repeated_all},
		{"an atomic that is not remembered is dropped", not_remembered},
		{"an atomic with a bad key, range or right is refused", bad_keys_and_ranges},
		{"an atomic at a crooked address is refused", misaligned},
		{"an atomic on crooked memory is refused", misaligned_memory},
		{"an invalid atomic is refused", invalid},
		{"atomics and READs share the agreed number", one_too_many},
	};

	return DRILL_SUITE("resp_atomic", cases);
}
