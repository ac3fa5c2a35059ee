/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A link in memory between two devices of the public API, without DPDK.
 *
 * Each direction is a ring of whole frames. It carries what a port would, and every access is one
 * that the thread sanitizer can see.
 */
#ifndef UROCE_TESTS_MEMLINK_H
#define UROCE_TESTS_MEMLINK_H

#include "device.h"

enum {
	MEMLINK_FRAMES = 256,
	MEMLINK_FRAME_BYTES = 4480
};

struct memlink {
	struct uroce_ring in; /* frames for this side */
	struct memlink *peer;
	void *memory;
	uint32_t loss_percent; /* of the frames for this side; 0 unless a test sets it */
	uint64_t random;
	/* Of one of several workers of a device: */
	struct uroce_steer *steer; /* for frames that another wants; NULL: there is no other */
	uint32_t id;
};

extern const struct uroce_link_ops memlink_ops;

/* Ties two sides together. */
void memlink_init(struct memlink *a, struct memlink *b);
void memlink_fini(struct memlink *a, struct memlink *b);

/* A device at 192.0.2.<id> and 2001:db8::<id>, with what conf says besides, over this side of a
 * link, with path MTU 4096. */
struct uroce_device *memlink_open(
	struct memlink *link, unsigned int id, const struct uroce_device_conf *conf);

/* The next frame that waits for this side, and its bytes; NULL: there is none. */
const uint8_t *memlink_next(struct memlink *link, uint32_t *bytes);

/*
 * The same with `num` workers, each with a link of its own; what comes by one and is for another is
 * handed over, as on a port. steer: the caller's memory, for memlink_close_many.
 */
struct uroce_device *memlink_open_many(struct memlink *links, uint32_t num,
	struct uroce_steer *steer, unsigned int id, const struct uroce_device_conf *conf);
/* After the device: frees what was handed over and never taken. */
void memlink_close_many(struct uroce_steer *steer);

#endif
