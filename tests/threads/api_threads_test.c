/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The public API under the thread sanitizer: two worker threads, application threads on both sides
 * posting and polling, control calls from a third, all at once over an in-memory link.
 *
 * What the sanitizer would report is the point; the assertions see to it that work is really done.
 */
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "cunit_run.h"
#include "pair.h"

enum {
	MESSAGES = 2000,
	BYTES = 512,
	DEPTH = 16,
	CONTROL_ROUNDS = 50
};

static atomic_bool stop;

static void *poll_worker(void *arg)
{
	while (!atomic_load(&stop)) {
		if (uroce_worker_poll(arg) == 0)
			sched_yield();
	}
	uroce_worker_offline(arg);
	return NULL;
}

struct sender {
	struct pair *pair;
	int who;
	enum uroce_wr_opcode opcode;
	int done;
	int wrong;
};

static void post_one(struct sender *s, uint64_t i)
{
	struct pair *p = s->pair;
	size_t offset = (size_t)(i % DEPTH) * BYTES;
	struct uroce_sge sge = pair_sge(p, s->who, offset, BYTES);
	struct uroce_send_wr wr = {.wr_id = i,
		.opcode = s->opcode,
		.flags = UROCE_SEND_SIGNALED,
		.sge = &sge,
		.num_sge = 1,
		.rdma = {.rkey = p->side[1 - s->who].mr->rkey,
			.remote_addr = (uintptr_t)(p->side[1 - s->who].mem + PAIR_MEM_BYTES / 2 +
				offset)}};

	while (uroce_post_send(p->side[s->who].qp, &wr, 1) != 1)
		sched_yield();
}

/* Keeps DEPTH messages in flight; completions must come in order and with success. */
static void *send_all(void *arg)
{
	struct sender *s = arg;
	struct uroce_wc wc[8];
	uint64_t posted = 0;

	while (s->done < MESSAGES) {
		int n;

		while (posted < MESSAGES && posted - (uint64_t)s->done < DEPTH)
			post_one(s, posted++);
		n = uroce_cq_poll(s->pair->side[s->who].cq, wc, 8);
		for (int i = 0; i < n; i++, s->done++)
			s->wrong += wc[i].wr_id != (uint64_t)s->done ||
				wc[i].status != UROCE_STATUS_SUCCESS;
		if (n == 0)
			sched_yield();
	}
	return NULL;
}

/* Control calls against a busy worker; returns how many failed. */
static int control_round(struct pair_side *side)
{
	struct uroce_counters counters;
	struct uroce_cq *cq;
	struct uroce_mr *mr;
	struct uroce_qp *qp;
	char words[128];
	int errors = 0;

	errors += uroce_mr_register(side->pd, words, sizeof(words), 0, &mr) != 0;
	/* Destroying a queue pair counts as a poll of its queue, so it has one of its own. */
	errors += uroce_cq_create(side->dev, 16, &cq) != 0;
	errors += uroce_qp_create(side->pd, &(struct uroce_qp_conf){.send_cq = cq, .recv_cq = cq},
			  &qp) != 0;
	uroce_device_counters(side->dev, &counters);
	errors += uroce_qp_last_error(side->qp, words, sizeof(words)) != 0;
	errors += uroce_qp_destroy(qp) != 0;
	errors += uroce_cq_destroy(cq) != 0;
	errors += uroce_mr_deregister(mr) != 0;
	return errors;
}

static void two_workers_and_two_applications(void)
{
	struct pair *pair = malloc(sizeof(*pair));
	struct sender senders[2];
	pthread_t workers[2], apps[2];
	int control_errors = 0;

	pair_init(pair, NULL);
	atomic_store(&stop, false);
	for (int i = 0; i < 2; i++) {
		senders[i] = (struct sender){.pair = pair,
			.who = i,
			.opcode = i ? UROCE_WR_RDMA_READ : UROCE_WR_RDMA_WRITE};
		pthread_create(
			&workers[i], NULL, poll_worker, uroce_device_worker(pair->side[i].dev, 0));
	}
	for (int i = 0; i < 2; i++)
		pthread_create(&apps[i], NULL, send_all, &senders[i]);
	for (int i = 0; i < CONTROL_ROUNDS; i++)
		control_errors += control_round(&pair->side[i & 1]);
	for (int i = 0; i < 2; i++)
		pthread_join(apps[i], NULL);
	atomic_store(&stop, true);
	for (int i = 0; i < 2; i++)
		pthread_join(workers[i], NULL);
	CU_ASSERT_EQUAL(control_errors, 0);
	for (int i = 0; i < 2; i++) {
		CU_ASSERT_EQUAL(senders[i].done, MESSAGES);
		CU_ASSERT_EQUAL(senders[i].wrong, 0);
	}
	pair_fini(pair);
	free(pair);
}

int main(void)
{
	static const struct unit_case cases[] = {
		{"two workers, two applications and control calls share without a race",
			two_workers_and_two_applications},
	};

	return run_suite("api_threads", cases, sizeof(cases) / sizeof(cases[0]));
}
