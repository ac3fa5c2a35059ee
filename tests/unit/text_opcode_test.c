/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * All 256 opcodes, as the decoder shows them: the standard's name, the headers that follow, whether
 * a payload may. The list below is written down once more and not taken from the decoder.
 */
#include "text_frames.h"

/* What comes of an opcode: its name, the bytes of its headers, whether a payload may follow. */
struct opcode_fact {
	uint8_t opcode;
	const char *name;
	uint32_t header_bytes;
	bool payload;
};

static const struct opcode_fact opcode_facts[] = {
	{0x00, "RC_SEND_FIRST", 0, true},
	{0x01, "RC_SEND_MIDDLE", 0, true},
	{0x02, "RC_SEND_LAST", 0, true},
	{0x03, "RC_SEND_LAST_WITH_IMMEDIATE", 4, true},
	{0x04, "RC_SEND_ONLY", 0, true},
	{0x05, "RC_SEND_ONLY_WITH_IMMEDIATE", 4, true},
	{0x06, "RC_RDMA_WRITE_FIRST", 16, true},
	{0x07, "RC_RDMA_WRITE_MIDDLE", 0, true},
	{0x08, "RC_RDMA_WRITE_LAST", 0, true},
	{0x09, "RC_RDMA_WRITE_LAST_WITH_IMMEDIATE", 4, true},
	{0x0a, "RC_RDMA_WRITE_ONLY", 16, true},
	{0x0b, "RC_RDMA_WRITE_ONLY_WITH_IMMEDIATE", 20, true},
	{0x0c, "RC_RDMA_READ_REQUEST", 16, false},
	{0x0d, "RC_RDMA_READ_RESPONSE_FIRST", 4, true},
	{0x0e, "RC_RDMA_READ_RESPONSE_MIDDLE", 0, true},
	{0x0f, "RC_RDMA_READ_RESPONSE_LAST", 4, true},
	{0x10, "RC_RDMA_READ_RESPONSE_ONLY", 4, true},
	{0x11, "RC_ACKNOWLEDGE", 4, false},
	{0x12, "RC_ATOMIC_ACKNOWLEDGE", 12, false},
	{0x13, "RC_COMPARE_SWAP", 28, false},
	{0x14, "RC_FETCH_ADD", 28, false},
	{0x16, "RC_SEND_LAST_WITH_INVALIDATE", 4, true},
	{0x17, "RC_SEND_ONLY_WITH_INVALIDATE", 4, true},
	{0x1c, "RC_FLUSH", 20, false},
	{0x1d, "RC_ATOMIC_WRITE", 16, true},
	{0x20, "UC_SEND_FIRST", 0, true},
	{0x21, "UC_SEND_MIDDLE", 0, true},
	{0x22, "UC_SEND_LAST", 0, true},
	{0x23, "UC_SEND_LAST_WITH_IMMEDIATE", 4, true},
	{0x24, "UC_SEND_ONLY", 0, true},
	{0x25, "UC_SEND_ONLY_WITH_IMMEDIATE", 4, true},
	{0x26, "UC_RDMA_WRITE_FIRST", 16, true},
	{0x27, "UC_RDMA_WRITE_MIDDLE", 0, true},
	{0x28, "UC_RDMA_WRITE_LAST", 0, true},
	{0x29, "UC_RDMA_WRITE_LAST_WITH_IMMEDIATE", 4, true},
	{0x2a, "UC_RDMA_WRITE_ONLY", 16, true},
	{0x2b, "UC_RDMA_WRITE_ONLY_WITH_IMMEDIATE", 20, true},
	{0x64, "UD_SEND_ONLY", 8, true},
	{0x65, "UD_SEND_ONLY_WITH_IMMEDIATE", 12, true},
	{0x81, "CNP", 0, true},
};

static const struct opcode_fact *find_fact(uint8_t opcode)
{
	for (size_t i = 0; i < sizeof(opcode_facts) / sizeof(opcode_facts[0]); i++)
		if (opcode_facts[i].opcode == opcode)
			return &opcode_facts[i];
	return NULL;
}

/* Named by the standard, headers not decoded: RD and XRC. */
static bool named_only(unsigned int opcode)
{
	unsigned int operation = opcode & 0x1f;

	if (opcode >> 5 == 2)
		return operation <= 0x14;
	if (opcode >> 5 == 5)
		return operation <= 0x17 && operation != 0x15;
	return false;
}

static void check_opcode(uint8_t opcode, const struct uroce_text_packet *packet, uint32_t body)
{
	const struct opcode_fact *fact = find_fact(opcode);
	char unknown[16];

	snprintf(unknown, sizeof(unknown), "UNKNOWN_0x%02x", opcode);
	if (fact) {
		check_text(packet->opcode_name, fact->name);
		CU_ASSERT_EQUAL(packet->has_payload, fact->payload);
		if (fact->payload) {
			CU_ASSERT_EQUAL(packet->payload_offset, EXT + fact->header_bytes);
			CU_ASSERT_EQUAL(packet->payload_bytes, body - fact->header_bytes);
		}
		check_text(packet->malformed ? packet->malformed : "none",
			fact->payload ? "none" : "payload_unexpected");
	} else if (named_only(opcode)) {
		CU_ASSERT_NOT_EQUAL(strncmp(packet->opcode_name, "UNKNOWN", 7), 0);
		check_text(packet->malformed, "opcode_unsupported");
	} else {
		check_text(packet->opcode_name, unknown);
		check_text(packet->malformed, "opcode_unknown");
	}
}

static void all_256_opcodes_have_the_standards_name_and_headers(void)
{
	static const uint8_t body[40];
	struct uroce_text_packet packet;

	for (unsigned int opcode = 0; opcode < 256; opcode++) {
		struct built frame = build((uint8_t)opcode, 0, body, sizeof(body));

		uroce_text_decode(frame.bytes, frame.n, frame.n, &packet);
		check_opcode((uint8_t)opcode, &packet, sizeof(body));
		CU_ASSERT_EQUAL(packet.icrc, UROCE_TEXT_ICRC_OK);
		free(frame.bytes);
	}
}

static void headers_that_do_not_fit_are_refused_for_every_opcode(void)
{
	static const uint8_t body[40];

	for (size_t i = 0; i < sizeof(opcode_facts) / sizeof(opcode_facts[0]); i++) {
		const struct opcode_fact *fact = &opcode_facts[i];

		check_text(built_refusal(build(fact->opcode, 0, body, fact->header_bytes)), "none");
		if (fact->header_bytes)
			check_text(
				built_refusal(build(fact->opcode, 0, body, fact->header_bytes - 4)),
				"headers_short");
	}
}

int main(void)
{
	static const struct unit_case cases[] = {
		{"all 256 opcodes have the standards name and headers",
			all_256_opcodes_have_the_standards_name_and_headers},
		{"headers that do not fit are refused for every opcode",
			headers_that_do_not_fit_are_refused_for_every_opcode},
	};

	return run_suite("text_opcode", cases, sizeof(cases) / sizeof(cases[0]));
}
