/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Completion channels: descriptors that become readable when a completion queue fires.
 *
 * A worker that fires a queue pushes it on the channel's stack, unless it is there already, and
 * raises the eventfd: no lock, one system call, and only when somebody armed. Who polls moves the
 * stack to a list of its own, in order, under a lock that no worker takes. A queue counts its
 * events, since it may be armed and fire again before anybody looked.
 */
#include <errno.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "device.h"

void uroce_fd_raise(int fd)
{
	const uint64_t one = 1;

	/* It fails only when 2^64 - 1 raises were not read, and then the descriptor is readable. */
	if (write(fd, &one, sizeof(one)) < 0)
		return;
}

void uroce_fd_drain(int fd)
{
	uint64_t raises;

	/* Nothing to read is no error: it is not blocking. */
	if (read(fd, &raises, sizeof(raises)) < 0)
		return;
}

void uroce_channel_init(struct uroce_channel *channel, struct uroce_device *dev, int fd)
{
	channel->dev = dev;
	atomic_store(&channel->fd, fd);
	pthread_mutex_init(&channel->lock, NULL);
}

void uroce_channel_fini(struct uroce_channel *channel)
{
	int fd = atomic_load(&channel->fd);

	if (fd >= 0)
		close(fd);
	pthread_mutex_destroy(&channel->lock);
}

int uroce_channel_create(struct uroce_device *dev, struct uroce_channel **out)
{
	struct uroce_channel *channel = calloc(1, sizeof(*channel));
	int fd, err;

	if (!channel)
		return -ENOMEM;
	fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	if (fd < 0) {
		err = -errno;
		free(channel);
		return err;
	}
	uroce_channel_init(channel, dev, fd);
	pthread_mutex_lock(&dev->lock);
	dev->num_channels++;
	pthread_mutex_unlock(&dev->lock);
	*out = channel;
	return 0;
}

int uroce_channel_destroy(struct uroce_channel *channel)
{
	struct uroce_device *dev = channel->dev;
	bool busy;

	pthread_mutex_lock(&dev->lock);
	busy = channel->users > 0;
	if (!busy)
		dev->num_channels--;
	pthread_mutex_unlock(&dev->lock);
	if (busy)
		return -EBUSY;
	uroce_channel_fini(channel);
	free(channel);
	return 0;
}

int uroce_channel_fd(const struct uroce_channel *channel)
{
	return channel->fd;
}

void uroce_channel_fire(struct cq_shell *shell)
{
	struct uroce_channel *channel = shell->channel;
	int fd;

	if (atomic_fetch_add(&shell->fired, 1) == 0) {
		shell->fired_next = atomic_load(&channel->stack);
		while (!atomic_compare_exchange_weak(&channel->stack, &shell->fired_next, shell))
			;
	}
	fd = atomic_load(&channel->fd);
	if (fd >= 0)
		uroce_fd_raise(fd);
}

static void append(struct uroce_channel *channel, struct cq_shell *shell)
{
	shell->fired_next = NULL;
	if (channel->newest)
		channel->newest->fired_next = shell;
	else
		channel->oldest = shell;
	channel->newest = shell;
}

/* The stack, turned over, behind the list. */
static void take_stack(struct uroce_channel *channel)
{
	struct cq_shell *shell = atomic_exchange(&channel->stack, NULL);
	struct cq_shell *next, *in_order = NULL;

	for (; shell; shell = next) {
		next = shell->fired_next;
		shell->fired_next = in_order;
		in_order = shell;
	}
	for (shell = in_order; shell; shell = next) {
		next = shell->fired_next;
		append(channel, shell);
	}
}

static struct cq_shell *pop(struct uroce_channel *channel)
{
	struct cq_shell *shell = channel->oldest;

	if (!shell)
		return NULL;
	channel->oldest = shell->fired_next;
	if (!channel->oldest)
		channel->newest = NULL;
	return shell;
}

int uroce_channel_take(struct uroce_channel *channel, struct uroce_cq **cqs, int n)
{
	struct cq_shell *shell;
	int fd, got = 0;

	pthread_mutex_lock(&channel->lock);
	take_stack(channel);
	while (got < n && (shell = pop(channel))) {
		cqs[got++] = shell->cq;
		/* Once this is 0 the worker may push it again. */
		if (atomic_fetch_sub(&shell->fired, 1) > 1)
			append(channel, shell);
	}
	fd = atomic_load(&channel->fd);
	if (channel->oldest && fd >= 0)
		uroce_fd_raise(fd);
	pthread_mutex_unlock(&channel->lock);
	return got;
}

int uroce_channel_poll(struct uroce_channel *channel, struct uroce_cq **cqs, int n)
{
	/* First: what fires from here on raises it again. */
	uroce_fd_drain(channel->fd);
	return uroce_channel_take(channel, cqs, n);
}

void uroce_channel_forget(struct cq_shell *gone)
{
	struct uroce_channel *channel = gone->channel;
	struct cq_shell *shell, *last;

	pthread_mutex_lock(&channel->lock);
	take_stack(channel);
	last = channel->newest;
	while (last && (shell = pop(channel))) {
		bool was_last = shell == last;

		if (shell != gone)
			append(channel, shell);
		if (was_last)
			break;
	}
	pthread_mutex_unlock(&channel->lock);
	pthread_mutex_lock(&channel->dev->lock);
	channel->users--;
	pthread_mutex_unlock(&channel->dev->lock);
}
