/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The client: beginning and end of a test, and what goes on beside the messages.
 *
 * Nothing waits without a limit, and nothing waits without polling: while this side waits for a
 * line, the server's frames are answered.
 */
#include "perf_client.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "perftest.h"

enum {
	TEND_TURNS = 64,
	CHANNEL_TURNS = 64,
};

#define MS_NS		 UINT64_C(1000000)
#define LINE_PATIENCE_NS (10000 * MS_NS)
#define STALL_NS	 (15000 * MS_NS)
#define TEND_NS		 (10 * MS_NS)
#define SHOW_NS		 (250 * MS_NS)
#define SHOW_FIRST_NS	 (1000 * MS_NS)

int uroce_perf_client_fail(struct uroce_perf_client *client, const char *format, ...)
{
	char words[2 * UROCE_PERF_WORDS_BYTES];
	va_list args;

	va_start(args, format);
	vsnprintf(words, sizeof(words), format, args);
	va_end(args);
	if (!client->server && !client->perftest)
		uroce_channel_send(client->channel, "error %.900s", words);
	uroce_app_say("%s", words);
	return -1;
}

int uroce_perf_client_pump(struct uroce_perf_client *client)
{
	int rc;

	if (client->cm)
		uroce_perf_cm_poll(client->cm);
	if (!client->server) {
		uroce_endpoint_poll(client->endpoint);
		return 0;
	}
	uroce_worker_poll(client->endpoint->worker);
	rc = uroce_perf_server_step(client->server);
	return rc < 0 ? -1 : 0;
}

/* Takes a line if there is one: 1, 0 or -1; complaints of the server end in -1. */
static int take_line(struct uroce_perf_client *client, char *line)
{
	int got = uroce_channel_recv(client->channel, line);

	if (got >= 0) {
		if (got == 0 || strncmp(line, "error ", 6) != 0)
			return got;
		uroce_app_say("the server says: %.900s", line + 6);
		return -1;
	}
	uroce_app_say("the server closed the connection before the test was over: it ended, was "
		      "killed, or is no uroce program (%s)",
		strerror(-got));
	return -1;
}

int uroce_perf_client_expect(struct uroce_perf_client *client, char line[UROCE_CHANNEL_LINE_BYTES])
{
	uint64_t since_ns = uroce_app_clock_ns();
	int got;

	for (uint32_t turns = 0;; turns++) {
		if (uroce_perf_client_pump(client))
			return -1;
		if (!client->server && turns % CHANNEL_TURNS != 0)
			continue;
		got = take_line(client, line);
		if (got != 0)
			return got == 1 ? 0 : -1;
		if (uroce_app_clock_ns() - since_ns > LINE_PATIENCE_NS)
			return uroce_perf_client_fail(client,
				"the server did not answer for 10 seconds (over TCP; is that port "
				"another program's?)");
	}
}

int uroce_perf_client_ask(struct uroce_perf_client *client, const char *what, uint32_t lane,
	uint64_t first, uint64_t count)
{
	char line[UROCE_CHANNEL_LINE_BYTES];

	uroce_channel_send(client->channel, "%s lane=%" PRIu32 " first=%" PRIu64 " count=%" PRIu64,
		what, lane, first, count);
	if (uroce_perf_client_expect(client, line))
		return -1;
	if (strcmp(line, "done") == 0)
		return 0;
	return uroce_perf_client_fail(
		client, "the server said \"%.100s\" where \"done\" was expected", line);
}

/* ---- beside the messages ---- */

static void show(struct uroce_perf_client *client, uint64_t now_ns)
{
	const struct uroce_perf_test *test = &client->side.test;
	double seconds = (double)(now_ns - client->started_ns) / 1e9;
	double bits = (double)client->messages * test->size_bytes * 8;

	client->shown_ns = now_ns;
	uroce_app_progress("%s of %" PRIu32 " bytes: %.0f s, %" PRIu64 " messages, %.2f Gb/s",
		uroce_perf_op_name(test->op), test->size_bytes, seconds, client->messages,
		bits / seconds / 1e9);
}

/* Why nothing completes any more, as far as the first queue pair knows. */
static int fail_stalled(struct uroce_perf_client *client)
{
	char words[UROCE_PERF_WORDS_BYTES] = "";

	uroce_qp_last_error(client->side.lanes[0].qp, words, sizeof(words));
	return uroce_perf_client_fail(client, "no message completed for 15 seconds; %s",
		*words ? words
		       : "the server seems to be stopped, or a message never "
			 "reached its memory");
}

int uroce_perf_client_tend(struct uroce_perf_client *client, uint64_t *now_ns)
{
	char line[UROCE_CHANNEL_LINE_BYTES];
	uint64_t now;
	int got;

	if (++client->turns % TEND_TURNS != 0)
		return 0;
	now = *now_ns = uroce_app_clock_ns();
	if (now - client->tended_ns < TEND_NS)
		return 0;
	client->tended_ns = now;
	if (client->messages != client->moved_messages) {
		client->moved_messages = client->messages;
		client->moved_ns = now;
	}
	if (now - client->moved_ns > STALL_NS)
		return fail_stalled(client);
	if (now - client->started_ns > SHOW_FIRST_NS && now - client->shown_ns > SHOW_NS)
		show(client, now);
	if (client->perftest)
		return 0;
	got = take_line(client, line);
	if (got == 1)
		return uroce_perf_client_fail(
			client, "the server said \"%.100s\" in the middle of a test", line);
	return got;
}

/* ---- the conversation ---- */

int uroce_perf_client_hello(struct uroce_perf_client *client, struct uroce_endpoint *endpoint,
	struct uroce_channel *channel, struct uroce_perf_server *server, struct uroce_perf_cm *cm)
{
	char line[UROCE_CHANNEL_LINE_BYTES];

	memset(client, 0, sizeof(*client));
	client->endpoint = endpoint;
	client->channel = channel;
	client->server = server;
	client->cm = cm;
	uroce_channel_send(channel, UROCE_PERF_HELLO);
	if (uroce_perf_client_expect(client, line))
		return -1;
	if (strcmp(line, UROCE_PERF_HELLO) == 0)
		return 0;
	uroce_app_say("the server speaks another protocol or version: it said \"%.40s\", and this "
		      "is \"" UROCE_PERF_HELLO "\"; use the same version on both sides",
		line);
	return -1;
}

void uroce_perf_client_bye(struct uroce_perf_client *client)
{
	uroce_channel_send(client->channel, "bye");
}

static int finish(struct uroce_perf_client *client, struct uroce_perf_result *result)
{
	const struct uroce_perf_test *test = &client->side.test;
	char line[UROCE_CHANNEL_LINE_BYTES];
	struct uroce_record record;
	uint64_t checked = 0;
	bool is_known;

	result->messages = client->messages;
	result->seconds = (double)(client->ended_ns - client->started_ns) / 1e9;
	result->mtu_bytes = client->side.mtu_bytes;
	result->workers = client->endpoint->attr.num_workers;
	if (client->perftest)
		return uroce_perftest_finish(client, result->seconds);
	uroce_channel_send(client->channel, "finish messages=%" PRIu64, client->messages);
	if (uroce_perf_client_expect(client, line))
		return -1;
	is_known = uroce_record_begin(&record, line, "finished");
	if (is_known)
		checked = uroce_record_number(&record, "checked", 0, UINT64_MAX);
	if (!is_known || !uroce_record_end(&record))
		return uroce_perf_client_fail(
			client, "the server said \"%.100s\" where \"finished\" was expected", line);
	/* Pings are checked where they arrive, and so are pongs; else it is one or the other. */
	result->is_verified = test->verify && client->messages > 0 &&
		client->checked + checked ==
			(uroce_perf_test_is_pingpong(test) ? 2 : 1) * client->messages;
	if (test->verify && !result->is_verified)
		return uroce_perf_client_fail(client,
			"not every message was checked: %" PRIu64 " of %" PRIu64,
			client->checked + checked, client->messages);
	return 0;
}

static int measure(struct uroce_perf_client *client)
{
	const struct uroce_perf_test *test = &client->side.test;

	if (!test->latency)
		return uroce_perf_client_run_bandwidth(client);
	if (client->perftest && uroce_perf_test_is_pingpong(test))
		return uroce_perftest_run_ping(client);
	return uroce_perf_client_run_latency(client);
}

static int run_set_up(struct uroce_perf_client *client, struct uroce_perf_result *result)
{
	client->started_ns = client->moved_ns = uroce_app_clock_ns();
	if (client->perftest ? uroce_perftest_set_up(client) : uroce_perf_client_set_up(client))
		return -1;
	client->started_ns = client->moved_ns = uroce_app_clock_ns();
	client->deadline_ns = client->side.test.duration_ns
		? client->started_ns + client->side.test.duration_ns
		: UINT64_MAX;
	if (measure(client))
		return -1;
	uroce_app_progress_end();
	return finish(client, result);
}

int uroce_perf_client_run(struct uroce_perf_client *client, const struct uroce_perf_test *test,
	struct uroce_samples *samples, struct uroce_perf_result *result)
{
	struct uroce_perf_test own = *test;
	char words[UROCE_PERF_WORDS_BYTES];
	int err;

	memset(result, 0, sizeof(*result));
	result->test = *test;
	client->samples = samples;
	client->messages = client->moved_messages = client->checked = 0;
	if (client->perftest)
		own.place_bytes = client->perftest->cycle_bytes;
	if (uroce_perf_side_open(&client->side, client->endpoint, &own, false, words))
		return uroce_perf_client_fail(client, "the client cannot do that test: %s", words);
	err = run_set_up(client, result);
	uroce_perf_side_close(&client->side);
	return err;
}
