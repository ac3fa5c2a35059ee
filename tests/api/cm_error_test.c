/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Connection management of the public API: what can go wrong, each in words of its own.
 */
#include "cm_rig.h"

static void nobody_listens(void)
{
	struct uroce_conn_conf conf;
	struct uroce_conn *client;

	start();
	conf = to_peer(new_qp(0, UROCE_QP_RC));
	conf.port = 9;
	client = ask(&conf);
	expect(0, UROCE_CONN_REJECTED);
	CU_ASSERT_EQUAL(event.error, -ECONNREFUSED);
	CU_ASSERT_EQUAL(event.reason, UROCE_CM_REJECT_INVALID_SERVICE_ID);
	CU_ASSERT_STRING_EQUAL(event.words, "192.0.2.2: nobody listens on port 9");
	destroy(client);
	stop();
}

static void the_peer_rejects(void)
{
	struct uroce_conn *listener, *client;
	struct uroce_conn_conf conf;

	start();
	listener = listen_tcp(1);
	conf = to_peer(new_qp(0, UROCE_QP_RC));
	client = ask(&conf);
	expect(1, UROCE_CONN_REQUEST);
	CU_ASSERT_EQUAL(uroce_conn_reject(event.conn, "full", 149), -EINVAL);
	CU_ASSERT_EQUAL(uroce_conn_reject(event.conn, "full", 4), 0);
	CU_ASSERT_EQUAL(uroce_conn_reject(event.conn, "full", 4), -ENOTCONN);
	conf.qp = new_qp(1, UROCE_QP_RC);
	CU_ASSERT_EQUAL(uroce_conn_accept(event.conn, &conf), -ENOTCONN);
	CU_ASSERT_EQUAL(uroce_qp_destroy(conf.qp), 0);
	uroce_conn_destroy(event.conn);
	expect(0, UROCE_CONN_REJECTED);
	CU_ASSERT_EQUAL(event.error, -EACCES);
	CU_ASSERT_EQUAL(event.reason, UROCE_CM_REJECT_CONSUMER);
	CU_ASSERT_EQUAL(event.private_bytes, UROCE_CONN_REJECT_PRIVATE_BYTES);
	CU_ASSERT_STRING_EQUAL((char *)event.private_data, "full");
	CU_ASSERT_STRING_EQUAL(event.words, "192.0.2.2: the application on port 7471 refused");
	destroy(client);
	/* One that is destroyed is refused too. */
	conf = to_peer(new_qp(0, UROCE_QP_RC));
	client = ask(&conf);
	expect(1, UROCE_CONN_REQUEST);
	uroce_conn_destroy(event.conn);
	expect(0, UROCE_CONN_REJECTED);
	destroy(client);
	uroce_conn_destroy(listener);
	stop();
}

static void nobody_has_the_address(void)
{
	struct uroce_conn_conf conf;
	struct uroce_conn *client;
	uint64_t took_ns = 0;

	start();
	conf = to_peer(new_qp(0, UROCE_QP_RC));
	conf.addr = "192.0.2.77";
	/* Nobody asks on this link, so that is known at once. */
	CU_ASSERT_EQUAL(uroce_conn_connect(channels[0], &conf, &client), -EHOSTUNREACH);
	pair.side[0].dev->resolves = true;
	client = ask(&conf);
	CU_ASSERT_TRUE_FATAL(next(0, &took_ns));
	CU_ASSERT_EQUAL(event.type, UROCE_CONN_UNREACHABLE);
	CU_ASSERT_EQUAL(event.error, -EHOSTUNREACH);
	CU_ASSERT_TRUE(took_ns <= 3100ull * NS_PER_MS);
	CU_ASSERT_STRING_EQUAL(event.words,
		"192.0.2.77: nobody has this address, or it is not on "
		"this link: ARP was not answered");
	destroy(client);
	conf.qp = new_qp(0, UROCE_QP_RC);
	conf.addr = "2001:db8::77";
	client = ask(&conf);
	expect(0, UROCE_CONN_UNREACHABLE);
	CU_ASSERT_PTR_NOT_NULL(strstr(event.words, "neighbour discovery was not answered"));
	CU_ASSERT_EQUAL(uroce_conn_poll(channels[0], &event), 0);
	destroy(client);
	stop();
}

/* Somebody has the address, but no channel was ever made there. */
static void the_host_does_not_answer(void)
{
	struct uroce_counters counters;
	struct uroce_conn_conf conf;
	struct uroce_conn *client;
	uint64_t took_ns = 0;

	clock_ns = 1000000000;
	pair_init(&pair, NULL);
	set_neighbours();
	CU_ASSERT_EQUAL_FATAL(uroce_conn_channel_create(pair.side[0].dev, &channels[0]), 0);
	conf = to_peer(new_qp(0, UROCE_QP_RC));
	client = ask(&conf);
	CU_ASSERT_TRUE_FATAL(next(0, &took_ns));
	CU_ASSERT_EQUAL(event.type, UROCE_CONN_UNREACHABLE);
	CU_ASSERT_EQUAL(event.error, -ETIMEDOUT);
	CU_ASSERT_TRUE(took_ns > 1000ull * NS_PER_MS && took_ns < 15000ull * NS_PER_MS);
	CU_ASSERT_STRING_EQUAL(event.words,
		"192.0.2.2 is there, but did not answer connection management: that is not "
		"running, or frames are lost");
	uroce_device_counters(pair.side[1].dev, &counters);
	CU_ASSERT_TRUE(counters.drops[UROCE_DROP_QPN_UNKNOWN] >= 9);
	destroy(client);
	CU_ASSERT_EQUAL(uroce_conn_channel_destroy(channels[0]), 0);
	pair_fini(&pair);
}

static void retries_are_what_the_device_was_opened_with(void)
{
	const struct uroce_device_conf dev_conf = {.conn_retry_ms = 10,
		.conn_retry_max_ms = 20,
		.conn_retries = 2,
		.conn_timeout = 12};
	struct uroce_cm_counters counters;
	struct uroce_conn_conf conf;
	struct uroce_conn *client;
	uint64_t took_ns = 0;

	start_on(&dev_conf);
	pair.links[1].loss_percent = 100;
	conf = to_peer(new_qp(0, UROCE_QP_RC));
	client = ask(&conf);
	CU_ASSERT_TRUE_FATAL(next(0, &took_ns));
	CU_ASSERT_EQUAL(event.type, UROCE_CONN_UNREACHABLE);
	CU_ASSERT_TRUE(took_ns >= 50ull * NS_PER_MS && took_ns < 52ull * NS_PER_MS);
	uroce_conn_counters(pair.side[0].dev, &counters);
	CU_ASSERT_EQUAL(counters.tx_req, 3);
	CU_ASSERT_EQUAL(counters.tx_retries, 2);
	destroy(client);
	stop();
}

/* Requests that nobody answers are as many as the backlog; the next is told to try later. */
static void a_full_backlog_refuses(void)
{
	struct uroce_conn *listener, *clients[3];

	start();
	listener = listen_on(1, &(struct uroce_conn_listen_conf){.port = PORT, .backlog = 2});
	for (int i = 0; i < 3; i++) {
		const struct uroce_conn_conf conf = to_peer(new_qp(0, UROCE_QP_RC));

		clients[i] = ask(&conf);
	}
	expect(0, UROCE_CONN_REJECTED);
	CU_ASSERT_EQUAL(event.error, -EAGAIN);
	CU_ASSERT_STRING_EQUAL(event.words,
		"192.0.2.2 refused: the peer has no room for one more connection (reason 3)");
	/* The listener goes: those that nobody has seen are refused. */
	expect(1, UROCE_CONN_REQUEST);
	uroce_conn_destroy(listener);
	uroce_conn_destroy(event.conn);
	CU_ASSERT_EQUAL(uroce_conn_poll(channels[1], &event), 0);
	expect(0, UROCE_CONN_REJECTED);
	expect(0, UROCE_CONN_REJECTED);
	for (int i = 0; i < 3; i++)
		destroy(clients[i]);
	stop();
}

/* The peer accepts, and here the queue pair has gone to where it cannot be connected from. */
static void a_queue_pair_that_will_not_move_is_an_error(void)
{
	const struct uroce_qp_modify_attr error = {.state = UROCE_QP_ERR};
	struct uroce_conn *listener, *client, *server;
	struct uroce_conn_conf conf, mine = {0};

	start();
	listener = listen_tcp(1);
	conf = to_peer(new_qp(0, UROCE_QP_RC));
	client = ask(&conf);
	CU_ASSERT_EQUAL(uroce_qp_modify(conf.qp, &error, UROCE_QP_ATTR_STATE), 0);
	expect(1, UROCE_CONN_REQUEST);
	server = event.conn;
	mine.qp = new_qp(1, UROCE_QP_RC);
	CU_ASSERT_EQUAL_FATAL(uroce_conn_accept(server, &mine), 0);
	expect(0, UROCE_CONN_ERROR);
	CU_ASSERT_EQUAL(event.error, -EINVAL);
	CU_ASSERT_STRING_EQUAL(event.words,
		"192.0.2.2 accepted, but the queue pair could not be "
		"connected: Invalid argument");
	expect(1, UROCE_CONN_REJECTED);
	CU_ASSERT_EQUAL(state_of(mine.qp), UROCE_QP_ERR);
	destroy(client);
	destroy(server);
	uroce_conn_destroy(listener);
	stop();
}

/* The client is gone when the server answers. */
static void a_client_that_has_gone_is_not_connected(void)
{
	struct uroce_conn *listener, *client, *server;
	struct uroce_conn_conf conf, mine = {0};

	start();
	listener = listen_tcp(1);
	conf = to_peer(new_qp(0, UROCE_QP_RC));
	client = ask(&conf);
	expect(1, UROCE_CONN_REQUEST);
	server = event.conn;
	destroy(client);
	turns(10);
	mine.qp = new_qp(1, UROCE_QP_RC);
	CU_ASSERT_EQUAL(uroce_conn_accept(server, &mine), -ENOTCONN);
	CU_ASSERT_PTR_NULL(uroce_conn_qp(server));
	expect(1, UROCE_CONN_REJECTED);
	CU_ASSERT_EQUAL(uroce_qp_destroy(mine.qp), 0);
	uroce_conn_destroy(server);
	uroce_conn_destroy(listener);
	stop();
}

static void calls_that_make_no_sense_are_refused(void)
{
	struct uroce_conn *listener, *other = NULL;
	struct uroce_qp *theirs;
	struct uroce_conn_conf conf;
	struct uroce_conn_listen_conf listen = {0};

	start();
	theirs = new_qp(1, UROCE_QP_RC);
	conf = to_peer(NULL);
	CU_ASSERT_EQUAL(uroce_conn_connect(channels[0], &conf, &other), -EINVAL);
	conf = to_peer(theirs);
	CU_ASSERT_EQUAL(uroce_conn_connect(channels[0], &conf, &other), -EINVAL);
	conf = to_peer(new_qp(0, UROCE_QP_RC));
#define REFUSED(field, value, error) \
	do { \
		struct uroce_conn_conf bad = conf; \
		bad.field = (value); \
		CU_ASSERT_EQUAL(uroce_conn_connect(channels[0], &bad, &other), error); \
	} while (0)
	REFUSED(addr, NULL, -EINVAL);
	REFUSED(addr, "192.0.2", -EINVAL);
	REFUSED(addr, "224.0.0.1", -EINVAL);
	REFUSED(port, 0, -EINVAL);
	REFUSED(local_addr, "here", -EINVAL);
	REFUSED(local_addr, "192.0.2.3", -EADDRNOTAVAIL);
	REFUSED(local_addr, "2001:db8::1", -EADDRNOTAVAIL);
	REFUSED(private_bytes, 57, -EINVAL);
	REFUSED(mtu_bytes, 1000, -EINVAL);
	REFUSED(timeout, 32, -EINVAL);
	REFUSED(retry_cnt, 8, -EINVAL);
#undef REFUSED
	CU_ASSERT_EQUAL(uroce_conn_listen(channels[1], &listen, &other), -EINVAL);
	listen.port = PORT;
	listen.addr = "192.0.2.";
	CU_ASSERT_EQUAL(uroce_conn_listen(channels[1], &listen, &other), -EINVAL);
	listen.addr = "192.0.2.1";
	CU_ASSERT_EQUAL(uroce_conn_listen(channels[1], &listen, &other), -EADDRNOTAVAIL);
	listen.addr = "192.0.2.2";
	listener = listen_on(1, &listen);
	CU_ASSERT_EQUAL(uroce_conn_listen(channels[1], &listen, &other), -EADDRINUSE);
	/* A listener is no connection. */
	CU_ASSERT_EQUAL(uroce_conn_disconnect(listener), -ENOTCONN);
	CU_ASSERT_EQUAL(uroce_conn_reject(listener, NULL, 0), -ENOTCONN);
	CU_ASSERT_EQUAL(uroce_conn_accept(listener, &conf), -EINVAL);
	CU_ASSERT_EQUAL(uroce_qp_destroy(conf.qp), 0);
	conf.qp = NULL;
	CU_ASSERT_EQUAL(uroce_conn_accept(listener, &conf), -EINVAL);
	conf.qp = theirs;
	CU_ASSERT_EQUAL(uroce_conn_accept(listener, &conf), -ENOTCONN);
	CU_ASSERT_PTR_NULL(uroce_conn_qp(listener));
	CU_ASSERT_EQUAL(uroce_conn_channel_destroy(channels[1]), -EBUSY);
	uroce_conn_destroy(listener);
	CU_ASSERT_EQUAL(uroce_qp_destroy(theirs), 0);
	CU_ASSERT_STRING_EQUAL(uroce_conn_event_name((enum uroce_conn_event_type)0), "?");
	stop();
}

int main(void)
{
	static const struct unit_case cases[] = {
		{"nobody listens", nobody_listens},
		{"the peer rejects", the_peer_rejects},
		{"nobody has the address", nobody_has_the_address},
		{"the host does not answer", the_host_does_not_answer},
		{"retries are what the device was opened with",
			retries_are_what_the_device_was_opened_with},
		{"a full backlog refuses", a_full_backlog_refuses},
		{"a queue pair that will not move is an error",
			a_queue_pair_that_will_not_move_is_an_error},
		{"a client that has gone is not connected",
			a_client_that_has_gone_is_not_connected},
		{"calls that make no sense are refused", calls_that_make_no_sense_are_refused},
	};

	return run_suite("cm_error", cases, sizeof(cases) / sizeof(cases[0]));
}
