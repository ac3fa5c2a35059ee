/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Whose a port is: opening one that is somebody else's is refused in words, and changes nothing.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <rte_ethdev.h>
#include <rte_log.h>
#include <rte_mempool.h>

#include "claim.h"
#include "cunit_run.h"
#include "uroce.h"

static const struct uroce_device_conf conf = {.addr = "192.0.2.1", .num_mbufs = 1023};

/* ---- what the log says ---- */

static char *words;
static size_t words_bytes;
static FILE *words_file;

static void listen_to_log(void)
{
	words_file = open_memstream(&words, &words_bytes);
	CU_ASSERT_PTR_NOT_NULL_FATAL(words_file);
	rte_openlog_stream(words_file);
}

static void log_said(const char *what)
{
	rte_openlog_stream(NULL);
	fclose(words_file);
	if (!strstr(words, what))
		printf("\nthe log has no \"%s\": %s\n", what, words);
	CU_ASSERT_PTR_NOT_NULL(strstr(words, what));
	free(words);
}

/* ---- within the process ---- */

static struct rte_eth_dev_owner owner_of(uint16_t port_id)
{
	struct rte_eth_dev_owner owner = {0};

	CU_ASSERT_EQUAL(rte_eth_dev_owner_get(port_id, &owner), 0);
	return owner;
}

static void a_port_belongs_to_its_endpoint(void)
{
	struct uroce_device *dev;

	CU_ASSERT_EQUAL(owner_of(0).id, RTE_ETH_DEV_NO_OWNER);
	CU_ASSERT_EQUAL_FATAL(uroce_device_open(&conf, &dev), 0);
	CU_ASSERT_NOT_EQUAL(owner_of(0).id, RTE_ETH_DEV_NO_OWNER);
	CU_ASSERT_STRING_EQUAL(owner_of(0).name, "uroce");
	CU_ASSERT_EQUAL(uroce_device_close(dev), 0);
	CU_ASSERT_EQUAL(owner_of(0).id, RTE_ETH_DEV_NO_OWNER);
}

static void a_port_of_another_is_ebusy(void)
{
	struct rte_eth_dev_owner bond = {.name = "a bond"};
	struct uroce_device *dev;

	CU_ASSERT_EQUAL(rte_eth_dev_owner_new(&bond.id), 0);
	CU_ASSERT_EQUAL(rte_eth_dev_owner_set(0, &bond), 0);
	listen_to_log();
	CU_ASSERT_EQUAL(uroce_device_open(&conf, &dev), -EBUSY);
	log_said("port 0 belongs to \"a bond\" already");
	CU_ASSERT_EQUAL(owner_of(0).id, bond.id);
	CU_ASSERT_EQUAL(rte_eth_dev_owner_unset(0, bond.id), 0);
}

static void start_as_a_host(struct rte_mempool *pool)
{
	const struct rte_eth_conf port_conf = {0};

	CU_ASSERT_EQUAL_FATAL(rte_eth_dev_configure(0, 1, 1, &port_conf), 0);
	CU_ASSERT_EQUAL_FATAL(rte_eth_rx_queue_setup(0, 0, 64, SOCKET_ID_ANY, NULL, pool), 0);
	CU_ASSERT_EQUAL_FATAL(rte_eth_tx_queue_setup(0, 0, 64, SOCKET_ID_ANY, NULL), 0);
	CU_ASSERT_EQUAL_FATAL(rte_eth_dev_start(0), 0);
}

static void a_port_that_runs_is_ebusy_and_runs_on(void)
{
	const struct rte_eth_conf port_conf = {0};
	struct uroce_device_conf embedded = conf;
	struct uroce_device *dev;
	struct rte_mempool *pool = rte_pktmbuf_pool_create("host", 255, 0, 0, 2048, SOCKET_ID_ANY);

	start_as_a_host(pool);
	listen_to_log();
	CU_ASSERT_EQUAL(uroce_device_open(&conf, &dev), -EBUSY);
	log_said("port 0 is running");
	/* What runs cannot be configured. */
	CU_ASSERT_EQUAL(rte_eth_dev_configure(0, 1, 1, &port_conf), -EBUSY);
	CU_ASSERT_EQUAL(owner_of(0).id, RTE_ETH_DEV_NO_OWNER);
	/* As part of its host an endpoint takes it as it is, and leaves it so. */
	embedded.host_owns_port = true;
	CU_ASSERT_EQUAL_FATAL(uroce_device_open(&embedded, &dev), 0);
	CU_ASSERT_EQUAL(owner_of(0).id, RTE_ETH_DEV_NO_OWNER);
	CU_ASSERT_EQUAL(uroce_device_close(dev), 0);
	CU_ASSERT_EQUAL(rte_eth_dev_configure(0, 1, 1, &port_conf), -EBUSY);
	CU_ASSERT_EQUAL(rte_eth_dev_stop(0), 0);
	CU_ASSERT_EQUAL_FATAL(uroce_device_open(&conf, &dev), 0);
	CU_ASSERT_EQUAL(uroce_device_close(dev), 0);
	rte_mempool_free(pool);
}

/* ---- between processes ---- */

/* An interface that is not there; claims are by number alone. */
static uint32_t some_interface(void)
{
	return 0x40000000u + (uint32_t)getpid();
}

/* What comes of a claim in another process, which ends then without giving it back. */
static int claim_in_another_process(uint32_t if_index)
{
	int status;
	pid_t child = fork();

	CU_ASSERT_TRUE_FATAL(child >= 0);
	if (child == 0) {
		struct uroce_claim claim;
		int err = uroce_claim_take(&claim, 1, if_index);

		/* EAL's memory is that of both; the interface it does not give back. */
		if (!err)
			rte_eth_dev_owner_unset(1, claim.owner);
		_exit(-err);
	}
	CU_ASSERT_EQUAL(waitpid(child, &status, 0), child);
	CU_ASSERT_TRUE(WIFEXITED(status));
	return -WEXITSTATUS(status);
}

static void an_interface_has_one_process(void)
{
	uint32_t mine = some_interface();
	struct uroce_claim claim;

	CU_ASSERT_EQUAL(uroce_claim_take(&claim, 0, mine), 0);
	CU_ASSERT_EQUAL(claim_in_another_process(mine), -EBUSY);
	/* More often than anybody waits at the door of the name. */
	for (int i = 0; i < 5; i++)
		CU_ASSERT_EQUAL(claim_in_another_process(mine), -EBUSY);
	CU_ASSERT_EQUAL(claim_in_another_process(mine + 1), 0);
	/* Ports without one do not meet there. */
	CU_ASSERT_EQUAL(claim_in_another_process(0), 0);
	uroce_claim_release(&claim);
	CU_ASSERT_EQUAL(claim_in_another_process(mine), 0);
	/* Who has ended holds nothing. */
	CU_ASSERT_EQUAL(uroce_claim_take(&claim, 0, mine), 0);
	uroce_claim_release(&claim);
	uroce_claim_release(&claim);
}

static void the_other_process_is_named(void)
{
	struct uroce_claim claim, other;
	char who[32];

	CU_ASSERT_EQUAL(uroce_claim_take(&claim, 0, some_interface()), 0);
	listen_to_log();
	CU_ASSERT_EQUAL(uroce_claim_take(&other, 1, some_interface()), -EBUSY);
	snprintf(who, sizeof(who), "another process (%d)", (int)getpid());
	log_said(who);
	/* What was refused has taken nothing, the port neither. */
	CU_ASSERT_EQUAL(owner_of(1).id, RTE_ETH_DEV_NO_OWNER);
	CU_ASSERT_EQUAL(other.fd, -1);
	uroce_claim_release(&claim);
}

int main(void)
{
	static const struct unit_case cases[] = {
		{"a port belongs to its endpoint until that is closed",
			a_port_belongs_to_its_endpoint},
		{"a port of another owner is EBUSY, and stays the other's",
			a_port_of_another_is_ebusy},
		{"a port that runs is EBUSY, and runs on", a_port_that_runs_is_ebusy_and_runs_on},
		{"an interface has one process", an_interface_has_one_process},
		{"the process that has an interface is named", the_other_process_is_named},
	};

	if (uroce_eal_init_embedded(2) != 0)
		return 1;
	return run_suite("claim", cases, sizeof(cases) / sizeof(cases[0]));
}
