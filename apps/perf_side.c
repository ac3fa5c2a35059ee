/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A side's resources.
 *
 * The work request id of whatever is posted has the lane in its upper half; the lower half is how
 * many messages its completion stands for. The completion queue holds all that can be outstanding,
 * so it cannot overflow, not even when every queue pair is flushed.
 */
#include "perf_side.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "uroce_cm.h"

enum {
	PING_SENDS = 128, /* send queue of a latency test */
	PING_RECVS = 4,
	PAGE_BYTES = 4096,
};

static uint32_t send_wrs(const struct uroce_perf_side *side)
{
	if (side->test.latency)
		return PING_SENDS;
	return side->is_server ? 1 : side->test.depth;
}

static uint32_t recv_wrs(const struct uroce_perf_side *side)
{
	const struct uroce_perf_test *test = &side->test;

	if (!uroce_perf_test_receives(test) || (!side->is_server && !test->latency))
		return 1;
	if (test->latency)
		return PING_RECVS;
	/* Twice, so that the sender need not wait while receives are posted anew. */
	return test->verify ? test->slots : 2 * test->depth;
}

static int refuse(char *why, int err, const char *what)
{
	snprintf(why, UROCE_PERF_WORDS_BYTES, "%s: %s", what, strerror(-err));
	return err;
}

static int allocate(struct uroce_perf_side *side, char *why)
{
	uint64_t bytes = uroce_perf_test_memory_bytes(&side->test);
	int err;

	side->stride_bytes = uroce_perf_test_stride_bytes(&side->test);
	side->lanes = calloc(side->test.qps, sizeof(*side->lanes));
	side->memory =
		aligned_alloc(PAGE_BYTES, (bytes + PAGE_BYTES - 1) / PAGE_BYTES * PAGE_BYTES);
	if (!side->lanes || !side->memory)
		return refuse(why, -ENOMEM, "no memory for the messages");
	/* Touched now, so that no page is faulted in while it is measured. */
	memset(side->memory, 0, bytes);
	err = uroce_mr_register(side->endpoint->pd, side->memory, bytes,
		UROCE_ACCESS_LOCAL_WRITE | UROCE_ACCESS_REMOTE_WRITE | UROCE_ACCESS_REMOTE_READ |
			UROCE_ACCESS_REMOTE_ATOMIC,
		&side->mr);
	return err ? refuse(why, err, "the memory could not be registered") : 0;
}

static int open_lane(struct uroce_perf_side *side, uint32_t lane, char *why)
{
	struct uroce_qp_conf conf = {
		.type = UROCE_QP_RC,
		.send_cq = side->cq,
		.recv_cq = side->cq,
		.max_send_wr = send_wrs(side),
		.max_recv_wr = recv_wrs(side),
		.dcqcn = side->endpoint->pace.dcqcn,
		.keepalive_ms = side->endpoint->pace.keepalive_ms,
		.rate_limit_bps = side->endpoint->pace.rate_limit_bps,
	};
	int err = uroce_qp_create(side->endpoint->pd, &conf, &side->lanes[lane].qp);

	if (!err)
		err = uroce_qp_prepare(side->lanes[lane].qp);
	if (err)
		return refuse(why, err, "a queue pair could not be created");
	for (uint32_t i = 0; uroce_perf_test_receives(&side->test) && i < conf.max_recv_wr; i++)
		if (uroce_perf_side_post_recv(side, lane, i))
			return refuse(why, -ENOMEM, "a receive could not be posted");
	return 0;
}

int uroce_perf_side_open(struct uroce_perf_side *side, struct uroce_endpoint *endpoint,
	const struct uroce_perf_test *test, bool is_server, char why[UROCE_PERF_WORDS_BYTES])
{
	int err;

	memset(side, 0, sizeof(*side));
	side->endpoint = endpoint;
	side->test = *test;
	side->is_server = is_server;
	err = allocate(side, why);
	if (!err) {
		err = uroce_cq_create(
			endpoint->device, test->qps * (send_wrs(side) + recv_wrs(side)), &side->cq);
		if (err)
			refuse(why, err, "a completion queue could not be created");
	}
	for (uint32_t i = 0; !err && i < test->qps; i++)
		err = open_lane(side, i, why);
	if (err)
		uroce_perf_side_close(side);
	return err;
}

void uroce_perf_side_close(struct uroce_perf_side *side)
{
	for (uint32_t i = 0; side->lanes && i < side->test.qps; i++) {
		if (side->lanes[i].conn)
			uroce_conn_destroy(side->lanes[i].conn);
		if (side->lanes[i].qp)
			uroce_qp_destroy(side->lanes[i].qp);
	}
	if (side->cq)
		uroce_cq_destroy(side->cq);
	if (side->mr)
		uroce_mr_deregister(side->mr);
	free(side->lanes);
	free(side->memory);
	memset(side, 0, sizeof(*side));
}

int uroce_perf_side_connect(struct uroce_perf_side *side, uint32_t lane,
	const struct uroce_peer *peer, char why[UROCE_PERF_WORDS_BYTES])
{
	uint32_t own = side->endpoint->attr.active_mtu_bytes;
	int err = uroce_qp_connect(side->lanes[lane].qp, peer);

	side->mtu_bytes = own < peer->mtu_bytes ? own : peer->mtu_bytes;
	if (err == -EADDRNOTAVAIL)
		return refuse(why, err,
			"one side has an IPv4 address and the other one of IPv6 (--addr), so "
			"there is no address of the peer's kind to send from");
	return err ? refuse(why, err, "a queue pair could not be connected") : 0;
}

/* ---- memory ---- */

static uint64_t offset(const struct uroce_perf_side *side, uint32_t lane, uint64_t slot)
{
	return (lane * (uint64_t)side->test.slots + slot % side->test.slots) * side->stride_bytes;
}

void uroce_perf_side_write_memory(char line[UROCE_RECORD_BYTES], const struct uroce_perf_side *side)
{
	snprintf(line, UROCE_RECORD_BYTES, "memory addr=%" PRIu64 " rkey=%" PRIu32 " bytes=%zu",
		(uint64_t)(uintptr_t)side->memory, side->mr->rkey, side->mr->bytes);
}

bool uroce_perf_side_read_memory(const char *line, struct uroce_perf_side *side)
{
	struct uroce_record record;
	uint64_t addr;

	if (!uroce_record_begin(&record, line, "memory"))
		return false;
	addr = uroce_record_number(&record, "addr", 0, UINT64_MAX);
	side->remote_rkey = (uint32_t)uroce_record_number(&record, "rkey", 0, UINT32_MAX);
	uroce_record_number(&record, "bytes", side->mr->bytes, side->mr->bytes);
	for (uint32_t i = 0; i < side->test.qps; i++)
		side->lanes[i].remote_addr = addr + offset(side, i, 0);
	return uroce_record_end(&record) && addr % 8 == 0 && addr + side->mr->bytes >= addr;
}

uint8_t *uroce_perf_side_slot(const struct uroce_perf_side *side, uint32_t lane, uint64_t slot)
{
	return side->memory + offset(side, lane, slot);
}

uint64_t uroce_perf_side_remote(const struct uroce_perf_side *side, uint32_t lane, uint64_t slot)
{
	return side->lanes[lane].remote_addr + slot % side->test.slots * side->stride_bytes;
}

/* ---- posting ---- */

int uroce_perf_side_post_recv(struct uroce_perf_side *side, uint32_t lane, uint64_t number)
{
	struct uroce_sge sge = {
		.addr = uroce_perf_side_slot(side, lane, side->test.latency ? 1 : number),
		.len_bytes = side->test.size_bytes,
		.lkey = side->mr->lkey,
	};
	struct uroce_recv_wr wr = {
		.wr_id = (uint64_t)lane << 32 | 1,
		.sge = &sge,
		.num_sge = 1,
	};
	int n = uroce_post_recv(side->lanes[lane].qp, &wr, 1);

	return n == 1 ? 0 : n;
}

void uroce_perf_side_fill_ping(struct uroce_perf_side *side, uint64_t number)
{
	struct uroce_pattern pattern = {.from_server = side->is_server, .number = number};
	uint8_t *bytes = uroce_perf_side_slot(side, 0, 0);

	if (side->test.verify)
		uroce_pattern_fill(&pattern, bytes, side->test.size_bytes);
	else if (side->test.size_bytes > 0)
		bytes[side->test.size_bytes - 1] = uroce_pattern_last(number);
}

enum uroce_wr_opcode uroce_perf_side_opcode(const struct uroce_perf_test *test)
{
	bool has_imm = uroce_perf_test_has_imm(test);

	switch (test->op) {
	case UROCE_PERF_READ:
		return UROCE_WR_RDMA_READ;
	case UROCE_PERF_SEND:
		return has_imm ? UROCE_WR_SEND_WITH_IMM : UROCE_WR_SEND;
	case UROCE_PERF_ATOMIC:
		return test->cas ? UROCE_WR_ATOMIC_CMP_AND_SWP : UROCE_WR_ATOMIC_FETCH_AND_ADD;
	case UROCE_PERF_WRITE:
	case UROCE_PERF_OPS:
		break;
	}
	return has_imm ? UROCE_WR_RDMA_WRITE_WITH_IMM : UROCE_WR_RDMA_WRITE;
}

int uroce_perf_side_post_ping(struct uroce_perf_side *side, uint64_t number)
{
	bool is_signalled = number % UROCE_PERF_PING_SIGNAL == UROCE_PERF_PING_SIGNAL - 1 ||
		number + 1 == side->test.iterations;
	struct uroce_sge sge = {
		.addr = uroce_perf_side_slot(side, 0, 0),
		.len_bytes = side->test.size_bytes,
		.lkey = side->mr->lkey,
	};
	struct uroce_send_wr wr = {
		.wr_id = UROCE_PERF_PING_SIGNAL,
		.opcode = uroce_perf_side_opcode(&side->test),
		.imm = (uint32_t)number,
		.flags = is_signalled ? UROCE_SEND_SIGNALED : 0,
		.sge = &sge,
		.num_sge = 1,
		.rdma = {uroce_perf_side_remote(side, 0, 1), side->remote_rkey},
	};
	int n;

	n = uroce_post_send(side->lanes[0].qp, &wr, 1);
	return n == 1 ? 0 : n;
}

/* ---- verdicts ---- */

bool uroce_perf_side_check(const struct uroce_perf_test *test, const struct uroce_pattern *pattern,
	const uint8_t *bytes, char why[UROCE_PERF_WORDS_BYTES])
{
	size_t wrong = uroce_pattern_check(pattern, bytes, test->size_bytes);

	if (wrong == test->size_bytes)
		return true;
	snprintf(why, UROCE_PERF_WORDS_BYTES,
		"DATA IS WRONG: byte %zu of message %" PRIu64 " on queue pair %" PRIu32
		" is 0x%02x and should be 0x%02x",
		wrong, pattern->number, pattern->lane, bytes[wrong],
		uroce_pattern_byte(pattern, wrong, test->size_bytes));
	return false;
}

void uroce_perf_side_explain(const struct uroce_perf_side *side, const struct uroce_wc *wc,
	char why[UROCE_PERF_WORDS_BYTES])
{
	uint32_t lane = (uint32_t)(wc->wr_id >> 32);
	const char *status = uroce_status_name(wc->status);
	char words[UROCE_PERF_WORDS_BYTES / 2] = "";
	bool is_named;

	uroce_qp_last_error(side->lanes[lane].qp, words, sizeof(words));
	/* The words of a queue pair in error begin with the status. */
	is_named = strncmp(words, status, strlen(status)) == 0;
	snprintf(why, UROCE_PERF_WORDS_BYTES, "queue pair 0x%06" PRIx32 ": %s ended in %s%s%s",
		uroce_qp_number(side->lanes[lane].qp),
		wc->opcode == UROCE_WC_RECV || wc->opcode == UROCE_WC_RECV_RDMA_WITH_IMM
			? "a receive"
			: uroce_perf_op_name(side->test.op),
		is_named ? "" : status, *words && !is_named ? ": " : "", words);
}
