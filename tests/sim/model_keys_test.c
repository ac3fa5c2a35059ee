/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The model's own rules for keys, on runs made up by hand: who is refused and how, what a plan must
 * say to be certain, and what a refusal leaves behind.
 */
#include "cunit_run.h"
#include "model_run.h"

enum {
	ALL = MODEL_MAY_WRITE | MODEL_MAY_READ | MODEL_MAY_ATOMIC | MODEL_MAY_FLUSH |
		MODEL_MAY_BIND,
	AT = 256, /* what keys of the second node are opened over */
	BYTES = 64,
};

/* The owner of a key opens or closes it, after all that its peer was given. */
static struct model_op owner_op(enum model_kind kind, uint32_t key)
{
	return (struct model_op){.kind = kind,
		.key = key,
		.local = AT,
		.bytes = BYTES,
		.rights = ALL,
		.signalled = true};
}

struct talk {
	struct run *r;
	uint32_t num[2]; /* operations there and back */
};

static struct talk begin_talk(void)
{
	return (struct talk){.r = begin()};
}

/* Each waits for all that the other end has been given. */
static bool say(struct talk *t, uint32_t direction, struct model_op op)
{
	op.id = t->num[direction]++;
	op.after = t->num[1 - direction];
	if (!model_add_op(t->r->m, direction, &op))
		return false;
	model_posted(t->r->m, direction);
	return true;
}

static bool owner(struct talk *t, enum model_kind kind, uint32_t key)
{
	return say(t, 1, owner_op(kind, key));
}

static struct model_op use_op(enum model_kind kind, uint32_t key)
{
	struct model_op op = op_of(kind, 0);

	op.key = key;
	op.remote = AT;
	return op;
}

static bool use(struct talk *t, enum model_kind kind, uint32_t key)
{
	return say(t, 0, use_op(kind, key));
}

static bool completes(struct talk *t, uint32_t direction, uint64_t id, enum model_what what,
	enum model_status status, uint32_t bytes)
{
	return model_completed(t->r->m,
		&(struct model_completion){.direction = direction,
			.id = id,
			.what = what,
			.status = status,
			.bytes = bytes},
		t->r->both);
}

/* ---- who is refused ---- */

static void keys_open_their_bytes_for_their_rights(void)
{
	static const struct {
		struct model_op op;
		uint32_t rights;
		enum model_status due;
	} uses[] = {
		{{.kind = MODEL_WRITE, .remote = AT, .bytes = BYTES}, MODEL_MAY_WRITE,
			MODEL_SUCCESS},
		{{.kind = MODEL_WRITE, .remote = AT, .bytes = BYTES}, ALL & ~MODEL_MAY_WRITE,
			MODEL_ACCESS_REFUSED},
		{{.kind = MODEL_WRITE, .remote = AT + 1, .bytes = BYTES}, ALL,
			MODEL_ACCESS_REFUSED},
		{{.kind = MODEL_WRITE, .remote = AT - 1, .bytes = 2}, ALL, MODEL_ACCESS_REFUSED},
		{{.kind = MODEL_WRITE, .remote = AT + BYTES, .bytes = 1}, ALL,
			MODEL_ACCESS_REFUSED},
		{{.kind = MODEL_WRITE, .remote = AT - 1}, 0, MODEL_SUCCESS},
		{{.kind = MODEL_WRITE_IMM, .remote = AT, .bytes = 1}, MODEL_MAY_READ,
			MODEL_ACCESS_REFUSED},
		{{.kind = MODEL_READ, .remote = AT, .bytes = 1}, MODEL_MAY_READ, MODEL_SUCCESS},
		{{.kind = MODEL_READ, .remote = AT, .bytes = 1}, ALL & ~MODEL_MAY_READ,
			MODEL_ACCESS_REFUSED},
		{{.kind = MODEL_FADD, .remote = AT, .bytes = 8}, MODEL_MAY_ATOMIC, MODEL_SUCCESS},
		{{.kind = MODEL_CAS, .remote = AT, .bytes = 8}, ALL & ~MODEL_MAY_ATOMIC,
			MODEL_ACCESS_REFUSED},
		{{.kind = MODEL_ATOMIC_WRITE, .remote = AT, .bytes = 8}, MODEL_MAY_ATOMIC,
			MODEL_ACCESS_REFUSED},
		{{.kind = MODEL_FLUSH, .everywhere = true}, MODEL_MAY_FLUSH, MODEL_SUCCESS},
		{{.kind = MODEL_FLUSH, .remote = AT, .bytes = BYTES + 1}, ALL,
			MODEL_ACCESS_REFUSED},
		{{.kind = MODEL_FLUSH, .remote = AT}, MODEL_MAY_READ, MODEL_ACCESS_REFUSED},
		{{.kind = MODEL_WRITE, .remote = AT, .bytes = 1, .old_key = true}, ALL,
			MODEL_ACCESS_REFUSED},
	};

	for (uint32_t i = 0; i < sizeof(uses) / sizeof(uses[0]); i++) {
		for (uint32_t kind = MODEL_FAST; kind <= MODEL_WINDOW_2; kind++) {
			struct talk t = begin_talk();
			uint32_t key = model_add_key(t.r->m, 1, (enum model_key_kind)kind);
			struct model_op open =
				owner_op(kind == MODEL_FAST ? MODEL_REGISTER : MODEL_BIND, key);
			struct model_op op = uses[i].op;

			open.rights = uses[i].rights;
			op.key = key;
			op.local = 64;
			CU_ASSERT_TRUE(say(&t, 1, open));
			CU_ASSERT_TRUE(say(&t, 0, op));
			CU_ASSERT_EQUAL(model_refusal(t.r->m, 0), uses[i].due);
			CU_ASSERT_EQUAL(model_refusal(t.r->m, 1), MODEL_SUCCESS);
			end(t.r);
		}
	}
}

/* What is done with one key by turns: 'o'pened, 'i'nvalidated, 's'ent invalid, 'u'sed. */
static enum model_status after(enum model_key_kind kind, const char *steps)
{
	struct talk t = begin_talk();
	uint32_t key = model_add_key(t.r->m, 1, kind);
	enum model_status refusal;
	uint32_t direction = 0;

	for (; *steps; steps++) {
		direction = *steps == 'u' || *steps == 's' ? 0 : 1;
		if (*steps == 'o')
			CU_ASSERT_TRUE(
				owner(&t, kind == MODEL_FAST ? MODEL_REGISTER : MODEL_BIND, key));
		if (*steps == 'i')
			CU_ASSERT_TRUE(owner(&t, MODEL_INVALIDATE, key));
		if (*steps == 's')
			CU_ASSERT_TRUE(use(&t, MODEL_SEND_INV, key));
		if (*steps == 'u')
			CU_ASSERT_TRUE(use(&t, MODEL_WRITE, key));
		CU_ASSERT_TRUE(
			steps[1] == '\0' || model_refusal(t.r->m, direction) == MODEL_SUCCESS);
	}
	refusal = model_refusal(t.r->m, direction);
	end(t.r);
	return refusal;
}

static void keys_are_opened_and_closed(void)
{
	static const struct {
		enum model_key_kind kind;
		const char *steps;
		enum model_status due;
	} lives[] = {{MODEL_FAST, "u", MODEL_ACCESS_REFUSED}, {MODEL_FAST, "ou", MODEL_SUCCESS},
		{MODEL_FAST, "ouiou", MODEL_SUCCESS}, {MODEL_FAST, "ouiu", MODEL_ACCESS_REFUSED},
		{MODEL_FAST, "ousu", MODEL_ACCESS_REFUSED}, {MODEL_FAST, "ousou", MODEL_SUCCESS},
		{MODEL_FAST, "oo", MODEL_CHANGE_REFUSED}, {MODEL_FAST, "i", MODEL_CHANGE_REFUSED},
		{MODEL_FAST, "oss", MODEL_RETRIES_OUT}, {MODEL_FAST, "osi", MODEL_CHANGE_REFUSED},
		{MODEL_WINDOW_1, "oou", MODEL_SUCCESS},
		{MODEL_WINDOW_1, "oi", MODEL_CHANGE_REFUSED},
		{MODEL_WINDOW_1, "os", MODEL_RETRIES_OUT}, {MODEL_WINDOW_2, "ousou", MODEL_SUCCESS},
		{MODEL_WINDOW_2, "oo", MODEL_BIND_REFUSED},
		{MODEL_WINDOW_2, "ouiu", MODEL_ACCESS_REFUSED}};

	for (uint32_t i = 0; i < sizeof(lives) / sizeof(lives[0]); i++)
		CU_ASSERT_EQUAL(after(lives[i].kind, lives[i].steps), lives[i].due);
}

static void windows_hold_their_region(void)
{
	for (uint32_t i = 0; i < 6; i++) {
		struct talk t = begin_talk();
		uint32_t region = model_add_key(t.r->m, 1, MODEL_FAST);
		uint32_t window = model_add_key(t.r->m, 1, MODEL_WINDOW_2);
		struct model_op open = owner_op(MODEL_REGISTER, region);
		struct model_op bind = owner_op(MODEL_BIND, window);
		enum model_status due = MODEL_BIND_REFUSED;

		bind.region = region;
		if (i == 0) /* without the right */
			open.rights &= ~(uint32_t)MODEL_MAY_BIND;
		else if (i == 1) /* beyond its end */
			bind.local++;
		else if (i == 2) /* of nothing */
			bind.bytes = 0;
		else
			due = MODEL_SUCCESS;
		CU_ASSERT_TRUE(say(&t, 1, open));
		CU_ASSERT_TRUE(say(&t, 1, bind));
		CU_ASSERT_EQUAL(model_refusal(t.r->m, 1), due);
		if (i == 3) {
			CU_ASSERT_TRUE(owner(&t, MODEL_INVALIDATE, region));
			CU_ASSERT_EQUAL(model_refusal(t.r->m, 1), MODEL_CHANGE_REFUSED);
		} else if (i == 4) {
			CU_ASSERT_TRUE(use(&t, MODEL_SEND_INV, region));
			CU_ASSERT_EQUAL(model_refusal(t.r->m, 0), MODEL_RETRIES_OUT);
		} else if (i == 5) {
			CU_ASSERT_TRUE(use(&t, MODEL_SEND_INV, window));
			CU_ASSERT_TRUE(owner(&t, MODEL_INVALIDATE, region));
			CU_ASSERT_EQUAL(model_refusal(t.r->m, 1), MODEL_SUCCESS);
		}
		end(t.r);
	}
}

static void a_closed_region_has_no_windows(void)
{
	struct talk t = begin_talk();
	uint32_t region = model_add_key(t.r->m, 1, MODEL_FAST);
	struct model_op bind = owner_op(MODEL_BIND, model_add_key(t.r->m, 1, MODEL_WINDOW_1));

	bind.region = region;
	CU_ASSERT_TRUE(owner(&t, MODEL_REGISTER, region));
	CU_ASSERT_TRUE(owner(&t, MODEL_INVALIDATE, region));
	CU_ASSERT_TRUE(say(&t, 1, bind));
	CU_ASSERT_EQUAL(model_refusal(t.r->m, 1), MODEL_BIND_REFUSED);
	end(t.r);
}

static void what_is_sent_from_a_region_needs_it_open(void)
{
	for (uint32_t i = 0; i < 6; i++) {
		struct talk t = begin_talk();
		uint32_t key = model_add_key(t.r->m, 1, MODEL_FAST);
		struct model_op op = op_of(MODEL_WRITE, 0);
		enum model_status due = MODEL_SOURCE_REFUSED;

		op.source = key;
		op.local = AT;
		op.remote = 600;
		if (i == 0)
			due = MODEL_SUCCESS;
		else if (i == 1)
			op.old_key = true;
		else if (i == 2)
			op.local = AT + BYTES - LEN + 1;
		else if (i == 4)
			op.bytes = 0;
		CU_ASSERT_TRUE(i >= 3 || owner(&t, MODEL_REGISTER, key));
		CU_ASSERT_EQUAL(say(&t, 1, op), i != 2);
		CU_ASSERT_TRUE(i != 2 || says(t.r, "some of it may be sent"));
		if (i != 2)
			CU_ASSERT_EQUAL(model_refusal(t.r->m, 1), i == 4 ? MODEL_SUCCESS : due);
		if (i == 5) {
			CU_ASSERT_TRUE(completes(&t, 1, 0, MODEL_IS_WRITE, due, 0));
			CU_ASSERT_TRUE(say(&t, 0, op_of(MODEL_WRITE, 0)));
			CU_ASSERT_FALSE(completes(&t, 0, 0, MODEL_IS_WRITE, MODEL_FLUSHED, 0));
			CU_ASSERT_TRUE(says(t.r, "nothing had ended"));
		}
		end(t.r);
	}
}

/* ---- plans that are not certain ---- */

static void what_is_done_with_a_key_has_one_order(void)
{
	for (uint32_t i = 0; i < 4; i++) {
		struct talk t = begin_talk();
		uint32_t key = model_add_key(t.r->m, 1, MODEL_FAST);
		struct model_op op = use_op(MODEL_WRITE, key);

		CU_ASSERT_TRUE(i == 3 || owner(&t, MODEL_REGISTER, key));
		if (i == 0) {
			CU_ASSERT_FALSE(model_add_op(t.r->m, 0, &op));
			CU_ASSERT_TRUE(says(t.r, "may still use"));
		} else if (i == 1) {
			CU_ASSERT_TRUE(use(&t, MODEL_READ, key));
			CU_ASSERT_FALSE(use(&t, MODEL_SEND_INV, key));
			CU_ASSERT_TRUE(says(t.r, "may still read by"));
		} else if (i == 2) {
			op.after = 2;
			CU_ASSERT_FALSE(model_add_op(t.r->m, 0, &op));
			CU_ASSERT_TRUE(says(t.r, "waits for 2 operations of 1"));
		} else {
			CU_ASSERT_FALSE(say(&t, 0, owner_op(MODEL_REGISTER, key)));
			CU_ASSERT_TRUE(says(t.r, "another node"));
		}
		end(t.r);
	}
}

static void a_fence_lets_a_read_key_be_closed(void)
{
	struct talk t = begin_talk();
	uint32_t key = model_add_key(t.r->m, 1, MODEL_FAST);
	struct model_op close = use_op(MODEL_SEND_INV, key);

	close.fence = true;
	close.local = 256;
	CU_ASSERT_TRUE(owner(&t, MODEL_REGISTER, key));
	CU_ASSERT_TRUE(use(&t, MODEL_READ, key));
	CU_ASSERT_TRUE(say(&t, 0, close));
	end(t.r);
}

/* ---- what a refusal leaves behind ---- */

/* The owner has opened its key; its peer does what is refused, and both post one operation more. */
static struct talk begin_refused(enum model_kind kind)
{
	struct talk t = begin_talk();
	struct model_op more = op_of(MODEL_WRITE, 1);
	uint32_t key = model_add_key(t.r->m, 1, MODEL_WINDOW_1);
	struct model_op op = use_op(kind, key);

	op.old_key = true;
	CU_ASSERT_TRUE(owner(&t, MODEL_BIND, key));
	CU_ASSERT_TRUE(completes(&t, 1, 0, MODEL_IS_BIND, MODEL_SUCCESS, 0));
	CU_ASSERT_TRUE(say(&t, 0, op));
	CU_ASSERT_TRUE(say(&t, 0, more));
	more = op_of(MODEL_WRITE, 10);
	more.remote = 600;
	more.id = t.num[1]++;
	CU_ASSERT_TRUE(model_add_op(t.r->m, 1, &more));
	model_posted(t.r->m, 1);
	return t;
}

static bool flush_receives(struct talk *t, uint32_t first)
{
	for (uint32_t i = first; i < RECVS; i++)
		if (!model_completed(t->r->m,
			    &(struct model_completion){.direction = 0,
				    .recv = true,
				    .id = 100 + i,
				    .status = MODEL_FLUSHED},
			    t->r->both))
			return false;
	return true;
}

static void a_refused_access_ends_both_ends(void)
{
	struct talk t = begin_refused(MODEL_WRITE);

	CU_ASSERT_TRUE(completes(&t, 1, 1, MODEL_IS_WRITE, MODEL_FLUSHED, 0));
	CU_ASSERT_TRUE(completes(&t, 0, 0, MODEL_IS_WRITE, MODEL_ACCESS_REFUSED, 0));
	CU_ASSERT_TRUE(completes(&t, 0, 1, MODEL_IS_WRITE, MODEL_FLUSHED, 0));
	CU_ASSERT_TRUE(flush_receives(&t, 0));
	CU_ASSERT_TRUE(model_check_end(t.r->m, t.r->both));
	CU_ASSERT_STRING_EQUAL(model_wrong(t.r->m), "");
	end(t.r);
}

static void a_refusal_that_is_not_one_is_seen(void)
{
	static const struct {
		enum model_status status;
		const char *words;
	} others[] = {{MODEL_SUCCESS, "is refused"}, {MODEL_BIND_REFUSED, "failed with status"},
		{MODEL_OTHER_ERROR, "failed with status"}, {MODEL_FLUSHED, "nothing had ended"}};

	for (uint32_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
		struct talk t = begin_refused(MODEL_WRITE);

		CU_ASSERT_FALSE(completes(&t, 0, 0, MODEL_IS_WRITE, others[i].status, LEN));
		CU_ASSERT_TRUE(says(t.r, others[i].words));
		end(t.r);
	}
}

static void a_refused_access_changes_no_byte(void)
{
	struct talk t = begin_refused(MODEL_WRITE);

	move(t.r, 1, AT, 64, 1);
	CU_ASSERT_TRUE(completes(&t, 0, 0, MODEL_IS_WRITE, MODEL_ACCESS_REFUSED, 0));
	CU_ASSERT_TRUE(completes(&t, 0, 1, MODEL_IS_WRITE, MODEL_FLUSHED, 0));
	CU_ASSERT_TRUE(completes(&t, 1, 1, MODEL_IS_WRITE, MODEL_FLUSHED, 0));
	CU_ASSERT_TRUE(flush_receives(&t, 0));
	CU_ASSERT_FALSE(model_check_end(t.r->m, t.r->both));
	CU_ASSERT_TRUE(says(t.r, "byte 256 of node 1"));
	end(t.r);
}

static void who_refused_has_ended(void)
{
	struct talk t = begin_talk();

	/* It had nothing else to say so with. */
	CU_ASSERT_TRUE(use(&t, MODEL_WRITE, model_add_key(t.r->m, 1, MODEL_FAST)));
	CU_ASSERT_TRUE(completes(&t, 0, 0, MODEL_IS_WRITE, MODEL_ACCESS_REFUSED, 0));
	CU_ASSERT_FALSE(model_check_end(t.r->m, t.r->both));
	CU_ASSERT_TRUE(says(t.r, "4 receives were posted, but 0"));
	end(t.r);
}

static void what_is_refused_here_ends_nothing_there(void)
{
	struct talk t = begin_talk();
	uint32_t key = model_add_key(t.r->m, 1, MODEL_FAST);

	CU_ASSERT_TRUE(owner(&t, MODEL_INVALIDATE, key));
	CU_ASSERT_FALSE(completes(&t, 1, 0, MODEL_IS_INVALIDATE, MODEL_RETRIES_OUT, 0));
	CU_ASSERT_TRUE(say(&t, 0, op_of(MODEL_WRITE, 0)));
	CU_ASSERT_FALSE(completes(&t, 0, 0, MODEL_IS_WRITE, MODEL_FLUSHED, 0));
	end(t.r);
	t = begin_talk();
	key = model_add_key(t.r->m, 1, MODEL_FAST);
	CU_ASSERT_TRUE(owner(&t, MODEL_INVALIDATE, key));
	CU_ASSERT_TRUE(completes(&t, 1, 0, MODEL_IS_INVALIDATE, MODEL_CHANGE_REFUSED, 0));
	/* But what it had to receive. */
	CU_ASSERT_TRUE(flush_receives(&t, 0));
	CU_ASSERT_TRUE(model_check_end(t.r->m, t.r->both));
	CU_ASSERT_STRING_EQUAL(model_wrong(t.r->m), "");
	end(t.r);
}

/* ---- SEND with invalidate ---- */

static bool receive(struct talk *t, enum model_status status, uint32_t key)
{
	return model_completed(t->r->m,
		&(struct model_completion){.direction = 0,
			.recv = true,
			.id = 100,
			.what = MODEL_IS_RECV,
			.status = status,
			.bytes = LEN,
			.inv = key},
		t->r->both);
}

static void a_send_that_may_not_invalidate_is_not_taken(void)
{
	for (uint32_t bytes = 0; bytes <= LEN; bytes += LEN / 2) {
		struct talk t = begin_refused(MODEL_SEND_INV);

		/* All but its last packet may be there. */
		move(t.r, 1, RECV_AT, 64, bytes);
		CU_ASSERT_TRUE(receive(&t, MODEL_BROKEN_OFF, 0));
		CU_ASSERT_TRUE(flush_receives(&t, 1));
		CU_ASSERT_TRUE(completes(&t, 1, 1, MODEL_IS_WRITE, MODEL_FLUSHED, 0));
		CU_ASSERT_TRUE(completes(&t, 0, 0, MODEL_IS_SEND, MODEL_RETRIES_OUT, 0));
		CU_ASSERT_TRUE(completes(&t, 0, 1, MODEL_IS_WRITE, MODEL_FLUSHED, 0));
		CU_ASSERT_TRUE(model_check_end(t.r->m, t.r->both));
		CU_ASSERT_STRING_EQUAL(model_wrong(t.r->m), "");
		end(t.r);
	}
}

static void receives_name_the_key(void)
{
	for (uint32_t i = 0; i < 4; i++) {
		struct talk t = begin_talk();
		uint32_t key = model_add_key(t.r->m, 1, MODEL_FAST);

		CU_ASSERT_TRUE(owner(&t, MODEL_REGISTER, key));
		CU_ASSERT_TRUE(use(&t, MODEL_SEND_INV, key));
		move(t.r, 1, RECV_AT, 64, LEN);
		if (i == 3) {
			CU_ASSERT_FALSE(receive(&t, MODEL_BROKEN_OFF, 0));
			CU_ASSERT_TRUE(says(t.r, "completed with status"));
		} else {
			CU_ASSERT_EQUAL(receive(&t, MODEL_SUCCESS, i), i == key);
			CU_ASSERT_TRUE(i == key || says(t.r, "invalidated another key"));
		}
		end(t.r);
	}
}

int main(void)
{
	static const struct unit_case cases[] = {
		{"a key opens its bytes, for its rights", keys_open_their_bytes_for_their_rights},
		{"keys are opened and closed", keys_are_opened_and_closed},
		{"windows hold their region", windows_hold_their_region},
		{"a closed region has no windows", a_closed_region_has_no_windows},
		{"what is sent from a region needs it open",
			what_is_sent_from_a_region_needs_it_open},
		{"what is done with a key has one order", what_is_done_with_a_key_has_one_order},
		{"a fence lets a key be closed that was read by",
			a_fence_lets_a_read_key_be_closed},
		{"a refused access ends both ends", a_refused_access_ends_both_ends},
		{"a refusal that is not one is seen", a_refusal_that_is_not_one_is_seen},
		{"a refused access changes no byte", a_refused_access_changes_no_byte},
		{"who refused has ended", who_refused_has_ended},
		{"what is refused at one end ends nothing at the other",
			what_is_refused_here_ends_nothing_there},
		{"a SEND that may not invalidate is not taken",
			a_send_that_may_not_invalidate_is_not_taken},
		{"receives name the key that was invalidated", receives_name_the_key},
	};

	return run_suite("model_keys", cases, sizeof(cases) / sizeof(cases[0]));
}
