/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * lcores, behind two calls that say what went wrong.
 */
#include "lcore.h"

#include <errno.h>

#include <rte_launch.h>
#include <rte_lcore.h>

#include "log.h"

int uroce_lcore_launch(unsigned int lcore_id, int (*loop)(void *), void *arg)
{
	if (lcore_id >= RTE_MAX_LCORE || !rte_lcore_is_enabled(lcore_id) ||
		lcore_id == rte_get_main_lcore()) {
		UROCE_LOG(ERR,
			"lcore %u is not a worker lcore; EAL has %u lcores, the main one "
			"included. Start with -l to name more.\n",
			lcore_id, rte_lcore_count());
		return -EINVAL;
	}
	return rte_eal_remote_launch(loop, arg, lcore_id);
}

void uroce_lcore_wait(unsigned int lcore_id)
{
	rte_eal_wait_lcore(lcore_id);
}
