/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The streams of a capture, and which two of them are one connection.
 *
 * The wire names only the queue pair that a packet goes to. Two streams are one connection because
 * connection management says so, because each datagram does, or because the answers in the one
 * name what the other asked. Until that is clear answers wait, a few of them.
 */
#ifndef UROCE_PCAP_STREAMS_H
#define UROCE_PCAP_STREAMS_H

#include "pcap/analysis.h"

/* An end of a connection, as connection management names it. */
struct uroce_stream_key {
	struct uroce_gid src, dst;
	uint32_t dqpn, sqpn;
	uint16_t vlan;
	bool is_rocev1;
};

struct uroce_stream_key uroce_stream_key_of(const struct uroce_packet *p);
/* The stream, a new one if need be; NULL: too many, or no memory. */
struct uroce_stream *uroce_streams_get(
	struct uroce_analysis *a, const struct uroce_stream_key *key, uint64_t time_ns);
/* The newest one of this key; NULL if there is none. */
struct uroce_stream *uroce_streams_find(
	const struct uroce_analysis *a, const struct uroce_stream_key *key);
/* The queue pair of f, and that of its other stream, were set up anew: returns the new f, or f. */
struct uroce_stream *uroce_streams_begin_anew(
	struct uroce_analysis *a, struct uroce_stream *f, const struct uroce_packet *p);
/* The same, but a new one always: a queue pair number begins another life. */
struct uroce_stream *uroce_streams_renew(
	struct uroce_analysis *a, const struct uroce_stream_key *key, uint64_t time_ns);
/* These two are one connection. */
void uroce_streams_pair(struct uroce_analysis *a, struct uroce_stream *f, struct uroce_stream *g,
	enum uroce_confidence confidence);
/* The other stream of the same connection; NULL. */
struct uroce_stream *uroce_stream_other(const struct uroce_stream *f);
/* An answer in stream f. */
void uroce_streams_take_answer(
	struct uroce_analysis *a, struct uroce_stream *f, const struct uroce_packet *p);
/* Answers that still wait get what fits best. */
void uroce_streams_finish(struct uroce_analysis *a);
void uroce_streams_fini(struct uroce_analysis *a);

#endif
