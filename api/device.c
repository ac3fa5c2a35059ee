/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Devices: opening, closing, asking.
 *
 * Everything that a device will ever need is allocated here, so that the data path never has to.
 */
#include "conn.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "dcqcn.h"
#include "eal.h"
#include "log.h"

enum {
	QPS_DEFAULT = 1024,
	MRS_DEFAULT = 1024,
	DESCS_DEFAULT = 1024,
	MBUFS_DEFAULT = 8192,
	MBUFS_DEFAULT_PER_WORKER = 2048,
	MTU_DEFAULT = 4096,
	AHS_DEFAULT = 1024,
	AHS_MAX = 1 << 20,
	QPS_MAX = 1 << 20,
	MRS_MAX = 1 << 22,
	KERNEL_MTU_MAX = 1500, /* Ethernet's: that a port carries more says nothing of its link */
};

int uroce_eal_init_embedded(unsigned int num_ports)
{
	return uroce_glue_eal_init(num_ports);
}

/* ---- opening ---- */

/* Two per queue pair, as far as numbers reach. */
static uint32_t default_conns(const struct uroce_device_conf *conf)
{
	uint64_t conns = 2ull * conf->max_qps * conf->num_workers;

	return conns < UROCE_CM_IDS_MAX ? (uint32_t)conns : (uint32_t)UROCE_CM_IDS_MAX;
}

static int take_conf(struct uroce_device *dev, const struct uroce_device_conf *conf)
{
	struct uroce_device_conf *c = &dev->conf;

	*c = *conf;
	if (!conf->addr || uroce_addr_parse_list(dev, conf->addr) != 0) {
		UROCE_LOG(ERR,
			"\"%s\" is not an address like 192.0.2.1/24, 2001:db8::1/64 or, of VLAN "
			"100, 192.0.2.1/24#100, nor at most 8 different ones parted by commas\n",
			conf->addr ? conf->addr : "(none)");
		return -EINVAL;
	}
	if (c->exception_path && c->host_owns_port) {
		UROCE_LOG(ERR,
			"an exception path is for a port that uroce owns: what is not RoCE "
			"goes to the host as it is\n");
		return -EINVAL;
	}
	c->addr = NULL; /* the caller's */
	c->num_workers = c->num_workers ? c->num_workers : 1;
	c->max_qps = c->max_qps ? c->max_qps : QPS_DEFAULT;
	c->max_mrs = c->max_mrs ? c->max_mrs : MRS_DEFAULT;
	c->rx_descs = c->rx_descs ? c->rx_descs : DESCS_DEFAULT;
	c->tx_descs = c->tx_descs ? c->tx_descs : DESCS_DEFAULT;
	c->num_mbufs = c->num_mbufs
		? c->num_mbufs
		: MBUFS_DEFAULT + MBUFS_DEFAULT_PER_WORKER * (c->num_workers - 1u);
	c->mtu_bytes = c->mtu_bytes ? c->mtu_bytes : MTU_DEFAULT;
	c->max_ahs = c->max_ahs ? c->max_ahs : AHS_DEFAULT;
	uroce_dcqcn_conf_complete(&c->dcqcn);
	if (c->max_conns == 0)
		c->max_conns = default_conns(c);
	if (c->num_workers > UROCE_WORKERS_MAX || c->max_qps > QPS_MAX || c->max_mrs > MRS_MAX ||
		c->max_ahs > AHS_MAX || uroce_conn_conf_check(c) != 0 ||
		c->icrc_mode > UROCE_ICRC_OFF)
		return -EINVAL;
	return uroce_dcqcn_conf_check(&c->dcqcn);
}

static int allocate_tables(struct uroce_device *dev)
{
	/* Half empty, so that a free slot is found at once. */
	uint32_t mrs = uroce_ring_round_up(2 * dev->conf.max_mrs);
	uint32_t qps = uroce_ring_round_up(2 * dev->conf.max_qps * dev->conf.num_workers);
	uint32_t log2 = (uint32_t)__builtin_ctz(qps);

	dev->mr_slots = uroce_allocate(mrs * sizeof(*dev->mr_slots));
	dev->qp_slots = uroce_allocate(qps * sizeof(*dev->qp_slots));
	dev->workers = uroce_allocate(dev->conf.num_workers * sizeof(*dev->workers));
	dev->num_ah_slots = uroce_ring_round_up(dev->conf.max_ahs + UROCE_GSI_PATHS);
	dev->ah_numbers = calloc(dev->conf.max_ahs, sizeof(*dev->ah_numbers));
	/* First: whatever fails from here on, these are closed unless they say that they are not.
	 */
	for (unsigned int i = 0; dev->workers && i < dev->conf.num_workers; i++)
		dev->workers[i].wake_fd = -1;
	if (!dev->mr_slots || !dev->qp_slots || !dev->workers || !dev->ah_numbers)
		return -ENOMEM;
	uroce_mr_table_init(&dev->mrs, dev->mr_slots, mrs);
	uroce_qptable_init(&dev->qptable, dev->qp_slots, log2, (uint32_t)uroce_random64());
	uroce_qptable_mark_owners(&dev->qptable, dev->conf.num_workers);
	return 0;
}

static void free_device(struct uroce_device *dev)
{
	for (unsigned int i = 0; dev->workers && i < dev->conf.num_workers; i++)
		uroce_worker_fini(&dev->workers[i]);
	uroce_ah_free_lost(dev);
	uroce_neigh_fini(&dev->neigh);
	uroce_channel_fini(&dev->own_channel);
	free(dev->ah_numbers);
	pthread_mutex_destroy(&dev->manager_lock);
	pthread_mutex_destroy(&dev->groups_lock);
	pthread_mutex_destroy(&dev->lock);
	free(dev->workers);
	free(dev->qp_slots);
	free(dev->mr_slots);
	free(dev);
}

/* The MAC is known. */
static void start_neigh(struct uroce_device *dev)
{
	uroce_neigh_start(&dev->neigh, dev->mac);
	for (uint32_t i = 0; i < dev->num_addrs; i++)
		uroce_neigh_add_own(&dev->neigh, dev->addrs[i].gid, dev->addrs[i].tci);
}

/* A device with tables and nothing that moves frames yet. */
static int create(const struct uroce_device_conf *conf, struct uroce_device **out)
{
	struct uroce_device *dev = uroce_allocate(sizeof(*dev));
	int err;

	if (!dev)
		return -ENOMEM;
	pthread_mutex_init(&dev->lock, NULL);
	pthread_mutex_init(&dev->groups_lock, NULL);
	pthread_mutex_init(&dev->manager_lock, NULL);
	uroce_channel_init(&dev->own_channel, dev, -1);
	dev->exception.fd = -1;
	err = take_conf(dev, conf);
	uroce_neigh_init(&dev->neigh);
	if (!err)
		err = allocate_tables(dev);
	if (err) {
		free_device(dev);
		return err;
	}
	*out = dev;
	return 0;
}

/* The workers, once MAC and MTU are known. */
static int start_workers(struct uroce_device *dev)
{
	uroce_addr_make_link_locals(dev);
	dev->num_workers = dev->conf.num_workers;
	for (unsigned int i = 0; i < dev->num_workers; i++) {
		int err = uroce_worker_init(&dev->workers[i], dev, i);

		if (err)
			return err;
		dev->telemetry.cores[i] = &dev->workers[i].core;
	}
	dev->telemetry.lock = &dev->lock;
	dev->telemetry.qptable = &dev->qptable;
	dev->telemetry.num_cores = dev->num_workers;
	return 0;
}

static bool has_ipv6(const struct uroce_device *dev)
{
	for (uint32_t i = 0; i < dev->num_addrs; i++)
		if (!uroce_gid_is_ipv4(dev->addrs[i].gid))
			return true;
	return false;
}

static bool has_vlan(const struct uroce_device *dev)
{
	for (uint32_t i = 0; i < dev->num_addrs; i++)
		if (dev->addrs[i].tci)
			return true;
	return false;
}

static void wake_worker(void *dev, uint32_t id)
{
	uroce_worker_wake_sleeper(&((struct uroce_device *)dev)->workers[id]);
}

/* Ways for frames: from any worker to any, and from those without a queue to those with one. */
static int connect_workers(struct uroce_device *dev)
{
	uint32_t num = dev->conf.num_workers;
	void (*wake)(void *, uint32_t) = dev->conf.idle_sleep_us > 0 ? wake_worker : NULL;
	int err;

	uroce_steer_init(&dev->in, num, wake, dev);
	uroce_steer_init(&dev->out, num, wake, dev);
	err = uroce_steer_connect_all(&dev->in);
	for (uint32_t i = dev->port.num_tx_queues; !err && i < num; i++)
		err = uroce_steer_connect(&dev->out, i, uroce_port_sender(&dev->port, i));
	return err;
}

static void disconnect_workers(struct uroce_device *dev)
{
	uroce_steer_fini(&dev->in);
	uroce_steer_fini(&dev->out);
}

static int open_port(struct uroce_device *dev)
{
	const struct uroce_device_conf *c = &dev->conf;
	struct uroce_port_conf port_conf = {.port_id = c->port_id,
		.num_workers = c->num_workers,
		.num_queues = c->num_queues,
		.host_owned = c->host_owns_port,
		.promiscuous = c->promiscuous,
		.rx_descs = c->rx_descs,
		.tx_descs = c->tx_descs,
		.num_mbufs = c->num_mbufs,
		.mtu_bytes = c->mtu_bytes,
		.ipv6 = has_ipv6(dev),
		.vlan = has_vlan(dev),
		.rx_interrupts = c->idle_sleep_us > 0};
	int err = uroce_port_open(&dev->port, &port_conf);

	if (err)
		return err;
	dev->has_port = true;
	memcpy(dev->mac, dev->port.mac, sizeof(dev->mac));
	dev->active_mtu_bytes = dev->port.active_mtu_bytes;
	return connect_workers(dev);
}

/* The kernel's interface behind the port, if one was asked for. */
static int open_exception(struct uroce_device *dev)
{
	const char *name = dev->conf.exception_path;
	uint32_t mtu_bytes = dev->port.ip_mtu_bytes;

	dev->conf.exception_path = NULL; /* the caller's */
	if (!name)
		return 0;
	/* Frames to groups are the kernel's business too. */
	uroce_port_allow_multicast(&dev->port);
	if (mtu_bytes > KERNEL_MTU_MAX)
		mtu_bytes = KERNEL_MTU_MAX;
	return uroce_exception_open(&dev->exception, name, dev->mac, mtu_bytes);
}

static void attach_pollers(struct uroce_device *dev)
{
	for (unsigned int i = 0; i < dev->num_workers; i++) {
		struct uroce_worker *worker = &dev->workers[i];

		uroce_poller_init(&worker->poller,
			&(struct uroce_poller_conf){.id = i,
				.port = &dev->port,
				.in = &dev->in,
				.out = &dev->out,
				.neigh = dev->resolves ? &dev->neigh : NULL,
				.exception = dev->exception.fd >= 0 ? &dev->exception : NULL});
		worker->ops = &uroce_poller_link;
		worker->link = &worker->poller;
		dev->telemetry.pollers[i] = &worker->poller;
	}
	dev->telemetry.port = &dev->port;
	dev->telemetry.neigh = &dev->neigh;
}

int uroce_device_open(const struct uroce_device_conf *conf, struct uroce_device **out)
{
	struct uroce_device *dev;
	int err;

	if (!uroce_glue_eal_is_ready()) {
		UROCE_LOG(ERR,
			"EAL is not initialised: call rte_eal_init, or "
			"uroce_eal_init_embedded, before opening a device\n");
		return -ENODEV;
	}
	if (uroce_glue_eal_is_secondary()) {
		UROCE_LOG(ERR,
			"this is a secondary process: ports and memory are the primary's, and "
			"endpoints on them too. Start EAL as a primary, with ports and a "
			"--file-prefix of its own\n");
		return -EPERM;
	}
	if (uroce_telemetry_has_port(conf->port_id)) {
		UROCE_LOG(ERR, "port %u has an endpoint already\n", conf->port_id);
		return -EBUSY;
	}
	err = create(conf, &dev);
	if (err)
		return err;
	err = open_port(dev);
	if (!err)
		err = open_exception(dev);
	if (!err)
		err = start_workers(dev);
	if (err) {
		uroce_exception_close(&dev->exception);
		disconnect_workers(dev);
		if (dev->has_port)
			uroce_port_close(&dev->port);
		free_device(dev);
		return err;
	}
	dev->resolves = !dev->conf.host_owns_port || dev->conf.neighbours;
	start_neigh(dev);
	/* Who asks for an IPv6 address asks a group. */
	if (dev->resolves && has_ipv6(dev))
		uroce_port_allow_multicast(&dev->port);
	attach_pollers(dev);
	uroce_telemetry_add(&dev->telemetry);
	*out = dev;
	return 0;
}

int uroce_device_open_link(const struct uroce_device_conf *conf, const uint8_t mac[6],
	uint16_t active_mtu_bytes, const struct uroce_link_ops *ops, void **links,
	struct uroce_device **out)
{
	struct uroce_device *dev;
	int err = create(conf, &dev);

	if (err)
		return err;
	memcpy(dev->mac, mac, sizeof(dev->mac));
	dev->active_mtu_bytes = active_mtu_bytes;
	err = start_workers(dev);
	if (err) {
		free_device(dev);
		return err;
	}
	start_neigh(dev);
	for (unsigned int i = 0; i < dev->num_workers; i++) {
		dev->workers[i].ops = ops;
		dev->workers[i].link = links[i];
	}
	*out = dev;
	return 0;
}

int uroce_device_close(struct uroce_device *dev)
{
	/* The connection manager has one of each itself. */
	uint32_t own = atomic_load(&dev->workers[0].manager) ? 1 : 0;
	bool busy;

	pthread_mutex_lock(&dev->lock);
	busy = dev->num_pds > own || dev->num_cqs > own || dev->num_qps > own ||
		dev->num_channels || dev->num_conn_channels;
	pthread_mutex_unlock(&dev->lock);
	if (busy)
		return -EBUSY;
	for (unsigned int i = 0; i < dev->num_workers; i++) {
		uroce_worker_stop(&dev->workers[i]);
		uroce_worker_retire(&dev->workers[i]);
	}
	uroce_conn_manager_fini(dev);
	if (dev->has_port) {
		uroce_telemetry_remove(&dev->telemetry);
		for (unsigned int i = 0; i < dev->num_workers; i++)
			uroce_poller_fini(&dev->workers[i].poller);
		disconnect_workers(dev);
		uroce_exception_close(&dev->exception);
		uroce_port_close(&dev->port);
	}
	free_device(dev);
	return 0;
}

/* ---- asking ---- */

void uroce_device_query(const struct uroce_device *dev, struct uroce_device_attr *attr)
{
	memset(attr, 0, sizeof(*attr));
	uroce_gid_store(attr->gid, dev->addrs[0].gid);
	attr->num_gids = (uint16_t)dev->num_addrs;
	memcpy(attr->mac, dev->mac, sizeof(attr->mac));
	attr->active_mtu_bytes = dev->active_mtu_bytes;
	attr->linux_mtu_bytes = dev->has_port ? dev->port.linux_mtu_bytes : dev->active_mtu_bytes;
	attr->num_workers = dev->conf.num_workers;
	if (dev->has_port && !dev->conf.host_owns_port)
		attr->num_queues = dev->port.num_rx_queues;
	attr->max_qps = dev->conf.max_qps;
	attr->max_mrs = dev->conf.max_mrs;
	attr->max_send_wr = attr->max_recv_wr = UROCE_WR_MAX;
	attr->max_sge = UROCE_SGE_MAX;
	attr->max_inline_bytes = UROCE_INLINE_BYTES_MAX;
	attr->max_rd_atomic = UROCE_RD_ATOMIC_MAX;
	attr->max_srq_wr = UROCE_WR_MAX;
	attr->max_cqes = UROCE_CQ_CAPACITY_MAX;
	attr->max_ahs = dev->conf.max_ahs;
	attr->max_groups = UROCE_LOCAL_GROUPS_MAX;
	attr->rx_interrupts = dev->has_port && dev->port.rx_interrupts;
	attr->icrc_mode = dev->conf.icrc_mode;
	attr->promiscuous = dev->conf.promiscuous;
	attr->host_owns_port = dev->conf.host_owns_port;
	attr->neighbours = dev->resolves;
	memcpy(attr->exception_path, dev->exception.name, sizeof(attr->exception_path));
	attr->rx_descs = dev->conf.rx_descs;
	attr->tx_descs = dev->conf.tx_descs;
	attr->num_mbufs = dev->conf.num_mbufs;
	attr->idle_sleep_us = dev->conf.idle_sleep_us;
	attr->dcqcn = dev->conf.dcqcn;
}

int uroce_device_gid(const struct uroce_device *dev, unsigned int i, uint8_t gid[16])
{
	if (i >= dev->num_addrs)
		return -ENOENT;
	uroce_gid_store(gid, dev->addrs[i].gid);
	return 0;
}

int uroce_device_gid_query(
	const struct uroce_device *dev, unsigned int i, struct uroce_gid_entry *entry)
{
	const struct device_addr *addr = &dev->addrs[i];

	if (i >= dev->num_addrs)
		return -ENOENT;
	*entry = (struct uroce_gid_entry){.type = UROCE_GID_TYPE_ROCE_V2,
		.vlan = uroce_addr_vlan(addr),
		.priority = (uint8_t)(addr->tci >> UROCE_TCI_PRIORITY_SHIFT),
		.prefix_bits = (uint8_t)(uroce_gid_is_ipv4(addr->gid) ? addr->prefix_bits - 96
								      : addr->prefix_bits)};
	uroce_gid_store(entry->gid, addr->gid);
	return 0;
}

struct uroce_worker *uroce_device_worker(struct uroce_device *dev, unsigned int i)
{
	return i < dev->num_workers ? &dev->workers[i] : NULL;
}

int uroce_device_neighbour_set(struct uroce_device *dev, const char *addr, const uint8_t *mac)
{
	const struct device_addr *source;
	struct device_addr peer;
	struct uroce_hop hop;
	int err = uroce_addr_parse(addr, &peer);

	if (err)
		return err;
	hop = (struct uroce_hop){peer.gid, uroce_addr_vlan(&peer)};
	source = uroce_addr_source(dev, peer.gid, 0);
	if (source && !uroce_gid_equal(uroce_addr_next_hop(dev, source, peer.gid), peer.gid))
		return -EINVAL;
	if (peer.tci == 0 && source)
		hop.vlan = uroce_addr_vlan(source);
	pthread_mutex_lock(&dev->lock);
	err = uroce_path_set_mac(dev, hop, mac);
	pthread_mutex_unlock(&dev->lock);
	return err;
}
