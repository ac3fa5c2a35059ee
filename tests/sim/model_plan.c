/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The plan. Each operation is carried out on an ideal memory when it is added, which gives the
 * bytes that it moves. For each byte of memory it is known who writes it, who reads it and when, so
 * that an operation whose outcome would depend on luck is refused.
 */
#include "model_state.h"

#include <stdlib.h>
#include <string.h>

/* ---- making ---- */

struct model *model_create(uint32_t num_nodes, uint32_t mem_bytes)
{
	struct model *m = calloc(1, sizeof(*m));

	if (!m)
		abort();
	m->num_nodes = num_nodes;
	m->mem_bytes = mem_bytes;
	m->images = model_grow(NULL, num_nodes * sizeof(m->images[0]));
	for (uint32_t i = 0; i < num_nodes; i++) {
		m->images[i].before = model_grow(NULL, mem_bytes);
		m->images[i].ideal = NULL;
		m->images[i].uses = calloc(mem_bytes, sizeof(struct use));
		if (!m->images[i].uses)
			abort();
		memset(m->images[i].before, 0, mem_bytes);
	}
	return m;
}

void model_destroy(struct model *m)
{
	for (uint32_t i = 0; i < m->num_nodes; i++) {
		free(m->images[i].before);
		free(m->images[i].ideal);
		free(m->images[i].uses);
	}
	for (uint32_t i = 0; i < m->num_queues; i++)
		free(m->queues[i].recvs);
	for (uint32_t i = 0; i < m->num_directions; i++) {
		for (uint32_t s = 0; s < m->directions[i].num; s++)
			free(m->directions[i].steps[s].data);
		free(m->directions[i].steps);
		free(m->directions[i].recv_of);
	}
	free(m->images);
	free(m->queues);
	free(m->keys);
	free(m->directions);
	free(m);
}

uint8_t *model_memory(struct model *m, uint32_t node)
{
	return m->images[node].before;
}

static uint8_t *ideal_of(struct model *m, uint32_t node)
{
	struct image *image = &m->images[node];

	if (!image->ideal) {
		image->ideal = model_grow(NULL, m->mem_bytes);
		memcpy(image->ideal, image->before, m->mem_bytes);
	}
	return image->ideal;
}

bool model_is_taken(const struct model *m, uint32_t node, uint32_t at)
{
	const struct use *use = &m->images[node].uses[at];

	return use->owner || use->is_source;
}

uint32_t model_add_recv_queue(struct model *m, uint32_t node, bool shared)
{
	m->queues = model_grow(m->queues, (m->num_queues + 1) * sizeof(m->queues[0]));
	m->queues[m->num_queues] = (struct recv_queue){.node = node, .shared = shared};
	return m->num_queues++;
}

uint32_t model_add_direction(struct model *m, const struct model_direction *conf)
{
	m->directions =
		model_grow(m->directions, (m->num_directions + 1) * sizeof(m->directions[0]));
	m->directions[m->num_directions] = (struct direction){.conf = *conf, .refused = MODEL_NONE};
	return m->num_directions++;
}

/* ---- the plan: one outcome ---- */

/* Who writes a byte: a receive queue, or a direction at its far or near end. */
static uint16_t owner_queue(uint32_t queue)
{
	return (uint16_t)(1 + 3 * queue);
}

static uint16_t owner_far(uint32_t direction)
{
	return (uint16_t)(2 + 3 * direction);
}

static uint16_t owner_near(uint32_t direction)
{
	return (uint16_t)(3 + 3 * direction);
}

static bool is_inside(struct model *m, uint32_t at, uint32_t bytes)
{
	return (at <= m->mem_bytes && bytes <= m->mem_bytes - at) ||
		model_complain(m, "plan: %u bytes at %u are not inside memory", bytes, at);
}

/* These bytes are written by `owner`, as nobody else's. */
static bool claim(struct model *m, uint32_t node, uint32_t at, uint32_t bytes, uint16_t owner)
{
	for (uint32_t i = at; i < at + bytes; i++) {
		struct use *use = &m->images[node].uses[i];

		if (use->is_source || (use->owner && use->owner != owner))
			return model_complain(m, "plan: byte %u of node %u has two users", i, node);
		use->owner = owner;
		if (use->writes < UINT8_MAX)
			use->writes++;
	}
	return true;
}

bool model_add_recv(struct model *m, uint32_t queue, const struct model_recv *recv)
{
	struct recv_queue *q = &m->queues[queue];

	if (!is_inside(m, recv->at, recv->bytes) ||
		!claim(m, q->node, recv->at, recv->bytes, owner_queue(queue)))
		return false;
	q->recvs = model_grow(q->recvs, (q->num + 1) * sizeof(q->recvs[0]));
	q->recvs[q->num++] = (struct recv){.recv = *recv};
	return true;
}

/* What is sent: bytes that stay, or an answer that a fence has waited for. */
static bool use_source(
	struct model *m, const struct direction *d, uint16_t near, uint32_t at, uint32_t bytes)
{
	for (uint32_t i = at; i < at + bytes; i++) {
		struct use *use = &m->images[d->conf.from].uses[i];

		if (use->owner && use->owner != near)
			return model_complain(m, "plan: byte %u is sent, but somebody's", i);
		if (use->owner && use->written_by >= d->last_fence)
			return model_complain(m, "plan: byte %u is sent before it is read", i);
		use->is_source = true;
	}
	return true;
}

/* Where an answer goes. */
static bool use_near(struct model *m, const struct direction *d, uint16_t near, uint32_t number,
	uint32_t at, uint32_t bytes)
{
	if (!claim(m, d->conf.from, at, bytes, near))
		return false;
	for (uint32_t i = at; i < at + bytes; i++)
		m->images[d->conf.from].uses[i].written_by = (uint16_t)number;
	return true;
}

static bool use_far(struct model *m, const struct direction *d, uint16_t far, uint32_t number,
	const struct model_op *op)
{
	for (uint32_t i = op->remote; i < op->remote + op->bytes; i++) {
		struct use *use = &m->images[d->conf.to].uses[i];

		if (op->kind != MODEL_READ) {
			if (use->read_by && use->read_by >= d->last_fence)
				return model_complain(m, "plan: byte %u is written while read", i);
			continue;
		}
		if (use->owner && use->owner != far)
			return model_complain(m, "plan: byte %u is read, but somebody's", i);
		use->is_source |= !use->owner;
		use->read_by = (uint16_t)number;
	}
	return op->kind == MODEL_READ || claim(m, d->conf.to, op->remote, op->bytes, far);
}

/* What an operation moves, at both ends. */
static bool use_both(
	struct model *m, const struct direction *d, uint32_t direction, const struct model_op *op)
{
	uint16_t near = owner_near(direction), far = owner_far(direction);
	uint32_t number = d->num + 1;

	return is_inside(m, op->local, op->bytes) &&
		(is_send(op->kind) || is_inside(m, op->remote, op->bytes)) &&
		(is_answered(op->kind) ? use_near(m, d, near, number, op->local, op->bytes)
				       : use_source(m, d, near, op->local, op->bytes)) &&
		(is_send(op->kind) || use_far(m, d, far, number, op));
}

/* Carries the operation out on ideal memory. */
static void imagine(struct model *m, const struct direction *d, struct step *step)
{
	uint8_t *near = ideal_of(m, d->conf.from), *far = ideal_of(m, d->conf.to);
	const struct model_op *op = &step->op;

	if (op->kind == MODEL_FLUSH || is_local(op->kind))
		return;
	step->data = model_grow(NULL, op->bytes ? op->bytes : 1);
	if (is_atomic(op->kind)) {
		uint64_t word;

		memcpy(&word, far + op->remote, 8);
		memcpy(step->data, &word, 8);
		if (op->kind == MODEL_FADD)
			word += op->compare_add;
		else if (word == op->compare_add)
			word = op->swap;
		step->after = word;
		memcpy(far + op->remote, &word, 8);
		memcpy(near + op->local, step->data, 8);
	} else if (op->kind == MODEL_READ) {
		memcpy(step->data, far + op->remote, op->bytes);
		memcpy(near + op->local, step->data, op->bytes);
	} else {
		memcpy(step->data, near + op->local, op->bytes);
		if (is_write(op->kind))
			memcpy(far + op->remote, step->data, op->bytes);
	}
}

/* The memory that an operation uses, at either end. */
static bool use_memory(struct model *m, uint32_t direction, const struct model_op *op)
{
	const struct direction *d = &m->directions[direction];

	if (op->kind == MODEL_FLUSH)
		return op->everywhere || is_inside(m, op->remote, op->bytes);
	if (is_local(op->kind))
		return is_inside(m, op->local, op->bytes);
	return use_both(m, d, direction, op);
}

/* What no plan may have, whatever came before. */
static bool check_op(struct model *m, const struct direction *d, const struct model_op *op)
{
	const struct direction *reverse = &m->directions[d->conf.reverse];

	if (is_word(op->kind) && op->bytes != 8)
		return model_complain(m, "plan: an atomic of %u bytes", op->bytes);
	if (is_reliable_only(op->kind) && d->conf.service != MODEL_RC)
		return model_complain(m, "plan: an operation with an answer on a service without");
	if (op->after > reverse->num)
		return model_complain(
			m, "plan: it waits for %u operations of %u", op->after, reverse->num);
	return true;
}

/* A message may be placed but for its end before its key is looked at. */
static bool moves_bytes(const struct direction *d, const struct step *step)
{
	return d->refused == MODEL_NONE &&
		(step->due == MODEL_SUCCESS || step->due == MODEL_RETRIES_OUT);
}

bool model_add_op(struct model *m, uint32_t direction, const struct model_op *op)
{
	struct direction *d = &m->directions[direction];
	struct step step = {.op = *op};
	uint32_t number = d->num + 1;

	if (op->fence)
		d->last_fence = number;
	if (!check_op(m, d, op) || !model_use_key(m, direction, op, &step.due))
		return false;
	if (moves_bytes(d, &step)) {
		if (!use_memory(m, direction, op))
			return false;
		imagine(m, d, &step);
	}
	if (d->refused == MODEL_NONE && step.due != MODEL_SUCCESS)
		d->refused = d->num;
	d->steps = model_grow(d->steps, number * sizeof(d->steps[0]));
	d->steps[d->num++] = step;
	return true;
}
