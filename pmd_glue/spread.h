/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How a port spreads received frames over its queues: by rules, by a hash, or as it likes.
 *
 * None of them is needed: a frame that comes to the wrong queue is handed over to the worker that
 * it is for. Each saves some or all of that.
 */
#ifndef UROCE_GLUE_SPREAD_H
#define UROCE_GLUE_SPREAD_H

#include <stdbool.h>
#include <stdint.h>

#include "steer.h"

struct rte_eth_conf;
struct rte_eth_dev_info;
struct rte_flow;

struct uroce_spread {
	uint16_t port_id;
	bool hashes;
	struct rte_flow *rules[2 * UROCE_WORKERS_MAX];
	uint32_t num_rules; /* 0: the port does not know queue pair numbers */
};

/* Before the port is configured: asks for a hash over UDP and IP, if there is one and a choice. */
void uroce_spread_ask(struct uroce_spread *spread, struct rte_eth_conf *conf,
	const struct rte_eth_dev_info *info, uint16_t num_queues);
/*
 * Once it has started: a rule for each of num_workers, by the low bits of the queue pair number
 * (see qptable.h), to its queue or one of those that hand over; for IPv6 frames too if ipv6. All,
 * or none where the port does not take one of them.
 */
void uroce_spread_start(struct uroce_spread *spread, uint16_t port_id, uint16_t num_workers,
	uint16_t num_queues, bool ipv6);
/* Takes the rules back; nothing if there are none. */
void uroce_spread_stop(struct uroce_spread *spread);

/* For the log: where frames come to. */
const char *uroce_spread_text(const struct uroce_spread *spread, uint16_t num_queues);

#endif
