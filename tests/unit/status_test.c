/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The vocabularies' numbers, written down a second time from libibverbs' header.
 *
 * A program that passes ibv_ numbers through depends on them, and so does every one that was built
 * against an older library. Where libibverbs has no name, the number here is the one first given.
 */
#include "cunit_run.h"
#include "opcode.h"
#include "stats.h"
#include "status.h"

struct number {
	int is, want;
};

static void check(const struct number *numbers, size_t n)
{
	for (size_t i = 0; i < n; i++)
		CU_ASSERT_EQUAL(numbers[i].is, numbers[i].want);
}

#define CHECK(numbers) check(numbers, sizeof(numbers) / sizeof((numbers)[0]))

static void statuses_have_the_numbers_of_ibv_wc_status(void)
{
	static const struct number numbers[] = {
		{UROCE_STATUS_SUCCESS, 0},
		{UROCE_STATUS_LOC_LEN_ERR, 1},
		{UROCE_STATUS_LOC_QP_OP_ERR, 2},
		{UROCE_STATUS_LOC_PROT_ERR, 4},
		{UROCE_STATUS_WR_FLUSH_ERR, 5},
		{UROCE_STATUS_BAD_RESP_ERR, 7},
		{UROCE_STATUS_LOC_ACCESS_ERR, 8},
		{UROCE_STATUS_REM_INV_REQ_ERR, 9},
		{UROCE_STATUS_REM_ACCESS_ERR, 10},
		{UROCE_STATUS_REM_OP_ERR, 11},
		{UROCE_STATUS_RETRY_EXC_ERR, 12},
		{UROCE_STATUS_RNR_RETRY_EXC_ERR, 13},
		{UROCE_STATUS_FATAL_ERR, 19},
		{UROCE_STATUS_GENERAL_ERR, 21},
	};

	CHECK(numbers);
}

static void work_requests_have_the_numbers_of_ibv_wr_opcode(void)
{
	static const struct number numbers[] = {
		{UROCE_WR_RDMA_WRITE, 0},
		{UROCE_WR_RDMA_WRITE_WITH_IMM, 1},
		{UROCE_WR_SEND, 2},
		{UROCE_WR_SEND_WITH_IMM, 3},
		{UROCE_WR_RDMA_READ, 4},
		{UROCE_WR_ATOMIC_CMP_AND_SWP, 5},
		{UROCE_WR_ATOMIC_FETCH_AND_ADD, 6},
		{UROCE_WR_SEND_WITH_INV, 9},
		{UROCE_SEND_FENCE, 1},
		{UROCE_SEND_SIGNALED, 2},
		{UROCE_SEND_SOLICITED, 4},
		{UROCE_SEND_INLINE, 8},
	};

	CHECK(numbers);
}

static void completions_have_the_numbers_of_ibv_wc_opcode(void)
{
	static const struct number numbers[] = {
		{UROCE_WC_SEND, 0},
		{UROCE_WC_RDMA_WRITE, 1},
		{UROCE_WC_RDMA_READ, 2},
		{UROCE_WC_COMP_SWAP, 3},
		{UROCE_WC_FETCH_ADD, 4},
		{UROCE_WC_RECV, 128},
		{UROCE_WC_RECV_RDMA_WITH_IMM, 129},
		{UROCE_WC_WITH_IMM, 2},
		{UROCE_WC_WITH_INV, 8},
	};

	CHECK(numbers);
}

static void rights_have_the_numbers_of_ibv_access_flags(void)
{
	static const struct number numbers[] = {
		{UROCE_ACCESS_LOCAL_WRITE, 1},
		{UROCE_ACCESS_REMOTE_WRITE, 2},
		{UROCE_ACCESS_REMOTE_READ, 4},
		{UROCE_ACCESS_REMOTE_ATOMIC, 8},
		{UROCE_MW_TYPE_1, 1},
		{UROCE_MW_TYPE_2, 2},
	};

	CHECK(numbers);
}

static void states_and_attributes_have_the_numbers_of_ibv_qp(void)
{
	static const struct number numbers[] = {
		{UROCE_QP_RESET, 0},
		{UROCE_QP_INIT, 1},
		{UROCE_QP_RTR, 2},
		{UROCE_QP_RTS, 3},
		{UROCE_QP_SQD, 4},
		{UROCE_QP_SQE, 5},
		{UROCE_QP_ERR, 6},
		{UROCE_QP_ATTR_STATE, 0x1},
		{UROCE_QP_ATTR_CUR_STATE, 0x2},
		{UROCE_QP_ATTR_EN_SQD_ASYNC_NOTIFY, 0x4},
		{UROCE_QP_ATTR_ACCESS_FLAGS, 0x8},
		{UROCE_QP_ATTR_PKEY_INDEX, 0x10},
		{UROCE_QP_ATTR_PORT, 0x20},
		{UROCE_QP_ATTR_AV, 0x80},
		{UROCE_QP_ATTR_PATH_MTU, 0x100},
		{UROCE_QP_ATTR_TIMEOUT, 0x200},
		{UROCE_QP_ATTR_RETRY_CNT, 0x400},
		{UROCE_QP_ATTR_RNR_RETRY, 0x800},
		{UROCE_QP_ATTR_RQ_PSN, 0x1000},
		{UROCE_QP_ATTR_MAX_RD_ATOMIC, 0x2000},
		{UROCE_QP_ATTR_MIN_RNR_TIMER, 0x8000},
		{UROCE_QP_ATTR_SQ_PSN, 0x10000},
		{UROCE_QP_ATTR_MAX_DEST_RD_ATOMIC, 0x20000},
		{UROCE_QP_ATTR_DEST_QPN, 0x100000},
	};

	CHECK(numbers);
}

static void events_have_the_numbers_of_ibv_event_type(void)
{
	static const struct number numbers[] = {
		{UROCE_EVENT_CQ_ERR, 0},
		{UROCE_EVENT_QP_FATAL, 1},
		{UROCE_EVENT_QP_REQ_ERR, 2},
		{UROCE_EVENT_QP_ACCESS_ERR, 3},
		{UROCE_EVENT_COMM_EST, 4},
		{UROCE_EVENT_SQ_DRAINED, 5},
		{UROCE_EVENT_QP_LAST_WQE_REACHED, 16},
		{UROCE_EVENT_CQ_FIRED, 100},
	};

	CHECK(numbers);
}

static void only_what_is_somebody_elses_is_handed_back(void)
{
#define ROW(name, handed_back, text) {UROCE_DROP_##name, handed_back},
	static const struct number rows[] = {UROCE_DROP_REASONS(ROW)};
#undef ROW

	/* The reasons that are told before anything is judged. */
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		bool somebody_elses = rows[i].is == UROCE_DROP_NOT_OUR_MAC ||
			rows[i].is == UROCE_DROP_NOT_IP || rows[i].is == UROCE_DROP_NOT_UDP ||
			rows[i].is == UROCE_DROP_NOT_ROCE_PORT ||
			rows[i].is == UROCE_DROP_LATER_FRAGMENT ||
			rows[i].is == UROCE_DROP_DGID_NOT_OURS ||
			rows[i].is == UROCE_DROP_VLAN_OTHER ||
			rows[i].is == UROCE_DROP_TAGGED_TWICE;

		CU_ASSERT_EQUAL(rows[i].want, somebody_elses);
		CU_ASSERT_NOT_EQUAL(rows[i].is, UROCE_ACCEPTED);
	}
	CU_ASSERT_EQUAL(UROCE_ACCEPTED, 0);
	CU_ASSERT_EQUAL(sizeof(rows) / sizeof(rows[0]) + 1, UROCE_DROP_COUNT);
}

static void counters_are_counted(void)
{
	size_t named = sizeof(struct uroce_counters) - UROCE_DROP_COUNT * sizeof(uint64_t);

	CU_ASSERT_EQUAL(UROCE_COUNTER_COUNT, named / sizeof(uint64_t));
}

int main(void)
{
	static const struct unit_case cases[] = {
		{"Statuses have the numbers of ibv_wc_status",
			statuses_have_the_numbers_of_ibv_wc_status},
		{"Work requests have the numbers of ibv_wr_opcode and ibv_send_flags",
			work_requests_have_the_numbers_of_ibv_wr_opcode},
		{"Completions have the numbers of ibv_wc_opcode and ibv_wc_flags",
			completions_have_the_numbers_of_ibv_wc_opcode},
		{"Rights have the numbers of ibv_access_flags",
			rights_have_the_numbers_of_ibv_access_flags},
		{"States and attributes have the numbers of ibv_qp_state and ibv_qp_attr_mask",
			states_and_attributes_have_the_numbers_of_ibv_qp},
		{"Events have the numbers of ibv_event_type",
			events_have_the_numbers_of_ibv_event_type},
		{"Only what is somebody else's is handed back",
			only_what_is_somebody_elses_is_handed_back},
		{"The counters are as many as there are", counters_are_counted},
	};

	return run_suite("status", cases, sizeof(cases) / sizeof(cases[0]));
}
