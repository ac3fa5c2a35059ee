/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Two connected endpoints of the public API over an in-memory link, for tests.
 */
#ifndef UROCE_TESTS_PAIR_H
#define UROCE_TESTS_PAIR_H

#include "memlink.h"

enum {
	PAIR_MEM_BYTES = 1 << 20,
	PAIR_QKEY = 0x1234
};

struct pair_side {
	struct uroce_device *dev;
	struct uroce_pd *pd;
	struct uroce_cq *cq;
	struct uroce_qp *qp;
	struct uroce_mr *mr;
	uint8_t *mem;
	struct uroce_peer local;
};

struct pair {
	struct memlink links[2];
	struct pair_side side[2];
};

/* conf: queue pairs on both sides (completion queues are filled in). NULL: defaults. */
void pair_init(struct pair *pair, const struct uroce_qp_conf *conf);
/* The same on devices with what dev_conf says; UD queue pairs are opened, not connected. */
void pair_init_on(struct pair *pair, const struct uroce_device_conf *dev_conf,
	const struct uroce_qp_conf *conf);
void pair_fini(struct pair *pair);

/* One turn of both workers. */
void pair_turn(struct pair *pair);

/* Turns until side `who` has a completion (into *wc), or `turns` have passed: false. */
bool pair_wait(struct pair *pair, int who, struct uroce_wc *wc, int turns);

/* A segment of a side's memory. */
struct uroce_sge pair_sge(const struct pair *pair, int who, size_t offset, uint32_t bytes);

#endif
