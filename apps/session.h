/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A program's run: who talks to whom. Both sides in one process over ports in memory, or a server
 * and a client in two processes that find each other by TCP, or by connection management.
 */
#ifndef UROCE_APP_SESSION_H
#define UROCE_APP_SESSION_H

#include <stdbool.h>
#include <stdint.h>

#include "common.h"
#include "endpoint.h"
#include "perf_client.h"

/* Of the endpoints, unless the user says otherwise. */
#define UROCE_SESSION_SERVER_ADDR "192.0.2.1/24"
#define UROCE_SESSION_CLIENT_ADDR "192.0.2.2/24"

enum uroce_session_role {
	UROCE_SESSION_LOOPBACK,
	UROCE_SESSION_SERVER,
	UROCE_SESSION_CLIENT,
};

struct uroce_session_options {
	enum uroce_session_role role;
	bool role_is_given;
	const char *host;	    /* of the client: where the server is */
	const char *bind;	    /* of the server: NULL: any address */
	const char *addr;	    /* of the endpoint; NULL: the role's default */
	const char *exception_path; /* an interface to share the port with the kernel by; NULL */
	uint16_t tcp_port;
	uint16_t port_id;
	uint16_t mtu_bytes; /* 0: what the port has */
	uint16_t workers;   /* 0: one */
	uint16_t queues;    /* of the port; 0: as many as the library takes */
	struct uroce_endpoint_pace pace;
	bool keep;
	bool cm; /* the sides find each other by connection management */
	bool json;
	bool help;
	/* The one test, if the other side is perftest; NULL: it is of these programs. */
	const struct uroce_perf_test *perftest;
};

/*
 * Options that set these; the context of uroce_options_parse has to begin with a struct
 * uroce_session_options, from uroce_session_options_init.
 */
extern const struct uroce_option uroce_session_table[];
/* How they are explained: lines for --help. */
extern const char uroce_session_help[];

void uroce_session_options_init(struct uroce_session_options *options);

/* Whether they fit each other and the command line. False: words were said. */
bool uroce_session_options_check(
	const struct uroce_session_options *options, const struct uroce_arguments *arguments);

/*
 * Does everything from EAL's start to its end, and returns the exit status. In the client's process
 * drive() runs the tests (0, or -1 after words); the server's process serves, only_op if it is one
 * and not -1.
 */
int uroce_session_run(const struct uroce_session_options *options,
	const struct uroce_arguments *arguments, int only_op,
	int (*drive)(struct uroce_perf_client *client, void *context), void *context);

#endif
