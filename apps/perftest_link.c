/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Perftest's records.
 *
 * Its numbers are in network byte order where they are binary, doubles included; keys are text of
 * 108 bytes. It takes each record with one read and no second try, so each leaves here with one
 * write.
 */
#include "perftest_link.h"

#include <endian.h>
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "common.h"

enum {
	VERSION_BYTES = 16,
	CYCLE_BYTES = 4096,
	CYCLE_BYTES_MAX = 1 << 20,
	CACHE_LINE_BYTES = 64,
	MTU_BYTES = 2,
	KEY_BYTES = 108,
	GID_BYTES = 16,
	RECORD_BYTES_MAX = 128,
};

/* Of the exchange, not of the package; Debian 12's perftest 4.5 says this. */
#define VERSION	    "6.06"
#define VERSION_MIN 5.70
/* A client may measure for as long as it likes before it says so. */
#define PATIENCE_NS UINT64_C(60000000000)

/* ---- records ---- */

static int give(const struct uroce_perftest_link *link, const void *bytes, size_t n)
{
	/* It fits any socket's buffer: each record is answered before the next. */
	if (send(link->fd, bytes, n, MSG_NOSIGNAL) == (ssize_t)n)
		return 0;
	uroce_app_say("perftest on the other side went away (%s)", strerror(errno));
	return -1;
}

static int wait_a_turn(const struct uroce_perftest_link *link)
{
	uroce_endpoint_poll(link->endpoint);
	return link->tend ? link->tend(link->context) : 0;
}

static int take(const struct uroce_perftest_link *link, void *bytes, size_t n)
{
	uint64_t since_ns = uroce_app_clock_ns();
	size_t have = 0;

	while (have < n) {
		ssize_t got = recv(link->fd, (char *)bytes + have, n - have, 0);

		if (got > 0) {
			have += (size_t)got;
			continue;
		}
		if (got == 0 || (errno != EAGAIN && errno != EINTR)) {
			uroce_app_say("perftest on the other side ended before the test was over; "
				      "what it printed says why");
			return -1;
		}
		if (wait_a_turn(link))
			return -1;
		if (link->is_client && uroce_app_clock_ns() - since_ns > PATIENCE_NS) {
			uroce_app_say("the other side did not answer over TCP for a minute: is it "
				      "perftest, and the same test (%zu of %zu bytes came)?",
				have, n);
			return -1;
		}
	}
	return 0;
}

static int swap(const struct uroce_perftest_link *link, const void *mine, void *theirs, size_t n)
{
	if (link->is_client)
		return give(link, mine, n) || take(link, theirs, n) ? -1 : 0;
	return take(link, theirs, n) || give(link, mine, n) ? -1 : 0;
}

static int swap_u32(const struct uroce_perftest_link *link, uint32_t mine, uint32_t *theirs)
{
	uint32_t out = htobe32(mine), in = 0;
	int err = swap(link, &out, &in, sizeof(out));

	*theirs = be32toh(in);
	return err;
}

static int swap_u64(const struct uroce_perftest_link *link, uint64_t *number)
{
	uint64_t out = htobe64(*number), in = 0;
	int err = swap(link, &out, &in, sizeof(out));

	*number = be64toh(in);
	return err;
}

static int swap_double(const struct uroce_perftest_link *link, double *number)
{
	uint64_t bits;
	int err;

	memcpy(&bits, number, sizeof(bits));
	err = swap_u64(link, &bits);
	memcpy(number, &bits, sizeof(bits));
	return err;
}

/* ---- the greeting ---- */

static int swap_versions(const struct uroce_perftest_link *link)
{
	char mine[VERSION_BYTES] = VERSION, theirs[VERSION_BYTES + 1] = "";

	if (swap(link, mine, theirs, VERSION_BYTES))
		return -1;
	if (strtod(theirs, NULL) >= VERSION_MIN)
		return 0;
	uroce_app_say("the other side's perftest exchange is \"%s\"; this one needs 5.70 or later",
		theirs);
	return -1;
}

/* Path MTUs travel as the digit of the standard's code: 1 is 256 bytes, 5 is 4096. */
static int swap_mtu(struct uroce_perftest_link *link)
{
	char mine[MTU_BYTES] = "1", theirs[MTU_BYTES + 1] = "";
	uint32_t own = link->endpoint->attr.active_mtu_bytes, their_bytes;

	for (uint32_t bytes = 256; bytes < own; bytes *= 2)
		mine[0]++;
	if (swap(link, mine, theirs, MTU_BYTES))
		return -1;
	if (theirs[0] < '1' || theirs[0] > '5') {
		uroce_app_say("the other side named a path MTU that there is not");
		return -1;
	}
	their_bytes = UINT32_C(256) << (theirs[0] - '1');
	link->mtu_bytes = their_bytes < own ? their_bytes : own;
	return 0;
}

int uroce_perftest_greet(struct uroce_perftest_link *link)
{
	uint32_t cycle_bytes, line_bytes;

	if (swap_versions(link) || swap_u32(link, CYCLE_BYTES, &cycle_bytes) ||
		swap_u32(link, CACHE_LINE_BYTES, &line_bytes))
		return -1;
	if (cycle_bytes > CYCLE_BYTES_MAX || line_bytes > CYCLE_BYTES_MAX) {
		uroce_app_say("the other side does not greet like perftest");
		return -1;
	}
	link->cycle_bytes = cycle_bytes > CYCLE_BYTES ? cycle_bytes : CYCLE_BYTES;
	return swap_mtu(link);
}

/* ---- keys ---- */

static void write_key(char text[RECORD_BYTES_MAX], const struct uroce_perftest_key *key)
{
	/* The first field is an InfiniBand LID; the last belongs to shared receive queues. */
	int at = snprintf(text, RECORD_BYTES_MAX,
		"0000:%04" PRIx32 ":%06" PRIx32 ":%06" PRIx32 ":%08" PRIx32 ":%016" PRIx64,
		key->out_reads, key->qpn, key->psn, key->rkey, key->addr);

	for (int i = 0; i < GID_BYTES; i++)
		at += snprintf(text + at, (size_t)(RECORD_BYTES_MAX - at), ":%02x", key->gid[i]);
	snprintf(text + at, (size_t)(RECORD_BYTES_MAX - at), ":00000000:");
}

/* The next hexadecimal field, which ends in a colon. */
static uint64_t read_field(const char **at, uint64_t max, bool *is_bad)
{
	char *end;
	uint64_t value;

	errno = 0;
	value = strtoull(*at, &end, 16);
	if (end == *at || *end != ':' || errno || value > max)
		*is_bad = true;
	else
		*at = end + 1;
	return value;
}

static bool read_key(const char *text, struct uroce_perftest_key *key)
{
	bool is_bad = false;

	read_field(&text, UINT32_MAX, &is_bad);
	key->out_reads = (uint32_t)read_field(&text, UINT32_MAX, &is_bad);
	key->qpn = (uint32_t)read_field(&text, 0xffffff, &is_bad);
	key->psn = (uint32_t)read_field(&text, 0xffffff, &is_bad);
	key->rkey = (uint32_t)read_field(&text, UINT32_MAX, &is_bad);
	key->addr = read_field(&text, UINT64_MAX, &is_bad);
	for (int i = 0; i < GID_BYTES; i++)
		key->gid[i] = (uint8_t)read_field(&text, UINT8_MAX, &is_bad);
	read_field(&text, UINT32_MAX, &is_bad);
	return !is_bad;
}

int uroce_perftest_swap_keys(struct uroce_perftest_link *link,
	const struct uroce_perftest_key *mine, struct uroce_perftest_key *theirs)
{
	char out[RECORD_BYTES_MAX] = "", in[KEY_BYTES + 1] = "";

	write_key(out, mine);
	if (swap(link, out, in, KEY_BYTES))
		return -1;
	if (read_key(in, theirs))
		return 0;
	uroce_app_say("the other side said \"%.40s...\" where a queue pair was expected: give both "
		      "the same test, and no options that change its course (-a, -b, -R, -d ...)",
		in);
	return -1;
}

/* ---- the end ---- */

int uroce_perftest_swap_reports(
	struct uroce_perftest_link *link, struct uroce_perftest_report *report)
{
	double peak = report->mib_per_second;

	return swap_u64(link, &report->size_bytes) || swap_u64(link, &report->iterations) ||
			swap_double(link, &peak) || swap_double(link, &report->mib_per_second) ||
			swap_double(link, &report->mmsg_per_second)
		? -1
		: 0;
}

int uroce_perftest_part(struct uroce_perftest_link *link, const struct uroce_perftest_key *mine)
{
	static const char done[] = "done";
	struct uroce_perftest_key theirs;

	return uroce_perftest_swap_keys(link, mine, &theirs) || give(link, done, sizeof(done)) ? -1
											       : 0;
}

bool uroce_perftest_heard(const struct uroce_perftest_link *link)
{
	struct pollfd poller = {.fd = link->fd, .events = POLLIN};

	return poll(&poller, 1, 0) > 0;
}
