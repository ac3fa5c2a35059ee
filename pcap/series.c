/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Steps and points of bounded number over a time that nobody knows in advance.
 */
#include "pcap/series.h"

#include <stdlib.h>
#include <string.h>

bool uroce_series_start(struct uroce_series *s, uint64_t start_ns)
{
	s->steps = calloc(UROCE_SERIES_STEPS, sizeof(*s->steps));
	s->points = malloc(UROCE_SERIES_POINTS * sizeof(*s->points));
	s->marks = malloc(UROCE_SERIES_MARKS * sizeof(*s->marks));
	if (!s->steps || !s->points || !s->marks) {
		uroce_series_fini(s);
		return false;
	}
	s->start_ns = start_ns;
	s->step_ns = UROCE_SERIES_STEP_NS_MIN;
	s->stride = 1;
	return true;
}

/* Two steps become one. */
static void double_steps(struct uroce_series *s)
{
	for (uint32_t i = 0; i < UROCE_SERIES_STEPS / 2; i++) {
		const struct uroce_step *a = &s->steps[2 * i], *b = a + 1;

		s->steps[i] = (struct uroce_step){
			.delivered_bytes = a->delivered_bytes + b->delivered_bytes,
			.in_flight_bytes = a->in_flight_bytes > b->in_flight_bytes
				? a->in_flight_bytes
				: b->in_flight_bytes,
			.packets = a->packets + b->packets,
			.retransmitted = a->retransmitted + b->retransmitted};
	}
	memset(&s->steps[UROCE_SERIES_STEPS / 2], 0, UROCE_SERIES_STEPS / 2 * sizeof(*s->steps));
	s->step_ns *= 2;
	s->num_steps = (s->num_steps + 1) / 2;
}

struct uroce_step *uroce_series_step(struct uroce_series *s, uint64_t time_ns)
{
	uint64_t ns = time_ns > s->start_ns ? time_ns - s->start_ns : 0;

	if (!s->steps)
		return NULL;
	while (ns / s->step_ns >= UROCE_SERIES_STEPS)
		double_steps(s);
	ns /= s->step_ns;
	if (ns >= s->num_steps)
		s->num_steps = (uint32_t)ns + 1;
	return &s->steps[ns];
}

static void add_mark(struct uroce_series *s, const struct uroce_point *point)
{
	if (s->num_marks == UROCE_SERIES_MARKS)
		s->marks_left_out = true;
	else
		s->marks[s->num_marks++] = *point;
}

void uroce_series_point(
	struct uroce_series *s, uint64_t time_ns, uint32_t psn, enum uroce_mark mark)
{
	struct uroce_point point = {.time_ns = time_ns > s->start_ns ? time_ns - s->start_ns : 0,
		.psn = psn,
		.mark = (uint8_t)mark};

	if (!s->points)
		return;
	if (mark != UROCE_MARK_REQUEST && mark != UROCE_MARK_ANSWER) {
		add_mark(s, &point);
		return;
	}
	if (s->skipped++ % s->stride)
		return;
	if (s->num_points == UROCE_SERIES_POINTS) {
		for (uint32_t i = 0; i < UROCE_SERIES_POINTS / 2; i++)
			s->points[i] = s->points[2 * i];
		s->num_points /= 2;
		s->stride *= 2;
	}
	s->points[s->num_points++] = point;
}

void uroce_series_fini(struct uroce_series *s)
{
	free(s->steps);
	free(s->points);
	free(s->marks);
	memset(s, 0, sizeof(*s));
}
