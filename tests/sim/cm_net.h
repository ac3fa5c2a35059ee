/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Connection managers on a bad network, with an application that does what one should.
 *
 * Any number of managers, one clock, messages that take a random time and are lost, come twice or
 * overtake each other as the seed says, or are lost as a mask says: bit k is message k of all that
 * are sent. The application behind each manager accepts, confirms and destroys; for each connection
 * and side it keeps what happened and when, which is what the tests look at.
 */
#ifndef UROCE_TESTS_CM_NET_H
#define UROCE_TESTS_CM_NET_H

#include <stdbool.h>
#include <stdint.h>

#include "cm.h"

enum {
	CM_NET_NODES_MAX = 8,
	CM_NET_TRACE = 40,
	CM_NET_PORT = 7000,
};

#define CM_NET_MS 1000000ull
#define CM_NET_S  1000000000ull

struct cm_net_conf {
	uint32_t nodes; /* 0: 2 */
	uint64_t seed;
	uint32_t loss_ppm, dup_ppm;	     /* of a million messages */
	uint64_t delay_min_ns, delay_max_ns; /* 0, 0: 10 us, 50 us */
	uint64_t loss_mask;		     /* of the first 64 messages */
	uint64_t think_ns;		     /* of an application before it accepts, confirms */
	uint32_t max_conns;		     /* 0: 16 */
	uint16_t reject_reason;	 /* listeners reject all requests, with this; 0: accept */
	bool keep;		 /* ended connections are not destroyed */
	bool comm_est;		 /* data follows RTU, and tells what RTU would */
	struct uroce_cm_conf cm; /* zeros: see cm_net_init */
};

/* What happened to one side, in the order of its life. */
enum cm_net_state {
	CM_NET_NONE,
	CM_NET_ASKED,	  /* active: connect; passive: the request was heard */
	CM_NET_ACCEPTED,  /* passive */
	CM_NET_CONNECTED, /* active: confirmed; passive: ESTABLISHED */
	CM_NET_REJECTED,
	CM_NET_UNREACHABLE,
	CM_NET_DISCONNECTED,
};

struct cm_net_side {
	enum cm_net_state state;
	uint32_t node;
	uint32_t id;
	uint32_t qpn, psn;
	uint64_t asked_ns, connected_ns, ended_ns;
	uint32_t reason;
	bool was_connected;
	bool timewait_over;
	uint32_t requests; /* passive: how often the application was asked */
	struct uroce_cm_params params;
};

struct cm_net_conn {
	struct cm_net_side side[2]; /* active, passive */
};

struct cm_net_traced {
	uint64_t at_ns;
	uint8_t from, to, attr;
	bool lost;
	uint32_t local_id, remote_id;
};

struct cm_net_item;

struct cm_net {
	struct cm_net_conf conf;
	uint64_t now_ns;
	uint64_t random;
	uint64_t sent; /* messages, lost ones included */
	struct cm_net_node {
		struct uroce_cm *cm;
		struct uroce_gid gid;
		uint32_t listener;
		uint32_t next_qpn;
	} nodes[CM_NET_NODES_MAX];
	struct cm_net_conn *conns;
	uint32_t num_conns;
	struct cm_net_item *heap;
	uint32_t num_items, max_items;
	uint64_t next_order;
	struct cm_net_traced trace[CM_NET_TRACE];
	uint32_t num_traced;
};

/* Every node listens on CM_NET_PORT. cm: max_ids 0 is 64, mtu_bytes 0 is 1024. */
void cm_net_init(struct cm_net *net, const struct cm_net_conf *conf);
void cm_net_fini(struct cm_net *net);

/* Starts a connection; its place in conns. */
uint32_t cm_net_connect(struct cm_net *net, uint32_t from, uint32_t to);
/* What a connection's parameters are, for a test to change before uroce_cm_connect. */
struct uroce_cm_connect cm_net_params(struct cm_net *net, uint32_t from, uint32_t to);
void cm_net_disconnect(struct cm_net *net, uint32_t conn, uint32_t side);

/* Lets time pass until nothing is under way and no timer runs, or until now_ns is until_ns. */
void cm_net_run(struct cm_net *net, uint64_t until_ns);

/* The application does not want it any more, in whatever state it is. */
void cm_net_give_up(struct cm_net *net, uint32_t conn, uint32_t side);
/* A node that forgets all that it had, and gives its queue pairs the same numbers again: its sides
 * become CM_NET_NONE. */
void cm_net_restart(struct cm_net *net, uint32_t node);

/* Places in use, in all managers. */
uint32_t cm_net_ids(const struct cm_net *net);
/* On standard error: what was configured and the last messages. */
void cm_net_print(const struct cm_net *net);

#endif
