/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Addresses from text, and which of a device's own addresses a peer is written to from.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "device.h"
#include "gid_text.h"

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

int uroce_addr_parse(const char *text, struct device_addr *addr)
{
	const char *slash = strchr(text, '/');
	size_t length = slash ? (size_t)(slash - text) : strlen(text);
	char copy[UROCE_GID_TEXT_BYTES], *end;
	uint32_t family_bits;
	unsigned long bits;

	if (length >= sizeof(copy))
		return -EINVAL;
	memcpy(copy, text, length);
	copy[length] = 0;
	if (!parse_gid(copy, &addr->gid, &family_bits) || uroce_gid_is_unspecified(addr->gid))
		return -EINVAL;
	addr->prefix_bits = 128;
	if (!slash)
		return 0;
	/* strtoul would take a sign or a blank. */
	if (slash[1] < '0' || slash[1] > '9')
		return -EINVAL;
	bits = strtoul(slash + 1, &end, 10);
	if (bits > family_bits || *end)
		return -EINVAL;
	addr->prefix_bits = 128 - family_bits + (uint32_t)bits;
	return 0;
}

/* "address[/length][@gateway]" */
static int parse_own(const struct uroce_device *dev, char *text, struct device_addr *addr)
{
	char *at = strchr(text, '@');
	struct device_addr gateway = {0};

	if (at)
		*at = 0;
	if (uroce_addr_parse(text, addr) != 0 || uroce_gid_is_multicast(addr->gid) ||
		uroce_addr_is_own(dev, addr->gid))
		return -EINVAL;
	if (!at)
		return 0;
	if (strchr(at + 1, '/') || uroce_addr_parse(at + 1, &gateway) != 0 ||
		uroce_gid_is_multicast(gateway.gid) || uroce_gid_equal(gateway.gid, addr->gid) ||
		uroce_gid_is_ipv4(gateway.gid) != uroce_gid_is_ipv4(addr->gid))
		return -EINVAL;
	addr->gateway = gateway.gid;
	return 0;
}

int uroce_addr_parse_list(struct uroce_device *dev, const char *text)
{
	char one[3 * UROCE_GID_TEXT_BYTES];

	for (;;) {
		size_t length = strcspn(text, ",");

		if (length >= sizeof(one) || dev->num_addrs == UROCE_LOCAL_ADDRS_MAX)
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

uint32_t uroce_addr_find(const struct uroce_device *dev, struct uroce_gid gid)
{
	uint32_t i = 0;

	while (i < dev->num_addrs && !uroce_gid_equal(dev->addrs[i].gid, gid))
		i++;
	return i;
}

bool uroce_addr_is_own(const struct uroce_device *dev, struct uroce_gid gid)
{
	return uroce_addr_find(dev, gid) < dev->num_addrs;
}

/* How many leading bits two addresses share, at most `most`. */
static uint32_t shared_bits(struct uroce_gid a, struct uroce_gid b, uint32_t most)
{
	uint64_t high = a.high ^ b.high, low = a.low ^ b.low;
	uint32_t bits = high ? (uint32_t)__builtin_clzll(high)
		: low	     ? 64 + (uint32_t)__builtin_clzll(low)
			     : 128;

	return bits < most ? bits : most;
}

static const struct device_addr *source_for(const struct uroce_device *dev, struct uroce_gid to)
{
	const struct device_addr *best = NULL;
	uint32_t best_bits = 0;

	for (uint32_t i = 0; i < dev->num_addrs; i++) {
		const struct device_addr *addr = &dev->addrs[i];
		/* The longest prefix that both are in, and the first of the list. */
		uint32_t bits = 1 + shared_bits(addr->gid, to, addr->prefix_bits);

		if (uroce_gid_is_ipv4(addr->gid) != uroce_gid_is_ipv4(to) || bits <= best_bits)
			continue;
		best = addr;
		best_bits = bits;
	}
	return best;
}

const struct device_addr *uroce_addr_source(
	const struct uroce_device *dev, struct uroce_gid to, uint16_t source)
{
	const struct device_addr *addr;

	if (source == 0)
		return source_for(dev, to);
	if (source > dev->num_addrs)
		return NULL;
	addr = &dev->addrs[source - 1];
	return uroce_gid_is_ipv4(addr->gid) == uroce_gid_is_ipv4(to) ? addr : NULL;
}

struct uroce_gid uroce_addr_next_hop(const struct device_addr *source, struct uroce_gid to)
{
	if (uroce_gid_is_unspecified(source->gateway) ||
		shared_bits(source->gid, to, source->prefix_bits) == source->prefix_bits)
		return to;
	return source->gateway;
}
