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

#include "gid.h"

struct uroce_qp;

struct uroce_path {
	struct uroce_gid src, dst; /* both of IPv4, or both of IPv6 */
	uint32_t flow_label;	   /* 20 bits; 0: none */
	uint16_t tci;		   /* the VLAN tag of what is sent; 0: none */
	uint16_t vlan;		   /* that the other end's frames come by; 0: none */
	uint8_t smac[6];
	uint8_t dmac[6];
	uint8_t tos;		/* or traffic class */
	uint8_t ttl;		/* or hop limit */
	bool resolved;		/* dmac is known */
	struct uroce_qp *users; /* queue pairs that send on it; the core's list */
};

#endif
