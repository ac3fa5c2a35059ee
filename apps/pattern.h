/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What messages hold, so that a receiver can check every byte: a value that depends on the
 * direction, the queue pair, the number of the message and the offset. A byte that was not
 * delivered, delivered twice, or delivered elsewhere is wrong with near certainty; the last byte of
 * a message always differs from that of the message before it.
 */
#ifndef UROCE_APP_PATTERN_H
#define UROCE_APP_PATTERN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Names a message. */
struct uroce_pattern {
	bool from_server;
	uint32_t lane;	 /* which queue pair */
	uint64_t number; /* of the message on it, from 0 */
};

/* The last byte of message `number`, of whatever direction and queue pair. */
static inline uint8_t uroce_pattern_last(uint64_t number)
{
	return (uint8_t)(number + 1);
}

void uroce_pattern_fill(const struct uroce_pattern *pattern, uint8_t *bytes, size_t n);
/* Fills with what is wrong in every byte, so that what is not delivered is seen. */
void uroce_pattern_poison(const struct uroce_pattern *pattern, uint8_t *bytes, size_t n);
/* Offset of the first byte that is wrong; n if none is. */
size_t uroce_pattern_check(const struct uroce_pattern *pattern, const uint8_t *bytes, size_t n);
/* The byte at an offset of a message of n. */
uint8_t uroce_pattern_byte(const struct uroce_pattern *pattern, size_t offset, size_t n);

#endif
