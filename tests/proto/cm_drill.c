/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One connection manager and a peer that a test plays.
 */
#include "cm_drill.h"

#include <stdlib.h>
#include <string.h>

#include <CUnit/Basic.h>

#include "must.h"

void drill_init(struct cm_drill *d, const struct uroce_cm_conf *conf)
{
	struct uroce_cm_conf full = {.max_ids = 16, .mtu_bytes = 1024};
	size_t bytes;

	if (conf)
		full = *conf;
	full.seed = 42;
	full.ca_guid = 0x0200000000000001;
	*d = (struct cm_drill){.now_ns = CM_S,
		.max_ids = full.max_ids,
		.us = uroce_gid_of_ipv4(0xc0000201),
		.peer = uroce_gid_of_ipv4(0xc0000202)};
	bytes = uroce_cm_bytes(&full);
	MUST(bytes > 0);
	d->cm = must_allocate(bytes);
	MUST(uroce_cm_init(d->cm, &full) == d->cm);
}

void drill_fini(struct cm_drill *d)
{
	drill_sends_nothing(d);
	drill_hears_nothing(d);
	free(d->cm);
}

void drill_listen(struct cm_drill *d)
{
	const struct uroce_cm_listen listen = {
		.service_id = uroce_cm_service_id(UROCE_CM_PS_TCP, CM_PORT), .user = 0xabc};

	MUST(uroce_cm_listen(d->cm, &listen, &d->listener) == 0);
}

/* ---- the peer's messages ----------------------------------------------------------------- */

static const uint8_t cma_header[UROCE_CM_CMA_BYTES + 4] = {
	0, 0x40, 0x9c, 0x40, [16] = 192, 0, 2, 2, [32] = 192, 0, 2, 1, 'd', 'a', 't', 'a'};

struct uroce_mad drill_req(const struct cm_drill *d)
{
	return (struct uroce_mad){
		.attr = UROCE_MAD_REQ,
		.tid = CM_TID,
		.local_id = CM_PEER_ID,
		.req =
			{
				.end = {.ca_guid = 0x0200000000000002,
					.qpn = CM_PEER_QPN,
					.psn = CM_PEER_PSN,
					.responder_resources = 8,
					.initiator_depth = 4,
					.rnr_retry = 6},
				.service_id = uroce_cm_service_id(UROCE_CM_PS_TCP, CM_PORT),
				.local_gid = d->peer,
				.remote_gid = d->us,
				.flow_label = 0x12345,
				.pkey = 0xffff,
				.traffic_class = 0x20,
				.hop_limit = 63,
				.transport = UROCE_MAD_RC,
				.path_mtu = 3,
				.retry_count = 5,
				.ack_timeout = 14,
				.remote_response_timeout = 20,
				.local_response_timeout = 20,
				.max_cm_retries = 15,
			},
		.private_data = cma_header,
		.private_bytes = sizeof(cma_header),
	};
}

struct uroce_mad drill_rep(uint32_t remote_id)
{
	return (struct uroce_mad){
		.attr = UROCE_MAD_REP,
		.tid = CM_TID,
		.local_id = CM_PEER_ID,
		.remote_id = remote_id,
		.rep = {.end = {.qpn = CM_PEER_QPN,
				.psn = CM_PEER_PSN,
				.responder_resources = 3,
				.initiator_depth = 2,
				.rnr_retry = 4},
			.target_ack_delay = 9},
	};
}

struct uroce_mad drill_rej(uint32_t remote_id, enum uroce_mad_answered answered, uint16_t reason)
{
	return (struct uroce_mad){
		.attr = UROCE_MAD_REJ,
		.tid = CM_TID,
		.local_id = answered == UROCE_MAD_TO_REQ ? 0 : CM_PEER_ID,
		.remote_id = remote_id,
		.rej = {.answered = answered, .reason = reason},
	};
}

struct uroce_mad drill_short(enum uroce_mad_attr attr, uint32_t remote_id)
{
	return (struct uroce_mad){
		.attr = attr, .tid = CM_TID, .local_id = CM_PEER_ID, .remote_id = remote_id};
}

struct uroce_mad drill_dreq(uint32_t remote_id)
{
	struct uroce_mad dreq = drill_short(UROCE_MAD_DREQ, remote_id);

	dreq.dreq_qpn = CM_QPN;
	return dreq;
}

enum uroce_cm_drop drill_rx_from(struct cm_drill *d, const struct uroce_mad *mad,
	struct uroce_gid src, struct uroce_gid dst, uint32_t src_qpn)
{
	const struct uroce_cm_route from = {.src = src, .dst = dst};
	/* A copy of exactly that size, so that a step over its edge is seen. */
	uint8_t *bytes = malloc(UROCE_CM_MAD_BYTES);
	enum uroce_cm_drop drop;

	MUST(bytes);
	uroce_mad_build(bytes, mad);
	drop = uroce_cm_rx(d->cm, d->now_ns, &from, src_qpn, bytes, UROCE_CM_MAD_BYTES);
	free(bytes);
	return drop;
}

enum uroce_cm_drop drill_rx(struct cm_drill *d, const struct uroce_mad *mad)
{
	return drill_rx_from(d, mad, d->peer, d->us, 1);
}

/* ---- what is sent, and what is heard ----------------------------------------------------- */

void drill_sends(struct cm_drill *d, enum uroce_mad_attr attr)
{
	CU_ASSERT_FATAL(uroce_cm_tx_pending(d->cm));
	CU_ASSERT_FATAL(uroce_cm_tx(d->cm, d->now_ns, d->bytes, &d->to));
	CU_ASSERT_EQUAL_FATAL(uroce_mad_parse(d->bytes, sizeof(d->bytes), &d->mad), 0);
	CU_ASSERT_EQUAL_FATAL(d->mad.attr, attr);
	CU_ASSERT(uroce_gid_equal(d->to.src, d->us));
	CU_ASSERT(uroce_gid_equal(d->to.dst, d->peer));
}

void drill_sends_rej(struct cm_drill *d, enum uroce_mad_answered answered, uint16_t reason)
{
	drill_sends(d, UROCE_MAD_REJ);
	CU_ASSERT_EQUAL(d->mad.rej.answered, answered);
	CU_ASSERT_EQUAL(d->mad.rej.reason, reason);
}

void drill_sends_nothing(struct cm_drill *d)
{
	CU_ASSERT(!uroce_cm_tx_pending(d->cm));
	CU_ASSERT(!uroce_cm_tx(d->cm, d->now_ns, d->bytes, &d->to));
}

void drill_hears(struct cm_drill *d, enum uroce_cm_event_type type)
{
	CU_ASSERT_FATAL(uroce_cm_event_pending(d->cm));
	CU_ASSERT_FATAL(uroce_cm_event_poll(d->cm, &d->event));
	CU_ASSERT_EQUAL_FATAL(d->event.type, type);
}

void drill_hears_nothing(struct cm_drill *d)
{
	CU_ASSERT(!uroce_cm_event_pending(d->cm));
	CU_ASSERT(!uroce_cm_event_poll(d->cm, &d->event));
}

void drill_passes(struct cm_drill *d, uint64_t ns)
{
	d->now_ns += ns;
	uroce_cm_expire(d->cm, d->now_ns);
}

void drill_waits(struct cm_drill *d)
{
	uint64_t deadline_ns = uroce_cm_next_deadline(d->cm);

	CU_ASSERT_FATAL(deadline_ns != UINT64_MAX && deadline_ns >= d->now_ns);
	d->now_ns = deadline_ns;
	uroce_cm_expire(d->cm, d->now_ns);
}

/* ---- states ------------------------------------------------------------------------------ */

struct uroce_cm_connect drill_connect_conf(const struct cm_drill *d)
{
	return (struct uroce_cm_connect){
		.route = {.src = d->us, .dst = d->peer},
		.service_id = uroce_cm_service_id(UROCE_CM_PS_TCP, CM_PORT),
		.local_port = 50000,
		.user = 0xdef,
		.qpn = CM_QPN,
		.psn = CM_PSN,
		.qp_type = UROCE_QP_RC,
		.path_mtu_bytes = 1024,
		.responder_resources = 4,
		.initiator_depth = 2,
		.retry_count = 6,
		.rnr_retry = 5,
		.ack_timeout = 14,
	};
}

struct uroce_cm_accept drill_accept_conf(void)
{
	return (struct uroce_cm_accept){.user = 0xfed,
		.qpn = CM_QPN,
		.psn = CM_PSN,
		.responder_resources = 3,
		.initiator_depth = 16,
		.rnr_retry = 5};
}

uint32_t drill_req_sent(struct cm_drill *d)
{
	const struct uroce_cm_connect connect = drill_connect_conf(d);
	uint32_t id;

	CU_ASSERT_EQUAL_FATAL(uroce_cm_connect(d->cm, &connect, &id), 0);
	drill_sends(d, UROCE_MAD_REQ);
	return id;
}

uint32_t drill_rep_rcvd(struct cm_drill *d)
{
	uint32_t id = drill_req_sent(d);
	const struct uroce_mad rep = drill_rep(id);

	CU_ASSERT_EQUAL_FATAL(drill_rx(d, &rep), UROCE_CM_ACCEPTED);
	drill_hears(d, UROCE_CM_CONNECT_RESPONSE);
	return id;
}

uint32_t drill_active(struct cm_drill *d)
{
	uint32_t id = drill_rep_rcvd(d);

	CU_ASSERT_EQUAL_FATAL(uroce_cm_established(d->cm, id), 0);
	drill_sends(d, UROCE_MAD_RTU);
	return id;
}

uint32_t drill_req_rcvd(struct cm_drill *d)
{
	const struct uroce_mad req = drill_req(d);

	if (!d->listener)
		drill_listen(d);
	CU_ASSERT_EQUAL_FATAL(drill_rx(d, &req), UROCE_CM_ACCEPTED);
	drill_hears(d, UROCE_CM_CONNECT_REQUEST);
	return d->event.id;
}

uint32_t drill_rep_sent(struct cm_drill *d)
{
	uint32_t id = drill_req_rcvd(d);
	const struct uroce_cm_accept accept = drill_accept_conf();

	CU_ASSERT_EQUAL_FATAL(uroce_cm_accept(d->cm, id, &accept), 0);
	drill_sends(d, UROCE_MAD_REP);
	return id;
}

uint32_t drill_passive(struct cm_drill *d)
{
	uint32_t id = drill_rep_sent(d);
	const struct uroce_mad rtu = drill_short(UROCE_MAD_RTU, id);

	CU_ASSERT_EQUAL_FATAL(drill_rx(d, &rtu), UROCE_CM_ACCEPTED);
	drill_hears(d, UROCE_CM_ESTABLISHED);
	return id;
}

enum uroce_cm_state drill_state(const struct cm_drill *d, uint32_t id)
{
	struct uroce_cm_info info;

	for (uint32_t place = 0; place < d->max_ids; place++)
		if (uroce_cm_info(d->cm, place, &info) && info.id == id)
			return info.state;
	return UROCE_CM_STATE_FREE;
}

const struct uroce_cm_counters *drill_counters(const struct cm_drill *d)
{
	return uroce_cm_counters(d->cm);
}
