/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The channel. Within a process a line goes straight into the other end's buffer; sockets do not
 * block, but for a send that the kernel has no room for, which waits a bounded time.
 */
#include "channel.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "line.h"

enum {
	SEND_PATIENCE_MS = 5000,
};

static void init(struct uroce_channel *channel, int fd, struct uroce_channel *peer)
{
	channel->fd = fd;
	channel->peer = peer;
	channel->line = NULL;
	channel->in_bytes = 0;
}

void uroce_channel_pair(struct uroce_channel *a, struct uroce_channel *b)
{
	init(a, -1, b);
	init(b, -1, a);
}

void uroce_channel_open_line(struct uroce_channel *channel, struct uroce_line *line)
{
	init(channel, -1, NULL);
	channel->line = line;
}

/* ---- connections ---- */

int uroce_channel_listen(const char *addr, uint16_t port)
{
	struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons(port)};
	int fd, err, one = 1;

	if (addr && inet_pton(AF_INET, addr, &at.sin_addr) != 1)
		return -EINVAL;
	fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -errno;
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (bind(fd, (const struct sockaddr *)&at, sizeof(at)) == 0 && listen(fd, 4) == 0)
		return fd;
	err = -errno;
	close(fd);
	return err;
}

static void take_socket(struct uroce_channel *channel, int fd)
{
	int one = 1;

	/* Lines are short, and the other side waits for each. */
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	init(channel, fd, NULL);
}

int uroce_channel_accept(int listener, struct uroce_channel *channel)
{
	int fd = accept(listener, NULL, NULL);

	if (fd < 0)
		return errno == EAGAIN || errno == EINTR || errno == ECONNABORTED ? 0 : -errno;
	if (fcntl(fd, F_SETFL, O_NONBLOCK) < 0) {
		close(fd);
		return -errno;
	}
	take_socket(channel, fd);
	return 1;
}

/* Waits until the socket is ready to write. */
static int wait_writable(int fd, int timeout_ms)
{
	struct pollfd poller = {.fd = fd, .events = POLLOUT};
	int n = poll(&poller, 1, timeout_ms);

	if (n < 0)
		return errno == EINTR ? 0 : -errno;
	return n == 0 ? -ETIMEDOUT : 0;
}

static int connect_socket(int fd, const struct addrinfo *to, int timeout_ms)
{
	int err = 0;
	socklen_t bytes = sizeof(err);

	if (connect(fd, to->ai_addr, to->ai_addrlen) == 0)
		return 0;
	if (errno != EINPROGRESS)
		return -errno;
	err = wait_writable(fd, timeout_ms);
	if (err)
		return err;
	if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &err, &bytes) < 0)
		return -errno;
	return -err;
}

int uroce_channel_connect(
	struct uroce_channel *channel, const char *host, uint16_t port, uint64_t timeout_ns)
{
	const struct addrinfo hints = {.ai_family = AF_INET, .ai_socktype = SOCK_STREAM};
	struct addrinfo *found;
	char service[8];
	int fd, err;

	snprintf(service, sizeof(service), "%u", port);
	if (getaddrinfo(host, service, &hints, &found) != 0)
		return -ENOENT;
	fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	err = fd < 0 ? -errno : connect_socket(fd, found, (int)(timeout_ns / 1000000));
	freeaddrinfo(found);
	if (!err)
		take_socket(channel, fd);
	else if (fd >= 0)
		close(fd);
	return err;
}

void uroce_channel_close(struct uroce_channel *channel)
{
	if (channel->fd >= 0)
		close(channel->fd);
	if (channel->line)
		uroce_line_close(channel->line);
	init(channel, -1, NULL);
}

/* ---- lines ---- */

static int send_bytes(int fd, const char *bytes, size_t n)
{
	while (n > 0) {
		ssize_t sent = send(fd, bytes, n, MSG_NOSIGNAL);
		int err;

		if (sent >= 0) {
			bytes += sent;
			n -= (size_t)sent;
			continue;
		}
		if (errno != EAGAIN && errno != EINTR)
			return -errno;
		err = wait_writable(fd, SEND_PATIENCE_MS);
		if (err)
			return err;
	}
	return 0;
}

int uroce_channel_send(struct uroce_channel *channel, const char *format, ...)
{
	char line[UROCE_CHANNEL_LINE_BYTES];
	struct uroce_channel *peer = channel->peer;
	va_list args;
	size_t bytes;
	int n;

	va_start(args, format);
	n = vsnprintf(line, sizeof(line) - 1, format, args);
	va_end(args);
	if (n < 0)
		return -EINVAL;
	bytes = (size_t)n < sizeof(line) - 2 ? (size_t)n : sizeof(line) - 2;
	line[bytes++] = '\n';
	if (channel->line)
		return uroce_line_send(channel->line, line, bytes);
	if (!peer)
		return channel->fd < 0 ? -EPIPE : send_bytes(channel->fd, line, bytes);
	if (bytes > sizeof(peer->in) - peer->in_bytes)
		return -ENOSPC;
	memcpy(peer->in + peer->in_bytes, line, bytes);
	peer->in_bytes += bytes;
	return 0;
}

/* Takes what the line has. Returns 0 or -errno. */
static int fill_from_line(struct uroce_channel *channel)
{
	int got = uroce_line_recv(channel->line, channel->in + channel->in_bytes,
		sizeof(channel->in) - channel->in_bytes);

	if (got > 0)
		channel->in_bytes += (size_t)got;
	return got < 0 ? got : 0;
}

/* Takes what the socket has. Returns 0 or -errno. */
static int fill(struct uroce_channel *channel)
{
	ssize_t got = recv(channel->fd, channel->in + channel->in_bytes,
		sizeof(channel->in) - channel->in_bytes, 0);

	if (got > 0)
		channel->in_bytes += (size_t)got;
	if (got == 0)
		return -EPIPE;
	return got < 0 && errno != EAGAIN && errno != EINTR ? -errno : 0;
}

static bool take_line(struct uroce_channel *channel, char *line)
{
	const char *end = memchr(channel->in, '\n', channel->in_bytes);
	size_t bytes = end ? (size_t)(end - channel->in) : 0;

	if (!end || bytes >= UROCE_CHANNEL_LINE_BYTES)
		return false;
	memcpy(line, channel->in, bytes);
	line[bytes] = '\0';
	channel->in_bytes -= bytes + 1;
	memmove(channel->in, end + 1, channel->in_bytes);
	return true;
}

int uroce_channel_recv(struct uroce_channel *channel, char line[UROCE_CHANNEL_LINE_BYTES])
{
	int err = 0;

	if (channel->in_bytes > 0 && take_line(channel, line))
		return 1;
	if (channel->peer)
		return 0;
	if (channel->fd < 0 && !channel->line)
		return -EPIPE;
	/* A peer may say something and leave: what it said counts first. */
	if (channel->in_bytes < sizeof(channel->in))
		err = channel->line ? fill_from_line(channel) : fill(channel);
	if (channel->in_bytes > 0 && take_line(channel, line))
		return 1;
	return channel->in_bytes >= UROCE_CHANNEL_LINE_BYTES ? -EMSGSIZE : err;
}
