/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The pattern: a well-mixed function of (message, index of the word) gives each eight bytes, in the
 * byte order of the machine's words made explicit, since the two sides may be different machines.
 */
#include "pattern.h"

#include <endian.h>
#include <string.h>

static uint64_t mix(uint64_t x)
{
	x ^= x >> 32;
	x *= UINT64_C(0x9e3779b97f4a7c15);
	x ^= x >> 29;
	x *= UINT64_C(0xd6e8feb86659fd93);
	return x ^ x >> 32;
}

static uint64_t message_seed(const struct uroce_pattern *pattern)
{
	return mix(mix(pattern->number + 1) + 2 * (uint64_t)pattern->lane + pattern->from_server);
}

static uint64_t word(uint64_t seed, size_t index, uint64_t invert)
{
	return htole64(mix(seed + index) ^ invert);
}

static void fill(const struct uroce_pattern *pattern, uint8_t *bytes, size_t n, uint64_t invert)
{
	uint64_t seed = message_seed(pattern), value;
	size_t words = n / 8, rest = n % 8;

	for (size_t i = 0; i < words; i++) {
		value = word(seed, i, invert);
		memcpy(bytes + 8 * i, &value, 8);
	}
	value = word(seed, words, invert);
	memcpy(bytes + 8 * words, &value, rest);
	if (n > 0)
		bytes[n - 1] = (uint8_t)(uroce_pattern_last(pattern->number) ^ invert);
}

void uroce_pattern_fill(const struct uroce_pattern *pattern, uint8_t *bytes, size_t n)
{
	fill(pattern, bytes, n, 0);
}

void uroce_pattern_poison(const struct uroce_pattern *pattern, uint8_t *bytes, size_t n)
{
	fill(pattern, bytes, n, UINT64_MAX);
}

uint8_t uroce_pattern_byte(const struct uroce_pattern *pattern, size_t offset, size_t n)
{
	uint64_t value = word(message_seed(pattern), offset / 8, 0);
	uint8_t octets[8];

	memcpy(octets, &value, 8);
	return offset == n - 1 ? uroce_pattern_last(pattern->number) : octets[offset % 8];
}

size_t uroce_pattern_check(const struct uroce_pattern *pattern, const uint8_t *bytes, size_t n)
{
	uint64_t seed = message_seed(pattern), value;
	size_t at = 0;

	/* The last byte has a rule of its own: it is left to the byte by byte part. */
	for (; at + 8 < n; at += 8) {
		value = word(seed, at / 8, 0);
		if (memcmp(bytes + at, &value, 8) != 0)
			break;
	}
	for (; at < n; at++)
		if (bytes[at] != uroce_pattern_byte(pattern, at, n))
			break;
	return at;
}
