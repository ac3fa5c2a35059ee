/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The model and shared receive queues: a receive is anybody's until a completion says whose it was.
 */
#include <stdbool.h>

#include "cunit_run.h"
#include "model_run.h"

static struct run *begin_shared(enum model_service service)
{
	return begin_on(&(struct model_direction){.service = service, .signal_all = true}, true);
}

/* A SEND in either direction to the second node; its bytes begin at 64 + LEN * id. */
static void post_send(struct run *r, uint32_t direction, uint32_t id)
{
	struct model_op op = op_of(MODEL_SEND, id);

	CU_ASSERT_TRUE(model_add_op(r->m, direction, &op));
	model_posted(r->m, direction);
}

static bool recv_ends(struct run *r, uint32_t direction, uint32_t nth, enum model_status status)
{
	struct model_completion c = {.direction = direction,
		.recv = true,
		.id = 100 + nth,
		.status = status,
		.what = MODEL_IS_RECV,
		.bytes = LEN};

	return model_completed(r->m, &c, r->both);
}

static bool send_ends(struct run *r, uint32_t direction, uint32_t id, enum model_status status)
{
	struct model_completion c = {
		.direction = direction, .id = id, .status = status, .bytes = LEN};

	return model_completed(r->m, &c, r->both);
}

static void shared_receives_are_anybodys(void)
{
	struct run *r = begin_shared(MODEL_RC);

	post_send(r, r->there, 0);
	post_send(r, r->other, 1);
	move(r, 1, RECV_AT + 64, 64, LEN);
	move(r, 1, RECV_AT, 64 + LEN, LEN);
	CU_ASSERT_TRUE(recv_ends(r, r->there, 1, MODEL_SUCCESS));
	CU_ASSERT_TRUE(recv_ends(r, r->other, 0, MODEL_SUCCESS));
	CU_ASSERT_TRUE(send_ends(r, r->there, 0, MODEL_SUCCESS));
	CU_ASSERT_TRUE(send_ends(r, r->other, 1, MODEL_SUCCESS));
	CU_ASSERT_TRUE(model_check_end(r->m, r->both));
	end(r);
	/* But each is one's alone, and says whose. */
	r = begin_shared(MODEL_RC);
	post_send(r, r->there, 0);
	post_send(r, r->other, 1);
	move(r, 1, RECV_AT, 64, LEN);
	CU_ASSERT_FALSE(recv_ends(r, r->other, 0, MODEL_SUCCESS));
	CU_ASSERT_TRUE(says(r, "before its bytes"));
	end(r);
	r = begin_shared(MODEL_RC);
	post_send(r, r->there, 0);
	post_send(r, r->other, 0);
	move(r, 1, RECV_AT, 64, LEN);
	CU_ASSERT_TRUE(recv_ends(r, r->there, 0, MODEL_SUCCESS));
	CU_ASSERT_FALSE(recv_ends(r, r->other, 0, MODEL_SUCCESS));
	CU_ASSERT_TRUE(says(r, "out of turn"));
	end(r);
}

/* The second message had begun when retries ran out: n bytes of it lie in one that nobody named. */
static void what_had_begun_may_be_in_any(void)
{
	for (uint32_t nth = 0; nth < RECVS; nth++) {
		for (uint32_t n = 1; n <= LEN; n++) {
			struct run *r = begin_shared(MODEL_RC);

			post_send(r, r->there, 0);
			post_send(r, r->there, 1);
			post_send(r, r->there, 2);
			move(r, 1, RECV_AT, 64, LEN);
			CU_ASSERT_TRUE(recv_ends(r, r->there, 0, MODEL_SUCCESS));
			move(r, 1, RECV_AT + 64 * nth, 64 + LEN, n);
			CU_ASSERT_TRUE(send_ends(r, r->there, 0, MODEL_RETRIES_OUT));
			CU_ASSERT_TRUE(send_ends(r, r->there, 1, MODEL_FLUSHED));
			CU_ASSERT_TRUE(send_ends(r, r->there, 2, MODEL_FLUSHED));
			/* The first has its message, and keeps it. */
			CU_ASSERT_EQUAL(model_check_end(r->m, r->both), nth > 0);
			end(r);
			/* The third cannot have begun. */
			r = begin_shared(MODEL_RC);
			post_send(r, r->there, 1);
			post_send(r, r->there, 2);
			move(r, 1, RECV_AT + 64 * nth, 64 + 2 * LEN, n);
			CU_ASSERT_TRUE(send_ends(r, r->there, 1, MODEL_RETRIES_OUT));
			CU_ASSERT_TRUE(send_ends(r, r->there, 2, MODEL_FLUSHED));
			CU_ASSERT_FALSE(model_check_end(r->m, r->both));
			end(r);
		}
	}
}

static void what_was_broken_off_ends_its_receive(void)
{
	struct run *r = begin_shared(MODEL_UC);

	post_send(r, r->there, 0);
	post_send(r, r->there, 1);
	CU_ASSERT_TRUE(send_ends(r, r->there, 0, MODEL_SUCCESS));
	CU_ASSERT_TRUE(send_ends(r, r->there, 1, MODEL_SUCCESS));
	move(r, 1, RECV_AT, 64, LEN / 2);
	CU_ASSERT_TRUE(recv_ends(r, r->there, 0, MODEL_BROKEN_OFF));
	move(r, 1, RECV_AT + 64, 64 + LEN, LEN);
	CU_ASSERT_TRUE(recv_ends(r, r->there, 1, MODEL_SUCCESS));
	CU_ASSERT_TRUE(model_check_end(r->m, r->both));
	/* It is not used again. */
	CU_ASSERT_FALSE(recv_ends(r, r->there, 0, MODEL_SUCCESS));
	CU_ASSERT_TRUE(says(r, "out of turn"));
	end(r);
	/* What another's message left is not there. */
	r = begin_shared(MODEL_UC);
	post_send(r, r->there, 0);
	post_send(r, r->other, 1);
	move(r, 1, RECV_AT, 64, LEN / 2);
	CU_ASSERT_TRUE(send_ends(r, r->there, 0, MODEL_SUCCESS));
	CU_ASSERT_TRUE(send_ends(r, r->other, 1, MODEL_SUCCESS));
	CU_ASSERT_TRUE(recv_ends(r, r->other, 0, MODEL_BROKEN_OFF));
	CU_ASSERT_FALSE(model_check_end(r->m, r->both));
	end(r);
	/* Reliable messages are not broken off; a queue of one's own keeps its receive. */
	r = begin_shared(MODEL_RC);
	post_send(r, r->there, 0);
	CU_ASSERT_FALSE(recv_ends(r, r->there, 0, MODEL_BROKEN_OFF));
	end(r);
	r = begin_with(&(struct model_direction){.service = MODEL_UC, .signal_all = true});
	post_send(r, r->there, 0);
	CU_ASSERT_FALSE(recv_ends(r, r->there, 0, MODEL_BROKEN_OFF));
	end(r);
}

static void the_end_takes_one_shared_receive(void)
{
	for (uint32_t flushed = 0; flushed < 3; flushed++) {
		struct run *r = begin_shared(MODEL_RC);
		struct model_op op = op_of(MODEL_WRITE, 0);

		CU_ASSERT_TRUE(model_add_op(r->m, r->back, &op));
		model_posted(r->m, r->back);
		CU_ASSERT_TRUE(send_ends(r, r->back, 0, MODEL_RETRIES_OUT));
		for (uint32_t i = 0; i < flushed; i++)
			CU_ASSERT_TRUE(recv_ends(r, r->there, i, MODEL_FLUSHED));
		CU_ASSERT_EQUAL(model_check_end(r->m, r->both), flushed <= 1);
		CU_ASSERT_TRUE(flushed <= 1 || says(r, "one at most"));
		end(r);
	}
}

int main(void)
{
	static const struct unit_case cases[] = {
		{"shared receives are anybody's, each once", shared_receives_are_anybodys},
		{"a message that had begun may be in any shared receive",
			what_had_begun_may_be_in_any},
		{"what was broken off ends its shared receive",
			what_was_broken_off_ends_its_receive},
		{"the end of a queue pair takes one shared receive at most",
			the_end_takes_one_shared_receive},
	};

	return run_suite("model_shared", cases, sizeof(cases) / sizeof(cases[0]));
}
