/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The simulator: two endpoints and a link, on a clock of its own.
 *
 * Nothing here is random but by seed and nothing waits: a second of simulated time costs what
 * happens in it. The link has a rate, a latency, a queue, and faults: a mask that decides the fate
 * of the first 64 packets one by one, and seeded loss, duplication, reordering and bit flips.
 */
#ifndef UROCE_TESTS_SIM_H
#define UROCE_TESTS_SIM_H

#include <stdbool.h>
#include <stdint.h>

#include "endpoint.h"

enum {
	SIM_QUEUE_FRAMES = 1024
};

struct sim_link_conf {
	uint64_t latency_ns;
	uint64_t ns_per_kib;   /* 1 / rate */
	uint32_t queue_frames; /* more are dropped; 0: SIM_QUEUE_FRAMES */
	uint64_t loss_mask;    /* bit i: the i-th frame (both directions together) is lost */
	uint32_t loss_ppm;     /* and by chance, in millionths */
	uint32_t duplicate_ppm;
	uint32_t reorder_ppm;
	uint32_t flip_ppm;
	uint64_t seed;
};

struct sim_frame {
	uint64_t arrival_ns;
	uint32_t to;
	uint32_t bytes;
	uint8_t data[]; /* exactly bytes of them */
};

struct sim {
	struct endpoint ep[2];
	struct sim_link_conf link;
	uint64_t now_ns;
	uint64_t random;
	uint64_t frames; /* handed to the link so far */
	uint64_t lost;
	uint64_t repeated; /* requests sent that begin before the end of an earlier one */
	uint32_t next_psn[2];
	uint64_t busy_until_ns[2];
	struct sim_frame *queue[SIM_QUEUE_FRAMES * 2];
	uint32_t queued;
	uint32_t burst;	   /* frames per turn and direction at most; 0: 32 */
	uint32_t tx_slots; /* slots offered per call; 0: 1 */
	uint64_t tx_hold;  /* the n-th offer of slots (from 1) offers none; 0: never */
	uint64_t tx_offers;
};

/* Endpoints 0 and 1, connected to each other. Conf entries may be NULL for the defaults. */
void sim_init(struct sim *sim, const struct sim_link_conf *link, const struct endpoint_conf *a,
	const struct endpoint_conf *b);
void sim_fini(struct sim *sim);

/* Runs until nothing is left to happen or until_ns. True: nothing is left. */
bool sim_run(struct sim *sim, uint64_t until_ns);

/* One event: the next arrival or timer, and a turn of both endpoints. False: nothing is left. */
bool sim_step(struct sim *sim, uint64_t until_ns);

uint64_t sim_random(struct sim *sim);

#endif
