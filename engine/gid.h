/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * GIDs: an IPv6 address, or an IPv4 one as ::ffff:a.b.c.d (InfiniBand annex A17.4.1).
 *
 * All addresses of ends are kept so, whichever IP carries them: one comparison for both.
 */
#ifndef UROCE_GID_H
#define UROCE_GID_H

#include <stdbool.h>

#include "bytes.h"

enum {
	UROCE_GID_BYTES = 16
};

/* The two halves of the 16 bytes, in host order. */
struct uroce_gid {
	uint64_t high, low;
};

static const uint64_t uroce_gid_mapped = 0xffffull << 32;

static inline struct uroce_gid uroce_gid_load(const uint8_t bytes[UROCE_GID_BYTES])
{
	return (struct uroce_gid){uroce_load_be64(bytes), uroce_load_be64(bytes + 8)};
}

static inline void uroce_gid_store(uint8_t bytes[UROCE_GID_BYTES], struct uroce_gid gid)
{
	uroce_store_be64(bytes, gid.high);
	uroce_store_be64(bytes + 8, gid.low);
}

/* ip: in host order. */
static inline struct uroce_gid uroce_gid_of_ipv4(uint32_t ip)
{
	return (struct uroce_gid){0, uroce_gid_mapped | ip};
}

static inline bool uroce_gid_is_ipv4(struct uroce_gid gid)
{
	return gid.high == 0 && gid.low >> 32 == uroce_gid_mapped >> 32;
}

/* Of one that is_ipv4, in host order. */
static inline uint32_t uroce_gid_ipv4(struct uroce_gid gid)
{
	return (uint32_t)gid.low;
}

static inline bool uroce_gid_equal(struct uroce_gid a, struct uroce_gid b)
{
	return a.high == b.high && a.low == b.low;
}

/* No address at all: ::, or 0.0.0.0. */
static inline bool uroce_gid_is_unspecified(struct uroce_gid gid)
{
	return gid.high == 0 && (gid.low == 0 || gid.low == uroce_gid_mapped);
}

static inline bool uroce_gid_is_multicast(struct uroce_gid gid)
{
	if (uroce_gid_is_ipv4(gid))
		return uroce_gid_ipv4(gid) >> 28 == 0xe;
	return gid.high >> 56 == 0xff;
}

/* RFC 1112: 01:00:5e and the low 23 bits; RFC 2464: 33:33 and the low 32. */
static inline void uroce_gid_multicast_mac(struct uroce_gid gid, uint8_t mac[6])
{
	if (uroce_gid_is_ipv4(gid)) {
		uroce_store_be24(mac, 0x01005e);
		uroce_store_be24(mac + 3, uroce_gid_ipv4(gid) & 0x7fffff);
	} else {
		mac[0] = mac[1] = 0x33;
		uroce_store_be32(mac + 2, (uint32_t)gid.low);
	}
}

#endif
