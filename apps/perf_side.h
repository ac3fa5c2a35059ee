/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One side's resources of a test: queue pairs ("lanes"), their completion queue, and memory with a
 * place for each message that may be under way. Both sides lay memory out in the same way, so a
 * place has the same offset on both. One thread: that which polls the worker.
 */
#ifndef UROCE_APP_PERF_SIDE_H
#define UROCE_APP_PERF_SIDE_H

#include <stdbool.h>
#include <stdint.h>

#include "endpoint.h"
#include "pattern.h"
#include "perf_test.h"

struct uroce_perf_lane {
	struct uroce_qp *qp;
	struct uroce_conn *conn; /* that qp is connected by, or NULL: by a record */
	uint64_t posted;	 /* messages */
	uint64_t completed;	 /* messages, whether or not each had a completion */
	uint64_t received;
	uint64_t todo;	      /* messages that may be posted now */
	uint64_t remote_addr; /* of its first place, as the peer calls it */
};

struct uroce_perf_side {
	struct uroce_endpoint *endpoint;
	struct uroce_perf_test test;
	bool is_server;
	struct uroce_cq *cq;
	struct uroce_perf_lane *lanes;
	uint8_t *memory;
	struct uroce_mr *mr;
	uint64_t stride_bytes;
	uint32_t remote_rkey; /* the peer's */
	uint32_t mtu_bytes;   /* of the path; once connected */
};

enum {
	UROCE_PERF_WORDS_BYTES = 512,
	UROCE_PERF_PING_SIGNAL = 32, /* every so many pings have a completion, and the last */
};

/* Creates all of it, and posts the first receives. Returns 0; else why contains the reason. */
int uroce_perf_side_open(struct uroce_perf_side *side, struct uroce_endpoint *endpoint,
	const struct uroce_perf_test *test, bool is_server, char why[UROCE_PERF_WORDS_BYTES]);
/* Releases all of it; nothing if it is not open. */
void uroce_perf_side_close(struct uroce_perf_side *side);

/* Connects a lane to the peer's record. Returns 0; else why contains the reason. */
int uroce_perf_side_connect(struct uroce_perf_side *side, uint32_t lane,
	const struct uroce_peer *peer, char why[UROCE_PERF_WORDS_BYTES]);

/* The record of this side's memory, and the peer's taken in; false: it does not fit the test. */
void uroce_perf_side_write_memory(
	char line[UROCE_RECORD_BYTES], const struct uroce_perf_side *side);
bool uroce_perf_side_read_memory(const char *line, struct uroce_perf_side *side);

/* A place for messages of a lane; and what the peer calls its own. */
uint8_t *uroce_perf_side_slot(const struct uroce_perf_side *side, uint32_t lane, uint64_t slot);
uint64_t uroce_perf_side_remote(const struct uroce_perf_side *side, uint32_t lane, uint64_t slot);

/* Posts a receive for message `number` of a lane. Returns 0 or -errno. */
int uroce_perf_side_post_recv(struct uroce_perf_side *side, uint32_t lane, uint64_t number);
/* Posts a ping or pong, message `number`, from the first place of the only lane to the second. */
int uroce_perf_side_post_ping(struct uroce_perf_side *side, uint64_t number);
/* Fills the place that a ping or pong is sent from. */
void uroce_perf_side_fill_ping(struct uroce_perf_side *side, uint64_t number);

/* The opcode of the test's work requests. */
enum uroce_wr_opcode uroce_perf_side_opcode(const struct uroce_perf_test *test);

/* Whether a message of the test is right; else why says what is wrong where. */
bool uroce_perf_side_check(const struct uroce_perf_test *test, const struct uroce_pattern *pattern,
	const uint8_t *bytes, char why[UROCE_PERF_WORDS_BYTES]);
/* In words what an error completion is about. */
void uroce_perf_side_explain(const struct uroce_perf_side *side, const struct uroce_wc *wc,
	char why[UROCE_PERF_WORDS_BYTES]);

#endif
