/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What sleeping costs: the delay of a message to a worker that has had nothing to do, and what a
 * worker and an application take of a core meanwhile.
 *
 * Over a link in memory, which cannot interrupt: a frame for a sleeper waits until it looks again.
 * One WRITE at a time, each after a pause; the delay is from the post to the completion, which
 * needs the other end's answer. A row for each idle_sleep_us; 0 never sleeps.
 *
 * In the first table the sender polls its own worker and the completions, and the other end is a
 * worker in a thread of its own. In the second both workers have threads, and the sender sleeps in
 * poll(2) on a completion channel. Wants two cores for itself.
 */
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "pair.h"

enum {
	MESSAGES = 300,
	PAUSE_NS = 3000000,
	IDLE_NS = 500000000,
};

static uint64_t now_ns(clockid_t clock)
{
	struct timespec ts;

	clock_gettime(clock, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

static void pause_for(long ns)
{
	const struct timespec ts = {.tv_nsec = ns};

	nanosleep(&ts, NULL);
}

/* A worker in a thread of its own. */
struct looper {
	struct uroce_worker *worker;
	pthread_t thread;
	clockid_t clock;
	_Atomic bool stop;
};

static void *loop(void *arg)
{
	struct looper *l = arg;

	while (!atomic_load(&l->stop))
		uroce_worker_backoff(l->worker, uroce_worker_poll(l->worker));
	uroce_worker_offline(l->worker);
	return NULL;
}

static void start(struct looper *l, struct uroce_worker *worker)
{
	l->worker = worker;
	atomic_store(&l->stop, false);
	if (pthread_create(&l->thread, NULL, loop, l) != 0 ||
		pthread_getcpuclockid(l->thread, &l->clock) != 0)
		abort();
}

static void stop(struct looper *l)
{
	atomic_store(&l->stop, true);
	uroce_worker_wake(l->worker);
	pthread_join(l->thread, NULL);
}

/* What a thread takes of a core, in per cent, from begin to end. */
struct share {
	clockid_t clock;
	uint64_t cpu_ns, wall_ns;
};

static struct share begin(clockid_t clock)
{
	return (struct share){clock, now_ns(clock), now_ns(CLOCK_MONOTONIC)};
}

static double per_cent(const struct share *since)
{
	return 100.0 * (double)(now_ns(since->clock) - since->cpu_ns) /
		(double)(now_ns(CLOCK_MONOTONIC) - since->wall_ns);
}

/* While nothing at all comes, once it has fallen asleep. */
static double idle_per_cent(const struct looper *l)
{
	struct share share;

	pause_for(IDLE_NS / 10);
	share = begin(l->clock);
	pause_for(IDLE_NS);
	return per_cent(&share);
}

static int by_value(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

static void post_write(const struct pair *pair, struct uroce_qp *qp)
{
	struct uroce_sge sge = pair_sge(pair, 0, 0, 64);
	const struct uroce_send_wr wr = {.opcode = UROCE_WR_RDMA_WRITE,
		.flags = UROCE_SEND_SIGNALED,
		.sge = &sge,
		.num_sge = 1,
		.rdma = {(uintptr_t)pair->side[1].mem, pair->side[1].mr->rkey}};

	if (uroce_post_send(qp, &wr, 1) != 1)
		abort();
}

/* ---- who polls ---- */

static uint64_t write_and_poll(struct pair *pair)
{
	uint64_t from_ns = now_ns(CLOCK_MONOTONIC);
	struct uroce_wc wc;

	post_write(pair, pair->side[0].qp);
	while (uroce_cq_poll(pair->side[0].cq, &wc, 1) == 0)
		uroce_worker_poll(uroce_device_worker(pair->side[0].dev, 0));
	return now_ns(CLOCK_MONOTONIC) - from_ns;
}

static void run_polling(uint32_t sleep_us)
{
	const struct uroce_device_conf dev_conf = {.idle_sleep_us = sleep_us};
	static struct looper looper;
	static uint64_t delays[MESSAGES];
	static struct pair pair;
	struct share share;
	double busy;

	pair_init_on(&pair, &dev_conf, NULL);
	start(&looper, uroce_device_worker(pair.side[1].dev, 0));
	share = begin(looper.clock);
	for (int i = 0; i < MESSAGES; i++) {
		pause_for(PAUSE_NS);
		delays[i] = write_and_poll(&pair);
	}
	busy = per_cent(&share);
	qsort(delays, MESSAGES, sizeof(delays[0]), by_value);
	printf("%13u %12.1f %12.1f %12.1f %14.1f %14.1f\n", sleep_us, (double)delays[0] / 1e3,
		(double)delays[MESSAGES / 2] / 1e3, (double)delays[MESSAGES * 99 / 100] / 1e3, busy,
		idle_per_cent(&looper));
	stop(&looper);
	pair_fini(&pair);
}

/* ---- who sleeps in poll(2) ---- */

/* An application on a channel of side 0, connected to side 1. */
struct sleeper {
	struct uroce_channel *channel;
	struct uroce_cq *cq;
	struct uroce_qp *qps[2];
};

static void must(int result)
{
	if (result != 0)
		abort();
}

static void open_sleeper(struct sleeper *s, struct pair *pair)
{
	struct uroce_qp_conf conf = {0};
	struct uroce_peer peer;

	must(uroce_channel_create(pair->side[0].dev, &s->channel));
	must(uroce_cq_create_on(s->channel, 16, &s->cq));
	for (int i = 0; i < 2; i++) {
		conf.send_cq = conf.recv_cq = i ? pair->side[1].cq : s->cq;
		must(uroce_qp_create(pair->side[i].pd, &conf, &s->qps[i]));
	}
	for (int i = 0; i < 2; i++) {
		uroce_qp_local(s->qps[1 - i], &peer);
		must(uroce_qp_connect(s->qps[i], &peer));
	}
}

static void close_sleeper(struct sleeper *s)
{
	must(uroce_qp_destroy(s->qps[0]));
	must(uroce_qp_destroy(s->qps[1]));
	must(uroce_cq_destroy(s->cq));
	must(uroce_channel_destroy(s->channel));
}

static uint64_t write_and_sleep(const struct pair *pair, const struct sleeper *s)
{
	struct pollfd fd = {.fd = uroce_channel_fd(s->channel), .events = POLLIN};
	uint64_t from_ns = now_ns(CLOCK_MONOTONIC);
	struct uroce_cq *fired;
	struct uroce_wc wc;

	if (uroce_cq_arm_event(s->cq, false) != 0)
		abort();
	post_write(pair, s->qps[0]);
	while (uroce_cq_poll(s->cq, &wc, 1) == 0) {
		poll(&fd, 1, -1);
		uroce_channel_poll(s->channel, &fired, 1);
	}
	return now_ns(CLOCK_MONOTONIC) - from_ns;
}

static void run_sleeping(uint32_t sleep_us)
{
	const struct uroce_device_conf dev_conf = {.idle_sleep_us = sleep_us};
	static struct looper loopers[2];
	static uint64_t delays[MESSAGES];
	static struct pair pair;
	struct sleeper sleeper;
	struct share share;
	double busy;

	pair_init_on(&pair, &dev_conf, NULL);
	open_sleeper(&sleeper, &pair);
	for (int i = 0; i < 2; i++)
		start(&loopers[i], uroce_device_worker(pair.side[i].dev, 0));
	share = begin(CLOCK_THREAD_CPUTIME_ID);
	for (int i = 0; i < MESSAGES; i++) {
		pause_for(PAUSE_NS);
		delays[i] = write_and_sleep(&pair, &sleeper);
	}
	busy = per_cent(&share);
	qsort(delays, MESSAGES, sizeof(delays[0]), by_value);
	printf("%13u %12.1f %12.1f %12.1f %14.1f\n", sleep_us, (double)delays[0] / 1e3,
		(double)delays[MESSAGES / 2] / 1e3, (double)delays[MESSAGES * 99 / 100] / 1e3,
		busy);
	for (int i = 0; i < 2; i++)
		stop(&loopers[i]);
	close_sleeper(&sleeper);
	pair_fini(&pair);
}

int main(void)
{
	static const uint32_t sleeps_us[] = {0, 20, 100, 500, 2000};
	const size_t n = sizeof(sleeps_us) / sizeof(sleeps_us[0]);

	printf("a WRITE of 64 bytes to a worker that was idle for %d ms, from post to completion; "
	       "what the worker takes of a core, then and when nothing comes at all\n\n",
		PAUSE_NS / 1000000);
	printf("%13s %12s %12s %12s %14s %14s\n", "idle_sleep_us", "least us", "median us",
		"99% us", "worker %", "idle worker %");
	for (size_t i = 0; i < n; i++)
		run_polling(sleeps_us[i]);
	printf("\nthe same from an application that sleeps in poll(2), both workers in threads; "
	       "what "
	       "the application takes of a core\n\n");
	printf("%13s %12s %12s %12s %14s\n", "idle_sleep_us", "least us", "median us", "99% us",
		"application %");
	for (size_t i = 0; i < n; i++)
		run_sleeping(sleeps_us[i]);
	return 0;
}
