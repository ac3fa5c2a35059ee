/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Connection management of the public API: connections, datagram services, neighbours.
 */
#include "cm_rig.h"

static void both_sides_connect_and_data_flows(void)
{
	const struct uroce_conn_listen_conf listen = {.port = PORT, .context = &pair};
	struct uroce_conn *listener, *client, *server;
	struct uroce_conn_conf conf, mine = {.private_data = "welcome", .private_bytes = 7};

	start();
	listener = listen_on(1, &listen);
	conf = to_peer(new_qp(0, UROCE_QP_RC));
	conf.private_data = "hello";
	conf.private_bytes = 5;
	conf.context = &conf;
	client = ask(&conf);
	expect(1, UROCE_CONN_REQUEST);
	server = event.conn;
	CU_ASSERT_PTR_EQUAL(event.listener, listener);
	CU_ASSERT_PTR_EQUAL(event.context, &pair);
	CU_ASSERT_EQUAL(event.local_port, PORT);
	CU_ASSERT_TRUE(event.remote_port >= 49152);
	CU_ASSERT_EQUAL(event.remote_qpn, uroce_qp_number(conf.qp));
	CU_ASSERT_EQUAL(event.private_bytes, UROCE_CONN_CONNECT_PRIVATE_BYTES);
	CU_ASSERT_STRING_EQUAL((char *)event.private_data, "hello");
	CU_ASSERT_FALSE(event.datagrams);
	mine.qp = new_qp(1, UROCE_QP_RC);
	mine.context = &mine;
	CU_ASSERT_EQUAL_FATAL(uroce_conn_accept(server, &mine), 0);
	CU_ASSERT_EQUAL(state_of(mine.qp), UROCE_QP_RTS);
	expect(0, UROCE_CONN_ESTABLISHED);
	CU_ASSERT_PTR_EQUAL(event.conn, client);
	CU_ASSERT_PTR_EQUAL(event.context, &conf);
	CU_ASSERT_EQUAL(event.error, 0);
	CU_ASSERT_EQUAL(event.path_mtu_bytes, 4096);
	CU_ASSERT_EQUAL(event.max_rd_atomic, 16);
	CU_ASSERT_EQUAL(event.max_dest_rd_atomic, 16);
	CU_ASSERT_EQUAL(event.remote_qpn, uroce_qp_number(mine.qp));
	CU_ASSERT_EQUAL(event.private_bytes, UROCE_CONN_ACCEPT_PRIVATE_BYTES);
	CU_ASSERT_STRING_EQUAL((char *)event.private_data, "welcome");
	CU_ASSERT_STRING_EQUAL(event.words, "connected to 192.0.2.2 port 7471");
	CU_ASSERT_EQUAL(state_of(conf.qp), UROCE_QP_RTS);
	data_flows(conf.qp);
	expect(1, UROCE_CONN_ESTABLISHED);
	CU_ASSERT_PTR_EQUAL(event.conn, server);
	CU_ASSERT_PTR_EQUAL(event.context, &mine);
	CU_ASSERT_PTR_EQUAL(uroce_conn_qp(server), mine.qp);
	destroy(client);
	destroy(server);
	uroce_conn_destroy(listener);
	stop();
}

/* What each end asked for, and the other can. */
static void attributes_are_what_both_sides_can(void)
{
	struct uroce_qp_modify_attr attr;
	struct uroce_peer local[2];
	struct uroce_conn *listener, *client, *server;
	struct uroce_conn_conf conf,
		mine = {.max_rd_atomic = 1,
			.max_dest_rd_atomic = UROCE_TIMEOUT_NONE,
			.rnr_retry = 5,
			.min_rnr_timer = 20,
			.access = UROCE_ACCESS_REMOTE_READ};

	start();
	listener = listen_tcp(1);
	conf = to_peer(new_qp(0, UROCE_QP_RC));
	conf.mtu_bytes = 1024;
	conf.timeout = 17;
	conf.retry_cnt = 4;
	conf.rnr_retry = UROCE_RNR_RETRY_NONE;
	conf.max_rd_atomic = 9;
	conf.max_dest_rd_atomic = 2;
	uroce_qp_local(conf.qp, &local[0]);
	client = ask(&conf);
	expect(1, UROCE_CONN_REQUEST);
	CU_ASSERT_EQUAL(event.max_rd_atomic, 2);
	CU_ASSERT_EQUAL(event.max_dest_rd_atomic, 9);
	CU_ASSERT_EQUAL(event.path_mtu_bytes, 1024);
	server = event.conn;
	mine.qp = new_qp(1, UROCE_QP_RC);
	uroce_qp_local(mine.qp, &local[1]);
	CU_ASSERT_EQUAL_FATAL(uroce_conn_accept(server, &mine), 0);
	expect(0, UROCE_CONN_ESTABLISHED);
	CU_ASSERT_EQUAL(uroce_qp_query(conf.qp, &attr), 0);
	/* What REQ and REP say is where their senders begin to receive, as Linux has it. */
	CU_ASSERT_EQUAL(attr.rq_psn, local[0].psn);
	CU_ASSERT_EQUAL(attr.sq_psn, local[1].psn);
	CU_ASSERT_EQUAL(attr.path_mtu_bytes, 1024);
	CU_ASSERT_EQUAL(attr.timeout, 17);
	CU_ASSERT_EQUAL(attr.retry_cnt, 4);
	CU_ASSERT_EQUAL(attr.rnr_retry, 5);
	CU_ASSERT_EQUAL(attr.max_rd_atomic, 0);
	CU_ASSERT_EQUAL(attr.max_dest_rd_atomic, 1);
	CU_ASSERT_EQUAL(attr.dest_qpn, uroce_qp_number(mine.qp));
	CU_ASSERT_EQUAL(uroce_qp_query(mine.qp, &attr), 0);
	CU_ASSERT_EQUAL(attr.rq_psn, local[1].psn);
	CU_ASSERT_EQUAL(attr.sq_psn, local[0].psn);
	CU_ASSERT_EQUAL(attr.path_mtu_bytes, 1024);
	CU_ASSERT_EQUAL(attr.timeout, 17);
	CU_ASSERT_EQUAL(attr.retry_cnt, 4);
	CU_ASSERT_EQUAL(attr.rnr_retry, 0);
	CU_ASSERT_EQUAL(attr.min_rnr_timer, 20);
	CU_ASSERT_EQUAL(attr.max_rd_atomic, 1);
	CU_ASSERT_EQUAL(attr.max_dest_rd_atomic, 0);
	CU_ASSERT_EQUAL(attr.access, UROCE_ACCESS_REMOTE_READ);
	destroy(client);
	destroy(server);
	uroce_conn_destroy(listener);
	stop();
}

static void either_side_ends_it(void)
{
	struct uroce_conn *listener, *conns[2];
	struct uroce_qp *qp;

	start();
	listener = listen_tcp(1);
	for (int who = 0; who < 2; who++) {
		connect_two(conns);
		CU_ASSERT_EQUAL(uroce_conn_disconnect(conns[who]), 0);
		CU_ASSERT_EQUAL(state_of(uroce_conn_qp(conns[who])), UROCE_QP_ERR);
		expect(1 - who, UROCE_CONN_DISCONNECTED);
		CU_ASSERT_PTR_EQUAL(event.conn, conns[1 - who]);
		CU_ASSERT_EQUAL(state_of(uroce_conn_qp(conns[1 - who])), UROCE_QP_ERR);
		expect(who, UROCE_CONN_DISCONNECTED);
		CU_ASSERT_EQUAL(uroce_conn_disconnect(conns[who]), -ENOTCONN);
		expect(who, UROCE_CONN_TIMEWAIT_EXIT);
		expect(1 - who, UROCE_CONN_TIMEWAIT_EXIT);
		destroy(conns[0]);
		destroy(conns[1]);
	}
	/* Both at once; and one that is destroyed without a word tells the other. */
	connect_two(conns);
	CU_ASSERT_EQUAL(uroce_conn_disconnect(conns[0]), 0);
	CU_ASSERT_EQUAL(uroce_conn_disconnect(conns[1]), 0);
	expect(0, UROCE_CONN_DISCONNECTED);
	expect(1, UROCE_CONN_DISCONNECTED);
	destroy(conns[0]);
	destroy(conns[1]);
	connect_two(conns);
	qp = uroce_conn_qp(conns[1]);
	uroce_conn_destroy(conns[1]);
	CU_ASSERT_EQUAL(state_of(qp), UROCE_QP_ERR);
	CU_ASSERT_EQUAL(uroce_qp_destroy(qp), 0);
	expect(0, UROCE_CONN_DISCONNECTED);
	CU_ASSERT_STRING_EQUAL(event.words, "disconnected from 192.0.2.2 port 7471");
	destroy(conns[0]);
	uroce_conn_destroy(listener);
	stop();
}

static void a_queue_pair_is_connected_again_after_timewait(void)
{
	const struct uroce_qp_modify_attr reset = {.state = UROCE_QP_RESET};
	struct uroce_conn *listener, *conns[2], *other = NULL;
	struct uroce_conn_conf conf, mine = {0};
	struct uroce_qp *qp;

	start();
	listener = listen_tcp(1);
	connect_two(conns);
	qp = uroce_conn_qp(conns[0]);
	conf = to_peer(qp);
	CU_ASSERT_EQUAL(uroce_conn_connect(channels[0], &conf, &other), -EADDRINUSE);
	CU_ASSERT_EQUAL(uroce_qp_destroy(qp), -EBUSY);
	CU_ASSERT_EQUAL(uroce_conn_disconnect(conns[0]), 0);
	expect(0, UROCE_CONN_DISCONNECTED);
	expect(1, UROCE_CONN_DISCONNECTED);
	destroy(conns[1]);
	expect(0, UROCE_CONN_TIMEWAIT_EXIT);
	uroce_conn_destroy(conns[0]);
	CU_ASSERT_EQUAL(uroce_conn_connect(channels[0], &conf, &other), -EINVAL);
	CU_ASSERT_EQUAL(uroce_qp_modify(qp, &reset, UROCE_QP_ATTR_STATE), 0);
	conns[0] = ask(&conf);
	expect(1, UROCE_CONN_REQUEST);
	conns[1] = event.conn;
	mine.qp = new_qp(1, UROCE_QP_RC);
	CU_ASSERT_EQUAL_FATAL(uroce_conn_accept(conns[1], &mine), 0);
	expect(0, UROCE_CONN_ESTABLISHED);
	data_flows(qp);
	destroy(conns[0]);
	destroy(conns[1]);
	uroce_conn_destroy(listener);
	stop();
}

static void unreliable_connections_and_ipv6_work_too(void)
{
	struct uroce_conn *listener, *client, *server;
	struct uroce_conn_conf conf, mine = {0};

	start();
	listener = listen_tcp(1);
	conf = to_peer(new_qp(0, UROCE_QP_UC));
	conf.addr = "2001:db8::2";
	client = ask(&conf);
	expect(1, UROCE_CONN_REQUEST);
	CU_ASSERT_EQUAL(event.remote_gid[0], 0x20);
	CU_ASSERT_EQUAL(event.remote_gid[15], 1);
	CU_ASSERT_EQUAL(event.local_gid[15], 2);
	server = event.conn;
	mine.qp = new_qp(1, UROCE_QP_RC);
	CU_ASSERT_EQUAL(uroce_conn_accept(server, &mine), -EINVAL);
	CU_ASSERT_EQUAL(uroce_qp_destroy(mine.qp), 0);
	mine.qp = new_qp(1, UROCE_QP_UC);
	CU_ASSERT_EQUAL_FATAL(uroce_conn_accept(server, &mine), 0);
	expect(0, UROCE_CONN_ESTABLISHED);
	CU_ASSERT_STRING_EQUAL(event.words, "connected to 2001:db8::2 port 7471");
	data_flows(conf.qp);
	destroy(client);
	destroy(server);
	uroce_conn_destroy(listener);
	stop();
}

/* ---- devices with two addresses of one net ---- */

struct two {
	struct uroce_device *dev;
	struct memlink link;
	struct uroce_pd *pd;
	struct uroce_cq *cq;
	struct uroce_qp *qp;
};

static struct two twos[2];

static void open_two(int who)
{
	static const uint8_t macs[2][6] = {{2, 0, 0, 0, 0, 1}, {2, 0, 0, 0, 0, 2}};
	static const char *const addrs[2] = {
		"192.0.2.1/24,192.0.2.11/24", "192.0.2.2/24,192.0.2.12/24"};
	static const char *const peers[2] = {"192.0.2.12", "192.0.2.11"};
	const struct uroce_device_conf dev_conf = {.addr = addrs[who]};
	struct uroce_qp_conf qp_conf = {0};
	struct two *two = &twos[who];

	two->dev = memlink_open(&two->link, (unsigned int)who + 1, &dev_conf);
	CU_ASSERT_EQUAL(uroce_device_neighbour_set(two->dev, peers[who], macs[1 - who]), 0);
	CU_ASSERT_EQUAL(uroce_conn_channel_create(two->dev, &channels[who]), 0);
	CU_ASSERT_EQUAL(uroce_pd_create(two->dev, &two->pd), 0);
	CU_ASSERT_EQUAL(uroce_cq_create(two->dev, 64, &two->cq), 0);
	qp_conf.send_cq = qp_conf.recv_cq = two->cq;
	CU_ASSERT_EQUAL(uroce_qp_create(two->pd, &qp_conf, &two->qp), 0);
}

static void close_two(int who)
{
	struct two *two = &twos[who];

	CU_ASSERT_EQUAL(uroce_qp_destroy(two->qp), 0);
	CU_ASSERT_EQUAL(uroce_cq_destroy(two->cq), 0);
	CU_ASSERT_EQUAL(uroce_pd_destroy(two->pd), 0);
	CU_ASSERT_EQUAL(uroce_conn_channel_destroy(channels[who]), 0);
	CU_ASSERT_EQUAL(uroce_device_close(two->dev), 0);
}

static void expect_of_two(int who, enum uroce_conn_event_type type)
{
	int got = 0;

	for (int i = 0; i < 100 && !got; i++) {
		uroce_worker_poll(uroce_device_worker(twos[0].dev, 0));
		uroce_worker_poll(uroce_device_worker(twos[1].dev, 0));
		got = uroce_conn_poll(channels[who], &event);
	}
	CU_ASSERT_EQUAL_FATAL(got, 1);
	CU_ASSERT_EQUAL(event.type, type);
}

/* An empty write, from one to the other. */
static void data_flows_of_two(void)
{
	const struct uroce_send_wr wr = {
		.opcode = UROCE_WR_RDMA_WRITE, .flags = UROCE_SEND_SIGNALED};
	struct uroce_wc wc = {.status = UROCE_STATUS_GENERAL_ERR};

	CU_ASSERT_EQUAL(uroce_post_send(twos[0].qp, &wr, 1), 1);
	for (int i = 0; i < 100 && uroce_cq_poll(twos[0].cq, &wc, 1) == 0; i++) {
		uroce_worker_poll(uroce_device_worker(twos[0].dev, 0));
		uroce_worker_poll(uroce_device_worker(twos[1].dev, 0));
	}
	CU_ASSERT_EQUAL(wc.status, UROCE_STATUS_SUCCESS);
}

/* Who is asked on the second answers from that, and so do the queue pairs. */
static void any_own_address_can_be_connected_to(void)
{
	const struct uroce_conn_listen_conf second = {
		.port = PORT, .addr = "192.0.2.12", .context = twos};
	struct uroce_conn *any, *listener, *client, *server;
	struct uroce_conn_conf conf, mine = {0};

	memlink_init(&twos[0].link, &twos[1].link);
	open_two(0);
	open_two(1);
	any = listen_tcp(1);
	listener = listen_on(1, &second);
	conf = to_peer(twos[0].qp);
	conf.addr = "192.0.2.12";
	conf.local_addr = "192.0.2.13";
	CU_ASSERT_EQUAL(uroce_conn_connect(channels[0], &conf, &client), -EADDRNOTAVAIL);
	conf.local_addr = "192.0.2.11";
	client = ask(&conf);
	expect_of_two(1, UROCE_CONN_REQUEST);
	CU_ASSERT_PTR_EQUAL(event.listener, listener);
	CU_ASSERT_EQUAL(event.remote_gid[15], 11);
	CU_ASSERT_EQUAL(event.local_gid[15], 12);
	server = event.conn;
	mine.qp = twos[1].qp;
	CU_ASSERT_EQUAL(uroce_conn_accept(server, &mine), 0);
	expect_of_two(0, UROCE_CONN_ESTABLISHED);
	data_flows_of_two();
	uroce_conn_destroy(client);
	uroce_conn_destroy(server);
	uroce_conn_destroy(any);
	uroce_conn_destroy(listener);
	close_two(0);
	close_two(1);
	memlink_fini(&twos[0].link, &twos[1].link);
}

/* ---- datagrams and neighbours ---- */

static void a_datagram_service_is_asked_for(void)
{
	struct uroce_conn_listen_conf listen = {.port = PORT, .datagrams = true};
	struct uroce_conn *listener, *client, *server;
	struct uroce_conn_conf conf, mine = {.private_data = "here", .private_bytes = 4};
	struct uroce_sge sge;
	struct uroce_send_wr wr;
	struct uroce_recv_wr recv;
	struct uroce_ah *ah;
	struct uroce_wc wc;

	start();
	/* The same port for connections is another's. */
	listener = listen_on(1, &listen);
	conf = to_peer(new_qp(0, UROCE_QP_UD));
	conf.private_data = "where";
	conf.private_bytes = 5;
	CU_ASSERT_EQUAL(uroce_qp_open_datagrams(conf.qp, 0x11), 0);
	client = ask(&conf);
	expect(1, UROCE_CONN_REQUEST);
	CU_ASSERT_TRUE(event.datagrams);
	CU_ASSERT_EQUAL(event.private_bytes, UROCE_CONN_ASK_PRIVATE_BYTES);
	CU_ASSERT_STRING_EQUAL((char *)event.private_data, "where");
	server = event.conn;
	mine.qp = new_qp(1, UROCE_QP_UD);
	CU_ASSERT_EQUAL(uroce_conn_accept(server, &mine), -EINVAL);
	CU_ASSERT_EQUAL(uroce_qp_open_datagrams(mine.qp, 0x01234567), 0);
	sge = pair_sge(&pair, 1, 0, 1024);
	recv = (struct uroce_recv_wr){.sge = &sge, .num_sge = 1};
	CU_ASSERT_EQUAL(uroce_post_recv(mine.qp, &recv, 1), 1);
	CU_ASSERT_EQUAL_FATAL(uroce_conn_accept(server, &mine), 0);
	uroce_conn_destroy(server);
	expect(0, UROCE_CONN_ESTABLISHED);
	CU_ASSERT_TRUE(event.datagrams);
	CU_ASSERT_EQUAL(event.remote_qpn, uroce_qp_number(mine.qp));
	CU_ASSERT_EQUAL(event.remote_qkey, 0x01234567);
	CU_ASSERT_EQUAL(event.private_bytes, UROCE_CONN_ANSWER_PRIVATE_BYTES);
	CU_ASSERT_STRING_EQUAL((char *)event.private_data, "here");
	CU_ASSERT_EQUAL_FATAL(uroce_ah_create(pair.side[0].pd, &event.ah, &ah), 0);
	sge = pair_sge(&pair, 0, 0, 100);
	wr = (struct uroce_send_wr){.opcode = UROCE_WR_SEND,
		.sge = &sge,
		.num_sge = 1,
		.ud = {ah, event.remote_qpn, event.remote_qkey}};
	CU_ASSERT_EQUAL(uroce_post_send(conf.qp, &wr, 1), 1);
	CU_ASSERT_TRUE(pair_wait(&pair, 1, &wc, 100));
	CU_ASSERT_EQUAL(wc.status, UROCE_STATUS_SUCCESS);
	CU_ASSERT_EQUAL(wc.byte_len, 140);
	CU_ASSERT_EQUAL(wc.src_qpn, uroce_qp_number(conf.qp));
	CU_ASSERT_EQUAL(uroce_ah_destroy(ah), 0);
	uroce_conn_destroy(client);
	uroce_conn_destroy(listener);
	CU_ASSERT_EQUAL(uroce_qp_destroy(conf.qp), 0);
	CU_ASSERT_EQUAL(uroce_qp_destroy(mine.qp), 0);
	stop();
}

static void a_datagram_service_is_refused(void)
{
	struct uroce_conn_listen_conf listen = {.port = PORT, .datagrams = true};
	struct uroce_conn *listener, *client;
	struct uroce_conn_conf conf;

	start();
	conf = to_peer(new_qp(0, UROCE_QP_UD));
	client = ask(&conf);
	expect(0, UROCE_CONN_REJECTED);
	CU_ASSERT_EQUAL(event.error, -ECONNREFUSED);
	CU_ASSERT_STRING_EQUAL(event.words, "192.0.2.2: nobody listens on port 7471");
	uroce_conn_destroy(client);
	listener = listen_on(1, &listen);
	client = ask(&conf);
	expect(1, UROCE_CONN_REQUEST);
	CU_ASSERT_EQUAL(uroce_conn_reject(event.conn, "no", 2), 0);
	uroce_conn_destroy(event.conn);
	expect(0, UROCE_CONN_REJECTED);
	CU_ASSERT_EQUAL(event.error, -EACCES);
	CU_ASSERT_STRING_EQUAL((char *)event.private_data, "no");
	uroce_conn_destroy(client);
	uroce_conn_destroy(listener);
	/* Nobody there: as for a connection. */
	pair.side[0].dev->resolves = true;
	conf.addr = "192.0.2.77";
	client = ask(&conf);
	expect(0, UROCE_CONN_UNREACHABLE);
	CU_ASSERT_EQUAL(event.error, -EHOSTUNREACH);
	uroce_conn_destroy(client);
	conf.addr = "192.0.2.2";
	pair.links[1].loss_percent = 100;
	client = ask(&conf);
	expect(0, UROCE_CONN_UNREACHABLE);
	CU_ASSERT_EQUAL(event.error, -ETIMEDOUT);
	uroce_conn_destroy(client);
	CU_ASSERT_EQUAL(uroce_qp_destroy(conf.qp), 0);
	stop();
}

static void a_neighbour_is_asked_for(void)
{
	static const uint8_t mac[6] = {2, 0, 0, 0, 0, 9};
	struct uroce_conn_conf conf = {.addr = "192.0.2.2", .context = &conf}, there;
	struct uroce_conn *known, *late[2], *never, *client;
	uint64_t took_ns = 0;

	start();
	pair.side[0].dev->resolves = true;
	CU_ASSERT_EQUAL(uroce_conn_resolve(channels[0], &conf, &known), 0);
	conf.addr = "192.0.2.9";
	CU_ASSERT_EQUAL(uroce_conn_resolve(channels[0], &conf, &late[0]), 0);
	CU_ASSERT_EQUAL(uroce_conn_resolve(channels[0], &conf, &late[1]), 0);
	conf.addr = "192.0.2.10";
	CU_ASSERT_EQUAL(uroce_conn_resolve(channels[0], &conf, &never), 0);
	conf.addr = "nobody";
	CU_ASSERT_EQUAL(uroce_conn_resolve(channels[0], &conf, &never), -EINVAL);
	/* Who connects there meanwhile hears from the peer alone: here nothing, yet. */
	there = to_peer(new_qp(0, UROCE_QP_RC));
	there.addr = "192.0.2.9";
	client = ask(&there);
	expect(0, UROCE_CONN_ROUTE_RESOLVED);
	CU_ASSERT_PTR_EQUAL(event.conn, known);
	CU_ASSERT_PTR_EQUAL(event.context, &conf);
	CU_ASSERT_STRING_EQUAL(event.words, "192.0.2.2 is there");
	turns(100);
	CU_ASSERT_EQUAL(uroce_conn_poll(channels[0], &event), 0);
	CU_ASSERT_EQUAL(uroce_device_neighbour_set(pair.side[0].dev, "192.0.2.9", mac), 0);
	for (int i = 0; i < 2; i++) {
		CU_ASSERT_TRUE_FATAL(next(0, &took_ns));
		CU_ASSERT_EQUAL(event.type, UROCE_CONN_ROUTE_RESOLVED);
		CU_ASSERT_TRUE(event.conn == late[0] || event.conn == late[1]);
		CU_ASSERT_EQUAL(event.remote_gid[15], 9);
		CU_ASSERT_TRUE(took_ns < NS_PER_MS);
	}
	turns(100);
	CU_ASSERT_EQUAL(uroce_conn_poll(channels[0], &event), 0);
	destroy(client);
	expect(0, UROCE_CONN_UNREACHABLE);
	CU_ASSERT_PTR_EQUAL(event.conn, never);
	CU_ASSERT_EQUAL(event.error, -EHOSTUNREACH);
	CU_ASSERT_EQUAL(uroce_conn_poll(channels[0], &event), 0);
	uroce_conn_destroy(known);
	uroce_conn_destroy(late[0]);
	uroce_conn_destroy(late[1]);
	uroce_conn_destroy(never);
	stop();
}

int main(void)
{
	static const struct unit_case cases[] = {
		{"both sides connect and data flows", both_sides_connect_and_data_flows},
		{"attributes are what both sides can", attributes_are_what_both_sides_can},
		{"either side ends it", either_side_ends_it},
		{"a queue pair is connected again after TIMEWAIT",
			a_queue_pair_is_connected_again_after_timewait},
		{"unreliable connections and IPv6 work too",
			unreliable_connections_and_ipv6_work_too},
		{"any own address can be connected to", any_own_address_can_be_connected_to},
		{"a datagram service is asked for", a_datagram_service_is_asked_for},
		{"a datagram service is refused", a_datagram_service_is_refused},
		{"a neighbour is asked for", a_neighbour_is_asked_for},
	};

	return run_suite("cm", cases, sizeof(cases) / sizeof(cases[0]));
}
