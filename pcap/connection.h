/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What an analysis knows of a connection: its two streams, and in each what is on its way.
 *
 * A stream is what one address sends to one queue pair of another: requests of its own, and answers
 * to the requests that come the other way. The wire does not say which two streams are one
 * connection; streams.h finds out. All memory that a stream holds is bounded, whatever the capture
 * says.
 */
#ifndef UROCE_PCAP_CONNECTION_H
#define UROCE_PCAP_CONNECTION_H

#include <stdbool.h>
#include <stdint.h>

#include "engine/gid.h"
#include "engine/opcode.h"
#include "pcap/finding.h"
#include "pcap/histogram.h"
#include "pcap/series.h"

enum {
	UROCE_OPERATIONS = UROCE_OP_ATOMIC_WRITE + 1,
	UROCE_STREAM_BACKLOG = 16,
};

/* A packet of a request that was sent: all PSNs of a READ are one. */
struct uroce_asked {
	uint64_t first_ns, last_ns; /* sent, and sent again */
	uint64_t first_frame, last_frame;
	uint64_t message_ns; /* its message began */
	uint64_t message_bytes;
	uint32_t psn, pkts;
	uint32_t bytes;	     /* of payload; of a READ what it asks for */
	uint32_t icrc;	     /* tells packets apart */
	uint32_t answer_psn; /* READ: the next that is expected */
	uint32_t lost_psn;   /* READ: of its answer, where lost_frame is not 0 */
	uint64_t lost_frame;
	uint16_t sends;
	uint8_t kind; /* enum uroce_op_kind */
	bool last;    /* of its message */
	bool hole;    /* not in the capture yet */
	bool acked;
	bool guessed; /* READ: pkts is by a path MTU that nobody stated */
};

enum uroce_resend_cause {
	UROCE_RESEND_NONE,
	UROCE_RESEND_NAK,
	UROCE_RESEND_RNR,
	UROCE_RESEND_IMPLIED,
};

/* The requests of a stream. Entries from the first unanswered one on are at una. */
struct uroce_requests {
	bool started;
	bool in_message;
	bool broken;  /* the message under way misses a packet */
	bool dead;    /* a NAK ended it */
	uint8_t kind; /* of the message under way */
	uint32_t psn_first, psn_next;
	struct uroce_asked *ring;
	uint32_t head, una, tail, room; /* free-running; room is a power of two */
	uint64_t message_ns, message_bytes, message_frame;
	uint32_t dma_len;
	uint64_t in_flight_bytes;
	/* What makes the requester go back, and where to. */
	enum uroce_resend_cause cause;
	uint32_t cause_psn;
	uint64_t cause_ns, cause_frame, wait_ns;
	/* A NAK before it that was not heeded either: both may be on their way at once. */
	bool older;
	uint32_t older_psn;
	/* The PSN of a NAK that the requester did not go back to. */
	bool skipped;
	uint32_t skipped_psn;
	/* Going back: the PSN that would come next. */
	bool resending;
	uint32_t resend_psn;
	uint32_t last_psn; /* of the request before, new or not */
	uint64_t last_frame;
	/* An acknowledgement of what was not seen yet: the capture's fault, or the responder's. */
	bool beyond;
	uint32_t beyond_psn;
	uint64_t beyond_frame;
	uint64_t progress_ns; /* the last time that something was acknowledged */
	uint32_t blocked;     /* answers that passed a READ which has none */
};

/* An answer that waits to be known whose it is. */
struct uroce_kept_answer {
	uint64_t number, time_ns;
	uint32_t psn, payload_bytes;
	uint8_t opcode, syndrome;
	bool has_aeth;
};

struct uroce_stream {
	struct uroce_gid src, dst;
	uint32_t dqpn, sqpn; /* sqpn: of datagrams, else 0 */
	uint16_t vlan;
	bool is_rocev1;
	uint8_t side; /* in its connection */
	uint8_t service;
	struct uroce_connection *connection;
	struct uroce_stream *next_of_key, *next_of_pair;
	bool paired;
	uint64_t packets, wire_bytes;
	uint64_t requests_seen, answers_seen, cnps, ce_marks, ce_frame, ce_ns;
	uint64_t icrc_bad, icrc_absent, cut, retransmitted, naks, rnr_naks;
	uint64_t messages[UROCE_OPERATIONS];
	uint64_t message_bytes[UROCE_OPERATIONS];
	uint64_t sizes_min[UROCE_OPERATIONS], sizes_max[UROCE_OPERATIONS];
	uint64_t delivered_bytes; /* of messages acknowledged */
	uint64_t delivered_first_ns, delivered_last_ns;
	uint64_t first_frame, last_frame;
	uint64_t last_cnp_ns, last_cnp_frame;
	uint64_t last_ns;
	uint64_t in_flight_max_bytes;
	uint16_t udp_sport;
	struct uroce_histogram latency;
	struct uroce_requests req;
	struct uroce_kept_answer *backlog;
	uint32_t num_backlog;
	uint32_t looks; /* for the stream that its answers are for */
	struct uroce_series series;
};

enum uroce_confidence {
	UROCE_CONFIDENCE_ALONE,	   /* the other stream is not known */
	UROCE_CONFIDENCE_GUESS,	   /* others would fit as well */
	UROCE_CONFIDENCE_EVIDENCE, /* answers name what was asked, and no other would fit */
	UROCE_CONFIDENCE_STATED,   /* connection management, or each datagram, says so */
};

struct uroce_connection {
	uint32_t number; /* from 1, in the order of their first packets, without the hidden ones */
	bool hidden;	 /* nothing was seen of it, or it was found to be a part of another */
	struct uroce_connection *into;
	struct uroce_stream *streams[2]; /* the first one sent first; the second may be NULL */
	enum uroce_confidence confidence;
	uint64_t agree,
		disagree;   /* answers that name what the other stream asked, and that do not */
	uint32_t mtu_bytes; /* 0: not seen */
	uint64_t first_ns, last_ns;
	uint64_t service_id; /* of its REQ; 0: not captured */
	uint64_t connect_ns; /* from REQ to RTU */
	bool disconnected;
	uint32_t findings[UROCE_FINDING_COUNT]; /* where in the list, plus 1 */
};

/* "SEND", "WRITE", ... by enum uroce_op_kind. */
extern const char *const uroce_op_words[UROCE_OPERATIONS];

/* The entry that has the PSN, answered ones that are still remembered too; NULL if none. */
struct uroce_asked *uroce_requests_find(const struct uroce_requests *req, uint32_t psn);
/* Whether entry e was answered. */
bool uroce_requests_is_done(const struct uroce_requests *req, const struct uroce_asked *e);

#endif
