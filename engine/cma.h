/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The header of the RDMA-CM IP service (InfiniBand annex A11): the addresses and the port that a
 * program of rdma_cm asked for, in front of its private data in REQ and SIDR_REQ.
 *
 * Whether a message has one is told by its service id alone.
 */
#ifndef UROCE_CMA_H
#define UROCE_CMA_H

#include <stdbool.h>
#include <stdint.h>

#include "cm_status.h"
#include "gid.h"

enum {
	UROCE_CMA_BYTES = 36
};

struct uroce_cma {
	struct uroce_gid src, dst; /* both of IPv4, or both of IPv6 */
	uint16_t src_port;	   /* the other one is in the service id */
};

/* A service id of rdma_cm: a port space and a port. */
static inline bool uroce_cma_is_service(uint64_t service_id)
{
	uint64_t space = service_id >> 16;

	return space == UROCE_CM_PS_TCP || space == UROCE_CM_PS_UDP || space == UROCE_CM_PS_IB;
}

/* False: of another version, or neither of IPv4 nor of IPv6. */
bool uroce_cma_parse(const uint8_t bytes[UROCE_CMA_BYTES], struct uroce_cma *cma);
void uroce_cma_build(uint8_t bytes[UROCE_CMA_BYTES], const struct uroce_cma *cma);

#endif
