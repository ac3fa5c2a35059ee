/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Paths and static neighbours of a device.
 *
 * A path is shared by the queue pairs of one worker that talk to one address in one way. The MAC
 * comes from the table of neighbours; the device's own address needs no entry. All calls are made
 * with the device's lock held, and the worker's core is told through commands only.
 */
#include "device.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static struct neighbour *find_neighbour(const struct uroce_device *dev, struct uroce_gid gid)
{
	struct neighbour *n = dev->neighbours;

	while (n && !uroce_gid_equal(n->gid, gid))
		n = n->next;
	return n;
}

bool uroce_path_mac_known(const struct uroce_device *dev, struct uroce_gid gid)
{
	return uroce_addr_is_own(dev, gid) || uroce_gid_is_multicast(gid) ||
		find_neighbour(dev, gid);
}

int uroce_path_learn(struct uroce_device *dev, struct uroce_gid gid, const uint8_t mac[6])
{
	static const uint8_t none[6];

	if (!uroce_addr_source(dev, gid))
		return -EADDRNOTAVAIL;
	if (!uroce_addr_is_own(dev, gid) && !uroce_gid_is_multicast(gid) &&
		memcmp(mac, none, sizeof(none)) != 0)
		return uroce_path_set_mac(dev, gid, mac);
	return uroce_path_mac_known(dev, gid) ? 0 : -EHOSTUNREACH;
}

/* Fills in the MAC of a path's other end, as far as it is known; the neighbour's version. */
static uint32_t resolve(const struct uroce_device *dev, struct uroce_path *path)
{
	const struct neighbour *n = find_neighbour(dev, path->dst);

	path->resolved = uroce_path_mac_known(dev, path->dst);
	if (uroce_gid_is_multicast(path->dst))
		uroce_gid_multicast_mac(path->dst, path->dmac);
	else if (uroce_addr_is_own(dev, path->dst))
		memcpy(path->dmac, dev->mac, sizeof(path->dmac));
	else if (n)
		memcpy(path->dmac, n->mac, sizeof(path->dmac));
	return n ? n->version : 0;
}

static bool is_same_path(const struct uroce_path *a, const struct uroce_path *b)
{
	return uroce_gid_equal(a->src, b->src) && uroce_gid_equal(a->dst, b->dst) &&
		a->tos == b->tos && a->ttl == b->ttl && a->flow_label == b->flow_label;
}

struct path_entry *uroce_path_take(struct uroce_worker *worker, const struct uroce_route *route)
{
	struct uroce_device *dev = worker->dev;
	const struct uroce_gid *source = uroce_addr_source(dev, route->gid);
	struct uroce_path path = {.dst = route->gid,
		.tos = route->traffic_class,
		.ttl = route->hop_limit ? route->hop_limit : UROCE_HOP_LIMIT_DEFAULT,
		.flow_label = route->flow_label & UROCE_IPV6_FLOW_LABEL_MASK};
	struct path_entry *entry;

	if (!source)
		return NULL;
	path.src = *source;
	for (entry = dev->paths; entry; entry = entry->next)
		if (entry->worker == worker && is_same_path(&entry->made, &path))
			break;
	if (!entry) {
		entry = calloc(1, sizeof(*entry));
		if (!entry)
			return NULL;
		entry->worker = worker;
		memcpy(path.smac, dev->mac, sizeof(path.smac));
		entry->made = entry->path = path;
		entry->version = resolve(dev, &entry->path);
		entry->next = dev->paths;
		dev->paths = entry;
	}
	entry->refs++;
	return entry;
}

void uroce_path_release(struct path_entry *entry)
{
	struct path_entry **link;

	if (!entry || --entry->refs > 0)
		return;
	for (link = &entry->worker->dev->paths; *link != entry; link = &(*link)->next)
		;
	*link = entry->next;
	free(entry);
}

static int learn(struct uroce_device *dev, struct uroce_gid gid, const uint8_t mac[6])
{
	struct neighbour *n = find_neighbour(dev, gid);

	if (!n) {
		n = calloc(1, sizeof(*n));
		if (!n)
			return -ENOMEM;
		n->gid = gid;
		n->next = dev->neighbours;
		dev->neighbours = n;
	}
	if (n->version == 0 || memcmp(n->mac, mac, sizeof(n->mac)) != 0)
		n->version++;
	memcpy(n->mac, mac, sizeof(n->mac));
	return 0;
}

/*
 * Tells a path's core what is known now, until it knows the latest. The lock is given up while the
 * worker is waited for, so another call may tell it something else meanwhile.
 */
static int update(struct uroce_device *dev, struct path_entry *entry)
{
	for (;;) {
		struct uroce_cmd cmd = {.kind = UROCE_CMD_PATH_UPDATE,
			.path = &entry->path,
			.path_new = entry->made};
		uint32_t version = resolve(dev, &cmd.path_new);
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

int uroce_path_set_mac(struct uroce_device *dev, struct uroce_gid gid, const uint8_t mac[6])
{
	struct path_entry *entry, *next;
	int err = learn(dev, gid, mac);

	if (err)
		return err;
	for (entry = dev->paths; entry; entry = entry->next)
		if (uroce_gid_equal(entry->made.dst, gid))
			entry->refs++;
	for (entry = dev->paths; entry; entry = next) {
		if (!uroce_gid_equal(entry->made.dst, gid)) {
			next = entry->next;
			continue;
		}
		err = err ? err : update(dev, entry);
		next = entry->next;
		uroce_path_release(entry);
	}
	return err;
}

void uroce_path_free_all(struct uroce_device *dev)
{
	while (dev->neighbours) {
		struct neighbour *n = dev->neighbours;

		dev->neighbours = n->next;
		free(n);
	}
}
