/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reading and printing faults.
 */
#define _GNU_SOURCE
#include "pcap/fault.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/psn.h"

enum {
	WORD_BYTES = 96,
	FILE_BYTES_MAX = 1 << 20,
	BIT_DEFAULT = 400, /* behind the headers of IPv4, in the BTH's last bytes or the payload */
	DUPLICATE_NS = 1000,
};

/* Whether kinds have an argument, and what it is if it is not given; a delay has none. */
static const struct {
	const char *name;
	bool has_arg, is_time;
	uint64_t arg;
} kinds[] = {
	[UROCE_FAULT_DROP] = {"drop", false, false, 0},
	[UROCE_FAULT_DELAY] = {"delay", true, true, 0},
	[UROCE_FAULT_DUPLICATE] = {"duplicate", true, true, DUPLICATE_NS},
	[UROCE_FAULT_REORDER] = {"reorder", true, false, 1},
	[UROCE_FAULT_CORRUPT] = {"corrupt", true, false, BIT_DEFAULT},
	[UROCE_FAULT_CE] = {"ce", false, false, 0},
};

#define KINDS (sizeof(kinds) / sizeof(kinds[0]))

static const struct {
	const char *name;
	uint64_t ns;
} units[] = {{"ns", 1}, {"us", 1000}, {"ms", 1000000}, {"s", 1000000000}};

#define UNITS (sizeof(units) / sizeof(units[0]))

static bool read_number(const char **at, uint64_t *value, int base)
{
	char *end;

	if (!(**at >= '0' && **at <= '9'))
		return false;
	errno = 0;
	*value = strtoull(*at, &end, base);
	*at = end;
	return errno == 0;
}

static bool read_arg(const char **at, struct uroce_fault *fault)
{
	size_t n;

	fault->arg = kinds[fault->kind].arg;
	if (**at != ':')
		return fault->kind != UROCE_FAULT_DELAY;
	++*at;
	if (!kinds[fault->kind].has_arg || !read_number(at, &fault->arg, 10))
		return false;
	if (!kinds[fault->kind].is_time)
		return fault->arg <= UINT32_MAX;
	n = strcspn(*at, "@");
	for (size_t i = 0; i < UNITS; i++)
		if (strlen(units[i].name) == n && strncmp(*at, units[i].name, n) == 0) {
			*at += n;
			return !__builtin_mul_overflow(fault->arg, units[i].ns, &fault->arg);
		}
	return false;
}

static bool read_kind(const char **at, struct uroce_fault *fault)
{
	size_t n = strcspn(*at, ":@");

	for (size_t i = 0; i < KINDS; i++)
		if (strlen(kinds[i].name) == n && strncmp(*at, kinds[i].name, n) == 0) {
			fault->kind = (enum uroce_fault_kind)i;
			*at += n;
			return true;
		}
	return false;
}

static bool read_turn(const char **at, struct uroce_fault *fault, uint64_t least)
{
	uint64_t turn = 1;

	if (**at == '#') {
		++*at;
		if (!read_number(at, &turn, 10) || turn > UINT32_MAX)
			return false;
	}
	fault->turn = (uint32_t)turn;
	return turn >= least;
}

static bool read_place(const char **at, struct uroce_fault *fault)
{
	uint64_t who, psn;

	fault->by_qpn = strncmp(*at, "0x", 2) == 0;
	if (!read_number(at, &who, 0) || who > UROCE_PSN_MASK)
		return false;
	fault->connection = (uint32_t)who;
	if (fault->by_qpn)
		return **at == '#' && read_turn(at, fault, 0);
	if (who == 0 || **at != ':')
		return false;
	++*at;
	fault->relative = **at == '+';
	*at += fault->relative;
	if (!read_number(at, &psn, 10) || psn > UROCE_PSN_MASK)
		return false;
	fault->psn = (uint32_t)psn;
	if (!read_turn(at, fault, 1))
		return false;
	fault->answers = strcmp(*at, "/a") == 0;
	*at += fault->answers ? 2 : 0;
	return true;
}

static bool read_fault(const char *word, struct uroce_fault *fault)
{
	*fault = (struct uroce_fault){0};
	if (!read_kind(&word, fault) || !read_arg(&word, fault) || *word++ != '@')
		return false;
	return read_place(&word, fault) && *word == '\0';
}

static int append(struct uroce_faults *faults, const struct uroce_fault *fault)
{
	void *grown = realloc(faults->list, (faults->num + 1) * sizeof(*faults->list));

	if (!grown)
		return -ENOMEM;
	faults->list = grown;
	faults->list[faults->num++] = *fault;
	return 0;
}

static int refuse(const char *word, char *err, size_t err_bytes)
{
	snprintf(err, err_bytes,
		"\"%s\" is no fault; write KIND[:ARGUMENT]@CONNECTION:PSN[#TURN][/a], as in "
		"drop@1:+3, "
		"delay:5ms@1:102, corrupt:400@2:+0#2; kinds are drop, delay:TIME, duplicate, "
		"reorder:N, "
		"corrupt:BIT, ce",
		word);
	return -EINVAL;
}

int uroce_faults_parse(struct uroce_faults *faults, const char *text, char *err, size_t err_bytes)
{
	struct uroce_fault fault;
	char word[WORD_BYTES];
	int rc = 0;

	while (!rc && *(text += strspn(text, ", \t\r\n"))) {
		size_t n = strcspn(text, ", \t\r\n");

		if (*text == '#') {
			text += strcspn(text, "\n");
			continue;
		}
		snprintf(word, sizeof(word), "%.*s", (int)(n < WORD_BYTES ? n : WORD_BYTES), text);
		if (n >= sizeof(word) || !read_fault(word, &fault))
			return refuse(word, err, err_bytes);
		rc = append(faults, &fault);
		text += n;
	}
	if (rc)
		snprintf(err, err_bytes, "out of memory; free some and try again");
	return rc;
}

int uroce_faults_read(struct uroce_faults *faults, const char *path, char *err, size_t err_bytes)
{
	FILE *file = fopen(path, "re");
	char *text;
	size_t n;
	int rc;

	if (!file) {
		rc = -errno;
		snprintf(err, err_bytes, "%s: %s; check the path", path, strerror(errno));
		return rc;
	}
	text = calloc(1, FILE_BYTES_MAX + 1);
	n = text ? fread(text, 1, FILE_BYTES_MAX, file) : 0;
	fclose(file);
	if (!text) {
		snprintf(err, err_bytes, "out of memory; free some and try again");
		return -ENOMEM;
	}
	text[n] = '\0';
	rc = uroce_faults_parse(faults, text, err, err_bytes);
	free(text);
	return rc;
}

/* In the largest unit that is exact. */
static int print_time(uint64_t ns, char *text, size_t bytes)
{
	size_t unit = UNITS - 1;

	while (unit > 0 && ns % units[unit].ns)
		unit--;
	return snprintf(text, bytes, ":%" PRIu64 "%s", ns / units[unit].ns, units[unit].name);
}

int uroce_fault_print(const struct uroce_fault *fault, char *text, size_t bytes)
{
	char arg[32] = "";

	if (kinds[fault->kind].is_time)
		print_time(fault->arg, arg, sizeof(arg));
	else if (kinds[fault->kind].has_arg)
		snprintf(arg, sizeof(arg), ":%" PRIu64, fault->arg);
	if (fault->by_qpn)
		return snprintf(text, bytes, "%s%s@0x%x#%u", kinds[fault->kind].name, arg,
			fault->connection, fault->turn);
	return snprintf(text, bytes, "%s%s@%u:%s%u#%u%s", kinds[fault->kind].name, arg,
		fault->connection, fault->relative ? "+" : "", fault->psn, fault->turn,
		fault->answers ? "/a" : "");
}

const struct uroce_fault *uroce_faults_find(const struct uroce_faults *faults,
	const struct uroce_fault *before, uint32_t connection, uint32_t first_psn, bool answer,
	uint32_t psn, uint32_t turn)
{
	for (uint32_t i = before ? (uint32_t)(before - faults->list) + 1 : 0; i < faults->num;
		i++) {
		const struct uroce_fault *fault = &faults->list[i];
		uint32_t at = fault->relative ? uroce_psn_add(first_psn, fault->psn) : fault->psn;

		if (!fault->by_qpn && fault->connection == connection && fault->answers == answer &&
			at == psn && fault->turn == turn)
			return fault;
	}
	return NULL;
}

void uroce_faults_fini(struct uroce_faults *faults)
{
	free(faults->list);
	memset(faults, 0, sizeof(*faults));
}
