/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Random work in both directions over a bad link, against a model that is slow and obvious.
 *
 * The whole plan is drawn from the seed first. Every message has memory of its own on both sides,
 * so the model is two images: memory before, and memory when everything has happened once. Reads
 * fetch what never changes, atomics go to words that only the peer touches, so each returned
 * value is known too. At the end memory must be the second image, byte for byte; where retries ran
 * out, every byte must be of one of the two, and what was reported as done must be done.
 *
 * SOAK_SEEDS=n in the environment runs n seeds, SOAK_FIRST=n starts at one.
 */
#include <stdlib.h>
#include <string.h>

#include "cunit_run.h"
#include "sim.h"

enum {
	OPS_MAX = 32,
	LEN_MAX = 20000,
	SRC_BYTES = 24576, /* never written: sent from, and read by the peer */
	WORDS = 4,
	WORDS_AT = SRC_BYTES,
	PLACES_AT = WORDS_AT + WORDS * 8, /* message memory, each message its own */
	MEM_BYTES = 1 << 20,
	GAP_BYTES = 8,
	SEEDS_DEFAULT = 250,
	TRACE_SHOWN = 40,
	PPM_PERCENT = 10000,
};

#define LIMIT_NS 3600000000000ull

/* One work request: where its bytes come from and where they end up. */
struct op {
	struct endpoint_wr wr;
	uint32_t bytes;
	uint32_t from; /* offset in the memory of the side that has the data */
	uint32_t to;   /* and of the one that gets it */
	bool receives;
	uint32_t recv_bytes;
	uint64_t original; /* of an atomic */
	uint64_t after;	   /* the remote word, when it is done */
	uint32_t word;
	bool done;
};

/* One direction: requests of ep[side], answered by ep[1 - side]. */
struct plan {
	struct op ops[OPS_MAX];
	uint32_t num;
	uint32_t posted;
	uint32_t polled;	 /* completions may skip unsignalled ones: all before are done */
	uint32_t recvs[OPS_MAX]; /* ops that take a receive, in order */
	uint32_t num_recvs;
	uint32_t recvs_posted;
	uint32_t recvs_polled;
	bool ended; /* its retries ran out */
};

struct soak {
	struct sim sim;
	struct plan plan[2];
	uint8_t *before[2];
	uint8_t *after[2];
	uint32_t used[2]; /* of message memory */
	uint64_t seed;
	uint64_t random;
	bool lossy; /* retries may run out */
	bool late_receives;
	char wrong[160];
};

static uint32_t draw(struct soak *s, uint32_t n)
{
	uint64_t z = s->random += 0x9e3779b97f4a7c15u;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
	z = (z ^ z >> 27) * 0x94d049bb133111ebu;
	return (uint32_t)((z ^ z >> 31) >> 16) % n;
}

static bool complain(struct soak *s, const char *what, uint32_t side, uint64_t detail)
{
	if (!s->wrong[0])
		snprintf(s->wrong, sizeof(s->wrong), "%s (side %u, %llu)", what, side,
			(unsigned long long)detail);
	return false;
}

/* ---- the plan ---- */

/* Memory of a side for a message of its own; UINT32_MAX when there is no more. */
static uint32_t take_place(struct soak *s, uint32_t side, uint32_t bytes)
{
	uint32_t at = PLACES_AT + s->used[side];
	/* Any alignment: places do not begin on round numbers. */
	uint32_t need = bytes + GAP_BYTES + draw(s, 8);

	if (at + need > MEM_BYTES)
		return UINT32_MAX;
	s->used[side] += need;
	return at + draw(s, 8) % (need - bytes);
}

static uint32_t draw_len(struct soak *s, uint32_t mtu)
{
	switch (draw(s, 4)) {
	case 0:
		return draw(s, 65);
	case 1:
		return mtu * draw(s, 4) + draw(s, 3);
	case 2:
		return draw(s, 2 * mtu);
	default:
		return draw(s, LEN_MAX + 1);
	}
}

/* Cuts the local side of a work request into random segments. */
static void cut(struct soak *s, struct endpoint_wr *wr, uint32_t at, uint32_t bytes)
{
	uint32_t n = bytes == 0 ? draw(s, 2) : draw(s, 3) == 0 ? 1 + draw(s, 16) : 1;

	wr->num_segs = n;
	for (uint32_t i = 0; i < n; i++) {
		uint32_t part = i + 1 == n ? bytes : draw(s, bytes + 1);

		wr->segs[i].offset = at;
		wr->segs[i].bytes = part;
		at += part;
		bytes -= part;
	}
}

static bool plan_atomic(struct soak *s, uint32_t side, struct op *op)
{
	uint8_t *word;
	uint64_t value, returned;

	op->word = draw(s, WORDS);
	op->bytes = 8;
	op->to = take_place(s, side, 8);
	if (op->to == UINT32_MAX)
		return false;
	word = s->after[1 - side] + WORDS_AT + op->word * 8;
	memcpy(&value, word, 8);
	op->original = returned = value;
	op->wr.compare_add = draw(s, 100);
	if (op->wr.opcode == UROCE_WR_ATOMIC_FETCH_AND_ADD) {
		value += op->wr.compare_add;
	} else {
		if (draw(s, 2))
			op->wr.compare_add = value;
		op->wr.swap = draw(s, 100);
		if (op->wr.compare_add == value)
			value = op->wr.swap;
	}
	op->after = value;
	memcpy(word, &value, 8);
	memcpy(s->after[side] + op->to, &returned, 8);
	op->wr.remote_addr = (uintptr_t)(s->sim.ep[1 - side].mem + WORDS_AT + op->word * 8);
	cut(s, &op->wr, op->to, 8);
	return true;
}

/* SEND, WRITE or READ: op->bytes from the source area of one side to a place of the other. */
static bool plan_transfer(struct soak *s, uint32_t side, struct op *op, uint32_t mtu)
{
	bool reads = op->wr.opcode == UROCE_WR_RDMA_READ;
	uint32_t to_side = reads ? side : 1 - side;
	uint32_t from_side = 1 - to_side;

	op->bytes = draw_len(s, mtu);
	if (op->bytes > LEN_MAX)
		op->bytes = LEN_MAX;
	op->from = draw(s, SRC_BYTES - LEN_MAX);
	op->to = take_place(s, to_side, op->bytes);
	if (op->to == UINT32_MAX)
		return false;
	memcpy(s->after[to_side] + op->to, s->before[from_side] + op->from, op->bytes);
	op->wr.remote_addr = (uintptr_t)(s->sim.ep[1 - side].mem + (reads ? op->from : op->to));
	if (op->bytes == 0 && draw(s, 2))
		op->wr.rkey = 0x666;
	if (!reads && op->bytes > 0 && op->bytes <= 256 && draw(s, 3) == 0) {
		op->wr.flags |= UROCE_SEND_INLINE;
		op->wr.segs[0].offset = op->from;
		op->wr.segs[0].bytes = op->bytes;
		op->wr.num_segs = 1;
		return true;
	}
	cut(s, &op->wr, reads ? op->to : op->from, op->bytes);
	return true;
}

static bool plan_op(struct soak *s, uint32_t side, uint32_t mtu)
{
	static const enum uroce_wr_opcode opcodes[] = {UROCE_WR_RDMA_WRITE,
		UROCE_WR_RDMA_WRITE_WITH_IMM, UROCE_WR_SEND, UROCE_WR_SEND_WITH_IMM,
		UROCE_WR_RDMA_READ, UROCE_WR_RDMA_READ, UROCE_WR_ATOMIC_FETCH_AND_ADD,
		UROCE_WR_ATOMIC_CMP_AND_SWP};
	struct plan *plan = &s->plan[side];
	struct op *op = &plan->ops[plan->num];
	enum uroce_wr_opcode opcode = opcodes[draw(s, 8)];
	bool atomic =
		opcode == UROCE_WR_ATOMIC_FETCH_AND_ADD || opcode == UROCE_WR_ATOMIC_CMP_AND_SWP;

	*op = (struct op){.wr = {.wr_id = plan->num,
				  .opcode = opcode,
				  .imm = draw(s, 1u << 30),
				  .rkey = s->sim.ep[1 - side].key}};
	if (draw(s, 8) == 0)
		op->wr.flags |= UROCE_SEND_FENCE;
	if (draw(s, 3) == 0)
		op->wr.flags |= UROCE_SEND_SIGNALED;
	if (!(atomic ? plan_atomic(s, side, op) : plan_transfer(s, side, op, mtu)))
		return false;
	op->receives = opcode == UROCE_WR_RDMA_WRITE_WITH_IMM || opcode == UROCE_WR_SEND ||
		opcode == UROCE_WR_SEND_WITH_IMM;
	/* A receive ends where its place does: one byte too many is seen. */
	op->recv_bytes = opcode == UROCE_WR_RDMA_WRITE_WITH_IMM ? 0 : op->bytes;
	if (op->receives)
		plan->recvs[plan->num_recvs++] = plan->num;
	plan->num++;
	return true;
}

/* ---- one run ---- */

static void draw_link(struct soak *s, struct sim_link_conf *link)
{
	static const uint32_t percents[] = {0, 0, 0, 1, 2, 5, 10, 20, 30};
	const uint32_t n = sizeof(percents) / sizeof(percents[0]);

	*link = (struct sim_link_conf){.latency_ns = 500 + draw(s, 20000),
		.ns_per_kib = 10 + draw(s, 400),
		.seed = s->seed};
	if (draw(s, 4) > 0) {
		link->loss_ppm = percents[draw(s, n)] * PPM_PERCENT;
		link->duplicate_ppm = percents[draw(s, n)] * PPM_PERCENT;
		link->reorder_ppm = percents[draw(s, n)] * PPM_PERCENT;
		link->flip_ppm = percents[draw(s, n)] * PPM_PERCENT;
	}
	/* Eight tries of one exchange all lost: below this it does not happen in a lifetime. */
	s->lossy = link->loss_ppm + link->flip_ppm + link->reorder_ppm >= 5 * PPM_PERCENT;
}

static uint32_t draw_psn(struct soak *s)
{
	static const uint32_t psns[] = {0, 0x10, 0xfffffe, 0xfffff0, 0x7ffffe, 0x800000};

	return draw(s, 2) ? psns[draw(s, 6)] : draw(s, 1u << 24);
}

static void draw_endpoints(struct soak *s, struct endpoint_conf conf[2])
{
	uint32_t mtu = 256u << draw(s, 5);

	for (uint32_t i = 0; i < 2; i++) {
		conf[i] = endpoint_defaults(1 + i, 2 - i);
		conf[i].mtu_bytes = mtu;
		conf[i].mem_bytes = MEM_BYTES;
		conf[i].sq_psn = draw_psn(s);
		conf[i].caps.window_pkts = draw(s, 2) ? 1 + draw(s, 128) : 1 + draw(s, 8);
		conf[i].caps.max_send_wr = 1 + draw(s, 64);
		conf[i].attr.max_rd_atomic = conf[i].attr.max_dest_rd_atomic = 16;
		conf[i].attr.timeout = (uint8_t)(7 + draw(s, 6));
		conf[i].attr.min_rnr_timer = (uint8_t)(1 + draw(s, 12));
		conf[i].signal_all = draw(s, 2);
		if (!conf[i].signal_all && conf[i].caps.max_send_wr < OPS_MAX)
			conf[i].caps.max_send_wr = OPS_MAX;
	}
	conf[0].rq_psn = conf[1].sq_psn;
	conf[1].rq_psn = conf[0].sq_psn;
	for (uint32_t i = 0; i < 2; i++) {
		conf[i].attr.max_rd_atomic = (uint8_t)(1 + draw(s, 16));
		conf[1 - i].attr.max_dest_rd_atomic = conf[i].attr.max_rd_atomic;
		conf[1 - i].caps.max_dest_rd_atomic = conf[i].attr.max_rd_atomic;
	}
}

static void start(struct soak *s, uint64_t seed)
{
	struct endpoint_conf conf[2];
	struct sim_link_conf link;

	s->seed = seed;
	s->random = seed * 77777;
	draw_link(s, &link);
	draw_endpoints(s, conf);
	sim_init(&s->sim, &link, &conf[0], &conf[1]);
	s->sim.burst = draw(s, 2) ? 32 : 1 + draw(s, 32);
	s->sim.tx_slots = 1 + draw(s, 32);
	s->late_receives = draw(s, 2);
	for (uint32_t i = 0; i < 2; i++) {
		s->before[i] = malloc(MEM_BYTES);
		s->after[i] = malloc(MEM_BYTES);
		if (!s->before[i] || !s->after[i])
			abort();
		for (uint32_t at = 0; at < MEM_BYTES; at++)
			s->before[i][at] = (uint8_t)(at * 31 + (at >> 8) * 7 + seed + i);
		memcpy(s->after[i], s->before[i], MEM_BYTES);
		memcpy(s->sim.ep[i].mem, s->before[i], MEM_BYTES);
	}
	for (uint32_t i = 0; i < 2; i++) {
		uint32_t num = 1 + draw(s, OPS_MAX);

		while (s->plan[i].num < num && plan_op(s, i, conf[0].mtu_bytes))
			;
	}
}

/* The next receive of a direction, if the plan has one more. */
static bool post_recv(struct soak *s, uint32_t side)
{
	struct plan *plan = &s->plan[side];
	const struct op *op;

	if (plan->recvs_posted == plan->num_recvs)
		return false;
	op = &plan->ops[plan->recvs[plan->recvs_posted]];
	if (!endpoint_post_recv(&s->sim.ep[1 - side], plan->recvs_posted, op->to, op->recv_bytes))
		return false;
	plan->recvs_posted++;
	return true;
}

static bool post_send(struct soak *s, uint32_t side)
{
	struct plan *plan = &s->plan[side];

	if (plan->posted == plan->num ||
		!endpoint_post_send(&s->sim.ep[side], &plan->ops[plan->posted].wr))
		return false;
	plan->posted++;
	return true;
}

/* Posts a random part of what is left. True: something was posted. */
static bool post_some(struct soak *s, uint32_t one_in)
{
	bool posted = false;

	for (uint32_t side = 0; side < 2; side++) {
		if (s->plan[side].ended)
			continue;
		while (!s->late_receives && post_recv(s, side))
			posted = true;
		if (draw(s, one_in) == 0)
			posted |= post_recv(s, side);
		for (uint32_t i = draw(s, 4); draw(s, one_in) == 0 && i > 0; i--)
			posted |= post_send(s, side);
	}
	return posted;
}

/* ---- what completions may say ---- */

static bool check_send(struct soak *s, uint32_t side, const struct uroce_cqe *cqe)
{
	struct plan *plan = &s->plan[side];
	const struct op *op = &plan->ops[plan->polled];
	bool all = s->sim.ep[side].conf.signal_all;

	if (cqe->status == UROCE_STATUS_SUCCESS)
		while (!all && plan->polled < plan->posted &&
			!(op->wr.flags & UROCE_SEND_SIGNALED) && plan->polled < cqe->wr_id) {
			plan->ops[plan->polled++].done = true;
			op = &plan->ops[plan->polled];
		}
	if (plan->ended)
		return cqe->status == UROCE_STATUS_WR_FLUSH_ERR ||
			complain(s, "no flush after an error", side, cqe->status);
	if (cqe->status == UROCE_STATUS_RETRY_EXC_ERR && s->lossy) {
		plan->ended = true;
		return true;
	}
	if (cqe->status != UROCE_STATUS_SUCCESS)
		return complain(s, "a send ended in error", side, cqe->status);
	if (cqe->wr_id != plan->polled || plan->polled >= plan->posted)
		return complain(s, "a send completed out of turn", side, cqe->wr_id);
	if (cqe->bytes != op->bytes)
		return complain(s, "a send completed with a wrong length", side, cqe->bytes);
	plan->ops[plan->polled++].done = true;
	return true;
}

/* A receive of the peer's direction `side` completed at ep[1 - side]. */
static bool check_recv(struct soak *s, uint32_t side, const struct uroce_cqe *cqe)
{
	struct plan *plan = &s->plan[side];
	const struct op *op = &plan->ops[plan->recvs[plan->recvs_polled]];
	bool imm = op->wr.opcode != UROCE_WR_SEND;

	if (cqe->status == UROCE_STATUS_WR_FLUSH_ERR && s->plan[1 - side].ended)
		return true;
	if (cqe->status != UROCE_STATUS_SUCCESS)
		return complain(s, "a receive ended in error", side, cqe->status);
	if (cqe->wr_id != plan->recvs_polled || plan->recvs_polled >= plan->recvs_posted)
		return complain(s, "a receive completed out of turn", side, cqe->wr_id);
	if (cqe->bytes != op->bytes)
		return complain(s, "a receive completed with a wrong length", side, cqe->bytes);
	if (imm != !!(cqe->flags & UROCE_WC_WITH_IMM) || (imm && cqe->imm != op->wr.imm))
		return complain(s, "a receive has the wrong immediate value", side, cqe->imm);
	/* What is announced is there. */
	if (memcmp(s->sim.ep[1 - side].mem + op->to, s->after[1 - side] + op->to, op->bytes) != 0)
		return complain(s, "a receive was announced before its bytes", side, cqe->wr_id);
	plan->recvs_polled++;
	return true;
}

static bool poll_all(struct soak *s)
{
	struct uroce_cqe cqe;

	for (uint32_t side = 0; side < 2; side++)
		while (endpoint_poll(&s->sim.ep[side], &cqe, 1) == 1) {
			bool good = cqe.opcode >= UROCE_WC_RECV ? check_recv(s, 1 - side, &cqe)
								: check_send(s, side, &cqe);

			if (!good)
				return false;
		}
	return true;
}

static bool is_over(const struct soak *s)
{
	for (uint32_t side = 0; side < 2; side++) {
		const struct plan *plan = &s->plan[side];

		if (plan->ended)
			return true;
		if (plan->posted != plan->num || plan->recvs_polled != plan->num_recvs)
			return false;
		if (s->sim.ep[side].qp->req.head != s->sim.ep[side].qp->req.tail)
			return false;
	}
	return true;
}

/* ---- what is left at the end ---- */

static bool check_memory_whole(struct soak *s)
{
	for (uint32_t side = 0; side < 2; side++)
		for (uint32_t at = 0; at < MEM_BYTES; at++)
			if (s->sim.ep[side].mem[at] != s->after[side][at])
				return complain(s, "a byte is not what it must be", side, at);
	return true;
}

static bool is_atomic(const struct op *op)
{
	return op->wr.opcode == UROCE_WR_ATOMIC_FETCH_AND_ADD ||
		op->wr.opcode == UROCE_WR_ATOMIC_CMP_AND_SWP;
}

/* A remote word is what some prefix of the plan makes of it, that of the completed at least. */
static bool check_word(struct soak *s, uint32_t side, uint32_t word)
{
	const struct plan *plan = &s->plan[side];
	uint64_t value, want;
	bool found;

	memcpy(&value, s->sim.ep[1 - side].mem + WORDS_AT + word * 8, 8);
	memcpy(&want, s->before[1 - side] + WORDS_AT + word * 8, 8);
	found = value == want;
	for (uint32_t i = 0; i < plan->posted; i++) {
		const struct op *op = &plan->ops[i];

		if (!is_atomic(op) || op->word != word)
			continue;
		found = (found && !op->done) || value == op->after;
	}
	return found || complain(s, "a word is what no order of atomics makes", side, word);
}

static bool check_memory_of_a_broken_run(struct soak *s)
{
	for (uint32_t side = 0; side < 2; side++) {
		const uint8_t *mem = s->sim.ep[side].mem;
		const struct plan *plan = &s->plan[side];

		for (uint32_t at = 0; at < MEM_BYTES; at++)
			if ((at < WORDS_AT || at >= PLACES_AT) && mem[at] != s->before[side][at] &&
				mem[at] != s->after[side][at])
				return complain(s, "a byte is neither old nor new", side, at);
		for (uint32_t word = 0; word < WORDS; word++)
			if (!check_word(s, side, word))
				return false;
		for (uint32_t i = 0; i < plan->num; i++) {
			const struct op *op = &plan->ops[i];
			bool here = is_atomic(op) || op->wr.opcode == UROCE_WR_RDMA_READ;
			uint32_t to_side = here ? side : 1 - side;

			if (op->done &&
				memcmp(s->sim.ep[to_side].mem + op->to, s->after[to_side] + op->to,
					op->bytes) != 0)
				return complain(s, "done, but not there", side, i);
		}
	}
	return true;
}

static bool check_rest(struct soak *s)
{
	for (uint32_t side = 0; side < 2; side++) {
		struct endpoint *ep = &s->sim.ep[side];
		const struct uroce_qp *qp = ep->qp;

		if (!endpoint_counts_add_up(ep))
			return complain(s, "frames are not those accepted and dropped", side, 0);
		if (qp->req.reads_out != 0 || qp->resp.reads_owed != 0)
			return complain(s, "a read is still open", side, qp->req.reads_out);
		if (qp->req.psn_una != qp->req.psn_high)
			return complain(s, "a PSN is still open", side, qp->req.psn_una);
		if (uroce_core_next_deadline(&ep->core) != UROCE_TIMER_NEVER)
			return complain(s, "a timer still runs", side, 0);
		if (qp->req.psn_next !=
			((ep->conf.sq_psn + (qp->req.psn_next - ep->conf.sq_psn)) & 0xffffff))
			return complain(s, "a PSN left its circle", side, qp->req.psn_next);
	}
	return true;
}

static bool run(struct soak *s)
{
	bool moving = true;

	while (!is_over(s)) {
		bool posted = post_some(s, moving ? 6 : 1);
		bool rest;

		if (s->sim.now_ns > LIMIT_NS)
			return complain(s, "did not end in an hour", 0, s->sim.now_ns);
		moving = sim_step(&s->sim, UINT64_MAX - 1);
		if (!poll_all(s))
			return false;
		rest = !moving && !posted && !post_some(s, 1);
		/* Random may post nothing in a turn; a few of those are not a standstill. */
		for (uint32_t i = 0; rest && i < 64; i++)
			rest = !post_some(s, 1);
		if (rest && !is_over(s) && !sim_step(&s->sim, UINT64_MAX - 1))
			return complain(s, "came to rest with work left", 0, s->sim.now_ns);
	}
	if (s->plan[0].ended || s->plan[1].ended) {
		sim_run(&s->sim, s->sim.now_ns + 1000000000000ull);
		return poll_all(s) && check_memory_of_a_broken_run(s);
	}
	if (!sim_run(&s->sim, s->sim.now_ns + 1000000000000ull))
		return complain(s, "does not come to rest", 0, s->sim.now_ns);
	return poll_all(s) && check_rest(s) && check_memory_whole(s);
}

static bool soak_one(uint64_t seed, bool *broke)
{
	struct soak *s = calloc(1, sizeof(*s));
	bool good;

	if (!s)
		abort();
	start(s, seed);
	good = run(s);
	*broke = s->plan[0].ended || s->plan[1].ended;
	if (!good) {
		printf("seed %llu: %s\n", (unsigned long long)seed, s->wrong);
		for (uint32_t i = 0; i < 2; i++) {
			printf(" side %u:\n", i);
			endpoint_print_trace(&s->sim.ep[i], TRACE_SHOWN);
		}
		printf(" again with: SOAK_FIRST=%llu SOAK_SEEDS=1\n", (unsigned long long)seed);
	}
	for (uint32_t i = 0; i < 2; i++) {
		free(s->before[i]);
		free(s->after[i]);
	}
	sim_fini(&s->sim);
	free(s);
	return good;
}

static uint64_t setting(const char *name, uint64_t otherwise)
{
	const char *text = getenv(name);

	return text ? strtoull(text, NULL, 10) : otherwise;
}

static void random_work_over_a_bad_link(void)
{
	uint64_t first = setting("SOAK_FIRST", 1);
	uint64_t seeds = setting("SOAK_SEEDS", SEEDS_DEFAULT);
	uint32_t failures = 0, broken = 0;

	for (uint64_t seed = first; seed < first + seeds && failures < 3; seed++) {
		bool broke;

		failures += !soak_one(seed, &broke);
		broken += broke;
	}
	printf("\n%llu seeds, retries ran out in %u\n", (unsigned long long)seeds, broken);
	CU_ASSERT_EQUAL(failures, 0);
	/* Most runs must come to their end, or the test shows little. */
	CU_ASSERT_TRUE(broken <= seeds / 3 + 1);
}

int main(void)
{
	static const struct unit_case cases[] = {
		{"random work over a bad link is done once, in order, byte for byte",
			random_work_over_a_bad_link},
	};

	return run_suite("soak", cases, sizeof(cases) / sizeof(cases[0]));
}
