/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * RoCEv2 over IPv6: what is built, what is taken, and what the invariant CRC covers. The literal
 * frame and its ICRC were made without uroce, with another library's CRC-32.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "build.h"
#include "cunit_run.h"
#include "icrc.h"
#include "parse.h"
#include "pcap/reader.h"
#include "wire_frames.h"

enum {
	V6_IP = 14,
	V6_UDP = V6_IP + 40,
	V6_BTH = V6_UDP + 8,
	V6_EXT = V6_BTH + 12,
};

// clang-format off

/* SEND ONLY, solicited, ackreq, PSN 0xfffffe, five bytes, pad 3, flow label 0xabcde. */
static const uint8_t want[86] = {
	0x5e, 0x4d, 0x3c, 0x2b, 0x1a, 0x09, 0x0a, 0x1b, 0x2c, 0x3d, 0x4e, 0x5f, 0x86, 0xdd, 0x66, 0xaa,
	0xbc, 0xde, 0x00, 0x20, 0x11, 0x3f, 0x20, 0x01, 0x0d, 0xb8, 0x00, 0x01, 0x00, 0x02, 0x00, 0x00,
	0x00, 0x00, 0x00, 0x00, 0x00, 0xaa, 0x20, 0x01, 0x0d, 0xb8, 0x00, 0x01, 0x00, 0x02, 0xfe, 0x00,
	0x00, 0xff, 0x00, 0x00, 0x00, 0xbb, 0xfc, 0xf4, 0x12, 0xb7, 0x00, 0x20, 0x00, 0x00, 0x04, 0xf0,
	0xff, 0xff, 0x00, 0x01, 0x23, 0x45, 0x80, 0xff, 0xff, 0xfe, 0x48, 0x65, 0x6c, 0x6c, 0x6f, 0x00,
	0x00, 0x00, 0x38, 0x9a, 0xe0, 0x59,
};

// clang-format on

static const struct uroce_gid us = {0x20010db800010002, 0xfe0000ff000000bb};
static const struct uroce_gid peer = {0x20010db800010002, 0xaa};

static uint8_t spoilt[sizeof(want)];
static struct uroce_local local;
static struct uroce_pkt pkt;

static void start(void)
{
	memcpy(spoilt, want, sizeof(want));
	local = (struct uroce_local){
		.mac = {0x5e, 0x4d, 0x3c, 0x2b, 0x1a, 0x09}, .addrs = {us}, .num_addrs = 1};
}

/* From a copy of exactly that size, so that a step over its edge is seen. */
static enum uroce_drop parse_flagged(uint32_t bytes, uint16_t flags)
{
	uint8_t *frame = malloc(bytes ? bytes : 1);
	enum uroce_drop drop;

	CU_ASSERT_PTR_NOT_NULL_FATAL(frame);
	memcpy(frame, spoilt, bytes);
	pkt = (struct uroce_pkt){.data = frame, .bytes = bytes, .flags = flags};
	drop = uroce_parse(&local, &pkt);
	free(frame);
	return drop;
}

static enum uroce_drop parse(uint32_t bytes)
{
	return parse_flagged(bytes, 0);
}

static bool icrc_is_right(void)
{
	uint32_t icrc = uroce_icrc(spoilt + V6_IP, 40, sizeof(spoilt) - V6_EXT - 4);

	return icrc == uroce_load_le32(spoilt + sizeof(spoilt) - 4);
}

static void a_send_is_built_byte_for_byte(void)
{
	static uint8_t data[256 + UROCE_OVERHEAD_BYTES_MAX];
	struct uroce_path path = {.src = peer,
		.dst = us,
		.flow_label = 0xabcde,
		.smac = {0x0a, 0x1b, 0x2c, 0x3d, 0x4e, 0x5f},
		.dmac = {0x5e, 0x4d, 0x3c, 0x2b, 0x1a, 0x09},
		.tos = 0x6a,
		.ttl = 63};
	struct uroce_qp *qp = calloc(1, sizeof(*qp));
	struct uroce_core *core = calloc(1, sizeof(*core));
	struct uroce_slot slot = {.data = data, .capacity_bytes = sizeof(data)};
	uint8_t *p;

	CU_ASSERT_FATAL(qp && core);
	qp->qpn = 0x12;
	qp->path = &path;
	qp->attr.dest_qpn = 0x012345;
	qp->attr.path_mtu_bytes = 256;
	memset(data, 0xee, sizeof(data));
	uroce_build_template(qp);
	p = uroce_build_start(qp, &slot,
		(struct uroce_bth){
			.opcode = 0x04, .psn = 0xfffffe, .solicited = true, .ackreq = true});
	memcpy(p, "Hello", 5);
	uroce_build_finish(core, &slot, p + 5, 5);
	CU_ASSERT_EQUAL_FATAL(slot.bytes, sizeof(want));
	CU_ASSERT_EQUAL(memcmp(data, want, sizeof(want)), 0);
	free(qp);
	free(core);
}

static void it_is_parsed(void)
{
	start();
	CU_ASSERT_EQUAL(parse(sizeof(want)), UROCE_ACCEPTED);
	CU_ASSERT_TRUE(uroce_gid_equal(pkt.src, peer));
	CU_ASSERT_TRUE(uroce_gid_equal(pkt.dst, us));
	CU_ASSERT_EQUAL(pkt.ip_header_bytes, 40);
	CU_ASSERT_EQUAL(pkt.dqpn, 0x012345);
	CU_ASSERT_EQUAL(pkt.psn, 0xfffffe);
	CU_ASSERT_EQUAL(pkt.payload_bytes, 5);
	CU_ASSERT_EQUAL(pkt.pad_bytes, 3);
	CU_ASSERT_FALSE(pkt.udp_checksum_wrong);
	CU_ASSERT_TRUE(icrc_is_right());
}

static void marks_are_the_last_two_bits_of_the_class(void)
{
	start();
	for (uint32_t class = 0; class < 256; class ++) {
		uroce_store_be32(spoilt + V6_IP, 0x600abcde | class << 20);
		CU_ASSERT_EQUAL(parse(sizeof(want)), UROCE_ACCEPTED);
		CU_ASSERT_EQUAL(pkt.ecn, class & 3);
	}
}

static void every_truncation_is_refused(void)
{
	start();
	for (uint32_t bytes = 0; bytes < sizeof(want); bytes++) {
		enum uroce_drop drop = parse(bytes);

		CU_ASSERT_EQUAL(drop,
			bytes < V6_UDP + 8 ? UROCE_DROP_FRAME_TOO_SHORT
					   : UROCE_DROP_LENGTH_MISMATCH);
	}
}

static void lengths_that_do_not_agree_are_refused(void)
{
	for (uint32_t length = 0; length < 100; length++) {
		start();
		uroce_store_be16(spoilt + V6_IP + 4, (uint16_t)length);
		CU_ASSERT_EQUAL(parse(sizeof(want)),
			length == 32 ? UROCE_ACCEPTED : UROCE_DROP_LENGTH_MISMATCH);
	}
	/* Both shorter, and too short for a BTH and a trailer. */
	for (uint16_t length = 8; length < 32; length++) {
		start();
		uroce_store_be16(spoilt + V6_IP + 4, length);
		uroce_store_be16(spoilt + V6_UDP + 4, length);
		CU_ASSERT_EQUAL(parse(sizeof(want)),
			length < 8 + 12 + 4 + 3 ? UROCE_DROP_HEADER_MISSING : UROCE_ACCEPTED);
	}
}

/* Extension headers, fragments among them, ICMPv6, TCP: for the host. */
static void what_is_not_udp_is_handed_back(void)
{
	start();
	for (uint32_t next = 0; next < 256; next++) {
		spoilt[V6_IP + 6] = (uint8_t)next;
		CU_ASSERT_EQUAL(
			parse(sizeof(want)), next == 17 ? UROCE_ACCEPTED : UROCE_DROP_NOT_UDP);
	}
	CU_ASSERT_TRUE(handed_back(UROCE_DROP_NOT_UDP));
}

static void another_version_is_refused(void)
{
	start();
	for (uint32_t version = 0; version < 16; version++) {
		spoilt[V6_IP] = (uint8_t)(version << 4 | 6);
		CU_ASSERT_EQUAL(
			parse(sizeof(want)), version == 6 ? UROCE_ACCEPTED : UROCE_DROP_IP_HEADER);
	}
}

/* An IPv4 address of ours, in an IPv6 header, is not ours. */
static void mapped_addresses_are_refused(void)
{
	static const uint32_t places[] = {V6_IP + 8, V6_IP + 24};

	for (int i = 0; i < 2; i++) {
		start();
		local.addrs[1] = uroce_gid_of_ipv4(0xc0000201);
		local.num_addrs = 2;
		uroce_gid_store(spoilt + places[i], local.addrs[1]);
		CU_ASSERT_EQUAL(parse(sizeof(want)), UROCE_DROP_IP_HEADER);
	}
}

static void another_address_is_handed_back(void)
{
	for (uint32_t bit = 0; bit < 128; bit++) {
		start();
		spoilt[V6_IP + 24 + bit / 8] ^= (uint8_t)(1 << bit % 8);
		CU_ASSERT_EQUAL(parse(sizeof(want)), UROCE_DROP_DGID_NOT_OURS);
	}
	CU_ASSERT_TRUE(handed_back(UROCE_DROP_DGID_NOT_OURS));
}

/* ff0e::1:2:3, whose MAC is 33:33 and the last four bytes. */
static void a_group_has_a_mac_of_its_own(void)
{
	static const struct uroce_gid group = {0xff0e000000000000, 0x0000000100020003};
	static const uint8_t mac[6] = {0x33, 0x33, 0, 2, 0, 3};

	for (uint32_t byte = 0; byte < 7; byte++) {
		start();
		local.groups[0] = (struct uroce_local_group){.addr = group};
		local.num_groups = 1;
		uroce_gid_store(spoilt + V6_IP + 24, group);
		memcpy(spoilt, mac, sizeof(mac));
		if (byte < 6)
			spoilt[byte] ^= 4;
		CU_ASSERT_EQUAL(
			parse(sizeof(want)), byte < 6 ? UROCE_DROP_NOT_OUR_MAC : UROCE_ACCEPTED);
	}
	CU_ASSERT_PTR_EQUAL(pkt.group, &local.groups[0]);
}

/* Over pseudo header, UDP header and data, added up here in another way. */
static uint16_t udp_checksum(void)
{
	uint64_t sum = 17 + 32;

	for (uint32_t at = V6_IP + 8; at < sizeof(want); at++)
		sum += at & 1 ? spoilt[at] : (uint64_t)spoilt[at] << 8;
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	return (uint16_t)~sum;
}

static void a_udp_checksum_is_checked_if_there_is_one(void)
{
	uint16_t right;

	start();
	right = udp_checksum();
	uroce_store_be16(spoilt + V6_UDP + 6, right);
	CU_ASSERT_EQUAL(parse(sizeof(want)), UROCE_ACCEPTED);
	CU_ASSERT_FALSE(pkt.udp_checksum_wrong);
	uroce_store_be16(spoilt + V6_UDP + 6, (uint16_t)(right + 1));
	CU_ASSERT_EQUAL(parse(sizeof(want)), UROCE_ACCEPTED);
	CU_ASSERT_TRUE(pkt.udp_checksum_wrong);
}

/* Version is covered; traffic class, flow label, hop limit, UDP checksum, FECN and BECN are not. */
static bool is_variant(uint32_t at, uint32_t bit)
{
	if (at == V6_IP)
		return bit < 4;
	return (at > V6_IP && at < V6_IP + 4) || at == V6_IP + 7 || at == V6_UDP + 6 ||
		at == V6_UDP + 7 || at == V6_BTH + 4;
}

static void the_icrc_covers_what_routers_leave_alone(void)
{
	for (uint32_t at = V6_IP; at < sizeof(want) - 4; at++)
		for (uint32_t bit = 0; bit < 8; bit++) {
			start();
			spoilt[at] ^= (uint8_t)(1 << bit);
			if (at == V6_IP && bit == 5)
				continue; /* version 4 is masked as an IPv4 header */
			CU_ASSERT_EQUAL(icrc_is_right(), is_variant(at, bit));
		}
}

/* The vectors that Scapy's authors give, one of them of IPv6. */
static void scapys_vector_is_right(void)
{
	const char *folder = getenv("UROCE_PUBLIC_CAPTURES");
	struct uroce_pcap_reader *reader;
	struct uroce_pcap_frame frame;
	int found = 0;
	char path[512];

	if (!folder)
		SKIP("UROCE_PUBLIC_CAPTURES is not set");
	snprintf(path, sizeof(path), "%s/vectors-scapy-roce.pcap", folder);
	CU_ASSERT_EQUAL_FATAL(uroce_pcap_reader_open(path, &reader, NULL, 0), 0);
	while (uroce_pcap_reader_next(reader, &frame) == 1) {
		const uint8_t *p = frame.data;

		if (uroce_load_be16(p + UROCE_ETH_TYPE) != UROCE_ETHERTYPE_IPV6)
			continue;
		start();
		memcpy(local.mac, p + UROCE_ETH_DMAC, sizeof(local.mac));
		local.addrs[0] = uroce_gid_load(p + V6_IP + UROCE_IPV6_DST);
		pkt = (struct uroce_pkt){.data = p, .bytes = frame.captured_bytes};
		CU_ASSERT_EQUAL_FATAL(uroce_parse(&local, &pkt), UROCE_ACCEPTED);
		CU_ASSERT_EQUAL(uroce_load_be32(p + V6_IP), 6u << 28 | 226 << 20 | 0x1face);
		CU_ASSERT_TRUE(uroce_pkt_icrc_check(&pkt));
		found++;
	}
	CU_ASSERT_EQUAL(found, 1);
	uroce_pcap_reader_close(reader);
}

/* Only our own address, our own MAC and the wire together make an echo. */
static void our_own_datagram_to_a_group_is_not_taken_from_the_wire(void)
{
	static const struct uroce_gid group = {0xff0e000000000000, 0x0000000100020003};

	start();
	memcpy(spoilt, (uint8_t[]){0x33, 0x33, 0x00, 0x02, 0x00, 0x03}, 6);
	uroce_gid_store(spoilt + V6_IP + 24, group);
	local.groups[0] = (struct uroce_local_group){.addr = group};
	local.num_groups = 1;
	CU_ASSERT_EQUAL(parse(sizeof(spoilt)), UROCE_ACCEPTED);
	memcpy(spoilt + 6, local.mac, 6);
	CU_ASSERT_EQUAL(parse(sizeof(spoilt)), UROCE_ACCEPTED);
	uroce_gid_store(spoilt + V6_IP + 8, us);
	CU_ASSERT_EQUAL(parse(sizeof(spoilt)), UROCE_DROP_ECHO);
	local.promiscuous = true;
	CU_ASSERT_EQUAL(parse(sizeof(spoilt)), UROCE_DROP_ECHO);
	local.promiscuous = false;
	CU_ASSERT_EQUAL(parse_flagged(sizeof(spoilt), UROCE_PKT_INNER), UROCE_ACCEPTED);
	CU_ASSERT_EQUAL(parse_flagged(sizeof(spoilt), UROCE_PKT_IPV4_CHECKSUM_OK), UROCE_DROP_ECHO);
	spoilt[11]++;
	CU_ASSERT_EQUAL(parse(sizeof(spoilt)), UROCE_ACCEPTED);
	/* From ourselves to ourselves is not for a group. */
	start();
	memcpy(spoilt + 6, local.mac, 6);
	uroce_gid_store(spoilt + V6_IP + 8, us);
	CU_ASSERT_EQUAL(parse(sizeof(spoilt)), UROCE_ACCEPTED);
}

int main(void)
{
	static const struct unit_case cases[] = {
		{"a SEND is built byte for byte", a_send_is_built_byte_for_byte},
		{"it is parsed", it_is_parsed},
		{"marks are the last two bits of the class",
			marks_are_the_last_two_bits_of_the_class},
		{"every truncation is refused", every_truncation_is_refused},
		{"lengths that do not agree are refused", lengths_that_do_not_agree_are_refused},
		{"what is not UDP is handed back", what_is_not_udp_is_handed_back},
		{"another version is refused", another_version_is_refused},
		{"IPv4's addresses in an IPv6 header are refused", mapped_addresses_are_refused},
		{"another address is handed back", another_address_is_handed_back},
		{"a group has a MAC of its own", a_group_has_a_mac_of_its_own},
		{"our own datagram to a group is not taken from the wire",
			our_own_datagram_to_a_group_is_not_taken_from_the_wire},
		{"a UDP checksum is checked if there is one",
			a_udp_checksum_is_checked_if_there_is_one},
		{"the ICRC covers what routers leave alone",
			the_icrc_covers_what_routers_leave_alone},
		{"scapy#4154 and #3562: the ICRC over IPv6 is as others count it",
			scapys_vector_is_right},
	};

	return run_suite("ipv6", cases, sizeof(cases) / sizeof(cases[0]));
}
