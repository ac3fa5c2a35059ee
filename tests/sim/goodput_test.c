/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What losses cost: goodput of each operation at loss rates from none to 30 %, to the per mille.
 *
 * Two nodes on a switch, 10 Gb/s and 10 us one way, 16 work requests at a time, timeout code 8,
 * 7 retries or 3. When retries run out the connection starts anew and the work goes on. All of it
 * is simulated and drawn by seed, so the numbers are the same on every machine: they are held
 * against goodput.txt, and whoever changes how losses are repaired sees what it does to all of
 * them. Every completion and byte is held against the model.
 *
 * Nobody repairs what is lost of unreliable messages: there goodput is what arrives. They go in
 * bursts of 32, which have all their receives before the first message, and are lives to
 * themselves. A SEND with invalidate ends a fast region of its receiver, which registers that anew,
 * under another key, before it is sent the next one.
 */
#include <stdlib.h>
#include <string.h>

#include "cunit_run.h"
#include "model.h"
#include "net.h"

enum {
	DEPTH = 16,
	BURST = 32, /* unreliable messages, before all has to come to rest */
	MESSAGES_MAX = 2048,
	WORD_AT = 0, /* for atomics; messages follow */
	PLACES_AT = 64,
	GRH_BYTES = 40,
	LOSSES = 8,
	LINE_BYTES = 200,
	LINES_MAX = 48,
	LIVES_MAX = 10000,
};

#define LIMIT_NS 100000000000ull /* of a cell, simulated */

static const uint32_t losses_ppm[LOSSES] = {0, 1000, 10000, 20000, 50000, 100000, 200000, 300000};

enum service {
	RC,
	RC_SRQ, /* the receiver's queue is a shared one */
	UC,
	UD
};

static const struct row {
	const char *name;
	enum model_kind kind;
	enum uroce_wr_opcode opcode;
	uint32_t bytes;
	uint32_t messages;
	enum service service;
} rows[] = {
	{"SEND", MODEL_SEND, UROCE_WR_SEND, 64, 2048, RC},
	{"SEND", MODEL_SEND, UROCE_WR_SEND, 4096, 512, RC},
	{"SEND", MODEL_SEND, UROCE_WR_SEND, 65536, 64, RC},
	{"WRITE", MODEL_WRITE, UROCE_WR_RDMA_WRITE, 64, 2048, RC},
	{"WRITE", MODEL_WRITE, UROCE_WR_RDMA_WRITE, 4096, 512, RC},
	{"WRITE", MODEL_WRITE, UROCE_WR_RDMA_WRITE, 65536, 64, RC},
	{"WRITE_IMM", MODEL_WRITE_IMM, UROCE_WR_RDMA_WRITE_WITH_IMM, 64, 2048, RC},
	{"WRITE_IMM", MODEL_WRITE_IMM, UROCE_WR_RDMA_WRITE_WITH_IMM, 4096, 512, RC},
	{"WRITE_IMM", MODEL_WRITE_IMM, UROCE_WR_RDMA_WRITE_WITH_IMM, 65536, 64, RC},
	{"READ", MODEL_READ, UROCE_WR_RDMA_READ, 64, 2048, RC},
	{"READ", MODEL_READ, UROCE_WR_RDMA_READ, 4096, 512, RC},
	{"READ", MODEL_READ, UROCE_WR_RDMA_READ, 65536, 64, RC},
	{"FETCH_ADD", MODEL_FADD, UROCE_WR_ATOMIC_FETCH_AND_ADD, 8, 2048, RC},
	{"SEND_IMM", MODEL_SEND_IMM, UROCE_WR_SEND_WITH_IMM, 64, 1024, RC},
	{"SEND_IMM", MODEL_SEND_IMM, UROCE_WR_SEND_WITH_IMM, 4096, 256, RC},
	{"SEND_INV", MODEL_SEND, UROCE_WR_SEND_WITH_INV, 64, 1024, RC},
	{"SEND_INV", MODEL_SEND, UROCE_WR_SEND_WITH_INV, 4096, 256, RC},
	{"CMP_AND_SWP", MODEL_CAS, UROCE_WR_ATOMIC_CMP_AND_SWP, 8, 1024, RC},
	{"ATOMIC_WRITE", MODEL_ATOMIC_WRITE, UROCE_WR_ATOMIC_WRITE, 8, 1024, RC},
	{"WRITE+FLUSH", MODEL_FLUSH, UROCE_WR_FLUSH, 64, 1024, RC},
	{"WRITE+FLUSH", MODEL_FLUSH, UROCE_WR_FLUSH, 4096, 256, RC},
	{"SRQ SEND", MODEL_SEND, UROCE_WR_SEND, 64, 1024, RC_SRQ},
	{"SRQ SEND", MODEL_SEND, UROCE_WR_SEND, 4096, 256, RC_SRQ},
	{"UC SEND", MODEL_SEND, UROCE_WR_SEND, 64, 512, UC},
	{"UC SEND", MODEL_SEND, UROCE_WR_SEND, 4096, 128, UC},
	{"UC WRITE", MODEL_WRITE, UROCE_WR_RDMA_WRITE, 64, 512, UC},
	{"UC WRITE", MODEL_WRITE, UROCE_WR_RDMA_WRITE, 4096, 128, UC},
	{"UD SEND", MODEL_SEND, UROCE_WR_SEND, 64, 512, UD},
	{"UD SEND", MODEL_SEND, UROCE_WR_SEND, 4096, 128, UD},
};

enum {
	ROWS = sizeof(rows) / sizeof(rows[0])
};

/* A fast region of the receiver, which a SEND with invalidate ends. */
struct region {
	uint32_t key;
	bool asked; /* to be registered under this key, and not ended since */
	bool open;
};

/* One row at one loss rate. All but net is over all lives of the connection. */
struct cell {
	const struct row *row;
	struct net net;
	uint32_t done; /* messages completed */
	uint32_t arrived;
	uint32_t lives;
	uint32_t next_recv;	      /* to be posted */
	bool taken[2 * MESSAGES_MAX]; /* receives of a shared queue */
	struct region regions[DEPTH];
	uint64_t done_ns;
	uint64_t seed;
	char wrong[300];
};

/* What is known of one life of the connection: the model has the messages that were left. */
struct life {
	struct model *model;
	const uint8_t *memory[2];
	uint32_t first; /* message */
	uint32_t end;
	uint32_t posted;
	uint32_t done;
};

static enum uroce_qp_type type_of(const struct row *row)
{
	return row->service == UC ? UROCE_QP_UC : row->service == UD ? UROCE_QP_UD : UROCE_QP_RC;
}

static bool is_shared(const struct row *row)
{
	return row->service == RC_SRQ;
}

static bool is_reliable(const struct row *row)
{
	return type_of(row) == UROCE_QP_RC;
}

static bool is_on_word(const struct row *row)
{
	return row->kind == MODEL_FADD || row->kind == MODEL_CAS;
}

static bool is_send(const struct row *row)
{
	return row->kind == MODEL_SEND || row->kind == MODEL_SEND_IMM;
}

static bool receives(const struct row *row)
{
	return is_send(row) || row->kind == MODEL_WRITE_IMM;
}

static bool invalidates(const struct row *row)
{
	return row->opcode == UROCE_WR_SEND_WITH_INV;
}

static uint32_t grh_bytes(const struct row *row)
{
	return row->service == UD ? GRH_BYTES : 0;
}

/* Message i lies at its own place on one side and comes to the same place on the other. */
static uint32_t place_of(const struct row *row, uint32_t i)
{
	return PLACES_AT + i * (row->bytes + grh_bytes(row) + 8);
}

/* A connection that ends may hold a receive of a shared queue, and that is lost. */
static uint32_t recvs_of(const struct row *row)
{
	return is_shared(row) ? 2 * row->messages : row->messages;
}

static uint32_t recv_bytes(const struct row *row)
{
	return is_send(row) ? row->bytes + grh_bytes(row) : 0;
}

/* What message i is: a FLUSH is of the WRITE before it. */
static struct model_op op_of(const struct row *row, uint32_t i)
{
	struct model_op op = {.kind = row->kind,
		.id = i,
		.bytes = row->bytes,
		.local = place_of(row, i),
		.remote = is_on_word(row) ? WORD_AT : place_of(row, i),
		.imm = i,
		.compare_add = row->kind == MODEL_CAS ? i : 1 + i,
		.swap = 1 + i};

	if (row->kind == MODEL_FLUSH && i % 2 == 0)
		op.kind = MODEL_WRITE;
	else if (row->kind == MODEL_FLUSH)
		op.remote = place_of(row, i - 1);
	return op;
}

static void conf_qps(const struct row *row, struct node_qp_conf qps[2])
{
	qps[0] = node_qp_defaults(1, 0);
	qps[1] = node_qp_defaults(0, 0);
	for (uint32_t i = 0; i < 2; i++) {
		qps[i].attr.timeout = 8;
		if (is_shared(row) || invalidates(row)) /* so that these meet a new start too */
			qps[i].attr.retry_cnt = 3;
		qps[i].caps.type = type_of(row);
		qps[i].caps.max_send_wr = DEPTH;
		qps[i].caps.max_recv_wr = is_reliable(row) ? DEPTH : BURST;
	}
	qps[1].shares_recvs = is_shared(row);
}

static void start(struct cell *c, uint32_t loss_ppm)
{
	struct net_port_conf port = {.ns_per_kib = 819, .latency_ns = 5000};
	struct net_port_conf ports[2] = {port, port};
	struct node_qp_conf qps[2];
	struct node_conf nodes[2];
	struct net_conf conf = {.num_nodes = 2,
		.nodes = nodes,
		.ports = ports,
		.seed = c->seed,
		.loss_ppm = loss_ppm};

	conf_qps(c->row, qps);
	for (uint32_t i = 0; i < 2; i++)
		nodes[i] = (struct node_conf){.mem_bytes = place_of(c->row, recvs_of(c->row)),
			.num_cqs = 1,
			.cqes = DEPTH + qps[i].caps.max_recv_wr,
			.num_qps = 1,
			.qps = &qps[i],
			.srq_wr = is_shared(c->row) ? DEPTH : 0};
	net_init(&c->net, &conf);
	for (uint32_t i = 0; i < 2; i++)
		for (uint32_t at = PLACES_AT; at < nodes[i].mem_bytes; at++)
			c->net.nodes[i].mem[at] = (uint8_t)(at * 31 + (at >> 8) * 7 + i);
	for (uint32_t i = 0; invalidates(c->row) && i < DEPTH; i++)
		c->regions[i].key = node_add_key(&c->net.nodes[1], UROCE_MR_FAST);
}

/* ---- one life ---- */

static bool blame(struct cell *c, const struct life *l, const char *what)
{
	if (!c->wrong[0])
		snprintf(c->wrong, sizeof(c->wrong), "%s: %s", what, model_wrong(l->model));
	return false;
}

static uint32_t recvs_until(const struct row *row, const struct life *l)
{
	return is_shared(row) ? recvs_of(row) : l->end;
}

/* All receives that may be posted; a shared queue still has what the last life did not take. */
static bool plan_recvs(struct cell *c, const struct life *l)
{
	const struct row *row = c->row;
	bool good = true;

	if (!is_shared(row))
		c->next_recv = l->first;
	for (uint32_t i = is_shared(row) ? 0 : l->first; i < recvs_until(row, l); i++) {
		struct model_recv recv = {i, place_of(row, i), recv_bytes(row)};

		if (is_shared(row) && c->taken[i])
			continue;
		good &= model_add_recv(l->model, 0, &recv);
		if (i < c->next_recv)
			model_recv_posted(l->model, 0);
	}
	return good;
}

/* Tells the model all messages that are left, and what memory is now. */
static bool plan(struct cell *c, struct life *l)
{
	static const enum model_service services[] = {
		[RC] = MODEL_RC, [RC_SRQ] = MODEL_RC, [UC] = MODEL_UC, [UD] = MODEL_UD};
	const struct row *row = c->row;
	uint32_t mem_bytes = place_of(row, recvs_of(row));
	struct model_direction there = {.service = services[row->service],
		.from = 0,
		.to = 1,
		.reverse = 1,
		.signal_all = true};
	struct model_direction back = {
		.service = there.service, .from = 1, .to = 0, .recv_queue = 1};
	bool good = true;

	l->model = model_create(2, mem_bytes);
	l->first = c->done;
	l->end = row->messages;
	if (!is_reliable(row) && l->end > l->first + BURST)
		l->end = l->first + BURST;
	for (uint32_t i = 0; i < 2; i++) {
		memcpy(model_memory(l->model, i), c->net.nodes[i].mem, mem_bytes);
		l->memory[i] = c->net.nodes[i].mem;
		model_add_recv_queue(l->model, 1 - i, is_shared(row) && i == 0);
	}
	model_add_direction(l->model, &there);
	model_add_direction(l->model, &back);
	if (receives(row))
		good = plan_recvs(c, l);
	for (uint32_t i = l->first; i < l->end; i++) {
		struct model_op op = op_of(row, i);

		good &= model_add_op(l->model, 0, &op);
	}
	return good || blame(c, l, "no plan");
}

/* Whether the region that message i ends is open; if it is not, has it registered. */
static bool is_region_open(struct cell *c, uint32_t i)
{
	struct region *region = &c->regions[i % DEPTH];
	struct node *receiver = &c->net.nodes[1];
	uint32_t next_key = (region->key & ~0xffu) | ((region->key + 1) & 0xff);
	struct endpoint_wr wr = {.wr_id = i,
		.opcode = UROCE_WR_REG_MR,
		.imm = region->key,
		.bytes = UROCE_ACCESS_REMOTE_READ,
		.change = {.new_key = next_key,
			.addr = (uintptr_t)receiver->mem,
			.bytes = receiver->mem_bytes,
			.ptr = receiver->mem}};

	if (!region->asked && node_post_send(receiver, 0, &wr)) {
		region->asked = true;
		region->key = next_key;
	}
	return region->open;
}

static bool post_recv(struct cell *c, struct life *l)
{
	const struct row *row = c->row;
	uint32_t i = c->next_recv, at = place_of(row, i), bytes = recv_bytes(row);
	struct node *to = &c->net.nodes[1];

	if (i == recvs_until(row, l) ||
		!(is_shared(row) ? node_post_shared_recv(to, i, at, bytes)
				 : node_post_recv(to, 0, i, at, bytes)))
		return false;
	model_recv_posted(l->model, 0);
	c->next_recv++;
	return true;
}

/* Receives for message i: one, or as many as there is room for where it may take any. */
static bool is_received(struct cell *c, struct life *l, uint32_t i)
{
	if (!receives(c->row))
		return true;
	if (is_reliable(c->row) && !is_shared(c->row))
		return c->next_recv > i || post_recv(c, l);
	while (post_recv(c, l))
		;
	return true;
}

static bool post(struct cell *c, struct life *l)
{
	const struct row *row = c->row;
	uint32_t i = l->first + l->posted;
	const struct model_op op = op_of(row, i);
	struct node *peer = &c->net.nodes[1];
	struct endpoint_wr wr = {.wr_id = i,
		.opcode = op.kind == row->kind ? row->opcode : UROCE_WR_RDMA_WRITE,
		.num_segs = op.kind == MODEL_FLUSH ? 0 : 1,
		.segs = {{op.local, op.bytes}},
		.imm = op.kind == MODEL_FLUSH ? UROCE_FLUSH_GLOBAL : op.imm,
		.bytes = op.bytes,
		.rkey = peer->key,
		.remote_addr = (uintptr_t)(peer->mem + op.remote),
		.compare_add = op.compare_add,
		.swap = op.swap};

	if (!is_received(c, l, i) || (invalidates(row) && !is_region_open(c, i)))
		return false;
	if (invalidates(row))
		wr.imm = c->regions[i % DEPTH].key;
	if (!node_post_send(&c->net.nodes[0], 0, &wr))
		return false;
	model_posted(l->model, 0);
	l->posted++;
	return true;
}

static struct model_completion completion_of(const struct uroce_cqe *cqe)
{
	static const enum model_what whats[] = {[UROCE_WC_SEND] = MODEL_IS_SEND,
		[UROCE_WC_RDMA_WRITE] = MODEL_IS_WRITE,
		[UROCE_WC_RDMA_READ] = MODEL_IS_READ,
		[UROCE_WC_COMP_SWAP] = MODEL_IS_CAS,
		[UROCE_WC_FETCH_ADD] = MODEL_IS_FADD,
		[UROCE_WC_FLUSH] = MODEL_IS_FLUSH,
		[UROCE_WC_ATOMIC_WRITE] = MODEL_IS_ATOMIC_WRITE,
		[UROCE_WC_RECV] = MODEL_IS_RECV,
		[UROCE_WC_RECV_RDMA_WITH_IMM] = MODEL_IS_RECV_OF_WRITE};
	struct model_completion m = {.recv = cqe->opcode >= UROCE_WC_RECV,
		.id = cqe->wr_id,
		.bytes = cqe->bytes,
		.has_imm = cqe->flags & UROCE_WC_WITH_IMM,
		.imm = cqe->imm,
		.what = whats[cqe->opcode]};

	m.status = cqe->status == UROCE_STATUS_SUCCESS	    ? MODEL_SUCCESS
		: cqe->status == UROCE_STATUS_RETRY_EXC_ERR ? MODEL_RETRIES_OUT
		: cqe->status == UROCE_STATUS_WR_FLUSH_ERR  ? MODEL_FLUSHED
							    : MODEL_OTHER_ERROR;
	return m;
}

static bool take_registered(struct cell *c, const struct uroce_cqe *cqe)
{
	struct region *region = &c->regions[cqe->wr_id % DEPTH];

	if (cqe->status != UROCE_STATUS_SUCCESS || !region->asked || region->open)
		return false;
	region->open = true;
	return true;
}

/* A receive has to name the key that it ended, and that key to open nothing any more. */
static bool take_ended(struct cell *c, const struct uroce_cqe *cqe)
{
	struct region *region = &c->regions[cqe->wr_id % DEPTH];
	struct node *receiver = &c->net.nodes[1];
	uint8_t *ptr;

	if (cqe->status != UROCE_STATUS_SUCCESS)
		return true;
	if (!(cqe->flags & UROCE_WC_WITH_INV) || !region->open || cqe->imm != region->key ||
		uroce_mr_resolve(&receiver->mrs, receiver->qps[0].qp->pd, region->key,
			(uintptr_t)receiver->mem, 8, UROCE_ACCESS_REMOTE_READ,
			&ptr) != UROCE_MR_NO_KEY)
		return false;
	region->open = region->asked = false;
	return true;
}

static bool take_completion(struct cell *c, struct life *l, const struct uroce_cqe *cqe)
{
	struct model_completion m;

	if (cqe->opcode == UROCE_WC_REG_MR)
		return take_registered(c, cqe) || blame(c, l, "a registration");
	m = completion_of(cqe);
	if (!model_completed(l->model, &m, l->memory))
		return blame(c, l, "completion");
	if (m.recv && invalidates(c->row) && !take_ended(c, cqe))
		return blame(c, l, "an invalidation");
	if (m.status != MODEL_SUCCESS)
		return true;
	if (m.recv) {
		c->taken[m.id] = true;
		c->arrived++;
		return true;
	}
	l->done++;
	c->done++;
	c->done_ns = c->net.now_ns;
	return true;
}

static bool poll_all(struct cell *c, struct life *l)
{
	struct uroce_cqe cqe;

	for (uint32_t i = 0; i < 2; i++)
		while (node_poll(&c->net.nodes[i], 0, &cqe, 1) == 1)
			if (!take_completion(c, l, &cqe))
				return false;
	return true;
}

/* Until all is done or retries run out. */
static bool live(struct cell *c)
{
	struct life l = {0};
	bool good = plan(c, &l);

	c->lives++;
	while (good && c->done < l.end && !model_is_broken(l.model, 0)) {
		while (l.first + l.posted < l.end && l.posted - l.done < DEPTH && post(c, &l))
			;
		if (!net_step(&c->net, LIMIT_NS))
			good = blame(c, &l, "came to rest, or to the end of time, with work left");
		good = good && poll_all(c, &l);
	}
	while (good && net_step(&c->net, LIMIT_NS))
		good = poll_all(c, &l);
	if (good && !model_check_end(l.model, l.memory))
		good = blame(c, &l, "end");
	if (good && (model_is_broken(l.model, 0) || !is_reliable(c->row)))
		net_reconnect(&c->net, 0, 0);
	model_destroy(l.model);
	return good;
}

/* ---- the table ---- */

/* Of unreliable messages: how many are whole at the far end. */
static uint32_t count_arrived(const struct cell *c)
{
	const struct row *row = c->row;
	uint32_t n = 0;

	if (receives(row))
		return c->arrived;
	for (uint32_t i = 0; i < row->messages; i++)
		n += memcmp(c->net.nodes[1].mem + place_of(row, i),
			     c->net.nodes[0].mem + place_of(row, i), row->bytes) == 0;
	return n;
}

/* Bits per second. */
static uint64_t rate_of(const struct cell *c)
{
	const struct row *row = c->row;
	uint64_t bytes = (uint64_t)row->messages * row->bytes;

	if (row->kind == MODEL_FLUSH) /* every other one is a WRITE */
		bytes /= 2;
	if (is_reliable(row))
		return 8000000000ull * bytes / c->done_ns;
	return 8000000000ull * count_arrived(c) * row->bytes / c->net.now_ns;
}

/* Bits per second, and how often retries ran out, or how many messages were lost. */
static uint64_t run(const struct row *row, uint32_t loss_ppm, uint64_t seed, uint32_t *losses)
{
	struct cell *c = calloc(1, sizeof(*c));
	uint64_t rate = 0;
	bool good = true;

	if (!c)
		abort();
	c->row = row;
	c->seed = seed;
	start(c, loss_ppm);
	while (good && c->done < row->messages && c->lives < LIVES_MAX)
		good = live(c);
	CU_ASSERT_TRUE(good);
	CU_ASSERT_EQUAL(c->done, row->messages);
	if (!good)
		printf("\n%s of %u bytes, loss %u ppm: %s\n", row->name, row->bytes, loss_ppm,
			c->wrong);
	else
		rate = rate_of(c);
	*losses = is_reliable(row) ? c->lives - 1 : row->messages - count_arrived(c);
	if (loss_ppm == 0)
		CU_ASSERT_EQUAL(*losses, 0);
	net_fini(&c->net);
	free(c);
	return rate;
}

static void make_line(uint32_t index, char *line)
{
	const struct row *row = &rows[index];
	uint64_t base = 0;
	int at = 0;

	for (uint32_t i = 0; i < LOSSES; i++) {
		uint32_t losses;
		uint64_t rate = run(row, losses_ppm[i], 100 * index + i, &losses);

		if (i == 0) {
			base = rate;
			at = snprintf(line, LINE_BYTES, "%-12s %6u %6u", row->name, row->bytes,
				(uint32_t)(rate / 1000000));
		}
		at += snprintf(line + at, LINE_BYTES - (size_t)at, " %5u/%-3u",
			(uint32_t)(base ? rate * 1000 / base : 0), losses);
	}
	while (at > 0 && line[at - 1] == ' ')
		line[--at] = '\0';
}

static const char *const heading[] = {
	"# Goodput of 16 work requests at a time over 10 Gb/s and 10 us one way, MTU 1024, timeout",
	"# code 8, 7 retries (SEND_INV and SRQ: 3): Mb/s without loss, then by loss rate the per",
	"# mille of that / how often retries ran out; UC and UD, in bursts of 32 messages: / how",
	"# many were lost, of 512 of 64 bytes or 128 of 4096. UROCE_REWRITE=1 "
	"build/tests/goodput_test",
	"# writes this file.",
	"# operation     bytes   Mb/s      0 %     0.1 %       1 %       2 %       5 %      10 %"
	"      20 %      30 %",
};

static bool write_golden(char lines[][LINE_BYTES], uint32_t n)
{
	FILE *f = fopen(GOODPUT_GOLDEN, "w");

	if (!f)
		return false;
	for (uint32_t i = 0; i < n; i++)
		fprintf(f, "%s\n", lines[i]);
	return fclose(f) == 0;
}

static void compare_golden(char lines[][LINE_BYTES], uint32_t n)
{
	FILE *f = fopen(GOODPUT_GOLDEN, "r");
	char line[LINE_BYTES + 2];
	uint32_t differ = 0;

	CU_ASSERT_PTR_NOT_NULL_FATAL(f);
	for (uint32_t i = 0; i < n; i++) {
		if (!fgets(line, sizeof(line), f))
			line[0] = '\0';
		line[strcspn(line, "\n")] = '\0';
		if (strcmp(line, lines[i]) == 0)
			continue;
		printf("\nexpected: %s\ngot:      %s\n", line, lines[i]);
		differ++;
	}
	CU_ASSERT_PTR_NULL(fgets(line, sizeof(line), f));
	fclose(f);
	CU_ASSERT_EQUAL(differ, 0);
	if (differ > 0)
		printf("\nIf that is meant, rewrite the table: UROCE_REWRITE=1 "
		       "build/tests/goodput_test\n");
}

static void the_table(void)
{
	static char lines[LINES_MAX][LINE_BYTES];
	uint32_t n = 0;

	for (size_t i = 0; i < sizeof(heading) / sizeof(heading[0]); i++)
		snprintf(lines[n++], LINE_BYTES, "%s", heading[i]);
	for (uint32_t i = 0; i < ROWS; i++)
		make_line(i, lines[n++]);
	if (getenv("UROCE_REWRITE"))
		CU_ASSERT_TRUE(write_golden(lines, n));
	compare_golden(lines, n);
}

int main(void)
{
	static const struct unit_case cases[] = {
		{"uccl#117: losses cost what they did, and never data", the_table},
	};

	return run_suite("goodput", cases, sizeof(cases) / sizeof(cases[0]));
}
