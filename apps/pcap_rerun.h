/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * uroce-pcap replay --faults: each exchange once more, over a network with faults.
 */
#ifndef UROCE_APPS_PCAP_RERUN_H
#define UROCE_APPS_PCAP_RERUN_H

#include <stdbool.h>

#include "pcap/exchange.h"
#include "pcap/rerun.h"

/* How many exchanges did not recover; negative: why it stopped. tap may be NULL. */
int rerun_all(const struct uroce_exchanges *all, const struct uroce_faults *faults, bool json,
	const struct uroce_replay_tap *tap);

#endif
