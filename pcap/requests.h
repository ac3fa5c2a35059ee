/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The requests of a stream: which are new, which are sent again and why, and what is wrong in them.
 */
#ifndef UROCE_PCAP_REQUESTS_H
#define UROCE_PCAP_REQUESTS_H

#include "engine/psn.h"
#include "pcap/analysis.h"

/* ---- what answers.c looks at too ---- */

#define UROCE_REQUESTS_NS_PER_MS 1e6

/* Entry i of the ring, from head to tail. */
static inline struct uroce_asked *uroce_requests_entry(const struct uroce_requests *req, uint32_t i)
{
	return &req->ring[i & (req->room - 1)];
}

/* Captures' clocks may go backwards: then no time has passed. */
static inline uint64_t uroce_requests_since(uint64_t now_ns, uint64_t then_ns)
{
	return now_ns > then_ns ? now_ns - then_ns : 0;
}

static inline double uroce_requests_ms(uint64_t ns)
{
	return (double)ns / UROCE_REQUESTS_NS_PER_MS;
}

/* In the drawing of a stream's requests. */
static inline void uroce_requests_mark(
	struct uroce_stream *f, uint64_t time_ns, uint32_t psn, enum uroce_mark what)
{
	uroce_series_point(&f->series, time_ns, (psn - f->req.psn_first) & UROCE_PSN_MASK, what);
}

static inline bool uroce_requests_is_atomic(enum uroce_op_kind kind)
{
	return kind == UROCE_OP_COMPARE_SWAP || kind == UROCE_OP_FETCH_ADD;
}

/* ---- */

/* A request of RC or UC. */
void uroce_requests_take(
	struct uroce_analysis *a, struct uroce_stream *f, const struct uroce_packet *p);
/*
 * Whether this request does not belong to what came before in the stream: the queue pair was set up
 * anew with the same number.
 */
bool uroce_requests_is_new_life(const struct uroce_stream *f, const struct uroce_packet *p);
/* A datagram. */
void uroce_requests_take_datagram(struct uroce_stream *f, const struct uroce_packet *p);
/* The first PSN, from connection management. */
void uroce_requests_start(struct uroce_requests *req, uint32_t psn);
/* Packets that a message of so many bytes is cut into. */
uint32_t uroce_requests_pkts(uint32_t bytes, uint32_t mtu_bytes);
/* A full packet of a connection had this payload: its path MTU, or against it. */
void uroce_requests_learn_mtu(struct uroce_analysis *a, struct uroce_stream *f, uint64_t number,
	uint32_t payload_bytes, const char *what);
/* Whether a packet's payload may be this long. */
void uroce_requests_check_mtu(struct uroce_analysis *a, struct uroce_stream *f, uint64_t number,
	uint32_t payload_bytes, const char *what);
void uroce_requests_fini(struct uroce_requests *req);

#endif
