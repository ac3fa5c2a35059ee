/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Shared receive queues of the public API: the engine's, with a domain and a count of users.
 */
#include <errno.h>
#include <stdlib.h>

#include "device.h"

enum {
	WR_DEFAULT = 128,
	SGE_DEFAULT = 1
};

int uroce_srq_create(struct uroce_pd *pd, const struct uroce_srq_conf *conf, struct uroce_srq **out)
{
	uint32_t max_wr = conf->max_wr ? conf->max_wr : WR_DEFAULT;
	uint32_t max_sge = conf->max_sge ? conf->max_sge : SGE_DEFAULT;
	struct srq_shell *shell;
	struct uroce_srq *srq;

	if (max_wr > UROCE_WR_MAX || max_sge > UROCE_SGE_MAX || conf->limit > max_wr)
		return -EINVAL;
	shell = calloc(1, sizeof(*shell));
	srq = uroce_allocate(uroce_srq_bytes(max_wr, max_sge));
	if (!shell || !srq) {
		free(shell);
		free(srq);
		return -ENOMEM;
	}
	uroce_srq_init(srq, max_wr, max_sge);
	uroce_srq_arm(srq, conf->limit);
	shell->pd = pd;
	srq->owner = shell;
	pthread_mutex_lock(&pd->dev->lock);
	pd->users++;
	pthread_mutex_unlock(&pd->dev->lock);
	*out = srq;
	return 0;
}

int uroce_srq_destroy(struct uroce_srq *srq)
{
	struct srq_shell *shell = srq->owner;
	struct uroce_device *dev = shell->pd->dev;
	bool busy;

	pthread_mutex_lock(&dev->lock);
	busy = shell->users > 0;
	if (!busy)
		shell->pd->users--;
	pthread_mutex_unlock(&dev->lock);
	if (busy)
		return -EBUSY;
	free(shell);
	free(srq);
	return 0;
}

int uroce_srq_set_limit(struct uroce_srq *srq, uint32_t limit)
{
	if (limit > srq->capacity)
		return -EINVAL;
	uroce_srq_arm(srq, limit);
	return 0;
}

void uroce_srq_query(const struct uroce_srq *srq, struct uroce_srq_conf *conf)
{
	*conf = (struct uroce_srq_conf){.max_wr = srq->capacity,
		.max_sge = srq->max_sge,
		.limit = atomic_load(&srq->limit)};
}
