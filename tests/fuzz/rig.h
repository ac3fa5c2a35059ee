/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * An endpoint that is driven by an input: frames of its peer, posts, time, and a ledger of what
 * was posted and what completed.
 *
 * Frames get right lengths, checksum and ICRC unless the input asks for damage, since a fuzzer
 * cannot guess a CRC. The ledger holds for every application that keeps the rules: of each queue,
 * completions come in order (but for a shared one), each at most once, and only for what was
 * posted.
 */
#ifndef UROCE_FUZZ_RIG_H
#define UROCE_FUZZ_RIG_H

#include "endpoint.h"
#include "input.h"

enum {
	RIG_KEYS = 5,
	RIG_MEM_BYTES = 16384,
	RIG_RECVS_MAX = 1024, /* more than an input's steps */
};

/* Places in rig.keys. */
enum {
	RIG_KEY_ALL,	   /* a region with every right */
	RIG_KEY_READ_ONLY, /* its first half, to be read alone */
	RIG_KEY_WINDOW_1,
	RIG_KEY_WINDOW_2,
	RIG_KEY_FAST
};

struct rig {
	struct endpoint ep;
	struct input in;
	uint64_t now_ns;
	bool is_member; /* of a multicast group: its queue pair has to be UD */
	struct uroce_group_member member;
	bool faultless;		 /* no frame is damaged; then no payload byte is zero */
	uint32_t keys[RIG_KEYS]; /* as they are once everything posted is carried out */
	/* the ledger; work requests are numbered from 1, receives too */
	uint64_t sends_posted, recvs_posted;
	uint64_t last_send, last_recv;
	bool recv_done[RIG_RECVS_MAX]; /* of a shared queue */
};

/* conf from the first bytes of the input; in RESET. */
struct endpoint_conf rig_take_conf(struct rig *rig);
void rig_init(struct rig *rig, const struct endpoint_conf *conf);
/* Drains, checks the counters, frees. */
void rig_fini(struct rig *rig);

/* A step through the states, as far as the input says. */
void rig_modify(struct rig *rig);

/* Hands over a copy of exactly the frame's size, so that one byte too many is seen. */
void rig_give(struct rig *rig, const uint8_t *data, uint32_t bytes);
/* Up to 255 bytes of anything. */
void rig_give_raw(struct rig *rig);
/* A packet of the peer with any opcode, near what is expected. */
void rig_give_packet(struct rig *rig);

/* A packet of the peer of which the caller has chosen the opcode, PSN and payload length; the
 * extension headers come from ext (the opcode's header_bytes less the BTH's). */
struct rig_packet {
	uint8_t opcode;
	uint8_t flags; /* high half: the BTH's; 1: ask for an ACK; 4: damage it as the input says */
	uint32_t psn;
	uint32_t payload_bytes;
	const uint8_t *ext;
	bool to_group;
};
void rig_give_built(struct rig *rig, const struct rig_packet *packet);

void rig_post_send(struct rig *rig);
void rig_post_recv(struct rig *rig);

/* Everything that a turn does but polling. */
void rig_work(struct rig *rig);
/* The same; then polls and checks what came against the ledger. */
void rig_turn(struct rig *rig);
/* Called by rig_turn for each completion, when it is not NULL. */
extern void (*rig_completed)(struct rig *rig, const struct uroce_cqe *cqe);

/* Lets up to 2^33 ns pass, and turns. */
void rig_pass_time(struct rig *rig);

#endif
