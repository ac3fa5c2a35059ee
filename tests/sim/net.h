/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A network: any number of nodes around one switch, on a clock of its own.
 *
 * A frame leaves its node at the rate of the node's port, reaches the switch after the port's
 * latency, waits in the queue of the port that owns its destination MAC (a full queue drops it),
 * leaves at that port's rate, and waits at the node until that takes a turn. Nothing is random but
 * by seed and nothing waits: a second of simulated time costs what happens in it.
 *
 * What befalls a frame is its fate. Fates are drawn (by chance, in millionths, and by a mask over
 * the first 64 frames) and noted as they are, or taken from such notes: a run that is given the
 * notes of another is the same run. A frame goes by the queue pair number it is for and its turn
 * among the frames for that, so notes stay good when other traffic is taken away.
 */
#ifndef UROCE_TESTS_NET_H
#define UROCE_TESTS_NET_H

#include <stdbool.h>
#include <stdint.h>

#include "node.h"

enum {
	NET_QUEUE_FRAMES = 1024,
};

enum net_fate_kind {
	NET_LOSE,
	NET_DELAY,     /* arg: ns by which it comes later than its turn */
	NET_FLIP,      /* arg: the bit */
	NET_DUPLICATE, /* arg: ns by which the second comes later */
};

struct net_fate {
	uint32_t qpn;	 /* the frame's destination */
	uint32_t number; /* from 0, among the frames for it */
	enum net_fate_kind kind;
	uint64_t arg;
};

struct net_port_conf {
	uint64_t ns_per_kib;   /* 1 / rate, either way */
	uint64_t latency_ns;   /* node to switch, and switch to node */
	uint32_t queue_frames; /* the switch's queue to this port; 0: NET_QUEUE_FRAMES */
	uint32_t rx_frames;    /* what waits at the node; 0: NET_QUEUE_FRAMES */
	uint32_t burst;	       /* frames per turn and direction at most; 0: 32 */
	uint32_t tx_slots;     /* slots offered per call; 0: 1 */
	/* The switch marks what joins a longer queue to this port than mark_min_bytes, if it may be
	 * marked: by a chance that rises to mark_max_ppm at mark_max_bytes, and beyond always. */
	uint32_t mark_min_bytes;
	uint32_t mark_max_bytes; /* 0: never */
	uint32_t mark_max_ppm;
};

/* A span of time in which a node takes no turn. */
struct net_pause {
	uint32_t node;
	uint64_t from_ns;
	uint64_t until_ns;
};

struct net_conf {
	uint32_t num_nodes;
	const struct node_conf *nodes;
	const struct net_port_conf *ports; /* of each node */
	uint64_t seed;
	uint64_t loss_mask; /* bit i: the i-th frame of all is lost */
	uint32_t loss_ppm;
	uint32_t duplicate_ppm;
	uint32_t reorder_ppm;
	uint32_t flip_ppm;
	bool explicit_fates; /* the above do not count; these do, by number for each queue pair */
	const struct net_fate *fates;
	uint32_t num_fates;
	const struct net_pause *pauses;
	uint32_t num_pauses;
	/* Sees every frame as it leaves its node, also those that will be lost. */
	void (*tap)(void *arg, uint64_t time_ns, const uint8_t *data, uint32_t bytes);
	void *tap_arg;
};

/* The frames for one queue pair number. */
struct net_flow {
	uint32_t qpn;
	uint32_t frames;
	uint32_t faults; /* fates and full queues */
	uint32_t cursor; /* explicit fates: all before are past */
};

struct net_frame;
struct net_event;

struct net_port {
	struct net_port_conf conf;
	uint64_t up_free_ns;
	uint64_t down_free_ns;
	uint64_t *leaving_ns; /* of the frames in the switch's queue, a ring */
	uint32_t queue_head;
	uint32_t queued;
	uint64_t queue_peak_bytes; /* since somebody last set it to 0 */
	uint64_t marked;
	struct net_frame *rx_first;
	struct net_frame *rx_last;
	uint32_t rx_waiting;
};

struct net {
	struct net_conf conf;
	uint32_t num_nodes;
	struct node *nodes;
	struct net_port *ports;
	uint64_t now_ns;
	uint64_t random;
	uint64_t frames;  /* handed to the network */
	uint64_t lost;	  /* by fate */
	uint64_t dropped; /* by full queues */
	uint64_t strays;  /* for a MAC that nobody has */
	struct net_flow *flows;
	uint32_t num_flows;
	struct net_fate *notes; /* what befell so far */
	uint32_t num_notes;
	struct net_event *heap;
	uint32_t num_events;
	uint32_t max_events;
	uint64_t order; /* of events at one time */
};

/* Makes the nodes and connects each queue pair to its peer. fates and pauses stay the caller's. */
void net_init(struct net *net, const struct net_conf *conf);
void net_fini(struct net *net);

/* One moment: the next arrival or timer, and a turn of every node that has a use for it.
 * False: nothing is left to happen before until_ns. */
bool net_step(struct net *net, uint64_t until_ns);

/* Runs until nothing is left to happen or until_ns. True: nothing is left. */
bool net_run(struct net *net, uint64_t until_ns);

/* Connects a queue pair and its peer anew; both must have come to rest. */
void net_reconnect(struct net *net, uint32_t node, uint32_t qp);

/* What befell the frames for this number. */
uint32_t net_faults(const struct net *net, uint32_t qpn);

/* The last n events of every node, merged in order of time, to stdout. */
void net_print_trace(const struct net *net, uint32_t n);

/* The generator behind everything drawn here: a step of splitmix64. */
uint64_t net_random(uint64_t *state);

#endif
