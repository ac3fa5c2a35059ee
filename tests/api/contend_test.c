/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Control calls that meet: with a worker that does not poll, and with each other.
 *
 * A worker that another thread holds and does not poll is one whose holder is nobody here. What
 * another thread does between two steps of a call is done by the command that stands between them.
 */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cunit_run.h"
#include "pair.h"

enum {
	SOMEBODY_ELSE = 1,
	WORKERS = 2,
	QUICKLY_NS = 1000000
};

#define PATIENTLY_NS 20000000000ull

/* A device of WORKERS workers with a queue pair type's bare necessities. */
struct rig {
	struct memlink links[WORKERS];
	struct uroce_device *dev;
	struct uroce_pd *pd;
	struct uroce_cq *cq;
};

static void rig_init(struct rig *r)
{
	const struct uroce_device_conf conf = {
		.addr = "192.0.2.1", .max_qps = 8, .num_workers = WORKERS};
	void *links[WORKERS] = {&r->links[0], &r->links[1]};
	const uint8_t mac[6] = {2};

	memset(r, 0, sizeof(*r));
	memlink_init(&r->links[0], &r->links[1]);
	CU_ASSERT_EQUAL_FATAL(
		uroce_device_open_link(&conf, mac, 1024, &memlink_ops, links, &r->dev), 0);
	for (unsigned int i = 0; i < WORKERS; i++)
		r->dev->workers[i].patience_ns = QUICKLY_NS;
	CU_ASSERT_EQUAL_FATAL(uroce_pd_create(r->dev, &r->pd), 0);
	CU_ASSERT_EQUAL_FATAL(uroce_cq_create(r->dev, 16, &r->cq), 0);
}

static void rig_fini(struct rig *r)
{
	CU_ASSERT_EQUAL(uroce_cq_destroy(r->cq), 0);
	CU_ASSERT_EQUAL(uroce_pd_destroy(r->pd), 0);
	CU_ASSERT_EQUAL(uroce_device_close(r->dev), 0);
	memlink_fini(&r->links[0], &r->links[1]);
}

static struct uroce_qp *make_qp(struct rig *r, enum uroce_qp_type type, uint16_t worker)
{
	const struct uroce_qp_conf conf = {
		.type = type, .send_cq = r->cq, .recv_cq = r->cq, .worker = UROCE_WORKER(worker)};
	struct uroce_qp *qp = NULL;

	CU_ASSERT_EQUAL_FATAL(uroce_qp_create(r->pd, &conf, &qp), 0);
	return qp;
}

/* From now on (or no longer) a thread that does not poll has worker i. */
static void hold_up(struct rig *r, unsigned int i, bool held)
{
	atomic_store(&r->dev->workers[i].holder, held ? SOMEBODY_ELSE : 0);
}

/* ---- neighbours ---- */

static const struct uroce_path *path_of(const struct uroce_qp *qp)
{
	return &((const struct qp_shell *)qp->owner)->path->path;
}

/* A queue pair on a path to 192.0.2.9. */
static struct uroce_qp *make_waiting(struct rig *r, uint16_t worker)
{
	struct uroce_qp *qp = make_qp(r, UROCE_QP_RC, worker);
	const struct uroce_qp_modify_attr attr = {.state = UROCE_QP_RTR,
		.dgid = {[10] = 0xff, 0xff, 192, 0, 2, 9},
		.path_mtu_bytes = 1024,
		.dest_qpn = 5};

	CU_ASSERT_EQUAL(uroce_qp_prepare(qp), 0);
	CU_ASSERT_EQUAL(
		uroce_qp_modify(qp, &attr,
			UROCE_QP_ATTR_STATE | UROCE_QP_ATTR_AV | UROCE_QP_ATTR_PATH_MTU |
				UROCE_QP_ATTR_DEST_QPN | UROCE_QP_ATTR_RQ_PSN |
				UROCE_QP_ATTR_MAX_DEST_RD_ATOMIC | UROCE_QP_ATTR_MIN_RNR_TIMER),
		0);
	return qp;
}

/* The requests that were given up are freed with the device; the leak sanitizer would tell. */
static void a_neighbour_that_timed_out_is_told_again(void)
{
	static struct rig r;
	const uint8_t macs[2][6] = {{2, 9, 1}, {2, 9, 2}};
	struct uroce_qp *qps[WORKERS];

	rig_init(&r);
	for (uint16_t i = 0; i < WORKERS; i++) {
		qps[i] = make_waiting(&r, i);
		CU_ASSERT_FALSE(path_of(qps[i])->resolved);
	}
	/* First heard of, then changed: each time one of the workers does not poll. */
	for (unsigned int i = 0; i < 2 * WORKERS; i++) {
		const uint8_t *mac = macs[i / WORKERS];

		hold_up(&r, i % WORKERS, true);
		CU_ASSERT_EQUAL(uroce_device_neighbour_set(r.dev, "192.0.2.9", mac), -ETIMEDOUT);
		hold_up(&r, i % WORKERS, false);
		CU_ASSERT_EQUAL(uroce_device_neighbour_set(r.dev, "192.0.2.9", mac), 0);
		for (int k = 0; k < WORKERS; k++) {
			CU_ASSERT_TRUE(path_of(qps[k])->resolved);
			CU_ASSERT_EQUAL(memcmp(path_of(qps[k])->dmac, mac, 6), 0);
		}
		if (i % WORKERS == 0)
			CU_ASSERT_EQUAL(uroce_device_neighbour_set(
						r.dev, "192.0.2.9", (const uint8_t[6]){2, 9, 9}),
				0);
	}
	for (int i = 0; i < WORKERS; i++)
		CU_ASSERT_EQUAL(uroce_qp_destroy(qps[i]), 0);
	rig_fini(&r);
}

/* ---- groups ---- */

static const uint8_t group[16] = {[10] = 0xff, 0xff, 224, 0, 1, 5};

/* Joins, in a thread of its own, when worker 0 is about to be told that the group is nobody's. */
static struct latecomer {
	struct uroce_qp *qp;
	pthread_t thread;
	bool came, finished;
	int err;
	struct rig *then_stuck; /* its worker 1 polls no more, from when the other has joined */
} late;

static void *join_late(void *arg)
{
	struct latecomer *l = arg;

	l->err = uroce_qp_attach_group(l->qp, group);
	return NULL;
}

int __real_uroce_worker_ctrl(struct uroce_worker *worker, struct uroce_cmd *cmd);
int __wrap_uroce_worker_ctrl(struct uroce_worker *worker, struct uroce_cmd *cmd);

int __wrap_uroce_worker_ctrl(struct uroce_worker *worker, struct uroce_cmd *cmd)
{
	struct timespec ts;

	if (late.qp && !late.came && cmd->kind == UROCE_CMD_GROUP_CLEAR && worker->index == 0) {
		late.came = true;
		CU_ASSERT_EQUAL_FATAL(pthread_create(&late.thread, NULL, join_late, &late), 0);
		/* As far as it comes before this call is done; the outcome is the same however far.
		 */
		clock_gettime(CLOCK_REALTIME, &ts);
		ts.tv_nsec = (ts.tv_nsec + 50000000) % 1000000000;
		ts.tv_sec += ts.tv_nsec < 50000000;
		late.finished = pthread_timedjoin_np(late.thread, NULL, &ts) == 0;
		if (late.then_stuck)
			hold_up(late.then_stuck, 1, true);
	}
	return __real_uroce_worker_ctrl(worker, cmd);
}

static uint32_t groups_known(const struct rig *r, unsigned int worker)
{
	return r->dev->workers[worker].core.conf.local.num_groups;
}

/* The first member leaves as the second comes. */
static void replace_member(struct rig *r, bool then_stuck, struct uroce_qp *qps[2])
{
	rig_init(r);
	qps[0] = make_qp(r, UROCE_QP_UD, 0);
	qps[1] = make_qp(r, UROCE_QP_UD, 0);
	CU_ASSERT_EQUAL(uroce_qp_attach_group(qps[0], group), 0);
	late = (struct latecomer){.qp = qps[1], .then_stuck = then_stuck ? r : NULL};
	CU_ASSERT_EQUAL(uroce_qp_detach_group(qps[0], group), 0);
	CU_ASSERT_TRUE_FATAL(late.came);
	if (!late.finished)
		CU_ASSERT_EQUAL(pthread_join(late.thread, NULL), 0);
}

static void end_replaced(struct rig *r, struct uroce_qp *qps[2])
{
	CU_ASSERT_EQUAL(uroce_qp_destroy(qps[0]), 0);
	CU_ASSERT_EQUAL(uroce_qp_destroy(qps[1]), 0);
	rig_fini(r);
}

static void a_group_outlasts_the_leaving_of_its_last_member(void)
{
	static struct rig r;
	struct uroce_qp *qps[2];

	replace_member(&r, false, qps);
	CU_ASSERT_EQUAL(late.err, 0);
	for (unsigned int k = 0; k < WORKERS; k++)
		CU_ASSERT_EQUAL(groups_known(&r, k), 1);
	CU_ASSERT_EQUAL(uroce_qp_detach_group(qps[1], group), 0);
	for (unsigned int k = 0; k < WORKERS; k++)
		CU_ASSERT_EQUAL(groups_known(&r, k), 0);
	end_replaced(&r, qps);
}

/* Who was told that it is a member is one; who was told that it is not can ask again. */
static void a_worker_that_gets_stuck_takes_no_group_from_the_others(void)
{
	static struct rig r;
	struct uroce_qp *qps[2];

	replace_member(&r, true, qps);
	CU_ASSERT_EQUAL(groups_known(&r, 0), late.err ? 0 : 1);
	hold_up(&r, 1, false);
	if (late.err)
		CU_ASSERT_EQUAL(uroce_qp_attach_group(qps[1], group), 0);
	for (unsigned int k = 0; k < WORKERS; k++) {
		uroce_worker_poll(&r.dev->workers[k]);
		uroce_worker_offline(&r.dev->workers[k]);
		CU_ASSERT_EQUAL(groups_known(&r, k), 1);
	}
	end_replaced(&r, qps);
}

/* ---- threads that poll ---- */

struct poller {
	struct rig *rig;
	unsigned int index;
	pthread_barrier_t *barrier;
	int err;
};

/* Polls a worker; asks something of all workers when the other thread does. */
static void *poll_and_ask(void *arg)
{
	const struct uroce_ah_conf conf = {
		.dgid = {[10] = 0xff, 0xff, 192, 0, 2, 9}, .mac = {2, 9}};
	struct poller *p = arg;
	struct uroce_worker *worker = uroce_device_worker(p->rig->dev, p->index);
	struct uroce_ah *ah;

	uroce_worker_poll(worker);
	pthread_barrier_wait(p->barrier);
	for (int i = 0; i < 100 && !p->err; i++) {
		p->err = uroce_ah_create(p->rig->pd, &conf, &ah);
		if (!p->err)
			p->err = uroce_ah_destroy(ah);
	}
	uroce_worker_offline(worker);
	return NULL;
}

static void threads_that_poll_may_ask_of_each_others_workers(void)
{
	static struct rig r;
	struct poller pollers[WORKERS];
	pthread_t threads[WORKERS];
	pthread_barrier_t barrier;

	rig_init(&r);
	CU_ASSERT_EQUAL(pthread_barrier_init(&barrier, NULL, WORKERS), 0);
	for (unsigned int i = 0; i < WORKERS; i++) {
		r.dev->workers[i].patience_ns = PATIENTLY_NS;
		pollers[i] = (struct poller){&r, i, &barrier, 0};
		CU_ASSERT_EQUAL_FATAL(
			pthread_create(&threads[i], NULL, poll_and_ask, &pollers[i]), 0);
	}
	for (unsigned int i = 0; i < WORKERS; i++) {
		CU_ASSERT_EQUAL(pthread_join(threads[i], NULL), 0);
		CU_ASSERT_EQUAL(pollers[i].err, 0);
	}
	pthread_barrier_destroy(&barrier);
	rig_fini(&r);
}

int main(void)
{
	static const struct unit_case cases[] = {
		{"a neighbour that a worker could not be told of is told again",
			a_neighbour_that_timed_out_is_told_again},
		{"a group outlasts the leaving of its last member",
			a_group_outlasts_the_leaving_of_its_last_member},
		{"a worker that gets stuck takes no group from the others",
			a_worker_that_gets_stuck_takes_no_group_from_the_others},
		{"threads that poll may ask of each other's workers",
			threads_that_poll_may_ask_of_each_others_workers},
	};

	return run_suite("contend", cases, sizeof(cases) / sizeof(cases[0]));
}
