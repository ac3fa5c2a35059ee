/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Paths of a device.
 *
 * A path is shared by the queue pairs of one worker that talk to one address in one way. The MAC
 * comes from the table of neighbours; the device's own addresses need no entry. Calls are made
 * with the device's lock held unless they say otherwise; a worker's core is told through commands
 * only, or by its own thread when the table has changed.
 */
#include "device.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* An address that nobody else has, so that nobody needs to be asked. */
static bool needs_no_neighbour(const struct uroce_device *dev, struct uroce_gid gid)
{
	return uroce_gid_is_multicast(gid) || uroce_addr_own(dev, gid, 0);
}

int uroce_path_check(const struct uroce_device *dev, const struct uroce_route *route)
{
	if (route->sl > UROCE_SL_MAX)
		return -EINVAL;
	return uroce_addr_source(dev, route->gid, route->source) ? 0 : -EADDRNOTAVAIL;
}

static struct uroce_hop hop_of(const struct uroce_device *dev, const struct uroce_route *route)
{
	const struct device_addr *source = uroce_addr_source(dev, route->gid, route->source);

	return (struct uroce_hop){
		uroce_addr_next_hop(dev, source, route->gid), uroce_addr_vlan(source)};
}

/* Fills in the MAC of a path's other end, as far as it is known; the version of the MAC. */
static uint32_t resolve(
	struct uroce_device *dev, const struct path_entry *entry, struct uroce_path *path)
{
	uint32_t version = 0;

	if (uroce_gid_is_multicast(path->dst))
		uroce_gid_multicast_mac(path->dst, path->dmac);
	else if (needs_no_neighbour(dev, path->dst))
		memcpy(path->dmac, dev->mac, sizeof(path->dmac));
	else
		version = uroce_neigh_find(&dev->neigh, entry->hop, path->dmac);
	path->resolved = version > 0 || needs_no_neighbour(dev, path->dst);
	return version;
}

static bool is_same_path(const struct uroce_path *a, const struct uroce_path *b)
{
	return uroce_gid_equal(a->src, b->src) && uroce_gid_equal(a->dst, b->dst) &&
		a->tos == b->tos && a->ttl == b->ttl && a->flow_label == b->flow_label &&
		a->tci == b->tci && a->vlan == b->vlan;
}

/* sl: the priority, unless it is 0. Without a VLAN there is no tag to have it. */
static uint16_t tag_of(const struct device_addr *addr, uint8_t sl)
{
	uint16_t vlan = uroce_addr_vlan(addr);

	return vlan && sl ? (uint16_t)(sl << UROCE_TCI_PRIORITY_SHIFT | vlan) : addr->tci;
}

/* But for the other end's MAC. */
static struct uroce_path make_path(const struct uroce_device *dev, const struct device_addr *source,
	const struct uroce_route *route)
{
	/* What we send to ourselves is taken by the VLAN of the address that it is for. */
	const struct device_addr *own = uroce_addr_own(dev, route->gid, uroce_addr_vlan(source));
	struct uroce_path path = {.src = source->gid,
		.dst = route->gid,
		.tci = tag_of(own ? own : source, route->sl),
		.vlan = uroce_addr_vlan(source),
		.tos = route->traffic_class,
		.ttl = route->hop_limit ? route->hop_limit : UROCE_HOP_LIMIT_DEFAULT,
		.flow_label = route->flow_label & UROCE_IPV6_FLOW_LABEL_MASK};

	memcpy(path.smac, dev->mac, sizeof(path.smac));
	return path;
}

/* A new path on the list; NULL: no memory, or no room among the neighbours. */
static struct path_entry *add_path(
	struct uroce_worker *worker, const struct uroce_path *made, const struct uroce_route *route)
{
	struct uroce_device *dev = worker->dev;
	const struct device_addr *source = uroce_addr_source(dev, route->gid, route->source);
	struct path_entry *entry = calloc(1, sizeof(*entry));

	if (!entry)
		return NULL;
	entry->worker = worker;
	entry->made = entry->path = *made;
	entry->hop = hop_of(dev, route);
	if (!needs_no_neighbour(dev, made->dst) &&
		uroce_neigh_hold(&dev->neigh, entry->hop,
			uroce_addr_asker(dev, source, entry->hop.addr)) != 0) {
		free(entry);
		return NULL;
	}
	/* There may be something to ask. */
	uroce_worker_wake_sleeper(&dev->workers[0]);
	entry->version = resolve(dev, entry, &entry->path);
	entry->next = dev->paths;
	dev->paths = entry;
	return entry;
}

struct path_entry *uroce_path_take(struct uroce_worker *worker, const struct uroce_route *route)
{
	struct uroce_device *dev = worker->dev;
	const struct uroce_path made =
		make_path(dev, uroce_addr_source(dev, route->gid, route->source), route);
	struct path_entry *entry;

	for (entry = dev->paths; entry; entry = entry->next)
		if (entry->worker == worker && is_same_path(&entry->made, &made))
			break;
	if (!entry)
		entry = add_path(worker, &made, route);
	if (entry)
		entry->refs++;
	return entry;
}

void uroce_path_release(struct path_entry *entry)
{
	struct uroce_device *dev;
	struct path_entry **link;

	if (!entry || --entry->refs > 0)
		return;
	dev = entry->worker->dev;
	for (link = &dev->paths; *link != entry; link = &(*link)->next)
		;
	*link = entry->next;
	if (!needs_no_neighbour(dev, entry->path.dst))
		uroce_neigh_release(&dev->neigh, entry->hop, uroce_clock_ns());
	free(entry);
}

/* The command that tells a path's core what is known now; the version of the MAC in it. */
static uint32_t make_update(
	struct uroce_device *dev, struct path_entry *entry, struct uroce_cmd *cmd)
{
	*cmd = (struct uroce_cmd){
		.kind = UROCE_CMD_PATH_UPDATE, .path = &entry->path, .path_new = entry->made};
	return resolve(dev, entry, &cmd->path_new);
}

/*
 * Tells a path's core what is known now, until it knows the latest. The lock is given up while the
 * worker is waited for, so another call may tell it something else meanwhile.
 */
static int update(struct uroce_device *dev, struct path_entry *entry)
{
	for (;;) {
		struct uroce_cmd cmd;
		uint32_t version = make_update(dev, entry, &cmd);
		int err;

		if (version == entry->version)
			return 0;
		pthread_mutex_unlock(&dev->lock);
		err = uroce_worker_ctrl(entry->worker, &cmd);
		pthread_mutex_lock(&dev->lock);
		if (err)
			return err;
		entry->version = version;
	}
}

static bool goes_to(const struct path_entry *entry, struct uroce_hop hop)
{
	return uroce_gid_equal(entry->hop.addr, hop.addr) && entry->hop.vlan == hop.vlan;
}

/* Tells all paths by way of this hop. */
static int update_all(struct uroce_device *dev, struct uroce_hop hop)
{
	struct path_entry *entry, *next;
	int err = 0;

	for (entry = dev->paths; entry; entry = entry->next)
		if (goes_to(entry, hop))
			entry->refs++;
	for (entry = dev->paths; entry; entry = next) {
		if (!goes_to(entry, hop)) {
			next = entry->next;
			continue;
		}
		err = err ? err : update(dev, entry);
		next = entry->next;
		uroce_path_release(entry);
	}
	return err;
}

int uroce_path_set_mac(struct uroce_device *dev, struct uroce_hop hop, const uint8_t *mac)
{
	int err = mac ? uroce_neigh_set(&dev->neigh, hop, mac) : 0;

	if (!mac)
		uroce_neigh_unset(&dev->neigh, hop);
	return err ? err : update_all(dev, hop);
}

/* From a peer's record. */
static int tell_mac(struct uroce_device *dev, struct uroce_hop hop, const uint8_t mac[6])
{
	int err = uroce_neigh_tell(&dev->neigh, hop, mac, dev->resolves, uroce_clock_ns());

	return err ? err : update_all(dev, hop);
}

int uroce_path_learn(
	struct uroce_device *dev, const struct uroce_route *route, const uint8_t mac[6])
{
	static const uint8_t none[6];
	uint8_t known[6];
	struct uroce_hop hop;
	int err = uroce_path_check(dev, route);

	if (err || needs_no_neighbour(dev, route->gid))
		return err;
	hop = hop_of(dev, route);
	/* Of a peer beyond a gateway it is the gateway's that matters. */
	if (memcmp(mac, none, sizeof(none)) != 0 && uroce_gid_equal(hop.addr, route->gid))
		return tell_mac(dev, hop, mac);
	return dev->resolves || uroce_neigh_find(&dev->neigh, hop, known) > 0 ? 0 : -EHOSTUNREACH;
}

void uroce_path_follow(struct uroce_worker *worker, uint64_t now_ns)
{
	struct uroce_device *dev = worker->dev;
	uint32_t version = atomic_load(&dev->neigh.version);

	/* Held for moments only; the next turn comes soon. */
	if (pthread_mutex_trylock(&dev->lock) != 0)
		return;
	for (struct path_entry *entry = dev->paths; entry; entry = entry->next) {
		struct uroce_cmd cmd;
		uint32_t of_mac;

		if (entry->worker != worker)
			continue;
		of_mac = make_update(dev, entry, &cmd);
		if (of_mac == entry->version)
			continue;
		uroce_core_ctrl(&worker->core, &cmd, now_ns);
		entry->version = of_mac;
	}
	worker->neigh_version = version;
	pthread_mutex_unlock(&dev->lock);
	/* Whoever was asleep has not seen it. */
	for (unsigned int i = 0; i < dev->num_workers; i++)
		if (i != worker->index)
			uroce_worker_wake_sleeper(&dev->workers[i]);
}
