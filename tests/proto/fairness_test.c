/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Shares: what the peer asks for never starves what we ask for, and one queue pair not another.
 *
 * Frames are pulled in bursts of one size after another and counted by bytes. The peer's READs are
 * two gigabytes each, over a region whose memory is only its beginning: not more is ever sent here.
 */
#include <string.h>

#include "drill.h"

enum {
	FRAMES = 4000,
	MTU = 1024,
	MEM = 16 << 20,
	BURST_MAX = 64
};

struct shares {
	uint64_t requests, answers; /* bytes */
	uint32_t longest_wait;	    /* frames between two requests */
};

static void acknowledge_all(struct drill *d)
{
	struct uroce_cqe cqe;

	inject(d, "ACKNOWLEDGE psn +%u ACK", (d->ep.qp->req.psn_high - d->sq_psn - 1) & 0xffffff);
	while (endpoint_poll(&d->ep, &cqe, 1) == 1)
		;
}

/* Keeps writes posted while frames are pulled. */
static struct shares pull(struct drill *d, uint32_t burst)
{
	static uint8_t data[BURST_MAX][MTU + UROCE_OVERHEAD_BYTES_MAX];
	struct uroce_slot slots[BURST_MAX];
	struct shares shares = {0};
	uint32_t wait = 0;

	for (uint32_t i = 0; i < burst; i++)
		slots[i] = (struct uroce_slot){
			.data = data[i], .capacity_bytes = MTU + UROCE_OVERHEAD_BYTES_MAX};
	for (uint32_t frames = 0; frames < FRAMES;) {
		uint32_t n;

		while (d->ep.qp->req.tail - d->ep.qp->req.head < 32) {
			post(d, "WRITE 1 len %u", 4 * MTU);
			uroce_core_tx(&d->ep.core, d->now_ns, slots, 0);
		}
		n = uroce_core_tx(&d->ep.core, d->now_ns, slots, burst);
		for (uint32_t i = 0; i < n; i++) {
			uint8_t opcode = slots[i].data[42];
			bool request = opcode < 0x0d;

			*(request ? &shares.requests : &shares.answers) += slots[i].bytes;
			wait = request ? 0 : wait + 1;
			if (wait > shares.longest_wait)
				shares.longest_wait = wait;
		}
		frames += n;
		if (n == 0 && d->ep.qp->req.psn_una == d->ep.qp->req.psn_high)
			break;
		acknowledge_all(d);
	}
	return shares;
}

static void peer_with_many_reads(struct drill *d)
{
	static const uint32_t bursts[] = {1, 2, 7, 32, 64};

	for (size_t i = 0; i < sizeof(bursts) / sizeof(bursts[0]); i++) {
		struct endpoint_conf conf = drill_conf(d);
		struct uroce_mr_attr huge = {.access = UROCE_ACCESS_REMOTE_READ,
			.addr = 0x100000000,
			.bytes = 1ull << 31,
			.key = 0x7700};
		struct shares shares;
		uint32_t key;

		conf.mtu_bytes = MTU;
		conf.mem_bytes = MEM;
		drill_restart(d, &conf);
		huge.pd = d->ep.qp->pd;
		huge.ptr = d->ep.mem;
		expect_number(d, uroce_mr_table_add(&d->ep.mrs, &huge, 1, &key), 0);
		for (uint32_t r = 0; r < 16; r++)
			/* In the PSN space of the peer each takes 2^21. */
			inject(d,
				"RDMA_READ_REQUEST psn +%u absva 0x100000000 rkey 0x7700 "
				"dma 0x%x",
				r << 21, 1u << 31);
		shares = pull(d, bursts[i]);
		/* By bytes: half each; neither less than 45 in 100. */
		expect_number(
			d, shares.requests * 100 >= 45 * (shares.requests + shares.answers), true);
		expect_number(
			d, shares.answers * 100 >= 45 * (shares.requests + shares.answers), true);
		expect_number(d, shares.longest_wait <= 64, true);
		drill_to_state(d, UROCE_QP_RESET);
		while (d->ep.core.events.head != d->ep.core.events.tail)
			d->ep.core.events.head++;
		acknowledge_all(d);
	}
}

int main(void)
{
	static const struct drill_case cases[] = {
		{"a peer with sixteen READs of 2 GiB leaves local WRITEs their share",
			peer_with_many_reads},
	};

	return DRILL_SUITE("fairness", cases);
}
