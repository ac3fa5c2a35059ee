/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The connection manager as its shell sees it: memory, messages that come, events.
 *
 * A message finds the place that it names here, and is held against the peer of that place: what
 * the handlers get comes from where it should.
 */
#include "cma.h"

#include "cm_state.h"

#include <errno.h>

_Static_assert((uint32_t)UROCE_CM_MAD_BYTES == (uint32_t)UROCE_MAD_BYTES, "one size of messages");
_Static_assert((uint32_t)UROCE_CM_CMA_BYTES == (uint32_t)UROCE_CMA_BYTES, "one size of headers");
_Static_assert((uint32_t)UROCE_CM_ARI_BYTES == (uint32_t)UROCE_MAD_ARI_BYTES, "likewise");

/* ---- memory ------------------------------------------------------------------------------ */

enum {
	ALIGN = 64,
	LISTENERS_DEFAULT = 64,
	REPLIES_DEFAULT = 256,
};

static const struct uroce_cm_timing defaults = {
	.retry_first_ns = 40000000,
	.retry_max_ns = 2000000000,
	.linger_ns = 8000000000,
	.retries = 8,
	.remote_response_timeout = 20,
	.local_response_timeout = 16,
	.service_timeout = 20,
	.target_ack_delay = 15,
	.max_cm_retries = 15,
};

static void fill_timing(struct uroce_cm_timing *timing)
{
#define FILL(field) \
	if (timing->field == 0) \
	timing->field = defaults.field
	FILL(retry_first_ns);
	FILL(retry_max_ns);
	FILL(linger_ns);
	FILL(retries);
	FILL(remote_response_timeout);
	FILL(local_response_timeout);
	FILL(service_timeout);
	FILL(target_ack_delay);
	FILL(max_cm_retries);
#undef FILL
}

/* Without zeros that mean a default; false: out of range. */
static bool fill_conf(struct uroce_cm_conf *conf)
{
	const struct uroce_cm_timing *timing = &conf->timing;

	if (conf->max_listeners == 0)
		conf->max_listeners = LISTENERS_DEFAULT;
	if (conf->max_replies == 0)
		conf->max_replies = REPLIES_DEFAULT;
	fill_timing(&conf->timing);
	return conf->max_ids >= 1 && conf->max_ids <= UROCE_CM_IDS_MAX &&
		conf->max_listeners <= UROCE_CM_LISTENERS_MAX &&
		conf->max_replies <= UROCE_CM_REPLIES_MAX && uroce_cm_mtu_of(conf->mtu_bytes) &&
		timing->max_cm_retries <= 15 && timing->retries <= timing->max_cm_retries &&
		timing->remote_response_timeout <= 31 && timing->local_response_timeout <= 31 &&
		timing->service_timeout <= 31 && timing->target_ack_delay <= 31 &&
		timing->retry_first_ns <= timing->retry_max_ns &&
		timing->retry_max_ns <= UROCE_CM_WAIT_MAX_NS &&
		timing->linger_ns <= UROCE_CM_WAIT_MAX_NS;
}

static uint32_t log2_up(uint32_t n)
{
	uint32_t log2 = 0;

	while (1u << log2 < n)
		log2++;
	return log2;
}

/* Takes `bytes` of a memory that starts at base, NULL while it is only measured. */
static void *carve(uint8_t *base, size_t *at, size_t bytes)
{
	void *piece = base ? base + *at : NULL;

	*at += (bytes + ALIGN - 1) / ALIGN * ALIGN;
	return piece;
}

/* How the memory is divided; cm is NULL while it is only measured. */
static size_t lay_out(const struct uroce_cm_conf *conf, struct uroce_cm *cm)
{
	uint32_t num_buckets = 1u << log2_up(conf->max_ids);
	size_t at = 0;
	struct uroce_cm scratch = {.num_ids = 0}, *out = cm ? cm : &scratch;
	uint8_t *base = (uint8_t *)cm;
	struct uroce_timer **heap;

	carve(base, &at, sizeof(*cm));
	out->ids = carve(base, &at, conf->max_ids * sizeof(*out->ids));
	out->listeners = carve(base, &at, conf->max_listeners * sizeof(*out->listeners));
	out->replies = carve(base, &at, conf->max_replies * sizeof(*out->replies));
	for (uint32_t by = 0; by < UROCE_CM_NUM_KEYS; by++)
		out->buckets[by] = carve(base, &at, num_buckets * sizeof(*out->buckets[by]));
	heap = carve(base, &at, conf->max_ids * sizeof(struct uroce_timer *));
	if (cm)
		uroce_timers_init(&cm->timers, heap, conf->max_ids);
	return at;
}

size_t uroce_cm_bytes(const struct uroce_cm_conf *conf)
{
	struct uroce_cm_conf full = *conf;

	return fill_conf(&full) ? lay_out(&full, NULL) : 0;
}

struct uroce_cm *uroce_cm_init(void *memory, const struct uroce_cm_conf *conf)
{
	struct uroce_cm *cm = memory;
	struct uroce_cm_conf full = *conf;

	if (!fill_conf(&full))
		return NULL;
	memset(cm, 0, lay_out(&full, NULL));
	cm->conf = full;
	lay_out(&full, cm);
	cm->slots_log2 = log2_up(full.max_ids);
	cm->buckets_mask = (1u << cm->slots_log2) - 1;
	cm->random = full.seed;
	cm->hash_seed = uroce_cm_random(cm);
	cm->tid_high = (uint32_t)uroce_cm_random(cm);
	cm->listener_generation = (uint32_t)uroce_cm_random(cm);
	uroce_cm_ids_init(cm);
	return cm;
}

void uroce_cm_set_mtu(struct uroce_cm *cm, uint32_t mtu_bytes)
{
	if (uroce_cm_mtu_of(mtu_bytes))
		cm->conf.mtu_bytes = mtu_bytes;
}

const struct uroce_cm_counters *uroce_cm_counters(const struct uroce_cm *cm)
{
	return &cm->counters;
}

/* ---- in ---------------------------------------------------------------------------------- */

static void count_kind(struct uroce_cm_counters *counters, enum uroce_mad_attr attr)
{
	uint64_t *const by_attr[] = {&counters->rx_req, &counters->rx_mra, &counters->rx_rej,
		&counters->rx_rep, &counters->rx_rtu, &counters->rx_dreq, &counters->rx_drep,
		&counters->rx_sidr_req, &counters->rx_sidr_rep};

	++*by_attr[attr - UROCE_MAD_REQ];
}

/* The place that a message names. A peer that gave up before it knew our id says so by its own. */
static struct uroce_cm_id *find_named(const struct uroce_cm *cm, const struct uroce_cm_in *in)
{
	const struct uroce_mad *mad = in->mad;

	if (mad->attr == UROCE_MAD_REJ && mad->remote_id == 0)
		return uroce_cm_id_find_by(cm, UROCE_CM_BY_REMOTE_ID, in->from->src, mad->local_id);
	return uroce_cm_id_find(cm, mad->remote_id);
}

/* Whether it comes from the peer: from its address to ours, and under its id, once that is known.
 * Answers to SIDR have none. */
static bool is_from_peer(const struct uroce_cm_id *id, const struct uroce_cm_in *in)
{
	return uroce_gid_equal(id->route.dst, in->from->src) &&
		uroce_gid_equal(id->route.src, in->from->dst) &&
		(id->remote_id == 0 || id->remote_id == in->mad->local_id);
}

static enum uroce_cm_drop rx_unknown(struct uroce_cm *cm, const struct uroce_cm_in *in)
{
	/* Who disconnects wants to hear that it is over; who accepts, that nobody asked. */
	if (in->mad->attr == UROCE_MAD_DREQ)
		return uroce_cm_reply_drep(cm, in);
	if (in->mad->attr == UROCE_MAD_REP)
		return uroce_cm_reply_rej(cm, in, UROCE_CM_REJECT_INVALID_COMM_ID, NULL, 0);
	return UROCE_CM_DROP_ID_UNKNOWN;
}

static enum uroce_cm_drop dispatch(struct uroce_cm *cm, const struct uroce_cm_in *in)
{
	static enum uroce_cm_drop (*const by_attr[])(
		struct uroce_cm * cm, struct uroce_cm_id * id, const struct uroce_cm_in *in) = {
		[UROCE_MAD_MRA - UROCE_MAD_REQ] = uroce_cm_rx_mra,
		[UROCE_MAD_REJ - UROCE_MAD_REQ] = uroce_cm_rx_rej,
		[UROCE_MAD_REP - UROCE_MAD_REQ] = uroce_cm_rx_rep,
		[UROCE_MAD_RTU - UROCE_MAD_REQ] = uroce_cm_rx_rtu,
		[UROCE_MAD_DREQ - UROCE_MAD_REQ] = uroce_cm_rx_dreq,
		[UROCE_MAD_DREP - UROCE_MAD_REQ] = uroce_cm_rx_drep,
		[UROCE_MAD_SIDR_REP - UROCE_MAD_REQ] = uroce_cm_rx_sidr_rep,
	};
	struct uroce_cm_id *id;

	if (in->mad->attr == UROCE_MAD_REQ)
		return uroce_cm_rx_req(cm, in);
	if (in->mad->attr == UROCE_MAD_SIDR_REQ)
		return uroce_cm_rx_sidr_req(cm, in);
	id = find_named(cm, in);
	if (!id)
		return rx_unknown(cm, in);
	if (!is_from_peer(id, in))
		return UROCE_CM_DROP_NOT_PEER;
	return by_attr[in->mad->attr - UROCE_MAD_REQ](cm, id, in);
}

enum uroce_cm_drop uroce_cm_rx(struct uroce_cm *cm, uint64_t now_ns,
	const struct uroce_cm_route *from, uint32_t src_qpn, const uint8_t *mad, uint32_t bytes)
{
	struct uroce_mad parsed;
	const struct uroce_cm_in in = {.mad = &parsed, .from = from, .now_ns = now_ns};
	enum uroce_cm_drop drop = uroce_mad_parse(mad, bytes, &parsed);

	cm->counters.rx_mads++;
	if (!drop) {
		count_kind(&cm->counters, parsed.attr);
		drop = src_qpn == 1 ? dispatch(cm, &in) : UROCE_CM_DROP_SOURCE_QPN;
	}
	if (drop)
		cm->counters.drops[drop]++;
	else
		cm->counters.rx_accepted++;
	return drop;
}

/* ---- events ------------------------------------------------------------------------------ */

static bool has_private_data(enum uroce_cm_event_type type)
{
	return type == UROCE_CM_CONNECT_REQUEST || type == UROCE_CM_CONNECT_RESPONSE ||
		type == UROCE_CM_REJECTED || type == UROCE_CM_SIDR_REQUEST ||
		type == UROCE_CM_SIDR_RESOLVED;
}

static void fill_event(
	const struct uroce_cm_id *id, enum uroce_cm_event_type type, struct uroce_cm_event *event)
{
	bool request = type == UROCE_CM_CONNECT_REQUEST || type == UROCE_CM_SIDR_REQUEST;

	*event = (struct uroce_cm_event){
		.type = type,
		.id = id->number,
		.user = id->user,
		.listener = request ? id->event_listener : 0,
		.listener_user = request ? id->listener_user : 0,
		.service_id = id->service_id,
		.route = id->route,
		.local_port = id->local_port,
		.remote_port = id->remote_port,
		.local_qpn = id->qpn,
		.params = id->params,
	};
	if (type == UROCE_CM_REJECTED || type == UROCE_CM_SIDR_RESOLVED)
		event->reason = id->reason;
	if (type == UROCE_CM_SIDR_RESOLVED && id->reason == UROCE_CM_SIDR_VALID) {
		event->sidr_qpn = id->sidr_qpn;
		event->sidr_qkey = id->sidr_qkey;
	}
	if (!has_private_data(type))
		return;
	event->private_bytes = id->private_bytes;
	memcpy(event->private_data, id->data, id->private_bytes);
	event->ari_bytes = id->ari_bytes;
	memcpy(event->ari, id->data + id->private_bytes, id->ari_bytes);
}

bool uroce_cm_event_poll(struct uroce_cm *cm, struct uroce_cm_event *event)
{
	struct uroce_cm_id *id = uroce_cm_id_first(&cm->event, UROCE_CM_LIST_EVENT);
	uint32_t type = 0;

	if (!id)
		return false;
	while (!(id->events >> type & 1))
		type++;
	fill_event(id, type, event);
	id->known = true;
	uroce_cm_id_untell(id, 1u << type);
	return true;
}

bool uroce_cm_event_pending(const struct uroce_cm *cm)
{
	return cm->event.next != &cm->event;
}

/* ---- for those who look on --------------------------------------------------------------- */

int uroce_cm_set_user(struct uroce_cm *cm, uint32_t number, uint64_t user)
{
	struct uroce_cm_id *id = uroce_cm_id_find_known(cm, number);

	if (!id)
		return -ENOENT;
	id->user = user;
	return 0;
}

uint32_t uroce_cm_num_ids(const struct uroce_cm *cm)
{
	return cm->num_ids;
}

bool uroce_cm_info(const struct uroce_cm *cm, uint32_t place, struct uroce_cm_info *info)
{
	const struct uroce_cm_id *id;

	if (place >= cm->conf.max_ids || !cm->ids[place].number)
		return false;
	id = &cm->ids[place];
	*info = (struct uroce_cm_info){
		.id = id->number,
		.remote_id = id->remote_id,
		.user = id->user,
		.state = id->state,
		.active = id->active,
		.destroyed = id->destroyed,
		.route = id->route,
		.service_id = id->service_id,
		.local_qpn = id->qpn,
		.remote_qpn = id->params.remote_qpn,
		.retries = id->retries,
	};
	return true;
}
