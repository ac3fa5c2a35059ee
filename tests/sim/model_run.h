/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A run made up by hand, for the model's own tests: two nodes, a connection, a few operations with
 * memory of their own. The case moves the bytes and says what completed.
 */
#ifndef UROCE_TESTS_MODEL_RUN_H
#define UROCE_TESTS_MODEL_RUN_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <CUnit/CUnit.h>

#include "model.h"

enum {
	MEM = 1024,
	LEN = 32,
	RECVS = 4,
	RECV_AT = 512, /* receives of the second node, 64 bytes apart */
	RECV_BYTES = 48,
};

struct run {
	struct model *m;
	uint32_t queues[2];
	uint32_t there, back; /* directions */
	uint32_t other;	      /* there too, over another connection, if receives are shared */
	uint8_t mem[2][MEM];
	const uint8_t *both[2];
};

static inline struct run *begin_on(const struct model_direction *conf, bool shared)
{
	struct run *r = calloc(1, sizeof(*r));
	struct model_direction there = *conf, back = *conf;

	if (!r)
		abort();
	r->m = model_create(2, MEM);
	for (uint32_t node = 0; node < 2; node++) {
		for (uint32_t i = 0; i < MEM; i++)
			r->mem[node][i] = (uint8_t)(i * 7 + node * 3 + 1);
		memset(r->mem[node], 0, 16);
		memcpy(model_memory(r->m, node), r->mem[node], MEM);
		r->both[node] = r->mem[node];
		r->queues[node] = model_add_recv_queue(r->m, node, shared);
	}
	there.from = 0;
	there.to = 1;
	there.recv_queue = r->queues[1];
	there.reverse = 1;
	back.from = 1;
	back.to = 0;
	back.recv_queue = r->queues[0];
	back.reverse = 0;
	r->there = model_add_direction(r->m, &there);
	r->back = model_add_direction(r->m, &back);
	if (shared)
		r->other = model_add_direction(r->m, &there);
	for (uint32_t i = 0; i < RECVS; i++) {
		struct model_recv recv = {100 + i, RECV_AT + 64 * i, RECV_BYTES};

		CU_ASSERT_TRUE(model_add_recv(r->m, r->queues[1], &recv));
		model_recv_posted(r->m, r->queues[1]);
	}
	return r;
}

static inline struct run *begin_with(const struct model_direction *conf)
{
	return begin_on(conf, false);
}

static inline struct run *begin(void)
{
	return begin_with(&(struct model_direction){.service = MODEL_RC, .signal_all = true});
}

static inline void end(struct run *r)
{
	model_destroy(r->m);
	free(r);
}

/* Operation `id`: from 64 + 32 id of the first node to 256 + 32 id of the second. */
static inline struct model_op op_of(enum model_kind kind, uint32_t id)
{
	struct model_op op = {.kind = kind,
		.id = id,
		.bytes = LEN,
		.local = 64 + LEN * id,
		.remote = 256 + LEN * id,
		.imm = 1000 + id,
		.signalled = true};

	if (kind == MODEL_ATOMIC_WRITE)
		op.bytes = 8;
	if (kind == MODEL_CAS || kind == MODEL_FADD) {
		op.bytes = 8;
		op.remote = 0;
		op.compare_add = kind == MODEL_FADD ? 5 : 0;
		op.swap = 77;
	}
	return op;
}

static inline void post(struct run *r, const struct model_op *op)
{
	CU_ASSERT_TRUE(model_add_op(r->m, r->there, op));
	model_posted(r->m, r->there);
}

static inline void post_kind(struct run *r, enum model_kind kind, uint32_t id)
{
	struct model_op op = op_of(kind, id);

	post(r, &op);
}

static inline void move(
	struct run *r, uint32_t to, uint32_t to_at, uint32_t from_at, uint32_t bytes)
{
	memcpy(r->mem[to] + to_at, r->mem[1 - to] + from_at, bytes);
}

static inline bool says(const struct run *r, const char *words)
{
	bool found = strstr(model_wrong(r->m), words) != NULL;

	if (!found)
		printf("  \"%s\" does not say \"%s\"\n", model_wrong(r->m), words);
	return found;
}

#endif
