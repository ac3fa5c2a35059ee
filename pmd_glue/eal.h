/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * EAL for programs that have no EAL arguments, and what to do when it is missing.
 */
#ifndef UROCE_GLUE_EAL_H
#define UROCE_GLUE_EAL_H

#include <stdbool.h>

enum {
	UROCE_EMBEDDED_PORTS_MAX = 16
};

/* See uroce_eal_init_embedded in uroce.h. */
int uroce_glue_eal_init(unsigned int num_ports);

/* Whether EAL is initialised, by whomever. */
bool uroce_glue_eal_is_ready(void);

/* Whether this is a secondary process, which has ports and memory of another. */
bool uroce_glue_eal_is_secondary(void);

#endif
