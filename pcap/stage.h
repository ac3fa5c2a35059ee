/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The stage of a replay: one core with one queue pair, as a capture says it was.
 *
 * Numbers, PSNs, keys and virtual addresses are the capture's; memory is malloc'ed and lies
 * elsewhere.
 */
#ifndef UROCE_PCAP_STAGE_H
#define UROCE_PCAP_STAGE_H

#include "engine/core.h"

enum {
	UROCE_STAGE_MRS = 4096,
	UROCE_STAGE_FRAME_BYTES = 4352,
	UROCE_STAGE_WR = 4096,
	UROCE_STAGE_AH = 1
};

struct uroce_stage_conf {
	enum uroce_qp_type type;
	uint32_t qkey;			  /* of a UD queue pair */
	struct uroce_gid addr, peer_addr; /* addr may be a multicast group that a UD one joins */
	uint8_t mac[6], peer_mac[6];
	uint16_t tci; /* VLAN tag of what it sends; the peer's has the same VLAN. 0: none */
	uint32_t qpn, peer_qpn;
	uint32_t rq_psn, sq_psn;
	uint32_t mtu_bytes;
	uint8_t timeout, retry_cnt, min_rnr_timer;
};

struct uroce_stage {
	struct uroce_core core;
	struct uroce_mr_table mrs;
	struct uroce_mr_slot mr_slots[UROCE_STAGE_MRS];
	struct uroce_qptable qptable;
	struct uroce_qptable_slot qp_slots[16];
	struct uroce_timer *timers[UROCE_QP_TIMERS];
	struct uroce_core_event events[64];
	struct uroce_path path;
	struct uroce_group_member member;
	struct uroce_ah_slot ahs[2]; /* UROCE_STAGE_AH: the peer */
	struct uroce_cq *cq;
	struct uroce_qp *qp;
	uint64_t now_ns;
	uint32_t received;  /* receives that completed with success */
	uint32_t completed; /* work requests that did */
	uint32_t failed;    /* completions of anything else */
	enum uroce_status first_failure;
};

/* 0, -ENOMEM, or -EINVAL for numbers that no queue pair can have. fini in every case. */
int uroce_stage_init(struct uroce_stage *stage, const struct uroce_stage_conf *conf);
void uroce_stage_fini(struct uroce_stage *stage);

/* Registers memory with every right under the capture's key (0: any, into *key). */
int uroce_stage_register(
	struct uroce_stage *stage, uint32_t *key, uint64_t va, uint64_t bytes, uint8_t *ptr);

void uroce_stage_post_send(
	struct uroce_stage *stage, const struct uroce_send_wqe *wqe, struct uroce_seg seg);
void uroce_stage_post_recv(struct uroce_stage *stage, struct uroce_seg seg);

/* Gives a frame to the core. */
void uroce_stage_rx(struct uroce_stage *stage, const uint8_t *data, uint32_t bytes);

/* The next frame that the core sends, into data (UROCE_STAGE_FRAME_BYTES); 0: none. */
uint32_t uroce_stage_tx(struct uroce_stage *stage, uint8_t *data);

/* Empties completions and events: nobody waits for them here. */
void uroce_stage_drain(struct uroce_stage *stage);

#endif
