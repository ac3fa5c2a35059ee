/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Drawing worlds. Each node has bytes that are only ever read (to send from, and for peers to
 * READ), words for atomics, a few to each direction, and places: a piece of memory for each
 * message, at any alignment, with a gap around it. Some operations go back to a place: WRITEs over
 * an earlier WRITE, READs of what was written, and SENDs of what was READ, with the fences that
 * these need; so a request that is carried out late, twice or too early shows.
 *
 * Some worlds have ATOMIC WRITEs and FLUSHes, some have shared receive queues, some have keys. What
 * has which is drawn from bits of its own, so that the other worlds are the same as without. A
 * shared receive is of one size for all, and no message to it is longer: which takes it, the run
 * decides.
 */
#include "world_draft.h"

#include <string.h>

enum {
	WORDS_AT = SRC_BYTES,
	PLACES_AT = WORDS_AT + WORLD_DIRECTIONS_MAX * WORDS * 8,
	MEM_MAX = 1 << 19,
	GAP_BYTES = 8,
	GRH_BYTES = 40,
	SHARED_MESSAGE_MAX = 4096,
	SHARED_BYTES = SHARED_MESSAGE_MAX + GRH_BYTES,
	SPARES_MAX = 4,
	UC_MTUS_MAX = 3, /* length of a message */
	PPM_PERCENT = 10000,
	OPS_TOTAL = 96,
	FIRST_QPN = 0x100,
};

uint32_t world_random(uint64_t *state, uint32_t n)
{
	return (uint32_t)(net_random(state) >> 16) % n;
}

uint32_t world_qpn(uint32_t direction)
{
	return FIRST_QPN + direction;
}

bool world_is_shared(const struct world *w, uint32_t direction)
{
	const struct world_direction *far = &w->directions[direction ^ 1];

	return w->qps[far->node][far->qp].shares_recvs;
}

void world_clear_words(uint8_t *mem)
{
	memset(mem + WORDS_AT, 0, PLACES_AT - WORDS_AT);
}

static uint32_t draw_more(struct draft *d, uint32_t n)
{
	return world_random(&d->more, n);
}

struct world_part world_whole(uint64_t seed, uint32_t num_nodes)
{
	struct world_part part = {.seed = seed, .num_nodes = num_nodes, .pauses = UINT32_MAX};

	memset(part.ops, 0xff, sizeof(part.ops));
	return part;
}

/* ---- operations ---- */

uint32_t world_take_place(struct draft *d, uint32_t node, uint32_t bytes)
{
	uint32_t at = d->used[node];
	uint32_t need = bytes + GAP_BYTES + draw(d, 8);

	if (at + need > MEM_MAX)
		return 0;
	d->used[node] += need;
	return at + draw(d, 8) % (need - bytes);
}

/* Of what may be lost nobody knows what it looks like later. */
static void remember(struct draft *d, struct places *places, uint32_t at, uint32_t bytes)
{
	if (bytes > 0 && d->service == MODEL_RC)
		places->list[places->num++] = (struct place){.at = at, .bytes = bytes};
}

/* A part of a place known before, one time in `one_in`. */
static struct place *revisit(
	struct draft *d, struct places *places, uint32_t one_in, struct world_op *op, uint32_t *at)
{
	struct place *place;
	uint32_t skip;

	if (places->num == 0 || draw(d, one_in) != 0)
		return NULL;
	place = &places->list[draw(d, places->num)];
	skip = draw(d, 3) ? 0 : draw(d, place->bytes);
	op->op.bytes = place->bytes - skip;
	*at = place->at + skip;
	return place;
}

static uint32_t draw_len(struct draft *d)
{
	uint32_t len;

	if (d->service == MODEL_UD)
		return draw(d, 3) ? draw(d, d->mtu + 1) : d->mtu;
	switch (draw(d, 4)) {
	case 0:
		return draw(d, 65);
	case 1:
		len = d->mtu * draw(d, 4) + draw(d, 3);
		break;
	case 2:
		len = draw(d, 2 * d->mtu);
		break;
	default:
		len = draw(d, LEN_MAX + 1);
		break;
	}
	if (d->service == MODEL_UC && len > UC_MTUS_MAX * d->mtu)
		len = UC_MTUS_MAX * d->mtu;
	return len < LEN_MAX ? len : LEN_MAX;
}

/* A receive of an unreliable service may get any message, so it has room for each. */
static uint32_t recv_len(const struct draft *d, uint32_t bytes)
{
	if (d->service == MODEL_UD)
		return d->mtu + GRH_BYTES;
	return d->service == MODEL_UC ? UC_MTUS_MAX * d->mtu : bytes;
}

/* Cuts the local side of an operation into random segments. */
static void cut(struct draft *d, struct world_op *op)
{
	uint32_t bytes = op->op.bytes, at = op->op.local;
	uint32_t n = bytes == 0 ? draw(d, 2) : draw(d, 3) == 0 ? 1 + draw(d, WORLD_SEGS_MAX) : 1;

	op->num_segs = n;
	for (uint32_t i = 0; i < n; i++) {
		uint32_t part = i + 1 == n ? bytes : draw(d, bytes + 1);

		op->segs[i].offset = at;
		op->segs[i].bytes = part;
		at += part;
		bytes -= part;
	}
}

static bool draw_atomic(struct draft *d, uint32_t direction, struct world_op *op)
{
	uint32_t word = draw(d, WORDS);
	uint64_t *value = &d->words[word];

	op->op.bytes = 8;
	op->op.remote = WORDS_AT + 8 * (WORDS * direction + word);
	op->op.local = world_take_place(d, d->w->directions[direction].node, 8);
	op->op.swap = draw(d, 100);
	op->op.compare_add = draw(d, 100);
	if (op->op.kind == MODEL_FADD) {
		*value += op->op.compare_add;
	} else {
		if (draw(d, 2))
			op->op.compare_add = *value;
		if (op->op.compare_add == *value)
			*value = op->op.swap;
	}
	remember(d, &d->answered, op->op.local, 8);
	return op->op.local != 0;
}

static bool draw_read(struct draft *d, uint32_t direction, struct world_op *op)
{
	struct place *place = revisit(d, &d->written, 4, op, &op->op.remote);

	if (place) {
		place->was_read = true;
	} else {
		op->op.bytes = draw_len(d);
		op->op.remote = draw(d, SRC_BYTES - LEN_MAX);
	}
	op->op.local = world_take_place(d, d->w->directions[direction].node, op->op.bytes);
	remember(d, &d->answered, op->op.local, op->op.bytes);
	return op->op.local != 0;
}

/* Where the bytes of a SEND or WRITE come from. */
static void draw_source(struct draft *d, struct world_op *op)
{
	if (op->op.bytes == 0 && revisit(d, &d->answered, 6, op, &op->op.local)) {
		op->op.fence = true;
		return;
	}
	if (op->op.bytes == 0)
		op->op.bytes = draw_len(d);
	op->op.local = draw(d, SRC_BYTES - LEN_MAX);
	op->is_inline = op->op.bytes > 0 && op->op.bytes <= 256 && draw(d, 3) == 0;
}

static bool draw_write(struct draft *d, struct world_op *op)
{
	struct place *place = revisit(d, &d->written, 4, op, &op->op.remote);

	draw_source(d, op);
	if (place) {
		op->op.fence |= place->was_read;
	} else {
		op->op.remote = world_take_place(d, d->to, op->op.bytes);
		remember(d, &d->written, op->op.remote, op->op.bytes);
	}
	return op->op.remote != 0;
}

/*
 * A receive on the shared queue, with room for any message. There must be enough, or reliable
 * connections would wait for ever for what others took: a message of an unreliable one that comes
 * twice takes two.
 */
static bool add_shared(struct draft *d, uint32_t node)
{
	struct world_shared *shared = &d->w->shared[node];
	struct model_recv *recv = &shared->recvs[shared->num];

	*recv = (struct model_recv){.id = shared->num,
		.at = world_take_place(d, node, SHARED_BYTES),
		.bytes = SHARED_BYTES};
	shared->num += recv->at != 0;
	return recv->at != 0;
}

static bool draw_shared(struct draft *d)
{
	bool twice = d->service != MODEL_RC && d->w->net.duplicate_ppm > 0;

	return add_shared(d, d->to) && (!twice || add_shared(d, d->to));
}

bool world_draw_send(struct draft *d, struct world_op *op)
{
	draw_source(d, op);
	if (d->is_shared) {
		if (op->op.bytes > SHARED_MESSAGE_MAX)
			op->op.bytes = SHARED_MESSAGE_MAX;
		return true;
	}
	op->recv.bytes = recv_len(d, op->op.bytes);
	op->recv.at = world_take_place(d, d->to, op->recv.bytes);
	return op->recv.at != 0;
}

static uint32_t word_up(uint32_t at)
{
	return (at + WORD_BYTES - 1) & ~(uint32_t)(WORD_BYTES - 1);
}

/* Where eight bytes go: a word for atomics, a part of what a WRITE wrote, or a place. */
static bool draw_word_place(struct draft *d, uint32_t direction, struct world_op *op)
{
	uint32_t at;

	if (draw_more(d, 2)) {
		op->op.remote = WORDS_AT + WORD_BYTES * (WORDS * direction + draw_more(d, WORDS));
		return true;
	}
	for (uint32_t i = 0; i < d->written.num; i++) {
		struct place *place = &d->written.list[draw_more(d, d->written.num)];

		at = word_up(place->at + draw_more(d, place->bytes));
		if (at + WORD_BYTES > place->at + place->bytes)
			continue;
		op->op.remote = at;
		op->op.fence |= place->was_read;
		return true;
	}
	at = world_take_place(d, d->to, 2 * WORD_BYTES - 1);
	op->op.remote = word_up(at);
	remember(d, &d->written, op->op.remote, WORD_BYTES);
	return at != 0;
}

static bool draw_atomic_write(struct draft *d, uint32_t direction, struct world_op *op)
{
	struct place *answer = d->answered.num && draw_more(d, 3) == 0
		? &d->answered.list[draw_more(d, d->answered.num)]
		: NULL;

	op->op.bytes = WORD_BYTES;
	if (answer && answer->bytes >= WORD_BYTES) {
		op->op.local = answer->at + draw_more(d, answer->bytes - WORD_BYTES + 1);
		op->op.fence = true;
	} else {
		op->op.local = draw_more(d, SRC_BYTES - WORD_BYTES);
		op->is_inline = draw_more(d, 3) == 0;
	}
	return draw_word_place(d, direction, op);
}

/* All, what was written once, or a range that begins there or anywhere. */
static bool draw_flush(struct draft *d, struct world_op *op)
{
	const struct place *place =
		d->written.num ? &d->written.list[draw_more(d, d->written.num)] : NULL;

	op->op.everywhere = draw_more(d, 3) == 0;
	op->op.remote = place ? place->at : draw_more(d, d->used[d->to]);
	op->op.bytes = place && draw_more(d, 2) ? place->bytes
						: draw_more(d, d->used[d->to] - op->op.remote);
	return true;
}

static enum model_kind draw_kind(struct draft *d)
{
	static const enum model_kind kinds[] = {MODEL_WRITE, MODEL_WRITE_IMM, MODEL_SEND,
		MODEL_SEND_IMM, MODEL_READ, MODEL_READ, MODEL_FADD, MODEL_CAS};
	/* The first four are UC's too, two of them UD's. */
	const uint32_t first = d->service == MODEL_UD ? 2 : 0;
	const uint32_t num = d->service == MODEL_RC ? 8 : d->service == MODEL_UC ? 4 : 2;
	enum model_kind kind = kinds[first + draw(d, num)];

	if (d->has_a19 && d->service == MODEL_RC && draw_more(d, 3) == 0)
		return draw_more(d, 3) ? MODEL_ATOMIC_WRITE : MODEL_FLUSH;
	return kind;
}

/* The rest of an operation that has its kind; false: there is no memory left for it. */
static bool draw_bytes(struct draft *d, uint32_t direction, struct world_op *op)
{
	switch (op->op.kind) {
	case MODEL_SEND:
	case MODEL_SEND_IMM:
		return world_draw_send(d, op);
	case MODEL_WRITE:
	case MODEL_WRITE_IMM:
		return draw_write(d, op);
	case MODEL_READ:
		return draw_read(d, direction, op);
	case MODEL_CAS:
	case MODEL_FADD:
		return draw_atomic(d, direction, op);
	case MODEL_ATOMIC_WRITE:
		return draw_atomic_write(d, direction, op);
	case MODEL_FLUSH:
		return draw_flush(d, op);
	case MODEL_SEND_INV:
	case MODEL_INVALIDATE:
	case MODEL_BIND:
	case MODEL_REGISTER:
		break;
	}
	return false;
}

bool world_add_op(struct draft *d, uint32_t direction, struct world_op *op)
{
	struct world_direction *dir = &d->w->directions[direction];

	op->receives = op->op.kind <= MODEL_SEND_IMM || op->op.kind == MODEL_WRITE_IMM ||
		op->op.kind == MODEL_SEND_INV;
	if (op->receives && d->is_shared && !draw_shared(d))
		return false;
	dir->num++;
	/* A FLUSH of nothing looks at its key all the same, and has no segments. */
	if (op->op.kind == MODEL_FLUSH || op->op.kind >= MODEL_INVALIDATE)
		return true;
	op->bad_key = op->op.bytes == 0 && draw(d, 2);
	if (op->is_inline) {
		op->num_segs = 1;
		op->segs[0].offset = op->op.local;
		op->segs[0].bytes = op->op.bytes;
	} else {
		cut(d, op);
	}
	return true;
}

bool world_draw_op(struct draft *d, uint32_t direction)
{
	struct world_direction *dir = &d->w->directions[direction];
	struct world_op *op = &dir->ops[dir->num];

	*op = (struct world_op){.op = {.kind = draw_kind(d),
					.id = dir->num,
					.imm = draw(d, 1u << 30),
					.fence = draw(d, 8) == 0,
					.signalled = draw(d, 3) == 0}};
	op->recv.id = dir->num;
	return draw_bytes(d, direction, op) && world_add_op(d, direction, op);
}

/* ---- the network ---- */

static void draw_faults(struct draft *d)
{
	static const uint32_t percents[] = {0, 0, 0, 1, 2, 5, 10, 20, 30};
	const uint32_t n = sizeof(percents) / sizeof(percents[0]);
	struct net_conf *net = &d->w->net;

	if (draw(d, 4) == 0)
		return;
	net->loss_ppm = percents[draw(d, n)] * PPM_PERCENT;
	net->duplicate_ppm = percents[draw(d, n)] * PPM_PERCENT;
	net->reorder_ppm = percents[draw(d, n)] * PPM_PERCENT;
	net->flip_ppm = percents[draw(d, n)] * PPM_PERCENT;
}

static void draw_ports(struct draft *d)
{
	uint64_t latency_ns = 250 + draw(d, 10000), ns_per_kib = 10 + draw(d, 400);

	for (uint32_t i = 0; i < d->w->num_nodes; i++) {
		struct net_port_conf *port = &d->w->ports[i];

		*port = (struct net_port_conf){.latency_ns = latency_ns, .ns_per_kib = ns_per_kib};
		if (draw(d, 3) == 0) {
			port->latency_ns = 250 + draw(d, 10000);
			port->ns_per_kib = 10 + draw(d, 400);
		}
		if (draw(d, 12) == 0)
			port->queue_frames = 16 + draw(d, 100);
		if (draw(d, 12) == 0)
			port->rx_frames = 16 + draw(d, 100);
		port->burst = draw(d, 2) ? 32 : 1 + draw(d, 32);
		port->tx_slots = 1 + draw(d, 32);
	}
}

static void draw_pauses(struct draft *d)
{
	struct world *w = d->w;

	if (draw(d, 4) > 0)
		return;
	w->net.num_pauses = 1 + draw(d, WORLD_PAUSES_MAX);
	for (uint32_t i = 0; i < w->net.num_pauses; i++) {
		uint64_t from_ns = draw(d, 2000000);

		w->pauses[i] = (struct net_pause){draw(d, w->num_nodes), from_ns,
			from_ns + 1 + (draw(d, 3) ? draw(d, 200000) : draw(d, 20000000))};
	}
}

/* ---- connections ---- */

static uint32_t draw_psn(struct draft *d)
{
	static const uint32_t psns[] = {0, 0x10, 0xfffffe, 0xfffff0, 0x7ffffe, 0x800000};

	return draw(d, 2) ? psns[draw(d, 6)] : draw(d, 1u << 24);
}

static void draw_qp(struct draft *d, struct node_qp_conf *conf)
{
	conf->mtu_bytes = d->mtu;
	conf->sq_psn = draw_psn(d);
	conf->caps.window_pkts = draw(d, 2) ? 1 + draw(d, 128) : 1 + draw(d, 8);
	conf->caps.max_send_wr = 1 + draw(d, 64);
	conf->caps.max_recv_wr = draw(d, 2) ? 64 : 1 + draw(d, 8);
	conf->attr.max_rd_atomic = (uint8_t)(1 + draw(d, 16));
	conf->attr.timeout = (uint8_t)(7 + draw(d, 6));
	conf->attr.min_rnr_timer = (uint8_t)(1 + draw(d, 12));
	conf->signal_all = draw(d, 2);
	/* What is not signalled must fit, or it would wait for itself. */
	if (!conf->signal_all && conf->caps.max_send_wr < WORLD_OPS_MAX)
		conf->caps.max_send_wr = WORLD_OPS_MAX;
}

/* What is not taken stays posted, so all receives must fit. */
static void set_service(const struct draft *d, struct node_qp_conf *conf)
{
	static const enum uroce_qp_type types[] = {
		[MODEL_RC] = UROCE_QP_RC, [MODEL_UC] = UROCE_QP_UC, [MODEL_UD] = UROCE_QP_UD};

	conf->caps.type = types[d->service];
	if (d->service != MODEL_RC)
		conf->caps.max_recv_wr = 64;
}

/* Its completions must fit, however many of the shared receives it takes. */
static void set_shared(struct draft *d, const struct node_conf *node, struct node_qp_conf *conf)
{
	conf->shares_recvs = node->srq_wr > 0 && draw_more(d, 3) > 0;
	if (conf->shares_recvs)
		conf->caps.max_recv_wr = 2 * WORLD_OPS_MAX;
}

/* In some worlds most nodes have a shared queue, for all receives or a few at a time. */
static void draw_shared_queues(struct draft *d)
{
	if (draw_more(d, 3) > 0)
		return;
	for (uint32_t i = 0; i < d->w->num_nodes; i++)
		if (draw_more(d, 4) > 0)
			d->w->nodes[i].srq_wr =
				draw_more(d, 2) ? WORLD_SHARED_MAX : 1 + draw_more(d, 16);
}

/* Receives that no message takes. */
static void draw_spares(struct draft *d)
{
	for (uint32_t i = 0; i < d->w->num_nodes; i++)
		if (d->w->nodes[i].srq_wr > 0)
			for (uint32_t n = draw_more(d, SPARES_MAX); n > 0 && add_shared(d, i); n--)
				;
}

static struct node_qp_conf *qp_of(struct world *w, uint32_t direction)
{
	const struct world_direction *dir = &w->directions[direction];

	return &w->qps[dir->node][dir->qp];
}

void world_turn_to(struct draft *d, uint32_t direction)
{
	d->to = d->w->directions[direction ^ 1].node;
	d->is_shared = world_is_shared(d->w, direction);
	d->written.num = d->answered.num = 0;
	memset(d->words, 0, sizeof(d->words));
}

static void draw_requests(struct draft *d, uint32_t direction)
{
	struct world *w = d->w;
	struct world_direction *dir = &w->directions[direction];
	uint32_t num = 1 + draw(d, WORLD_OPS_MAX);

	if (num > OPS_TOTAL / w->num_conns)
		num = OPS_TOTAL / w->num_conns;
	/* Room for what is done with keys. */
	if (d->has_keys && num > WORLD_OPS_MAX / 4)
		num = WORLD_OPS_MAX / 4;
	world_turn_to(d, direction);
	while (dir->num < num && world_draw_op(d, direction))
		;
}

static void draw_conn(struct draft *d, uint32_t conn)
{
	struct world *w = d->w;
	struct node_qp_conf *confs[2];

	for (uint32_t end = 0; end < 2; end++) {
		struct world_direction *dir = &w->directions[2 * conn + end];

		dir->node = draw(d, w->num_nodes);
		dir->qp = w->nodes[dir->node].num_qps++;
	}
	d->mtu = 256u << draw(d, 5);
	d->service = draw(d, 2) ? MODEL_RC : draw(d, 2) ? MODEL_UC : MODEL_UD;
	for (uint32_t end = 0; end < 2; end++) {
		const struct world_direction *peer = &w->directions[2 * conn + 1 - end];

		confs[end] = qp_of(w, 2 * conn + end);
		*confs[end] = node_qp_defaults(peer->node, peer->qp);
		confs[end]->qpn = world_qpn(2 * conn + end);
		draw_qp(d, confs[end]);
		w->directions[2 * conn + end].service = d->service;
		set_service(d, confs[end]);
		set_shared(d, &w->nodes[w->directions[2 * conn + end].node], confs[end]);
	}
	for (uint32_t end = 0; end < 2; end++) {
		confs[end]->rq_psn = confs[1 - end]->sq_psn;
		confs[end]->attr.max_dest_rd_atomic = confs[1 - end]->attr.max_rd_atomic;
		confs[end]->caps.max_dest_rd_atomic = confs[1 - end]->attr.max_rd_atomic;
	}
	draw_requests(d, 2 * conn);
	draw_requests(d, 2 * conn + 1);
	if (d->has_keys && d->service == MODEL_RC)
		world_draw_keys(d, conn);
}

/* Completion queues: one for all, one for each queue pair, or two for each; just large enough. */
static void lay_out_cqs(struct draft *d)
{
	for (uint32_t i = 0; i < d->w->num_nodes; i++) {
		struct node_conf *node = &d->w->nodes[i];
		uint32_t each = draw(d, 3), all = 1;

		node->qps = d->w->qps[i];
		node->num_cqs = each * node->num_qps > 0 ? each * node->num_qps : 1;
		for (uint32_t qp = 0; qp < node->num_qps; qp++) {
			struct node_qp_conf *conf = &d->w->qps[i][qp];

			conf->send_cq = each * qp;
			conf->recv_cq = each * qp + (each == 2);
			all += conf->caps.max_send_wr + conf->caps.max_recv_wr;
		}
		node->cqes = each ? WORLD_OPS_MAX * 2 + 64 : all;
	}
}

/* ---- the whole ---- */

/* How many of these come before the one with this number; the last of them completes by itself. */
static uint32_t wait_for(struct world_direction *dir, uint64_t id)
{
	uint32_t n = 0;

	while (n < dir->num && dir->ops[n].op.id < id)
		n++;
	if (n > 0)
		dir->ops[n - 1].op.signalled = true;
	return n;
}

/* What an operation waits for has been drawn as a number; of those that are kept, it is fewer. */
static void set_waits(struct world *w)
{
	for (uint32_t i = 0; i < 2 * w->num_conns; i++)
		for (uint32_t op = 0; op < w->directions[i].num; op++)
			w->directions[i].ops[op].op.after =
				wait_for(&w->directions[i ^ 1], w->directions[i].ops[op].op.after);
}

static void leave_out(struct world *w, const struct world_part *part)
{
	uint32_t pauses = 0;

	for (uint32_t i = 0; i < 2 * w->num_conns; i++) {
		struct world_direction *dir = &w->directions[i];
		uint32_t kept = 0;

		for (uint32_t op = 0; op < dir->num; op++)
			if (part->ops[i] >> op & 1)
				dir->ops[kept++] = dir->ops[op];
		dir->num = kept;
	}
	for (uint32_t i = 0; i < w->net.num_pauses; i++)
		if (part->pauses >> i & 1)
			w->pauses[pauses++] = w->pauses[i];
	w->net.num_pauses = pauses;
	set_waits(w);
}

void world_draw(struct world *w, const struct world_part *part)
{
	struct draft d = {.w = w, .random = part->seed * 77777, .more = ~(part->seed * 77777)};
	uint64_t keys = part->seed * 99991 + 7;

	memset(w, 0, sizeof(*w));
	d.has_a19 = draw_more(&d, 3) == 0;
	d.has_keys = world_random(&keys, 3) == 0;
	w->num_nodes = 2 + draw(&d, WORLD_NODES_MAX - 1);
	if (part->num_nodes)
		w->num_nodes = part->num_nodes;
	w->num_conns = 1 + draw(&d, draw(&d, 2) ? WORLD_CONNS_MAX : 2);
	w->late_receives = draw(&d, 2);
	for (uint32_t i = 0; i < w->num_nodes; i++)
		d.used[i] = PLACES_AT;
	draw_faults(&d);
	draw_ports(&d);
	draw_pauses(&d);
	draw_shared_queues(&d);
	for (uint32_t i = 0; i < w->num_conns; i++)
		draw_conn(&d, i);
	draw_spares(&d);
	lay_out_cqs(&d);
	for (uint32_t i = 0; i < w->num_nodes; i++)
		if (d.used[i] > w->mem_bytes)
			w->mem_bytes = d.used[i];
	for (uint32_t i = 0; i < w->num_nodes; i++)
		w->nodes[i].mem_bytes = w->mem_bytes;
	w->net.num_nodes = w->num_nodes;
	w->net.nodes = w->nodes;
	w->net.ports = w->ports;
	w->net.pauses = w->pauses;
	w->net.seed = part->seed;
	w->random = d.random;
	leave_out(w, part);
}
