/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Answers to strangers: to messages after which nothing is remembered.
 *
 * What they need is a ring of their own, so that a flood of requests that are refused takes
 * neither places nor more memory than the ring. When it is full the message is as good as lost,
 * and who meant it asks again.
 */
#include "cm_state.h"

static enum uroce_cm_drop push(
	struct uroce_cm *cm, const struct uroce_cm_reply *reply, enum uroce_cm_drop drop)
{
	if (cm->reply_tail - cm->reply_head >= cm->conf.max_replies)
		return UROCE_CM_DROP_NO_ROOM;
	cm->replies[cm->reply_tail++ % cm->conf.max_replies] = *reply;
	return drop;
}

static struct uroce_cm_reply reply_to(const struct uroce_cm_in *in, enum uroce_mad_attr attr)
{
	return (struct uroce_cm_reply){
		.attr = attr,
		.route = uroce_cm_route_back(in->from),
		.tid = in->mad->tid,
		.local_id = in->mad->remote_id,
		.remote_id = in->mad->local_id,
	};
}

enum uroce_cm_drop uroce_cm_reply_rej(struct uroce_cm *cm, const struct uroce_cm_in *in,
	uint16_t reason, const void *ari, uint32_t ari_bytes)
{
	struct uroce_cm_reply reply = reply_to(in, UROCE_MAD_REJ);

	reply.reason = reason;
	reply.answered = in->mad->attr == UROCE_MAD_REQ ? UROCE_MAD_TO_REQ
		: in->mad->attr == UROCE_MAD_REP	? UROCE_MAD_TO_REP
							: UROCE_MAD_TO_OTHER;
	reply.ari_bytes = (uint8_t)ari_bytes;
	if (ari_bytes > 0)
		memcpy(reply.ari, ari, ari_bytes);
	return push(cm, &reply, UROCE_CM_DROP_REFUSED);
}

enum uroce_cm_drop uroce_cm_reply_drep(struct uroce_cm *cm, const struct uroce_cm_in *in)
{
	const struct uroce_cm_reply reply = reply_to(in, UROCE_MAD_DREP);

	return push(cm, &reply, UROCE_CM_DROP_ID_UNKNOWN);
}

enum uroce_cm_drop uroce_cm_reply_sidr(
	struct uroce_cm *cm, const struct uroce_cm_in *in, uint8_t status)
{
	struct uroce_cm_reply reply = reply_to(in, UROCE_MAD_SIDR_REP);

	reply.service_id = in->mad->sidr_service_id;
	reply.reason = status;
	return push(cm, &reply, UROCE_CM_DROP_REFUSED);
}

bool uroce_cm_reply_tx(
	struct uroce_cm *cm, uint8_t mad[UROCE_CM_MAD_BYTES], struct uroce_cm_route *to)
{
	const struct uroce_cm_reply *reply = &cm->replies[cm->reply_head % cm->conf.max_replies];
	struct uroce_mad out;

	if (cm->reply_head == cm->reply_tail)
		return false;
	out = (struct uroce_mad){
		.attr = reply->attr,
		.tid = reply->tid,
		.local_id = reply->local_id,
		.remote_id = reply->remote_id,
	};
	if (reply->attr == UROCE_MAD_REJ) {
		out.rej = (struct uroce_mad_rej){.answered = reply->answered,
			.reason = reply->reason,
			.ari = reply->ari,
			.ari_bytes = reply->ari_bytes};
		cm->counters.tx_rej++;
	} else if (reply->attr == UROCE_MAD_SIDR_REP) {
		out.sidr_rep = (struct uroce_mad_sidr_rep){
			.service_id = reply->service_id, .status = (uint8_t)reply->reason};
		cm->counters.tx_sidr_rep++;
	} else {
		cm->counters.tx_drep++;
	}
	uroce_mad_build(mad, &out);
	*to = reply->route;
	cm->reply_head++;
	cm->counters.tx_mads++;
	return true;
}
