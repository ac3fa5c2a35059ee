/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The work requests that a recorded requester must have had, and its timers.
 */
#ifndef UROCE_PCAP_REBUILD_H
#define UROCE_PCAP_REBUILD_H

#include "engine/wqe.h"
#include "pcap/exchange.h"

/* A work request as recorded, and where its local bytes lie. */
struct uroce_rebuilt_wr {
	struct uroce_send_wqe wqe;
	struct uroce_seg seg;
	uint64_t time_ns;
};

/* list: room for as many as the exchange has frames. */
struct uroce_rebuilt {
	struct uroce_rebuilt_wr *list;
	uint32_t num;
};

/* Bytes of local memory that all work requests need together. */
uint64_t uroce_rebuild_bytes(const struct uroce_exchange *e);
/*
 * Rebuilds them with their payloads in buffer, which is registered under key. NULL, or why these
 * packets were no requester's.
 */
const char *uroce_rebuild(
	const struct uroce_exchange *e, uint8_t *buffer, uint32_t key, struct uroce_rebuilt *out);
/* A requester goes back only for what it has no answer to: NULL, or in words that it did not. */
const char *uroce_rebuild_check_repeats(const struct uroce_exchange *e);
/*
 * The longest retry time code within the shortest silence before a retry. 0, no timer, where there
 * was no retry, or the recorded timer was one that cannot be told.
 */
uint8_t uroce_rebuild_timeout(const struct uroce_exchange *e);
/* How often the recorded requester tried before it gave up; the default if it did not. */
uint8_t uroce_rebuild_retries(const struct uroce_exchange *e);

#endif
