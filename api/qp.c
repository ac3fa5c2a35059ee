/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Queue pairs of the public API.
 *
 * What the application asks for is turned into commands for the worker's core. The library's own
 * book-keeping (who uses which domain, queue and path) is under the device's lock, which is never
 * held while a worker is waited for: the worker's thread may want it too.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "device.h"
#include "qp_state.h"

enum {
	WR_DEFAULT = 128,
	SGE_DEFAULT = 1,
	RD_ATOMIC_DEFAULT = 16,
	TIMEOUT_DEFAULT = 14,
	RETRY_DEFAULT = 7,
	RNR_RETRY_DEFAULT = 7,
	MIN_RNR_TIMER_DEFAULT = 12,
};

static uint32_t or_default(uint32_t value, uint32_t fallback)
{
	return value ? value : fallback;
}

/* conf with its defaults filled in. */
static struct uroce_qp_conf with_defaults(const struct uroce_qp_conf *conf)
{
	struct uroce_qp_conf c = *conf;

	c.type = conf->type ? conf->type : UROCE_QP_RC;
	c.max_send_wr = or_default(conf->max_send_wr, WR_DEFAULT);
	c.max_recv_wr = conf->srq ? 1 : or_default(conf->max_recv_wr, WR_DEFAULT);
	c.max_send_sge = or_default(conf->max_send_sge, SGE_DEFAULT);
	c.max_recv_sge =
		conf->srq ? conf->srq->max_sge : or_default(conf->max_recv_sge, SGE_DEFAULT);
	c.max_dest_rd_atomic = or_default(conf->max_dest_rd_atomic, RD_ATOMIC_DEFAULT);
	c.window_pkts = or_default(conf->window_pkts, UROCE_WINDOW_DEFAULT_PKTS);
	return c;
}

static struct uroce_qp_caps caps_of(const struct uroce_qp_conf *given)
{
	const struct uroce_qp_conf conf = with_defaults(given);

	return (struct uroce_qp_caps){
		.type = conf.type,
		.max_send_wr = conf.max_send_wr,
		.max_recv_wr = conf.max_recv_wr,
		.max_send_sge = conf.max_send_sge,
		.max_recv_sge = conf.max_recv_sge,
		.max_inline_bytes = conf.max_inline_bytes,
		.max_dest_rd_atomic = conf.max_dest_rd_atomic,
		.window_pkts = conf.window_pkts,
		.dcqcn = conf.dcqcn,
		.keepalive_ms = conf.keepalive_ms,
		.rate_limit_bps = conf.rate_limit_bps,
	};
}

size_t uroce_qp_memory_bytes(const struct uroce_qp_conf *conf)
{
	struct uroce_qp_caps caps = caps_of(conf);

	return uroce_qp_caps_check(&caps) == 0 ? uroce_qp_bytes(&caps) + sizeof(struct qp_shell)
					       : 0;
}

/* ---- create, destroy ---- */

static bool cq_is_of(const struct uroce_cq *cq, const struct uroce_device *dev)
{
	return cq && ((const struct cq_shell *)cq->owner)->dev == dev;
}

static int check_conf(const struct uroce_pd *pd, const struct uroce_qp_conf *conf)
{
	const struct uroce_device *dev = pd->dev;
	struct uroce_qp_caps caps = caps_of(conf);

	if (caps.type < UROCE_QP_RC || caps.type > UROCE_QP_UD)
		return -EOPNOTSUPP;
	if (conf->srq && ((const struct srq_shell *)conf->srq->owner)->pd != pd)
		return -EINVAL;
	if (!cq_is_of(conf->send_cq, dev) || !cq_is_of(conf->recv_cq, dev))
		return -EINVAL;
	if (conf->worker > dev->num_workers)
		return -EINVAL;
	return uroce_qp_caps_check(&caps);
}

/* The worker with the fewest queue pairs, the first of those; the device's lock is held. */
static struct uroce_worker *least_loaded(struct uroce_device *dev)
{
	struct uroce_worker *least = &dev->workers[0];

	for (unsigned int i = 1; i < dev->num_workers; i++)
		if (dev->workers[i].num_qps < least->num_qps)
			least = &dev->workers[i];
	return least;
}

/*
 * One more, or (by -1) one fewer user of what a queue pair uses; its worker among that, which is
 * chosen now if none was asked for.
 */
static void count_use(
	struct qp_shell *shell, struct uroce_cq *send_cq, struct uroce_cq *recv_cq, int by)
{
	pthread_mutex_lock(&shell->dev->lock);
	if (!shell->worker)
		shell->worker = least_loaded(shell->dev);
	shell->pd->users += (uint32_t)by;
	/* Number 1 has next to nothing to do. */
	if (shell->conf.qpn != UROCE_QPN_GSI)
		shell->worker->num_qps += (uint32_t)by;
	((struct cq_shell *)send_cq->owner)->users += (uint32_t)by;
	((struct cq_shell *)recv_cq->owner)->users += (uint32_t)by;
	if (shell->conf.srq)
		((struct srq_shell *)shell->conf.srq->owner)->users += (uint32_t)by;
	shell->dev->num_qps += (uint32_t)by;
	pthread_mutex_unlock(&shell->dev->lock);
}

static int create_on_worker(
	struct uroce_qp *qp, struct qp_shell *shell, const struct uroce_qp_conf *conf)
{
	struct uroce_cmd cmd = {.kind = UROCE_CMD_QP_CREATE,
		.qp = qp,
		.qpn = conf->qpn,
		.pd = shell->pd->id,
		.signal_all = conf->signal_all,
		.send_cq = conf->send_cq,
		.recv_cq = conf->recv_cq,
		.srq = conf->srq};
	int err = uroce_worker_ctrl(shell->worker, &cmd);

	return err == -ENOSPC ? -ENOMEM : err;
}

int uroce_qp_create_any(
	struct uroce_pd *pd, const struct uroce_qp_conf *conf, struct uroce_qp **out)
{
	struct uroce_device *dev = pd->dev;
	struct uroce_qp_caps caps = caps_of(conf);
	struct qp_shell *shell;
	void *memory;
	int err = check_conf(pd, conf);

	if (err)
		return err;
	shell = calloc(1, sizeof(*shell));
	memory = uroce_allocate(uroce_qp_bytes(&caps));
	if (!shell || !memory) {
		free(shell);
		free(memory);
		return -ENOMEM;
	}
	*shell = (struct qp_shell){.dev = dev,
		.pd = pd,
		.worker = conf->worker ? &dev->workers[conf->worker - 1] : NULL,
		.conf = with_defaults(conf),
		.psn = (uint32_t)uroce_random64() & UROCE_PSN_MASK};
	*out = uroce_qp_init(memory, &caps);
	(*out)->owner = shell;
	count_use(shell, conf->send_cq, conf->recv_cq, 1);
	shell->conf.worker = UROCE_WORKER(shell->worker->index);
	err = create_on_worker(*out, shell, conf);
	if (err) {
		count_use(shell, conf->send_cq, conf->recv_cq, -1);
		free(shell);
		free(memory);
		*out = NULL;
	}
	return err;
}

int uroce_qp_create(struct uroce_pd *pd, const struct uroce_qp_conf *conf, struct uroce_qp **out)
{
	/* The library's own. */
	return conf->qpn == UROCE_QPN_GSI ? -EINVAL : uroce_qp_create_any(pd, conf, out);
}

int uroce_qp_destroy(struct uroce_qp *qp)
{
	struct qp_shell *shell = qp->owner;
	struct uroce_device *dev = shell->dev;
	struct uroce_cmd cmd = {.kind = UROCE_CMD_QP_DESTROY, .qp = qp};
	int err =
		atomic_load(&shell->is_connected) ? -EBUSY : uroce_worker_ctrl(shell->worker, &cmd);

	if (err)
		return err;
	uroce_group_forget(dev, qp);
	uroce_cq_purge(qp->send_cq, &qp->send_ring);
	uroce_cq_purge(qp->recv_cq, &qp->recv_ring);
	count_use(shell, qp->send_cq, qp->recv_cq, -1);
	pthread_mutex_lock(&dev->lock);
	uroce_path_release(shell->path);
	pthread_mutex_unlock(&dev->lock);
	free(shell);
	free(qp);
	return 0;
}

uint32_t uroce_qp_number(const struct uroce_qp *qp)
{
	return qp->qpn;
}

/* ---- modify, query ---- */

static struct uroce_qp_attr engine_attr(const struct uroce_qp_modify_attr *attr)
{
	return (struct uroce_qp_attr){
		.state = attr->state,
		.cur_state = attr->cur_state,
		.access = attr->access,
		.path_mtu_bytes = attr->path_mtu_bytes,
		.dest_qpn = attr->dest_qpn,
		.rq_psn = attr->rq_psn,
		.sq_psn = attr->sq_psn,
		.qkey = attr->qkey,
		.timeout = attr->timeout,
		.retry_cnt = attr->retry_cnt,
		.rnr_retry = attr->rnr_retry,
		.min_rnr_timer = attr->min_rnr_timer,
		.max_rd_atomic = attr->max_rd_atomic,
		.max_dest_rd_atomic = attr->max_dest_rd_atomic,
		.dcqcn = attr->dcqcn,
		.keepalive_ms = attr->keepalive_ms,
		.rate_limit_bps = attr->rate_limit_bps,
	};
}

/* The path to attr's GID, with one more user. */
static int take_path(
	struct qp_shell *shell, const struct uroce_qp_modify_attr *attr, struct path_entry **path)
{
	const struct uroce_route route = {.gid = uroce_gid_load(attr->dgid),
		.flow_label = attr->flow_label,
		.traffic_class = attr->traffic_class,
		.hop_limit = attr->hop_limit,
		.source = attr->source,
		.sl = attr->sl};
	int err = uroce_path_check(shell->dev, &route);

	if (uroce_gid_is_unspecified(route.gid))
		return -EINVAL;
	if (err)
		return err;
	pthread_mutex_lock(&shell->dev->lock);
	*path = uroce_path_take(shell->worker, &route);
	pthread_mutex_unlock(&shell->dev->lock);
	return *path ? 0 : -ENOMEM;
}

/* The queue pair now uses `path`, or none; the one before loses a user. */
static void swap_path(struct qp_shell *shell, struct path_entry *path)
{
	pthread_mutex_lock(&shell->dev->lock);
	uroce_path_release(shell->path);
	shell->path = path;
	pthread_mutex_unlock(&shell->dev->lock);
}

int uroce_qp_modify(struct uroce_qp *qp, const struct uroce_qp_modify_attr *attr, uint32_t mask)
{
	struct qp_shell *shell = qp->owner;
	struct uroce_cmd cmd = {.kind = UROCE_CMD_QP_MODIFY,
		.qp = qp,
		.attr = engine_attr(attr),
		.attr_mask = mask};
	struct path_entry *path = NULL;
	int err = 0;

	if ((mask & UROCE_QP_ATTR_PATH_MTU) && attr->path_mtu_bytes > shell->dev->active_mtu_bytes)
		return attr->path_mtu_bytes <= 4096 ? -EMSGSIZE : -EINVAL;
	if (mask & UROCE_QP_ATTR_AV)
		err = take_path(shell, attr, &path);
	if (err)
		return err;
	cmd.attr.path = path ? &path->path : NULL;
	err = uroce_worker_ctrl(shell->worker, &cmd);
	if (err) {
		pthread_mutex_lock(&shell->dev->lock);
		uroce_path_release(path);
		pthread_mutex_unlock(&shell->dev->lock);
		return err;
	}
	if (path || ((mask & UROCE_QP_ATTR_STATE) && attr->state == UROCE_QP_RESET))
		swap_path(shell, path);
	if (mask & UROCE_QP_ATTR_STATE)
		atomic_store(&shell->state, attr->state);
	return 0;
}

static int ask_report(struct uroce_qp *qp, struct uroce_cmd *cmd)
{
	struct qp_shell *shell = qp->owner;

	*cmd = (struct uroce_cmd){.kind = UROCE_CMD_QP_REPORT, .qp = qp};
	return uroce_worker_ctrl(shell->worker, cmd);
}

static void tell_path(const struct uroce_device *dev, const struct uroce_path *path,
	struct uroce_qp_modify_attr *attr)
{
	uroce_gid_store(attr->dgid, path->dst);
	attr->flow_label = path->flow_label;
	attr->traffic_class = path->tos;
	attr->hop_limit = path->ttl;
	attr->source = UROCE_SOURCE(uroce_addr_find(dev, path->src, path->vlan));
	attr->sl = (uint8_t)(path->tci >> UROCE_TCI_PRIORITY_SHIFT);
}

int uroce_qp_query(struct uroce_qp *qp, struct uroce_qp_modify_attr *attr)
{
	struct qp_shell *shell = qp->owner;
	struct uroce_cmd cmd;
	int err = ask_report(qp, &cmd);
	const struct uroce_qp_attr *a = &cmd.attr;

	if (err)
		return err;
	*attr = (struct uroce_qp_modify_attr){
		.state = a->state,
		.cur_state = a->state,
		.access = a->access,
		.path_mtu_bytes = a->path_mtu_bytes,
		.dest_qpn = a->dest_qpn,
		.rq_psn = a->rq_psn,
		.sq_psn = a->sq_psn,
		.qkey = a->qkey,
		.timeout = a->timeout,
		.retry_cnt = a->retry_cnt,
		.rnr_retry = a->rnr_retry,
		.min_rnr_timer = a->min_rnr_timer,
		.max_rd_atomic = a->max_rd_atomic,
		.max_dest_rd_atomic = a->max_dest_rd_atomic,
		.dcqcn = a->dcqcn,
		.keepalive_ms = a->keepalive_ms,
		.rate_limit_bps = a->rate_limit_bps,
	};
	pthread_mutex_lock(&shell->dev->lock);
	if (shell->path)
		tell_path(shell->dev, &shell->path->made, attr);
	pthread_mutex_unlock(&shell->dev->lock);
	return 0;
}

void uroce_qp_query_conf(const struct uroce_qp *qp, struct uroce_qp_conf *conf)
{
	*conf = ((const struct qp_shell *)qp->owner)->conf;
	conf->qpn = qp->qpn;
}

int uroce_qp_last_error(struct uroce_qp *qp, char *buf, size_t bytes)
{
	struct uroce_cmd cmd;
	int err = ask_report(qp, &cmd);

	return err ? err : uroce_explain(qp, &cmd, uroce_clock_ns(), buf, bytes);
}

/* ---- connecting ---- */

void uroce_qp_local(const struct uroce_qp *qp, struct uroce_peer *local)
{
	const struct qp_shell *shell = qp->owner;
	const struct uroce_device *dev = shell->dev;

	memset(local, 0, sizeof(*local));
	uroce_gid_store(local->gid, dev->addrs[0].gid);
	memcpy(local->mac, dev->mac, sizeof(local->mac));
	local->qpn = qp->qpn;
	local->psn = shell->psn;
	local->mtu_bytes = dev->active_mtu_bytes;
}

/* From a state to attr->state, with what that needs of the attributes, and `more` of them. */
static int advance(struct uroce_qp *qp, enum uroce_qp_state from,
	const struct uroce_qp_modify_attr *attr, uint32_t more)
{
	return uroce_qp_modify(
		qp, attr, uroce_qp_attrs_required(qp->caps.type, from, attr->state) | more);
}

int uroce_qp_prepare(struct uroce_qp *qp)
{
	const struct uroce_qp_modify_attr attr = {
		.state = UROCE_QP_INIT, .access = UROCE_ACCESS_REMOTE_ALL};

	return advance(qp, UROCE_QP_RESET, &attr, 0);
}

int uroce_qp_open_datagrams(struct uroce_qp *qp, uint32_t qkey)
{
	struct qp_shell *shell = qp->owner;
	struct uroce_qp_modify_attr attr = {.qkey = qkey, .sq_psn = shell->psn};
	int err = 0;

	if (qp->caps.type != UROCE_QP_UD)
		return -EINVAL;
	if (atomic_load(&shell->state) == UROCE_QP_RESET)
		err = uroce_qp_prepare(qp);
	attr.state = UROCE_QP_RTR;
	if (!err)
		err = advance(qp, UROCE_QP_INIT, &attr, UROCE_QP_ATTR_QKEY);
	attr.state = UROCE_QP_RTS;
	if (!err)
		err = advance(qp, UROCE_QP_RTR, &attr, 0);
	return err;
}

/* A field of a peer's record: a default for zero, zero for "none". */
static uint8_t choose(uint8_t value, uint8_t fallback)
{
	if (value == UROCE_TIMEOUT_NONE)
		return 0;
	return value ? value : fallback;
}

static int learn_peer(struct uroce_device *dev, const struct uroce_peer *peer)
{
	const struct uroce_route route = {
		.gid = uroce_gid_load(peer->gid), .source = peer->source, .sl = peer->sl};
	int err;

	if (uroce_gid_is_unspecified(route.gid) || uroce_gid_is_multicast(route.gid))
		return -EINVAL;
	pthread_mutex_lock(&dev->lock);
	err = uroce_path_learn(dev, &route, peer->mac);
	pthread_mutex_unlock(&dev->lock);
	return err;
}

static int to_rtr(struct uroce_qp *qp, const struct uroce_peer *peer)
{
	const struct qp_shell *shell = qp->owner;
	struct uroce_qp_modify_attr attr = {
		.state = UROCE_QP_RTR,
		.access = peer->access ? peer->access : UROCE_ACCESS_REMOTE_ALL,
		.path_mtu_bytes = peer->mtu_bytes < shell->dev->active_mtu_bytes
			? peer->mtu_bytes
			: shell->dev->active_mtu_bytes,
		.dest_qpn = peer->qpn,
		.rq_psn = peer->psn,
		.max_dest_rd_atomic =
			choose(peer->max_dest_rd_atomic, (uint8_t)qp->caps.max_dest_rd_atomic),
		.min_rnr_timer = choose(peer->min_rnr_timer, MIN_RNR_TIMER_DEFAULT),
		.flow_label = peer->flow_label,
		.traffic_class = peer->traffic_class,
		.hop_limit = UROCE_HOP_LIMIT_DEFAULT,
		.source = peer->source,
		.sl = peer->sl,
	};

	memcpy(attr.dgid, peer->gid, sizeof(attr.dgid));
	return advance(qp, UROCE_QP_INIT, &attr, UROCE_QP_ATTR_ACCESS_FLAGS);
}

static int to_rts(struct uroce_qp *qp, const struct uroce_peer *peer)
{
	const struct qp_shell *shell = qp->owner;
	const struct uroce_qp_modify_attr attr = {
		.state = UROCE_QP_RTS,
		.sq_psn = shell->psn,
		.timeout = choose(peer->timeout, TIMEOUT_DEFAULT),
		.retry_cnt = choose(peer->retry_cnt, RETRY_DEFAULT),
		.rnr_retry = choose(peer->rnr_retry, RNR_RETRY_DEFAULT),
		.max_rd_atomic = choose(peer->max_rd_atomic, RD_ATOMIC_DEFAULT),
	};

	return advance(qp, UROCE_QP_RTR, &attr, 0);
}

int uroce_qp_connect(struct uroce_qp *qp, const struct uroce_peer *peer)
{
	struct qp_shell *shell = qp->owner;
	int err = qp->caps.type == UROCE_QP_UD ? -EINVAL : learn_peer(shell->dev, peer);

	if (!err && atomic_load(&shell->state) == UROCE_QP_RESET)
		err = uroce_qp_prepare(qp);
	if (!err)
		err = to_rtr(qp, peer);
	if (!err)
		err = to_rts(qp, peer);
	return err;
}
