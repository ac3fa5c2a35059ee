/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The connection manager of a device: its core, queue pair 1, and the turns in which the first
 * worker carries messages between the two.
 *
 * It is made with the first channel and lasts as long as the device. A turn in which nothing came
 * in and no time has come costs the worker two loads.
 */
#include <errno.h>
#include <stdlib.h>

#include "conn.h"

enum {
	MADS_PER_TURN = 64,
	NS_PER_MS = 1000000,
	LISTENERS_MAX = 256,
	MTU_MAX = 4096,
};

/* The manager's defaults. */
#define RETRY_NS     (40ull * NS_PER_MS)
#define RETRY_MAX_NS (2000ull * NS_PER_MS)

/* ---- making and freeing ---- */

/* EUI-64 of the port's MAC address. */
static uint64_t guid_of(const uint8_t mac[6])
{
	return (uint64_t)(uroce_load_be24(mac) ^ 0x020000) << 40 | 0xfffeull << 24 |
		uroce_load_be24(mac + 3);
}

static struct uroce_cm_conf make_conf(const struct uroce_device_conf *c, uint32_t mtu_bytes)
{
	uint64_t first_ns = (uint64_t)c->conn_retry_ms * NS_PER_MS;
	uint64_t max_ns = (uint64_t)c->conn_retry_max_ms * NS_PER_MS;

	return (struct uroce_cm_conf){
		.max_ids = c->max_conns,
		.max_listeners = LISTENERS_MAX,
		.mtu_bytes = mtu_bytes,
		/* With the one of them that is given, the other's default may not fit. */
		.timing = {.retry_first_ns = first_ns == 0 && max_ns < RETRY_NS ? max_ns : first_ns,
			.retry_max_ns = max_ns == 0 && first_ns > RETRY_MAX_NS ? first_ns : max_ns,
			.retries = c->conn_retries,
			.remote_response_timeout = c->conn_timeout},
	};
}

int uroce_conn_conf_check(const struct uroce_device_conf *dev_conf)
{
	const struct uroce_cm_conf conf = make_conf(dev_conf, MTU_MAX);

	return uroce_cm_bytes(&conf) > 0 ? 0 : -EINVAL;
}

static int init_cm(struct conn_manager *manager)
{
	const struct uroce_device *dev = manager->dev;
	struct uroce_cm_conf conf = make_conf(&dev->conf, dev->active_mtu_bytes);

	conf.ca_guid = guid_of(dev->mac);
	conf.seed = uroce_random64();
	manager->cm_memory = uroce_allocate(uroce_cm_bytes(&conf));
	if (!manager->cm_memory)
		return -ENOMEM;
	manager->cm = uroce_cm_init(manager->cm_memory, &conf);
	return 0;
}

static int create(struct uroce_device *dev)
{
	struct conn_manager *manager = calloc(1, sizeof(*manager));
	int err;

	if (!manager)
		return -ENOMEM;
	manager->dev = dev;
	pthread_mutex_init(&manager->lock, NULL);
	err = init_cm(manager);
	if (!err)
		err = uroce_gsi_open(dev, &manager->gsi);
	if (err) {
		free(manager->cm_memory);
		pthread_mutex_destroy(&manager->lock);
		free(manager);
		return err;
	}
	atomic_store(&dev->workers[0].manager, manager);
	return 0;
}

int uroce_conn_manager_get(struct uroce_device *dev, struct conn_manager **manager)
{
	int err = 0;

	/* Who waits may be the one that polls the worker that is being asked. */
	while (pthread_mutex_trylock(&dev->manager_lock) != 0)
		uroce_worker_wait_a_moment(dev);
	if (!atomic_load(&dev->workers[0].manager))
		err = create(dev);
	pthread_mutex_unlock(&dev->manager_lock);
	*manager = atomic_load(&dev->workers[0].manager);
	return err;
}

void uroce_conn_manager_fini(struct uroce_device *dev)
{
	struct conn_manager *manager = atomic_load(&dev->workers[0].manager);

	if (!manager)
		return;
	atomic_store(&dev->workers[0].manager, NULL);
	uroce_gsi_close(manager->gsi);
	free(manager->cm_memory);
	pthread_mutex_destroy(&manager->lock);
	free(manager);
}

void uroce_conn_counters(struct uroce_device *dev, struct uroce_cm_counters *counters)
{
	struct conn_manager *manager = atomic_load(&dev->workers[0].manager);

	*counters = (struct uroce_cm_counters){0};
	if (!manager)
		return;
	pthread_mutex_lock(&manager->lock);
	*counters = *uroce_cm_counters(manager->cm);
	pthread_mutex_unlock(&manager->lock);
}

/* ---- the lock ---- */

static void tell_channels(struct conn_manager *manager)
{
	struct uroce_conn_channel *channel;

	/* Whose they are is seen when they are taken. */
	for (channel = manager->channels; channel; channel = channel->next)
		uroce_conn_channel_raise(channel);
}

void uroce_conn_lock(struct conn_manager *manager)
{
	pthread_mutex_lock(&manager->lock);
}

void uroce_conn_unlock(struct conn_manager *manager)
{
	struct uroce_worker *worker = &manager->dev->workers[0];

	if (uroce_cm_event_pending(manager->cm))
		tell_channels(manager);
	atomic_store(&manager->due_ns, 0);
	pthread_mutex_unlock(&manager->lock);
	uroce_worker_wake_sleeper(worker);
}

/* ---- who asks ---- */

void uroce_conn_begin_to_ask(struct uroce_conn **list, struct uroce_conn *conn)
{
	conn->asks_in = list;
	conn->ask_prev = NULL;
	conn->ask_next = *list;
	if (*list)
		(*list)->ask_prev = conn;
	*list = conn;
}

void uroce_conn_end_to_ask(struct uroce_conn *conn)
{
	if (!conn->asks_in)
		return;
	if (conn->ask_next)
		conn->ask_next->ask_prev = conn->ask_prev;
	if (conn->ask_prev)
		conn->ask_prev->ask_next = conn->ask_next;
	else
		*conn->asks_in = conn->ask_next;
	conn->asks_in = NULL;
}

/* What became of its neighbour is for the application, and the end of it. */
static void note(struct conn_manager *manager, struct uroce_conn *conn, bool is_there)
{
	uroce_conn_end_to_ask(conn);
	if (conn->id)
		uroce_cm_destroy(manager->cm, conn->id);
	conn->id = 0;
	conn->state = CONN_OVER;
	conn->is_noted = true;
	conn->note = is_there ? 0 : -EHOSTUNREACH;
	conn->note_next = conn->channel->notes;
	conn->channel->notes = conn;
	uroce_conn_channel_raise(conn->channel);
}

/* All who asked that neighbour; who connects hears from it as long as it is there. */
static void note_answer(
	struct conn_manager *manager, const struct uroce_gsi_ends *ends, bool is_there)
{
	struct uroce_conn *conn, *next;

	for (conn = manager->asking; conn; conn = next) {
		next = conn->ask_next;
		if (uroce_gid_equal(conn->route.src, ends->local) &&
			uroce_gid_equal(conn->route.dst, ends->remote) &&
			(!is_there || conn->kind == CONN_PROBE))
			note(manager, conn, is_there);
	}
}

/* ---- turns ---- */

static void receive(struct conn_manager *manager, uint64_t now_ns)
{
	struct uroce_gsi_ends ends;
	const uint8_t *mad;
	uint32_t src_qpn;

	for (uint32_t i = 0; i < MADS_PER_TURN; i++) {
		mad = uroce_gsi_recv(manager->gsi, &ends, &src_qpn);
		if (!mad)
			return;
		uroce_cm_rx(manager->cm, now_ns,
			&(struct uroce_cm_route){.src = ends.remote, .dst = ends.local}, src_qpn,
			mad, UROCE_MAD_BYTES);
	}
}

static void send_probes(struct conn_manager *manager, uint64_t now_ns)
{
	struct uroce_conn *conn;

	while ((conn = manager->probes)) {
		const struct uroce_gsi_ends ends = {conn->route.src, conn->route.dst};

		uroce_conn_end_to_ask(conn);
		if (uroce_gsi_send(manager->gsi, &ends, NULL, now_ns) == 0)
			uroce_conn_begin_to_ask(&manager->asking, conn);
		else
			note(manager, conn, false);
	}
}

/* Sends what there is and what there is room for. */
static void transmit(struct conn_manager *manager, uint64_t now_ns)
{
	uint8_t mad[UROCE_MAD_BYTES];
	struct uroce_cm_route to;

	send_probes(manager, now_ns);
	for (uint32_t i = 0; i < MADS_PER_TURN && uroce_gsi_has_room(manager->gsi) &&
		uroce_cm_tx(manager->cm, now_ns, mad, &to);
		i++) {
		const struct uroce_gsi_ends ends = {to.src, to.dst};

		/* What cannot be sent is repeated in its time. */
		uroce_gsi_send(manager->gsi, &ends, mad, now_ns);
	}
}

static void take_answers(struct conn_manager *manager)
{
	struct uroce_gsi_ends ends;
	bool is_there;

	while (uroce_gsi_answer(manager->gsi, &ends, &is_there))
		note_answer(manager, &ends, is_there);
}

/* When to look again, unless something comes in. */
static void set_due(struct conn_manager *manager, bool is_done)
{
	uint64_t gsi_ns = uroce_gsi_deadline_ns(manager->gsi);
	uint64_t due_ns = uroce_cm_next_deadline(manager->cm);

	if (gsi_ns < due_ns)
		due_ns = gsi_ns;
	/* Without room it looks when sends have completed: that comes in. */
	if (!is_done || manager->probes ||
		(uroce_cm_tx_pending(manager->cm) && uroce_gsi_has_room(manager->gsi)))
		due_ns = 0;
	atomic_store(&manager->is_waiting, gsi_ns != UINT64_MAX);
	atomic_store(&manager->due_ns, due_ns);
}

void uroce_conn_serve(struct conn_manager *manager, uint64_t now_ns)
{
	bool is_done;

	if (!uroce_gsi_is_busy(manager->gsi) &&
		!atomic_load_explicit(&manager->is_waiting, memory_order_relaxed) &&
		atomic_load_explicit(&manager->due_ns, memory_order_relaxed) > now_ns)
		return;
	if (pthread_mutex_trylock(&manager->lock) != 0)
		return;
	receive(manager, now_ns);
	uroce_cm_expire(manager->cm, now_ns);
	is_done = uroce_gsi_begin(manager->gsi, now_ns);
	if (is_done) {
		transmit(manager, now_ns);
		uroce_gsi_end(manager->gsi);
	}
	take_answers(manager);
	if (uroce_cm_event_pending(manager->cm))
		tell_channels(manager);
	set_due(manager, is_done);
	pthread_mutex_unlock(&manager->lock);
}

bool uroce_conn_has_work(const struct conn_manager *manager)
{
	return uroce_gsi_is_busy(manager->gsi);
}

uint64_t uroce_conn_due_ns(const struct conn_manager *manager)
{
	return atomic_load(&manager->due_ns);
}
