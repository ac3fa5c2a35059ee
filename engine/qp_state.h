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

#endif
