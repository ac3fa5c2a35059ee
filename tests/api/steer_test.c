/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Three workers on one port: frames arrive at any queue and find their queue pair, and leave by any
 * queue, also where the port has fewer queues than workers.
 *
 * The ports are memory rings. What one sends on a queue the other gets on the same, as a NIC whose
 * hashing does not know RoCE would deliver.
 */
#include <errno.h>
#include <string.h>

#include <rte_eth_ring.h>
#include <rte_mbuf.h>
#include <rte_mempool.h>
#include <rte_ring.h>

#include "cunit_run.h"
#include "sleeper.h"

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

static bool make_rings(const char *name, unsigned int t, uint16_t n, struct rte_ring **rings)
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
static bool make_ports(void)
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

static void open_side(unsigned int topology, int who, uint32_t idle_sleep_us)
{
	struct side *s = &sides[who];
	struct uroce_device_conf conf = {.port_id = (uint16_t)(2 * topology + (unsigned int)who),
		.num_workers = WORKERS,
		.idle_sleep_us = idle_sleep_us,
		.addr = who ? "192.0.2.2" : "192.0.2.1"};

	CU_ASSERT_EQUAL_FATAL(uroce_device_open(&conf, &s->dev), 0);
	CU_ASSERT_EQUAL_FATAL(uroce_pd_create(s->dev, &s->pd), 0);
	CU_ASSERT_EQUAL_FATAL(uroce_cq_create(s->dev, 1024, &s->cq), 0);
	CU_ASSERT_EQUAL_FATAL(uroce_mr_register(s->pd, s->mem, MEM_BYTES,
				      UROCE_ACCESS_LOCAL_WRITE | UROCE_ACCESS_REMOTE_WRITE, &s->mr),
		0);
}

static void open_sides(unsigned int topology)
{
	open_side(topology, 0, 0);
	open_side(topology, 1, 0);
}

static void close_side(int who)
{
	struct side *s = &sides[who];

	CU_ASSERT_EQUAL(uroce_cq_destroy(s->cq), 0);
	CU_ASSERT_EQUAL(uroce_mr_deregister(s->mr), 0);
	CU_ASSERT_EQUAL(uroce_pd_destroy(s->pd), 0);
	CU_ASSERT_EQUAL(uroce_device_close(s->dev), 0);
}

static void close_sides(void)
{
	close_side(0);
	close_side(1);
}

static struct uroce_qp *make_qp(int who, unsigned int worker)
{
	struct uroce_qp_conf conf = {.send_cq = sides[who].cq,
		.recv_cq = sides[who].cq,
		.window_pkts = 4096,
		.worker = UROCE_WORKER(worker)};
	struct uroce_qp *qp;

	CU_ASSERT_EQUAL_FATAL(uroce_qp_create(sides[who].pd, &conf, &qp), 0);
	return qp;
}

static void connect_qps(struct uroce_qp *a, struct uroce_qp *b, uint32_t mtu_bytes)
{
	struct uroce_peer peer;

	uroce_qp_local(b, &peer);
	peer.mtu_bytes = mtu_bytes;
	CU_ASSERT_EQUAL_FATAL(uroce_qp_connect(a, &peer), 0);
	uroce_qp_local(a, &peer);
	peer.mtu_bytes = mtu_bytes;
	CU_ASSERT_EQUAL_FATAL(uroce_qp_connect(b, &peer), 0);
}

static struct uroce_worker *worker_of(int who, unsigned int i)
{
	return uroce_device_worker(sides[who].dev, i);
}

static void poll_all(void)
{
	for (int who = 0; who < 2; who++)
		for (unsigned int w = 0; w < WORKERS; w++)
			uroce_worker_poll(worker_of(who, w));
}

static uint64_t relayed_by(int who, unsigned int worker)
{
	return worker_of(who, worker)->poller.counters.relayed;
}

static void fill(unsigned int seed)
{
	for (unsigned int i = 0; i < MEM_BYTES; i++)
		sides[0].mem[i] = (uint8_t)(i * 3 + (i >> 8) + seed);
	memset(sides[1].mem, 0, MEM_BYTES);
}

static void post_write(struct uroce_qp *from, uint32_t bytes)
{
	struct uroce_sge sge = {sides[0].mem, bytes, sides[0].mr->lkey};
	struct uroce_send_wr wr = {.opcode = UROCE_WR_RDMA_WRITE,
		.flags = UROCE_SEND_SIGNALED,
		.sge = &sge,
		.num_sge = 1,
		.rdma = {.remote_addr = (uintptr_t)sides[1].mem, .rkey = sides[1].mr->rkey}};

	CU_ASSERT_EQUAL(uroce_post_send(from, &wr, 1), 1);
}

static void await_write(uint32_t bytes)
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

static uint64_t lost_on_the_way(void)
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

/* ---- which way a frame goes ---- */

/* Writes from a queue pair of one worker to one of another. */
static void write_between(unsigned int from_worker, unsigned int to_worker)
{
	struct uroce_qp *from = make_qp(0, from_worker), *to = make_qp(1, to_worker);

	connect_qps(from, to, 4096);
	fill(from_worker + WORKERS * to_worker);
	post_write(from, 65536);
	await_write(65536);
	CU_ASSERT_EQUAL(uroce_qp_destroy(from), 0);
	CU_ASSERT_EQUAL(uroce_qp_destroy(to), 0);
}

static void every_worker_reaches_every_worker(void)
{
	for (unsigned int t = 0; t < TOPOLOGIES; t++) {
		struct uroce_device_attr attr;

		open_sides(t);
		uroce_device_query(sides[0].dev, &attr);
		CU_ASSERT_EQUAL(attr.num_workers, WORKERS);
		CU_ASSERT_EQUAL(attr.num_queues, topologies[t].rx);
		for (unsigned int from = 0; from < WORKERS; from++)
			for (unsigned int to = 0; to < WORKERS; to++)
				write_between(from, to);
		/* Only who has a queue sends for others, and only where others have none. */
		CU_ASSERT_EQUAL(relayed_by(0, 0) > 0, topologies[t].tx < WORKERS);
		CU_ASSERT_EQUAL(relayed_by(1, 0) > 0, topologies[t].rx < WORKERS);
		CU_ASSERT_EQUAL(relayed_by(0, 2), 0);
		CU_ASSERT_EQUAL(lost_on_the_way(), 0);
		close_sides();
	}
}

static void frames_stay_with_a_worker_that_has_their_queue(void)
{
	struct uroce_counters counters;

	open_sides(ALL_QUEUES);
	write_between(1, 1);
	uroce_device_counters(sides[1].dev, &counters);
	CU_ASSERT_EQUAL(counters.rx_handed_over, 0);
	/* Sent on queue 0, received by worker 0, wanted by worker 1. */
	write_between(0, 1);
	uroce_device_counters(sides[1].dev, &counters);
	CU_ASSERT_TRUE(counters.rx_handed_over >= 65536 / 4096);
	close_sides();
}

static void a_configured_number_of_queues_is_kept(void)
{
	struct uroce_device_conf conf = {
		.addr = "192.0.2.1", .num_workers = WORKERS, .num_queues = 2};
	struct uroce_device_attr attr;
	struct uroce_device *dev;

	CU_ASSERT_EQUAL_FATAL(uroce_device_open(&conf, &dev), 0);
	uroce_device_query(dev, &attr);
	CU_ASSERT_EQUAL(attr.num_queues, 2);
	CU_ASSERT_EQUAL(uroce_device_close(dev), 0);
}

/* ---- which worker a queue pair gets ---- */

static struct uroce_qp *make_anywhere(void)
{
	const struct uroce_qp_conf conf = {.send_cq = sides[0].cq, .recv_cq = sides[0].cq};
	struct uroce_qp *qp;

	CU_ASSERT_EQUAL_FATAL(uroce_qp_create(sides[0].pd, &conf, &qp), 0);
	return qp;
}

static uint16_t placed_on(const struct uroce_qp *qp)
{
	struct uroce_qp_conf conf;

	uroce_qp_query_conf(qp, &conf);
	/* What it says is what is. */
	CU_ASSERT_PTR_EQUAL(qp->core, &worker_of(0, conf.worker - 1u)->core);
	return conf.worker;
}

static void queue_pairs_go_to_the_worker_with_the_fewest(void)
{
	struct uroce_qp *qps[8];

	open_side(ONE_QUEUE, 0, 0);
	for (unsigned int i = 0; i < 4; i++) {
		qps[i] = make_anywhere();
		CU_ASSERT_EQUAL(placed_on(qps[i]), UROCE_WORKER(i % WORKERS));
	}
	/* Now 2, 1, 1. By request any worker gets one: 2, 1, 3. */
	for (unsigned int i = 4; i < 6; i++) {
		qps[i] = make_qp(0, 2);
		CU_ASSERT_EQUAL(placed_on(qps[i]), UROCE_WORKER(2));
	}
	qps[6] = make_anywhere();
	CU_ASSERT_EQUAL(placed_on(qps[6]), UROCE_WORKER(1));
	/* 0, 2, 3 when its two have gone. */
	CU_ASSERT_EQUAL(uroce_qp_destroy(qps[0]), 0);
	CU_ASSERT_EQUAL(uroce_qp_destroy(qps[3]), 0);
	qps[0] = make_anywhere();
	qps[3] = make_anywhere();
	CU_ASSERT_EQUAL(placed_on(qps[0]), UROCE_WORKER(0));
	CU_ASSERT_EQUAL(placed_on(qps[3]), UROCE_WORKER(0));
	for (unsigned int i = 0; i < 7; i++)
		CU_ASSERT_EQUAL(uroce_qp_destroy(qps[i]), 0);
	close_side(0);
}

static void a_worker_that_is_not_there_is_einval(void)
{
	struct uroce_qp_conf conf = {.worker = UROCE_WORKER(WORKERS)};
	struct uroce_qp *qp;

	open_side(ONE_QUEUE, 0, 0);
	conf.send_cq = conf.recv_cq = sides[0].cq;
	CU_ASSERT_EQUAL(uroce_qp_create(sides[0].pd, &conf, &qp), -EINVAL);
	/* One that could not be made counts for nothing. */
	conf = (struct uroce_qp_conf){.send_cq = sides[0].cq, .recv_cq = sides[0].cq, .qpn = 1};
	CU_ASSERT_EQUAL(uroce_qp_create(sides[0].pd, &conf, &qp), -EINVAL);
	qp = make_anywhere();
	CU_ASSERT_EQUAL(placed_on(qp), UROCE_WORKER(0));
	CU_ASSERT_EQUAL(uroce_qp_destroy(qp), 0);
	close_side(0);
}

/* ---- many at once ---- */

/* Pair i: from worker i % 3 to worker i / 3; its messages in slots of their own. */
static struct uroce_qp *from_qps[WORKERS * WORKERS], *to_qps[WORKERS * WORKERS];

static uint8_t *slot_of(int who, unsigned int pair, unsigned int message)
{
	return sides[who].mem + (pair * MESSAGES + message) * sizeof(uint64_t);
}

static void post_messages(unsigned int pair)
{
	for (unsigned int m = 0; m < MESSAGES; m++) {
		struct uroce_sge to = {slot_of(1, pair, m), sizeof(uint64_t), sides[1].mr->lkey};
		struct uroce_sge from = {slot_of(0, pair, m), sizeof(uint64_t), sides[0].mr->lkey};

		CU_ASSERT_EQUAL(
			uroce_post_recv(to_qps[pair],
				&(struct uroce_recv_wr){
					.wr_id = pair * MESSAGES + m, .sge = &to, .num_sge = 1},
				1),
			1);
		CU_ASSERT_EQUAL(
			uroce_post_send(from_qps[pair],
				&(struct uroce_send_wr){
					.opcode = UROCE_WR_SEND, .sge = &from, .num_sge = 1},
				1),
			1);
	}
}

/* Takes what was received; the messages of a pair come in order. */
static unsigned int take_received(unsigned int *next)
{
	struct uroce_wc wc[16];
	int n = uroce_cq_poll(sides[1].cq, wc, 16);

	for (int i = 0; i < n; i++) {
		unsigned int pair = (unsigned int)wc[i].wr_id / MESSAGES;

		CU_ASSERT_EQUAL(wc[i].status, UROCE_STATUS_SUCCESS);
		CU_ASSERT_EQUAL(wc[i].wr_id % MESSAGES, next[pair]);
		next[pair]++;
	}
	return (unsigned int)n;
}

static void messages_of_each_queue_pair_arrive_in_order(void)
{
	for (unsigned int t = 0; t < TOPOLOGIES; t++) {
		unsigned int next[WORKERS * WORKERS] = {0}, got = 0;

		open_sides(t);
		fill(t);
		for (unsigned int i = 0; i < WORKERS * WORKERS; i++) {
			from_qps[i] = make_qp(0, i % WORKERS);
			to_qps[i] = make_qp(1, i / WORKERS);
			connect_qps(from_qps[i], to_qps[i], 4096);
			post_messages(i);
		}
		for (int i = 0; got < MESSAGES * WORKERS * WORKERS && i < TURNS; i++) {
			poll_all();
			got += take_received(next);
		}
		CU_ASSERT_EQUAL(got, MESSAGES * WORKERS * WORKERS);
		CU_ASSERT_EQUAL(memcmp(sides[0].mem, sides[1].mem, got * sizeof(uint64_t)), 0);
		CU_ASSERT_EQUAL(lost_on_the_way(), 0);
		for (unsigned int i = 0; i < WORKERS * WORKERS; i++) {
			CU_ASSERT_EQUAL(uroce_qp_destroy(from_qps[i]), 0);
			CU_ASSERT_EQUAL(uroce_qp_destroy(to_qps[i]), 0);
		}
		close_sides();
	}
}

/* ---- workers that do not run ---- */

/* Turns of one worker at a time that stands still. */
static void turn_at(int who, unsigned int worker, uint64_t now_ns, int turns)
{
	struct uroce_worker *w = worker_of(who, worker);

	for (int i = 0; i < turns; i++)
		uroce_poller_turn(&w->poller, &w->core, now_ns);
}

static void frames_for_a_worker_that_does_not_run_are_bounded_and_counted(void)
{
	const uint32_t frames = MEM_BYTES / 256;
	struct uroce_qp *from, *to;
	struct uroce_poller *pusher;

	open_sides(ONE_QUEUE);
	from = make_qp(0, 0);
	to = make_qp(1, 1);
	connect_qps(from, to, 256);
	fill(7);
	post_write(from, MEM_BYTES);
	/* Each turn returns, and the pusher goes on, whether there is room for what it has or not.
	 */
	for (uint32_t i = 0; i < frames; i++) {
		turn_at(0, 0, 1, 1);
		turn_at(1, 0, 1, 1);
	}
	pusher = &worker_of(1, 0)->poller;
	CU_ASSERT_EQUAL(worker_of(1, 0)->core.counters.rx_handed_over, frames);
	CU_ASSERT_EQUAL(pusher->counters.handover_full, frames - UROCE_STEER_FRAMES_MAX / 2);
	CU_ASSERT_EQUAL(worker_of(1, 1)->core.counters.rx_frames, 0);
	/* What was lost is sent again once there is somebody to miss it. */
	await_write(MEM_BYTES);
	CU_ASSERT_EQUAL(uroce_qp_destroy(from), 0);
	CU_ASSERT_EQUAL(uroce_qp_destroy(to), 0);
	close_sides();
}

static void frames_of_a_worker_without_a_queue_wait_for_one_with_a_queue(void)
{
	const uint32_t bounded = UROCE_STEER_FRAMES_MAX / 2 + UROCE_BURST;
	struct uroce_qp *from, *to;
	struct uroce_worker *sender;

	open_sides(ONE_QUEUE);
	from = make_qp(0, 1);
	to = make_qp(1, 1);
	connect_qps(from, to, 256);
	fill(9);
	post_write(from, MEM_BYTES);
	turn_at(0, 1, 1, MEM_BYTES / 256);
	sender = worker_of(0, 1);
	/* No more is built than there is room for, and what is built is not lost. */
	CU_ASSERT_EQUAL(sender->core.counters.tx_frames, bounded);
	CU_ASSERT_EQUAL(sender->poller.pending.num, UROCE_BURST);
	CU_ASSERT_TRUE(sender->poller.counters.tx_kept > 0);
	CU_ASSERT_EQUAL(sender->poller.counters.tx_refused, 0);
	CU_ASSERT_EQUAL(rte_ring_count(wires[ONE_QUEUE][0]), 0);
	/* All of it goes out, and each turn takes a burst of each client's. */
	turn_at(0, 0, 2, 1);
	CU_ASSERT_EQUAL(relayed_by(0, 0), 2 * UROCE_BURST);
	CU_ASSERT_TRUE(rte_ring_count(wires[ONE_QUEUE][0]) >= 2 * UROCE_BURST);
	await_write(MEM_BYTES);
	CU_ASSERT_EQUAL(sender->poller.counters.tx_refused, 0);
	CU_ASSERT_EQUAL(worker_of(1, 1)->core.counters.out_of_sequence, 0);
	CU_ASSERT_EQUAL(uroce_qp_destroy(from), 0);
	CU_ASSERT_EQUAL(uroce_qp_destroy(to), 0);
	close_sides();
}

/* A worker with a queue that never runs again must not stop the others from turning. */
static void a_worker_whose_frames_nobody_takes_loses_the_oldest(void)
{
	struct uroce_qp *from, *to;
	struct uroce_worker *sender;

	open_sides(ONE_QUEUE);
	from = make_qp(0, 1);
	to = make_qp(1, 1);
	connect_qps(from, to, 256);
	post_write(from, MEM_BYTES);
	turn_at(0, 1, 1, MEM_BYTES / 256);
	sender = worker_of(0, 1);
	for (uint64_t i = 1; i <= 3; i++) {
		turn_at(0, 1, i * 200000000, 1);
		CU_ASSERT_EQUAL(sender->poller.counters.tx_refused, i);
	}
	CU_ASSERT_EQUAL(uroce_qp_destroy(from), 0);
	CU_ASSERT_EQUAL(uroce_qp_destroy(to), 0);
	close_sides();
}

static void closing_frees_the_frames_on_their_way(void)
{
	struct uroce_qp *from, *to;
	struct rte_mempool *pool;

	open_sides(ONE_QUEUE);
	pool = sides[0].dev->port.pool;
	from = make_qp(0, 1);
	to = make_qp(1, 1);
	connect_qps(from, to, 256);
	post_write(from, MEM_BYTES);
	turn_at(0, 1, 1, MEM_BYTES / 256);
	/* Some to the other side, some still on their way to who has the queue. */
	turn_at(0, 0, 2, 4);
	turn_at(1, 0, 2, 100);
	CU_ASSERT_TRUE(uroce_steer_any(&sides[0].dev->out, 0));
	CU_ASSERT_TRUE(uroce_steer_any(&sides[1].dev->in, 1));
	CU_ASSERT_TRUE(rte_mempool_in_use_count(pool) > 0);
	CU_ASSERT_EQUAL(uroce_qp_destroy(from), 0);
	CU_ASSERT_EQUAL(uroce_qp_destroy(to), 0);
	for (int who = 0; who < 2; who++)
		for (unsigned int w = 0; w < WORKERS; w++)
			uroce_poller_fini(&worker_of(who, w)->poller);
	CU_ASSERT_EQUAL(rte_mempool_in_use_count(pool), 0);
	/* But for what is on the wire, which is not this port's any more. */
	CU_ASSERT_EQUAL(rte_mempool_in_use_count(sides[1].dev->port.pool),
		rte_ring_count(back[ONE_QUEUE][0]));
	close_sides();
}

/* ---- timers ---- */

#define MS 1000000ull

/*
 * The answer has come to the queue of worker 0, which does not run: the retry timer of worker 1's
 * queue pair waits for it, for a second.
 */
static void a_retry_timer_waits_for_who_has_the_queue(void)
{
	struct uroce_qp *from, *to;
	const struct uroce_counters *c;

	open_sides(ONE_QUEUE);
	c = &worker_of(0, 1)->core.counters;
	from = make_qp(0, 1);
	to = make_qp(1, 0);
	connect_qps(from, to, 4096);
	post_write(from, 64);
	turn_at(0, 1, 1 * MS, 1);
	turn_at(0, 0, 1 * MS, 1);
	turn_at(1, 0, 1 * MS, 2);
	for (uint64_t ms = 1; ms < 1000; ms++)
		turn_at(0, 1, ms * MS, 1);
	CU_ASSERT_EQUAL(c->local_ack_timeout_err, 0);
	/* Then it takes the answer for lost; for how long, the timer says: 67 ms. */
	for (uint64_t ms = 1000; ms < 1060; ms++)
		turn_at(0, 1, ms * MS, 1);
	CU_ASSERT_EQUAL(c->local_ack_timeout_err, 0);
	turn_at(0, 1, 1100 * MS, 1);
	CU_ASSERT_EQUAL(c->local_ack_timeout_err, 1);
	CU_ASSERT_EQUAL(uroce_qp_destroy(from), 0);
	CU_ASSERT_EQUAL(uroce_qp_destroy(to), 0);
	close_sides();
}

static void a_retry_timer_does_not_wait_for_who_has_said_goodbye(void)
{
	struct uroce_qp *from, *to;
	const struct uroce_counters *c;

	open_sides(ONE_QUEUE);
	c = &worker_of(0, 1)->core.counters;
	from = make_qp(0, 1);
	to = make_qp(1, 0);
	connect_qps(from, to, 4096);
	post_write(from, 64);
	turn_at(0, 1, 1 * MS, 1);
	turn_at(0, 0, 1 * MS, 1);
	/* As a thread does that polls and then stops. */
	uroce_worker_poll(worker_of(0, 0));
	uroce_worker_offline(worker_of(0, 0));
	turn_at(0, 1, 60 * MS, 1);
	CU_ASSERT_EQUAL(c->local_ack_timeout_err, 0);
	turn_at(0, 1, 100 * MS, 1);
	CU_ASSERT_EQUAL(c->local_ack_timeout_err, 1);
	CU_ASSERT_EQUAL(uroce_qp_destroy(from), 0);
	CU_ASSERT_EQUAL(uroce_qp_destroy(to), 0);
	close_sides();
}

/* ---- damage ---- */

static void a_damaged_frame_is_found_out_by_whom_it_is_for(void)
{
	struct uroce_qp *from, *to;
	struct rte_mbuf *mbuf = NULL;

	open_sides(ONE_QUEUE);
	from = make_qp(0, 0);
	to = make_qp(1, 2);
	connect_qps(from, to, 4096);
	fill(3);
	post_write(from, 4096);
	turn_at(0, 0, 1, 1);
	/* Behind ARP's questions. */
	do {
		CU_ASSERT_EQUAL_FATAL(rte_ring_dequeue(wires[ONE_QUEUE][0], (void **)&mbuf), 0);
		if (mbuf->pkt_len < 4096)
			rte_pktmbuf_free(mbuf);
	} while (mbuf->pkt_len < 4096);
	rte_pktmbuf_mtod(mbuf, uint8_t *)[2000] ^= 1;
	CU_ASSERT_EQUAL(rte_ring_enqueue(wires[ONE_QUEUE][0], mbuf), 0);
	turn_at(1, 0, 1, 1);
	turn_at(1, 2, 1, 1);
	CU_ASSERT_EQUAL(worker_of(1, 0)->core.counters.drops[UROCE_DROP_ICRC], 0);
	CU_ASSERT_EQUAL(worker_of(1, 2)->core.counters.drops[UROCE_DROP_ICRC], 1);
	CU_ASSERT_EQUAL(sides[1].mem[1900], 0);
	await_write(4096);
	CU_ASSERT_EQUAL(uroce_qp_destroy(from), 0);
	CU_ASSERT_EQUAL(uroce_qp_destroy(to), 0);
	close_sides();
}

/* ---- sleeping ---- */

/* Until the sleeper has answered, if it ever does. */
static void write_to_sleeper(struct uroce_qp *from, const struct sleeper *sleeper)
{
	struct uroce_wc wc;

	sleeper_await(sleeper);
	post_write(from, 64);
	while (uroce_cq_poll(sides[0].cq, &wc, 1) == 0) {
		for (unsigned int w = 0; w < WORKERS; w++)
			uroce_worker_poll(worker_of(0, w));
		uroce_worker_poll(worker_of(1, 0));
	}
	CU_ASSERT_EQUAL(wc.status, UROCE_STATUS_SUCCESS);
}

/* On all queues, and without one of its own. */
static void a_frame_that_is_handed_over_wakes_its_worker(void)
{
	for (unsigned int t = ALL_QUEUES; t <= ONE_QUEUE; t++) {
		struct uroce_qp *from, *to;
		struct sleeper sleeper;

		open_side(t, 0, 0);
		open_side(t, 1, A_MINUTE_US);
		from = make_qp(0, 0);
		to = make_qp(1, 1);
		connect_qps(from, to, 4096);
		sleeper_start(&sleeper, worker_of(1, 1));
		for (int i = 0; i < 20; i++)
			write_to_sleeper(from, &sleeper);
		sleeper_stop(&sleeper);
		CU_ASSERT_TRUE(
			sleeper.longest_ns > 0 && sleeper.longest_ns < SLEEPER_HALF_A_MINUTE_NS);
		CU_ASSERT_EQUAL(uroce_qp_destroy(from), 0);
		CU_ASSERT_EQUAL(uroce_qp_destroy(to), 0);
		close_sides();
	}
}

static void a_frame_to_be_sent_wakes_who_has_the_queue(void)
{
	struct uroce_qp *from, *to;
	struct sleeper sleeper;
	uint64_t seen = 0;

	open_side(ONE_QUEUE, 0, A_MINUTE_US);
	open_side(ONE_QUEUE, 1, 0);
	from = make_qp(0, 1);
	to = make_qp(1, 0);
	connect_qps(from, to, 4096);
	sleeper_start(&sleeper, worker_of(0, 0));
	for (int i = 0; i < 20; i++) {
		sleeper_await(&sleeper);
		post_write(from, 64);
		/* It arrives; the answer waits for who sleeps on a port that cannot wake it. */
		while (worker_of(1, 0)->core.counters.rx_accepted == seen) {
			uroce_worker_poll(worker_of(0, 1));
			uroce_worker_poll(worker_of(1, 0));
		}
		seen = worker_of(1, 0)->core.counters.rx_accepted;
	}
	sleeper_stop(&sleeper);
	CU_ASSERT_TRUE(sleeper.longest_ns > 0 && sleeper.longest_ns < SLEEPER_HALF_A_MINUTE_NS);
	CU_ASSERT_EQUAL(uroce_qp_destroy(from), 0);
	CU_ASSERT_EQUAL(uroce_qp_destroy(to), 0);
	close_sides();
}

int main(void)
{
	static const struct unit_case cases[] = {
		{"every worker reaches every worker, however many queues there are",
			every_worker_reaches_every_worker},
		{"frames stay with a worker that has their queue",
			frames_stay_with_a_worker_that_has_their_queue},
		{"no more queues are used than were asked for",
			a_configured_number_of_queues_is_kept},
		{"queue pairs go to the worker with the fewest, or where they are asked to",
			queue_pairs_go_to_the_worker_with_the_fewest},
		{"a worker that is not there is EINVAL", a_worker_that_is_not_there_is_einval},
		{"the messages of each queue pair arrive in order",
			messages_of_each_queue_pair_arrive_in_order},
		{"frames for a worker that does not run are bounded and counted",
			frames_for_a_worker_that_does_not_run_are_bounded_and_counted},
		{"frames of a worker without a queue wait for one with a queue",
			frames_of_a_worker_without_a_queue_wait_for_one_with_a_queue},
		{"a worker whose frames nobody takes loses the oldest, and turns",
			a_worker_whose_frames_nobody_takes_loses_the_oldest},
		{"closing frees the frames on their way", closing_frees_the_frames_on_their_way},
		{"a retry timer waits for who has the queue",
			a_retry_timer_waits_for_who_has_the_queue},
		{"a retry timer does not wait for who has gone offline",
			a_retry_timer_does_not_wait_for_who_has_said_goodbye},
		{"a damaged frame is found out by whom it is for",
			a_damaged_frame_is_found_out_by_whom_it_is_for},
		{"a frame that is handed over wakes its worker",
			a_frame_that_is_handed_over_wakes_its_worker},
		{"a frame to be sent wakes who has the queue",
			a_frame_to_be_sent_wakes_who_has_the_queue},
	};

	if (uroce_eal_init_embedded(0) != 0 || !make_ports())
		return 1;
	return run_suite("steer", cases, sizeof(cases) / sizeof(cases[0]));
}
