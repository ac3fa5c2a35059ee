/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Completion queues of the public API: the engine's, with an owner and a count of users.
 */
#include <errno.h>
#include <stdlib.h>

#include "device.h"

enum {
	CQ_CAPACITY_MAX = 65536,
	POLL_CHUNK = 16
};

int uroce_cq_create(struct uroce_device *dev, uint32_t capacity, struct uroce_cq **out)
{
	struct cq_shell *shell;
	struct uroce_cq *cq;

	if (capacity < 1 || capacity > CQ_CAPACITY_MAX)
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
	cq->owner = shell;
	pthread_mutex_lock(&dev->lock);
	dev->num_cqs++;
	pthread_mutex_unlock(&dev->lock);
	*out = cq;
	return 0;
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
