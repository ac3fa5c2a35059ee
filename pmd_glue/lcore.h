/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Running a loop on a DPDK lcore.
 */
#ifndef UROCE_GLUE_LCORE_H
#define UROCE_GLUE_LCORE_H

/* -EINVAL: not a worker lcore of EAL's; -EBUSY: it has a job. */
int uroce_lcore_launch(unsigned int lcore_id, int (*loop)(void *), void *arg);
/* Waits until the loop has returned. */
void uroce_lcore_wait(unsigned int lcore_id);

#endif
