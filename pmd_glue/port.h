/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A DPDK port: set up for one endpoint, whatever its driver can and cannot do.
 */
#ifndef UROCE_GLUE_PORT_H
#define UROCE_GLUE_PORT_H

#include <stdbool.h>
#include <stdint.h>

#include "claim.h"
#include "spread.h"
#include "steer.h"

struct rte_mempool;

struct uroce_port_conf {
	uint16_t port_id;
	uint16_t num_workers;
	uint16_t num_queues; /* at most; 0: as many as the workers and the port allow */
	bool host_owned;     /* leave its set-up alone */
	bool promiscuous;
	uint16_t rx_descs;
	uint16_t tx_descs;
	uint32_t num_mbufs;
	uint16_t mtu_bytes; /* upper limit for the path MTU */
	bool ipv6;	    /* there must be room for its headers */
	bool vlan;	    /* and for a VLAN tag, which an IP MTU does not count */
	bool rx_interrupts; /* wanted, where the port can */
};

struct uroce_port {
	uint16_t id;
	bool is_ring;		/* its buffers go to another endpoint as they are */
	uint16_t num_rx_queues; /* queue i is worker i's; the others have none */
	uint16_t num_tx_queues;
	bool host_owned;
	bool started; /* by us */
	struct uroce_claim claim;
	struct uroce_spread spread;
	bool rx_checks_ipv4; /* the port verifies IPv4 header checksums */
	uint8_t mac[6];
	uint16_t active_mtu_bytes;
	uint16_t linux_mtu_bytes; /* by Linux's rule, for comparison */
	uint32_t ip_mtu_bytes;	  /* what the port carries; UINT32_MAX: no limit known */
	struct rte_mempool *pool;
	bool rx_interrupts;		  /* each queue has a descriptor that tells of frames: */
	int rx_events[UROCE_WORKERS_MAX]; /* an epoll(7) descriptor by queue, for rte_epoll_wait */
	bool takes_multicast;
	bool link_up;
	uint64_t link_seen_ns;
};

/*
 * Configures and starts the port (or looks at it, if the host owns it).
 * -ENODEV: no such port; -EBUSY: it is somebody else's, or running; -EMSGSIZE: no room for path MTU
 * 256; -ENOMEM: no memory for the pool; others: the driver's. Each is logged with what to do.
 */
int uroce_port_open(struct uroce_port *port, const struct uroce_port_conf *conf);
void uroce_port_close(struct uroce_port *port);

/* The worker whose queue takes what worker `id` sends: itself, if it has one. */
static inline uint16_t uroce_port_sender(const struct uroce_port *port, uint32_t id)
{
	return (uint16_t)(id % port->num_tx_queues);
}

/*
 * The largest path MTU (256 to 4096, at most limit) in an IP MTU; 0 if there is none. ipv6: with
 * its header of 40 bytes instead of 20.
 */
uint16_t uroce_port_active_mtu(uint32_t ip_mtu_bytes, uint16_t limit_bytes, bool ipv6);

/* Frames to multicast addresses are wanted from now on; a port that cannot choose takes all. */
void uroce_port_allow_multicast(struct uroce_port *port);

/* Whether the link changed since it was last looked at, ten times a second; *up: how. One thread.
 */
bool uroce_port_link_changed(struct uroce_port *port, uint64_t now_ns, bool *up);

#endif
