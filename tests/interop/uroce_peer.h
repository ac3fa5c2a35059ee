/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the two halves of the peer on this side share: its queue pairs, and whose they are.
 */
#ifndef INTEROP_UROCE_PEER_H
#define INTEROP_UROCE_PEER_H

#include "peer.h"
#include "talk.h"
#include "uroce.h"

struct side {
	struct uroce_qp *qp;
	struct uroce_cq *cq;
	struct uroce_ah *ah;
	struct uroce_mw *mw;
	enum uroce_qp_type type;
	uint32_t access;
	struct peer_route route;
	struct uroce_wc last; /* that was polled */
};

extern struct uroce_device *peer_device;
extern struct uroce_pd *peer_pd;
extern struct side peer_sides[PEER_QPS_MAX];

/* Commands of connection management. */
extern const struct command peer_cm_commands[];

#endif
