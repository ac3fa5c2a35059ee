/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Things that fail while an application sets itself up, at every possible moment.
 *
 * One sequence of calls makes one of everything, uses it, and takes it down again. It is run with
 * the Nth allocation failing, for all N, and with the Nth command to a worker timing out: the call
 * that meets it says so with an errno that the header lists, and what was made before can still be
 * taken down. The linker puts the failing functions in the library's way (--wrap); leaks are the
 * address sanitizer's to see.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cunit_run.h"
#include "pair.h"

static long allocations_left = -1; /* -1: none fails */
static long commands_left = -1;
static long allocations, commands;

/* Counts down; true when it is this one's turn. */
static bool is_turn(long *left, long *count)
{
	++*count;
	return *left >= 0 && (*left)-- == 0;
}

void *__real_calloc(size_t n, size_t bytes);
void *__wrap_calloc(size_t n, size_t bytes);
void *__real_aligned_alloc(size_t align, size_t bytes);
void *__wrap_aligned_alloc(size_t align, size_t bytes);
int __real_uroce_worker_ctrl(struct uroce_worker *worker, struct uroce_cmd *cmd);
int __wrap_uroce_worker_ctrl(struct uroce_worker *worker, struct uroce_cmd *cmd);

void *__wrap_calloc(size_t n, size_t bytes)
{
	return is_turn(&allocations_left, &allocations) ? NULL : __real_calloc(n, bytes);
}

void *__wrap_aligned_alloc(size_t align, size_t bytes)
{
	return is_turn(&allocations_left, &allocations) ? NULL : __real_aligned_alloc(align, bytes);
}

int __wrap_uroce_worker_ctrl(struct uroce_worker *worker, struct uroce_cmd *cmd)
{
	return is_turn(&commands_left, &commands) ? -ETIMEDOUT
						  : __real_uroce_worker_ctrl(worker, cmd);
}

/* One of everything. NULL: not made. */
struct all {
	struct memlink links[2];
	struct uroce_device *dev;
	struct uroce_pd *pd;
	struct uroce_mr *mr, *fast;
	struct uroce_mw *mw;
	struct uroce_channel *channel;
	struct uroce_cq *cq;
	struct uroce_srq *srq;
	struct uroce_ah *ah;
	struct uroce_qp *rc, *uc, *ud;
	uint8_t memory[4096];
};

static const uint8_t group[16] = {[10] = 0xff, 0xff, 224, 0, 1, 5};

static int make_queue_pairs(struct all *a)
{
	struct uroce_qp_conf conf = {.send_cq = a->cq, .recv_cq = a->cq, .srq = a->srq};
	struct uroce_peer peer;
	int err = uroce_qp_create(a->pd, &conf, &a->rc);

	if (err)
		return err;
	uroce_qp_local(a->rc, &peer);
	peer.gid[15] = 9;
	err = uroce_qp_connect(a->rc, &peer);
	conf.type = UROCE_QP_UC;
	if (!err)
		err = uroce_qp_create(a->pd, &conf, &a->uc);
	if (!err)
		err = uroce_qp_connect(a->uc, &peer);
	conf.type = UROCE_QP_UD;
	conf.srq = NULL;
	if (!err)
		err = uroce_qp_create(a->pd, &conf, &a->ud);
	if (!err)
		err = uroce_qp_open_datagrams(a->ud, 1);
	if (!err)
		err = uroce_qp_attach_group(a->ud, group);
	if (!err)
		err = uroce_qp_detach_group(a->ud, group);
	return err ? err : uroce_qp_attach_group(a->ud, group);
}

static int make_memory(struct all *a)
{
	int err = uroce_mr_register(
		a->pd, a->memory, sizeof(a->memory), UROCE_ACCESS_LOCAL_WRITE, &a->mr);

	if (!err)
		err = uroce_mr_create_fast(a->pd, a->memory, sizeof(a->memory), &a->fast);
	return err ? err : uroce_mw_create(a->pd, UROCE_MW_TYPE_2, &a->mw);
}

static int make_all(struct all *a)
{
	const struct uroce_device_conf conf = {.addr = "192.0.2.1", .max_qps = 4, .num_workers = 2};
	const struct uroce_srq_conf srq_conf = {.max_wr = 4};
	const uint8_t mac[6] = {2}, peer_mac[6] = {2, 9};
	struct uroce_ah_conf ah_conf = {0};
	void *links[] = {&a->links[0], &a->links[1]};
	int err = uroce_device_open_link(&conf, mac, 1024, &memlink_ops, links, &a->dev);

	if (!err)
		err = uroce_pd_create(a->dev, &a->pd);
	if (!err)
		err = make_memory(a);
	if (!err)
		err = uroce_channel_create(a->dev, &a->channel);
	if (!err)
		err = uroce_cq_create_on(a->channel, 16, &a->cq);
	if (!err)
		err = uroce_cq_resize(a->cq, 40);
	if (!err)
		err = uroce_srq_create(a->pd, &srq_conf, &a->srq);
	if (!err)
		err = uroce_device_neighbour_set(a->dev, "192.0.2.9", peer_mac);
	memcpy(ah_conf.dgid, group, sizeof(group));
	if (!err)
		err = uroce_ah_create(a->pd, &ah_conf, &a->ah);
	return err ? err : make_queue_pairs(a);
}

/* Takes down what there is; nothing fails any more. */
static void take_down(struct all *a)
{
	allocations_left = commands_left = -1;
	if (a->rc)
		CU_ASSERT_EQUAL(uroce_qp_destroy(a->rc), 0);
	if (a->uc)
		CU_ASSERT_EQUAL(uroce_qp_destroy(a->uc), 0);
	if (a->ud)
		CU_ASSERT_EQUAL(uroce_qp_destroy(a->ud), 0);
	if (a->ah)
		CU_ASSERT_EQUAL(uroce_ah_destroy(a->ah), 0);
	if (a->srq)
		CU_ASSERT_EQUAL(uroce_srq_destroy(a->srq), 0);
	if (a->cq)
		CU_ASSERT_EQUAL(uroce_cq_destroy(a->cq), 0);
	if (a->channel)
		CU_ASSERT_EQUAL(uroce_channel_destroy(a->channel), 0);
	if (a->mw)
		CU_ASSERT_EQUAL(uroce_mw_destroy(a->mw), 0);
	if (a->fast)
		CU_ASSERT_EQUAL(uroce_mr_deregister(a->fast), 0);
	if (a->mr)
		CU_ASSERT_EQUAL(uroce_mr_deregister(a->mr), 0);
	if (a->pd)
		CU_ASSERT_EQUAL(uroce_pd_destroy(a->pd), 0);
	if (a->dev)
		CU_ASSERT_EQUAL(uroce_device_close(a->dev), 0);
}

/* One run; what the set-up came to. */
static int run(long allocation, long command)
{
	static struct all a;
	int err;

	memset(&a, 0, sizeof(a));
	memlink_init(&a.links[0], &a.links[1]);
	allocations_left = allocation;
	commands_left = command;
	allocations = commands = 0;
	err = make_all(&a);
	take_down(&a);
	memlink_fini(&a.links[0], &a.links[1]);
	return err;
}

static void the_nth_allocation_fails(void)
{
	long n = 0;

	while (run(n, -1) == -ENOMEM)
		n++;
	/* Then all went well: every allocation of the set-up has failed once. */
	CU_ASSERT_EQUAL(run(n, -1), 0);
	CU_ASSERT_EQUAL(run(-1, -1), 0);
	CU_ASSERT_TRUE(n >= 30);
}

static void the_nth_command_times_out(void)
{
	long n = 0;

	while (run(-1, n) == -ETIMEDOUT)
		n++;
	CU_ASSERT_EQUAL(run(-1, n), 0);
	CU_ASSERT_TRUE(n >= 15);
}

int main(void)
{
	static const struct unit_case cases[] = {
		{"the Nth allocation of a set-up fails, for all N", the_nth_allocation_fails},
		{"the Nth command of a set-up times out, for all N", the_nth_command_times_out},
	};

	return run_suite("set_up", cases, sizeof(cases) / sizeof(cases[0]));
}
