/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Latency: one message under way.
 *
 * A send or write is answered by one, and counts half of the round trip; a read or an atomic counts
 * from its posting to its completion. The clock is looked at twice a message: once when it is
 * posted, once when the answer is there; what is filled and checked with verify is not measured on
 * this side.
 */
#include <inttypes.h>
#include <string.h>

#include "perf_client.h"

enum {
	COMPLETIONS = 8,
};

/* Completions that are there; *received, *completed: how many of each kind. */
static int take_completions(
	struct uroce_perf_client *client, uint32_t *received, uint32_t *completed)
{
	struct uroce_perf_side *side = &client->side;
	struct uroce_wc wc[COMPLETIONS];
	char words[UROCE_PERF_WORDS_BYTES];
	int n = uroce_cq_poll(side->cq, wc, COMPLETIONS);

	for (int i = 0; i < n; i++) {
		if (wc[i].status != UROCE_STATUS_SUCCESS) {
			uroce_perf_side_explain(side, &wc[i], words);
			return uroce_perf_client_fail(client, "%s", words);
		}
		if (wc[i].opcode != UROCE_WC_RECV && wc[i].opcode != UROCE_WC_RECV_RDMA_WITH_IMM) {
			++*completed;
			continue;
		}
		if (uroce_perf_side_post_recv(side, 0, 0))
			return uroce_perf_client_fail(
				client, "a receive could not be posted again");
		++*received;
	}
	return 0;
}

/* Waits until ping `number` is answered, or the read or atomic completed. */
static int await(struct uroce_perf_client *client, uint64_t number)
{
	const struct uroce_perf_test *test = &client->side.test;
	bool by_memory = uroce_perf_test_is_pingpong(test) && !uroce_perf_test_receives(test);
	const volatile uint8_t *last = uroce_perf_side_slot(&client->side, 0, 1) + test->size_bytes;
	uint32_t received = 0, completed = 0;
	uint64_t now_ns = 0;

	for (;;) {
		if (uroce_perf_client_pump(client) ||
			take_completions(client, &received, &completed))
			return -1;
		if (by_memory ? last[-1] == uroce_pattern_last(number)
			      : (uroce_perf_test_is_pingpong(test) ? received : completed) > 0)
			return 0;
		if (uroce_perf_client_tend(client, &now_ns))
			return -1;
	}
}

static int post_fetch(struct uroce_perf_client *client, uint64_t number)
{
	struct uroce_perf_side *side = &client->side;
	struct uroce_sge sge = {
		.addr = uroce_perf_side_slot(side, 0, 0),
		.len_bytes = side->test.size_bytes,
		.lkey = side->mr->lkey,
	};
	struct uroce_send_wr wr = {
		.wr_id = 1,
		.opcode = UROCE_WR_RDMA_READ,
		.flags = UROCE_SEND_SIGNALED,
		.sge = &sge,
		.num_sge = 1,
		.rdma = {uroce_perf_side_remote(side, 0, 0), side->remote_rkey},
		.atomic = {.compare_add = 1},
	};

	if (side->test.op == UROCE_PERF_ATOMIC) {
		wr.opcode = side->test.cas ? UROCE_WR_ATOMIC_CMP_AND_SWP
					   : UROCE_WR_ATOMIC_FETCH_AND_ADD;
		if (side->test.cas)
			wr.atomic.compare_add = number;
		wr.atomic.swap = number + 1;
	}
	return uroce_post_send(side->lanes[0].qp, &wr, 1) == 1 ? 0 : -1;
}

/* Before a message is posted: fills what is sent, spoils what is to be overwritten. */
static int prepare(struct uroce_perf_client *client, uint64_t number)
{
	struct uroce_perf_side *side = &client->side;
	const struct uroce_perf_test *test = &side->test;
	struct uroce_pattern pattern = {.from_server = true, .number = number};

	if (uroce_perf_test_is_pingpong(test))
		uroce_perf_side_fill_ping(side, number);
	if (!test->verify)
		return 0;
	uroce_pattern_poison(&pattern, uroce_perf_side_slot(side, 0, 1), test->size_bytes);
	return test->op == UROCE_PERF_READ ? uroce_perf_client_ask(client, "fill", 0, number, 1)
					   : 0;
}

static int check(struct uroce_perf_client *client, uint64_t number)
{
	struct uroce_perf_side *side = &client->side;
	const struct uroce_perf_test *test = &side->test;
	struct uroce_pattern pattern = {.from_server = true, .number = number};
	const uint8_t *slot = uroce_perf_side_slot(side, 0, 1);
	char words[UROCE_PERF_WORDS_BYTES];
	uint64_t value;

	if (!test->verify)
		return 0;
	client->checked++;
	if (test->op == UROCE_PERF_ATOMIC) {
		memcpy(&value, slot, sizeof(value));
		return value == number
			? 0
			: uroce_perf_client_fail(client,
				  "ATOMICS ARE WRONG: number %" PRIu64 " fetched %" PRIu64, number,
				  value);
	}
	if (uroce_perf_side_check(test, &pattern, slot, words))
		return 0;
	return uroce_perf_client_fail(client, "%s", words);
}

static int measure(struct uroce_perf_client *client, uint64_t number)
{
	bool is_pingpong = uroce_perf_test_is_pingpong(&client->side.test);
	uint64_t since_ns, ns;
	int err;

	if (prepare(client, number))
		return -1;
	since_ns = uroce_app_clock_ns();
	err = is_pingpong ? uroce_perf_side_post_ping(&client->side, number)
			  : post_fetch(client, number);
	if (err)
		return uroce_perf_client_fail(client, "a work request was refused");
	if (await(client, number))
		return -1;
	ns = uroce_app_clock_ns() - since_ns;
	uroce_samples_add(client->samples, is_pingpong ? ns / 2 : ns);
	client->messages++;
	return check(client, number);
}

static int pause_until(struct uroce_perf_client *client, uint64_t until_ns)
{
	uint64_t now_ns = 0;

	while (uroce_app_clock_ns() < until_ns) {
		client->moved_ns = uroce_app_clock_ns();
		if (uroce_perf_client_pump(client) || uroce_perf_client_tend(client, &now_ns))
			return -1;
	}
	return 0;
}

int uroce_perf_client_run_latency(struct uroce_perf_client *client)
{
	const struct uroce_perf_test *test = &client->side.test;
	uint64_t messages = test->iterations ? test->iterations : UINT64_MAX;

	for (uint64_t number = 0; number < messages; number++) {
		uint64_t since_ns = uroce_app_clock_ns();

		if (since_ns >= client->deadline_ns)
			break;
		if (measure(client, number))
			return -1;
		if (test->interval_ns && number + 1 < messages &&
			pause_until(client, since_ns + test->interval_ns))
			return -1;
	}
	client->ended_ns = uroce_app_clock_ns();
	return 0;
}
