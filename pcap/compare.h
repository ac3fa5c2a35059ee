/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Comparing what the engine sends with what the recorded peer sent, packet by packet.
 *
 * Every difference is put in a class with a rule; what fits none is wrong. Nothing is left out of
 * the comparison but the fields listed in compare.c, each for its reason.
 */
#ifndef UROCE_PCAP_COMPARE_H
#define UROCE_PCAP_COMPARE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "pcap/exchange.h"

/* X(name, kind, rule). kind: 0 identical, 1 legal by the standard, 2 a known departure of the
 * peer's from the standard (or of a receiver's choice), 3 wrong. */
// clang-format off
#define UROCE_REPLAY_CLASSES(X) \
	X(IDENTICAL,		0, "byte for byte, but for the masked fields") \
	X(DELIVERED,		0, "the payload lies where the packet said; whole messages completed, and no other") \
	X(ACK_REQUEST,		1, "when to ask for an acknowledgement is the requester's choice") \
	X(CREDITS,		1, "an acknowledgement may carry a credit count or none") \
	X(ACK_COALESCED,	1, "one acknowledgement covers all before it") \
	X(ACK_EXTRA,		1, "acknowledging what nobody asked about is allowed") \
	X(ACK_AT_THE_END,	1, "the capture ends before the recorded answer") \
	X(DUPLICATE_ACK,	1, "a repeated request is acknowledged up to the newest PSN executed (C9-105)") \
	X(RESENT_PACKETS,	1, "how many packets are sent again depends on how many were under way") \
	X(SWAPPED_BY_WIRE,	1, "the wire swapped two packets behind the sender") \
	X(DAMAGED_BY_WIRE,	1, "the wire damaged the recorded packet: its ICRC is wrong; its headers were compared") \
	X(COMPLAINT_UNSEEN,	1, "a gap that the capture shows is complained about; the recorded complaint was lost before the capture") \
	X(NOTIFICATION,		1, "what was marked on its way may be answered with a congestion notification, or not (A17.9.3)") \
	X(READ_RESUMED,		2, "soft-RoCE answers a read retried from the middle as MIDDLE to LAST; the standard as a new request, FIRST to LAST") \
	X(NAK_FOR_LENGTH,	2, "soft-RoCE refuses a message longer than its receive as remote operational error; the standard as invalid request") \
	X(NAK_FOR_LONG_READ,	2, "soft-RoCE refuses a read over 2^31 bytes as remote access error; the standard as invalid request") \
	X(LENGTH_ACCEPTED,	2, "soft-RoCE accepts a FIRST shorter or an ONLY longer than the path MTU; the standard refuses; the exchange ends here") \
	X(INVALIDATE_ACCEPTED,	2, "SEND with invalidate of a region that uroce cannot know to be fast-registered: refused; the exchange ends here") \
	X(WRONG_PACKET,		3, "a packet differs in what no rule allows") \
	X(MISSING,		3, "the recorded peer sent this, the engine nothing like it") \
	X(NOT_DELIVERED,	3, "what an unreliable packet carried is not where it belongs, or its message did not complete once") \
	X(UNEXPECTED,		3, "the engine sent this, the recorded peer nothing like it")
// clang-format on

#define UROCE_REPLAY_ENUM(name, kind, rule) UROCE_REPLAY_##name,
enum uroce_replay_class {
	UROCE_REPLAY_CLASSES(UROCE_REPLAY_ENUM) UROCE_REPLAY_CLASS_COUNT
};
#undef UROCE_REPLAY_ENUM

const char *uroce_replay_class_name(enum uroce_replay_class c);
const char *uroce_replay_class_rule(enum uroce_replay_class c);
int uroce_replay_class_kind(enum uroce_replay_class c);

enum {
	UROCE_DIFFERENCE_BYTES = 1536
};

struct uroce_comparison {
	uint32_t counts[UROCE_REPLAY_CLASS_COUNT];
	bool ended_early; /* by a departure after which nothing can be compared */
	/* The first wrong difference in words: both packets as text, frame number, rule. */
	char difference[UROCE_DIFFERENCE_BYTES];
};

/* A frame that the engine sent. */
struct uroce_sent {
	uint8_t *data;
	uint32_t bytes;
	struct uroce_text_packet text;
};

struct uroce_sent_list {
	struct uroce_sent *list;
	uint32_t num;
	uint32_t max;
};

/* Copies a frame to the end of the list; -ENOMEM. */
int uroce_sent_add(struct uroce_sent_list *sent, const uint8_t *data, uint32_t bytes);
void uroce_sent_fini(struct uroce_sent_list *sent);

/* How the engine's queue pair ended, for what follows from that. */
struct uroce_ending {
	bool refused_length; /* by the check of payload against path MTU */
	bool refused_invalidate;
};

/* The engine's answers against the recorded ones of an exchange. */
void uroce_compare_answers(const struct uroce_exchange *e, const struct uroce_sent_list *sent,
	const struct uroce_ending *ending, struct uroce_comparison *out);

/* The engine's requests against the recorded ones. */
void uroce_compare_requests(const struct uroce_exchange *e, const struct uroce_sent_list *sent,
	struct uroce_comparison *out);

#endif
