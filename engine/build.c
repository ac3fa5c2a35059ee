/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Frames out.
 *
 * The template holds everything from Ethernet to BTH that does not change; each frame is a copy
 * of it with length, checksum, opcode, flags and PSN set. Where the IPv4 checksum goes the template
 * has the sum of the rest, to which the length is added. The ICRC is computed last, over the frame
 * as it lies in the slot, because the application may have changed its memory since the payload was
 * copied from there.
 */
#include "build.h"

#include <assert.h>

#include "icrc.h"

enum {
	IPV4_VERSION_4_IHL_5 = 0x45,
	IPV6_VERSION_6 = 0x60000000,
	SPORT_BASE = 0xc000,
	SPORT_BITS = 14,
	SPORT_MASK = 0x3fff,
	CNP_OPCODE = 0x81,
	/* DSCP 48, so that a congested switch lets it by, and ECT(0): as hardware has it. */
	CNP_TOS = 48 << 2 | UROCE_ECN_ECT0,
};

/* One flow per queue pair, spread over 0xc000 to 0xffff: switches balance by it. */
static uint16_t source_port(const struct uroce_path *path, uint32_t qpn, uint32_t dest_qpn)
{
	uint32_t h = (qpn ^ dest_qpn << 8) * 0x9e3779b1u >> 18;

	if (path->flow_label)
		h = path->flow_label ^ path->flow_label >> SPORT_BITS;
	return (uint16_t)(SPORT_BASE | (h & SPORT_MASK));
}

/* Of all there is of it yet; who ends the frame adds the length. */
static void put_ipv4_sum(uint8_t *ip)
{
	uroce_store_be16(ip + UROCE_IPV4_CHECKSUM, 0);
	uroce_store_be16(
		ip + UROCE_IPV4_CHECKSUM, uroce_ip_fold(uroce_ip_sum(ip, UROCE_IPV4_BYTES, 0)));
}

static void put_ipv4(uint8_t *ip, const struct uroce_path *path)
{
	ip[UROCE_IPV4_VERSION_IHL] = IPV4_VERSION_4_IHL_5;
	ip[UROCE_IPV4_TOS] = path->tos;
	/* DF and no fragments: the identification may be zero (RFC 6864). */
	uroce_store_be16(ip + UROCE_IPV4_FRAGMENT, UROCE_IPV4_DF);
	ip[UROCE_IPV4_TTL] = path->ttl;
	ip[UROCE_IPV4_PROTOCOL] = UROCE_IP_PROTOCOL_UDP;
	uroce_store_be32(ip + UROCE_IPV4_SRC, uroce_gid_ipv4(path->src));
	uroce_store_be32(ip + UROCE_IPV4_DST, uroce_gid_ipv4(path->dst));
	put_ipv4_sum(ip);
}

static void put_ipv6(uint8_t *ip, const struct uroce_path *path)
{
	uroce_store_be32(ip + UROCE_IPV6_VERSION,
		IPV6_VERSION_6 | (uint32_t)path->tos << 20 |
			(path->flow_label & UROCE_IPV6_FLOW_LABEL_MASK));
	ip[UROCE_IPV6_NEXT_HEADER] = UROCE_IP_PROTOCOL_UDP;
	ip[UROCE_IPV6_HOP_LIMIT] = path->ttl;
	uroce_gid_store(ip + UROCE_IPV6_SRC, path->src);
	uroce_gid_store(ip + UROCE_IPV6_DST, path->dst);
}

/*
 * Ethernet to BTH on a path, but for what differs from packet to packet. Returns where the next
 * header goes.
 */
static uint8_t *put_template(
	uint8_t *h, const struct uroce_path *path, uint32_t qpn, uint32_t dest_qpn)
{
	bool v4 = uroce_gid_is_ipv4(path->dst);
	uint8_t *ip, *udp, *bth;

	memset(h, 0, UROCE_TEMPLATE_BYTES_MAX);
	ip = uroce_eth_put(h, path->dmac, path->smac, path->tci,
		v4 ? UROCE_ETHERTYPE_IPV4 : UROCE_ETHERTYPE_IPV6);
	udp = ip + (v4 ? UROCE_IPV4_BYTES : UROCE_IPV6_BYTES);
	bth = udp + UROCE_UDP_BYTES;
	if (v4)
		put_ipv4(ip, path);
	else
		put_ipv6(ip, path);
	uroce_store_be16(udp + UROCE_UDP_SPORT, source_port(path, qpn, dest_qpn));
	uroce_store_be16(udp + UROCE_UDP_DPORT, UROCE_UDP_PORT);
	bth[UROCE_BTH_FLAGS] = UROCE_BTH_MIGREQ;
	uroce_store_be16(bth + UROCE_BTH_PKEY, UROCE_PKEY_DEFAULT);
	uroce_store_be24(bth + UROCE_BTH_DQPN, dest_qpn);
	return bth + UROCE_BTH_BYTES;
}

/* Another TOS or traffic class, in a frame that was started. */
static void change_tos(uint8_t *h, uint8_t tos)
{
	uint8_t *ip = h + uroce_frame_eth_bytes(h);

	if (uroce_frame_is_ipv6(h)) {
		ip[UROCE_IPV6_VERSION] = (uint8_t)(IPV6_VERSION_6 >> 24 | tos >> 4);
		ip[UROCE_IPV6_VERSION + 1] =
			(uint8_t)(tos << 4 | (ip[UROCE_IPV6_VERSION + 1] & 0x0f));
		return;
	}
	ip[UROCE_IPV4_TOS] = tos;
	put_ipv4_sum(ip);
}

void uroce_build_template(struct uroce_qp *qp)
{
	uint8_t *end = put_template(qp->header, qp->path, qp->qpn, qp->attr.dest_qpn);

	qp->header_bytes = (uint32_t)(end - qp->header);
	if (qp->attr.dcqcn)
		change_tos(
			qp->header, (uint8_t)((qp->path->tos & ~UROCE_ECN_MASK) | UROCE_ECN_ECT0));
}

static void put_bth(uint8_t *at, struct uroce_bth bth)
{
	at[UROCE_BTH_OPCODE] = bth.opcode;
	if (bth.solicited)
		at[UROCE_BTH_FLAGS] |= UROCE_BTH_SE;
	if (bth.ackreq)
		at[UROCE_BTH_ACKREQ] = UROCE_BTH_ACKREQ_BIT;
	uroce_store_be24(at + UROCE_BTH_PSN, bth.psn);
}

uint8_t *uroce_build_start(const struct uroce_qp *qp, struct uroce_slot *slot, struct uroce_bth bth)
{
	uint8_t *h = slot->data, *end;

	assert(slot->capacity_bytes >= qp->attr.path_mtu_bytes + UROCE_OVERHEAD_BYTES_MAX);
	/* Two copies of a length known beforehand: the second for IPv6 and tags alone. */
	memcpy(h, qp->header, UROCE_TEMPLATE_BYTES_MIN);
	if (qp->header_bytes > UROCE_TEMPLATE_BYTES_MIN)
		memcpy(h + UROCE_TEMPLATE_BYTES_MIN, qp->header + UROCE_TEMPLATE_BYTES_MIN,
			UROCE_TEMPLATE_BYTES_MAX - UROCE_TEMPLATE_BYTES_MIN);
	end = h + qp->header_bytes;
	put_bth(end - UROCE_BTH_BYTES, bth);
	return end;
}

uint8_t *uroce_build_start_cnp(const struct uroce_qp *qp, struct uroce_slot *slot)
{
	uint8_t *p = uroce_build_start(qp, slot, (struct uroce_bth){.opcode = CNP_OPCODE});
	uint8_t *bth = p - UROCE_BTH_BYTES;

	change_tos(slot->data, CNP_TOS);
	bth[UROCE_BTH_FLAGS] = 0;
	bth[UROCE_BTH_ECN] = UROCE_BTH_BECN;
	return p;
}

uint8_t *uroce_build_start_datagram(const struct uroce_core *core, const struct uroce_qp *qp,
	struct uroce_slot *slot, struct uroce_bth bth, const struct uroce_datagram *to)
{
	uint8_t *p;

	assert(slot->capacity_bytes >= core->conf.mtu_bytes + UROCE_OVERHEAD_BYTES_MAX);
	p = put_template(slot->data, to->path, qp->qpn, to->qpn);
	put_bth(p - UROCE_BTH_BYTES, bth);
	uroce_store_be32(p + UROCE_DETH_QKEY, to->qkey);
	uroce_store_be32(p + UROCE_DETH_SQPN - 1, qp->qpn);
	return p + UROCE_DETH_BYTES;
}

/* IP's length, and IPv4's checksum. ip_bytes: from the IP header to the end of the frame. */
static void put_ip_length(uint8_t *ip, uint32_t header_bytes, uint32_t ip_bytes)
{
	uint32_t sum;

	if (header_bytes == UROCE_IPV6_BYTES) {
		uroce_store_be16(
			ip + UROCE_IPV6_PAYLOAD_LEN, (uint16_t)(ip_bytes - UROCE_IPV6_BYTES));
		return;
	}
	sum = uroce_load_be16(ip + UROCE_IPV4_CHECKSUM);
	uroce_store_be16(ip + UROCE_IPV4_TOTAL_LEN, (uint16_t)ip_bytes);
	uroce_store_be16(ip + UROCE_IPV4_CHECKSUM, (uint16_t)~uroce_ip_fold(sum + ip_bytes));
}

void uroce_build_finish(
	struct uroce_core *core, struct uroce_slot *slot, uint8_t *end, uint32_t payload_bytes)
{
	uint8_t *h = slot->data, *ip = h + uroce_frame_eth_bytes(h);
	uint32_t header_bytes = uroce_frame_ip_bytes(h);
	uint8_t *udp = ip + header_bytes, *bth = udp + UROCE_UDP_BYTES;
	uint8_t pad = (uint8_t)(-payload_bytes & UROCE_BTH_PAD_MASK);
	uint32_t ip_bytes, icrc = 0;

	for (uint8_t i = 0; i < pad; i++)
		*end++ = 0;
	bth[UROCE_BTH_FLAGS] |= (uint8_t)(pad << UROCE_BTH_PAD_SHIFT);
	ip_bytes = (uint32_t)(end - ip) + UROCE_ICRC_BYTES;
	put_ip_length(ip, header_bytes, ip_bytes);
	uroce_store_be16(udp + UROCE_UDP_LEN, (uint16_t)(ip_bytes - header_bytes));
	if (core->conf.icrc_mode != UROCE_ICRC_OFF)
		icrc = uroce_icrc(ip, header_bytes, (uint32_t)(end - (bth + UROCE_BTH_BYTES)));
	uroce_store_le32(end, icrc);
	slot->bytes = (uint32_t)(end - h) + UROCE_ICRC_BYTES;
	uroce_count(core, tx_frames);
}

uint8_t *uroce_build_reth(uint8_t *p, uint64_t va, uint32_t rkey, uint32_t dma_len)
{
	uroce_store_be64(p + UROCE_RETH_VA, va);
	uroce_store_be32(p + UROCE_RETH_RKEY, rkey);
	uroce_store_be32(p + UROCE_RETH_DMALEN, dma_len);
	return p + UROCE_RETH_BYTES;
}

uint8_t *uroce_build_atomiceth(
	uint8_t *p, uint64_t va, uint32_t rkey, uint64_t swap_add, uint64_t compare)
{
	uroce_store_be64(p + UROCE_ATOMICETH_VA, va);
	uroce_store_be32(p + UROCE_ATOMICETH_RKEY, rkey);
	uroce_store_be64(p + UROCE_ATOMICETH_SWAP_ADD, swap_add);
	uroce_store_be64(p + UROCE_ATOMICETH_COMPARE, compare);
	return p + UROCE_ATOMICETH_BYTES;
}

uint8_t *uroce_build_feth(uint8_t *p, uint32_t feth)
{
	uroce_store_be32(p, feth);
	return p + UROCE_FETH_BYTES;
}

uint8_t *uroce_build_aeth(uint8_t *p, uint8_t syndrome, uint32_t msn)
{
	p[UROCE_AETH_SYNDROME] = syndrome;
	uroce_store_be24(p + UROCE_AETH_MSN, msn);
	return p + UROCE_AETH_BYTES;
}
