/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The active side: asks for a connection, and confirms what the peer accepted.
 *
 * A REP is answered when the application has its queue pair ready; until then a repeated one is
 * told to wait (MRA), and after that each repeated one is confirmed again.
 */
#include "cm_state.h"

#include <errno.h>

enum {
	HOP_LIMIT_DEFAULT = 64,
	PKEY_DEFAULT = 0xffff,
};

static bool is_in_range(const struct uroce_cm *cm, const struct uroce_cm_connect *c)
{
	return (c->qp_type == UROCE_QP_RC || c->qp_type == UROCE_QP_UC) &&
		uroce_cm_qpn_ok(c->qpn) && c->psn <= 0xffffff &&
		uroce_cm_mtu_of(c->path_mtu_bytes) && c->path_mtu_bytes <= cm->conf.mtu_bytes &&
		c->retry_count <= 7 && c->rnr_retry <= 7 && c->ack_timeout <= 31 &&
		uroce_cm_route_ok(&c->route);
}

/* A place that asks for something. */
static void begin(struct uroce_cm *cm, struct uroce_cm_id *id, const struct uroce_cm_connect *c)
{
	id->state = UROCE_CM_STATE_REQ_SENT;
	id->active = id->known = true;
	id->tid = (uint64_t)cm->tid_high << 32 | id->number;
	id->user = c->user;
	id->service_id = c->service_id;
	id->route = c->route;
	id->psn = c->psn;
	id->rnr_retry = c->rnr_retry;
	id->srq = c->srq;
	id->flow_control = c->flow_control;
	id->max_retries = cm->conf.timing.retries;
	id->response_timeout = cm->conf.timing.remote_response_timeout;
	id->params = (struct uroce_cm_params){
		.qp_type = c->qp_type,
		.path_mtu_bytes = c->path_mtu_bytes,
		.responder_resources = c->responder_resources,
		.initiator_depth = c->initiator_depth,
		.retry_count = c->retry_count,
		.ack_timeout = c->ack_timeout,
	};
	uroce_cm_id_owe(cm, id, UROCE_CM_OWE_REQ);
}

int uroce_cm_connect(struct uroce_cm *cm, const struct uroce_cm_connect *connect, uint32_t *number)
{
	struct uroce_cm_id *id;

	if (!is_in_range(cm, connect) ||
		connect->private_bytes > uroce_cm_private_room(UROCE_MAD_REQ, connect->service_id))
		return -EINVAL;
	id = uroce_cm_id_take(cm);
	if (!id)
		return -ENOSPC;
	if (!uroce_cm_claim_qpn(cm, id, connect->qpn)) {
		uroce_cm_id_free(cm, id);
		return -EADDRINUSE;
	}
	begin(cm, id, connect);
	uroce_cm_keep_request(
		id, connect->local_port, connect->private_data, connect->private_bytes);
	*number = id->number;
	return 0;
}

void uroce_cm_build_req(
	const struct uroce_cm *cm, const struct uroce_cm_id *id, struct uroce_mad *mad)
{
	const struct uroce_cm_timing *timing = &cm->conf.timing;
	const struct uroce_cm_params *params = &id->params;

	mad->req = (struct uroce_mad_req){
		.end =
			{
				.ca_guid = cm->conf.ca_guid,
				.qpn = id->qpn,
				.psn = id->psn,
				.responder_resources = params->responder_resources,
				.initiator_depth = params->initiator_depth,
				.rnr_retry = id->rnr_retry,
				.srq = id->srq,
				.flow_control = id->flow_control,
			},
		.service_id = id->service_id,
		.local_gid = id->route.src,
		.remote_gid = id->route.dst,
		.flow_label = id->route.flow_label,
		.pkey = PKEY_DEFAULT,
		.traffic_class = id->route.traffic_class,
		.hop_limit = id->route.hop_limit ? id->route.hop_limit : HOP_LIMIT_DEFAULT,
		.transport = params->qp_type == UROCE_QP_RC ? UROCE_MAD_RC : UROCE_MAD_UC,
		.path_mtu = uroce_cm_mtu_of(params->path_mtu_bytes),
		.retry_count = params->retry_count,
		.ack_timeout = params->ack_timeout,
		.remote_response_timeout = timing->remote_response_timeout,
		.local_response_timeout = timing->local_response_timeout,
		.max_cm_retries = timing->max_cm_retries,
	};
}

static uint8_t least(uint8_t a, uint8_t b)
{
	return a < b ? a : b;
}

static void take_rep(struct uroce_cm_id *id, const struct uroce_mad *mad)
{
	const struct uroce_mad_end *end = &mad->rep.end;
	struct uroce_cm_params *params = &id->params;

	id->remote_id = mad->local_id;
	params->remote_qpn = end->qpn;
	params->remote_psn = end->psn;
	params->remote_qkey = end->qkey;
	params->responder_resources = least(params->responder_resources, end->initiator_depth);
	params->initiator_depth = least(params->initiator_depth, end->responder_resources);
	params->rnr_retry = end->rnr_retry;
	params->target_ack_delay = mad->rep.target_ack_delay;
	params->srq = end->srq;
	params->flow_control = end->flow_control;
	uroce_cm_id_keep(id, mad->private_data, mad->private_bytes, NULL, 0);
}

/* The first REP of ours that is in order, unless its queue pair is in another connection. */
static enum uroce_cm_drop accept_rep(
	struct uroce_cm *cm, struct uroce_cm_id *id, const struct uroce_cm_in *in)
{
	struct uroce_gid peer = id->route.dst;
	uint32_t qpn = in->mad->rep.end.qpn;
	struct uroce_cm_id *old = uroce_cm_id_find_by(cm, UROCE_CM_BY_REMOTE_QPN, peer, qpn);

	if (old) {
		uroce_cm_end_stale(cm, old);
		id->remote_id = in->mad->local_id;
		uroce_cm_id_keep(id, NULL, 0, NULL, 0);
		uroce_cm_tell_end(cm, id, UROCE_CM_REJECTED);
		uroce_cm_enter_refused(cm, id, UROCE_CM_REJECT_STALE, UROCE_MAD_TO_REP);
		return UROCE_CM_DROP_REFUSED;
	}
	take_rep(id, in->mad);
	uroce_cm_id_add_by(cm, id, UROCE_CM_BY_REMOTE_QPN, peer, qpn);
	uroce_cm_id_settle(id);
	id->state = UROCE_CM_STATE_REP_RCVD;
	uroce_cm_id_tell(cm, id, UROCE_CM_CONNECT_RESPONSE);
	return UROCE_CM_ACCEPTED;
}

enum uroce_cm_drop uroce_cm_rx_rep(
	struct uroce_cm *cm, struct uroce_cm_id *id, const struct uroce_cm_in *in)
{
	if (!id->active)
		return UROCE_CM_DROP_STATE;
	switch (id->state) {
	case UROCE_CM_STATE_REQ_SENT:
		return accept_rep(cm, id, in);
	case UROCE_CM_STATE_REP_RCVD:
		uroce_cm_id_owe(cm, id, UROCE_CM_OWE_MRA);
		return UROCE_CM_DROP_DUPLICATE;
	case UROCE_CM_STATE_ESTABLISHED:
		uroce_cm_id_owe(cm, id, UROCE_CM_OWE_RTU);
		return UROCE_CM_DROP_DUPLICATE;
	case UROCE_CM_STATE_REFUSED:
		id->remote_id = in->mad->local_id;
		uroce_cm_id_owe(cm, id, UROCE_CM_OWE_REJ);
		return UROCE_CM_DROP_DUPLICATE;
	case UROCE_CM_STATE_TIMEWAIT:
	case UROCE_CM_STATE_CLOSED:
		/* The peer still waits for what will not come. */
		return uroce_cm_reply_rej(cm, in, UROCE_CM_REJECT_INVALID_COMM_ID, NULL, 0);
	case UROCE_CM_STATE_FREE:
	case UROCE_CM_STATE_DREQ_SENT:
	case UROCE_CM_STATE_REQ_RCVD:
	case UROCE_CM_STATE_REP_SENT:
	case UROCE_CM_STATE_SIDR_REQ_SENT:
	case UROCE_CM_STATE_SIDR_REQ_RCVD:
	case UROCE_CM_STATE_SIDR_REP_SENT:
	case UROCE_CM_STATE_COUNT:
		break;
	}
	return UROCE_CM_DROP_STATE;
}

int uroce_cm_established(struct uroce_cm *cm, uint32_t number)
{
	struct uroce_cm_id *id = uroce_cm_id_find_known(cm, number);

	if (!id)
		return -ENOENT;
	if (id->state != UROCE_CM_STATE_REP_RCVD)
		return -ENOTCONN;
	uroce_cm_id_untell(id, 1u << UROCE_CM_CONNECT_RESPONSE);
	uroce_cm_enter_established(cm, id);
	uroce_cm_id_owe(cm, id, UROCE_CM_OWE_RTU);
	return 0;
}
