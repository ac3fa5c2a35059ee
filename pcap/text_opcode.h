/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What an opcode means: its name in the InfiniBand standard and the headers that it brings.
 * The text decoder's own table, on purpose not the engine's. Any thread; keeps nothing.
 */
#ifndef UROCE_PCAP_TEXT_OPCODE_H
#define UROCE_PCAP_TEXT_OPCODE_H

#include <stdbool.h>
#include <stdint.h>

struct uroce_text_opcode {
	char name[40]; /* RC_SEND_FIRST; UNKNOWN_0x1f where the standard has no name */
	bool known;
	bool decoded; /* the headers below are all that there are; false for RD and XRC */
	bool deth;
	bool reth;
	bool aeth;
	bool atomiceth;
	bool atomicacketh;
	bool immdt;
	bool ieth;
	bool feth;
	bool payload; /* may carry one (also of no bytes) */
};

/* Fills in *out for any of the 256 values. */
void uroce_text_opcode_resolve(uint8_t opcode, struct uroce_text_opcode *out);

#endif
