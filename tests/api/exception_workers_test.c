/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The exception path of a port with several workers, and of one in VLANs: who reads the kernel's
 * interface and who writes to it, and what frames look like there.
 *
 * The port is of two rings each way, which only the test fills and empties; the kernel's side is a
 * socket that keeps frames apart.
 */
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <rte_eth_ring.h>
#include <rte_ethdev.h>
#include <rte_mbuf.h>
#include <rte_ring.h>

#include "cunit_run.h"
#include "device.h"

enum {
	QUEUES = 2,
	MBUFS = 1023,
	FRAME_BYTES = 60,
	TAG_BYTES = 4,
	PORT = 2, /* behind those of the embedded EAL */
	TURNS = 1000,
	FOREVER = 1000000
};

static struct rte_ring *rx[QUEUES], *tx[QUEUES];
static struct rte_mempool *pool;
static struct uroce_device *dev;
static int kernel; /* its end of the path */

static bool make_port(void)
{
	char name[16];

	pool = rte_pktmbuf_pool_create("test", MBUFS, 0, 0, 2048, SOCKET_ID_ANY);
	for (int q = 0; q < QUEUES; q++) {
		snprintf(name, sizeof(name), "rx%d", q);
		rx[q] = rte_ring_create(name, 256, SOCKET_ID_ANY, RING_F_SP_ENQ | RING_F_SC_DEQ);
		snprintf(name, sizeof(name), "tx%d", q);
		tx[q] = rte_ring_create(name, 256, SOCKET_ID_ANY, RING_F_SP_ENQ | RING_F_SC_DEQ);
		if (!rx[q] || !tx[q])
			return false;
	}
	return pool && rte_eth_from_rings("workers", rx, QUEUES, tx, QUEUES, SOCKET_ID_ANY) == PORT;
}

static void drain(void)
{
	struct rte_mbuf *mbuf;

	for (int q = 0; q < QUEUES; q++)
		while (rte_ring_dequeue(tx[q], (void **)&mbuf) == 0)
			rte_pktmbuf_free(mbuf);
}

static void open_device(const char *addr, uint16_t queues)
{
	struct uroce_device_conf conf = {
		.port_id = PORT, .addr = addr, .num_workers = 2, .num_queues = queues};
	int ends[2];

	CU_ASSERT_EQUAL_FATAL(uroce_device_open(&conf, &dev), 0);
	CU_ASSERT_EQUAL_FATAL(
		socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends), 0);
	kernel = ends[1];
	dev->exception = (struct uroce_exception){.fd = ends[0], .name = "test"};
	memcpy(dev->exception.mac, dev->mac, sizeof(dev->mac));
	for (unsigned int i = 0; i < dev->num_workers; i++)
		dev->workers[i].poller.conf.exception = &dev->exception;
	/* The first probes of our addresses. */
	for (unsigned int i = 0; i < dev->num_workers; i++)
		uroce_worker_poll(&dev->workers[i]);
	drain();
}

static void close_device(void)
{
	drain();
	CU_ASSERT_EQUAL(uroce_device_close(dev), 0);
	close(kernel);
	CU_ASSERT_EQUAL(rte_mempool_avail_count(pool), MBUFS);
}

static const struct uroce_poller_counters *counters(int worker)
{
	return &dev->workers[worker].poller.counters;
}

/* A TCP frame to the endpoint's MAC, with a number in it. */
static void make_frame(uint8_t frame[FRAME_BYTES], uint8_t number)
{
	memset(frame, 0, FRAME_BYTES);
	memcpy(frame, dev->mac, 6);
	frame[6] = 2;
	frame[12] = 0x08;
	frame[14] = 0x45;
	frame[23] = 6;
	frame[59] = number;
}

static void deliver(int queue, const uint8_t *frame, uint16_t bytes, bool stripped)
{
	struct rte_mbuf *mbuf = rte_pktmbuf_alloc(pool);

	CU_ASSERT_PTR_NOT_NULL_FATAL(mbuf);
	memcpy(rte_pktmbuf_append(mbuf, bytes), frame, bytes);
	if (stripped)
		CU_ASSERT_EQUAL(rte_vlan_strip(mbuf), 0);
	CU_ASSERT_EQUAL(rte_ring_enqueue(rx[queue], mbuf), 0);
}

/* The next frame that the kernel gets; its bytes, 0: none. */
static ssize_t kernel_gets(uint8_t *frame, size_t room)
{
	ssize_t n = recv(kernel, frame, room, 0);

	return n < 0 ? 0 : n;
}

static void kernel_sends(uint8_t number)
{
	uint8_t frame[FRAME_BYTES];

	make_frame(frame, number);
	frame[0] = 2;
	CU_ASSERT_EQUAL(send(kernel, frame, sizeof(frame), 0), FRAME_BYTES);
}

/* The number of the kernel's next frame on a queue to send; -1: there is none. */
static int next_sent(int queue)
{
	struct rte_mbuf *mbuf;
	int number = -1;

	/* Probes of our own addresses come in between. */
	while (number < 0 && rte_ring_dequeue(tx[queue], (void **)&mbuf) == 0) {
		if (rte_pktmbuf_mtod(mbuf, uint8_t *)[23] == 6)
			number = rte_pktmbuf_mtod(mbuf, uint8_t *)[59];
		rte_pktmbuf_free(mbuf);
	}
	return number;
}

/* ---- workers ---- */

static void each_worker_gives_what_came_to_its_queue(void)
{
	uint8_t frame[FRAME_BYTES], got[2 * FRAME_BYTES];

	open_device("192.0.2.1/24", 2);
	for (uint8_t i = 0; i < QUEUES; i++) {
		make_frame(frame, i);
		deliver(i, frame, FRAME_BYTES, false);
		uroce_worker_poll(&dev->workers[!i]);
		CU_ASSERT_EQUAL(kernel_gets(got, sizeof(got)), 0);
		uroce_worker_poll(&dev->workers[i]);
		CU_ASSERT_EQUAL(kernel_gets(got, sizeof(got)), FRAME_BYTES);
		CU_ASSERT_EQUAL(memcmp(got, frame, FRAME_BYTES), 0);
		CU_ASSERT_EQUAL(counters(i)->kernel_rx, 1);
	}
	close_device();
}

/* Whatever queues there are: that one has one, and what it reads stays in order. */
static void the_first_worker_reads_and_no_other(void)
{
	for (uint16_t queues = 1; queues <= QUEUES; queues++) {
		uint8_t next = 0;

		open_device("192.0.2.1/24", queues);
		CU_ASSERT_EQUAL(uroce_poller_kernel_fd(&dev->workers[0].poller), dev->exception.fd);
		CU_ASSERT_EQUAL(uroce_poller_kernel_fd(&dev->workers[1].poller), -1);
		for (uint8_t i = 0; i < 50; i++)
			kernel_sends(i);
		for (int i = 0; i < TURNS; i++)
			uroce_worker_poll(&dev->workers[1]);
		CU_ASSERT_EQUAL(next_sent(0), -1);
		CU_ASSERT_EQUAL(next_sent(1), -1);
		for (int i = 0; next < 50 && i < FOREVER; i++) {
			int number;

			uroce_worker_poll(&dev->workers[1]);
			uroce_worker_poll(&dev->workers[0]);
			while ((number = next_sent(0)) >= 0)
				CU_ASSERT_EQUAL(number, next++);
		}
		CU_ASSERT_EQUAL(next, 50);
		CU_ASSERT_EQUAL(next_sent(1), -1);
		CU_ASSERT_EQUAL(counters(0)->kernel_tx, 50);
		CU_ASSERT_EQUAL(counters(1)->kernel_tx, 0);
		close_device();
	}
}

/* ---- VLANs ---- */

/* The frame with a tag in front of its type; its bytes. */
static uint16_t tag_frame(const uint8_t frame[FRAME_BYTES], uint16_t tci, uint8_t *out)
{
	memcpy(out, frame, 12);
	out[12] = 0x81;
	out[13] = 0;
	out[14] = (uint8_t)(tci >> 8);
	out[15] = (uint8_t)tci;
	memcpy(out + 16, frame + 12, FRAME_BYTES - 12);
	return FRAME_BYTES + TAG_BYTES;
}

/* The kernel gets the frame as it was on the wire, wherever its tag was on the way here. */
static void check_tagged(const uint8_t frame[FRAME_BYTES], uint16_t tci)
{
	uint8_t tagged[FRAME_BYTES + TAG_BYTES], got[2 * FRAME_BYTES];
	uint16_t bytes = tag_frame(frame, tci, tagged);

	for (int stripped = 0; stripped < 2; stripped++) {
		deliver(0, tagged, bytes, stripped);
		uroce_worker_poll(&dev->workers[0]);
		CU_ASSERT_EQUAL(kernel_gets(got, sizeof(got)), bytes);
		CU_ASSERT_EQUAL(memcmp(got, tagged, bytes), 0);
		CU_ASSERT_EQUAL(kernel_gets(got, sizeof(got)), 0);
	}
}

/* Of the endpoint's VLAN, of another, of none with a priority. */
static const uint16_t tcis[] = {0x6064, 0x00c8, 0x6000};

static void tags_are_where_they_were_on_the_wire(void)
{
	uint8_t frame[FRAME_BYTES];

	open_device("192.0.2.1/24#100", 1);
	for (size_t i = 0; i < sizeof(tcis) / sizeof(tcis[0]); i++) {
		make_frame(frame, (uint8_t)i);
		check_tagged(frame, tcis[i]);
	}
	CU_ASSERT_EQUAL(counters(0)->kernel_rx, 6);
	CU_ASSERT_EQUAL(counters(0)->kernel_full + counters(0)->rx_not_ours, 0);
	close_device();
}

/* 192.0.2.9 asks for 192.0.2.1. */
static void make_question(uint8_t frame[FRAME_BYTES])
{
	static const uint8_t arp[] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 2, 0, 0, 0, 0, 9, 8, 6, 0,
		1, 8, 0, 6, 4, 0, 1, 2, 0, 0, 0, 0, 9, 192, 0, 2, 9, 0, 0, 0, 0, 0, 0, 192, 0, 2,
		1};

	memset(frame, 0, FRAME_BYTES);
	memcpy(frame, arp, sizeof(arp));
}

/* UDP to RoCE's port at 192.0.2.1, with a base transport header of nothing. */
static void make_roce(uint8_t frame[FRAME_BYTES])
{
	static const uint8_t ip[] = {0x45, 0, 0, 44, 0, 0, 0x40, 0, 64, 17, 0xb6, 0xb5, 192, 0, 2,
		9, 192, 0, 2, 1, 0xc0, 0, 0x12, 0xb7, 0, 24, 0, 0};

	make_frame(frame, 0);
	memcpy(frame + 14, ip, sizeof(ip));
}

static void another_vlans_frames_for_our_address_are_the_kernels(void)
{
	uint8_t frame[FRAME_BYTES], tagged[FRAME_BYTES + TAG_BYTES], got[2 * FRAME_BYTES];

	open_device("192.0.2.1/24#100", 1);
	make_question(frame);
	check_tagged(frame, 0x00c8);
	make_roce(frame);
	check_tagged(frame, 0x00c8);
	CU_ASSERT_EQUAL(dev->neigh.counters.answered, 0);
	/* Those of its own are not. */
	for (int stripped = 0; stripped < 2; stripped++) {
		deliver(0, tagged, tag_frame(frame, 0x6064, tagged), stripped);
		make_question(frame);
		deliver(0, tagged, tag_frame(frame, 0x6064, tagged), stripped);
		make_roce(frame);
		uroce_worker_poll(&dev->workers[0]);
		CU_ASSERT_EQUAL(kernel_gets(got, sizeof(got)), 0);
	}
	CU_ASSERT_EQUAL(dev->neigh.counters.answered, 2);
	CU_ASSERT_EQUAL(counters(0)->kernel_rx, 4);
	close_device();
}

int main(void)
{
	static const struct unit_case cases[] = {
		{"each worker gives the kernel what came to its queue",
			each_worker_gives_what_came_to_its_queue},
		{"the first worker reads what the kernel sends, and no other",
			the_first_worker_reads_and_no_other},
		{"the kernel gets frames with their tags, which the port may have taken off",
			tags_are_where_they_were_on_the_wire},
		{"frames for an address of ours in another VLAN are the kernel's",
			another_vlans_frames_for_our_address_are_the_kernels},
	};

	if (uroce_eal_init_embedded(2) != 0 || !make_port())
		return 1;
	return run_suite("exception_workers", cases, sizeof(cases) / sizeof(cases[0]));
}
