/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * uroce-pcap analyze: what is in a capture, and what is wrong in it.
 */
#ifndef UROCE_APPS_PCAP_ANALYZE_H
#define UROCE_APPS_PCAP_ANALYZE_H

/* Arguments behind "analyze"; returns the exit status. */
int run_analyze(int argc, char **argv);

#endif
