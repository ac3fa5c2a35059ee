/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The embedded EAL: memory from malloc'ed pages, no PCI, no files, ports made of rings.
 *
 * Never called behind the application's back. Ring ports are tied in pairs through two rte_rings:
 * what one sends the other receives, by handing over the buffer itself.
 */
#include "eal.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <rte_eal.h>
#include <rte_errno.h>
#include <rte_eth_ring.h>
#include <rte_lcore.h>
#include <rte_ring.h>

#include "log.h"

/* lib.uroce: the first part is for each library to define. */
#define RTE_LOG_DEFAULT_LOGTYPE lib
RTE_LOG_REGISTER_SUFFIX(uroce_log_type, uroce, NOTICE);

enum {
	RING_FRAMES = 1024
};

/* EAL keeps its socket under XDG_RUNTIME_DIR, which a changed user inherits but cannot write. */
static void provide_runtime_dir(void)
{
	const char *dir = getenv("XDG_RUNTIME_DIR");

	if (geteuid() != 0 && dir && access(dir, W_OK) != 0)
		setenv("XDG_RUNTIME_DIR", "/tmp", 1);
}

static int init_eal(void)
{
	char prefix[48], memory[] = "512";
	char *argv[] = {(char[]){"uroce"}, (char[]){"--no-huge"}, (char[]){"--no-pci"},
		(char[]){"--no-shconf"}, (char[]){"-m"}, memory, (char[]){"--file-prefix"}, prefix,
		(char[]){"--log-level"}, (char[]){"lib.eal:error"}, (char[]){"--log-level"},
		(char[]){"lib.telemetry:error"}, NULL};
	int argc = (int)(sizeof(argv) / sizeof(argv[0])) - 1;

	snprintf(prefix, sizeof(prefix), "uroce-%d", (int)getpid());
	provide_runtime_dir();
	if (rte_eal_init(argc, argv) >= 0)
		return 0;
	fprintf(stderr,
		"uroce: EAL would not start: %s. It was asked for 512 MB without hugepages; "
		"free some memory, or call rte_eal_init yourself with your own arguments.\n",
		rte_strerror(rte_errno));
	return rte_errno == EALREADY ? -EALREADY : -rte_errno;
}

static int create_ports(unsigned int num_ports)
{
	struct rte_ring *rings[UROCE_EMBEDDED_PORTS_MAX];
	char name[32];

	for (unsigned int i = 0; i < num_ports; i++) {
		snprintf(name, sizeof(name), "uroce_wire_%u", i);
		rings[i] = rte_ring_create(
			name, RING_FRAMES, SOCKET_ID_ANY, RING_F_SP_ENQ | RING_F_SC_DEQ);
		if (!rings[i])
			return -rte_errno;
	}
	for (unsigned int i = 0; i < num_ports; i++) {
		unsigned int other = (i ^ 1) < num_ports ? i ^ 1 : i;

		snprintf(name, sizeof(name), "uroce_port_%u", i);
		/* Receives from its own ring, sends to the other's. */
		if (rte_eth_from_rings(name, &rings[i], 1, &rings[other], 1, SOCKET_ID_ANY) < 0)
			return -ENODEV;
	}
	return 0;
}

int uroce_glue_eal_init(unsigned int num_ports)
{
	int err;

	if (num_ports > UROCE_EMBEDDED_PORTS_MAX)
		return -EINVAL;
	if (uroce_glue_eal_is_ready())
		return -EALREADY;
	err = init_eal();
	if (err)
		return err;
	return create_ports(num_ports);
}

bool uroce_glue_eal_is_ready(void)
{
	/* EAL counts its cores while it starts, and has none before. */
	return rte_lcore_count() > 0;
}

bool uroce_glue_eal_is_secondary(void)
{
	return rte_eal_process_type() == RTE_PROC_SECONDARY;
}
