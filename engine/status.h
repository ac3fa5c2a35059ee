/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The vocabularies: what a work request is, what became of it, what became of a frame.
 *
 * Public: uroce.h includes it, the engine uses it, so no value is written down twice. Where
 * libibverbs has a number for a thing, the number here is the same, so that a verbs drop-in
 * needs no translation. The three vocabularies never mix: a work request ends in an
 * enum uroce_status, a frame in an enum uroce_drop (or accepted), a call in 0 or a negative errno.
 */
#ifndef UROCE_STATUS_H
#define UROCE_STATUS_H

#ifdef __cplusplus
extern "C" {
#endif

/* What became of a work request; in the completion. Numbers of enum ibv_wc_status. */
enum uroce_status {
	UROCE_STATUS_SUCCESS = 0,
	UROCE_STATUS_LOC_LEN_ERR = 1,	  /* a receive buffer too short for what came */
	UROCE_STATUS_LOC_QP_OP_ERR = 2,	  /* the queue pair met something of its own it cannot do */
	UROCE_STATUS_LOC_PROT_ERR = 4,	  /* a local key, range or right was wrong */
	UROCE_STATUS_WR_FLUSH_ERR = 5,	  /* not tried: the queue pair was in error before */
	UROCE_STATUS_MW_BIND_ERR = 6,	  /* a memory window could not be bound so */
	UROCE_STATUS_BAD_RESP_ERR = 7,	  /* the peer answered something that was not asked */
	UROCE_STATUS_LOC_ACCESS_ERR = 8,  /* the peer's request did not fit local memory */
	UROCE_STATUS_REM_INV_REQ_ERR = 9, /* NAK invalid request */
	UROCE_STATUS_REM_ACCESS_ERR = 10, /* NAK remote access error: key, range or right */
	UROCE_STATUS_REM_OP_ERR = 11,	  /* NAK remote operational error */
	UROCE_STATUS_RETRY_EXC_ERR = 12,  /* no answer within the retries */
	UROCE_STATUS_RNR_RETRY_EXC_ERR = 13, /* the peer had no receive posted for too long */
	UROCE_STATUS_FATAL_ERR = 19,	     /* a completion queue overflowed */
	UROCE_STATUS_GENERAL_ERR = 21,
};

/* What a send work request asks for. Numbers of enum ibv_wr_opcode. */
enum uroce_wr_opcode {
	UROCE_WR_RDMA_WRITE = 0,
	UROCE_WR_RDMA_WRITE_WITH_IMM = 1,
	UROCE_WR_SEND = 2,
	UROCE_WR_SEND_WITH_IMM = 3,
	UROCE_WR_RDMA_READ = 4,
	UROCE_WR_ATOMIC_CMP_AND_SWP = 5,
	UROCE_WR_ATOMIC_FETCH_AND_ADD = 6,
	UROCE_WR_LOCAL_INV = 7, /* ends a fast registration or the binding of a type 2 window */
	UROCE_WR_BIND_MW = 8,	/* lends a part of a region under a key of its own */
	UROCE_WR_SEND_WITH_INV = 9,
	UROCE_WR_FLUSH = 14,	    /* waits until earlier writes can be seen by all */
	UROCE_WR_ATOMIC_WRITE = 15, /* eight bytes at once */
	UROCE_WR_REG_MR = 32,	    /* gives a fast region its memory, rights and key */
};

/* What a completion completes. Numbers of enum ibv_wc_opcode. */
enum uroce_wc_opcode {
	UROCE_WC_SEND = 0,
	UROCE_WC_RDMA_WRITE = 1,
	UROCE_WC_RDMA_READ = 2,
	UROCE_WC_COMP_SWAP = 3,
	UROCE_WC_FETCH_ADD = 4,
	UROCE_WC_BIND_MW = 5,
	UROCE_WC_LOCAL_INV = 6,
	UROCE_WC_FLUSH = 8,
	UROCE_WC_ATOMIC_WRITE = 9,
	UROCE_WC_REG_MR = 32,
	UROCE_WC_RECV = 128,
	UROCE_WC_RECV_RDMA_WITH_IMM = 129,
};

/* Flags of a completion. Numbers of enum ibv_wc_flags. */
enum uroce_wc_flag {
	UROCE_WC_GRH = 1, /* the first 40 bytes of a datagram's buffer hold its IP header */
	UROCE_WC_WITH_IMM = 2,
	UROCE_WC_WITH_INV = 8,
	UROCE_WC_GRH_IPV6 =
		1 << 16, /* with GRH: of IPv6, all 40; else of IPv4, the last 20. Ours */
};

/* Flags of a send work request. Numbers of enum ibv_send_flags. */
enum uroce_send_flag {
	UROCE_SEND_FENCE = 1,	  /* wait until earlier reads and atomics have their answers */
	UROCE_SEND_SIGNALED = 2,  /* want a completion also when all goes well */
	UROCE_SEND_SOLICITED = 4, /* the receiver's completion may wake a sleeping application */
	UROCE_SEND_INLINE = 8,	  /* take the payload now, out of memory that needs no key */
};

/* What may be done with a memory region, and by a queue pair's peer. Numbers of
 * enum ibv_access_flags. Local reading is always allowed. */
enum uroce_access {
	UROCE_ACCESS_LOCAL_WRITE = 1,
	UROCE_ACCESS_REMOTE_WRITE = 2,
	UROCE_ACCESS_REMOTE_READ = 4,
	UROCE_ACCESS_REMOTE_ATOMIC = 8,
	UROCE_ACCESS_MW_BIND = 16,	 /* windows may be bound to the region */
	UROCE_ACCESS_ZERO_BASED = 32,	 /* addresses count from the start of the region */
	UROCE_ACCESS_FLUSH_GLOBAL = 256, /* a peer may ask that its writes be visible to all */
	/* All that a peer can be allowed. */
	UROCE_ACCESS_REMOTE_ALL = UROCE_ACCESS_REMOTE_WRITE | UROCE_ACCESS_REMOTE_READ |
		UROCE_ACCESS_REMOTE_ATOMIC | UROCE_ACCESS_FLUSH_GLOBAL,
};

/* Kinds of queue pairs. Numbers of enum ibv_qp_type. */
enum uroce_qp_type {
	UROCE_QP_RC = 2, /* reliable connection */
	UROCE_QP_UC = 3, /* unreliable connection */
	UROCE_QP_UD = 4, /* unreliable datagram */
};

/* What a GID speaks. Numbers of enum ibv_gid_type. */
enum uroce_gid_type {
	UROCE_GID_TYPE_ROCE_V2 = 2, /* RoCE over UDP: here all of them */
};

/* Kinds of memory windows. Numbers of enum ibv_mw_type. */
enum uroce_mw_type {
	UROCE_MW_TYPE_1 = 1, /* for every queue pair of its domain; unbound by binding nothing */
	UROCE_MW_TYPE_2 = 2, /* for the queue pair that bound it; invalidated */
};

/* How far a FLUSH reaches. Values of the standard's FETH. */
enum uroce_flush_type {
	UROCE_FLUSH_GLOBAL = 1, /* visible to every processor and device */
};

enum uroce_flush_level {
	UROCE_FLUSH_RANGE = 0, /* the range that is named */
	UROCE_FLUSH_MR = 1,    /* the whole region */
};

/* States of a queue pair. Numbers of enum ibv_qp_state. */
enum uroce_qp_state {
	UROCE_QP_RESET = 0,
	UROCE_QP_INIT = 1,
	UROCE_QP_RTR = 2,
	UROCE_QP_RTS = 3,
	UROCE_QP_SQD = 4,
	UROCE_QP_SQE = 5,
	UROCE_QP_ERR = 6,
};

/* Attributes that a modify names. Numbers of enum ibv_qp_attr_mask. */
enum uroce_qp_attr_mask {
	UROCE_QP_ATTR_STATE = 1 << 0,
	UROCE_QP_ATTR_CUR_STATE = 1 << 1,
	UROCE_QP_ATTR_EN_SQD_ASYNC_NOTIFY = 1 << 2,
	UROCE_QP_ATTR_ACCESS_FLAGS = 1 << 3,
	UROCE_QP_ATTR_PKEY_INDEX = 1 << 4,
	UROCE_QP_ATTR_PORT = 1 << 5,
	UROCE_QP_ATTR_QKEY = 1 << 6,
	UROCE_QP_ATTR_AV = 1 << 7,
	UROCE_QP_ATTR_PATH_MTU = 1 << 8,
	UROCE_QP_ATTR_TIMEOUT = 1 << 9,
	UROCE_QP_ATTR_RETRY_CNT = 1 << 10,
	UROCE_QP_ATTR_RNR_RETRY = 1 << 11,
	UROCE_QP_ATTR_RQ_PSN = 1 << 12,
	UROCE_QP_ATTR_MAX_RD_ATOMIC = 1 << 13,
	UROCE_QP_ATTR_MIN_RNR_TIMER = 1 << 15,
	UROCE_QP_ATTR_SQ_PSN = 1 << 16,
	UROCE_QP_ATTR_MAX_DEST_RD_ATOMIC = 1 << 17,
	UROCE_QP_ATTR_DEST_QPN = 1 << 20,
	UROCE_QP_ATTR_RATE_LIMIT = 1 << 25,
	UROCE_QP_ATTR_DCQCN = 1 << 29,	   /* ours */
	UROCE_QP_ATTR_KEEPALIVE = 1 << 30, /* ours */
};

/* What is done with the invariant CRC of frames. */
enum uroce_icrc_mode {
	UROCE_ICRC_VERIFY, /* drop what is wrong; the default */
	UROCE_ICRC_IGNORE, /* computed when sending, not looked at when receiving */
	UROCE_ICRC_OFF,	   /* neither: the trailer is sent as zero; for captures and experiments */
};

/* Things that happen to a queue pair or completion queue and belong to no work request. */
enum uroce_event_type {
	UROCE_EVENT_CQ_ERR = 0,		    /* a completion queue overflowed */
	UROCE_EVENT_QP_FATAL = 1,	    /* the queue pair went to ERR for a reason of its own */
	UROCE_EVENT_QP_REQ_ERR = 2,	    /* the peer's request was invalid (NAK 0x61 was sent) */
	UROCE_EVENT_QP_ACCESS_ERR = 3,	    /* the peer's request broke access rules (NAK 0x62) */
	UROCE_EVENT_COMM_EST = 4,	    /* the first packet came while still in RTR */
	UROCE_EVENT_SQ_DRAINED = 5,	    /* SQD reached: nothing is outstanding */
	UROCE_EVENT_PORT_ACTIVE = 9,	    /* the port's link came up */
	UROCE_EVENT_PORT_ERR = 10,	    /* the port's link went down */
	UROCE_EVENT_SRQ_LIMIT_REACHED = 15, /* a shared receive queue fell below its limit */
	UROCE_EVENT_QP_LAST_WQE_REACHED = 16, /* in ERR, and the last receive was consumed */
	UROCE_EVENT_CQ_FIRED = 100,	      /* an armed completion queue has something */
};

/*
 * Why a frame was not accepted. X(name, handed_back, text).
 *
 * handed_back: the frame is not this endpoint's business; it goes back to the host application,
 * untouched. Each reason has its own counter, and frames seen == accepted + sum of all reasons.
 */
// clang-format off
#define UROCE_DROP_REASONS(X) \
	X(NOT_OUR_MAC,		true,  "destination MAC is not this port's") \
	X(NOT_IP,		true,  "neither an IPv4 nor an IPv6 frame") \
	X(NOT_UDP,		true,  "IPv4, but not UDP") \
	X(NOT_ROCE_PORT,	true,  "UDP, but not to port 4791") \
	X(LATER_FRAGMENT,	true,  "a later IPv4 fragment; whose it is cannot be told") \
	X(DGID_NOT_OURS,	true,  "RoCE, but the destination address is none of this device's") \
	X(VLAN_OTHER,		true,  "RoCE for an address of this device, but by another VLAN than its own") \
	X(TAGGED_TWICE,		true,  "two VLAN tags, or a provider's") \
	X(ECHO,			false, "this device's own datagram to a group, come back by the wire") \
	X(FRAME_TOO_SHORT,	false, "frame ends inside its headers") \
	X(IP_HEADER,		false, "IP version, header length or addresses are wrong") \
	X(IPV4_CHECKSUM,	false, "IPv4 header checksum is wrong") \
	X(IPV4_FRAGMENT,	false, "first fragment of an IPv4 datagram; RoCE is never fragmented") \
	X(LENGTH_MISMATCH,	false, "IPv4 and UDP lengths do not agree with each other or the frame") \
	X(BTH_VERSION,		false, "BTH transport version is not 0") \
	X(OPCODE_UNKNOWN,	false, "reserved or unknown opcode") \
	X(HEADER_MISSING,	false, "too short for the headers of its opcode, the pad and the ICRC") \
	X(ICRC,			false, "ICRC is wrong: the frame was damaged or built wrongly") \
	X(QPN_UNKNOWN,		false, "no queue pair has this number") \
	X(OPCODE_NOT_FOR_QP,	false, "the opcode's transport is not the queue pair's") \
	X(QP_STATE,		false, "the queue pair's state does not receive this") \
	X(SGID_NOT_PEER,	false, "source address is not the queue pair's peer") \
	X(DGID_NOT_QP,		false, "destination address or VLAN is not the queue pair's own") \
	X(PKEY,			false, "P_Key is of another partition") \
	X(CNP,			false, "congestion notification, for a queue pair without DCQCN") \
	X(QKEY,			false, "Q_Key is not the queue pair's") \
	X(NOT_A_MEMBER,		false, "multicast, and no queue pair here takes this group's datagrams") \
	X(DATAGRAM_LENGTH,	false, "datagram longer than the port's MTU, or padded wrongly") \
	X(RECV_TOO_SHORT,	false, "datagram longer than the receive that is next, 40 bytes included") \
	X(NO_RECV,		false, "no receive was posted, and the service is unreliable") \
	X(MESSAGE_BROKEN,	false, "part of a UC message of which another part was lost") \
	X(MESSAGE_REFUSED,	false, "UC message with a bad length, key or right; all of it is dropped") \
	X(RECV_BAD,		false, "the receive's own memory is bad; it ended in error") \
	X(PSN_AHEAD,		false, "PSN beyond the expected one: something before it was lost") \
	X(READ_NOT_REMEMBERED,	false, "duplicate read or atomic that is no longer remembered") \
	X(RNR,			false, "no receive was posted; answered with RNR NAK") \
	X(REQUEST_REFUSED,	false, "request refused; answered with a NAK") \
	X(GHOST_RESPONSE,	false, "answer to a PSN that is not outstanding") \
	X(RESPONSE_GAP,		false, "an answer before this one is missing") \
	X(RESPONSE_BAD,		false, "the answer does not fit the request") \
	X(RESPONSE_UNPLACED,	false, "the answer could not be placed in local memory")
// clang-format on

#define UROCE_DROP_ENUM(name, handed_back, text) UROCE_DROP_##name,
enum uroce_drop {
	UROCE_ACCEPTED = 0,
	UROCE_DROP_REASONS(UROCE_DROP_ENUM) UROCE_DROP_COUNT,
};
#undef UROCE_DROP_ENUM

#ifdef __cplusplus
}
#endif

#endif
