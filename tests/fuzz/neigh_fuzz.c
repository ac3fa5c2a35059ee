/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Fuzzing the table of neighbours: what anybody on the link may send, while addresses are held and
 * let go and time passes.
 *
 * Lengths and checksums are right unless the input says otherwise; frames have the VLAN tag of the
 * step. Whatever comes, an answer fits its buffer, comes from our MAC and goes by the VLAN that was
 * asked in, only what somebody held is learnt, what the application set stays, and nobody makes the
 * table grow.
 */
#include "input.h"

#include <string.h>

#include "neigh.h"
#include "wire.h"

enum {
	STEPS_MAX = 300,
	ADDRS = 8, /* of others; the first is set by the application */
	VLANS = 2,
	NUM_OURS = 3,
	NUM_STEPS = 7,
	IP = UROCE_ETH_BYTES,
	ROOM = 256,
};

static const uint8_t our_mac[6] = {2, 0, 0, 0, 0, 1}, static_mac[6] = {2, 0, 0, 0, 0, 9};
static const struct uroce_gid ours[NUM_OURS] = {
	{0, 0xffffc0000201}, {0x20010db8ull << 32, 1}, {0xfe80ull << 48, 1}};
/* Of all three: without a tag, and in VLAN 100 with priority 3. */
static const uint16_t tcis[VLANS] = {0, 0x6064};
/* Ours with and without our priority, a priority alone, another VLAN; what is no tag. */
static const uint8_t *const tags[] = {NULL, NULL, (const uint8_t *)"\x81\x00\x60\x64",
	(const uint8_t *)"\x81\x00\x00\x64", (const uint8_t *)"\x81\x00\xe0\x00",
	(const uint8_t *)"\x81\x00\x00\x65", (const uint8_t *)"\x88\xa8\x00\x64"};

struct table {
	struct uroce_neigh neigh;
	struct input in;
	uint64_t now_ns;
	const uint8_t *tag; /* that frames are given with; NULL: none */
	uint32_t held[VLANS][ADDRS];
};

static struct uroce_gid other(uint32_t i)
{
	return i % 2 ? (struct uroce_gid){0x20010db8ull << 32, 0x100 + i}
		     : uroce_gid_of_ipv4(0xc0000280 + i);
}

/* One of ours, one of others, or none at all. */
static struct uroce_gid take_addr(struct input *in)
{
	uint32_t how = take(in, 1);

	if (how < 0x60)
		return ours[how % 3];
	if (how < 0xf0)
		return other(how % ADDRS);
	return (struct uroce_gid){(uint64_t)take(in, 4) << 32, take(in, 4)};
}

static void take_mac(struct input *in, uint8_t mac[6])
{
	static const uint8_t some[][6] = {{2, 0, 0, 0, 0, 1}, {2, 0, 0, 0, 0, 2},
		{0xff, 0xff, 0xff, 0xff, 0xff, 0xff}, {0x33, 0x33, 0xff, 0, 0, 1}, {0}};
	uint32_t how = take(in, 1);

	memcpy(mac, some[how % 5], 6);
	if (how & 0x80)
		take_bytes(in, mac, 6);
}

static struct uroce_hop hop(uint32_t i, uint32_t vlan)
{
	return (struct uroce_hop){other(i), tcis[vlan] & UROCE_TCI_VLAN_MASK};
}

/* Of the tag that frames have now; VLANS: of none that is ours. */
static uint32_t vlan_of_tag(const struct table *t)
{
	uint32_t vlan = t->tag ? uroce_load_be16(t->tag + 2) & UROCE_TCI_VLAN_MASK : 0;

	if (t->tag && uroce_load_be16(t->tag) != UROCE_ETHERTYPE_VLAN)
		return VLANS;
	return vlan == 0 ? 0 : vlan == 100 ? 1 : VLANS;
}

/* The VLAN of what we say, with our priority. */
static uint32_t vlan_of(const struct uroce_slot *slot)
{
	if (uroce_frame_eth_bytes(slot->data) == UROCE_ETH_BYTES)
		return 0;
	FUZZ_MUST(uroce_load_be16(slot->data + UROCE_ETH_BYTES) == tcis[1]);
	return 1;
}

static void check(struct table *t, const struct uroce_slot *slot)
{
	uint8_t mac[6];

	FUZZ_MUST(slot->bytes <= slot->capacity_bytes);
	FUZZ_MUST(slot->bytes == 0 || memcmp(slot->data + UROCE_ETH_SMAC, our_mac, 6) == 0);
	FUZZ_MUST(t->neigh.num <= VLANS * ADDRS);
	FUZZ_MUST(uroce_neigh_find(&t->neigh, hop(0, 0), mac) == 1);
	FUZZ_MUST(memcmp(mac, static_mac, 6) == 0);
	/* A group's MAC is nobody's. */
	for (uint32_t i = 1; i < VLANS * ADDRS; i++)
		if (uroce_neigh_find(&t->neigh, hop(i % ADDRS, i / ADDRS), mac) > 0)
			FUZZ_MUST(!(mac[0] & 1));
}

/* From a copy of exactly that size, so that a step over its edge is seen. */
static void give(struct table *t, const uint8_t *frame, uint32_t bytes)
{
	static uint8_t out[ROOM];
	struct uroce_slot slot = {.data = out, .capacity_bytes = UROCE_NEIGH_FRAME_BYTES};
	uint32_t macs = bytes < UROCE_ETH_TYPE ? bytes : UROCE_ETH_TYPE;
	uint32_t tag = t->tag && bytes > macs ? UROCE_VLAN_BYTES : 0;
	uint8_t *copy = malloc(bytes + tag ? bytes + tag : 1);

	FUZZ_MUST(copy);
	memcpy(copy, frame, macs);
	if (tag)
		memcpy(copy + macs, t->tag, tag);
	memcpy(copy + macs + tag, frame + macs, bytes - macs);
	uroce_neigh_rx(&t->neigh, t->now_ns, copy, bytes + tag, &slot);
	free(copy);
	check(t, &slot);
	/* What has a tag in itself besides is told by the tag that is the first. */
	FUZZ_MUST(slot.bytes == 0 || !tag || vlan_of(&slot) == vlan_of_tag(t));
}

static void give_arp(struct table *t)
{
	uint8_t f[60] = {0}, *arp = f + UROCE_ETH_BYTES;
	struct input *in = &t->in;
	uint32_t damage = take(in, 1);

	take_mac(in, f);
	take_mac(in, f + UROCE_ETH_SMAC);
	uroce_store_be16(f + UROCE_ETH_TYPE, UROCE_ETHERTYPE_ARP);
	uroce_store_be32(arp, 0x00010800);
	uroce_store_be16(arp + 4, 0x0604);
	uroce_store_be16(arp + 6, (uint16_t)(1 + take(in, 1) % 3));
	take_mac(in, arp + 8);
	uroce_store_be32(arp + 14, uroce_gid_ipv4(take_addr(in)));
	uroce_store_be32(arp + 24, uroce_gid_ipv4(take_addr(in)));
	if (damage & 0x80)
		f[damage % sizeof(f)] ^= (uint8_t)take(in, 1);
	give(t, f, damage & 0x40 ? damage % 61 : sizeof(f));
}

/* ICMPv6 of any type, with what follows from the input. */
static void give_icmp6(struct table *t)
{
	uint8_t f[ROOM] = {0}, *ip = f + IP, *icmp = ip + UROCE_IPV6_BYTES;
	struct input *in = &t->in;
	static const uint8_t types[] = {135, 136, 128, 133};
	uint32_t how = take(in, 1), bytes = how & 0x40 ? take(in, 1) % 200 : 24 + how % 4 * 8;

	take_mac(in, f);
	take_mac(in, f + UROCE_ETH_SMAC);
	uroce_store_be16(f + UROCE_ETH_TYPE, UROCE_ETHERTYPE_IPV6);
	ip[0] = 0x60;
	uroce_store_be16(ip + UROCE_IPV6_PAYLOAD_LEN, (uint16_t)bytes);
	ip[UROCE_IPV6_NEXT_HEADER] = UROCE_IP_PROTOCOL_ICMPV6;
	ip[UROCE_IPV6_HOP_LIMIT] = how & 0x20 ? (uint8_t)take(in, 1) : 255;
	uroce_gid_store(ip + UROCE_IPV6_SRC, take_addr(in));
	uroce_gid_store(ip + UROCE_IPV6_DST, take_addr(in));
	icmp[0] = types[take(in, 1) % 4];
	uroce_gid_store(icmp + 8, take_addr(in));
	if (bytes > 24) {
		take_bytes(in, icmp + 24, 2);
		take_mac(in, icmp + 26);
	}
	uroce_store_be16(icmp + 2, (uint16_t)~uroce_icmpv6_sum(ip, bytes));
	if (how & 0x80)
		f[take(in, 1) % (IP + 40 + bytes)] ^= (uint8_t)take(in, 1);
	give(t, f, IP + 40 + bytes - (how & 0x10 ? take(in, 1) % (40 + bytes) : 0));
}

static void give_raw(struct table *t)
{
	static const uint16_t types[] = {
		UROCE_ETHERTYPE_ARP, UROCE_ETHERTYPE_IPV4, UROCE_ETHERTYPE_IPV6, 0x8100};
	uint8_t f[ROOM];
	uint32_t bytes = take(&t->in, 1), type = types[take(&t->in, 1) % 4];

	take_bytes(&t->in, f, bytes);
	memcpy(f, our_mac, 6);
	uroce_store_be16(f + UROCE_ETH_TYPE, (uint16_t)type);
	give(t, f, bytes);
}

static void hold_or_release(struct table *t)
{
	uint32_t i = take(&t->in, 1), which = i % ADDRS, vlan = vlan_of_tag(t) % VLANS;

	if (i & 0x80 && t->held[vlan][which] > 0) {
		uroce_neigh_release(&t->neigh, hop(which, vlan), t->now_ns);
		t->held[vlan][which]--;
	} else {
		FUZZ_MUST(uroce_neigh_hold(&t->neigh, hop(which, vlan), ours[which % 2]) == 0);
		t->held[vlan][which]++;
	}
}

/* Up to 2^41 ns: half an hour, in which all that may be forgotten is. */
static void pass_time(struct table *t)
{
	static uint8_t out[ROOM];
	struct uroce_slot slot = {.data = out, .capacity_bytes = UROCE_NEIGH_FRAME_BYTES};

	t->now_ns += 1ull << take(&t->in, 1) % 42;
	for (uint32_t i = 0; uroce_neigh_tx(&t->neigh, t->now_ns, &slot) > 0; i++) {
		FUZZ_MUST(i < 2 * VLANS * ADDRS + 32);
		vlan_of(&slot);
		check(t, &slot);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	static struct table t;
	static void (*const steps[NUM_STEPS])(struct table * t) = {
		give_raw, give_arp, give_arp, give_icmp6, give_icmp6, hold_or_release, pass_time};

	memset(&t, 0, sizeof(t));
	t.in = (struct input){data, bytes};
	t.now_ns = 1000000000;
	uroce_neigh_init(&t.neigh);
	uroce_neigh_start(&t.neigh, our_mac);
	for (uint32_t i = 0; i < NUM_OURS * VLANS; i++)
		uroce_neigh_add_own(&t.neigh, ours[i % NUM_OURS], tcis[i / NUM_OURS]);
	FUZZ_MUST(uroce_neigh_set(&t.neigh, hop(0, 0), static_mac) == 0);
	for (int i = 0; i < STEPS_MAX && t.in.left > 0; i++) {
		uint32_t what = take(&t.in, 1);

		t.tag = tags[what / NUM_STEPS % (sizeof(tags) / sizeof(tags[0]))];
		steps[what % NUM_STEPS](&t);
	}
	uroce_neigh_fini(&t.neigh);
	return 0;
}
