/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Making a divergence small. First its faults are written down one by one; then each thing that
 * might go is left out, and stays out if the run is still bad: large things first, faults by
 * halves, quarters and so on. How it is bad does not matter.
 */
#include "soak.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	TRACE_SHOWN = 40,
	RUNS_MAX = 10000,
	FEW_FAULTS = 3,
	FRAMES_TRIED = 100,
	SILENCE_MAX = 20,
};

struct shrink {
	struct world_part *part;
	uint32_t runs;
	uint32_t max_runs;
	bool smaller; /* something went since this was cleared */
};

/* The faults of a part are these from now on; takes them over. */
static void set_fates(struct world_part *part, struct net_fate *fates, uint32_t n)
{
	free(part->fates);
	part->explicit_fates = true;
	part->fates = fates;
	part->num_fates = n;
}

/* Whether a run of this is bad; then it is taken over, with the faults that really happened. */
static bool is_bad(struct shrink *s, const struct world_part *tried)
{
	struct soak_result result;

	if (s->runs >= s->max_runs)
		return false;
	s->runs++;
	result = soak_run(tried, 0);
	/* Without one operation another may have no certain outcome: that shows nothing. */
	if (result.good || result.no_plan) {
		free(result.fates);
		return false;
	}
	memcpy(s->part->ops, tried->ops, sizeof(tried->ops));
	s->part->pauses = tried->pauses;
	set_fates(s->part, result.fates, result.num_fates);
	s->smaller = true;
	return true;
}

static void without_connections(struct shrink *s)
{
	for (uint32_t i = 0; i < WORLD_DIRECTIONS_MAX; i += 2) {
		struct world_part tried = *s->part;

		if (tried.ops[i] == 0 && tried.ops[i + 1] == 0)
			continue;
		tried.ops[i] = tried.ops[i + 1] = 0;
		is_bad(s, &tried);
	}
	for (uint32_t i = 0; i < WORLD_DIRECTIONS_MAX; i++) {
		struct world_part tried = *s->part;

		if (tried.ops[i] == 0)
			continue;
		tried.ops[i] = 0;
		is_bad(s, &tried);
	}
}

static void without_pauses(struct shrink *s)
{
	for (uint32_t i = 0; i < WORLD_PAUSES_MAX; i++) {
		struct world_part tried = *s->part;

		if (!(tried.pauses >> i & 1))
			continue;
		tried.pauses &= ~(1u << i);
		is_bad(s, &tried);
	}
}

static struct net_fate *copy_fates(const struct world_part *part)
{
	struct net_fate *copy = malloc((part->num_fates + 1) * sizeof(copy[0]));

	if (!copy)
		abort();
	if (part->num_fates > 0)
		memcpy(copy, part->fates, part->num_fates * sizeof(copy[0]));
	return copy;
}

/* Without the fates [from, from + n), if it is still bad. */
static bool without_fates(struct shrink *s, uint32_t from, uint32_t n)
{
	struct world_part tried = *s->part;
	uint32_t all = tried.num_fates;
	bool bad;

	if (n > all - from)
		n = all - from;
	tried.fates = copy_fates(s->part);
	memmove(tried.fates + from, tried.fates + from + n,
		(all - from - n) * sizeof(tried.fates[0]));
	tried.num_fates = all - n;
	bad = is_bad(s, &tried);
	free(tried.fates);
	return bad;
}

static void without_faults(struct shrink *s)
{
	for (uint32_t n = s->part->num_fates; n > 0; n /= 2)
		for (uint32_t from = 0; from < s->part->num_fates;)
			if (!without_fates(s, from, n))
				from += n;
}

/* With fewer operations a frame has another number: any earlier one is tried for one fault. */
static bool is_bad_with_another_frame(struct shrink *s, const struct world_part *part)
{
	struct world_part tried = *part;
	bool bad = false;

	if (part->num_fates == 0 || part->num_fates > FEW_FAULTS)
		return false;
	tried.fates = copy_fates(part);
	for (uint32_t i = 0; !bad && i < part->num_fates; i++) {
		struct net_fate *fate = &tried.fates[i];
		uint32_t number = fate->number;

		for (uint32_t n = 0; !bad && n < number && n < FRAMES_TRIED; n++) {
			/* By number for each queue pair, or the network does not find them. */
			if (i > 0 && fate[-1].qpn == fate->qpn && fate[-1].number > n)
				continue;
			fate->number = n;
			bad = is_bad(s, &tried);
		}
		fate->number = number;
	}
	free(tried.fates);
	return bad;
}

/* Retries that run out: eight frames in a row lost, from the beginning, are as good as others. */
static void with_silence(struct shrink *s)
{
	bool bad = false;

	for (uint32_t i = 0; !bad && i < WORLD_DIRECTIONS_MAX; i++) {
		for (uint32_t n = 1; !bad && n <= SILENCE_MAX && n < s->part->num_fates; n++) {
			struct world_part tried = *s->part;
			struct net_fate fates[SILENCE_MAX];

			if (tried.ops[i] == 0 && tried.ops[i ^ 1] == 0)
				continue;
			for (uint32_t f = 0; f < n; f++)
				fates[f] = (struct net_fate){world_qpn(i), f, NET_LOSE, 0};
			tried.fates = fates;
			tried.num_fates = n;
			bad = is_bad(s, &tried);
		}
	}
}

/* From the last on: what comes later needs what comes earlier rather than the other way. */
static void without_operations(struct shrink *s)
{
	for (uint32_t n = WORLD_OPS_MAX / 2; n > 0; n /= 2) {
		for (uint32_t i = 0; i < WORLD_DIRECTIONS_MAX; i++) {
			for (uint32_t at = WORLD_OPS_MAX; at >= n; at -= n) {
				uint32_t mask = (uint32_t)(((1ull << n) - 1) << (at - n));
				struct world_part tried = *s->part;

				if ((tried.ops[i] & mask) == 0)
					continue;
				tried.ops[i] &= ~mask;
				if (!is_bad(s, &tried))
					is_bad_with_another_frame(s, &tried);
			}
		}
	}
}

/* Bits of what was never drawn only make the text long. */
static void without_nothing(struct world_part *part)
{
	struct world *w = malloc(sizeof(*w));
	struct world_part whole = world_whole(part->seed, part->num_nodes);

	if (!w)
		abort();
	world_draw(w, &whole);
	for (uint32_t i = 0; i < WORLD_DIRECTIONS_MAX; i++)
		part->ops[i] &= (uint32_t)((1ull << w->directions[i].num) - 1);
	part->pauses &= (1u << w->net.num_pauses) - 1;
	free(w);
}

uint32_t soak_shrink(struct world_part *part, uint32_t max_runs)
{
	struct shrink s = {.part = part, .max_runs = max_runs};
	struct world_part first = *part;

	/* The fates of the given part are not ours to free. */
	part->fates = NULL;
	part->num_fates = 0;
	if (!is_bad(&s, &first)) {
		part->fates = copy_fates(&first);
		part->num_fates = first.num_fates;
		return s.runs;
	}
	without_nothing(part);
	do {
		s.smaller = false;
		without_connections(&s);
		without_pauses(&s);
		without_faults(&s);
		with_silence(&s);
		without_operations(&s);
	} while (s.smaller);
	return s.runs;
}

uint32_t soak_count_ops(const struct world_part *part)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < WORLD_DIRECTIONS_MAX; i++)
		n += (uint32_t)__builtin_popcount(part->ops[i]);
	return n;
}

void soak_report(const struct world_part *part, const char *wrong)
{
	static char text[WORLD_TEXT_BYTES];
	struct world_part small = *part;
	struct soak_result result;
	uint32_t runs;

	printf("divergence: %s\n", wrong);
	runs = soak_shrink(&small, RUNS_MAX);
	world_part_text(&small, text, sizeof(text));
	printf("the shortest form found in %u runs: %u operations, %u faults\n", runs,
		soak_count_ops(&small), small.num_fates);
	result = soak_run(&small, TRACE_SHOWN);
	printf("divergence: %s\n", result.wrong);
	printf("again with: build/tests/sim-soak --replay '%s'\n", text);
	free(result.fates);
	free(small.fates);
}
