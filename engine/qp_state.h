/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The state diagram of queue pairs (InfiniBand 10.3.1, table 91).
 */
#ifndef UROCE_QP_STATE_H
#define UROCE_QP_STATE_H

#include "core.h"

/*
 * Changes state and attributes (InfiniBand 10.3.1, 11.2.5.2). Core's thread.
 * -EINVAL: the edge does not exist, an attribute is missing or not allowed on it, or a value is
 * out of range: then nothing has changed.
 */
int uroce_qp_change(struct uroce_core *core, struct uroce_qp *qp, const struct uroce_qp_attr *attr,
	uint32_t mask, uint64_t now_ns);

/* No attribute is set, but for those that the queue pair was made with: as in RESET. */
void uroce_qp_clear(const struct uroce_core *core, struct uroce_qp *qp);

/* Frames of both sides take the queue pair's path as it is now. Core's thread. */
void uroce_qp_path_changed(struct uroce_core *core, struct uroce_qp *qp, uint64_t now_ns);

/* The least mask that takes a queue pair of this type along this edge; 0: there is no such edge. */
uint32_t uroce_qp_attrs_required(
	enum uroce_qp_type type, enum uroce_qp_state from, enum uroce_qp_state to);

#endif
