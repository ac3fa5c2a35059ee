/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Connections between two Linux hosts, with the connection manager in the place of either.
 *
 * What the other host sent is fed to it, what the application behind it did follows from what its
 * place sent, and each message that it sends must be the recorded one byte for byte. Nothing of a
 * message is left out of the comparison; three things are renamed, since each end draws them:
 *
 *   our communication ids    as the manager drew them, for as long as the recorded one stands
 *   our transaction ids      in what we begin; in answers they are the other's, or what we began
 *
 * GUIDs, timeouts, retries and delays are not renamed: the manager is told to say Linux's.
 */
#ifndef _POSIX_C_SOURCE
#define _POSIX_C_SOURCE 200809L
#endif
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bytes.h"
#include "cm.h"
#include "cunit_run.h"
#include "must.h"
#include "pcap/reader.h"

enum {
	FRAMES_MAX = 64,
	CONNS_MAX = 8,
	SENT_MAX = 16,
	IDS_MAX = 64,
	CROSSING_NS = 200000,
	MAD = UROCE_CM_MAD_BYTES,
	/* In a message. */
	TID = 8,
	ATTR = 17,
	BODY = 24,
	LOCAL_ID = BODY,
	REMOTE_ID = BODY + 4,
	REQ = 0x10,
	REJ = 0x12,
	REP,
	RTU,
	DREQ,
	DREP,
	SIDR_REQ,
	SIDR_REP,
};

struct message {
	uint64_t number; /* of the frame in its file */
	uint64_t time_ns;
	struct uroce_gid src, dst;
	uint8_t mad[MAD];
};

/* A connection or resolution of the recorded host in whose place we are. */
struct conn {
	uint32_t recorded_id; /* as it called it; 0: not yet known */
	uint32_t our_id;
	uint32_t peer_id;
	uint32_t peer_psn;		/* of a request that came: tells them apart */
	uint64_t recorded_tid, our_tid; /* of what we began last */
};

struct replay {
	const char *file;
	struct message messages[FRAMES_MAX];
	uint32_t num_messages;
	struct uroce_gid place;
	struct uroce_cm *cm;
	struct conn conns[CONNS_MAX];
	uint32_t num_conns;
	uint8_t sent[SENT_MAX][MAD];
	uint32_t num_sent;
	uint64_t now_ns;
	uint32_t compared, events[UROCE_CM_EVENT_COUNT];
};

/* ---- the capture ------------------------------------------------------------------------- */

/* The message in a frame: a datagram to queue pair 1; false: there is none. */
static bool find_message(const struct uroce_pcap_frame *frame, struct message *out)
{
	const uint8_t *ip = frame->data + 14, *bth;
	bool ipv6;

	if (frame->captured_bytes < 14 + 40 + 8 + 20)
		return false;
	ipv6 = uroce_load_be16(frame->data + 12) == 0x86dd;
	if ((!ipv6 && uroce_load_be16(frame->data + 12) != 0x800) || ip[ipv6 ? 6 : 9] != 17)
		return false;
	bth = ip + (ipv6 ? 40 : 20) + 8;
	if (bth[0] != 0x64 || uroce_load_be24(bth + 5) != 1)
		return false;
	MUST(frame->captured_bytes >= (uint32_t)(bth - frame->data) + 20 + MAD);
	out->number = frame->number;
	out->time_ns = frame->time_ns;
	out->src = ipv6 ? uroce_gid_load(ip + 8) : uroce_gid_of_ipv4(uroce_load_be32(ip + 12));
	out->dst = ipv6 ? uroce_gid_load(ip + 24) : uroce_gid_of_ipv4(uroce_load_be32(ip + 16));
	memcpy(out->mad, bth + 20, MAD);
	return true;
}

static void read_file(struct replay *r, const char *file)
{
	char path[512], err[UROCE_PCAP_ERROR_BYTES];
	struct uroce_pcap_reader *reader;
	struct uroce_pcap_frame frame;

	r->file = file;
	snprintf(path, sizeof(path), "%s/%s.pcap", getenv("UROCE_CAPTURES"), file);
	MUST(uroce_pcap_reader_open(path, &reader, err, sizeof(err)) == 0);
	while (uroce_pcap_reader_next(reader, &frame) == 1) {
		MUST(r->num_messages < FRAMES_MAX);
		r->num_messages += find_message(&frame, &r->messages[r->num_messages]);
	}
	uroce_pcap_reader_close(reader);
}

/* ---- the manager in a host's place ------------------------------------------------------- */

static bool is_ours(const struct replay *r, const struct message *m)
{
	return uroce_gid_equal(m->src, r->place);
}

/* Who answers a request with REP or SIDR_REP of status 0 listens. */
static void listen_as_recorded(struct replay *r)
{
	for (uint32_t i = 0; i < r->num_messages; i++) {
		const struct message *m = &r->messages[i];
		struct uroce_cm_listen listen = {.service_id = uroce_load_be64(m->mad + BODY + 8)};
		bool answered = false;
		uint32_t listener;

		if (is_ours(r, m) || (m->mad[ATTR] != REQ && m->mad[ATTR] != SIDR_REQ))
			continue;
		for (uint32_t k = i; k < r->num_messages; k++)
			answered |= is_ours(r, &r->messages[k]) &&
				(r->messages[k].mad[ATTR] == REP ||
					r->messages[k].mad[ATTR] == SIDR_REP);
		if (answered)
			uroce_cm_listen(r->cm, &listen, &listener);
	}
}

static void start(struct replay *r)
{
	struct uroce_cm_conf conf = {.max_ids = IDS_MAX,
		.mtu_bytes = 1024,
		.seed = 7,
		.timing = {.remote_response_timeout = 20,
			.local_response_timeout = 20,
			.max_cm_retries = 15,
			.target_ack_delay = 15}};

	for (uint32_t i = 0; i < r->num_messages; i++) {
		const uint8_t *mad = r->messages[i].mad;

		if (is_ours(r, &r->messages[i]) && mad[ATTR] == REQ)
			conf.ca_guid = uroce_load_be64(mad + BODY + 16);
		if (is_ours(r, &r->messages[i]) && mad[ATTR] == REP)
			conf.ca_guid = uroce_load_be64(mad + BODY + 28);
	}
	r->cm = must_allocate(uroce_cm_bytes(&conf));
	MUST(uroce_cm_init(r->cm, &conf) == r->cm);
	r->now_ns = 1000000000;
	listen_as_recorded(r);
}

static struct conn *new_conn(struct replay *r)
{
	MUST(r->num_conns < CONNS_MAX);
	return &r->conns[r->num_conns++];
}

static struct conn *conn_of_recorded(struct replay *r, uint32_t id)
{
	for (uint32_t i = 0; i < r->num_conns; i++)
		if (r->conns[i].recorded_id == id)
			return &r->conns[i];
	return NULL;
}

static struct conn *conn_of_peer(struct replay *r, uint32_t id)
{
	for (uint32_t i = 0; i < r->num_conns; i++)
		if (r->conns[i].peer_id == id)
			return &r->conns[i];
	return NULL;
}

/* ---- what came --------------------------------------------------------------------------- */

/* Where a message names us: our id instead of the recorded one. */
static uint32_t addressee_at(uint8_t attr)
{
	return attr == SIDR_REP ? LOCAL_ID : REMOTE_ID;
}

static void give(struct replay *r, const struct message *m)
{
	const struct uroce_cm_route from = {.src = m->src, .dst = m->dst};
	enum uroce_cm_drop expected = UROCE_CM_ACCEPTED;
	uint8_t mad[MAD];

	memcpy(mad, m->mad, MAD);
	if (mad[ATTR] == REQ || mad[ATTR] == SIDR_REQ) {
		struct conn *conn = new_conn(r);

		conn->peer_id = uroce_load_be32(mad + LOCAL_ID);
		conn->peer_psn = uroce_load_be24(mad + BODY + 44);
	} else {
		uint8_t *id = mad + addressee_at(mad[ATTR]);
		struct conn *conn = conn_of_recorded(r, uroce_load_be32(id));

		MUST(conn);
		if (mad[ATTR] == REP)
			conn->peer_id = uroce_load_be32(mad + LOCAL_ID);
		uroce_store_be32(id, conn->our_id);
		/* It answers what we began, under the number that we gave it. */
		if (uroce_load_be64(mad + TID) == conn->recorded_tid)
			uroce_store_be64(mad + TID, conn->our_tid);
	}
	/* Nobody listens in cm-reject, and both disconnect at once in cm-rdma-client. */
	if (strcmp(r->file, "cm-reject") == 0 && mad[ATTR] == REQ)
		expected = UROCE_CM_DROP_REFUSED;
	if (strcmp(r->file, "cm-rdma-client") == 0 && mad[ATTR] == DREP)
		expected = UROCE_CM_DROP_DUPLICATE;
	CU_ASSERT_EQUAL(uroce_cm_rx(r->cm, r->now_ns, &from, 1, mad, MAD), expected);
}

/* What the recorded host was told it had to ask for; here it is compared. */
static void hear_response(const struct message *m, const struct uroce_cm_event *event)
{
	const struct uroce_cm_params *params = &event->params;

	CU_ASSERT_EQUAL(params->remote_qpn, uroce_load_be24(m->mad + BODY + 12));
	CU_ASSERT_EQUAL(params->remote_psn, uroce_load_be24(m->mad + BODY + 20));
	CU_ASSERT_EQUAL(params->initiator_depth, m->mad[BODY + 24]);
	CU_ASSERT_EQUAL(params->responder_resources, m->mad[BODY + 25]);
	CU_ASSERT_EQUAL(params->target_ack_delay, 15);
	CU_ASSERT_EQUAL(params->rnr_retry, 7);
}

static void hear_request(
	struct replay *r, const struct message *m, const struct uroce_cm_event *event)
{
	const struct uroce_cm_params *params = &event->params;
	struct conn *conn = conn_of_peer(r, uroce_load_be32(m->mad + LOCAL_ID));

	conn->our_id = event->id;
	CU_ASSERT_EQUAL(event->service_id, uroce_load_be64(m->mad + BODY + 8));
	CU_ASSERT_EQUAL(event->local_port, (uint16_t)event->service_id);
	if (event->type == UROCE_CM_SIDR_REQUEST)
		return;
	CU_ASSERT_EQUAL(params->remote_qpn, uroce_load_be24(m->mad + BODY + 32));
	CU_ASSERT_EQUAL(params->remote_psn, conn->peer_psn);
	CU_ASSERT_EQUAL(params->path_mtu_bytes, 1024);
	CU_ASSERT_EQUAL(params->initiator_depth, m->mad[BODY + 35]);
	CU_ASSERT_EQUAL(params->responder_resources, m->mad[BODY + 39]);
	CU_ASSERT_EQUAL(params->ack_timeout, 19);
	CU_ASSERT_EQUAL(event->remote_port, uroce_load_be16(m->mad + BODY + 142));
	CU_ASSERT_EQUAL(event->private_bytes, 56);
	CU_ASSERT(memcmp(event->private_data, m->mad + BODY + 140 + 36, 56) == 0);
}

static void hear(struct replay *r, const struct message *m)
{
	struct uroce_cm_event event;

	while (uroce_cm_event_poll(r->cm, &event)) {
		r->events[event.type]++;
		if (event.type == UROCE_CM_CONNECT_REQUEST || event.type == UROCE_CM_SIDR_REQUEST)
			hear_request(r, m, &event);
		if (event.type == UROCE_CM_CONNECT_RESPONSE)
			hear_response(m, &event);
		if (event.type == UROCE_CM_SIDR_RESOLVED) {
			CU_ASSERT_EQUAL(event.reason, 0);
			CU_ASSERT_EQUAL(event.sidr_qpn, uroce_load_be24(m->mad + BODY + 8));
			CU_ASSERT_EQUAL(event.sidr_qkey, uroce_load_be32(m->mad + BODY + 20));
		}
		if (event.type == UROCE_CM_REJECTED)
			CU_ASSERT_EQUAL(event.reason, uroce_load_be16(m->mad + BODY + 10));
	}
}

/* ---- what the application did ------------------------------------------------------------ */

static void do_connect(struct replay *r, const struct message *m)
{
	const uint8_t *b = m->mad + BODY;
	struct conn *conn = new_conn(r);
	const struct uroce_cm_connect connect = {
		.route = {.src = m->src,
			.dst = m->dst,
			.flow_label = uroce_load_be32(b + 88) >> 12,
			.traffic_class = b[92],
			.hop_limit = b[93]},
		.service_id = uroce_load_be64(b + 8),
		.local_port = uroce_load_be16(b + 142),
		.qpn = uroce_load_be24(b + 32),
		.psn = uroce_load_be24(b + 44),
		.qp_type = UROCE_QP_RC,
		.path_mtu_bytes = 128u << (b[50] >> 4),
		.responder_resources = b[35],
		.initiator_depth = b[39],
		.retry_count = b[47] & 7,
		.rnr_retry = b[50] & 7,
		.ack_timeout = b[95] >> 3,
		.private_data = b + 140 + 36,
		.private_bytes = 56,
	};

	conn->recorded_id = uroce_load_be32(m->mad + LOCAL_ID);
	MUST(uroce_cm_connect(r->cm, &connect, &conn->our_id) == 0);
}

static void do_accept(struct replay *r, const struct message *m)
{
	const uint8_t *b = m->mad + BODY;
	struct conn *conn = conn_of_peer(r, uroce_load_be32(m->mad + REMOTE_ID));
	const struct uroce_cm_accept accept = {
		.qpn = uroce_load_be24(b + 12),
		.psn = uroce_load_be24(b + 20),
		.responder_resources = b[24],
		.initiator_depth = b[25],
		.rnr_retry = b[27] >> 5,
		.private_data = b + 36,
		.private_bytes = 196,
	};

	conn->recorded_id = uroce_load_be32(m->mad + LOCAL_ID);
	MUST(uroce_cm_accept(r->cm, conn->our_id, &accept) == 0);
}

static void do_resolve(struct replay *r, const struct message *m)
{
	const uint8_t *b = m->mad + BODY;
	struct conn *conn = new_conn(r);
	const struct uroce_cm_resolve resolve = {
		.route = {.src = m->src, .dst = m->dst},
		.service_id = uroce_load_be64(b + 8),
		.local_port = uroce_load_be16(b + 18),
		.private_data = b + 16 + 36,
		.private_bytes = 180,
	};

	conn->recorded_id = uroce_load_be32(m->mad + LOCAL_ID);
	MUST(uroce_cm_resolve(r->cm, &resolve, &conn->our_id) == 0);
}

static void do_sidr_reply(struct replay *r, const struct message *m)
{
	const uint8_t *b = m->mad + BODY;
	struct conn *conn = conn_of_peer(r, uroce_load_be32(m->mad + LOCAL_ID));
	const struct uroce_cm_sidr_reply reply = {
		.status = b[4],
		.qpn = uroce_load_be24(b + 8),
		.qkey = uroce_load_be32(b + 20),
		.private_data = b + 96,
		.private_bytes = 136,
	};

	MUST(uroce_cm_sidr_reply(r->cm, conn->our_id, &reply) == 0);
}

/* REJ and DREP the manager sends by itself. */
static void act(struct replay *r, const struct message *m)
{
	struct conn *conn = conn_of_recorded(r, uroce_load_be32(m->mad + LOCAL_ID));

	switch (m->mad[ATTR]) {
	case REQ:
		do_connect(r, m);
		break;
	case REP:
		do_accept(r, m);
		break;
	case SIDR_REQ:
		do_resolve(r, m);
		break;
	case SIDR_REP:
		do_sidr_reply(r, m);
		break;
	case RTU:
		CU_ASSERT_EQUAL(uroce_cm_established(r->cm, conn->our_id), 0);
		break;
	case DREQ:
		CU_ASSERT_EQUAL(uroce_cm_disconnect(r->cm, conn->our_id), 0);
		break;
	default:
		break;
	}
}

/* ---- the comparison ---------------------------------------------------------------------- */

static void collect(struct replay *r)
{
	struct uroce_cm_route to;

	while (r->num_sent < SENT_MAX && uroce_cm_tx(r->cm, r->now_ns, r->sent[r->num_sent], &to)) {
		CU_ASSERT(uroce_gid_equal(to.src, r->place));
		r->num_sent++;
	}
}

/* Our names become the recorded ones; the first of a kind makes them known. */
static void rename_ids(struct conn *conn, const struct message *m, uint8_t mad[MAD])
{
	uint8_t attr = mad[ATTR];
	bool begins = attr == REQ || attr == DREQ || attr == SIDR_REQ;

	if (attr != SIDR_REP && uroce_load_be32(mad + LOCAL_ID) == conn->our_id)
		uroce_store_be32(mad + LOCAL_ID, conn->recorded_id);
	if (begins) {
		conn->our_tid = uroce_load_be64(mad + TID);
		conn->recorded_tid = uroce_load_be64(m->mad + TID);
	}
	if (conn->our_tid && uroce_load_be64(mad + TID) == conn->our_tid)
		uroce_store_be64(mad + TID, conn->recorded_tid);
}

static void print(const char *who, const uint8_t mad[MAD])
{
	fprintf(stderr, "%s\n", who);
	for (uint32_t i = 0; i < MAD; i++)
		fprintf(stderr, "%02x%s", mad[i], i % 16 == 15 ? "\n" : " ");
}

/* One of those that were sent is the recorded one; it is taken out. */
static void compare(struct replay *r, const struct message *m)
{
	struct conn *conn = conn_of_recorded(r, uroce_load_be32(m->mad + LOCAL_ID));
	uint8_t mad[MAD];

	for (uint32_t i = 0; i < r->num_sent; i++) {
		memcpy(mad, r->sent[i], MAD);
		if (conn)
			rename_ids(conn, m, mad);
		if (memcmp(mad, m->mad, MAD) != 0)
			continue;
		memmove(r->sent[i], r->sent[i + 1], (r->num_sent - i - 1) * MAD);
		r->num_sent--;
		r->compared++;
		return;
	}
	fprintf(stderr, "%s: frame %llu: nothing of what was sent is this:\n", r->file,
		(unsigned long long)m->number);
	print("recorded", m->mad);
	if (r->num_sent > 0)
		print("sent last, renamed", mad);
	CU_FAIL("see above");
}

static void take_one(struct replay *r, const struct message *m)
{
	if (is_ours(r, m)) {
		act(r, m);
		collect(r);
		compare(r, m);
	} else {
		give(r, m);
		hear(r, m);
		collect(r);
	}
}

/* What came so short before one of ours was not heard yet when that was sent. */
static bool crosses(const struct replay *r, uint32_t i)
{
	const struct message *m = &r->messages[i];

	return i + 1 < r->num_messages && !is_ours(r, m) && is_ours(r, m + 1) &&
		m[1].time_ns - m->time_ns < CROSSING_NS;
}

static struct replay replay(const char *file, struct uroce_gid place)
{
	static struct replay r;

	r = (struct replay){.place = place};
	read_file(&r, file);
	start(&r);
	for (uint32_t i = 0; i < r.num_messages; i++) {
		if (crosses(&r, i)) {
			take_one(&r, &r.messages[i + 1]);
			take_one(&r, &r.messages[i]);
			i++;
		} else {
			take_one(&r, &r.messages[i]);
		}
	}
	CU_ASSERT_EQUAL(r.num_sent, 0);
	free(r.cm);
	return r;
}

/* ---- the files --------------------------------------------------------------------------- */

static const struct row {
	const char *file;
	bool ipv6;
	/* of A, who asks, and B: messages of its own, and what it hears of */
	uint32_t sent[2];
	uint32_t connections; /* established */
} rows[] = {
	{"cm-cmtime", false, {9, 6}, 3},
	{"cm-rdma-client", false, {4, 3}, 1},
	{"cm-reject", false, {1, 1}, 0},
	{"cm-rping", false, {3, 2}, 1},
	{"cm-ucmatose", false, {6, 4}, 2},
	{"cm-udaddy", false, {1, 1}, 0},
	{"ipv6-cm-rping", true, {3, 2}, 1},
};

static struct uroce_gid gid_of(bool ipv6, uint32_t host)
{
	return ipv6 ? (struct uroce_gid){0x20010db800000000, host}
		    : uroce_gid_of_ipv4(0xc0000200 + host);
}

static void replay_all(uint32_t side)
{
	for (uint32_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct replay r = replay(rows[i].file, gid_of(rows[i].ipv6, side + 1));

		CU_ASSERT_EQUAL(r.compared, rows[i].sent[side]);
		CU_ASSERT_EQUAL(r.events[side ? UROCE_CM_ESTABLISHED : UROCE_CM_CONNECT_RESPONSE],
			rows[i].connections);
		CU_ASSERT_EQUAL(r.events[UROCE_CM_DISCONNECTED], rows[i].connections);
	}
}

static void in_the_place_of_who_asks(void)
{
	replay_all(0);
}

static void in_the_place_of_who_listens(void)
{
	replay_all(1);
}

static void refusal_and_resolution(void)
{
	struct replay r = replay("cm-reject", gid_of(false, 1));

	CU_ASSERT_EQUAL(r.events[UROCE_CM_REJECTED], 1);
	r = replay("cm-udaddy", gid_of(false, 1));
	CU_ASSERT_EQUAL(r.events[UROCE_CM_SIDR_RESOLVED], 1);
	r = replay("cm-udaddy", gid_of(false, 2));
	CU_ASSERT_EQUAL(r.events[UROCE_CM_SIDR_REQUEST], 1);
}

int main(void)
{
	static const struct unit_case cases[] = {
		{"in the place of the host that connects, it sends what Linux sent",
			in_the_place_of_who_asks},
		{"in the place of the host that listens, it sends what Linux sent",
			in_the_place_of_who_listens},
		{"refusals and resolutions are heard of", refusal_and_resolution},
	};

	return run_suite("cm_replay", cases, sizeof(cases) / sizeof(cases[0]));
}
