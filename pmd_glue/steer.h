/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Steering: frames that arrive at one worker and belong to another.
 *
 * RoCE has one UDP port, so hardware hashing cannot be relied on to bring a queue pair's frames to
 * its worker, and most virtual ports have none. Whoever receives a frame passes it on by ring.
 */
#ifndef UROCE_GLUE_STEER_H
#define UROCE_GLUE_STEER_H

#include <stdbool.h>
#include <stdint.h>

struct rte_mbuf;
struct rte_ring;

enum {
	UROCE_WORKERS_MAX = 16,
	UROCE_STEER_FRAMES = 1024
};

struct uroce_steer {
	struct rte_ring *rings[UROCE_WORKERS_MAX]; /* by receiving worker */
	uint32_t num;
	void (*wake)(void *arg, uint32_t id); /* worker `id` has got a frame and may be asleep */
	void *wake_arg;
};

/* num workers of a port; one alone needs no rings. -ENOMEM. */
int uroce_steer_init(struct uroce_steer *steer, uint16_t port_id, uint32_t num,
	void (*wake)(void *arg, uint32_t id), void *wake_arg);
/* Frees the frames that are left. */
void uroce_steer_fini(struct uroce_steer *steer);

/* Any worker: passes a frame to worker `to`. False: its ring is full; the frame is still yours. */
bool uroce_steer_push(struct uroce_steer *steer, uint32_t to, struct rte_mbuf *mbuf);
/* Worker `id`: takes up to n frames that were passed to it. */
uint32_t uroce_steer_pop(
	struct uroce_steer *steer, uint32_t id, struct rte_mbuf **mbufs, uint32_t n);

/* Frames that wait for worker `id`, about. */
uint32_t uroce_steer_count(const struct uroce_steer *steer, uint32_t id);

#endif
