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

/*
 * A WRITE of nothing shall find out whether the peer is there; it completes nothing. False: work
 * requests are outstanding or to come, which will find out.
 */
bool uroce_req_probe(struct uroce_core *core, struct uroce_qp *qp);

/* Of work request `index`: how many requests are on the wire that data or nothing answers. */
uint32_t uroce_req_reads_of(const struct uroce_qp *qp, uint32_t index);

/* Whether answer `pkt` of a read of `pkts` ends the request that asked for it. */
bool uroce_req_read_ends(const struct uroce_qp *qp, uint32_t pkts, uint32_t pkt);

/*
 * The work request at the cursor cannot be carried out; it completes in error when its turn comes.
 * Returns 0, the bytes of no frame.
 */
uint32_t uroce_req_fail(struct uroce_core *core, struct uroce_qp *qp, enum uroce_cause cause,
	enum uroce_status status, uint32_t detail, uint64_t now_ns);

/* Copies bytes [offset, offset + bytes) of a message to p; the verdict on local memory. */
enum uroce_mr_verdict uroce_req_put_payload(const struct uroce_core *core,
	const struct uroce_qp *qp, struct uroce_send_wqe *wqe, uint8_t *p, uint64_t offset,
	uint32_t bytes);

/* The datagram at the cursor was built: that is all that can be done for it. */
void uroce_req_sent_datagram(struct uroce_core *core, struct uroce_qp *qp, uint64_t now_ns);

#endif
