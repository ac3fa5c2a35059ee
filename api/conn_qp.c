/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The queue pairs of connections: whose they are, and the states that they are moved through.
 *
 * Always in the thread that calls, never in the worker's turn: moving one may mean waiting for
 * another worker.
 */
#include <errno.h>
#include <string.h>

#include "conn.h"

/* For a field of struct uroce_peer in which zero means the default. */
static uint8_t literal(uint8_t value)
{
	return value ? value : (uint8_t)UROCE_TIMEOUT_NONE;
}

int uroce_conn_take_qp(struct uroce_conn *conn, struct uroce_qp *qp)
{
	struct qp_shell *shell = qp->owner;
	bool taken = false;

	if (!atomic_compare_exchange_strong(&shell->is_connected, &taken, true))
		return -EADDRINUSE;
	conn->qp = qp;
	conn->psn = shell->psn;
	return 0;
}

void uroce_conn_give_qp(struct uroce_conn *conn)
{
	if (!conn->qp)
		return;
	atomic_store(&((struct qp_shell *)conn->qp->owner)->is_connected, false);
	conn->qp = NULL;
	conn->is_moved = false;
}

int uroce_conn_prepare_qp(struct uroce_qp *qp)
{
	const struct qp_shell *shell = qp->owner;
	uint32_t state = atomic_load(&shell->state);

	if (state == UROCE_QP_INIT)
		return 0;
	return state == UROCE_QP_RESET ? uroce_qp_prepare(qp) : -EINVAL;
}

int uroce_conn_move_qp(struct uroce_conn *conn)
{
	const struct uroce_cm_params *params = &conn->params;
	const struct uroce_device *dev = conn->channel->manager->dev;
	struct qp_shell *shell = conn->qp->owner;
	struct uroce_peer peer = {
		.qpn = params->remote_qpn,
		/* Starting PSNs are where each end begins to receive: ours is the peer's first. */
		.psn = conn->psn,
		.mtu_bytes = params->path_mtu_bytes,
		.timeout = literal(params->ack_timeout),
		.retry_cnt = literal(params->retry_count),
		.rnr_retry = literal(params->rnr_retry),
		.min_rnr_timer = conn->min_rnr_timer,
		.max_rd_atomic = literal(params->initiator_depth),
		.max_dest_rd_atomic = literal(params->responder_resources),
		.access = conn->access,
		.flow_label = conn->route.flow_label,
		.traffic_class = conn->route.traffic_class,
		.source = uroce_gsi_source(dev, conn->route.src),
	};

	shell->psn = params->remote_psn;
	uroce_gid_store(peer.gid, conn->route.dst);
	conn->is_moved = true;
	return uroce_qp_connect(conn->qp, &peer);
}

int uroce_conn_end_qp(struct uroce_conn *conn)
{
	const struct uroce_qp_modify_attr attr = {.state = UROCE_QP_ERR};
	int err;

	if (!conn->qp || !conn->is_moved)
		return 0;
	err = uroce_qp_modify(conn->qp, &attr, UROCE_QP_ATTR_STATE);
	if (!err)
		conn->is_moved = false;
	return err;
}
