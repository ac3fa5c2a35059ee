/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Connections of a test. What a request is for stands in its private data, in network byte order:
 *
 *	0 "urpf"   4 kind: 1 lines, 2 a queue pair   8 index of the queue pair
 *	12 rkey,   16 address and   24 length of the memory for its messages
 *
 * and so does the answer. Whoever sends something else is told so.
 */
#include "perf_cm.h"

#include <endian.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "common.h"

enum {
	PRIVATE_BYTES = 32,
	KIND_LINES = 1,
	KIND_LANE = 2,
	BACKLOG = 512,
	NAP_NS = 50000000,
};

#define CONNECT_PATIENCE_NS UINT64_C(5000000000)

/* What a message says. */
struct about {
	uint32_t kind, index, rkey;
	uint64_t addr, bytes;
};

static const char stranger[] = "this is uroce-perf's port, and that was no uroce-perf";
static const char busy[] = "the server has a client already, or does not expect that";

/* ---- private data ---- */

static void put_about(uint8_t out[PRIVATE_BYTES], const struct about *about)
{
	const uint32_t words[3] = {
		htobe32(about->kind), htobe32(about->index), htobe32(about->rkey)};
	const uint64_t longs[2] = {htobe64(about->addr), htobe64(about->bytes)};

	memcpy(out, "urpf", 4);
	memcpy(out + 4, words, sizeof(words));
	memcpy(out + 16, longs, sizeof(longs));
}

static bool get_about(const struct uroce_conn_event *event, struct about *about)
{
	uint32_t words[3];
	uint64_t longs[2];

	memcpy(words, event->private_data + 4, sizeof(words));
	memcpy(longs, event->private_data + 16, sizeof(longs));
	*about = (struct about){.kind = be32toh(words[0]),
		.index = be32toh(words[1]),
		.rkey = be32toh(words[2]),
		.addr = be64toh(longs[0]),
		.bytes = be64toh(longs[1])};
	return event->private_bytes >= PRIVATE_BYTES && memcmp(event->private_data, "urpf", 4) == 0;
}

/* What a lane says of its places for messages. */
static struct about about_lane(const struct uroce_perf_side *side, uint32_t index)
{
	return (struct about){.kind = KIND_LANE,
		.index = index,
		.rkey = side->mr->rkey,
		.addr = (uintptr_t)uroce_perf_side_slot(side, index, 0),
		.bytes = side->test.slots * side->stride_bytes};
}

/* The peer's; false: they do not fit the test. */
static bool take_memory(struct uroce_perf_side *side, const struct about *about)
{
	if (about->kind != KIND_LANE || about->index >= side->test.qps ||
		about->bytes != side->test.slots * side->stride_bytes || about->addr % 8 != 0 ||
		about->addr + about->bytes < about->addr)
		return false;
	side->lanes[about->index].remote_addr = about->addr;
	side->remote_rkey = about->rkey;
	return true;
}

/* ---- open, close ---- */

int uroce_perf_cm_open(struct uroce_perf_cm *cm, struct uroce_endpoint *endpoint)
{
	int err;

	memset(cm, 0, sizeof(*cm));
	cm->endpoint = endpoint;
	err = uroce_conn_channel_create(endpoint->device, &cm->events);
	if (err)
		uroce_app_say("connection management would not start: %s", strerror(-err));
	return err ? -1 : 0;
}

void uroce_perf_cm_close(struct uroce_perf_cm *cm)
{
	if (!cm->events)
		return;
	uroce_line_close(&cm->line);
	if (cm->listener)
		uroce_conn_destroy(cm->listener);
	/* Goodbyes go out. */
	for (int i = 0; i < 16; i++)
		uroce_worker_poll(cm->endpoint->worker);
	uroce_conn_channel_destroy(cm->events);
	memset(cm, 0, sizeof(*cm));
}

int uroce_perf_cm_listen(struct uroce_perf_cm *cm, uint16_t port)
{
	const struct uroce_conn_listen_conf conf = {.port = port, .backlog = BACKLOG};
	int err = uroce_conn_listen(cm->events, &conf, &cm->listener);

	if (err)
		uroce_app_say("cannot listen on port %u: %s", port, strerror(-err));
	return err ? -1 : 0;
}

/* ---- what happens ---- */

static void refuse(struct uroce_conn *conn, const char *words)
{
	uroce_conn_reject(conn, words, (uint32_t)strlen(words) + 1);
	uroce_conn_destroy(conn);
}

static void accept_lines(struct uroce_perf_cm *cm, struct uroce_conn *conn)
{
	struct uroce_conn_conf conf = {.context = &cm->line};

	if (cm->line.endpoint || uroce_line_open(&cm->line, cm->endpoint) != 0) {
		refuse(conn, busy);
		return;
	}
	conf.qp = cm->line.qp;
	cm->line.conn = conn;
	if (uroce_conn_accept(conn, &conf) != 0)
		uroce_line_close(&cm->line);
}

static void accept_lane(
	struct uroce_perf_cm *cm, struct uroce_conn *conn, const struct about *theirs)
{
	struct uroce_perf_side *side = cm->side;
	uint8_t private_data[PRIVATE_BYTES];
	struct uroce_conn_conf conf = {
		.private_data = private_data, .private_bytes = sizeof(private_data)};
	struct uroce_perf_lane *lane;
	struct about mine;

	if (!side || theirs->index >= side->test.qps || side->lanes[theirs->index].conn ||
		!take_memory(side, theirs)) {
		refuse(conn, busy);
		return;
	}
	lane = &side->lanes[theirs->index];
	mine = about_lane(side, theirs->index);
	put_about(private_data, &mine);
	conf.qp = lane->qp;
	conf.context = lane;
	if (uroce_conn_accept(conn, &conf) == 0)
		lane->conn = conn;
	else
		uroce_conn_destroy(conn);
}

static void take_request(struct uroce_perf_cm *cm, const struct uroce_conn_event *event)
{
	struct about about;

	if (!get_about(event, &about))
		refuse(event->conn, stranger);
	else if (about.kind == KIND_LINES)
		accept_lines(cm, event->conn);
	else
		accept_lane(cm, event->conn, &about);
}

static void note_failure(struct uroce_perf_cm *cm, int error, const char *words)
{
	cm->error = error;
	snprintf(cm->words, sizeof(cm->words), "%s", words);
}

static void take_established(struct uroce_perf_cm *cm, const struct uroce_conn_event *event)
{
	struct about about;

	if (event->context == &cm->line) {
		cm->line.is_up = true;
		return;
	}
	if (!cm->side)
		return;
	cm->side->mtu_bytes = event->path_mtu_bytes;
	cm->lanes_up++;
	/* The server has the client's since the request. */
	if (!cm->listener && (!get_about(event, &about) || !take_memory(cm->side, &about)))
		note_failure(cm, -EPROTO, "the server's memory does not fit the test");
}

/* Words of the peer's program, if it said some, else the library's. */
static void take_failure(struct uroce_perf_cm *cm, struct uroce_conn_event *event)
{
	event->private_data[sizeof(event->private_data) - 1] = 0;
	note_failure(cm, event->error ? event->error : -EPROTO,
		event->error == -EACCES && event->private_bytes > 0 && event->private_data[0]
			? (const char *)event->private_data
			: event->words);
	if (event->context == &cm->line)
		cm->line.is_gone = true;
}

void uroce_perf_cm_poll(struct uroce_perf_cm *cm)
{
	struct uroce_conn_event event;

	while (uroce_conn_poll(cm->events, &event) == 1) {
		switch (event.type) {
		case UROCE_CONN_REQUEST:
			take_request(cm, &event);
			break;
		case UROCE_CONN_ESTABLISHED:
			take_established(cm, &event);
			break;
		case UROCE_CONN_ERROR:
		case UROCE_CONN_REJECTED:
		case UROCE_CONN_UNREACHABLE:
			take_failure(cm, &event);
			break;
		case UROCE_CONN_DISCONNECTED:
			if (event.context == &cm->line)
				cm->line.is_gone = true;
			break;
		case UROCE_CONN_ROUTE_RESOLVED:
		case UROCE_CONN_TIMEWAIT_EXIT:
			break;
		}
	}
}

/* ---- lines ---- */

bool uroce_perf_cm_accept(struct uroce_perf_cm *cm, struct uroce_channel *channel)
{
	uroce_perf_cm_poll(cm);
	/* A client that left before it was there. */
	if (cm->line.is_gone && !cm->line.is_up)
		uroce_line_close(&cm->line);
	if (!cm->line.is_up)
		return false;
	uroce_channel_open_line(channel, &cm->line);
	return true;
}

/* One attempt; 0 or a negative errno. */
static int connect_once(struct uroce_perf_cm *cm)
{
	const struct about about = {.kind = KIND_LINES};
	uint8_t private_data[PRIVATE_BYTES];
	struct uroce_conn_conf conf = {.addr = cm->host,
		.port = cm->port,
		.context = &cm->line,
		.private_data = private_data,
		.private_bytes = sizeof(private_data)};
	int err = uroce_line_open(&cm->line, cm->endpoint);

	put_about(private_data, &about);
	conf.qp = cm->line.qp;
	cm->error = 0;
	if (!err)
		err = uroce_conn_connect(cm->events, &conf, &cm->line.conn);
	if (err) {
		note_failure(cm, err, strerror(-err));
	} else {
		while (!cm->line.is_up && !cm->error) {
			uroce_endpoint_poll(cm->endpoint);
			uroce_perf_cm_poll(cm);
		}
		err = cm->error;
	}
	if (err)
		uroce_line_close(&cm->line);
	return err;
}

int uroce_perf_cm_connect(
	struct uroce_perf_cm *cm, const char *host, uint16_t port, struct uroce_channel *channel)
{
	uint64_t since_ns = uroce_app_clock_ns();
	int err;

	cm->host = host;
	cm->port = port;
	/* The two are often started by one script, and in any order. */
	while ((err = connect_once(cm)) == -ECONNREFUSED &&
		uroce_app_clock_ns() - since_ns < CONNECT_PATIENCE_NS)
		uroce_app_nap(NAP_NS);
	if (err == -EINVAL)
		uroce_app_say("%s is no IP address: with --cm it is that of the server's endpoint, "
			      "its --addr",
			host);
	else if (err == -EADDRNOTAVAIL)
		uroce_app_say("the endpoint has no address of the kind of %s: give it one with "
			      "--addr",
			host);
	else if (err)
		uroce_app_say("cannot connect to the server: %s. Start it first, with --server "
			      "--cm and the same --port",
			cm->words);
	else
		uroce_channel_open_line(channel, &cm->line);
	return err ? -1 : 0;
}

/* ---- queue pairs ---- */

void uroce_perf_cm_expect(struct uroce_perf_cm *cm, struct uroce_perf_side *side)
{
	cm->side = side;
	cm->lanes_up = 0;
	cm->error = 0;
}

int uroce_perf_cm_ask(
	struct uroce_perf_cm *cm, struct uroce_perf_side *side, char why[UROCE_PERF_WORDS_BYTES])
{
	uint8_t private_data[PRIVATE_BYTES];
	struct uroce_conn_conf conf = {.addr = cm->host,
		.port = cm->port,
		.private_data = private_data,
		.private_bytes = sizeof(private_data)};

	uroce_perf_cm_expect(cm, side);
	for (uint32_t i = 0; i < side->test.qps; i++) {
		const struct about about = about_lane(side, i);
		int err;

		put_about(private_data, &about);
		conf.qp = side->lanes[i].qp;
		conf.context = &side->lanes[i];
		err = uroce_conn_connect(cm->events, &conf, &side->lanes[i].conn);
		if (err) {
			snprintf(why, UROCE_PERF_WORDS_BYTES,
				"a queue pair could not be connected: %s", strerror(-err));
			return err;
		}
	}
	return 0;
}

int uroce_perf_cm_check(struct uroce_perf_cm *cm, char why[UROCE_PERF_WORDS_BYTES])
{
	uroce_perf_cm_poll(cm);
	if (cm->error) {
		snprintf(why, UROCE_PERF_WORDS_BYTES, "a queue pair was not connected: %s",
			cm->words);
		return -1;
	}
	return cm->lanes_up == cm->side->test.qps;
}
