/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The in-memory link: one turn is receive, expire, transmit, as on a port.
 */
#include "memlink.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	BURST = 32
};

struct frame {
	uint32_t bytes;
	uint8_t data[MEMLINK_FRAME_BYTES - sizeof(uint32_t)];
};

/* xorshift64, seeded the same in each run. */
static bool is_lost(struct memlink *link)
{
	link->random ^= link->random << 13;
	link->random ^= link->random >> 7;
	link->random ^= link->random << 17;
	return (link->random >> 32) % 100 < link->loss_percent;
}

/* A copy of a frame for another worker, who frees it. */
static void hand_over(struct memlink *link, const struct uroce_pkt *pkt)
{
	struct frame *copy = malloc(sizeof(*copy));

	if (!copy)
		abort();
	copy->bytes = pkt->bytes;
	memcpy(copy->data, pkt->data, pkt->bytes);
	/* A full ring loses it. */
	if (!uroce_steer_push(link->steer, link->id, pkt->owner, copy))
		free(copy);
}

/* Takes what others were sent for this worker. */
static uint32_t receive_inner(struct memlink *link, struct uroce_core *core, uint64_t now_ns)
{
	struct frame *frames[BURST];
	struct uroce_pkt pkts[BURST];
	uint32_t n = uroce_steer_pop(link->steer, link->id, (void **)frames, BURST);

	for (uint32_t i = 0; i < n; i++) {
		pkts[i].data = frames[i]->data;
		pkts[i].bytes = frames[i]->bytes;
		pkts[i].flags = UROCE_PKT_INNER;
	}
	uroce_core_rx(core, now_ns, pkts, n);
	for (uint32_t i = 0; i < n; i++)
		free(frames[i]);
	return n;
}

static uint32_t receive(struct memlink *link, struct uroce_core *core, uint64_t now_ns)
{
	uint32_t head = atomic_load_explicit(&link->in.head, memory_order_relaxed);
	uint32_t n = uroce_ring_tail(&link->in) - head;
	struct uroce_pkt pkts[BURST];
	uint32_t kept = 0;

	if (n > BURST)
		n = BURST;
	for (uint32_t i = 0; i < n; i++) {
		const struct frame *frame = uroce_ring_entry(&link->in, head + i);

		if (link->loss_percent > 0 && is_lost(link))
			continue;
		pkts[kept].data = frame->data;
		pkts[kept].bytes = frame->bytes;
		pkts[kept++].flags = 0;
	}
	uroce_core_rx(core, now_ns, pkts, kept);
	for (uint32_t i = 0; i < kept; i++)
		if (pkts[i].handed_over)
			hand_over(link, &pkts[i]);
	uroce_ring_release(&link->in, head + n);
	if (link->steer) {
		uroce_steer_flush(link->steer, link->id);
		n += receive_inner(link, core, now_ns);
	}
	if (n < BURST)
		uroce_core_rx_empty(core, now_ns);
	return n;
}

static uint32_t transmit(struct memlink *link, struct uroce_core *core, uint64_t now_ns)
{
	struct uroce_ring *out = &link->peer->in;
	struct uroce_slot slots[BURST];
	uint32_t room, used;

	out->head_cached = atomic_load_explicit(&out->head, memory_order_acquire);
	room = out->limit - (out->producer_tail - out->head_cached);
	if (room > BURST)
		room = BURST;
	for (uint32_t i = 0; i < room; i++) {
		struct frame *frame = uroce_ring_entry(out, out->producer_tail + i);

		slots[i].data = frame->data;
		slots[i].capacity_bytes = sizeof(frame->data);
	}
	used = uroce_core_tx(core, now_ns, slots, room);
	for (uint32_t i = 0; i < used; i++) {
		struct frame *frame = uroce_ring_entry(out, out->producer_tail);

		frame->bytes = slots[i].bytes;
		uroce_ring_advance(out);
	}
	uroce_ring_publish(out);
	return used;
}

static uint32_t turn(void *arg, struct uroce_core *core, uint64_t now_ns)
{
	struct memlink *link = arg;
	uint32_t moved = receive(link, core, now_ns);

	uroce_core_expire(core, now_ns);
	return moved + transmit(link, core, now_ns);
}

const struct uroce_link_ops memlink_ops = {.turn = turn};

static void init_side(struct memlink *link, struct memlink *peer)
{
	memset(link, 0, sizeof(*link));
	link->memory = calloc(MEMLINK_FRAMES, sizeof(struct frame));
	if (!link->memory)
		abort();
	uroce_ring_init(&link->in, link->memory, sizeof(struct frame), MEMLINK_FRAMES);
	link->peer = peer;
	link->loss_percent = 0;
	link->random = 88172645463325252u;
}

void memlink_init(struct memlink *a, struct memlink *b)
{
	init_side(a, b);
	init_side(b, a);
}

void memlink_fini(struct memlink *a, struct memlink *b)
{
	free(a->memory);
	free(b->memory);
}

static struct uroce_device *open_on(
	void **links, unsigned int id, const struct uroce_device_conf *given)
{
	struct uroce_device_conf conf = given ? *given : (struct uroce_device_conf){0};
	const uint8_t mac[6] = {2, 0, 0, 0, 0, (uint8_t)id};
	struct uroce_device *dev;
	char addr[64];

	snprintf(addr, sizeof(addr), "192.0.2.%u/24,2001:db8::%x/64", id, id);
	if (!conf.addr)
		conf.addr = addr;
	conf.max_qps = 64;
	if (uroce_device_open_link(&conf, mac, 4096, &memlink_ops, links, &dev) != 0)
		abort();
	return dev;
}

struct uroce_device *memlink_open(
	struct memlink *link, unsigned int id, const struct uroce_device_conf *conf)
{
	return open_on((void *[]){link}, id, conf);
}

struct uroce_device *memlink_open_many(struct memlink *links, uint32_t num,
	struct uroce_steer *steer, unsigned int id, const struct uroce_device_conf *given)
{
	struct uroce_device_conf conf = given ? *given : (struct uroce_device_conf){0};
	void *pointers[UROCE_WORKERS_MAX];

	conf.num_workers = (uint16_t)num;
	uroce_steer_init(steer, num, NULL, NULL);
	if (uroce_steer_connect_all(steer) != 0)
		abort();
	for (uint32_t i = 0; i < num; i++) {
		links[i].steer = steer;
		links[i].id = i;
		pointers[i] = &links[i];
	}
	return open_on(pointers, id, &conf);
}

void memlink_close_many(struct uroce_steer *steer)
{
	void *frame;

	for (uint32_t i = 0; i < steer->num; i++)
		while (uroce_steer_pop(steer, i, &frame, 1) == 1)
			free(frame);
	uroce_steer_fini(steer);
}

const uint8_t *memlink_next(struct memlink *link, uint32_t *bytes)
{
	uint32_t head = atomic_load(&link->in.head);
	const struct frame *frame = uroce_ring_entry(&link->in, head);

	if (uroce_ring_tail(&link->in) == head)
		return NULL;
	*bytes = frame->bytes;
	return frame->data;
}
