/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * uroce: a RoCEv2 endpoint on a DPDK port.
 *
 * Conventions of this header:
 *
 * - Results. Calls return 0 or a negative errno; each call lists which, and what to do. Posts and
 *   polls return a count; a post that stops at entry k returns k, and posting entry k again returns
 *   its errno.
 * - Threads. The data path (post, poll) takes no lock: one thread at a time may post to a send
 *   queue, one to a receive queue, one may poll a completion queue; they may be the same or
 *   different threads. To a shared receive queue any number of threads may post at once. Control
 *   calls (create, modify, destroy, register, query) may come from any thread at any time unless
 *   the call says otherwise. They act at once when made by the thread that polls the worker, or
 *   when nobody polls it; else they go to the worker as a message and wait for its next turn, for
 *   two seconds at the most: -ETIMEDOUT says that it does not poll. Where -ETIMEDOUT is listed,
 *   -ENOMEM may also say that there was no memory for the message: call again.
 * - Ownership. What a create call hands out is the caller's until the destroy call; children go
 *   before parents (-EBUSY otherwise). Structures passed in are copied; nothing keeps a pointer to
 *   them. Buffers named by work requests stay the application's; do not touch them until the
 *   completion. Pointers must not be NULL unless said.
 * - Zero. In structures whose name ends in _conf, and in struct uroce_peer, a field left zero
 *   means its default. uroce_qp_modify takes every value literally.
 * - Units are in the names. Numbers are in host byte order, immediate data too.
 * - Nothing is printed but through DPDK's log, type lib.uroce.
 *
 * The application initialises EAL (rte_eal_init, or uroce_eal_init_embedded).
 */
#ifndef UROCE_H
#define UROCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "dcqcn_conf.h"
#include "stats.h"
#include "status.h"

#ifdef __cplusplus
extern "C" {
#endif

struct rte_mbuf;
struct uroce_device;
struct uroce_worker;
struct uroce_pd;
struct uroce_cq;
struct uroce_channel;
struct uroce_srq;
struct uroce_qp;
struct uroce_ah;

/* ---- EAL ---- */

/*
 * Initialises EAL for a program that brings no arguments of its own: no hugepages, no PCI, no
 * files, and num_ports ports (0 to 16) made of memory rings, numbered from 0 and tied in pairs:
 * what port 0 sends, port 1 receives, and so on; a last odd port hears itself. Needs no root. Once
 * a process, instead of rte_eal_init. -EALREADY: EAL is initialised already; -EINVAL: more than 16
 * ports; -ENODEV: a ring driver is missing (install librte-net-ring23 and librte-mempool-ring23);
 * others: what EAL said, and its log says more.
 */
int uroce_eal_init_embedded(unsigned int num_ports);

/* ---- devices and workers ---- */

struct uroce_device_conf {
	uint16_t port_id; /* a DPDK port; may be 0 */
	/* Its addresses, IPv4 and IPv6, at most 8, with or without prefix length, parted by commas:
	 * "192.0.2.1/24,2001:db8::1/64". A peer is written to from the one that shares most with
	 * its address, and the first of those, unless the caller names one (see UROCE_SOURCE). With
	 * a gateway, "192.0.2.1/24@192.0.2.254", what is beyond the prefix goes there; without one
	 * everybody is asked for on the link.
	 * "192.0.2.1/24#100" is an address in VLAN 100 (1 to 4094): its frames have that tag, and
	 * only frames with it are taken for it; "192.0.2.1/24#100:3@192.0.2.254" has priority 3 in
	 * it. For an address without a VLAN frames have no tag, or one of VLAN 0. The same address
	 * may be in several VLANs.
	 * "fe80::" stands for the link-local address that is made of the port's MAC. Each VLAN
	 * that has an IPv6 address and no link-local one is given this, after all others. */
	const char *addr;
	uint16_t num_workers; /* 1; at most 16 */
	/*
	 * At most so many queues of the port, the first ones' of the workers; the others receive
	 * and send through these. One for each worker, where the port has so many; on memif 1,
	 * since both ends must have the same number: say here what the other end has.
	 */
	uint16_t num_queues;
	uint32_t max_qps;		/* 1024 per worker */
	uint32_t max_mrs;		/* 1024 */
	enum uroce_icrc_mode icrc_mode; /* UROCE_ICRC_VERIFY */
	bool promiscuous;		/* take frames to any MAC address */
	/* The application owns the port: uroce configures nothing and takes no frames from it;
	 * see uroce_worker_rx and uroce_worker_tx. The port must exist, for its MAC and MTU. */
	bool host_owns_port;
	/* With host_owns_port: the endpoint finds its neighbours, and answers ARP, IPv6 neighbour
	 * discovery and pings for its addresses, from the application's bursts. Without it all of
	 * that is the application's, and peers are known by their records or neighbour_set. */
	bool neighbours;
	uint16_t rx_descs;  /* 1024 */
	uint16_t tx_descs;  /* 1024 */
	uint32_t num_mbufs; /* per device: 8192, and 2048 for each further worker */
	uint16_t mtu_bytes; /* upper limit for the active path MTU: 4096 */
	uint32_t max_ahs;   /* 1024 */
	/* How long uroce_worker_backoff may sleep at once; 0: it never sleeps. */
	uint32_t idle_sleep_us;
	/* A name for an interface of the kernel's (a TAP, made here, with the port's MAC): what
	 * comes in and is not the endpoint's goes there, and what the kernel sends on it goes out
	 * of the port. Give it the endpoint's own address with "ip addr add", or another; and a
	 * larger MTU than 1500 where the link has it. NULL: no such interface. */
	const char *exception_path;
	/* Connection management, see uroce_cm.h. Connections at once, those that ended a moment ago
	 * and questions among them: 2 per queue pair. */
	uint32_t max_conns;
	/* A message without an answer is repeated, first after conn_retry_ms (40), then after twice
	 * that and so on up to conn_retry_max_ms (2000), conn_retries (8, at most 15) times in all;
	 * after the last one the peer has 4.096 us * 2^conn_timeout (20: 4.3 s, at most 31). */
	uint32_t conn_retry_ms, conn_retry_max_ms;
	uint8_t conn_retries;
	uint8_t conn_timeout;
	/* Of queue pairs with DCQCN; and cnp_ns, which is the other side of it, of all. */
	struct uroce_dcqcn_conf dcqcn;
};

/*
 * Opens an endpoint on a port. Unless the host owns it, the port is configured and started, and
 * belongs to the endpoint (rte_eth_dev_owner_get says "uroce") until that is closed: nobody else
 * may use it, nor another process the network interface behind it.
 * -ENODEV: there is no such port, or EAL is not initialised (the log says which, and what to do);
 * -EINVAL: addr is not a list of addresses, a number is out of range, or exception_path is no name
 * or is asked for on a port that the host owns; -EBUSY: the port has an endpoint or another owner,
 * or runs already, an endpoint of another process is on its interface, or the name of
 * exception_path is in use (the log says which); -EPERM: this is a secondary process of EAL's, or
 * exception_path takes CAP_NET_ADMIN; -EMSGSIZE: the port's MTU has no room for the smallest path
 * MTU, 256; -ENOMEM; others: what the port's driver said, or the kernel, asked for an interface.
 */
int uroce_device_open(const struct uroce_device_conf *conf, struct uroce_device **dev);

/*
 * Stops the port and frees the device. Its workers must not be polled any more (launched ones are
 * stopped). -EBUSY: queue pairs, completion queues, protection domains or channels are left.
 */
int uroce_device_close(struct uroce_device *dev);

struct uroce_device_attr {
	uint8_t gid[16]; /* the first of num_gids; IPv4 as ::ffff:a.b.c.d; see uroce_device_gid */
	uint16_t num_gids;
	uint8_t mac[6];
	uint16_t active_mtu_bytes; /* largest path MTU of this port */
	uint16_t linux_mtu_bytes;  /* what Linux's soft-RoCE would take on it, for comparison */
	uint16_t num_workers;
	uint16_t num_queues; /* of the port that are in use; 0: those are the host's */
	uint32_t max_qps;    /* of each worker */
	uint32_t max_mrs;
	uint32_t max_send_wr, max_recv_wr, max_sge, max_inline_bytes, max_rd_atomic;
	uint32_t max_srq_wr, max_cqes, max_ahs, max_groups;
	bool rx_interrupts; /* a sleeping worker is woken by the port, not by its timer alone */
	/* As the device was opened with, or by default. */
	enum uroce_icrc_mode icrc_mode;
	bool promiscuous;
	bool host_owns_port;
	bool neighbours;	 /* always, unless the host owns the port */
	char exception_path[16]; /* empty: none */
	uint16_t rx_descs, tx_descs;
	uint32_t num_mbufs;
	uint32_t idle_sleep_us;
	struct uroce_dcqcn_conf dcqcn;
};

/* Cannot fail. */
void uroce_device_query(const struct uroce_device *dev, struct uroce_device_attr *attr);

/*
 * The GID table: entry i is address i of the device, in the order of its configuration, and after
 * those the link-local addresses that it was given besides. -ENOENT: it has not so many.
 */
int uroce_device_gid(const struct uroce_device *dev, unsigned int i, uint8_t gid[16]);

struct uroce_gid_entry {
	uint8_t gid[16]; /* IPv4 as ::ffff:a.b.c.d */
	enum uroce_gid_type type;
	uint16_t vlan;	     /* 0: its frames have no tag */
	uint8_t priority;    /* in the tag */
	uint8_t prefix_bits; /* of 32 or 128 */
};

/* The same, and what belongs to it. */
int uroce_device_gid_query(
	const struct uroce_device *dev, unsigned int i, struct uroce_gid_entry *entry);

/*
 * For fields named source: to be written from entry i of the GID table. 0, which is no entry: from
 * the one that fits best. The peer must know us by the address that is used.
 */
#define UROCE_SOURCE(i) ((uint16_t)((i) + 1))

/*
 * Tells the MAC address of a peer: a static neighbour. Connections to that address use it from
 * now on; those that wait for it start. addr: like "192.0.2.2", or with its VLAN "192.0.2.2#100";
 * without, it is in the VLAN of the device's address that fits it best. mac: six bytes, which hold
 * whatever others say on the link, or NULL: no longer. -EINVAL: addr is no address, or beyond a
 * gateway: tell the gateway's; -ENOMEM; -ETIMEDOUT: a worker does not poll, and its connections
 * have not heard: call again.
 */
int uroce_device_neighbour_set(struct uroce_device *dev, const char *addr, const uint8_t *mac);

/* Worker i of the device, 0 <= i < num_workers; NULL beyond. Lives as long as the device. */
struct uroce_worker *uroce_device_worker(struct uroce_device *dev, unsigned int i);

/*
 * One turn of a worker: receives, runs timers, transmits, carries out control calls. Call it in a
 * loop from one thread, which then owns the worker until uroce_worker_offline. Returns the
 * number of frames moved: 0 for a while means idle. Returns 0 at once while another thread owns
 * the worker. If the host owns the port, it carries out control calls and nothing else. A thread
 * that EAL does not know has no cache of buffers, and meets the others at the pool in every turn:
 * rte_thread_register gives it one.
 */
unsigned int uroce_worker_poll(struct uroce_worker *worker);

/*
 * For a loop that polls: call it after each turn with what uroce_worker_poll returned. After some
 * turns that moved nothing it pauses, and later sleeps, if the device was opened with
 * idle_sleep_us: until something is posted, a control call comes, a timer is due, the port
 * interrupts (where it can: rx_interrupts), or idle_sleep_us are over. Returns the nanoseconds
 * slept. Only for the thread that polls.
 */
uint64_t uroce_worker_backoff(struct uroce_worker *worker, unsigned int moved);

/*
 * Polls the worker on a DPDK lcore of its own until uroce_worker_stop or uroce_device_close.
 * -EINVAL: no such worker lcore, or the host owns the port; -EBUSY: the lcore or the worker has a
 * job already.
 */
int uroce_worker_launch(struct uroce_worker *worker, unsigned int lcore_id);
/* Ends uroce_worker_launch; waits for the turn to end. Nothing if it is not launched. */
void uroce_worker_stop(struct uroce_worker *worker);

/*
 * The polling thread gives its worker up: control calls of others no longer wait for it. The next
 * uroce_worker_poll, of any thread, takes it again. Only for the thread that polls.
 */
void uroce_worker_offline(struct uroce_worker *worker);

/*
 * For applications that own the port (host_owns_port): hands a received burst to the endpoint.
 * Keeps and frees the frames that are RoCE for it; the others are moved to the front of pkts in
 * their order, untouched; returns how many those are. With `neighbours` it keeps and answers also
 * questions for its addresses and pings to them; other ARP and discovery it reads and hands back.
 * Then call uroce_worker_tx. Only for the thread that owns the worker; the frames must be its own
 * to free. Call it with n = 0 also when nothing came in: that is how the endpoint knows.
 */
uint16_t uroce_worker_rx(struct uroce_worker *worker, struct rte_mbuf **pkts, uint16_t n);

/*
 * Fills pkts with up to n frames that the application is to send; they are the caller's, single
 * segments with every header in place. Runs timers and control calls too.
 */
uint16_t uroce_worker_tx(struct uroce_worker *worker, struct rte_mbuf **pkts, uint16_t n);

/* ---- protection domains and memory ---- */

/* -ENOMEM. */
int uroce_pd_create(struct uroce_device *dev, struct uroce_pd **pd);
/* -EBUSY: regions, windows, address handles, shared receive queues or queue pairs of it are left.
 */
int uroce_pd_destroy(struct uroce_pd *pd);

struct uroce_mr {
	struct uroce_pd *pd;
	void *addr;
	size_t bytes;
	uint32_t lkey; /* for the segments of this side's work requests */
	uint32_t rkey; /* for a peer's */
};

/*
 * Makes [addr, addr + bytes) known to the device. access: enum uroce_access; with
 * UROCE_ACCESS_ZERO_BASED work requests and peers name its first byte 0, else by its address. The
 * memory stays the application's; it must stay mapped until uroce_mr_deregister returns.
 * -EINVAL: the range wraps, an unknown right, or a remote right to write without the local one;
 * -ENOMEM: max_mrs are registered.
 */
int uroce_mr_register(
	struct uroce_pd *pd, void *addr, size_t bytes, uint32_t access, struct uroce_mr **mr);

/* The same, with an address of the caller's choice for its first byte. */
int uroce_mr_register_iova(struct uroce_pd *pd, void *addr, size_t bytes, uint64_t iova,
	uint32_t access, struct uroce_mr **mr);

/*
 * A fast region: a key for parts of [addr, addr + bytes) that UROCE_WR_REG_MR chooses, and
 * UROCE_WR_LOCAL_INV or a peer's SEND with invalidate ends. Until registered its key opens nothing.
 * -EINVAL: the range wraps; -ENOMEM: max_mrs are registered.
 */
int uroce_mr_create_fast(struct uroce_pd *pd, void *addr, size_t bytes, struct uroce_mr **mr);

/* A key with another tag: what a BIND_MW of a type 2 window or a REG_MR names as the new one. */
static inline uint32_t uroce_key_next(uint32_t key)
{
	return (key & 0xffffff00u) | ((key + 1) & 0xffu);
}

/*
 * Forgets a region. -EBUSY: windows are bound to it. When it returns no worker and no frame touches
 * the memory any more. -ETIMEDOUT: a worker does not poll; then the key is dead, but the memory
 * must not be freed: call again.
 */
int uroce_mr_deregister(struct uroce_mr *mr);

/* A memory window: a key that UROCE_WR_BIND_MW ties to a part of a region, for peers alone. */
struct uroce_mw {
	struct uroce_pd *pd;
	enum uroce_mw_type type;
	uint32_t rkey; /* the first; each bind names the next, see uroce_key_next */
};

/* -EINVAL: no such type; -ENOMEM: max_mrs regions and windows exist. */
int uroce_mw_create(struct uroce_pd *pd, enum uroce_mw_type type, struct uroce_mw **mw);
/* Unbinds and forgets a window. -ETIMEDOUT as uroce_mr_deregister. */
int uroce_mw_destroy(struct uroce_mw *mw);

/* ---- completion queues ---- */

struct uroce_wc {
	uint64_t wr_id;
	enum uroce_status status;
	enum uroce_wc_opcode opcode;
	uint32_t byte_len; /* received, read or fetched; of a send: its length */
	uint32_t imm;	   /* with UROCE_WC_WITH_IMM the value, with UROCE_WC_WITH_INV the key */
	uint32_t qpn;
	uint32_t src_qpn;
	uint32_t flags;	     /* enum uroce_wc_flag */
	uint32_t vendor_err; /* with an error status: the NAK syndrome or detail behind it, or 0 */
	uint16_t vlan;	     /* that a datagram came by; 0: none */
	uint8_t sl;	     /* the priority in its VLAN tag */
};

/*
 * A queue for `capacity` completions (1 to 65536). Make it as large as all send and receive
 * requests that may complete to it: then it cannot overflow. A queue that does loses completions,
 * raises UROCE_EVENT_CQ_ERR and ends the queue pairs that lost them. -EINVAL; -ENOMEM.
 */
int uroce_cq_create(struct uroce_device *dev, uint32_t capacity, struct uroce_cq **cq);
/*
 * -EBUSY: a queue pair uses it. An event of it that was not polled may still come: compare its
 * pointer, do not follow it.
 */
int uroce_cq_destroy(struct uroce_cq *cq);

/*
 * Makes room for `capacity` completions, more or fewer than before; nothing is lost. For the thread
 * that polls. -EINVAL: out of range, or more completions are waiting; -ENOMEM; -ETIMEDOUT: a worker
 * does not poll; call again.
 */
int uroce_cq_resize(struct uroce_cq *cq, uint32_t capacity);

/* What the queue holds at the most. */
uint32_t uroce_cq_capacity(const struct uroce_cq *cq);

/* Takes up to n completions; returns how many. One thread at a time. */
int uroce_cq_poll(struct uroce_cq *cq, struct uroce_wc *wc, int n);

/*
 * A completion channel: a descriptor that becomes readable when a completion queue made on it
 * fires. A queue without one reports UROCE_EVENT_CQ_FIRED among the device's events. Several
 * channels are several completion vectors: each can have its own thread to sleep on it.
 * -ENOMEM; -EMFILE.
 */
int uroce_channel_create(struct uroce_device *dev, struct uroce_channel **channel);
/* -EBUSY: completion queues are left. */
int uroce_channel_destroy(struct uroce_channel *channel);
/* For poll(2): readable while there is something to take. Closed by destroy. */
int uroce_channel_fd(const struct uroce_channel *channel);
/* Takes up to n queues that fired, one for each arm; never waits. Any thread. */
int uroce_channel_poll(struct uroce_channel *channel, struct uroce_cq **cqs, int n);
/* As uroce_cq_create, on a channel. */
int uroce_cq_create_on(struct uroce_channel *channel, uint32_t capacity, struct uroce_cq **cq);

/*
 * Asks for one event (see uroce_channel) at the next completion; solicited_only: at the next
 * solicited or failed one; an event that was asked for any completion stays so. Returns 1, and
 * asks for nothing, when there are completions already: poll again. The worker may have been
 * quicker: then one event comes all the same. For the thread that polls.
 */
int uroce_cq_arm_event(struct uroce_cq *cq, bool solicited_only);

/* ---- shared receive queues ---- */

struct uroce_srq_conf {
	uint32_t max_wr;  /* 128; at most 32768 */
	uint32_t max_sge; /* 1; at most 32 */
	uint32_t limit;	  /* 0; see uroce_srq_set_limit */
};

/* Receives for the queue pairs that are made with it. -EINVAL: out of range; -ENOMEM. */
int uroce_srq_create(
	struct uroce_pd *pd, const struct uroce_srq_conf *conf, struct uroce_srq **srq);
/* -EBUSY: queue pairs use it. */
int uroce_srq_destroy(struct uroce_srq *srq);
/*
 * Asks for one UROCE_EVENT_SRQ_LIMIT_REACHED when a message leaves fewer than `limit` receives; 0:
 * for none. -EINVAL: more than the queue holds.
 */
int uroce_srq_set_limit(struct uroce_srq *srq, uint32_t limit);
/* As created, and the limit as it is: 0 once it was reached. Cannot fail. */
void uroce_srq_query(const struct uroce_srq *srq, struct uroce_srq_conf *conf);

/* ---- queue pairs ---- */

/* Worker i, 0 <= i < num_workers, where 0 is to say that any will do. */
#define UROCE_WORKER(i) ((uint16_t)((i) + 1))

struct uroce_qp_conf {
	enum uroce_qp_type type; /* UROCE_QP_RC */
	struct uroce_cq *send_cq;
	struct uroce_cq *recv_cq;    /* may be the same; neither may be NULL */
	struct uroce_srq *srq;	     /* NULL: receives of its own */
	uint32_t max_send_wr;	     /* 128; at most 32768 */
	uint32_t max_recv_wr;	     /* 128; at most 32768 */
	uint32_t max_send_sge;	     /* 1; at most 32 */
	uint32_t max_recv_sge;	     /* 1; at most 32 */
	uint32_t max_inline_bytes;   /* 0; at most 1024 */
	uint32_t max_dest_rd_atomic; /* 16; at most 128; reads that a peer may have outstanding */
	uint32_t window_pkts;	     /* 128; request packets in flight; at most 2^23 */
	bool signal_all;	     /* every send completes, signalled or not */
	/* The next three are what the attributes of these names are after RESET. */
	bool dcqcn;		 /* false */
	uint32_t keepalive_ms;	 /* 0: none */
	uint64_t rate_limit_bps; /* 0: none */
	/* The worker that runs it, UROCE_WORKER(i); 0: the one with the fewest queue pairs. */
	uint16_t worker;
	uint32_t qpn; /* drawn; or exactly this number */
};

/*
 * Creates a queue pair, in RESET.
 * -EINVAL: a limit is out of range, a completion queue is missing or of another device, the shared
 * receive queue is of another domain, there is no such worker, DCQCN of a UD queue pair, a
 * keepalive of one that is not RC; -EOPNOTSUPP: another type; -ENOMEM: no memory, or max_qps exist;
 * -EEXIST: the number asked for is taken; -ETIMEDOUT.
 */
int uroce_qp_create(struct uroce_pd *pd, const struct uroce_qp_conf *conf, struct uroce_qp **qp);

/*
 * Ends a queue pair, whatever is outstanding. Its completions that were not polled are gone; its
 * number is not used again for a long time. Counts as a poll of its completion queues: nobody may
 * poll them, or post to it, at the same time.
 * -EBUSY: a connection of uroce_cm.h has it; -ETIMEDOUT: the worker does not poll. Then the queue
 * pair is still there.
 */
int uroce_qp_destroy(struct uroce_qp *qp);

/* Bytes of memory that a queue pair made from conf takes. 0: conf is not valid. */
size_t uroce_qp_memory_bytes(const struct uroce_qp_conf *conf);

struct uroce_qp_modify_attr {
	enum uroce_qp_state state;
	enum uroce_qp_state cur_state;
	uint32_t access;     /* enum uroce_access, what the peer may do */
	uint8_t dgid[16];    /* with UROCE_QP_ATTR_AV: the peer; IPv4 as ::ffff:a.b.c.d */
	uint32_t flow_label; /* 20 bits, also of what the UDP source port is made of; 0: none */
	uint8_t traffic_class;
	uint8_t hop_limit;	 /* 0, which could not leave the host, is taken as 64 */
	uint16_t source;	 /* UROCE_SOURCE(i); 0: the best fitting */
	uint8_t sl;		 /* 1 to 7: priority in the VLAN tag; 0: the source address's */
	uint32_t path_mtu_bytes; /* 256, 512, 1024, 2048 or 4096 */
	uint32_t dest_qpn;
	uint32_t rq_psn;
	uint32_t sq_psn;
	uint32_t qkey;	       /* of a UD queue pair */
	uint8_t timeout;       /* 4.096 us * 2^timeout; 0: no retry timer */
	uint8_t retry_cnt;     /* 0 to 7 */
	uint8_t rnr_retry;     /* 0 to 6; 7: for ever */
	uint8_t min_rnr_timer; /* code of the standard's RNR table; 0 is 655 ms */
	uint8_t max_rd_atomic;
	uint8_t max_dest_rd_atomic;
	/*
	 * The next three can be set on the way to RTR and RTS, and in RTS and SQD.
	 * dcqcn, of RC and UC: frames say that switches may mark them, and notifications that
	 * marks are answered with slow the queue pair down, as the device's dcqcn says. Marked
	 * frames of the peer are answered with notifications whether it is set or not.
	 * keepalive_ms, of RC: a peer that was silent for so long, with nothing outstanding to it,
	 * is asked whether it is there, by an RDMA Write of nothing. That completes nothing and
	 * touches no memory, but the peer's queue pair must allow remote writes: one that does not
	 * refuses it, which ends the connection. If no answer comes, timeout and retry_cnt have it
	 * as with any request, and the queue pair ends in error (UROCE_EVENT_QP_FATAL); without a
	 * timeout it is asked once. 0: never.
	 * rate_limit_bps, UROCE_RATE_MIN_BPS to UROCE_RATE_MAX_BPS: no more bits of frames a
	 * second, Ethernet's header included; of requests, and of answers to reads and atomics. 0:
	 * no limit.
	 */
	bool dcqcn;
	uint32_t keepalive_ms;
	uint64_t rate_limit_bps;
};

/*
 * Sets the attributes named by mask (enum uroce_qp_attr_mask), as the standard's state diagram
 * allows. -EINVAL: not on this edge, one is missing, or out of range: nothing has changed;
 * -EMSGSIZE: path MTU over the port's active MTU; -EADDRNOTAVAIL: the device has no address of the
 * peer's IP version, or the source is none; -ENOMEM; -ETIMEDOUT.
 */
int uroce_qp_modify(struct uroce_qp *qp, const struct uroce_qp_modify_attr *attr, uint32_t mask);

/* What is set, and what was chosen: the source address, its priority. -ETIMEDOUT. */
int uroce_qp_query(struct uroce_qp *qp, struct uroce_qp_modify_attr *attr);

/* What it was made with, defaults filled in, and the worker that it got. Cannot fail. */
void uroce_qp_query_conf(const struct uroce_qp *qp, struct uroce_qp_conf *conf);

/* The queue pair's number. */
uint32_t uroce_qp_number(const struct uroce_qp *qp);

/* By name where zero is legal and yet not the default. */
enum {
	UROCE_TIMEOUT_NONE = 0xff,
	UROCE_RNR_RETRY_NONE = 0xff,
	UROCE_RETRY_NONE = 0xff
};

/* Where a queue pair is to be found, and how to talk to it: what two sides tell each other. */
struct uroce_peer {
	uint8_t gid[16];
	uint8_t mac[6]; /* all zero: asked for on the link, or set by neighbour_set */
	uint32_t qpn;
	uint32_t psn;	    /* of its first request */
	uint32_t mtu_bytes; /* its port's largest; the smaller of the two sides is used */
	uint64_t addr;	    /* of a region that it lends, if any; not used by uroce */
	uint32_t rkey;
	/* how we treat it; a peer's own record leaves these zero */
	uint8_t timeout;	    /* 14: 67 ms; UROCE_TIMEOUT_NONE */
	uint8_t retry_cnt;	    /* 7; UROCE_RETRY_NONE */
	uint8_t rnr_retry;	    /* 7: for ever; UROCE_RNR_RETRY_NONE */
	uint8_t min_rnr_timer;	    /* 12: 0.64 ms */
	uint8_t max_rd_atomic;	    /* 16 */
	uint8_t max_dest_rd_atomic; /* as the queue pair was created */
	uint32_t access;	    /* what it may do: write, read and atomics */
	uint32_t flow_label;	    /* these as in struct uroce_qp_modify_attr */
	uint16_t source;
	uint8_t traffic_class;
	uint8_t sl;
};

/*
 * This side's record, to be sent to the peer: gid, mac, qpn, psn and mtu_bytes; the rest zero. The
 * gid is the device's first; who connects from another puts that there.
 */
void uroce_qp_local(const struct uroce_qp *qp, struct uroce_peer *local);

/*
 * INIT, RTR and RTS towards a peer's record, from RESET or INIT. Post receives between create and
 * connect (uroce_qp_prepare first), or the peer may have to try again.
 * -EINVAL: the record makes no sense, or the queue pair is further on; -EADDRNOTAVAIL: as
 * uroce_qp_modify; -EHOSTUNREACH: no MAC address is known for the peer; -ENOMEM; -ETIMEDOUT.
 */
int uroce_qp_connect(struct uroce_qp *qp, const struct uroce_peer *peer);

/*
 * INIT, RTR and RTS of a UD queue pair, which has no peer, from RESET or INIT. qkey: what datagrams
 * to it must carry. -EINVAL: it is of another type, or further on; -ETIMEDOUT.
 */
int uroce_qp_open_datagrams(struct uroce_qp *qp, uint32_t qkey);

/*
 * RESET to INIT, with remote write, read, atomic and flush allowed (of a UD queue pair: with Q_Key
 * 0). Errors as uroce_qp_modify.
 */
int uroce_qp_prepare(struct uroce_qp *qp);

/*
 * Why the queue pair is in error, or what was last refused or dropped, in words, into buf (at most
 * bytes, always terminated). Returns the length of the whole text, 0 when there is nothing to
 * tell; -ETIMEDOUT.
 */
int uroce_qp_last_error(struct uroce_qp *qp, char *buf, size_t bytes);

/* ---- datagrams ---- */

struct uroce_ah_conf {
	uint8_t dgid[16];    /* also of a multicast group; IPv4 as ::ffff:a.b.c.d */
	uint8_t mac[6];	     /* all zero: asked for on the link, or set by neighbour_set */
	uint32_t flow_label; /* 20 bits, also of what the UDP source port is made of; 0: none */
	uint8_t traffic_class;
	uint8_t hop_limit; /* 64 */
	uint16_t source;   /* the best fitting; UROCE_SOURCE(i) */
	uint8_t sl;	   /* the source address's priority in the VLAN tag; 1 to 7 */
};

/*
 * An address handle: where datagrams go. For queue pairs of its domain.
 * -EINVAL: the unspecified GID, or no such priority; -EADDRNOTAVAIL: the device has no address of
 * the same IP version, or the source is none; -EHOSTUNREACH: no MAC address is known; -ENOMEM:
 * max_ahs exist; -ETIMEDOUT.
 */
int uroce_ah_create(struct uroce_pd *pd, const struct uroce_ah_conf *conf, struct uroce_ah **ah);
/*
 * The way back to the sender of a received datagram, from the address that it was sent to (if that
 * was a group's, from the best fitting in its VLAN). grh: the first 40 bytes of its buffer.
 * -EINVAL: wc is no datagram's, or grh holds no IP header; others as uroce_ah_create.
 */
int uroce_ah_create_from_wc(
	struct uroce_pd *pd, const struct uroce_wc *wc, const void *grh, struct uroce_ah **ah);
/* Work requests that name it must be complete. -ETIMEDOUT. */
int uroce_ah_destroy(struct uroce_ah *ah);
/* What it was made with. Cannot fail. */
void uroce_ah_query(const struct uroce_ah *ah, struct uroce_ah_conf *conf);

/*
 * A UD queue pair takes datagrams to a multicast group (224.0.0.0/4 or ff00::/8) from now on, or no
 * more. Members of a group on one device must be of one worker.
 * attach: -EINVAL: no UD queue pair, no multicast GID, or a member of another worker; -EEXIST: it
 * is a member; -ENOSPC: max_groups groups are in use; -ENOMEM. detach: -ENOENT: it is not a
 * member. Both: -ETIMEDOUT.
 */
int uroce_qp_attach_group(struct uroce_qp *qp, const uint8_t gid[16]);
int uroce_qp_detach_group(struct uroce_qp *qp, const uint8_t gid[16]);

/* ---- posting ---- */

struct uroce_sge {
	void *addr;
	uint32_t len_bytes;
	uint32_t lkey;
};

struct uroce_send_wr {
	uint64_t wr_id;
	enum uroce_wr_opcode opcode;
	uint32_t flags; /* enum uroce_send_flag */
	const struct uroce_sge *sge;
	uint32_t num_sge;
	uint32_t imm;		  /* ..._WITH_IMM */
	uint32_t invalidate_rkey; /* ..._WITH_INV */
	struct {
		uint64_t remote_addr;
		uint32_t rkey;
	} rdma; /* RDMA_READ, RDMA_WRITE..., and the place of an atomic */
	struct {
		uint64_t compare_add;
		uint64_t swap;
	} atomic;
	struct {
		const struct uroce_ah *ah;
		uint32_t remote_qpn;  /* 0xffffff to a group */
		uint32_t remote_qkey; /* with its top bit set: the queue pair's own */
	} ud;			      /* every SEND of a UD queue pair */
	struct {
		enum uroce_flush_type type;   /* UROCE_FLUSH_GLOBAL */
		enum uroce_flush_level level; /* UROCE_FLUSH_RANGE: bytes from rdma.remote_addr */
		uint32_t bytes;
	} flush; /* FLUSH; also rdma.rkey */
	struct {
		uint32_t key;	  /* BIND_MW: the window's, as it is now */
		uint32_t new_key; /* from uroce_key_next */
		uint32_t lkey;	  /* of the region */
		uint64_t addr;	  /* in the region */
		uint64_t bytes;	  /* 0 unbinds a type 1 window */
		uint32_t access;  /* remote rights, and UROCE_ACCESS_ZERO_BASED (type 2) */
	} bind;
	struct {
		uint32_t key; /* REG_MR: the fast region's, as it is now */
		uint32_t new_key;
		void *addr; /* within the fast region */
		uint64_t bytes;
		uint64_t iova; /* what work requests and peers call its first byte */
		uint32_t access;
	} reg;
};

struct uroce_recv_wr {
	uint64_t wr_id;
	const struct uroce_sge *sge;
	uint32_t num_sge;
};

/*
 * Posts up to n send work requests, in order; returns how many were accepted, or the errno of the
 * first. -EINVAL: state RESET, INIT or RTR; unknown flag, or an opcode that there is not or not on
 * this type of queue pair; too many segments or inline bytes; over 2^31 bytes, or a datagram over
 * the active MTU; an atomic that is not of 8 aligned bytes; inline data with a read or an atomic;
 * segments with what has no payload; a datagram without an address handle. -ENOMEM: the queue is
 * full: poll. LOCAL_INV names its key in invalidate_rkey.
 */
int uroce_post_send(struct uroce_qp *qp, const struct uroce_send_wr *wr, int n);

/*
 * The same for receives. -EINVAL: state RESET, too many segments, or the queue pair has a shared
 * receive queue; -ENOMEM: full. A datagram needs 40 bytes more than its payload.
 */
int uroce_post_recv(struct uroce_qp *qp, const struct uroce_recv_wr *wr, int n);

/* To a shared receive queue, from any thread. -EINVAL: too many segments; -ENOMEM: full. */
int uroce_post_srq_recv(struct uroce_srq *srq, const struct uroce_recv_wr *wr, int n);

/* ---- events, counters, words ---- */

struct uroce_event {
	enum uroce_event_type type;
	struct uroce_cq *cq;   /* of a completion queue event, else NULL */
	uint32_t qpn;	       /* of a queue pair event, else 0 */
	struct uroce_srq *srq; /* of a shared receive queue event, else NULL */
};

/* Takes up to n asynchronous events of the device; returns how many. One thread at a time. */
int uroce_event_poll(struct uroce_device *dev, struct uroce_event *events, int n);

/*
 * A descriptor for poll(2), readable while there are events. The device's: do not close it. -EMFILE
 * and the like: what eventfd(2) said.
 */
int uroce_event_fd(struct uroce_device *dev);

/* The sum of all workers' counters. */
void uroce_device_counters(const struct uroce_device *dev, struct uroce_counters *counters);

/* Counter i (0 <= i < UROCE_COUNTER_COUNT) by name, its help text and value; NULL beyond. */
const char *uroce_counter_name(unsigned int i);
const char *uroce_counter_help(unsigned int i);
uint64_t uroce_counter_value(const struct uroce_counters *counters, unsigned int i);

/* Names and texts; "?" for what has none. */
const char *uroce_status_name(enum uroce_status status);
const char *uroce_state_name(enum uroce_qp_state state);
const char *uroce_event_name(enum uroce_event_type type);
const char *uroce_drop_name(enum uroce_drop drop);
const char *uroce_drop_text(enum uroce_drop drop);

#ifdef __cplusplus
}
#endif

#endif
