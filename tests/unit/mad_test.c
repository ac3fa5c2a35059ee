/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Messages of connection management, from bytes and to bytes.
 *
 * The bytes are Linux's, from captures/cm-*.pcap and ipv6-cm-rping.pcap, and a few that Linux did
 * not send there, written after the standard's tables. Each is parsed and built again; then each
 * field that can be wrong is.
 */
#include <string.h>

#include "cma.h"
#include "cunit_run.h"
#include "mad.h"

/* From hexadecimal text; what follows is zeros. */
static void bytes_of(const char *hex, uint8_t mad[UROCE_MAD_BYTES])
{
	uint32_t n = 0, half = 0;

	memset(mad, 0, UROCE_MAD_BYTES);
	for (; *hex; hex++) {
		uint32_t digit;

		if (*hex == ' ')
			continue;
		digit = (uint32_t)(*hex <= '9' ? *hex - '0' : *hex - 'a' + 10);
		mad[n / 2] = (uint8_t)(half << 4 | digit);
		half = digit;
		n++;
	}
	CU_ASSERT_FATAL(n % 2 == 0 && n <= 2 * UROCE_MAD_BYTES);
}

static struct uroce_mad parse_ok(const uint8_t mad[UROCE_MAD_BYTES])
{
	struct uroce_mad out;

	CU_ASSERT_EQUAL_FATAL(uroce_mad_parse(mad, UROCE_MAD_BYTES, &out), UROCE_CM_ACCEPTED);
	return out;
}

/* Building what was parsed makes the same bytes. */
static void check_rebuilt(const uint8_t mad[UROCE_MAD_BYTES], const struct uroce_mad *parsed)
{
	uint8_t again[UROCE_MAD_BYTES];

	memset(again, 0xee, sizeof(again));
	uroce_mad_build(again, parsed);
	CU_ASSERT(memcmp(again, mad, UROCE_MAD_BYTES) == 0);
}

/* cm-rping.pcap, frame 3 */
static const char req_hex[] =
	"01070203 00000000 000000026bf1a451 0010 0000 00000000"
	"51a4f16b 00000000 0000000001061c06 020000fffe000001 00000000 00000000"
	"000029 01 000000 01 000000 a0 1c5485 a7 ffff 37 f0 ffff ffff"
	"00000000000000000000ffffc0000201 00000000000000000000ffffc0000202"
	"5d560000 00 40 00 98"
	"0000 0000 00000000000000000000000000000000 00000000000000000000000000000000"
	"00000000 00 00 00 00"
	"0040b366 000000000000000000000000c0000201 000000000000000000000000c0000202";
/* ipv6-cm-rping.pcap, frame 3 */
static const char req_ipv6_hex[] =
	"01070203 00000000 000000026bf1a45b 0010 0000 00000000"
	"5ba4f16b 00000000 0000000001061c06 020000fffe000001 00000000 00000000"
	"000037 01 000000 01 000000 a0 c806ba a7 ffff 37 f0 ffff ffff"
	"20010db8000000000000000000000001 20010db8000000000000000000000002"
	"4f3e6000 00 40 00 98"
	"0000 0000 00000000000000000000000000000000 00000000000000000000000000000000"
	"00000000 00 00 00 00"
	"0060ac20 20010db8000000000000000000000001 20010db8000000000000000000000002";
/* cm-rping.pcap, frames 4, 5, 42, 43 */
static const char rep_hex[] =
	"01070203 00000000 000000026bf1a451 0013 0000 00000000"
	"e483eda9 51a4f16b 00000000 000029 00 000000 00 a8ea66 00 01 01 78 e0 020000fffe000002";
static const char rtu_hex[] =
	"01070203 00000000 000000026bf1a451 0014 0000 00000000 51a4f16b e483eda9";
static const char dreq_hex[] =
	"01070203 00000000 000000026bf1a451 0015 0000 00000000 51a4f16b e483eda9 000029 00";
static const char drep_hex[] =
	"01070203 00000000 000000026bf1a451 0016 0000 00000000 e483eda9 51a4f16b";
/* cm-reject.pcap, frame 4 */
static const char rej_hex[] =
	"01070203 00000000 000000026bf1a458 0012 0000 00000000 00000000 58a4f16b 00 00 0008";
/* cm-udaddy.pcap, frames 3 and 4 */
static const char sidr_req_hex[] =
	"01070203 00000000 000000026bf1a452 0017 0000 00000000 52a4f16b ffff 0000"
	"0000000001111c06 0040b53a 000000000000000000000000c0000201"
	"000000000000000000000000c0000202";
static const char sidr_rep_hex[] =
	"01070203 00000000 000000026bf1a452 0018 0000 00000000 52a4f16b 00 00 0000 00002c 00"
	"0000000001111c06 01234567";
/* After the standard's tables: MRA of a REP for 2^18; REJ of a REP with a GID and private data. */
static const char mra_hex[] =
	"01070203 00000000 0000000000000007 0011 0000 00000000 00000001 00000002 40 90 aabb";
static const char rej_ari_hex[] =
	"01070203 00000000 0000000000000007 0012 0000 00000000 00000001 00000002 40 20 000c"
	"20010db8000000000000000000000002 00000000 00000000"
	"0000000000000000000000000000000000000000000000000000000000000000"
	"00000000000000000000000000000000 cafe";

static void req_of_linux(void)
{
	uint8_t mad[UROCE_MAD_BYTES];
	struct uroce_mad m;
	struct uroce_cma cma;

	bytes_of(req_hex, mad);
	m = parse_ok(mad);
	CU_ASSERT_EQUAL(m.attr, UROCE_MAD_REQ);
	CU_ASSERT_EQUAL(m.tid, 0x26bf1a451);
	CU_ASSERT_EQUAL(m.local_id, 0x51a4f16b);
	CU_ASSERT_EQUAL(m.remote_id, 0);
	CU_ASSERT_EQUAL(m.req.service_id, 0x1061c06);
	CU_ASSERT_EQUAL(m.req.end.ca_guid, 0x020000fffe000001);
	CU_ASSERT_EQUAL(m.req.end.qkey, 0);
	CU_ASSERT_EQUAL(m.req.end.qpn, 0x29);
	CU_ASSERT_EQUAL(m.req.end.psn, 0x1c5485);
	CU_ASSERT_EQUAL(m.req.end.responder_resources, 1);
	CU_ASSERT_EQUAL(m.req.end.initiator_depth, 1);
	CU_ASSERT_EQUAL(m.req.end.rnr_retry, 7);
	CU_ASSERT(!m.req.end.srq && !m.req.end.flow_control);
	CU_ASSERT_EQUAL(m.req.transport, UROCE_MAD_RC);
	CU_ASSERT_EQUAL(m.req.remote_response_timeout, 20);
	CU_ASSERT_EQUAL(m.req.local_response_timeout, 20);
	CU_ASSERT_EQUAL(m.req.retry_count, 7);
	CU_ASSERT_EQUAL(m.req.max_cm_retries, 15);
	CU_ASSERT_EQUAL(m.req.pkey, 0xffff);
	CU_ASSERT_EQUAL(m.req.path_mtu, 3);
	CU_ASSERT(uroce_gid_equal(m.req.local_gid, uroce_gid_of_ipv4(0xc0000201)));
	CU_ASSERT(uroce_gid_equal(m.req.remote_gid, uroce_gid_of_ipv4(0xc0000202)));
	CU_ASSERT_EQUAL(m.req.flow_label, 0x5d560);
	CU_ASSERT_EQUAL(m.req.traffic_class, 0);
	CU_ASSERT_EQUAL(m.req.hop_limit, 64);
	CU_ASSERT_EQUAL(m.req.ack_timeout, 19);
	CU_ASSERT_EQUAL(m.private_bytes, 92);
	CU_ASSERT(uroce_cma_is_service(m.req.service_id));
	CU_ASSERT(uroce_cma_parse(m.private_data, &cma));
	CU_ASSERT_EQUAL(cma.src_port, 0xb366);
	CU_ASSERT(uroce_gid_equal(cma.src, m.req.local_gid));
	CU_ASSERT(uroce_gid_equal(cma.dst, m.req.remote_gid));
	check_rebuilt(mad, &m);
}

static void req_over_ipv6(void)
{
	const struct uroce_gid a = {0x20010db800000000, 1}, b = {0x20010db800000000, 2};
	uint8_t mad[UROCE_MAD_BYTES], header[UROCE_CMA_BYTES];
	struct uroce_mad m;
	struct uroce_cma cma;

	bytes_of(req_ipv6_hex, mad);
	m = parse_ok(mad);
	CU_ASSERT(uroce_gid_equal(m.req.local_gid, a));
	CU_ASSERT(uroce_gid_equal(m.req.remote_gid, b));
	CU_ASSERT_EQUAL(m.req.flow_label, 0x4f3e6);
	CU_ASSERT(uroce_cma_parse(m.private_data, &cma));
	CU_ASSERT_EQUAL(cma.src_port, 0xac20);
	CU_ASSERT(uroce_gid_equal(cma.src, a));
	CU_ASSERT(uroce_gid_equal(cma.dst, b));
	check_rebuilt(mad, &m);
	uroce_cma_build(header, &cma);
	CU_ASSERT(memcmp(header, m.private_data, sizeof(header)) == 0);
}

static void rep_of_linux(void)
{
	uint8_t mad[UROCE_MAD_BYTES];
	struct uroce_mad m;

	bytes_of(rep_hex, mad);
	m = parse_ok(mad);
	CU_ASSERT_EQUAL(m.attr, UROCE_MAD_REP);
	CU_ASSERT_EQUAL(m.local_id, 0xe483eda9);
	CU_ASSERT_EQUAL(m.remote_id, 0x51a4f16b);
	CU_ASSERT_EQUAL(m.rep.end.qpn, 0x29);
	CU_ASSERT_EQUAL(m.rep.end.psn, 0xa8ea66);
	CU_ASSERT_EQUAL(m.rep.end.responder_resources, 1);
	CU_ASSERT_EQUAL(m.rep.end.initiator_depth, 1);
	CU_ASSERT_EQUAL(m.rep.end.rnr_retry, 7);
	CU_ASSERT_EQUAL(m.rep.end.ca_guid, 0x020000fffe000002);
	CU_ASSERT_EQUAL(m.rep.target_ack_delay, 15);
	CU_ASSERT_EQUAL(m.private_bytes, 196);
	check_rebuilt(mad, &m);
}

static void short_ones_of_linux(void)
{
	static const struct {
		const char *hex;
		enum uroce_mad_attr attr;
		uint32_t local_id, remote_id, private_bytes;
	} rows[] = {
		{rtu_hex, UROCE_MAD_RTU, 0x51a4f16b, 0xe483eda9, 224},
		{dreq_hex, UROCE_MAD_DREQ, 0x51a4f16b, 0xe483eda9, 220},
		{drep_hex, UROCE_MAD_DREP, 0xe483eda9, 0x51a4f16b, 224},
		{rej_hex, UROCE_MAD_REJ, 0, 0x58a4f16b, 148},
		{sidr_req_hex, UROCE_MAD_SIDR_REQ, 0x52a4f16b, 0, 216},
		{sidr_rep_hex, UROCE_MAD_SIDR_REP, 0, 0x52a4f16b, 136},
	};

	for (uint32_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		uint8_t mad[UROCE_MAD_BYTES];
		struct uroce_mad m;

		bytes_of(rows[i].hex, mad);
		m = parse_ok(mad);
		CU_ASSERT_EQUAL(m.attr, rows[i].attr);
		CU_ASSERT_EQUAL(m.local_id, rows[i].local_id);
		CU_ASSERT_EQUAL(m.remote_id, rows[i].remote_id);
		CU_ASSERT_EQUAL(m.private_bytes, rows[i].private_bytes);
		check_rebuilt(mad, &m);
	}
}

static void their_fields(void)
{
	uint8_t mad[UROCE_MAD_BYTES];
	struct uroce_mad m;

	bytes_of(dreq_hex, mad);
	m = parse_ok(mad);
	CU_ASSERT_EQUAL(m.dreq_qpn, 0x29);
	bytes_of(rej_hex, mad);
	m = parse_ok(mad);
	CU_ASSERT_EQUAL(m.rej.answered, UROCE_MAD_TO_REQ);
	CU_ASSERT_EQUAL(m.rej.reason, UROCE_CM_REJECT_INVALID_SERVICE_ID);
	CU_ASSERT_EQUAL(m.rej.ari_bytes, 0);
	bytes_of(sidr_req_hex, mad);
	m = parse_ok(mad);
	CU_ASSERT_EQUAL(m.sidr_service_id, 0x1111c06);
	bytes_of(sidr_rep_hex, mad);
	m = parse_ok(mad);
	CU_ASSERT_EQUAL(m.sidr_rep.service_id, 0x1111c06);
	CU_ASSERT_EQUAL(m.sidr_rep.qpn, 0x2c);
	CU_ASSERT_EQUAL(m.sidr_rep.qkey, 0x1234567);
	CU_ASSERT_EQUAL(m.sidr_rep.status, UROCE_CM_SIDR_VALID);
}

static void those_after_the_tables(void)
{
	uint8_t mad[UROCE_MAD_BYTES];
	struct uroce_mad m;

	bytes_of(mra_hex, mad);
	m = parse_ok(mad);
	CU_ASSERT_EQUAL(m.mra.answered, UROCE_MAD_TO_REP);
	CU_ASSERT_EQUAL(m.mra.service_timeout, 18);
	CU_ASSERT_EQUAL(m.private_bytes, 222);
	CU_ASSERT_EQUAL(m.private_data[0], 0xaa);
	check_rebuilt(mad, &m);
	bytes_of(rej_ari_hex, mad);
	m = parse_ok(mad);
	CU_ASSERT_EQUAL(m.rej.answered, UROCE_MAD_TO_REP);
	CU_ASSERT_EQUAL(m.rej.reason, UROCE_CM_REJECT_INVALID_GID);
	CU_ASSERT_EQUAL(m.rej.ari_bytes, 16);
	CU_ASSERT_EQUAL(m.rej.ari[15], 2);
	CU_ASSERT_EQUAL(m.private_data[1], 0xfe);
	check_rebuilt(mad, &m);
}

/* Each bit of the fields that share bytes is where it belongs, and disturbs no other. */
static void shared_bytes(void)
{
	uint8_t mad[UROCE_MAD_BYTES];
	struct uroce_mad m = {.attr = UROCE_MAD_REQ, .local_id = 1};
	struct uroce_mad_req *req = &m.req;

	*req = (struct uroce_mad_req){.end.qpn = 2,
		.remote_response_timeout = 0x15,
		.transport = UROCE_MAD_UC,
		.end.flow_control = true,
		.local_response_timeout = 0x0a,
		.retry_count = 5,
		.path_mtu = 5,
		.end.rnr_retry = 2,
		.max_cm_retries = 10,
		.end.srq = true,
		.flow_label = 0xabcde,
		.ack_timeout = 0x15};
	uroce_mad_build(mad, &m);
	CU_ASSERT_EQUAL(mad[24 + 43], 0xab);
	CU_ASSERT_EQUAL(mad[24 + 47], 0x55);
	CU_ASSERT_EQUAL(mad[24 + 50], 0x52);
	CU_ASSERT_EQUAL(mad[24 + 51], 0xa8);
	CU_ASSERT_EQUAL(uroce_load_be32(mad + 24 + 88), 0xabcde000);
	CU_ASSERT_EQUAL(mad[24 + 95], 0xa8);
	/* What is of no use may be set. */
	mad[24 + 50] |= 0x08;
	mad[24 + 51] |= 0x07;
	mad[24 + 90] |= 0x0f;
	mad[24 + 91] = 0xff;
	mad[24 + 95] |= 0x07;
	m = parse_ok(mad);
	CU_ASSERT_EQUAL(req->remote_response_timeout, 0x15);
	CU_ASSERT_EQUAL(req->transport, UROCE_MAD_UC);
	CU_ASSERT(req->end.flow_control && req->end.srq);
	CU_ASSERT_EQUAL(req->local_response_timeout, 0x0a);
	CU_ASSERT_EQUAL(req->retry_count, 5);
	CU_ASSERT_EQUAL(req->path_mtu, 5);
	CU_ASSERT_EQUAL(req->end.rnr_retry, 2);
	CU_ASSERT_EQUAL(req->max_cm_retries, 10);
	CU_ASSERT_EQUAL(req->flow_label, 0xabcde);
	CU_ASSERT_EQUAL(req->ack_timeout, 0x15);

	m = (struct uroce_mad){.attr = UROCE_MAD_REP, .local_id = 1};
	m.rep = (struct uroce_mad_rep){.end.qpn = 2,
		.end.rnr_retry = 5,
		.end.srq = true,
		.end.flow_control = true,
		.target_ack_delay = 0x15};
	uroce_mad_build(mad, &m);
	CU_ASSERT_EQUAL(mad[24 + 26], 0xa9);
	CU_ASSERT_EQUAL(mad[24 + 27], 0xb0);
	m = parse_ok(mad);
	CU_ASSERT_EQUAL(m.rep.target_ack_delay, 0x15);
	CU_ASSERT_EQUAL(m.rep.end.rnr_retry, 5);
	CU_ASSERT(m.rep.end.srq && m.rep.end.flow_control);
}

static void private_data_has_its_place(void)
{
	static const struct {
		enum uroce_mad_attr attr;
		uint32_t at, room;
	} rows[] = {
		{UROCE_MAD_REQ, 140, 92},
		{UROCE_MAD_MRA, 10, 222},
		{UROCE_MAD_REJ, 84, 148},
		{UROCE_MAD_REP, 36, 196},
		{UROCE_MAD_RTU, 8, 224},
		{UROCE_MAD_DREQ, 12, 220},
		{UROCE_MAD_DREP, 8, 224},
		{UROCE_MAD_SIDR_REQ, 16, 216},
		{UROCE_MAD_SIDR_REP, 96, 136},
	};
	uint8_t data[UROCE_MAD_BYTES], mad[UROCE_MAD_BYTES];

	memset(data, 0x77, sizeof(data));
	for (uint32_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct uroce_mad m = {
			.attr = rows[i].attr, .private_data = data, .private_bytes = rows[i].room};

		CU_ASSERT_EQUAL(uroce_mad_private_max(rows[i].attr), rows[i].room);
		uroce_mad_build(mad, &m);
		CU_ASSERT_NOT_EQUAL(mad[24 + rows[i].at - 1], 0x77);
		for (uint32_t k = rows[i].at; k < 232; k++)
			CU_ASSERT_EQUAL(mad[24 + k], 0x77);
	}
	CU_ASSERT_EQUAL(uroce_mad_private_max(UROCE_MAD_LAP), 0);
}

static enum uroce_cm_drop parse_changed(const char *hex, uint32_t at, uint8_t to)
{
	uint8_t mad[UROCE_MAD_BYTES];
	struct uroce_mad m;

	bytes_of(hex, mad);
	mad[at] = to;
	return uroce_mad_parse(mad, UROCE_MAD_BYTES, &m);
}

static void wrong_lengths(void)
{
	uint8_t mad[UROCE_MAD_BYTES + 1] = {0};
	struct uroce_mad m;

	bytes_of(rtu_hex, mad);
	for (uint32_t n = 0; n < UROCE_MAD_BYTES; n++)
		CU_ASSERT_EQUAL(uroce_mad_parse(mad, n, &m), UROCE_CM_DROP_LENGTH);
	CU_ASSERT_EQUAL(uroce_mad_parse(mad, UROCE_MAD_BYTES + 1, &m), UROCE_CM_DROP_LENGTH);
}

static void wrong_headers(void)
{
	for (uint32_t v = 0; v < 256; v++) {
		uint8_t b = (uint8_t)v;

		if (b != 1)
			CU_ASSERT_EQUAL(parse_changed(rtu_hex, 0, b), UROCE_CM_DROP_BASE_VERSION);
		if (b != 7)
			CU_ASSERT_EQUAL(parse_changed(rtu_hex, 1, b), UROCE_CM_DROP_CLASS);
		if (b != 2)
			CU_ASSERT_EQUAL(parse_changed(rtu_hex, 2, b), UROCE_CM_DROP_CLASS_VERSION);
		if (b != 3)
			CU_ASSERT_EQUAL(parse_changed(rtu_hex, 3, b), UROCE_CM_DROP_METHOD);
		if (b > 0)
			CU_ASSERT_EQUAL(parse_changed(rtu_hex, 16, b), UROCE_CM_DROP_ATTRIBUTE);
		if (b < 0x10 || b > 0x1a)
			CU_ASSERT_EQUAL(parse_changed(rtu_hex, 17, b), UROCE_CM_DROP_ATTRIBUTE);
	}
	CU_ASSERT_EQUAL(parse_changed(rtu_hex, 17, 0x19), UROCE_CM_DROP_NOT_SUPPORTED);
	CU_ASSERT_EQUAL(parse_changed(rtu_hex, 17, 0x1a), UROCE_CM_DROP_NOT_SUPPORTED);
}

static enum uroce_cm_drop parse_filled(const char *hex, uint32_t at, uint32_t bytes, uint8_t fill)
{
	uint8_t mad[UROCE_MAD_BYTES];
	struct uroce_mad m;

	bytes_of(hex, mad);
	memset(mad + at, fill, bytes);
	return uroce_mad_parse(mad, UROCE_MAD_BYTES, &m);
}

static void wrong_fields(void)
{
	/* Ids that must not be 0, numbers that no queue pair of a connection has. */
	CU_ASSERT_EQUAL(parse_filled(req_hex, 24, 4, 0), UROCE_CM_DROP_FIELD);
	CU_ASSERT_EQUAL(parse_filled(rep_hex, 24, 4, 0), UROCE_CM_DROP_FIELD);
	CU_ASSERT_EQUAL(parse_filled(req_hex, 24 + 32, 3, 0), UROCE_CM_DROP_FIELD);
	CU_ASSERT_EQUAL(parse_changed(req_hex, 24 + 34, 1), UROCE_CM_DROP_FIELD);
	CU_ASSERT_EQUAL(parse_changed(req_hex, 24 + 34, 2), UROCE_CM_ACCEPTED);
	CU_ASSERT_EQUAL(parse_filled(req_hex, 24 + 32, 3, 0xff), UROCE_CM_DROP_FIELD);
	CU_ASSERT_EQUAL(parse_filled(rep_hex, 24 + 12, 3, 0), UROCE_CM_DROP_FIELD);
	CU_ASSERT_EQUAL(parse_filled(rep_hex, 24 + 12, 3, 0xff), UROCE_CM_DROP_FIELD);
	CU_ASSERT_EQUAL(parse_filled(sidr_rep_hex, 24 + 8, 3, 0), UROCE_CM_DROP_FIELD);
	/* 3 answers nothing; information longer than its room. */
	CU_ASSERT_EQUAL(parse_changed(rej_hex, 24 + 8, 0x80), UROCE_CM_ACCEPTED);
	CU_ASSERT_EQUAL(parse_changed(rej_hex, 24 + 8, 0xc0), UROCE_CM_DROP_FIELD);
	CU_ASSERT_EQUAL(parse_changed(mra_hex, 24 + 8, 0x80), UROCE_CM_ACCEPTED);
	CU_ASSERT_EQUAL(parse_changed(mra_hex, 24 + 8, 0xc0), UROCE_CM_DROP_FIELD);
	CU_ASSERT_EQUAL(parse_changed(rej_hex, 24 + 9, 72 << 1), UROCE_CM_ACCEPTED);
	CU_ASSERT_EQUAL(parse_changed(rej_hex, 24 + 9, 73 << 1), UROCE_CM_DROP_FIELD);
}

static void refused_services_have_no_queue_pair(void)
{
	uint8_t mad[UROCE_MAD_BYTES];
	struct uroce_mad m;

	bytes_of(sidr_rep_hex, mad);
	mad[24 + 4] = UROCE_CM_SIDR_NO_QP;
	memset(mad + 24 + 8, 0, 3);
	m = parse_ok(mad);
	CU_ASSERT_EQUAL(m.sidr_rep.status, UROCE_CM_SIDR_NO_QP);
}

static void headers_of_rdma_cm(void)
{
	uint8_t mad[UROCE_MAD_BYTES], header[UROCE_CMA_BYTES];
	struct uroce_cma cma;

	bytes_of(sidr_req_hex, mad);
	memcpy(header, mad + 24 + 16, sizeof(header));
	CU_ASSERT(uroce_cma_parse(header, &cma));
	CU_ASSERT_EQUAL(cma.src_port, 0xb53a);
	CU_ASSERT(uroce_gid_equal(cma.src, uroce_gid_of_ipv4(0xc0000201)));
	CU_ASSERT(uroce_gid_equal(cma.dst, uroce_gid_of_ipv4(0xc0000202)));
	memset(header, 0xee, sizeof(header));
	uroce_cma_build(header, &cma);
	CU_ASSERT(memcmp(header, mad + 24 + 16, sizeof(header)) == 0);
	header[0] = 1;
	CU_ASSERT(!uroce_cma_parse(header, &cma));
	header[0] = 0;
	for (uint32_t v = 0; v < 16; v++) {
		header[1] = (uint8_t)(v << 4);
		CU_ASSERT_EQUAL(uroce_cma_parse(header, &cma), v == 4 || v == 6);
	}
	/* The lower half of that byte is reserved, and so is what stands before an IPv4 address. */
	header[1] = 0x4f;
	header[4] = 0xff;
	CU_ASSERT(uroce_cma_parse(header, &cma));
	CU_ASSERT(uroce_gid_equal(cma.src, uroce_gid_of_ipv4(0xc0000201)));
}

static void services_of_rdma_cm(void)
{
	CU_ASSERT(uroce_cma_is_service(0x01060000));
	CU_ASSERT(uroce_cma_is_service(0x0111ffff));
	CU_ASSERT(uroce_cma_is_service(0x013f1234));
	CU_ASSERT(!uroce_cma_is_service(0x01071234));
	CU_ASSERT(!uroce_cma_is_service(0x1234));
	CU_ASSERT(!uroce_cma_is_service(0x1000000001061234));
}

int main(void)
{
	static const struct unit_case cases[] = {
		{"Linux's REQ is read and built again", req_of_linux},
		{"so is one over IPv6", req_over_ipv6},
		{"Linux's REP is read and built again", rep_of_linux},
		{"so are its RTU, DREQ, DREP, REJ and both of SIDR", short_ones_of_linux},
		{"what only some of them have is read", their_fields},
		{"MRA and additional information are where the standard has them",
			those_after_the_tables},
		{"fields that share a byte do not disturb each other", shared_bytes},
		{"private data reaches from its place to the end", private_data_has_its_place},
		{"anything but 256 bytes is refused", wrong_lengths},
		{"other versions, classes, methods and attributes are refused", wrong_headers},
		{"values that the standard does not allow are refused", wrong_fields},
		{"a refused service has no queue pair", refused_services_have_no_queue_pair},
		{"the header of rdma_cm is read and built", headers_of_rdma_cm},
		{"a service id says whether there is such a header", services_of_rdma_cm},
	};

	return run_suite("mad", cases, sizeof(cases) / sizeof(cases[0]));
}
