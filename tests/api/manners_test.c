/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Rate limits, DCQCN and keepalives through the public calls: what is asked for is what is set,
 * what cannot be is refused, and a peer that is gone is told of in words.
 */
#include <errno.h>
#include <string.h>

#include "cunit_run.h"
#include "pair.h"

enum {
	TURNS_MAX = 100000000,
	WORDS = 512
};

static struct pair pair;

static void expect_set(bool dcqcn, uint32_t keepalive_ms, uint64_t rate_limit_bps)
{
	struct uroce_qp_modify_attr attr;

	CU_ASSERT_EQUAL(uroce_qp_query(pair.side[0].qp, &attr), 0);
	CU_ASSERT_EQUAL(attr.dcqcn, dcqcn);
	CU_ASSERT_EQUAL(attr.keepalive_ms, keepalive_ms);
	CU_ASSERT_EQUAL(attr.rate_limit_bps, rate_limit_bps);
}

static int set(const struct uroce_qp_modify_attr *attr, uint32_t mask)
{
	return uroce_qp_modify(pair.side[0].qp, attr, mask);
}

static void a_queue_pair_is_as_it_was_made(void)
{
	const struct uroce_qp_conf conf = {
		.dcqcn = true, .keepalive_ms = 5000, .rate_limit_bps = 1000000000};
	const struct uroce_qp_modify_attr reset = {.state = UROCE_QP_RESET};
	struct uroce_qp_conf told;

	pair_init(&pair, &conf);
	expect_set(true, 5000, 1000000000);
	uroce_qp_query_conf(pair.side[0].qp, &told);
	CU_ASSERT_EQUAL(told.dcqcn, true);
	CU_ASSERT_EQUAL(told.keepalive_ms, 5000);
	CU_ASSERT_EQUAL(told.rate_limit_bps, 1000000000);
	CU_ASSERT_EQUAL(set(&reset, UROCE_QP_ATTR_STATE), 0);
	expect_set(true, 5000, 1000000000);
	pair_fini(&pair);
}

static void nothing_is_on_by_default(void)
{
	pair_init(&pair, NULL);
	expect_set(false, 0, 0);
	pair_fini(&pair);
}

static void each_can_be_changed_alone(void)
{
	const struct uroce_qp_modify_attr on = {.dcqcn = true,
						  .keepalive_ms = 7,
						  .rate_limit_bps = UROCE_RATE_MAX_BPS},
					  off = {0};

	pair_init(&pair, NULL);
	CU_ASSERT_EQUAL(set(&on, UROCE_QP_ATTR_DCQCN), 0);
	expect_set(true, 0, 0);
	CU_ASSERT_EQUAL(set(&on, UROCE_QP_ATTR_KEEPALIVE), 0);
	expect_set(true, 7, 0);
	CU_ASSERT_EQUAL(set(&on, UROCE_QP_ATTR_RATE_LIMIT), 0);
	expect_set(true, 7, UROCE_RATE_MAX_BPS);
	CU_ASSERT_EQUAL(
		set(&off, UROCE_QP_ATTR_DCQCN | UROCE_QP_ATTR_KEEPALIVE | UROCE_QP_ATTR_RATE_LIMIT),
		0);
	expect_set(false, 0, 0);
	pair_fini(&pair);
}

static void what_cannot_be_is_refused(void)
{
	const struct uroce_qp_modify_attr slow = {.rate_limit_bps = UROCE_RATE_MIN_BPS - 1},
					  fast = {.rate_limit_bps = UROCE_RATE_MAX_BPS + 1};
	struct uroce_qp_conf confs[] = {{.rate_limit_bps = UROCE_RATE_MIN_BPS - 1},
		{.rate_limit_bps = UROCE_RATE_MAX_BPS + 1}, {.type = UROCE_QP_UD, .dcqcn = true},
		{.type = UROCE_QP_UD, .keepalive_ms = 1}, {.type = UROCE_QP_UC, .keepalive_ms = 1}};
	struct uroce_qp *qp;

	pair_init(&pair, NULL);
	CU_ASSERT_EQUAL(set(&slow, UROCE_QP_ATTR_RATE_LIMIT), -EINVAL);
	CU_ASSERT_EQUAL(set(&fast, UROCE_QP_ATTR_RATE_LIMIT), -EINVAL);
	expect_set(false, 0, 0);
	for (size_t i = 0; i < sizeof(confs) / sizeof(confs[0]); i++) {
		confs[i].send_cq = confs[i].recv_cq = pair.side[0].cq;
		CU_ASSERT_EQUAL(uroce_qp_create(pair.side[0].pd, &confs[i], &qp), -EINVAL);
		CU_ASSERT_EQUAL(uroce_qp_memory_bytes(&confs[i]), 0);
	}
	pair_fini(&pair);
}

static void a_device_tells_what_dcqcn_is_tuned_to(void)
{
	const struct uroce_device_conf conf = {
		.addr = "192.0.2.1", .dcqcn = {.line_rate_bps = 25000000000, .cnp_ns = 4000}};
	struct uroce_device_attr attr;

	pair_init_on(&pair, &conf, NULL);
	uroce_device_query(pair.side[0].dev, &attr);
	CU_ASSERT_EQUAL(attr.dcqcn.line_rate_bps, 25000000000);
	CU_ASSERT_EQUAL(attr.dcqcn.cnp_ns, 4000);
	CU_ASSERT_EQUAL(attr.dcqcn.increase_ns, 55000);
	CU_ASSERT_EQUAL(attr.dcqcn.min_rate_bps, 10000000);
	pair_fini(&pair);
}

static void who_is_gone_is_told_of_in_words(void)
{
	const struct uroce_qp_conf conf = {.keepalive_ms = 1};
	const struct uroce_qp_modify_attr stop = {.state = UROCE_QP_SQD}, hurry = {.timeout = 4},
					  go = {.state = UROCE_QP_RTS};
	struct uroce_event event = {0};
	struct uroce_wc wc;
	char words[WORDS];
	uint64_t turns = 0;

	pair_init(&pair, &conf);
	CU_ASSERT_EQUAL(set(&stop, UROCE_QP_ATTR_STATE), 0);
	CU_ASSERT_EQUAL(set(&hurry, UROCE_QP_ATTR_TIMEOUT), 0);
	CU_ASSERT_EQUAL(set(&go, UROCE_QP_ATTR_STATE), 0);
	/* The other side's worker takes no turns. */
	while (uroce_event_poll(pair.side[0].dev, &event, 1) == 0 && turns++ < TURNS_MAX)
		uroce_worker_poll(uroce_device_worker(pair.side[0].dev, 0));
	CU_ASSERT_EQUAL(event.type, UROCE_EVENT_QP_FATAL);
	CU_ASSERT_EQUAL(event.qpn, uroce_qp_number(pair.side[0].qp));
	CU_ASSERT_EQUAL(uroce_cq_poll(pair.side[0].cq, &wc, 1), 0);
	CU_ASSERT_TRUE(uroce_qp_last_error(pair.side[0].qp, words, sizeof(words)) > 0);
	CU_ASSERT_PTR_NOT_NULL(strstr(words, "RETRY_EXC_ERR: the peer was silent, and 8 timeouts"));
	CU_ASSERT_PTR_NOT_NULL(strstr(words, "keepalive"));
	pair_fini(&pair);
}

int main(void)
{
	static const struct unit_case cases[] = {
		{"a queue pair is as it was made", a_queue_pair_is_as_it_was_made},
		{"nothing is on by default", nothing_is_on_by_default},
		{"each can be changed alone", each_can_be_changed_alone},
		{"what cannot be is refused", what_cannot_be_is_refused},
		{"a device tells what DCQCN is tuned to", a_device_tells_what_dcqcn_is_tuned_to},
		{"who is gone is told of in words", who_is_gone_is_told_of_in_words},
	};

	return run_suite("manners", cases, sizeof(cases) / sizeof(cases[0]));
}
