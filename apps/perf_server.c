/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The server: the conversation with the client.
 *
 * Every line of the client is either what the state asks for or an error that ends the session. The
 * data path is looked after first, and the channel only every so many turns, since asking a socket
 * costs as much as a dozen messages.
 */
#include "perf_server.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "common.h"

enum {
	CHANNEL_TURNS = 64,
};

/* Silence on every way for so long means that the client is gone. */
#define PATIENCE_NS (UINT64_C(30) * 1000000000)

int uroce_perf_server_fail(struct uroce_perf_server *server, const char *format, ...)
{
	char words[2 * UROCE_PERF_WORDS_BYTES];
	va_list args;

	va_start(args, format);
	vsnprintf(words, sizeof(words), format, args);
	va_end(args);
	uroce_channel_send(server->channel, "error %.900s", words);
	uroce_app_say("%s", words);
	return -1;
}

void uroce_perf_server_init(struct uroce_perf_server *server, struct uroce_endpoint *endpoint,
	struct uroce_channel *channel, struct uroce_perf_cm *cm, int only_op)
{
	memset(server, 0, sizeof(*server));
	server->endpoint = endpoint;
	server->channel = channel;
	server->cm = cm;
	server->only_op = only_op;
	server->heard_ns = uroce_app_clock_ns();
}

void uroce_perf_server_fini(struct uroce_perf_server *server)
{
	if (server->cm)
		uroce_perf_cm_expect(server->cm, NULL);
	if (server->state >= UROCE_PERF_SERVER_PEERS)
		uroce_perf_side_close(&server->side);
	server->state = UROCE_PERF_SERVER_IDLE;
}

/* ---- setting a test up ---- */

static int greet(struct uroce_perf_server *server, const char *line)
{
	if (strcmp(line, UROCE_PERF_HELLO) != 0)
		return uroce_perf_server_fail(server,
			"the client speaks another protocol or version: it said \"%.40s\", and "
			"this is \"" UROCE_PERF_HELLO "\"; use the same version on both sides",
			line);
	uroce_channel_send(server->channel, UROCE_PERF_HELLO);
	server->state = UROCE_PERF_SERVER_IDLE;
	return 0;
}

/* Tells the client the queue pairs and the memory of this side. */
static void describe(struct uroce_perf_server *server)
{
	char line[UROCE_RECORD_BYTES];
	struct uroce_peer local;

	for (uint32_t i = 0; i < server->side.test.qps; i++) {
		uroce_qp_local(server->side.lanes[i].qp, &local);
		uroce_record_write_peer(line, i, &local);
		uroce_channel_send(server->channel, "%s", line);
	}
	uroce_perf_side_write_memory(line, &server->side);
	uroce_channel_send(server->channel, "%s", line);
}

static int begin_test(struct uroce_perf_server *server, const char *line)
{
	char words[UROCE_PERF_WORDS_BYTES];
	struct uroce_perf_test test;
	const char *wrong;

	if (strcmp(line, "bye") == 0)
		return 1;
	wrong = uroce_perf_test_read(line, &test);
	if (wrong)
		return uroce_perf_server_fail(
			server, "the client asked for \"%.100s\", and %s", line, wrong);
	if (server->only_op >= 0 && server->only_op != (int)test.op)
		return uroce_perf_server_fail(server,
			"the client asked for %s, and the server was started for %s only",
			uroce_perf_op_name(test.op),
			uroce_perf_op_name((enum uroce_perf_op)server->only_op));
	if (uroce_perf_side_open(&server->side, server->endpoint, &test, true, words))
		return uroce_perf_server_fail(server, "the server cannot do that test: %s", words);
	server->lanes_connected = 0;
	server->pings = 0;
	server->checked = 0;
	server->state = UROCE_PERF_SERVER_PEERS;
	if (server->cm) {
		uroce_perf_cm_expect(server->cm, &server->side);
		uroce_channel_send(server->channel, "connect");
	} else {
		describe(server);
	}
	return 0;
}

/* Whether the client's connections are all there. */
static int look_at_connections(struct uroce_perf_server *server)
{
	char words[UROCE_PERF_WORDS_BYTES];
	int up = uroce_perf_cm_check(server->cm, words);

	if (up < 0)
		return uroce_perf_server_fail(server, "on the server %s", words);
	if (up > 0) {
		uroce_perf_cm_expect(server->cm, NULL);
		uroce_channel_send(server->channel, "go");
		server->state = UROCE_PERF_SERVER_RUN;
	}
	return 0;
}

static int take_peer(struct uroce_perf_server *server, const char *line)
{
	char words[UROCE_PERF_WORDS_BYTES];
	struct uroce_peer peer;

	if (!uroce_record_read_peer(line, server->lanes_connected, &peer))
		return uroce_perf_server_fail(server,
			"the client said \"%.100s\" where its queue pair %" PRIu32 " was expected",
			line, server->lanes_connected);
	if (uroce_perf_side_connect(&server->side, server->lanes_connected, &peer, words))
		return uroce_perf_server_fail(server, "on the server %s", words);
	server->lanes_connected++;
	if (server->lanes_connected == server->side.test.qps)
		server->state = UROCE_PERF_SERVER_MEMORY;
	return 0;
}

static int take_memory(struct uroce_perf_server *server, const char *line)
{
	if (!uroce_perf_side_read_memory(line, &server->side))
		return uroce_perf_server_fail(server,
			"the client said \"%.100s\" where its memory was expected, as large as "
			"the server's",
			line);
	uroce_channel_send(server->channel, "go");
	server->state = UROCE_PERF_SERVER_RUN;
	return 0;
}

/* ---- turns ---- */

static int take_line(struct uroce_perf_server *server, const char *line)
{
	if (strncmp(line, "error ", 6) == 0) {
		uroce_app_say("the client gave up: %.900s", line + 6);
		return -1;
	}
	switch (server->state) {
	case UROCE_PERF_SERVER_HELLO:
		return greet(server, line);
	case UROCE_PERF_SERVER_IDLE:
		return begin_test(server, line);
	case UROCE_PERF_SERVER_PEERS:
		return take_peer(server, line);
	case UROCE_PERF_SERVER_MEMORY:
		return take_memory(server, line);
	case UROCE_PERF_SERVER_RUN:
		break;
	}
	return uroce_perf_server_obey(server, line);
}

static int serve_channel(struct uroce_perf_server *server, bool is_idle)
{
	char line[UROCE_CHANNEL_LINE_BYTES];
	int got = uroce_channel_recv(server->channel, line);
	uint64_t now_ns;

	if (got == 0 && !is_idle)
		return 0;
	now_ns = uroce_app_clock_ns();
	if (got == 1) {
		server->heard_ns = now_ns;
		return take_line(server, line);
	}
	if (got < 0) {
		uroce_app_say("the client closed the connection %s",
			server->state == UROCE_PERF_SERVER_RUN ? "in the middle of a test"
							       : "without taking its leave");
		return -1;
	}
	if (now_ns - server->heard_ns > PATIENCE_NS)
		return uroce_perf_server_fail(
			server, "nothing was heard of the client for 30 seconds");
	return 0;
}

int uroce_perf_server_step(struct uroce_perf_server *server)
{
	unsigned int moved = server->channel->peer ? uroce_worker_poll(server->endpoint->worker)
						   : uroce_endpoint_poll(server->endpoint);
	bool is_idle;

	if (server->cm)
		uroce_perf_cm_poll(server->cm);
	if (server->state == UROCE_PERF_SERVER_RUN && uroce_perf_server_serve_data(server))
		return -1;
	if (server->cm && server->state == UROCE_PERF_SERVER_PEERS && look_at_connections(server))
		return -1;
	if (server->channel->peer)
		return server->channel->in_bytes > 0 ? serve_channel(server, false) : 0;
	server->turns++;
	server->has_moved |= moved > 0;
	if (server->turns % CHANNEL_TURNS != 0)
		return 0;
	is_idle = !server->has_moved;
	if (!is_idle)
		server->heard_ns = uroce_app_clock_ns();
	server->has_moved = false;
	return serve_channel(server, is_idle);
}
