/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The analysis of a capture: connections and findings, frame by frame, in bounded memory.
 *
 *	struct uroce_analysis *a = uroce_analysis_create(&(struct uroce_analysis_conf){0});
 *
 *	while (uroce_pcap_reader_next(reader, &frame) == 1)
 *		uroce_analysis_add(a, &frame);
 *	uroce_analysis_finish(a);
 *	for (uint32_t i = 0; i < a->findings.num; i++)
 *		puts(a->findings.list[i].text);
 *	uroce_analysis_destroy(a);
 *
 * An analysis belongs to one thread. It keeps no frame and no pointer into one, and nothing but
 * the frames' own times is a clock to it: the same capture gives the same result always.
 */
#ifndef UROCE_PCAP_ANALYSIS_H
#define UROCE_PCAP_ANALYSIS_H

#include "pcap/connection.h"
#include "pcap/packet.h"

enum {
	UROCE_ANALYSIS_CONNECTIONS_MAX = 65536,
	UROCE_ANALYSIS_DRAWINGS_MAX = 64,
};

struct uroce_analysis_conf {
	bool drawings;		  /* keep what reports draw, of the first connections */
	uint32_t connections_max; /* 0: UROCE_ANALYSIS_CONNECTIONS_MAX */
};

struct uroce_cm_watch;

struct uroce_analysis {
	struct uroce_analysis_conf conf;
	struct uroce_findings findings;
	uint32_t findings_of_capture[UROCE_FINDING_COUNT];
	struct uroce_connection **connections; /* also hidden ones */
	uint32_t num_connections, max_connections;
	uint32_t num_shown;	       /* without the hidden ones, once it is finished */
	struct uroce_stream **streams; /* in the order of their numbers */
	uint32_t num_streams, max_streams;
	struct uroce_stream **by_key, **by_pair; /* hashed; as many as num_buckets */
	uint32_t num_buckets;
	uint64_t left_out;   /* frames of connections beyond the most */
	uint32_t asked_room; /* entries of requests.c, of all streams */
	struct uroce_cm_watch *cm;
	uint64_t frames, bytes, roce_frames, rocev1_frames, other_frames;
	uint64_t first_ns, last_ns;
	bool finished;
};

/* NULL: no memory. */
struct uroce_analysis *uroce_analysis_create(const struct uroce_analysis_conf *conf);
void uroce_analysis_add(struct uroce_analysis *a, const struct uroce_pcap_frame *frame);
/* There are no more frames: what had no answer is judged, and findings are sorted. */
void uroce_analysis_finish(struct uroce_analysis *a);
void uroce_analysis_destroy(struct uroce_analysis *a);

/* ---- for its own parts ---- */

/* Adds a finding of a connection, or of the capture where that is NULL. Returns it, or NULL. */
struct uroce_finding *uroce_analysis_note(struct uroce_analysis *a, struct uroce_connection *c,
	enum uroce_finding_kind kind, uint64_t frame, uint64_t cost_ns, const char *format, ...)
	__attribute__((format(printf, 6, 7)));

#endif
