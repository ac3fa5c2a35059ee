/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Listeners: who takes requests for a service, and how many at a time.
 *
 * A request counts until it is established or refused, so that neither a slow application nor a
 * peer that begins and never ends takes more places than the backlog. There are few listeners:
 * they are looked at one after the other.
 */
#include "cm_state.h"

#include <errno.h>

enum {
	BACKLOG_DEFAULT = 128,
	PLACE_BITS = 12, /* of a listener's number, the others are a generation */
};
_Static_assert(UROCE_CM_LISTENERS_MAX <= 1 << PLACE_BITS, "a number has room for any place");

/* On exactly that address. */
static struct uroce_cm_listener *find_on(
	const struct uroce_cm *cm, uint64_t service_id, struct uroce_gid addr)
{
	for (uint32_t i = 0; i < cm->conf.max_listeners; i++) {
		struct uroce_cm_listener *listener = &cm->listeners[i];

		if (listener->number && listener->conf.service_id == service_id &&
			uroce_gid_equal(listener->conf.addr, addr))
			return listener;
	}
	return NULL;
}

struct uroce_cm_listener *uroce_cm_listener_find(
	const struct uroce_cm *cm, uint64_t service_id, struct uroce_gid addr)
{
	struct uroce_cm_listener *listener = find_on(cm, service_id, addr);

	return listener ? listener : find_on(cm, service_id, (struct uroce_gid){0, 0});
}

static struct uroce_cm_listener *find_number(const struct uroce_cm *cm, uint32_t number)
{
	uint32_t place = number & ((1u << PLACE_BITS) - 1);

	if (number == 0 || place >= cm->conf.max_listeners || cm->listeners[place].number != number)
		return NULL;
	return &cm->listeners[place];
}

int uroce_cm_listen(struct uroce_cm *cm, const struct uroce_cm_listen *listen, uint32_t *listener)
{
	struct uroce_cm_listener *at = NULL;
	struct uroce_gid addr = listen->addr;

	if (uroce_gid_is_unspecified(addr))
		addr = (struct uroce_gid){0, 0};
	if (find_on(cm, listen->service_id, addr))
		return -EADDRINUSE;
	for (uint32_t i = 0; i < cm->conf.max_listeners && !at; i++)
		if (!cm->listeners[i].number)
			at = &cm->listeners[i];
	if (!at)
		return -ENOSPC;
	/* Generation 0 is left out, so that no number is 0. */
	cm->listener_generation = (cm->listener_generation + 1) & ((1u << (32 - PLACE_BITS)) - 1);
	cm->listener_generation += cm->listener_generation == 0;
	*at = (struct uroce_cm_listener){
		.number = cm->listener_generation << PLACE_BITS | (uint32_t)(at - cm->listeners),
		.conf = *listen,
	};
	at->conf.addr = addr;
	if (at->conf.backlog == 0)
		at->conf.backlog = BACKLOG_DEFAULT;
	*listener = at->number;
	return 0;
}

/* Nobody will ever hear of it. */
static void turn_away(struct uroce_cm *cm, struct uroce_cm_id *id)
{
	uroce_cm_id_untell(id, id->events);
	id->destroyed = true;
	if (id->state == UROCE_CM_STATE_SIDR_REQ_RCVD) {
		uroce_cm_answer_sidr(cm, id, UROCE_CM_SIDR_UNSUPPORTED);
		return;
	}
	uroce_cm_id_keep(id, NULL, 0, NULL, 0);
	uroce_cm_enter_refused(cm, id, UROCE_CM_REJECT_INVALID_SERVICE_ID, UROCE_MAD_TO_REQ);
}

int uroce_cm_unlisten(struct uroce_cm *cm, uint32_t number)
{
	struct uroce_cm_listener *listener = find_number(cm, number);

	if (!listener)
		return -ENOENT;
	for (uint32_t i = 0; i < cm->conf.max_ids; i++) {
		struct uroce_cm_id *id = &cm->ids[i];

		if (!id->number || id->listener != number)
			continue;
		uroce_cm_listener_release(cm, id);
		if (!id->known)
			turn_away(cm, id);
	}
	listener->number = 0;
	return 0;
}

struct uroce_cm_id *uroce_cm_listener_take(
	struct uroce_cm *cm, struct uroce_cm_listener *listener, const struct uroce_cm_in *in)
{
	struct uroce_cm_id *id;

	if (listener->pending >= listener->conf.backlog) {
		cm->counters.backlog_full++;
		return NULL;
	}
	id = uroce_cm_id_take(cm);
	if (!id) {
		cm->counters.ids_full++;
		return NULL;
	}
	listener->pending++;
	id->listener = id->event_listener = listener->number;
	id->listener_user = listener->conf.user;
	id->service_id = listener->conf.service_id;
	id->remote_id = in->mad->local_id;
	id->tid = in->mad->tid;
	id->route = uroce_cm_route_back(in->from);
	return id;
}

void uroce_cm_listener_release(struct uroce_cm *cm, struct uroce_cm_id *id)
{
	struct uroce_cm_listener *listener = find_number(cm, id->listener);

	id->listener = 0;
	if (listener)
		listener->pending--;
}
