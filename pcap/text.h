/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A frame in words: decoding of one Ethernet frame, and that as a line of text or as JSON.
 *
 * This is the second opinion of the tests. It shares no table, no constant and no checksum code
 * with the engine and must never include anything from it: where the two disagree about a frame,
 * one of them is wrong, and a test says so. It is written to be read and not to be fast.
 *
 * Any thread may call any of these functions at any time: they keep nothing. They allocate nothing,
 * and a packet holds no pointer into the frame.
 *
 * Bits on the wire are told apart from bytes that the capture left out. A frame that is cut by the
 * capture's snap length is not malformed: what cannot be seen is not present (has_bth, has_reth,
 * ... are false) or unknown (icrc). Only what a receiver of the whole frame would refuse is
 * malformed.
 */
#ifndef UROCE_PCAP_TEXT_H
#define UROCE_PCAP_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Enough for every line and every JSON object that these functions write. */
#define UROCE_TEXT_LINE_BYTES 512
#define UROCE_TEXT_JSON_BYTES 1536
/* VLAN tags that are shown; more are stepped over. */
#define UROCE_TEXT_TAGS_MAX 2

enum uroce_text_icrc {
	UROCE_TEXT_ICRC_UNKNOWN, /* cannot be judged: cut by the snap length, a fragment, not RoCE
				  */
	UROCE_TEXT_ICRC_OK,
	UROCE_TEXT_ICRC_BAD,
	/*
	 * There is none: the lengths leave no room for it, or place it behind the end of the frame,
	 * or its four bytes are all zero and that is not the right value (as in captures taken
	 * before a NIC filled it in). A receiver drops such a frame just as one with a bad ICRC.
	 */
	UROCE_TEXT_ICRC_ABSENT,
};

enum uroce_text_aeth {
	UROCE_TEXT_AETH_ACK,
	UROCE_TEXT_AETH_RNR,
	UROCE_TEXT_AETH_NAK,
	UROCE_TEXT_AETH_RESERVED,
};

struct uroce_text_packet {
	/* "RoCEv2/IPv4", "RoCEv2/IPv6", "RoCEv1", "ARP", "IPv4", "IPv6" or "other". */
	const char *proto;
	bool is_roce; /* proto is one of the first three */
	char src[48]; /* IP addresses (RoCEv1: GIDs) as text; "" where there are none */
	char dst[48];
	/* VLAN tags, the outer one first; service: a provider's (802.1ad). */
	uint8_t num_tags;
	struct {
		uint16_t vlan;
		uint8_t priority;
		bool may_drop;
		bool service;
	} tags[UROCE_TEXT_TAGS_MAX];
	bool has_udp; /* RoCEv2 only, as is the port */
	uint16_t udp_sport;

	/* The BTH; opcode_name is the InfiniBand name (RC_SEND_FIRST) or UNKNOWN_0x1f. */
	bool has_bth;
	uint8_t opcode;
	char opcode_name[40];
	bool se;
	bool migreq;
	uint8_t pad;
	uint8_t tver;
	uint16_t pkey;
	bool fecn;
	bool becn;
	uint32_t dqpn;
	bool ackreq;
	uint32_t psn;

	/* Extension headers, each only where its has_ is true. */
	bool has_deth;
	struct {
		uint32_t qkey;
		uint32_t sqpn;
	} deth;
	bool has_feth;
	struct {
		uint8_t type;
		uint8_t level;
	} feth;
	bool has_reth;
	struct {
		uint64_t va;
		uint32_t rkey;
		uint32_t dma_len;
	} reth;
	bool has_atomiceth;
	struct {
		uint64_t va;
		uint32_t rkey;
		uint64_t swap_add;
		uint64_t compare;
	} atomiceth;
	bool has_aeth;
	struct {
		uint8_t syndrome;
		uint32_t msn;
		enum uroce_text_aeth kind;
		/* "credits none", "credits 6", "0.64 ms", "psn-sequence-error", "reserved 0x45" */
		char words[32];
	} aeth;
	bool has_atomicacketh;
	uint64_t atomicacketh; /* the value before the operation */
	bool has_immdt;
	uint32_t immdt;
	bool has_ieth;
	uint32_t ieth; /* the rkey to invalidate */

	/*
	 * The payload without pad and ICRC, where the lengths in the frame place it; has_payload is
	 * also true for a payload of no bytes, and false for opcodes that carry none. Where
	 * the capture cut the frame it may reach behind the captured bytes.
	 */
	bool has_payload;
	uint32_t payload_offset; /* from the start of the frame */
	uint32_t payload_bytes;

	enum uroce_text_icrc icrc;

	/*
	 * NULL, or the first reason to refuse the frame that is found without looking at a queue
	 * pair (RoCE frames only):
	 *   ip_fragment             more fragments follow; nothing behind UDP is decoded
	 *   ipv4_checksum_bad       the IPv4 header checksum is wrong
	 *   ip_length_beyond_frame  the IP length says more than the frame had on the wire
	 *   ip_length_short         no room for UDP, BTH and ICRC
	 *   udp_length_mismatch     the UDP length is not what the IP length leaves for it
	 *   not_rocev2              RoCEv1, which a RoCEv2 endpoint does not take
	 *   tver_not_zero           a transport version that does not exist
	 *   opcode_unknown          reserved, or of a vendor
	 *   opcode_unsupported      RD, XRC, FLUSH, ATOMIC WRITE: the standard's, but not decoded
	 *   dest_qpn_zero           queue pair 0 does not exist on Ethernet
	 *   headers_short           the lengths cut an extension header that the opcode needs
	 *   pad_exceeds_payload     more pad bytes than bytes
	 *   length_not_multiple_of_4  payload and pad
	 *   payload_unexpected      bytes or pad behind an opcode that carries no payload
	 */
	const char *malformed;
};

/*
 * Decodes the frame of captured bytes at data (which may be NULL where captured is 0); wire is its
 * length on the wire, without FCS. Never fails: whatever it is, *out says so.
 */
void uroce_text_decode(
	const uint8_t *data, uint32_t captured, uint32_t wire, struct uroce_text_packet *out);

/* "ok", "bad", "absent" or "unknown". */
const char *uroce_text_icrc_name(enum uroce_text_icrc icrc);

/*
 * What a receiving endpoint would drop the frame for before it looks at a queue pair: the reason
 * in malformed, else "icrc_bad" (bad or absent); NULL where it would go on, where the capture is
 * too short to tell, and for frames that are not RoCE.
 */
const char *uroce_text_drop_reason(const struct uroce_text_packet *packet);

/*
 * The packet as one line without a newline, as in
 *   RC_SEND_ONLY qp 0x000011 psn 100 ack pad 3 len 61 icrc ok
 *   RC_ACKNOWLEDGE qp 0x000011 psn 100 ACK credits none msn 1 icrc ok
 *   RC_ACKNOWLEDGE qp 0x000011 psn 103 NAK psn-sequence-error msn 1 icrc ok
 *   RC_ACKNOWLEDGE qp 0x000011 psn 100 RNR NAK 0.64 ms msn 0 icrc ok
 *   RC_SEND_ONLY qp 0x000011 psn 100 ack len 64 vlan 100 pcp 3 icrc ok
 * Left out is what is usual: P_Key 0xffff, TVer 0, no pad, flags that are not set; MigReq is never
 * shown. Addresses are not part of the line. Returns the bytes that the whole line needs without
 * its final zero, as snprintf does; buf always ends in a zero byte if size is not 0.
 */
int uroce_text_line(const struct uroce_text_packet *packet, char *buf, size_t size);

/* The same with the PSN relative to psn_base: "psn +2", "psn -1", "psn +0". */
int uroce_text_line_relative(
	const struct uroce_text_packet *packet, uint32_t psn_base, char *buf, size_t size);

/*
 * The packet as one JSON object on one line, without a newline: frame, time_ns, proto, src, dst,
 * udp_sport, opcode (the name), dqpn, psn, BTH flags, one object per extension header
 * that is present, vlan_tags if there are any, payload_bytes, icrc and drop. Keys that do not apply
 * are null from frame to drop, extension headers and tags are left out. drop is a reason (a plain
 * word without quotes or backslashes) or NULL. Returns as uroce_text_line() does.
 */
int uroce_text_json(const struct uroce_text_packet *packet, uint64_t frame, uint64_t time_ns,
	const char *drop, char *buf, size_t size);

#endif
