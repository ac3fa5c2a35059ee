/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The parser: literal frames field by field, one negative test per reason, and every length.
 *
 * Frames lie at the end of exact allocations, so that the address sanitizer sees any byte read
 * behind them. What a reason means for the frame (handed back or dropped) is taken from the list
 * of reasons, and each handed-back one is also tried with something else wrong in the frame: a
 * stranger's frame is never judged.
 */
#include "wire_frames.h"

/* The view of one frame. The copy goes when the test is over; so a view is used before that. */
static struct uroce_pkt pkt;
static uint8_t *exact;
static uint32_t exact_bytes;
static struct uroce_local local;

static void forget(void)
{
	if (exact)
		frame_free(exact, exact_bytes);
	exact = NULL;
}

static enum uroce_drop parse_flagged(const uint8_t *frame, uint32_t bytes, uint16_t flags)
{
	enum uroce_drop drop;

	forget();
	exact = frame_exact(frame, bytes);
	exact_bytes = bytes;
	memset(&pkt, 0xee, sizeof(pkt));
	pkt.data = exact;
	pkt.bytes = bytes;
	pkt.flags = flags;
	drop = uroce_parse(&local, &pkt);
	CU_ASSERT_EQUAL(memcmp(exact, frame, bytes), 0);
	return drop;
}

static enum uroce_drop parse(const uint8_t *frame, uint32_t bytes)
{
	return parse_flagged(frame, bytes, 0);
}

/* As frame_local, but with the MAC that the frame was sent to. */
static void accept_frame(const uint8_t *frame, uint32_t bytes)
{
	local = frame_local();
	memcpy(local.mac, frame, 6);
	CU_ASSERT_EQUAL_FATAL(parse(frame, bytes), UROCE_ACCEPTED);
}

/* A frame from A to B that is right in every way, to be spoilt. */
static uint8_t spoilt[FRAME_BYTES_MAX];

static void start_from_a_good_frame(void)
{
	local = frame_local();
	memcpy(spoilt, frame_send_only, sizeof(frame_send_only));
}

static enum uroce_drop parse_spoilt(void)
{
	return parse(spoilt, sizeof(frame_send_only));
}

static void a_send_is_read_field_by_field(void)
{
	accept_frame(frame_send_only, sizeof(frame_send_only));
	CU_ASSERT_STRING_EQUAL(pkt.op->name, "RC_SEND_ONLY");
	CU_ASSERT_EQUAL(pkt.dqpn, 0x1a);
	CU_ASSERT_EQUAL(pkt.psn, 0xd89c29);
	CU_ASSERT_EQUAL(pkt.pkey, 0xffff);
	CU_ASSERT_EQUAL(pkt.pad_bytes, 2);
	CU_ASSERT_TRUE(pkt.ackreq);
	CU_ASSERT_FALSE(pkt.solicited);
	CU_ASSERT_TRUE(uroce_gid_equal(pkt.src, uroce_gid_of_ipv4(0xc0000201)));
	CU_ASSERT_TRUE(uroce_gid_equal(pkt.dst, uroce_gid_of_ipv4(0xc0000202)));
	CU_ASSERT_EQUAL(pkt.ip_header_bytes, 20);
	CU_ASSERT_PTR_EQUAL(pkt.ip, exact + AT_IP);
	CU_ASSERT_PTR_EQUAL(pkt.bth, exact + AT_BTH);
	CU_ASSERT_PTR_EQUAL(pkt.payload, exact + AT_EXT);
	CU_ASSERT_EQUAL_FATAL(pkt.payload_bytes, 2);
	CU_ASSERT_EQUAL(memcmp(pkt.payload, "kg", 2), 0);
	CU_ASSERT_FALSE(pkt.udp_checksum_wrong);
	CU_ASSERT_TRUE(uroce_pkt_icrc_check(&pkt));
	forget();
}

static void an_acknowledgement_is_read_field_by_field(void)
{
	accept_frame(frame_ack, sizeof(frame_ack));
	CU_ASSERT_STRING_EQUAL(pkt.op->name, "RC_ACKNOWLEDGE");
	CU_ASSERT_FALSE(pkt.ackreq);
	CU_ASSERT_EQUAL(pkt.pad_bytes, 0);
	CU_ASSERT_EQUAL(pkt.payload_bytes, 0);
	CU_ASSERT_TRUE(uroce_gid_equal(pkt.src, uroce_gid_of_ipv4(0xc0000202)));
	CU_ASSERT_EQUAL(memcmp(uroce_pkt_aeth(&pkt), "\x1f\0\0\1", 4), 0);
	forget();
}

static void a_write_with_immediate_is_read_field_by_field(void)
{
	accept_frame(frame_write_only_imm, sizeof(frame_write_only_imm));
	CU_ASSERT_EQUAL(memcmp(uroce_pkt_reth(&pkt),
				"\0\0\x7f\x5a\xf6\x58\x44\x40\0\0\x2c\xd9\0\0\0\0", 16),
		0);
	CU_ASSERT_EQUAL(uroce_pkt_imm(&pkt), 0xabcd0008);
	CU_ASSERT_EQUAL(pkt.payload_bytes, 0);
	CU_ASSERT_EQUAL(pkt.dqpn, 0x3a);
	CU_ASSERT_EQUAL(pkt.psn, 0xecb640);
	forget();
}

static void a_fetch_and_add_is_read_field_by_field(void)
{
	accept_frame(frame_fetch_add, sizeof(frame_fetch_add));
	CU_ASSERT_EQUAL(memcmp(uroce_pkt_atomiceth(&pkt),
				"\0\0\x56\x28\x6f\xa9\xa0\0\0\0\x0e\xa7\0\0\0\0\0\0\0\1"
				"\0\0\0\0\0\0\0\0",
				28),
		0);
	CU_ASSERT_EQUAL(pkt.payload_bytes, 0);
	forget();
}

static void a_read_response_is_read_field_by_field(void)
{
	accept_frame(frame_read_response, sizeof(frame_read_response));
	CU_ASSERT_EQUAL(memcmp(uroce_pkt_aeth(&pkt), "\x1f\0\0\x0c", 4), 0);
	CU_ASSERT_EQUAL(pkt.pad_bytes, 3);
	CU_ASSERT_EQUAL_FATAL(pkt.payload_bytes, 1);
	CU_ASSERT_EQUAL(pkt.payload[0], 0x5a);
	forget();
}

static void a_congestion_notification_is_read_field_by_field(void)
{
	accept_frame(frame_cnp, sizeof(frame_cnp));
	CU_ASSERT_EQUAL(pkt.op->service, UROCE_SERVICE_CNP);
	CU_ASSERT_EQUAL(pkt.dqpn, 0x118);
	CU_ASSERT_EQUAL(pkt.psn, 0);
	CU_ASSERT_EQUAL(pkt.payload_bytes, 16);
	CU_ASSERT_TRUE(uroce_pkt_icrc_check(&pkt));
	forget();
}

static void what_follows_an_aeth_is_the_atomic_answer(void)
{
	uint8_t frame[FRAME_BYTES_MAX];
	uint32_t bytes = frame_make(frame, 0x12, 12, 0);

	memcpy(frame + AT_EXT, "\1\2\3\4\x11\x12\x13\x14\x15\x16\x17\x18", 12);
	accept_frame(frame, bytes);
	CU_ASSERT_EQUAL(memcmp(uroce_pkt_aeth(&pkt), "\1\2\3\4", 4), 0);
	CU_ASSERT_EQUAL(memcmp(uroce_pkt_atomicacketh(&pkt), "\x11\x12\x13\x14", 4), 0);
	CU_ASSERT_EQUAL(pkt.payload_bytes, 0);
	forget();
}

static void immediate_and_key_lie_right_before_the_payload(void)
{
	/* opcode, and where the four bytes lie behind the BTH */
	static const struct {
		uint8_t opcode, at;
	} imms[] = {{0x03, 0}, {0x05, 0}, {0x09, 0}, {0x0b, 16}, {0x25, 0}, {0x65, 8}},
	  keys[] = {{0x16, 0}, {0x17, 0}};
	uint8_t frame[FRAME_BYTES_MAX];
	uint32_t bytes;

	for (size_t i = 0; i < sizeof(imms) / sizeof(imms[0]); i++) {
		bytes = frame_make(frame, imms[i].opcode, imms[i].at + 4 + 8, 0);
		memcpy(frame + AT_EXT + imms[i].at, "\x12\x34\x56\x78", 4);
		accept_frame(frame, bytes);
		CU_ASSERT_EQUAL(uroce_pkt_imm(&pkt), 0x12345678);
		CU_ASSERT_EQUAL(pkt.payload_bytes, 8);
	}
	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
		bytes = frame_make(frame, keys[i].opcode, keys[i].at + 4 + 8, 0);
		memcpy(frame + AT_EXT + keys[i].at, "\x12\x34\x56\x78", 4);
		accept_frame(frame, bytes);
		CU_ASSERT_EQUAL(uroce_pkt_ieth(&pkt), 0x12345678);
		CU_ASSERT_EQUAL(pkt.payload_bytes, 8);
	}
	forget();
}

static void flags_numbers_and_partition_are_read_whatever_their_value(void)
{
	uint8_t frame[FRAME_BYTES_MAX];
	uint32_t bytes = frame_make(frame, 0x04, 4, 0);

	memcpy(frame + AT_BTH + 1, "\xc0\x12\x34\xff\xff\xff\xfe\x7f\xfe\xdc\xba", 11);
	accept_frame(frame, bytes);
	CU_ASSERT_TRUE(pkt.solicited);
	CU_ASSERT_FALSE(pkt.ackreq);
	CU_ASSERT_EQUAL(pkt.pkey, 0x1234);
	CU_ASSERT_EQUAL(pkt.dqpn, 0xfffffe);
	CU_ASSERT_EQUAL(pkt.psn, 0xfedcba);
	memcpy(frame + AT_BTH + 1, "\x00\x00\x01\x00\x00\x00\x00\x80\x00\x00\x00", 11);
	accept_frame(frame, bytes);
	CU_ASSERT_FALSE(pkt.solicited);
	CU_ASSERT_TRUE(pkt.ackreq);
	CU_ASSERT_EQUAL(pkt.pkey, 1);
	CU_ASSERT_EQUAL(pkt.dqpn, 0);
	CU_ASSERT_EQUAL(pkt.psn, 0);
	/* each bit beside the event bit alone */
	for (uint32_t bit = 4; bit < 8; bit++) {
		frame[AT_BTH + 1] = (uint8_t)(1u << bit);
		accept_frame(frame, bytes);
		CU_ASSERT_EQUAL(pkt.solicited, bit == 7);
	}
	forget();
}

/* Bytes of the extension headers, written down once more; -1: no such opcode. */
static int extension_bytes(int opcode)
{
	static const char *const by_bytes[41] = {
		[0] = "\x01\x02\x04\x07\x08\x0e\x20\x21\x22\x24\x27\x28\x81",
		[4] = "\x03\x05\x09\x0d\x0f\x10\x11\x16\x17\x23\x25\x29",
		[8] = "\x64",
		[12] = "\x12\x65",
		[16] = "\x06\x0a\x0c\x1d\x26\x2a",
		[20] = "\x0b\x1c\x2b",
		[28] = "\x13\x14",
	};

	for (int bytes = 0; bytes <= 40 && opcode != 0; bytes++)
		if (by_bytes[bytes] && strchr(by_bytes[bytes], opcode))
			return bytes;
	return opcode == 0 ? 0 : -1;
}

static void every_opcode_that_exists_leaves_the_rest_as_payload(void)
{
	uint8_t frame[FRAME_BYTES_MAX];

	for (int opcode = 0; opcode < 256; opcode++) {
		int headers = extension_bytes(opcode);

		if (headers < 0)
			continue;
		for (uint32_t pad = 0; pad < 4; pad++) {
			uint32_t after = (uint32_t)headers + 8;
			uint32_t bytes = frame_make(frame, (uint8_t)opcode, after, pad);

			accept_frame(frame, bytes);
			CU_ASSERT_EQUAL(pkt.op->number, opcode);
			CU_ASSERT_PTR_EQUAL(pkt.payload, exact + AT_EXT + headers);
			CU_ASSERT_EQUAL(pkt.payload_bytes, 8 - pad);
			CU_ASSERT_EQUAL(pkt.pad_bytes, pad);
			CU_ASSERT_TRUE(uroce_pkt_icrc_check(&pkt));
		}
	}
	forget();
}

static void every_opcode_that_does_not_exist_is_unknown(void)
{
	uint8_t frame[FRAME_BYTES_MAX];
	unsigned int unknown = 0;

	for (int opcode = 0; opcode < 256; opcode++) {
		uint32_t bytes = frame_make(frame, (uint8_t)opcode, 64, 0);

		if (extension_bytes(opcode) >= 0)
			continue;
		local = frame_local();
		CU_ASSERT_EQUAL(parse(frame, bytes), UROCE_DROP_OPCODE_UNKNOWN);
		unknown++;
	}
	CU_ASSERT_EQUAL(unknown, 256 - 40);
	forget();
}

static void a_frame_without_its_opcodes_headers_is_refused(void)
{
	uint8_t frame[FRAME_BYTES_MAX];

	for (int opcode = 0; opcode < 256; opcode++) {
		int headers = extension_bytes(opcode);

		for (int after = 0; after < headers; after++) {
			uint32_t bytes = frame_make(frame, (uint8_t)opcode, (uint32_t)after, 0);

			local = frame_local();
			CU_ASSERT_EQUAL(parse(frame, bytes), UROCE_DROP_HEADER_MISSING);
		}
	}
	forget();
}

static void a_pad_larger_than_what_is_there_is_refused(void)
{
	uint8_t frame[FRAME_BYTES_MAX];

	local = frame_local();
	for (uint32_t after = 0; after < 3; after++)
		for (uint32_t pad = 0; pad < 4; pad++) {
			uint32_t bytes = frame_make(frame, 0x04, after, pad);

			CU_ASSERT_EQUAL(parse(frame, bytes),
				pad > after ? UROCE_DROP_HEADER_MISSING : UROCE_ACCEPTED);
		}
	forget();
}

static void a_datagram_without_room_for_bth_and_icrc_is_refused(void)
{
	start_from_a_good_frame();
	for (uint32_t udp_bytes = 8; udp_bytes < 24; udp_bytes++) {
		frame_put_be16(spoilt + AT_IP + 2, 20 + udp_bytes);
		frame_put_be16(spoilt + AT_UDP + 4, udp_bytes);
		frame_fix_ip(spoilt);
		CU_ASSERT_EQUAL(parse(spoilt, AT_UDP + udp_bytes), UROCE_DROP_HEADER_MISSING);
	}
	forget();
}

static void every_truncation_is_refused_without_reading_past_the_end(void)
{
	for (int i = 0; i < NUM_LITERAL_FRAMES; i++) {
		const struct literal_frame *frame = &literal_frames[i];

		local = frame_local();
		memcpy(local.mac, frame->bytes, 6);
		for (uint32_t bytes = 0; bytes < frame->num_bytes; bytes++)
			CU_ASSERT_EQUAL(parse(frame->bytes, bytes),
				bytes < AT_BTH ? UROCE_DROP_FRAME_TOO_SHORT
					       : UROCE_DROP_LENGTH_MISMATCH);
		CU_ASSERT_EQUAL(parse(frame->bytes, frame->num_bytes), UROCE_ACCEPTED);
	}
	forget();
}

static void a_truncation_inside_ip_options_is_refused_too(void)
{
	start_from_a_good_frame();
	spoilt[AT_IP] = 0x4f;
	frame_fix_ip(spoilt);
	for (uint32_t bytes = AT_IP + 20; bytes < AT_IP + 60 + 8; bytes++)
		CU_ASSERT_EQUAL(parse(spoilt, bytes), UROCE_DROP_FRAME_TOO_SHORT);
	forget();
}

static void a_truncation_that_states_its_own_length_is_left_to_the_icrc(void)
{
	/* ends inside the payload, IP and UDP agree: all that is left to notice is the ICRC */
	start_from_a_good_frame();
	frame_put_be16(spoilt + AT_IP + 2, 46);
	frame_put_be16(spoilt + AT_UDP + 4, 26);
	frame_fix_ip(spoilt);
	CU_ASSERT_EQUAL(parse(spoilt, 60), UROCE_ACCEPTED);
	CU_ASSERT_FALSE(uroce_pkt_icrc_check(&pkt));
	forget();
}

static void ethernet_padding_and_a_kept_fcs_are_nobodys_payload(void)
{
	uint8_t frame[FRAME_BYTES_MAX];

	for (uint32_t extra = 1; extra <= 64; extra++) {
		memset(frame, 0xff, sizeof(frame));
		memcpy(frame, frame_send_only, sizeof(frame_send_only));
		accept_frame(frame, sizeof(frame_send_only) + extra);
		CU_ASSERT_EQUAL(pkt.payload_bytes, 2);
		CU_ASSERT_EQUAL(pkt.pad_bytes, 2);
		CU_ASSERT_TRUE(uroce_pkt_icrc_check(&pkt));
	}
	forget();
}

static void a_frame_to_another_mac_is_handed_back(void)
{
	start_from_a_good_frame();
	for (int i = 0; i < 6; i++) {
		spoilt[i] ^= 0x40;
		CU_ASSERT_EQUAL(parse_spoilt(), UROCE_DROP_NOT_OUR_MAC);
		spoilt[i] ^= 0x40;
	}
	memset(spoilt, 0xff, 6);
	CU_ASSERT_EQUAL(parse_spoilt(), UROCE_DROP_NOT_OUR_MAC);
	CU_ASSERT_TRUE(handed_back(UROCE_DROP_NOT_OUR_MAC));
	forget();
}

static void a_promiscuous_endpoint_takes_any_mac(void)
{
	start_from_a_good_frame();
	memset(spoilt, 0x66, 6);
	local.promiscuous = true;
	CU_ASSERT_EQUAL(parse_spoilt(), UROCE_ACCEPTED);
	forget();
}

static void a_frame_of_another_ethertype_is_handed_back(void)
{
	static const uint32_t types[] = {0x0806, 0x86dc, 0x8100, 0x8915, 0x0008, 48};

	start_from_a_good_frame();
	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
		frame_put_be16(spoilt + 12, types[i]);
		CU_ASSERT_EQUAL(parse_spoilt(), UROCE_DROP_NOT_IP);
	}
	/* an ARP request is shorter than any IPv4 frame */
	CU_ASSERT_EQUAL(parse(spoilt, 14), UROCE_DROP_NOT_IP);
	CU_ASSERT_TRUE(handed_back(UROCE_DROP_NOT_IP));
	forget();
}

static void a_datagram_that_is_not_udp_is_handed_back(void)
{
	start_from_a_good_frame();
	for (int protocol = 0; protocol < 256; protocol++) {
		spoilt[AT_IP + 9] = (uint8_t)protocol;
		frame_fix_ip(spoilt);
		CU_ASSERT_EQUAL(
			parse_spoilt(), protocol == 17 ? UROCE_ACCEPTED : UROCE_DROP_NOT_UDP);
	}
	CU_ASSERT_TRUE(handed_back(UROCE_DROP_NOT_UDP));
	forget();
}

static void a_datagram_to_another_port_is_handed_back_unjudged(void)
{
	start_from_a_good_frame();
	frame_put_be16(spoilt + AT_UDP + 2, 4790);
	CU_ASSERT_EQUAL(parse_spoilt(), UROCE_DROP_NOT_ROCE_PORT);
	frame_put_be16(spoilt + AT_UDP + 2, 53);
	frame_put_be16(spoilt + AT_UDP, 4791);
	CU_ASSERT_EQUAL(parse_spoilt(), UROCE_DROP_NOT_ROCE_PORT);
	/* wrong checksum, lengths that disagree, a first fragment: not our business */
	frame_put_be16(spoilt + AT_IP + 10, 0xdead);
	frame_put_be16(spoilt + AT_UDP + 4, 9999);
	frame_put_be16(spoilt + AT_IP + 6, 0x2000);
	CU_ASSERT_EQUAL(parse_spoilt(), UROCE_DROP_NOT_ROCE_PORT);
	CU_ASSERT_TRUE(handed_back(UROCE_DROP_NOT_ROCE_PORT));
	forget();
}

static void a_datagram_to_another_address_is_handed_back_unjudged(void)
{
	start_from_a_good_frame();
	for (int i = 0; i < 4; i++) {
		spoilt[AT_IP + 16 + i] ^= 0x08;
		frame_fix_ip(spoilt);
		CU_ASSERT_EQUAL(parse_spoilt(), UROCE_DROP_DGID_NOT_OURS);
		spoilt[AT_IP + 16 + i] ^= 0x08;
	}
	spoilt[AT_IP + 16] = 10;
	frame_put_be16(spoilt + AT_IP + 10, 0xdead);
	frame_put_be16(spoilt + AT_UDP + 4, 9999);
	frame_put_be16(spoilt + AT_IP + 6, 0x2000);
	CU_ASSERT_EQUAL(parse_spoilt(), UROCE_DROP_DGID_NOT_OURS);
	CU_ASSERT_TRUE(handed_back(UROCE_DROP_DGID_NOT_OURS));
	forget();
}

static void each_of_our_addresses_is_ours_and_no_others(void)
{
	start_from_a_good_frame();
	for (uint32_t num = 0; num <= UROCE_LOCAL_ADDRS_MAX; num++)
		for (uint32_t i = 0; i < UROCE_LOCAL_ADDRS_MAX; i++) {
			for (uint32_t j = 0; j < UROCE_LOCAL_ADDRS_MAX; j++)
				local.addrs[j] =
					uroce_gid_of_ipv4(i == j ? 0xc0000202 : 0xc0000300 + j);
			local.num_addrs = num;
			CU_ASSERT_EQUAL(parse_spoilt(),
				i < num ? UROCE_ACCEPTED : UROCE_DROP_DGID_NOT_OURS);
		}
	forget();
}

static void a_later_fragment_is_handed_back(void)
{
	static const uint32_t offsets[] = {0x0001, 0x2001, 0x1fff, 0x3fff, 0x00b9};

	start_from_a_good_frame();
	for (size_t i = 0; i < sizeof(offsets) / sizeof(offsets[0]); i++) {
		frame_put_be16(spoilt + AT_IP + 6, offsets[i]);
		frame_fix_ip(spoilt);
		CU_ASSERT_EQUAL(parse_spoilt(), UROCE_DROP_LATER_FRAGMENT);
	}
	CU_ASSERT_TRUE(handed_back(UROCE_DROP_LATER_FRAGMENT));
	forget();
}

static void a_first_fragment_is_dropped(void)
{
	start_from_a_good_frame();
	frame_put_be16(spoilt + AT_IP + 6, 0x2000);
	frame_fix_ip(spoilt);
	CU_ASSERT_EQUAL(parse_spoilt(), UROCE_DROP_IPV4_FRAGMENT);
	CU_ASSERT_FALSE(handed_back(UROCE_DROP_IPV4_FRAGMENT));
	forget();
}

static void a_datagram_that_may_be_fragmented_is_accepted(void)
{
	start_from_a_good_frame();
	frame_put_be16(spoilt + AT_IP + 6, 0);
	frame_seal(spoilt);
	CU_ASSERT_EQUAL(parse_spoilt(), UROCE_ACCEPTED);
	CU_ASSERT_TRUE(uroce_pkt_icrc_check(&pkt));
	forget();
}

static void a_wrong_ip_version_or_header_length_is_dropped(void)
{
	start_from_a_good_frame();
	for (uint32_t first = 0; first < 256; first++) {
		enum uroce_drop drop;

		spoilt[AT_IP] = (uint8_t)first;
		drop = parse_spoilt();
		if (first >> 4 != 4 || (first & 15) < 5)
			CU_ASSERT_EQUAL(drop, UROCE_DROP_IP_HEADER);
		CU_ASSERT_EQUAL(drop == UROCE_ACCEPTED, first == 0x45);
	}
	CU_ASSERT_FALSE(handed_back(UROCE_DROP_IP_HEADER));
	forget();
}

static void a_wrong_ip_checksum_is_dropped(void)
{
	start_from_a_good_frame();
	for (uint32_t bit = 0; bit < 16; bit++) {
		spoilt[AT_IP + 10 + bit / 8] ^= (uint8_t)(1u << bit % 8);
		CU_ASSERT_EQUAL(parse_spoilt(), UROCE_DROP_IPV4_CHECKSUM);
		spoilt[AT_IP + 10 + bit / 8] ^= (uint8_t)(1u << bit % 8);
	}
	spoilt[AT_IP + 8]--;
	CU_ASSERT_EQUAL(parse_spoilt(), UROCE_DROP_IPV4_CHECKSUM);
	CU_ASSERT_FALSE(handed_back(UROCE_DROP_IPV4_CHECKSUM));
	forget();
}

static void an_ip_checksum_that_the_port_verified_is_not_looked_at(void)
{
	start_from_a_good_frame();
	frame_put_be16(spoilt + AT_IP + 10, 0);
	CU_ASSERT_EQUAL(parse_flagged(spoilt, sizeof(frame_send_only), UROCE_PKT_IPV4_CHECKSUM_OK),
		UROCE_ACCEPTED);
	local.ignore_ipv4_checksum = true;
	CU_ASSERT_EQUAL(parse_spoilt(), UROCE_ACCEPTED);
	forget();
}

static void lengths_that_disagree_are_dropped(void)
{
	/* what IP and UDP say, of a frame with 48 and 28 */
	static const struct {
		uint32_t ip, udp;
	} lines[] = {{48, 27}, {48, 29}, {48, 0}, {48, 7}, {48, 0xffff}, {47, 28}, {49, 28},
		{49, 29}, {0xffff, 0xffff - 20}, {0, 0}, {27, 28}, {0, 0xffec}};

	start_from_a_good_frame();
	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		frame_put_be16(spoilt + AT_IP + 2, lines[i].ip);
		frame_put_be16(spoilt + AT_UDP + 4, lines[i].udp);
		frame_fix_ip(spoilt);
		CU_ASSERT_EQUAL(parse_spoilt(), UROCE_DROP_LENGTH_MISMATCH);
	}
	CU_ASSERT_FALSE(handed_back(UROCE_DROP_LENGTH_MISMATCH));
	forget();
}

static void a_bth_version_other_than_zero_is_dropped(void)
{
	start_from_a_good_frame();
	for (uint8_t version = 1; version < 16; version++) {
		spoilt[AT_BTH + 1] = (uint8_t)(0x20 | version);
		CU_ASSERT_EQUAL(parse_spoilt(), UROCE_DROP_BTH_VERSION);
	}
	CU_ASSERT_FALSE(handed_back(UROCE_DROP_BTH_VERSION));
	forget();
}

static void reserved_bits_and_the_migration_bit_are_not_judged(void)
{
	start_from_a_good_frame();
	spoilt[AT_BTH + 1] |= 0x40;
	spoilt[AT_BTH + 4] = 0xff;
	spoilt[AT_BTH + 8] |= 0x7f;
	CU_ASSERT_EQUAL(parse_spoilt(), UROCE_ACCEPTED);
	forget();
}

static void ip_options_are_accepted_and_part_of_the_icrc(void)
{
	uint8_t frame[FRAME_BYTES_MAX];

	local = frame_local();
	for (uint32_t words = 6; words <= 15; words++) {
		uint32_t options = words * 4 - 20;
		uint32_t bytes = sizeof(frame_send_only) + options;

		memcpy(frame, frame_send_only, AT_UDP);
		memset(frame + AT_UDP, 1, options);
		memcpy(frame + AT_UDP + options, frame_send_only + AT_UDP,
			sizeof(frame_send_only) - AT_UDP);
		frame[AT_IP] = (uint8_t)(0x40 | words);
		frame_put_be16(frame + AT_IP + 2, 48 + options);
		frame_seal(frame);
		CU_ASSERT_EQUAL_FATAL(parse(frame, bytes), UROCE_ACCEPTED);
		CU_ASSERT_EQUAL(pkt.ip_header_bytes, words * 4);
		CU_ASSERT_EQUAL(pkt.payload_bytes, 2);
		CU_ASSERT_EQUAL(pkt.psn, 0xd89c29);
		CU_ASSERT_TRUE(uroce_pkt_icrc_check(&pkt));
		frame[AT_UDP + options - 1] = 0;
		frame_fix_ip(frame);
		CU_ASSERT_EQUAL_FATAL(parse(frame, bytes), UROCE_ACCEPTED);
		CU_ASSERT_FALSE(uroce_pkt_icrc_check(&pkt));
	}
	forget();
}

/* The UDP checksum that a frame without IP options should have. */
static uint32_t right_udp_checksum(uint8_t *frame)
{
	uint8_t pseudo[12 + FRAME_BYTES_MAX];
	uint32_t udp_bytes = frame_be16(frame + AT_UDP + 4);
	uint32_t sum;

	frame_put_be16(frame + AT_UDP + 6, 0);
	memcpy(pseudo, frame + AT_IP + 12, 8);
	frame_put_be16(pseudo + 8, 17);
	frame_put_be16(pseudo + 10, udp_bytes);
	memcpy(pseudo + 12, frame + AT_UDP, udp_bytes);
	sum = ~frame_sum_be16(pseudo, 12 + udp_bytes) & 0xffff;
	return sum ? sum : 0xffff;
}

static void a_right_udp_checksum_is_right_and_a_wrong_one_only_noted(void)
{
	uint8_t frame[FRAME_BYTES_MAX];

	local = frame_local();
	/* odd lengths too: they are somebody else's mistake, but have a checksum */
	for (uint32_t after = 0; after <= 9; after++) {
		uint32_t bytes = frame_make(frame, 0x04, after, 0);
		uint32_t sum = right_udp_checksum(frame);

		frame_put_be16(frame + AT_UDP + 6, sum);
		CU_ASSERT_EQUAL(parse(frame, bytes), UROCE_ACCEPTED);
		CU_ASSERT_FALSE(pkt.udp_checksum_wrong);
		CU_ASSERT_TRUE(uroce_pkt_icrc_check(&pkt));
		frame_put_be16(frame + AT_UDP + 6, sum ^ 0x0100);
		CU_ASSERT_EQUAL(parse(frame, bytes), UROCE_ACCEPTED);
		CU_ASSERT_TRUE(pkt.udp_checksum_wrong);
		CU_ASSERT_TRUE(uroce_pkt_icrc_check(&pkt));
		frame_put_be16(frame + AT_UDP + 6, 0);
		CU_ASSERT_EQUAL(parse(frame, bytes), UROCE_ACCEPTED);
		CU_ASSERT_FALSE(pkt.udp_checksum_wrong);
	}
	forget();
}

/* A sum of zero goes out as ones, because zero means that there is none. */
static void a_udp_checksum_of_all_ones_can_be_right(void)
{
	uint8_t frame[FRAME_BYTES_MAX];
	uint32_t bytes = frame_make(frame, 0x04, 4, 0);

	local = frame_local();
	frame_put_be16(frame + AT_EXT, 0);
	frame_put_be16(frame + AT_EXT, right_udp_checksum(frame));
	CU_ASSERT_EQUAL(right_udp_checksum(frame), 0xffff);
	frame_put_be16(frame + AT_UDP + 6, 0xffff);
	CU_ASSERT_EQUAL(parse(frame, bytes), UROCE_ACCEPTED);
	CU_ASSERT_FALSE(pkt.udp_checksum_wrong);
	frame_put_be16(frame + AT_UDP + 6, 0xfffe);
	CU_ASSERT_EQUAL(parse(frame, bytes), UROCE_ACCEPTED);
	CU_ASSERT_TRUE(pkt.udp_checksum_wrong);
	forget();
}

static void any_udp_source_port_is_accepted(void)
{
	static const uint32_t ports[] = {0, 1, 53, 4791, 0xc000, 0xffff};

	start_from_a_good_frame();
	for (size_t i = 0; i < sizeof(ports) / sizeof(ports[0]); i++) {
		frame_put_be16(spoilt + AT_UDP, ports[i]);
		CU_ASSERT_EQUAL(parse_spoilt(), UROCE_ACCEPTED);
	}
	forget();
}

/* Every one-bit error is either refused by a check or leaves the ICRC wrong. */
static void no_single_bit_error_behind_the_macs_is_believed(void)
{
	for (int i = 0; i < NUM_LITERAL_FRAMES; i++) {
		uint32_t bytes = literal_frames[i].num_bytes;

		memcpy(spoilt, literal_frames[i].bytes, bytes);
		local = frame_local();
		local.promiscuous = true;
		for (uint32_t bit = 12 * 8; bit < bytes * 8; bit++) {
			uint32_t at = bit / 8;
			/* not covered by anything: UDP checksum, FECN and BECN */
			bool free_to_change =
				at == AT_UDP + 6 || at == AT_UDP + 7 || at == AT_BTH + 4;
			bool believed;

			spoilt[at] ^= (uint8_t)(1u << bit % 8);
			believed = parse(spoilt, bytes) == UROCE_ACCEPTED &&
				uroce_pkt_icrc_check(&pkt);
			CU_ASSERT_EQUAL(believed, free_to_change);
			spoilt[at] ^= (uint8_t)(1u << bit % 8);
		}
	}
	forget();
}

int main(void)
{
	static const struct unit_case cases[] = {
		{"A SEND is read field by field", a_send_is_read_field_by_field},
		{"An acknowledgement is read field by field",
			an_acknowledgement_is_read_field_by_field},
		{"A WRITE with immediate is read field by field",
			a_write_with_immediate_is_read_field_by_field},
		{"A fetch-and-add is read field by field", a_fetch_and_add_is_read_field_by_field},
		{"A read response is read field by field", a_read_response_is_read_field_by_field},
		{"A congestion notification is read field by field",
			a_congestion_notification_is_read_field_by_field},
		{"What follows an AETH is the atomic answer",
			what_follows_an_aeth_is_the_atomic_answer},
		{"Immediate and key lie right before the payload",
			immediate_and_key_lie_right_before_the_payload},
		{"Flags, numbers and partition are read whatever their value",
			flags_numbers_and_partition_are_read_whatever_their_value},
		{"Every opcode that exists leaves the rest as payload",
			every_opcode_that_exists_leaves_the_rest_as_payload},
		{"Every opcode that does not exist is unknown",
			every_opcode_that_does_not_exist_is_unknown},
		{"A frame without its opcode's headers is refused",
			a_frame_without_its_opcodes_headers_is_refused},
		{"A pad larger than what is there is refused",
			a_pad_larger_than_what_is_there_is_refused},
		{"A datagram without room for BTH and ICRC is refused",
			a_datagram_without_room_for_bth_and_icrc_is_refused},
		{"Every truncation is refused without reading past the end",
			every_truncation_is_refused_without_reading_past_the_end},
		{"A truncation inside IP options is refused too",
			a_truncation_inside_ip_options_is_refused_too},
		{"A truncation that states its own length is left to the ICRC",
			a_truncation_that_states_its_own_length_is_left_to_the_icrc},
		{"Ethernet padding and a kept FCS are nobody's payload",
			ethernet_padding_and_a_kept_fcs_are_nobodys_payload},
		{"A frame to another MAC is handed back", a_frame_to_another_mac_is_handed_back},
		{"A promiscuous endpoint takes any MAC", a_promiscuous_endpoint_takes_any_mac},
		{"A frame of another EtherType is handed back",
			a_frame_of_another_ethertype_is_handed_back},
		{"A datagram that is not UDP is handed back",
			a_datagram_that_is_not_udp_is_handed_back},
		{"A datagram to another port is handed back unjudged",
			a_datagram_to_another_port_is_handed_back_unjudged},
		{"A datagram to another address is handed back unjudged",
			a_datagram_to_another_address_is_handed_back_unjudged},
		{"Each of our addresses is ours and no other is",
			each_of_our_addresses_is_ours_and_no_others},
		{"A later fragment is handed back", a_later_fragment_is_handed_back},
		{"A first fragment is dropped", a_first_fragment_is_dropped},
		{"A datagram that may be fragmented but is not is accepted",
			a_datagram_that_may_be_fragmented_is_accepted},
		{"A wrong IP version or header length is dropped",
			a_wrong_ip_version_or_header_length_is_dropped},
		{"A wrong IP checksum is dropped", a_wrong_ip_checksum_is_dropped},
		{"An IP checksum that the port verified is not looked at",
			an_ip_checksum_that_the_port_verified_is_not_looked_at},
		{"Lengths that disagree are dropped", lengths_that_disagree_are_dropped},
		{"A BTH version other than zero is dropped",
			a_bth_version_other_than_zero_is_dropped},
		{"Reserved bits and the migration bit are not judged",
			reserved_bits_and_the_migration_bit_are_not_judged},
		{"IP options are accepted and part of the ICRC",
			ip_options_are_accepted_and_part_of_the_icrc},
		{"A right UDP checksum is right and a wrong one only noted",
			a_right_udp_checksum_is_right_and_a_wrong_one_only_noted},
		{"A UDP checksum of all ones can be right",
			a_udp_checksum_of_all_ones_can_be_right},
		{"Any UDP source port is accepted", any_udp_source_port_is_accepted},
		{"No single-bit error behind the MACs is believed",
			no_single_bit_error_behind_the_macs_is_believed},
	};

	return run_suite("parse", cases, sizeof(cases) / sizeof(cases[0]));
}
