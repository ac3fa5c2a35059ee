/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What losses cost: goodput of each operation at loss rates from none to 30 %, to the per mille.
 *
 * Two nodes on a switch, 10 Gb/s and 10 us one way, 16 work requests at a time, timeout code 8,
 * 7 retries. When retries run out the connection starts anew and the work goes on. All of it is
 * simulated and drawn by seed, so the numbers are the same on every machine: they are held against
 * goodput.txt, and whoever changes how losses are repaired sees what it does to all of them.
 * Every completion and byte is held against the model.
 */
#include <stdlib.h>
#include <string.h>

#include "cunit_run.h"
#include "model.h"
#include "net.h"

enum {
	DEPTH = 16,
	MESSAGES_MAX = 512,
	WORD_AT = 0, /* for atomics; messages follow */
	PLACES_AT = 64,
	LOSSES = 8,
	LINE_BYTES = 200,
	LINES_MAX = 32,
	LIVES_MAX = 10000,
};

#define LIMIT_NS 100000000000ull /* of a cell, simulated */

static const uint32_t losses_ppm[LOSSES] = {0, 1000, 10000, 20000, 50000, 100000, 200000, 300000};

static const struct row {
	const char *name;
	enum model_kind kind;
	enum uroce_wr_opcode opcode;
	uint32_t bytes;
	uint32_t messages;
} rows[] = {
	{"SEND", MODEL_SEND, UROCE_WR_SEND, 64, 2048},
	{"SEND", MODEL_SEND, UROCE_WR_SEND, 4096, 512},
	{"SEND", MODEL_SEND, UROCE_WR_SEND, 65536, 64},
	{"WRITE", MODEL_WRITE, UROCE_WR_RDMA_WRITE, 64, 2048},
	{"WRITE", MODEL_WRITE, UROCE_WR_RDMA_WRITE, 4096, 512},
	{"WRITE", MODEL_WRITE, UROCE_WR_RDMA_WRITE, 65536, 64},
	{"WRITE_IMM", MODEL_WRITE_IMM, UROCE_WR_RDMA_WRITE_WITH_IMM, 64, 2048},
	{"WRITE_IMM", MODEL_WRITE_IMM, UROCE_WR_RDMA_WRITE_WITH_IMM, 4096, 512},
	{"WRITE_IMM", MODEL_WRITE_IMM, UROCE_WR_RDMA_WRITE_WITH_IMM, 65536, 64},
	{"READ", MODEL_READ, UROCE_WR_RDMA_READ, 64, 2048},
	{"READ", MODEL_READ, UROCE_WR_RDMA_READ, 4096, 512},
	{"READ", MODEL_READ, UROCE_WR_RDMA_READ, 65536, 64},
	{"FETCH_ADD", MODEL_FADD, UROCE_WR_ATOMIC_FETCH_AND_ADD, 8, 2048},
};

enum {
	ROWS = sizeof(rows) / sizeof(rows[0])
};

/* One row at one loss rate. */
struct cell {
	const struct row *row;
	struct net net;
	uint32_t done; /* messages completed, over all lives of the connection */
	uint32_t lives;
	uint64_t done_ns;
	uint64_t seed;
	char wrong[300];
};

/* What is known of one life of the connection: the model has the messages that were left. */
struct life {
	struct model *model;
	const uint8_t *memory[2];
	uint32_t first; /* message */
	uint32_t posted;
	uint32_t done;
};

static bool is_answered(const struct row *row)
{
	return row->kind == MODEL_READ || row->kind == MODEL_FADD;
}

static bool receives(const struct row *row)
{
	return !is_answered(row) && row->kind != MODEL_WRITE;
}

/* Message i lies at its own place on one side and comes to the same place on the other. */
static uint32_t place_of(const struct row *row, uint32_t i)
{
	return PLACES_AT + i * (row->bytes + 8);
}

static void start(struct cell *c, uint32_t loss_ppm)
{
	struct net_port_conf port = {.ns_per_kib = 819, .latency_ns = 5000};
	struct net_port_conf ports[2] = {port, port};
	struct node_qp_conf qps[2] = {node_qp_defaults(1, 0), node_qp_defaults(0, 0)};
	struct node_conf nodes[2];
	struct net_conf conf = {.num_nodes = 2,
		.nodes = nodes,
		.ports = ports,
		.seed = c->seed,
		.loss_ppm = loss_ppm};

	for (uint32_t i = 0; i < 2; i++) {
		qps[i].attr.timeout = 8;
		qps[i].caps.max_send_wr = qps[i].caps.max_recv_wr = DEPTH;
		nodes[i] = (struct node_conf){.mem_bytes = place_of(c->row, c->row->messages),
			.num_cqs = 1,
			.cqes = 2 * DEPTH,
			.num_qps = 1,
			.qps = &qps[i]};
	}
	net_init(&c->net, &conf);
	for (uint32_t i = 0; i < 2; i++)
		for (uint32_t at = PLACES_AT; at < nodes[i].mem_bytes; at++)
			c->net.nodes[i].mem[at] = (uint8_t)(at * 31 + (at >> 8) * 7 + i);
}

/* ---- one life ---- */

static bool blame(struct cell *c, const struct life *l, const char *what)
{
	if (!c->wrong[0])
		snprintf(c->wrong, sizeof(c->wrong), "%s: %s", what, model_wrong(l->model));
	return false;
}

/* Tells the model all messages that are left, and what memory is now. */
static bool plan(struct cell *c, struct life *l)
{
	const struct row *row = c->row;
	uint32_t mem_bytes = place_of(row, row->messages);
	struct model_direction there = {.from = 0, .to = 1, .reverse = 1, .signal_all = true};
	struct model_direction back = {.from = 1, .to = 0, .recv_queue = 1};
	bool good = true;

	l->model = model_create(2, mem_bytes);
	l->first = c->done;
	for (uint32_t i = 0; i < 2; i++) {
		memcpy(model_memory(l->model, i), c->net.nodes[i].mem, mem_bytes);
		l->memory[i] = c->net.nodes[i].mem;
		model_add_recv_queue(l->model, 1 - i, false);
	}
	model_add_direction(l->model, &there);
	model_add_direction(l->model, &back);
	for (uint32_t i = l->first; i < row->messages; i++) {
		struct model_recv recv = {.id = i, .at = place_of(row, i)};
		struct model_op op = {.kind = row->kind,
			.id = i,
			.bytes = row->bytes,
			.local = place_of(row, i),
			.remote = row->kind == MODEL_FADD ? WORD_AT : place_of(row, i),
			.imm = i,
			.compare_add = 1 + i};

		recv.bytes = row->kind == MODEL_SEND ? row->bytes : 0;
		if (receives(row))
			good &= model_add_recv(l->model, 0, &recv);
		good &= model_add_op(l->model, 0, &op);
	}
	return good || blame(c, l, "no plan");
}

static void post(struct cell *c, struct life *l)
{
	const struct row *row = c->row;
	uint32_t i = l->first + l->posted;
	struct node *peer = &c->net.nodes[1];
	uint32_t remote = row->kind == MODEL_FADD ? WORD_AT : place_of(row, i);
	struct endpoint_wr wr = {.wr_id = i,
		.opcode = row->opcode,
		.num_segs = 1,
		.imm = i,
		.rkey = peer->key,
		.remote_addr = (uintptr_t)(peer->mem + remote),
		.compare_add = 1 + i};

	wr.segs[0].offset = place_of(row, i);
	wr.segs[0].bytes = row->bytes;
	if (receives(row)) {
		if (!node_post_recv(
			    peer, 0, i, place_of(row, i), row->kind == MODEL_SEND ? row->bytes : 0))
			return;
		model_recv_posted(l->model, 0);
	}
	node_post_send(&c->net.nodes[0], 0, &wr);
	model_posted(l->model, 0);
	l->posted++;
}

static struct model_completion completion_of(const struct uroce_cqe *cqe)
{
	struct model_completion m = {.recv = cqe->opcode >= UROCE_WC_RECV,
		.id = cqe->wr_id,
		.bytes = cqe->bytes,
		.has_imm = cqe->flags & UROCE_WC_WITH_IMM,
		.imm = cqe->imm,
		.what = MODEL_IS_SEND};

	m.status = cqe->status == UROCE_STATUS_SUCCESS	    ? MODEL_SUCCESS
		: cqe->status == UROCE_STATUS_RETRY_EXC_ERR ? MODEL_RETRIES_OUT
		: cqe->status == UROCE_STATUS_WR_FLUSH_ERR  ? MODEL_FLUSHED
							    : MODEL_OTHER_ERROR;
	if (cqe->opcode == UROCE_WC_RECV)
		m.what = MODEL_IS_RECV;
	else if (cqe->opcode == UROCE_WC_RECV_RDMA_WITH_IMM)
		m.what = MODEL_IS_RECV_OF_WRITE;
	else if (cqe->opcode == UROCE_WC_RDMA_WRITE)
		m.what = MODEL_IS_WRITE;
	else if (cqe->opcode == UROCE_WC_RDMA_READ)
		m.what = MODEL_IS_READ;
	else if (cqe->opcode == UROCE_WC_FETCH_ADD)
		m.what = MODEL_IS_FADD;
	return m;
}

static bool poll_all(struct cell *c, struct life *l)
{
	struct uroce_cqe cqe;

	for (uint32_t i = 0; i < 2; i++) {
		while (node_poll(&c->net.nodes[i], 0, &cqe, 1) == 1) {
			struct model_completion m = completion_of(&cqe);

			if (!model_completed(l->model, &m, l->memory))
				return blame(c, l, "completion");
			if (m.recv || m.status != MODEL_SUCCESS)
				continue;
			l->done++;
			c->done++;
			c->done_ns = c->net.now_ns;
		}
	}
	return true;
}

/* Until all is done or retries run out. */
static bool live(struct cell *c)
{
	struct life l = {0};
	bool good = plan(c, &l);

	c->lives++;
	while (good && c->done < c->row->messages && !model_is_broken(l.model, 0)) {
		while (l.first + l.posted < c->row->messages && l.posted - l.done < DEPTH) {
			uint32_t before = l.posted;

			post(c, &l);
			if (l.posted == before)
				break;
		}
		if (!net_step(&c->net, LIMIT_NS))
			good = blame(c, &l, "came to rest, or to the end of time, with work left");
		good = good && poll_all(c, &l);
	}
	while (good && net_step(&c->net, LIMIT_NS))
		good = poll_all(c, &l);
	if (good && !model_check_end(l.model, l.memory))
		good = blame(c, &l, "end");
	if (good && model_is_broken(l.model, 0))
		net_reconnect(&c->net, 0, 0);
	model_destroy(l.model);
	return good;
}

/* ---- the table ---- */

/* Bits per second, and how often retries ran out. */
static uint64_t run(const struct row *row, uint32_t loss_ppm, uint64_t seed, uint32_t *ran_out)
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
		rate = 8000000000ull * row->messages * row->bytes / c->done_ns;
	*ran_out = c->lives - 1;
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
		uint32_t ran_out;
		uint64_t rate = run(row, losses_ppm[i], 100 * index + i, &ran_out);

		if (i == 0) {
			base = rate;
			at = snprintf(line, LINE_BYTES, "%-9s %6u %6u", row->name, row->bytes,
				(uint32_t)(rate / 1000000));
		}
		at += snprintf(line + at, LINE_BYTES - (size_t)at, " %5u/%-3u",
			(uint32_t)(base ? rate * 1000 / base : 0), ran_out);
	}
	while (at > 0 && line[at - 1] == ' ')
		line[--at] = '\0';
}

static const char *const heading[] = {
	"# Goodput of 16 work requests at a time over 10 Gb/s and 10 us one way, MTU 1024, timeout",
	"# code 8, 7 retries: Mb/s without loss, then by loss rate the per mille of that / how "
	"often",
	"# retries ran out. UROCE_REWRITE=1 build/tests/goodput_test writes this file.",
	"# operation bytes Mb/s      0 %     0.1 %       1 %       2 %       5 %      10 %      20 "
	"%"
	"      30 %",
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
