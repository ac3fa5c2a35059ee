/* SPDX-License-Identifier: BSD-3-Clause */
/* GIDs as people write them: 192.0.2.1, 2001:db8::1. */
#ifndef UROCE_GID_TEXT_H
#define UROCE_GID_TEXT_H

#include "gid.h"

enum {
	UROCE_GID_TEXT_BYTES = 46
};

/* Into text, which has room for any. */
void uroce_gid_text(struct uroce_gid gid, char text[UROCE_GID_TEXT_BYTES]);

#endif
