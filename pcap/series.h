/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a stream did over time, for drawings: as many steps as fit on a screen, and marks.
 *
 * The steps get longer as the capture does, by doubling, so memory is bounded and every step is
 * complete. Points are thinned out in the same way; marks are kept up to a number.
 */
#ifndef UROCE_PCAP_SERIES_H
#define UROCE_PCAP_SERIES_H

#include <stdbool.h>
#include <stdint.h>

enum {
	UROCE_SERIES_STEPS = 512,
	UROCE_SERIES_POINTS = 4096,
	UROCE_SERIES_MARKS = 1024,
	UROCE_SERIES_STEP_NS_MIN = 1000,
};

/* What happened during a step. */
struct uroce_step {
	uint64_t delivered_bytes;
	uint64_t in_flight_bytes; /* the most */
	uint32_t packets;
	uint32_t retransmitted;
};

enum uroce_mark {
	UROCE_MARK_REQUEST,
	UROCE_MARK_ANSWER,
	UROCE_MARK_RESENT,
	UROCE_MARK_LOST,
	UROCE_MARK_NAK,
	UROCE_MARK_RNR,
};

struct uroce_point {
	uint64_t time_ns; /* from the start of the series */
	uint32_t psn;	  /* from the first one of its requests */
	uint8_t mark;	  /* enum uroce_mark */
};

struct uroce_series {
	uint64_t start_ns, step_ns;
	uint32_t num_steps;
	struct uroce_step *steps;   /* NULL: not kept */
	struct uroce_point *points; /* REQUEST and ANSWER: every so many */
	uint32_t num_points, stride, skipped;
	struct uroce_point *marks; /* the others */
	uint32_t num_marks;
	bool marks_left_out;
};

/* Begins to keep; false: no memory, and nothing is kept, which does no harm. */
bool uroce_series_start(struct uroce_series *s, uint64_t start_ns);
/* The step at a time; NULL where nothing is kept. Times before the start count as the start. */
struct uroce_step *uroce_series_step(struct uroce_series *s, uint64_t time_ns);
void uroce_series_point(
	struct uroce_series *s, uint64_t time_ns, uint32_t psn, enum uroce_mark mark);
void uroce_series_fini(struct uroce_series *s);

#endif
