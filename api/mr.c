/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Memory regions of the public API.
 *
 * Deregistering kills the key first and then waits until every worker has ended the turn that may
 * have seen it: a command that does nothing comes back after it. No frame refers to application
 * memory beyond the turn that built it, since payloads are copied.
 */
#include <errno.h>
#include <stdlib.h>

#include "device.h"

int uroce_mr_register(
	struct uroce_pd *pd, void *addr, size_t bytes, uint32_t access, struct uroce_mr **out)
{
	const uint32_t rights = UROCE_ACCESS_LOCAL_WRITE | UROCE_ACCESS_REMOTE_WRITE |
		UROCE_ACCESS_REMOTE_READ | UROCE_ACCESS_REMOTE_ATOMIC;
	struct uroce_device *dev = pd->dev;
	struct uroce_mr_attr attr = {.pd = pd->id,
		.access = access,
		.ptr = addr,
		.addr = (uintptr_t)addr,
		.bytes = bytes};
	struct uroce_mr *mr;
	uint32_t key;
	int err;

	if (access & ~rights)
		return -EINVAL;
	mr = calloc(1, sizeof(*mr));
	if (!mr)
		return -ENOMEM;
	pthread_mutex_lock(&dev->lock);
	err = dev->mrs.used >= dev->conf.max_mrs
		? -ENOMEM
		: uroce_mr_table_add(&dev->mrs, &attr, uroce_random64(), &key);
	if (!err)
		pd->users++;
	pthread_mutex_unlock(&dev->lock);
	if (err) {
		free(mr);
		return err;
	}
	*mr = (struct uroce_mr){.pd = pd, .addr = addr, .bytes = bytes, .lkey = key, .rkey = key};
	*out = mr;
	return 0;
}

int uroce_mr_deregister(struct uroce_mr *mr)
{
	struct uroce_device *dev = mr->pd->dev;

	for (unsigned int i = 0; i < dev->num_workers; i++) {
		struct uroce_cmd cmd = {.kind = UROCE_CMD_NOTHING};
		int err;

		uroce_mr_table_kill(&dev->mrs, mr->lkey);
		err = uroce_worker_ctrl(&dev->workers[i], &cmd);
		if (err)
			return err;
	}
	/* Only now may the slot be used again: nobody looks at it any more. */
	pthread_mutex_lock(&dev->lock);
	uroce_mr_table_remove(&dev->mrs, mr->lkey);
	mr->pd->users--;
	pthread_mutex_unlock(&dev->lock);
	free(mr);
	return 0;
}
