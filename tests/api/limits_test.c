/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * As much as uroce_device_query says that there may be, and one more.
 *
 * At each limit all is there and of use; the call that asks for more says so with the errno that
 * the header lists and leaves what there is alone; and room that is given back can be had again.
 */
#include <errno.h>
#include <string.h>

#include "cunit_run.h"
#include "pair.h"

enum {
	WR_MAX = 32768,
	CQES_MAX = 65536,
	GROUPS_MAX = 32,
	TURNS = 20000
};

static struct pair pair;

/* ---- groups ---- */

static int attach(struct uroce_qp *qp, uint8_t last)
{
	const uint8_t gid[16] = {[10] = 0xff, 0xff, 224, 0, 1, last};

	return uroce_qp_attach_group(qp, gid);
}

static void groups_to_the_last_and_one_more(void)
{
	const uint8_t tenth[16] = {[10] = 0xff, 0xff, 224, 0, 1, 10};
	struct uroce_qp_conf conf = {.type = UROCE_QP_UD};
	struct uroce_qp *qp = NULL, *other = NULL;

	pair_init(&pair, &conf);
	qp = pair.side[0].qp;
	conf.send_cq = conf.recv_cq = pair.side[0].cq;
	CU_ASSERT_EQUAL_FATAL(uroce_qp_create(pair.side[0].pd, &conf, &other), 0);
	for (uint8_t i = 0; i < GROUPS_MAX; i++)
		CU_ASSERT_EQUAL(attach(qp, i), 0);
	CU_ASSERT_EQUAL(attach(qp, GROUPS_MAX), -ENOSPC);
	CU_ASSERT_EQUAL(attach(qp, GROUPS_MAX - 1), -EEXIST);
	/* Groups are counted, not members. */
	CU_ASSERT_EQUAL(attach(other, 10), 0);
	CU_ASSERT_EQUAL(uroce_qp_detach_group(qp, tenth), 0);
	CU_ASSERT_EQUAL(attach(qp, GROUPS_MAX), -ENOSPC);
	CU_ASSERT_EQUAL(uroce_qp_destroy(other), 0);
	CU_ASSERT_EQUAL(attach(qp, GROUPS_MAX), 0);
	CU_ASSERT_EQUAL(attach(qp, 10), -ENOSPC);
	pair_fini(&pair);
}

/* ---- completion queues ---- */

static void a_completion_queue_has_a_largest_size(void)
{
	struct uroce_cq *cq;

	pair_init(&pair, NULL);
	CU_ASSERT_EQUAL(uroce_cq_create(pair.side[0].dev, 0, &cq), -EINVAL);
	CU_ASSERT_EQUAL(uroce_cq_create(pair.side[0].dev, CQES_MAX + 1, &cq), -EINVAL);
	CU_ASSERT_EQUAL_FATAL(uroce_cq_create(pair.side[0].dev, 1, &cq), 0);
	CU_ASSERT_EQUAL(uroce_cq_resize(cq, 0), -EINVAL);
	CU_ASSERT_EQUAL(uroce_cq_resize(cq, CQES_MAX + 1), -EINVAL);
	CU_ASSERT_EQUAL(uroce_cq_capacity(cq), 1);
	CU_ASSERT_EQUAL(uroce_cq_resize(cq, CQES_MAX), 0);
	CU_ASSERT_EQUAL(uroce_cq_capacity(cq), CQES_MAX);
	CU_ASSERT_EQUAL(uroce_cq_destroy(cq), 0);
	pair_fini(&pair);
}

/* A queue pair with so many receives, which all complete when it ends. */
static struct uroce_qp *make_receiver(struct uroce_cq *cq, uint32_t receives)
{
	const struct uroce_qp_conf conf = {.type = UROCE_QP_UD,
		.send_cq = cq,
		.recv_cq = cq,
		.max_send_wr = 1,
		.max_recv_wr = receives};
	struct uroce_sge sge = pair_sge(&pair, 0, 0, 64);
	struct uroce_recv_wr recv = {.sge = &sge, .num_sge = 1};
	struct uroce_qp *qp = NULL;

	CU_ASSERT_EQUAL_FATAL(uroce_qp_create(pair.side[0].pd, &conf, &qp), 0);
	CU_ASSERT_EQUAL_FATAL(uroce_qp_open_datagrams(qp, PAIR_QKEY), 0);
	for (uint32_t i = 0; i < receives; i++) {
		recv.wr_id = i;
		CU_ASSERT_EQUAL_FATAL(uroce_post_recv(qp, &recv, 1), 1);
	}
	CU_ASSERT_EQUAL(uroce_post_recv(qp, &recv, 1), -ENOMEM);
	return qp;
}

static void end(struct uroce_qp *qp)
{
	const struct uroce_qp_modify_attr attr = {.state = UROCE_QP_ERR};

	CU_ASSERT_EQUAL(uroce_qp_modify(qp, &attr, UROCE_QP_ATTR_STATE), 0);
	for (int i = 0; i < TURNS; i++)
		pair_turn(&pair);
}

/* Completions that are waiting, all flushed and each receive in its turn. */
static uint32_t take_all(struct uroce_cq *cq)
{
	uint32_t n = 0;
	struct uroce_wc wc;

	while (uroce_cq_poll(cq, &wc, 1) == 1) {
		if (wc.status != UROCE_STATUS_WR_FLUSH_ERR || wc.wr_id != n % WR_MAX)
			break;
		n++;
	}
	return n;
}

static uint32_t count_overflows(void)
{
	uint32_t n = 0;
	struct uroce_event event;

	while (uroce_event_poll(pair.side[0].dev, &event, 1) == 1)
		n += event.type == UROCE_EVENT_CQ_ERR;
	return n;
}

static void the_largest_completion_queue_holds_what_it_says(void)
{
	struct uroce_qp *qps[3];
	struct uroce_cq *cq;

	pair_init(&pair, NULL);
	CU_ASSERT_EQUAL_FATAL(uroce_cq_create(pair.side[0].dev, CQES_MAX, &cq), 0);
	for (int i = 0; i < 3; i++)
		qps[i] = make_receiver(cq, i < 2 ? WR_MAX : 1);
	end(qps[0]);
	end(qps[1]);
	CU_ASSERT_EQUAL(count_overflows(), 0);
	end(qps[2]);
	CU_ASSERT_EQUAL(count_overflows(), 1);
	CU_ASSERT_EQUAL(take_all(cq), CQES_MAX);
	for (int i = 0; i < 3; i++)
		CU_ASSERT_EQUAL(uroce_qp_destroy(qps[i]), 0);
	CU_ASSERT_EQUAL(uroce_cq_destroy(cq), 0);
	pair_fini(&pair);
}

/* ---- shared receive queues ---- */

static void the_largest_shared_queue_holds_what_it_says(void)
{
	struct uroce_srq_conf conf = {.max_wr = WR_MAX + 1};
	struct uroce_recv_wr recv = {0};
	struct uroce_srq *srq;

	pair_init(&pair, NULL);
	CU_ASSERT_EQUAL(uroce_srq_create(pair.side[0].pd, &conf, &srq), -EINVAL);
	conf.max_wr = WR_MAX;
	CU_ASSERT_EQUAL_FATAL(uroce_srq_create(pair.side[0].pd, &conf, &srq), 0);
	for (uint32_t i = 0; i < WR_MAX; i++)
		CU_ASSERT_EQUAL_FATAL(uroce_post_srq_recv(srq, &recv, 1), 1);
	CU_ASSERT_EQUAL(uroce_post_srq_recv(srq, &recv, 1), -ENOMEM);
	CU_ASSERT_EQUAL(uroce_srq_set_limit(srq, WR_MAX), 0);
	CU_ASSERT_EQUAL(uroce_srq_set_limit(srq, WR_MAX + 1), -EINVAL);
	CU_ASSERT_EQUAL(uroce_srq_destroy(srq), 0);
	pair_fini(&pair);
}

/* ---- queue pairs ---- */

static void a_queue_pair_may_be_as_large_as_is_said(void)
{
	struct uroce_qp_conf confs[] = {
		{.max_send_wr = 32768, .max_recv_wr = 32768},
		{.max_send_sge = 32, .max_recv_sge = 32},
		{.max_inline_bytes = 1024, .max_dest_rd_atomic = 128, .window_pkts = 1u << 23},
	};
	struct uroce_qp *qp;

	pair_init(&pair, NULL);
	for (uint32_t i = 0; i < sizeof(confs) / sizeof(confs[0]); i++) {
		confs[i].send_cq = confs[i].recv_cq = pair.side[0].cq;
		CU_ASSERT_EQUAL_FATAL(uroce_qp_create(pair.side[0].pd, &confs[i], &qp), 0);
		CU_ASSERT_EQUAL(uroce_qp_destroy(qp), 0);
	}
	pair_fini(&pair);
}

/* ---- memory ---- */

static void regions_and_windows_are_counted_together(void)
{
	const struct uroce_device_conf dev_conf = {.max_mrs = 4};
	struct uroce_mr *plain, *fast, *more;
	struct uroce_mw *mw, *another;
	struct uroce_pd *pd;

	/* The pair has one. */
	pair_init_on(&pair, &dev_conf, NULL);
	pd = pair.side[0].pd;
	CU_ASSERT_EQUAL_FATAL(uroce_mr_register(pd, pair.side[0].mem, 64, 0, &plain), 0);
	CU_ASSERT_EQUAL_FATAL(uroce_mr_create_fast(pd, pair.side[0].mem, 64, &fast), 0);
	CU_ASSERT_EQUAL_FATAL(uroce_mw_create(pd, UROCE_MW_TYPE_2, &mw), 0);
	CU_ASSERT_EQUAL(uroce_mr_register(pd, pair.side[0].mem, 64, 0, &more), -ENOMEM);
	CU_ASSERT_EQUAL(uroce_mr_create_fast(pd, pair.side[0].mem, 64, &more), -ENOMEM);
	CU_ASSERT_EQUAL(uroce_mw_create(pd, UROCE_MW_TYPE_1, &another), -ENOMEM);
	/* What one gives back another may have. */
	CU_ASSERT_EQUAL(uroce_mw_destroy(mw), 0);
	CU_ASSERT_EQUAL_FATAL(uroce_mr_register(pd, pair.side[0].mem, 64, 0, &more), 0);
	CU_ASSERT_EQUAL(uroce_mw_create(pd, UROCE_MW_TYPE_2, &mw), -ENOMEM);
	CU_ASSERT_EQUAL(uroce_mr_deregister(fast), 0);
	CU_ASSERT_EQUAL_FATAL(uroce_mw_create(pd, UROCE_MW_TYPE_1, &mw), 0);
	CU_ASSERT_EQUAL(uroce_mw_destroy(mw), 0);
	CU_ASSERT_EQUAL(uroce_mr_deregister(plain), 0);
	CU_ASSERT_EQUAL(uroce_mr_deregister(more), 0);
	pair_fini(&pair);
}

int main(void)
{
	static const struct unit_case cases[] = {
		{"groups to the last, and one more", groups_to_the_last_and_one_more},
		{"a completion queue has a largest size", a_completion_queue_has_a_largest_size},
		{"the largest completion queue holds what it says",
			the_largest_completion_queue_holds_what_it_says},
		{"the largest shared queue holds what it says",
			the_largest_shared_queue_holds_what_it_says},
		{"a queue pair may be as large as is said",
			a_queue_pair_may_be_as_large_as_is_said},
		{"regions and windows are counted together",
			regions_and_windows_are_counted_together},
	};

	return run_suite("limits", cases, sizeof(cases) / sizeof(cases[0]));
}
