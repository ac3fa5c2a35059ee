/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a second worker adds: two devices of as many workers as there are cores, tied by memory
 * rings, and everything of one worker, its peer's and its application's on one core.
 *
 *	workers [SECONDS [WORKERS]]
 *
 * Each thread polls worker i of both devices, keeps one queue pair of its own busy and takes its
 * completions. So nothing is shared but what the library shares between workers, and twice the
 * threads would do twice the work. Three ways: a queue of the port for each worker, and frames
 * that come to the right one; the same with the other end on another worker, so that every frame is
 * handed over; one queue for all, so that one worker receives and sends for all.
 *
 * A figure is the sum of what the threads did in a second of their own processor time, so that
 * what else runs on the machine counts less; the best of three.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <rte_eth_ring.h>
#include <rte_launch.h>
#include <rte_lcore.h>
#include <rte_ring.h>

#include "device.h"

enum {
	DEPTH = 64,
	LIST = 16,
	ROUNDS = 3,
	MEM_BYTES = 1 << 20,
};

/* A way in which frames go. */
struct way {
	const char *name; /* 14 characters at most */
	bool alone;	  /* one worker of a device */
	bool crossed;	  /* each queue pair's other end on another worker */
	bool one_queue;
};

static const struct way ways[] = {
	{.name = "1 worker", .alone = true},
	{.name = "own queues   "},
	{.name = "handed over  ", .crossed = true},
	{.name = "one queue    ", .one_queue = true},
};

struct load {
	const char *name;
	enum uroce_wr_opcode opcode;
	uint32_t bytes;
};

static const struct load loads[] = {
	{"write 64", UROCE_WR_RDMA_WRITE, 64},
	{"write 4096", UROCE_WR_RDMA_WRITE, 4096},
	{"write 65536", UROCE_WR_RDMA_WRITE, 65536},
	{"read 4096", UROCE_WR_RDMA_READ, 4096},
	{"fetch-and-add, one word", UROCE_WR_ATOMIC_FETCH_AND_ADD, 8},
};

enum {
	WAYS = sizeof(ways) / sizeof(ways[0]),
	LOADS = sizeof(loads) / sizeof(loads[0])
};

struct side {
	struct uroce_device *dev;
	struct uroce_pd *pd;
	struct uroce_mr *mr;
	uint8_t *mem;
};

/* What one core does. */
struct part {
	unsigned int i;
	const struct load *load;
	struct uroce_qp *qps[2];
	struct uroce_cq *cqs[2];
	unsigned int out;  /* messages without an answer */
	double per_second; /* of its processor time */
};

static struct side sides[2];
static struct part parts[UROCE_WORKERS_MAX];
static unsigned int num_parts;
static atomic_bool stop;
static atomic_uint asking; /* applications that want answers */

static void must(bool ok, const char *what)
{
	if (ok)
		return;
	fprintf(stderr, "workers: %s failed\n", what);
	exit(1);
}

static uint64_t now_ns(clockid_t clock)
{
	struct timespec ts;

	clock_gettime(clock, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

/* ---- set-up ---- */

/* Two ports of as many queues as parts; the number of the first. */
static uint16_t make_ports(void)
{
	static unsigned int made;
	struct rte_ring *rings[2][UROCE_WORKERS_MAX];
	char name[32];
	int port[2];

	for (int who = 0; who < 2; who++)
		for (unsigned int i = 0; i < num_parts; i++) {
			snprintf(name, sizeof(name), "ring_%u_%d_%u", made, who, i);
			rings[who][i] = rte_ring_create(
				name, 1024, SOCKET_ID_ANY, RING_F_SP_ENQ | RING_F_SC_DEQ);
			must(rings[who][i], "making a ring");
		}
	for (int who = 0; who < 2; who++) {
		snprintf(name, sizeof(name), "port_%u_%d", made, who);
		port[who] = rte_eth_from_rings(
			name, rings[who], num_parts, rings[1 - who], num_parts, SOCKET_ID_ANY);
		must(port[who] >= 0, "making a port");
	}
	made++;
	return (uint16_t)port[0];
}

static void open_side(int who, uint16_t port, const struct way *way)
{
	struct side *s = &sides[who];
	const struct uroce_device_conf conf = {.port_id = port,
		.addr = who ? "192.0.2.2" : "192.0.2.1",
		.num_workers = (uint16_t)num_parts,
		.num_queues = way->one_queue ? 1 : 0};

	must(uroce_device_open(&conf, &s->dev) == 0, "opening a device");
	s->mem = uroce_allocate((size_t)num_parts * MEM_BYTES);
	must(s->mem && uroce_pd_create(s->dev, &s->pd) == 0, "a domain");
	must(uroce_mr_register(s->pd, s->mem, (size_t)num_parts * MEM_BYTES,
		     UROCE_ACCESS_LOCAL_WRITE | UROCE_ACCESS_REMOTE_ALL, &s->mr) == 0,
		"registering memory");
}

static void connect_part(struct part *part, const struct way *way)
{
	struct uroce_peer peer;

	for (int who = 0; who < 2; who++) {
		unsigned int worker = who && way->crossed ? (part->i + 1) % num_parts : part->i;

		must(uroce_cq_create(sides[who].dev, 2 * DEPTH, &part->cqs[who]) == 0, "a queue");
		must(uroce_qp_create(sides[who].pd,
			     &(struct uroce_qp_conf){.send_cq = part->cqs[who],
				     .recv_cq = part->cqs[who],
				     .worker = UROCE_WORKER(worker)},
			     &part->qps[who]) == 0,
			"a queue pair");
	}
	for (int who = 0; who < 2; who++) {
		uroce_qp_local(part->qps[1 - who], &peer);
		must(uroce_qp_connect(part->qps[who], &peer) == 0, "connecting");
	}
}

static void open_all(const struct way *way)
{
	uint16_t port = make_ports();

	open_side(0, port, way);
	open_side(1, (uint16_t)(port + 1), way);
	for (unsigned int i = 0; i < num_parts; i++) {
		parts[i] = (struct part){.i = i};
		connect_part(&parts[i], way);
	}
}

static void close_all(void)
{
	for (int who = 0; who < 2; who++) {
		struct side *s = &sides[who];

		for (unsigned int i = 0; i < num_parts; i++) {
			must(uroce_qp_destroy(parts[i].qps[who]) == 0, "destroying");
			must(uroce_cq_destroy(parts[i].cqs[who]) == 0, "destroying");
		}
		must(uroce_mr_deregister(s->mr) == 0 && uroce_pd_destroy(s->pd) == 0 &&
				uroce_device_close(s->dev) == 0,
			"closing");
		free(s->mem);
	}
}

/* ---- running ---- */

static void post_list(const struct part *part)
{
	size_t offset = (size_t)part->i * MEM_BYTES;
	struct uroce_sge sge = {sides[0].mem + offset, part->load->bytes, sides[0].mr->lkey};
	struct uroce_send_wr wr[LIST];

	for (int i = 0; i < LIST; i++) {
		wr[i] = (struct uroce_send_wr){.opcode = part->load->opcode,
			.flags = i == LIST - 1 ? UROCE_SEND_SIGNALED : 0,
			.sge = &sge,
			.num_sge = 1,
			.rdma = {.remote_addr = (uintptr_t)sides[1].mem + offset,
				.rkey = sides[1].mr->rkey},
			.atomic.compare_add = 1};
		if (part->load->opcode == UROCE_WR_ATOMIC_FETCH_AND_ADD)
			wr[i].rdma.remote_addr = (uintptr_t)sides[1].mem;
	}
	must(uroce_post_send(part->qps[0], wr, LIST) == LIST, "posting");
}

static void check(const struct part *part, const struct uroce_wc *wc)
{
	char words[512];

	if (wc->status == UROCE_STATUS_SUCCESS)
		return;
	uroce_qp_last_error(part->qps[0], words, sizeof(words));
	fprintf(stderr, "workers: %s\n", words);
	exit(1);
}

/* Takes completions; returns how many messages they stand for. */
static unsigned int take(struct part *part)
{
	unsigned int got = 0;
	struct uroce_wc wc;

	while (uroce_cq_poll(part->cqs[0], &wc, 1) == 1) {
		check(part, &wc);
		got += LIST;
	}
	return got;
}

static void ask(struct part *part)
{
	for (; part->out + LIST <= DEPTH; part->out += LIST)
		post_list(part);
}

static void poll_workers(const struct part *part)
{
	for (int who = 0; who < 2; who++)
		uroce_worker_poll(uroce_device_worker(sides[who].dev, part->i));
}

/* Until all have their answers; nobody stops answering before. */
static void drain(struct part *part)
{
	bool has_all = false;

	while (!has_all || atomic_load(&asking) > 0) {
		poll_workers(part);
		part->out -= take(part);
		if (part->out == 0 && !has_all) {
			has_all = true;
			atomic_fetch_sub(&asking, 1);
		}
	}
}

static int run_part(void *arg)
{
	struct part *part = arg;
	uint64_t from_ns, messages = 0;
	unsigned int got;

	atomic_fetch_add(&asking, 1);
	while (atomic_load(&asking) < num_parts)
		;
	from_ns = now_ns(CLOCK_THREAD_CPUTIME_ID);
	while (!atomic_load_explicit(&stop, memory_order_relaxed)) {
		ask(part);
		poll_workers(part);
		got = take(part);
		part->out -= got;
		messages += got;
	}
	part->per_second =
		(double)messages * 1e9 / (double)(now_ns(CLOCK_THREAD_CPUTIME_ID) - from_ns);
	drain(part);
	for (int who = 0; who < 2; who++)
		uroce_worker_offline(uroce_device_worker(sides[who].dev, part->i));
	return 0;
}

/* Messages a second of all cores together. */
static double measure(const struct load *load, uint64_t ns)
{
	uint64_t until_ns;
	double sum = 0;

	atomic_store(&stop, false);
	for (unsigned int i = 0; i < num_parts; i++) {
		parts[i].load = load;
		must(rte_eal_remote_launch(run_part, &parts[i], i) == 0, "launching");
	}
	until_ns = now_ns(CLOCK_MONOTONIC) + ns;
	while (now_ns(CLOCK_MONOTONIC) < until_ns)
		nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
	atomic_store(&stop, true);
	rte_eal_mp_wait_lcore();
	for (unsigned int i = 0; i < num_parts; i++)
		sum += parts[i].per_second;
	return sum;
}

static double best(const struct load *load, uint64_t ns)
{
	double most = 0;

	for (int i = 0; i < ROUNDS; i++) {
		double got = measure(load, ns / ROUNDS);

		most = got > most ? got : most;
	}
	return most;
}

/* ---- a cache line between two cores ---- */

enum {
	BATCHES = 200,
	TRIPS = 2000
};

static _Atomic uint32_t ball;

/* Who plays first notes how long the quickest batch took, for none of them is interrupted. */
static int play(void *arg)
{
	uint64_t best_ns = UINT64_MAX, from_ns, ns;
	uint32_t next = arg ? 0 : 1;

	for (int batch = 0; batch < BATCHES; batch++) {
		from_ns = now_ns(CLOCK_MONOTONIC);
		for (int i = 0; i < TRIPS; i++, next += 2) {
			while (atomic_load_explicit(&ball, memory_order_acquire) != next)
				;
			atomic_store_explicit(&ball, next + 1, memory_order_release);
		}
		ns = now_ns(CLOCK_MONOTONIC) - from_ns;
		best_ns = ns < best_ns ? ns : best_ns;
	}
	if (arg)
		*(double *)arg = (double)best_ns / (2 * TRIPS);
	return 0;
}

/* How long a line that one core has written takes to another. */
static double line_ns(void)
{
	double ns = 0;

	must(rte_eal_remote_launch(play, &ns, 0) == 0, "launching");
	must(rte_eal_remote_launch(play, NULL, 1) == 0, "launching");
	rte_eal_mp_wait_lcore();
	return ns;
}

/* ---- the table ---- */

/* One row: a load, by way. */
static void print_row(size_t row, double got[WAYS][LOADS])
{
	printf("%-24s %8.3f", loads[row].name, got[0][row] / 1e6);
	for (size_t w = 1; w < WAYS; w++)
		printf("  %8.3f %5.2f", got[w][row] / 1e6, got[w][row] / got[0][row]);
	printf("\n");
}

static void print_table(double got[WAYS][LOADS])
{
	printf("Mmsg/s of processor time, and how many times one worker's\n%24s", "");
	for (size_t w = 0; w < WAYS; w++)
		printf(" %s%s", w ? "  " : "", ways[w].name);
	printf("\n");
	for (size_t i = 0; i < LOADS; i++)
		print_row(i, got);
}

/* EAL with an lcore for each worker, and one for the main thread, which sleeps. */
static void start_eal(unsigned int workers)
{
	char lcores[256], main_lcore[8];
	char *argv[] = {"workers", "--no-huge", "--no-pci", "--no-shconf", "-m", "1024",
		"--log-level", "lib.eal:error", "--lcores", lcores, "--main-lcore", main_lcore,
		NULL};
	size_t at = (size_t)snprintf(lcores, sizeof(lcores), "%u@0", workers);

	snprintf(main_lcore, sizeof(main_lcore), "%u", workers);
	for (unsigned int i = 0; i < workers; i++)
		at += (size_t)snprintf(lcores + at, sizeof(lcores) - at, ",%u@%u", i, i);
	must(rte_eal_init(sizeof(argv) / sizeof(argv[0]) - 1, argv) >= 0, "starting EAL");
}

int main(int argc, char **argv)
{
	uint64_t ns = (uint64_t)((argc > 1 ? atof(argv[1]) : 1) * 1e9);
	unsigned int most = argc > 2 ? (unsigned int)atoi(argv[2]) : 2;
	static double got[WAYS][LOADS];

	must(ns > 0 && most >= 2 && most <= UROCE_WORKERS_MAX, "reading arguments");
	start_eal(most);
	for (size_t w = 0; w < WAYS; w++) {
		num_parts = ways[w].alone ? 1 : most;
		open_all(&ways[w]);
		for (size_t i = 0; i < LOADS; i++)
			got[w][i] = best(&loads[i], ns);
		close_all();
	}
	print_table(got);
	printf("a cache line from one core to another: %.0f ns\n", line_ns());
	return 0;
}
