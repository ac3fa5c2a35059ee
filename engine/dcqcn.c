/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The algorithm of the paper's section 3.3, in integers.
 *
 * A notification cuts the rate by half of alpha, the estimate of how congested the path is, and
 * remembers what it was as the target. After that the timer and the byte counter take steps, each
 * of which halves the distance to the target; once either has taken more than the threshold the
 * target itself is raised, and faster once both have. Nothing runs by itself: timers are caught up
 * with when somebody sends or is notified, so a flow that is not limited costs nothing.
 */
#include "dcqcn.h"

#include <errno.h>
#include <stddef.h>

enum {
	G_LOG2_MAX = 10,
	THRESHOLD_MAX = 255,
	/* Of the timer at once: what a longer pause would add is not needed to be back on line. */
	STEPS_MAX = 1024,
};

#define MBPS 1000000ull

static uint64_t or_default(uint64_t value, uint64_t otherwise)
{
	return value ? value : otherwise;
}

void uroce_dcqcn_conf_complete(struct uroce_dcqcn_conf *conf)
{
	conf->line_rate_bps = or_default(conf->line_rate_bps, 10000 * MBPS);
	conf->min_rate_bps = or_default(conf->min_rate_bps, 10 * MBPS);
	conf->ai_rate_bps = or_default(conf->ai_rate_bps, 40 * MBPS);
	conf->hai_rate_bps = or_default(conf->hai_rate_bps, 400 * MBPS);
	conf->byte_reset = (uint32_t)or_default(conf->byte_reset, 10000000);
	conf->increase_ns = (uint32_t)or_default(conf->increase_ns, 55000);
	conf->threshold = (uint32_t)or_default(conf->threshold, 5);
	conf->alpha_ns = (uint32_t)or_default(conf->alpha_ns, 55000);
	conf->g_log2 = (uint32_t)or_default(conf->g_log2, 8);
	conf->decrease_ns = (uint32_t)or_default(conf->decrease_ns, 4000);
	conf->cnp_ns = (uint32_t)or_default(conf->cnp_ns, 50000);
}

int uroce_dcqcn_conf_check(const struct uroce_dcqcn_conf *conf)
{
	const uint64_t rates[] = {
		conf->line_rate_bps, conf->min_rate_bps, conf->ai_rate_bps, conf->hai_rate_bps};

	for (size_t i = 0; i < sizeof(rates) / sizeof(rates[0]); i++)
		if (rates[i] < UROCE_RATE_MIN_BPS || rates[i] > UROCE_RATE_MAX_BPS)
			return -EINVAL;
	if (conf->min_rate_bps > conf->line_rate_bps)
		return -EINVAL;
	if (conf->g_log2 > G_LOG2_MAX || conf->threshold > THRESHOLD_MAX)
		return -EINVAL;
	return 0;
}

void uroce_dcqcn_init(struct uroce_dcqcn *dcqcn, uint64_t line_bps)
{
	*dcqcn = (struct uroce_dcqcn){.line_bps = line_bps,
		.alpha = UROCE_DCQCN_ALPHA_ONE,
		/* From the first notification on. */
		.alpha_due_ns = UINT64_MAX};
}

void uroce_dcqcn_set_line(struct uroce_dcqcn *dcqcn, uint64_t line_bps)
{
	dcqcn->line_bps = line_bps;
	if (dcqcn->target_bps > line_bps)
		dcqcn->target_bps = line_bps;
	if (dcqcn->rate_bps > line_bps)
		dcqcn->rate_bps = line_bps;
}

/* The whole of what became due since; at the end of it nothing changes any more. */
static void decay_alpha(
	struct uroce_dcqcn *dcqcn, const struct uroce_dcqcn_conf *conf, uint64_t now_ns)
{
	uint64_t times;

	if (now_ns < dcqcn->alpha_due_ns)
		return;
	times = (now_ns - dcqcn->alpha_due_ns) / conf->alpha_ns + 1;
	dcqcn->alpha_due_ns += times * conf->alpha_ns;
	for (; times > 0 && dcqcn->alpha >> conf->g_log2 > 0; times--)
		dcqcn->alpha -= dcqcn->alpha >> conf->g_log2;
}

/* A step of the timer or of the byte counter; both were counted before. */
static void increase(struct uroce_dcqcn *dcqcn, const struct uroce_dcqcn_conf *conf)
{
	uint32_t threshold = conf->threshold;

	if (dcqcn->time_steps > threshold && dcqcn->byte_steps > threshold)
		dcqcn->target_bps += conf->hai_rate_bps;
	else if (dcqcn->time_steps > threshold || dcqcn->byte_steps > threshold)
		dcqcn->target_bps += conf->ai_rate_bps;
	if (dcqcn->target_bps > dcqcn->line_bps)
		dcqcn->target_bps = dcqcn->line_bps;
	dcqcn->rate_bps = (dcqcn->rate_bps + dcqcn->target_bps) / 2;
	/* Halving alone would never arrive. */
	if (dcqcn->target_bps == dcqcn->line_bps &&
		dcqcn->rate_bps + conf->ai_rate_bps >= dcqcn->line_bps)
		dcqcn->rate_bps = 0;
}

bool uroce_dcqcn_notify(
	struct uroce_dcqcn *dcqcn, const struct uroce_dcqcn_conf *conf, uint64_t now_ns)
{
	uint64_t least =
		conf->min_rate_bps < dcqcn->line_bps ? conf->min_rate_bps : dcqcn->line_bps;

	uroce_dcqcn_advance(dcqcn, conf, now_ns);
	if (now_ns < dcqcn->decrease_from_ns)
		return false;
	decay_alpha(dcqcn, conf, now_ns);
	dcqcn->target_bps = dcqcn->rate_bps ? dcqcn->rate_bps : dcqcn->line_bps;
	dcqcn->rate_bps = dcqcn->target_bps -
		dcqcn->target_bps * dcqcn->alpha / (2 * (uint64_t)UROCE_DCQCN_ALPHA_ONE);
	if (dcqcn->rate_bps < least)
		dcqcn->rate_bps = least;
	dcqcn->alpha += (UROCE_DCQCN_ALPHA_ONE - dcqcn->alpha) >> conf->g_log2;
	dcqcn->alpha_due_ns = now_ns + conf->alpha_ns;
	dcqcn->increase_due_ns = now_ns + conf->increase_ns;
	dcqcn->decrease_from_ns = now_ns + conf->decrease_ns;
	dcqcn->time_steps = dcqcn->byte_steps = 0;
	dcqcn->bytes = 0;
	return true;
}

bool uroce_dcqcn_advance(
	struct uroce_dcqcn *dcqcn, const struct uroce_dcqcn_conf *conf, uint64_t now_ns)
{
	uint32_t steps = 0;

	for (; dcqcn->rate_bps && now_ns >= dcqcn->increase_due_ns && steps < STEPS_MAX; steps++) {
		dcqcn->increase_due_ns += conf->increase_ns;
		dcqcn->time_steps++;
		increase(dcqcn, conf);
	}
	if (steps == STEPS_MAX)
		dcqcn->increase_due_ns = now_ns + conf->increase_ns;
	return steps > 0;
}

bool uroce_dcqcn_sent(
	struct uroce_dcqcn *dcqcn, const struct uroce_dcqcn_conf *conf, uint32_t bytes)
{
	if (!dcqcn->rate_bps)
		return false;
	dcqcn->bytes += bytes;
	if (dcqcn->bytes < conf->byte_reset)
		return false;
	dcqcn->bytes -= conf->byte_reset;
	dcqcn->byte_steps++;
	increase(dcqcn, conf);
	return true;
}
