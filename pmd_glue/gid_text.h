/* SPDX-License-Identifier: BSD-3-Clause */
/* Addresses as people write them: 192.0.2.1, 2001:db8::1, 02:00:00:00:00:01. */
#ifndef UROCE_GID_TEXT_H
#define UROCE_GID_TEXT_H

#include "gid.h"

enum {
	UROCE_GID_TEXT_BYTES = 46,
	UROCE_MAC_TEXT_BYTES = 18
};

/* Into text, which has room for any. */
void uroce_gid_text(struct uroce_gid gid, char text[UROCE_GID_TEXT_BYTES]);
void uroce_mac_text(const uint8_t mac[6], char text[UROCE_MAC_TEXT_BYTES]);

#endif
