/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A decoded packet as one line of text and as one JSON object.
 *
 * Tests compare these lines as a whole, so their form is a contract: a field is printed in one
 * place, in one base (numbers that name things in hexadecimal, numbers that count in decimal), and
 * a new field goes where it does not change lines that have no such field. All strings come from
 * the decoder's own tables, so nothing needs escaping.
 */
#include "text.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

/* Text being put together; used counts on where the buffer ends, as snprintf does. */
struct output {
	char *buf;
	size_t size;
	size_t used;
};

__attribute__((format(printf, 2, 3))) static void add(struct output *out, const char *format, ...)
{
	size_t room = out->used < out->size ? out->size - out->used : 0;
	va_list args;
	int bytes;

	va_start(args, format);
	bytes = vsnprintf(room ? out->buf + out->used : NULL, room, format, args);
	va_end(args);
	if (bytes > 0)
		out->used += (size_t)bytes;
}

static void line_flags(struct output *out, const struct uroce_text_packet *packet)
{
	if (packet->se)
		add(out, " se");
	if (packet->ackreq)
		add(out, " ack");
	if (packet->fecn)
		add(out, " fecn");
	if (packet->becn)
		add(out, " becn");
	if (packet->tver)
		add(out, " tver %u", packet->tver);
	if (packet->pkey != 0xffff)
		add(out, " pkey 0x%04x", packet->pkey);
	if (packet->pad)
		add(out, " pad %u", packet->pad);
}

static void line_headers(struct output *out, const struct uroce_text_packet *packet)
{
	static const char *const kinds[] = {
		[UROCE_TEXT_AETH_ACK] = "ACK",
		[UROCE_TEXT_AETH_RNR] = "RNR NAK",
		[UROCE_TEXT_AETH_NAK] = "NAK",
		[UROCE_TEXT_AETH_RESERVED] = "AETH",
	};

	if (packet->has_deth)
		add(out, " qkey 0x%08x sqpn 0x%06x", packet->deth.qkey, packet->deth.sqpn);
	if (packet->has_feth)
		add(out, " type %u level %u", packet->feth.type, packet->feth.level);
	if (packet->has_reth)
		add(out, " va 0x%" PRIx64 " rkey 0x%08x dma_len %u", packet->reth.va,
			packet->reth.rkey, packet->reth.dma_len);
	if (packet->has_atomiceth)
		add(out, " va 0x%" PRIx64 " rkey 0x%08x swap_add 0x%" PRIx64 " compare 0x%" PRIx64,
			packet->atomiceth.va, packet->atomiceth.rkey, packet->atomiceth.swap_add,
			packet->atomiceth.compare);
	if (packet->has_aeth)
		add(out, " %s %s msn %u", kinds[packet->aeth.kind], packet->aeth.words,
			packet->aeth.msn);
	if (packet->has_atomicacketh)
		add(out, " orig 0x%" PRIx64, packet->atomicacketh);
	if (packet->has_immdt)
		add(out, " imm 0x%08x", packet->immdt);
	if (packet->has_ieth)
		add(out, " inv_rkey 0x%08x", packet->ieth);
}

static void line_tags(struct output *out, const struct uroce_text_packet *packet)
{
	for (int i = 0; i < packet->num_tags; i++) {
		add(out, " %svlan %u", packet->tags[i].service ? "s" : "", packet->tags[i].vlan);
		if (packet->tags[i].priority)
			add(out, " pcp %u", packet->tags[i].priority);
		if (packet->tags[i].may_drop)
			add(out, " dei");
	}
}

static int line(
	const struct uroce_text_packet *packet, const uint32_t *psn_base, char *buf, size_t size)
{
	struct output out = {.buf = buf, .size = size};

	if (!packet->has_bth) {
		add(&out, "%s", packet->proto);
	} else {
		add(&out, "%s qp 0x%06x", packet->opcode_name, packet->dqpn);
		if (psn_base)
			/* 24 bits, moved up so that the sign of the distance is the int's own. */
			add(&out, " psn %+d", (int32_t)((packet->psn - *psn_base) << 8) / 256);
		else
			add(&out, " psn %u", packet->psn);
		line_flags(&out, packet);
		line_headers(&out, packet);
	}
	if (packet->has_payload)
		add(&out, " len %u", packet->payload_bytes);
	line_tags(&out, packet);
	if (packet->is_roce)
		add(&out, " icrc %s", uroce_text_icrc_name(packet->icrc));
	if (packet->malformed)
		add(&out, " refused %s", packet->malformed);
	return (int)out.used;
}

int uroce_text_line(const struct uroce_text_packet *packet, char *buf, size_t size)
{
	return line(packet, NULL, buf, size);
}

int uroce_text_line_relative(
	const struct uroce_text_packet *packet, uint32_t psn_base, char *buf, size_t size)
{
	return line(packet, &psn_base, buf, size);
}

/* A key with a text or, where that is NULL or empty, with null. */
static void json_text(struct output *out, const char *key, const char *text)
{
	if (text && *text)
		add(out, ",\"%s\":\"%s\"", key, text);
	else
		add(out, ",\"%s\":null", key);
}

static void json_number(struct output *out, const char *key, bool present, uint64_t value)
{
	if (present)
		add(out, ",\"%s\":%" PRIu64, key, value);
	else
		add(out, ",\"%s\":null", key);
}

static void json_flag(struct output *out, const char *key, bool present, bool value)
{
	if (present)
		add(out, ",\"%s\":%s", key, value ? "true" : "false");
	else
		add(out, ",\"%s\":null", key);
}

static void json_headers(struct output *out, const struct uroce_text_packet *packet)
{
	static const char *const kinds[] = {
		[UROCE_TEXT_AETH_ACK] = "ACK",
		[UROCE_TEXT_AETH_RNR] = "RNR",
		[UROCE_TEXT_AETH_NAK] = "NAK",
		[UROCE_TEXT_AETH_RESERVED] = "reserved",
	};

	if (packet->has_deth)
		add(out, ",\"deth\":{\"qkey\":%u,\"sqpn\":%u}", packet->deth.qkey,
			packet->deth.sqpn);
	if (packet->has_feth)
		add(out, ",\"feth\":{\"type\":%u,\"level\":%u}", packet->feth.type,
			packet->feth.level);
	if (packet->has_reth)
		add(out, ",\"reth\":{\"va\":%" PRIu64 ",\"rkey\":%u,\"dma_len\":%u}",
			packet->reth.va, packet->reth.rkey, packet->reth.dma_len);
	if (packet->has_atomiceth)
		add(out,
			",\"atomiceth\":{\"va\":%" PRIu64 ",\"rkey\":%u,\"swap_add\":%" PRIu64
			",\"compare\":%" PRIu64 "}",
			packet->atomiceth.va, packet->atomiceth.rkey, packet->atomiceth.swap_add,
			packet->atomiceth.compare);
	if (packet->has_aeth)
		add(out, ",\"aeth\":{\"syndrome\":%u,\"msn\":%u,\"kind\":\"%s\",\"words\":\"%s\"}",
			packet->aeth.syndrome, packet->aeth.msn, kinds[packet->aeth.kind],
			packet->aeth.words);
	if (packet->has_atomicacketh)
		add(out, ",\"atomicacketh\":{\"orig\":%" PRIu64 "}", packet->atomicacketh);
	if (packet->has_immdt)
		add(out, ",\"immdt\":{\"imm\":%u}", packet->immdt);
	if (packet->has_ieth)
		add(out, ",\"ieth\":{\"rkey\":%u}", packet->ieth);
}

static void json_tags(struct output *out, const struct uroce_text_packet *packet)
{
	for (int i = 0; i < packet->num_tags; i++)
		add(out, "%s{\"vlan\":%u,\"pcp\":%u,\"dei\":%s,\"service\":%s}%s",
			i == 0 ? ",\"vlan_tags\":[" : ",", packet->tags[i].vlan,
			packet->tags[i].priority, packet->tags[i].may_drop ? "true" : "false",
			packet->tags[i].service ? "true" : "false",
			i == packet->num_tags - 1 ? "]" : "");
}

int uroce_text_json(const struct uroce_text_packet *packet, uint64_t frame, uint64_t time_ns,
	const char *drop, char *buf, size_t size)
{
	struct output out = {.buf = buf, .size = size};
	bool bth = packet->has_bth;

	add(&out, "{\"frame\":%" PRIu64 ",\"time_ns\":%" PRIu64, frame, time_ns);
	json_text(&out, "proto", packet->proto);
	json_text(&out, "src", packet->src);
	json_text(&out, "dst", packet->dst);
	json_number(&out, "udp_sport", packet->has_udp, packet->udp_sport);
	json_text(&out, "opcode", packet->opcode_name);
	json_number(&out, "opcode_number", bth, packet->opcode);
	json_number(&out, "dqpn", bth, packet->dqpn);
	json_number(&out, "psn", bth, packet->psn);
	json_flag(&out, "ackreq", bth, packet->ackreq);
	json_flag(&out, "se", bth, packet->se);
	json_flag(&out, "migreq", bth, packet->migreq);
	json_number(&out, "pad", bth, packet->pad);
	json_number(&out, "tver", bth, packet->tver);
	json_number(&out, "pkey", bth, packet->pkey);
	json_flag(&out, "fecn", bth, packet->fecn);
	json_flag(&out, "becn", bth, packet->becn);
	json_headers(&out, packet);
	json_tags(&out, packet);
	json_number(&out, "payload_bytes", packet->has_payload, packet->payload_bytes);
	json_text(&out, "icrc", packet->is_roce ? uroce_text_icrc_name(packet->icrc) : NULL);
	json_text(&out, "drop", drop);
	add(&out, "}");
	return (int)out.used;
}
