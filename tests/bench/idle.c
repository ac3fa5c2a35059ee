/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What sleeping costs: the delay of a message to a worker that has had nothing to do, and what the
 * worker takes of a core meanwhile.
 *
 * One side polls itself, the other is a worker in a thread of its own, over a link in memory, which
 * cannot interrupt: a frame for a sleeper waits until it looks again. One WRITE at a time, each
 * after a pause; the delay is from the post to the completion, which needs the sleeper's answer. A
 * row for each idle_sleep_us; 0 never sleeps. Wants two cores for itself.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "pair.h"

enum {
	MESSAGES = 300,
	PAUSE_NS = 3000000,
};

static uint64_t now_ns(clockid_t clock)
{
	struct timespec ts;

	clock_gettime(clock, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

struct looper {
	struct uroce_worker *worker;
	pthread_t thread;
	_Atomic bool stop;
	uint64_t cpu_ns;
	uint64_t wall_ns;
};

static void *loop(void *arg)
{
	struct looper *l = arg;
	uint64_t from_ns = now_ns(CLOCK_MONOTONIC);

	while (!atomic_load(&l->stop))
		uroce_worker_backoff(l->worker, uroce_worker_poll(l->worker));
	uroce_worker_offline(l->worker);
	l->cpu_ns = now_ns(CLOCK_THREAD_CPUTIME_ID);
	l->wall_ns = now_ns(CLOCK_MONOTONIC) - from_ns;
	return NULL;
}

static int by_value(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

/* One write, from post to completion. */
static uint64_t write_once(struct pair *pair)
{
	struct uroce_sge sge = pair_sge(pair, 0, 0, 64);
	const struct uroce_send_wr wr = {.opcode = UROCE_WR_RDMA_WRITE,
		.flags = UROCE_SEND_SIGNALED,
		.sge = &sge,
		.num_sge = 1,
		.rdma = {(uintptr_t)pair->side[1].mem, pair->side[1].mr->rkey}};
	uint64_t from_ns = now_ns(CLOCK_MONOTONIC);
	struct uroce_wc wc;

	if (uroce_post_send(pair->side[0].qp, &wr, 1) != 1)
		abort();
	while (uroce_cq_poll(pair->side[0].cq, &wc, 1) == 0)
		uroce_worker_poll(uroce_device_worker(pair->side[0].dev, 0));
	return now_ns(CLOCK_MONOTONIC) - from_ns;
}

static void run(uint32_t sleep_us)
{
	const struct uroce_device_conf dev_conf = {.idle_sleep_us = sleep_us};
	const struct timespec pause = {.tv_nsec = PAUSE_NS};
	static struct looper looper;
	static uint64_t delays[MESSAGES];
	static struct pair pair;

	pair_init_on(&pair, &dev_conf, NULL);
	looper.worker = uroce_device_worker(pair.side[1].dev, 0);
	atomic_store(&looper.stop, false);
	pthread_create(&looper.thread, NULL, loop, &looper);
	for (int i = 0; i < MESSAGES; i++) {
		nanosleep(&pause, NULL);
		delays[i] = write_once(&pair);
	}
	atomic_store(&looper.stop, true);
	uroce_worker_wake(looper.worker);
	pthread_join(looper.thread, NULL);
	qsort(delays, MESSAGES, sizeof(delays[0]), by_value);
	printf("%13u %12.1f %12.1f %12.1f %10.0f\n", sleep_us, (double)delays[0] / 1e3,
		(double)delays[MESSAGES / 2] / 1e3, (double)delays[MESSAGES * 99 / 100] / 1e3,
		100.0 * (double)looper.cpu_ns / (double)looper.wall_ns);
	pair_fini(&pair);
}

int main(void)
{
	static const uint32_t sleeps_us[] = {0, 20, 100, 500, 2000};

	printf("a WRITE of 64 bytes to a worker that was idle for %d ms, from post to "
	       "completion\n\n",
		PAUSE_NS / 1000000);
	printf("%13s %12s %12s %12s %10s\n", "idle_sleep_us", "least us", "median us", "99% us",
		"core %");
	for (size_t i = 0; i < sizeof(sleeps_us) / sizeof(sleeps_us[0]); i++)
		run(sleeps_us[i]);
	return 0;
}
