/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Three workers on one port: frames arrive at any queue and find their queue pair, and leave by any
 * queue, also where the port has fewer queues than workers.
 */
#include <errno.h>

#include <rte_ethdev.h>
#include <rte_launch.h>
#include <rte_lcore.h>

#include "steer_rig.h"

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

/* ---- other loops than the test's ---- */

static void a_launched_worker_without_a_queue_ends_with_its_device(void)
{
	unsigned int lcore = rte_get_next_lcore(rte_get_main_lcore(), 1, 0);
	struct uroce_qp *from, *to;

	if (lcore >= RTE_MAX_LCORE)
		SKIP("EAL has one lcore");
	open_sides(ONE_QUEUE);
	from = make_qp(0, 0);
	to = make_qp(1, 1);
	CU_ASSERT_EQUAL_FATAL(uroce_worker_launch(worker_of(1, 1), lcore), 0);
	connect_qps(from, to, 4096);
	fill(5);
	post_write(from, MEM_BYTES);
	await_write(MEM_BYTES);
	CU_ASSERT_EQUAL(uroce_qp_destroy(from), 0);
	CU_ASSERT_EQUAL(uroce_qp_destroy(to), 0);
	close_sides();
	CU_ASSERT_EQUAL(rte_eal_get_lcore_state(lcore), WAIT);
}

/* A host with one queue that hands all that comes to one worker, and sends for each. */
static void host_turn(uint16_t port_id)
{
	struct rte_mbuf *mbufs[UROCE_BURST];
	uint16_t n = rte_eth_rx_burst(port_id, 0, mbufs, UROCE_BURST);

	for (unsigned int w = 0; w < WORKERS; w++) {
		n = uroce_worker_rx(worker_of(0, w), mbufs, n);
		rte_pktmbuf_free_bulk(mbufs, n);
		n = uroce_worker_tx(worker_of(0, w), mbufs, UROCE_BURST);
		CU_ASSERT_EQUAL(rte_eth_tx_burst(port_id, 0, mbufs, n), n);
		n = 0;
	}
}

static void start_host(uint16_t port_id, struct rte_mempool *pool)
{
	const struct rte_eth_conf port_conf = {0};

	CU_ASSERT_EQUAL_FATAL(rte_eth_dev_configure(port_id, 1, 1, &port_conf), 0);
	CU_ASSERT_EQUAL_FATAL(rte_eth_rx_queue_setup(port_id, 0, 64, SOCKET_ID_ANY, NULL, pool), 0);
	CU_ASSERT_EQUAL_FATAL(rte_eth_tx_queue_setup(port_id, 0, 64, SOCKET_ID_ANY, NULL), 0);
	CU_ASSERT_EQUAL_FATAL(rte_eth_dev_start(port_id), 0);
}

static void write_from_a_host(uint16_t port_id, unsigned int worker)
{
	struct uroce_qp *from = make_qp(0, worker), *to = make_qp(1, worker);
	struct uroce_wc wc = {.status = UROCE_STATUS_GENERAL_ERR};
	int n = 0;

	connect_qps(from, to, 1024);
	fill(worker);
	post_write(from, 65536);
	for (int i = 0; n == 0 && i < TURNS; i++) {
		host_turn(port_id);
		for (unsigned int w = 0; w < WORKERS; w++)
			uroce_worker_poll(worker_of(1, w));
		n = uroce_cq_poll(sides[0].cq, &wc, 1);
	}
	CU_ASSERT_EQUAL(wc.status, UROCE_STATUS_SUCCESS);
	CU_ASSERT_EQUAL(memcmp(sides[0].mem, sides[1].mem, 65536), 0);
	CU_ASSERT_EQUAL(uroce_qp_destroy(from), 0);
	CU_ASSERT_EQUAL(uroce_qp_destroy(to), 0);
}

static void a_host_may_hand_all_frames_to_one_worker(void)
{
	const uint16_t port_id = 2 * ONE_QUEUE;
	struct rte_mempool *pool = rte_pktmbuf_pool_create("host", 1023, 0, 0, 8192, SOCKET_ID_ANY);

	start_host(port_id, pool);
	open_side_as(ONE_QUEUE, 0, 0, true);
	open_side(ONE_QUEUE, 1, 0);
	for (unsigned int w = 0; w < WORKERS; w++)
		write_from_a_host(port_id, w);
	CU_ASSERT_TRUE(worker_of(0, 0)->core.counters.rx_handed_over > 0);
	close_sides();
	CU_ASSERT_EQUAL(rte_eth_dev_stop(port_id), 0);
	rte_mempool_free(pool);
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

int main(void)
{
	static const struct unit_case cases[] = {
		{"every worker reaches every worker, however many queues there are",
			every_worker_reaches_every_worker},
		{"frames stay with a worker that has their queue",
			frames_stay_with_a_worker_that_has_their_queue},
		{"no more queues are used than were asked for",
			a_configured_number_of_queues_is_kept},
		{"a launched worker without a queue ends with its device",
			a_launched_worker_without_a_queue_ends_with_its_device},
		{"a host may hand all frames to one worker",
			a_host_may_hand_all_frames_to_one_worker},
		{"queue pairs go to the worker with the fewest, or where they are asked to",
			queue_pairs_go_to_the_worker_with_the_fewest},
		{"a worker that is not there is EINVAL", a_worker_that_is_not_there_is_einval},
		{"the messages of each queue pair arrive in order",
			messages_of_each_queue_pair_arrive_in_order},
	};

	if (uroce_eal_init_embedded(0) != 0 || !make_ports())
		return 1;
	return run_suite("steer", cases, sizeof(cases) / sizeof(cases[0]));
}
