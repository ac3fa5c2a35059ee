/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The completer: from answers and their absence to completions (InfiniBand 9.7.3.4, 9.9.2).
 */
#ifndef UROCE_COMP_H
#define UROCE_COMP_H

#include "core.h"

/* Full retries, no timer. */
void uroce_comp_reset(struct uroce_qp *qp);

/* An answer for this queue pair, its ICRC and addresses checked. */
enum uroce_drop uroce_comp_rx(
	struct uroce_core *core, struct uroce_qp *qp, const struct uroce_pkt *pkt, uint64_t now_ns);

/*
 * Starts the timer that there is a use for now: for the answer to what was sent, or, where nothing
 * is outstanding, for a keepalive. Nothing if it runs.
 */
void uroce_comp_watch(struct uroce_core *core, struct uroce_qp *qp, uint64_t now_ns);

/* An unreliable queue pair sent something: what is sent is complete. */
void uroce_comp_sent_unreliably(struct uroce_core *core, struct uroce_qp *qp, uint64_t now_ns);

/* A local work request was carried out: it completes, once it is the oldest. */
void uroce_comp_local_done(struct uroce_core *core, struct uroce_qp *qp);

/* The requester waits for the peer's MAC. */
void uroce_comp_wait_path(struct uroce_core *core, struct uroce_qp *qp, uint64_t now_ns);
/* A datagram at the head does. False: it has waited for too long. */
bool uroce_comp_wait_neighbour(struct uroce_core *core, struct uroce_qp *qp, uint64_t now_ns);

/*
 * The queue pair's path changed, or it has another. With its MAC known sending starts, or starts
 * again; without, answers that are due cannot be waited for.
 */
void uroce_comp_path_changed(struct uroce_core *core, struct uroce_qp *qp, uint64_t now_ns);

/* The queue pair's timer has expired. */
void uroce_comp_expire(struct uroce_core *core, struct uroce_qp *qp, uint64_t now_ns);

/* Completes what can be without a further answer: a send that failed locally and is next. */
void uroce_comp_settle(struct uroce_core *core, struct uroce_qp *qp, uint64_t now_ns);

/* Completes every work request that is left with WR_FLUSH_ERR. */
void uroce_comp_flush(struct uroce_core *core, struct uroce_qp *qp);

/* Reports SQD drained, once nothing is outstanding. */
void uroce_comp_check_drained(struct uroce_core *core, struct uroce_qp *qp);

/* Nanoseconds behind an RNR timer code (InfiniBand table 45). */
uint64_t uroce_rnr_timer_ns(uint8_t code);

#endif
