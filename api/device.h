/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Inside the library: what devices and workers are made of.
 *
 * A device owns what its workers share (keys, numbers, paths) under one lock for control calls; a
 * worker is a core, a link that moves its frames, and a mailbox for commands of other threads.
 */
#ifndef UROCE_API_DEVICE_H
#define UROCE_API_DEVICE_H

#include <pthread.h>
#include <stdalign.h>
#include <stdatomic.h>
#include <stddef.h>

#include "core.h"
#include "link.h"
#include "poller.h"
#include "port.h"
#include "steer.h"
#include "telemetry.h"
#include "uroce.h"

struct conn_manager;
struct uroce_request;

enum {
	UROCE_CQ_CAPACITY_MAX = 65536,
	UROCE_HOP_LIMIT_DEFAULT = 64,
	UROCE_VLAN_MAX = 4094, /* 4095 is nobody's */
	UROCE_SL_MAX = 7,
	UROCE_GSI_PATHS = 128, /* addresses that connection management writes to at once */
};

struct uroce_worker {
	alignas(UROCE_CACHE_LINE_BYTES) struct uroce_core core;
	const struct uroce_link_ops *ops;
	void *link;
	struct uroce_poller poller; /* the link, if the device is on a port */
	struct uroce_device *dev;
	unsigned int index;
	uint32_t num_qps; /* placed on it; under the device's lock */
	/* The thread that may touch the core (its thread_self); 0: nobody polls. */
	_Atomic uintptr_t holder;
	_Atomic(struct uroce_request *) mailbox;
	_Atomic uint64_t polled_ns;
	uint64_t patience_ns;	  /* how long a control call of another thread waits */
	struct uroce_ring events; /* to uroce_event_poll */
	void *events_memory;
	_Atomic(struct conn_manager *) manager; /* of connections; the first worker's, if any */
	/* sleeping */
	uint32_t idle_turns;
	uint32_t neigh_version; /* of the table that the paths are made of */
	int wake_fd;		/* -1 unless the device's workers may sleep */
	struct uroce_ah_slot *ahs;
	/* worker mode */
	unsigned int lcore_id;
	bool launched;
	atomic_bool stop;
	/* the core's memory */
	struct uroce_timer **timers;
	struct uroce_core_event *core_events;
	struct uroce_trace_event *trace;
};

_Static_assert(sizeof(struct uroce_worker) % UROCE_CACHE_LINE_BYTES == 0,
	"no cache line is of two workers");

/* A path of one worker, shared by its queue pairs. */
struct path_entry {
	struct uroce_path path; /* the core's, once a queue pair or a handle is on it */
	struct uroce_path made; /* as it was made, without the other end's MAC */
	struct uroce_worker *worker;
	struct uroce_hop hop; /* whose MAC it takes */
	uint32_t version;     /* of that MAC as the core was told of it; 0: none */
	uint32_t refs;
	struct path_entry *next;
};

/* An address handle: one number, and a path on each worker. */
struct uroce_ah {
	struct uroce_pd *pd;
	struct uroce_ah_conf conf;
	uint32_t number;
	struct path_entry *paths[UROCE_WORKERS_MAX];
	struct uroce_ah *lost_next;
};

/* A queue pair's membership of a multicast group. */
struct group_entry {
	struct uroce_group_member member;
	struct uroce_worker *worker;
	struct group_entry *next;
};

/* One of a device's own addresses. */
struct device_addr {
	struct uroce_gid gid;
	uint32_t prefix_bits; /* of the 128; of IPv4's 32, after the 96 that are always the same */
	/* Who takes what goes beyond the prefix; all zero: everybody is on the link. */
	struct uroce_gid gateway;
	uint16_t tci; /* of the VLAN tag of its frames: VLAN and priority; 0: they have none */
};

/* Queues that fired, and a descriptor that says so; see channel.c. */
struct uroce_channel {
	struct uroce_device *dev;
	_Atomic int fd;			  /* -1: nobody asked for it */
	_Atomic(struct cq_shell *) stack; /* fired, the latest first */
	pthread_mutex_t lock;		  /* the rest */
	struct cq_shell *oldest, *newest; /* taken from the stack, in order */
	uint32_t users;			  /* under the device's lock */
};

struct uroce_device {
	/* what workers read in every turn and nobody writes meanwhile */
	struct uroce_device_conf conf;
	unsigned int num_workers;
	struct uroce_worker *workers;
	struct uroce_port port;
	bool has_port;
	bool resolves;		/* the MACs of others are asked for */
	struct uroce_steer in;	/* between its workers: received frames */
	struct uroce_steer out; /* and built ones, of those who have no queue */
	uint8_t mac[6];
	struct device_addr addrs[UROCE_LOCAL_ADDRS_MAX];
	uint32_t num_addrs;
	uint16_t active_mtu_bytes;
	struct uroce_mr_table mrs;
	struct uroce_mr_slot *mr_slots;
	struct uroce_qptable qptable;
	struct uroce_qptable_slot *qp_slots;
	struct path_entry *paths;
	struct uroce_neigh neigh;
	struct uroce_exception exception;
	uint32_t num_ah_slots; /* those of the application first, then those of gsi.c */
	/* what control calls write */
	alignas(UROCE_CACHE_LINE_BYTES) pthread_mutex_t lock; /* never taken on the data path */
	uint32_t *ah_numbers; /* by slot: the last one used, and whether it is in use in bit 31 */
	struct uroce_ah *lost_ahs;   /* that a worker which does not poll may still know */
	pthread_mutex_t groups_lock; /* the list, and telling workers what it says */
	struct group_entry *groups;
	/* Of queues that were made on none; its descriptor tells of the workers' events too. */
	struct uroce_channel own_channel;
	uint32_t num_pds, num_cqs, num_qps, num_channels, num_conn_channels, next_pd;
	pthread_mutex_t manager_lock; /* while the connection manager is made */
	struct uroce_telemetry_device telemetry;
};

_Static_assert(offsetof(struct uroce_device, lock) % UROCE_CACHE_LINE_BYTES == 0 &&
		offsetof(struct uroce_device, mac) < offsetof(struct uroce_device, lock),
	"a control call takes no line from the workers but what it changes");

struct uroce_pd {
	struct uroce_device *dev;
	uint32_t id;
	uint32_t users; /* regions and queue pairs; under the device's lock */
};

/* What the library knows of a completion queue, behind the engine's. */
struct cq_shell {
	struct uroce_device *dev;
	struct uroce_cq *cq;
	uint32_t users;
	void *entries[UROCE_WORKERS_MAX]; /* of rings that were resized */
	struct uroce_channel *channel;
	_Atomic uint32_t fired;	     /* events that the channel has not handed out */
	struct cq_shell *fired_next; /* of the channel's list, while fired is not 0 */
};

/* Behind a shared receive queue. */
struct srq_shell {
	struct uroce_pd *pd;
	uint32_t users;
};

/* What the library knows of a queue pair, behind the engine's. */
struct qp_shell {
	struct uroce_device *dev;
	struct uroce_worker *worker;
	struct uroce_pd *pd;
	struct path_entry *path;
	struct uroce_qp_conf conf;
	uint32_t psn;		  /* of its first request */
	_Atomic uint32_t state;	  /* as last set; the engine may have gone on to ERR */
	atomic_bool is_connected; /* it is a connection's: see conn_qp.c */
};

/*
 * A device over links of the caller's instead of a port: one per worker. mac and mtu are taken as
 * given. For tests that must not touch DPDK.
 */
int uroce_device_open_link(const struct uroce_device_conf *conf, const uint8_t mac[6],
	uint16_t active_mtu_bytes, const struct uroce_link_ops *ops, void **links,
	struct uroce_device **dev);

/* ---- worker.c ---- */

uint64_t uroce_clock_ns(void);
uint64_t uroce_random64(void);

int uroce_worker_init(struct uroce_worker *worker, struct uroce_device *dev, unsigned int index);
void uroce_worker_fini(struct uroce_worker *worker);
/* Nobody polls it any more, whoever did. */
void uroce_worker_retire(struct uroce_worker *worker);

/*
 * Carries out a command on the worker's core: at once if this thread polls it or nobody does, else
 * by message. -ETIMEDOUT: the worker does not poll; the command was not and will not be done.
 */
int uroce_worker_ctrl(struct uroce_worker *worker, struct uroce_cmd *cmd);

/* For a thread that waits for another's control call: naps, and serves the workers that it polls.
 */
void uroce_worker_wait_a_moment(struct uroce_device *dev);

/* Cache line aligned zeroed memory, or NULL; free() takes it back. */
void *uroce_allocate(size_t bytes);

/* Wakes a worker that sleeps. Any thread. */
void uroce_worker_wake(struct uroce_worker *worker);
/* The same, if it says that it sleeps; the work for it has been put where it looks. */
void uroce_worker_wake_sleeper(struct uroce_worker *worker);
/* Whether it is this worker that asks for neighbours. */
bool uroce_worker_asks(const struct uroce_worker *worker);

/* ---- channel.c ---- */

void uroce_channel_init(struct uroce_channel *channel, struct uroce_device *dev, int fd);
/* Closes the descriptor. */
void uroce_channel_fini(struct uroce_channel *channel);

/* A completion queue of the channel fired. The worker's thread. */
void uroce_channel_fire(struct cq_shell *shell);
/* uroce_channel_poll, of which the descriptor was drained before. */
int uroce_channel_take(struct uroce_channel *channel, struct uroce_cq **cqs, int n);
/* A completion queue leaves its channel; events of it that were not taken are gone. */
void uroce_channel_forget(struct cq_shell *shell);

/* Adds one to an eventfd, which becomes readable; takes what is in one. */
void uroce_fd_raise(int fd);
void uroce_fd_drain(int fd);

/* ---- ah.c ---- */

/* Frees what no worker uses any more. */
void uroce_ah_free_lost(struct uroce_device *dev);

/* Frees the memberships of a queue pair that is destroyed. */
void uroce_group_forget(struct uroce_device *dev, const struct uroce_qp *qp);

/* ---- qp.c ---- */

/* As uroce_qp_create, also for number 1. */
int uroce_qp_create_any(
	struct uroce_pd *pd, const struct uroce_qp_conf *conf, struct uroce_qp **qp);

/* ---- addr.c ---- */

static inline uint16_t uroce_addr_vlan(const struct device_addr *addr)
{
	return addr->tci & UROCE_TCI_VLAN_MASK;
}

/* Parses "address[/length][#vlan[:priority]]"; -EINVAL. */
int uroce_addr_parse(const char *text, struct device_addr *addr);
/* Several, parted by commas, into the device's list; -EINVAL, also for none or too many. */
int uroce_addr_parse_list(struct uroce_device *dev, const char *text);
/* The MAC is known: link-local addresses that are made of it, behind those that were written. */
void uroce_addr_make_link_locals(struct uroce_device *dev);

/* The index of an own address; num_addrs: it is none. */
uint32_t uroce_addr_find(const struct uroce_device *dev, struct uroce_gid gid, uint16_t vlan);
/* The own address with this GID, in that VLAN if there is one, else in another; or NULL. */
const struct device_addr *uroce_addr_own(
	const struct uroce_device *dev, struct uroce_gid gid, uint16_t vlan);

/* The own address to send from to `to`; source: see UROCE_SOURCE. NULL: none of that family. */
const struct device_addr *uroce_addr_source(
	const struct uroce_device *dev, struct uroce_gid to, uint16_t source);
/* The source for the answer to somebody who wrote to `own` (a group's, if none of ours). */
uint16_t uroce_addr_answering(
	const struct uroce_device *dev, struct uroce_gid own, uint16_t vlan, struct uroce_gid to);

/* Who on the link is given what goes to `to`. */
struct uroce_gid uroce_addr_next_hop(
	const struct uroce_device *dev, const struct device_addr *source, struct uroce_gid to);
/* The address of ours that asks for hop's MAC: hop knows it best by its prefix. */
struct uroce_gid uroce_addr_asker(
	const struct uroce_device *dev, const struct device_addr *source, struct uroce_gid hop);

/* ---- path.c ---- */

/* Where to, and how. */
struct uroce_route {
	struct uroce_gid gid;
	uint32_t flow_label;
	uint16_t source; /* UROCE_SOURCE; 0: the best fitting */
	uint8_t traffic_class;
	uint8_t hop_limit; /* 0: the default */
	uint8_t sl;	   /* priority in the VLAN tag; 0: the source's */
};

/* The device's lock is held for these. */
/* Whether there is a way: -EINVAL: no such priority; -EADDRNOTAVAIL: no address to send from. */
int uroce_path_check(const struct uroce_device *dev, const struct uroce_route *route);
/* With one more user; the route was checked. NULL: no memory. */
struct path_entry *uroce_path_take(struct uroce_worker *worker, const struct uroce_route *route);
void uroce_path_release(struct path_entry *entry);
/*
 * Learns mac if it is one (not all zero); -EHOSTUNREACH: none is known then, nor asked for;
 * -ENOMEM; others as uroce_path_check.
 */
int uroce_path_learn(
	struct uroce_device *dev, const struct uroce_route *route, const uint8_t mac[6]);
/* Gives the lock up while it waits for workers. What one was not told is told in the next call. */
int uroce_path_set_mac(struct uroce_device *dev, struct uroce_hop hop, const uint8_t *mac);

/* The worker's thread, without the lock: its paths follow the table of neighbours. */
void uroce_path_follow(struct uroce_worker *worker, uint64_t now_ns);

/* ---- explain.c ---- */

/* The sentence behind uroce_qp_last_error; snprintf's result. */
int uroce_explain(const struct uroce_qp *qp, const struct uroce_cmd *report, uint64_t now_ns,
	char *buf, size_t bytes);

#endif
