/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A channel for lines of text between the two sides of a test: a TCP connection, a queue pair's
 * (line.h), or two ends in one process. Never blocks for longer than the time it names, since
 * whoever waits for a line has a worker to poll meanwhile. One thread.
 */
#ifndef UROCE_APP_CHANNEL_H
#define UROCE_APP_CHANNEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	UROCE_CHANNEL_LINE_BYTES = 1024, /* the longest line, with its end */
	UROCE_CHANNEL_BYTES = 65536,
};

struct uroce_line;

struct uroce_channel {
	int fd;			    /* -1: none */
	struct uroce_channel *peer; /* the other end in this process, or NULL */
	struct uroce_line *line;    /* somebody else's, that carries it, or NULL */
	size_t in_bytes;
	char in[UROCE_CHANNEL_BYTES];
};

/* Two ends in one process. */
void uroce_channel_pair(struct uroce_channel *a, struct uroce_channel *b);

/*
 * Listens; addr NULL: on all addresses. Returns the descriptor (close it), or -errno: -EINVAL: addr
 * is no IPv4 address; else what the kernel said.
 */
int uroce_channel_listen(const char *addr, uint16_t port);
/* On a line, which is closed with the channel. */
void uroce_channel_open_line(struct uroce_channel *channel, struct uroce_line *line);

/* Takes a connection if one came. Returns 1, 0 (none yet) or -errno. */
int uroce_channel_accept(int listener, struct uroce_channel *channel);
/*
 * Connects to a name or an IPv4 address, one attempt of at most timeout_ns. Returns 0, -ENOENT: no
 * such name; -ETIMEDOUT; else what the kernel said, -ECONNREFUSED while nobody listens.
 */
int uroce_channel_connect(
	struct uroce_channel *channel, const char *host, uint16_t port, uint64_t timeout_ns);
void uroce_channel_close(struct uroce_channel *channel);

/* Sends one line; its end is added. Returns 0, or -errno: -EPIPE, -ECONNRESET: the peer left. */
int uroce_channel_send(struct uroce_channel *channel, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/*
 * Takes a line without its end, if there is a whole one. Returns 1; 0: none yet; -EPIPE: the peer
 * closed the connection; -EMSGSIZE: that is longer than any line; else -errno.
 */
int uroce_channel_recv(struct uroce_channel *channel, char line[UROCE_CHANNEL_LINE_BYTES]);

#endif
