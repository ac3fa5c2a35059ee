/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Comparing, classifying, and saying the first difference in words.
 *
 * Masked, each because no peer may rely on it: the IPv4 identification (any value with DF), TTL and
 * TOS (routers change them, and they are outside the ICRC), the IPv4 checksum that follows from
 * those, IPv6's hop limit, traffic class and flow label for the same reasons, the UDP source port
 * (the sender's choice), MigReq (0 from soft-RoCE, 1 from hardware), FECN and BECN (set on the way,
 * outside the ICRC), DF (hardware may leave it out; RoCE is never fragmented). The ICRC is not
 * masked: it is computed anew over the recorded bytes with our values in the masked fields, and
 * must then be ours. Pad behind the datagram is Ethernet's and nobody's.
 */
#include "pcap/compare.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/psn.h"
#include "pcap/frame.h"

enum {
	DF_BIT = UROCE_IPV4_DF >> 8,
	FRAME_MAX = 9216,
	OP_ACK = 0x11,
	OP_READ_RESPONSE_MIDDLE = 0x0e,
	OP_CNP = 0x81,
	NAK_SEQUENCE = 0x60,
	NAK_INVALID = 0x61,
	NAK_ACCESS = 0x62,
	NAK_OPERATIONAL = 0x63,
};

#define CLASS_NAME(name, kind, rule) #name,
#define CLASS_RULE(name, kind, rule) rule,
#define CLASS_KIND(name, kind, rule) kind,

static const char *const class_names[] = {UROCE_REPLAY_CLASSES(CLASS_NAME)};
static const char *const class_rules[] = {UROCE_REPLAY_CLASSES(CLASS_RULE)};
static const int class_kinds[] = {UROCE_REPLAY_CLASSES(CLASS_KIND)};

const char *uroce_replay_class_name(enum uroce_replay_class c)
{
	return class_names[c];
}

const char *uroce_replay_class_rule(enum uroce_replay_class c)
{
	return class_rules[c];
}

int uroce_replay_class_kind(enum uroce_replay_class c)
{
	return class_kinds[c];
}

/* ---- lists ---- */

int uroce_sent_add(struct uroce_sent_list *sent, const uint8_t *data, uint32_t bytes)
{
	struct uroce_sent *s;

	if (sent->num == sent->max) {
		uint32_t more = sent->max ? 2 * sent->max : 64;
		void *grown = realloc(sent->list, more * sizeof(*sent->list));

		if (!grown)
			return -ENOMEM;
		sent->list = grown;
		sent->max = more;
	}
	s = &sent->list[sent->num];
	s->data = malloc(bytes);
	if (!s->data)
		return -ENOMEM;
	memcpy(s->data, data, bytes);
	s->bytes = bytes;
	uroce_text_decode(data, bytes, bytes, &s->text);
	sent->num++;
	return 0;
}

void uroce_sent_fini(struct uroce_sent_list *sent)
{
	for (uint32_t i = 0; i < sent->num; i++)
		free(sent->list[i].data);
	free(sent->list);
	memset(sent, 0, sizeof(*sent));
}

/* ---- two packets ---- */

enum match {
	MATCH_NOT,
	MATCH_BUT_ICRC,
	MATCH_BUT_ACKREQ,
	MATCH_SAME
};

/* What may differ besides the fields that are always masked. */
enum masked {
	MASK_NOTHING_MORE,
	MASK_ACKREQ,
	MASK_SYNDROME,
	MASK_PROGRESS
};

/* Takes bits of a byte from ours. */
static void take_bits(uint8_t *out, const uint8_t *ours, uint8_t bits)
{
	*out = (uint8_t)((*out & ~bits) | (*ours & bits));
}

static void mask_ip(uint8_t *out, const uint8_t *ours)
{
	if (out[0] >> 4 == 6) {
		take_bits(out, ours, 0x0f);
		memcpy(out + 1, ours + 1, 3);
		out[UROCE_IPV6_HOP_LIMIT] = ours[UROCE_IPV6_HOP_LIMIT];
		return;
	}
	out[UROCE_IPV4_TOS] = ours[UROCE_IPV4_TOS];
	memcpy(out + UROCE_IPV4_ID, ours + UROCE_IPV4_ID, 2);
	take_bits(out + UROCE_IPV4_FRAGMENT, ours + UROCE_IPV4_FRAGMENT, DF_BIT);
	out[UROCE_IPV4_TTL] = ours[UROCE_IPV4_TTL];
	memcpy(out + UROCE_IPV4_CHECKSUM, ours + UROCE_IPV4_CHECKSUM, 2);
}

static void mask_bth(uint8_t *out, const uint8_t *ours, enum masked more)
{
	take_bits(out + UROCE_BTH_FLAGS, ours + UROCE_BTH_FLAGS, UROCE_BTH_MIGREQ);
	out[UROCE_BTH_ECN] = ours[UROCE_BTH_ECN];
	if (more == MASK_ACKREQ)
		out[UROCE_BTH_ACKREQ] = ours[UROCE_BTH_ACKREQ];
	if (more == MASK_SYNDROME || more == MASK_PROGRESS)
		out[UROCE_BTH_BYTES] = ours[UROCE_BTH_BYTES];
	if (more == MASK_PROGRESS) {
		memcpy(out + UROCE_BTH_PSN, ours + UROCE_BTH_PSN, 3);
		memcpy(out + UROCE_BTH_BYTES + 1, ours + UROCE_BTH_BYTES + 1, 3);
	}
}

/* The recorded frame with our values in the masked fields, and the ICRC that follows. */
static uint32_t mask(const struct uroce_exchange_frame *recorded, const struct uroce_sent *ours,
	enum masked more, uint8_t *out)
{
	uint32_t eth_bytes = uroce_frame_eth_bytes(recorded->data);
	uint32_t udp = eth_bytes + uroce_frame_ip_bytes(recorded->data);
	uint32_t bytes = uroce_frame_end(recorded->data);

	memcpy(out, recorded->data, bytes);
	mask_ip(out + eth_bytes, ours->data + eth_bytes);
	memcpy(out + udp, ours->data + udp, 2);
	mask_bth(out + udp + UROCE_UDP_BYTES, uroce_frame_bth(ours->data), more);
	uroce_frame_seal(out);
	return bytes;
}

/* From the start of a frame to the end of its BTH. */
static uint32_t template_bytes(const uint8_t *frame)
{
	return (uint32_t)(uroce_frame_bth(frame) - frame) + UROCE_BTH_BYTES;
}

/* Whether two frames can be compared byte by byte: of one length, with headers of one length. */
static bool are_alike(const struct uroce_exchange_frame *recorded, const struct uroce_sent *ours)
{
	return recorded->bytes <= FRAME_MAX && !uroce_frame_has_options(recorded->data) &&
		uroce_frame_is_ipv6(recorded->data) == uroce_frame_is_ipv6(ours->data) &&
		uroce_frame_eth_bytes(recorded->data) == uroce_frame_eth_bytes(ours->data) &&
		ours->bytes >= template_bytes(ours->data) + UROCE_ICRC_BYTES &&
		ours->bytes == uroce_frame_end(recorded->data);
}

static enum match match(const struct uroce_exchange_frame *recorded, const struct uroce_sent *ours)
{
	uint8_t masked[FRAME_MAX];
	uint32_t bytes;

	if (!are_alike(recorded, ours))
		return MATCH_NOT;
	bytes = mask(recorded, ours, MASK_NOTHING_MORE, masked);
	if (recorded->seen_icrc_ok && memcmp(masked, ours->data, bytes) == 0)
		return MATCH_SAME;
	mask(recorded, ours, MASK_ACKREQ, masked);
	if (recorded->seen_icrc_ok && memcmp(masked, ours->data, bytes) == 0)
		return MATCH_BUT_ACKREQ;
	/* Damaged behind the sender: the headers at least must be the same. */
	bytes = template_bytes(masked);
	return !recorded->seen_icrc_ok && memcmp(masked, ours->data, bytes) == 0 ? MATCH_BUT_ICRC
										 : MATCH_NOT;
}

/* Two acknowledgements that are the same but for what `more` names. */
static bool acks_match(const struct uroce_exchange_frame *recorded, const struct uroce_sent *ours,
	enum masked more)
{
	uint8_t masked[FRAME_MAX];
	uint32_t bytes;

	if (!recorded->seen_icrc_ok || !are_alike(recorded, ours))
		return false;
	bytes = mask(recorded, ours, more, masked);
	return memcmp(masked, ours->data, bytes) == 0;
}

static bool is_ack(const struct uroce_text_packet *t)
{
	return t->opcode == OP_ACK && t->has_aeth && t->aeth.kind == UROCE_TEXT_AETH_ACK;
}

static bool is_nak(const struct uroce_text_packet *t, uint8_t syndrome)
{
	return t->opcode == OP_ACK && t->has_aeth && t->aeth.syndrome == syndrome;
}

static bool is_read_response(const struct uroce_text_packet *t)
{
	return t->opcode >= 0x0d && t->opcode <= 0x10;
}

static bool same_payload(const struct uroce_exchange_frame *a, const struct uroce_sent *b)
{
	return a->text.payload_bytes == b->text.payload_bytes &&
		memcmp(a->data + a->text.payload_offset, b->data + b->text.payload_offset,
			a->text.payload_bytes) == 0;
}

/* ---- the walk ---- */

/* Where a comparison stands: recorded packets of one direction, and ours. */
struct walk {
	const struct uroce_exchange *e;
	bool requests;
	uint32_t recorded; /* index into e->frames */
	const struct uroce_sent_list *sent;
	uint32_t ours;
	struct uroce_comparison *out;
};

static const struct uroce_exchange_frame *recorded_at(struct walk *w)
{
	while (w->recorded < w->e->num_frames &&
		(w->e->frames[w->recorded]->request != w->requests ||
			w->e->frames[w->recorded]->repeated_by_wire))
		w->recorded++;
	return w->recorded < w->e->num_frames ? w->e->frames[w->recorded] : NULL;
}

static const struct uroce_sent *ours_at(const struct walk *w)
{
	return w->ours < w->sent->num ? &w->sent->list[w->ours] : NULL;
}

static void note(struct walk *w, enum uroce_replay_class c)
{
	const struct uroce_exchange_frame *recorded = recorded_at(w);
	const struct uroce_sent *ours = ours_at(w);
	char theirs_text[UROCE_TEXT_LINE_BYTES] = "nothing",
	     ours_text[UROCE_TEXT_LINE_BYTES] = "nothing";

	w->out->counts[c]++;
	if (class_kinds[c] < 3 || w->out->difference[0])
		return;
	if (recorded && c != UROCE_REPLAY_UNEXPECTED)
		uroce_text_line(&recorded->text, theirs_text, sizeof(theirs_text));
	if (ours && c != UROCE_REPLAY_MISSING)
		uroce_text_line(&ours->text, ours_text, sizeof(ours_text));
	snprintf(w->out->difference, sizeof(w->out->difference),
		"frame %llu: %s\n  recorded  %s\n  uroce     %s",
		recorded ? (unsigned long long)recorded->number : 0ull, class_rules[c], theirs_text,
		ours_text);
}

static void step(struct walk *w, enum uroce_replay_class c, bool recorded, bool ours)
{
	note(w, c);
	w->recorded += recorded;
	w->ours += ours;
}

/* Whether anything that we send from here on acknowledges psn. */
static bool covered_later(const struct walk *w, uint32_t psn)
{
	for (uint32_t i = w->ours; i < w->sent->num; i++)
		if (!uroce_psn_before(w->sent->list[i].text.psn, psn))
			return true;
	return false;
}

/* Two different acknowledgements. */
static void compare_acks(
	struct walk *w, const struct uroce_exchange_frame *theirs, const struct uroce_sent *ours)
{
	int32_t ahead = uroce_psn_diff(ours->text.psn, theirs->text.psn);
	uint32_t at = w->recorded;
	const struct uroce_exchange_frame *next;

	if (ahead == 0) {
		step(w,
			acks_match(theirs, ours, MASK_SYNDROME) ? UROCE_REPLAY_CREDITS
								: UROCE_REPLAY_WRONG_PACKET,
			true, true);
		return;
	}
	if (ahead < 0) {
		step(w, UROCE_REPLAY_ACK_EXTRA, false, true);
		return;
	}
	/* Theirs is older: ours covers it, and is compared with the next, if that is an ACK too. */
	w->recorded++;
	next = recorded_at(w);
	w->recorded = at;
	if (next && is_ack(&next->text) && !uroce_psn_before(ours->text.psn, next->text.psn))
		step(w, UROCE_REPLAY_ACK_COALESCED, true, false);
	else
		step(w,
			acks_match(theirs, ours, MASK_PROGRESS) ? UROCE_REPLAY_DUPLICATE_ACK
								: UROCE_REPLAY_WRONG_PACKET,
			true, true);
}

/* Our next two are their next two, the other way round. */
static bool are_swapped(struct walk *w)
{
	const struct uroce_exchange_frame *first = recorded_at(w), *second;
	uint32_t at = w->recorded;
	bool swapped;

	if (w->ours + 1 >= w->sent->num)
		return false;
	w->recorded++;
	second = recorded_at(w);
	swapped = second && match(first, ours_at(w) + 1) == MATCH_SAME &&
		match(second, ours_at(w)) == MATCH_SAME;
	w->recorded = at;
	return swapped;
}

static void step_swapped(struct walk *w)
{
	step(w, UROCE_REPLAY_SWAPPED_BY_WIRE, true, true);
	recorded_at(w);
	step(w, UROCE_REPLAY_SWAPPED_BY_WIRE, true, true);
}

/* Our complaint about a PSN that in the capture, too, was overtaken by a later one. */
static bool is_true_complaint(const struct walk *w, const struct uroce_sent *ours)
{
	uint32_t psn = ours->text.psn;

	if (!is_nak(&ours->text, NAK_SEQUENCE))
		return false;
	for (uint32_t i = 0; i < w->e->num_frames; i++) {
		const struct uroce_exchange_frame *f = w->e->frames[i];

		if (!f->request || f->lost)
			continue;
		if (f->text.psn == psn)
			return false;
		if (uroce_psn_before(psn, f->text.psn))
			return true;
	}
	return false;
}

/* Our notification of congestion, where the capture has as many marked packets with data. */
static bool is_true_notification(const struct walk *w)
{
	int32_t marked = 0;

	if (w->sent->list[w->ours].text.opcode != OP_CNP)
		return false;
	for (uint32_t i = 0; i < w->e->num_frames; i++) {
		const struct uroce_exchange_frame *f = w->e->frames[i];

		marked += f->request != w->requests && !f->lost && f->text.payload_bytes > 0 &&
			uroce_frame_is_marked(f->data);
	}
	for (uint32_t i = 0; i <= w->ours; i++)
		marked -= w->sent->list[i].text.opcode == OP_CNP;
	return marked >= 0;
}

/* Answers that carry data or bad news, and are not the same. */
static void compare_others(
	struct walk *w, const struct uroce_exchange_frame *theirs, const struct uroce_sent *ours)
{
	bool same_psn = theirs->text.psn == ours->text.psn;

	if (same_psn && is_read_response(&theirs->text) && is_read_response(&ours->text) &&
		theirs->text.opcode != ours->text.opcode && same_payload(theirs, ours))
		step(w, UROCE_REPLAY_READ_RESUMED, true, true);
	else if (same_psn && is_nak(&theirs->text, NAK_OPERATIONAL) &&
		is_nak(&ours->text, NAK_INVALID))
		step(w, UROCE_REPLAY_NAK_FOR_LENGTH, true, true);
	else if (same_psn && is_nak(&theirs->text, NAK_ACCESS) && is_nak(&ours->text, NAK_INVALID))
		step(w, UROCE_REPLAY_NAK_FOR_LONG_READ, true, true);
	else
		step(w, UROCE_REPLAY_WRONG_PACKET, true, true);
}

/* Our refusal where the recorded peer went on: then the exchange is over. */
static bool ends_here(
	struct walk *w, const struct uroce_sent *ours, const struct uroce_ending *ending)
{
	enum uroce_replay_class c;

	if (ours && is_nak(&ours->text, NAK_INVALID) && ending->refused_length)
		c = UROCE_REPLAY_LENGTH_ACCEPTED;
	else if (!ours && ending->refused_invalidate)
		c = UROCE_REPLAY_INVALIDATE_ACCEPTED;
	else
		return false;
	note(w, c);
	w->out->ended_early = true;
	return true;
}

void uroce_compare_answers(const struct uroce_exchange *e, const struct uroce_sent_list *sent,
	const struct uroce_ending *ending, struct uroce_comparison *out)
{
	struct walk w = {.e = e, .sent = sent, .out = out};
	const struct uroce_exchange_frame *theirs;
	const struct uroce_sent *ours;

	while ((theirs = recorded_at(&w)) || ours_at(&w)) {
		ours = ours_at(&w);
		if (theirs && ours && match(theirs, ours) == MATCH_SAME)
			step(&w, UROCE_REPLAY_IDENTICAL, true, true);
		else if (theirs && are_swapped(&w))
			step_swapped(&w);
		else if (ours && is_true_complaint(&w, ours))
			step(&w, UROCE_REPLAY_COMPLAINT_UNSEEN, false, true);
		else if (ours && is_true_notification(&w))
			step(&w, UROCE_REPLAY_NOTIFICATION, false, true);
		else if (theirs && is_ack(&theirs->text) && ends_here(&w, ours, ending))
			return;
		else if (theirs && ours && is_ack(&theirs->text) && is_ack(&ours->text))
			compare_acks(&w, theirs, ours);
		else if (ours && is_ack(&ours->text))
			step(&w, theirs ? UROCE_REPLAY_ACK_EXTRA : UROCE_REPLAY_ACK_AT_THE_END,
				false, true);
		else if (theirs && is_ack(&theirs->text) && covered_later(&w, theirs->text.psn))
			step(&w, UROCE_REPLAY_ACK_COALESCED, true, false);
		else if (!ours)
			step(&w, UROCE_REPLAY_MISSING, true, false);
		else if (!theirs)
			step(&w, UROCE_REPLAY_UNEXPECTED, false, true);
		else
			compare_others(&w, theirs, ours);
	}
}

/* A packet of ours that is sent again: it must still be what was recorded for its PSN. */
static bool is_known_request(const struct uroce_exchange *e, const struct uroce_sent *ours)
{
	for (uint32_t i = 0; i < e->num_frames; i++)
		if (e->frames[i]->request && match(e->frames[i], ours) != MATCH_NOT)
			return true;
	return false;
}

static bool was_sent_before(const struct walk *w, uint32_t psn)
{
	for (uint32_t i = 0; i < w->ours; i++)
		if (w->sent->list[i].text.psn == psn)
			return true;
	return false;
}

void uroce_compare_requests(const struct uroce_exchange *e, const struct uroce_sent_list *sent,
	struct uroce_comparison *out)
{
	struct walk w = {.e = e, .requests = true, .sent = sent, .out = out};
	const struct uroce_exchange_frame *theirs;
	const struct uroce_sent *ours;

	while ((theirs = recorded_at(&w)) || ours_at(&w)) {
		enum match m;

		ours = ours_at(&w);
		m = theirs && ours ? match(theirs, ours) : MATCH_NOT;
		if (m == MATCH_SAME)
			step(&w, UROCE_REPLAY_IDENTICAL, true, true);
		else if (m == MATCH_BUT_ACKREQ)
			step(&w, UROCE_REPLAY_ACK_REQUEST, true, true);
		else if (m == MATCH_BUT_ICRC)
			step(&w, UROCE_REPLAY_DAMAGED_BY_WIRE, true, true);
		else if (theirs && are_swapped(&w))
			step_swapped(&w);
		else if (ours && is_true_notification(&w))
			step(&w, UROCE_REPLAY_NOTIFICATION, false, true);
		else if (ours && was_sent_before(&w, ours->text.psn) && is_known_request(e, ours))
			step(&w, UROCE_REPLAY_RESENT_PACKETS, false, true);
		else if (theirs && !theirs->first_time)
			step(&w, UROCE_REPLAY_RESENT_PACKETS, true, false);
		else if (!ours)
			step(&w, UROCE_REPLAY_MISSING, true, false);
		else if (!theirs)
			step(&w, UROCE_REPLAY_UNEXPECTED, false, true);
		else
			step(&w, UROCE_REPLAY_WRONG_PACKET, true, true);
	}
}
