/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Scatter and gather: between a message offset and the segments that hold it.
 *
 * There is no cursor to go stale: a place in a message is its byte offset, found anew for each
 * packet, so going back in a message is nothing special. Keys are resolved anew each time too.
 */
#ifndef UROCE_SGE_H
#define UROCE_SGE_H

#include <stdbool.h>
#include <stdint.h>

#include "mr.h"
#include "wqe.h"

/* A scatter list and what it may be resolved against. */
struct uroce_sge_list {
	const struct uroce_mr_table *mrs;
	const struct uroce_seg *segs;
	uint32_t num_segs;
	uint32_t pd;
};

/* Copies bytes [offset, offset + bytes) of the message to dst; dst holds them. */
enum uroce_mr_verdict uroce_sge_gather(
	const struct uroce_sge_list *list, uint64_t offset, uint8_t *dst, uint32_t bytes);

/*
 * Places bytes at offset of the message; the list must be long enough. Nothing is written unless
 * every key, range and right on the way is good. last: these end the message (see uroce_place).
 */
enum uroce_mr_verdict uroce_sge_scatter(const struct uroce_sge_list *list, uint64_t offset,
	const uint8_t *src, uint32_t bytes, bool last);

/* Whether bytes could be placed at offset of the message. */
enum uroce_mr_verdict uroce_sge_check(
	const struct uroce_sge_list *list, uint64_t offset, uint32_t bytes);

/*
 * Copies payload into application memory. Applications spin on the end of a message, so when
 * `last` is set its final eight bytes land after all others.
 */
void uroce_place(uint8_t *dst, const uint8_t *src, uint32_t bytes, bool last);

/* Copies application memory, which may change meanwhile, into a frame. */
void uroce_fetch(uint8_t *dst, const uint8_t *src, uint32_t bytes);

#endif
