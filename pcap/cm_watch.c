/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Follows REQ, REP, RTU, REJ and DREQ, each found again by the ids that they name.
 *
 * REQ's starting PSN is the one that its sender expects, so it is where the other end begins.
 */
#include "pcap/cm_watch.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "engine/cm_status.h"
#include "engine/mad.h"
#include "pcap/requests.h"
#include "pcap/streams.h"

enum {
	EXCHANGES_MAX = 8192, /* the newest are known */
	MTU_CODE_MAX = 5,
};

#define UNANSWERED_NS 1000000000u

struct exchange {
	struct uroce_gid active, passive; /* the addresses that the MADs come from */
	uint32_t active_id, passive_id;
	uint32_t qpn[2], psn[2]; /* of the active end, of the passive one */
	uint64_t service_id;
	uint64_t req_ns, req_frame;
	struct uroce_connection *mads; /* that its messages are in */
	struct uroce_connection *connection;
	uint32_t mtu_bytes;
	uint16_t vlan;
	bool is_rocev1;
	bool replied, ready, rejected;
};

struct uroce_cm_watch {
	struct exchange list[EXCHANGES_MAX];
	uint32_t num; /* free-running */
};

/* A REJ's reason in words. */
static const char *reason_text(uint16_t reason)
{
#define CASE(name, number, text) \
	case number: \
		return text;
	switch (reason) {
		UROCE_CM_REJECTS(CASE)
	default:
		return "another reason";
	}
#undef CASE
}

/* The newest exchange with this end's id; active: the end that asked. */
static struct exchange *find(struct uroce_cm_watch *cm, bool active, struct uroce_gid gid,
	struct uroce_gid other, uint32_t id)
{
	uint32_t known = cm->num < EXCHANGES_MAX ? cm->num : EXCHANGES_MAX;

	for (uint32_t i = 1; i <= known; i++) {
		struct exchange *x = &cm->list[(cm->num - i) % EXCHANGES_MAX];

		if ((active ? x->active_id : x->passive_id) == id &&
			uroce_gid_equal(active ? x->active : x->passive, gid) &&
			uroce_gid_equal(active ? x->passive : x->active, other))
			return x;
	}
	return NULL;
}

static void note_repeated(struct uroce_analysis *a, struct uroce_connection *c,
	const struct uroce_packet *p, const char *what)
{
	uroce_analysis_note(a, c, UROCE_FINDING_CM_REPEATED, p->number, 0,
		"frame %" PRIu64 ": %s is sent again", p->number, what);
}

static void take_req(struct uroce_analysis *a, struct uroce_connection *c,
	const struct uroce_packet *p, const struct uroce_mad *mad)
{
	struct exchange *x = find(a->cm, true, p->src, p->dst, mad->local_id);
	uint8_t mtu = mad->req.path_mtu;

	if (x && !x->rejected && x->qpn[0] == mad->req.end.qpn && x->psn[0] == mad->req.end.psn) {
		note_repeated(a, c, p, "REQ");
		return;
	}
	x = &a->cm->list[a->cm->num++ % EXCHANGES_MAX];
	*x = (struct exchange){.active = p->src,
		.passive = p->dst,
		.active_id = mad->local_id,
		.qpn = {mad->req.end.qpn, 0},
		.psn = {mad->req.end.psn, 0},
		.service_id = mad->req.service_id,
		.req_ns = p->time_ns,
		.req_frame = p->number,
		.mads = c,
		.vlan = p->vlan,
		.is_rocev1 = p->is_rocev1,
		.mtu_bytes = mtu >= 1 && mtu <= MTU_CODE_MAX ? 128u << mtu : 0};
}

/* A stream to one end of an exchange, in a new life, and where it begins. */
static struct uroce_stream *begin_stream(
	struct uroce_analysis *a, const struct exchange *x, bool to_active, uint64_t time_ns)
{
	struct uroce_stream_key key = {.src = to_active ? x->passive : x->active,
		.dst = to_active ? x->active : x->passive,
		.dqpn = x->qpn[!to_active],
		.vlan = x->vlan,
		.is_rocev1 = x->is_rocev1};
	struct uroce_stream *f = uroce_streams_renew(a, &key, time_ns);

	if (f) {
		f->service = UROCE_SERVICE_RC;
		uroce_requests_start(&f->req, x->psn[!to_active]);
	}
	return f;
}

static void take_rep(struct uroce_analysis *a, struct uroce_connection *c,
	const struct uroce_packet *p, const struct uroce_mad *mad)
{
	struct exchange *x = find(a->cm, true, p->dst, p->src, mad->remote_id);
	struct uroce_stream *to_passive, *to_active;

	if (!x)
		return;
	if (x->replied) {
		note_repeated(a, c, p, "REP");
		return;
	}
	x->replied = true;
	x->passive_id = mad->local_id;
	x->qpn[1] = mad->rep.end.qpn;
	x->psn[1] = mad->rep.end.psn;
	to_passive = begin_stream(a, x, false, p->time_ns);
	to_active = begin_stream(a, x, true, p->time_ns);
	if (!to_passive || !to_active)
		return;
	uroce_streams_pair(a, to_passive, to_active, UROCE_CONFIDENCE_STATED);
	x->connection = to_passive->connection;
	x->connection->service_id = x->service_id;
	x->connection->mtu_bytes = x->mtu_bytes;
	x->connection->first_ns = x->req_ns;
}

static void take_rtu(struct uroce_analysis *a, struct uroce_connection *c,
	const struct uroce_packet *p, const struct uroce_mad *mad)
{
	struct exchange *x = find(a->cm, true, p->src, p->dst, mad->local_id);

	if (!x || !x->connection)
		return;
	if (x->ready)
		note_repeated(a, c, p, "RTU");
	else if (p->time_ns > x->req_ns)
		x->connection->connect_ns = p->time_ns - x->req_ns;
	x->ready = true;
}

static void take_rej(struct uroce_analysis *a, struct uroce_connection *c,
	const struct uroce_packet *p, const struct uroce_mad *mad)
{
	struct exchange *x = find(a->cm, true, p->dst, p->src, mad->remote_id);
	struct uroce_finding *finding;

	if (!x)
		x = find(a->cm, true, p->src, p->dst, mad->local_id);
	if (x && x->rejected) {
		note_repeated(a, c, p, "REJ");
		return;
	}
	finding = uroce_analysis_note(a, x && x->connection ? x->connection : c,
		UROCE_FINDING_CM_REJECTED, x ? x->req_frame : p->number, 0,
		"frame %" PRIu64 " rejects a connection: reason %u, %s", p->number, mad->rej.reason,
		reason_text(mad->rej.reason));
	if (finding && x)
		uroce_finding_frame(finding, p->number);
	if (x)
		x->rejected = x->replied = true;
}

static void take_dreq(
	struct uroce_analysis *a, const struct uroce_packet *p, const struct uroce_mad *mad)
{
	struct exchange *x = find(a->cm, true, p->src, p->dst, mad->local_id);

	if (!x)
		x = find(a->cm, false, p->src, p->dst, mad->local_id);
	if (x && x->connection)
		x->connection->disconnected = true;
}

static void take(struct uroce_analysis *a, struct uroce_connection *c, const struct uroce_packet *p,
	const struct uroce_mad *mad)
{
	switch (mad->attr) {
	case UROCE_MAD_REQ:
		take_req(a, c, p, mad);
		break;
	case UROCE_MAD_REP:
		take_rep(a, c, p, mad);
		break;
	case UROCE_MAD_RTU:
		take_rtu(a, c, p, mad);
		break;
	case UROCE_MAD_REJ:
		take_rej(a, c, p, mad);
		break;
	case UROCE_MAD_DREQ:
		take_dreq(a, p, mad);
		break;
	case UROCE_MAD_MRA:
	case UROCE_MAD_DREP:
	case UROCE_MAD_SIDR_REQ:
	case UROCE_MAD_SIDR_REP:
	case UROCE_MAD_LAP:
	case UROCE_MAD_APR:
		break;
	}
}

void uroce_cm_watch_take(
	struct uroce_analysis *a, struct uroce_connection *c, const struct uroce_packet *p)
{
	struct uroce_mad mad;

	if (!p->payload || p->payload_seen_bytes < UROCE_MAD_BYTES ||
		uroce_mad_parse(p->payload, p->payload_seen_bytes, &mad) != 0)
		return;
	if (!a->cm)
		a->cm = calloc(1, sizeof(*a->cm));
	if (a->cm)
		take(a, c, p, &mad);
}

void uroce_cm_watch_finish(struct uroce_analysis *a)
{
	uint32_t known = 0;

	if (a->cm)
		known = a->cm->num < EXCHANGES_MAX ? a->cm->num : EXCHANGES_MAX;
	for (uint32_t i = 0; i < known; i++) {
		const struct exchange *x = &a->cm->list[i];

		if (x->replied || a->last_ns - x->req_ns < UNANSWERED_NS)
			continue;
		uroce_analysis_note(a, x->mads, UROCE_FINDING_CM_UNANSWERED, x->req_frame, 0,
			"frame %" PRIu64 ": a REQ that nobody answers", x->req_frame);
	}
}

void uroce_cm_watch_fini(struct uroce_analysis *a)
{
	free(a->cm);
	a->cm = NULL;
}
