/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ARP (RFC 826), with address conflict detection (RFC 5227), for IPv4 over Ethernet.
 *
 * A question for an address of ours is answered to who asked. What others say of themselves, in
 * questions too, refreshes what is known of them.
 */
#include <string.h>

#include "neigh.h"

/* Behind Ethernet and its tag. */
enum {
	HARDWARE = 0,
	PROTOCOL = 2,
	LENGTHS = 4,
	OPERATION = 6,
	SENDER_MAC = 8,
	SENDER_IP = 14,
	TARGET_MAC = 18,
	TARGET_IP = 24,
	ARP_BYTES = 28,
	FRAME_BYTES = 60, /* the shortest that Ethernet carries, without FCS */
};

enum {
	ETHERNET = 1,
	MAC_6_IP_4 = 0x0604,
	REQUEST = 1,
	REPLY = 2,
};

static const uint8_t to_all[6] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff};
static const uint8_t nobody[6];

/* own: whose VLAN it goes by; sender_ip may be nobody's. */
static uint32_t build(const struct uroce_neigh *neigh, const struct uroce_neigh_own *own,
	uint16_t operation, uint32_t sender_ip, const uint8_t *target_mac, uint32_t target_ip,
	uint8_t *out)
{
	uint8_t *arp;

	memset(out, 0, FRAME_BYTES);
	arp = uroce_eth_put(
		out, target_mac ? target_mac : to_all, neigh->mac, own->tci, UROCE_ETHERTYPE_ARP);
	uroce_store_be16(arp + HARDWARE, ETHERNET);
	uroce_store_be16(arp + PROTOCOL, UROCE_ETHERTYPE_IPV4);
	uroce_store_be16(arp + LENGTHS, MAC_6_IP_4);
	uroce_store_be16(arp + OPERATION, operation);
	memcpy(arp + SENDER_MAC, neigh->mac, 6);
	uroce_store_be32(arp + SENDER_IP, sender_ip);
	if (target_mac)
		memcpy(arp + TARGET_MAC, target_mac, 6);
	uroce_store_be32(arp + TARGET_IP, target_ip);
	return FRAME_BYTES;
}

uint32_t uroce_arp_ask(const struct uroce_neigh *neigh, const struct uroce_neigh_own *own,
	struct uroce_gid addr, const uint8_t *mac, uint8_t *out)
{
	return build(
		neigh, own, REQUEST, uroce_gid_ipv4(own->addr), mac, uroce_gid_ipv4(addr), out);
}

uint32_t uroce_arp_probe(
	const struct uroce_neigh *neigh, const struct uroce_neigh_own *own, uint8_t *out)
{
	return build(neigh, own, REQUEST, 0, NULL, uroce_gid_ipv4(own->addr), out);
}

uint32_t uroce_arp_announce(
	const struct uroce_neigh *neigh, const struct uroce_neigh_own *own, uint8_t *out)
{
	uint32_t addr = uroce_gid_ipv4(own->addr);

	return build(neigh, own, REQUEST, addr, NULL, addr, out);
}

static bool is_sound(const struct uroce_neigh_frame *frame)
{
	const uint8_t *arp = frame->body;
	uint16_t operation;

	if (frame->body_bytes < ARP_BYTES)
		return false;
	operation = uroce_load_be16(arp + OPERATION);
	return uroce_load_be16(arp + HARDWARE) == ETHERNET &&
		uroce_load_be16(arp + PROTOCOL) == UROCE_ETHERTYPE_IPV4 &&
		uroce_load_be16(arp + LENGTHS) == MAC_6_IP_4 &&
		(operation == REQUEST || operation == REPLY) && !(arp[SENDER_MAC] & 1) &&
		memcmp(arp + SENDER_MAC, nobody, sizeof(nobody)) != 0;
}

/* An address that the message names, on the link that it came by. */
static struct uroce_hop hop_at(const struct uroce_neigh_frame *frame, uint32_t at)
{
	return (struct uroce_hop){
		uroce_gid_of_ipv4(uroce_load_be32(frame->body + at)), frame->vlan};
}

/* What the sender says of itself. */
static uint32_t hear(struct uroce_neigh *neigh, uint64_t now_ns,
	const struct uroce_neigh_frame *frame, uint8_t *out)
{
	struct uroce_hop sender = hop_at(frame, SENDER_IP);
	struct uroce_neigh_own *own = uroce_neigh_find_own(neigh, sender);
	const uint8_t *mac = frame->body + SENDER_MAC;

	if (own && uroce_neigh_rival(neigh, now_ns, own, mac))
		return uroce_arp_announce(neigh, own, out);
	/* A probe (RFC 5227) says nothing yet. */
	if (!own && !uroce_gid_is_unspecified(sender.addr))
		uroce_neigh_hear(neigh, now_ns, sender, mac);
	return 0;
}

uint32_t uroce_arp_rx(struct uroce_neigh *neigh, uint64_t now_ns,
	const struct uroce_neigh_frame *frame, uint8_t *out)
{
	const uint8_t *arp = frame->body;
	struct uroce_neigh_own *own;
	uint32_t defence;

	if (!is_sound(frame)) {
		neigh->counters.malformed++;
		return 0;
	}
	/* Our own, come back. */
	if (memcmp(arp + SENDER_MAC, neigh->mac, sizeof(neigh->mac)) == 0)
		return 0;
	defence = hear(neigh, now_ns, frame, out);
	own = uroce_neigh_find_own(neigh, hop_at(frame, TARGET_IP));
	/* Somebody else is about to take it as well, while we are. */
	if (own && uroce_load_be32(arp + SENDER_IP) == 0 && uroce_neigh_is_probing(own))
		uroce_neigh_rival(neigh, now_ns, own, arp + SENDER_MAC);
	if (defence > 0 || uroce_load_be16(arp + OPERATION) != REQUEST || !own || own->duplicate)
		return defence;
	neigh->counters.answered++;
	return build(neigh, own, REPLY, uroce_gid_ipv4(own->addr), arp + SENDER_MAC,
		uroce_load_be32(arp + SENDER_IP), out);
}
