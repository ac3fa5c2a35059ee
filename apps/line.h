/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A queue pair that carries lines of text between the two sides of a test: a message each. What a
 * channel is made of where the sides have no TCP. Whoever uses it polls the worker.
 */
#ifndef UROCE_APP_LINE_H
#define UROCE_APP_LINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "endpoint.h"
#include "uroce_cm.h"

enum {
	UROCE_LINE_BYTES = 1024, /* the longest, with its end */
	UROCE_LINE_SLOTS = 64,	 /* under way at once, in each direction */
};

struct uroce_line {
	struct uroce_endpoint *endpoint;
	struct uroce_conn *conn; /* of qp; the line's, once it is made */
	struct uroce_qp *qp;
	struct uroce_cq *cq;
	struct uroce_mr *mr;
	uint8_t *memory;    /* slots to receive into, then slots to send from */
	uint64_t sent;	    /* lines */
	uint64_t sends_out; /* whose completion was not polled */
	/* Completions of receives that were not taken yet, in order: the slot, and its bytes. */
	struct {
		uint32_t slot, bytes;
	} arrived[UROCE_LINE_SLOTS];
	uint32_t num_arrived;
	bool is_up;   /* connected */
	bool is_gone; /* the peer disconnected, or a message failed */
};

/* Makes the queue pair, in INIT with receives posted. Returns 0 or a negative errno. */
int uroce_line_open(struct uroce_line *line, struct uroce_endpoint *endpoint);
/* Ends the connection, and waits for what was sent to be taken, a bounded time. Nothing if it is
 * not open. */
void uroce_line_close(struct uroce_line *line);

/* Sends at most UROCE_LINE_BYTES. Returns 0, -EPIPE: the peer is gone; -ETIMEDOUT: it takes none.
 */
int uroce_line_send(struct uroce_line *line, const void *bytes, size_t n);
/*
 * Takes what arrived, if there is room for it all. Returns bytes; 0: nothing yet; -EPIPE: the peer
 * is gone, and all that it said was taken.
 */
int uroce_line_recv(struct uroce_line *line, void *to, size_t room);

#endif
