/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The peer on this side: peer.h by uroce's public header, on DPDK's port 0.
 *
 *	uroce_peer EAL-ARGUMENTS -- ADDRESSES
 *
 * A thread polls the worker, and sleeps when there is nothing to do, since the guest needs the
 * core. It does what it is told and checks nothing but what uroce says.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <rte_eal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "uroce_peer.h"

enum {
	BIND_PATIENCE_MS = 10000,
	SLEEP_US = 50
};

struct uroce_device *peer_device;
struct uroce_pd *peer_pd;
struct side peer_sides[PEER_QPS_MAX];
static atomic_bool ends;

static void *poll_worker(void *unused)
{
	struct uroce_worker *worker = uroce_device_worker(peer_device, 0);

	(void)unused;
	while (!atomic_load(&ends))
		uroce_worker_backoff(worker, uroce_worker_poll(worker));
	uroce_worker_offline(worker);
	return NULL;
}

int peer_register(uint64_t at, uint64_t bytes, uint32_t access, uint32_t *lkey, uint32_t *rkey)
{
	struct uroce_mr *mr;
	int err = uroce_mr_register(peer_pd, peer_memory + at, bytes, access, &mr);

	if (err != 0)
		return err;
	*lkey = mr->lkey;
	*rkey = mr->rkey;
	return 0;
}

static bool is_of_net(const uint8_t gid[16], const char *net)
{
	static const uint8_t v4[12] = {[10] = 0xff, [11] = 0xff};
	bool is_v4 = memcmp(gid, v4, sizeof(v4)) == 0;
	bool is_ll = gid[0] == 0xfe && gid[1] == 0x80;

	if (strcmp(net, "v4") == 0)
		return is_v4;
	return strcmp(net, "ll") == 0 ? is_ll : !is_v4 && !is_ll;
}

static int find_gid(const char *net, uint8_t gid[16])
{
	for (unsigned int i = 0; uroce_device_gid(peer_device, i, gid) == 0; i++)
		if (is_of_net(gid, net))
			return 0;
	return -EADDRNOTAVAIL;
}

int peer_qp_create(unsigned int slot, const struct peer_qp_conf *conf, struct peer_local *local)
{
	struct side *s = &peer_sides[slot];
	int err;

	if (s->qp != NULL)
		return -EBUSY;
	*s = (struct side){.type = (enum uroce_qp_type)conf->type, .access = conf->access};
	err = find_gid(conf->net, local->gid);
	if (err == 0)
		err = uroce_cq_create(peer_device, conf->max_wr * 2, &s->cq);
	if (err != 0)
		return err;
	err = uroce_qp_create(peer_pd,
		&(struct uroce_qp_conf){.type = s->type,
			.send_cq = s->cq,
			.recv_cq = s->cq,
			.max_send_wr = conf->max_wr,
			.max_recv_wr = conf->max_wr},
		&s->qp);
	if (err != 0) {
		uroce_cq_destroy(s->cq);
		return err;
	}
	local->qpn = uroce_qp_number(s->qp);
	return 0;
}

static int to_init(struct side *s)
{
	struct uroce_qp_modify_attr attr = {
		.state = UROCE_QP_INIT,
		.access = s->access,
		.qkey = s->route.qkey,
	};

	return uroce_qp_modify(s->qp, &attr,
		UROCE_QP_ATTR_STATE | UROCE_QP_ATTR_PKEY_INDEX | UROCE_QP_ATTR_PORT |
			(s->type == UROCE_QP_UD ? UROCE_QP_ATTR_QKEY : UROCE_QP_ATTR_ACCESS_FLAGS));
}

static int to_rtr(struct side *s)
{
	struct uroce_qp_modify_attr attr = {
		.state = UROCE_QP_RTR,
		.flow_label = s->route.flow_label,
		.traffic_class = (uint8_t)s->route.traffic_class,
		.hop_limit = 64,
		.path_mtu_bytes = s->route.mtu_bytes,
		.dest_qpn = s->route.qpn,
		.rq_psn = s->route.psn,
		.max_dest_rd_atomic = (uint8_t)s->route.rd_atomic,
		.min_rnr_timer = (uint8_t)s->route.min_rnr,
	};
	uint32_t mask = UROCE_QP_ATTR_STATE;

	memcpy(attr.dgid, s->route.gid, sizeof(attr.dgid));
	if (s->type != UROCE_QP_UD)
		mask |= UROCE_QP_ATTR_AV | UROCE_QP_ATTR_PATH_MTU | UROCE_QP_ATTR_DEST_QPN |
			UROCE_QP_ATTR_RQ_PSN;
	if (s->type == UROCE_QP_RC)
		mask |= UROCE_QP_ATTR_MAX_DEST_RD_ATOMIC | UROCE_QP_ATTR_MIN_RNR_TIMER;
	return uroce_qp_modify(s->qp, &attr, mask);
}

static int to_rts(struct side *s)
{
	struct uroce_qp_modify_attr attr = {
		.state = UROCE_QP_RTS,
		.sq_psn = s->route.own_psn,
		.timeout = (uint8_t)s->route.timeout,
		.retry_cnt = (uint8_t)s->route.retry,
		.rnr_retry = (uint8_t)s->route.rnr_retry,
		.max_rd_atomic = (uint8_t)s->route.rd_atomic,
		/* Where frames may be marked, that is to have a use. */
		.dcqcn = s->route.traffic_class & 3,
	};
	uint32_t mask = UROCE_QP_ATTR_STATE | UROCE_QP_ATTR_SQ_PSN;

	if (s->type != UROCE_QP_UD)
		mask |= UROCE_QP_ATTR_DCQCN;
	if (s->type == UROCE_QP_RC)
		mask |= UROCE_QP_ATTR_TIMEOUT | UROCE_QP_ATTR_RETRY_CNT | UROCE_QP_ATTR_RNR_RETRY |
			UROCE_QP_ATTR_MAX_RD_ATOMIC;
	return uroce_qp_modify(s->qp, &attr, mask);
}

static int make_address(struct side *s)
{
	struct uroce_ah_conf conf = {
		.flow_label = s->route.flow_label,
		.traffic_class = (uint8_t)s->route.traffic_class,
	};

	memcpy(conf.dgid, s->route.gid, sizeof(conf.dgid));
	return uroce_ah_create(peer_pd, &conf, &s->ah);
}

int peer_qp_connect(unsigned int slot, const struct peer_route *route)
{
	struct side *s = &peer_sides[slot];
	int err;

	if (s->qp == NULL)
		return -ENOENT;
	s->route = *route;
	err = to_init(s);
	if (err == 0)
		err = to_rtr(s);
	if (err == 0)
		err = to_rts(s);
	if (err == 0 && s->type == UROCE_QP_UD)
		err = make_address(s);
	return err;
}

int peer_qp_set_error(unsigned int slot)
{
	return peer_sides[slot].qp == NULL
		? -ENOENT
		: uroce_qp_modify(peer_sides[slot].qp,
			  &(struct uroce_qp_modify_attr){.state = UROCE_QP_ERR},
			  UROCE_QP_ATTR_STATE);
}

int peer_qp_state(unsigned int slot, unsigned int *state)
{
	struct uroce_qp_modify_attr attr;
	int err =
		peer_sides[slot].qp == NULL ? -ENOENT : uroce_qp_query(peer_sides[slot].qp, &attr);

	if (err == 0)
		*state = attr.state;
	return err;
}

int peer_qp_destroy(unsigned int slot)
{
	struct side *s = &peer_sides[slot];
	int err;

	if (s->qp == NULL)
		return -ENOENT;
	err = uroce_qp_destroy(s->qp);
	if (err == 0)
		err = uroce_cq_destroy(s->cq);
	if (err == 0 && s->ah != NULL)
		err = uroce_ah_destroy(s->ah);
	if (err == 0 && s->mw != NULL)
		err = uroce_mw_destroy(s->mw);
	if (err == 0)
		*s = (struct side){0};
	return err;
}

void peer_qp_why(unsigned int slot, char *text, size_t bytes)
{
	if (peer_sides[slot].qp == NULL ||
		uroce_qp_last_error(peer_sides[slot].qp, text, bytes) <= 0)
		snprintf(text, bytes, "nothing");
}

int peer_send(unsigned int slot, const struct peer_send *send)
{
	struct side *s = &peer_sides[slot];
	struct uroce_sge sge = {peer_memory + send->at, send->bytes, send->lkey};
	struct uroce_send_wr wr = {
		.wr_id = send->id,
		.opcode = (enum uroce_wr_opcode)send->opcode,
		.flags = send->flags,
		.sge = &sge,
		.num_sge = send->bytes > 0,
		.imm = send->imm,
		.invalidate_rkey = send->invalidate_rkey,
		.rdma = {.remote_addr = send->remote_addr, .rkey = send->rkey},
		.atomic = {.compare_add = send->compare_add, .swap = send->swap},
		.ud = {.ah = s->ah, .remote_qpn = s->route.qpn, .remote_qkey = s->route.qkey},
	};
	int n = s->qp == NULL ? -ENOENT : uroce_post_send(s->qp, &wr, 1);

	return n < 0 ? n : 0;
}

int peer_recv(unsigned int slot, uint64_t id, uint64_t at, uint32_t bytes, uint32_t lkey)
{
	struct uroce_sge sge = {peer_memory + at, bytes, lkey};
	struct uroce_recv_wr wr = {.wr_id = id, .sge = &sge, .num_sge = bytes > 0};
	int n = peer_sides[slot].qp == NULL ? -ENOENT
					    : uroce_post_recv(peer_sides[slot].qp, &wr, 1);

	return n < 0 ? n : 0;
}

int peer_poll(unsigned int slot, struct peer_wc *wc)
{
	struct uroce_wc got;
	int n = peer_sides[slot].cq == NULL ? -ENOENT : uroce_cq_poll(peer_sides[slot].cq, &got, 1);

	if (n <= 0)
		return n;
	peer_sides[slot].last = got;
	*wc = (struct peer_wc){
		.id = got.wr_id,
		.status = got.status,
		.opcode = got.opcode,
		.bytes = got.byte_len,
		.flags = got.flags,
		.imm = got.imm,
		.src_qpn = got.src_qpn,
	};
	return 1;
}

int peer_bind(unsigned int slot, uint32_t lkey, uint64_t at, uint64_t bytes, uint32_t access,
	uint32_t *rkey)
{
	struct side *s = &peer_sides[slot];
	struct uroce_send_wr wr = {.opcode = UROCE_WR_BIND_MW, .flags = UROCE_SEND_SIGNALED};
	struct uroce_wc wc;
	int n;

	if (s->qp == NULL || s->mw != NULL)
		return -ENOENT;
	n = uroce_mw_create(peer_pd, UROCE_MW_TYPE_2, &s->mw);
	if (n != 0)
		return n;
	*rkey = uroce_key_next(s->mw->rkey);
	wr.bind.key = s->mw->rkey;
	wr.bind.new_key = *rkey;
	wr.bind.lkey = lkey;
	wr.bind.addr = (uintptr_t)peer_memory + at;
	wr.bind.bytes = bytes;
	wr.bind.access = access;
	n = uroce_post_send(s->qp, &wr, 1);
	if (n < 0)
		return n;
	for (int ms = 0; ms < BIND_PATIENCE_MS; ms++) {
		if (uroce_cq_poll(s->cq, &wc, 1) == 1)
			return wc.status == UROCE_STATUS_SUCCESS ? 0 : -EIO;
		usleep(1000);
	}
	return -ETIMEDOUT;
}

void peer_counters(void)
{
	struct uroce_counters counters;

	uroce_device_counters(peer_device, &counters);
	for (unsigned int i = 0; i < UROCE_COUNTER_COUNT; i++)
		if (uroce_counter_value(&counters, i) != 0)
			printf(" %s=%" PRIu64, uroce_counter_name(i),
				uroce_counter_value(&counters, i));
	for (int i = 0; i < UROCE_DROP_COUNT; i++)
		if (counters.drops[i] != 0)
			printf(" %s=%" PRIu64, uroce_drop_name((enum uroce_drop)i),
				counters.drops[i]);
}

int main(int argc, char **argv)
{
	pthread_t thread;
	int eaten = rte_eal_init(argc, argv), err;

	if (eaten < 0 || argc - eaten != 2) {
		fprintf(stderr, "usage: uroce_peer EAL-ARGUMENTS -- ADDRESSES\n");
		return 2;
	}
	err = uroce_device_open(
		&(struct uroce_device_conf){.addr = argv[eaten + 1], .idle_sleep_us = SLEEP_US},
		&peer_device);
	if (err == 0)
		err = uroce_pd_create(peer_device, &peer_pd);
	if (err == 0)
		err = -pthread_create(&thread, NULL, poll_worker, NULL);
	if (err != 0) {
		fprintf(stderr, "uroce_peer: %s\n", strerror(-err));
		return 1;
	}
	err = peer_talk(peer_cm_commands);
	atomic_store(&ends, true);
	pthread_join(thread, NULL);
	return err;
}
