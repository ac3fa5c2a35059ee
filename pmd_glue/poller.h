/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The poller: between one core and its queues of a port, or the workers that have queues.
 *
 * Used by one thread, the core's. uroce_poller_turn is the whole of it when uroce owns the port;
 * a host that owns the port calls uroce_poller_rx and uroce_poller_tx with bursts of its own.
 */
#ifndef UROCE_GLUE_POLLER_H
#define UROCE_GLUE_POLLER_H

#include <stdbool.h>
#include <stdint.h>

#include "core.h"
#include "exception.h"
#include "link.h"
#include "neigh.h"
#include "port.h"
#include "steer.h"

struct rte_mbuf;

enum {
	UROCE_BURST = 32,
	UROCE_LOOPED_MAX = 64
};

/* Written by the poller's thread, read by any. */
struct uroce_poller_counters {
	uint64_t rx_linearised; /* frames that came in pieces and were copied together */
	uint64_t rx_no_buffer;	/* frames in pieces that found no buffer, and were dropped */
	uint64_t rx_not_ours;	/* frames that were nobody's here, and were freed */
	uint64_t looped;	/* frames to the port's own MAC, delivered without the wire */
	uint64_t tx_kept;	/* times the port did not take a whole burst */
	uint64_t tx_refused;	/* frames that the port would not take for a long time: dropped */
	uint64_t tx_no_buffer;	/* turns without a buffer to send from */
	uint64_t handover_full; /* frames for another worker whose ring was full: dropped */
	uint64_t relayed;	/* frames sent for workers without a queue of their own */
	/* The exception path: */
	uint64_t kernel_rx;   /* frames given to the kernel */
	uint64_t kernel_tx;   /* frames of the kernel's that were sent on */
	uint64_t kernel_full; /* frames that the kernel did not take: dropped */
	uint64_t kernel_cut;  /* frames of the kernel's that no buffer holds: dropped */
};

/* Frames on their way out that were not taken yet, in order. */
struct uroce_outbox {
	struct rte_mbuf *mbufs[UROCE_BURST];
	uint32_t num;
	uint64_t stuck_since_ns; /* none are taken since then; 0: they are */
};

struct uroce_poller_conf {
	uint32_t id; /* the core's, among the workers of the port */
	struct uroce_port *port;
	struct uroce_steer *in;		   /* received by one worker, for a queue pair of another */
	struct uroce_steer *out;	   /* built by workers that have no queue to send on */
	struct uroce_neigh *neigh;	   /* NULL: ARP and such are the host's business */
	struct uroce_exception *exception; /* NULL: nobody takes what is not for the endpoint */
};

struct uroce_poller {
	struct uroce_poller_conf conf;
	bool has_rx_queue; /* that of its id */
	bool has_tx_queue; /* the same; else frames go out through worker `tx_by` */
	uint16_t tx_by;
	uint32_t num_clients;		     /* workers that send through this one */
	uint32_t full_bursts;		     /* since the queue was last seen empty */
	uint32_t kernel_turn;		     /* 1: of the room for one frame, it is the kernel's */
	struct rte_mbuf *spare[UROCE_BURST]; /* empty buffers for slots */
	uint32_t num_spare;
	struct uroce_outbox pending;
	struct uroce_outbox relay; /* of the clients */
	struct rte_mbuf *looped[UROCE_LOOPED_MAX];
	uint32_t num_looped;
	struct uroce_poller_counters counters;
};

extern const struct uroce_link_ops uroce_poller_link;

/* What conf names outlives the poller. */
void uroce_poller_init(struct uroce_poller *poller, const struct uroce_poller_conf *conf);
/* Frees the frames that it holds, and those that were passed to it. */
void uroce_poller_fini(struct uroce_poller *poller);

/* One turn over the port: receive, expire, transmit. Returns frames moved. */
uint32_t uroce_poller_turn(struct uroce_poller *poller, struct uroce_core *core, uint64_t now_ns);

/*
 * Hands n frames to the core, and what is not RoCE to the table of neighbours. Frees those that
 * they kept; those that are not this endpoint's, or not its alone, are moved to the front of mbufs
 * in order. Returns how many those are.
 */
uint32_t uroce_poller_rx(struct uroce_poller *poller, struct uroce_core *core, uint64_t now_ns,
	struct rte_mbuf **mbufs, uint32_t n);

/* Builds up to n frames for the wire; those to the port's own MAC are kept for the next turn. */
uint32_t uroce_poller_tx(struct uroce_poller *poller, struct uroce_core *core, uint64_t now_ns,
	struct rte_mbuf **mbufs, uint32_t n);

/* The same for a host, which sends the answers and questions of neighbours too: those first. */
uint32_t uroce_poller_tx_host(struct uroce_poller *poller, struct uroce_core *core, uint64_t now_ns,
	struct rte_mbuf **mbufs, uint32_t n);

/*
 * After the port's frames, of which there were `received`: delivers what was looped or handed over
 * since, and tells the core when nothing waits any more. Returns how many frames.
 */
uint32_t uroce_poller_rx_inner(
	struct uroce_poller *poller, struct uroce_core *core, uint64_t now_ns, uint32_t received);

/* For a thread that has nothing to do but to look again. */
void uroce_poller_pause(void);

/* Whether frames wait inside: looped, handed over by others, or not taken by the port yet. */
bool uroce_poller_holds_frames(const struct uroce_poller *poller);

/* Until its next turn no timer of another worker waits for what comes to this one's queue. */
void uroce_poller_excuse(struct uroce_poller *poller);

/* A descriptor that is readable while the kernel has sent something; -1: another worker's to take.
 */
int uroce_poller_kernel_fd(const struct uroce_poller *poller);

/*
 * The thread is about to sleep: a descriptor that becomes readable when the port gets frames from
 * now on, or -1 when it cannot tell. uroce_poller_listen_end takes it back.
 */
int uroce_poller_listen(struct uroce_poller *poller);
void uroce_poller_listen_end(struct uroce_poller *poller);

#endif
