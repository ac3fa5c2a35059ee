/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The vocabularies of connection management: what happens to a connection, why one is refused, why
 * a message is dropped, and what is counted.
 *
 * Public, for the names. Reasons and statuses have the standard's numbers, which are those of
 * Linux's rdma_cm too. One struct of counters per connection manager, written by its owner only.
 */
#ifndef UROCE_CM_STATUS_H
#define UROCE_CM_STATUS_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What happens to a connection or a resolution. */
enum uroce_cm_event_type {
	UROCE_CM_CONNECT_REQUEST,  /* somebody wants to connect to a listener: accept or reject */
	UROCE_CM_CONNECT_RESPONSE, /* the peer accepted: move the queue pair, then say so */
	UROCE_CM_ESTABLISHED,	   /* passive side: the peer is ready */
	UROCE_CM_REJECTED,	   /* the peer, or its connection manager, refused: see reason */
	UROCE_CM_UNREACHABLE,	   /* no answer within the retries */
	UROCE_CM_DISCONNECTED,	   /* by either side, or because the peer knows nothing of it */
	UROCE_CM_TIMEWAIT_EXIT,	   /* no frame of the connection is under way: its QPN is free */
	UROCE_CM_SIDR_REQUEST,	   /* somebody asks a listener for a datagram queue pair: reply */
	UROCE_CM_SIDR_RESOLVED, /* the answer to a resolution; status 0: qpn and qkey are known */
	UROCE_CM_EVENT_COUNT,
};

/* Where a connection stands. */
enum uroce_cm_state {
	UROCE_CM_STATE_FREE,
	UROCE_CM_STATE_REQ_SENT, /* active: waits for the peer's answer */
	UROCE_CM_STATE_REP_RCVD, /* active: accepted, waits for the shell to say established */
	UROCE_CM_STATE_REQ_RCVD, /* passive: waits for the application */
	UROCE_CM_STATE_REP_SENT, /* passive: accepted, waits for RTU */
	UROCE_CM_STATE_ESTABLISHED,
	UROCE_CM_STATE_DREQ_SENT, /* disconnecting, waits for DREP */
	UROCE_CM_STATE_TIMEWAIT,  /* over; answers duplicates until old frames are gone */
	UROCE_CM_STATE_REFUSED,	  /* refused by us; answers duplicates for a while */
	UROCE_CM_STATE_SIDR_REQ_SENT,
	UROCE_CM_STATE_SIDR_REQ_RCVD,
	UROCE_CM_STATE_SIDR_REP_SENT, /* answered; answers duplicates for a while */
	UROCE_CM_STATE_CLOSED,	      /* nothing more happens; waits to be destroyed */
	UROCE_CM_STATE_COUNT,
};

/* The port spaces of rdma_cm: bits 16 to 31 of a service id, above the port. */
enum uroce_cm_port_space {
	UROCE_CM_PS_TCP = 0x0106, /* connections */
	UROCE_CM_PS_UDP = 0x0111, /* datagrams: SIDR */
	UROCE_CM_PS_IB = 0x013f,  /* either */
};

/* Why a connection is refused. X(name, number, text). Numbers of the standard (12.6.7.2). */
// clang-format off
#define UROCE_CM_REJECTS(X) \
	X(NO_QP,		1,  "the peer has no queue pair left") \
	X(NO_RESOURCES,		3,  "the peer has no room for one more connection") \
	X(TIMEOUT,		4,  "the peer waited too long for an answer") \
	X(UNSUPPORTED,		5,  "the peer does not support what was asked") \
	X(INVALID_COMM_ID,	6,  "the peer does not know the connection") \
	X(INVALID_SERVICE_ID,	8,  "nobody listens there") \
	X(INVALID_TRANSPORT,	9,  "the peer does not support the transport") \
	X(STALE,		10, "the peer still has an older connection of this queue pair") \
	X(INVALID_GID,		12, "an address in the request is not the frame's") \
	X(INVALID_MTU,		26, "the peer's port cannot do the path MTU") \
	X(INSUFFICIENT_RESPONDER, 27, "the peer needs more outstanding reads than it was given") \
	X(CONSUMER,		28, "the peer's application refused") \
	X(DUPLICATE_COMM_ID,	30, "the peer has another connection under the same id") \
	X(INVALID_CLASS_VERSION, 31, "the peer speaks another version of connection management")

/* Why a datagram service is refused. Numbers of the standard (12.11). */
#define UROCE_CM_SIDR_STATUSES(X) \
	X(VALID,		0, "resolved") \
	X(UNSUPPORTED,		1, "nobody serves datagrams there") \
	X(REJECTED,		2, "the peer's application refused") \
	X(NO_QP,		3, "the peer has no queue pair for it") \
	X(REDIRECT,		4, "the peer wants to be asked elsewhere") \
	X(VERSION,		5, "the peer does not know the version")

/* Why a message was not accepted. Messages seen == accepted + sum of all reasons. */
#define UROCE_CM_DROP_REASONS(X) \
	X(LENGTH,		"not 256 bytes") \
	X(BASE_VERSION,		"MAD base version is not 1") \
	X(CLASS,		"not of the class of connection management") \
	X(CLASS_VERSION,	"class version is not 2") \
	X(METHOD,		"method is not Send") \
	X(ATTRIBUTE,		"no message of connection management") \
	X(NOT_SUPPORTED,	"alternate paths (LAP, APR) are not supported") \
	X(SOURCE_QPN,		"not from queue pair 1") \
	X(FIELD,		"a field has a value that the standard does not allow") \
	X(ID_UNKNOWN,		"names a connection that does not exist") \
	X(NOT_PEER,		"names a connection whose peer is another") \
	X(STATE,		"not expected in the state of the connection; a late one, mostly") \
	X(REFUSED,		"a request that was refused; answered with the reason") \
	X(DUPLICATE,		"seen before; answered again where there is an answer") \
	X(NO_ROOM,		"no room to remember what to answer; the peer asks again")

#define UROCE_CM_COUNTERS(X) \
	X(rx_mads,		"messages seen") \
	X(rx_accepted,		"messages accepted: each changed a connection's state") \
	X(tx_mads,		"messages built") \
	X(tx_retries,		"requests and replies among them that were sent again for want of an answer") \
	X(rx_req,		"connection requests received, well-formed") \
	X(rx_mra,		"requests for more time received") \
	X(rx_rej,		"refusals received") \
	X(rx_rep,		"connection replies received") \
	X(rx_rtu,		"ready-to-use messages received") \
	X(rx_dreq,		"disconnect requests received") \
	X(rx_drep,		"disconnect replies received") \
	X(rx_sidr_req,		"datagram service requests received") \
	X(rx_sidr_rep,		"datagram service replies received") \
	X(tx_req,		"connection requests built") \
	X(tx_mra,		"requests for more time built") \
	X(tx_rej,		"refusals built") \
	X(tx_rep,		"connection replies built") \
	X(tx_rtu,		"ready-to-use messages built") \
	X(tx_dreq,		"disconnect requests built") \
	X(tx_drep,		"disconnect replies built") \
	X(tx_sidr_req,		"datagram service requests built") \
	X(tx_sidr_rep,		"datagram service replies built") \
	X(established,		"connections that were established, of both sides") \
	X(timeouts,		"connections and resolutions that ended for want of an answer") \
	X(stale,		"connections that ended because their peer's queue pair began another") \
	X(backlog_full,		"requests refused because a listener had too many unanswered") \
	X(ids_full,		"requests refused because there was no room for one more")
// clang-format on

#define UROCE_CM_ENUM(name, number, text) UROCE_CM_REJECT_##name = number,
enum uroce_cm_reject {
	UROCE_CM_REJECTS(UROCE_CM_ENUM)
};
#undef UROCE_CM_ENUM

#define UROCE_CM_ENUM(name, number, text) UROCE_CM_SIDR_##name = number,
enum uroce_cm_sidr_status {
	UROCE_CM_SIDR_STATUSES(UROCE_CM_ENUM)
};
#undef UROCE_CM_ENUM

#define UROCE_CM_ENUM(name, text) UROCE_CM_DROP_##name,
enum uroce_cm_drop {
	UROCE_CM_ACCEPTED = 0,
	UROCE_CM_DROP_REASONS(UROCE_CM_ENUM) UROCE_CM_DROP_COUNT,
};
#undef UROCE_CM_ENUM

#define UROCE_CM_FIELD(name, help) uint64_t name;
struct uroce_cm_counters {
	UROCE_CM_COUNTERS(UROCE_CM_FIELD)
	uint64_t drops[UROCE_CM_DROP_COUNT]; /* by enum uroce_cm_drop; entry 0 stays 0 */
};
#undef UROCE_CM_FIELD

#ifdef __cplusplus
}
#endif

#endif
