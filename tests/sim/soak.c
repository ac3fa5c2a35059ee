/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Running a world. Work is posted bit by bit at random while frames fly; what is polled goes to
 * the model at once, with memory as it is then. A connection whose retries ran out gets nothing
 * more, and the others go on. Whether retries may run out at all is judged here: it takes as many
 * faults as there are tries.
 */
#include "soak.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "plant.h"
#include "words.h"

/* Worlds end within seconds of their time; what has not by then goes round in circles. */
#define LIMIT_NS 120000000000ull

enum {
	TRIES = 8, /* of a request, at the defaults of a node's queue pairs */
	BAD_KEY = 0x666,
};

struct soak {
	const struct world_part *part;
	struct world world;
	struct net net;
	struct model *model;
	const uint8_t *memory[WORLD_NODES_MAX];
	uint32_t num_directions;
	uint32_t posted[WORLD_DIRECTIONS_MAX];
	uint32_t recvs_posted[WORLD_DIRECTIONS_MAX]; /* operations passed, receiving or not */
	uint32_t received[WORLD_DIRECTIONS_MAX];     /* receives completed with success */
	uint32_t recv_queues[WORLD_DIRECTIONS_MAX];  /* numbers in the model */
	uint32_t shared_queues[WORLD_NODES_MAX];
	uint32_t shared_posted[WORLD_NODES_MAX];
	struct soak_key {
		uint32_t key;  /* as the engine calls it now */
		uint64_t base; /* what a peer calls the first byte of memory */
	} keys[WORLD_KEYS_MAX];
	uint64_t random;
	bool no_plan;
	char wrong[256];
};

__attribute__((format(printf, 2, 3))) static bool complain(struct soak *s, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	if (!s->wrong[0])
		vsnprintf(s->wrong, sizeof(s->wrong), format, args);
	va_end(args);
	return false;
}

static bool complain_of_model(struct soak *s)
{
	return complain(s, "%s", model_wrong(s->model));
}

/* ---- beginning ---- */

static void fill(uint8_t *p, uint32_t bytes, uint64_t salt)
{
	for (uint32_t i = 0; i < bytes; i++)
		p[i] = (uint8_t)(i * 31 + (i >> 8) * 7 + salt);
}

static void plan_direction(struct soak *s, uint32_t direction)
{
	const struct world_direction *dir = &s->world.directions[direction];
	const struct node_qp_conf *qp = &s->world.qps[dir->node][dir->qp];
	uint32_t to = s->world.directions[direction ^ 1].node;
	struct model_direction conf = {.service = dir->service,
		.may_repeat = s->world.net.duplicate_ppm > 0,
		/* A second copy comes when it comes. */
		.may_reorder = s->world.net.reorder_ppm > 0 || s->world.net.duplicate_ppm > 0,
		.from = dir->node,
		.to = to,
		.recv_queue = world_is_shared(&s->world, direction)
			? s->shared_queues[to]
			: model_add_recv_queue(s->model, to, false),
		.reverse = direction ^ 1,
		.signal_all = qp->signal_all};

	model_add_direction(s->model, &conf);
	s->recv_queues[direction] = conf.recv_queue;
}

static bool plan_op(struct soak *s, uint32_t direction, const struct world_op *op)
{
	bool good = true;

	if (op->receives && !world_is_shared(&s->world, direction))
		good = model_add_recv(s->model, s->recv_queues[direction], &op->recv);
	return good && model_add_op(s->model, direction, &op->op);
}

/* The operations of both ends of a connection, those that wait after those that they wait for. */
static void plan_conn(struct soak *s, uint32_t conn)
{
	const struct world_direction *dirs = &s->world.directions[2 * conn];
	uint32_t planned[2] = {0, 0};
	bool good = true;

	while (good && (planned[0] < dirs[0].num || planned[1] < dirs[1].num)) {
		for (uint32_t i = 0; i < 2; i++) {
			while (good && planned[i] < dirs[i].num &&
				dirs[i].ops[planned[i]].op.after <= planned[1 - i])
				good = plan_op(s, 2 * conn + i, &dirs[i].ops[planned[i]++]);
		}
	}
	if (!good) {
		s->no_plan = true;
		complain_of_model(s);
	}
}

static void plan_keys(struct soak *s)
{
	static const enum uroce_mr_kind kinds[] = {[MODEL_FAST] = UROCE_MR_FAST,
		[MODEL_WINDOW_1] = UROCE_MR_WINDOW_1,
		[MODEL_WINDOW_2] = UROCE_MR_WINDOW_2};

	for (uint32_t i = 0; i < s->world.num_keys; i++) {
		const struct world_key *key = &s->world.keys[i];
		struct node *node = &s->net.nodes[key->node];

		model_add_key(s->model, key->node, key->kind);
		s->keys[i].key = node_add_key(node, kinds[key->kind]);
		s->keys[i].base = (uintptr_t)node->mem;
	}
}

static void plan_shared(struct soak *s, uint32_t node)
{
	const struct world_shared *shared = &s->world.shared[node];
	bool good = true;

	if (s->world.nodes[node].srq_wr == 0)
		return;
	s->shared_queues[node] = model_add_recv_queue(s->model, node, true);
	for (uint32_t i = 0; i < shared->num; i++)
		good &= model_add_recv(s->model, s->shared_queues[node], &shared->recvs[i]);
	if (!good) {
		s->no_plan = true;
		complain_of_model(s);
	}
}

static void begin(struct soak *s)
{
	struct world *w = &s->world;
	struct net_conf conf;

	plant((enum plant_kind)s->part->plant);
	world_draw(w, s->part);
	s->random = w->random;
	s->num_directions = 2 * w->num_conns;
	conf = w->net;
	conf.explicit_fates = s->part->explicit_fates;
	conf.fates = s->part->fates;
	conf.num_fates = s->part->num_fates;
	net_init(&s->net, &conf);
	s->model = model_create(w->num_nodes, w->mem_bytes);
	for (uint32_t i = 0; i < w->num_nodes; i++) {
		uint8_t *mem = s->net.nodes[i].mem;

		fill(mem, w->mem_bytes, s->part->seed + i);
		world_clear_words(mem);
		memcpy(model_memory(s->model, i), mem, w->mem_bytes);
		s->memory[i] = mem;
	}
	for (uint32_t i = 0; i < w->num_nodes; i++)
		plan_shared(s, i);
	for (uint32_t i = 0; i < s->num_directions; i++)
		plan_direction(s, i);
	plan_keys(s);
	for (uint32_t i = 0; i < w->num_conns; i++)
		plan_conn(s, i);
}

/* ---- posting ---- */

static bool is_broken(const struct soak *s, uint32_t direction)
{
	return model_is_broken(s->model, direction) || model_is_broken(s->model, direction ^ 1);
}

static bool is_opening(enum model_kind kind)
{
	return kind == MODEL_BIND || kind == MODEL_REGISTER;
}

static uint32_t retag(uint32_t key, uint32_t by)
{
	return (key & 0xffffff00) | ((key + by) & 0xff);
}

/* What the owner calls the first byte of memory where it names what is to be opened. */
static uint64_t base_of(const struct soak *s, const struct node *node, const struct world_op *op)
{
	return op->op.region ? s->keys[op->op.region - 1].base : (uintptr_t)node->mem;
}

/* From now on it is this that a key is called, and its bytes. */
static void rename_key(struct soak *s, const struct node *node, const struct world_op *op)
{
	struct soak_key *key = &s->keys[op->op.key - 1];

	key->key = retag(key->key, 1);
	key->base = op->zero_based ? 0ull - op->op.local : base_of(s, node, op);
}

/* What a BIND or REGISTER opens. */
static void set_change(
	const struct soak *s, struct node *node, const struct world_op *op, struct endpoint_wr *wr)
{
	wr->bytes = words_access(op->op.rights, op->op.kind) |
		(op->zero_based ? UROCE_ACCESS_ZERO_BASED : 0);
	wr->change.new_key = retag(s->keys[op->op.key - 1].key, 1);
	wr->change.lkey = op->op.region ? s->keys[op->op.region - 1].key : node->key;
	wr->change.addr = base_of(s, node, op) + op->op.local;
	wr->change.bytes = op->op.bytes;
	wr->change.ptr = node->mem + op->op.local;
}

static uint32_t name_of(const struct soak *s, uint32_t number, const struct world_op *op)
{
	return retag(s->keys[number - 1].key, op->op.old_key ? 0xff : 0);
}

static void set_key(
	struct soak *s, struct node *node, const struct world_op *op, struct endpoint_wr *wr)
{
	const struct soak_key *key = &s->keys[op->op.key - 1];
	uint32_t name = name_of(s, op->op.key, op);

	if (op->op.kind >= MODEL_SEND_INV)
		wr->imm = name;
	else if (!op->bad_key)
		wr->rkey = name;
	if (op->op.kind < MODEL_SEND_INV)
		wr->remote_addr = key->base + op->op.remote;
	if (is_opening(op->op.kind))
		set_change(s, node, op, wr);
}

static bool post_send(struct soak *s, uint32_t direction)
{
	const struct world_direction *dir = &s->world.directions[direction];
	const struct world_op *op = &dir->ops[s->posted[direction]];
	struct node *peer = &s->net.nodes[s->world.directions[direction ^ 1].node];
	struct endpoint_wr wr;

	if (s->posted[direction] == dir->num ||
		!model_has_done(s->model, direction ^ 1, op->op.after))
		return false;
	wr = (struct endpoint_wr){.wr_id = op->op.id,
		.opcode = words_opcode(op->op.kind),
		.num_segs = op->num_segs,
		.imm = op->op.imm,
		.remote_addr = (uintptr_t)(peer->mem + op->op.remote),
		.rkey = op->bad_key ? BAD_KEY : peer->key,
		.compare_add = op->op.compare_add,
		.swap = op->op.swap};
	wr.flags = (op->op.fence ? UROCE_SEND_FENCE : 0) |
		(op->op.signalled ? UROCE_SEND_SIGNALED : 0) |
		(op->is_inline ? UROCE_SEND_INLINE : 0);
	if (op->op.kind == MODEL_FLUSH) {
		wr.bytes = op->op.bytes;
		wr.imm = words_feth(&op->op);
	}
	if (op->op.source)
		wr.lkey = name_of(s, op->op.source, op);
	if (op->op.key)
		set_key(s, &s->net.nodes[dir->node], op, &wr);
	for (uint32_t i = 0; i < op->num_segs; i++) {
		wr.segs[i].offset = op->segs[i].offset;
		wr.segs[i].bytes = op->segs[i].bytes;
	}
	if (!node_post_send(&s->net.nodes[dir->node], dir->qp, &wr))
		return false;
	s->posted[direction]++;
	if (is_opening(op->op.kind))
		rename_key(s, &s->net.nodes[dir->node], op);
	model_posted(s->model, direction);
	return true;
}

/* The next receive for a direction, at its far end, if that has its own. */
static bool post_recv(struct soak *s, uint32_t direction)
{
	const struct world_direction *dir = &s->world.directions[direction];
	const struct world_direction *far = &s->world.directions[direction ^ 1];
	uint32_t *at = &s->recvs_posted[direction];
	const struct model_recv *recv;

	while (*at < dir->num && !dir->ops[*at].receives)
		++*at;
	if (*at == dir->num || world_is_shared(&s->world, direction))
		return false;
	recv = &dir->ops[*at].recv;
	if (!node_post_recv(&s->net.nodes[far->node], far->qp, recv->id, recv->at, recv->bytes))
		return false;
	++*at;
	model_recv_posted(s->model, s->recv_queues[direction]);
	return true;
}

static bool post_shared(struct soak *s, uint32_t node)
{
	const struct world_shared *shared = &s->world.shared[node];
	uint32_t *at = &s->shared_posted[node];
	const struct model_recv *recv = &shared->recvs[*at];

	if (*at == shared->num ||
		!node_post_shared_recv(&s->net.nodes[node], recv->id, recv->at, recv->bytes))
		return false;
	++*at;
	model_recv_posted(s->model, s->shared_queues[node]);
	return true;
}

static void post_some_shared(struct soak *s)
{
	for (uint32_t i = 0; i < s->world.num_nodes; i++) {
		if (s->shared_posted[i] == s->world.shared[i].num)
			continue;
		while (!s->world.late_receives && post_shared(s, i))
			;
		if (world_random(&s->random, 6) == 0)
			post_shared(s, i);
	}
}

/* Posts a random part of what is left. */
static void post_some(struct soak *s)
{
	post_some_shared(s);
	for (uint32_t i = 0; i < s->num_directions; i++) {
		if (is_broken(s, i))
			continue;
		while (!s->world.late_receives && post_recv(s, i))
			;
		if (world_random(&s->random, 6) == 0)
			post_recv(s, i);
		for (uint32_t n = world_random(&s->random, 4);
			n > 0 && world_random(&s->random, 6) == 0; n--)
			post_send(s, i);
	}
}

/* Nothing moves by itself: one more of each thing. False: nothing could be posted. */
static bool post_more(struct soak *s)
{
	bool posted = false;

	for (uint32_t i = 0; i < s->world.num_nodes; i++)
		posted |= post_shared(s, i);
	for (uint32_t i = 0; i < s->num_directions; i++) {
		if (is_broken(s, i))
			continue;
		posted |= post_recv(s, i);
		posted |= post_send(s, i);
	}
	return posted;
}

static bool is_all_posted(const struct soak *s)
{
	for (uint32_t i = 0; i < s->num_directions; i++) {
		const struct world_direction *dir = &s->world.directions[i];

		if (is_broken(s, i))
			continue;
		if (s->posted[i] < dir->num)
			return false;
		/* Of shared receives some may be left over. */
		for (uint32_t op = s->recvs_posted[i]; op < dir->num; op++)
			if (dir->ops[op].receives && !world_is_shared(&s->world, i))
				return false;
	}
	return true;
}

/* ---- polling ---- */

/* How often a request of this direction, or its answer, may have failed. */
static uint64_t count_excuses(const struct soak *s, uint32_t direction)
{
	const struct world_direction *dir = &s->world.directions[direction];
	uint64_t timeout_ns = 4096ull << s->world.qps[dir->node][dir->qp].attr.timeout;
	uint64_t n = (uint64_t)net_faults(&s->net, world_qpn(direction)) +
		net_faults(&s->net, world_qpn(direction ^ 1));

	for (uint32_t i = 0; i < s->world.net.num_pauses; i++) {
		const struct net_pause *pause = &s->world.pauses[i];

		n += 1 + (pause->until_ns - pause->from_ns) / timeout_ns;
	}
	return n;
}

/* The number of the key on this node that is called so; WORLD_KEYS_MAX + 1: there is none. */
static uint32_t find_key(const struct soak *s, uint32_t node, uint32_t key)
{
	for (uint32_t i = 0; i < s->world.num_keys; i++)
		if (s->world.keys[i].node == node && s->keys[i].key == key)
			return i + 1;
	return WORLD_KEYS_MAX + 1;
}

/*
 * How many failures there must have been before retries ran out: none if the peer has ended, or
 * refuses without an answer; one if its answer is lost.
 */
static uint64_t count_needed(const struct soak *s, uint32_t direction)
{
	enum model_status refusal = model_refusal(s->model, direction);

	if (refusal == MODEL_ACCESS_REFUSED)
		return 1;
	if (refusal == MODEL_RETRIES_OUT || model_is_broken(s->model, direction ^ 1))
		return 0;
	return TRIES;
}

static bool take_completion(struct soak *s, const struct uroce_cqe *cqe)
{
	struct model_completion c = words_completion(cqe);

	/* Queue pairs are numbered by the direction that they send. */
	c.direction = cqe->qpn - world_qpn(0);
	if (c.direction >= s->num_directions)
		return complain(s, "a completion of queue pair 0x%x, which is not there", cqe->qpn);
	if (c.recv)
		c.direction ^= 1;
	if (cqe->flags & UROCE_WC_WITH_INV)
		c.inv = find_key(s, s->world.directions[c.direction ^ 1].node, cqe->imm);
	if (c.status == MODEL_RETRIES_OUT &&
		count_excuses(s, c.direction) < count_needed(s, c.direction))
		return complain(s, "%u: retries ran out after fewer faults than tries: %u",
			c.direction, (uint32_t)count_excuses(s, c.direction));
	if (c.status == MODEL_BROKEN_OFF && model_refusal(s->model, c.direction) == MODEL_SUCCESS &&
		net_faults(&s->net, world_qpn(c.direction ^ 1)) == 0)
		return complain(s, "%u: a message was broken off without a fault", c.direction);
	s->received[c.direction] += c.recv && c.status == MODEL_SUCCESS;
	return model_completed(s->model, &c, s->memory) || complain_of_model(s);
}

static bool poll_all(struct soak *s)
{
	struct uroce_cqe cqe;

	for (uint32_t i = 0; i < s->net.num_nodes; i++)
		for (uint32_t cq = 0; cq < s->net.nodes[i].num_cqs; cq++)
			while (node_poll(&s->net.nodes[i], cq, &cqe, 1) == 1)
				if (!take_completion(s, &cqe))
					return false;
	return true;
}

/* ---- the end ---- */

/* Whether receives for a direction may have run out for a time. */
static bool is_scarce(const struct soak *s, uint32_t direction)
{
	uint32_t to = s->world.directions[direction ^ 1].node;

	return world_is_shared(&s->world, direction) &&
		s->world.nodes[to].srq_wr < s->world.shared[to].num;
}

/* The model lets unreliable messages be missing; where nothing befell them they must not be. */
static bool check_arrived(struct soak *s, uint32_t direction)
{
	const struct world_direction *dir = &s->world.directions[direction];
	uint32_t sent = 0;

	if (dir->service == MODEL_RC || s->world.late_receives || s->world.net.num_pauses > 0 ||
		is_scarce(s, direction) || net_faults(&s->net, world_qpn(direction ^ 1)) > 0)
		return true;
	for (uint32_t i = 0; i < dir->num; i++)
		sent += dir->ops[i].receives;
	return s->received[direction] == sent ||
		complain(s, "%u: %u of %u messages arrived, and none was lost", direction,
			s->received[direction], sent);
}

/* What the model does not know: counters, and that nothing is left open inside. */
static bool check_rest(struct soak *s)
{
	for (uint32_t i = 0; i < s->net.num_nodes; i++)
		if (!node_counts_add_up(&s->net.nodes[i]))
			return complain(s, "node %u: frames are not those accepted and dropped", i);
	if (s->net.strays > 0)
		return complain(s, "%u frames were for nobody", (uint32_t)s->net.strays);
	for (uint32_t i = 0; i < s->num_directions; i++) {
		const struct world_direction *dir = &s->world.directions[i];
		const struct uroce_qp *qp = s->net.nodes[dir->node].qps[dir->qp].qp;

		if (is_broken(s, i))
			continue;
		if (!check_arrived(s, i))
			return false;
		if (qp->req.reads_out != 0 || qp->resp.reads_owed != 0)
			return complain(s, "%u: a read is still open", i);
		if (qp->req.psn_una != qp->req.psn_high || qp->req.head != qp->req.tail)
			return complain(s, "%u: PSN 0x%06x is still open", i, qp->req.psn_una);
		if (qp->req.psn_next > 0xffffff)
			return complain(s, "%u: a PSN left its circle", i);
	}
	return true;
}

static bool run(struct soak *s)
{
	if (s->wrong[0])
		return false;
	for (;;) {
		bool moving;

		if (s->net.now_ns > LIMIT_NS)
			return complain(s, "did not end in two minutes");
		post_some(s);
		moving = net_step(&s->net, UINT64_MAX - 1);
		if (!poll_all(s))
			return false;
		if (moving)
			continue;
		if (is_all_posted(s))
			break;
		if (!post_more(s))
			return complain(s, "came to rest with work left");
	}
	if (!model_check_end(s->model, s->memory))
		return complain_of_model(s);
	return check_rest(s);
}

static bool is_refused(const struct soak *s, uint32_t direction)
{
	return model_refusal(s->model, direction) != MODEL_SUCCESS;
}

struct soak_result soak_run(const struct world_part *part, uint32_t trace)
{
	struct soak *s = calloc(1, sizeof(*s));
	struct soak_result result = {0};

	if (!s)
		abort();
	s->part = part;
	begin(s);
	result.good = run(s);
	result.no_plan = s->no_plan;
	memcpy(result.wrong, s->wrong, sizeof(result.wrong));
	result.conns = s->world.num_conns;
	for (uint32_t i = 0; i < s->num_directions; i += 2) {
		bool refused = is_refused(s, i) || is_refused(s, i + 1);

		result.refused += refused;
		result.broken += !refused && is_broken(s, i);
	}
	result.packets = s->net.frames;
	result.faults = s->net.num_notes + s->net.dropped;
	result.end_ns = s->net.now_ns;
	result.fates = s->net.notes;
	result.num_fates = s->net.num_notes;
	s->net.notes = NULL;
	if (!result.good && trace > 0) {
		world_print(&s->world, part);
		net_print_trace(&s->net, trace);
	}
	model_destroy(s->model);
	net_fini(&s->net);
	free(s);
	return result;
}
