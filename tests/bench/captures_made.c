/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Two nodes with many connections each way; every connection always has some messages posted.
 */
#include "captures_made.h"

#include <stdio.h>
#include <stdlib.h>

#include "net.h"
#include "pcap/writer.h"

enum {
	CONNECTIONS = 64,
	MESSAGE = 16384,
	DEPTH = 4,
	LOSS_PPM = 100,
	DOUBLED_PPM = 20,
	SWAPPED_PPM = 20,
	NS_PER_KIB = 82, /* 100 Gb/s */
	LATENCY_NS = 2000,
};

struct made {
	struct net net;
	struct uroce_pcap_writer *writer;
	struct captures_made sum;
	uint32_t posted[CONNECTIONS], done[CONNECTIONS];
};

static void die(const char *what)
{
	fprintf(stderr, "captures: %s\n", what);
	exit(1);
}

static void take(void *arg, uint64_t time_ns, const uint8_t *data, uint32_t bytes)
{
	struct made *m = arg;

	if (uroce_pcap_writer_write(m->writer, time_ns, data, bytes))
		die("the capture cannot be written: is the disk full?");
	m->sum.frames++;
	m->sum.bytes += bytes;
}

static void post(struct made *m, uint32_t i)
{
	static const enum uroce_wr_opcode opcodes[] = {
		UROCE_WR_RDMA_WRITE, UROCE_WR_RDMA_READ, UROCE_WR_SEND};
	struct node *near = &m->net.nodes[0], *far = &m->net.nodes[1];
	enum uroce_wr_opcode opcode = opcodes[i % 3];

	while (m->posted[i] - m->done[i] < DEPTH) {
		size_t offset = (size_t)i * MESSAGE;
		struct endpoint_wr wr = {
			.wr_id = i, .opcode = opcode, .num_segs = 1, .segs = {{offset, MESSAGE}}};

		if (opcode != UROCE_WR_SEND) {
			wr.rkey = far->key;
			wr.remote_addr = (uintptr_t)(far->mem + offset);
		} else if (!node_post_recv(far, i, i, offset, MESSAGE)) {
			die("no receive can be posted");
		}
		if (!node_post_send(near, i, &wr))
			die("no request can be posted");
		m->posted[i]++;
	}
}

static void poll(struct made *m)
{
	struct uroce_cqe cqe;

	for (uint32_t node = 0; node < 2; node++)
		while (node_poll(&m->net.nodes[node], 0, &cqe, 1) == 1) {
			if (cqe.status != UROCE_STATUS_SUCCESS)
				die("a connection broke");
			if (node == 0)
				m->done[cqe.wr_id]++;
		}
}

static void connect(struct made *m, uint32_t mtu_bytes)
{
	static struct node_qp_conf qps[2][CONNECTIONS];
	struct node_conf nodes[2];
	struct net_port_conf ports[2];
	struct net_conf conf = {.num_nodes = 2,
		.nodes = nodes,
		.ports = ports,
		.seed = 1,
		.loss_ppm = LOSS_PPM,
		.duplicate_ppm = DOUBLED_PPM,
		.reorder_ppm = SWAPPED_PPM,
		.tap = take,
		.tap_arg = m};

	for (uint32_t n = 0; n < 2; n++) {
		for (uint32_t i = 0; i < CONNECTIONS; i++) {
			qps[n][i] = node_qp_defaults(1 - n, i);
			qps[n][i].mtu_bytes = mtu_bytes;
			qps[n][i].attr.timeout = 8;
			qps[n][i].attr.retry_cnt = 7;
		}
		nodes[n] = (struct node_conf){.mem_bytes = (size_t)CONNECTIONS * MESSAGE,
			.num_cqs = 1,
			.cqes = 4 * CONNECTIONS * DEPTH,
			.num_qps = CONNECTIONS,
			.qps = qps[n]};
		ports[n] = (struct net_port_conf){.ns_per_kib = NS_PER_KIB,
			.latency_ns = LATENCY_NS,
			.queue_frames = 65536,
			.rx_frames = 65536};
	}
	net_init(&m->net, &conf);
}

struct captures_made captures_make(const char *path, uint64_t frames, uint32_t mtu_bytes)
{
	static struct made m;
	char err[256];

	m = (struct made){0};
	if (uroce_pcap_writer_open(path, &m.writer, err, sizeof(err)))
		die(err);
	connect(&m, mtu_bytes);
	do {
		poll(&m);
		for (uint32_t i = 0; i < CONNECTIONS; i++)
			post(&m, i);
	} while (m.sum.frames < frames && net_step(&m.net, UINT64_MAX));
	m.sum.lost = m.net.lost;
	net_fini(&m.net);
	if (uroce_pcap_writer_close(m.writer))
		die("the capture cannot be written: is the disk full?");
	return m.sum;
}
