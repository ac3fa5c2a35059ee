/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The run: completions, held against the plan one by one as they are polled.
 */
#include "model_state.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void *model_grow(void *p, size_t bytes)
{
	p = realloc(p, bytes);
	if (!p)
		abort();
	return p;
}

bool model_complain(struct model *m, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	if (!m->wrong[0])
		vsnprintf(m->wrong, sizeof(m->wrong), format, args);
	va_end(args);
	return false;
}

const char *model_wrong(const struct model *m)
{
	return m->wrong;
}

/* ---- the run ---- */

void model_posted(struct model *m, uint32_t direction)
{
	m->directions[direction].posted++;
}

void model_recv_posted(struct model *m, uint32_t queue)
{
	m->queues[queue].posted++;
}

void model_ended(struct model *m, uint32_t direction, bool silently)
{
	m->directions[direction].ended = true;
	m->directions[direction].silently = silently;
}

bool model_is_broken(const struct model *m, uint32_t direction)
{
	return is_cut(&m->directions[direction]);
}

enum model_status model_refusal(const struct model *m, uint32_t direction)
{
	const struct direction *d = &m->directions[direction];

	return d->refused < d->posted ? d->steps[d->refused].due : MODEL_SUCCESS;
}

bool model_has_done(const struct model *m, uint32_t direction, uint32_t n)
{
	return m->directions[direction].done >= n;
}

static bool wants_completion(const struct direction *d, uint32_t index)
{
	return d->conf.signal_all || d->steps[index].op.signalled;
}

bool model_is_done(const struct model *m, uint32_t direction)
{
	const struct direction *d = &m->directions[direction];

	if (d->silently)
		return true;
	if (is_cut(d))
		return d->done + d->failed + d->flushed == d->posted;
	if (d->refused < d->posted)
		return false;
	for (uint32_t i = d->done; i < d->posted; i++)
		if (wants_completion(d, i))
			return false;
	return true;
}

/* Whether bytes are there; those that are written more than once may already be others. */
static bool is_there(const struct model *m, uint32_t node, uint32_t at, const uint8_t *data,
	uint32_t bytes, model_memory_t memory)
{
	for (uint32_t i = 0; i < bytes; i++)
		if (m->images[node].uses[at + i].writes == 1 && memory[node][at + i] != data[i])
			return false;
	return true;
}

/* What a FLUSH promises: all that came before it into what it names is in memory. */
static bool is_flushed(
	const struct model *m, const struct direction *d, uint32_t index, model_memory_t memory)
{
	const struct model_op *flush = &d->steps[index].op;

	for (uint32_t i = 0; i < index; i++) {
		const struct model_op *op = &d->steps[i].op;

		for (uint32_t at = 0; is_write(op->kind) && at < op->bytes; at++) {
			uint32_t to = op->remote + at;

			if ((flush->everywhere || to - flush->remote < flush->bytes) &&
				!is_there(m, d->conf.to, to, d->steps[i].data + at, 1, memory))
				return false;
		}
	}
	return true;
}

/* Those before this one that need no completion of their own are done. */
static void pass_unsignalled(struct direction *d, uint64_t id)
{
	while (d->done < d->posted && d->steps[d->done].op.id != id &&
		!wants_completion(d, d->done))
		d->done++;
}

static bool check_send_success(struct model *m, struct direction *d,
	const struct model_completion *c, model_memory_t memory)
{
	const struct step *step;
	uint32_t bytes;

	pass_unsignalled(d, c->id);
	if (d->done == d->posted)
		return model_complain(m,
			"%u: %" PRIu64 " completed, which was not posted, or before", c->direction,
			c->id);
	if (d->done >= d->refused)
		return model_complain(m, "%u: %" PRIu64 " completed, but %" PRIu64 " is refused",
			c->direction, c->id, d->steps[d->refused].op.id);
	step = &d->steps[d->done];
	bytes = is_local(step->op.kind) ? 0 : step->op.bytes;
	if (step->op.id != c->id)
		return model_complain(m, "%u: %" PRIu64 " completed before %" PRIu64, c->direction,
			c->id, step->op.id);
	if (!wants_completion(d, d->done))
		return model_complain(m, "%u: %" PRIu64 " completed unasked", c->direction, c->id);
	if (c->what != what_of(step->op.kind))
		return model_complain(m, "%u: %" PRIu64 " completed as something else, %d",
			c->direction, c->id, c->what);
	if (c->bytes != bytes)
		return model_complain(m, "%u: %" PRIu64 " completed with %u bytes of %u",
			c->direction, c->id, c->bytes, bytes);
	if (is_answered(step->op.kind) && !step->op.unsteady &&
		!is_there(m, d->conf.from, step->op.local, step->data, step->op.bytes, memory))
		return model_complain(m, "%u: %" PRIu64 " completed, but its answer is not there",
			c->direction, c->id);
	if (step->op.kind == MODEL_FLUSH && !is_flushed(m, d, d->done, memory))
		return model_complain(m,
			"%u: %" PRIu64 " completed, but what came before is not in memory",
			c->direction, c->id);
	d->done++;
	return true;
}

/*
 * Retries may run out at any up to the one that the peer refuses, since what the peer says may be
 * lost; on an unreliable service nobody hears of a peer at all.
 */
static bool may_fail_so(const struct direction *d, enum model_status status)
{
	const struct step *step = &d->steps[d->done];
	bool here = is_local(step->op.kind) || is_refused_here(step->due);

	if (d->conf.service != MODEL_RC && !here)
		return false;
	if (status == MODEL_RETRIES_OUT)
		return d->done <= d->refused && !here;
	return status == step->due;
}

/* The one that failed: all before it are done. */
static bool check_send_failure(
	struct model *m, struct direction *d, const struct model_completion *c)
{
	const struct step *step;

	pass_unsignalled(d, c->id);
	step = &d->steps[d->done];
	if (d->done == d->posted || step->op.id != c->id)
		return model_complain(m, "%u: %" PRIu64 " failed out of turn, status %d",
			c->direction, c->id, c->status);
	if (!may_fail_so(d, c->status))
		return model_complain(m, "%u: %" PRIu64 " failed with status %d, not %d",
			c->direction, c->id, c->status, step->due);
	d->failed = true;
	d->failed_with = c->status;
	return true;
}

bool model_may_have_ended_peer(const struct direction *d)
{
	return d->refused < d->posted && !is_refused_here(d->steps[d->refused].due);
}

/* Without a failure of its own only a queue pair that refused something has ended. */
static bool check_send_flush(struct model *m, struct direction *d, const struct model_completion *c)
{
	uint32_t next;

	if (!is_cut(d) && !model_may_have_ended_peer(&m->directions[d->conf.reverse]))
		return model_complain(
			m, "%u: %" PRIu64 " flushed, but nothing had ended", c->direction, c->id);
	if (!is_cut(d))
		pass_unsignalled(d, c->id);
	next = d->done + d->failed + d->flushed;
	if (next >= d->posted || d->steps[next].op.id != c->id)
		return model_complain(
			m, "%u: %" PRIu64 " flushed out of turn", c->direction, c->id);
	d->flushed++;
	return true;
}

static bool check_send(struct model *m, struct direction *d, const struct model_completion *c,
	model_memory_t memory)
{
	if (c->status == MODEL_FLUSHED && !d->silently)
		return check_send_flush(m, d, c);
	if (is_cut(d))
		return model_complain(m, "%u: %" PRIu64 " completed with status %d after the end",
			c->direction, c->id, c->status);
	if (c->status == MODEL_SUCCESS)
		return check_send_success(m, d, c, memory);
	return check_send_failure(m, d, c);
}

/* ---- receives ---- */

uint32_t model_receiving_step(const struct direction *d, uint32_t rank)
{
	for (uint32_t i = 0; i < d->posted; i++)
		if (takes_recv(d->steps[i].op.kind) && rank-- == 0)
			return i;
	return MODEL_NONE;
}

/* The posted receive that a completion is about; MODEL_NONE: there is none, or it is not next. */
static uint32_t find_recv(const struct recv_queue *q, uint64_t id)
{
	for (uint32_t i = q->shared ? 0 : q->polled; i < q->posted; i++) {
		if (q->recvs[i].recv.id == id && !is_over(&q->recvs[i]))
			return i;
		if (!q->shared)
			break;
	}
	return MODEL_NONE;
}

/* How a completed receive differs from what this operation makes of it, or NULL. */
static const char *difference(const struct model *m, const struct direction *d,
	const struct step *step, const struct model_recv *recv, const struct model_completion *c,
	model_memory_t memory)
{
	const struct model_op *op = &step->op;
	uint32_t grh = d->conf.service == MODEL_UD ? MODEL_GRH_BYTES : 0;
	uint32_t at = is_send(op->kind) ? recv->at + grh : op->remote;

	if (c->what != (is_send(op->kind) ? MODEL_IS_RECV : MODEL_IS_RECV_OF_WRITE))
		return "is of another kind";
	if (c->bytes != op->bytes + grh)
		return "has another length";
	if (c->has_imm != has_imm(op->kind) || (c->has_imm && c->imm != op->imm))
		return "has another immediate value";
	if (c->inv != (op->kind == MODEL_SEND_INV ? op->key : 0))
		return "invalidated another key";
	if (is_send(op->kind) && recv->bytes < op->bytes + grh)
		return "is longer than its receive";
	return op->unsteady || is_there(m, d->conf.to, at, step->data, op->bytes, memory)
		? NULL
		: "was announced before its bytes";
}

/* Unreliable: the first message still expected that the receive can be. */
static bool match_unreliable(struct model *m, struct direction *d, struct recv *recv,
	const struct model_completion *c, model_memory_t memory)
{
	for (uint32_t i = d->conf.may_reorder ? 0 : d->next_match; i < count_sent(d); i++) {
		struct step *step = &d->steps[i];

		if (!takes_recv(step->op.kind) || (step->received && !d->conf.may_repeat) ||
			difference(m, d, step, &recv->recv, c, memory))
			continue;
		step->received = true;
		recv->step = i;
		d->next_match = d->conf.may_repeat ? i : i + 1;
		return true;
	}
	return model_complain(
		m, "%u: receive %" PRIu64 " is no message that may come now", c->direction, c->id);
}

static bool match_reliable(struct model *m, const struct direction *d,
	const struct model_recv *recv, const struct model_completion *c, model_memory_t memory)
{
	uint32_t i = model_receiving_step(d, d->received);
	const char *wrong;

	if (i == MODEL_NONE || i >= d->refused)
		return model_complain(m, "%u: receive %" PRIu64 " completed, but nothing was sent",
			c->direction, c->id);
	wrong = difference(m, d, &d->steps[i], recv, c, memory);
	return !wrong ||
		model_complain(m, "%u: receive %" PRIu64 " %s", c->direction, c->id, wrong);
}

/* What a broken message held of a queue of its own waits for the next message instead. */
static bool may_end_so(const struct model *m, const struct direction *d, enum model_status status)
{
	const struct direction *ender = &m->directions[d->conf.reverse];
	const struct recv_queue *q = &m->queues[d->conf.recv_queue];

	if (ender->silently || (ender->ended && status == MODEL_SUCCESS))
		return false;
	if (status != MODEL_BROKEN_OFF)
		return status == MODEL_SUCCESS || status == MODEL_FLUSHED;
	if (d->conf.service != MODEL_RC)
		return q->shared && d->conf.service == MODEL_UC;
	return d->refused < d->posted && d->steps[d->refused].op.kind == MODEL_SEND_INV &&
		model_receiving_step(d, d->received) == d->refused;
}

static bool check_recv(struct model *m, struct direction *d, const struct model_completion *c,
	model_memory_t memory)
{
	struct recv_queue *q = &m->queues[d->conf.recv_queue];
	uint32_t at = find_recv(q, c->id);

	if (at == MODEL_NONE)
		return model_complain(
			m, "%u: receive %" PRIu64 " completed out of turn", c->direction, c->id);
	if (!may_end_so(m, d, c->status))
		return model_complain(m, "%u: receive %" PRIu64 " completed with status %d",
			c->direction, c->id, c->status);
	q->recvs[at].flushed = c->status == MODEL_FLUSHED;
	q->recvs[at].broken_off = c->status == MODEL_BROKEN_OFF;
	q->recvs[at].completed = c->status == MODEL_SUCCESS;
	q->recvs[at].by = c->direction;
	if (!q->shared) {
		if (c->status == MODEL_SUCCESS && at > 0 && q->recvs[at - 1].flushed)
			return model_complain(m, "%u: receive %" PRIu64 " completed after a flush",
				c->direction, c->id);
		q->polled++;
	}
	d->recv_of = model_grow(d->recv_of, (d->num_recv_of + 1) * sizeof(d->recv_of[0]));
	d->recv_of[d->num_recv_of++] = at;
	if (c->status != MODEL_SUCCESS)
		return true;
	if (d->conf.service == MODEL_RC ? !match_reliable(m, d, &q->recvs[at].recv, c, memory)
					: !match_unreliable(m, d, &q->recvs[at], c, memory))
		return false;
	d->received++;
	return true;
}

bool model_completed(struct model *m, const struct model_completion *c, model_memory_t memory)
{
	struct direction *d = &m->directions[c->direction];

	return c->recv ? check_recv(m, d, c, memory) : check_send(m, d, c, memory);
}
