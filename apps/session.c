/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Sessions.
 *
 * The client connects by TCP before it opens its port: then the server's port is open, and a port
 * that looks for its peer only while it starts (memif) finds it.
 */
#include "session.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "crew.h"
#include "perftest.h"

enum {
	NAP_NS = 1000000,
};

#define CONNECT_PATIENCE_NS UINT64_C(5000000000)

/* What is too large for a stack, or of both sides. */
struct session {
	struct uroce_channel channels[2];
	struct uroce_endpoint endpoints[2];
	struct uroce_perf_server server;
	struct uroce_perf_client client;
	struct uroce_perftest_link perftest;
};

static int open_endpoint(const struct uroce_session_options *options,
	struct uroce_endpoint *endpoint, uint16_t port_id, const char *addr)
{
	return uroce_endpoint_open(endpoint, port_id,
		&(struct uroce_endpoint_conf){.addr = addr,
			.mtu_bytes = options->mtu_bytes,
			.workers = options->workers,
			.queues = options->queues,
			.pace = options->pace});
}

/* ---- the client's side ---- */

static int connect_server(
	const struct uroce_session_options *options, struct uroce_channel *channel)
{
	uint64_t since_ns = uroce_app_clock_ns(), waited_ns = 0;
	int err;

	/* The two are often started by one script, and in any order. */
	do {
		err = uroce_channel_connect(
			channel, options->host, options->tcp_port, CONNECT_PATIENCE_NS - waited_ns);
		if (err != -ECONNREFUSED)
			break;
		uroce_app_nap(50 * NAP_NS);
		waited_ns = uroce_app_clock_ns() - since_ns;
	} while (waited_ns < CONNECT_PATIENCE_NS);
	if (err == -ENOENT)
		uroce_app_say("there is no host %s: give the server's name or IPv4 address",
			options->host);
	else if (err)
		uroce_app_say("cannot connect to the server, %s TCP port %u: %s. Start it first, "
			      "with --server and the same --port",
			options->host, options->tcp_port, strerror(-err));
	return err;
}

static int drive_own(struct session *session,
	int (*drive)(struct uroce_perf_client *client, void *context), void *context)
{
	if (uroce_perf_client_hello(
		    &session->client, session->endpoints, session->channels, NULL) ||
		drive(&session->client, context))
		return -1;
	uroce_perf_client_bye(&session->client);
	return 0;
}

static int drive_perftest(struct session *session,
	int (*drive)(struct uroce_perf_client *client, void *context), void *context)
{
	session->perftest = (struct uroce_perftest_link){
		.fd = session->channels->fd,
		.is_client = true,
		.endpoint = session->endpoints,
	};
	session->client.endpoint = session->endpoints;
	session->client.perftest = &session->perftest;
	return uroce_perftest_greet(&session->perftest) || drive(&session->client, context) ? -1
											    : 0;
}

static int run_client(const struct uroce_session_options *options, struct session *session,
	int (*drive)(struct uroce_perf_client *client, void *context), void *context)
{
	int err;

	if (connect_server(options, session->channels))
		return -1;
	err = open_endpoint(options, session->endpoints, options->port_id,
		options->addr ? options->addr : UROCE_SESSION_CLIENT_ADDR);
	if (!err)
		err = uroce_crew_start(session->endpoints, 1);
	if (!err)
		err = options->perftest ? drive_perftest(session, drive, context)
					: drive_own(session, drive, context);
	uroce_crew_stop();
	uroce_endpoint_close(session->endpoints);
	uroce_channel_close(session->channels);
	return err ? -1 : 0;
}

/* ---- the server's side ---- */

static int serve_one(const struct uroce_session_options *options, struct uroce_endpoint *endpoint,
	struct uroce_channel *channel, int only_op)
{
	struct uroce_perftest_link link = {.fd = channel->fd, .endpoint = endpoint};
	struct uroce_perf_server *server;
	int rc = 0;

	if (options->perftest)
		return uroce_perftest_serve(&link, options->perftest);
	server = malloc(sizeof(*server));
	if (!server)
		return -1;
	uroce_perf_server_init(server, endpoint, channel, only_op);
	while (rc == 0)
		rc = uroce_perf_server_step(server);
	if (rc == 1 && !options->json)
		printf("%s: served %llu tests\n", uroce_app_name,
			(unsigned long long)server->tests);
	fflush(stdout);
	uroce_perf_server_fini(server);
	free(server);
	return rc == 1 ? 0 : -1;
}

static int serve(const struct uroce_session_options *options, struct uroce_channel *channel,
	struct uroce_endpoint *endpoint, int only_op, int listener)
{
	int rc;

	do {
		/* Nothing is to be polled yet but what strangers may send. */
		while ((rc = uroce_channel_accept(listener, channel)) == 0) {
			uroce_worker_poll(endpoint->worker);
			uroce_app_nap(NAP_NS);
		}
		if (rc < 0) {
			uroce_app_say("cannot take a connection: %s", strerror(-rc));
			return -1;
		}
		rc = serve_one(options, endpoint, channel, only_op);
		uroce_channel_close(channel);
	} while (options->keep);
	return rc;
}

static int run_server(const struct uroce_session_options *options, struct uroce_channel *channel,
	struct uroce_endpoint *endpoint, int only_op)
{
	int listener, rc;

	if (open_endpoint(options, endpoint, options->port_id,
		    options->addr ? options->addr : UROCE_SESSION_SERVER_ADDR))
		return -1;
	listener = uroce_channel_listen(options->bind, options->tcp_port);
	if (listener < 0) {
		uroce_app_say("cannot listen on TCP port %u: %s. Choose another with --port (on "
			      "both sides)",
			options->tcp_port, strerror(-listener));
		uroce_endpoint_close(endpoint);
		return -1;
	}
	if (!options->json)
		printf("%s: waiting for a client on TCP port %u\n", uroce_app_name,
			options->tcp_port);
	fflush(stdout);
	rc = uroce_crew_start(endpoint, 1);
	if (!rc)
		rc = serve(options, channel, endpoint, only_op, listener);
	uroce_crew_stop();
	close(listener);
	uroce_endpoint_close(endpoint);
	return rc;
}

/* ---- both ---- */

static int run_loopback(const struct uroce_session_options *options, struct session *session,
	int (*drive)(struct uroce_perf_client *client, void *context), void *context)
{
	struct uroce_endpoint *near = &session->endpoints[0], *far = &session->endpoints[1];
	int err;

	uroce_channel_pair(&session->channels[0], &session->channels[1]);
	err = open_endpoint(options, near, options->port_id, UROCE_SESSION_CLIENT_ADDR);
	if (!err)
		err = open_endpoint(
			options, far, (uint16_t)(options->port_id + 1), UROCE_SESSION_SERVER_ADDR);
	if (!err)
		err = uroce_crew_start(session->endpoints, 2);
	if (!err) {
		uroce_perf_server_init(&session->server, far, &session->channels[1], -1);
		err = uroce_perf_client_hello(
			&session->client, near, &session->channels[0], &session->server);
		if (!err)
			err = drive(&session->client, context);
		uroce_perf_server_fini(&session->server);
	}
	uroce_crew_stop();
	uroce_endpoint_close(far);
	uroce_endpoint_close(near);
	return err ? -1 : 0;
}

int uroce_session_run(const struct uroce_session_options *options,
	const struct uroce_arguments *arguments, int only_op,
	int (*drive)(struct uroce_perf_client *client, void *context), void *context)
{
	struct session *session = calloc(1, sizeof(*session));
	int err = -1;

	if (!session || uroce_app_start_eal(arguments)) {
		free(session);
		return UROCE_APP_FAILED;
	}
	switch (options->role) {
	case UROCE_SESSION_LOOPBACK:
		err = run_loopback(options, session, drive, context);
		break;
	case UROCE_SESSION_SERVER:
		err = run_server(options, session->channels, session->endpoints, only_op);
		break;
	case UROCE_SESSION_CLIENT:
		err = run_client(options, session, drive, context);
		break;
	}
	uroce_app_stop_eal();
	free(session);
	return uroce_app_finish_output(err ? UROCE_APP_FAILED : UROCE_APP_DONE);
}
