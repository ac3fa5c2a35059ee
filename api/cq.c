/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Completion queues of the public API: the engine's, with an owner and a count of users.
 */
#include <errno.h>
#include <stdlib.h>

#include "device.h"

enum {
	POLL_CHUNK = 16
};

static int create(struct uroce_device *dev, struct uroce_channel *channel, uint32_t capacity,
	struct uroce_cq **out)
{
	struct cq_shell *shell;
	struct uroce_cq *cq;

	if (capacity < 1 || capacity > UROCE_CQ_CAPACITY_MAX)
		return -EINVAL;
	shell = calloc(1, sizeof(*shell));
	cq = uroce_allocate(uroce_cq_bytes(capacity, dev->num_workers));
	if (!shell || !cq) {
		free(shell);
		free(cq);
		return -ENOMEM;
	}
	uroce_cq_init(cq, capacity, dev->num_workers);
	shell->dev = dev;
	shell->cq = cq;
	shell->channel = channel;
	cq->owner = shell;
	pthread_mutex_lock(&dev->lock);
	dev->num_cqs++;
	channel->users++;
	pthread_mutex_unlock(&dev->lock);
	*out = cq;
	return 0;
}

int uroce_cq_create(struct uroce_device *dev, uint32_t capacity, struct uroce_cq **out)
{
	return create(dev, &dev->own_channel, capacity, out);
}

int uroce_cq_create_on(struct uroce_channel *channel, uint32_t capacity, struct uroce_cq **out)
{
	return create(channel->dev, channel, capacity, out);
}

uint32_t uroce_cq_capacity(const struct uroce_cq *cq)
{
	return cq->capacity;
}

static int move_ring(struct uroce_cq *cq, unsigned int worker, void *entries, uint32_t capacity)
{
	struct cq_shell *shell = cq->owner;
	struct uroce_cmd cmd = {.kind = UROCE_CMD_CQ_RESIZE,
		.cq = cq,
		.resize_entries = entries,
		.resize_capacity = capacity};

	return uroce_worker_ctrl(&shell->dev->workers[worker], &cmd);
}

/* Moves one worker's ring to memory of its own; *was: where it was, still allocated. */
static int resize_ring(struct uroce_cq *cq, unsigned int worker, uint32_t capacity, void **was)
{
	void *entries = uroce_allocate(uroce_cq_ring_bytes(capacity));
	int err;

	if (!entries)
		return -ENOMEM;
	*was = cq->rings[worker].entries;
	err = move_ring(cq, worker, entries, capacity);
	if (err)
		free(entries);
	return err;
}

/* The ring is where it shall stay: what it was in before goes, unless the queue holds it. */
static void settle_ring(struct uroce_cq *cq, unsigned int worker)
{
	struct cq_shell *shell = cq->owner;

	free(shell->entries[worker]);
	shell->entries[worker] = cq->rings[worker].entries;
}

/* Back to where the ring was, and to the room that it had. */
static void undo_resize(struct uroce_cq *cq, unsigned int worker, void *was)
{
	void *entries = cq->rings[worker].entries;

	if (move_ring(cq, worker, was, cq->capacity) == 0)
		free(entries);
	else
		settle_ring(cq, worker);
}

int uroce_cq_resize(struct uroce_cq *cq, uint32_t capacity)
{
	struct cq_shell *shell = cq->owner;
	unsigned int num = shell->dev->num_workers, moved = 0;
	void *was[UROCE_WORKERS_MAX];
	int err = 0;

	if (capacity < 1 || capacity > UROCE_CQ_CAPACITY_MAX)
		return -EINVAL;
	for (; moved < num; moved++) {
		err = resize_ring(cq, moved, capacity, &was[moved]);
		if (err)
			break;
	}
	for (unsigned int i = 0; i < moved; i++) {
		if (err)
			undo_resize(cq, i, was[i]);
		else
			settle_ring(cq, i);
	}
	if (!err)
		cq->capacity = capacity;
	return err;
}

int uroce_cq_destroy(struct uroce_cq *cq)
{
	struct cq_shell *shell = cq->owner;
	struct uroce_device *dev = shell->dev;
	bool busy;

	pthread_mutex_lock(&dev->lock);
	busy = shell->users > 0;
	if (!busy)
		dev->num_cqs--;
	pthread_mutex_unlock(&dev->lock);
	if (busy)
		return -EBUSY;
	uroce_channel_forget(shell);
	for (unsigned int i = 0; i < dev->num_workers; i++)
		free(shell->entries[i]);
	free(shell);
	free(cq);
	return 0;
}

int uroce_cq_poll(struct uroce_cq *cq, struct uroce_wc *wc, int n)
{
	struct uroce_cqe cqes[POLL_CHUNK];
	int got = 0;

	while (got < n) {
		uint32_t want = n - got < POLL_CHUNK ? (uint32_t)(n - got) : POLL_CHUNK;
		uint32_t chunk = uroce_cq_pop(cq, cqes, want);

		for (uint32_t i = 0; i < chunk; i++)
			wc[got++] = (struct uroce_wc){
				.wr_id = cqes[i].wr_id,
				.status = (enum uroce_status)cqes[i].status,
				.opcode = (enum uroce_wc_opcode)cqes[i].opcode,
				.byte_len = cqes[i].bytes,
				.imm = cqes[i].imm,
				.qpn = cqes[i].qpn,
				.src_qpn = cqes[i].src_qpn,
				.vlan = cqes[i].tci & UROCE_TCI_VLAN_MASK,
				.sl = (uint8_t)(cqes[i].tci >> UROCE_TCI_PRIORITY_SHIFT),
				.flags = cqes[i].flags,
				.vendor_err = cqes[i].vendor_err,
			};
		if (chunk < want)
			break;
	}
	return got;
}

int uroce_cq_arm_event(struct uroce_cq *cq, bool solicited_only)
{
	return uroce_cq_arm(cq, solicited_only) ? 1 : 0;
}
