/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Big-endian loads and stores: literal bytes both ways, at every alignment, and not a byte more.
 *
 * Loads read from the end of exact allocations, so that the address sanitizer sees a byte read
 * beyond; stores have guard bytes around them.
 */
#include "bytes.h"

#include <stdbool.h>
#include <stdlib.h>

#include "cunit_run.h"

static const uint8_t counting[8] = {0x01, 0x23, 0x45, 0x67, 0x89, 0xab, 0xcd, 0xef};

static void big_endian_loads_take_the_first_byte_as_the_highest(void)
{
	CU_ASSERT_EQUAL(uroce_load_be16(counting), 0x0123);
	CU_ASSERT_EQUAL(uroce_load_be24(counting), 0x012345);
	CU_ASSERT_EQUAL(uroce_load_be32(counting), 0x01234567);
	CU_ASSERT_EQUAL(uroce_load_be64(counting), 0x0123456789abcdefu);
}

static void high_bits_do_not_spread(void)
{
	static const uint8_t high[8] = {0xff, 0x80, 0xfe, 0x81, 0xfd, 0x82, 0xfc, 0x83};

	CU_ASSERT_EQUAL(uroce_load_be16(high), 0xff80);
	CU_ASSERT_EQUAL(uroce_load_be24(high), 0xff80fe);
	CU_ASSERT_EQUAL(uroce_load_be32(high), 0xff80fe81);
	CU_ASSERT_EQUAL(uroce_load_be64(high), 0xff80fe81fd82fc83u);
	CU_ASSERT_EQUAL(uroce_load_le32(high), 0x81fe80ff);
}

static void the_little_endian_load_takes_the_first_byte_as_the_lowest(void)
{
	CU_ASSERT_EQUAL(uroce_load_le32(counting), 0x67452301);
}

static void loads_agree_at_every_alignment_and_read_nothing_beyond(void)
{
	for (size_t shift = 0; shift < 8; shift++) {
		uint8_t *p2 = malloc(shift + 2), *p3 = malloc(shift + 3);
		uint8_t *p4 = malloc(shift + 4), *p8 = malloc(shift + 8);

		CU_ASSERT_TRUE_FATAL(p2 && p3 && p4 && p8);
		memcpy(p2 + shift, counting, 2);
		memcpy(p3 + shift, counting, 3);
		memcpy(p4 + shift, counting, 4);
		memcpy(p8 + shift, counting, 8);
		CU_ASSERT_EQUAL(uroce_load_be16(p2 + shift), 0x0123);
		CU_ASSERT_EQUAL(uroce_load_be24(p3 + shift), 0x012345);
		CU_ASSERT_EQUAL(uroce_load_be32(p4 + shift), 0x01234567);
		CU_ASSERT_EQUAL(uroce_load_le32(p4 + shift), 0x67452301);
		CU_ASSERT_EQUAL(uroce_load_be64(p8 + shift), 0x0123456789abcdefu);
		free(p2);
		free(p3);
		free(p4);
		free(p8);
	}
}

/* Whether `at` holds the n bytes of want, and the rest of the 24 bytes is untouched. */
static bool holds(const uint8_t *memory, size_t at, const uint8_t *want, size_t n)
{
	for (size_t i = 0; i < 24; i++) {
		uint8_t expected = i >= at && i < at + n ? want[i - at] : 0x5a;

		if (memory[i] != expected)
			return false;
	}
	return true;
}

static void stores_write_exactly_their_bytes_at_every_alignment(void)
{
	static const uint8_t reversed[4] = {0x67, 0x45, 0x23, 0x01};
	uint8_t memory[24];

	for (size_t at = 4; at < 12; at++) {
		memset(memory, 0x5a, sizeof(memory));
		uroce_store_be16(memory + at, 0x0123);
		CU_ASSERT_TRUE(holds(memory, at, counting, 2));
		memset(memory, 0x5a, sizeof(memory));
		uroce_store_be24(memory + at, 0x012345);
		CU_ASSERT_TRUE(holds(memory, at, counting, 3));
		memset(memory, 0x5a, sizeof(memory));
		uroce_store_be32(memory + at, 0x01234567);
		CU_ASSERT_TRUE(holds(memory, at, counting, 4));
		memset(memory, 0x5a, sizeof(memory));
		uroce_store_be64(memory + at, 0x0123456789abcdefu);
		CU_ASSERT_TRUE(holds(memory, at, counting, 8));
		memset(memory, 0x5a, sizeof(memory));
		uroce_store_le32(memory + at, 0x01234567);
		CU_ASSERT_TRUE(holds(memory, at, reversed, 4));
	}
}

static void a_24_bit_store_takes_the_low_24_bits(void)
{
	static const uint8_t want[3] = {0x34, 0x56, 0x78};
	uint8_t memory[24];

	memset(memory, 0x5a, sizeof(memory));
	uroce_store_be24(memory + 5, 0x12345678);
	CU_ASSERT_TRUE(holds(memory, 5, want, 3));
}

int main(void)
{
	static const struct unit_case cases[] = {
		{"Big-endian loads take the first byte as the highest",
			big_endian_loads_take_the_first_byte_as_the_highest},
		{"High bits do not spread", high_bits_do_not_spread},
		{"The little-endian load takes the first byte as the lowest",
			the_little_endian_load_takes_the_first_byte_as_the_lowest},
		{"Loads agree at every alignment and read nothing beyond",
			loads_agree_at_every_alignment_and_read_nothing_beyond},
		{"Stores write exactly their bytes at every alignment",
			stores_write_exactly_their_bytes_at_every_alignment},
		{"A 24-bit store takes the low 24 bits", a_24_bit_store_takes_the_low_24_bits},
	};

	return run_suite("bytes", cases, sizeof(cases) / sizeof(cases[0]));
}
