/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Frames out: literal bytes for a literal queue pair, then back through the parser.
 *
 * The expected frames were computed by a program of its own from the standard's description, with
 * the ICRC from zlib. Slots are filled with ones before each frame, since a slot is used again and
 * again and nothing old may shine through, and they are exactly as large as a slot must be.
 */
#include "build.h"

#include <string.h>

#include "icrc.h"

#include "wire_frames.h"

// clang-format off
/* RDMA WRITE ONLY, PSN 0xfffffe, AckReq, "hello", pad 3. */
static const uint8_t want_write_only[82] = {
	0x5e, 0x4d, 0x3c, 0x2b, 0x1a, 0x09, 0x0a, 0x1b, 0x2c, 0x3d, 0x4e, 0x5f, 0x08, 0x00, 0x45, 0x6a,
	0x00, 0x44, 0x00, 0x00, 0x40, 0x00, 0x3f, 0x11, 0xe6, 0xd4, 0xc6, 0x33, 0x64, 0x01, 0xc6, 0x33,
	0x64, 0x02, 0xd9, 0xf9, 0x12, 0xb7, 0x00, 0x30, 0x00, 0x00, 0x0a, 0x70, 0xff, 0xff, 0x00, 0x01,
	0x23, 0x45, 0x80, 0xff, 0xff, 0xfe, 0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77, 0x88, 0xab, 0xcd,
	0xef, 0x01, 0x00, 0x00, 0x00, 0x05, 0x68, 0x65, 0x6c, 0x6c, 0x6f, 0x00, 0x00, 0x00, 0x83, 0x69,
	0x58, 0xc2,
};

/* ACK, PSN 0, syndrome 0x1f, MSN 0xfffffe. */
static const uint8_t want_acknowledge[62] = {
	0x5e, 0x4d, 0x3c, 0x2b, 0x1a, 0x09, 0x0a, 0x1b, 0x2c, 0x3d, 0x4e, 0x5f, 0x08, 0x00, 0x45, 0x6a,
	0x00, 0x30, 0x00, 0x00, 0x40, 0x00, 0x3f, 0x11, 0xe6, 0xe8, 0xc6, 0x33, 0x64, 0x01, 0xc6, 0x33,
	0x64, 0x02, 0xd9, 0xf9, 0x12, 0xb7, 0x00, 0x1c, 0x00, 0x00, 0x11, 0x40, 0xff, 0xff, 0x00, 0x01,
	0x23, 0x45, 0x00, 0x00, 0x00, 0x00, 0x1f, 0xff, 0xff, 0xfe, 0x92, 0x04, 0x1a, 0x79,
};

/* SEND ONLY, solicited, PSN 0x800000, six bytes, pad 2. */
static const uint8_t want_send_only[66] = {
	0x5e, 0x4d, 0x3c, 0x2b, 0x1a, 0x09, 0x0a, 0x1b, 0x2c, 0x3d, 0x4e, 0x5f, 0x08, 0x00, 0x45, 0x6a,
	0x00, 0x34, 0x00, 0x00, 0x40, 0x00, 0x3f, 0x11, 0xe6, 0xe4, 0xc6, 0x33, 0x64, 0x01, 0xc6, 0x33,
	0x64, 0x02, 0xd9, 0xf9, 0x12, 0xb7, 0x00, 0x20, 0x00, 0x00, 0x04, 0xe0, 0xff, 0xff, 0x00, 0x01,
	0x23, 0x45, 0x80, 0x80, 0x00, 0x00, 0x01, 0x02, 0x03, 0x04, 0x05, 0x06, 0x00, 0x00, 0x21, 0x44,
	0xa9, 0x17,
};

/* COMPARE SWAP, PSN 1. */
static const uint8_t want_compare_swap[86] = {
	0x5e, 0x4d, 0x3c, 0x2b, 0x1a, 0x09, 0x0a, 0x1b, 0x2c, 0x3d, 0x4e, 0x5f, 0x08, 0x00, 0x45, 0x6a,
	0x00, 0x48, 0x00, 0x00, 0x40, 0x00, 0x3f, 0x11, 0xe6, 0xd0, 0xc6, 0x33, 0x64, 0x01, 0xc6, 0x33,
	0x64, 0x02, 0xd9, 0xf9, 0x12, 0xb7, 0x00, 0x34, 0x00, 0x00, 0x13, 0x40, 0xff, 0xff, 0x00, 0x01,
	0x23, 0x45, 0x80, 0x00, 0x00, 0x01, 0x00, 0x00, 0x7f, 0xff, 0x00, 0x00, 0x00, 0x10, 0x00, 0x00,
	0x01, 0x02, 0x01, 0x02, 0x03, 0x04, 0x05, 0x06, 0x07, 0x08, 0xf1, 0xf2, 0xf3, 0xf4, 0xf5, 0xf6,
	0xf7, 0xf8, 0x51, 0x2b, 0x7d, 0xd1,
};

// clang-format on

static struct uroce_core core;
static struct uroce_qp qp;
static struct uroce_path path;
static struct uroce_slot slot;

static void use_ipv6(void)
{
	path.src = (struct uroce_gid){0x20010db800010002, 0x00000000000000aa};
	path.dst = (struct uroce_gid){0x20010db800010002, 0xfe0000ff000000bb};
	path.flow_label = 0xabcde;
	uroce_build_template(&qp);
}

static void start(uint32_t path_mtu_bytes)
{
	memset(&core, 0, sizeof(core));
	memset(&qp, 0, sizeof(qp));
	path = (struct uroce_path){.src = uroce_gid_of_ipv4(0xc6336401),
		.dst = uroce_gid_of_ipv4(0xc6336402),
		.smac = {0x0a, 0x1b, 0x2c, 0x3d, 0x4e, 0x5f},
		.dmac = {0x5e, 0x4d, 0x3c, 0x2b, 0x1a, 0x09},
		.tos = 0x6a,
		.ttl = 63,
		.resolved = true};
	qp.qpn = 0x12;
	qp.path = &path;
	qp.attr.dest_qpn = 0x012345;
	qp.attr.path_mtu_bytes = path_mtu_bytes;
	uroce_build_template(&qp);
	free(slot.data);
	slot.capacity_bytes = path_mtu_bytes + UROCE_OVERHEAD_BYTES_MAX;
	slot.data = malloc(slot.capacity_bytes);
	CU_ASSERT_PTR_NOT_NULL_FATAL(slot.data);
	slot.bytes = 0;
}

static void stop(void)
{
	free(slot.data);
	slot.data = NULL;
}

static uint8_t *begin(struct uroce_bth bth)
{
	uint8_t *p;

	memset(slot.data, 0xff, slot.capacity_bytes);
	p = uroce_build_start(&qp, &slot, bth);
	CU_ASSERT_PTR_EQUAL(p, uroce_frame_bth(slot.data) + UROCE_BTH_BYTES);
	return p;
}

static void finish(uint8_t *end, uint32_t payload_bytes)
{
	uroce_build_finish(&core, &slot, end, payload_bytes);
}

static uint8_t *append(uint8_t *p, const void *bytes, size_t n)
{
	memcpy(p, bytes, n);
	return p + n;
}

static bool built(const uint8_t *want, size_t bytes)
{
	return slot.bytes == bytes && memcmp(slot.data, want, bytes) == 0;
}

static void a_write_is_built_byte_for_byte(void)
{
	uint8_t *p;

	start(1024);
	p = begin((struct uroce_bth){.opcode = 0x0a, .ackreq = true, .psn = 0xfffffe});
	p = uroce_build_reth(p, 0x1122334455667788, 0xabcdef01, 5);
	finish(append(p, "hello", 5), 5);
	CU_ASSERT_TRUE(built(want_write_only, sizeof(want_write_only)));
	stop();
}

static void an_acknowledgement_is_built_byte_for_byte(void)
{
	uint8_t *p;

	start(1024);
	p = begin((struct uroce_bth){.opcode = 0x11});
	finish(uroce_build_aeth(p, 0x1f, 0xfffffe), 0);
	CU_ASSERT_TRUE(built(want_acknowledge, sizeof(want_acknowledge)));
	stop();
}

static void a_solicited_send_is_built_byte_for_byte(void)
{
	uint8_t *p;

	start(1024);
	p = begin((struct uroce_bth){
		.opcode = 0x04, .solicited = true, .ackreq = true, .psn = 0x800000});
	finish(append(p, "\1\2\3\4\5\6", 6), 6);
	CU_ASSERT_TRUE(built(want_send_only, sizeof(want_send_only)));
	stop();
}

static void an_atomic_is_built_byte_for_byte(void)
{
	uint8_t *p;

	start(1024);
	p = begin((struct uroce_bth){.opcode = 0x13, .ackreq = true, .psn = 1});
	p = uroce_build_atomiceth(p, 0x7fff00000010, 0x102, 0x0102030405060708, 0xf1f2f3f4f5f6f7f8);
	finish(p, 0);
	CU_ASSERT_TRUE(built(want_compare_swap, sizeof(want_compare_swap)));
	stop();
}

static void the_slot_may_be_used_again_at_once(void)
{
	uint8_t *p;

	start(1024);
	p = begin((struct uroce_bth){
		.opcode = 0x0b, .solicited = true, .ackreq = true, .psn = 0xffffff});
	finish(append(p, "0123456789012345678901234567890123456789012345678", 49), 29);
	p = uroce_build_start(&qp, &slot, (struct uroce_bth){.opcode = 0x11});
	finish(uroce_build_aeth(p, 0x1f, 0xfffffe), 0);
	CU_ASSERT_TRUE(built(want_acknowledge, sizeof(want_acknowledge)));
	stop();
}

static struct uroce_local receiver(void)
{
	struct uroce_local local = {.addrs = {path.dst}, .num_addrs = 1};

	memcpy(local.mac, path.dmac, 6);
	return local;
}

/* Parses what the slot holds, from an exact copy that the caller frees. */
static struct uroce_pkt parse_back(void)
{
	struct uroce_local local = receiver();
	struct uroce_pkt pkt = {.data = frame_exact(slot.data, slot.bytes), .bytes = slot.bytes};

	CU_ASSERT_EQUAL_FATAL(uroce_parse(&local, &pkt), UROCE_ACCEPTED);
	CU_ASSERT_TRUE(uroce_pkt_icrc_check(&pkt));
	return pkt;
}

static void the_parser_returns_what_was_built(void)
{
	static const struct uroce_bth bths[] = {
		{0x04, false, false, 0},
		{0x04, true, false, 0x7fffff},
		{0x00, false, true, 0x800000},
		{0x08, true, true, 0xffffff},
	};
	static const uint8_t payload[] = "0123456789abcdef";

	start(256);
	for (size_t i = 0; i < sizeof(bths) / sizeof(bths[0]); i++)
		for (uint32_t bytes = 0; bytes <= 16; bytes++) {
			struct uroce_pkt pkt;

			finish(append(begin(bths[i]), payload, bytes), bytes);
			pkt = parse_back();
			CU_ASSERT_EQUAL(pkt.op->number, bths[i].opcode);
			CU_ASSERT_EQUAL(pkt.solicited, bths[i].solicited);
			CU_ASSERT_EQUAL(pkt.ackreq, bths[i].ackreq);
			CU_ASSERT_EQUAL(pkt.psn, bths[i].psn);
			CU_ASSERT_EQUAL(pkt.dqpn, 0x012345);
			CU_ASSERT_EQUAL(pkt.pkey, 0xffff);
			CU_ASSERT_TRUE(uroce_gid_equal(pkt.src, path.src));
			CU_ASSERT_TRUE(uroce_gid_equal(pkt.dst, path.dst));
			CU_ASSERT_EQUAL(pkt.pad_bytes, (4 - bytes % 4) % 4);
			CU_ASSERT_EQUAL_FATAL(pkt.payload_bytes, bytes);
			CU_ASSERT_EQUAL(memcmp(pkt.payload, payload, bytes), 0);
			CU_ASSERT_FALSE(pkt.udp_checksum_wrong);
			for (uint32_t j = 0; j < pkt.pad_bytes; j++)
				CU_ASSERT_EQUAL(pkt.payload[bytes + j], 0);
			free((void *)(uintptr_t)pkt.data);
		}
	stop();
}

static void the_parser_returns_the_extension_headers(void)
{
	struct uroce_pkt pkt;
	const uint8_t *h;
	uint8_t *p;

	start(256);
	p = begin((struct uroce_bth){.opcode = 0x0c, .psn = 5});
	finish(uroce_build_reth(p, UINT64_MAX - 1, 0xfffefdfc, 0x80000000), 0);
	pkt = parse_back();
	h = uroce_pkt_reth(&pkt);
	CU_ASSERT_EQUAL(uroce_load_be64(h + UROCE_RETH_VA), UINT64_MAX - 1);
	CU_ASSERT_EQUAL(uroce_load_be32(h + UROCE_RETH_RKEY), 0xfffefdfc);
	CU_ASSERT_EQUAL(uroce_load_be32(h + UROCE_RETH_DMALEN), 0x80000000);
	free((void *)(uintptr_t)pkt.data);
	p = begin((struct uroce_bth){.opcode = 0x14, .psn = 5});
	finish(uroce_build_atomiceth(p, 0x10, 0x11, 0x1213141516171819, 0x2021222324252627), 0);
	pkt = parse_back();
	h = uroce_pkt_atomiceth(&pkt);
	CU_ASSERT_EQUAL(uroce_load_be64(h + UROCE_ATOMICETH_VA), 0x10);
	CU_ASSERT_EQUAL(uroce_load_be32(h + UROCE_ATOMICETH_RKEY), 0x11);
	CU_ASSERT_EQUAL(uroce_load_be64(h + UROCE_ATOMICETH_SWAP_ADD), 0x1213141516171819);
	CU_ASSERT_EQUAL(uroce_load_be64(h + UROCE_ATOMICETH_COMPARE), 0x2021222324252627);
	free((void *)(uintptr_t)pkt.data);
	p = begin((struct uroce_bth){.opcode = 0x11, .psn = 5});
	finish(uroce_build_aeth(p, 0x62, 0xabcdef), 0);
	pkt = parse_back();
	h = uroce_pkt_aeth(&pkt);
	CU_ASSERT_EQUAL(h[UROCE_AETH_SYNDROME], 0x62);
	CU_ASSERT_EQUAL(uroce_load_be24(h + UROCE_AETH_MSN), 0xabcdef);
	free((void *)(uintptr_t)pkt.data);
	stop();
}

static void the_longest_frame_fills_its_slot_but_for_a_tag(void)
{
	static const uint32_t mtus[] = {256, 512, 1024, 2048, 4096};

	for (size_t i = 0; i < 2 * sizeof(mtus) / sizeof(mtus[0]); i++) {
		bool v6 = i & 1;
		uint32_t mtu = mtus[i / 2];
		struct uroce_pkt pkt;
		uint8_t *p;

		start(mtu);
		if (v6)
			use_ipv6();
		p = begin((struct uroce_bth){.opcode = 0x0b, .psn = 1});
		p = append(uroce_build_reth(p, 1, 2, mtu), "\x12\x34\x56\x78", 4);
		memset(p, 0x3c, mtu);
		finish(p + mtu, mtu);
		CU_ASSERT_EQUAL(slot.bytes, slot.capacity_bytes - 4 - (v6 ? 0 : 20));
		pkt = parse_back();
		CU_ASSERT_EQUAL(pkt.payload_bytes, mtu);
		CU_ASSERT_EQUAL(uroce_pkt_imm(&pkt), 0x12345678);
		free((void *)(uintptr_t)pkt.data);
	}
	stop();
}

/* The checksum is the template's sum and a length: carries must not get lost. */
static void the_ip_checksum_is_right_for_every_length_and_path(void)
{
	static const uint32_t addrs[] = {0, 0xffffffff, 0xc6336402, 0x0000ffff, 0xffff0000};
	unsigned int wrong = 0;

	start(4096);
	for (size_t i = 0; i < sizeof(addrs) / sizeof(addrs[0]); i++)
		for (uint32_t tos = 0; tos < 256; tos += 51)
			for (uint32_t bytes = 0; bytes <= 4096; bytes += 13) {
				uint8_t *p;

				path.src = uroce_gid_of_ipv4(addrs[i]);
				path.tos = (uint8_t)tos;
				path.ttl = (uint8_t)(255 - tos);
				uroce_build_template(&qp);
				p = begin((struct uroce_bth){.opcode = 0x04});
				memset(p, 0, bytes);
				finish(p + bytes, bytes);
				wrong += frame_sum_be16(slot.data + AT_IP, 20) != 0xffff;
				wrong += frame_be16(slot.data + AT_IP + 2) != slot.bytes - 14;
			}
	CU_ASSERT_EQUAL(wrong, 0);
	stop();
}

static void the_icrc_is_what_the_bits_say(void)
{
	unsigned int wrong = 0;

	start(1024);
	for (uint32_t bytes = 0; bytes <= 1024; bytes += 7) {
		uint8_t *p = begin((struct uroce_bth){.opcode = 0x04, .psn = bytes});
		const uint8_t *trailer;

		for (uint32_t i = 0; i < bytes; i++)
			p[i] = (uint8_t)(i * 29);
		finish(p + bytes, bytes);
		trailer = slot.data + slot.bytes - 4;
		wrong += uroce_load_le32(trailer) !=
			frame_icrc(slot.data + AT_IP, slot.bytes - 14 - 4);
	}
	CU_ASSERT_EQUAL(wrong, 0);
	stop();
}

static void the_icrc_may_be_switched_off_for_what_is_sent(void)
{
	static const struct {
		enum uroce_icrc_mode mode;
		bool computed;
	} lines[] = {{UROCE_ICRC_VERIFY, true}, {UROCE_ICRC_IGNORE, true}, {UROCE_ICRC_OFF, false}};

	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		uint32_t icrc;

		start(256);
		core.conf.icrc_mode = lines[i].mode;
		finish(append(begin((struct uroce_bth){.opcode = 0x04}), "abcd", 4), 4);
		icrc = frame_icrc(slot.data + AT_IP, slot.bytes - 18);
		CU_ASSERT_EQUAL(
			uroce_load_le32(slot.data + slot.bytes - 4), lines[i].computed ? icrc : 0);
	}
	stop();
}

static void every_frame_built_is_counted(void)
{
	start(256);
	for (int i = 0; i < 5; i++)
		finish(begin((struct uroce_bth){.opcode = 0x04}), 0);
	CU_ASSERT_EQUAL(core.counters.tx_frames, 5);
	stop();
}

static uint32_t source_port(uint32_t qpn, uint32_t dest_qpn)
{
	qp.qpn = qpn;
	qp.attr.dest_qpn = dest_qpn;
	uroce_build_template(&qp);
	finish(begin((struct uroce_bth){.opcode = 0x04}), 0);
	return frame_be16(slot.data + AT_UDP);
}

static void source_ports_are_constant_dynamic_and_spread(void)
{
	static uint8_t used[0x4000];
	unsigned int different = 0;

	start(256);
	memset(used, 0, sizeof(used));
	for (uint32_t i = 0; i < 256; i++) {
		uint32_t port = source_port(0x100 + i, 0x200 + i);

		CU_ASSERT_TRUE_FATAL(port >= 0xc000);
		CU_ASSERT_EQUAL(source_port(0x100 + i, 0x200 + i), port);
		different += !used[port - 0xc000];
		used[port - 0xc000] = 1;
	}
	CU_ASSERT_TRUE(different > 200);
	CU_ASSERT_TRUE(source_port(0xfffffe, 0xfffffe) >= 0xc000);
	stop();
}

/* The label's upper six bits folded into the lower fourteen, as libibverbs has it. */
static void a_flow_label_decides_the_source_port(void)
{
	static const struct {
		uint32_t label, port;
	} lines[] = {{0x00001, 0xc001}, {0x03fff, 0xffff}, {0x04000, 0xc001}, {0xfc000, 0xc03f},
		{0xfffff, 0xffc0}, {0xabcde, 0xfcf4}, {0x80000, 0xc020}};
	const struct uroce_datagram to = {.path = &path, .qpn = 5};

	for (int v6 = 0; v6 < 2; v6++)
		for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
			uint32_t at = v6 ? 14 + 40 : AT_UDP;

			start(256);
			core.conf.mtu_bytes = 256;
			if (v6)
				use_ipv6();
			path.flow_label = lines[i].label;
			uroce_build_template(&qp);
			/* Whatever the numbers of the queue pairs are. */
			for (uint32_t qpn = 0x10; qpn < 0x20; qpn++) {
				qp.qpn = qpn;
				uroce_build_template(&qp);
				finish(begin((struct uroce_bth){.opcode = 0x04}), 0);
				CU_ASSERT_EQUAL(frame_be16(slot.data + at), lines[i].port);
			}
			uroce_build_start_datagram(
				&core, &qp, &slot, (struct uroce_bth){.opcode = 0x64}, &to);
			CU_ASSERT_EQUAL(frame_be16(slot.data + at), lines[i].port);
		}
	stop();
}

static void a_rebuilt_template_follows_the_path(void)
{
	static const uint8_t mac[6] = {0x22, 1, 2, 3, 4, 5};

	start(256);
	memcpy(path.dmac, mac, 6);
	path.dst = uroce_gid_of_ipv4(0x0a0b0c0d);
	uroce_build_template(&qp);
	finish(begin((struct uroce_bth){.opcode = 0x04}), 0);
	CU_ASSERT_EQUAL(memcmp(slot.data, mac, 6), 0);
	CU_ASSERT_EQUAL(memcmp(slot.data + AT_IP + 16, "\x0a\x0b\x0c\x0d", 4), 0);
	stop();
}

static void start_cnp(void)
{
	memset(slot.data, 0xff, slot.capacity_bytes);
	memset(uroce_build_start_cnp(&qp, &slot), 0, 16);
	finish(slot.data + (uroce_frame_is_ipv6(slot.data) ? 94 : 74) - 4, 0);
}

/* All but what is a sender's own: identification, source port, and the sums that follow. */
static void a_notification_is_what_hardware_sends(void)
{
	uint8_t *ip;

	start(256);
	path.src = uroce_gid_of_ipv4(0x0a001101);
	path.dst = uroce_gid_of_ipv4(0x0a001201);
	path.ttl = 64;
	memcpy(path.dmac, frame_cnp, 6);
	memcpy(path.smac, frame_cnp + 6, 6);
	qp.attr.dest_qpn = 0x118;
	uroce_build_template(&qp);
	start_cnp();
	CU_ASSERT_EQUAL_FATAL(slot.bytes, sizeof(frame_cnp));
	ip = slot.data + AT_IP;
	CU_ASSERT_EQUAL(uroce_ip_fold(uroce_ip_sum(ip, 20, 0)), 0xffff);
	memcpy(ip + 4, frame_cnp + AT_IP + 4, 2);
	memcpy(ip + 10, frame_cnp + AT_IP + 10, 2);
	memset(ip + 20, 0, 2);
	uroce_store_le32(slot.data + 70, uroce_icrc(ip, 20, 16));
	CU_ASSERT_EQUAL(memcmp(slot.data, frame_cnp, sizeof(frame_cnp)), 0);
	stop();
}

static void a_notification_over_ipv6_has_the_same_class(void)
{
	start(256);
	use_ipv6();
	start_cnp();
	CU_ASSERT_EQUAL(slot.bytes, 94);
	/* Version 6, class 0xc2, the path's flow label. */
	CU_ASSERT_EQUAL(uroce_load_be32(slot.data + AT_IP), 0x6c2abcde);
	CU_ASSERT_EQUAL(uroce_load_be16(slot.data + AT_IP + 4), 40);
	stop();
}

/* Whatever the path says in those two bits. */
static void with_dcqcn_a_frame_says_that_it_may_be_marked(void)
{
	for (uint32_t tos = 0; tos < 256; tos++) {
		start(256);
		qp.attr.dcqcn = true;
		path.tos = (uint8_t)tos;
		uroce_build_template(&qp);
		finish(begin((struct uroce_bth){.opcode = 0x04}), 0);
		CU_ASSERT_EQUAL(slot.data[AT_IP + 1], (tos & 0xfc) | 2);
		CU_ASSERT_EQUAL(uroce_ip_fold(uroce_ip_sum(slot.data + AT_IP, 20, 0)), 0xffff);
		use_ipv6();
		finish(begin((struct uroce_bth){.opcode = 0x04}), 0);
		CU_ASSERT_EQUAL(uroce_load_be32(slot.data + AT_IP),
			0x60000000u | (tos & 0xfc) << 20 | 2u << 20 | 0xabcde);
		stop();
	}
}

int main(void)
{
	static const struct unit_case cases[] = {
		{"A WRITE is built byte for byte", a_write_is_built_byte_for_byte},
		{"An acknowledgement is built byte for byte",
			an_acknowledgement_is_built_byte_for_byte},
		{"A solicited SEND is built byte for byte",
			a_solicited_send_is_built_byte_for_byte},
		{"An atomic is built byte for byte", an_atomic_is_built_byte_for_byte},
		{"The slot may be used again at once", the_slot_may_be_used_again_at_once},
		{"The parser returns what was built", the_parser_returns_what_was_built},
		{"The parser returns the extension headers",
			the_parser_returns_the_extension_headers},
		{"The longest frame fills its slot but for a tag",
			the_longest_frame_fills_its_slot_but_for_a_tag},
		{"The IP checksum is right for every length and path",
			the_ip_checksum_is_right_for_every_length_and_path},
		{"The ICRC is what the bits say", the_icrc_is_what_the_bits_say},
		{"The ICRC may be switched off for what is sent",
			the_icrc_may_be_switched_off_for_what_is_sent},
		{"Every frame built is counted", every_frame_built_is_counted},
		{"Source ports are constant, dynamic and spread",
			source_ports_are_constant_dynamic_and_spread},
		{"A flow label decides the source port", a_flow_label_decides_the_source_port},
		{"A rebuilt template follows the path", a_rebuilt_template_follows_the_path},
		{"A congestion notification is what hardware sends",
			a_notification_is_what_hardware_sends},
		{"A congestion notification over IPv6 has the same class",
			a_notification_over_ipv6_has_the_same_class},
		{"With DCQCN a frame says that it may be marked",
			with_dcqcn_a_frame_says_that_it_may_be_marked},
	};

	return run_suite("build", cases, sizeof(cases) / sizeof(cases[0]));
}
