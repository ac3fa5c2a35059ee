/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Flows through one bottleneck: do they share it, and is the queue before it bounded?
 *
 * Two to eight nodes, 10 Gb/s each, write to one whose port takes 10 Gb/s, or are read from by it.
 * The switch marks what joins a queue of over 40 KiB to that port, ever more of it up to 200 KiB,
 * and DCQCN does the rest. All is simulated and drawn by seed, so the numbers are the same on every
 * machine; CONGESTION_REPORT=1 prints them. Shares are Jain's index of what arrives in the second
 * half of the run. What all have to write is held against what was to be written, byte by byte.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cunit_run.h"
#include "net.h"

enum {
	FLOWS_MAX = 8,
	MTU = 4096,
	MESSAGE = 65536,
	DEPTH = 8,
	KIB = 1024,
	NS_PER_KIB = 819, /* 10 Gb/s */
	CNP_NS = 50000,
	MARK_MIN = 40 * KIB,
	MARK_MAX = 200 * KIB,
	MARK_MAX_PPM = 100000,
	QUEUE_MAX = 512 * KIB,
	/* Each flow starts at full rate, and nothing but its window of 128 packets holds it. */
	WINDOW = 512 * KIB,
};

#define MS	 1000000ull
#define RUN_NS	 (100 * MS)
#define LINE_BPS 10000000000ull

struct flow {
	uint64_t start_ns, stop_ns;
	uint32_t posted, done;
	uint64_t before; /* bytes arrived before what is measured */
};

/* Nodes 0 to n - 1 send, node n receives; each pair has a connection. */
struct incast {
	struct net net;
	uint32_t n;
	bool reads; /* node n asks for it */
	struct flow flows[FLOWS_MAX];
	double jain, used; /* of what was measured; all of the bottleneck is 1 */
	uint64_t peak_bytes;
};

struct incast_conf {
	uint32_t n;
	enum uroce_qp_type type; /* 0: RC */
	bool reads, free;	 /* free: without DCQCN */
	uint64_t rate_limit_bps;
};

static void start(struct incast *in, const struct incast_conf *c)
{
	struct net_port_conf ports[FLOWS_MAX + 1];
	struct node_qp_conf up[FLOWS_MAX], down[FLOWS_MAX];
	struct node_conf nodes[FLOWS_MAX + 1];
	struct net_conf conf = {
		.num_nodes = c->n + 1, .nodes = nodes, .ports = ports, .seed = c->n};

	memset(in, 0, sizeof(*in));
	in->n = c->n;
	in->reads = c->reads;
	for (uint32_t i = 0; i < c->n; i++) {
		up[i] = node_qp_defaults(c->n, i);
		down[i] = node_qp_defaults(i, 0);
		up[i].caps.type = down[i].caps.type = c->type ? c->type : UROCE_QP_RC;
		up[i].mtu_bytes = down[i].mtu_bytes = MTU;
		up[i].caps.dcqcn = !c->free;
		up[i].caps.rate_limit_bps = c->rate_limit_bps;
		nodes[i] = (struct node_conf){.mem_bytes = MESSAGE,
			.num_cqs = 1,
			.cqes = DEPTH,
			.num_qps = 1,
			.qps = &up[i]};
		in->flows[i].stop_ns = UINT64_MAX;
	}
	nodes[c->n] = (struct node_conf){.mem_bytes = FLOWS_MAX * MESSAGE,
		.num_cqs = 1,
		.cqes = FLOWS_MAX * DEPTH,
		.num_qps = c->n,
		.qps = down};
	for (uint32_t i = 0; i <= c->n; i++)
		ports[i] = (struct net_port_conf){
			.ns_per_kib = NS_PER_KIB, .latency_ns = 1000, .queue_frames = 4096};
	ports[c->n].mark_min_bytes = MARK_MIN;
	ports[c->n].mark_max_bytes = MARK_MAX;
	ports[c->n].mark_max_ppm = MARK_MAX_PPM;
	net_init(&in->net, &conf);
	for (uint32_t i = 0; i < c->n; i++)
		for (uint32_t at = 0; at < MESSAGE; at++)
			in->net.nodes[i].mem[at] = (uint8_t)(at * 31 + at / 256 + i + 1);
}

static void post(struct incast *in, uint32_t i)
{
	struct node *nodes = in->net.nodes, *far = &nodes[in->n];
	struct flow *flow = &in->flows[i];
	uint64_t now_ns = in->net.now_ns;

	while (flow->posted - flow->done < DEPTH && now_ns >= flow->start_ns &&
		now_ns < flow->stop_ns) {
		struct endpoint_wr wr = {.wr_id = (uint64_t)i << 32 | flow->posted++,
			.opcode = UROCE_WR_RDMA_WRITE,
			.num_segs = 1,
			.rkey = far->key,
			.remote_addr = (uintptr_t)(far->mem + i * MESSAGE),
			.segs = {{0, MESSAGE}}};

		if (in->reads) {
			wr.opcode = UROCE_WR_RDMA_READ;
			wr.rkey = nodes[i].key;
			wr.remote_addr = (uintptr_t)nodes[i].mem;
			wr.segs[0].offset = i * MESSAGE;
		}
		CU_ASSERT_TRUE_FATAL(in->reads ? node_post_send(far, i, &wr)
					       : node_post_send(&nodes[i], 0, &wr));
	}
}

/* Completions of a flow come in order, and all are of success. */
static void poll(struct incast *in)
{
	uint32_t first = in->reads ? in->n : 0, last = in->reads ? in->n : in->n - 1;
	struct uroce_cqe cqe;

	for (uint32_t node = first; node <= last; node++)
		while (node_poll(&in->net.nodes[node], 0, &cqe, 1) == 1) {
			struct flow *flow = &in->flows[cqe.wr_id >> 32];

			CU_ASSERT_EQUAL_FATAL(cqe.status, UROCE_STATUS_SUCCESS);
			CU_ASSERT_EQUAL_FATAL((uint32_t)cqe.wr_id, flow->done);
			flow->done++;
		}
}

static void run_until(struct incast *in, uint64_t until_ns)
{
	do {
		poll(in);
		for (uint32_t i = 0; i < in->n; i++)
			post(in, i);
	} while (net_step(&in->net, until_ns));
	in->net.now_ns = until_ns;
}

/* Bytes of a flow that have arrived. */
static uint64_t arrived(const struct incast *in, uint32_t i)
{
	const struct uroce_qp *qp = in->net.nodes[in->n].qps[i].qp;
	uint32_t pkts =
		in->reads ? qp->req.psn_una - qp->attr.sq_psn : qp->resp.epsn - qp->attr.rq_psn;

	return (uint64_t)(pkts & UROCE_PSN_MASK) * MTU;
}

static void tell(const struct incast *in, const char *what, uint64_t ns)
{
	const struct uroce_counters *c = &in->net.nodes[in->n].core.counters;

	if (!getenv("CONGESTION_REPORT"))
		return;
	printf("%s, %u flows: Jain %.4f, %.1f %% of the bottleneck, queue %llu KiB, dropped %llu, "
	       "marked %llu, notified %llu; Mb/s:",
		what, in->n, in->jain, in->used * 100, (unsigned long long)in->peak_bytes / KIB,
		(unsigned long long)in->net.dropped,
		(unsigned long long)in->net.ports[in->n].marked,
		(unsigned long long)c->np_cnp_sent);
	for (uint32_t i = 0; i < in->n; i++)
		printf(" %.0f", (double)(arrived(in, i) - in->flows[i].before) * 8000 / (double)ns);
	printf("\n");
}

/* Runs, and then measures for a time: shares, use, and the longest queue. */
static void measure(struct incast *in, const char *what, uint64_t from_ns, uint64_t ns)
{
	double sum = 0, squares = 0;

	run_until(in, from_ns);
	for (uint32_t i = 0; i < in->n; i++)
		in->flows[i].before = arrived(in, i);
	in->net.ports[in->n].queue_peak_bytes = 0;
	run_until(in, from_ns + ns);
	for (uint32_t i = 0; i < in->n; i++) {
		double bytes = (double)(arrived(in, i) - in->flows[i].before);

		sum += bytes;
		squares += bytes * bytes;
	}
	in->jain = sum * sum / (in->n * squares);
	in->used = sum / ((double)ns * KIB / NS_PER_KIB);
	in->peak_bytes = in->net.ports[in->n].queue_peak_bytes;
	tell(in, what, ns);
}

/* What the marks led to: each is counted, and each notification is taken. */
static void expect_notified(const struct incast *in)
{
	const struct uroce_counters *to = &in->net.nodes[in->n].core.counters;
	uint64_t handled = 0, marked = in->net.ports[in->n].marked;

	for (uint32_t i = 0; i < in->n; i++) {
		const struct uroce_counters *c = &in->net.nodes[i].core.counters;

		handled += c->rp_cnp_handled;
		CU_ASSERT_EQUAL(c->np_cnp_sent, 0);
		CU_ASSERT_EQUAL(c->rp_cnp_ignored, 0);
		CU_ASSERT_EQUAL(c->retransmitted_packets, 0);
	}
	CU_ASSERT_TRUE(marked > 0);
	CU_ASSERT_EQUAL(to->np_ecn_marked_roce_packets, marked);
	CU_ASSERT_EQUAL(to->np_cnp_sent, handled);
	CU_ASSERT_TRUE(handled <= in->n * (in->net.now_ns / CNP_NS + 1));
	CU_ASSERT_EQUAL(in->net.dropped, 0);
}

/* Nobody posts any more: all completes, and every byte is where it belongs. */
static void come_to_rest(struct incast *in)
{
	const struct node *to = &in->net.nodes[in->n];

	for (uint32_t i = 0; i < in->n; i++)
		in->flows[i].stop_ns = 0;
	run_until(in, in->net.now_ns + RUN_NS);
	poll(in);
	for (uint32_t i = 0; i < in->n; i++) {
		CU_ASSERT_EQUAL(in->flows[i].done, in->flows[i].posted);
		CU_ASSERT_EQUAL(memcmp(to->mem + i * MESSAGE, in->net.nodes[i].mem, MESSAGE), 0);
		CU_ASSERT_TRUE(node_counts_add_up(&in->net.nodes[i]));
	}
	CU_ASSERT_TRUE(node_counts_add_up(to));
}

/* ---- cases ---- */

static void expect_fair_and_bounded(struct incast *in)
{
	CU_ASSERT_TRUE(in->jain > 0.95);
	CU_ASSERT_TRUE(in->used > 0.85 && in->used < 1);
	CU_ASSERT_TRUE(in->peak_bytes < QUEUE_MAX);
	come_to_rest(in);
	expect_notified(in);
	net_fini(&in->net);
}

static void share(const struct incast_conf *like, const char *what)
{
	struct incast_conf conf = *like;

	for (conf.n = 2; conf.n <= FLOWS_MAX; conf.n++) {
		struct incast in;

		start(&in, &conf);
		measure(&in, what, RUN_NS / 2, RUN_NS / 2);
		expect_fair_and_bounded(&in);
	}
}

static void flows_share_a_bottleneck(void)
{
	share(&(struct incast_conf){0}, "writes");
}

static void unreliable_flows_share_it(void)
{
	/* No window holds them: their port would, if it were not simulated. */
	const struct incast_conf conf = {.type = UROCE_QP_UC, .rate_limit_bps = LINE_BPS};

	share(&conf, "unreliable writes");
}

static void answers_to_reads_share_it(void)
{
	share(&(struct incast_conf){.reads = true}, "reads");
}

/* One after the other: each new one meets flows that have all of it. */
static void late_starters_get_their_share(void)
{
	for (uint32_t n = 2; n <= FLOWS_MAX; n++) {
		struct incast in;

		start(&in, &(struct incast_conf){.n = n});
		for (uint32_t i = 0; i < n; i++)
			in.flows[i].start_ns = i * (RUN_NS / 2) / n;
		measure(&in, "late starters", RUN_NS / 2, RUN_NS / 2);
		expect_fair_and_bounded(&in);
	}
}

static void who_stays_takes_what_others_leave(void)
{
	for (uint32_t n = 2; n <= FLOWS_MAX; n++) {
		struct incast in;

		start(&in, &(struct incast_conf){.n = n});
		for (uint32_t i = 1; i < n; i++)
			in.flows[i].stop_ns = RUN_NS / 2;
		measure(&in, "the last one", RUN_NS, RUN_NS / 10);
		CU_ASSERT_TRUE(in.used > 0.95);
		come_to_rest(&in);
		net_fini(&in.net);
	}
}

/* So that the tests above can fail. */
static void without_dcqcn_the_queue_is_all_windows(void)
{
	struct incast in;

	start(&in, &(struct incast_conf){.n = FLOWS_MAX, .free = true});
	measure(&in, "without DCQCN", RUN_NS / 2, RUN_NS / 2);
	CU_ASSERT_TRUE(in.peak_bytes > 7 * WINDOW);
	CU_ASSERT_EQUAL(in.net.ports[in.n].marked, 0);
	come_to_rest(&in);
	net_fini(&in.net);
}

/* Each to the hundredth of what it may, and nothing of it waits in the switch. */
static void limits_are_kept(void)
{
	for (uint32_t n = 2; n <= FLOWS_MAX; n++)
		for (int reads = 0; reads < 2; reads++) {
			/* Of frames; the payload of each is 4096 of 4170 or 4158 bytes. */
			const struct incast_conf conf = {.n = n,
				.free = true,
				.reads = reads == 1,
				.rate_limit_bps = LINE_BPS / n * 9 / 10};
			double want = 0.9 * MTU / (MTU + 58);
			struct incast in;

			start(&in, &conf);
			measure(&in, reads ? "limited reads" : "limited writes", RUN_NS / 2,
				RUN_NS / 2);
			CU_ASSERT_TRUE(in.used > want * 0.99 && in.used < want * 1.01);
			CU_ASSERT_TRUE(in.jain > 0.9999);
			CU_ASSERT_TRUE(in.peak_bytes <= n * (MTU + 74u));
			come_to_rest(&in);
			net_fini(&in.net);
		}
}

int main(void)
{
	static const struct unit_case cases[] = {
		{"flows share a bottleneck", flows_share_a_bottleneck},
		{"late starters get their share", late_starters_get_their_share},
		{"who stays takes what others leave", who_stays_takes_what_others_leave},
		{"unreliable flows share it", unreliable_flows_share_it},
		{"answers to reads share it", answers_to_reads_share_it},
		{"without DCQCN the queue is as long as all windows",
			without_dcqcn_the_queue_is_all_windows},
		{"limits are kept to the hundredth, and then there is no queue", limits_are_kept},
	};

	return run_suite("congestion", cases, sizeof(cases) / sizeof(cases[0]));
}
