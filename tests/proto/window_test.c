/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Memory windows, fast regions and invalidation, as work requests and by the peer (InfiniBand
 * 10.6, C10-72 ff., 9.4.1.1).
 */
#include <string.h>

#include "drill.h"

#define ALL_RIGHTS \
	(UROCE_ACCESS_REMOTE_WRITE | UROCE_ACCESS_REMOTE_READ | UROCE_ACCESS_REMOTE_ATOMIC)

enum {
	WINDOW_AT = 0x2000,
	WINDOW_BYTES = 0x100,
	LOCAL_WRITE = UROCE_ACCESS_LOCAL_WRITE,
};

/* Another tag for a key. */
static uint32_t retag(uint32_t key)
{
	return (key & 0xffffff00) | ((key + 1) & 0xff);
}

static void write_ok(struct drill *d, int psn, uint32_t rkey, uint64_t va, uint32_t bytes)
{
	inject(d, "RDMA_WRITE_ONLY psn %+d ack va %llu rkey %u len %u fill 5", psn,
		(unsigned long long)va, rkey, bytes);
	expect(d, "ACKNOWLEDGE psn %+d ACK msn %d", psn, psn + 1);
}

static void write_refused(struct drill *d, int psn, uint32_t rkey, uint64_t va, uint32_t bytes)
{
	inject_dropped(d, UROCE_DROP_REQUEST_REFUSED,
		"RDMA_WRITE_ONLY psn %+d ack va %llu rkey %u len %u", psn, (unsigned long long)va,
		rkey, bytes);
	expect(d, "ACKNOWLEDGE psn %+d NAK remote-access-error msn %d", psn, psn);
	expect_event(d, "QP_ACCESS_ERR");
	expect_ended(d);
}

static uint32_t bind_window(struct drill *d, enum uroce_mr_kind kind)
{
	uint32_t key = endpoint_slot(&d->ep, kind), bound = retag(key);

	post(d, "BIND 100 key %u new %u addr %d bytes %d access %d", key, bound, WINDOW_AT,
		WINDOW_BYTES, ALL_RIGHTS);
	expect_nothing(d);
	expect_cqe(d, "bind 100 SUCCESS len 0");
	return bound;
}

static void a_window_opens_its_range(struct drill *d)
{
	for (int type = 0; type < 2; type++) {
		struct endpoint_conf conf = drill_conf(d);
		uint32_t key;

		drill_restart(d, &conf);
		key = bind_window(d, type ? UROCE_MR_WINDOW_2 : UROCE_MR_WINDOW_1);
		write_ok(d, 0, key, WINDOW_AT, WINDOW_BYTES);
		expect_memory(d, WINDOW_AT, WINDOW_BYTES, 5, 0);
		inject(d, "RDMA_READ_REQUEST psn +1 ack va %d rkey %u dma 8", WINDOW_AT + 248, key);
		expect(d, "RDMA_READ_RESPONSE_ONLY psn +1 ACK msn 2 len 8");
		inject(d, "FETCH_ADD psn +2 ack va %d rkey %u swap_add 1", WINDOW_AT, key);
		expect_number(
			d, drill_next_line(d, (char[DRILL_TEXT_BYTES]){0}, DRILL_TEXT_BYTES), true);
		write_refused(d, 3, key, WINDOW_AT + 1, WINDOW_BYTES);
	}
}

static void a_window_is_not_for_local_use(struct drill *d)
{
	uint32_t key = bind_window(d, UROCE_MR_WINDOW_1);

	post(d, "SEND 101 len 8 at %d lkey %u", WINDOW_AT, key);
	expect_nothing(d);
	expect_cqe(d, "send 101 LOC_PROT_ERR why 0x1");
	expect_ended(d);
}

static void rights_are_the_windows_own(struct drill *d)
{
	uint32_t key = endpoint_slot(&d->ep, UROCE_MR_WINDOW_2), bound = retag(key);

	post(d, "BIND 100 key %u new %u addr %d bytes 8 access %d", key, bound, WINDOW_AT,
		UROCE_ACCESS_REMOTE_READ);
	expect_nothing(d);
	expect_cqe(d, "bind 100 SUCCESS len 0");
	inject(d, "RDMA_READ_REQUEST psn +0 ack va %d rkey %u dma 8", WINDOW_AT, bound);
	expect(d, "RDMA_READ_RESPONSE_ONLY psn +0 ACK msn 1 len 8");
	write_refused(d, 1, bound, WINDOW_AT, 8);
}

static void binds_that_may_not_be(struct drill *d)
{
	for (int i = 0; i < 12; i++) {
		struct endpoint_conf conf = drill_conf(d);
		uint32_t key, mr, plain, why;
		int type = UROCE_MR_WINDOW_2;
		uint32_t addr = WINDOW_AT, bytes = 8, access = ALL_RIGHTS, bound;

		drill_restart(d, &conf);
		plain = endpoint_register(&d->ep, 0, 4096, LOCAL_WRITE);
		mr = d->ep.key;
		why = UROCE_MR_WRONG_KIND;
		if (i == 5)
			type = UROCE_MR_WINDOW_1;
		key = endpoint_slot(&d->ep, (enum uroce_mr_kind)type);
		bound = retag(key);
		if (i == 0) { /* a region without the right to be bound to */
			mr = plain;
			addr = 0;
			why = UROCE_MR_NO_RIGHT;
		} else if (i == 1) { /* no region at all */
			mr = 0x66600;
			why = UROCE_MR_NO_KEY;
		} else if (i == 2) { /* beyond the region */
			addr = DRILL_MEM - 4;
			why = UROCE_MR_RANGE;
		} else if (i == 3) { /* type 2: nothing to bind */
			bytes = 0;
			why = UROCE_MR_RANGE;
		} else if (i == 4) { /* type 2: the same tag */
			bound = key;
		} else if (i == 5) { /* type 1: zero-based */
			access |= UROCE_ACCESS_ZERO_BASED;
			why = UROCE_MR_NO_RIGHT;
		} else if (i == 6) { /* another index */
			bound = key + 0x100;
		} else if (i == 7) { /* a local right */
			access = UROCE_ACCESS_LOCAL_WRITE;
			why = UROCE_MR_NO_RIGHT;
		} else if (i == 8) { /* not a window */
			key = d->ep.key;
			bound = retag(key);
			mr = plain;
			addr = 0;
		} else if (i == 9) { /* a key of another time */
			key = retag(key);
			bound = retag(key);
			why = UROCE_MR_NO_KEY;
		} else if (i == 10) { /* a window on a window */
			mr = key;
		} else { /* a window on another window */
			mr = endpoint_slot(&d->ep, UROCE_MR_WINDOW_1);
		}
		post(d, "BIND 100 key %u new %u mr %u addr %u bytes %u access %u", key, bound, mr,
			addr, bytes, access);
		post(d, "SEND 101 len 8");
		expect_nothing(d);
		expect_cqe(d, "bind 100 MW_BIND_ERR why 0x%x; send 101 WR_FLUSH_ERR", why);
		expect_ended(d);
		expect_number(d, d->ep.qp->report.cause, UROCE_CAUSE_BIND);
		expect_number(d,
			atomic_load(&d->ep.mrs.slots[(d->ep.key >> 8) & d->ep.mrs.mask].windows),
			0);
	}
}

static void writing_windows_need_a_writable_region(struct drill *d)
{
	uint32_t plain = endpoint_register(&d->ep, 0, 4096, UROCE_ACCESS_MW_BIND);
	uint32_t key = endpoint_slot(&d->ep, UROCE_MR_WINDOW_1);

	post(d, "BIND 100 key %u new %u mr %u addr 0 bytes 8 access %d", key, retag(key), plain,
		UROCE_ACCESS_REMOTE_READ);
	expect_nothing(d);
	expect_cqe(d, "bind 100 SUCCESS len 0");
	post(d, "BIND 101 key %u new %u mr %u addr 0 bytes 8 access %d", retag(key), key, plain,
		UROCE_ACCESS_REMOTE_WRITE);
	expect_nothing(d);
	expect_cqe(d, "bind 101 MW_BIND_ERR why 0x%x", UROCE_MR_NO_RIGHT);
	expect_ended(d);
}

static void type_1_is_bound_again_and_unbound(struct drill *d)
{
	uint32_t first = bind_window(d, UROCE_MR_WINDOW_1), second = retag(first);

	post(d, "BIND 101 key %u new %u addr 0x3000 bytes 16 access %d", first, second, ALL_RIGHTS);
	expect_nothing(d);
	expect_cqe(d, "bind 101 SUCCESS len 0");
	write_ok(d, 0, second, 0x3000, 16);
	post(d, "BIND 102 key %u new %u bytes 0", second, retag(second));
	expect_nothing(d);
	expect_cqe(d, "bind 102 SUCCESS len 0");
	write_refused(d, 1, retag(second), 0x3000, 16);
}

static void an_old_key_is_dead(struct drill *d)
{
	uint32_t first = bind_window(d, UROCE_MR_WINDOW_1);

	post(d, "BIND 101 key %u new %u addr 0x3000 bytes 16 access %d", first, retag(first),
		ALL_RIGHTS);
	expect_nothing(d);
	expect_cqe(d, "bind 101 SUCCESS len 0");
	write_refused(d, 0, first, WINDOW_AT, 8);
}

static void type_2_is_bound_once_and_invalidated(struct drill *d)
{
	uint32_t key = bind_window(d, UROCE_MR_WINDOW_2);

	write_ok(d, 0, key, WINDOW_AT, 8);
	post(d, "LOCAL_INV 101 key %u", key);
	expect_nothing(d);
	expect_cqe(d, "inv 101 SUCCESS len 0");
	post(d, "BIND 102 key %u new %u addr 0x3000 bytes 16 access %d", key, retag(key),
		ALL_RIGHTS);
	expect_nothing(d);
	expect_cqe(d, "bind 102 SUCCESS len 0");
	write_ok(d, 1, retag(key), 0x3000, 16);
	post(d, "BIND 103 key %u new %u addr 0x3000 bytes 16 access %d", retag(key), key,
		ALL_RIGHTS);
	expect_nothing(d);
	expect_cqe(d, "bind 103 MW_BIND_ERR why 0x%x", UROCE_MR_IN_USE);
	expect_ended(d);
}

static void type_2_is_its_binders_alone(struct drill *d)
{
	struct uroce_mr_change change = {.pd = 7,
		.qpn = 0x999,
		.key = endpoint_slot(&d->ep, UROCE_MR_WINDOW_2),
		.access = ALL_RIGHTS,
		.lkey = d->ep.key,
		.addr = (uintptr_t)d->ep.mem + WINDOW_AT,
		.bytes = 64};

	change.new_key = retag(change.key);
	expect_number(d, uroce_mr_bind(&d->ep.mrs, &change), UROCE_MR_OK);
	/* Nor may another queue pair invalidate it. */
	post(d, "LOCAL_INV 101 key %u", change.new_key);
	expect_nothing(d);
	expect_cqe(d, "inv 101 LOC_QP_OP_ERR why 0x%x", UROCE_MR_WRONG_QP);
	expect_ended(d);
	{
		struct endpoint_conf conf = drill_conf(d);

		drill_restart(d, &conf);
	}
	change.key = endpoint_slot(&d->ep, UROCE_MR_WINDOW_2);
	change.new_key = retag(change.key);
	change.lkey = d->ep.key;
	change.addr = (uintptr_t)d->ep.mem + WINDOW_AT;
	expect_number(d, uroce_mr_bind(&d->ep.mrs, &change), UROCE_MR_OK);
	write_refused(d, 0, change.new_key, WINDOW_AT, 8);
	expect_number(d, d->ep.qp->report.refusal_got, UROCE_MR_WRONG_QP);
}

static void zero_based_windows_count_from_zero(struct drill *d)
{
	uint32_t key = endpoint_slot(&d->ep, UROCE_MR_WINDOW_2), bound = retag(key);

	post(d, "BIND 100 key %u new %u addr %d bytes 64 access %d", key, bound, WINDOW_AT,
		ALL_RIGHTS | UROCE_ACCESS_ZERO_BASED);
	expect_nothing(d);
	expect_cqe(d, "bind 100 SUCCESS len 0");
	inject(d, "RDMA_WRITE_ONLY psn +0 ack absva 8 rkey %u len 16 fill 9", bound);
	expect(d, "ACKNOWLEDGE psn +0 ACK msn 1");
	expect_memory(d, WINDOW_AT + 8, 16, 9, 0);
	inject_dropped(d, UROCE_DROP_REQUEST_REFUSED,
		"RDMA_WRITE_ONLY psn +1 ack absva 60 rkey %u len 8", bound);
	expect(d, "ACKNOWLEDGE psn +1 NAK remote-access-error msn 1");
	expect_event(d, "QP_ACCESS_ERR");
	expect_ended(d);
}

static void a_region_with_windows_stays(struct drill *d)
{
	uint32_t key = bind_window(d, UROCE_MR_WINDOW_2);

	expect_number(d, uroce_mr_table_kill(&d->ep.mrs, d->ep.key), (uint64_t)-16);
	expect_number(d, uroce_mr_table_remove(&d->ep.mrs, d->ep.key), (uint64_t)-16);
	write_ok(d, 0, key, WINDOW_AT, 8);
	expect_number(d, uroce_mr_table_remove(&d->ep.mrs, key), 0);
	expect_number(d, uroce_mr_table_kill(&d->ep.mrs, d->ep.key), 0);
}

/* ---- the peer invalidates ---- */

static void the_peer_invalidates_a_window(struct drill *d)
{
	uint32_t key = bind_window(d, UROCE_MR_WINDOW_2);

	post_recv(d, 200, 0x1000, 300);
	inject(d,
		"SEND_FIRST psn +0 len 256; SEND_LAST_WITH_INVALIDATE psn +1 ack len 4 at 256 "
		"inv %u",
		key);
	expect(d, "ACKNOWLEDGE psn +1 ACK msn 1");
	expect_cqe(d, "recv 200 SUCCESS len 260 inv 0x%08x", key);
	expect_memory(d, 0x1000, 260, 1, 0);
	inject_dropped(d, UROCE_DROP_REQUEST_REFUSED,
		"RDMA_WRITE_ONLY psn +2 ack va %d rkey %u len 8", WINDOW_AT, key);
	expect(d, "ACKNOWLEDGE psn +2 NAK remote-access-error msn 1");
	expect_event(d, "QP_ACCESS_ERR");
	expect_ended(d);
}

static void the_peer_invalidates_a_fast_region(struct drill *d)
{
	uint32_t key = endpoint_slot(&d->ep, UROCE_MR_FAST), reg = retag(key);

	post(d, "REG 100 key %u new %u addr 0x3000 bytes 256 access %d", key, reg,
		ALL_RIGHTS | LOCAL_WRITE);
	expect_nothing(d);
	expect_cqe(d, "reg 100 SUCCESS len 0");
	write_ok(d, 0, reg, 0x3000, 8);
	post_recv(d, 200, 0x1000, 300);
	inject(d, "SEND_ONLY_WITH_INVALIDATE psn +1 ack len 4 inv %u", reg);
	expect(d, "ACKNOWLEDGE psn +1 ACK msn 2");
	expect_cqe(d, "recv 200 SUCCESS len 4 inv 0x%08x", reg);
	/* A repeat of it changes nothing and is acknowledged. */
	inject(d, "SEND_ONLY_WITH_INVALIDATE psn +1 ack len 4 inv %u", reg);
	expect(d, "ACKNOWLEDGE psn +1 ACK msn 2");
	/* Registered anew under another tag. */
	post(d, "REG 101 key %u new %u addr 0x3000 bytes 256 access %d", reg, retag(reg),
		ALL_RIGHTS | LOCAL_WRITE);
	expect_nothing(d);
	expect_cqe(d, "reg 101 SUCCESS len 0");
	inject(d, "RDMA_WRITE_ONLY psn +2 ack va 0x3000 rkey %u len 8", retag(reg));
	expect(d, "ACKNOWLEDGE psn +2 ACK msn 3");
}

static void what_the_peer_may_not_invalidate(struct drill *d)
{
	for (int i = 0; i < 4; i++) {
		struct endpoint_conf conf = drill_conf(d);
		uint32_t key;

		drill_restart(d, &conf);
		if (i == 0)
			key = d->ep.key; /* an ordinary region */
		else if (i == 1)
			key = bind_window(d, UROCE_MR_WINDOW_1);
		else if (i == 2)
			key = endpoint_slot(&d->ep, UROCE_MR_FAST); /* not registered */
		else
			key = 0x12345600;
		post_recv(d, 200, 0x1000, 64);
		inject_dropped(d, UROCE_DROP_REQUEST_REFUSED,
			"SEND_ONLY_WITH_INVALIDATE psn +0 ack len 4 inv %u", key);
		expect_nothing(d);
		expect_cqe(d, "recv 200 REM_INV_REQ_ERR");
		expect_ended(d);
		/* Found out before anything was placed. */
		expect_memory(d, 0x1000, 64, 0, 0x1000);
		expect_number(d, d->ep.qp->report.cause, UROCE_CAUSE_INVALIDATE);
	}
}

/* ---- fast regions ---- */

static void a_fast_region_serves_both_sides(struct drill *d)
{
	uint32_t key = endpoint_slot(&d->ep, UROCE_MR_FAST), reg = retag(key);

	post(d, "REG 100 key %u new %u addr 0x3000 bytes 256 access %d", key, reg,
		ALL_RIGHTS | LOCAL_WRITE);
	/* In the same breath the new key is used. */
	post(d, "SEND 101 len 256 at 0x3000 lkey %u", reg);
	expect(d, "SEND_ONLY psn +0 ack len 256");
	expect_payload(d, 0, 0x3000);
	inject(d, "ACKNOWLEDGE psn +0 ACK");
	expect_cqe(d, "reg 100 SUCCESS len 0; send 101 SUCCESS len 256");
	write_ok(d, 0, reg, 0x3000, 256);
	post(d, "SEND 102 len 1 at 0x3100 lkey %u", reg);
	expect_nothing(d);
	expect_cqe(d, "send 102 LOC_PROT_ERR why 0x4");
	expect_ended(d);
}

static void registrations_that_may_not_be(struct drill *d)
{
	for (int i = 0; i < 6; i++) {
		struct endpoint_conf conf = drill_conf(d);
		uint32_t key, reg, bytes = 64, addr = 0x3000, access = LOCAL_WRITE;
		uint32_t why = UROCE_MR_WRONG_KIND;

		drill_restart(d, &conf);
		key = endpoint_slot(&d->ep, UROCE_MR_FAST);
		reg = retag(key);
		if (i == 0) { /* outside its area */
			addr = DRILL_MEM - 63;
			why = UROCE_MR_RANGE;
		} else if (i == 1) { /* not a fast region */
			key = d->ep.key;
			reg = retag(key);
		} else if (i == 2) { /* another index */
			reg = key + 0x100;
		} else if (i == 3) { /* a key of another time */
			key = retag(key);
			why = UROCE_MR_NO_KEY;
		} else if (i == 4) { /* writable for peers alone */
			access = UROCE_ACCESS_REMOTE_WRITE;
			why = UROCE_MR_NO_RIGHT;
		} else { /* twice */
			post(d, "REG 99 key %u new %u addr 0 bytes 8 access 1", key, reg);
			expect_nothing(d);
			expect_cqe(d, "reg 99 SUCCESS len 0");
			key = reg;
			reg = retag(reg);
			why = UROCE_MR_IN_USE;
		}
		post(d, "REG 100 key %u new %u addr %u bytes %u access %u", key, reg, addr, bytes,
			access);
		expect_nothing(d);
		expect_cqe(d, "reg 100 LOC_QP_OP_ERR why 0x%x", why);
		expect_ended(d);
		expect_number(d, d->ep.qp->report.cause, UROCE_CAUSE_MEMORY_CHANGE);
	}
}

static void windows_hold_a_fast_region(struct drill *d)
{
	uint32_t key = endpoint_slot(&d->ep, UROCE_MR_FAST), reg = retag(key);
	uint32_t window = endpoint_slot(&d->ep, UROCE_MR_WINDOW_2);

	post(d, "REG 100 key %u new %u addr 0x3000 bytes 256 access %d", key, reg,
		LOCAL_WRITE | UROCE_ACCESS_MW_BIND);
	post(d, "BIND 101 key %u new %u mr %u addr 0x3000 bytes 8 access %d", window, retag(window),
		reg, ALL_RIGHTS);
	expect_nothing(d);
	expect_cqe(d, "reg 100 SUCCESS len 0; bind 101 SUCCESS len 0");
	write_ok(d, 0, retag(window), 0x3000, 8);
	post(d, "LOCAL_INV 102 key %u", reg);
	expect_nothing(d);
	expect_cqe(d, "inv 102 LOC_QP_OP_ERR why 0x%x", UROCE_MR_IN_USE);
	expect_ended(d);
}

/* ---- the order of things ---- */

static void an_invalidation_waits_for_all_before_it(struct drill *d)
{
	uint32_t key = endpoint_slot(&d->ep, UROCE_MR_FAST), reg = retag(key);

	post(d, "REG 100 key %u new %u addr 0x3000 bytes 256 access %d", key, reg, LOCAL_WRITE);
	post(d, "SEND 101 len 8 at 0x3000 lkey %u", reg);
	post(d, "LOCAL_INV 102 key %u", reg);
	post(d, "SEND 103 len 8");
	expect(d, "SEND_ONLY psn +0 ack len 8");
	expect_nothing(d);
	expect_cqe(d, "reg 100 SUCCESS len 0");
	/* Lost, and sent again: its memory is still there. */
	pass(d, 100 * DRILL_MS);
	expect(d, "SEND_ONLY psn +0 ack len 8");
	expect_nothing(d);
	inject(d, "ACKNOWLEDGE psn +0 ACK");
	expect(d, "SEND_ONLY psn +1 ack len 8");
	expect_cqe(d, "send 101 SUCCESS len 8; inv 102 SUCCESS len 0");
	inject(d, "ACKNOWLEDGE psn +1 ACK");
	expect_cqe(d, "send 103 SUCCESS len 8");
}

static void a_dead_key_is_not_invalidated_again(struct drill *d)
{
	uint32_t key = endpoint_slot(&d->ep, UROCE_MR_FAST), reg = retag(key);

	post(d, "REG 100 key %u new %u addr 0x3000 bytes 256 access %d", key, reg, LOCAL_WRITE);
	expect_nothing(d);
	expect_cqe(d, "reg 100 SUCCESS len 0");
	expect_number(d, uroce_mr_invalidate(&d->ep.mrs, 7, d->ep.qp->qpn, reg, true), 0);
	expect_number(d, uroce_mr_invalidate(&d->ep.mrs, 7, d->ep.qp->qpn, reg, false), 0);
	post_recv(d, 200, 0x1000, 64);
	inject_dropped(d, UROCE_DROP_REQUEST_REFUSED,
		"SEND_ONLY_WITH_INVALIDATE psn +0 ack len 4 inv %u", reg);
	expect_nothing(d);
	expect_cqe(d, "recv 200 REM_INV_REQ_ERR");
	expect_ended(d);
}

static void inline_local_work_is_refused(struct drill *d)
{
	post(d, "LOCAL_INV 100 key 5 inline segs 0");
	expect_nothing(d);
	expect_cqe(d, "inv 100 LOC_QP_OP_ERR");
	expect_ended(d);
}

static void a_fence_holds_a_bind_back(struct drill *d)
{
	uint32_t window = endpoint_slot(&d->ep, UROCE_MR_WINDOW_1);

	post(d, "READ 100 len 8 at 0x3000");
	post(d, "BIND 101 key %u new %u addr 0 bytes 8 access %d fence", window, retag(window),
		ALL_RIGHTS);
	expect(d, "RDMA_READ_REQUEST psn +0 ack va 0x1000 rkey 0x00000abc dma_len 8");
	expect_nothing(d);
	expect_number(d, atomic_load(&d->ep.mrs.slots[(window >> 8) & d->ep.mrs.mask].key),
		UROCE_MR_DEAD);
	inject(d, "RDMA_READ_RESPONSE_ONLY psn +0 ACK len 8");
	expect_nothing(d);
	expect_cqe(d, "read 100 SUCCESS len 8; bind 101 SUCCESS len 0");
}

static void local_work_is_done_once_and_completes_in_order(struct drill *d)
{
	uint32_t window = endpoint_slot(&d->ep, UROCE_MR_WINDOW_2);
	uint32_t other = endpoint_slot(&d->ep, UROCE_MR_WINDOW_2);

	post(d, "SEND 100 len 8");
	post(d, "BIND 101 key %u new %u addr 0 bytes 8 access %d", window, retag(window),
		ALL_RIGHTS);
	post(d, "SEND 102 len 8");
	post(d, "BIND 103 key %u new %u addr 0 bytes 8 access %d", other, retag(other), ALL_RIGHTS);
	expect(d, "SEND_ONLY psn +0 ack len 8; SEND_ONLY psn +1 ack len 8");
	expect_nothing(d);
	expect_no_cqe(d);
	/* Going back passes the binds again: a type 2 window cannot be bound twice. */
	pass(d, 100 * DRILL_MS);
	expect(d, "SEND_ONLY psn +0 ack len 8; SEND_ONLY psn +1 ack len 8");
	expect_nothing(d);
	inject(d, "ACKNOWLEDGE psn +0 ACK");
	expect_cqe(d, "send 100 SUCCESS len 8; bind 101 SUCCESS len 0");
	expect_no_cqe(d);
	inject(d, "ACKNOWLEDGE psn +1 ACK");
	expect_cqe(d, "send 102 SUCCESS len 8; bind 103 SUCCESS len 0");
}

static void reads_find_their_place_behind_local_work(struct drill *d)
{
	uint32_t window = endpoint_slot(&d->ep, UROCE_MR_WINDOW_2);

	post(d, "READ 100 len 300 at 0x3000");
	post(d, "BIND 101 key %u new %u addr 0 bytes 8 access %d", window, retag(window),
		ALL_RIGHTS);
	post(d, "READ 102 len 8 at 0x4000");
	expect(d,
		"RDMA_READ_REQUEST psn +0 ack va 0x1000 rkey 0x00000abc dma_len 300; "
		"RDMA_READ_REQUEST psn +2 ack va 0x1000 rkey 0x00000abc dma_len 8");
	/* The first answer is lost: everything is asked for again, the bind stays done. */
	inject_dropped(d, UROCE_DROP_RESPONSE_GAP, "RDMA_READ_RESPONSE_ONLY psn +2 ACK len 8");
	expect(d,
		"RDMA_READ_REQUEST psn +0 ack va 0x1000 rkey 0x00000abc dma_len 300; "
		"RDMA_READ_REQUEST psn +2 ack va 0x1000 rkey 0x00000abc dma_len 8");
	inject(d,
		"RDMA_READ_RESPONSE_FIRST psn +0 ACK len 256; "
		"RDMA_READ_RESPONSE_LAST psn +1 ACK len 44; "
		"RDMA_READ_RESPONSE_ONLY psn +2 ACK len 8");
	expect_cqe(d, "read 100 SUCCESS len 300; bind 101 SUCCESS len 0; read 102 SUCCESS len 8");
}

static void sqd_holds_local_work(struct drill *d)
{
	uint32_t window = endpoint_slot(&d->ep, UROCE_MR_WINDOW_2);

	expect_number(d, drill_to_state(d, UROCE_QP_SQD), 0);
	post(d, "BIND 101 key %u new %u addr 0 bytes 8 access %d", window, retag(window),
		ALL_RIGHTS);
	expect_nothing(d);
	expect_no_cqe(d);
	expect_number(d, drill_to_state(d, UROCE_QP_RTS), 0);
	expect_nothing(d);
	expect_cqe(d, "bind 101 SUCCESS len 0");
}

static void local_work_with_segments_is_refused(struct drill *d)
{
	post(d, "LOCAL_INV 100 key 5 len 8");
	expect_nothing(d);
	expect_cqe(d, "inv 100 LOC_QP_OP_ERR");
	expect_ended(d);
	expect_number(d, d->ep.qp->report.cause, UROCE_CAUSE_MALFORMED_WQE);
}

static void uc_binds_too(struct drill *d)
{
	struct endpoint_conf conf = drill_conf(d);
	uint32_t key;

	conf.caps.type = UROCE_QP_UC;
	drill_restart(d, &conf);
	key = bind_window(d, UROCE_MR_WINDOW_2);
	inject(d, "UC_RDMA_WRITE_ONLY psn +0 va %d rkey %u len 8 fill 4", WINDOW_AT, key);
	expect_memory(d, WINDOW_AT, 8, 4, 0);
	post(d, "LOCAL_INV 101 key %u", key);
	post(d, "LOCAL_INV 102 key %u", key);
	expect_nothing(d);
	expect_cqe(d, "inv 101 SUCCESS len 0; inv 102 LOC_QP_OP_ERR why 0x%x", UROCE_MR_NO_KEY);
	expect_state(d, UROCE_QP_SQE);
}

int main(void)
{
	static const struct drill_case cases[] = {
		{"a bound window opens its range to peers", a_window_opens_its_range},
		{"a window is not for local use", a_window_is_not_for_local_use},
		{"a window's rights are its own", rights_are_the_windows_own},
		{"binds that may not be complete in error", binds_that_may_not_be},
		{"a window to write through needs a writable region",
			writing_windows_need_a_writable_region},
		{"a type 1 window is bound again, and unbound by nothing",
			type_1_is_bound_again_and_unbound},
		{"a rebound window's old key is dead", an_old_key_is_dead},
		{"a type 2 window is bound once and invalidated",
			type_2_is_bound_once_and_invalidated},
		{"a type 2 window is for its binder alone", type_2_is_its_binders_alone},
		{"a zero-based window counts from zero", zero_based_windows_count_from_zero},
		{"a region stays while windows are bound to it", a_region_with_windows_stays},
		{"the peer invalidates a type 2 window", the_peer_invalidates_a_window},
		{"the peer invalidates a fast region", the_peer_invalidates_a_fast_region},
		{"what may not be invalidated ends the connection, and nothing is placed",
			what_the_peer_may_not_invalidate},
		{"a fast region serves both sides, at once", a_fast_region_serves_both_sides},
		{"registrations that may not be complete in error", registrations_that_may_not_be},
		{"windows hold a fast region", windows_hold_a_fast_region},
		{"an invalidation waits for all before it",
			an_invalidation_waits_for_all_before_it},
		{"a key that was invalidated before is not invalidated again",
			a_dead_key_is_not_invalidated_again},
		{"inline local work makes no sense", inline_local_work_is_refused},
		{"a fence holds a bind back", a_fence_holds_a_bind_back},
		{"local work is done once and completes in order",
			local_work_is_done_once_and_completes_in_order},
		{"reads find their place around local work",
			reads_find_their_place_behind_local_work},
		{"SQD holds local work", sqd_holds_local_work},
		{"local work with segments makes no sense", local_work_with_segments_is_refused},
		{"UC binds and invalidates too", uc_binds_too},
	};

	return DRILL_SUITE("window", cases);
}
