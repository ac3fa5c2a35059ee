/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Endpoint 0's requests are direction 0 of the model, endpoint 1's direction 1; receives of an
 * endpoint are the queue of the other's.
 */
#include "judge.h"

#include <string.h>

#include "words.h"

static enum model_service service_of(const struct endpoint *ep)
{
	if (ep->conf.caps.type == UROCE_QP_RC)
		return MODEL_RC;
	return ep->conf.caps.type == UROCE_QP_UC ? MODEL_UC : MODEL_UD;
}

void judge_begin(struct judge *j, struct sim *sim, const uint8_t *const memory[2], uint32_t bytes)
{
	*j = (struct judge){.sim = sim, .model = model_create(2, bytes)};
	for (uint32_t i = 0; i < 2; i++) {
		j->memory[i] = memory ? memory[i] : sim->ep[i].mem;
		memcpy(model_memory(j->model, i), j->memory[i], bytes);
	}
	for (uint32_t i = 0; i < 2; i++) {
		struct model_direction conf = {.service = service_of(&sim->ep[i]),
			.from = i,
			.to = 1 - i,
			.recv_queue = model_add_recv_queue(
				j->model, 1 - i, sim->ep[1 - i].conf.srq_wr > 0),
			.reverse = 1 - i,
			.signal_all = sim->ep[i].conf.signal_all};

		model_add_direction(j->model, &conf);
	}
}

void judge_end(struct judge *j)
{
	model_destroy(j->model);
}

void judge_note_send(struct judge *j, int side, const struct model_op *op)
{
	/* What the model does not accept it complains of at the end. */
	if (model_add_op(j->model, (uint32_t)side, op))
		model_posted(j->model, (uint32_t)side);
}

void judge_add_fast(struct judge *j, int side, uint32_t key, uint32_t at, uint32_t bytes)
{
	uint32_t number = model_add_key(j->model, (uint32_t)side, MODEL_FAST);

	model_open_key(j->model, number, at, bytes, 0);
	j->keys[number - 1] = key;
	j->num_keys = number;
}

static uint32_t number_of_key(const struct judge *j, uint32_t key)
{
	for (uint32_t i = 0; i < j->num_keys; i++)
		if (j->keys[i] == key)
			return i + 1;
	return 0;
}

struct model_op judge_op(const struct judge *j, int side, const struct endpoint_wr *wr)
{
	return (struct model_op){.kind = words_kind(wr->opcode),
		.id = wr->wr_id,
		.bytes = wr->num_segs ? wr->segs[0].bytes : wr->bytes,
		.local = (uint32_t)wr->segs[0].offset,
		.remote = (uint32_t)(wr->remote_addr - (uintptr_t)j->sim->ep[1 - side].mem),
		.imm = wr->imm,
		.fence = wr->flags & UROCE_SEND_FENCE,
		.signalled = wr->flags & UROCE_SEND_SIGNALED,
		.unsteady = j->unsteady,
		.compare_add = wr->compare_add,
		.swap = wr->swap};
}

bool judge_post_send(struct judge *j, int side, const struct endpoint_wr *wr)
{
	struct model_op op = judge_op(j, side, wr);

	if (!endpoint_post_send(&j->sim->ep[side], wr))
		return false;
	if (op.kind == MODEL_SEND_INV)
		op.key = number_of_key(j, wr->imm);
	judge_note_send(j, side, &op);
	return true;
}

bool judge_post_recv(struct judge *j, int side, uint64_t wr_id, size_t offset, uint32_t bytes)
{
	const struct model_recv recv = {wr_id, (uint32_t)offset, bytes};
	const uint32_t queue = 1 - (uint32_t)side;

	if (!endpoint_post_recv(&j->sim->ep[side], wr_id, offset, bytes))
		return false;
	if (model_add_recv(j->model, queue, &recv))
		model_recv_posted(j->model, queue);
	return true;
}

void judge_ended(struct judge *j, int side, bool silently)
{
	model_ended(j->model, (uint32_t)side, silently);
}

bool judge_is_mute(struct judge *j, int side, const struct endpoint_wr *wr)
{
	uint64_t frames = j->sim->frames;

	/* It may find the queue full; what is posted is not of the plan. */
	endpoint_post_send(&j->sim->ep[side], wr);
	return sim_run(j->sim, UINT64_MAX - 1) && j->sim->frames == frames;
}

bool judge_completed(struct judge *j, int side, const struct uroce_cqe *cqe)
{
	struct model_completion c = words_completion(cqe);

	c.direction = c.recv ? 1 - (uint32_t)side : (uint32_t)side;
	if (cqe->flags & UROCE_WC_WITH_INV)
		c.inv = number_of_key(j, cqe->imm);
	if (c.status != MODEL_SUCCESS && !c.recv && j->failed_with[side] == MODEL_SUCCESS)
		j->failed_with[side] = c.status;
	if (c.status != MODEL_SUCCESS)
		j->failed++;
	else if (c.recv)
		j->received[side]++;
	else
		j->done[side]++;
	return model_completed(j->model, &c, j->memory);
}

bool judge_poll(struct judge *j, int side)
{
	struct uroce_cqe cqe;

	while (endpoint_poll(&j->sim->ep[side], &cqe, 1) == 1)
		if (!judge_completed(j, side, &cqe))
			return false;
	return true;
}

const char *judge_verdict(struct judge *j)
{
	bool good = judge_poll(j, 0) && judge_poll(j, 1) && model_check_end(j->model, j->memory);

	return good ? NULL : model_wrong(j->model);
}
