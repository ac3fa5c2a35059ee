/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The engine's words in the model's and back: the one place that knows both.
 */
#ifndef UROCE_TESTS_WORDS_H
#define UROCE_TESTS_WORDS_H

#include "cq.h"
#include "model.h"
#include "status.h"

enum uroce_wr_opcode words_opcode(enum model_kind kind);
enum model_kind words_kind(enum uroce_wr_opcode opcode);

/* What a FLUSH says of what it flushes. */
uint32_t words_feth(const struct model_op *op);

/* enum uroce_access for enum model_right; a peer's right to write needs the local one. */
uint32_t words_access(uint32_t rights, enum model_kind kind);

/* All but the direction, and the number of an invalidated key. */
struct model_completion words_completion(const struct uroce_cqe *cqe);

#endif
