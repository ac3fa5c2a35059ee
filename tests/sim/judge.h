/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The model over a run of two endpoints: whoever posts through here is told at the end whether
 * every completion and every byte are what the model says. Nothing is judged by the engine's own
 * words alone.
 */
#ifndef UROCE_TESTS_JUDGE_H
#define UROCE_TESTS_JUDGE_H

#include "model.h"
#include "sim.h"

enum {
	JUDGE_KEYS = 8
};

struct judge {
	struct sim *sim;
	struct model *model;
	const uint8_t *memory[2];
	uint32_t done[2];		  /* sends of each endpoint that completed with success */
	uint32_t received[2];		  /* and receives */
	uint32_t failed;		  /* completions without success */
	enum model_status failed_with[2]; /* of the first send of each that did not succeed */
	uint32_t num_keys;
	uint32_t keys[JUDGE_KEYS]; /* as the engine calls the model's number, from 1 */
	bool unsteady;		   /* what is moved changes meanwhile */
};

/*
 * To be called when memory is filled and before anything is posted. Memory is the first
 * `bytes` of the endpoints'; or, if it is not NULL, of these.
 */
void judge_begin(struct judge *j, struct sim *sim, const uint8_t *const memory[2], uint32_t bytes);
void judge_end(struct judge *j);

/* A fast region of an endpoint that is open, by the key that it has, and not to be accessed. */
void judge_add_fast(struct judge *j, int side, uint32_t key, uint32_t at, uint32_t bytes);

/* What a request is in the model's words, but for keys. */
struct model_op judge_op(const struct judge *j, int side, const struct endpoint_wr *wr);

/* What is posted elsewhere. */
void judge_note_send(struct judge *j, int side, const struct model_op *op);

/* Posts, and tells the model. A send is of one segment. False: the queue is full. */
bool judge_post_send(struct judge *j, int side, const struct endpoint_wr *wr);
bool judge_post_recv(struct judge *j, int side, uint64_t wr_id, size_t offset, uint32_t bytes);

/* An end came to its end, as model_ended() has it. */
void judge_ended(struct judge *j, int side, bool silently);

/* Whether one that was ended puts nothing more on the wire, and this neither. All is at rest. */
bool judge_is_mute(struct judge *j, int side, const struct endpoint_wr *wr);

/* Polls one end; false: something completed that the model says is wrong. */
bool judge_poll(struct judge *j, int side);
/* A completion polled elsewhere. */
bool judge_completed(struct judge *j, int side, const struct uroce_cqe *cqe);

/* Polls both; what is wrong at the end, or NULL. Until judge_end. */
const char *judge_verdict(struct judge *j);

#endif
