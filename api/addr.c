/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A device's own addresses: from text, and which of them a peer is written to from.
 *
 * An address is one of a VLAN, and the same text in two VLANs is two addresses. What a user would
 * have to write down in vain is made here: the link-local address of each VLAN that has IPv6.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "device.h"
#include "gid_text.h"

enum {
	WRITTEN_MAX = 8, /* the other half of UROCE_LOCAL_ADDRS_MAX is for link-local ones */
	LINK_LOCAL_BITS = 64,
	/* More than all bits of an address: of the right reach before any that is not. */
	REACH_WEIGHT = 256,
};

/* fe80:: */
static const struct uroce_gid link_local = {0xfe80ull << 48, 0};

/* ---- from text ---- */

static bool parse_gid(const char *text, struct uroce_gid *gid, uint32_t *family_bits)
{
	uint8_t bytes[UROCE_GID_BYTES];
	struct in_addr v4;

	if (inet_pton(AF_INET, text, &v4) == 1) {
		*gid = uroce_gid_of_ipv4(ntohl(v4.s_addr));
		*family_bits = 32;
		return true;
	}
	if (inet_pton(AF_INET6, text, bytes) != 1)
		return false;
	*gid = uroce_gid_load(bytes);
	*family_bits = 128;
	/* ::ffff:a.b.c.d is how the API writes IPv4, and no address of IPv6. */
	return !uroce_gid_is_ipv4(*gid);
}

/* A number from min to max, and where it ends; strtoul would take a sign or a blank. */
static bool take_number(const char **text, unsigned long min, unsigned long max, uint16_t *number)
{
	unsigned long value;
	char *end;

	if (**text < '0' || **text > '9')
		return false;
	value = strtoul(*text, &end, 10);
	*text = end;
	*number = (uint16_t)value;
	return value >= min && value <= max;
}

/* "[/length][#vlan[:priority]]", all that may follow. */
static bool parse_rest(const char *text, uint32_t family_bits, struct device_addr *addr)
{
	uint16_t bits, vlan, priority = 0;

	if (*text == '/') {
		text++;
		if (!take_number(&text, 0, family_bits, &bits))
			return false;
		addr->prefix_bits = 128 - family_bits + bits;
	}
	if (*text == '#') {
		text++;
		if (!take_number(&text, 1, UROCE_VLAN_MAX, &vlan))
			return false;
		if (*text == ':') {
			text++;
			if (!take_number(&text, 0, UROCE_SL_MAX, &priority))
				return false;
		}
		addr->tci = (uint16_t)(priority << UROCE_TCI_PRIORITY_SHIFT | vlan);
	}
	return *text == 0;
}

int uroce_addr_parse(const char *text, struct device_addr *addr)
{
	size_t length = strcspn(text, "/#");
	char copy[UROCE_GID_TEXT_BYTES];
	uint32_t family_bits;

	*addr = (struct device_addr){.prefix_bits = 128};
	if (length >= sizeof(copy))
		return -EINVAL;
	memcpy(copy, text, length);
	copy[length] = 0;
	if (!parse_gid(copy, &addr->gid, &family_bits) || uroce_gid_is_unspecified(addr->gid) ||
		!parse_rest(text + length, family_bits, addr))
		return -EINVAL;
	return 0;
}

static int parse_gateway(const char *text, struct device_addr *addr)
{
	struct device_addr gateway;

	if (strpbrk(text, "/#") || uroce_addr_parse(text, &gateway) != 0 ||
		uroce_gid_is_multicast(gateway.gid) || uroce_gid_equal(gateway.gid, addr->gid) ||
		uroce_gid_is_ipv4(gateway.gid) != uroce_gid_is_ipv4(addr->gid))
		return -EINVAL;
	addr->gateway = gateway.gid;
	return 0;
}

/* "address[/length][#vlan[:priority]][@gateway]" */
static int parse_own(const struct uroce_device *dev, char *text, struct device_addr *addr)
{
	char *at = strchr(text, '@');

	if (at)
		*at = 0;
	if (uroce_addr_parse(text, addr) != 0 || uroce_gid_is_multicast(addr->gid) ||
		uroce_addr_find(dev, addr->gid, uroce_addr_vlan(addr)) < dev->num_addrs)
		return -EINVAL;
	if (uroce_gid_equal(addr->gid, link_local) && addr->prefix_bits == 128)
		addr->prefix_bits = LINK_LOCAL_BITS;
	return at ? parse_gateway(at + 1, addr) : 0;
}

int uroce_addr_parse_list(struct uroce_device *dev, const char *text)
{
	char one[3 * UROCE_GID_TEXT_BYTES];

	for (;;) {
		size_t length = strcspn(text, ",");

		if (length >= sizeof(one) || dev->num_addrs == WRITTEN_MAX)
			return -EINVAL;
		memcpy(one, text, length);
		one[length] = 0;
		if (parse_own(dev, one, &dev->addrs[dev->num_addrs]) != 0)
			return -EINVAL;
		dev->num_addrs++;
		if (text[length] == 0)
			return 0;
		text += length + 1;
	}
}

/* ---- what they are ---- */

static bool is_link_local(struct uroce_gid gid)
{
	return gid.high >> 54 == link_local.high >> 54;
}

/* What a router would not let through: link-local addresses, groups of a link or of less. */
static bool stays_on_link(struct uroce_gid gid)
{
	if (!uroce_gid_is_ipv4(gid) && uroce_gid_is_multicast(gid))
		return (gid.high >> 48 & 0xf) <= 2;
	return is_link_local(gid);
}

/* With the MAC's 48 bits in the lower half (RFC 4291, appendix A). */
static struct uroce_gid link_local_of(const uint8_t mac[6])
{
	uint64_t low = (uint64_t)(uroce_load_be24(mac) ^ 0x020000) << 40 | 0xfffeull << 24 |
		uroce_load_be24(mac + 3);

	return (struct uroce_gid){link_local.high, low};
}

static bool has_link_local(const struct uroce_device *dev, uint16_t vlan)
{
	for (uint32_t i = 0; i < dev->num_addrs; i++)
		if (is_link_local(dev->addrs[i].gid) && uroce_addr_vlan(&dev->addrs[i]) == vlan)
			return true;
	return false;
}

void uroce_addr_make_link_locals(struct uroce_device *dev)
{
	const struct uroce_gid made = link_local_of(dev->mac);
	uint32_t written = dev->num_addrs;

	for (uint32_t i = 0; i < written; i++) {
		struct device_addr *addr = &dev->addrs[i];

		if (uroce_gid_equal(addr->gid, link_local))
			addr->gid = made;
		if (!uroce_gid_is_ipv4(addr->gid) && !has_link_local(dev, uroce_addr_vlan(addr)))
			dev->addrs[dev->num_addrs++] = (struct device_addr){
				.gid = made, .prefix_bits = LINK_LOCAL_BITS, .tci = addr->tci};
	}
}

uint32_t uroce_addr_find(const struct uroce_device *dev, struct uroce_gid gid, uint16_t vlan)
{
	uint32_t i = 0;

	while (i < dev->num_addrs &&
		(!uroce_gid_equal(dev->addrs[i].gid, gid) ||
			uroce_addr_vlan(&dev->addrs[i]) != vlan))
		i++;
	return i;
}

const struct device_addr *uroce_addr_own(
	const struct uroce_device *dev, struct uroce_gid gid, uint16_t vlan)
{
	uint32_t at = uroce_addr_find(dev, gid, vlan);

	for (uint32_t i = 0; at == dev->num_addrs && i < dev->num_addrs; i++)
		if (uroce_gid_equal(dev->addrs[i].gid, gid))
			return &dev->addrs[i];
	return at < dev->num_addrs ? &dev->addrs[at] : NULL;
}

/* ---- which of them ---- */

/* How many leading bits two addresses share, at most `most`. */
static uint32_t shared_bits(struct uroce_gid a, struct uroce_gid b, uint32_t most)
{
	uint64_t high = a.high ^ b.high, low = a.low ^ b.low;
	uint32_t bits = high ? (uint32_t)__builtin_clzll(high)
		: low	     ? 64 + (uint32_t)__builtin_clzll(low)
			     : 128;

	return bits < most ? bits : most;
}

static bool is_in_prefix(const struct device_addr *addr, struct uroce_gid gid)
{
	return shared_bits(addr->gid, gid, addr->prefix_bits) == addr->prefix_bits;
}

/* The longest prefix that both are in, and the first of the list; vlan: of it alone, -1: of any. */
static const struct device_addr *best_for(
	const struct uroce_device *dev, struct uroce_gid to, int vlan)
{
	const struct device_addr *best = NULL;
	uint32_t best_fit = 0;

	for (uint32_t i = 0; i < dev->num_addrs; i++) {
		const struct device_addr *addr = &dev->addrs[i];
		uint32_t fit = 1 + shared_bits(addr->gid, to, addr->prefix_bits);

		if (uroce_gid_is_ipv4(addr->gid) != uroce_gid_is_ipv4(to) ||
			(vlan >= 0 && vlan != uroce_addr_vlan(addr)))
			continue;
		if (stays_on_link(addr->gid) == stays_on_link(to))
			fit += REACH_WEIGHT;
		if (fit > best_fit) {
			best = addr;
			best_fit = fit;
		}
	}
	return best;
}

const struct device_addr *uroce_addr_source(
	const struct uroce_device *dev, struct uroce_gid to, uint16_t source)
{
	const struct device_addr *addr;

	if (source == 0)
		return best_for(dev, to, -1);
	if (source > dev->num_addrs)
		return NULL;
	addr = &dev->addrs[source - 1];
	return uroce_gid_is_ipv4(addr->gid) == uroce_gid_is_ipv4(to) ? addr : NULL;
}

uint16_t uroce_addr_answering(
	const struct uroce_device *dev, struct uroce_gid own, uint16_t vlan, struct uroce_gid to)
{
	uint32_t at = uroce_addr_find(dev, own, vlan);
	const struct device_addr *addr;

	if (at < dev->num_addrs)
		return UROCE_SOURCE(at);
	/* It was sent to a group. */
	addr = best_for(dev, to, vlan);
	return addr ? UROCE_SOURCE(addr - dev->addrs) : 0;
}

/* Whether some address says that `to` is in the VLAN that source is in. */
static bool is_near(
	const struct uroce_device *dev, const struct device_addr *source, struct uroce_gid to)
{
	const struct device_addr *addr = best_for(dev, to, uroce_addr_vlan(source));

	return addr && is_in_prefix(addr, to);
}

struct uroce_gid uroce_addr_next_hop(
	const struct uroce_device *dev, const struct device_addr *source, struct uroce_gid to)
{
	if (uroce_gid_is_unspecified(source->gateway) || is_in_prefix(source, to) ||
		is_near(dev, source, to))
		return to;
	return source->gateway;
}

struct uroce_gid uroce_addr_asker(
	const struct uroce_device *dev, const struct device_addr *source, struct uroce_gid hop)
{
	const struct device_addr *best = best_for(dev, hop, uroce_addr_vlan(source));

	return !is_in_prefix(source, hop) && best && is_in_prefix(best, hop) ? best->gid
									     : source->gid;
}
