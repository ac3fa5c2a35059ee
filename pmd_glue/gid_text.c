/* SPDX-License-Identifier: BSD-3-Clause */
#include "gid_text.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>

void uroce_gid_text(struct uroce_gid gid, char text[UROCE_GID_TEXT_BYTES])
{
	uint8_t bytes[UROCE_GID_BYTES];

	uroce_gid_store(bytes, gid);
	if (uroce_gid_is_ipv4(gid))
		inet_ntop(AF_INET, bytes + UROCE_GID_BYTES - 4, text, UROCE_GID_TEXT_BYTES);
	else
		inet_ntop(AF_INET6, bytes, text, UROCE_GID_TEXT_BYTES);
}

void uroce_addr_text(struct uroce_gid gid, uint16_t vlan, char text[UROCE_ADDR_TEXT_BYTES])
{
	size_t bytes;

	uroce_gid_text(gid, text);
	bytes = strlen(text);
	if (vlan)
		snprintf(text + bytes, UROCE_ADDR_TEXT_BYTES - bytes, "#%u", vlan);
}

void uroce_mac_text(const uint8_t mac[6], char text[UROCE_MAC_TEXT_BYTES])
{
	snprintf(text, UROCE_MAC_TEXT_BYTES, "%02x:%02x:%02x:%02x:%02x:%02x", mac[0], mac[1],
		mac[2], mac[3], mac[4], mac[5]);
}
