/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Where things lie in a frame with one VLAN tag or none: Ethernet, IPv4 or IPv6, UDP, BTH. What the
 * engine needs of this itself is in wire.h.
 *
 * For frames that were decoded before, or built by the engine: nothing is checked here.
 */
#ifndef UROCE_PCAP_FRAME_H
#define UROCE_PCAP_FRAME_H

#include "engine/icrc.h"
#include "engine/wire.h"

/* Of its VLAN tag; 0: it has none. */
static inline uint16_t uroce_frame_tci(const uint8_t *frame)
{
	return uroce_frame_eth_bytes(frame) > UROCE_ETH_BYTES
		? uroce_load_be16(frame + UROCE_ETH_BYTES)
		: 0;
}

static inline const uint8_t *uroce_frame_ip(const uint8_t *frame)
{
	return frame + uroce_frame_eth_bytes(frame);
}

/* IPv4's can be longer; then uroce_frame_ip_bytes() and what is built upon it do not hold. */
static inline bool uroce_frame_has_options(const uint8_t *frame)
{
	return !uroce_frame_is_ipv6(frame) && *uroce_frame_ip(frame) != 0x45;
}

/* One past the ICRC; what is behind is Ethernet's pad. */
static inline uint32_t uroce_frame_end(const uint8_t *frame)
{
	const uint8_t *ip = uroce_frame_ip(frame);
	uint32_t eth_bytes = uroce_frame_eth_bytes(frame);

	if (uroce_frame_is_ipv6(frame))
		return eth_bytes + UROCE_IPV6_BYTES + uroce_load_be16(ip + UROCE_IPV6_PAYLOAD_LEN);
	return eth_bytes + uroce_load_be16(ip + UROCE_IPV4_TOTAL_LEN);
}

/* Whether it was marked on its way: Congestion Experienced. */
static inline bool uroce_frame_is_marked(const uint8_t *frame)
{
	const uint8_t *ip = uroce_frame_ip(frame);
	uint8_t ecn =
		uroce_frame_is_ipv6(frame) ? ip[UROCE_IPV6_VERSION + 1] >> 4 : ip[UROCE_IPV4_TOS];

	return (ecn & UROCE_ECN_MASK) == UROCE_ECN_CE;
}

/* Writes the ICRC that follows from all else, into a frame with a whole BTH and no options. */
static inline void uroce_frame_seal(uint8_t *frame)
{
	uint8_t *icrc = frame + uroce_frame_end(frame) - UROCE_ICRC_BYTES;
	const uint8_t *rest = uroce_frame_bth(frame) + UROCE_BTH_BYTES;

	uroce_store_le32(icrc,
		uroce_icrc(uroce_frame_ip(frame), uroce_frame_ip_bytes(frame),
			(uint32_t)(icrc - rest)));
}

#endif
