/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Layouts of queue entries: what an application puts on a send or receive queue.
 *
 * Entries of one queue have one size, in units of 64 bytes, chosen when the queue pair is created
 * from the number of segments and inline bytes that it asked for: an entry is found from its
 * index, which going back needs. A message of one segment uses the first unit alone. These
 * structures are shared with the application's threads: the engine copies an entry once and
 * believes only the copy.
 */
#ifndef UROCE_WQE_H
#define UROCE_WQE_H

#include <stdint.h>

enum {
	UROCE_WQE_UNIT_BYTES = 64
};

struct uroce_seg {
	uint64_t addr;
	uint32_t bytes;
	uint32_t lkey;
};

struct uroce_send_wqe {
	uint64_t wr_id;
	uint8_t opcode; /* enum uroce_wr_opcode */
	uint8_t flags;	/* enum uroce_send_flag */
	uint16_t num_segs;
	uint32_t bytes; /* of the message; bind, register: enum uroce_access */
	uint32_t imm;	/* immediate value, key to invalidate, or FETH */
	union {
		uint32_t rkey;
		uint32_t ah;	  /* datagram: number of an address handle */
		uint32_t new_key; /* bind, register */
	};
	union {
		uint64_t remote_addr;
		struct { /* datagram */
			uint32_t remote_qpn;
			uint32_t remote_qkey;
		};
		uint64_t change_addr; /* bind, register: as struct uroce_mr_change */
	};
	union {
		uint64_t compare_add;
		uint64_t change_bytes;
	};
	union {
		uint64_t swap;
		uint32_t lkey; /* bind */
		uint64_t ptr;  /* register */
	};
	/* segments, or inline bytes, follow */
};

struct uroce_recv_wqe {
	uint64_t wr_id;
	uint32_t num_segs;
	uint32_t bytes; /* sum of the segments; at most 2^32 - 1 counts */
			/* segments follow */
};

_Static_assert(sizeof(struct uroce_seg) == 16, "segments are a quarter of a unit");
_Static_assert(sizeof(struct uroce_send_wqe) == 48, "one segment fits the first unit");
_Static_assert(sizeof(struct uroce_recv_wqe) == 16, "three segments fit the first unit");

static inline uint32_t uroce_wqe_round(uint32_t bytes)
{
	return (bytes + UROCE_WQE_UNIT_BYTES - 1) / UROCE_WQE_UNIT_BYTES * UROCE_WQE_UNIT_BYTES;
}

static inline uint32_t uroce_send_wqe_stride(uint32_t segs_max, uint32_t inline_bytes_max)
{
	uint32_t tail = segs_max * (uint32_t)sizeof(struct uroce_seg);

	if (tail < inline_bytes_max)
		tail = inline_bytes_max;
	return uroce_wqe_round((uint32_t)sizeof(struct uroce_send_wqe) + tail);
}

static inline uint32_t uroce_recv_wqe_stride(uint32_t segs_max)
{
	return uroce_wqe_round((uint32_t)sizeof(struct uroce_recv_wqe) +
		segs_max * (uint32_t)sizeof(struct uroce_seg));
}

static inline struct uroce_seg *uroce_send_wqe_segs(struct uroce_send_wqe *wqe)
{
	return (struct uroce_seg *)(wqe + 1);
}

static inline uint8_t *uroce_send_wqe_inline(struct uroce_send_wqe *wqe)
{
	return (uint8_t *)(wqe + 1);
}

static inline struct uroce_seg *uroce_recv_wqe_segs(struct uroce_recv_wqe *wqe)
{
	return (struct uroce_seg *)(wqe + 1);
}

#endif
