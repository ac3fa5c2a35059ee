/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * EAL and endpoints of the programs. No other file of them but crew.c knows DPDK.
 */
#include "endpoint.h"

#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <rte_eal.h>
#include <rte_errno.h>

#include "common.h"

enum {
	IDLE_TURNS = 100, /* some ten microseconds: longer than an answer takes */
};

/* EAL's folder of a program that brought no arguments: nobody else would ever remove it. */
static char folder[256];

/* At exit, and registered before EAL's own: only after those is the folder empty. */
static void remove_folder(void)
{
	if (*folder)
		rmdir(folder);
}

void uroce_arguments_split(struct uroce_arguments *arguments, int argc, char **argv)
{
	*arguments = (struct uroce_arguments){.argc = argc - 1, .argv = argv + 1};
	for (int i = 1; i < argc; i++) {
		if (strcmp(argv[i], "--") != 0)
			continue;
		arguments->eal_argc = i;
		arguments->eal_argv = argv;
		arguments->argc = argc - i - 1;
		arguments->argv = argv + i + 1;
		return;
	}
}

static int start_given(const struct uroce_arguments *arguments)
{
	if (rte_eal_init(arguments->eal_argc, arguments->eal_argv) >= 0)
		return 0;
	uroce_app_say("DPDK (EAL) would not start: %s. Look at the arguments before \"--\"; "
		      "without hugepages it needs --no-huge -m 512, a second process "
		      "--file-prefix NAME, real network cards need root",
		rte_strerror(rte_errno));
	return -EIO;
}

static int start_embedded(void)
{
	int err;

	atexit(remove_folder);
	err = uroce_eal_init_embedded(2);
	if (!err)
		snprintf(folder, sizeof(folder), "%s", rte_eal_get_runtime_dir());
	if (err == -ENODEV)
		uroce_app_say("DPDK's memory ring drivers are missing: install librte-net-ring23 "
			      "and librte-mempool-ring23");
	else if (err)
		uroce_app_say("DPDK (EAL) would not start: %s. It needs 512 MB of free memory; "
			      "other arguments for it go before \"--\"",
			strerror(-err));
	return err;
}

int uroce_app_start_eal(const struct uroce_arguments *arguments)
{
	return arguments->eal_argc ? start_given(arguments) : start_embedded();
}

void uroce_app_stop_eal(void)
{
	rte_eal_cleanup();
}

static void explain_open(int err, const struct uroce_device_conf *conf)
{
	if (err == -ENODEV)
		uroce_app_say("there is no DPDK port %u. Give EAL one before \"--\", for example "
			      "--vdev=net_af_packet0,iface=veth0, or choose another with --port-id",
			conf->port_id);
	else if (err == -EINVAL)
		uroce_app_say("DPDK port %u would not open with the address %s: it has to be an "
			      "address like 192.0.2.1/24 or 2001:db8::1/64",
			conf->port_id, conf->addr);
	else if (err == -EMSGSIZE)
		uroce_app_say("the MTU of DPDK port %u has no room for RoCE: raise that of the "
			      "interface to 324 or more",
			conf->port_id);
	else if (conf->exception_path && (err == -EPERM || err == -EBUSY || err == -ENOENT))
		uroce_app_say("DPDK port %u, or the interface %s behind it, cannot be had: %s; the "
			      "line above says which. An exception path takes root, /dev/net/tun, "
			      "and a name that is not in use",
			conf->port_id, conf->exception_path, strerror(-err));
	else if (err == -EBUSY)
		uroce_app_say("DPDK port %u is in use already; the line above says by whom",
			conf->port_id);
	else
		uroce_app_say("DPDK port %u would not open: %s", conf->port_id, strerror(-err));
}

int uroce_endpoint_open(struct uroce_endpoint *endpoint, const struct uroce_device_conf *conf)
{
	int err;

	memset(endpoint, 0, sizeof(*endpoint));
	err = uroce_device_open(conf, &endpoint->device);
	if (err) {
		explain_open(err, conf);
		return err;
	}
	endpoint->worker = uroce_device_worker(endpoint->device, 0);
	uroce_device_query(endpoint->device, &endpoint->attr);
	err = uroce_pd_create(endpoint->device, &endpoint->pd);
	if (err) {
		uroce_app_say("no memory for a protection domain");
		uroce_endpoint_close(endpoint);
	}
	return err;
}

unsigned int uroce_endpoint_poll(struct uroce_endpoint *endpoint)
{
	unsigned int moved = uroce_worker_poll(endpoint->worker);

	if (moved > 0) {
		endpoint->idle_turns = 0;
	} else if (++endpoint->idle_turns >= IDLE_TURNS) {
		endpoint->idle_turns = 0;
		sched_yield();
	}
	return moved;
}

void uroce_endpoint_close(struct uroce_endpoint *endpoint)
{
	if (!endpoint->device)
		return;
	uroce_worker_offline(endpoint->worker);
	if (endpoint->pd)
		uroce_pd_destroy(endpoint->pd);
	uroce_device_close(endpoint->device);
	memset(endpoint, 0, sizeof(*endpoint));
}
