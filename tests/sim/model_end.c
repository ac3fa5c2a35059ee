/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The end: completions that never came, and memory byte by byte. Slow on purpose: where retries ran
 * out, every prefix of the operations is tried until one makes what memory shows.
 */
#include "model_state.h"

#include <stdlib.h>
#include <string.h>

/* The receive that the rank-th message of a reliable direction took, or is taking. */
static const struct model_recv *recv_of_rank(
	const struct model *m, const struct direction *d, uint32_t rank)
{
	const struct recv_queue *q = &m->queues[d->conf.recv_queue];

	if (q->shared)
		return rank < d->num_recv_of ? &q->recvs[d->recv_of[rank]].recv : NULL;
	return rank < q->posted ? &q->recvs[rank].recv : NULL;
}

/* What an operation does to the memory at one end. */
struct effect {
	uint32_t node;
	uint32_t at;
	uint32_t bytes;
	const uint8_t *data; /* NULL: it may be anything */
};

static struct effect near_effect(const struct direction *d, uint32_t index)
{
	const struct step *step = &d->steps[index];

	if (!is_answered(step->op.kind) || !step->data)
		return (struct effect){0};
	return (struct effect){d->conf.from, step->op.local, step->op.bytes, step->data};
}

static struct effect far_effect(const struct model *m, const struct direction *d, uint32_t index)
{
	const struct step *step = &d->steps[index];
	const struct model_recv *recv;
	uint32_t rank = 0;

	if (!step->data)
		return (struct effect){0};
	if (is_atomic(step->op.kind))
		return (struct effect){
			d->conf.to, step->op.remote, 8, (const uint8_t *)&step->after};
	if (is_write(step->op.kind))
		return (struct effect){d->conf.to, step->op.remote, step->op.bytes, step->data};
	if (!is_send(step->op.kind))
		return (struct effect){0};
	for (uint32_t i = 0; i < index; i++)
		rank += takes_recv(d->steps[i].op.kind);
	recv = recv_of_rank(m, d, rank);
	if (!recv)
		return (struct effect){0};
	return (struct effect){d->conf.to, recv->at, step->op.bytes, step->data};
}

/* What is known of memory at the end: a value for each byte, and what else some may be. */
struct ending {
	uint8_t **expected;
	uint8_t **is_exact; /* the value alone will do */
	struct effect *open;
	uint32_t num_open;
};

static void apply(uint8_t *image, struct effect e)
{
	if (e.bytes > 0 && e.data)
		memcpy(image + e.at, e.data, e.bytes);
}

static void leave_open(struct ending *end, struct effect e)
{
	end->open = model_grow(end->open, (end->num_open + 1) * sizeof(end->open[0]));
	end->open[end->num_open++] = e;
}

static bool covers(struct effect e, uint32_t node, uint32_t at, uint8_t value)
{
	return e.node == node && at >= e.at && at - e.at < e.bytes &&
		(!e.data || e.data[at - e.at] == value);
}

/* Whether all that a direction may change at its far end is as after its first n operations. */
static bool is_prefix(const struct model *m, const struct direction *d, uint32_t n,
	uint8_t *scratch, const uint8_t *mem)
{
	struct effect open = {0};
	uint32_t receives = 0;

	for (uint32_t i = 0; i < d->posted; i++) {
		struct effect e = far_effect(m, d, i);

		memcpy(scratch + e.at, m->images[d->conf.to].before + e.at, e.bytes);
	}
	for (uint32_t i = 0; i < n; i++) {
		receives += takes_recv(d->steps[i].op.kind);
		apply(scratch, far_effect(m, d, i));
	}
	if (receives < d->received || receives > d->received + count_unheard(m, d))
		return false;
	if (n < d->posted && !is_word(d->steps[n].op.kind))
		open = far_effect(m, d, n);
	for (uint32_t i = 0; i < d->posted; i++) {
		struct effect e = far_effect(m, d, i);

		for (uint32_t at = e.at; at < e.at + e.bytes; at++)
			if (mem[at] != scratch[at] && !covers(open, d->conf.to, at, mem[at]))
				return false;
	}
	return true;
}

static bool is_possible(
	const struct model *m, const struct direction *d, uint32_t n, const uint8_t *mem)
{
	uint8_t *scratch = model_grow(NULL, m->mem_bytes);
	bool possible = is_prefix(m, d, n, scratch, mem);

	free(scratch);
	return possible;
}

/* How many operations were carried out: all, or where it broke as memory shows. */
static uint32_t carried_out(const struct model *m, const struct direction *d, const uint8_t *mem)
{
	uint32_t n;

	if (!is_cut(d))
		return d->posted;
	for (n = d->done; n <= d->posted && n <= d->refused; n++)
		if (is_possible(m, d, n, mem))
			return n;
	return MODEL_NONE;
}

/*
 * A message that was on its way when retries ran out may have begun to fill a receive; which one of
 * a shared queue, nobody has said.
 */
static void leave_begun(
	const struct model *m, const struct direction *d, struct ending *end, model_memory_t memory)
{
	const struct recv_queue *q = &m->queues[d->conf.recv_queue];
	uint32_t at = model_receiving_step(d, d->received);
	const struct step *step = at == MODEL_NONE ? NULL : &d->steps[at];

	if (!q->shared || !step || at > d->refused || !is_send(step->op.kind) ||
		recv_of_rank(m, d, d->received) || !is_possible(m, d, at, memory[d->conf.to]))
		return;
	for (uint32_t r = 0; r < q->posted; r++) {
		const struct model_recv *recv = &q->recvs[r].recv;
		uint32_t bytes = step->op.bytes < recv->bytes ? step->op.bytes : recv->bytes;

		if (!is_over(&q->recvs[r]))
			leave_open(end, (struct effect){d->conf.to, recv->at, bytes, step->data});
	}
}

/* Both ends of what was changed while it was moved. */
static void leave_unsteady(
	const struct model *m, const struct direction *d, uint32_t index, struct ending *end)
{
	const struct model_op *op = &d->steps[index].op;
	struct effect far = far_effect(m, d, index);

	if (op->kind == MODEL_READ)
		far = (struct effect){d->conf.to, op->remote, op->bytes, NULL};
	far.data = NULL;
	leave_open(end, far);
	leave_open(end, (struct effect){d->conf.from, op->local, op->bytes, NULL});
}

static bool end_reliable(
	struct model *m, uint32_t number, struct ending *end, model_memory_t memory)
{
	const struct direction *d = &m->directions[number];
	uint32_t n = carried_out(m, d, memory[d->conf.to]);
	uint32_t answered = is_cut(d) ? d->done : d->posted;

	if (n == MODEL_NONE)
		return model_complain(m,
			"%u: memory of node %u is what no prefix of the operations makes", number,
			d->conf.to);
	if (!is_cut(d) && model_receiving_step(d, d->received + count_unheard(m, d)) != MODEL_NONE)
		return model_complain(m, "%u: receive %u never completed", number, d->received);
	for (uint32_t i = 0; i < n; i++)
		apply(end->expected[d->conf.to], far_effect(m, d, i));
	for (uint32_t i = 0; i < answered; i++)
		apply(end->expected[d->conf.from], near_effect(d, i));
	if (n < d->posted && !is_word(d->steps[n].op.kind))
		leave_open(end, far_effect(m, d, n));
	if (answered < d->posted)
		leave_open(end, near_effect(d, answered));
	if (is_cut(d) || count_unheard(m, d) > 0)
		leave_begun(m, d, end, memory);
	for (uint32_t i = 0; i < d->posted; i++)
		if (d->steps[i].op.unsteady)
			leave_unsteady(m, d, i, end);
	return true;
}

/*
 * Whether a message that was not whole may lie in a receive. One of a shared queue is used once,
 * by whoever says so in the end.
 */
static bool may_hold_part(const struct recv_queue *q, uint32_t number, uint32_t r)
{
	const struct recv *recv = &q->recvs[r];

	return !q->shared || !is_over(recv) || (!recv->completed && recv->by == number);
}

static bool may_hold_header(const struct recv_queue *q, uint32_t number, uint32_t r)
{
	return !q->shared || (q->recvs[r].completed && q->recvs[r].by == number);
}

/* Any message may have come, or a part of it, into any receive; those that completed are there. */
static void end_unreliable(struct model *m, uint32_t number, struct ending *end)
{
	const struct direction *d = &m->directions[number];
	const struct recv_queue *q = &m->queues[d->conf.recv_queue];
	uint32_t grh = d->conf.service == MODEL_UD ? MODEL_GRH_BYTES : 0;

	for (uint32_t i = 0; i < count_sent(d); i++) {
		const struct step *step = &d->steps[i];
		struct effect e = {d->conf.to, step->op.remote, step->op.bytes, step->data};

		if (is_write(step->op.kind))
			leave_open(end, e);
		for (uint32_t r = 0; is_send(step->op.kind) && r < q->posted; r++) {
			uint32_t room = q->recvs[r].recv.bytes;

			if (!may_hold_part(q, number, r))
				continue;
			room = room > grh ? room - grh : 0;
			e.at = q->recvs[r].recv.at + grh;
			e.bytes = step->op.bytes < room ? step->op.bytes : room;
			leave_open(end, e);
		}
	}
	for (uint32_t r = 0; grh > 0 && r < q->posted; r++) {
		const struct model_recv *recv = &q->recvs[r].recv;

		if (may_hold_header(q, number, r))
			leave_open(end,
				(struct effect){d->conf.to, recv->at,
					grh < recv->bytes ? grh : recv->bytes, NULL});
	}
	for (uint32_t i = 0; i < d->num_recv_of; i++) {
		const struct recv *recv = &q->recvs[d->recv_of[i]];
		const struct step *step = recv->completed ? &d->steps[recv->step] : NULL;
		uint32_t at = 0;

		if (!step)
			continue;
		at = is_send(step->op.kind) ? recv->recv.at + grh : step->op.remote;
		for (uint32_t b = 0; b < step->op.bytes; b++) {
			if (m->images[d->conf.to].uses[at + b].writes > 1)
				continue;
			end->expected[d->conf.to][at + b] = step->data[b];
			end->is_exact[d->conf.to][at + b] = 1;
		}
	}
}

static bool check_memory(struct model *m, const struct ending *end, model_memory_t memory)
{
	for (uint32_t node = 0; node < m->num_nodes; node++) {
		for (uint32_t at = 0; at < m->mem_bytes; at++) {
			uint8_t value = memory[node][at];
			bool good = value == end->expected[node][at];

			for (uint32_t i = 0; !good && i < end->num_open; i++)
				good = !end->is_exact[node][at] &&
					covers(end->open[i], node, at, value);
			if (!good)
				return model_complain(m, "byte %u of node %u is 0x%02x, not 0x%02x",
					at, node, value, end->expected[node][at]);
		}
	}
	return true;
}

/* Where a failure of an operation is: on an unreliable service the queue pair goes on receiving. */
static bool ends_receives(const struct direction *d)
{
	return d->conf.service == MODEL_RC || d->ended;
}

/* Receives that were flushed when the queue pair at the far end of a direction ended, or not. */
static bool check_flushed_receives(struct model *m, uint32_t number)
{
	const struct direction *d = &m->directions[number];
	const struct recv_queue *q = &m->queues[d->conf.recv_queue];
	const struct direction *reverse = &m->directions[d->conf.reverse];
	bool ended = (is_cut(reverse) && ends_receives(reverse)) ||
		d->failed_with == MODEL_ACCESS_REFUSED;
	bool broke = (reverse->failed || reverse->ended) && ends_receives(reverse);
	uint32_t flushed = 0;

	for (uint32_t i = 0; i < d->num_recv_of; i++)
		flushed += q->recvs[d->recv_of[i]].flushed;
	if (reverse->silently)
		return true;
	if (flushed > 0 && !broke && !model_may_have_ended_peer(d))
		return model_complain(
			m, "%u: receives were flushed, but nothing had ended", number);
	if (q->shared && flushed > 1)
		return model_complain(m, "%u: %u receives were flushed, but it held one at most",
			number, flushed);
	if ((ended || flushed > 0) && !q->shared && q->polled != q->posted)
		return model_complain(m,
			"%u: %u receives were posted, but %u completed and flushed", number,
			q->posted, q->polled);
	return true;
}

/* Completions that are missing, or should not be. */
static bool check_completions(struct model *m, uint32_t number)
{
	const struct direction *d = &m->directions[number];

	if (!model_is_done(m, number))
		return model_complain(m,
			"%u: %u operations were posted, but completions end with %u", number,
			d->posted, d->done + d->failed + d->flushed);
	return check_flushed_receives(m, number);
}

static uint8_t **make_maps(const struct model *m, bool of_before)
{
	uint8_t **maps = model_grow(NULL, m->num_nodes * sizeof(maps[0]));

	for (uint32_t i = 0; i < m->num_nodes; i++) {
		maps[i] = calloc(m->mem_bytes, 1);
		if (!maps[i])
			abort();
		if (of_before)
			memcpy(maps[i], m->images[i].before, m->mem_bytes);
	}
	return maps;
}

static void free_maps(const struct model *m, uint8_t **maps)
{
	for (uint32_t i = 0; i < m->num_nodes; i++)
		free(maps[i]);
	free(maps);
}

bool model_check_end(struct model *m, model_memory_t memory)
{
	struct ending end = {.expected = make_maps(m, true), .is_exact = make_maps(m, false)};
	bool good = !m->wrong[0];

	for (uint32_t i = 0; good && i < m->num_directions; i++) {
		good = check_completions(m, i);
		if (good && m->directions[i].conf.service == MODEL_RC)
			good = end_reliable(m, i, &end, memory);
		else if (good)
			end_unreliable(m, i, &end);
	}
	good = good && check_memory(m, &end, memory);
	free_maps(m, end.expected);
	free_maps(m, end.is_exact);
	free(end.open);
	return good;
}
