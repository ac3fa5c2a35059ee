/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Counters of a device, and their names, from the one list.
 */
#include <string.h>

#include "device.h"

struct counter {
	const char *name;
	const char *help;
	size_t offset;
};

#define COUNTER(name, help) {#name, help, offsetof(struct uroce_counters, name)},

static const struct counter counters_by_index[UROCE_COUNTER_COUNT] = {UROCE_COUNTERS(COUNTER)};

static uint64_t look(const uint64_t *counter)
{
	return __atomic_load_n(counter, __ATOMIC_RELAXED);
}

static uint64_t *counter_at(struct uroce_counters *counters, size_t offset)
{
	return (uint64_t *)(void *)((uint8_t *)counters + offset);
}

void uroce_device_counters(const struct uroce_device *dev, struct uroce_counters *counters)
{
	memset(counters, 0, sizeof(*counters));
	for (unsigned int w = 0; w < dev->num_workers; w++) {
		struct uroce_counters *from = &dev->workers[w].core.counters;

		for (unsigned int i = 0; i < UROCE_COUNTER_COUNT; i++) {
			size_t offset = counters_by_index[i].offset;

			*counter_at(counters, offset) += look(counter_at(from, offset));
		}
		for (unsigned int i = 0; i < UROCE_DROP_COUNT; i++)
			counters->drops[i] += look(&from->drops[i]);
	}
}

const char *uroce_counter_name(unsigned int i)
{
	return i < UROCE_COUNTER_COUNT ? counters_by_index[i].name : NULL;
}

const char *uroce_counter_help(unsigned int i)
{
	return i < UROCE_COUNTER_COUNT ? counters_by_index[i].help : NULL;
}

uint64_t uroce_counter_value(const struct uroce_counters *counters, unsigned int i)
{
	const uint8_t *base = (const uint8_t *)counters;

	if (i >= UROCE_COUNTER_COUNT)
		return 0;
	return *(const uint64_t *)(const void *)(base + counters_by_index[i].offset);
}
