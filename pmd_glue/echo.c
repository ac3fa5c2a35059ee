/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Pings (RFC 792, RFC 4443) are answered with what they bring, so that who looks for us finds us.
 * Only whole ones to an address of ours, sent to our MAC: nobody is answered who asks a group.
 */
#include <string.h>

#include "neigh.h"

enum {
	TYPE = 0,
	CODE = 1,
	CHECKSUM = 2,
	ICMP_BYTES = 8,
	REQUEST = 8,
	REPLY = 0,
	REQUEST_6 = 128,
	REPLY_6 = 129,
	TTL = 64,
};

/* What of a frame is the datagram; the rest is Ethernet's. */
struct datagram {
	uint32_t ip_bytes;
	uint32_t bytes; /* from the IP header on */
	bool v6;
};

/* Reads as much as is needed to say whether it is ICMP, whole, and its length. */
static bool read_ip(const uint8_t *frame, uint32_t bytes, struct datagram *d)
{
	const uint8_t *ip = frame + UROCE_ETH_BYTES;
	uint32_t room = bytes - UROCE_ETH_BYTES;

	*d = (struct datagram){
		.v6 = uroce_load_be16(frame + UROCE_ETH_TYPE) == UROCE_ETHERTYPE_IPV6};
	if (!d->v6 && uroce_load_be16(frame + UROCE_ETH_TYPE) != UROCE_ETHERTYPE_IPV4)
		return false;
	d->ip_bytes = d->v6 ? UROCE_IPV6_BYTES : UROCE_IPV4_BYTES;
	if (room < d->ip_bytes + ICMP_BYTES)
		return false;
	if (d->v6) {
		d->bytes = UROCE_IPV6_BYTES + uroce_load_be16(ip + UROCE_IPV6_PAYLOAD_LEN);
		return ip[UROCE_IPV6_VERSION] >> 4 == 6 &&
			ip[UROCE_IPV6_NEXT_HEADER] == UROCE_IP_PROTOCOL_ICMPV6 &&
			d->bytes <= room && d->bytes >= d->ip_bytes + ICMP_BYTES;
	}
	d->bytes = uroce_load_be16(ip + UROCE_IPV4_TOTAL_LEN);
	/* Options and fragments are for others. */
	return ip[UROCE_IPV4_VERSION_IHL] == 0x45 &&
		ip[UROCE_IPV4_PROTOCOL] == UROCE_IP_PROTOCOL_ICMP &&
		!(uroce_load_be16(ip + UROCE_IPV4_FRAGMENT) &
			(UROCE_IPV4_MF | UROCE_IPV4_OFFSET_MASK)) &&
		d->bytes <= room && d->bytes >= d->ip_bytes + ICMP_BYTES &&
		uroce_ip_fold(uroce_ip_sum(ip, UROCE_IPV4_BYTES, 0)) == 0xffff;
}

/* Ones when the message is right. */
static uint16_t sum_of(const uint8_t *ip, const struct datagram *d)
{
	uint32_t bytes = d->bytes - d->ip_bytes;

	return d->v6 ? uroce_icmpv6_sum(ip, bytes)
		     : uroce_ip_fold(uroce_ip_sum(ip + d->ip_bytes, bytes, 0));
}

static bool is_to_us(struct uroce_neigh *neigh, const uint8_t *frame)
{
	return memcmp(frame + UROCE_ETH_DMAC, neigh->mac, sizeof(neigh->mac)) == 0 &&
		uroce_neigh_find_own(neigh, uroce_frame_dst(frame));
}

static void answer(const uint8_t *frame, const struct datagram *d, uint8_t *out)
{
	const uint8_t *in_ip = frame + UROCE_ETH_BYTES;
	uint8_t *ip = out + UROCE_ETH_BYTES, *icmp = ip + d->ip_bytes;
	uint32_t src = d->v6 ? UROCE_IPV6_SRC : UROCE_IPV4_SRC;
	uint32_t addr = d->v6 ? UROCE_GID_BYTES : 4;

	memcpy(out, frame, UROCE_ETH_BYTES + d->bytes);
	memcpy(out + UROCE_ETH_DMAC, frame + UROCE_ETH_SMAC, 6);
	memcpy(out + UROCE_ETH_SMAC, frame + UROCE_ETH_DMAC, 6);
	memcpy(ip + src, in_ip + src + addr, addr);
	memcpy(ip + src + addr, in_ip + src, addr);
	icmp[TYPE] = d->v6 ? REPLY_6 : REPLY;
	uroce_store_be16(icmp + CHECKSUM, 0);
	uroce_store_be16(icmp + CHECKSUM, (uint16_t)~sum_of(ip, d));
	if (d->v6) {
		ip[UROCE_IPV6_HOP_LIMIT] = TTL;
		return;
	}
	ip[UROCE_IPV4_TTL] = TTL;
	uroce_store_be16(ip + UROCE_IPV4_CHECKSUM, 0);
	uroce_store_be16(ip + UROCE_IPV4_CHECKSUM,
		(uint16_t)~uroce_ip_fold(uroce_ip_sum(ip, UROCE_IPV4_BYTES, 0)));
}

bool uroce_echo_rx(
	struct uroce_neigh *neigh, const uint8_t *frame, uint32_t bytes, struct uroce_slot *slot)
{
	struct datagram d;
	const uint8_t *icmp;

	if (!read_ip(frame, bytes, &d) || !is_to_us(neigh, frame))
		return false;
	icmp = frame + UROCE_ETH_BYTES + d.ip_bytes;
	if (icmp[TYPE] != (d.v6 ? REQUEST_6 : REQUEST) || icmp[CODE] != 0)
		return false;
	slot->bytes = 0;
	if (sum_of(frame + UROCE_ETH_BYTES, &d) != 0xffff ||
		UROCE_ETH_BYTES + d.bytes > slot->capacity_bytes)
		return true;
	answer(frame, &d, slot->data);
	slot->bytes = UROCE_ETH_BYTES + d.bytes;
	return true;
}
