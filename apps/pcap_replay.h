/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * uroce-pcap replay.
 */
#ifndef UROCE_APPS_PCAP_REPLAY_H
#define UROCE_APPS_PCAP_REPLAY_H

/* The subcommand; argv is what comes behind its name. Returns the exit status. */
int run_replay(int argc, char **argv);

#endif
