/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A ring between two threads, for the thread sanitizer: nothing lost, doubled, torn or reordered.
 *
 * Both ends count; nobody sleeps. An end that finds nothing to do yields, and one that yields far
 * too often in a row gives up, so that a fault is a failure and not a hang.
 */
#define _GNU_SOURCE
#include "ring.h"

#include <pthread.h>
#include <sched.h>

#include "../unit/cunit_run.h"

enum {
	NUM_ENTRIES = 200000,
	LIMIT = 13,
	WORDS = 6
};

#define YIELDS_MAX 20000000u

struct entry {
	uint64_t words[WORDS];
};

struct shared {
	struct uroce_ring ring;
	struct entry entries[16];
	bool batches; /* the producer publishes several entries at once */
};

/* False when patience is at its end. */
static bool give_way(uint32_t *yields)
{
	sched_yield();
	return ++*yields < YIELDS_MAX;
}

static void fill(struct entry *entry, uint64_t number)
{
	for (uint64_t i = 0; i < WORDS; i++)
		entry->words[i] = number * 1000 + i;
}

static bool is_filled(const struct entry *entry, uint64_t number)
{
	for (uint64_t i = 0; i < WORDS; i++)
		if (entry->words[i] != number * 1000 + i)
			return false;
	return true;
}

static void *produce(void *arg)
{
	struct shared *shared = arg;
	uint32_t yields = 0;

	for (uint64_t number = 0; number < NUM_ENTRIES;) {
		struct entry *entry = uroce_ring_reserve(&shared->ring);

		if (!entry) {
			uroce_ring_publish(&shared->ring);
			if (!give_way(&yields))
				return NULL;
			continue;
		}
		yields = 0;
		fill(entry, number++);
		uroce_ring_advance(&shared->ring);
		if (!shared->batches || number % 5 == 0 || number == NUM_ENTRIES)
			uroce_ring_publish(&shared->ring);
	}
	return NULL;
}

/* Takes entries with peek and pop; returns how many came that were right and in order. */
static uint64_t consume(struct shared *shared)
{
	uint32_t yields = 0;
	uint64_t number = 0;

	while (number < NUM_ENTRIES) {
		const struct entry *entry = uroce_ring_peek(&shared->ring);

		if (!entry) {
			if (!give_way(&yields))
				break;
			continue;
		}
		yields = 0;
		if (!is_filled(entry, number))
			break;
		number++;
		uroce_ring_pop(&shared->ring);
	}
	return number;
}

/* As a worker does: reads up to the tail at its own pace and frees entries later, several at once.
 */
static uint64_t consume_by_index(struct shared *shared)
{
	uint32_t yields = 0, at = 0;

	while (at < NUM_ENTRIES) {
		uint32_t tail = uroce_ring_tail(&shared->ring);

		if (at == tail) {
			uroce_ring_release(&shared->ring, at);
			if (!give_way(&yields))
				break;
			continue;
		}
		yields = 0;
		for (; at != tail; at++) {
			if (!is_filled(uroce_ring_entry(&shared->ring, at), at))
				return at;
			if (at % 7 == 6)
				uroce_ring_release(&shared->ring, at - 2);
		}
	}
	return at;
}

/* by_index: the consumer frees several entries at once. */
static void run(bool batches, bool by_index)
{
	static struct shared shared;
	uint64_t got;
	pthread_t producer;

	shared = (struct shared){.batches = batches};
	uroce_ring_init(&shared.ring, shared.entries, sizeof(struct entry), LIMIT);
	CU_ASSERT_EQUAL_FATAL(pthread_create(&producer, NULL, produce, &shared), 0);
	got = by_index ? consume_by_index(&shared) : consume(&shared);
	pthread_join(producer, NULL);
	CU_ASSERT_EQUAL(got, NUM_ENTRIES);
	CU_ASSERT_EQUAL(uroce_ring_tail(&shared.ring), NUM_ENTRIES);
}

static void entries_published_one_by_one_all_arrive(void)
{
	run(false, false);
}

static void entries_published_in_batches_all_arrive(void)
{
	run(true, false);
}

static void entries_freed_by_index_all_arrive(void)
{
	run(true, true);
}

int main(void)
{
	static const struct unit_case cases[] = {
		{"Entries published one by one all arrive in order",
			entries_published_one_by_one_all_arrive},
		{"Entries published in batches all arrive in order",
			entries_published_in_batches_all_arrive},
		{"Entries freed several at once by index all arrive in order",
			entries_freed_by_index_all_arrive},
	};

	return run_suite("ring_threads", cases, sizeof(cases) / sizeof(cases[0]));
}
