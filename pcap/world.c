/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Building the world that a recorded responder lived in.
 */
#include "pcap/world.h"

#include <stdlib.h>

#include "engine/bytes.h"

enum {
	WORLD_BYTES_MAX = 1 << 28,
	NAK_ACCESS = 0x62,
	OP_READ_REQUEST = 0x0c
};

static bool is_read_response(const struct uroce_exchange_frame *f)
{
	return f->text.opcode >= 0x0d && f->text.opcode <= 0x10;
}

/* What a request touches; false if nothing of the responder's by key. */
static bool target_of(
	const struct uroce_exchange_frame *f, uint32_t *key, uint64_t *va, uint64_t *bytes)
{
	if (f->text.has_reth) {
		*key = f->text.reth.rkey;
		*va = f->text.reth.va;
		*bytes = f->text.reth.dma_len;
	} else if (f->text.has_atomiceth) {
		*key = f->text.atomiceth.rkey;
		*va = f->text.atomiceth.va;
		*bytes = sizeof(uint64_t);
	} else {
		return false;
	}
	return *bytes > 0 && *key >> 8 != 0;
}

static bool was_refused(const struct uroce_exchange *e, uint32_t i)
{
	const struct uroce_exchange_frame *answer =
		uroce_exchange_find_answer(e, i, e->frames[i]->text.psn);

	return answer && answer->text.has_aeth && answer->text.aeth.kind == UROCE_TEXT_AETH_NAK &&
		answer->text.aeth.syndrome != 0x60;
}

static struct uroce_world_region *find_region(struct uroce_world *world, uint32_t key)
{
	for (uint32_t i = 0; i < world->num; i++)
		if (world->regions[i].key == key)
			return &world->regions[i];
	return NULL;
}

/* Widens the region of a key, or adds one. */
static bool include(struct uroce_world *world, uint32_t key, uint64_t va, uint64_t bytes)
{
	struct uroce_world_region *r = find_region(world, key);
	uint64_t end = va + bytes;

	if (!r) {
		void *grown = realloc(world->regions, (world->num + 1) * sizeof(*world->regions));

		if (!grown)
			return false;
		world->regions = grown;
		r = &world->regions[world->num++];
		*r = (struct uroce_world_region){.key = key, .va = va, .bytes = bytes};
		return true;
	}
	if (end < r->va + r->bytes)
		end = r->va + r->bytes;
	if (va < r->va)
		r->va = va;
	r->bytes = end - r->va;
	return true;
}

static const char *back(struct uroce_world_region *r, struct uroce_stage *stage)
{
	if (r->bytes > WORLD_BYTES_MAX)
		return "its requests reach over more than 256 MiB of one region";
	r->memory = calloc(1, r->bytes + 16);
	r->written = calloc(1, r->bytes);
	if (!r->memory || !r->written)
		return "not enough memory";
	/* malloc gives 16-byte alignment; atomics need the address's own. */
	r->content = r->memory + (r->va & 7);
	if (uroce_stage_register(stage, &r->key, r->va, r->bytes, r->content) != 0)
		return "two of its keys collide in the table";
	return NULL;
}

const uint8_t *uroce_world_find(
	const struct uroce_world *world, uint32_t key, uint64_t va, uint32_t bytes)
{
	for (uint32_t i = 0; i < world->num; i++) {
		const struct uroce_world_region *r = &world->regions[i];

		if (r->key == key && va - r->va <= r->bytes && bytes <= r->bytes - (va - r->va))
			return r->content + (va - r->va);
	}
	return NULL;
}

const char *uroce_world_init(
	struct uroce_world *world, const struct uroce_exchange *e, struct uroce_stage *stage)
{
	const char *wrong = NULL;
	uint64_t va, bytes;
	uint32_t key;

	memset(world, 0, sizeof(*world));
	for (uint32_t i = 0; i < e->num_frames; i++) {
		const struct uroce_exchange_frame *f = e->frames[i];

		if (f->request && f->seen_icrc_ok && target_of(f, &key, &va, &bytes) &&
			!was_refused(e, i) && !include(world, key, va, bytes))
			return "not enough memory";
	}
	for (uint32_t i = 0; i < world->num && !wrong; i++)
		wrong = back(&world->regions[i], stage);
	return wrong;
}

void uroce_world_fini(struct uroce_world *world)
{
	for (uint32_t i = 0; i < world->num; i++) {
		free(world->regions[i].memory);
		free(world->regions[i].written);
	}
	free(world->regions);
	world->regions = NULL;
	world->num = 0;
}

/* Copies recorded bytes to where nothing captured has written. */
static void preload(struct uroce_world_region *r, uint64_t va, const uint8_t *from, uint32_t bytes)
{
	for (uint32_t k = 0; k < bytes; k++) {
		uint64_t at = va + k - r->va;

		if (at < r->bytes && !r->written[at])
			r->content[at] = from[k];
	}
}

static void mark_written(struct uroce_world_region *r, uint64_t va, uint64_t bytes)
{
	for (uint64_t k = 0; k < bytes; k++)
		if (va + k - r->va < r->bytes)
			r->written[va + k - r->va] = 1;
}

/* The recorded answers to the read at index i, until it is asked for again. */
static void preload_read(struct uroce_world_region *r, const struct uroce_exchange *e, uint32_t i)
{
	const struct uroce_exchange_frame *read = e->frames[i];

	for (uint32_t k = i + 1; k < e->num_frames; k++) {
		const struct uroce_exchange_frame *f = e->frames[k];
		uint32_t at = (f->text.psn - read->text.psn) & 0xffffff;

		if (f->request || !is_read_response(f) || at >= read->pkts)
			continue;
		preload(r, read->text.reth.va + (uint64_t)at * e->mtu_bytes,
			f->data + f->text.payload_offset, f->text.payload_bytes);
	}
}

static void preload_atomic(struct uroce_world_region *r, const struct uroce_exchange *e, uint32_t i)
{
	const struct uroce_exchange_frame *f = e->frames[i];
	const struct uroce_exchange_frame *answer = uroce_exchange_find_answer(e, i, f->text.psn);

	/* The answer may have been lost, and a repeat have brought it. */
	for (uint32_t k = i + 1; !answer && k < e->num_frames; k++)
		if (!e->frames[k]->request && e->frames[k]->text.psn == f->text.psn)
			answer = e->frames[k];
	if (answer && answer->text.has_atomicacketh) {
		uint64_t word = answer->text.atomicacketh;

		preload(r, f->text.atomiceth.va, (const uint8_t *)&word, sizeof(word));
	}
}

void uroce_world_prepare(struct uroce_world *world, const struct uroce_exchange *e, uint32_t i)
{
	const struct uroce_exchange_frame *f = e->frames[i];
	struct uroce_world_region *r;
	uint64_t va, bytes;
	uint32_t key;

	if (!target_of(f, &key, &va, &bytes) || !(r = find_region(world, key)))
		return;
	if (f->text.opcode == OP_READ_REQUEST) {
		preload_read(r, e, i);
	} else {
		if (f->text.has_atomiceth)
			preload_atomic(r, e, i);
		mark_written(r, va, bytes);
	}
}
