/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The opcode table, drawn so that it reads as one.
 *
 * Columns: number, service, name, kind, place (FIRST, MIDDLE, LAST, ONLY), direction (REQ, RSP),
 * whether it takes a receive at this packet, extension headers in wire order. Opcodes without a
 * row are reserved, or of transports that uroce does not speak: they are dropped and counted.
 * A SEND takes its receive at the first packet; a WRITE with immediate at the one with ImmDt.
 */
#include "opcode.h"

#include "wire.h"

#define FIRST  .first = true
#define MIDDLE .first = false
#define LAST   .last = true
#define ONLY   .first = true, .last = true
#define REQ    .request = true
#define RSP    .response = true
#define RECV   .takes_receive = true
#define NORECV .takes_receive = false

#define PLAIN .header_bytes = UROCE_BTH_BYTES
#define RETH  .reth = true, .header_bytes = UROCE_BTH_BYTES + UROCE_RETH_BYTES
#define RETHIMM \
	.reth = true, .immdt = true, \
	.header_bytes = UROCE_BTH_BYTES + UROCE_RETH_BYTES + UROCE_IMMDT_BYTES
#define IMM    .immdt = true, .header_bytes = UROCE_BTH_BYTES + UROCE_IMMDT_BYTES
#define INV    .ieth = true, .header_bytes = UROCE_BTH_BYTES + UROCE_IETH_BYTES
#define AETH   .aeth = true, .header_bytes = UROCE_BTH_BYTES + UROCE_AETH_BYTES
#define ATOMIC .atomiceth = true, .header_bytes = UROCE_BTH_BYTES + UROCE_ATOMICETH_BYTES
#define ATOMACK \
	.aeth = true, .atomicacketh = true, \
	.header_bytes = UROCE_BTH_BYTES + UROCE_AETH_BYTES + UROCE_ATOMICACKETH_BYTES
#define FETHRETH \
	.feth = true, .reth = true, \
	.header_bytes = UROCE_BTH_BYTES + UROCE_FETH_BYTES + UROCE_RETH_BYTES
#define DETH .deth = true, .header_bytes = UROCE_BTH_BYTES + UROCE_DETH_BYTES
#define DETHIMM \
	.deth = true, .immdt = true, \
	.header_bytes = UROCE_BTH_BYTES + UROCE_DETH_BYTES + UROCE_IMMDT_BYTES

#define ROW(num, svc, text, what, place, dir, recv, headers) \
	[num] = {.number = num, \
		.service = UROCE_SERVICE_##svc, \
		.name = text, \
		.kind = UROCE_OP_##what, \
		place, \
		dir, \
		recv, \
		headers}

// clang-format off
const struct uroce_opcode uroce_opcodes[256] = {
	/*  number svc  name                             kind           place   dir  recv    headers */
	ROW(0x00, RC,  "RC_SEND_FIRST",                  SEND,          FIRST,  REQ, RECV,   PLAIN),
	ROW(0x01, RC,  "RC_SEND_MIDDLE",                 SEND,          MIDDLE, REQ, NORECV, PLAIN),
	ROW(0x02, RC,  "RC_SEND_LAST",                   SEND,          LAST,   REQ, NORECV, PLAIN),
	ROW(0x03, RC,  "RC_SEND_LAST_WITH_IMMEDIATE",    SEND,          LAST,   REQ, NORECV, IMM),
	ROW(0x04, RC,  "RC_SEND_ONLY",                   SEND,          ONLY,   REQ, RECV,   PLAIN),
	ROW(0x05, RC,  "RC_SEND_ONLY_WITH_IMMEDIATE",    SEND,          ONLY,   REQ, RECV,   IMM),
	ROW(0x06, RC,  "RC_RDMA_WRITE_FIRST",            WRITE,         FIRST,  REQ, NORECV, RETH),
	ROW(0x07, RC,  "RC_RDMA_WRITE_MIDDLE",           WRITE,         MIDDLE, REQ, NORECV, PLAIN),
	ROW(0x08, RC,  "RC_RDMA_WRITE_LAST",             WRITE,         LAST,   REQ, NORECV, PLAIN),
	ROW(0x09, RC,  "RC_RDMA_WRITE_LAST_WITH_IMMEDIATE", WRITE,      LAST,   REQ, RECV,   IMM),
	ROW(0x0a, RC,  "RC_RDMA_WRITE_ONLY",             WRITE,         ONLY,   REQ, NORECV, RETH),
	ROW(0x0b, RC,  "RC_RDMA_WRITE_ONLY_WITH_IMMEDIATE", WRITE,      ONLY,   REQ, RECV,   RETHIMM),
	ROW(0x0c, RC,  "RC_RDMA_READ_REQUEST",           READ,          ONLY,   REQ, NORECV, RETH),
	ROW(0x0d, RC,  "RC_RDMA_READ_RESPONSE_FIRST",    READ_RESPONSE, FIRST,  RSP, NORECV, AETH),
	ROW(0x0e, RC,  "RC_RDMA_READ_RESPONSE_MIDDLE",   READ_RESPONSE, MIDDLE, RSP, NORECV, PLAIN),
	ROW(0x0f, RC,  "RC_RDMA_READ_RESPONSE_LAST",     READ_RESPONSE, LAST,   RSP, NORECV, AETH),
	ROW(0x10, RC,  "RC_RDMA_READ_RESPONSE_ONLY",     READ_RESPONSE, ONLY,   RSP, NORECV, AETH),
	ROW(0x11, RC,  "RC_ACKNOWLEDGE",                 ACK,           ONLY,   RSP, NORECV, AETH),
	ROW(0x12, RC,  "RC_ATOMIC_ACKNOWLEDGE",          ATOMIC_ACK,    ONLY,   RSP, NORECV, ATOMACK),
	ROW(0x13, RC,  "RC_COMPARE_SWAP",                COMPARE_SWAP,  ONLY,   REQ, NORECV, ATOMIC),
	ROW(0x14, RC,  "RC_FETCH_ADD",                   FETCH_ADD,     ONLY,   REQ, NORECV, ATOMIC),
	ROW(0x16, RC,  "RC_SEND_LAST_WITH_INVALIDATE",   SEND,          LAST,   REQ, NORECV, INV),
	ROW(0x17, RC,  "RC_SEND_ONLY_WITH_INVALIDATE",   SEND,          ONLY,   REQ, RECV,   INV),
	ROW(0x1c, RC,  "RC_FLUSH",                       FLUSH,         ONLY,   REQ, NORECV, FETHRETH),
	ROW(0x1d, RC,  "RC_ATOMIC_WRITE",                ATOMIC_WRITE,  ONLY,   REQ, NORECV, RETH),

	ROW(0x20, UC,  "UC_SEND_FIRST",                  SEND,          FIRST,  REQ, RECV,   PLAIN),
	ROW(0x21, UC,  "UC_SEND_MIDDLE",                 SEND,          MIDDLE, REQ, NORECV, PLAIN),
	ROW(0x22, UC,  "UC_SEND_LAST",                   SEND,          LAST,   REQ, NORECV, PLAIN),
	ROW(0x23, UC,  "UC_SEND_LAST_WITH_IMMEDIATE",    SEND,          LAST,   REQ, NORECV, IMM),
	ROW(0x24, UC,  "UC_SEND_ONLY",                   SEND,          ONLY,   REQ, RECV,   PLAIN),
	ROW(0x25, UC,  "UC_SEND_ONLY_WITH_IMMEDIATE",    SEND,          ONLY,   REQ, RECV,   IMM),
	ROW(0x26, UC,  "UC_RDMA_WRITE_FIRST",            WRITE,         FIRST,  REQ, NORECV, RETH),
	ROW(0x27, UC,  "UC_RDMA_WRITE_MIDDLE",           WRITE,         MIDDLE, REQ, NORECV, PLAIN),
	ROW(0x28, UC,  "UC_RDMA_WRITE_LAST",             WRITE,         LAST,   REQ, NORECV, PLAIN),
	ROW(0x29, UC,  "UC_RDMA_WRITE_LAST_WITH_IMMEDIATE", WRITE,      LAST,   REQ, RECV,   IMM),
	ROW(0x2a, UC,  "UC_RDMA_WRITE_ONLY",             WRITE,         ONLY,   REQ, NORECV, RETH),
	ROW(0x2b, UC,  "UC_RDMA_WRITE_ONLY_WITH_IMMEDIATE", WRITE,      ONLY,   REQ, RECV,   RETHIMM),

	ROW(0x64, UD,  "UD_SEND_ONLY",                   SEND,          ONLY,   REQ, RECV,   DETH),
	ROW(0x65, UD,  "UD_SEND_ONLY_WITH_IMMEDIATE",    SEND,          ONLY,   REQ, RECV,   DETHIMM),

	ROW(0x81, CNP, "CNP",                            CNP,           ONLY,   REQ, NORECV, PLAIN),
};
// clang-format on
