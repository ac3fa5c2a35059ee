/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The text decoder: fields, ICRC verdicts, reasons to refuse, and that no frame, however cut or
 * changed, is read beyond its end.
 *
 * UROCE_CAPTURES names the folder of the project's captures, UROCE_PUBLIC_CAPTURES a folder of
 * captures from elsewhere; without them the cases that need them are skipped.
 */
#define _GNU_SOURCE
#include <dirent.h>

#include "pcap/reader.h"

#include "text_frames.h"

static void check_frame(const uint8_t *data, uint32_t n, const char *want)
{
	check_text(line_of(data, n, n), want);
}

static void every_field_of_a_write_is_decoded(void)
{
	struct uroce_text_packet packet;

	uroce_text_decode(write_only_imm, sizeof(write_only_imm), sizeof(write_only_imm), &packet);
	CU_ASSERT_STRING_EQUAL(packet.proto, "RoCEv2/IPv4");
	CU_ASSERT_STRING_EQUAL(packet.src, "192.0.2.1");
	CU_ASSERT_STRING_EQUAL(packet.dst, "192.0.2.2");
	CU_ASSERT_STRING_EQUAL(packet.opcode_name, "RC_RDMA_WRITE_ONLY_WITH_IMMEDIATE");
	CU_ASSERT(packet.is_roce && packet.has_udp && packet.has_bth);
	CU_ASSERT_EQUAL(packet.udp_sport, 0xcfc0);
	CU_ASSERT_EQUAL(packet.opcode, 0x0b);
	CU_ASSERT_EQUAL(packet.pkey, 0xffff);
	CU_ASSERT_EQUAL(packet.dqpn, 0x3f);
	CU_ASSERT_EQUAL(packet.psn, 0x1ac423);
	CU_ASSERT_TRUE(packet.ackreq);
	CU_ASSERT(!packet.se && !packet.migreq && !packet.fecn && !packet.becn);
	CU_ASSERT_TRUE(packet.has_reth);
	CU_ASSERT_EQUAL(packet.reth.va, 0x7f305b655000);
	CU_ASSERT_EQUAL(packet.reth.rkey, 0x3638);
	CU_ASSERT_EQUAL(packet.reth.dma_len, 0);
	CU_ASSERT_TRUE(packet.has_immdt);
	CU_ASSERT_EQUAL(packet.immdt, 0xabcd0003);
	CU_ASSERT(!packet.has_aeth && !packet.has_deth && !packet.has_ieth);
	CU_ASSERT(!packet.has_atomiceth && !packet.has_atomicacketh);
	CU_ASSERT_TRUE(packet.has_payload);
	CU_ASSERT_EQUAL(packet.payload_offset, 74);
	CU_ASSERT_EQUAL(packet.payload_bytes, 0);
	CU_ASSERT_EQUAL(packet.icrc, UROCE_TEXT_ICRC_OK);
	CU_ASSERT_PTR_NULL(packet.malformed);
}

static void ipv6_addresses_are_shown(void)
{
	struct uroce_text_packet packet;

	uroce_text_decode(ipv6_ack, sizeof(ipv6_ack), sizeof(ipv6_ack), &packet);
	CU_ASSERT_STRING_EQUAL(packet.proto, "RoCEv2/IPv6");
	CU_ASSERT_STRING_EQUAL(packet.src, "2001:db8::2");
	CU_ASSERT_STRING_EQUAL(packet.dst, "2001:db8::1");
}

static void every_malformed_frame_has_its_reason(void)
{
	static const uint8_t body[8] = {0x1f, 0, 0, 1};
	struct built frame;

	check_text(built_refusal(build(0x04, 0x01, body, 8)), "tver_not_zero");
	check_text(built_refusal(build(0x04, 0x30, body, 0)), "pad_exceeds_payload");
	check_text(built_refusal(build(0x04, 0x00, body, 5)), "length_not_multiple_of_4");
	check_text(built_refusal(build(0x11, 0x00, body, 8)), "payload_unexpected");
	check_text(built_refusal(build(0x11, 0x30, body, 4)), "payload_unexpected");

	frame = build(0x04, 0, body, 8);
	frame.bytes[BTH + 7] = 0;
	check_text(built_refusal(frame), "dest_qpn_zero");

	frame = build(0x04, 0, body, 8);
	frame.bytes[IP + 6] |= 0x20;
	check_text(built_refusal(frame), "ip_fragment");

	frame = build(0x04, 0, body, 8);
	frame.bytes[IP + 10] ^= 1;
	check_text(built_refusal(frame), "ipv4_checksum_bad");

	frame = build(0x04, 0, body, 8);
	put16(frame.bytes + IP + 2, frame.n - IP + 1);
	seal(&frame);
	check_text(built_refusal(frame), "ip_length_beyond_frame");

	frame = build(0x04, 0, body, 8);
	put16(frame.bytes + IP + 2, 20 + 8 + 12 + 3);
	seal(&frame);
	check_text(built_refusal(frame), "ip_length_short");

	frame = build(0x04, 0, body, 8);
	put16(frame.bytes + IP + 2, 0);
	seal(&frame);
	check_text(built_refusal(frame), "ip_length_short");

	frame = build(0x04, 0, body, 8);
	put16(frame.bytes + UDP + 4, frame.n - UDP - 4);
	seal(&frame);
	check_text(built_refusal(frame), "udp_length_mismatch");
}

static void a_later_fragment_is_not_taken_for_roce(void)
{
	struct built frame = build(0x04, 0, NULL, 0);

	frame.bytes[IP + 7] = 1;
	seal(&frame);
	check_text(built_line(frame), "IPv4");
}

static void bytes_behind_the_datagram_do_not_count(void)
{
	uint8_t padded[sizeof(ack) + 6];

	memset(padded, 0xa5, sizeof(padded));
	memcpy(padded, ack, sizeof(ack));
	check_frame(padded, sizeof(padded),
		"RC_ACKNOWLEDGE qp 0x00001a psn 14195753 ACK credits none msn 1 icrc ok");
}

static void ip_options_are_part_of_the_icrc(void)
{
	struct built frame = build(0x04, 0, (const uint8_t *)"12345678", 8);
	uint8_t *ip = frame.bytes + IP;

	/* Four bytes of options where the payload's last four were. */
	memmove(ip + 24, ip + 20, frame.n - IP - 24);
	memset(ip + 20, 1, 4);
	ip[0] = 0x46;
	put16(ip + 24 + 4, frame.n - UDP - 4);
	seal_at(&frame, 24);
	check_text(built_line(frame), "RC_SEND_ONLY qp 0x000011 psn 100 len 4 icrc ok");
}

static void vlan_tags_are_told(void)
{
	static const uint8_t tags[12] = {
		0x88, 0xa8, 0x10, 0x07, 0x81, 0x00, 0x60, 0x64, 0x81, 0x00, 0x0f, 0xfe};
	static const struct {
		uint32_t at, bytes;
		const char *words;
	} lines[] = {{0, 0, ""}, {4, 4, " vlan 100 pcp 3"}, {8, 4, " vlan 4094"},
		{0, 8, " svlan 7 dei vlan 100 pcp 3"}, {0, 12, " svlan 7 dei vlan 100 pcp 3"}};
	uint8_t tagged[sizeof(ack) + 12];

	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		uint32_t bytes = lines[i].bytes;
		char want[160];

		memcpy(tagged, ack, 12);
		memcpy(tagged + 12, tags + lines[i].at, bytes);
		memcpy(tagged + 12 + bytes, ack + 12, sizeof(ack) - 12);
		snprintf(want, sizeof(want),
			"RC_ACKNOWLEDGE qp 0x00001a psn 14195753 ACK credits none msn 1%s icrc ok",
			lines[i].words);
		check_frame(tagged, (uint32_t)sizeof(ack) + bytes, want);
	}
}

static enum uroce_text_icrc icrc_of(const uint8_t *data, uint32_t captured, uint32_t wire)
{
	struct uroce_text_packet packet;

	uroce_text_decode(data, captured, wire, &packet);
	return packet.icrc;
}

/* Bytes that routers and NICs may change, as bits of (offset - IP). */
static bool is_variant(size_t at, bool ipv6)
{
	if (ipv6)
		return at == IP + 7 || at == IP + 2 || at == IP + 3 || at == IP + 1 ||
			at == IP + 40 + 6 || at == IP + 40 + 7 || at == IP + 40 + 12;
	return at == IP + 1 || at == IP + 8 || at == IP + 10 || at == IP + 11 || at == UDP + 6 ||
		at == UDP + 7 || at == BTH + 4;
}

static void check_every_bit(const uint8_t *original, uint32_t n, bool ipv6)
{
	uint8_t copy[128];

	for (uint32_t bit = IP * 8; bit < n * 8; bit++) {
		uint32_t at = bit / 8;
		struct uroce_text_packet packet;
		bool variant;

		memcpy(copy, original, n);
		copy[at] ^= (uint8_t)(1 << bit % 8);
		uroce_text_decode(copy, n, n, &packet);
		variant = is_variant(at, ipv6) || (ipv6 && at == IP && bit % 8 < 4);
		CU_ASSERT_EQUAL(packet.icrc == UROCE_TEXT_ICRC_OK, variant);
	}
}

static void any_flipped_bit_that_the_icrc_covers_is_seen(void)
{
	check_every_bit(send_only, sizeof(send_only), false);
	check_every_bit(ipv6_ack, sizeof(ipv6_ack), true);
}

static void an_icrc_of_zeros_is_absent(void)
{
	uint8_t copy[sizeof(ack)];
	struct uroce_text_packet packet;

	memcpy(copy, ack, sizeof(copy));
	memset(copy + sizeof(copy) - 4, 0, 4);
	uroce_text_decode(copy, sizeof(copy), sizeof(copy), &packet);
	CU_ASSERT_EQUAL(packet.icrc, UROCE_TEXT_ICRC_ABSENT);
	CU_ASSERT_STRING_EQUAL(uroce_text_drop_reason(&packet), "icrc_bad");
}

static void a_frame_that_ends_before_its_icrc_has_none(void)
{
	CU_ASSERT_EQUAL(icrc_of(ack, sizeof(ack) - 4, sizeof(ack) - 4), UROCE_TEXT_ICRC_ABSENT);
	CU_ASSERT_EQUAL(icrc_of(ack, sizeof(ack) - 1, sizeof(ack) - 1), UROCE_TEXT_ICRC_ABSENT);
}

static void a_cut_capture_is_unknown_and_not_malformed(void)
{
	struct uroce_text_packet packet;

	for (uint32_t captured = 0; captured < sizeof(write_only_imm); captured++) {
		uroce_text_decode(write_only_imm, captured, sizeof(write_only_imm), &packet);
		CU_ASSERT_EQUAL(packet.icrc, UROCE_TEXT_ICRC_UNKNOWN);
		CU_ASSERT_PTR_NULL(packet.malformed);
		CU_ASSERT_PTR_NULL(uroce_text_drop_reason(&packet));
		CU_ASSERT_EQUAL(packet.is_roce, captured >= UDP + 8);
		CU_ASSERT_EQUAL(packet.has_bth, captured >= BTH + 12);
		CU_ASSERT_EQUAL(packet.has_reth, captured >= EXT + 16);
		CU_ASSERT_EQUAL(packet.has_immdt, captured >= EXT + 20);
	}
}

/* Under the address sanitizer: each length in an allocation of exactly that size. */
static void no_length_is_read_beyond(void)
{
	static const struct {
		const uint8_t *bytes;
		uint32_t n;
	} frames[] = {{send_only, sizeof(send_only)}, {ack, sizeof(ack)},
		{ipv6_ack, sizeof(ipv6_ack)}, {write_only_imm, sizeof(write_only_imm)},
		{cnp, sizeof(cnp)}};
	struct uroce_text_packet packet;

	for (size_t i = 0; i < sizeof(frames) / sizeof(frames[0]); i++) {
		for (uint32_t n = 1; n < frames[i].n; n++) {
			uint8_t *copy = malloc(n);

			CU_ASSERT_PTR_NOT_NULL_FATAL(copy);
			memcpy(copy, frames[i].bytes, n);
			uroce_text_decode(copy, n, n, &packet);
			CU_ASSERT_NOT_EQUAL(packet.icrc, UROCE_TEXT_ICRC_OK);
			free(copy);
		}
	}
	uroce_text_decode(NULL, 0, 0, &packet);
	CU_ASSERT_STRING_EQUAL(packet.proto, "other");
}

static void random_changes_never_break_the_decoder(void)
{
	char text[UROCE_TEXT_JSON_BYTES];
	struct uroce_text_packet packet;
	uint32_t random = 1;
	uint8_t *copy = malloc(sizeof(ipv6_ack));

	CU_ASSERT_PTR_NOT_NULL_FATAL(copy);
	for (int round = 0; round < 200000; round++) {
		bool ipv6 = round & 1;
		uint32_t n = ipv6 ? sizeof(ipv6_ack) : sizeof(ack);

		memcpy(copy, ipv6 ? ipv6_ack : ack, n);
		for (int i = 0; i < 3; i++) {
			random = random * 1664525 + 1013904223;
			copy[12 + (random >> 8) % (n - 12)] = (uint8_t)(random >> 24);
		}
		uroce_text_decode(copy, n, n + (random >> 20 & 63), &packet);
		CU_ASSERT_TRUE_FATAL(
			uroce_text_line(&packet, text, sizeof(text)) < UROCE_TEXT_LINE_BYTES);
		CU_ASSERT_TRUE_FATAL(uroce_text_json(&packet, UINT64_MAX, UINT64_MAX,
					     uroce_text_drop_reason(&packet), text,
					     sizeof(text)) < UROCE_TEXT_JSON_BYTES);
	}
	free(copy);
}

/* What is in a capture, by the decoder's own words. */
struct census {
	unsigned int frames;
	unsigned int icrc[4]; /* of RoCE frames, by verdict */
	unsigned int roce;
	unsigned int ipv6;
	unsigned int malformed;
	const char *last_malformed;
};

static bool take_census(const char *folder, const char *name, struct census *census)
{
	struct uroce_pcap_reader *reader;
	struct uroce_text_packet packet;
	struct uroce_pcap_frame frame;
	char path[4096], error[512];
	int rc;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	if (uroce_pcap_reader_open(path, &reader, error, sizeof(error))) {
		printf("\n  %s\n", error);
		return false;
	}
	while ((rc = uroce_pcap_reader_next(reader, &frame)) == 1) {
		uroce_text_decode(frame.data, frame.captured_bytes, frame.wire_bytes, &packet);
		census->frames++;
		if (!packet.is_roce)
			continue;
		census->roce++;
		census->icrc[packet.icrc]++;
		census->ipv6 += strcmp(packet.proto, "RoCEv2/IPv6") == 0;
		if (packet.malformed) {
			census->malformed++;
			census->last_malformed = packet.malformed;
		}
	}
	uroce_pcap_reader_close(reader);
	return rc == 0;
}

static void the_projects_captures_hold_two_wrong_icrcs(void)
{
	const char *folder = getenv("UROCE_CAPTURES");
	struct census census = {0};
	unsigned int files = 0;
	struct dirent *entry;
	DIR *directory;

	if (!folder)
		SKIP("UROCE_CAPTURES is not set");
	directory = opendir(folder);
	CU_ASSERT_PTR_NOT_NULL_FATAL(directory);
	while ((entry = readdir(directory))) {
		if (!strstr(entry->d_name, ".pcap"))
			continue;
		files++;
		CU_ASSERT_TRUE(take_census(folder, entry->d_name, &census));
	}
	closedir(directory);
	CU_ASSERT_TRUE(files > 40);
	CU_ASSERT_TRUE(census.roce > 1000);
	CU_ASSERT_EQUAL(census.icrc[UROCE_TEXT_ICRC_BAD], 2);
	CU_ASSERT_EQUAL(census.icrc[UROCE_TEXT_ICRC_OK], census.roce - 2);
	/* The reserved opcode that host-raw-peer tries. */
	CU_ASSERT_EQUAL(census.malformed, 1);
	CU_ASSERT_STRING_EQUAL(census.last_malformed, "opcode_unknown");
}

static void the_ipv6_capture_is_ipv6(void)
{
	const char *folder = getenv("UROCE_CAPTURES");
	struct census census = {0};

	if (!folder)
		SKIP("UROCE_CAPTURES is not set");
	CU_ASSERT_TRUE(take_census(folder, "ipv6-rc-all-ops.pcap", &census));
	CU_ASSERT_EQUAL(census.frames, 54);
	CU_ASSERT_EQUAL(census.ipv6, 52);
	CU_ASSERT_EQUAL(census.icrc[UROCE_TEXT_ICRC_OK], 52);
}

static void public_captures_have_the_expected_verdicts(void)
{
	static const struct {
		const char *name;
		unsigned int frames;
		unsigned int icrc[4]; /* unknown, ok, bad, absent */
	} expected[] = {
		{"huawei-nic-rc-send-imm.pcap", 123, {0, 105, 0, 0}},
		{"rxe-cm-write-read-a.pcap", 16, {0, 12, 0, 0}},
		{"vectors-scapy-roce.pcap", 5, {0, 5, 0, 0}},
		{"vectors-bad-or-missing-icrc.pcap", 7, {0, 0, 4, 3}},
		{"derived-ce-marked-routed.pcap", 18, {0, 18, 0, 0}},
		{"derived-vlan100-pcp3.pcap", 18, {0, 18, 0, 0}},
		{"derived-qinq.pcap", 18, {0, 18, 0, 0}},
		{"derived-nanosecond-magic.pcap", 18, {0, 18, 0, 0}},
		{"derived-pcapng.pcapng", 18, {0, 18, 0, 0}},
		{"derived-icrc-zero.pcap", 18, {0, 0, 0, 18}},
		{"derived-one-bit-flipped.pcap", 36, {0, 0, 36, 0}},
		{"derived-snaplen-96.pcap", 18, {12, 6, 0, 0}},
		{"derived-snaplen-50-no-full-bth.pcap", 18, {18, 0, 0, 0}},
		{"derived-ip-more-fragments.pcap", 4, {4, 0, 0, 0}},
	};
	const char *folder = getenv("UROCE_PUBLIC_CAPTURES");

	if (!folder)
		SKIP("UROCE_PUBLIC_CAPTURES is not set");
	for (size_t i = 0; i < sizeof(expected) / sizeof(expected[0]); i++) {
		struct census census = {0};

		CU_ASSERT_TRUE(take_census(folder, expected[i].name, &census));
		CU_ASSERT_EQUAL(census.frames, expected[i].frames);
		for (int verdict = 0; verdict < 4; verdict++) {
			if (census.icrc[verdict] != expected[i].icrc[verdict])
				printf("\n  %s: %u %s, want %u\n", expected[i].name,
					census.icrc[verdict],
					uroce_text_icrc_name((enum uroce_text_icrc)verdict),
					expected[i].icrc[verdict]);
			CU_ASSERT_EQUAL(census.icrc[verdict], expected[i].icrc[verdict]);
		}
	}
}

int main(void)
{
	static const struct unit_case cases[] = {
		{"every field of a write is decoded", every_field_of_a_write_is_decoded},
		{"ipv6 addresses are shown", ipv6_addresses_are_shown},
		{"every malformed frame has its reason", every_malformed_frame_has_its_reason},
		{"a later fragment is not taken for roce", a_later_fragment_is_not_taken_for_roce},
		{"bytes behind the datagram do not count", bytes_behind_the_datagram_do_not_count},
		{"ip options are part of the icrc", ip_options_are_part_of_the_icrc},
		{"vlan tags are told", vlan_tags_are_told},
		{"any flipped bit that the icrc covers is seen",
			any_flipped_bit_that_the_icrc_covers_is_seen},
		{"an icrc of zeros is absent", an_icrc_of_zeros_is_absent},
		{"a frame that ends before its icrc has none",
			a_frame_that_ends_before_its_icrc_has_none},
		{"a cut capture is unknown and not malformed",
			a_cut_capture_is_unknown_and_not_malformed},
		{"no length is read beyond", no_length_is_read_beyond},
		{"random changes never break the decoder", random_changes_never_break_the_decoder},
		{"the projects captures hold two wrong icrcs",
			the_projects_captures_hold_two_wrong_icrcs},
		{"the ipv6 capture is ipv6", the_ipv6_capture_is_ipv6},
		{"public captures have the expected verdicts",
			public_captures_have_the_expected_verdicts},
	};

	return run_suite("text", cases, sizeof(cases) / sizeof(cases[0]));
}
