/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The list of findings.
 *
 * Where memory runs out a finding is lost and out_of_memory says so; nothing else stops.
 */
#include "pcap/finding.h"

#include <stdlib.h>
#include <string.h>

static const struct {
	const char *name;
	enum uroce_grade grade;
	const char *rule;
} kinds[] = {
#define KIND(name, word, grade, rule) {word, UROCE_GRADE_##grade, rule},
	UROCE_FINDING_KINDS(KIND)
#undef KIND
};

const char *uroce_finding_name(enum uroce_finding_kind kind)
{
	return kinds[kind].name;
}

const char *uroce_finding_rule(enum uroce_finding_kind kind)
{
	return kinds[kind].rule;
}

enum uroce_grade uroce_finding_grade(enum uroce_finding_kind kind)
{
	return kinds[kind].grade;
}

const char *uroce_grade_name(enum uroce_grade grade)
{
	static const char *const names[] = {"note", "warning", "error"};

	return names[grade];
}

enum uroce_finding_kind uroce_finding_kind_of(const char *name)
{
	uint32_t kind = 0;

	while (kind < UROCE_FINDING_COUNT && strcmp(kinds[kind].name, name) != 0)
		kind++;
	return (enum uroce_finding_kind)kind;
}

void uroce_finding_frame(struct uroce_finding *finding, uint64_t frame)
{
	if (frame && finding->num_frames < UROCE_FINDING_FRAMES)
		finding->frames[finding->num_frames++] = frame;
}

static struct uroce_finding *add(struct uroce_findings *all)
{
	if (all->num == all->max) {
		uint32_t more = all->max ? 2 * all->max : 64;
		void *grown = realloc(all->list, more * sizeof(*all->list));

		if (!grown) {
			all->out_of_memory = true;
			return NULL;
		}
		all->list = grown;
		all->max = more;
	}
	return &all->list[all->num++];
}

struct uroce_finding *uroce_findings_add(struct uroce_findings *all, uint32_t *index,
	enum uroce_finding_kind kind, uint32_t connection, uint64_t frame, uint64_t cost_ns)
{
	struct uroce_finding *finding;

	if (*index == 0) {
		finding = add(all);
		if (!finding)
			return NULL;
		*finding = (struct uroce_finding){.kind = kind, .connection = connection};
		*index = all->num;
	}
	finding = &all->list[*index - 1];
	finding->count++;
	finding->cost_ns += cost_ns;
	uroce_finding_frame(finding, frame);
	return finding;
}

/* Frames of both, in order, as many as there is room for; and the words of the first. */
void uroce_findings_merge(struct uroce_findings *all, uint32_t into_index, uint32_t from_index)
{
	struct uroce_finding *into = &all->list[into_index - 1];
	struct uroce_finding *from = &all->list[from_index - 1], old = *into;
	uint32_t i = 0, k = 0;

	if (from->frames[0] < into->frames[0])
		memcpy(into->text, from->text, sizeof(into->text));
	into->count += from->count;
	into->cost_ns += from->cost_ns;
	into->num_frames = 0;
	while (i < old.num_frames || k < from->num_frames) {
		bool first = k == from->num_frames ||
			(i < old.num_frames && old.frames[i] < from->frames[k]);

		uroce_finding_frame(into, first ? old.frames[i++] : from->frames[k++]);
	}
	from->count = 0;
}

static void drop_merged(struct uroce_findings *all)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < all->num; i++)
		if (all->list[i].count > 0)
			all->list[kept++] = all->list[i];
	all->num = kept;
}

static int order(uint64_t a, uint64_t b)
{
	return a < b ? 1 : a > b ? -1 : 0;
}

static int compare(const void *left, const void *right)
{
	const struct uroce_finding *a = left, *b = right;
	int by = order(kinds[a->kind].grade, kinds[b->kind].grade);

	if (by == 0)
		by = order(a->cost_ns, b->cost_ns);
	if (by == 0)
		by = order(a->count, b->count);
	if (by == 0)
		by = order(b->frames[0], a->frames[0]);
	return by ? by : order(b->kind, a->kind);
}

void uroce_findings_sort(struct uroce_findings *all)
{
	drop_merged(all);
	if (all->num > 0)
		qsort(all->list, all->num, sizeof(*all->list), compare);
}

void uroce_findings_fini(struct uroce_findings *all)
{
	free(all->list);
	memset(all, 0, sizeof(*all));
}
