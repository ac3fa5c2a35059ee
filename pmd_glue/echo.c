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

/* What of a frame's body is the datagram; the rest is Ethernet's. */
struct datagram {
	uint32_t ip_bytes;
	uint32_t bytes; /* from the IP header on */
	bool v6;
};

/* Reads as much as is needed to say whether it is ICMP, whole, and its length. */
static bool read_ip(const struct uroce_neigh_frame *frame, struct datagram *d)
{
	const uint8_t *ip = frame->body;
	uint32_t room = frame->body_bytes;

	*d = (struct datagram){.v6 = frame->type == UROCE_ETHERTYPE_IPV6};
	if (!d->v6 && frame->type != UROCE_ETHERTYPE_IPV4)
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

/* The address of ours that it is sent to, NULL: it is another's. */
static const struct uroce_neigh_own *find_addressee(
	struct uroce_neigh *neigh, const struct uroce_neigh_frame *frame, const struct datagram *d)
{
	struct uroce_hop dst = {.vlan = frame->vlan};

	if (memcmp(frame->eth + UROCE_ETH_DMAC, neigh->mac, sizeof(neigh->mac)) != 0)
		return NULL;
	dst.addr = d->v6 ? uroce_gid_load(frame->body + UROCE_IPV6_DST)
			 : uroce_gid_of_ipv4(uroce_load_be32(frame->body + UROCE_IPV4_DST));
	return uroce_neigh_find_own(neigh, dst);
}

/* Into the slot, if it fits. */
static void answer(const struct uroce_neigh_frame *frame, const struct datagram *d,
	const struct uroce_neigh_own *own, struct uroce_slot *slot)
{
	const uint8_t *in_ip = frame->body;
	uint32_t src = d->v6 ? UROCE_IPV6_SRC : UROCE_IPV4_SRC;
	uint32_t addr = d->v6 ? UROCE_GID_BYTES : 4;
	uint32_t eth_bytes = UROCE_ETH_BYTES + (own->tci ? (uint32_t)UROCE_VLAN_BYTES : 0);
	uint8_t *ip, *icmp;

	if (eth_bytes + d->bytes > slot->capacity_bytes)
		return;
	ip = uroce_eth_put(slot->data, frame->eth + UROCE_ETH_SMAC, frame->eth + UROCE_ETH_DMAC,
		own->tci, frame->type);
	icmp = ip + d->ip_bytes;
	slot->bytes = eth_bytes + d->bytes;
	memcpy(ip, in_ip, d->bytes);
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
	struct uroce_neigh *neigh, const struct uroce_neigh_frame *frame, struct uroce_slot *slot)
{
	const struct uroce_neigh_own *own;
	struct datagram d;
	const uint8_t *icmp;

	if (!read_ip(frame, &d))
		return false;
	own = find_addressee(neigh, frame, &d);
	icmp = frame->body + d.ip_bytes;
	if (!own || icmp[TYPE] != (d.v6 ? REQUEST_6 : REQUEST) || icmp[CODE] != 0)
		return false;
	slot->bytes = 0;
	if (sum_of(frame->body, &d) == 0xffff)
		answer(frame, &d, own, slot);
	return true;
}
