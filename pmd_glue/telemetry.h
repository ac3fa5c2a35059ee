/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Telemetry: /uroce/... for dpdk-telemetry.py.
 */
#ifndef UROCE_GLUE_TELEMETRY_H
#define UROCE_GLUE_TELEMETRY_H

#include <pthread.h>
#include <stdint.h>

#include "core.h"
#include "poller.h"

/*
 * What telemetry may look at of a device. The lock keeps queue pairs from being destroyed
 * meanwhile; what the workers write is read with relaxed loads.
 */
struct uroce_telemetry_device {
	const struct uroce_port *port; /* NULL: the device is not on a port */
	pthread_mutex_t *lock;
	const struct uroce_qptable *qptable;
	const struct uroce_core *cores[UROCE_WORKERS_MAX];
	const struct uroce_poller *pollers[UROCE_WORKERS_MAX]; /* entries may be NULL */
	uint32_t num_cores;
	struct uroce_neigh *neigh; /* NULL: none is asked for */
	struct uroce_telemetry_device *next;
};

/* Shows a device until it is removed; the struct stays the caller's. */
void uroce_telemetry_add(struct uroce_telemetry_device *device);
void uroce_telemetry_remove(struct uroce_telemetry_device *device);
/* Whether a device that is shown is on this port. */
bool uroce_telemetry_has_port(uint16_t port_id);

#endif
