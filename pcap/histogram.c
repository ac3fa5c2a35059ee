/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Bands: below 16 ns one for each nanosecond, above that 16 for each power of two.
 */
#include "pcap/histogram.h"

#include <stdlib.h>
#include <string.h>

enum {
	SUB_LOG2 = UROCE_HISTOGRAM_BANDS_LOG2,
	SUB = 1 << SUB_LOG2
};

static uint32_t band_of(uint64_t ns)
{
	uint32_t high;

	if (ns < SUB)
		return (uint32_t)ns;
	high = 63 - (uint32_t)__builtin_clzll(ns);
	return ((high - SUB_LOG2 + 1) << SUB_LOG2) +
		(uint32_t)(ns >> (high - SUB_LOG2) & (SUB - 1));
}

uint64_t uroce_histogram_band_ns(uint32_t band)
{
	uint32_t power = band >> SUB_LOG2;

	if (power == 0)
		return band;
	if (power > 64 - SUB_LOG2)
		return UINT64_MAX;
	return (uint64_t)(SUB + (band & (SUB - 1))) << (power - 1);
}

void uroce_histogram_add(struct uroce_histogram *h, uint64_t ns)
{
	if (!h->bands)
		h->bands = calloc(UROCE_HISTOGRAM_BANDS, sizeof(*h->bands));
	if (!h->bands)
		return;
	if (h->count == 0 || ns < h->min_ns)
		h->min_ns = ns;
	if (ns > h->max_ns)
		h->max_ns = ns;
	h->count++;
	h->sum_ns += ns;
	h->bands[band_of(ns)]++;
}

uint64_t uroce_histogram_percentile_ns(const struct uroce_histogram *h, double percent)
{
	double wanted = (double)h->count * percent / 100;
	uint64_t below = 0;

	if (h->count == 0 || percent <= 0)
		return h->count ? h->min_ns : 0;
	for (uint32_t i = 0; i < UROCE_HISTOGRAM_BANDS; i++) {
		uint64_t most;

		below += h->bands[i];
		if ((double)below < wanted)
			continue;
		most = uroce_histogram_band_ns(i + 1) - 1;
		return most < h->max_ns ? most : h->max_ns;
	}
	return h->max_ns;
}

uint64_t uroce_histogram_mean_ns(const struct uroce_histogram *h)
{
	return h->count ? h->sum_ns / h->count : 0;
}

void uroce_histogram_fini(struct uroce_histogram *h)
{
	free(h->bands);
	memset(h, 0, sizeof(*h));
}
