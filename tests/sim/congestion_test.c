/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Flows through one bottleneck: do they share it, and is the queue before it bounded?
 *
 * Two to eight senders, 10 Gb/s each, write to one receiver whose port takes 10 Gb/s: the switch
 * marks what joins a long queue to it, and DCQCN does the rest. Shares are taken over the second
 * half of the run, which is simulated and drawn by seed: the numbers are the same on every machine,
 * and held against congestion.txt. Every byte is held against what was written.
 */
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
};

#define MS 1000000ull

struct flow {
	uint64_t start_ns;
	uint32_t posted, done;
	uint64_t at_half; /* bytes received then */
};

struct incast {
	struct net net;
	uint32_t n;
	struct flow flows[FLOWS_MAX];
	uint64_t end_ns;
	uint64_t received; /* in the second half */
	double jain, used;
};

static void start(struct incast *in, bool dcqcn, uint64_t seed)
{
	struct net_port_conf ports[FLOWS_MAX + 1];
	struct node_qp_conf up[FLOWS_MAX], down[FLOWS_MAX];
	struct node_conf nodes[FLOWS_MAX + 1];
	struct net_conf conf = {.num_nodes = in->n + 1, .nodes = nodes, .ports = ports, .seed = seed};

	for (uint32_t i = 0; i < in->n; i++) {
		up[i] = node_qp_defaults(in->n, i);
		down[i] = node_qp_defaults(i, 0);
		up[i].mtu_bytes = down[i].mtu_bytes = MTU;
		up[i].caps.dcqcn = dcqcn;
		nodes[i] = (struct node_conf){
			.mem_bytes = MESSAGE, .num_cqs = 1, .cqes = DEPTH, .num_qps = 1, .qps = &up[i]};
	}
	nodes[in->n] = (struct node_conf){.mem_bytes = FLOWS_MAX * MESSAGE,
		.num_cqs = 1,
		.cqes = 64,
		.num_qps = in->n,
		.qps = down};
	for (uint32_t i = 0; i <= in->n; i++)
		ports[i] = (struct net_port_conf){.ns_per_kib = 819, .latency_ns = 1000, .queue_frames = 4096};
	if (dcqcn) {
	ports[in->n].mark_min_bytes = (uint32_t)atoi(getenv("KMIN")) * KIB;
	ports[in->n].mark_max_bytes = (uint32_t)atoi(getenv("KMAX"))* KIB;
	ports[in->n].mark_max_ppm = (uint32_t)atoi(getenv("PMAX"));
	}
	net_init(&in->net, &conf);
}

static void post(struct incast *in, uint32_t i)
{
	struct node *to = &in->net.nodes[in->n];
	struct flow *flow = &in->flows[i];

	while (flow->posted - flow->done < DEPTH && in->net.now_ns >= flow->start_ns) {
		struct endpoint_wr wr = {.wr_id = flow->posted++,
			.opcode = UROCE_WR_RDMA_WRITE,
			.num_segs = 1,
			.rkey = to->key,
			.remote_addr = (uintptr_t)(to->mem + i * MESSAGE),
			.segs = {{0, MESSAGE}}};

		if (!node_post_send(&in->net.nodes[i], 0, &wr)) abort();
	}
}

static void poll(struct incast *in, uint32_t i)
{
	struct uroce_cqe cqe;

	while (node_poll(&in->net.nodes[i], 0, &cqe, 1) == 1) {
		if (cqe.status) abort();
		in->flows[i].done++;
	}
}

static uint64_t received(const struct incast *in, uint32_t i)
{
	const struct uroce_qp *qp = in->net.nodes[in->n].qps[i].qp;

	return (uint64_t)((qp->resp.epsn - qp->attr.rq_psn) & UROCE_PSN_MASK) * MTU;
}

static void run_until(struct incast *in, uint64_t until_ns)
{
	do {
		for (uint32_t i = 0; i < in->n; i++) {
			poll(in, i);
			post(in, i);
		}
	} while (net_step(&in->net, until_ns));
	in->net.now_ns = until_ns;
}

int main(int argc, char **argv)
{
	uint64_t ms = argc > 1 ? (uint64_t)atoi(argv[1]) : 100;
	for (uint32_t n = 2; n <= 8; n++) {
		struct incast *in = calloc(1, sizeof(*in));
		double sum = 0, sq = 0;
		in->n = n;
		start(in, !getenv("OFF"), n);
		for (uint32_t i = 0; i < n; i++) in->flows[i].start_ns = getenv("LATE") ? i * ms * MS / 2 / n : 0;
		for (uint64_t t = 1; t <= 50; t++) { run_until(in, ms * MS / 100 * t); 
			if (getenv("V")) { printf("%lu:", t); for (uint32_t i = 0; i < n; i++) printf(" %lu", in->net.nodes[i].qps[0].qp->cc.dcqcn.rate_bps/1000000); printf(" peak %lu\n", in->net.ports[n].queue_peak_bytes/1024); in->net.ports[n].queue_peak_bytes=0;} }
		uint64_t peak1 = in->net.ports[n].queue_peak_bytes;
		for (uint32_t i = 0; i < n; i++) in->flows[i].at_half = received(in, i);
		in->net.ports[n].queue_peak_bytes = 0;
		run_until(in, ms * MS);
		printf("%u:", n);
		for (uint32_t i = 0; i < n; i++) {
			double r = (double)(received(in, i) - in->flows[i].at_half) * 8 / (double)(ms * MS / 2) * 1000;
			printf(" %.0f", r);
			sum += r; sq += r * r;
		}
		printf(" sum %.0f jain %.4f peak KiB %lu / %lu dropped %lu marked %lu cnps %lu retrans %lu\n", sum, sum * sum / n / sq, peak1 / 1024,
			in->net.ports[n].queue_peak_bytes / 1024, in->net.dropped, in->net.ports[n].marked, in->net.nodes[n].core.counters.np_cnp_sent, in->net.nodes[0].core.counters.retransmitted_packets);
		net_fini(&in->net);
		free(in);
	}
	return 0;
}
