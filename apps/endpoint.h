/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Where a program's EAL and its endpoint come from. As DPDK users expect: EAL's arguments, then
 * "--", then the program's own. Without a "--" they are all the program's own, and EAL gets the
 * embedded defaults: no hugepages, no root, two ports in memory that hear each other.
 */
#ifndef UROCE_APP_ENDPOINT_H
#define UROCE_APP_ENDPOINT_H

#include <stdbool.h>
#include <stdint.h>

#include "uroce.h"

/* A command line in two halves. */
struct uroce_arguments {
	int eal_argc; /* 0: there was no "--" */
	char **eal_argv;
	int argc; /* the program's own, its name not included */
	char **argv;
};

void uroce_arguments_split(struct uroce_arguments *arguments, int argc, char **argv);

/* Starts EAL. Returns 0, or a negative errno after words on standard error. */
int uroce_app_start_eal(const struct uroce_arguments *arguments);
/* Ends EAL, with what it left in the file system. Close every endpoint first. */
void uroce_app_stop_eal(void);

/* What the user may choose of how queue pairs send; see struct uroce_qp_modify_attr. */
struct uroce_endpoint_pace {
	bool dcqcn;
	uint32_t keepalive_ms;
	uint64_t rate_limit_bps;
};

struct uroce_endpoint {
	struct uroce_device *device;
	struct uroce_worker *worker;
	struct uroce_pd *pd;
	struct uroce_device_attr attr;
	struct uroce_endpoint_pace pace;
	uint32_t idle_turns;
};

/* Opens an endpoint on a port. Returns 0, or a negative errno after words on standard error. */
int uroce_endpoint_open(struct uroce_endpoint *endpoint, const struct uroce_device_conf *conf);
/*
 * One turn of its first worker (for others, see crew.h); returns what uroce_worker_poll does. Where
 * nothing has moved for some time the core is offered to others: the peer's process may be waiting
 * for this very core.
 */
unsigned int uroce_endpoint_poll(struct uroce_endpoint *endpoint);
/* Closes it; nothing if it is not open. */
void uroce_endpoint_close(struct uroce_endpoint *endpoint);

#endif
