/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Parsing: every length of a frame is checked here and nowhere else.
 *
 * Layer by layer, each step trusting only what the step before it proved: the bytes that exist,
 * then the IPv4 total length within them, the UDP length equal to what IPv4 leaves, the headers of
 * the opcode, the pad and the ICRC within that. What lies behind the datagram (Ethernet padding, a
 * kept FCS) is nobody's payload. Frames that are not RoCE for this endpoint are told apart before
 * anything is judged, since they may be perfectly good for somebody else.
 */
#include "parse.h"

#include "icrc.h"
#include "wire.h"

/* Whether the datagram is for an address or a group of ours; notes the group. */
static bool is_for_us(const struct uroce_local *local, struct uroce_pkt *pkt)
{
	for (uint32_t i = 0; i < local->num_addrs; i++)
		if (local->addrs[i] == pkt->dst_ip)
			return true;
	for (uint32_t i = 0; i < local->num_groups; i++) {
		if (local->groups[i].addr != pkt->dst_ip)
			continue;
		pkt->group = &local->groups[i];
		return true;
	}
	return false;
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
	uroce_ipv4_multicast_mac(pkt->dst_ip, mac);
	return pkt->group && memcmp(dmac, mac, sizeof(mac)) == 0;
}

/* Ethernet and IPv4, as far as it takes to know whose frame this is. */
static enum uroce_drop parse_ipv4(const struct uroce_local *local, struct uroce_pkt *pkt)
{
	const uint8_t *ip = pkt->data + UROCE_ETH_BYTES;
	uint16_t fragment;

	if (pkt->bytes < UROCE_ETH_BYTES)
		return UROCE_DROP_FRAME_TOO_SHORT;
	if (!mac_is_ours(local, pkt->data + UROCE_ETH_DMAC))
		return UROCE_DROP_NOT_OUR_MAC;
	if (uroce_load_be16(pkt->data + UROCE_ETH_TYPE) != UROCE_ETHERTYPE_IPV4)
		return UROCE_DROP_NOT_IPV4;
	if (pkt->bytes < UROCE_ETH_BYTES + UROCE_IPV4_BYTES)
		return UROCE_DROP_FRAME_TOO_SHORT;
	if (ip[UROCE_IPV4_VERSION_IHL] >> 4 != 4)
		return UROCE_DROP_IPV4_HEADER;
	if (ip[UROCE_IPV4_PROTOCOL] != UROCE_IP_PROTOCOL_UDP)
		return UROCE_DROP_NOT_UDP;
	fragment = uroce_load_be16(ip + UROCE_IPV4_FRAGMENT);
	if (fragment & UROCE_IPV4_OFFSET_MASK)
		return UROCE_DROP_LATER_FRAGMENT;
	pkt->ip = ip;
	pkt->group = NULL;
	pkt->ip_header_bytes = (uint8_t)((ip[UROCE_IPV4_VERSION_IHL] & 0xf) * 4);
	if (pkt->ip_header_bytes < UROCE_IPV4_BYTES)
		return UROCE_DROP_IPV4_HEADER;
	pkt->src_ip = uroce_load_be32(ip + UROCE_IPV4_SRC);
	pkt->dst_ip = uroce_load_be32(ip + UROCE_IPV4_DST);
	return UROCE_ACCEPTED;
}

/* One's complement sum over pseudo header, UDP header and data; right when it folds to ones. */
static bool udp_checksum_is_wrong(
	const struct uroce_pkt *pkt, const uint8_t *udp, uint32_t udp_bytes)
{
	uint32_t sum = UROCE_IP_PROTOCOL_UDP + udp_bytes;

	if (uroce_load_be16(udp + UROCE_UDP_CHECKSUM) == 0)
		return false;
	sum = uroce_ip_sum(pkt->ip + UROCE_IPV4_SRC, 8, sum);
	sum = uroce_ip_sum(udp, udp_bytes, sum);
	if (udp_bytes & 1)
		sum += (uint32_t)udp[udp_bytes - 1] << 8;
	return uroce_ip_fold(sum) != 0xffff;
}

/* IPv4 lengths and UDP. On success *udp_bytes is the proven length of the UDP datagram. */
static enum uroce_drop parse_udp(
	const struct uroce_local *local, struct uroce_pkt *pkt, uint32_t *udp_bytes)
{
	const uint8_t *ip = pkt->ip;
	const uint8_t *udp = ip + pkt->ip_header_bytes;
	uint32_t room = pkt->bytes - UROCE_ETH_BYTES;
	uint32_t total = uroce_load_be16(ip + UROCE_IPV4_TOTAL_LEN);

	if (room < pkt->ip_header_bytes + (uint32_t)UROCE_UDP_BYTES)
		return UROCE_DROP_FRAME_TOO_SHORT;
	if (uroce_load_be16(udp + UROCE_UDP_DPORT) != UROCE_UDP_PORT)
		return UROCE_DROP_NOT_ROCE_PORT;
	if (!is_for_us(local, pkt))
		return UROCE_DROP_DGID_NOT_OURS;
	if (!mac_fits_address(local, pkt))
		return UROCE_DROP_NOT_OUR_MAC;
	if (uroce_load_be16(ip + UROCE_IPV4_FRAGMENT) & UROCE_IPV4_MF)
		return UROCE_DROP_IPV4_FRAGMENT;
	if (!(pkt->flags & UROCE_PKT_IPV4_CHECKSUM_OK) && !local->ignore_ipv4_checksum &&
		uroce_ip_fold(uroce_ip_sum(ip, pkt->ip_header_bytes, 0)) != 0xffff)
		return UROCE_DROP_IPV4_CHECKSUM;
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
	enum uroce_drop drop = parse_ipv4(local, pkt);
	uint32_t udp_bytes, headers, body;
	const uint8_t *bth;

	if (drop == UROCE_ACCEPTED)
		drop = parse_udp(local, pkt, &udp_bytes);
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

	return uroce_icrc_ipv4(pkt->ip, pkt->ip_header_bytes, (uint32_t)(trailer - rest)) ==
		uroce_load_le32(trailer);
}
