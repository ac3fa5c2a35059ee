/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Things that fail while a device is opened on a port, at every possible moment.
 *
 * A device is opened and closed again and again, each time with another call failing that the
 * library makes of DPDK, of the kernel or for memory: the Nth, for all N. The opening says so with
 * the errno that belongs to that call, or goes without what it can do without; nothing of it stays
 * (buffers, rings and descriptors are counted, memory is the address sanitizer's to see), and the
 * next one succeeds. The linker puts the failing functions in the library's way (--wrap).
 */
#include <dirent.h>
#include <errno.h>
#include <linux/if_tun.h>
#include <net/if.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>

#include <rte_eth_ring.h>
#include <rte_ethdev.h>
#include <rte_mbuf.h>
#include <rte_mempool.h>
#include <rte_ring.h>

#include "cunit_run.h"
#include "device.h"

enum {
	QUEUES = 2
};

static long left = -1; /* calls until one fails; -1: none does */
static long calls;
static int expected;	   /* what the opening has to come to */
static const char *failed; /* the call */

/* Counts down; true when it is this one's turn. fails_as: what the opening is to say then. */
static bool is_turn(const char *name, int fails_as)
{
	calls++;
	if (left < 0 || left-- > 0)
		return false;
	expected = fails_as;
	failed = name;
	return true;
}

#define FAILING(type, name, parameters, arguments, result, fails_as) \
	type __real_##name parameters; \
	type __wrap_##name parameters; \
	type __wrap_##name parameters \
	{ \
		return is_turn(#name, fails_as) ? result : __real_##name arguments; \
	}

FAILING(void *, calloc, (size_t n, size_t bytes), (n, bytes), NULL, -ENOMEM)
FAILING(void *, aligned_alloc, (size_t align, size_t bytes), (align, bytes), NULL, -ENOMEM)
FAILING(int, eventfd, (unsigned int n, int flags), (n, flags), (errno = EMFILE, -1), -EMFILE)
FAILING(int, epoll_create1, (int flags), (flags), (errno = EMFILE, -1), 0)
FAILING(int, rte_eth_dev_is_valid_port, (uint16_t port), (port), 0, -ENODEV)
FAILING(int, rte_eth_dev_info_get, (uint16_t port, struct rte_eth_dev_info *info), (port, info),
	-EIO, -ENODEV)
FAILING(int, rte_eth_dev_configure,
	(uint16_t port, uint16_t rx, uint16_t tx, const struct rte_eth_conf *conf),
	(port, rx, tx, conf), -EIO, -EIO)
FAILING(int, rte_eth_dev_set_mtu, (uint16_t port, uint16_t mtu), (port, mtu), -EIO, 0)
FAILING(int, rte_eth_dev_get_mtu, (uint16_t port, uint16_t *mtu), (port, mtu), -EIO, 0)
FAILING(int, rte_eth_dev_adjust_nb_rx_tx_desc, (uint16_t port, uint16_t *rx, uint16_t *tx),
	(port, rx, tx), -EIO, -EIO)
FAILING(int, rte_eth_rx_queue_setup,
	(uint16_t port, uint16_t queue, uint16_t descs, unsigned int socket,
		const struct rte_eth_rxconf *conf, struct rte_mempool *pool),
	(port, queue, descs, socket, conf, pool), -EIO, -EIO)
FAILING(int, rte_eth_tx_queue_setup,
	(uint16_t port, uint16_t queue, uint16_t descs, unsigned int socket,
		const struct rte_eth_txconf *conf),
	(port, queue, descs, socket, conf), -EIO, -EIO)
FAILING(int, rte_eth_dev_start, (uint16_t port), (port), -EIO, -EIO)
FAILING(int, rte_eth_dev_rx_intr_ctl_q,
	(uint16_t port, uint16_t queue, int epfd, int op, void *data),
	(port, queue, epfd, op, data), -EIO, 0)
FAILING(int, rte_eth_dev_rx_intr_disable, (uint16_t port, uint16_t queue), (port, queue), -EIO, 0)
FAILING(int, rte_eth_link_get_nowait, (uint16_t port, struct rte_eth_link *link), (port, link),
	-EIO, 0)
FAILING(int, rte_eth_promiscuous_enable, (uint16_t port), (port), -EIO, 0)
FAILING(int, rte_eth_macaddr_get, (uint16_t port, struct rte_ether_addr *mac), (port, mac), -EIO,
	-EIO)
FAILING(struct rte_mempool *, rte_pktmbuf_pool_create,
	(const char *name, unsigned int n, unsigned int cache, uint16_t private_bytes,
		uint16_t room, int socket),
	(name, n, cache, private_bytes, room, socket), NULL, -ENOMEM)
FAILING(enum rte_proc_type_t, rte_eal_process_type, (void), (), RTE_PROC_SECONDARY, -EPERM)
FAILING(int, rte_eth_dev_owner_get, (uint16_t port, struct rte_eth_dev_owner *owner), (port, owner),
	-EIO, 0)
FAILING(int, rte_eth_dev_owner_new, (uint64_t * id), (id), -EIO, -EBUSY)
FAILING(int, rte_eth_dev_owner_set, (uint16_t port, const struct rte_eth_dev_owner *owner),
	(port, owner), -EIO, -EBUSY)

FAILING(int, socket, (int domain, int type, int protocol), (domain, type, protocol),
	(errno = EMFILE, -1), -EMFILE)

/* The kernel's interfaces are made up: the real ones take root. */
int __real_open64(const char *path, int flags, ...);
int __wrap_open64(const char *path, int flags, ...);
int __wrap_open64(const char *path, int flags, ...)
{
	if (strcmp(path, "/dev/net/tun") != 0)
		return __real_open64(path, flags);
	return is_turn("open", -ENOENT) ? (errno = ENOENT, -1) : __real_eventfd(0, EFD_NONBLOCK);
}

int __wrap_ioctl(int fd, unsigned long what, struct ifreq *request);
int __wrap_ioctl(int fd, unsigned long what, struct ifreq *request)
{
	(void)fd;
	(void)request;
	switch (what) {
	case TUNSETIFF:
	case SIOCSIFHWADDR:
	case SIOCSIFMTU:
	case SIOCGIFFLAGS:
	case SIOCSIFFLAGS:
		return is_turn("ioctl", -EPERM) ? (errno = EPERM, -1) : 0;
	default:
		errno = ENOTTY;
		return -1;
	}
}

/* What is sent on a queue comes back on it. */
static bool make_port(void)
{
	struct rte_ring *rings[QUEUES];

	for (int i = 0; i < QUEUES; i++) {
		rings[i] = rte_ring_create(
			i ? "loop1" : "loop0", 1024, SOCKET_ID_ANY, RING_F_SP_ENQ | RING_F_SC_DEQ);
		if (!rings[i])
			return false;
	}
	return rte_eth_from_rings("loop", rings, QUEUES, rings, QUEUES, SOCKET_ID_ANY) == 0;
}

static int count_descriptors(void)
{
	DIR *dir = opendir("/proc/self/fd");
	int n = 0;

	CU_ASSERT_PTR_NOT_NULL_FATAL(dir);
	while (readdir(dir))
		n++;
	closedir(dir);
	return n;
}

/* Opens and, if that went well, closes; what the opening came to. */
static int open_and_close(const struct uroce_device_conf *conf, long n)
{
	struct uroce_device *dev;
	int err;

	left = n;
	calls = 0;
	expected = 0;
	failed = NULL;
	err = uroce_device_open(conf, &dev);
	left = -1;
	if (!err)
		CU_ASSERT_EQUAL(uroce_device_close(dev), 0);
	return err;
}

static bool is_anything_left(void)
{
	struct rte_eth_dev_owner owner;

	return rte_mempool_lookup("uroce_0") || rte_eth_dev_owner_get(0, &owner) != 0 ||
		owner.id != RTE_ETH_DEV_NO_OWNER;
}

/* How many openings were refused. */
static int fail_each_call(const struct uroce_device_conf *conf)
{
	int descriptors, refused = 0;
	long total;

	CU_ASSERT_EQUAL_FATAL(open_and_close(conf, -1), 0);
	total = calls;
	descriptors = count_descriptors();
	for (long n = 0; n <= total; n++) {
		int err = open_and_close(conf, n), now = count_descriptors();

		if (err != expected || now != descriptors || is_anything_left())
			printf("\n%s failed: %d, not %d; %d descriptors of %d\n",
				failed ? failed : "nothing", err, expected, now, descriptors);
		CU_ASSERT_EQUAL(err, expected);
		CU_ASSERT_EQUAL(now, descriptors);
		CU_ASSERT_FALSE(is_anything_left());
		/* All have had their turn only where nothing fails any more. */
		CU_ASSERT_EQUAL(failed == NULL, n == total);
		CU_ASSERT_EQUAL(open_and_close(conf, -1), 0);
		refused += err != 0;
	}
	return refused;
}

static void a_port_of_ones_own(void)
{
	const struct uroce_device_conf conf = {.addr = "192.0.2.1",
		.num_workers = QUEUES,
		.max_qps = 4,
		.num_mbufs = 1023,
		.promiscuous = true,
		.idle_sleep_us = 1000};

	CU_ASSERT_TRUE(fail_each_call(&conf) >= 30);
}

static void a_port_that_a_kernel_shares(void)
{
	const struct uroce_device_conf conf = {.addr = "192.0.2.1",
		.num_workers = QUEUES,
		.max_qps = 4,
		.num_mbufs = 1023,
		.exception_path = "uroce0"};

	CU_ASSERT_TRUE(fail_each_call(&conf) >= 34);
}

static void a_port_of_the_hosts(void)
{
	const struct uroce_device_conf conf = {.addr = "192.0.2.1",
		.num_workers = QUEUES,
		.max_qps = 4,
		.num_mbufs = 1023,
		.host_owns_port = true};

	CU_ASSERT_TRUE(fail_each_call(&conf) >= 20);
}

int main(void)
{
	static const struct unit_case cases[] = {
		{"the Nth call fails while a port is set up, for all N", a_port_of_ones_own},
		{"the Nth call fails while a kernel's interface is made, for all N",
			a_port_that_a_kernel_shares},
		{"the Nth call fails on a port that the host has set up, for all N",
			a_port_of_the_hosts},
	};

	if (uroce_eal_init_embedded(0) != 0 || !make_port())
		return 1;
	return run_suite("port_set_up", cases, sizeof(cases) / sizeof(cases[0]));
}
