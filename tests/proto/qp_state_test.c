/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The states of a queue pair: every edge, every attribute, and what a change leaves behind.
 *
 * The table of edges is written down a second time here, from the standard. What is refused must
 * change nothing; what ends a connection must complete everything once and in order; a new
 * connection must know nothing of the one before.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "drill.h"

#define A(name) UROCE_QP_ATTR_##name

enum {
	NUM_STATES = 7,
	ALL_ATTRS = A(CUR_STATE) | A(EN_SQD_ASYNC_NOTIFY) | A(ACCESS_FLAGS) | A(PKEY_INDEX) |
		A(PORT) | A(AV) | A(PATH_MTU) | A(TIMEOUT) | A(RETRY_CNT) | A(RNR_RETRY) |
		A(RQ_PSN) | A(MAX_RD_ATOMIC) | A(MIN_RNR_TIMER) | A(SQ_PSN) |
		A(MAX_DEST_RD_ATOMIC) | A(DEST_QPN),
	/* In SQD these may or may not be changed: implementations differ. */
	OPEN_IN_SQD = A(MAX_DEST_RD_ATOMIC) | A(CUR_STATE),
};

/* Edges of a reliable connection, besides those to RESET and ERR (InfiniBand 11.2.5.2). */
static const struct edge {
	enum uroce_qp_state from, to;
	uint32_t required, optional;
} edges[] = {
	{UROCE_QP_RESET, UROCE_QP_INIT, A(PKEY_INDEX) | A(PORT) | A(ACCESS_FLAGS), 0},
	{UROCE_QP_INIT, UROCE_QP_INIT, 0, A(PKEY_INDEX) | A(PORT) | A(ACCESS_FLAGS)},
	{UROCE_QP_INIT, UROCE_QP_RTR,
		A(AV) | A(PATH_MTU) | A(DEST_QPN) | A(RQ_PSN) | A(MAX_DEST_RD_ATOMIC) |
			A(MIN_RNR_TIMER),
		A(PKEY_INDEX) | A(ACCESS_FLAGS)},
	{UROCE_QP_RTR, UROCE_QP_RTS,
		A(SQ_PSN) | A(TIMEOUT) | A(RETRY_CNT) | A(RNR_RETRY) | A(MAX_RD_ATOMIC),
		A(CUR_STATE) | A(ACCESS_FLAGS) | A(MIN_RNR_TIMER)},
	{UROCE_QP_RTS, UROCE_QP_RTS, 0, A(CUR_STATE) | A(ACCESS_FLAGS) | A(MIN_RNR_TIMER)},
	{UROCE_QP_RTS, UROCE_QP_SQD, 0, A(EN_SQD_ASYNC_NOTIFY)},
	{UROCE_QP_SQD, UROCE_QP_RTS, 0, A(CUR_STATE) | A(ACCESS_FLAGS) | A(MIN_RNR_TIMER)},
	{UROCE_QP_SQD, UROCE_QP_SQD, 0,
		A(PKEY_INDEX) | A(PORT) | A(AV) | A(TIMEOUT) | A(RETRY_CNT) | A(RNR_RETRY) |
			A(MAX_RD_ATOMIC) | A(ACCESS_FLAGS) | A(MIN_RNR_TIMER)},
};

static const struct edge *find_edge(uint32_t from, uint32_t to)
{
	for (size_t i = 0; i < sizeof(edges) / sizeof(edges[0]); i++)
		if (edges[i].from == (enum uroce_qp_state)from &&
			edges[i].to == (enum uroce_qp_state)to)
			return &edges[i];
	return NULL;
}

/* Every attribute with a value that is allowed. */
static struct uroce_qp_attr good_attr(struct drill *d, uint32_t to)
{
	struct uroce_qp_attr attr = d->ep.conf.attr;

	attr.state = (enum uroce_qp_state)to;
	attr.cur_state = d->ep.qp->state;
	attr.access = UROCE_ACCESS_REMOTE_WRITE | UROCE_ACCESS_REMOTE_READ;
	attr.path = &d->ep.path;
	attr.path_mtu_bytes = DRILL_MTU;
	attr.dest_qpn = DRILL_PEER_QPN;
	attr.rq_psn = d->rq_psn;
	attr.sq_psn = d->sq_psn;
	return attr;
}

static int change(struct drill *d, uint32_t to, uint32_t mask)
{
	const struct uroce_qp_attr attr = good_attr(d, to);

	return drill_modify(d, &attr, A(STATE) | mask);
}

/* A fresh queue pair in this state; events and all are read. */
static void go_to(struct drill *d, uint32_t state)
{
	static const uint32_t way[] = {UROCE_QP_INIT, UROCE_QP_RTR, UROCE_QP_RTS, UROCE_QP_SQD};
	struct endpoint_conf conf = drill_conf(d);

	drill_restart_reset(d, &conf);
	for (size_t i = 0; i < 4 && d->ep.qp->state != (enum uroce_qp_state)state; i++) {
		expect_number(
			d, change(d, way[i], find_edge(d->ep.qp->state, way[i])->required), 0);
		if (state == UROCE_QP_ERR && i == 2)
			break;
	}
	if (state == UROCE_QP_ERR) {
		expect_number(d, change(d, UROCE_QP_ERR, 0), 0);
		expect_event(d, "LAST_WQE_REACHED");
	}
	expect_state(d, (enum uroce_qp_state)state);
}

/* The change is refused, and the queue pair is as it was to the last byte. */
static void refused(struct drill *d, const struct uroce_qp_attr *attr, uint32_t mask)
{
	size_t bytes = uroce_qp_bytes(&d->ep.conf.caps);
	enum uroce_qp_state from = d->ep.qp->state;
	void *before = malloc(bytes);

	if (!before)
		abort();
	memcpy(before, d->ep.qp, bytes);
	if (drill_modify(d, attr, mask) != -EINVAL || memcmp(before, d->ep.qp, bytes) != 0) {
		printf("\nfrom state %d to %d with attributes 0x%x\n", from, attr->state, mask);
		expect_number(d, drill_modify(d, attr, mask), -EINVAL);
		expect_number(d, memcmp(before, d->ep.qp, bytes), 0);
	}
	free(before);
}

/* ---- edges and attributes ---- */

static const uint32_t reachable[] = {
	UROCE_QP_RESET, UROCE_QP_INIT, UROCE_QP_RTR, UROCE_QP_RTS, UROCE_QP_SQD, UROCE_QP_ERR};

enum {
	NUM_REACHABLE = sizeof(reachable) / sizeof(reachable[0])
};

static void every_edge(struct drill *d)
{
	for (uint32_t i = 0; i < NUM_REACHABLE; i++) {
		for (uint32_t to = 0; to < NUM_STATES + 1; to++) {
			uint32_t from = reachable[i];
			const struct edge *edge = find_edge(from, to);
			struct uroce_qp_attr attr;
			bool exists = edge || to == UROCE_QP_RESET ||
				(to == UROCE_QP_ERR && from != UROCE_QP_RESET);

			go_to(d, from);
			attr = good_attr(d, to);
			if (exists) {
				expect_number(d, change(d, to, edge ? edge->required : 0), 0);
				expect_state(d, (enum uroce_qp_state)to);
			} else {
				refused(d, &attr, A(STATE));
				refused(d, &attr, A(STATE) | ALL_ATTRS);
				for (size_t e = 0; e < sizeof(edges) / sizeof(edges[0]); e++)
					refused(d, &attr, A(STATE) | edges[e].required);
			}
			if (to == UROCE_QP_ERR && from != UROCE_QP_RESET && from != UROCE_QP_ERR)
				expect_event(d, "LAST_WQE_REACHED");
			expect_event(d, "nothing");
		}
	}
}

static void every_missing_attribute(struct drill *d)
{
	for (size_t e = 0; e < sizeof(edges) / sizeof(edges[0]); e++) {
		for (uint32_t bit = 1; bit <= ALL_ATTRS; bit <<= 1) {
			struct uroce_qp_attr attr;

			if (!(edges[e].required & bit))
				continue;
			go_to(d, edges[e].from);
			attr = good_attr(d, edges[e].to);
			refused(d, &attr, A(STATE) | (edges[e].required & ~bit));
		}
	}
}

static void every_other_attribute(struct drill *d)
{
	for (size_t e = 0; e < sizeof(edges) / sizeof(edges[0]); e++) {
		for (uint32_t bit = 1u << 1; bit <= 1u << 24; bit <<= 1) {
			bool in_sqd = edges[e].from == UROCE_QP_SQD && edges[e].to == UROCE_QP_SQD;
			struct uroce_qp_attr attr;

			if ((edges[e].required & bit) || (in_sqd && (OPEN_IN_SQD & bit)))
				continue;
			go_to(d, edges[e].from);
			attr = good_attr(d, edges[e].to);
			if (edges[e].optional & bit)
				expect_number(
					d, change(d, edges[e].to, edges[e].required | bit), 0);
			else
				refused(d, &attr, A(STATE) | edges[e].required | bit);
		}
	}
}

static void without_a_state(struct drill *d)
{
	for (uint32_t i = 0; i < NUM_REACHABLE; i++) {
		const struct edge *edge = find_edge(reachable[i], reachable[i]);
		struct uroce_qp_attr attr;

		go_to(d, reachable[i]);
		attr = good_attr(d, reachable[i]);
		if (edge)
			expect_number(d, drill_modify(d, &attr, A(ACCESS_FLAGS)), 0);
		else
			refused(d, &attr, A(ACCESS_FLAGS));
		refused(d, &attr, A(DEST_QPN));
		expect_state(d, (enum uroce_qp_state)reachable[i]);
	}
}

static void to_the_end_without_attributes(struct drill *d)
{
	for (uint32_t bit = A(EN_SQD_ASYNC_NOTIFY); bit <= A(DEST_QPN); bit <<= 1) {
		struct uroce_qp_attr attr;

		go_to(d, UROCE_QP_RTS);
		attr = good_attr(d, UROCE_QP_ERR);
		refused(d, &attr, A(STATE) | bit);
		attr = good_attr(d, UROCE_QP_RESET);
		refused(d, &attr, A(STATE) | bit);
	}
}

static void wrong_current_state(struct drill *d)
{
	struct uroce_qp_attr attr;

	go_to(d, UROCE_QP_RTS);
	attr = good_attr(d, UROCE_QP_RTS);
	attr.cur_state = UROCE_QP_SQD;
	refused(d, &attr, A(STATE) | A(CUR_STATE));
	attr.cur_state = UROCE_QP_RTS;
	expect_number(d, drill_modify(d, &attr, A(STATE) | A(CUR_STATE)), 0);
}

/* ---- values ---- */

/* From RESET on, with one value changed on the edge that takes it. */
static void value(struct drill *d, const struct uroce_qp_attr *attr, uint32_t from, bool good)
{
	const struct edge *edge = find_edge(from, attr->state);

	if (good) {
		expect_number(d, drill_modify(d, attr, A(STATE) | edge->required), 0);
		return;
	}
	refused(d, attr, A(STATE) | edge->required);
}

static void values_to_rtr(struct drill *d)
{
	static const uint32_t mtus[] = {256, 512, 1024, 2048, 4096};
	static const uint32_t bad_mtus[] = {
		0, 1, 128, 255, 257, 1500, 8192, 0x80000000, 0xffffffff};

	for (size_t i = 0; i < sizeof(mtus) / sizeof(mtus[0]); i++) {
		struct uroce_qp_attr attr;

		go_to(d, UROCE_QP_INIT);
		attr = good_attr(d, UROCE_QP_RTR);
		attr.path_mtu_bytes = mtus[i];
		value(d, &attr, UROCE_QP_INIT, true);
	}
	go_to(d, UROCE_QP_INIT);
	for (size_t i = 0; i < sizeof(bad_mtus) / sizeof(bad_mtus[0]); i++) {
		struct uroce_qp_attr attr = good_attr(d, UROCE_QP_RTR);

		attr.path_mtu_bytes = bad_mtus[i];
		value(d, &attr, UROCE_QP_INIT, false);
	}
	for (int i = 0; i < 6; i++) {
		struct uroce_qp_attr attr = good_attr(d, UROCE_QP_RTR);

		if (i == 0)
			attr.path = NULL;
		else if (i == 1)
			attr.dest_qpn = 0x1000000;
		else if (i == 2)
			attr.rq_psn = 0x1000000;
		else if (i == 3)
			attr.min_rnr_timer = 32;
		else if (i == 4)
			attr.max_dest_rd_atomic = 17;
		value(d, &attr, UROCE_QP_INIT, i == 5);
	}
}

/* The last value that each attribute can have. */
static void largest_values(struct drill *d)
{
	struct uroce_qp_attr attr;

	go_to(d, UROCE_QP_INIT);
	attr = good_attr(d, UROCE_QP_RTR);
	attr.dest_qpn = 0xffffff;
	attr.rq_psn = 0xffffff;
	attr.min_rnr_timer = 31;
	attr.max_dest_rd_atomic = 16;
	value(d, &attr, UROCE_QP_INIT, true);
	attr = good_attr(d, UROCE_QP_RTS);
	attr.sq_psn = 0xffffff;
	attr.timeout = 31;
	attr.retry_cnt = 7;
	attr.rnr_retry = 7;
	attr.max_rd_atomic = 128;
	value(d, &attr, UROCE_QP_RTR, true);
	attr.access = UROCE_ACCESS_LOCAL_WRITE | UROCE_ACCESS_REMOTE_WRITE |
		UROCE_ACCESS_REMOTE_READ | UROCE_ACCESS_REMOTE_ATOMIC;
	/* What is not asked for is not looked at. */
	attr.dest_qpn = UINT32_MAX;
	expect_number(d, drill_modify(d, &attr, A(ACCESS_FLAGS)), 0);
	/* They count as they are. */
	expect_number(d, d->ep.qp->attr.dest_qpn, 0xffffff);
	expect_number(d, d->ep.qp->resp.epsn, 0xffffff);
	expect_number(d, d->ep.qp->req.psn_next, 0xffffff);
	expect_number(d, d->ep.qp->ack_timeout_ns, 4096ull << 31);
	expect_number(d, d->ep.qp->attr.max_rd_atomic, 128);
	expect_number(d, d->ep.qp->attr.access, 15);
}

static void values_to_rts(struct drill *d)
{
	go_to(d, UROCE_QP_RTR);
	for (int i = 0; i < 6; i++) {
		struct uroce_qp_attr attr = good_attr(d, UROCE_QP_RTS);

		if (i == 0)
			attr.sq_psn = 0x1000000;
		else if (i == 1)
			attr.timeout = 32;
		else if (i == 2)
			attr.retry_cnt = 8;
		else if (i == 3)
			attr.rnr_retry = 8;
		else if (i == 4)
			attr.max_rd_atomic = 129;
		value(d, &attr, UROCE_QP_RTR, i == 5);
	}
	for (uint32_t bit = 4; bit < 32; bit++) {
		struct uroce_qp_attr attr = good_attr(d, UROCE_QP_RTS);

		attr.access = 1u << bit;
		if (attr.access == UROCE_ACCESS_FLUSH_GLOBAL)
			continue;
		refused(d, &attr, A(STATE) | A(ACCESS_FLAGS));
	}
}

static void new_values_count(struct drill *d)
{
	struct uroce_qp_attr attr;

	attr = good_attr(d, UROCE_QP_RTS);
	attr.min_rnr_timer = 12;
	attr.access = 0;
	expect_number(d, drill_modify(d, &attr, A(ACCESS_FLAGS) | A(MIN_RNR_TIMER)), 0);
	inject_dropped(d, UROCE_DROP_RNR, "SEND_ONLY psn +0 ack len 8");
	expect(d, "ACKNOWLEDGE psn +0 RNR NAK 0.64 ms msn 0");
	expect_number(d, drill_to_state(d, UROCE_QP_SQD), 0);
	attr.timeout = 1;
	attr.retry_cnt = 0;
	expect_number(d, drill_modify(d, &attr, A(TIMEOUT) | A(RETRY_CNT)), 0);
	expect_number(d, drill_to_state(d, UROCE_QP_RTS), 0);
	post(d, "SEND 100 len 4");
	expect(d, "SEND_ONLY psn +0 ack len 4");
	inject(d, "ACKNOWLEDGE psn +0 ACK");
	expect_cqe(d, "send 100 SUCCESS len 4");
	post(d, "SEND 101 len 4");
	expect(d, "SEND_ONLY psn +1 ack len 4");
	pass(d, 8192);
	expect_cqe(d, "send 101 RETRY_EXC_ERR why 0x1");
	expect_ended(d);
}

static void answers_before_rts(struct drill *d)
{
	go_to(d, UROCE_QP_RTR);
	inject_dropped(d, UROCE_DROP_QP_STATE, "ACKNOWLEDGE psn +0 ACK");
	inject_dropped(d, UROCE_DROP_QP_STATE, "RDMA_READ_RESPONSE_ONLY psn +0 ACK len 8");
	expect_event(d, "nothing");
}

static void first_packet_again(struct drill *d)
{
	/* In RTS the first packet is no event, */
	inject(d, "RDMA_WRITE_ONLY psn +0 ack len 0");
	expect(d, "ACKNOWLEDGE psn +0 ACK msn 1");
	expect_event(d, "nothing");
	/* in RTR it is one, for each connection. */
	for (uint32_t i = 0; i < 2; i++) {
		expect_number(d, drill_to_state(d, UROCE_QP_RESET), 0);
		expect_number(d,
			change(d, UROCE_QP_INIT,
				find_edge(UROCE_QP_RESET, UROCE_QP_INIT)->required),
			0);
		expect_number(d,
			change(d, UROCE_QP_RTR, find_edge(UROCE_QP_INIT, UROCE_QP_RTR)->required),
			0);
		inject(d, "RDMA_WRITE_ONLY psn +0 ack va 0x1000 len 0");
		expect_event(d, "COMM_EST");
		expect(d, "ACKNOWLEDGE psn +0 ACK msn 1");
		inject(d, "RDMA_WRITE_ONLY psn +1 ack va 0x1000 len 0");
		expect_event(d, "nothing");
		expect(d, "ACKNOWLEDGE psn +1 ACK msn 2");
	}
}

/* ---- SQD ---- */

static void drained_each_time(struct drill *d)
{
	for (uint32_t i = 0; i < 3; i++) {
		post(d, "SEND %u len 4", 100 + i);
		expect(d, "SEND_ONLY psn +%u ack len 4", i);
		expect_number(d, change(d, UROCE_QP_SQD, A(EN_SQD_ASYNC_NOTIFY)), 0);
		expect_event(d, "nothing");
		inject(d, "ACKNOWLEDGE psn +%u ACK", i);
		expect_event(d, "SQ_DRAINED; nothing");
		expect_cqe(d, "send %u SUCCESS len 4", 100 + i);
		expect_number(d, drill_to_state(d, UROCE_QP_RTS), 0);
	}
	/* Not asked for, it is not said; and the next connection starts afresh. */
	expect_number(d, drill_to_state(d, UROCE_QP_SQD), 0);
	expect_event(d, "nothing");
	expect_number(d, d->ep.qp->drained, true);
	expect_number(d, drill_to_state(d, UROCE_QP_RESET), 0);
	expect_number(d, d->ep.qp->drained, false);
}

/* ---- the end of a connection ---- */

static void flush_order(struct drill *d)
{
	for (uint32_t i = 0; i < 3; i++)
		post_recv(d, 200 + i, 0x1000, 600);
	post(d, "SEND 100 len 4");
	post(d, "READ 101 len 4 at 0x2000");
	post(d, "FADD 102 at 0x2000 fence");
	post(d, "WRITE 103 len 4");
	expect(d,
		"SEND_ONLY psn +0 ack len 4; "
		"RDMA_READ_REQUEST psn +1 ack va 0x1000 rkey 0x00000abc dma_len 4; nothing");
	post(d, "SEND 104 len 4");
	inject(d, "SEND_FIRST psn +0 len 256");
	expect_number(d, drill_to_state(d, UROCE_QP_ERR), 0);
	expect_cqe(d,
		"send 100 WR_FLUSH_ERR; read 101 WR_FLUSH_ERR; fadd 102 WR_FLUSH_ERR; "
		"write 103 WR_FLUSH_ERR; send 104 WR_FLUSH_ERR; recv 200 WR_FLUSH_ERR; "
		"recv 201 WR_FLUSH_ERR; recv 202 WR_FLUSH_ERR");
	expect_ended(d);
	idle(d);
	expect_nothing(d);
	expect_number(d, uroce_core_next_deadline(&d->ep.core), UROCE_TIMER_NEVER);
	expect_number(d, d->ep.qp->report.cause, UROCE_CAUSE_MODIFIED);
	expect_number(d, d->ep.qp->report.status, UROCE_STATUS_WR_FLUSH_ERR);
}

static void posts_after_the_end(struct drill *d)
{
	expect_number(d, drill_to_state(d, UROCE_QP_ERR), 0);
	expect_ended(d);
	post(d, "SEND 100 len 4");
	post(d, "READ 101 len 4");
	expect_nothing(d);
	expect_cqe(d, "send 100 WR_FLUSH_ERR; read 101 WR_FLUSH_ERR; nothing");
	post_recv(d, 200, 0, 64);
	post_recv(d, 201, 0, 64);
	expect_nothing(d);
	expect_cqe(d, "recv 200 WR_FLUSH_ERR; recv 201 WR_FLUSH_ERR");
	/* Once more to ERR: nothing new. */
	expect_number(d, drill_to_state(d, UROCE_QP_ERR), 0);
	expect_event(d, "nothing");
}

static void full_queues_flush(struct drill *d)
{
	for (uint32_t i = 0; i < 64; i++) {
		post(d, "SEND %u len 4", i);
		post_recv(d, 1000 + i, 0, 4);
	}
	expect_number(d, drill_to_state(d, UROCE_QP_ERR), 0);
	for (uint32_t i = 0; i < 64; i++)
		expect_cqe(d, "send %u WR_FLUSH_ERR", i);
	for (uint32_t i = 0; i < 64; i++)
		expect_cqe(d, "recv %u WR_FLUSH_ERR", 1000 + i);
	expect_ended(d);
}

/* ---- a new connection ---- */

/* Leaves behind as much as a connection can. */
static void leave_a_mess(struct drill *d, uint32_t how)
{
	inject(d, "RDMA_READ_REQUEST psn +0 va 0x1000 dma 600");
	if (how & 1)
		expect(d, "RDMA_READ_RESPONSE_FIRST psn +0 ACK msn 1 len 256");
	inject(d, "RDMA_WRITE_FIRST psn +3 va 0x3000 dma 600 len 256");
	inject(d, "RDMA_WRITE_MIDDLE psn +5 len 256");
	post(d, "SEND 100 len 600");
	post(d, "READ 101 len 600 at 0x2000");
	if (how & 2) {
		char line[DRILL_TEXT_BYTES];

		while (drill_next_line(d, line, sizeof(line)))
			;
		inject(d, how & 1 ? "ACKNOWLEDGE psn +0 RNR 20" : "ACKNOWLEDGE psn +1 NAK 0");
	}
	post_recv(d, 200, 0x5000, 64);
}

static void four_connections(struct drill *d)
{
	for (uint32_t i = 0; i < 4; i++) {
		leave_a_mess(d, i);
		if (i & 1) {
			expect_number(d, drill_to_state(d, UROCE_QP_ERR), 0);
			expect_cqe(d,
				"send 100 WR_FLUSH_ERR; read 101 WR_FLUSH_ERR; "
				"recv 200 WR_FLUSH_ERR");
			expect_ended(d);
		}
		expect_number(d, drill_to_state(d, UROCE_QP_RESET), 0);
		expect_nothing(d);
		expect_no_cqe(d);
		expect_number(d, uroce_core_next_deadline(&d->ep.core), UROCE_TIMER_NEVER);
		d->rq_psn = d->ep.conf.rq_psn = (d->rq_psn + 0x345678) & 0xffffff;
		d->sq_psn = d->ep.conf.sq_psn = (d->sq_psn + 0x456789) & 0xffffff;
		endpoint_connect(&d->ep, DRILL_PEER_QPN);
		idle(d);
		expect_nothing(d);
		/* Nothing is remembered; a gap is told though one was told before. */
		inject_dropped(d, UROCE_DROP_READ_NOT_REMEMBERED,
			"RDMA_READ_REQUEST psn -3 va 0x1000 dma 600");
		inject_dropped(d, UROCE_DROP_PSN_AHEAD, "RDMA_WRITE_ONLY psn +1 ack len 0");
		expect(d, "ACKNOWLEDGE psn +0 NAK psn-sequence-error msn 0");
		/* No receive of the old connection is left. */
		inject_dropped(d, UROCE_DROP_RNR, "SEND_ONLY psn +0 ack len 8");
		expect(d, "ACKNOWLEDGE psn +0 RNR NAK 0.01 ms msn 0");
		inject(d, "RDMA_WRITE_ONLY psn +0 ack len 0");
		expect(d, "ACKNOWLEDGE psn +0 ACK msn 1");
		post(d, "SEND 300 len 4");
		expect(d, "SEND_ONLY psn +0 ack len 4; nothing");
		inject(d, "ACKNOWLEDGE psn +0 ACK");
		expect_cqe(d, "send 300 SUCCESS len 4");
		expect_number(d, d->ep.qp->report.cause, UROCE_CAUSE_NONE);
		/* And on, from PSNs at which leave_a_mess begins. */
		expect_number(d, drill_to_state(d, UROCE_QP_RESET), 0);
		endpoint_connect(&d->ep, DRILL_PEER_QPN);
	}
}

static void reset_frees_the_queues(struct drill *d)
{
	for (uint32_t round = 0; round < 3; round++) {
		for (uint32_t i = 0; i < 64; i++) {
			post(d, "SEND %u len 4", i);
			post_recv(d, i, 0, 4);
		}
		expect_number(d, drill_to_state(d, UROCE_QP_RESET), 0);
		expect_nothing(d);
		expect_no_cqe(d);
		endpoint_connect(&d->ep, DRILL_PEER_QPN);
		expect_nothing(d);
	}
}

/* ---- destroy ---- */

static void destroy_in_the_middle(struct drill *d)
{
	for (uint32_t how = 0; how < 4; how++) {
		struct endpoint_conf conf = drill_conf(d);
		struct uroce_cmd cmd = {.kind = UROCE_CMD_QP_DESTROY};
		struct uroce_qp *qp;
		void *memory;

		leave_a_mess(d, how);
		/* A rung bell, an ACK that waits, a timer. */
		inject(d, "RDMA_WRITE_MIDDLE psn +4 len 256");
		post(d, "SEND 102 len 4");
		qp = cmd.qp = d->ep.qp;
		memory = qp;
		expect_number(d, uroce_core_ctrl(&d->ep.core, &cmd, d->now_ns), 0);
		/* Its memory is ours again: nothing may look at it any more. */
		memset(memory, 0xa5, uroce_qp_bytes(&conf.caps));
		free(memory);
		expect_number(d, d->ep.core.num_qps, 0);
		expect_nothing(d);
		d->now_ns += 100 * DRILL_S;
		uroce_core_rx_empty(&d->ep.core, d->now_ns);
		uroce_core_expire(&d->ep.core, d->now_ns);
		expect_number(d, uroce_core_next_deadline(&d->ep.core), UROCE_TIMER_NEVER);
		expect_number(d, d->ep.path.users == NULL, true);
		/* Another one takes its place for the rest of the test. */
		d->ep.qp = aligned_alloc(64, (uroce_qp_bytes(&conf.caps) + 63) / 64 * 64);
		d->ep.qp = uroce_qp_init(d->ep.qp, &conf.caps);
		cmd = (struct uroce_cmd){.kind = UROCE_CMD_QP_CREATE,
			.qp = d->ep.qp,
			.qpn = conf.qpn,
			.pd = 7,
			.signal_all = true,
			.send_cq = d->ep.cq,
			.recv_cq = d->ep.cq};
		expect_number(d, uroce_core_ctrl(&d->ep.core, &cmd, d->now_ns), 0);
		endpoint_connect(&d->ep, DRILL_PEER_QPN);
	}
}

int main(void)
{
	static const struct drill_case cases[] = {
		{"every edge exists or is refused", every_edge},
		{"every missing attribute is refused", every_missing_attribute},
		{"every attribute is allowed where it belongs and refused elsewhere",
			every_other_attribute},
		{"attributes without a state are for the state that is", without_a_state},
		{"RESET and ERR take no attributes", to_the_end_without_attributes},
		{"a current state that is not the current one is refused", wrong_current_state},
		{"values to RTR are checked", values_to_rtr},
		{"values to RTS are checked", values_to_rts},
		{"the largest value of every attribute is allowed and counts", largest_values},
		{"new values count from then on", new_values_count},
		{"answers are for nobody before RTS", answers_before_rts},
		{"the first packet in RTR is an event for each connection", first_packet_again},
		{"SQD is told to be drained each time that it is asked for", drained_each_time},
		{"ERR flushes sends, then receives, in order", flush_order},
		{"what is posted after the end is flushed", posts_after_the_end},
		{"full queues are flushed whole", full_queues_flush},
		{"four connections know nothing of each other", four_connections},
		{"RESET frees the queues", reset_frees_the_queues},
		{"destroy leaves nothing behind, whatever was going on", destroy_in_the_middle},
	};

	return DRILL_SUITE("qp_state", cases);
}
