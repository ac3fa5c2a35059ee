/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Connection management from many threads: workers that sleep in threads of their own, a server and
 * clients in others, and calls of all kinds at once.
 *
 * What the sanitizer would report is the point; the assertions see to it that work is really done.
 */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <string.h>

#include "cunit_run.h"
#include "must.h"
#include "pair.h"
#include "sleeper.h"
#include "uroce_cm.h"

enum {
	PORT = 7471,
	WORKERS = 2,
	CLIENTS = 2,
	ROUNDS = 40,
	SLEEP_US = 100,
	A_MINUTE_US = 60000000,
};

/* A device with two workers; worker i is tied to the other side's worker i, and hands over what is
 * for the other one. */
struct side {
	struct uroce_device *dev;
	struct memlink links[WORKERS];
	struct uroce_steer steer;
	struct sleeper sleepers[WORKERS];
	struct uroce_pd *pd;
	struct uroce_cq *cqs[CLIENTS];
	struct uroce_conn_channel *channel;
};

static struct side sides[2];
static atomic_int accepted, ended;
static atomic_bool stop;

static void open_side(int who, const struct uroce_device_conf *given)
{
	const uint8_t peer_mac[6] = {2, 0, 0, 0, 0, (uint8_t)(2 - who)};
	struct side *s = &sides[who];

	s->dev = memlink_open_many(s->links, WORKERS, &s->steer, (unsigned int)who + 1, given);
	MUST(uroce_device_neighbour_set(s->dev, who ? "192.0.2.1" : "192.0.2.2", peer_mac) == 0);
	MUST(uroce_pd_create(s->dev, &s->pd) == 0);
	for (int i = 0; i < CLIENTS; i++)
		MUST(uroce_cq_create(s->dev, 1024, &s->cqs[i]) == 0);
	for (int i = 0; i < WORKERS; i++)
		sleeper_start(&s->sleepers[i], uroce_device_worker(s->dev, (unsigned int)i));
	MUST(uroce_conn_channel_create(s->dev, &s->channel) == 0);
}

static void open_both(const struct uroce_device_conf *conf)
{
	for (int i = 0; i < WORKERS; i++)
		memlink_init(&sides[0].links[i], &sides[1].links[i]);
	open_side(0, conf);
	open_side(1, conf);
	atomic_store(&stop, false);
	atomic_store(&accepted, 0);
	atomic_store(&ended, 0);
}

static void close_side(int who)
{
	struct side *s = &sides[who];

	CU_ASSERT_EQUAL(uroce_conn_channel_destroy(s->channel), 0);
	for (int i = 0; i < CLIENTS; i++)
		CU_ASSERT_EQUAL(uroce_cq_destroy(s->cqs[i]), 0);
	CU_ASSERT_EQUAL(uroce_pd_destroy(s->pd), 0);
	for (int i = 0; i < WORKERS; i++)
		sleeper_stop(&s->sleepers[i]);
	CU_ASSERT_EQUAL(uroce_device_close(s->dev), 0);
	memlink_close_many(&s->steer);
}

static void close_both(void)
{
	close_side(0);
	close_side(1);
	for (int i = 0; i < WORKERS; i++)
		memlink_fini(&sides[0].links[i], &sides[1].links[i]);
}

/* On any worker. */
static struct uroce_qp *new_qp(int who, int cq)
{
	const struct uroce_qp_conf conf = {.send_cq = sides[who].cqs[cq],
		.recv_cq = sides[who].cqs[cq],
		.max_send_wr = 4,
		.max_recv_wr = 4};
	struct uroce_qp *qp;

	MUST(uroce_qp_create(sides[who].pd, &conf, &qp) == 0);
	return qp;
}

/* Until the descriptor says that there is something. */
static void sleep_on(const struct uroce_conn_channel *channel, int timeout_ms)
{
	struct pollfd fd = {.fd = uroce_conn_channel_fd(channel), .events = POLLIN};

	poll(&fd, 1, timeout_ms);
}

static void destroy(struct uroce_conn *conn)
{
	struct uroce_qp *qp = uroce_conn_qp(conn);

	uroce_conn_destroy(conn);
	if (qp)
		MUST(uroce_qp_destroy(qp) == 0);
}

static void serve(const struct uroce_conn_event *event)
{
	struct uroce_conn_conf mine = {0};

	if (event->type == UROCE_CONN_REQUEST) {
		mine.qp = new_qp(1, 0);
		if (uroce_conn_accept(event->conn, &mine) == 0)
			atomic_fetch_add(&accepted, 1);
		else
			MUST(uroce_qp_destroy(mine.qp) == 0);
	} else if (event->type != UROCE_CONN_ESTABLISHED) {
		destroy(event->conn);
		atomic_fetch_add(&ended, 1);
	}
}

static void *serve_all(void *arg)
{
	struct uroce_conn_event event;

	while (!atomic_load(&stop)) {
		sleep_on(arg, 10);
		while (uroce_conn_poll(arg, &event))
			serve(&event);
	}
	return NULL;
}

struct client {
	struct uroce_conn_channel *channel;
	int number;
	int up;
};

static bool await(struct uroce_conn_channel *channel, enum uroce_conn_event_type type)
{
	struct uroce_conn_event event;

	while (uroce_conn_poll(channel, &event) == 0)
		sleep_on(channel, -1);
	return event.type == type;
}

/* Connects, sends an empty write, disconnects; every third time just lets go. */
static void *connect_all(void *arg)
{
	struct client *client = arg;
	const struct uroce_send_wr wr = {
		.opcode = UROCE_WR_RDMA_WRITE, .flags = UROCE_SEND_SIGNALED};

	for (int i = 0; i < ROUNDS; i++) {
		struct uroce_conn_conf conf = {
			.addr = "192.0.2.2", .port = PORT, .qp = new_qp(0, client->number)};
		struct uroce_conn *conn;
		struct uroce_wc wc = {0};

		MUST(uroce_conn_connect(client->channel, &conf, &conn) == 0);
		if (i % 3 < 2) {
			bool up = await(client->channel, UROCE_CONN_ESTABLISHED);

			if (up && uroce_post_send(conf.qp, &wr, 1) == 1)
				while (uroce_cq_poll(sides[0].cqs[client->number], &wc, 1) == 0)
					;
			if (up && wc.status == UROCE_STATUS_SUCCESS &&
				uroce_conn_disconnect(conn) == 0 &&
				await(client->channel, UROCE_CONN_DISCONNECTED))
				client->up++;
		}
		destroy(conn);
	}
	return NULL;
}

static void servers_and_clients_in_many_threads(void)
{
	const struct uroce_device_conf conf = {.idle_sleep_us = SLEEP_US, .conn_timeout = 18};
	struct client clients[CLIENTS];
	pthread_t server, threads[CLIENTS];
	struct uroce_conn *listener, *again;
	struct uroce_cm_counters counters;

	open_both(&conf);
	CU_ASSERT_EQUAL_FATAL(uroce_conn_listen(sides[1].channel,
				      &(struct uroce_conn_listen_conf){.port = PORT}, &listener),
		0);
	MUST(pthread_create(&server, NULL, serve_all, sides[1].channel) == 0);
	for (int i = 0; i < CLIENTS; i++) {
		clients[i] = (struct client){.number = i};
		MUST(uroce_conn_channel_create(sides[0].dev, &clients[i].channel) == 0);
		MUST(pthread_create(&threads[i], NULL, connect_all, &clients[i]) == 0);
	}
	for (int i = 0; i < ROUNDS; i++) {
		const struct uroce_conn_listen_conf more = {.port = PORT + 1};

		CU_ASSERT_EQUAL(uroce_conn_listen(sides[1].channel, &more, &again), 0);
		uroce_conn_counters(sides[1].dev, &counters);
		uroce_conn_destroy(again);
	}
	for (int i = 0; i < CLIENTS; i++) {
		MUST(pthread_join(threads[i], NULL) == 0);
		CU_ASSERT_EQUAL(clients[i].up, ROUNDS - ROUNDS / 3);
		CU_ASSERT_EQUAL(uroce_conn_channel_destroy(clients[i].channel), 0);
	}
	/* What was let go was refused or disconnected: all that was accepted ends. */
	while (atomic_load(&ended) < atomic_load(&accepted))
		;
	atomic_store(&stop, true);
	MUST(pthread_join(server, NULL) == 0);
	uroce_conn_destroy(listener);
	close_both();
}

/* Nothing comes in; only its timers wake the worker, which else would sleep for a minute. */
static void a_sleeper_wakes_for_what_is_asked_and_for_its_timers(void)
{
	const struct uroce_device_conf conf = {.idle_sleep_us = A_MINUTE_US,
		.conn_retry_ms = 1,
		.conn_retry_max_ms = 2,
		.conn_retries = 3,
		.conn_timeout = 10};
	struct uroce_conn_conf to = {.addr = "192.0.2.2", .port = PORT};
	struct uroce_conn_event event;
	struct uroce_conn *conn;

	open_both(&conf);
	sides[1].links[0].loss_percent = 100;
	to.qp = new_qp(0, 0);
	sleeper_await(&sides[0].sleepers[0]);
	CU_ASSERT_EQUAL(uroce_conn_connect(sides[0].channel, &to, &conn), 0);
	while (uroce_conn_poll(sides[0].channel, &event) == 0)
		sleep_on(sides[0].channel, -1);
	CU_ASSERT_EQUAL(event.type, UROCE_CONN_UNREACHABLE);
	CU_ASSERT_EQUAL(event.error, -ETIMEDOUT);
	destroy(conn);
	close_both();
	CU_ASSERT_TRUE(sides[0].sleepers[0].longest_ns < SLEEPER_HALF_A_MINUTE_NS);
}

int main(void)
{
	static const struct unit_case cases[] = {
		{"servers and clients in many threads", servers_and_clients_in_many_threads},
		{"a sleeper wakes for what is asked and for its timers",
			a_sleeper_wakes_for_what_is_asked_and_for_its_timers},
	};

	return run_suite("cm_threads", cases, sizeof(cases) / sizeof(cases[0]));
}
