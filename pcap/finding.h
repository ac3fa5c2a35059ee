/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Findings: what is wrong, or worth knowing, in a capture, in words and with frame numbers.
 *
 * Findings of one kind on one connection are one: it counts them, keeps the first in words, the
 * frames of the first ones, and the time that all of them cost. So what a capture can make of them
 * is bounded by its connections.
 */
#ifndef UROCE_PCAP_FINDING_H
#define UROCE_PCAP_FINDING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum uroce_grade {
	UROCE_GRADE_NOTE,    /* worth knowing */
	UROCE_GRADE_WARNING, /* costs time, and is what the protocol is made to survive */
	UROCE_GRADE_ERROR,   /* against the standard, or the end of a connection */
};

// clang-format off
/* X(name, kind in words, grade, the rule) */
#define UROCE_FINDING_KINDS(X) \
	X(ICRC_BAD, "icrc-bad", ERROR, "a packet with a wrong ICRC is dropped without an answer (A17.3.3)") \
	X(ICRC_ABSENT, "icrc-absent", NOTE, "every RoCEv2 packet ends with an ICRC (A17.3.3); in a capture taken at the sender it may not be filled in yet") \
	X(MALFORMED, "malformed", ERROR, "a packet whose lengths or fields contradict one another is dropped without an answer (9.6)") \
	X(TRUNCATED, "truncated", NOTE, "of a packet that the snap length cut neither ICRC nor payload can be judged: record with -s 0") \
	X(FRAGMENT, "fragment", ERROR, "RoCEv2 packets are never fragmented (A17.3.1.1)") \
	X(CAPTURE_GAP, "capture-gap", NOTE, "what was acknowledged arrived: if it is not in the capture, the capture lost it") \
	X(LOSS, "loss", WARNING, "a responder that misses a PSN says so once, by NAK PSN sequence error (C9-112), and the requester goes back to it") \
	X(TIMEOUT, "retransmission-timeout", WARNING, "a requester that hears nothing until its timeout sends again from the oldest PSN not acknowledged (9.7.6.1.3)") \
	X(SPURIOUS, "retransmission-spurious", WARNING, "what was acknowledged needs not be sent again; a responder acknowledges it anew and executes nothing (C9-105)") \
	X(UNEXPLAINED, "retransmission-unexplained", WARNING, "a requester sends again after a NAK, an RNR NAK or its timeout (9.7.5)") \
	X(DUPLICATE, "duplicate", NOTE, "a packet that a network doubles is acknowledged again and not executed again (C9-105)") \
	X(REORDERED, "reordered", WARNING, "RoCE expects the order in which it sent: a packet overtaken looks like a lost one (9.7.3)") \
	X(UNRELIABLE_LOSS, "unreliable-loss", WARNING, "a message of an unreliable connection that misses a packet is dropped, and nobody is told (9.8.2)") \
	X(RNR, "rnr-nak", WARNING, "a request that finds no receive posted is refused for a time, and sent again after it (9.7.5.2.8)") \
	X(RNR_IGNORED, "rnr-not-honoured", ERROR, "a requester waits at least for the time that the RNR NAK names (9.7.5.2.8)") \
	X(GO_BACK_WRONG, "go-back-wrong", ERROR, "after a NAK a requester goes on with the PSN that the NAK names (9.7.5.1.3)") \
	X(NAK_INVALID_REQUEST, "nak-invalid-request", ERROR, "the responder does not allow the request or its form; both queue pairs stop (9.7.5.2.2)") \
	X(NAK_REMOTE_ACCESS, "nak-remote-access", ERROR, "the key, the range or the rights do not allow it; both queue pairs stop (9.7.5.2.3)") \
	X(NAK_REMOTE_OPERATIONAL, "nak-remote-operational", ERROR, "the responder could not complete the request; both queue pairs stop (9.7.5.2.4)") \
	X(NAK_RESERVED, "nak-reserved", ERROR, "the standard has no such syndrome (9.7.5.1)") \
	X(RESPONSE_LOST, "response-lost", WARNING, "an answer that skips a READ or an atomic says that theirs was lost, and they are asked for again (9.7.5.1.2)") \
	X(MTU_MISMATCH, "mtu-mismatch", ERROR, "FIRST and MIDDLE packets are as long as the path MTU, others not longer; both ends use the same (9.7.1, C9-93)") \
	X(OPCODE_SEQUENCE, "opcode-sequence", ERROR, "a message is FIRST, MIDDLEs, LAST of one operation, or ONLY (C9-88)") \
	X(LENGTH_MISMATCH, "length-mismatch", ERROR, "a WRITE carries, and a READ is answered with, as many bytes as its RETH says (9.7.4.1)") \
	X(READ_PSN, "read-psn", ERROR, "a READ takes as many PSNs as its answer takes packets; the next request has the one after (9.4.4)") \
	X(ACK_UNSENT, "ack-unsent", ERROR, "only what was sent can be acknowledged (9.7.5.1)") \
	X(RESPONSE_UNASKED, "response-unasked", ERROR, "the responses of READs and atomics answer such requests, PSN by PSN (9.7.5.1.2)") \
	X(CE_WITHOUT_CNP, "ce-without-cnp", WARNING, "who receives packets marked Congestion Experienced tells their sender by CNPs (A17.9.3)") \
	X(CNP_TOO_OFTEN, "cnp-too-often", WARNING, "one CNP in 50 us for each flow is what senders are tuned for (A17.9.3)") \
	X(STALL, "stall", WARNING, "a responder answers as soon as it can: the requester's timeout runs (9.7.6.1.3)") \
	X(GAVE_UP, "gave-up", ERROR, "after its retries a requester ends the connection in error (C9-140)") \
	X(UNANSWERED, "unanswered", NOTE, "what was sent last has no answer in the capture") \
	X(ONE_SIDED, "one-sided", NOTE, "with one direction alone, losses and answers cannot be told: capture where both pass") \
	X(CM_REJECTED, "cm-rejected", WARNING, "a REJ ends the attempt to connect, and names its reason (12.6.7)") \
	X(CM_REPEATED, "cm-repeated", NOTE, "a message of connection management without its answer is sent again (12.9.8)") \
	X(CM_UNANSWERED, "cm-unanswered", WARNING, "a REQ is answered by REP, REJ or MRA (12.9)") \
	X(TOO_MANY, "too-many-connections", NOTE, "further connections were counted and not looked at")
// clang-format on

#define UROCE_FINDING_ENUM(name, kind, grade, rule) UROCE_FINDING_##name,
enum uroce_finding_kind {
	UROCE_FINDING_KINDS(UROCE_FINDING_ENUM) UROCE_FINDING_COUNT
};
#undef UROCE_FINDING_ENUM

enum {
	UROCE_FINDING_FRAMES = 16,
	UROCE_FINDING_TEXT_BYTES = 240,
};

struct uroce_finding {
	enum uroce_finding_kind kind;
	uint32_t connection; /* its number; 0: none */
	uint64_t count;
	uint64_t cost_ns; /* of time during which nothing moved on because of it */
	uint64_t frames[UROCE_FINDING_FRAMES];
	uint32_t num_frames;
	char text[UROCE_FINDING_TEXT_BYTES]; /* the first of them */
};

struct uroce_findings {
	struct uroce_finding *list;
	uint32_t num;
	uint32_t max;
	bool out_of_memory; /* one could not be kept */
};

const char *uroce_finding_name(enum uroce_finding_kind kind);
const char *uroce_finding_rule(enum uroce_finding_kind kind);
enum uroce_grade uroce_finding_grade(enum uroce_finding_kind kind);
const char *uroce_grade_name(enum uroce_grade grade);
/* UROCE_FINDING_COUNT: no kind has this name. */
enum uroce_finding_kind uroce_finding_kind_of(const char *name);

/*
 * Counts one more of a kind on a connection; *index is where that pair's finding is, or 0 for a
 * first one, and is set. frame 0: none to name. The text is kept of the first one alone.
 */
struct uroce_finding *uroce_findings_add(struct uroce_findings *all, uint32_t *index,
	enum uroce_finding_kind kind, uint32_t connection, uint64_t frame, uint64_t cost_ns);
void uroce_finding_frame(struct uroce_finding *finding, uint64_t frame);
/* The finding at one index has what the other counted, and the other is no more. */
void uroce_findings_merge(struct uroce_findings *all, uint32_t into, uint32_t from);
/* Worst first: by grade, then by cost, then by count, then by frame. */
void uroce_findings_sort(struct uroce_findings *all);
void uroce_findings_fini(struct uroce_findings *all);

#endif
