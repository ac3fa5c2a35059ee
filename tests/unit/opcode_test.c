/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The opcode table against a second one, written from the standard's table 38 in another form.
 *
 * Here a row is a number, a name and one letter per fact, so that a slip in the engine's columns
 * is not repeated by copying. All 256 numbers are looked at: those without a line are empty rows.
 */
#include "opcode.h"

#include <string.h>

#include "cunit_run.h"

/*
 * Place: F first, M middle, L last, O only. Direction: q request, s response. Headers by letter:
 * d DETH, r RETH, a AtomicETH, e AETH, k AtomicAckETH, i ImmDt, v IETH, f FETH. Then the bytes of
 * BTH and headers, and whether a receive is taken at this packet.
 */
struct line {
	int number;
	const char *name;
	enum uroce_service service;
	enum uroce_op_kind kind;
	char place;
	char direction;
	const char *headers;
	int header_bytes;
	bool receive;
};

#define RC  UROCE_SERVICE_RC
#define UC  UROCE_SERVICE_UC
#define UD  UROCE_SERVICE_UD
#define CNP UROCE_SERVICE_CNP

/* clang-format off */
static const struct line lines[] = {
	{0,   "RC_SEND_FIRST",                     RC, UROCE_OP_SEND,          'F', 'q', "",   12, true},
	{1,   "RC_SEND_MIDDLE",                    RC, UROCE_OP_SEND,          'M', 'q', "",   12, false},
	{2,   "RC_SEND_LAST",                      RC, UROCE_OP_SEND,          'L', 'q', "",   12, false},
	{3,   "RC_SEND_LAST_WITH_IMMEDIATE",       RC, UROCE_OP_SEND,          'L', 'q', "i",  16, false},
	{4,   "RC_SEND_ONLY",                      RC, UROCE_OP_SEND,          'O', 'q', "",   12, true},
	{5,   "RC_SEND_ONLY_WITH_IMMEDIATE",       RC, UROCE_OP_SEND,          'O', 'q', "i",  16, true},
	{6,   "RC_RDMA_WRITE_FIRST",               RC, UROCE_OP_WRITE,         'F', 'q', "r",  28, false},
	{7,   "RC_RDMA_WRITE_MIDDLE",              RC, UROCE_OP_WRITE,         'M', 'q', "",   12, false},
	{8,   "RC_RDMA_WRITE_LAST",                RC, UROCE_OP_WRITE,         'L', 'q', "",   12, false},
	{9,   "RC_RDMA_WRITE_LAST_WITH_IMMEDIATE", RC, UROCE_OP_WRITE,         'L', 'q', "i",  16, true},
	{10,  "RC_RDMA_WRITE_ONLY",                RC, UROCE_OP_WRITE,         'O', 'q', "r",  28, false},
	{11,  "RC_RDMA_WRITE_ONLY_WITH_IMMEDIATE", RC, UROCE_OP_WRITE,         'O', 'q', "ri", 32, true},
	{12,  "RC_RDMA_READ_REQUEST",              RC, UROCE_OP_READ,          'O', 'q', "r",  28, false},
	{13,  "RC_RDMA_READ_RESPONSE_FIRST",       RC, UROCE_OP_READ_RESPONSE, 'F', 's', "e",  16, false},
	{14,  "RC_RDMA_READ_RESPONSE_MIDDLE",      RC, UROCE_OP_READ_RESPONSE, 'M', 's', "",   12, false},
	{15,  "RC_RDMA_READ_RESPONSE_LAST",        RC, UROCE_OP_READ_RESPONSE, 'L', 's', "e",  16, false},
	{16,  "RC_RDMA_READ_RESPONSE_ONLY",        RC, UROCE_OP_READ_RESPONSE, 'O', 's', "e",  16, false},
	{17,  "RC_ACKNOWLEDGE",                    RC, UROCE_OP_ACK,           'O', 's', "e",  16, false},
	{18,  "RC_ATOMIC_ACKNOWLEDGE",             RC, UROCE_OP_ATOMIC_ACK,    'O', 's', "ek", 24, false},
	{19,  "RC_COMPARE_SWAP",                   RC, UROCE_OP_COMPARE_SWAP,  'O', 'q', "a",  40, false},
	{20,  "RC_FETCH_ADD",                      RC, UROCE_OP_FETCH_ADD,     'O', 'q', "a",  40, false},
	{22,  "RC_SEND_LAST_WITH_INVALIDATE",      RC, UROCE_OP_SEND,          'L', 'q', "v",  16, false},
	{23,  "RC_SEND_ONLY_WITH_INVALIDATE",      RC, UROCE_OP_SEND,          'O', 'q', "v",  16, true},
	{28,  "RC_FLUSH",                          RC, UROCE_OP_FLUSH,         'O', 'q', "fr", 32, false},
	{29,  "RC_ATOMIC_WRITE",                   RC, UROCE_OP_ATOMIC_WRITE,  'O', 'q', "r",  28, false},
	{32,  "UC_SEND_FIRST",                     UC, UROCE_OP_SEND,          'F', 'q', "",   12, true},
	{33,  "UC_SEND_MIDDLE",                    UC, UROCE_OP_SEND,          'M', 'q', "",   12, false},
	{34,  "UC_SEND_LAST",                      UC, UROCE_OP_SEND,          'L', 'q', "",   12, false},
	{35,  "UC_SEND_LAST_WITH_IMMEDIATE",       UC, UROCE_OP_SEND,          'L', 'q', "i",  16, false},
	{36,  "UC_SEND_ONLY",                      UC, UROCE_OP_SEND,          'O', 'q', "",   12, true},
	{37,  "UC_SEND_ONLY_WITH_IMMEDIATE",       UC, UROCE_OP_SEND,          'O', 'q', "i",  16, true},
	{38,  "UC_RDMA_WRITE_FIRST",               UC, UROCE_OP_WRITE,         'F', 'q', "r",  28, false},
	{39,  "UC_RDMA_WRITE_MIDDLE",              UC, UROCE_OP_WRITE,         'M', 'q', "",   12, false},
	{40,  "UC_RDMA_WRITE_LAST",                UC, UROCE_OP_WRITE,         'L', 'q', "",   12, false},
	{41,  "UC_RDMA_WRITE_LAST_WITH_IMMEDIATE", UC, UROCE_OP_WRITE,         'L', 'q', "i",  16, true},
	{42,  "UC_RDMA_WRITE_ONLY",                UC, UROCE_OP_WRITE,         'O', 'q', "r",  28, false},
	{43,  "UC_RDMA_WRITE_ONLY_WITH_IMMEDIATE", UC, UROCE_OP_WRITE,         'O', 'q', "ri", 32, true},
	{100, "UD_SEND_ONLY",                      UD, UROCE_OP_SEND,          'O', 'q', "d",  20, true},
	{101, "UD_SEND_ONLY_WITH_IMMEDIATE",       UD, UROCE_OP_SEND,          'O', 'q', "di", 24, true},
	{129, "CNP",                               CNP, UROCE_OP_CNP,          'O', 'q', "",   12, false},
};
/* clang-format on */

enum {
	NUM_LINES = sizeof(lines) / sizeof(lines[0])
};

static const struct line *line_of(int number)
{
	for (int i = 0; i < NUM_LINES; i++)
		if (lines[i].number == number)
			return &lines[i];
	return NULL;
}

static bool has(const struct line *line, char header)
{
	return strchr(line->headers, header) != NULL;
}

static void names_services_and_kinds_are_the_standards(void)
{
	for (int i = 0; i < NUM_LINES; i++) {
		const struct uroce_opcode *row = &uroce_opcodes[lines[i].number];

		CU_ASSERT_PTR_NOT_NULL_FATAL(row->name);
		CU_ASSERT_STRING_EQUAL(row->name, lines[i].name);
		CU_ASSERT_EQUAL(row->number, lines[i].number);
		CU_ASSERT_EQUAL(row->service, lines[i].service);
		CU_ASSERT_EQUAL(row->kind, lines[i].kind);
	}
}

static void places_and_directions_are_right(void)
{
	for (int i = 0; i < NUM_LINES; i++) {
		const struct uroce_opcode *row = &uroce_opcodes[lines[i].number];
		char place = lines[i].place;

		CU_ASSERT_EQUAL(row->first, place == 'F' || place == 'O');
		CU_ASSERT_EQUAL(row->last, place == 'L' || place == 'O');
		CU_ASSERT_EQUAL(row->request, lines[i].direction == 'q');
		CU_ASSERT_EQUAL(row->response, lines[i].direction == 's');
	}
}

static void each_opcode_has_its_headers_and_no_other(void)
{
	for (int i = 0; i < NUM_LINES; i++) {
		const struct uroce_opcode *row = &uroce_opcodes[lines[i].number];

		CU_ASSERT_EQUAL(row->deth, has(&lines[i], 'd'));
		CU_ASSERT_EQUAL(row->reth, has(&lines[i], 'r'));
		CU_ASSERT_EQUAL(row->atomiceth, has(&lines[i], 'a'));
		CU_ASSERT_EQUAL(row->aeth, has(&lines[i], 'e'));
		CU_ASSERT_EQUAL(row->atomicacketh, has(&lines[i], 'k'));
		CU_ASSERT_EQUAL(row->immdt, has(&lines[i], 'i'));
		CU_ASSERT_EQUAL(row->ieth, has(&lines[i], 'v'));
		CU_ASSERT_EQUAL(row->feth, has(&lines[i], 'f'));
		CU_ASSERT_EQUAL(row->header_bytes, lines[i].header_bytes);
	}
}

static void receives_are_taken_by_sends_at_first_and_by_writes_at_the_immediate(void)
{
	for (int i = 0; i < NUM_LINES; i++)
		CU_ASSERT_EQUAL(uroce_opcodes[lines[i].number].takes_receive, lines[i].receive);
}

static void all_other_numbers_have_an_empty_row(void)
{
	unsigned int empty = 0;

	for (int number = 0; number < 256; number++) {
		const struct uroce_opcode *row = &uroce_opcodes[number];

		if (line_of(number))
			continue;
		empty++;
		CU_ASSERT_PTR_NULL(row->name);
		CU_ASSERT_EQUAL(row->service, UROCE_SERVICE_NONE);
		CU_ASSERT_EQUAL(row->kind, UROCE_OP_NONE);
		CU_ASSERT_EQUAL(row->header_bytes, 0);
		CU_ASSERT_FALSE(row->first || row->last || row->request || row->response);
		CU_ASSERT_FALSE(row->takes_receive);
		CU_ASSERT_FALSE(row->deth || row->reth || row->atomiceth || row->aeth ||
			row->atomicacketh || row->immdt || row->ieth || row->feth);
	}
	CU_ASSERT_EQUAL(empty, 256 - NUM_LINES);
}

int main(void)
{
	static const struct unit_case cases[] = {
		{"Names, services and kinds are the standard's",
			names_services_and_kinds_are_the_standards},
		{"Places and directions are right", places_and_directions_are_right},
		{"Each opcode has its headers and no other",
			each_opcode_has_its_headers_and_no_other},
		{"Receives are taken by sends at the first packet and by writes at the immediate",
			receives_are_taken_by_sends_at_first_and_by_writes_at_the_immediate},
		{"All other numbers have an empty row", all_other_numbers_have_an_empty_row},
	};

	return run_suite("opcode", cases, sizeof(cases) / sizeof(cases[0]));
}
