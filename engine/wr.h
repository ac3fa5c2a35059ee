/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What there is to know of each kind of send work request: the only home of such facts.
 *
 * As with wire opcodes, a fact is a bool in a row, and nobody compares numbers.
 */
#ifndef UROCE_WR_H
#define UROCE_WR_H

#include <stdbool.h>
#include <stdint.h>

#include "status.h"

struct uroce_wr_kind {
	bool known;
	/* Wire opcodes on an RC queue pair by place in the message. */
	uint8_t first, middle, last, only;
	enum uroce_wc_opcode completes_as;
	bool rc, uc, ud;  /* who can carry it */
	bool has_payload; /* its segments are sent */
	bool reads;	  /* READ: its answers fill its segments */
	bool atomic;	  /* its answer is the word that was there before */
	bool answered;	  /* only an answer of its own completes it: not an acknowledgement */
	bool local;	  /* nothing goes on the wire */
};

/* The row of a work request's opcode; one with known == false for what there is not. */
const struct uroce_wr_kind *uroce_wr_kind(uint32_t opcode);

/* Whether a queue pair of this type carries it. */
bool uroce_wr_is_for(const struct uroce_wr_kind *kind, enum uroce_qp_type type);

/* The wire opcode of a packet of a message, on a queue pair of this type. */
uint8_t uroce_wr_wire_opcode(
	const struct uroce_wr_kind *kind, enum uroce_qp_type type, bool first, bool last);

#endif
