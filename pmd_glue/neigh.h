/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Neighbours: who has which MAC address, and who we are to them.
 *
 * One table per device, for all its workers. Bytes and the time go in, bytes come out: the table
 * has no clock and no port, and sees frames as they are on the wire, VLAN tags included. Each VLAN
 * is a link of its own: who is known in one is not known in another. It asks for the MACs that are
 * wanted (ARP, and neighbour discovery of IPv6), answers those who ask for ours, and answers pings.
 * Only what was asked for is learnt, so nobody can fill it; a MAC that is in use is asked for again
 * now and then, and kept while nobody answers, since the connections that use it have timers of
 * their own.
 */
#ifndef UROCE_GLUE_NEIGH_H
#define UROCE_GLUE_NEIGH_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "core.h"
#include "gid.h"
#include "wire.h"

enum {
	UROCE_NEIGH_MAX = 1024,
	/* Room that a slot needs for whatever is asked or answered, but for echoes. */
	UROCE_NEIGH_FRAME_BYTES = 96
};

enum uroce_neigh_state {
	UROCE_NEIGH_ASKED,   /* nobody has answered yet */
	UROCE_NEIGH_KNOWN,   /* answered lately */
	UROCE_NEIGH_DOUBTED, /* asked again, and not answered yet: the MAC from before holds */
	UROCE_NEIGH_STATIC   /* the application said so, or nobody is asked on this port */
};

/* Somebody on one of the links. */
struct uroce_hop {
	struct uroce_gid addr;
	uint16_t vlan; /* 0: frames have no tag */
};

struct uroce_neigh_entry {
	struct uroce_hop hop;
	struct uroce_gid from; /* the address of ours that asks */
	uint8_t mac[6];
	enum uroce_neigh_state state;
	uint32_t version; /* how many MACs it has had; 0: none */
	uint32_t users;
	uint32_t tries;	    /* questions since the last answer */
	uint64_t due_ns;    /* when there is something to do */
	uint64_t used_ns;   /* when the last user left */
	uint64_t heard_ns;  /* the last answer */
	uint64_t asked_ns;  /* the last question */
	uint64_t logged_ns; /* when the log was last told of another MAC */
	bool by_record;	    /* STATIC, but only until its room is needed */
};

/* An address of ours. */
struct uroce_neigh_own {
	struct uroce_gid addr;
	uint16_t tci;	      /* of the VLAN tag of frames from it; 0: they have none */
	uint32_t told;	      /* probes and announcements sent */
	uint64_t due_ns;      /* of the next */
	uint64_t defended_ns; /* when a claim of another was last answered */
	uint64_t logged_ns;   /* when the log was last told of one */
	/* Another had it while we still asked whether somebody has: it is not answered for. */
	bool duplicate;
};

// clang-format off
#define UROCE_NEIGH_COUNTERS(X) \
	X(asked,		"questions sent") \
	X(answered,		"questions of others answered") \
	X(learnt,		"MACs learnt or confirmed") \
	X(changed,		"known MACs that became another") \
	X(static_refused,	"answers that disagree with what the application said") \
	X(unasked,		"answers to what nobody asked: ignored") \
	X(malformed,		"ARP and neighbour discovery that is not as it should be") \
	X(conflicts,		"claims of others to an address of ours") \
	X(echoes,		"pings answered") \
	X(echoes_limited,	"pings not answered: too many")
// clang-format on

/* Written under the lock, read by any. */
struct uroce_neigh_counters {
#define FIELD(name, text) uint64_t name;
	UROCE_NEIGH_COUNTERS(FIELD)
#undef FIELD
};

struct uroce_neigh {
	pthread_mutex_t lock;
	uint8_t mac[6];
	struct uroce_neigh_own own[UROCE_LOCAL_ADDRS_MAX];
	uint32_t num_own;
	struct uroce_neigh_entry entries[UROCE_NEIGH_MAX];
	uint32_t num;
	_Atomic uint32_t version; /* changes whenever a MAC does */
	_Atomic uint64_t due_ns;  /* when uroce_neigh_tx may have something to do */
	uint32_t echo_tokens;
	uint64_t echo_ns; /* when they were last filled up */
	struct uroce_neigh_counters counters;
};

void uroce_neigh_init(struct uroce_neigh *neigh);
void uroce_neigh_fini(struct uroce_neigh *neigh);

/* Our MAC, and one address after another. Before anybody else uses the table. */
void uroce_neigh_start(struct uroce_neigh *neigh, const uint8_t mac[6]);
void uroce_neigh_add_own(struct uroce_neigh *neigh, struct uroce_gid addr, uint16_t tci);

/*
 * For all that follows: any thread.
 *
 * A user of the address: it is asked for until it is known, and then kept up; from which address of
 * ours, its first user says. -ENOMEM: the table is full of addresses in use.
 */
int uroce_neigh_hold(struct uroce_neigh *neigh, struct uroce_hop hop, struct uroce_gid from);
void uroce_neigh_release(struct uroce_neigh *neigh, struct uroce_hop hop, uint64_t now_ns);

/* The application says: this holds until it says otherwise. -ENOMEM as above. */
int uroce_neigh_set(struct uroce_neigh *neigh, struct uroce_hop hop, const uint8_t mac[6]);
/* It says otherwise: the MAC is kept, and doubted. */
void uroce_neigh_unset(struct uroce_neigh *neigh, struct uroce_hop hop);
/*
 * A peer's record has it. It is believed where nothing is known yet or nobody uses what is, and
 * followed up like any other if asks; while somebody does, the wire is asked. Where nobody is asked
 * on this port, it is all that there is. -ENOMEM as above.
 */
int uroce_neigh_tell(struct uroce_neigh *neigh, struct uroce_hop hop, const uint8_t mac[6],
	bool asks, uint64_t now_ns);

/* The MAC of an address, and how many it has had: 0: it is not known, and mac not written. */
uint32_t uroce_neigh_find(struct uroce_neigh *neigh, struct uroce_hop hop, uint8_t mac[6]);

enum uroce_neigh_verdict {
	UROCE_NEIGH_FOREIGN, /* somebody else's business */
	UROCE_NEIGH_HEARD,   /* ARP or discovery; another stack on this port wants it too */
	UROCE_NEIGH_TAKEN    /* it was answered, or it was a ping to us: nobody else needs it */
};

/* Whether a frame may be for the table at all: most of a host's are not. Takes no lock. */
bool uroce_neigh_concerns(const struct uroce_neigh *neigh, const uint8_t *frame, uint32_t bytes);

/* A frame that is not RoCE for us. slot->bytes is the answer's, in slot, or 0. */
enum uroce_neigh_verdict uroce_neigh_rx(struct uroce_neigh *neigh, uint64_t now_ns,
	const uint8_t *frame, uint32_t bytes, struct uroce_slot *slot);

/* The next frame that is due, into slot; its bytes, or 0: nothing is due. */
uint32_t uroce_neigh_tx(struct uroce_neigh *neigh, uint64_t now_ns, struct uroce_slot *slot);

/* ---- between the table and the protocols ---- */

/* Over the IPv6 addresses, length and protocol, and the message; right when it is all ones. */
static inline uint16_t uroce_icmpv6_sum(const uint8_t *ip, uint32_t message_bytes)
{
	uint32_t sum = uroce_ip_sum(
		ip + UROCE_IPV6_SRC, 2 * UROCE_GID_BYTES, UROCE_IP_PROTOCOL_ICMPV6 + message_bytes);

	return uroce_ip_fold(uroce_ip_sum(ip + UROCE_IPV6_BYTES, message_bytes, sum));
}

/* A frame that came in: Ethernet and its tag, and what is in it. */
struct uroce_neigh_frame {
	const uint8_t *eth; /* the two MACs */
	const uint8_t *body;
	uint32_t body_bytes;
	uint16_t type; /* EtherType of the body */
	uint16_t vlan;
};

/* Under the lock: somebody says that the address has this MAC. */
void uroce_neigh_hear(
	struct uroce_neigh *neigh, uint64_t now_ns, struct uroce_hop hop, const uint8_t mac[6]);
/* Under the lock: what uroce_neigh_find says. */
uint32_t uroce_neigh_look(struct uroce_neigh *neigh, struct uroce_hop hop, uint8_t mac[6]);
/* Under the lock: it answers, so its MAC is still right. */
void uroce_neigh_confirm(struct uroce_neigh *neigh, uint64_t now_ns, struct uroce_hop hop);
/* Under the lock: somebody else speaks for it too; it is asked. */
void uroce_neigh_doubt(struct uroce_neigh *neigh, struct uroce_hop hop, const uint8_t mac[6]);
/* Under the lock: another has claimed one of our addresses; true: it shall be told off. */
bool uroce_neigh_rival(struct uroce_neigh *neigh, uint64_t now_ns, struct uroce_neigh_own *own,
	const uint8_t mac[6]);
/* Whether it is still asked if somebody else has it. */
bool uroce_neigh_is_probing(const struct uroce_neigh_own *own);
struct uroce_neigh_own *uroce_neigh_find_own(struct uroce_neigh *neigh, struct uroce_hop hop);

/* A question of own's for addr: to all, or, when mac is not NULL, to it alone. */
uint32_t uroce_arp_ask(const struct uroce_neigh *neigh, const struct uroce_neigh_own *own,
	struct uroce_gid addr, const uint8_t *mac, uint8_t *out);
/* Whether somebody has the address that is to be own's. */
uint32_t uroce_arp_probe(
	const struct uroce_neigh *neigh, const struct uroce_neigh_own *own, uint8_t *out);
/* Says to all that the address is ours. */
uint32_t uroce_arp_announce(
	const struct uroce_neigh *neigh, const struct uroce_neigh_own *own, uint8_t *out);
/* Under the lock, as uroce_neigh_rx; returns the answer's bytes. */
uint32_t uroce_arp_rx(struct uroce_neigh *neigh, uint64_t now_ns,
	const struct uroce_neigh_frame *frame, uint8_t *out);

/* The same for IPv6. */
uint32_t uroce_nd_ask(const struct uroce_neigh *neigh, const struct uroce_neigh_own *own,
	struct uroce_gid addr, const uint8_t *mac, uint8_t *out);
uint32_t uroce_nd_probe(
	const struct uroce_neigh *neigh, const struct uroce_neigh_own *own, uint8_t *out);
uint32_t uroce_nd_announce(
	const struct uroce_neigh *neigh, const struct uroce_neigh_own *own, uint8_t *out);
/* Whether an IPv6 frame is a solicitation or advertisement. */
bool uroce_nd_is(const struct uroce_neigh_frame *frame);
uint32_t uroce_nd_rx(struct uroce_neigh *neigh, uint64_t now_ns,
	const struct uroce_neigh_frame *frame, uint8_t *out);

/* Whether an IP frame is a ping to an address of ours; then its answer into slot, if it fits. */
bool uroce_echo_rx(
	struct uroce_neigh *neigh, const struct uroce_neigh_frame *frame, struct uroce_slot *slot);

#endif
