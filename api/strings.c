/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Names and texts of the vocabularies.
 */
#include <stddef.h>

#include "uroce.h"

const char *uroce_status_name(enum uroce_status status)
{
	switch (status) {
	case UROCE_STATUS_SUCCESS:
		return "SUCCESS";
	case UROCE_STATUS_LOC_LEN_ERR:
		return "LOC_LEN_ERR";
	case UROCE_STATUS_LOC_QP_OP_ERR:
		return "LOC_QP_OP_ERR";
	case UROCE_STATUS_LOC_PROT_ERR:
		return "LOC_PROT_ERR";
	case UROCE_STATUS_WR_FLUSH_ERR:
		return "WR_FLUSH_ERR";
	case UROCE_STATUS_MW_BIND_ERR:
		return "MW_BIND_ERR";
	case UROCE_STATUS_BAD_RESP_ERR:
		return "BAD_RESP_ERR";
	case UROCE_STATUS_LOC_ACCESS_ERR:
		return "LOC_ACCESS_ERR";
	case UROCE_STATUS_REM_INV_REQ_ERR:
		return "REM_INV_REQ_ERR";
	case UROCE_STATUS_REM_ACCESS_ERR:
		return "REM_ACCESS_ERR";
	case UROCE_STATUS_REM_OP_ERR:
		return "REM_OP_ERR";
	case UROCE_STATUS_RETRY_EXC_ERR:
		return "RETRY_EXC_ERR";
	case UROCE_STATUS_RNR_RETRY_EXC_ERR:
		return "RNR_RETRY_EXC_ERR";
	case UROCE_STATUS_FATAL_ERR:
		return "FATAL_ERR";
	case UROCE_STATUS_GENERAL_ERR:
		return "GENERAL_ERR";
	}
	return "?";
}

const char *uroce_state_name(enum uroce_qp_state state)
{
	static const char *const names[] = {"RESET", "INIT", "RTR", "RTS", "SQD", "SQE", "ERR"};

	return (unsigned int)state < sizeof(names) / sizeof(names[0]) ? names[state] : "?";
}

const char *uroce_event_name(enum uroce_event_type type)
{
	switch (type) {
	case UROCE_EVENT_CQ_ERR:
		return "CQ_ERR";
	case UROCE_EVENT_QP_FATAL:
		return "QP_FATAL";
	case UROCE_EVENT_QP_REQ_ERR:
		return "QP_REQ_ERR";
	case UROCE_EVENT_QP_ACCESS_ERR:
		return "QP_ACCESS_ERR";
	case UROCE_EVENT_COMM_EST:
		return "COMM_EST";
	case UROCE_EVENT_SQ_DRAINED:
		return "SQ_DRAINED";
	case UROCE_EVENT_PORT_ACTIVE:
		return "PORT_ACTIVE";
	case UROCE_EVENT_PORT_ERR:
		return "PORT_ERR";
	case UROCE_EVENT_SRQ_LIMIT_REACHED:
		return "SRQ_LIMIT_REACHED";
	case UROCE_EVENT_QP_LAST_WQE_REACHED:
		return "QP_LAST_WQE_REACHED";
	case UROCE_EVENT_CQ_FIRED:
		return "CQ_FIRED";
	}
	return "?";
}

#define DROP_NAME(name, handed_back, text) [UROCE_DROP_##name] = #name,
#define DROP_TEXT(name, handed_back, text) [UROCE_DROP_##name] = text,

const char *uroce_drop_name(enum uroce_drop drop)
{
	static const char *const names[UROCE_DROP_COUNT] = {
		[UROCE_ACCEPTED] = "ACCEPTED", UROCE_DROP_REASONS(DROP_NAME)};

	return (unsigned int)drop < UROCE_DROP_COUNT ? names[drop] : "?";
}

const char *uroce_drop_text(enum uroce_drop drop)
{
	static const char *const texts[UROCE_DROP_COUNT] = {
		[UROCE_ACCEPTED] = "accepted", UROCE_DROP_REASONS(DROP_TEXT)};

	return (unsigned int)drop < UROCE_DROP_COUNT ? texts[drop] : "?";
}
