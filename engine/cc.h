/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Congestion control of queue pairs: pacing, congestion notifications (annex A17.9), and DCQCN
 * between the two.
 *
 * All that a queue pair sends is paced but acknowledgements, NAKs and notifications: requests,
 * whether sent for the first time or again, and the answers to reads and atomics, which are what a
 * peer that reads much is congested by.
 */
#ifndef UROCE_CC_H
#define UROCE_CC_H

#include "core.h"

enum {
	UROCE_CC_FRAC_BITS = 20
};

/* No limit but the attributes'; nothing owed, no timer. After RESET. */
void uroce_cc_reset(const struct uroce_core *core, struct uroce_qp *qp);

/* The attributes rate_limit_bps or dcqcn have changed: from now on it is as they say. */
void uroce_cc_changed(struct uroce_core *core, struct uroce_qp *qp, uint64_t now_ns);

/*
 * For a queue pair with cc.paced, before it builds: whether it is its time. If not the flow comes
 * back to the ready list when it is; the caller says now that there is nothing to send.
 */
bool uroce_cc_may_send(
	struct uroce_core *core, struct uroce_qp *qp, enum uroce_flow_kind kind, uint64_t now_ns);

/* The same queue pair, after a frame of so many bytes was built. */
void uroce_cc_sent(const struct uroce_core *core, struct uroce_qp *qp, enum uroce_flow_kind kind,
	uint32_t bytes, uint64_t now_ns);

/* A queue pair's timer has expired: those of its flows that waited go on. */
void uroce_cc_expire(struct uroce_core *core, struct uroce_timer *timer, uint64_t now_ns);

/* A frame from the peer of this queue pair was marked on its way. */
void uroce_cc_marked(
	struct uroce_core *core, struct uroce_qp *qp, const struct uroce_pkt *pkt, uint64_t now_ns);

/* Builds the notification that is owed; its bytes. */
uint32_t uroce_cc_build_cnp(struct uroce_core *core, struct uroce_qp *qp, struct uroce_slot *slot);

/* A notification for this queue pair, its ICRC and addresses checked. */
enum uroce_drop uroce_cc_rx_cnp(struct uroce_core *core, struct uroce_qp *qp, uint64_t now_ns);

#endif
