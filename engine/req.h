/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The requester: from posted work requests to request packets (InfiniBand 9.7.3).
 *
 * Keeps no packets: a packet is built again from its work request and PSN whenever it is needed.
 */
#ifndef UROCE_REQ_H
#define UROCE_REQ_H

#include "core.h"

/* Starts anew at sq_psn; nothing outstanding. */
void uroce_req_reset(struct uroce_qp *qp);

/* Moves posted entries from the shared ring to the private queue, and checks them there. */
void uroce_req_pull(struct uroce_qp *qp);

/* Builds the next request packet. Returns its bytes; 0 when there is nothing to send now. */
uint32_t uroce_req_build(
	struct uroce_core *core, struct uroce_qp *qp, struct uroce_slot *slot, uint64_t now_ns);

/* Sending goes on at psn_una, the oldest PSN without an answer. */
void uroce_req_rewind(struct uroce_core *core, struct uroce_qp *qp, uint64_t now_ns);

/* Whether sending is about to go on at psn_una: a second NAK for the same gap says nothing new. */
bool uroce_req_is_rewound(const struct uroce_qp *qp);

/* Sending never lags behind what is answered: a late answer may overtake a rewind. */
void uroce_req_catch_up(struct uroce_qp *qp);

/* Read requests and atomics of work request `index` that are on the wire. */
uint32_t uroce_req_reads_of(const struct uroce_qp *qp, uint32_t index);

/* Whether answer `pkt` of a read of `pkts` ends the request that asked for it. */
bool uroce_req_read_ends(const struct uroce_qp *qp, uint32_t pkts, uint32_t pkt);

/* Whether there is such a work request. */
bool uroce_wr_is_known(uint32_t opcode);
/* Whether a work request is answered with data. */
bool uroce_wr_is_read(uint8_t opcode);
bool uroce_wr_is_atomic(uint8_t opcode);

#endif
