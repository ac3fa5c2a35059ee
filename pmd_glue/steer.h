/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Steering: frames that one worker has and another needs.
 *
 * RoCE has one UDP port, so hardware hashing cannot be relied on to bring a queue pair's frames to
 * its worker, and most virtual ports have one queue to send and receive on. Whoever receives a
 * frame passes it on to the worker of its queue pair; whoever built one and has no queue passes it
 * to a worker that has. A way from one worker to another is a ring with one writer and one reader,
 * so that nobody waits for anybody, and a thread that is preempted holds up nothing but itself.
 */
#ifndef UROCE_GLUE_STEER_H
#define UROCE_GLUE_STEER_H

#include <stdalign.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "ring.h"

enum {
	UROCE_WORKERS_MAX = 16,
	UROCE_STEER_FRAMES_MIN = 256,
	UROCE_STEER_FRAMES_MAX = 1024
};

/* A ring of pointers to frames; its memory ends with them. */
struct uroce_steer_way {
	struct uroce_ring ring;
	void *frames[];
};

/* What one worker writes. */
struct uroce_steer_end {
	alignas(UROCE_CACHE_LINE_BYTES) uint32_t pushed_to; /* workers, by bit, since its flush */
	uint32_t turn;					    /* the sender that it looks at first */
	_Atomic uint64_t drained_ns;			    /* see uroce_steer_drained; 0: never */
};

struct uroce_steer {
	uint32_t num;
	void (*wake)(void *arg, uint32_t id); /* NULL: nobody ever sleeps */
	void *wake_arg;
	struct uroce_steer_way *ways[UROCE_WORKERS_MAX][UROCE_WORKERS_MAX]; /* to, from */
	struct uroce_steer_end ends[UROCE_WORKERS_MAX];
};

/*
 * num workers, and no way between them yet. wake(arg, id): worker `id` has got something and may be
 * asleep; or NULL.
 */
void uroce_steer_init(
	struct uroce_steer *steer, uint32_t num, void (*wake)(void *arg, uint32_t id), void *arg);
/* A way from one worker to another; nothing if there is one. -ENOMEM. */
int uroce_steer_connect(struct uroce_steer *steer, uint32_t from, uint32_t to);
/* All ways between all of them. -ENOMEM. */
int uroce_steer_connect_all(struct uroce_steer *steer);
/* Pop what is left before: frames are not freed here. */
void uroce_steer_fini(struct uroce_steer *steer);

/*
 * Worker `from`: passes a frame on. False: its ring is full, or there is no way; the frame is still
 * yours. The other sees it after uroce_steer_flush.
 */
bool uroce_steer_push(struct uroce_steer *steer, uint32_t from, uint32_t to, void *frame);
/* Worker `from`: what it has pushed is there, and who gets it is awake. */
void uroce_steer_flush(struct uroce_steer *steer, uint32_t from);
/* Worker `to`: takes up to n frames, those of one sender in order. */
uint32_t uroce_steer_pop(struct uroce_steer *steer, uint32_t to, void **frames, uint32_t n);
/* Whether there are any for worker `to`. Its thread. */
bool uroce_steer_any(struct uroce_steer *steer, uint32_t to);

/*
 * Retry timers must not fire while an answer waits in the queue of a worker that is not running:
 * worker `from` says that whatever had come to its queue by now_ns is passed on, or its own;
 * UINT64_MAX: it has no queue, or will not run for a while. Who has never said anything is not
 * counted.
 */
void uroce_steer_drained(struct uroce_steer *steer, uint32_t from, uint64_t now_ns);
/*
 * Until when all have said so; at most now_ns, and at least a second before: who says nothing for
 * longer is taken to have lost what he had. What was passed on by then is seen by pop.
 */
uint64_t uroce_steer_all_drained(const struct uroce_steer *steer, uint64_t now_ns);

#endif
