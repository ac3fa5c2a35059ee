/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the files of the connection manager's state machine are to each other.
 *
 * Each message that came has one handler: it is given the place that the message names, or looks
 * for it where a message does not name one, and says what became of the message. Each message that
 * is owed has one builder, which fills in what depends on it.
 *
 * For the files of the manager alone: the shell sees cm.h.
 */
#ifndef UROCE_CM_STATE_H
#define UROCE_CM_STATE_H

#include "cm_id.h"

/* A message that came: parsed, when, and from where. */
struct uroce_cm_in {
	const struct uroce_mad *mad;
	const struct uroce_cm_route *from;
	uint64_t now_ns;
};

/* ---- either side (cm_close.c) ------------------------------------------------------------ */

enum uroce_cm_drop uroce_cm_rx_mra(
	struct uroce_cm *cm, struct uroce_cm_id *id, const struct uroce_cm_in *in);
enum uroce_cm_drop uroce_cm_rx_rej(
	struct uroce_cm *cm, struct uroce_cm_id *id, const struct uroce_cm_in *in);
enum uroce_cm_drop uroce_cm_rx_dreq(
	struct uroce_cm *cm, struct uroce_cm_id *id, const struct uroce_cm_in *in);
enum uroce_cm_drop uroce_cm_rx_drep(
	struct uroce_cm *cm, struct uroce_cm_id *id, const struct uroce_cm_in *in);

/* Established, from now on. */
void uroce_cm_enter_established(struct uroce_cm *cm, struct uroce_cm_id *id);
/* Over, but for frames under way. */
void uroce_cm_enter_timewait(struct uroce_cm *cm, struct uroce_cm_id *id, uint64_t now_ns);
/* Refused by us: the peer is told, also when it asks again. Private data and additional
 * information are those that are kept. */
void uroce_cm_enter_refused(struct uroce_cm *cm, struct uroce_cm_id *id, uint16_t reason,
	enum uroce_mad_answered answered);
/* Nothing is to come any more; the place goes when nobody knows it. */
void uroce_cm_enter_closed(struct uroce_cm *cm, struct uroce_cm_id *id);
/* The last thing that is told, before or after the place closes; what was told before it, and not
 * yet heard, makes no sense any more. */
void uroce_cm_tell_end(struct uroce_cm *cm, struct uroce_cm_id *id, enum uroce_cm_event_type type);
/* The peer's queue pair is in a new connection, so this one is over (12.9.8.3.1). */
void uroce_cm_end_stale(struct uroce_cm *cm, struct uroce_cm_id *id);
/* The answer did not come within its time. */
void uroce_cm_timed_out(struct uroce_cm *cm, struct uroce_cm_id *id, uint64_t now_ns);

/* Gives the place its queue pair: false if another place has it. */
bool uroce_cm_claim_qpn(struct uroce_cm *cm, struct uroce_cm_id *id, uint32_t qpn);

/* ---- active side (cm_active.c) ----------------------------------------------------------- */

enum uroce_cm_drop uroce_cm_rx_rep(
	struct uroce_cm *cm, struct uroce_cm_id *id, const struct uroce_cm_in *in);
void uroce_cm_build_req(
	const struct uroce_cm *cm, const struct uroce_cm_id *id, struct uroce_mad *mad);

/* ---- passive side (cm_passive.c) --------------------------------------------------------- */

enum uroce_cm_drop uroce_cm_rx_req(struct uroce_cm *cm, const struct uroce_cm_in *in);
enum uroce_cm_drop uroce_cm_rx_rtu(
	struct uroce_cm *cm, struct uroce_cm_id *id, const struct uroce_cm_in *in);
void uroce_cm_build_rep(
	const struct uroce_cm *cm, const struct uroce_cm_id *id, struct uroce_mad *mad);

/* ---- datagrams (cm_sidr.c) --------------------------------------------------------------- */

enum uroce_cm_drop uroce_cm_rx_sidr_req(struct uroce_cm *cm, const struct uroce_cm_in *in);
enum uroce_cm_drop uroce_cm_rx_sidr_rep(
	struct uroce_cm *cm, struct uroce_cm_id *id, const struct uroce_cm_in *in);
/* Answers, and remembers that for a while. */
void uroce_cm_answer_sidr(struct uroce_cm *cm, struct uroce_cm_id *id, uint8_t status);

/* ---- listeners (cm_listen.c) ------------------------------------------------------------- */

struct uroce_cm_listener *uroce_cm_listener_find(
	const struct uroce_cm *cm, uint64_t service_id, struct uroce_gid addr);
/* A place for a request to it: counted by the listener, until it is released; NULL: the backlog is
 * full, or there is no place. */
struct uroce_cm_id *uroce_cm_listener_take(
	struct uroce_cm *cm, struct uroce_cm_listener *listener, const struct uroce_cm_in *in);
void uroce_cm_listener_release(struct uroce_cm *cm, struct uroce_cm_id *id);

/* ---- strangers (cm_reply.c) -------------------------------------------------------------- */

/* Answers a message without remembering it; returns `drop`, what became of it, or that there was
 * no room. ari: up to 16 bytes. */
enum uroce_cm_drop uroce_cm_reply_rej(struct uroce_cm *cm, const struct uroce_cm_in *in,
	uint16_t reason, const void *ari, uint32_t ari_bytes);
enum uroce_cm_drop uroce_cm_reply_drep(struct uroce_cm *cm, const struct uroce_cm_in *in);
enum uroce_cm_drop uroce_cm_reply_sidr(
	struct uroce_cm *cm, const struct uroce_cm_in *in, uint8_t status);
/* The next one, built; false: there is none. */
bool uroce_cm_reply_tx(
	struct uroce_cm *cm, uint8_t mad[UROCE_CM_MAD_BYTES], struct uroce_cm_route *to);

/* ---- private data of requests (cm_private.c) --------------------------------------------- */

/* How much an application may put into REQ or SIDR_REQ: less where rdma_cm has its header. */
uint32_t uroce_cm_private_room(enum uroce_mad_attr attr, uint64_t service_id);
/* Keeps what is to be sent, header included; it fits. */
void uroce_cm_keep_request(struct uroce_cm_id *id, uint16_t local_port, const void *private_data,
	uint32_t private_bytes);
/* Whether one that came has a header where its service id calls for one. */
bool uroce_cm_has_good_header(const struct uroce_mad *mad);
/* Keeps what came, and the ports. */
void uroce_cm_keep_received(struct uroce_cm_id *id, const struct uroce_mad *mad);

/* ---- values ------------------------------------------------------------------------------ */

/* 256 ... 4096 bytes and 1 ... 5 of the wire; 0: there is none such. */
static inline uint32_t uroce_cm_mtu_bytes(uint32_t path_mtu)
{
	return path_mtu >= 1 && path_mtu <= 5 ? 128u << path_mtu : 0;
}

static inline uint8_t uroce_cm_mtu_of(uint32_t bytes)
{
	for (uint8_t path_mtu = 1; path_mtu <= 5; path_mtu++)
		if (uroce_cm_mtu_bytes(path_mtu) == bytes)
			return path_mtu;
	return 0;
}

/* Numbers that queue pairs have: not those of management, nor the one of groups. */
static inline bool uroce_cm_qpn_ok(uint32_t qpn)
{
	return qpn >= 2 && qpn < 0xffffff;
}

/* Between two ends of the same IP version. */
static inline bool uroce_cm_route_ok(const struct uroce_cm_route *route)
{
	return !uroce_gid_is_unspecified(route->src) && !uroce_gid_is_unspecified(route->dst) &&
		!uroce_gid_is_multicast(route->src) && !uroce_gid_is_multicast(route->dst) &&
		uroce_gid_is_ipv4(route->src) == uroce_gid_is_ipv4(route->dst) &&
		route->flow_label <= 0xfffff;
}

static inline struct uroce_cm_route uroce_cm_route_back(const struct uroce_cm_route *from)
{
	return (struct uroce_cm_route){.src = from->dst, .dst = from->src};
}

#endif
