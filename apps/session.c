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
	struct uroce_perf_cm cms[2];
	char server_addr[64]; /* of the loopback */
	struct uroce_perf_server server;
	struct uroce_perf_client client;
	struct uroce_perftest_link perftest;
};

/* On the port that the user names, or one behind it. */
static int open_endpoint(const struct uroce_session_options *options,
	struct uroce_endpoint *endpoint, uint16_t behind, const char *default_addr)
{
	const struct uroce_device_conf conf = {.port_id = (uint16_t)(options->port_id + behind),
		.addr = options->addr ? options->addr : default_addr,
		.mtu_bytes = options->mtu_bytes,
		.num_workers = options->workers,
		.num_queues = options->queues,
		.exception_path = options->exception_path};
	int err = uroce_endpoint_open(endpoint, &conf);

	endpoint->pace = options->pace;
	return err;
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

static void end_client(struct session *session)
{
	uroce_channel_close(session->channels);
	uroce_perf_cm_close(session->cms);
	uroce_crew_stop();
	uroce_endpoint_close(session->endpoints);
}

/* Against a server of these programs; cm: NULL, or what has connected to it. */
static int drive_own(struct session *session, struct uroce_perf_cm *cm,
	int (*drive)(struct uroce_perf_client *client, void *context), void *context)
{
	if (uroce_perf_client_hello(
		    &session->client, session->endpoints, session->channels, NULL, cm) ||
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
	struct uroce_endpoint *endpoint = session->endpoints;
	struct uroce_channel *channel = session->channels;
	struct uroce_perf_cm *cm = options->cm ? session->cms : NULL;
	int err = cm ? 0 : connect_server(options, channel);

	if (err)
		return -1;
	err = open_endpoint(options, endpoint, 0, UROCE_SESSION_CLIENT_ADDR);
	if (!err)
		err = uroce_crew_start(endpoint, 1);
	if (!err && cm)
		err = uroce_perf_cm_open(cm, endpoint);
	if (!err && cm)
		err = uroce_perf_cm_connect(cm, options->host, options->tcp_port, channel);
	if (!err)
		err = options->perftest ? drive_perftest(session, drive, context)
					: drive_own(session, cm, drive, context);
	end_client(session);
	return err ? -1 : 0;
}

/* ---- the server's side ---- */

static int serve_one(const struct uroce_session_options *options, struct session *session,
	struct uroce_perf_cm *cm, int only_op)
{
	struct uroce_perf_server *server = &session->server;
	struct uroce_perftest_link link = {
		.fd = session->channels->fd, .endpoint = session->endpoints};
	int rc = 0;

	if (options->perftest)
		return uroce_perftest_serve(&link, options->perftest);

	uroce_perf_server_init(server, session->endpoints, session->channels, cm, only_op);
	while (rc == 0)
		rc = uroce_perf_server_step(server);
	if (rc == 1 && !options->json)
		printf("%s: served %llu tests\n", uroce_app_name,
			(unsigned long long)server->tests);
	fflush(stdout);
	uroce_perf_server_fini(server);
	return rc == 1 ? 0 : -1;
}

/* Whether a client came; a negative errno: none will. */
static int look_for_client(struct session *session, struct uroce_perf_cm *cm, int listener)
{
	return cm ? uroce_perf_cm_accept(cm, session->channels)
		  : uroce_channel_accept(listener, session->channels);
}

static int serve(const struct uroce_session_options *options, struct session *session, int only_op,
	int listener)
{
	struct uroce_perf_cm *cm = options->cm ? session->cms : NULL;
	int rc;

	do {
		/* Nothing is to be polled yet but what strangers may send, or a kernel. */
		while ((rc = look_for_client(session, cm, listener)) == 0)
			if (uroce_worker_poll(session->endpoints->worker) == 0)
				uroce_app_nap(NAP_NS);
		if (rc < 0) {
			uroce_app_say("cannot take a connection: %s", strerror(-rc));
			return -1;
		}
		rc = serve_one(options, session, cm, only_op);
		uroce_channel_close(session->channels);
	} while (options->keep);
	return rc;
}

/* By TCP; the descriptor to listen on, or -1 after words. */
static int listen_tcp(const struct uroce_session_options *options)
{
	int listener = uroce_channel_listen(options->bind, options->tcp_port);

	if (listener < 0)
		uroce_app_say("cannot listen on TCP port %u: %s. Choose another with --port (on "
			      "both sides)",
			options->tcp_port, strerror(-listener));
	return listener;
}

static int run_server(
	const struct uroce_session_options *options, struct session *session, int only_op)
{
	int listener = -1, rc;

	if (open_endpoint(options, session->endpoints, 0, UROCE_SESSION_SERVER_ADDR))
		return -1;
	rc = uroce_crew_start(session->endpoints, 1);
	if (!rc && options->cm)
		rc = uroce_perf_cm_open(session->cms, session->endpoints) ||
			uroce_perf_cm_listen(session->cms, options->tcp_port);
	else if (!rc)
		rc = (listener = listen_tcp(options)) < 0;
	if (!rc) {
		if (!options->json)
			printf("%s: waiting for a client on %s port %u\n", uroce_app_name,
				options->cm ? "connection management's" : "TCP", options->tcp_port);
		fflush(stdout);
		rc = serve(options, session, only_op, listener);
	}
	if (listener >= 0)
		close(listener);
	uroce_perf_cm_close(session->cms);
	uroce_crew_stop();
	uroce_endpoint_close(session->endpoints);
	return rc ? -1 : 0;
}

/* ---- both ---- */

/* Both ends of connection management within this process. */
static int open_cms(const struct uroce_session_options *options, struct session *session)
{
	if (uroce_perf_cm_open(&session->cms[0], &session->endpoints[0]) ||
		uroce_perf_cm_open(&session->cms[1], &session->endpoints[1]) ||
		uroce_perf_cm_listen(&session->cms[1], options->tcp_port))
		return -1;
	session->cms[0].host = session->server_addr;
	session->cms[0].port = options->tcp_port;
	snprintf(session->server_addr, sizeof(session->server_addr), "%.*s",
		(int)strcspn(UROCE_SESSION_SERVER_ADDR, "/"), UROCE_SESSION_SERVER_ADDR);
	return 0;
}

static int run_loopback(const struct uroce_session_options *options, struct session *session,
	int (*drive)(struct uroce_perf_client *client, void *context), void *context)
{
	struct uroce_endpoint *near = &session->endpoints[0], *far = &session->endpoints[1];
	struct uroce_perf_cm *cms = options->cm ? session->cms : NULL;
	int err;

	uroce_channel_pair(&session->channels[0], &session->channels[1]);
	err = open_endpoint(options, near, 0, UROCE_SESSION_CLIENT_ADDR);
	if (!err)
		err = open_endpoint(options, far, 1, UROCE_SESSION_SERVER_ADDR);
	if (!err)
		err = uroce_crew_start(session->endpoints, 2);
	if (!err && cms)
		err = open_cms(options, session);
	if (!err) {
		uroce_perf_server_init(
			&session->server, far, &session->channels[1], cms ? &cms[1] : NULL, -1);
		err = uroce_perf_client_hello(
			&session->client, near, &session->channels[0], &session->server, cms);
		if (!err)
			err = drive(&session->client, context);
		uroce_perf_server_fini(&session->server);
	}
	uroce_perf_cm_close(&session->cms[1]);
	uroce_perf_cm_close(&session->cms[0]);
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
		err = run_server(options, session, only_op);
		break;
	case UROCE_SESSION_CLIENT:
		err = run_client(options, session, drive, context);
		break;
	}
	uroce_app_stop_eal();
	free(session);
	return uroce_app_finish_output(err ? UROCE_APP_FAILED : UROCE_APP_DONE);
}
