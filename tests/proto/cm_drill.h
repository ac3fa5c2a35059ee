/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One connection manager and a peer that a test plays: messages in, messages and events out, each
 * looked at.
 *
 * We are 192.0.2.1, the peer is 192.0.2.2. The peer's messages come ready made, for a test to
 * change what it is about; ids of ours are put in by who knows them.
 */
#ifndef UROCE_TESTS_CM_DRILL_H
#define UROCE_TESTS_CM_DRILL_H

#include "cm.h"
#include "mad.h"

#define CM_MS 1000000ull
#define CM_S  1000000000ull

enum {
	CM_PORT = 7174,
	CM_PEER_ID = 0x11223344, /* the peer's communication id */
	CM_PEER_QPN = 0x55,
	CM_PEER_PSN = 0x777777,
	CM_QPN = 0x99, /* our queue pair */
	CM_PSN = 0x123456,
	CM_TID = 0x5151,
};

struct cm_drill {
	struct uroce_cm *cm;
	uint64_t now_ns;
	struct uroce_gid us, peer;
	uint32_t max_ids;
	uint32_t listener;
	/* the last message that was sent, and where to */
	uint8_t bytes[UROCE_CM_MAD_BYTES];
	struct uroce_mad mad;
	struct uroce_cm_route to;
	struct uroce_cm_event event; /* the last one */
};

/* conf NULL: 16 ids, path MTU 1024. */
void drill_init(struct cm_drill *d, const struct uroce_cm_conf *conf);
/* Nothing may be left to be sent or told. */
void drill_fini(struct cm_drill *d);
void drill_listen(struct cm_drill *d);

/* What the peer sends; remote_id is ours. */
struct uroce_mad drill_req(const struct cm_drill *d);
struct uroce_mad drill_rep(uint32_t remote_id);
struct uroce_mad drill_rej(uint32_t remote_id, enum uroce_mad_answered answered, uint16_t reason);
struct uroce_mad drill_short(enum uroce_mad_attr attr, uint32_t remote_id); /* RTU, DREP, MRA */
struct uroce_mad drill_dreq(uint32_t remote_id);
/* It comes; what became of it. */
enum uroce_cm_drop drill_rx(struct cm_drill *d, const struct uroce_mad *mad);
/* The same from elsewhere. */
enum uroce_cm_drop drill_rx_from(struct cm_drill *d, const struct uroce_mad *mad,
	struct uroce_gid src, struct uroce_gid dst, uint32_t src_qpn);

/* The next message that is sent is of that kind, and goes to the peer; it is in d->mad. */
void drill_sends(struct cm_drill *d, enum uroce_mad_attr attr);
void drill_sends_rej(struct cm_drill *d, enum uroce_mad_answered answered, uint16_t reason);
void drill_sends_nothing(struct cm_drill *d);
/* The next event is that; it is in d->event. */
void drill_hears(struct cm_drill *d, enum uroce_cm_event_type type);
void drill_hears_nothing(struct cm_drill *d);
/* Time passes, and timers run. */
void drill_passes(struct cm_drill *d, uint64_t ns);
/* To the next deadline. */
void drill_waits(struct cm_drill *d);

struct uroce_cm_connect drill_connect_conf(const struct cm_drill *d);
struct uroce_cm_accept drill_accept_conf(void);
/* Up to a state; the id. */
uint32_t drill_req_sent(struct cm_drill *d);
uint32_t drill_rep_rcvd(struct cm_drill *d);
uint32_t drill_active(struct cm_drill *d); /* established */
uint32_t drill_req_rcvd(struct cm_drill *d);
uint32_t drill_rep_sent(struct cm_drill *d);
uint32_t drill_passive(struct cm_drill *d); /* established */

enum uroce_cm_state drill_state(const struct cm_drill *d, uint32_t id);
const struct uroce_cm_counters *drill_counters(const struct cm_drill *d);

#endif
