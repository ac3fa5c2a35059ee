/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Every header that RoCEv2 uses: sizes, field offsets, flag bits.
 *
 * A frame is Ethernet 14, perhaps a VLAN tag of 4, IPv4 20 (or more, with options) or IPv6 40, UDP
 * 8, BTH 12, extension headers by opcode, payload, pad to four bytes, ICRC 4. Which ones follow is
 * the opcode table's business; where a field lies inside its header is this file's. Offsets are
 * relative to the start of the header that the name begins with.
 */
#ifndef UROCE_WIRE_H
#define UROCE_WIRE_H

#include <stdbool.h>

#include "gid.h"

enum {
	UROCE_ETH_BYTES = 14,
	UROCE_VLAN_BYTES = 4,
	UROCE_IPV4_BYTES = 20,
	UROCE_IPV4_BYTES_MAX = 60,
	UROCE_IPV6_BYTES = 40,
	UROCE_UDP_BYTES = 8,
	UROCE_BTH_BYTES = 12,
	UROCE_DETH_BYTES = 8,
	UROCE_RETH_BYTES = 16,
	UROCE_AETH_BYTES = 4,
	UROCE_ATOMICETH_BYTES = 28,
	UROCE_ATOMICACKETH_BYTES = 8,
	UROCE_IMMDT_BYTES = 4,
	UROCE_IETH_BYTES = 4,
	UROCE_FETH_BYTES = 4,
	UROCE_ICRC_BYTES = 4,
	/* Ethernet to the end of the BTH: what is the same in every packet of a queue pair. The
	 * shortest, and the longest, with a tag. */
	UROCE_TEMPLATE_BYTES_MIN =
		UROCE_ETH_BYTES + UROCE_IPV4_BYTES + UROCE_UDP_BYTES + UROCE_BTH_BYTES,
	UROCE_TEMPLATE_BYTES_MAX = UROCE_ETH_BYTES + UROCE_VLAN_BYTES + UROCE_IPV6_BYTES +
		UROCE_UDP_BYTES + UROCE_BTH_BYTES,
	/* The longest frame around a payload of one path MTU: WRITE ONLY with immediate. */
	UROCE_OVERHEAD_BYTES_MAX =
		UROCE_TEMPLATE_BYTES_MAX + UROCE_RETH_BYTES + UROCE_IMMDT_BYTES + UROCE_ICRC_BYTES,
	/* The same without Ethernet and tag, by IP version: what an IP MTU must have room for. */
	UROCE_IPV6_OVERHEAD_BYTES_MAX =
		UROCE_OVERHEAD_BYTES_MAX - UROCE_ETH_BYTES - UROCE_VLAN_BYTES,
	UROCE_IPV4_OVERHEAD_BYTES_MAX =
		UROCE_IPV6_OVERHEAD_BYTES_MAX - UROCE_IPV6_BYTES + UROCE_IPV4_BYTES,
};

/* Ethernet */
enum {
	UROCE_ETH_DMAC = 0,
	UROCE_ETH_SMAC = 6,
	UROCE_ETH_TYPE = 12
};
enum {
	UROCE_ETHERTYPE_IPV4 = 0x0800,
	UROCE_ETHERTYPE_ARP = 0x0806,
	UROCE_ETHERTYPE_VLAN = 0x8100,
	UROCE_ETHERTYPE_IPV6 = 0x86dd,
	UROCE_ETHERTYPE_SERVICE_VLAN = 0x88a8
};

/*
 * The 16 bits of a VLAN tag (IEEE 802.1Q, "tag control information"): the VLAN, a bit for frames
 * that may be dropped first, the priority. VLAN 0 is none: a tag that has a priority alone.
 */
enum {
	UROCE_TCI_VLAN_MASK = 0xfff,
	UROCE_TCI_PRIORITY_SHIFT = 13
};

/* IPv4 */
enum {
	UROCE_IPV4_VERSION_IHL = 0,
	UROCE_IPV4_TOS = 1,
	UROCE_IPV4_TOTAL_LEN = 2,
	UROCE_IPV4_ID = 4,
	UROCE_IPV4_FRAGMENT = 6,
	UROCE_IPV4_TTL = 8,
	UROCE_IPV4_PROTOCOL = 9,
	UROCE_IPV4_CHECKSUM = 10,
	UROCE_IPV4_SRC = 12,
	UROCE_IPV4_DST = 16,
};
enum {
	UROCE_IPV4_DF = 0x4000,
	UROCE_IPV4_MF = 0x2000,
	UROCE_IPV4_OFFSET_MASK = 0x1fff
};

/* IPv6 */
enum {
	UROCE_IPV6_VERSION = 0, /* 4 bits; then 8 of traffic class and 20 of flow label */
	UROCE_IPV6_PAYLOAD_LEN = 4,
	UROCE_IPV6_NEXT_HEADER = 6,
	UROCE_IPV6_HOP_LIMIT = 7,
	UROCE_IPV6_SRC = 8,
	UROCE_IPV6_DST = 24,
};
enum {
	UROCE_IPV6_FLOW_LABEL_MASK = 0xfffff
};
enum {
	UROCE_IP_PROTOCOL_ICMP = 1,
	UROCE_IP_PROTOCOL_UDP = 17,
	UROCE_IP_PROTOCOL_ICMPV6 = 58
};

/* The last two bits of IPv4's TOS and of IPv6's traffic class (RFC 3168). */
enum {
	UROCE_ECN_MASK = 3,
	UROCE_ECN_ECT0 = 2, /* may be marked instead of dropped */
	UROCE_ECN_CE = 3    /* was */
};

/* UDP */
enum {
	UROCE_UDP_SPORT = 0,
	UROCE_UDP_DPORT = 2,
	UROCE_UDP_LEN = 4,
	UROCE_UDP_CHECKSUM = 6
};
enum {
	UROCE_UDP_PORT = 4791
};

/* BTH (InfiniBand 9.2) */
enum {
	UROCE_BTH_OPCODE = 0,
	UROCE_BTH_FLAGS = 1,
	UROCE_BTH_PKEY = 2,
	UROCE_BTH_ECN = 4,
	UROCE_BTH_DQPN = 5,
	UROCE_BTH_ACKREQ = 8,
	UROCE_BTH_PSN = 9,
};
enum {
	UROCE_BTH_SE = 0x80,
	UROCE_BTH_MIGREQ = 0x40,
	UROCE_BTH_PAD_SHIFT = 4,
	UROCE_BTH_PAD_MASK = 0x3,
	UROCE_BTH_TVER_MASK = 0x0f,
	UROCE_BTH_BECN = 0x40,
	UROCE_BTH_ACKREQ_BIT = 0x80,
};

/* RETH, AtomicETH, AETH, DETH */
enum {
	UROCE_RETH_VA = 0,
	UROCE_RETH_RKEY = 8,
	UROCE_RETH_DMALEN = 12
};
enum {
	UROCE_ATOMICETH_VA = 0,
	UROCE_ATOMICETH_RKEY = 8,
	UROCE_ATOMICETH_SWAP_ADD = 12,
	UROCE_ATOMICETH_COMPARE = 20,
};
enum {
	UROCE_AETH_SYNDROME = 0,
	UROCE_AETH_MSN = 1
};
enum {
	UROCE_DETH_QKEY = 0,
	UROCE_DETH_SQPN = 5
};

/* FETH (annex A19): what to flush, and how far. */
enum {
	UROCE_FETH_TYPE_MASK = 0x0f,
	UROCE_FETH_LEVEL_SHIFT = 4,
	UROCE_FETH_LEVEL_MASK = 0x3,
};

/* AETH syndromes (InfiniBand 9.7.5.1): kind in bits 6-5, value in bits 4-0. */
enum {
	UROCE_SYNDROME_KIND_MASK = 0xe0,
	UROCE_SYNDROME_VALUE_MASK = 0x1f,
	UROCE_SYNDROME_ACK = 0x00,
	UROCE_SYNDROME_RNR = 0x20,
	UROCE_SYNDROME_NAK = 0x60,
	UROCE_SYNDROME_ACK_NO_CREDITS = 0x1f,
	UROCE_SYNDROME_NAK_PSN_SEQUENCE = 0x60,
	UROCE_SYNDROME_NAK_INVALID_REQUEST = 0x61,
	UROCE_SYNDROME_NAK_REMOTE_ACCESS = 0x62,
	UROCE_SYNDROME_NAK_REMOTE_OPERATIONAL = 0x63,
	UROCE_SYNDROME_NAK_INVALID_RD = 0x64,
};

#define UROCE_PKEY_DEFAULT   0xffffu
#define UROCE_PKEY_BASE_MASK 0x7fffu
#define UROCE_QPN_MASK	     0xffffffu
#define UROCE_QPN_MULTICAST  0xffffffu
#define UROCE_QPN_GSI	     1u /* general services: connection management */
#define UROCE_QKEY_GSI	     0x80010000u
/* A Q_Key with this bit in a work request stands for the queue pair's own (C10-15). */
#define UROCE_QKEY_CONTROLLED 0x80000000u
/* What stands before the payload in a datagram's receive buffer. */
#define UROCE_GRH_BYTES		40u
#define UROCE_MESSAGE_BYTES_MAX (1u << 31)

/* What a frame begins with: Ethernet, with its tag if it has one. */
static inline uint32_t uroce_frame_eth_bytes(const uint8_t *frame)
{
	return uroce_load_be16(frame + UROCE_ETH_TYPE) == UROCE_ETHERTYPE_VLAN
		? UROCE_ETH_BYTES + UROCE_VLAN_BYTES
		: UROCE_ETH_BYTES;
}

/* The bytes of the IP header of a frame that was built here: without options. */
static inline uint32_t uroce_frame_ip_bytes(const uint8_t *frame)
{
	return frame[uroce_frame_eth_bytes(frame) - 2] == UROCE_ETHERTYPE_IPV6 >> 8
		? UROCE_IPV6_BYTES
		: UROCE_IPV4_BYTES;
}

static inline bool uroce_frame_is_ipv6(const uint8_t *frame)
{
	return uroce_frame_ip_bytes(frame) == UROCE_IPV6_BYTES;
}

static inline struct uroce_gid uroce_frame_src(const uint8_t *frame)
{
	const uint8_t *ip = frame + uroce_frame_eth_bytes(frame);

	return uroce_frame_is_ipv6(frame) ? uroce_gid_load(ip + UROCE_IPV6_SRC)
					  : uroce_gid_of_ipv4(uroce_load_be32(ip + UROCE_IPV4_SRC));
}

static inline struct uroce_gid uroce_frame_dst(const uint8_t *frame)
{
	const uint8_t *ip = frame + uroce_frame_eth_bytes(frame);

	return uroce_frame_is_ipv6(frame) ? uroce_gid_load(ip + UROCE_IPV6_DST)
					  : uroce_gid_of_ipv4(uroce_load_be32(ip + UROCE_IPV4_DST));
}

/* Its BTH. */
static inline const uint8_t *uroce_frame_bth(const uint8_t *frame)
{
	return frame + uroce_frame_eth_bytes(frame) + uroce_frame_ip_bytes(frame) + UROCE_UDP_BYTES;
}

/* Ethernet and, unless tci is 0, a tag. Returns where the rest goes. */
static inline uint8_t *uroce_eth_put(
	uint8_t *frame, const uint8_t dmac[6], const uint8_t smac[6], uint16_t tci, uint16_t type)
{
	uint8_t *end = frame + UROCE_ETH_BYTES;

	memcpy(frame + UROCE_ETH_DMAC, dmac, 6);
	memcpy(frame + UROCE_ETH_SMAC, smac, 6);
	if (tci) {
		uroce_store_be16(frame + UROCE_ETH_TYPE, UROCE_ETHERTYPE_VLAN);
		uroce_store_be16(frame + UROCE_ETH_BYTES, tci);
		end += UROCE_VLAN_BYTES;
	}
	uroce_store_be16(end - 2, type);
	return end;
}

/* The one's complement sum of n bytes, a last odd one filled up; not yet folded nor inverted. */
static inline uint32_t uroce_ip_sum(const uint8_t *p, uint32_t n, uint32_t sum)
{
	for (uint32_t i = 0; i + 1 < n; i += 2)
		sum += uroce_load_be16(p + i);
	return n & 1 ? sum + ((uint32_t)p[n - 1] << 8) : sum;
}

static inline uint16_t uroce_ip_fold(uint32_t sum)
{
	sum = (sum >> 16) + (sum & 0xffff);
	sum = (sum >> 16) + (sum & 0xffff);
	return (uint16_t)sum;
}

#endif
