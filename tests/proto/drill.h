/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A small language for protocol tests: one endpoint, its peer played by the test.
 *
 *	static void a_send_is_placed_and_acknowledged(struct drill *d)
 *	{
 *		post_recv(d, 200, 0x1000, 64);
 *		inject(d, "SEND_ONLY psn +0 ack len 64");
 *		expect(d, "ACKNOWLEDGE psn +0 ACK msn 1");
 *		expect_cqe(d, "recv 200 SUCCESS len 64");
 *	}
 *
 * Frames to the endpoint are built here, frames from it are decoded by pcap/text, and neither
 * shares a line with the engine's builder, parser or checksum. PSNs are relative: of
 * requests to the endpoint and answers from it to its rq_psn, of the other direction to its
 * sq_psn; of congestion notifications to 0. Each case runs twice, with the two start PSNs
 * exchanged, and must leave nothing over: a frame, completion or event that nobody expected is a
 * failure.
 */
#ifndef UROCE_TESTS_DRILL_H
#define UROCE_TESTS_DRILL_H

#include <stdbool.h>
#include <stdint.h>

#include "cunit_run.h"
#include "endpoint.h"
#include "text.h"

enum {
	DRILL_PEER_QPN = 0x22,
	DRILL_MTU = 256,
	DRILL_MEM = 65536,
	DRILL_RKEY = 0xabc, /* rkey of posted work requests unless they say otherwise */
	DRILL_RADDR = 0x1000,
	DRILL_FRAME_BYTES = 8192,
	DRILL_TEXT_BYTES = 512,
	DRILL_CASES_MAX = 128,
};

#define DRILL_US 1000ull
#define DRILL_MS 1000000ull
#define DRILL_S	 1000000000ull

struct drill {
	struct endpoint ep;
	uint64_t now_ns;
	uint32_t rq_psn, sq_psn;
	enum uroce_drop drop;		  /* of the last frame injected */
	uint8_t frame[DRILL_FRAME_BYTES]; /* the last frame that came out, and what it says */
	uint32_t frame_bytes;
	struct uroce_text_packet packet;
};

struct drill_case {
	const char *name; /* a sentence that is true when the case passes */
	void (*fn)(struct drill *d);
};

/* Byte i of what a message with this fill carries; memory starts out as fill 0. */
uint8_t drill_pattern(uint32_t fill, uint64_t i);

/* What a drill starts with; change it and call drill_restart for another endpoint. */
struct endpoint_conf drill_conf(const struct drill *d);
/* In RESET, with this configuration (its PSNs are replaced by the drill's). */
void drill_start_reset(struct drill *d, const struct endpoint_conf *conf);
/* The same, connected. Both are for a drill that has been ended or never started. */
void drill_start(struct drill *d, const struct endpoint_conf *conf);
/* Throws away the endpoint that the case began with, and connects another one. */
void drill_restart(struct drill *d, const struct endpoint_conf *conf);
void drill_restart_reset(struct drill *d, const struct endpoint_conf *conf);

/*
 * A frame of the peer, from a line of words: an opcode (SEND_ONLY, RC_..., UC_..., CNP, or op N),
 * then any of: psn +N, ack, se, len N (payload), fill N and at N (what the payload is), va N
 * (offset in the endpoint's memory), absva N, rkey N, dma N, swap_add N, compare N, ACK, credits N,
 * RNR N, NAK N, syndrome N, msn N, orig N, imm N, inv N, pad N, tver N, pkey N, qp N, src N, dst N,
 * ecn, badicrc, dirtypad, trail N, tos N, ttl N, sport N, dmac N, qkey N, sqpn N, type N and
 * level N (of a FLUSH), tci N (a VLAN tag; 0: none). Returns its bytes.
 */
uint32_t drill_build_frame(const struct drill *d, const char *line, uint8_t *out);

/* As a printf format; several frames, parted by ';', are one burst. */
__attribute__((format(printf, 2, 3))) void inject(struct drill *d, const char *format, ...);
/* Any bytes, as one frame. */
void drill_inject_bytes(struct drill *d, const uint8_t *bytes, uint32_t n);
/* One frame, which must be dropped for this reason and count under it once. */
#define inject_dropped(d, drop, ...) drill_inject_dropped(d, __FILE__, __LINE__, drop, __VA_ARGS__)

/*
 * The next frames of the endpoint, parted by ';', in the words of uroce_text_line_relative without
 * what goes without saying: RC_, the peer's number, no credits, a good ICRC.
 */
#define expect(d, ...)	  drill_expect(d, __FILE__, __LINE__, __VA_ARGS__)
#define expect_nothing(d) drill_expect(d, __FILE__, __LINE__, "nothing")
/* "send 100 SUCCESS len 5", "recv 200 SUCCESS len 64 imm 7", "write 1 WR_FLUSH_ERR". */
#define expect_cqe(d, ...) drill_expect_cqe(d, __FILE__, __LINE__, __VA_ARGS__)
#define expect_no_cqe(d)   drill_expect_cqe(d, __FILE__, __LINE__, "nothing")
/* "QP_ACCESS_ERR"; several parted by ';'. */
#define expect_event(d, ...)   drill_expect_event(d, __FILE__, __LINE__, __VA_ARGS__)
#define expect_state(d, state) drill_expect_state(d, __FILE__, __LINE__, state)
/* Bytes [at, at + bytes) of the message with this fill lie at offset of the endpoint's memory. */
#define expect_memory(d, offset, bytes, fill, at) \
	drill_expect_memory(d, __FILE__, __LINE__, offset, bytes, fill, at)
/* The payload of the last frame out is bytes [at, ...) of the message with this fill. */
#define expect_payload(d, fill, at) drill_expect_payload(d, __FILE__, __LINE__, fill, at)
#define expect_number(d, got, want) \
	drill_expect_number(d, __FILE__, __LINE__, #got, (uint64_t)(got), (uint64_t)(want))
/* ERR, with the event that says so. */
#define expect_ended(d) \
	do { \
		expect_state(d, UROCE_QP_ERR); \
		expect_event(d, "LAST_WQE_REACHED"); \
	} while (0)

/*
 * A work request: SEND, SEND_IMM, SEND_INV, WRITE, WRITE_IMM, READ, CAS, FADD, ATOMIC_WRITE, FLUSH,
 * BIND, REG or LOCAL_INV, its wr_id, then any of: len N, at N (local offset), segs N, lkey N,
 * raddr N, rkey N, imm N, inv N, add N, cmp N, swap N, fence, se, inline, signal; of datagrams ah
 * N, qpn N, qkey N; of a FLUSH bytes N, imm N (its FETH); of the last three key N, new N, mr N (the
 * region; otherwise all of memory), addr N (offset), bytes N, access N.
 */
__attribute__((format(printf, 2, 3))) void post(struct drill *d, const char *format, ...);
void post_recv(struct drill *d, uint64_t wr_id, size_t offset, uint32_t bytes);

/* Nothing comes in: acknowledgements that waited are owed. */
void idle(struct drill *d);
/* Time passes; the receive side is empty. */
void pass(struct drill *d, uint64_t ns);
/* Modifies the queue pair. */
int drill_modify(struct drill *d, const struct uroce_qp_attr *attr, uint32_t mask);
int drill_to_state(struct drill *d, enum uroce_qp_state state);

__attribute__((format(printf, 5, 6))) void drill_inject_dropped(
	struct drill *d, const char *file, int line, enum uroce_drop drop, const char *format, ...);
__attribute__((format(printf, 4, 5))) void drill_expect(
	struct drill *d, const char *file, int line, const char *format, ...);
__attribute__((format(printf, 4, 5))) void drill_expect_cqe(
	struct drill *d, const char *file, int line, const char *format, ...);
__attribute__((format(printf, 4, 5))) void drill_expect_event(
	struct drill *d, const char *file, int line, const char *format, ...);
void drill_expect_state(struct drill *d, const char *file, int line, enum uroce_qp_state state);
void drill_expect_memory(struct drill *d, const char *file, int line, size_t offset, size_t bytes,
	uint32_t fill, uint64_t at);
void drill_expect_payload(struct drill *d, const char *file, int line, uint32_t fill, uint64_t at);
void drill_expect_number(
	struct drill *d, const char *file, int line, const char *what, uint64_t got, uint64_t want);

/* For tests that look at frames in their own way: the next frame, in words. False: none. */
bool drill_next_line(struct drill *d, char *line, size_t size);
const char *drill_drop_name(enum uroce_drop drop);

/* One case at one pair of PSNs; nothing may be left over. */
void drill_run_case(const struct drill_case *drill_case, uint32_t rq_psn, uint32_t sq_psn);

static const struct drill_case *drill_cases;
static unsigned int drill_turn;

/* CUnit runs its tests in order; the first half of them is one pair of PSNs. */
static inline void drill_dispatch(void)
{
	unsigned int turn = drill_turn++;
	bool wraps = turn & 1;

	drill_run_case(
		&drill_cases[turn / 2], wraps ? 0xfffffe : 0x000010, wraps ? 0x000010 : 0xfffffe);
}

/* Runs every case at both pairs of PSNs; the result is what main returns. */
static inline int drill_suite(const char *suite, const struct drill_case *cases, size_t n)
{
	static char names[2 * DRILL_CASES_MAX][160];
	static struct unit_case units[2 * DRILL_CASES_MAX];

	if (n > DRILL_CASES_MAX)
		return 1;
	drill_cases = cases;
	for (size_t i = 0; i < 2 * n; i++) {
		snprintf(names[i], sizeof(names[i]), "%s (%s)", cases[i / 2].name,
			i & 1 ? "expects 0xfffffe, sends 0x000010"
			      : "expects 0x000010, sends 0xfffffe");
		units[i] = (struct unit_case){names[i], drill_dispatch};
	}
	return run_suite(suite, units, 2 * n);
}

#define DRILL_SUITE(suite, cases) drill_suite(suite, cases, sizeof(cases) / sizeof((cases)[0]))

#endif
