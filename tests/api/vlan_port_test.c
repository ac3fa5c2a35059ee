/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * VLANs on DPDK ports made of rings: tags in the frame and beside it in the mbuf, the way around,
 * hand-over between workers.
 *
 * EAL starts once per process: ports 0 and 1 are tied together; port 2 has two queues that only the
 * test fills and empties.
 */
#include <string.h>

#include <rte_eth_ring.h>
#include <rte_ethdev.h>
#include <rte_mbuf.h>
#include <rte_ring.h>

#include "cunit_run.h"
#include "device.h"

enum {
	MEM_BYTES = 16384,
	TURNS = 100000,
	QUEUES = 2,
	MBUFS = 1023,
	TAG = 12,
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
static struct rte_ring *rx[QUEUES], *tx[QUEUES]; /* of port 2 */
static struct rte_mempool *pool;		 /* of the test */

static void open_side(int i, struct uroce_device_conf conf, uint16_t worker)
{
	struct side *s = &sides[i];
	struct uroce_qp_conf qp_conf = {.worker = UROCE_WORKER(worker)};

	memset(s->mem, 0, sizeof(s->mem));
	CU_ASSERT_EQUAL_FATAL(uroce_device_open(&conf, &s->dev), 0);
	CU_ASSERT_EQUAL_FATAL(uroce_pd_create(s->dev, &s->pd), 0);
	CU_ASSERT_EQUAL_FATAL(uroce_cq_create(s->dev, 64, &s->cq), 0);
	CU_ASSERT_EQUAL_FATAL(uroce_mr_register(s->pd, s->mem, MEM_BYTES,
				      UROCE_ACCESS_LOCAL_WRITE | UROCE_ACCESS_REMOTE_WRITE, &s->mr),
		0);
	qp_conf.send_cq = qp_conf.recv_cq = s->cq;
	CU_ASSERT_EQUAL_FATAL(uroce_qp_create(s->pd, &qp_conf, &s->qp), 0);
}

static void close_side(int i)
{
	struct side *s = &sides[i];

	CU_ASSERT_EQUAL(uroce_qp_destroy(s->qp), 0);
	CU_ASSERT_EQUAL(uroce_cq_destroy(s->cq), 0);
	CU_ASSERT_EQUAL(uroce_mr_deregister(s->mr), 0);
	CU_ASSERT_EQUAL(uroce_pd_destroy(s->pd), 0);
	CU_ASSERT_EQUAL(uroce_device_close(s->dev), 0);
}

/* Queue pairs a and b, each from an entry of its device's GID table. */
static void connect_qps(
	struct uroce_qp *a, struct side *of_a, struct uroce_qp *b, struct side *of_b, bool entry_b)
{
	struct uroce_peer peer;

	uroce_qp_local(b, &peer);
	CU_ASSERT_EQUAL(uroce_device_gid(of_b->dev, entry_b, peer.gid), 0);
	peer.source = UROCE_SOURCE(0);
	CU_ASSERT_EQUAL_FATAL(uroce_qp_connect(a, &peer), 0);
	uroce_qp_local(a, &peer);
	CU_ASSERT_EQUAL(uroce_device_gid(of_a->dev, 0, peer.gid), 0);
	peer.source = UROCE_SOURCE(entry_b);
	CU_ASSERT_EQUAL_FATAL(uroce_qp_connect(b, &peer), 0);
}

static void post_write(struct uroce_qp *qp, struct side *from, struct side *to, uint32_t bytes)
{
	struct uroce_sge sge = {from->mem, bytes, from->mr->lkey};
	const struct uroce_send_wr wr = {.opcode = UROCE_WR_RDMA_WRITE,
		.flags = UROCE_SEND_SIGNALED,
		.sge = &sge,
		.num_sge = 1,
		.rdma = {.remote_addr = (uintptr_t)to->mem + MEM_BYTES / 2, .rkey = to->mr->rkey}};

	for (uint32_t i = 0; i < bytes; i++)
		from->mem[i] = (uint8_t)(i * 13 + bytes);
	CU_ASSERT_EQUAL(uroce_post_send(qp, &wr, 1), 1);
}

static bool has_arrived(const struct side *from, const struct side *to, uint32_t bytes)
{
	return memcmp(from->mem, to->mem + MEM_BYTES / 2, bytes) == 0;
}

static uint64_t drops(const struct side *s, enum uroce_drop drop)
{
	struct uroce_counters counters;

	uroce_device_counters(s->dev, &counters);
	return counters.drops[drop];
}

/* ---- tags beside the frame ---- */

enum how {
	AS_IT_IS,
	STRIPPED,
	STRIPPED_AND_CUT
};

/* As a port with that offload, or a driver that cuts, would hand it over. */
static void deliver(struct rte_mbuf *mbuf, enum how how)
{
	struct rte_mbuf *tail;

	if (how != AS_IT_IS)
		CU_ASSERT_EQUAL(rte_vlan_strip(mbuf), 0);
	if (how != STRIPPED_AND_CUT)
		return;
	tail = rte_pktmbuf_alloc(pool);
	CU_ASSERT_PTR_NOT_NULL_FATAL(tail);
	memcpy(rte_pktmbuf_append(tail, 20),
		rte_pktmbuf_mtod_offset(mbuf, uint8_t *, mbuf->data_len - 20), 20);
	rte_pktmbuf_trim(mbuf, 20);
	CU_ASSERT_EQUAL(rte_pktmbuf_chain(mbuf, tail), 0);
}

static void open_hosted(const char *addr_0, const char *addr_1)
{
	for (int i = 0; i < 2; i++)
		open_side(i,
			(struct uroce_device_conf){.port_id = (uint16_t)i,
				.addr = i ? addr_1 : addr_0,
				.host_owns_port = true},
			0);
	connect_qps(sides[0].qp, &sides[0], sides[1].qp, &sides[1], false);
}

/* What one endpoint has to send, to the other; how many of them are handed back. */
static int carry(int from, enum how how)
{
	struct rte_mbuf *burst[32];
	uint16_t n = uroce_worker_tx(uroce_device_worker(sides[from].dev, 0), burst, 32), left;

	for (uint16_t i = 0; i < n; i++) {
		CU_ASSERT_EQUAL(memcmp(rte_pktmbuf_mtod_offset(burst[i], uint8_t *, TAG),
					"\x81\x00\x60\x64\x08\x00", 6),
			0);
		deliver(burst[i], how);
	}
	left = uroce_worker_rx(uroce_device_worker(sides[1 - from].dev, 0), burst, n);
	rte_pktmbuf_free_bulk(burst, left);
	return left;
}

static void a_tag_beside_the_frame_is_not_missed(void)
{
	struct uroce_wc wc;

	open_hosted("192.0.2.1/24#100:3", "192.0.2.2/24#100:3");
	for (enum how how = AS_IT_IS; how <= STRIPPED_AND_CUT; how++) {
		int n = 0;

		post_write(sides[0].qp, &sides[0], &sides[1], 5000 + how);
		for (int i = 0; n == 0 && i < TURNS; i++) {
			CU_ASSERT_EQUAL(carry(0, how), 0);
			CU_ASSERT_EQUAL(carry(1, how), 0);
			n = uroce_cq_poll(sides[0].cq, &wc, 1);
		}
		CU_ASSERT_EQUAL(n, 1);
		CU_ASSERT_EQUAL(wc.status, UROCE_STATUS_SUCCESS);
		CU_ASSERT_TRUE(has_arrived(&sides[0], &sides[1], 5000 + how));
	}
	close_side(0);
	close_side(1);
}

static void another_vlans_frames_are_handed_back_untouched(void)
{
	struct rte_mbuf *burst[2];
	uint8_t *data, copy[128];

	open_hosted("192.0.2.1/24#100:3", "192.0.2.2/24#101");
	post_write(sides[0].qp, &sides[0], &sides[1], 8);
	CU_ASSERT_EQUAL(uroce_worker_tx(uroce_device_worker(sides[0].dev, 0), burst, 2), 1);
	data = rte_pktmbuf_mtod(burst[0], uint8_t *);
	memcpy(copy, data, burst[0]->data_len);
	CU_ASSERT_EQUAL(uroce_worker_rx(uroce_device_worker(sides[1].dev, 0), burst, 1), 1);
	CU_ASSERT_EQUAL(memcmp(copy, data, burst[0]->data_len), 0);
	CU_ASSERT_EQUAL(drops(&sides[1], UROCE_DROP_VLAN_OTHER), 1);
	deliver(burst[0], STRIPPED);
	CU_ASSERT_EQUAL(uroce_worker_rx(uroce_device_worker(sides[1].dev, 0), burst, 1), 1);
	CU_ASSERT_EQUAL(burst[0]->vlan_tci, 0x6064);
	CU_ASSERT_TRUE(burst[0]->ol_flags & RTE_MBUF_F_RX_VLAN_STRIPPED);
	CU_ASSERT_EQUAL(drops(&sides[1], UROCE_DROP_VLAN_OTHER), 2);
	/* A second tag that the port has taken off: ours alone would do. */
	burst[0]->vlan_tci = 101;
	burst[0]->ol_flags |= RTE_MBUF_F_RX_QINQ | RTE_MBUF_F_RX_QINQ_STRIPPED;
	CU_ASSERT_EQUAL(uroce_worker_rx(uroce_device_worker(sides[1].dev, 0), burst, 1), 1);
	CU_ASSERT_EQUAL(drops(&sides[1], UROCE_DROP_TAGGED_TWICE), 1);
	/* What is told of the tag while it is in the frame is not what was taken off. */
	burst[0]->ol_flags = RTE_MBUF_F_RX_VLAN;
	CU_ASSERT_EQUAL(uroce_worker_rx(uroce_device_worker(sides[1].dev, 0), burst, 1), 1);
	CU_ASSERT_EQUAL(drops(&sides[1], UROCE_DROP_VLAN_OTHER), 3);
	burst[0]->ol_flags = RTE_MBUF_F_RX_VLAN | RTE_MBUF_F_RX_VLAN_STRIPPED;
	CU_ASSERT_EQUAL(uroce_worker_rx(uroce_device_worker(sides[1].dev, 0), burst, 1), 0);
	CU_ASSERT_TRUE(has_arrived(&sides[0], &sides[1], 8));
	close_side(0);
	close_side(1);
}

/* ---- across the wire, and around ---- */

static bool completes(struct side *s)
{
	struct uroce_wc wc = {.status = UROCE_STATUS_GENERAL_ERR};
	int n = 0;

	for (int i = 0; n == 0 && i < TURNS; i++) {
		for (int k = 0; k < 2; k++)
			if (sides[k].dev)
				uroce_worker_poll(uroce_device_worker(sides[k].dev, 0));
		n = uroce_cq_poll(s->cq, &wc, 1);
	}
	return n == 1 && wc.status == UROCE_STATUS_SUCCESS;
}

/* Neither knows the other's MAC: it is asked for in the VLAN. */
static void two_ports_find_each_other_in_a_vlan(void)
{
	static const char *const addrs[][2] = {{"192.0.2.1/24#100", "192.0.2.2/24#100:1"},
		{"2001:db8::1/64#4094", "2001:db8::2/64#4094"}, {"fe80::#1", "fe80::#1"}};
	struct uroce_peer peer;

	for (size_t i = 0; i < sizeof(addrs) / sizeof(addrs[0]); i++) {
		for (int k = 0; k < 2; k++)
			open_side(k,
				(struct uroce_device_conf){
					.port_id = (uint16_t)k, .addr = addrs[i][k]},
				0);
		for (int k = 0; k < 2; k++) {
			uroce_qp_local(sides[1 - k].qp, &peer);
			memset(peer.mac, 0, sizeof(peer.mac));
			CU_ASSERT_EQUAL_FATAL(uroce_qp_connect(sides[k].qp, &peer), 0);
		}
		post_write(sides[0].qp, &sides[0], &sides[1], 3000);
		CU_ASSERT_TRUE(completes(&sides[0]));
		CU_ASSERT_TRUE(has_arrived(&sides[0], &sides[1], 3000));
		CU_ASSERT_TRUE(sides[0].dev->neigh.counters.learnt > 0);
		close_side(0);
		close_side(1);
	}
}

/* Each frame has the tag of the address that it is for. */
static void our_own_addresses_reach_each_other_across_vlans(void)
{
	static const char *const addrs[] = {"192.0.2.1/24,198.51.100.1/24#100:2",
		"192.0.2.1/24#100,198.51.100.1/24#101", "192.0.2.1/24#100,198.51.100.1/24#100"};
	struct side *s = &sides[0];
	struct uroce_qp *other;

	sides[1].dev = NULL;
	for (size_t i = 0; i < sizeof(addrs) / sizeof(addrs[0]); i++) {
		const struct uroce_device_conf conf = {.port_id = 0, .addr = addrs[i]};
		struct uroce_qp_conf qp_conf = {0};

		open_side(0, conf, 0);
		qp_conf.send_cq = qp_conf.recv_cq = s->cq;
		CU_ASSERT_EQUAL_FATAL(uroce_qp_create(s->pd, &qp_conf, &other), 0);
		connect_qps(s->qp, s, other, s, true);
		post_write(s->qp, s, s, 5000);
		CU_ASSERT_TRUE(completes(s));
		CU_ASSERT_TRUE(has_arrived(s, s, 5000));
		post_write(other, s, s, 4999);
		CU_ASSERT_TRUE(completes(s));
		CU_ASSERT_TRUE(has_arrived(s, s, 4999));
		CU_ASSERT_EQUAL(drops(s, UROCE_DROP_VLAN_OTHER), 0);
		CU_ASSERT_TRUE(s->dev->workers[0].poller.counters.looped > 0);
		CU_ASSERT_EQUAL(uroce_qp_destroy(other), 0);
		close_side(0);
	}
}

/* ---- a port of the test's ---- */

static bool make_port(void)
{
	static const char *const names[2 * QUEUES] = {"rx0", "rx1", "tx0", "tx1"};

	for (int i = 0; i < 2 * QUEUES; i++) {
		struct rte_ring *ring = rte_ring_create(names[i], 256, SOCKET_ID_ANY, 0);

		*(i < QUEUES ? &rx[i] : &tx[i - QUEUES]) = ring;
		if (!ring)
			return false;
	}
	pool = rte_pktmbuf_pool_create("test", MBUFS, 0, 0, 8192, SOCKET_ID_ANY);
	return pool && rte_eth_from_rings("by_hand", rx, QUEUES, tx, QUEUES, SOCKET_ID_ANY) == 2;
}

/* The next frame that the port has sent, and that is like this behind the MACs; NULL: none. */
static struct rte_mbuf *sent(const void *behind_macs, size_t n)
{
	struct rte_mbuf *mbuf;

	for (int q = 0; q < QUEUES; q++)
		while (rte_ring_dequeue(tx[q], (void **)&mbuf) == 0) {
			if (memcmp(rte_pktmbuf_mtod_offset(mbuf, uint8_t *, TAG), behind_macs, n) ==
				0)
				return mbuf;
			rte_pktmbuf_free(mbuf);
		}
	return NULL;
}

static void give(int queue, struct rte_mbuf *mbuf)
{
	CU_ASSERT_EQUAL(rte_ring_enqueue(rx[queue], mbuf), 0);
}

static struct rte_mbuf *frame_of(const uint8_t *data, uint16_t bytes)
{
	struct rte_mbuf *mbuf = rte_pktmbuf_alloc(pool);

	CU_ASSERT_PTR_NOT_NULL_FATAL(mbuf);
	memcpy(rte_pktmbuf_append(mbuf, bytes), data, bytes);
	return mbuf;
}

/* Somebody asks for us, its tag beside the frame. */
static void questions_have_their_tag_beside_the_frame(void)
{
	/* 192.0.2.2 at 02::02 asks who has 192.0.2.1. */
	static const uint8_t ask[42] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 2, 0, 0, 0, 0, 2, 8, 6,
		0, 1, 8, 0, 6, 4, 0, 1, 2, 0, 0, 0, 0, 2, 192, 0, 2, 2, 0, 0, 0, 0, 0, 0, 192, 0, 2,
		1};
	/* VLAN, whether it is answered */
	static const struct {
		uint16_t tci;
		bool answered;
	} rows[] = {{0x0064, true}, {0xe064, true}, {0x0065, false}, {0xe000, false}};
	struct rte_mbuf *mbuf;

	sides[1].dev = NULL;
	open_side(0, (struct uroce_device_conf){.port_id = 2, .addr = "192.0.2.1/24#100:3"}, 0);
	atomic_store(&sides[0].dev->neigh.due_ns, UINT64_MAX);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		mbuf = frame_of(ask, sizeof(ask));
		mbuf->vlan_tci = rows[i].tci;
		mbuf->ol_flags |= RTE_MBUF_F_RX_VLAN | RTE_MBUF_F_RX_VLAN_STRIPPED;
		give(0, mbuf);
		uroce_worker_poll(uroce_device_worker(sides[0].dev, 0));
		mbuf = sent("\x81\x00\x60\x64\x08\x06", 6);
		CU_ASSERT_EQUAL(mbuf != NULL, rows[i].answered);
		rte_pktmbuf_free(mbuf);
	}
	close_side(0);
	CU_ASSERT_EQUAL(rte_mempool_avail_count(pool), MBUFS);
}

/* Built at port 0, given to the queue of the worker that does not have the queue pair. */
static void a_tag_beside_the_frame_is_handed_over_with_it(void)
{
	struct uroce_peer peer;
	struct rte_mbuf *burst[2], *mbuf;

	open_side(0,
		(struct uroce_device_conf){
			.port_id = 0, .addr = "192.0.2.1/24#100", .host_owns_port = true},
		0);
	open_side(1,
		(struct uroce_device_conf){
			.port_id = 2, .addr = "192.0.2.2/24#100", .num_workers = QUEUES},
		1);
	uroce_qp_local(sides[1].qp, &peer);
	CU_ASSERT_EQUAL_FATAL(uroce_qp_connect(sides[0].qp, &peer), 0);
	uroce_qp_local(sides[0].qp, &peer);
	CU_ASSERT_EQUAL_FATAL(uroce_qp_connect(sides[1].qp, &peer), 0);
	for (uint32_t bytes = 8; bytes < 11; bytes++) {
		post_write(sides[0].qp, &sides[0], &sides[1], bytes);
		CU_ASSERT_EQUAL_FATAL(
			uroce_worker_tx(uroce_device_worker(sides[0].dev, 0), burst, 2), 1);
		mbuf = frame_of(rte_pktmbuf_mtod(burst[0], uint8_t *), burst[0]->data_len);
		rte_pktmbuf_free(burst[0]);
		deliver(mbuf, (enum how)(bytes - 8));
		give(0, mbuf);
		uroce_worker_poll(uroce_device_worker(sides[1].dev, 0));
		CU_ASSERT_FALSE(has_arrived(&sides[0], &sides[1], bytes));
		uroce_worker_poll(uroce_device_worker(sides[1].dev, 1));
		CU_ASSERT_TRUE(has_arrived(&sides[0], &sides[1], bytes));
	}
	CU_ASSERT_EQUAL(drops(&sides[1], UROCE_DROP_VLAN_OTHER), 0);
	CU_ASSERT_PTR_NULL(sent("", 1));
	close_side(0);
	close_side(1);
	CU_ASSERT_EQUAL(rte_mempool_avail_count(pool), MBUFS);
}

int main(void)
{
	static const struct unit_case cases[] = {
		{"a tag beside the frame is not missed", a_tag_beside_the_frame_is_not_missed},
		{"another VLAN's frames are handed back untouched",
			another_vlans_frames_are_handed_back_untouched},
		{"two ports find each other in a VLAN", two_ports_find_each_other_in_a_vlan},
		{"our own addresses reach each other across VLANs",
			our_own_addresses_reach_each_other_across_vlans},
		{"questions have their tag beside the frame",
			questions_have_their_tag_beside_the_frame},
		{"a tag beside the frame is handed over with it",
			a_tag_beside_the_frame_is_handed_over_with_it},
	};

	if (uroce_eal_init_embedded(2) != 0 || !make_port())
		return 1;
	return run_suite("vlan_port", cases, sizeof(cases) / sizeof(cases[0]));
}
