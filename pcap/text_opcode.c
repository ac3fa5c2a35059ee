/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The opcode table of the text decoder (InfiniBand 9.2.1; Annex A17 for CNP).
 *
 * An opcode is a transport class in the upper three bits and an operation in the lower five, and
 * that is how the table is drawn: one row per operation, with the classes that have it. It shares
 * nothing with the engine's 256 rows, so that a slip in one shows against the other.
 */
#include "text_opcode.h"

#include <stdio.h>
#include <string.h>

enum {
	CLASS_RC = 1 << 0,
	CLASS_UC = 1 << 1,
	CLASS_RD = 1 << 2,
	CLASS_UD = 1 << 3,
	CLASS_XRC = 1 << 5,
	CLASS_ANY = CLASS_RC | CLASS_UC | CLASS_RD | CLASS_UD | CLASS_XRC,
	CLASS_STREAM = CLASS_RC | CLASS_UC | CLASS_RD | CLASS_XRC,
	CLASS_RELIABLE = CLASS_RC | CLASS_RD | CLASS_XRC,
	CLASS_RC_XRC = CLASS_RC | CLASS_XRC,
	/* RD and XRC put headers of their own behind the BTH. */
	CLASS_DECODED = CLASS_RC | CLASS_UC | CLASS_UD,
};

enum {
	OPCODE_CNP = 0x81
};

static const char *const class_names[8] = {"RC", "UC", "RD", "UD", NULL, "XRC", NULL, NULL};

struct operation {
	const char *name;
	uint8_t classes; /* where it exists */
	bool reth;
	bool aeth;
	bool atomiceth;
	bool atomicacketh;
	bool immdt;
	bool ieth;
	bool feth;
	bool payload;
};

#define PAYLOAD .payload = true

/* clang-format off */
static const struct operation operations[32] = {
	[0x00] = { "SEND_FIRST",                     CLASS_STREAM,   PAYLOAD },
	[0x01] = { "SEND_MIDDLE",                    CLASS_STREAM,   PAYLOAD },
	[0x02] = { "SEND_LAST",                      CLASS_STREAM,   PAYLOAD },
	[0x03] = { "SEND_LAST_WITH_IMMEDIATE",       CLASS_STREAM,   .immdt = true, PAYLOAD },
	[0x04] = { "SEND_ONLY",                      CLASS_ANY,      PAYLOAD },
	[0x05] = { "SEND_ONLY_WITH_IMMEDIATE",       CLASS_ANY,      .immdt = true, PAYLOAD },
	[0x06] = { "RDMA_WRITE_FIRST",               CLASS_STREAM,   .reth = true, PAYLOAD },
	[0x07] = { "RDMA_WRITE_MIDDLE",              CLASS_STREAM,   PAYLOAD },
	[0x08] = { "RDMA_WRITE_LAST",                CLASS_STREAM,   PAYLOAD },
	[0x09] = { "RDMA_WRITE_LAST_WITH_IMMEDIATE", CLASS_STREAM,   .immdt = true, PAYLOAD },
	[0x0a] = { "RDMA_WRITE_ONLY",                CLASS_STREAM,   .reth = true, PAYLOAD },
	[0x0b] = { "RDMA_WRITE_ONLY_WITH_IMMEDIATE", CLASS_STREAM,   .reth = true, .immdt = true,
		   PAYLOAD },
	[0x0c] = { "RDMA_READ_REQUEST",              CLASS_RELIABLE, .reth = true },
	[0x0d] = { "RDMA_READ_RESPONSE_FIRST",       CLASS_RELIABLE, .aeth = true, PAYLOAD },
	[0x0e] = { "RDMA_READ_RESPONSE_MIDDLE",      CLASS_RELIABLE, PAYLOAD },
	[0x0f] = { "RDMA_READ_RESPONSE_LAST",        CLASS_RELIABLE, .aeth = true, PAYLOAD },
	[0x10] = { "RDMA_READ_RESPONSE_ONLY",        CLASS_RELIABLE, .aeth = true, PAYLOAD },
	[0x11] = { "ACKNOWLEDGE",                    CLASS_RELIABLE, .aeth = true },
	[0x12] = { "ATOMIC_ACKNOWLEDGE",             CLASS_RELIABLE, .aeth = true,
		   .atomicacketh = true },
	[0x13] = { "COMPARE_SWAP",                   CLASS_RELIABLE, .atomiceth = true },
	[0x14] = { "FETCH_ADD",                      CLASS_RELIABLE, .atomiceth = true },
	[0x16] = { "SEND_LAST_WITH_INVALIDATE",      CLASS_RC_XRC,   .ieth = true, PAYLOAD },
	[0x17] = { "SEND_ONLY_WITH_INVALIDATE",      CLASS_RC_XRC,   .ieth = true, PAYLOAD },
	[0x1c] = { "FLUSH",                          CLASS_RC,       .feth = true, .reth = true },
	[0x1d] = { "ATOMIC_WRITE",                   CLASS_RC,       .reth = true, PAYLOAD },
};
/* clang-format on */

void uroce_text_opcode_resolve(uint8_t opcode, struct uroce_text_opcode *out)
{
	const struct operation *operation = &operations[opcode & 0x1f];
	int class_bit = 1 << (opcode >> 5);

	memset(out, 0, sizeof(*out));
	if (opcode == OPCODE_CNP) {
		/* Congestion notification: 16 reserved bytes where a payload would be. */
		out->known = out->decoded = out->payload = true;
		snprintf(out->name, sizeof(out->name), "CNP");
		return;
	}
	if (!(operation->classes & class_bit)) {
		snprintf(out->name, sizeof(out->name), "UNKNOWN_0x%02x", opcode);
		return;
	}
	snprintf(out->name, sizeof(out->name), "%s_%s", class_names[opcode >> 5], operation->name);
	out->known = true;
	out->decoded = CLASS_DECODED & class_bit;
	out->feth = operation->feth;
	out->deth = class_bit == CLASS_UD;
	out->reth = operation->reth;
	out->aeth = operation->aeth;
	out->atomiceth = operation->atomiceth;
	out->atomicacketh = operation->atomicacketh;
	out->immdt = operation->immdt;
	out->ieth = operation->ieth;
	out->payload = operation->payload;
}
