/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Captures in words, for tests: a packet is a line, and lines are parted by ';'.
 *
 *	A SEND_ONLY 100 len 8; B ACK 100; A READ 101 of 3000; B NAK 101 0x62
 *
 * A is 192.0.2.1, B is 192.0.2.2; A sends to queue pair 0x12, B to 0x11. Words behind the PSN:
 *	len N    bytes of payload (0)	  of N	   DMA length of a RETH (len)
 *	+N	 us since the packet before (10)   qp N	 the destination
 *	bad	 one bit is flipped	  zero	   the ICRC is left out
 *	ce	 marked Congestion Experienced	   cut N  bytes captured
 *	sport N	 UDP source port
 *	sqpn N	 of a datagram
 * ACK, NAK and RNR take a syndrome's value: "RNR 101 14" is timer 14.
 */
#ifndef UROCE_TESTS_CAPTURE_SCRIPT_H
#define UROCE_TESTS_CAPTURE_SCRIPT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "pcap/reader.h"

enum {
	SCRIPT_FRAME_BYTES = 8192
};

struct capture_script {
	const char *at;
	uint64_t number, time_ns;
	uint8_t bytes[SCRIPT_FRAME_BYTES];
};

/* The next frame; false at the end. Ends the program where a line cannot be read. */
bool capture_script_next(struct capture_script *script, struct uroce_pcap_frame *frame);

#endif
