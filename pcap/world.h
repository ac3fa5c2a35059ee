/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The responder's memory in a replay: regions under the capture's keys and addresses, and what is
 * known of their content.
 *
 * A byte is preloaded from a recorded answer only as long as no captured request has written it;
 * from then on what the engine executes is all there is. So a read of something written is a check.
 */
#ifndef UROCE_PCAP_WORLD_H
#define UROCE_PCAP_WORLD_H

#include "pcap/exchange.h"
#include "pcap/stage.h"

struct uroce_world_region {
	uint32_t key;
	uint64_t va;
	uint64_t bytes;
	uint8_t *memory;  /* malloc'ed */
	uint8_t *content; /* in memory, aligned as va is */
	uint8_t *written; /* per byte: by a captured request */
};

struct uroce_world {
	struct uroce_world_region *regions;
	uint32_t num;
};

/*
 * The regions that the requests of an exchange need: the union, per key, of what the recorded peer
 * did not refuse. Registers them on the stage. NULL, or why it cannot be done.
 */
const char *uroce_world_init(
	struct uroce_world *world, const struct uroce_exchange *e, struct uroce_stage *stage);
void uroce_world_fini(struct uroce_world *world);

/* Where `bytes` bytes at va under this key lie; NULL: in no region. */
const uint8_t *uroce_world_find(
	const struct uroce_world *world, uint32_t key, uint64_t va, uint32_t bytes);

/*
 * Before the request at index i is executed by the engine (a repeat is not): preloads what its
 * recorded answers tell.
 */
void uroce_world_prepare(struct uroce_world *world, const struct uroce_exchange *e, uint32_t i);

#endif
