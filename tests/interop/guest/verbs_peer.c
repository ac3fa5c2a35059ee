/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The guest's peer: peer.h by libibverbs, on the first RDMA device.
 *
 * It does what it is told and checks nothing but what libibverbs says.
 */
#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <infiniband/verbs.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "peer.h"
#include "talk.h"

enum {
	GIDS_SEARCHED = 16,
	BIND_PATIENCE_MS = 10000,
	/* rxe 6.1 hands user space the kernel's number of the flag, which there means something
	 * else. */
	KERNEL_WITH_INVALIDATE = 4
};

struct side {
	struct ibv_qp *qp;
	struct ibv_cq *cq;
	struct ibv_ah *ah;
	struct ibv_mw *mw;
	enum ibv_qp_type type;
	unsigned int gid_index;
	uint32_t access;
	struct peer_route route;
};

static struct ibv_context *device;
static struct ibv_pd *pd;
static struct side sides[PEER_QPS_MAX];

/* Regions by their lkey, which binding a window wants. */
enum {
	REGIONS_MAX = 64
};
static struct ibv_mr *regions[REGIONS_MAX];
static unsigned int num_regions;

int peer_register(uint64_t at, uint64_t bytes, uint32_t access, uint32_t *lkey, uint32_t *rkey)
{
	struct ibv_mr *mr;

	if (num_regions == REGIONS_MAX)
		return -ENOMEM;
	mr = ibv_reg_mr(pd, peer_memory + at, bytes, (int)access);
	if (mr == NULL)
		return -errno;
	regions[num_regions++] = mr;
	*lkey = mr->lkey;
	*rkey = mr->rkey;
	return 0;
}

static bool is_of_net(const union ibv_gid *gid, const char *net)
{
	static const union ibv_gid none;
	static const uint8_t v4[12] = {[10] = 0xff, [11] = 0xff};
	bool is_v4 = memcmp(gid->raw, v4, sizeof(v4)) == 0;
	bool is_ll = gid->raw[0] == 0xfe && gid->raw[1] == 0x80;

	if (memcmp(gid, &none, sizeof(none)) == 0)
		return false;
	if (strcmp(net, "v4") == 0)
		return is_v4;
	return strcmp(net, "ll") == 0 ? is_ll : !is_v4 && !is_ll;
}

static int find_gid(const char *net, unsigned int *index, union ibv_gid *gid)
{
	for (unsigned int i = 0; i < GIDS_SEARCHED; i++) {
		if (ibv_query_gid(device, 1, (int)i, gid) == 0 && is_of_net(gid, net)) {
			*index = i;
			return 0;
		}
	}
	return -EADDRNOTAVAIL;
}

int peer_qp_create(unsigned int slot, const struct peer_qp_conf *conf, struct peer_local *local)
{
	struct side *s = &sides[slot];
	struct ibv_qp_init_attr init = {
		.qp_type = (enum ibv_qp_type)conf->type,
		.cap = {.max_send_wr = conf->max_wr,
			.max_recv_wr = conf->max_wr,
			.max_send_sge = 1,
			.max_recv_sge = 1},
	};
	union ibv_gid gid;
	int err;

	if (s->qp != NULL)
		return -EBUSY;
	*s = (struct side){.type = init.qp_type, .access = conf->access};
	err = find_gid(conf->net, &s->gid_index, &gid);
	if (err != 0)
		return err;
	s->cq = ibv_create_cq(device, (int)conf->max_wr * 2 + 1, NULL, NULL, 0);
	if (s->cq == NULL)
		return -errno;
	init.send_cq = init.recv_cq = s->cq;
	s->qp = ibv_create_qp(pd, &init);
	if (s->qp == NULL) {
		err = -errno;
		ibv_destroy_cq(s->cq);
		return err;
	}
	local->qpn = s->qp->qp_num;
	memcpy(local->gid, gid.raw, sizeof(local->gid));
	return 0;
}

static int to_init(struct side *s)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_INIT,
		.port_num = 1,
		.qp_access_flags = s->access,
		.qkey = s->route.qkey,
	};

	return ibv_modify_qp(s->qp, &attr,
		IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
			(s->type == IBV_QPT_UD ? IBV_QP_QKEY : IBV_QP_ACCESS_FLAGS));
}

static struct ibv_ah_attr address_of(const struct side *s)
{
	struct ibv_ah_attr attr = {
		.is_global = 1,
		.port_num = 1,
		.grh = {.sgid_index = (uint8_t)s->gid_index,
			.hop_limit = 64,
			.flow_label = s->route.flow_label,
			.traffic_class = (uint8_t)s->route.traffic_class},
	};

	memcpy(attr.grh.dgid.raw, s->route.gid, sizeof(s->route.gid));
	return attr;
}

static enum ibv_mtu mtu_code(uint32_t bytes)
{
	enum ibv_mtu code = IBV_MTU_256;

	while (code < IBV_MTU_4096 && 128u << code < bytes)
		code++;
	return code;
}

static int to_rtr(struct side *s)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_RTR,
		.path_mtu = mtu_code(s->route.mtu_bytes),
		.dest_qp_num = s->route.qpn,
		.rq_psn = s->route.psn,
		.ah_attr = address_of(s),
		.max_dest_rd_atomic = (uint8_t)s->route.rd_atomic,
		.min_rnr_timer = (uint8_t)s->route.min_rnr,
	};
	int mask = IBV_QP_STATE;

	if (s->type != IBV_QPT_UD)
		mask |= IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN;
	if (s->type == IBV_QPT_RC)
		mask |= IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
	return ibv_modify_qp(s->qp, &attr, mask);
}

static int to_rts(struct side *s)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_RTS,
		.sq_psn = s->route.own_psn,
		.timeout = (uint8_t)s->route.timeout,
		.retry_cnt = (uint8_t)s->route.retry,
		.rnr_retry = (uint8_t)s->route.rnr_retry,
		.max_rd_atomic = (uint8_t)s->route.rd_atomic,
	};
	int mask = IBV_QP_STATE | IBV_QP_SQ_PSN;

	if (s->type == IBV_QPT_RC)
		mask |= IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
			IBV_QP_MAX_QP_RD_ATOMIC;
	return ibv_modify_qp(s->qp, &attr, mask);
}

int peer_qp_connect(unsigned int slot, const struct peer_route *route)
{
	struct side *s = &sides[slot];
	struct ibv_ah_attr address;
	int err;

	if (s->qp == NULL)
		return -ENOENT;
	s->route = *route;
	err = to_init(s);
	if (err == 0)
		err = to_rtr(s);
	if (err == 0)
		err = to_rts(s);
	if (err == 0 && s->type == IBV_QPT_UD) {
		address = address_of(s);
		s->ah = ibv_create_ah(pd, &address);
		if (s->ah == NULL)
			err = errno;
	}
	return -err;
}

int peer_qp_set_error(unsigned int slot)
{
	struct ibv_qp_attr attr = {.qp_state = IBV_QPS_ERR};

	return sides[slot].qp == NULL ? -ENOENT
				      : -ibv_modify_qp(sides[slot].qp, &attr, IBV_QP_STATE);
}

int peer_qp_state(unsigned int slot, unsigned int *state)
{
	struct ibv_qp_attr attr;
	struct ibv_qp_init_attr init;
	int err;

	if (sides[slot].qp == NULL)
		return -ENOENT;
	err = ibv_query_qp(sides[slot].qp, &attr, IBV_QP_STATE, &init);
	*state = attr.qp_state;
	return -err;
}

int peer_qp_destroy(unsigned int slot)
{
	struct side *s = &sides[slot];

	if (s->qp == NULL)
		return -ENOENT;
	if (s->mw != NULL)
		ibv_dealloc_mw(s->mw);
	ibv_destroy_qp(s->qp);
	ibv_destroy_cq(s->cq);
	if (s->ah != NULL)
		ibv_destroy_ah(s->ah);
	*s = (struct side){0};
	return 0;
}

void peer_qp_why(unsigned int slot, char *text, size_t bytes)
{
	(void)slot;
	snprintf(text, bytes, "libibverbs does not say");
}

static bool is_atomic(unsigned int opcode)
{
	return opcode == IBV_WR_ATOMIC_CMP_AND_SWP || opcode == IBV_WR_ATOMIC_FETCH_AND_ADD;
}

int peer_send(unsigned int slot, const struct peer_send *send)
{
	struct side *s = &sides[slot];
	struct ibv_sge sge = {(uintptr_t)peer_memory + send->at, send->bytes, send->lkey};
	struct ibv_send_wr *bad,
		wr = {
			.wr_id = send->id,
			.opcode = (enum ibv_wr_opcode)send->opcode,
			.send_flags = send->flags,
			.sg_list = &sge,
			.num_sge = send->bytes > 0,
		};

	if (s->qp == NULL)
		return -ENOENT;
	if (send->opcode == IBV_WR_SEND_WITH_INV)
		wr.invalidate_rkey = send->invalidate_rkey;
	else
		wr.imm_data = htonl(send->imm);
	if (s->type == IBV_QPT_UD) {
		wr.wr.ud.ah = s->ah;
		wr.wr.ud.remote_qpn = s->route.qpn;
		wr.wr.ud.remote_qkey = s->route.qkey;
	} else if (is_atomic(send->opcode)) {
		wr.wr.atomic.remote_addr = send->remote_addr;
		wr.wr.atomic.rkey = send->rkey;
		wr.wr.atomic.compare_add = send->compare_add;
		wr.wr.atomic.swap = send->swap;
	} else {
		wr.wr.rdma.remote_addr = send->remote_addr;
		wr.wr.rdma.rkey = send->rkey;
	}
	return -ibv_post_send(s->qp, &wr, &bad);
}

int peer_recv(unsigned int slot, uint64_t id, uint64_t at, uint32_t bytes, uint32_t lkey)
{
	struct ibv_sge sge = {(uintptr_t)peer_memory + at, bytes, lkey};
	struct ibv_recv_wr *bad, wr = {.wr_id = id, .sg_list = &sge, .num_sge = bytes > 0};

	return sides[slot].qp == NULL ? -ENOENT : -ibv_post_recv(sides[slot].qp, &wr, &bad);
}

int peer_poll(unsigned int slot, struct peer_wc *wc)
{
	struct ibv_wc got;
	int n;

	if (sides[slot].cq == NULL)
		return -ENOENT;
	n = ibv_poll_cq(sides[slot].cq, 1, &got);
	if (n <= 0)
		return n;
	*wc = (struct peer_wc){
		.id = got.wr_id,
		.status = got.status,
		.opcode = got.opcode,
		.bytes = got.byte_len,
		.flags = got.wc_flags,
		.src_qpn = got.src_qp,
	};
	if (got.wc_flags & KERNEL_WITH_INVALIDATE)
		wc->flags = (wc->flags & ~(unsigned int)KERNEL_WITH_INVALIDATE) | IBV_WC_WITH_INV;
	if (wc->flags & IBV_WC_WITH_INV)
		wc->imm = got.invalidated_rkey;
	else if (got.wc_flags & IBV_WC_WITH_IMM)
		wc->imm = ntohl(got.imm_data);
	return 1;
}

int peer_bind(unsigned int slot, uint32_t lkey, uint64_t at, uint64_t bytes, uint32_t access,
	uint32_t *rkey)
{
	struct side *s = &sides[slot];
	struct ibv_send_wr *bad, wr = {.opcode = IBV_WR_BIND_MW, .send_flags = IBV_SEND_SIGNALED};
	struct ibv_wc wc;
	int err;

	if (s->qp == NULL || s->mw != NULL)
		return -ENOENT;
	for (unsigned int i = 0; i < num_regions; i++)
		if (regions[i]->lkey == lkey)
			wr.bind_mw.bind_info.mr = regions[i];
	s->mw = ibv_alloc_mw(pd, IBV_MW_TYPE_2);
	if (s->mw == NULL)
		return -errno;
	wr.bind_mw.mw = s->mw;
	wr.bind_mw.rkey = *rkey = ibv_inc_rkey(s->mw->rkey);
	wr.bind_mw.bind_info.addr = (uintptr_t)peer_memory + at;
	wr.bind_mw.bind_info.length = bytes;
	wr.bind_mw.bind_info.mw_access_flags = access;
	err = ibv_post_send(s->qp, &wr, &bad);
	if (err != 0)
		return -err;
	for (int ms = 0; ms < BIND_PATIENCE_MS; ms++) {
		if (ibv_poll_cq(s->cq, 1, &wc) == 1)
			return wc.status == IBV_WC_SUCCESS ? 0 : -EIO;
		usleep(1000);
	}
	return -ETIMEDOUT;
}

void peer_counters(void)
{
	char path[PATH_MAX];
	struct dirent *entry;
	DIR *dir;

	snprintf(path, sizeof(path), "%s/ports/1/hw_counters", device->device->ibdev_path);
	dir = opendir(path);
	while (dir != NULL && (entry = readdir(dir)) != NULL) {
		unsigned long long value;
		FILE *file;

		snprintf(path, sizeof(path), "%s/ports/1/hw_counters/%s",
			device->device->ibdev_path, entry->d_name);
		file = fopen(path, "r");
		if (file != NULL && fscanf(file, "%llu", &value) == 1 && value != 0)
			printf(" %s=%llu", entry->d_name, value);
		if (file != NULL)
			fclose(file);
	}
	if (dir != NULL)
		closedir(dir);
}

int main(void)
{
	int n;
	struct ibv_device **list = ibv_get_device_list(&n);

	if (list == NULL || n == 0) {
		fprintf(stderr, "verbs_peer: no RDMA device\n");
		return 1;
	}
	device = ibv_open_device(list[0]);
	pd = device == NULL ? NULL : ibv_alloc_pd(device);
	if (pd == NULL) {
		perror("verbs_peer");
		return 1;
	}
	return peer_talk(NULL);
}
