/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the public API offers besides reliable connections: UC, UD, shared receive queues, windows,
 * fast regions, FLUSH and ATOMIC WRITE, and what its calls refuse.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cunit_run.h"
#include "pair.h"

enum {
	TURNS = 2000
};

#define RIGHTS (UROCE_ACCESS_REMOTE_WRITE | UROCE_ACCESS_REMOTE_READ)

static struct pair pair;

static void fill(uint8_t *p, size_t bytes, uint32_t salt)
{
	for (size_t i = 0; i < bytes; i++)
		p[i] = (uint8_t)(i * 7 + (i >> 8) * 13 + salt);
}

/* Posts, waits for the completion, and says how it ended. */
static enum uroce_status send_and_wait(int who, const struct uroce_send_wr *given)
{
	struct uroce_send_wr wr = *given;
	struct uroce_wc wc = {.status = UROCE_STATUS_GENERAL_ERR};

	wr.flags |= UROCE_SEND_SIGNALED;
	CU_ASSERT_EQUAL(uroce_post_send(pair.side[who].qp, &wr, 1), 1);
	CU_ASSERT_TRUE(pair_wait(&pair, who, &wc, TURNS));
	CU_ASSERT_EQUAL(wc.wr_id, wr.wr_id);
	return wc.status;
}

static void post_recv(int who, uint64_t wr_id, size_t offset, uint32_t bytes)
{
	struct uroce_sge sge = pair_sge(&pair, who, offset, bytes);
	struct uroce_recv_wr wr = {.wr_id = wr_id, .sge = &sge, .num_sge = 1};

	CU_ASSERT_EQUAL(uroce_post_recv(pair.side[who].qp, &wr, 1), 1);
}

/* ---- UC ---- */

static void unreliable_connections_carry_sends_and_writes(void)
{
	const struct uroce_qp_conf conf = {.type = UROCE_QP_UC};
	struct uroce_sge sge;
	struct uroce_send_wr wr = {.wr_id = 7, .opcode = UROCE_WR_SEND_WITH_IMM, .imm = 99};
	struct uroce_wc wc;

	pair_init(&pair, &conf);
	fill(pair.side[0].mem, 10000, 1);
	sge = pair_sge(&pair, 0, 0, 10000);
	wr.sge = &sge;
	wr.num_sge = 1;
	post_recv(1, 3, 65536, 10000);
	CU_ASSERT_EQUAL(send_and_wait(0, &wr), UROCE_STATUS_SUCCESS);
	CU_ASSERT_TRUE(pair_wait(&pair, 1, &wc, TURNS));
	CU_ASSERT_EQUAL(wc.wr_id, 3);
	CU_ASSERT_EQUAL(wc.byte_len, 10000);
	CU_ASSERT_EQUAL(wc.imm, 99);
	CU_ASSERT_EQUAL(memcmp(pair.side[0].mem, pair.side[1].mem + 65536, 10000), 0);
	wr.opcode = UROCE_WR_RDMA_WRITE;
	wr.rdma.remote_addr = (uintptr_t)pair.side[1].mem;
	wr.rdma.rkey = pair.side[1].mr->rkey;
	CU_ASSERT_EQUAL(send_and_wait(0, &wr), UROCE_STATUS_SUCCESS);
	for (int i = 0; i < 100; i++)
		pair_turn(&pair);
	CU_ASSERT_EQUAL(memcmp(pair.side[0].mem, pair.side[1].mem, 10000), 0);
	wr.opcode = UROCE_WR_RDMA_READ;
	CU_ASSERT_EQUAL(uroce_post_send(pair.side[0].qp, &wr, 1), -EINVAL);
	pair_fini(&pair);
}

static void a_send_error_is_sqe_and_can_be_recovered_from(void)
{
	const struct uroce_qp_conf conf = {.type = UROCE_QP_UC};
	struct uroce_qp_modify_attr attr;
	struct uroce_sge sge;
	struct uroce_send_wr wr = {.wr_id = 7, .opcode = UROCE_WR_SEND, .sge = &sge, .num_sge = 1};
	char words[200];

	pair_init(&pair, &conf);
	sge = pair_sge(&pair, 0, 0, 64);
	sge.lkey ^= 0x100;
	CU_ASSERT_EQUAL(send_and_wait(0, &wr), UROCE_STATUS_LOC_PROT_ERR);
	CU_ASSERT_EQUAL(uroce_qp_query(pair.side[0].qp, &attr), 0);
	CU_ASSERT_EQUAL(attr.state, UROCE_QP_SQE);
	CU_ASSERT_TRUE(uroce_qp_last_error(pair.side[0].qp, words, sizeof(words)) > 0);
	CU_ASSERT_PTR_NOT_NULL(strstr(words, "no region has this key"));
	CU_ASSERT_EQUAL(send_and_wait(0, &wr), UROCE_STATUS_WR_FLUSH_ERR);
	attr.state = UROCE_QP_RTS;
	CU_ASSERT_EQUAL(uroce_qp_modify(pair.side[0].qp, &attr, UROCE_QP_ATTR_STATE), 0);
	sge.lkey ^= 0x100;
	CU_ASSERT_EQUAL(send_and_wait(0, &wr), UROCE_STATUS_SUCCESS);
	pair_fini(&pair);
}

/* ---- UD ---- */

static struct uroce_ah *handle_to(int from, int to)
{
	struct uroce_ah_conf conf = {0};
	struct uroce_ah *ah = NULL;

	memcpy(conf.dgid, pair.side[to].local.gid, sizeof(conf.dgid));
	memcpy(conf.mac, pair.side[to].local.mac, sizeof(conf.mac));
	CU_ASSERT_EQUAL_FATAL(uroce_ah_create(pair.side[from].pd, &conf, &ah), 0);
	return ah;
}

static struct uroce_send_wr datagram(int to, const struct uroce_ah *ah, const struct uroce_sge *sge)
{
	return (struct uroce_send_wr){.wr_id = 5,
		.opcode = UROCE_WR_SEND,
		.sge = sge,
		.num_sge = 1,
		.ud = {.ah = ah,
			.remote_qpn = uroce_qp_number(pair.side[to].qp),
			.remote_qkey = PAIR_QKEY}};
}

static void datagrams_go_there_and_back(void)
{
	const struct uroce_qp_conf conf = {.type = UROCE_QP_UD};
	struct uroce_ah *there, *back;
	struct uroce_sge sge;
	struct uroce_send_wr wr;
	struct uroce_wc wc;

	pair_init(&pair, &conf);
	there = handle_to(0, 1);
	fill(pair.side[0].mem, 4096, 3);
	sge = pair_sge(&pair, 0, 0, 4096);
	wr = datagram(1, there, &sge);
	post_recv(1, 3, 65536, 4096 + 40);
	CU_ASSERT_EQUAL(send_and_wait(0, &wr), UROCE_STATUS_SUCCESS);
	CU_ASSERT_TRUE(pair_wait(&pair, 1, &wc, TURNS));
	CU_ASSERT_EQUAL(wc.byte_len, 4096 + 40);
	CU_ASSERT_EQUAL(wc.src_qpn, uroce_qp_number(pair.side[0].qp));
	CU_ASSERT_EQUAL(wc.flags, UROCE_WC_GRH);
	CU_ASSERT_EQUAL(memcmp(pair.side[0].mem, pair.side[1].mem + 65536 + 40, 4096), 0);
	/* The way back comes from what was received; the MAC must be known. */
	CU_ASSERT_EQUAL(
		uroce_ah_create_from_wc(pair.side[1].pd, &wc, pair.side[1].mem + 65536, &back),
		-EHOSTUNREACH);
	CU_ASSERT_EQUAL(
		uroce_device_neighbour_set(pair.side[1].dev, "192.0.2.1", pair.side[0].local.mac),
		0);
	CU_ASSERT_EQUAL_FATAL(
		uroce_ah_create_from_wc(pair.side[1].pd, &wc, pair.side[1].mem + 65536, &back), 0);
	sge = pair_sge(&pair, 1, 0, 8);
	wr = datagram(0, back, &sge);
	wr.ud.remote_qpn = wc.src_qpn;
	post_recv(0, 4, 65536, 48);
	CU_ASSERT_EQUAL(send_and_wait(1, &wr), UROCE_STATUS_SUCCESS);
	CU_ASSERT_TRUE(pair_wait(&pair, 0, &wc, TURNS));
	CU_ASSERT_EQUAL(wc.byte_len, 48);
	/* The header of another datagram, or none at all. */
	wc.flags = UROCE_WC_GRH | UROCE_WC_GRH_IPV6;
	CU_ASSERT_EQUAL(
		uroce_ah_create_from_wc(pair.side[1].pd, &wc, pair.side[1].mem + 65536, &back),
		-EINVAL);
	wc.flags = UROCE_WC_GRH;
	CU_ASSERT_EQUAL(
		uroce_ah_create_from_wc(pair.side[1].pd, &wc, pair.side[1].mem + 65537, &back),
		-EINVAL);
	wc.flags = 0;
	CU_ASSERT_EQUAL(
		uroce_ah_create_from_wc(pair.side[1].pd, &wc, pair.side[1].mem + 65536, &back),
		-EINVAL);
	CU_ASSERT_EQUAL(uroce_pd_destroy(pair.side[1].pd), -EBUSY);
	CU_ASSERT_EQUAL(uroce_ah_destroy(there), 0);
	CU_ASSERT_EQUAL(uroce_ah_destroy(back), 0);
	pair_fini(&pair);
}

static void what_datagrams_refuse(void)
{
	const struct uroce_qp_conf conf = {.type = UROCE_QP_UD};
	const uint8_t group[16] = {[10] = 0xff, 0xff, 224, 0, 1, 5};
	struct uroce_ah_conf ah_conf = {0};
	struct uroce_ah *ah;
	struct uroce_sge sge;
	struct uroce_send_wr wr;

	pair_init(&pair, &conf);
	ah = handle_to(0, 1);
	sge = pair_sge(&pair, 0, 0, 4097);
	wr = datagram(1, ah, &sge);
	CU_ASSERT_EQUAL(uroce_post_send(pair.side[0].qp, &wr, 1), -EINVAL);
	sge.len_bytes = 8;
	wr.ud.ah = NULL;
	CU_ASSERT_EQUAL(uroce_post_send(pair.side[0].qp, &wr, 1), -EINVAL);
	wr.ud.ah = ah;
	wr.opcode = UROCE_WR_RDMA_WRITE;
	CU_ASSERT_EQUAL(uroce_post_send(pair.side[0].qp, &wr, 1), -EINVAL);
	CU_ASSERT_EQUAL(uroce_qp_connect(pair.side[0].qp, &pair.side[1].local), -EINVAL);
	CU_ASSERT_EQUAL(uroce_ah_create(pair.side[0].pd, &ah_conf, &ah), -EINVAL);
	memcpy(ah_conf.dgid, group, 16);
	ah_conf.dgid[12] = 198;
	CU_ASSERT_EQUAL(uroce_ah_create(pair.side[0].pd, &ah_conf, &ah), -EHOSTUNREACH);
	CU_ASSERT_EQUAL(uroce_qp_attach_group(pair.side[0].qp, ah_conf.dgid), -EINVAL);
	CU_ASSERT_EQUAL(uroce_qp_detach_group(pair.side[0].qp, group), -ENOENT);
	ah = (struct uroce_ah *)(uintptr_t)wr.ud.ah;
	CU_ASSERT_EQUAL(uroce_ah_destroy(ah), 0);
	pair_fini(&pair);
	pair_init(&pair, NULL);
	CU_ASSERT_EQUAL(uroce_qp_open_datagrams(pair.side[0].qp, 1), -EINVAL);
	CU_ASSERT_EQUAL(uroce_qp_attach_group(pair.side[0].qp, group), -EINVAL);
	pair_fini(&pair);
}

static void groups_reach_their_members(void)
{
	const struct uroce_qp_conf conf = {.type = UROCE_QP_UD};
	struct uroce_ah_conf ah_conf = {.dgid = {[10] = 0xff, 0xff, 224, 0, 1, 5}};
	struct uroce_ah *ah;
	struct uroce_sge sge;
	struct uroce_send_wr wr;
	struct uroce_wc wc;

	pair_init(&pair, &conf);
	CU_ASSERT_EQUAL(uroce_ah_create(pair.side[0].pd, &ah_conf, &ah), 0);
	CU_ASSERT_EQUAL(uroce_qp_attach_group(pair.side[1].qp, ah_conf.dgid), 0);
	CU_ASSERT_EQUAL(uroce_qp_attach_group(pair.side[1].qp, ah_conf.dgid), -EEXIST);
	sge = pair_sge(&pair, 0, 0, 16);
	wr = datagram(1, ah, &sge);
	wr.ud.remote_qpn = 0xffffff;
	post_recv(1, 3, 0, 56);
	post_recv(1, 4, 0, 56);
	CU_ASSERT_EQUAL(send_and_wait(0, &wr), UROCE_STATUS_SUCCESS);
	CU_ASSERT_TRUE(pair_wait(&pair, 1, &wc, TURNS));
	CU_ASSERT_EQUAL(wc.byte_len, 56);
	CU_ASSERT_EQUAL(uroce_qp_detach_group(pair.side[1].qp, ah_conf.dgid), 0);
	CU_ASSERT_EQUAL(send_and_wait(0, &wr), UROCE_STATUS_SUCCESS);
	CU_ASSERT_FALSE(pair_wait(&pair, 1, &wc, 100));
	/* Destroying a member leaves the group. */
	CU_ASSERT_EQUAL(uroce_qp_attach_group(pair.side[1].qp, ah_conf.dgid), 0);
	CU_ASSERT_EQUAL(uroce_qp_destroy(pair.side[1].qp), 0);
	pair.side[1].qp = NULL;
	CU_ASSERT_EQUAL(pair.side[1].dev->workers[0].core.conf.local.num_groups, 0);
	CU_ASSERT_EQUAL(uroce_ah_destroy(ah), 0);
	pair_fini(&pair);
}

static void handles_are_as_many_as_the_device_was_opened_for(void)
{
	const struct uroce_device_conf dev_conf = {.max_ahs = 3};
	const struct uroce_qp_conf conf = {.type = UROCE_QP_UD};
	struct uroce_ah_conf ah_conf = {0}, got;
	struct uroce_ah *ahs[4];
	uint32_t number;

	pair_init_on(&pair, &dev_conf, &conf);
	memcpy(ah_conf.dgid, pair.side[1].local.gid, 16);
	memcpy(ah_conf.mac, pair.side[1].local.mac, 6);
	ah_conf.traffic_class = 8;
	for (int i = 0; i < 3; i++)
		CU_ASSERT_EQUAL(uroce_ah_create(pair.side[0].pd, &ah_conf, &ahs[i]), 0);
	CU_ASSERT_EQUAL(uroce_ah_create(pair.side[0].pd, &ah_conf, &ahs[3]), -ENOMEM);
	uroce_ah_query(ahs[1], &got);
	CU_ASSERT_EQUAL(got.traffic_class, 8);
	CU_ASSERT_EQUAL(got.hop_limit, 64);
	number = ahs[1]->number;
	CU_ASSERT_EQUAL(uroce_ah_destroy(ahs[1]), 0);
	CU_ASSERT_EQUAL(uroce_ah_create(pair.side[0].pd, &ah_conf, &ahs[1]), 0);
	/* The number of the dead one names nobody. */
	CU_ASSERT_NOT_EQUAL(ahs[1]->number, number);
	for (int i = 0; i < 3; i++)
		CU_ASSERT_EQUAL(uroce_ah_destroy(ahs[i]), 0);
	pair_fini(&pair);
}

/* ---- shared receive queues ---- */

static void a_shared_queue_serves_two_queue_pairs(void)
{
	struct uroce_srq_conf srq_conf = {.max_wr = 4, .max_sge = 2};
	struct uroce_qp_conf conf = {0};
	struct uroce_qp *second[2];
	struct uroce_peer peer;
	struct uroce_sge sge;
	struct uroce_recv_wr recv = {.sge = &sge, .num_sge = 1};
	struct uroce_send_wr wr = {.opcode = UROCE_WR_SEND, .sge = &sge, .num_sge = 1};
	struct uroce_srq *srq;
	struct uroce_qp *with_srq;
	struct uroce_event event;
	struct uroce_wc wc;

	pair_init(&pair, NULL);
	CU_ASSERT_EQUAL_FATAL(uroce_srq_create(pair.side[1].pd, &srq_conf, &srq), 0);
	conf.send_cq = conf.recv_cq = pair.side[1].cq;
	conf.srq = srq;
	CU_ASSERT_EQUAL_FATAL(uroce_qp_create(pair.side[1].pd, &conf, &second[1]), 0);
	CU_ASSERT_EQUAL_FATAL(uroce_qp_create(pair.side[1].pd, &conf, &with_srq), 0);
	conf.send_cq = conf.recv_cq = pair.side[0].cq;
	CU_ASSERT_EQUAL(uroce_qp_create(pair.side[0].pd, &conf, &second[0]), -EINVAL);
	conf.srq = NULL;
	CU_ASSERT_EQUAL_FATAL(uroce_qp_create(pair.side[0].pd, &conf, &second[0]), 0);
	uroce_qp_local(second[1], &peer);
	CU_ASSERT_EQUAL(uroce_qp_connect(second[0], &peer), 0);
	uroce_qp_local(second[0], &peer);
	CU_ASSERT_EQUAL(uroce_qp_connect(second[1], &peer), 0);
	CU_ASSERT_EQUAL(uroce_srq_destroy(srq), -EBUSY);
	CU_ASSERT_EQUAL(uroce_post_recv(second[1], &recv, 1), -EINVAL);
	CU_ASSERT_EQUAL(uroce_srq_set_limit(srq, 5), -EINVAL);
	CU_ASSERT_EQUAL(uroce_srq_set_limit(srq, 4), 0);
	sge = pair_sge(&pair, 1, 4096, 64);
	for (int i = 0; i < 4; i++) {
		recv.wr_id = 10 + (uint64_t)i;
		CU_ASSERT_EQUAL(uroce_post_srq_recv(srq, &recv, 1), 1);
	}
	CU_ASSERT_EQUAL(uroce_post_srq_recv(srq, &recv, 1), -ENOMEM);
	recv.num_sge = 3;
	CU_ASSERT_EQUAL(uroce_post_srq_recv(srq, &recv, 1), -EINVAL);
	sge = pair_sge(&pair, 0, 0, 64);
	CU_ASSERT_EQUAL(uroce_post_send(second[0], &wr, 1), 1);
	CU_ASSERT_TRUE(pair_wait(&pair, 1, &wc, TURNS));
	CU_ASSERT_EQUAL(wc.wr_id, 10);
	CU_ASSERT_EQUAL(wc.qpn, uroce_qp_number(second[1]));
	CU_ASSERT_EQUAL(uroce_event_poll(pair.side[1].dev, &event, 1), 1);
	CU_ASSERT_EQUAL(event.type, UROCE_EVENT_SRQ_LIMIT_REACHED);
	CU_ASSERT_PTR_EQUAL(event.srq, srq);
	uroce_srq_query(srq, &srq_conf);
	CU_ASSERT_EQUAL(srq_conf.max_wr, 4);
	CU_ASSERT_EQUAL(srq_conf.max_sge, 2);
	CU_ASSERT_EQUAL(srq_conf.limit, 0);
	CU_ASSERT_EQUAL(uroce_qp_destroy(second[0]), 0);
	CU_ASSERT_EQUAL(uroce_qp_destroy(second[1]), 0);
	CU_ASSERT_EQUAL(uroce_qp_destroy(with_srq), 0);
	CU_ASSERT_EQUAL(uroce_srq_destroy(srq), 0);
	pair_fini(&pair);
}

static void shared_queues_check_what_they_are_made_of(void)
{
	struct uroce_srq *srq;

	pair_init(&pair, NULL);
#define REFUSED(field, value) \
	CU_ASSERT_EQUAL(uroce_srq_create(pair.side[0].pd, \
				&(struct uroce_srq_conf){.field = (value)}, &srq), \
		-EINVAL)
	REFUSED(max_wr, 32769);
	REFUSED(max_sge, 33);
	REFUSED(limit, 129);
#undef REFUSED
	pair_fini(&pair);
}

/* ---- windows, fast regions, zero-based addresses ---- */

static enum uroce_status write_to(uint32_t rkey, uint64_t addr, uint32_t bytes)
{
	struct uroce_sge sge = pair_sge(&pair, 0, 0, bytes);
	const struct uroce_send_wr wr = {.opcode = UROCE_WR_RDMA_WRITE,
		.sge = &sge,
		.num_sge = 1,
		.rdma = {.remote_addr = addr, .rkey = rkey}};

	return send_and_wait(0, &wr);
}

static void windows_are_bound_and_invalidated(void)
{
	struct uroce_send_wr wr = {.opcode = UROCE_WR_BIND_MW};
	struct uroce_mw *mw;

	pair_init(&pair, NULL);
	CU_ASSERT_EQUAL(uroce_mw_create(pair.side[1].pd, (enum uroce_mw_type)3, &mw), -EINVAL);
	CU_ASSERT_EQUAL_FATAL(uroce_mw_create(pair.side[1].pd, UROCE_MW_TYPE_2, &mw), 0);
	wr.bind.key = mw->rkey;
	wr.bind.new_key = uroce_key_next(mw->rkey);
	wr.bind.lkey = pair.side[1].mr->lkey;
	wr.bind.addr = (uintptr_t)pair.side[1].mem + 4096;
	wr.bind.bytes = 4096;
	wr.bind.access = RIGHTS;
	CU_ASSERT_EQUAL(send_and_wait(1, &wr), UROCE_STATUS_SUCCESS);
	fill(pair.side[0].mem, 4096, 5);
	CU_ASSERT_EQUAL(write_to(wr.bind.new_key, (uintptr_t)pair.side[1].mem + 4096, 4096),
		UROCE_STATUS_SUCCESS);
	CU_ASSERT_EQUAL(memcmp(pair.side[0].mem, pair.side[1].mem + 4096, 4096), 0);
	CU_ASSERT_EQUAL(uroce_mr_deregister(pair.side[1].mr), -EBUSY);
	wr.opcode = UROCE_WR_LOCAL_INV;
	wr.invalidate_rkey = wr.bind.new_key;
	CU_ASSERT_EQUAL(send_and_wait(1, &wr), UROCE_STATUS_SUCCESS);
	CU_ASSERT_EQUAL(write_to(wr.bind.new_key, (uintptr_t)pair.side[1].mem + 4096, 8),
		UROCE_STATUS_REM_ACCESS_ERR);
	CU_ASSERT_EQUAL(uroce_mw_destroy(mw), 0);
	pair_fini(&pair);
}

static void a_bound_window_may_be_destroyed(void)
{
	struct uroce_send_wr wr = {.opcode = UROCE_WR_BIND_MW};
	struct uroce_mw *mw;

	pair_init(&pair, NULL);
	CU_ASSERT_EQUAL_FATAL(uroce_mw_create(pair.side[1].pd, UROCE_MW_TYPE_1, &mw), 0);
	wr.bind.key = mw->rkey;
	wr.bind.new_key = uroce_key_next(mw->rkey);
	wr.bind.lkey = pair.side[1].mr->lkey;
	wr.bind.addr = (uintptr_t)pair.side[1].mem;
	wr.bind.bytes = 64;
	wr.bind.access = RIGHTS;
	CU_ASSERT_EQUAL(send_and_wait(1, &wr), UROCE_STATUS_SUCCESS);
	CU_ASSERT_EQUAL(uroce_pd_destroy(pair.side[1].pd), -EBUSY);
	CU_ASSERT_EQUAL(uroce_mw_destroy(mw), 0);
	CU_ASSERT_EQUAL(write_to(wr.bind.new_key, (uintptr_t)pair.side[1].mem, 8),
		UROCE_STATUS_REM_ACCESS_ERR);
	pair_fini(&pair);
}

static void fast_regions_are_registered_and_ended_by_the_peer(void)
{
	struct uroce_send_wr wr = {.opcode = UROCE_WR_REG_MR};
	struct uroce_sge sge;
	struct uroce_mr *mr;
	struct uroce_wc wc;

	pair_init(&pair, NULL);
	CU_ASSERT_EQUAL_FATAL(
		uroce_mr_create_fast(pair.side[1].pd, pair.side[1].mem, 65536, &mr), 0);
	wr.reg.key = mr->rkey;
	wr.reg.new_key = uroce_key_next(mr->rkey);
	wr.reg.addr = pair.side[1].mem + 8192;
	wr.reg.bytes = 4096;
	wr.reg.iova = 0xabcd0000;
	wr.reg.access = UROCE_ACCESS_LOCAL_WRITE | RIGHTS;
	CU_ASSERT_EQUAL(send_and_wait(1, &wr), UROCE_STATUS_SUCCESS);
	fill(pair.side[0].mem, 4096, 6);
	CU_ASSERT_EQUAL(write_to(wr.reg.new_key, 0xabcd0000, 4096), UROCE_STATUS_SUCCESS);
	CU_ASSERT_EQUAL(memcmp(pair.side[0].mem, pair.side[1].mem + 8192, 4096), 0);
	sge = pair_sge(&pair, 0, 0, 16);
	post_recv(1, 8, 100000, 64);
	CU_ASSERT_EQUAL(send_and_wait(0,
				&(struct uroce_send_wr){.opcode = UROCE_WR_SEND_WITH_INV,
					.sge = &sge,
					.num_sge = 1,
					.invalidate_rkey = wr.reg.new_key}),
		UROCE_STATUS_SUCCESS);
	CU_ASSERT_TRUE(pair_wait(&pair, 1, &wc, TURNS));
	CU_ASSERT_EQUAL(wc.flags, UROCE_WC_WITH_INV);
	CU_ASSERT_EQUAL(wc.imm, wr.reg.new_key);
	CU_ASSERT_EQUAL(write_to(wr.reg.new_key, 0xabcd0000, 8), UROCE_STATUS_REM_ACCESS_ERR);
	CU_ASSERT_EQUAL(uroce_mr_deregister(mr), 0);
	pair_fini(&pair);
}

static void zero_based_regions_count_from_zero(void)
{
	struct uroce_mr *zero, *other;
	struct uroce_sge sge;
	const struct uroce_send_wr wr = {.opcode = UROCE_WR_RDMA_WRITE, .sge = &sge, .num_sge = 1};
	struct uroce_send_wr named = wr;

	pair_init(&pair, NULL);
	CU_ASSERT_EQUAL_FATAL(
		uroce_mr_register(pair.side[1].pd, pair.side[1].mem + 4096, 4096,
			UROCE_ACCESS_LOCAL_WRITE | RIGHTS | UROCE_ACCESS_ZERO_BASED, &zero),
		0);
	CU_ASSERT_EQUAL_FATAL(uroce_mr_register_iova(pair.side[0].pd, pair.side[0].mem, 4096,
				      0x7777, UROCE_ACCESS_LOCAL_WRITE, &other),
		0);
	fill(pair.side[0].mem, 4096, 7);
	sge = (struct uroce_sge){(void *)(uintptr_t)(0x7777 + 10), 100, other->lkey};
	named.rdma.remote_addr = 16;
	named.rdma.rkey = zero->rkey;
	CU_ASSERT_EQUAL(send_and_wait(0, &named), UROCE_STATUS_SUCCESS);
	CU_ASSERT_EQUAL(memcmp(pair.side[0].mem + 10, pair.side[1].mem + 4096 + 16, 100), 0);
	CU_ASSERT_EQUAL(uroce_mr_deregister(zero), 0);
	CU_ASSERT_EQUAL(uroce_mr_deregister(other), 0);
	pair_fini(&pair);
}

/* ---- annex A19 ---- */

static void flush_and_atomic_write_do_what_they_say(void)
{
	struct uroce_sge sge;
	struct uroce_send_wr wr = {.opcode = UROCE_WR_ATOMIC_WRITE, .sge = &sge, .num_sge = 1};

	pair_init(&pair, NULL);
	fill(pair.side[0].mem, 8, 9);
	sge = pair_sge(&pair, 0, 0, 8);
	wr.rdma.remote_addr = (uintptr_t)pair.side[1].mem + 512;
	wr.rdma.rkey = pair.side[1].mr->rkey;
	CU_ASSERT_EQUAL(send_and_wait(0, &wr), UROCE_STATUS_SUCCESS);
	CU_ASSERT_EQUAL(memcmp(pair.side[0].mem, pair.side[1].mem + 512, 8), 0);
	wr.rdma.remote_addr += 4;
	CU_ASSERT_EQUAL(uroce_post_send(pair.side[0].qp, &wr, 1), -EINVAL);
	sge.len_bytes = 4;
	CU_ASSERT_EQUAL(uroce_post_send(pair.side[0].qp, &wr, 1), -EINVAL);
	wr = (struct uroce_send_wr){.opcode = UROCE_WR_FLUSH,
		.rdma = {(uintptr_t)pair.side[1].mem, pair.side[1].mr->rkey},
		.flush = {UROCE_FLUSH_GLOBAL, UROCE_FLUSH_RANGE, 4096}};
	CU_ASSERT_EQUAL(send_and_wait(0, &wr), UROCE_STATUS_SUCCESS);
	wr.num_sge = 1;
	wr.sge = &sge;
	CU_ASSERT_EQUAL(uroce_post_send(pair.side[0].qp, &wr, 1), -EINVAL);
	wr.num_sge = 0;
	wr.flush.bytes = 0x80000001;
	CU_ASSERT_EQUAL(uroce_post_send(pair.side[0].qp, &wr, 1), -EINVAL);
	pair_fini(&pair);
}

/* ---- asking ---- */

static void a_queue_pair_tells_what_it_was_made_with(void)
{
	const struct uroce_qp_conf conf = {.max_send_wr = 7, .max_inline_bytes = 33};
	struct uroce_qp_conf got;
	struct uroce_device_attr attr;

	pair_init(&pair, &conf);
	uroce_qp_query_conf(pair.side[0].qp, &got);
	CU_ASSERT_EQUAL(got.type, UROCE_QP_RC);
	CU_ASSERT_EQUAL(got.max_send_wr, 7);
	CU_ASSERT_EQUAL(got.max_recv_wr, 128);
	CU_ASSERT_EQUAL(got.max_inline_bytes, 33);
	CU_ASSERT_EQUAL(got.qpn, uroce_qp_number(pair.side[0].qp));
	CU_ASSERT_PTR_EQUAL(got.send_cq, pair.side[0].cq);
	uroce_device_query(pair.side[0].dev, &attr);
	CU_ASSERT_EQUAL(attr.max_srq_wr, 32768);
	CU_ASSERT_EQUAL(attr.max_cqes, 65536);
	CU_ASSERT_EQUAL(attr.max_ahs, 1024);
	CU_ASSERT_EQUAL(attr.max_groups, 32);
	CU_ASSERT_FALSE(attr.rx_interrupts);
	CU_ASSERT_EQUAL(attr.idle_sleep_us, 0);
	CU_ASSERT_EQUAL(attr.icrc_mode, UROCE_ICRC_VERIFY);
	CU_ASSERT_EQUAL(attr.num_mbufs, 8192);
	CU_ASSERT_EQUAL(attr.rx_descs + attr.tx_descs, 2048);
	CU_ASSERT_FALSE(attr.promiscuous || attr.host_owns_port);
	pair_fini(&pair);
	pair_init_on(&pair,
		&(struct uroce_device_conf){.promiscuous = true,
			.icrc_mode = UROCE_ICRC_OFF,
			.idle_sleep_us = 5,
			.num_mbufs = 1000,
			.rx_descs = 64,
			.tx_descs = 32},
		&conf);
	uroce_device_query(pair.side[0].dev, &attr);
	CU_ASSERT_EQUAL(attr.idle_sleep_us, 5);
	CU_ASSERT_EQUAL(attr.icrc_mode, UROCE_ICRC_OFF);
	CU_ASSERT_EQUAL(attr.num_mbufs, 1000);
	CU_ASSERT_EQUAL(attr.rx_descs, 64);
	CU_ASSERT_EQUAL(attr.tx_descs, 32);
	CU_ASSERT_TRUE(attr.promiscuous);
	pair_fini(&pair);
}

int main(void)
{
	static const struct unit_case cases[] = {
		{"unreliable connections carry sends and writes",
			unreliable_connections_carry_sends_and_writes},
		{"a send error is SQE, in words, and can be recovered from",
			a_send_error_is_sqe_and_can_be_recovered_from},
		{"datagrams go there and back", datagrams_go_there_and_back},
		{"what datagrams refuse", what_datagrams_refuse},
		{"groups reach their members, from attach to detach", groups_reach_their_members},
		{"address handles are as many as the device was opened for",
			handles_are_as_many_as_the_device_was_opened_for},
		{"a shared receive queue serves two queue pairs",
			a_shared_queue_serves_two_queue_pairs},
		{"shared receive queues check what they are made of",
			shared_queues_check_what_they_are_made_of},
		{"windows are bound and invalidated", windows_are_bound_and_invalidated},
		{"a bound window may be destroyed", a_bound_window_may_be_destroyed},
		{"fast regions are registered, and ended by the peer",
			fast_regions_are_registered_and_ended_by_the_peer},
		{"zero-based and renamed regions count as they say",
			zero_based_regions_count_from_zero},
		{"FLUSH and ATOMIC WRITE do what they say",
			flush_and_atomic_write_do_what_they_say},
		{"a queue pair and a device tell what they are",
			a_queue_pair_tells_what_it_was_made_with},
	};

	return run_suite("transport", cases, sizeof(cases) / sizeof(cases[0]));
}
