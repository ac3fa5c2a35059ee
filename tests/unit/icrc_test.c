/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The ICRC: literal frames of others, then every length against a bit-by-bit reference.
 *
 * What routers may change must not matter and everything else must: both are tried bit by bit on
 * every frame, through the check that received frames go through.
 */
#include "icrc.h"

#include "wire_frames.h"

/* The engine's ICRC of a frame whose IPv4 total length is right. */
static uint32_t icrc_of(const uint8_t *frame)
{
	uint32_t covered = frame_be16(frame + AT_IP + 2) - 4;
	uint32_t header = frame_ip_header_bytes(frame);

	return uroce_icrc(frame + AT_IP, header, covered - header - 8 - 12);
}

/* Parses with every check that could come before the ICRC's switched off; then checks it. */
static bool icrc_is_right(const uint8_t *frame, uint32_t bytes)
{
	struct uroce_pkt pkt = {.data = frame, .bytes = bytes};
	struct uroce_local local = frame_local();

	local.promiscuous = true;
	local.ignore_ipv4_checksum = true;
	CU_ASSERT_EQUAL_FATAL(uroce_parse(&local, &pkt), UROCE_ACCEPTED);
	return uroce_pkt_icrc_check(&pkt);
}

static void frames_of_others_have_the_icrc_that_we_compute(void)
{
	for (int i = 0; i < NUM_LITERAL_FRAMES; i++) {
		const struct literal_frame *frame = &literal_frames[i];

		CU_ASSERT_EQUAL(icrc_of(frame->bytes), frame->icrc);
		CU_ASSERT_TRUE(icrc_is_right(frame->bytes, frame->num_bytes));
	}
}

static void the_trailer_is_least_significant_byte_first(void)
{
	const uint8_t *trailer = frame_cnp + sizeof(frame_cnp) - 4;

	CU_ASSERT_EQUAL(icrc_of(frame_cnp), 0x2a00fd82);
	CU_ASSERT_EQUAL(trailer[0], 0x82);
	CU_ASSERT_EQUAL(trailer[3], 0x2a);
}

static void every_length_and_header_length_agrees_with_the_reference(void)
{
	uint8_t datagram[60 + 8 + 12 + 300];
	unsigned int wrong = 0;

	for (uint32_t i = 0; i < sizeof(datagram); i++)
		datagram[i] = (uint8_t)(i * 131 + 7);
	for (uint32_t words = 5; words <= 15; words++)
		for (uint32_t rest = 0; rest <= 300; rest++) {
			uint32_t bytes = words * 4 + 8 + 12 + rest;
			uint8_t *exact;

			datagram[0] = (uint8_t)(0x40 | words);
			exact = frame_exact(datagram, bytes);
			wrong += uroce_icrc(exact, words * 4, rest) != frame_icrc(exact, bytes);
			wrong += memcmp(exact, datagram, bytes) != 0;
			frame_free(exact, bytes);
		}
	CU_ASSERT_EQUAL(wrong, 0);
}

static void a_payload_of_the_largest_mtu_agrees_with_the_reference(void)
{
	static uint8_t datagram[20 + 8 + 12 + 16 + 4096];

	for (uint32_t i = 0; i < sizeof(datagram); i++)
		datagram[i] = (uint8_t)(i ^ i >> 8);
	datagram[0] = 0x45;
	CU_ASSERT_EQUAL(
		uroce_icrc(datagram, 20, 16 + 4096), frame_icrc(datagram, sizeof(datagram)));
}

/* For 0 to 67 payload bytes the trailer lies behind 0 to 3 pad bytes, and covers them. */
static void the_pad_is_covered_whatever_its_count(void)
{
	uint8_t frame[FRAME_BYTES_MAX];

	for (uint32_t payload = 0; payload <= 67; payload++) {
		uint32_t pad = (4 - payload % 4) % 4;
		uint32_t bytes = frame_make(frame, 0x04, payload + pad, pad);

		memset(frame + AT_EXT + payload, 0, pad);
		frame_seal(frame);
		CU_ASSERT_TRUE(icrc_is_right(frame, bytes));
		for (uint32_t i = 0; i < pad; i++) {
			frame[AT_EXT + payload + i] ^= 0x10;
			CU_ASSERT_FALSE(icrc_is_right(frame, bytes));
			frame[AT_EXT + payload + i] ^= 0x10;
		}
	}
}

static bool routers_may_change(uint32_t at)
{
	return at == AT_IP + 1 || at == AT_IP + 8 || at == AT_IP + 10 || at == AT_IP + 11 ||
		at == AT_UDP + 6 || at == AT_UDP + 7 || at == AT_BTH + 4;
}

static void what_routers_may_change_does_not_matter(void)
{
	for (int i = 0; i < NUM_LITERAL_FRAMES; i++) {
		uint8_t frame[FRAME_BYTES_MAX];
		uint32_t bytes = literal_frames[i].num_bytes;

		memcpy(frame, literal_frames[i].bytes, bytes);
		for (uint32_t at = 0; at < bytes; at++) {
			if (!routers_may_change(at))
				continue;
			for (uint32_t bit = 0; bit < 8; bit++) {
				frame[at] ^= (uint8_t)(1u << bit);
				CU_ASSERT_TRUE(icrc_is_right(frame, bytes));
				frame[at] ^= (uint8_t)(1u << bit);
			}
		}
	}
}

static void all_of_it_changed_at_once_does_not_matter_either(void)
{
	uint8_t frame[sizeof(frame_write_only_imm)];

	memcpy(frame, frame_write_only_imm, sizeof(frame));
	frame[AT_IP + 1] = 0x03;
	frame[AT_IP + 8] = 1;
	frame_put_be16(frame + AT_UDP + 6, 0xbeef);
	frame[AT_BTH + 4] = 0xff;
	frame_fix_ip(frame);
	CU_ASSERT_TRUE(icrc_is_right(frame, sizeof(frame)));
}

static void ethernet_is_not_covered(void)
{
	uint8_t frame[sizeof(frame_send_only)];

	memcpy(frame, frame_send_only, sizeof(frame));
	memset(frame, 0x77, 12);
	CU_ASSERT_TRUE(icrc_is_right(frame, sizeof(frame)));
}

/* Asked of the function itself, since most of these frames do not get past the parser. */
static void every_other_bit_of_the_datagram_matters(void)
{
	unsigned int unnoticed = 0;

	for (int i = 0; i < NUM_LITERAL_FRAMES; i++) {
		const struct literal_frame *literal = &literal_frames[i];
		uint32_t covered = literal->num_bytes - 4;
		uint8_t frame[FRAME_BYTES_MAX];

		memcpy(frame, literal->bytes, literal->num_bytes);
		for (uint32_t at = AT_IP; at < covered; at++)
			for (uint32_t bit = 0; bit < 8 && !routers_may_change(at); bit++) {
				frame[at] ^= (uint8_t)(1u << bit);
				unnoticed += uroce_icrc(frame + AT_IP, 20, covered - AT_EXT) ==
					literal->icrc;
				frame[at] ^= (uint8_t)(1u << bit);
			}
	}
	CU_ASSERT_EQUAL(unnoticed, 0);
}

static void a_damaged_trailer_is_wrong(void)
{
	uint8_t frame[sizeof(frame_send_only)];

	memcpy(frame, frame_send_only, sizeof(frame));
	for (uint32_t bit = 0; bit < 32; bit++) {
		uint8_t *trailer = frame + sizeof(frame) - 4;

		trailer[bit / 8] ^= (uint8_t)(1u << bit % 8);
		CU_ASSERT_FALSE(icrc_is_right(frame, sizeof(frame)));
		trailer[bit / 8] ^= (uint8_t)(1u << bit % 8);
	}
}

static void a_zero_trailer_is_wrong(void)
{
	uint8_t frame[sizeof(frame_send_only)];

	memcpy(frame, frame_send_only, sizeof(frame));
	memset(frame + sizeof(frame) - 4, 0, 4);
	CU_ASSERT_FALSE(icrc_is_right(frame, sizeof(frame)));
}

int main(void)
{
	static const struct unit_case cases[] = {
		{"Frames of others have the ICRC that we compute",
			frames_of_others_have_the_icrc_that_we_compute},
		{"The trailer is least significant byte first",
			the_trailer_is_least_significant_byte_first},
		{"Every length and IP header length agrees with the reference",
			every_length_and_header_length_agrees_with_the_reference},
		{"A payload of the largest MTU agrees with the reference",
			a_payload_of_the_largest_mtu_agrees_with_the_reference},
		{"The pad is covered whatever its count", the_pad_is_covered_whatever_its_count},
		{"What routers may change does not matter",
			what_routers_may_change_does_not_matter},
		{"All of it changed at once does not matter either",
			all_of_it_changed_at_once_does_not_matter_either},
		{"Ethernet is not covered", ethernet_is_not_covered},
		{"Every other bit of the datagram matters",
			every_other_bit_of_the_datagram_matters},
		{"A damaged trailer is wrong", a_damaged_trailer_is_wrong},
		{"A zero trailer is wrong", a_zero_trailer_is_wrong},
	};

	return run_suite("icrc", cases, sizeof(cases) / sizeof(cases[0]));
}
