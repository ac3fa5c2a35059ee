/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tables from one to the other. What the model has no word for is an error of another kind.
 */
#include "words.h"

#include <stddef.h>

#include "wire.h"

static const enum uroce_wr_opcode opcodes[] = {
	[MODEL_SEND] = UROCE_WR_SEND,
	[MODEL_SEND_IMM] = UROCE_WR_SEND_WITH_IMM,
	[MODEL_SEND_INV] = UROCE_WR_SEND_WITH_INV,
	[MODEL_WRITE] = UROCE_WR_RDMA_WRITE,
	[MODEL_WRITE_IMM] = UROCE_WR_RDMA_WRITE_WITH_IMM,
	[MODEL_READ] = UROCE_WR_RDMA_READ,
	[MODEL_CAS] = UROCE_WR_ATOMIC_CMP_AND_SWP,
	[MODEL_FADD] = UROCE_WR_ATOMIC_FETCH_AND_ADD,
	[MODEL_ATOMIC_WRITE] = UROCE_WR_ATOMIC_WRITE,
	[MODEL_FLUSH] = UROCE_WR_FLUSH,
	[MODEL_INVALIDATE] = UROCE_WR_LOCAL_INV,
	[MODEL_BIND] = UROCE_WR_BIND_MW,
	[MODEL_REGISTER] = UROCE_WR_REG_MR,
};

enum {
	NUM_KINDS = sizeof(opcodes) / sizeof(opcodes[0])
};

enum uroce_wr_opcode words_opcode(enum model_kind kind)
{
	return opcodes[kind];
}

enum model_kind words_kind(enum uroce_wr_opcode opcode)
{
	for (size_t i = 0; i < NUM_KINDS; i++)
		if (opcodes[i] == opcode)
			return (enum model_kind)i;
	return MODEL_SEND;
}

uint32_t words_feth(const struct model_op *op)
{
	uint32_t level = op->everywhere ? UROCE_FLUSH_MR : UROCE_FLUSH_RANGE;

	return UROCE_FLUSH_GLOBAL | level << UROCE_FETH_LEVEL_SHIFT;
}

uint32_t words_access(uint32_t rights, enum model_kind kind)
{
	static const uint32_t pairs[][2] = {{MODEL_MAY_WRITE, UROCE_ACCESS_REMOTE_WRITE},
		{MODEL_MAY_READ, UROCE_ACCESS_REMOTE_READ},
		{MODEL_MAY_ATOMIC, UROCE_ACCESS_REMOTE_ATOMIC},
		{MODEL_MAY_FLUSH, UROCE_ACCESS_FLUSH_GLOBAL},
		{MODEL_MAY_BIND, UROCE_ACCESS_MW_BIND}};
	uint32_t access = kind == MODEL_REGISTER ? UROCE_ACCESS_LOCAL_WRITE : 0;

	for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++)
		if (rights & pairs[i][0])
			access |= pairs[i][1];
	return access;
}

static enum model_status status_of(uint32_t status)
{
	switch (status) {
	case UROCE_STATUS_SUCCESS:
		return MODEL_SUCCESS;
	case UROCE_STATUS_RETRY_EXC_ERR:
		return MODEL_RETRIES_OUT;
	case UROCE_STATUS_WR_FLUSH_ERR:
		return MODEL_FLUSHED;
	case UROCE_STATUS_REM_ACCESS_ERR:
		return MODEL_ACCESS_REFUSED;
	case UROCE_STATUS_MW_BIND_ERR:
		return MODEL_BIND_REFUSED;
	case UROCE_STATUS_LOC_PROT_ERR:
		return MODEL_SOURCE_REFUSED;
	case UROCE_STATUS_LOC_QP_OP_ERR:
		return MODEL_CHANGE_REFUSED;
	case UROCE_STATUS_REM_INV_REQ_ERR:
		return MODEL_BROKEN_OFF;
	default:
		return MODEL_OTHER_ERROR;
	}
}

static enum model_what what_of(uint32_t opcode)
{
	switch (opcode) {
	case UROCE_WC_RDMA_WRITE:
		return MODEL_IS_WRITE;
	case UROCE_WC_RDMA_READ:
		return MODEL_IS_READ;
	case UROCE_WC_COMP_SWAP:
		return MODEL_IS_CAS;
	case UROCE_WC_FETCH_ADD:
		return MODEL_IS_FADD;
	case UROCE_WC_ATOMIC_WRITE:
		return MODEL_IS_ATOMIC_WRITE;
	case UROCE_WC_FLUSH:
		return MODEL_IS_FLUSH;
	case UROCE_WC_LOCAL_INV:
		return MODEL_IS_INVALIDATE;
	case UROCE_WC_BIND_MW:
		return MODEL_IS_BIND;
	case UROCE_WC_REG_MR:
		return MODEL_IS_REGISTER;
	case UROCE_WC_RECV:
		return MODEL_IS_RECV;
	case UROCE_WC_RECV_RDMA_WITH_IMM:
		return MODEL_IS_RECV_OF_WRITE;
	default:
		return MODEL_IS_SEND;
	}
}

struct model_completion words_completion(const struct uroce_cqe *cqe)
{
	return (struct model_completion){.recv = cqe->opcode >= UROCE_WC_RECV,
		.id = cqe->wr_id,
		.status = status_of(cqe->status),
		.what = what_of(cqe->opcode),
		.bytes = cqe->bytes,
		.has_imm = cqe->flags & UROCE_WC_WITH_IMM,
		.imm = cqe->imm};
}
