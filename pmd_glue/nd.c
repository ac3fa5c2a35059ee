/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Neighbour discovery of IPv6 (RFC 4861), with duplicate address detection (RFC 4862), for
 * Ethernet: solicitations and advertisements. Routers are not asked for: gateways are configured.
 */
#include <string.h>

#include "neigh.h"

/* Of the ICMPv6 message. */
enum {
	TYPE = 0,
	CODE = 1,
	CHECKSUM = 2,
	FLAGS = 4,
	TARGET = 8,
	OPTIONS = 24,
	OPTION_BYTES = 8, /* type, length in units of 8, MAC */
};

enum {
	SOLICITATION = 135,
	ADVERTISEMENT = 136,
	SOURCE_MAC = 1,
	TARGET_MAC = 2,
	HOP_LIMIT = 255, /* so that nobody beyond the link can have sent it */
};

#define SOLICITED 0x40000000u
#define OVERRIDE  0x20000000u

static const struct uroce_gid all_nodes = {0xff02ull << 48, 1};
static const struct uroce_gid nobody;

/* ff02::1:ff00:0 and the last 24 bits of the address. */
static struct uroce_gid solicited_node(struct uroce_gid addr)
{
	return (struct uroce_gid){0xff02ull << 48, 0x1ff000000ull | (addr.low & 0xffffff)};
}

/* A message with room for one option; mac: of who shall get it, NULL: by dst's group. */
struct message {
	uint8_t type;
	uint8_t option; /* 0: none */
	uint32_t flags;
	struct uroce_gid src, dst, target;
	const uint8_t *mac;
};

static uint32_t build(const struct uroce_neigh *neigh, const struct message *m, uint8_t *out)
{
	uint8_t *ip = out + UROCE_ETH_BYTES, *icmp = ip + UROCE_IPV6_BYTES;
	uint32_t bytes = OPTIONS + (m->option ? (uint32_t)OPTION_BYTES : 0);

	memset(out, 0, UROCE_ETH_BYTES + UROCE_IPV6_BYTES + bytes);
	if (m->mac)
		memcpy(out + UROCE_ETH_DMAC, m->mac, 6);
	else
		uroce_gid_multicast_mac(m->dst, out + UROCE_ETH_DMAC);
	memcpy(out + UROCE_ETH_SMAC, neigh->mac, 6);
	uroce_store_be16(out + UROCE_ETH_TYPE, UROCE_ETHERTYPE_IPV6);
	ip[UROCE_IPV6_VERSION] = 0x60;
	uroce_store_be16(ip + UROCE_IPV6_PAYLOAD_LEN, (uint16_t)bytes);
	ip[UROCE_IPV6_NEXT_HEADER] = UROCE_IP_PROTOCOL_ICMPV6;
	ip[UROCE_IPV6_HOP_LIMIT] = HOP_LIMIT;
	uroce_gid_store(ip + UROCE_IPV6_SRC, m->src);
	uroce_gid_store(ip + UROCE_IPV6_DST, m->dst);
	icmp[TYPE] = m->type;
	uroce_store_be32(icmp + FLAGS, m->flags);
	uroce_gid_store(icmp + TARGET, m->target);
	if (m->option) {
		icmp[OPTIONS] = m->option;
		icmp[OPTIONS + 1] = 1;
		memcpy(icmp + OPTIONS + 2, neigh->mac, 6);
	}
	uroce_store_be16(icmp + CHECKSUM, (uint16_t)~uroce_icmpv6_sum(ip, bytes));
	return UROCE_ETH_BYTES + UROCE_IPV6_BYTES + bytes;
}

uint32_t uroce_nd_ask(const struct uroce_neigh *neigh, struct uroce_gid addr,
	const struct uroce_gid *src, const uint8_t *mac, uint8_t *out)
{
	/* Who asks for nobody probes, and has no MAC to tell. */
	const struct message m = {.type = SOLICITATION,
		.option = src ? SOURCE_MAC : 0,
		.src = src ? *src : nobody,
		.dst = mac ? addr : solicited_node(addr),
		.target = addr,
		.mac = mac};

	return build(neigh, &m, out);
}

uint32_t uroce_nd_announce(const struct uroce_neigh *neigh, struct uroce_gid addr, uint8_t *out)
{
	const struct message m = {.type = ADVERTISEMENT,
		.option = TARGET_MAC,
		.flags = OVERRIDE,
		.src = addr,
		.dst = all_nodes,
		.target = addr};

	return build(neigh, &m, out);
}

/* The MAC in the option of this type, or NULL. All of them must be sound: *sound. */
static const uint8_t *find_mac(const uint8_t *icmp, uint32_t bytes, uint8_t type, bool *sound)
{
	const uint8_t *mac = NULL;
	uint32_t at = OPTIONS;

	while (at + 2 <= bytes && icmp[at + 1] > 0 && at + icmp[at + 1] * 8u <= bytes) {
		if (icmp[at] == type && icmp[at + 1] == 1)
			mac = icmp + at + 2;
		at += icmp[at + 1] * 8u;
	}
	*sound = at == bytes && !(mac && (mac[0] & 1));
	return mac;
}

/* What a sound message says. */
struct heard {
	struct uroce_gid src, target;
	const uint8_t *from; /* the MAC of its frame */
	const uint8_t *mac;  /* that it tells; NULL: none */
};

/* Somebody asks for an address. */
static uint32_t take_question(
	struct uroce_neigh *neigh, uint64_t now_ns, const struct heard *h, uint8_t *out)
{
	struct uroce_neigh_own *own = uroce_neigh_find_own(neigh, h->target);
	bool probe = uroce_gid_is_unspecified(h->src);
	struct message m = {.type = ADVERTISEMENT,
		.option = TARGET_MAC,
		.flags = OVERRIDE,
		.src = h->target,
		.dst = all_nodes,
		.target = h->target};

	if (!probe && h->mac && !uroce_neigh_find_own(neigh, h->src))
		uroce_neigh_hear(neigh, now_ns, h->src, h->mac);
	/* Who tells no MAC cannot be answered alone. */
	if (!own || (!probe && !h->mac))
		return 0;
	if (probe)
		uroce_neigh_rival(neigh, now_ns, own, h->from);
	if (!probe) {
		m.flags |= SOLICITED;
		m.dst = h->src;
		m.mac = h->mac;
	}
	neigh->counters.answered++;
	return build(neigh, &m, out);
}

/* Somebody says that it has an address. */
static uint32_t take_answer(
	struct uroce_neigh *neigh, uint64_t now_ns, const struct heard *h, uint8_t *out)
{
	struct uroce_neigh_own *own = uroce_neigh_find_own(neigh, h->target);

	if (!h->mac)
		return 0;
	if (!own)
		uroce_neigh_hear(neigh, now_ns, h->target, h->mac);
	else if (uroce_neigh_rival(neigh, now_ns, own, h->mac))
		return uroce_nd_announce(neigh, h->target, out);
	return 0;
}

bool uroce_nd_is(const uint8_t *frame, uint32_t bytes)
{
	const uint8_t *ip = frame + UROCE_ETH_BYTES, *icmp = ip + UROCE_IPV6_BYTES;

	return bytes >= UROCE_ETH_BYTES + UROCE_IPV6_BYTES + 1 &&
		uroce_load_be16(frame + UROCE_ETH_TYPE) == UROCE_ETHERTYPE_IPV6 &&
		ip[UROCE_IPV6_VERSION] >> 4 == 6 &&
		ip[UROCE_IPV6_NEXT_HEADER] == UROCE_IP_PROTOCOL_ICMPV6 &&
		(icmp[TYPE] == SOLICITATION || icmp[TYPE] == ADVERTISEMENT);
}

/* False: it is not as RFC 4861 wants it. */
static bool read_message(const uint8_t *frame, uint32_t bytes, struct heard *h)
{
	const uint8_t *ip = frame + UROCE_ETH_BYTES, *icmp = ip + UROCE_IPV6_BYTES;
	uint32_t length = uroce_load_be16(ip + UROCE_IPV6_PAYLOAD_LEN);
	bool sound;

	if (length < OPTIONS || length % 8 != 0 ||
		length > bytes - UROCE_ETH_BYTES - UROCE_IPV6_BYTES ||
		ip[UROCE_IPV6_HOP_LIMIT] != HOP_LIMIT || icmp[CODE] != 0 ||
		uroce_icmpv6_sum(ip, length) != 0xffff)
		return false;
	h->from = frame + UROCE_ETH_SMAC;
	h->src = uroce_gid_load(ip + UROCE_IPV6_SRC);
	h->target = uroce_gid_load(icmp + TARGET);
	h->mac = find_mac(
		icmp, length, icmp[TYPE] == SOLICITATION ? SOURCE_MAC : TARGET_MAC, &sound);
	return sound && !uroce_gid_is_multicast(h->target);
}

uint32_t uroce_nd_rx(struct uroce_neigh *neigh, uint64_t now_ns, const uint8_t *frame,
	uint32_t bytes, uint8_t *out)
{
	struct heard h;

	if (!read_message(frame, bytes, &h)) {
		neigh->counters.malformed++;
		return 0;
	}
	/* Our own, come back. */
	if (memcmp(h.from, neigh->mac, sizeof(neigh->mac)) == 0)
		return 0;
	if (frame[UROCE_ETH_BYTES + UROCE_IPV6_BYTES + TYPE] == SOLICITATION)
		return take_question(neigh, now_ns, &h, out);
	return take_answer(neigh, now_ns, &h, out);
}
