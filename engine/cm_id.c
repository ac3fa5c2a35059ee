/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Places of connections: numbers, tables and lists.
 *
 * The low bits of a number are its place, the others a generation that never comes twice running
 * and cannot be guessed. Freed places wait at the end of the line, so a number stays dead for long.
 * Tables are chained and as wide as there are places; their hash is seeded, so that no peer can
 * choose addresses and ids that make long chains.
 */
#include "cm_id.h"

#include <assert.h>

/* A step of a Weyl sequence, and its bits mixed. */
static uint64_t mix(uint64_t x)
{
	x ^= x >> 30;
	x *= 0xbf58476d1ce4e5b9;
	x ^= x >> 27;
	x *= 0x94d049bb133111eb;
	return x ^ x >> 31;
}

uint64_t uroce_cm_random(struct uroce_cm *cm)
{
	cm->random += 0x9e3779b97f4a7c15;
	return mix(cm->random);
}

uint64_t uroce_cm_exponent_ns(uint32_t exponent)
{
	return 4096ull << (exponent > 24 ? 24 : exponent);
}

static struct uroce_cm_id *of_link(struct uroce_cm_link *link, enum uroce_cm_list which)
{
	return (struct uroce_cm_id *)((uint8_t *)(link - which) -
		offsetof(struct uroce_cm_id, links));
}

static struct uroce_cm_id *of_entry(struct uroce_cm_entry *entry, enum uroce_cm_key by)
{
	return (struct uroce_cm_id *)((uint8_t *)(entry - by) -
		offsetof(struct uroce_cm_id, entries));
}

void uroce_cm_id_enter(struct uroce_cm_id *id, enum uroce_cm_list which, struct uroce_cm_link *list)
{
	struct uroce_cm_link *link = &id->links[which];

	if (link->next)
		return;
	link->prev = list->prev;
	link->next = list;
	list->prev->next = link;
	list->prev = link;
}

void uroce_cm_id_leave(struct uroce_cm_id *id, enum uroce_cm_list which)
{
	struct uroce_cm_link *link = &id->links[which];

	if (!link->next)
		return;
	link->prev->next = link->next;
	link->next->prev = link->prev;
	*link = (struct uroce_cm_link){NULL, NULL};
}

struct uroce_cm_id *uroce_cm_id_first(const struct uroce_cm_link *list, enum uroce_cm_list which)
{
	return list->next == list ? NULL : of_link(list->next, which);
}

static void list_init(struct uroce_cm_link *list)
{
	list->prev = list->next = list;
}

void uroce_cm_ids_init(struct uroce_cm *cm)
{
	list_init(&cm->free);
	list_init(&cm->forgotten);
	list_init(&cm->tx);
	list_init(&cm->event);
	for (uint32_t i = 0; i < cm->conf.max_ids; i++) {
		struct uroce_cm_id *id = &cm->ids[i];

		*id = (struct uroce_cm_id){.number = 0};
		uroce_timer_init(&id->timer);
		id->tid = uroce_cm_random(cm); /* where its generations begin */
		uroce_cm_id_enter(id, UROCE_CM_LIST_LIFE, &cm->free);
	}
}

/* Generations go on by up to half of their number, so that one is not followed by itself. */
static uint32_t next_number(struct uroce_cm *cm, uint32_t place, uint32_t generation)
{
	uint32_t half = 1u << (31 - cm->slots_log2);
	uint32_t step = 1 + (uint32_t)(uroce_cm_random(cm) % half);
	uint32_t number = (generation + step) << cm->slots_log2 | place;

	return number ? number : (generation + step + 1) << cm->slots_log2;
}

struct uroce_cm_id *uroce_cm_id_take(struct uroce_cm *cm)
{
	struct uroce_cm_id *id = uroce_cm_id_first(&cm->free, UROCE_CM_LIST_LIFE);
	uint32_t generation;

	if (!id) {
		id = uroce_cm_id_first(&cm->forgotten, UROCE_CM_LIST_LIFE);
		if (!id)
			return NULL;
		uroce_cm_id_free(cm, id);
		id = uroce_cm_id_first(&cm->free, UROCE_CM_LIST_LIFE);
	}
	uroce_cm_id_leave(id, UROCE_CM_LIST_LIFE);
	generation = (uint32_t)id->tid;
	*id = (struct uroce_cm_id){.number = next_number(cm, (uint32_t)(id - cm->ids), generation)};
	uroce_timer_init(&id->timer);
	cm->num_ids++;
	return id;
}

void uroce_cm_id_free(struct uroce_cm *cm, struct uroce_cm_id *id)
{
	assert(id->number);
	for (uint32_t by = 0; by < UROCE_CM_NUM_KEYS; by++)
		uroce_cm_id_remove_by(cm, id, by);
	for (uint32_t which = 0; which < UROCE_CM_NUM_LISTS; which++)
		uroce_cm_id_leave(id, which);
	uroce_timer_remove(&cm->timers, &id->timer);
	id->tid = id->number >> cm->slots_log2;
	id->number = 0;
	id->state = UROCE_CM_STATE_FREE;
	id->owed = id->events = 0;
	uroce_cm_id_enter(id, UROCE_CM_LIST_LIFE, &cm->free);
	cm->num_ids--;
}

struct uroce_cm_id *uroce_cm_id_find(const struct uroce_cm *cm, uint32_t number)
{
	uint32_t place = number & ((1u << cm->slots_log2) - 1);

	if (number == 0 || place >= cm->conf.max_ids || cm->ids[place].number != number)
		return NULL;
	return &cm->ids[place];
}

struct uroce_cm_id *uroce_cm_id_find_known(const struct uroce_cm *cm, uint32_t number)
{
	struct uroce_cm_id *id = uroce_cm_id_find(cm, number);

	return id && id->known && !id->destroyed ? id : NULL;
}

static struct uroce_cm_entry **bucket_of(
	const struct uroce_cm *cm, enum uroce_cm_key by, struct uroce_gid addr, uint32_t key)
{
	uint64_t hash = mix(mix(mix(cm->hash_seed ^ addr.high) ^ addr.low) ^ key);

	return &cm->buckets[by][hash & cm->buckets_mask];
}

struct uroce_cm_id *uroce_cm_id_find_by(
	const struct uroce_cm *cm, enum uroce_cm_key by, struct uroce_gid addr, uint32_t key)
{
	struct uroce_cm_entry *entry = *bucket_of(cm, by, addr, key);

	for (; entry; entry = entry->next)
		if (entry->key == key && uroce_gid_equal(entry->addr, addr))
			return of_entry(entry, by);
	return NULL;
}

void uroce_cm_id_add_by(struct uroce_cm *cm, struct uroce_cm_id *id, enum uroce_cm_key by,
	struct uroce_gid addr, uint32_t key)
{
	struct uroce_cm_entry **bucket = bucket_of(cm, by, addr, key), *entry = &id->entries[by];

	assert(!entry->in);
	*entry = (struct uroce_cm_entry){.next = *bucket, .addr = addr, .key = key, .in = true};
	*bucket = entry;
}

void uroce_cm_id_remove_by(struct uroce_cm *cm, struct uroce_cm_id *id, enum uroce_cm_key by)
{
	struct uroce_cm_entry *entry = &id->entries[by], **at;

	if (!entry->in)
		return;
	for (at = bucket_of(cm, by, entry->addr, entry->key); *at != entry; at = &(*at)->next)
		assert(*at);
	*at = entry->next;
	entry->in = false;
}

void uroce_cm_id_owe(struct uroce_cm *cm, struct uroce_cm_id *id, enum uroce_cm_owed what)
{
	id->owed |= what;
	uroce_cm_id_enter(id, UROCE_CM_LIST_TX, &cm->tx);
}

void uroce_cm_id_settle(struct uroce_cm_id *id)
{
	id->owed = 0;
	id->retries = 0;
	id->mra_taken = false;
	uroce_cm_id_leave(id, UROCE_CM_LIST_TX);
	uroce_timer_cancel(&id->timer);
}

void uroce_cm_id_tell(struct uroce_cm *cm, struct uroce_cm_id *id, enum uroce_cm_event_type type)
{
	if (id->destroyed)
		return;
	id->events |= 1u << type;
	uroce_cm_id_enter(id, UROCE_CM_LIST_EVENT, &cm->event);
}

void uroce_cm_id_untell(struct uroce_cm_id *id, uint32_t events)
{
	id->events &= ~events;
	if (id->events == 0)
		uroce_cm_id_leave(id, UROCE_CM_LIST_EVENT);
}

void uroce_cm_id_keep(struct uroce_cm_id *id, const void *private_data, uint32_t private_bytes,
	const void *ari, uint32_t ari_bytes)
{
	assert(private_bytes + ari_bytes <= sizeof(id->data));
	id->private_bytes = (uint8_t)private_bytes;
	id->ari_bytes = (uint8_t)ari_bytes;
	if (private_bytes > 0)
		memcpy(id->data, private_data, private_bytes);
	if (ari_bytes > 0)
		memcpy(id->data + private_bytes, ari, ari_bytes);
}
