/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The connection manager's places: one per connection or resolution, and how they are found.
 *
 * A place is found by its number, by what the peer calls it, by the peer's queue pair, and by our
 * own; each in one step, however many there are. It waits in lists for its turn to send and to
 * tell, and has one timer. What a state means and which message answers which is not known here.
 *
 * For the files of the manager alone: the shell sees cm.h.
 */
#ifndef UROCE_CM_ID_H
#define UROCE_CM_ID_H

#include "cm.h"
#include "mad.h"
#include "timer.h"

/* What a place has to send; bits, sent from the lowest. */
enum uroce_cm_owed {
	UROCE_CM_OWE_DREP = 1 << 0,
	UROCE_CM_OWE_REJ = 1 << 1,
	UROCE_CM_OWE_RTU = 1 << 2,
	UROCE_CM_OWE_REP = 1 << 3,
	UROCE_CM_OWE_MRA = 1 << 4,
	UROCE_CM_OWE_REQ = 1 << 5,
	UROCE_CM_OWE_DREQ = 1 << 6,
	UROCE_CM_OWE_SIDR_REQ = 1 << 7,
	UROCE_CM_OWE_SIDR_REP = 1 << 8,
};

/* The tables that a place can be in, besides that of its number. */
enum uroce_cm_key {
	UROCE_CM_BY_REMOTE_ID,	 /* peer's address and its id: requests that the peer began */
	UROCE_CM_BY_REMOTE_SIDR, /* likewise, of SIDR */
	UROCE_CM_BY_REMOTE_QPN,	 /* peer's address and its queue pair */
	UROCE_CM_BY_LOCAL_QPN,	 /* no address, and our queue pair */
	UROCE_CM_NUM_KEYS,
};

/* The lists that a place can wait in. */
enum uroce_cm_list {
	UROCE_CM_LIST_LIFE, /* free, or refused and forgotten by the application */
	UROCE_CM_LIST_TX,
	UROCE_CM_LIST_EVENT,
	UROCE_CM_NUM_LISTS,
};

struct uroce_cm_link {
	struct uroce_cm_link *prev, *next; /* NULL: in no list */
};

struct uroce_cm_entry {
	struct uroce_cm_entry *next;
	struct uroce_gid addr;
	uint32_t key;
	bool in; /* the table */
};

struct uroce_cm_id {
	uint32_t number; /* our communication id; 0: the place is free */
	uint32_t remote_id;
	enum uroce_cm_state state;
	uint32_t owed;	   /* enum uroce_cm_owed */
	uint32_t events;   /* 1 << enum uroce_cm_event_type, that were not polled yet */
	uint32_t retries;  /* of the message that waits for an answer */
	uint32_t listener; /* that counts the request; 0: none */
	bool active;
	bool known;	/* to the application */
	bool destroyed; /* by the application */
	bool asked;	/* REQ or SIDR_REQ was sent at least once */
	bool mra_taken; /* the peer asked for time since it was last asked itself */
	uint8_t max_retries;
	uint8_t response_timeout; /* the peer's, exponent */
	uint16_t local_port, remote_port;
	uint64_t tid; /* of the exchange */
	uint64_t service_id;
	uint64_t user;
	uint32_t event_listener; /* of the request's event */
	uint64_t listener_user;
	struct uroce_cm_route route;
	/* As uroce_cm_event has them; until the peer's are known, what we ask for. */
	struct uroce_cm_params params;
	/* Our own end. */
	uint32_t qpn, psn;
	uint8_t rnr_retry;
	bool srq;
	bool flow_control;
	/* Of a refusal that is sent, or of the event. */
	enum uroce_mad_answered answered;
	uint16_t reason;
	/* Of SIDR: the answer, ours or the peer's. */
	uint32_t sidr_qpn, sidr_qkey;
	/* Private data, and behind it additional information, of the last message that came or of
	 * the one to send: what came is not needed any more once there is something to send. */
	uint8_t private_bytes;
	uint8_t ari_bytes;
	uint8_t data[UROCE_CM_REJ_PRIVATE_BYTES + UROCE_CM_ARI_BYTES];

	struct uroce_timer timer;
	struct uroce_cm_link links[UROCE_CM_NUM_LISTS];
	struct uroce_cm_entry entries[UROCE_CM_NUM_KEYS];
};

struct uroce_cm_listener {
	uint32_t number;  /* 0: free */
	uint32_t pending; /* requests that are neither established nor refused yet */
	struct uroce_cm_listen conf;
};

/* An answer to somebody of whom nothing is remembered. */
struct uroce_cm_reply {
	struct uroce_cm_route route;
	uint64_t tid;
	uint64_t service_id;
	uint32_t local_id, remote_id;
	enum uroce_mad_attr attr; /* REJ, DREP, SIDR_REP */
	enum uroce_mad_answered answered;
	uint16_t reason;
	uint8_t ari_bytes;
	uint8_t ari[UROCE_GID_BYTES];
};

struct uroce_cm {
	struct uroce_cm_conf conf; /* without zeros that mean a default */
	struct uroce_cm_counters counters;
	struct uroce_cm_id *ids;
	struct uroce_cm_listener *listeners;
	struct uroce_cm_reply *replies; /* a ring */
	uint32_t reply_head, reply_tail;
	bool reply_next; /* whose turn it is to send: answers to strangers, or places */
	uint32_t num_ids;
	uint32_t slots_log2; /* low bits of a number: its place */
	uint32_t buckets_mask;
	struct uroce_cm_entry **buckets[UROCE_CM_NUM_KEYS];
	struct uroce_timers timers;
	struct uroce_cm_link free, forgotten, tx, event; /* heads of lists */
	uint32_t listener_generation;
	uint64_t random;
	uint64_t hash_seed;
	uint32_t tid_high;
};

/* Makes all places free; memory and conf are set. */
void uroce_cm_ids_init(struct uroce_cm *cm);
uint64_t uroce_cm_random(struct uroce_cm *cm);

/*
 * A place with a new number, all else zero; NULL: there is none. One that only remembers a refusal
 * and that the application forgot gives way.
 */
struct uroce_cm_id *uroce_cm_id_take(struct uroce_cm *cm);
void uroce_cm_id_free(struct uroce_cm *cm, struct uroce_cm_id *id);

/* By number; NULL: nobody has it. */
struct uroce_cm_id *uroce_cm_id_find(const struct uroce_cm *cm, uint32_t number);
/* The same for the application: NULL also if it does not know it yet, or no more. */
struct uroce_cm_id *uroce_cm_id_find_known(const struct uroce_cm *cm, uint32_t number);

struct uroce_cm_id *uroce_cm_id_find_by(
	const struct uroce_cm *cm, enum uroce_cm_key by, struct uroce_gid addr, uint32_t key);
void uroce_cm_id_add_by(struct uroce_cm *cm, struct uroce_cm_id *id, enum uroce_cm_key by,
	struct uroce_gid addr, uint32_t key);
/* Nothing happens if it is not in. */
void uroce_cm_id_remove_by(struct uroce_cm *cm, struct uroce_cm_id *id, enum uroce_cm_key by);

/* Puts it at the end of a list, if it is not in it; takes it out, if it is. */
void uroce_cm_id_enter(
	struct uroce_cm_id *id, enum uroce_cm_list which, struct uroce_cm_link *list);
void uroce_cm_id_leave(struct uroce_cm_id *id, enum uroce_cm_list which);
/* The first of a list; NULL. */
struct uroce_cm_id *uroce_cm_id_first(const struct uroce_cm_link *list, enum uroce_cm_list which);

/* Has this to send too. */
void uroce_cm_id_owe(struct uroce_cm *cm, struct uroce_cm_id *id, enum uroce_cm_owed what);
/* Has nothing to send any more, and waits for nothing. */
void uroce_cm_id_settle(struct uroce_cm_id *id);
/* Has this to tell too, unless the application does not want to know. */
void uroce_cm_id_tell(struct uroce_cm *cm, struct uroce_cm_id *id, enum uroce_cm_event_type type);
/* Has nothing of these to tell any more: bits, 1 << type. */
void uroce_cm_id_untell(struct uroce_cm_id *id, uint32_t events);

/* Keeps private data and additional information, which fit. */
void uroce_cm_id_keep(struct uroce_cm_id *id, const void *private_data, uint32_t private_bytes,
	const void *ari, uint32_t ari_bytes);

/* The longest that anything is waited for. */
#define UROCE_CM_WAIT_MAX_NS 68719476736ull

/* 4.096 us * 2^exponent, UROCE_CM_WAIT_MAX_NS at most. */
uint64_t uroce_cm_exponent_ns(uint32_t exponent);

#endif
