/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Scatter and gather against a naive reference that lists where each byte of a message lies.
 *
 * The list has 20 segments, empty ones among them, in two regions and out of order; every offset
 * and length of the message is tried both ways. A list with anything bad on the way must leave
 * memory as it was.
 */
#include "sge.h"

#include <stdbool.h>
#include <string.h>

#include "status.h"

#include "cunit_run.h"
#include "test_random.h"

enum {
	PD = 3,
	KEY_A = 0x100,
	KEY_B = 0x2ff,
	KEY_READ_ONLY = 0x301,
	KEY_OTHER_PD = 0x402,
	REGION_BYTES = 512,
	NUM_SEGS = 20,
	MESSAGE_BYTES = 1 + 2 + 3 + 4 + 5 + 6 + 7 + 8 + 9 + 10 + 11 + 12 + 13 + 14 + 15 + 16 + 17,
};

#define ADDR_A UINT64_C(0x7f0000001000)
#define ADDR_B (UINT64_MAX - REGION_BYTES + 1)

static struct uroce_mr_slot slots[16];
static struct uroce_mr_table table;
static uint8_t memory[2][REGION_BYTES];
static struct uroce_seg segs[NUM_SEGS];
static struct uroce_sge_list list;
/* the reference: where each byte of the message is */
static uint8_t *place[MESSAGE_BYTES];

static void add_region(uint32_t key, uint32_t pd, uint64_t addr, uint8_t *ptr, uint32_t access)
{
	struct uroce_mr_attr attr = {.key = key,
		.pd = pd,
		.addr = addr,
		.ptr = ptr,
		.bytes = REGION_BYTES,
		.access = access};
	uint32_t got;

	CU_ASSERT_EQUAL_FATAL(uroce_mr_table_add(&table, &attr, 1, &got), 0);
}

static void start(void)
{
	uint32_t at = 0, used[2] = {0, 0};

	memset(slots, 0, sizeof(slots));
	uroce_mr_table_init(&table, slots, 16);
	add_region(KEY_A, PD, ADDR_A, memory[0], UROCE_ACCESS_LOCAL_WRITE);
	add_region(KEY_B, PD, ADDR_B, memory[1], UROCE_ACCESS_LOCAL_WRITE);
	add_region(KEY_READ_ONLY, PD, ADDR_A, memory[0], UROCE_ACCESS_REMOTE_READ);
	add_region(KEY_OTHER_PD, PD + 1, ADDR_A, memory[0], UROCE_ACCESS_LOCAL_WRITE);
	/* segments of 0, 1, 2, ... 17 bytes, and empty ones in the middle and at the end */
	for (uint32_t i = 0; i < NUM_SEGS; i++) {
		uint32_t bytes = i < 9 ? i : i == 9 || i == NUM_SEGS - 1 ? 0 : i - 1;
		uint32_t which = i % 3 == 1;
		/* a gap before each, and B is filled from its end, which is the last address */
		uint32_t from = which ? REGION_BYTES - used[1] - bytes : used[0] + 3;

		segs[i] = (struct uroce_seg){.addr = (which ? ADDR_B : ADDR_A) + from,
			.bytes = bytes,
			.lkey = which ? KEY_B : KEY_A};
		used[which] += bytes + (which ? 1 : 3);
		for (uint32_t j = 0; j < bytes; j++)
			place[at++] = &memory[which][from + j];
	}
	CU_ASSERT_EQUAL_FATAL(at, MESSAGE_BYTES);
	for (uint32_t i = 0; i < REGION_BYTES; i++) {
		memory[0][i] = (uint8_t)(i * 7 + 1);
		memory[1][i] = (uint8_t)(i * 11 + 128);
	}
	list = (struct uroce_sge_list){.mrs = &table, .segs = segs, .num_segs = NUM_SEGS, .pd = PD};
}

static void every_offset_and_length_is_gathered_from_the_right_places(void)
{
	uint8_t got[MESSAGE_BYTES + 1], want[MESSAGE_BYTES + 1];
	unsigned int wrong = 0;

	start();
	for (uint32_t offset = 0; offset < MESSAGE_BYTES; offset++)
		for (uint32_t bytes = 1; bytes <= MESSAGE_BYTES - offset; bytes++) {
			memset(got, 0, sizeof(got));
			memset(want, 0, sizeof(want));
			for (uint32_t i = 0; i < bytes; i++)
				want[i] = *place[offset + i];
			wrong += uroce_sge_gather(&list, offset, got, bytes) != UROCE_MR_OK;
			wrong += memcmp(got, want, sizeof(got)) != 0;
		}
	CU_ASSERT_EQUAL(wrong, 0);
}

static void every_offset_and_length_is_scattered_to_the_right_places(void)
{
	uint8_t message[MESSAGE_BYTES], before[2][REGION_BYTES], got[2][REGION_BYTES];
	unsigned int wrong = 0;

	start();
	for (uint32_t i = 0; i < MESSAGE_BYTES; i++)
		message[i] = (uint8_t)(i * 13 + 5);
	memcpy(before, memory, sizeof(before));
	for (uint32_t offset = 0; offset < MESSAGE_BYTES; offset++)
		for (uint32_t bytes = 1; bytes <= MESSAGE_BYTES - offset; bytes++) {
			bool last = (offset + bytes) % 2;

			wrong += uroce_sge_scatter(&list, offset, message, bytes, last) !=
				UROCE_MR_OK;
			memcpy(got, memory, sizeof(got));
			memcpy(memory, before, sizeof(before));
			for (uint32_t i = 0; i < bytes; i++)
				*place[offset + i] = message[i];
			wrong += memcmp(got, memory, sizeof(got)) != 0;
			memcpy(memory, before, sizeof(before));
		}
	CU_ASSERT_EQUAL(wrong, 0);
}

static void a_message_in_packets_of_any_size_arrives_whole(void)
{
	uint8_t message[MESSAGE_BYTES], got[MESSAGE_BYTES];
	uint64_t seed = 42;

	for (uint32_t packet = 1; packet <= MESSAGE_BYTES; packet++) {
		start();
		for (uint32_t i = 0; i < MESSAGE_BYTES; i++)
			message[i] = (uint8_t)random_next(&seed);
		for (uint32_t at = 0; at < MESSAGE_BYTES; at += packet) {
			uint32_t part = MESSAGE_BYTES - at < packet ? MESSAGE_BYTES - at : packet;

			CU_ASSERT_EQUAL(uroce_sge_scatter(&list, at, message + at, part,
						at + part == MESSAGE_BYTES),
				UROCE_MR_OK);
		}
		CU_ASSERT_EQUAL(uroce_sge_gather(&list, 0, got, MESSAGE_BYTES), UROCE_MR_OK);
		CU_ASSERT_EQUAL(memcmp(got, message, MESSAGE_BYTES), 0);
	}
}

/* In how many ways a segment can be bad for placing. */
enum spoil {
	SPOIL_KEY,
	SPOIL_PD,
	SPOIL_RIGHT,
	SPOIL_RANGE,
	SPOIL_COUNT
};

static enum uroce_mr_verdict spoil(struct uroce_seg *seg, enum spoil how)
{
	switch (how) {
	case SPOIL_KEY:
		seg->lkey ^= 1;
		return UROCE_MR_NO_KEY;
	case SPOIL_PD:
		seg->lkey = KEY_OTHER_PD;
		return UROCE_MR_WRONG_PD;
	case SPOIL_RIGHT:
		seg->lkey = KEY_READ_ONLY;
		return UROCE_MR_NO_RIGHT;
	case SPOIL_RANGE:
		seg->addr += REGION_BYTES;
		return UROCE_MR_RANGE;
	case SPOIL_COUNT:
		break;
	}
	return UROCE_MR_OK;
}

static void nothing_is_written_when_any_segment_on_the_way_is_bad(void)
{
	uint8_t message[MESSAGE_BYTES], before[2][REGION_BYTES];

	memset(message, 0xdd, sizeof(message));
	for (int how = 0; how < SPOIL_COUNT; how++)
		for (uint32_t bad = 0; bad < NUM_SEGS; bad++) {
			enum uroce_mr_verdict want;

			start();
			memcpy(before, memory, sizeof(before));
			want = spoil(&segs[bad], (enum spoil)how);
			/* nobody touches an empty segment, so nobody minds */
			if (segs[bad].bytes == 0)
				want = UROCE_MR_OK;
			CU_ASSERT_EQUAL(
				uroce_sge_scatter(&list, 0, message, MESSAGE_BYTES, true), want);
			if (want != UROCE_MR_OK)
				CU_ASSERT_EQUAL(memcmp(memory, before, sizeof(before)), 0);
		}
}

static void a_bad_only_segment_is_refused_before_it_is_written(void)
{
	uint8_t message[17], before[2][REGION_BYTES];

	memset(message, 0xdd, sizeof(message));
	for (int how = 0; how < SPOIL_COUNT; how++) {
		enum uroce_mr_verdict want;

		start();
		memcpy(before, memory, sizeof(before));
		want = spoil(&segs[18], (enum spoil)how);
		list.segs = &segs[18];
		list.num_segs = 1;
		CU_ASSERT_EQUAL(uroce_sge_scatter(&list, 0, message, 17, true), want);
		CU_ASSERT_EQUAL(memcmp(memory, before, sizeof(before)), 0);
	}
}

static void a_bad_segment_off_the_way_does_not_matter(void)
{
	uint8_t message[MESSAGE_BYTES];

	memset(message, 0xdd, sizeof(message));
	start();
	/* segments 1 to 5 hold bytes 0 to 14; 6 is bad, 7 follows at 21 */
	spoil(&segs[6], SPOIL_KEY);
	CU_ASSERT_EQUAL(uroce_sge_scatter(&list, 0, message, 15, false), UROCE_MR_OK);
	CU_ASSERT_EQUAL(uroce_sge_scatter(&list, 21, message, 30, false), UROCE_MR_OK);
	CU_ASSERT_EQUAL(uroce_sge_scatter(&list, 14, message, 2, false), UROCE_MR_NO_KEY);
	CU_ASSERT_EQUAL(uroce_sge_gather(&list, 20, message, 1), UROCE_MR_NO_KEY);
	CU_ASSERT_EQUAL(uroce_sge_gather(&list, 21, message, 1), UROCE_MR_OK);
}

static void a_range_that_ends_outside_its_region_is_refused(void)
{
	uint8_t message[32];

	start();
	segs[0] = (struct uroce_seg){.addr = ADDR_A + REGION_BYTES - 8, .bytes = 16, .lkey = KEY_A};
	list.num_segs = 1;
	CU_ASSERT_EQUAL(uroce_sge_gather(&list, 0, message, 8), UROCE_MR_OK);
	CU_ASSERT_EQUAL(uroce_sge_gather(&list, 0, message, 9), UROCE_MR_RANGE);
	CU_ASSERT_EQUAL(uroce_sge_gather(&list, 8, message, 1), UROCE_MR_RANGE);
}

static void gathering_needs_no_right_but_the_domain_and_the_key(void)
{
	uint8_t got[4];

	start();
	segs[0] = (struct uroce_seg){.addr = ADDR_A, .bytes = 4, .lkey = KEY_READ_ONLY};
	CU_ASSERT_EQUAL(uroce_sge_gather(&list, 0, got, 4), UROCE_MR_OK);
	CU_ASSERT_EQUAL(memcmp(got, memory[0], 4), 0);
	CU_ASSERT_EQUAL(uroce_sge_scatter(&list, 0, got, 4, true), UROCE_MR_NO_RIGHT);
	segs[0].lkey = KEY_OTHER_PD;
	CU_ASSERT_EQUAL(uroce_sge_gather(&list, 0, got, 4), UROCE_MR_WRONG_PD);
}

static void a_list_that_is_too_short_is_out_of_range_and_nothing_is_written(void)
{
	uint8_t message[MESSAGE_BYTES + 1], before[2][REGION_BYTES];

	memset(message, 0xdd, sizeof(message));
	start();
	memcpy(before, memory, sizeof(before));
	CU_ASSERT_EQUAL(
		uroce_sge_scatter(&list, 0, message, MESSAGE_BYTES + 1, true), UROCE_MR_RANGE);
	CU_ASSERT_EQUAL(uroce_sge_scatter(&list, MESSAGE_BYTES, message, 1, true), UROCE_MR_RANGE);
	CU_ASSERT_EQUAL(uroce_sge_scatter(&list, UINT64_MAX, message, 2, true), UROCE_MR_RANGE);
	CU_ASSERT_EQUAL(memcmp(memory, before, sizeof(before)), 0);
	list.num_segs = 0;
	CU_ASSERT_EQUAL(uroce_sge_gather(&list, 0, message, 1), UROCE_MR_RANGE);
}

static void no_bytes_need_no_segment(void)
{
	uint8_t message[1] = {0x11};

	start();
	CU_ASSERT_EQUAL(uroce_sge_gather(&list, 5, message, 0), UROCE_MR_OK);
	CU_ASSERT_EQUAL(uroce_sge_scatter(&list, 5, message, 0, true), UROCE_MR_OK);
	list.num_segs = 0;
	CU_ASSERT_EQUAL(uroce_sge_scatter(&list, 0, message, 0, true), UROCE_MR_OK);
	CU_ASSERT_EQUAL(message[0], 0x11);
}

/* Offsets beyond 32 bits: 32 segments of up to 2^32 - 1 bytes make a message that long. */
static void offsets_beyond_32_bits_are_found(void)
{
	struct uroce_mr_attr attr = {.key = 0x500,
		.pd = PD,
		.access = UROCE_ACCESS_LOCAL_WRITE,
		.ptr = memory[0],
		.addr = 0x1000,
		.bytes = UINT64_C(8) << 32};
	uint8_t got[2];
	uint32_t key;

	start();
	CU_ASSERT_EQUAL_FATAL(uroce_mr_table_add(&table, &attr, 1, &key), 0);
	segs[0] = (struct uroce_seg){.addr = 0x1000, .bytes = UINT32_MAX, .lkey = key};
	segs[1] = segs[0];
	segs[2] = (struct uroce_seg){.addr = ADDR_A + 40, .bytes = 4, .lkey = KEY_A};
	list.num_segs = 3;
	CU_ASSERT_EQUAL(uroce_sge_gather(&list, UINT64_C(2) * UINT32_MAX + 1, got, 2), UROCE_MR_OK);
	CU_ASSERT_EQUAL(memcmp(got, memory[0] + 41, 2), 0);
}

/* Whether placing n bytes of from wrote them and nothing else. */
static bool placed_right(uint32_t n, bool last)
{
	uint8_t from[24], to[40];

	for (uint32_t i = 0; i < sizeof(from); i++)
		from[i] = (uint8_t)(i + 1);
	memset(to, 0xcc, sizeof(to));
	uroce_place(to + 8, from, n, last);
	for (uint32_t i = 0; i < sizeof(to); i++) {
		uint8_t want = i >= 8 && i < 8 + n ? from[i - 8] : 0xcc;

		if (to[i] != want)
			return false;
	}
	return true;
}

static void short_payloads_are_placed_whole_last_or_not(void)
{
	for (uint32_t n = 0; n <= 20; n++) {
		CU_ASSERT_TRUE(placed_right(n, true));
		CU_ASSERT_TRUE(placed_right(n, false));
	}
}

int main(void)
{
	static const struct unit_case cases[] = {
		{"Every offset and length is gathered from the right places",
			every_offset_and_length_is_gathered_from_the_right_places},
		{"Every offset and length is scattered to the right places",
			every_offset_and_length_is_scattered_to_the_right_places},
		{"A message in packets of any size arrives whole",
			a_message_in_packets_of_any_size_arrives_whole},
		{"Nothing is written when any segment on the way is bad",
			nothing_is_written_when_any_segment_on_the_way_is_bad},
		{"A bad only segment is refused before it is written",
			a_bad_only_segment_is_refused_before_it_is_written},
		{"A bad segment off the way does not matter",
			a_bad_segment_off_the_way_does_not_matter},
		{"A range that ends outside its region is refused",
			a_range_that_ends_outside_its_region_is_refused},
		{"Gathering needs no right but the domain and the key",
			gathering_needs_no_right_but_the_domain_and_the_key},
		{"A list that is too short is out of range, and nothing is written",
			a_list_that_is_too_short_is_out_of_range_and_nothing_is_written},
		{"No bytes need no segment", no_bytes_need_no_segment},
		{"Offsets beyond 32 bits are found", offsets_beyond_32_bits_are_found},
		{"Short payloads are placed whole, last or not",
			short_payloads_are_placed_whole_last_or_not},
	};

	return run_suite("sge", cases, sizeof(cases) / sizeof(cases[0]));
}
