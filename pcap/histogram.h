/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Times, counted in bands: 16 to each power of two, so that a percentile is right to within 6%.
 */
#ifndef UROCE_PCAP_HISTOGRAM_H
#define UROCE_PCAP_HISTOGRAM_H

#include <stdint.h>

enum {
	UROCE_HISTOGRAM_BANDS_LOG2 = 4,
	UROCE_HISTOGRAM_BANDS = (64 - UROCE_HISTOGRAM_BANDS_LOG2 + 1) << UROCE_HISTOGRAM_BANDS_LOG2,
};

struct uroce_histogram {
	uint64_t count;
	uint64_t sum_ns, min_ns, max_ns;
	uint32_t *bands; /* NULL until the first, and where there was no memory */
};

void uroce_histogram_add(struct uroce_histogram *h, uint64_t ns);
/* percent of all were not above this: 0 to 100. 0 where there are none. Exact at both ends. */
uint64_t uroce_histogram_percentile_ns(const struct uroce_histogram *h, double percent);
uint64_t uroce_histogram_mean_ns(const struct uroce_histogram *h);
/* The least time in a band; the next band's is one past its greatest. */
uint64_t uroce_histogram_band_ns(uint32_t band);
void uroce_histogram_fini(struct uroce_histogram *h);

#endif
