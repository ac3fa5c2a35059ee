/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Counters: one list makes the structure, the names and the help texts.
 *
 * One struct per core, written by the core's own thread only; other threads read with relaxed
 * loads. Names follow the hardware counters that RDMA users know. Public, for the names.
 */
#ifndef UROCE_STATS_H
#define UROCE_STATS_H

#include <stdint.h>

#include "status.h"

#ifdef __cplusplus
extern "C" {
#endif

// clang-format off
#define UROCE_COUNTERS(X) \
	X(rx_frames,		"frames seen, other hosts' included") \
	X(rx_accepted,		"frames accepted: each changed a queue pair's state or confirmed it") \
	X(rx_handed_over,	"frames passed to the worker that owns their queue pair") \
	X(rx_payload_bytes,	"payload bytes placed in application memory") \
	X(udp_checksum_wrong,	"frames with a non-zero UDP checksum that is wrong; the ICRC decided") \
	X(tx_frames,		"frames built") \
	X(tx_payload_bytes,	"payload bytes sent, retransmissions included") \
	X(tx_requests,		"request packets built") \
	X(tx_responses,		"read responses and atomic answers built") \
	X(tx_acks,		"positive acknowledgements built") \
	X(out_of_sequence,	"requests whose PSN was beyond the expected one") \
	X(packet_seq_err,	"NAK PSN sequence error received") \
	X(duplicate_request,	"requests seen before") \
	X(implied_nak_seq_err,	"gaps found in read responses or atomic answers") \
	X(local_ack_timeout_err, "acknowledgement timers that expired") \
	X(rnr_nak_sent,		"RNR NAKs built") \
	X(rnr_nak_received,	"RNR NAKs received") \
	X(nak_sent,		"other NAKs built") \
	X(retransmitted_packets, "request packets sent again") \
	X(retry_exceeded_err,	"work requests that ended for want of an answer") \
	X(rnr_nak_retry_err,	"work requests that ended because the peer was never ready") \
	X(req_remote_access_errors, "NAK remote access error received") \
	X(req_remote_invalid_request, "NAK invalid request received") \
	X(req_remote_operational_errors, "NAK remote operational error received") \
	X(resp_remote_access_errors, "NAK remote access error sent") \
	X(resp_remote_invalid_request, "NAK invalid request sent") \
	X(resp_local_length_error, "messages longer than the receive buffer") \
	X(req_cqe_error,	"send work requests completed in error") \
	X(resp_cqe_error,	"receive work requests completed in error") \
	X(cq_overflows,		"completions lost because a completion queue was too small") \
	X(events_lost,		"asynchronous events lost because nobody read them") \
	X(np_ecn_marked_roce_packets, "frames for connected queue pairs that were marked on the way: congestion") \
	X(np_cnp_sent,		"congestion notifications built") \
	X(rp_cnp_handled,	"congestion notifications that a queue pair with DCQCN slowed down for") \
	X(rp_cnp_ignored,	"congestion notifications for queue pairs without DCQCN") \
	X(keepalives_sent,	"keepalives built, repeated ones included") \
	X(messages_sent,	"send work requests completed with success") \
	X(messages_received,	"messages executed as responder")
// clang-format on

#define UROCE_COUNTER_FIELD(name, help) uint64_t name;
#define UROCE_COUNTER_ONE(name, help)	+1

struct uroce_counters {
	UROCE_COUNTERS(UROCE_COUNTER_FIELD)
	/* By enum uroce_drop; entry 0 stays 0. */
	uint64_t drops[UROCE_DROP_COUNT];
};

enum {
	UROCE_COUNTER_COUNT = 0 UROCE_COUNTERS(UROCE_COUNTER_ONE)
};

#undef UROCE_COUNTER_FIELD
#undef UROCE_COUNTER_ONE

#ifdef __cplusplus
}
#endif

#endif
