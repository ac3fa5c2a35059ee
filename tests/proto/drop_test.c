/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Every reason to drop a frame, at a queue pair that is busy in both directions.
 *
 * What is dropped must leave no trace but its counter and a note in the report: not in the queue
 * pair, not in memory, not on the wire. Reasons that are answered (a gap, a refusal) change what
 * they must, and still no memory. A last test asks whether every reason was met.
 */
#include <stdlib.h>
#include <string.h>

#include "drill.h"

static bool met[UROCE_DROP_COUNT];

/* Everything that a dropped frame might change. */
struct snapshot {
	uint8_t *qp;
	size_t qp_bytes;
	uint8_t *mem;
	struct uroce_counters counters;
};

static struct snapshot take_snapshot(const struct drill *d)
{
	struct snapshot s = {.qp_bytes = uroce_qp_bytes(&d->ep.conf.caps)};

	s.qp = malloc(s.qp_bytes);
	s.mem = malloc(d->ep.conf.mem_bytes);
	if (!s.qp || !s.mem)
		abort();
	memcpy(s.qp, d->ep.qp, s.qp_bytes);
	memcpy(s.mem, d->ep.mem, d->ep.conf.mem_bytes);
	s.counters = d->ep.core.counters;
	return s;
}

/* The report's note of the last drop is the one thing that may differ. */
static bool same_qp(const struct drill *d, const struct snapshot *s)
{
	struct uroce_qp *before = (struct uroce_qp *)(void *)s->qp;
	const struct uroce_qp *now = d->ep.qp;

	before->report.drop = now->report.drop;
	before->report.drop_psn = now->report.drop_psn;
	before->report.drop_src = now->report.drop_src;
	before->report.drop_ns = now->report.drop_ns;
	before->report.drops = now->report.drops;
	return memcmp(s->qp, now, s->qp_bytes) == 0;
}

static void free_snapshot(struct snapshot *s)
{
	free(s->qp);
	free(s->mem);
}

/* A message half received, a READ half answered, work on the wire and posted. */
static void make_busy(struct drill *d)
{
	post_recv(d, 200, 0x1000, 2048);
	post(d, "SEND 100 len 600");
	post(d, "READ 101 len 600 at 0x2000");
	post(d, "FADD 102 at 0x3000 add 1");
	expect(d,
		"SEND_FIRST psn +0 len 256; SEND_MIDDLE psn +1 len 256; "
		"SEND_LAST psn +2 ack len 88");
	expect(d, "RDMA_READ_REQUEST psn +3 ack va 0x1000 rkey 0x00000abc dma_len 600");
	expect(d, "FETCH_ADD psn +6 ack va 0x1000 rkey 0x00000abc swap_add 0x1 compare 0x0");
	inject(d, "ACKNOWLEDGE psn +0 ACK");
	inject(d, "RDMA_READ_REQUEST psn +0 va 0x4000 dma 8");
	expect(d, "RDMA_READ_RESPONSE_ONLY psn +0 ACK msn 1 len 8");
	inject(d, "SEND_FIRST psn +1 len 256");
	idle(d);
	expect(d, "ACKNOWLEDGE psn +1 ACK msn 1");
}

/* Ends a busy queue pair quietly. */
static void end_busy(struct drill *d)
{
	drill_to_state(d, UROCE_QP_ERR);
	expect_cqe(d,
		"send 100 WR_FLUSH_ERR; read 101 WR_FLUSH_ERR; fadd 102 WR_FLUSH_ERR; "
		"recv 200 WR_FLUSH_ERR");
	expect_ended(d);
}

/* These bytes are dropped for this reason, and that is all. */
static void dropped_bytes(
	struct drill *d, enum uroce_drop drop, const uint8_t *bytes, uint32_t n, const char *what)
{
	struct snapshot s = take_snapshot(d);

	met[drop] = true;
	drill_inject_bytes(d, bytes, n);
	if (d->drop != drop)
		printf("\n%s: want %s, got %s\n", what, drill_drop_name(drop),
			drill_drop_name(d->drop));
	expect_number(d, d->drop, drop);
	s.counters.rx_frames++;
	s.counters.drops[drop]++;
	if (drop == UROCE_DROP_READ_NOT_REMEMBERED)
		s.counters.duplicate_request++;
	if (drop == UROCE_DROP_CNP)
		s.counters.rp_cnp_ignored++;
	expect_number(d, memcmp(&s.counters, &d->ep.core.counters, sizeof(s.counters)), 0);
	expect_number(d, same_qp(d, &s), true);
	expect_number(d, memcmp(s.mem, d->ep.mem, d->ep.conf.mem_bytes), 0);
	expect_nothing(d);
	free_snapshot(&s);
}

static void dropped(struct drill *d, enum uroce_drop drop, const char *line)
{
	uint8_t bytes[DRILL_FRAME_BYTES];
	uint32_t n = drill_build_frame(d, line, bytes);

	dropped_bytes(d, drop, bytes, n, line);
}

/* A good frame with one byte changed; `fix` makes the IPv4 checksum right again. */
static void dropped_with(
	struct drill *d, enum uroce_drop drop, uint32_t at, uint8_t value, bool fix)
{
	uint8_t bytes[DRILL_FRAME_BYTES];
	uint32_t n = drill_build_frame(d, "SEND_MIDDLE psn +2 ack len 256", bytes);
	uint32_t sum = 0;
	char what[64];

	bytes[at] = value;
	if (fix) {
		bytes[24] = bytes[25] = 0;
		for (int i = 14; i < 34; i += 2)
			sum += (uint32_t)bytes[i] << 8 | bytes[i + 1];
		sum = (sum & 0xffff) + (sum >> 16);
		sum = ~((sum & 0xffff) + (sum >> 16));
		bytes[24] = (uint8_t)(sum >> 8);
		bytes[25] = (uint8_t)sum;
	}
	snprintf(what, sizeof(what), "byte %u = 0x%02x", at, value);
	dropped_bytes(d, drop, bytes, n, what);
}

static void somebody_elses(struct drill *d)
{
	uint8_t bytes[DRILL_FRAME_BYTES];
	uint32_t n;

	make_busy(d);
	dropped_with(d, UROCE_DROP_NOT_OUR_MAC, 5, 0x77, false);
	dropped_with(d, UROCE_DROP_NOT_IP, 12, 0x86, false);
	dropped_with(d, UROCE_DROP_NOT_UDP, 23, 6, true);
	dropped_with(d, UROCE_DROP_NOT_ROCE_PORT, 37, 0xb8, false);
	dropped_with(d, UROCE_DROP_LATER_FRAGMENT, 21, 1, true);
	dropped_with(d, UROCE_DROP_DGID_NOT_OURS, 33, 99, true);
	dropped(d, UROCE_DROP_VLAN_OTHER, "SEND_MIDDLE psn +2 ack len 256 tci 100");
	/* A provider's tag before ours. */
	n = drill_build_frame(d, "SEND_MIDDLE psn +2 ack len 256 tci 100", bytes);
	memcpy(bytes + 12, "\x88\xa8", 2);
	dropped_bytes(d, UROCE_DROP_TAGGED_TWICE, bytes, n, "a provider's tag");
	end_busy(d);
}

static void malformed(struct drill *d)
{
	uint8_t bytes[DRILL_FRAME_BYTES];
	uint32_t n = drill_build_frame(d, "SEND_MIDDLE psn +2 ack len 256", bytes);

	make_busy(d);
	dropped_bytes(d, UROCE_DROP_FRAME_TOO_SHORT, bytes, 33, "33 bytes");
	dropped_bytes(d, UROCE_DROP_FRAME_TOO_SHORT, bytes, 0, "no byte");
	dropped_bytes(d, UROCE_DROP_LENGTH_MISMATCH, bytes, n - 1, "one byte short");
	dropped_with(d, UROCE_DROP_IP_HEADER, 14, 0x65, true);
	dropped_with(d, UROCE_DROP_IP_HEADER, 14, 0x44, true);
	dropped_with(d, UROCE_DROP_IPV4_CHECKSUM, 25, 0x12, false);
	dropped_with(d, UROCE_DROP_IPV4_FRAGMENT, 20, 0x20, true);
	dropped_with(d, UROCE_DROP_LENGTH_MISMATCH, 17, 0x01, true);
	dropped_with(d, UROCE_DROP_LENGTH_MISMATCH, 39, 0x01, false);
	dropped(d, UROCE_DROP_BTH_VERSION, "SEND_MIDDLE psn +2 ack len 256 tver 1");
	/* More pad than there are bytes. */
	n = drill_build_frame(d, "SEND_ONLY psn +2 len 0", bytes);
	bytes[43] |= 0x30;
	dropped_bytes(d, UROCE_DROP_HEADER_MISSING, bytes, n, "a pad of nothing");
	end_busy(d);
}

static void cut_headers(struct drill *d)
{
	static const uint8_t opcodes[] = {
		0x03, 0x06, 0x0a, 0x0b, 0x0c, 0x0d, 0x11, 0x12, 0x13, 0x14, 0x16};

	make_busy(d);
	for (size_t i = 0; i < sizeof(opcodes); i++) {
		uint8_t bytes[DRILL_FRAME_BYTES];
		/* A frame without room for extension headers, renamed: the ICRC is not reached. */
		uint32_t n = drill_build_frame(d, "SEND_MIDDLE psn +2 len 0", bytes);

		bytes[42] = opcodes[i];
		dropped_bytes(d, UROCE_DROP_HEADER_MISSING, bytes, n, "headers cut off");
	}
	end_busy(d);
}

static void unknown_opcodes(struct drill *d)
{
	static const uint8_t opcodes[] = {0x15, 0x18, 0x1b, 0x1e, 0x1f, 0x2c, 0x40, 0x44, 0x60,
		0x66, 0x80, 0x82, 0xa0, 0xa4, 0xe0, 0xff};

	make_busy(d);
	for (size_t i = 0; i < sizeof(opcodes); i++) {
		char line[64];

		snprintf(line, sizeof(line), "op %u psn +2 ack len 64", opcodes[i]);
		dropped(d, UROCE_DROP_OPCODE_UNKNOWN, line);
	}
	end_busy(d);
}

static void damaged(struct drill *d)
{
	make_busy(d);
	dropped(d, UROCE_DROP_ICRC, "SEND_MIDDLE psn +2 ack len 256 badicrc");
	dropped(d, UROCE_DROP_ICRC, "SEND_LAST psn +2 ack len 61 dirtypad");
	dropped(d, UROCE_DROP_ICRC, "ACKNOWLEDGE psn +2 NAK 1 badicrc");
	dropped(d, UROCE_DROP_ICRC, "RDMA_READ_RESPONSE_FIRST psn +3 ACK len 256 badicrc");
	/* The last byte of the payload; the destination number; the PSN. */
	dropped_with(d, UROCE_DROP_ICRC, 42 + 12 + 255, 0x00, false);
	dropped_with(d, UROCE_DROP_ICRC, 42 + 11, 0x55, false);
	end_busy(d);
}

/* One bit anywhere but where routers may change bits: never accepted. */
static void any_bit(struct drill *d)
{
	uint8_t bytes[DRILL_FRAME_BYTES];
	uint32_t n = drill_build_frame(d, "SEND_MIDDLE psn +2 ack len 256", bytes);
	uint64_t accepted;

	make_busy(d);
	accepted = d->ep.core.counters.rx_accepted;
	for (uint32_t bit = 14 * 8; bit < n * 8; bit++) {
		uint32_t at = bit / 8;
		struct snapshot s;

		/* FECN, BECN and reserved bits; the UDP checksum, which 0 switches off. */
		if (at == 42 + 4 || at == 40 || at == 41)
			continue;
		s = take_snapshot(d);
		bytes[at] ^= (uint8_t)(1u << bit % 8);
		drill_inject_bytes(d, bytes, n);
		bytes[at] ^= (uint8_t)(1u << bit % 8);
		if (!same_qp(d, &s) || memcmp(s.mem, d->ep.mem, d->ep.conf.mem_bytes) != 0)
			expect_number(d, bit, UINT64_MAX);
		free_snapshot(&s);
	}
	expect_number(d, d->ep.core.counters.rx_accepted, accepted);
	end_busy(d);
}

static void for_nobody(struct drill *d)
{
	make_busy(d);
	dropped(d, UROCE_DROP_QPN_UNKNOWN, "SEND_MIDDLE psn +2 ack len 256 qp 0x12");
	dropped(d, UROCE_DROP_QPN_UNKNOWN, "SEND_MIDDLE psn +2 ack len 256 qp 0");
	dropped(d, UROCE_DROP_QPN_UNKNOWN, "SEND_MIDDLE psn +2 ack len 256 qp 0x800011");
	dropped(d, UROCE_DROP_QPN_UNKNOWN, "UD_SEND_ONLY psn +2 len 8 qp 1");
	dropped(d, UROCE_DROP_QPN_UNKNOWN, "CNP psn +0 len 16 qp 0x999 sport 0");
	dropped(d, UROCE_DROP_NOT_A_MEMBER, "UD_SEND_ONLY psn +2 len 8 qp 0xffffff");
	dropped(d, UROCE_DROP_QPN_UNKNOWN, "ACKNOWLEDGE psn +2 ACK qp 0x10");
	expect_number(d, d->ep.core.stray.qpn, 0x10);
	expect_number(d, d->ep.core.stray.src.low, uroce_gid_mapped | d->ep.conf.peer_ip);
	end_busy(d);
}

static void of_a_stranger(struct drill *d)
{
	make_busy(d);
	dropped(d, UROCE_DROP_SGID_NOT_PEER, "SEND_MIDDLE psn +2 ack len 256 src 0xc0000203");
	dropped(d, UROCE_DROP_SGID_NOT_PEER, "ACKNOWLEDGE psn +6 ACK src 0xc0000203");
	/* An address of ours, but not the queue pair's. */
	d->ep.core.conf.local.addrs[1] = uroce_gid_of_ipv4(0xc0000209);
	d->ep.core.conf.local.num_addrs = 2;
	dropped(d, UROCE_DROP_DGID_NOT_QP, "SEND_MIDDLE psn +2 ack len 256 dst 0xc0000209");
	dropped(d, UROCE_DROP_DGID_NOT_QP, "ACKNOWLEDGE psn +6 ACK dst 0xc0000209");
	/* The queue pair's address, but in another VLAN than the queue pair. */
	d->ep.core.conf.local.addrs[1] = d->ep.core.conf.local.addrs[0];
	d->ep.core.conf.local.vlans[1] = 100;
	dropped(d, UROCE_DROP_DGID_NOT_QP, "SEND_MIDDLE psn +2 ack len 256 tci 0x6064");
	dropped(d, UROCE_DROP_DGID_NOT_QP, "ACKNOWLEDGE psn +6 ACK tci 100");
	dropped(d, UROCE_DROP_PKEY, "SEND_MIDDLE psn +2 ack len 256 pkey 0xfffe");
	dropped(d, UROCE_DROP_PKEY, "SEND_MIDDLE psn +2 ack len 256 pkey 0x8001");
	dropped(d, UROCE_DROP_PKEY, "SEND_MIDDLE psn +2 ack len 256 pkey 0");
	dropped(d, UROCE_DROP_PKEY, "ACKNOWLEDGE psn +6 ACK pkey 0x1234");
	end_busy(d);
}

static void limited_member(struct drill *d)
{
	post_recv(d, 200, 0x1000, 64);
	inject(d, "SEND_ONLY psn +0 ack len 8 pkey 0x7fff");
	expect(d, "ACKNOWLEDGE psn +0 ACK msn 1");
	expect_cqe(d, "recv 200 SUCCESS len 8");
}

static void of_another_service(struct drill *d)
{
	static const char *const lines[] = {"UC_SEND_ONLY psn +2 ack len 8",
		"UC_SEND_FIRST psn +2 ack len 256", "UC_SEND_MIDDLE psn +2 ack len 256",
		"UC_SEND_LAST psn +2 ack len 8", "UC_RDMA_WRITE_ONLY psn +2 ack len 8",
		"UC_RDMA_WRITE_ONLY_WITH_IMMEDIATE psn +2 ack len 8",
		"UD_SEND_ONLY psn +2 ack len 8", "UD_SEND_ONLY_WITH_IMMEDIATE psn +2 ack len 8"};

	make_busy(d);
	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++)
		dropped(d, UROCE_DROP_OPCODE_NOT_FOR_QP, lines[i]);
	dropped(d, UROCE_DROP_CNP, "CNP psn +0 len 16");
	end_busy(d);
}

static void in_the_wrong_state(struct drill *d)
{
	static const uint32_t to_init = UROCE_QP_ATTR_STATE | UROCE_QP_ATTR_PKEY_INDEX |
		UROCE_QP_ATTR_PORT | UROCE_QP_ATTR_ACCESS_FLAGS;
	const struct uroce_qp_attr init = {.state = UROCE_QP_INIT, .access = 15};

	make_busy(d);
	end_busy(d);
	dropped(d, UROCE_DROP_QP_STATE, "SEND_MIDDLE psn +2 ack len 256");
	dropped(d, UROCE_DROP_QP_STATE, "ACKNOWLEDGE psn +6 ACK");
	expect_number(d, drill_to_state(d, UROCE_QP_RESET), 0);
	dropped(d, UROCE_DROP_QP_STATE, "RDMA_WRITE_ONLY psn +0 ack va 0x1000 len 8");
	dropped(d, UROCE_DROP_QP_STATE, "ACKNOWLEDGE psn +0 ACK");
	expect_number(d, drill_modify(d, &init, to_init), 0);
	dropped(d, UROCE_DROP_QP_STATE, "RDMA_WRITE_ONLY psn +0 ack va 0x1000 len 8");
	dropped(d, UROCE_DROP_QP_STATE, "RDMA_READ_RESPONSE_ONLY psn +0 ACK len 8");
}

static void answers_that_are_none(struct drill *d)
{
	make_busy(d);
	dropped(d, UROCE_DROP_GHOST_RESPONSE, "ACKNOWLEDGE psn +7 ACK");
	dropped(d, UROCE_DROP_GHOST_RESPONSE, "RDMA_READ_RESPONSE_ONLY psn +7 ACK len 8");
	dropped(d, UROCE_DROP_GHOST_RESPONSE, "ATOMIC_ACKNOWLEDGE psn +100 ACK orig 1");
	dropped(d, UROCE_DROP_READ_NOT_REMEMBERED, "RDMA_READ_REQUEST psn +1 va 0x4000 dma 8");
	end_busy(d);
}

/* ---- drops that are answered: what they may change, they change; memory they may not ---- */

/* Memory, PSNs and completions are as before; the counters are of this one frame. */
static void answered_drop(struct drill *d, enum uroce_drop drop, const char *line)
{
	struct snapshot s = take_snapshot(d);

	met[drop] = true;
	inject_dropped(d, drop, "%s", line);
	expect_number(d, memcmp(s.mem, d->ep.mem, d->ep.conf.mem_bytes), 0);
	expect_number(d, d->ep.qp->resp.epsn, ((struct uroce_qp *)(void *)s.qp)->resp.epsn);
	expect_number(d, d->ep.qp->resp.msn, ((struct uroce_qp *)(void *)s.qp)->resp.msn);
	expect_number(d, d->ep.core.counters.rx_frames, s.counters.rx_frames + 1);
	expect_number(d, d->ep.core.counters.rx_payload_bytes, s.counters.rx_payload_bytes);
	expect_number(d, d->ep.qp->report.drop, drop);
	free_snapshot(&s);
}

static void gap(struct drill *d)
{
	make_busy(d);
	answered_drop(d, UROCE_DROP_PSN_AHEAD, "SEND_MIDDLE psn +3 ack len 256");
	expect(d, "ACKNOWLEDGE psn +2 NAK psn-sequence-error msn 1");
	/* Once it is said, more of it changes nothing at all but its counters. */
	answered_drop(d, UROCE_DROP_PSN_AHEAD, "SEND_MIDDLE psn +4 ack len 256");
	expect_nothing(d);
	end_busy(d);
}

static void no_receive(struct drill *d)
{
	answered_drop(d, UROCE_DROP_RNR, "SEND_ONLY psn +0 ack len 8");
	expect(d, "ACKNOWLEDGE psn +0 RNR NAK 0.01 ms msn 0");
}

static void refusal(struct drill *d)
{
	make_busy(d);
	answered_drop(d, UROCE_DROP_REQUEST_REFUSED, "SEND_MIDDLE psn +2 ack len 252");
	expect(d, "ACKNOWLEDGE psn +2 NAK invalid-request msn 1");
	expect_cqe(d,
		"recv 200 REM_INV_REQ_ERR why 0x61; send 100 WR_FLUSH_ERR; "
		"read 101 WR_FLUSH_ERR; fadd 102 WR_FLUSH_ERR");
	expect_ended(d);
}

static void gap_in_answers(struct drill *d)
{
	make_busy(d);
	answered_drop(d, UROCE_DROP_RESPONSE_GAP, "RDMA_READ_RESPONSE_MIDDLE psn +4 len 256");
	/* It acknowledges the SEND all the same; then the READ is asked for again. */
	expect_cqe(d, "send 100 SUCCESS len 600");
	expect(d,
		"RDMA_READ_REQUEST psn +3 ack va 0x1000 rkey 0x00000abc dma_len 600; "
		"FETCH_ADD psn +6 ack va 0x1000 rkey 0x00000abc swap_add 0x1 compare 0x0");
	drill_to_state(d, UROCE_QP_ERR);
	expect_cqe(d, "read 101 WR_FLUSH_ERR; fadd 102 WR_FLUSH_ERR; recv 200 WR_FLUSH_ERR");
	expect_ended(d);
}

static void bad_answer(struct drill *d)
{
	make_busy(d);
	answered_drop(d, UROCE_DROP_RESPONSE_BAD, "ACKNOWLEDGE psn +2 syndrome 0x7f");
	answered_drop(d, UROCE_DROP_RESPONSE_BAD, "RDMA_READ_RESPONSE_FIRST psn +3 ACK len 255");
	expect_cqe(d, "send 100 SUCCESS len 600; read 101 BAD_RESP_ERR why 0xd");
	expect_cqe(d, "fadd 102 WR_FLUSH_ERR; recv 200 WR_FLUSH_ERR");
	expect_ended(d);
}

static void unplaced_answer(struct drill *d)
{
	post(d, "READ 100 len 8 at 0x2000 lkey 0xbad00");
	expect(d, "RDMA_READ_REQUEST psn +0 ack va 0x1000 rkey 0x00000abc dma_len 8");
	answered_drop(d, UROCE_DROP_RESPONSE_UNPLACED, "RDMA_READ_RESPONSE_ONLY psn +0 ACK len 8");
	expect_cqe(d, "read 100 LOC_PROT_ERR why 0x1");
	expect_ended(d);
}

static void datagrams(struct drill *d)
{
	struct uroce_cmd set = {
		.kind = UROCE_CMD_GROUP_SET, .group.addr = uroce_gid_of_ipv4(0xe0000105)};
	struct endpoint_conf conf = drill_conf(d);

	conf.caps.type = UROCE_QP_UD;
	conf.qkey = 0x11111111;
	drill_restart(d, &conf);
	dropped(d, UROCE_DROP_NO_RECV, "UD_SEND_ONLY psn +0 len 8");
	dropped(d, UROCE_DROP_QKEY, "UD_SEND_ONLY psn +0 len 8 qkey 0x11111112");
	dropped(d, UROCE_DROP_DATAGRAM_LENGTH, "UD_SEND_ONLY psn +0 len 257");
	dropped(d, UROCE_DROP_DATAGRAM_LENGTH, "UD_SEND_ONLY psn +0 len 256 pad 1");
	dropped(d, UROCE_DROP_NOT_A_MEMBER, "UD_SEND_ONLY psn +0 len 8 qp 0xffffff");
	dropped(d, UROCE_DROP_OPCODE_NOT_FOR_QP, "SEND_ONLY psn +0 len 8");
	dropped(d, UROCE_DROP_OPCODE_NOT_FOR_QP, "UC_SEND_ONLY psn +0 len 8");
	expect_number(d, uroce_core_ctrl(&d->ep.core, &set, 0), 0);
	dropped(d, UROCE_DROP_ECHO,
		"UD_SEND_ONLY psn +0 len 8 qp 0xffffff dst 0xe0000105 dmac 0x01005e000105 "
		"src 0xc0000201 smac 0x020000000001");
	post_recv(d, 200, 0x1000, 47);
	answered_drop(d, UROCE_DROP_RECV_TOO_SHORT, "UD_SEND_ONLY psn +0 len 8");
	inject(d, "UD_SEND_ONLY psn +0 len 7");
	expect_cqe(d, "recv 200 SUCCESS len 47 grh src 0x22");
}

static void datagram_into_bad_memory(struct drill *d)
{
	struct endpoint_conf conf = drill_conf(d);

	conf.caps.type = UROCE_QP_UD;
	drill_restart(d, &conf);
	post_recv(d, 200, conf.mem_bytes - 40, 48);
	answered_drop(d, UROCE_DROP_RECV_BAD, "UD_SEND_ONLY psn +0 len 8");
	expect_cqe(d, "recv 200 LOC_PROT_ERR");
	expect_ended(d);
	expect_number(d, d->ep.qp->report.cause, UROCE_CAUSE_RECV_BAD);
}

static void broken_messages(struct drill *d)
{
	struct endpoint_conf conf = drill_conf(d);

	conf.caps.type = UROCE_QP_UC;
	drill_restart(d, &conf);
	/* The first packet of all says that the peer is there. */
	inject_dropped(d, UROCE_DROP_NO_RECV, "UC_SEND_ONLY psn +0 len 8");
	dropped(d, UROCE_DROP_NO_RECV, "UC_SEND_ONLY psn +0 len 8");
	dropped(d, UROCE_DROP_MESSAGE_BROKEN, "UC_SEND_MIDDLE psn +0 len 256");
	dropped(d, UROCE_DROP_MESSAGE_BROKEN, "UC_RDMA_WRITE_LAST psn +0 len 256");
	/* This begins a message, so its PSN counts. */
	met[UROCE_DROP_MESSAGE_REFUSED] = true;
	inject_dropped(d, UROCE_DROP_MESSAGE_REFUSED, "UC_RDMA_WRITE_ONLY psn +0 rkey 0x666 len 8");
	expect_memory(d, 0, 8, 0, 0);
	dropped(d, UROCE_DROP_OPCODE_NOT_FOR_QP, "SEND_ONLY psn +0 len 8");
	dropped(d, UROCE_DROP_OPCODE_NOT_FOR_QP, "ACKNOWLEDGE psn +0 ACK");
}

/* Must be the last: each reason that there is was met by one of the tests before. */
static void every_reason(struct drill *d)
{
	for (enum uroce_drop drop = 1; drop < UROCE_DROP_COUNT; drop++) {
		if (!met[drop])
			printf("\nno frame was ever dropped for %s\n", drill_drop_name(drop));
		expect_number(d, met[drop], true);
	}
}

int main(void)
{
	static const struct drill_case cases[] = {
		{"frames of somebody else are handed back and change nothing", somebody_elses},
		{"malformed frames change nothing", malformed},
		{"frames without room for their headers change nothing", cut_headers},
		{"unknown opcodes change nothing", unknown_opcodes},
		{"damaged frames change nothing", damaged},
		{"no flipped bit is ever accepted", any_bit},
		{"frames for numbers that nobody has change nothing", for_nobody},
		{"frames of strangers change nothing", of_a_stranger},
		{"a limited member of the partition may talk to us", limited_member},
		{"opcodes of another service change nothing", of_another_service},
		{"frames in the wrong state change nothing", in_the_wrong_state},
		{"answers to nothing and forgotten repeats change nothing", answers_that_are_none},
		{"a gap changes no memory and no PSN", gap},
		{"a SEND without a receive changes no memory and no PSN", no_receive},
		{"a refused request changes no memory and no PSN", refusal},
		{"a gap in answers changes no memory", gap_in_answers},
		{"a bad answer changes no memory", bad_answer},
		{"an answer without a place changes no memory", unplaced_answer},
		{"datagrams that cannot be taken change nothing", datagrams},
		{"a datagram into memory that is not registered ends the queue pair",
			datagram_into_bad_memory},
		{"UC messages that are not whole or not allowed change nothing", broken_messages},
		{"every drop reason can happen", every_reason},
	};

	return DRILL_SUITE("drop", cases);
}
