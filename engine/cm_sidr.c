/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Resolution of datagram services (SIDR): which queue pair and Q_Key a service has.
 *
 * One question, one answer, nothing that must be ended. An answer is remembered for a while, so
 * that a question that was repeated on the way does not reach the application twice.
 */
#include "cm_state.h"

#include <errno.h>

int uroce_cm_resolve(struct uroce_cm *cm, const struct uroce_cm_resolve *resolve, uint32_t *number)
{
	struct uroce_cm_id *id;

	if (!uroce_cm_route_ok(&resolve->route) ||
		resolve->private_bytes >
			uroce_cm_private_room(UROCE_MAD_SIDR_REQ, resolve->service_id))
		return -EINVAL;
	id = uroce_cm_id_take(cm);
	if (!id)
		return -ENOSPC;
	id->state = UROCE_CM_STATE_SIDR_REQ_SENT;
	id->active = id->known = true;
	id->tid = (uint64_t)cm->tid_high << 32 | id->number;
	id->user = resolve->user;
	id->service_id = resolve->service_id;
	id->route = resolve->route;
	id->max_retries = cm->conf.timing.retries;
	id->response_timeout = cm->conf.timing.remote_response_timeout;
	uroce_cm_keep_request(
		id, resolve->local_port, resolve->private_data, resolve->private_bytes);
	uroce_cm_id_owe(cm, id, UROCE_CM_OWE_SIDR_REQ);
	*number = id->number;
	return 0;
}

void uroce_cm_answer_sidr(struct uroce_cm *cm, struct uroce_cm_id *id, uint8_t status)
{
	if (id->destroyed || status != UROCE_CM_SIDR_VALID) {
		id->sidr_qpn = id->sidr_qkey = 0;
		uroce_cm_id_keep(id, NULL, 0, NULL, 0);
	}
	uroce_cm_listener_release(cm, id);
	id->state = UROCE_CM_STATE_SIDR_REP_SENT;
	id->reason = status;
	uroce_cm_id_owe(cm, id, UROCE_CM_OWE_SIDR_REP);
	if (id->destroyed)
		uroce_cm_id_enter(id, UROCE_CM_LIST_LIFE, &cm->forgotten);
}

int uroce_cm_sidr_reply(
	struct uroce_cm *cm, uint32_t number, const struct uroce_cm_sidr_reply *reply)
{
	struct uroce_cm_id *id = uroce_cm_id_find_known(cm, number);

	if (!id)
		return -ENOENT;
	if ((reply->status == UROCE_CM_SIDR_VALID && !uroce_cm_qpn_ok(reply->qpn)) ||
		reply->private_bytes > UROCE_CM_SIDR_REP_PRIVATE_BYTES)
		return -EINVAL;
	if (id->state != UROCE_CM_STATE_SIDR_REQ_RCVD)
		return -ENOTCONN;
	id->sidr_qpn = reply->qpn;
	id->sidr_qkey = reply->qkey;
	uroce_cm_answer_sidr(cm, id, reply->status);
	uroce_cm_id_keep(id, reply->private_data, reply->private_bytes, NULL, 0);
	return 0;
}

static enum uroce_cm_drop begin(struct uroce_cm *cm, const struct uroce_cm_in *in)
{
	const struct uroce_mad *mad = in->mad;
	struct uroce_cm_listener *listener =
		uroce_cm_listener_find(cm, mad->sidr_service_id, in->from->dst);
	struct uroce_cm_id *id;

	if (!listener || !uroce_cm_has_good_header(mad))
		return uroce_cm_reply_sidr(cm, in, UROCE_CM_SIDR_UNSUPPORTED);
	id = uroce_cm_listener_take(cm, listener, in);
	if (!id)
		return uroce_cm_reply_sidr(cm, in, UROCE_CM_SIDR_NO_QP);
	id->state = UROCE_CM_STATE_SIDR_REQ_RCVD;
	uroce_cm_keep_received(id, mad);
	uroce_cm_id_add_by(cm, id, UROCE_CM_BY_REMOTE_SIDR, in->from->src, mad->local_id);
	uroce_cm_id_tell(cm, id, UROCE_CM_SIDR_REQUEST);
	return UROCE_CM_ACCEPTED;
}

enum uroce_cm_drop uroce_cm_rx_sidr_req(struct uroce_cm *cm, const struct uroce_cm_in *in)
{
	struct uroce_cm_id *same =
		uroce_cm_id_find_by(cm, UROCE_CM_BY_REMOTE_SIDR, in->from->src, in->mad->local_id);

	/* Under the id of an old one another service may be asked for. */
	if (same && same->service_id != in->mad->sidr_service_id)
		return uroce_cm_reply_sidr(cm, in, UROCE_CM_SIDR_REJECTED);
	if (!same)
		return begin(cm, in);
	if (same->state == UROCE_CM_STATE_SIDR_REP_SENT)
		uroce_cm_id_owe(cm, same, UROCE_CM_OWE_SIDR_REP);
	return UROCE_CM_DROP_DUPLICATE;
}

enum uroce_cm_drop uroce_cm_rx_sidr_rep(
	struct uroce_cm *cm, struct uroce_cm_id *id, const struct uroce_cm_in *in)
{
	const struct uroce_mad_sidr_rep *rep = &in->mad->sidr_rep;

	if (id->state != UROCE_CM_STATE_SIDR_REQ_SENT)
		return UROCE_CM_DROP_STATE;
	if (rep->service_id != id->service_id)
		return UROCE_CM_DROP_NOT_PEER;
	id->reason = rep->status;
	id->sidr_qpn = rep->qpn;
	id->sidr_qkey = rep->qkey;
	uroce_cm_id_keep(id, in->mad->private_data, in->mad->private_bytes, NULL, 0);
	uroce_cm_tell_end(cm, id, UROCE_CM_SIDR_RESOLVED);
	uroce_cm_enter_closed(cm, id);
	return UROCE_CM_ACCEPTED;
}
