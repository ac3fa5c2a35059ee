/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The driven endpoint. Anything that the input may choose is bounded here, so that an input of a
 * few kilobytes takes milliseconds.
 */
#include "rig.h"

#include <string.h>

#include "icrc.h"
#include "opcode.h"
#include "wire.h"

enum {
	PAYLOAD_MAX = 4160, /* a little more than the largest path MTU */
	EXT_MAX = 64,
	TX_MAX = 64,
	PEER_QPN = 0x12
};

void (*rig_completed)(struct rig *rig, const struct uroce_cqe *cqe);

struct endpoint_conf rig_take_conf(struct rig *rig)
{
	static const enum uroce_qp_type types[] = {
		UROCE_QP_RC, UROCE_QP_RC, UROCE_QP_UC, UROCE_QP_UD};
	struct endpoint_conf conf = endpoint_defaults(1, 2);
	struct input *in = &rig->in;
	uint32_t how = take(in, 1);

	conf.caps.type = types[how & 3];
	conf.srq_wr = how & 4 ? 5 : 0;
	conf.signal_all = !(how & 8);
	conf.mtu_bytes = 256u << (how >> 4) % 5;
	how = take(in, 2);
	conf.ipv6 = how & 0x8000;
	rig->is_member = (how & 0x4000) && conf.caps.type == UROCE_QP_UD;
	conf.tci = how & 0x2000 ? 0x6064 : 0;
	conf.access = how &
		(UROCE_ACCESS_REMOTE_WRITE | UROCE_ACCESS_REMOTE_READ | UROCE_ACCESS_REMOTE_ATOMIC |
			UROCE_ACCESS_FLUSH_GLOBAL);
	conf.caps.window_pkts = 1 + take(in, 1) % 128;
	how = take(in, 1);
	conf.attr.max_rd_atomic = how & 0xf;
	conf.attr.max_dest_rd_atomic = how >> 4;
	how = take(in, 1);
	conf.sq_psn = (0xfffff8 + (how & 0xf)) & UROCE_PSN_MASK;
	conf.rq_psn = (0xfffff8 + (how >> 4)) & UROCE_PSN_MASK;
	how = take(in, 1);
	conf.attr.retry_cnt = how & 7;
	conf.attr.rnr_retry = how >> 3 & 7;
	conf.attr.timeout = how & 0x80 ? 0 : 14;
	conf.caps.max_send_wr = conf.caps.max_recv_wr = 13;
	conf.caps.max_send_sge = conf.caps.max_recv_sge = 3;
	conf.caps.max_inline_bytes = 100;
	conf.qkey = 0x1234;
	conf.mem_bytes = RIG_MEM_BYTES;
	conf.cqes = 256;
	return conf;
}

/* ff02::1:5, or 224.0.1.5 */
static struct uroce_gid group_addr(const struct endpoint_conf *conf)
{
	return conf->ipv6 ? (struct uroce_gid){0xff02ull << 48, 0x10005}
			  : uroce_gid_of_ipv4(0xe0000105);
}

static void join(struct rig *rig)
{
	struct endpoint *ep = &rig->ep;
	struct uroce_cmd set = {.kind = UROCE_CMD_GROUP_SET, .group.addr = group_addr(&ep->conf)};
	struct uroce_cmd cmd = {.kind = UROCE_CMD_JOIN, .member = &rig->member};

	rig->member = (struct uroce_group_member){.qp = ep->qp, .addr = set.group.addr};
	FUZZ_MUST(uroce_core_ctrl(&ep->core, &set, 0) == 0);
	FUZZ_MUST(uroce_core_ctrl(&ep->core, &cmd, 0) == 0);
}

void rig_init(struct rig *rig, const struct endpoint_conf *conf)
{
	struct endpoint *ep = &rig->ep;

	endpoint_init(ep, conf);
	rig->keys[RIG_KEY_ALL] = ep->key;
	rig->keys[RIG_KEY_READ_ONLY] =
		endpoint_register(ep, 0, conf->mem_bytes / 2, UROCE_ACCESS_REMOTE_READ);
	rig->keys[RIG_KEY_WINDOW_1] = endpoint_slot(ep, UROCE_MR_WINDOW_1);
	rig->keys[RIG_KEY_WINDOW_2] = endpoint_slot(ep, UROCE_MR_WINDOW_2);
	rig->keys[RIG_KEY_FAST] = endpoint_slot(ep, UROCE_MR_FAST);
	if (rig->is_member)
		join(rig);
}

void rig_fini(struct rig *rig)
{
	rig_turn(rig);
	FUZZ_MUST(endpoint_counts_add_up(&rig->ep));
	endpoint_fini(&rig->ep);
}

void rig_modify(struct rig *rig)
{
	const struct endpoint_conf *conf = &rig->ep.conf;
	struct uroce_qp_attr attr = conf->attr;
	struct input *in = &rig->in;
	uint32_t mask;

	attr.state = take(in, 1) % 7;
	mask = take(in, 3);
	attr.access = conf->access;
	attr.path = &rig->ep.path;
	attr.path_mtu_bytes = conf->mtu_bytes;
	attr.dest_qpn = PEER_QPN;
	attr.rq_psn = conf->rq_psn;
	attr.sq_psn = conf->sq_psn;
	attr.qkey = conf->qkey;
	attr.cur_state = rig->ep.qp->state;
	endpoint_modify(&rig->ep, &attr, mask);
}

/* ---- frames ---- */

/* tag: four bytes for behind the MACs, if there is anything behind them; NULL: none. */
static void give(struct rig *rig, const uint8_t *data, uint32_t bytes, const char *tag,
	uint16_t flags, uint16_t tci)
{
	uint32_t macs = bytes < UROCE_ETH_TYPE ? bytes : UROCE_ETH_TYPE;
	uint32_t tag_bytes = tag && bytes > macs ? UROCE_VLAN_BYTES : 0;
	uint8_t *copy = malloc(bytes + tag_bytes ? bytes + tag_bytes : 1);
	struct uroce_pkt pkt;

	FUZZ_MUST(copy);
	memcpy(copy, data, macs);
	if (tag_bytes)
		memcpy(copy + macs, tag, tag_bytes);
	memcpy(copy + macs + tag_bytes, data + macs, bytes - macs);
	memset(&pkt, 0, sizeof(pkt));
	pkt.data = copy;
	pkt.bytes = bytes + tag_bytes;
	pkt.flags = flags;
	pkt.tci = tci;
	uroce_core_rx(&rig->ep.core, rig->now_ns, &pkt, 1);
	free(copy);
}

void rig_give(struct rig *rig, const uint8_t *data, uint32_t bytes)
{
	give(rig, data, bytes, NULL, 0, 0);
}

/* To an endpoint in a VLAN: with its tag, in the frame or beside it, or as the input says. */
static void give_tagged(struct rig *rig, const uint8_t *data, uint32_t bytes)
{
	static const char *const tags[] = {"\x81\x00\x60\x64", "\x81\x00\xf0\x64",
		"\x81\x00\x60\x65", "\x81\x00\x60\x00", "\x88\xa8\x60\x64"};
	uint32_t how = rig->ep.conf.tci ? take(&rig->in, 1) : 0x80;

	if (rig->faultless && rig->ep.conf.tci)
		how %= 2;
	if (how & 0x80)
		rig_give(rig, data, bytes);
	else if (how & 1)
		give(rig, data, bytes, NULL,
			UROCE_PKT_TAG_STRIPPED | (how & 0x40 ? UROCE_PKT_TAGS_STRIPPED : 0),
			how & 0x20 ? 101 : rig->ep.conf.tci);
	else
		give(rig, data, bytes, tags[how >> 1 & 0x10 ? (how >> 1) % 5 : 0], 0, 0);
}

void rig_give_raw(struct rig *rig)
{
	uint8_t data[256];
	uint32_t bytes = take(&rig->in, 1);

	take_bytes(&rig->in, data, bytes);
	rig_give(rig, data, bytes);
}

static void put_ipv4(
	uint8_t *ip, const struct endpoint_conf *conf, struct uroce_gid dst, uint32_t udp_bytes)
{
	ip[0] = 0x45;
	ip[UROCE_IPV4_PROTOCOL] = UROCE_IP_PROTOCOL_UDP;
	uroce_store_be16(ip + UROCE_IPV4_TOTAL_LEN, (uint16_t)(UROCE_IPV4_BYTES + udp_bytes));
	uroce_store_be32(ip + UROCE_IPV4_SRC, conf->peer_ip);
	uroce_store_be32(ip + UROCE_IPV4_DST, uroce_gid_ipv4(dst));
	uroce_store_be16(ip + UROCE_IPV4_CHECKSUM,
		(uint16_t)~uroce_ip_fold(uroce_ip_sum(ip, UROCE_IPV4_BYTES, 0)));
}

static void put_ipv6(
	uint8_t *ip, const struct endpoint_conf *conf, struct uroce_gid dst, uint32_t udp_bytes)
{
	ip[0] = 0x60;
	ip[UROCE_IPV6_NEXT_HEADER] = UROCE_IP_PROTOCOL_UDP;
	uroce_store_be16(ip + UROCE_IPV6_PAYLOAD_LEN, (uint16_t)udp_bytes);
	uroce_gid_store(ip + UROCE_IPV6_SRC, endpoint_gid(conf, conf->peer_ip));
	uroce_gid_store(ip + UROCE_IPV6_DST, dst);
}

static uint32_t ip_header_bytes(const struct endpoint_conf *conf)
{
	return conf->ipv6 ? UROCE_IPV6_BYTES : UROCE_IPV4_BYTES;
}

/* Ethernet, IP and UDP around bytes of BTH and what follows; all but the ICRC. */
static void put_outer(const struct rig *rig, uint8_t *f, uint32_t bytes, bool to_group)
{
	const struct endpoint *ep = &rig->ep;
	const struct endpoint_conf *conf = &ep->conf;
	struct uroce_gid dst = to_group ? group_addr(conf) : endpoint_gid(conf, conf->ip);
	uint32_t udp_bytes = UROCE_UDP_BYTES + bytes + UROCE_ICRC_BYTES;
	uint8_t *ip = f + UROCE_ETH_BYTES, *udp = ip + ip_header_bytes(conf);

	memcpy(f, ep->path.smac, 6);
	if (to_group)
		uroce_gid_multicast_mac(dst, f);
	memcpy(f + 6, ep->path.dmac, 6);
	uroce_store_be16(
		f + UROCE_ETH_TYPE, conf->ipv6 ? UROCE_ETHERTYPE_IPV6 : UROCE_ETHERTYPE_IPV4);
	(conf->ipv6 ? put_ipv6 : put_ipv4)(ip, conf, dst, udp_bytes);
	uroce_store_be16(udp + UROCE_UDP_DPORT, UROCE_UDP_PORT);
	uroce_store_be16(udp + UROCE_UDP_LEN, (uint16_t)udp_bytes);
}

void rig_give_built(struct rig *rig, const struct rig_packet *packet)
{
	uint8_t f[UROCE_OVERHEAD_BYTES_MAX + EXT_MAX + PAYLOAD_MAX + 8] = {0};
	const struct uroce_opcode *op = &uroce_opcodes[packet->opcode];
	uint32_t header = op->name ? op->header_bytes : UROCE_BTH_BYTES;
	uint32_t ip_bytes = ip_header_bytes(&rig->ep.conf);
	uint8_t *ip = f + UROCE_ETH_BYTES;
	uint8_t *bth = ip + ip_bytes + UROCE_UDP_BYTES;
	uint32_t bytes = header + packet->payload_bytes;
	uint32_t frame = (uint32_t)(bth - f) + bytes + UROCE_ICRC_BYTES;
	bool damaged = (packet->flags & 4) && !rig->faultless;
	uint32_t damage = damaged ? take(&rig->in, 2) : 0;
	uint8_t damage_by = damaged ? (uint8_t)take(&rig->in, 1) : 0;

	bth[UROCE_BTH_OPCODE] = packet->opcode;
	bth[UROCE_BTH_FLAGS] = packet->flags & 0xf0;
	uroce_store_be16(bth + UROCE_BTH_PKEY, UROCE_PKEY_DEFAULT);
	uroce_store_be24(
		bth + UROCE_BTH_DQPN, packet->to_group ? UROCE_QPN_MULTICAST : rig->ep.qp->qpn);
	bth[UROCE_BTH_ACKREQ] = (uint8_t)(packet->flags << 7);
	uroce_store_be24(bth + UROCE_BTH_PSN, packet->psn);
	memcpy(bth + UROCE_BTH_BYTES, packet->ext, header - UROCE_BTH_BYTES);
	memset(bth + header, packet->flags | 1, packet->payload_bytes);
	put_outer(rig, f, bytes, packet->to_group);
	/* Damage before the ICRC is what a faulty peer sends; behind it, what a faulty wire does.
	 */
	if (!(damage & 0x8000))
		f[damage % frame] ^= damage_by;
	uroce_store_le32(bth + bytes, uroce_icrc(ip, ip_bytes, bytes - UROCE_BTH_BYTES));
	if (damage & 0x8000)
		f[(damage & 0x7fff) % frame] ^= damage_by;
	give_tagged(rig, f, frame);
}

/* An address near the registered memory, under a key that may exist. */
static void put_address(struct rig *rig, uint8_t *p)
{
	uint32_t how = take(&rig->in, 1);
	uint32_t offset = take(&rig->in, 2) % (RIG_MEM_BYTES + 128);

	uroce_store_be64(p, (how & 8 ? 0 : (uintptr_t)rig->ep.mem) + offset - 64);
	uroce_store_be32(p + 8, how % 8 < RIG_KEYS ? rig->keys[how % 8] : take(&rig->in, 4));
}

/* Of the opcode byte: one of the queue pair's service, unless its top bit is set. */
static uint8_t take_opcode(struct rig *rig)
{
	uint8_t opcode = (uint8_t)take(&rig->in, 1);

	if (opcode & 0x80)
		return (uint8_t)take(&rig->in, 1);
	if (rig->ep.conf.caps.type == UROCE_QP_UC)
		return (uint8_t)(0x20 | (opcode & 0x1f));
	if (rig->ep.conf.caps.type == UROCE_QP_UD)
		return (uint8_t)(0x64 | (opcode & 1));
	return opcode & 0x1f;
}

void rig_give_packet(struct rig *rig)
{
	const struct uroce_qp *qp = rig->ep.qp;
	uint8_t ext[EXT_MAX] = {0};
	struct rig_packet packet = {.opcode = take_opcode(rig), .ext = ext};
	const struct uroce_opcode *op = &uroce_opcodes[packet.opcode];
	uint8_t *at = ext;
	uint32_t how, mtu = rig->ep.conf.mtu_bytes;

	packet.psn = uroce_psn_add(op->response ? qp->req.psn_una : qp->resp.epsn,
		(uint32_t)(int8_t)take(&rig->in, 1));
	packet.flags = (uint8_t)take(&rig->in, 1);
	/* Datagrams care for no PSN: its lowest bit says whom they are for. */
	packet.to_group = rig->is_member && (packet.psn & 1);
	how = take(&rig->in, 1);
	packet.payload_bytes = how < 0x80 ? how
		: how < 0xc0		  ? mtu
					  : take(&rig->in, 2) % PAYLOAD_MAX;
	if (op->deth) {
		uroce_store_be32(at, packet.flags & 8 ? take(&rig->in, 4) : rig->ep.conf.qkey);
		uroce_store_be32(at + 4, PEER_QPN);
		at += UROCE_DETH_BYTES;
	}
	if (op->feth) {
		uroce_store_be32(at, packet.flags & 8 ? take(&rig->in, 4) : take(&rig->in, 1));
		at += UROCE_FETH_BYTES;
	}
	if (op->reth || op->atomiceth) {
		put_address(rig, at);
		uroce_store_be32(at + UROCE_RETH_DMALEN,
			packet.flags & 2	   ? packet.payload_bytes
				: packet.flags & 8 ? take(&rig->in, 4)
						   : take(&rig->in, 2) % (2 * RIG_MEM_BYTES));
		at += op->reth ? UROCE_RETH_BYTES : UROCE_ATOMICETH_BYTES;
	}
	if (op->ieth) {
		how = take(&rig->in, 1);
		uroce_store_be32(at, how < RIG_KEYS ? rig->keys[how] : take(&rig->in, 4));
	}
	if (op->aeth) {
		take_bytes(&rig->in, at, UROCE_AETH_BYTES);
		at += UROCE_AETH_BYTES;
	}
	if (op->atomicacketh)
		memset(at, packet.flags | 1, UROCE_ATOMICACKETH_BYTES);
	rig_give_built(rig, &packet);
}

/* ---- posts ---- */

static void take_segments(struct rig *rig, struct endpoint_wr *wr)
{
	wr->num_segs = take(&rig->in, 1) % 4;
	for (uint32_t i = 0; i < wr->num_segs; i++) {
		wr->segs[i].offset = take(&rig->in, 2) % RIG_MEM_BYTES;
		wr->segs[i].bytes = take(&rig->in, 2) % 2048;
		/* One in a while reaches over the end: the engine has to notice. */
		if (wr->segs[i].bytes < 2000 &&
			wr->segs[i].offset + wr->segs[i].bytes > RIG_MEM_BYTES)
			wr->segs[i].offset = 0;
	}
	if (wr->flags & UROCE_SEND_INLINE) {
		wr->segs[0].bytes %= 101;
		wr->segs[0].offset %= RIG_MEM_BYTES - 100;
	}
}

/* A change of keys: the window or region, its next key, and what it is to cover. */
static void take_change(struct rig *rig, struct endpoint_wr *wr)
{
	uint32_t which = take(&rig->in, 1) % RIG_KEYS;
	uint32_t offset = take(&rig->in, 2);

	wr->num_segs = 0;
	wr->flags &= ~(uint32_t)UROCE_SEND_INLINE;
	wr->imm = rig->keys[which];
	if (wr->opcode == UROCE_WR_LOCAL_INV)
		return;
	wr->change.new_key = which == RIG_KEY_ALL ? take(&rig->in, 4)
						  : (wr->imm & ~0xffu) | ((wr->imm + 1) & 0xff);
	wr->change.lkey = rig->keys[take(&rig->in, 1) % RIG_KEYS];
	wr->change.addr = (uintptr_t)rig->ep.mem + offset;
	wr->change.ptr = rig->ep.mem + offset;
	wr->change.bytes = take(&rig->in, 2);
	wr->bytes = take(&rig->in, 2);
	if (which != RIG_KEY_ALL)
		rig->keys[which] = wr->change.new_key;
}

void rig_post_send(struct rig *rig)
{
	static const enum uroce_wr_opcode ops[] = {UROCE_WR_SEND, UROCE_WR_RDMA_WRITE,
		UROCE_WR_RDMA_READ, UROCE_WR_ATOMIC_FETCH_AND_ADD, UROCE_WR_ATOMIC_CMP_AND_SWP,
		UROCE_WR_SEND_WITH_INV, UROCE_WR_RDMA_WRITE_WITH_IMM, UROCE_WR_SEND_WITH_IMM,
		UROCE_WR_FLUSH, UROCE_WR_ATOMIC_WRITE, UROCE_WR_LOCAL_INV, UROCE_WR_BIND_MW,
		UROCE_WR_REG_MR};
	struct endpoint_wr wr = {.opcode = ops[take(&rig->in, 1) % 13]};

	wr.flags = take(&rig->in, 1) & 0xf;
	if (wr.opcode == UROCE_WR_LOCAL_INV || wr.opcode == UROCE_WR_BIND_MW ||
		wr.opcode == UROCE_WR_REG_MR) {
		take_change(rig, &wr);
	} else {
		take_segments(rig, &wr);
		wr.remote_addr = take(&rig->in, 2);
		wr.imm = take(&rig->in, 1);
		wr.bytes = take(&rig->in, 2);
		wr.ah = rig->ep.conf.caps.type == UROCE_QP_UD
			? ENDPOINT_AH + (wr.imm == 0xff ? ENDPOINT_AHS : 0)
			: 0;
		wr.remote_qpn = PEER_QPN;
	}
	if (wr.opcode == UROCE_WR_ATOMIC_CMP_AND_SWP || wr.opcode == UROCE_WR_ATOMIC_WRITE ||
		wr.opcode == UROCE_WR_ATOMIC_FETCH_AND_ADD) {
		wr.num_segs = 1;
		wr.segs[0].bytes = 8;
	}
	wr.wr_id = rig->sends_posted + 1;
	if (endpoint_post_send(&rig->ep, &wr))
		rig->sends_posted++;
}

void rig_post_recv(struct rig *rig)
{
	uint32_t offset = take(&rig->in, 2) % RIG_MEM_BYTES;
	uint32_t bytes = take(&rig->in, 2) % 6000;

	if (endpoint_post_recv(&rig->ep, rig->recvs_posted + 1, offset, bytes))
		rig->recvs_posted++;
}

/* ---- turns ---- */

static void check(struct rig *rig, const struct uroce_cqe *cqe)
{
	bool recv = cqe->opcode & UROCE_WC_RECV;
	uint64_t *last = recv ? &rig->last_recv : &rig->last_send;

	FUZZ_MUST(cqe->wr_id <= (recv ? rig->recvs_posted : rig->sends_posted));
	if (recv && rig->ep.srq) {
		/* One that did not fit, or was given back by RESET, is behind the others. */
		FUZZ_MUST(cqe->wr_id < RIG_RECVS_MAX && !rig->recv_done[cqe->wr_id]);
		rig->recv_done[cqe->wr_id] = true;
	} else {
		FUZZ_MUST(cqe->wr_id > *last);
	}
	*last = cqe->wr_id;
	if (rig_completed)
		rig_completed(rig, cqe);
}

void rig_work(struct rig *rig)
{
	static uint8_t data[ENDPOINT_FRAME_BYTES];
	struct uroce_slot slot = {.data = data, .capacity_bytes = sizeof(data)};
	struct uroce_core *core = &rig->ep.core;
	struct uroce_core_event event;

	uroce_core_rx_empty(core, rig->now_ns);
	uroce_core_expire(core, rig->now_ns);
	for (int i = 0; i < TX_MAX && uroce_core_tx(core, rig->now_ns, &slot, 1) == 1; i++)
		;
	while (uroce_core_events(core, &event, 1) == 1)
		;
}

void rig_turn(struct rig *rig)
{
	struct uroce_cqe cqe;

	rig_work(rig);
	while (endpoint_poll(&rig->ep, &cqe, 1) == 1)
		check(rig, &cqe);
}

void rig_pass_time(struct rig *rig)
{
	rig->now_ns += 1ull << take(&rig->in, 1) % 34;
	rig_turn(rig);
}
