/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The server while messages flow: receives and pongs, and what the client asks for meanwhile.
 *
 * With verify no place is filled again before it was checked: a receive is posted anew only after
 * that, and the client waits for the answer to "check". A place that was checked is spoilt, so that
 * a message that does not arrive cannot pass for the one before it.
 */
#include <inttypes.h>
#include <string.h>

#include "perf_server.h"

enum {
	COMPLETIONS = 32,
};

/* ---- what the client asks for while messages flow ---- */

/* Whether all messages [first, first + count) of a lane are in place and right. */
static int check_slots(
	struct uroce_perf_server *server, uint32_t lane, uint64_t first, uint64_t count)
{
	const struct uroce_perf_side *side = &server->side;
	char words[UROCE_PERF_WORDS_BYTES];

	for (uint64_t number = first; number < first + count; number++) {
		struct uroce_pattern pattern = {.lane = lane, .number = number};
		uint8_t *slot = uroce_perf_side_slot(side, lane, number);

		if (!uroce_perf_side_check(&side->test, &pattern, slot, words))
			return uroce_perf_server_fail(server, "on the server %s", words);
		/* The next message to this place is this many further on. */
		pattern.number += side->test.slots;
		uroce_pattern_poison(&pattern, slot, side->test.size_bytes);
		server->checked++;
	}
	uroce_channel_send(server->channel, "done");
	return 0;
}

/* Puts messages where the client will read them. */
static int fill_slots(
	struct uroce_perf_server *server, uint32_t lane, uint64_t first, uint64_t count)
{
	const struct uroce_perf_side *side = &server->side;

	for (uint64_t number = first; number < first + count; number++) {
		struct uroce_pattern pattern = {true, lane, number};

		uroce_pattern_fill(
			&pattern, uroce_perf_side_slot(side, lane, number), side->test.size_bytes);
	}
	uroce_channel_send(server->channel, "done");
	return 0;
}

/* The words that atomics count in: one for all lanes, or with compare and swap one for each. */
static int check_words(struct uroce_perf_server *server, uint64_t messages)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < server->side.test.qps; i++) {
		uint64_t word;

		memcpy(&word, uroce_perf_side_slot(&server->side, i, 0), sizeof(word));
		sum += word;
	}
	if (sum == messages)
		return 0;
	return uroce_perf_server_fail(server,
		"ATOMICS ARE WRONG: after %" PRIu64 " of them the server's memory counts %" PRIu64,
		messages, sum);
}

/* ---- messages ---- */

/* Looks at the message that a receive took, and posts the receive again. */
static int take_message(struct uroce_perf_server *server, const struct uroce_wc *wc)
{
	struct uroce_perf_side *side = &server->side;
	const struct uroce_perf_test *test = &side->test;
	uint32_t lane = (uint32_t)(wc->wr_id >> 32);
	uint64_t number = side->lanes[lane].received++;
	struct uroce_pattern pattern = {.lane = lane, .number = number};
	char words[UROCE_PERF_WORDS_BYTES];

	if (wc->opcode == UROCE_WC_RECV && wc->byte_len != test->size_bytes)
		return uroce_perf_server_fail(server,
			"the server received %" PRIu32 " bytes instead of %" PRIu32, wc->byte_len,
			test->size_bytes);
	if (test->imm && (!(wc->flags & UROCE_WC_WITH_IMM) || wc->imm != (uint32_t)number))
		return uroce_perf_server_fail(server,
			"DATA IS WRONG: the immediate of message %" PRIu64 " on queue pair %" PRIu32
			" is %" PRIu32,
			number, lane, wc->imm);
	/* A write's place may hold the next one by now: the client asks for a look in time. */
	if (test->verify && (test->latency || test->op == UROCE_PERF_SEND)) {
		uint8_t *slot = uroce_perf_side_slot(side, lane, test->latency ? 1 : number);

		if (!uroce_perf_side_check(test, &pattern, slot, words))
			return uroce_perf_server_fail(server, "on the server %s", words);
		pattern.number += test->latency ? 1 : test->slots;
		uroce_pattern_poison(&pattern, slot, test->size_bytes);
		server->checked++;
	}
	if (uroce_perf_side_post_recv(side, lane, test->verify ? number : 0))
		return uroce_perf_server_fail(
			server, "on the server a receive could not be posted again");
	return 0;
}

static int answer(struct uroce_perf_server *server)
{
	uroce_perf_side_fill_ping(&server->side, server->pings);
	if (uroce_perf_side_post_ping(&server->side, server->pings))
		return uroce_perf_server_fail(
			server, "on the server an answer could not be posted");
	server->pings++;
	return 0;
}

static int take_completions(struct uroce_perf_server *server)
{
	struct uroce_wc wc[COMPLETIONS];
	char words[UROCE_PERF_WORDS_BYTES];
	int n = uroce_cq_poll(server->side.cq, wc, COMPLETIONS);

	for (int i = 0; i < n; i++) {
		if (wc[i].status != UROCE_STATUS_SUCCESS) {
			uroce_perf_side_explain(&server->side, &wc[i], words);
			return uroce_perf_server_fail(server, "on the server %s", words);
		}
		if (wc[i].opcode != UROCE_WC_RECV && wc[i].opcode != UROCE_WC_RECV_RDMA_WITH_IMM)
			continue;
		if (take_message(server, &wc[i]))
			return -1;
		if (server->side.test.latency && answer(server))
			return -1;
	}
	return 0;
}

/* A ping by write: its last byte is what there is to wait for. */
static int watch_memory(struct uroce_perf_server *server)
{
	const struct uroce_perf_test *test = &server->side.test;
	struct uroce_pattern pattern = {.number = server->pings};
	uint8_t *slot = uroce_perf_side_slot(&server->side, 0, 1);
	const volatile uint8_t *last = slot + test->size_bytes - 1;
	char words[UROCE_PERF_WORDS_BYTES];

	if (*last != uroce_pattern_last(server->pings))
		return 0;
	if (test->verify) {
		if (!uroce_perf_side_check(test, &pattern, slot, words))
			return uroce_perf_server_fail(server, "on the server %s", words);
		pattern.number++;
		uroce_pattern_poison(&pattern, slot, test->size_bytes);
		server->checked++;
	}
	return answer(server);
}

int uroce_perf_server_serve_data(struct uroce_perf_server *server)
{
	const struct uroce_perf_test *test = &server->side.test;

	if (uroce_perf_test_receives(test))
		return take_completions(server);
	if (!uroce_perf_test_is_pingpong(test))
		return 0;
	/* Completions of pongs: their places in the send queue come free by polling. */
	return watch_memory(server) ? -1 : take_completions(server);
}

/* ---- the client's commands ---- */

static uint64_t count_received(const struct uroce_perf_server *server)
{
	uint64_t received = 0;

	for (uint32_t i = 0; i < server->side.test.qps; i++)
		received += server->side.lanes[i].received;
	return received;
}

/* Other workers may have answered the last messages before anybody has looked at them here. */
static int check_received(struct uroce_perf_server *server, uint64_t messages)
{
	uint64_t received, before;

	do {
		before = count_received(server);
		if (take_completions(server))
			return -1;
		received = count_received(server);
	} while (received > before);
	if (received == messages)
		return 0;
	return uroce_perf_server_fail(server,
		"the client sent %" PRIu64 " messages, and the server received %" PRIu64, messages,
		received);
}

static int finish_test(struct uroce_perf_server *server, uint64_t messages)
{
	const struct uroce_perf_test *test = &server->side.test;

	if (uroce_perf_test_receives(test) && check_received(server, messages))
		return -1;
	if (test->op == UROCE_PERF_ATOMIC && check_words(server, messages))
		return -1;
	uroce_channel_send(server->channel, "finished checked=%" PRIu64, server->checked);
	uroce_perf_side_close(&server->side);
	server->state = UROCE_PERF_SERVER_IDLE;
	server->tests++;
	return 0;
}

/* "check lane= first= count=", "fill" with the same, "finish messages=". */
int uroce_perf_server_obey(struct uroce_perf_server *server, const char *line)
{
	const struct uroce_perf_test *test = &server->side.test;
	struct uroce_record record;
	bool is_check = uroce_record_begin(&record, line, "check");

	if (is_check || uroce_record_begin(&record, line, "fill")) {
		uint32_t lane = (uint32_t)uroce_record_number(&record, "lane", 0, test->qps - 1);
		uint64_t first = uroce_record_number(&record, "first", 0, INT64_MAX);
		uint64_t count = uroce_record_number(&record, "count", 1, test->slots);

		if (uroce_record_end(&record))
			return is_check ? check_slots(server, lane, first, count)
					: fill_slots(server, lane, first, count);
	} else if (uroce_record_begin(&record, line, "finish")) {
		uint64_t messages = uroce_record_number(&record, "messages", 0, UINT64_MAX);

		if (uroce_record_end(&record))
			return finish_test(server, messages);
	}
	return uroce_perf_server_fail(
		server, "the client said \"%.100s\", which makes no sense during a test", line);
}
