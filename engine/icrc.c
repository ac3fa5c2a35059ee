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

uint32_t uroce_icrc_ipv4(const uint8_t *ip, uint32_t ip_header_bytes, uint32_t rest_bytes)
{
	uint8_t head[60 + UROCE_UDP_BYTES + UROCE_BTH_BYTES];
	uint32_t udp = ip_header_bytes;
	uint32_t bth = udp + UROCE_UDP_BYTES;
	uint32_t head_bytes = bth + UROCE_BTH_BYTES;
	uint32_t crc;

	memcpy(head, ip, head_bytes);
	head[UROCE_IPV4_TOS] = 0xff;
	head[UROCE_IPV4_TTL] = 0xff;
	head[UROCE_IPV4_CHECKSUM] = 0xff;
	head[UROCE_IPV4_CHECKSUM + 1] = 0xff;
	head[udp + UROCE_UDP_CHECKSUM] = 0xff;
	head[udp + UROCE_UDP_CHECKSUM + 1] = 0xff;
	head[bth + UROCE_BTH_ECN] = 0xff;
	crc = crc32_gzip_refl(CRC_OF_EIGHT_ONES, head, head_bytes);
	return crc32_gzip_refl(crc, ip + head_bytes, rest_bytes);
}
