/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Fuzzing connection management from both sides: two managers, the messages between them in any
 * order, lost, repeated and damaged, messages that neither sent, and applications that call
 * whatever they like whenever they like.
 *
 * Whatever comes: every message is accepted or dropped for one reason, no more places are taken
 * than there are, events are of connections that the application may know and has not destroyed,
 * and once both applications have destroyed everything, time alone gives all places back.
 */
#include "input.h"

#include <errno.h>
#include <string.h>

#include "cm.h"
#include "mad.h"

/* Longer than anything waits. */
#define UROCE_FUZZ_ROUND_NS (100ull * 1000000000)

enum {
	STEPS_MAX = 400,
	SIDES = 2,
	IDS = 6,
	REPLIES = 4,
	LISTENERS = 3,
	FLIGHT = 16,
	KNOWN = 16, /* ids that an application remembers, live ones and old ones */
	MAD = UROCE_CM_MAD_BYTES,
	MEMORY = 32768,
	TX_MAX = 200, /* more than can be owed at a time */
};

struct flying {
	uint32_t to;
	struct uroce_cm_route route;
	uint8_t mad[MAD];
};

struct side {
	struct uroce_cm *cm;
	struct uroce_gid gid;
	uint32_t known[KNOWN];
	bool live[KNOWN]; /* not destroyed */
	uint32_t num_known;
	uint32_t listeners[LISTENERS];
	uint64_t sent;
};

struct world {
	struct input in;
	uint64_t now_ns;
	struct side sides[SIDES];
	struct flying flight[FLIGHT];
	uint32_t num_flying;
};

static _Alignas(64) uint8_t memory[SIDES][MEMORY];
static const uint8_t private_data[256] = {"private data"};

/* ---- what must hold ---------------------------------------------------------------------- */

static void check(const struct side *side)
{
	const struct uroce_cm_counters *counters = uroce_cm_counters(side->cm);
	struct uroce_cm_info info;
	uint64_t drops = 0;
	uint32_t places = 0;

	for (uint32_t i = 0; i < UROCE_CM_DROP_COUNT; i++)
		drops += counters->drops[i];
	FUZZ_MUST(counters->drops[0] == 0);
	FUZZ_MUST(counters->rx_mads == counters->rx_accepted + drops);
	FUZZ_MUST(counters->tx_mads == side->sent);
	for (uint32_t i = 0; i <= IDS; i++) {
		if (!uroce_cm_info(side->cm, i, &info))
			continue;
		places++;
		FUZZ_MUST(info.id != 0 && info.state != UROCE_CM_STATE_FREE);
		FUZZ_MUST(info.state < UROCE_CM_STATE_COUNT);
		FUZZ_MUST(!info.destroyed || info.state != UROCE_CM_STATE_CLOSED);
		FUZZ_MUST(uroce_gid_equal(info.route.src, side->gid));
	}
	FUZZ_MUST(places == uroce_cm_num_ids(side->cm));
}

static uint32_t *find_known(struct side *side, uint32_t id)
{
	for (uint32_t i = 0; i < side->num_known; i++)
		if (side->known[i] == id)
			return &side->known[i];
	return NULL;
}

/* A new one pushes out the oldest that is gone; there are more of these than places. */
static void remember(struct side *side, uint32_t id)
{
	uint32_t at = side->num_known;

	FUZZ_MUST(id != 0 && !find_known(side, id));
	if (at == KNOWN)
		for (at = 0; side->live[at]; at++)
			FUZZ_MUST(at + 1 < KNOWN);
	else
		side->num_known++;
	side->known[at] = id;
	side->live[at] = true;
}

/* ---- the network ------------------------------------------------------------------------- */

static void collect(struct world *w, uint32_t s)
{
	struct side *side = &w->sides[s];
	struct flying f = {.to = 1 - s};
	struct uroce_mad parsed;
	uint32_t n = 0;

	for (; uroce_cm_tx(side->cm, w->now_ns, f.mad, &f.route); side->sent++) {
		FUZZ_MUST(++n < TX_MAX);
		FUZZ_MUST(uroce_gid_equal(f.route.src, side->gid));
		FUZZ_MUST(uroce_mad_parse(f.mad, MAD, &parsed) == UROCE_CM_ACCEPTED);
		if (w->num_flying < FLIGHT)
			w->flight[w->num_flying++] = f;
	}
	FUZZ_MUST(!uroce_cm_tx_pending(side->cm));
}

/* From a copy of exactly that size, so that a step over its edge is seen. */
static void give(struct world *w, uint32_t s, const struct uroce_cm_route *route, uint32_t src_qpn,
	const uint8_t *mad, uint32_t bytes)
{
	uint8_t *copy = malloc(bytes ? bytes : 1);
	enum uroce_cm_drop drop;

	FUZZ_MUST(copy);
	memcpy(copy, mad, bytes);
	drop = uroce_cm_rx(w->sides[s].cm, w->now_ns, route, src_qpn, copy, bytes);
	FUZZ_MUST(drop < UROCE_CM_DROP_COUNT);
	FUZZ_MUST(drop == UROCE_CM_ACCEPTED || bytes == MAD || drop == UROCE_CM_DROP_LENGTH);
	free(copy);
}

/* Any of those on their way: delivered, and gone unless it is to come once more; or lost. */
static void deliver(struct world *w)
{
	uint32_t how = take(&w->in, 1), at;
	struct flying f;

	if (w->num_flying == 0)
		return;
	at = (how & 0x0f) % w->num_flying;
	f = w->flight[at];
	if (!(how & 0x10))
		w->flight[at] = w->flight[--w->num_flying];
	if (how & 0x20)
		return;
	if (how & 0x80)
		f.mad[take(&w->in, 1)] ^= (uint8_t)take(&w->in, 1);
	give(w, f.to, &f.route, 1, f.mad, MAD);
}

/* One that nobody sent, with ids that there are or were. */
static uint32_t take_id(struct world *w, const struct side *side)
{
	uint32_t which = take(&w->in, 1);

	return which < KNOWN && which < side->num_known ? side->known[which] : which & 7;
}

static void give_raw(struct world *w)
{
	uint32_t how = take(&w->in, 1), s = how & 1;
	struct uroce_cm_route route = {.src = w->sides[1 - s].gid, .dst = w->sides[s].gid};
	uint8_t mad[MAD] = {1, 7, 2, 3};

	mad[17] = (uint8_t)(0x10 + take(&w->in, 1) % 12);
	uroce_store_be32(mad + 24, take_id(w, &w->sides[1 - s]));
	uroce_store_be32(mad + 28, take_id(w, &w->sides[s]));
	take_bytes(&w->in, mad + 32, how & 0x02 ? MAD - 32 : 20);
	if (how & 0x04)
		mad[take(&w->in, 1)] = (uint8_t)take(&w->in, 1);
	if (how & 0x08)
		route.src.low += 7;
	give(w, s, &route, how & 0x10 ? how : 1, mad, how & 0x20 ? take(&w->in, 1) : MAD);
}

/* ---- the applications -------------------------------------------------------------------- */

/* Mostly short; at times more than there is room for. */
static uint32_t take_bytes_of(struct world *w)
{
	uint32_t bytes = take(&w->in, 1);

	return bytes < 0xc0 ? bytes >> 4 : bytes;
}

static const uint64_t services[] = {0x1060000 + 1, 0x1110000 + 1, 5};

static void do_listen(struct world *w, struct side *side)
{
	uint32_t how = take(&w->in, 1), at = how % LISTENERS;
	struct uroce_cm_listen listen = {
		.service_id = services[at], .backlog = how >> 4, .addr = side->gid};
	int rc;

	if (how & 0x08)
		listen.addr = (struct uroce_gid){0, 0};
	if (side->listeners[at] && how & 0x04) {
		FUZZ_MUST(uroce_cm_unlisten(side->cm, side->listeners[at]) == 0);
		FUZZ_MUST(uroce_cm_unlisten(side->cm, side->listeners[at]) == -ENOENT);
		side->listeners[at] = 0;
	} else if (!side->listeners[at]) {
		rc = uroce_cm_listen(side->cm, &listen, &side->listeners[at]);
		FUZZ_MUST(rc == 0 && side->listeners[at] != 0);
	}
}

static void do_connect(struct world *w, struct side *side)
{
	uint32_t how = take(&w->in, 1), id = 0;
	struct uroce_cm_connect connect = {
		.route = {.src = side->gid, .dst = w->sides[side == w->sides].gid},
		.service_id = services[how % LISTENERS],
		.qpn = 1 + (how >> 4),
		.psn = how,
		.qp_type = how & 8 ? UROCE_QP_UC : UROCE_QP_RC,
		.path_mtu_bytes = 1024,
		.responder_resources = (uint8_t)how,
		.initiator_depth = (uint8_t)(how >> 1),
		.ack_timeout = (uint8_t)(how >> 3),
		.private_data = private_data,
		.private_bytes = take_bytes_of(w),
	};
	int rc = uroce_cm_connect(side->cm, &connect, &id);

	FUZZ_MUST(rc == 0 || rc == -EADDRINUSE || rc == -ENOSPC || rc == -EINVAL);
	if (rc == 0)
		remember(side, id);
}

static void do_resolve(struct world *w, struct side *side)
{
	uint32_t how = take(&w->in, 1), id = 0;
	struct uroce_cm_resolve resolve = {
		.route = {.src = side->gid, .dst = w->sides[side == w->sides].gid},
		.service_id = services[how % LISTENERS],
		.private_data = private_data,
		.private_bytes = take_bytes_of(w),
	};
	int rc = uroce_cm_resolve(side->cm, &resolve, &id);

	FUZZ_MUST(rc == 0 || rc == -ENOSPC || rc == -EINVAL);
	if (rc == 0)
		remember(side, id);
}

static void do_destroy(struct side *side, uint32_t at)
{
	int rc = uroce_cm_destroy(side->cm, side->known[at]);

	FUZZ_MUST(rc == (side->live[at] ? 0 : -ENOENT));
	side->live[at] = false;
}

/* Any call on any id that it ever had. */
static void do_call(struct world *w, struct side *side)
{
	uint32_t how = take(&w->in, 1), at = take(&w->in, 1) % KNOWN, id;
	const struct uroce_cm_accept accept = {.qpn = 2 + (how >> 3),
		.psn = how,
		.responder_resources = (uint8_t)(how >> 4),
		.initiator_depth = (uint8_t)(how >> 5),
		.private_data = private_data,
		.private_bytes = take_bytes_of(w)};
	const struct uroce_cm_refusal refusal = {.reason = (uint16_t)how,
		.ari = private_data,
		.ari_bytes = take_bytes_of(w),
		.private_data = private_data,
		.private_bytes = take_bytes_of(w)};
	const struct uroce_cm_sidr_reply reply = {.status = (uint8_t)(how >> 6),
		.qpn = how,
		.private_data = private_data,
		.private_bytes = take_bytes_of(w)};
	int rc = 0;

	if (at >= side->num_known)
		return;
	id = side->known[at];
	switch (how % 8) {
	case 0:
		do_destroy(side, at);
		return;
	case 1:
		rc = uroce_cm_accept(side->cm, id, &accept);
		break;
	case 2:
		rc = uroce_cm_reject(side->cm, id, &refusal);
		break;
	case 3:
		rc = uroce_cm_established(side->cm, id);
		break;
	case 4:
		rc = uroce_cm_received(side->cm, id);
		break;
	case 5:
		rc = uroce_cm_disconnect(side->cm, id);
		break;
	case 6:
		rc = uroce_cm_sidr_reply(side->cm, id, &reply);
		break;
	case 7:
		rc = uroce_cm_set_user(side->cm, id, how);
		break;
	}
	FUZZ_MUST((rc == -ENOENT) == !side->live[at]);
}

static void hear(struct side *side)
{
	struct uroce_cm_event event;
	uint32_t *known;

	if (!uroce_cm_event_poll(side->cm, &event))
		return;
	FUZZ_MUST(event.type < UROCE_CM_EVENT_COUNT);
	FUZZ_MUST(event.private_bytes <= sizeof(event.private_data));
	FUZZ_MUST(event.ari_bytes <= sizeof(event.ari));
	if (event.type == UROCE_CM_CONNECT_REQUEST || event.type == UROCE_CM_SIDR_REQUEST) {
		remember(side, event.id);
		return;
	}
	known = find_known(side, event.id);
	FUZZ_MUST(known && side->live[known - side->known]);
}

/* Up to 2^38 ns: five minutes, in which all that may end has ended. */
static void pass_time(struct world *w)
{
	w->now_ns += 1ull << take(&w->in, 1) % 39;
	for (uint32_t s = 0; s < SIDES; s++) {
		struct uroce_cm *cm = w->sides[s].cm;

		uroce_cm_expire(cm, w->now_ns);
		FUZZ_MUST(uroce_cm_next_deadline(cm) > w->now_ns);
	}
}

static void step(struct world *w)
{
	uint32_t how = take(&w->in, 1);
	struct side *side = &w->sides[how >> 7];

	switch (how % 16) {
	case 0:
	case 1:
		do_connect(w, side);
		break;
	case 2:
		do_resolve(w, side);
		break;
	case 3:
		do_listen(w, side);
		break;
	case 4:
		pass_time(w);
		break;
	case 5:
		give_raw(w);
		break;
	case 6:
		uroce_cm_set_mtu(side->cm, 128u << take(&w->in, 1) % 7);
		break;
	case 7:
	case 8:
	case 9:
	case 10:
		do_call(w, side);
		break;
	default:
		deliver(w);
		hear(&w->sides[0]);
		hear(&w->sides[1]);
		break;
	}
	for (uint32_t s = 0; s < SIDES; s++) {
		if (!(how & 0x40))
			collect(w, s);
		check(&w->sides[s]);
	}
}

/* No queue pair has a connection. */
static void try_all_qpns(struct world *w, struct side *side)
{
	for (uint32_t qpn = 2; qpn < 256; qpn++) {
		const struct uroce_cm_connect connect = {
			.route = {.src = side->gid, .dst = w->sides[side == w->sides].gid},
			.qpn = qpn,
			.qp_type = UROCE_QP_RC,
			.path_mtu_bytes = 256,
		};
		uint32_t id;

		FUZZ_MUST(uroce_cm_connect(side->cm, &connect, &id) == 0);
		FUZZ_MUST(uroce_cm_destroy(side->cm, id) == 0);
	}
}

/* The applications want nothing any more, and nothing arrives: all places come back. */
static void end(struct world *w)
{
	for (uint32_t s = 0; s < SIDES; s++) {
		struct side *side = &w->sides[s];

		for (uint32_t i = 0; i < LISTENERS; i++)
			if (side->listeners[i])
				FUZZ_MUST(uroce_cm_unlisten(side->cm, side->listeners[i]) == 0);
		/* Those that nobody heard of are turned away; none comes any more. */
		for (uint32_t i = 0; i < side->num_known; i++)
			do_destroy(side, i);
	}
	for (uint32_t round = 0; round < 40; round++) {
		for (uint32_t s = 0; s < SIDES; s++) {
			collect(w, s);
			uroce_cm_expire(w->sides[s].cm, w->now_ns);
		}
		w->now_ns += UROCE_FUZZ_ROUND_NS;
		w->num_flying = 0;
	}
	for (uint32_t s = 0; s < SIDES; s++) {
		try_all_qpns(w, &w->sides[s]);
		FUZZ_MUST(!uroce_cm_event_pending(w->sides[s].cm));
		FUZZ_MUST(uroce_cm_num_ids(w->sides[s].cm) == 0);
		FUZZ_MUST(uroce_cm_next_deadline(w->sides[s].cm) == UINT64_MAX);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	static struct world w;
	struct uroce_cm_conf conf = {.max_ids = IDS,
		.max_listeners = LISTENERS,
		.max_replies = REPLIES,
		.mtu_bytes = 1024};

	memset(&w, 0, sizeof(w));
	w.in = (struct input){data, bytes};
	w.now_ns = 1000000000;
	FUZZ_MUST(uroce_cm_bytes(&conf) <= MEMORY);
	for (uint32_t s = 0; s < SIDES; s++) {
		conf.seed = s + 1;
		w.sides[s].cm = uroce_cm_init(memory[s], &conf);
		w.sides[s].gid = uroce_gid_of_ipv4(0xc0000201 + s);
		FUZZ_MUST(w.sides[s].cm);
	}
	for (int i = 0; i < STEPS_MAX && w.in.left > 0; i++)
		step(&w);
	end(&w);
	return 0;
}
