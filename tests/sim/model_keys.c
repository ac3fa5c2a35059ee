/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Keys in the plan: what each stands for, from operation to operation, and who is refused (the
 * InfiniBand specification's 10.6.7 for windows, 10.6.4 for fast regions, 9.4.1.1.3 for SEND with
 * invalidate). All that is done with a key must be in one order, or nobody could say.
 */
#include "model_state.h"

#include <stdlib.h>

uint32_t model_add_key(struct model *m, uint32_t node, enum model_key_kind kind)
{
	m->keys = model_grow(m->keys, (m->num_keys + 1) * sizeof(m->keys[0]));
	m->keys[m->num_keys] = (struct key){.kind = kind, .node = node};
	return ++m->num_keys;
}

static struct key *key_of(const struct model *m, uint32_t number)
{
	return &m->keys[number - 1];
}

static bool is_window(const struct key *key)
{
	return key->kind != MODEL_FAST;
}

static bool changes_key(enum model_kind kind)
{
	return is_local(kind) || kind == MODEL_SEND_INV;
}

static uint32_t right_for(enum model_kind kind)
{
	if (is_write(kind))
		return MODEL_MAY_WRITE;
	if (is_atomic(kind))
		return MODEL_MAY_ATOMIC;
	return kind == MODEL_READ ? MODEL_MAY_READ : MODEL_MAY_FLUSH;
}

static bool is_in_range(const struct key *key, uint32_t at, uint32_t bytes)
{
	return at >= key->at && at - key->at <= key->bytes && bytes <= key->bytes - (at - key->at);
}

/* A type 2 window belongs to the queue pair that bound it, at the far end of the user's. */
static bool is_of(const struct key *key, uint32_t direction)
{
	return key->kind != MODEL_WINDOW_2 || key->binder == direction;
}

static bool may_access(
	const struct model *m, const struct key *key, uint32_t direction, const struct model_op *op)
{
	/* Who moves nothing shows no key; but a FLUSH does. */
	if (op->bytes == 0 && op->kind != MODEL_FLUSH)
		return true;
	return key->is_open && !op->old_key && is_of(key, m->directions[direction].conf.reverse) &&
		(key->rights & right_for(op->kind)) &&
		(op->everywhere || is_in_range(key, op->remote, op->bytes));
}

/* binder: the direction that the queue pair which would close it sends in. */
static bool may_close(const struct key *key, uint32_t binder, const struct model_op *op)
{
	return key->kind != MODEL_WINDOW_1 && key->is_open && !op->old_key && is_of(key, binder) &&
		key->windows == 0;
}

static bool may_bind(const struct model *m, const struct key *key, const struct model_op *op)
{
	const struct key *region = op->region ? key_of(m, op->region) : NULL;

	if (!is_window(key) || op->old_key)
		return false;
	if (key->kind == MODEL_WINDOW_2 && (key->is_open || op->bytes == 0))
		return false;
	if (!region || op->bytes == 0)
		return true;
	return !is_window(region) && region->is_open && (region->rights & MODEL_MAY_BIND) &&
		is_in_range(region, op->local, op->bytes);
}

static bool may_register(const struct key *key, const struct model_op *op)
{
	return key->kind == MODEL_FAST && !key->is_open && !op->old_key;
}

static enum model_status due_of(
	const struct model *m, const struct key *key, uint32_t direction, const struct model_op *op)
{
	uint32_t reverse = m->directions[direction].conf.reverse;

	/* No answer says why a SEND is not taken. */
	if (op->kind == MODEL_SEND_INV)
		return may_close(key, reverse, op) ? MODEL_SUCCESS : MODEL_RETRIES_OUT;
	if (op->kind == MODEL_INVALIDATE)
		return may_close(key, direction, op) ? MODEL_SUCCESS : MODEL_CHANGE_REFUSED;
	if (op->kind == MODEL_BIND)
		return may_bind(m, key, op) ? MODEL_SUCCESS : MODEL_BIND_REFUSED;
	if (op->kind == MODEL_REGISTER)
		return may_register(key, op) ? MODEL_SUCCESS : MODEL_CHANGE_REFUSED;
	return may_access(m, key, direction, op) ? MODEL_SUCCESS : MODEL_ACCESS_REFUSED;
}

/* ---- one order ---- */

/* Which of the two directions of its connection; a key is for one connection. */
static bool find_user(struct model *m, struct key *key, uint32_t direction, uint32_t *side)
{
	if (!key->is_used) {
		key->is_used = true;
		key->users[0] = direction;
		key->users[1] = m->directions[direction].conf.reverse;
	}
	*side = key->users[1] == direction;
	return key->users[*side] == direction ||
		model_complain(m, "plan: %u uses a key of another connection", direction);
}

/* An answer to a READ may have to be fetched again until it is there, so a fence must wait. */
static bool leaves_reads(
	const struct direction *d, const struct model_op *op, const struct key *key, uint32_t side)
{
	return op->kind == MODEL_SEND_INV && key->read[side] && key->read[side] >= d->last_fence;
}

/* Notes this use of a key; false: not all that was done with it before is over by then. */
static bool take_turn(
	struct model *m, struct key *key, uint32_t direction, const struct model_op *op)
{
	const struct direction *d = &m->directions[direction];
	uint32_t side;

	if (!find_user(m, key, direction, &side))
		return false;
	if (key->last[1 - side] > op->after)
		return model_complain(
			m, "plan: %u uses a key that the peer may still use", direction);
	if (leaves_reads(d, op, key, side))
		return model_complain(
			m, "plan: %u closes a key that it may still read by", direction);
	key->last[side] = d->num + 1;
	if (op->kind == MODEL_READ)
		key->read[side] = d->num + 1;
	return true;
}

/* Every key that this one's change counts at has its turn too. */
static bool take_turns(
	struct model *m, struct key *key, uint32_t direction, const struct model_op *op)
{
	return take_turn(m, key, direction, op) &&
		(!changes_key(op->kind) || !key->region ||
			take_turn(m, key_of(m, key->region), direction, op)) &&
		(op->kind != MODEL_BIND || !op->region ||
			take_turn(m, key_of(m, op->region), direction, op));
}

/* ---- changes ---- */

static void close_key(struct model *m, struct key *key)
{
	if (key->region)
		key_of(m, key->region)->windows--;
	key->region = 0;
	key->is_open = false;
}

static void open_key(
	struct model *m, struct key *key, uint32_t direction, const struct model_op *op)
{
	close_key(m, key);
	if (op->kind == MODEL_BIND && op->bytes == 0)
		return;
	key->is_open = true;
	key->at = op->local;
	key->bytes = op->bytes;
	key->rights = op->rights;
	key->binder = direction;
	if (op->kind == MODEL_BIND && op->region) {
		key->region = op->region;
		key_of(m, op->region)->windows++;
	}
}

void model_open_key(struct model *m, uint32_t number, uint32_t at, uint32_t bytes, uint32_t rights)
{
	struct key *key = key_of(m, number);

	key->is_open = true;
	key->at = at;
	key->bytes = bytes;
	key->rights = rights;
}

static bool is_on(struct model *m, const struct key *key, uint32_t node)
{
	return key->node == node || model_complain(m, "plan: a key of another node");
}

/* What is sent from a fast region of the near end, all of it inside. */
static bool use_source_key(
	struct model *m, uint32_t direction, const struct model_op *op, enum model_status *due)
{
	const struct direction *d = &m->directions[direction];
	struct key *key = key_of(m, op->source);

	if (op->key != 0 || !(is_send(op->kind) || is_write(op->kind)))
		return model_complain(m, "plan: a source with a key for this operation");
	if (!is_on(m, key, d->conf.from))
		return false;
	if (d->refused != MODEL_NONE)
		return true;
	if (!take_turn(m, key, direction, op))
		return false;
	if (op->bytes > 0 && (!key->is_open || op->old_key))
		*due = MODEL_SOURCE_REFUSED;
	else if (op->bytes > 0 && !is_in_range(key, op->local, op->bytes))
		return model_complain(m, "plan: some of it may be sent");
	return true;
}

/* Opens or closes a key, or uses it at the far end. */
static bool use_named_key(
	struct model *m, uint32_t direction, const struct model_op *op, enum model_status *due)
{
	const struct direction *d = &m->directions[direction];
	struct key *key = key_of(m, op->key);

	if (!is_on(m, key, is_local(op->kind) ? d->conf.from : d->conf.to))
		return false;
	/* Nothing of this happens any more. */
	if (d->refused != MODEL_NONE)
		return true;
	if (!take_turns(m, key, direction, op))
		return false;
	*due = due_of(m, key, direction, op);
	if (*due != MODEL_SUCCESS)
		return true;
	if (op->kind == MODEL_BIND || op->kind == MODEL_REGISTER)
		open_key(m, key, direction, op);
	else if (changes_key(op->kind))
		close_key(m, key);
	return true;
}

bool model_use_key(
	struct model *m, uint32_t direction, const struct model_op *op, enum model_status *due)
{
	*due = MODEL_SUCCESS;
	if (op->source)
		return use_source_key(m, direction, op, due);
	if (op->key)
		return use_named_key(m, direction, op, due);
	return !changes_key(op->kind) || model_complain(m, "plan: a change of no key");
}
