/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The guest's end of connections that are to be refused, to be made late or to end early, which no
 * program of Debian's does, by librdmacm.
 *
 *	cma_peer SPACE listen PORT accept MS	accepts the first request, but after so long
 *	cma_peer SPACE listen PORT reject TEXT	rejects it, with these private data
 *	cma_peer SPACE connect ADDRESS PORT TEXT	asks with these private data
 *
 * SPACE: tcp or udp. It prints each event, with its number of an error and its private data as
 * text, and ends after one that says how it went; a connection that was made ends after the next
 * line of standard input, or when the peer ends it.
 */
#include <arpa/inet.h>
#include <netdb.h>
#include <poll.h>
#include <rdma/rdma_cma.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
	RESOLVE_MS = 2000,
	US_PER_MS = 1000
};

static enum rdma_port_space space;
static const char *text = "";
static bool rejects;
static unsigned int delay_ms;

static int fail(const char *what)
{
	perror(what);
	return 1;
}

static int make_qp(struct rdma_cm_id *id)
{
	struct ibv_qp_init_attr init = {
		.qp_type = space == RDMA_PS_UDP ? IBV_QPT_UD : IBV_QPT_RC,
		.cap = {.max_send_wr = 1, .max_recv_wr = 1, .max_send_sge = 1, .max_recv_sge = 1},
	};

	return rdma_create_qp(id, NULL, &init);
}

static int connect_id(struct rdma_cm_id *id)
{
	struct rdma_conn_param param = {
		.responder_resources = 1,
		.initiator_depth = 1,
		.retry_count = 7,
		.rnr_retry_count = 7,
		.private_data = text,
		.private_data_len = (uint8_t)strlen(text),
	};

	return make_qp(id) != 0 || rdma_connect(id, &param) != 0 ? fail("connect") : 0;
}

static int answer(struct rdma_cm_id *id)
{
	struct rdma_conn_param param = {.responder_resources = 1, .initiator_depth = 1};

	if (rejects)
		return rdma_reject(id, text, (uint8_t)strlen(text)) != 0 ? fail("reject") : -1;
	usleep(delay_ms * US_PER_MS);
	if (make_qp(id) != 0)
		return fail("queue pair");
	param.qp_num = id->qp->qp_num;
	return rdma_accept(id, &param) != 0 ? fail("accept") : 0;
}

static void print_event(const struct rdma_cm_event *event)
{
	const char *data = space == RDMA_PS_UDP ? event->param.ud.private_data
						: event->param.conn.private_data;
	size_t n = space == RDMA_PS_UDP ? event->param.ud.private_data_len
					: event->param.conn.private_data_len;

	printf("%s %d %.*s\n", rdma_event_str(event->event), event->status, data ? (int)n : 0,
		data ? data : "");
	fflush(stdout);
}

/* What an event asks for: 0 to go on, -1 at the end, 1 after a failure. */
static int act(struct rdma_cm_id *id, enum rdma_cm_event_type type)
{
	switch (type) {
	case RDMA_CM_EVENT_ADDR_RESOLVED:
		return rdma_resolve_route(id, RESOLVE_MS) != 0 ? fail("route") : 0;
	case RDMA_CM_EVENT_ROUTE_RESOLVED:
		return connect_id(id);
	case RDMA_CM_EVENT_CONNECT_REQUEST:
		return answer(id);
	case RDMA_CM_EVENT_ESTABLISHED:
		return space == RDMA_PS_UDP ? -1 : 0;
	case RDMA_CM_EVENT_DISCONNECTED:
		rdma_disconnect(id);
		return -1;
	default:
		return -1;
	}
}

/* Events, and the line that ends the connection of the last one. */
static int follow(struct rdma_event_channel *channel)
{
	struct pollfd fds[] = {{.fd = channel->fd, .events = POLLIN}, {.events = POLLIN}};
	struct rdma_cm_event *event;
	struct rdma_cm_id *id = NULL;
	enum rdma_cm_event_type type;
	int end = 0;
	char line[8];

	while (end == 0) {
		if (poll(fds, 2, -1) < 0)
			return fail("poll");
		if (fds[1].revents != 0 && id != NULL) {
			fds[1].fd = -1;
			if (read(0, line, sizeof(line)) < 0 || rdma_disconnect(id) != 0)
				return fail("disconnect");
		}
		if (fds[0].revents == 0)
			continue;
		if (rdma_get_cm_event(channel, &event) != 0)
			return fail("event");
		print_event(event);
		id = event->id;
		type = event->event;
		/* Private data are the event's: nothing looks at them any more. */
		rdma_ack_cm_event(event);
		end = act(id, type);
	}
	return end > 0 ? end : 0;
}

static int begin(struct rdma_cm_id *id, char **argv)
{
	bool connects = strcmp(argv[2], "connect") == 0;
	struct addrinfo hints = {.ai_flags = connects ? 0 : AI_PASSIVE, .ai_family = AF_INET6};
	struct addrinfo *found;
	int err;

	if (connects)
		hints.ai_family = AF_UNSPEC;
	if (getaddrinfo(connects ? argv[3] : NULL, connects ? argv[4] : argv[3], &hints, &found) !=
		0)
		return fail("address");
	if (connects)
		text = argv[5];
	else if (strcmp(argv[4], "reject") == 0)
		text = argv[5];
	rejects = !connects && strcmp(argv[4], "reject") == 0;
	delay_ms = connects || rejects ? 0 : (unsigned int)atoi(argv[5]);
	err = connects ? rdma_resolve_addr(id, NULL, found->ai_addr, RESOLVE_MS)
		       : rdma_bind_addr(id, found->ai_addr);
	if (err == 0 && !connects)
		err = rdma_listen(id, 4);
	freeaddrinfo(found);
	if (err != 0)
		return fail("begin");
	puts("ready");
	fflush(stdout);
	return 0;
}

int main(int argc, char **argv)
{
	struct rdma_event_channel *channel = rdma_create_event_channel();
	struct rdma_cm_id *id;
	int err;

	if (argc != 6) {
		fprintf(stderr, "cma_peer: see its source for how to use it\n");
		return 2;
	}
	space = strcmp(argv[1], "udp") == 0 ? RDMA_PS_UDP : RDMA_PS_TCP;
	if (channel == NULL || rdma_create_id(channel, &id, NULL, space) != 0)
		return fail("cma_peer");
	err = begin(id, argv);
	return err != 0 ? err : follow(channel);
}
