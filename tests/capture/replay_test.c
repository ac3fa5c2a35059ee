/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Every capture replayed in both roles, with the verdict that was checked by hand; and planted
 * faults in the recorded packets, each of which must be seen.
 *
 * host-raw-responder's responder is a script that leaves packets out and refuses at will, so the
 * engine as responder must differ from it; host-raw-peer's requester is one, so it is no
 * requester's to replay.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cunit_run.h"
#include "engine/bytes.h"
#include "engine/icrc.h"
#include "pcap/replay.h"

enum {
	ETH = 14,
	IP = 20,
	BTH = 42,
	REST = 54,
	VERDICTS = UROCE_REPLAY_SKIPPED + 1
};

/* Exchanges by verdict: agrees, departs, differs, skipped. */
struct expected {
	const char *name;
	uint32_t responder[VERDICTS];
	uint32_t requester[VERDICTS];
};

// clang-format off
static const struct expected expected[] = {
	{"cm-rping", {2, 0, 0, 2}, {2, 0, 0, 2}},
	{"corrupt-icrc", {1, 0, 0, 0}, {1, 0, 0, 0}},
	{"dup-requests", {1, 0, 0, 0}, {1, 0, 0, 0}},
	{"ecn-ce", {1, 0, 0, 0}, {1, 0, 0, 0}},
	{"host-raw-peer", {8, 4, 0, 0}, {4, 0, 0, 8}},
	{"host-raw-responder", {9, 0, 6, 0}, {15, 0, 0, 0}},
	{"ipv6-rc-all-ops", {0, 1, 0, 0}, {1, 0, 0, 0}},
	{"loss-ack", {1, 0, 0, 0}, {1, 0, 0, 0}},
	{"loss-all-acks-inflight", {1, 0, 0, 0}, {1, 0, 0, 0}},
	{"loss-atomic-ack", {1, 0, 0, 0}, {1, 0, 0, 0}},
	{"loss-atomic-request", {1, 0, 0, 0}, {1, 0, 0, 0}},
	{"loss-read-request", {1, 0, 0, 0}, {1, 0, 0, 0}},
	{"loss-read-response-first", {1, 0, 0, 0}, {1, 0, 0, 0}},
	{"loss-read-response-last", {0, 1, 0, 0}, {1, 0, 0, 0}},
	{"loss-retry-exhausted", {0, 0, 0, 1}, {1, 0, 0, 0}},
	{"loss-send-last", {1, 0, 0, 0}, {1, 0, 0, 0}},
	{"loss-send-middle", {1, 0, 0, 0}, {1, 0, 0, 0}},
	{"loss-send-only", {1, 0, 0, 0}, {1, 0, 0, 0}},
	{"loss-uc-middle", {1, 0, 0, 0}, {1, 0, 0, 0}},
	{"loss-write-middle", {1, 0, 0, 0}, {1, 0, 0, 0}},
	{"nak-abadkey", {1, 0, 0, 0}, {1, 0, 0, 0}},
	{"nak-rbadkey-64", {1, 0, 0, 0}, {1, 0, 0, 0}},
	{"nak-rrange-64", {1, 0, 0, 0}, {1, 0, 0, 0}},
	{"nak-toolong", {0, 1, 0, 0}, {1, 0, 0, 0}},
	{"nak-wbadkey-5000", {1, 0, 0, 0}, {1, 0, 0, 0}},
	{"nak-wbadkey-64", {1, 0, 0, 0}, {1, 0, 0, 0}},
	{"netem-rc-pingpong", {2, 0, 0, 0}, {0, 0, 0, 2}},
	{"rc-all-ops-inflight", {1, 0, 0, 0}, {1, 0, 0, 0}},
	{"rc-all-ops", {0, 1, 0, 0}, {1, 0, 0, 0}},
	{"rc-cmp-swap", {1, 0, 0, 0}, {1, 0, 0, 0}},
	{"rc-fetch-add", {1, 0, 0, 0}, {1, 0, 0, 0}},
	{"rc-mtu512", {1, 0, 0, 0}, {1, 0, 0, 0}},
	{"rc-pingpong-16k", {2, 0, 0, 0}, {2, 0, 0, 0}},
	{"rc-pingpong-64", {2, 0, 0, 0}, {2, 0, 0, 0}},
	{"rc-psn-wrap", {1, 0, 0, 0}, {1, 0, 0, 0}},
	{"rc-read-bw-8k", {1, 0, 0, 0}, {1, 0, 0, 0}},
	{"rc-read-lat-64", {1, 0, 0, 0}, {1, 0, 0, 0}},
	{"rc-send-bidir-2k", {2, 0, 0, 0}, {2, 0, 0, 0}},
	{"rc-send-bw-4k", {1, 0, 0, 0}, {1, 0, 0, 0}},
	{"rc-send-bw-mtu256", {1, 0, 0, 0}, {1, 0, 0, 0}},
	{"rc-send-bw-mtu4096", {1, 0, 0, 0}, {1, 0, 0, 0}},
	{"rc-send-lat-2", {2, 0, 0, 0}, {2, 0, 0, 0}},
	{"rc-sendinv-long", {0, 1, 0, 0}, {1, 0, 0, 0}},
	{"rc-sendinv", {0, 1, 0, 0}, {1, 0, 0, 0}},
	{"rc-write-bw-16k", {1, 0, 0, 0}, {1, 0, 0, 0}},
	{"rc-write-bw-2qp", {2, 0, 0, 0}, {2, 0, 0, 0}},
	{"rc-write-imm", {1, 0, 0, 0}, {1, 0, 0, 0}},
	{"rc-write-lat-8", {2, 0, 0, 0}, {2, 0, 0, 0}},
	{"rc-zero-length", {1, 0, 0, 0}, {1, 0, 0, 0}},
	{"reorder-read-response", {0, 1, 0, 0}, {1, 0, 0, 0}},
	{"rnr-nak", {1, 0, 0, 0}, {1, 0, 0, 0}},
	{"srq-pingpong-4k", {8, 0, 0, 0}, {8, 0, 0, 0}},
	{"uc-all-ops", {1, 0, 0, 0}, {1, 0, 0, 0}},
	{"ud-pingpong-1k", {2, 0, 0, 0}, {2, 0, 0, 0}},
};

static const struct expected expected_public[] = {
	{"huawei-nic-rc-send-imm.pcap", {2, 0, 0, 0}, {2, 0, 0, 0}},
	{"rxe-cm-write-read-a.pcap", {1, 0, 0, 2}, {1, 0, 0, 2}},
	{"derived-ce-marked-routed.pcap", {3, 0, 0, 2}, {3, 0, 0, 2}},
	{"derived-nanosecond-magic.pcap", {3, 0, 0, 2}, {3, 0, 0, 2}},
	{"derived-pcapng.pcapng", {3, 0, 0, 2}, {3, 0, 0, 2}},
	{"derived-snaplen-96.pcap", {0, 0, 0, 5}, {0, 0, 0, 5}},
	{"derived-icrc-zero.pcap", {0, 0, 0, 5}, {0, 0, 0, 5}},
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

static void count(const struct uroce_exchanges *all, enum uroce_replay_role role, const char *name,
	const uint32_t want[VERDICTS])
{
	struct uroce_replay_result result;
	uint32_t got[VERDICTS] = {0};

	for (uint32_t i = 0; i < all->num; i++) {
		CU_ASSERT_EQUAL(uroce_replay_run(&all->list[i], role, NULL, &result), 0);
		got[result.verdict]++;
		if (result.comparison.difference[0] && want[UROCE_REPLAY_DIFFERS] == 0)
			printf("%s, role %d: %s\n", name, role, result.comparison.difference);
	}
	for (int v = 0; v < VERDICTS; v++) {
		if (got[v] != want[v])
			printf("%s, role %d: %u exchanges %s, expected %u\n", name, role, got[v],
				uroce_replay_verdict_name((enum uroce_replay_verdict)v), want[v]);
		CU_ASSERT_EQUAL(got[v], want[v]);
	}
}

static void check_all(const char *folder, const char *suffix, const struct expected *list, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		struct uroce_exchanges all;

		open_capture(folder, list[i].name, suffix, &all);
		count(&all, UROCE_REPLAY_RESPONDER, list[i].name, list[i].responder);
		count(&all, UROCE_REPLAY_REQUESTER, list[i].name, list[i].requester);
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

/* Alters a byte of a recorded frame as a peer would have that meant it: with a right ICRC. */
static void plant(struct uroce_exchange_frame *f, uint32_t at, uint8_t flip)
{
	uint32_t end = ETH + uroce_load_be16(f->data + ETH + 2) - 4;

	f->data[at] ^= flip;
	uroce_store_le32(f->data + end, uroce_icrc(f->data + ETH, IP, end - REST));
	uroce_text_decode(f->data, f->bytes, f->bytes, &f->text);
}

/* The verdict on a capture with one byte altered; rc-psn-wrap has every kind of packet. */
static enum uroce_replay_verdict verdict_with(
	enum uroce_replay_role role, bool request, uint32_t n, uint32_t at, uint8_t flip)
{
	struct uroce_replay_result result;
	struct uroce_exchanges all;

	open_capture(captures(), "rc-psn-wrap", ".pcap", &all);
	plant(nth(&all.list[0], request, n), at, flip);
	CU_ASSERT_EQUAL(uroce_replay_run(&all.list[0], role, NULL, &result), 0);
	CU_ASSERT_EQUAL(
		result.verdict == UROCE_REPLAY_DIFFERS, result.comparison.difference[0] != 0);
	uroce_exchanges_fini(&all);
	return result.verdict;
}

static enum uroce_replay_verdict responder_with(uint32_t answer, uint32_t at, uint8_t flip)
{
	return verdict_with(UROCE_REPLAY_RESPONDER, false, answer, at, flip);
}

static void a_wrong_field_of_an_answer_is_seen(void)
{
	/* MSN, PSN, opcode, number, P_Key of an acknowledgement; syndrome that is bad news */
	CU_ASSERT_EQUAL(responder_with(0, REST + 3, 1), UROCE_REPLAY_DIFFERS);
	CU_ASSERT_EQUAL(responder_with(0, BTH + 11, 0x40), UROCE_REPLAY_DIFFERS);
	CU_ASSERT_EQUAL(responder_with(0, BTH + 2, 0x10), UROCE_REPLAY_DIFFERS);
	CU_ASSERT_EQUAL(responder_with(0, REST, 0x7d), UROCE_REPLAY_DIFFERS);
	/* addresses */
	CU_ASSERT_EQUAL(responder_with(0, 3, 1), UROCE_REPLAY_DIFFERS);
	CU_ASSERT_EQUAL(responder_with(0, ETH + 15, 1), UROCE_REPLAY_DIFFERS);
}

static void what_is_masked_is_really_free(void)
{
	/* IPv4 identification, TTL, TOS, UDP source port, MigReq: nobody may rely on them */
	CU_ASSERT_EQUAL(responder_with(0, ETH + 4, 0xff), UROCE_REPLAY_AGREES);
	CU_ASSERT_EQUAL(responder_with(0, ETH + 8, 0x01), UROCE_REPLAY_AGREES);
	CU_ASSERT_EQUAL(responder_with(0, ETH + 1, 0x02), UROCE_REPLAY_AGREES);
	CU_ASSERT_EQUAL(responder_with(0, ETH + IP, 0x01), UROCE_REPLAY_AGREES);
	CU_ASSERT_EQUAL(responder_with(0, BTH + 1, 0x40), UROCE_REPLAY_AGREES);
	/* credits */
	CU_ASSERT_EQUAL(responder_with(0, REST, 0x10), UROCE_REPLAY_AGREES);
}

static void a_wrong_byte_of_a_request_is_seen(void)
{
	/* The rebuilt request is what the altered packet says, except for what a requester derives.
	 */
	CU_ASSERT_EQUAL(
		verdict_with(UROCE_REPLAY_REQUESTER, true, 0, BTH + 2, 0x10), UROCE_REPLAY_DIFFERS);
	CU_ASSERT_EQUAL(
		verdict_with(UROCE_REPLAY_REQUESTER, true, 1, 3, 0x01), UROCE_REPLAY_DIFFERS);
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
			plant(e->frames[i], at, 0x04);
	CU_ASSERT_EQUAL(uroce_replay_run(e, UROCE_REPLAY_RESPONDER, NULL, &result), 0);
	CU_ASSERT_EQUAL(result.verdict, UROCE_REPLAY_DIFFERS);
	uroce_exchanges_fini(&all);
}

static void a_wrong_value_of_an_atomic_is_seen(void)
{
	payload_byte_is_seen("loss-atomic-ack", 0x12, REST + 4 + 7);
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

static void a_missing_or_unexpected_answer_is_seen(void)
{
	struct uroce_replay_result result;
	struct uroce_exchanges all;
	struct uroce_exchange *e;

	/* A read response that the peer did not send. */
	open_capture(captures(), "rc-read-bw-8k", ".pcap", &all);
	e = &all.list[0];
	take_out(e, nth(e, false, 3));
	CU_ASSERT_EQUAL(uroce_replay_run(e, UROCE_REPLAY_RESPONDER, NULL, &result), 0);
	CU_ASSERT_EQUAL(result.verdict, UROCE_REPLAY_DIFFERS);
	uroce_exchanges_fini(&all);
	/* One that it sent, to a read that was not asked for. */
	open_capture(captures(), "rc-read-bw-8k", ".pcap", &all);
	e = &all.list[0];
	take_out(e, nth(e, true, 4));
	CU_ASSERT_EQUAL(uroce_replay_run(e, UROCE_REPLAY_RESPONDER, NULL, &result), 0);
	CU_ASSERT_EQUAL(result.verdict, UROCE_REPLAY_DIFFERS);
	uroce_exchanges_fini(&all);
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
	plant(f, BTH + 7, 1);
}

static void another_key(struct uroce_exchange_frame *f)
{
	plant(f, REST + 3, 1);
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
	/* The engine does not take them; the recorded peer did. */
	CU_ASSERT_EQUAL(
		receive_changed("uc-all-ops", 1, another_number).verdict, UROCE_REPLAY_DIFFERS);
	CU_ASSERT_EQUAL(
		receive_changed("ud-pingpong-1k", 3, another_number).verdict, UROCE_REPLAY_DIFFERS);
	CU_ASSERT_EQUAL(
		receive_changed("ud-pingpong-1k", 3, another_key).verdict, UROCE_REPLAY_DIFFERS);
}

static void the_icrc_is_compared_too(void)
{
	struct uroce_replay_result result;
	struct uroce_exchanges all;
	struct uroce_exchange_frame *f;

	open_capture(captures(), "rc-psn-wrap", ".pcap", &all);
	f = nth(&all.list[0], false, 0);
	f->data[ETH + uroce_load_be16(f->data + ETH + 2) - 1] ^= 1;
	f->seen_icrc_ok = false;
	uroce_text_decode(f->data, f->bytes, f->bytes, &f->text);
	CU_ASSERT_EQUAL(uroce_replay_run(&all.list[0], UROCE_REPLAY_RESPONDER, NULL, &result), 0);
	CU_ASSERT_TRUE(result.comparison.counts[UROCE_REPLAY_IDENTICAL] < result.sent);
	uroce_exchanges_fini(&all);
}

int main(void)
{
	static const struct unit_case cases[] = {
		{"every capture replays with its verdict", every_capture_replays_with_its_verdict},
		{"public captures replay with their verdict",
			public_captures_replay_with_their_verdict},
		{"a wrong field of an answer is seen", a_wrong_field_of_an_answer_is_seen},
		{"what is masked is really free", what_is_masked_is_really_free},
		{"a wrong byte of a request is seen", a_wrong_byte_of_a_request_is_seen},
		{"a wrong value of an atomic is seen", a_wrong_value_of_an_atomic_is_seen},
		{"a missing or unexpected answer is seen", a_missing_or_unexpected_answer_is_seen},
		{"a lost packet takes its unreliable message with it",
			a_lost_packet_takes_its_unreliable_message_with_it},
		{"what an unreliable receiver does not get is seen",
			what_an_unreliable_receiver_does_not_get_is_seen},
		{"the ICRC is compared too", the_icrc_is_compared_too},
	};

	return run_suite("replay", cases, sizeof(cases) / sizeof(cases[0]));
}
