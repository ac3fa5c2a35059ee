/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The responder's reads and atomics: accepted, answered, remembered and answered again
 * (InfiniBand 9.7.5.1.4, 9.4.5, 9.7.5.1.5).
 */
#ifndef UROCE_RESP_READ_H
#define UROCE_RESP_READ_H

#include "core.h"

/* Nothing is owed or remembered. */
void uroce_resp_read_reset(struct uroce_qp *qp);

/* An expected READ request or atomic; epsn is still its PSN. Moves epsn and msn when accepted. */
enum uroce_drop uroce_resp_read_rx(
	struct uroce_core *core, struct uroce_qp *qp, const struct uroce_pkt *pkt, uint64_t now_ns);

/* A READ request or atomic that was seen before. */
enum uroce_drop uroce_resp_read_duplicate(
	struct uroce_core *core, struct uroce_qp *qp, const struct uroce_pkt *pkt);

/* Whether an answer is owed. */
bool uroce_resp_read_owed(const struct uroce_qp *qp);

/*
 * The last executed PSN that belongs to no read or atomic: what an ACK may name. Those have answers
 * of their own, and there are requesters (Linux's soft-RoCE) that take an ACK of a read's or
 * atomic's own PSN for its answer, and tell their application that bytes came that never did.
 */
uint32_t uroce_resp_read_acked_psn(const struct uroce_qp *qp);

/* Builds the next owed answer; 0 when its memory is gone: then it is owed no more, but a NAK. */
uint32_t uroce_resp_read_build(
	struct uroce_core *core, struct uroce_qp *qp, struct uroce_slot *slot, uint64_t now_ns);

#endif
