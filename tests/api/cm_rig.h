/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Two devices over a link in memory, each with a channel of connections, for one test program.
 *
 * The clock is the test's own (its linker puts it in the way of clock_gettime), so that what takes
 * seconds takes none.
 */
#ifndef UROCE_TESTS_CM_RIG_H
#define UROCE_TESTS_CM_RIG_H

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <time.h>

#include "conn.h"
#include "cunit_run.h"
#include "pair.h"

enum {
	PORT = 7471,
	STEP_NS = 100000, /* a turn of both */
	NS_PER_MS = 1000000,
	TURNS_MAX = 400000, /* 40 s */
};

int __wrap_clock_gettime(clockid_t clock, struct timespec *ts);

static uint64_t clock_ns;

int __wrap_clock_gettime(clockid_t clock, struct timespec *ts)
{
	(void)clock;
	ts->tv_sec = (time_t)(clock_ns / 1000000000);
	ts->tv_nsec = (long)(clock_ns % 1000000000);
	return 0;
}

static struct pair pair;
static struct uroce_conn_channel *channels[2];
static struct uroce_conn_event event;

static inline void set_neighbours(void)
{
	static const uint8_t macs[2][6] = {{2, 0, 0, 0, 0, 1}, {2, 0, 0, 0, 0, 2}};
	static const char *const addrs[2][2] = {
		{"192.0.2.2", "2001:db8::2"}, {"192.0.2.1", "2001:db8::1"}};

	for (int who = 0; who < 2; who++)
		for (int i = 0; i < 2; i++)
			CU_ASSERT_EQUAL_FATAL(uroce_device_neighbour_set(pair.side[who].dev,
						      addrs[who][i], macs[1 - who]),
				0);
}

static inline void start_on(const struct uroce_device_conf *conf)
{
	clock_ns = 1000000000;
	pair_init_on(&pair, conf, NULL);
	set_neighbours();
	for (int i = 0; i < 2; i++)
		CU_ASSERT_EQUAL_FATAL(uroce_conn_channel_create(pair.side[i].dev, &channels[i]), 0);
}

static inline void start(void)
{
	start_on(NULL);
}

static inline void stop(void)
{
	for (int i = 0; i < 2; i++)
		CU_ASSERT_EQUAL(uroce_conn_channel_destroy(channels[i]), 0);
	pair_fini(&pair);
}

static inline void turn(void)
{
	pair_turn(&pair);
	clock_ns += STEP_NS;
}

static inline void turns(int n)
{
	for (int i = 0; i < n; i++)
		turn();
}

/* The next event of a side, within 40 s; then the time that it took. */
static inline bool next(int who, uint64_t *took_ns)
{
	uint64_t from_ns = clock_ns;

	for (int i = 0; i < TURNS_MAX; i++) {
		if (uroce_conn_poll(channels[who], &event) == 1) {
			if (took_ns)
				*took_ns = clock_ns - from_ns;
			return true;
		}
		turn();
	}
	return false;
}

static inline void expect(int who, enum uroce_conn_event_type type)
{
	CU_ASSERT_TRUE_FATAL(next(who, NULL));
	CU_ASSERT_EQUAL(event.type, type);
	if (event.type != type)
		printf("  %s: %s\n", uroce_conn_event_name(event.type), event.words);
}

static inline struct uroce_qp *new_qp(int who, enum uroce_qp_type type)
{
	const struct uroce_qp_conf conf = {
		.type = type, .send_cq = pair.side[who].cq, .recv_cq = pair.side[who].cq};
	struct uroce_qp *qp;

	CU_ASSERT_EQUAL_FATAL(uroce_qp_create(pair.side[who].pd, &conf, &qp), 0);
	return qp;
}

static inline struct uroce_conn *listen_on(int who, const struct uroce_conn_listen_conf *conf)
{
	struct uroce_conn *listener = NULL;

	CU_ASSERT_EQUAL_FATAL(uroce_conn_listen(channels[who], conf, &listener), 0);
	return listener;
}

static inline struct uroce_conn *listen_tcp(int who)
{
	return listen_on(who, &(struct uroce_conn_listen_conf){.port = PORT});
}

static inline struct uroce_conn_conf to_peer(struct uroce_qp *qp)
{
	return (struct uroce_conn_conf){.addr = "192.0.2.2", .port = PORT, .qp = qp};
}

static inline struct uroce_conn *ask(const struct uroce_conn_conf *conf)
{
	struct uroce_conn *conn = NULL;

	CU_ASSERT_EQUAL_FATAL(uroce_conn_connect(channels[0], conf, &conn), 0);
	return conn;
}

static inline void destroy(struct uroce_conn *conn)
{
	struct uroce_qp *qp = uroce_conn_qp(conn);

	uroce_conn_destroy(conn);
	if (qp)
		CU_ASSERT_EQUAL(uroce_qp_destroy(qp), 0);
}

/* A connection of new queue pairs, from side 0 to a listener of side 1. */
static inline void connect_two(struct uroce_conn *conns[2])
{
	const struct uroce_conn_conf conf = to_peer(new_qp(0, UROCE_QP_RC));
	struct uroce_conn_conf mine = {0};

	conns[0] = ask(&conf);
	expect(1, UROCE_CONN_REQUEST);
	conns[1] = event.conn;
	mine.qp = new_qp(1, UROCE_QP_RC);
	CU_ASSERT_EQUAL_FATAL(uroce_conn_accept(conns[1], &mine), 0);
	expect(0, UROCE_CONN_ESTABLISHED);
	expect(1, UROCE_CONN_ESTABLISHED);
}

static inline enum uroce_qp_state state_of(struct uroce_qp *qp)
{
	struct uroce_qp_modify_attr attr;

	CU_ASSERT_EQUAL_FATAL(uroce_qp_query(qp, &attr), 0);
	return attr.state;
}

/* A write of 64 bytes from side 0, on a queue pair that is connected, arrives. */
static inline void data_flows(struct uroce_qp *qp)
{
	struct uroce_sge sge = pair_sge(&pair, 0, 0, 64);
	const struct uroce_send_wr wr = {.opcode = UROCE_WR_RDMA_WRITE,
		.flags = UROCE_SEND_SIGNALED,
		.sge = &sge,
		.num_sge = 1,
		.rdma = {(uintptr_t)pair.side[1].mem, pair.side[1].mr->rkey}};
	struct uroce_wc wc;

	memset(pair.side[0].mem, 0x5a, 64);
	memset(pair.side[1].mem, 0, 64);
	CU_ASSERT_EQUAL(uroce_post_send(qp, &wr, 1), 1);
	CU_ASSERT_TRUE_FATAL(pair_wait(&pair, 0, &wc, 100));
	CU_ASSERT_EQUAL(wc.status, UROCE_STATUS_SUCCESS);
	CU_ASSERT_EQUAL(memcmp(pair.side[1].mem, pair.side[0].mem, 64), 0);
}

#endif
