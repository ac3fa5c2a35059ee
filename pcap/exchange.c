/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Finding exchanges, and guessing what the wire lost.
 *
 * A capture taken at the sender holds frames that never arrived. A request that is sent again
 * although nothing came back that speaks of it was lost, unless a complaint about an earlier gap
 * says that it did arrive, too early. An answer was lost if what it answers is asked for again.
 * Bytes that come twice within milliseconds were doubled by the wire.
 */
#include "pcap/exchange.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/psn.h"
#include "pcap/frame.h"
#include "pcap/reader.h"

enum {
	MTU_MIN = 256,
	MTU_DEFAULT = 1024,
	MTU_MAX = 4096,
	OP_BITS = 5,
	OP_MASK = 0x1f,
	SERVICE_RC = 0,
	SERVICE_UC = 1,
	SERVICE_UD = 3,
	OP_READ_REQUEST = 0x0c,
	OP_READ_RESPONSE_FIRST = 0x0d,
	OP_ATOMIC_ACK = 0x12,
	OP_ACK = 0x11,
	NAK_SEQUENCE = 0x60,
	PEEK_PSNS = 1 << 20,
};

#define WIRE_DOUBLE_NS 5000000u

static bool is_response(uint8_t opcode)
{
	return opcode >= OP_READ_RESPONSE_FIRST && opcode <= OP_ATOMIC_ACK;
}

static bool is_service(uint8_t service)
{
	return service == SERVICE_RC || service == SERVICE_UC || service == SERVICE_UD;
}

static uint16_t vlan_of(const struct uroce_exchange_frame *f)
{
	return uroce_frame_tci(f->data) & UROCE_TCI_VLAN_MASK;
}

static bool is_between(
	const struct uroce_exchange_frame *f, struct uroce_gid src, struct uroce_gid dst)
{
	return uroce_gid_equal(f->src, src) && uroce_gid_equal(f->dst, dst);
}

/* The same way, in the same VLAN. */
static bool goes_with(const struct uroce_exchange_frame *f, const struct uroce_exchange_frame *g)
{
	return is_between(f, g->src, g->dst) && vlan_of(f) == vlan_of(g);
}

static bool answers(const struct uroce_exchange_frame *f, const struct uroce_exchange_frame *g)
{
	return is_between(f, g->dst, g->src) && vlan_of(f) == vlan_of(g);
}

/* ---- reading ---- */

/* The engine takes one VLAN tag, so the EtherType must be where it is behind that. */
static bool is_replayable(const uint8_t *data, const struct uroce_text_packet *text)
{
	uint16_t type;

	if (!text->has_bth || !is_service(text->opcode >> OP_BITS))
		return false;
	type = uroce_load_be16(uroce_frame_ip(data) - 2);
	return (type == UROCE_ETHERTYPE_IPV4 && strcmp(text->proto, "RoCEv2/IPv4") == 0) ||
		(type == UROCE_ETHERTYPE_IPV6 && strcmp(text->proto, "RoCEv2/IPv6") == 0);
}

static int keep(
	struct uroce_exchanges *out, const struct uroce_pcap_frame *frame, uint64_t first_ns)
{
	struct uroce_exchange_frame *f;

	if (out->num_frames == out->max_frames) {
		uint32_t more = out->max_frames ? 2 * out->max_frames : 256;
		void *grown = realloc(out->frames, more * sizeof(*out->frames));

		if (!grown)
			return -ENOMEM;
		out->frames = grown;
		out->max_frames = more;
	}
	f = &out->frames[out->num_frames];
	memset(f, 0, sizeof(*f));
	uroce_text_decode(frame->data, frame->captured_bytes, frame->wire_bytes, &f->text);
	if (!is_replayable(frame->data, &f->text)) {
		out->left_out++;
		return 0;
	}
	f->data = malloc(frame->captured_bytes);
	if (!f->data)
		return -ENOMEM;
	memcpy(f->data, frame->data, frame->captured_bytes);
	f->bytes = frame->captured_bytes;
	f->number = frame->number;
	f->time_ns = frame->time_ns > first_ns ? frame->time_ns - first_ns : 0;
	f->src = uroce_frame_src(f->data);
	f->dst = uroce_frame_dst(f->data);
	f->request = !is_response(f->text.opcode);
	f->service = f->text.opcode >> OP_BITS;
	f->op = f->text.opcode & OP_MASK;
	f->whole = frame->captured_bytes == frame->wire_bytes &&
		f->text.icrc != UROCE_TEXT_ICRC_ABSENT;
	f->seen_icrc_ok = f->text.icrc == UROCE_TEXT_ICRC_OK;
	out->num_frames++;
	return 0;
}

static int read_frames(struct uroce_exchanges *out, const char *path, char *err, size_t err_bytes)
{
	struct uroce_pcap_reader *reader;
	struct uroce_pcap_frame frame;
	uint64_t first_ns = 0;
	int rc = uroce_pcap_reader_open(path, &reader, err, err_bytes);

	if (rc)
		return rc;
	while ((rc = uroce_pcap_reader_next(reader, &frame)) == 1) {
		if (frame.number == 1)
			first_ns = frame.time_ns;
		rc = keep(out, &frame, first_ns);
		if (rc)
			break;
	}
	if (rc)
		snprintf(err, err_bytes, "%s",
			rc == -ENOMEM ? "not enough memory for this capture"
				      : uroce_pcap_reader_error(reader));
	uroce_pcap_reader_close(reader);
	return rc;
}

/* ---- pairing ---- */

static uint32_t round_up_mtu(uint32_t bytes)
{
	uint32_t mtu = MTU_MIN;

	while (mtu < bytes && mtu < MTU_MAX)
		mtu *= 2;
	return mtu;
}

/* Path MTU between the ends of a packet: what full packets between them carry. */
static uint32_t find_mtu(const struct uroce_exchanges *all, const struct uroce_exchange_frame *one)
{
	uint32_t most = 0;

	for (uint32_t i = 0; i < all->num_frames; i++) {
		const struct uroce_exchange_frame *f = &all->frames[i];
		bool between = goes_with(f, one) || answers(f, one);
		uint8_t op = f->op;
		bool full = f->service == SERVICE_UD || op == 0x00 || op == 0x01 || op == 0x06 ||
			op == 0x07 || op == 0x0d || op == 0x0e;

		if (between && full && f->text.payload_bytes > most)
			most = f->text.payload_bytes;
	}
	return most ? round_up_mtu(most) : MTU_DEFAULT;
}

/*
 * The number of the queue pair that sent a request, from the next answer that fits; 0 if there is
 * none. A number on the responder's side may serve one connection after another.
 */
static uint32_t peek_requester(const struct uroce_exchanges *all, uint32_t index)
{
	const struct uroce_exchange_frame *f = &all->frames[index];

	if (f->service != SERVICE_RC)
		return f->text.has_deth ? f->text.deth.sqpn : 0;
	for (uint32_t i = index + 1; i < all->num_frames; i++) {
		const struct uroce_exchange_frame *g = &all->frames[i];

		if (!g->request && answers(g, f) &&
			((g->text.psn - f->text.psn) & UROCE_PSN_MASK) < PEEK_PSNS)
			return g->text.dqpn;
		if (g->request && uroce_gid_equal(g->src, f->src) && vlan_of(g) == vlan_of(f) &&
			g->text.dqpn == f->text.dqpn && g->text.psn == f->text.psn &&
			g->bytes != f->bytes)
			return 0;
	}
	return 0;
}

/* The latest exchange that this request may belong to. */
static struct uroce_exchange *find_requests(struct uroce_exchanges *all, uint32_t index)
{
	const struct uroce_exchange_frame *f = &all->frames[index];
	uint32_t requester_qpn = peek_requester(all, index);

	for (uint32_t i = all->num; i-- > 0;) {
		struct uroce_exchange *e = &all->list[i];

		if (!goes_with(f, e->frames[0]) || e->responder_qpn != f->text.dqpn ||
			e->service != f->service)
			continue;
		if (requester_qpn == 0 || e->requester_qpn == 0 ||
			e->requester_qpn == requester_qpn)
			return e;
	}
	return NULL;
}

static struct uroce_exchange *add_exchange(struct uroce_exchanges *all, uint32_t index)
{
	const struct uroce_exchange_frame *f = &all->frames[index];
	struct uroce_exchange *grown = realloc(all->list, (all->num + 1) * sizeof(*all->list));
	struct uroce_exchange *e;

	if (!grown)
		return NULL;
	all->list = grown;
	e = &all->list[all->num++];
	*e = (struct uroce_exchange){.requester = f->src,
		.responder = f->dst,
		.responder_qpn = f->text.dqpn,
		.requester_qpn = f->text.has_deth ? f->text.deth.sqpn : 0,
		.service = f->service,
		.psn_first = f->text.psn,
		.psn_next = f->text.psn,
		.mtu_bytes = find_mtu(all, f)};
	return e;
}

static int append(struct uroce_exchange *e, struct uroce_exchange_frame *f)
{
	if (e->num_frames == e->max_frames) {
		uint32_t more = e->max_frames ? 2 * e->max_frames : 64;
		void *grown = realloc(e->frames, more * sizeof(*e->frames));

		if (!grown)
			return -ENOMEM;
		e->frames = grown;
		e->max_frames = more;
	}
	e->frames[e->num_frames++] = f;
	return 0;
}

static uint32_t request_pkts(const struct uroce_exchange *e, const struct uroce_exchange_frame *f)
{
	if (f->text.opcode != OP_READ_REQUEST || !f->text.has_reth || f->text.reth.dma_len == 0)
		return 1;
	return (f->text.reth.dma_len - 1) / e->mtu_bytes + 1;
}

static int add_request(struct uroce_exchanges *all, uint32_t index)
{
	struct uroce_exchange_frame *f = &all->frames[index];
	struct uroce_exchange *e = find_requests(all, index);

	if (!e)
		e = add_exchange(all, index);
	if (!e)
		return -ENOMEM;
	f->pkts = request_pkts(e, f);
	f->first_time = f->text.psn == e->psn_next;
	/* A script may leave PSNs out on purpose; what follows is new all the same. */
	if (!uroce_psn_before(f->text.psn, e->psn_next)) {
		f->first_time = true;
		e->psn_next = uroce_psn_add(f->text.psn, f->pkts);
	}
	return append(e, f);
}

/* The latest exchange that asked for the PSN that this answer names. */
static struct uroce_exchange *find_asked(
	struct uroce_exchanges *all, const struct uroce_exchange_frame *f)
{
	struct uroce_exchange *best = NULL;
	uint64_t best_number = 0;

	for (uint32_t i = 0; i < all->num; i++) {
		struct uroce_exchange *e = &all->list[i];
		uint64_t last = e->frames[e->num_frames - 1]->number;

		if (!answers(f, e->frames[0]) || e->service != SERVICE_RC)
			continue;
		if (e->requester_qpn != 0 && e->requester_qpn != f->text.dqpn)
			continue;
		if (uroce_psn_before(f->text.psn, e->psn_first) ||
			!uroce_psn_before(f->text.psn, e->psn_next))
			continue;
		if (!best || last > best_number) {
			best = e;
			best_number = last;
		}
	}
	return best;
}

/* What has holes cannot be replayed: a packet that is missing changes what follows. */
static void mark_incomplete(struct uroce_exchanges *all)
{
	for (uint32_t i = 0; i < all->num_frames; i++) {
		const struct uroce_exchange_frame *f = &all->frames[i];

		for (uint32_t k = 0; !f->whole && k < all->num; k++) {
			struct uroce_exchange *e = &all->list[k];

			e->incomplete |= goes_with(f, e->frames[0]) || answers(f, e->frames[0]);
		}
	}
}

static int pair(struct uroce_exchanges *all)
{
	for (uint32_t i = 0; i < all->num_frames; i++) {
		struct uroce_exchange_frame *f = &all->frames[i];
		struct uroce_exchange *e;
		int err = 0;

		if (f->request) {
			err = add_request(all, i);
		} else if ((e = find_asked(all, f))) {
			e->requester_qpn = f->text.dqpn;
			err = append(e, f);
		} else {
			all->unpaired++;
		}
		if (err)
			return err;
	}
	return 0;
}

/* ---- what the wire lost ---- */

uint16_t uroce_exchange_tci(const struct uroce_exchange *e, bool requester)
{
	for (uint32_t i = 0; i < e->num_frames; i++)
		if (e->frames[i]->request == requester)
			return uroce_frame_tci(e->frames[i]->data);
	return uroce_frame_tci(e->frames[0]->data);
}

const struct uroce_exchange_frame *uroce_exchange_find_request(
	const struct uroce_exchange *e, uint32_t from, uint32_t psn)
{
	for (uint32_t i = from; i < e->num_frames; i++)
		if (e->frames[i]->request && e->frames[i]->text.psn == psn)
			return e->frames[i];
	return NULL;
}

const struct uroce_exchange_frame *uroce_exchange_find_answer(
	const struct uroce_exchange *e, uint32_t from, uint32_t psn)
{
	for (uint32_t i = from + 1; i < e->num_frames; i++) {
		const struct uroce_exchange_frame *f = e->frames[i];

		if (f->text.psn != psn)
			continue;
		if (!f->request)
			return f;
		if (!f->repeated_by_wire)
			return NULL;
	}
	return NULL;
}

static bool same_bytes(const struct uroce_exchange_frame *a, const struct uroce_exchange_frame *b)
{
	return a->bytes == b->bytes && memcmp(a->data, b->data, a->bytes) == 0;
}

static uint8_t syndrome_of(const struct uroce_exchange_frame *f)
{
	return f->text.has_aeth ? f->text.aeth.syndrome : 0;
}

/* Whether an answer proves that the request with this PSN arrived. */
static bool proves_arrival(const struct uroce_exchange_frame *answer, uint32_t psn)
{
	int32_t ahead = uroce_psn_diff(answer->text.psn, psn);
	bool gap = syndrome_of(answer) == NAK_SEQUENCE && answer->text.opcode == OP_ACK;
	bool not_ready = answer->text.has_aeth && answer->text.aeth.kind == UROCE_TEXT_AETH_RNR;

	/* A complaint names what is missing; who complains has seen something behind it. */
	if (gap)
		return ahead != 0;
	/* What comes behind a refused request is dropped unseen, but it came. */
	return ahead >= 0 || not_ready;
}

/*
 * Whether a later answer proves that the request at index i arrived, although the PSN was sent
 * again before it (at index again): the answer speaks of a PSN behind it that had been sent once
 * only, and that one counts only if everything before it is there.
 */
static bool proven_by_later(const struct uroce_exchange *e, uint32_t i, uint32_t again)
{
	uint32_t psn = e->frames[i]->text.psn, answer = again, ahead;

	while (answer < e->num_frames &&
		(e->frames[answer]->request || !proves_arrival(e->frames[answer], psn)))
		answer++;
	if (answer == e->num_frames || syndrome_of(e->frames[answer]) == NAK_SEQUENCE)
		return false;
	ahead = (e->frames[answer]->text.psn - psn) & UROCE_PSN_MASK;
	for (uint32_t k = 1; k <= ahead; k++) {
		uint32_t copies = 0;

		for (uint32_t at = i; at < answer; at++)
			copies += e->frames[at]->request &&
				e->frames[at]->text.psn == uroce_psn_add(psn, k);
		if (copies == 1)
			return true;
	}
	return false;
}

/* Judges the request at index i by what follows it. */
static void judge_request(struct uroce_exchange *e, uint32_t i)
{
	struct uroce_exchange_frame *f = e->frames[i];
	bool arrived = false, answers_between = false;
	uint32_t k;

	for (k = i + 1; k < e->num_frames; k++) {
		struct uroce_exchange_frame *g = e->frames[k];

		if (g->request && g->text.psn == f->text.psn)
			break;
		answers_between |= !g->request;
		arrived |= !g->request && proves_arrival(g, f->text.psn);
	}
	if (k < e->num_frames && !answers_between && same_bytes(f, e->frames[k]) &&
		e->frames[k]->time_ns - f->time_ns < WIRE_DOUBLE_NS) {
		e->frames[k]->repeated_by_wire = true;
		return;
	}
	if (k < e->num_frames)
		f->lost = !arrived && f->seen_icrc_ok && !proven_by_later(e, i, k);
	else if (!f->first_time && !f->repeated_by_wire)
		/* The last try: lost like the ones before it, if nothing ever came back. */
		f->lost = !arrived;
}

/* An answer was lost if what it answers is asked for again, by somebody who does not have it. */
static void judge_answer(struct uroce_exchange *e, uint32_t i)
{
	struct uroce_exchange_frame *f = e->frames[i];

	if (f->text.has_aeth && f->text.aeth.kind != UROCE_TEXT_AETH_ACK)
		return;
	for (uint32_t k = i + 1; k < e->num_frames; k++) {
		const struct uroce_exchange_frame *g = e->frames[k];

		if (!g->request || g->first_time || g->repeated_by_wire)
			continue;
		if (!uroce_psn_before(f->text.psn, g->text.psn))
			f->lost = true;
		return;
	}
}

static void judge(struct uroce_exchange *e)
{
	/* Nobody says what arrived of an unreliable service. */
	if (e->service != SERVICE_RC)
		return;
	for (uint32_t i = 0; i < e->num_frames; i++)
		if (e->frames[i]->request)
			judge_request(e, i);
	for (uint32_t i = 0; i < e->num_frames; i++)
		if (!e->frames[i]->request)
			judge_answer(e, i);
}

int uroce_exchanges_init(struct uroce_exchanges *out, const char *path, char *err, size_t err_bytes)
{
	int rc, paired;

	memset(out, 0, sizeof(*out));
	rc = read_frames(out, path, err, err_bytes);
	if (rc && rc != -EBADMSG)
		return rc;
	paired = pair(out);
	if (paired) {
		snprintf(err, err_bytes, "not enough memory for this capture");
		return paired;
	}
	mark_incomplete(out);
	for (uint32_t i = 0; i < out->num; i++)
		judge(&out->list[i]);
	return rc;
}

void uroce_exchanges_fini(struct uroce_exchanges *exchanges)
{
	for (uint32_t i = 0; i < exchanges->num_frames; i++)
		free(exchanges->frames[i].data);
	for (uint32_t i = 0; i < exchanges->num; i++)
		free(exchanges->list[i].frames);
	free(exchanges->frames);
	free(exchanges->list);
	memset(exchanges, 0, sizeof(*exchanges));
}
