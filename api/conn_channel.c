/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Channels: events of connections, and what is done about them before the application hears.
 *
 * The manager has one queue of events for all. Whoever polls a channel moves what is there to the
 * channels that it is for, in its own thread, which may allocate. The worker only raises
 * descriptors, of all channels, as it does not look whose an event is.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "conn.h"

/* ---- channels ---- */

static struct uroce_conn_channel *make_channel(int *err)
{
	struct uroce_conn_channel *channel = calloc(1, sizeof(*channel));

	*err = -ENOMEM;
	if (!channel)
		return NULL;
	channel->fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	if (channel->fd < 0) {
		*err = -errno;
		free(channel);
		return NULL;
	}
	pthread_mutex_init(&channel->lock, NULL);
	*err = 0;
	return channel;
}

static void free_channel(struct uroce_conn_channel *channel)
{
	close(channel->fd);
	pthread_mutex_destroy(&channel->lock);
	free(channel);
}

static void count_channels(struct uroce_device *dev, int by)
{
	pthread_mutex_lock(&dev->lock);
	dev->num_conn_channels += (uint32_t)by;
	pthread_mutex_unlock(&dev->lock);
}

int uroce_conn_channel_create(struct uroce_device *dev, struct uroce_conn_channel **out)
{
	int err;
	struct uroce_conn_channel *channel = make_channel(&err);

	if (!channel)
		return err;
	count_channels(dev, 1);
	err = uroce_conn_manager_get(dev, &channel->manager);
	if (err) {
		count_channels(dev, -1);
		free_channel(channel);
		return err;
	}
	uroce_conn_lock(channel->manager);
	channel->next = channel->manager->channels;
	channel->manager->channels = channel;
	uroce_conn_unlock(channel->manager);
	*out = channel;
	return 0;
}

int uroce_conn_channel_destroy(struct uroce_conn_channel *channel)
{
	struct conn_manager *manager = channel->manager;
	struct uroce_conn_channel **link;
	bool busy;

	uroce_conn_lock(manager);
	busy = channel->num_conns > 0;
	for (link = &manager->channels; !busy && *link != channel; link = &(*link)->next)
		;
	if (!busy)
		*link = channel->next;
	uroce_conn_unlock(manager);
	if (busy)
		return -EBUSY;
	free_channel(channel);
	count_channels(manager->dev, -1);
	return 0;
}

int uroce_conn_channel_fd(const struct uroce_conn_channel *channel)
{
	return channel->fd;
}

void uroce_conn_channel_lock(struct uroce_conn_channel *channel)
{
	while (pthread_mutex_trylock(&channel->lock) != 0)
		uroce_worker_wait_a_moment(channel->manager->dev);
}

void uroce_conn_channel_unlock(struct uroce_conn_channel *channel)
{
	pthread_mutex_unlock(&channel->lock);
}

void uroce_conn_channel_raise(struct uroce_conn_channel *channel)
{
	if (!atomic_exchange(&channel->is_raised, true))
		uroce_fd_raise(channel->fd);
}

static void lower(struct uroce_conn_channel *channel)
{
	atomic_store(&channel->is_raised, false);
	uroce_fd_drain(channel->fd);
}

/* ---- connections of a channel ---- */

struct uroce_conn *uroce_conn_add(struct uroce_conn_channel *channel, enum conn_kind kind)
{
	struct uroce_conn *conn = calloc(1, sizeof(*conn));

	if (!conn)
		return NULL;
	conn->channel = channel;
	conn->kind = kind;
	channel->num_conns++;
	return conn;
}

/* What the manager knows of it, and all that points to it. */
static void detach(struct uroce_conn *conn)
{
	struct uroce_conn_channel *channel = conn->channel;
	struct conn_manager *manager = channel->manager;
	struct uroce_conn **link = &channel->notes;

	uroce_conn_end_to_ask(conn);
	if (conn->id && conn->kind == CONN_LISTENER)
		uroce_cm_unlisten(manager->cm, conn->id);
	else if (conn->id)
		uroce_cm_destroy(manager->cm, conn->id);
	for (; conn->is_noted && *link != conn; link = &(*link)->note_next)
		;
	if (conn->is_noted)
		*link = conn->note_next;
	channel->num_conns--;
}

static void append(struct uroce_conn_channel *channel, struct conn_item *item)
{
	item->next = NULL;
	if (channel->last)
		channel->last->next = item;
	else
		channel->first = item;
	channel->last = item;
}

/* Items of connections that are gone leave the list. */
static void drop_items(struct uroce_conn_channel *channel)
{
	struct conn_item *item = channel->first, *next;

	channel->first = channel->last = NULL;
	for (; item; item = next) {
		next = item->next;
		if (item->conn->is_gone)
			free(item);
		else
			append(channel, item);
	}
}

/* Connections of requests to this listener that nobody has seen, as a list. */
static struct uroce_conn *find_unseen(const struct uroce_conn *listener)
{
	struct uroce_conn *list = NULL;

	for (struct conn_item *item = listener->channel->first; item; item = item->next) {
		if (item->listener != listener)
			continue;
		item->conn->is_gone = true;
		item->conn->ask_next = list;
		list = item->conn;
	}
	return list;
}

void uroce_conn_remove(struct uroce_conn *conn)
{
	struct uroce_conn *unseen = conn->kind == CONN_LISTENER ? find_unseen(conn) : NULL;
	struct uroce_conn *next;

	conn->is_gone = true;
	if (conn->num_events > 0 || unseen)
		drop_items(conn->channel);
	for (; unseen; unseen = next) {
		next = unseen->ask_next;
		detach(unseen);
		free(unseen);
	}
	detach(conn);
}

/* ---- from the manager to the channels ---- */

/* The connection of a request, which is new. */
static struct uroce_conn *take_request(struct conn_manager *manager, struct conn_item *item)
{
	const struct uroce_cm_event *e = &item->event;
	struct uroce_conn *listener = (struct uroce_conn *)(uintptr_t)e->listener_user;
	bool datagrams = e->type == UROCE_CM_SIDR_REQUEST;
	struct uroce_conn *conn;

	conn = uroce_conn_add(listener->channel, datagrams ? CONN_DATAGRAMS : CONN_CONNECTION);
	if (!conn) {
		uroce_cm_destroy(manager->cm, e->id);
		return NULL;
	}
	item->listener = listener;
	conn->id = e->id;
	conn->state = CONN_ASKED;
	conn->context = listener->context;
	conn->route = e->route;
	conn->params = e->params;
	conn->local_port = e->local_port;
	conn->remote_port = e->remote_port;
	uroce_cm_set_user(manager->cm, e->id, (uintptr_t)conn);
	return conn;
}

/* What an event says of a connection that there is. */
static void follow(struct uroce_conn *conn, const struct uroce_cm_event *e)
{
	uroce_conn_end_to_ask(conn);
	switch (e->type) {
	case UROCE_CM_CONNECT_RESPONSE:
		conn->params = e->params;
		break;
	case UROCE_CM_ESTABLISHED:
		conn->state = CONN_UP;
		break;
	case UROCE_CM_REJECTED:
	case UROCE_CM_UNREACHABLE:
	case UROCE_CM_DISCONNECTED:
	case UROCE_CM_TIMEWAIT_EXIT:
	case UROCE_CM_SIDR_RESOLVED:
		conn->state = CONN_OVER;
		break;
	case UROCE_CM_CONNECT_REQUEST:
	case UROCE_CM_SIDR_REQUEST:
	case UROCE_CM_EVENT_COUNT:
		break;
	}
}

/* One event to the channel that it is for. False: there is none, or no memory for it. */
static bool dispatch_one(struct conn_manager *manager)
{
	struct conn_item *item = calloc(1, sizeof(*item));

	if (!item || !uroce_cm_event_poll(manager->cm, &item->event)) {
		free(item);
		return false;
	}
	if (item->event.listener) {
		item->conn = take_request(manager, item);
		if (!item->conn) {
			free(item);
			return true;
		}
	} else {
		item->conn = (struct uroce_conn *)(uintptr_t)item->event.user;
		follow(item->conn, &item->event);
	}
	item->conn->num_events++;
	/* It is raised: whoever made the event known raised all. */
	append(item->conn->channel, item);
	return true;
}

/* ---- polling ---- */

static void fill(struct uroce_conn_event *event, struct uroce_conn *conn,
	enum uroce_conn_event_type type, int error)
{
	memset(event, 0, sizeof(*event));
	event->type = type;
	event->conn = conn;
	event->context = conn->context;
	event->error = error;
	uroce_gid_store(event->local_gid, conn->route.src);
	uroce_gid_store(event->remote_gid, conn->route.dst);
	event->local_port = conn->local_port;
	event->remote_port = conn->remote_port;
	event->datagrams = conn->kind == CONN_DATAGRAMS;
}

static void fill_params(struct uroce_conn_event *event)
{
	const struct uroce_cm_params *params = &event->conn->params;

	event->path_mtu_bytes = params->path_mtu_bytes;
	event->max_rd_atomic = params->initiator_depth;
	event->max_dest_rd_atomic = params->responder_resources;
	event->remote_qpn = params->remote_qpn;
}

static void fill_private(struct uroce_conn_event *event, const struct uroce_cm_event *e)
{
	event->private_bytes = e->private_bytes < UROCE_CONN_PRIVATE_BYTES_MAX
		? e->private_bytes
		: UROCE_CONN_PRIVATE_BYTES_MAX;
	memcpy(event->private_data, e->private_data, event->private_bytes);
}

/* The peer accepted: the queue pair follows, and the peer hears. False: the peer is gone. */
static bool establish(
	struct uroce_conn *conn, const struct uroce_cm_event *e, struct uroce_conn_event *event)
{
	const struct uroce_cm_refusal refusal = {.reason = UROCE_CM_REJECT_CONSUMER};
	struct conn_manager *manager = conn->channel->manager;
	int err = uroce_conn_move_qp(conn), gone;

	uroce_conn_lock(manager);
	gone = err ? uroce_cm_reject(manager->cm, conn->id, &refusal)
		   : uroce_cm_established(manager->cm, conn->id);
	if (!gone)
		conn->state = err ? CONN_OVER : CONN_UP;
	uroce_conn_unlock(manager);
	if (gone || err)
		uroce_conn_end_qp(conn);
	if (gone)
		return false;
	fill(event, conn, err ? UROCE_CONN_ERROR : UROCE_CONN_ESTABLISHED, err);
	fill_params(event);
	fill_private(event, e);
	return true;
}

static int error_of_reject(uint32_t reason)
{
	switch (reason) {
	case UROCE_CM_REJECT_INVALID_SERVICE_ID:
		return -ECONNREFUSED;
	case UROCE_CM_REJECT_CONSUMER:
		return -EACCES;
	case UROCE_CM_REJECT_TIMEOUT:
		return -ETIMEDOUT;
	case UROCE_CM_REJECT_NO_QP:
	case UROCE_CM_REJECT_NO_RESOURCES:
	case UROCE_CM_REJECT_STALE:
		return -EAGAIN;
	default:
		return -EPROTO;
	}
}

static int error_of_sidr(uint32_t status)
{
	switch (status) {
	case UROCE_CM_SIDR_VALID:
		return 0;
	case UROCE_CM_SIDR_UNSUPPORTED:
		return -ECONNREFUSED;
	case UROCE_CM_SIDR_REJECTED:
		return -EACCES;
	case UROCE_CM_SIDR_NO_QP:
		return -EAGAIN;
	default:
		return -EPROTO;
	}
}

static void fill_resolved(
	struct uroce_conn_event *event, struct uroce_conn *conn, const struct uroce_cm_event *e)
{
	int error = error_of_sidr(e->reason);

	fill(event, conn, error ? UROCE_CONN_REJECTED : UROCE_CONN_ESTABLISHED, error);
	event->reason = e->reason;
	fill_private(event, e);
	if (error)
		return;
	event->remote_qpn = e->sidr_qpn;
	event->remote_qkey = e->sidr_qkey;
	event->ah.source = uroce_gsi_source(conn->channel->manager->dev, conn->route.src);
	memcpy(event->ah.dgid, event->remote_gid, sizeof(event->ah.dgid));
}

/* What the application hears of an event, and what is done before. False: nothing. */
static bool translate(const struct conn_item *item, struct uroce_conn_event *event)
{
	const struct uroce_cm_event *e = &item->event;
	struct uroce_conn *conn = item->conn;

	switch (e->type) {
	case UROCE_CM_CONNECT_REQUEST:
	case UROCE_CM_SIDR_REQUEST:
		fill(event, conn, UROCE_CONN_REQUEST, 0);
		event->listener = item->listener;
		fill_params(event);
		fill_private(event, e);
		return true;
	case UROCE_CM_CONNECT_RESPONSE:
		return establish(conn, e, event);
	case UROCE_CM_ESTABLISHED:
		fill(event, conn, UROCE_CONN_ESTABLISHED, 0);
		fill_params(event);
		return true;
	case UROCE_CM_REJECTED:
		uroce_conn_end_qp(conn);
		fill(event, conn, UROCE_CONN_REJECTED, error_of_reject(e->reason));
		event->reason = e->reason;
		fill_private(event, e);
		return true;
	case UROCE_CM_UNREACHABLE:
		uroce_conn_end_qp(conn);
		fill(event, conn, UROCE_CONN_UNREACHABLE, -ETIMEDOUT);
		return true;
	case UROCE_CM_DISCONNECTED:
		uroce_conn_end_qp(conn);
		fill(event, conn, UROCE_CONN_DISCONNECTED, 0);
		return true;
	case UROCE_CM_TIMEWAIT_EXIT:
		fill(event, conn, UROCE_CONN_TIMEWAIT_EXIT, 0);
		return true;
	case UROCE_CM_SIDR_RESOLVED:
		fill_resolved(event, conn, e);
		return true;
	case UROCE_CM_EVENT_COUNT:
		break;
	}
	return false;
}

/* What the worker found out about a neighbour, if anything. Under the manager's lock. */
static bool take_note(struct uroce_conn_channel *channel, struct uroce_conn_event *event)
{
	struct uroce_conn *conn = channel->notes;

	if (!conn)
		return false;
	channel->notes = conn->note_next;
	conn->is_noted = false;
	fill(event, conn, conn->note ? UROCE_CONN_UNREACHABLE : UROCE_CONN_ROUTE_RESOLVED,
		conn->note);
	return true;
}

static struct conn_item *take_item(struct uroce_conn_channel *channel)
{
	struct conn_item *item = channel->first;

	if (!item)
		return NULL;
	channel->first = item->next;
	if (!channel->first)
		channel->last = NULL;
	item->conn->num_events--;
	return item;
}

/* A note into *event, or an item into *item; false: there is neither. */
static bool take(
	struct uroce_conn_channel *channel, struct uroce_conn_event *event, struct conn_item **item)
{
	struct conn_manager *manager = channel->manager;
	bool has_note;

	*item = NULL;
	pthread_mutex_lock(&manager->lock);
	/* First: what comes from here on raises it again. */
	lower(channel);
	while (dispatch_one(manager))
		;
	has_note = take_note(channel, event);
	if (!has_note)
		*item = take_item(channel);
	if (channel->first || channel->notes || uroce_cm_event_pending(manager->cm))
		uroce_conn_channel_raise(channel);
	pthread_mutex_unlock(&manager->lock);
	return has_note || *item;
}

int uroce_conn_poll(struct uroce_conn_channel *channel, struct uroce_conn_event *event)
{
	struct conn_item *item;
	bool got = false;

	if (!atomic_load(&channel->is_raised))
		return 0;
	uroce_conn_channel_lock(channel);
	while (!got && take(channel, event, &item)) {
		got = !item || translate(item, event);
		free(item);
	}
	uroce_conn_channel_unlock(channel);
	if (got)
		uroce_conn_describe(event);
	return got;
}
