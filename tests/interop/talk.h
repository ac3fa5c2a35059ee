/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What commands of the test run's are made of (talk.c has the language), for a peer that adds some
 * of its own.
 */
#ifndef INTEROP_TALK_H
#define INTEROP_TALK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct args;

/* The value of a name, "0" or 0 without one. */
const char *args_text(const struct args *args, const char *name);
uint64_t args_number(const struct args *args, const char *name);
uint32_t args_u32(const struct args *args, const char *name);
/* Bytes written as hexadecimal digits, at most `most`; how many. */
size_t args_bytes(const struct args *args, const char *name, uint8_t *bytes, size_t most);

/* `bytes` places of the memory from the argument "at" on, or NULL. */
uint8_t *args_range(const struct args *args, uint64_t bytes);

struct command {
	const char *name;
	/* Prints its answer and returns 1, or returns 0 for a bare "ok", or a negative errno. */
	int (*run)(const struct args *args);
	bool wants_qp;
};

/* Carries out the lines of standard input until it ends, with commands of talk.c and `more`, whose
 * end is a row without a name. NULL: no more. */
int peer_talk(const struct command *more);

void print_bytes(const uint8_t *bytes, size_t n);
uint64_t now_ms(void);

#endif
