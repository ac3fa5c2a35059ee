/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a peer of the interoperation tests can do: one queue pair after another, requests and
 * receives, as the test run says.
 *
 * Two programs implement it, uroce_peer.c by uroce's public header on this machine and
 * guest/verbs_peer.c by libibverbs in the guest, so that each test can run with either as the
 * requester. Opcodes, types, states, flags and statuses are numbers of libibverbs, which uroce's
 * are too. All memory is one piece, and places in it are offsets. Calls return 0 or a negative
 * errno.
 */
#ifndef INTEROP_PEER_H
#define INTEROP_PEER_H

#include <stddef.h>
#include <stdint.h>

enum {
	PEER_QPS_MAX = 32,
	PEER_MEMORY_BYTES = 48 << 20
};

/* All that requests and their answers may touch; made by talk.c. */
extern uint8_t *peer_memory;

struct peer_qp_conf {
	unsigned int type;
	const char *net; /* which own address: "v4", "v6" (global) or "ll" (link-local) */
	uint32_t access;
	uint32_t max_wr;
};

struct peer_local {
	uint32_t qpn;
	uint8_t gid[16];
};

struct peer_route {
	uint32_t qpn;
	uint8_t gid[16];
	uint32_t psn; /* of the other's first request */
	uint32_t own_psn;
	uint32_t mtu_bytes;
	uint32_t timeout, retry, rnr_retry, min_rnr, rd_atomic;
	uint32_t qkey;
	uint32_t traffic_class, flow_label;
};

struct peer_send {
	uint64_t id;
	unsigned int opcode, flags;
	uint64_t at; /* own memory */
	uint32_t bytes, lkey;
	uint64_t remote_addr;
	uint32_t rkey;
	uint32_t imm, invalidate_rkey;
	uint64_t compare_add, swap;
};

struct peer_wc {
	uint64_t id;
	unsigned int status, opcode, bytes, flags;
	uint32_t imm; /* or the key that was invalidated */
	uint32_t src_qpn;
};

/* Makes [at, at + bytes) known; the address that peers use is that of the memory. */
int peer_register(uint64_t at, uint64_t bytes, uint32_t access, uint32_t *lkey, uint32_t *rkey);

/* slot: below PEER_QPS_MAX, and free. */
int peer_qp_create(unsigned int slot, const struct peer_qp_conf *conf, struct peer_local *local);
/* To RTS; a UD queue pair gets an address handle to the route's end. */
int peer_qp_connect(unsigned int slot, const struct peer_route *route);
int peer_qp_set_error(unsigned int slot);
int peer_qp_state(unsigned int slot, unsigned int *state);
int peer_qp_destroy(unsigned int slot);
/* Why it failed, in words, if the implementation tells. */
void peer_qp_why(unsigned int slot, char *text, size_t bytes);

int peer_send(unsigned int slot, const struct peer_send *send);
int peer_recv(unsigned int slot, uint64_t id, uint64_t at, uint32_t bytes, uint32_t lkey);
/* 1 with a completion, 0 without. */
int peer_poll(unsigned int slot, struct peer_wc *wc);
/* A new window of type 2 over a part of a region; its key, once it is bound. */
int peer_bind(unsigned int slot, uint32_t lkey, uint64_t at, uint64_t bytes, uint32_t access,
	uint32_t *rkey);
/* Prints " name=value" for each counter that is not zero. */
void peer_counters(void);

#endif
