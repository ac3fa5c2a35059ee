/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Inside the drawing of worlds: what is known meanwhile, and what its two parts share. world.c
 * draws all but keys; world_keys.c what is done with those.
 */
#ifndef UROCE_TESTS_WORLD_DRAFT_H
#define UROCE_TESTS_WORLD_DRAFT_H

#include "world.h"

enum {
	LEN_MAX = 20000,
	SRC_BYTES = 24576,
	WORDS = 4, /* of each direction */
	WORD_BYTES = 8,
};

/* A place that a direction may come back to. */
struct place {
	uint32_t at;
	uint32_t bytes;
	bool was_read;
};

struct places {
	struct place list[WORLD_OPS_MAX];
	uint32_t num;
};

/* What is known while drawing. */
struct draft {
	struct world *w;
	uint64_t random;
	uint64_t more; /* for what only some worlds have, so that others stay as they are */
	bool has_a19;
	bool has_keys;
	bool is_shared;			/* the far end takes shared receives */
	uint32_t used[WORLD_NODES_MAX]; /* up to where */
	uint32_t to;			/* the other end's node */
	uint32_t mtu;
	enum model_service service;
	struct places written;	/* at the far end */
	struct places answered; /* at the near end */
	uint64_t words[WORDS];	/* of the direction, as they will be */
};

static inline uint32_t draw(struct draft *d, uint32_t n)
{
	return world_random(&d->random, n);
}

/* Memory of a node for a message of its own; 0 when there is no more. */
uint32_t world_take_place(struct draft *d, uint32_t node, uint32_t bytes);

/* Where the bytes of a SEND come from, and the receive that they go to. False: no memory left. */
bool world_draw_send(struct draft *d, struct world_op *op);

/* The next operation is to be of this direction. */
void world_turn_to(struct draft *d, uint32_t direction);
/* One of those without a key; false: no memory left for it. */
bool world_draw_op(struct draft *d, uint32_t direction);
/* Adds an operation that is drawn but for segments and receives. */
bool world_add_op(struct draft *d, uint32_t direction, struct world_op *op);

/* Operations with keys, after all others of a connection. */
void world_draw_keys(struct draft *d, uint32_t conn);

#endif
