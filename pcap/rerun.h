/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A recorded exchange once more, with the engine at both ends and a network with faults between.
 *
 * The recorded requester's work requests are posted at their times; everything that happens then is
 * the engine's. It has recovered if every work request completes and the memories of both ends are
 * in the end what they are without the faults. So a capture tells what uroce would have done with
 * this traffic on a worse network.
 */
#ifndef UROCE_PCAP_RERUN_H
#define UROCE_PCAP_RERUN_H

#include "pcap/analysis.h"
#include "pcap/exchange.h"
#include "pcap/fault.h"
#include "pcap/replay.h"

struct uroce_rerun_result {
	const char *skipped; /* why it cannot be done; NULL: it was */
	bool recovered;
	uint32_t requests, answers; /* packets sent by each end */
	uint32_t faults;	    /* that befell a packet */
	uint64_t took_ns, took_without_ns;
	char words[160]; /* why it did not recover */
};

/*
 * connection: its number in faults. analysis, if not NULL, is given every packet as it is sent, and
 * tap too. Returns 0 with *result filled, or -ENOMEM.
 */
int uroce_rerun(const struct uroce_exchange *e, uint32_t connection,
	const struct uroce_faults *faults, const struct uroce_replay_tap *tap,
	struct uroce_analysis *analysis, struct uroce_rerun_result *result);

#endif
