/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Connections: what the application asks for.
 *
 * Addresses and limits are checked here, numbers and messages are the manager's.
 */
#include "conn.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum {
	TIMEOUT_DEFAULT = 14,
	RETRY_DEFAULT = 7,
	RD_ATOMIC_DEFAULT = 16,
	/* Ports of those who connect: what nobody listens on by custom. */
	EPHEMERAL_FIRST = 49152,
	EPHEMERAL_MASK = 16383,
	BACKLOG_DEFAULT = 128
};

/* A field of a conf: a default for zero, zero for "none", at most `most`. */
static uint8_t choose(uint8_t value, uint32_t fallback, uint32_t most)
{
	uint32_t chosen = value ? value : fallback;

	if (value == UROCE_TIMEOUT_NONE)
		return 0;
	return (uint8_t)(chosen < most ? chosen : most);
}

/* No room is -ENOMEM in this API, and who is gone is not connected. */
static int told(int err)
{
	return err == -ENOSPC ? -ENOMEM : err == -ENOENT ? -ENOTCONN : err;
}

/* A connection that was added and is nothing yet goes again. */
static void discard(struct uroce_conn *conn)
{
	struct conn_manager *manager = conn->channel->manager;

	uroce_conn_give_qp(conn);
	uroce_conn_lock(manager);
	uroce_conn_remove(conn);
	uroce_conn_unlock(manager);
	free(conn);
}

static struct uroce_conn *add(
	struct uroce_conn_channel *channel, enum conn_kind kind, void *context)
{
	struct uroce_conn *conn;

	pthread_mutex_lock(&channel->manager->lock);
	conn = uroce_conn_add(channel, kind);
	pthread_mutex_unlock(&channel->manager->lock);
	if (conn)
		conn->context = context;
	return conn;
}

/* ---- addresses ---- */

static int parse(const char *text, struct uroce_gid *gid)
{
	struct device_addr addr;

	/* Just an address: what VLAN it is in follows from ours. */
	if (!text || strpbrk(text, "/#") || uroce_addr_parse(text, &addr) != 0)
		return -EINVAL;
	*gid = addr.gid;
	return 0;
}

/* From which address of ours to conf's, and whether somebody would ask for the MAC. */
static int find_route(
	struct uroce_device *dev, const struct uroce_conn_conf *conf, struct uroce_cm_route *out)
{
	static const uint8_t no_mac[6];
	struct uroce_route route = {0};
	struct uroce_gid local;
	int err = parse(conf->addr, &route.gid);

	if (!err && conf->local_addr) {
		err = parse(conf->local_addr, &local);
		if (!err)
			route.source = uroce_gsi_source(dev, local);
	}
	if (err || uroce_gid_is_multicast(route.gid))
		return -EINVAL;
	pthread_mutex_lock(&dev->lock);
	err = uroce_path_learn(dev, &route, no_mac);
	pthread_mutex_unlock(&dev->lock);
	if (!err)
		*out = (struct uroce_cm_route){
			.src = uroce_addr_source(dev, route.gid, route.source)->gid,
			.dst = route.gid};
	return err;
}

int uroce_conn_resolve(struct uroce_conn_channel *channel, const struct uroce_conn_conf *conf,
	struct uroce_conn **out)
{
	struct uroce_conn *conn = add(channel, CONN_PROBE, conf->context);
	int err;

	if (!conn)
		return -ENOMEM;
	err = find_route(channel->manager->dev, conf, &conn->route);
	if (err) {
		discard(conn);
		return err;
	}
	uroce_conn_lock(channel->manager);
	uroce_conn_begin_to_ask(&channel->manager->probes, conn);
	uroce_conn_unlock(channel->manager);
	*out = conn;
	return 0;
}

/* ---- connecting ---- */

/* Ready to be asked with, and the connection's. */
static int take_qp(struct uroce_conn *conn, const struct uroce_conn_conf *conf)
{
	int err;

	if (((const struct qp_shell *)conf->qp->owner)->dev != conn->channel->manager->dev)
		return -EINVAL;
	conn->access = conf->access;
	conn->min_rnr_timer = conf->min_rnr_timer;
	if (conf->qp->caps.type == UROCE_QP_UD)
		return 0;
	err = uroce_conn_take_qp(conn, conf->qp);
	return err ? err : uroce_conn_prepare_qp(conf->qp);
}

/* The largest path MTU, not over the port's, that the application wants. */
static uint32_t mtu_of(const struct uroce_device *dev, const struct uroce_conn_conf *conf)
{
	return conf->mtu_bytes && conf->mtu_bytes < dev->active_mtu_bytes ? conf->mtu_bytes
									  : dev->active_mtu_bytes;
}

static int ask_connection(
	struct uroce_conn *conn, const struct uroce_conn_conf *conf, uint64_t service_id)
{
	const struct uroce_qp *qp = conn->qp;
	uint32_t most = qp->caps.max_dest_rd_atomic;
	const struct uroce_cm_connect connect = {
		.route = conn->route,
		.service_id = service_id,
		.local_port = conn->local_port,
		.user = (uintptr_t)conn,
		.qpn = qp->qpn,
		.psn = conn->psn,
		.qp_type = qp->caps.type,
		.path_mtu_bytes = mtu_of(conn->channel->manager->dev, conf),
		.responder_resources = choose(conf->max_dest_rd_atomic, most, most),
		.initiator_depth =
			choose(conf->max_rd_atomic, RD_ATOMIC_DEFAULT, UROCE_RD_ATOMIC_MAX),
		.retry_count = choose(conf->retry_cnt, RETRY_DEFAULT, UINT8_MAX),
		.rnr_retry = choose(conf->rnr_retry, RETRY_DEFAULT, UINT8_MAX),
		.ack_timeout = choose(conf->timeout, TIMEOUT_DEFAULT, UINT8_MAX),
		.srq = qp->srq != NULL,
		.private_data = conf->private_data,
		.private_bytes = conf->private_bytes,
	};

	return uroce_cm_connect(conn->channel->manager->cm, &connect, &conn->id);
}

static int ask_datagrams(
	struct uroce_conn *conn, const struct uroce_conn_conf *conf, uint64_t service_id)
{
	const struct uroce_cm_resolve resolve = {
		.route = conn->route,
		.service_id = service_id,
		.local_port = conn->local_port,
		.user = (uintptr_t)conn,
		.private_data = conf->private_data,
		.private_bytes = conf->private_bytes,
	};

	return uroce_cm_resolve(conn->channel->manager->cm, &resolve, &conn->id);
}

static int ask(struct uroce_conn *conn, const struct uroce_conn_conf *conf)
{
	struct conn_manager *manager = conn->channel->manager;
	int err;

	conn->local_port = (uint16_t)(EPHEMERAL_FIRST + (uroce_random64() & EPHEMERAL_MASK));
	conn->remote_port = conf->port;
	uroce_conn_lock(manager);
	err = conn->kind == CONN_DATAGRAMS
		? ask_datagrams(conn, conf, uroce_cm_service_id(UROCE_CM_PS_UDP, conf->port))
		: ask_connection(conn, conf, uroce_cm_service_id(UROCE_CM_PS_TCP, conf->port));
	if (!err)
		uroce_conn_begin_to_ask(&manager->asking, conn);
	uroce_conn_unlock(manager);
	return told(err);
}

int uroce_conn_connect(struct uroce_conn_channel *channel, const struct uroce_conn_conf *conf,
	struct uroce_conn **out)
{
	struct uroce_conn *conn;
	int err;

	if (!conf->qp || conf->port == 0)
		return -EINVAL;
	conn = add(channel, conf->qp->caps.type == UROCE_QP_UD ? CONN_DATAGRAMS : CONN_CONNECTION,
		conf->context);
	if (!conn)
		return -ENOMEM;
	err = find_route(channel->manager->dev, conf, &conn->route);
	if (!err)
		err = take_qp(conn, conf);
	if (!err)
		err = ask(conn, conf);
	if (err)
		discard(conn);
	else
		*out = conn;
	return err;
}

/* ---- listening ---- */

int uroce_conn_listen(struct uroce_conn_channel *channel, const struct uroce_conn_listen_conf *conf,
	struct uroce_conn **out)
{
	struct conn_manager *manager = channel->manager;
	struct uroce_cm_listen listen = {
		.service_id = uroce_cm_service_id(
			conf->datagrams ? UROCE_CM_PS_UDP : UROCE_CM_PS_TCP, conf->port),
		.backlog = conf->backlog ? conf->backlog : BACKLOG_DEFAULT};
	struct uroce_conn *conn;
	int err;

	if (conf->port == 0 || (conf->addr && parse(conf->addr, &listen.addr) != 0))
		return -EINVAL;
	if (conf->addr && !uroce_addr_own(manager->dev, listen.addr, 0))
		return -EADDRNOTAVAIL;
	conn = add(channel, CONN_LISTENER, conf->context);
	if (!conn)
		return -ENOMEM;
	conn->local_port = conf->port;
	listen.user = (uintptr_t)conn;
	uroce_conn_lock(manager);
	err = uroce_cm_listen(manager->cm, &listen, &conn->id);
	uroce_conn_unlock(manager);
	if (err)
		discard(conn);
	else
		*out = conn;
	return told(err);
}

/* ---- answering ---- */

static bool is_asked(struct uroce_conn *conn)
{
	bool asked;

	pthread_mutex_lock(&conn->channel->manager->lock);
	asked = conn->state == CONN_ASKED;
	pthread_mutex_unlock(&conn->channel->manager->lock);
	return asked;
}

static int answer(struct uroce_conn *conn, const struct uroce_conn_conf *conf)
{
	struct conn_manager *manager = conn->channel->manager;
	const struct uroce_qp *qp = conn->qp;
	const struct uroce_cm_accept accept = {
		.user = (uintptr_t)conn,
		.qpn = qp->qpn,
		.psn = conn->psn,
		.responder_resources = conn->params.responder_resources,
		.initiator_depth = conn->params.initiator_depth,
		.rnr_retry = choose(conf->rnr_retry, RETRY_DEFAULT, UINT8_MAX),
		.srq = qp->srq != NULL,
		.private_data = conf->private_data,
		.private_bytes = conf->private_bytes,
	};
	int err;

	uroce_conn_lock(manager);
	err = uroce_cm_accept(manager->cm, conn->id, &accept);
	if (!err)
		conn->state = CONN_ANSWERS;
	uroce_conn_unlock(manager);
	return told(err);
}

/* What both sides can; less than what the peer offered is taken by the manager. */
static void agree(struct uroce_conn *conn, const struct uroce_conn_conf *conf)
{
	struct uroce_cm_params *params = &conn->params;

	params->responder_resources = choose(conf->max_dest_rd_atomic,
		conf->qp->caps.max_dest_rd_atomic, params->responder_resources);
	if (params->responder_resources > conf->qp->caps.max_dest_rd_atomic)
		params->responder_resources = (uint8_t)conf->qp->caps.max_dest_rd_atomic;
	params->initiator_depth =
		choose(conf->max_rd_atomic, RD_ATOMIC_DEFAULT, params->initiator_depth);
}

static int accept_connection(struct uroce_conn *conn, const struct uroce_conn_conf *conf)
{
	struct uroce_cm_params offered = conn->params;
	int err;

	if (conf->qp->caps.type != conn->params.qp_type ||
		conf->private_bytes > UROCE_CONN_ACCEPT_PRIVATE_BYTES)
		return -EINVAL;
	err = take_qp(conn, conf);
	if (!err) {
		agree(conn, conf);
		err = uroce_conn_move_qp(conn);
	}
	if (!err)
		err = answer(conn, conf);
	if (err) {
		uroce_conn_end_qp(conn);
		uroce_conn_give_qp(conn);
		conn->params = offered;
	}
	return err;
}

static int reply(struct uroce_conn *conn, const struct uroce_cm_sidr_reply *answer)
{
	struct conn_manager *manager = conn->channel->manager;
	int err;

	uroce_conn_lock(manager);
	err = uroce_cm_sidr_reply(manager->cm, conn->id, answer);
	if (!err)
		conn->state = CONN_OVER;
	uroce_conn_unlock(manager);
	return told(err);
}

static int accept_datagrams(struct uroce_conn *conn, const struct uroce_conn_conf *conf)
{
	struct uroce_cm_sidr_reply answer = {.qpn = conf->qp->qpn,
		.private_data = conf->private_data,
		.private_bytes = conf->private_bytes};
	struct uroce_qp_modify_attr attr;
	int err = conf->qp->caps.type == UROCE_QP_UD ? uroce_qp_query(conf->qp, &attr) : -EINVAL;

	if (err || attr.state != UROCE_QP_RTS)
		return err ? err : -EINVAL;
	answer.qkey = attr.qkey;
	return reply(conn, &answer);
}

int uroce_conn_accept(struct uroce_conn *conn, const struct uroce_conn_conf *conf)
{
	int err;

	if (!conf->qp ||
		((const struct qp_shell *)conf->qp->owner)->dev != conn->channel->manager->dev)
		return -EINVAL;
	uroce_conn_channel_lock(conn->channel);
	if (!is_asked(conn))
		err = -ENOTCONN;
	else if (conn->kind == CONN_DATAGRAMS)
		err = accept_datagrams(conn, conf);
	else
		err = accept_connection(conn, conf);
	if (!err && conf->context)
		conn->context = conf->context;
	uroce_conn_channel_unlock(conn->channel);
	return err;
}

static int refuse(struct uroce_conn *conn, const void *private_data, uint32_t private_bytes)
{
	const struct uroce_cm_refusal refusal = {.reason = UROCE_CM_REJECT_CONSUMER,
		.private_data = private_data,
		.private_bytes = private_bytes};
	struct conn_manager *manager = conn->channel->manager;
	int err;

	uroce_conn_lock(manager);
	err = uroce_cm_reject(manager->cm, conn->id, &refusal);
	if (!err)
		conn->state = CONN_OVER;
	uroce_conn_unlock(manager);
	return told(err);
}

int uroce_conn_reject(struct uroce_conn *conn, const void *private_data, uint32_t private_bytes)
{
	const struct uroce_cm_sidr_reply no = {.status = UROCE_CM_SIDR_REJECTED,
		.private_data = private_data,
		.private_bytes = private_bytes};

	if (!is_asked(conn))
		return -ENOTCONN;
	return conn->kind == CONN_DATAGRAMS ? reply(conn, &no)
					    : refuse(conn, private_data, private_bytes);
}

/* ---- ending ---- */

static bool is_connected(struct uroce_conn *conn)
{
	bool connected;

	pthread_mutex_lock(&conn->channel->manager->lock);
	connected = conn->kind == CONN_CONNECTION &&
		(conn->state == CONN_UP || conn->state == CONN_ANSWERS);
	pthread_mutex_unlock(&conn->channel->manager->lock);
	return connected;
}

int uroce_conn_disconnect(struct uroce_conn *conn)
{
	struct uroce_conn_channel *channel = conn->channel;
	int err;

	uroce_conn_channel_lock(channel);
	err = is_connected(conn) ? uroce_conn_end_qp(conn) : -ENOTCONN;
	if (!err) {
		uroce_conn_lock(channel->manager);
		err = uroce_cm_disconnect(channel->manager->cm, conn->id);
		uroce_conn_unlock(channel->manager);
	}
	uroce_conn_channel_unlock(channel);
	return told(err);
}

void uroce_conn_destroy(struct uroce_conn *conn)
{
	struct uroce_conn_channel *channel = conn->channel;

	uroce_conn_channel_lock(channel);
	uroce_conn_lock(channel->manager);
	uroce_conn_remove(conn);
	uroce_conn_unlock(channel->manager);
	/* A worker that does not poll leaves it as it is; its peer does not speak to it any more.
	 */
	uroce_conn_end_qp(conn);
	uroce_conn_give_qp(conn);
	uroce_conn_channel_unlock(channel);
	free(conn);
}

struct uroce_qp *uroce_conn_qp(const struct uroce_conn *conn)
{
	return conn->qp;
}
