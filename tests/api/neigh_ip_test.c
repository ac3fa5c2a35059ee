/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Neighbour discovery of IPv6, and pings of both IP versions.
 *
 * The literal solicitation and advertisement are Linux's; checksums of the rest are computed here.
 */
#include <errno.h>
#include <string.h>

#include "cunit_run.h"
#include "neigh_rig.h"

enum {
	IP = 14,
	ICMP_4 = IP + 20,
	ICMP_6 = IP + 40,
	PING_BYTES = 33, /* odd */
};

// clang-format off

/* fe80::ff:fe00:2 at 02::02 asks who has 2001:db8::1, and 2001:db8::1 at 02::01 answers. */
static const uint8_t linux_asks[86] = {
	0x33, 0x33, 0xff, 0x00, 0x00, 0x01, 0x02, 0x00, 0x00, 0x00, 0x00, 0x02, 0x86, 0xdd, 0x60, 0x00,
	0x00, 0x00, 0x00, 0x20, 0x3a, 0xff, 0xfe, 0x80, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
	0x00, 0xff, 0xfe, 0x00, 0x00, 0x02, 0xff, 0x02, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
	0x00, 0x01, 0xff, 0x00, 0x00, 0x01, 0x87, 0x00, 0x4c, 0x5f, 0x00, 0x00, 0x00, 0x00, 0x20, 0x01,
	0x0d, 0xb8, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x01, 0x01, 0x01,
	0x02, 0x00, 0x00, 0x00, 0x00, 0x02,
};
static const uint8_t linux_answers[86] = {
	0x02, 0x00, 0x00, 0x00, 0x00, 0x02, 0x02, 0x00, 0x00, 0x00, 0x00, 0x01, 0x86, 0xdd, 0x60, 0x00,
	0x00, 0x00, 0x00, 0x20, 0x3a, 0xff, 0x20, 0x01, 0x0d, 0xb8, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
	0x00, 0x00, 0x00, 0x00, 0x00, 0x01, 0xfe, 0x80, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
	0x00, 0xff, 0xfe, 0x00, 0x00, 0x02, 0x88, 0x00, 0xba, 0xab, 0x60, 0x00, 0x00, 0x00, 0x20, 0x01,
	0x0d, 0xb8, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x01, 0x02, 0x01,
	0x02, 0x00, 0x00, 0x00, 0x00, 0x01,
};

// clang-format on

static const uint8_t mac_1[6] = {2, 0, 0, 0, 0, 1}, mac_2[6] = {2, 0, 0, 0, 0, 2},
		     mac_3[6] = {2, 0, 0, 0, 0, 3};
static const struct uroce_gid global_1 = {0x20010db8ull << 32, 1};
static const struct uroce_gid local_2 = {0xfe80ull << 48, 0x000000fffe000002};
static const struct uroce_gid v4_1 = {0, 0xffffc0000201};

/* One's complement sum, byte by byte. */
static uint16_t sum(const uint8_t *p, uint32_t bytes, uint32_t more)
{
	uint64_t total = more;

	for (uint32_t i = 0; i < bytes; i++)
		total += (uint64_t)p[i] << (i % 2 ? 0 : 8);
	while (total >> 16)
		total = (total & 0xffff) + (total >> 16);
	return (uint16_t)total;
}

static uint16_t sum_6(const uint8_t *frame, uint32_t icmp_bytes)
{
	return sum(frame + ICMP_6, icmp_bytes, (uint32_t)sum(frame + IP + 8, 32, 58) + icmp_bytes);
}

static void seal_6(uint8_t *frame, uint32_t icmp_bytes)
{
	frame[ICMP_6 + 2] = frame[ICMP_6 + 3] = 0;
	uroce_store_be16(frame + ICMP_6 + 2, (uint16_t)~sum_6(frame, icmp_bytes));
}

/* ---- discovery ---- */

static void who_asks_for_us_is_answered(void)
{
	start_with(mac_1, &global_1, 1);
	CU_ASSERT_EQUAL(give(linux_asks, sizeof(linux_asks)), sizeof(linux_answers));
	CU_ASSERT_EQUAL(memcmp(out, linux_answers, sizeof(linux_answers)), 0);
	CU_ASSERT_EQUAL(neigh.counters.answered, 1);
	uroce_neigh_fini(&neigh);
	start_with(mac_1, &local_2, 1);
	CU_ASSERT_EQUAL(give(linux_asks, sizeof(linux_asks)), 0);
	uroce_neigh_fini(&neigh);
}

static void what_is_held_is_asked_for(void)
{
	uint8_t mac[6];

	start_with(mac_2, &local_2, 1);
	for (int i = 0; i < 5; i++, now_ns += SECOND_NS) {
		/* Is it free? Then: it is ours. */
		CU_ASSERT_EQUAL(next(), i < 3 ? 78 : 86);
		CU_ASSERT_EQUAL(out[ICMP_6], i < 3 ? 135 : 136);
		CU_ASSERT_EQUAL(sum_6(out, i < 3 ? 24 : 32), 0xffff);
		CU_ASSERT_EQUAL(memcmp(out + ICMP_6 + 8, linux_asks + IP + 8, 16), 0);
		CU_ASSERT_EQUAL(next(), 0);
	}
	CU_ASSERT_EQUAL(hold(global_1), 0);
	CU_ASSERT_EQUAL(next(), sizeof(linux_asks));
	CU_ASSERT_EQUAL(memcmp(out, linux_asks, sizeof(linux_asks)), 0);
	CU_ASSERT_EQUAL(give(linux_answers, sizeof(linux_answers)), 0);
	CU_ASSERT_EQUAL(find_mac(global_1, mac), 1);
	CU_ASSERT_EQUAL(memcmp(mac, mac_1, 6), 0);
	/* It alone, later. */
	now_ns += 30 * SECOND_NS;
	CU_ASSERT_EQUAL(next(), 86);
	CU_ASSERT_EQUAL(memcmp(out, mac_1, 6), 0);
	CU_ASSERT_EQUAL(memcmp(out + IP + 24, linux_answers + IP + 8, 16), 0);
	uroce_neigh_fini(&neigh);
}

/* Past the probes and announcements of the own address. */
static void be_settled(void)
{
	for (int i = 0; i < 5; i++, now_ns += SECOND_NS)
		CU_ASSERT_NOT_EQUAL(next(), 0);
	CU_ASSERT_EQUAL(next(), 0);
}

static void an_address_that_is_taken_is_left_to_its_owner(void)
{
	uint8_t claim[86];

	start_with(mac_2, &global_1, 1);
	CU_ASSERT_EQUAL(next(), 78);
	memcpy(claim, linux_answers, sizeof(claim));
	CU_ASSERT_EQUAL(give(claim, sizeof(claim)), 0);
	for (int i = 0; i < 20; i++, now_ns += SECOND_NS)
		CU_ASSERT_EQUAL(next(), 0);
	CU_ASSERT_EQUAL(give(linux_asks, sizeof(linux_asks)), 0);
	CU_ASSERT_EQUAL(neigh.counters.answered, 0);
	uroce_neigh_fini(&neigh);
}

/* An answer with these flags, and with this MAC in it or none. */
static void answer_with(uint8_t flags, const uint8_t *mac)
{
	uint8_t answer[86];

	memcpy(answer, linux_answers, sizeof(answer));
	answer[ICMP_6 + 4] = flags;
	if (mac)
		memcpy(answer + ICMP_6 + 26, mac, 6);
	uroce_store_be16(answer + IP + 4, mac ? 32 : 24);
	seal_6(answer, mac ? 32 : 24);
	CU_ASSERT_EQUAL(give(answer, mac ? 86 : 78), 0);
}

/* Linux leaves its MAC out when it is asked alone; a proxy does not override. */
static void flags_are_heeded(void)
{
	uint8_t mac[6];

	start_with(mac_2, &local_2, 1);
	be_settled();
	CU_ASSERT_EQUAL(hold(global_1), 0);
	CU_ASSERT_EQUAL(next(), 86);
	answer_with(0x60, mac_1);
	now_ns += 30 * SECOND_NS;
	CU_ASSERT_EQUAL(next(), 86);
	/* Without being solicited it confirms nothing. */
	answer_with(0x20, NULL);
	now_ns += SECOND_NS;
	CU_ASSERT_EQUAL(next(), 86);
	answer_with(0x40, NULL);
	now_ns += 29 * SECOND_NS;
	CU_ASSERT_EQUAL(next(), 0);
	/* Another MAC, without override: the one that is known is asked. */
	answer_with(0x40, mac_3);
	CU_ASSERT_EQUAL(find_mac(global_1, mac), 1);
	CU_ASSERT_EQUAL(memcmp(mac, mac_1, 6), 0);
	CU_ASSERT_EQUAL(neigh.counters.changed, 0);
	CU_ASSERT_EQUAL(next(), 86);
	CU_ASSERT_EQUAL(memcmp(out, mac_1, 6), 0);
	/* And with it: followed. */
	answer_with(0x60, mac_3);
	CU_ASSERT_EQUAL(find_mac(global_1, mac), 2);
	CU_ASSERT_EQUAL(neigh.counters.changed, 1);
	uroce_neigh_fini(&neigh);
}

static void who_probes_for_our_address_hears_of_it(void)
{
	uint8_t probe[78];

	start_with(mac_1, &global_1, 1);
	be_settled();
	memcpy(probe, linux_asks, sizeof(probe));
	memset(probe + IP + 8, 0, 16);
	uroce_store_be16(probe + IP + 4, 24);
	seal_6(probe, 24);
	CU_ASSERT_EQUAL(give(probe, sizeof(probe)), 86);
	/* To all nodes, unsolicited. */
	CU_ASSERT_EQUAL(uroce_load_be32(out + ICMP_6 + 4), 0x20000000);
	CU_ASSERT_EQUAL(uroce_load_be16(out), 0x3333);
	CU_ASSERT_EQUAL(uroce_load_be32(out + 2), 1);
	CU_ASSERT_EQUAL(uroce_load_be16(out + IP + 24), 0xff02);
	CU_ASSERT_EQUAL(sum_6(out, 32), 0xffff);
	CU_ASSERT_EQUAL(neigh.counters.conflicts, 1);
	uroce_neigh_fini(&neigh);
}

static void another_that_claims_our_address_is_told_off(void)
{
	uint8_t claim[86];

	start_with(mac_2, &global_1, 1);
	be_settled();
	memcpy(claim, linux_answers, sizeof(claim));
	CU_ASSERT_EQUAL(give(claim, sizeof(claim)), 86);
	CU_ASSERT_EQUAL(out[ICMP_6], 136);
	CU_ASSERT_EQUAL(memcmp(out + ICMP_6 + 8, claim + ICMP_6 + 8, 16), 0);
	CU_ASSERT_EQUAL(memcmp(out + ICMP_6 + 26, mac_2, 6), 0);
	CU_ASSERT_EQUAL(give(claim, sizeof(claim)), 0);
	CU_ASSERT_EQUAL(neigh.counters.conflicts, 2);
	uroce_neigh_fini(&neigh);
}

static void what_is_not_sound_is_counted(void)
{
	/* offset and value, each with a right checksum: hop limit, code, a group as target, option
	 * of no length, of too much, a group's MAC */
	static const struct {
		uint32_t at;
		uint8_t value;
	} wrong[] = {{IP + 7, 254}, {ICMP_6 + 1, 1}, {ICMP_6 + 8, 0xff}, {ICMP_6 + 25, 0},
		{ICMP_6 + 25, 2}, {ICMP_6 + 26, 1}};
	uint8_t frame[86];
	uint32_t n = 0;

	start_with(mac_1, &global_1, 1);
	for (; n < sizeof(wrong) / sizeof(wrong[0]); n++) {
		memcpy(frame, linux_asks, sizeof(frame));
		frame[wrong[n].at] = wrong[n].value;
		seal_6(frame, 32);
		CU_ASSERT_EQUAL(give(frame, sizeof(frame)), 0);
		CU_ASSERT_EQUAL(neigh.counters.malformed, n + 1);
	}
	memcpy(frame, linux_asks, sizeof(frame));
	frame[ICMP_6 + 3] ^= 1;
	CU_ASSERT_EQUAL(give(frame, sizeof(frame)), 0);
	CU_ASSERT_EQUAL(neigh.counters.malformed, n + 1);
	/* Cut anywhere. */
	for (uint32_t bytes = 14; bytes < sizeof(linux_asks); bytes++)
		CU_ASSERT_TRUE(give(linux_asks, bytes) <= 0);
	CU_ASSERT_EQUAL(neigh.counters.answered, 0);
	uroce_neigh_fini(&neigh);
}

/* ---- pings ---- */

static void make_ping_4(uint8_t *f)
{
	static const uint8_t head[] = {2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 8, 0, 0x45, 0, 0, 61,
		0x12, 0x34, 0x40, 0, 63, 1, 0, 0, 192, 0, 2, 2, 192, 0, 2, 1, 8, 0, 0, 0, 0x12,
		0x34, 0, 1};

	memcpy(f, head, sizeof(head));
	for (uint32_t i = 0; i < PING_BYTES; i++)
		f[sizeof(head) + i] = (uint8_t)(i * 7);
	uroce_store_be16(f + IP + 10, (uint16_t)~sum(f + IP, 20, 0));
	uroce_store_be16(f + ICMP_4 + 2, (uint16_t)~sum(f + ICMP_4, 8 + PING_BYTES, 0));
}

static void a_ping_is_answered(void)
{
	uint8_t ping[ICMP_4 + 8 + PING_BYTES + 3] = {0};

	start_with(mac_1, &v4_1, 1);
	make_ping_4(ping);
	/* What lies behind is Ethernet's. */
	CU_ASSERT_EQUAL(give(ping, sizeof(ping)), sizeof(ping) - 3);
	CU_ASSERT_EQUAL(memcmp(out, ping + 6, 6), 0);
	CU_ASSERT_EQUAL(memcmp(out + 6, ping, 6), 0);
	CU_ASSERT_EQUAL(memcmp(out + IP + 12, ping + IP + 16, 4), 0);
	CU_ASSERT_EQUAL(memcmp(out + IP + 16, ping + IP + 12, 4), 0);
	CU_ASSERT_EQUAL(sum(out + IP, 20, 0), 0xffff);
	CU_ASSERT_EQUAL(out[ICMP_4], 0);
	CU_ASSERT_EQUAL(sum(out + ICMP_4, 8 + PING_BYTES, 0), 0xffff);
	CU_ASSERT_EQUAL(memcmp(out + ICMP_4 + 4, ping + ICMP_4 + 4, 4 + PING_BYTES), 0);
	CU_ASSERT_EQUAL(neigh.counters.echoes, 1);
	uroce_neigh_fini(&neigh);
}

static void a_ping_over_ipv6_is_answered(void)
{
	uint8_t ping[ICMP_6 + 8 + PING_BYTES];

	start_with(mac_1, &global_1, 1);
	memcpy(ping, linux_asks, ICMP_6);
	memcpy(ping, mac_1, 6);
	uroce_gid_store(ping + IP + 24, global_1);
	uroce_store_be16(ping + IP + 4, 8 + PING_BYTES);
	for (uint32_t i = 0; i < 8 + PING_BYTES; i++)
		ping[ICMP_6 + i] = (uint8_t)(i * 5);
	ping[ICMP_6] = 128;
	ping[ICMP_6 + 1] = 0;
	seal_6(ping, 8 + PING_BYTES);
	CU_ASSERT_EQUAL(give(ping, sizeof(ping)), sizeof(ping));
	CU_ASSERT_EQUAL(memcmp(out + IP + 8, ping + IP + 24, 16), 0);
	CU_ASSERT_EQUAL(memcmp(out + IP + 24, ping + IP + 8, 16), 0);
	CU_ASSERT_EQUAL(out[ICMP_6], 129);
	CU_ASSERT_EQUAL(sum_6(out, 8 + PING_BYTES), 0xffff);
	uroce_neigh_fini(&neigh);
}

/* To another, to a group's MAC, a fragment, options, damaged: not ours, or not answered. */
static void other_pings_are_not_answered(void)
{
	static const struct {
		uint32_t at;
		uint8_t value;
		int want;
	} rows[] = {{0, 3, -1}, {5, 9, -1}, {IP + 19, 9, -1}, {IP + 6, 0x20, -1}, {IP + 7, 1, -1},
		{IP, 0x46, -1}, {IP + 9, 6, -1}, {ICMP_4, 13, -1}, {ICMP_4 + 1, 1, -1},
		{ICMP_4 + 9, 0xaa, 0}};
	uint8_t ping[ICMP_4 + 8 + PING_BYTES];

	start_with(mac_1, &v4_1, 1);
	for (uint32_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		make_ping_4(ping);
		ping[rows[i].at] = rows[i].value;
		uroce_store_be16(ping + IP + 10, 0);
		uroce_store_be16(ping + IP + 10, (uint16_t)~sum(ping + IP, 20, 0));
		CU_ASSERT_EQUAL(give(ping, sizeof(ping)), rows[i].want);
	}
	make_ping_4(ping);
	for (uint32_t bytes = 14; bytes < sizeof(ping); bytes++)
		CU_ASSERT_EQUAL(give(ping, bytes), -1);
	ping[IP + 11] ^= 1;
	CU_ASSERT_EQUAL(give(ping, sizeof(ping)), -1);
	CU_ASSERT_EQUAL(neigh.counters.echoes, 0);
	uroce_neigh_fini(&neigh);
}

static void a_flood_of_pings_is_answered_in_part(void)
{
	uint8_t ping[ICMP_4 + 8 + PING_BYTES];
	int answered = 0;

	start_with(mac_1, &v4_1, 1);
	make_ping_4(ping);
	for (int i = 0; i < 3000; i++)
		answered += give(ping, sizeof(ping)) > 0;
	CU_ASSERT_EQUAL(answered, 1000);
	CU_ASSERT_EQUAL(neigh.counters.echoes_limited, 2000);
	now_ns += SECOND_NS;
	CU_ASSERT_EQUAL(give(ping, sizeof(ping)), sizeof(ping));
	uroce_neigh_fini(&neigh);
}

int main(void)
{
	static const struct unit_case cases[] = {
		{"who asks for us is answered", who_asks_for_us_is_answered},
		{"what is held is asked for, and our own address first", what_is_held_is_asked_for},
		{"who probes for our address hears of it", who_probes_for_our_address_hears_of_it},
		{"an address that is taken is left to its owner",
			an_address_that_is_taken_is_left_to_its_owner},
		{"the flags of an answer are heeded", flags_are_heeded},
		{"another that claims our address is told off",
			another_that_claims_our_address_is_told_off},
		{"discovery that is not sound is counted", what_is_not_sound_is_counted},
		{"a ping is answered", a_ping_is_answered},
		{"a ping over IPv6 is answered", a_ping_over_ipv6_is_answered},
		{"other pings are not answered", other_pings_are_not_answered},
		{"a flood of pings is answered in part", a_flood_of_pings_is_answered_in_part},
	};

	return run_suite("neigh_ip", cases, sizeof(cases) / sizeof(cases[0]));
}
