/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The network's loop and switch.
 *
 * Two kinds of event lie in a heap by time: a frame reaches the switch, a frame reaches its node.
 * Each step moves the clock to the next event, deadline or pending work, lets all that is due
 * happen, and gives a turn to every node that has a use for one, in the order of a worker: receive,
 * expire, transmit.
 */
#include "net.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "opcode.h"

enum {
	BURST_MAX = 32,
	PPM = 1000000
};

struct net_frame {
	struct net_frame *next; /* at the node */
	uint32_t to;
	uint32_t flow;
	uint64_t late_ns;
	uint32_t bytes;
	uint8_t data[]; /* exactly bytes of them */
};

struct net_event {
	uint64_t ns;
	uint64_t order;
	bool at_node;
	struct net_frame *frame;
};

uint64_t net_random(uint64_t *state)
{
	uint64_t z = *state += 0x9e3779b97f4a7c15u;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
	z = (z ^ z >> 27) * 0x94d049bb133111ebu;
	return z ^ z >> 31;
}

static bool chance(struct net *net, uint32_t ppm)
{
	return ppm > 0 && net_random(&net->random) % PPM < ppm;
}

static void *grow(void *p, size_t bytes)
{
	p = realloc(p, bytes);
	if (!p)
		abort();
	return p;
}

static uint32_t or_default(uint32_t n, uint32_t otherwise)
{
	return n ? n : otherwise;
}

/* ---- the heap ---- */

static bool is_before(const struct net_event *a, const struct net_event *b)
{
	return a->ns != b->ns ? a->ns < b->ns : a->order < b->order;
}

static void swap(struct net_event *a, struct net_event *b)
{
	struct net_event kept = *a;

	*a = *b;
	*b = kept;
}

static void push(struct net *net, uint64_t ns, bool at_node, struct net_frame *frame)
{
	uint32_t at = net->num_events++;

	if (at == net->max_events) {
		net->max_events = at ? 2 * at : 64;
		net->heap = grow(net->heap, net->max_events * sizeof(net->heap[0]));
	}
	net->heap[at] = (struct net_event){ns, net->order++, at_node, frame};
	for (; at > 0 && is_before(&net->heap[at], &net->heap[(at - 1) / 2]); at = (at - 1) / 2)
		swap(&net->heap[at], &net->heap[(at - 1) / 2]);
}

static struct net_event pop(struct net *net)
{
	struct net_event *heap = net->heap, first = heap[0];
	uint32_t n = --net->num_events, at = 0;

	heap[0] = heap[n];
	for (;;) {
		uint32_t least = at, left = 2 * at + 1;

		for (uint32_t child = left; child <= left + 1 && child < n; child++)
			if (is_before(&heap[child], &heap[least]))
				least = child;
		if (least == at)
			return first;
		swap(&heap[at], &heap[least]);
		at = least;
	}
}

/* ---- fates ---- */

static struct net_flow *flow_of(struct net *net, uint32_t qpn)
{
	for (uint32_t i = 0; i < net->num_flows; i++)
		if (net->flows[i].qpn == qpn)
			return &net->flows[i];
	net->flows = grow(net->flows, (net->num_flows + 1) * sizeof(net->flows[0]));
	net->flows[net->num_flows] = (struct net_flow){.qpn = qpn};
	return &net->flows[net->num_flows++];
}

uint32_t net_faults(const struct net *net, uint32_t qpn)
{
	for (uint32_t i = 0; i < net->num_flows; i++)
		if (net->flows[i].qpn == qpn)
			return net->flows[i].faults;
	return 0;
}

static void note(struct net *net, const struct net_fate *fate)
{
	uint32_t n = net->num_notes;

	/* Room doubles at powers of two. */
	if ((n & (n - 1)) == 0)
		net->notes = grow(net->notes, (n ? 2 * n : 1) * sizeof(net->notes[0]));
	net->notes[net->num_notes++] = *fate;
}

/* What befalls one frame: up to one fate of each kind. */
struct fates {
	bool lost;
	uint64_t late_ns;
	bool flipped;
	uint64_t flipped_bit;
	bool doubled;
	uint64_t double_late_ns;
};

static void suffer(struct net *net, struct net_flow *flow, struct fates *fates,
	enum net_fate_kind kind, uint64_t arg)
{
	struct net_fate fate = {flow->qpn, flow->frames, kind, arg};

	switch (kind) {
	case NET_LOSE:
		fates->lost = true;
		break;
	case NET_DELAY:
		fates->late_ns = arg;
		break;
	case NET_FLIP:
		fates->flipped = true;
		fates->flipped_bit = arg;
		break;
	case NET_DUPLICATE:
		fates->doubled = true;
		fates->double_late_ns = arg;
		break;
	}
	flow->faults++;
	note(net, &fate);
}

static void draw_fates(struct net *net, struct net_flow *flow, struct fates *fates,
	uint64_t latency_ns, uint32_t bytes)
{
	const struct net_conf *conf = &net->conf;

	if (net->frames < 64 && (conf->loss_mask >> net->frames & 1)) {
		suffer(net, flow, fates, NET_LOSE, 0);
		return;
	}
	if (chance(net, conf->loss_ppm)) {
		suffer(net, flow, fates, NET_LOSE, 0);
		return;
	}
	if (chance(net, conf->reorder_ppm))
		suffer(net, flow, fates, NET_DELAY,
			1 + net_random(&net->random) % (4 * latency_ns + 1));
	if (chance(net, conf->flip_ppm))
		suffer(net, flow, fates, NET_FLIP, net_random(&net->random) % (8 * bytes));
	if (chance(net, conf->duplicate_ppm))
		suffer(net, flow, fates, NET_DUPLICATE,
			net_random(&net->random) % (2 * latency_ns + 1));
}

static void look_up_fates(struct net *net, struct net_flow *flow, struct fates *fates)
{
	for (; flow->cursor < net->conf.num_fates; flow->cursor++) {
		const struct net_fate *fate = &net->conf.fates[flow->cursor];

		if (fate->qpn != flow->qpn || fate->number < flow->frames)
			continue;
		if (fate->number > flow->frames)
			return;
		suffer(net, flow, fates, fate->kind, fate->arg);
	}
}

/* ---- the switch ---- */

static uint32_t owner_of(const struct net *net, const uint8_t *mac)
{
	for (uint32_t i = 0; i < net->num_nodes; i++)
		if (memcmp(net->nodes[i].mac, mac, sizeof(net->nodes[i].mac)) == 0)
			return i;
	return UINT32_MAX;
}

static void depart(struct net *net, uint32_t to, struct net_flow *flow, const uint8_t *data,
	uint32_t bytes, uint64_t at_switch_ns, uint64_t late_ns)
{
	struct net_frame *frame = grow(NULL, sizeof(*frame) + bytes);

	frame->next = NULL;
	frame->to = to;
	frame->flow = (uint32_t)(flow - net->flows);
	frame->late_ns = late_ns;
	frame->bytes = bytes;
	memcpy(frame->data, data, bytes);
	push(net, at_switch_ns, false, frame);
}

/* A node's frame goes up to the switch. Its data may be changed. */
static void transmit(struct net *net, uint32_t from, uint8_t *data, uint32_t bytes)
{
	struct net_port *port = &net->ports[from];
	const uint8_t *bth = uroce_frame_bth(data);
	struct net_flow *flow = flow_of(net, uroce_load_be24(bth + UROCE_BTH_DQPN));
	uint32_t to = owner_of(net, data + UROCE_ETH_DMAC);
	struct fates fates = {0};
	uint64_t at_switch_ns;

	if (net->conf.tap)
		net->conf.tap(net->conf.tap_arg, net->now_ns, data, bytes);
	if (port->up_free_ns < net->now_ns)
		port->up_free_ns = net->now_ns;
	port->up_free_ns += bytes * port->conf.ns_per_kib / 1024;
	at_switch_ns = port->up_free_ns + port->conf.latency_ns;
	if (net->conf.explicit_fates)
		look_up_fates(net, flow, &fates);
	else
		draw_fates(net, flow, &fates, port->conf.latency_ns, bytes);
	net->frames++;
	flow->frames++;
	if (to == UINT32_MAX)
		net->strays++;
	if (fates.lost)
		net->lost++;
	if (to == UINT32_MAX || fates.lost)
		return;
	if (fates.doubled)
		depart(net, to, flow, data, bytes, at_switch_ns, fates.double_late_ns);
	if (fates.flipped) {
		uint64_t bit = fates.flipped_bit % (8 * bytes);

		data[bit / 8] ^= (uint8_t)(1u << bit % 8);
	}
	depart(net, to, flow, data, bytes, at_switch_ns, fates.late_ns);
}

static void drop(struct net *net, struct net_frame *frame)
{
	net->dropped++;
	net->flows[frame->flow].faults++;
	free(frame);
}

/* What waits in the switch for this port, what is on its way out of there included. */
static uint64_t queue_bytes(const struct net *net, const struct net_port *port)
{
	if (port->down_free_ns <= net->now_ns || port->conf.ns_per_kib == 0)
		return 0;
	return (port->down_free_ns - net->now_ns) * 1024 / port->conf.ns_per_kib;
}

/* Whether a queue of so many bytes is one to warn of: as RED does, but of the moment's length. */
static bool is_congested(struct net *net, const struct net_port_conf *conf, uint64_t bytes)
{
	if (conf->mark_max_bytes == 0 || bytes <= conf->mark_min_bytes)
		return false;
	if (bytes >= conf->mark_max_bytes)
		return true;
	return chance(net,
		(uint32_t)(conf->mark_max_ppm * (bytes - conf->mark_min_bytes) /
			(conf->mark_max_bytes - conf->mark_min_bytes)));
}

/* Congestion Experienced, into an IPv4 frame that says it may be told so. */
static void mark(struct net_port *port, uint8_t *frame)
{
	uint8_t *ip = frame + uroce_frame_eth_bytes(frame);
	uint8_t *tos = ip + UROCE_IPV4_TOS;

	if (uroce_frame_is_ipv6(frame) || (*tos & UROCE_ECN_MASK) == 0)
		return;
	*tos |= UROCE_ECN_CE;
	uroce_store_be16(ip + UROCE_IPV4_CHECKSUM, 0);
	uroce_store_be16(ip + UROCE_IPV4_CHECKSUM,
		(uint16_t)~uroce_ip_fold(uroce_ip_sum(ip, UROCE_IPV4_BYTES, 0)));
	port->marked++;
}

/* A frame has reached the switch: through the queue of its port, if there is room. */
static void forward(struct net *net, struct net_frame *frame)
{
	struct net_port *port = &net->ports[frame->to];
	uint32_t room = port->conf.queue_frames;
	uint64_t waiting_bytes;

	while (port->queued > 0 && port->leaving_ns[port->queue_head] <= net->now_ns) {
		port->queue_head = (port->queue_head + 1) % room;
		port->queued--;
	}
	if (port->queued == room) {
		drop(net, frame);
		return;
	}
	waiting_bytes = queue_bytes(net, port) + frame->bytes;
	if (waiting_bytes > port->queue_peak_bytes)
		port->queue_peak_bytes = waiting_bytes;
	if (is_congested(net, &port->conf, waiting_bytes))
		mark(port, frame->data);
	if (port->down_free_ns < net->now_ns)
		port->down_free_ns = net->now_ns;
	port->down_free_ns += frame->bytes * port->conf.ns_per_kib / 1024;
	port->leaving_ns[(port->queue_head + port->queued++) % room] = port->down_free_ns;
	push(net, port->down_free_ns + port->conf.latency_ns + frame->late_ns, true, frame);
}

/* A frame has reached its node, and waits there. */
static void arrive(struct net *net, struct net_frame *frame)
{
	struct net_port *port = &net->ports[frame->to];

	if (port->rx_waiting == port->conf.rx_frames) {
		drop(net, frame);
		return;
	}
	if (port->rx_waiting++)
		port->rx_last->next = frame;
	else
		port->rx_first = frame;
	port->rx_last = frame;
}

/* ---- turns ---- */

static void receive(struct net *net, uint32_t who)
{
	struct net_port *port = &net->ports[who];
	struct net_frame *done[BURST_MAX];
	struct uroce_pkt pkts[BURST_MAX];
	uint32_t n = 0;

	memset(pkts, 0, sizeof(pkts));
	while (port->rx_waiting > 0 && n < port->conf.burst) {
		struct net_frame *frame = port->rx_first;

		port->rx_first = frame->next;
		port->rx_waiting--;
		pkts[n].data = frame->data;
		pkts[n].bytes = frame->bytes;
		done[n++] = frame;
	}
	if (n > 0)
		uroce_core_rx(&net->nodes[who].core, net->now_ns, pkts, n);
	if (n < port->conf.burst)
		uroce_core_rx_empty(&net->nodes[who].core, net->now_ns);
	for (uint32_t i = 0; i < n; i++)
		free(done[i]);
}

static void send(struct net *net, uint32_t who)
{
	const struct net_port_conf *conf = &net->ports[who].conf;
	uint8_t data[BURST_MAX][ENDPOINT_FRAME_BYTES];
	struct uroce_slot slots[BURST_MAX];
	uint32_t sent = 0, n, want;

	for (uint32_t i = 0; i < conf->tx_slots; i++)
		slots[i] = (struct uroce_slot){.data = data[i], .capacity_bytes = sizeof(data[i])};
	do {
		want = conf->burst - sent < conf->tx_slots ? conf->burst - sent : conf->tx_slots;
		n = want ? uroce_core_tx(&net->nodes[who].core, net->now_ns, slots, want) : 0;
		for (uint32_t i = 0; i < n; i++)
			transmit(net, who, slots[i].data, slots[i].bytes);
		sent += n;
	} while (n > 0 && n == want);
}

/* When this node next has a use for a turn, if it is not paused. */
static uint64_t wants_turn_ns(struct net *net, uint32_t who)
{
	struct uroce_core *core = &net->nodes[who].core;
	uint64_t deadline_ns;

	if (net->ports[who].rx_waiting > 0 || core->ready.head || core->idle_acks ||
		atomic_load(&core->bells.head))
		return net->now_ns;
	deadline_ns = uroce_core_next_deadline(core);
	return deadline_ns < net->now_ns ? net->now_ns : deadline_ns;
}

/* The first moment from `ns` on in which this node is not paused. */
static uint64_t unpaused_ns(const struct net *net, uint32_t who, uint64_t ns)
{
	bool moved = true;

	while (moved) {
		moved = false;
		for (uint32_t i = 0; i < net->conf.num_pauses; i++) {
			const struct net_pause *pause = &net->conf.pauses[i];

			if (pause->node == who && ns >= pause->from_ns && ns < pause->until_ns) {
				ns = pause->until_ns;
				moved = true;
			}
		}
	}
	return ns;
}

static uint64_t turn_ns(struct net *net, uint32_t who)
{
	uint64_t ns = wants_turn_ns(net, who);

	return ns == UROCE_TIMER_NEVER ? ns : unpaused_ns(net, who, ns);
}

bool net_step(struct net *net, uint64_t until_ns)
{
	uint64_t next_ns = net->num_events > 0 ? net->heap[0].ns : UROCE_TIMER_NEVER;

	for (uint32_t i = 0; i < net->num_nodes; i++) {
		uint64_t ns = turn_ns(net, i);

		if (ns < next_ns)
			next_ns = ns;
	}
	if (next_ns == UROCE_TIMER_NEVER || next_ns > until_ns)
		return false;
	if (next_ns > net->now_ns)
		net->now_ns = next_ns;
	while (net->num_events > 0 && net->heap[0].ns <= net->now_ns) {
		struct net_event event = pop(net);

		if (event.at_node)
			arrive(net, event.frame);
		else
			forward(net, event.frame);
	}
	for (uint32_t i = 0; i < net->num_nodes; i++) {
		if (turn_ns(net, i) > net->now_ns)
			continue;
		receive(net, i);
		uroce_core_expire(&net->nodes[i].core, net->now_ns);
		send(net, i);
	}
	return true;
}

bool net_run(struct net *net, uint64_t until_ns)
{
	while (net_step(net, until_ns))
		;
	return net->now_ns < until_ns;
}

/* ---- beginning and end ---- */

static void connect(struct net *net, uint32_t node, uint32_t qp)
{
	uint32_t peer = net->nodes[node].qps[qp].conf.peer_node;

	node_connect(&net->nodes[node], qp, &net->nodes[peer], net->now_ns);
}

void net_init(struct net *net, const struct net_conf *conf)
{
	memset(net, 0, sizeof(*net));
	net->conf = *conf;
	net->random = conf->seed;
	net->num_nodes = conf->num_nodes;
	net->nodes = grow(NULL, conf->num_nodes * sizeof(net->nodes[0]));
	net->ports = grow(NULL, conf->num_nodes * sizeof(net->ports[0]));
	for (uint32_t i = 0; i < conf->num_nodes; i++) {
		struct net_port_conf port = conf->ports[i];

		port.queue_frames = or_default(port.queue_frames, NET_QUEUE_FRAMES);
		port.rx_frames = or_default(port.rx_frames, NET_QUEUE_FRAMES);
		port.burst = or_default(port.burst, BURST_MAX);
		port.tx_slots = or_default(port.tx_slots, 1);
		net->ports[i] = (struct net_port){.conf = port,
			.leaving_ns = grow(NULL, port.queue_frames * sizeof(uint64_t))};
		node_init(&net->nodes[i], i, &conf->nodes[i]);
	}
	for (uint32_t i = 0; i < net->num_nodes; i++)
		for (uint32_t qp = 0; qp < net->nodes[i].num_qps; qp++)
			connect(net, i, qp);
}

void net_fini(struct net *net)
{
	for (uint32_t i = 0; i < net->num_nodes; i++) {
		while (net->ports[i].rx_waiting-- > 0) {
			struct net_frame *frame = net->ports[i].rx_first;

			net->ports[i].rx_first = frame->next;
			free(frame);
		}
		free(net->ports[i].leaving_ns);
		node_fini(&net->nodes[i]);
	}
	for (uint32_t i = 0; i < net->num_events; i++)
		free(net->heap[i].frame);
	free(net->heap);
	free(net->flows);
	free(net->notes);
	free(net->nodes);
	free(net->ports);
}

void net_reconnect(struct net *net, uint32_t node, uint32_t qp)
{
	const struct node_qp_conf *conf = &net->nodes[node].qps[qp].conf;

	connect(net, node, qp);
	connect(net, conf->peer_node, conf->peer_qp);
}

/* ---- what happened ---- */

static void print_event(const struct net *net, uint32_t who, const struct uroce_trace_event *e)
{
	static const char *const kinds[] = {
		"-", "rx", "drop", "tx", "state", "complete", "timer", "rewind", "nak"};
	bool packet = e->kind == UROCE_TRACE_RX || e->kind == UROCE_TRACE_TX;
	const char *name = packet ? uroce_opcodes[e->a & 0xff].name : NULL;

	(void)net;
	printf("  %12" PRIu64 " ns node %u qp 0x%06x %-8s psn 0x%06x a %u b %" PRIu64 " %s\n",
		e->now_ns, who, e->qpn, e->kind < 9 ? kinds[e->kind] : "?", e->psn, e->a, e->b,
		name ? name : "");
}

void net_print_trace(const struct net *net, uint32_t n)
{
	uint32_t *at = grow(NULL, net->num_nodes * sizeof(at[0]));

	for (uint32_t i = 0; i < net->num_nodes; i++) {
		const struct uroce_trace *trace = &net->nodes[i].core.trace;

		at[i] = trace->next > n ? trace->next - n : 0;
	}
	for (;;) {
		const struct uroce_trace_event *first = NULL;
		uint32_t who = 0;

		for (uint32_t i = 0; i < net->num_nodes; i++) {
			const struct uroce_trace *trace = &net->nodes[i].core.trace;
			const struct uroce_trace_event *e = &trace->events[at[i] & trace->mask];

			if (at[i] != trace->next && (!first || e->now_ns < first->now_ns)) {
				first = e;
				who = i;
			}
		}
		if (!first)
			break;
		print_event(net, who, first);
		at[who]++;
	}
	free(at);
}
