/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The answers to a stream's requests: what they acknowledge, refuse and deliver, and whether they
 * may.
 */
#ifndef UROCE_PCAP_ANSWERS_H
#define UROCE_PCAP_ANSWERS_H

#include "pcap/analysis.h"

/* An answer to what stream g asked. True: it names something that g asked. */
bool uroce_answers_take(
	struct uroce_analysis *a, struct uroce_stream *g, const struct uroce_kept_answer *p);
/* Whether this answer could be one to g. */
bool uroce_answers_fit(const struct uroce_stream *g, const struct uroce_kept_answer *p);
/* There are no more answers. */
void uroce_answers_finish(struct uroce_analysis *a, struct uroce_stream *g);

#endif
