/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Asynchronous events of a device: each worker has a ring for its own; queues that fired and have
 * no channel come from the device's. The descriptor that tells of both is made when somebody asks.
 */
#include <errno.h>
#include <sys/eventfd.h>

#include "device.h"

int uroce_event_poll(struct uroce_device *dev, struct uroce_event *events, int n)
{
	int fd = atomic_load(&dev->own_channel.fd), got = 0;
	struct uroce_cq *cq;

	/* First: what comes from here on raises it again. */
	if (fd >= 0)
		uroce_fd_drain(fd);
	for (unsigned int i = 0; i < dev->num_workers; i++) {
		struct uroce_ring *ring = &dev->workers[i].events;
		struct uroce_event *event;

		while (got < n && (event = uroce_ring_peek(ring))) {
			events[got++] = *event;
			uroce_ring_pop(ring);
		}
	}
	while (got < n && uroce_channel_take(&dev->own_channel, &cq, 1) == 1)
		events[got++] = (struct uroce_event){.type = UROCE_EVENT_CQ_FIRED, .cq = cq};
	/* There may be more than was asked for. */
	if (fd >= 0 && got == n)
		uroce_fd_raise(fd);
	return got;
}

int uroce_event_fd(struct uroce_device *dev)
{
	int fd;

	pthread_mutex_lock(&dev->lock);
	fd = atomic_load(&dev->own_channel.fd);
	if (fd < 0) {
		fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
		if (fd < 0)
			fd = -errno;
		else
			/* What is there already counts too. */
			uroce_fd_raise(fd);
		atomic_store(&dev->own_channel.fd, fd < 0 ? -1 : fd);
	}
	pthread_mutex_unlock(&dev->lock);
	return fd;
}
