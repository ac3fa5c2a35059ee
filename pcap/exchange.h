/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Exchanges: what one side asked and the other answered, found in a capture.
 *
 * The wire carries only the number of the queue pair that a packet goes to, so the two directions
 * of a connection are paired by evidence: an answer belongs to the requests whose PSNs it names. A
 * connection that is used both ways is two exchanges. UC and UD packets are requests that nobody
 * answers.
 */
#ifndef UROCE_PCAP_EXCHANGE_H
#define UROCE_PCAP_EXCHANGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/gid.h"
#include "pcap/text.h"

struct uroce_exchange_frame {
	uint64_t number;  /* in the file, from 1 */
	uint64_t time_ns; /* since the first frame of the file */
	uint8_t *data;
	uint32_t bytes;
	struct uroce_text_packet text;
	struct uroce_gid src, dst;
	uint32_t pkts;	 /* PSNs that a request takes */
	uint8_t service; /* of the opcode: 0 RC, 1 UC, 3 UD */
	uint8_t op;	 /* the opcode without its service */
	bool request;
	bool lost;	       /* on the wire behind the place where the capture was taken */
	bool repeated_by_wire; /* the same bytes again at once: nobody sent it twice */
	bool first_time;       /* a request whose PSN was not seen before */
	bool seen_icrc_ok;
	bool whole; /* neither cut by the snap length nor without an ICRC */
};

/* Requests of one side to one queue pair, and the answers to them; in order of time. */
struct uroce_exchange {
	struct uroce_gid requester, responder;
	uint32_t responder_qpn;
	uint32_t requester_qpn; /* 0: not known, as no answer was seen */
	uint8_t service;	/* of all of its packets: 0 RC, 1 UC, 3 UD */
	uint32_t psn_first;
	uint32_t psn_next; /* one past the newest PSN asked for */
	uint32_t mtu_bytes;
	bool incomplete; /* packets between these two are not whole in the capture */
	struct uroce_exchange_frame **frames;
	uint32_t num_frames;
	uint32_t max_frames;
};

struct uroce_exchanges {
	struct uroce_exchange_frame *frames;
	uint32_t num_frames;
	uint32_t max_frames;
	struct uroce_exchange *list;
	uint32_t num;
	uint32_t left_out; /* frames that are not RC, UC or UD, or not readable up to the BTH */
	uint32_t unpaired; /* answers to nothing that was captured */
};

/*
 * Reads a capture and finds its exchanges. err as in uroce_pcap_reader_open, and for damage in the
 * file: then -EBADMSG is returned and *out holds what could be read. Other errors: the reader's, or
 * -ENOMEM; then *out is empty. uroce_exchanges_fini in every case.
 */
int uroce_exchanges_init(
	struct uroce_exchanges *out, const char *path, char *err, size_t err_bytes);
void uroce_exchanges_fini(struct uroce_exchanges *exchanges);

/* Of an opcode without its service: whether its message ends with it. */
static inline bool uroce_exchange_ends(uint8_t op)
{
	return op != 0x00 && op != 0x01 && op != 0x06 && op != 0x07;
}

/* The VLAN tag of one side's frames; of the other's, if it sent none. 0: they have none. */
uint16_t uroce_exchange_tci(const struct uroce_exchange *e, bool requester);

/* The next frame of the same exchange at or after `from` that asks for this PSN; NULL if none. */
const struct uroce_exchange_frame *uroce_exchange_find_request(
	const struct uroce_exchange *e, uint32_t from, uint32_t psn);

/*
 * The first answer to PSN psn behind frame `from` and before the PSN is asked for again; NULL if
 * there is none: the request, or its answer, is not in the capture.
 */
const struct uroce_exchange_frame *uroce_exchange_find_answer(
	const struct uroce_exchange *e, uint32_t from, uint32_t psn);

#endif
