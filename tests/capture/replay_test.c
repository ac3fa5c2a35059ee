/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Every capture replayed in both roles, with the verdict that was checked by hand, and the reasons
 * of what cannot be; and planted faults in the recorded packets, each of which must be seen.
 *
 * host-raw-responder's responder is a script that leaves packets out and refuses at will, so the
 * engine as responder must differ from it; host-raw-peer's requester is one, so it is no
 * requester's to replay.
 */
#define _POSIX_C_SOURCE 200809L
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cunit_run.h"
#include "pcap/frame.h"
#include "pcap/reader.h"
#include "pcap/replay.h"
#include "pcap/writer.h"

enum {
	VERDICTS = UROCE_REPLAY_SKIPPED + 1,
	REASONS_MAX = 3
};

/* Exchanges by verdict: agrees, departs, differs, skipped; and every reason to skip. */
struct expected {
	const char *name;
	uint32_t responder[VERDICTS];
	uint32_t requester[VERDICTS];
	const char *reasons[REASONS_MAX];
};

/* Connection management's own, which the engine does not have. */
#define QP_1	    "queue pairs 0 and 1 are not for users"
#define NOT_WHOLE   "the capture has its packets cut short or without an ICRC"
#define NO_ANSWER   "nothing was answered, so there is nothing to compare"
#define GAP	    "its PSNs have a gap that no requester leaves"
#define ODD_PACKETS "its packets are not what a requester sends"
#define ODD_LENGTHS "its lengths are not what a requester sends"
#define ODD_REPEATS "it asks again for what was answered, as no requester does"

// clang-format off
static const struct expected expected[] = {
	{"cm-cmtime", {0, 0, 0, 2}, {0, 0, 0, 2}, {QP_1}},
	{"cm-mckey", {1, 0, 0, 0}, {1, 0, 0, 0}, {NULL}},
	{"cm-rdma-client", {2, 0, 0, 2}, {2, 0, 0, 2}, {QP_1}},
	{"cm-reject", {0, 0, 0, 2}, {0, 0, 0, 2}, {QP_1}},
	{"cm-rping", {2, 0, 0, 2}, {2, 0, 0, 2}, {QP_1}},
	{"cm-ucmatose", {4, 0, 0, 2}, {4, 0, 0, 2}, {QP_1}},
	{"cm-udaddy", {2, 0, 0, 2}, {2, 0, 0, 2}, {QP_1}},
	{"corrupt-icrc", {1, 0, 0, 0}, {1, 0, 0, 0}, {NULL}},
	{"dup-requests", {1, 0, 0, 0}, {1, 0, 0, 0}, {NULL}},
	{"ecn-ce", {1, 0, 0, 0}, {1, 0, 0, 0}, {NULL}},
	{"host-raw-peer", {8, 4, 0, 0}, {4, 0, 0, 8},
		{ODD_PACKETS, ODD_LENGTHS, ODD_REPEATS}},
	{"host-raw-responder", {9, 0, 6, 0}, {15, 0, 0, 0}, {NULL}},
	{"ipv6-cm-rping", {2, 0, 0, 2}, {2, 0, 0, 2}, {QP_1}},
	{"ipv6-ll-rc-all-ops", {0, 1, 0, 0}, {1, 0, 0, 0}, {NULL}},
	{"ipv6-rc-all-ops", {0, 1, 0, 0}, {1, 0, 0, 0}, {NULL}},
	{"ipv6-rc-pingpong-4k", {2, 0, 0, 0}, {2, 0, 0, 0}, {NULL}},
	{"ipv6-rc-read-bw-4k", {1, 0, 0, 0}, {1, 0, 0, 0}, {NULL}},
	{"ipv6-ud-pingpong-1k", {2, 0, 0, 0}, {2, 0, 0, 0}, {NULL}},
	{"loss-ack", {1, 0, 0, 0}, {1, 0, 0, 0}, {NULL}},
	{"loss-all-acks-inflight", {1, 0, 0, 0}, {1, 0, 0, 0}, {NULL}},
	{"loss-atomic-ack", {1, 0, 0, 0}, {1, 0, 0, 0}, {NULL}},
	{"loss-atomic-request", {1, 0, 0, 0}, {1, 0, 0, 0}, {NULL}},
	{"loss-read-request", {1, 0, 0, 0}, {1, 0, 0, 0}, {NULL}},
	{"loss-read-response-first", {1, 0, 0, 0}, {1, 0, 0, 0}, {NULL}},
	{"loss-read-response-last", {0, 1, 0, 0}, {1, 0, 0, 0}, {NULL}},
	{"loss-retry-exhausted", {0, 0, 0, 1}, {1, 0, 0, 0}, {NO_ANSWER}},
	{"loss-send-last", {1, 0, 0, 0}, {1, 0, 0, 0}, {NULL}},
	{"loss-send-middle", {1, 0, 0, 0}, {1, 0, 0, 0}, {NULL}},
	{"loss-send-only", {1, 0, 0, 0}, {1, 0, 0, 0}, {NULL}},
	{"loss-uc-middle", {1, 0, 0, 0}, {1, 0, 0, 0}, {NULL}},
	{"loss-write-middle", {1, 0, 0, 0}, {1, 0, 0, 0}, {NULL}},
	{"nak-abadkey", {1, 0, 0, 0}, {1, 0, 0, 0}, {NULL}},
	{"nak-rbadkey-64", {1, 0, 0, 0}, {1, 0, 0, 0}, {NULL}},
	{"nak-rrange-64", {1, 0, 0, 0}, {1, 0, 0, 0}, {NULL}},
	{"nak-toolong", {0, 1, 0, 0}, {1, 0, 0, 0}, {NULL}},
	{"nak-wbadkey-5000", {1, 0, 0, 0}, {1, 0, 0, 0}, {NULL}},
	{"nak-wbadkey-64", {1, 0, 0, 0}, {1, 0, 0, 0}, {NULL}},
	{"netem-rc-pingpong", {2, 0, 0, 0}, {0, 0, 0, 2}, {GAP}},
	{"rc-all-ops-inflight", {1, 0, 0, 0}, {1, 0, 0, 0}, {NULL}},
	{"rc-all-ops", {0, 1, 0, 0}, {1, 0, 0, 0}, {NULL}},
	{"rc-cmp-swap", {1, 0, 0, 0}, {1, 0, 0, 0}, {NULL}},
	{"rc-fetch-add", {1, 0, 0, 0}, {1, 0, 0, 0}, {NULL}},
	{"rc-mtu512", {1, 0, 0, 0}, {1, 0, 0, 0}, {NULL}},
	{"rc-pingpong-16k", {2, 0, 0, 0}, {2, 0, 0, 0}, {NULL}},
	{"rc-pingpong-64", {2, 0, 0, 0}, {2, 0, 0, 0}, {NULL}},
	{"rc-psn-wrap", {1, 0, 0, 0}, {1, 0, 0, 0}, {NULL}},
	{"rc-read-bw-8k", {1, 0, 0, 0}, {1, 0, 0, 0}, {NULL}},
	{"rc-read-lat-64", {1, 0, 0, 0}, {1, 0, 0, 0}, {NULL}},
	{"rc-send-bidir-2k", {2, 0, 0, 0}, {2, 0, 0, 0}, {NULL}},
	{"rc-send-bw-4k", {1, 0, 0, 0}, {1, 0, 0, 0}, {NULL}},
	{"rc-send-bw-mtu256", {1, 0, 0, 0}, {1, 0, 0, 0}, {NULL}},
	{"rc-send-bw-mtu4096", {1, 0, 0, 0}, {1, 0, 0, 0}, {NULL}},
	{"rc-send-lat-2", {2, 0, 0, 0}, {2, 0, 0, 0}, {NULL}},
	{"rc-sendinv-long", {0, 1, 0, 0}, {1, 0, 0, 0}, {NULL}},
	{"rc-sendinv", {0, 1, 0, 0}, {1, 0, 0, 0}, {NULL}},
	{"rc-write-bw-16k", {1, 0, 0, 0}, {1, 0, 0, 0}, {NULL}},
	{"rc-write-bw-2qp", {2, 0, 0, 0}, {2, 0, 0, 0}, {NULL}},
	{"rc-write-imm", {1, 0, 0, 0}, {1, 0, 0, 0}, {NULL}},
	{"rc-write-lat-8", {2, 0, 0, 0}, {2, 0, 0, 0}, {NULL}},
	{"rc-zero-length", {1, 0, 0, 0}, {1, 0, 0, 0}, {NULL}},
	{"reorder-read-response", {0, 1, 0, 0}, {1, 0, 0, 0}, {NULL}},
	{"rnr-nak", {1, 0, 0, 0}, {1, 0, 0, 0}, {NULL}},
	{"srq-pingpong-4k", {8, 0, 0, 0}, {8, 0, 0, 0}, {NULL}},
	{"uc-all-ops", {1, 0, 0, 0}, {1, 0, 0, 0}, {NULL}},
	{"uc-pingpong-4k", {2, 0, 0, 0}, {2, 0, 0, 0}, {NULL}},
	{"uc-send-bw-4k", {1, 0, 0, 0}, {1, 0, 0, 0}, {NULL}},
	{"ud-pingpong-1k", {2, 0, 0, 0}, {2, 0, 0, 0}, {NULL}},
	{"ud-send-bw-1k", {1, 0, 0, 0}, {1, 0, 0, 0}, {NULL}},
};

static const struct expected expected_public[] = {
	{"huawei-nic-rc-send-imm.pcap", {2, 0, 0, 0}, {2, 0, 0, 0}, {NULL}},
	{"rxe-cm-write-read-a.pcap", {1, 0, 0, 2}, {1, 0, 0, 2}, {QP_1}},
	{"derived-ce-marked-routed.pcap", {3, 0, 0, 2}, {3, 0, 0, 2}, {QP_1}},
	{"derived-vlan100-pcp3.pcap", {3, 0, 0, 2}, {3, 0, 0, 2}, {QP_1}},
	{"derived-qinq.pcap", {0, 0, 0, 0}, {0, 0, 0, 0}, {NULL}},
	{"derived-nanosecond-magic.pcap", {3, 0, 0, 2}, {3, 0, 0, 2}, {QP_1}},
	{"derived-pcapng.pcapng", {3, 0, 0, 2}, {3, 0, 0, 2}, {QP_1}},
	{"derived-snaplen-96.pcap", {0, 0, 0, 5}, {0, 0, 0, 5}, {NOT_WHOLE}},
	{"derived-icrc-zero.pcap", {0, 0, 0, 5}, {0, 0, 0, 5}, {NOT_WHOLE}},
};
// clang-format on

static void open_capture(
	const char *folder, const char *name, const char *suffix, struct uroce_exchanges *all)
{
	char path[512], err[512];

	snprintf(path, sizeof(path), "%s/%s%s", folder, name, suffix);
	if (uroce_exchanges_init(all, path, err, sizeof(err)) != 0) {
		printf("%s\n", err);
		CU_FAIL_FATAL("a capture cannot be read");
	}
}

static bool is_expected(const struct expected *e, const char *reason)
{
	for (int i = 0; i < REASONS_MAX && e->reasons[i]; i++)
		if (strcmp(e->reasons[i], reason) == 0)
			return true;
	printf("%s: an exchange is skipped: %s\n", e->name, reason);
	return false;
}

static void count(
	const struct uroce_exchanges *all, enum uroce_replay_role role, const struct expected *e)
{
	const uint32_t *want = role == UROCE_REPLAY_RESPONDER ? e->responder : e->requester;
	struct uroce_replay_result result;
	uint32_t got[VERDICTS] = {0};

	for (uint32_t i = 0; i < all->num; i++) {
		CU_ASSERT_EQUAL(uroce_replay_run(&all->list[i], role, NULL, &result), 0);
		got[result.verdict]++;
		CU_ASSERT_TRUE(!result.skipped || is_expected(e, result.skipped));
		if (result.comparison.difference[0] && want[UROCE_REPLAY_DIFFERS] == 0)
			printf("%s, role %d: %s\n", e->name, role, result.comparison.difference);
	}
	for (int v = 0; v < VERDICTS; v++) {
		if (got[v] != want[v])
			printf("%s, role %d: %u exchanges %s, expected %u\n", e->name, role, got[v],
				uroce_replay_verdict_name((enum uroce_replay_verdict)v), want[v]);
		CU_ASSERT_EQUAL(got[v], want[v]);
	}
}

static void check_all(const char *folder, const char *suffix, const struct expected *list, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		struct uroce_exchanges all;

		open_capture(folder, list[i].name, suffix, &all);
		count(&all, UROCE_REPLAY_RESPONDER, &list[i]);
		count(&all, UROCE_REPLAY_REQUESTER, &list[i]);
		uroce_exchanges_fini(&all);
	}
}

static const char *captures(void)
{
	const char *folder = getenv("UROCE_CAPTURES");

	CU_ASSERT_PTR_NOT_NULL_FATAL(folder);
	return folder;
}

static void every_capture_replays_with_its_verdict(void)
{
	check_all(captures(), ".pcap", expected, sizeof(expected) / sizeof(expected[0]));
}

static bool has_row(const char *file)
{
	for (size_t i = 0; i < sizeof(expected) / sizeof(expected[0]); i++) {
		size_t bytes = strlen(expected[i].name);

		if (strncmp(file, expected[i].name, bytes) == 0 &&
			strcmp(file + bytes, ".pcap") == 0)
			return true;
	}
	return false;
}

static void every_capture_has_a_row(void)
{
	DIR *folder = opendir(captures());
	struct dirent *entry;

	CU_ASSERT_PTR_NOT_NULL_FATAL(folder);
	while ((entry = readdir(folder))) {
		if (!strstr(entry->d_name, ".pcap") || has_row(entry->d_name))
			continue;
		printf("%s has no row\n", entry->d_name);
		CU_FAIL("a capture is not replayed");
	}
	closedir(folder);
}

static void public_captures_replay_with_their_verdict(void)
{
	const char *folder = getenv("UROCE_PUBLIC_CAPTURES");

	if (!folder)
		SKIP("UROCE_PUBLIC_CAPTURES is not set");
	check_all(
		folder, "", expected_public, sizeof(expected_public) / sizeof(expected_public[0]));
}

/* ---- planted faults ---- */

/* The n-th answer, or request, of an exchange. */
static struct uroce_exchange_frame *nth(const struct uroce_exchange *e, bool request, uint32_t n)
{
	for (uint32_t i = 0; i < e->num_frames; i++)
		if (e->frames[i]->request == request && n-- == 0)
			return e->frames[i];
	CU_FAIL_FATAL("the capture has no such frame");
	return NULL;
}

/* A byte of a frame, and what is flipped in it. */
struct fault {
	enum {
		IN_ETHERNET,
		IN_IP,
		IN_UDP,
		IN_BTH,
		BEHIND_BTH
	} part;
	uint32_t at; /* in its part */
	uint8_t flip;
};

static uint32_t place_of(const struct uroce_exchange_frame *f, const struct fault *fault)
{
	const uint32_t ip_bytes = uroce_frame_ip_bytes(f->data);
	const uint32_t bytes[] = {UROCE_ETH_BYTES, ip_bytes, UROCE_UDP_BYTES, UROCE_BTH_BYTES};
	uint32_t at = fault->at;

	for (int part = 0; part < (int)fault->part; part++)
		at += bytes[part];
	return at;
}

/* Alters a byte of a recorded frame as a peer would have that meant it: with a right ICRC. */
static void plant(struct uroce_exchange_frame *f, struct fault fault)
{
	f->data[place_of(f, &fault)] ^= fault.flip;
	uroce_frame_seal(f->data);
	uroce_text_decode(f->data, f->bytes, f->bytes, &f->text);
}

/* The verdict on a capture with a fault in the n-th answer, or request, of its first exchange. */
static enum uroce_replay_verdict verdict_with(
	const char *name, enum uroce_replay_role role, bool request, uint32_t n, struct fault fault)
{
	struct uroce_replay_result result;
	struct uroce_exchanges all;

	open_capture(captures(), name, ".pcap", &all);
	plant(nth(&all.list[0], request, n), fault);
	CU_ASSERT_EQUAL(uroce_replay_run(&all.list[0], role, NULL, &result), 0);
	CU_ASSERT_EQUAL(
		result.verdict == UROCE_REPLAY_DIFFERS, result.comparison.difference[0] != 0);
	uroce_exchanges_fini(&all);
	return result.verdict;
}

/* Each fault alone, in the first acknowledgement. */
static void first_answer_gives(
	const char *name, enum uroce_replay_verdict verdict, const struct fault *faults, size_t num)
{
	for (size_t i = 0; i < num; i++) {
		enum uroce_replay_verdict got =
			verdict_with(name, UROCE_REPLAY_RESPONDER, false, 0, faults[i]);

		if (got != verdict)
			printf("%s, fault %zu: %s\n", name, i, uroce_replay_verdict_name(got));
		CU_ASSERT_EQUAL(got, verdict);
	}
}

#define FIRST_ANSWER_GIVES(name, verdict, faults) \
	first_answer_gives(name, verdict, faults, sizeof(faults) / sizeof(faults[0]))

/* rc-psn-wrap has every kind of packet. */
static const char *const over_ipv4 = "rc-psn-wrap";
static const char *const over_ipv6 = "ipv6-rc-pingpong-4k";

static void a_wrong_field_of_an_answer_is_seen(void)
{
	static const struct fault any[] = {
		{IN_ETHERNET, 3, 1},
		{IN_UDP, UROCE_UDP_CHECKSUM, 1},
		{IN_BTH, UROCE_BTH_PSN + 2, 0x40},
		{IN_BTH, UROCE_BTH_PKEY, 0x10},
		{IN_BTH, UROCE_BTH_DQPN + 2, 1},
		/* MSN; a syndrome that is bad news */
		{BEHIND_BTH, 3, 1},
		{BEHIND_BTH, 0, 0x7d},
	};
	static const struct fault ipv4[] = {
		{IN_IP, UROCE_IPV4_SRC + 3, 1},
		{IN_IP, UROCE_IPV4_DST + 3, 1},
	};
	static const struct fault ipv6[] = {
		{IN_IP, UROCE_IPV6_NEXT_HEADER, 1},
		{IN_IP, UROCE_IPV6_SRC, 1},
		{IN_IP, UROCE_IPV6_SRC + 15, 1},
		{IN_IP, UROCE_IPV6_DST, 1},
		{IN_IP, UROCE_IPV6_DST + 15, 1},
	};

	FIRST_ANSWER_GIVES(over_ipv4, UROCE_REPLAY_DIFFERS, any);
	FIRST_ANSWER_GIVES(over_ipv4, UROCE_REPLAY_DIFFERS, ipv4);
	FIRST_ANSWER_GIVES(over_ipv6, UROCE_REPLAY_DIFFERS, any);
	FIRST_ANSWER_GIVES(over_ipv6, UROCE_REPLAY_DIFFERS, ipv6);
}

static void what_is_masked_is_really_free(void)
{
	/* Nobody may rely on the source port, MigReq, or credits. */
	static const struct fault any[] = {
		{IN_UDP, UROCE_UDP_SPORT, 0x01},
		{IN_BTH, UROCE_BTH_FLAGS, UROCE_BTH_MIGREQ},
		{BEHIND_BTH, 0, 0x10},
	};
	static const struct fault ipv4[] = {
		{IN_IP, UROCE_IPV4_ID, 0xff},
		{IN_IP, UROCE_IPV4_TTL, 0x01},
		{IN_IP, UROCE_IPV4_TOS, 0x02},
	};
	/* Traffic class, both halves; flow label, all of it; hop limit. */
	static const struct fault ipv6[] = {
		{IN_IP, UROCE_IPV6_VERSION, 0x0f},
		{IN_IP, UROCE_IPV6_VERSION + 1, 0xff},
		{IN_IP, UROCE_IPV6_VERSION + 2, 0xff},
		{IN_IP, UROCE_IPV6_VERSION + 3, 0xff},
		{IN_IP, UROCE_IPV6_HOP_LIMIT, 0x01},
	};

	FIRST_ANSWER_GIVES(over_ipv4, UROCE_REPLAY_AGREES, any);
	FIRST_ANSWER_GIVES(over_ipv4, UROCE_REPLAY_AGREES, ipv4);
	FIRST_ANSWER_GIVES(over_ipv6, UROCE_REPLAY_AGREES, any);
	FIRST_ANSWER_GIVES(over_ipv6, UROCE_REPLAY_AGREES, ipv6);
}

/* The rebuilt request is what the altered packet says, except for what a requester derives. */
static void wrong_request_is_seen(const char *name, uint32_t n, struct fault fault)
{
	CU_ASSERT_EQUAL(
		verdict_with(name, UROCE_REPLAY_REQUESTER, true, n, fault), UROCE_REPLAY_DIFFERS);
}

static void a_wrong_byte_of_a_request_is_seen(void)
{
	static const char *const names[] = {
		"rc-psn-wrap",
		"uc-send-bw-4k",
		"ud-send-bw-1k",
		"ipv6-rc-pingpong-4k",
		"ipv6-ud-pingpong-1k",
		"cm-mckey",
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		wrong_request_is_seen(names[i], 0, (struct fault){IN_BTH, UROCE_BTH_PKEY, 0x10});
		wrong_request_is_seen(names[i], 1, (struct fault){IN_ETHERNET, 3, 1});
	}
	/* The sender's own number is the queue pair's. */
	wrong_request_is_seen("ud-send-bw-1k", 1, (struct fault){BEHIND_BTH, 7, 1});
	wrong_request_is_seen("ipv6-ud-pingpong-1k", 1, (struct fault){BEHIND_BTH, 7, 1});
	wrong_request_is_seen(
		"ipv6-ud-pingpong-1k", 1, (struct fault){IN_IP, UROCE_IPV6_DST + 15, 1});
}

/* The first read response, or atomic acknowledgement, in a capture. */
static void payload_byte_is_seen(const char *name, uint8_t opcode, uint32_t at)
{
	struct uroce_replay_result result;
	struct uroce_exchanges all;
	struct uroce_exchange *e;

	open_capture(captures(), name, ".pcap", &all);
	e = &all.list[0];
	for (uint32_t i = 0, seen = 0; i < e->num_frames; i++)
		/* The second one: what it reads was written by what came before. */
		if (e->frames[i]->text.opcode == opcode && seen++ == 1)
			plant(e->frames[i], (struct fault){BEHIND_BTH, at, 0x04});
	CU_ASSERT_EQUAL(uroce_replay_run(e, UROCE_REPLAY_RESPONDER, NULL, &result), 0);
	CU_ASSERT_EQUAL(result.verdict, UROCE_REPLAY_DIFFERS);
	uroce_exchanges_fini(&all);
}

static void a_wrong_value_of_an_atomic_is_seen(void)
{
	payload_byte_is_seen("loss-atomic-ack", 0x12, UROCE_AETH_BYTES + 7);
	payload_byte_is_seen("ipv6-rc-all-ops", 0x12, UROCE_AETH_BYTES + 7);
}

/* Takes a frame out of an exchange. */
static void take_out(struct uroce_exchange *e, const struct uroce_exchange_frame *f)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < e->num_frames; i++)
		if (e->frames[i] != f)
			e->frames[kept++] = e->frames[i];
	e->num_frames = kept;
}

/* Without the n-th answer, or request, of its first exchange a capture differs. */
static void absence_is_seen(const char *name, bool request, uint32_t n)
{
	struct uroce_replay_result result;
	struct uroce_exchanges all;
	struct uroce_exchange *e;

	open_capture(captures(), name, ".pcap", &all);
	e = &all.list[0];
	take_out(e, nth(e, request, n));
	CU_ASSERT_EQUAL(uroce_replay_run(e, UROCE_REPLAY_RESPONDER, NULL, &result), 0);
	CU_ASSERT_EQUAL(result.verdict, UROCE_REPLAY_DIFFERS);
	uroce_exchanges_fini(&all);
}

static void a_missing_or_unexpected_answer_is_seen(void)
{
	/* A read response that the peer did not send; one to a read that was not asked for. */
	absence_is_seen("rc-read-bw-8k", false, 3);
	absence_is_seen("rc-read-bw-8k", true, 4);
	absence_is_seen("ipv6-rc-read-bw-4k", false, 3);
	absence_is_seen("ipv6-rc-read-bw-4k", true, 4);
}

/* Alters a byte of a host's address, wherever the frame has it. */
static void move_host(struct uroce_exchange_frame *f, struct uroce_gid host, uint32_t at)
{
	if (uroce_gid_equal(f->src, host))
		plant(f, (struct fault){IN_IP, UROCE_IPV6_SRC + at, 1});
	if (uroce_gid_equal(f->dst, host))
		plant(f, (struct fault){IN_IP, UROCE_IPV6_DST + at, 1});
}

/* Writes every frame twice: as it is, and from or to another requester. */
static void write_doubled(const char *path, const struct uroce_exchanges *all, uint32_t at)
{
	struct uroce_gid host = all->list[0].requester;
	struct uroce_pcap_writer *writer;

	CU_ASSERT_EQUAL_FATAL(uroce_pcap_writer_open(path, &writer, NULL, 0), 0);
	for (uint32_t i = 0; i < all->num_frames; i++) {
		struct uroce_exchange_frame *f = &all->frames[i];

		uroce_pcap_writer_write(writer, f->time_ns, f->data, f->bytes);
		move_host(f, host, at);
		uroce_pcap_writer_write(writer, f->time_ns, f->data, f->bytes);
	}
	CU_ASSERT_EQUAL(uroce_pcap_writer_close(writer), 0);
}

/* Two connections with the same numbers of queue pairs and packets, apart in one byte. */
static void hosts_are_told_apart_by(uint32_t at)
{
	static const struct expected twice = {"two hosts", {4, 0, 0, 0}, {4, 0, 0, 0}, {NULL}};
	char path[] = "/tmp/uroce-replay-XXXXXX";
	struct uroce_exchanges all;
	int fd = mkstemp(path);

	CU_ASSERT_FATAL(fd >= 0);
	close(fd);
	open_capture(captures(), over_ipv6, ".pcap", &all);
	write_doubled(path, &all, at);
	uroce_exchanges_fini(&all);
	open_capture("", path, "", &all);
	count(&all, UROCE_REPLAY_RESPONDER, &twice);
	count(&all, UROCE_REPLAY_REQUESTER, &twice);
	uroce_exchanges_fini(&all);
	unlink(path);
}

static void hosts_are_told_apart_by_all_of_their_address(void)
{
	hosts_are_told_apart_by(0);
	hosts_are_told_apart_by(15);
}

/* What the engine makes of a capture of an unreliable service with one frame changed. */
static struct uroce_replay_result receive_changed(
	const char *name, uint32_t n, void (*change)(struct uroce_exchange_frame *f))
{
	struct uroce_replay_result result;
	struct uroce_exchanges all;

	open_capture(captures(), name, ".pcap", &all);
	change(nth(&all.list[0], true, n));
	CU_ASSERT_EQUAL(uroce_replay_run(&all.list[0], UROCE_REPLAY_RESPONDER, NULL, &result), 0);
	uroce_exchanges_fini(&all);
	return result;
}

static void lose(struct uroce_exchange_frame *f)
{
	f->lost = true;
}

static void another_number(struct uroce_exchange_frame *f)
{
	plant(f, (struct fault){IN_BTH, UROCE_BTH_DQPN + 2, 1});
}

static void another_key(struct uroce_exchange_frame *f)
{
	plant(f, (struct fault){BEHIND_BTH, 3, 1});
}

/* The last byte of where it is sent to. */
static void another_address(struct uroce_exchange_frame *f)
{
	plant(f, (struct fault){IN_IP, uroce_frame_ip_bytes(f->data) - 1, 1});
}

static void a_lost_packet_takes_its_unreliable_message_with_it(void)
{
	struct uroce_replay_result result = receive_changed("loss-uc-middle", 2, lose);

	/* All nine are judged but the lost one; three of them are what is left of its message. */
	CU_ASSERT_EQUAL(result.verdict, UROCE_REPLAY_AGREES);
	CU_ASSERT_EQUAL(result.lost, 1);
	CU_ASSERT_EQUAL(result.comparison.counts[UROCE_REPLAY_DELIVERED], 8);
}

static void what_an_unreliable_receiver_does_not_get_is_seen(void)
{
	static const struct {
		const char *name;
		uint32_t n;
		void (*change)(struct uroce_exchange_frame *f);
	} changes[] = {
		{"uc-all-ops", 1, another_number},
		{"uc-send-bw-4k", 4, another_address},
		{"ud-pingpong-1k", 3, another_number},
		{"ud-pingpong-1k", 3, another_key},
		{"ud-send-bw-1k", 3, another_address},
		{"ipv6-ud-pingpong-1k", 3, another_number},
		{"ipv6-ud-pingpong-1k", 3, another_key},
		{"ipv6-ud-pingpong-1k", 3, another_address},
		{"cm-mckey", 2, another_number},
		{"cm-mckey", 2, another_key},
		{"cm-mckey", 2, another_address},
	};

	/* The engine does not take them; the recorded peer did. */
	for (size_t i = 0; i < sizeof(changes) / sizeof(changes[0]); i++)
		CU_ASSERT_EQUAL(
			receive_changed(changes[i].name, changes[i].n, changes[i].change).verdict,
			UROCE_REPLAY_DIFFERS);
}

static void icrc_is_compared(const char *name)
{
	struct uroce_replay_result result;
	struct uroce_exchanges all;
	struct uroce_exchange_frame *f;

	open_capture(captures(), name, ".pcap", &all);
	f = nth(&all.list[0], false, 0);
	f->data[uroce_frame_end(f->data) - 1] ^= 1;
	f->seen_icrc_ok = false;
	uroce_text_decode(f->data, f->bytes, f->bytes, &f->text);
	CU_ASSERT_EQUAL(uroce_replay_run(&all.list[0], UROCE_REPLAY_RESPONDER, NULL, &result), 0);
	CU_ASSERT_TRUE(result.comparison.counts[UROCE_REPLAY_IDENTICAL] < result.sent);
	uroce_exchanges_fini(&all);
}

static void the_icrc_is_compared_too(void)
{
	icrc_is_compared(over_ipv4);
	icrc_is_compared(over_ipv6);
}

/* A group's number without its address, or with another service, is nobody's. */
static void group_is_skipped(const char *name, uint32_t qpn, uint8_t service)
{
	struct uroce_replay_result result;
	struct uroce_exchanges all;

	open_capture(captures(), name, ".pcap", &all);
	all.list[0].responder_qpn = qpn;
	all.list[0].service = service;
	for (int role = 0; role < 2; role++) {
		CU_ASSERT_EQUAL(
			uroce_replay_run(&all.list[0], (enum uroce_replay_role)role, NULL, &result),
			0);
		CU_ASSERT_EQUAL(result.verdict, UROCE_REPLAY_SKIPPED);
	}
	uroce_exchanges_fini(&all);
}

static void a_half_addressed_group_is_skipped(void)
{
	group_is_skipped("ud-send-bw-1k", UROCE_QPN_MULTICAST, 3);
	group_is_skipped("cm-mckey", 0x11, 3);
	group_is_skipped("cm-mckey", UROCE_QPN_MULTICAST, 1);
}

/* ---- VLANs ---- */

/* The frames of a capture with a tag in each, its priority by the direction; into path. */
static void write_tagged(const char *name, char *path)
{
	struct uroce_pcap_reader *reader;
	struct uroce_pcap_writer *writer;
	struct uroce_pcap_frame frame;
	static uint8_t copy[16384];
	char from[512], err[512];
	int fd;

	strcpy(path, "/tmp/uroce-vlan-XXXXXX");
	fd = mkstemp(path);
	CU_ASSERT_FATAL(fd >= 0);
	close(fd);
	snprintf(from, sizeof(from), "%s/%s.pcap", captures(), name);
	CU_ASSERT_EQUAL_FATAL(uroce_pcap_reader_open(from, &reader, err, sizeof(err)), 0);
	CU_ASSERT_EQUAL_FATAL(uroce_pcap_writer_open(path, &writer, err, sizeof(err)), 0);
	while (uroce_pcap_reader_next(reader, &frame) == 1) {
		bool odd = frame.data[11] & 1;

		memcpy(copy, frame.data, 12);
		uroce_store_be32(copy + 12, odd ? 0x81006064 : 0x8100e064);
		memcpy(copy + 16, frame.data + 12, frame.captured_bytes - 12);
		CU_ASSERT_EQUAL(uroce_pcap_writer_write(
					writer, frame.time_ns, copy, frame.captured_bytes + 4),
			0);
	}
	uroce_pcap_reader_close(reader);
	CU_ASSERT_EQUAL(uroce_pcap_writer_close(writer), 0);
}

static const struct expected *expected_of(const char *name)
{
	for (size_t i = 0; i < sizeof(expected) / sizeof(expected[0]); i++)
		if (strcmp(expected[i].name, name) == 0)
			return &expected[i];
	CU_FAIL_FATAL("no such capture");
	return NULL;
}

static void tags_change_no_verdict(void)
{
	static const char *const names[] = {"rc-all-ops", "ipv6-rc-all-ops", "rnr-nak",
		"loss-read-response-first", "uc-all-ops", "ud-pingpong-1k", "ipv6-ud-pingpong-1k",
		"cm-mckey"};
	char path[64];

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		const struct expected *want = expected_of(names[i]);
		struct uroce_exchanges all;

		write_tagged(names[i], path);
		open_capture("", path, "", &all);
		count(&all, UROCE_REPLAY_RESPONDER, want);
		count(&all, UROCE_REPLAY_REQUESTER, want);
		uroce_exchanges_fini(&all);
		unlink(path);
	}
}

/* VLAN, priority, the bit between them: one bit is enough. */
static void a_wrong_tag_is_seen(void)
{
	struct uroce_replay_result result;
	struct uroce_exchanges all;
	char path[64];

	write_tagged("rc-read-lat-64", path);
	for (uint32_t bit = 0; bit < 16; bit++) {
		open_capture("", path, "", &all);
		nth(&all.list[0], false, 3)->data[15 - bit / 8] ^= (uint8_t)(1u << bit % 8);
		CU_ASSERT_EQUAL(
			uroce_replay_run(&all.list[0], UROCE_REPLAY_RESPONDER, NULL, &result), 0);
		CU_ASSERT_EQUAL(result.verdict, UROCE_REPLAY_DIFFERS);
		uroce_exchanges_fini(&all);
	}
	unlink(path);
}

int main(void)
{
	static const struct unit_case cases[] = {
		{"every capture replays with its verdict", every_capture_replays_with_its_verdict},
		{"every capture has a row", every_capture_has_a_row},
		{"public captures replay with their verdict",
			public_captures_replay_with_their_verdict},
		{"a wrong field of an answer is seen", a_wrong_field_of_an_answer_is_seen},
		{"what is masked is really free", what_is_masked_is_really_free},
		{"a wrong byte of a request is seen", a_wrong_byte_of_a_request_is_seen},
		{"a wrong value of an atomic is seen", a_wrong_value_of_an_atomic_is_seen},
		{"a missing or unexpected answer is seen", a_missing_or_unexpected_answer_is_seen},
		{"hosts are told apart by all of their address",
			hosts_are_told_apart_by_all_of_their_address},
		{"a lost packet takes its unreliable message with it",
			a_lost_packet_takes_its_unreliable_message_with_it},
		{"what an unreliable receiver does not get is seen",
			what_an_unreliable_receiver_does_not_get_is_seen},
		{"the ICRC is compared too", the_icrc_is_compared_too},
		{"a half addressed group is skipped", a_half_addressed_group_is_skipped},
		{"tags change no verdict", tags_change_no_verdict},
		{"a wrong tag is seen", a_wrong_tag_is_seen},
	};

	return run_suite("replay", cases, sizeof(cases) / sizeof(cases[0]));
}
