/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Decodes one Ethernet frame: VLAN tags, IPv4, IPv6 or GRH, UDP, BTH, extension headers, ICRC.
 *
 * Written from the standard alone and apart from the engine: its own opcode table, its own CRC
 * (sixteen entries, four bits at a time), its own idea of what to refuse. Every read is preceded by
 * a comparison with the captured length; every statement about the frame by one with the lengths
 * that the frame itself carries. The two are never mixed: the first lacking is the capture's fault
 * and leaves things unknown, the second lacking is the sender's and makes the frame malformed.
 *
 * It knows nothing of queue pairs, so it cannot say whether a PSN, a length or a key fits.
 */
#include "text.h"

#include "text_opcode.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>

/* The receiver-not-ready timer codes, in units of 10 microseconds (InfiniBand 9.7.5.2). */
static const uint32_t rnr_10us[32] = {65536, 1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192,
	256, 384, 512, 768, 1024, 1536, 2048, 3072, 4096, 6144, 8192, 12288, 16384, 24576, 32768,
	49152};

static const char *const nak_names[5] = {
	"psn-sequence-error",
	"invalid-request",
	"remote-access-error",
	"remote-operational-error",
	"invalid-rd-request",
};

/* A frame while it is taken apart. Offsets are from its first byte. */
struct frame {
	const uint8_t *data;
	uint32_t captured; /* bytes at data */
	uint32_t wire;	   /* bytes that there were */
	uint32_t l3;	   /* IP header or GRH */
	uint32_t l4;	   /* UDP header; equal to bth where there is none */
	uint32_t bth;
	uint32_t end; /* behind the ICRC, as the IP length has it: may be anywhere */
};

static uint16_t load16(const uint8_t *p)
{
	return (uint16_t)(p[0] << 8 | p[1]);
}

static uint32_t load24(const uint8_t *p)
{
	return (uint32_t)p[0] << 16 | (uint32_t)p[1] << 8 | p[2];
}

static uint32_t load32(const uint8_t *p)
{
	return (uint32_t)p[0] << 24 | load24(p + 1);
}

static uint64_t load64(const uint8_t *p)
{
	return (uint64_t)load32(p) << 32 | load32(p + 4);
}

/* True where the capture has bytes at to at + bytes. */
static bool seen(const struct frame *frame, uint32_t at, uint32_t bytes)
{
	return at <= frame->captured && bytes <= frame->captured - at;
}

/* The first reason counts: what follows from it says nothing new. */
static void refuse(struct uroce_text_packet *out, const char *reason)
{
	if (!out->malformed)
		out->malformed = reason;
}

/* CRC-32 as Ethernet's, reflected; the caller inverts before and after. */
static uint32_t crc32_add(uint32_t crc, const uint8_t *p, uint32_t bytes)
{
	static const uint32_t table[16] = {0x00000000, 0x1db71064, 0x3b6e20c8, 0x26d930ac,
		0x76dc4190, 0x6b6b51f4, 0x4db26158, 0x5005713c, 0xedb88320, 0xf00f9344, 0xd6d6a3e8,
		0xcb61b38c, 0x9b64c2b0, 0x86d3d2d4, 0xa00ae278, 0xbdbdf21c};

	for (uint32_t i = 0; i < bytes; i++) {
		crc ^= p[i];
		crc = crc >> 4 ^ table[crc & 15];
		crc = crc >> 4 ^ table[crc & 15];
	}
	return crc;
}

/*
 * The ICRC over the frame from IP header to pad (Annex A17.3.3): eight bytes of ones in place of
 * the LRH, and ones wherever a switch or router may change a bit on the way.
 */
static uint32_t compute_icrc(const struct frame *frame)
{
	static const uint8_t ones[8] = {255, 255, 255, 255, 255, 255, 255, 255};
	uint8_t head[60 + 8 + 12]; /* the longest IPv4 header, UDP, BTH */
	uint32_t head_bytes = frame->bth + 12 - frame->l3;
	uint32_t l4 = frame->l4 - frame->l3;
	uint32_t bth = frame->bth - frame->l3;
	uint32_t crc;

	memcpy(head, frame->data + frame->l3, head_bytes);
	if (head[0] >> 4 == 4) {
		head[1] = 0xff;		    /* type of service */
		head[8] = 0xff;		    /* time to live */
		memset(head + 10, 0xff, 2); /* header checksum */
	} else {
		head[0] |= 0x0f; /* traffic class, flow label */
		memset(head + 1, 0xff, 3);
		head[7] = 0xff; /* hop limit */
	}
	if (l4 != bth)
		memset(head + l4 + 6, 0xff, 2); /* UDP checksum */
	head[bth + 4] = 0xff;			/* FECN, BECN, reserved */
	crc = crc32_add(0xffffffff, ones, sizeof(ones));
	crc = crc32_add(crc, head, head_bytes);
	crc = crc32_add(crc, frame->data + frame->bth + 12, frame->end - 4 - frame->bth - 12);
	return ~crc;
}

static enum uroce_text_icrc check_icrc(const struct frame *frame)
{
	const uint8_t *trailer;
	uint32_t found;

	if (frame->end > frame->wire || frame->end < frame->bth + 12 + 4)
		return UROCE_TEXT_ICRC_ABSENT;
	if (frame->end > frame->captured)
		return UROCE_TEXT_ICRC_UNKNOWN;
	trailer = frame->data + frame->end - 4;
	/* Alone of all fields, least significant byte first. */
	found = (uint32_t)trailer[0] | (uint32_t)trailer[1] << 8 | (uint32_t)trailer[2] << 16 |
		(uint32_t)trailer[3] << 24;
	if (found == compute_icrc(frame))
		return UROCE_TEXT_ICRC_OK;
	return found == 0 ? UROCE_TEXT_ICRC_ABSENT : UROCE_TEXT_ICRC_BAD;
}

static void decode_bth(const uint8_t *p, struct uroce_text_packet *out)
{
	out->has_bth = true;
	out->opcode = p[0];
	out->se = p[1] & 0x80;
	out->migreq = p[1] & 0x40;
	out->pad = p[1] >> 4 & 3;
	out->tver = p[1] & 15;
	out->pkey = load16(p + 2);
	out->fecn = p[4] & 0x80;
	out->becn = p[4] & 0x40;
	out->dqpn = load24(p + 5);
	out->ackreq = p[8] & 0x80;
	out->psn = load24(p + 9);
}

/* End-to-end credits (InfiniBand 9.7.7.2): 0, 1, 2, 3, 4, 6, 8, 12, 16, ... 32768. */
static unsigned int credit_count(unsigned int code)
{
	if (code < 2)
		return code;
	return code & 1 ? 3u << (code / 2 - 1) : 1u << code / 2;
}

static void decode_aeth(const uint8_t *p, struct uroce_text_packet *out)
{
	unsigned int value = p[0] & 0x1f;
	char *words = out->aeth.words;
	size_t size = sizeof(out->aeth.words);

	out->has_aeth = true;
	out->aeth.syndrome = p[0];
	out->aeth.msn = load24(p + 1);
	out->aeth.kind = UROCE_TEXT_AETH_RESERVED;
	switch (p[0] >> 5) {
	case 0:
		out->aeth.kind = UROCE_TEXT_AETH_ACK;
		if (value == 0x1f)
			snprintf(words, size, "credits none");
		else
			snprintf(words, size, "credits %u", credit_count(value));
		return;
	case 1:
		out->aeth.kind = UROCE_TEXT_AETH_RNR;
		snprintf(words, size, "%u.%02u ms", rnr_10us[value] / 100, rnr_10us[value] % 100);
		return;
	case 3:
		out->aeth.kind = UROCE_TEXT_AETH_NAK;
		if (value < sizeof(nak_names) / sizeof(nak_names[0])) {
			snprintf(words, size, "%s", nak_names[value]);
			return;
		}
		break;
	default:
		break;
	}
	snprintf(words, size, "reserved 0x%02x", p[0]);
}

/* Where decoding of the extension headers has got to; lost once one was incomplete. */
struct cursor {
	const struct frame *frame;
	struct uroce_text_packet *out;
	uint32_t at;
	bool lost;
};

/*
 * The next extension header: steps behind it and returns its bytes. NULL where the frame's lengths
 * or the capture leave it incomplete, and from then on, since nothing after it can be found.
 */
static const uint8_t *take(struct cursor *cursor, uint32_t bytes)
{
	uint32_t at = cursor->at;

	if (cursor->lost)
		return NULL;
	if (at + bytes > cursor->frame->end - 4)
		refuse(cursor->out, "headers_short");
	else if (seen(cursor->frame, at, bytes)) {
		cursor->at += bytes;
		return cursor->frame->data + at;
	}
	cursor->lost = true;
	return NULL;
}

static void decode_request_headers(struct cursor *cursor, const struct uroce_text_opcode *opcode)
{
	struct uroce_text_packet *out = cursor->out;
	const uint8_t *p;

	if (opcode->deth && (p = take(cursor, 8))) {
		out->has_deth = true;
		out->deth.qkey = load32(p);
		out->deth.sqpn = load24(p + 5);
	}
	if (opcode->feth && (p = take(cursor, 4))) {
		out->has_feth = true;
		out->feth.type = p[3] & 15;
		out->feth.level = p[3] >> 4 & 3;
	}
	if (opcode->reth && (p = take(cursor, 16))) {
		out->has_reth = true;
		out->reth.va = load64(p);
		out->reth.rkey = load32(p + 8);
		out->reth.dma_len = load32(p + 12);
	}
	if (opcode->atomiceth && (p = take(cursor, 28))) {
		out->has_atomiceth = true;
		out->atomiceth.va = load64(p);
		out->atomiceth.rkey = load32(p + 8);
		out->atomiceth.swap_add = load64(p + 12);
		out->atomiceth.compare = load64(p + 20);
	}
}

static void decode_other_headers(struct cursor *cursor, const struct uroce_text_opcode *opcode)
{
	struct uroce_text_packet *out = cursor->out;
	const uint8_t *p;

	if (opcode->aeth && (p = take(cursor, 4)))
		decode_aeth(p, out);
	if (opcode->atomicacketh && (p = take(cursor, 8))) {
		out->has_atomicacketh = true;
		out->atomicacketh = load64(p);
	}
	if (opcode->immdt && (p = take(cursor, 4))) {
		out->has_immdt = true;
		out->immdt = load32(p);
	}
	if (opcode->ieth && (p = take(cursor, 4))) {
		out->has_ieth = true;
		out->ieth = load32(p);
	}
}

static void decode_payload(const struct frame *frame, const struct uroce_text_opcode *opcode,
	uint32_t at, struct uroce_text_packet *out)
{
	uint32_t bytes = frame->end - 4 - at;

	if (bytes % 4)
		refuse(out, "length_not_multiple_of_4");
	if (!opcode->payload) {
		if (bytes || out->pad)
			refuse(out, "payload_unexpected");
		return;
	}
	if (out->pad > bytes) {
		refuse(out, "pad_exceeds_payload");
		return;
	}
	out->has_payload = true;
	out->payload_offset = at;
	out->payload_bytes = bytes - out->pad;
}

static void decode_transport(const struct frame *frame, struct uroce_text_packet *out)
{
	struct cursor cursor = {.frame = frame, .out = out, .at = frame->bth + 12};
	struct uroce_text_opcode opcode;

	out->icrc = check_icrc(frame);
	if (frame->end < frame->bth + 12 || !seen(frame, frame->bth, 12))
		return;
	decode_bth(frame->data + frame->bth, out);
	uroce_text_opcode_resolve(out->opcode, &opcode);
	memcpy(out->opcode_name, opcode.name, sizeof(opcode.name));
	if (out->tver)
		refuse(out, "tver_not_zero");
	if (!opcode.known) {
		refuse(out, "opcode_unknown");
		return;
	}
	if (!opcode.decoded) {
		refuse(out, "opcode_unsupported");
		return;
	}
	if (out->dqpn == 0)
		refuse(out, "dest_qpn_zero");
	if (frame->end < frame->bth + 12 + 4)
		return;
	decode_request_headers(&cursor, &opcode);
	decode_other_headers(&cursor, &opcode);
	if (!cursor.lost)
		decode_payload(frame, &opcode, cursor.at, out);
}

static void check_ip_length(const struct frame *frame, struct uroce_text_packet *out)
{
	if (frame->end > frame->wire)
		refuse(out, "ip_length_beyond_frame");
	if (frame->end < frame->bth + 12 + 4)
		refuse(out, "ip_length_short");
}

/* The one's complement sum of a good IPv4 header, checksum included, is all ones. */
static bool ipv4_checksum_ok(const uint8_t *p, uint32_t bytes)
{
	uint32_t sum = 0;

	for (uint32_t i = 0; i < bytes; i += 2)
		sum += load16(p + i);
	sum = (sum >> 16) + (sum & 0xffff);
	return (sum >> 16) + (sum & 0xffff) == 0xffff;
}

static void decode_udp(
	struct frame *frame, const char *proto, bool fragment, struct uroce_text_packet *out)
{
	const uint8_t *p;

	if (!seen(frame, frame->l4, 8))
		return;
	p = frame->data + frame->l4;
	if (load16(p + 2) != 4791)
		return;
	out->proto = proto;
	out->is_roce = true;
	out->has_udp = true;
	out->udp_sport = load16(p);
	if (fragment) {
		refuse(out, "ip_fragment");
		return;
	}
	if (frame->data[frame->l3] >> 4 == 4 &&
		!ipv4_checksum_ok(frame->data + frame->l3, frame->l4 - frame->l3))
		refuse(out, "ipv4_checksum_bad");
	frame->bth = frame->l4 + 8;
	check_ip_length(frame, out);
	if (frame->l4 + load16(p + 4) != frame->end)
		refuse(out, "udp_length_mismatch");
	decode_transport(frame, out);
}

static void decode_ipv4(struct frame *frame, struct uroce_text_packet *out)
{
	const uint8_t *p = frame->data + frame->l3;
	uint32_t header_bytes;
	uint16_t fragment;

	out->proto = "IPv4";
	if (!seen(frame, frame->l3, 20))
		return;
	header_bytes = (p[0] & 15u) * 4;
	if (p[0] >> 4 != 4 || header_bytes < 20)
		return;
	inet_ntop(AF_INET, p + 12, out->src, sizeof(out->src));
	inet_ntop(AF_INET, p + 16, out->dst, sizeof(out->dst));
	fragment = load16(p + 6);
	/* A fragment but the first shows no UDP port: it may be anyone's. */
	if (p[9] != 17 || (fragment & 0x1fff))
		return;
	frame->l4 = frame->l3 + header_bytes;
	frame->end = frame->l3 + load16(p + 2);
	decode_udp(frame, "RoCEv2/IPv4", fragment & 0x2000, out);
}

/* Fills in the addresses and the end of an IPv6 header or a GRH, which have the same form. */
static const uint8_t *decode_ipv6_header(struct frame *frame, struct uroce_text_packet *out)
{
	const uint8_t *p = frame->data + frame->l3;

	if (!seen(frame, frame->l3, 40) || p[0] >> 4 != 6)
		return NULL;
	inet_ntop(AF_INET6, p + 8, out->src, sizeof(out->src));
	inet_ntop(AF_INET6, p + 24, out->dst, sizeof(out->dst));
	frame->l4 = frame->l3 + 40;
	frame->end = frame->l4 + load16(p + 4);
	return p;
}

static void decode_ipv6(struct frame *frame, struct uroce_text_packet *out)
{
	const uint8_t *p;
	bool fragment = false;

	out->proto = "IPv6";
	p = decode_ipv6_header(frame, out);
	if (!p)
		return;
	/* No other extension header is stepped over: RoCE senders use none, and the ICRC
	 * leaves open how it would be covered. */
	if (p[6] == 44 && seen(frame, frame->l4, 8) && p[40] == 17 &&
		(load16(p + 42) & 0xfff8) == 0) {
		fragment = true;
		frame->l4 += 8;
	} else if (p[6] != 17) {
		return;
	}
	decode_udp(frame, "RoCEv2/IPv6", fragment, out);
}

static void decode_rocev1(struct frame *frame, struct uroce_text_packet *out)
{
	const uint8_t *p;

	out->proto = "RoCEv1";
	out->is_roce = true;
	refuse(out, "not_rocev2");
	p = decode_ipv6_header(frame, out);
	if (!p || p[6] != 0x1b)
		return;
	frame->bth = frame->l4;
	decode_transport(frame, out);
}

static void decode_arp(const struct frame *frame, struct uroce_text_packet *out)
{
	static const uint8_t ethernet_ipv4[6] = {0, 1, 8, 0, 6, 4};
	const uint8_t *p = frame->data + frame->l3;

	out->proto = "ARP";
	if (!seen(frame, frame->l3, 28) || memcmp(p, ethernet_ipv4, sizeof(ethernet_ipv4)) != 0)
		return;
	inet_ntop(AF_INET, p + 14, out->src, sizeof(out->src));
	inet_ntop(AF_INET, p + 24, out->dst, sizeof(out->dst));
}

static void decode_tag(const uint8_t *p, bool service, struct uroce_text_packet *out)
{
	if (out->num_tags == UROCE_TEXT_TAGS_MAX)
		return;
	out->tags[out->num_tags].vlan = load16(p) & 0xfff;
	out->tags[out->num_tags].priority = p[0] >> 5;
	out->tags[out->num_tags].may_drop = p[0] & 0x10;
	out->tags[out->num_tags++].service = service;
}

/* Ethernet and VLAN tags; returns the EtherType behind, 0 where it cannot be seen. */
static uint16_t decode_ethernet(struct frame *frame, struct uroce_text_packet *out)
{
	frame->l3 = 14;
	while (seen(frame, frame->l3 - 2, 2)) {
		uint16_t type = load16(frame->data + frame->l3 - 2);

		if (type != 0x8100 && type != 0x88a8)
			return type;
		if (seen(frame, frame->l3, 2))
			decode_tag(frame->data + frame->l3, type == 0x88a8, out);
		frame->l3 += 4;
	}
	return 0;
}

void uroce_text_decode(
	const uint8_t *data, uint32_t captured, uint32_t wire, struct uroce_text_packet *out)
{
	struct frame frame = {
		.data = data,
		.captured = captured,
		.wire = wire < captured ? captured : wire,
	};

	memset(out, 0, sizeof(*out));
	out->proto = "other";
	out->icrc = UROCE_TEXT_ICRC_UNKNOWN;
	switch (decode_ethernet(&frame, out)) {
	case 0x0800:
		decode_ipv4(&frame, out);
		break;
	case 0x86dd:
		decode_ipv6(&frame, out);
		break;
	case 0x0806:
		decode_arp(&frame, out);
		break;
	case 0x8915:
		decode_rocev1(&frame, out);
		break;
	default:
		break;
	}
}

const char *uroce_text_icrc_name(enum uroce_text_icrc icrc)
{
	static const char *const names[] = {
		[UROCE_TEXT_ICRC_UNKNOWN] = "unknown",
		[UROCE_TEXT_ICRC_OK] = "ok",
		[UROCE_TEXT_ICRC_BAD] = "bad",
		[UROCE_TEXT_ICRC_ABSENT] = "absent",
	};

	return names[icrc];
}

const char *uroce_text_drop_reason(const struct uroce_text_packet *packet)
{
	if (packet->malformed)
		return packet->malformed;
	if (packet->icrc == UROCE_TEXT_ICRC_BAD || packet->icrc == UROCE_TEXT_ICRC_ABSENT)
		return "icrc_bad";
	return NULL;
}
