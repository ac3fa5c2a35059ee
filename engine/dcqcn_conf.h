/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What DCQCN can be tuned by.
 *
 * Public: uroce.h includes it, the engine uses it. The defaults are those of the paper (Zhu and
 * others, "Congestion Control for Large-Scale RDMA Deployments", SIGCOMM 2015), where it names
 * them. Whoever tunes a network has tables of such numbers under the names in brackets, which are
 * those of hardware.
 */
#ifndef UROCE_DCQCN_CONF_H
#define UROCE_DCQCN_CONF_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Rates of all kinds are whole bits a second between these. */
#define UROCE_RATE_MIN_BPS UINT64_C(1000)
#define UROCE_RATE_MAX_BPS UINT64_C(8000000000000)

/* Zero in a field is its default. */
struct uroce_dcqcn_conf {
	/* A queue pair sends without a limit until it is told of congestion, then at half of this,
	 * and without a limit again once it has come back to this. */
	uint64_t line_rate_bps; /* 10 Gb/s */
	uint64_t min_rate_bps;	/* 10 Mb/s; no less, whatever is told (rpg_min_rate) */
	uint64_t ai_rate_bps;	/* 40 Mb/s; a step of additive increase (rpg_ai_rate) */
	uint64_t hai_rate_bps;	/* 400 Mb/s; of hyper increase (rpg_hai_rate) */
	uint32_t byte_reset;	/* 10,000,000; a step for each so many bytes (rpg_byte_reset) */
	uint32_t increase_ns;	/* 55,000; and one for each such time (rpg_time_reset) */
	uint32_t threshold;	/* 5; steps of fast recovery, at most 255 (rpg_threshold) */
	uint32_t alpha_ns;	/* 55,000; alpha decays once in it (dce_tcp_rtt) */
	uint32_t g_log2;	/* 8; alpha's gain is 2^-g, at most 10 (dce_tcp_g) */
	uint32_t decrease_ns;	/* 4,000; no second cut in it (rate_reduce_monitor_period) */
	/* The other side: no second notification of one flow in it (min_time_between_cnps). */
	uint32_t cnp_ns; /* 50,000 */
};

#ifdef __cplusplus
}
#endif

#endif
