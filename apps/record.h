/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Records: what the two sides of a test tell each other, a line of text each: a word that names the
 * record, then its fields in a fixed order, " name=value". Numbers are decimal, octets hexadecimal.
 * Whatever is not exactly that is refused: the peer is another program on another machine.
 *
 *	qp index=0 qpn=17 psn=4711 gid=00000000000000000000ffffc0000201 mac=020000000001 mtu=4096
 */
#ifndef UROCE_APP_RECORD_H
#define UROCE_APP_RECORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "uroce.h"

/* A record being read. Errors stick: check once, at the end. */
struct uroce_record {
	const char *at;
	bool is_bad;
};

/* Whether the line is such a record; then its fields can be taken. */
bool uroce_record_begin(struct uroce_record *record, const char *line, const char *word);
/* The next field, which has to have this name and a value from min to max. */
uint64_t uroce_record_number(
	struct uroce_record *record, const char *name, uint64_t min, uint64_t max);
void uroce_record_octets(struct uroce_record *record, const char *name, uint8_t *octets, size_t n);
/* Whether all that was asked for was there, and nothing else. */
bool uroce_record_end(const struct uroce_record *record);

enum {
	UROCE_RECORD_BYTES = 256
};

/* The record of queue pair `index`, and back; false: it is not one that makes sense. */
void uroce_record_write_peer(
	char line[UROCE_RECORD_BYTES], uint32_t index, const struct uroce_peer *peer);
bool uroce_record_read_peer(const char *line, uint32_t index, struct uroce_peer *peer);

#endif
