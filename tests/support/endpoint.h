/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One endpoint for tests: a core with its tables, memory, completion queue and one queue pair.
 *
 * It speaks to the engine the way the library does, through rings and calls, without a device: the
 * protocol tests feed it frames one by one, the simulator ties two together. A failing call
 * here is a fault of the test and ends it at once.
 */
#ifndef UROCE_TESTS_ENDPOINT_H
#define UROCE_TESTS_ENDPOINT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core.h"

enum {
	ENDPOINT_MRS = 64,
	ENDPOINT_QPS_LOG2 = 4,
	ENDPOINT_CQES = 4096,
	ENDPOINT_EVENTS = 256,
	ENDPOINT_TRACE = 1024,
	ENDPOINT_FRAME_BYTES = 8192,
	ENDPOINT_AHS = 4,
	ENDPOINT_AH = 0x11, /* number of the address handle of the peer */
};

struct endpoint_conf {
	uint32_t id;
	uint32_t ip; /* host order */
	uint32_t peer_ip;
	uint32_t qpn; /* 0: drawn */
	uint32_t mtu_bytes;
	uint32_t sq_psn;
	uint32_t rq_psn;
	size_t mem_bytes;
	struct uroce_qp_caps caps;
	struct uroce_qp_attr attr; /* timeout, retry_cnt, rnr_retry, min_rnr_timer, rd_atomic */
	uint32_t access;
	uint32_t qkey;	 /* UD */
	uint32_t srq_wr; /* 0: receives of its own; else a shared queue for so many */
	uint32_t cqes;	 /* 0: ENDPOINT_CQES */
	bool signal_all;
	bool ipv6;    /* addresses are 2001:db8:: and the four bytes of ip */
	uint16_t tci; /* VLAN tag of all frames; 0: none */
};

struct endpoint {
	struct endpoint_conf conf;
	struct uroce_core core;
	struct uroce_mr_table mrs;
	struct uroce_mr_slot mr_slots[ENDPOINT_MRS];
	struct uroce_qptable qptable;
	struct uroce_qptable_slot qp_slots[1 << ENDPOINT_QPS_LOG2];
	struct uroce_timer *timers[UROCE_QP_TIMERS << ENDPOINT_QPS_LOG2];
	struct uroce_core_event events[ENDPOINT_EVENTS];
	struct uroce_trace_event trace[ENDPOINT_TRACE];
	struct uroce_path path;
	struct uroce_ah_slot ahs[ENDPOINT_AHS];
	struct uroce_cq *cq;
	struct uroce_srq *srq;
	struct uroce_qp *qp;
	struct uroce_mr_area area;
	uint8_t *mem; /* registered with every right, at its own address */
	uint32_t key;
};

/* What most tests want: 192.0.2.<id>, MTU 1024, PSN 0x10, timeout 14, retries 7, 16 reads. */
struct endpoint_conf endpoint_defaults(uint32_t id, uint32_t peer_id);

/* The address that is written as ip. */
struct uroce_gid endpoint_gid(const struct endpoint_conf *conf, uint32_t ip);

/* In RESET; nothing connected. */
void endpoint_init(struct endpoint *ep, const struct endpoint_conf *conf);
void endpoint_fini(struct endpoint *ep);

/* The attributes that each step to RTS takes, by type. */
struct endpoint_steps {
	uint32_t init, rtr, rts;
};

struct endpoint_steps endpoint_steps_of(enum uroce_qp_type type);

/* INIT, RTR and RTS towards peer_qpn. */
void endpoint_connect(struct endpoint *ep, uint32_t peer_qpn);
int endpoint_modify(struct endpoint *ep, const struct uroce_qp_attr *attr, uint32_t mask);

/* A work request with up to 16 segments in ep->mem, given by offset. */
struct endpoint_wr {
	uint64_t wr_id;
	enum uroce_wr_opcode opcode;
	uint32_t flags;
	uint32_t num_segs;
	struct {
		size_t offset;
		uint32_t bytes;
	} segs[16];
	uint32_t lkey; /* 0: ep->key */
	uint32_t imm;
	uint64_t remote_addr;
	uint32_t rkey;
	uint64_t compare_add;
	uint64_t swap;
	/* datagrams */
	uint32_t ah;
	uint32_t remote_qpn;
	uint32_t remote_qkey;
	/* FLUSH: bytes, with imm its FETH; BIND_MW and REG_MR: rights, with imm the key */
	uint32_t bytes;
	struct uroce_mr_change change; /* new_key, lkey, addr, bytes, ptr */
};

/* Posts and rings; false when the queue is full. */
bool endpoint_post_send(struct endpoint *ep, const struct endpoint_wr *wr);
bool endpoint_post_recv(struct endpoint *ep, uint64_t wr_id, size_t offset, uint32_t bytes);
/* The same for any queue pair of any core: offsets are into mem, whose key is key. */
struct endpoint_to {
	struct uroce_core *core;
	struct uroce_qp *qp;
	uint8_t *mem;
	uint32_t key;
};
bool endpoint_post_send_to(const struct endpoint_to *to, const struct endpoint_wr *wr);
bool endpoint_post_recv_to(
	const struct endpoint_to *to, uint64_t wr_id, size_t offset, uint32_t bytes);

uint32_t endpoint_poll(struct endpoint *ep, struct uroce_cqe *cqes, uint32_t n);

/* A region of its own inside ep->mem. */
uint32_t endpoint_register(struct endpoint *ep, size_t offset, size_t bytes, uint32_t access);

/* The slot of a window or of a fast region over all of ep->mem; its key, under which nothing is
 * found yet. */
uint32_t endpoint_slot(struct endpoint *ep, enum uroce_mr_kind kind);

/* received == accepted + handed over + sum of drops. */
bool endpoint_counts_add_up(const struct endpoint *ep);

/* The last n trace events and what to say about them, to stdout. */
void endpoint_print_trace(const struct endpoint *ep, uint32_t n);

#endif
