/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The header of the RDMA-CM IP service: a version, an IP version, a port, two addresses.
 *
 * An IPv4 address is the last four of sixteen bytes. What stands in the other twelve is not looked
 * at, as the annex leaves it open.
 */
#include "cma.h"

enum {
	VERSION = 0,
	IP_VERSION = 1, /* upper four bits */
	PORT = 2,
	SRC = 4,
	DST = 20,
	IPV4_AT = 12,
};

static struct uroce_gid load(const uint8_t *p, bool ipv4)
{
	return ipv4 ? uroce_gid_of_ipv4(uroce_load_be32(p + IPV4_AT)) : uroce_gid_load(p);
}

static void store(uint8_t *p, struct uroce_gid gid, bool ipv4)
{
	if (ipv4)
		uroce_store_be32(p + IPV4_AT, uroce_gid_ipv4(gid));
	else
		uroce_gid_store(p, gid);
}

bool uroce_cma_parse(const uint8_t bytes[UROCE_CMA_BYTES], struct uroce_cma *cma)
{
	uint32_t ip_version = bytes[IP_VERSION] >> 4;

	if (bytes[VERSION] != 0 || (ip_version != 4 && ip_version != 6))
		return false;
	*cma = (struct uroce_cma){
		.src = load(bytes + SRC, ip_version == 4),
		.dst = load(bytes + DST, ip_version == 4),
		.src_port = uroce_load_be16(bytes + PORT),
	};
	return true;
}

void uroce_cma_build(uint8_t bytes[UROCE_CMA_BYTES], const struct uroce_cma *cma)
{
	bool ipv4 = uroce_gid_is_ipv4(cma->dst);

	memset(bytes, 0, UROCE_CMA_BYTES);
	bytes[IP_VERSION] = ipv4 ? 0x40 : 0x60;
	uroce_store_be16(bytes + PORT, cma->src_port);
	store(bytes + SRC, cma->src, ipv4);
	store(bytes + DST, cma->dst, ipv4);
}
