/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The course of perftest's tests.
 *
 * Keys go to and fro several times; only the first time of each queue pair tells something new, the
 * others hold one side up until the other has got as far. How often depends on the test, and is
 * perftest's to say.
 */
#include "perftest.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum {
	BANDWIDTH_SIZE_BYTES = 65536,
	LATENCY_SIZE_BYTES = 2,
	ITERATIONS = 1000,
	WRITE_ITERATIONS = 5000,
	RD_ATOMIC = 16,
	COMPLETIONS = 32,
	/* Of a peer that owes nothing more, to close its end. */
	LEAVE_MS = 2000,
};

#define MIB 1048576.0

void uroce_perftest_settle(struct uroce_perf_test *test, bool size_is_given)
{
	if (!size_is_given)
		test->size_bytes = test->latency ? LATENCY_SIZE_BYTES : BANDWIDTH_SIZE_BYTES;
	if (!test->iterations)
		test->iterations = test->op == UROCE_PERF_WRITE && !test->latency ? WRITE_ITERATIONS
										  : ITERATIONS;
	/* Perftest counts for each queue pair. */
	test->iterations *= test->qps;
}

/* ---- connecting ---- */

static void fill_key(
	const struct uroce_perf_side *side, uint32_t lane, struct uroce_perftest_key *key)
{
	struct uroce_peer local;
	uint64_t slot = uroce_perf_test_is_pingpong(&side->test) ? 1 : 0;

	uroce_qp_local(side->lanes[lane].qp, &local);
	*key = (struct uroce_perftest_key){
		.out_reads = RD_ATOMIC,
		.qpn = local.qpn,
		.psn = local.psn,
		.rkey = side->mr->rkey,
		.addr = (uintptr_t)uroce_perf_side_slot(side, lane, slot),
	};
	memcpy(key->gid, local.gid, sizeof(key->gid));
}

/* Nothing but waiting until the other side is as far. */
static int meet(struct uroce_perftest_link *link, const struct uroce_perf_side *side, uint32_t lane)
{
	struct uroce_perftest_key mine, theirs;

	fill_key(side, lane, &mine);
	return uroce_perftest_swap_keys(link, &mine, &theirs);
}

static int connect_lane(
	struct uroce_perftest_link *link, struct uroce_perf_side *side, uint32_t lane)
{
	struct uroce_perftest_key mine, theirs;
	struct uroce_peer peer;
	char words[UROCE_PERF_WORDS_BYTES];

	fill_key(side, lane, &mine);
	if (uroce_perftest_swap_keys(link, &mine, &theirs))
		return -1;
	peer = (struct uroce_peer){
		.qpn = theirs.qpn,
		.psn = theirs.psn,
		.mtu_bytes = link->mtu_bytes,
		.max_rd_atomic =
			theirs.out_reads < RD_ATOMIC ? (uint8_t)theirs.out_reads : RD_ATOMIC,
	};
	memcpy(peer.gid, theirs.gid, sizeof(peer.gid));
	side->remote_rkey = theirs.rkey;
	side->lanes[lane].remote_addr = theirs.addr;
	/* What they named is where pings go, which for us is the second place. */
	if (uroce_perf_test_is_pingpong(&side->test))
		side->lanes[lane].remote_addr -= side->stride_bytes;
	if (uroce_perf_side_connect(side, lane, &peer, words)) {
		uroce_app_say("%s", words);
		return -1;
	}
	return 0;
}

static int connect_lanes(struct uroce_perftest_link *link, struct uroce_perf_side *side)
{
	bool is_send = side->test.op == UROCE_PERF_SEND;

	if (side->test.latency && !is_send && meet(link, side, 0))
		return -1;
	for (uint32_t i = 0; i < side->test.qps; i++)
		if (connect_lane(link, side, i))
			return -1;
	if (is_send && meet(link, side, 0))
		return -1;
	for (uint32_t i = 0; i < side->test.qps; i++)
		if (meet(link, side, i))
			return -1;
	return meet(link, side, 0);
}

/* ---- data ---- */

struct counts {
	uint64_t received, sent;
};

/* Takes the completions that are there, and posts receives anew. */
static int take_completions(struct uroce_perf_side *side, struct counts *counts)
{
	struct uroce_wc wc[COMPLETIONS];
	char words[UROCE_PERF_WORDS_BYTES];
	int n = uroce_cq_poll(side->cq, wc, COMPLETIONS);

	for (int i = 0; i < n; i++) {
		uint32_t index = (uint32_t)(wc[i].wr_id >> 32);

		if (wc[i].status != UROCE_STATUS_SUCCESS) {
			uroce_perf_side_explain(side, &wc[i], words);
			uroce_app_say("%s", words);
			return -1;
		}
		if (wc[i].opcode != UROCE_WC_RECV) {
			counts->sent++;
			continue;
		}
		counts->received++;
		if (uroce_perf_side_post_recv(side, index, side->lanes[index].received++))
			return -1;
	}
	return 0;
}

/* A server's data while it waits for a record. */
static int tend_server(void *context)
{
	struct counts counts = {0};

	return take_completions(context, &counts);
}

/*
 * All pings of one side: each is answered by the other's of the same number. tend: -1 ends it.
 * samples may be NULL.
 */
static int ping(struct uroce_perf_side *side, bool goes_first, int (*tend)(void *context),
	void *context, struct uroce_samples *samples)
{
	const volatile uint8_t *last = uroce_perf_side_slot(side, 0, 1) + side->test.size_bytes - 1;
	bool by_memory = side->test.op == UROCE_PERF_WRITE;
	struct counts counts = {0};
	uint64_t count = side->test.iterations, posted_ns = 0, posted = 0, heard = 0;
	uint64_t signalled = (count + UROCE_PERF_PING_SIGNAL - 1) / UROCE_PERF_PING_SIGNAL;

	while (heard < count || counts.sent < signalled) {
		if (posted < count && posted == (goes_first ? heard : heard - 1)) {
			uroce_perf_side_fill_ping(side, posted);
			posted_ns = uroce_app_clock_ns();
			if (uroce_perf_side_post_ping(side, posted++))
				return -1;
		}
		uroce_endpoint_poll(side->endpoint);
		if (take_completions(side, &counts) || tend(context))
			return -1;
		if (heard == count ||
			!(by_memory ? *last == uroce_pattern_last(heard) : counts.received > heard))
			continue;
		heard++;
		if (samples && posted_ns)
			uroce_samples_add(samples, (uroce_app_clock_ns() - posted_ns) / 2);
	}
	return 0;
}

/* ---- the client's side ---- */

int uroce_perftest_set_up(struct uroce_perf_client *client)
{
	return connect_lanes(client->perftest, &client->side);
}

static int tend_client(void *context)
{
	struct uroce_perf_client *client = context;
	uint64_t now_ns = 0;

	/* Whatever is heard is progress, for the watch over stalls. */
	client->messages = client->samples->count;
	return uroce_perf_client_tend(client, &now_ns);
}

int uroce_perftest_run_ping(struct uroce_perf_client *client)
{
	/* Of writes the server's come first, of sends the client's. */
	int err = ping(&client->side, client->side.test.op == UROCE_PERF_SEND, tend_client, client,
		client->samples);

	client->messages = client->side.test.iterations;
	client->ended_ns = uroce_app_clock_ns();
	return err;
}

/* A test that ends without a word: the other side just closes, and may need answers until then. */
static int wait_for_close(struct uroce_perftest_link *link)
{
	uint64_t until_ns = uroce_app_clock_ns() + LEAVE_MS * UINT64_C(1000000);

	while (!uroce_perftest_heard(link) && uroce_app_clock_ns() < until_ns)
		uroce_endpoint_poll(link->endpoint);
	return 0;
}

/* The report that the server is told of a test of one way; it prints it. */
static bool has_report(const struct uroce_perf_test *test)
{
	return !test->latency && test->op != UROCE_PERF_SEND;
}

static bool ends_in_silence(const struct uroce_perf_test *test)
{
	return test->latency && test->op == UROCE_PERF_WRITE;
}

int uroce_perftest_finish(struct uroce_perf_client *client, double seconds)
{
	struct uroce_perftest_link *link = client->perftest;
	const struct uroce_perf_side *side = &client->side;
	struct uroce_perftest_report report = {
		.size_bytes = side->test.size_bytes,
		.iterations = client->messages,
		.mib_per_second = (double)client->messages * side->test.size_bytes / seconds / MIB,
		.mmsg_per_second = (double)client->messages / seconds / 1e6,
	};
	struct uroce_perftest_key mine;

	if (ends_in_silence(&side->test))
		return wait_for_close(link);
	if (has_report(&side->test) &&
		(meet(link, side, 0) || uroce_perftest_swap_reports(link, &report)))
		return -1;
	fill_key(side, 0, &mine);
	return uroce_perftest_part(link, &mine);
}

/* ---- the server's side ---- */

static int serve_data(struct uroce_perftest_link *link, struct uroce_perf_side *side)
{
	struct uroce_perftest_report report = {0};
	struct uroce_perftest_key mine;

	if (uroce_perf_test_is_pingpong(&side->test) &&
		ping(side, side->test.op == UROCE_PERF_WRITE, link->tend, side, NULL))
		return -1;
	if (ends_in_silence(&side->test))
		return wait_for_close(link);
	if (has_report(&side->test)) {
		if (meet(link, side, 0) || uroce_perftest_swap_reports(link, &report))
			return -1;
		printf("%s: perftest measured %.2f MiB/s, %.6f million messages/s, %" PRIu64
		       " messages of %" PRIu64 " bytes\n",
			uroce_app_name, report.mib_per_second, report.mmsg_per_second,
			report.iterations, report.size_bytes);
	}
	fill_key(side, 0, &mine);
	return uroce_perftest_part(link, &mine);
}

int uroce_perftest_serve(struct uroce_perftest_link *link, const struct uroce_perf_test *test)
{
	struct uroce_perf_test own = *test;
	struct uroce_perf_side side;
	char words[UROCE_PERF_WORDS_BYTES];
	int err;

	if (uroce_perftest_greet(link))
		return -1;
	own.place_bytes = link->cycle_bytes;
	if (uroce_perf_side_open(&side, link->endpoint, &own, true, words)) {
		uroce_app_say("%s", words);
		return -1;
	}
	link->tend = tend_server;
	link->context = &side;
	err = connect_lanes(link, &side) || serve_data(link, &side) ? -1 : 0;
	fflush(stdout);
	uroce_perf_side_close(&side);
	link->tend = NULL;
	link->context = NULL;
	return err;
}
