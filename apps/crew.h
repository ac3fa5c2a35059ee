/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The lcores besides the main one: lcore i polls worker i of each endpoint of the process. Worker 0
 * is the main thread's, which also posts and takes completions.
 */
#ifndef UROCE_APP_CREW_H
#define UROCE_APP_CREW_H

#include "endpoint.h"

/*
 * Puts the further workers of `num` open endpoints, which have the same number of workers, on
 * lcores of EAL's. Nothing if each has one. Returns 0, or -1 after words: there are too few lcores.
 */
int uroce_crew_start(const struct uroce_endpoint *endpoints, unsigned int num);
/* Ends that; before any endpoint closes. Nothing if nothing was started. */
void uroce_crew_stop(void);

#endif
