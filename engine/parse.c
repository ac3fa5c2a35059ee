/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Parsing: every length of a frame is checked here and nowhere else.
 *
 * Layer by layer, each step trusting only what the step before it proved: the bytes that exist,
 * then the IP length within them, the UDP length equal to what IP leaves, the headers of
 * the opcode, the pad and the ICRC within that. What lies behind the datagram (Ethernet padding, a
 * kept FCS) is nobody's payload. Frames that are not RoCE for this endpoint are told apart before
 * anything is judged, since they may be perfectly good for somebody else.
 */
#include "parse.h"

#include "icrc.h"

uint32_t uroce_local_find_group(const struct uroce_local *local, struct uroce_gid addr)
{
	uint32_t i = 0;

	while (i < local->num_groups && !uroce_gid_equal(local->groups[i].addr, addr))
		i++;
	return i;
}

/* An address is one of a VLAN: the same in another is another's. */
static bool is_own_addr(const struct uroce_local *local, struct uroce_gid addr, uint16_t vlan)
{
	for (uint32_t i = 0; i < local->num_addrs; i++)
		if (uroce_gid_equal(local->addrs[i], addr) && local->vlans[i] == vlan)
			return true;
	return false;
}

/* Whether an address of ours is in this VLAN; who has none takes groups from any. */
static bool is_own_vlan(const struct uroce_local *local, uint16_t vlan)
{
	for (uint32_t i = 0; i < local->num_addrs; i++)
		if (local->vlans[i] == vlan)
			return true;
	return local->num_addrs == 0;
}

/* Whether it would be for us in some other VLAN. */
static bool is_own_elsewhere(const struct uroce_local *local, struct uroce_gid addr)
{
	for (uint32_t i = 0; i < local->num_addrs; i++)
		if (uroce_gid_equal(local->addrs[i], addr))
			return true;
	return false;
}

/* Whether the datagram is for an address or a group of ours, by its VLAN; notes the group. */
static enum uroce_drop check_destination(const struct uroce_local *local, struct uroce_pkt *pkt)
{
	uint32_t group;

	if (is_own_addr(local, pkt->dst, uroce_pkt_vlan(pkt)))
		return UROCE_ACCEPTED;
	if (is_own_elsewhere(local, pkt->dst))
		return UROCE_DROP_VLAN_OTHER;
	group = uroce_local_find_group(local, pkt->dst);
	if (group == local->num_groups)
		return UROCE_DROP_DGID_NOT_OURS;
	if (!is_own_vlan(local, uroce_pkt_vlan(pkt)))
		return UROCE_DROP_VLAN_OTHER;
	pkt->group = &local->groups[group];
	return UROCE_ACCEPTED;
}

static bool mac_is_multicast(const uint8_t *mac)
{
	return mac[0] & 1;
}

/* To the port's own MAC, or to a group's; which group is seen later, from the address. */
static bool mac_is_ours(const struct uroce_local *local, const uint8_t *mac)
{
	return local->promiscuous || memcmp(mac, local->mac, 6) == 0 ||
		(local->num_groups > 0 && mac_is_multicast(mac));
}

/* A group's datagram comes to the group's MAC, any other to the port's. */
static bool mac_fits_address(const struct uroce_local *local, const struct uroce_pkt *pkt)
{
	const uint8_t *dmac = pkt->data + UROCE_ETH_DMAC;
	uint8_t mac[6];

	if (local->promiscuous || !mac_is_multicast(dmac))
		return !pkt->group || local->promiscuous;
	uroce_gid_multicast_mac(pkt->dst, mac);
	return pkt->group && memcmp(dmac, mac, sizeof(mac)) == 0;
}

/*
 * A datagram of ours to a group of ours that the wire brings back: the members have theirs already,
 * by the copy that was looped when it was sent. By the address too, as ports may share a MAC.
 */
static bool is_echo(const struct uroce_local *local, const struct uroce_pkt *pkt)
{
	return pkt->group && !(pkt->flags & UROCE_PKT_INNER) &&
		memcmp(pkt->data + UROCE_ETH_SMAC, local->mac, sizeof(local->mac)) == 0 &&
		is_own_addr(local, pkt->src, uroce_pkt_vlan(pkt));
}

/* IPv4, as far as it takes to know whose frame this is. */
static enum uroce_drop parse_ipv4(struct uroce_pkt *pkt, uint32_t room)
{
	const uint8_t *ip = pkt->ip;

	if (room < UROCE_IPV4_BYTES)
		return UROCE_DROP_FRAME_TOO_SHORT;
	if (ip[UROCE_IPV4_VERSION_IHL] >> 4 != 4)
		return UROCE_DROP_IP_HEADER;
	if (ip[UROCE_IPV4_PROTOCOL] != UROCE_IP_PROTOCOL_UDP)
		return UROCE_DROP_NOT_UDP;
	if (uroce_load_be16(ip + UROCE_IPV4_FRAGMENT) & UROCE_IPV4_OFFSET_MASK)
		return UROCE_DROP_LATER_FRAGMENT;
	pkt->ecn = ip[UROCE_IPV4_TOS] & UROCE_ECN_MASK;
	pkt->ip_header_bytes = (uint8_t)((ip[UROCE_IPV4_VERSION_IHL] & 0xf) * 4);
	if (pkt->ip_header_bytes < UROCE_IPV4_BYTES)
		return UROCE_DROP_IP_HEADER;
	pkt->src = uroce_gid_of_ipv4(uroce_load_be32(ip + UROCE_IPV4_SRC));
	pkt->dst = uroce_gid_of_ipv4(uroce_load_be32(ip + UROCE_IPV4_DST));
	return UROCE_ACCEPTED;
}

/* RoCE comes without extension headers: what has one, a fragment's too, is for somebody else. */
static enum uroce_drop parse_ipv6(struct uroce_pkt *pkt, uint32_t room)
{
	const uint8_t *ip = pkt->ip;

	if (room < UROCE_IPV6_BYTES)
		return UROCE_DROP_FRAME_TOO_SHORT;
	if (ip[UROCE_IPV6_VERSION] >> 4 != 6)
		return UROCE_DROP_IP_HEADER;
	if (ip[UROCE_IPV6_NEXT_HEADER] != UROCE_IP_PROTOCOL_UDP)
		return UROCE_DROP_NOT_UDP;
	/* The traffic class is the last four bits of one byte and the first of the next. */
	pkt->ecn = ip[UROCE_IPV6_VERSION + 1] >> 4 & UROCE_ECN_MASK;
	pkt->ip_header_bytes = UROCE_IPV6_BYTES;
	pkt->src = uroce_gid_load(ip + UROCE_IPV6_SRC);
	pkt->dst = uroce_gid_load(ip + UROCE_IPV6_DST);
	/* Ours to say that an address is IPv4's; nobody sends that. */
	if (uroce_gid_is_ipv4(pkt->src) || uroce_gid_is_ipv4(pkt->dst))
		return UROCE_DROP_IP_HEADER;
	return UROCE_ACCEPTED;
}

/*
 * Ethernet and its tag, in the frame or taken off by the port. Returns what they are long, and the
 * type of what follows.
 */
static uint32_t read_tag(struct uroce_pkt *pkt, uint32_t *type)
{
	if (pkt->flags & UROCE_PKT_TAGS_STRIPPED)
		*type = UROCE_ETHERTYPE_SERVICE_VLAN;
	if ((pkt->flags & UROCE_PKT_TAG_STRIPPED) ||
		pkt->bytes < UROCE_ETH_BYTES + UROCE_VLAN_BYTES)
		return UROCE_ETH_BYTES;
	pkt->tci = uroce_load_be16(pkt->data + UROCE_ETH_BYTES);
	*type = uroce_load_be16(pkt->data + UROCE_ETH_BYTES + 2);
	return UROCE_ETH_BYTES + UROCE_VLAN_BYTES;
}

/* What is neither IPv4 nor IPv6. */
static enum uroce_drop judge_type(const struct uroce_pkt *pkt, uint32_t type)
{
	if (type != UROCE_ETHERTYPE_VLAN && type != UROCE_ETHERTYPE_SERVICE_VLAN)
		return UROCE_DROP_NOT_IP;
	if (pkt->bytes < UROCE_ETH_BYTES + UROCE_VLAN_BYTES)
		return UROCE_DROP_FRAME_TOO_SHORT;
	return UROCE_DROP_TAGGED_TWICE;
}

/* On success *room is what there is from the IP header on. */
static enum uroce_drop parse_ip(
	const struct uroce_local *local, struct uroce_pkt *pkt, uint32_t *room)
{
	uint32_t type, eth_bytes = UROCE_ETH_BYTES;

	if (pkt->bytes < UROCE_ETH_BYTES)
		return UROCE_DROP_FRAME_TOO_SHORT;
	if (!mac_is_ours(local, pkt->data + UROCE_ETH_DMAC))
		return UROCE_DROP_NOT_OUR_MAC;
	pkt->group = NULL;
	type = uroce_load_be16(pkt->data + UROCE_ETH_TYPE);
	if ((pkt->flags & (UROCE_PKT_TAG_STRIPPED | UROCE_PKT_TAGS_STRIPPED)) ||
		type == UROCE_ETHERTYPE_VLAN)
		eth_bytes = read_tag(pkt, &type);
	else
		pkt->tci = 0;
	pkt->ip = pkt->data + eth_bytes;
	*room = pkt->bytes - eth_bytes;
	if (type == UROCE_ETHERTYPE_IPV4)
		return parse_ipv4(pkt, *room);
	if (type == UROCE_ETHERTYPE_IPV6)
		return parse_ipv6(pkt, *room);
	return judge_type(pkt, type);
}

/* One's complement sum over pseudo header, UDP header and data; right when it folds to ones. */
static bool udp_checksum_is_wrong(
	const struct uroce_pkt *pkt, const uint8_t *udp, uint32_t udp_bytes)
{
	bool v4 = uroce_gid_is_ipv4(pkt->src);
	uint32_t sum = UROCE_IP_PROTOCOL_UDP + udp_bytes;

	if (uroce_load_be16(udp + UROCE_UDP_CHECKSUM) == 0)
		return false;
	/* Both addresses, which lie side by side. */
	sum = v4 ? uroce_ip_sum(pkt->ip + UROCE_IPV4_SRC, 8, sum)
		 : uroce_ip_sum(pkt->ip + UROCE_IPV6_SRC, 2 * UROCE_GID_BYTES, sum);
	return uroce_ip_fold(uroce_ip_sum(udp, udp_bytes, sum)) != 0xffff;
}

/* By words, and in any order of bytes: all ones are all ones. */
static bool header_sum_is_wrong(const uint8_t *ip, uint32_t bytes)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < bytes; i += 4)
		sum += uroce_load_le32(ip + i);
	sum = (sum >> 32) + (sum & 0xffffffff);
	return uroce_ip_fold((uint32_t)(sum >> 16) + (uint32_t)(sum & 0xffff)) != 0xffff;
}

/* What only IPv4 has: fragments of what is for us, and a checksum of its header. */
static enum uroce_drop check_ipv4(const struct uroce_local *local, const struct uroce_pkt *pkt)
{
	if (uroce_load_be16(pkt->ip + UROCE_IPV4_FRAGMENT) & UROCE_IPV4_MF)
		return UROCE_DROP_IPV4_FRAGMENT;
	if (!(pkt->flags & UROCE_PKT_IPV4_CHECKSUM_OK) && !local->ignore_ipv4_checksum &&
		header_sum_is_wrong(pkt->ip, pkt->ip_header_bytes))
		return UROCE_DROP_IPV4_CHECKSUM;
	return UROCE_ACCEPTED;
}

/* The length that IP says it has, header included. */
static uint32_t ip_total_bytes(const struct uroce_pkt *pkt)
{
	if (pkt->ip[0] >> 4 == 4)
		return uroce_load_be16(pkt->ip + UROCE_IPV4_TOTAL_LEN);
	return UROCE_IPV6_BYTES + (uint32_t)uroce_load_be16(pkt->ip + UROCE_IPV6_PAYLOAD_LEN);
}

/* IP lengths and UDP. On success *udp_bytes is the proven length of the UDP datagram. */
static enum uroce_drop parse_udp(
	const struct uroce_local *local, struct uroce_pkt *pkt, uint32_t room, uint32_t *udp_bytes)
{
	const uint8_t *udp = pkt->ip + pkt->ip_header_bytes;
	enum uroce_drop drop;
	uint32_t total;

	if (room < pkt->ip_header_bytes + (uint32_t)UROCE_UDP_BYTES)
		return UROCE_DROP_FRAME_TOO_SHORT;
	if (uroce_load_be16(udp + UROCE_UDP_DPORT) != UROCE_UDP_PORT)
		return UROCE_DROP_NOT_ROCE_PORT;
	drop = check_destination(local, pkt);
	if (drop != UROCE_ACCEPTED)
		return drop;
	if (!mac_fits_address(local, pkt))
		return UROCE_DROP_NOT_OUR_MAC;
	if (is_echo(local, pkt))
		return UROCE_DROP_ECHO;
	if (pkt->ip[0] >> 4 == 4)
		drop = check_ipv4(local, pkt);
	if (drop != UROCE_ACCEPTED)
		return drop;
	total = ip_total_bytes(pkt);
	*udp_bytes = uroce_load_be16(udp + UROCE_UDP_LEN);
	if (total > room || total != pkt->ip_header_bytes + *udp_bytes)
		return UROCE_DROP_LENGTH_MISMATCH;
	if (*udp_bytes < UROCE_UDP_BYTES + UROCE_BTH_BYTES + UROCE_ICRC_BYTES)
		return UROCE_DROP_HEADER_MISSING;
	pkt->udp_checksum_wrong = udp_checksum_is_wrong(pkt, udp, *udp_bytes);
	return UROCE_ACCEPTED;
}

enum uroce_drop uroce_parse(const struct uroce_local *local, struct uroce_pkt *pkt)
{
	uint32_t room, udp_bytes, headers, body;
	enum uroce_drop drop = parse_ip(local, pkt, &room);
	const uint8_t *bth;

	if (drop == UROCE_ACCEPTED)
		drop = parse_udp(local, pkt, room, &udp_bytes);
	if (drop != UROCE_ACCEPTED)
		return drop;
	bth = pkt->ip + pkt->ip_header_bytes + UROCE_UDP_BYTES;
	pkt->bth = bth;
	if (bth[UROCE_BTH_FLAGS] & UROCE_BTH_TVER_MASK)
		return UROCE_DROP_BTH_VERSION;
	pkt->op = &uroce_opcodes[bth[UROCE_BTH_OPCODE]];
	pkt->dqpn = uroce_load_be24(bth + UROCE_BTH_DQPN);
	pkt->psn = uroce_load_be24(bth + UROCE_BTH_PSN);
	if (!pkt->op->name)
		return UROCE_DROP_OPCODE_UNKNOWN;
	headers = pkt->op->header_bytes;
	body = udp_bytes - UROCE_UDP_BYTES - UROCE_ICRC_BYTES;
	pkt->pad_bytes = bth[UROCE_BTH_FLAGS] >> UROCE_BTH_PAD_SHIFT & UROCE_BTH_PAD_MASK;
	if (body < headers + pkt->pad_bytes)
		return UROCE_DROP_HEADER_MISSING;
	pkt->payload = bth + headers;
	pkt->payload_bytes = body - headers - pkt->pad_bytes;
	pkt->pkey = uroce_load_be16(bth + UROCE_BTH_PKEY);
	pkt->solicited = bth[UROCE_BTH_FLAGS] & UROCE_BTH_SE;
	pkt->ackreq = bth[UROCE_BTH_ACKREQ] & UROCE_BTH_ACKREQ_BIT;
	return UROCE_ACCEPTED;
}

const uint8_t *uroce_pkt_reth(const struct uroce_pkt *pkt)
{
	return pkt->bth + UROCE_BTH_BYTES + (pkt->op->feth ? UROCE_FETH_BYTES : 0);
}

const uint8_t *uroce_pkt_feth(const struct uroce_pkt *pkt)
{
	return pkt->bth + UROCE_BTH_BYTES;
}

const uint8_t *uroce_pkt_deth(const struct uroce_pkt *pkt)
{
	return pkt->bth + UROCE_BTH_BYTES;
}

const uint8_t *uroce_pkt_atomiceth(const struct uroce_pkt *pkt)
{
	return pkt->bth + UROCE_BTH_BYTES;
}

const uint8_t *uroce_pkt_aeth(const struct uroce_pkt *pkt)
{
	return pkt->bth + UROCE_BTH_BYTES;
}

const uint8_t *uroce_pkt_atomicacketh(const struct uroce_pkt *pkt)
{
	return pkt->bth + UROCE_BTH_BYTES + UROCE_AETH_BYTES;
}

/* ImmDt and IETH are always the last extension header, right before the payload. */
uint32_t uroce_pkt_imm(const struct uroce_pkt *pkt)
{
	return uroce_load_be32(pkt->payload - UROCE_IMMDT_BYTES);
}

uint32_t uroce_pkt_ieth(const struct uroce_pkt *pkt)
{
	return uroce_load_be32(pkt->payload - UROCE_IETH_BYTES);
}

bool uroce_pkt_icrc_check(const struct uroce_pkt *pkt)
{
	const uint8_t *rest = pkt->bth + UROCE_BTH_BYTES;
	const uint8_t *trailer = pkt->payload + pkt->payload_bytes + pkt->pad_bytes;

	return uroce_icrc(pkt->ip, pkt->ip_header_bytes, (uint32_t)(trailer - rest)) ==
		uroce_load_le32(trailer);
}
