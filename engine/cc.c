/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Congestion control of queue pairs.
 *
 * Pacing is by earliest departure: each frame moves the time before which the next may not be
 * built by what it takes at the queue pair's rate. A flow that comes too early leaves the ready
 * list, and a timer brings it back, so that waiting costs nothing. Idle time is not saved up; time
 * that the core's thread was late by is, or a thread that looks every 20 us could not pace at 10
 * Gb/s. Requests and responses of a queue pair share one rate and take turns.
 * The rate is the smaller of the one asked for and DCQCN's. Without either none of this is met but
 * for one flag.
 */
#include "cc.h"

#include "build.h"

enum {
	CNP_BYTES = 16, /* reserved, behind the BTH */
};

/* The most that a thread's lateness is made up for. */
#define LATE_NS 100000u
/* At less than this 4096 bytes take over 20 us: an acknowledgement for each is not too much. */
#define SLOW_BPS 1600000000u

static struct uroce_qp *qp_of(struct uroce_timer *timer)
{
	return (struct uroce_qp *)(void *)((uint8_t *)timer - offsetof(struct uroce_qp, cc.timer));
}

/* The rate that counts: 0 is none. */
static uint64_t rate_of(const struct uroce_qp *qp)
{
	uint64_t limit = qp->attr.rate_limit_bps, rate = qp->cc.dcqcn.rate_bps;

	return rate && (!limit || rate < limit) ? rate : limit;
}

static void take_rate(struct uroce_qp *qp)
{
	struct uroce_cc *cc = &qp->cc;
	uint64_t rate = rate_of(qp);

	cc->paced = rate > 0;
	cc->slow = rate > 0 && rate < SLOW_BPS;
	/* Rounded up: a limit is one. */
	cc->ns_per_byte_q = rate ? ((8000000000ull << UROCE_CC_FRAC_BITS) - 1) / rate + 1 : 0;
}

/* What DCQCN may reach. */
static uint64_t line_of(const struct uroce_core *core, const struct uroce_qp *qp)
{
	uint64_t line = core->conf.dcqcn.line_rate_bps, limit = qp->attr.rate_limit_bps;

	return limit && limit < line ? limit : line;
}

void uroce_cc_reset(const struct uroce_core *core, struct uroce_qp *qp)
{
	struct uroce_cc *cc = &qp->cc;

	uroce_timer_cancel(&cc->timer);
	cc->waiting = 0;
	cc->depart_ns = cc->woken_ns = 0;
	cc->depart_frac = 0;
	cc->cnp_owed = false;
	cc->cnp_from_ns = 0;
	uroce_dcqcn_init(&cc->dcqcn, line_of(core, qp));
	take_rate(qp);
}

/* Flows that waited look again, the one whose turn it is first. */
static void wake(struct uroce_core *core, struct uroce_qp *qp)
{
	struct uroce_cc *cc = &qp->cc;
	uint8_t waiting = cc->waiting;

	cc->waiting = 0;
	for (uint8_t i = 0; i < 2; i++) {
		uint8_t kind = cc->first ^ i;

		if (waiting >> kind & 1)
			uroce_ready_push(&core->ready,
				kind == UROCE_FLOW_REQUESTS ? &qp->requests : &qp->responses);
	}
}

void uroce_cc_changed(struct uroce_core *core, struct uroce_qp *qp, uint64_t now_ns)
{
	struct uroce_cc *cc = &qp->cc;

	if (qp->attr.dcqcn)
		uroce_dcqcn_set_line(&cc->dcqcn, line_of(core, qp));
	else
		uroce_dcqcn_init(&cc->dcqcn, line_of(core, qp));
	take_rate(qp);
	/* A time that was computed at another rate may be far away. */
	cc->depart_ns = now_ns;
	cc->depart_frac = 0;
	uroce_timer_cancel(&cc->timer);
	wake(core, qp);
}

/* ---- pacing ---- */

bool uroce_cc_may_send(
	struct uroce_core *core, struct uroce_qp *qp, enum uroce_flow_kind kind, uint64_t now_ns)
{
	struct uroce_cc *cc = &qp->cc;

	if (now_ns >= cc->depart_ns)
		return true;
	cc->waiting = (cc->waiting | 1u << kind) & 0x3;
	uroce_timer_arm(&core->paces, &cc->timer, cc->depart_ns);
	return false;
}

void uroce_cc_sent(const struct uroce_core *core, struct uroce_qp *qp, enum uroce_flow_kind kind,
	uint32_t bytes, uint64_t now_ns)
{
	const struct uroce_dcqcn_conf *conf = &core->conf.dcqcn;
	struct uroce_cc *cc = &qp->cc;
	uint64_t earliest_ns = now_ns, took;

	if (cc->dcqcn.rate_bps) {
		bool changed = uroce_dcqcn_advance(&cc->dcqcn, conf, now_ns);

		if (uroce_dcqcn_sent(&cc->dcqcn, conf, bytes) || changed)
			take_rate(qp);
	}
	if (cc->woken_ns && now_ns - cc->woken_ns < LATE_NS)
		earliest_ns = now_ns < LATE_NS ? 0 : now_ns - LATE_NS;
	if (cc->depart_ns < earliest_ns) {
		cc->depart_ns = earliest_ns;
		cc->depart_frac = 0;
	}
	took = bytes * cc->ns_per_byte_q + cc->depart_frac;
	cc->depart_ns += took >> UROCE_CC_FRAC_BITS;
	cc->depart_frac = (uint32_t)(took & ((1u << UROCE_CC_FRAC_BITS) - 1));
	cc->first = kind == UROCE_FLOW_REQUESTS ? UROCE_FLOW_RESPONSES : UROCE_FLOW_REQUESTS;
}

void uroce_cc_expire(struct uroce_core *core, struct uroce_timer *timer, uint64_t now_ns)
{
	struct uroce_qp *qp = qp_of(timer);

	qp->cc.woken_ns = now_ns;
	wake(core, qp);
}

/* ---- notifications ---- */

void uroce_cc_marked(
	struct uroce_core *core, struct uroce_qp *qp, const struct uroce_pkt *pkt, uint64_t now_ns)
{
	struct uroce_cc *cc = &qp->cc;

	if (qp->caps.type == UROCE_QP_UD)
		return;
	uroce_count(core, np_ecn_marked_roce_packets);
	/* Who sends no data cannot send less of it; a notification is never answered. */
	if (pkt->payload_bytes == 0 || pkt->op->kind == UROCE_OP_CNP || now_ns < cc->cnp_from_ns)
		return;
	cc->cnp_from_ns = now_ns + core->conf.dcqcn.cnp_ns;
	cc->cnp_owed = true;
	uroce_core_wake_responses(core, qp);
}

uint32_t uroce_cc_build_cnp(struct uroce_core *core, struct uroce_qp *qp, struct uroce_slot *slot)
{
	uint8_t *p = uroce_build_start_cnp(qp, slot);

	memset(p, 0, CNP_BYTES);
	uroce_build_finish(core, slot, p + CNP_BYTES, 0);
	uroce_count(core, np_cnp_sent);
	qp->cc.cnp_owed = false;
	return slot->bytes;
}

enum uroce_drop uroce_cc_rx_cnp(struct uroce_core *core, struct uroce_qp *qp, uint64_t now_ns)
{
	if (!qp->attr.dcqcn) {
		uroce_count(core, rp_cnp_ignored);
		return UROCE_DROP_CNP;
	}
	uroce_count(core, rp_cnp_handled);
	uroce_dcqcn_notify(&qp->cc.dcqcn, &core->conf.dcqcn, now_ns);
	take_rate(qp);
	return UROCE_ACCEPTED;
}
