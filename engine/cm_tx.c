/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the connection manager sends, and when it sends it again.
 *
 * Messages are built when they are sent, from their place alone: none is kept, and one that is sent
 * again says what holds then. The time to wait for an answer begins when the message goes out.
 */
#include "cm_state.h"

static void put_private(const struct uroce_cm_id *id, struct uroce_mad *mad)
{
	mad->private_data = id->data;
	mad->private_bytes = id->private_bytes;
}

static void build_rej(const struct uroce_cm_id *id, struct uroce_mad *mad)
{
	mad->rej = (struct uroce_mad_rej){
		.answered = id->answered,
		.reason = id->reason,
		.ari = id->data + id->private_bytes,
		.ari_bytes = id->ari_bytes,
	};
	/* Before it answered anything else, a passive side has no id (as Linux sends it). */
	if (!id->active && id->answered == UROCE_MAD_TO_REQ)
		mad->local_id = 0;
	put_private(id, mad);
}

/* What depends on the kind of message; counts it. */
static void build_owed(
	struct uroce_cm *cm, struct uroce_cm_id *id, enum uroce_cm_owed what, struct uroce_mad *mad)
{
	struct uroce_cm_counters *counters = &cm->counters;

	switch (what) {
	case UROCE_CM_OWE_DREP:
		mad->attr = UROCE_MAD_DREP;
		counters->tx_drep++;
		break;
	case UROCE_CM_OWE_REJ:
		mad->attr = UROCE_MAD_REJ;
		build_rej(id, mad);
		counters->tx_rej++;
		break;
	case UROCE_CM_OWE_RTU:
		mad->attr = UROCE_MAD_RTU;
		counters->tx_rtu++;
		break;
	case UROCE_CM_OWE_REP:
		mad->attr = UROCE_MAD_REP;
		uroce_cm_build_rep(cm, id, mad);
		put_private(id, mad);
		counters->tx_rep++;
		break;
	case UROCE_CM_OWE_MRA:
		mad->attr = UROCE_MAD_MRA;
		mad->mra = (struct uroce_mad_mra){
			.answered = id->active ? UROCE_MAD_TO_REP : UROCE_MAD_TO_REQ,
			.service_timeout = cm->conf.timing.service_timeout,
		};
		counters->tx_mra++;
		break;
	case UROCE_CM_OWE_REQ:
		mad->attr = UROCE_MAD_REQ;
		uroce_cm_build_req(cm, id, mad);
		put_private(id, mad);
		counters->tx_req++;
		break;
	case UROCE_CM_OWE_DREQ:
		mad->attr = UROCE_MAD_DREQ;
		mad->dreq_qpn = id->params.remote_qpn;
		counters->tx_dreq++;
		break;
	case UROCE_CM_OWE_SIDR_REQ:
		mad->attr = UROCE_MAD_SIDR_REQ;
		mad->sidr_service_id = id->service_id;
		put_private(id, mad);
		counters->tx_sidr_req++;
		break;
	case UROCE_CM_OWE_SIDR_REP:
		mad->attr = UROCE_MAD_SIDR_REP;
		mad->sidr_rep = (struct uroce_mad_sidr_rep){
			.service_id = id->service_id,
			.status = (uint8_t)id->reason,
			.qpn = id->sidr_qpn,
			.qkey = id->sidr_qkey,
		};
		put_private(id, mad);
		counters->tx_sidr_rep++;
		break;
	}
}

/* Twice as long each time; after the last one at least what the peer may take to answer. */
static uint64_t interval_ns(const struct uroce_cm *cm, const struct uroce_cm_id *id)
{
	const struct uroce_cm_timing *timing = &cm->conf.timing;
	uint64_t wait_ns = timing->retry_first_ns, full_ns;

	for (uint32_t i = 0; i < id->retries && wait_ns < timing->retry_max_ns; i++)
		wait_ns *= 2;
	if (wait_ns > timing->retry_max_ns)
		wait_ns = timing->retry_max_ns;
	full_ns = uroce_cm_exponent_ns(id->response_timeout);
	return id->retries >= id->max_retries && wait_ns < full_ns ? full_ns : wait_ns;
}

/* What is sent between two repetitions, because the peer repeated itself, moves no timer. */
static void start_timer(
	struct uroce_cm *cm, struct uroce_cm_id *id, enum uroce_cm_owed what, uint64_t now_ns)
{
	uint32_t waits =
		UROCE_CM_OWE_REQ | UROCE_CM_OWE_REP | UROCE_CM_OWE_DREQ | UROCE_CM_OWE_SIDR_REQ;
	uint32_t lingers = UROCE_CM_OWE_REJ | UROCE_CM_OWE_SIDR_REP;

	if (uroce_timer_armed(&id->timer))
		return;
	if (what & waits) {
		cm->counters.tx_retries += id->retries > 0;
		id->mra_taken = false;
		id->asked = true;
		uroce_timer_arm(&cm->timers, &id->timer, now_ns + interval_ns(cm, id));
	} else if (what & lingers) {
		uroce_timer_arm(&cm->timers, &id->timer, now_ns + cm->conf.timing.linger_ns);
	}
}

static bool tx_place(struct uroce_cm *cm, uint64_t now_ns, uint8_t bytes[UROCE_CM_MAD_BYTES],
	struct uroce_cm_route *to)
{
	struct uroce_cm_id *id = uroce_cm_id_first(&cm->tx, UROCE_CM_LIST_TX);
	struct uroce_mad mad;
	enum uroce_cm_owed what;

	if (!id)
		return false;
	what = id->owed & -id->owed;
	mad = (struct uroce_mad){
		.tid = id->tid, .local_id = id->number, .remote_id = id->remote_id};
	build_owed(cm, id, what, &mad);
	uroce_mad_build(bytes, &mad);
	*to = id->route;
	cm->counters.tx_mads++;
	start_timer(cm, id, what, now_ns);
	uroce_cm_id_leave(id, UROCE_CM_LIST_TX);
	id->owed &= ~(uint32_t)what;
	if (id->owed)
		uroce_cm_id_enter(id, UROCE_CM_LIST_TX, &cm->tx);
	return true;
}

bool uroce_cm_tx(struct uroce_cm *cm, uint64_t now_ns, uint8_t mad[UROCE_CM_MAD_BYTES],
	struct uroce_cm_route *to)
{
	cm->reply_next = !cm->reply_next;
	if (cm->reply_next)
		return uroce_cm_reply_tx(cm, mad, to) || tx_place(cm, now_ns, mad, to);
	return tx_place(cm, now_ns, mad, to) || uroce_cm_reply_tx(cm, mad, to);
}

bool uroce_cm_tx_pending(const struct uroce_cm *cm)
{
	return cm->reply_head != cm->reply_tail || cm->tx.next != &cm->tx;
}

/* ---- time -------------------------------------------------------------------------------- */

static void expire(struct uroce_cm *cm, struct uroce_cm_id *id, uint64_t now_ns)
{
	/* What waits for an answer; in other states a timer is an end. */
	static const enum uroce_cm_owed asked[UROCE_CM_STATE_COUNT] = {
		[UROCE_CM_STATE_REQ_SENT] = UROCE_CM_OWE_REQ,
		[UROCE_CM_STATE_REP_SENT] = UROCE_CM_OWE_REP,
		[UROCE_CM_STATE_DREQ_SENT] = UROCE_CM_OWE_DREQ,
		[UROCE_CM_STATE_SIDR_REQ_SENT] = UROCE_CM_OWE_SIDR_REQ,
	};

	if (!asked[id->state]) {
		if (id->state == UROCE_CM_STATE_TIMEWAIT)
			uroce_cm_id_tell(cm, id, UROCE_CM_TIMEWAIT_EXIT);
		uroce_cm_enter_closed(cm, id);
	} else if (id->retries >= id->max_retries) {
		uroce_cm_timed_out(cm, id, now_ns);
	} else {
		id->retries++;
		uroce_cm_id_owe(cm, id, asked[id->state]);
	}
}

void uroce_cm_expire(struct uroce_cm *cm, uint64_t now_ns)
{
	struct uroce_timer *timer;

	while ((timer = uroce_timers_expire(&cm->timers, now_ns)))
		expire(cm,
			(struct uroce_cm_id *)((uint8_t *)timer -
				offsetof(struct uroce_cm_id, timer)),
			now_ns);
}

uint64_t uroce_cm_next_deadline(struct uroce_cm *cm)
{
	return uroce_timers_next(&cm->timers);
}
