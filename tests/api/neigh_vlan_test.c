/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Neighbours by VLAN: each is a link of its own, and a question goes out by the one it is about.
 *
 * We have 192.0.2.1, fe80::1 and, with priority 3, the same in VLAN 100; the literal frames are
 * what Linux sends, with that tag put into them.
 */
#include <string.h>

#include "cunit_run.h"
#include "neigh_rig.h"

enum {
	TAG = 12,
	TAG_BYTES = 4,
	VLAN = 100,
	TCI = 0x6064,
	ARP_BYTES = 42,
	ND_BYTES = 86,
	PING_BYTES = 14 + 20 + 8 + 4,
};

// clang-format off

/* 192.0.2.1 at 02::01 asks all who has 192.0.2.2; 02::02 answers it. */
static const uint8_t tagged_ask[ARP_BYTES + TAG_BYTES] = {
	0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x02, 0x00, 0x00, 0x00, 0x00, 0x01, 0x81, 0x00, 0x60, 0x64,
	0x08, 0x06, 0x00, 0x01, 0x08, 0x00, 0x06, 0x04, 0x00, 0x01, 0x02, 0x00, 0x00, 0x00, 0x00, 0x01,
	0xc0, 0x00, 0x02, 0x01, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0xc0, 0x00, 0x02, 0x02,
};
static const uint8_t tagged_answer[ARP_BYTES + TAG_BYTES] = {
	0x02, 0x00, 0x00, 0x00, 0x00, 0x01, 0x02, 0x00, 0x00, 0x00, 0x00, 0x02, 0x81, 0x00, 0x00, 0x64,
	0x08, 0x06, 0x00, 0x01, 0x08, 0x00, 0x06, 0x04, 0x00, 0x02, 0x02, 0x00, 0x00, 0x00, 0x00, 0x02,
	0xc0, 0x00, 0x02, 0x02, 0x02, 0x00, 0x00, 0x00, 0x00, 0x01, 0xc0, 0x00, 0x02, 0x01,
};

/* fe80::2 at 02::02 asks who has fe80::1. */
static const uint8_t tagged_solicitation[ND_BYTES + TAG_BYTES] = {
	0x33, 0x33, 0xff, 0x00, 0x00, 0x01, 0x02, 0x00, 0x00, 0x00, 0x00, 0x02, 0x81, 0x00, 0x00, 0x64,
	0x86, 0xdd, 0x60, 0x00, 0x00, 0x00, 0x00, 0x20, 0x3a, 0xff, 0xfe, 0x80, 0x00, 0x00, 0x00, 0x00,
	0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x02, 0xff, 0x02, 0x00, 0x00, 0x00, 0x00,
	0x00, 0x00, 0x00, 0x00, 0x00, 0x01, 0xff, 0x00, 0x00, 0x01, 0x87, 0x00, 0x7a, 0x97, 0x00, 0x00,
	0x00, 0x00, 0xfe, 0x80, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
	0x00, 0x01, 0x01, 0x01, 0x02, 0x00, 0x00, 0x00, 0x00, 0x02,
};

// clang-format on

static const uint8_t mac_1[6] = {2, 0, 0, 0, 0, 1}, mac_2[6] = {2, 0, 0, 0, 0, 2},
		     mac_3[6] = {2, 0, 0, 0, 0, 3};
static const struct uroce_gid v4_1 = {0, 0xffffc0000201}, v4_2 = {0, 0xffffc0000202},
			      v6_1 = {0xfe80ull << 48, 1}, v6_2 = {0xfe80ull << 48, 2};

static struct uroce_hop tagged(struct uroce_gid addr)
{
	return (struct uroce_hop){addr, VLAN};
}

static void start(void)
{
	const struct uroce_gid addrs[] = {v4_1, v6_1};

	start_with(mac_1, addrs, 2);
	uroce_neigh_add_own(&neigh, v4_1, TCI);
	uroce_neigh_add_own(&neigh, v6_1, TCI);
}

/* Past the probes and announcements of the own addresses: five each. */
static void be_settled(void)
{
	for (int i = 0; i < 5; i++, now_ns += SECOND_NS)
		for (int k = 0; k < 4; k++)
			CU_ASSERT_TRUE(next() > 0);
	CU_ASSERT_EQUAL(next(), 0);
}

/* As it is without the tag, or with another; its bytes. */
static uint32_t retag(uint8_t *to, const uint8_t *from, uint32_t bytes, const char *tag)
{
	uint32_t tag_bytes = tag ? TAG_BYTES : 0;

	memcpy(to, from, TAG);
	memcpy(to + TAG, tag ? tag : "", tag_bytes);
	memcpy(to + TAG + tag_bytes, from + TAG + TAG_BYTES, bytes - TAG - TAG_BYTES);
	return bytes - TAG_BYTES + tag_bytes;
}

/* ---- asking ---- */

static void a_question_goes_out_by_its_vlan(void)
{
	uint8_t untagged_answer[ARP_BYTES + TAG_BYTES], mac[6];
	uint32_t bytes = retag(untagged_answer, tagged_answer, sizeof(tagged_answer), NULL);

	start();
	be_settled();
	CU_ASSERT_EQUAL(uroce_neigh_hold(&neigh, tagged(v4_2), v4_1), 0);
	CU_ASSERT_EQUAL(next(), 60);
	CU_ASSERT_EQUAL(memcmp(out, tagged_ask, sizeof(tagged_ask)), 0);
	for (uint32_t i = sizeof(tagged_ask); i < 60; i++)
		CU_ASSERT_EQUAL(out[i], 0);
	/* An answer on another link is none. */
	CU_ASSERT_EQUAL(give(untagged_answer, bytes), 0);
	CU_ASSERT_EQUAL(uroce_neigh_find(&neigh, tagged(v4_2), mac), 0);
	CU_ASSERT_EQUAL(neigh.counters.unasked, 1);
	CU_ASSERT_EQUAL(give(tagged_answer, sizeof(tagged_answer)), 0);
	CU_ASSERT_EQUAL(uroce_neigh_find(&neigh, tagged(v4_2), mac), 1);
	CU_ASSERT_EQUAL(memcmp(mac, mac_2, 6), 0);
	CU_ASSERT_EQUAL(find_mac(v4_2, mac), 0);
	uroce_neigh_fini(&neigh);
}

static void an_address_may_be_at_another_mac_in_each_vlan(void)
{
	uint8_t frame[ARP_BYTES + TAG_BYTES], mac[6];
	uint32_t bytes;

	start();
	be_settled();
	CU_ASSERT_EQUAL(hold(v4_2), 0);
	CU_ASSERT_EQUAL(uroce_neigh_hold(&neigh, tagged(v4_2), v4_1), 0);
	CU_ASSERT_EQUAL(neigh.num, 2);
	bytes = retag(frame, tagged_answer, sizeof(tagged_answer), NULL);
	memcpy(frame + 22, mac_3, 6);
	CU_ASSERT_EQUAL(give(frame, bytes), 0);
	CU_ASSERT_EQUAL(give(tagged_answer, sizeof(tagged_answer)), 0);
	CU_ASSERT_EQUAL(neigh.counters.changed, 0);
	CU_ASSERT_EQUAL(find_mac(v4_2, mac), 1);
	CU_ASSERT_EQUAL(memcmp(mac, mac_3, 6), 0);
	CU_ASSERT_EQUAL(uroce_neigh_find(&neigh, tagged(v4_2), mac), 1);
	CU_ASSERT_EQUAL(memcmp(mac, mac_2, 6), 0);
	/* One is let go, and the other stays. */
	uroce_neigh_release(&neigh, tagged(v4_2), now_ns);
	CU_ASSERT_EQUAL(neigh.entries[0].users, 1);
	CU_ASSERT_EQUAL(neigh.entries[1].users, 0);
	/* What the application says is of one link, too. */
	CU_ASSERT_EQUAL(uroce_neigh_set(&neigh, tagged(v4_2), mac_1), 0);
	CU_ASSERT_EQUAL(find_mac(v4_2, mac), 1);
	CU_ASSERT_EQUAL(memcmp(mac, mac_3, 6), 0);
	uroce_neigh_fini(&neigh);
}

static void discovery_goes_out_by_its_vlan(void)
{
	uint8_t frame[ND_BYTES + TAG_BYTES], mac[6];

	start();
	be_settled();
	CU_ASSERT_EQUAL(uroce_neigh_hold(&neigh, tagged(v6_2), v6_1), 0);
	CU_ASSERT_EQUAL(next(), ND_BYTES + TAG_BYTES);
	CU_ASSERT_EQUAL(memcmp(out + TAG, "\x81\x00\x60\x64\x86\xdd\x60", 7), 0);
	CU_ASSERT_EQUAL(uroce_icmpv6_sum(out + 18, 32), 0xffff);
	CU_ASSERT_TRUE(uroce_gid_equal(uroce_gid_load(out + 18 + 8), v6_1));
	CU_ASSERT_TRUE(uroce_gid_equal(uroce_gid_load(out + 18 + 40 + 8), v6_2));
	/* Who asks tells its own MAC; in another VLAN that is not it. */
	retag(frame, tagged_solicitation, sizeof(frame), "\x81\x00\x00\x65");
	CU_ASSERT_EQUAL(give(frame, sizeof(frame)), 0);
	CU_ASSERT_EQUAL(uroce_neigh_find(&neigh, tagged(v6_2), mac), 0);
	CU_ASSERT_TRUE(give(tagged_solicitation, sizeof(tagged_solicitation)) > 0);
	CU_ASSERT_EQUAL(uroce_neigh_find(&neigh, tagged(v6_2), mac), 1);
	CU_ASSERT_EQUAL(memcmp(mac, mac_2, 6), 0);
	uroce_neigh_fini(&neigh);
}

/* Who asks is who the peer knows, or is to get to know: whoever the caller says. */
static void a_question_is_from_the_address_that_was_named(void)
{
	static const struct uroce_gid other = {0, 0xffffc6336401};
	const struct uroce_hop far = untagged((struct uroce_gid){0, 0xffffc6336402});

	start();
	uroce_neigh_add_own(&neigh, other, 0);
	for (int i = 0; i < 5; i++, now_ns += SECOND_NS)
		while (next() > 0)
			;
	CU_ASSERT_EQUAL(uroce_neigh_hold(&neigh, far, other), 0);
	CU_ASSERT_EQUAL(next(), 60);
	CU_ASSERT_EQUAL(uroce_load_be32(out + 28), 0xc6336401);
	CU_ASSERT_EQUAL(uroce_load_be32(out + 38), 0xc6336402);
	/* Not from one of another link. */
	CU_ASSERT_EQUAL(uroce_neigh_hold(&neigh, tagged(far.addr), other), 0);
	CU_ASSERT_EQUAL(next(), 0);
	uroce_neigh_fini(&neigh);
}

/* ---- answering ---- */

/* With the tag of the question and our own priority. */
static void who_asks_is_answered_in_its_vlan(void)
{
	static const char *const tags[] = {"\x81\x00\x00\x64", "\x81\x00\xf0\x64", NULL,
		"\x81\x00\x00\x00", "\x81\x00\xe0\x00", "\x81\x00\x00\x65", "\x81\x00\x0f\xff",
		"\x88\xa8\x00\x64"};
	uint8_t frame[ARP_BYTES + TAG_BYTES];

	for (int i = 0; i < 8; i++) {
		uint32_t bytes = retag(frame, tagged_ask, sizeof(tagged_ask), tags[i]);
		uint8_t *arp = frame + bytes - 28;

		start();
		/* 192.0.2.2 at 02::02 asks for 192.0.2.1. */
		memcpy(arp + 8, mac_2, 6);
		arp[17] = 2;
		arp[27] = 1;
		CU_ASSERT_EQUAL(give(frame, bytes), i < 5 ? 60 : i < 7 ? 0 : -1);
		CU_ASSERT_EQUAL(neigh.counters.answered, i < 5);
		CU_ASSERT_EQUAL(memcmp(out + TAG, "\x81\x00\x60\x64\x08\x06", 6) == 0, i < 2);
		CU_ASSERT_EQUAL(memcmp(out + TAG, "\x08\x06", 2) == 0, i >= 2 && i < 5);
		uroce_neigh_fini(&neigh);
	}
}

static void discovery_is_answered_in_its_vlan(void)
{
	uint8_t frame[ND_BYTES + TAG_BYTES];
	uint32_t bytes;

	start();
	CU_ASSERT_EQUAL(
		give(tagged_solicitation, sizeof(tagged_solicitation)), ND_BYTES + TAG_BYTES);
	CU_ASSERT_EQUAL(memcmp(out, mac_2, 6), 0);
	CU_ASSERT_EQUAL(memcmp(out + TAG, "\x81\x00\x60\x64\x86\xdd", 6), 0);
	CU_ASSERT_EQUAL(uroce_icmpv6_sum(out + 18, 32), 0xffff);
	bytes = retag(frame, tagged_solicitation, sizeof(frame), NULL);
	CU_ASSERT_EQUAL(give(frame, bytes), ND_BYTES);
	CU_ASSERT_EQUAL(memcmp(out + TAG, "\x86\xdd", 2), 0);
	retag(frame, tagged_solicitation, sizeof(frame), "\x81\x00\x00\x65");
	CU_ASSERT_EQUAL(give(frame, sizeof(frame)), 0);
	CU_ASSERT_EQUAL(neigh.counters.answered, 2);
	/* Cut anywhere. */
	for (bytes = 0; bytes < sizeof(tagged_solicitation); bytes++)
		CU_ASSERT_TRUE(give(tagged_solicitation, bytes) <= 0);
	uroce_neigh_fini(&neigh);
}

static uint32_t make_ping(uint8_t *f, const char *tag)
{
	static const uint8_t ping[PING_BYTES + TAG_BYTES] = {2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 0,
		0, 0, 0, 8, 0, 0x45, 0, 0, 32, 0, 0, 0x40, 0, 63, 1, 0xb7, 0xd9, 192, 0, 2, 2, 192,
		0, 2, 1, 8, 0, 0xf7, 0xff, 0, 0, 0, 0};

	return retag(f, ping, sizeof(ping), tag);
}

static void a_ping_is_answered_in_its_vlan(void)
{
	uint8_t ping[PING_BYTES + TAG_BYTES];

	start();
	CU_ASSERT_EQUAL(give(ping, make_ping(ping, NULL)), PING_BYTES);
	CU_ASSERT_EQUAL(memcmp(out + TAG, "\x08\x00\x45", 3), 0);
	CU_ASSERT_EQUAL(give(ping, make_ping(ping, "\x81\x00\x00\x64")), PING_BYTES + TAG_BYTES);
	CU_ASSERT_EQUAL(memcmp(out, mac_2, 6), 0);
	CU_ASSERT_EQUAL(memcmp(out + TAG, "\x81\x00\x60\x64\x08\x00\x45", 7), 0);
	CU_ASSERT_EQUAL(out[18 + 20], 0);
	CU_ASSERT_EQUAL(give(ping, make_ping(ping, "\x81\x00\xe0\x00")), PING_BYTES);
	CU_ASSERT_EQUAL(give(ping, make_ping(ping, "\x81\x00\x00\x65")), -1);
	CU_ASSERT_EQUAL(give(ping, make_ping(ping, "\x88\xa8\x00\x64")), -1);
	uroce_neigh_fini(&neigh);
}

/* ---- our own addresses ---- */

static void our_addresses_are_probed_in_their_vlans(void)
{
	unsigned int with_tag = 0, without = 0;

	start();
	for (int i = 0; i < 5; i++, now_ns += SECOND_NS)
		for (uint32_t bytes = next(); bytes > 0; bytes = next()) {
			bool is_tagged = memcmp(out + TAG, "\x81\x00\x60\x64", TAG_BYTES) == 0;
			uint32_t at = is_tagged ? TAG + TAG_BYTES : TAG;

			CU_ASSERT_TRUE(memcmp(out + at, "\x08\x06", 2) == 0 ||
				memcmp(out + at, "\x86\xdd", 2) == 0);
			with_tag += is_tagged;
			without += !is_tagged;
		}
	CU_ASSERT_EQUAL(with_tag, 10);
	CU_ASSERT_EQUAL(without, 10);
	uroce_neigh_fini(&neigh);
}

static void our_address_is_anothers_in_another_vlan(void)
{
	uint8_t frame[ARP_BYTES + TAG_BYTES];

	start();
	for (int i = 0; i < 20; i++, now_ns += SECOND_NS)
		while (next() > 0)
			;
	/* 02::03 says that it is 192.0.2.1. */
	retag(frame, tagged_ask, sizeof(frame), "\x81\x00\x00\x65");
	memcpy(frame + 26, mac_3, 6);
	CU_ASSERT_EQUAL(give(frame, sizeof(frame)), 0);
	CU_ASSERT_EQUAL(neigh.counters.conflicts, 0);
	memcpy(frame + TAG, "\x81\x00\x00\x64", TAG_BYTES);
	CU_ASSERT_EQUAL(give(frame, sizeof(frame)), 60);
	CU_ASSERT_EQUAL(memcmp(out + TAG, "\x81\x00\x60\x64\x08\x06", 6), 0);
	CU_ASSERT_EQUAL(neigh.counters.conflicts, 1);
	uroce_neigh_fini(&neigh);
}

int main(void)
{
	static const struct unit_case cases[] = {
		{"a question goes out by its VLAN", a_question_goes_out_by_its_vlan},
		{"an address may be at another MAC in each VLAN",
			an_address_may_be_at_another_mac_in_each_vlan},
		{"discovery goes out by its VLAN", discovery_goes_out_by_its_vlan},
		{"a question is from the address that was named",
			a_question_is_from_the_address_that_was_named},
		{"who asks is answered in its VLAN", who_asks_is_answered_in_its_vlan},
		{"discovery is answered in its VLAN", discovery_is_answered_in_its_vlan},
		{"a ping is answered in its VLAN", a_ping_is_answered_in_its_vlan},
		{"our addresses are probed in their VLANs",
			our_addresses_are_probed_in_their_vlans},
		{"our address is another's in another VLAN",
			our_address_is_anothers_in_another_vlan},
	};

	return run_suite("neigh_vlan", cases, sizeof(cases) / sizeof(cases[0]));
}
