/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The model against runs made up by hand: what is right is accepted, and each way of being wrong
 * is seen.
 *
 * A case plays the run itself, spoils one thing, and expects the verdict to name it.
 */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "cunit_run.h"
#include "model_run.h"

static bool sent_as(struct run *r, uint32_t id, enum model_what what, enum model_status status)
{
	struct model_completion c = {.direction = r->there,
		.id = id,
		.status = status,
		.what = what,
		.bytes = what == MODEL_IS_FADD || what == MODEL_IS_CAS ||
				what == MODEL_IS_ATOMIC_WRITE
			? 8
			: LEN};

	return model_completed(r->m, &c, r->both);
}

static bool sent(struct run *r, uint32_t id, enum model_what what)
{
	return sent_as(r, id, what, MODEL_SUCCESS);
}

static bool received_as(struct run *r, uint32_t nth, enum model_what what, uint32_t imm)
{
	struct model_completion c = {.direction = r->there,
		.recv = true,
		.id = 100 + nth,
		.what = what,
		.bytes = LEN,
		.has_imm = imm != 0,
		.imm = imm};

	return model_completed(r->m, &c, r->both);
}

/* One operation of every kind, each done as it should be. */
static void play_all(struct run *r)
{
	uint64_t word = 77;

	for (uint32_t kind = MODEL_SEND; kind <= MODEL_FLUSH; kind++)
		post_kind(r, (enum model_kind)kind, kind);
	move(r, 1, RECV_AT, 64, LEN);
	move(r, 1, RECV_AT + 64, 64 + LEN, LEN);
	move(r, 1, 256 + 2 * LEN, 64 + 2 * LEN, LEN);
	move(r, 1, 256 + 3 * LEN, 64 + 3 * LEN, LEN);
	move(r, 0, 64 + 4 * LEN, 256 + 4 * LEN, LEN);
	memset(r->mem[0] + 64 + 5 * LEN, 0, 8);	    /* the CAS found 0 */
	memcpy(r->mem[0] + 64 + 6 * LEN, &word, 8); /* and the FADD what it had put there */
	word += 5;
	memcpy(r->mem[1], &word, 8);
	move(r, 1, 256 + 7 * LEN, 64 + 7 * LEN, 8);
}

static void complete_all(struct run *r)
{
	static const enum model_what whats[] = {MODEL_IS_SEND, MODEL_IS_SEND, MODEL_IS_WRITE,
		MODEL_IS_WRITE, MODEL_IS_READ, MODEL_IS_CAS, MODEL_IS_FADD, MODEL_IS_ATOMIC_WRITE,
		MODEL_IS_FLUSH};

	for (uint32_t i = 0; i < 9; i++)
		CU_ASSERT_TRUE(sent(r, i, whats[i]));
	CU_ASSERT_TRUE(received_as(r, 0, MODEL_IS_RECV, 0));
	CU_ASSERT_TRUE(received_as(r, 1, MODEL_IS_RECV, 1001));
	CU_ASSERT_TRUE(received_as(r, 2, MODEL_IS_RECV_OF_WRITE, 1003));
}

static void all_is_well(void)
{
	struct run *r = begin();

	play_all(r);
	complete_all(r);
	CU_ASSERT_TRUE(model_is_done(r->m, r->there));
	CU_ASSERT_TRUE(model_check_end(r->m, r->both));
	CU_ASSERT_STRING_EQUAL(model_wrong(r->m), "");
	end(r);
}

static void every_byte_counts(void)
{
	for (uint32_t node = 0; node < 2; node++) {
		for (uint32_t at = 0; at < MEM; at++) {
			struct run *r = begin();

			play_all(r);
			complete_all(r);
			r->mem[node][at] ^= 0x10;
			CU_ASSERT_FALSE(model_check_end(r->m, r->both));
			CU_ASSERT_TRUE(says(r, "byte "));
			end(r);
		}
	}
}

static void completions_are_once_and_in_order(void)
{
	struct run *r = begin();

	play_all(r);
	CU_ASSERT_TRUE(sent(r, 0, MODEL_IS_SEND));
	CU_ASSERT_FALSE(sent(r, 2, MODEL_IS_WRITE));
	CU_ASSERT_TRUE(says(r, "2 completed before 1"));
	end(r);
	r = begin();
	play_all(r);
	complete_all(r);
	CU_ASSERT_FALSE(sent(r, 6, MODEL_IS_FADD));
	CU_ASSERT_TRUE(says(r, "not posted, or before"));
	end(r);
	r = begin();
	play_all(r);
	CU_ASSERT_TRUE(sent(r, 0, MODEL_IS_SEND));
	CU_ASSERT_FALSE(model_check_end(r->m, r->both));
	CU_ASSERT_TRUE(says(r, "completions end with 1"));
	end(r);
	r = begin();
	play_all(r);
	CU_ASSERT_FALSE(received_as(r, 1, MODEL_IS_RECV, 1001));
	CU_ASSERT_TRUE(says(r, "out of turn"));
	end(r);
	r = begin();
	post_kind(r, MODEL_SEND, 0);
	CU_ASSERT_TRUE(sent(r, 0, MODEL_IS_SEND));
	CU_ASSERT_FALSE(model_check_end(r->m, r->both));
	CU_ASSERT_TRUE(says(r, "receive 0 never completed"));
	end(r);
}

static void completions_say_what_happened(void)
{
	struct run *r = begin();

	play_all(r);
	CU_ASSERT_FALSE(sent(r, 0, MODEL_IS_WRITE));
	CU_ASSERT_TRUE(says(r, "something else"));
	end(r);
	r = begin();
	play_all(r);
	CU_ASSERT_FALSE(sent_as(r, 0, MODEL_IS_SEND, MODEL_OTHER_ERROR));
	CU_ASSERT_TRUE(says(r, "status 3"));
	end(r);
	r = begin();
	play_all(r);
	CU_ASSERT_TRUE(received_as(r, 0, MODEL_IS_RECV, 0));
	CU_ASSERT_FALSE(received_as(r, 1, MODEL_IS_RECV, 1002));
	CU_ASSERT_TRUE(says(r, "immediate"));
	end(r);
	r = begin();
	post_kind(r, MODEL_SEND, 0);
	CU_ASSERT_FALSE(received_as(r, 0, MODEL_IS_RECV, 0));
	CU_ASSERT_TRUE(says(r, "before its bytes"));
	end(r);
	r = begin();
	post_kind(r, MODEL_READ, 0);
	CU_ASSERT_FALSE(sent(r, 0, MODEL_IS_READ));
	CU_ASSERT_TRUE(says(r, "answer is not there"));
	end(r);
}

static void unsignalled_operations_complete_with_the_next(void)
{
	struct run *r = begin_with(&(struct model_direction){.service = MODEL_RC});
	struct model_op quiet = op_of(MODEL_WRITE, 0);

	quiet.signalled = false;
	post(r, &quiet);
	post_kind(r, MODEL_WRITE, 1);
	move(r, 1, 256, 64, 2 * LEN);
	CU_ASSERT_FALSE(model_is_done(r->m, r->there));
	CU_ASSERT_TRUE(sent(r, 1, MODEL_IS_WRITE));
	CU_ASSERT_TRUE(model_is_done(r->m, r->there));
	CU_ASSERT_TRUE(model_check_end(r->m, r->both));
	end(r);
	r = begin_with(&(struct model_direction){.service = MODEL_RC});
	post(r, &quiet);
	CU_ASSERT_FALSE(sent(r, 0, MODEL_IS_WRITE));
	CU_ASSERT_TRUE(says(r, "unasked"));
	end(r);
	/* Unsignalled or not, what was posted is carried out. */
	r = begin_with(&(struct model_direction){.service = MODEL_RC});
	post(r, &quiet);
	CU_ASSERT_FALSE(model_check_end(r->m, r->both));
	CU_ASSERT_TRUE(says(r, "byte "));
	end(r);
}

static void a_flush_is_a_promise(void)
{
	/* The range is what the WRITE wrote, or one byte of it, or another, or all there is. */
	static const struct {
		uint32_t remote, bytes;
		bool everywhere, promises;
	} flushes[] = {{256, LEN, false, true}, {256 + LEN - 1, 1, false, true},
		{256 + LEN, LEN, false, false}, {256, 0, false, false}, {0, 0, true, true}};

	for (uint32_t i = 0; i < sizeof(flushes) / sizeof(flushes[0]); i++) {
		for (uint32_t is_there = 0; is_there < 2; is_there++) {
			struct run *r = begin();
			struct model_op op = op_of(MODEL_FLUSH, 1);
			struct model_completion c = {
				.direction = r->there, .id = 1, .what = MODEL_IS_FLUSH};

			op.remote = flushes[i].remote;
			op.bytes = c.bytes = flushes[i].bytes;
			op.everywhere = flushes[i].everywhere;
			post_kind(r, MODEL_WRITE, 0);
			post(r, &op);
			move(r, 1, 256, 64, is_there ? LEN : LEN - 1);
			CU_ASSERT_TRUE(sent(r, 0, MODEL_IS_WRITE));
			CU_ASSERT_EQUAL(model_completed(r->m, &c, r->both),
				is_there || !flushes[i].promises);
			CU_ASSERT_TRUE(is_there || !flushes[i].promises ||
				says(r, "what came before is not in memory"));
			end(r);
		}
	}
}

/* A word that is written and then added to: written again it would be as before. */
static void a_word_is_written_once(void)
{
	for (uint32_t again = 0; again < 2; again++) {
		struct run *r = begin();
		struct model_op op = op_of(MODEL_ATOMIC_WRITE, 0);
		uint64_t word;

		op.remote = 0;
		post(r, &op);
		post_kind(r, MODEL_FADD, 1);
		CU_ASSERT_TRUE(sent(r, 0, MODEL_IS_ATOMIC_WRITE));
		memcpy(&word, r->mem[0] + 64, 8);
		memcpy(r->mem[0] + 64 + LEN, &word, 8);
		CU_ASSERT_TRUE(sent(r, 1, MODEL_IS_FADD));
		word += again ? 0 : 5;
		memcpy(r->mem[1], &word, 8);
		CU_ASSERT_EQUAL(model_check_end(r->m, r->both), !again);
		end(r);
	}
}

/* ---- retries ran out ---- */

/* Three WRITEs and a FADD; the first is done, the second ran out of retries. */
static struct run *begin_broken(void)
{
	struct run *r = begin();

	for (uint32_t i = 0; i < 3; i++)
		post_kind(r, MODEL_WRITE, i);
	post_kind(r, MODEL_FADD, 3);
	move(r, 1, 256, 64, LEN);
	CU_ASSERT_TRUE(sent(r, 0, MODEL_IS_WRITE));
	CU_ASSERT_TRUE(sent_as(r, 1, MODEL_IS_WRITE, MODEL_RETRIES_OUT));
	return r;
}

static void flush_all(struct run *r)
{
	for (uint32_t i = 2; i < 4; i++)
		CU_ASSERT_TRUE(sent_as(r, i, MODEL_IS_SEND, MODEL_FLUSHED));
}

static void a_prefix_is_enough(void)
{
	uint64_t five = 5;

	/* n bytes of what came after the first: any number of whole ones and a part of the next. */
	for (uint32_t n = 0; n <= 2 * LEN; n++) {
		struct run *r = begin_broken();

		move(r, 1, 256 + LEN, 64 + LEN, n);
		flush_all(r);
		CU_ASSERT_TRUE(model_check_end(r->m, r->both));
		end(r);
	}
	/* The last of it is the atomic, which needs all before. */
	for (uint32_t n = 0; n <= 2 * LEN; n++) {
		struct run *r = begin_broken();

		move(r, 1, 256 + LEN, 64 + LEN, n);
		memcpy(r->mem[1], &five, 8);
		flush_all(r);
		CU_ASSERT_EQUAL(model_check_end(r->m, r->both), n == 2 * LEN);
		CU_ASSERT_TRUE(n == 2 * LEN || says(r, "no prefix"));
		end(r);
	}
}

static void what_is_no_prefix_is_seen(void)
{
	struct run *r = begin_broken();

	/* The third, but not the second. */
	move(r, 1, 256 + 2 * LEN, 64 + 2 * LEN, LEN);
	flush_all(r);
	CU_ASSERT_FALSE(model_check_end(r->m, r->both));
	CU_ASSERT_TRUE(says(r, "no prefix"));
	end(r);
	/* Not even the first, which was reported. */
	r = begin_broken();
	r->mem[1][256] ^= 1;
	flush_all(r);
	CU_ASSERT_FALSE(model_check_end(r->m, r->both));
	end(r);
	/* Neither old nor new. */
	r = begin_broken();
	r->mem[1][256 + LEN] = (uint8_t)(r->mem[0][64 + LEN] + 1);
	flush_all(r);
	CU_ASSERT_FALSE(model_check_end(r->m, r->both));
	end(r);
	/* Half an atomic, of either kind. */
	r = begin();
	post_kind(r, MODEL_ATOMIC_WRITE, 0);
	CU_ASSERT_TRUE(sent_as(r, 0, MODEL_IS_ATOMIC_WRITE, MODEL_RETRIES_OUT));
	move(r, 1, 256, 64, 4);
	CU_ASSERT_FALSE(model_check_end(r->m, r->both));
	CU_ASSERT_TRUE(says(r, "no prefix"));
	end(r);
	r = begin_broken();
	move(r, 1, 256 + LEN, 64 + LEN, 2 * LEN);
	r->mem[1][0] = 4;
	flush_all(r);
	CU_ASSERT_FALSE(model_check_end(r->m, r->both));
	end(r);
}

static bool recv_flushed(struct run *r, uint32_t nth)
{
	struct model_completion c = {
		.direction = r->there, .recv = true, .id = 100 + nth, .status = MODEL_FLUSHED};

	return model_completed(r->m, &c, r->both);
}

static void the_end_is_in_order_too(void)
{
	struct run *r = begin_broken();

	CU_ASSERT_FALSE(sent_as(r, 3, MODEL_IS_SEND, MODEL_FLUSHED));
	CU_ASSERT_TRUE(says(r, "flushed out of turn"));
	end(r);
	r = begin_broken();
	CU_ASSERT_FALSE(sent(r, 2, MODEL_IS_WRITE));
	CU_ASSERT_TRUE(says(r, "after the end"));
	end(r);
	r = begin_broken();
	CU_ASSERT_TRUE(sent_as(r, 2, MODEL_IS_SEND, MODEL_FLUSHED));
	CU_ASSERT_FALSE(model_check_end(r->m, r->both));
	CU_ASSERT_TRUE(says(r, "completions end"));
	end(r);
	r = begin();
	post_kind(r, MODEL_WRITE, 0);
	CU_ASSERT_FALSE(sent_as(r, 0, MODEL_IS_WRITE, MODEL_FLUSHED));
	end(r);
	r = begin();
	CU_ASSERT_TRUE(recv_flushed(r, 0));
	CU_ASSERT_FALSE(model_check_end(r->m, r->both));
	CU_ASSERT_TRUE(says(r, "nothing had ended"));
	end(r);
}

/* ---- ended otherwise ---- */

/* The sender was ended with one of two done; `flushed` or not the other is. */
static void what_is_ended_flushes_the_rest(void)
{
	for (uint32_t i = 0; i < 4; i++) {
		bool silently = i >= 2, flushed = i % 2 == 0;
		struct run *r = begin();

		post_kind(r, MODEL_WRITE, 0);
		post_kind(r, MODEL_WRITE, 1);
		move(r, 1, 256, 64, LEN);
		CU_ASSERT_TRUE(sent(r, 0, MODEL_IS_WRITE));
		model_ended(r->m, r->there, silently);
		if (flushed)
			CU_ASSERT_EQUAL(sent_as(r, 1, MODEL_IS_SEND, MODEL_FLUSHED), !silently);
		CU_ASSERT_EQUAL(model_check_end(r->m, r->both), flushed != silently);
		CU_ASSERT_TRUE(flushed || silently || says(r, "completions end"));
		CU_ASSERT_FALSE(sent(r, 1, MODEL_IS_WRITE));
		CU_ASSERT_TRUE(flushed || !silently || says(r, "after the end"));
		end(r);
	}
}

static void who_was_ended_receives_no_more(void)
{
	for (uint32_t n = 0; n <= RECVS; n++) {
		struct run *r = begin();

		post_kind(r, MODEL_SEND_IMM, 0);
		model_ended(r->m, r->back, false);
		CU_ASSERT_TRUE(sent_as(r, 0, MODEL_IS_SEND, MODEL_RETRIES_OUT));
		for (uint32_t i = 0; i < n; i++)
			CU_ASSERT_TRUE(recv_flushed(r, i));
		CU_ASSERT_EQUAL(model_check_end(r->m, r->both), n == RECVS);
		CU_ASSERT_TRUE(n == RECVS || says(r, "receives were posted"));
		end(r);
	}
	for (uint32_t i = 0; i < 3; i++) {
		struct run *r = begin();

		post_kind(r, MODEL_SEND_IMM, 0);
		move(r, 1, RECV_AT, 64, LEN);
		model_ended(r->m, r->back, i > 0);
		CU_ASSERT_FALSE(
			i == 2 ? recv_flushed(r, 0) : received_as(r, 0, MODEL_IS_RECV, 1000));
		CU_ASSERT_TRUE(says(r, "completed with status"));
		end(r);
	}
}

/* Of a silent end one message may be taken, and answered, that it says nothing of. */
static void one_receive_is_unheard_of(void)
{
	for (uint32_t done = 0; done < 3; done++) {
		struct run *r = begin();

		for (uint32_t i = 0; i < 2; i++) {
			post_kind(r, MODEL_SEND, i);
			if (i < done)
				move(r, 1, RECV_AT + 64 * i, 64 + LEN * i, LEN);
		}
		model_ended(r->m, r->back, true);
		for (uint32_t i = 0; i < 2; i++)
			CU_ASSERT_TRUE(sent_as(r, i, MODEL_IS_SEND,
				i < done	    ? MODEL_SUCCESS
					: i == done ? MODEL_RETRIES_OUT
						    : MODEL_FLUSHED));
		CU_ASSERT_EQUAL(model_check_end(r->m, r->both), done < 2);
		CU_ASSERT_TRUE(done < 2 || says(r, "never completed"));
		end(r);
	}
}

/* ---- unreliable ---- */

static struct run *begin_unreliable(bool may_repeat, bool may_reorder)
{
	struct run *r = begin_with(&(struct model_direction){.service = MODEL_UC,
		.signal_all = true,
		.may_repeat = may_repeat,
		.may_reorder = may_reorder});

	for (uint32_t i = 0; i < 3; i++) {
		post_kind(r, MODEL_SEND_IMM, i);
		CU_ASSERT_TRUE(sent(r, i, MODEL_IS_SEND));
	}
	return r;
}

/* Message `id` comes into the n-th receive. */
static bool comes(struct run *r, uint32_t id, uint32_t nth)
{
	move(r, 1, RECV_AT + 64 * nth, 64 + LEN * id, LEN);
	return received_as(r, nth, MODEL_IS_RECV, 1000 + id);
}

static void messages_may_be_lost(void)
{
	for (uint32_t lost = 0; lost < 8; lost++) {
		struct run *r = begin_unreliable(false, false);
		uint32_t nth = 0;

		for (uint32_t id = 0; id < 3; id++)
			if (!(lost >> id & 1))
				CU_ASSERT_TRUE(comes(r, id, nth++));
		/* A part of a lost one may be where the next would go. */
		move(r, 1, RECV_AT + 64 * nth, 64 + 2 * LEN, LEN / 2);
		CU_ASSERT_TRUE(model_check_end(r->m, r->both));
		end(r);
	}
}

/*
 * One that is refused at the near end fails so and not otherwise, and never comes; who sent it goes
 * on receiving.
 */
static void what_is_refused_here_is_not_sent(void)
{
	for (uint32_t i = 0; i < 4; i++) {
		struct run *r = begin_unreliable(false, false);
		struct model_op op = op_of(MODEL_SEND_IMM, 3);
		struct model_recv recv = {100, 0, 0};
		struct model_completion flush = {
			.direction = r->back, .recv = true, .id = 100, .status = MODEL_FLUSHED};

		CU_ASSERT_TRUE(model_add_recv(r->m, r->queues[0], &recv));
		model_recv_posted(r->m, r->queues[0]);
		op.source = model_add_key(r->m, 0, MODEL_FAST);
		post(r, &op);
		if (i == 0) {
			CU_ASSERT_FALSE(sent_as(r, 3, MODEL_IS_SEND, MODEL_RETRIES_OUT));
		} else if (i == 1) {
			CU_ASSERT_FALSE(comes(r, 3, 0));
		} else {
			CU_ASSERT_TRUE(sent_as(r, 3, MODEL_IS_SEND, MODEL_SOURCE_REFUSED));
			CU_ASSERT_TRUE(model_check_end(r->m, r->both));
			if (i == 2)
				move(r, 1, RECV_AT, 64 + LEN * 3, LEN);
			else
				CU_ASSERT_TRUE(model_completed(r->m, &flush, r->both));
			CU_ASSERT_FALSE(model_check_end(r->m, r->both));
			CU_ASSERT_TRUE(i == 2 || says(r, "nothing had ended"));
		}
		end(r);
	}
}

static void half_messages_never_complete(void)
{
	struct run *r = begin_unreliable(false, false);

	move(r, 1, RECV_AT, 64, LEN - 1);
	CU_ASSERT_FALSE(received_as(r, 0, MODEL_IS_RECV, 1000));
	CU_ASSERT_TRUE(says(r, "no message"));
	end(r);
	/* One that completed does not change afterwards. */
	r = begin_unreliable(false, false);
	CU_ASSERT_TRUE(comes(r, 0, 0));
	r->mem[1][RECV_AT] = r->mem[0][64 + LEN];
	CU_ASSERT_FALSE(model_check_end(r->m, r->both));
	end(r);
	/* And nothing may lie in a receive that nobody sent. */
	r = begin_unreliable(false, false);
	r->mem[1][RECV_AT + LEN] ^= 1;
	CU_ASSERT_FALSE(model_check_end(r->m, r->both));
	end(r);
}

static void order_and_repetition_are_the_links(void)
{
	for (uint32_t link = 0; link < 4; link++) {
		struct run *r = begin_unreliable(link & 1, link & 2);

		CU_ASSERT_TRUE(comes(r, 1, 0));
		CU_ASSERT_EQUAL(comes(r, 1, 1), link & 1);
		end(r);
		r = begin_unreliable(link & 1, link & 2);
		CU_ASSERT_TRUE(comes(r, 1, 0));
		CU_ASSERT_EQUAL(comes(r, 0, 1), (link & 2) != 0);
		end(r);
	}
}

static void datagrams_have_a_header_of_their_own(void)
{
	struct run *r =
		begin_with(&(struct model_direction){.service = MODEL_UD, .signal_all = true});
	struct model_op op = op_of(MODEL_SEND, 0);
	struct model_completion c = {.direction = 0, .recv = true, .id = 100, .bytes = 48};

	op.bytes = 8;
	post(r, &op);
	c.what = MODEL_IS_RECV;
	memset(r->mem[1] + RECV_AT, 0x5a, 40);
	move(r, 1, RECV_AT + 40, 64, 8);
	CU_ASSERT_TRUE(model_completed(r->m, &c, r->both));
	c = (struct model_completion){.direction = 0, .what = MODEL_IS_SEND, .bytes = 8};
	CU_ASSERT_TRUE(model_completed(r->m, &c, r->both));
	CU_ASSERT_TRUE(model_check_end(r->m, r->both));
	end(r);
}

/* ---- the plan ---- */

static void expect_plan(bool good, const struct model_op *ops, uint32_t n)
{
	struct run *r = begin();
	bool all = true;

	for (uint32_t i = 0; i < n; i++)
		all = all && model_add_op(r->m, r->there, &ops[i]);
	CU_ASSERT_EQUAL(all, good);
	CU_ASSERT_TRUE(good || says(r, "plan: "));
	end(r);
}

static void a_plan_has_one_outcome(void)
{
	struct model_op ops[3] = {op_of(MODEL_READ, 0), op_of(MODEL_SEND, 1)};

	/* What a READ brings may be sent on once a fence has waited for it. */
	ops[1].local = ops[0].local;
	expect_plan(false, ops, 2);
	ops[1].fence = true;
	expect_plan(true, ops, 2);
	/* What is sent may not be overwritten. */
	ops[0] = op_of(MODEL_SEND, 0);
	ops[1] = op_of(MODEL_READ, 1);
	ops[1].local = ops[0].local;
	ops[1].fence = true;
	expect_plan(false, ops, 2);
	/* A place may be written again and read back; written after being read, with a fence. */
	ops[0] = ops[2] = op_of(MODEL_WRITE, 0);
	ops[2].local = 200;
	ops[1] = op_of(MODEL_READ, 1);
	ops[1].remote = ops[0].remote;
	expect_plan(true, ops, 2);
	expect_plan(false, ops, 3);
	ops[2].fence = true;
	expect_plan(true, ops, 3);
	/* Receives are nobody else's. */
	ops[0].remote = RECV_AT + 8;
	expect_plan(false, ops, 1);
	ops[0].remote = MEM - LEN + 1;
	expect_plan(false, ops, 1);
	ops[0] = op_of(MODEL_FLUSH, 0);
	ops[0].remote = MEM - LEN + 1;
	expect_plan(false, ops, 1);
	ops[0].everywhere = true;
	expect_plan(true, ops, 1);
	/* A word is eight bytes. */
	ops[0] = op_of(MODEL_ATOMIC_WRITE, 0);
	ops[0].bytes = 7;
	expect_plan(false, ops, 1);
}

int main(void)
{
	static const struct unit_case cases[] = {
		{"a run of every kind of operation is right", all_is_well},
		{"one wrong byte anywhere is seen", every_byte_counts},
		{"completions come once each and in order", completions_are_once_and_in_order},
		{"completions say what happened", completions_say_what_happened},
		{"unsignalled operations complete with the next that is signalled",
			unsignalled_operations_complete_with_the_next},
		{"a FLUSH promises that what came before it is there", a_flush_is_a_promise},
		{"an ATOMIC WRITE is carried out once", a_word_is_written_once},
		{"where retries ran out memory may be any prefix", a_prefix_is_enough},
		{"and nothing that is no prefix", what_is_no_prefix_is_seen},
		{"after the end everything is flushed in order", the_end_is_in_order_too},
		{"what was ended flushes the rest or is silent", what_is_ended_flushes_the_rest},
		{"who was ended receives no more", who_was_ended_receives_no_more},
		{"a silent end may have taken one message more", one_receive_is_unheard_of},
		{"unreliable messages may be lost, whole or in part", messages_may_be_lost},
		{"what is refused at the near end never comes", what_is_refused_here_is_not_sent},
		{"half a message never completes", half_messages_never_complete},
		{"messages repeat and overtake only where the link does so",
			order_and_repetition_are_the_links},
		{"a datagram begins behind its header", datagrams_have_a_header_of_their_own},
		{"a plan whose outcome depends on luck is refused", a_plan_has_one_outcome},
	};

	return run_suite("model", cases, sizeof(cases) / sizeof(cases[0]));
}
