/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Inside the library: general services, queue pair number 1 of a device.
 *
 * Carries management datagrams (MADs) of 256 bytes to and from the number 1 of others, to any
 * address, over the device's first worker; knows nothing of what is in them. A MAD to an address
 * whose MAC is not known waits while the neighbour is asked for, and is dropped when nobody
 * answers. Everything here is bounded: receives, MADs that wait, addresses that are in use at once.
 *
 * Threads: but for open and close, that of worker 0.
 */
#ifndef UROCE_API_GSI_H
#define UROCE_API_GSI_H

#include "device.h"

enum {
	UROCE_MAD_BYTES = 256
};

struct uroce_gsi;

/* From which address of ours to which of a peer's, or the other way. */
struct uroce_gsi_ends {
	struct uroce_gid local, remote;
};

/*
 * The source (see UROCE_SOURCE) that an address of ours is: 0 for the unspecified one, none for
 * what is not ours. Of one that is in several VLANs, the one without a tag, or the first.
 */
uint16_t uroce_gsi_source(const struct uroce_device *dev, struct uroce_gid gid);

/* -ENOMEM; -ETIMEDOUT: the worker does not poll. From here on the number 1 is known. */
int uroce_gsi_open(struct uroce_device *dev, struct uroce_gsi **gsi);
/* Nobody polls the worker. */
void uroce_gsi_close(struct uroce_gsi *gsi);

/* Whether something came in or was sent since the last turn. */
bool uroce_gsi_is_busy(const struct uroce_gsi *gsi);

/*
 * The next MAD that came in, good until the next call, between whom, and from which queue pair;
 * NULL: there is none. What has another length is none.
 */
const uint8_t *uroce_gsi_recv(
	struct uroce_gsi *gsi, struct uroce_gsi_ends *ends, uint32_t *src_qpn);

/*
 * Between begin and end MADs are sent, and those sent that waited until now. begin: false: another
 * thread has the device; try again in the next turn.
 */
bool uroce_gsi_begin(struct uroce_gsi *gsi, uint64_t now_ns);
void uroce_gsi_end(struct uroce_gsi *gsi);
/* Whether send has room; if not, there is after some turns. */
bool uroce_gsi_has_room(const struct uroce_gsi *gsi);
/*
 * Sends a copy, or lets it wait for the MAC; one that waits already is not made to wait twice.
 * mad NULL: nothing is to be sent, but it shall be known whether the address has somebody; then an
 * answer comes in any case. -ENOMEM, -EADDRNOTAVAIL: it is gone.
 */
int uroce_gsi_send(struct uroce_gsi *gsi, const struct uroce_gsi_ends *ends, const uint8_t *mad,
	uint64_t now_ns);
/*
 * The next address that was found to have somebody, if that was to be known, or nobody: then what
 * waited for it is gone. False: there is none.
 */
bool uroce_gsi_answer(struct uroce_gsi *gsi, struct uroce_gsi_ends *ends, bool *reachable);

/* When to say so of one that waits; UINT64_MAX: none waits. */
uint64_t uroce_gsi_deadline_ns(const struct uroce_gsi *gsi);

#endif
