/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Connection managers on a bad network: messages in flight and thoughts of applications in one
 * heap, ordered by time, and then by when they were put there.
 */
#include "cm_net.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bytes.h"
#include "must.h"
#include "test_random.h"

enum item_kind {
	MESSAGE,
	ACCEPT,
	CONFIRM,
	DATA,
};

struct cm_net_item {
	uint64_t at_ns, order;
	enum item_kind kind;
	uint32_t node;
	uint64_t user; /* of who thinks */
	struct uroce_cm_route route;
	uint8_t mad[UROCE_CM_MAD_BYTES];
};

static bool is_before(const struct cm_net_item *a, const struct cm_net_item *b)
{
	return a->at_ns != b->at_ns ? a->at_ns < b->at_ns : a->order < b->order;
}

static void push(struct cm_net *net, struct cm_net_item *item)
{
	uint32_t at = net->num_items++;

	if (net->num_items > net->max_items) {
		net->max_items = 2 * net->max_items + 64;
		net->heap = realloc(net->heap, net->max_items * sizeof(*net->heap));
		MUST(net->heap);
	}
	item->order = net->next_order++;
	for (; at > 0 && is_before(item, &net->heap[(at - 1) / 2]); at = (at - 1) / 2)
		net->heap[at] = net->heap[(at - 1) / 2];
	net->heap[at] = *item;
}

static struct cm_net_item pop(struct cm_net *net)
{
	struct cm_net_item first = net->heap[0], last = net->heap[--net->num_items];
	uint32_t at = 0, child;

	while ((child = 2 * at + 1) < net->num_items) {
		if (child + 1 < net->num_items &&
			is_before(&net->heap[child + 1], &net->heap[child]))
			child++;
		if (!is_before(&net->heap[child], &last))
			break;
		net->heap[at] = net->heap[child];
		at = child;
	}
	net->heap[at] = last;
	return first;
}

static void start_node(struct cm_net *net, uint32_t i)
{
	struct cm_net_node *node = &net->nodes[i];
	struct uroce_cm_conf *cm = &net->conf.cm;
	const struct uroce_cm_listen listen = {
		.service_id = uroce_cm_service_id(UROCE_CM_PS_TCP, CM_NET_PORT),
		.backlog = cm->max_ids};
	size_t bytes;
	void *memory;

	cm->seed = random_next(&net->random);
	cm->ca_guid = 0x0200000000000000 + i;
	bytes = uroce_cm_bytes(cm);
	MUST(bytes > 0);
	memory = aligned_alloc(64, bytes);
	MUST(memory);
	/* What is not written is not zero. */
	memset(memory, 0xa5, bytes);
	node->cm = uroce_cm_init(memory, cm);
	MUST(node->cm);
	node->gid = uroce_gid_of_ipv4(0xc0000201 + i);
	node->next_qpn = 0x100;
	MUST(uroce_cm_listen(node->cm, &listen, &node->listener) == 0);
}

void cm_net_init(struct cm_net *net, const struct cm_net_conf *conf)
{
	*net = (struct cm_net){.conf = *conf};
	net->random = (conf->seed + 1) * 0x9e3779b97f4a7c15u;
	if (net->random == 0)
		net->random = 1;
	if (net->conf.nodes == 0)
		net->conf.nodes = 2;
	if (net->conf.max_conns == 0)
		net->conf.max_conns = 16;
	if (net->conf.delay_max_ns == 0) {
		net->conf.delay_min_ns = 10000;
		net->conf.delay_max_ns = 50000;
	}
	if (net->conf.cm.max_ids == 0)
		net->conf.cm.max_ids = 64;
	if (net->conf.cm.mtu_bytes == 0)
		net->conf.cm.mtu_bytes = 1024;
	net->now_ns = CM_NET_S;
	net->conns = calloc(net->conf.max_conns, sizeof(*net->conns));
	MUST(net->conns);
	for (uint32_t i = 0; i < net->conf.nodes; i++)
		start_node(net, i);
}

void cm_net_fini(struct cm_net *net)
{
	for (uint32_t i = 0; i < net->conf.nodes; i++)
		free(net->nodes[i].cm);
	free(net->heap);
	free(net->conns);
}

/* ---- the network ------------------------------------------------------------------------- */

static uint32_t node_of(const struct cm_net *net, struct uroce_gid gid)
{
	uint32_t node = uroce_gid_ipv4(gid) - 0xc0000201;

	MUST(node < net->conf.nodes);
	return node;
}

static bool chance(struct cm_net *net, uint32_t ppm)
{
	return ppm > 0 && random_below(&net->random, 1000000) < ppm;
}

static void fly(struct cm_net *net, struct cm_net_item *item)
{
	uint64_t span = net->conf.delay_max_ns - net->conf.delay_min_ns + 1;

	item->at_ns = net->now_ns + net->conf.delay_min_ns + random_next(&net->random) % span;
	push(net, item);
}

static void send_all(struct cm_net *net, uint32_t from)
{
	struct cm_net_item item = {.kind = MESSAGE};
	struct uroce_cm_route to;

	while (uroce_cm_tx(net->nodes[from].cm, net->now_ns, item.mad, &to)) {
		uint64_t number = net->sent++;
		bool lost = number < 64 ? net->conf.loss_mask >> number & 1 : 0;

		lost |= chance(net, net->conf.loss_ppm);
		item.node = node_of(net, to.dst);
		item.route = to;
		net->trace[net->num_traced++ % CM_NET_TRACE] = (struct cm_net_traced){
			.at_ns = net->now_ns,
			.from = (uint8_t)from,
			.to = (uint8_t)item.node,
			.attr = item.mad[17],
			.lost = lost,
			.local_id = uroce_load_be32(item.mad + 24),
			.remote_id = uroce_load_be32(item.mad + 28),
		};
		if (lost)
			continue;
		fly(net, &item);
		if (chance(net, net->conf.dup_ppm))
			fly(net, &item);
	}
}

/* ---- the application --------------------------------------------------------------------- */

static uint32_t user_of(uint32_t conn, uint32_t side)
{
	return conn * 2 + side + 1;
}

static struct cm_net_side *side_of(struct cm_net *net, uint64_t user)
{
	MUST(user >= 1 && (user - 1) / 2 < net->num_conns);
	return &net->conns[(user - 1) / 2].side[(user - 1) % 2];
}

struct uroce_cm_connect cm_net_params(struct cm_net *net, uint32_t from, uint32_t to)
{
	return (struct uroce_cm_connect){
		.route = {.src = net->nodes[from].gid, .dst = net->nodes[to].gid},
		.service_id = uroce_cm_service_id(UROCE_CM_PS_TCP, CM_NET_PORT),
		.local_port = 40000,
		.qpn = net->nodes[from].next_qpn++,
		.psn = (uint32_t)random_next(&net->random) & 0xffffff,
		.qp_type = UROCE_QP_RC,
		.path_mtu_bytes = 1024,
		.responder_resources = 4,
		.initiator_depth = 4,
		.retry_count = 7,
		.rnr_retry = 7,
		.ack_timeout = 14,
	};
}

uint32_t cm_net_connect(struct cm_net *net, uint32_t from, uint32_t to)
{
	uint32_t conn = net->num_conns++;
	struct cm_net_side *side = &net->conns[conn].side[0];
	struct uroce_cm_connect connect = cm_net_params(net, from, to);
	uint8_t name[4];

	MUST(conn < net->conf.max_conns);
	uroce_store_be32(name, conn);
	connect.user = user_of(conn, 0);
	connect.private_data = name;
	connect.private_bytes = sizeof(name);
	*side = (struct cm_net_side){.state = CM_NET_ASKED,
		.node = from,
		.asked_ns = net->now_ns,
		.qpn = connect.qpn,
		.psn = connect.psn};
	MUST(uroce_cm_connect(net->nodes[from].cm, &connect, &side->id) == 0);
	return conn;
}

void cm_net_disconnect(struct cm_net *net, uint32_t conn, uint32_t s)
{
	struct cm_net_side *side = &net->conns[conn].side[s];

	uroce_cm_disconnect(net->nodes[side->node].cm, side->id);
}

void cm_net_give_up(struct cm_net *net, uint32_t conn, uint32_t s)
{
	struct cm_net_side *side = &net->conns[conn].side[s];

	if (side->state == CM_NET_NONE || side->state >= CM_NET_REJECTED)
		return;
	MUST(uroce_cm_destroy(net->nodes[side->node].cm, side->id) == 0);
	side->state = CM_NET_DISCONNECTED;
}

void cm_net_restart(struct cm_net *net, uint32_t node)
{
	free(net->nodes[node].cm);
	start_node(net, node);
	for (uint32_t i = 0; i < net->num_conns; i++)
		for (uint32_t s = 0; s < 2; s++)
			if (net->conns[i].side[s].node == node)
				net->conns[i].side[s].state = CM_NET_NONE;
}

static void think(struct cm_net *net, enum item_kind kind, uint64_t user)
{
	struct cm_net_item item = {
		.kind = kind, .at_ns = net->now_ns + net->conf.think_ns, .user = user};

	push(net, &item);
}

static void hear_request(struct cm_net *net, uint32_t node, const struct uroce_cm_event *event)
{
	uint32_t conn = uroce_load_be32(event->private_data);
	struct cm_net_side *side;

	MUST(conn < net->num_conns);
	side = &net->conns[conn].side[1];
	side->state = CM_NET_ASKED;
	side->node = node;
	side->id = event->id;
	side->asked_ns = net->now_ns;
	side->params = event->params;
	side->requests++;
	MUST(uroce_cm_set_user(net->nodes[node].cm, event->id, user_of(conn, 1)) == 0);
	think(net, ACCEPT, user_of(conn, 1));
}

static void answer_request(struct cm_net *net, uint64_t user)
{
	struct cm_net_side *side = side_of(net, user);
	struct uroce_cm *cm = net->nodes[side->node].cm;
	const struct uroce_cm_refusal refusal = {.reason = net->conf.reject_reason};
	struct uroce_cm_accept accept = {.psn = (uint32_t)random_next(&net->random) & 0xffffff,
		.responder_resources = 4,
		.initiator_depth = 4,
		.rnr_retry = 7};

	if (side->state != CM_NET_ASKED)
		return;
	if (refusal.reason) {
		MUST(uroce_cm_reject(cm, side->id, &refusal) == 0);
		MUST(uroce_cm_destroy(cm, side->id) == 0);
		side->state = CM_NET_REJECTED;
		return;
	}
	accept.user = user;
	accept.qpn = net->nodes[side->node].next_qpn++;
	side->qpn = accept.qpn;
	side->psn = accept.psn;
	if (uroce_cm_accept(cm, side->id, &accept) == 0)
		side->state = CM_NET_ACCEPTED;
}

static void connected(struct cm_net *net, struct cm_net_side *side)
{
	side->state = CM_NET_CONNECTED;
	side->was_connected = true;
	side->connected_ns = net->now_ns;
}

static void confirm(struct cm_net *net, uint64_t user)
{
	struct cm_net_side *side = side_of(net, user);
	struct cm_net_item item = {.kind = DATA, .user = user + 1};

	if (side->state != CM_NET_ASKED ||
		uroce_cm_established(net->nodes[side->node].cm, side->id) != 0)
		return;
	connected(net, side);
	if (net->conf.comm_est)
		fly(net, &item);
}

static void ended(struct cm_net *net, struct cm_net_side *side, enum cm_net_state state)
{
	side->state = state;
	side->ended_ns = net->now_ns;
	if (!net->conf.keep)
		MUST(uroce_cm_destroy(net->nodes[side->node].cm, side->id) == 0);
}

static void hear(struct cm_net *net, uint32_t node, const struct uroce_cm_event *event)
{
	struct cm_net_side *side;

	if (event->type == UROCE_CM_CONNECT_REQUEST) {
		hear_request(net, node, event);
		return;
	}
	side = side_of(net, event->user);
	MUST(side->id == event->id && side->node == node);
	switch (event->type) {
	case UROCE_CM_CONNECT_RESPONSE:
		side->params = event->params;
		think(net, CONFIRM, event->user);
		break;
	case UROCE_CM_ESTABLISHED:
		MUST(side->state == CM_NET_ACCEPTED);
		connected(net, side);
		break;
	case UROCE_CM_REJECTED:
		side->reason = event->reason;
		ended(net, side, CM_NET_REJECTED);
		break;
	case UROCE_CM_UNREACHABLE:
		ended(net, side, CM_NET_UNREACHABLE);
		break;
	case UROCE_CM_DISCONNECTED:
		ended(net, side, CM_NET_DISCONNECTED);
		break;
	case UROCE_CM_TIMEWAIT_EXIT:
		MUST(side->state == CM_NET_DISCONNECTED);
		side->timewait_over = true;
		break;
	case UROCE_CM_CONNECT_REQUEST:
	case UROCE_CM_SIDR_REQUEST:
	case UROCE_CM_SIDR_RESOLVED:
	case UROCE_CM_EVENT_COUNT:
		MUST(0);
	}
}

/* ---- time -------------------------------------------------------------------------------- */

static void happen(struct cm_net *net, const struct cm_net_item *item)
{
	struct cm_net_side *side;

	switch (item->kind) {
	case MESSAGE:
		uroce_cm_rx(net->nodes[item->node].cm, net->now_ns, &item->route, 1, item->mad,
			UROCE_CM_MAD_BYTES);
		break;
	case ACCEPT:
		answer_request(net, item->user);
		break;
	case CONFIRM:
		confirm(net, item->user);
		break;
	case DATA:
		side = side_of(net, item->user);
		uroce_cm_received(net->nodes[side->node].cm, side->id);
		break;
	}
}

static void turn(struct cm_net *net, uint32_t node)
{
	struct uroce_cm *cm = net->nodes[node].cm;
	struct uroce_cm_event event;

	uroce_cm_expire(cm, net->now_ns);
	while (uroce_cm_event_poll(cm, &event))
		hear(net, node, &event);
	send_all(net, node);
}

void cm_net_run(struct cm_net *net, uint64_t until_ns)
{
	for (;;) {
		uint64_t next_ns = net->num_items > 0 ? net->heap[0].at_ns : UINT64_MAX;

		for (uint32_t i = 0; i < net->conf.nodes; i++) {
			uint64_t deadline_ns;

			turn(net, i);
			deadline_ns = uroce_cm_next_deadline(net->nodes[i].cm);
			if (deadline_ns < next_ns)
				next_ns = deadline_ns;
		}
		if (net->num_items > 0 && net->heap[0].at_ns < next_ns)
			next_ns = net->heap[0].at_ns;
		if (next_ns > until_ns) {
			if (until_ns != UINT64_MAX)
				net->now_ns = until_ns;
			return;
		}
		if (next_ns == UINT64_MAX)
			return;
		if (next_ns > net->now_ns)
			net->now_ns = next_ns;
		while (net->num_items > 0 && net->heap[0].at_ns <= net->now_ns) {
			struct cm_net_item item = pop(net);

			happen(net, &item);
		}
	}
}

uint32_t cm_net_ids(const struct cm_net *net)
{
	uint32_t ids = 0;

	for (uint32_t i = 0; i < net->conf.nodes; i++)
		ids += uroce_cm_num_ids(net->nodes[i].cm);
	return ids;
}

void cm_net_print(const struct cm_net *net)
{
	static const char *const names[] = {
		"REQ", "MRA", "REJ", "REP", "RTU", "DREQ", "DREP", "SIDR_REQ", "SIDR_REP"};
	uint32_t from = net->num_traced > CM_NET_TRACE ? net->num_traced - CM_NET_TRACE : 0;

	fprintf(stderr, "seed %llu, mask %#llx, loss %u, duplicates %u of a million; at %llu ns\n",
		(unsigned long long)net->conf.seed, (unsigned long long)net->conf.loss_mask,
		net->conf.loss_ppm, net->conf.dup_ppm, (unsigned long long)net->now_ns);
	for (uint32_t i = from; i < net->num_traced; i++) {
		const struct cm_net_traced *t = &net->trace[i % CM_NET_TRACE];

		fprintf(stderr, "%6u %14llu ns  %u -> %u  %-8s %08x %08x%s\n", i,
			(unsigned long long)t->at_ns, t->from, t->to, names[t->attr - 0x10],
			t->local_id, t->remote_id, t->lost ? "  lost" : "");
	}
}
