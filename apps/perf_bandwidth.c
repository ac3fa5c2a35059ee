/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Bandwidth: as many messages under way as the depth allows, on every queue pair.
 *
 * Work requests are posted in lists, and only the last of a list has a completion, whose work
 * request id says for how many messages it stands; a list waits until there is room for a good part
 * of it. With verify messages go in windows, each message of a window in a place of its own: the
 * window is filled, sent, completed and checked before the next one may touch a place again.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "perf_client.h"

enum {
	LIST = 32,
	COMPLETIONS = 32,
};

/* What is posted, in memory that is prepared once per list position. */
struct list {
	struct uroce_sge sge[LIST];
	struct uroce_send_wr wr[LIST];
};

struct run {
	struct uroce_perf_client *client;
	struct uroce_perf_side *side;
	struct list list;
	uint32_t list_min; /* so much room is waited for */
	uint64_t todo;	   /* messages of the window not posted yet, on all lanes */
	uint64_t under_way;
	uint64_t left; /* messages of the test behind this window; UINT64_MAX: until the deadline */
	uint64_t now_ns;
};

static void prepare_list(struct run *run)
{
	const struct uroce_perf_side *side = run->side;

	memset(&run->list, 0, sizeof(run->list));
	for (uint32_t i = 0; i < LIST; i++) {
		run->list.sge[i] = (struct uroce_sge){
			.len_bytes = side->test.size_bytes, .lkey = side->mr->lkey};
		run->list.wr[i] = (struct uroce_send_wr){
			.opcode = uroce_perf_side_opcode(&side->test),
			.sge = &run->list.sge[i],
			.num_sge = 1,
			.rdma.rkey = side->remote_rkey,
			.atomic.compare_add = 1,
		};
	}
}

/* Where message `number` of a lane comes from and goes to. */
static void aim(struct run *run, uint32_t at, uint32_t lane, uint64_t number)
{
	const struct uroce_perf_test *test = &run->side->test;
	struct uroce_send_wr *wr = &run->list.wr[at];

	run->list.sge[at].addr = uroce_perf_side_slot(run->side, lane, number);
	wr->imm = (uint32_t)number;
	if (test->op != UROCE_PERF_ATOMIC) {
		wr->rdma.remote_addr = uroce_perf_side_remote(run->side, lane, number);
	} else if (test->cas) {
		/* A chain: each expects what the one before it wrote. */
		wr->rdma.remote_addr = uroce_perf_side_remote(run->side, lane, 0);
		wr->atomic.compare_add = number;
		wr->atomic.swap = number + 1;
	} else {
		wr->rdma.remote_addr = uroce_perf_side_remote(run->side, 0, 0);
	}
}

static int post(struct run *run, uint32_t index)
{
	struct uroce_perf_lane *lane = &run->side->lanes[index];
	uint64_t room = run->side->test.depth - (lane->posted - lane->completed);
	uint32_t n = room < LIST ? (uint32_t)room : LIST;
	int posted;

	if (lane->todo < n)
		n = (uint32_t)lane->todo;
	else if (n < run->list_min)
		return 0;
	if (n == 0)
		return 0;
	for (uint32_t i = 0; i < n; i++)
		aim(run, i, index, lane->posted + i);
	run->list.wr[n - 1].flags = UROCE_SEND_SIGNALED;
	run->list.wr[n - 1].wr_id = (uint64_t)index << 32 | n;
	posted = uroce_post_send(lane->qp, run->list.wr, (int)n);
	run->list.wr[n - 1].flags = 0;
	if (posted != (int)n)
		return uroce_perf_client_fail(run->client, "a work request was refused: %s",
			strerror(posted < 0 ? -posted : 0));
	lane->posted += n;
	lane->todo -= n;
	run->todo -= n;
	run->under_way += n;
	return 0;
}

static int take_completions(struct run *run)
{
	struct uroce_wc wc[COMPLETIONS];
	char words[UROCE_PERF_WORDS_BYTES];
	int n = uroce_cq_poll(run->side->cq, wc, COMPLETIONS);

	for (int i = 0; i < n; i++) {
		uint32_t messages = (uint32_t)wc[i].wr_id;

		if (wc[i].status != UROCE_STATUS_SUCCESS) {
			uroce_perf_side_explain(run->side, &wc[i], words);
			return uroce_perf_client_fail(run->client, "%s", words);
		}
		run->side->lanes[wc[i].wr_id >> 32].completed += messages;
		run->under_way -= messages;
		run->client->messages += messages;
	}
	return 0;
}

/* The time is up: what is posted is waited for, and no more is. */
static void stop(struct run *run)
{
	for (uint32_t i = 0; i < run->side->test.qps; i++)
		run->side->lanes[i].todo = 0;
	run->todo = 0;
	run->left = 0;
}

/* Posts and completes all that is to do. */
static int run_window(struct run *run)
{
	while (run->todo > 0 || run->under_way > 0) {
		for (uint32_t i = 0; run->todo > 0 && i < run->side->test.qps; i++)
			if (post(run, i))
				return -1;
		if (uroce_perf_client_pump(run->client) || take_completions(run) ||
			uroce_perf_client_tend(run->client, &run->now_ns))
			return -1;
		if (run->now_ns >= run->client->deadline_ns && run->todo > 0)
			stop(run);
	}
	return 0;
}

/* Deals out up to `most` messages per lane. */
static void deal(struct run *run, uint64_t most)
{
	uint32_t qps = run->side->test.qps;
	uint64_t share = run->left / qps, extra = run->left % qps;

	run->todo = 0;
	for (uint32_t i = 0; i < qps; i++) {
		uint64_t todo = share + (i < extra);

		run->side->lanes[i].todo = todo < most ? todo : most;
		run->todo += run->side->lanes[i].todo;
	}
	if (run->left != UINT64_MAX)
		run->left -= run->todo;
}

/* ---- verification ---- */

static void prepare_slot(struct run *run, uint32_t lane, uint64_t number)
{
	struct uroce_pattern pattern = {
		.from_server = run->side->test.op == UROCE_PERF_READ,
		.lane = lane,
		.number = number,
	};
	uint8_t *slot = uroce_perf_side_slot(run->side, lane, number);

	if (run->side->test.op == UROCE_PERF_WRITE || run->side->test.op == UROCE_PERF_SEND)
		uroce_pattern_fill(&pattern, slot, run->side->test.size_bytes);
	else
		uroce_pattern_poison(&pattern, slot, run->side->test.size_bytes);
}

static int prepare_window(struct run *run)
{
	for (uint32_t i = 0; i < run->side->test.qps; i++) {
		struct uroce_perf_lane *lane = &run->side->lanes[i];

		for (uint64_t k = 0; k < lane->todo; k++)
			prepare_slot(run, i, lane->posted + k);
		if (run->side->test.op == UROCE_PERF_READ && lane->todo > 0 &&
			uroce_perf_client_ask(run->client, "fill", i, lane->posted, lane->todo))
			return -1;
	}
	return 0;
}

static int check_reads(struct run *run, uint32_t lane, uint64_t first, uint64_t end)
{
	char words[UROCE_PERF_WORDS_BYTES];

	for (uint64_t number = first; number < end; number++) {
		struct uroce_pattern pattern = {true, lane, number};

		if (!uroce_perf_side_check(&run->side->test, &pattern,
			    uroce_perf_side_slot(run->side, lane, number), words))
			return uroce_perf_client_fail(run->client, "%s", words);
		run->client->checked++;
	}
	return 0;
}

static uint64_t fetched(const struct run *run, uint32_t lane, uint64_t number)
{
	uint64_t value;

	memcpy(&value, uroce_perf_side_slot(run->side, lane, number), sizeof(value));
	return value;
}

/* The window's additions fetched the numbers from `base` on, each of them once. */
static int check_additions(struct run *run, const uint64_t *firsts, uint64_t base)
{
	uint8_t seen[UROCE_PERF_OUTSTANDING_MAX / 8] = {0};
	uint64_t window = run->client->messages - base;

	for (uint32_t i = 0; i < run->side->test.qps; i++) {
		for (uint64_t number = firsts[i]; number < run->side->lanes[i].posted; number++) {
			uint64_t at = fetched(run, i, number) - base;

			if (at >= window || (seen[at / 8] >> at % 8 & 1))
				return uroce_perf_client_fail(run->client,
					"ATOMICS ARE WRONG: addition %" PRIu64 " on queue pair "
					"%" PRIu32 " fetched %" PRIu64 ", which %s",
					number, i, at + base,
					at >= window ? "nobody wrote" : "another one fetched too");
			seen[at / 8] |= (uint8_t)(1 << at % 8);
			run->client->checked++;
		}
	}
	return 0;
}

static int check_chain(struct run *run, uint32_t lane, uint64_t first, uint64_t end)
{
	for (uint64_t number = first; number < end; number++) {
		uint64_t value = fetched(run, lane, number);

		if (value != number)
			return uroce_perf_client_fail(run->client,
				"ATOMICS ARE WRONG: swap %" PRIu64 " on queue pair %" PRIu32
				" fetched %" PRIu64,
				number, lane, value);
		run->client->checked++;
	}
	return 0;
}

static int check_lane(struct run *run, uint32_t lane, uint64_t first, uint64_t end)
{
	switch (run->side->test.op) {
	case UROCE_PERF_WRITE:
		return uroce_perf_client_ask(run->client, "check", lane, first, end - first);
	case UROCE_PERF_READ:
		return check_reads(run, lane, first, end);
	case UROCE_PERF_ATOMIC:
		return run->side->test.cas ? check_chain(run, lane, first, end) : 0;
	case UROCE_PERF_SEND:
	case UROCE_PERF_OPS:
		break;
	}
	/* Sends were checked on arrival. */
	return 0;
}

static int run_checked_window(struct run *run)
{
	uint64_t firsts[UROCE_PERF_QPS_MAX] = {0}, base = run->client->messages;
	const struct uroce_perf_test *test = &run->side->test;

	for (uint32_t i = 0; i < test->qps; i++)
		firsts[i] = run->side->lanes[i].posted;
	if (prepare_window(run) || run_window(run))
		return -1;
	for (uint32_t i = 0; i < test->qps; i++)
		if (run->side->lanes[i].posted > firsts[i] &&
			check_lane(run, i, firsts[i], run->side->lanes[i].posted))
			return -1;
	if (test->op == UROCE_PERF_ATOMIC && !test->cas)
		return check_additions(run, firsts, base);
	return 0;
}

int uroce_perf_client_run_bandwidth(struct uroce_perf_client *client)
{
	const struct uroce_perf_test *test = &client->side.test;
	struct run run = {.client = client, .side = &client->side};
	int err = 0;

	run.left = test->iterations ? test->iterations : UINT64_MAX;
	run.list_min = test->depth / 2 < LIST ? test->depth / 2 : LIST;
	if (run.list_min == 0)
		run.list_min = 1;
	prepare_list(&run);
	while (!err && run.left > 0) {
		deal(&run, test->verify ? test->slots : UINT64_MAX);
		err = test->verify ? run_checked_window(&run) : run_window(&run);
		if (uroce_app_clock_ns() >= client->deadline_ns)
			break;
	}
	client->ended_ns = uroce_app_clock_ns();
	return err;
}
