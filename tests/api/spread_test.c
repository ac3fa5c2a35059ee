/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Spreading on ports that can: what is asked of DPDK, and what is fallen back to.
 *
 * No port here has a hash or rules, so the test's linker puts ports' answers in DPDK's way.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_eth_ring.h>
#include <rte_ethdev.h>
#include <rte_flow.h>
#include <rte_log.h>
#include <rte_ring.h>

#include "cunit_run.h"
#include "device.h"

enum {
	QUEUES = 3,
	RULES_MAX = 64
};

/* ---- a port that can ---- */

static struct {
	uint64_t rss_offloads;
	int rules_taken; /* so many; what is asked for beyond is refused */
	bool creates;	 /* what it has said it would */
} port;

static struct rte_eth_conf asked;

static struct rule {
	bool ipv6;
	uint16_t port_be, port_mask_be;
	uint8_t qpn[3], qpn_mask[3];
	uint32_t offset;
	uint16_t queue;
	bool alive;
} rules[RULES_MAX];

static int num_rules, num_alive;

int __real_rte_eth_dev_info_get(uint16_t port_id, struct rte_eth_dev_info *info);
int __wrap_rte_eth_dev_info_get(uint16_t port_id, struct rte_eth_dev_info *info);
int __real_rte_eth_dev_configure(
	uint16_t port_id, uint16_t rx, uint16_t tx, const struct rte_eth_conf *conf);
int __wrap_rte_eth_dev_configure(
	uint16_t port_id, uint16_t rx, uint16_t tx, const struct rte_eth_conf *conf);
int __wrap_rte_flow_validate(uint16_t port_id, const struct rte_flow_attr *attr,
	const struct rte_flow_item pattern[], const struct rte_flow_action actions[],
	struct rte_flow_error *error);
struct rte_flow *__wrap_rte_flow_create(uint16_t port_id, const struct rte_flow_attr *attr,
	const struct rte_flow_item pattern[], const struct rte_flow_action actions[],
	struct rte_flow_error *error);
int __wrap_rte_flow_destroy(uint16_t port_id, struct rte_flow *flow, struct rte_flow_error *error);

int __wrap_rte_eth_dev_info_get(uint16_t port_id, struct rte_eth_dev_info *info)
{
	int err = __real_rte_eth_dev_info_get(port_id, info);

	info->flow_type_rss_offloads = port.rss_offloads;
	return err;
}

int __wrap_rte_eth_dev_configure(
	uint16_t port_id, uint16_t rx, uint16_t tx, const struct rte_eth_conf *conf)
{
	struct rte_eth_conf without = *conf;

	asked = *conf;
	without.rxmode.mq_mode = RTE_ETH_MQ_RX_NONE;
	without.rx_adv_conf.rss_conf.rss_hf = 0;
	return __real_rte_eth_dev_configure(port_id, rx, tx, &without);
}

int __wrap_rte_flow_validate(uint16_t port_id, const struct rte_flow_attr *attr,
	const struct rte_flow_item pattern[], const struct rte_flow_action actions[],
	struct rte_flow_error *error)
{
	(void)port_id;
	(void)pattern;
	(void)actions;
	(void)error;
	CU_ASSERT_TRUE(attr->ingress && !attr->egress && !attr->transfer);
	return num_rules < port.rules_taken ? 0 : -ENOTSUP;
}

struct rte_flow *__wrap_rte_flow_create(uint16_t port_id, const struct rte_flow_attr *attr,
	const struct rte_flow_item pattern[], const struct rte_flow_action actions[],
	struct rte_flow_error *error)
{
	struct rule *rule = &rules[num_rules];
	const struct rte_flow_item_udp *udp = pattern[2].spec, *udp_mask = pattern[2].mask;
	const struct rte_flow_item_raw *raw = pattern[3].spec, *raw_mask = pattern[3].mask;

	(void)port_id;
	(void)attr;
	(void)error;
	if (!port.creates)
		return NULL;
	CU_ASSERT_EQUAL_FATAL(pattern[0].type, RTE_FLOW_ITEM_TYPE_ETH);
	CU_ASSERT_EQUAL_FATAL(pattern[2].type, RTE_FLOW_ITEM_TYPE_UDP);
	CU_ASSERT_EQUAL_FATAL(pattern[3].type, RTE_FLOW_ITEM_TYPE_RAW);
	CU_ASSERT_EQUAL_FATAL(pattern[4].type, RTE_FLOW_ITEM_TYPE_END);
	CU_ASSERT_EQUAL_FATAL(actions[0].type, RTE_FLOW_ACTION_TYPE_QUEUE);
	CU_ASSERT_EQUAL_FATAL(actions[1].type, RTE_FLOW_ACTION_TYPE_END);
	CU_ASSERT_TRUE(raw->relative && !raw->search && raw->length == 3);
	*rule = (struct rule){.ipv6 = pattern[1].type == RTE_FLOW_ITEM_TYPE_IPV6,
		.port_be = udp->hdr.dst_port,
		.port_mask_be = udp_mask->hdr.dst_port,
		.offset = (uint32_t)raw->offset,
		.queue = ((const struct rte_flow_action_queue *)actions[0].conf)->index,
		.alive = true};
	memcpy(rule->qpn, raw->pattern, 3);
	memcpy(rule->qpn_mask, raw_mask->pattern, 3);
	num_rules++;
	num_alive++;
	return (struct rte_flow *)(void *)rule;
}

int __wrap_rte_flow_destroy(uint16_t port_id, struct rte_flow *flow, struct rte_flow_error *error)
{
	struct rule *rule = (struct rule *)(void *)flow;

	(void)port_id;
	(void)error;
	CU_ASSERT_TRUE(rule->alive);
	rule->alive = false;
	num_alive--;
	return 0;
}

/* ---- */

static char *words;

/* Opens a device and returns it; what the log said of it is in words, which is to be freed. */
static struct uroce_device *open_device(const char *addr, uint16_t workers)
{
	struct uroce_device_conf conf = {
		.addr = addr, .num_workers = workers, .max_qps = 64, .num_mbufs = 1023};
	struct uroce_device *dev;
	size_t bytes;
	FILE *log = open_memstream(&words, &bytes);

	num_rules = num_alive = 0;
	CU_ASSERT_PTR_NOT_NULL_FATAL(log);
	rte_openlog_stream(log);
	CU_ASSERT_EQUAL_FATAL(uroce_device_open(&conf, &dev), 0);
	rte_openlog_stream(NULL);
	fclose(log);
	return dev;
}

static void close_device(struct uroce_device *dev, const char *said)
{
	if (!strstr(words, said))
		printf("\nthe log has no \"%s\": %s\n", said, words);
	CU_ASSERT_PTR_NOT_NULL(strstr(words, said));
	free(words);
	CU_ASSERT_EQUAL(uroce_device_close(dev), 0);
	CU_ASSERT_EQUAL(num_alive, 0);
}

static void a_port_that_can_do_nothing_is_asked_for_nothing(void)
{
	struct uroce_device *dev;

	memset(&port, 0, sizeof(port));
	dev = open_device("192.0.2.1", QUEUES);
	CU_ASSERT_EQUAL(asked.rxmode.mq_mode, RTE_ETH_MQ_RX_NONE);
	close_device(dev,
		"3 workers, 3 queues to receive and 3 to send; frames come to queues as the port "
		"likes");
}

static void a_hash_is_asked_for_as_far_as_there_is_one(void)
{
	struct uroce_device *dev;

	memset(&port, 0, sizeof(port));
	port.rss_offloads = RTE_ETH_RSS_IPV4 | RTE_ETH_RSS_NONFRAG_IPV4_UDP | RTE_ETH_RSS_GTPU;
	dev = open_device("192.0.2.1", QUEUES);
	CU_ASSERT_EQUAL(asked.rxmode.mq_mode, RTE_ETH_MQ_RX_RSS);
	CU_ASSERT_EQUAL(
		asked.rx_adv_conf.rss_conf.rss_hf, RTE_ETH_RSS_IPV4 | RTE_ETH_RSS_NONFRAG_IPV4_UDP);
	close_device(dev, "frames come to queues by a hash over addresses and UDP ports");
	port.rss_offloads = RTE_ETH_RSS_GTPU;
	dev = open_device("192.0.2.1", QUEUES);
	CU_ASSERT_EQUAL(asked.rxmode.mq_mode, RTE_ETH_MQ_RX_NONE);
	close_device(dev, "as the port likes");
}

static void one_queue_needs_neither(void)
{
	struct uroce_device *dev;

	port.rss_offloads = RTE_ETH_RSS_IPV4;
	port.rules_taken = RULES_MAX;
	port.creates = true;
	dev = open_device("192.0.2.1", 1);
	CU_ASSERT_EQUAL(asked.rxmode.mq_mode, RTE_ETH_MQ_RX_NONE);
	CU_ASSERT_EQUAL(num_rules, 0);
	close_device(dev, "path MTU");
}

/* The rule that a frame for this number would follow; there is one, or none. */
static const struct rule *rule_for(uint32_t qpn, bool ipv6)
{
	const uint8_t bytes[3] = {(uint8_t)(qpn >> 16), (uint8_t)(qpn >> 8), (uint8_t)qpn};
	const struct rule *found = NULL;

	for (int i = 0; i < num_rules; i++) {
		bool fits = rules[i].alive && rules[i].ipv6 == ipv6;

		for (int b = 0; b < 3; b++)
			fits &= (bytes[b] & rules[i].qpn_mask[b]) == rules[i].qpn[b];
		if (fits) {
			CU_ASSERT_PTR_NULL(found);
			found = &rules[i];
		}
	}
	return found;
}

static void check_rules(struct uroce_device *dev, uint16_t workers, bool ipv6)
{
	struct uroce_pd *pd;
	struct uroce_cq *cq;
	struct uroce_qp *qp;

	CU_ASSERT_EQUAL_FATAL(uroce_pd_create(dev, &pd), 0);
	CU_ASSERT_EQUAL_FATAL(uroce_cq_create(dev, 16, &cq), 0);
	for (unsigned int i = 0; i < 20u * workers; i++) {
		struct uroce_qp_conf conf = {
			.send_cq = cq, .recv_cq = cq, .worker = UROCE_WORKER(i % workers)};
		const struct rule *rule;

		CU_ASSERT_EQUAL_FATAL(uroce_qp_create(pd, &conf, &qp), 0);
		rule = rule_for(uroce_qp_number(qp), ipv6);
		CU_ASSERT_PTR_NOT_NULL_FATAL(rule);
		CU_ASSERT_EQUAL(rule->queue, i % workers % QUEUES);
		CU_ASSERT_EQUAL(rule->port_be, RTE_BE16(4791));
		CU_ASSERT_EQUAL(rule->port_mask_be, RTE_BE16(0xffff));
		/* Bytes 5 to 7 of the BTH, behind the UDP header. */
		CU_ASSERT_EQUAL(rule->offset, 5);
		CU_ASSERT_EQUAL(uroce_qp_destroy(qp), 0);
	}
	CU_ASSERT_EQUAL(uroce_cq_destroy(cq), 0);
	CU_ASSERT_EQUAL(uroce_pd_destroy(pd), 0);
}

static void rules_bring_frames_to_the_worker_of_their_number(void)
{
	memset(&port, 0, sizeof(port));
	port.rules_taken = RULES_MAX;
	port.creates = true;
	/* Five of three queues: the fourth and fifth have their frames handed over. */
	for (uint16_t workers = 2; workers <= 5; workers++) {
		struct uroce_device *dev = open_device("192.0.2.1,2001:db8::1", workers);

		CU_ASSERT_EQUAL(num_rules, 2 * workers);
		if (workers <= QUEUES) {
			check_rules(dev, workers, false);
			check_rules(dev, workers, true);
		}
		close_device(dev, "by rules");
	}
	close_device(open_device("192.0.2.1", 3), "by rules");
	CU_ASSERT_EQUAL(num_rules, 3);
}

/* Some rules would be worse than none: a hash spreads better. */
static void all_rules_or_none(void)
{
	port.rss_offloads = RTE_ETH_RSS_NONFRAG_IPV4_UDP;
	port.creates = true;
	for (port.rules_taken = 0; port.rules_taken < 6; port.rules_taken++) {
		struct uroce_device *dev = open_device("192.0.2.1,2001:db8::1", 3);

		CU_ASSERT_EQUAL(num_rules, port.rules_taken);
		CU_ASSERT_EQUAL(num_alive, 0);
		close_device(dev, "by a hash");
	}
	port.rules_taken = RULES_MAX;
	port.creates = false;
	close_device(open_device("192.0.2.1", 3), "by a hash");
}

static bool make_port(void)
{
	struct rte_ring *rings[QUEUES];
	char name[16];

	for (int i = 0; i < QUEUES; i++) {
		snprintf(name, sizeof(name), "loop%d", i);
		rings[i] =
			rte_ring_create(name, 1024, SOCKET_ID_ANY, RING_F_SP_ENQ | RING_F_SC_DEQ);
		if (!rings[i])
			return false;
	}
	return rte_eth_from_rings("loop", rings, QUEUES, rings, QUEUES, SOCKET_ID_ANY) == 0;
}

int main(void)
{
	static const struct unit_case cases[] = {
		{"a port that can do nothing is asked for nothing",
			a_port_that_can_do_nothing_is_asked_for_nothing},
		{"a hash is asked for as far as there is one",
			a_hash_is_asked_for_as_far_as_there_is_one},
		{"one queue needs neither", one_queue_needs_neither},
		{"rules bring frames to the worker of their number",
			rules_bring_frames_to_the_worker_of_their_number},
		{"all rules are there, or none", all_rules_or_none},
	};

	if (uroce_eal_init_embedded(0) != 0 || !make_port())
		return 1;
	rte_log_set_level_pattern("lib.uroce", RTE_LOG_INFO);
	return run_suite("spread", cases, sizeof(cases) / sizeof(cases[0]));
}
