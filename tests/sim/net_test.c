/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The network itself: what it does to frames, and that it does it again.
 *
 * Nodes 0 to n - 1, each with a queue pair to every node, itself included; the work is one WRITE
 * per queue pair, from a place of its own to a place of its own. Every run is carried to its end,
 * and the model says whether all that was posted is done and what memory holds.
 */
#include <stdlib.h>
#include <string.h>

#include "cunit_run.h"
#include "model.h"
#include "net.h"
#include "words.h"

enum {
	NODES_MAX = 5,
	LEN = 5000,
	MEM = 2 * NODES_MAX * LEN,
	FIRST_QPN = 0x100,
	SECOND_NS = 1000000000,
};

struct world {
	struct net net;
	struct net_port_conf ports[NODES_MAX];
	struct net_conf conf;
	/* Direction 16 * i + k: what node i asks of node k. */
	struct model *model;
	const uint8_t *memory[NODES_MAX];
	uint32_t posted, done;
};

static struct world *make(uint32_t num_nodes)
{
	struct world *w = calloc(1, sizeof(*w));

	if (!w)
		abort();
	w->conf.num_nodes = num_nodes;
	w->conf.seed = 1;
	for (uint32_t i = 0; i < num_nodes; i++)
		w->ports[i] = (struct net_port_conf){.latency_ns = 1000, .ns_per_kib = 1024};
	w->conf.ports = w->ports;
	return w;
}

static uint32_t direction_of(uint32_t from, uint32_t to)
{
	return 16 * from + to;
}

/* Memory is full by now. Some directions have no queue pair, so that numbers are alike. */
static void start_model(struct world *w)
{
	uint32_t n = w->conf.num_nodes;

	w->model = model_create(n, MEM);
	for (uint32_t i = 0; i < n; i++) {
		w->memory[i] = w->net.nodes[i].mem;
		memcpy(model_memory(w->model, i), w->memory[i], MEM);
		for (uint32_t k = 0; k < 16; k++) {
			uint32_t to = k < n ? k : i;
			struct model_direction conf = {.service = MODEL_RC,
				.from = i,
				.to = to,
				.recv_queue = model_add_recv_queue(w->model, to, false),
				.reverse = direction_of(to, i),
				.signal_all = true};

			model_add_direction(w->model, &conf);
		}
	}
}

static void start(struct world *w)
{
	struct node_qp_conf qps[NODES_MAX][NODES_MAX];
	struct node_conf nodes[NODES_MAX];
	uint32_t n = w->conf.num_nodes;

	for (uint32_t i = 0; i < n; i++) {
		for (uint32_t k = 0; k < n; k++) {
			/* The one at k is to node k, whose own is to us. */
			qps[i][k] = node_qp_defaults(k, i);
			qps[i][k].qpn = FIRST_QPN + direction_of(i, k);
			qps[i][k].attr.timeout = 10;
		}
		nodes[i] = (struct node_conf){
			.mem_bytes = MEM, .num_cqs = 1, .cqes = 64, .num_qps = n, .qps = qps[i]};
	}
	w->conf.nodes = nodes;
	net_init(&w->net, &w->conf);
	for (uint32_t i = 0; i < n; i++)
		for (uint32_t at = 0; at < MEM / 2; at++)
			w->net.nodes[i].mem[at] = (uint8_t)(at * 7 + (at >> 8) + i);
	start_model(w);
}

/* Runs on until nothing is left; whether all is done and right then. */
static bool is_right_in_the_end(struct world *w)
{
	bool good = net_run(&w->net, SECOND_NS);
	struct uroce_cqe cqe;

	for (uint32_t i = 0; i < w->conf.num_nodes; i++) {
		while (good && node_poll(&w->net.nodes[i], 0, &cqe, 1) == 1) {
			struct model_completion c = words_completion(&cqe);

			c.direction = cqe.qpn - FIRST_QPN;
			good = c.direction / 16 == i && model_completed(w->model, &c, w->memory);
			w->done += c.status == MODEL_SUCCESS;
		}
		good = good && node_counts_add_up(&w->net.nodes[i]);
	}
	good = good && model_check_end(w->model, w->memory);
	if (!good)
		printf("  %s\n", model_wrong(w->model));
	/* The model lets retries run out; here no fault lasts that long. */
	return good && w->done == w->posted;
}

static void end(struct world *w)
{
	CU_ASSERT_TRUE(is_right_in_the_end(w));
	model_destroy(w->model);
	net_fini(&w->net);
	free(w);
}

static void write_to(struct world *w, uint32_t from, uint32_t to, uint32_t bytes)
{
	struct node *peer = &w->net.nodes[to];
	struct endpoint_wr wr = {.wr_id = to,
		.opcode = UROCE_WR_RDMA_WRITE,
		.num_segs = 1,
		.rkey = peer->key,
		.remote_addr = (uintptr_t)(peer->mem + MEM / 2 + from * LEN),
		.segs = {{to * LEN, bytes}}};
	struct model_op op = {.kind = MODEL_WRITE,
		.id = to,
		.bytes = bytes,
		.local = to * LEN,
		.remote = MEM / 2 + from * LEN};

	CU_ASSERT_TRUE(node_post_send(&w->net.nodes[from], to, &wr));
	if (model_add_op(w->model, direction_of(from, to), &op))
		model_posted(w->model, direction_of(from, to));
	w->posted++;
}

static void everybody_to_everybody(void)
{
	for (uint32_t n = 1; n <= NODES_MAX; n++) {
		struct world *w = make(n);

		start(w);
		for (uint32_t from = 0; from < n; from++)
			for (uint32_t to = 0; to < n; to++)
				write_to(w, from, to, LEN);
		CU_ASSERT_TRUE(net_run(&w->net, SECOND_NS));
		CU_ASSERT_EQUAL(w->net.strays, 0);
		CU_ASSERT_EQUAL(w->net.lost + w->net.dropped, 0);
		end(w);
	}
}

static void the_time_a_frame_takes(void)
{
	struct world *w = make(2);
	uint64_t frame_bytes = 14 + 20 + 8 + 12 + 16 + 100 + 4, want_ns;

	w->ports[1].ns_per_kib = 2048;
	w->ports[1].latency_ns = 3000;
	start(w);
	write_to(w, 0, 1, 100);
	/* Out of one port, into the other. */
	want_ns = frame_bytes + 1000 + 2 * frame_bytes + 3000;
	while (w->net.nodes[1].core.counters.rx_frames == 0)
		CU_ASSERT_TRUE_FATAL(net_step(&w->net, SECOND_NS));
	CU_ASSERT_EQUAL(w->net.now_ns, want_ns);
	end(w);
}

static void full_queues_drop_the_last(void)
{
	struct world *w = make(3);

	w->ports[2].queue_frames = 3;
	w->ports[2].ns_per_kib = 100000;
	start(w);
	write_to(w, 0, 2, LEN);
	write_to(w, 1, 2, LEN);
	CU_ASSERT_TRUE(net_run(&w->net, SECOND_NS));
	CU_ASSERT_TRUE(w->net.dropped > 0);
	CU_ASSERT_EQUAL(w->net.lost, 0);
	CU_ASSERT_EQUAL(net_faults(&w->net, 0x120) + net_faults(&w->net, 0x121), w->net.dropped);
	end(w);
	/* A node that takes one frame a turn, and has room for one. */
	w = make(2);
	w->ports[1].rx_frames = 1;
	w->ports[1].burst = 1;
	w->ports[0].ns_per_kib = w->ports[1].ns_per_kib = 0;
	start(w);
	write_to(w, 0, 1, LEN);
	CU_ASSERT_TRUE(net_run(&w->net, SECOND_NS));
	CU_ASSERT_TRUE(w->net.dropped > 0);
	end(w);
}

static void a_paused_node_does_nothing(void)
{
	struct net_pause pause = {.node = 1, .from_ns = 2000, .until_ns = 100000};
	struct world *w = make(2);

	w->conf.pauses = &pause;
	w->conf.num_pauses = 1;
	start(w);
	write_to(w, 0, 1, LEN);
	while (net_step(&w->net, pause.until_ns - 1))
		;
	CU_ASSERT_EQUAL(w->net.nodes[1].core.counters.rx_frames, 0);
	CU_ASSERT_EQUAL(w->net.ports[1].rx_waiting, 5);
	CU_ASSERT_TRUE(net_step(&w->net, pause.until_ns));
	CU_ASSERT_EQUAL(w->net.now_ns, pause.until_ns);
	CU_ASSERT_EQUAL(w->net.nodes[1].core.counters.rx_frames, 5);
	CU_ASSERT_TRUE(net_run(&w->net, SECOND_NS));
	end(w);
}

/* One WRITE of five packets, with a fate; how the frames of node 0 fared at node 1. */
static void with_fate(enum net_fate_kind kind, uint64_t arg)
{
	struct net_fate fate = {.qpn = 0x110, .number = 2, .kind = kind, .arg = arg};
	struct world *w = make(2);
	const struct uroce_counters *c;

	w->conf.explicit_fates = true;
	w->conf.fates = &fate;
	w->conf.num_fates = 1;
	start(w);
	write_to(w, 0, 1, LEN);
	CU_ASSERT_TRUE(net_run(&w->net, SECOND_NS));
	c = &w->net.nodes[1].core.counters;
	CU_ASSERT_EQUAL(w->net.num_notes, 1);
	CU_ASSERT_EQUAL(net_faults(&w->net, 0x110), 1);
	CU_ASSERT_EQUAL(net_faults(&w->net, 0x101), 0);
	CU_ASSERT_EQUAL(w->net.lost, kind == NET_LOSE);
	CU_ASSERT_EQUAL(c->drops[UROCE_DROP_ICRC], kind == NET_FLIP);
	/* What comes late comes after it was sent again. */
	CU_ASSERT_EQUAL(c->duplicate_request > 0, kind == NET_DUPLICATE || kind == NET_DELAY);
	/* A gap: the two behind it are early. */
	CU_ASSERT_EQUAL(c->out_of_sequence, kind == NET_DUPLICATE ? 0 : 2);
	end(w);
}

static void each_fate_does_what_it_says(void)
{
	with_fate(NET_LOSE, 0);
	with_fate(NET_DELAY, 5000);
	with_fate(NET_FLIP, 8 * 100 + 3);
	with_fate(NET_DUPLICATE, 0);
}

/* Everything that a run left behind, in one number. */
static uint64_t print_of(const struct net *net)
{
	uint64_t sum = net->now_ns * 31 + net->frames;

	for (uint32_t i = 0; i < net->num_nodes; i++) {
		const struct uroce_trace_event *e = net->nodes[i].core.trace.events;

		for (uint32_t n = 0; n < NODE_TRACE; n++)
			sum = (sum ^ e[n].now_ns ^ e[n].psn ^ e[n].kind) * 0x100000001b3u;
	}
	return sum;
}

static uint64_t run_bad(
	uint64_t seed, const struct net_fate *fates, uint32_t num_fates, struct world **kept)
{
	struct world *w = make(3);
	uint64_t print;

	w->conf.seed = seed;
	w->conf.loss_ppm = w->conf.duplicate_ppm = w->conf.reorder_ppm = w->conf.flip_ppm = 50000;
	w->conf.loss_mask = 2;
	w->conf.explicit_fates = fates != NULL;
	w->conf.fates = fates;
	w->conf.num_fates = num_fates;
	start(w);
	for (uint32_t from = 0; from < 3; from++)
		for (uint32_t to = 0; to < 3; to++)
			write_to(w, from, to, LEN);
	CU_ASSERT_TRUE(net_run(&w->net, SECOND_NS));
	CU_ASSERT_TRUE(w->net.num_notes > 5);
	print = print_of(&w->net);
	if (kept)
		*kept = w;
	else
		end(w);
	return print;
}

static void a_seed_is_a_run(void)
{
	CU_ASSERT_EQUAL(run_bad(1, NULL, 0, NULL), run_bad(1, NULL, 0, NULL));
	CU_ASSERT_NOT_EQUAL(run_bad(1, NULL, 0, NULL), run_bad(2, NULL, 0, NULL));
}

static void notes_are_a_run(void)
{
	for (uint64_t seed = 1; seed < 20; seed++) {
		struct world *w;
		uint64_t print = run_bad(seed, NULL, 0, &w);

		CU_ASSERT_EQUAL(run_bad(99, w->net.notes, w->net.num_notes, NULL), print);
		CU_ASSERT_NOT_EQUAL(run_bad(99, w->net.notes, w->net.num_notes / 2, NULL), print);
		end(w);
	}
}

static void a_mask_decides_on_the_first_frames(void)
{
	struct world *w = make(2);

	w->conf.loss_mask = 0x15;
	start(w);
	write_to(w, 0, 1, LEN);
	CU_ASSERT_TRUE(net_run(&w->net, SECOND_NS));
	CU_ASSERT_EQUAL(w->net.lost, 3);
	end(w);
}

int main(void)
{
	static const struct unit_case cases[] = {
		{"up to five nodes write to each other and themselves", everybody_to_everybody},
		{"a frame takes the time of both its ports", the_time_a_frame_takes},
		{"a queue that is full drops what comes last", full_queues_drop_the_last},
		{"a paused node does nothing, and goes on afterwards", a_paused_node_does_nothing},
		{"each fate does what it says, to one frame", each_fate_does_what_it_says},
		{"a mask decides on the first frames", a_mask_decides_on_the_first_frames},
		{"a seed is a run, and another seed another run", a_seed_is_a_run},
		{"the notes of a run are that run", notes_are_a_run},
	};

	return run_suite("net", cases, sizeof(cases) / sizeof(cases[0]));
}
