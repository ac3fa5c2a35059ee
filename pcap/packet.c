/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reads frames for the analysis.
 *
 * The order of the refusals is text.c's, so that both name the same one. A length that the frame
 * states is never trusted before it was held against the bytes that were captured.
 */
#include "pcap/packet.h"

#include <arpa/inet.h>
#include <string.h>

#include "engine/icrc.h"
#include "engine/wire.h"
#include "pcap/text_opcode.h"

enum {
	ETHERTYPE_ROCEV1 = 0x8915,
	TAGS_MAX = 8,
};

struct place {
	const uint8_t *data;
	uint32_t captured, wire;
	uint32_t ip, ip_bytes;
	uint32_t end; /* behind the ICRC, as the IP header has it */
};

static bool seen(const struct place *at, uint32_t offset, uint32_t bytes)
{
	return offset <= at->captured && bytes <= at->captured - offset;
}

static void refuse(struct uroce_packet *out, const char *reason)
{
	if (!out->malformed)
		out->malformed = reason;
}

/* ---- the slow way ---- */

static struct uroce_gid read_gid(const char *text)
{
	uint8_t bytes[UROCE_GID_BYTES] = {0};

	if (inet_pton(AF_INET, text, bytes) == 1)
		return uroce_gid_of_ipv4(uroce_load_be32(bytes));
	memset(bytes, 0, sizeof(bytes));
	inet_pton(AF_INET6, text, bytes);
	return uroce_gid_load(bytes);
}

/* Traffic class: the header of IPv6 and the GRH begin alike. */
static uint8_t ecn_of_ipv6(const uint8_t *ip)
{
	return ip[UROCE_IPV6_VERSION + 1] >> 4 & UROCE_ECN_MASK;
}

static void take_text(
	const struct place *at, const struct uroce_text_packet *text, struct uroce_packet *out)
{
	out->src = read_gid(text->src);
	out->dst = read_gid(text->dst);
	out->ecn = seen(at, at->ip, UROCE_IPV6_BYTES) ? ecn_of_ipv6(at->data + at->ip) : 0;
	out->malformed = text->malformed;
	out->icrc = text->icrc;
	out->udp_sport = text->udp_sport;
	out->has_bth = text->has_bth;
	out->opcode = &uroce_opcodes[text->opcode];
	out->dqpn = text->dqpn;
	out->psn = text->psn;
	out->ackreq = text->ackreq;
	out->sqpn = text->deth.sqpn;
	out->has_reth = text->has_reth;
	out->va = text->has_atomiceth ? text->atomiceth.va : text->reth.va;
	out->dma_len = text->reth.dma_len;
	out->has_aeth = text->has_aeth;
	out->syndrome = text->aeth.syndrome;
	out->msn = text->aeth.msn;
	if (text->has_payload) {
		out->payload_bytes = text->payload_bytes;
		if (text->payload_offset < at->captured) {
			out->payload = at->data + text->payload_offset;
			out->payload_seen_bytes = at->captured - text->payload_offset;
		}
		if (out->payload_seen_bytes > out->payload_bytes)
			out->payload_seen_bytes = out->payload_bytes;
	}
	out->is_rocev1 = strcmp(text->proto, "RoCEv1") == 0;
	if (out->is_rocev1 && out->malformed && strcmp(out->malformed, "not_rocev2") == 0)
		out->malformed = NULL;
}

static bool decode_slowly(const struct place *at, struct uroce_packet *out)
{
	struct uroce_text_packet text;

	uroce_text_decode(at->data, at->captured, at->wire, &text);
	if (!text.is_roce)
		return false;
	take_text(at, &text, out);
	return true;
}

/* ---- the transport ---- */

static enum uroce_text_icrc check_icrc(
	const struct place *at, uint32_t bth, struct uroce_packet *out)
{
	uint32_t rest = bth + UROCE_BTH_BYTES;

	if (at->end > at->wire || at->end < rest + UROCE_ICRC_BYTES)
		return UROCE_TEXT_ICRC_ABSENT;
	if (at->end > at->captured)
		return UROCE_TEXT_ICRC_UNKNOWN;
	out->icrc_value = uroce_load_le32(at->data + at->end - UROCE_ICRC_BYTES);
	if (out->icrc_value ==
		uroce_icrc(at->data + at->ip, at->ip_bytes, at->end - UROCE_ICRC_BYTES - rest))
		return UROCE_TEXT_ICRC_OK;
	return out->icrc_value == 0 ? UROCE_TEXT_ICRC_ABSENT : UROCE_TEXT_ICRC_BAD;
}

/* Where reading of the extension headers has got to; lost once one was incomplete. */
struct cursor {
	const struct place *at;
	uint32_t offset;
	bool lost;
};

/* The next header; NULL where the frame's lengths or the capture cut it, and from then on. */
static const uint8_t *next_header(struct cursor *c, uint32_t bytes, struct uroce_packet *out)
{
	uint32_t offset = c->offset;

	if (c->lost)
		return NULL;
	c->offset += bytes;
	if (c->offset > c->at->end - UROCE_ICRC_BYTES)
		refuse(out, "headers_short");
	else if (seen(c->at, offset, bytes))
		return c->at->data + offset;
	c->lost = true;
	return NULL;
}

static void take_headers(struct cursor *c, struct uroce_packet *out)
{
	const struct uroce_opcode *opcode = out->opcode;
	const uint8_t *p;

	if (opcode->deth && (p = next_header(c, UROCE_DETH_BYTES, out)))
		out->sqpn = uroce_load_be24(p + UROCE_DETH_SQPN);
	if (opcode->reth && (p = next_header(c, UROCE_RETH_BYTES, out))) {
		out->has_reth = true;
		out->va = uroce_load_be64(p + UROCE_RETH_VA);
		out->dma_len = uroce_load_be32(p + UROCE_RETH_DMALEN);
	}
	if (opcode->atomiceth && (p = next_header(c, UROCE_ATOMICETH_BYTES, out))) {
		out->va = uroce_load_be64(p + UROCE_ATOMICETH_VA);
	}
	if (opcode->aeth && (p = next_header(c, UROCE_AETH_BYTES, out))) {
		out->has_aeth = true;
		out->syndrome = p[UROCE_AETH_SYNDROME];
		out->msn = uroce_load_be24(p + UROCE_AETH_MSN);
	}
	if (opcode->atomicacketh)
		next_header(c, UROCE_ATOMICACKETH_BYTES, out);
	if (opcode->immdt)
		next_header(c, UROCE_IMMDT_BYTES, out);
	if (opcode->ieth)
		next_header(c, UROCE_IETH_BYTES, out);
}

/* A row's opcode has a payload unless it is one of these. */
static bool has_payload(const struct uroce_opcode *opcode)
{
	return opcode->kind == UROCE_OP_SEND || opcode->kind == UROCE_OP_WRITE ||
		opcode->kind == UROCE_OP_READ_RESPONSE || opcode->kind == UROCE_OP_CNP;
}

/* first: the byte behind the extension headers. */
static void take_payload(
	const struct place *at, uint32_t first, uint32_t pad, struct uroce_packet *out)
{
	uint32_t bytes = at->end - UROCE_ICRC_BYTES - first;

	if (bytes % 4)
		refuse(out, "length_not_multiple_of_4");
	if (!has_payload(out->opcode)) {
		if (bytes || pad)
			refuse(out, "payload_unexpected");
		return;
	}
	if (pad > bytes) {
		refuse(out, "pad_exceeds_payload");
		return;
	}
	out->payload_bytes = bytes - pad;
	if (first > at->captured)
		return;
	out->payload = at->data + first;
	out->payload_seen_bytes = at->captured - first;
	if (out->payload_seen_bytes > out->payload_bytes)
		out->payload_seen_bytes = out->payload_bytes;
}

static void take_bth(const uint8_t *bth, struct uroce_packet *out)
{
	out->has_bth = true;
	out->opcode = &uroce_opcodes[bth[UROCE_BTH_OPCODE]];
	out->dqpn = uroce_load_be24(bth + UROCE_BTH_DQPN);
	out->ackreq = bth[UROCE_BTH_ACKREQ] & UROCE_BTH_ACKREQ_BIT;
	out->psn = uroce_load_be24(bth + UROCE_BTH_PSN);
}

/* An opcode that nobody has, or that uroce does not speak. */
static bool is_refused(uint8_t number, struct uroce_packet *out)
{
	const struct uroce_opcode *row = out->opcode;
	struct uroce_text_opcode words;

	if (row->name && row->kind != UROCE_OP_FLUSH && row->kind != UROCE_OP_ATOMIC_WRITE)
		return false;
	uroce_text_opcode_resolve(number, &words);
	refuse(out, words.known ? "opcode_unsupported" : "opcode_unknown");
	return true;
}

static void decode_bth(const struct place *at, uint32_t start, struct uroce_packet *out)
{
	struct cursor c = {.at = at, .offset = start + UROCE_BTH_BYTES};
	const uint8_t *bth = at->data + start;

	out->icrc = check_icrc(at, start, out);
	if (at->end < start + UROCE_BTH_BYTES || !seen(at, start, UROCE_BTH_BYTES))
		return;
	take_bth(bth, out);
	if (bth[UROCE_BTH_FLAGS] & UROCE_BTH_TVER_MASK)
		refuse(out, "tver_not_zero");
	if (is_refused(bth[UROCE_BTH_OPCODE], out))
		return;
	if (out->dqpn == 0)
		refuse(out, "dest_qpn_zero");
	if (at->end < start + UROCE_BTH_BYTES + UROCE_ICRC_BYTES)
		return;
	take_headers(&c, out);
	if (!c.lost)
		take_payload(at, c.offset,
			bth[UROCE_BTH_FLAGS] >> UROCE_BTH_PAD_SHIFT & UROCE_BTH_PAD_MASK, out);
}

/* ---- IP ---- */

static bool decode_udp(const struct place *at, bool fragment, struct uroce_packet *out)
{
	uint32_t udp = at->ip + at->ip_bytes, bth = udp + UROCE_UDP_BYTES;
	const uint8_t *ip = at->data + at->ip;

	if (!seen(at, udp, UROCE_UDP_BYTES) ||
		uroce_load_be16(at->data + udp + UROCE_UDP_DPORT) != UROCE_UDP_PORT)
		return false;
	out->udp_sport = uroce_load_be16(at->data + udp + UROCE_UDP_SPORT);
	if (fragment) {
		refuse(out, "ip_fragment");
		return true;
	}
	if (ip[0] >> 4 == 4 && uroce_ip_fold(uroce_ip_sum(ip, at->ip_bytes, 0)) != 0xffff)
		refuse(out, "ipv4_checksum_bad");
	if (at->end > at->wire)
		refuse(out, "ip_length_beyond_frame");
	if (at->end < bth + UROCE_BTH_BYTES + UROCE_ICRC_BYTES)
		refuse(out, "ip_length_short");
	if (udp + uroce_load_be16(at->data + udp + UROCE_UDP_LEN) != at->end)
		refuse(out, "udp_length_mismatch");
	decode_bth(at, bth, out);
	return true;
}

static bool decode_ipv4(struct place *at, struct uroce_packet *out)
{
	const uint8_t *ip = at->data + at->ip;
	uint16_t fragment;

	if (!seen(at, at->ip, UROCE_IPV4_BYTES))
		return false;
	at->ip_bytes = (ip[UROCE_IPV4_VERSION_IHL] & 15u) * 4;
	fragment = uroce_load_be16(ip + UROCE_IPV4_FRAGMENT);
	if (ip[0] >> 4 != 4 || at->ip_bytes < UROCE_IPV4_BYTES ||
		ip[UROCE_IPV4_PROTOCOL] != UROCE_IP_PROTOCOL_UDP ||
		(fragment & UROCE_IPV4_OFFSET_MASK))
		return false;
	at->end = at->ip + uroce_load_be16(ip + UROCE_IPV4_TOTAL_LEN);
	out->src = uroce_gid_of_ipv4(uroce_load_be32(ip + UROCE_IPV4_SRC));
	out->dst = uroce_gid_of_ipv4(uroce_load_be32(ip + UROCE_IPV4_DST));
	out->ecn = ip[UROCE_IPV4_TOS] & UROCE_ECN_MASK;
	return decode_udp(at, fragment & UROCE_IPV4_MF, out);
}

static bool decode_ipv6(struct place *at, struct uroce_packet *out)
{
	const uint8_t *ip = at->data + at->ip;

	if (!seen(at, at->ip, UROCE_IPV6_BYTES) || ip[0] >> 4 != 6)
		return false;
	if (ip[UROCE_IPV6_NEXT_HEADER] != UROCE_IP_PROTOCOL_UDP)
		return decode_slowly(at, out);
	at->ip_bytes = UROCE_IPV6_BYTES;
	at->end = at->ip + UROCE_IPV6_BYTES + uroce_load_be16(ip + UROCE_IPV6_PAYLOAD_LEN);
	out->src = uroce_gid_load(ip + UROCE_IPV6_SRC);
	out->dst = uroce_gid_load(ip + UROCE_IPV6_DST);
	out->ecn = ecn_of_ipv6(ip);
	return decode_udp(at, false, out);
}

bool uroce_packet_decode(const struct uroce_pcap_frame *frame, struct uroce_packet *out)
{
	struct place at = {
		.data = frame->data, .captured = frame->captured_bytes, .wire = frame->wire_bytes};
	uint16_t type = 0;

	*out = (struct uroce_packet){.number = frame->number,
		.time_ns = frame->time_ns,
		.wire_bytes = frame->wire_bytes,
		.opcode = &uroce_opcodes[0xff]};
	at.ip = UROCE_ETH_BYTES;
	for (int tags = 0; tags <= TAGS_MAX && seen(&at, at.ip - 2, 2); tags++) {
		type = uroce_load_be16(at.data + at.ip - 2);
		if (type != UROCE_ETHERTYPE_VLAN && type != UROCE_ETHERTYPE_SERVICE_VLAN)
			break;
		if (seen(&at, at.ip, 2))
			out->vlan = uroce_load_be16(at.data + at.ip) & UROCE_TCI_VLAN_MASK;
		at.ip += UROCE_VLAN_BYTES;
	}
	switch (type) {
	case UROCE_ETHERTYPE_IPV4:
		return decode_ipv4(&at, out);
	case UROCE_ETHERTYPE_IPV6:
		return decode_ipv6(&at, out);
	case ETHERTYPE_ROCEV1:
		return decode_slowly(&at, out);
	default:
		return false;
	}
}
