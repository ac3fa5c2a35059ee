/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The table of neighbours: what is asked, when, and what is believed.
 *
 * The literal frames are what Linux sent when it asked and answered.
 */
#include <errno.h>
#include <string.h>

#include "cunit_run.h"
#include "neigh_rig.h"

// clang-format off

/* 192.0.2.1 at 02::01 asks all who has 192.0.2.2, and 02::02 answers it. */
static const uint8_t linux_asks[42] = {
	0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x02, 0x00, 0x00, 0x00, 0x00, 0x01, 0x08, 0x06, 0x00, 0x01,
	0x08, 0x00, 0x06, 0x04, 0x00, 0x01, 0x02, 0x00, 0x00, 0x00, 0x00, 0x01, 0xc0, 0x00, 0x02, 0x01,
	0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0xc0, 0x00, 0x02, 0x02,
};
static const uint8_t linux_answers[42] = {
	0x02, 0x00, 0x00, 0x00, 0x00, 0x01, 0x02, 0x00, 0x00, 0x00, 0x00, 0x02, 0x08, 0x06, 0x00, 0x01,
	0x08, 0x00, 0x06, 0x04, 0x00, 0x02, 0x02, 0x00, 0x00, 0x00, 0x00, 0x02, 0xc0, 0x00, 0x02, 0x02,
	0x02, 0x00, 0x00, 0x00, 0x00, 0x01, 0xc0, 0x00, 0x02, 0x01,
};

// clang-format on

static const uint8_t mac_1[6] = {2, 0, 0, 0, 0, 1}, mac_2[6] = {2, 0, 0, 0, 0, 2},
		     mac_3[6] = {2, 0, 0, 0, 0, 3};

static struct uroce_gid ip(uint32_t last)
{
	return uroce_gid_of_ipv4(0xc0000200 + last);
}

/* We are 192.0.2.<who> at mac. */
static void start(uint32_t who, const uint8_t mac[6])
{
	const struct uroce_gid addr = ip(who);

	start_with(mac, &addr, 1);
}

/* Past the probes and announcements of the own address. */
static void be_settled(void)
{
	for (int i = 0; i < 5; i++) {
		CU_ASSERT_EQUAL(next(), 60);
		CU_ASSERT_EQUAL(next(), 0);
		now_ns += SECOND_NS;
	}
	CU_ASSERT_EQUAL(next(), 0);
}

/* ---- asking ---- */

static void what_is_held_is_asked_for(void)
{
	uint8_t mac[6];

	start(1, mac_1);
	be_settled();
	CU_ASSERT_EQUAL(hold(ip(2)), 0);
	CU_ASSERT_EQUAL(next(), 60);
	CU_ASSERT_EQUAL(memcmp(out, linux_asks, sizeof(linux_asks)), 0);
	for (uint32_t i = sizeof(linux_asks); i < 60; i++)
		CU_ASSERT_EQUAL(out[i], 0);
	CU_ASSERT_EQUAL(next(), 0);
	CU_ASSERT_EQUAL(find_mac(ip(2), mac), 0);
	CU_ASSERT_EQUAL(give(linux_answers, sizeof(linux_answers)), 0);
	CU_ASSERT_EQUAL(find_mac(ip(2), mac), 1);
	CU_ASSERT_EQUAL(memcmp(mac, mac_2, 6), 0);
	CU_ASSERT_EQUAL(atomic_load(&neigh.version), 1);
	uroce_neigh_fini(&neigh);
}

static void nobody_answers(void)
{
	start(1, mac_1);
	be_settled();
	CU_ASSERT_EQUAL(hold(ip(2)), 0);
	/* Three times, a second apart; then every ten. */
	for (int i = 0; i < 6; i++) {
		uint64_t wait_ns = i % 3 < 2 && i < 3 ? SECOND_NS : 10 * SECOND_NS;

		CU_ASSERT_EQUAL(next(), 60);
		now_ns += wait_ns - 1;
		CU_ASSERT_EQUAL(next(), 0);
		now_ns += 1;
	}
	uroce_neigh_release(&neigh, untagged(ip(2)), now_ns);
	CU_ASSERT_EQUAL(next(), 0);
	/* Forgotten after a while. */
	now_ns += 600 * SECOND_NS - 1;
	CU_ASSERT_EQUAL(next(), 0);
	CU_ASSERT_EQUAL(neigh.num, 1);
	now_ns += 1;
	CU_ASSERT_EQUAL(next(), 0);
	CU_ASSERT_EQUAL(neigh.num, 0);
	uroce_neigh_fini(&neigh);
}

/* After half a minute it alone is asked; what it says refreshes, silence changes nothing. */
static void a_known_one_is_asked_again(void)
{
	uint8_t mac[6];

	start(1, mac_1);
	be_settled();
	CU_ASSERT_EQUAL(hold(ip(2)), 0);
	CU_ASSERT_EQUAL(next(), 60);
	CU_ASSERT_EQUAL(give(linux_answers, sizeof(linux_answers)), 0);
	for (int round = 0; round < 2; round++) {
		now_ns += 30 * SECOND_NS - 1;
		CU_ASSERT_EQUAL(next(), 0);
		now_ns += 1;
		CU_ASSERT_EQUAL(next(), 60);
		CU_ASSERT_EQUAL(memcmp(out, mac_2, 6), 0);
		CU_ASSERT_EQUAL(give(linux_answers, sizeof(linux_answers)), 0);
	}
	now_ns += 30 * SECOND_NS;
	for (int i = 0; i < 10; i++) {
		CU_ASSERT_EQUAL(next(), 60);
		/* Three times it alone, then all. */
		CU_ASSERT_EQUAL(memcmp(out, mac_2, 6) == 0, i < 3);
		CU_ASSERT_EQUAL(find_mac(ip(2), mac), 1);
		now_ns += 10 * SECOND_NS;
	}
	CU_ASSERT_EQUAL(atomic_load(&neigh.version), 1);
	uroce_neigh_fini(&neigh);
}

/* ---- believing ---- */

/* A frame of linux_answers from another MAC. */
static int answer_from(const uint8_t mac[6])
{
	uint8_t frame[42];

	memcpy(frame, linux_answers, sizeof(frame));
	memcpy(frame + 6, mac, 6);
	memcpy(frame + 22, mac, 6);
	return give(frame, sizeof(frame));
}

static void only_what_was_asked_is_believed(void)
{
	uint8_t mac[6];

	start(1, mac_1);
	be_settled();
	CU_ASSERT_EQUAL(answer_from(mac_3), 0);
	CU_ASSERT_EQUAL(find_mac(ip(2), mac), 0);
	CU_ASSERT_EQUAL(neigh.num, 0);
	CU_ASSERT_EQUAL(neigh.counters.unasked, 1);
	uroce_neigh_fini(&neigh);
}

/* A promiscuous port hears what is for others. */
static void what_goes_to_anothers_mac_is_not_listened_to(void)
{
	uint8_t mac[6];

	start(1, mac_3);
	CU_ASSERT_EQUAL(hold(ip(2)), 0);
	CU_ASSERT_EQUAL(give(linux_answers, sizeof(linux_answers)), -1);
	CU_ASSERT_EQUAL(find_mac(ip(2), mac), 0);
	uroce_neigh_fini(&neigh);
}

/* On a shared port the other stack hears it too, but for what is answered. */
static void what_is_answered_is_taken(void)
{
	struct uroce_slot slot = empty_slot();

	start(1, mac_1);
	CU_ASSERT_EQUAL(hold(ip(2)), 0);
	CU_ASSERT_EQUAL(uroce_neigh_rx(&neigh, now_ns, linux_answers, sizeof(linux_answers), &slot),
		UROCE_NEIGH_HEARD);
	uroce_neigh_fini(&neigh);
	start(2, mac_2);
	CU_ASSERT_EQUAL(uroce_neigh_rx(&neigh, now_ns, linux_asks, sizeof(linux_asks), &slot),
		UROCE_NEIGH_TAKEN);
	uroce_neigh_fini(&neigh);
}

static void a_changed_mac_is_followed_and_counted(void)
{
	uint8_t mac[6];

	start(1, mac_1);
	CU_ASSERT_EQUAL(hold(ip(2)), 0);
	CU_ASSERT_EQUAL(answer_from(mac_2), 0);
	CU_ASSERT_EQUAL(answer_from(mac_2), 0);
	CU_ASSERT_EQUAL(neigh.counters.changed, 0);
	CU_ASSERT_EQUAL(answer_from(mac_3), 0);
	CU_ASSERT_EQUAL(neigh.counters.changed, 1);
	CU_ASSERT_EQUAL(find_mac(ip(2), mac), 2);
	CU_ASSERT_EQUAL(memcmp(mac, mac_3, 6), 0);
	CU_ASSERT_EQUAL(atomic_load(&neigh.version), 2);
	uroce_neigh_fini(&neigh);
}

static void what_the_application_said_holds(void)
{
	uint8_t mac[6];

	start(1, mac_1);
	be_settled();
	CU_ASSERT_EQUAL(uroce_neigh_set(&neigh, untagged(ip(2)), mac_2), 0);
	CU_ASSERT_EQUAL(hold(ip(2)), 0);
	CU_ASSERT_EQUAL(next(), 0);
	CU_ASSERT_EQUAL(answer_from(mac_2), 0);
	CU_ASSERT_EQUAL(neigh.counters.static_refused, 0);
	CU_ASSERT_EQUAL(answer_from(mac_3), 0);
	CU_ASSERT_EQUAL(neigh.counters.static_refused, 1);
	CU_ASSERT_EQUAL(find_mac(ip(2), mac), 1);
	CU_ASSERT_EQUAL(memcmp(mac, mac_2, 6), 0);
	now_ns += 3600 * SECOND_NS;
	CU_ASSERT_EQUAL(next(), 0);
	uroce_neigh_fini(&neigh);
}

static void a_full_table_makes_room_for_who_is_needed(void)
{
	start(1, mac_1);
	for (uint32_t i = 0; i < UROCE_NEIGH_MAX; i++)
		CU_ASSERT_EQUAL(hold(uroce_gid_of_ipv4(0x0a000000 + i)), 0);
	CU_ASSERT_EQUAL(hold(ip(2)), -ENOMEM);
	CU_ASSERT_EQUAL(uroce_neigh_set(&neigh, untagged(ip(2)), mac_2), -ENOMEM);
	uroce_neigh_release(&neigh, untagged(uroce_gid_of_ipv4(0x0a000007)), 5);
	uroce_neigh_release(&neigh, untagged(uroce_gid_of_ipv4(0x0a000009)), 4);
	CU_ASSERT_EQUAL(hold(ip(2)), 0);
	/* Who was free for longer has gone. */
	CU_ASSERT_TRUE(uroce_gid_equal(neigh.entries[9].hop.addr, ip(2)));
	CU_ASSERT_EQUAL(neigh.entries[9].users, 1);
	uroce_neigh_fini(&neigh);
}

/* ---- answering ---- */

static void who_asks_for_us_is_answered(void)
{
	start(2, mac_2);
	CU_ASSERT_EQUAL(give(linux_asks, sizeof(linux_asks)), 60);
	CU_ASSERT_EQUAL(memcmp(out, linux_answers, sizeof(linux_answers)), 0);
	CU_ASSERT_EQUAL(neigh.counters.answered, 1);
	/* Nobody is remembered for asking. */
	CU_ASSERT_EQUAL(neigh.num, 0);
	uroce_neigh_fini(&neigh);
	start(3, mac_3);
	CU_ASSERT_EQUAL(give(linux_asks, sizeof(linux_asks)), 0);
	uroce_neigh_fini(&neigh);
}

/* Who asks tells its own MAC: no question of ours is needed. */
static void who_asks_is_known_if_wanted(void)
{
	uint8_t mac[6];

	start(2, mac_2);
	CU_ASSERT_EQUAL(hold(ip(1)), 0);
	CU_ASSERT_EQUAL(give(linux_asks, sizeof(linux_asks)), 60);
	CU_ASSERT_EQUAL(find_mac(ip(1), mac), 1);
	CU_ASSERT_EQUAL(memcmp(mac, mac_1, 6), 0);
	uroce_neigh_fini(&neigh);
}

static void what_is_not_sound_is_counted(void)
{
	/* offset and value: hardware, protocol, lengths, operation, a group's MAC as a sender */
	static const struct {
		uint32_t at;
		uint8_t value;
	} wrong[] = {{14, 1}, {15, 2}, {16, 0x86}, {17, 1}, {18, 7}, {19, 16}, {20, 1}, {21, 3},
		{21, 0}, {22, 3}};
	uint8_t frame[42];

	start(2, mac_2);
	for (uint32_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		memcpy(frame, linux_asks, sizeof(frame));
		frame[wrong[i].at] = wrong[i].value;
		CU_ASSERT_EQUAL(give(frame, sizeof(frame)), 0);
		CU_ASSERT_EQUAL(neigh.counters.malformed, i + 1);
	}
	for (uint32_t bytes = 14; bytes < sizeof(frame); bytes++)
		CU_ASSERT_EQUAL(give(linux_asks, bytes), 0);
	CU_ASSERT_EQUAL(neigh.counters.answered, 0);
	for (uint32_t bytes = 0; bytes < 14; bytes++)
		CU_ASSERT_EQUAL(give(linux_asks, bytes), -1);
	memset(frame + 22, 0, 6);
	CU_ASSERT_EQUAL(give(frame, sizeof(frame)), 0);
	uroce_neigh_fini(&neigh);
}

/* ---- our own address ---- */

static void our_address_is_probed_and_announced(void)
{
	uint8_t back[60];

	start(1, mac_1);
	for (int i = 0; i < 5; i++) {
		CU_ASSERT_EQUAL(next(), 60);
		/* To all: who has 192.0.2.1; a probe names no sender, an announcement us. */
		CU_ASSERT_EQUAL(memcmp(out, linux_asks, 6), 0);
		CU_ASSERT_EQUAL(uroce_load_be16(out + 20), 1);
		CU_ASSERT_EQUAL(uroce_load_be32(out + 28), i < 3 ? 0 : 0xc0000201);
		CU_ASSERT_EQUAL(uroce_load_be32(out + 38), 0xc0000201);
		memcpy(back, out, sizeof(back));
		CU_ASSERT_EQUAL(next(), 0);
		/* They come back from a port that hears itself. */
		CU_ASSERT_EQUAL(give(back, sizeof(back)), 0);
		now_ns += SECOND_NS;
	}
	CU_ASSERT_EQUAL(next(), 0);
	CU_ASSERT_EQUAL(neigh.counters.conflicts, 0);
	uroce_neigh_fini(&neigh);
}

static void another_that_claims_our_address_is_told_off(void)
{
	uint8_t frame[42];

	start(1, mac_1);
	be_settled();
	memcpy(frame, linux_asks, sizeof(frame));
	memcpy(frame + 22, mac_3, 6);
	CU_ASSERT_EQUAL(give(frame, sizeof(frame)), 60);
	CU_ASSERT_EQUAL(memcmp(out, linux_asks, 6), 0);
	CU_ASSERT_EQUAL(uroce_load_be32(out + 28), 0xc0000201);
	CU_ASSERT_EQUAL(uroce_load_be32(out + 38), 0xc0000201);
	/* Not again within ten seconds: two of us would shout for ever. */
	now_ns += 10 * SECOND_NS - 1;
	CU_ASSERT_EQUAL(give(frame, sizeof(frame)), 0);
	now_ns += 1;
	CU_ASSERT_EQUAL(give(frame, sizeof(frame)), 60);
	CU_ASSERT_EQUAL(neigh.counters.conflicts, 3);
	uroce_neigh_fini(&neigh);
}

/* Whoever was there first keeps it: we neither announce it nor answer for it (RFC 5227 2.1.1). */
static void an_address_that_is_taken_is_left_to_its_owner(void)
{
	uint8_t frame[42];

	for (int probes = 0; probes < 4; probes++) {
		start(1, mac_1);
		for (int i = 0; i < probes; i++, now_ns += SECOND_NS)
			CU_ASSERT_EQUAL(next(), 60);
		/* The owner answers the probe; or somebody else asks for the same address as we do.
		 */
		memcpy(frame, probes & 1 ? linux_answers : linux_asks, sizeof(frame));
		memcpy(frame + 22, mac_3, 6);
		memset(frame + 28, 0, 4);
		uroce_store_be32(frame + (probes & 1 ? 28 : 38), 0xc0000201);
		memcpy(frame, mac_1, 6);
		CU_ASSERT_EQUAL(give(frame, sizeof(frame)), 0);
		CU_ASSERT_EQUAL(neigh.counters.conflicts, 1);
		for (int i = 0; i < 20; i++, now_ns += SECOND_NS)
			CU_ASSERT_EQUAL(next(), 0);
		/* Nor is anybody told that it is ours. */
		memcpy(frame, linux_asks, sizeof(frame));
		memcpy(frame + 22, mac_2, 6);
		uroce_store_be32(frame + 28, 0xc0000202);
		uroce_store_be32(frame + 38, 0xc0000201);
		CU_ASSERT_EQUAL(give(frame, sizeof(frame)), 0);
		CU_ASSERT_EQUAL(neigh.counters.answered, 0);
		uroce_neigh_fini(&neigh);
	}
}

static void answer_as(const uint8_t mac[6])
{
	uint8_t frame[42];

	memcpy(frame, linux_answers, sizeof(frame));
	memcpy(frame + 22, mac, 6);
	CU_ASSERT_EQUAL(give(frame, sizeof(frame)), 0);
}

/* Nobody looked after it while nobody held it: it may be elsewhere. */
static void who_is_held_again_is_asked_again_soon(void)
{
	start(1, mac_1);
	be_settled();
	CU_ASSERT_EQUAL(hold(ip(2)), 0);
	CU_ASSERT_EQUAL(next(), 60);
	answer_as(mac_2);
	uroce_neigh_release(&neigh, untagged(ip(2)), now_ns);
	now_ns += 31 * SECOND_NS;
	CU_ASSERT_EQUAL(next(), 0);
	now_ns += 60 * SECOND_NS;
	CU_ASSERT_EQUAL(hold(ip(2)), 0);
	CU_ASSERT_EQUAL(next(), 60);
	uroce_neigh_fini(&neigh);
}

/* A connection gives up after three seconds, and others' patience is ten. */
static void who_comes_new_asks_anew(void)
{
	start(1, mac_1);
	be_settled();
	CU_ASSERT_EQUAL(hold(ip(2)), 0);
	for (int i = 0; i < 3; i++, now_ns += SECOND_NS)
		CU_ASSERT_EQUAL(next(), 60);
	CU_ASSERT_EQUAL(next(), 0);
	CU_ASSERT_EQUAL(hold(ip(2)), 0);
	CU_ASSERT_EQUAL(next(), 60);
	/* But not faster than once a second. */
	CU_ASSERT_EQUAL(hold(ip(2)), 0);
	CU_ASSERT_EQUAL(next(), 0);
	now_ns += SECOND_NS;
	CU_ASSERT_EQUAL(next(), 60);
	uroce_neigh_fini(&neigh);
}

/* A record is believed until the wire says something else, and takes no room for good. */
static void what_a_record_tells_is_no_law(void)
{
	uint8_t mac[6];

	start(1, mac_1);
	be_settled();
	CU_ASSERT_EQUAL(uroce_neigh_tell(&neigh, untagged(ip(2)), mac_2, true, now_ns), 0);
	CU_ASSERT_EQUAL(hold(ip(2)), 0);
	CU_ASSERT_EQUAL(find_mac(ip(2), mac), 1);
	CU_ASSERT_EQUAL(memcmp(mac, mac_2, 6), 0);
	CU_ASSERT_EQUAL(next(), 0);
	now_ns += 30 * SECOND_NS;
	CU_ASSERT_EQUAL(next(), 60);
	answer_as(mac_3);
	CU_ASSERT_EQUAL(neigh.counters.changed, 1);
	CU_ASSERT_EQUAL(find_mac(ip(2), mac), 2);
	CU_ASSERT_EQUAL(memcmp(mac, mac_3, 6), 0);
	/* What the wire said of one in use stands against another record; but it is asked. */
	CU_ASSERT_EQUAL(next(), 0);
	CU_ASSERT_EQUAL(uroce_neigh_tell(&neigh, untagged(ip(2)), mac_2, true, now_ns), 0);
	CU_ASSERT_EQUAL(find_mac(ip(2), mac), 2);
	CU_ASSERT_EQUAL(next(), 60);
	answer_as(mac_3);
	/* Of one that nobody uses the record is newer. */
	uroce_neigh_release(&neigh, untagged(ip(2)), now_ns);
	CU_ASSERT_EQUAL(uroce_neigh_tell(&neigh, untagged(ip(2)), mac_2, true, now_ns), 0);
	CU_ASSERT_EQUAL(find_mac(ip(2), mac), 3);
	CU_ASSERT_EQUAL(hold(ip(2)), 0);
	for (uint32_t i = 0; i < 2 * UROCE_NEIGH_MAX; i++)
		CU_ASSERT_EQUAL(
			uroce_neigh_tell(&neigh, untagged(uroce_gid_of_ipv4(0x0a000000 + i)), mac_3,
				i & 1, now_ns + i),
			0);
	CU_ASSERT_EQUAL(find_mac(ip(2), mac), 3);
	uroce_neigh_fini(&neigh);
}

static void what_the_application_said_ends_when_it_says_so(void)
{
	uint8_t mac[6];

	start(1, mac_1);
	be_settled();
	CU_ASSERT_EQUAL(uroce_neigh_set(&neigh, untagged(ip(2)), mac_2), 0);
	CU_ASSERT_EQUAL(hold(ip(2)), 0);
	answer_as(mac_3);
	CU_ASSERT_EQUAL(neigh.counters.static_refused, 1);
	/* A record does not change it either. */
	CU_ASSERT_EQUAL(uroce_neigh_tell(&neigh, untagged(ip(2)), mac_3, false, now_ns), 0);
	CU_ASSERT_EQUAL(find_mac(ip(2), mac), 1);
	uroce_neigh_unset(&neigh, untagged(ip(2)));
	CU_ASSERT_EQUAL(find_mac(ip(2), mac), 1);
	CU_ASSERT_EQUAL(next(), 60);
	answer_as(mac_3);
	CU_ASSERT_EQUAL(find_mac(ip(2), mac), 2);
	CU_ASSERT_EQUAL(memcmp(mac, mac_3, 6), 0);
	uroce_neigh_fini(&neigh);
}

/* A claim to our address does not keep a redirection out of the log, nor one the other. */
static void each_address_has_its_own_line_in_the_log(void)
{
	uint8_t claim[42];

	start(1, mac_1);
	be_settled();
	for (uint32_t who = 2; who < 4; who++) {
		CU_ASSERT_EQUAL(
			uroce_neigh_tell(&neigh, untagged(ip(who)), mac_2, true, now_ns), 0);
		CU_ASSERT_EQUAL(hold(ip(who)), 0);
	}
	memcpy(claim, linux_asks, sizeof(claim));
	memcpy(claim + 22, mac_3, 6);
	CU_ASSERT_EQUAL(give(claim, sizeof(claim)), 60);
	answer_as(mac_3);
	memcpy(claim, linux_answers, sizeof(claim));
	memcpy(claim + 22, mac_3, 6);
	uroce_store_be32(claim + 28, 0xc0000203);
	CU_ASSERT_EQUAL(give(claim, sizeof(claim)), 0);
	CU_ASSERT_EQUAL(neigh.counters.changed, 2);
	CU_ASSERT_EQUAL(neigh.own[0].logged_ns, now_ns);
	CU_ASSERT_EQUAL(neigh.entries[0].logged_ns, now_ns);
	CU_ASSERT_EQUAL(neigh.entries[1].logged_ns, now_ns);
	uroce_neigh_fini(&neigh);
}

static void no_room_no_frame(void)
{
	struct uroce_slot slot = {.data = out, .capacity_bytes = UROCE_NEIGH_FRAME_BYTES - 1};

	start(1, mac_1);
	CU_ASSERT_EQUAL(uroce_neigh_tx(&neigh, now_ns, &slot), 0);
	CU_ASSERT_EQUAL(uroce_neigh_rx(&neigh, now_ns, linux_asks, sizeof(linux_asks), &slot),
		UROCE_NEIGH_FOREIGN);
	uroce_neigh_fini(&neigh);
}

int main(void)
{
	static const struct unit_case cases[] = {
		{"what is held is asked for, and learnt", what_is_held_is_asked_for},
		{"who does not answer is asked again, until nobody needs it", nobody_answers},
		{"a known one is asked again, and stays known", a_known_one_is_asked_again},
		{"only what was asked for is believed", only_what_was_asked_is_believed},
		{"what goes to another's MAC is not listened to",
			what_goes_to_anothers_mac_is_not_listened_to},
		{"what is answered is taken, what is heard may be others' too",
			what_is_answered_is_taken},
		{"a changed MAC is followed and counted", a_changed_mac_is_followed_and_counted},
		{"what the application said holds", what_the_application_said_holds},
		{"a full table makes room for who is needed",
			a_full_table_makes_room_for_who_is_needed},
		{"who asks for us is answered", who_asks_for_us_is_answered},
		{"who asks is known if it is wanted", who_asks_is_known_if_wanted},
		{"ARP that is not sound is counted", what_is_not_sound_is_counted},
		{"our address is probed and announced", our_address_is_probed_and_announced},
		{"another that claims our address is told off",
			another_that_claims_our_address_is_told_off},
		{"an address that is taken is left to its owner",
			an_address_that_is_taken_is_left_to_its_owner},
		{"who is held again is asked again soon", who_is_held_again_is_asked_again_soon},
		{"who comes new asks anew", who_comes_new_asks_anew},
		{"what a record tells is no law", what_a_record_tells_is_no_law},
		{"what the application said ends when it says so",
			what_the_application_said_ends_when_it_says_so},
		{"each address has its own line in the log",
			each_address_has_its_own_line_in_the_log},
		{"without room no frame", no_room_no_frame},
	};

	return run_suite("neigh", cases, sizeof(cases) / sizeof(cases[0]));
}
