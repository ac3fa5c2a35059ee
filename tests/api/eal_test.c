/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The library on DPDK ports made of rings: opening, looping, embedding, worker mode, path MTU.
 *
 * EAL starts once per process, so the cases share it: ports 0 and 1 are tied together, 2 and 3 too.
 */
#include <errno.h>
#include <string.h>

#include <rte_eth_ring.h>
#include <rte_ethdev.h>
#include <rte_lcore.h>
#include <rte_mbuf.h>
#include <rte_ring.h>

#include "cunit_run.h"
#include "device.h"

enum {
	MEM_BYTES = 65536,
	TURNS = 100000,
	FRAME_BYTES = 60
};

struct side {
	struct uroce_device *dev;
	struct uroce_pd *pd;
	struct uroce_cq *cq;
	struct uroce_mr *mr;
	struct uroce_qp *qp;
	uint8_t mem[MEM_BYTES];
};

static struct side sides[2];

static void open_side(struct side *s, struct uroce_device_conf conf)
{
	CU_ASSERT_EQUAL_FATAL(uroce_device_open(&conf, &s->dev), 0);
	CU_ASSERT_EQUAL_FATAL(uroce_pd_create(s->dev, &s->pd), 0);
	CU_ASSERT_EQUAL_FATAL(uroce_cq_create(s->dev, 64, &s->cq), 0);
	CU_ASSERT_EQUAL_FATAL(uroce_mr_register(s->pd, s->mem, MEM_BYTES,
				      UROCE_ACCESS_LOCAL_WRITE | UROCE_ACCESS_REMOTE_WRITE, &s->mr),
		0);
	CU_ASSERT_EQUAL_FATAL(
		uroce_qp_create(
			s->pd, &(struct uroce_qp_conf){.send_cq = s->cq, .recv_cq = s->cq}, &s->qp),
		0);
}

static void close_side(struct side *s)
{
	CU_ASSERT_EQUAL(uroce_qp_destroy(s->qp), 0);
	CU_ASSERT_EQUAL(uroce_cq_destroy(s->cq), 0);
	CU_ASSERT_EQUAL(uroce_mr_deregister(s->mr), 0);
	CU_ASSERT_EQUAL(uroce_pd_destroy(s->pd), 0);
	CU_ASSERT_EQUAL(uroce_device_close(s->dev), 0);
}

static void connect_qps(struct uroce_qp *a, struct uroce_qp *b)
{
	struct uroce_peer peer;

	uroce_qp_local(b, &peer);
	CU_ASSERT_EQUAL_FATAL(uroce_qp_connect(a, &peer), 0);
	uroce_qp_local(a, &peer);
	CU_ASSERT_EQUAL_FATAL(uroce_qp_connect(b, &peer), 0);
}

static void post_write(struct side *from, const struct side *to, uint32_t bytes)
{
	struct uroce_sge sge = {from->mem, bytes, from->mr->lkey};
	struct uroce_send_wr wr = {.wr_id = 1,
		.opcode = UROCE_WR_RDMA_WRITE,
		.flags = UROCE_SEND_SIGNALED,
		.sge = &sge,
		.num_sge = 1,
		.rdma = {.remote_addr = (uintptr_t)to->mem, .rkey = to->mr->rkey}};

	CU_ASSERT_EQUAL(uroce_post_send(from->qp, &wr, 1), 1);
}

static void write_arrives(struct side *from, struct side *to, bool poll_both)
{
	struct uroce_wc wc = {.status = UROCE_STATUS_GENERAL_ERR};
	int n = 0;

	for (int i = 0; i < MEM_BYTES; i++)
		from->mem[i] = (uint8_t)(i * 7);
	post_write(from, to, MEM_BYTES);
	for (int i = 0; n == 0 && i < TURNS; i++) {
		uroce_worker_poll(uroce_device_worker(from->dev, 0));
		if (poll_both)
			uroce_worker_poll(uroce_device_worker(to->dev, 0));
		n = uroce_cq_poll(from->cq, &wc, 1);
	}
	CU_ASSERT_EQUAL(n, 1);
	CU_ASSERT_EQUAL(wc.status, UROCE_STATUS_SUCCESS);
	CU_ASSERT_EQUAL(memcmp(from->mem, to->mem, MEM_BYTES), 0);
}

/* Neither side has been told the other's MAC. */
static void sides_find_each_other(void)
{
	struct uroce_peer peer;

	open_side(&sides[0], (struct uroce_device_conf){.port_id = 0, .addr = "192.0.2.1"});
	open_side(&sides[1], (struct uroce_device_conf){.port_id = 1, .addr = "192.0.2.2"});
	for (int i = 0; i < 2; i++) {
		uroce_qp_local(sides[1 - i].qp, &peer);
		memset(peer.mac, 0, sizeof(peer.mac));
		CU_ASSERT_EQUAL_FATAL(uroce_qp_connect(sides[i].qp, &peer), 0);
	}
	write_arrives(&sides[0], &sides[1], true);
	CU_ASSERT_TRUE(sides[0].dev->neigh.counters.learnt > 0);
	CU_ASSERT_TRUE(sides[1].dev->neigh.counters.answered > 0);
	close_side(&sides[0]);
	close_side(&sides[1]);
}

static void a_second_eal_init_is_ealready(void)
{
	CU_ASSERT_EQUAL(uroce_eal_init_embedded(2), -EALREADY);
	CU_ASSERT_EQUAL(uroce_eal_init_embedded(99), -EINVAL);
}

static void a_port_that_is_not_there_is_enodev(void)
{
	struct uroce_device *dev;

	CU_ASSERT_EQUAL(
		uroce_device_open(
			&(struct uroce_device_conf){.port_id = 77, .addr = "192.0.2.1"}, &dev),
		-ENODEV);
}

static void a_port_has_one_endpoint(void)
{
	struct uroce_device *dev;

	open_side(&sides[0], (struct uroce_device_conf){.addr = "192.0.2.1"});
	CU_ASSERT_EQUAL(
		uroce_device_open(&(struct uroce_device_conf){.addr = "192.0.2.1"}, &dev), -EBUSY);
	close_side(&sides[0]);
}

static void a_write_crosses_two_ports(void)
{
	open_side(&sides[0], (struct uroce_device_conf){.port_id = 0, .addr = "192.0.2.1"});
	open_side(&sides[1], (struct uroce_device_conf){.port_id = 1, .addr = "192.0.2.2"});
	connect_qps(sides[0].qp, sides[1].qp);
	write_arrives(&sides[0], &sides[1], true);
	close_side(&sides[0]);
	close_side(&sides[1]);
}

static void two_queue_pairs_of_one_port_talk_without_the_wire(void)
{
	struct uroce_qp *other;
	struct side *s = &sides[0];
	struct uroce_wc wc;
	int n = 0;

	open_side(s, (struct uroce_device_conf){.port_id = 0, .addr = "192.0.2.1"});
	CU_ASSERT_EQUAL_FATAL(
		uroce_qp_create(
			s->pd, &(struct uroce_qp_conf){.send_cq = s->cq, .recv_cq = s->cq}, &other),
		0);
	connect_qps(s->qp, other);
	post_write(s, s, 20000);
	for (int i = 0; n == 0 && i < TURNS; i++) {
		uroce_worker_poll(uroce_device_worker(s->dev, 0));
		n = uroce_cq_poll(s->cq, &wc, 1);
	}
	CU_ASSERT_EQUAL(n, 1);
	CU_ASSERT_EQUAL(wc.status, UROCE_STATUS_SUCCESS);
	CU_ASSERT_TRUE(s->dev->workers[0].poller.counters.looped >= 6);
	CU_ASSERT_EQUAL(uroce_qp_destroy(other), 0);
	close_side(s);
}

/* A UD queue pair of this side, open for datagrams with Q_Key 5. */
static struct uroce_qp *open_datagrams(struct side *s)
{
	const struct uroce_qp_conf conf = {.type = UROCE_QP_UD, .send_cq = s->cq, .recv_cq = s->cq};
	struct uroce_qp *qp = NULL;

	CU_ASSERT_EQUAL_FATAL(uroce_qp_create(s->pd, &conf, &qp), 0);
	CU_ASSERT_EQUAL(uroce_qp_open_datagrams(qp, 5), 0);
	return qp;
}

static void post_receive(struct side *s, struct uroce_qp *qp, uint64_t wr_id, size_t at)
{
	struct uroce_sge sge = {s->mem + at, 1064, s->mr->lkey};
	const struct uroce_recv_wr wr = {.wr_id = wr_id, .sge = &sge, .num_sge = 1};

	CU_ASSERT_EQUAL(uroce_post_recv(qp, &wr, 1), 1);
}

static void post_datagram(struct side *s, struct uroce_qp *qp, struct uroce_ah *ah, uint32_t qpn)
{
	struct uroce_sge sge = {s->mem, 1024, s->mr->lkey};
	const struct uroce_send_wr wr = {.opcode = UROCE_WR_SEND,
		.sge = &sge,
		.num_sge = 1,
		.ud = {.ah = ah, .remote_qpn = qpn, .remote_qkey = 5}};

	CU_ASSERT_EQUAL(uroce_post_send(qp, &wr, 1), 1);
}

/* Polls until n completions came; the sum of their wr_ids. */
static uint64_t gather(struct side *s, int n)
{
	uint64_t sum = 0;
	struct uroce_wc wc;

	for (int i = 0; n > 0 && i < TURNS; i++) {
		uroce_worker_poll(uroce_device_worker(s->dev, 0));
		if (uroce_cq_poll(s->cq, &wc, 1) == 0)
			continue;
		CU_ASSERT_EQUAL(wc.status, UROCE_STATUS_SUCCESS);
		CU_ASSERT_EQUAL(wc.byte_len, 1064);
		sum += wc.wr_id;
		n--;
	}
	CU_ASSERT_EQUAL(n, 0);
	return sum;
}

static void datagrams_to_the_own_port_and_group_need_no_wire(void)
{
	struct uroce_ah_conf group = {.dgid = {[10] = 0xff, 0xff, 224, 0, 1, 5}}, own = {0};
	struct uroce_device_attr attr;
	struct side *s = &sides[0];
	struct uroce_ah *to_own, *to_group;
	struct uroce_qp *a, *b;

	open_side(s, (struct uroce_device_conf){.port_id = 0, .addr = "192.0.2.1"});
	a = open_datagrams(s);
	b = open_datagrams(s);
	uroce_device_query(s->dev, &attr);
	memcpy(own.dgid, attr.gid, sizeof(own.dgid));
	CU_ASSERT_EQUAL_FATAL(uroce_ah_create(s->pd, &own, &to_own), 0);
	CU_ASSERT_EQUAL_FATAL(uroce_ah_create(s->pd, &group, &to_group), 0);
	for (int i = 0; i < 1024; i++)
		s->mem[i] = (uint8_t)(i * 5);
	post_receive(s, b, 1, 4096);
	post_datagram(s, a, to_own, uroce_qp_number(b));
	CU_ASSERT_EQUAL(gather(s, 1), 1);
	CU_ASSERT_EQUAL(memcmp(s->mem, s->mem + 4096 + 40, 1024), 0);
	/* Both are members: each gets one, the sender too. */
	CU_ASSERT_EQUAL(uroce_qp_attach_group(a, group.dgid), 0);
	CU_ASSERT_EQUAL(uroce_qp_attach_group(b, group.dgid), 0);
	post_receive(s, a, 2, 8192);
	post_receive(s, b, 4, 12288);
	post_datagram(s, a, to_group, 0xffffff);
	CU_ASSERT_EQUAL(gather(s, 2), 6);
	CU_ASSERT_EQUAL(memcmp(s->mem, s->mem + 8192 + 40, 1024), 0);
	CU_ASSERT_EQUAL(memcmp(s->mem, s->mem + 12288 + 40, 1024), 0);
	CU_ASSERT_EQUAL(uroce_ah_destroy(to_own), 0);
	CU_ASSERT_EQUAL(uroce_ah_destroy(to_group), 0);
	CU_ASSERT_EQUAL(uroce_qp_destroy(a), 0);
	CU_ASSERT_EQUAL(uroce_qp_destroy(b), 0);
	close_side(s);
}

/* A port whose frames come back to it, as from a hub: each member gets one all the same. */
static void groups_on_a_port_that_hears_itself_get_one(void)
{
	struct rte_ring *ring = rte_ring_create("echo", 256, SOCKET_ID_ANY, 0);
	const struct uroce_ah_conf group = {.dgid = {[10] = 0xff, 0xff, 224, 0, 1, 5}};
	struct side *s = &sides[0];
	struct uroce_ah *to_group;
	struct uroce_qp *a;
	struct uroce_wc wc;
	int port_id;

	CU_ASSERT_PTR_NOT_NULL_FATAL(ring);
	port_id = rte_eth_from_ring(ring);
	CU_ASSERT_FATAL(port_id >= 0);
	open_side(s, (struct uroce_device_conf){.port_id = (uint16_t)port_id, .addr = "192.0.2.1"});
	a = open_datagrams(s);
	CU_ASSERT_EQUAL_FATAL(uroce_ah_create(s->pd, &group, &to_group), 0);
	CU_ASSERT_EQUAL(uroce_qp_attach_group(a, group.dgid), 0);
	post_receive(s, a, 2, 8192);
	post_receive(s, a, 4, 12288);
	post_datagram(s, a, to_group, 0xffffff);
	CU_ASSERT_EQUAL(gather(s, 1), 2);
	for (int i = 0; i < 100; i++)
		uroce_worker_poll(uroce_device_worker(s->dev, 0));
	CU_ASSERT_EQUAL(uroce_cq_poll(s->cq, &wc, 1), 0);
	CU_ASSERT_EQUAL(uroce_ah_destroy(to_group), 0);
	CU_ASSERT_EQUAL(uroce_qp_destroy(a), 0);
	close_side(s);
	rte_ring_free(ring);
}

/* ---- a port that does not take everything ---- */

enum {
	NARROW = 8, /* of which a ring holds one less */
	STUCK_NS = 100000000,
};

/* A device whose port sends into a narrow ring that only the test empties. */
static struct rte_ring *open_narrow(struct side *s, const char *name)
{
	struct rte_ring *rx = rte_ring_create("unheard", 64, SOCKET_ID_ANY, 0);
	struct rte_ring *tx = rte_ring_create("narrow", NARROW, SOCKET_ID_ANY, 0);
	int port_id;

	CU_ASSERT_FATAL(rx && tx);
	port_id = rte_eth_from_rings(name, &rx, 1, &tx, 1, SOCKET_ID_ANY);
	CU_ASSERT_FATAL(port_id >= 0);
	open_side(s, (struct uroce_device_conf){.port_id = (uint16_t)port_id, .addr = "192.0.2.1"});
	CU_ASSERT_EQUAL(
		uroce_device_neighbour_set(s->dev, "192.0.2.2", (uint8_t[6]){2, 0, 0, 9}), 0);
	/* Nothing is to go out but what the test sends. */
	atomic_store(&s->dev->neigh.due_ns, UINT64_MAX);
	return tx;
}

static void close_narrow(struct side *s, struct rte_ring *tx)
{
	/* Its frames are of the port's memory. */
	CU_ASSERT_TRUE(rte_ring_empty(tx));
	close_side(s);
	rte_ring_free(tx);
	rte_ring_free(rte_ring_lookup("unheard"));
}

/* Posts n datagrams, numbered in their first bytes, to a peer that is not there. */
static struct uroce_qp *send_numbered(struct side *s, struct uroce_ah **ah, uint32_t n)
{
	const struct uroce_ah_conf conf = {.dgid = {[10] = 0xff, 0xff, 192, 0, 2, 2}};
	struct uroce_qp *qp = open_datagrams(s);

	CU_ASSERT_EQUAL_FATAL(uroce_ah_create(s->pd, &conf, ah), 0);
	for (uint32_t i = 0; i < n; i++) {
		s->mem[0] = (uint8_t)i;
		post_datagram(s, qp, *ah, 5);
		uroce_poller_turn(&s->dev->workers[0].poller, &s->dev->workers[0].core, 1);
	}
	return qp;
}

/* The number of the next frame in the ring; -1: there is none. */
static int next_number(struct rte_ring *tx)
{
	struct rte_mbuf *mbuf;
	int number;

	if (rte_ring_dequeue(tx, (void **)&mbuf) != 0)
		return -1;
	number = rte_pktmbuf_mtod(mbuf, const uint8_t *)[14 + 20 + 8 + 12 + 8];
	rte_pktmbuf_free(mbuf);
	return number;
}

static void what_a_port_does_not_take_is_sent_later(void)
{
	struct side *s = &sides[0];
	struct rte_ring *tx = open_narrow(s, "narrow_port");
	struct uroce_poller *poller = &s->dev->workers[0].poller;
	struct uroce_ah *ah;
	struct uroce_qp *qp = send_numbered(s, &ah, 20);

	CU_ASSERT_EQUAL(rte_ring_count(tx), NARROW - 1);
	CU_ASSERT_EQUAL(poller->pending.num, 20 - (NARROW - 1));
	CU_ASSERT_TRUE(poller->counters.tx_kept > 0);
	/* One comes out, one goes in: in order, none missing. */
	for (int i = 0; i < 20; i++) {
		CU_ASSERT_EQUAL(next_number(tx), i);
		uroce_poller_turn(poller, &s->dev->workers[0].core, 2);
	}
	CU_ASSERT_EQUAL(next_number(tx), -1);
	CU_ASSERT_EQUAL(poller->pending.num, 0);
	CU_ASSERT_EQUAL(poller->counters.tx_refused, 0);
	CU_ASSERT_EQUAL(uroce_ah_destroy(ah), 0);
	CU_ASSERT_EQUAL(uroce_qp_destroy(qp), 0);
	close_narrow(s, tx);
}

/* Each turn returns, however little the port takes; after a while it loses one frame in each. */
static void a_port_that_takes_nothing_loses_the_oldest(void)
{
	struct side *s = &sides[0];
	struct rte_ring *tx = open_narrow(s, "stuck_port");
	struct uroce_worker *worker = &s->dev->workers[0];
	struct uroce_poller *poller = &worker->poller;
	uint64_t now_ns = 1;
	struct uroce_ah *ah;
	struct uroce_qp *qp = send_numbered(s, &ah, 20);

	uroce_poller_turn(poller, &worker->core, now_ns += STUCK_NS);
	CU_ASSERT_EQUAL(poller->counters.tx_refused, 0);
	for (uint32_t i = 1; i <= 5; i++) {
		uroce_poller_turn(poller, &worker->core, ++now_ns);
		CU_ASSERT_EQUAL(poller->counters.tx_refused, i);
		/* Patience begins anew. */
		uroce_poller_turn(poller, &worker->core, now_ns += STUCK_NS);
		CU_ASSERT_EQUAL(poller->counters.tx_refused, i);
	}
	/* 0 to 6 are in the ring, 7 to 11 are lost. */
	for (int i = 0; i < 15; i++) {
		CU_ASSERT_EQUAL(next_number(tx), i < NARROW - 1 ? i : i + 5);
		uroce_poller_turn(poller, &worker->core, now_ns);
	}
	CU_ASSERT_EQUAL(next_number(tx), -1);
	CU_ASSERT_EQUAL(uroce_ah_destroy(ah), 0);
	CU_ASSERT_EQUAL(uroce_qp_destroy(qp), 0);
	close_narrow(s, tx);
}

/* The next event, however long it takes; the link is looked at ten times a second. */
static enum uroce_event_type next_event(struct side *s)
{
	struct uroce_event event = {.type = UROCE_EVENT_CQ_FIRED};

	for (long i = 0; i < 1000000000L; i++) {
		uroce_worker_poll(uroce_device_worker(s->dev, 0));
		if (uroce_event_poll(s->dev, &event, 1) == 1)
			break;
	}
	return event.type;
}

static void a_link_that_goes_and_comes_is_told(void)
{
	open_side(&sides[0], (struct uroce_device_conf){.port_id = 0, .addr = "192.0.2.1"});
	CU_ASSERT_EQUAL(rte_eth_dev_set_link_down(0), 0);
	CU_ASSERT_EQUAL(next_event(&sides[0]), UROCE_EVENT_PORT_ERR);
	CU_ASSERT_EQUAL(rte_eth_dev_set_link_up(0), 0);
	CU_ASSERT_EQUAL(next_event(&sides[0]), UROCE_EVENT_PORT_ACTIVE);
	close_side(&sides[0]);
}

static void a_worker_polls_on_its_own_lcore(void)
{
	unsigned int lcore = rte_get_next_lcore(-1, 1, 0);
	struct uroce_worker *worker;

	if (lcore >= RTE_MAX_LCORE)
		SKIP("EAL has one lcore here");
	open_side(&sides[0], (struct uroce_device_conf){.port_id = 0, .addr = "192.0.2.1"});
	open_side(&sides[1], (struct uroce_device_conf){.port_id = 1, .addr = "192.0.2.2"});
	worker = uroce_device_worker(sides[1].dev, 0);
	CU_ASSERT_EQUAL(uroce_worker_launch(worker, rte_get_main_lcore()), -EINVAL);
	CU_ASSERT_EQUAL_FATAL(uroce_worker_launch(worker, lcore), 0);
	CU_ASSERT_EQUAL(uroce_worker_launch(worker, lcore), -EBUSY);
	connect_qps(sides[0].qp, sides[1].qp);
	write_arrives(&sides[0], &sides[1], false);
	uroce_worker_stop(worker);
	close_side(&sides[0]);
	close_side(&sides[1]);
}

/* ---- a host that owns the port ---- */

static struct rte_mempool *host_pool;

/* A frame that is not RoCE, with a number in it. */
static struct rte_mbuf *foreign_frame(uint8_t number)
{
	struct rte_mbuf *mbuf = rte_pktmbuf_alloc(host_pool);
	uint8_t *data = (uint8_t *)rte_pktmbuf_append(mbuf, FRAME_BYTES);

	memset(data, 0xff, FRAME_BYTES);
	data[12] = 0x08;
	data[13] = 0x06; /* ARP */
	data[20] = number;
	return mbuf;
}

/* The frames that a host's loop takes from one endpoint and gives to the other. */
static uint16_t carry(struct side *from, struct side *to, bool with_foreign, int *wrong)
{
	struct rte_mbuf *burst[96];
	uint16_t n = uroce_worker_tx(uroce_device_worker(from->dev, 0), burst, 32), total = 0, left;
	struct rte_mbuf *mixed[96];

	for (uint16_t i = 0; i < n; i++) {
		if (with_foreign)
			mixed[total++] = foreign_frame((uint8_t)i);
		mixed[total++] = burst[i];
	}
	left = uroce_worker_rx(uroce_device_worker(to->dev, 0), mixed, total);
	*wrong += left != (with_foreign ? n : 0);
	for (uint16_t i = 0; i < left; i++) {
		*wrong += rte_pktmbuf_mtod(mixed[i], uint8_t *)[20] != i;
		rte_pktmbuf_free(mixed[i]);
	}
	return n;
}

static void a_host_hands_in_its_bursts_and_gets_the_rest_back_in_order(void)
{
	struct uroce_wc wc = {.status = UROCE_STATUS_GENERAL_ERR};
	int wrong = 0, n = 0;

	host_pool = rte_pktmbuf_pool_create("host", 1024, 0, 0, 2048, SOCKET_ID_ANY);
	CU_ASSERT_PTR_NOT_NULL_FATAL(host_pool);
	for (int i = 0; i < 2; i++)
		open_side(&sides[i],
			(struct uroce_device_conf){.port_id = (uint16_t)(2 + i),
				.addr = i ? "192.0.2.2" : "192.0.2.1",
				.host_owns_port = true});
	connect_qps(sides[0].qp, sides[1].qp);
	for (int i = 0; i < MEM_BYTES; i++)
		sides[0].mem[i] = (uint8_t)(i * 11);
	CU_ASSERT_EQUAL(uroce_worker_launch(uroce_device_worker(sides[0].dev, 0), 1), -EINVAL);
	post_write(&sides[0], &sides[1], MEM_BYTES);
	for (int i = 0; n == 0 && i < TURNS; i++) {
		/* Neither takes the host's frames nor sends past it. */
		for (int k = 0; k < 2; k++)
			CU_ASSERT_EQUAL(uroce_worker_poll(uroce_device_worker(sides[k].dev, 0)), 0);
		carry(&sides[0], &sides[1], true, &wrong);
		carry(&sides[1], &sides[0], true, &wrong);
		n = uroce_cq_poll(sides[0].cq, &wc, 1);
	}
	CU_ASSERT_EQUAL(n, 1);
	CU_ASSERT_EQUAL(wrong, 0);
	CU_ASSERT_EQUAL(wc.status, UROCE_STATUS_SUCCESS);
	CU_ASSERT_EQUAL(memcmp(sides[0].mem, sides[1].mem, MEM_BYTES), 0);
	close_side(&sides[0]);
	close_side(&sides[1]);
	CU_ASSERT_EQUAL(rte_mempool_avail_count(host_pool), 1024);
	rte_mempool_free(host_pool);
}

/* A RoCE frame cut into a chain at `cut`. */
static struct rte_mbuf *cut_in_two(struct rte_mbuf *whole, uint32_t cut)
{
	struct rte_mbuf *tail;
	uint32_t bytes = rte_pktmbuf_data_len(whole);

	if (cut >= bytes)
		return whole;
	tail = rte_pktmbuf_alloc(host_pool);
	memcpy(rte_pktmbuf_append(tail, (uint16_t)(bytes - cut)),
		rte_pktmbuf_mtod_offset(whole, uint8_t *, cut), bytes - cut);
	rte_pktmbuf_trim(whole, (uint16_t)(bytes - cut));
	rte_pktmbuf_chain(whole, tail);
	return whole;
}

static void a_frame_may_be_cut_anywhere(void)
{
	struct rte_mbuf *burst[32];
	struct uroce_wc wc;

	host_pool = rte_pktmbuf_pool_create("host2", 1023, 0, 0, 4800, SOCKET_ID_ANY);
	CU_ASSERT_PTR_NOT_NULL_FATAL(host_pool);
	for (int i = 0; i < 2; i++)
		open_side(&sides[i],
			(struct uroce_device_conf){.port_id = (uint16_t)(2 + i),
				.addr = i ? "192.0.2.2" : "192.0.2.1",
				.host_owns_port = true});
	connect_qps(sides[0].qp, sides[1].qp);
	for (uint32_t cut = 1; cut < 200; cut++) {
		uint16_t n;

		memset(sides[0].mem, (int)cut, 100);
		post_write(&sides[0], &sides[1], 100);
		n = uroce_worker_tx(uroce_device_worker(sides[0].dev, 0), burst, 32);
		CU_ASSERT_EQUAL(n, 1);
		burst[0] = cut_in_two(burst[0], cut);
		CU_ASSERT_EQUAL(uroce_worker_rx(uroce_device_worker(sides[1].dev, 0), burst, n), 0);
		CU_ASSERT_EQUAL(memcmp(sides[0].mem, sides[1].mem, 100), 0);
		n = uroce_worker_tx(uroce_device_worker(sides[1].dev, 0), burst, 32);
		CU_ASSERT_EQUAL(uroce_worker_rx(uroce_device_worker(sides[0].dev, 0), burst, n), 0);
		CU_ASSERT_EQUAL(uroce_cq_poll(sides[0].cq, &wc, 1), 1);
		CU_ASSERT_EQUAL(wc.status, UROCE_STATUS_SUCCESS);
	}
	close_side(&sides[0]);
	close_side(&sides[1]);
	rte_mempool_free(host_pool);
}

static void the_path_mtu_is_the_largest_that_fits(void)
{
	for (int v6 = 0; v6 < 2; v6++) {
		uint32_t headers = v6 ? 84 : 64;

		CU_ASSERT_EQUAL(uroce_port_active_mtu(UINT32_MAX, 4096, v6), 4096);
		CU_ASSERT_EQUAL(uroce_port_active_mtu(4096 + headers, 4096, v6), 4096);
		CU_ASSERT_EQUAL(uroce_port_active_mtu(4096 + headers - 1, 4096, v6), 2048);
		CU_ASSERT_EQUAL(uroce_port_active_mtu(1500, 4096, v6), 1024);
		CU_ASSERT_EQUAL(uroce_port_active_mtu(9000, 1024, v6), 1024);
		CU_ASSERT_EQUAL(uroce_port_active_mtu(256 + headers, 4096, v6), 256);
		CU_ASSERT_EQUAL(uroce_port_active_mtu(256 + headers - 1, 4096, v6), 0);
	}
}

/* Whoever looks at them later finds them whole, although their sender has closed. */
static void frames_in_a_ring_outlive_their_sender(void)
{
	struct uroce_worker *other;

	open_side(&sides[0], (struct uroce_device_conf){.port_id = 0, .addr = "192.0.2.1"});
	open_side(&sides[1], (struct uroce_device_conf){.port_id = 1, .addr = "192.0.2.2"});
	other = uroce_device_worker(sides[1].dev, 0);
	connect_qps(sides[0].qp, sides[1].qp);
	for (int i = 0; i < MEM_BYTES; i++)
		sides[0].mem[i] = (uint8_t)(i * 11 + 3);
	post_write(&sides[0], &sides[1], MEM_BYTES);
	uroce_worker_poll(uroce_device_worker(sides[0].dev, 0));
	close_side(&sides[0]);
	/* The next one on the port has buffers of its own. */
	open_side(&sides[0], (struct uroce_device_conf){.port_id = 0, .addr = "192.0.2.1"});
	for (int i = 0; i < TURNS; i++)
		uroce_worker_poll(other);
	CU_ASSERT_TRUE(other->core.counters.rx_accepted > 0);
	CU_ASSERT_EQUAL(other->core.counters.drops[UROCE_DROP_FRAME_TOO_SHORT], 0);
	CU_ASSERT_EQUAL(memcmp(sides[0].mem, sides[1].mem, 4096), 0);
	close_side(&sides[0]);
	close_side(&sides[1]);
}

/* A peer beyond a gateway: its record's MAC is nobody's on this link. */
static void a_record_does_not_change_the_gateway(void)
{
	static const uint8_t far_mac[6] = {2, 0xaa, 0, 0, 0, 0x77};
	uint8_t gateway_mac[6] = {2, 0xbb, 0, 0, 0, 0xfe}, known[6];
	struct uroce_hop gateway = {.addr = uroce_gid_of_ipv4(0xc00002fe)};
	struct uroce_peer peer;

	open_side(&sides[0],
		(struct uroce_device_conf){.port_id = 0, .addr = "192.0.2.1/24@192.0.2.254"});
	uroce_qp_local(sides[0].qp, &peer);
	uroce_gid_store(peer.gid, uroce_gid_of_ipv4(0xc6336407));
	memcpy(peer.mac, far_mac, 6);
	CU_ASSERT_EQUAL_FATAL(uroce_qp_connect(sides[0].qp, &peer), 0);
	CU_ASSERT_EQUAL(uroce_neigh_find(&sides[0].dev->neigh, gateway, known), 0);
	pthread_mutex_lock(&sides[0].dev->neigh.lock);
	uroce_neigh_hear(&sides[0].dev->neigh, 1, gateway, gateway_mac);
	pthread_mutex_unlock(&sides[0].dev->neigh.lock);
	CU_ASSERT_EQUAL(uroce_neigh_find(&sides[0].dev->neigh, gateway, known), 1);
	CU_ASSERT_EQUAL(memcmp(known, gateway_mac, 6), 0);
	CU_ASSERT_EQUAL(sides[0].dev->neigh.counters.static_refused, 0);
	/* Nor can it be told: the gateway's can. */
	CU_ASSERT_EQUAL(uroce_device_neighbour_set(sides[0].dev, "198.51.100.7", far_mac), -EINVAL);
	CU_ASSERT_EQUAL(uroce_device_neighbour_set(sides[0].dev, "192.0.2.254", gateway_mac), 0);
	CU_ASSERT_EQUAL(uroce_device_neighbour_set(sides[0].dev, "192.0.2.254", NULL), 0);
	close_side(&sides[0]);
}

int main(void)
{
	static const struct unit_case cases[] = {
		{"a second EAL initialisation is -EALREADY", a_second_eal_init_is_ealready},
		{"a port that is not there is -ENODEV", a_port_that_is_not_there_is_enodev},
		{"a port has one endpoint", a_port_has_one_endpoint},
		{"a WRITE crosses two ports", a_write_crosses_two_ports},
		{"two sides find each other by ARP", sides_find_each_other},
		{"two queue pairs of one port talk without the wire",
			two_queue_pairs_of_one_port_talk_without_the_wire},
		{"datagrams to the own port and group need no wire",
			datagrams_to_the_own_port_and_group_need_no_wire},
		{"groups on a port that hears itself get one",
			groups_on_a_port_that_hears_itself_get_one},
		{"erpc#25: what a port does not take is sent later, in order",
			what_a_port_does_not_take_is_sent_later},
		{"erpc#25: a port that takes nothing loses the oldest, and no turn waits",
			a_port_that_takes_nothing_loses_the_oldest},
		{"spdk#1124: a link that goes down and comes up is told",
			a_link_that_goes_and_comes_is_told},
		{"a worker polls on its own lcore", a_worker_polls_on_its_own_lcore},
		{"a host hands in its bursts and gets the rest back in order",
			a_host_hands_in_its_bursts_and_gets_the_rest_back_in_order},
		{"frames in a ring outlive their sender", frames_in_a_ring_outlive_their_sender},
		{"a record does not change the gateway", a_record_does_not_change_the_gateway},
		{"a frame may be cut anywhere", a_frame_may_be_cut_anywhere},
		{"dgx-spark-playbooks#103: the path MTU is the largest that fits",
			the_path_mtu_is_the_largest_that_fits},
	};

	if (uroce_eal_init_embedded(4) != 0)
		return 1;
	return run_suite("eal", cases, sizeof(cases) / sizeof(cases[0]));
}
