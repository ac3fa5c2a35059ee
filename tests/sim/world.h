/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A random world: nodes, ports, connections and everything that is going to be done over them,
 * drawn from a seed before anything runs.
 *
 * A world can be reduced: operations and pauses left out, faults given one by one instead of by
 * chance. What is left out changes nothing else, since all has been drawn before; so a reduced
 * world is a seed and a list of what is kept, which has a text.
 */
#ifndef UROCE_TESTS_WORLD_H
#define UROCE_TESTS_WORLD_H

#include <stdbool.h>
#include <stdint.h>

#include "model.h"
#include "net.h"

enum {
	WORLD_NODES_MAX = 5,
	WORLD_CONNS_MAX = 8,
	WORLD_DIRECTIONS_MAX = 2 * WORLD_CONNS_MAX,
	WORLD_OPS_MAX = 32,
	WORLD_PAUSES_MAX = 4,
	WORLD_KEYS_MAX = 3 * WORLD_CONNS_MAX,
	WORLD_SEGS_MAX = 16,
	WORLD_SHARED_MAX = 2 * WORLD_DIRECTIONS_MAX * WORLD_OPS_MAX,
	WORLD_TEXT_BYTES = 65536,
};

/* Which part of the world of a seed is meant. */
struct world_part {
	uint64_t seed;
	uint32_t num_nodes;		    /* 0: drawn */
	uint32_t plant;			    /* enum plant_kind, see plant.h */
	uint32_t ops[WORLD_DIRECTIONS_MAX]; /* a bit for each that is kept */
	uint32_t pauses;		    /* likewise */
	bool explicit_fates;		    /* faults are those below, not by chance */
	struct net_fate *fates;
	uint32_t num_fates;
};

/* The whole world of a seed. */
struct world_part world_whole(uint64_t seed, uint32_t num_nodes);

struct world_op {
	struct model_op op;
	uint32_t num_segs;
	struct {
		uint32_t offset;
		uint32_t bytes;
	} segs[WORLD_SEGS_MAX];
	bool is_inline;
	bool bad_key;
	bool receives;
	bool zero_based; /* BIND, REGISTER: addresses count from its beginning */
	struct model_recv recv;
};

/* Receives that queue pairs of a node share: which message takes which is not known before. */
struct world_shared {
	uint32_t num;
	struct model_recv recvs[WORLD_SHARED_MAX];
};

/* A fast region or window; in the model, its index and 1. */
struct world_key {
	uint32_t node;
	enum model_key_kind kind;
};

/* Requests from one end of a connection to the other, 2 * connection + end. */
struct world_direction {
	uint32_t node; /* where they come from */
	uint32_t qp;   /* index in that node */
	enum model_service service;
	uint32_t num;
	struct world_op ops[WORLD_OPS_MAX];
};

struct world {
	uint32_t num_nodes;
	uint32_t num_conns;
	uint32_t mem_bytes;
	struct world_direction directions[WORLD_DIRECTIONS_MAX];
	bool late_receives;
	struct net_port_conf ports[WORLD_NODES_MAX];
	struct node_conf nodes[WORLD_NODES_MAX];
	struct world_shared shared[WORLD_NODES_MAX];
	struct node_qp_conf qps[WORLD_NODES_MAX][WORLD_DIRECTIONS_MAX];
	struct world_key keys[WORLD_KEYS_MAX];
	uint32_t num_keys;
	struct net_pause pauses[WORLD_PAUSES_MAX];
	struct net_conf net; /* without fates */
	uint64_t random;     /* for what is decided while it runs */
};

/* Draws a world and leaves out what the part does. */
void world_draw(struct world *w, const struct world_part *part);

/* Whether the far end of a direction takes receives from the shared queue of its node. */
bool world_is_shared(const struct world *w, uint32_t direction);

/* The number of the queue pair at the near end of a direction. */
uint32_t world_qpn(uint32_t direction);

/* Zeroes the words for atomics in the memory of a node. */
void world_clear_words(uint8_t *mem);

/* 0 to n - 1. */
uint32_t world_random(uint64_t *state, uint32_t n);

/* A part as one line, and back. False: the text is not one; *wrong says where it goes wrong. */
void world_part_text(const struct world_part *part, char *text, size_t bytes);
bool world_part_parse(struct world_part *part, const char *text, const char **wrong);

/* What happens in a world, a line for each thing, to stdout. */
void world_print(const struct world *w, const struct world_part *part);

#endif
