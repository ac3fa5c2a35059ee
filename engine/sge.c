/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Walks a scatter list by message offset.
 *
 * Lists are short (32 segments at most), so a walk from the start costs less than keeping a cursor
 * right through retransmissions. uroce_place and uroce_fetch are the only functions that touch
 * application memory on behalf of a peer (atomics aside): the thread sanitizer's suppressions name
 * them, since an application that looks at a buffer while a peer writes it races by design.
 */
#include "sge.h"

#include <stdatomic.h>
#include <string.h>

#include "status.h"

enum {
	LAST_WORD_BYTES = 8
};

__attribute__((noinline)) void uroce_place(
	uint8_t *dst, const uint8_t *src, uint32_t bytes, bool last)
{
	uint32_t tail = last ? LAST_WORD_BYTES : 0;

	if (bytes <= tail) {
		memcpy(dst, src, bytes);
		return;
	}
	memcpy(dst, src, bytes - tail);
	if (!tail)
		return;
	atomic_thread_fence(memory_order_release);
	memcpy(dst + bytes - LAST_WORD_BYTES, src + bytes - LAST_WORD_BYTES, LAST_WORD_BYTES);
}

__attribute__((noinline)) void uroce_fetch(uint8_t *dst, const uint8_t *src, uint32_t bytes)
{
	memcpy(dst, src, bytes);
}

/* What a walk does with each stretch of memory. */
enum step {
	STEP_CHECK,
	STEP_PLACE,
	STEP_FETCH
};

static enum uroce_mr_verdict walk(const struct uroce_sge_list *list, uint64_t offset,
	uint8_t *frame, uint32_t bytes, enum step step, bool last)
{
	uint32_t access = step == STEP_FETCH ? 0 : UROCE_ACCESS_LOCAL_WRITE;
	enum uroce_mr_verdict verdict;

	for (uint32_t i = 0; i < list->num_segs && bytes > 0; i++) {
		const struct uroce_seg *seg = &list->segs[i];
		uint32_t part;
		uint8_t *ptr;

		if (offset >= seg->bytes) {
			offset -= seg->bytes;
			continue;
		}
		part = seg->bytes - (uint32_t)offset;
		if (part > bytes)
			part = bytes;
		verdict = uroce_mr_resolve(
			list->mrs, list->pd, seg->lkey, seg->addr + offset, part, access, &ptr);
		if (verdict != UROCE_MR_OK)
			return verdict;
		if (step == STEP_PLACE)
			uroce_place(ptr, frame, part, last && part == bytes);
		else if (step == STEP_FETCH)
			uroce_fetch(frame, ptr, part);
		if (frame)
			frame += part;
		bytes -= part;
		offset = 0;
	}
	return bytes == 0 ? UROCE_MR_OK : UROCE_MR_RANGE;
}

enum uroce_mr_verdict uroce_sge_gather(
	const struct uroce_sge_list *list, uint64_t offset, uint8_t *dst, uint32_t bytes)
{
	return walk(list, offset, dst, bytes, STEP_FETCH, false);
}

enum uroce_mr_verdict uroce_sge_check(
	const struct uroce_sge_list *list, uint64_t offset, uint32_t bytes)
{
	return walk(list, offset, NULL, bytes, STEP_CHECK, false);
}

enum uroce_mr_verdict uroce_sge_scatter(const struct uroce_sge_list *list, uint64_t offset,
	const uint8_t *src, uint32_t bytes, bool last)
{
	/* walk writes through `frame` only when it fetches */
	uint8_t *frame = (uint8_t *)(uintptr_t)src;
	enum uroce_mr_verdict verdict = UROCE_MR_OK;

	/* A walk inside one segment checks before it writes anyway. */
	if (list->num_segs > 1)
		verdict = uroce_sge_check(list, offset, bytes);
	if (verdict != UROCE_MR_OK)
		return verdict;
	return walk(list, offset, frame, bytes, STEP_PLACE, last);
}
