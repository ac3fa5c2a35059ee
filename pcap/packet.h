/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A RoCE packet as the analysis sees it: the fields of one frame in numbers, read fast.
 *
 * It says what text.h says of the same frame, at a hundredth of the price: the engine's opcode
 * table and CRC serve here, and nothing is written in words. Frames that are rare (RoCEv1,
 * extension headers of IPv6) go the slow way through text.h.
 */
#ifndef UROCE_PCAP_PACKET_H
#define UROCE_PCAP_PACKET_H

#include <stdbool.h>
#include <stdint.h>

#include "engine/gid.h"
#include "engine/opcode.h"
#include "pcap/reader.h"
#include "pcap/text.h"

struct uroce_packet {
	uint64_t number; /* of the frame in its file */
	uint64_t time_ns;
	struct uroce_gid src, dst;
	/* Never NULL; the row of a reserved opcode has no name. */
	const struct uroce_opcode *opcode;
	const char *malformed; /* NULL, or text.h's word */
	/* What was captured of the payload; NULL where the opcode has none or the lengths are
	 * wrong. */
	const uint8_t *payload;
	uint32_t payload_seen_bytes;
	uint32_t payload_bytes;
	uint32_t wire_bytes;
	uint64_t va; /* RETH and AtomicETH */
	uint32_t dma_len;
	uint32_t dqpn, psn;
	uint32_t sqpn; /* DETH; else 0 */
	uint32_t msn;  /* AETH */
	uint32_t icrc_value;
	uint16_t vlan; /* the innermost; 0: none */
	uint16_t udp_sport;
	uint8_t syndrome; /* AETH */
	uint8_t ecn;
	enum uroce_text_icrc icrc;
	bool has_bth; /* the rest is of the BTH and what follows it */
	bool has_reth, has_aeth;
	bool ackreq;
	bool is_rocev1;
};

/* False: not RoCE, and *out is not to be looked at. Points into the frame's bytes. */
bool uroce_packet_decode(const struct uroce_pcap_frame *frame, struct uroce_packet *out);

#endif
