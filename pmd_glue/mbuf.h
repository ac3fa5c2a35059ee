/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Between mbufs and the core's views and slots.
 */
#ifndef UROCE_GLUE_MBUF_H
#define UROCE_GLUE_MBUF_H

#include <rte_mbuf.h>

#include "core.h"

/* What the port has taken off the frame: one VLAN tag or two. */
static inline void uroce_mbuf_view_tags(const struct rte_mbuf *mbuf, struct uroce_pkt *pkt)
{
	pkt->tci = mbuf->vlan_tci;
	pkt->flags |= UROCE_PKT_TAG_STRIPPED;
	if (mbuf->ol_flags & RTE_MBUF_F_RX_QINQ_STRIPPED)
		pkt->flags |= UROCE_PKT_TAGS_STRIPPED;
}

/* A view of a received frame in one segment; flags: what else is known of it. */
static inline void uroce_mbuf_view(
	const struct rte_mbuf *mbuf, uint16_t flags, struct uroce_pkt *pkt)
{
	pkt->data = rte_pktmbuf_mtod(mbuf, const uint8_t *);
	pkt->bytes = rte_pktmbuf_data_len(mbuf);
	pkt->flags = flags;
	if ((mbuf->ol_flags & RTE_MBUF_F_RX_IP_CKSUM_MASK) == RTE_MBUF_F_RX_IP_CKSUM_GOOD)
		pkt->flags |= UROCE_PKT_IPV4_CHECKSUM_OK;
	if (mbuf->ol_flags & (RTE_MBUF_F_RX_VLAN_STRIPPED | RTE_MBUF_F_RX_QINQ_STRIPPED))
		uroce_mbuf_view_tags(mbuf, pkt);
}

/*
 * A copy of a chain in one segment, from pool; NULL when the pool is empty or the frame larger
 * than its buffers. Wherever the chain was cut, the core sees contiguous bytes.
 */
static inline struct rte_mbuf *uroce_mbuf_linear_copy(
	const struct rte_mbuf *mbuf, struct rte_mempool *pool)
{
	struct rte_mbuf *copy = rte_pktmbuf_alloc(pool);
	uint8_t *to;

	if (!copy)
		return NULL;
	if (rte_pktmbuf_pkt_len(mbuf) > rte_pktmbuf_tailroom(copy)) {
		rte_pktmbuf_free(copy);
		return NULL;
	}
	copy->ol_flags = mbuf->ol_flags;
	copy->vlan_tci = mbuf->vlan_tci;
	for (const struct rte_mbuf *seg = mbuf; seg; seg = seg->next) {
		to = (uint8_t *)rte_pktmbuf_append(copy, rte_pktmbuf_data_len(seg));
		memcpy(to, rte_pktmbuf_mtod(seg, const uint8_t *), rte_pktmbuf_data_len(seg));
	}
	return copy;
}

/* A slot over an empty mbuf. */
static inline void uroce_mbuf_slot(struct rte_mbuf *mbuf, struct uroce_slot *slot)
{
	slot->data = rte_pktmbuf_mtod(mbuf, uint8_t *);
	slot->capacity_bytes = rte_pktmbuf_tailroom(mbuf);
	slot->bytes = 0;
}

/* The core has filled the slot over mbuf. */
static inline void uroce_mbuf_take_slot(struct rte_mbuf *mbuf, const struct uroce_slot *slot)
{
	mbuf->data_len = (uint16_t)slot->bytes;
	mbuf->pkt_len = slot->bytes;
}

#endif
