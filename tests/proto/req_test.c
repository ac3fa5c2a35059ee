/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The requester: which packets a work request becomes, and when they may leave.
 *
 * Opcodes, header fields and payload for every kind of work request at the sizes around one and
 * two MTUs, then what holds a packet back: the window, the fence, the number of READs, SQD.
 */
#include <string.h>

#include "drill.h"

static const uint32_t sizes[] = {
	0, 1, DRILL_MTU - 1, DRILL_MTU, DRILL_MTU + 1, 2 * DRILL_MTU, 2 * DRILL_MTU + 1};

enum {
	NUM_SIZES = sizeof(sizes) / sizeof(sizes[0])
};

/* How the packets of a message are called, and what each and the first and last of them carry. */
struct form {
	const char *wr;
	const char *base;    /* SEND, RDMA_WRITE */
	const char *suffix;  /* of LAST and ONLY */
	const char *trailer; /* of LAST and ONLY */
	bool reth;
	const char *wc;
};

static void expect_message(struct drill *d, const struct form *form, uint32_t psn, uint32_t bytes)
{
	uint32_t pkts = bytes == 0 ? 1 : (bytes - 1) / DRILL_MTU + 1;

	for (uint32_t i = 0; i < pkts; i++) {
		bool first = i == 0, last = i + 1 == pkts;
		uint32_t part = last ? bytes - i * DRILL_MTU : DRILL_MTU;
		char pad[16] = "", reth[64] = "";

		if (-part & 3)
			snprintf(pad, sizeof(pad), " pad %u", -part & 3);
		if (form->reth && first)
			snprintf(
				reth, sizeof(reth), " va 0x1000 rkey 0x00000abc dma_len %u", bytes);
		expect(d, "%s_%s%s psn +%u%s%s%s%s len %u", form->base,
			first && last	? "ONLY"
				: first ? "FIRST"
				: last	? "LAST"
					: "MIDDLE",
			last ? form->suffix : "", psn + i, last ? " ack" : "", pad, reth,
			last ? form->trailer : "", part);
		expect_payload(d, 0, 0x2000 + i * DRILL_MTU);
	}
	expect_nothing(d);
}

static void every_size(struct drill *d, const struct form *form)
{
	static const char *const ways[] = {"", " segs 16", " segs 3"};

	for (size_t way = 0; way < 3; way++) {
		for (size_t i = 0; i < NUM_SIZES; i++) {
			struct endpoint_conf conf = drill_conf(d);
			uint32_t pkts = sizes[i] == 0 ? 1 : (sizes[i] - 1) / DRILL_MTU + 1;

			drill_restart(d, &conf);
			post(d, "%s len %u at 0x2000%s", form->wr, sizes[i], ways[way]);
			expect_message(d, form, 0, sizes[i]);
			inject(d, "ACKNOWLEDGE psn +%u ACK msn 1", pkts - 1);
			expect_cqe(d, "%s 100 SUCCESS len %u", form->wc, sizes[i]);
			/* The next message follows. */
			post(d, "SEND 101 len 4");
			expect(d, "SEND_ONLY psn +%u ack len 4", pkts);
			inject(d, "ACKNOWLEDGE psn +%u ACK msn 2", pkts);
			expect_cqe(d, "send 101 SUCCESS len 4");
		}
	}
}

static void sends(struct drill *d)
{
	every_size(d, &(struct form){"SEND 100", "SEND", "", "", false, "send"});
}

static void sends_with_immediate(struct drill *d)
{
	every_size(d,
		&(struct form){"SEND_IMM 100 imm 0xa1b2c3d4", "SEND", "_WITH_IMMEDIATE",
			" imm 0xa1b2c3d4", false, "send"});
}

static void sends_with_invalidate(struct drill *d)
{
	every_size(d,
		&(struct form){"SEND_INV 100 inv 0x12345678", "SEND", "_WITH_INVALIDATE",
			" inv_rkey 0x12345678", false, "send"});
}

static void writes(struct drill *d)
{
	every_size(d, &(struct form){"WRITE 100", "RDMA_WRITE", "", "", true, "write"});
}

static void writes_with_immediate(struct drill *d)
{
	every_size(d,
		&(struct form){"WRITE_IMM 100 imm 1", "RDMA_WRITE", "_WITH_IMMEDIATE",
			" imm 0x00000001", true, "write"});
}

static void reads(struct drill *d)
{
	for (size_t i = 0; i < NUM_SIZES; i++) {
		struct endpoint_conf conf = drill_conf(d);
		uint32_t pkts = sizes[i] == 0 ? 1 : (sizes[i] - 1) / DRILL_MTU + 1;

		drill_restart(d, &conf);
		post(d, "READ 100 len %u at 0x2000 raddr 0x123456789abcdef rkey 0xfedcba98",
			sizes[i]);
		post(d, "SEND 101 len 4");
		expect(d,
			"RDMA_READ_REQUEST psn +0 ack va 0x123456789abcdef rkey 0xfedcba98 "
			"dma_len %u; SEND_ONLY psn +%u ack len 4; nothing",
			sizes[i], pkts);
		drill_to_state(d, UROCE_QP_ERR);
		expect_cqe(d, "read 100 WR_FLUSH_ERR; send 101 WR_FLUSH_ERR");
		expect_ended(d);
	}
}

static void inlined(struct drill *d)
{
	for (uint32_t bytes = 1; bytes <= 256; bytes += 85) {
		struct endpoint_conf conf = drill_conf(d);

		drill_restart(d, &conf);
		/* Inline data needs no key, and was taken when posted. */
		post(d, "WRITE 100 len %u at 0x2000 inline lkey 0xbad00", bytes);
		memset(d->ep.mem + 0x2000, 0xff, 512);
		for (uint32_t i = 0; i < bytes; i++)
			d->ep.mem[0x3000 + i] = drill_pattern(0, 0x2000 + i);
		expect(d,
			"RDMA_WRITE_ONLY psn +0 ack%s va 0x1000 rkey 0x00000abc dma_len %u len %u",
			-bytes & 3 ? (bytes % 4 == 3		      ? " pad 1"
						     : bytes % 4 == 2 ? " pad 2"
								      : " pad 3")
				   : "",
			bytes, bytes);
		expect_payload(d, 0, 0x2000);
		inject(d, "ACKNOWLEDGE psn +0 ACK");
		expect_cqe(d, "write 100 SUCCESS len %u", bytes);
	}
}

static void solicited(struct drill *d)
{
	post(d, "SEND 100 len 600 se");
	post(d, "WRITE_IMM 101 len 8 imm 1 se");
	expect(d,
		"SEND_FIRST psn +0 len 256; SEND_MIDDLE psn +1 len 256; "
		"SEND_LAST psn +2 se ack len 88; "
		"RDMA_WRITE_ONLY_WITH_IMMEDIATE psn +3 se ack va 0x1000 rkey 0x00000abc "
		"dma_len 8 imm 0x00000001 len 8");
	inject(d, "ACKNOWLEDGE psn +3 ACK");
	expect_cqe(d, "send 100 SUCCESS len 600; write 101 SUCCESS len 8");
}

/* Everything in front of the BTH. */
static void frame_fields(struct drill *d)
{
	post(d, "SEND 100 len 5");
	expect(d, "SEND_ONLY psn +0 ack pad 3 len 5");
	expect_number(d, d->packet.migreq, true);
	expect_number(d, d->packet.pkey, 0xffff);
	expect_number(d, d->packet.dqpn, DRILL_PEER_QPN);
	expect_number(d, d->packet.udp_sport >= 0xc000, true);
	expect_number(d, strcmp(d->packet.src, "192.0.2.1") == 0, true);
	expect_number(d, strcmp(d->packet.dst, "192.0.2.2") == 0, true);
	expect_number(d, d->frame_bytes, 14 + 20 + 8 + 12 + 8 + 4);
	expect_number(d, memcmp(d->frame, d->ep.path.dmac, 6), 0);
	expect_number(d, memcmp(d->frame + 6, d->ep.path.smac, 6), 0);
	expect_number(d, d->frame[14 + 6], 0x40); /* do not fragment */
	expect_number(d, d->frame[14 + 8], 64);
	expect_number(d, d->frame[40] | d->frame[41], 0); /* no UDP checksum */
	for (uint32_t i = 0; i < 3; i++)
		expect_number(d, d->frame[d->packet.payload_offset + 5 + i], 0);
	inject(d, "ACKNOWLEDGE psn +0 ACK");
	expect_cqe(d, "send 100 SUCCESS len 5");
}

/* ---- asking for acknowledgements ---- */

static void ack_requests_within(struct drill *d)
{
	post(d, "SEND 100 len %u at 0", 100 * DRILL_MTU);
	for (uint32_t i = 0; i < 100; i++) {
		char line[DRILL_TEXT_BYTES];

		expect_number(d, drill_next_line(d, line, sizeof(line)), true);
		/* Every 32nd packet, so that the window never stands still. */
		expect_number(d, d->packet.ackreq, i % 32 == 31 || i == 99);
	}
	inject(d, "ACKNOWLEDGE psn +99 ACK");
	expect_cqe(d, "send 100 SUCCESS len %u", 100 * DRILL_MTU);
}

/* What was counted before a retry counts no more. */
static void ack_requests_again(struct drill *d)
{
	char line[DRILL_TEXT_BYTES];

	post(d, "SEND 100 len %u at 0", 40 * DRILL_MTU);
	for (uint32_t i = 0; i < 40; i++)
		expect_number(d, drill_next_line(d, line, sizeof(line)), true);
	inject(d, "ACKNOWLEDGE psn +3 NAK 0");
	for (uint32_t i = 3; i < 40; i++) {
		expect_number(d, drill_next_line(d, line, sizeof(line)), true);
		expect_number(d, (d->packet.psn - d->sq_psn) & 0xffffff, i);
		expect_number(d, d->packet.ackreq, i == 3 + 31 || i == 39);
	}
	inject(d, "ACKNOWLEDGE psn +39 ACK");
	expect_cqe(d, "send 100 SUCCESS len %u", 40 * DRILL_MTU);
}

static void window(struct drill *d)
{
	for (uint32_t window = 1; window <= 5; window++) {
		struct endpoint_conf conf = drill_conf(d);

		conf.caps.window_pkts = window;
		drill_restart(d, &conf);
		for (uint32_t i = 0; i < 8; i++)
			post(d, "SEND %u len 4", 100 + i);
		for (uint32_t i = 0; i < window; i++)
			expect(d, "SEND_ONLY psn +%u ack len 4", i);
		expect_nothing(d);
		for (uint32_t i = 0; i < 8; i++) {
			inject(d, "ACKNOWLEDGE psn +%u ACK", i);
			expect_cqe(d, "send %u SUCCESS len 4", 100 + i);
			if (i + window < 8)
				expect(d, "SEND_ONLY psn +%u ack len 4", i + window);
			expect_nothing(d);
		}
	}
}

static void window_asks_before_it_closes(struct drill *d)
{
	struct endpoint_conf conf = drill_conf(d);

	conf.caps.window_pkts = 3;
	drill_restart(d, &conf);
	post(d, "SEND 100 len 1536");
	expect(d,
		"SEND_FIRST psn +0 len 256; SEND_MIDDLE psn +1 len 256; "
		"SEND_MIDDLE psn +2 ack len 256; nothing");
	inject(d, "ACKNOWLEDGE psn +2 ACK");
	expect(d,
		"SEND_MIDDLE psn +3 len 256; SEND_MIDDLE psn +4 len 256; "
		"SEND_LAST psn +5 ack len 256; nothing");
	inject(d, "ACKNOWLEDGE psn +5 ACK");
	expect_cqe(d, "send 100 SUCCESS len 1536");
}

/* ---- what has to wait ---- */

static void fence(struct drill *d)
{
	post(d, "READ 100 len 8 at 0x2000");
	post(d, "WRITE 101 len 4");
	post(d, "WRITE 102 len 4 fence");
	post(d, "WRITE 103 len 4");
	expect(d,
		"RDMA_READ_REQUEST psn +0 ack va 0x1000 rkey 0x00000abc dma_len 8; "
		"RDMA_WRITE_ONLY psn +1 ack va 0x1000 rkey 0x00000abc dma_len 4 len 4; nothing");
	inject(d, "RDMA_READ_RESPONSE_ONLY psn +0 ACK len 8");
	expect_cqe(d, "read 100 SUCCESS len 8");
	expect(d,
		"RDMA_WRITE_ONLY psn +2 ack va 0x1000 rkey 0x00000abc dma_len 4 len 4; "
		"RDMA_WRITE_ONLY psn +3 ack va 0x1000 rkey 0x00000abc dma_len 4 len 4");
	inject(d, "ACKNOWLEDGE psn +3 ACK");
	expect_cqe(d, "write 101 SUCCESS len 4; write 102 SUCCESS len 4; write 103 SUCCESS len 4");
}

static void fence_sends_what_was_read(struct drill *d)
{
	post(d, "READ 100 len 300 at 0x2000");
	post(d, "SEND 101 len 300 at 0x2000 fence");
	expect(d, "RDMA_READ_REQUEST psn +0 ack va 0x1000 rkey 0x00000abc dma_len 300; nothing");
	inject(d, "RDMA_READ_RESPONSE_FIRST psn +0 ACK len 256");
	expect_nothing(d);
	inject(d, "RDMA_READ_RESPONSE_LAST psn +1 ACK len 44 at 256");
	expect_cqe(d, "read 100 SUCCESS len 300");
	expect(d, "SEND_FIRST psn +2 len 256");
	expect_payload(d, 1, 0);
	expect(d, "SEND_LAST psn +3 ack len 44");
	expect_payload(d, 1, 256);
	inject(d, "ACKNOWLEDGE psn +3 ACK");
	expect_cqe(d, "send 101 SUCCESS len 300");
}

static void fence_after_a_retry(struct drill *d)
{
	post(d, "READ 100 len 8 at 0x2000");
	post(d, "WRITE 101 len 4 fence");
	expect(d, "RDMA_READ_REQUEST psn +0 ack va 0x1000 rkey 0x00000abc dma_len 8; nothing");
	pass(d, 4096ull << 14);
	expect(d, "RDMA_READ_REQUEST psn +0 ack va 0x1000 rkey 0x00000abc dma_len 8; nothing");
	inject(d, "RDMA_READ_RESPONSE_ONLY psn +0 ACK len 8");
	expect(d, "RDMA_WRITE_ONLY psn +1 ack va 0x1000 rkey 0x00000abc dma_len 4 len 4");
	inject(d, "ACKNOWLEDGE psn +1 ACK");
	expect_cqe(d, "read 100 SUCCESS len 8; write 101 SUCCESS len 4");
}

static void reads_outstanding(struct drill *d)
{
	for (uint32_t limit = 1; limit <= 4; limit++) {
		struct endpoint_conf conf = drill_conf(d);

		conf.attr.max_rd_atomic = (uint8_t)limit;
		drill_restart(d, &conf);
		for (uint32_t i = 0; i < 6; i++)
			post(d, "%s %u len 8 at 0x2000", i & 1 ? "FADD" : "READ", 100 + i);
		for (uint32_t i = 0; i < 6 + limit; i++) {
			if (i >= limit)
				inject(d,
					(i - limit) & 1
						? "ATOMIC_ACKNOWLEDGE psn +%u ACK orig 1"
						: "RDMA_READ_RESPONSE_ONLY psn +%u ACK len 8",
					i - limit);
			if (i >= 6)
				continue;
			if (i & 1)
				expect(d,
					"FETCH_ADD psn +%u ack va 0x1000 rkey 0x00000abc "
					"swap_add 0x0 compare 0x0",
					i);
			else
				expect(d,
					"RDMA_READ_REQUEST psn +%u ack va 0x1000 "
					"rkey 0x00000abc dma_len 8",
					i);
			if (i + 1 >= limit)
				expect_nothing(d);
		}
		expect_cqe(d,
			"read 100 SUCCESS len 8; fadd 101 SUCCESS len 8; "
			"read 102 SUCCESS len 8; fadd 103 SUCCESS len 8; "
			"read 104 SUCCESS len 8; fadd 105 SUCCESS len 8");
	}
}

static void none_outstanding_allowed(struct drill *d)
{
	static const struct {
		const char *line, *cqe;
	} rows[] = {{"READ 101 len 8 at 0x2000", "read 101 LOC_QP_OP_ERR"},
		{"FADD 101 len 8 at 0x2000", "fadd 101 LOC_QP_OP_ERR"}};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct endpoint_conf conf = drill_conf(d);

		conf.attr.max_rd_atomic = 0;
		drill_restart(d, &conf);
		post(d, "SEND 100 len 8");
		post(d, "%s", rows[i].line);
		expect(d, "SEND_ONLY psn +0 ack len 8; nothing");
		expect_no_cqe(d);
		inject(d, "ACKNOWLEDGE psn +0 ACK");
		expect_cqe(d, "send 100 SUCCESS len 8");
		expect_cqe(d, "%s", rows[i].cqe);
		expect_ended(d);
	}
}

static void sqd_holds(struct drill *d)
{
	const struct uroce_qp_attr sqd = {.state = UROCE_QP_SQD};

	post(d, "SEND 100 len 600");
	expect(d, "SEND_FIRST psn +0 len 256");
	expect_number(d,
		drill_modify(d, &sqd, UROCE_QP_ATTR_STATE | UROCE_QP_ATTR_EN_SQD_ASYNC_NOTIFY), 0);
	post(d, "SEND 101 len 4");
	/* What was begun is finished, what was not is held. */
	expect(d, "SEND_MIDDLE psn +1 len 256; SEND_LAST psn +2 ack len 88; nothing");
	expect_event(d, "nothing");
	inject(d, "ACKNOWLEDGE psn +2 ACK");
	expect_cqe(d, "send 100 SUCCESS len 600");
	expect_event(d, "SQ_DRAINED");
	expect_nothing(d);
	expect_number(d, drill_to_state(d, UROCE_QP_RTS), 0);
	expect(d, "SEND_ONLY psn +3 ack len 4");
	inject(d, "ACKNOWLEDGE psn +3 ACK");
	expect_cqe(d, "send 101 SUCCESS len 4");
	/* With nothing to wait for it is drained at once. */
	expect_number(d,
		drill_modify(d, &sqd, UROCE_QP_ATTR_STATE | UROCE_QP_ATTR_EN_SQD_ASYNC_NOTIFY), 0);
	expect_event(d, "SQ_DRAINED");
	expect_number(d, drill_to_state(d, UROCE_QP_RTS), 0);
	expect_number(d, drill_to_state(d, UROCE_QP_SQD), 0);
	expect_event(d, "nothing");
}

static void sqd_retransmits(struct drill *d)
{
	post(d, "SEND 100 len 4");
	expect(d, "SEND_ONLY psn +0 ack len 4");
	expect_number(d, drill_to_state(d, UROCE_QP_SQD), 0);
	pass(d, 4096ull << 14);
	expect(d, "SEND_ONLY psn +0 ack len 4");
	inject(d, "RDMA_WRITE_ONLY psn +0 ack va 0x1000 len 8; ACKNOWLEDGE psn +0 ACK");
	expect(d, "ACKNOWLEDGE psn +0 ACK msn 1");
	expect_cqe(d, "send 100 SUCCESS len 4");
}

static void two_to_the_23(struct drill *d)
{
	/* Never more than 2^23 PSNs outstanding: what follows the longest READ has to wait. */
	struct endpoint_conf conf = drill_conf(d);

	conf.caps.window_pkts = 1u << 23;
	drill_restart(d, &conf);
	d->ep.qp->attr.path_mtu_bytes = DRILL_MTU;
	post(d, "READ 100 len %u at 0", 1u << 31);
	post(d, "SEND 101 len 4");
	expect(d,
		"RDMA_READ_REQUEST psn +0 ack va 0x1000 rkey 0x00000abc dma_len 2147483648; "
		"nothing");
	inject(d, "RDMA_READ_RESPONSE_FIRST psn +0 ACK len 256");
	expect(d, "SEND_ONLY psn -8388608 ack len 4; nothing");
	drill_to_state(d, UROCE_QP_ERR);
	expect_cqe(d, "read 100 WR_FLUSH_ERR; send 101 WR_FLUSH_ERR");
	expect_ended(d);
}

static void too_long(struct drill *d)
{
	struct uroce_send_wqe *wqe = uroce_ring_reserve(&d->ep.qp->send_ring);

	*wqe = (struct uroce_send_wqe){.wr_id = 100, .opcode = UROCE_WR_RDMA_WRITE, .num_segs = 2};
	uroce_send_wqe_segs(wqe)[0] = (struct uroce_seg){0, 1u << 31, d->ep.key};
	uroce_send_wqe_segs(wqe)[1] = (struct uroce_seg){0, 1, d->ep.key};
	uroce_ring_advance(&d->ep.qp->send_ring);
	uroce_ring_publish_seq(&d->ep.qp->send_ring);
	uroce_bell_ring(&d->ep.core.bells, &d->ep.qp->bell);
	expect_nothing(d);
	expect_cqe(d, "write 100 LOC_QP_OP_ERR");
	expect_ended(d);
}

static void source_port_is_stable(struct drill *d)
{
	uint16_t port = 0;

	for (uint32_t i = 0; i < 4; i++) {
		post(d, "SEND %u len 4", 100 + i);
		expect(d, "SEND_ONLY psn +%u ack len 4", i);
		if (i > 0)
			expect_number(d, d->packet.udp_sport, port);
		port = d->packet.udp_sport;
	}
	inject(d, "RDMA_WRITE_ONLY psn +0 ack len 0; ACKNOWLEDGE psn +3 ACK");
	expect(d, "ACKNOWLEDGE psn +0 ACK msn 1");
	expect_number(d, d->packet.udp_sport, port);
	expect_cqe(d,
		"send 100 SUCCESS len 4; send 101 SUCCESS len 4; send 102 SUCCESS len 4; "
		"send 103 SUCCESS len 4");
}

int main(void)
{
	static const struct drill_case cases[] = {
		{"SENDs of every size have the right packets", sends},
		{"SENDs with immediate of every size have the right packets", sends_with_immediate},
		{"SENDs with invalidate of every size have the right packets",
			sends_with_invalidate},
		{"WRITEs of every size have the right packets", writes},
		{"WRITEs with immediate of every size have the right packets",
			writes_with_immediate},
		{"READs of every size take the right PSNs", reads},
		{"inline data is taken when posted and needs no key", inlined},
		{"solicited is said with the last packet alone", solicited},
		{"Ethernet, IPv4, UDP and BTH are what the path says", frame_fields},
		{"a long message asks for acknowledgements on the way", ack_requests_within},
		{"a retry begins to count anew when it asks for acknowledgements",
			ack_requests_again},
		{"the window is never exceeded and moves with every ACK", window},
		{"the last packet of a window asks for an acknowledgement",
			window_asks_before_it_closes},
		{"a fence holds work until READs before it are done", fence},
		{"a fenced SEND sends what the READ brought", fence_sends_what_was_read},
		{"a fence holds after a retry too", fence_after_a_retry},
		{"no more READs and atomics are outstanding than allowed", reads_outstanding},
		{"a READ or atomic where none may be outstanding is an error, not a wait",
			none_outstanding_allowed},
		{"SQD finishes what was begun and holds the rest", sqd_holds},
		{"in SQD what is lost is sent again", sqd_retransmits},
		{"no more than 2^23 PSNs are outstanding", two_to_the_23},
		{"a message over 2^31 bytes is refused", too_long},
		{"the source port of a queue pair is stable", source_port_is_stable},
	};

	return DRILL_SUITE("req", cases);
}
