/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Messages of connection management as bytes (InfiniBand volume 1, chapter 12).
 *
 * A common header of 24 bytes, then 232 of the message. Offsets below count from the start of the
 * latter, as the standard's tables do; fields of less than a byte have the number of bits that lie
 * to the right of them. What a table calls reserved, and what is of no use to RoCE (LIDs, end to
 * end contexts, alternate paths), is built as Linux builds it and ignored when it comes.
 */
#include "mad.h"

#include <assert.h>

#include "bytes.h"

/* The common header. */
enum {
	BASE_VERSION = 0,
	CLASS = 1,
	CLASS_VERSION = 2,
	METHOD = 3,
	TID = 8,
	ATTRIBUTE = 16,
	HEADER_BYTES = 24,
	BODY_BYTES = UROCE_MAD_BYTES - HEADER_BYTES,

	BASE_VERSION_IB = 1,
	CLASS_CM = 7,
	CLASS_VERSION_CM = 2,
	METHOD_SEND = 3,
};

/* All but SIDR begin with two ids; both SIDR messages with one. */
enum {
	LOCAL_ID = 0,
	REMOTE_ID = 4,
};

enum {
	REQ_SERVICE_ID = 8,
	REQ_CA_GUID = 16,
	REQ_QKEY = 28,
	REQ_QPN = 32,
	REQ_RESPONDER_RESOURCES = 35,
	REQ_INITIATOR_DEPTH = 39,
	REQ_TIMEOUT_TRANSPORT_FLOW = 43, /* 5, 2, 1 bits */
	REQ_PSN = 44,
	REQ_TIMEOUT_RETRY = 47, /* 5, 3 */
	REQ_PKEY = 48,
	REQ_MTU_RNR = 50,     /* 4, 1 of no use, 3 */
	REQ_RETRIES_SRQ = 51, /* 4, 1, 3 of no use */
	REQ_LOCAL_LID = 52,
	REQ_REMOTE_LID = 54,
	REQ_LOCAL_GID = 56,
	REQ_REMOTE_GID = 72,
	REQ_FLOW_LABEL = 88, /* 20 bits of 32 */
	REQ_TRAFFIC_CLASS = 92,
	REQ_HOP_LIMIT = 93,
	REQ_ACK_TIMEOUT = 95, /* 5 bits */
	REQ_PRIVATE = 140,

	LID_PERMISSIVE = 0xffff,
};

enum {
	MRA_ANSWERED = 8, /* 2 bits */
	MRA_TIMEOUT = 9,  /* 5 bits */
	MRA_PRIVATE = 10,
};

enum {
	REJ_ANSWERED = 8, /* 2 bits */
	REJ_ARI_LEN = 9,  /* 7 bits */
	REJ_REASON = 10,
	REJ_ARI = 12,
	REJ_PRIVATE = 84,
};

enum {
	REP_QKEY = 8,
	REP_QPN = 12,
	REP_PSN = 20,
	REP_RESPONDER_RESOURCES = 24,
	REP_INITIATOR_DEPTH = 25,
	REP_DELAY_FLOW = 26, /* 5, 2 of no use, 1 */
	REP_RNR_SRQ = 27,    /* 3, 1 */
	REP_CA_GUID = 28,
	REP_PRIVATE = 36,
};

enum {
	RTU_PRIVATE = 8, /* DREP's too */
	DREQ_QPN = 8,
	DREQ_PRIVATE = 12,
};

enum {
	SIDR_REQ_PKEY = 4,
	SIDR_REQ_SERVICE_ID = 8,
	SIDR_REQ_PRIVATE = 16,
	SIDR_REP_STATUS = 4,
	SIDR_REP_QPN = 8,
	SIDR_REP_SERVICE_ID = 12,
	SIDR_REP_QKEY = 20,
	SIDR_REP_PRIVATE = 96,
};

enum {
	PKEY_DEFAULT = 0xffff,
	QPN_LEAST = 2, /* 0 and 1 are management's */
	QPN_MULTICAST = 0xffffff,
};

/* Where private data begins; it goes to the end. */
static uint32_t private_at(enum uroce_mad_attr attr)
{
	switch (attr) {
	case UROCE_MAD_REQ:
		return REQ_PRIVATE;
	case UROCE_MAD_MRA:
		return MRA_PRIVATE;
	case UROCE_MAD_REJ:
		return REJ_PRIVATE;
	case UROCE_MAD_REP:
		return REP_PRIVATE;
	case UROCE_MAD_RTU:
	case UROCE_MAD_DREP:
		return RTU_PRIVATE;
	case UROCE_MAD_DREQ:
		return DREQ_PRIVATE;
	case UROCE_MAD_SIDR_REQ:
		return SIDR_REQ_PRIVATE;
	case UROCE_MAD_SIDR_REP:
		return SIDR_REP_PRIVATE;
	case UROCE_MAD_LAP:
	case UROCE_MAD_APR:
		break;
	}
	return BODY_BYTES;
}

uint32_t uroce_mad_private_max(enum uroce_mad_attr attr)
{
	return BODY_BYTES - private_at(attr);
}

/* Of `width` bits with `right` bits to the right of them. */
static uint8_t bits_of(uint8_t byte, uint32_t right, uint32_t width)
{
	return (uint8_t)(byte >> right & ((1u << width) - 1));
}

static uint8_t to_bits(uint32_t value, uint32_t right)
{
	return (uint8_t)(value << right);
}

static bool is_connectable(uint32_t qpn)
{
	return qpn >= QPN_LEAST && qpn != QPN_MULTICAST;
}

static bool parse_req(const uint8_t *b, struct uroce_mad_req *req)
{
	*req = (struct uroce_mad_req){
		.end =
			{
				.ca_guid = uroce_load_be64(b + REQ_CA_GUID),
				.qkey = uroce_load_be32(b + REQ_QKEY),
				.qpn = uroce_load_be24(b + REQ_QPN),
				.psn = uroce_load_be24(b + REQ_PSN),
				.responder_resources = b[REQ_RESPONDER_RESOURCES],
				.initiator_depth = b[REQ_INITIATOR_DEPTH],
				.rnr_retry = bits_of(b[REQ_MTU_RNR], 0, 3),
				.srq = bits_of(b[REQ_RETRIES_SRQ], 3, 1),
				.flow_control = bits_of(b[REQ_TIMEOUT_TRANSPORT_FLOW], 0, 1),
			},
		.service_id = uroce_load_be64(b + REQ_SERVICE_ID),
		.local_gid = uroce_gid_load(b + REQ_LOCAL_GID),
		.remote_gid = uroce_gid_load(b + REQ_REMOTE_GID),
		.flow_label = uroce_load_be32(b + REQ_FLOW_LABEL) >> 12,
		.pkey = uroce_load_be16(b + REQ_PKEY),
		.traffic_class = b[REQ_TRAFFIC_CLASS],
		.hop_limit = b[REQ_HOP_LIMIT],
		.transport = bits_of(b[REQ_TIMEOUT_TRANSPORT_FLOW], 1, 2),
		.path_mtu = bits_of(b[REQ_MTU_RNR], 4, 4),
		.retry_count = bits_of(b[REQ_TIMEOUT_RETRY], 0, 3),
		.ack_timeout = bits_of(b[REQ_ACK_TIMEOUT], 3, 5),
		.remote_response_timeout = bits_of(b[REQ_TIMEOUT_TRANSPORT_FLOW], 3, 5),
		.local_response_timeout = bits_of(b[REQ_TIMEOUT_RETRY], 3, 5),
		.max_cm_retries = bits_of(b[REQ_RETRIES_SRQ], 4, 4),
	};
	return is_connectable(req->end.qpn);
}

static bool parse_rep(const uint8_t *b, struct uroce_mad_rep *rep)
{
	*rep = (struct uroce_mad_rep){
		.end =
			{
				.ca_guid = uroce_load_be64(b + REP_CA_GUID),
				.qkey = uroce_load_be32(b + REP_QKEY),
				.qpn = uroce_load_be24(b + REP_QPN),
				.psn = uroce_load_be24(b + REP_PSN),
				.responder_resources = b[REP_RESPONDER_RESOURCES],
				.initiator_depth = b[REP_INITIATOR_DEPTH],
				.rnr_retry = bits_of(b[REP_RNR_SRQ], 5, 3),
				.srq = bits_of(b[REP_RNR_SRQ], 4, 1),
				.flow_control = bits_of(b[REP_DELAY_FLOW], 0, 1),
			},
		.target_ack_delay = bits_of(b[REP_DELAY_FLOW], 3, 5),
	};
	return is_connectable(rep->end.qpn);
}

static bool parse_rej(const uint8_t *b, struct uroce_mad_rej *rej)
{
	uint8_t answered = bits_of(b[REJ_ANSWERED], 6, 2);

	*rej = (struct uroce_mad_rej){
		.answered = answered,
		.reason = uroce_load_be16(b + REJ_REASON),
		.ari_bytes = bits_of(b[REJ_ARI_LEN], 1, 7),
		.ari = b + REJ_ARI,
	};
	return answered <= UROCE_MAD_TO_OTHER && rej->ari_bytes <= UROCE_MAD_ARI_BYTES;
}

static bool parse_mra(const uint8_t *b, struct uroce_mad_mra *mra)
{
	uint8_t answered = bits_of(b[MRA_ANSWERED], 6, 2);

	*mra = (struct uroce_mad_mra){
		.answered = answered,
		.service_timeout = bits_of(b[MRA_TIMEOUT], 3, 5),
	};
	return answered <= UROCE_MAD_TO_OTHER;
}

static bool parse_sidr_rep(const uint8_t *b, struct uroce_mad_sidr_rep *rep)
{
	*rep = (struct uroce_mad_sidr_rep){
		.service_id = uroce_load_be64(b + SIDR_REP_SERVICE_ID),
		.qpn = uroce_load_be24(b + SIDR_REP_QPN),
		.qkey = uroce_load_be32(b + SIDR_REP_QKEY),
		.status = b[SIDR_REP_STATUS],
	};
	return rep->status != UROCE_CM_SIDR_VALID || is_connectable(rep->qpn);
}

/* False: a field is out of its range. */
static bool parse_body(const uint8_t *b, struct uroce_mad *mad)
{
	mad->local_id = uroce_load_be32(b + LOCAL_ID);
	mad->remote_id = uroce_load_be32(b + REMOTE_ID);
	switch (mad->attr) {
	case UROCE_MAD_REQ:
		mad->remote_id = 0;
		return parse_req(b, &mad->req) && mad->local_id;
	case UROCE_MAD_MRA:
		return parse_mra(b, &mad->mra);
	case UROCE_MAD_REJ:
		return parse_rej(b, &mad->rej);
	case UROCE_MAD_REP:
		return parse_rep(b, &mad->rep) && mad->local_id;
	case UROCE_MAD_DREQ:
		mad->dreq_qpn = uroce_load_be24(b + DREQ_QPN);
		return true;
	case UROCE_MAD_SIDR_REQ:
		mad->remote_id = 0;
		mad->sidr_service_id = uroce_load_be64(b + SIDR_REQ_SERVICE_ID);
		return true;
	case UROCE_MAD_SIDR_REP:
		mad->remote_id = mad->local_id;
		mad->local_id = 0;
		return parse_sidr_rep(b, &mad->sidr_rep);
	case UROCE_MAD_RTU:
	case UROCE_MAD_DREP:
	case UROCE_MAD_LAP:
	case UROCE_MAD_APR:
		break;
	}
	return true;
}

enum uroce_cm_drop uroce_mad_parse(const uint8_t *bytes, uint32_t num_bytes, struct uroce_mad *mad)
{
	uint16_t attr;

	if (num_bytes != UROCE_MAD_BYTES)
		return UROCE_CM_DROP_LENGTH;
	if (bytes[BASE_VERSION] != BASE_VERSION_IB)
		return UROCE_CM_DROP_BASE_VERSION;
	if (bytes[CLASS] != CLASS_CM)
		return UROCE_CM_DROP_CLASS;
	if (bytes[CLASS_VERSION] != CLASS_VERSION_CM)
		return UROCE_CM_DROP_CLASS_VERSION;
	if (bytes[METHOD] != METHOD_SEND)
		return UROCE_CM_DROP_METHOD;
	attr = uroce_load_be16(bytes + ATTRIBUTE);
	if (attr < UROCE_MAD_REQ || attr > UROCE_MAD_APR)
		return UROCE_CM_DROP_ATTRIBUTE;
	if (attr == UROCE_MAD_LAP || attr == UROCE_MAD_APR)
		return UROCE_CM_DROP_NOT_SUPPORTED;
	*mad = (struct uroce_mad){
		.tid = uroce_load_be64(bytes + TID),
		.attr = attr,
		.private_data = bytes + HEADER_BYTES + private_at(attr),
		.private_bytes = uroce_mad_private_max(attr),
	};
	return parse_body(bytes + HEADER_BYTES, mad) ? UROCE_CM_ACCEPTED : UROCE_CM_DROP_FIELD;
}

static void build_req(uint8_t *b, const struct uroce_mad_req *req)
{
	const struct uroce_mad_end *end = &req->end;

	uroce_store_be64(b + REQ_SERVICE_ID, req->service_id);
	uroce_store_be64(b + REQ_CA_GUID, end->ca_guid);
	uroce_store_be32(b + REQ_QKEY, end->qkey);
	uroce_store_be24(b + REQ_QPN, end->qpn);
	b[REQ_RESPONDER_RESOURCES] = end->responder_resources;
	b[REQ_INITIATOR_DEPTH] = end->initiator_depth;
	b[REQ_TIMEOUT_TRANSPORT_FLOW] = to_bits(req->remote_response_timeout, 3) |
		to_bits(req->transport, 1) | end->flow_control;
	uroce_store_be24(b + REQ_PSN, end->psn);
	b[REQ_TIMEOUT_RETRY] = to_bits(req->local_response_timeout, 3) | req->retry_count;
	uroce_store_be16(b + REQ_PKEY, req->pkey);
	b[REQ_MTU_RNR] = to_bits(req->path_mtu, 4) | end->rnr_retry;
	b[REQ_RETRIES_SRQ] = to_bits(req->max_cm_retries, 4) | to_bits(end->srq, 3);
	uroce_store_be16(b + REQ_LOCAL_LID, LID_PERMISSIVE);
	uroce_store_be16(b + REQ_REMOTE_LID, LID_PERMISSIVE);
	uroce_gid_store(b + REQ_LOCAL_GID, req->local_gid);
	uroce_gid_store(b + REQ_REMOTE_GID, req->remote_gid);
	uroce_store_be32(b + REQ_FLOW_LABEL, req->flow_label << 12);
	b[REQ_TRAFFIC_CLASS] = req->traffic_class;
	b[REQ_HOP_LIMIT] = req->hop_limit;
	b[REQ_ACK_TIMEOUT] = to_bits(req->ack_timeout, 3);
}

static void build_rep(uint8_t *b, const struct uroce_mad_rep *rep)
{
	const struct uroce_mad_end *end = &rep->end;

	uroce_store_be32(b + REP_QKEY, end->qkey);
	uroce_store_be24(b + REP_QPN, end->qpn);
	uroce_store_be24(b + REP_PSN, end->psn);
	b[REP_RESPONDER_RESOURCES] = end->responder_resources;
	b[REP_INITIATOR_DEPTH] = end->initiator_depth;
	b[REP_DELAY_FLOW] = to_bits(rep->target_ack_delay, 3) | end->flow_control;
	b[REP_RNR_SRQ] = to_bits(end->rnr_retry, 5) | to_bits(end->srq, 4);
	uroce_store_be64(b + REP_CA_GUID, end->ca_guid);
}

static void build_rej(uint8_t *b, const struct uroce_mad_rej *rej)
{
	b[REJ_ANSWERED] = to_bits(rej->answered, 6);
	b[REJ_ARI_LEN] = to_bits(rej->ari_bytes, 1);
	uroce_store_be16(b + REJ_REASON, rej->reason);
	if (rej->ari_bytes > 0)
		memcpy(b + REJ_ARI, rej->ari, rej->ari_bytes);
}

static void build_sidr_rep(uint8_t *b, const struct uroce_mad_sidr_rep *rep)
{
	b[SIDR_REP_STATUS] = rep->status;
	uroce_store_be24(b + SIDR_REP_QPN, rep->qpn);
	uroce_store_be64(b + SIDR_REP_SERVICE_ID, rep->service_id);
	uroce_store_be32(b + SIDR_REP_QKEY, rep->qkey);
}

static void build_body(uint8_t *b, const struct uroce_mad *mad)
{
	uroce_store_be32(b + LOCAL_ID, mad->local_id);
	uroce_store_be32(b + REMOTE_ID, mad->remote_id);
	switch (mad->attr) {
	case UROCE_MAD_REQ:
		build_req(b, &mad->req);
		break;
	case UROCE_MAD_MRA:
		b[MRA_ANSWERED] = to_bits(mad->mra.answered, 6);
		b[MRA_TIMEOUT] = to_bits(mad->mra.service_timeout, 3);
		break;
	case UROCE_MAD_REJ:
		build_rej(b, &mad->rej);
		break;
	case UROCE_MAD_REP:
		build_rep(b, &mad->rep);
		break;
	case UROCE_MAD_DREQ:
		uroce_store_be24(b + DREQ_QPN, mad->dreq_qpn);
		break;
	case UROCE_MAD_SIDR_REQ:
		uroce_store_be32(b + SIDR_REQ_PKEY, (uint32_t)PKEY_DEFAULT << 16);
		uroce_store_be64(b + SIDR_REQ_SERVICE_ID, mad->sidr_service_id);
		break;
	case UROCE_MAD_SIDR_REP:
		uroce_store_be32(b + LOCAL_ID, mad->remote_id);
		uroce_store_be32(b + REMOTE_ID, 0);
		build_sidr_rep(b, &mad->sidr_rep);
		break;
	case UROCE_MAD_RTU:
	case UROCE_MAD_DREP:
	case UROCE_MAD_LAP:
	case UROCE_MAD_APR:
		break;
	}
}

void uroce_mad_build(uint8_t bytes[UROCE_MAD_BYTES], const struct uroce_mad *mad)
{
	uint8_t *body = bytes + HEADER_BYTES;

	assert(mad->private_bytes <= uroce_mad_private_max(mad->attr));
	memset(bytes, 0, UROCE_MAD_BYTES);
	bytes[BASE_VERSION] = BASE_VERSION_IB;
	bytes[CLASS] = CLASS_CM;
	bytes[CLASS_VERSION] = CLASS_VERSION_CM;
	bytes[METHOD] = METHOD_SEND;
	uroce_store_be64(bytes + TID, mad->tid);
	uroce_store_be16(bytes + ATTRIBUTE, (uint16_t)mad->attr);
	build_body(body, mad);
	if (mad->private_bytes > 0)
		memcpy(body + private_at(mad->attr), mad->private_data, mad->private_bytes);
}
