/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The responder: from request packets to memory, receive completions and acknowledgements
 * (InfiniBand 9.7.4, 9.7.5.1, 9.9.3).
 */
#ifndef UROCE_RESP_H
#define UROCE_RESP_H

#include "core.h"

/* Expects rq_psn next; owes nothing. */
void uroce_resp_reset(struct uroce_core *core, struct uroce_qp *qp);

/* A request for this queue pair, its ICRC and addresses checked. */
enum uroce_drop uroce_resp_rx(
	struct uroce_core *core, struct uroce_qp *qp, const struct uroce_pkt *pkt, uint64_t now_ns);

/* Builds the next response. Returns its bytes; 0 when nothing is owed now. */
uint32_t uroce_resp_build(
	struct uroce_core *core, struct uroce_qp *qp, struct uroce_slot *slot, uint64_t now_ns);

/* Nothing comes in: acknowledgements that waited for that are owed now. */
void uroce_resp_idle(struct uroce_core *core);

/* Forgets what is owed, and the message in progress; the queue pair leaves service. */
void uroce_resp_stop(struct uroce_core *core, struct uroce_qp *qp);

/* Why a request is refused, and how its PSN and the receive in use end. */
struct uroce_refused {
	uint8_t syndrome;
	enum uroce_refusal refusal;
	uint32_t got;
	uint32_t want;
	enum uroce_status recv_status; /* of the receive in use, if there is one */
};

/* Owes a NAK for psn and moves the queue pair to ERR. */
enum uroce_drop uroce_resp_refuse(struct uroce_core *core, struct uroce_qp *qp, uint32_t psn,
	const struct uroce_refused *why, uint64_t now_ns);

/* Owes a NAK for a repeated request that can no longer be answered, and nothing else happens. */
void uroce_resp_nak_repeat(struct uroce_core *core, struct uroce_qp *qp, uint32_t psn);

/* The reasons that several requests share. */
struct uroce_refused uroce_refused_invalid(enum uroce_refusal refusal, uint32_t got, uint32_t want);
struct uroce_refused uroce_refused_access(uint32_t verdict);

#endif
