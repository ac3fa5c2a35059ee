/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The loop's body.
 *
 * No frame outlives its turn, but for three bounded places, each with a counter: what the port did
 * not take yet, what is looped to its own MAC, what was handed to another worker. Slots are pulled
 * only as far as those have room, so nothing built is ever lost here; and nothing spins: a port
 * that takes nothing for a while loses the frame at the head, as a wire would.
 *
 * Where the port has fewer queues than workers, those without a queue are given what is theirs by
 * those with one, and give them what they build; each of these takes turns between its own frames
 * and its clients'.
 */
#include "poller.h"

#include <string.h>

#include <rte_ethdev.h>
#include <rte_interrupts.h>
#include <rte_pause.h>

#include "mbuf.h"

/* A port that has taken nothing for so long never will: memif without a peer, tap and its MTU. */
#define STUCK_NS 100000000ull

enum {
	FULL_BURSTS_DRAINED = 8, /* as many as the core waits for */
	KERNEL_FRAMES_MAX = 8	 /* of the kernel's in a turn */
};

#define count(poller, field, n) \
	__atomic_store_n( \
		&(poller)->counters.field, (poller)->counters.field + (n), __ATOMIC_RELAXED)

static uint32_t turn(void *link, struct uroce_core *core, uint64_t now_ns)
{
	return uroce_poller_turn(link, core, now_ns);
}

const struct uroce_link_ops uroce_poller_link = {.turn = turn};

void uroce_poller_init(struct uroce_poller *poller, const struct uroce_poller_conf *conf)
{
	const struct uroce_port *port = conf->port;

	memset(poller, 0, sizeof(*poller));
	poller->conf = *conf;
	poller->has_rx_queue = conf->id < port->num_rx_queues;
	poller->has_tx_queue = conf->id < port->num_tx_queues;
	poller->tx_by = uroce_port_sender(port, conf->id);
	for (uint32_t i = 0; i < conf->out->num; i++)
		poller->num_clients += i != conf->id && uroce_port_sender(port, i) == conf->id;
}

static void free_passed_on(struct uroce_steer *steer, uint32_t id)
{
	struct rte_mbuf *mbuf;

	while (uroce_steer_pop(steer, id, (void **)&mbuf, 1) == 1)
		rte_pktmbuf_free(mbuf);
}

void uroce_poller_fini(struct uroce_poller *poller)
{
	rte_pktmbuf_free_bulk(poller->spare, poller->num_spare);
	rte_pktmbuf_free_bulk(poller->pending.mbufs, poller->pending.num);
	rte_pktmbuf_free_bulk(poller->relay.mbufs, poller->relay.num);
	rte_pktmbuf_free_bulk(poller->looped, poller->num_looped);
	poller->num_spare = poller->pending.num = poller->relay.num = poller->num_looped = 0;
	free_passed_on(poller->conf.in, poller->conf.id);
	free_passed_on(poller->conf.out, poller->conf.id);
}

/* ---- receive ---- */

/* Views of a burst. Frames in pieces are replaced by copies in one; originals keeps the rest. */
static uint32_t view_burst(struct uroce_poller *poller, uint16_t flags, struct rte_mbuf **mbufs,
	uint32_t n, struct uroce_pkt *pkts, struct rte_mbuf **linear)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < n; i++) {
		struct rte_mbuf *mbuf = mbufs[i], *one = mbuf;

		if (mbuf->nb_segs > 1) {
			one = uroce_mbuf_linear_copy(mbuf, poller->conf.port->pool);
			if (!one) {
				count(poller, rx_no_buffer, 1);
				rte_pktmbuf_free(mbuf);
				continue;
			}
			count(poller, rx_linearised, 1);
		}
		uroce_mbuf_view(one, flags, &pkts[kept]);
		mbufs[kept] = mbuf;
		linear[kept++] = one;
	}
	return kept;
}

static bool is_handed_back(enum uroce_drop drop)
{
#define HANDED_BACK(name, handed_back, text) [UROCE_DROP_##name] = handed_back,
	static const bool back[UROCE_DROP_COUNT] = {UROCE_DROP_REASONS(HANDED_BACK)};
#undef HANDED_BACK

	return back[drop];
}

/* What nobody needs any more: freed together, since each way back to the pool is a long one. */
struct trash {
	struct rte_mbuf *mbufs[2 * UROCE_BURST];
	uint32_t num;
};

static void discard(struct trash *trash, struct rte_mbuf *mbuf)
{
	trash->mbufs[trash->num++] = mbuf;
}

/* What becomes of one frame after the core has seen it. True: it is still the caller's. */
static bool dispose(struct uroce_poller *poller, const struct uroce_pkt *pkt, struct rte_mbuf *mbuf,
	struct rte_mbuf *one, struct trash *trash)
{
	bool is_back = !pkt->handed_over && is_handed_back(pkt->drop);

	if (one != mbuf)
		discard(trash, is_back ? one : mbuf);
	if (is_back)
		return true;
	if (pkt->handed_over) {
		if (uroce_steer_push(poller->conf.in, poller->conf.id, pkt->owner, one))
			return false;
		count(poller, handover_full, 1);
	}
	discard(trash, one);
	return false;
}

static uint32_t rx_burst(struct uroce_poller *poller, struct uroce_core *core, uint64_t now_ns,
	uint16_t flags, struct rte_mbuf **mbufs, uint32_t n)
{
	struct rte_mbuf *linear[UROCE_BURST];
	struct uroce_pkt pkts[UROCE_BURST];
	struct trash trash;
	uint32_t left = 0;

	trash.num = 0;
	n = view_burst(poller, flags, mbufs, n, pkts, linear);
	uroce_core_rx(core, now_ns, pkts, n);
	for (uint32_t i = 0; i < n; i++)
		if (dispose(poller, &pkts[i], mbufs[i], linear[i], &trash))
			mbufs[left++] = mbufs[i];
	rte_pktmbuf_free_bulk(trash.mbufs, trash.num);
	return left;
}

/* flags: of enum uroce_pkt_flag, for all of them. */
static uint32_t rx(struct uroce_poller *poller, struct uroce_core *core, uint64_t now_ns,
	uint16_t flags, struct rte_mbuf **mbufs, uint32_t n)
{
	uint32_t left = 0;

	for (uint32_t at = 0; at < n; at += UROCE_BURST) {
		uint32_t part = n - at < UROCE_BURST ? n - at : UROCE_BURST;
		uint32_t back = rx_burst(poller, core, now_ns, flags, mbufs + at, part);

		memmove(mbufs + left, mbufs + at, back * sizeof(*mbufs));
		left += back;
	}
	uroce_steer_flush(poller->conf.in, poller->conf.id);
	return left;
}

/* ---- what goes around ---- */

/* Other workers' timers need not wait for what comes to this one's queue: there is no more. */
static void say_drained(struct uroce_poller *poller, uint64_t now_ns, uint32_t received)
{
	poller->full_bursts = received < UROCE_BURST ? 0 : poller->full_bursts + 1;
	/* Nor for ever, where there always is more. */
	if (poller->full_bursts == 0 || poller->full_bursts >= FULL_BURSTS_DRAINED)
		uroce_steer_drained(poller->conf.in, poller->conf.id, now_ns);
}

/* Until when everything that came to any queue is here once the hand-over rings are emptied. */
static uint64_t all_drained(
	const struct uroce_poller *poller, struct uroce_core *core, uint64_t now_ns)
{
	/* What others say of it is asked for only when it matters. */
	if (poller->conf.in->num == 1 || uroce_core_next_deadline(core) > now_ns)
		return now_ns;
	return uroce_steer_all_drained(poller->conf.in, now_ns);
}

uint32_t uroce_poller_rx_inner(
	struct uroce_poller *poller, struct uroce_core *core, uint64_t now_ns, uint32_t received)
{
	struct rte_mbuf *mbufs[UROCE_LOOPED_MAX];
	uint32_t n = poller->num_looped, left;
	uint64_t drained_ns;

	if (poller->has_rx_queue)
		say_drained(poller, now_ns, received);
	drained_ns = all_drained(poller, core, now_ns);
	/* Moved out first: what is sent in answer may be looped again. */
	memcpy(mbufs, poller->looped, n * sizeof(*mbufs));
	poller->num_looped = 0;
	if (n < UROCE_LOOPED_MAX)
		n += uroce_steer_pop(poller->conf.in, poller->conf.id, (void **)(mbufs + n),
			UROCE_LOOPED_MAX - n);
	left = rx(poller, core, now_ns, UROCE_PKT_INNER, mbufs, n);
	rte_pktmbuf_free_bulk(mbufs, left);
	if (received < UROCE_BURST && n < UROCE_LOOPED_MAX)
		uroce_core_rx_empty(core, drained_ns);
	return n;
}

/* ---- transmit ---- */

/* Makes sure of up to `want` empty buffers; returns how many there are. */
static uint32_t provide_spares(struct uroce_poller *poller, uint32_t want)
{
	uint32_t missing = want > poller->num_spare ? want - poller->num_spare : 0;

	if (missing > 0 &&
		rte_pktmbuf_alloc_bulk(
			poller->conf.port->pool, poller->spare + poller->num_spare, missing) == 0)
		poller->num_spare += missing;
	if (want > poller->num_spare)
		want = poller->num_spare;
	return want;
}

static bool is_to_self(const struct uroce_poller *poller, const uint8_t *frame)
{
	const uint8_t *mac = poller->conf.port->mac;

	return memcmp(frame + UROCE_ETH_DMAC, mac, sizeof(poller->conf.port->mac)) == 0;
}

/* Whether queue pairs of this device may be members of the group that the frame goes to. */
static bool is_to_own_group(const struct uroce_core *core, const uint8_t *frame)
{
	const struct uroce_local *local = &core->conf.local;

	return uroce_local_find_group(local, uroce_frame_dst(frame)) < local->num_groups;
}

/* Members on this side of the wire get a copy. */
static void loop_copy(struct uroce_poller *poller, const struct rte_mbuf *mbuf)
{
	struct rte_mbuf *copy = uroce_mbuf_linear_copy(mbuf, poller->conf.port->pool);

	if (!copy) {
		count(poller, rx_no_buffer, 1);
		return;
	}
	count(poller, looped, 1);
	poller->looped[poller->num_looped++] = copy;
}

uint32_t uroce_poller_tx(struct uroce_poller *poller, struct uroce_core *core, uint64_t now_ns,
	struct rte_mbuf **mbufs, uint32_t n)
{
	struct uroce_slot slots[UROCE_BURST];
	uint32_t room = UROCE_LOOPED_MAX - poller->num_looped;
	uint32_t used, out = 0;

	/* Any frame may turn out to be for ourselves. */
	if (n > room)
		n = room;
	if (n > UROCE_BURST)
		n = UROCE_BURST;
	room = provide_spares(poller, n);
	if (room < n)
		count(poller, tx_no_buffer, 1);
	for (uint32_t i = 0; i < room; i++)
		uroce_mbuf_slot(poller->spare[poller->num_spare - 1 - i], &slots[i]);
	used = uroce_core_tx(core, now_ns, slots, room);
	for (uint32_t i = 0; i < used; i++) {
		struct rte_mbuf *mbuf = poller->spare[--poller->num_spare];

		uroce_mbuf_take_slot(mbuf, &slots[i]);
		if (is_to_self(poller, slots[i].data)) {
			count(poller, looped, 1);
			poller->looped[poller->num_looped++] = mbuf;
			continue;
		}
		if (core->conf.local.num_groups > 0 && is_to_own_group(core, slots[i].data))
			loop_copy(poller, mbuf);
		mbufs[out++] = mbuf;
	}
	return out;
}

/* ---- neighbours ---- */

/* An empty buffer for one frame more, if there is one and room among what is pending. */
static struct rte_mbuf *open_frame(struct uroce_poller *poller, struct uroce_slot *slot)
{
	if (poller->pending.num == UROCE_BURST || provide_spares(poller, 1) == 0)
		return NULL;
	uroce_mbuf_slot(poller->spare[poller->num_spare - 1], slot);
	return poller->spare[poller->num_spare - 1];
}

/* The buffer that open_frame gave is full, and goes out. */
static void close_frame(
	struct uroce_poller *poller, struct rte_mbuf *mbuf, const struct uroce_slot *slot)
{
	poller->num_spare--;
	uroce_mbuf_take_slot(mbuf, slot);
	poller->pending.mbufs[poller->pending.num++] = mbuf;
}

/* A tag that the port has taken off goes back, as it was on the wire. False: there is no room. */
static bool restore_tag(struct rte_mbuf **mbuf)
{
	return !((*mbuf)->ol_flags & RTE_MBUF_F_RX_VLAN_STRIPPED) || rte_vlan_insert(mbuf) == 0;
}

/* Whether ARP is not for the table alone. */
static bool is_shared(const struct uroce_poller_conf *conf)
{
	return conf->port->host_owned || conf->exception;
}

/* Shows the table a frame that concerns it. True: somebody else may want it too. */
static bool offer_frame(struct uroce_poller *poller, uint64_t now_ns, struct rte_mbuf **mbuf)
{
	bool stripped = (*mbuf)->ol_flags & RTE_MBUF_F_RX_VLAN_STRIPPED;
	struct uroce_slot slot = {0};
	struct rte_mbuf *out = open_frame(poller, &slot);
	enum uroce_neigh_verdict verdict;

	if (!out || !restore_tag(mbuf))
		return true;
	verdict = uroce_neigh_rx(poller->conf.neigh, now_ns,
		rte_pktmbuf_mtod(*mbuf, const uint8_t *), rte_pktmbuf_data_len(*mbuf), &slot);
	if (slot.bytes > 0)
		close_frame(poller, out, &slot);
	/* As it came, for whoever gets it now. */
	if (stripped)
		rte_vlan_strip(*mbuf);
	return verdict == UROCE_NEIGH_FOREIGN ||
		(verdict == UROCE_NEIGH_HEARD && is_shared(&poller->conf));
}

/* Takes what is the table's business out of the frames that are not RoCE; returns how many stay. */
static uint32_t offer_to_neigh(
	struct uroce_poller *poller, uint64_t now_ns, struct rte_mbuf **mbufs, uint32_t n)
{
	uint32_t left = 0;

	for (uint32_t i = 0; i < n; i++) {
		/* One in pieces is none of these, which are short. */
		if (mbufs[i]->nb_segs > 1 ||
			!uroce_neigh_concerns(poller->conf.neigh,
				rte_pktmbuf_mtod(mbufs[i], const uint8_t *),
				rte_pktmbuf_data_len(mbufs[i])) ||
			offer_frame(poller, now_ns, &mbufs[i]))
			mbufs[left++] = mbufs[i];
		else
			rte_pktmbuf_free(mbufs[i]);
	}
	return left;
}

uint32_t uroce_poller_rx(struct uroce_poller *poller, struct uroce_core *core, uint64_t now_ns,
	struct rte_mbuf **mbufs, uint32_t n)
{
	uint32_t left = rx(poller, core, now_ns, 0, mbufs, n);

	return poller->conf.neigh ? offer_to_neigh(poller, now_ns, mbufs, left) : left;
}

static void send_questions(struct uroce_poller *poller, uint64_t now_ns)
{
	struct uroce_slot slot = {0};
	struct rte_mbuf *out;

	/* One of the workers asks. */
	if (!poller->conf.neigh || poller->conf.id != 0)
		return;
	while (atomic_load_explicit(&poller->conf.neigh->due_ns, memory_order_relaxed) <= now_ns) {
		out = open_frame(poller, &slot);
		if (!out || uroce_neigh_tx(poller->conf.neigh, now_ns, &slot) == 0)
			return;
		close_frame(poller, out, &slot);
	}
}

/* The first n of the box's frames are somebody else's now. */
static void take_first(struct uroce_outbox *box, uint32_t n)
{
	box->num -= n;
	memmove(box->mbufs, box->mbufs + n, box->num * sizeof(box->mbufs[0]));
}

uint32_t uroce_poller_tx_host(struct uroce_poller *poller, struct uroce_core *core, uint64_t now_ns,
	struct rte_mbuf **mbufs, uint32_t n)
{
	uint32_t out;

	send_questions(poller, now_ns);
	out = n < poller->pending.num ? n : poller->pending.num;
	memcpy(mbufs, poller->pending.mbufs, out * sizeof(*mbufs));
	take_first(&poller->pending, out);
	return out + uroce_poller_tx(poller, core, now_ns, mbufs + out, n - out);
}

/* ---- the exception path ---- */

/* What nobody else wanted: the kernel's, if it is this host's and the kernel takes it. */
static void give_to_kernel(struct uroce_poller *poller, struct rte_mbuf **mbufs, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		if (!uroce_exception_wants(poller->conf.exception, mbufs[i]))
			count(poller, rx_not_ours, 1);
		else if (restore_tag(&mbufs[i]) &&
			uroce_exception_write(poller->conf.exception, mbufs[i]))
			count(poller, kernel_rx, 1);
		else
			count(poller, kernel_full, 1);
	}
}

/*
 * What the kernel sends goes before RoCE, and gets half of the room there is, but no more than a
 * part of a burst: neither waits for the other for long. One of the workers asks.
 */
static uint32_t take_from_kernel(struct uroce_poller *poller, uint64_t now_ns)
{
	struct uroce_slot slot = {0};
	struct rte_mbuf *out;
	uint32_t n = 0, most;
	bool cut = false;

	if (poller->conf.id != 0)
		return 0;
	most = (UROCE_BURST - poller->pending.num + poller->kernel_turn) / 2;
	poller->kernel_turn ^= 1;
	while (n < most && n < KERNEL_FRAMES_MAX && (out = open_frame(poller, &slot)) &&
		uroce_exception_read(poller->conf.exception, now_ns, &slot, &cut) > 0) {
		close_frame(poller, out, &slot);
		n++;
	}
	count(poller, kernel_tx, n);
	count(poller, kernel_cut, cut);
	return n;
}

/* ---- turns ---- */

/* To the port, or to the worker that sends for this one; returns how many were taken. */
static uint16_t send_burst(struct uroce_poller *poller, struct rte_mbuf **mbufs, uint32_t n)
{
	const struct uroce_poller_conf *c = &poller->conf;
	uint16_t sent = 0;

	if (poller->has_tx_queue)
		return rte_eth_tx_burst(c->port->id, (uint16_t)c->id, mbufs, (uint16_t)n);
	while (sent < n && uroce_steer_push(c->out, c->id, poller->tx_by, mbufs[sent]))
		sent++;
	uroce_steer_flush(c->out, c->id);
	return sent;
}

/* Offers what is in the box; what is not taken stays, in order. */
static uint32_t flush_box(struct uroce_poller *poller, struct uroce_outbox *box, uint64_t now_ns)
{
	uint16_t sent;

	if (box->num == 0)
		return 0;
	sent = send_burst(poller, box->mbufs, box->num);
	if (sent == box->num) {
		box->num = 0;
		box->stuck_since_ns = 0;
		return sent;
	}
	count(poller, tx_kept, 1);
	if (sent > 0 || box->stuck_since_ns == 0) {
		box->stuck_since_ns = now_ns;
	} else if (now_ns - box->stuck_since_ns > STUCK_NS) {
		count(poller, tx_refused, 1);
		rte_pktmbuf_free(box->mbufs[sent++]);
		box->stuck_since_ns = now_ns;
	}
	take_first(box, sent);
	return sent;
}

/* Sends what the clients have built: as much in a turn as this worker itself may, for each. */
static uint32_t relay(struct uroce_poller *poller, uint64_t now_ns)
{
	struct uroce_outbox *box = &poller->relay;
	uint32_t moved = 0;

	for (uint32_t i = 0; i < poller->num_clients; i++) {
		uint32_t got = uroce_steer_pop(poller->conf.out, poller->conf.id,
			(void **)(box->mbufs + box->num), UROCE_BURST - box->num);

		box->num += got;
		moved += got;
		flush_box(poller, box, now_ns);
		if (box->num > 0 || got < UROCE_BURST)
			break;
	}
	count(poller, relayed, moved);
	return moved;
}

uint32_t uroce_poller_turn(struct uroce_poller *poller, struct uroce_core *core, uint64_t now_ns)
{
	const struct uroce_poller_conf *c = &poller->conf;
	struct rte_mbuf *mbufs[UROCE_BURST];
	uint32_t n = 0, left, moved;

	if (poller->has_rx_queue)
		n = rte_eth_rx_burst(c->port->id, (uint16_t)c->id, mbufs, UROCE_BURST);
	left = uroce_poller_rx(poller, core, now_ns, mbufs, n);
	send_questions(poller, now_ns);
	if (c->exception)
		give_to_kernel(poller, mbufs, left);
	else
		count(poller, rx_not_ours, left);
	rte_pktmbuf_free_bulk(mbufs, left);
	moved = n + uroce_poller_rx_inner(poller, core, now_ns, n);
	uroce_core_expire(core, now_ns);
	if (c->exception)
		moved += take_from_kernel(poller, now_ns);
	poller->pending.num += uroce_poller_tx(poller, core, now_ns,
		poller->pending.mbufs + poller->pending.num, UROCE_BURST - poller->pending.num);
	moved += flush_box(poller, &poller->pending, now_ns);
	if (poller->num_clients > 0)
		moved += relay(poller, now_ns);
	return moved;
}

/* ---- idle ---- */

void uroce_poller_pause(void)
{
	rte_pause();
}

bool uroce_poller_holds_frames(const struct uroce_poller *poller)
{
	return poller->num_looped > 0 || poller->pending.num > 0 || poller->relay.num > 0 ||
		uroce_steer_any(poller->conf.in, poller->conf.id) ||
		uroce_steer_any(poller->conf.out, poller->conf.id);
}

void uroce_poller_excuse(struct uroce_poller *poller)
{
	uroce_steer_drained(poller->conf.in, poller->conf.id, UINT64_MAX);
}

int uroce_poller_kernel_fd(const struct uroce_poller *poller)
{
	return poller->conf.exception && poller->conf.id == 0 ? poller->conf.exception->fd : -1;
}

int uroce_poller_listen(struct uroce_poller *poller)
{
	const struct uroce_port *port = poller->conf.port;

	if (!port->rx_interrupts || !poller->has_rx_queue ||
		rte_eth_dev_rx_intr_enable(port->id, (uint16_t)poller->conf.id) != 0)
		return -1;
	return port->rx_events[poller->conf.id];
}

void uroce_poller_listen_end(struct uroce_poller *poller)
{
	const struct uroce_port *port = poller->conf.port;
	struct rte_epoll_event event;

	rte_eth_dev_rx_intr_disable(port->id, (uint16_t)poller->conf.id);
	/* What it told is known: the next sleep shall not end at once. */
	rte_epoll_wait(port->rx_events[poller->conf.id], &event, 1, 0);
}
