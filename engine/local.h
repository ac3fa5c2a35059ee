/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Work requests that stay at home: BIND_MW, REG_MR, LOCAL_INV (InfiniBand 10.6).
 */
#ifndef UROCE_LOCAL_H
#define UROCE_LOCAL_H

#include "core.h"

/*
 * Carries out the local work request at the cursor. False: it has to wait for earlier ones, or it
 * failed, which uroce_req_fail was told.
 */
bool uroce_local_execute(struct uroce_core *core, struct uroce_qp *qp,
	const struct uroce_send_wqe *wqe, uint64_t now_ns);

#endif
