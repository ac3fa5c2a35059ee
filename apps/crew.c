/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One loop per lcore, over the workers of all endpoints that have the same number: both sides of a
 * program that talks to itself need the cores that there are.
 */
#include "crew.h"

#include <sched.h>
#include <stdatomic.h>

#include <rte_launch.h>
#include <rte_lcore.h>

#include "common.h"

enum {
	ENDPOINTS_MAX = 2,
	WORKERS_MAX = 16,
	IDLE_TURNS = 100, /* as in endpoint.c */
};

struct hand {
	struct uroce_worker *workers[ENDPOINTS_MAX];
	unsigned int num;
	unsigned int lcore;
};

static struct hand hands[WORKERS_MAX];
static unsigned int num_hands;
static atomic_bool stop;

static int loop(void *arg)
{
	struct hand *hand = arg;
	unsigned int idle = 0;

	while (!atomic_load_explicit(&stop, memory_order_relaxed)) {
		unsigned int moved = 0;

		for (unsigned int i = 0; i < hand->num; i++)
			moved += uroce_worker_poll(hand->workers[i]);
		idle = moved > 0 ? 0 : idle + 1;
		if (idle >= IDLE_TURNS) {
			idle = 0;
			sched_yield();
		}
	}
	for (unsigned int i = 0; i < hand->num; i++)
		uroce_worker_offline(hand->workers[i]);
	return 0;
}

int uroce_crew_start(const struct uroce_endpoint *endpoints, unsigned int num)
{
	unsigned int workers = endpoints->attr.num_workers, lcore = rte_get_main_lcore();

	if (workers > rte_lcore_count()) {
		uroce_app_say("%u workers need as many lcores, and EAL has %u: give it more with "
			      "-l or --lcores before \"--\", like -l 0-%u",
			workers, rte_lcore_count(), workers - 1);
		return -1;
	}
	atomic_store(&stop, false);
	for (unsigned int i = 1; i < workers; i++) {
		struct hand *hand = &hands[num_hands];

		lcore = rte_get_next_lcore(lcore, 1, 1);
		*hand = (struct hand){.num = num, .lcore = lcore};
		for (unsigned int e = 0; e < num; e++)
			hand->workers[e] = uroce_device_worker(endpoints[e].device, i);
		if (rte_eal_remote_launch(loop, hand, lcore) != 0) {
			uroce_app_say("lcore %u is busy already", lcore);
			uroce_crew_stop();
			return -1;
		}
		num_hands++;
	}
	return 0;
}

void uroce_crew_stop(void)
{
	atomic_store(&stop, true);
	while (num_hands > 0)
		rte_eal_wait_lcore(hands[--num_hands].lcore);
}
