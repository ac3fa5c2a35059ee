/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Port set-up.
 *
 * What a driver says about frame sizes is often wrong in one direction or the other: memory rings
 * and memif claim 1518 and carry anything, af_packet claims to take what its ring slots or the
 * kernel's interface then lose. So the limit is taken from what really limits: the kernel's
 * MTU where the port is a kernel interface, the slot sizes of af_packet and memif, the driver's
 * answer to set_mtu, our own buffers. A limit lowers the path MTU; nothing is ever truncated.
 * Offloads are used where the port has them, and nothing depends on one.
 */
#include "port.h"

#include <errno.h>
#include <net/if.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <rte_dev.h>
#include <rte_devargs.h>
#include <rte_errno.h>
#include <rte_ether.h>
#include <rte_ethdev.h>
#include <rte_interrupts.h>
#include <rte_mbuf.h>

#include "log.h"
#include "wire.h"

enum {
	PATH_MTU_MAX = 4096,
	PATH_MTU_MIN = 256,
	LINUX_OVERHEAD_BYTES = 96,
	/* af_packet: the tpacket header and socket address that share a ring slot with the frame */
	AF_PACKET_HEADER_BYTES = 64,
	AF_PACKET_SLOT_BYTES_DEFAULT = 2048,
	MEMIF_SLOT_BYTES_DEFAULT = 2048,
	ROOM_BYTES = PATH_MTU_MAX + UROCE_OVERHEAD_BYTES_MAX + 64,
	ROOM_BYTES_MAX = 65535 - RTE_PKTMBUF_HEADROOM,
	POOL_CACHE = 256,
	BURST = 32,
	GIVE_BACK_TURNS = 4096,
};

#define LINK_LOOK_NS 100000000ull

static uint32_t ip_overhead_bytes(bool ipv6)
{
	return ipv6 ? UROCE_IPV6_OVERHEAD_BYTES_MAX : UROCE_IPV4_OVERHEAD_BYTES_MAX;
}

uint16_t uroce_port_active_mtu(uint32_t ip_mtu_bytes, uint16_t limit_bytes, bool ipv6)
{
	for (uint16_t mtu = PATH_MTU_MAX; mtu >= PATH_MTU_MIN; mtu /= 2)
		if (mtu <= limit_bytes && mtu + ip_overhead_bytes(ipv6) <= ip_mtu_bytes)
			return mtu;
	return 0;
}

static uint16_t linux_mtu(uint32_t ip_mtu_bytes)
{
	for (uint16_t mtu = PATH_MTU_MAX; mtu >= PATH_MTU_MIN; mtu /= 2)
		if (mtu + (uint32_t)LINUX_OVERHEAD_BYTES <= ip_mtu_bytes)
			return mtu;
	return 0;
}

/* ---- what limits a frame ---- */

static uint32_t min_u32(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

/* MTU of the kernel interface behind the port; UINT32_MAX if there is none. */
static uint32_t kernel_mtu(const struct rte_eth_dev_info *info)
{
	struct ifreq request = {0};
	uint32_t mtu = UINT32_MAX;
	int fd;

	if (info->if_index == 0 || !if_indextoname(info->if_index, request.ifr_name))
		return UINT32_MAX;
	fd = socket(AF_INET, SOCK_DGRAM, 0);
	if (fd < 0)
		return UINT32_MAX;
	if (ioctl(fd, SIOCGIFMTU, &request) == 0 && request.ifr_mtu > 0)
		mtu = (uint32_t)request.ifr_mtu;
	close(fd);
	return mtu;
}

static bool is_driver(const struct rte_eth_dev_info *info, const char *name)
{
	return info->driver_name && strcmp(info->driver_name, name) == 0;
}

/* A numeric argument that the port was made with, such as "framesz="; fallback if it has none. */
static uint32_t port_argument(
	const struct rte_eth_dev_info *info, const char *name, uint32_t fallback)
{
	const struct rte_devargs *devargs = info->device ? rte_dev_devargs(info->device) : NULL;
	const char *arg = devargs && devargs->args ? strstr(devargs->args, name) : NULL;

	return arg ? (uint32_t)strtoul(arg + strlen(name), NULL, 0) : fallback;
}

static uint32_t af_packet_slot_bytes(const struct rte_eth_dev_info *info)
{
	return port_argument(info, "framesz=", AF_PACKET_SLOT_BYTES_DEFAULT);
}

/*
 * What the driver itself says when asked for enough; many have no notion of it. An MTU is IP's, but
 * there are drivers that forget the tag when they make a frame's length of it: so it is asked for.
 */
static uint32_t driver_mtu(uint16_t port_id, uint32_t tag_bytes)
{
	const uint32_t enough = PATH_MTU_MAX + UROCE_IPV6_OVERHEAD_BYTES_MAX;
	uint16_t mtu;
	int err = rte_eth_dev_set_mtu(port_id, (uint16_t)(enough + tag_bytes));

	if (err == 0)
		return enough;
	if (err == -ENOTSUP || rte_eth_dev_get_mtu(port_id, &mtu) != 0)
		return UINT32_MAX;
	return mtu;
}

static uint32_t probe_ip_mtu(const struct uroce_port *port, const struct uroce_port_conf *conf,
	const struct rte_eth_dev_info *info)
{
	uint32_t tag_bytes = conf->vlan ? UROCE_VLAN_BYTES : 0;
	uint32_t limit = kernel_mtu(info);
	uint16_t mtu;

	if (port->host_owned) {
		if (rte_eth_dev_get_mtu(port->id, &mtu) == 0)
			limit = min_u32(limit, mtu);
	} else if (limit == UINT32_MAX) {
		/* Not of a port on a kernel interface: that would change the interface. */
		limit = driver_mtu(port->id, tag_bytes);
	}
	if (is_driver(info, "net_af_packet"))
		limit = min_u32(limit,
			af_packet_slot_bytes(info) - AF_PACKET_HEADER_BYTES - UROCE_ETH_BYTES -
				tag_bytes);
	/*
	 * memif cuts longer frames over several slots, but when its ring is nearly full the driver
	 * (22.11) runs one slot past what is free, over a frame that the peer has not read yet.
	 */
	if (is_driver(info, "net_memif"))
		limit = min_u32(limit,
			port_argument(info, "bsize=", MEMIF_SLOT_BYTES_DEFAULT) - UROCE_ETH_BYTES -
				tag_bytes);
	return limit;
}

static int choose_mtu(struct uroce_port *port, const struct uroce_port_conf *conf,
	const struct rte_eth_dev_info *info)
{
	port->ip_mtu_bytes = probe_ip_mtu(port, conf, info);
	port->active_mtu_bytes =
		uroce_port_active_mtu(port->ip_mtu_bytes, conf->mtu_bytes, conf->ipv6);
	port->linux_mtu_bytes = linux_mtu(port->ip_mtu_bytes);
	if (port->active_mtu_bytes > 0)
		return 0;
	UROCE_LOG(ERR,
		"port %u carries IP packets of %u bytes; RoCE needs %u at least. "
		"Raise the MTU of the interface.\n",
		port->id, port->ip_mtu_bytes, PATH_MTU_MIN + ip_overhead_bytes(conf->ipv6));
	return -EMSGSIZE;
}

/* ---- set-up ---- */

static _Atomic unsigned int pools; /* made so far: their names differ */

/* Buffers: our own frames in one piece, and whatever a driver wants to copy into one. */
static int create_pool(struct uroce_port *port, const struct uroce_port_conf *conf,
	const struct rte_eth_dev_info *info)
{
	uint32_t room = ROOM_BYTES;
	char name[RTE_MEMPOOL_NAMESIZE];

	if (is_driver(info, "net_af_packet") && af_packet_slot_bytes(info) > room)
		room = min_u32(af_packet_slot_bytes(info), ROOM_BYTES_MAX);
	port->is_ring = is_driver(info, "net_ring");
	/* The pool of an endpoint before may still be in use at the other end of a ring. */
	snprintf(name, sizeof(name), "uroce_%u_%u", port->id, atomic_fetch_add(&pools, 1));
	port->pool = rte_pktmbuf_pool_create(name, conf->num_mbufs, POOL_CACHE, 0,
		(uint16_t)(RTE_PKTMBUF_HEADROOM + room), SOCKET_ID_ANY);
	if (port->pool)
		return 0;
	UROCE_LOG(ERR,
		"port %u: no memory for %u buffers of %u bytes: %s. Ask for fewer "
		"(num_mbufs), or give EAL more memory (-m, or hugepages).\n",
		port->id, conf->num_mbufs, room, rte_strerror(rte_errno));
	return -ENOMEM;
}

static int set_up_queues(struct uroce_port *port, const struct uroce_port_conf *conf)
{
	uint16_t rx = conf->rx_descs, tx = conf->tx_descs;
	int err = rte_eth_dev_adjust_nb_rx_tx_desc(port->id, &rx, &tx);

	for (uint16_t q = 0; !err && q < port->num_rx_queues; q++)
		err = rte_eth_rx_queue_setup(port->id, q, rx, SOCKET_ID_ANY, NULL, port->pool);
	for (uint16_t q = 0; !err && q < port->num_tx_queues; q++)
		err = rte_eth_tx_queue_setup(port->id, q, tx, SOCKET_ID_ANY, NULL);
	return err;
}

/*
 * A queue for each worker, where there are so many. Both ends of memif need the same number, and
 * the driver (22.11) does not look: of queues that the other end does not have it takes the first
 * one's memory, so there it is one unless somebody who knows both ends says otherwise.
 */
static void choose_queues(struct uroce_port *port, const struct uroce_port_conf *conf,
	const struct rte_eth_dev_info *info)
{
	uint32_t want = conf->num_workers;

	if (conf->num_queues > 0)
		want = min_u32(want, conf->num_queues);
	else if (is_driver(info, "net_memif"))
		want = 1;
	/* Of a port that has none the driver shall say so. */
	port->num_rx_queues =
		info->max_rx_queues ? (uint16_t)min_u32(want, info->max_rx_queues) : 1;
	port->num_tx_queues =
		info->max_tx_queues ? (uint16_t)min_u32(want, info->max_tx_queues) : 1;
}

static int configure(struct uroce_port *port, const struct uroce_port_conf *conf,
	const struct rte_eth_dev_info *info)
{
	struct rte_eth_conf eth_conf = {0};
	int err;

	choose_queues(port, conf, info);
	uroce_spread_ask(&port->spread, &eth_conf, info, port->num_rx_queues);
	if (info->rx_offload_capa & RTE_ETH_RX_OFFLOAD_IPV4_CKSUM) {
		eth_conf.rxmode.offloads |= RTE_ETH_RX_OFFLOAD_IPV4_CKSUM;
		port->rx_checks_ipv4 = true;
	}
	/* Then tagged frames look like others; where the port cannot, the tag is in the frame. */
	if (conf->vlan && (info->rx_offload_capa & RTE_ETH_RX_OFFLOAD_VLAN_STRIP))
		eth_conf.rxmode.offloads |= RTE_ETH_RX_OFFLOAD_VLAN_STRIP;
	/* Buffers sent are ours, whole and unshared, so the port may recycle them the short way. */
	if (info->tx_offload_capa & RTE_ETH_TX_OFFLOAD_MBUF_FAST_FREE)
		eth_conf.txmode.offloads |= RTE_ETH_TX_OFFLOAD_MBUF_FAST_FREE;
	eth_conf.intr_conf.rxq = conf->rx_interrupts;
	err = rte_eth_dev_configure(port->id, port->num_rx_queues, port->num_tx_queues, &eth_conf);
	if (err == -EBUSY)
		UROCE_LOG(ERR,
			"port %u is running: somebody in this process has started it. Stop it, "
			"or open the device with host_owns_port\n",
			port->id);
	return err;
}

/* ---- interrupts ---- */

/* Reading a driver's descriptor is the EAL's business: some are emptied, some must not be. */
static bool open_rx_events(struct uroce_port *port, uint16_t queue)
{
	int fd = epoll_create1(EPOLL_CLOEXEC);

	port->rx_events[queue] = fd;
	return fd >= 0 &&
		rte_eth_dev_rx_intr_ctl_q(port->id, queue, fd, RTE_INTR_EVENT_ADD, NULL) == 0 &&
		rte_eth_dev_rx_intr_disable(port->id, queue) == 0;
}

static void close_rx_events(struct uroce_port *port)
{
	for (uint16_t q = 0; q < port->num_rx_queues; q++) {
		if (port->rx_events[q] < 0)
			continue;
		rte_eth_dev_rx_intr_ctl_q(
			port->id, q, port->rx_events[q], RTE_INTR_EVENT_DEL, NULL);
		close(port->rx_events[q]);
		port->rx_events[q] = -1;
	}
}

/* Not all drivers that take the wish for interrupts have them. */
static bool set_up_rx_events(struct uroce_port *port)
{
	for (uint16_t q = 0; q < port->num_rx_queues; q++)
		if (!open_rx_events(port, q)) {
			close_rx_events(port);
			return false;
		}
	return true;
}

static bool link_is_up(uint16_t port_id)
{
	struct rte_eth_link link;

	return rte_eth_link_get_nowait(port_id, &link) == 0 && link.link_status == RTE_ETH_LINK_UP;
}

static int start(struct uroce_port *port, const struct uroce_port_conf *conf,
	const struct rte_eth_dev_info *info)
{
	int err = uroce_claim_take(&port->claim, port->id, info->if_index);

	if (!err)
		err = configure(port, conf, info);
	if (!err)
		err = choose_mtu(port, conf, info);
	if (!err)
		err = create_pool(port, conf, info);
	if (!err)
		err = set_up_queues(port, conf);
	if (!err)
		err = rte_eth_dev_start(port->id);
	if (!err) {
		port->started = true;
		uroce_spread_start(&port->spread, port->id, conf->num_workers, port->num_rx_queues,
			conf->ipv6);
		port->rx_interrupts = conf->rx_interrupts && set_up_rx_events(port);
		port->link_up = link_is_up(port->id);
	}
	/* A port that cannot be promiscuous still hears its own address. */
	if (!err && conf->promiscuous && rte_eth_promiscuous_enable(port->id) != 0)
		UROCE_LOG(WARNING, "port %u cannot be promiscuous\n", port->id);
	return err;
}

/* Memory rings have no address; frames need one. */
static void provide_mac(struct rte_ether_addr *mac)
{
	if (rte_is_zero_ether_addr(mac))
		rte_eth_random_addr(mac->addr_bytes);
}

int uroce_port_open(struct uroce_port *port, const struct uroce_port_conf *conf)
{
	struct rte_eth_dev_info info;
	struct rte_ether_addr mac;
	int err;

	memset(port, 0, sizeof(*port));
	port->id = conf->port_id;
	port->host_owned = conf->host_owned;
	port->claim = UROCE_CLAIM_NONE;
	/* The host hands what comes to any queue of its to any worker. */
	port->num_rx_queues = port->num_tx_queues = conf->num_workers;
	for (int q = 0; q < UROCE_WORKERS_MAX; q++)
		port->rx_events[q] = -1;
	if (!rte_eth_dev_is_valid_port(conf->port_id) ||
		rte_eth_dev_info_get(conf->port_id, &info) != 0) {
		UROCE_LOG(ERR, "there is no port %u; EAL found %u. Name one with --vdev or -a.\n",
			conf->port_id, rte_eth_dev_count_total());
		return -ENODEV;
	}
	err = conf->host_owned ? choose_mtu(port, conf, &info) : start(port, conf, &info);
	if (!err && conf->host_owned)
		err = create_pool(port, conf, &info);
	if (!err)
		err = rte_eth_macaddr_get(port->id, &mac);
	if (err) {
		UROCE_LOG(ERR, "port %u (%s) could not be set up: %s\n", port->id, info.driver_name,
			rte_strerror(-err));
		uroce_port_close(port);
		return err;
	}
	provide_mac(&mac);
	memcpy(port->mac, mac.addr_bytes, sizeof(port->mac));
	UROCE_LOG(INFO, "port %u (%s): path MTU %u\n", port->id, info.driver_name,
		port->active_mtu_bytes);
	if (!port->host_owned && conf->num_workers > 1)
		UROCE_LOG(INFO,
			"port %u: %u workers, %u queues to receive and %u to send; frames come to "
			"%s\n",
			port->id, conf->num_workers, port->num_rx_queues, port->num_tx_queues,
			uroce_spread_text(&port->spread, port->num_rx_queues));
	return 0;
}

void uroce_port_allow_multicast(struct uroce_port *port)
{
	if (port->host_owned || port->takes_multicast)
		return;
	port->takes_multicast = true;
	if (rte_eth_allmulticast_enable(port->id) != 0)
		UROCE_LOG(DEBUG, "port %u cannot choose multicast frames\n", port->id);
}

bool uroce_port_link_changed(struct uroce_port *port, uint64_t now_ns, bool *up)
{
	if (port->host_owned || now_ns - port->link_seen_ns < LINK_LOOK_NS)
		return false;
	port->link_seen_ns = now_ns;
	*up = link_is_up(port->id);
	if (*up == port->link_up)
		return false;
	port->link_up = *up;
	return true;
}

/* What waits in a ring is another endpoint's buffers. */
static void give_back(const struct uroce_port *port)
{
	struct rte_mbuf *burst[BURST];
	uint16_t n;

	for (uint16_t q = 0; q < port->num_rx_queues; q++)
		for (uint32_t turn = 0; turn < GIVE_BACK_TURNS; turn++) {
			n = rte_eth_rx_burst(port->id, q, burst, BURST);
			if (n == 0)
				break;
			rte_pktmbuf_free_bulk(burst, n);
		}
}

/*
 * Other drivers free what they hold, or nobody looks at it any more. A ring hands the buffers
 * themselves to its other end, which may look at them for as long as it likes.
 */
static void free_pool(struct uroce_port *port)
{
	if (port->is_ring && port->pool && !rte_mempool_full(port->pool))
		UROCE_LOG(INFO, "port %u: %u buffers are still in its ring; their memory is kept\n",
			port->id, rte_mempool_in_use_count(port->pool));
	else
		rte_mempool_free(port->pool);
	port->pool = NULL;
}

void uroce_port_close(struct uroce_port *port)
{
	close_rx_events(port);
	if (port->started && port->is_ring)
		give_back(port);
	uroce_spread_stop(&port->spread);
	if (port->started)
		rte_eth_dev_stop(port->id);
	port->started = false;
	uroce_claim_release(&port->claim);
	free_pool(port);
}
