/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Memory regions and windows of the public API.
 *
 * Deregistering kills the key first and then waits until every worker has ended the turn that may
 * have seen it: a command that does nothing comes back after it. No frame refers to application
 * memory beyond the turn that built it, since payloads are copied.
 */
#include <errno.h>
#include <stdlib.h>

#include "device.h"

static const uint32_t rights = UROCE_ACCESS_LOCAL_WRITE | UROCE_ACCESS_REMOTE_WRITE |
	UROCE_ACCESS_REMOTE_READ | UROCE_ACCESS_REMOTE_ATOMIC | UROCE_ACCESS_MW_BIND |
	UROCE_ACCESS_ZERO_BASED | UROCE_ACCESS_FLUSH_GLOBAL;

/* ---- slots of the table ---- */

/* A key for attr, counted among the domain's users. */
static int add(struct uroce_pd *pd, struct uroce_mr_attr *attr, uint32_t *key)
{
	struct uroce_device *dev = pd->dev;
	int err;

	attr->pd = pd->id;
	pthread_mutex_lock(&dev->lock);
	err = dev->mrs.used >= dev->conf.max_mrs
		? -ENOMEM
		: uroce_mr_table_add(&dev->mrs, attr, uroce_random64(), key);
	if (!err)
		pd->users++;
	pthread_mutex_unlock(&dev->lock);
	return err;
}

/* The key is good for nothing when this returns, and nobody uses what was behind it. */
static int remove_key(struct uroce_pd *pd, uint32_t key)
{
	struct uroce_device *dev = pd->dev;
	int err;

	pthread_mutex_lock(&dev->lock);
	err = uroce_mr_table_kill(&dev->mrs, key);
	pthread_mutex_unlock(&dev->lock);
	for (unsigned int i = 0; !err && i < dev->num_workers; i++) {
		struct uroce_cmd cmd = {.kind = UROCE_CMD_NOTHING};

		err = uroce_worker_ctrl(&dev->workers[i], &cmd);
	}
	if (err)
		return err;
	/* Only now may the slot be used again: nobody looks at it any more. */
	pthread_mutex_lock(&dev->lock);
	uroce_mr_table_remove(&dev->mrs, key);
	pd->users--;
	pthread_mutex_unlock(&dev->lock);
	return 0;
}

/* ---- regions ---- */

/* What the library keeps of a region behind what the application sees. */
struct mr_shell {
	struct uroce_mr mr;
	struct uroce_mr_area area; /* of a fast region */
};

static int create(struct uroce_pd *pd, void *addr, size_t bytes, struct uroce_mr_attr *attr,
	struct uroce_mr **out)
{
	struct mr_shell *shell = calloc(1, sizeof(*shell));
	uint32_t key;
	int err;

	if (!shell)
		return -ENOMEM;
	shell->area = (struct uroce_mr_area){addr, bytes};
	if (attr->kind == UROCE_MR_FAST)
		attr->area = &shell->area;
	err = add(pd, attr, &key);
	if (err) {
		free(shell);
		return err;
	}
	shell->mr =
		(struct uroce_mr){.pd = pd, .addr = addr, .bytes = bytes, .lkey = key, .rkey = key};
	*out = &shell->mr;
	return 0;
}

int uroce_mr_register_iova(struct uroce_pd *pd, void *addr, size_t bytes, uint64_t iova,
	uint32_t access, struct uroce_mr **out)
{
	struct uroce_mr_attr attr = {.access = access,
		.ptr = addr,
		.addr = access & UROCE_ACCESS_ZERO_BASED ? 0 : iova,
		.bytes = bytes};

	return access & ~rights ? -EINVAL : create(pd, addr, bytes, &attr, out);
}

int uroce_mr_register(
	struct uroce_pd *pd, void *addr, size_t bytes, uint32_t access, struct uroce_mr **out)
{
	return uroce_mr_register_iova(pd, addr, bytes, (uintptr_t)addr, access, out);
}

int uroce_mr_create_fast(struct uroce_pd *pd, void *addr, size_t bytes, struct uroce_mr **out)
{
	struct uroce_mr_attr attr = {
		.kind = UROCE_MR_FAST, .ptr = addr, .addr = (uintptr_t)addr, .bytes = bytes};

	return create(pd, addr, bytes, &attr, out);
}

int uroce_mr_deregister(struct uroce_mr *mr)
{
	struct mr_shell *shell =
		(struct mr_shell *)(void *)((uint8_t *)mr - offsetof(struct mr_shell, mr));
	int err = remove_key(mr->pd, mr->lkey);

	if (!err)
		free(shell);
	return err;
}

/* ---- windows ---- */

int uroce_mw_create(struct uroce_pd *pd, enum uroce_mw_type type, struct uroce_mw **out)
{
	struct uroce_mr_attr attr = {
		.kind = type == UROCE_MW_TYPE_1 ? UROCE_MR_WINDOW_1 : UROCE_MR_WINDOW_2};
	struct uroce_mw *mw;
	int err;

	if (type != UROCE_MW_TYPE_1 && type != UROCE_MW_TYPE_2)
		return -EINVAL;
	mw = calloc(1, sizeof(*mw));
	if (!mw)
		return -ENOMEM;
	mw->pd = pd;
	mw->type = type;
	err = add(pd, &attr, &mw->rkey);
	if (err) {
		free(mw);
		return err;
	}
	*out = mw;
	return 0;
}

int uroce_mw_destroy(struct uroce_mw *mw)
{
	int err = remove_key(mw->pd, mw->rkey);

	if (!err)
		free(mw);
	return err;
}
