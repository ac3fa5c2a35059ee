/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Workers that sleep on their port's interrupt.
 *
 * The ports are a vhost-user socket and the virtio-user device at its other end, both in this
 * process: drivers whose descriptors behave as those of hardware do, which memory rings have not.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <rte_dev.h>
#include <rte_log.h>

#include "cunit_run.h"
#include "sleeper.h"

enum {
	MEM_BYTES = 4096,
	A_MINUTE_US = 60000000,
	A_WHILE_US = 20000,
	NS_PER_US = 1000,
	TURNS = 1000000
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
static char dir[] = "/tmp/uroce-XXXXXX";

static struct uroce_worker *worker_of(int who)
{
	return uroce_device_worker(sides[who].dev, 0);
}

static void open_side(int who, uint32_t idle_sleep_us)
{
	struct side *s = &sides[who];
	const struct uroce_device_conf conf = {.port_id = (uint16_t)who,
		.addr = who ? "192.0.2.2" : "192.0.2.1",
		.idle_sleep_us = idle_sleep_us};
	struct uroce_qp_conf qp_conf = {0};
	struct uroce_device_attr attr;

	CU_ASSERT_EQUAL_FATAL(uroce_device_open(&conf, &s->dev), 0);
	uroce_device_query(s->dev, &attr);
	/* vhost has descriptors only while the other end is there. */
	if (who == 1)
		CU_ASSERT_EQUAL(attr.rx_interrupts, idle_sleep_us > 0);
	CU_ASSERT_EQUAL_FATAL(uroce_pd_create(s->dev, &s->pd), 0);
	CU_ASSERT_EQUAL_FATAL(uroce_cq_create(s->dev, 64, &s->cq), 0);
	CU_ASSERT_EQUAL_FATAL(uroce_mr_register(s->pd, s->mem, MEM_BYTES,
				      UROCE_ACCESS_LOCAL_WRITE | UROCE_ACCESS_REMOTE_WRITE, &s->mr),
		0);
	qp_conf.send_cq = qp_conf.recv_cq = s->cq;
	CU_ASSERT_EQUAL_FATAL(uroce_qp_create(s->pd, &qp_conf, &s->qp), 0);
}

static void close_side(int who)
{
	struct side *s = &sides[who];

	CU_ASSERT_EQUAL(uroce_qp_destroy(s->qp), 0);
	CU_ASSERT_EQUAL(uroce_cq_destroy(s->cq), 0);
	CU_ASSERT_EQUAL(uroce_mr_deregister(s->mr), 0);
	CU_ASSERT_EQUAL(uroce_pd_destroy(s->pd), 0);
	CU_ASSERT_EQUAL(uroce_device_close(s->dev), 0);
}

/* Side 0 never sleeps; side 1 does. */
static void open_both(uint32_t idle_sleep_us)
{
	char args[64];
	struct uroce_peer peer;

	snprintf(args, sizeof(args), "iface=%s/socket,queues=1", dir);
	CU_ASSERT_EQUAL_FATAL(rte_eal_hotplug_add("vdev", "net_vhost0", args), 0);
	/* Starts to listen. */
	open_side(0, 0);
	snprintf(args, sizeof(args), "path=%s/socket,queues=1", dir);
	CU_ASSERT_EQUAL_FATAL(rte_eal_hotplug_add("vdev", "net_virtio_user0", args), 0);
	open_side(1, idle_sleep_us);
	for (int i = 0; i < 2; i++) {
		uroce_qp_local(sides[1 - i].qp, &peer);
		CU_ASSERT_EQUAL_FATAL(uroce_qp_connect(sides[i].qp, &peer), 0);
	}
}

static void close_both(void)
{
	close_side(1);
	close_side(0);
	CU_ASSERT_EQUAL(rte_eal_hotplug_remove("vdev", "net_virtio_user0"), 0);
	CU_ASSERT_EQUAL(rte_eal_hotplug_remove("vdev", "net_vhost0"), 0);
}

static void post_write(void)
{
	struct uroce_sge sge = {sides[0].mem, 64, sides[0].mr->lkey};
	const struct uroce_send_wr wr = {.opcode = UROCE_WR_RDMA_WRITE,
		.flags = UROCE_SEND_SIGNALED,
		.sge = &sge,
		.num_sge = 1,
		.rdma = {(uintptr_t)sides[1].mem, sides[1].mr->rkey}};

	CU_ASSERT_EQUAL(uroce_post_send(sides[0].qp, &wr, 1), 1);
}

/* Until it sleeps; how long. */
static uint64_t sleep_once(struct uroce_worker *worker)
{
	uint64_t ns = 0;

	for (int i = 0; ns == 0 && i < TURNS; i++)
		ns = uroce_worker_backoff(worker, uroce_worker_poll(worker));
	return ns;
}

/* Each by itself is short; a second, as a port's timers might have it, adds up to minutes. */
static void a_worker_on_an_interrupt_sleeps_no_longer_than_asked(void)
{
	uint64_t sum_ns = 0;

	open_both(100);
	atomic_store(&sides[1].dev->neigh.due_ns, UINT64_MAX);
	for (int i = 0; i < 60; i++)
		sum_ns += sleep_once(worker_of(1));
	CU_ASSERT_TRUE(sum_ns >= 60 * 100 * NS_PER_US && sum_ns < SLEEPER_HALF_A_MINUTE_NS);
	close_both();
}

/* A minute at a time, but for the frames that come. */
static void sleep_through_writes(struct uroce_worker *worker, int writes)
{
	struct sleeper sleeper;
	struct uroce_wc wc;

	sleeper_start(&sleeper, worker);
	for (int i = 0; i < writes; i++) {
		sleeper_await(&sleeper);
		post_write();
		while (uroce_cq_poll(sides[0].cq, &wc, 1) == 0)
			uroce_worker_poll(worker_of(0));
		CU_ASSERT_EQUAL(wc.status, UROCE_STATUS_SUCCESS);
	}
	sleeper_stop(&sleeper);
	CU_ASSERT_TRUE(sleeper.longest_ns > 0 && sleeper.longest_ns < SLEEPER_HALF_A_MINUTE_NS);
}

static void a_frame_wakes_a_worker_that_sleeps(void)
{
	open_both(A_MINUTE_US);
	sleep_through_writes(worker_of(1), 20);
	close_both();
}

/* Nobody answers, but that is no reason to ask but once a minute. */
static void a_sleeper_wakes_to_ask_again(void)
{
	const struct uroce_hop nobody = {.addr = uroce_gid_of_ipv4(0xc0000277)};
	struct uroce_neigh *neigh;
	uint64_t asked;

	open_both(A_MINUTE_US);
	neigh = &sides[1].dev->neigh;
	CU_ASSERT_EQUAL(uroce_neigh_hold(neigh, nobody, sides[1].dev->addrs[0].gid), 0);
	sleep_once(worker_of(1));
	asked = neigh->counters.asked;
	for (int i = 0; neigh->counters.asked == asked && i < 10; i++)
		CU_ASSERT_TRUE(sleep_once(worker_of(1)) < SLEEPER_HALF_A_MINUTE_NS);
	CU_ASSERT_TRUE(neigh->counters.asked > asked);
	uroce_neigh_release(neigh, nobody, 0);
	close_both();
}

static void what_woke_a_worker_once_does_not_keep_it_awake(void)
{
	open_both(A_MINUTE_US);
	sleep_through_writes(worker_of(1), 5);
	sides[1].dev->conf.idle_sleep_us = A_WHILE_US;
	/* Nor has it neighbours to ask for, or itself to announce, meanwhile. */
	atomic_store(&sides[1].dev->neigh.due_ns, UINT64_MAX);
	/* The first may end because the thread was told to. */
	sleep_once(worker_of(1));
	for (int i = 0; i < 3; i++)
		CU_ASSERT_TRUE(sleep_once(worker_of(1)) >= A_WHILE_US * NS_PER_US);
	close_both();
}

int main(void)
{
	static const struct unit_case cases[] = {
		{"a worker on an interrupt sleeps no longer than asked",
			a_worker_on_an_interrupt_sleeps_no_longer_than_asked},
		{"a frame wakes a worker that sleeps", a_frame_wakes_a_worker_that_sleeps},
		{"a sleeper wakes to ask for a neighbour again", a_sleeper_wakes_to_ask_again},
		{"what woke a worker once does not keep it awake",
			what_woke_a_worker_once_does_not_keep_it_awake},
	};
	int failed;

	if (uroce_eal_init_embedded(0) != 0 || !mkdtemp(dir))
		return 1;
	rte_log_set_level_pattern("lib.vhost.*", RTE_LOG_ERR);
	failed = run_suite("interrupt", cases, sizeof(cases) / sizeof(cases[0]));
	rmdir(dir);
	return failed;
}
