/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Every interleaving of a few threads' atomic steps, by walking every reachable state.
 *
 * A model is a state without padding, a step function per thread and a judge. From each state
 * each thread that can move is moved once; states that were seen before are not walked again, so
 * the walk ends, and what it has judged is everything that any interleaving can reach under
 * sequential consistency. The step functions are a reading of the protocol, not the engine's code:
 * they say that the protocol is right, the tests with real threads say that the code follows it.
 */
#ifndef UROCE_TESTS_MODEL_H
#define UROCE_TESTS_MODEL_H

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "../unit/cunit_run.h"

enum {
	MODEL_STATES_LOG2 = 20,
	MODEL_STATE_BYTES_MAX = 48
};

struct model {
	size_t state_bytes;
	int num_threads;
	/* Moves a thread by one atomic step; false when it has nothing to do now. */
	bool (*step)(void *state, int thread);
	/* Flags of all that is wrong with a state; stuck: no thread can move. */
	unsigned int (*judge)(const void *state, bool stuck);
};

struct model_walk {
	const struct model *model;
	uint8_t *seen; /* hash table: a byte that says used, then the state */
	uint32_t num_states;
	uint32_t num_ends;
	unsigned int wrong; /* flags of all states together */
};

/* False when the state is in the table already, else it is now. */
static inline bool model_note(struct model_walk *walk, const void *state)
{
	const uint8_t *bytes = state;
	uint64_t hash = 0xcbf29ce484222325u;
	uint32_t mask = (1u << MODEL_STATES_LOG2) - 1;

	for (size_t i = 0; i < walk->model->state_bytes; i++)
		hash = (hash ^ bytes[i]) * 0x100000001b3u;
	for (uint32_t at = (uint32_t)(hash >> 32) & mask;; at = (at + 1) & mask) {
		uint8_t *slot = walk->seen + (size_t)at * (MODEL_STATE_BYTES_MAX + 1);

		if (slot[0] && memcmp(slot + 1, state, walk->model->state_bytes) == 0)
			return false;
		if (slot[0])
			continue;
		slot[0] = 1;
		memcpy(slot + 1, state, walk->model->state_bytes);
		walk->num_states++;
		CU_ASSERT_TRUE_FATAL(walk->num_states < mask);
		return true;
	}
}

static inline void model_visit(struct model_walk *walk, const void *state)
{
	const struct model *model = walk->model;
	bool stuck = true;

	if (!model_note(walk, state))
		return;
	for (int thread = 0; thread < model->num_threads; thread++) {
		uint8_t next[MODEL_STATE_BYTES_MAX];

		memcpy(next, state, model->state_bytes);
		if (!model->step(next, thread))
			continue;
		stuck = false;
		/* behind a fault there is nothing to learn, and lists may have become rings */
		if (model->judge(next, false) == 0)
			model_visit(walk, next);
		else
			walk->wrong |= model->judge(next, false);
	}
	if (stuck) {
		walk->num_ends++;
		walk->wrong |= model->judge(state, true);
	}
}

static inline struct model_walk model_explore(const struct model *model, const void *initial)
{
	struct model_walk walk = {.model = model};

	CU_ASSERT_TRUE_FATAL(model->state_bytes <= MODEL_STATE_BYTES_MAX);
	walk.seen = calloc((size_t)1 << MODEL_STATES_LOG2, MODEL_STATE_BYTES_MAX + 1);
	CU_ASSERT_PTR_NOT_NULL_FATAL(walk.seen);
	model_visit(&walk, initial);
	free(walk.seen);
	walk.seen = NULL;
	return walk;
}

#endif
