/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Two workers of one device, each in a thread of its own, and two applications, over links in
 * memory: what they share.
 *
 * Worker i of both devices is polled by thread i. Queue pair i of the client is on worker i, its
 * other end on worker 1 - i, so each frame comes to one worker of the server and belongs to the
 * other, both ways.
 */
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "cunit_run.h"
#include "memlink.h"
#include "must.h"
#include "sanitized.h"

enum {
	WORKERS = 2,
	DEPTH = 16,
	BYTES = 3000,
	ADDITIONS = UNDER_THREAD_SANITIZER ? 20000 : 500000, /* of each application */
	MESSAGES = UNDER_THREAD_SANITIZER ? 2000 : 20000,
	CONTROL_ROUNDS = 50
};

struct device {
	struct memlink links[WORKERS];
	struct uroce_steer steer;
	struct uroce_device *dev;
	struct uroce_pd *pd;
	struct uroce_cq *cqs[WORKERS]; /* each application has its own */
	struct uroce_qp *qps[WORKERS];
	struct uroce_mr *mr;
	uint8_t *mem;
};

static struct device sides[2];
static atomic_bool stop;

enum {
	MEM_BYTES = WORKERS * DEPTH * 4096
};

/* ---- making and ending ---- */

static void open_side(int who)
{
	struct device *s = &sides[who];

	s->dev = memlink_open_many(s->links, WORKERS, &s->steer, (unsigned int)who + 1, NULL);
	s->mem = uroce_allocate(MEM_BYTES);
	MUST(s->mem && uroce_pd_create(s->dev, &s->pd) == 0);
	MUST(uroce_mr_register(s->pd, s->mem, MEM_BYTES,
		     UROCE_ACCESS_LOCAL_WRITE | UROCE_ACCESS_REMOTE_ALL, &s->mr) == 0);
	for (int i = 0; i < WORKERS; i++) {
		int worker = who ? WORKERS - 1 - i : i;

		MUST(uroce_cq_create(s->dev, 2 * DEPTH, &s->cqs[i]) == 0);
		MUST(uroce_qp_create(s->pd,
			     &(struct uroce_qp_conf){.send_cq = s->cqs[i],
				     .recv_cq = s->cqs[i],
				     .worker = UROCE_WORKER(worker)},
			     &s->qps[i]) == 0);
	}
}

static void open_sides(void)
{
	struct uroce_peer peer;

	for (int i = 0; i < WORKERS; i++)
		memlink_init(&sides[0].links[i], &sides[1].links[i]);
	open_side(0);
	open_side(1);
	for (int who = 0; who < 2; who++)
		for (int i = 0; i < WORKERS; i++) {
			uroce_qp_local(sides[1 - who].qps[i], &peer);
			MUST(uroce_qp_connect(sides[who].qps[i], &peer) == 0);
		}
}

static void close_sides(void)
{
	for (int who = 0; who < 2; who++) {
		struct device *s = &sides[who];

		for (int i = 0; i < WORKERS; i++) {
			MUST(uroce_qp_destroy(s->qps[i]) == 0);
			MUST(uroce_cq_destroy(s->cqs[i]) == 0);
		}
		MUST(uroce_mr_deregister(s->mr) == 0);
		MUST(uroce_pd_destroy(s->pd) == 0);
		MUST(uroce_device_close(s->dev) == 0);
		memlink_close_many(&s->steer);
		free(s->mem);
	}
	for (int i = 0; i < WORKERS; i++)
		memlink_fini(&sides[0].links[i], &sides[1].links[i]);
}

/* ---- threads ---- */

static void *poll_workers(void *arg)
{
	unsigned int i = *(const unsigned int *)arg;

	while (!atomic_load(&stop)) {
		unsigned int moved = 0;

		for (int who = 0; who < 2; who++)
			moved += uroce_worker_poll(uroce_device_worker(sides[who].dev, i));
		if (moved == 0)
			sched_yield();
	}
	for (int who = 0; who < 2; who++)
		uroce_worker_offline(uroce_device_worker(sides[who].dev, i));
	return NULL;
}

struct application {
	unsigned int i;
	unsigned int messages;
	enum uroce_wr_opcode opcode;
	unsigned int done;
	unsigned int wrong;
	uint64_t *fetched; /* what each addition found */
};

/* Where message m of an application is, on both sides alike. */
static size_t place_of(const struct application *app, unsigned int m)
{
	return (app->i * DEPTH + m % DEPTH) * (size_t)4096;
}

static void post_one(const struct application *app, unsigned int m)
{
	size_t place = place_of(app, m);
	bool is_addition = app->opcode == UROCE_WR_ATOMIC_FETCH_AND_ADD;
	struct uroce_sge sge = {sides[0].mem + place, is_addition ? 8 : BYTES, sides[0].mr->lkey};
	struct uroce_send_wr wr = {.wr_id = m,
		.opcode = app->opcode,
		.flags = UROCE_SEND_SIGNALED,
		.sge = &sge,
		.num_sge = 1,
		.rdma = {.remote_addr = (uintptr_t)sides[1].mem + place, .rkey = sides[1].mr->rkey},
		.atomic.compare_add = 1};

	/* All additions are to one word. */
	if (is_addition)
		wr.rdma.remote_addr = (uintptr_t)sides[1].mem;
	else
		memset(sge.addr, (uint8_t)(m * 7 + app->i), BYTES);
	while (uroce_post_send(sides[0].qps[app->i], &wr, 1) != 1)
		sched_yield();
}

/* A write is looked at where it went, before anything else goes there. */
static bool is_right(const struct application *app, unsigned int m)
{
	const uint8_t *at = sides[1].mem + place_of(app, m);

	for (int i = 0; i < BYTES; i++)
		if (at[i] != (uint8_t)(m * 7 + app->i))
			return false;
	return true;
}

static void take_one(struct application *app, const struct uroce_wc *wc)
{
	unsigned int m = app->done++;

	app->wrong += wc->wr_id != m || wc->status != UROCE_STATUS_SUCCESS;
	if (app->opcode == UROCE_WR_ATOMIC_FETCH_AND_ADD)
		memcpy(&app->fetched[m], sides[0].mem + place_of(app, m), sizeof(uint64_t));
	else
		app->wrong += !is_right(app, m);
}

static void *run_application(void *arg)
{
	struct application *app = arg;
	struct uroce_wc wc[DEPTH];
	unsigned int posted = 0;

	while (app->done < app->messages) {
		int n;

		while (posted < app->messages && posted - app->done < DEPTH)
			post_one(app, posted++);
		n = uroce_cq_poll(sides[0].cqs[app->i], wc, DEPTH);
		for (int i = 0; i < n; i++)
			take_one(app, &wc[i]);
		if (n == 0)
			sched_yield();
	}
	return NULL;
}

/* meanwhile: called as often as it likes to be. */
static void run(struct application *apps, void (*meanwhile)(void))
{
	static unsigned int numbers[WORKERS] = {0, 1};
	pthread_t workers[WORKERS], threads[WORKERS];

	atomic_store(&stop, false);
	for (int i = 0; i < WORKERS; i++)
		MUST(pthread_create(&workers[i], NULL, poll_workers, &numbers[i]) == 0);
	for (int i = 0; i < WORKERS; i++)
		MUST(pthread_create(&threads[i], NULL, run_application, &apps[i]) == 0);
	if (meanwhile)
		meanwhile();
	for (int i = 0; i < WORKERS; i++)
		pthread_join(threads[i], NULL);
	atomic_store(&stop, true);
	for (int i = 0; i < WORKERS; i++)
		pthread_join(workers[i], NULL);
}

/* ---- cases ---- */

static void check_fetched(const struct application *apps)
{
	const uint64_t total = (uint64_t)WORKERS * ADDITIONS;
	uint8_t *seen = calloc(total, 1);
	uint64_t word, twice = 0;

	MUST(seen);
	for (int a = 0; a < WORKERS; a++)
		for (int i = 0; i < ADDITIONS; i++) {
			uint64_t value = apps[a].fetched[i];

			if (value >= total || seen[value]++)
				twice++;
			/* Of one queue pair's additions each comes after the one before. */
			if (i > 0 && value <= apps[a].fetched[i - 1])
				twice++;
		}
	memcpy(&word, sides[1].mem, sizeof(word));
	CU_ASSERT_EQUAL(word, total);
	CU_ASSERT_EQUAL(twice, 0);
	free(seen);
}

static void two_workers_add_to_one_word(void)
{
	struct application apps[WORKERS] = {0};

	open_sides();
	for (unsigned int i = 0; i < WORKERS; i++) {
		apps[i] = (struct application){.i = i,
			.messages = ADDITIONS,
			.opcode = UROCE_WR_ATOMIC_FETCH_AND_ADD,
			.fetched = calloc(ADDITIONS, sizeof(uint64_t))};
		MUST(apps[i].fetched);
	}
	run(apps, NULL);
	for (unsigned int i = 0; i < WORKERS; i++) {
		const struct uroce_counters *c =
			&uroce_device_worker(sides[1].dev, i)->core.counters;

		CU_ASSERT_EQUAL(apps[i].done, ADDITIONS);
		CU_ASSERT_EQUAL(apps[i].wrong, 0);
		/* Each worker executed its half, and had it from the other. */
		CU_ASSERT_EQUAL(c->messages_received, ADDITIONS);
		CU_ASSERT_TRUE(c->rx_handed_over >= ADDITIONS);
	}
	check_fetched(apps);
	for (unsigned int i = 0; i < WORKERS; i++)
		free(apps[i].fetched);
	close_sides();
}

/* Queue pairs come and go on whichever worker has the fewest. */
static void make_and_destroy(void)
{
	int errors = 0;

	for (int round = 0; round < CONTROL_ROUNDS; round++) {
		struct device *s = &sides[round & 1];
		struct uroce_qp *qps[WORKERS + 1];
		struct uroce_cq *cq;

		errors += uroce_cq_create(s->dev, 16, &cq) != 0;
		for (int i = 0; i <= WORKERS; i++)
			errors += uroce_qp_create(s->pd,
					  &(struct uroce_qp_conf){.send_cq = cq, .recv_cq = cq},
					  &qps[i]) != 0;
		for (int i = 0; i <= WORKERS; i++)
			errors += uroce_qp_destroy(qps[i]) != 0;
		errors += uroce_cq_destroy(cq) != 0;
	}
	CU_ASSERT_EQUAL(errors, 0);
}

static void writes_cross_while_queue_pairs_come_and_go(void)
{
	struct application apps[WORKERS] = {0};

	open_sides();
	for (unsigned int i = 0; i < WORKERS; i++)
		apps[i] = (struct application){
			.i = i, .messages = MESSAGES, .opcode = UROCE_WR_RDMA_WRITE};
	run(apps, make_and_destroy);
	for (unsigned int i = 0; i < WORKERS; i++) {
		CU_ASSERT_EQUAL(apps[i].done, MESSAGES);
		CU_ASSERT_EQUAL(apps[i].wrong, 0);
		CU_ASSERT_EQUAL(uroce_device_worker(sides[0].dev, i)->num_qps, 1);
	}
	close_sides();
}

int main(void)
{
	static const struct unit_case cases[] = {
		{"two workers add to one word, and each value is fetched once",
			two_workers_add_to_one_word},
		{"writes cross between workers while queue pairs come and go",
			writes_cross_while_queue_pairs_come_and_go},
	};

	return run_suite("workers_threads", cases, sizeof(cases) / sizeof(cases[0]));
}
