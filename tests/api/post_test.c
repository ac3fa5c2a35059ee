/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Posting, polling and completions of the public API, over an in-memory link.
 */
#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "cunit_run.h"
#include "pair.h"

enum {
	TURNS = 20000
};

static struct pair pair;

static struct uroce_send_wr write_wr(struct uroce_sge *sge, uint64_t wr_id)
{
	return (struct uroce_send_wr){.wr_id = wr_id,
		.opcode = UROCE_WR_RDMA_WRITE,
		.flags = UROCE_SEND_SIGNALED,
		.sge = sge,
		.num_sge = 1,
		.rdma = {
			.remote_addr = (uintptr_t)pair.side[1].mem, .rkey = pair.side[1].mr->rkey}};
}

static void the_example_of_the_readme_works(void)
{
	struct uroce_sge sge;
	struct uroce_send_wr wr;
	struct uroce_wc wc;

	pair_init(&pair, NULL);
	memset(pair.side[0].mem, 'x', 4096);
	sge = pair_sge(&pair, 0, 0, 4096);
	wr = write_wr(&sge, 1);
	CU_ASSERT_EQUAL(uroce_post_send(pair.side[0].qp, &wr, 1), 1);
	CU_ASSERT_TRUE_FATAL(pair_wait(&pair, 0, &wc, TURNS));
	CU_ASSERT_EQUAL(wc.status, UROCE_STATUS_SUCCESS);
	CU_ASSERT_EQUAL(wc.wr_id, 1);
	CU_ASSERT_EQUAL(wc.opcode, UROCE_WC_RDMA_WRITE);
	CU_ASSERT_EQUAL(wc.qpn, uroce_qp_number(pair.side[0].qp));
	CU_ASSERT_EQUAL(memcmp(pair.side[1].mem, pair.side[0].mem, 4096), 0);
	pair_fini(&pair);
}

static void a_list_that_stops_says_where_and_why(void)
{
	struct uroce_send_wr wr[3];
	struct uroce_sge sge;

	pair_init(&pair, NULL);
	sge = pair_sge(&pair, 0, 0, 8);
	for (int i = 0; i < 3; i++)
		wr[i] = write_wr(&sge, (uint64_t)i);
	wr[2].opcode = (enum uroce_wr_opcode)77;
	CU_ASSERT_EQUAL(uroce_post_send(pair.side[0].qp, wr, 3), 2);
	CU_ASSERT_EQUAL(uroce_post_send(pair.side[0].qp, wr + 2, 1), -EINVAL);
	pair_fini(&pair);
}

static void bad_work_requests_are_refused_and_change_nothing(void)
{
	const struct uroce_qp_conf conf = {.max_send_sge = 2, .max_inline_bytes = 64};
	struct uroce_sge sge[3];
	struct uroce_send_wr bad[7];
	struct uroce_wc wc;

	pair_init(&pair, &conf);
	for (int i = 0; i < 3; i++)
		sge[i] = pair_sge(&pair, 0, 0, 8);
	for (int i = 0; i < 7; i++)
		bad[i] = write_wr(sge, 9);
	bad[0].num_sge = 3;
	bad[1].flags |= 1u << 30;
	bad[2].opcode = UROCE_WR_ATOMIC_FETCH_AND_ADD;
	bad[2].rdma.remote_addr += 4;
	bad[3].opcode = UROCE_WR_ATOMIC_CMP_AND_SWP;
	bad[3].num_sge = 2; /* 16 bytes */
	bad[4].opcode = UROCE_WR_RDMA_READ;
	bad[4].flags |= UROCE_SEND_INLINE;
	sge[2].len_bytes = 65;
	bad[5].sge = &sge[2];
	bad[5].flags |= UROCE_SEND_INLINE;
	bad[6].opcode = (enum uroce_wr_opcode)13; /* there is none */
	for (int i = 0; i < 7; i++)
		CU_ASSERT_EQUAL(uroce_post_send(pair.side[0].qp, &bad[i], 1), -EINVAL);
	CU_ASSERT_FALSE(pair_wait(&pair, 0, &wc, 100));
	pair_fini(&pair);
}

static void a_message_over_two_gib_is_refused(void)
{
	const struct uroce_qp_conf conf = {.max_send_sge = 2};
	struct uroce_sge sge[2];
	struct uroce_send_wr wr;

	pair_init(&pair, &conf);
	sge[0] = sge[1] = pair_sge(&pair, 0, 0, 1u << 30);
	sge[1].len_bytes += 1;
	wr = write_wr(sge, 1);
	wr.num_sge = 2;
	CU_ASSERT_EQUAL(uroce_post_send(pair.side[0].qp, &wr, 1), -EINVAL);
	pair_fini(&pair);
}

static void a_send_slot_is_free_again_when_its_completion_was_polled(void)
{
	const struct uroce_qp_conf conf = {.max_send_wr = 4};
	struct uroce_send_wr wr[5];
	struct uroce_sge sge;
	struct uroce_wc wc[4];

	pair_init(&pair, &conf);
	sge = pair_sge(&pair, 0, 0, 8);
	for (int i = 0; i < 5; i++)
		wr[i] = write_wr(&sge, (uint64_t)i);
	CU_ASSERT_EQUAL(uroce_post_send(pair.side[0].qp, wr, 5), 4);
	for (int i = 0; i < 100; i++)
		pair_turn(&pair);
	/* Done, but not polled. */
	CU_ASSERT_EQUAL(uroce_post_send(pair.side[0].qp, wr + 4, 1), -ENOMEM);
	CU_ASSERT_EQUAL(uroce_cq_poll(pair.side[0].cq, wc, 2), 2);
	CU_ASSERT_EQUAL(uroce_post_send(pair.side[0].qp, wr + 2, 3), 2);
	pair_fini(&pair);
}

static void unsignalled_sends_are_freed_by_the_next_completion(void)
{
	const struct uroce_qp_conf conf = {.max_send_wr = 8};
	struct uroce_send_wr wr;
	struct uroce_sge sge;
	struct uroce_wc wc;

	pair_init(&pair, &conf);
	sge = pair_sge(&pair, 0, 0, 8);
	for (int round = 0; round < 5; round++) {
		for (int i = 0; i < 8; i++) {
			wr = write_wr(&sge, (uint64_t)i);
			wr.flags = i == 7 ? UROCE_SEND_SIGNALED : 0;
			CU_ASSERT_EQUAL(uroce_post_send(pair.side[0].qp, &wr, 1), 1);
		}
		CU_ASSERT_TRUE(pair_wait(&pair, 0, &wc, TURNS));
		CU_ASSERT_EQUAL(wc.wr_id, 7);
	}
	pair_fini(&pair);
}

static void inline_data_may_be_overwritten_at_once(void)
{
	const struct uroce_qp_conf conf = {.max_inline_bytes = 256, .max_send_sge = 2};
	uint8_t text[256];
	struct uroce_sge sge[2] = {{text, 100, 0}, {text + 100, 156, 0}};
	struct uroce_send_wr wr;
	struct uroce_wc wc;

	pair_init(&pair, &conf);
	for (int i = 0; i < 256; i++)
		text[i] = (uint8_t)i;
	wr = write_wr(sge, 3);
	wr.num_sge = 2;
	wr.flags |= UROCE_SEND_INLINE;
	CU_ASSERT_EQUAL(uroce_post_send(pair.side[0].qp, &wr, 1), 1);
	memset(text, 0xee, sizeof(text));
	CU_ASSERT_TRUE(pair_wait(&pair, 0, &wc, TURNS));
	for (int i = 0; i < 256; i++)
		CU_ASSERT_EQUAL(pair.side[1].mem[i], i);
	pair_fini(&pair);
}

static void every_completion_field_is_right_for_every_operation(void)
{
	struct uroce_sge out, in;
	struct uroce_recv_wr recv = {.wr_id = 50, .sge = &in, .num_sge = 1};
	struct uroce_send_wr wr;
	struct uroce_wc wc;
	const struct {
		enum uroce_wr_opcode opcode;
		uint32_t bytes;
		enum uroce_wc_opcode wc;
		bool receives;
		uint32_t recv_flags;
	} ops[] = {
		{UROCE_WR_SEND, 100, UROCE_WC_SEND, true, 0},
		{UROCE_WR_SEND_WITH_IMM, 0, UROCE_WC_SEND, true, UROCE_WC_WITH_IMM},
		{UROCE_WR_RDMA_WRITE, 5000, UROCE_WC_RDMA_WRITE, false, 0},
		{UROCE_WR_RDMA_WRITE_WITH_IMM, 77, UROCE_WC_RDMA_WRITE, true, UROCE_WC_WITH_IMM},
		{UROCE_WR_RDMA_READ, 9001, UROCE_WC_RDMA_READ, false, 0},
		{UROCE_WR_ATOMIC_CMP_AND_SWP, 8, UROCE_WC_COMP_SWAP, false, 0},
		{UROCE_WR_ATOMIC_FETCH_AND_ADD, 8, UROCE_WC_FETCH_ADD, false, 0},
	};

	pair_init(&pair, NULL);
	for (size_t i = 0; i < sizeof(ops) / sizeof(ops[0]); i++) {
		out = pair_sge(&pair, 0, 0, ops[i].bytes);
		in = pair_sge(&pair, 1, 65536, 65536);
		wr = write_wr(&out, 40 + i);
		wr.opcode = ops[i].opcode;
		wr.imm = 0x12345678;
		if (ops[i].receives)
			CU_ASSERT_EQUAL(uroce_post_recv(pair.side[1].qp, &recv, 1), 1);
		CU_ASSERT_EQUAL(uroce_post_send(pair.side[0].qp, &wr, 1), 1);
		CU_ASSERT_TRUE_FATAL(pair_wait(&pair, 0, &wc, TURNS));
		CU_ASSERT_EQUAL(wc.status, UROCE_STATUS_SUCCESS);
		CU_ASSERT_EQUAL(wc.opcode, ops[i].wc);
		CU_ASSERT_EQUAL(wc.byte_len, ops[i].bytes);
		if (!ops[i].receives)
			continue;
		CU_ASSERT_TRUE_FATAL(pair_wait(&pair, 1, &wc, TURNS));
		CU_ASSERT_EQUAL(wc.wr_id, 50);
		CU_ASSERT_EQUAL(wc.byte_len, ops[i].bytes);
		CU_ASSERT_EQUAL(wc.flags, ops[i].recv_flags);
		CU_ASSERT_EQUAL(wc.imm, ops[i].recv_flags ? 0x12345678u : 0u);
		CU_ASSERT_EQUAL(wc.src_qpn, uroce_qp_number(pair.side[0].qp));
		CU_ASSERT_EQUAL(wc.opcode,
			ops[i].opcode == UROCE_WR_RDMA_WRITE_WITH_IMM ? UROCE_WC_RECV_RDMA_WITH_IMM
								      : UROCE_WC_RECV);
	}
	pair_fini(&pair);
}

static void an_armed_queue_gives_one_event(void)
{
	struct uroce_event event;
	struct uroce_send_wr wr;
	struct uroce_sge sge;
	struct uroce_wc wc;

	pair_init(&pair, NULL);
	while (uroce_event_poll(pair.side[0].dev, &event, 1) == 1)
		;
	sge = pair_sge(&pair, 0, 0, 8);
	wr = write_wr(&sge, 1);
	CU_ASSERT_EQUAL(uroce_cq_arm_event(pair.side[0].cq, false), 0);
	for (int i = 0; i < 3; i++)
		CU_ASSERT_EQUAL(uroce_post_send(pair.side[0].qp, &wr, 1), 1);
	for (int i = 0; i < 100; i++)
		pair_turn(&pair);
	CU_ASSERT_EQUAL(uroce_event_poll(pair.side[0].dev, &event, 1), 1);
	CU_ASSERT_EQUAL(event.type, UROCE_EVENT_CQ_FIRED);
	CU_ASSERT_PTR_EQUAL(event.cq, pair.side[0].cq);
	CU_ASSERT_EQUAL(uroce_event_poll(pair.side[0].dev, &event, 1), 0);
	CU_ASSERT_EQUAL(uroce_cq_arm_event(pair.side[0].cq, false), 1);
	CU_ASSERT_EQUAL(uroce_cq_poll(pair.side[0].cq, &wc, 1), 1);
	pair_fini(&pair);
}

static void posting_needs_the_state_for_it(void)
{
	struct uroce_qp_conf conf = {0};
	struct uroce_recv_wr recv = {.wr_id = 1};
	struct uroce_send_wr wr;
	struct uroce_sge sge;
	struct uroce_qp *qp;
	struct uroce_wc wc[3];

	pair_init(&pair, NULL);
	conf.send_cq = conf.recv_cq = pair.side[0].cq;
	CU_ASSERT_EQUAL(uroce_qp_create(pair.side[0].pd, &conf, &qp), 0);
	sge = pair_sge(&pair, 0, 0, 8);
	wr = write_wr(&sge, 2);
	CU_ASSERT_EQUAL(uroce_post_send(qp, &wr, 1), -EINVAL);
	CU_ASSERT_EQUAL(uroce_post_recv(qp, &recv, 1), -EINVAL);
	CU_ASSERT_EQUAL(uroce_qp_prepare(qp), 0);
	CU_ASSERT_EQUAL(uroce_post_recv(qp, &recv, 1), 1);
	CU_ASSERT_EQUAL(uroce_post_send(qp, &wr, 1), -EINVAL);
	CU_ASSERT_EQUAL(uroce_qp_modify(qp, &(struct uroce_qp_modify_attr){.state = UROCE_QP_ERR},
				UROCE_QP_ATTR_STATE),
		0);
	/* In ERR everything is accepted and flushed. */
	CU_ASSERT_EQUAL(uroce_post_send(qp, &wr, 1), 1);
	CU_ASSERT_EQUAL(uroce_post_recv(qp, &recv, 1), 1);
	pair_turn(&pair);
	CU_ASSERT_EQUAL(uroce_cq_poll(pair.side[0].cq, wc, 3), 3);
	for (int i = 0; i < 3; i++) {
		CU_ASSERT_EQUAL(wc[i].status, UROCE_STATUS_WR_FLUSH_ERR);
		CU_ASSERT_EQUAL(wc[i].qpn, uroce_qp_number(qp));
	}
	CU_ASSERT_EQUAL(uroce_qp_destroy(qp), 0);
	pair_fini(&pair);
}

static void a_reset_queue_pair_has_all_its_room_after_old_completions(void)
{
	const struct uroce_qp_conf conf = {.max_recv_wr = 8};
	const struct uroce_qp_modify_attr reset = {.state = UROCE_QP_RESET};
	const struct uroce_recv_wr recv = {0};
	const struct uroce_send_wr send = {.opcode = UROCE_WR_SEND};
	struct uroce_qp *qp;
	struct uroce_wc wc[8];

	pair_init(&pair, &conf);
	qp = pair.side[1].qp;
	for (int i = 0; i < 8; i++)
		CU_ASSERT_EQUAL(uroce_post_recv(qp, &recv, 1), 1);
	CU_ASSERT_EQUAL(uroce_post_send(pair.side[0].qp, &send, 1), 1);
	for (int i = 0; i < 100; i++)
		pair_turn(&pair);
	/* One receive is complete and not polled; the others are gone with the reset. */
	CU_ASSERT_EQUAL(uroce_qp_modify(qp, &reset, UROCE_QP_ATTR_STATE), 0);
	CU_ASSERT_EQUAL(uroce_cq_poll(pair.side[1].cq, wc, 8), 1);
	CU_ASSERT_EQUAL(uroce_qp_prepare(qp), 0);
	for (int i = 0; i < 8; i++)
		CU_ASSERT_EQUAL(uroce_post_recv(qp, &recv, 1), 1);
	CU_ASSERT_EQUAL(uroce_post_recv(qp, &recv, 1), -ENOMEM);
	pair_fini(&pair);
}

/*
 * Applications are compiled against these and linked with whatever library is there: a field moves,
 * or room appears between two, only with a new soname.
 */
static void what_is_shared_lies_where_it_did(void)
{
#define AT(type, field, offset) CU_ASSERT_EQUAL(offsetof(struct type, field), offset)
	AT(uroce_sge, addr, 0);
	AT(uroce_sge, len_bytes, 8);
	AT(uroce_sge, lkey, 12);
	CU_ASSERT_EQUAL(sizeof(struct uroce_sge), 16);
	AT(uroce_wc, wr_id, 0);
	AT(uroce_wc, status, 8);
	AT(uroce_wc, opcode, 12);
	AT(uroce_wc, byte_len, 16);
	AT(uroce_wc, imm, 20);
	AT(uroce_wc, qpn, 24);
	AT(uroce_wc, src_qpn, 28);
	AT(uroce_wc, flags, 32);
	AT(uroce_wc, vendor_err, 36);
	AT(uroce_wc, vlan, 40);
	AT(uroce_wc, sl, 42);
	CU_ASSERT_EQUAL(sizeof(struct uroce_wc), 48);
	AT(uroce_recv_wr, wr_id, 0);
	AT(uroce_recv_wr, sge, 8);
	AT(uroce_recv_wr, num_sge, 16);
	CU_ASSERT_EQUAL(sizeof(struct uroce_recv_wr), 24);
	AT(uroce_send_wr, wr_id, 0);
	AT(uroce_send_wr, opcode, 8);
	AT(uroce_send_wr, flags, 12);
	AT(uroce_send_wr, sge, 16);
	AT(uroce_send_wr, num_sge, 24);
	AT(uroce_send_wr, imm, 28);
	AT(uroce_send_wr, invalidate_rkey, 32);
	AT(uroce_send_wr, rdma, 40);
	AT(uroce_send_wr, atomic, 56);
	AT(uroce_send_wr, ud, 72);
	AT(uroce_send_wr, flush, 88);
	AT(uroce_send_wr, bind, 104);
	AT(uroce_send_wr, reg, 144);
	CU_ASSERT_EQUAL(sizeof(struct uroce_send_wr), 184);
#undef AT
}

int main(void)
{
	static const struct unit_case cases[] = {
		{"the example of the README works", the_example_of_the_readme_works},
		{"rdma-unit-test: a list that stops at a full queue says where and why",
			a_list_that_stops_says_where_and_why},
		{"bad work requests are refused and change nothing",
			bad_work_requests_are_refused_and_change_nothing},
		{"a message over 2 GiB is refused", a_message_over_two_gib_is_refused},
		{"a send slot is free again when its completion was polled",
			a_send_slot_is_free_again_when_its_completion_was_polled},
		{"unsignalled sends are freed by the next completion",
			unsignalled_sends_are_freed_by_the_next_completion},
		{"inline data may be overwritten at once", inline_data_may_be_overwritten_at_once},
		{"rdma-core#148, librxe-dev#15, rxe-dev#63: every completion field is right for "
		 "every "
		 "operation",
			every_completion_field_is_right_for_every_operation},
		{"an armed queue gives one event", an_armed_queue_gives_one_event},
		{"rdma-core#1139: posting needs the state for it", posting_needs_the_state_for_it},
		{"a reset queue pair has all its room after its old completions are polled",
			a_reset_queue_pair_has_all_its_room_after_old_completions},
		{"rdma-core#84: what is shared with applications lies where it did",
			what_is_shared_lies_where_it_did},
	};

	return run_suite("post", cases, sizeof(cases) / sizeof(cases[0]));
}
