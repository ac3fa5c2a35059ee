/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * General services: queue pair number 1.
 *
 * An ordinary UD queue pair of the library's own, with address handles that only its worker knows.
 * Handles are kept for addresses that were written to lately. One that is in use (a MAD is being
 * sent, or waits for a MAC) is not taken away from its address, unless all of them wait: then the
 * one that has waited longest gives up, so that who floods us from addresses that are nobody's
 * cannot keep others out.
 */
#include "gsi.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum {
	RECVS = 512,
	SENDS = 128,
	WAITING_MAX = 128,
	RECV_BYTES = UROCE_GRH_BYTES + UROCE_MAD_BYTES,
	NUMBER_MASK = 0x7fffffff,
	SEND = RECVS, /* work requests: receives by index, sends by this and the handle's index */
};

/* As long as a queue pair waits for a MAC. */
#define PATIENCE_NS 3000000000ull

enum answer {
	NO_ANSWER,
	SOMEBODY,
	NOBODY
};

/* A handle, and how it is used. */
struct gsi_path {
	struct uroce_gsi_ends ends;
	struct path_entry *entry; /* NULL: the handle is free */
	struct uroce_ah ah;	  /* its number, for posts */
	uint32_t sends;		  /* posted, and not complete */
	uint32_t waiting;	  /* MADs, and who only wants to know */
	enum answer answer;	  /* that was not taken yet */
	uint64_t used_ns;	  /* last */
};

/* A MAD that waits for a MAC. */
struct gsi_mad {
	struct gsi_path *path;
	uint64_t since_ns;
	struct gsi_mad *next;
	bool is_empty; /* nothing is to be sent */
	uint8_t bytes[UROCE_MAD_BYTES];
};

struct gsi_list {
	struct gsi_mad *first, *last;
};

struct uroce_gsi {
	struct uroce_device *dev;
	struct uroce_worker *worker;
	struct uroce_pd *pd;
	struct uroce_cq *cq;
	struct uroce_mr *mr;
	struct uroce_qp *qp;
	uint8_t *recv_memory;
	int32_t recv; /* the receive that the caller looks at; -1: none */
	uint32_t sends;
	uint32_t answers; /* not taken yet */
	struct gsi_path paths[UROCE_GSI_PATHS];
	struct gsi_mad mads[WAITING_MAX];
	struct gsi_list spare, waiting; /* in the order in which they came */
};

/* ---- lists ---- */

static void append(struct gsi_list *list, struct gsi_mad *mad)
{
	mad->next = NULL;
	if (list->last)
		list->last->next = mad;
	else
		list->first = mad;
	list->last = mad;
}

static struct gsi_mad *take_first(struct gsi_list *list)
{
	struct gsi_mad *mad = list->first;

	if (!mad)
		return NULL;
	list->first = mad->next;
	if (!list->first)
		list->last = NULL;
	return mad;
}

/* ---- open, close ---- */

static int post_recv(struct uroce_gsi *gsi, uint32_t index)
{
	const struct uroce_sge sge = {.addr = gsi->recv_memory + (size_t)index * RECV_BYTES,
		.len_bytes = RECV_BYTES,
		.lkey = gsi->mr->lkey};
	const struct uroce_recv_wr wr = {.wr_id = index, .sge = &sge, .num_sge = 1};

	return uroce_post_recv(gsi->qp, &wr, 1) == 1 ? 0 : -ENOMEM;
}

static int open_qp(struct uroce_gsi *gsi)
{
	const struct uroce_qp_conf conf = {.type = UROCE_QP_UD,
		.send_cq = gsi->cq,
		.recv_cq = gsi->cq,
		.max_send_wr = SENDS,
		.max_recv_wr = RECVS,
		.max_inline_bytes = UROCE_MAD_BYTES,
		.signal_all = true,
		.worker = UROCE_WORKER(gsi->worker->index),
		.qpn = UROCE_QPN_GSI};
	int err = uroce_qp_create_any(gsi->pd, &conf, &gsi->qp);

	if (!err)
		err = uroce_qp_prepare(gsi->qp);
	for (uint32_t i = 0; !err && i < RECVS; i++)
		err = post_recv(gsi, i);
	return err ? err : uroce_qp_open_datagrams(gsi->qp, UROCE_QKEY_GSI);
}

int uroce_gsi_open(struct uroce_device *dev, struct uroce_gsi **out)
{
	struct uroce_gsi *gsi = calloc(1, sizeof(*gsi));
	int err;

	if (!gsi)
		return -ENOMEM;
	gsi->dev = dev;
	gsi->worker = &dev->workers[0];
	gsi->recv = -1;
	for (uint32_t i = 0; i < WAITING_MAX; i++)
		append(&gsi->spare, &gsi->mads[i]);
	gsi->recv_memory = calloc(RECVS, RECV_BYTES);
	err = gsi->recv_memory ? uroce_pd_create(dev, &gsi->pd) : -ENOMEM;
	if (!err)
		err = uroce_cq_create(dev, RECVS + SENDS, &gsi->cq);
	if (!err)
		err = uroce_mr_register(gsi->pd, gsi->recv_memory, (size_t)RECVS * RECV_BYTES,
			UROCE_ACCESS_LOCAL_WRITE, &gsi->mr);
	if (!err)
		err = open_qp(gsi);
	if (err)
		uroce_gsi_close(gsi);
	else
		*out = gsi;
	return err;
}

static void clear_path(struct uroce_gsi *gsi, struct gsi_path *path, uint64_t now_ns)
{
	struct uroce_cmd cmd = {.kind = UROCE_CMD_AH_CLEAR, .ah.number = path->ah.number};

	uroce_core_ctrl(&gsi->worker->core, &cmd, now_ns);
	uroce_path_release(path->entry);
	path->entry = NULL;
}

void uroce_gsi_close(struct uroce_gsi *gsi)
{
	if (gsi->qp)
		uroce_qp_destroy(gsi->qp);
	if (gsi->mr)
		uroce_mr_deregister(gsi->mr);
	if (gsi->cq)
		uroce_cq_destroy(gsi->cq);
	if (gsi->pd)
		uroce_pd_destroy(gsi->pd);
	pthread_mutex_lock(&gsi->dev->lock);
	for (uint32_t i = 0; i < UROCE_GSI_PATHS; i++)
		if (gsi->paths[i].entry)
			clear_path(gsi, &gsi->paths[i], uroce_clock_ns());
	pthread_mutex_unlock(&gsi->dev->lock);
	free(gsi->recv_memory);
	free(gsi);
}

/* ---- receiving ---- */

bool uroce_gsi_is_busy(const struct uroce_gsi *gsi)
{
	const struct uroce_ring *ring = &gsi->cq->rings[gsi->worker->index];

	return ring->producer_tail != atomic_load_explicit(&ring->head, memory_order_relaxed);
}

/* From the IP header in front of the payload. */
static void read_ends(const uint8_t *grh, bool is_ipv6, struct uroce_gsi_ends *ends)
{
	const uint8_t *v4 = grh + UROCE_GRH_BYTES - UROCE_IPV4_BYTES;

	if (is_ipv6) {
		ends->remote = uroce_gid_load(grh + UROCE_IPV6_SRC);
		ends->local = uroce_gid_load(grh + UROCE_IPV6_DST);
	} else {
		ends->remote = uroce_gid_of_ipv4(uroce_load_be32(v4 + UROCE_IPV4_SRC));
		ends->local = uroce_gid_of_ipv4(uroce_load_be32(v4 + UROCE_IPV4_DST));
	}
}

const uint8_t *uroce_gsi_recv(struct uroce_gsi *gsi, struct uroce_gsi_ends *ends, uint32_t *src_qpn)
{
	struct uroce_wc wc;

	if (gsi->recv >= 0)
		post_recv(gsi, (uint32_t)gsi->recv);
	gsi->recv = -1;
	while (uroce_cq_poll(gsi->cq, &wc, 1) == 1) {
		const uint8_t *grh = gsi->recv_memory + wc.wr_id * RECV_BYTES;

		if (wc.wr_id >= SEND) {
			gsi->paths[wc.wr_id - SEND].sends--;
			gsi->sends--;
			continue;
		}
		if (wc.status != UROCE_STATUS_SUCCESS || wc.byte_len != RECV_BYTES) {
			post_recv(gsi, (uint32_t)wc.wr_id);
			continue;
		}
		gsi->recv = (int32_t)wc.wr_id;
		*src_qpn = wc.src_qpn;
		read_ends(grh, wc.flags & UROCE_WC_GRH_IPV6, ends);
		return grh + UROCE_GRH_BYTES;
	}
	return NULL;
}

/* ---- sending ---- */

/* There is room, and the queue pair is always ready to send: it does not fail. */
static void post(struct uroce_gsi *gsi, struct gsi_path *path, const uint8_t *mad)
{
	const struct uroce_sge sge = {.addr = (void *)(uintptr_t)mad, .len_bytes = UROCE_MAD_BYTES};
	const struct uroce_send_wr wr = {.wr_id = SEND + (uint64_t)(path - gsi->paths),
		.opcode = UROCE_WR_SEND,
		.flags = UROCE_SEND_INLINE,
		.sge = &sge,
		.num_sge = 1,
		.ud = {.ah = &path->ah,
			.remote_qpn = UROCE_QPN_GSI,
			.remote_qkey = UROCE_QKEY_GSI}};

	if (uroce_post_send(gsi->qp, &wr, 1) != 1)
		return;
	path->sends++;
	gsi->sends++;
}

bool uroce_gsi_has_room(const struct uroce_gsi *gsi)
{
	return gsi->sends < SENDS;
}

static void set_answer(struct uroce_gsi *gsi, struct gsi_path *path, enum answer answer)
{
	gsi->answers += path->answer == NO_ANSWER;
	path->answer = answer;
}

static void end_wait(struct uroce_gsi *gsi, struct gsi_mad *mad)
{
	mad->path->waiting--;
	append(&gsi->spare, mad);
}

/* What waits for one MAC does not any more. */
static void drop_waiting(struct uroce_gsi *gsi, const struct gsi_path *path)
{
	struct gsi_list list = gsi->waiting;
	struct gsi_mad *mad;

	gsi->waiting = (struct gsi_list){0};
	while ((mad = take_first(&list))) {
		if (mad->path == path)
			end_wait(gsi, mad);
		else
			append(&gsi->waiting, mad);
	}
}

/* Sends those whose MAC is known by now. */
static void send_waiting(struct uroce_gsi *gsi)
{
	struct gsi_list list = gsi->waiting;
	struct gsi_mad *mad;

	gsi->waiting = (struct gsi_list){0};
	while ((mad = take_first(&list))) {
		if (!mad->path->entry->path.resolved || !uroce_gsi_has_room(gsi)) {
			append(&gsi->waiting, mad);
			continue;
		}
		if (mad->is_empty)
			set_answer(gsi, mad->path, SOMEBODY);
		else
			post(gsi, mad->path, mad->bytes);
		end_wait(gsi, mad);
	}
}

bool uroce_gsi_begin(struct uroce_gsi *gsi, uint64_t now_ns)
{
	if (pthread_mutex_trylock(&gsi->dev->lock) != 0)
		return false;
	send_waiting(gsi);
	while (gsi->waiting.first && uroce_gsi_deadline_ns(gsi) <= now_ns) {
		struct gsi_path *path = gsi->waiting.first->path;

		set_answer(gsi, path, NOBODY);
		drop_waiting(gsi, path);
	}
	return true;
}

void uroce_gsi_end(struct uroce_gsi *gsi)
{
	pthread_mutex_unlock(&gsi->dev->lock);
}

static bool is_idle(const struct gsi_path *path)
{
	return path->sends == 0 && path->waiting == 0 && path->answer == NO_ANSWER;
}

/* A handle for another address: a free one, or the one that was used longest ago; NULL: none. */
static struct gsi_path *choose_path(struct uroce_gsi *gsi)
{
	struct gsi_path *oldest = NULL;

	for (uint32_t i = 0; i < UROCE_GSI_PATHS; i++) {
		struct gsi_path *path = &gsi->paths[i];

		if (!path->entry)
			return path;
		if (is_idle(path) && (!oldest || path->used_ns < oldest->used_ns))
			oldest = path;
	}
	if (oldest || !gsi->waiting.first)
		return oldest;
	oldest = gsi->waiting.first->path;
	drop_waiting(gsi, oldest);
	return is_idle(oldest) ? oldest : NULL;
}

uint16_t uroce_gsi_source(const struct uroce_device *dev, struct uroce_gid gid)
{
	const struct device_addr *own = uroce_addr_own(dev, gid, 0);

	if (uroce_gid_is_unspecified(gid))
		return 0;
	return own ? UROCE_SOURCE(own - dev->addrs) : UROCE_SOURCE(dev->num_addrs);
}

static int set_up_path(struct uroce_gsi *gsi, struct gsi_path *path,
	const struct uroce_gsi_ends *ends, uint64_t now_ns)
{
	const struct uroce_route route = {
		.gid = ends->remote, .source = uroce_gsi_source(gsi->dev, ends->local)};
	struct uroce_cmd cmd = {.kind = UROCE_CMD_AH_SET, .ah.pd = gsi->pd->id};

	if (uroce_path_check(gsi->dev, &route) != 0)
		return -EADDRNOTAVAIL;
	if (path->entry)
		clear_path(gsi, path, now_ns);
	path->entry = uroce_path_take(gsi->worker, &route);
	if (!path->entry)
		return -ENOMEM;
	path->ends = *ends;
	/* Behind the application's, and new each time. */
	if (path->ah.number == 0)
		path->ah.number = gsi->dev->conf.max_ahs + (uint32_t)(path - gsi->paths);
	path->ah.number = (path->ah.number + gsi->dev->num_ah_slots) & NUMBER_MASK;
	cmd.ah.number = path->ah.number;
	cmd.ah.path = &path->entry->path;
	return uroce_core_ctrl(&gsi->worker->core, &cmd, now_ns);
}

static struct gsi_path *find_path(struct uroce_gsi *gsi, const struct uroce_gsi_ends *ends)
{
	for (uint32_t i = 0; i < UROCE_GSI_PATHS; i++) {
		struct gsi_path *path = &gsi->paths[i];

		if (path->entry && uroce_gid_equal(path->ends.remote, ends->remote) &&
			uroce_gid_equal(path->ends.local, ends->local))
			return path;
	}
	return NULL;
}

static bool waits_already(
	const struct uroce_gsi *gsi, const struct gsi_path *path, const uint8_t *mad)
{
	const struct gsi_mad *other = path->waiting > 0 ? gsi->waiting.first : NULL;

	for (; other; other = other->next)
		if (other->path == path && other->is_empty == !mad &&
			(!mad || memcmp(other->bytes, mad, UROCE_MAD_BYTES) == 0))
			return true;
	return false;
}

/* Behind the others; who has waited longest goes if there is no place. */
static void wait_for_mac(
	struct uroce_gsi *gsi, struct gsi_path *path, const uint8_t *bytes, uint64_t now_ns)
{
	struct gsi_mad *mad;

	if (waits_already(gsi, path, bytes))
		return;
	if (!gsi->spare.first && gsi->waiting.first)
		drop_waiting(gsi, gsi->waiting.first->path);
	mad = take_first(&gsi->spare);
	if (!mad)
		return;
	mad->path = path;
	mad->since_ns = now_ns;
	mad->is_empty = !bytes;
	if (bytes)
		memcpy(mad->bytes, bytes, sizeof(mad->bytes));
	path->waiting++;
	append(&gsi->waiting, mad);
}

int uroce_gsi_send(struct uroce_gsi *gsi, const struct uroce_gsi_ends *ends, const uint8_t *mad,
	uint64_t now_ns)
{
	struct gsi_path *path = find_path(gsi, ends);
	int err;

	if (!path) {
		path = choose_path(gsi);
		err = path ? set_up_path(gsi, path, ends, now_ns) : -ENOMEM;
		if (err)
			return err;
	}
	path->used_ns = now_ns;
	if (!path->entry->path.resolved || path->waiting > 0)
		wait_for_mac(gsi, path, mad, now_ns);
	else if (mad)
		post(gsi, path, mad);
	else
		set_answer(gsi, path, SOMEBODY);
	return 0;
}

bool uroce_gsi_answer(struct uroce_gsi *gsi, struct uroce_gsi_ends *ends, bool *reachable)
{
	for (uint32_t i = 0; gsi->answers > 0 && i < UROCE_GSI_PATHS; i++) {
		struct gsi_path *path = &gsi->paths[i];

		if (path->answer == NO_ANSWER)
			continue;
		*ends = path->ends;
		*reachable = path->answer == SOMEBODY;
		path->answer = NO_ANSWER;
		gsi->answers--;
		return true;
	}
	return false;
}

uint64_t uroce_gsi_deadline_ns(const struct uroce_gsi *gsi)
{
	return gsi->waiting.first ? gsi->waiting.first->since_ns + PATIENCE_NS : UINT64_MAX;
}
