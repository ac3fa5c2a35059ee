/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a queue pair remembers of its troubles, in numbers.
 *
 * "Retry exceeded" alone sends people looking for days. So the engine keeps what failed and why,
 * what was dropped last, and what was heard last; the library turns it into a sentence.
 */
#ifndef UROCE_REPORT_H
#define UROCE_REPORT_H

#include <stdbool.h>
#include <stdint.h>

#include "status.h"

/* Why a queue pair is in error, in numbers; uroce_qp_last_error puts it in words. */
enum uroce_cause {
	UROCE_CAUSE_NONE,
	UROCE_CAUSE_TIMEOUT,	  /* nothing heard; detail = timeouts since progress */
	UROCE_CAUSE_NAK,	  /* detail = syndrome */
	UROCE_CAUSE_SEQUENCE,	  /* too many NAK PSN sequence errors or gaps */
	UROCE_CAUSE_RNR,	  /* detail = RNR NAKs since progress */
	UROCE_CAUSE_LOCAL_MEMORY, /* detail = enum uroce_mr_verdict */
	UROCE_CAUSE_MALFORMED_WQE,
	UROCE_CAUSE_BAD_RESPONSE,
	UROCE_CAUSE_REQUEST_REFUSED, /* responder; detail = syndrome sent */
	UROCE_CAUSE_INVALIDATE,	     /* responder; a key that may not be invalidated */
	UROCE_CAUSE_RECV_TOO_SHORT,  /* responder */
	UROCE_CAUSE_BIND,	     /* detail = enum uroce_mr_verdict */
	UROCE_CAUSE_MEMORY_CHANGE,   /* REG_MR or LOCAL_INV; detail = enum uroce_mr_verdict */
	UROCE_CAUSE_ADDRESS_HANDLE,  /* detail = its number */
	UROCE_CAUSE_RECV_BAD,	     /* unreliable; detail = enum uroce_mr_verdict */
	UROCE_CAUSE_CQ_OVERFLOW,
	UROCE_CAUSE_KEEPALIVE, /* a peer that was silent did not answer; detail = timeouts */
	UROCE_CAUSE_KEEPALIVE_REFUSED, /* detail = syndrome */
	UROCE_CAUSE_PATH,	       /* the peer's MAC was never learned */
	UROCE_CAUSE_MODIFIED,	       /* the application asked for it */
};

/* Why a request was refused; REQUEST_REFUSED's second detail. */
enum uroce_refusal {
	UROCE_REFUSAL_NONE,
	UROCE_REFUSAL_SEQUENCE, /* FIRST, MIDDLE, LAST out of order */
	UROCE_REFUSAL_MTU,	/* payload is not one path MTU; got and want */
	UROCE_REFUSAL_LENGTH,	/* does not agree with the RETH; got and want */
	UROCE_REFUSAL_PAD,
	UROCE_REFUSAL_NOT_ALLOWED, /* the queue pair does not allow it */
	UROCE_REFUSAL_TOO_LONG,	   /* over 2^31 */
	UROCE_REFUSAL_TOO_MANY_READS,
	UROCE_REFUSAL_MISALIGNED,
	UROCE_REFUSAL_KEY, /* got = enum uroce_mr_verdict */
	UROCE_REFUSAL_RECV_SHORT,
	UROCE_REFUSAL_RECV_BAD,
};

struct uroce_qp_report {
	/* of the error that ended the connection */
	enum uroce_cause cause;
	enum uroce_status status;
	uint32_t detail;
	enum uroce_refusal refusal;
	uint32_t refusal_got, refusal_want;
	uint64_t error_ns;
	uint32_t error_psn;
	/* since the last progress */
	uint32_t timeouts;
	uint32_t rnr_naks;
	uint32_t sequence_naks;
	uint64_t timeout_ns; /* the retry time in use */
	/* the last frame for this queue pair that was not accepted */
	enum uroce_drop drop;
	uint32_t drop_psn;
	struct uroce_gid drop_src;
	uint64_t drop_ns;
	uint32_t drops;
	/* the last acceptable frame of the peer */
	uint64_t heard_ns;
	uint32_t heard_psn;
	bool heard;
	/* the last error syndrome that the peer sent */
	uint8_t last_syndrome;
	bool last_syndrome_valid;
};

#endif
