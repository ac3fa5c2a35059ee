/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * From a queue pair's header template and an opcode row to the bytes of a frame.
 *
 * A frame is built in three steps: start writes Ethernet to BTH, the caller writes extension
 * headers and payload behind, finish writes lengths, pad, checksum and ICRC over what is there.
 */
#ifndef UROCE_BUILD_H
#define UROCE_BUILD_H

#include <stdbool.h>
#include <stdint.h>

#include "core.h"

/* Builds the template of a queue pair: after its path, peer or own number changed. */
void uroce_build_template(struct uroce_qp *qp);

/* What differs between two packets of a queue pair's BTH. */
struct uroce_bth {
	uint8_t opcode;
	bool solicited;
	bool ackreq;
	uint32_t psn;
};

/* Where a datagram goes. */
struct uroce_datagram {
	const struct uroce_path *path;
	uint32_t qpn;
	uint32_t qkey;
};

/* Starts a frame; returns where the extension headers go. */
uint8_t *uroce_build_start(
	const struct uroce_qp *qp, struct uroce_slot *slot, struct uroce_bth bth);

/*
 * Starts a congestion notification (annex A17.9): a traffic class of its own, PSN 0. There follow
 * 16 reserved bytes.
 */
uint8_t *uroce_build_start_cnp(const struct uroce_qp *qp, struct uroce_slot *slot);

/* As uroce_build_start on a path of its own, to a datagram queue pair; the DETH is there. */
uint8_t *uroce_build_start_datagram(const struct uroce_core *core, const struct uroce_qp *qp,
	struct uroce_slot *slot, struct uroce_bth bth, const struct uroce_datagram *to);

/* Ends a frame whose headers and payload end at `end`; payload_bytes of it may need a pad. */
void uroce_build_finish(
	struct uroce_core *core, struct uroce_slot *slot, uint8_t *end, uint32_t payload_bytes);

/* Extension headers; each returns where the next thing goes. */
uint8_t *uroce_build_reth(uint8_t *p, uint64_t va, uint32_t rkey, uint32_t dma_len);
uint8_t *uroce_build_atomiceth(
	uint8_t *p, uint64_t va, uint32_t rkey, uint64_t swap_add, uint64_t compare);
uint8_t *uroce_build_feth(uint8_t *p, uint32_t feth);
uint8_t *uroce_build_aeth(uint8_t *p, uint8_t syndrome, uint32_t msn);

#endif
