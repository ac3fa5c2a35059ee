/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * From bytes to a packet view, or to the reason why not.
 *
 * A view points into the frame and copies nothing; it is valid as long as the frame is. Parsing
 * changes nothing but the view: no frame byte, no state.
 */
#ifndef UROCE_PARSE_H
#define UROCE_PARSE_H

#include <stdbool.h>
#include <stdint.h>

#include "gid.h"
#include "opcode.h"
#include "status.h"
#include "wire.h"

/* What the caller already knows of a frame; or'ed into uroce_pkt.flags. */
enum uroce_pkt_flag {
	UROCE_PKT_IPV4_CHECKSUM_OK = 1, /* the port has verified the IPv4 header checksum */
	UROCE_PKT_INNER = 2,		/* did not come from the wire now: looped or handed over */
	UROCE_PKT_TAG_STRIPPED = 4,	/* the port has taken the VLAN tag off: it is in tci */
	UROCE_PKT_TAGS_STRIPPED = 8,	/* the port has taken two tags off */
};

/* A frame coming in. The caller sets data, bytes, flags and what they name; parsing the rest. */
struct uroce_pkt {
	const uint8_t *data; /* Ethernet header; contiguous */
	uint32_t bytes;	     /* of the frame; padding and FCS behind the datagram are allowed */
	uint16_t flags;
	uint16_t tci; /* of the VLAN tag; 0: there is none */
	/* After uroce_core_rx: this frame belongs to the core `owner`; give it to that one. */
	bool handed_over;
	uint8_t owner;
	/* After uroce_core_rx: UROCE_ACCEPTED, or why not. */
	enum uroce_drop drop;

	uint32_t dqpn;
	uint32_t psn;
	const struct uroce_opcode *op;
	const uint8_t *ip;
	const uint8_t *bth;
	const uint8_t *payload;
	uint32_t payload_bytes; /* without the pad */
	struct uroce_gid src, dst;
	const struct uroce_local_group *group; /* of a multicast frame, else NULL */
	uint16_t pkey;
	uint8_t ip_header_bytes;
	uint8_t pad_bytes;
	uint8_t ecn; /* of the IP header: UROCE_ECN_CE if it was marked on its way */
	bool solicited;
	bool ackreq;
	bool udp_checksum_wrong;
};

enum {
	UROCE_LOCAL_ADDRS_MAX = 16,
	UROCE_LOCAL_GROUPS_MAX = 32,
};

/* A multicast group whose datagrams are taken, by the core `owner`. */
struct uroce_local_group {
	struct uroce_gid addr;
	uint32_t owner;
};

/* Who we are on a port: what a frame must be addressed to. */
struct uroce_local {
	uint8_t mac[6];
	bool promiscuous; /* take frames to any MAC: replays, and ports that share an address */
	bool ignore_ipv4_checksum;
	uint16_t vlans[UROCE_LOCAL_ADDRS_MAX]; /* of each address; 0: its frames have no tag */
	struct uroce_gid addrs[UROCE_LOCAL_ADDRS_MAX];
	uint32_t num_addrs;
	struct uroce_local_group groups[UROCE_LOCAL_GROUPS_MAX];
	uint32_t num_groups;
};

/* The index of the group with this address; num_groups: there is none. */
uint32_t uroce_local_find_group(const struct uroce_local *local, struct uroce_gid addr);

/*
 * Fills the view of pkt. Returns UROCE_ACCEPTED, or why the frame is not RoCE for this endpoint
 * (a reason that hands it back) or is malformed. Does not look at the ICRC.
 */
enum uroce_drop uroce_parse(const struct uroce_local *local, struct uroce_pkt *pkt);

/* The VLAN that it came by; 0: none, as a tag with a priority alone is none. */
static inline uint16_t uroce_pkt_vlan(const struct uroce_pkt *pkt)
{
	return pkt->tci & UROCE_TCI_VLAN_MASK;
}

/* Where an extension header of pkt starts; the opcode row says which there are. */
const uint8_t *uroce_pkt_reth(const struct uroce_pkt *pkt);
const uint8_t *uroce_pkt_atomiceth(const struct uroce_pkt *pkt);
const uint8_t *uroce_pkt_aeth(const struct uroce_pkt *pkt);
const uint8_t *uroce_pkt_atomicacketh(const struct uroce_pkt *pkt);
const uint8_t *uroce_pkt_deth(const struct uroce_pkt *pkt);
const uint8_t *uroce_pkt_feth(const struct uroce_pkt *pkt);
/* The immediate value, in host order. */
uint32_t uroce_pkt_imm(const struct uroce_pkt *pkt);
/* The key to invalidate. */
uint32_t uroce_pkt_ieth(const struct uroce_pkt *pkt);

/* Whether the ICRC trailer is right. Reads the whole frame. */
bool uroce_pkt_icrc_check(const struct uroce_pkt *pkt);

#endif
