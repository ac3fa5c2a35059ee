/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a fuzz target and its runner agree on: the input, and taking bytes from it.
 *
 * An input is a small program; a target reads it from the front, and past the end it reads zeros.
 * Built with clang and -Dfuzz=true a target is driven by libFuzzer; else main.c runs it over the
 * files of a corpus, once each, which every test run does.
 */
#ifndef UROCE_FUZZ_INPUT_H
#define UROCE_FUZZ_INPUT_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

/* What must be true whatever the input says. */
#define FUZZ_MUST(cond) \
	do { \
		if (!(cond)) { \
			fprintf(stderr, "%s:%d: not true: %s\n", __FILE__, __LINE__, #cond); \
			abort(); \
		} \
	} while (0)

struct input {
	const uint8_t *at;
	size_t left;
};

/* The next 0 to 4 bytes as a number. */
static inline uint32_t take(struct input *in, uint32_t bytes)
{
	uint32_t value = 0;

	for (; bytes > 0; bytes--) {
		value <<= 8;
		if (in->left == 0)
			continue;
		value |= *in->at++;
		in->left--;
	}
	return value;
}

static inline uint64_t take_u64(struct input *in)
{
	uint64_t high = take(in, 4);

	return high << 32 | take(in, 4);
}

static inline void take_bytes(struct input *in, uint8_t *to, uint32_t bytes)
{
	size_t there = bytes < in->left ? bytes : in->left;

	memcpy(to, in->at, there);
	memset(to + there, 0, bytes - there);
	in->at += there;
	in->left -= there;
}

#endif
