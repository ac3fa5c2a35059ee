/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Every kind of finding, by a capture that has it and one that nearly has.
 *
 * Captures are in the words of capture_script.h; what is found is compared as one text: kind, how
 * often, and the frames, in the order in which it is reported.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "capture_script.h"
#include "cunit_run.h"
#include "pcap/analysis.h"

enum {
	TEXT_BYTES = 2048
};

static struct uroce_analysis *analyse(const char *words)
{
	struct uroce_analysis *a = uroce_analysis_create(&(struct uroce_analysis_conf){0});
	struct capture_script script = {.at = words};
	struct uroce_pcap_frame frame = {0};

	CU_ASSERT_PTR_NOT_NULL_FATAL(a);
	while (capture_script_next(&script, &frame))
		uroce_analysis_add(a, &frame);
	uroce_analysis_finish(a);
	return a;
}

static void describe(const struct uroce_analysis *a, char text[TEXT_BYTES])
{
	size_t n = 0;

	text[0] = '\0';
	for (uint32_t i = 0; i < a->findings.num; i++) {
		const struct uroce_finding *f = &a->findings.list[i];

		n += (size_t)snprintf(text + n, TEXT_BYTES - n, "%s%s %" PRIu64 ":", i ? "; " : "",
			uroce_finding_name(f->kind), f->count);
		for (uint32_t k = 0; k < f->num_frames; k++)
			n += (size_t)snprintf(text + n, TEXT_BYTES - n, " %" PRIu64, f->frames[k]);
	}
}

/* The words of a capture, and what must be found in it. */
struct expected {
	const char *words;
	const char *found;
};

static void check(const struct expected *list, size_t num,
	void (*say)(const struct uroce_analysis *a, char text[TEXT_BYTES]))
{
	for (size_t i = 0; i < num; i++) {
		struct uroce_analysis *a = analyse(list[i].words);
		char text[TEXT_BYTES];

		say(a, text);
		if (strcmp(text, list[i].found) != 0)
			printf("\n  %s\n  found:    %s\n  expected: %s\n", list[i].words, text,
				list[i].found);
		CU_ASSERT_STRING_EQUAL(text, list[i].found);
		uroce_analysis_destroy(a);
	}
}

#define CHECK(list) check(list, sizeof(list) / sizeof(list[0]), describe)

#define BEGIN "A SEND_ONLY 100 len 8; B ACK 100; " /* a connection, frames 1 and 2 */

static void nothing_wrong(void)
{
	static const struct expected list[] = {
		{BEGIN, ""},
		{BEGIN "A RDMA_WRITE_FIRST 101 len 1024 of 2050; A RDMA_WRITE_MIDDLE 102 len 1024; "
		       "A RDMA_WRITE_LAST 103 len 2; B ACK 103",
			""},
		{BEGIN "A READ 101 of 3000; B RDMA_READ_RESPONSE_FIRST 101 len 1024; "
		       "B RDMA_READ_RESPONSE_MIDDLE 102 len 1024; B RDMA_READ_RESPONSE_LAST 103 "
		       "len "
		       "952; A SEND_ONLY 104 len 1; B ACK 104",
			""},
		{BEGIN "A FETCH_ADD 101; B ATOMIC_ACKNOWLEDGE 101", ""},
		/* One acknowledgement for many, and the response of a READ for what came before. */
		{BEGIN "A SEND_ONLY 101 len 8; A SEND_ONLY 102 len 8; A READ 103 of 4; "
		       "B RDMA_READ_RESPONSE_ONLY 103 len 4",
			""},
		/* PSNs go round. */
		{"A SEND_ONLY 0xfffffe len 8; B ACK 0xfffffe; A SEND_FIRST 0xffffff len 1024; "
		 "A SEND_LAST 0 len 8; B ACK 0",
			""},
		{"A UC_SEND_FIRST 5 len 256; A UC_SEND_LAST 6 len 1; A UC_RDMA_WRITE_ONLY 7 len 8",
			""},
	};

	CHECK(list);
}

static void losses(void)
{
	static const struct expected list[] = {
		/* Behind the place of capture, and before it. */
		{BEGIN "A SEND_ONLY 101 len 8; A SEND_ONLY 102 len 8; B NAK 101 0x60; "
		       "A SEND_ONLY 101 len 8; A SEND_ONLY 102 len 8; B ACK 102",
			"loss 1: 3 6"},
		{BEGIN "A SEND_ONLY 102 len 8; B NAK 101 0x60; A SEND_ONLY 101 len 8; "
		       "A SEND_ONLY 102 len 8; B ACK 102",
			"loss 1: 4 5"},
		/* Nobody said so. */
		{BEGIN "A SEND_ONLY 101 len 8; A SEND_ONLY 101 len 8 +134000; B ACK 101",
			"retransmission-timeout 1: 3 4"},
		{BEGIN "A SEND_ONLY 101 len 8; B ACK 101; A SEND_ONLY 101 len 8 +134000; B ACK 101",
			"retransmission-spurious 1: 5"},
		{BEGIN "A SEND_ONLY 101 len 8; A SEND_ONLY 102 len 8; A SEND_ONLY 101 len 8 +50",
			"retransmission-unexplained 1: 5"},
		/* An acknowledgement of what the capture does not have. */
		{BEGIN "A SEND_ONLY 102 len 8; B ACK 102", "capture-gap 1: 4"},
		{"A UC_SEND_ONLY 5 len 8; A UC_SEND_ONLY 7 len 8", "unreliable-loss 1: 2"},
	};

	CHECK(list);
}

static void going_back(void)
{
	static const struct expected list[] = {
		{BEGIN "A SEND_ONLY 101 len 8; A SEND_ONLY 102 len 8; B NAK 102 0x60; "
		       "A SEND_ONLY 101 len 8",
			"go-back-wrong 1: 6; loss 1: 3 6"},
		/* The packet that was asked for may have been lost again, once. */
		{BEGIN "A SEND_ONLY 101 len 8; A SEND_ONLY 102 len 8; B NAK 101 0x60; "
		       "A SEND_ONLY 102 len 8",
			"loss 1: 4 6"},
		{BEGIN "A SEND_ONLY 101 len 8; A SEND_ONLY 102 len 8; B NAK 101 0x60; "
		       "A SEND_ONLY 102 len 8; B NAK 101 0x60; A SEND_ONLY 102 len 8",
			"go-back-wrong 1: 8; loss 2: 4 6 6 8"},
	};

	CHECK(list);
}

static void not_ready(void)
{
	static const struct expected list[] = {
		{BEGIN "A SEND_ONLY 101 len 8; B RNR 101 14; A SEND_ONLY 101 len 8 +1280; B ACK "
		       "101",
			"rnr-nak 1: 4"},
		{BEGIN "A SEND_ONLY 101 len 8; B RNR 101 14; A SEND_ONLY 101 len 8 +1279; B ACK "
		       "101",
			"rnr-not-honoured 1: 5; rnr-nak 1: 4"},
	};

	CHECK(list);
}

static void refusals(void)
{
	static const struct expected list[] = {
		{BEGIN "A SEND_ONLY 101 len 8; B NAK 101 0x61", "nak-invalid-request 1: 3 4"},
		{BEGIN "A READ 101 of 8; B NAK 101 0x62", "nak-remote-access 1: 3 4"},
		{BEGIN "A SEND_ONLY 101 len 8; B NAK 101 0x63", "nak-remote-operational 1: 3 4"},
		{BEGIN "A SEND_ONLY 101 len 8; B NAK 101 0x7f", "nak-reserved 1: 3 4"},
	};

	CHECK(list);
}

static void wire(void)
{
	static const struct expected list[] = {
		{BEGIN "A SEND_ONLY 101 len 8; A SEND_ONLY 101 len 8; B ACK 101", "duplicate 1: 4"},
		{BEGIN "A SEND_ONLY 102 len 8; A SEND_ONLY 101 len 8; B ACK 102", "reordered 1: 4"},
		{BEGIN "A READ 101 of 3000; B RDMA_READ_RESPONSE_FIRST 101 len 1024; "
		       "B RDMA_READ_RESPONSE_LAST 103 len 952; B RDMA_READ_RESPONSE_MIDDLE 102 len "
		       "1024",
			"reordered 1: 6"},
		{"A UC_SEND_ONLY 5 len 8; A UC_SEND_ONLY 7 len 8; A UC_SEND_ONLY 6 len 8",
			"unreliable-loss 1: 2; reordered 1: 3"},
		{BEGIN "A SEND_ONLY 101 len 8 bad; A SEND_ONLY 101 len 8 +134000; B ACK 101",
			"icrc-bad 1: 3"},
		{"A SEND_ONLY 101 len 8 bad", "icrc-bad 1: 1"},
		{BEGIN "A SEND_ONLY 101 len 8 zero; B ACK 101", "icrc-absent 1: 3"},
		{BEGIN "A SEND_ONLY 101 len 100 cut 80; B ACK 101", "truncated 1: 3"},
		{"A SEND_ONLY 101 len 100 cut 50", "truncated 1: 1"},
	};

	CHECK(list);
}

static void responses(void)
{
	static const struct expected list[] = {
		/* Skipped by another response, and by an acknowledgement. */
		{BEGIN "A READ 101 of 3000; B RDMA_READ_RESPONSE_FIRST 101 len 1024; "
		       "B RDMA_READ_RESPONSE_LAST 103 len 952; A READ 102 of 1976 +134000; "
		       "B RDMA_READ_RESPONSE_FIRST 102 len 1024; B RDMA_READ_RESPONSE_LAST 103 len "
		       "952",
			"response-lost 1: 5"},
		{BEGIN "A READ 101 of 8; A SEND_ONLY 102 len 8; B ACK 102; A READ 101 of 8; "
		       "B RDMA_READ_RESPONSE_ONLY 101 len 8",
			"response-lost 1: 5"},
		{BEGIN "A SEND_ONLY 101 len 8; B RDMA_READ_RESPONSE_ONLY 101 len 8",
			"response-unasked 1: 4"},
		{BEGIN "A SEND_ONLY 101 len 8; B ATOMIC_ACKNOWLEDGE 101", "response-unasked 1: 4"},
		{BEGIN "A READ 101 of 3000; B RDMA_READ_RESPONSE_FIRST 101 len 1024; "
		       "B RDMA_READ_RESPONSE_LAST 102 len 952",
			"read-psn 1: 5"},
		{BEGIN "A READ 101 of 8; B RDMA_READ_RESPONSE_ONLY 101 len 4",
			"length-mismatch 1: 4"},
		/* The next request has a PSN of the READ. */
		{BEGIN "A SEND_FIRST 101 len 1024; A SEND_LAST 102 len 4; B ACK 102; A READ 103 of "
		       "3000; A SEND_ONLY 104 len 8",
			"read-psn 1: 7"},
		{BEGIN "B ACK 105; A SEND_ONLY 101 len 8", "ack-unsent 1: 3"},
		{BEGIN "B ACK 105", "ack-unsent 1: 3"},
		/* What comes next shows that it was sent. */
		{BEGIN "B ACK 101; A SEND_ONLY 102 len 8", ""},
	};

	CHECK(list);
}

static void requests(void)
{
	static const struct expected list[] = {
		{BEGIN "A SEND_MIDDLE 101 len 1024; B NAK 101 0x61",
			"nak-invalid-request 1: 3 4; opcode-sequence 1: 3"},
		{BEGIN "A SEND_FIRST 101 len 1024; A SEND_ONLY 102 len 8", "opcode-sequence 1: 4"},
		{BEGIN "A SEND_FIRST 101 len 1024; A RDMA_WRITE_LAST 102 len 8",
			"opcode-sequence 1: 4"},
		{BEGIN "A SEND_FIRST 101 len 1024; A SEND_MIDDLE 102 len 512", "mtu-mismatch 1: 4"},
		{BEGIN "A SEND_FIRST 101 len 1000", "mtu-mismatch 1: 3"},
		{BEGIN "A SEND_FIRST 101 len 1024; A SEND_LAST 102 len 1025", "mtu-mismatch 1: 4"},
		{BEGIN "A RDMA_WRITE_ONLY 101 len 8 of 9", "length-mismatch 1: 3"},
		/* The middle of a message is where the capture begins. */
		{"A SEND_MIDDLE 100 len 1024; A SEND_LAST 101 len 8; B ACK 101", ""},
		{"A RDMA_WRITE_MIDDLE 100 len 1024; A RDMA_WRITE_LAST 101 len 8; B ACK 101", ""},
	};

	CHECK(list);
}

static void congestion(void)
{
	static const struct expected list[] = {
		{BEGIN "A SEND_ONLY 101 len 8 ce; B ACK 101; A SEND_ONLY 102 len 8 +2000; B ACK "
		       "102",
			"ce-without-cnp 1: 3"},
		{BEGIN "A SEND_ONLY 101 len 8 ce; B CNP 0 len 16; B ACK 101; A SEND_ONLY 102 len 8 "
		       "+2000; B ACK 102",
			""},
		{BEGIN "B CNP 0 len 16; B CNP 0 len 16 +50", ""},
		{BEGIN "B CNP 0 len 16; B CNP 0 len 16 +49", "cnp-too-often 1: 4"},
	};

	CHECK(list);
}

static void silence(void)
{
	static const struct expected list[] = {
		{BEGIN "A SEND_ONLY 101 len 8; B ACK 101 +600000", "stall 1: 4"},
		{BEGIN "A SEND_ONLY 101 len 8; B ACK 101 +400000", ""},
		{BEGIN "A SEND_ONLY 101 len 8; A SEND_ONLY 101 len 8 +134000; A SEND_ONLY 101 len "
		       "8 "
		       "+134000",
			"gave-up 1: 3 5; retransmission-timeout 2: 3 4 4 5"},
		{BEGIN "A SEND_ONLY 101 len 8; A UC_SEND_ONLY 1 len 8 qp 0x99 +200000",
			"unanswered 1: 3"},
		{"A SEND_ONLY 101 len 8; A SEND_ONLY 102 len 8", "one-sided 1: 1"},
		{"B ACK 101; B ACK 102", "one-sided 1: 1"},
	};

	CHECK(list);
}

/* ---- which streams are one connection ---- */

static void describe_connections(const struct uroce_analysis *a, char text[TEXT_BYTES])
{
	static const char *const words[] = {"alone", "guess", "evidence", "stated"};
	size_t n = 0;

	text[0] = '\0';
	for (uint32_t i = 0; i < a->num_connections; i++) {
		const struct uroce_connection *c = a->connections[i];

		if (c->hidden)
			continue;
		n += (size_t)snprintf(
			text + n, TEXT_BYTES - n, "%s%x", n ? "; " : "", c->streams[0]->dqpn);
		if (c->streams[1])
			n += (size_t)snprintf(text + n, TEXT_BYTES - n, "-%x", c->streams[1]->dqpn);
		n += (size_t)snprintf(text + n, TEXT_BYTES - n, " %s", words[c->confidence]);
	}
}

static void pairs(void)
{
	static const struct expected list[] = {
		{BEGIN, "12-11 evidence"},
		{"A SEND_ONLY 100 len 8", "12 alone"},
		/* Two connections between the same ends. */
		{"A SEND_ONLY 100 len 8; A SEND_ONLY 500 len 8 qp 0x22; B ACK 500 qp 0x21; B ACK "
		 "100",
			"12-11 evidence; 22-21 evidence"},
		/* With the same PSNs: the UDP port decides, and it is a guess. */
		{"A SEND_ONLY 100 len 8 sport 0xc001; A SEND_ONLY 100 len 8 qp 0x22 sport 0xc002; "
		 "B ACK 100 qp 0x21 sport 0xc002; B ACK 100 sport 0xc001",
			"12-11 evidence; 22-21 guess"},
		/* A kind of answer that only one of them can have. */
		{"A SEND_ONLY 100 len 8; A READ 100 of 8 qp 0x22; B RDMA_READ_RESPONSE_ONLY 100 "
		 "len 8 "
		 "qp 0x21; B ACK 100",
			"12-11 evidence; 22-21 evidence"},
		{"A UC_SEND_ONLY 1 len 8; B UC_SEND_ONLY 9 len 8", "12-11 guess"},
		{"A UC_SEND_ONLY 1 len 8; B UC_SEND_ONLY 9 len 8; B UC_SEND_ONLY 9 len 8 qp 0x31",
			"12 alone; 11 alone; 31 alone"},
		{"A UD_SEND_ONLY 1 len 8 sqpn 0x11; B UD_SEND_ONLY 9 len 8 sqpn 0x12",
			"12-11 stated"},
		/* The same numbers again: another connection. */
		{BEGIN "A SEND_ONLY 101 len 8; B ACK 101; A SEND_ONLY 100 len 8 +1000000; B ACK "
		       "100",
			"12-11 evidence; 12-11 evidence"},
		{BEGIN "A SEND_ONLY 7000000 len 8; B ACK 7000000",
			"12-11 evidence; 12-11 evidence"},
		/* Numbers of packets that were altered name nobody. */
		{BEGIN "A SEND_ONLY 101 len 8 qp 0x99 bad", "12-11 evidence"},
	};

	check(list, sizeof(list) / sizeof(list[0]), describe_connections);
}

/* ---- numbers ---- */

static void numbers(void)
{
	struct uroce_analysis *a = analyse(
		BEGIN "A RDMA_WRITE_FIRST 101 len 1024 of 1030; A RDMA_WRITE_LAST 102 len 6; "
		      "B ACK 102 +90; A READ 103 of 5000; B RDMA_READ_RESPONSE_FIRST 103 len 1024; "
		      "A FETCH_ADD 108");
	const struct uroce_connection *c = a->connections[0];
	const struct uroce_stream *s = c->streams[0];

	CU_ASSERT_EQUAL(a->num_shown, 1);
	CU_ASSERT_EQUAL(c->mtu_bytes, 1024);
	CU_ASSERT_EQUAL(s->packets, 5);
	CU_ASSERT_EQUAL(c->streams[1]->packets, 3);
	CU_ASSERT_EQUAL(s->messages[UROCE_OP_SEND], 1);
	CU_ASSERT_EQUAL(s->messages[UROCE_OP_WRITE], 1);
	CU_ASSERT_EQUAL(s->message_bytes[UROCE_OP_WRITE], 1030);
	CU_ASSERT_EQUAL(s->messages[UROCE_OP_READ], 1);
	CU_ASSERT_EQUAL(s->sizes_max[UROCE_OP_READ], 5000);
	CU_ASSERT_EQUAL(s->delivered_bytes, 8 + 1030);
	CU_ASSERT_EQUAL(s->latency.count, 2);
	CU_ASSERT_EQUAL(s->latency.min_ns, 10000);
	CU_ASSERT_EQUAL(s->latency.max_ns, 100000);
	CU_ASSERT_EQUAL(s->in_flight_max_bytes, 5000);
	CU_ASSERT_EQUAL(s->req.psn_first, 100);
	CU_ASSERT_EQUAL(s->req.psn_next, 109);
	uroce_analysis_destroy(a);
}

/* What comes when everything was acknowledged is not on its way any more. */
static void late_ones_are_not_in_flight(void)
{
	struct uroce_analysis *a = analyse(BEGIN "A SEND_ONLY 102 len 8; B ACK 102; "
						 "A SEND_ONLY 101 len 8");

	CU_ASSERT_EQUAL(a->connections[0]->streams[0]->req.in_flight_bytes, 0);
	uroce_analysis_destroy(a);
}

static void costs(void)
{
	struct uroce_analysis *a =
		analyse(BEGIN "A SEND_ONLY 101 len 8; A SEND_ONLY 101 len 8 "
			      "+134000; A SEND_ONLY 101 len 8 +200000; B ACK 101");

	CU_ASSERT_EQUAL_FATAL(a->findings.num, 1);
	CU_ASSERT_EQUAL(a->findings.list[0].cost_ns, UINT64_C(334000000));
	CU_ASSERT_EQUAL(a->findings.list[0].connection, 1);
	uroce_analysis_destroy(a);
}

static void too_many(void)
{
	struct uroce_analysis *a =
		uroce_analysis_create(&(struct uroce_analysis_conf){.connections_max = 2});
	struct capture_script script = {
		.at = "A SEND_ONLY 1 qp 1; A SEND_ONLY 1 qp 2; A SEND_ONLY 1 "
		      "qp 3; A SEND_ONLY 1 qp 4; A SEND_ONLY 1 qp 5; A "
		      "SEND_ONLY 1 qp 6; A SEND_ONLY 2 qp 6"};
	struct uroce_pcap_frame frame = {0};

	CU_ASSERT_PTR_NOT_NULL_FATAL(a);
	while (capture_script_next(&script, &frame))
		uroce_analysis_add(a, &frame);
	uroce_analysis_finish(a);
	CU_ASSERT_EQUAL(a->left_out, 3);
	CU_ASSERT_EQUAL(a->num_shown, 4);
	CU_ASSERT_EQUAL(a->findings_of_capture[UROCE_FINDING_TOO_MANY] > 0, true);
	uroce_analysis_destroy(a);
}

int main(void)
{
	static const struct unit_case cases[] = {
		{"what is right is found right", nothing_wrong},
		{"losses are found, and where they were", losses},
		{"a requester that does not go back to where it was told is found", going_back},
		{"a receiver that is not ready, and who does not wait for it, are found",
			not_ready},
		{"refusals are found with what they refuse", refusals},
		{"what a network does to packets is found", wire},
		{"responses that are lost, wrong or unasked are found", responses},
		{"requests against the rules are found", requests},
		{"marks and notifications of congestion are held against each other", congestion},
		{"silence is found, and who is silent", silence},
		{"two streams are one connection by evidence", pairs},
		{"messages, bytes and latencies are counted", numbers},
		{"what comes when all is acknowledged is not in flight",
			late_ones_are_not_in_flight},
		{"a finding costs the time that it took", costs},
		{"more connections than the most are left out, and said", too_many},
	};

	return run_suite("analysis", cases, sizeof(cases) / sizeof(cases[0]));
}
