/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Two hash tables over all streams: by what a packet shows, and by the two addresses.
 *
 * Streams and connections live until the end: there are at most as many as the analysis allows.
 */
#include "pcap/streams.h"

#include <stdlib.h>
#include <string.h>

#include "pcap/answers.h"
#include "pcap/requests.h"

enum {
	BUCKETS_MIN = 1024,
	LOOKS = 4 * UROCE_STREAM_BACKLOG,
	SCAN_MAX = 4096, /* streams between two addresses that are looked at for one answer */
};

/* ---- the tables ---- */

static uint64_t mix(uint64_t hash, uint64_t value)
{
	hash = (hash ^ value) * UINT64_C(0x9e3779b97f4a7c15);
	return hash ^ hash >> 29;
}

static uint64_t hash_pair(struct uroce_gid src, struct uroce_gid dst)
{
	return mix(mix(mix(mix(1, src.high), src.low), dst.high), dst.low);
}

static uint64_t hash_key(const struct uroce_stream_key *key)
{
	return mix(mix(hash_pair(key->src, key->dst), (uint64_t)key->dqpn << 32 | key->sqpn),
		(uint64_t)key->vlan << 1 | key->is_rocev1);
}

static struct uroce_stream_key key_of_stream(const struct uroce_stream *f)
{
	return (struct uroce_stream_key){.src = f->src,
		.dst = f->dst,
		.dqpn = f->dqpn,
		.sqpn = f->sqpn,
		.vlan = f->vlan,
		.is_rocev1 = f->is_rocev1};
}

struct uroce_stream_key uroce_stream_key_of(const struct uroce_packet *p)
{
	return (struct uroce_stream_key){.src = p->src,
		.dst = p->dst,
		.dqpn = p->dqpn,
		.sqpn = p->sqpn,
		.vlan = p->vlan,
		.is_rocev1 = p->is_rocev1};
}

static bool has_key(const struct uroce_stream *f, const struct uroce_stream_key *key)
{
	return f->dqpn == key->dqpn && f->sqpn == key->sqpn && f->vlan == key->vlan &&
		f->is_rocev1 == key->is_rocev1 && uroce_gid_equal(f->src, key->src) &&
		uroce_gid_equal(f->dst, key->dst);
}

static void link_stream(struct uroce_analysis *a, struct uroce_stream *f)
{
	struct uroce_stream_key key = key_of_stream(f);
	struct uroce_stream **by_key = &a->by_key[hash_key(&key) & (a->num_buckets - 1)];
	struct uroce_stream **by_pair =
		&a->by_pair[hash_pair(f->src, f->dst) & (a->num_buckets - 1)];

	f->next_of_key = *by_key;
	*by_key = f;
	f->next_of_pair = *by_pair;
	*by_pair = f;
}

/* As many buckets as streams; in the order of their numbers, so that the newest is found first. */
static bool make_room(struct uroce_analysis *a)
{
	uint32_t more = a->num_buckets ? 2 * a->num_buckets : BUCKETS_MIN;
	struct uroce_stream **by_key, **by_pair;

	if (a->num_streams < a->num_buckets)
		return true;
	by_key = calloc(more, sizeof(struct uroce_stream *));
	by_pair = calloc(more, sizeof(struct uroce_stream *));
	if (!by_key || !by_pair) {
		free(by_key);
		free(by_pair);
		return a->num_buckets > 0;
	}
	free(a->by_key);
	free(a->by_pair);
	a->by_key = by_key;
	a->by_pair = by_pair;
	a->num_buckets = more;
	for (uint32_t i = 0; i < a->num_streams; i++)
		link_stream(a, a->streams[i]);
	return true;
}

static bool grow(void **list, uint32_t num, uint32_t *max)
{
	uint32_t more = *max ? 2 * *max : 64;
	void *grown;

	if (num < *max)
		return true;
	grown = realloc(*list, more * sizeof(void *));
	if (!grown)
		return false;
	*list = grown;
	*max = more;
	return true;
}

static struct uroce_connection *add_connection(struct uroce_analysis *a, struct uroce_stream *f)
{
	struct uroce_connection *c;

	if (!grow((void **)&a->connections, a->num_connections, &a->max_connections))
		return NULL;
	c = calloc(1, sizeof(*c));
	if (!c)
		return NULL;
	c->number = a->num_connections + 1;
	c->streams[0] = f;
	a->connections[a->num_connections++] = c;
	f->connection = c;
	return c;
}

static struct uroce_stream *add_stream(
	struct uroce_analysis *a, const struct uroce_stream_key *key, uint64_t time_ns)
{
	uint32_t most = a->conf.connections_max;
	struct uroce_stream *f;

	if (a->num_streams >= 2 * most || !make_room(a) ||
		!grow((void **)&a->streams, a->num_streams, &a->max_streams))
		return NULL;
	f = calloc(1, sizeof(*f));
	if (!f)
		return NULL;
	f->src = key->src;
	f->dst = key->dst;
	f->dqpn = key->dqpn;
	f->sqpn = key->sqpn;
	f->vlan = key->vlan;
	f->is_rocev1 = key->is_rocev1;
	if (!add_connection(a, f)) {
		free(f);
		return NULL;
	}
	if (a->conf.drawings && a->num_streams < 2 * UROCE_ANALYSIS_DRAWINGS_MAX)
		uroce_series_start(&f->series, time_ns);
	a->streams[a->num_streams++] = f;
	link_stream(a, f);
	return f;
}

struct uroce_stream *uroce_streams_find(
	const struct uroce_analysis *a, const struct uroce_stream_key *key)
{
	struct uroce_stream *f = NULL;

	if (a->num_buckets)
		f = a->by_key[hash_key(key) & (a->num_buckets - 1)];
	while (f && !has_key(f, key))
		f = f->next_of_key;
	return f;
}

/* Each datagram says both ends: the stream the other way has them swapped. */
static void pair_datagrams(struct uroce_analysis *a, struct uroce_stream *f)
{
	struct uroce_stream_key key = {.src = f->dst,
		.dst = f->src,
		.dqpn = f->sqpn,
		.sqpn = f->dqpn,
		.vlan = f->vlan,
		.is_rocev1 = f->is_rocev1};
	struct uroce_stream *g = uroce_streams_find(a, &key);

	if (g && g != f && !g->paired)
		uroce_streams_pair(a, f, g, UROCE_CONFIDENCE_STATED);
}

struct uroce_stream *uroce_streams_get(
	struct uroce_analysis *a, const struct uroce_stream_key *key, uint64_t time_ns)
{
	struct uroce_stream *f = uroce_streams_find(a, key);

	return f ? f : uroce_streams_renew(a, key, time_ns);
}

struct uroce_stream *uroce_streams_renew(
	struct uroce_analysis *a, const struct uroce_stream_key *key, uint64_t time_ns)
{
	struct uroce_stream *f = add_stream(a, key, time_ns);

	if (f && f->sqpn)
		pair_datagrams(a, f);
	return f;
}

/* ---- pairs ---- */

struct uroce_stream *uroce_stream_other(const struct uroce_stream *f)
{
	return f->connection->streams[!f->side];
}

/* What was found of one is of the other now. */
static void merge_findings(
	struct uroce_analysis *a, struct uroce_connection *into, struct uroce_connection *from)
{
	for (uint32_t kind = 0; kind < UROCE_FINDING_COUNT; kind++) {
		uint32_t index = from->findings[kind];

		if (index == 0)
			continue;
		a->findings.list[index - 1].connection = into->number;
		if (into->findings[kind] == 0)
			into->findings[kind] = index;
		else
			uroce_findings_merge(&a->findings, into->findings[kind], index);
	}
}

static void merge(
	struct uroce_analysis *a, struct uroce_connection *into, struct uroce_stream *second)
{
	struct uroce_connection *from = second->connection;

	into->streams[1] = second;
	second->connection = into;
	second->side = 1;
	if (into->mtu_bytes == 0)
		into->mtu_bytes = from->mtu_bytes;
	if (from->first_ns && (into->first_ns == 0 || from->first_ns < into->first_ns))
		into->first_ns = from->first_ns;
	if (from->last_ns > into->last_ns)
		into->last_ns = from->last_ns;
	merge_findings(a, into, from);
	from->hidden = true;
	from->into = into;
}

static void count_answer(struct uroce_connection *c, bool fits)
{
	c->agree += fits;
	c->disagree += !fits;
}

static void take_backlog(struct uroce_analysis *a, struct uroce_stream *f)
{
	struct uroce_stream *g = uroce_stream_other(f);

	for (uint32_t i = 0; i < f->num_backlog; i++)
		count_answer(f->connection, uroce_answers_take(a, g, &f->backlog[i]));
	f->num_backlog = 0;
}

void uroce_streams_pair(struct uroce_analysis *a, struct uroce_stream *f, struct uroce_stream *g,
	enum uroce_confidence confidence)
{
	bool f_first = f->connection->number < g->connection->number;
	struct uroce_connection *into = f_first ? f->connection : g->connection;

	if (f->paired || g->paired || f->connection == g->connection)
		return;
	f->paired = g->paired = true;
	merge(a, into, f_first ? g : f);
	into->confidence = confidence;
	take_backlog(a, f);
	take_backlog(a, g);
}

static void move_last_packet(
	struct uroce_stream *from, struct uroce_stream *to, const struct uroce_packet *p)
{
	from->packets--;
	from->wire_bytes -= p->wire_bytes;
	to->packets++;
	to->wire_bytes += p->wire_bytes;
	to->first_frame = to->last_frame = p->number;
	to->udp_sport = p->udp_sport;
	to->last_ns = to->connection->first_ns = to->connection->last_ns = p->time_ns;
}

struct uroce_stream *uroce_streams_begin_anew(
	struct uroce_analysis *a, struct uroce_stream *f, const struct uroce_packet *p)
{
	struct uroce_stream_key key = key_of_stream(f), other_key;
	struct uroce_stream *other = uroce_stream_other(f);
	struct uroce_stream *renewed = uroce_streams_renew(a, &key, p->time_ns);

	if (!renewed)
		return f;
	if (other) {
		other_key = key_of_stream(other);
		uroce_streams_renew(a, &other_key, p->time_ns);
	}
	move_last_packet(f, renewed, p);
	return renewed;
}

/* ---- answers ---- */

static bool is_other_way(
	const struct uroce_stream *g, const struct uroce_stream *f, enum uroce_service service)
{
	return uroce_gid_equal(g->src, f->dst) && uroce_gid_equal(g->dst, f->src) &&
		g->vlan == f->vlan && g->is_rocev1 == f->is_rocev1 && g != f &&
		g->service == service;
}

/* How many of the answers that wait in f would fit g. */
static uint32_t fits(const struct uroce_stream *g, const struct uroce_stream *f)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < f->num_backlog; i++)
		n += uroce_answers_fit(g, &f->backlog[i]);
	return n;
}

struct candidates {
	struct uroce_stream *best;
	uint32_t most; /* answers that fit it */
	uint32_t num;  /* candidates that fit as well */
	bool by_port;  /* the best one alone has the same UDP port */
};

static void consider(struct candidates *found, struct uroce_stream *g, const struct uroce_stream *f)
{
	uint32_t n = fits(g, f);
	bool port = g->udp_sport == f->udp_sport;

	if (n == 0 || n < found->most)
		return;
	if (n > found->most) {
		*found = (struct candidates){.best = g, .most = n, .num = 1, .by_port = port};
		return;
	}
	found->num++;
	if (port && !found->by_port) {
		found->best = g;
		found->by_port = true;
	} else if (port == found->by_port &&
		g->connection->number < found->best->connection->number) {
		found->best = g;
	}
}

/* Looking for whose an answer is costs time: who found nothing often looks ever more rarely. */
static bool is_worth_a_look(struct uroce_stream *f)
{
	f->looks++;
	return f->looks <= LOOKS || (f->looks & (f->looks - 1)) == 0;
}

static struct candidates find_asked(const struct uroce_analysis *a, struct uroce_stream *f)
{
	struct uroce_stream *g = a->by_pair[hash_pair(f->dst, f->src) & (a->num_buckets - 1)];
	struct candidates found = {0};

	if (!is_worth_a_look(f))
		return found;
	for (uint32_t i = 0; g && i < SCAN_MAX; i++, g = g->next_of_pair) {
		if (!g->paired && is_other_way(g, f, UROCE_SERVICE_RC))
			consider(&found, g, f);
	}
	return found;
}

static void keep_answer(struct uroce_stream *f, const struct uroce_kept_answer *p)
{
	if (!f->backlog)
		f->backlog = calloc(UROCE_STREAM_BACKLOG, sizeof(*f->backlog));
	if (!f->backlog)
		return;
	if (f->num_backlog == UROCE_STREAM_BACKLOG) {
		memmove(f->backlog, f->backlog + 1,
			(UROCE_STREAM_BACKLOG - 1) * sizeof(*f->backlog));
		f->num_backlog--;
	}
	f->backlog[f->num_backlog++] = *p;
}

static void find_pair(struct uroce_analysis *a, struct uroce_stream *f, bool now)
{
	struct candidates found = find_asked(a, f);

	if (found.num == 1)
		uroce_streams_pair(a, f, found.best, UROCE_CONFIDENCE_EVIDENCE);
	else if (found.num > 1 && now)
		uroce_streams_pair(a, f, found.best, UROCE_CONFIDENCE_GUESS);
}

/*
 * An answer that does not fit the other stream, but what one lone stream asked later: the queue
 * pair was set up anew, with that one.
 */
static struct uroce_stream *find_new_life(struct uroce_analysis *a, struct uroce_stream *f,
	const struct uroce_packet *p, const struct uroce_kept_answer *answer)
{
	struct uroce_stream_key key = key_of_stream(f);
	struct candidates found;
	struct uroce_stream *renewed;

	f->num_backlog = 0;
	keep_answer(f, answer);
	found = find_asked(a, f);
	f->num_backlog = 0;
	if (found.num != 1 || found.best->req.last_frame < uroce_stream_other(f)->req.last_frame)
		return f;
	renewed = uroce_streams_renew(a, &key, p->time_ns);
	if (!renewed)
		return f;
	renewed->answers_seen++;
	f->answers_seen--;
	move_last_packet(f, renewed, p);
	return renewed;
}

void uroce_streams_take_answer(
	struct uroce_analysis *a, struct uroce_stream *f, const struct uroce_packet *p)
{
	struct uroce_stream *g = uroce_stream_other(f);
	struct uroce_kept_answer answer = {.number = p->number,
		.time_ns = p->time_ns,
		.psn = p->psn,
		.payload_bytes = p->payload_bytes,
		.opcode = p->opcode->number,
		.syndrome = p->syndrome,
		.has_aeth = p->has_aeth};

	if (g && !uroce_answers_fit(g, &answer))
		f = find_new_life(a, f, p, &answer);
	g = uroce_stream_other(f);
	if (g) {
		count_answer(f->connection, uroce_answers_take(a, g, &answer));
		return;
	}
	keep_answer(f, &answer);
	find_pair(a, f, f->num_backlog == UROCE_STREAM_BACKLOG);
}

/* The one lone stream of UC that goes the other way than f; NULL if there are none or more. */
static struct uroce_stream *only_other_way(
	const struct uroce_analysis *a, const struct uroce_stream *f)
{
	struct uroce_stream *g = a->by_pair[hash_pair(f->dst, f->src) & (a->num_buckets - 1)];
	struct uroce_stream *only = NULL;

	for (uint32_t i = 0; g && i < SCAN_MAX; i++, g = g->next_of_pair) {
		if (g->paired || !is_other_way(g, f, UROCE_SERVICE_UC))
			continue;
		if (only)
			return NULL;
		only = g;
	}
	return only;
}

/* Unreliable connections have no answers: two streams that are alone belong together. */
static void guess_unreliable(struct uroce_analysis *a, struct uroce_stream *f)
{
	struct uroce_stream *g = only_other_way(a, f);

	if (g && only_other_way(a, g) == f)
		uroce_streams_pair(a, f, g, UROCE_CONFIDENCE_GUESS);
}

void uroce_streams_finish(struct uroce_analysis *a)
{
	for (uint32_t i = 0; i < a->num_streams; i++) {
		struct uroce_stream *f = a->streams[i];

		if (f->paired)
			continue;
		f->looks = 0;
		if (f->num_backlog)
			find_pair(a, f, true);
		else if (f->service == UROCE_SERVICE_UC)
			guess_unreliable(a, f);
	}
}

void uroce_streams_fini(struct uroce_analysis *a)
{
	for (uint32_t i = 0; i < a->num_streams; i++) {
		struct uroce_stream *f = a->streams[i];

		uroce_requests_fini(&f->req);
		uroce_histogram_fini(&f->latency);
		uroce_series_fini(&f->series);
		free(f->backlog);
		free(f);
	}
	for (uint32_t i = 0; i < a->num_connections; i++)
		free(a->connections[i]);
	free(a->streams);
	free(a->connections);
	free(a->by_key);
	free(a->by_pair);
}
