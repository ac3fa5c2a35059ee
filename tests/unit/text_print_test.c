/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The line and the JSON object of a packet, compared as a whole: other tests and programs read
 * them, so their form is a contract.
 */
#include "text_frames.h"

static void check_frame(const uint8_t *data, uint32_t n, const char *want)
{
	check_text(line_of(data, n, n), want);
}

static void frames_of_linux_read_as_sent(void)
{
	check_frame(send_only, sizeof(send_only),
		"RC_SEND_ONLY qp 0x00001a psn 14195753 ack pad 2 len 2 icrc ok");
	check_frame(ack, sizeof(ack),
		"RC_ACKNOWLEDGE qp 0x00001a psn 14195753 ACK credits none msn 1 icrc ok");
	check_frame(write_only_imm, sizeof(write_only_imm),
		"RC_RDMA_WRITE_ONLY_WITH_IMMEDIATE qp 0x00003f psn 1754147 ack va 0x7f305b655000 "
		"rkey 0x00003638 dma_len 0 imm 0xabcd0003 len 0 icrc ok");
	check_frame(ipv6_ack, sizeof(ipv6_ack),
		"RC_ACKNOWLEDGE qp 0x000039 psn 5993947 ACK credits none msn 1 icrc ok");
	check_frame(cnp, sizeof(cnp), "CNP qp 0x000118 psn 0 becn len 16 icrc ok");
}

static void every_flag_of_the_bth_is_shown(void)
{
	static const uint8_t body[4] = {1};
	struct built frame = build(0x04, 0x80 | 0x40 | 0x30, body, sizeof(body));

	frame.bytes[BTH + 2] = 0x7f;
	frame.bytes[BTH + 4] = 0xc0;
	frame.bytes[BTH + 8] = 0x80;
	seal(&frame);
	check_text(built_line(frame),
		"RC_SEND_ONLY qp 0x000011 psn 100 se ack fecn becn "
		"pkey 0x7fff pad 3 len 1 icrc ok");
}

static void atomic_headers_are_shown(void)
{
	static const uint8_t request[28] = {0x01, 0x02, 0x03, 0x04, 0x05, 0x06, 0x07, 0x08, 0x11,
		0x12, 0x13, 0x14, 0x21, 0x22, 0x23, 0x24, 0x25, 0x26, 0x27, 0x28, 0x31, 0x32, 0x33,
		0x34, 0x35, 0x36, 0x37, 0x38};
	static const uint8_t answer[12] = {
		0x1f, 0x00, 0x00, 0x07, 0x41, 0x42, 0x43, 0x44, 0x45, 0x46, 0x47, 0x48};
	static const char *const fields =
		" qp 0x000011 psn 100 va 0x102030405060708 rkey 0x11121314 "
		"swap_add 0x2122232425262728 compare 0x3132333435363738 icrc ok";
	char want[UROCE_TEXT_LINE_BYTES];

	snprintf(want, sizeof(want), "RC_COMPARE_SWAP%s", fields);
	check_text(built_line(build(0x13, 0, request, sizeof(request))), want);
	snprintf(want, sizeof(want), "RC_FETCH_ADD%s", fields);
	check_text(built_line(build(0x14, 0, request, sizeof(request))), want);
	check_text(built_line(build(0x12, 0, answer, sizeof(answer))),
		"RC_ATOMIC_ACKNOWLEDGE qp 0x000011 psn 100 ACK credits none msn 7 "
		"orig 0x4142434445464748 icrc ok");
}

static void datagram_and_invalidate_headers_are_shown(void)
{
	static const uint8_t datagram[16] = {0x80, 0x01, 0x00, 0x00, 0x00, 0x00, 0x00, 0x2a, 0x00,
		0x00, 0x00, 0x05, 'd', 'a', 't', 'a'};
	static const uint8_t invalidate[8] = {0x00, 0x00, 0x12, 0x34, 'd', 'a', 't', 'a'};

	check_text(built_line(build(0x65, 0, datagram, sizeof(datagram))),
		"UD_SEND_ONLY_WITH_IMMEDIATE qp 0x000011 psn 100 qkey 0x80010000 sqpn 0x00002a "
		"imm 0x00000005 len 4 icrc ok");
	check_text(built_line(build(0x17, 0, invalidate, sizeof(invalidate))),
		"RC_SEND_ONLY_WITH_INVALIDATE qp 0x000011 psn 100 inv_rkey 0x00001234 len 4 "
		"icrc ok");
}

static void read_responses_have_an_aeth_but_for_the_middle_ones(void)
{
	static const uint8_t body[8] = {0x1f, 0, 0, 9};
	static const char *const aeth[4] = {"ACK credits none msn 9 len 4", "len 8",
		"ACK credits none msn 9 len 4", "ACK credits none msn 9 len 4"};
	static const char *const names[4] = {"FIRST", "MIDDLE", "LAST", "ONLY"};
	char want[UROCE_TEXT_LINE_BYTES];

	for (uint8_t i = 0; i < 4; i++) {
		snprintf(want, sizeof(want),
			"RC_RDMA_READ_RESPONSE_%s qp 0x000011 psn 100 %s icrc ok", names[i],
			aeth[i]);
		check_text(built_line(build((uint8_t)(0x0d + i), 0, body, sizeof(body))), want);
	}
}

static void check_syndrome(uint8_t syndrome, const char *words)
{
	const uint8_t body[4] = {syndrome, 0, 0, 3};
	char want[UROCE_TEXT_LINE_BYTES];

	snprintf(want, sizeof(want), "RC_ACKNOWLEDGE qp 0x000011 psn 100 %s msn 3 icrc ok", words);
	check_text(built_line(build(0x11, 0, body, sizeof(body))), want);
}

static void negative_acknowledgements_are_words(void)
{
	check_syndrome(0x60, "NAK psn-sequence-error");
	check_syndrome(0x61, "NAK invalid-request");
	check_syndrome(0x62, "NAK remote-access-error");
	check_syndrome(0x63, "NAK remote-operational-error");
	check_syndrome(0x64, "NAK invalid-rd-request");
	check_syndrome(0x65, "NAK reserved 0x65");
	check_syndrome(0x40, "AETH reserved 0x40");
	check_syndrome(0x9f, "AETH reserved 0x9f");
}

static void all_receiver_not_ready_timers_are_milliseconds(void)
{
	static const char *const ms[32] = {"655.36", "0.01", "0.02", "0.03", "0.04", "0.06", "0.08",
		"0.12", "0.16", "0.24", "0.32", "0.48", "0.64", "0.96", "1.28", "1.92", "2.56",
		"3.84", "5.12", "7.68", "10.24", "15.36", "20.48", "30.72", "40.96", "61.44",
		"81.92", "122.88", "163.84", "245.76", "327.68", "491.52"};
	char words[32];

	for (uint8_t i = 0; i < 32; i++) {
		snprintf(words, sizeof(words), "RNR NAK %s ms", ms[i]);
		check_syndrome((uint8_t)(0x20 | i), words);
	}
}

static void all_credit_codes_are_counts(void)
{
	static const unsigned int counts[31] = {0, 1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96,
		128, 192, 256, 384, 512, 768, 1024, 1536, 2048, 3072, 4096, 6144, 8192, 12288,
		16384, 24576, 32768};
	char words[32];

	for (uint8_t i = 0; i < 31; i++) {
		snprintf(words, sizeof(words), "ACK credits %u", counts[i]);
		check_syndrome(i, words);
	}
	check_syndrome(0x1f, "ACK credits none");
}

static void check_relative(uint32_t psn, uint32_t base, const char *want)
{
	struct built frame = build(0x0e, 0, NULL, 0);
	struct uroce_text_packet packet;
	char text[UROCE_TEXT_LINE_BYTES], expected[UROCE_TEXT_LINE_BYTES];

	uroce_text_decode(frame.bytes, frame.n, frame.n, &packet);
	free(frame.bytes);
	packet.psn = psn;
	uroce_text_line_relative(&packet, base, text, sizeof(text));
	snprintf(expected, sizeof(expected),
		"RC_RDMA_READ_RESPONSE_MIDDLE qp 0x000011 psn %s len 0 icrc ok", want);
	check_text(text, expected);
}

static void relative_psns_go_around_the_circle(void)
{
	check_relative(100, 100, "+0");
	check_relative(102, 100, "+2");
	check_relative(99, 100, "-1");
	check_relative(1, 0xfffffe, "+3");
	check_relative(0xfffffe, 1, "-3");
	check_relative(0x7fffff, 0, "+8388607");
	check_relative(0x800000, 0, "-8388608");
}

static void json_of_an_acknowledgement_has_every_key(void)
{
	char text[UROCE_TEXT_JSON_BYTES];
	struct uroce_text_packet packet;

	uroce_text_decode(ack, sizeof(ack), sizeof(ack), &packet);
	uroce_text_json(&packet, 4, 1500000000123456789, NULL, text, sizeof(text));
	check_text(text,
		"{\"frame\":4,\"time_ns\":1500000000123456789,\"proto\":\"RoCEv2/IPv4\","
		"\"src\":\"192.0.2.2\",\"dst\":\"192.0.2.1\",\"udp_sport\":49828,"
		"\"opcode\":\"RC_ACKNOWLEDGE\",\"opcode_number\":17,\"dqpn\":26,\"psn\":14195753,"
		"\"ackreq\":false,\"se\":false,\"migreq\":false,\"pad\":0,\"tver\":0,"
		"\"pkey\":65535,\"fecn\":false,\"becn\":false,"
		"\"aeth\":{\"syndrome\":31,\"msn\":1,\"kind\":\"ACK\",\"words\":\"credits none\"},"
		"\"payload_bytes\":null,\"icrc\":\"ok\",\"drop\":null}");
}

static void json_of_a_write_has_its_headers_and_the_drop_reason(void)
{
	char text[UROCE_TEXT_JSON_BYTES];
	struct uroce_text_packet packet;

	uroce_text_decode(write_only_imm, sizeof(write_only_imm), sizeof(write_only_imm), &packet);
	uroce_text_json(&packet, 1, 0, "icrc_bad", text, sizeof(text));
	CU_ASSERT_PTR_NOT_NULL(strstr(text,
		",\"reth\":{\"va\":139845668524032,\"rkey\":13880,\"dma_len\":0},"
		"\"immdt\":{\"imm\":2882338819},\"payload_bytes\":0,"));
	CU_ASSERT_PTR_NOT_NULL(strstr(text, ",\"drop\":\"icrc_bad\"}"));
}

static void json_of_a_frame_that_is_not_roce_has_nulls(void)
{
	uint8_t arp[42] = {0};
	char text[UROCE_TEXT_JSON_BYTES];
	struct uroce_text_packet packet;

	put16(arp + 12, 0x0806);
	uroce_text_decode(arp, sizeof(arp), sizeof(arp), &packet);
	uroce_text_json(&packet, 1, 2, NULL, text, sizeof(text));
	check_text(text,
		"{\"frame\":1,\"time_ns\":2,\"proto\":\"ARP\",\"src\":null,\"dst\":null,"
		"\"udp_sport\":null,\"opcode\":null,\"opcode_number\":null,\"dqpn\":null,"
		"\"psn\":null,\"ackreq\":null,\"se\":null,\"migreq\":null,\"pad\":null,"
		"\"tver\":null,\"pkey\":null,\"fecn\":null,\"becn\":null,\"payload_bytes\":null,"
		"\"icrc\":null,\"drop\":null}");
}

static void a_short_buffer_gets_a_cut_line_and_the_whole_length(void)
{
	struct uroce_text_packet packet;
	char whole[UROCE_TEXT_LINE_BYTES], cut[UROCE_TEXT_LINE_BYTES];
	int length;

	uroce_text_decode(ack, sizeof(ack), sizeof(ack), &packet);
	length = uroce_text_line(&packet, whole, sizeof(whole));
	CU_ASSERT_EQUAL((size_t)length, strlen(whole));
	for (size_t size = 1; size <= (size_t)length; size++) {
		memset(cut, 'x', sizeof(cut));
		CU_ASSERT_EQUAL(uroce_text_line(&packet, cut, size), length);
		CU_ASSERT_EQUAL(strlen(cut), size - 1);
		CU_ASSERT_EQUAL(memcmp(cut, whole, size - 1), 0);
		CU_ASSERT_EQUAL(cut[size], 'x');
	}
	CU_ASSERT_EQUAL(uroce_text_line(&packet, NULL, 0), length);
}

int main(void)
{
	static const struct unit_case cases[] = {
		{"frames of linux read as sent", frames_of_linux_read_as_sent},
		{"every flag of the bth is shown", every_flag_of_the_bth_is_shown},
		{"atomic headers are shown", atomic_headers_are_shown},
		{"datagram and invalidate headers are shown",
			datagram_and_invalidate_headers_are_shown},
		{"read responses have an aeth but for the middle ones",
			read_responses_have_an_aeth_but_for_the_middle_ones},
		{"negative acknowledgements are words", negative_acknowledgements_are_words},
		{"all receiver not ready timers are milliseconds",
			all_receiver_not_ready_timers_are_milliseconds},
		{"all credit codes are counts", all_credit_codes_are_counts},
		{"relative psns go around the circle", relative_psns_go_around_the_circle},
		{"json of an acknowledgement has every key",
			json_of_an_acknowledgement_has_every_key},
		{"json of a write has its headers and the drop reason",
			json_of_a_write_has_its_headers_and_the_drop_reason},
		{"json of a frame that is not roce has nulls",
			json_of_a_frame_that_is_not_roce_has_nulls},
		{"a short buffer gets a cut line and the whole length",
			a_short_buffer_gets_a_cut_line_and_the_whole_length},
	};

	return run_suite("text_print", cases, sizeof(cases) / sizeof(cases[0]));
}
