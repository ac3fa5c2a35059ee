/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a receiver of an unreliable service must have got: nothing is answered that could be
 * compared, so it is memory and completions that are.
 */
#ifndef UROCE_PCAP_DELIVER_H
#define UROCE_PCAP_DELIVER_H

#include "pcap/exchange.h"

/* The message that is coming in, as the recorded packets have it. */
struct uroce_delivery {
	bool in_message;
	uint32_t psn_next;
	uint32_t offset; /* of the next byte in the message */
	uint32_t rkey;	 /* of a WRITE */
	uint64_t va;
	uint32_t completed; /* whole messages that took a receive */
};

/* Where the payload of a packet belongs. */
struct uroce_delivery_place {
	bool nowhere;	 /* part of a broken message: it must not count */
	bool in_receive; /* at offset of the receive; else at va under rkey */
	uint32_t offset;
	uint32_t rkey;
	uint64_t va;
};

/* The next packet that arrives. */
struct uroce_delivery_place uroce_delivery_take(
	struct uroce_delivery *d, const struct uroce_exchange_frame *f);

#endif
