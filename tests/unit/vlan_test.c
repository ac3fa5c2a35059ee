/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * VLAN tags: read from the frame or from what the port says of it, and written.
 *
 * The literal frame is soft-RoCE's SEND with a tag put into it: VLAN 100, priority 3. Frames to
 * parse end where their memory ends, so that the address sanitizer sees any byte read behind them.
 */
#include "wire_frames.h"

#include "build.h"

// clang-format off
static const uint8_t tagged_send[66] = {
	0x02, 0x00, 0x00, 0x00, 0x00, 0x02, 0x02, 0x00, 0x00, 0x00, 0x00, 0x01, 0x81, 0x00, 0x60, 0x64,
	0x08, 0x00, 0x45, 0x00, 0x00, 0x30, 0x64, 0xc2, 0x40, 0x00, 0x40, 0x11, 0x51, 0xf7, 0xc0, 0x00,
	0x02, 0x01, 0xc0, 0x00, 0x02, 0x02, 0xc2, 0xa4, 0x12, 0xb7, 0x00, 0x1c, 0x00, 0x00, 0x04, 0x20,
	0xff, 0xff, 0x00, 0x00, 0x00, 0x1a, 0x80, 0xd8, 0x9c, 0x29, 0x6b, 0x67, 0x00, 0x00, 0x56, 0xa2,
	0xfb, 0xc7,
};

/* What the path of start_building sends: SEND ONLY, PSN 7, "abcd", VLAN 4094 and priority 7. */
static const uint8_t want_ipv4[66] = {
	0x5e, 0x4d, 0x3c, 0x2b, 0x1a, 0x09, 0x0a, 0x1b, 0x2c, 0x3d, 0x4e, 0x5f, 0x81, 0x00, 0xef, 0xfe,
	0x08, 0x00, 0x45, 0x6a, 0x00, 0x30, 0x00, 0x00, 0x40, 0x00, 0x3f, 0x11, 0x00, 0x00, 0xc6, 0x33,
	0x64, 0x01, 0xc6, 0x33, 0x64, 0x02, 0x00, 0x00, 0x12, 0xb7, 0x00, 0x1c, 0x00, 0x00, 0x04, 0x40,
	0xff, 0xff, 0x00, 0x01, 0x23, 0x45, 0x00, 0x00, 0x00, 0x07, 'a', 'b', 'c', 'd', 0x00, 0x00,
	0x00, 0x00,
};
static const uint8_t want_ipv6[86] = {
	0x5e, 0x4d, 0x3c, 0x2b, 0x1a, 0x09, 0x0a, 0x1b, 0x2c, 0x3d, 0x4e, 0x5f, 0x81, 0x00, 0xef, 0xfe,
	0x86, 0xdd, 0x66, 0xaa, 0xbc, 0xde, 0x00, 0x1c, 0x11, 0x3f, 0xfe, 0x80, 0x00, 0x00, 0x00, 0x00,
	0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0xaa, 0xfe, 0x80, 0x00, 0x00, 0x00, 0x00,
	0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0xbb, 0xfc, 0xf4, 0x12, 0xb7, 0x00, 0x1c,
	0x00, 0x00, 0x04, 0x40, 0xff, 0xff, 0x00, 0x01, 0x23, 0x45, 0x00, 0x00, 0x00, 0x07, 'a', 'b',
	'c', 'd', 0x00, 0x00, 0x00, 0x00,
};
// clang-format on

enum {
	TAG = 12,
	TAG_BYTES = 4,
	VLAN_100_PRIORITY_3 = 0x6064,
};

/* ---- reading ---- */

static struct uroce_local local;
static struct uroce_pkt pkt;

/* Frames of VLAN 100 are ours, and those without a tag. */
static void start_reading(void)
{
	local = frame_local();
	local.num_addrs = 2;
	local.addrs[1] = uroce_gid_of_ipv4(0xc0000209);
	local.vlans[0] = 100;
}

/* As the port gives it; the view points into memory that is free again. */
static enum uroce_drop parse_as(const uint8_t *frame, uint32_t bytes, uint16_t flags, uint16_t tci)
{
	uint8_t *exact = frame_exact(frame, bytes);
	enum uroce_drop drop;

	memset(&pkt, 0xee, sizeof(pkt));
	pkt.data = exact;
	pkt.bytes = bytes;
	pkt.flags = flags;
	pkt.tci = tci;
	drop = uroce_parse(&local, &pkt);
	CU_ASSERT_EQUAL(memcmp(exact, frame, bytes), 0);
	if (drop == UROCE_ACCEPTED) {
		CU_ASSERT_TRUE(uroce_pkt_icrc_check(&pkt));
		CU_ASSERT_EQUAL(pkt.payload_bytes, 2);
		CU_ASSERT_EQUAL(memcmp(pkt.payload, "kg", 2), 0);
	}
	frame_free(exact, bytes);
	return drop;
}

/* With what a port leaves in a field that it has not set. */
static enum uroce_drop parse(const uint8_t *frame, uint32_t bytes)
{
	return parse_as(frame, bytes, 0, 0xeeee);
}

static void a_tag_in_the_frame_is_read(void)
{
	start_reading();
	CU_ASSERT_EQUAL(parse(tagged_send, sizeof(tagged_send)), UROCE_ACCEPTED);
	CU_ASSERT_EQUAL(pkt.tci, VLAN_100_PRIORITY_3);
	CU_ASSERT_EQUAL(uroce_pkt_vlan(&pkt), 100);
	CU_ASSERT_EQUAL(pkt.dqpn, 0x1a);
	CU_ASSERT_EQUAL(pkt.psn, 0xd89c29);
}

static void a_tag_that_the_port_took_off_is_the_same(void)
{
	start_reading();
	CU_ASSERT_EQUAL(parse_as(frame_send_only, sizeof(frame_send_only), UROCE_PKT_TAG_STRIPPED,
				VLAN_100_PRIORITY_3),
		UROCE_ACCEPTED);
	CU_ASSERT_EQUAL(pkt.tci, VLAN_100_PRIORITY_3);
	CU_ASSERT_EQUAL(uroce_pkt_vlan(&pkt), 100);
	/* The port has others of the field's bits for itself unless it says so. */
	local.vlans[0] = 0;
	CU_ASSERT_EQUAL(parse_as(frame_send_only, sizeof(frame_send_only), 0, VLAN_100_PRIORITY_3),
		UROCE_ACCEPTED);
	CU_ASSERT_EQUAL(pkt.tci, 0);
	CU_ASSERT_EQUAL(uroce_pkt_vlan(&pkt), 0);
}

static void every_vlan_is_told_apart(void)
{
	uint8_t frame[sizeof(tagged_send)];
	unsigned int wrong = 0;

	start_reading();
	memcpy(frame, tagged_send, sizeof(frame));
	for (uint32_t tci = 0; tci < 0x10000; tci += tci < 0x1002 ? 1 : 0xfd) {
		enum uroce_drop want =
			(tci & 0xfff) == 100 ? UROCE_ACCEPTED : UROCE_DROP_VLAN_OTHER;

		frame_put_be16(frame + TAG + 2, tci);
		wrong += parse(frame, sizeof(frame)) != want;
		wrong += parse_as(frame_send_only, sizeof(frame_send_only), UROCE_PKT_TAG_STRIPPED,
				 (uint16_t)tci) != want;
	}
	CU_ASSERT_EQUAL(wrong, 0);
	CU_ASSERT_TRUE(handed_back(UROCE_DROP_VLAN_OTHER));
}

static void without_its_tag_a_frame_is_anothers(void)
{
	start_reading();
	CU_ASSERT_EQUAL(parse(frame_send_only, sizeof(frame_send_only)), UROCE_DROP_VLAN_OTHER);
	local.addrs[0] = uroce_gid_of_ipv4(0xc0000203);
	CU_ASSERT_EQUAL(parse(frame_send_only, sizeof(frame_send_only)), UROCE_DROP_DGID_NOT_OURS);
}

/* The same address in two VLANs is two addresses. */
static void an_address_may_be_of_several_vlans(void)
{
	uint8_t frame[sizeof(tagged_send)];

	start_reading();
	local.addrs[1] = local.addrs[0];
	local.vlans[1] = 200;
	memcpy(frame, tagged_send, sizeof(frame));
	for (uint32_t vlan = 50; vlan <= 250; vlan += 50) {
		frame_put_be16(frame + TAG + 2, vlan);
		CU_ASSERT_EQUAL(parse(frame, sizeof(frame)),
			vlan == 100 || vlan == 200 ? UROCE_ACCEPTED : UROCE_DROP_VLAN_OTHER);
	}
}

static void a_tag_with_a_priority_alone_is_none(void)
{
	uint8_t frame[sizeof(tagged_send)];

	start_reading();
	local.vlans[0] = 0;
	memcpy(frame, tagged_send, sizeof(frame));
	for (uint32_t high = 0; high < 16; high++) {
		frame_put_be16(frame + TAG + 2, high << 12);
		CU_ASSERT_EQUAL(parse(frame, sizeof(frame)), UROCE_ACCEPTED);
		CU_ASSERT_EQUAL(pkt.tci, high << 12);
		CU_ASSERT_EQUAL(uroce_pkt_vlan(&pkt), 0);
	}
}

static void two_tags_are_for_somebody_else(void)
{
	uint8_t frame[sizeof(tagged_send) + TAG_BYTES];

	start_reading();
	memcpy(frame, tagged_send, TAG);
	memcpy(frame + TAG, "\x88\xa8\x00\x64", TAG_BYTES);
	memcpy(frame + TAG + TAG_BYTES, tagged_send + TAG, sizeof(tagged_send) - TAG);
	CU_ASSERT_EQUAL(parse(frame, sizeof(frame)), UROCE_DROP_TAGGED_TWICE);
	memcpy(frame + TAG, "\x81\x00\x00\x64", TAG_BYTES);
	CU_ASSERT_EQUAL(parse(frame, sizeof(frame)), UROCE_DROP_TAGGED_TWICE);
	memcpy(frame + TAG + TAG_BYTES, "\x88\xa8", 2);
	CU_ASSERT_EQUAL(parse(frame, sizeof(frame)), UROCE_DROP_TAGGED_TWICE);
	/* One of them, or both, taken off by the port. */
	CU_ASSERT_EQUAL(parse_as(tagged_send, sizeof(tagged_send), UROCE_PKT_TAG_STRIPPED, 100),
		UROCE_DROP_TAGGED_TWICE);
	CU_ASSERT_EQUAL(parse_as(frame_send_only, sizeof(frame_send_only),
				UROCE_PKT_TAG_STRIPPED | UROCE_PKT_TAGS_STRIPPED, 100),
		UROCE_DROP_TAGGED_TWICE);
	CU_ASSERT_TRUE(handed_back(UROCE_DROP_TAGGED_TWICE));
}

static void a_tagged_frame_may_end_anywhere(void)
{
	start_reading();
	for (uint32_t bytes = 0; bytes < sizeof(tagged_send); bytes++)
		CU_ASSERT_EQUAL(parse(tagged_send, bytes),
			bytes < 18 + 20 + 8 ? UROCE_DROP_FRAME_TOO_SHORT
					    : UROCE_DROP_LENGTH_MISMATCH);
	for (uint32_t bytes = 0; bytes < 14 + 20 + 8; bytes++)
		CU_ASSERT_EQUAL(parse_as(frame_send_only, bytes, UROCE_PKT_TAG_STRIPPED, 100),
			UROCE_DROP_FRAME_TOO_SHORT);
}

/* Who has addresses takes a group's datagrams from the VLANs that these are of. */
static void a_groups_datagrams_come_by_our_vlans(void)
{
	static const uint8_t group_mac[6] = {0x01, 0x00, 0x5e, 0, 1, 5};
	uint8_t frame[sizeof(tagged_send)];

	start_reading();
	local.groups[0] = (struct uroce_local_group){.addr = uroce_gid_of_ipv4(0xe0000105)};
	local.num_groups = 1;
	for (uint32_t vlan = 0; vlan <= 200; vlan += 50) {
		memcpy(frame, frame_send_only, sizeof(frame_send_only));
		memcpy(frame, group_mac, 6);
		memcpy(frame + AT_IP + 16, "\xe0\x00\x01\x05", 4);
		frame_seal(frame);
		memmove(frame + TAG + TAG_BYTES, frame + TAG, sizeof(frame_send_only) - TAG);
		frame_put_be16(frame + TAG, 0x8100);
		frame_put_be16(frame + TAG + 2, vlan);
		CU_ASSERT_EQUAL(parse(frame, sizeof(frame)),
			vlan == 0 || vlan == 100 ? UROCE_ACCEPTED : UROCE_DROP_VLAN_OTHER);
	}
	local.num_addrs = 0;
	CU_ASSERT_EQUAL(parse(frame, sizeof(frame)), UROCE_ACCEPTED);
}

/* ---- writing ---- */

static struct uroce_core core;
static struct uroce_qp qp;
static struct uroce_path path;
static uint8_t room[256 + UROCE_OVERHEAD_BYTES_MAX];
static struct uroce_slot slot;

static void start_building(void)
{
	memset(&core, 0, sizeof(core));
	memset(&qp, 0, sizeof(qp));
	memset(room, 0xff, sizeof(room));
	path = (struct uroce_path){.src = uroce_gid_of_ipv4(0xc6336401),
		.dst = uroce_gid_of_ipv4(0xc6336402),
		.smac = {0x0a, 0x1b, 0x2c, 0x3d, 0x4e, 0x5f},
		.dmac = {0x5e, 0x4d, 0x3c, 0x2b, 0x1a, 0x09},
		.tos = 0x6a,
		.ttl = 63,
		.tci = 0xeffe,
		.vlan = 4094,
		.resolved = true};
	qp.qpn = 0x12;
	qp.path = &path;
	qp.attr.dest_qpn = 0x012345;
	qp.attr.path_mtu_bytes = 256;
	slot = (struct uroce_slot){.data = room, .capacity_bytes = sizeof(room)};
}

static void build_send(void)
{
	uint8_t *p;

	uroce_build_template(&qp);
	p = uroce_build_start(&qp, &slot, (struct uroce_bth){.opcode = 0x04, .psn = 7});
	CU_ASSERT_PTR_EQUAL(p, uroce_frame_bth(room) + UROCE_BTH_BYTES);
	memcpy(p, "abcd", 4);
	uroce_build_finish(&core, &slot, p + 4, 4);
}

/* Compares with what is wanted but for what is computed: those fields are compared with others'. */
static void compare(const uint8_t *want, uint32_t bytes)
{
	uint8_t got[sizeof(room)];

	CU_ASSERT_EQUAL_FATAL(slot.bytes, bytes);
	memcpy(got, room, bytes);
	/* Who reads it knows nothing of the tag. */
	memmove(got + TAG, got + TAG + TAG_BYTES, bytes - TAG - TAG_BYTES);
	if (bytes == sizeof(want_ipv4)) {
		CU_ASSERT_EQUAL(frame_sum_be16(got + AT_IP, 20), 0xffff);
		CU_ASSERT_EQUAL(uroce_load_le32(got + bytes - TAG_BYTES - 4),
			frame_icrc(got + AT_IP, bytes - TAG_BYTES - 14 - 4));
		frame_put_be16(room + 28, 0);
		frame_put_be16(room + 38, 0);
	}
	memset(room + bytes - 4, 0, 4);
	CU_ASSERT_EQUAL(memcmp(room, want, bytes), 0);
}

static void a_tag_is_written_byte_for_byte(void)
{
	start_building();
	build_send();
	CU_ASSERT_TRUE(frame_be16(room + 38) >= 0xc000);
	compare(want_ipv4, sizeof(want_ipv4));
}

static void a_tag_before_ipv6_is_written_byte_for_byte(void)
{
	start_building();
	path.src = (struct uroce_gid){0xfe80ull << 48, 0xaa};
	path.dst = (struct uroce_gid){0xfe80ull << 48, 0xbb};
	path.flow_label = 0xabcde;
	build_send();
	compare(want_ipv6, sizeof(want_ipv6));
}

/* The tag is not part of what the ICRC covers, nor of what IP counts. */
static void but_for_the_tag_the_frame_is_the_same(void)
{
	uint8_t tagged[sizeof(want_ipv6)];
	uint32_t bytes;

	for (int v6 = 0; v6 < 2; v6++) {
		start_building();
		if (v6) {
			path.src = (struct uroce_gid){0xfe80ull << 48, 0xaa};
			path.dst = (struct uroce_gid){0xfe80ull << 48, 0xbb};
		}
		build_send();
		bytes = slot.bytes;
		memcpy(tagged, room, bytes);
		path.tci = path.vlan = 0;
		build_send();
		CU_ASSERT_EQUAL_FATAL(slot.bytes, bytes - TAG_BYTES);
		CU_ASSERT_EQUAL(memcmp(room, tagged, TAG), 0);
		CU_ASSERT_EQUAL(memcmp(room + TAG, tagged + TAG + TAG_BYTES, slot.bytes - TAG), 0);
	}
}

static void the_longest_tagged_frame_fills_its_slot(void)
{
	uint8_t *p;

	start_building();
	path.src = (struct uroce_gid){0xfe80ull << 48, 0xaa};
	path.dst = (struct uroce_gid){0xfe80ull << 48, 0xbb};
	uroce_build_template(&qp);
	p = uroce_build_start(&qp, &slot, (struct uroce_bth){.opcode = 0x0b, .psn = 1});
	p = uroce_build_reth(p, 1, 2, 256) + UROCE_IMMDT_BYTES;
	uroce_build_finish(&core, &slot, p + 256, 256);
	CU_ASSERT_EQUAL(slot.bytes, slot.capacity_bytes);
}

static void a_datagram_has_its_paths_tag(void)
{
	const struct uroce_datagram to = {.path = &path, .qpn = 0x54321, .qkey = 0x11223344};
	uint8_t *p;

	start_building();
	core.conf.mtu_bytes = 256;
	p = uroce_build_start_datagram(
		&core, &qp, &slot, (struct uroce_bth){.opcode = 0x64, .psn = 9}, &to);
	CU_ASSERT_PTR_EQUAL(p, uroce_frame_bth(room) + UROCE_BTH_BYTES + UROCE_DETH_BYTES);
	uroce_build_finish(&core, &slot, p, 0);
	CU_ASSERT_EQUAL(slot.bytes, 18 + 20 + 8 + 12 + 8 + 4);
	CU_ASSERT_EQUAL(memcmp(room + TAG, "\x81\x00\xef\xfe\x08\x00\x45", 7), 0);
}

int main(void)
{
	static const struct unit_case cases[] = {
		{"A tag in the frame is read", a_tag_in_the_frame_is_read},
		{"A tag that the port took off is the same",
			a_tag_that_the_port_took_off_is_the_same},
		{"Every VLAN is told apart from ours", every_vlan_is_told_apart},
		{"Without its tag a frame is another's", without_its_tag_a_frame_is_anothers},
		{"An address may be of several VLANs", an_address_may_be_of_several_vlans},
		{"A tag with a priority alone is none", a_tag_with_a_priority_alone_is_none},
		{"Two tags are for somebody else", two_tags_are_for_somebody_else},
		{"A tagged frame may end anywhere", a_tagged_frame_may_end_anywhere},
		{"A group's datagrams come by our VLANs", a_groups_datagrams_come_by_our_vlans},
		{"A tag is written byte for byte", a_tag_is_written_byte_for_byte},
		{"A tag before IPv6 is written byte for byte",
			a_tag_before_ipv6_is_written_byte_for_byte},
		{"But for the tag the frame is the same", but_for_the_tag_the_frame_is_the_same},
		{"The longest tagged frame fills its slot",
			the_longest_tagged_frame_fills_its_slot},
		{"A datagram has its path's tag", a_datagram_has_its_paths_tag},
	};

	return run_suite("vlan", cases, sizeof(cases) / sizeof(cases[0]));
}
