/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reading and writing of records. Ranges are checked here, so that what comes out makes sense by
 * itself; whether it fits the test is for whoever asked.
 */
#include "record.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool uroce_record_begin(struct uroce_record *record, const char *line, const char *word)
{
	size_t length = strlen(word);

	*record = (struct uroce_record){.at = line + length};
	return strncmp(line, word, length) == 0 && (line[length] == ' ' || line[length] == '\0');
}

/* Moves to the value of the next field. */
static bool enter(struct uroce_record *record, const char *name)
{
	size_t length = strlen(name);

	if (record->is_bad || record->at[0] != ' ' || strncmp(record->at + 1, name, length) != 0 ||
		record->at[1 + length] != '=') {
		record->is_bad = true;
		return false;
	}
	record->at += 1 + length + 1;
	return true;
}

uint64_t uroce_record_number(
	struct uroce_record *record, const char *name, uint64_t min, uint64_t max)
{
	uint64_t value;
	char *end;

	if (!enter(record, name))
		return min;
	errno = 0;
	value = strtoull(record->at, &end, 10);
	if (*record->at < '0' || *record->at > '9' || errno != 0 || value < min || value > max) {
		record->is_bad = true;
		return min;
	}
	record->at = end;
	return value;
}

static int digit(char c)
{
	static const char digits[] = "0123456789abcdef";
	const char *at = c ? strchr(digits, c) : NULL;

	return at ? (int)(at - digits) : -1;
}

void uroce_record_octets(struct uroce_record *record, const char *name, uint8_t *octets, size_t n)
{
	if (!enter(record, name))
		return;
	for (size_t i = 0; i < n; i++, record->at += 2) {
		int high = digit(record->at[0]), low = high < 0 ? -1 : digit(record->at[1]);

		if (low < 0) {
			record->is_bad = true;
			return;
		}
		octets[i] = (uint8_t)(high << 4 | low);
	}
}

bool uroce_record_end(const struct uroce_record *record)
{
	return !record->is_bad && *record->at == '\0';
}

static void hex(char *text, const uint8_t *octets, size_t n)
{
	for (size_t i = 0; i < n; i++)
		snprintf(text + 2 * i, 3, "%02x", octets[i]);
}

void uroce_record_write_peer(
	char line[UROCE_RECORD_BYTES], uint32_t index, const struct uroce_peer *peer)
{
	char gid[2 * sizeof(peer->gid) + 1], mac[2 * sizeof(peer->mac) + 1];

	hex(gid, peer->gid, sizeof(peer->gid));
	hex(mac, peer->mac, sizeof(peer->mac));
	snprintf(line, UROCE_RECORD_BYTES,
		"qp index=%" PRIu32 " qpn=%" PRIu32 " psn=%" PRIu32 " gid=%s mac=%s mtu=%" PRIu32,
		index, peer->qpn, peer->psn, gid, mac, peer->mtu_bytes);
}

bool uroce_record_read_peer(const char *line, uint32_t index, struct uroce_peer *peer)
{
	struct uroce_record record;

	memset(peer, 0, sizeof(*peer));
	if (!uroce_record_begin(&record, line, "qp"))
		return false;
	uroce_record_number(&record, "index", index, index);
	/* Numbers 0 and 1 are for management, the highest is multicast. */
	peer->qpn = (uint32_t)uroce_record_number(&record, "qpn", 2, 0xfffffe);
	peer->psn = (uint32_t)uroce_record_number(&record, "psn", 0, 0xffffff);
	uroce_record_octets(&record, "gid", peer->gid, sizeof(peer->gid));
	uroce_record_octets(&record, "mac", peer->mac, sizeof(peer->mac));
	peer->mtu_bytes = (uint32_t)uroce_record_number(&record, "mtu", 256, 4096);
	/* A group address is nobody's, and no MTU lies between the powers of two. */
	return uroce_record_end(&record) && !(peer->mac[0] & 1) &&
		(peer->mtu_bytes & (peer->mtu_bytes - 1)) == 0;
}
