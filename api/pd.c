/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Protection domains: a number that regions and queue pairs must share, and a count of both.
 */
#include <errno.h>
#include <stdlib.h>

#include "device.h"

int uroce_pd_create(struct uroce_device *dev, struct uroce_pd **out)
{
	struct uroce_pd *pd = calloc(1, sizeof(*pd));

	if (!pd)
		return -ENOMEM;
	pd->dev = dev;
	pthread_mutex_lock(&dev->lock);
	pd->id = ++dev->next_pd;
	dev->num_pds++;
	pthread_mutex_unlock(&dev->lock);
	*out = pd;
	return 0;
}

int uroce_pd_destroy(struct uroce_pd *pd)
{
	struct uroce_device *dev = pd->dev;
	bool busy;

	pthread_mutex_lock(&dev->lock);
	busy = pd->users > 0;
	if (!busy)
		dev->num_pds--;
	pthread_mutex_unlock(&dev->lock);
	if (busy)
		return -EBUSY;
	free(pd);
	return 0;
}
