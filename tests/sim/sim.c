/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The simulator's loop and link.
 *
 * Frames in flight are kept sorted by arrival; each step moves the clock to the next arrival or
 * deadline and gives both endpoints one turn in the order that a worker has: receive, expire,
 * transmit.
 */
#include "sim.h"

#include <stdlib.h>
#include <string.h>

enum {
	BURST_MAX = 32,
	PPM = 1000000,
	ETH_BYTES = 14,
	UDP_BYTES = 8,
	/* Opcodes: READ RESPONSE FIRST to ATOMIC ACKNOWLEDGE, and what is no request either. */
	FIRST_ANSWER = 0x0d,
	LAST_ANSWER = 0x12,
	CNP = 0x81,
};

uint64_t sim_random(struct sim *sim)
{
	uint64_t z = sim->random += 0x9e3779b97f4a7c15u;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
	z = (z ^ z >> 27) * 0x94d049bb133111ebu;
	return z ^ z >> 31;
}

static bool chance(struct sim *sim, uint32_t ppm)
{
	return ppm > 0 && sim_random(sim) % PPM < ppm;
}

void sim_init(struct sim *sim, const struct sim_link_conf *link, const struct endpoint_conf *a,
	const struct endpoint_conf *b)
{
	struct endpoint_conf defaults_a = endpoint_defaults(1, 2);
	struct endpoint_conf defaults_b = endpoint_defaults(2, 1);

	memset(sim, 0, sizeof(*sim));
	sim->link = *link;
	if (sim->link.queue_frames == 0)
		sim->link.queue_frames = SIM_QUEUE_FRAMES;
	sim->random = link->seed;
	endpoint_init(&sim->ep[0], a ? a : &defaults_a);
	endpoint_init(&sim->ep[1], b ? b : &defaults_b);
	for (int i = 0; i < 2; i++)
		sim->next_psn[i] = sim->ep[i].conf.sq_psn;
	endpoint_connect(&sim->ep[0], sim->ep[1].qp->qpn);
	endpoint_connect(&sim->ep[1], sim->ep[0].qp->qpn);
}

void sim_fini(struct sim *sim)
{
	endpoint_fini(&sim->ep[0]);
	endpoint_fini(&sim->ep[1]);
	for (uint32_t i = 0; i < sim->queued; i++)
		free(sim->queue[i]);
}

/* ---- the link ---- */

static uint32_t queued_to(const struct sim *sim, uint32_t to)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < sim->queued; i++)
		n += sim->queue[i]->to == to;
	return n;
}

/* Puts a frame among those in flight, in order of arrival. */
static void enqueue(
	struct sim *sim, uint32_t to, const uint8_t *data, uint32_t bytes, uint64_t arrival_ns)
{
	struct sim_frame *frame;
	uint32_t at;

	if (sim->queued == sizeof(sim->queue) / sizeof(sim->queue[0]) ||
		queued_to(sim, to) >= sim->link.queue_frames) {
		sim->lost++;
		return;
	}
	frame = malloc(sizeof(*frame) + bytes);
	if (!frame)
		abort();
	frame->arrival_ns = arrival_ns;
	frame->to = to;
	frame->bytes = bytes;
	memcpy(frame->data, data, bytes);
	if (chance(sim, sim->link.flip_ppm))
		frame->data[sim_random(sim) % bytes] ^= (uint8_t)(1u << sim_random(sim) % 8);
	for (at = sim->queued++; at > 0 && sim->queue[at - 1]->arrival_ns > arrival_ns; at--)
		sim->queue[at] = sim->queue[at - 1];
	sim->queue[at] = frame;
}

/* Requests sent again, as the wire shows them and not as the engine counts. */
static void note_repeated(struct sim *sim, uint32_t from, const uint8_t *data)
{
	const uint8_t *bth = data + ETH_BYTES + (sim->ep[from].conf.ipv6 ? 40 : 20) + UDP_BYTES;
	uint32_t psn = (uint32_t)bth[9] << 16 | (uint32_t)bth[10] << 8 | bth[11];
	uint32_t operation = bth[0] & 0x1f;

	if (bth[0] == CNP || (operation >= FIRST_ANSWER && operation <= LAST_ANSWER))
		return;
	if ((psn - sim->next_psn[from]) & 0x800000)
		sim->repeated++;
	else
		sim->next_psn[from] = psn + 1;
}

static void transmit(struct sim *sim, uint32_t from, const uint8_t *data, uint32_t bytes)
{
	uint64_t *busy_ns = &sim->busy_until_ns[from];
	uint64_t number = sim->frames++;
	uint64_t arrival_ns;

	note_repeated(sim, from, data);
	if (*busy_ns < sim->now_ns)
		*busy_ns = sim->now_ns;
	*busy_ns += bytes * sim->link.ns_per_kib / 1024;
	arrival_ns = *busy_ns + sim->link.latency_ns;
	if ((number < 64 && (sim->link.loss_mask >> number & 1)) ||
		chance(sim, sim->link.loss_ppm)) {
		sim->lost++;
		return;
	}
	if (chance(sim, sim->link.reorder_ppm))
		arrival_ns += sim_random(sim) % (4 * sim->link.latency_ns + 1);
	enqueue(sim, 1 - from, data, bytes, arrival_ns);
	if (chance(sim, sim->link.duplicate_ppm))
		enqueue(sim, 1 - from, data, bytes,
			arrival_ns + sim_random(sim) % (2 * sim->link.latency_ns + 1));
}

/* ---- turns ---- */

/* What has arrived at an endpoint by now, up to a burst. */
static void receive(struct sim *sim, uint32_t to)
{
	uint32_t limit = sim->burst ? sim->burst : BURST_MAX;
	struct sim_frame *done[BURST_MAX];
	struct uroce_pkt pkts[BURST_MAX];
	uint32_t n = 0, kept = 0;

	memset(pkts, 0, sizeof(pkts));
	for (uint32_t i = 0; i < sim->queued; i++) {
		struct sim_frame *frame = sim->queue[i];

		if (frame->to == to && frame->arrival_ns <= sim->now_ns && n < limit) {
			pkts[n].data = frame->data;
			pkts[n].bytes = frame->bytes;
			done[n++] = frame;
		} else {
			sim->queue[kept++] = frame;
		}
	}
	sim->queued = kept;
	if (n > 0)
		uroce_core_rx(&sim->ep[to].core, sim->now_ns, pkts, n);
	if (n < limit)
		uroce_core_rx_empty(&sim->ep[to].core, sim->now_ns);
	for (uint32_t i = 0; i < n; i++)
		free(done[i]);
}

/* Slots as the configuration has it: so many at once, and the n-th time none at all. */
static uint32_t offer(struct sim *sim, uint32_t who, struct uroce_slot *slots, uint32_t n)
{
	if (++sim->tx_offers == sim->tx_hold)
		return 0;
	return uroce_core_tx(&sim->ep[who].core, sim->now_ns, slots, n);
}

static void turn(struct sim *sim, uint32_t who)
{
	uint32_t limit = sim->burst ? sim->burst : BURST_MAX;
	uint32_t at_once = sim->tx_slots ? sim->tx_slots : 1;
	uint8_t data[BURST_MAX][ENDPOINT_FRAME_BYTES];
	struct uroce_slot slots[BURST_MAX];
	uint32_t sent = 0, n, want;

	receive(sim, who);
	uroce_core_expire(&sim->ep[who].core, sim->now_ns);
	for (uint32_t i = 0; i < at_once; i++)
		slots[i] = (struct uroce_slot){.data = data[i], .capacity_bytes = sizeof(data[i])};
	do {
		want = limit - sent < at_once ? limit - sent : at_once;
		n = want ? offer(sim, who, slots, want) : 0;
		for (uint32_t i = 0; i < n; i++)
			transmit(sim, who, slots[i].data, slots[i].bytes);
		sent += n;
	} while (n > 0 && n == want);
}

static bool has_work(struct sim *sim)
{
	for (int i = 0; i < 2; i++)
		if (sim->ep[i].core.ready.head || sim->ep[i].core.idle_acks ||
			atomic_load(&sim->ep[i].core.bells.head))
			return true;
	return false;
}

bool sim_step(struct sim *sim, uint64_t until_ns)
{
	uint64_t next_ns = UROCE_TIMER_NEVER;

	if (has_work(sim)) {
		next_ns = sim->now_ns;
	} else {
		for (int i = 0; i < 2; i++) {
			uint64_t deadline_ns = uroce_core_next_deadline(&sim->ep[i].core);

			if (deadline_ns < next_ns)
				next_ns = deadline_ns;
		}
		if (sim->queued > 0 && sim->queue[0]->arrival_ns < next_ns)
			next_ns = sim->queue[0]->arrival_ns;
	}
	if (next_ns == UROCE_TIMER_NEVER || next_ns > until_ns)
		return false;
	if (next_ns > sim->now_ns)
		sim->now_ns = next_ns;
	turn(sim, 0);
	turn(sim, 1);
	return true;
}

bool sim_run(struct sim *sim, uint64_t until_ns)
{
	while (sim_step(sim, until_ns))
		;
	return sim->now_ns < until_ns;
}
