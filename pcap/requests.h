/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The requests of a stream: which are new, which are sent again and why, and what is wrong in them.
 */
#ifndef UROCE_PCAP_REQUESTS_H
#define UROCE_PCAP_REQUESTS_H

#include "pcap/analysis.h"

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
