/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Datagrams: sending and receiving on UD queue pairs, and multicast groups (InfiniBand 9.8.3,
 * 10.2.2, 10.5; annex A17.4.5.2).
 */
#ifndef UROCE_DGRAM_H
#define UROCE_DGRAM_H

#include "core.h"

/* Builds the datagram at the cursor. Returns its bytes; 0 when it cannot be sent. */
uint32_t uroce_dgram_build(struct uroce_core *core, struct uroce_qp *qp, struct uroce_slot *slot,
	struct uroce_send_wqe *wqe, const struct uroce_send_state *state, uint64_t now_ns);

/* A datagram for this queue pair. */
enum uroce_drop uroce_dgram_rx(
	struct uroce_core *core, struct uroce_qp *qp, const struct uroce_pkt *pkt, uint64_t now_ns);

/* A datagram to a group that queue pairs of this core belong to: each of them gets it. */
enum uroce_drop uroce_dgram_rx_group(
	struct uroce_core *core, const struct uroce_pkt *pkt, uint64_t now_ns);

/* Puts a member on the core's list. -EINVAL: not a datagram queue pair; -EEXIST: it is there. */
int uroce_dgram_join(struct uroce_core *core, struct uroce_group_member *member);
/* Takes a queue pair out of a group; its entry, or NULL when it is not a member. */
struct uroce_group_member *uroce_dgram_leave(
	struct uroce_core *core, const struct uroce_qp *qp, struct uroce_gid addr);

/* Out of all groups: the queue pair goes. Its entries are the shell's again. */
void uroce_dgram_leave_all(struct uroce_core *core, const struct uroce_qp *qp);

#endif
