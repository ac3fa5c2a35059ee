/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The invariant CRC of RoCEv2 (InfiniBand annex A17.3.3).
 *
 * CRC-32 as Ethernet's over eight bytes of ones, the IP header and UDP header with the fields that
 * routers may change set to ones, the BTH with its FECN/BECN byte set to ones, and all that
 * follows up to the trailer, pad included.
 */
#ifndef UROCE_ICRC_H
#define UROCE_ICRC_H

#include <stdint.h>

/*
 * The ICRC of the datagram that starts at ip: an IP header of ip_header_bytes (20 to 60), UDP,
 * BTH, and rest_bytes after the BTH (extension headers, payload and pad; not the trailer).
 * Reads exactly those bytes; returns the value that the trailer holds in little-endian order.
 */
uint32_t uroce_icrc(const uint8_t *ip, uint32_t ip_header_bytes, uint32_t rest_bytes);

#endif
