/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Following the messages of an unreliable service, without a line of the engine's.
 *
 * A FIRST or ONLY begins a message, whatever was before. What follows belongs to it as long as
 * PSNs go on by one; from the first that does not, the rest of it is nobody's.
 */
#include "pcap/deliver.h"

#include "engine/psn.h"

enum {
	SERVICE_UD = 3,
	GRH_BYTES = 40,
	OP_SEND_ONLY_IMM = 0x05,
	OP_WRITE_FIRST = 0x06,
	OP_WRITE_LAST_IMM = 0x09,
	OP_WRITE_ONLY_IMM = 0x0b,
};

static bool begins(uint8_t op)
{
	return op == 0x00 || op == 0x04 || op == 0x05 || op == OP_WRITE_FIRST || op == 0x0a ||
		op == OP_WRITE_ONLY_IMM;
}

struct uroce_delivery_place uroce_delivery_take(
	struct uroce_delivery *d, const struct uroce_exchange_frame *f)
{
	struct uroce_delivery_place place = {.in_receive = f->op <= OP_SEND_ONLY_IMM};

	if (begins(f->op)) {
		d->in_message = true;
		d->offset = f->service == SERVICE_UD ? GRH_BYTES : 0;
		d->rkey = f->text.has_reth ? f->text.reth.rkey : 0;
		d->va = f->text.has_reth ? f->text.reth.va : 0;
	} else if (!d->in_message || f->text.psn != d->psn_next) {
		d->in_message = false;
		place.nowhere = true;
		return place;
	}
	place.offset = d->offset;
	place.rkey = d->rkey;
	place.va = d->va + d->offset;
	d->offset += f->text.payload_bytes;
	d->psn_next = uroce_psn_add(f->text.psn, 1);
	if (uroce_exchange_ends(f->op)) {
		d->in_message = false;
		d->completed += place.in_receive || f->op == OP_WRITE_LAST_IMM ||
			f->op == OP_WRITE_ONLY_IMM;
	}
	return place;
}
