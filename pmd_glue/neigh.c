/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The table of neighbours.
 *
 * An address that somebody holds is asked for three times, a second apart, and then every ten
 * seconds as long as it is held. One that answered is known for half a minute; then it is asked
 * alone, and keeps its MAC however long it says nothing. One that nobody holds is forgotten after
 * ten minutes. Times are those of RFC 4861 where that has them.
 */
#include "neigh.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "gid_text.h"
#include "log.h"

#define SECOND_NS 1000000000ull

enum {
	TRIES = 3,
	PATIENT_S = 10, /* between questions when three were in vain */
	KNOWN_S = 30,
	FORGET_S = 600,
	DEFEND_S = 10,
	/* Of an own address: probes for whether another has it, then announcements (RFC 5227). */
	PROBES = 3,
	ANNOUNCEMENTS = 2,
	ECHOES_PER_S = 1000,
};

static const uint64_t never_ns = UINT64_MAX;

void uroce_neigh_init(struct uroce_neigh *neigh)
{
	memset(neigh, 0, sizeof(*neigh));
	pthread_mutex_init(&neigh->lock, NULL);
	neigh->echo_tokens = ECHOES_PER_S;
}

void uroce_neigh_start(struct uroce_neigh *neigh, const uint8_t mac[6])
{
	memcpy(neigh->mac, mac, sizeof(neigh->mac));
}

void uroce_neigh_add_own(struct uroce_neigh *neigh, struct uroce_gid addr, uint16_t tci)
{
	neigh->own[neigh->num_own++] = (struct uroce_neigh_own){.addr = addr, .tci = tci};
}

void uroce_neigh_fini(struct uroce_neigh *neigh)
{
	pthread_mutex_destroy(&neigh->lock);
}

/* ---- entries ---- */

static struct uroce_neigh_entry *find(struct uroce_neigh *neigh, struct uroce_hop hop)
{
	for (uint32_t i = 0; i < neigh->num; i++)
		if (uroce_gid_equal(neigh->entries[i].hop.addr, hop.addr) &&
			neigh->entries[i].hop.vlan == hop.vlan)
			return &neigh->entries[i];
	return NULL;
}

/* There is something to do from then on. */
static void note_due(struct uroce_neigh *neigh, uint64_t due_ns)
{
	if (due_ns < atomic_load(&neigh->due_ns))
		atomic_store(&neigh->due_ns, due_ns);
}

/* Room for one more: at the end, or where the one is that nobody has held for the longest. */
static struct uroce_neigh_entry *make_room(struct uroce_neigh *neigh)
{
	struct uroce_neigh_entry *oldest = NULL;

	if (neigh->num < UROCE_NEIGH_MAX)
		return &neigh->entries[neigh->num++];
	for (uint32_t i = 0; i < neigh->num; i++) {
		struct uroce_neigh_entry *e = &neigh->entries[i];

		if (e->users == 0 && (e->state != UROCE_NEIGH_STATIC || e->by_record) &&
			(!oldest || e->used_ns < oldest->used_ns))
			oldest = e;
	}
	return oldest;
}

static struct uroce_neigh_entry *find_or_add(struct uroce_neigh *neigh, struct uroce_hop hop)
{
	struct uroce_neigh_entry *e = find(neigh, hop);

	if (e)
		return e;
	e = make_room(neigh);
	if (e)
		*e = (struct uroce_neigh_entry){.hop = hop};
	return e;
}

static void hold(struct uroce_neigh *neigh, struct uroce_neigh_entry *e, struct uroce_gid from)
{
	bool first = e->users++ == 0;

	if (first)
		e->from = from;
	if (e->state == UROCE_NEIGH_STATIC)
		return;
	if (e->state == UROCE_NEIGH_ASKED) {
		/* Whoever comes new waits for an answer of its own, and not for the others'
		 * patience. */
		e->tries = 0;
		e->due_ns = e->asked_ns ? e->asked_ns + SECOND_NS : 0;
	} else if (first && e->heard_ns + KNOWN_S * SECOND_NS < e->due_ns) {
		/* Nobody looked after it meanwhile. */
		e->due_ns = e->heard_ns + KNOWN_S * SECOND_NS;
	}
	note_due(neigh, e->due_ns);
}

int uroce_neigh_hold(struct uroce_neigh *neigh, struct uroce_hop hop, struct uroce_gid from)
{
	struct uroce_neigh_entry *e;

	pthread_mutex_lock(&neigh->lock);
	e = find_or_add(neigh, hop);
	if (e)
		hold(neigh, e, from);
	pthread_mutex_unlock(&neigh->lock);
	return e ? 0 : -ENOMEM;
}

void uroce_neigh_release(struct uroce_neigh *neigh, struct uroce_hop hop, uint64_t now_ns)
{
	struct uroce_neigh_entry *e;

	pthread_mutex_lock(&neigh->lock);
	e = find(neigh, hop);
	if (e && --e->users == 0) {
		e->used_ns = now_ns;
		note_due(neigh, now_ns + FORGET_S * SECOND_NS);
	}
	pthread_mutex_unlock(&neigh->lock);
}

/* A MAC for an entry, from the application or from the wire. */
static void set_mac(struct uroce_neigh *neigh, struct uroce_neigh_entry *e, const uint8_t mac[6])
{
	if (e->version > 0 && memcmp(e->mac, mac, sizeof(e->mac)) == 0)
		return;
	memcpy(e->mac, mac, sizeof(e->mac));
	e->version++;
	atomic_fetch_add(&neigh->version, 1);
}

int uroce_neigh_set(struct uroce_neigh *neigh, struct uroce_hop hop, const uint8_t mac[6])
{
	struct uroce_neigh_entry *e;

	pthread_mutex_lock(&neigh->lock);
	e = find_or_add(neigh, hop);
	if (e) {
		e->state = UROCE_NEIGH_STATIC;
		e->by_record = false;
		set_mac(neigh, e, mac);
	}
	pthread_mutex_unlock(&neigh->lock);
	return e ? 0 : -ENOMEM;
}

/* Its MAC holds, but it is asked at once. */
static void begin_to_doubt(struct uroce_neigh *neigh, struct uroce_neigh_entry *e)
{
	e->state = UROCE_NEIGH_DOUBTED;
	e->tries = 0;
	e->due_ns = 0;
	note_due(neigh, 0);
}

void uroce_neigh_unset(struct uroce_neigh *neigh, struct uroce_hop hop)
{
	struct uroce_neigh_entry *e;

	pthread_mutex_lock(&neigh->lock);
	e = find(neigh, hop);
	if (e && e->state == UROCE_NEIGH_STATIC)
		begin_to_doubt(neigh, e);
	pthread_mutex_unlock(&neigh->lock);
}

/* A MAC that answered, or as good as. */
static void learn(struct uroce_neigh *neigh, struct uroce_neigh_entry *e, uint64_t now_ns)
{
	e->state = UROCE_NEIGH_KNOWN;
	e->tries = 0;
	e->heard_ns = now_ns;
	e->due_ns = now_ns + KNOWN_S * SECOND_NS;
	note_due(neigh, e->due_ns);
}

/* Somebody says that it has another MAC, and may be wrong: it is asked. */
static void doubt(struct uroce_neigh *neigh, struct uroce_neigh_entry *e, const uint8_t mac[6])
{
	if (e->state == UROCE_NEIGH_KNOWN && memcmp(e->mac, mac, sizeof(e->mac)) != 0)
		begin_to_doubt(neigh, e);
}

int uroce_neigh_tell(struct uroce_neigh *neigh, struct uroce_hop hop, const uint8_t mac[6],
	bool asks, uint64_t now_ns)
{
	struct uroce_neigh_entry *e;

	pthread_mutex_lock(&neigh->lock);
	e = find_or_add(neigh, hop);
	if (e && !asks && (e->state != UROCE_NEIGH_STATIC || e->by_record)) {
		e->state = UROCE_NEIGH_STATIC;
		e->by_record = true;
		set_mac(neigh, e, mac);
	} else if (e && asks && e->state != UROCE_NEIGH_STATIC) {
		if (e->version == 0 || e->users == 0) {
			set_mac(neigh, e, mac);
			learn(neigh, e, now_ns);
		} else {
			doubt(neigh, e, mac);
		}
	}
	if (e && e->users == 0)
		e->used_ns = now_ns;
	pthread_mutex_unlock(&neigh->lock);
	return e ? 0 : -ENOMEM;
}

uint32_t uroce_neigh_look(struct uroce_neigh *neigh, struct uroce_hop hop, uint8_t mac[6])
{
	const struct uroce_neigh_entry *e = find(neigh, hop);

	if (!e || e->version == 0)
		return 0;
	memcpy(mac, e->mac, sizeof(e->mac));
	return e->version;
}

uint32_t uroce_neigh_find(struct uroce_neigh *neigh, struct uroce_hop hop, uint8_t mac[6])
{
	uint32_t version;

	pthread_mutex_lock(&neigh->lock);
	version = uroce_neigh_look(neigh, hop, mac);
	pthread_mutex_unlock(&neigh->lock);
	return version;
}

/* ---- hearing ---- */

/*
 * A line a second for each address: nobody's is kept out of the log by somebody else's, and the
 * counters have them all.
 */
static bool may_log(uint64_t *logged_ns, uint64_t now_ns)
{
	if (*logged_ns != 0 && now_ns - *logged_ns < SECOND_NS)
		return false;
	*logged_ns = now_ns;
	return true;
}

static void tell_of_change(
	const struct uroce_neigh_entry *e, const uint8_t mac[6], const char *what)
{
	char addr[UROCE_ADDR_TEXT_BYTES], was[UROCE_MAC_TEXT_BYTES], is[UROCE_MAC_TEXT_BYTES];

	uroce_addr_text(e->hop.addr, e->hop.vlan, addr);
	uroce_mac_text(e->mac, was);
	uroce_mac_text(mac, is);
	UROCE_LOG(WARNING, "%s was at %s, and now at %s: %s\n", addr, was, is, what);
}

void uroce_neigh_hear(
	struct uroce_neigh *neigh, uint64_t now_ns, struct uroce_hop hop, const uint8_t mac[6])
{
	struct uroce_neigh_entry *e = find(neigh, hop);
	bool other = e && e->version > 0 && memcmp(e->mac, mac, sizeof(e->mac)) != 0;

	if (!e) {
		neigh->counters.unasked++;
		return;
	}
	if (e->state == UROCE_NEIGH_STATIC) {
		neigh->counters.static_refused += other;
		if (other && may_log(&e->logged_ns, now_ns))
			tell_of_change(e, mac, "refused, since the application has set it");
		return;
	}
	if (other) {
		neigh->counters.changed++;
		if (may_log(&e->logged_ns, now_ns))
			tell_of_change(e, mac, "its connections follow it there");
	}
	neigh->counters.learnt++;
	set_mac(neigh, e, mac);
	learn(neigh, e, now_ns);
}

void uroce_neigh_confirm(struct uroce_neigh *neigh, uint64_t now_ns, struct uroce_hop hop)
{
	struct uroce_neigh_entry *e = find(neigh, hop);

	if (!e) {
		neigh->counters.unasked++;
		return;
	}
	if (e->state == UROCE_NEIGH_STATIC || e->version == 0)
		return;
	neigh->counters.learnt++;
	learn(neigh, e, now_ns);
}

void uroce_neigh_doubt(struct uroce_neigh *neigh, struct uroce_hop hop, const uint8_t mac[6])
{
	struct uroce_neigh_entry *e = find(neigh, hop);

	if (e)
		doubt(neigh, e, mac);
}

struct uroce_neigh_own *uroce_neigh_find_own(struct uroce_neigh *neigh, struct uroce_hop hop)
{
	for (uint32_t i = 0; i < neigh->num_own; i++)
		if (uroce_gid_equal(neigh->own[i].addr, hop.addr) &&
			(neigh->own[i].tci & UROCE_TCI_VLAN_MASK) == hop.vlan)
			return &neigh->own[i];
	return NULL;
}

bool uroce_neigh_is_probing(const struct uroce_neigh_own *own)
{
	return own->told <= PROBES;
}

static void tell_of_rival(const struct uroce_neigh_own *own, const uint8_t mac[6], const char *what)
{
	char addr[UROCE_ADDR_TEXT_BYTES], from[UROCE_MAC_TEXT_BYTES];

	uroce_addr_text(own->addr, own->tci & UROCE_TCI_VLAN_MASK, addr);
	uroce_mac_text(mac, from);
	UROCE_LOG(ERR, "our address %s: %s %s: give one of the two another address\n", addr, from,
		what);
}

bool uroce_neigh_rival(struct uroce_neigh *neigh, uint64_t now_ns, struct uroce_neigh_own *own,
	const uint8_t mac[6])
{
	neigh->counters.conflicts++;
	if (uroce_neigh_is_probing(own) && !own->duplicate) {
		own->duplicate = true;
		tell_of_rival(own, mac, "had it before us, and keeps it; we do not answer for it");
		return false;
	}
	if (own->duplicate)
		return false;
	if (may_log(&own->logged_ns, now_ns))
		tell_of_rival(own, mac, "claims it");
	if (own->defended_ns != 0 && now_ns - own->defended_ns < DEFEND_S * SECOND_NS)
		return false;
	own->defended_ns = now_ns;
	return true;
}

/* ---- asking ---- */

static uint32_t ask(
	struct uroce_neigh *neigh, struct uroce_neigh_entry *e, uint64_t now_ns, uint8_t *out)
{
	const struct uroce_neigh_own *own =
		uroce_neigh_find_own(neigh, (struct uroce_hop){e->from, e->hop.vlan});
	bool alone = e->state == UROCE_NEIGH_DOUBTED && e->tries < TRIES;

	if (++e->tries < TRIES)
		e->due_ns = now_ns + SECOND_NS;
	else
		e->due_ns = now_ns + PATIENT_S * SECOND_NS;
	e->asked_ns = now_ns;
	if (!own)
		return 0;
	neigh->counters.asked++;
	if (!uroce_gid_is_ipv4(e->hop.addr))
		return uroce_nd_ask(neigh, own, e->hop.addr, alone ? e->mac : NULL, out);
	return uroce_arp_ask(neigh, own, e->hop.addr, alone ? e->mac : NULL, out);
}

/* Whether an entry that is due is forgotten; else what it sends, if anything. */
static bool attend(struct uroce_neigh *neigh, struct uroce_neigh_entry *e, uint64_t now_ns,
	uint8_t *out, uint32_t *bytes)
{
	*bytes = 0;
	if (e->users == 0) {
		e->due_ns = e->used_ns + FORGET_S * SECOND_NS;
		return e->due_ns <= now_ns;
	}
	if (e->state == UROCE_NEIGH_KNOWN) {
		e->state = UROCE_NEIGH_DOUBTED;
		e->tries = 0;
	}
	*bytes = ask(neigh, e, now_ns, out);
	return false;
}

/* The next probe or announcement of an own address. */
static uint32_t tell(
	struct uroce_neigh *neigh, struct uroce_neigh_own *own, uint64_t now_ns, uint8_t *out)
{
	bool probe = own->told < PROBES;

	if (own->duplicate) {
		own->due_ns = never_ns;
		return 0;
	}
	own->told++;
	own->due_ns = own->told < PROBES + ANNOUNCEMENTS ? now_ns + SECOND_NS : never_ns;
	if (!uroce_gid_is_ipv4(own->addr))
		return probe ? uroce_nd_probe(neigh, own, out) : uroce_nd_announce(neigh, own, out);
	return probe ? uroce_arp_probe(neigh, own, out) : uroce_arp_announce(neigh, own, out);
}

static uint32_t next_of_own(struct uroce_neigh *neigh, uint64_t now_ns, uint8_t *out)
{
	for (uint32_t i = 0; i < neigh->num_own; i++) {
		struct uroce_neigh_own *own = &neigh->own[i];
		uint32_t bytes = own->due_ns <= now_ns ? tell(neigh, own, now_ns, out) : 0;

		if (bytes > 0)
			return bytes;
		note_due(neigh, own->due_ns);
	}
	return 0;
}

static uint32_t next_of_entries(struct uroce_neigh *neigh, uint64_t now_ns, uint8_t *out)
{
	for (uint32_t i = 0; i < neigh->num;) {
		struct uroce_neigh_entry *e = &neigh->entries[i];
		uint32_t bytes = 0;

		if (e->state != UROCE_NEIGH_STATIC && e->due_ns <= now_ns &&
			attend(neigh, e, now_ns, out, &bytes)) {
			*e = neigh->entries[--neigh->num];
			continue;
		}
		if (bytes > 0)
			return bytes;
		if (e->state != UROCE_NEIGH_STATIC)
			note_due(neigh, e->due_ns);
		i++;
	}
	return 0;
}

uint32_t uroce_neigh_tx(struct uroce_neigh *neigh, uint64_t now_ns, struct uroce_slot *slot)
{
	uint32_t bytes;

	if (atomic_load_explicit(&neigh->due_ns, memory_order_relaxed) > now_ns ||
		slot->capacity_bytes < UROCE_NEIGH_FRAME_BYTES)
		return 0;
	pthread_mutex_lock(&neigh->lock);
	/* Until all have been looked at; one that is found may have others behind it. */
	atomic_store(&neigh->due_ns, never_ns);
	bytes = next_of_own(neigh, now_ns, slot->data);
	if (bytes == 0)
		bytes = next_of_entries(neigh, now_ns, slot->data);
	if (bytes > 0)
		atomic_store(&neigh->due_ns, 0);
	pthread_mutex_unlock(&neigh->lock);
	return slot->bytes = bytes;
}

/* ---- frames ---- */

/* A ping more may be answered. */
static bool may_echo(struct uroce_neigh *neigh, uint64_t now_ns)
{
	if (now_ns - neigh->echo_ns >= SECOND_NS) {
		neigh->echo_ns = now_ns;
		neigh->echo_tokens = ECHOES_PER_S;
	}
	if (neigh->echo_tokens == 0) {
		neigh->counters.echoes_limited++;
		return false;
	}
	neigh->echo_tokens--;
	return true;
}

static bool take_echo(struct uroce_neigh *neigh, uint64_t now_ns,
	const struct uroce_neigh_frame *frame, struct uroce_slot *slot)
{
	if (!uroce_echo_rx(neigh, frame, slot))
		return false;
	if (!may_echo(neigh, now_ns))
		slot->bytes = 0;
	neigh->counters.echoes += slot->bytes > 0;
	return true;
}

/* Ethernet and one tag; false: there is not even that. */
static bool read_ethernet(const uint8_t *frame, uint32_t bytes, struct uroce_neigh_frame *out)
{
	uint32_t eth_bytes;

	if (bytes < UROCE_ETH_BYTES)
		return false;
	eth_bytes = uroce_frame_eth_bytes(frame);
	if (bytes < eth_bytes)
		return false;
	*out = (struct uroce_neigh_frame){.eth = frame,
		.body = frame + eth_bytes,
		.body_bytes = bytes - eth_bytes,
		.type = uroce_load_be16(frame + eth_bytes - 2)};
	if (eth_bytes > UROCE_ETH_BYTES)
		out->vlan = uroce_load_be16(frame + UROCE_ETH_BYTES) & UROCE_TCI_VLAN_MASK;
	return true;
}

/* The same, of what may be for the table at all. */
static bool read_own(const struct uroce_neigh *neigh, const uint8_t *frame, uint32_t bytes,
	struct uroce_neigh_frame *out)
{
	if (!read_ethernet(frame, bytes, out))
		return false;
	if (!(frame[UROCE_ETH_DMAC] & 1) &&
		memcmp(frame + UROCE_ETH_DMAC, neigh->mac, sizeof(neigh->mac)) != 0)
		return false;
	switch (out->type) {
	case UROCE_ETHERTYPE_ARP:
		return true;
	case UROCE_ETHERTYPE_IPV4:
		return out->body_bytes >= UROCE_IPV4_BYTES &&
			out->body[UROCE_IPV4_PROTOCOL] == UROCE_IP_PROTOCOL_ICMP;
	case UROCE_ETHERTYPE_IPV6:
		return out->body_bytes >= UROCE_IPV6_BYTES &&
			out->body[UROCE_IPV6_NEXT_HEADER] == UROCE_IP_PROTOCOL_ICMPV6;
	default:
		return false;
	}
}

bool uroce_neigh_concerns(const struct uroce_neigh *neigh, const uint8_t *frame, uint32_t bytes)
{
	struct uroce_neigh_frame in;

	return read_own(neigh, frame, bytes, &in);
}

enum uroce_neigh_verdict uroce_neigh_rx(struct uroce_neigh *neigh, uint64_t now_ns,
	const uint8_t *frame, uint32_t bytes, struct uroce_slot *slot)
{
	struct uroce_neigh_frame in;
	bool heard = true, taken = false;

	slot->bytes = 0;
	if (slot->capacity_bytes < UROCE_NEIGH_FRAME_BYTES || !read_own(neigh, frame, bytes, &in))
		return UROCE_NEIGH_FOREIGN;
	pthread_mutex_lock(&neigh->lock);
	if (in.type == UROCE_ETHERTYPE_ARP)
		slot->bytes = uroce_arp_rx(neigh, now_ns, &in, slot->data);
	else if (uroce_nd_is(&in))
		slot->bytes = uroce_nd_rx(neigh, now_ns, &in, slot->data);
	else
		heard = taken = take_echo(neigh, now_ns, &in, slot);
	pthread_mutex_unlock(&neigh->lock);
	if (taken || slot->bytes > 0)
		return UROCE_NEIGH_TAKEN;
	return heard ? UROCE_NEIGH_HEARD : UROCE_NEIGH_FOREIGN;
}
