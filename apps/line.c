/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Lines over a queue pair. Each slot holds one line; a receive is posted again as soon as its line
 * was taken.
 */
#include "line.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common.h"

#define SEND_PATIENCE_NS UINT64_C(5000000000)
#define END_PATIENCE_NS	 UINT64_C(1000000000)

enum {
	SEND_ID = UROCE_LINE_SLOTS, /* work requests: receives by slot, and sends */
};

static struct uroce_sge slot_sge(const struct uroce_line *line, uint64_t slot, size_t bytes)
{
	return (struct uroce_sge){.addr = line->memory + slot * UROCE_LINE_BYTES,
		.len_bytes = (uint32_t)bytes,
		.lkey = line->mr->lkey};
}

static int post_recv(struct uroce_line *line, uint32_t slot)
{
	const struct uroce_sge sge = slot_sge(line, slot, UROCE_LINE_BYTES);
	const struct uroce_recv_wr wr = {.wr_id = slot, .sge = &sge, .num_sge = 1};
	int n = uroce_post_recv(line->qp, &wr, 1);

	return n == 1 ? 0 : n;
}

static int open_qp(struct uroce_line *line)
{
	const struct uroce_qp_conf conf = {.send_cq = line->cq,
		.recv_cq = line->cq,
		.max_send_wr = UROCE_LINE_SLOTS,
		.max_recv_wr = UROCE_LINE_SLOTS,
		.signal_all = true};
	int err = uroce_qp_create(line->endpoint->pd, &conf, &line->qp);

	if (!err)
		err = uroce_qp_prepare(line->qp);
	for (uint32_t i = 0; !err && i < UROCE_LINE_SLOTS; i++)
		err = post_recv(line, i);
	return err;
}

int uroce_line_open(struct uroce_line *line, struct uroce_endpoint *endpoint)
{
	const size_t bytes = (size_t)2 * UROCE_LINE_SLOTS * UROCE_LINE_BYTES;
	int err;

	memset(line, 0, sizeof(*line));
	line->endpoint = endpoint;
	line->memory = calloc(1, bytes);
	if (!line->memory)
		return -ENOMEM;
	err = uroce_mr_register(
		endpoint->pd, line->memory, bytes, UROCE_ACCESS_LOCAL_WRITE, &line->mr);
	if (!err)
		err = uroce_cq_create(endpoint->device, 2 * UROCE_LINE_SLOTS, &line->cq);
	if (!err)
		err = open_qp(line);
	if (err)
		uroce_line_close(line);
	return err;
}

/* Takes completions: sends are free again, receives wait in line. */
static void take_completions(struct uroce_line *line)
{
	struct uroce_wc wc;

	while (line->num_arrived < UROCE_LINE_SLOTS && uroce_cq_poll(line->cq, &wc, 1) == 1) {
		if (wc.status != UROCE_STATUS_SUCCESS) {
			line->is_gone = true;
		} else if (wc.wr_id == SEND_ID) {
			line->sends_out--;
		} else {
			line->arrived[line->num_arrived].slot = (uint32_t)wc.wr_id;
			line->arrived[line->num_arrived++].bytes = wc.byte_len;
		}
	}
}

/* Polls until at most `most` sends are under way. */
static int wait_for_sends(struct uroce_line *line, uint64_t most, uint64_t patience_ns)
{
	uint64_t since_ns = uroce_app_clock_ns();

	for (;;) {
		take_completions(line);
		if (line->sends_out <= most)
			return 0;
		if (line->is_gone)
			return -EPIPE;
		if (uroce_app_clock_ns() - since_ns > patience_ns)
			return -ETIMEDOUT;
		uroce_endpoint_poll(line->endpoint);
	}
}

void uroce_line_close(struct uroce_line *line)
{
	if (line->is_up)
		wait_for_sends(line, 0, END_PATIENCE_NS);
	if (line->conn)
		uroce_conn_destroy(line->conn);
	if (line->qp)
		uroce_qp_destroy(line->qp);
	if (line->cq)
		uroce_cq_destroy(line->cq);
	if (line->mr)
		uroce_mr_deregister(line->mr);
	free(line->memory);
	memset(line, 0, sizeof(*line));
}

int uroce_line_send(struct uroce_line *line, const void *bytes, size_t n)
{
	uint64_t slot = UROCE_LINE_SLOTS + line->sent % UROCE_LINE_SLOTS;
	const struct uroce_sge sge = slot_sge(line, slot, n);
	const struct uroce_send_wr wr = {
		.wr_id = SEND_ID, .opcode = UROCE_WR_SEND, .sge = &sge, .num_sge = 1};
	int err;

	if (!line->is_up || n > UROCE_LINE_BYTES)
		return -EPIPE;
	err = wait_for_sends(line, UROCE_LINE_SLOTS - 1, SEND_PATIENCE_NS);
	if (err)
		return err;
	memcpy(sge.addr, bytes, n);
	if (uroce_post_send(line->qp, &wr, 1) != 1)
		return -EPIPE;
	line->sent++;
	line->sends_out++;
	return 0;
}

int uroce_line_recv(struct uroce_line *line, void *to, size_t room)
{
	uint32_t slot, bytes;

	take_completions(line);
	if (line->num_arrived == 0)
		return line->is_gone || !line->is_up ? -EPIPE : 0;
	slot = line->arrived[0].slot;
	bytes = line->arrived[0].bytes;
	if (bytes > room)
		return 0;
	memcpy(to, line->memory + (size_t)slot * UROCE_LINE_BYTES, bytes);
	line->num_arrived--;
	memmove(line->arrived, line->arrived + 1, line->num_arrived * sizeof(line->arrived[0]));
	if (post_recv(line, slot) != 0)
		line->is_gone = true;
	return (int)bytes;
}
