/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Addresses: their text, which one a peer is written to from, and IPv6 from end to end.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cunit_run.h"
#include "device.h"
#include "gid_text.h"
#include "pair.h"

enum {
	TURNS = 2000
};

#define LONG_ADDR "2001:0db8:0000:0000:0000:0000:0000:0001:0000:0000:0000:0000:0000:0000:0000"

static struct pair pair;
static struct uroce_device dev;

static int list(const char *text)
{
	memset(&dev, 0, sizeof(dev));
	return uroce_addr_parse_list(&dev, text);
}

static void lists_of_addresses_are_read(void)
{
	static const char *const good[] = {"192.0.2.1", "192.0.2.1/0", "192.0.2.1/32",
		"2001:db8::1/64", "2001:db8::1/128", "fe80::1", "192.0.2.1/24,2001:db8::1/64",
		"192.0.2.1/24@192.0.2.254", "192.0.2.1/24@192.0.2.254,2001:db8::1/64@fe80::1",
		"192.0.2.1#1", "192.0.2.1/24#4094:7@192.0.2.254", "2001:db8::1/64#100:0",
		"fe80::", "fe80::/64#7", "192.0.2.1/24,192.0.2.1/24#100,192.0.2.1/24#200",
		"fe80::,fe80::#1", "10.0.0.1,10.0.0.2,10.0.0.3,10.0.0.4,::5,::6,::7,::8"};
	static const char *const bad[] = {"", ",", "192.0.2.1,", ",192.0.2.1", "192.0.2.1/33",
		"192.0.2.1/", "192.0.2.1/-1", "192.0.2.1/+8", "192.0.2.1/8x", "192.0.2.1/ 8",
		"192.0.2", "192.0.2.256", "host", "2001:db8::1/129", "2001:db8:::1",
		"2001:db8::1%eth0", "::", "0.0.0.0", "::ffff:192.0.2.1", "224.0.0.1", "ff02::1",
		"192.0.2.1,192.0.2.1/24", "192.0.2.1 ,2001:db8::1", "192.0.2.1/24@", "@192.0.2.254",
		"192.0.2.1/24@192.0.2.254/24", "192.0.2.1/24@192.0.2.1", "192.0.2.1/24@224.0.0.1",
		"192.0.2.1#", "192.0.2.1#0", "192.0.2.1#4095", "192.0.2.1#-1", "192.0.2.1#x",
		"192.0.2.1#1:", "192.0.2.1#1:8", "192.0.2.1#1:2:3", "192.0.2.1#1#2",
		"192.0.2.1#1/24", "192.0.2.1#65537", "192.0.2.1#1 ", "192.0.2.1#1,192.0.2.1/24#1:5",
		"fe80::,fe80::/64", "192.0.2.1@192.0.2.2#1", "192.0.2.1/24#1@192.0.2.2#1", "#1",
		"192.0.2.1/24@2001:db8::1", "192.0.2.1@192.0.2.2@192.0.2.3", "192.0.2.1/24@0.0.0.0",
		"10.0.0.1,10.0.0.2,10.0.0.3,10.0.0.4,::5,::6,::7,::8,::9", LONG_ADDR};

	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++)
		CU_ASSERT_EQUAL(list(good[i]), 0);
	CU_ASSERT_EQUAL(dev.num_addrs, 8);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		CU_ASSERT_EQUAL(list(bad[i]), -EINVAL);
	CU_ASSERT_EQUAL(list("192.0.2.1/24,2001:db8::a/64"), 0);
	CU_ASSERT_TRUE(uroce_gid_equal(dev.addrs[0].gid, uroce_gid_of_ipv4(0xc0000201)));
	CU_ASSERT_EQUAL(dev.addrs[0].prefix_bits, 96 + 24);
	CU_ASSERT_EQUAL(dev.addrs[1].gid.high, 0x20010db800000000);
	CU_ASSERT_EQUAL(dev.addrs[1].gid.low, 0xa);
	CU_ASSERT_EQUAL(dev.addrs[1].prefix_bits, 64);
}

/* The source of `to`, as text; "none". */
static const char *source(const char *to)
{
	static char text[UROCE_GID_TEXT_BYTES];
	struct device_addr addr;
	const struct device_addr *own;

	CU_ASSERT_EQUAL_FATAL(uroce_addr_parse(to, &addr), 0);
	own = uroce_addr_source(&dev, addr.gid, 0);
	if (!own)
		return "none";
	uroce_gid_text(own->gid, text);
	return text;
}

static const char *hop(const char *to)
{
	static char text[UROCE_GID_TEXT_BYTES];
	const struct device_addr *own;
	struct device_addr addr;

	CU_ASSERT_EQUAL_FATAL(uroce_addr_parse(to, &addr), 0);
	own = uroce_addr_source(&dev, addr.gid, 0);
	if (!own)
		return "none";
	uroce_gid_text(uroce_addr_next_hop(&dev, own, addr.gid), text);
	return text;
}

static void what_is_beyond_the_prefix_goes_to_the_gateway(void)
{
	CU_ASSERT_EQUAL(list("192.0.2.1/24@192.0.2.254,2001:db8:1::1/64@fe80::1,fe80::2/64"), 0);
	CU_ASSERT_STRING_EQUAL(hop("192.0.2.9"), "192.0.2.9");
	CU_ASSERT_STRING_EQUAL(hop("192.0.3.9"), "192.0.2.254");
	CU_ASSERT_STRING_EQUAL(hop("10.0.0.1"), "192.0.2.254");
	CU_ASSERT_STRING_EQUAL(hop("2001:db8:1::9"), "2001:db8:1::9");
	CU_ASSERT_STRING_EQUAL(hop("2001:db8:2::9"), "fe80::1");
	CU_ASSERT_STRING_EQUAL(hop("fe80::9"), "fe80::9");
	CU_ASSERT_EQUAL(list("192.0.2.1/24"), 0);
	CU_ASSERT_STRING_EQUAL(hop("10.0.0.1"), "10.0.0.1");
}

/* A handle to somebody beyond it has the gateway's MAC, and follows it. */
static void the_gateways_mac_is_on_the_frames(void)
{
	const struct uroce_device_conf conf = {.addr = "192.0.2.1/24@192.0.2.254"};
	const struct uroce_ah_conf far = {.dgid = {[10] = 0xff, 0xff, 10, 0, 0, 1}};
	const uint8_t mac[6] = {2}, macs[2][6] = {{2, 7}, {2, 8}};
	static struct memlink links[2];
	struct uroce_device *device;
	struct uroce_pd *pd;
	struct uroce_ah *ah;
	void *link = &links[0];

	memlink_init(&links[0], &links[1]);
	CU_ASSERT_EQUAL_FATAL(
		uroce_device_open_link(&conf, mac, 1024, &memlink_ops, &link, &device), 0);
	CU_ASSERT_EQUAL_FATAL(uroce_pd_create(device, &pd), 0);
	CU_ASSERT_EQUAL(uroce_ah_create(pd, &far, &ah), -EHOSTUNREACH);
	CU_ASSERT_EQUAL(uroce_device_neighbour_set(device, "192.0.2.254", macs[0]), 0);
	CU_ASSERT_EQUAL_FATAL(uroce_ah_create(pd, &far, &ah), 0);
	CU_ASSERT_TRUE(ah->paths[0]->path.resolved);
	CU_ASSERT_EQUAL(memcmp(ah->paths[0]->path.dmac, macs[0], 6), 0);
	CU_ASSERT_EQUAL(uroce_device_neighbour_set(device, "192.0.2.254", macs[1]), 0);
	CU_ASSERT_EQUAL(memcmp(ah->paths[0]->path.dmac, macs[1], 6), 0);
	CU_ASSERT_EQUAL(uroce_ah_destroy(ah), 0);
	CU_ASSERT_EQUAL(uroce_pd_destroy(pd), 0);
	CU_ASSERT_EQUAL(uroce_device_close(device), 0);
	memlink_fini(&links[0], &links[1]);
}

static void a_peer_is_written_to_from_the_nearest_address(void)
{
	CU_ASSERT_EQUAL(list("192.0.2.1/24,198.51.100.1/24,198.51.100.129/25,2001:db8:1::1/64,"
			     "2001:db8:2::1/64,fe80::1/64"),
		0);
	CU_ASSERT_STRING_EQUAL(source("192.0.2.9"), "192.0.2.1");
	CU_ASSERT_STRING_EQUAL(source("198.51.100.9"), "198.51.100.1");
	CU_ASSERT_STRING_EQUAL(source("198.51.100.200"), "198.51.100.129");
	CU_ASSERT_STRING_EQUAL(source("198.51.100.129"), "198.51.100.129");
	CU_ASSERT_STRING_EQUAL(source("10.0.0.1"), "192.0.2.1");
	CU_ASSERT_STRING_EQUAL(source("2001:db8:2::77"), "2001:db8:2::1");
	CU_ASSERT_STRING_EQUAL(source("2001:db8:1::77"), "2001:db8:1::1");
	CU_ASSERT_STRING_EQUAL(source("fe80::2"), "fe80::1");
	CU_ASSERT_EQUAL(list("192.0.2.1/24"), 0);
	CU_ASSERT_STRING_EQUAL(source("2001:db8::1"), "none");
	CU_ASSERT_EQUAL(list("2001:db8::1"), 0);
	CU_ASSERT_STRING_EQUAL(source("192.0.2.1"), "none");
}

static void a_device_tells_its_addresses(void)
{
	struct uroce_device_attr attr;
	struct uroce_gid gid;
	uint8_t bytes[16];

	pair_init(&pair, NULL);
	uroce_device_query(pair.side[0].dev, &attr);
	CU_ASSERT_EQUAL(attr.num_gids, 3);
	CU_ASSERT_EQUAL(uroce_device_gid(pair.side[0].dev, 0, bytes), 0);
	CU_ASSERT_EQUAL(memcmp(bytes, attr.gid, sizeof(bytes)), 0);
	CU_ASSERT_EQUAL(uroce_device_gid(pair.side[0].dev, 1, bytes), 0);
	gid = uroce_gid_load(bytes);
	CU_ASSERT_EQUAL(gid.high, 0x20010db800000000);
	CU_ASSERT_EQUAL(gid.low, 1);
	CU_ASSERT_EQUAL(uroce_device_gid(pair.side[0].dev, 3, bytes), -ENOENT);
	pair_fini(&pair);
}

/* ---- IPv6 from end to end ---- */

/* The queue pairs of the pair are made anew, and connected over IPv6. */
static void connect_over_ipv6(void)
{
	for (int i = 0; i < 2; i++) {
		struct pair_side *s = &pair.side[i];
		const struct uroce_qp_conf conf = {.send_cq = s->cq, .recv_cq = s->cq};

		CU_ASSERT_EQUAL_FATAL(uroce_qp_destroy(s->qp), 0);
		CU_ASSERT_EQUAL_FATAL(uroce_qp_create(s->pd, &conf, &s->qp), 0);
		uroce_qp_local(s->qp, &s->local);
		CU_ASSERT_EQUAL_FATAL(uroce_device_gid(s->dev, 1, s->local.gid), 0);
	}
	for (int i = 0; i < 2; i++)
		CU_ASSERT_EQUAL_FATAL(
			uroce_qp_connect(pair.side[i].qp, &pair.side[1 - i].local), 0);
}

static void connections_run_over_ipv6(void)
{
	struct uroce_qp_modify_attr attr;
	struct uroce_sge sge;
	struct uroce_send_wr wr = {.opcode = UROCE_WR_RDMA_WRITE, .sge = &sge, .num_sge = 1};
	struct uroce_wc wc;

	pair_init(&pair, NULL);
	connect_over_ipv6();
	for (size_t i = 0; i < 100000; i++)
		pair.side[0].mem[i] = (uint8_t)(i * 7 + i / 251);
	sge = pair_sge(&pair, 0, 0, 100000);
	wr.flags = UROCE_SEND_SIGNALED;
	wr.rdma.remote_addr = (uintptr_t)pair.side[1].mem;
	wr.rdma.rkey = pair.side[1].mr->rkey;
	CU_ASSERT_EQUAL(uroce_post_send(pair.side[0].qp, &wr, 1), 1);
	CU_ASSERT_TRUE(pair_wait(&pair, 0, &wc, TURNS));
	CU_ASSERT_EQUAL(wc.status, UROCE_STATUS_SUCCESS);
	CU_ASSERT_EQUAL(memcmp(pair.side[0].mem, pair.side[1].mem, 100000), 0);
	memset(pair.side[0].mem, 0, 100000);
	wr.opcode = UROCE_WR_RDMA_READ;
	CU_ASSERT_EQUAL(uroce_post_send(pair.side[0].qp, &wr, 1), 1);
	CU_ASSERT_TRUE(pair_wait(&pair, 0, &wc, TURNS));
	CU_ASSERT_EQUAL(wc.status, UROCE_STATUS_SUCCESS);
	CU_ASSERT_EQUAL(memcmp(pair.side[0].mem, pair.side[1].mem, 100000), 0);
	CU_ASSERT_EQUAL(uroce_qp_query(pair.side[0].qp, &attr), 0);
	CU_ASSERT_EQUAL(memcmp(attr.dgid, pair.side[1].local.gid, 16), 0);
	pair_fini(&pair);
}

static void flow_label_and_traffic_class_are_of_the_path(void)
{
	struct uroce_qp_modify_attr attr, now;

	pair_init(&pair, NULL);
	connect_over_ipv6();
	CU_ASSERT_EQUAL(uroce_qp_query(pair.side[0].qp, &attr), 0);
	attr.state = attr.cur_state = UROCE_QP_SQD;
	CU_ASSERT_EQUAL(uroce_qp_modify(pair.side[0].qp, &attr, UROCE_QP_ATTR_STATE), 0);
	attr.flow_label = 0xfedcb;
	attr.traffic_class = 0x28;
	attr.hop_limit = 9;
	CU_ASSERT_EQUAL(uroce_qp_modify(pair.side[0].qp, &attr, UROCE_QP_ATTR_AV), 0);
	CU_ASSERT_EQUAL(uroce_qp_query(pair.side[0].qp, &now), 0);
	CU_ASSERT_EQUAL(now.flow_label, 0xfedcb);
	CU_ASSERT_EQUAL(now.traffic_class, 0x28);
	CU_ASSERT_EQUAL(now.hop_limit, 9);
	pair_fini(&pair);
}

static void send_datagram(struct uroce_ah *ah, uint32_t qpn)
{
	struct uroce_sge sge = pair_sge(&pair, 0, 0, 100);
	const struct uroce_send_wr wr = {.opcode = UROCE_WR_SEND,
		.flags = UROCE_SEND_SIGNALED,
		.sge = &sge,
		.num_sge = 1,
		.ud = {.ah = ah, .remote_qpn = qpn, .remote_qkey = PAIR_QKEY}};
	struct uroce_wc wc;

	CU_ASSERT_EQUAL(uroce_post_send(pair.side[0].qp, &wr, 1), 1);
	CU_ASSERT_TRUE(pair_wait(&pair, 0, &wc, TURNS));
	CU_ASSERT_EQUAL(wc.status, UROCE_STATUS_SUCCESS);
}

static void post_recv(void)
{
	struct uroce_sge sge = pair_sge(&pair, 1, 0, 140);
	const struct uroce_recv_wr wr = {.wr_id = 3, .sge = &sge, .num_sge = 1};

	CU_ASSERT_EQUAL(uroce_post_recv(pair.side[1].qp, &wr, 1), 1);
}

static void a_datagrams_forty_bytes_are_its_ipv6_header(void)
{
	const struct uroce_qp_conf conf = {.type = UROCE_QP_UD};
	struct uroce_ah_conf to = {.flow_label = 0x12345, .traffic_class = 0x6a, .hop_limit = 5};
	const uint8_t *grh;
	struct uroce_ah *there, *back;
	struct uroce_wc wc = {0};
	uint8_t gid[16];

	pair_init(&pair, &conf);
	CU_ASSERT_EQUAL(uroce_device_gid(pair.side[1].dev, 1, to.dgid), 0);
	memcpy(to.mac, pair.side[1].local.mac, 6);
	CU_ASSERT_EQUAL_FATAL(uroce_ah_create(pair.side[0].pd, &to, &there), 0);
	post_recv();
	send_datagram(there, uroce_qp_number(pair.side[1].qp));
	CU_ASSERT_TRUE(pair_wait(&pair, 1, &wc, TURNS));
	CU_ASSERT_EQUAL(wc.byte_len, 140);
	CU_ASSERT_EQUAL(wc.flags, UROCE_WC_GRH | UROCE_WC_GRH_IPV6);
	grh = pair.side[1].mem;
	CU_ASSERT_EQUAL(uroce_load_be32(grh), 0x66a12345);
	/* UDP, BTH, DETH, payload, ICRC */
	CU_ASSERT_EQUAL(uroce_load_be16(grh + 4), 8 + 12 + 8 + 100 + 4);
	CU_ASSERT_EQUAL(grh[6], 17);
	CU_ASSERT_EQUAL(grh[7], 5);
	CU_ASSERT_EQUAL(uroce_device_gid(pair.side[0].dev, 1, gid), 0);
	CU_ASSERT_EQUAL(memcmp(grh + 8, gid, 16), 0);
	CU_ASSERT_EQUAL(memcmp(grh + 24, to.dgid, 16), 0);
	CU_ASSERT_EQUAL(
		uroce_device_neighbour_set(pair.side[1].dev, "2001:db8::1", pair.side[0].local.mac),
		0);
	CU_ASSERT_EQUAL_FATAL(uroce_ah_create_from_wc(pair.side[1].pd, &wc, grh, &back), 0);
	uroce_ah_query(back, &to);
	CU_ASSERT_EQUAL(memcmp(to.dgid, gid, 16), 0);
	CU_ASSERT_EQUAL(to.flow_label, 0x12345);
	CU_ASSERT_EQUAL(to.traffic_class, 0x6a);
	CU_ASSERT_EQUAL(uroce_ah_destroy(there), 0);
	CU_ASSERT_EQUAL(uroce_ah_destroy(back), 0);
	pair_fini(&pair);
}

static void groups_may_be_of_ipv6(void)
{
	const struct uroce_qp_conf conf = {.type = UROCE_QP_UD};
	const struct uroce_ah_conf group = {.dgid = {0xff, 0x0e, [13] = 7, [15] = 1}};
	struct uroce_ah *ah;
	struct uroce_wc wc;

	pair_init(&pair, &conf);
	CU_ASSERT_EQUAL_FATAL(uroce_ah_create(pair.side[0].pd, &group, &ah), 0);
	CU_ASSERT_EQUAL(uroce_qp_attach_group(pair.side[1].qp, group.dgid), 0);
	post_recv();
	send_datagram(ah, UROCE_QPN_MULTICAST);
	CU_ASSERT_TRUE(pair_wait(&pair, 1, &wc, TURNS));
	CU_ASSERT_EQUAL(wc.byte_len, 140);
	CU_ASSERT_EQUAL(uroce_qp_detach_group(pair.side[1].qp, group.dgid), 0);
	CU_ASSERT_EQUAL(uroce_ah_destroy(ah), 0);
	pair_fini(&pair);
}

static void without_an_address_of_that_kind_there_is_no_way(void)
{
	const struct uroce_device_conf conf = {.addr = "192.0.2.1"};
	struct uroce_ah_conf to = {.dgid = {0x20, 0x01, [15] = 1}, .mac = {2, 0, 0, 0, 0, 1}};
	struct uroce_peer peer = {.mac = {2, 0, 0, 0, 0, 1}, .qpn = 2, .mtu_bytes = 1024};
	struct uroce_qp_conf qp_conf = {0};
	struct memlink links[2];
	struct uroce_device *only4;
	struct uroce_ah *ah;
	struct uroce_cq *cq;
	struct uroce_qp *qp;
	struct uroce_pd *pd;

	memlink_init(&links[0], &links[1]);
	only4 = memlink_open(&links[0], 1, &conf);
	CU_ASSERT_EQUAL_FATAL(uroce_pd_create(only4, &pd), 0);
	CU_ASSERT_EQUAL_FATAL(uroce_cq_create(only4, 16, &cq), 0);
	qp_conf.send_cq = qp_conf.recv_cq = cq;
	CU_ASSERT_EQUAL_FATAL(uroce_qp_create(pd, &qp_conf, &qp), 0);
	CU_ASSERT_EQUAL(uroce_ah_create(pd, &to, &ah), -EADDRNOTAVAIL);
	memcpy(peer.gid, to.dgid, 16);
	CU_ASSERT_EQUAL(uroce_qp_connect(qp, &peer), -EADDRNOTAVAIL);
	CU_ASSERT_EQUAL(uroce_qp_destroy(qp), 0);
	CU_ASSERT_EQUAL(uroce_cq_destroy(cq), 0);
	CU_ASSERT_EQUAL(uroce_pd_destroy(pd), 0);
	CU_ASSERT_EQUAL(uroce_device_close(only4), 0);
	memlink_fini(&links[0], &links[1]);
}

int main(void)
{
	static const struct unit_case cases[] = {
		{"lists of addresses are read", lists_of_addresses_are_read},
		{"what is beyond the prefix goes to the gateway",
			what_is_beyond_the_prefix_goes_to_the_gateway},
		{"the gateway's MAC is on the frames", the_gateways_mac_is_on_the_frames},
		{"a peer is written to from the nearest address",
			a_peer_is_written_to_from_the_nearest_address},
		{"a device tells its addresses", a_device_tells_its_addresses},
		{"connections run over IPv6", connections_run_over_ipv6},
		{"flow label and traffic class are of the path",
			flow_label_and_traffic_class_are_of_the_path},
		{"a datagram's forty bytes are its IPv6 header",
			a_datagrams_forty_bytes_are_its_ipv6_header},
		{"groups may be of IPv6", groups_may_be_of_ipv6},
		{"without an address of that kind there is no way",
			without_an_address_of_that_kind_there_is_no_way},
	};

	return run_suite("addr", cases, sizeof(cases) / sizeof(cases[0]));
}
