/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The active side, message by message: what it asks, what it makes of every answer, and when it
 * asks again.
 */
#include <errno.h>
#include <string.h>

#include "cm_drill.h"
#include "cunit_run.h"

static void it_asks(void)
{
	struct cm_drill d;
	struct uroce_cm_connect connect;
	const struct uroce_mad_req *req = &d.mad.req;
	uint8_t header[UROCE_CM_CMA_BYTES] = {
		0, 0x40, 0xc3, 0x50, [16] = 192, 0, 2, 1, [32] = 192, 0, 2, 2};
	uint32_t id;

	drill_init(&d, NULL);
	connect = drill_connect_conf(&d);
	connect.route.flow_label = 0xabcde;
	connect.route.traffic_class = 0x68;
	connect.qp_type = UROCE_QP_UC;
	connect.srq = true;
	connect.flow_control = true;
	connect.private_data = "hello";
	connect.private_bytes = 5;
	CU_ASSERT_EQUAL_FATAL(uroce_cm_connect(d.cm, &connect, &id), 0);
	CU_ASSERT_NOT_EQUAL(id, 0);
	drill_sends(&d, UROCE_MAD_REQ);
	CU_ASSERT_EQUAL(d.to.flow_label, 0xabcde);
	CU_ASSERT_EQUAL(d.to.traffic_class, 0x68);
	CU_ASSERT_EQUAL(d.mad.local_id, id);
	CU_ASSERT_EQUAL(req->service_id, connect.service_id);
	CU_ASSERT_EQUAL(req->end.ca_guid, 0x0200000000000001);
	CU_ASSERT_EQUAL(req->end.qpn, CM_QPN);
	CU_ASSERT_EQUAL(req->end.psn, CM_PSN);
	CU_ASSERT_EQUAL(req->end.responder_resources, 4);
	CU_ASSERT_EQUAL(req->end.initiator_depth, 2);
	CU_ASSERT_EQUAL(req->end.rnr_retry, 5);
	CU_ASSERT(req->end.srq && req->end.flow_control);
	CU_ASSERT(uroce_gid_equal(req->local_gid, d.us));
	CU_ASSERT(uroce_gid_equal(req->remote_gid, d.peer));
	CU_ASSERT_EQUAL(req->flow_label, 0xabcde);
	CU_ASSERT_EQUAL(req->traffic_class, 0x68);
	CU_ASSERT_EQUAL(req->hop_limit, 64);
	CU_ASSERT_EQUAL(req->pkey, 0xffff);
	CU_ASSERT_EQUAL(req->transport, UROCE_MAD_UC);
	CU_ASSERT_EQUAL(req->path_mtu, 3);
	CU_ASSERT_EQUAL(req->retry_count, 6);
	CU_ASSERT_EQUAL(req->ack_timeout, 14);
	CU_ASSERT_EQUAL(req->remote_response_timeout, 20);
	CU_ASSERT_EQUAL(req->local_response_timeout, 16);
	CU_ASSERT_EQUAL(req->max_cm_retries, 15);
	CU_ASSERT(memcmp(d.mad.private_data, header, sizeof(header)) == 0);
	CU_ASSERT(memcmp(d.mad.private_data + sizeof(header), "hello", 6) == 0);
	drill_fini(&d);
}

static void other_services_have_no_header(void)
{
	struct cm_drill d;
	struct uroce_cm_connect connect;
	uint8_t data[UROCE_CM_REQ_PRIVATE_BYTES];
	uint32_t id;

	drill_init(&d, NULL);
	memset(data, 0x5a, sizeof(data));
	connect = drill_connect_conf(&d);
	connect.service_id = 0x1000000000000042;
	connect.private_data = data;
	connect.private_bytes = sizeof(data);
	CU_ASSERT_EQUAL_FATAL(uroce_cm_connect(d.cm, &connect, &id), 0);
	drill_sends(&d, UROCE_MAD_REQ);
	CU_ASSERT(memcmp(d.mad.private_data, data, sizeof(data)) == 0);
	drill_fini(&d);
}

static void wrong_values(void)
{
	static const struct {
		size_t offset;
		uint32_t value;
		uint32_t bytes;
	} rows[] = {
#define ROW(field, value) \
	{offsetof(struct uroce_cm_connect, field), value, \
		sizeof(((struct uroce_cm_connect *)0)->field)}
		ROW(qpn, 0),
		ROW(qpn, 1),
		ROW(qpn, 0xffffff),
		ROW(qpn, 0x1000000),
		ROW(psn, 0x1000000),
		ROW(qp_type, UROCE_QP_UD),
		ROW(path_mtu_bytes, 0),
		ROW(path_mtu_bytes, 1000),
		ROW(path_mtu_bytes, 2048), /* the port has 1024 */
		ROW(retry_count, 8),
		ROW(rnr_retry, 8),
		ROW(ack_timeout, 32),
		ROW(private_bytes, 57),
		ROW(route.flow_label, 0x100000),
#undef ROW
	};
	struct cm_drill d;
	struct uroce_cm_connect connect;
	uint8_t data[64] = {0};
	uint32_t id;

	drill_init(&d, NULL);
	for (uint32_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		connect = drill_connect_conf(&d);
		connect.private_data = data;
		memcpy((uint8_t *)&connect + rows[i].offset, &rows[i].value, rows[i].bytes);
		CU_ASSERT_EQUAL(uroce_cm_connect(d.cm, &connect, &id), -EINVAL);
	}
	CU_ASSERT_EQUAL(uroce_cm_num_ids(d.cm), 0);
	drill_fini(&d);
}

static void wrong_routes(void)
{
	const struct uroce_gid none = {0, 0}, ipv6 = {0xfe80ull << 48, 1},
			       group = uroce_gid_of_ipv4(0xe0000001);
	struct cm_drill d;
	struct uroce_cm_connect connect;
	uint32_t id;

	drill_init(&d, NULL);
	connect = drill_connect_conf(&d);
	for (uint32_t i = 0; i < 3; i++) {
		const struct uroce_gid wrong[] = {none, ipv6, group};

		connect.route = (struct uroce_cm_route){.src = d.us, .dst = wrong[i]};
		CU_ASSERT_EQUAL(uroce_cm_connect(d.cm, &connect, &id), -EINVAL);
		connect.route = (struct uroce_cm_route){.src = wrong[i], .dst = d.peer};
		CU_ASSERT_EQUAL(uroce_cm_connect(d.cm, &connect, &id), -EINVAL);
	}
	drill_fini(&d);
}

static void a_queue_pair_has_one_connection(void)
{
	struct cm_drill d;
	struct uroce_cm_connect connect;
	struct uroce_mad drep;
	uint32_t first, id;

	drill_init(&d, NULL);
	first = drill_active(&d);
	connect = drill_connect_conf(&d);
	CU_ASSERT_EQUAL(uroce_cm_connect(d.cm, &connect, &id), -EADDRINUSE);
	/* Until no frame of it is under way. */
	CU_ASSERT_EQUAL(uroce_cm_disconnect(d.cm, first), 0);
	drill_sends(&d, UROCE_MAD_DREQ);
	drep = drill_short(UROCE_MAD_DREP, first);
	CU_ASSERT_EQUAL(drill_rx(&d, &drep), UROCE_CM_ACCEPTED);
	drill_hears(&d, UROCE_CM_DISCONNECTED);
	CU_ASSERT_EQUAL(uroce_cm_connect(d.cm, &connect, &id), -EADDRINUSE);
	CU_ASSERT_EQUAL(uroce_cm_destroy(d.cm, first), 0);
	CU_ASSERT_EQUAL(uroce_cm_connect(d.cm, &connect, &id), -EADDRINUSE);
	CU_ASSERT_EQUAL(uroce_cm_num_ids(d.cm), 1);
	drill_waits(&d);
	CU_ASSERT_EQUAL(uroce_cm_connect(d.cm, &connect, &id), 0);
	CU_ASSERT_NOT_EQUAL(id, first);
	drill_sends(&d, UROCE_MAD_REQ);
	drill_fini(&d);
}

static void places_run_out(void)
{
	const struct uroce_cm_conf conf = {.max_ids = 2, .mtu_bytes = 1024};
	struct cm_drill d;
	struct uroce_cm_connect connect;
	uint32_t id[3];

	drill_init(&d, &conf);
	connect = drill_connect_conf(&d);
	for (uint32_t i = 0; i < 3; i++) {
		connect.qpn = CM_QPN + i;
		CU_ASSERT_EQUAL(uroce_cm_connect(d.cm, &connect, &id[i]), i < 2 ? 0 : -ENOSPC);
	}
	/* Of a request that nobody saw nothing need be said. */
	CU_ASSERT_EQUAL(uroce_cm_destroy(d.cm, id[0]), 0);
	CU_ASSERT_EQUAL(uroce_cm_connect(d.cm, &connect, &id[2]), 0);
	CU_ASSERT_EQUAL(uroce_cm_num_ids(d.cm), 2);
	drill_sends(&d, UROCE_MAD_REQ);
	drill_sends(&d, UROCE_MAD_REQ);
	drill_fini(&d);
}

static void it_is_accepted(void)
{
	struct cm_drill d;
	const struct uroce_cm_params *params = &d.event.params;
	struct uroce_mad rep;
	uint32_t id;

	drill_init(&d, NULL);
	id = drill_req_sent(&d);
	rep = drill_rep(id);
	rep.rep.end.srq = true;
	rep.rep.end.qkey = 0x77;
	rep.private_data = (const uint8_t *)"welcome";
	rep.private_bytes = 7;
	CU_ASSERT_EQUAL(drill_rx(&d, &rep), UROCE_CM_ACCEPTED);
	drill_hears(&d, UROCE_CM_CONNECT_RESPONSE);
	CU_ASSERT_EQUAL(d.event.id, id);
	CU_ASSERT_EQUAL(d.event.user, 0xdef);
	CU_ASSERT_EQUAL(d.event.listener, 0);
	CU_ASSERT_EQUAL(d.event.local_qpn, CM_QPN);
	CU_ASSERT_EQUAL(d.event.local_port, 50000);
	CU_ASSERT_EQUAL(d.event.remote_port, CM_PORT);
	CU_ASSERT_EQUAL(params->qp_type, UROCE_QP_RC);
	CU_ASSERT_EQUAL(params->remote_qpn, CM_PEER_QPN);
	CU_ASSERT_EQUAL(params->remote_psn, CM_PEER_PSN);
	CU_ASSERT_EQUAL(params->remote_qkey, 0x77);
	CU_ASSERT_EQUAL(params->path_mtu_bytes, 1024);
	/* The lesser of what we said and the peer. */
	CU_ASSERT_EQUAL(params->responder_resources, 2);
	CU_ASSERT_EQUAL(params->initiator_depth, 2);
	CU_ASSERT_EQUAL(params->retry_count, 6);
	CU_ASSERT_EQUAL(params->rnr_retry, 4);
	CU_ASSERT_EQUAL(params->ack_timeout, 14);
	CU_ASSERT_EQUAL(params->target_ack_delay, 9);
	CU_ASSERT(params->srq && !params->flow_control);
	CU_ASSERT_EQUAL(d.event.private_bytes, UROCE_CM_REP_PRIVATE_BYTES);
	CU_ASSERT(memcmp(d.event.private_data, "welcome", 8) == 0);
	CU_ASSERT_EQUAL(uroce_cm_next_deadline(d.cm), UINT64_MAX);
	CU_ASSERT_EQUAL(uroce_cm_established(d.cm, id), 0);
	drill_sends(&d, UROCE_MAD_RTU);
	CU_ASSERT_EQUAL(d.mad.local_id, id);
	CU_ASSERT_EQUAL(d.mad.remote_id, CM_PEER_ID);
	CU_ASSERT_EQUAL(drill_state(&d, id), UROCE_CM_STATE_ESTABLISHED);
	CU_ASSERT_EQUAL(drill_counters(&d)->established, 1);
	drill_fini(&d);
}

static void repeated_replies(void)
{
	struct cm_drill d;
	struct uroce_mad rep;
	uint32_t id;

	drill_init(&d, NULL);
	id = drill_rep_rcvd(&d);
	rep = drill_rep(id);
	CU_ASSERT_EQUAL(drill_rx(&d, &rep), UROCE_CM_DROP_DUPLICATE);
	drill_sends(&d, UROCE_MAD_MRA);
	CU_ASSERT_EQUAL(d.mad.mra.answered, UROCE_MAD_TO_REP);
	CU_ASSERT_EQUAL(d.mad.mra.service_timeout, 20);
	CU_ASSERT_EQUAL(uroce_cm_established(d.cm, id), 0);
	drill_sends(&d, UROCE_MAD_RTU);
	CU_ASSERT_EQUAL(drill_rx(&d, &rep), UROCE_CM_DROP_DUPLICATE);
	drill_sends(&d, UROCE_MAD_RTU);
	drill_hears_nothing(&d);
	CU_ASSERT_EQUAL(uroce_cm_disconnect(d.cm, id), 0);
	drill_sends(&d, UROCE_MAD_DREQ);
	CU_ASSERT_EQUAL(drill_rx(&d, &rep), UROCE_CM_DROP_STATE);
	drill_fini(&d);
}

/* A REP after the end is refused, so that the peer need not try again and again. */
static void late_replies(void)
{
	struct cm_drill d;
	struct uroce_mad mad;
	uint32_t id;

	drill_init(&d, NULL);
	id = drill_active(&d);
	mad = drill_dreq(id);
	CU_ASSERT_EQUAL(drill_rx(&d, &mad), UROCE_CM_ACCEPTED);
	drill_sends(&d, UROCE_MAD_DREP);
	drill_hears(&d, UROCE_CM_DISCONNECTED);
	mad = drill_rep(id);
	CU_ASSERT_EQUAL(drill_rx(&d, &mad), UROCE_CM_DROP_REFUSED);
	drill_sends_rej(&d, UROCE_MAD_TO_REP, UROCE_CM_REJECT_INVALID_COMM_ID);
	CU_ASSERT_EQUAL(d.mad.local_id, id);
	CU_ASSERT_EQUAL(d.mad.remote_id, CM_PEER_ID);
	drill_waits(&d);
	drill_hears(&d, UROCE_CM_TIMEWAIT_EXIT);
	CU_ASSERT_EQUAL(drill_state(&d, id), UROCE_CM_STATE_CLOSED);
	CU_ASSERT_EQUAL(uroce_cm_destroy(d.cm, id), 0);
	CU_ASSERT_EQUAL(drill_rx(&d, &mad), UROCE_CM_DROP_REFUSED);
	drill_sends_rej(&d, UROCE_MAD_TO_REP, UROCE_CM_REJECT_INVALID_COMM_ID);
	drill_fini(&d);
}

static void replies_to_what_the_peer_asked(void)
{
	struct cm_drill d;
	struct uroce_mad rep;
	uint32_t id;

	drill_init(&d, NULL);
	id = drill_passive(&d);
	rep = drill_rep(id);
	CU_ASSERT_EQUAL(drill_rx(&d, &rep), UROCE_CM_DROP_STATE);
	CU_ASSERT_EQUAL(drill_state(&d, id), UROCE_CM_STATE_ESTABLISHED);
	drill_fini(&d);
}

/* The peer's queue pair is ours of another connection: that one is over, and so is this. */
static void a_reply_of_a_known_queue_pair(void)
{
	struct cm_drill d;
	struct uroce_cm_connect connect;
	struct uroce_mad rep;
	uint32_t old, id;

	drill_init(&d, NULL);
	old = drill_active(&d);
	connect = drill_connect_conf(&d);
	connect.qpn = CM_QPN + 1;
	CU_ASSERT_EQUAL(uroce_cm_connect(d.cm, &connect, &id), 0);
	drill_sends(&d, UROCE_MAD_REQ);
	rep = drill_rep(id);
	rep.local_id = CM_PEER_ID + 1;
	CU_ASSERT_EQUAL(drill_rx(&d, &rep), UROCE_CM_DROP_REFUSED);
	drill_sends(&d, UROCE_MAD_DREQ);
	CU_ASSERT_EQUAL(d.mad.local_id, old);
	drill_sends_rej(&d, UROCE_MAD_TO_REP, UROCE_CM_REJECT_STALE);
	CU_ASSERT_EQUAL(d.mad.local_id, id);
	CU_ASSERT_EQUAL(d.mad.remote_id, CM_PEER_ID + 1);
	drill_hears(&d, UROCE_CM_REJECTED);
	CU_ASSERT_EQUAL(d.event.id, id);
	CU_ASSERT_EQUAL(d.event.reason, UROCE_CM_REJECT_STALE);
	CU_ASSERT_EQUAL(drill_counters(&d)->stale, 1);
	/* Again, since the refusal was lost. */
	CU_ASSERT_EQUAL(drill_rx(&d, &rep), UROCE_CM_DROP_DUPLICATE);
	drill_sends_rej(&d, UROCE_MAD_TO_REP, UROCE_CM_REJECT_STALE);
	drill_fini(&d);
}

static void it_asks_again(void)
{
	static const uint64_t after_ms[] = {40, 80, 160, 320, 640, 1280, 2000, 2000};
	struct cm_drill d;
	uint64_t tid;
	uint32_t id;

	drill_init(&d, NULL);
	id = drill_req_sent(&d);
	tid = d.mad.tid;
	for (uint32_t i = 0; i < 8; i++) {
		drill_passes(&d, after_ms[i] * CM_MS - 1);
		drill_sends_nothing(&d);
		drill_passes(&d, 1);
		drill_sends(&d, UROCE_MAD_REQ);
		CU_ASSERT_EQUAL(d.mad.tid, tid);
		CU_ASSERT_EQUAL(d.mad.local_id, id);
	}
	CU_ASSERT_EQUAL(drill_counters(&d)->tx_retries, 8);
	/* The last one may take as long as the peer was allowed. */
	drill_passes(&d, 4096ull << 20);
	drill_hears(&d, UROCE_CM_UNREACHABLE);
	CU_ASSERT_EQUAL(drill_counters(&d)->timeouts, 1);
	drill_sends_rej(&d, UROCE_MAD_TO_OTHER, UROCE_CM_REJECT_TIMEOUT);
	CU_ASSERT_EQUAL(d.mad.local_id, id);
	CU_ASSERT_EQUAL(d.mad.remote_id, 0);
	/* How Linux finds who it was: by the GUID, as it was in the REQ. */
	CU_ASSERT_EQUAL(d.mad.rej.ari_bytes, 8);
	CU_ASSERT_EQUAL(uroce_load_be64(d.mad.rej.ari), 0x0200000000000001);
	CU_ASSERT_EQUAL(uroce_cm_established(d.cm, id), -ENOTCONN);
	CU_ASSERT_EQUAL(uroce_cm_disconnect(d.cm, id), 0);
	drill_waits(&d);
	drill_hears_nothing(&d);
	CU_ASSERT_EQUAL(drill_state(&d, id), UROCE_CM_STATE_CLOSED);
	CU_ASSERT_EQUAL(uroce_cm_destroy(d.cm, id), 0);
	CU_ASSERT_EQUAL(uroce_cm_num_ids(d.cm), 0);
	drill_fini(&d);
}

static void a_reply_after_giving_up(void)
{
	struct cm_drill d;
	struct uroce_mad rep;
	uint32_t id;

	drill_init(&d, NULL);
	id = drill_req_sent(&d);
	CU_ASSERT_EQUAL(uroce_cm_destroy(d.cm, id), 0);
	drill_sends_rej(&d, UROCE_MAD_TO_OTHER, UROCE_CM_REJECT_TIMEOUT);
	rep = drill_rep(id);
	CU_ASSERT_EQUAL(drill_rx(&d, &rep), UROCE_CM_DROP_DUPLICATE);
	drill_sends_rej(&d, UROCE_MAD_TO_OTHER, UROCE_CM_REJECT_TIMEOUT);
	CU_ASSERT_EQUAL(d.mad.remote_id, CM_PEER_ID);
	drill_waits(&d);
	CU_ASSERT_EQUAL(uroce_cm_num_ids(d.cm), 0);
	drill_fini(&d);
}

static void the_peer_asks_for_time(void)
{
	struct cm_drill d;
	struct uroce_mad mra;
	uint32_t id;

	drill_init(&d, NULL);
	id = drill_req_sent(&d);
	mra = drill_short(UROCE_MAD_MRA, id);
	mra.mra.service_timeout = 18;
	mra.mra.answered = UROCE_MAD_TO_REP;
	CU_ASSERT_EQUAL(drill_rx(&d, &mra), UROCE_CM_DROP_STATE);
	mra.mra.answered = UROCE_MAD_TO_REQ;
	CU_ASSERT_EQUAL(drill_rx(&d, &mra), UROCE_CM_ACCEPTED);
	CU_ASSERT_EQUAL(uroce_cm_next_deadline(d.cm), d.now_ns + (4096ull << 18) + 40 * CM_MS);
	/* Once for each time that it was asked. */
	drill_passes(&d, CM_MS);
	CU_ASSERT_EQUAL(drill_rx(&d, &mra), UROCE_CM_DROP_DUPLICATE);
	CU_ASSERT_EQUAL(
		uroce_cm_next_deadline(d.cm), d.now_ns - CM_MS + (4096ull << 18) + 40 * CM_MS);
	drill_waits(&d);
	/* Before it is asked again it has nothing to put off. */
	CU_ASSERT_EQUAL(drill_rx(&d, &mra), UROCE_CM_DROP_STATE);
	drill_sends(&d, UROCE_MAD_REQ);
	CU_ASSERT_EQUAL(drill_rx(&d, &mra), UROCE_CM_ACCEPTED);
	/* 31 is more than two hours: a minute is enough. */
	drill_waits(&d);
	drill_sends(&d, UROCE_MAD_REQ);
	mra.mra.service_timeout = 31;
	CU_ASSERT_EQUAL(drill_rx(&d, &mra), UROCE_CM_ACCEPTED);
	CU_ASSERT(uroce_cm_next_deadline(d.cm) < d.now_ns + 70 * CM_S);
	drill_fini(&d);
}

static void confirming_needs_a_reply(void)
{
	struct cm_drill d;
	uint32_t id;

	drill_init(&d, NULL);
	CU_ASSERT_EQUAL(uroce_cm_established(d.cm, 0), -ENOENT);
	CU_ASSERT_EQUAL(uroce_cm_established(d.cm, 12345), -ENOENT);
	id = drill_req_sent(&d);
	CU_ASSERT_EQUAL(uroce_cm_established(d.cm, id), -ENOTCONN);
	CU_ASSERT_EQUAL(uroce_cm_established(d.cm, id + 16), -ENOENT);
	CU_ASSERT_EQUAL(uroce_cm_set_user(d.cm, id + 16, 1), -ENOENT);
	CU_ASSERT_EQUAL(uroce_cm_set_user(d.cm, id, 1), 0);
	drill_fini(&d);
}

int main(void)
{
	static const struct unit_case cases[] = {
		{"a connection is asked for with all that was given", it_asks},
		{"services of others have no header of rdma_cm", other_services_have_no_header},
		{"values out of range ask for nothing", wrong_values},
		{"routes that lead nowhere ask for nothing", wrong_routes},
		{"a queue pair has one connection at a time, TIMEWAIT included",
			a_queue_pair_has_one_connection},
		{"places run out, and come back", places_run_out},
		{"an accepted connection tells what was agreed, and is confirmed", it_is_accepted},
		{"a repeated REP is told to wait, then confirmed again", repeated_replies},
		{"a REP after the end is refused", late_replies},
		{"a REP for what the peer asked itself changes nothing",
			replies_to_what_the_peer_asked},
		{"a REP of a queue pair that is in a connection ends both",
			a_reply_of_a_known_queue_pair},
		{"an unanswered REQ is sent again, ever later, and then given up", it_asks_again},
		{"a REP after giving up is refused, as often as it comes", a_reply_after_giving_up},
		{"MRA puts off the repetition, once each time", the_peer_asks_for_time},
		{"what was not accepted cannot be confirmed", confirming_needs_a_reply},
	};

	return run_suite("cm_active", cases, sizeof(cases) / sizeof(cases[0]));
}
