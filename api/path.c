/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Paths and static neighbours of a device.
 *
 * A path is shared by the queue pairs of one worker that talk to one address in one way. The MAC
 * comes from the table of neighbours; the device's own address needs no entry. All calls are made
 * with the device's lock held, and the worker's core is told through commands only.
 */
#include "device.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

int uroce_parse_ipv4(const char *text, uint32_t *ip)
{
	const char *slash = strchr(text, '/');
	size_t length = slash ? (size_t)(slash - text) : strlen(text);
	char addr[INET_ADDRSTRLEN], *end;
	struct in_addr parsed;

	if (length >= sizeof(addr))
		return -EINVAL;
	memcpy(addr, text, length);
	addr[length] = 0;
	if (inet_pton(AF_INET, addr, &parsed) != 1 || parsed.s_addr == 0)
		return -EINVAL;
	if (slash && (strtoul(slash + 1, &end, 10) > 32 || end == slash + 1 || *end))
		return -EINVAL;
	*ip = ntohl(parsed.s_addr);
	return 0;
}

static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff};

void uroce_gid_of_ipv4(uint32_t ip, uint8_t gid[16])
{
	memcpy(gid, mapped, sizeof(mapped));
	uroce_store_be32(gid + 12, ip);
}

bool uroce_ipv4_of_gid(const uint8_t gid[16], uint32_t *ip)
{
	*ip = uroce_load_be32(gid + 12);
	return memcmp(gid, mapped, sizeof(mapped)) == 0 && *ip != 0;
}

static struct neighbour *find_neighbour(const struct uroce_device *dev, uint32_t ip)
{
	struct neighbour *n = dev->neighbours;

	while (n && n->ip != ip)
		n = n->next;
	return n;
}

bool uroce_path_mac_known(const struct uroce_device *dev, uint32_t ip)
{
	return ip == dev->ip || uroce_ipv4_is_multicast(ip) || find_neighbour(dev, ip);
}

int uroce_path_learn(struct uroce_device *dev, uint32_t ip, const uint8_t mac[6])
{
	static const uint8_t none[6];

	if (ip != dev->ip && !uroce_ipv4_is_multicast(ip) && memcmp(mac, none, sizeof(none)) != 0)
		return uroce_path_set_mac(dev, ip, mac);
	return uroce_path_mac_known(dev, ip) ? 0 : -EHOSTUNREACH;
}

static void resolve(const struct uroce_device *dev, struct uroce_path *path)
{
	const struct neighbour *n = find_neighbour(dev, path->dst_ip);

	path->resolved = uroce_path_mac_known(dev, path->dst_ip);
	if (uroce_ipv4_is_multicast(path->dst_ip))
		uroce_ipv4_multicast_mac(path->dst_ip, path->dmac);
	else if (path->dst_ip == dev->ip)
		memcpy(path->dmac, dev->mac, sizeof(path->dmac));
	else if (n)
		memcpy(path->dmac, n->mac, sizeof(path->dmac));
}

struct path_entry *uroce_path_take(
	struct uroce_worker *worker, uint32_t ip, uint8_t tos, uint8_t ttl)
{
	struct uroce_device *dev = worker->dev;
	struct path_entry *entry;

	for (entry = dev->paths; entry; entry = entry->next)
		if (entry->worker == worker && entry->path.dst_ip == ip && entry->path.tos == tos &&
			entry->path.ttl == ttl)
			break;
	if (!entry) {
		entry = calloc(1, sizeof(*entry));
		if (!entry)
			return NULL;
		entry->worker = worker;
		entry->path.src_ip = dev->ip;
		entry->path.dst_ip = ip;
		entry->path.tos = tos;
		entry->path.ttl = ttl;
		memcpy(entry->path.smac, dev->mac, sizeof(entry->path.smac));
		resolve(dev, &entry->path);
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

static int learn(struct uroce_device *dev, uint32_t ip, const uint8_t mac[6], bool *changed)
{
	struct neighbour *n = find_neighbour(dev, ip);

	*changed = !n || memcmp(n->mac, mac, sizeof(n->mac)) != 0;
	if (!n) {
		n = calloc(1, sizeof(*n));
		if (!n)
			return -ENOMEM;
		n->ip = ip;
		n->next = dev->neighbours;
		dev->neighbours = n;
	}
	memcpy(n->mac, mac, sizeof(n->mac));
	return 0;
}

/* Tells a path's core what is known now. The lock is given up while the worker is waited for. */
static int update(struct uroce_device *dev, struct path_entry *entry)
{
	const struct uroce_path *path = &entry->path;
	struct uroce_cmd cmd = {.kind = UROCE_CMD_PATH_UPDATE, .path = &entry->path};
	int err;

	cmd.path_new = (struct uroce_path){
		.src_ip = path->src_ip, .dst_ip = path->dst_ip, .tos = path->tos, .ttl = path->ttl};
	memcpy(cmd.path_new.smac, dev->mac, sizeof(cmd.path_new.smac));
	resolve(dev, &cmd.path_new);
	pthread_mutex_unlock(&dev->lock);
	err = uroce_worker_ctrl(entry->worker, &cmd);
	pthread_mutex_lock(&dev->lock);
	return err;
}

int uroce_path_set_mac(struct uroce_device *dev, uint32_t ip, const uint8_t mac[6])
{
	struct path_entry *entry, *next;
	bool changed;
	int err = learn(dev, ip, mac, &changed);

	if (err || !changed)
		return err;
	for (entry = dev->paths; entry; entry = entry->next)
		if (entry->path.dst_ip == ip)
			entry->refs++;
	for (entry = dev->paths; entry; entry = next) {
		if (entry->path.dst_ip != ip) {
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
