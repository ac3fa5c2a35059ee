/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The passive side, message by message: which requests it takes, which it refuses and why, and what
 * it answers to those that come again.
 */
#include <errno.h>
#include <string.h>

#include "cm_drill.h"
#include "cunit_run.h"

static void a_request_is_told(void)
{
	struct cm_drill d;
	const struct uroce_cm_params *params = &d.event.params;
	struct uroce_mad req;

	drill_init(&d, NULL);
	drill_listen(&d);
	req = drill_req(&d);
	req.req.end.srq = req.req.end.flow_control = true;
	req.req.end.qkey = 0x99;
	CU_ASSERT_EQUAL(drill_rx(&d, &req), UROCE_CM_ACCEPTED);
	drill_hears(&d, UROCE_CM_CONNECT_REQUEST);
	CU_ASSERT_NOT_EQUAL(d.event.id, 0);
	CU_ASSERT_EQUAL(d.event.user, 0);
	CU_ASSERT_EQUAL(d.event.listener, d.listener);
	CU_ASSERT_EQUAL(d.event.listener_user, 0xabc);
	CU_ASSERT_EQUAL(d.event.service_id, req.req.service_id);
	CU_ASSERT(uroce_gid_equal(d.event.route.src, d.us));
	CU_ASSERT(uroce_gid_equal(d.event.route.dst, d.peer));
	CU_ASSERT_EQUAL(d.event.route.flow_label, 0x12345);
	CU_ASSERT_EQUAL(d.event.route.traffic_class, 0x20);
	CU_ASSERT_EQUAL(d.event.route.hop_limit, 63);
	CU_ASSERT_EQUAL(d.event.local_port, CM_PORT);
	CU_ASSERT_EQUAL(d.event.remote_port, 40000);
	CU_ASSERT_EQUAL(params->qp_type, UROCE_QP_RC);
	CU_ASSERT_EQUAL(params->remote_qpn, CM_PEER_QPN);
	CU_ASSERT_EQUAL(params->remote_psn, CM_PEER_PSN);
	CU_ASSERT_EQUAL(params->remote_qkey, 0x99);
	CU_ASSERT_EQUAL(params->path_mtu_bytes, 1024);
	CU_ASSERT_EQUAL(params->responder_resources, 4);
	CU_ASSERT_EQUAL(params->initiator_depth, 8);
	CU_ASSERT_EQUAL(params->retry_count, 5);
	CU_ASSERT_EQUAL(params->rnr_retry, 6);
	CU_ASSERT_EQUAL(params->ack_timeout, 14);
	CU_ASSERT(params->srq && params->flow_control);
	CU_ASSERT_EQUAL(d.event.private_bytes, 56);
	CU_ASSERT(memcmp(d.event.private_data, "data", 5) == 0);
	drill_hears_nothing(&d);
	drill_fini(&d);
}

static void it_accepts(void)
{
	struct cm_drill d;
	const struct uroce_mad_rep *rep = &d.mad.rep;
	struct uroce_cm_accept accept;
	struct uroce_mad rtu;
	uint32_t id;

	drill_init(&d, NULL);
	id = drill_req_rcvd(&d);
	accept = drill_accept_conf();
	accept.srq = accept.flow_control = true;
	accept.private_data = "come in";
	accept.private_bytes = 7;
	CU_ASSERT_EQUAL(uroce_cm_accept(d.cm, id, &accept), 0);
	drill_sends(&d, UROCE_MAD_REP);
	CU_ASSERT_EQUAL(d.mad.tid, CM_TID);
	CU_ASSERT_EQUAL(d.mad.local_id, id);
	CU_ASSERT_EQUAL(d.mad.remote_id, CM_PEER_ID);
	CU_ASSERT_EQUAL(rep->end.qpn, CM_QPN);
	CU_ASSERT_EQUAL(rep->end.psn, CM_PSN);
	CU_ASSERT_EQUAL(rep->end.ca_guid, 0x0200000000000001);
	/* Never more than the peer asked for or has. */
	CU_ASSERT_EQUAL(rep->end.responder_resources, 3);
	CU_ASSERT_EQUAL(rep->end.initiator_depth, 8);
	CU_ASSERT_EQUAL(rep->end.rnr_retry, 5);
	CU_ASSERT(rep->end.srq && rep->end.flow_control);
	CU_ASSERT_EQUAL(rep->target_ack_delay, 15);
	CU_ASSERT(memcmp(d.mad.private_data, "come in", 8) == 0);
	CU_ASSERT_EQUAL(d.to.flow_label, 0x12345);
	rtu = drill_short(UROCE_MAD_RTU, id);
	CU_ASSERT_EQUAL(drill_rx(&d, &rtu), UROCE_CM_ACCEPTED);
	drill_hears(&d, UROCE_CM_ESTABLISHED);
	CU_ASSERT_EQUAL(d.event.id, id);
	CU_ASSERT_EQUAL(d.event.user, 0xfed);
	CU_ASSERT_EQUAL(d.event.listener, 0);
	CU_ASSERT_EQUAL(d.event.local_qpn, CM_QPN);
	CU_ASSERT_EQUAL(drill_rx(&d, &rtu), UROCE_CM_DROP_DUPLICATE);
	CU_ASSERT_EQUAL(uroce_cm_next_deadline(d.cm), UINT64_MAX);
	drill_fini(&d);
}

static void it_wants_less(void)
{
	struct cm_drill d;
	struct uroce_cm_accept accept = drill_accept_conf();
	uint32_t id;

	drill_init(&d, NULL);
	id = drill_req_rcvd(&d);
	accept.responder_resources = 200;
	accept.initiator_depth = 2;
	CU_ASSERT_EQUAL(uroce_cm_accept(d.cm, id, &accept), 0);
	drill_sends(&d, UROCE_MAD_REP);
	CU_ASSERT_EQUAL(d.mad.rep.end.responder_resources, 4);
	CU_ASSERT_EQUAL(d.mad.rep.end.initiator_depth, 2);
	drill_fini(&d);
}

static void wrong_values(void)
{
	struct cm_drill d;
	struct uroce_cm_accept good, accept;
	uint8_t data[256] = {0};
	uint32_t id, next;

	drill_init(&d, NULL);
	id = drill_req_rcvd(&d);
	good = accept = drill_accept_conf();
	CU_ASSERT_EQUAL(uroce_cm_accept(d.cm, id + 16, &accept), -ENOENT);
	accept.qpn = 1;
	CU_ASSERT_EQUAL(uroce_cm_accept(d.cm, id, &accept), -EINVAL);
	accept.qpn = 0xffffff;
	CU_ASSERT_EQUAL(uroce_cm_accept(d.cm, id, &accept), -EINVAL);
	accept = good;
	accept.psn = 0x1000000;
	CU_ASSERT_EQUAL(uroce_cm_accept(d.cm, id, &accept), -EINVAL);
	accept = good;
	accept.rnr_retry = 8;
	CU_ASSERT_EQUAL(uroce_cm_accept(d.cm, id, &accept), -EINVAL);
	accept = good;
	accept.private_data = data;
	accept.private_bytes = 197;
	CU_ASSERT_EQUAL(uroce_cm_accept(d.cm, id, &accept), -EINVAL);
	accept.private_bytes = 196;
	CU_ASSERT_EQUAL(uroce_cm_accept(d.cm, id, &accept), 0);
	drill_sends(&d, UROCE_MAD_REP);
	/* Not twice, and not on a queue pair that has a connection. */
	CU_ASSERT_EQUAL(uroce_cm_accept(d.cm, id, &good), -ENOTCONN);
	{
		struct uroce_mad req = drill_req(&d);

		req.local_id++;
		req.req.end.qpn++;
		CU_ASSERT_EQUAL(drill_rx(&d, &req), UROCE_CM_ACCEPTED);
		drill_hears(&d, UROCE_CM_CONNECT_REQUEST);
		next = d.event.id;
	}
	CU_ASSERT_EQUAL(uroce_cm_accept(d.cm, next, &good), -EADDRINUSE);
	good.qpn++;
	CU_ASSERT_EQUAL(uroce_cm_accept(d.cm, next, &good), 0);
	drill_sends(&d, UROCE_MAD_REP);
	drill_fini(&d);
}

/* A request with one thing wrong; the refusal that it gets. */
static void check_refused(struct cm_drill *d, const struct uroce_mad *req, uint16_t reason)
{
	CU_ASSERT_EQUAL(drill_rx(d, req), UROCE_CM_DROP_REFUSED);
	drill_sends_rej(d, UROCE_MAD_TO_REQ, reason);
	CU_ASSERT_EQUAL(d->mad.tid, CM_TID);
	CU_ASSERT_EQUAL(d->mad.local_id, 0);
	CU_ASSERT_EQUAL(d->mad.remote_id, req->local_id);
	CU_ASSERT_EQUAL(uroce_cm_num_ids(d->cm), 0);
	drill_hears_nothing(d);
}

static void requests_that_are_refused(void)
{
	struct cm_drill d;
	struct uroce_mad good, req;
	uint8_t data[92];

	drill_init(&d, NULL);
	good = req = drill_req(&d);
	check_refused(&d, &req, UROCE_CM_REJECT_INVALID_SERVICE_ID);
	drill_listen(&d);
	req.req.service_id++;
	check_refused(&d, &req, UROCE_CM_REJECT_INVALID_SERVICE_ID);
	for (uint8_t transport = 2; transport < 4; transport++) {
		req = good;
		req.req.transport = transport;
		check_refused(&d, &req, UROCE_CM_REJECT_INVALID_TRANSPORT);
	}
	req = good;
	req.req.local_gid.low++;
	check_refused(&d, &req, UROCE_CM_REJECT_INVALID_GID);
	CU_ASSERT_EQUAL(d.mad.rej.ari_bytes, UROCE_GID_BYTES);
	CU_ASSERT(uroce_gid_equal(uroce_gid_load(d.mad.rej.ari), d.us));
	req = good;
	req.req.remote_gid.low++;
	check_refused(&d, &req, UROCE_CM_REJECT_INVALID_GID);
	req = good;
	req.req.pkey = 0x8001;
	check_refused(&d, &req, UROCE_CM_REJECT_UNSUPPORTED);
	req = good;
	memcpy(data, good.private_data, good.private_bytes);
	data[1] = 0x50;
	req.private_data = data;
	check_refused(&d, &req, UROCE_CM_REJECT_UNSUPPORTED);
	/* A limited member of the partition is one. */
	req = good;
	req.req.pkey = 0x7fff;
	CU_ASSERT_EQUAL(drill_rx(&d, &req), UROCE_CM_ACCEPTED);
	drill_hears(&d, UROCE_CM_CONNECT_REQUEST);
	drill_fini(&d);
}

static void path_mtus(void)
{
	struct cm_drill d;
	struct uroce_mad req;

	drill_init(&d, NULL);
	drill_listen(&d);
	req = drill_req(&d);
	for (uint8_t mtu = 0; mtu < 16; mtu++) {
		if (mtu >= 1 && mtu <= 3)
			continue;
		req.req.path_mtu = mtu;
		check_refused(&d, &req, UROCE_CM_REJECT_INVALID_MTU);
		CU_ASSERT_EQUAL(d.mad.rej.ari_bytes, 1);
		CU_ASSERT_EQUAL(d.mad.rej.ari[0], 3);
	}
	uroce_cm_set_mtu(d.cm, 1500);
	check_refused(&d, &req, UROCE_CM_REJECT_INVALID_MTU);
	uroce_cm_set_mtu(d.cm, 4096);
	req.req.path_mtu = 5;
	CU_ASSERT_EQUAL(drill_rx(&d, &req), UROCE_CM_ACCEPTED);
	drill_hears(&d, UROCE_CM_CONNECT_REQUEST);
	CU_ASSERT_EQUAL(d.event.params.path_mtu_bytes, 4096);
	drill_fini(&d);
}

static void repeated_requests(void)
{
	struct cm_drill d;
	struct uroce_cm_accept accept;
	struct uroce_mad req, mad;
	uint64_t deadline_ns;
	uint32_t id;

	drill_init(&d, NULL);
	id = drill_req_rcvd(&d);
	req = drill_req(&d);
	CU_ASSERT_EQUAL(drill_rx(&d, &req), UROCE_CM_DROP_DUPLICATE);
	drill_sends(&d, UROCE_MAD_MRA);
	CU_ASSERT_EQUAL(d.mad.mra.answered, UROCE_MAD_TO_REQ);
	CU_ASSERT_EQUAL(d.mad.mra.service_timeout, 20);
	CU_ASSERT_EQUAL(d.mad.local_id, id);
	accept = drill_accept_conf();
	CU_ASSERT_EQUAL(uroce_cm_accept(d.cm, id, &accept), 0);
	drill_sends(&d, UROCE_MAD_REP);
	/* The answer goes out again at once, and its timer as before. */
	deadline_ns = uroce_cm_next_deadline(d.cm);
	drill_passes(&d, CM_MS);
	CU_ASSERT_EQUAL(drill_rx(&d, &req), UROCE_CM_DROP_DUPLICATE);
	drill_sends(&d, UROCE_MAD_REP);
	CU_ASSERT_EQUAL(uroce_cm_next_deadline(d.cm), deadline_ns);
	mad = drill_short(UROCE_MAD_RTU, id);
	CU_ASSERT_EQUAL(drill_rx(&d, &mad), UROCE_CM_ACCEPTED);
	drill_hears(&d, UROCE_CM_ESTABLISHED);
	CU_ASSERT_EQUAL(drill_rx(&d, &req), UROCE_CM_DROP_DUPLICATE);
	drill_sends_nothing(&d);
	mad = drill_dreq(id);
	CU_ASSERT_EQUAL(drill_rx(&d, &mad), UROCE_CM_ACCEPTED);
	drill_sends(&d, UROCE_MAD_DREP);
	drill_hears(&d, UROCE_CM_DISCONNECTED);
	CU_ASSERT_EQUAL(drill_rx(&d, &req), UROCE_CM_DROP_REFUSED);
	drill_sends_rej(&d, UROCE_MAD_TO_REQ, UROCE_CM_REJECT_STALE);
	drill_fini(&d);
}

/* Under the id of a connection, but another request. */
static void ids_that_are_taken(void)
{
	struct cm_drill d;
	struct uroce_mad req;
	uint32_t id;

	drill_init(&d, NULL);
	id = drill_passive(&d);
	req = drill_req(&d);
	req.req.end.qpn++;
	CU_ASSERT_EQUAL(drill_rx(&d, &req), UROCE_CM_DROP_REFUSED);
	drill_sends_rej(&d, UROCE_MAD_TO_REQ, UROCE_CM_REJECT_DUPLICATE_COMM_ID);
	CU_ASSERT_EQUAL(drill_state(&d, id), UROCE_CM_STATE_ESTABLISHED);
	/* The same id and queue pair, but another PSN or service: the peer began anew. */
	req = drill_req(&d);
	req.req.end.psn++;
	CU_ASSERT_EQUAL(drill_rx(&d, &req), UROCE_CM_DROP_REFUSED);
	drill_sends_rej(&d, UROCE_MAD_TO_REQ, UROCE_CM_REJECT_STALE);
	drill_sends(&d, UROCE_MAD_DREQ);
	drill_fini(&d);
}

/* A queue pair that is in a connection: the request is refused, the connection ended. */
static void a_stale_connection(void)
{
	struct cm_drill d;
	struct uroce_mad req, drep;
	uint32_t id;

	drill_init(&d, NULL);
	id = drill_passive(&d);
	req = drill_req(&d);
	req.local_id++;
	CU_ASSERT_EQUAL(drill_rx(&d, &req), UROCE_CM_DROP_REFUSED);
	drill_sends(&d, UROCE_MAD_DREQ);
	CU_ASSERT_EQUAL(d.mad.local_id, id);
	CU_ASSERT_EQUAL(d.mad.remote_id, CM_PEER_ID);
	CU_ASSERT_EQUAL(d.mad.dreq_qpn, CM_PEER_QPN);
	drill_sends_rej(&d, UROCE_MAD_TO_REQ, UROCE_CM_REJECT_STALE);
	CU_ASSERT_EQUAL(d.mad.remote_id, CM_PEER_ID + 1);
	CU_ASSERT_EQUAL(drill_counters(&d)->stale, 1);
	/* As long as it is not over, TIMEWAIT included. */
	CU_ASSERT_EQUAL(drill_rx(&d, &req), UROCE_CM_DROP_REFUSED);
	drill_sends_rej(&d, UROCE_MAD_TO_REQ, UROCE_CM_REJECT_STALE);
	CU_ASSERT_EQUAL(drill_counters(&d)->stale, 1);
	drep = drill_short(UROCE_MAD_DREP, id);
	CU_ASSERT_EQUAL(drill_rx(&d, &drep), UROCE_CM_ACCEPTED);
	drill_hears(&d, UROCE_CM_DISCONNECTED);
	CU_ASSERT_EQUAL(drill_rx(&d, &req), UROCE_CM_DROP_REFUSED);
	drill_sends_rej(&d, UROCE_MAD_TO_REQ, UROCE_CM_REJECT_STALE);
	drill_waits(&d);
	drill_hears(&d, UROCE_CM_TIMEWAIT_EXIT);
	CU_ASSERT_EQUAL(drill_rx(&d, &req), UROCE_CM_ACCEPTED);
	drill_hears(&d, UROCE_CM_CONNECT_REQUEST);
	drill_fini(&d);
}

/* What is wrong in itself ends nobody's connection. */
static void a_refused_request_ends_nothing(void)
{
	struct cm_drill d;
	struct uroce_mad req;
	uint32_t id;

	drill_init(&d, NULL);
	id = drill_passive(&d);
	req = drill_req(&d);
	req.local_id++;
	req.req.path_mtu = 5;
	CU_ASSERT_EQUAL(drill_rx(&d, &req), UROCE_CM_DROP_REFUSED);
	drill_sends_rej(&d, UROCE_MAD_TO_REQ, UROCE_CM_REJECT_INVALID_MTU);
	CU_ASSERT_EQUAL(drill_state(&d, id), UROCE_CM_STATE_ESTABLISHED);
	/* The same queue pair number at another address is another queue pair. */
	req = drill_req(&d);
	req.req.local_gid.low++;
	CU_ASSERT_EQUAL(drill_rx_from(&d, &req, req.req.local_gid, d.us, 1), UROCE_CM_ACCEPTED);
	drill_hears(&d, UROCE_CM_CONNECT_REQUEST);
	CU_ASSERT_EQUAL(drill_state(&d, id), UROCE_CM_STATE_ESTABLISHED);
	drill_fini(&d);
}

/* Of a request that waits, or that was accepted only just. */
static void a_stale_request(void)
{
	for (uint32_t accepted = 0; accepted < 2; accepted++) {
		struct cm_drill d;
		struct uroce_mad req;
		uint32_t id;

		drill_init(&d, NULL);
		id = accepted ? drill_rep_sent(&d) : drill_req_rcvd(&d);
		req = drill_req(&d);
		req.local_id++;
		CU_ASSERT_EQUAL(drill_rx(&d, &req), UROCE_CM_DROP_REFUSED);
		drill_sends_rej(&d, UROCE_MAD_TO_REQ, UROCE_CM_REJECT_STALE);
		drill_hears(&d, UROCE_CM_REJECTED);
		CU_ASSERT_EQUAL(d.event.id, id);
		CU_ASSERT_EQUAL(d.event.reason, UROCE_CM_REJECT_STALE);
		CU_ASSERT_EQUAL(drill_counters(&d)->stale, 1);
		CU_ASSERT_EQUAL(uroce_cm_next_deadline(d.cm), UINT64_MAX);
		/* The next try finds nothing in its way. */
		req.local_id++;
		CU_ASSERT_EQUAL(drill_rx(&d, &req), UROCE_CM_ACCEPTED);
		drill_hears(&d, UROCE_CM_CONNECT_REQUEST);
		CU_ASSERT_EQUAL(uroce_cm_destroy(d.cm, id), 0);
		drill_fini(&d);
	}
}

static void it_answers_again(void)
{
	static const uint64_t after_ms[] = {40, 80, 160};
	struct cm_drill d;
	struct uroce_cm_accept accept;
	struct uroce_mad req;
	uint32_t id;

	drill_init(&d, NULL);
	drill_listen(&d);
	/* The peer wants no more than three repetitions, and may take 17 s to answer. */
	req = drill_req(&d);
	req.req.max_cm_retries = 3;
	req.req.local_response_timeout = 22;
	CU_ASSERT_EQUAL(drill_rx(&d, &req), UROCE_CM_ACCEPTED);
	drill_hears(&d, UROCE_CM_CONNECT_REQUEST);
	id = d.event.id;
	accept = drill_accept_conf();
	CU_ASSERT_EQUAL(uroce_cm_accept(d.cm, id, &accept), 0);
	drill_sends(&d, UROCE_MAD_REP);
	for (uint32_t i = 0; i < 3; i++) {
		drill_passes(&d, after_ms[i] * CM_MS - 1);
		drill_sends_nothing(&d);
		drill_passes(&d, 1);
		drill_sends(&d, UROCE_MAD_REP);
	}
	drill_passes(&d, (4096ull << 22) - 1);
	drill_hears_nothing(&d);
	drill_passes(&d, 1);
	drill_hears(&d, UROCE_CM_UNREACHABLE);
	CU_ASSERT_EQUAL(d.event.id, id);
	drill_sends_rej(&d, UROCE_MAD_TO_OTHER, UROCE_CM_REJECT_TIMEOUT);
	CU_ASSERT_EQUAL(d.mad.local_id, id);
	CU_ASSERT_EQUAL(d.mad.remote_id, CM_PEER_ID);
	/* Who confirms now is told once more. */
	req = drill_short(UROCE_MAD_RTU, id);
	CU_ASSERT_EQUAL(drill_rx(&d, &req), UROCE_CM_DROP_STATE);
	drill_sends_rej(&d, UROCE_MAD_TO_OTHER, UROCE_CM_REJECT_TIMEOUT);
	CU_ASSERT_EQUAL(uroce_cm_destroy(d.cm, id), 0);
	drill_fini(&d);
}

static void the_peer_asks_for_time(void)
{
	struct cm_drill d;
	struct uroce_mad mra;
	uint32_t id;

	drill_init(&d, NULL);
	id = drill_rep_sent(&d);
	mra = drill_short(UROCE_MAD_MRA, id);
	mra.mra.service_timeout = 19;
	mra.mra.answered = UROCE_MAD_TO_REQ;
	CU_ASSERT_EQUAL(drill_rx(&d, &mra), UROCE_CM_DROP_STATE);
	mra.mra.answered = UROCE_MAD_TO_REP;
	CU_ASSERT_EQUAL(drill_rx(&d, &mra), UROCE_CM_ACCEPTED);
	CU_ASSERT_EQUAL(uroce_cm_next_deadline(d.cm), d.now_ns + (4096ull << 19) + 40 * CM_MS);
	drill_waits(&d);
	drill_sends(&d, UROCE_MAD_REP);
	drill_fini(&d);
}

static void the_first_packet_counts_as_rtu(void)
{
	struct cm_drill d;
	struct uroce_mad rtu;
	uint32_t id;

	drill_init(&d, NULL);
	CU_ASSERT_EQUAL(uroce_cm_received(d.cm, 77), -ENOENT);
	id = drill_req_rcvd(&d);
	CU_ASSERT_EQUAL(uroce_cm_received(d.cm, id), -ENOTCONN);
	CU_ASSERT_EQUAL(uroce_cm_destroy(d.cm, id), 0);
	drill_sends_rej(&d, UROCE_MAD_TO_REQ, UROCE_CM_REJECT_CONSUMER);
	drill_fini(&d);

	drill_init(&d, NULL);
	id = drill_rep_sent(&d);
	CU_ASSERT_EQUAL(uroce_cm_received(d.cm, id), 0);
	drill_hears(&d, UROCE_CM_ESTABLISHED);
	CU_ASSERT_EQUAL(uroce_cm_received(d.cm, id), 0);
	rtu = drill_short(UROCE_MAD_RTU, id);
	CU_ASSERT_EQUAL(drill_rx(&d, &rtu), UROCE_CM_DROP_DUPLICATE);
	CU_ASSERT_EQUAL(uroce_cm_next_deadline(d.cm), UINT64_MAX);
	drill_fini(&d);
}

static void rtus_for_others(void)
{
	struct cm_drill d;
	struct uroce_mad rtu;
	uint32_t id;

	drill_init(&d, NULL);
	id = drill_active(&d);
	rtu = drill_short(UROCE_MAD_RTU, id);
	CU_ASSERT_EQUAL(drill_rx(&d, &rtu), UROCE_CM_DROP_STATE);
	CU_ASSERT_EQUAL(drill_state(&d, id), UROCE_CM_STATE_ESTABLISHED);
	drill_fini(&d);
	drill_init(&d, NULL);
	id = drill_req_rcvd(&d);
	rtu = drill_short(UROCE_MAD_RTU, id);
	CU_ASSERT_EQUAL(drill_rx(&d, &rtu), UROCE_CM_DROP_STATE);
	CU_ASSERT_EQUAL(drill_state(&d, id), UROCE_CM_STATE_REQ_RCVD);
	drill_fini(&d);
}

int main(void)
{
	static const struct unit_case cases[] = {
		{"a request tells all that its queue pair needs", a_request_is_told},
		{"an accepted request is answered and established", it_accepts},
		{"of outstanding reads the lesser number holds", it_wants_less},
		{"values out of range accept nothing", wrong_values},
		{"requests that cannot be taken are refused, each with its reason",
			requests_that_are_refused},
		{"a path MTU over the port's is refused with the longest that would do", path_mtus},
		{"repeated requests get what the first one got", repeated_requests},
		{"another request under an id that is taken is refused", ids_that_are_taken},
		{"a queue pair that is in a connection ends it and must wait", a_stale_connection},
		{"a request that is refused ends nobody's connection",
			a_refused_request_ends_nothing},
		{"a request that waits gives way to a newer one of its queue pair",
			a_stale_request},
		{"an unconfirmed REP is sent again as the peer wants it, then given up",
			it_answers_again},
		{"MRA puts off the repetition of a REP", the_peer_asks_for_time},
		{"the first packet counts as RTU", the_first_packet_counts_as_rtu},
		{"an RTU that nobody waits for changes nothing", rtus_for_others},
	};

	return run_suite("cm_passive", cases, sizeof(cases) / sizeof(cases[0]));
}
