/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Builds frames from words.
 */
#define _GNU_SOURCE
#include "capture_script.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/icrc.h"
#include "engine/opcode.h"
#include "engine/wire.h"
#include "pcap/frame.h"

enum {
	IP_A = 0xc0000201,
	QPN_A = 0x11,
	STEP_US = 10,
	START_S = 1000,
	LINE_BYTES = 200,
	RKEY = 0x1234,
};

struct line {
	bool from_b, bad, zero, ce;
	const struct uroce_opcode *opcode;
	uint32_t psn, len, dma_len, qpn, syndrome, cut, us, sport, sqpn;
	bool has_dma_len;
};

static void die(const char *line, const char *word)
{
	fprintf(stderr, "capture script: \"%s\" in \"%s\"\n", word, line);
	exit(2);
}

static const struct uroce_opcode *find_opcode(const char *line, const char *word)
{
	char name[64];

	snprintf(name, sizeof(name), strncmp(word, "U", 1) && strcmp(word, "CNP") ? "RC_%s" : "%s",
		word);
	for (int i = 0; i < 256; i++)
		if (uroce_opcodes[i].name && strcmp(uroce_opcodes[i].name, name) == 0)
			return &uroce_opcodes[i];
	die(line, word);
	return NULL;
}

static uint32_t number(const char *line, const char *word)
{
	char *end = NULL;
	unsigned long value = word ? strtoul(word, &end, 0) : 0;

	if (!word || *end || end == word)
		die(line, word ? word : "(end)");
	return (uint32_t)value;
}

/* What comes in front of the other words. */
static void take_start(struct line *l, const char *line, char **rest)
{
	char *side = strsep(rest, " "), *word = strsep(rest, " ");
	bool nak = word && strcmp(word, "NAK") == 0, rnr = word && strcmp(word, "RNR") == 0;

	if (!word || (strcmp(side, "A") && strcmp(side, "B")))
		die(line, side);
	l->from_b = *side == 'B';
	l->us = STEP_US;
	l->qpn = l->from_b ? QPN_A : QPN_A + 1;
	l->sport = 0xc000;
	l->syndrome = UROCE_SYNDROME_ACK_NO_CREDITS;
	if (strcmp(word, "READ") == 0)
		word = "RDMA_READ_REQUEST";
	else if (nak || rnr || strcmp(word, "ACK") == 0)
		word = "ACKNOWLEDGE";
	l->opcode = find_opcode(line, word);
	l->psn = number(line, strsep(rest, " "));
	if (nak)
		l->syndrome = number(line, strsep(rest, " "));
	if (rnr)
		l->syndrome = UROCE_SYNDROME_RNR | number(line, strsep(rest, " "));
}

static void take_word(struct line *l, const char *line, const char *word, char **rest)
{
	if (*word == '+')
		l->us = number(line, word + 1);
	else if (strcmp(word, "bad") == 0)
		l->bad = true;
	else if (strcmp(word, "zero") == 0)
		l->zero = true;
	else if (strcmp(word, "ce") == 0)
		l->ce = true;
	else if (strcmp(word, "len") == 0)
		l->len = number(line, strsep(rest, " "));
	else if (strcmp(word, "qp") == 0)
		l->qpn = number(line, strsep(rest, " "));
	else if (strcmp(word, "cut") == 0)
		l->cut = number(line, strsep(rest, " "));
	else if (strcmp(word, "sport") == 0)
		l->sport = number(line, strsep(rest, " "));
	else if (strcmp(word, "sqpn") == 0)
		l->sqpn = number(line, strsep(rest, " "));
	else if (strcmp(word, "of") == 0) {
		l->dma_len = number(line, strsep(rest, " "));
		l->has_dma_len = true;
	} else if (*word)
		die(line, word);
}

static struct line take_line(const char *text)
{
	char copy[LINE_BYTES], *rest = copy, *word;
	struct line l = {0};

	snprintf(copy, sizeof(copy), "%s", text);
	take_start(&l, text, &rest);
	while ((word = strsep(&rest, " ")))
		take_word(&l, text, word, &rest);
	if (!l.has_dma_len)
		l.dma_len = l.len;
	return l;
}

static uint8_t *put_headers(const struct line *l, uint8_t *p)
{
	const struct uroce_opcode *opcode = l->opcode;

	if (opcode->deth) {
		uroce_store_be32(p + UROCE_DETH_QKEY, 0x11111111);
		uroce_store_be24(p + UROCE_DETH_SQPN, l->sqpn);
		p += UROCE_DETH_BYTES;
	}
	if (opcode->reth) {
		uroce_store_be64(p + UROCE_RETH_VA, 0x10000);
		uroce_store_be32(p + UROCE_RETH_RKEY, RKEY);
		uroce_store_be32(p + UROCE_RETH_DMALEN, l->dma_len);
		p += UROCE_RETH_BYTES;
	}
	if (opcode->atomiceth)
		p += UROCE_ATOMICETH_BYTES;
	if (opcode->aeth) {
		p[UROCE_AETH_SYNDROME] = (uint8_t)l->syndrome;
		p += UROCE_AETH_BYTES;
	}
	if (opcode->atomicacketh)
		p += UROCE_ATOMICACKETH_BYTES;
	if (opcode->immdt)
		p += UROCE_IMMDT_BYTES;
	if (opcode->ieth)
		p += UROCE_IETH_BYTES;
	return p;
}

static void put_ip(const struct line *l, uint8_t *ip, uint32_t bytes)
{
	uint8_t *udp = ip + UROCE_IPV4_BYTES;

	ip[0] = 0x45;
	ip[UROCE_IPV4_TOS] = l->ce ? UROCE_ECN_CE : UROCE_ECN_ECT0;
	uroce_store_be16(ip + UROCE_IPV4_TOTAL_LEN, (uint16_t)bytes);
	ip[UROCE_IPV4_TTL] = 64;
	ip[UROCE_IPV4_PROTOCOL] = UROCE_IP_PROTOCOL_UDP;
	uroce_store_be32(ip + UROCE_IPV4_SRC, IP_A + l->from_b);
	uroce_store_be32(ip + UROCE_IPV4_DST, IP_A + !l->from_b);
	uroce_store_be16(ip + UROCE_IPV4_CHECKSUM,
		(uint16_t)~uroce_ip_fold(uroce_ip_sum(ip, UROCE_IPV4_BYTES, 0)));
	uroce_store_be16(udp + UROCE_UDP_SPORT, (uint16_t)l->sport);
	uroce_store_be16(udp + UROCE_UDP_DPORT, UROCE_UDP_PORT);
	uroce_store_be16(udp + UROCE_UDP_LEN, (uint16_t)(bytes - UROCE_IPV4_BYTES));
}

static uint32_t build(const struct line *l, uint8_t *frame)
{
	uint8_t *ip = frame + UROCE_ETH_BYTES;
	uint8_t *bth = ip + UROCE_IPV4_BYTES + UROCE_UDP_BYTES, *end;
	uint32_t pad = -l->len & 3;

	uroce_store_be16(frame + UROCE_ETH_TYPE, UROCE_ETHERTYPE_IPV4);
	bth[UROCE_BTH_OPCODE] = l->opcode->number;
	bth[UROCE_BTH_FLAGS] = (uint8_t)(pad << UROCE_BTH_PAD_SHIFT);
	uroce_store_be16(bth + UROCE_BTH_PKEY, UROCE_PKEY_DEFAULT);
	uroce_store_be24(bth + UROCE_BTH_DQPN, l->qpn);
	bth[UROCE_BTH_ACKREQ] = l->opcode->last ? UROCE_BTH_ACKREQ_BIT : 0;
	uroce_store_be24(bth + UROCE_BTH_PSN, l->psn);
	end = put_headers(l, bth + UROCE_BTH_BYTES);
	memset(end, (int)(l->psn & 0xff), l->len);
	end += l->len + pad;
	put_ip(l, ip, (uint32_t)(end - ip) + UROCE_ICRC_BYTES);
	uroce_frame_seal(frame);
	if (l->zero)
		memset(end, 0, UROCE_ICRC_BYTES);
	if (l->bad)
		end[-1] ^= 1;
	return (uint32_t)(end - frame) + UROCE_ICRC_BYTES;
}

bool capture_script_next(struct capture_script *script, struct uroce_pcap_frame *frame)
{
	char text[LINE_BYTES];
	size_t n;
	struct line l;

	while (*script->at == ' ' || *script->at == ';' || *script->at == '\n')
		script->at++;
	n = strcspn(script->at, ";\n");
	if (n == 0)
		return false;
	snprintf(text, sizeof(text), "%.*s", (int)n, script->at);
	script->at += n;
	l = take_line(text);
	memset(script->bytes, 0, sizeof(script->bytes));
	if (script->number == 0)
		script->time_ns = START_S * UINT64_C(1000000000);
	script->time_ns += l.us * UINT64_C(1000);
	frame->number = ++script->number;
	frame->time_ns = script->time_ns;
	frame->data = script->bytes;
	frame->wire_bytes = build(&l, script->bytes);
	frame->captured_bytes = l.cut && l.cut < frame->wire_bytes ? l.cut : frame->wire_bytes;
	return true;
}
