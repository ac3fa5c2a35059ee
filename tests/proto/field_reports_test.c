/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What users of other implementations have reported in public, put to this one as a small input.
 *
 * Each case is named after its report (project and number). Where the whole kind of a fault has a
 * test of its own elsewhere, the case here is only the input of the report.
 */
#include <string.h>

#include "drill.h"

#define TIMEOUT_NS (4096ull << 14)

static void again(struct drill *d)
{
	struct endpoint_conf conf = drill_conf(d);

	drill_restart(d, &conf);
}

/* ---- ICRC and framing ---- */

static void icrc_with_every_pad(struct drill *d)
{
	for (uint32_t bytes = 0; bytes <= 67; bytes++) {
		char pad[16] = "";

		if (-bytes & 3)
			snprintf(pad, sizeof(pad), " pad %u", -bytes & 3);
		again(d);
		/* Out: decoded and summed by somebody else. */
		post(d, "SEND 100 len %u", bytes);
		expect(d, "SEND_ONLY psn +0 ack%s len %u", pad, bytes);
		inject(d, "ACKNOWLEDGE psn +0 ACK");
		expect_cqe(d, "send 100 SUCCESS len %u", bytes);
		/* In: built and summed by somebody else. */
		inject(d, "RDMA_WRITE_ONLY psn +0 ack va 0x1000 len %u", bytes);
		expect(d, "ACKNOWLEDGE psn +0 ACK msn 1");
		if (-bytes & 3)
			inject_dropped(d, UROCE_DROP_ICRC,
				"RDMA_WRITE_ONLY psn +1 ack va 0x1000 len %u dirtypad", bytes);
	}
}

static void icrc_modes(struct drill *d)
{
	d->ep.core.conf.icrc_mode = UROCE_ICRC_IGNORE;
	inject(d, "RDMA_WRITE_ONLY psn +0 ack va 0x1000 len 8 badicrc");
	expect(d, "ACKNOWLEDGE psn +0 ACK msn 1");
	d->ep.core.conf.icrc_mode = UROCE_ICRC_OFF;
	inject(d, "RDMA_WRITE_ONLY psn +1 ack va 0x1000 len 8 badicrc");
	expect(d, "ACKNOWLEDGE psn +1 ACK msn 2 icrc absent");
	d->ep.core.conf.icrc_mode = UROCE_ICRC_VERIFY;
	inject_dropped(d, UROCE_DROP_ICRC, "RDMA_WRITE_ONLY psn +2 ack va 0x1000 len 8 badicrc");
}

static void ethernet_padding(struct drill *d)
{
	static const uint32_t trails[] = {1, 2, 4, 18, 46};

	for (uint32_t i = 0; i < 5; i++) {
		post_recv(d, 200 + i, 0x1000, 64);
		inject(d, "SEND_ONLY psn +%u ack len 1 trail %u", i, trails[i]);
		expect(d, "ACKNOWLEDGE psn +%u ACK msn %u", i, i + 1);
		expect_cqe(d, "recv %u SUCCESS len 1", 200 + i);
	}
	post(d, "SEND 100 len 4");
	expect(d, "SEND_ONLY psn +0 ack len 4");
	inject(d, "ACKNOWLEDGE psn +0 ACK trail 4");
	expect_cqe(d, "send 100 SUCCESS len 4");
	expect_memory(d, 0x1001, 63, 0, 0x1001);
}

static void udp_checksum(struct drill *d)
{
	uint8_t bytes[DRILL_FRAME_BYTES];
	uint32_t n = drill_build_frame(d, "RDMA_WRITE_ONLY psn +0 ack va 0x1000 len 8", bytes);

	/* Not zero and wrong: counted, and the ICRC decides. */
	bytes[40] = 0x12;
	drill_inject_bytes(d, bytes, n);
	expect_number(d, d->drop, UROCE_ACCEPTED);
	expect_number(d, d->ep.core.counters.udp_checksum_wrong, 1);
	expect(d, "ACKNOWLEDGE psn +0 ACK msn 1");
}

static void destination_mac(struct drill *d)
{
	uint8_t bytes[DRILL_FRAME_BYTES];
	uint32_t n = drill_build_frame(d, "RDMA_WRITE_ONLY psn +0 ack va 0x1000 len 8", bytes);

	bytes[0] ^= 4;
	drill_inject_bytes(d, bytes, n);
	expect_number(d, d->drop, UROCE_DROP_NOT_OUR_MAC);
	expect_nothing(d);
	d->ep.core.conf.local.promiscuous = true;
	drill_inject_bytes(d, bytes, n);
	expect(d, "ACKNOWLEDGE psn +0 ACK msn 1");
}

/* ---- MTU and length ---- */

static void first_message_of_two_packets(struct drill *d)
{
	post_recv(d, 200, 0x1000, 2048);
	post_recv(d, 201, 0x2000, 2048);
	inject(d, "SEND_ONLY psn +0 ack len 256");
	inject(d, "SEND_FIRST psn +1 len 256; SEND_LAST psn +2 ack len 1 at 256");
	expect(d, "ACKNOWLEDGE psn +2 ACK msn 2");
	expect_cqe(d, "recv 200 SUCCESS len 256; recv 201 SUCCESS len 257");
	expect_memory(d, 0x2000, 257, 1, 0);
	post(d, "SEND 100 len 256");
	post(d, "SEND 101 len 257");
	expect(d,
		"SEND_ONLY psn +0 ack len 256; SEND_FIRST psn +1 len 256; "
		"SEND_LAST psn +2 ack pad 3 len 1");
	inject(d, "ACKNOWLEDGE psn +2 ACK");
	expect_cqe(d, "send 100 SUCCESS len 256; send 101 SUCCESS len 257");
}

static void peers_of_different_mtu(struct drill *d)
{
	post_recv(d, 200, 0x1000, 4096);
	inject_dropped(d, UROCE_DROP_REQUEST_REFUSED, "SEND_FIRST psn +0 len 1024");
	expect(d, "ACKNOWLEDGE psn +0 NAK invalid-request msn 0");
	expect_event(d, "QP_REQ_ERR");
	expect_cqe(d, "recv 200 WR_FLUSH_ERR");
	expect_ended(d);
	/* In words: MTU mismatch, got 1024 want 256. */
	expect_number(d, d->ep.qp->report.refusal, UROCE_REFUSAL_MTU);
	expect_number(d, d->ep.qp->report.refusal_got, 1024);
	expect_number(d, d->ep.qp->report.refusal_want, 256);
}

static void responder_length_check(struct drill *d)
{
	post_recv(d, 200, 0x1000, 7);
	inject_dropped(d, UROCE_DROP_REQUEST_REFUSED, "SEND_ONLY psn +0 ack len 8");
	expect(d, "ACKNOWLEDGE psn +0 NAK invalid-request msn 0");
	expect_cqe(d, "recv 200 LOC_LEN_ERR why 0x61");
	expect_ended(d);
	expect_memory(d, 0x1000, 16, 0, 0x1000);
}

static void zero_length_keys(struct drill *d)
{
	inject(d,
		"RDMA_WRITE_ONLY psn +0 ack absva 0xffffffffffffffff rkey 0xffffffff len 0; "
		"RDMA_READ_REQUEST psn +1 absva 0xffffffffffffffff rkey 0xffffffff dma 0");
	expect(d, "RDMA_READ_RESPONSE_ONLY psn +1 ACK msn 2 len 0");
	post(d, "WRITE 100 len 0");
	post(d, "READ 101 len 0");
	expect(d,
		"RDMA_WRITE_ONLY psn +0 ack va 0x1000 rkey 0x00000abc dma_len 0 len 0; "
		"RDMA_READ_REQUEST psn +1 ack va 0x1000 rkey 0x00000abc dma_len 0");
	inject(d, "RDMA_READ_RESPONSE_ONLY psn +1 ACK len 0");
	expect_cqe(d, "write 100 SUCCESS len 0; read 101 SUCCESS len 0");
}

static void write_with_immediate_lengths(struct drill *d)
{
	/* A receive without segments, and its completion carries the length of the payload. */
	post_recv(d, 200, 0, 0);
	inject(d,
		"RDMA_WRITE_FIRST psn +0 va 0x1000 dma 300 len 256; "
		"RDMA_WRITE_LAST_WITH_IMMEDIATE psn +1 ack len 44 imm 9");
	expect(d, "ACKNOWLEDGE psn +1 ACK msn 1");
	expect_cqe(d, "recv_imm 200 SUCCESS len 300 imm 9");
}

/* ---- reliability ---- */

static void lost_ack_is_sent_again(struct drill *d)
{
	inject(d, "RDMA_WRITE_ONLY psn +0 ack len 0; RDMA_WRITE_ONLY psn +1 ack len 0");
	expect(d, "ACKNOWLEDGE psn +1 ACK msn 2");
	/* The peer never got it, and sends again. */
	for (int i = 0; i < 3; i++) {
		inject(d, "RDMA_WRITE_ONLY psn +0 len 0");
		expect(d, "ACKNOWLEDGE psn +1 ACK msn 2");
	}
}

static void psn_of_the_session_before(struct drill *d)
{
	for (uint32_t i = 0; i < 4; i++) {
		inject(d, "RDMA_WRITE_ONLY psn +0 ack len 0");
		expect(d, "ACKNOWLEDGE psn +0 ACK msn 1");
		post(d, "SEND 100 len 4");
		expect(d, "SEND_ONLY psn +0 ack len 4");
		inject(d, "ACKNOWLEDGE psn +0 ACK");
		expect_cqe(d, "send 100 SUCCESS len 4");
		expect_number(d, drill_to_state(d, UROCE_QP_RESET), 0);
		d->rq_psn = d->ep.conf.rq_psn = 0x100 * (i + 1);
		d->sq_psn = d->ep.conf.sq_psn = 0x200 * (i + 1);
		endpoint_connect(&d->ep, DRILL_PEER_QPN);
	}
}

static void timeout_as_set(struct drill *d)
{
	struct endpoint_conf conf = drill_conf(d);

	conf.attr.timeout = 18;
	drill_restart(d, &conf);
	post(d, "SEND 100 len 4");
	expect(d, "SEND_ONLY psn +0 ack len 4");
	/* Not at 2, 4, 8, 16 ms, nor ever before its time. */
	for (uint32_t ms = 1; ms < 1073; ms++) {
		pass(d, DRILL_MS);
		expect_nothing(d);
	}
	pass(d, 2 * DRILL_MS);
	expect(d, "SEND_ONLY psn +0 ack len 4");
	inject(d, "ACKNOWLEDGE psn +0 ACK");
	expect_cqe(d, "send 100 SUCCESS len 4");
}

static void ghost_ack(struct drill *d)
{
	post(d, "SEND 100 len 4");
	expect(d, "SEND_ONLY psn +0 ack len 4");
	inject_dropped(d, UROCE_DROP_GHOST_RESPONSE, "ACKNOWLEDGE psn +1 ACK");
	expect_no_cqe(d);
	inject(d, "ACKNOWLEDGE psn +0 ACK");
	expect_cqe(d, "send 100 SUCCESS len 4");
}

static void unexpected_opcode(struct drill *d)
{
	post(d, "SEND 100 len 4");
	expect(d, "SEND_ONLY psn +0 ack len 4");
	inject_dropped(d, UROCE_DROP_RESPONSE_BAD, "ATOMIC_ACKNOWLEDGE psn +0 ACK orig 1");
	expect_cqe(d, "send 100 BAD_RESP_ERR why 0x12");
	expect_ended(d);
}

static void partial_retry(struct drill *d)
{
	post(d, "READ 100 len 600 at 0x2000");
	expect(d, "RDMA_READ_REQUEST psn +0 ack va 0x1000 rkey 0x00000abc dma_len 600");
	inject(d, "RDMA_READ_RESPONSE_FIRST psn +0 ACK len 256");
	pass(d, TIMEOUT_NS);
	expect(d, "RDMA_READ_REQUEST psn +1 ack va 0x1100 rkey 0x00000abc dma_len 344");
	inject(d,
		"RDMA_READ_RESPONSE_FIRST psn +1 ACK len 256 at 256; "
		"RDMA_READ_RESPONSE_LAST psn +2 ACK len 88 at 512");
	expect_cqe(d, "read 100 SUCCESS len 600");
	expect_memory(d, 0x2000, 600, 1, 0);
}

/* "Status 12": runs the retries out after this has come in, and looks at what the report says. */
static const struct uroce_qp_report *retries_run_out(struct drill *d, const char *line)
{
	struct endpoint_conf conf = drill_conf(d);

	conf.attr.retry_cnt = 1;
	drill_restart(d, &conf);
	post(d, "SEND 100 len 4");
	expect(d, "SEND_ONLY psn +0 ack len 4");
	if (line)
		inject(d, "%s", line);
	pass(d, TIMEOUT_NS);
	expect(d, "SEND_ONLY psn +0 ack len 4");
	pass(d, TIMEOUT_NS);
	expect_cqe(d, "send 100 RETRY_EXC_ERR why 0x2");
	expect_ended(d);
	expect_number(d, d->ep.qp->report.cause, UROCE_CAUSE_TIMEOUT);
	expect_number(d, d->ep.qp->report.status, UROCE_STATUS_RETRY_EXC_ERR);
	expect_number(d, d->ep.qp->report.detail, 2);
	expect_number(d, d->ep.qp->report.error_psn, d->sq_psn);
	return &d->ep.qp->report;
}

static void status_12_has_a_cause(struct drill *d)
{
	const struct uroce_qp_report *report = retries_run_out(d, NULL);

	expect_number(d, report->heard, false);
	expect_number(d, report->drops, 0);
	report = retries_run_out(d, "ACKNOWLEDGE psn +0 ACK badicrc");
	expect_number(d, report->heard, false);
	expect_number(d, report->drop, UROCE_DROP_ICRC);
	report = retries_run_out(d, "ACKNOWLEDGE psn +0 ACK src 0xc0000207");
	expect_number(d, report->drop, UROCE_DROP_SGID_NOT_PEER);
	expect_number(d, report->drop_src.low, uroce_gid_mapped | 0xc0000207);
	report = retries_run_out(d, "ACKNOWLEDGE psn +0 ACK pkey 0x1234");
	expect_number(d, report->drop, UROCE_DROP_PKEY);
	/* To another number: noted at the core. */
	retries_run_out(d, "ACKNOWLEDGE psn +0 ACK qp 0x99");
	expect_number(d, d->ep.core.stray.qpn, 0x99);
	expect_number(d, d->ep.core.stray.src.low, uroce_gid_mapped | d->ep.conf.peer_ip);
	/* The peer is alive, only it does not answer this. */
	report = retries_run_out(d, "RDMA_WRITE_ONLY psn +0 len 0");
	expect_number(d, report->heard, true);
	expect_number(d, report->heard_psn, d->rq_psn);
	idle(d);
	expect_nothing(d);
}

static void error_of_unsignalled_work(struct drill *d)
{
	struct endpoint_conf conf = drill_conf(d);

	conf.signal_all = false;
	drill_restart(d, &conf);
	post(d, "SEND 100 len 4");
	post(d, "SEND 101 len 4");
	expect(d, "SEND_ONLY psn +0 ack len 4; SEND_ONLY psn +1 ack len 4");
	inject(d, "ACKNOWLEDGE psn +0 NAK 1");
	expect_cqe(d, "send 100 REM_INV_REQ_ERR why 0x61; send 101 WR_FLUSH_ERR");
	expect_ended(d);
}

static void flush_completions_say_whose(struct drill *d)
{
	struct uroce_cqe cqe;

	post_recv(d, 200, 0, 64);
	post(d, "SEND 100 len 4");
	expect(d, "SEND_ONLY psn +0 ack len 4");
	memset(&cqe, 0xff, sizeof(cqe));
	expect_number(d, drill_to_state(d, UROCE_QP_ERR), 0);
	for (uint32_t i = 0; i < 2; i++) {
		expect_number(d, endpoint_poll(&d->ep, &cqe, 1), 1);
		expect_number(d, cqe.status, UROCE_STATUS_WR_FLUSH_ERR);
		expect_number(d, cqe.wr_id, i ? 200 : 100);
		expect_number(d, cqe.qpn, d->ep.qp->qpn);
		expect_number(d, cqe.src_qpn, DRILL_PEER_QPN);
		expect_number(d, cqe.vendor_err, 0);
	}
	expect_ended(d);
}

/* ---- receiver not ready ---- */

static void rnr_timer_zero_is_the_longest(struct drill *d)
{
	post(d, "SEND 100 len 4");
	expect(d, "SEND_ONLY psn +0 ack len 4");
	inject(d, "ACKNOWLEDGE psn +0 RNR 0");
	expect_number(d, uroce_core_next_deadline(&d->ep.core), d->now_ns + 655360 * DRILL_US);
	pass(d, 655360 * DRILL_US);
	expect(d, "SEND_ONLY psn +0 ack len 4");
	inject(d, "ACKNOWLEDGE psn +0 ACK");
	expect_cqe(d, "send 100 SUCCESS len 4");
}

static void rnr_for_ever_does_not_spin(struct drill *d)
{
	post(d, "SEND 100 len 4");
	expect(d, "SEND_ONLY psn +0 ack len 4");
	for (uint32_t i = 0; i < 1000; i++) {
		inject(d, "ACKNOWLEDGE psn +0 RNR 1");
		expect_nothing(d);
		pass(d, 10 * DRILL_US);
		expect(d, "SEND_ONLY psn +0 ack len 4");
	}
	expect_number(d, d->ep.core.counters.tx_frames, 1001);
	inject(d, "ACKNOWLEDGE psn +0 ACK");
	expect_cqe(d, "send 100 SUCCESS len 4");
}

static void rnr_retry_zero(struct drill *d)
{
	struct endpoint_conf conf = drill_conf(d);

	conf.attr.rnr_retry = 0;
	drill_restart(d, &conf);
	post(d, "SEND 100 len 4");
	expect(d, "SEND_ONLY psn +0 ack len 4");
	inject(d, "ACKNOWLEDGE psn +0 RNR 12");
	expect_cqe(d, "send 100 RNR_RETRY_EXC_ERR why 0x1");
	expect_ended(d);
}

/* ---- API, addresses ---- */

static void ninth_read(struct drill *d)
{
	for (uint32_t i = 0; i < 16; i++)
		inject(d, "RDMA_READ_REQUEST psn +%u dma 8", i);
	for (uint32_t i = 0; i < 16; i++)
		expect(d, "RDMA_READ_RESPONSE_ONLY psn +%u ACK msn 16 len 8", i);
	expect_state(d, UROCE_QP_RTS);
}

static void byte_order_of_atomics(struct drill *d)
{
	uint64_t value = 0x0102030405060708;

	memcpy(d->ep.mem + 0x1000, &value, 8);
	inject(d, "FETCH_ADD psn +0 va 0x1000 swap_add 0x0100000000000000");
	expect(d, "ATOMIC_ACKNOWLEDGE psn +0 ACK msn 1 orig 0x102030405060708");
	memcpy(&value, d->ep.mem + 0x1000, 8);
	expect_number(d, value, 0x0202030405060708);
	post(d, "FADD 100 at 0x2000 add 0x0000000000000102");
	expect(d, "FETCH_ADD psn +0 ack va 0x1000 rkey 0x00000abc swap_add 0x102 compare 0x0");
	inject(d, "ATOMIC_ACKNOWLEDGE psn +0 ACK orig 0x1122334455667788");
	expect_cqe(d, "fadd 100 SUCCESS len 8");
	memcpy(&value, d->ep.mem + 0x2000, 8);
	expect_number(d, value, 0x1122334455667788);
}

static void source_ports_differ(struct drill *d)
{
	uint16_t ports[32];
	uint32_t distinct = 0;

	for (uint32_t i = 0; i < 32; i++) {
		struct endpoint_conf conf = drill_conf(d);

		conf.qpn = 0x100 + i;
		drill_restart(d, &conf);
		post(d, "SEND 100 len 4");
		expect(d, "SEND_ONLY psn +0 ack len 4");
		ports[i] = d->packet.udp_sport;
		expect_number(d, ports[i] >= 0xc000, true);
		/* The peer's own port is its business. */
		inject(d, "ACKNOWLEDGE psn +0 ACK sport %u", i * 2000);
		expect_cqe(d, "send 100 SUCCESS len 4");
	}
	for (uint32_t i = 0; i < 32; i++) {
		bool seen = false;

		for (uint32_t j = 0; j < i; j++)
			seen |= ports[j] == ports[i];
		distinct += !seen;
	}
	expect_number(d, distinct >= 28, true);
}

static void foreign_destination(struct drill *d)
{
	inject_dropped(d, UROCE_DROP_DGID_NOT_OURS,
		"RDMA_WRITE_ONLY psn +0 ack va 0x1000 len 8 dst 0xc0000263");
	expect_nothing(d);
}

static void credits_zero_means_continue(struct drill *d)
{
	for (uint32_t i = 0; i < 10; i++) {
		post(d, "SEND %u len 4", 100 + i);
		expect(d, "SEND_ONLY psn +%u ack len 4", i);
		inject(d, "ACKNOWLEDGE psn +%u credits %u", i, i & 1 ? 0x1f : 0);
		expect_cqe(d, "send %u SUCCESS len 4", 100 + i);
	}
}

static void tos_ttl_and_ecn_may_change(struct drill *d)
{
	inject(d, "RDMA_WRITE_ONLY psn +0 ack va 0x1000 len 8 tos 255 ttl 1 ecn");
	/* Such a TOS says that the way was congested. */
	expect(d, "CNP psn +0 becn len 16");
	expect(d, "ACKNOWLEDGE psn +0 ACK msn 1");
}

static void dead_connection(struct drill *d)
{
	/* A loss storm on a queue pair costs a bounded number of frames per turn. */
	post(d, "SEND 100 len 25600 at 0");
	for (uint32_t i = 0; i < 100; i++) {
		char line[DRILL_TEXT_BYTES];

		expect_number(d, drill_next_line(d, line, sizeof(line)), true);
	}
	for (uint32_t i = 0; i < 1000; i++)
		inject(d, "ACKNOWLEDGE psn +0 NAK 0");
	expect_number(d, d->ep.qp->comp.retries_left, 6);
	drill_to_state(d, UROCE_QP_ERR);
	expect_cqe(d, "send 100 WR_FLUSH_ERR");
	expect_ended(d);
}

/* ---- datagrams, windows ---- */

static void start_datagrams(struct drill *d)
{
	struct endpoint_conf conf = drill_conf(d);

	conf.caps.type = UROCE_QP_UD;
	conf.qkey = 0x11111111;
	drill_restart(d, &conf);
}

static void datagram_has_a_mac(struct drill *d)
{
	static const uint8_t peer_mac[] = {2, 0, 0, 0, 0, 2};

	start_datagrams(d);
	post(d, "SEND 100 len 8 ah 0x11 qpn 0x22");
	expect(d, "UD_SEND_ONLY psn +0 qkey 0x00000000 sqpn 0x000011 len 8");
	expect_number(d, memcmp(d->frame, peer_mac, sizeof(peer_mac)), 0);
	/* Without one nothing leaves, and the work request says so. */
	memset(d->ep.path.dmac, 0, sizeof(d->ep.path.dmac));
	d->ep.path.resolved = false;
	post(d, "SEND 101 len 8 ah 0x11 qpn 0x22");
	expect_nothing(d);
	expect_cqe(d, "send 100 SUCCESS len 8");
	for (int ms = 0; ms < 3000; ms++) {
		pass(d, DRILL_MS);
		expect_nothing(d);
	}
	expect_cqe(d, "send 101 RETRY_EXC_ERR why 0x11");
}

static void too_long_datagram_is_dropped_in_silence(struct drill *d)
{
	start_datagrams(d);
	post_recv(d, 200, 0x1000, 40 + 16);
	inject_dropped(d, UROCE_DROP_RECV_TOO_SHORT, "UD_SEND_ONLY psn +0 len 17");
	expect_no_cqe(d);
	expect_nothing(d);
	expect_state(d, UROCE_QP_RTS);
	inject(d, "UD_SEND_ONLY psn +1 len 16");
	expect_cqe(d, "recv 200 SUCCESS len 56 grh src 0x22");
}

static void bind_error_is_a_bind_error(struct drill *d)
{
	uint32_t key = endpoint_slot(&d->ep, UROCE_MR_WINDOW_2);

	post(d, "BIND 100 key %u new %u mr 0x66600 bytes 8 access 2", key, key + 1);
	expect_nothing(d);
	expect_cqe(d, "bind 100 MW_BIND_ERR why 0x1");
	expect_ended(d);
}

static void handles_of_another_domain(struct drill *d)
{
	struct uroce_cmd cmd = {
		.kind = UROCE_CMD_AH_SET, .ah = {.number = 0x12, .pd = 8, .path = &d->ep.path}};

	start_datagrams(d);
	cmd.ah.path = &d->ep.path;
	expect_number(d, uroce_core_ctrl(&d->ep.core, &cmd, 0), 0);
	post(d, "SEND 100 len 8 ah 0x12 qpn 0x22");
	expect_nothing(d);
	expect_cqe(d, "send 100 LOC_QP_OP_ERR why 0x12");
}

int main(void)
{
	static const struct drill_case cases[] = {
		{"rxe-dev#30 and #44: the ICRC is right with every pad, both ways",
			icrc_with_every_pad},
		{"p4app-switchML#5: the ICRC can be ignored or left out", icrc_modes},
		{"RIOT#3669: Ethernet padding and a kept FCS are not payload", ethernet_padding},
		{"RoCE NICs: a wrong UDP checksum is counted and the ICRC decides", udp_checksum},
		{"vpp#227: frames to another MAC are not ours", destination_mac},
		{"rxe-dev#76: the first message of two packets works",
			first_message_of_two_packets},
		{"nccl#2135: peers of different MTU are told so", peers_of_different_mtu},
		{"rxe 05301cb42a5567: the responder checks the length of a receive",
			responder_length_check},
		{"rdma-core#1269 and C9-88: the key of a zero-length operation is not looked at",
			zero_length_keys},
		{"libfabric#9382 and perftest#301: WRITE with immediate has a length and no "
		 "segments",
			write_with_immediate_lengths},
		{"ns3-rdma#8: a lost ACK is sent again", lost_ack_is_sent_again},
		{"rogue#1268: the PSN of the session before is forgotten",
			psn_of_the_session_before},
		{"perftest#251: the timeout is what was set", timeout_as_set},
		{"roce-sim ghost ack: an ACK of what was never sent is ignored", ghost_ack},
		{"roce-sim unexpected opcode: it ends the queue pair", unexpected_opcode},
		{"roce-sim partial retry: a READ goes on where it stopped", partial_retry},
		{"nccl#902: status 12 has a cause", status_12_has_a_cause},
		{"nccl#2383: unsignalled work that fails completes", error_of_unsignalled_work},
		{"spdk#678: flush completions say whose they are", flush_completions_say_whose},
		{"daqiri#138 and libfabric#3241: RNR timer 0 is the longest",
			rnr_timer_zero_is_the_longest},
		{"Nugine/rdma#2: RNR for ever costs a timer, not a spin",
			rnr_for_ever_does_not_spin},
		{"thunderbolt-ibverbs#71: RNR retry 0 is none", rnr_retry_zero},
		{"spdk#2261: sixteen READs advertised are sixteen READs answered", ninth_read},
		{"libfabric#10911: atomics are big-endian on the wire alone",
			byte_order_of_atomics},
		{"ucx#11004: queue pairs have source ports of their own", source_ports_differ},
		{"nccl#426: frames to another address are not ours", foreign_destination},
		{"100G-verilog-RoCEv2-lite#2: no credits mean continue",
			credits_zero_means_continue},
		{"scapy#4154: what routers change is not in the ICRC", tos_ttl_and_ecn_may_change},
		{"rxe-dev#22: a datagram has its peer's MAC or does not leave", datagram_has_a_mac},
		{"linux-rdma 2023: a datagram longer than its receive is dropped in silence",
			too_long_datagram_is_dropped_in_silence},
		{"rdma-core#1106 and #1631: a bind error is MW_BIND_ERR",
			bind_error_is_a_bind_error},
		{"rdma-unit-test: an address handle is of its domain", handles_of_another_domain},
		{"rxe-dev#28: a storm of NAKs is one retry", dead_connection},
	};

	return DRILL_SUITE("field_reports", cases);
}
