/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Spreading.
 *
 * RoCE has one destination port, and a hash sees of a connection its two addresses and its source
 * port, which has nothing to do with the worker. What does is the queue pair number: its low bits
 * say whose it is, so one rule per worker is enough, whatever the number of queue pairs. DPDK 22.11
 * has no name for the field; three bytes at their place behind the UDP header are what can be
 * asked for, and few drivers take that.
 */
#include "spread.h"

#include <string.h>

#include <rte_byteorder.h>
#include <rte_ethdev.h>
#include <rte_flow.h>

#include "ring.h"
#include "wire.h"

enum {
	QPN_BYTES = 3
};

static const uint64_t hashed = RTE_ETH_RSS_IPV4 | RTE_ETH_RSS_NONFRAG_IPV4_UDP |
	RTE_ETH_RSS_NONFRAG_IPV4_OTHER | RTE_ETH_RSS_IPV6 | RTE_ETH_RSS_NONFRAG_IPV6_UDP |
	RTE_ETH_RSS_NONFRAG_IPV6_OTHER;

void uroce_spread_ask(struct uroce_spread *spread, struct rte_eth_conf *conf,
	const struct rte_eth_dev_info *info, uint16_t num_queues)
{
	uint64_t types = hashed & info->flow_type_rss_offloads;

	spread->hashes = num_queues > 1 && types != 0;
	if (!spread->hashes)
		return;
	conf->rxmode.mq_mode = RTE_ETH_MQ_RX_RSS;
	conf->rx_adv_conf.rss_conf.rss_hf = types;
}

/* A rule: what is for numbers that end in the bits of `owner` goes to the queue. NULL: refused. */
static struct rte_flow *make_rule(
	uint16_t port_id, bool ipv6, uint32_t owner, uint32_t owners, uint16_t queue)
{
	const struct rte_flow_attr attr = {.ingress = 1};
	const struct rte_flow_item_udp udp = {.hdr.dst_port = RTE_BE16(UROCE_UDP_PORT)};
	const struct rte_flow_item_udp udp_mask = {.hdr.dst_port = RTE_BE16(0xffff)};
	const uint8_t qpn[QPN_BYTES] = {0, 0, (uint8_t)owner};
	const uint8_t qpn_mask[QPN_BYTES] = {0, 0, (uint8_t)(owners - 1)};
	const struct rte_flow_item_raw raw = {
		.relative = 1, .offset = UROCE_BTH_DQPN, .length = QPN_BYTES, .pattern = qpn};
	struct rte_flow_item_raw raw_mask = rte_flow_item_raw_mask;
	const struct rte_flow_item pattern[] = {{.type = RTE_FLOW_ITEM_TYPE_ETH},
		{.type = ipv6 ? RTE_FLOW_ITEM_TYPE_IPV6 : RTE_FLOW_ITEM_TYPE_IPV4},
		{.type = RTE_FLOW_ITEM_TYPE_UDP, .spec = &udp, .mask = &udp_mask},
		{.type = RTE_FLOW_ITEM_TYPE_RAW, .spec = &raw, .mask = &raw_mask},
		{.type = RTE_FLOW_ITEM_TYPE_END}};
	const struct rte_flow_action_queue to = {.index = queue};
	const struct rte_flow_action actions[] = {{.type = RTE_FLOW_ACTION_TYPE_QUEUE, .conf = &to},
		{.type = RTE_FLOW_ACTION_TYPE_END}};
	struct rte_flow_error error;

	raw_mask.pattern = qpn_mask;
	if (rte_flow_validate(port_id, &attr, pattern, actions, &error) != 0)
		return NULL;
	return rte_flow_create(port_id, &attr, pattern, actions, &error);
}

void uroce_spread_start(struct uroce_spread *spread, uint16_t port_id, uint16_t num_workers,
	uint16_t num_queues, bool ipv6)
{
	uint32_t owners = uroce_ring_round_up(num_workers);

	spread->port_id = port_id;
	if (num_queues < 2 || num_workers == 0)
		return;
	for (uint32_t i = 0; i < (ipv6 ? 2u : 1u) * num_workers; i++) {
		uint32_t owner = i % num_workers;
		struct rte_flow *rule = make_rule(
			port_id, i >= num_workers, owner, owners, (uint16_t)(owner % num_queues));

		if (!rule) {
			uroce_spread_stop(spread);
			return;
		}
		spread->rules[spread->num_rules++] = rule;
	}
}

void uroce_spread_stop(struct uroce_spread *spread)
{
	struct rte_flow_error error;

	while (spread->num_rules > 0)
		rte_flow_destroy(spread->port_id, spread->rules[--spread->num_rules], &error);
}

const char *uroce_spread_text(const struct uroce_spread *spread, uint16_t num_queues)
{
	if (num_queues < 2)
		return "one queue";
	if (spread->num_rules > 0)
		return "the queue of their queue pair's worker, by rules";
	if (spread->hashes)
		return "queues by a hash over addresses and UDP ports";
	return "queues as the port likes";
}
