/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The exception path: what of a port's frames is the kernel's, and what the kernel sends by it.
 *
 * The kernel's side is a socket that keeps frames apart, as its interface does, so that no root is
 * needed. Port 0 is the endpoint's; port 1, tied to it, is the link's other end.
 */
#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <rte_ethdev.h>
#include <rte_mbuf.h>

#include "cunit_run.h"
#include "sleeper.h"

enum {
	FRAME_BYTES = 60,
	FOREVER = 1000000,
	A_MINUTE_US = 60000000,
	MEM_BYTES = 1 << 20
};

static struct rte_mempool *pool;
static struct uroce_device *dev;
static struct uroce_worker *worker;
static struct uroce_device_attr attr;
static int kernel; /* its end of the path */

static bool start_far_end(void)
{
	struct rte_eth_conf conf = {0};

	pool = rte_pktmbuf_pool_create("far", 2047, 0, 0, 4600, SOCKET_ID_ANY);
	return pool && rte_eth_dev_configure(1, 1, 1, &conf) == 0 &&
		rte_eth_rx_queue_setup(1, 0, 1024, SOCKET_ID_ANY, NULL, pool) == 0 &&
		rte_eth_tx_queue_setup(1, 0, 1024, SOCKET_ID_ANY, NULL) == 0 &&
		rte_eth_dev_start(1) == 0;
}

static uint16_t receive_far(struct rte_mbuf **mbufs, uint16_t n)
{
	return rte_eth_rx_burst(1, 0, mbufs, n);
}

static void drain_far(void)
{
	struct rte_mbuf *mbuf;

	while (receive_far(&mbuf, 1) == 1)
		rte_pktmbuf_free(mbuf);
}

static void open_device(uint32_t idle_sleep_us)
{
	struct uroce_device_conf conf = {
		.port_id = 0, .addr = "192.0.2.1/24", .idle_sleep_us = idle_sleep_us};
	int ends[2];

	CU_ASSERT_EQUAL_FATAL(uroce_device_open(&conf, &dev), 0);
	CU_ASSERT_EQUAL_FATAL(
		socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends), 0);
	kernel = ends[1];
	dev->exception = (struct uroce_exception){.fd = ends[0], .name = "test"};
	memcpy(dev->exception.mac, dev->mac, sizeof(dev->mac));
	worker = uroce_device_worker(dev, 0);
	worker->poller.conf.exception = &dev->exception;
	uroce_device_query(dev, &attr);
	/* The first probe of our address. */
	uroce_worker_poll(worker);
	drain_far();
}

static void close_device(void)
{
	CU_ASSERT_EQUAL(uroce_device_close(dev), 0);
	close(kernel);
	drain_far();
}

static const struct uroce_poller_counters *counters(void)
{
	return &worker->poller.counters;
}

/* An IPv4 frame to the endpoint's MAC that is none of its business, with a number in it. */
static void make_frame(uint8_t frame[FRAME_BYTES], uint8_t number)
{
	memset(frame, 0, FRAME_BYTES);
	memcpy(frame, attr.mac, 6);
	frame[6] = 2;
	frame[12] = 0x08;
	frame[14] = 0x45;
	frame[23] = 6; /* TCP */
	frame[59] = number;
}

static void send_far(const uint8_t *frame, uint16_t bytes)
{
	struct rte_mbuf *mbuf = rte_pktmbuf_alloc(pool);

	memcpy(rte_pktmbuf_append(mbuf, bytes), frame, bytes);
	CU_ASSERT_EQUAL(rte_eth_tx_burst(1, 0, &mbuf, 1), 1);
}

/* The next frame that the kernel gets; its bytes, 0: none. */
static ssize_t kernel_gets(uint8_t *frame, size_t room)
{
	ssize_t n = recv(kernel, frame, room, 0);

	return n < 0 ? 0 : n;
}

/* ---- from the port to the kernel ---- */

static void what_is_not_the_endpoints_is_the_kernels(void)
{
	uint8_t frame[FRAME_BYTES], got[2 * FRAME_BYTES];

	open_device(0);
	for (uint8_t i = 0; i < 100; i++) {
		make_frame(frame, i);
		send_far(frame, FRAME_BYTES);
	}
	for (int i = 0; i < 4; i++)
		uroce_worker_poll(worker);
	for (uint8_t i = 0; i < 100; i++) {
		make_frame(frame, i);
		CU_ASSERT_EQUAL(kernel_gets(got, sizeof(got)), FRAME_BYTES);
		CU_ASSERT_EQUAL(memcmp(got, frame, FRAME_BYTES), 0);
	}
	CU_ASSERT_EQUAL(kernel_gets(got, sizeof(got)), 0);
	CU_ASSERT_EQUAL(counters()->kernel_rx, 100);
	CU_ASSERT_EQUAL(counters()->rx_not_ours + counters()->kernel_full, 0);
	close_device();
}

static void what_is_for_another_host_is_not(void)
{
	uint8_t frame[FRAME_BYTES], got[FRAME_BYTES];

	open_device(0);
	make_frame(frame, 1);
	frame[5] ^= 1;
	send_far(frame, FRAME_BYTES);
	/* A group's is everybody's. */
	make_frame(frame, 2);
	frame[0] = 1;
	send_far(frame, FRAME_BYTES);
	uroce_worker_poll(worker);
	CU_ASSERT_EQUAL(kernel_gets(got, sizeof(got)), FRAME_BYTES);
	CU_ASSERT_EQUAL(got[59], 2);
	CU_ASSERT_EQUAL(kernel_gets(got, sizeof(got)), 0);
	CU_ASSERT_EQUAL(counters()->rx_not_ours, 1);
	close_device();
}

/* 192.0.2.9 asks for 192.0.2.<last>. */
static void make_question(uint8_t frame[FRAME_BYTES], uint8_t last)
{
	static const uint8_t arp[] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 2, 0, 0, 0, 0, 9, 8, 6, 0,
		1, 8, 0, 6, 4, 0, 1, 2, 0, 0, 0, 0, 9, 192, 0, 2, 9, 0, 0, 0, 0, 0, 0, 192, 0, 2};

	memset(frame, 0, FRAME_BYTES);
	memcpy(frame, arp, sizeof(arp));
	frame[sizeof(arp)] = last;
}

static void a_question_for_the_endpoint_gets_one_answer(void)
{
	uint8_t frame[FRAME_BYTES], got[FRAME_BYTES];
	struct rte_mbuf *answer;

	open_device(0);
	make_question(frame, 1);
	send_far(frame, FRAME_BYTES);
	uroce_worker_poll(worker);
	CU_ASSERT_EQUAL(kernel_gets(got, sizeof(got)), 0);
	CU_ASSERT_EQUAL_FATAL(receive_far(&answer, 1), 1);
	CU_ASSERT_EQUAL(rte_pktmbuf_mtod(answer, uint8_t *)[21], 2);
	rte_pktmbuf_free(answer);
	/* For another, which may be the kernel. */
	make_question(frame, 7);
	send_far(frame, FRAME_BYTES);
	uroce_worker_poll(worker);
	CU_ASSERT_EQUAL(kernel_gets(got, sizeof(got)), FRAME_BYTES);
	CU_ASSERT_EQUAL(memcmp(got, frame, FRAME_BYTES), 0);
	CU_ASSERT_EQUAL(receive_far(&answer, 1), 0);
	close_device();
}

static void a_frame_in_pieces_arrives_whole(void)
{
	uint8_t frame[FRAME_BYTES], got[2 * FRAME_BYTES];

	open_device(0);
	make_frame(frame, 5);
	/* Also cut inside the MAC. */
	for (uint16_t cut = 1; cut < FRAME_BYTES; cut++) {
		struct rte_mbuf *head = rte_pktmbuf_alloc(pool), *tail = rte_pktmbuf_alloc(pool);

		memcpy(rte_pktmbuf_append(head, cut), frame, cut);
		memcpy(rte_pktmbuf_append(tail, FRAME_BYTES - cut), frame + cut, FRAME_BYTES - cut);
		rte_pktmbuf_chain(head, tail);
		CU_ASSERT_EQUAL(rte_eth_tx_burst(1, 0, &head, 1), 1);
		uroce_worker_poll(worker);
		CU_ASSERT_EQUAL(kernel_gets(got, sizeof(got)), FRAME_BYTES);
		CU_ASSERT_EQUAL(memcmp(got, frame, FRAME_BYTES), 0);
	}
	close_device();
}

static void what_the_kernel_does_not_take_is_dropped_and_counted(void)
{
	uint8_t frame[FRAME_BYTES], got[FRAME_BYTES];
	uint64_t taken = 0;

	open_device(0);
	make_frame(frame, 0);
	for (int i = 0; counters()->kernel_full < 100 && i < FOREVER; i++) {
		send_far(frame, FRAME_BYTES);
		uroce_worker_poll(worker);
	}
	CU_ASSERT_EQUAL(counters()->kernel_full, 100);
	while (kernel_gets(got, sizeof(got)) > 0)
		taken++;
	CU_ASSERT_EQUAL(counters()->kernel_rx, taken);
	/* When it takes frames again, it gets them. */
	send_far(frame, FRAME_BYTES);
	uroce_worker_poll(worker);
	CU_ASSERT_EQUAL(kernel_gets(got, sizeof(got)), FRAME_BYTES);
	close_device();
}

/* ---- from the kernel to the port ---- */

static void kernel_sends(uint8_t number)
{
	uint8_t frame[FRAME_BYTES];

	make_frame(frame, number);
	frame[0] = 2;
	CU_ASSERT_EQUAL(send(kernel, frame, sizeof(frame), 0), FRAME_BYTES);
}

static void what_the_kernel_sends_goes_out_in_order(void)
{
	struct rte_mbuf *mbufs[32];
	uint8_t next = 0;

	open_device(0);
	for (uint8_t i = 0; i < 50; i++)
		kernel_sends(i);
	for (int i = 0; next < 50 && i < FOREVER; i++) {
		uint16_t n;

		uroce_worker_poll(worker);
		n = receive_far(mbufs, 32);
		/* A part of a burst at a time. */
		CU_ASSERT_TRUE(n <= 8);
		for (uint16_t k = 0; k < n; k++) {
			CU_ASSERT_EQUAL(rte_pktmbuf_pkt_len(mbufs[k]), FRAME_BYTES);
			CU_ASSERT_EQUAL(rte_pktmbuf_mtod(mbufs[k], uint8_t *)[59], next++);
		}
		rte_pktmbuf_free_bulk(mbufs, n);
	}
	CU_ASSERT_EQUAL(next, 50);
	CU_ASSERT_EQUAL(counters()->kernel_tx, 50);
	close_device();
}

static void what_no_buffer_holds_is_dropped_and_counted(void)
{
	static uint8_t large[60000];
	struct rte_mbuf *mbuf = NULL;

	open_device(0);
	CU_ASSERT_EQUAL(send(kernel, large, sizeof(large), 0), (ssize_t)sizeof(large));
	kernel_sends(7);
	for (int i = 0; !mbuf && i < FOREVER; i++) {
		uroce_worker_poll(worker);
		receive_far(&mbuf, 1);
	}
	CU_ASSERT_PTR_NOT_NULL_FATAL(mbuf);
	CU_ASSERT_EQUAL(rte_pktmbuf_mtod(mbuf, uint8_t *)[59], 7);
	rte_pktmbuf_free(mbuf);
	CU_ASSERT_EQUAL(counters()->kernel_cut, 1);
	CU_ASSERT_EQUAL(counters()->kernel_tx, 1);
	close_device();
}

/* ---- both, and RoCE ---- */

static uint8_t mem[MEM_BYTES];

struct requester {
	struct uroce_pd *pd;
	struct uroce_cq *cq;
	struct uroce_mr *mr;
	struct uroce_qp *qp;
};

/* A queue pair whose peer never answers, and may have so much under way. */
static void make_requester(struct requester *r)
{
	struct uroce_qp_conf conf = {.window_pkts = 1 << 16};
	struct uroce_peer peer = {.gid = {[10] = 0xff, 0xff, 192, 0, 2, 9},
		.mac = {2, 9},
		.qpn = 9,
		.mtu_bytes = 256};
	struct uroce_send_wr wr = {.opcode = UROCE_WR_RDMA_WRITE};
	struct uroce_sge sge = {.addr = mem, .len_bytes = MEM_BYTES};

	peer.timeout = UROCE_TIMEOUT_NONE;
	CU_ASSERT_EQUAL_FATAL(uroce_pd_create(dev, &r->pd), 0);
	CU_ASSERT_EQUAL_FATAL(uroce_cq_create(dev, 1, &r->cq), 0);
	CU_ASSERT_EQUAL_FATAL(uroce_mr_register(r->pd, mem, MEM_BYTES, 0, &r->mr), 0);
	conf.send_cq = conf.recv_cq = r->cq;
	CU_ASSERT_EQUAL_FATAL(uroce_qp_create(r->pd, &conf, &r->qp), 0);
	CU_ASSERT_EQUAL_FATAL(uroce_qp_connect(r->qp, &peer), 0);
	sge.lkey = r->mr->lkey;
	wr.sge = &sge;
	wr.num_sge = 1;
	CU_ASSERT_EQUAL(uroce_post_send(r->qp, &wr, 1), 1);
}

static void unmake(struct requester *r)
{
	CU_ASSERT_EQUAL(uroce_qp_destroy(r->qp), 0);
	CU_ASSERT_EQUAL(uroce_mr_deregister(r->mr), 0);
	CU_ASSERT_EQUAL(uroce_cq_destroy(r->cq), 0);
	CU_ASSERT_EQUAL(uroce_pd_destroy(r->pd), 0);
}

/* The port takes one frame a turn: of 600, neither side gets less than a third. */
static void a_slow_port_is_shared(void)
{
	struct requester requester;
	struct rte_mbuf *mbuf;
	int roce = 0, other = 0;

	open_device(0);
	make_requester(&requester);
	/* Until the link is full. */
	for (int i = 0; counters()->tx_kept == 0 && i < FOREVER; i++)
		uroce_worker_poll(worker);
	for (int i = 0; i < 1100 + 600; i++) {
		while (send(kernel, "a frame of the kernel's", 23, 0) > 0)
			;
		uroce_worker_poll(worker);
		CU_ASSERT_EQUAL_FATAL(receive_far(&mbuf, 1), 1);
		if (i >= 1100 && rte_pktmbuf_pkt_len(mbuf) == 23)
			other++;
		else if (i >= 1100)
			roce++;
		rte_pktmbuf_free(mbuf);
	}
	CU_ASSERT_TRUE(roce >= 200 && other >= 200);
	unmake(&requester);
	close_device();
}

static void what_the_kernel_sends_wakes_a_sleeper(void)
{
	struct sleeper sleeper;
	struct rte_mbuf *mbuf;

	open_device(A_MINUTE_US);
	uroce_worker_offline(worker);
	sleeper_start(&sleeper, worker);
	for (uint8_t i = 0; i < 20; i++) {
		bool came = false;

		sleeper_await(&sleeper);
		kernel_sends(i);
		/* Probes of our own address come in between. */
		while (!came)
			if (receive_far(&mbuf, 1) == 1) {
				came = rte_pktmbuf_mtod(mbuf, uint8_t *)[59] == i &&
					rte_pktmbuf_mtod(mbuf, uint8_t *)[23] == 6;
				rte_pktmbuf_free(mbuf);
			}
	}
	sleeper_stop(&sleeper);
	CU_ASSERT_TRUE(sleeper.longest_ns > 0 && sleeper.longest_ns < SLEEPER_HALF_A_MINUTE_NS);
	close_device();
}

/* ---- asking for one ---- */

static void names_are_checked(void)
{
	static const char *const wrong[] = {
		"", "a name", "sixteen_letters_", "a/b", "a:b", "tap%d", ".", "..", "new\nline"};
	struct uroce_device_conf conf = {.port_id = 0, .addr = "192.0.2.1/24"};
	struct uroce_device *opened;

	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		conf.exception_path = wrong[i];
		CU_ASSERT_EQUAL(uroce_device_open(&conf, &opened), -EINVAL);
	}
	conf.exception_path = "uroce0";
	conf.host_owns_port = true;
	CU_ASSERT_EQUAL(uroce_device_open(&conf, &opened), -EINVAL);
	open_device(0);
	CU_ASSERT_STRING_EQUAL(attr.exception_path, "test");
	close_device();
}

static void no_buffer_is_left_behind(void)
{
	CU_ASSERT_EQUAL(rte_mempool_avail_count(pool), 2047);
}

int main(void)
{
	static const struct unit_case cases[] = {
		{"what is not the endpoint's is the kernel's, in order",
			what_is_not_the_endpoints_is_the_kernels},
		{"what is for another host is not", what_is_for_another_host_is_not},
		{"a question for the endpoint gets one answer, others are heard by both",
			a_question_for_the_endpoint_gets_one_answer},
		{"a frame in pieces arrives whole", a_frame_in_pieces_arrives_whole},
		{"what the kernel does not take is dropped and counted",
			what_the_kernel_does_not_take_is_dropped_and_counted},
		{"what the kernel sends goes out in order, a part of a burst a turn",
			what_the_kernel_sends_goes_out_in_order},
		{"what no buffer holds is dropped and counted",
			what_no_buffer_holds_is_dropped_and_counted},
		{"a slow port is shared between kernel and RoCE", a_slow_port_is_shared},
		{"what the kernel sends wakes a worker that sleeps",
			what_the_kernel_sends_wakes_a_sleeper},
		{"names are checked, and no host's port has such a path", names_are_checked},
		{"no buffer is left behind", no_buffer_is_left_behind},
	};

	if (uroce_eal_init_embedded(2) != 0 || !start_far_end())
		return 1;
	return run_suite("exception", cases, sizeof(cases) / sizeof(cases[0]));
}
