/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Control calls of the public API: what they refuse, what they leave behind, and the words they
 * find.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cunit_run.h"
#include "pair.h"

enum {
	TURNS = 20000
};

static struct pair pair;

static void opening_a_device_without_eal_is_enodev(void)
{
	struct uroce_device *dev;

	CU_ASSERT_EQUAL(
		uroce_device_open(&(struct uroce_device_conf){.addr = "192.0.2.1"}, &dev), -ENODEV);
}

static int open_with(const char *addr, struct uroce_device_conf conf)
{
	const uint8_t mac[6] = {2};
	struct memlink a, b;
	void *links[16] = {&a};
	struct uroce_device *dev;
	int err;

	memlink_init(&a, &b);
	conf.addr = addr;
	err = uroce_device_open_link(&conf, mac, 4096, &memlink_ops, links, &dev);
	if (!err)
		err = uroce_device_close(dev);
	memlink_fini(&a, &b);
	return err;
}

static void addresses_and_numbers_are_checked_when_opening(void)
{
	const struct uroce_device_conf none = {0};

	CU_ASSERT_EQUAL(open_with("192.0.2.1", none), 0);
	CU_ASSERT_EQUAL(open_with("192.0.2.1/24", none), 0);
	CU_ASSERT_EQUAL(open_with("192.0.2.1/33", none), -EINVAL);
	CU_ASSERT_EQUAL(open_with("192.0.2.1/", none), -EINVAL);
	CU_ASSERT_EQUAL(open_with("192.0.2.256", none), -EINVAL);
	CU_ASSERT_EQUAL(open_with("0.0.0.0", none), -EINVAL);
	CU_ASSERT_EQUAL(open_with("", none), -EINVAL);
	CU_ASSERT_EQUAL(open_with(NULL, none), -EINVAL);
	CU_ASSERT_EQUAL(
		open_with("192.0.2.1", (struct uroce_device_conf){.num_workers = 17}), -EINVAL);
	CU_ASSERT_EQUAL(
		open_with("192.0.2.1", (struct uroce_device_conf){.max_qps = 1u << 30}), -EINVAL);
	CU_ASSERT_EQUAL(
		open_with("192.0.2.1", (struct uroce_device_conf){.conn_retries = 16}), -EINVAL);
	CU_ASSERT_EQUAL(
		open_with("192.0.2.1", (struct uroce_device_conf){.conn_timeout = 32}), -EINVAL);
	CU_ASSERT_EQUAL(
		open_with("192.0.2.1", (struct uroce_device_conf){.max_conns = 1u << 30}), -EINVAL);
	CU_ASSERT_EQUAL(
		open_with("192.0.2.1",
			(struct uroce_device_conf){.conn_retry_ms = 100, .conn_retry_max_ms = 99}),
		-EINVAL);
}

static void parents_are_busy_while_they_have_children(void)
{
	pair_init(&pair, NULL);
	CU_ASSERT_EQUAL(uroce_device_close(pair.side[0].dev), -EBUSY);
	CU_ASSERT_EQUAL(uroce_pd_destroy(pair.side[0].pd), -EBUSY);
	CU_ASSERT_EQUAL(uroce_cq_destroy(pair.side[0].cq), -EBUSY);
	pair_fini(&pair);
}

static void regions_check_their_range_and_rights(void)
{
	struct uroce_mr *mr;

	pair_init(&pair, NULL);
	CU_ASSERT_EQUAL(uroce_mr_register(pair.side[0].pd, (void *)-4096, 8192, 0, &mr), -EINVAL);
	CU_ASSERT_EQUAL(
		uroce_mr_register(pair.side[0].pd, pair.side[0].mem, 64, 1u << 20, &mr), -EINVAL);
	CU_ASSERT_EQUAL(uroce_mr_register(pair.side[0].pd, pair.side[0].mem, 64,
				UROCE_ACCESS_REMOTE_WRITE, &mr),
		-EINVAL);
	CU_ASSERT_EQUAL(uroce_mr_register(pair.side[0].pd, pair.side[0].mem, 64, 0, &mr), 0);
	CU_ASSERT_NOT_EQUAL(mr->lkey, pair.side[0].mr->lkey);
	CU_ASSERT_EQUAL(uroce_mr_deregister(mr), 0);
	pair_fini(&pair);
}

static void no_more_regions_than_the_device_was_opened_for(void)
{
	const uint8_t mac[6] = {2};
	const struct uroce_device_conf conf = {.addr = "192.0.2.1", .max_mrs = 3};
	struct memlink a, b;
	void *links[] = {&a};
	struct uroce_device *dev;
	struct uroce_mr *mr[4];
	struct uroce_pd *pd;
	char memory[64];

	memlink_init(&a, &b);
	CU_ASSERT_EQUAL_FATAL(
		uroce_device_open_link(&conf, mac, 1024, &memlink_ops, links, &dev), 0);
	CU_ASSERT_EQUAL_FATAL(uroce_pd_create(dev, &pd), 0);
	for (int i = 0; i < 3; i++)
		CU_ASSERT_EQUAL(uroce_mr_register(pd, memory, 64, 0, &mr[i]), 0);
	CU_ASSERT_EQUAL(uroce_mr_register(pd, memory, 64, 0, &mr[3]), -ENOMEM);
	for (int i = 0; i < 3; i++)
		CU_ASSERT_EQUAL(uroce_mr_deregister(mr[i]), 0);
	CU_ASSERT_EQUAL(uroce_pd_destroy(pd), 0);
	CU_ASSERT_EQUAL(uroce_device_close(dev), 0);
	memlink_fini(&a, &b);
}

static void queue_pairs_check_what_they_are_made_of(void)
{
	struct uroce_qp_conf conf = {0};
	struct uroce_cq *other = NULL;
	struct uroce_qp *qp;

	pair_init(&pair, NULL);
	other = pair.side[1].cq;
	conf.send_cq = conf.recv_cq = pair.side[0].cq;
#define REFUSED(field, value, error) \
	do { \
		struct uroce_qp_conf bad = conf; \
		bad.field = (value); \
		CU_ASSERT_EQUAL(uroce_qp_create(pair.side[0].pd, &bad, &qp), error); \
	} while (0)
	REFUSED(type, (enum uroce_qp_type)1, -EOPNOTSUPP);
	REFUSED(type, (enum uroce_qp_type)5, -EOPNOTSUPP);
	REFUSED(send_cq, NULL, -EINVAL);
	REFUSED(recv_cq, other, -EINVAL);
	REFUSED(max_send_wr, 32769, -EINVAL);
	REFUSED(max_recv_wr, 32769, -EINVAL);
	REFUSED(max_send_sge, 33, -EINVAL);
	REFUSED(max_recv_sge, 33, -EINVAL);
	REFUSED(max_inline_bytes, 1025, -EINVAL);
	REFUSED(max_dest_rd_atomic, 129, -EINVAL);
	REFUSED(window_pkts, (1u << 23) + 1, -EINVAL);
	REFUSED(worker, UROCE_WORKER(1), -EINVAL);
	REFUSED(qpn, 1, -EINVAL);
	REFUSED(qpn, 0xffffff, -EINVAL);
	REFUSED(qpn, uroce_qp_number(pair.side[0].qp), -EEXIST);
#undef REFUSED
	pair_fini(&pair);
}

static void no_more_queue_pairs_than_the_device_was_opened_for(void)
{
	struct uroce_qp_conf conf = {.max_send_wr = 1, .max_recv_wr = 1};
	struct uroce_qp *qps[64];
	int made = 0, err = 0;

	/* The link's devices are opened for 64, and the pair has one. */
	pair_init(&pair, NULL);
	conf.send_cq = conf.recv_cq = pair.side[0].cq;
	while (!err && made < 64) {
		err = uroce_qp_create(pair.side[0].pd, &conf, &qps[made]);
		made += !err;
	}
	CU_ASSERT_EQUAL(err, -ENOMEM);
	CU_ASSERT_EQUAL(made, 63);
	/* Room that is given back can be had again. */
	CU_ASSERT_EQUAL(uroce_qp_destroy(qps[7]), 0);
	CU_ASSERT_EQUAL_FATAL(uroce_qp_create(pair.side[0].pd, &conf, &qps[7]), 0);
	CU_ASSERT_EQUAL(uroce_qp_create(pair.side[0].pd, &conf, &qps[63]), -ENOMEM);
	while (made-- > 0)
		CU_ASSERT_EQUAL(uroce_qp_destroy(qps[made]), 0);
	pair_fini(&pair);
}

static void a_psn_may_be_the_last_of_24_bits_and_no_more(void)
{
	struct uroce_qp_conf conf = {0};
	struct uroce_peer peer;
	struct uroce_qp *qp;

	pair_init(&pair, NULL);
	conf.send_cq = conf.recv_cq = pair.side[0].cq;
	CU_ASSERT_EQUAL_FATAL(uroce_qp_create(pair.side[0].pd, &conf, &qp), 0);
	peer = pair.side[1].local;
	peer.psn = 0x1000000;
	CU_ASSERT_EQUAL(uroce_qp_connect(qp, &peer), -EINVAL);
	peer.psn = 0xffffff;
	CU_ASSERT_EQUAL(uroce_qp_connect(qp, &peer), 0);
	CU_ASSERT_EQUAL(uroce_qp_destroy(qp), 0);
	pair_fini(&pair);
}

static void a_queue_pair_costs_what_is_published(void)
{
	const struct uroce_qp_conf small = {
		.max_send_wr = 1, .max_recv_wr = 1, .max_dest_rd_atomic = 1, .window_pkts = 1};
	const struct uroce_qp_conf large = {.max_send_wr = 1024, .max_inline_bytes = 256};
	const struct uroce_qp_conf bad = {.max_send_sge = 99};
	const struct uroce_qp_conf sends_16 = {.max_send_wr = 16, .max_send_sge = 1},
				   sends_17 = {.max_send_wr = 17, .max_send_sge = 1},
				   sends_32 = {.max_send_wr = 32, .max_send_sge = 1};

	CU_ASSERT_EQUAL(uroce_qp_memory_bytes(&bad), 0);
	CU_ASSERT_TRUE(uroce_qp_memory_bytes(&large) > 1024 * 2 * 320);
	/* An idle queue pair is under 1 KiB besides the rings that it asked for. */
	CU_ASSERT_TRUE(
		sizeof(struct uroce_qp) - 2 * sizeof(struct uroce_ring) + sizeof(struct qp_shell) <
		1024);
	CU_ASSERT_TRUE(uroce_qp_memory_bytes(&small) < 2048);
	/* What the README says. */
	CU_ASSERT_EQUAL(uroce_qp_memory_bytes(&(struct uroce_qp_conf){0}), 29576);
	CU_ASSERT_EQUAL(uroce_qp_memory_bytes(&sends_32) - uroce_qp_memory_bytes(&sends_16),
		16 * (2 * 64 + 20));
	CU_ASSERT_EQUAL(uroce_qp_memory_bytes(&sends_17), uroce_qp_memory_bytes(&sends_32));
}

static void destroying_with_work_outstanding_leaves_nothing(void)
{
	struct uroce_qp_conf conf = {0};
	struct uroce_send_wr wr = {.opcode = UROCE_WR_RDMA_WRITE, .flags = UROCE_SEND_SIGNALED};
	uint32_t numbers[32];
	struct uroce_wc wc;

	pair_init(&pair, NULL);
	conf.send_cq = conf.recv_cq = pair.side[0].cq;
	for (int i = 0; i < 32; i++) {
		struct uroce_qp *qp;
		struct uroce_peer peer = pair.side[1].local;

		CU_ASSERT_EQUAL_FATAL(uroce_qp_create(pair.side[0].pd, &conf, &qp), 0);
		CU_ASSERT_EQUAL(uroce_qp_connect(qp, &peer), 0);
		numbers[i] = uroce_qp_number(qp);
		for (int k = 0; k < i; k++)
			CU_ASSERT_NOT_EQUAL(numbers[i], numbers[k]);
		for (int k = 0; k < 10; k++)
			CU_ASSERT_EQUAL(uroce_post_send(qp, &wr, 1), 1);
		if (i & 1)
			pair_turn(&pair);
		if (i & 2)
			uroce_qp_modify(qp, &(struct uroce_qp_modify_attr){.state = UROCE_QP_ERR},
				UROCE_QP_ATTR_STATE);
		CU_ASSERT_EQUAL(uroce_qp_destroy(qp), 0);
		CU_ASSERT_EQUAL(uroce_cq_poll(pair.side[0].cq, &wc, 1), 0);
	}
	for (int i = 0; i < 100; i++)
		pair_turn(&pair);
	CU_ASSERT_EQUAL(uroce_cq_poll(pair.side[0].cq, &wc, 1), 0);
	pair_fini(&pair);
}

static void query_tells_what_was_set(void)
{
	struct uroce_qp_modify_attr attr;

	pair_init(&pair, NULL);
	CU_ASSERT_EQUAL(uroce_qp_query(pair.side[0].qp, &attr), 0);
	CU_ASSERT_EQUAL(attr.state, UROCE_QP_RTS);
	CU_ASSERT_EQUAL(attr.path_mtu_bytes, 4096);
	CU_ASSERT_EQUAL(attr.dest_qpn, uroce_qp_number(pair.side[1].qp));
	CU_ASSERT_EQUAL(attr.sq_psn, pair.side[0].local.psn);
	CU_ASSERT_EQUAL(attr.rq_psn, pair.side[1].local.psn);
	/* The API's defaults, not the standard's. */
	CU_ASSERT_EQUAL(attr.min_rnr_timer, 12);
	CU_ASSERT_EQUAL(attr.timeout, 14);
	CU_ASSERT_EQUAL(attr.retry_cnt, 7);
	CU_ASSERT_EQUAL(attr.rnr_retry, 7);
	CU_ASSERT_EQUAL(memcmp(attr.dgid, pair.side[1].local.gid, 16), 0);
	pair_fini(&pair);
}

static void connecting_takes_none_by_name(void)
{
	struct uroce_qp_conf conf = {0};
	struct uroce_peer peer;
	struct uroce_qp_modify_attr attr;
	struct uroce_qp *qp;

	pair_init(&pair, NULL);
	conf.send_cq = conf.recv_cq = pair.side[0].cq;
	peer = pair.side[1].local;
	peer.timeout = UROCE_TIMEOUT_NONE;
	peer.rnr_retry = UROCE_RNR_RETRY_NONE;
	peer.retry_cnt = UROCE_RETRY_NONE;
	peer.mtu_bytes = 512;
	CU_ASSERT_EQUAL_FATAL(uroce_qp_create(pair.side[0].pd, &conf, &qp), 0);
	CU_ASSERT_EQUAL(uroce_qp_connect(qp, &peer), 0);
	CU_ASSERT_EQUAL(uroce_qp_query(qp, &attr), 0);
	CU_ASSERT_EQUAL(attr.timeout, 0);
	CU_ASSERT_EQUAL(attr.rnr_retry, 0);
	CU_ASSERT_EQUAL(attr.retry_cnt, 0);
	CU_ASSERT_EQUAL(attr.path_mtu_bytes, 512);
	CU_ASSERT_EQUAL(uroce_qp_connect(qp, &peer), -EINVAL);
	CU_ASSERT_EQUAL(uroce_qp_destroy(qp), 0);
	pair_fini(&pair);
}

static void connecting_needs_a_mac_address(void)
{
	const uint8_t mac[6] = {2, 0, 0, 0, 0, 9};
	struct uroce_qp_conf conf = {0};
	struct uroce_peer peer;
	struct uroce_qp *qp;

	pair_init(&pair, NULL);
	conf.send_cq = conf.recv_cq = pair.side[0].cq;
	CU_ASSERT_EQUAL_FATAL(uroce_qp_create(pair.side[0].pd, &conf, &qp), 0);
	peer = pair.side[1].local;
	peer.gid[15] = 9;
	memset(peer.mac, 0, sizeof(peer.mac));
	CU_ASSERT_EQUAL(uroce_qp_connect(qp, &peer), -EHOSTUNREACH);
	CU_ASSERT_EQUAL(uroce_device_neighbour_set(pair.side[0].dev, "192.0.2", mac), -EINVAL);
	CU_ASSERT_EQUAL(uroce_device_neighbour_set(pair.side[0].dev, "192.0.2.9", mac), 0);
	CU_ASSERT_EQUAL(uroce_qp_connect(qp, &peer), 0);
	CU_ASSERT_EQUAL(uroce_qp_destroy(qp), 0);
	pair_fini(&pair);
}

static void a_path_mtu_over_the_ports_is_emsgsize(void)
{
	const uint8_t mac[6] = {2};
	struct memlink a, b;
	void *links[] = {&a};
	struct uroce_qp_modify_attr attr = {.path_mtu_bytes = 2048};
	struct uroce_device *dev;
	struct uroce_pd *pd;
	struct uroce_cq *cq;
	struct uroce_qp *qp;

	memlink_init(&a, &b);
	CU_ASSERT_EQUAL_FATAL(
		uroce_device_open_link(&(struct uroce_device_conf){.addr = "192.0.2.1"}, mac, 1024,
			&memlink_ops, links, &dev),
		0);
	uroce_pd_create(dev, &pd);
	uroce_cq_create(dev, 1, &cq);
	uroce_qp_create(pd, &(struct uroce_qp_conf){.send_cq = cq, .recv_cq = cq}, &qp);
	CU_ASSERT_EQUAL(uroce_qp_modify(qp, &attr, UROCE_QP_ATTR_PATH_MTU), -EMSGSIZE);
	attr.path_mtu_bytes = 5000;
	CU_ASSERT_EQUAL(uroce_qp_modify(qp, &attr, UROCE_QP_ATTR_PATH_MTU), -EINVAL);
	uroce_qp_destroy(qp);
	uroce_cq_destroy(cq);
	uroce_pd_destroy(pd);
	uroce_device_close(dev);
	memlink_fini(&a, &b);
}

/* The words after a write with this key to this address. */
static void words_after_write(uint32_t rkey, uint64_t addr, int who, char *words, size_t bytes)
{
	struct uroce_sge sge = pair_sge(&pair, 0, 0, 64);
	struct uroce_send_wr wr = {.opcode = UROCE_WR_RDMA_WRITE,
		.flags = UROCE_SEND_SIGNALED,
		.sge = &sge,
		.num_sge = 1,
		.rdma = {.remote_addr = addr, .rkey = rkey}};
	struct uroce_wc wc;

	CU_ASSERT_EQUAL(uroce_qp_last_error(pair.side[0].qp, words, bytes), 0);
	CU_ASSERT_EQUAL(uroce_post_send(pair.side[0].qp, &wr, 1), 1);
	CU_ASSERT_TRUE(pair_wait(&pair, 0, &wc, TURNS));
	CU_ASSERT_EQUAL(wc.status, UROCE_STATUS_REM_ACCESS_ERR);
	CU_ASSERT_TRUE(uroce_qp_last_error(pair.side[who].qp, words, bytes) > 0);
}

static void both_sides_say_why_a_write_was_refused(void)
{
	struct uroce_event events[8];
	char words[512];
	bool access_err = false;
	int n;

	pair_init(&pair, NULL);
	words_after_write(0x12345678, (uintptr_t)pair.side[1].mem, 0, words, sizeof(words));
	CU_ASSERT_PTR_NOT_NULL(strstr(words, "REM_ACCESS_ERR: the peer refused PSN"));
	CU_ASSERT_TRUE(uroce_qp_last_error(pair.side[1].qp, words, sizeof(words)) > 0);
	CU_ASSERT_PTR_NOT_NULL(strstr(words, "no region has this key"));
	n = uroce_event_poll(pair.side[1].dev, events, 8);
	for (int i = 0; i < n; i++)
		access_err |= events[i].type == UROCE_EVENT_QP_ACCESS_ERR &&
			events[i].qpn == uroce_qp_number(pair.side[1].qp);
	CU_ASSERT_TRUE(access_err);
	pair_fini(&pair);

	pair_init(&pair, NULL);
	words_after_write(pair.side[1].mr->rkey, (uintptr_t)pair.side[1].mem + PAIR_MEM_BYTES - 63,
		1, words, sizeof(words));
	CU_ASSERT_PTR_NOT_NULL(strstr(words, "the range is not inside the region"));
	pair_fini(&pair);
}

static void an_mtu_mismatch_is_said_in_numbers(void)
{
	struct uroce_qp_conf conf = {0};
	struct uroce_peer peer;
	struct uroce_qp *qp[2];
	struct uroce_sge sge;
	struct uroce_send_wr wr;
	struct uroce_wc wc;
	char words[512];

	pair_init(&pair, NULL);
	for (int i = 0; i < 2; i++) {
		conf.send_cq = conf.recv_cq = pair.side[i].cq;
		CU_ASSERT_EQUAL_FATAL(uroce_qp_create(pair.side[i].pd, &conf, &qp[i]), 0);
	}
	uroce_qp_local(qp[1], &peer);
	CU_ASSERT_EQUAL(uroce_qp_connect(qp[0], &peer), 0);
	uroce_qp_local(qp[0], &peer);
	peer.mtu_bytes = 1024;
	CU_ASSERT_EQUAL(uroce_qp_connect(qp[1], &peer), 0);
	sge = pair_sge(&pair, 0, 0, 10000);
	wr = (struct uroce_send_wr){.opcode = UROCE_WR_RDMA_WRITE,
		.sge = &sge,
		.num_sge = 1,
		.rdma = {
			.remote_addr = (uintptr_t)pair.side[1].mem, .rkey = pair.side[1].mr->rkey}};
	CU_ASSERT_EQUAL(uroce_post_send(qp[0], &wr, 1), 1);
	/* Not signalled, but an error completes always. */
	CU_ASSERT_TRUE(pair_wait(&pair, 0, &wc, TURNS));
	CU_ASSERT_EQUAL(wc.status, UROCE_STATUS_REM_INV_REQ_ERR);
	CU_ASSERT_TRUE(uroce_qp_last_error(qp[1], words, sizeof(words)) > 0);
	CU_ASSERT_PTR_NOT_NULL(
		strstr(words, "MTU mismatch: a packet has 4096 payload bytes, path MTU is 1024"));
	for (int i = 0; i < 2; i++)
		CU_ASSERT_EQUAL(uroce_qp_destroy(qp[i]), 0);
	pair_fini(&pair);
}

static void words_are_cut_to_the_buffer_and_their_length_told(void)
{
	char words[512], few[10];

	pair_init(&pair, NULL);
	words_after_write(0x12345678, 0, 0, words, sizeof(words));
	CU_ASSERT_EQUAL(
		(size_t)uroce_qp_last_error(pair.side[0].qp, few, sizeof(few)), strlen(words));
	CU_ASSERT_EQUAL(strlen(few), sizeof(few) - 1);
	CU_ASSERT_EQUAL(strncmp(words, few, sizeof(few) - 1), 0);
	pair_fini(&pair);
}

static void every_name_is_there(void)
{
	struct uroce_counters counters;

	memset(&counters, 0, sizeof(counters));
	counters.rx_frames = 5;
	for (unsigned int i = 0; i < UROCE_COUNTER_COUNT; i++) {
		CU_ASSERT_PTR_NOT_NULL(uroce_counter_name(i));
		CU_ASSERT_TRUE(strlen(uroce_counter_help(i)) > 5);
	}
	CU_ASSERT_PTR_NULL(uroce_counter_name(UROCE_COUNTER_COUNT));
	CU_ASSERT_EQUAL(uroce_counter_value(&counters, 0), 5);
	CU_ASSERT_STRING_EQUAL(uroce_counter_name(0), "rx_frames");
	for (int i = 0; i < UROCE_DROP_COUNT; i++)
		CU_ASSERT_STRING_NOT_EQUAL(uroce_drop_name((enum uroce_drop)i), "?");
	CU_ASSERT_STRING_EQUAL(uroce_status_name((enum uroce_status)999), "?");
	CU_ASSERT_STRING_EQUAL(uroce_status_name(UROCE_STATUS_RETRY_EXC_ERR), "RETRY_EXC_ERR");
	CU_ASSERT_STRING_EQUAL(uroce_state_name(UROCE_QP_SQD), "SQD");
	CU_ASSERT_STRING_EQUAL(uroce_event_name(UROCE_EVENT_COMM_EST), "COMM_EST");
	CU_ASSERT_STRING_EQUAL(
		uroce_drop_text(UROCE_DROP_QPN_UNKNOWN), "no queue pair has this number");
}

int main(void)
{
	static const struct unit_case cases[] = {
		{"opening a device without EAL is -ENODEV", opening_a_device_without_eal_is_enodev},
		{"addresses and numbers are checked when opening",
			addresses_and_numbers_are_checked_when_opening},
		{"parents are busy while they have children",
			parents_are_busy_while_they_have_children},
		{"regions check their range and rights", regions_check_their_range_and_rights},
		{"no more regions than the device was opened for",
			no_more_regions_than_the_device_was_opened_for},
		{"rdma-core#1211: queue pairs check what they are made of",
			queue_pairs_check_what_they_are_made_of},
		{"no more queue pairs than the device was opened for",
			no_more_queue_pairs_than_the_device_was_opened_for},
		{"a PSN may be the last of 24 bits and no more",
			a_psn_may_be_the_last_of_24_bits_and_no_more},
		{"a queue pair costs what is published", a_queue_pair_costs_what_is_published},
		{"destroying with work outstanding leaves nothing",
			destroying_with_work_outstanding_leaves_nothing},
		{"query tells what was set", query_tells_what_was_set},
		{"connecting takes none by name", connecting_takes_none_by_name},
		{"connecting needs a MAC address", connecting_needs_a_mac_address},
		{"a path MTU over the port's is -EMSGSIZE", a_path_mtu_over_the_ports_is_emsgsize},
		{"both sides say why a WRITE was refused", both_sides_say_why_a_write_was_refused},
		{"nccl#1957, Mooncake#3878: an MTU mismatch is said in numbers",
			an_mtu_mismatch_is_said_in_numbers},
		{"words are cut to the buffer and their length told",
			words_are_cut_to_the_buffer_and_their_length_told},
		{"every name is there", every_name_is_there},
	};

	return run_suite("control", cases, sizeof(cases) / sizeof(cases[0]));
}
