/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Address handles and multicast groups.
 *
 * A handle is a number that every worker knows with a path of its own, so that a queue pair of any
 * worker may use it, and a work request can name it without a pointer. Its number is new each time:
 * one that was destroyed is found by nobody. A group is known to all workers, which hand its frames
 * to the one whose queue pairs are members.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "device.h"

enum {
	IN_USE = (int)0x80000000,
	NUMBER_MASK = 0x7fffffff,
};

/* ---- numbers ---- */

/* A number in a free slot, or 0. The lock is held. */
static uint32_t take_number(struct uroce_device *dev)
{
	uint32_t slots = dev->num_ah_slots;

	for (uint32_t i = 0; i < dev->conf.max_ahs; i++) {
		uint32_t number = dev->ah_numbers[i];

		if (number & (uint32_t)IN_USE)
			continue;
		number = number ? (number + slots) & NUMBER_MASK : slots + i;
		/* Around once in 2^31: never 0, and always of its slot. */
		if (number < slots)
			number += slots;
		dev->ah_numbers[i] = number | (uint32_t)IN_USE;
		return number;
	}
	return 0;
}

static void give_number(struct uroce_device *dev, uint32_t number)
{
	dev->ah_numbers[number & (dev->num_ah_slots - 1)] = number;
}

/* ---- handles ---- */

/* Of all workers, as far as they were taken. */
static void release_paths(struct uroce_device *dev, struct uroce_ah *ah)
{
	for (unsigned int i = 0; i < dev->num_workers; i++)
		uroce_path_release(ah->paths[i]);
}

static void free_handle(struct uroce_ah *ah)
{
	struct uroce_device *dev = ah->pd->dev;

	pthread_mutex_lock(&dev->lock);
	release_paths(dev, ah);
	give_number(dev, ah->number);
	ah->pd->users--;
	pthread_mutex_unlock(&dev->lock);
	free(ah);
}

/* Number, paths and domain of a new handle, under the lock. */
static int take_paths(struct uroce_ah *ah)
{
	struct uroce_device *dev = ah->pd->dev;
	const struct uroce_route route = {.gid = uroce_gid_load(ah->conf.dgid),
		.flow_label = ah->conf.flow_label,
		.traffic_class = ah->conf.traffic_class,
		.hop_limit = ah->conf.hop_limit,
		.source = ah->conf.source,
		.sl = ah->conf.sl};
	int err = uroce_path_learn(dev, &route, ah->conf.mac);

	if (err)
		return err;
	ah->number = take_number(dev);
	if (ah->number == 0)
		return -ENOMEM;
	for (unsigned int i = 0; i < dev->num_workers; i++) {
		ah->paths[i] = uroce_path_take(&dev->workers[i], &route);
		err = ah->paths[i] ? err : -ENOMEM;
	}
	if (err) {
		release_paths(dev, ah);
		give_number(dev, ah->number);
	} else {
		ah->pd->users++;
	}
	return err;
}

static int tell_workers(const struct uroce_ah *ah, enum uroce_cmd_kind kind)
{
	struct uroce_device *dev = ah->pd->dev;
	int err = 0;

	for (unsigned int i = 0; !err && i < dev->num_workers; i++) {
		struct uroce_cmd cmd = {.kind = kind,
			.ah = {.number = ah->number,
				.pd = ah->pd->id,
				.path = &ah->paths[i]->path}};

		err = uroce_worker_ctrl(&dev->workers[i], &cmd);
	}
	return err;
}

/* A handle that nobody has, and a worker may still look at: kept until the device is closed. */
static void lose(struct uroce_ah *ah)
{
	struct uroce_device *dev = ah->pd->dev;

	pthread_mutex_lock(&dev->lock);
	ah->pd->users--;
	ah->lost_next = dev->lost_ahs;
	dev->lost_ahs = ah;
	pthread_mutex_unlock(&dev->lock);
}

int uroce_ah_create(struct uroce_pd *pd, const struct uroce_ah_conf *conf, struct uroce_ah **out)
{
	struct uroce_ah *ah;
	int err;

	if (uroce_gid_is_unspecified(uroce_gid_load(conf->dgid)))
		return -EINVAL;
	ah = calloc(1, sizeof(*ah));
	if (!ah)
		return -ENOMEM;
	ah->pd = pd;
	ah->conf = *conf;
	if (ah->conf.hop_limit == 0)
		ah->conf.hop_limit = UROCE_HOP_LIMIT_DEFAULT;
	pthread_mutex_lock(&pd->dev->lock);
	err = take_paths(ah);
	pthread_mutex_unlock(&pd->dev->lock);
	if (err) {
		free(ah);
		return err;
	}
	err = tell_workers(ah, UROCE_CMD_AH_SET);
	if (!err) {
		*out = ah;
		return 0;
	}
	/* A worker that knows it already must forget it before its path goes. */
	if (tell_workers(ah, UROCE_CMD_AH_CLEAR) == 0)
		free_handle(ah);
	else
		lose(ah);
	return err;
}

void uroce_ah_free_lost(struct uroce_device *dev)
{
	while (dev->lost_ahs) {
		struct uroce_ah *ah = dev->lost_ahs;

		dev->lost_ahs = ah->lost_next;
		release_paths(dev, ah);
		free(ah);
	}
}

int uroce_ah_create_from_wc(
	struct uroce_pd *pd, const struct uroce_wc *wc, const void *grh, struct uroce_ah **ah)
{
	const uint8_t *v6 = grh, *v4 = v6 + UROCE_GRH_BYTES - UROCE_IPV4_BYTES;
	struct uroce_ah_conf conf = {.sl = wc->sl};
	struct uroce_gid src, dst;
	uint32_t first = uroce_load_be32(v6);
	bool is_v6 = wc->flags & UROCE_WC_GRH_IPV6;

	if (!(wc->flags & UROCE_WC_GRH) || (is_v6 ? v6[0] >> 4 != 6 : v4[0] >> 4 != 4))
		return -EINVAL;
	if (is_v6) {
		src = uroce_gid_load(v6 + UROCE_IPV6_SRC);
		dst = uroce_gid_load(v6 + UROCE_IPV6_DST);
		conf.traffic_class = (uint8_t)(first >> 20);
		conf.flow_label = first & UROCE_IPV6_FLOW_LABEL_MASK;
	} else {
		src = uroce_gid_of_ipv4(uroce_load_be32(v4 + UROCE_IPV4_SRC));
		dst = uroce_gid_of_ipv4(uroce_load_be32(v4 + UROCE_IPV4_DST));
		conf.traffic_class = v4[UROCE_IPV4_TOS];
	}
	uroce_gid_store(conf.dgid, src);
	conf.source = uroce_addr_answering(pd->dev, dst, wc->vlan, src);
	return uroce_ah_create(pd, &conf, ah);
}

int uroce_ah_destroy(struct uroce_ah *ah)
{
	int err = tell_workers(ah, UROCE_CMD_AH_CLEAR);

	if (err)
		return err;
	free_handle(ah);
	return 0;
}

void uroce_ah_query(const struct uroce_ah *ah, struct uroce_ah_conf *conf)
{
	*conf = ah->conf;
}

/* ---- groups ---- */

/*
 * One call at a time changes who is a member and tells the workers: so what they are told last is
 * what the list says. Who waits for its turn may be the one that polls a worker to be told.
 */
static void lock_groups(struct uroce_device *dev)
{
	while (pthread_mutex_trylock(&dev->groups_lock) != 0)
		uroce_worker_wait_a_moment(dev);
}

static void unlock_groups(struct uroce_device *dev)
{
	pthread_mutex_unlock(&dev->groups_lock);
}

static struct group_entry **find_entry(
	struct uroce_device *dev, const struct uroce_qp *qp, struct uroce_gid addr)
{
	struct group_entry **link = &dev->groups;

	while (*link &&
		((qp && (*link)->member.qp != qp) || !uroce_gid_equal((*link)->member.addr, addr)))
		link = &(*link)->next;
	return link;
}

/* Tells all workers whose the group is, or that it is nobody's. Returns the first error. */
static int tell_group(struct uroce_device *dev, struct uroce_gid addr)
{
	struct uroce_cmd cmd = {.kind = UROCE_CMD_GROUP_CLEAR, .group = {.addr = addr}};
	const struct group_entry *member = *find_entry(dev, NULL, addr);
	int err = 0;

	if (member) {
		cmd.kind = UROCE_CMD_GROUP_SET;
		cmd.group.owner = member->worker->index;
	}
	for (unsigned int i = 0; i < dev->num_workers; i++) {
		int failed = uroce_worker_ctrl(&dev->workers[i], &cmd);

		err = err ? err : failed;
	}
	return err;
}

/* An entry for a new member, on the device's list. */
static int add_entry(struct uroce_qp *qp, struct uroce_gid addr, struct group_entry **out)
{
	struct qp_shell *shell = qp->owner;
	struct uroce_device *dev = shell->dev;
	const struct group_entry *other = *find_entry(dev, NULL, addr);
	struct group_entry *entry;

	if (*find_entry(dev, qp, addr))
		return -EEXIST;
	if (other && other->worker != shell->worker)
		return -EINVAL;
	entry = calloc(1, sizeof(*entry));
	if (!entry)
		return -ENOMEM;
	entry->member = (struct uroce_group_member){.qp = qp, .addr = addr};
	entry->worker = shell->worker;
	entry->next = dev->groups;
	dev->groups = entry;
	*out = entry;
	return 0;
}

/* Takes a membership off the list and, if it was the last, the group from the workers. */
static void drop_entry(struct uroce_device *dev, const struct uroce_qp *qp, struct uroce_gid addr)
{
	struct group_entry **link = find_entry(dev, qp, addr);
	struct group_entry *entry = *link;

	if (!entry)
		return;
	*link = entry->next;
	free(entry);
	/* A worker that cannot be told keeps on taking frames that nobody is a member for. */
	if (!*find_entry(dev, NULL, addr))
		tell_group(dev, addr);
}

static int join(struct uroce_qp *qp, struct uroce_gid addr)
{
	struct qp_shell *shell = qp->owner;
	struct uroce_device *dev = shell->dev;
	struct uroce_cmd cmd = {.kind = UROCE_CMD_JOIN};
	struct group_entry *entry;
	int err = add_entry(qp, addr, &entry);

	if (err)
		return err;
	if (dev->has_port)
		uroce_port_allow_multicast(&dev->port);
	err = tell_group(dev, addr);
	cmd.member = &entry->member;
	if (!err)
		err = uroce_worker_ctrl(shell->worker, &cmd);
	if (err)
		drop_entry(dev, qp, addr);
	return err;
}

int uroce_qp_attach_group(struct uroce_qp *qp, const uint8_t gid[16])
{
	struct qp_shell *shell = qp->owner;
	struct uroce_gid addr = uroce_gid_load(gid);
	int err;

	if (!uroce_gid_is_multicast(addr) || qp->caps.type != UROCE_QP_UD)
		return -EINVAL;
	lock_groups(shell->dev);
	err = join(qp, addr);
	unlock_groups(shell->dev);
	return err;
}

int uroce_qp_detach_group(struct uroce_qp *qp, const uint8_t gid[16])
{
	struct qp_shell *shell = qp->owner;
	struct uroce_cmd cmd = {
		.kind = UROCE_CMD_LEAVE, .qp = qp, .group.addr = uroce_gid_load(gid)};
	int err;

	lock_groups(shell->dev);
	err = uroce_worker_ctrl(shell->worker, &cmd);
	if (!err)
		drop_entry(shell->dev, qp, cmd.group.addr);
	unlock_groups(shell->dev);
	return err;
}

void uroce_group_forget(struct uroce_device *dev, const struct uroce_qp *qp)
{
	struct group_entry *entry, *next;

	lock_groups(dev);
	for (entry = dev->groups; entry; entry = next) {
		next = entry->next;
		if (entry->member.qp == qp)
			drop_entry(dev, qp, entry->member.addr);
	}
	unlock_groups(dev);
}
