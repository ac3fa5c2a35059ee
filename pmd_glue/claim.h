/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Whose a port is: within a process by DPDK's own notion of port owners, between processes by a
 * name that only one can hold.
 */
#ifndef UROCE_GLUE_CLAIM_H
#define UROCE_GLUE_CLAIM_H

#include <stdint.h>

struct uroce_claim {
	uint16_t port_id;
	uint64_t owner; /* DPDK's number for us; 0: none */
	int fd;		/* holds the interface; -1: none */
};

/*
 * Takes the port for this endpoint, and the kernel's interface if_index behind it (0: there is
 * none). -EBUSY: another part of this process owns the port, or an endpoint of another process is
 * on the interface; others: what the kernel said. Each is logged; nothing is held then.
 */
int uroce_claim_take(struct uroce_claim *claim, uint16_t port_id, uint32_t if_index);
/* Gives it back; nothing if it was not taken. */
void uroce_claim_release(struct uroce_claim *claim);

/* One that holds nothing. */
#define UROCE_CLAIM_NONE ((struct uroce_claim){.fd = -1})

#endif
