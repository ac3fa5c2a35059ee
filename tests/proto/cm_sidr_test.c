/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Resolution of datagram services, message by message, from both sides.
 */
#include <errno.h>
#include <string.h>

#include "cm_drill.h"
#include "cunit_run.h"

static const uint64_t service = (uint64_t)UROCE_CM_PS_UDP << 16 | CM_PORT;

static struct uroce_cm_resolve resolve_conf(const struct cm_drill *d)
{
	return (struct uroce_cm_resolve){.route = {.src = d->us, .dst = d->peer},
		.service_id = service,
		.local_port = 50000,
		.user = 0x51d,
		.private_data = "who",
		.private_bytes = 3};
}

static uint32_t asked(struct cm_drill *d)
{
	const struct uroce_cm_resolve resolve = resolve_conf(d);
	uint32_t id;

	CU_ASSERT_EQUAL_FATAL(uroce_cm_resolve(d->cm, &resolve, &id), 0);
	drill_sends(d, UROCE_MAD_SIDR_REQ);
	return id;
}

static struct uroce_mad sidr_rep(uint32_t id)
{
	return (struct uroce_mad){.attr = UROCE_MAD_SIDR_REP,
		.remote_id = id,
		.sidr_rep = {.service_id = service, .qpn = 0x123, .qkey = 0x1234567},
		.private_data = (const uint8_t *)"me",
		.private_bytes = 2};
}

static struct uroce_mad sidr_req(void)
{
	static const uint8_t data[UROCE_CM_CMA_BYTES + 3] = {
		0, 0x40, 0x9c, 0x40, [16] = 192, 0, 2, 2, [32] = 192, 0, 2, 1, 'h', 'e', 'y'};

	return (struct uroce_mad){.attr = UROCE_MAD_SIDR_REQ,
		.tid = CM_TID,
		.local_id = CM_PEER_ID,
		.sidr_service_id = service,
		.private_data = data,
		.private_bytes = sizeof(data)};
}

static void listen_for(struct cm_drill *d)
{
	const struct uroce_cm_listen listen = {.service_id = service, .backlog = 2, .user = 0x77};

	CU_ASSERT_EQUAL_FATAL(uroce_cm_listen(d->cm, &listen, &d->listener), 0);
}

static void we_resolve(void)
{
	struct cm_drill d;
	struct uroce_mad rep;
	uint8_t header[UROCE_CM_CMA_BYTES] = {
		0, 0x40, 0xc3, 0x50, [16] = 192, 0, 2, 1, [32] = 192, 0, 2, 2};
	uint32_t id;

	drill_init(&d, NULL);
	id = asked(&d);
	CU_ASSERT_EQUAL(d.mad.local_id, id);
	CU_ASSERT_EQUAL(d.mad.sidr_service_id, service);
	CU_ASSERT(memcmp(d.mad.private_data, header, sizeof(header)) == 0);
	CU_ASSERT(memcmp(d.mad.private_data + sizeof(header), "who", 4) == 0);
	rep = sidr_rep(id);
	CU_ASSERT_EQUAL(drill_rx(&d, &rep), UROCE_CM_ACCEPTED);
	drill_hears(&d, UROCE_CM_SIDR_RESOLVED);
	CU_ASSERT_EQUAL(d.event.id, id);
	CU_ASSERT_EQUAL(d.event.user, 0x51d);
	CU_ASSERT_EQUAL(d.event.reason, UROCE_CM_SIDR_VALID);
	CU_ASSERT_EQUAL(d.event.sidr_qpn, 0x123);
	CU_ASSERT_EQUAL(d.event.sidr_qkey, 0x1234567);
	CU_ASSERT_EQUAL(d.event.private_bytes, 136);
	CU_ASSERT(memcmp(d.event.private_data, "me", 3) == 0);
	CU_ASSERT_EQUAL(drill_rx(&d, &rep), UROCE_CM_DROP_STATE);
	CU_ASSERT_EQUAL(uroce_cm_next_deadline(d.cm), UINT64_MAX);
	CU_ASSERT_EQUAL(uroce_cm_destroy(d.cm, id), 0);
	CU_ASSERT_EQUAL(uroce_cm_num_ids(d.cm), 0);
	CU_ASSERT_EQUAL(drill_rx(&d, &rep), UROCE_CM_DROP_ID_UNKNOWN);
	drill_fini(&d);
}

static void it_is_refused(void)
{
	struct cm_drill d;
	struct uroce_mad rep;
	uint32_t id;

	drill_init(&d, NULL);
	id = asked(&d);
	rep = sidr_rep(id);
	rep.sidr_rep.status = UROCE_CM_SIDR_UNSUPPORTED;
	CU_ASSERT_EQUAL(drill_rx(&d, &rep), UROCE_CM_ACCEPTED);
	drill_hears(&d, UROCE_CM_SIDR_RESOLVED);
	CU_ASSERT_EQUAL(d.event.reason, UROCE_CM_SIDR_UNSUPPORTED);
	CU_ASSERT_EQUAL(d.event.sidr_qpn, 0);
	CU_ASSERT_EQUAL(d.event.sidr_qkey, 0);
	drill_fini(&d);
}

static void answers_of_others(void)
{
	const struct uroce_gid other = uroce_gid_of_ipv4(0xc0000263);
	struct cm_drill d;
	struct uroce_mad rep;
	uint32_t id;

	drill_init(&d, NULL);
	id = asked(&d);
	rep = sidr_rep(id);
	CU_ASSERT_EQUAL(drill_rx_from(&d, &rep, other, d.us, 1), UROCE_CM_DROP_NOT_PEER);
	rep.sidr_rep.service_id++;
	CU_ASSERT_EQUAL(drill_rx(&d, &rep), UROCE_CM_DROP_NOT_PEER);
	/* Nor does an answer to a connection answer this, or this one that. */
	rep = drill_rep(id);
	CU_ASSERT_EQUAL(drill_rx(&d, &rep), UROCE_CM_DROP_STATE);
	CU_ASSERT_EQUAL(drill_state(&d, id), UROCE_CM_STATE_SIDR_REQ_SENT);
	id = drill_req_sent(&d);
	rep = sidr_rep(id);
	CU_ASSERT_EQUAL(drill_rx(&d, &rep), UROCE_CM_DROP_STATE);
	drill_hears_nothing(&d);
	drill_fini(&d);
}

static void nobody_answers(void)
{
	struct cm_drill d;
	uint32_t id;

	drill_init(&d, NULL);
	id = asked(&d);
	for (uint32_t i = 0; i < 8; i++) {
		drill_waits(&d);
		drill_hears_nothing(&d);
		drill_sends(&d, UROCE_MAD_SIDR_REQ);
		CU_ASSERT_EQUAL(d.mad.local_id, id);
	}
	drill_waits(&d);
	drill_hears(&d, UROCE_CM_UNREACHABLE);
	CU_ASSERT(d.now_ns < CM_S + 11 * CM_S);
	CU_ASSERT_EQUAL(uroce_cm_destroy(d.cm, id), 0);
	drill_fini(&d);
}

static void wrong_values(void)
{
	const struct uroce_cm_conf conf = {.max_ids = 1, .mtu_bytes = 1024};
	struct cm_drill d;
	struct uroce_cm_resolve resolve;
	uint8_t data[217] = {0};
	uint32_t id, second;

	drill_init(&d, &conf);
	resolve = resolve_conf(&d);
	resolve.private_data = data;
	resolve.private_bytes = 181;
	CU_ASSERT_EQUAL(uroce_cm_resolve(d.cm, &resolve, &id), -EINVAL);
	resolve.service_id = 5;
	resolve.private_bytes = 217;
	CU_ASSERT_EQUAL(uroce_cm_resolve(d.cm, &resolve, &id), -EINVAL);
	resolve.private_bytes = 216;
	resolve.route.dst.low = 0;
	CU_ASSERT_EQUAL(uroce_cm_resolve(d.cm, &resolve, &id), -EINVAL);
	resolve.route.dst = d.peer;
	CU_ASSERT_EQUAL(uroce_cm_resolve(d.cm, &resolve, &id), 0);
	CU_ASSERT_EQUAL(uroce_cm_resolve(d.cm, &resolve, &second), -ENOSPC);
	CU_ASSERT_EQUAL(uroce_cm_destroy(d.cm, id), 0);
	CU_ASSERT_EQUAL(uroce_cm_num_ids(d.cm), 0);
	drill_fini(&d);
}

static void we_answer(void)
{
	struct cm_drill d;
	struct uroce_mad req = sidr_req();
	struct uroce_cm_sidr_reply reply = {
		.qpn = 0x321, .qkey = 0x7654321, .private_data = "here", .private_bytes = 4};
	uint8_t data[137] = {0};
	uint32_t id;

	drill_init(&d, NULL);
	listen_for(&d);
	CU_ASSERT_EQUAL(drill_rx(&d, &req), UROCE_CM_ACCEPTED);
	drill_hears(&d, UROCE_CM_SIDR_REQUEST);
	id = d.event.id;
	CU_ASSERT_EQUAL(d.event.listener, d.listener);
	CU_ASSERT_EQUAL(d.event.listener_user, 0x77);
	CU_ASSERT_EQUAL(d.event.service_id, service);
	CU_ASSERT_EQUAL(d.event.local_port, CM_PORT);
	CU_ASSERT_EQUAL(d.event.remote_port, 40000);
	CU_ASSERT_EQUAL(d.event.private_bytes, 180);
	CU_ASSERT(memcmp(d.event.private_data, "hey", 4) == 0);
	/* While the application thinks, it may ask again. */
	CU_ASSERT_EQUAL(drill_rx(&d, &req), UROCE_CM_DROP_DUPLICATE);
	drill_sends_nothing(&d);

	CU_ASSERT_EQUAL(uroce_cm_sidr_reply(d.cm, id + 16, &reply), -ENOENT);
	reply.private_data = data;
	reply.private_bytes = 137;
	CU_ASSERT_EQUAL(uroce_cm_sidr_reply(d.cm, id, &reply), -EINVAL);
	reply.private_data = "here";
	reply.private_bytes = 4;
	reply.qpn = 0;
	CU_ASSERT_EQUAL(uroce_cm_sidr_reply(d.cm, id, &reply), -EINVAL);
	reply.qpn = 0x321;
	CU_ASSERT_EQUAL(uroce_cm_sidr_reply(d.cm, id, &reply), 0);
	CU_ASSERT_EQUAL(uroce_cm_sidr_reply(d.cm, id, &reply), -ENOTCONN);
	for (uint32_t again = 0; again < 3; again++) {
		drill_sends(&d, UROCE_MAD_SIDR_REP);
		CU_ASSERT_EQUAL(d.mad.tid, CM_TID);
		CU_ASSERT_EQUAL(d.mad.remote_id, CM_PEER_ID);
		CU_ASSERT_EQUAL(d.mad.sidr_rep.status, UROCE_CM_SIDR_VALID);
		CU_ASSERT_EQUAL(d.mad.sidr_rep.qpn, 0x321);
		CU_ASSERT_EQUAL(d.mad.sidr_rep.qkey, 0x7654321);
		CU_ASSERT_EQUAL(d.mad.sidr_rep.service_id, service);
		CU_ASSERT(memcmp(d.mad.private_data, "here", 5) == 0);
		if (again == 0)
			CU_ASSERT_EQUAL(uroce_cm_destroy(d.cm, id), 0);
		CU_ASSERT_EQUAL(drill_rx(&d, &req), UROCE_CM_DROP_DUPLICATE);
	}
	drill_sends(&d, UROCE_MAD_SIDR_REP);
	drill_hears_nothing(&d);
	drill_waits(&d);
	CU_ASSERT_EQUAL(uroce_cm_num_ids(d.cm), 0);
	drill_fini(&d);
}

static void requests_that_are_refused(void)
{
	struct cm_drill d;
	struct uroce_mad req = sidr_req();
	uint8_t data[UROCE_CM_CMA_BYTES] = {1};

	drill_init(&d, NULL);
	CU_ASSERT_EQUAL(drill_rx(&d, &req), UROCE_CM_DROP_REFUSED);
	drill_sends(&d, UROCE_MAD_SIDR_REP);
	CU_ASSERT_EQUAL(d.mad.remote_id, CM_PEER_ID);
	CU_ASSERT_EQUAL(d.mad.sidr_rep.status, UROCE_CM_SIDR_UNSUPPORTED);
	CU_ASSERT_EQUAL(d.mad.sidr_rep.service_id, service);
	CU_ASSERT_EQUAL(d.mad.tid, CM_TID);
	listen_for(&d);
	req.private_data = data;
	req.private_bytes = sizeof(data);
	CU_ASSERT_EQUAL(drill_rx(&d, &req), UROCE_CM_DROP_REFUSED);
	drill_sends(&d, UROCE_MAD_SIDR_REP);
	CU_ASSERT_EQUAL(d.mad.sidr_rep.status, UROCE_CM_SIDR_UNSUPPORTED);
	/* More than the backlog. */
	req = sidr_req();
	for (uint32_t i = 0; i < 3; i++) {
		req.local_id = CM_PEER_ID + i;
		CU_ASSERT_EQUAL(
			drill_rx(&d, &req), i < 2 ? UROCE_CM_ACCEPTED : UROCE_CM_DROP_REFUSED);
	}
	drill_sends(&d, UROCE_MAD_SIDR_REP);
	CU_ASSERT_EQUAL(d.mad.sidr_rep.status, UROCE_CM_SIDR_NO_QP);
	CU_ASSERT_EQUAL(drill_counters(&d)->backlog_full, 1);
	/* Another service under an id that is taken. */
	req.local_id = CM_PEER_ID;
	req.sidr_service_id = 5;
	CU_ASSERT_EQUAL(drill_rx(&d, &req), UROCE_CM_DROP_REFUSED);
	drill_sends(&d, UROCE_MAD_SIDR_REP);
	CU_ASSERT_EQUAL(d.mad.sidr_rep.status, UROCE_CM_SIDR_REJECTED);
	drill_hears(&d, UROCE_CM_SIDR_REQUEST);
	drill_hears(&d, UROCE_CM_SIDR_REQUEST);
	drill_fini(&d);
}

static void destroyed_before_it_was_answered(void)
{
	struct cm_drill d;
	const struct uroce_mad req = sidr_req();
	uint32_t id;

	drill_init(&d, NULL);
	listen_for(&d);
	CU_ASSERT_EQUAL(drill_rx(&d, &req), UROCE_CM_ACCEPTED);
	drill_hears(&d, UROCE_CM_SIDR_REQUEST);
	id = d.event.id;
	CU_ASSERT_EQUAL(uroce_cm_destroy(d.cm, id), 0);
	drill_sends(&d, UROCE_MAD_SIDR_REP);
	CU_ASSERT_EQUAL(d.mad.sidr_rep.status, UROCE_CM_SIDR_REJECTED);
	CU_ASSERT_EQUAL(d.mad.private_data[0], 0);
	drill_fini(&d);

	/* Nobody listens any more, before anybody heard of it. */
	drill_init(&d, NULL);
	listen_for(&d);
	CU_ASSERT_EQUAL(drill_rx(&d, &req), UROCE_CM_ACCEPTED);
	CU_ASSERT_EQUAL(uroce_cm_unlisten(d.cm, d.listener), 0);
	drill_hears_nothing(&d);
	drill_sends(&d, UROCE_MAD_SIDR_REP);
	CU_ASSERT_EQUAL(d.mad.sidr_rep.status, UROCE_CM_SIDR_UNSUPPORTED);
	drill_waits(&d);
	CU_ASSERT_EQUAL(uroce_cm_num_ids(d.cm), 0);
	drill_fini(&d);
}

int main(void)
{
	static const struct unit_case cases[] = {
		{"a service is resolved to its queue pair", we_resolve},
		{"a refusal tells its status and no queue pair", it_is_refused},
		{"answers of others, and to others, answer nothing", answers_of_others},
		{"a question that nobody answers ends in time", nobody_answers},
		{"questions that are too long or lead nowhere are not asked", wrong_values},
		{"a question is answered as often as it comes", we_answer},
		{"questions that cannot be taken are refused, each with its status",
			requests_that_are_refused},
		{"a question that is destroyed is refused", destroyed_before_it_was_answered},
	};

	return run_suite("cm_sidr", cases, sizeof(cases) / sizeof(cases[0]));
}
