/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ICRC over ISA-L's CRC-32.
 *
 * ISA-L's crc32_gzip_refl takes the CRC so far and continues, so the masked headers and the rest
 * are two calls and nothing is copied but at most 80 header bytes. The eight bytes of ones in
 * front are a constant, so their CRC is one too.
 */
#include "icrc.h"

#include <isa-l/crc.h>

#include "wire.h"

/* CRC-32 of eight bytes of 0xff. */
#define CRC_OF_EIGHT_ONES 0x2144df1cu

/* Fields that routers may change. */
static void mask_ip(uint8_t *ip)
{
	if (ip[0] >> 4 == 4) {
		ip[UROCE_IPV4_TOS] = 0xff;
		ip[UROCE_IPV4_TTL] = 0xff;
		uroce_store_be16(ip + UROCE_IPV4_CHECKSUM, 0xffff);
	} else {
		ip[UROCE_IPV6_VERSION] |= 0x0f;
		memset(ip + UROCE_IPV6_VERSION + 1, 0xff, 3);
		ip[UROCE_IPV6_HOP_LIMIT] = 0xff;
	}
}

uint32_t uroce_icrc(const uint8_t *ip, uint32_t ip_header_bytes, uint32_t rest_bytes)
{
	uint8_t head[UROCE_IPV4_BYTES_MAX + UROCE_UDP_BYTES + UROCE_BTH_BYTES];
	uint32_t udp = ip_header_bytes;
	uint32_t bth = udp + UROCE_UDP_BYTES;
	uint32_t head_bytes = bth + UROCE_BTH_BYTES;
	uint32_t crc;

	memcpy(head, ip, head_bytes);
	mask_ip(head);
	uroce_store_be16(head + udp + UROCE_UDP_CHECKSUM, 0xffff);
	head[bth + UROCE_BTH_ECN] = 0xff;
	crc = crc32_gzip_refl(CRC_OF_EIGHT_ONES, head, head_bytes);
	return crc32_gzip_refl(crc, ip + head_bytes, rest_bytes);
}
