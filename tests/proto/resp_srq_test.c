/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A shared receive queue behind a queue pair: receives are taken in the order in which they were
 * posted, RNR when there are none, the limit's event once (InfiniBand 10.2.9, 9.7.5.2.8).
 */
#include <string.h>

#include "drill.h"

static void start(struct drill *d, uint32_t wr)
{
	struct endpoint_conf conf = drill_conf(d);

	conf.srq_wr = wr;
	drill_restart(d, &conf);
}

static void receives_in_order(struct drill *d)
{
	start(d, 8);
	for (uint32_t i = 0; i < 8; i++)
		post_recv(d, 200 + i, 0x1000 + 0x400 * i, 1024);
	expect_number(d, endpoint_post_recv(&d->ep, 300, 0, 8), false);
	for (uint32_t i = 0; i < 8; i++) {
		inject(d, "SEND_ONLY psn %+d ack len 16 fill %u", (int)i, i + 2);
		expect(d, "ACKNOWLEDGE psn +%u ACK msn %u", i, i + 1);
		expect_cqe(d, "recv %u SUCCESS len 16", 200 + i);
		expect_memory(d, 0x1000 + 0x400 * i, 16, i + 2, 0);
	}
	inject_dropped(d, UROCE_DROP_RNR, "SEND_ONLY psn +8 ack len 16");
	expect(d, "ACKNOWLEDGE psn +8 RNR NAK 0.01 ms msn 8");
	/* Taken is free again, before the completion is polled. */
	post_recv(d, 208, 0x1000, 1024);
	inject(d, "SEND_ONLY psn +8 ack len 16; SEND_ONLY psn +9 ack len 0");
	post_recv(d, 209, 0x1000, 1024);
	expect(d, "ACKNOWLEDGE psn +9 RNR NAK 0.01 ms msn 9");
	expect_cqe(d, "recv 208 SUCCESS len 16");
}

static void the_limit_is_reported_once(struct drill *d)
{
	start(d, 8);
	for (uint32_t i = 0; i < 8; i++)
		post_recv(d, 200 + i, 0x1000, 64);
	uroce_srq_arm(d->ep.srq, 6);
	for (uint32_t i = 0; i < 4; i++) {
		inject(d, "SEND_ONLY psn %+d ack len 4", (int)i);
		expect(d, "ACKNOWLEDGE psn +%u ACK msn %u", i, i + 1);
		expect_cqe(d, "recv %u SUCCESS len 4", 200 + i);
		/* 7, 6, and then 5 are left: fewer than 6. */
		expect_event(d, i == 2 ? "SRQ_LIMIT" : "nothing");
	}
	uroce_srq_arm(d->ep.srq, 4);
	inject(d, "SEND_ONLY psn +4 ack len 4");
	expect_event(d, "SRQ_LIMIT");
	uroce_srq_arm(d->ep.srq, 3);
	uroce_srq_arm(d->ep.srq, 0);
	inject(d, "SEND_ONLY psn +5 ack len 4; SEND_ONLY psn +6 ack len 4");
	expect_event(d, "nothing");
	expect(d, "ACKNOWLEDGE psn +6 ACK msn 7");
	expect_cqe(d, "recv 204 SUCCESS len 4; recv 205 SUCCESS len 4; recv 206 SUCCESS len 4");
}

static void writes_with_immediate_take_one(struct drill *d)
{
	start(d, 4);
	post_recv(d, 200, 0, 0);
	inject(d, "RDMA_WRITE_ONLY_WITH_IMMEDIATE psn +0 ack va 0x2000 len 8 imm 3");
	expect(d, "ACKNOWLEDGE psn +0 ACK msn 1");
	expect_cqe(d, "recv_imm 200 SUCCESS len 8 imm 3");
}

static void err_leaves_the_others_posted(struct drill *d)
{
	start(d, 4);
	post_recv(d, 200, 0x1000, 512);
	post_recv(d, 201, 0x1000, 512);
	inject(d, "SEND_FIRST psn +0 len 256");
	drill_to_state(d, UROCE_QP_ERR);
	/* The one in use ends; the rest may serve another queue pair. */
	expect_cqe(d, "recv 200 WR_FLUSH_ERR");
	expect_ended(d);
	expect_number(d, uroce_srq_count(d->ep.srq), 1);
}

static void a_receive_in_hand_goes_back_with_reset(struct drill *d)
{
	start(d, 4);
	post_recv(d, 200, 0x1000, 512);
	inject(d, "SEND_FIRST psn +0 len 256");
	drill_to_state(d, UROCE_QP_RESET);
	expect_no_cqe(d);
	expect_number(d, uroce_srq_count(d->ep.srq), 1);
}

/* An application that writes where it must not. */
static void scribbled_cells(struct drill *d)
{
	static const uint32_t values[] = {17, 255, 0xffff, UINT32_MAX};

	for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
		struct uroce_srq_cell *cell;

		start(d, 2);
		post_recv(d, 200, 0x1000, 64);
		cell = (struct uroce_srq_cell *)(void *)d->ep.srq->cells;
		cell->wqe.num_segs = values[i];
		inject_dropped(d, UROCE_DROP_REQUEST_REFUSED, "SEND_ONLY psn +0 ack len 4");
		expect(d, "ACKNOWLEDGE psn +0 NAK remote-operational-error msn 0");
		expect_cqe(d, "recv 200 LOC_QP_OP_ERR why 0x63");
		expect_ended(d);
	}
	start(d, 2);
	post_recv(d, 200, 0x1000, 64);
	atomic_store(&((struct uroce_srq_cell *)(void *)d->ep.srq->cells)->sequence, 77);
	inject_dropped(d, UROCE_DROP_RNR, "SEND_ONLY psn +0 ack len 4");
	expect(d, "ACKNOWLEDGE psn +0 RNR NAK 0.01 ms msn 0");
}

int main(void)
{
	static const struct drill_case cases[] = {
		{"receives are taken in order, and RNR says that there are none",
			receives_in_order},
		{"the limit is reported once for each arming", the_limit_is_reported_once},
		{"a WRITE with immediate takes one", writes_with_immediate_take_one},
		{"ERR ends the receive in use and leaves the others", err_leaves_the_others_posted},
		{"RESET gives the receive in use back", a_receive_in_hand_goes_back_with_reset},
		{"scribbled cells do no harm", scribbled_cells},
	};

	return DRILL_SUITE("resp_srq", cases);
}
