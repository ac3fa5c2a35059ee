/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Waking up: channels and event descriptors for poll(2), completion queues that change their
 * size, workers that sleep.
 */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>

#include "cunit_run.h"
#include "pair.h"
#include "sleeper.h"

enum {
	TURNS = 2000,
	A_MINUTE_US = 60000000,
};

static struct pair pair;

static bool is_readable(int fd)
{
	struct pollfd poll_fd = {.fd = fd, .events = POLLIN};

	return poll(&poll_fd, 1, 0) == 1 && (poll_fd.revents & POLLIN);
}

static void post_write(int who, struct uroce_qp *qp, uint64_t wr_id)
{
	struct uroce_sge sge = pair_sge(&pair, who, 0, 64);
	const struct uroce_send_wr wr = {.wr_id = wr_id,
		.opcode = UROCE_WR_RDMA_WRITE,
		.flags = UROCE_SEND_SIGNALED,
		.sge = &sge,
		.num_sge = 1,
		.rdma = {(uintptr_t)pair.side[1 - who].mem, pair.side[1 - who].mr->rkey}};

	CU_ASSERT_EQUAL(uroce_post_send(qp, &wr, 1), 1);
}

static void turns(int n)
{
	while (n-- > 0)
		pair_turn(&pair);
}

/* ---- channels ---- */

/* A further connection whose side 0 completes to `cq`. */
static void connect_on(struct uroce_cq *cq, struct uroce_qp *qps[2])
{
	struct uroce_qp_conf conf = {.send_cq = cq, .recv_cq = cq};
	struct uroce_peer peer;

	CU_ASSERT_EQUAL_FATAL(uroce_qp_create(pair.side[0].pd, &conf, &qps[0]), 0);
	conf.send_cq = conf.recv_cq = pair.side[1].cq;
	CU_ASSERT_EQUAL_FATAL(uroce_qp_create(pair.side[1].pd, &conf, &qps[1]), 0);
	uroce_qp_local(qps[1], &peer);
	CU_ASSERT_EQUAL(uroce_qp_connect(qps[0], &peer), 0);
	uroce_qp_local(qps[0], &peer);
	CU_ASSERT_EQUAL(uroce_qp_connect(qps[1], &peer), 0);
}

static void disconnect(struct uroce_qp *qps[2])
{
	CU_ASSERT_EQUAL(uroce_qp_destroy(qps[0]), 0);
	CU_ASSERT_EQUAL(uroce_qp_destroy(qps[1]), 0);
}

static void a_channel_is_readable_when_an_armed_queue_fires(void)
{
	struct uroce_channel *channel;
	struct uroce_cq *cq, *fired[4];
	struct uroce_qp *qps[2];
	struct uroce_event event;
	struct uroce_wc wc[4];
	int fd;

	pair_init(&pair, NULL);
	CU_ASSERT_EQUAL_FATAL(uroce_channel_create(pair.side[0].dev, &channel), 0);
	CU_ASSERT_EQUAL_FATAL(uroce_cq_create_on(channel, 16, &cq), 0);
	connect_on(cq, qps);
	fd = uroce_channel_fd(channel);
	/* Not armed: nothing. */
	post_write(0, qps[0], 1);
	turns(10);
	CU_ASSERT_FALSE(is_readable(fd));
	CU_ASSERT_EQUAL(uroce_channel_poll(channel, fired, 4), 0);
	CU_ASSERT_EQUAL(uroce_cq_arm_event(cq, false), 1);
	CU_ASSERT_EQUAL(uroce_cq_poll(cq, wc, 4), 1);
	CU_ASSERT_EQUAL(uroce_cq_arm_event(cq, false), 0);
	CU_ASSERT_FALSE(is_readable(fd));
	post_write(0, qps[0], 2);
	turns(10);
	CU_ASSERT_TRUE(is_readable(fd));
	CU_ASSERT_EQUAL(uroce_channel_poll(channel, fired, 4), 1);
	CU_ASSERT_PTR_EQUAL(fired[0], cq);
	CU_ASSERT_FALSE(is_readable(fd));
	/* It is no event of the device's. */
	CU_ASSERT_EQUAL(uroce_event_poll(pair.side[0].dev, &event, 1), 0);
	CU_ASSERT_EQUAL(uroce_channel_destroy(channel), -EBUSY);
	disconnect(qps);
	CU_ASSERT_EQUAL(uroce_cq_destroy(cq), 0);
	CU_ASSERT_EQUAL(uroce_device_close(pair.side[0].dev), -EBUSY);
	CU_ASSERT_EQUAL(uroce_channel_destroy(channel), 0);
	pair_fini(&pair);
}

static void solicited_only_waits_for_a_solicited_one(void)
{
	struct uroce_channel *channel;
	struct uroce_cq *cq, *fired;
	struct uroce_qp *qps[2];
	struct uroce_sge sge;
	struct uroce_recv_wr recv = {.sge = &sge, .num_sge = 1};
	struct uroce_send_wr wr = {.opcode = UROCE_WR_SEND, .sge = &sge, .num_sge = 1};

	pair_init(&pair, NULL);
	CU_ASSERT_EQUAL_FATAL(uroce_channel_create(pair.side[0].dev, &channel), 0);
	CU_ASSERT_EQUAL_FATAL(uroce_cq_create_on(channel, 16, &cq), 0);
	connect_on(cq, qps);
	sge = pair_sge(&pair, 0, 4096, 64);
	CU_ASSERT_EQUAL(uroce_post_recv(qps[0], &recv, 1), 1);
	CU_ASSERT_EQUAL(uroce_post_recv(qps[0], &recv, 1), 1);
	CU_ASSERT_EQUAL(uroce_cq_arm_event(cq, true), 0);
	sge = pair_sge(&pair, 1, 0, 8);
	CU_ASSERT_EQUAL(uroce_post_send(qps[1], &wr, 1), 1);
	turns(20);
	CU_ASSERT_EQUAL(uroce_channel_poll(channel, &fired, 1), 0);
	wr.flags = UROCE_SEND_SOLICITED;
	CU_ASSERT_EQUAL(uroce_post_send(qps[1], &wr, 1), 1);
	turns(20);
	CU_ASSERT_EQUAL(uroce_channel_poll(channel, &fired, 1), 1);
	disconnect(qps);
	CU_ASSERT_EQUAL(uroce_cq_destroy(cq), 0);
	CU_ASSERT_EQUAL(uroce_channel_destroy(channel), 0);
	pair_fini(&pair);
}

static void several_queues_on_a_channel_come_one_by_one(void)
{
	struct uroce_channel *channel;
	struct uroce_cq *cqs[3], *fired;
	struct uroce_qp *qps[3][2];
	struct uroce_wc wc;

	pair_init(&pair, NULL);
	CU_ASSERT_EQUAL_FATAL(uroce_channel_create(pair.side[0].dev, &channel), 0);
	for (int i = 0; i < 3; i++) {
		CU_ASSERT_EQUAL_FATAL(uroce_cq_create_on(channel, 16, &cqs[i]), 0);
		connect_on(cqs[i], qps[i]);
		CU_ASSERT_EQUAL(uroce_cq_arm_event(cqs[i], false), 0);
	}
	for (int i = 0; i < 3; i++) {
		post_write(0, qps[i][0], (uint64_t)i);
		turns(20);
	}
	/* The first is armed again and fires again before anybody looked: two events of it. */
	CU_ASSERT_EQUAL(uroce_cq_poll(cqs[0], &wc, 1), 1);
	CU_ASSERT_EQUAL(uroce_cq_arm_event(cqs[0], false), 0);
	post_write(0, qps[0][0], 9);
	turns(20);
	for (int i = 0; i < 4; i++) {
		CU_ASSERT_TRUE(is_readable(uroce_channel_fd(channel)));
		CU_ASSERT_EQUAL(uroce_channel_poll(channel, &fired, 1), 1);
		CU_ASSERT_PTR_EQUAL(fired, cqs[i % 3]);
	}
	CU_ASSERT_FALSE(is_readable(uroce_channel_fd(channel)));
	for (int i = 0; i < 3; i++)
		disconnect(qps[i]);
	for (int i = 0; i < 3; i++)
		CU_ASSERT_EQUAL(uroce_cq_destroy(cqs[i]), 0);
	CU_ASSERT_EQUAL(uroce_channel_destroy(channel), 0);
	pair_fini(&pair);
}

static void a_destroyed_queue_leaves_no_event(void)
{
	struct uroce_channel *channel;
	struct uroce_cq *cqs[3], *fired[3];
	struct uroce_qp *qps[3][2];

	pair_init(&pair, NULL);
	CU_ASSERT_EQUAL_FATAL(uroce_channel_create(pair.side[0].dev, &channel), 0);
	for (int i = 0; i < 3; i++) {
		CU_ASSERT_EQUAL_FATAL(uroce_cq_create_on(channel, 16, &cqs[i]), 0);
		connect_on(cqs[i], qps[i]);
		CU_ASSERT_EQUAL(uroce_cq_arm_event(cqs[i], false), 0);
		post_write(0, qps[i][0], 1);
		turns(20);
	}
	disconnect(qps[1]);
	CU_ASSERT_EQUAL(uroce_cq_destroy(cqs[1]), 0);
	CU_ASSERT_EQUAL(uroce_channel_poll(channel, fired, 3), 2);
	CU_ASSERT_PTR_EQUAL(fired[0], cqs[0]);
	CU_ASSERT_PTR_EQUAL(fired[1], cqs[2]);
	for (int i = 0; i < 3; i += 2) {
		disconnect(qps[i]);
		CU_ASSERT_EQUAL(uroce_cq_destroy(cqs[i]), 0);
	}
	CU_ASSERT_EQUAL(uroce_channel_destroy(channel), 0);
	pair_fini(&pair);
}

/* ---- events ---- */

static void the_event_descriptor_is_readable_while_there_are_events(void)
{
	const struct uroce_qp_modify_attr err = {.state = UROCE_QP_ERR};
	struct uroce_event event;
	int fd;

	pair_init(&pair, NULL);
	fd = uroce_event_fd(pair.side[0].dev);
	CU_ASSERT_TRUE_FATAL(fd >= 0);
	CU_ASSERT_EQUAL(uroce_event_fd(pair.side[0].dev), fd);
	CU_ASSERT_EQUAL(uroce_event_poll(pair.side[0].dev, &event, 1), 0);
	CU_ASSERT_FALSE(is_readable(fd));
	CU_ASSERT_EQUAL(uroce_cq_arm_event(pair.side[0].cq, false), 0);
	post_write(0, pair.side[0].qp, 1);
	CU_ASSERT_EQUAL(uroce_qp_modify(pair.side[0].qp, &err, UROCE_QP_ATTR_STATE), 0);
	CU_ASSERT_TRUE(is_readable(fd));
	CU_ASSERT_EQUAL(uroce_event_poll(pair.side[0].dev, &event, 1), 1);
	CU_ASSERT_EQUAL(event.type, UROCE_EVENT_QP_LAST_WQE_REACHED);
	CU_ASSERT_TRUE(is_readable(fd));
	CU_ASSERT_EQUAL(uroce_event_poll(pair.side[0].dev, &event, 1), 1);
	CU_ASSERT_EQUAL(event.type, UROCE_EVENT_CQ_FIRED);
	CU_ASSERT_PTR_EQUAL(event.cq, pair.side[0].cq);
	CU_ASSERT_EQUAL(uroce_event_poll(pair.side[0].dev, &event, 1), 0);
	CU_ASSERT_FALSE(is_readable(fd));
	pair_fini(&pair);
}

static void events_from_before_are_seen_when_the_descriptor_is_made(void)
{
	const struct uroce_qp_modify_attr err = {.state = UROCE_QP_ERR};
	struct uroce_event event;

	pair_init(&pair, NULL);
	CU_ASSERT_EQUAL(uroce_qp_modify(pair.side[0].qp, &err, UROCE_QP_ATTR_STATE), 0);
	CU_ASSERT_TRUE(is_readable(uroce_event_fd(pair.side[0].dev)));
	CU_ASSERT_EQUAL(uroce_event_poll(pair.side[0].dev, &event, 1), 1);
	CU_ASSERT_EQUAL(event.type, UROCE_EVENT_QP_LAST_WQE_REACHED);
	pair_fini(&pair);
}

/* As if the application had not read for a long time. */
static void fill_events(struct uroce_worker *worker)
{
	struct uroce_event *slot;

	while ((slot = uroce_ring_reserve(&worker->events))) {
		*slot = (struct uroce_event){.type = UROCE_EVENT_COMM_EST};
		uroce_ring_advance(&worker->events);
	}
	uroce_ring_publish_seq(&worker->events);
}

static void an_armed_queue_fires_though_nobody_reads_events(void)
{
	struct uroce_device *dev;
	struct uroce_event event;
	struct uroce_wc wc;
	int fired = 0;

	pair_init(&pair, NULL);
	dev = pair.side[0].dev;
	fill_events(&dev->workers[0]);
	/* Armed and fired twice before anybody looks. */
	for (uint64_t i = 0; i < 2; i++) {
		CU_ASSERT_EQUAL(uroce_cq_arm_event(pair.side[0].cq, false), 0);
		post_write(0, pair.side[0].qp, i);
		turns(20);
		CU_ASSERT_EQUAL(uroce_cq_poll(pair.side[0].cq, &wc, 1), 1);
	}
	while (uroce_event_poll(dev, &event, 1) == 1)
		if (event.type == UROCE_EVENT_CQ_FIRED && event.cq == pair.side[0].cq)
			fired++;
	CU_ASSERT_EQUAL(fired, 2);
	pair_fini(&pair);
}

/* An event that nobody took goes with its queue: it would name what is freed. */
static void a_destroyed_queues_event_is_gone(void)
{
	struct uroce_cq *cq;
	struct uroce_qp *qps[2];
	struct uroce_event event;

	pair_init(&pair, NULL);
	CU_ASSERT_EQUAL_FATAL(uroce_cq_create(pair.side[0].dev, 16, &cq), 0);
	connect_on(cq, qps);
	CU_ASSERT_EQUAL(uroce_cq_arm_event(cq, false), 0);
	post_write(0, qps[0], 1);
	turns(20);
	disconnect(qps);
	CU_ASSERT_EQUAL(uroce_cq_destroy(cq), 0);
	while (uroce_event_poll(pair.side[0].dev, &event, 1) == 1)
		CU_ASSERT_NOT_EQUAL(event.type, UROCE_EVENT_CQ_FIRED);
	pair_fini(&pair);
}

/* ---- resize ---- */

static void a_queue_grows_and_shrinks_with_its_completions(void)
{
	const struct uroce_qp_conf conf = {.max_send_wr = 64};
	struct uroce_wc wc[64];

	pair_init(&pair, &conf);
	CU_ASSERT_EQUAL(uroce_cq_capacity(pair.side[0].cq), 1024);
	CU_ASSERT_EQUAL(uroce_cq_resize(pair.side[0].cq, 0), -EINVAL);
	CU_ASSERT_EQUAL(uroce_cq_resize(pair.side[0].cq, 65537), -EINVAL);
	for (uint64_t round = 0; round < 4; round++) {
		const uint32_t sizes[] = {40, 5000, 33, 64};

		for (uint64_t i = 0; i < 33; i++)
			post_write(0, pair.side[0].qp, round * 100 + i);
		turns(200);
		CU_ASSERT_EQUAL(uroce_cq_resize(pair.side[0].cq, 32), -EINVAL);
		CU_ASSERT_EQUAL(uroce_cq_resize(pair.side[0].cq, sizes[round]), 0);
		CU_ASSERT_EQUAL(uroce_cq_capacity(pair.side[0].cq), sizes[round]);
		CU_ASSERT_EQUAL(uroce_cq_poll(pair.side[0].cq, wc, 64), 33);
		for (uint64_t i = 0; i < 33; i++)
			CU_ASSERT_EQUAL(wc[i].wr_id, round * 100 + i);
	}
	pair_fini(&pair);
}

static void a_shrunk_queue_overflows_at_its_new_size(void)
{
	struct uroce_event event = {.type = UROCE_EVENT_CQ_FIRED};

	pair_init(&pair, NULL);
	CU_ASSERT_EQUAL(uroce_cq_resize(pair.side[0].cq, 3), 0);
	for (uint64_t i = 0; i < 4; i++)
		post_write(0, pair.side[0].qp, i);
	turns(200);
	CU_ASSERT_EQUAL(uroce_event_poll(pair.side[0].dev, &event, 1), 1);
	CU_ASSERT_EQUAL(event.type, UROCE_EVENT_CQ_ERR);
	pair_fini(&pair);
}

/* A queue pair on a worker of the pair's first device whose n receives ended in a flush. */
static struct uroce_qp *flushed_on(struct uroce_pd *pd, struct uroce_cq *cq, uint16_t worker, int n)
{
	const struct uroce_qp_conf conf = {
		.send_cq = cq, .recv_cq = cq, .worker = UROCE_WORKER(worker)};
	const struct uroce_qp_modify_attr err = {.state = UROCE_QP_ERR};
	const struct uroce_recv_wr wr = {0};
	struct uroce_qp *qp;

	CU_ASSERT_EQUAL_FATAL(uroce_qp_create(pd, &conf, &qp), 0);
	CU_ASSERT_EQUAL(uroce_qp_prepare(qp), 0);
	for (int i = 0; i < n; i++)
		CU_ASSERT_EQUAL(uroce_post_recv(qp, &wr, 1), 1);
	CU_ASSERT_EQUAL(uroce_qp_modify(qp, &err, UROCE_QP_ATTR_STATE), 0);
	return qp;
}

static void a_refused_resize_leaves_every_worker_its_room(void)
{
	const struct uroce_device_conf conf = {.addr = "192.0.2.1", .num_workers = 2};
	const uint8_t mac[6] = {2};
	struct memlink links[2];
	void *both[] = {&links[0], &links[1]};
	struct uroce_device *dev;
	struct uroce_event event;
	struct uroce_qp *qps[2];
	struct uroce_pd *pd;
	struct uroce_cq *cq;
	struct uroce_wc wc[8];

	memlink_init(&links[0], &links[1]);
	CU_ASSERT_EQUAL_FATAL(
		uroce_device_open_link(&conf, mac, 1024, &memlink_ops, both, &dev), 0);
	CU_ASSERT_EQUAL_FATAL(uroce_pd_create(dev, &pd), 0);
	CU_ASSERT_EQUAL_FATAL(uroce_cq_create(dev, 4, &cq), 0);
	/* The second worker has too much waiting for the new size, the first has not. */
	qps[0] = flushed_on(pd, cq, 1, 3);
	CU_ASSERT_EQUAL(uroce_cq_resize(cq, 2), -EINVAL);
	CU_ASSERT_EQUAL(uroce_cq_capacity(cq), 4);
	CU_ASSERT_EQUAL(uroce_cq_poll(cq, wc, 8), 3);
	qps[1] = flushed_on(pd, cq, 0, 4);
	for (int i = 0; i < 2; i++)
		uroce_worker_poll(uroce_device_worker(dev, (unsigned int)i));
	while (uroce_event_poll(dev, &event, 1) == 1)
		CU_ASSERT_NOT_EQUAL(event.type, UROCE_EVENT_CQ_ERR);
	CU_ASSERT_EQUAL(uroce_cq_poll(cq, wc, 8), 4);
	for (int i = 0; i < 2; i++)
		CU_ASSERT_EQUAL(uroce_qp_destroy(qps[i]), 0);
	CU_ASSERT_EQUAL(uroce_cq_destroy(cq), 0);
	CU_ASSERT_EQUAL(uroce_pd_destroy(pd), 0);
	CU_ASSERT_EQUAL(uroce_device_close(dev), 0);
	memlink_fini(&links[0], &links[1]);
}

/* ---- sleeping ---- */

static void without_leave_to_sleep_nobody_sleeps(void)
{
	struct uroce_worker *worker;

	pair_init(&pair, NULL);
	worker = uroce_device_worker(pair.side[0].dev, 0);
	uroce_worker_poll(worker);
	for (int i = 0; i < 10000; i++)
		CU_ASSERT_EQUAL_FATAL(uroce_worker_backoff(worker, 0), 0);
	pair_fini(&pair);
}

static void an_idle_worker_sleeps_no_longer_than_allowed(void)
{
	const struct uroce_device_conf dev_conf = {.idle_sleep_us = 50};
	struct uroce_worker *worker;
	uint64_t slept_ns = 0;
	int calls = 0;

	pair_init_on(&pair, &dev_conf, NULL);
	worker = uroce_device_worker(pair.side[0].dev, 0);
	uroce_worker_poll(worker);
	/* Busy turns in between begin it anew. */
	for (int i = 0; i < 3000; i++)
		CU_ASSERT_EQUAL_FATAL(uroce_worker_backoff(worker, 0), 0);
	uroce_worker_backoff(worker, 1);
	for (int i = 0; i < 3000; i++)
		CU_ASSERT_EQUAL_FATAL(uroce_worker_backoff(worker, 0), 0);
	for (; slept_ns == 0 && calls < 5000; calls++)
		slept_ns = uroce_worker_backoff(worker, 0);
	CU_ASSERT_TRUE(slept_ns >= 50000);
	/* The rest is what the machine takes for it. */
	for (int i = 0; i < 100; i++)
		slept_ns += uroce_worker_backoff(worker, 0);
	CU_ASSERT_TRUE(slept_ns >= 101 * 50000 && slept_ns < 30000000000u);
	pair_fini(&pair);
}

static void work_that_waits_keeps_a_worker_awake(void)
{
	const struct uroce_device_conf dev_conf = {.idle_sleep_us = A_MINUTE_US};
	struct uroce_worker *worker;

	pair_init_on(&pair, &dev_conf, NULL);
	worker = uroce_device_worker(pair.side[0].dev, 0);
	uroce_worker_poll(worker);
	post_write(0, pair.side[0].qp, 1);
	for (int i = 0; i < 10000; i++)
		CU_ASSERT_EQUAL_FATAL(uroce_worker_backoff(worker, 0), 0);
	pair_fini(&pair);
}

static void a_timer_ends_the_sleep(void)
{
	const struct uroce_device_conf dev_conf = {.idle_sleep_us = A_MINUTE_US};
	struct uroce_worker *worker;
	uint64_t slept_ns = 0;

	pair_init_on(&pair, &dev_conf, NULL);
	worker = uroce_device_worker(pair.side[0].dev, 0);
	post_write(0, pair.side[0].qp, 1);
	/* Sent, and nobody answers: the retry timer runs, 67 ms. */
	uroce_worker_poll(worker);
	for (int i = 0; slept_ns == 0 && i < 10000; i++)
		slept_ns = uroce_worker_backoff(worker, 0);
	CU_ASSERT_TRUE(slept_ns > 0 && slept_ns < 30000000000u);
	pair_fini(&pair);
}

static void posts_and_control_calls_wake_a_sleeping_worker(void)
{
	const struct uroce_device_conf dev_conf = {.idle_sleep_us = A_MINUTE_US};
	struct uroce_qp_modify_attr attr;
	struct sleeper sleeper;
	struct uroce_wc wc;

	pair_init_on(&pair, &dev_conf, NULL);
	sleeper_start(&sleeper, uroce_device_worker(pair.side[0].dev, 0));
	for (uint64_t i = 0; i < 20; i++) {
		sleeper_await(&sleeper);
		if (i % 2) {
			CU_ASSERT_EQUAL(uroce_qp_query(pair.side[0].qp, &attr), 0);
			continue;
		}
		post_write(0, pair.side[0].qp, i);
		/* The answer wakes nobody here: the link is no port. */
		while (uroce_cq_poll(pair.side[0].cq, &wc, 1) == 0) {
			uroce_worker_poll(uroce_device_worker(pair.side[1].dev, 0));
			uroce_worker_wake(sleeper.worker);
		}
		CU_ASSERT_EQUAL(wc.wr_id, i);
	}
	sleeper_stop(&sleeper);
	CU_ASSERT_TRUE(sleeper.longest_ns < SLEEPER_HALF_A_MINUTE_NS);
	pair_fini(&pair);
}

int main(void)
{
	static const struct unit_case cases[] = {
		{"a channel is readable when an armed queue fires",
			a_channel_is_readable_when_an_armed_queue_fires},
		{"an arm for solicited completions waits for one",
			solicited_only_waits_for_a_solicited_one},
		{"several queues on a channel come one by one, one event for each arm",
			several_queues_on_a_channel_come_one_by_one},
		{"a destroyed queue leaves no event", a_destroyed_queue_leaves_no_event},
		{"the event descriptor is readable while there are events",
			the_event_descriptor_is_readable_while_there_are_events},
		{"events from before are seen when the descriptor is made",
			events_from_before_are_seen_when_the_descriptor_is_made},
		{"an armed queue fires though nobody reads the device's events",
			an_armed_queue_fires_though_nobody_reads_events},
		{"a destroyed queue's event that nobody took is gone",
			a_destroyed_queues_event_is_gone},
		{"a completion queue grows and shrinks with what waits in it",
			a_queue_grows_and_shrinks_with_its_completions},
		{"a shrunk completion queue overflows at its new size",
			a_shrunk_queue_overflows_at_its_new_size},
		{"a refused resize leaves every worker its room",
			a_refused_resize_leaves_every_worker_its_room},
		{"without leave to sleep no worker sleeps", without_leave_to_sleep_nobody_sleeps},
		{"an idle worker sleeps, after a while",
			an_idle_worker_sleeps_no_longer_than_allowed},
		{"work that waits keeps a worker awake", work_that_waits_keeps_a_worker_awake},
		{"a timer ends the sleep", a_timer_ends_the_sleep},
		{"posts and control calls wake a sleeping worker",
			posts_and_control_calls_wake_a_sleeping_worker},
	};

	return run_suite("events", cases, sizeof(cases) / sizeof(cases[0]));
}
