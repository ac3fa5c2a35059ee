/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How connections end, on either side: refused, disconnected, timed out, forgotten.
 *
 * Whoever disconnects is told by DREQ, and answers with DREP at once and for as long as TIMEWAIT
 * lasts; so do both if both disconnect. A place goes when neither the peer nor the application may
 * still ask for it: one that was destroyed early ends what must be ended, and then goes by itself.
 */
#include "cm_state.h"

#include <errno.h>

enum {
	/* Requests and replies that make no sense once the end is known. */
	EVENTS_BEFORE = 1 << UROCE_CM_CONNECT_REQUEST | 1 << UROCE_CM_CONNECT_RESPONSE,
	TIMEWAIT_EXPONENT_MAX = 20, /* 4.3 s */
	TIMEWAIT_EXPONENT_NONE = 16,
};

bool uroce_cm_claim_qpn(struct uroce_cm *cm, struct uroce_cm_id *id, uint32_t qpn)
{
	const struct uroce_gid none = {0, 0};

	if (uroce_cm_id_find_by(cm, UROCE_CM_BY_LOCAL_QPN, none, qpn))
		return false;
	uroce_cm_id_add_by(cm, id, UROCE_CM_BY_LOCAL_QPN, none, qpn);
	id->qpn = qpn;
	return true;
}

void uroce_cm_tell_end(struct uroce_cm *cm, struct uroce_cm_id *id, enum uroce_cm_event_type type)
{
	uroce_cm_id_untell(id, EVENTS_BEFORE);
	if (id->known)
		uroce_cm_id_tell(cm, id, type);
}

void uroce_cm_enter_established(struct uroce_cm *cm, struct uroce_cm_id *id)
{
	uroce_cm_id_settle(id);
	uroce_cm_listener_release(cm, id);
	id->state = UROCE_CM_STATE_ESTABLISHED;
	cm->counters.established++;
}

void uroce_cm_enter_timewait(struct uroce_cm *cm, struct uroce_cm_id *id, uint64_t now_ns)
{
	uint32_t exponent = id->params.ack_timeout;

	if (exponent == 0)
		exponent = TIMEWAIT_EXPONENT_NONE;
	if (exponent > TIMEWAIT_EXPONENT_MAX)
		exponent = TIMEWAIT_EXPONENT_MAX;
	uroce_cm_id_settle(id);
	uroce_cm_listener_release(cm, id);
	id->state = UROCE_CM_STATE_TIMEWAIT;
	uroce_timer_arm(&cm->timers, &id->timer, now_ns + uroce_cm_exponent_ns(exponent));
}

void uroce_cm_enter_refused(struct uroce_cm *cm, struct uroce_cm_id *id, uint16_t reason,
	enum uroce_mad_answered answered)
{
	/* A peer that did accept may have sent frames to our queue pair. */
	bool used = id->state == UROCE_CM_STATE_REP_SENT;

	uroce_cm_id_settle(id);
	uroce_cm_listener_release(cm, id);
	uroce_cm_id_remove_by(cm, id, UROCE_CM_BY_REMOTE_QPN);
	if (!used)
		uroce_cm_id_remove_by(cm, id, UROCE_CM_BY_LOCAL_QPN);
	id->state = UROCE_CM_STATE_REFUSED;
	id->reason = reason;
	id->answered = answered;
	uroce_cm_id_owe(cm, id, UROCE_CM_OWE_REJ);
	if (id->destroyed)
		uroce_cm_id_enter(id, UROCE_CM_LIST_LIFE, &cm->forgotten);
}

void uroce_cm_enter_closed(struct uroce_cm *cm, struct uroce_cm_id *id)
{
	if (id->destroyed || !id->known) {
		uroce_cm_listener_release(cm, id);
		uroce_cm_id_free(cm, id);
		return;
	}
	uroce_cm_id_settle(id);
	uroce_cm_listener_release(cm, id);
	for (uint32_t by = 0; by < UROCE_CM_NUM_KEYS; by++)
		uroce_cm_id_remove_by(cm, id, by);
	id->state = UROCE_CM_STATE_CLOSED;
}

/* The peer is told by DREQ, and DISCONNECTED follows when it answers or does not. */
static void enter_dreq_sent(struct uroce_cm *cm, struct uroce_cm_id *id)
{
	/* What was just confirmed should be heard before. */
	bool confirms = id->owed & UROCE_CM_OWE_RTU;

	uroce_cm_id_untell(id, EVENTS_BEFORE);
	uroce_cm_id_settle(id);
	id->state = UROCE_CM_STATE_DREQ_SENT;
	id->tid = (uint64_t)cm->tid_high << 32 | id->number;
	id->max_retries = cm->conf.timing.retries;
	if (confirms)
		uroce_cm_id_owe(cm, id, UROCE_CM_OWE_RTU);
	uroce_cm_id_owe(cm, id, UROCE_CM_OWE_DREQ);
}

static void refuse_for_timeout(struct uroce_cm *cm, struct uroce_cm_id *id)
{
	uint8_t ari[8];

	/* Who does not know our id yet is to find itself by our GUID and its own (table 109). */
	uroce_store_be64(ari, cm->conf.ca_guid);
	uroce_cm_id_keep(id, NULL, 0, ari, sizeof(ari));
	uroce_cm_enter_refused(cm, id, UROCE_CM_REJECT_TIMEOUT, UROCE_MAD_TO_OTHER);
}

void uroce_cm_end_stale(struct uroce_cm *cm, struct uroce_cm_id *id)
{
	switch (id->state) {
	case UROCE_CM_STATE_ESTABLISHED:
	case UROCE_CM_STATE_REP_RCVD:
		cm->counters.stale++;
		enter_dreq_sent(cm, id);
		break;
	case UROCE_CM_STATE_REQ_RCVD:
	case UROCE_CM_STATE_REP_SENT:
		cm->counters.stale++;
		id->reason = UROCE_CM_REJECT_STALE;
		uroce_cm_id_keep(id, NULL, 0, NULL, 0);
		uroce_cm_tell_end(cm, id, UROCE_CM_REJECTED);
		uroce_cm_enter_closed(cm, id);
		break;
	case UROCE_CM_STATE_DREQ_SENT:
	case UROCE_CM_STATE_TIMEWAIT:
	case UROCE_CM_STATE_FREE:
	case UROCE_CM_STATE_REQ_SENT:
	case UROCE_CM_STATE_REFUSED:
	case UROCE_CM_STATE_SIDR_REQ_SENT:
	case UROCE_CM_STATE_SIDR_REQ_RCVD:
	case UROCE_CM_STATE_SIDR_REP_SENT:
	case UROCE_CM_STATE_CLOSED:
	case UROCE_CM_STATE_COUNT:
		break;
	}
}

void uroce_cm_timed_out(struct uroce_cm *cm, struct uroce_cm_id *id, uint64_t now_ns)
{
	cm->counters.timeouts++;
	if (id->state == UROCE_CM_STATE_DREQ_SENT) {
		uroce_cm_tell_end(cm, id, UROCE_CM_DISCONNECTED);
		uroce_cm_enter_timewait(cm, id, now_ns);
		return;
	}
	uroce_cm_tell_end(cm, id, UROCE_CM_UNREACHABLE);
	if (id->state == UROCE_CM_STATE_SIDR_REQ_SENT)
		uroce_cm_enter_closed(cm, id);
	else
		refuse_for_timeout(cm, id);
}

/* ---- messages ---------------------------------------------------------------------------- */

/* Once for each time that the peer was asked, so that it cannot put off the end for ever. */
enum uroce_cm_drop uroce_cm_rx_mra(
	struct uroce_cm *cm, struct uroce_cm_id *id, const struct uroce_cm_in *in)
{
	const struct uroce_mad_mra *mra = &in->mad->mra;
	bool waits = (id->state == UROCE_CM_STATE_REQ_SENT && mra->answered == UROCE_MAD_TO_REQ) ||
		(id->state == UROCE_CM_STATE_REP_SENT && mra->answered == UROCE_MAD_TO_REP);

	/* What is about to be sent again is waited for again. */
	if (!waits || !uroce_timer_armed(&id->timer))
		return UROCE_CM_DROP_STATE;
	if (id->mra_taken)
		return UROCE_CM_DROP_DUPLICATE;
	id->mra_taken = true;
	uroce_timer_arm(&cm->timers, &id->timer,
		in->now_ns + uroce_cm_exponent_ns(mra->service_timeout) +
			cm->conf.timing.retry_first_ns);
	return UROCE_CM_ACCEPTED;
}

static void keep_refusal(struct uroce_cm_id *id, const struct uroce_mad *mad)
{
	id->reason = mad->rej.reason;
	uroce_cm_id_keep(
		id, mad->private_data, mad->private_bytes, mad->rej.ari, mad->rej.ari_bytes);
}

enum uroce_cm_drop uroce_cm_rx_rej(
	struct uroce_cm *cm, struct uroce_cm_id *id, const struct uroce_cm_in *in)
{
	switch (id->state) {
	case UROCE_CM_STATE_REQ_SENT:
	case UROCE_CM_STATE_REP_RCVD:
	case UROCE_CM_STATE_REQ_RCVD:
	case UROCE_CM_STATE_REP_SENT:
		keep_refusal(id, in->mad);
		uroce_cm_tell_end(cm, id, UROCE_CM_REJECTED);
		uroce_cm_enter_closed(cm, id);
		return UROCE_CM_ACCEPTED;
	case UROCE_CM_STATE_ESTABLISHED:
		if (in->mad->rej.answered == UROCE_MAD_TO_REQ)
			return UROCE_CM_DROP_STATE;
		/* fall through */
	case UROCE_CM_STATE_DREQ_SENT:
		uroce_cm_tell_end(cm, id, UROCE_CM_DISCONNECTED);
		uroce_cm_enter_timewait(cm, id, in->now_ns);
		return UROCE_CM_ACCEPTED;
	case UROCE_CM_STATE_FREE:
	case UROCE_CM_STATE_TIMEWAIT:
	case UROCE_CM_STATE_REFUSED:
	case UROCE_CM_STATE_SIDR_REQ_SENT:
	case UROCE_CM_STATE_SIDR_REQ_RCVD:
	case UROCE_CM_STATE_SIDR_REP_SENT:
	case UROCE_CM_STATE_CLOSED:
	case UROCE_CM_STATE_COUNT:
		break;
	}
	return UROCE_CM_DROP_STATE;
}

enum uroce_cm_drop uroce_cm_rx_dreq(
	struct uroce_cm *cm, struct uroce_cm_id *id, const struct uroce_cm_in *in)
{
	if (in->mad->dreq_qpn != id->qpn)
		return UROCE_CM_DROP_NOT_PEER;
	switch (id->state) {
	case UROCE_CM_STATE_REP_RCVD:
	case UROCE_CM_STATE_REP_SENT:
	case UROCE_CM_STATE_ESTABLISHED:
	case UROCE_CM_STATE_DREQ_SENT:
		uroce_cm_tell_end(cm, id, UROCE_CM_DISCONNECTED);
		uroce_cm_enter_timewait(cm, id, in->now_ns);
		id->tid = in->mad->tid;
		uroce_cm_id_owe(cm, id, UROCE_CM_OWE_DREP);
		return UROCE_CM_ACCEPTED;
	case UROCE_CM_STATE_TIMEWAIT:
		id->tid = in->mad->tid;
		uroce_cm_id_owe(cm, id, UROCE_CM_OWE_DREP);
		return UROCE_CM_DROP_DUPLICATE;
	case UROCE_CM_STATE_REFUSED:
	case UROCE_CM_STATE_CLOSED:
		uroce_cm_reply_drep(cm, in);
		return UROCE_CM_DROP_STATE;
	case UROCE_CM_STATE_FREE:
	case UROCE_CM_STATE_REQ_SENT:
	case UROCE_CM_STATE_REQ_RCVD:
	case UROCE_CM_STATE_SIDR_REQ_SENT:
	case UROCE_CM_STATE_SIDR_REQ_RCVD:
	case UROCE_CM_STATE_SIDR_REP_SENT:
	case UROCE_CM_STATE_COUNT:
		break;
	}
	return UROCE_CM_DROP_STATE;
}

enum uroce_cm_drop uroce_cm_rx_drep(
	struct uroce_cm *cm, struct uroce_cm_id *id, const struct uroce_cm_in *in)
{
	if (id->state == UROCE_CM_STATE_TIMEWAIT)
		return UROCE_CM_DROP_DUPLICATE;
	if (id->state != UROCE_CM_STATE_DREQ_SENT)
		return UROCE_CM_DROP_STATE;
	uroce_cm_tell_end(cm, id, UROCE_CM_DISCONNECTED);
	uroce_cm_enter_timewait(cm, id, in->now_ns);
	return UROCE_CM_ACCEPTED;
}

/* ---- the application's wishes ------------------------------------------------------------ */

int uroce_cm_reject(struct uroce_cm *cm, uint32_t number, const struct uroce_cm_refusal *refusal)
{
	struct uroce_cm_id *id = uroce_cm_id_find_known(cm, number);
	bool request;

	if (!id)
		return -ENOENT;
	if (refusal->ari_bytes > UROCE_CM_ARI_BYTES ||
		refusal->private_bytes > UROCE_CM_REJ_PRIVATE_BYTES)
		return -EINVAL;
	request = id->state == UROCE_CM_STATE_REQ_RCVD;
	if (!request && id->state != UROCE_CM_STATE_REP_RCVD)
		return -ENOTCONN;
	uroce_cm_id_untell(id, EVENTS_BEFORE);
	uroce_cm_id_keep(id, refusal->private_data, refusal->private_bytes, refusal->ari,
		refusal->ari_bytes);
	uroce_cm_enter_refused(
		cm, id, refusal->reason, request ? UROCE_MAD_TO_REQ : UROCE_MAD_TO_REP);
	return 0;
}

int uroce_cm_disconnect(struct uroce_cm *cm, uint32_t number)
{
	struct uroce_cm_id *id = uroce_cm_id_find_known(cm, number);

	if (!id)
		return -ENOENT;
	switch (id->state) {
	case UROCE_CM_STATE_REP_RCVD:
	case UROCE_CM_STATE_ESTABLISHED:
		enter_dreq_sent(cm, id);
		return 0;
	case UROCE_CM_STATE_DREQ_SENT:
	case UROCE_CM_STATE_TIMEWAIT:
	case UROCE_CM_STATE_REFUSED:
	case UROCE_CM_STATE_CLOSED:
		return 0;
	case UROCE_CM_STATE_FREE:
	case UROCE_CM_STATE_REQ_SENT:
	case UROCE_CM_STATE_REQ_RCVD:
	case UROCE_CM_STATE_REP_SENT:
	case UROCE_CM_STATE_SIDR_REQ_SENT:
	case UROCE_CM_STATE_SIDR_REQ_RCVD:
	case UROCE_CM_STATE_SIDR_REP_SENT:
	case UROCE_CM_STATE_COUNT:
		break;
	}
	return -ENOTCONN;
}

static void reject_unheard(
	struct uroce_cm *cm, struct uroce_cm_id *id, enum uroce_mad_answered answered)
{
	uroce_cm_id_keep(id, NULL, 0, NULL, 0);
	uroce_cm_enter_refused(cm, id, UROCE_CM_REJECT_CONSUMER, answered);
}

int uroce_cm_destroy(struct uroce_cm *cm, uint32_t number)
{
	struct uroce_cm_id *id = uroce_cm_id_find_known(cm, number);

	if (!id)
		return -ENOENT;
	uroce_cm_id_untell(id, id->events);
	id->destroyed = true;
	switch (id->state) {
	case UROCE_CM_STATE_REQ_SENT:
		if (id->asked)
			refuse_for_timeout(cm, id);
		else
			uroce_cm_id_free(cm, id);
		break;
	case UROCE_CM_STATE_REQ_RCVD:
		reject_unheard(cm, id, UROCE_MAD_TO_REQ);
		break;
	case UROCE_CM_STATE_REP_RCVD:
		reject_unheard(cm, id, UROCE_MAD_TO_REP);
		break;
	case UROCE_CM_STATE_REP_SENT:
		reject_unheard(cm, id, UROCE_MAD_TO_OTHER);
		break;
	case UROCE_CM_STATE_ESTABLISHED:
		enter_dreq_sent(cm, id);
		break;
	case UROCE_CM_STATE_REFUSED:
	case UROCE_CM_STATE_SIDR_REP_SENT:
		uroce_cm_id_enter(id, UROCE_CM_LIST_LIFE, &cm->forgotten);
		break;
	case UROCE_CM_STATE_SIDR_REQ_RCVD:
		uroce_cm_answer_sidr(cm, id, UROCE_CM_SIDR_REJECTED);
		break;
	case UROCE_CM_STATE_SIDR_REQ_SENT:
	case UROCE_CM_STATE_CLOSED:
		uroce_cm_id_free(cm, id);
		break;
	case UROCE_CM_STATE_DREQ_SENT:
	case UROCE_CM_STATE_TIMEWAIT:
	case UROCE_CM_STATE_FREE:
	case UROCE_CM_STATE_COUNT:
		break;
	}
	return 0;
}
