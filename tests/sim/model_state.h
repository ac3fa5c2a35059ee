/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Inside the model: the plan and what was seen of the run, as its three parts share it.
 *
 * model_plan.c takes the plan and holds it against the rules that give it one outcome; model.c
 * judges completions one by one; model_end.c judges what is missing at the end, and memory.
 */
#ifndef UROCE_TESTS_MODEL_STATE_H
#define UROCE_TESTS_MODEL_STATE_H

#include <stddef.h>

#include "model.h"

enum {
	MODEL_GRH_BYTES =
		40, /* a datagram's receive begins with these; what they hold is not ours */
	MODEL_NONE = UINT32_MAX,
};

/* What the plan does with a byte of a node's memory. */
struct use {
	uint16_t owner;	     /* who writes it; 0: nobody */
	uint8_t writes;	     /* how often, up to 255 */
	bool is_source;	     /* and nobody writes it, ever */
	uint16_t read_by;    /* the last READ from it, from 1 */
	uint16_t written_by; /* the last operation whose answer is put there, from 1 */
};

struct image {
	uint8_t *before;
	uint8_t *ideal; /* with every operation carried out, but for SENDs */
	struct use *uses;
};

struct step {
	struct model_op op;
	uint8_t *data;	/* the bytes that it moves; of an atomic, the original word */
	uint64_t after; /* an atomic's word */
	bool received;	/* UC, UD: a receive completed with it */
};

struct recv {
	struct model_recv recv;
	bool completed;
	bool flushed;
	bool broken_off;
	uint32_t by;   /* the direction that said so, of these three */
	uint32_t step; /* of its direction, if completed and unreliable */
};

struct recv_queue {
	uint32_t node;
	bool shared;
	struct recv *recvs;
	uint32_t num, posted;
	uint32_t polled; /* not shared: those before are completed or flushed */
};

struct direction {
	struct model_direction conf;
	struct step *steps;
	uint32_t num, posted;
	uint32_t last_fence; /* the last operation with a fence, from 1 */
	uint32_t done;	     /* completed, or passed over being unsignalled */
	bool broken;	     /* operation `done` ran out of retries */
	uint32_t flushed;
	uint32_t received; /* receives completed with success */
	uint32_t *recv_of; /* which ones; of a shared queue, the one flushed follows */
	uint32_t num_recv_of;
	uint32_t next_match; /* UC, UD: messages before are not expected any more */
};

struct model {
	uint32_t num_nodes, mem_bytes;
	struct image *images;
	struct recv_queue *queues;
	uint32_t num_queues;
	struct direction *directions;
	uint32_t num_directions;
	char wrong[200];
};

static inline bool is_over(const struct recv *recv)
{
	return recv->completed || recv->flushed || recv->broken_off;
}

/* Memory, or the end. */
void *model_grow(void *p, size_t bytes);

/* Notes what is wrong, if it is the first; always false. */
__attribute__((format(printf, 2, 3))) bool model_complain(struct model *m, const char *format, ...);

/* The rank-th posted operation of a direction that takes a receive; MODEL_NONE: there is none. */
uint32_t model_receiving_step(const struct direction *d, uint32_t rank);

/* What kinds are. */

static inline bool is_atomic(enum model_kind kind)
{
	return kind == MODEL_CAS || kind == MODEL_FADD;
}

static inline bool is_answered(enum model_kind kind)
{
	return kind == MODEL_READ || is_atomic(kind);
}

static inline bool is_send(enum model_kind kind)
{
	return kind == MODEL_SEND || kind == MODEL_SEND_IMM;
}

static inline bool is_write(enum model_kind kind)
{
	return kind == MODEL_WRITE || kind == MODEL_WRITE_IMM || kind == MODEL_ATOMIC_WRITE;
}

/* Eight bytes at once: it is done or not. */
static inline bool is_word(enum model_kind kind)
{
	return is_atomic(kind) || kind == MODEL_ATOMIC_WRITE;
}

static inline bool is_reliable_only(enum model_kind kind)
{
	return is_answered(kind) || kind == MODEL_ATOMIC_WRITE || kind == MODEL_FLUSH;
}

static inline bool takes_recv(enum model_kind kind)
{
	return is_send(kind) || kind == MODEL_WRITE_IMM;
}

static inline bool has_imm(enum model_kind kind)
{
	return kind == MODEL_SEND_IMM || kind == MODEL_WRITE_IMM;
}

static inline enum model_what what_of(enum model_kind kind)
{
	switch (kind) {
	case MODEL_SEND:
	case MODEL_SEND_IMM:
		return MODEL_IS_SEND;
	case MODEL_WRITE:
	case MODEL_WRITE_IMM:
		return MODEL_IS_WRITE;
	case MODEL_READ:
		return MODEL_IS_READ;
	case MODEL_CAS:
		return MODEL_IS_CAS;
	case MODEL_FADD:
		return MODEL_IS_FADD;
	case MODEL_ATOMIC_WRITE:
		return MODEL_IS_ATOMIC_WRITE;
	case MODEL_FLUSH:
		return MODEL_IS_FLUSH;
	}
	return MODEL_IS_SEND;
}

#endif
