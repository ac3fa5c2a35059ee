/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Worker mode: the same poll, in a loop on an lcore.
 *
 * The only file of api/ besides poll's glue that would need DPDK; it asks the glue for it.
 */
#include <errno.h>

#include "device.h"
#include "lcore.h"

static int loop(void *arg)
{
	struct uroce_worker *worker = arg;

	while (!atomic_load_explicit(&worker->stop, memory_order_relaxed))
		uroce_worker_backoff(worker, uroce_worker_poll(worker));
	uroce_worker_offline(worker);
	return 0;
}

int uroce_worker_launch(struct uroce_worker *worker, unsigned int lcore_id)
{
	int err;

	if (worker->dev->conf.host_owns_port)
		return -EINVAL;
	if (worker->launched || atomic_load(&worker->holder) != 0)
		return -EBUSY;
	atomic_store(&worker->stop, false);
	err = uroce_lcore_launch(lcore_id, loop, worker);
	if (err)
		return err;
	worker->lcore_id = lcore_id;
	worker->launched = true;
	return 0;
}

void uroce_worker_stop(struct uroce_worker *worker)
{
	if (!worker->launched)
		return;
	atomic_store(&worker->stop, true);
	uroce_worker_wake(worker);
	uroce_lcore_wait(worker->lcore_id);
	worker->launched = false;
}
