/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the connection manager holds and how much of it: places, listeners, answers to strangers,
 * and what it was configured with.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cm_drill.h"
#include "cunit_run.h"
#include "must.h"

static void configurations(void)
{
	const struct uroce_cm_conf good = {.max_ids = 16, .mtu_bytes = 1024};
	struct uroce_cm_conf conf = good;
	uint8_t memory[64];

	CU_ASSERT(uroce_cm_bytes(&good) > 0);
#define REFUSES(field, value) \
	do { \
		conf = good; \
		conf.field = value; \
		CU_ASSERT_EQUAL(uroce_cm_bytes(&conf), 0); \
		CU_ASSERT_PTR_NULL(uroce_cm_init(memory, &conf)); \
	} while (0)
	REFUSES(max_ids, 0);
	REFUSES(max_ids, UROCE_CM_IDS_MAX + 1);
	REFUSES(max_listeners, UROCE_CM_LISTENERS_MAX + 1);
	REFUSES(max_replies, UROCE_CM_REPLIES_MAX + 1);
	REFUSES(mtu_bytes, 0);
	REFUSES(mtu_bytes, 1500);
	REFUSES(mtu_bytes, 8192);
	REFUSES(timing.max_cm_retries, 16);
	REFUSES(timing.retries, 16);
	REFUSES(timing.remote_response_timeout, 32);
	REFUSES(timing.local_response_timeout, 32);
	REFUSES(timing.service_timeout, 32);
	REFUSES(timing.target_ack_delay, 32);
	REFUSES(timing.retry_first_ns, 3 * CM_S);
	REFUSES(timing.retry_max_ns, 70 * CM_S);
	REFUSES(timing.linger_ns, 70 * CM_S);
#undef REFUSES
}

/* What the README says of it. */
static void memory_per_connection(void)
{
	struct uroce_cm_conf conf = {.max_ids = 16384, .mtu_bytes = 1024};
	size_t bytes = uroce_cm_bytes(&conf);

	CU_ASSERT_EQUAL((bytes + conf.max_ids - 1) / conf.max_ids, 642);
}

static void timing_as_configured(void)
{
	const struct uroce_cm_conf conf = {.max_ids = 1,
		.mtu_bytes = 4096,
		.timing = {.retry_first_ns = 10 * CM_MS,
			.retry_max_ns = 15 * CM_MS,
			.retries = 3,
			.remote_response_timeout = 5,
			.local_response_timeout = 7,
			.max_cm_retries = 9}};
	struct cm_drill d;

	drill_init(&d, &conf);
	drill_req_sent(&d);
	CU_ASSERT_EQUAL(d.mad.req.remote_response_timeout, 5);
	CU_ASSERT_EQUAL(d.mad.req.local_response_timeout, 7);
	CU_ASSERT_EQUAL(d.mad.req.max_cm_retries, 9);
	for (uint32_t i = 0; i < 4; i++) {
		drill_passes(&d, (i == 0 ? 10 : 15) * CM_MS - 1);
		drill_hears_nothing(&d);
		drill_sends_nothing(&d);
		drill_passes(&d, 1);
		if (i < 3)
			drill_sends(&d, UROCE_MAD_REQ);
	}
	drill_hears(&d, UROCE_CM_UNREACHABLE);
	drill_sends(&d, UROCE_MAD_REJ);
	drill_fini(&d);
}

static void numbers_do_not_come_back(void)
{
	const struct uroce_cm_conf conf = {.max_ids = 3, .mtu_bytes = 1024};
	static uint32_t seen[300];
	struct cm_drill d;
	struct uroce_cm_connect connect;
	struct uroce_mad rep;

	drill_init(&d, &conf);
	connect = drill_connect_conf(&d);
	for (uint32_t i = 0; i < 300; i++) {
		CU_ASSERT_EQUAL(uroce_cm_connect(d.cm, &connect, &seen[i]), 0);
		for (uint32_t k = 0; k < i; k++)
			CU_ASSERT_NOT_EQUAL(seen[i], seen[k]);
		CU_ASSERT_EQUAL(uroce_cm_destroy(d.cm, seen[i]), 0);
		CU_ASSERT_EQUAL(uroce_cm_set_user(d.cm, seen[i], 1), -ENOENT);
	}
	rep = drill_rep(seen[299]);
	CU_ASSERT_EQUAL(drill_rx(&d, &rep), UROCE_CM_DROP_REFUSED);
	drill_sends(&d, UROCE_MAD_REJ);
	/* Numbers whose place there is none of. */
	CU_ASSERT_EQUAL(uroce_cm_destroy(d.cm, seen[0] | 3), -ENOENT);
	drill_fini(&d);
}

static void info_of_places(void)
{
	struct cm_drill d;
	struct uroce_cm_info info;
	uint32_t id, found = 0;

	drill_init(&d, NULL);
	id = drill_passive(&d);
	CU_ASSERT_EQUAL(uroce_cm_set_user(d.cm, id, 0x1111), 0);
	for (uint32_t place = 0; place < 16; place++)
		if (uroce_cm_info(d.cm, place, &info))
			found++;
	CU_ASSERT(!uroce_cm_info(d.cm, 16, &info));
	CU_ASSERT_EQUAL(found, 1);
	CU_ASSERT_EQUAL(info.id, id);
	CU_ASSERT_EQUAL(info.remote_id, CM_PEER_ID);
	CU_ASSERT_EQUAL(info.user, 0x1111);
	CU_ASSERT_EQUAL(info.state, UROCE_CM_STATE_ESTABLISHED);
	CU_ASSERT(!info.active && !info.destroyed);
	CU_ASSERT(uroce_gid_equal(info.route.dst, d.peer));
	CU_ASSERT_EQUAL(info.local_qpn, CM_QPN);
	CU_ASSERT_EQUAL(info.remote_qpn, CM_PEER_QPN);
	CU_ASSERT_EQUAL(info.retries, 0);
	drill_fini(&d);
}

/* ---- listeners --------------------------------------------------------------------------- */

static void listeners(void)
{
	const struct uroce_cm_conf conf = {.max_ids = 16, .mtu_bytes = 1024, .max_listeners = 3};
	struct cm_drill d;
	struct uroce_cm_listen listen = {.service_id = 1};
	uint32_t number[4];

	drill_init(&d, &conf);
	for (uint32_t i = 0; i < 4; i++) {
		listen.service_id = i;
		CU_ASSERT_EQUAL(uroce_cm_listen(d.cm, &listen, &number[i]), i < 3 ? 0 : -ENOSPC);
	}
	listen.service_id = 1;
	CU_ASSERT_EQUAL(uroce_cm_listen(d.cm, &listen, &number[3]), -EADDRINUSE);
	/* 0.0.0.0 is any too. */
	listen.addr = uroce_gid_of_ipv4(0);
	CU_ASSERT_EQUAL(uroce_cm_listen(d.cm, &listen, &number[3]), -EADDRINUSE);
	CU_ASSERT_EQUAL(uroce_cm_unlisten(d.cm, 0), -ENOENT);
	CU_ASSERT_EQUAL(uroce_cm_unlisten(d.cm, number[1]), 0);
	CU_ASSERT_EQUAL(uroce_cm_unlisten(d.cm, number[1]), -ENOENT);
	CU_ASSERT_EQUAL(uroce_cm_listen(d.cm, &listen, &number[3]), 0);
	CU_ASSERT_NOT_EQUAL(number[3], number[1]);
	CU_ASSERT_EQUAL(uroce_cm_unlisten(d.cm, number[1]), -ENOENT);
	drill_fini(&d);
}

static void an_address_goes_before_any(void)
{
	const struct uroce_gid other = uroce_gid_of_ipv4(0xc0000203);
	struct cm_drill d;
	struct uroce_cm_listen listen;
	struct uroce_mad req;
	uint32_t any, ours;

	drill_init(&d, NULL);
	req = drill_req(&d);
	listen = (struct uroce_cm_listen){.service_id = req.req.service_id, .addr = other};
	CU_ASSERT_EQUAL(uroce_cm_listen(d.cm, &listen, &ours), 0);
	CU_ASSERT_EQUAL(drill_rx(&d, &req), UROCE_CM_DROP_REFUSED);
	drill_sends_rej(&d, UROCE_MAD_TO_REQ, UROCE_CM_REJECT_INVALID_SERVICE_ID);
	listen.addr = (struct uroce_gid){0, 0};
	CU_ASSERT_EQUAL(uroce_cm_listen(d.cm, &listen, &any), 0);
	CU_ASSERT_EQUAL(drill_rx(&d, &req), UROCE_CM_ACCEPTED);
	drill_hears(&d, UROCE_CM_CONNECT_REQUEST);
	CU_ASSERT_EQUAL(d.event.listener, any);
	req.req.remote_gid = other;
	req.local_id++;
	req.req.end.qpn++;
	CU_ASSERT_EQUAL(drill_rx_from(&d, &req, d.peer, other, 1), UROCE_CM_ACCEPTED);
	drill_hears(&d, UROCE_CM_CONNECT_REQUEST);
	CU_ASSERT_EQUAL(d.event.listener, ours);
	drill_fini(&d);
}

/* A request of which the application knows is its own; one of which it does not is turned away. */
static void a_listener_ends(void)
{
	struct cm_drill d;
	struct uroce_mad req;
	const struct uroce_cm_accept accept = drill_accept_conf();
	uint32_t id;

	drill_init(&d, NULL);
	id = drill_req_rcvd(&d);
	req = drill_req(&d);
	req.local_id++;
	req.req.end.qpn++;
	CU_ASSERT_EQUAL(drill_rx(&d, &req), UROCE_CM_ACCEPTED);
	CU_ASSERT_EQUAL(uroce_cm_unlisten(d.cm, d.listener), 0);
	drill_hears_nothing(&d);
	drill_sends_rej(&d, UROCE_MAD_TO_REQ, UROCE_CM_REJECT_INVALID_SERVICE_ID);
	CU_ASSERT_EQUAL(d.mad.remote_id, CM_PEER_ID + 1);
	CU_ASSERT_EQUAL(d.mad.private_data[0], 0);
	CU_ASSERT_EQUAL(uroce_cm_accept(d.cm, id, &accept), 0);
	drill_sends(&d, UROCE_MAD_REP);
	CU_ASSERT_EQUAL(uroce_cm_num_ids(d.cm), 2);
	drill_passes(&d, 8 * CM_S);
	CU_ASSERT_EQUAL(uroce_cm_num_ids(d.cm), 1);
	drill_sends(&d, UROCE_MAD_REP);
	drill_fini(&d);
}

/* ---- floods ------------------------------------------------------------------------------ */

static struct uroce_mad nth_req(const struct cm_drill *d, uint32_t n)
{
	struct uroce_mad req = drill_req(d);

	req.local_id = 1 + n;
	req.req.end.qpn = 2 + n;
	return req;
}

/* Half-open connections count until they are established, or refused. */
static void the_backlog_is_the_limit(void)
{
	struct cm_drill d;
	struct uroce_cm_listen listen = {.backlog = 4};
	struct uroce_cm_accept accept = drill_accept_conf();
	const struct uroce_cm_refusal refusal = {.reason = UROCE_CM_REJECT_CONSUMER};
	struct uroce_mad mad;
	uint32_t listener, id[4];

	drill_init(&d, NULL);
	listen.service_id = drill_req(&d).req.service_id;
	CU_ASSERT_EQUAL(uroce_cm_listen(d.cm, &listen, &listener), 0);
	for (uint32_t i = 0; i < 100; i++) {
		mad = nth_req(&d, i);
		CU_ASSERT_EQUAL(
			drill_rx(&d, &mad), i < 4 ? UROCE_CM_ACCEPTED : UROCE_CM_DROP_REFUSED);
		if (i < 4)
			continue;
		drill_sends_rej(&d, UROCE_MAD_TO_REQ, UROCE_CM_REJECT_NO_RESOURCES);
		CU_ASSERT_EQUAL(d.mad.remote_id, 1 + i);
	}
	CU_ASSERT_EQUAL(drill_counters(&d)->backlog_full, 96);
	CU_ASSERT_EQUAL(uroce_cm_num_ids(d.cm), 4);
	for (uint32_t i = 0; i < 4; i++) {
		drill_hears(&d, UROCE_CM_CONNECT_REQUEST);
		id[i] = d.event.id;
	}
	/* Accepted is not enough, established is. */
	CU_ASSERT_EQUAL(uroce_cm_accept(d.cm, id[0], &accept), 0);
	drill_sends(&d, UROCE_MAD_REP);
	mad = nth_req(&d, 101);
	CU_ASSERT_EQUAL(drill_rx(&d, &mad), UROCE_CM_DROP_REFUSED);
	drill_sends(&d, UROCE_MAD_REJ);
	mad = drill_short(UROCE_MAD_RTU, id[0]);
	mad.local_id = 1;
	CU_ASSERT_EQUAL(drill_rx(&d, &mad), UROCE_CM_ACCEPTED);
	drill_hears(&d, UROCE_CM_ESTABLISHED);
	mad = nth_req(&d, 101);
	CU_ASSERT_EQUAL(drill_rx(&d, &mad), UROCE_CM_ACCEPTED);
	/* Refused, or given up by the peer. */
	CU_ASSERT_EQUAL(uroce_cm_reject(d.cm, id[1], &refusal), 0);
	drill_sends(&d, UROCE_MAD_REJ);
	mad = drill_rej(0, UROCE_MAD_TO_OTHER, UROCE_CM_REJECT_TIMEOUT);
	mad.local_id = 3;
	CU_ASSERT_EQUAL(drill_rx(&d, &mad), UROCE_CM_ACCEPTED);
	for (uint32_t i = 0; i < 3; i++) {
		mad = nth_req(&d, 200 + i);
		CU_ASSERT_EQUAL(
			drill_rx(&d, &mad), i < 2 ? UROCE_CM_ACCEPTED : UROCE_CM_DROP_REFUSED);
	}
	drill_sends(&d, UROCE_MAD_REJ);
	while (uroce_cm_event_poll(d.cm, &d.event))
		;
	drill_fini(&d);
}

/* Places that only remember a refusal give way; those that the application holds do not. */
static void places_run_out(void)
{
	const struct uroce_cm_conf conf = {.max_ids = 4, .mtu_bytes = 1024};
	struct cm_drill d;
	struct uroce_mad req;

	drill_init(&d, &conf);
	drill_listen(&d);
	for (uint32_t i = 0; i < 50; i++) {
		req = nth_req(&d, i);
		CU_ASSERT_EQUAL(drill_rx(&d, &req), UROCE_CM_ACCEPTED);
		drill_hears(&d, UROCE_CM_CONNECT_REQUEST);
		CU_ASSERT_EQUAL(uroce_cm_destroy(d.cm, d.event.id), 0);
		drill_sends_rej(&d, UROCE_MAD_TO_REQ, UROCE_CM_REJECT_CONSUMER);
		CU_ASSERT(uroce_cm_num_ids(d.cm) <= 4);
	}
	/* The oldest went first. */
	req = nth_req(&d, 46);
	CU_ASSERT_EQUAL(drill_rx(&d, &req), UROCE_CM_DROP_DUPLICATE);
	drill_sends(&d, UROCE_MAD_REJ);
	for (uint32_t i = 100; i < 105; i++) {
		req = nth_req(&d, i);
		CU_ASSERT_EQUAL(
			drill_rx(&d, &req), i < 104 ? UROCE_CM_ACCEPTED : UROCE_CM_DROP_REFUSED);
	}
	drill_sends_rej(&d, UROCE_MAD_TO_REQ, UROCE_CM_REJECT_NO_RESOURCES);
	CU_ASSERT_EQUAL(drill_counters(&d)->ids_full, 1);
	for (uint32_t i = 0; i < 4; i++)
		drill_hears(&d, UROCE_CM_CONNECT_REQUEST);
	drill_fini(&d);
}

static void answers_to_strangers_run_out(void)
{
	const struct uroce_cm_conf conf = {.max_ids = 1, .mtu_bytes = 1024, .max_replies = 5};
	struct cm_drill d;
	struct uroce_mad mad;

	drill_init(&d, &conf);
	for (uint32_t i = 0; i < 20; i++) {
		mad = nth_req(&d, i);
		CU_ASSERT_EQUAL(
			drill_rx(&d, &mad), i < 5 ? UROCE_CM_DROP_REFUSED : UROCE_CM_DROP_NO_ROOM);
	}
	mad = drill_dreq(99);
	CU_ASSERT_EQUAL(drill_rx(&d, &mad), UROCE_CM_DROP_NO_ROOM);
	for (uint32_t i = 0; i < 5; i++) {
		drill_sends(&d, UROCE_MAD_REJ);
		CU_ASSERT_EQUAL(d.mad.remote_id, 1 + i);
	}
	drill_sends_nothing(&d);
	CU_ASSERT_EQUAL(drill_counters(&d)->drops[UROCE_CM_DROP_NO_ROOM], 16);
	drill_fini(&d);
}

/* Neither waits for the other for ever. */
static void strangers_and_connections_take_turns(void)
{
	struct cm_drill d;
	struct uroce_cm_connect connect;
	struct uroce_mad mad;
	uint32_t id, own = 0;

	drill_init(&d, NULL);
	connect = drill_connect_conf(&d);
	for (uint32_t i = 0; i < 8; i++) {
		connect.qpn = CM_QPN + i;
		CU_ASSERT_EQUAL(uroce_cm_connect(d.cm, &connect, &id), 0);
		mad = drill_dreq(99 + i * 16);
		CU_ASSERT_EQUAL(drill_rx(&d, &mad), UROCE_CM_DROP_ID_UNKNOWN);
	}
	for (uint32_t i = 0; i < 8; i++) {
		CU_ASSERT_FATAL(uroce_cm_tx(d.cm, d.now_ns, d.bytes, &d.to));
		own += d.bytes[17] == UROCE_MAD_REQ;
	}
	CU_ASSERT_EQUAL(own, 4);
	while (uroce_cm_tx(d.cm, d.now_ns, d.bytes, &d.to))
		;
	drill_fini(&d);
}

/* Messages that are none, and a place for each in the count. */
static void everything_is_counted(void)
{
	struct cm_drill d;
	const struct uroce_cm_counters *counters;
	const struct uroce_cm_route from = {{0, 1}, {0, 2}, 0, 0, 0};
	uint8_t junk[UROCE_CM_MAD_BYTES] = {0};
	uint64_t sum = 0;
	uint32_t id;

	drill_init(&d, NULL);
	id = drill_passive(&d);
	CU_ASSERT_EQUAL(uroce_cm_rx(d.cm, d.now_ns, &from, 1, junk, 0), UROCE_CM_DROP_LENGTH);
	CU_ASSERT_EQUAL(
		uroce_cm_rx(d.cm, d.now_ns, &from, 1, junk, 256), UROCE_CM_DROP_BASE_VERSION);
	CU_ASSERT_EQUAL(uroce_cm_disconnect(d.cm, id), 0);
	drill_sends(&d, UROCE_MAD_DREQ);
	counters = drill_counters(&d);
	for (uint32_t i = 0; i < UROCE_CM_DROP_COUNT; i++)
		sum += counters->drops[i];
	CU_ASSERT_EQUAL(sum, 2);
	CU_ASSERT_EQUAL(counters->rx_mads, 4);
	CU_ASSERT_EQUAL(counters->rx_accepted, 2);
	CU_ASSERT_EQUAL(counters->rx_req, 1);
	CU_ASSERT_EQUAL(counters->rx_rtu, 1);
	CU_ASSERT_EQUAL(counters->tx_mads, 2);
	CU_ASSERT_EQUAL(counters->tx_rep, 1);
	CU_ASSERT_EQUAL(counters->tx_dreq, 1);
	drill_fini(&d);
}

int main(void)
{
	static const struct unit_case cases[] = {
		{"a configuration out of range is refused", configurations},
		{"memory per connection is what the README says", memory_per_connection},
		{"timing is as configured", timing_as_configured},
		{"numbers of connections that are gone do not come back", numbers_do_not_come_back},
		{"places tell what is in them", info_of_places},
		{"listeners come and go, one per service and address", listeners},
		{"a listener on an address goes before one on any", an_address_goes_before_any},
		{"a listener that ends turns away what nobody heard of", a_listener_ends},
		{"no more requests wait than the backlog", the_backlog_is_the_limit},
		{"refusals are forgotten before requests are refused", places_run_out},
		{"answers to strangers are bounded", answers_to_strangers_run_out},
		{"strangers and connections take turns", strangers_and_connections_take_turns},
		{"everything that comes and goes is counted", everything_is_counted},
	};

	return run_suite("cm_table", cases, sizeof(cases) / sizeof(cases[0]));
}
