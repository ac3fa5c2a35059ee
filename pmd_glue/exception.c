/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The exception path, over /dev/net/tun.
 *
 * Not over DPDK's own driver for it, which has the kernel signal the process at each arrival, and
 * so interrupts the application's system calls, and which knows no MTU over 1500. The price of
 * having no signal is that an idle kernel has to be asked: every READ_PAUSE_NS, and by each turn
 * only while there are frames.
 */
#include "exception.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/if_tun.h>
#include <net/if.h>
#include <net/if_arp.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include <rte_mbuf.h>

#include "core.h"
#include "log.h"
#include "wire.h"

enum {
	SEGMENTS_MAX = 16,
	READ_PAUSE_NS = 50000,
};

_Static_assert(UROCE_EXCEPTION_NAME_BYTES == IFNAMSIZ, "the kernel's names");

/* ---- set-up ---- */

/* As the kernel has it, and none of what it would take for a pattern. */
static bool is_name(const char *name)
{
	size_t length = strlen(name);

	return length > 0 && length < IFNAMSIZ && strcspn(name, "/:% \t\n") == length &&
		strcmp(name, ".") != 0 && strcmp(name, "..") != 0;
}

static int set(int fd, unsigned long what, struct ifreq *request)
{
	return ioctl(fd, what, request) == 0 ? 0 : -errno;
}

/* Gives an interface its MAC and MTU, and takes it up. */
static int configure(const char *name, const uint8_t mac[6], uint32_t mtu_bytes)
{
	struct ifreq request = {0};
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0), err;

	if (fd < 0)
		return -errno;
	memcpy(request.ifr_name, name, strlen(name) + 1);
	request.ifr_hwaddr.sa_family = ARPHRD_ETHER;
	memcpy(request.ifr_hwaddr.sa_data, mac, 6);
	err = set(fd, SIOCSIFHWADDR, &request);
	request.ifr_mtu = (int)mtu_bytes;
	if (!err)
		err = set(fd, SIOCSIFMTU, &request);
	if (!err)
		err = set(fd, SIOCGIFFLAGS, &request);
	request.ifr_flags |= IFF_UP;
	if (!err)
		err = set(fd, SIOCSIFFLAGS, &request);
	close(fd);
	return err;
}

static int make(const char *name, const uint8_t mac[6], uint32_t mtu_bytes, int *fd)
{
	struct ifreq request = {.ifr_flags = IFF_TAP | IFF_NO_PI};
	int err;

	*fd = open("/dev/net/tun", O_RDWR | O_NONBLOCK | O_CLOEXEC);
	if (*fd < 0)
		return -errno;
	memcpy(request.ifr_name, name, strlen(name) + 1);
	err = set(*fd, TUNSETIFF, &request);
	return err ? err : configure(name, mac, mtu_bytes);
}

int uroce_exception_open(struct uroce_exception *exception, const char *name, const uint8_t mac[6],
	uint32_t mtu_bytes)
{
	int err;

	*exception = (struct uroce_exception){.fd = -1};
	if (!is_name(name)) {
		UROCE_LOG(ERR,
			"\"%s\" can be no interface of the kernel's: it takes 1 to %d "
			"characters, and no blank, \"/\", \":\" or \"%%\"\n",
			name, IFNAMSIZ - 1);
		return -EINVAL;
	}
	memcpy(exception->name, name, strlen(name) + 1);
	memcpy(exception->mac, mac, sizeof(exception->mac));
	err = make(name, mac, mtu_bytes, &exception->fd);
	if (!err)
		return 0;
	UROCE_LOG(ERR,
		"the interface %s for the exception path cannot be made: %s. It takes root "
		"(CAP_NET_ADMIN), /dev/net/tun, and a name that is not in use.\n",
		name, strerror(-err));
	uroce_exception_close(exception);
	return err;
}

void uroce_exception_close(struct uroce_exception *exception)
{
	if (exception->fd >= 0)
		close(exception->fd);
	exception->fd = -1;
}

/* ---- frames ---- */

bool uroce_exception_wants(const struct uroce_exception *exception, const struct rte_mbuf *mbuf)
{
	uint8_t buf[sizeof(exception->mac)];
	const uint8_t *dmac = rte_pktmbuf_read(mbuf, UROCE_ETH_DMAC, sizeof(buf), buf);

	return dmac && (dmac[0] & 1 || memcmp(dmac, exception->mac, sizeof(buf)) == 0);
}

bool uroce_exception_write(struct uroce_exception *exception, const struct rte_mbuf *mbuf)
{
	struct iovec pieces[SEGMENTS_MAX];
	int n = 0;

	for (; mbuf && n < SEGMENTS_MAX; mbuf = mbuf->next)
		pieces[n++] =
			(struct iovec){rte_pktmbuf_mtod(mbuf, void *), rte_pktmbuf_data_len(mbuf)};
	return !mbuf && writev(exception->fd, pieces, n) > 0;
}

uint32_t uroce_exception_read(
	struct uroce_exception *exception, uint64_t now_ns, struct uroce_slot *slot, bool *cut)
{
	ssize_t n;

	*cut = false;
	if (now_ns < exception->read_ns)
		return 0;
	n = read(exception->fd, slot->data, slot->capacity_bytes);
	if (n <= 0) {
		exception->read_ns = now_ns + READ_PAUSE_NS;
		return 0;
	}
	/* The kernel cuts what does not fit and says nothing. */
	*cut = (size_t)n >= slot->capacity_bytes;
	slot->bytes = *cut ? 0 : (uint32_t)n;
	return slot->bytes;
}
