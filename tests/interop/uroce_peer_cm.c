/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Connection management of the peer on this side, by uroce_cm.h: connections have numbers, and each
 * event is told when it is asked for. What is said on a connection is the test run's business.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "uroce_cm.h"
#include "uroce_peer.h"

enum {
	CONNS_MAX = 64,
	IDLE_US = 100
};

static struct uroce_conn_channel *channel;
static struct uroce_conn *conns[CONNS_MAX];

static int open_channel(void)
{
	return channel != NULL ? 0 : uroce_conn_channel_create(peer_device, &channel);
}

static int number_of(const struct uroce_conn *conn)
{
	for (int i = 0; i < CONNS_MAX; i++)
		if (conns[i] == conn)
			return i;
	return -1;
}

static struct uroce_conn **place_of(const struct args *args)
{
	uint32_t n = args_u32(args, "conn");

	return n < CONNS_MAX && conns[n] != NULL ? &conns[n] : NULL;
}

/* The answer to what made a connection. */
static int tell_number(int err, struct uroce_conn *conn)
{
	int n = number_of(NULL);

	if (err != 0)
		return err;
	if (n < 0) {
		uroce_conn_destroy(conn);
		return -ENOSPC;
	}
	conns[n] = conn;
	printf("ok conn=%d", n);
	return 1;
}

/* The address that stands in an argument, NULL without one. */
static const char *addr_of(const struct args *args)
{
	const char *addr = args_text(args, "addr");

	return strcmp(addr, "0") == 0 ? NULL : addr;
}

static int listen_at(const struct args *args)
{
	struct uroce_conn_listen_conf conf = {
		.port = (uint16_t)args_u32(args, "port"),
		.addr = addr_of(args),
		.datagrams = args_u32(args, "datagrams") != 0,
		.backlog = args_u32(args, "backlog"),
	};
	struct uroce_conn *conn = NULL;
	int err = open_channel();

	if (err == 0)
		err = uroce_conn_listen(channel, &conf, &conn);
	return tell_number(err, conn);
}

/* What connecting and accepting have in common. */
static struct uroce_conn_conf conf_of(const struct args *args, uint8_t *private_data)
{
	struct side *s = &peer_sides[args_u32(args, "qp")];

	return (struct uroce_conn_conf){
		.addr = addr_of(args),
		.port = (uint16_t)args_u32(args, "port"),
		.qp = s->qp,
		.context = s,
		.mtu_bytes = args_u32(args, "mtu"),
		.private_data = private_data,
		.private_bytes = (uint32_t)args_bytes(
			args, "private", private_data, UROCE_CONN_PRIVATE_BYTES_MAX),
	};
}

static int connect_to(const struct args *args)
{
	uint8_t private_data[UROCE_CONN_PRIVATE_BYTES_MAX];
	struct uroce_conn_conf conf = conf_of(args, private_data);
	struct uroce_conn *conn = NULL;
	int err = open_channel();

	if (err == 0)
		err = uroce_conn_connect(channel, &conf, &conn);
	return tell_number(err, conn);
}

static int accept_request(const struct args *args)
{
	uint8_t private_data[UROCE_CONN_PRIVATE_BYTES_MAX];
	struct uroce_conn_conf conf = conf_of(args, private_data);
	struct uroce_conn **conn = place_of(args);

	return conn == NULL ? -ENOENT : uroce_conn_accept(*conn, &conf);
}

static int reject_request(const struct args *args)
{
	uint8_t private_data[UROCE_CONN_PRIVATE_BYTES_MAX];
	uint32_t n = (uint32_t)args_bytes(args, "private", private_data, sizeof(private_data));
	struct uroce_conn **conn = place_of(args);

	return conn == NULL ? -ENOENT : uroce_conn_reject(*conn, private_data, n);
}

static int disconnect(const struct args *args)
{
	struct uroce_conn **conn = place_of(args);

	return conn == NULL ? -ENOENT : uroce_conn_disconnect(*conn);
}

static int destroy(const struct args *args)
{
	struct uroce_conn **conn = place_of(args);

	if (conn == NULL)
		return -ENOENT;
	uroce_conn_destroy(*conn);
	*conn = NULL;
	return 0;
}

/* To INIT, for receives to be posted; a queue pair for datagrams to RTS. */
static int prepare(const struct args *args)
{
	struct side *s = &peer_sides[args_u32(args, "qp")];

	if (s->qp == NULL)
		return -ENOENT;
	return s->type == UROCE_QP_UD ? uroce_qp_open_datagrams(s->qp, args_u32(args, "qkey"))
				      : uroce_qp_prepare(s->qp);
}

/* Where the datagrams of a queue pair go: to whom an answer named. */
static int set_way(const struct uroce_conn_event *event)
{
	for (unsigned int i = 0; i < PEER_QPS_MAX; i++) {
		struct side *s = &peer_sides[i];

		if (s->qp == NULL || event->context != s)
			continue;
		s->route.qpn = event->remote_qpn;
		s->route.qkey = event->remote_qkey;
		return uroce_ah_create(peer_pd, &event->ah, &s->ah);
	}
	return 0;
}

/* The datagrams of a queue pair go to where the last one that was polled came from. */
static int answer(const struct args *args)
{
	struct side *s = &peer_sides[args_u32(args, "qp")];
	const uint8_t *grh = args_range(args, 40);

	if (s->qp == NULL || grh == NULL)
		return -ENOENT;
	s->route.qpn = s->last.src_qpn;
	s->route.qkey = args_u32(args, "qkey");
	return uroce_ah_create_from_wc(peer_pd, &s->last, grh, &s->ah);
}

/* "type=... conn=... error=... reason=... mtu=... qpn=... private=HEX words=...", the words up to
 * the end; or "type=none" if nothing happens for ms. */
static int tell_event(const struct args *args)
{
	uint64_t limit = now_ms() + args_number(args, "ms");
	struct uroce_conn_event event;
	int n, err = open_channel();

	if (err != 0)
		return err;
	while ((n = uroce_conn_poll(channel, &event)) == 0 && now_ms() < limit)
		usleep(IDLE_US);
	if (n == 0) {
		printf("ok type=none");
		return 1;
	}
	n = number_of(event.conn);
	if (event.type == UROCE_CONN_REQUEST) {
		n = number_of(NULL);
		if (n < 0)
			return -ENOSPC;
		conns[n] = event.conn;
	}
	if (event.type == UROCE_CONN_ESTABLISHED && event.datagrams)
		err = set_way(&event);
	if (err != 0)
		return err;
	printf("ok type=%s conn=%d error=%s reason=%" PRIu32 " mtu=%" PRIu32 " qpn=%" PRIu32,
		uroce_conn_event_name(event.type), n,
		event.error == 0 ? "0" : strerrorname_np(-event.error), event.reason,
		event.path_mtu_bytes, event.remote_qpn);
	printf(" qkey=0x%" PRIx32 " private=", event.remote_qkey);
	print_bytes(event.private_data, event.private_bytes);
	printf(" words=%s", event.words);
	return 1;
}

static int counters(const struct args *args)
{
	struct uroce_cm_counters counters;
	const char *name;

	(void)args;
	uroce_conn_counters(peer_device, &counters);
	printf("ok");
	for (unsigned int i = 0; (name = uroce_cm_counter_name(i)) != NULL; i++)
		printf(" %s=%" PRIu64, name, ((const uint64_t *)&counters)[i]);
	return 1;
}

const struct command peer_cm_commands[] = {
	{"cm_listen", listen_at, false},      /* port, addr, datagrams, backlog */
	{"cm_connect", connect_to, true},     /* addr, port, mtu, private */
	{"cm_accept", accept_request, true},  /* conn, mtu, private */
	{"cm_reject", reject_request, false}, /* conn, private */
	{"cm_disconnect", disconnect, false}, /* conn */
	{"cm_destroy", destroy, false},	      /* conn */
	{"cm_prepare", prepare, true},	      /* qkey, of datagrams */
	{"cm_answer", answer, true},	      /* at: the received GRH; qkey */
	{"cm_event", tell_event, false},      /* ms */
	{"cm_counters", counters, false},
	{0},
};
