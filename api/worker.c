/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Workers: turns, and commands from other threads.
 *
 * A core has one thread at a time: whoever holds it. The polling thread takes hold at its first
 * poll and keeps it until it goes offline; a control call of another thread takes hold for a moment
 * if nobody has it, and otherwise leaves a request in the mailbox. A request belongs to the side
 * that moved it on last: a caller that is tired of waiting abandons it, unless the worker has it
 * in hand, and then it is done in a moment.
 */
#include "conn.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#include "log.h"

#define CTRL_PATIENCE_NS 2000000000ull

enum {
	EVENTS = 1024,
	CORE_EVENTS = 1024,
	TRACE_EVENTS = 1024,
	NAP_NS = 20000
};

enum request_state {
	REQUEST_POSTED,
	REQUEST_IN_HAND,
	REQUEST_DONE,
	REQUEST_ABANDONED
};

struct uroce_request {
	struct uroce_cmd cmd;
	int result;
	_Atomic uint32_t state;
	struct uroce_request *next;
};

uint64_t uroce_clock_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

uint64_t uroce_random64(void)
{
	uint64_t value;

	/* Eight bytes never come in part and never fail once the system is up. */
	while (getrandom(&value, sizeof(value), 0) != (ssize_t)sizeof(value))
		;
	return value;
}

void *uroce_allocate(size_t bytes)
{
	size_t line = UROCE_CACHE_LINE_BYTES;
	size_t rounded = (bytes + line - 1) / line * line;
	void *p = aligned_alloc(line, rounded);

	if (p)
		memset(p, 0, rounded);
	return p;
}

/* A number for the calling thread: the address of something that only it has. */
static uintptr_t thread_self(void)
{
	static _Thread_local char mine;

	return (uintptr_t)&mine;
}

int uroce_worker_init(struct uroce_worker *worker, struct uroce_device *dev, unsigned int index)
{
	uint32_t max_qps = dev->conf.max_qps;
	struct uroce_core_conf conf = {
		.id = index,
		.icrc_mode = dev->conf.icrc_mode,
		.local = {.promiscuous = dev->conf.promiscuous, .num_addrs = dev->num_addrs},
		.mrs = &dev->mrs,
		.qptable = &dev->qptable,
		.max_qps = max_qps,
		.num_events = CORE_EVENTS,
		.num_trace = TRACE_EVENTS,
		.num_ahs = dev->num_ah_slots,
		.mtu_bytes = dev->active_mtu_bytes,
		.dcqcn = dev->conf.dcqcn,
	};

	for (uint32_t i = 0; i < dev->num_addrs; i++) {
		conf.local.addrs[i] = dev->addrs[i].gid;
		conf.local.vlans[i] = uroce_addr_vlan(&dev->addrs[i]);
	}
	worker->dev = dev;
	worker->index = index;
	worker->patience_ns = CTRL_PATIENCE_NS;
	/* So that one who never polls is said to have been silent from here on. */
	atomic_store(&worker->polled_ns, uroce_clock_ns());
	worker->timers = uroce_allocate(UROCE_QP_TIMERS * max_qps * sizeof(*worker->timers));
	worker->core_events = uroce_allocate(CORE_EVENTS * sizeof(*worker->core_events));
	worker->trace = uroce_allocate(TRACE_EVENTS * sizeof(*worker->trace));
	worker->events_memory = uroce_allocate(EVENTS * sizeof(struct uroce_event));
	worker->ahs = uroce_allocate(conf.num_ahs * sizeof(*worker->ahs));
	if (!worker->timers || !worker->core_events || !worker->trace || !worker->events_memory ||
		!worker->ahs)
		return -ENOMEM;
	if (dev->conf.idle_sleep_us > 0) {
		worker->wake_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
		if (worker->wake_fd < 0)
			return -errno;
	}
	uroce_ring_init(&worker->events, worker->events_memory, sizeof(struct uroce_event), EVENTS);
	memcpy(conf.local.mac, dev->mac, sizeof(conf.local.mac));
	conf.timer_heap = worker->timers;
	conf.events = worker->core_events;
	conf.trace = worker->trace;
	conf.ahs = worker->ahs;
	uroce_core_init(&worker->core, &conf);
	return 0;
}

void uroce_worker_fini(struct uroce_worker *worker)
{
	struct uroce_request *request = atomic_load(&worker->mailbox), *next;

	/* Given up by who posted them, and not come upon since. */
	for (; request; request = next) {
		next = request->next;
		free(request);
	}
	free(worker->timers);
	free(worker->core_events);
	free(worker->trace);
	free(worker->events_memory);
	free(worker->ahs);
	if (worker->wake_fd >= 0)
		close(worker->wake_fd);
}

/* ---- turns ---- */

static bool hold(struct uroce_worker *worker)
{
	uintptr_t self = thread_self(), nobody = 0;

	return atomic_load_explicit(&worker->holder, memory_order_relaxed) == self ||
		atomic_compare_exchange_strong(&worker->holder, &nobody, self);
}

static void release(struct uroce_worker *worker)
{
	atomic_store(&worker->holder, 0);
}

void uroce_worker_retire(struct uroce_worker *worker)
{
	release(worker);
}

static void push_event(struct uroce_worker *worker, const struct uroce_event *event)
{
	struct uroce_event *slot = uroce_ring_reserve(&worker->events);
	int fd;

	if (!slot) {
		uroce_count(&worker->core, events_lost);
		return;
	}
	*slot = *event;
	uroce_ring_advance(&worker->events);
	uroce_ring_publish_seq(&worker->events);
	fd = atomic_load(&worker->dev->own_channel.fd);
	if (fd >= 0)
		uroce_fd_raise(fd);
}

/* Passes the core's events on to whoever polls for them, or to a channel. */
static void forward_events(struct uroce_worker *worker)
{
	struct uroce_core_event event;

	while (uroce_core_events(&worker->core, &event, 1) == 1) {
		if (event.type == UROCE_EVENT_CQ_FIRED)
			uroce_channel_fire(event.cq->owner);
		else
			push_event(worker,
				&(struct uroce_event){.type = event.type,
					.cq = event.cq,
					.qpn = event.qpn,
					.srq = event.srq});
	}
}

/* The port's link came up or went down: the first worker tells. */
static void look_at_link(struct uroce_worker *worker, uint64_t now_ns)
{
	bool up;

	if (worker->index != 0 || !worker->dev->has_port ||
		!uroce_port_link_changed(&worker->dev->port, now_ns, &up))
		return;
	push_event(worker,
		&(struct uroce_event){.type = up ? UROCE_EVENT_PORT_ACTIVE : UROCE_EVENT_PORT_ERR});
}

static void serve_mailbox(struct uroce_worker *worker, uint64_t now_ns)
{
	struct uroce_request *request = atomic_exchange(&worker->mailbox, NULL);
	struct uroce_request *next, *in_order = NULL;

	for (; request; request = next) {
		next = request->next;
		request->next = in_order;
		in_order = request;
	}
	for (request = in_order; request; request = next) {
		uint32_t posted = REQUEST_POSTED;

		next = request->next;
		if (!atomic_compare_exchange_strong(&request->state, &posted, REQUEST_IN_HAND)) {
			free(request);
			continue;
		}
		request->result = uroce_core_ctrl(&worker->core, &request->cmd, now_ns);
		/* Who waits may free what its events are about. */
		forward_events(worker);
		atomic_store(&request->state, REQUEST_DONE);
	}
}

static void finish_turn(struct uroce_worker *worker, uint64_t now_ns)
{
	struct conn_manager *manager;

	if (atomic_load_explicit(&worker->mailbox, memory_order_relaxed))
		serve_mailbox(worker, now_ns);
	if (uroce_events_any(&worker->core.events))
		forward_events(worker);
	look_at_link(worker, now_ns);
	if (atomic_load_explicit(&worker->dev->neigh.version, memory_order_relaxed) !=
		worker->neigh_version)
		uroce_path_follow(worker, now_ns);
	manager = atomic_load_explicit(&worker->manager, memory_order_acquire);
	if (manager)
		uroce_conn_serve(manager, now_ns);
	atomic_store_explicit(&worker->polled_ns, now_ns, memory_order_relaxed);
}

unsigned int uroce_worker_poll(struct uroce_worker *worker)
{
	uint64_t now_ns;
	unsigned int moved;

	if (!hold(worker))
		return 0;
	now_ns = uroce_clock_ns();
	/* The frames of a port that is the host's are the host's: see uroce_worker_rx. */
	moved = worker->dev->conf.host_owns_port
		? 0
		: worker->ops->turn(worker->link, &worker->core, now_ns);
	finish_turn(worker, now_ns);
	return moved;
}

void uroce_worker_offline(struct uroce_worker *worker)
{
	if (atomic_load(&worker->holder) != thread_self())
		return;
	finish_turn(worker, uroce_clock_ns());
	if (worker->dev->has_port)
		uroce_poller_excuse(&worker->poller);
	release(worker);
	/* A request that came in between would wait for a poll that may never be. */
	if (atomic_load(&worker->mailbox) && hold(worker)) {
		finish_turn(worker, uroce_clock_ns());
		release(worker);
	}
}

uint16_t uroce_worker_rx(struct uroce_worker *worker, struct rte_mbuf **pkts, uint16_t n)
{
	uint64_t now_ns = uroce_clock_ns();
	uint32_t left;

	if (!worker->dev->has_port || !hold(worker))
		return n;
	left = uroce_poller_rx(&worker->poller, &worker->core, now_ns, pkts, n);
	uroce_poller_rx_inner(&worker->poller, &worker->core, now_ns, n);
	return (uint16_t)left;
}

uint16_t uroce_worker_tx(struct uroce_worker *worker, struct rte_mbuf **pkts, uint16_t n)
{
	uint64_t now_ns = uroce_clock_ns();
	uint32_t used;

	if (!worker->dev->has_port || !hold(worker))
		return 0;
	uroce_core_expire(&worker->core, now_ns);
	used = uroce_poller_tx_host(&worker->poller, &worker->core, now_ns, pkts, n);
	finish_turn(worker, now_ns);
	return (uint16_t)used;
}

/* ---- commands ---- */

static void nap(void)
{
	const struct timespec ts = {.tv_nsec = NAP_NS};

	nanosleep(&ts, NULL);
}

static void post_request(struct uroce_worker *worker, struct uroce_request *request)
{
	request->next = atomic_load(&worker->mailbox);
	while (!atomic_compare_exchange_weak(&worker->mailbox, &request->next, request))
		;
	uroce_worker_wake_sleeper(worker);
}

void uroce_worker_wait_a_moment(struct uroce_device *dev)
{
	uintptr_t self = thread_self();

	/* Two threads that poll a worker each and ask something of the other's would wait for ever.
	 */
	for (unsigned int i = 0; i < dev->num_workers; i++) {
		struct uroce_worker *worker = &dev->workers[i];

		if (atomic_load(&worker->holder) == self && atomic_load(&worker->mailbox))
			serve_mailbox(worker, uroce_clock_ns());
	}
	nap();
}

/* Waits until the request is done, then takes its result; gives up when it is late. */
static int await(struct uroce_worker *worker, struct uroce_request *request, struct uroce_cmd *cmd)
{
	uint64_t since_ns = uroce_clock_ns(), now_ns;
	uint32_t posted = REQUEST_POSTED;
	int result;

	while (atomic_load(&request->state) != REQUEST_DONE) {
		/* The thread that polled may have gone offline: then nobody else serves. */
		if (atomic_load(&worker->holder) == 0 && hold(worker)) {
			finish_turn(worker, uroce_clock_ns());
			release(worker);
			continue;
		}
		now_ns = uroce_clock_ns();
		if (now_ns - since_ns > worker->patience_ns &&
			atomic_compare_exchange_strong(
				&request->state, &posted, REQUEST_ABANDONED)) {
			UROCE_LOG(ERR,
				"worker %u has not polled for %" PRIu64 " ms: a control call "
				"gave up. Poll it, or call uroce_worker_offline around long "
				"pauses.\n",
				worker->index,
				(now_ns - atomic_load(&worker->polled_ns)) / 1000000);
			return -ETIMEDOUT;
		}
		posted = REQUEST_POSTED;
		uroce_worker_wait_a_moment(worker->dev);
	}
	*cmd = request->cmd;
	result = request->result;
	free(request);
	return result;
}

int uroce_worker_ctrl(struct uroce_worker *worker, struct uroce_cmd *cmd)
{
	uintptr_t self = thread_self(), nobody = 0;
	struct uroce_request *request;
	int result;

	if (atomic_load(&worker->holder) == self) {
		result = uroce_core_ctrl(&worker->core, cmd, uroce_clock_ns());
		forward_events(worker);
		return result;
	}
	if (atomic_compare_exchange_strong(&worker->holder, &nobody, self)) {
		result = uroce_core_ctrl(&worker->core, cmd, uroce_clock_ns());
		forward_events(worker);
		release(worker);
		return result;
	}
	request = calloc(1, sizeof(*request));
	if (!request)
		return -ENOMEM;
	request->cmd = *cmd;
	post_request(worker, request);
	return await(worker, request, cmd);
}
