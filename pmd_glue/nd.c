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
	const struct uroce_neigh_own *own; /* whose VLAN it goes by */
	uint8_t type;
	uint8_t option; /* 0: none */
	uint32_t flags;
	struct uroce_gid src, dst, target;
	const uint8_t *mac;
};

static uint32_t build(const struct uroce_neigh *neigh, const struct message *m, uint8_t *out)
{
	uint32_t bytes = OPTIONS + (m->option ? (uint32_t)OPTION_BYTES : 0);
	uint8_t group[6], *ip, *icmp;

	memset(out, 0, UROCE_NEIGH_FRAME_BYTES);
	uroce_gid_multicast_mac(m->dst, group);
	ip = uroce_eth_put(
		out, m->mac ? m->mac : group, neigh->mac, m->own->tci, UROCE_ETHERTYPE_IPV6);
	icmp = ip + UROCE_IPV6_BYTES;
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
	return (uint32_t)(icmp - out) + bytes;
}

uint32_t uroce_nd_ask(const struct uroce_neigh *neigh, const struct uroce_neigh_own *own,
	struct uroce_gid addr, const uint8_t *mac, uint8_t *out)
{
	const struct message m = {.own = own,
		.type = SOLICITATION,
		.option = SOURCE_MAC,
		.src = own->addr,
		.dst = mac ? addr : solicited_node(addr),
		.target = addr,
		.mac = mac};

	return build(neigh, &m, out);
}

uint32_t uroce_nd_probe(
	const struct uroce_neigh *neigh, const struct uroce_neigh_own *own, uint8_t *out)
{
	/* From nobody yet, who has no MAC to tell. */
	const struct message m = {.own = own,
		.type = SOLICITATION,
		.src = nobody,
		.dst = solicited_node(own->addr),
		.target = own->addr};

	return build(neigh, &m, out);
}

/* Says to all nodes that the address is ours. */
static struct message announcement(const struct uroce_neigh_own *own)
{
	return (struct message){.own = own,
		.type = ADVERTISEMENT,
		.option = TARGET_MAC,
		.flags = OVERRIDE,
		.src = own->addr,
		.dst = all_nodes,
		.target = own->addr};
}

uint32_t uroce_nd_announce(
	const struct uroce_neigh *neigh, const struct uroce_neigh_own *own, uint8_t *out)
{
	const struct message m = announcement(own);

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
	struct uroce_hop src, target;
	const uint8_t *from; /* the MAC of its frame */
	const uint8_t *mac;  /* that it tells; NULL: none */
	uint32_t flags;
};

/* Somebody asks for an address. */
static uint32_t take_question(
	struct uroce_neigh *neigh, uint64_t now_ns, const struct heard *h, uint8_t *out)
{
	struct uroce_neigh_own *own = uroce_neigh_find_own(neigh, h->target);
	bool probe = uroce_gid_is_unspecified(h->src.addr);
	struct message m;

	if (!probe && h->mac && !uroce_neigh_find_own(neigh, h->src))
		uroce_neigh_hear(neigh, now_ns, h->src, h->mac);
	/* Who tells no MAC cannot be answered alone. */
	if (!own || (!probe && !h->mac))
		return 0;
	if (probe)
		uroce_neigh_rival(neigh, now_ns, own, h->from);
	if (own->duplicate)
		return 0;
	m = announcement(own);
	if (!probe) {
		m.flags |= SOLICITED;
		m.dst = h->src.addr;
		m.mac = h->mac;
	}
	neigh->counters.answered++;
	return build(neigh, &m, out);
}

/* Without the override flag it may be a proxy that speaks, whose MAC replaces no other (7.2.5). */
static void hear_answer(struct uroce_neigh *neigh, uint64_t now_ns, const struct heard *h)
{
	uint8_t known[6];

	if (!(h->flags & OVERRIDE) && uroce_neigh_look(neigh, h->target, known) &&
		memcmp(known, h->mac, sizeof(known)) != 0)
		uroce_neigh_doubt(neigh, h->target, h->mac);
	else
		uroce_neigh_hear(neigh, now_ns, h->target, h->mac);
}

/* Somebody says that it has an address. */
static uint32_t take_answer(
	struct uroce_neigh *neigh, uint64_t now_ns, const struct heard *h, uint8_t *out)
{
	struct uroce_neigh_own *own = uroce_neigh_find_own(neigh, h->target);

	/* Who is asked alone need not say its MAC (RFC 4861 4.4). */
	if (!h->mac && !own && (h->flags & SOLICITED))
		uroce_neigh_confirm(neigh, now_ns, h->target);
	if (!h->mac)
		return 0;
	if (!own)
		hear_answer(neigh, now_ns, h);
	else if (uroce_neigh_rival(neigh, now_ns, own, h->mac))
		return uroce_nd_announce(neigh, own, out);
	return 0;
}

bool uroce_nd_is(const struct uroce_neigh_frame *frame)
{
	const uint8_t *ip = frame->body, *icmp = ip + UROCE_IPV6_BYTES;

	return frame->type == UROCE_ETHERTYPE_IPV6 && frame->body_bytes >= UROCE_IPV6_BYTES + 1 &&
		ip[UROCE_IPV6_VERSION] >> 4 == 6 &&
		ip[UROCE_IPV6_NEXT_HEADER] == UROCE_IP_PROTOCOL_ICMPV6 &&
		(icmp[TYPE] == SOLICITATION || icmp[TYPE] == ADVERTISEMENT);
}

/* False: it is not as RFC 4861 wants it. */
static bool read_message(const struct uroce_neigh_frame *frame, struct heard *h)
{
	const uint8_t *ip = frame->body, *icmp = ip + UROCE_IPV6_BYTES;
	uint32_t length = uroce_load_be16(ip + UROCE_IPV6_PAYLOAD_LEN);
	bool sound;

	if (length < OPTIONS || length % 8 != 0 || length > frame->body_bytes - UROCE_IPV6_BYTES ||
		ip[UROCE_IPV6_HOP_LIMIT] != HOP_LIMIT || icmp[CODE] != 0 ||
		uroce_icmpv6_sum(ip, length) != 0xffff)
		return false;
	h->flags = icmp[TYPE] == ADVERTISEMENT ? uroce_load_be32(icmp + FLAGS) : 0;
	h->from = frame->eth + UROCE_ETH_SMAC;
	h->src = (struct uroce_hop){uroce_gid_load(ip + UROCE_IPV6_SRC), frame->vlan};
	h->target = (struct uroce_hop){uroce_gid_load(icmp + TARGET), frame->vlan};
	h->mac = find_mac(
		icmp, length, icmp[TYPE] == SOLICITATION ? SOURCE_MAC : TARGET_MAC, &sound);
	return sound && !uroce_gid_is_multicast(h->target.addr);
}

uint32_t uroce_nd_rx(struct uroce_neigh *neigh, uint64_t now_ns,
	const struct uroce_neigh_frame *frame, uint8_t *out)
{
	struct heard h;

	if (!read_message(frame, &h)) {
		neigh->counters.malformed++;
		return 0;
	}
	/* Our own, come back. */
	if (memcmp(h.from, neigh->mac, sizeof(neigh->mac)) == 0)
		return 0;
	if (frame->body[UROCE_IPV6_BYTES + TYPE] == SOLICITATION)
		return take_question(neigh, now_ns, &h, out);
	return take_answer(neigh, now_ns, &h, out);
}
