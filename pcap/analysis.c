/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Where each frame of a capture goes, and what can be judged of it alone.
 */
#include "pcap/analysis.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/wire.h"
#include "pcap/answers.h"
#include "pcap/cm_watch.h"
#include "pcap/streams.h"
#include "pcap/requests.h"

#define CNP_EVERY_NS  50000u
#define CNP_WITHIN_NS 1000000u
#define NS_PER_US     1e3

struct uroce_analysis *uroce_analysis_create(const struct uroce_analysis_conf *conf)
{
	struct uroce_analysis *a = calloc(1, sizeof(*a));

	if (!a)
		return NULL;
	a->conf = *conf;
	if (a->conf.connections_max == 0)
		a->conf.connections_max = UROCE_ANALYSIS_CONNECTIONS_MAX;
	return a;
}

void uroce_analysis_destroy(struct uroce_analysis *a)
{
	if (!a)
		return;
	uroce_streams_fini(a);
	uroce_cm_watch_fini(a);
	uroce_findings_fini(&a->findings);
	free(a);
}

struct uroce_finding *uroce_analysis_note(struct uroce_analysis *a, struct uroce_connection *c,
	enum uroce_finding_kind kind, uint64_t frame, uint64_t cost_ns, const char *format, ...)
{
	uint32_t *index;
	struct uroce_finding *finding;
	va_list args;

	while (c && c->into)
		c = c->into;
	index = c ? &c->findings[kind] : &a->findings_of_capture[kind];
	finding = uroce_findings_add(&a->findings, index, kind, c ? c->number : 0, frame, cost_ns);
	if (!finding || finding->count > 1)
		return finding;
	va_start(args, format);
	vsnprintf(finding->text, sizeof(finding->text), format, args);
	va_end(args);
	return finding;
}

/* ---- what a frame says alone ---- */

/* False: a receiver drops it, and so it says nothing of its connection. */
static bool is_sound(struct uroce_analysis *a, struct uroce_stream *f, const struct uroce_packet *p)
{
	if (p->malformed) {
		bool fragment = strcmp(p->malformed, "ip_fragment") == 0;

		uroce_analysis_note(a, f ? f->connection : NULL,
			fragment ? UROCE_FINDING_FRAGMENT : UROCE_FINDING_MALFORMED, p->number, 0,
			"frame %" PRIu64 ": %s", p->number, p->malformed);
		return false;
	}
	if (!f && p->icrc == UROCE_TEXT_ICRC_BAD)
		uroce_analysis_note(a, NULL, UROCE_FINDING_ICRC_BAD, p->number, 0,
			"frame %" PRIu64 ": %s to queue pair 0x%06x, which no good packet names",
			p->number, p->opcode->name, p->dqpn);
	if (!f)
		return false;
	switch (p->icrc) {
	case UROCE_TEXT_ICRC_OK:
		return true;
	case UROCE_TEXT_ICRC_BAD:
		f->icrc_bad++;
		uroce_analysis_note(a, f->connection, UROCE_FINDING_ICRC_BAD, p->number, 0,
			"frame %" PRIu64 ": %s, PSN %u, was altered on its way", p->number,
			p->opcode->name, p->psn);
		return false;
	case UROCE_TEXT_ICRC_ABSENT:
		f->icrc_absent++;
		uroce_analysis_note(a, f->connection, UROCE_FINDING_ICRC_ABSENT, p->number, 0,
			"frame %" PRIu64 " has zeros for an ICRC", p->number);
		return true;
	case UROCE_TEXT_ICRC_UNKNOWN:
		f->cut++;
		uroce_analysis_note(a, f->connection, UROCE_FINDING_TRUNCATED, p->number, 0,
			"frame %" PRIu64 " was cut by the snap length", p->number);
		return true;
	}
	return false;
}

/* ---- congestion ---- */

static void take_cnp(struct uroce_analysis *a, struct uroce_stream *f, const struct uroce_packet *p)
{
	uint64_t since_ns = p->time_ns - f->last_cnp_ns;

	if (f->cnps++ > 0 && p->time_ns >= f->last_cnp_ns && since_ns < CNP_EVERY_NS)
		uroce_analysis_note(a, f->connection, UROCE_FINDING_CNP_TOO_OFTEN, p->number, 0,
			"frame %" PRIu64 ": a CNP %.1f us after the one in frame %" PRIu64,
			p->number, (double)since_ns / NS_PER_US, f->last_cnp_frame);
	f->last_cnp_ns = p->time_ns;
	f->last_cnp_frame = p->number;
}

static void check_marks(struct uroce_analysis *a, struct uroce_stream *f)
{
	const struct uroce_stream *g = uroce_stream_other(f);

	if (f->ce_marks == 0 || (g && g->cnps) || a->last_ns - f->ce_ns < CNP_WITHIN_NS)
		return;
	uroce_analysis_note(a, f->connection, UROCE_FINDING_CE_WITHOUT_CNP, f->ce_frame, 0,
		"%" PRIu64 " packet%s marked Congestion Experienced, the first in frame %" PRIu64
		", and no CNP came back",
		f->ce_marks, f->ce_marks == 1 ? " was" : "s were", f->ce_frame);
}

/* ---- frames ---- */

static void count_packet(struct uroce_stream *f, const struct uroce_packet *p)
{
	struct uroce_connection *c = f->connection;
	struct uroce_step *step = uroce_series_step(&f->series, p->time_ns);

	if (f->packets++ == 0) {
		f->first_frame = p->number;
		f->udp_sport = p->udp_sport;
	}
	f->wire_bytes += p->wire_bytes;
	f->last_frame = p->number;
	f->last_ns = p->time_ns;
	if (c->first_ns == 0 || p->time_ns < c->first_ns)
		c->first_ns = p->time_ns;
	if (p->time_ns > c->last_ns)
		c->last_ns = p->time_ns;
	if (step)
		step->packets++;
}

static void count_mark(struct uroce_stream *f, const struct uroce_packet *p)
{
	if (p->ecn != UROCE_ECN_CE)
		return;
	if (f->ce_marks++ == 0) {
		f->ce_frame = p->number;
		f->ce_ns = p->time_ns;
	}
}

static void take(struct uroce_analysis *a, struct uroce_stream *f, const struct uroce_packet *p)
{
	if (p->opcode->service == UROCE_SERVICE_CNP) {
		take_cnp(a, f, p);
		return;
	}
	count_mark(f, p);
	if (p->opcode->response) {
		f->answers_seen++;
		uroce_streams_take_answer(a, f, p);
		return;
	}
	if (p->opcode->service == UROCE_SERVICE_RC && uroce_requests_is_new_life(f, p))
		f = uroce_streams_begin_anew(a, f, p);
	f->requests_seen++;
	f->service = (uint8_t)p->opcode->service;
	if (p->opcode->service != UROCE_SERVICE_UD) {
		uroce_requests_take(a, f, p);
		return;
	}
	uroce_requests_take_datagram(f, p);
	if (p->dqpn == UROCE_QPN_GSI)
		uroce_cm_watch_take(a, f->connection, p);
}

static struct uroce_stream *stream_of(struct uroce_analysis *a, const struct uroce_packet *p)
{
	struct uroce_stream_key key = uroce_stream_key_of(p);
	struct uroce_stream *f;

	if (!p->has_bth || p->malformed)
		return NULL;
	/* What was altered may name what is not there. */
	if (p->icrc == UROCE_TEXT_ICRC_BAD)
		return uroce_streams_find(a, &key);
	f = uroce_streams_get(a, &key, p->time_ns);
	if (!f && a->left_out++ == 0)
		uroce_analysis_note(a, NULL, UROCE_FINDING_TOO_MANY, p->number, 0,
			"the connections from frame %" PRIu64 " on are more than %u, and left out",
			p->number, a->conf.connections_max);
	return f;
}

/* What was cut before the numbers that matter is not looked at. */
static bool is_whole(struct uroce_analysis *a, const struct uroce_packet *p)
{
	if (p->has_bth || p->malformed)
		return true;
	uroce_analysis_note(a, NULL, UROCE_FINDING_TRUNCATED, p->number, 0,
		"frame %" PRIu64 " was cut before the end of its BTH", p->number);
	return false;
}

void uroce_analysis_add(struct uroce_analysis *a, const struct uroce_pcap_frame *frame)
{
	struct uroce_packet p;
	struct uroce_stream *f;

	if (a->frames++ == 0)
		a->first_ns = frame->time_ns;
	a->bytes += frame->wire_bytes;
	if (frame->time_ns > a->last_ns)
		a->last_ns = frame->time_ns;
	if (!uroce_packet_decode(frame, &p)) {
		a->other_frames++;
		return;
	}
	a->roce_frames++;
	a->rocev1_frames += p.is_rocev1;
	if (!is_whole(a, &p))
		return;
	f = stream_of(a, &p);
	if (f)
		count_packet(f, &p);
	if (is_sound(a, f, &p))
		take(a, f, &p);
}

/* ---- the end ---- */

static void finish_connection(struct uroce_analysis *a, struct uroce_connection *c)
{
	struct uroce_stream *f = c->streams[0], *g = c->streams[1];

	check_marks(a, f);
	uroce_answers_finish(a, f);
	if (g) {
		check_marks(a, g);
		uroce_answers_finish(a, g);
	}
	if (g || f->packets == 0 || f->retransmitted)
		return;
	if (f->service == UROCE_SERVICE_RC || f->answers_seen)
		uroce_analysis_note(a, c, UROCE_FINDING_ONE_SIDED, f->first_frame, 0,
			"only what goes to queue pair 0x%06x is in the capture, not what comes "
			"back",
			f->dqpn);
}

static bool is_empty(const struct uroce_connection *c)
{
	return !c->service_id && c->streams[0]->packets == 0 &&
		(!c->streams[1] || c->streams[1]->packets == 0);
}

/* Those that are left get the numbers 1, 2, ... */
static void renumber(struct uroce_analysis *a)
{
	uint32_t number = 0;

	for (uint32_t i = 0; i < a->num_connections; i++) {
		a->connections[i]->hidden |= is_empty(a->connections[i]);
		if (!a->connections[i]->hidden)
			a->connections[i]->number = ++number;
	}
	a->num_shown = number;
	for (uint32_t i = 0; i < a->findings.num; i++) {
		struct uroce_finding *finding = &a->findings.list[i];
		const struct uroce_connection *c;

		if (finding->connection == 0)
			continue;
		c = a->connections[finding->connection - 1];
		while (c->into)
			c = c->into;
		finding->connection = c->number;
	}
}

void uroce_analysis_finish(struct uroce_analysis *a)
{
	if (a->finished)
		return;
	a->finished = true;
	uroce_streams_finish(a);
	for (uint32_t i = 0; i < a->num_connections; i++)
		if (!a->connections[i]->hidden)
			finish_connection(a, a->connections[i]);
	uroce_cm_watch_finish(a);
	renumber(a);
	uroce_findings_sort(&a->findings);
}
