/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How connections end, message by message: disconnected by one side or both, refused, destroyed at
 * every stage; who may end one, and who may not.
 */
#include <errno.h>
#include <string.h>

#include "cm_drill.h"
#include "cunit_run.h"

static void we_disconnect(void)
{
	struct cm_drill d;
	struct uroce_mad drep;
	uint64_t over_ns;
	uint32_t id;

	drill_init(&d, NULL);
	id = drill_active(&d);
	CU_ASSERT_EQUAL(uroce_cm_disconnect(d.cm, id), 0);
	CU_ASSERT_EQUAL(uroce_cm_disconnect(d.cm, id), 0);
	drill_sends(&d, UROCE_MAD_DREQ);
	CU_ASSERT_EQUAL(d.mad.local_id, id);
	CU_ASSERT_EQUAL(d.mad.remote_id, CM_PEER_ID);
	CU_ASSERT_EQUAL(d.mad.dreq_qpn, CM_PEER_QPN);
	drill_hears_nothing(&d);
	drep = drill_short(UROCE_MAD_DREP, id);
	CU_ASSERT_EQUAL(drill_rx(&d, &drep), UROCE_CM_ACCEPTED);
	drill_hears(&d, UROCE_CM_DISCONNECTED);
	CU_ASSERT_EQUAL(d.event.id, id);
	CU_ASSERT_EQUAL(d.event.user, 0xdef);
	/* As long as frames may be under way: the acknowledge timeout of 2^14. */
	over_ns = d.now_ns + (4096ull << 14);
	CU_ASSERT_EQUAL(uroce_cm_next_deadline(d.cm), over_ns);
	CU_ASSERT_EQUAL(drill_rx(&d, &drep), UROCE_CM_DROP_DUPLICATE);
	CU_ASSERT_EQUAL(uroce_cm_disconnect(d.cm, id), 0);
	drill_passes(&d, (4096ull << 14) - 1);
	drill_hears_nothing(&d);
	drill_passes(&d, 1);
	drill_hears(&d, UROCE_CM_TIMEWAIT_EXIT);
	CU_ASSERT_EQUAL(uroce_cm_destroy(d.cm, id), 0);
	CU_ASSERT_EQUAL(uroce_cm_destroy(d.cm, id), -ENOENT);
	CU_ASSERT_EQUAL(uroce_cm_disconnect(d.cm, id), -ENOENT);
	CU_ASSERT_EQUAL(uroce_cm_num_ids(d.cm), 0);
	drill_fini(&d);
}

static void the_peer_disconnects(void)
{
	struct cm_drill d;
	struct uroce_mad dreq;
	uint32_t id;

	drill_init(&d, NULL);
	id = drill_passive(&d);
	dreq = drill_dreq(id);
	dreq.tid = 0x9999;
	CU_ASSERT_EQUAL(drill_rx(&d, &dreq), UROCE_CM_ACCEPTED);
	drill_sends(&d, UROCE_MAD_DREP);
	CU_ASSERT_EQUAL(d.mad.tid, 0x9999);
	CU_ASSERT_EQUAL(d.mad.local_id, id);
	CU_ASSERT_EQUAL(d.mad.remote_id, CM_PEER_ID);
	drill_hears(&d, UROCE_CM_DISCONNECTED);
	/* The answer was lost. */
	dreq.tid = 0x9998;
	CU_ASSERT_EQUAL(drill_rx(&d, &dreq), UROCE_CM_DROP_DUPLICATE);
	drill_sends(&d, UROCE_MAD_DREP);
	CU_ASSERT_EQUAL(d.mad.tid, 0x9998);
	drill_hears_nothing(&d);
	CU_ASSERT_EQUAL(uroce_cm_disconnect(d.cm, id), 0);
	drill_sends_nothing(&d);
	drill_waits(&d);
	drill_hears(&d, UROCE_CM_TIMEWAIT_EXIT);
	/* The place is closed, then gone: whoever asks hears that it is over. */
	CU_ASSERT_EQUAL(drill_rx(&d, &dreq), UROCE_CM_DROP_STATE);
	drill_sends(&d, UROCE_MAD_DREP);
	CU_ASSERT_EQUAL(uroce_cm_destroy(d.cm, id), 0);
	CU_ASSERT_EQUAL(drill_rx(&d, &dreq), UROCE_CM_DROP_ID_UNKNOWN);
	drill_sends(&d, UROCE_MAD_DREP);
	CU_ASSERT_EQUAL(d.mad.local_id, id);
	CU_ASSERT_EQUAL(d.mad.remote_id, CM_PEER_ID);
	CU_ASSERT_EQUAL(d.mad.tid, 0x9998);
	drill_fini(&d);
}

static void both_disconnect(void)
{
	struct cm_drill d;
	struct uroce_mad dreq, drep;
	uint32_t id;

	drill_init(&d, NULL);
	id = drill_passive(&d);
	CU_ASSERT_EQUAL(uroce_cm_disconnect(d.cm, id), 0);
	drill_sends(&d, UROCE_MAD_DREQ);
	dreq = drill_dreq(id);
	CU_ASSERT_EQUAL(drill_rx(&d, &dreq), UROCE_CM_ACCEPTED);
	drill_sends(&d, UROCE_MAD_DREP);
	drill_hears(&d, UROCE_CM_DISCONNECTED);
	drep = drill_short(UROCE_MAD_DREP, id);
	CU_ASSERT_EQUAL(drill_rx(&d, &drep), UROCE_CM_DROP_DUPLICATE);
	drill_hears_nothing(&d);
	drill_waits(&d);
	drill_hears(&d, UROCE_CM_TIMEWAIT_EXIT);
	drill_fini(&d);
}

static void nobody_answers_a_disconnect(void)
{
	struct cm_drill d;
	uint32_t id;

	drill_init(&d, NULL);
	id = drill_active(&d);
	CU_ASSERT_EQUAL(uroce_cm_disconnect(d.cm, id), 0);
	for (uint32_t i = 0; i < 9; i++) {
		drill_sends(&d, UROCE_MAD_DREQ);
		drill_hears_nothing(&d);
		drill_waits(&d);
	}
	drill_hears(&d, UROCE_CM_DISCONNECTED);
	CU_ASSERT(d.now_ns < CM_S + 11 * CM_S);
	drill_waits(&d);
	drill_hears(&d, UROCE_CM_TIMEWAIT_EXIT);
	drill_fini(&d);
}

/* A peer that has forgotten it says so by REJ. */
static void a_disconnect_is_rejected(void)
{
	struct cm_drill d;
	struct uroce_mad rej;
	uint32_t id;

	drill_init(&d, NULL);
	id = drill_active(&d);
	CU_ASSERT_EQUAL(uroce_cm_disconnect(d.cm, id), 0);
	drill_sends(&d, UROCE_MAD_DREQ);
	rej = drill_rej(id, UROCE_MAD_TO_OTHER, UROCE_CM_REJECT_INVALID_COMM_ID);
	CU_ASSERT_EQUAL(drill_rx(&d, &rej), UROCE_CM_ACCEPTED);
	drill_hears(&d, UROCE_CM_DISCONNECTED);
	CU_ASSERT_EQUAL(drill_rx(&d, &rej), UROCE_CM_DROP_STATE);
	drill_fini(&d);
}

static void only_connections_are_disconnected(void)
{
	struct cm_drill d;
	struct uroce_cm_resolve resolve = {0};
	uint32_t id;

	drill_init(&d, NULL);
	id = drill_req_sent(&d);
	CU_ASSERT_EQUAL(uroce_cm_disconnect(d.cm, id), -ENOTCONN);
	drill_fini(&d);
	drill_init(&d, NULL);
	id = drill_req_rcvd(&d);
	CU_ASSERT_EQUAL(uroce_cm_disconnect(d.cm, id), -ENOTCONN);
	drill_fini(&d);
	drill_init(&d, NULL);
	id = drill_rep_sent(&d);
	CU_ASSERT_EQUAL(uroce_cm_disconnect(d.cm, id), -ENOTCONN);
	resolve.route = (struct uroce_cm_route){.src = d.us, .dst = d.peer};
	CU_ASSERT_EQUAL(uroce_cm_resolve(d.cm, &resolve, &id), 0);
	drill_sends(&d, UROCE_MAD_SIDR_REQ);
	CU_ASSERT_EQUAL(uroce_cm_disconnect(d.cm, id), -ENOTCONN);
	drill_fini(&d);
}

/* Before it was confirmed, and while the confirmation waits to be sent. */
static void an_early_disconnect(void)
{
	struct cm_drill d;
	uint32_t id;
	struct uroce_mad rep;

	drill_init(&d, NULL);
	id = drill_rep_rcvd(&d);
	CU_ASSERT_EQUAL(uroce_cm_disconnect(d.cm, id), 0);
	drill_sends(&d, UROCE_MAD_DREQ);
	drill_fini(&d);

	drill_init(&d, NULL);
	id = drill_rep_rcvd(&d);
	CU_ASSERT_EQUAL(uroce_cm_established(d.cm, id), 0);
	CU_ASSERT_EQUAL(uroce_cm_disconnect(d.cm, id), 0);
	drill_sends(&d, UROCE_MAD_RTU);
	drill_sends(&d, UROCE_MAD_DREQ);
	CU_ASSERT_NOT_EQUAL(d.mad.tid, CM_TID);
	drill_fini(&d);

	/* An answer that was not taken yet does not come after that. */
	drill_init(&d, NULL);
	id = drill_req_sent(&d);
	rep = drill_rep(id);
	CU_ASSERT_EQUAL(drill_rx(&d, &rep), UROCE_CM_ACCEPTED);
	CU_ASSERT_EQUAL(uroce_cm_disconnect(d.cm, id), 0);
	drill_hears_nothing(&d);
	drill_sends(&d, UROCE_MAD_DREQ);
	drill_fini(&d);
}

/* At each stage at which the peer may disconnect. */
static void the_peer_disconnects_early(void)
{
	struct cm_drill d;
	struct uroce_mad dreq, rep;
	uint32_t id;

	drill_init(&d, NULL);
	id = drill_rep_sent(&d);
	dreq = drill_dreq(id);
	CU_ASSERT_EQUAL(drill_rx(&d, &dreq), UROCE_CM_ACCEPTED);
	drill_sends(&d, UROCE_MAD_DREP);
	drill_hears(&d, UROCE_CM_DISCONNECTED);
	drill_fini(&d);

	drill_init(&d, NULL);
	id = drill_req_sent(&d);
	dreq = drill_dreq(id);
	CU_ASSERT_EQUAL(drill_rx(&d, &dreq), UROCE_CM_DROP_STATE);
	rep = drill_rep(id);
	CU_ASSERT_EQUAL(drill_rx(&d, &rep), UROCE_CM_ACCEPTED);
	CU_ASSERT_EQUAL(drill_rx(&d, &dreq), UROCE_CM_ACCEPTED);
	drill_sends(&d, UROCE_MAD_DREP);
	drill_hears(&d, UROCE_CM_DISCONNECTED);
	CU_ASSERT_EQUAL(uroce_cm_established(d.cm, id), -ENOTCONN);
	drill_fini(&d);

	drill_init(&d, NULL);
	id = drill_req_rcvd(&d);
	dreq = drill_dreq(id);
	dreq.dreq_qpn = 0;
	CU_ASSERT_EQUAL(drill_rx(&d, &dreq), UROCE_CM_DROP_STATE);
	CU_ASSERT_EQUAL(drill_state(&d, id), UROCE_CM_STATE_REQ_RCVD);
	drill_fini(&d);
}

/* ---- refusals ---------------------------------------------------------------------------- */

static void we_reject(void)
{
	struct cm_drill d;
	struct uroce_mad req;
	struct uroce_cm_refusal refusal = {.reason = UROCE_CM_REJECT_CONSUMER};
	uint8_t ari[72], data[148];
	uint32_t id;

	memset(ari, 0xa1, sizeof(ari));
	memset(data, 0xda, sizeof(data));
	drill_init(&d, NULL);
	id = drill_req_rcvd(&d);
	CU_ASSERT_EQUAL(uroce_cm_reject(d.cm, id + 16, &refusal), -ENOENT);
	refusal.ari = ari;
	refusal.ari_bytes = 73;
	CU_ASSERT_EQUAL(uroce_cm_reject(d.cm, id, &refusal), -EINVAL);
	refusal.ari_bytes = 72;
	refusal.private_data = data;
	refusal.private_bytes = 149;
	CU_ASSERT_EQUAL(uroce_cm_reject(d.cm, id, &refusal), -EINVAL);
	refusal.private_bytes = 148;
	CU_ASSERT_EQUAL(uroce_cm_reject(d.cm, id, &refusal), 0);
	CU_ASSERT_EQUAL(uroce_cm_reject(d.cm, id, &refusal), -ENOTCONN);
	req = drill_req(&d);
	for (uint32_t again = 0; again < 3; again++) {
		drill_sends_rej(&d, UROCE_MAD_TO_REQ, UROCE_CM_REJECT_CONSUMER);
		CU_ASSERT_EQUAL(d.mad.local_id, 0);
		CU_ASSERT_EQUAL(d.mad.remote_id, CM_PEER_ID);
		CU_ASSERT_EQUAL(d.mad.tid, CM_TID);
		CU_ASSERT_EQUAL(d.mad.rej.ari_bytes, 72);
		CU_ASSERT(memcmp(d.mad.rej.ari, ari, sizeof(ari)) == 0);
		CU_ASSERT(memcmp(d.mad.private_data, data, sizeof(data)) == 0);
		/* As often as it is asked; also when the application has left. */
		CU_ASSERT_EQUAL(drill_rx(&d, &req), UROCE_CM_DROP_DUPLICATE);
		if (again == 1)
			CU_ASSERT_EQUAL(uroce_cm_destroy(d.cm, id), 0);
	}
	drill_sends_rej(&d, UROCE_MAD_TO_REQ, UROCE_CM_REJECT_CONSUMER);
	drill_hears_nothing(&d);
	/* The queue pair may try again under another id. */
	req.local_id++;
	CU_ASSERT_EQUAL(drill_rx(&d, &req), UROCE_CM_ACCEPTED);
	drill_hears(&d, UROCE_CM_CONNECT_REQUEST);
	drill_waits(&d);
	CU_ASSERT_EQUAL(uroce_cm_num_ids(d.cm), 1);
	drill_fini(&d);
}

static void we_reject_a_reply(void)
{
	struct cm_drill d;
	struct uroce_cm_connect connect;
	const struct uroce_cm_refusal refusal = {.reason = UROCE_CM_REJECT_CONSUMER};
	uint32_t id;

	drill_init(&d, NULL);
	id = drill_req_sent(&d);
	CU_ASSERT_EQUAL(uroce_cm_reject(d.cm, id, &refusal), -ENOTCONN);
	CU_ASSERT_EQUAL(uroce_cm_destroy(d.cm, id), 0);
	drill_sends(&d, UROCE_MAD_REJ);
	id = drill_rep_rcvd(&d);
	CU_ASSERT_EQUAL(uroce_cm_reject(d.cm, id, &refusal), 0);
	drill_sends_rej(&d, UROCE_MAD_TO_REP, UROCE_CM_REJECT_CONSUMER);
	CU_ASSERT_EQUAL(d.mad.local_id, id);
	CU_ASSERT_EQUAL(d.mad.remote_id, CM_PEER_ID);
	/* Nothing was connected, so its queue pair is free. */
	connect = drill_connect_conf(&d);
	CU_ASSERT_EQUAL(uroce_cm_connect(d.cm, &connect, &id), 0);
	drill_sends(&d, UROCE_MAD_REQ);
	drill_fini(&d);
}

static void check_rejected(struct cm_drill *d, uint32_t id, struct uroce_mad rej)
{
	uint8_t ari[3] = {1, 2, 3};

	rej.rej.ari = ari;
	rej.rej.ari_bytes = sizeof(ari);
	rej.private_data = (const uint8_t *)"no";
	rej.private_bytes = 2;
	CU_ASSERT_EQUAL(drill_rx(d, &rej), UROCE_CM_ACCEPTED);
	drill_hears(d, UROCE_CM_REJECTED);
	CU_ASSERT_EQUAL(d->event.id, id);
	CU_ASSERT_EQUAL(d->event.reason, rej.rej.reason);
	CU_ASSERT_EQUAL(d->event.ari_bytes, 3);
	CU_ASSERT(memcmp(d->event.ari, ari, 3) == 0);
	CU_ASSERT_EQUAL(d->event.private_bytes, 148);
	CU_ASSERT(memcmp(d->event.private_data, "no", 3) == 0);
	CU_ASSERT_EQUAL(drill_state(d, id), UROCE_CM_STATE_CLOSED);
	CU_ASSERT_EQUAL(uroce_cm_next_deadline(d->cm), UINT64_MAX);
	CU_ASSERT_EQUAL(drill_rx(d, &rej), UROCE_CM_DROP_STATE);
	CU_ASSERT_EQUAL(uroce_cm_disconnect(d->cm, id), 0);
	CU_ASSERT_EQUAL(uroce_cm_destroy(d->cm, id), 0);
	CU_ASSERT_EQUAL(uroce_cm_num_ids(d->cm), 0);
	CU_ASSERT_EQUAL(drill_rx(d, &rej), UROCE_CM_DROP_ID_UNKNOWN);
	drill_fini(d);
}

static void the_peer_rejects(void)
{
	struct cm_drill d;
	struct uroce_mad rej;
	uint32_t id;

	drill_init(&d, NULL);
	id = drill_req_sent(&d);
	rej = drill_rej(id, UROCE_MAD_TO_REQ, UROCE_CM_REJECT_INVALID_SERVICE_ID);
	check_rejected(&d, id, rej);
	/* It had accepted, and that was lost. */
	drill_init(&d, NULL);
	id = drill_req_sent(&d);
	rej = drill_rej(id, UROCE_MAD_TO_OTHER, UROCE_CM_REJECT_CONSUMER);
	check_rejected(&d, id, rej);
	/* It accepted, and did not wait. */
	drill_init(&d, NULL);
	id = drill_rep_rcvd(&d);
	rej = drill_rej(id, UROCE_MAD_TO_OTHER, UROCE_CM_REJECT_TIMEOUT);
	check_rejected(&d, id, rej);
	/* We accepted, and it does not want. */
	drill_init(&d, NULL);
	id = drill_rep_sent(&d);
	rej = drill_rej(id, UROCE_MAD_TO_REP, 4711);
	check_rejected(&d, id, rej);
}

/* Before it knew our id: it is found by its own. */
static void the_peer_gives_up(void)
{
	struct cm_drill d;
	struct uroce_mad rej, req;
	const struct uroce_cm_accept accept = drill_accept_conf();
	uint32_t id;

	drill_init(&d, NULL);
	id = drill_req_rcvd(&d);
	rej = drill_rej(0, UROCE_MAD_TO_OTHER, UROCE_CM_REJECT_TIMEOUT);
	rej.local_id++;
	CU_ASSERT_EQUAL(drill_rx(&d, &rej), UROCE_CM_DROP_ID_UNKNOWN);
	rej.local_id--;
	CU_ASSERT_EQUAL(drill_rx(&d, &rej), UROCE_CM_ACCEPTED);
	drill_hears(&d, UROCE_CM_REJECTED);
	CU_ASSERT_EQUAL(d.event.reason, UROCE_CM_REJECT_TIMEOUT);
	CU_ASSERT_EQUAL(uroce_cm_accept(d.cm, id, &accept), -ENOTCONN);
	CU_ASSERT_EQUAL(uroce_cm_received(d.cm, id), -ENOTCONN);
	CU_ASSERT_EQUAL(drill_rx(&d, &rej), UROCE_CM_DROP_ID_UNKNOWN);
	CU_ASSERT_EQUAL(uroce_cm_destroy(d.cm, id), 0);
	drill_sends_nothing(&d);
	/* Before anybody heard of it: as if it had not been. */
	req = drill_req(&d);
	CU_ASSERT_EQUAL(drill_rx(&d, &req), UROCE_CM_ACCEPTED);
	CU_ASSERT_EQUAL(drill_rx(&d, &rej), UROCE_CM_ACCEPTED);
	drill_hears_nothing(&d);
	CU_ASSERT_EQUAL(uroce_cm_num_ids(d.cm), 0);
	drill_fini(&d);
}

/* An established connection ends if the peer says it does not know it; not by a late refusal. */
static void established_connections_are_rejected(void)
{
	struct cm_drill d;
	struct uroce_mad rej;
	uint32_t id;

	drill_init(&d, NULL);
	id = drill_active(&d);
	rej = drill_rej(id, UROCE_MAD_TO_REQ, UROCE_CM_REJECT_STALE);
	rej.local_id = CM_PEER_ID;
	CU_ASSERT_EQUAL(drill_rx(&d, &rej), UROCE_CM_DROP_STATE);
	rej.local_id = 0;
	CU_ASSERT_EQUAL(drill_rx(&d, &rej), UROCE_CM_DROP_NOT_PEER);
	CU_ASSERT_EQUAL(drill_state(&d, id), UROCE_CM_STATE_ESTABLISHED);
	rej = drill_rej(id, UROCE_MAD_TO_OTHER, UROCE_CM_REJECT_TIMEOUT);
	CU_ASSERT_EQUAL(drill_rx(&d, &rej), UROCE_CM_ACCEPTED);
	drill_hears(&d, UROCE_CM_DISCONNECTED);
	CU_ASSERT_EQUAL(drill_state(&d, id), UROCE_CM_STATE_TIMEWAIT);
	drill_fini(&d);
}

/* ---- destroyed --------------------------------------------------------------------------- */

static void destroyed_at_every_stage(void)
{
	static const struct {
		uint32_t (*get_there)(struct cm_drill *d);
		enum uroce_mad_attr says;
		enum uroce_mad_answered answered;
		uint16_t reason;
	} rows[] = {
		{drill_req_sent, UROCE_MAD_REJ, UROCE_MAD_TO_OTHER, UROCE_CM_REJECT_TIMEOUT},
		{drill_rep_rcvd, UROCE_MAD_REJ, UROCE_MAD_TO_REP, UROCE_CM_REJECT_CONSUMER},
		{drill_active, UROCE_MAD_DREQ, 0, 0},
		{drill_req_rcvd, UROCE_MAD_REJ, UROCE_MAD_TO_REQ, UROCE_CM_REJECT_CONSUMER},
		{drill_rep_sent, UROCE_MAD_REJ, UROCE_MAD_TO_OTHER, UROCE_CM_REJECT_CONSUMER},
		{drill_passive, UROCE_MAD_DREQ, 0, 0},
	};

	for (uint32_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct cm_drill d;
		uint32_t id;

		drill_init(&d, NULL);
		id = rows[i].get_there(&d);
		CU_ASSERT_EQUAL(uroce_cm_destroy(d.cm, id), 0);
		CU_ASSERT_EQUAL(uroce_cm_destroy(d.cm, id), -ENOENT);
		if (rows[i].says == UROCE_MAD_REJ)
			drill_sends_rej(&d, rows[i].answered, rows[i].reason);
		else
			drill_sends(&d, UROCE_MAD_DREQ);
		/* Nobody answers: it goes by itself, and nothing is told. */
		while (uroce_cm_num_ids(d.cm) > 0) {
			drill_waits(&d);
			if (uroce_cm_tx_pending(d.cm))
				drill_sends(&d, rows[i].says);
		}
		CU_ASSERT(d.now_ns < 20 * CM_S);
		drill_fini(&d);
	}
}

static void destroyed_while_it_ends(void)
{
	struct cm_drill d;
	struct uroce_mad mad;
	uint32_t id;

	drill_init(&d, NULL);
	id = drill_passive(&d);
	CU_ASSERT_EQUAL(uroce_cm_disconnect(d.cm, id), 0);
	drill_sends(&d, UROCE_MAD_DREQ);
	CU_ASSERT_EQUAL(uroce_cm_destroy(d.cm, id), 0);
	mad = drill_short(UROCE_MAD_DREP, id);
	CU_ASSERT_EQUAL(drill_rx(&d, &mad), UROCE_CM_ACCEPTED);
	drill_hears_nothing(&d);
	mad = drill_dreq(id);
	CU_ASSERT_EQUAL(drill_rx(&d, &mad), UROCE_CM_DROP_DUPLICATE);
	drill_sends(&d, UROCE_MAD_DREP);
	drill_waits(&d);
	CU_ASSERT_EQUAL(uroce_cm_num_ids(d.cm), 0);
	drill_fini(&d);
}

/* An event that was not taken does not come any more. */
static void destroyed_with_events_waiting(void)
{
	struct cm_drill d;
	struct uroce_mad mad;
	uint32_t id;

	drill_init(&d, NULL);
	id = drill_req_sent(&d);
	mad = drill_rej(id, UROCE_MAD_TO_REQ, UROCE_CM_REJECT_CONSUMER);
	CU_ASSERT_EQUAL(drill_rx(&d, &mad), UROCE_CM_ACCEPTED);
	CU_ASSERT_EQUAL(uroce_cm_destroy(d.cm, id), 0);
	drill_hears_nothing(&d);
	id = drill_rep_sent(&d);
	mad = drill_short(UROCE_MAD_RTU, id);
	CU_ASSERT_EQUAL(drill_rx(&d, &mad), UROCE_CM_ACCEPTED);
	CU_ASSERT_EQUAL(uroce_cm_destroy(d.cm, id), 0);
	drill_hears_nothing(&d);
	drill_sends(&d, UROCE_MAD_DREQ);
	drill_fini(&d);
}

static void events_come_in_order(void)
{
	struct cm_drill d;
	struct uroce_mad mad;
	uint32_t id;

	drill_init(&d, NULL);
	id = drill_rep_sent(&d);
	mad = drill_short(UROCE_MAD_RTU, id);
	CU_ASSERT_EQUAL(drill_rx(&d, &mad), UROCE_CM_ACCEPTED);
	mad = drill_dreq(id);
	CU_ASSERT_EQUAL(drill_rx(&d, &mad), UROCE_CM_ACCEPTED);
	drill_sends(&d, UROCE_MAD_DREP);
	drill_waits(&d);
	drill_hears(&d, UROCE_CM_ESTABLISHED);
	drill_hears(&d, UROCE_CM_DISCONNECTED);
	drill_hears(&d, UROCE_CM_TIMEWAIT_EXIT);
	drill_fini(&d);
}

/* ---- who may ----------------------------------------------------------------------------- */

static void strangers_change_nothing(void)
{
	static const enum uroce_mad_attr kinds[] = {UROCE_MAD_REP, UROCE_MAD_RTU, UROCE_MAD_REJ,
		UROCE_MAD_MRA, UROCE_MAD_DREQ, UROCE_MAD_DREP};
	const struct uroce_gid other = uroce_gid_of_ipv4(0xc0000263);
	struct cm_drill d;
	uint32_t id;

	drill_init(&d, NULL);
	id = drill_active(&d);
	CU_ASSERT_EQUAL(uroce_cm_disconnect(d.cm, id), 0);
	drill_sends(&d, UROCE_MAD_DREQ);
	for (uint32_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		struct uroce_mad mad = drill_rep(id);

		if (kinds[i] == UROCE_MAD_REJ)
			mad = drill_rej(id, UROCE_MAD_TO_OTHER, UROCE_CM_REJECT_TIMEOUT);
		else if (kinds[i] == UROCE_MAD_DREQ)
			mad = drill_dreq(id);
		else if (kinds[i] != UROCE_MAD_REP)
			mad = drill_short(kinds[i], id);
		CU_ASSERT_EQUAL(drill_rx_from(&d, &mad, other, d.us, 1), UROCE_CM_DROP_NOT_PEER);
		CU_ASSERT_EQUAL(drill_rx_from(&d, &mad, d.peer, other, 1), UROCE_CM_DROP_NOT_PEER);
		CU_ASSERT_EQUAL(drill_rx_from(&d, &mad, d.peer, d.us, 2), UROCE_CM_DROP_SOURCE_QPN);
		mad.local_id++;
		CU_ASSERT_EQUAL(drill_rx(&d, &mad), UROCE_CM_DROP_NOT_PEER);
	}
	CU_ASSERT_EQUAL(drill_counters(&d)->drops[UROCE_CM_DROP_NOT_PEER], 18);
	CU_ASSERT_EQUAL(drill_counters(&d)->drops[UROCE_CM_DROP_SOURCE_QPN], 6);
	CU_ASSERT_EQUAL(drill_state(&d, id), UROCE_CM_STATE_DREQ_SENT);
	drill_sends_nothing(&d);
	drill_hears_nothing(&d);
	drill_fini(&d);
}

static void a_disconnect_names_the_queue_pair(void)
{
	struct cm_drill d;
	struct uroce_mad dreq;
	uint32_t id;

	drill_init(&d, NULL);
	id = drill_passive(&d);
	dreq = drill_dreq(id);
	dreq.dreq_qpn++;
	CU_ASSERT_EQUAL(drill_rx(&d, &dreq), UROCE_CM_DROP_NOT_PEER);
	CU_ASSERT_EQUAL(drill_state(&d, id), UROCE_CM_STATE_ESTABLISHED);
	drill_fini(&d);
}

static void unknown_connections(void)
{
	struct cm_drill d;
	struct uroce_mad mad;

	drill_init(&d, NULL);
	mad = drill_short(UROCE_MAD_RTU, 99);
	CU_ASSERT_EQUAL(drill_rx(&d, &mad), UROCE_CM_DROP_ID_UNKNOWN);
	mad = drill_short(UROCE_MAD_DREP, 99);
	CU_ASSERT_EQUAL(drill_rx(&d, &mad), UROCE_CM_DROP_ID_UNKNOWN);
	mad = drill_short(UROCE_MAD_MRA, 0);
	CU_ASSERT_EQUAL(drill_rx(&d, &mad), UROCE_CM_DROP_ID_UNKNOWN);
	mad = drill_rej(99, UROCE_MAD_TO_OTHER, UROCE_CM_REJECT_TIMEOUT);
	CU_ASSERT_EQUAL(drill_rx(&d, &mad), UROCE_CM_DROP_ID_UNKNOWN);
	drill_sends_nothing(&d);
	mad = drill_rep(99);
	CU_ASSERT_EQUAL(drill_rx(&d, &mad), UROCE_CM_DROP_REFUSED);
	drill_sends_rej(&d, UROCE_MAD_TO_REP, UROCE_CM_REJECT_INVALID_COMM_ID);
	CU_ASSERT_EQUAL(d.mad.local_id, 99);
	CU_ASSERT_EQUAL(d.mad.remote_id, CM_PEER_ID);
	mad = drill_dreq(99);
	CU_ASSERT_EQUAL(drill_rx(&d, &mad), UROCE_CM_DROP_ID_UNKNOWN);
	drill_sends(&d, UROCE_MAD_DREP);
	CU_ASSERT_EQUAL(d.mad.local_id, 99);
	CU_ASSERT_EQUAL(drill_counters(&d)->rx_mads, 6);
	CU_ASSERT_EQUAL(drill_counters(&d)->drops[UROCE_CM_DROP_ID_UNKNOWN], 5);
	drill_fini(&d);
}

static void late_dreps(void)
{
	struct cm_drill d;
	struct uroce_mad drep;
	uint32_t id;

	drill_init(&d, NULL);
	id = drill_passive(&d);
	drep = drill_short(UROCE_MAD_DREP, id);
	CU_ASSERT_EQUAL(drill_rx(&d, &drep), UROCE_CM_DROP_STATE);
	CU_ASSERT_EQUAL(drill_state(&d, id), UROCE_CM_STATE_ESTABLISHED);
	drill_fini(&d);
}

/* TIMEWAIT without an acknowledge timeout, and with one of hours. */
static void timewait_is_bounded(void)
{
	static const struct {
		uint8_t ack_timeout, exponent;
	} rows[] = {{0, 16}, {1, 1}, {20, 20}, {31, 20}};

	for (uint32_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct cm_drill d;
		struct uroce_cm_connect connect;
		struct uroce_mad mad;
		uint32_t id;

		drill_init(&d, NULL);
		connect = drill_connect_conf(&d);
		connect.ack_timeout = rows[i].ack_timeout;
		CU_ASSERT_EQUAL_FATAL(uroce_cm_connect(d.cm, &connect, &id), 0);
		drill_sends(&d, UROCE_MAD_REQ);
		mad = drill_rep(id);
		CU_ASSERT_EQUAL(drill_rx(&d, &mad), UROCE_CM_ACCEPTED);
		mad = drill_dreq(id);
		CU_ASSERT_EQUAL(drill_rx(&d, &mad), UROCE_CM_ACCEPTED);
		CU_ASSERT_EQUAL(
			uroce_cm_next_deadline(d.cm), d.now_ns + (4096ull << rows[i].exponent));
		drill_hears(&d, UROCE_CM_DISCONNECTED);
		drill_sends(&d, UROCE_MAD_DREP);
		drill_fini(&d);
	}
}

int main(void)
{
	static const struct unit_case cases[] = {
		{"a connection that we end is over when the peer says so", we_disconnect},
		{"a connection that the peer ends is over at once", the_peer_disconnects},
		{"both may disconnect at the same time", both_disconnect},
		{"a disconnect that nobody answers ends in time", nobody_answers_a_disconnect},
		{"a disconnect that is refused is one", a_disconnect_is_rejected},
		{"only connections can be disconnected", only_connections_are_disconnected},
		{"a connection can be ended before and while it is confirmed", an_early_disconnect},
		{"the peer may end what it has not confirmed", the_peer_disconnects_early},
		{"a request that is rejected is rejected as often as it comes", we_reject},
		{"a REP that is rejected leaves nothing behind", we_reject_a_reply},
		{"a refusal is told with all that it says", the_peer_rejects},
		{"a peer that gives up before it knows us is found by its own id",
			the_peer_gives_up},
		{"an established connection ends by a refusal, but not by a late one",
			established_connections_are_rejected},
		{"destroyed at any stage, the peer is told and the place goes by itself",
			destroyed_at_every_stage},
		{"what ends may be destroyed meanwhile", destroyed_while_it_ends},
		{"events that wait go with their connection", destroyed_with_events_waiting},
		{"events come in the order in which they happened", events_come_in_order},
		{"messages from others than the peer change nothing", strangers_change_nothing},
		{"a disconnect must name our queue pair", a_disconnect_names_the_queue_pair},
		{"messages for nobody are dropped, and answered where that ends something",
			unknown_connections},
		{"a DREP that nobody waits for changes nothing", late_dreps},
		{"TIMEWAIT follows the acknowledge timeout, within bounds", timewait_is_bounded},
	};

	return run_suite("cm_close", cases, sizeof(cases) / sizeof(cases[0]));
}
