/* SPDX-License-Identifier: BSD-3-Clause */
#include "gid_text.h"

#include <arpa/inet.h>

void uroce_gid_text(struct uroce_gid gid, char text[UROCE_GID_TEXT_BYTES])
{
	uint8_t bytes[UROCE_GID_BYTES];

	uroce_gid_store(bytes, gid);
	if (uroce_gid_is_ipv4(gid))
		inet_ntop(AF_INET, bytes + UROCE_GID_BYTES - 4, text, UROCE_GID_TEXT_BYTES);
	else
		inet_ntop(AF_INET6, bytes, text, UROCE_GID_TEXT_BYTES);
}
