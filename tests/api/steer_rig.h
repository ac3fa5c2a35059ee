/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Two devices of three workers each, for one test program: on ports that are memory rings, with
 * any number of queues. What one sends on a queue the other gets on the same, as a NIC whose
 * hashing does not know RoCE would deliver.
 */
#ifndef UROCE_TESTS_STEER_RIG_H
#define UROCE_TESTS_STEER_RIG_H

#include <string.h>

#include <rte_eth_ring.h>
#include <rte_mbuf.h>
#include <rte_mempool.h>
#include <rte_ring.h>

#include "cunit_run.h"
#include "device.h"

enum {
	MEM_BYTES = 1 << 18,
	TURNS = 3000000,
	WORKERS = 3,
	MESSAGES = 32,
	A_MINUTE_US = 60000000
};

/* Queues of side 0 to receive and send on; side 1 has as many the other way round. */
struct topology {
	uint16_t rx, tx;
};

static const struct topology topologies[] = {{3, 3}, {1, 1}, {2, 2}, {1, 3}, {3, 1}};

enum {
	TOPOLOGIES = sizeof(topologies) / sizeof(topologies[0]),
	/* By index. */
	ALL_QUEUES = 0,
	ONE_QUEUE = 1
};

/* Those that lead to side 1, and back, by topology and queue. */
static struct rte_ring *wires[TOPOLOGIES][WORKERS], *back[TOPOLOGIES][WORKERS];

static inline bool make_rings(const char *name, unsigned int t, uint16_t n, struct rte_ring **rings)
{
	char words[32];

	for (uint16_t i = 0; i < n; i++) {
		snprintf(words, sizeof(words), "%s_%u_%u", name, t, i);
		rings[i] =
			rte_ring_create(words, 2048, SOCKET_ID_ANY, RING_F_SP_ENQ | RING_F_SC_DEQ);
		if (!rings[i])
			return false;
	}
	return true;
}

/* For each topology t the ports 2 t and 2 t + 1, tied to each other. */
static inline bool make_ports(void)
{
	for (unsigned int t = 0; t < TOPOLOGIES; t++) {
		const struct topology *top = &topologies[t];
		char a[16], b[16];

		snprintf(a, sizeof(a), "steer_a%u", t);
		snprintf(b, sizeof(b), "steer_b%u", t);
		if (!make_rings("back", t, top->rx, back[t]) ||
			!make_rings("wire", t, top->tx, wires[t]) ||
			rte_eth_from_rings(a, back[t], top->rx, wires[t], top->tx, SOCKET_ID_ANY) !=
				(int)(2 * t) ||
			rte_eth_from_rings(b, wires[t], top->tx, back[t], top->rx, SOCKET_ID_ANY) !=
				(int)(2 * t + 1))
			return false;
	}
	return true;
}

/* ---- two sides ---- */

struct side {
	struct uroce_device *dev;
	struct uroce_pd *pd;
	struct uroce_cq *cq;
	struct uroce_mr *mr;
	uint8_t mem[MEM_BYTES];
};

static struct side sides[2];

static inline void open_side_as(
	unsigned int topology, int who, uint32_t idle_sleep_us, bool host_owns_port)
{
	struct side *s = &sides[who];
	struct uroce_device_conf conf = {.port_id = (uint16_t)(2 * topology + (unsigned int)who),
		.num_workers = WORKERS,
		.idle_sleep_us = idle_sleep_us,
		.host_owns_port = host_owns_port,
		.addr = who ? "192.0.2.2" : "192.0.2.1"};

	CU_ASSERT_EQUAL_FATAL(uroce_device_open(&conf, &s->dev), 0);
	CU_ASSERT_EQUAL_FATAL(uroce_pd_create(s->dev, &s->pd), 0);
	CU_ASSERT_EQUAL_FATAL(uroce_cq_create(s->dev, 1024, &s->cq), 0);
	CU_ASSERT_EQUAL_FATAL(uroce_mr_register(s->pd, s->mem, MEM_BYTES,
				      UROCE_ACCESS_LOCAL_WRITE | UROCE_ACCESS_REMOTE_WRITE, &s->mr),
		0);
}

static inline void open_side(unsigned int topology, int who, uint32_t idle_sleep_us)
{
	open_side_as(topology, who, idle_sleep_us, false);
}

static inline void open_sides(unsigned int topology)
{
	open_side(topology, 0, 0);
	open_side(topology, 1, 0);
}

static inline void close_side(int who)
{
	struct side *s = &sides[who];

	CU_ASSERT_EQUAL(uroce_cq_destroy(s->cq), 0);
	CU_ASSERT_EQUAL(uroce_mr_deregister(s->mr), 0);
	CU_ASSERT_EQUAL(uroce_pd_destroy(s->pd), 0);
	CU_ASSERT_EQUAL(uroce_device_close(s->dev), 0);
}

static inline void close_sides(void)
{
	close_side(0);
	close_side(1);
}

static inline struct uroce_qp *make_qp(int who, unsigned int worker)
{
	struct uroce_qp_conf conf = {.send_cq = sides[who].cq,
		.recv_cq = sides[who].cq,
		.window_pkts = 4096,
		.worker = UROCE_WORKER(worker)};
	struct uroce_qp *qp;

	CU_ASSERT_EQUAL_FATAL(uroce_qp_create(sides[who].pd, &conf, &qp), 0);
	return qp;
}

static inline void connect_qps(struct uroce_qp *a, struct uroce_qp *b, uint32_t mtu_bytes)
{
	struct uroce_peer peer;

	uroce_qp_local(b, &peer);
	peer.mtu_bytes = mtu_bytes;
	CU_ASSERT_EQUAL_FATAL(uroce_qp_connect(a, &peer), 0);
	uroce_qp_local(a, &peer);
	peer.mtu_bytes = mtu_bytes;
	CU_ASSERT_EQUAL_FATAL(uroce_qp_connect(b, &peer), 0);
}

static inline struct uroce_worker *worker_of(int who, unsigned int i)
{
	return uroce_device_worker(sides[who].dev, i);
}

static inline void poll_all(void)
{
	for (int who = 0; who < 2; who++)
		for (unsigned int w = 0; w < WORKERS; w++)
			uroce_worker_poll(worker_of(who, w));
}

static inline uint64_t relayed_by(int who, unsigned int worker)
{
	return worker_of(who, worker)->poller.counters.relayed;
}

static inline void fill(unsigned int seed)
{
	for (unsigned int i = 0; i < MEM_BYTES; i++)
		sides[0].mem[i] = (uint8_t)(i * 3 + (i >> 8) + seed);
	memset(sides[1].mem, 0, MEM_BYTES);
}

static inline void post_write(struct uroce_qp *from, uint32_t bytes)
{
	struct uroce_sge sge = {sides[0].mem, bytes, sides[0].mr->lkey};
	struct uroce_send_wr wr = {.opcode = UROCE_WR_RDMA_WRITE,
		.flags = UROCE_SEND_SIGNALED,
		.sge = &sge,
		.num_sge = 1,
		.rdma = {.remote_addr = (uintptr_t)sides[1].mem, .rkey = sides[1].mr->rkey}};

	CU_ASSERT_EQUAL(uroce_post_send(from, &wr, 1), 1);
}

static inline void await_write(uint32_t bytes)
{
	struct uroce_wc wc = {.status = UROCE_STATUS_GENERAL_ERR};
	int n = 0;

	for (int i = 0; n == 0 && i < TURNS; i++) {
		poll_all();
		n = uroce_cq_poll(sides[0].cq, &wc, 1);
	}
	CU_ASSERT_EQUAL(n, 1);
	CU_ASSERT_EQUAL(wc.status, UROCE_STATUS_SUCCESS);
	CU_ASSERT_EQUAL(memcmp(sides[0].mem, sides[1].mem, bytes), 0);
}

static inline uint64_t lost_on_the_way(void)
{
	uint64_t lost = 0;

	for (int who = 0; who < 2; who++) {
		struct uroce_counters c;

		uroce_device_counters(sides[who].dev, &c);
		lost += c.retransmitted_packets + c.out_of_sequence + c.drops[UROCE_DROP_ICRC];
		for (unsigned int w = 0; w < WORKERS; w++)
			lost += worker_of(who, w)->poller.counters.handover_full;
	}
	return lost;
}

#endif
