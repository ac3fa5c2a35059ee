/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The table of send work requests.
 *
 * Wire opcodes of unreliable services differ from those of RC by their service's base alone.
 */
#include "wr.h"

enum {
	NONE = 0xff,
	UC_BASE = 0x20,
	UD_BASE = 0x60,
};

#define WIRE(f, m, l, o) .known = true, .first = f, .middle = m, .last = l, .only = o
#define ONLY(o)		 WIRE(NONE, NONE, NONE, o)
#define LOCAL		 .known = true, .local = true, .rc = true, .uc = true
#define ALL		 .rc = true, .uc = true, .ud = true
#define RC_UC		 .rc = true, .uc = true
#define RC		 .rc = true
#define PAYLOAD		 .has_payload = true
#define READS		 .reads = true, .answered = true
#define ATOMIC		 .atomic = true, .answered = true
#define ANSWERED	 .answered = true
#define AS(wc)		 .completes_as = UROCE_WC_##wc

// clang-format off
static const struct uroce_wr_kind kinds[] = {
	[UROCE_WR_RDMA_WRITE]		= {WIRE(0x06, 0x07, 0x08, 0x0a), RC_UC, PAYLOAD, AS(RDMA_WRITE)},
	[UROCE_WR_RDMA_WRITE_WITH_IMM]	= {WIRE(0x06, 0x07, 0x09, 0x0b), RC_UC, PAYLOAD, AS(RDMA_WRITE)},
	[UROCE_WR_SEND]			= {WIRE(0x00, 0x01, 0x02, 0x04), ALL, PAYLOAD, AS(SEND)},
	[UROCE_WR_SEND_WITH_IMM]	= {WIRE(0x00, 0x01, 0x03, 0x05), ALL, PAYLOAD, AS(SEND)},
	[UROCE_WR_SEND_WITH_INV]	= {WIRE(0x00, 0x01, 0x16, 0x17), RC, PAYLOAD, AS(SEND)},
	[UROCE_WR_RDMA_READ]		= {ONLY(0x0c), RC, READS, AS(RDMA_READ)},
	[UROCE_WR_ATOMIC_CMP_AND_SWP]	= {ONLY(0x13), RC, ATOMIC, AS(COMP_SWAP)},
	[UROCE_WR_ATOMIC_FETCH_AND_ADD]	= {ONLY(0x14), RC, ATOMIC, AS(FETCH_ADD)},
	[UROCE_WR_FLUSH]		= {ONLY(0x1c), RC, ANSWERED, AS(FLUSH)},
	[UROCE_WR_ATOMIC_WRITE]		= {ONLY(0x1d), RC, PAYLOAD, ANSWERED, AS(ATOMIC_WRITE)},
	[UROCE_WR_LOCAL_INV]		= {LOCAL, AS(LOCAL_INV)},
	[UROCE_WR_BIND_MW]		= {LOCAL, AS(BIND_MW)},
	[UROCE_WR_REG_MR]		= {LOCAL, AS(REG_MR)},
};
// clang-format on

const struct uroce_wr_kind *uroce_wr_kind(uint32_t opcode)
{
	static const struct uroce_wr_kind unknown;

	return opcode < sizeof(kinds) / sizeof(kinds[0]) ? &kinds[opcode] : &unknown;
}

bool uroce_wr_is_for(const struct uroce_wr_kind *kind, enum uroce_qp_type type)
{
	switch (type) {
	case UROCE_QP_RC:
		return kind->rc;
	case UROCE_QP_UC:
		return kind->uc;
	case UROCE_QP_UD:
		return kind->ud;
	}
	return false;
}

uint8_t uroce_wr_wire_opcode(
	const struct uroce_wr_kind *kind, enum uroce_qp_type type, bool first, bool last)
{
	uint8_t opcode = first && last ? kind->only
		: first		       ? kind->first
		: last		       ? kind->last
				       : kind->middle;

	if (type == UROCE_QP_UC)
		return (uint8_t)(opcode | UC_BASE);
	return type == UROCE_QP_UD ? (uint8_t)(opcode | UD_BASE) : opcode;
}
