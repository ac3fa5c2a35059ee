/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Between l2fwd-uroce and who reads its counters: what the page looks like, and the line of text
 * by which two sides tell each other over TCP where their queue pair is.
 */
#ifndef UROCE_APP_L2FWD_PAGE_H
#define UROCE_APP_L2FWD_PAGE_H

#include <arpa/inet.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include <uroce.h>

enum {
	L2FWD_PORTS_MAX = 8,
	L2FWD_LINE_BYTES = 256,
	L2FWD_TCP_PORT = 18516
};

/* 8 bytes each, in the byte order of the forwarder's machine. */
struct l2fwd_page {
	uint64_t num_ports;
	struct l2fwd_counters {
		uint64_t received;
		uint64_t forwarded;    /* frames of its partner that it sent */
		uint64_t dropped;      /* those that it did not take */
		uint64_t endpoint_in;  /* of the received, those that the endpoint kept */
		uint64_t endpoint_out; /* frames of the endpoint that it sent */
	} ports[L2FWD_PORTS_MAX];
};

static inline void l2fwd_page_print(const struct l2fwd_page *page)
{
	for (uint64_t i = 0; i < page->num_ports && i < L2FWD_PORTS_MAX; i++) {
		const struct l2fwd_counters *c = &page->ports[i];

		printf("port=%" PRIu64 " received=%" PRIu64 " forwarded=%" PRIu64
		       " dropped=%" PRIu64 " endpoint_in=%" PRIu64 " endpoint_out=%" PRIu64 "\n",
			i, c->received, c->forwarded, c->dropped, c->endpoint_in, c->endpoint_out);
	}
	fflush(stdout);
}

/* Address, number, first PSN, MTU, and the page's address and key, which a reader leaves 0. */
static inline void l2fwd_record_write(char line[L2FWD_LINE_BYTES], const struct uroce_peer *peer)
{
	char gid[INET6_ADDRSTRLEN];

	inet_ntop(AF_INET6, peer->gid, gid, sizeof(gid));
	snprintf(line, L2FWD_LINE_BYTES,
		"%s %" PRIu32 " %" PRIu32 " %" PRIu32 " %" PRIx64 " %" PRIx32 "\n", gid, peer->qpn,
		peer->psn, peer->mtu_bytes, peer->addr, peer->rkey);
}

/*
 * False: that is no record. What makes no sense is left to uroce_qp_connect to refuse, and the MAC
 * to the link to tell.
 */
static inline bool l2fwd_record_read(const char *line, struct uroce_peer *peer)
{
	char gid[INET6_ADDRSTRLEN];

	memset(peer, 0, sizeof(*peer));
	return sscanf(line, "%45s %" SCNu32 " %" SCNu32 " %" SCNu32 " %" SCNx64 " %" SCNx32, gid,
		       &peer->qpn, &peer->psn, &peer->mtu_bytes, &peer->addr, &peer->rkey) == 6 &&
		inet_pton(AF_INET6, gid, peer->gid) == 1;
}

#endif
