/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Messages of connection management: MADs of class 7, from bytes and to bytes.
 *
 * Every length and every field that the standard restricts is checked here, so what parse takes
 * can be believed in its form, if not in what it says. Nothing is known of connections.
 */
#ifndef UROCE_MAD_H
#define UROCE_MAD_H

#include <stdbool.h>
#include <stdint.h>

#include "cm_status.h"
#include "gid.h"
#include "status.h"

enum {
	UROCE_MAD_BYTES = 256,
	UROCE_MAD_ARI_BYTES = 72,
};

enum uroce_mad_attr {
	UROCE_MAD_REQ = 0x10,
	UROCE_MAD_MRA,
	UROCE_MAD_REJ,
	UROCE_MAD_REP,
	UROCE_MAD_RTU,
	UROCE_MAD_DREQ,
	UROCE_MAD_DREP,
	UROCE_MAD_SIDR_REQ,
	UROCE_MAD_SIDR_REP,
	UROCE_MAD_LAP, /* alternate paths: known by name only */
	UROCE_MAD_APR,
};

/* What a REJ or an MRA answers. */
enum uroce_mad_answered {
	UROCE_MAD_TO_REQ = 0,
	UROCE_MAD_TO_REP = 1,
	UROCE_MAD_TO_OTHER = 2,
};

/* The transport service of a REQ. */
enum uroce_mad_transport {
	UROCE_MAD_RC = 0,
	UROCE_MAD_UC = 1,
};

/* What REQ and REP both say of the sender's end. */
struct uroce_mad_end {
	uint64_t ca_guid;
	uint32_t qkey;
	uint32_t qpn;
	uint32_t psn;
	uint8_t responder_resources;
	uint8_t initiator_depth;
	uint8_t rnr_retry;
	bool srq;
	bool flow_control;
};

struct uroce_mad_req {
	struct uroce_mad_end end;
	uint64_t service_id;
	struct uroce_gid local_gid, remote_gid; /* the sender's and the receiver's */
	uint32_t flow_label;
	uint16_t pkey;
	uint8_t traffic_class;
	uint8_t hop_limit;
	uint8_t transport;		 /* 0 ... 3; see enum uroce_mad_transport */
	uint8_t path_mtu;		 /* 1 ... 5: 256 ... 4096; others as they came */
	uint8_t retry_count;		 /* 0 ... 7 */
	uint8_t ack_timeout;		 /* exponents, 0 ... 31 */
	uint8_t remote_response_timeout; /* what the receiver should keep to */
	uint8_t local_response_timeout;	 /* what the sender keeps to */
	uint8_t max_cm_retries;		 /* 0 ... 15 */
};

struct uroce_mad_rep {
	struct uroce_mad_end end;
	uint8_t target_ack_delay; /* exponent, 0 ... 31 */
};

struct uroce_mad_rej {
	enum uroce_mad_answered answered;
	uint16_t reason;
	uint8_t ari_bytes;
	const uint8_t *ari;
};

struct uroce_mad_mra {
	enum uroce_mad_answered answered;
	uint8_t service_timeout; /* exponent, 0 ... 31 */
};

struct uroce_mad_sidr_rep {
	uint64_t service_id;
	uint32_t qpn;
	uint32_t qkey;
	uint8_t status;
};

struct uroce_mad {
	uint64_t tid;
	enum uroce_mad_attr attr;
	uint32_t local_id;  /* the sender's; 0: none; of SIDR_REQ its request id */
	uint32_t remote_id; /* the receiver's; 0: none; of SIDR_REP its request id */
	union {
		struct uroce_mad_req req;
		struct uroce_mad_rep rep;
		struct uroce_mad_rej rej;
		struct uroce_mad_mra mra;
		struct uroce_mad_sidr_rep sidr_rep;
		uint32_t dreq_qpn;	  /* of DREQ: the receiver's queue pair */
		uint64_t sidr_service_id; /* of SIDR_REQ */
	};
	const uint8_t *private_data; /* of parse: in the message, all that it has room for */
	uint32_t private_bytes;
};

/* 0 and *mad, which points into bytes; or why it is none. LAP and APR are refused by name. */
enum uroce_cm_drop uroce_mad_parse(const uint8_t *bytes, uint32_t num_bytes, struct uroce_mad *mad);

/* Room for private data in such a message. */
uint32_t uroce_mad_private_max(enum uroce_mad_attr attr);

/* All values must be in their ranges, and private data and ari not be longer than their room. */
void uroce_mad_build(uint8_t bytes[UROCE_MAD_BYTES], const struct uroce_mad *mad);

#endif
