/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The connected pair.
 */
#include "pair.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MUST(call) \
	do { \
		int err_ = (call); \
		if (err_ != 0) { \
			fprintf(stderr, "%s:%d: %s = %d\n", __FILE__, __LINE__, #call, err_); \
			abort(); \
		} \
	} while (0)

static void init_side(struct pair *pair, int who, const struct uroce_device_conf *dev_conf,
	const struct uroce_qp_conf *conf)
{
	struct pair_side *s = &pair->side[who];
	struct uroce_qp_conf mine = conf ? *conf : (struct uroce_qp_conf){0};

	s->dev = memlink_open(&pair->links[who], (unsigned int)who + 1, dev_conf);
	s->mem = uroce_allocate(PAIR_MEM_BYTES);
	MUST(uroce_pd_create(s->dev, &s->pd));
	MUST(uroce_mr_register(s->pd, s->mem, PAIR_MEM_BYTES,
		UROCE_ACCESS_LOCAL_WRITE | UROCE_ACCESS_REMOTE_WRITE | UROCE_ACCESS_REMOTE_READ |
			UROCE_ACCESS_REMOTE_ATOMIC | UROCE_ACCESS_MW_BIND |
			UROCE_ACCESS_FLUSH_GLOBAL,
		&s->mr));
	MUST(uroce_cq_create(s->dev, 1024, &s->cq));
	mine.send_cq = mine.recv_cq = s->cq;
	MUST(uroce_qp_create(s->pd, &mine, &s->qp));
	uroce_qp_local(s->qp, &s->local);
}

void pair_init_on(struct pair *pair, const struct uroce_device_conf *dev_conf,
	const struct uroce_qp_conf *conf)
{
	memset(pair, 0, sizeof(*pair));
	memlink_init(&pair->links[0], &pair->links[1]);
	init_side(pair, 0, dev_conf, conf);
	init_side(pair, 1, dev_conf, conf);
	if (conf && conf->type == UROCE_QP_UD) {
		MUST(uroce_qp_open_datagrams(pair->side[0].qp, PAIR_QKEY));
		MUST(uroce_qp_open_datagrams(pair->side[1].qp, PAIR_QKEY));
		return;
	}
	MUST(uroce_qp_connect(pair->side[0].qp, &pair->side[1].local));
	MUST(uroce_qp_connect(pair->side[1].qp, &pair->side[0].local));
}

void pair_init(struct pair *pair, const struct uroce_qp_conf *conf)
{
	pair_init_on(pair, NULL, conf);
}

void pair_fini(struct pair *pair)
{
	for (int i = 0; i < 2; i++) {
		struct pair_side *s = &pair->side[i];

		if (s->qp)
			MUST(uroce_qp_destroy(s->qp));
		MUST(uroce_cq_destroy(s->cq));
		MUST(uroce_mr_deregister(s->mr));
		MUST(uroce_pd_destroy(s->pd));
		MUST(uroce_device_close(s->dev));
		free(s->mem);
	}
	memlink_fini(&pair->links[0], &pair->links[1]);
}

void pair_turn(struct pair *pair)
{
	uroce_worker_poll(uroce_device_worker(pair->side[0].dev, 0));
	uroce_worker_poll(uroce_device_worker(pair->side[1].dev, 0));
}

bool pair_wait(struct pair *pair, int who, struct uroce_wc *wc, int turns)
{
	for (int i = 0; i < turns; i++) {
		if (uroce_cq_poll(pair->side[who].cq, wc, 1) == 1)
			return true;
		pair_turn(pair);
	}
	return uroce_cq_poll(pair->side[who].cq, wc, 1) == 1;
}

struct uroce_sge pair_sge(const struct pair *pair, int who, size_t offset, uint32_t bytes)
{
	const struct pair_side *s = &pair->side[who];

	return (struct uroce_sge){.addr = s->mem + offset, .len_bytes = bytes, .lkey = s->mr->lkey};
}
