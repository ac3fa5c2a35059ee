/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The passive side: takes requests for its listeners, and waits until the peer confirms.
 *
 * A request that is not well is refused without a place of its own. One that is has a place, and
 * each repetition of it gets the answer that the first one got, or is told to wait (MRA) while the
 * application thinks.
 */
#include "cm_state.h"

#include <errno.h>

static enum uroce_cm_drop rx_duplicate(
	struct uroce_cm *cm, struct uroce_cm_id *id, const struct uroce_cm_in *in)
{
	switch (id->state) {
	case UROCE_CM_STATE_REQ_RCVD:
		uroce_cm_id_owe(cm, id, UROCE_CM_OWE_MRA);
		break;
	case UROCE_CM_STATE_REP_SENT:
		uroce_cm_id_owe(cm, id, UROCE_CM_OWE_REP);
		break;
	case UROCE_CM_STATE_REFUSED:
		uroce_cm_id_owe(cm, id, UROCE_CM_OWE_REJ);
		break;
	case UROCE_CM_STATE_TIMEWAIT:
		return uroce_cm_reply_rej(cm, in, UROCE_CM_REJECT_STALE, NULL, 0);
	case UROCE_CM_STATE_FREE:
	case UROCE_CM_STATE_REQ_SENT:
	case UROCE_CM_STATE_REP_RCVD:
	case UROCE_CM_STATE_ESTABLISHED:
	case UROCE_CM_STATE_DREQ_SENT:
	case UROCE_CM_STATE_SIDR_REQ_SENT:
	case UROCE_CM_STATE_SIDR_REQ_RCVD:
	case UROCE_CM_STATE_SIDR_REP_SENT:
	case UROCE_CM_STATE_CLOSED:
	case UROCE_CM_STATE_COUNT:
		break;
	}
	return UROCE_CM_DROP_DUPLICATE;
}

/* The same request, or another one under the id of an old one. */
static bool is_same(const struct uroce_cm_id *id, const struct uroce_mad_req *req)
{
	return id->params.remote_qpn == req->end.qpn && id->params.remote_psn == req->end.psn &&
		id->service_id == req->service_id;
}

/* 0, or why this request cannot be taken, whoever listens; additional information in ari. */
static uint16_t check(const struct uroce_cm *cm, const struct uroce_cm_in *in,
	uint8_t ari[UROCE_GID_BYTES], uint32_t *ari_bytes)
{
	const struct uroce_mad_req *req = &in->mad->req;
	uint32_t mtu_bytes = uroce_cm_mtu_bytes(req->path_mtu);

	if (req->transport != UROCE_MAD_RC && req->transport != UROCE_MAD_UC)
		return UROCE_CM_REJECT_INVALID_TRANSPORT;
	if (!uroce_gid_equal(req->local_gid, in->from->src) ||
		!uroce_gid_equal(req->remote_gid, in->from->dst)) {
		uroce_gid_store(ari, in->from->dst);
		*ari_bytes = UROCE_GID_BYTES;
		return UROCE_CM_REJECT_INVALID_GID;
	}
	if ((req->pkey & 0x7fff) != 0x7fff)
		return UROCE_CM_REJECT_UNSUPPORTED;
	if (mtu_bytes == 0 || mtu_bytes > cm->conf.mtu_bytes) {
		ari[0] = uroce_cm_mtu_of(cm->conf.mtu_bytes);
		*ari_bytes = 1;
		return UROCE_CM_REJECT_INVALID_MTU;
	}
	return 0;
}

static void take_req(const struct uroce_cm *cm, struct uroce_cm_id *id, const struct uroce_mad *mad)
{
	const struct uroce_mad_req *req = &mad->req;
	uint8_t retries = cm->conf.timing.retries;

	id->state = UROCE_CM_STATE_REQ_RCVD;
	id->response_timeout = req->local_response_timeout;
	id->max_retries = req->max_cm_retries < retries ? req->max_cm_retries : retries;
	id->route.flow_label = req->flow_label;
	id->route.traffic_class = req->traffic_class;
	id->route.hop_limit = req->hop_limit;
	id->params = (struct uroce_cm_params){
		.qp_type = req->transport == UROCE_MAD_RC ? UROCE_QP_RC : UROCE_QP_UC,
		.remote_qpn = req->end.qpn,
		.remote_psn = req->end.psn,
		.remote_qkey = req->end.qkey,
		.path_mtu_bytes = uroce_cm_mtu_bytes(req->path_mtu),
		.responder_resources = req->end.initiator_depth,
		.initiator_depth = req->end.responder_resources,
		.retry_count = req->retry_count,
		.rnr_retry = req->end.rnr_retry,
		.ack_timeout = req->ack_timeout,
		.srq = req->end.srq,
		.flow_control = req->end.flow_control,
	};
}

static enum uroce_cm_drop begin(struct uroce_cm *cm, const struct uroce_cm_in *in)
{
	const struct uroce_mad *mad = in->mad;
	struct uroce_cm_listener *listener =
		uroce_cm_listener_find(cm, mad->req.service_id, in->from->dst);
	struct uroce_cm_id *id;

	if (!listener)
		return uroce_cm_reply_rej(cm, in, UROCE_CM_REJECT_INVALID_SERVICE_ID, NULL, 0);
	if (!uroce_cm_has_good_header(mad))
		return uroce_cm_reply_rej(cm, in, UROCE_CM_REJECT_UNSUPPORTED, NULL, 0);
	id = uroce_cm_listener_take(cm, listener, in);
	if (!id)
		return uroce_cm_reply_rej(cm, in, UROCE_CM_REJECT_NO_RESOURCES, NULL, 0);
	take_req(cm, id, mad);
	uroce_cm_keep_received(id, mad);
	uroce_cm_id_add_by(cm, id, UROCE_CM_BY_REMOTE_ID, in->from->src, mad->local_id);
	uroce_cm_id_add_by(cm, id, UROCE_CM_BY_REMOTE_QPN, in->from->src, mad->req.end.qpn);
	uroce_cm_id_tell(cm, id, UROCE_CM_CONNECT_REQUEST);
	return UROCE_CM_ACCEPTED;
}

enum uroce_cm_drop uroce_cm_rx_req(struct uroce_cm *cm, const struct uroce_cm_in *in)
{
	const struct uroce_mad *mad = in->mad;
	struct uroce_gid peer = in->from->src;
	struct uroce_cm_id *same =
		uroce_cm_id_find_by(cm, UROCE_CM_BY_REMOTE_ID, peer, mad->local_id);
	struct uroce_cm_id *old;
	uint8_t ari[UROCE_GID_BYTES];
	uint32_t ari_bytes = 0;
	uint16_t reason;

	if (same && is_same(same, &mad->req))
		return rx_duplicate(cm, same, in);
	reason = check(cm, in, ari, &ari_bytes);
	if (reason)
		return uroce_cm_reply_rej(cm, in, reason, ari, ari_bytes);
	old = uroce_cm_id_find_by(cm, UROCE_CM_BY_REMOTE_QPN, peer, mad->req.end.qpn);
	if (old) {
		uroce_cm_end_stale(cm, old);
		return uroce_cm_reply_rej(cm, in, UROCE_CM_REJECT_STALE, NULL, 0);
	}
	if (same)
		return uroce_cm_reply_rej(cm, in, UROCE_CM_REJECT_DUPLICATE_COMM_ID, NULL, 0);
	return begin(cm, in);
}

int uroce_cm_accept(struct uroce_cm *cm, uint32_t number, const struct uroce_cm_accept *accept)
{
	struct uroce_cm_id *id = uroce_cm_id_find_known(cm, number);
	struct uroce_cm_params *params;

	if (!id)
		return -ENOENT;
	if (!uroce_cm_qpn_ok(accept->qpn) || accept->psn > 0xffffff || accept->rnr_retry > 7 ||
		accept->private_bytes > UROCE_CM_REP_PRIVATE_BYTES)
		return -EINVAL;
	if (id->state != UROCE_CM_STATE_REQ_RCVD)
		return -ENOTCONN;
	if (!uroce_cm_claim_qpn(cm, id, accept->qpn))
		return -EADDRINUSE;
	params = &id->params;
	if (params->responder_resources > accept->responder_resources)
		params->responder_resources = accept->responder_resources;
	if (params->initiator_depth > accept->initiator_depth)
		params->initiator_depth = accept->initiator_depth;
	id->user = accept->user;
	id->psn = accept->psn;
	id->rnr_retry = accept->rnr_retry;
	id->srq = accept->srq;
	id->flow_control = accept->flow_control;
	uroce_cm_id_keep(id, accept->private_data, accept->private_bytes, NULL, 0);
	uroce_cm_id_settle(id);
	id->state = UROCE_CM_STATE_REP_SENT;
	uroce_cm_id_owe(cm, id, UROCE_CM_OWE_REP);
	return 0;
}

void uroce_cm_build_rep(
	const struct uroce_cm *cm, const struct uroce_cm_id *id, struct uroce_mad *mad)
{
	mad->rep = (struct uroce_mad_rep){
		.end =
			{
				.ca_guid = cm->conf.ca_guid,
				.qpn = id->qpn,
				.psn = id->psn,
				.responder_resources = id->params.responder_resources,
				.initiator_depth = id->params.initiator_depth,
				.rnr_retry = id->rnr_retry,
				.srq = id->srq,
				.flow_control = id->flow_control,
			},
		.target_ack_delay = cm->conf.timing.target_ack_delay,
	};
}

enum uroce_cm_drop uroce_cm_rx_rtu(
	struct uroce_cm *cm, struct uroce_cm_id *id, const struct uroce_cm_in *in)
{
	(void)in;
	if (id->active)
		return UROCE_CM_DROP_STATE;
	if (id->state == UROCE_CM_STATE_REP_SENT) {
		uroce_cm_enter_established(cm, id);
		uroce_cm_id_tell(cm, id, UROCE_CM_ESTABLISHED);
		return UROCE_CM_ACCEPTED;
	}
	if (id->state == UROCE_CM_STATE_REFUSED) {
		/* The refusal was lost: the peer believes in what is over. */
		uroce_cm_id_owe(cm, id, UROCE_CM_OWE_REJ);
		return UROCE_CM_DROP_STATE;
	}
	return id->state == UROCE_CM_STATE_ESTABLISHED ? UROCE_CM_DROP_DUPLICATE
						       : UROCE_CM_DROP_STATE;
}

int uroce_cm_received(struct uroce_cm *cm, uint32_t number)
{
	struct uroce_cm_id *id = uroce_cm_id_find_known(cm, number);

	if (!id)
		return -ENOENT;
	if (id->state == UROCE_CM_STATE_ESTABLISHED)
		return 0;
	if (id->state != UROCE_CM_STATE_REP_SENT)
		return -ENOTCONN;
	uroce_cm_enter_established(cm, id);
	uroce_cm_id_tell(cm, id, UROCE_CM_ESTABLISHED);
	return 0;
}
