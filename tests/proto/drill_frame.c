/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Frames of the peer, from a line of words.
 *
 * A second way to build a frame: bytes are put one after the other in wire order, checksums
 * are computed bit by bit and word by word as the standard describes them. Which extension
 * headers an opcode has comes from the text decoder's table. Nothing here is shared with the
 * engine, so a fault in its layout of a header cannot cancel itself out.
 */
#include "drill.h"

#include <stdlib.h>
#include <string.h>

#include "text_opcode.h"

enum {
	FLAG_ACK = 1 << 0,
	FLAG_SE = 1 << 1,
	FLAG_ECN = 1 << 2,
	FLAG_BADICRC = 1 << 3,
	FLAG_DIRTYPAD = 1 << 4,
	WORD_BYTES = 48,
};

/* What a line says about a frame. */
struct frame {
	struct uroce_text_opcode headers;
	uint8_t opcode;
	uint32_t flags;
	int64_t psn;
	uint64_t len, fill, at;
	uint64_t va, rkey, dma;
	bool has_dma, has_pad;
	uint64_t swap_add, compare;
	uint64_t syndrome, msn, orig, imm, inv;
	uint64_t pad, tver, pkey, qp, src, dst, trail, tos, ttl, sport;
	uint64_t qkey, sqpn, type, level, dmac, smac, tci;
};

/* Bytes being put one after the other. */
struct out {
	uint8_t *start;
	uint8_t *p;
};

static void put(struct out *out, uint64_t value, int bytes)
{
	for (int i = bytes - 1; i >= 0; i--)
		*out->p++ = (uint8_t)(value >> 8 * i);
}

uint8_t drill_pattern(uint32_t fill, uint64_t i)
{
	return (uint8_t)(i * 7 + (i >> 8) * 13 + fill * 101);
}

/* ---- reading the line ---- */

static void fail(const char *line, const char *word)
{
	fprintf(stderr, "drill: cannot read '%s' in '%s'\n", word, line);
	abort();
}

static bool next_word(const char **at, char word[WORD_BYTES])
{
	size_t n;

	*at += strspn(*at, " ");
	n = strcspn(*at, " ");
	if (n == 0)
		return false;
	if (n >= WORD_BYTES)
		fail(*at, "a long word");
	memcpy(word, *at, n);
	word[n] = '\0';
	*at += n;
	return true;
}

static int64_t next_number(const char **at, const char *line)
{
	char word[WORD_BYTES], *end;
	uint64_t value;

	if (!next_word(at, word))
		fail(line, "end of line");
	value = word[0] == '-' ? (uint64_t)strtoll(word, &end, 0) : strtoull(word, &end, 0);
	if (*end)
		fail(line, word);
	return (int64_t)value;
}

/* By the decoder's name, with or without RC_; or any number: op 0x1f. */
static void read_opcode(struct frame *f, const char **at, const char *line)
{
	char word[WORD_BYTES], with_rc[WORD_BYTES + 3];

	if (!next_word(at, word))
		fail(line, "opcode");
	if (strcmp(word, "op") == 0) {
		f->opcode = (uint8_t)next_number(at, line);
		uroce_text_opcode_resolve(f->opcode, &f->headers);
		return;
	}
	snprintf(with_rc, sizeof(with_rc), "RC_%s", word);
	for (uint32_t i = 0; i < 256; i++) {
		uroce_text_opcode_resolve((uint8_t)i, &f->headers);
		f->opcode = (uint8_t)i;
		if (strcmp(f->headers.name, word) == 0 || strcmp(f->headers.name, with_rc) == 0)
			return;
	}
	fail(line, word);
}

static bool read_flag(struct frame *f, const char *word)
{
	static const struct {
		const char *word;
		uint32_t flag;
	} flags[] = {{"ack", FLAG_ACK}, {"se", FLAG_SE}, {"ecn", FLAG_ECN},
		{"badicrc", FLAG_BADICRC}, {"dirtypad", FLAG_DIRTYPAD}};

	for (size_t i = 0; i < sizeof(flags) / sizeof(flags[0]); i++) {
		if (strcmp(word, flags[i].word) == 0) {
			f->flags |= flags[i].flag;
			return true;
		}
	}
	if (strcmp(word, "ACK") != 0)
		return false;
	f->syndrome = 0x1f;
	return true;
}

static bool read_field(struct frame *f, const char *word, int64_t number, const struct drill *d)
{
	uint64_t n = (uint64_t)number;
	const struct {
		const char *word;
		uint64_t *field;
	} fields[] = {{"len", &f->len}, {"fill", &f->fill}, {"at", &f->at}, {"absva", &f->va},
		{"rkey", &f->rkey}, {"dma", &f->dma}, {"swap_add", &f->swap_add},
		{"compare", &f->compare}, {"syndrome", &f->syndrome}, {"msn", &f->msn},
		{"orig", &f->orig}, {"imm", &f->imm}, {"inv", &f->inv}, {"pad", &f->pad},
		{"tver", &f->tver}, {"pkey", &f->pkey}, {"qp", &f->qp}, {"src", &f->src},
		{"dst", &f->dst}, {"trail", &f->trail}, {"tos", &f->tos}, {"ttl", &f->ttl},
		{"sport", &f->sport}, {"credits", &f->syndrome}, {"qkey", &f->qkey},
		{"sqpn", &f->sqpn}, {"type", &f->type}, {"level", &f->level}, {"dmac", &f->dmac},
		{"smac", &f->smac}, {"tci", &f->tci}};

	f->has_dma |= strcmp(word, "dma") == 0;
	f->has_pad |= strcmp(word, "pad") == 0;
	if (strcmp(word, "psn") == 0)
		f->psn = number;
	else if (strcmp(word, "va") == 0)
		f->va = (uintptr_t)d->ep.mem + n;
	else if (strcmp(word, "RNR") == 0)
		f->syndrome = 0x20 | n;
	else if (strcmp(word, "NAK") == 0)
		f->syndrome = 0x60 | n;
	for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++) {
		if (strcmp(word, fields[i].word) == 0) {
			*fields[i].field = n;
			return true;
		}
	}
	return strcmp(word, "psn") == 0 || strcmp(word, "va") == 0 || strcmp(word, "RNR") == 0 ||
		strcmp(word, "NAK") == 0;
}

static struct frame read_line(const struct drill *d, const char *line)
{
	struct frame f = {.fill = 1,
		.rkey = d->ep.key,
		.va = (uintptr_t)d->ep.mem,
		.syndrome = 0x1f,
		.pkey = 0xffff,
		.qp = d->ep.qp->qpn,
		.src = d->ep.conf.peer_ip,
		.dst = d->ep.conf.ip,
		.ttl = 64,
		.sport = 0xc123,
		.qkey = d->ep.conf.qkey,
		.sqpn = DRILL_PEER_QPN,
		.type = 1,
		.tci = d->ep.conf.tci,
		.dmac = 0x020000000000u | (uint8_t)d->ep.conf.ip,
		.smac = 0x020000000000u | (uint8_t)d->ep.conf.peer_ip};
	const char *at = line;
	char word[WORD_BYTES];

	read_opcode(&f, &at, line);
	while (next_word(&at, word))
		if (!read_flag(&f, word) && !read_field(&f, word, next_number(&at, line), d))
			fail(line, word);
	if (!f.has_dma)
		f.dma = f.len;
	if (!f.has_pad)
		f.pad = -f.len & 3;
	return f;
}

/* ---- bytes ---- */

/* CRC-32 of the standard, bit by bit, reflected; the caller inverts. */
static uint32_t crc_byte(uint32_t crc, uint8_t byte)
{
	crc ^= byte;
	for (int bit = 0; bit < 8; bit++)
		crc = crc & 1 ? crc >> 1 ^ 0xedb88320u : crc >> 1;
	return crc;
}

/* Over the datagram from the IP header on; fields that may change on the way count as ones. */
static uint32_t icrc(const uint8_t *ip, size_t bytes)
{
	uint32_t crc = 0xffffffff;

	for (int i = 0; i < 8; i++)
		crc = crc_byte(crc, 0xff);
	for (size_t i = 0; i < bytes; i++) {
		bool masked =
			i == 1 || i == 8 || i == 10 || i == 11 || i == 26 || i == 27 || i == 32;

		crc = crc_byte(crc, masked ? 0xff : ip[i]);
	}
	return ~crc;
}

static void put_ethernet_to_udp(struct out *out, const struct frame *f)
{
	put(out, f->dmac, 6);
	put(out, f->smac, 6);
	if (f->tci)
		put(out, 0x81000000 | f->tci, 4);
	put(out, 0x0800, 2);
	put(out, 0x45, 1);
	put(out, f->tos, 1);
	put(out, 0, 2); /* total length: later */
	put(out, 0x1234, 2);
	put(out, 0x4000, 2);
	put(out, f->ttl, 1);
	put(out, 17, 1);
	put(out, 0, 2); /* checksum: later */
	put(out, f->src, 4);
	put(out, f->dst, 4);
	put(out, f->sport, 2);
	put(out, 4791, 2);
	put(out, 0, 2); /* length: later */
	put(out, 0, 2);
}

static void put_bth(struct out *out, const struct drill *d, const struct frame *f)
{
	bool answer = f->opcode >= 0x0d && f->opcode <= 0x12;
	uint32_t base = answer ? d->sq_psn : d->rq_psn;

	put(out, f->opcode, 1);
	put(out, (f->flags & FLAG_SE ? 0x80u : 0) | (f->pad & 3) << 4 | f->tver, 1);
	put(out, f->pkey, 2);
	put(out, f->flags & FLAG_ECN ? 0xc0 : 0, 1);
	put(out, f->qp, 3);
	put(out, f->flags & FLAG_ACK ? 0x80 : 0, 1);
	put(out, ((uint64_t)f->psn + base) & 0xffffff, 3);
}

static void put_extensions(struct out *out, const struct frame *f)
{
	if (f->headers.deth)
		put(out, f->qkey << 32 | f->sqpn, 8);
	if (f->headers.feth)
		put(out, f->level << 4 | f->type, 4);
	if (f->headers.reth) {
		put(out, f->va, 8);
		put(out, f->rkey, 4);
		put(out, f->dma, 4);
	}
	if (f->headers.atomiceth) {
		put(out, f->va, 8);
		put(out, f->rkey, 4);
		put(out, f->swap_add, 8);
		put(out, f->compare, 8);
	}
	if (f->headers.aeth)
		put(out, f->syndrome << 24 | f->msn, 4);
	if (f->headers.atomicacketh)
		put(out, f->orig, 8);
	if (f->headers.immdt)
		put(out, f->imm, 4);
	if (f->headers.ieth)
		put(out, f->inv, 4);
}

static void patch16(uint8_t *p, uint32_t value)
{
	p[0] = (uint8_t)(value >> 8);
	p[1] = (uint8_t)value;
}

static void patch_lengths(uint8_t *ip, uint32_t ip_bytes)
{
	uint32_t sum = 0;

	patch16(ip + 2, ip_bytes);
	patch16(ip + 24, ip_bytes - 20);
	for (int i = 0; i < 20; i += 2)
		sum += (uint32_t)ip[i] << 8 | ip[i + 1];
	sum = (sum & 0xffff) + (sum >> 16);
	sum = (sum & 0xffff) + (sum >> 16);
	patch16(ip + 10, ~sum);
}

uint32_t drill_build_frame(const struct drill *d, const char *line, uint8_t *start)
{
	struct frame f = read_line(d, line);
	struct out out = {start, start};
	uint8_t *ip = start + (f.tci ? 18 : 14);
	uint32_t crc;

	put_ethernet_to_udp(&out, &f);
	put_bth(&out, d, &f);
	put_extensions(&out, &f);
	for (uint64_t i = 0; i < f.len; i++)
		*out.p++ = drill_pattern((uint32_t)f.fill, f.at + i);
	for (uint64_t i = 0; i < f.pad; i++)
		*out.p++ = 0;
	patch_lengths(ip, (uint32_t)(out.p - ip) + 4);
	crc = icrc(ip, (size_t)(out.p - ip));
	if (f.flags & FLAG_BADICRC)
		crc ^= 1;
	if (f.flags & FLAG_DIRTYPAD)
		out.p[-1] ^= 1;
	for (int i = 0; i < 4; i++)
		*out.p++ = (uint8_t)(crc >> 8 * i);
	for (uint64_t i = 0; i < f.trail; i++)
		*out.p++ = 0xee;
	return (uint32_t)(out.p - start);
}
