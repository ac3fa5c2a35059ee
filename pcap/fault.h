/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Faults of a network, in words: what befalls which packet.
 *
 *	KIND[:ARGUMENT]@CONNECTION:PSN[#TURN][/a]     drop@1:+3   delay:5ms@1:102 corrupt:400@2:+0#2
 *	KIND[:ARGUMENT]@0xQPN#TURN		      drop@0x12#0   duplicate:10us@0x12#7
 *
 * The first form names a packet by its connection (from 1, as reports number them), its PSN (with +
 * counted from the connection's first one) and its turn among those with that PSN (1: the first
 * time it is sent; 2: the first time again). /a: of the answers, not of the requests. The second
 * names it by the queue pair it goes to and its turn among all for that, from 0.
 *
 *	drop		    it does not arrive
 *	delay:TIME	    it arrives later: ns, us, ms or s
 *	duplicate[:TIME]    it arrives a second time (1 us later)
 *	reorder[:N]	    it arrives behind the N packets after it (1)
 *	corrupt[:BIT]	    a bit of it is flipped, counted from its first (400)
 *	ce		    it is marked Congestion Experienced
 */
#ifndef UROCE_PCAP_FAULT_H
#define UROCE_PCAP_FAULT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum uroce_fault_kind {
	UROCE_FAULT_DROP,
	UROCE_FAULT_DELAY,     /* arg: ns */
	UROCE_FAULT_DUPLICATE, /* arg: ns after the first */
	UROCE_FAULT_REORDER,   /* arg: packets that overtake it */
	UROCE_FAULT_CORRUPT,   /* arg: the bit */
	UROCE_FAULT_CE,
};

struct uroce_fault {
	enum uroce_fault_kind kind;
	bool by_qpn;
	bool relative; /* psn counts from the connection's first */
	bool answers;
	uint32_t connection; /* or the queue pair's number */
	uint32_t psn;
	uint32_t turn; /* by_qpn: from 0; else from 1 */
	uint64_t arg;
};

struct uroce_faults {
	struct uroce_fault *list;
	uint32_t num;
};

/*
 * Reads faults, parted by commas, spaces or line ends; from # to the line's end is a comment where
 * # begins a word. Appends to *faults. 0, -ENOMEM, or -EINVAL with a sentence for the user in err.
 */
int uroce_faults_parse(struct uroce_faults *faults, const char *text, char *err, size_t err_bytes);
/* The same from a file; also what fopen says. */
int uroce_faults_read(struct uroce_faults *faults, const char *path, char *err, size_t err_bytes);
/* As it would be written. Returns as snprintf does. */
int uroce_fault_print(const struct uroce_fault *fault, char *text, size_t bytes);
void uroce_faults_fini(struct uroce_faults *faults);

/* What befalls the packet with this PSN, its turn-th time; NULL: nothing. first_psn: of the
 * connection. Several faults of one packet: each is found behind the one before (NULL: the first).
 */
const struct uroce_fault *uroce_faults_find(const struct uroce_faults *faults,
	const struct uroce_fault *before, uint32_t connection, uint32_t first_psn, bool answer,
	uint32_t psn, uint32_t turn);

#endif
