/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The opcode table: the only home of opcode facts (InfiniBand 9.2, table 38; annexes A17, A14).
 *
 * A fact about an opcode is a bool in its row, and a parsed packet points at its row: so no
 * opcode number is ever compared with a flag, a mistake that no compiler reports.
 */
#ifndef UROCE_OPCODE_H
#define UROCE_OPCODE_H

#include <stdbool.h>
#include <stdint.h>

enum uroce_service {
	UROCE_SERVICE_NONE,
	UROCE_SERVICE_RC,
	UROCE_SERVICE_UC,
	UROCE_SERVICE_UD,
	UROCE_SERVICE_CNP,
};

enum uroce_op_kind {
	UROCE_OP_NONE,
	UROCE_OP_SEND,
	UROCE_OP_WRITE,
	UROCE_OP_READ,
	UROCE_OP_COMPARE_SWAP,
	UROCE_OP_FETCH_ADD,
	UROCE_OP_READ_RESPONSE,
	UROCE_OP_ACK,
	UROCE_OP_ATOMIC_ACK,
	UROCE_OP_CNP,
	UROCE_OP_FLUSH,
	UROCE_OP_ATOMIC_WRITE,
};

struct uroce_opcode {
	const char *name; /* the standard's, or NULL for a reserved opcode */
	enum uroce_service service;
	enum uroce_op_kind kind;
	uint8_t number;
	uint8_t header_bytes; /* BTH and the extension headers */
	bool first;	      /* begins a message: FIRST or ONLY */
	bool last;	      /* ends a message: LAST or ONLY */
	bool request;
	bool response;
	bool takes_receive; /* its message needs a receive work request at this packet */
	bool deth, reth, atomiceth, aeth, atomicacketh, immdt, ieth, feth;
};

/* Rows by opcode number. */
extern const struct uroce_opcode uroce_opcodes[256];

#endif
