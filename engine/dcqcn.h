/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * DCQCN's reaction point: from notifications, time and bytes sent to a rate.
 *
 * One of these to a flow. It knows numbers only: no queue pair, no packet, no clock. All times are
 * of the caller's clock and never go back.
 */
#ifndef UROCE_DCQCN_H
#define UROCE_DCQCN_H

#include <stdbool.h>

#include "dcqcn_conf.h"

enum {
	UROCE_DCQCN_ALPHA_ONE = 1 << 20
};

struct uroce_dcqcn {
	uint64_t line_bps;   /* what the flow may reach */
	uint64_t rate_bps;   /* 0: no limit, nothing is congested */
	uint64_t target_bps; /* what the rate recovers to */
	uint64_t alpha_due_ns;
	uint64_t increase_due_ns;
	uint64_t decrease_from_ns; /* not before */
	uint64_t bytes;		   /* since the byte counter's last step */
	uint32_t alpha;		   /* in units of 1 / UROCE_DCQCN_ALPHA_ONE */
	uint32_t time_steps;	   /* since the last notification */
	uint32_t byte_steps;
};

/* Fills in the defaults of what is zero. */
void uroce_dcqcn_conf_complete(struct uroce_dcqcn_conf *conf);

/*
 * Of a complete one: 0, or -EINVAL: a rate is outside UROCE_RATE_MIN_BPS and UROCE_RATE_MAX_BPS,
 * the least one is over the line's, a shift or count is out of range.
 */
int uroce_dcqcn_conf_check(const struct uroce_dcqcn_conf *conf);

/* Not limited; alpha is 1. The flow may reach line_bps. */
void uroce_dcqcn_init(struct uroce_dcqcn *dcqcn, uint64_t line_bps);

/* The flow may reach this from now on; its rate is never over it. */
void uroce_dcqcn_set_line(struct uroce_dcqcn *dcqcn, uint64_t line_bps);

/* Each of these: true if rate_bps has changed. */
/* A notification came. */
bool uroce_dcqcn_notify(
	struct uroce_dcqcn *dcqcn, const struct uroce_dcqcn_conf *conf, uint64_t now_ns);
/* Does what has become due. Nobody has to call it at any time: what is late is made up for. */
bool uroce_dcqcn_advance(
	struct uroce_dcqcn *dcqcn, const struct uroce_dcqcn_conf *conf, uint64_t now_ns);
/* So many bytes left. */
bool uroce_dcqcn_sent(
	struct uroce_dcqcn *dcqcn, const struct uroce_dcqcn_conf *conf, uint32_t bytes);

#endif
