/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Paths: from one address of ours to one of a peer's, shared by the queue pairs that use it.
 *
 * The shell owns the memory and learns the MAC; the core rebuilds header templates when told. On
 * a path without a MAC its queue pairs do not send and their retry timers do not run; they wait
 * for it, but not for ever.
 */
#ifndef UROCE_PATH_H
#define UROCE_PATH_H

#include <stdbool.h>
#include <stdint.h>

struct uroce_qp;

struct uroce_path {
	uint32_t src_ip; /* IPv4, host order */
	uint32_t dst_ip;
	uint8_t smac[6];
	uint8_t dmac[6];
	uint8_t tos;
	uint8_t ttl;
	bool resolved;		/* dmac is known */
	struct uroce_qp *users; /* queue pairs that send on it; the core's list */
};

#endif
