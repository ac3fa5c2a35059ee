/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Claims on ports.
 *
 * Two endpoints on one interface would both answer for it: of what the kernel delivers to both,
 * each would take its part and call the rest not its own. The name that keeps the second one out is
 * an abstract socket: it belongs to a network namespace, as interfaces do, and ends with its
 * process however that ends. Other ports need none: a memif or vhost socket, a network card, are
 * opened once by their drivers.
 */
#include "claim.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <rte_ethdev.h>

#include "log.h"

enum {
	BACKLOG = 4096, /* nobody is accepted: each who asked whose the name is stays in it */
};

/* ---- between processes ---- */

/* Returns the bytes of an address that stands for the interface. */
static socklen_t name_of(uint32_t if_index, struct sockaddr_un *addr)
{
	int bytes;

	*addr = (struct sockaddr_un){.sun_family = AF_UNIX};
	/* The first byte stays 0: no file. */
	bytes = snprintf(addr->sun_path + 1, sizeof(addr->sun_path) - 1, "uroce-interface-%u",
		(unsigned int)if_index);
	return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)bytes);
}

/* The process that holds the name; 0: it cannot be told. */
static pid_t holder_of(const struct sockaddr_un *addr, socklen_t bytes)
{
	struct ucred peer = {0};
	socklen_t peer_bytes = sizeof(peer);
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return 0;
	if (connect(fd, (const struct sockaddr *)addr, bytes) != 0 ||
		getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &peer_bytes) != 0)
		peer.pid = 0;
	close(fd);
	return peer.pid;
}

/* A descriptor that holds the interface, or a negative errno. */
static int hold_interface(uint16_t port_id, uint32_t if_index)
{
	struct sockaddr_un addr;
	socklen_t bytes = name_of(if_index, &addr);
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0), err;

	if (fd >= 0 && bind(fd, (const struct sockaddr *)&addr, bytes) == 0 &&
		listen(fd, BACKLOG) == 0)
		return fd;
	err = errno;
	if (fd >= 0)
		close(fd);
	if (err != EADDRINUSE) {
		UROCE_LOG(ERR, "interface %u of port %u cannot be claimed: %s\n",
			(unsigned int)if_index, port_id, strerror(err));
		return -err;
	}
	UROCE_LOG(ERR,
		"the interface of port %u has an endpoint of another process (%d) already: one "
		"process at a time may use it\n",
		port_id, (int)holder_of(&addr, bytes));
	return -EBUSY;
}

/* ---- within the process ---- */

static int own_port(uint16_t port_id, uint64_t *id)
{
	struct rte_eth_dev_owner owner = {.name = "uroce"}, other;

	/* Asked for first: DPDK would complain in its own words. */
	if (rte_eth_dev_owner_get(port_id, &other) == 0 && other.id != RTE_ETH_DEV_NO_OWNER) {
		UROCE_LOG(ERR, "port %u belongs to \"%s\" already\n", port_id, other.name);
		return -EBUSY;
	}
	if (rte_eth_dev_owner_new(&owner.id) != 0 || rte_eth_dev_owner_set(port_id, &owner) != 0) {
		UROCE_LOG(ERR, "port %u was taken by somebody else meanwhile\n", port_id);
		return -EBUSY;
	}
	*id = owner.id;
	return 0;
}

int uroce_claim_take(struct uroce_claim *claim, uint16_t port_id, uint32_t if_index)
{
	int err;

	*claim = UROCE_CLAIM_NONE;
	claim->port_id = port_id;
	err = own_port(port_id, &claim->owner);
	if (!err && if_index > 0) {
		claim->fd = hold_interface(port_id, if_index);
		err = claim->fd < 0 ? claim->fd : 0;
	}
	if (err)
		uroce_claim_release(claim);
	return err;
}

void uroce_claim_release(struct uroce_claim *claim)
{
	if (claim->fd >= 0)
		close(claim->fd);
	if (claim->owner != 0)
		rte_eth_dev_owner_unset(claim->port_id, claim->owner);
	*claim = UROCE_CLAIM_NONE;
}
