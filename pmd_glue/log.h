/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The library's log type, lib.uroce: --log-level=lib.uroce:debug shows all of it.
 */
#ifndef UROCE_GLUE_LOG_H
#define UROCE_GLUE_LOG_H

#include <rte_log.h>

extern int uroce_log_type;

#define UROCE_LOG(level, ...) \
	rte_log(RTE_LOG_##level, (uint32_t)uroce_log_type, "uroce: " __VA_ARGS__)

#endif
