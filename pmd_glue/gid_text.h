/* SPDX-License-Identifier: BSD-3-Clause */
/* Addresses as people write them: 192.0.2.1, 2001:db8::1#100 (of VLAN 100), 02:00:00:00:00:01. */
#ifndef UROCE_GID_TEXT_H
#define UROCE_GID_TEXT_H

#include "gid.h"

enum {
	UROCE_GID_TEXT_BYTES = 46,
	UROCE_ADDR_TEXT_BYTES = UROCE_GID_TEXT_BYTES + 6,
	UROCE_MAC_TEXT_BYTES = 18
};

/* Into text, which has room for any. */
void uroce_gid_text(struct uroce_gid gid, char text[UROCE_GID_TEXT_BYTES]);
/* With the VLAN, if it is not 0. */
void uroce_addr_text(struct uroce_gid gid, uint16_t vlan, char text[UROCE_ADDR_TEXT_BYTES]);
void uroce_mac_text(const uint8_t mac[6], char text[UROCE_MAC_TEXT_BYTES]);

#endif
