/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Two workers on one port: frames arrive at either queue and find their queue pair.
 *
 * The ports are memory rings with two queues each, and the peer sends on queue 0 alone, as a NIC
 * whose hashing does not know RoCE would deliver.
 */
#include <string.h>

#include <rte_eth_ring.h>
#include <rte_ring.h>

#include "cunit_run.h"
#include "sleeper.h"

enum {
	MEM_BYTES = 32768,
	TURNS = 100000,
	QUEUES = 2,
	A_MINUTE_US = 60000000
};

static struct rte_ring *make_ring(const char *name)
{
	return rte_ring_create(name, 1024, SOCKET_ID_ANY, RING_F_SP_ENQ | RING_F_SC_DEQ);
}

/* Two ports, 0 and 1, of two queues each; what one sends on a queue the other gets on the same. */
static bool make_ports(void)
{
	struct rte_ring *a[QUEUES] = {make_ring("a0"), make_ring("a1")};
	struct rte_ring *b[QUEUES] = {make_ring("b0"), make_ring("b1")};

	return a[0] && a[1] && b[0] && b[1] &&
		rte_eth_from_rings("steer_a", a, QUEUES, b, QUEUES, SOCKET_ID_ANY) == 0 &&
		rte_eth_from_rings("steer_b", b, QUEUES, a, QUEUES, SOCKET_ID_ANY) == 1;
}

struct side {
	struct uroce_device *dev;
	struct uroce_pd *pd;
	struct uroce_cq *cq;
	struct uroce_mr *mr;
	uint8_t mem[MEM_BYTES];
};

static struct side sides[2];

static void open_side(int who, uint32_t idle_sleep_us)
{
	struct side *s = &sides[who];
	struct uroce_device_conf conf = {.port_id = (uint16_t)who,
		.num_workers = QUEUES,
		.idle_sleep_us = idle_sleep_us,
		.addr = who ? "192.0.2.2" : "192.0.2.1"};

	CU_ASSERT_EQUAL_FATAL(uroce_device_open(&conf, &s->dev), 0);
	CU_ASSERT_EQUAL_FATAL(uroce_pd_create(s->dev, &s->pd), 0);
	CU_ASSERT_EQUAL_FATAL(uroce_cq_create(s->dev, 64, &s->cq), 0);
	CU_ASSERT_EQUAL_FATAL(uroce_mr_register(s->pd, s->mem, MEM_BYTES,
				      UROCE_ACCESS_LOCAL_WRITE | UROCE_ACCESS_REMOTE_WRITE, &s->mr),
		0);
}

static void close_side(int who)
{
	struct side *s = &sides[who];

	CU_ASSERT_EQUAL(uroce_cq_destroy(s->cq), 0);
	CU_ASSERT_EQUAL(uroce_mr_deregister(s->mr), 0);
	CU_ASSERT_EQUAL(uroce_pd_destroy(s->pd), 0);
	CU_ASSERT_EQUAL(uroce_device_close(s->dev), 0);
}

static struct uroce_qp *make_qp(int who, uint16_t worker)
{
	struct uroce_qp_conf conf = {
		.send_cq = sides[who].cq, .recv_cq = sides[who].cq, .worker = worker};
	struct uroce_qp *qp;

	CU_ASSERT_EQUAL_FATAL(uroce_qp_create(sides[who].pd, &conf, &qp), 0);
	return qp;
}

static void connect_qps(struct uroce_qp *a, struct uroce_qp *b)
{
	struct uroce_peer peer;

	uroce_qp_local(b, &peer);
	CU_ASSERT_EQUAL_FATAL(uroce_qp_connect(a, &peer), 0);
	uroce_qp_local(a, &peer);
	CU_ASSERT_EQUAL_FATAL(uroce_qp_connect(b, &peer), 0);
}

static void poll_all(void)
{
	for (int who = 0; who < 2; who++)
		for (unsigned int w = 0; w < QUEUES; w++)
			uroce_worker_poll(uroce_device_worker(sides[who].dev, w));
}

/* A write from a queue pair of one worker to one of another, across queues. */
static void write_between(uint16_t from_worker, uint16_t to_worker, uint64_t *handed_over)
{
	struct uroce_qp *from = make_qp(0, from_worker), *to = make_qp(1, to_worker);
	struct uroce_sge sge = {sides[0].mem, MEM_BYTES, sides[0].mr->lkey};
	struct uroce_send_wr wr = {.opcode = UROCE_WR_RDMA_WRITE,
		.flags = UROCE_SEND_SIGNALED,
		.sge = &sge,
		.num_sge = 1,
		.rdma = {.remote_addr = (uintptr_t)sides[1].mem, .rkey = sides[1].mr->rkey}};
	struct uroce_counters counters;
	struct uroce_wc wc;
	int n = 0;

	connect_qps(from, to);
	for (int i = 0; i < MEM_BYTES; i++)
		sides[0].mem[i] = (uint8_t)(i * 3 + from_worker + 2 * to_worker);
	CU_ASSERT_EQUAL(uroce_post_send(from, &wr, 1), 1);
	for (int i = 0; n == 0 && i < TURNS; i++) {
		poll_all();
		n = uroce_cq_poll(sides[0].cq, &wc, 1);
	}
	CU_ASSERT_EQUAL(n, 1);
	CU_ASSERT_EQUAL(wc.status, UROCE_STATUS_SUCCESS);
	CU_ASSERT_EQUAL(memcmp(sides[0].mem, sides[1].mem, MEM_BYTES), 0);
	uroce_device_counters(sides[1].dev, &counters);
	*handed_over = counters.rx_handed_over;
	CU_ASSERT_EQUAL(uroce_qp_destroy(from), 0);
	CU_ASSERT_EQUAL(uroce_qp_destroy(to), 0);
}

static void frames_find_the_worker_of_their_queue_pair(void)
{
	uint64_t handed_over;

	open_side(0, 0);
	open_side(1, 0);
	write_between(0, 0, &handed_over);
	CU_ASSERT_EQUAL(handed_over, 0);
	/* Sent on queue 0, received by worker 0, wanted by worker 1. */
	write_between(0, 1, &handed_over);
	CU_ASSERT_TRUE(handed_over >= MEM_BYTES / 4096);
	write_between(1, 0, &handed_over);
	write_between(1, 1, &handed_over);
	close_side(0);
	close_side(1);
}

/* ---- sleeping ---- */

/* Until the sleeper has answered, if it ever does. */
static void write_to_sleeper(struct uroce_qp *from, const struct sleeper *sleeper)
{
	struct uroce_sge sge = {sides[0].mem, 64, sides[0].mr->lkey};
	struct uroce_send_wr wr = {.opcode = UROCE_WR_RDMA_WRITE,
		.flags = UROCE_SEND_SIGNALED,
		.sge = &sge,
		.num_sge = 1,
		.rdma = {.remote_addr = (uintptr_t)sides[1].mem, .rkey = sides[1].mr->rkey}};
	struct uroce_wc wc;

	sleeper_await(sleeper);
	CU_ASSERT_EQUAL(uroce_post_send(from, &wr, 1), 1);
	while (uroce_cq_poll(sides[0].cq, &wc, 1) == 0) {
		for (unsigned int w = 0; w < QUEUES; w++)
			uroce_worker_poll(uroce_device_worker(sides[0].dev, w));
		uroce_worker_poll(uroce_device_worker(sides[1].dev, 0));
	}
	CU_ASSERT_EQUAL(wc.status, UROCE_STATUS_SUCCESS);
}

static void a_frame_that_is_handed_over_wakes_its_worker(void)
{
	struct uroce_qp *from, *to;
	struct sleeper sleeper;

	open_side(0, 0);
	open_side(1, A_MINUTE_US);
	from = make_qp(0, 0);
	to = make_qp(1, 1);
	connect_qps(from, to);
	sleeper_start(&sleeper, uroce_device_worker(sides[1].dev, 1));
	for (int i = 0; i < 20; i++)
		write_to_sleeper(from, &sleeper);
	sleeper_stop(&sleeper);
	CU_ASSERT_TRUE(sleeper.longest_ns > 0 && sleeper.longest_ns < SLEEPER_HALF_A_MINUTE_NS);
	CU_ASSERT_EQUAL(uroce_qp_destroy(from), 0);
	CU_ASSERT_EQUAL(uroce_qp_destroy(to), 0);
	close_side(0);
	close_side(1);
}

int main(void)
{
	static const struct unit_case cases[] = {
		{"frames find the worker of their queue pair",
			frames_find_the_worker_of_their_queue_pair},
		{"a frame that is handed over wakes its worker",
			a_frame_that_is_handed_over_wakes_its_worker},
	};

	if (uroce_eal_init_embedded(0) != 0 || !make_ports())
		return 1;
	return run_suite("steer", cases, sizeof(cases) / sizeof(cases[0]));
}
