/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Why a queue pair is in error, in words.
 *
 * "Retry exceeded" alone sends people looking for days. The engine keeps the numbers: what
 * failed, what was heard from the peer last, which frame was dropped last and why; here they
 * become a sentence that says where to look.
 */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

#include "device.h"
#include "gid_text.h"

/* Appends to a buffer like snprintf, counting also what does not fit. */
struct text {
	char *buf;
	size_t bytes;
	size_t length;
};

__attribute__((format(printf, 2, 3))) static void say(struct text *t, const char *format, ...)
{
	size_t room = t->length < t->bytes ? t->bytes - t->length : 0;
	va_list args;
	int n;

	va_start(args, format);
	n = vsnprintf(room ? t->buf + t->length : NULL, room, format, args);
	va_end(args);
	t->length += n > 0 ? (size_t)n : 0;
}

static const char *syndrome_text(uint32_t syndrome)
{
	switch (syndrome) {
	case UROCE_SYNDROME_NAK_PSN_SEQUENCE:
		return "PSN sequence error";
	case UROCE_SYNDROME_NAK_INVALID_REQUEST:
		return "invalid request";
	case UROCE_SYNDROME_NAK_REMOTE_ACCESS:
		return "remote access error: key, range or right";
	case UROCE_SYNDROME_NAK_REMOTE_OPERATIONAL:
		return "remote operational error: the peer's receive was bad";
	default:
		return "receiver not ready";
	}
}

static const char *verdict_text(uint32_t verdict)
{
	switch ((enum uroce_mr_verdict)verdict) {
	case UROCE_MR_NO_KEY:
		return "no region has this key (never registered, or deregistered)";
	case UROCE_MR_WRONG_PD:
		return "the region is of another protection domain";
	case UROCE_MR_NO_RIGHT:
		return "the region does not allow this access";
	case UROCE_MR_RANGE:
		return "the range is not inside the region";
	case UROCE_MR_WRONG_QP:
		return "the window was bound by another queue pair";
	case UROCE_MR_WRONG_KIND:
		return "the key is not of a kind that this can be done with";
	case UROCE_MR_IN_USE:
		return "it is bound or registered already, or windows are bound to it";
	case UROCE_MR_OK:
		break;
	}
	return "no reason";
}

static void say_refusal(struct text *t, const struct uroce_qp_report *r)
{
	uint32_t got = r->refusal_got, want = r->refusal_want;

	switch (r->refusal) {
	case UROCE_REFUSAL_SEQUENCE:
		say(t, "FIRST, MIDDLE and LAST packets out of order (opcode 0x%02x)", got);
		break;
	case UROCE_REFUSAL_MTU:
		say(t, "MTU mismatch: a packet has %u payload bytes, path MTU is %u", got, want);
		break;
	case UROCE_REFUSAL_LENGTH:
		say(t, "payload and announced length differ: got %u, want %u", got, want);
		break;
	case UROCE_REFUSAL_PAD:
		say(t, "pad count is %u, should be %u", got, want);
		break;
	case UROCE_REFUSAL_NOT_ALLOWED:
		say(t, "opcode 0x%02x is not among the queue pair's access rights", got);
		break;
	case UROCE_REFUSAL_TOO_LONG:
		say(t, "message of %u bytes; 2^31 is the most", got);
		break;
	case UROCE_REFUSAL_TOO_MANY_READS:
		say(t, "read or atomic number %u while %u may be outstanding", got, want);
		break;
	case UROCE_REFUSAL_MISALIGNED:
		say(t, "atomic on an address that is not a multiple of 8");
		break;
	case UROCE_REFUSAL_KEY:
		say(t, "%s", verdict_text(got));
		break;
	case UROCE_REFUSAL_RECV_SHORT:
		say(t, "message of at least %u bytes for a receive of %u", got, want);
		break;
	case UROCE_REFUSAL_RECV_BAD:
		say(t, "the receive's own memory: %s", verdict_text(got));
		break;
	case UROCE_REFUSAL_NONE:
		break;
	}
}

static void say_addr(struct text *t, struct uroce_gid gid)
{
	char addr[UROCE_GID_TEXT_BYTES];

	uroce_gid_text(gid, addr);
	say(t, "%s", addr);
}

static void say_heard(struct text *t, const struct uroce_qp_report *r, uint64_t now_ns)
{
	if (!r->heard)
		say(t, "; nothing acceptable was ever heard from the peer");
	else
		say(t, "; last heard %" PRIu64 " ms ago (PSN 0x%06x)",
			(now_ns - r->heard_ns) / 1000000, r->heard_psn);
}

static void say_drop(struct text *t, const struct uroce_qp_report *r)
{
	if (r->drop == UROCE_ACCEPTED)
		return;
	say(t, "; last frame dropped (PSN 0x%06x from ", r->drop_psn);
	say_addr(t, r->drop_src);
	say(t, ", %u in all): %s", r->drops, uroce_drop_text(r->drop));
}

/* A frame from the peer to a number that nobody has: most likely meant for this one. */
static void say_stray(struct text *t, const struct uroce_qp *qp, const struct uroce_stray *stray)
{
	const struct qp_shell *shell = qp->owner;

	if (stray->ns == 0 || !shell->path || !uroce_gid_equal(shell->path->made.dst, stray->src))
		return;
	say(t, "; the peer sent to queue pair 0x%06x, which does not exist (this one is 0x%06x)",
		stray->qpn, qp->qpn);
}

static void say_cause(struct text *t, const struct uroce_qp_report *r)
{
	uint64_t us = r->timeout_ns / 1000;

	switch (r->cause) {
	case UROCE_CAUSE_TIMEOUT:
		say(t,
			"%u timeouts of %" PRIu64 ".%03" PRIu64
			" ms without an answer to PSN 0x%06x",
			r->detail, us / 1000, us % 1000, r->error_psn);
		break;
	case UROCE_CAUSE_KEEPALIVE:
		say(t,
			"the peer was silent, and %u timeouts of %" PRIu64 ".%03" PRIu64
			" ms went by without an answer to a keepalive (PSN 0x%06x)",
			r->detail, us / 1000, us % 1000, r->error_psn);
		break;
	case UROCE_CAUSE_KEEPALIVE_REFUSED:
		say(t,
			"the peer refused a keepalive: %s; its queue pair must allow remote "
			"writes, "
			"or this one have no keepalive",
			syndrome_text(r->detail));
		break;
	case UROCE_CAUSE_NAK:
		say(t, "the peer refused PSN 0x%06x: %s", r->error_psn, syndrome_text(r->detail));
		break;
	case UROCE_CAUSE_SEQUENCE:
		say(t, "packets from PSN 0x%06x on were lost %u times in a row", r->error_psn,
			r->detail);
		break;
	case UROCE_CAUSE_RNR:
		say(t, "the peer had no receive posted, %u times in a row", r->detail);
		break;
	case UROCE_CAUSE_LOCAL_MEMORY:
		say(t, "a work request's own memory: %s", verdict_text(r->detail));
		break;
	case UROCE_CAUSE_MALFORMED_WQE:
		say(t, "a work request on the queue makes no sense");
		break;
	case UROCE_CAUSE_BAD_RESPONSE:
		say(t, "the peer's answer (opcode 0x%02x) does not fit the request", r->detail);
		break;
	case UROCE_CAUSE_REQUEST_REFUSED:
	case UROCE_CAUSE_RECV_TOO_SHORT:
		say(t, "the peer's request with PSN 0x%06x was refused (%s): ", r->error_psn,
			syndrome_text(r->detail));
		say_refusal(t, r);
		break;
	case UROCE_CAUSE_INVALIDATE:
		say(t, "the peer asked to invalidate key 0x%08x, which may not be invalidated",
			r->detail);
		break;
	case UROCE_CAUSE_BIND:
		say(t, "a memory window could not be bound: %s", verdict_text(r->detail));
		break;
	case UROCE_CAUSE_MEMORY_CHANGE:
		say(t, "a fast registration or invalidation was refused: %s",
			verdict_text(r->detail));
		break;
	case UROCE_CAUSE_ADDRESS_HANDLE:
		say(t, "no address handle of this domain has number 0x%x (destroyed?)", r->detail);
		break;
	case UROCE_CAUSE_RECV_BAD:
		say(t, "a receive's own memory: %s", verdict_text(r->detail));
		break;
	case UROCE_CAUSE_CQ_OVERFLOW:
		say(t, "a completion queue of %u entries overflowed", r->detail);
		break;
	case UROCE_CAUSE_PATH:
		say(t, "the MAC address of the peer, or of the gateway to it, is not known: %s",
			"nobody answered for it on the link, and none was set");
		break;
	case UROCE_CAUSE_MODIFIED:
		say(t, "the application moved the queue pair to ERR");
		break;
	case UROCE_CAUSE_NONE:
		break;
	}
}

int uroce_explain(const struct uroce_qp *qp, const struct uroce_cmd *report, uint64_t now_ns,
	char *buf, size_t bytes)
{
	const struct uroce_qp_report *r = &report->report;
	struct text t = {.buf = buf, .bytes = bytes};
	bool silent = r->cause == UROCE_CAUSE_TIMEOUT || r->cause == UROCE_CAUSE_KEEPALIVE ||
		r->cause == UROCE_CAUSE_SEQUENCE;

	if (bytes > 0)
		buf[0] = 0;
	if (r->cause == UROCE_CAUSE_NONE && r->drop == UROCE_ACCEPTED)
		return 0;
	if (r->cause != UROCE_CAUSE_NONE) {
		say(&t, "%s: ", uroce_status_name(r->status));
		say_cause(&t, r);
	} else {
		say(&t, "no error");
	}
	if (silent)
		say_heard(&t, r, now_ns);
	if (silent && r->last_syndrome_valid)
		say(&t, "; its last refusal: %s", syndrome_text(r->last_syndrome));
	say_drop(&t, r);
	if (silent)
		say_stray(&t, qp, &report->stray);
	return (int)t.length;
}
