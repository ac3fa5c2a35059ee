/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Connection management in a capture: which two queue pairs it joins, and what it refuses.
 */
#ifndef UROCE_PCAP_CM_WATCH_H
#define UROCE_PCAP_CM_WATCH_H

#include "pcap/analysis.h"

/* A datagram to queue pair 1, of a message of connection management or not; c: its own connection.
 */
void uroce_cm_watch_take(
	struct uroce_analysis *a, struct uroce_connection *c, const struct uroce_packet *p);
void uroce_cm_watch_finish(struct uroce_analysis *a);
void uroce_cm_watch_fini(struct uroce_analysis *a);

#endif
