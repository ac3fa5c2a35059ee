/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Drawing what is done with keys. An end opens a key over memory of its own; the other end uses it,
 * once that is complete, and either end may close it. Each such operation waits for all that the
 * other end has been given before, as applications wait for each other's word.
 *
 * Mostly what is drawn is allowed; now and then it is not, which ends the connection: then a few
 * operations more are drawn, which must have no effect. Whether one is allowed the model knows, and
 * nothing here has to be right about it.
 */
#include "world_draft.h"

enum {
	KEYS_MAX = WORLD_KEYS_MAX / WORLD_CONNS_MAX,
	STEPS_MIN = 4,
	STEPS_MAX = 24,
	AREA_MIN = 64,
	AREA_MAX = 2048,
	WRONG_ONE_IN = 40,
	ALL_RIGHTS = MODEL_MAY_WRITE | MODEL_MAY_READ | MODEL_MAY_ATOMIC | MODEL_MAY_FLUSH |
		MODEL_MAY_BIND,
};

struct lock {
	uint32_t number;
	enum model_key_kind kind;
	uint32_t home; /* the direction that its owner sends in */
	uint32_t area; /* memory of the owner */
	uint32_t area_bytes;
	uint32_t at;
	uint32_t bytes;
	uint32_t rights;
	bool is_open;
	bool is_written;   /* all of it */
	bool is_only_read; /* and never written */
	bool area_is_only_read;
	bool is_zero_based;
};

struct locks {
	struct lock list[KEYS_MAX];
	uint32_t num;
	bool was_read[2]; /* by a direction, so what is written then needs a fence */
	bool is_wrong;	  /* the next operation may be one that is refused */
};

static uint32_t word_up(uint32_t at)
{
	return (at + WORD_BYTES - 1) & ~(uint32_t)(WORD_BYTES - 1);
}

/* Places begin at words, so that every word in them may be the target of an atomic. */
static bool add_lock(struct draft *d, struct locks *locks, uint32_t conn)
{
	struct world *w = d->w;
	struct lock *lock = &locks->list[locks->num];
	uint32_t at;

	*lock = (struct lock){.kind = (enum model_key_kind)draw(d, 3),
		.home = 2 * conn + draw(d, 2),
		.area_is_only_read = draw(d, 4) == 0};
	lock->area_bytes = AREA_MIN + WORD_BYTES * draw(d, (AREA_MAX - AREA_MIN) / WORD_BYTES);
	at = world_take_place(d, w->directions[lock->home].node, lock->area_bytes + WORD_BYTES - 1);
	if (at == 0)
		return false;
	lock->area = word_up(at);
	w->keys[w->num_keys] = (struct world_key){w->directions[lock->home].node, lock->kind};
	lock->number = ++w->num_keys;
	locks->num++;
	return true;
}

/* An operation with a key, in a direction; the rest of it is to be filled in. */
static struct world_op *begin_op(struct draft *d, const struct locks *locks,
	const struct lock *lock, uint32_t direction, enum model_kind kind)
{
	struct world_direction *dir = &d->w->directions[direction];
	struct world_op *op = &dir->ops[dir->num];

	*op = (struct world_op){.op = {.kind = kind,
					.id = dir->num,
					.key = lock->number,
					.old_key = locks->is_wrong && draw(d, 2),
					.imm = draw(d, 1u << 30),
					.fence = draw(d, 8) == 0,
					.signalled = draw(d, 3) == 0,
					.after = d->w->directions[direction ^ 1].num}};
	op->recv.id = dir->num;
	world_turn_to(d, direction);
	return op;
}

/* ---- opening and closing ---- */

/* A part of memory, at words. */
static void draw_part(struct draft *d, uint32_t at, uint32_t bytes, struct world_op *op)
{
	uint32_t words = bytes / WORD_BYTES, skip = draw(d, 2) ? 0 : draw(d, words);

	op->op.local = at + WORD_BYTES * skip;
	op->op.bytes = WORD_BYTES * (1 + draw(d, words - skip));
	if (draw(d, 2))
		op->op.bytes = WORD_BYTES * (words - skip);
}

/* A fast region of the same owner that a window may be bound to; NULL: to all memory. */
static const struct lock *draw_region(struct draft *d, const struct locks *locks, uint32_t home)
{
	const struct lock *lock = &locks->list[draw(d, locks->num)];

	return lock->kind == MODEL_FAST && lock->home == home && lock->is_open &&
			(lock->rights & MODEL_MAY_BIND)
		? lock
		: NULL;
}

static bool draw_open(struct draft *d, struct locks *locks, struct lock *lock)
{
	bool is_window = lock->kind != MODEL_FAST;
	const struct lock *region = is_window ? draw_region(d, locks, lock->home) : NULL;
	struct world_op *op =
		begin_op(d, locks, lock, lock->home, is_window ? MODEL_BIND : MODEL_REGISTER);

	op->op.rights = draw(d, 3) ? ALL_RIGHTS : draw(d, ALL_RIGHTS + 1);
	if (is_window)
		op->op.rights &= ~(uint32_t)MODEL_MAY_BIND;
	op->zero_based = lock->kind != MODEL_WINDOW_1 && draw(d, 3) == 0;
	op->op.region = region ? region->number : 0;
	draw_part(
		d, region ? region->at : lock->area, region ? region->bytes : lock->area_bytes, op);
	if (locks->is_wrong && draw(d, 2))
		op->op.bytes = region ? region->bytes + WORD_BYTES : 0;
	lock->is_open = op->op.bytes > 0;
	lock->is_zero_based = op->zero_based;
	lock->at = op->op.local;
	lock->bytes = op->op.bytes;
	lock->rights = op->op.rights;
	lock->is_written = region && region->is_written;
	lock->is_only_read = region ? region->is_only_read : lock->area_is_only_read;
	return world_add_op(d, lock->home, op);
}

static bool draw_close(struct draft *d, struct locks *locks, struct lock *lock)
{
	bool by_peer = draw(d, 2);
	uint32_t direction = by_peer ? lock->home ^ 1 : lock->home;
	struct world_op *op =
		begin_op(d, locks, lock, direction, by_peer ? MODEL_SEND_INV : MODEL_INVALIDATE);

	lock->is_open = false;
	if (by_peer) {
		/* What is still read by this key must not be asked for again. */
		op->op.fence |= locks->was_read[direction & 1];
		locks->was_read[direction & 1] &= !op->op.fence;
		if (!world_draw_send(d, op))
			return false;
	}
	return world_add_op(d, direction, op);
}

/* ---- using ---- */

static enum model_kind draw_access_kind(struct draft *d, const struct lock *lock, bool is_wrong)
{
	static const struct {
		enum model_kind kind;
		uint32_t right;
	} kinds[] = {{MODEL_WRITE, MODEL_MAY_WRITE}, {MODEL_READ, MODEL_MAY_READ},
		{MODEL_READ, MODEL_MAY_READ}, {MODEL_WRITE_IMM, MODEL_MAY_WRITE},
		{MODEL_FADD, MODEL_MAY_ATOMIC}, {MODEL_CAS, MODEL_MAY_ATOMIC},
		{MODEL_ATOMIC_WRITE, MODEL_MAY_WRITE}, {MODEL_FLUSH, MODEL_MAY_FLUSH}};
	enum {
		NUM_KINDS = sizeof(kinds) / sizeof(kinds[0])
	};
	uint32_t n = draw(d, NUM_KINDS);

	/* Nobody reads what may be written later: it is written first, or never. */
	if (lock->is_only_read)
		n = draw(d, 3) ? 1 : NUM_KINDS - 1;
	else if (!lock->is_written && kinds[n].kind != MODEL_FLUSH)
		n = 0;
	if (is_wrong || (lock->rights & kinds[n].right))
		return kinds[n].kind;
	return MODEL_SEND;
}

static void draw_target(
	struct draft *d, const struct lock *lock, bool is_wrong, struct world_op *op)
{
	uint32_t skip = draw(d, 2) && lock->bytes > 0 ? draw(d, lock->bytes) : 0;

	if (op->op.bytes == WORD_BYTES) {
		op->op.remote = lock->at + skip / WORD_BYTES * WORD_BYTES;
	} else if (!lock->is_written && op->op.kind == MODEL_WRITE) {
		op->op.remote = lock->at;
		op->op.bytes = lock->bytes;
	} else {
		op->op.remote = lock->at + skip;
		op->op.bytes = 1 + draw(d, lock->bytes > skip ? lock->bytes - skip : 1);
	}
	/* Beyond its end, or before its beginning. */
	if (is_wrong && draw(d, 2))
		op->op.remote = draw(d, 2) || lock->at == 0 ? lock->at + lock->bytes
							    : lock->at - WORD_BYTES;
}

/* The near end: a source, or memory for an answer. */
static bool draw_near(struct draft *d, uint32_t direction, struct world_op *op)
{
	bool answered =
		op->op.kind == MODEL_READ || op->op.kind == MODEL_CAS || op->op.kind == MODEL_FADD;

	if (op->op.kind == MODEL_FLUSH)
		return true;
	if (!answered) {
		op->op.local = draw(d, SRC_BYTES - LEN_MAX);
		op->is_inline = op->op.bytes <= 256 && draw(d, 3) == 0;
		return true;
	}
	op->op.local = world_take_place(d, d->w->directions[direction].node, op->op.bytes);
	return op->op.local != 0;
}

static bool draw_access(struct draft *d, struct locks *locks, struct lock *lock)
{
	uint32_t direction = lock->home ^ 1, side = direction & 1;
	enum model_kind kind = draw_access_kind(d, lock, locks->is_wrong);
	struct world_op *op;

	if (kind == MODEL_SEND)
		return true;
	op = begin_op(d, locks, lock, direction, kind);
	if (kind == MODEL_CAS || kind == MODEL_FADD || kind == MODEL_ATOMIC_WRITE)
		op->op.bytes = WORD_BYTES;
	draw_target(d, lock, locks->is_wrong, op);
	op->op.swap = draw(d, 100);
	op->op.compare_add = draw(d, 100);
	op->op.everywhere = kind == MODEL_FLUSH && draw(d, 2);
	if (kind == MODEL_READ) {
		locks->was_read[side] = true;
	} else if (kind != MODEL_FLUSH) {
		op->op.fence |= locks->was_read[side];
		locks->was_read[side] &= !op->op.fence;
	}
	lock->is_written |=
		kind == MODEL_WRITE && op->op.remote == lock->at && op->op.bytes == lock->bytes;
	return draw_near(d, direction, op) && world_add_op(d, direction, op);
}

/* The owner itself, if nobody writes there. It names memory as it is. */
static bool may_send_from(const struct lock *lock)
{
	return lock->kind == MODEL_FAST && lock->is_only_read && !lock->is_zero_based;
}

static bool draw_source(struct draft *d, struct locks *locks, const struct lock *lock)
{
	bool writes = draw(d, 2);
	uint32_t skip = lock->bytes > 0 ? draw(d, lock->bytes) : 0;
	struct world_op *op =
		begin_op(d, locks, lock, lock->home, writes ? MODEL_WRITE : MODEL_SEND);

	op->op.source = op->op.key;
	op->op.key = 0;
	op->op.bytes = lock->bytes > 0 ? 1 + draw(d, lock->bytes - skip) : 1;
	if (writes)
		op->op.remote = world_take_place(d, d->to, op->op.bytes);
	if (writes ? op->op.remote == 0 : !world_draw_send(d, op))
		return false;
	op->op.local = lock->at + skip;
	op->is_inline = false;
	return world_add_op(d, lock->home, op);
}

/* ---- the whole ---- */

static bool draw_wrong(struct draft *d, struct locks *locks, struct lock *lock)
{
	switch (draw(d, 5)) {
	case 0:
		return draw_open(d, locks, lock);
	case 1:
		return draw_close(d, locks, lock);
	case 2:
		return !may_send_from(lock) || draw_source(d, locks, lock);
	default:
		return draw_access(d, locks, lock);
	}
}

static bool draw_step(struct draft *d, struct locks *locks, uint32_t conn)
{
	struct lock *lock = &locks->list[draw(d, locks->num)];
	uint32_t direction = 2 * conn + draw(d, 2);

	if (locks->is_wrong)
		return draw_wrong(d, locks, lock);
	if (draw(d, 6) == 0) {
		world_turn_to(d, direction);
		return world_draw_op(d, direction);
	}
	if (!lock->is_open)
		return draw_open(d, locks, lock);
	if (may_send_from(lock) && draw(d, 3) == 0)
		return draw_source(d, locks, lock);
	if (draw(d, 4))
		return draw_access(d, locks, lock);
	/* A type 1 window is closed by its owner alone, by opening it elsewhere. */
	return lock->kind == MODEL_WINDOW_1 ? draw_open(d, locks, lock)
					    : draw_close(d, locks, lock);
}

void world_draw_keys(struct draft *d, uint32_t conn)
{
	const struct world_direction *both = &d->w->directions[2 * conn];
	uint32_t left = STEPS_MIN + draw(d, STEPS_MAX - STEPS_MIN + 1);
	struct locks locks = {0};

	for (uint32_t n = 1 + draw(d, KEYS_MAX); n > 0; n--)
		if (!add_lock(d, &locks, conn))
			return;
	while (left-- > 0 && both[0].num < WORLD_OPS_MAX && both[1].num < WORLD_OPS_MAX) {
		locks.is_wrong = draw(d, WRONG_ONE_IN) == 0;
		if (!draw_step(d, &locks, conn))
			return;
		if (locks.is_wrong && left > 2)
			left = 2;
	}
}
