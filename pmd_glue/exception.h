/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The exception path: an interface of the kernel's (a TAP) behind a port, so that an ordinary stack
 * shares it.
 *
 * What is neither RoCE for this endpoint nor answered by its table of neighbours is the kernel's,
 * and what the kernel sends goes out of the port. There is no queue between the two: a frame that
 * the kernel does not take at once is dropped, and what the port has no room for is left in the
 * interface's own queue.
 */
#ifndef UROCE_GLUE_EXCEPTION_H
#define UROCE_GLUE_EXCEPTION_H

#include <stdbool.h>
#include <stdint.h>

struct rte_mbuf;
struct uroce_slot;

enum {
	UROCE_EXCEPTION_NAME_BYTES = 16
};

struct uroce_exception {
	int fd; /* -1: there is none */
	char name[UROCE_EXCEPTION_NAME_BYTES];
	uint8_t mac[6];
	uint64_t read_ns; /* before that there is no point in asking the kernel; the reader's */
};

/*
 * Makes the interface, with this MAC and MTU, and up. It is gone when it is closed, or the process
 * ends. -EINVAL: that is no name for an interface; others: what the kernel said; each is logged
 * with what to do.
 */
int uroce_exception_open(struct uroce_exception *exception, const char *name, const uint8_t mac[6],
	uint32_t mtu_bytes);
void uroce_exception_close(struct uroce_exception *exception);

/* Any thread. Whether a frame is for this host, by its destination MAC. */
bool uroce_exception_wants(const struct uroce_exception *exception, const struct rte_mbuf *mbuf);
/* Any thread. Gives the kernel a frame, which stays the caller's. False: it does not take it. */
bool uroce_exception_write(struct uroce_exception *exception, const struct rte_mbuf *mbuf);

/*
 * The next frame that the kernel sends, into the slot; its bytes, 0: there is none, or it does not
 * fit: *cut. Asks an idle kernel now and then only. One thread.
 */
uint32_t uroce_exception_read(
	struct uroce_exception *exception, uint64_t now_ns, struct uroce_slot *slot, bool *cut);

#endif
