/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which address a frame is sent from, and by which VLAN: the GID table, the choice, what is on the
 * wire. Two devices over a link in memory, at 02::01 and 02::02.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cunit_run.h"
#include "gid_text.h"
#include "memlink.h"

enum {
	TURNS = 2000,
	MEM_BYTES = 8192,
	QKEY = 7,
};

struct side {
	struct uroce_device *dev;
	struct uroce_pd *pd;
	struct uroce_cq *cq;
	struct uroce_mr *mr;
	struct uroce_qp *qp;
	uint8_t *mem;
};

static struct memlink links[2];
static struct side sides[2];

static void open_side(int i, enum uroce_qp_type type, const char *addr)
{
	struct side *s = &sides[i];
	const struct uroce_device_conf conf = {.addr = addr};
	struct uroce_qp_conf qp_conf = {.type = type};

	s->dev = memlink_open(&links[i], (unsigned int)i + 1, &conf);
	s->mem = uroce_allocate(MEM_BYTES);
	CU_ASSERT_EQUAL_FATAL(uroce_pd_create(s->dev, &s->pd), 0);
	CU_ASSERT_EQUAL_FATAL(uroce_mr_register(s->pd, s->mem, MEM_BYTES,
				      UROCE_ACCESS_LOCAL_WRITE | UROCE_ACCESS_REMOTE_WRITE, &s->mr),
		0);
	CU_ASSERT_EQUAL_FATAL(uroce_cq_create(s->dev, 64, &s->cq), 0);
	qp_conf.send_cq = qp_conf.recv_cq = s->cq;
	CU_ASSERT_EQUAL_FATAL(uroce_qp_create(s->pd, &qp_conf, &s->qp), 0);
	if (type == UROCE_QP_UD)
		CU_ASSERT_EQUAL_FATAL(uroce_qp_open_datagrams(s->qp, QKEY), 0);
}

static void open_both(enum uroce_qp_type type, const char *addr_0, const char *addr_1)
{
	memlink_init(&links[0], &links[1]);
	open_side(0, type, addr_0);
	open_side(1, type, addr_1);
}

static void close_both(void)
{
	for (int i = 0; i < 2; i++) {
		struct side *s = &sides[i];

		CU_ASSERT_EQUAL(uroce_qp_destroy(s->qp), 0);
		CU_ASSERT_EQUAL(uroce_cq_destroy(s->cq), 0);
		CU_ASSERT_EQUAL(uroce_mr_deregister(s->mr), 0);
		CU_ASSERT_EQUAL(uroce_pd_destroy(s->pd), 0);
		CU_ASSERT_EQUAL(uroce_device_close(s->dev), 0);
		free(s->mem);
	}
	memlink_fini(&links[0], &links[1]);
}

static struct uroce_worker *worker(int i)
{
	return uroce_device_worker(sides[i].dev, 0);
}

/* ---- the table ---- */

/* "192.0.2.1/24#100:3": an entry of it. */
static const char *entry_text(int side, unsigned int i)
{
	static char text[64];
	char addr[UROCE_GID_TEXT_BYTES];
	struct uroce_gid_entry entry;
	uint8_t gid[16];

	if (uroce_device_gid_query(sides[side].dev, i, &entry) != 0) {
		CU_ASSERT_EQUAL(uroce_device_gid(sides[side].dev, i, gid), -ENOENT);
		return "none";
	}
	CU_ASSERT_EQUAL(entry.type, UROCE_GID_TYPE_ROCE_V2);
	CU_ASSERT_EQUAL(uroce_device_gid(sides[side].dev, i, gid), 0);
	CU_ASSERT_EQUAL(memcmp(gid, entry.gid, sizeof(gid)), 0);
	uroce_gid_text(uroce_gid_load(entry.gid), addr);
	snprintf(text, sizeof(text), "%s/%u#%u:%u", addr, entry.prefix_bits, entry.vlan,
		entry.priority);
	return text;
}

static void the_table_is_what_was_written_then_link_local(void)
{
	struct uroce_device_attr attr;

	open_both(UROCE_QP_RC,
		"192.0.2.1/24,2001:db8::1/64#100:3,2001:db8:1::1/48,2001:db8::1/"
		"64,2001:db8:9::1#100",
		"192.0.2.2/24#7,fe80::5/64#8,2001:db8::2/64#8,fe80::#9:1");
	CU_ASSERT_STRING_EQUAL(entry_text(0, 0), "192.0.2.1/24#0:0");
	CU_ASSERT_STRING_EQUAL(entry_text(0, 1), "2001:db8::1/64#100:3");
	CU_ASSERT_STRING_EQUAL(entry_text(0, 2), "2001:db8:1::1/48#0:0");
	CU_ASSERT_STRING_EQUAL(entry_text(0, 3), "2001:db8::1/64#0:0");
	CU_ASSERT_STRING_EQUAL(entry_text(0, 4), "2001:db8:9::1/128#100:0");
	/* One for each VLAN that has IPv6, made of 02:00:00:00:00:01. */
	CU_ASSERT_STRING_EQUAL(entry_text(0, 5), "fe80::ff:fe00:1/64#100:3");
	CU_ASSERT_STRING_EQUAL(entry_text(0, 6), "fe80::ff:fe00:1/64#0:0");
	CU_ASSERT_STRING_EQUAL(entry_text(0, 7), "none");
	uroce_device_query(sides[0].dev, &attr);
	CU_ASSERT_EQUAL(attr.num_gids, 7);
	/* Where one was written there is no other; fe80:: asks for it, at its place. */
	CU_ASSERT_STRING_EQUAL(entry_text(1, 0), "192.0.2.2/24#7:0");
	CU_ASSERT_STRING_EQUAL(entry_text(1, 1), "fe80::5/64#8:0");
	CU_ASSERT_STRING_EQUAL(entry_text(1, 3), "fe80::ff:fe00:2/64#9:1");
	CU_ASSERT_STRING_EQUAL(entry_text(1, 4), "none");
	close_both();
	open_both(UROCE_QP_RC, "192.0.2.1/24", "1::,2::#1,3::#2,4::#3,5::#4,6::#5,7::#6,8::#7");
	CU_ASSERT_STRING_EQUAL(entry_text(0, 1), "none");
	CU_ASSERT_STRING_EQUAL(entry_text(1, 15), "fe80::ff:fe00:2/64#7:0");
	CU_ASSERT_STRING_EQUAL(entry_text(1, 16), "none");
	close_both();
}

/* ---- the choice ---- */

/* From which entry side 0 writes to an address. */
static unsigned int chosen(const char *to)
{
	struct device_addr addr;
	const struct device_addr *own;

	CU_ASSERT_EQUAL_FATAL(uroce_addr_parse(to, &addr), 0);
	own = uroce_addr_source(sides[0].dev, addr.gid, 0);
	return own ? (unsigned int)(own - sides[0].dev->addrs) : UINT32_MAX;
}

static void a_peer_is_written_to_from_an_address_of_its_reach(void)
{
	/* 4: link-local, without a VLAN */
	open_both(UROCE_QP_RC, "2001:db8::1/64,fd00:1::1/64,192.0.2.1/24#5,192.0.2.1/24",
		"192.0.2.2");
	CU_ASSERT_EQUAL(chosen("2001:db8::2"), 0);
	CU_ASSERT_EQUAL(chosen("fd00:1::2"), 1);
	CU_ASSERT_EQUAL(chosen("fe80::2"), 4);
	/* Alike in more bits, and yet not of this reach. */
	CU_ASSERT_EQUAL(chosen("fd00:2::2"), 1);
	CU_ASSERT_EQUAL(chosen("fec0::2"), 1);
	CU_ASSERT_EQUAL(chosen("ff02::2"), 4);
	CU_ASSERT_EQUAL(chosen("ff01::2"), 4);
	CU_ASSERT_EQUAL(chosen("ff05::2"), 1);
	CU_ASSERT_EQUAL(chosen("ff0e::2"), 1);
	CU_ASSERT_EQUAL(chosen("192.0.2.2"), 2);
	close_both();
	open_both(UROCE_QP_RC, "fe80::,192.0.2.1", "192.0.2.2");
	CU_ASSERT_EQUAL(chosen("2001:db8::2"), 0);
	close_both();
}

/* Side 1's record, with an entry of its table. */
static struct uroce_peer record_of(int side, unsigned int entry)
{
	struct uroce_peer peer;

	uroce_qp_local(sides[side].qp, &peer);
	CU_ASSERT_EQUAL_FATAL(uroce_device_gid(sides[side].dev, entry, peer.gid), 0);
	return peer;
}

/* Both, each from an entry of its table (-1: the best fitting) to one of the other's. */
static void connect_both(int source_0, unsigned int entry_0, int source_1, unsigned int entry_1)
{
	struct uroce_peer to_1 = record_of(1, entry_1), to_0 = record_of(0, entry_0);

	to_1.source = UROCE_SOURCE(source_0);
	to_0.source = UROCE_SOURCE(source_1);
	CU_ASSERT_EQUAL_FATAL(uroce_qp_connect(sides[0].qp, &to_1), 0);
	CU_ASSERT_EQUAL_FATAL(uroce_qp_connect(sides[1].qp, &to_0), 0);
}

static void post_write(int from, uint32_t bytes)
{
	struct side *s = &sides[from], *to = &sides[1 - from];
	struct uroce_sge sge = {s->mem, bytes, s->mr->lkey};
	const struct uroce_send_wr wr = {.opcode = UROCE_WR_RDMA_WRITE,
		.flags = UROCE_SEND_SIGNALED,
		.sge = &sge,
		.num_sge = 1,
		.rdma = {.remote_addr = (uintptr_t)to->mem, .rkey = to->mr->rkey}};

	for (uint32_t i = 0; i < bytes; i++)
		s->mem[i] = (uint8_t)(i * 7 + 1);
	CU_ASSERT_EQUAL(uroce_post_send(s->qp, &wr, 1), 1);
}

static bool completes(int side, struct uroce_wc *wc)
{
	int n = 0;

	for (int i = 0; n == 0 && i < TURNS; i++) {
		uroce_worker_poll(worker(0));
		uroce_worker_poll(worker(1));
		n = uroce_cq_poll(sides[side].cq, wc, 1);
	}
	return n == 1 && wc->status == UROCE_STATUS_SUCCESS;
}

/* The first frame of a write, which ends as it should. */
static void write_with(const char *eth_behind_macs, size_t n)
{
	const uint8_t *frame;
	struct uroce_wc wc;
	uint32_t bytes;

	post_write(0, 6000);
	uroce_worker_poll(worker(0));
	frame = memlink_next(&links[1], &bytes);
	CU_ASSERT_PTR_NOT_NULL_FATAL(frame);
	CU_ASSERT_EQUAL(memcmp(frame + 12, eth_behind_macs, n), 0);
	CU_ASSERT_TRUE(completes(0, &wc));
	CU_ASSERT_EQUAL(memcmp(sides[0].mem, sides[1].mem, 6000), 0);
	memset(sides[1].mem, 0, MEM_BYTES);
}

static void a_connection_runs_in_its_vlan(void)
{
	struct uroce_qp_modify_attr attr;

	open_both(UROCE_QP_RC, "192.0.2.1/24#100:3,2001:db8::1/64#200", "192.0.2.2/24#100");
	connect_both(-1, 0, -1, 0);
	write_with("\x81\x00\x60\x64\x08\x00\x45", 7);
	CU_ASSERT_EQUAL(uroce_qp_query(sides[0].qp, &attr), 0);
	CU_ASSERT_EQUAL(attr.source, UROCE_SOURCE(0));
	CU_ASSERT_EQUAL(attr.sl, 3);
	/* The work request's own priority, while the connection lives. */
	attr.state = attr.cur_state = UROCE_QP_SQD;
	CU_ASSERT_EQUAL(uroce_qp_modify(sides[0].qp, &attr, UROCE_QP_ATTR_STATE), 0);
	attr.sl = 8;
	CU_ASSERT_EQUAL(uroce_qp_modify(sides[0].qp, &attr, UROCE_QP_ATTR_AV), -EINVAL);
	attr.sl = 7;
	attr.traffic_class = 0x68;
	CU_ASSERT_EQUAL(uroce_qp_modify(sides[0].qp, &attr, UROCE_QP_ATTR_AV), 0);
	attr.state = UROCE_QP_RTS;
	CU_ASSERT_EQUAL(uroce_qp_modify(sides[0].qp, &attr, UROCE_QP_ATTR_STATE), 0);
	write_with("\x81\x00\xe0\x64\x08\x00\x45\x68", 8);
	CU_ASSERT_EQUAL(uroce_qp_query(sides[0].qp, &attr), 0);
	CU_ASSERT_EQUAL(attr.sl, 7);
	close_both();
}

/* Without a VLAN there is no tag to say a priority in. */
static void a_connection_without_a_vlan_has_no_tag(void)
{
	struct uroce_peer to_1, to_0;

	open_both(UROCE_QP_RC, "192.0.2.1/24,2001:db8::1/64#200:5", "192.0.2.2/24");
	to_1 = record_of(1, 0);
	to_0 = record_of(0, 0);
	to_1.sl = 5;
	to_1.traffic_class = 0xb8;
	to_1.flow_label = 0x4321;
	CU_ASSERT_EQUAL_FATAL(uroce_qp_connect(sides[0].qp, &to_1), 0);
	CU_ASSERT_EQUAL_FATAL(uroce_qp_connect(sides[1].qp, &to_0), 0);
	write_with("\x08\x00\x45\xb8", 4);
	close_both();
}

/* DSCP and ECN, hop limit, flow label: of a connection, by both IP versions; the ACKs' too. */
static void what_the_path_says_is_on_the_frames(void)
{
	for (int v6 = 0; v6 < 2; v6++) {
		const uint8_t *frame;
		struct uroce_qp_modify_attr attr;
		struct uroce_wc wc;
		uint32_t bytes;

		open_both(UROCE_QP_RC, v6 ? "2001:db8::1/64" : "192.0.2.1/24",
			v6 ? "2001:db8::2/64" : "192.0.2.2/24");
		connect_both(-1, 0, -1, 0);
		for (int side = 0; side < 2; side++) {
			struct uroce_qp *qp = sides[side].qp;

			CU_ASSERT_EQUAL(uroce_qp_query(qp, &attr), 0);
			attr.state = attr.cur_state = UROCE_QP_SQD;
			CU_ASSERT_EQUAL(uroce_qp_modify(qp, &attr, UROCE_QP_ATTR_STATE), 0);
			attr.traffic_class = side ? 0x03 : 0x6a;
			attr.hop_limit = side ? 1 : 200;
			attr.flow_label = side ? 0 : 0xabcde;
			CU_ASSERT_EQUAL(uroce_qp_modify(qp, &attr, UROCE_QP_ATTR_AV), 0);
			attr.state = UROCE_QP_RTS;
			CU_ASSERT_EQUAL(uroce_qp_modify(qp, &attr, UROCE_QP_ATTR_STATE), 0);
		}
		post_write(0, 64);
		for (int side = 0; side < 2; side++) {
			uint16_t port;

			uroce_worker_poll(worker(side));
			frame = memlink_next(&links[1 - side], &bytes);
			CU_ASSERT_PTR_NOT_NULL_FATAL(frame);
			port = uroce_load_be16(frame + (v6 ? 54 : 34));
			CU_ASSERT_TRUE(side ? port >= 0xc000 : port == 0xfcf4);
			CU_ASSERT_EQUAL(frame[v6 ? 14 + 7 : 14 + 8], side ? 1 : 200);
			if (v6) {
				CU_ASSERT_EQUAL(uroce_load_be32(frame + 14),
					side ? 0x60300000 : 0x66aabcde);
			} else {
				CU_ASSERT_EQUAL(frame[14 + 1], side ? 0x03 : 0x6a);
				CU_ASSERT_EQUAL(
					uroce_ip_fold(uroce_ip_sum(frame + 14, 20, 0)), 0xffff);
			}
			CU_ASSERT_EQUAL(uroce_load_be16(frame + (v6 ? 60 : 40)), 0);
		}
		CU_ASSERT_TRUE(completes(0, &wc));
		close_both();
	}
}

static uint64_t drops(int side, enum uroce_drop drop)
{
	struct uroce_counters counters;

	uroce_device_counters(sides[side].dev, &counters);
	return counters.drops[drop];
}

static void frames_of_another_vlan_are_not_taken(void)
{
	struct uroce_wc wc;

	open_both(UROCE_QP_RC, "192.0.2.1/24#100", "192.0.2.2/24#101");
	connect_both(-1, 0, -1, 0);
	post_write(0, 64);
	uroce_worker_poll(worker(0));
	uroce_worker_poll(worker(1));
	CU_ASSERT_EQUAL(drops(1, UROCE_DROP_VLAN_OTHER), 1);
	CU_ASSERT_EQUAL(uroce_cq_poll(sides[0].cq, &wc, 1), 0);
	CU_ASSERT_EQUAL(sides[1].mem[1], 0);
	close_both();
}

static void a_connection_is_from_the_address_that_was_named(void)
{
	const uint8_t *frame;
	uint32_t bytes;
	struct uroce_qp_modify_attr attr;

	open_both(UROCE_QP_RC, "192.0.2.1/24,198.51.100.1/24,192.0.2.11/24,2001:db8::1/64",
		"192.0.2.2/24");
	connect_both(2, 2, -1, 0);
	CU_ASSERT_EQUAL(uroce_qp_query(sides[0].qp, &attr), 0);
	CU_ASSERT_EQUAL(attr.source, UROCE_SOURCE(2));
	post_write(0, 64);
	uroce_worker_poll(worker(0));
	frame = memlink_next(&links[1], &bytes);
	CU_ASSERT_PTR_NOT_NULL_FATAL(frame);
	CU_ASSERT_EQUAL(uroce_load_be32(frame + 14 + 12), 0xc000020b);
	write_with("\x08\x00\x45", 3);
	close_both();
	/* From where the peer does not expect it; and the answer to where it is not from. */
	open_both(UROCE_QP_RC, "192.0.2.1/24,192.0.2.11/24", "192.0.2.2/24");
	connect_both(1, 0, -1, 0);
	post_write(0, 64);
	uroce_worker_poll(worker(0));
	uroce_worker_poll(worker(1));
	CU_ASSERT_EQUAL(drops(1, UROCE_DROP_SGID_NOT_PEER), 1);
	close_both();
	open_both(UROCE_QP_RC, "192.0.2.1/24,192.0.2.11/24", "192.0.2.2/24");
	connect_both(-1, 1, -1, 0);
	post_write(1, 64);
	uroce_worker_poll(worker(1));
	uroce_worker_poll(worker(0));
	CU_ASSERT_EQUAL(drops(0, UROCE_DROP_DGID_NOT_QP), 1);
	close_both();
}

static void a_source_must_be_one(void)
{
	const uint8_t mac[6] = {2, 0, 0, 0, 0, 2};
	struct uroce_ah_conf conf = {.source = UROCE_SOURCE(3)};
	struct uroce_peer peer;
	struct uroce_ah *ah;

	/* 2 is link-local. */
	open_both(UROCE_QP_RC, "192.0.2.1/24,2001:db8::1/64", "192.0.2.2/24");
	peer = record_of(1, 0);
	memcpy(conf.dgid, peer.gid, sizeof(conf.dgid));
	memcpy(conf.mac, mac, sizeof(conf.mac));
	CU_ASSERT_EQUAL(uroce_ah_create(sides[0].pd, &conf, &ah), -EADDRNOTAVAIL);
	/* Of the other IP version. */
	conf.source = UROCE_SOURCE(1);
	CU_ASSERT_EQUAL(uroce_ah_create(sides[0].pd, &conf, &ah), -EADDRNOTAVAIL);
	conf.source = 0;
	conf.sl = 8;
	CU_ASSERT_EQUAL(uroce_ah_create(sides[0].pd, &conf, &ah), -EINVAL);
	peer.source = UROCE_SOURCE(2);
	CU_ASSERT_EQUAL(uroce_qp_connect(sides[0].qp, &peer), -EADDRNOTAVAIL);
	peer.source = UROCE_SOURCE(0);
	peer.sl = 8;
	CU_ASSERT_EQUAL(uroce_qp_connect(sides[0].qp, &peer), -EINVAL);
	peer.sl = 0;
	CU_ASSERT_EQUAL(uroce_qp_connect(sides[0].qp, &peer), 0);
	close_both();
}

/* ---- datagrams ---- */

static void post_recv(int side)
{
	struct uroce_sge sge = {sides[side].mem, 140, sides[side].mr->lkey};
	const struct uroce_recv_wr wr = {.sge = &sge, .num_sge = 1};

	CU_ASSERT_EQUAL(uroce_post_recv(sides[side].qp, &wr, 1), 1);
}

/* From a side to an entry of the other's table; what came of it there. */
static struct uroce_wc datagram(int from, struct uroce_ah *ah)
{
	struct side *s = &sides[from];
	struct uroce_sge sge = {s->mem + 4096, 100, s->mr->lkey};
	const struct uroce_send_wr wr = {.opcode = UROCE_WR_SEND,
		.sge = &sge,
		.num_sge = 1,
		.ud = {.ah = ah,
			.remote_qpn = uroce_qp_number(sides[1 - from].qp),
			.remote_qkey = QKEY}};
	struct uroce_wc wc = {0};

	post_recv(1 - from);
	CU_ASSERT_EQUAL(uroce_post_send(s->qp, &wr, 1), 1);
	CU_ASSERT_TRUE(completes(1 - from, &wc));
	return wc;
}

static struct uroce_ah *handle_to(int side, unsigned int entry, uint16_t source, uint8_t sl)
{
	const struct uroce_peer peer = record_of(side, entry);
	struct uroce_ah_conf conf = {.source = source, .sl = sl};
	struct uroce_ah *ah = NULL;

	memcpy(conf.dgid, peer.gid, sizeof(conf.dgid));
	memcpy(conf.mac, peer.mac, sizeof(conf.mac));
	CU_ASSERT_EQUAL_FATAL(uroce_ah_create(sides[1 - side].pd, &conf, &ah), 0);
	return ah;
}

/* The 40 bytes: IPv4's source, in the second half. */
static uint32_t source_of(int side)
{
	return uroce_load_be32(sides[side].mem + 20 + 12);
}

static void an_answer_is_from_the_address_that_was_written_to(void)
{
	struct uroce_ah *there, *back;
	struct uroce_ah_conf conf;
	struct uroce_wc wc;

	open_both(UROCE_QP_UD, "192.0.2.1/24", "192.0.2.2/24,192.0.2.3/24,198.51.100.2/24");
	for (unsigned int entry = 0; entry < 3; entry++) {
		const uint32_t addrs[] = {0xc0000202, 0xc0000203, 0xc6336402};

		there = handle_to(1, entry, 0, 0);
		wc = datagram(0, there);
		CU_ASSERT_EQUAL(
			uroce_device_neighbour_set(sides[1].dev, "192.0.2.1", sides[0].dev->mac),
			0);
		CU_ASSERT_EQUAL_FATAL(
			uroce_ah_create_from_wc(sides[1].pd, &wc, sides[1].mem, &back), 0);
		uroce_ah_query(back, &conf);
		CU_ASSERT_EQUAL(conf.source, UROCE_SOURCE(entry));
		wc = datagram(1, back);
		CU_ASSERT_EQUAL(source_of(0), addrs[entry]);
		CU_ASSERT_EQUAL(uroce_ah_destroy(there), 0);
		CU_ASSERT_EQUAL(uroce_ah_destroy(back), 0);
	}
	close_both();
}

/* The same address in two VLANs, here and there. */
static void link_local_peers_are_of_a_vlan(void)
{
	struct uroce_ah *there, *back;
	struct uroce_ah_conf conf;
	struct uroce_wc wc;

	open_both(UROCE_QP_UD, "fe80::,fe80::#100:1,fe80::#200:2", "fe80::#200,fe80::#100,fe80::");
	for (unsigned int entry = 0; entry < 3; entry++) {
		there = handle_to(1, 0, UROCE_SOURCE(entry), entry == 1 ? 6 : 0);
		wc = datagram(0, there);
		CU_ASSERT_EQUAL(wc.vlan, entry * 100);
		CU_ASSERT_EQUAL(wc.sl, entry == 1 ? 6 : entry);
		memcpy(conf.mac, sides[0].dev->mac, 6);
		CU_ASSERT_EQUAL(
			uroce_device_neighbour_set(sides[1].dev,
				(const char *const[]){"fe80::ff:fe00:1", "fe80::ff:fe00:1#100",
					"fe80::ff:fe00:1#200"}[entry],
				sides[0].dev->mac),
			0);
		if (entry == 0)
			/* Without a VLAN it is taken for that of the first address that fits. */
			CU_ASSERT_EQUAL(
				uroce_ah_create_from_wc(sides[1].pd, &wc, sides[1].mem, &back),
				-EHOSTUNREACH);
		CU_ASSERT_EQUAL(uroce_ah_destroy(there), 0);
		if (entry == 0)
			continue;
		CU_ASSERT_EQUAL_FATAL(
			uroce_ah_create_from_wc(sides[1].pd, &wc, sides[1].mem, &back), 0);
		uroce_ah_query(back, &conf);
		CU_ASSERT_EQUAL(conf.source, UROCE_SOURCE(2 - entry));
		CU_ASSERT_EQUAL(conf.sl, wc.sl);
		wc = datagram(1, back);
		CU_ASSERT_EQUAL(wc.vlan, entry * 100);
		CU_ASSERT_EQUAL(uroce_ah_destroy(back), 0);
	}
	close_both();
}

/* To one peer by two VLANs, and with two priorities: each keeps its own. */
static void ways_to_one_peer_are_kept_apart(void)
{
	/* entry, priority: what comes of them */
	static const struct {
		unsigned int entry;
		uint8_t sl;
		uint16_t tci;
	} ways[] = {{0, 0, 0}, {1, 0, 0x2064}, {1, 5, 0xa064}, {2, 0, 0x40c8}};
	struct uroce_ah *ahs[4];

	open_both(UROCE_QP_UD, "fe80::,fe80::#100:1,fe80::#200:2", "fe80::#200,fe80::#100,fe80::");
	for (int i = 0; i < 4; i++)
		ahs[i] = handle_to(1, 0, UROCE_SOURCE(ways[i].entry), ways[i].sl);
	for (int i = 0; i < 4; i++) {
		struct uroce_wc wc = datagram(0, ahs[i]);

		CU_ASSERT_EQUAL(wc.vlan, ways[i].tci & 0xfff);
		CU_ASSERT_EQUAL(wc.sl, ways[i].tci >> 13);
	}
	for (int i = 0; i < 4; i++)
		CU_ASSERT_EQUAL(uroce_ah_destroy(ahs[i]), 0);
	close_both();
}

/* Who wrote to a group is answered from the address that fits it, in the VLAN that it wrote by. */
static void who_wrote_to_a_group_is_answered_in_its_vlan(void)
{
	const struct uroce_ah_conf group = {
		.dgid = {0xff, 0x02, [15] = 5}, .source = UROCE_SOURCE(1)};
	struct uroce_ah *there, *back;
	struct uroce_ah_conf conf;
	struct uroce_wc wc;
	struct uroce_sge sge;
	struct uroce_send_wr wr = {.opcode = UROCE_WR_SEND, .sge = &sge, .num_sge = 1};

	open_both(UROCE_QP_UD, "fe80::,fe80::#100", "fe80::,2001:db8::2/64#100");
	CU_ASSERT_EQUAL_FATAL(uroce_ah_create(sides[0].pd, &group, &there), 0);
	CU_ASSERT_EQUAL(uroce_qp_attach_group(sides[1].qp, group.dgid), 0);
	sge = (struct uroce_sge){sides[0].mem, 100, sides[0].mr->lkey};
	wr.ud.ah = there;
	wr.ud.remote_qpn = UROCE_QPN_MULTICAST;
	wr.ud.remote_qkey = QKEY;
	post_recv(1);
	CU_ASSERT_EQUAL(uroce_post_send(sides[0].qp, &wr, 1), 1);
	CU_ASSERT_TRUE(completes(1, &wc));
	CU_ASSERT_EQUAL(wc.vlan, 100);
	CU_ASSERT_EQUAL(
		uroce_device_neighbour_set(sides[1].dev, "fe80::ff:fe00:1#100", sides[0].dev->mac),
		0);
	CU_ASSERT_EQUAL_FATAL(uroce_ah_create_from_wc(sides[1].pd, &wc, sides[1].mem, &back), 0);
	uroce_ah_query(back, &conf);
	/* 2: fe80::ff:fe00:2#100, which was made. */
	CU_ASSERT_EQUAL(conf.source, UROCE_SOURCE(2));
	CU_ASSERT_EQUAL(uroce_qp_detach_group(sides[1].qp, group.dgid), 0);
	CU_ASSERT_EQUAL(uroce_ah_destroy(there), 0);
	CU_ASSERT_EQUAL(uroce_ah_destroy(back), 0);
	close_both();
}

/* ---- neighbours ---- */

/* The question for a peer that is written to from an entry (-1: the best fitting), into out. */
static uint32_t question(const char *peer, int source, uint8_t out[UROCE_NEIGH_FRAME_BYTES])
{
	struct uroce_slot slot = {.data = out, .capacity_bytes = UROCE_NEIGH_FRAME_BYTES};
	struct uroce_neigh *neigh = &sides[0].dev->neigh;
	struct uroce_route route = {.source = UROCE_SOURCE(source)};
	struct path_entry *path;
	struct device_addr addr;
	uint64_t now_ns = 1;

	CU_ASSERT_EQUAL_FATAL(uroce_addr_parse(peer, &addr), 0);
	route.gid = addr.gid;
	/* Past the own addresses' announcements. */
	for (int i = 0; i < 6; i++, now_ns += 1000000000)
		while (uroce_neigh_tx(neigh, now_ns, &slot) > 0)
			;
	path = uroce_path_take(worker(0), &route);
	CU_ASSERT_PTR_NOT_NULL_FATAL(path);
	uroce_neigh_tx(neigh, now_ns, &slot);
	uroce_path_release(path);
	return slot.bytes;
}

static void a_neighbour_is_asked_from_the_address_whose_prefix_it_is_in(void)
{
	static const struct {
		const char *peer;
		int source;
		uint32_t vlan, asker, asked;
	} rows[] = {{"192.0.2.9", -1, 0, 0xc0000201, 0xc0000209},
		{"198.51.100.9", -1, 0, 0xc6336401, 0xc6336409},
		/* Named, and yet not who it knows. */
		{"198.51.100.9", 0, 0, 0xc6336401, 0xc6336409},
		/* Nobody's prefix. */
		{"10.1.1.1", 1, 0, 0xc6336401, 0x0a010101},
		{"203.0.113.9", -1, 100, 0xcb007101, 0xcb007109},
		/* By the gateway of the source. */
		{"203.0.114.9", 3, 100, 0xcb007101, 0xcb0071fe},
		/* Not beyond the gateway: another address of the VLAN is in its prefix. */
		{"203.0.115.9", 3, 100, 0xcb007301, 0xcb007309}};
	uint8_t out[UROCE_NEIGH_FRAME_BYTES];

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		uint32_t at = rows[i].vlan ? 4 : 0;

		open_both(UROCE_QP_RC,
			"192.0.2.1/24,198.51.100.1/24,203.0.115.1/24#100,"
			"203.0.113.1/24#100@203.0.113.254",
			"192.0.2.2");
		CU_ASSERT_EQUAL(question(rows[i].peer, rows[i].source, out), 60);
		CU_ASSERT_EQUAL(uroce_load_be16(out + 12 + at), UROCE_ETHERTYPE_ARP);
		CU_ASSERT_TRUE(at == 0 || uroce_load_be16(out + 14) == rows[i].vlan);
		CU_ASSERT_EQUAL(uroce_load_be32(out + 28 + at), rows[i].asker);
		CU_ASSERT_EQUAL(uroce_load_be32(out + 38 + at), rows[i].asked);
		close_both();
	}
}

static void a_static_neighbour_is_of_a_vlan(void)
{
	const uint8_t mac[6] = {2, 9}, other[6] = {2, 8};
	struct uroce_hop hop = {uroce_gid_of_ipv4(0xc0000209), 100};
	uint8_t found[6];

	open_both(UROCE_QP_RC, "192.0.2.1/24#100,192.0.2.1/24", "192.0.2.2");
	/* Of the first address that fits, if it does not say. */
	CU_ASSERT_EQUAL(uroce_device_neighbour_set(sides[0].dev, "192.0.2.9", mac), 0);
	CU_ASSERT_EQUAL(uroce_neigh_find(&sides[0].dev->neigh, hop, found), 1);
	CU_ASSERT_EQUAL(memcmp(found, mac, 6), 0);
	CU_ASSERT_EQUAL(uroce_device_neighbour_set(sides[0].dev, "192.0.2.9#101", other), 0);
	CU_ASSERT_EQUAL(uroce_neigh_find(&sides[0].dev->neigh, hop, found), 1);
	CU_ASSERT_EQUAL(memcmp(found, mac, 6), 0);
	hop.vlan = 101;
	CU_ASSERT_EQUAL(uroce_neigh_find(&sides[0].dev->neigh, hop, found), 1);
	CU_ASSERT_EQUAL(memcmp(found, other, 6), 0);
	CU_ASSERT_EQUAL(uroce_device_neighbour_set(sides[0].dev, "192.0.2.9#0", mac), -EINVAL);
	close_both();
}

int main(void)
{
	static const struct unit_case cases[] = {
		{"the GID table is what was written, then link-local addresses",
			the_table_is_what_was_written_then_link_local},
		{"a peer is written to from an address of its reach",
			a_peer_is_written_to_from_an_address_of_its_reach},
		{"a connection runs in its VLAN, with its priority", a_connection_runs_in_its_vlan},
		{"a connection without a VLAN has no tag", a_connection_without_a_vlan_has_no_tag},
		{"what the path says is on the frames", what_the_path_says_is_on_the_frames},
		{"frames of another VLAN are not taken", frames_of_another_vlan_are_not_taken},
		{"a connection is from the address that was named",
			a_connection_is_from_the_address_that_was_named},
		{"a source must be one", a_source_must_be_one},
		{"an answer is from the address that was written to",
			an_answer_is_from_the_address_that_was_written_to},
		{"link-local peers are of a VLAN", link_local_peers_are_of_a_vlan},
		{"ways to one peer are kept apart", ways_to_one_peer_are_kept_apart},
		{"who wrote to a group is answered in its VLAN",
			who_wrote_to_a_group_is_answered_in_its_vlan},
		{"a neighbour is asked from the address whose prefix it is in",
			a_neighbour_is_asked_from_the_address_whose_prefix_it_is_in},
		{"a static neighbour is of a VLAN", a_static_neighbour_is_of_a_vlan},
	};

	return run_suite("source", cases, sizeof(cases) / sizeof(cases[0]));
}
