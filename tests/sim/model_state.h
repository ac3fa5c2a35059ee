/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Inside the model: the plan and what was seen of the run, as its parts share it.
 *
 * model_plan.c takes the plan and holds it against the rules that give it one outcome, and
 * model_keys.c what it does with keys; model.c judges completions one by one; model_end.c judges
 * what is missing at the end, and memory.
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
	/* The bytes that it moves; of an atomic, the original word; NULL: nothing */
	uint8_t *data;
	enum model_status due; /* other than success: refused so */
	uint64_t after;	       /* an atomic's word */
	bool received;	       /* UC, UD: a receive completed with it */
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
	uint32_t refused;    /* the operation that cannot succeed; MODEL_NONE */
	bool failed;	     /* operation `done` did, with this: */
	enum model_status failed_with;
	bool ended;    /* its queue pair, with no fault of an operation */
	bool silently; /* and nothing completes any more */
	uint32_t flushed;
	uint32_t received; /* receives completed with success */
	uint32_t *recv_of; /* which ones; of a shared queue, the one flushed follows */
	uint32_t num_recv_of;
	uint32_t next_match; /* UC, UD: messages before are not expected any more */
};

struct key {
	enum model_key_kind kind;
	uint32_t node;
	bool is_open;
	uint32_t at, bytes;
	uint32_t rights;
	uint32_t region;  /* window: the fast region that it is bound to, or 0 */
	uint32_t windows; /* fast region: bound to it */
	uint32_t binder;  /* the direction that a window was bound in */
	bool is_used;
	uint32_t users[2]; /* the directions of its connection */
	uint32_t last[2];  /* the last operation of each with it, from 1 */
	uint32_t read[2];  /* the last READ */
};

struct model {
	uint32_t num_nodes, mem_bytes;
	struct image *images;
	struct recv_queue *queues;
	uint32_t num_queues;
	struct direction *directions;
	uint32_t num_directions;
	struct key *keys; /* number 1 is the first */
	uint32_t num_keys;
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

/*
 * What an operation does with its key, and whether it may. False: the plan does not say when.
 * Changes nothing if it is refused.
 */
bool model_use_key(
	struct model *m, uint32_t direction, const struct model_op *op, enum model_status *due);

/* Whether an operation that is refused so is never sent. */
static inline bool is_refused_here(enum model_status due)
{
	return due == MODEL_BIND_REFUSED || due == MODEL_CHANGE_REFUSED ||
		due == MODEL_SOURCE_REFUSED;
}

/* How many receives of a direction may be used without a completion. */
static inline uint32_t count_unheard(const struct model *m, const struct direction *d)
{
	return m->directions[d->conf.reverse].silently;
}

/* Whether the peer's queue pair may have ended because it refused an operation of this one. */
bool model_may_have_ended_peer(const struct direction *d);

/* Whether a direction ended before its operations did. */
static inline bool is_cut(const struct direction *d)
{
	return d->failed || d->flushed > 0 || d->ended;
}

/* The operations of a direction that are sent at all: up to one that is refused at the near end. */
static inline uint32_t count_sent(const struct direction *d)
{
	return d->refused < d->posted && is_refused_here(d->steps[d->refused].due) ? d->refused
										   : d->posted;
}

/* What kinds are. */

static inline bool is_local(enum model_kind kind)
{
	return kind == MODEL_INVALIDATE || kind == MODEL_BIND || kind == MODEL_REGISTER;
}

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
	return kind == MODEL_SEND || kind == MODEL_SEND_IMM || kind == MODEL_SEND_INV;
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
	return is_answered(kind) || is_local(kind) || kind == MODEL_ATOMIC_WRITE ||
		kind == MODEL_FLUSH || kind == MODEL_SEND_INV;
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
	case MODEL_SEND_INV:
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
	case MODEL_INVALIDATE:
		return MODEL_IS_INVALIDATE;
	case MODEL_BIND:
		return MODEL_IS_BIND;
	case MODEL_REGISTER:
		return MODEL_IS_REGISTER;
	}
	return MODEL_IS_SEND;
}

#endif
