/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Connection management of the public API: from birth to death, at each stage, over links that
 * lose, on several channels; what is left over is refused, and nothing leaks.
 */
#include "cm_rig.h"

enum {
	STAGES = 40
};

/* ---- ends at each stage ---- */

/*
 * A connection that is to be, and what both sides do about it: poll, accept, disconnect in the end.
 * After `stage` turns it stops.
 */
static void live(int stage, struct uroce_conn *conns[2])
{
	for (int i = 0; i < stage; i++) {
		turn();
		while (uroce_conn_poll(channels[1], &event)) {
			const struct uroce_conn_conf mine = {.qp = new_qp(1, UROCE_QP_RC)};

			if (event.type == UROCE_CONN_REQUEST) {
				conns[1] = event.conn;
				if (uroce_conn_accept(event.conn, &mine) == 0)
					continue;
			}
			CU_ASSERT_EQUAL(uroce_qp_destroy(mine.qp), 0);
		}
		while (uroce_conn_poll(channels[0], &event))
			if (event.type == UROCE_CONN_ESTABLISHED)
				CU_ASSERT_EQUAL(uroce_conn_disconnect(event.conn), 0);
	}
}

/* Destroys what is there, in the order that `order` says. */
static void end(int order, struct uroce_conn *listener, struct uroce_conn *conns[2])
{
	static const int orders[3][3] = {{0, 1, 2}, {2, 1, 0}, {1, 2, 0}};

	for (int i = 0; i < 3; i++) {
		int what = orders[order][i];

		if (what == 2)
			uroce_conn_destroy(listener);
		else if (conns[what])
			destroy(conns[what]);
	}
}

static void it_may_end_at_each_stage(void)
{
	for (int stage = 0; stage < STAGES; stage++) {
		for (int order = 0; order < 3; order++) {
			struct uroce_conn *conns[2] = {NULL, NULL}, *listener;
			struct uroce_conn_conf conf;

			start();
			listener = listen_tcp(1);
			conf = to_peer(new_qp(0, UROCE_QP_RC));
			conns[0] = ask(&conf);
			live(stage, conns);
			end(order, listener, conns);
			turns(3);
			for (int who = 0; who < 2; who++)
				while (uroce_conn_poll(channels[who], &event))
					if (event.type == UROCE_CONN_REQUEST)
						uroce_conn_destroy(event.conn);
			stop();
		}
	}
}

/* The same, with devices that close while messages are under way. */
static void a_device_closes_with_messages_under_way(void)
{
	for (int stage = 0; stage < 10; stage++) {
		struct uroce_conn *conns[2] = {NULL, NULL}, *listener;
		struct uroce_conn_conf conf;

		start();
		pair.side[0].dev->resolves = true;
		listener = listen_tcp(1);
		conf = to_peer(new_qp(0, UROCE_QP_RC));
		/* One to somebody, and one to nobody, which waits for a MAC. */
		conns[0] = ask(&conf);
		live(stage, conns);
		end(0, listener, conns);
		conf = to_peer(new_qp(0, UROCE_QP_RC));
		conf.addr = "192.0.2.99";
		destroy(ask(&conf));
		conf = (struct uroce_conn_conf){.addr = "192.0.2.98"};
		CU_ASSERT_EQUAL(uroce_conn_resolve(channels[0], &conf, &conns[0]), 0);
		turns(stage % 3);
		uroce_conn_destroy(conns[0]);
		stop();
	}
}

static void what_is_left_over_is_refused(void)
{
	const struct uroce_device_conf open_again = {.addr = "192.0.2.1"};
	struct uroce_conn *listener;
	struct uroce_cm_counters counters;
	struct uroce_device *dev;
	struct memlink links[2];

	/* Never used: all zero. */
	memlink_init(&links[0], &links[1]);
	dev = memlink_open(&links[0], 1, &open_again);
	uroce_conn_counters(dev, &counters);
	CU_ASSERT_EQUAL(counters.rx_mads, 0);
	CU_ASSERT_EQUAL_FATAL(uroce_conn_channel_create(dev, &channels[0]), 0);
	CU_ASSERT_EQUAL_FATAL(uroce_conn_channel_create(dev, &channels[1]), 0);
	listener = listen_tcp(1);
	CU_ASSERT_EQUAL(uroce_device_close(dev), -EBUSY);
	CU_ASSERT_EQUAL(uroce_conn_channel_destroy(channels[1]), -EBUSY);
	uroce_conn_destroy(listener);
	CU_ASSERT_EQUAL(uroce_conn_channel_destroy(channels[1]), 0);
	CU_ASSERT_EQUAL(uroce_device_close(dev), -EBUSY);
	CU_ASSERT_EQUAL(uroce_conn_channel_destroy(channels[0]), 0);
	/* What the library has for itself is no reason. */
	CU_ASSERT_EQUAL(uroce_device_close(dev), 0);
	memlink_fini(&links[0], &links[1]);
}

static void there_are_as_many_as_asked_for(void)
{
	const struct uroce_device_conf dev_conf = {.max_conns = 4};
	struct uroce_conn *conns[4], *fifth;
	struct uroce_conn_conf conf;

	start_on(&dev_conf);
	for (int i = 0; i < 4; i++) {
		conf = to_peer(new_qp(0, UROCE_QP_RC));
		conns[i] = ask(&conf);
	}
	conf = to_peer(new_qp(0, UROCE_QP_RC));
	CU_ASSERT_EQUAL(uroce_conn_connect(channels[0], &conf, &fifth), -ENOMEM);
	CU_ASSERT_EQUAL(uroce_qp_destroy(conf.qp), 0);
	for (int i = 0; i < 4; i++) {
		expect(0, UROCE_CONN_REJECTED);
		destroy(event.conn);
	}
	(void)conns;
	conf = to_peer(new_qp(0, UROCE_QP_RC));
	fifth = ask(&conf);
	destroy(fifth);
	stop();
}

/* ---- channels ---- */

static bool is_readable(struct uroce_conn_channel *channel)
{
	struct pollfd fd = {.fd = uroce_conn_channel_fd(channel), .events = POLLIN};

	return poll(&fd, 1, 0) == 1;
}

/* Two channels of one device: each hears of its own, whoever polls first. */
static void each_channel_hears_of_its_own(void)
{
	struct uroce_conn *listeners[2], *clients[2];
	struct uroce_conn_channel *other;
	struct uroce_conn_conf conf;

	start();
	CU_ASSERT_EQUAL_FATAL(uroce_conn_channel_create(pair.side[1].dev, &other), 0);
	CU_ASSERT_FALSE(is_readable(other));
	CU_ASSERT_FALSE(is_readable(channels[1]));
	listeners[0] = listen_tcp(1);
	CU_ASSERT_EQUAL_FATAL(
		uroce_conn_listen(
			other, &(struct uroce_conn_listen_conf){.port = PORT + 1}, &listeners[1]),
		0);
	conf = to_peer(new_qp(0, UROCE_QP_RC));
	clients[0] = ask(&conf);
	conf = to_peer(new_qp(0, UROCE_QP_RC));
	conf.port = PORT + 1;
	clients[1] = ask(&conf);
	turns(10);
	CU_ASSERT_TRUE(is_readable(other));
	CU_ASSERT_TRUE(is_readable(channels[1]));
	CU_ASSERT_EQUAL(uroce_conn_poll(channels[1], &event), 1);
	CU_ASSERT_PTR_EQUAL(event.listener, listeners[0]);
	uroce_conn_destroy(event.conn);
	CU_ASSERT_EQUAL(uroce_conn_poll(channels[1], &event), 0);
	CU_ASSERT_FALSE(is_readable(channels[1]));
	/* Moved there by the poll of the other, and still told. */
	CU_ASSERT_TRUE(is_readable(other));
	CU_ASSERT_EQUAL(uroce_conn_poll(other, &event), 1);
	CU_ASSERT_PTR_EQUAL(event.listener, listeners[1]);
	uroce_conn_destroy(event.conn);
	CU_ASSERT_EQUAL(uroce_conn_poll(other, &event), 0);
	CU_ASSERT_FALSE(is_readable(other));
	for (int i = 0; i < 2; i++) {
		expect(0, UROCE_CONN_REJECTED);
		destroy(clients[i]);
		uroce_conn_destroy(listeners[i]);
	}
	CU_ASSERT_EQUAL(uroce_conn_channel_destroy(other), 0);
	stop();
}

/* More than one event at once: readable until the last was taken. */
static void a_channel_is_readable_while_it_has_events(void)
{
	struct uroce_conn *clients[3];

	start();
	for (int i = 0; i < 3; i++) {
		const struct uroce_conn_conf conf = to_peer(new_qp(0, UROCE_QP_RC));

		clients[i] = ask(&conf);
	}
	turns(10);
	for (int i = 0; i < 3; i++) {
		CU_ASSERT_TRUE(is_readable(channels[0]));
		CU_ASSERT_EQUAL(uroce_conn_poll(channels[0], &event), 1);
	}
	CU_ASSERT_FALSE(is_readable(channels[0]));
	for (int i = 0; i < 3; i++)
		destroy(clients[i]);
	stop();
}

/* ---- loss ---- */

struct tally {
	int up, refused;
	uint64_t longest_ns;
};

/* One connect over a link that loses, with a server that accepts all. */
static void connect_once(struct tally *tally)
{
	struct uroce_conn_conf conf = to_peer(new_qp(0, UROCE_QP_RC));
	struct uroce_conn *client = ask(&conf);
	uint64_t from_ns = clock_ns;
	bool done = false;

	for (int i = 0; i < TURNS_MAX && !done; i++) {
		turn();
		while (uroce_conn_poll(channels[1], &event)) {
			struct uroce_conn_conf mine = {0};

			if (event.type == UROCE_CONN_REQUEST) {
				mine.qp = new_qp(1, UROCE_QP_RC);
				if (uroce_conn_accept(event.conn, &mine) == 0)
					continue;
				CU_ASSERT_EQUAL(uroce_qp_destroy(mine.qp), 0);
			} else if (event.type != UROCE_CONN_ESTABLISHED) {
				destroy(event.conn);
			}
		}
		done = uroce_conn_poll(channels[0], &event) == 1;
	}
	CU_ASSERT_TRUE_FATAL(done);
	if (event.type != UROCE_CONN_ESTABLISHED)
		tally->refused++;
	else if (clock_ns - from_ns > tally->longest_ns)
		tally->longest_ns = clock_ns - from_ns;
	tally->up += event.type == UROCE_CONN_ESTABLISHED;
	destroy(client);
}

static void drain_server(void)
{
	while (next(1, NULL))
		if (event.type != UROCE_CONN_ESTABLISHED)
			destroy(event.conn);
}

static void one_frame_in_ten_may_be_lost(void)
{
	struct tally tally = {0};
	struct uroce_conn *listener;

	start();
	listener = listen_tcp(1);
	pair.links[0].loss_percent = pair.links[1].loss_percent = 10;
	for (int i = 0; i < 300; i++)
		connect_once(&tally);
	CU_ASSERT_EQUAL(tally.up, 300);
	CU_ASSERT_EQUAL(tally.refused, 0);
	CU_ASSERT_TRUE(tally.longest_ns < 2000000000);
	/* Those whose disconnect was lost as well end for want of an answer. */
	pair.links[0].loss_percent = pair.links[1].loss_percent = 0;
	drain_server();
	uroce_conn_destroy(listener);
	stop();
}

int main(void)
{
	static const struct unit_case cases[] = {
		{"it may end at each stage", it_may_end_at_each_stage},
		{"a device closes with messages under way",
			a_device_closes_with_messages_under_way},
		{"what is left over is refused", what_is_left_over_is_refused},
		{"there are as many as asked for", there_are_as_many_as_asked_for},
		{"each channel hears of its own", each_channel_hears_of_its_own},
		{"a channel is readable while it has events",
			a_channel_is_readable_while_it_has_events},
		{"one frame in ten may be lost", one_frame_in_ten_may_be_lost},
	};

	return run_suite("cm_life", cases, sizeof(cases) / sizeof(cases[0]));
}
