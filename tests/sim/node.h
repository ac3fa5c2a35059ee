/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One host of a simulated network: a core, its tables, one memory, and any number of queue pairs.
 *
 * What the test endpoint is for one queue pair, this is for many: it speaks to the engine through
 * rings and calls, as the library does. The memory is registered whole, with every right, at its
 * own address. A node knows nothing of time or of other nodes: net.h has those. A call that fails
 * here is a fault of the test and ends it at once.
 */
#ifndef UROCE_TESTS_NODE_H
#define UROCE_TESTS_NODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "endpoint.h"

enum {
	NODE_MRS = 128,
	NODE_EVENTS = 256,
	NODE_TRACE = 512,
	NODE_QKEY = 0x1234,
	NODE_MTU = 4096, /* for datagrams */
};

struct node_qp_conf {
	uint32_t peer_node; /* index in the network */
	uint32_t peer_qp;   /* index in that node */
	uint32_t qpn;	    /* 0: drawn */
	uint32_t mtu_bytes;
	uint32_t sq_psn;
	uint32_t rq_psn;
	struct uroce_qp_caps caps; /* type: RC, UC or UD */
	struct uroce_qp_attr attr; /* timeout, retry_cnt, rnr_retry, min_rnr_timer, rd_atomic */
	uint32_t access;
	uint32_t send_cq; /* index in this node */
	uint32_t recv_cq;
	bool signal_all;
	bool shares_recvs;
};

struct node_conf {
	size_t mem_bytes;
	uint32_t num_cqs;
	uint32_t cqes; /* of each */
	uint32_t num_qps;
	const struct node_qp_conf *qps; /* copied */
	uint32_t srq_wr;		/* receives of the shared queue; 0: there is none */
};

struct node_qp {
	struct node_qp_conf conf;
	struct uroce_path path;
	uint32_t peer_qpn; /* once connected */
	struct uroce_qp *qp;
};

struct node {
	uint32_t number;
	uint32_t ip; /* host order */
	uint8_t mac[6];
	struct uroce_core core;
	struct uroce_mr_table mrs;
	struct uroce_mr_slot mr_slots[NODE_MRS];
	struct uroce_qptable qptable;
	struct uroce_qptable_slot *qp_slots;
	struct uroce_timer **timers;
	struct uroce_ah_slot *ahs; /* number i + 1: the peer of queue pair i */
	struct uroce_core_event events[NODE_EVENTS];
	struct uroce_trace_event trace[NODE_TRACE];
	uint32_t num_cqs;
	struct uroce_cq **cqs;
	struct uroce_srq *srq; /* or NULL */
	uint32_t num_qps;
	struct node_qp *qps;
	size_t mem_bytes;
	uint8_t *mem;
	uint32_t key;
	struct uroce_mr_area area; /* of fast regions: all memory */
};

/* What most tests want: a test endpoint's defaults. */
struct node_qp_conf node_qp_defaults(uint32_t peer_node, uint32_t peer_qp);

/* Node `number` of a network, 192.0.2.1 being the first; its queue pairs are in RESET. */
void node_init(struct node *node, uint32_t number, const struct node_conf *conf);
void node_fini(struct node *node);

/* INIT, RTR and RTS towards the peer; from any state, so a broken connection starts anew. */
void node_connect(struct node *node, uint32_t qp, const struct node *peer, uint64_t now_ns);

/* The slot of a window or fast region; its key, under which nothing is found yet. */
uint32_t node_add_key(struct node *node, enum uroce_mr_kind kind);

/* Posts and rings; false when the queue is full. A datagram goes to the peer. */
bool node_post_send(struct node *node, uint32_t qp, const struct endpoint_wr *wr);
bool node_post_recv(struct node *node, uint32_t qp, uint64_t wr_id, size_t offset, uint32_t bytes);
/* To the shared queue. */
bool node_post_shared_recv(struct node *node, uint64_t wr_id, size_t offset, uint32_t bytes);

uint32_t node_poll(struct node *node, uint32_t cq, struct uroce_cqe *cqes, uint32_t n);

/* The queue pair of this node that has the number; UINT32_MAX: none. */
uint32_t node_qp_of(const struct node *node, uint32_t qpn);

/* received == accepted + handed over + sum of drops. */
bool node_counts_add_up(const struct node *node);

#endif
