/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What memory and completions must be after a run: a second opinion, small, slow and obvious.
 *
 * It is told the plan (which operations, in which order, over which connection, with which
 * receives) and what the run showed (completions in the order polled, and memory), and nothing
 * else: it includes nothing of the engine, and knows no packets, no PSNs, no time.
 *
 * A plan must have one outcome. No byte is written by two directions, what is sent is not
 * overwritten, and where the standard leaves two operations unordered the second has a fence: each
 * operation is checked for that when it is added. Reliable operations are then simply carried out
 * one after the other, and memory must be exactly that; where retries ran out, a prefix of them,
 * and of the operation in progress each byte old or new. Of unreliable messages any may be
 * missing, but each completed receive is one whole message, in order where the link keeps order.
 * Which message takes which receive of a shared queue, the run says, and nothing else does.
 *
 * Keys (fast regions and windows) are opened and closed by operations of either end, so whoever
 * uses one from the other end waits until what was done with it before is complete (`after`). Then
 * each use either must succeed or must be refused; after a refusal a connection does nothing more.
 */
#ifndef UROCE_TESTS_MODEL_H
#define UROCE_TESTS_MODEL_H

#include <stdbool.h>
#include <stdint.h>

enum model_service {
	MODEL_RC,
	MODEL_UC,
	MODEL_UD
};

enum model_kind {
	MODEL_SEND,
	MODEL_SEND_IMM,
	MODEL_WRITE,
	MODEL_WRITE_IMM,
	MODEL_READ,
	MODEL_CAS,
	MODEL_FADD,
	MODEL_ATOMIC_WRITE,
	MODEL_FLUSH,
	/* With a key always; all but the first at the near end alone: */
	MODEL_SEND_INV,
	MODEL_INVALIDATE,
	MODEL_BIND,
	MODEL_REGISTER
};

enum model_status {
	MODEL_SUCCESS,
	MODEL_RETRIES_OUT,
	MODEL_FLUSHED,
	MODEL_OTHER_ERROR,
	/*
	 * A receive whose message will not be whole: of a shared queue, the rest of it did not
	 * come; or it names a key that it may not invalidate.
	 */
	MODEL_BROKEN_OFF,
	MODEL_ACCESS_REFUSED, /* by the peer: the key is not open for this */
	MODEL_BIND_REFUSED,
	MODEL_CHANGE_REFUSED, /* INVALIDATE, REGISTER */
	MODEL_SOURCE_REFUSED  /* the key of what is sent is not open */
};

/* What a completion says that it completes. */
enum model_what {
	MODEL_IS_SEND,
	MODEL_IS_WRITE,
	MODEL_IS_READ,
	MODEL_IS_CAS,
	MODEL_IS_FADD,
	MODEL_IS_ATOMIC_WRITE,
	MODEL_IS_FLUSH,
	MODEL_IS_INVALIDATE,
	MODEL_IS_BIND,
	MODEL_IS_REGISTER,
	MODEL_IS_RECV,
	MODEL_IS_RECV_OF_WRITE
};

enum model_key_kind {
	MODEL_FAST,
	MODEL_WINDOW_1,
	MODEL_WINDOW_2
};

/* What a peer may do through a key; the last is for the region that windows are bound to. */
enum model_right {
	MODEL_MAY_WRITE = 1,
	MODEL_MAY_READ = 2,
	MODEL_MAY_ATOMIC = 4,
	MODEL_MAY_FLUSH = 8,
	MODEL_MAY_BIND = 16
};

/* Places are offsets in the memory of a node. */
struct model_op {
	enum model_kind kind;
	uint64_t id;
	uint32_t bytes;
	/* What is sent; where the answer of a READ or atomic goes; BIND, REGISTER: to open */
	uint32_t local;
	/* WRITE: to; READ: from; atomic: the word; FLUSH: what. A SEND goes to a receive */
	uint32_t remote;
	uint32_t imm;
	bool fence;
	bool signalled;
	bool everywhere; /* FLUSH: all memory there, whatever the range */
	bool unsteady;	 /* what is moved is changed meanwhile: its bytes may be any */
	uint64_t compare_add;
	uint64_t swap;
	uint32_t key; /* by which the peer's memory is used, or which is changed; 0: all memory */
	uint32_t source; /* SEND, WRITE without key: fast region that is sent from; 0: all memory */
	bool old_key;	 /* by its name before it was last opened */
	uint32_t region; /* BIND: of which fast region; 0: of all memory */
	uint32_t rights; /* BIND, REGISTER: enum model_right */
	uint32_t after;	 /* posted when so many of the reverse direction were complete */
};

struct model_recv {
	uint64_t id;
	uint32_t at;
	uint32_t bytes;
};

/* One direction of a connection: requests from one node to another. */
struct model_direction {
	enum model_service service;
	uint32_t from;
	uint32_t to;
	uint32_t recv_queue;
	uint32_t reverse; /* the direction whose receives end with this one's queue pair */
	bool signal_all;
	bool may_repeat;  /* UC, UD: the link may duplicate */
	bool may_reorder; /* UC, UD: and reorder */
};

struct model_completion {
	uint32_t direction; /* of the message, also where a receive of it completes */
	bool recv;
	uint64_t id;
	enum model_status status;
	enum model_what what;
	uint32_t bytes;
	bool has_imm;
	uint32_t imm;
	uint32_t inv; /* the key that it says was invalidated; 0: none */
};

struct model;

/* Memory of every node, by number. */
typedef const uint8_t *const *model_memory_t;

struct model *model_create(uint32_t num_nodes, uint32_t mem_bytes);
void model_destroy(struct model *m);

/* What memory holds at the beginning; to be filled before the first operation is added. */
uint8_t *model_memory(struct model *m, uint32_t node);

/* The plan. Each returns its number; receive queues may be shared by directions to one node. */
uint32_t model_add_recv_queue(struct model *m, uint32_t node, bool shared);
uint32_t model_add_direction(struct model *m, const struct model_direction *conf);
/* From 1; for the two directions of one connection. Closed at first. */
uint32_t model_add_key(struct model *m, uint32_t node, enum model_key_kind kind);
/* Open before the first operation. */
void model_open_key(struct model *m, uint32_t key, uint32_t at, uint32_t bytes, uint32_t rights);

/* False, and model_wrong: the plan has no certain outcome with this. */
bool model_add_recv(struct model *m, uint32_t queue, const struct model_recv *recv);
bool model_add_op(struct model *m, uint32_t direction, const struct model_op *op);

/* Whether a byte is in use by the plan: for those who look for room. */
bool model_is_taken(const struct model *m, uint32_t node, uint32_t at);

/* The run: the next operation or receive of the plan was posted. */
void model_posted(struct model *m, uint32_t direction);
void model_recv_posted(struct model *m, uint32_t queue);

/*
 * The run: the queue pair that sends in a direction was ended, by command or because a completion
 * found no room, and all that completed before was polled. What did not is flushed; or, where there
 * is no room, never completes: one receive may then be used that nobody hears of.
 */
void model_ended(struct model *m, uint32_t direction, bool silently);

/* The run: a completion was polled, when memory was this. False: it is wrong. */
bool model_completed(
	struct model *m, const struct model_completion *completion, model_memory_t memory);

/* Whether the queue pair of a direction has shown that it ended: a failure or a flush. */
bool model_is_broken(const struct model *m, uint32_t direction);
/* Whether the first n operations of a direction are known to be complete. */
bool model_has_done(const struct model *m, uint32_t direction, uint32_t n);
/* How an operation that was posted will be refused; MODEL_SUCCESS: none will. */
enum model_status model_refusal(const struct model *m, uint32_t direction);
/* Whether all that was posted in a direction and wants a completion has one. */
bool model_is_done(const struct model *m, uint32_t direction);

/* The end, all being at rest and polled. False: something is wrong. */
bool model_check_end(struct model *m, model_memory_t memory);

/* The first thing found wrong, in words; "" if nothing was. */
const char *model_wrong(const struct model *m);

#endif
