/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Hand-over rings between the workers of a port.
 *
 * Bounded: a worker that does not keep up loses frames as a port's queue would, counted by who
 * passes them, and the peers send again. Head-tail-synchronised enqueue, since a worker may be an
 * application thread that is preempted at any time.
 */
#include "steer.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <rte_mbuf.h>
#include <rte_ring.h>

int uroce_steer_init(struct uroce_steer *steer, uint16_t port_id, uint32_t num,
	void (*wake)(void *arg, uint32_t id), void *wake_arg)
{
	char name[RTE_RING_NAMESIZE];

	memset(steer, 0, sizeof(*steer));
	steer->num = num;
	steer->wake = wake;
	steer->wake_arg = wake_arg;
	for (uint32_t i = 0; num > 1 && i < num; i++) {
		snprintf(name, sizeof(name), "uroce_steer_%u_%u", port_id, i);
		steer->rings[i] = rte_ring_create(
			name, UROCE_STEER_FRAMES, SOCKET_ID_ANY, RING_F_MP_HTS_ENQ | RING_F_SC_DEQ);
		if (!steer->rings[i]) {
			uroce_steer_fini(steer);
			return -ENOMEM;
		}
	}
	return 0;
}

void uroce_steer_fini(struct uroce_steer *steer)
{
	struct rte_mbuf *mbuf;

	for (uint32_t i = 0; i < steer->num; i++) {
		while (uroce_steer_pop(steer, i, &mbuf, 1) == 1)
			rte_pktmbuf_free(mbuf);
		rte_ring_free(steer->rings[i]);
		steer->rings[i] = NULL;
	}
}

bool uroce_steer_push(struct uroce_steer *steer, uint32_t to, struct rte_mbuf *mbuf)
{
	if (to >= steer->num || !steer->rings[to] || rte_ring_enqueue(steer->rings[to], mbuf) != 0)
		return false;
	steer->wake(steer->wake_arg, to);
	return true;
}

uint32_t uroce_steer_pop(
	struct uroce_steer *steer, uint32_t id, struct rte_mbuf **mbufs, uint32_t n)
{
	if (!steer->rings[id])
		return 0;
	return rte_ring_dequeue_burst(steer->rings[id], (void **)mbufs, n, NULL);
}

uint32_t uroce_steer_count(const struct uroce_steer *steer, uint32_t id)
{
	return steer->rings[id] ? rte_ring_count(steer->rings[id]) : 0;
}
