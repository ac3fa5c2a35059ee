/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * General services: MADs between queue pairs 1, and those that have to wait for a MAC.
 *
 * What gsi.c does is done here by hand, with a time of the test's own.
 */
#include <errno.h>
#include <string.h>

#include "cunit_run.h"
#include "gsi.h"
#include "pair.h"

#define SECOND_NS 1000000000ull

static struct pair pair;
static struct uroce_gsi *gsi[2];
static uint8_t mad[UROCE_MAD_BYTES];
static uint64_t now_ns;

static struct uroce_gid ip(uint32_t last)
{
	return uroce_gid_of_ipv4(0xc0000200 + last);
}

static struct uroce_gid ip6(uint32_t last)
{
	return (struct uroce_gid){0x20010db800000000, last};
}

static struct uroce_gsi_ends ends_to(struct uroce_gid local, struct uroce_gid remote)
{
	return (struct uroce_gsi_ends){local, remote};
}

static void start(void)
{
	pair_init(&pair, NULL);
	for (int i = 0; i < 2; i++)
		CU_ASSERT_EQUAL_FATAL(uroce_gsi_open(pair.side[i].dev, &gsi[i]), 0);
	for (uint32_t i = 0; i < UROCE_MAD_BYTES; i++)
		mad[i] = (uint8_t)(i * 7 + 1);
	now_ns = SECOND_NS;
}

static void stop(void)
{
	for (int i = 0; i < 2; i++)
		uroce_gsi_close(gsi[i]);
	pair_fini(&pair);
}

static int send_from(int who, const struct uroce_gsi_ends *ends, const uint8_t *bytes)
{
	int err;

	CU_ASSERT_TRUE_FATAL(uroce_gsi_begin(gsi[who], now_ns));
	err = uroce_gsi_send(gsi[who], ends, bytes, now_ns);
	uroce_gsi_end(gsi[who]);
	return err;
}

/* A turn of what waits. */
static void look(int who)
{
	CU_ASSERT_TRUE_FATAL(uroce_gsi_begin(gsi[who], now_ns));
	uroce_gsi_end(gsi[who]);
}

static void turns(void)
{
	for (int i = 0; i < 4; i++)
		pair_turn(&pair);
}

static uint64_t drops(int who, enum uroce_drop drop)
{
	struct uroce_counters counters;

	uroce_device_counters(pair.side[who].dev, &counters);
	return counters.drops[drop];
}

/* What side `who` got is the MAD between these. */
static void gets(int who, struct uroce_gsi_ends ends)
{
	struct uroce_gsi_ends got;
	const uint8_t *bytes;
	uint32_t src_qpn;

	CU_ASSERT_TRUE(uroce_gsi_is_busy(gsi[who]));
	bytes = uroce_gsi_recv(gsi[who], &got, &src_qpn);
	CU_ASSERT_PTR_NOT_NULL_FATAL(bytes);
	CU_ASSERT_EQUAL(memcmp(bytes, mad, sizeof(mad)), 0);
	CU_ASSERT_EQUAL(src_qpn, 1);
	CU_ASSERT_TRUE(uroce_gid_equal(got.local, ends.local));
	CU_ASSERT_TRUE(uroce_gid_equal(got.remote, ends.remote));
}

static void gets_nothing(int who)
{
	struct uroce_gsi_ends got;
	uint32_t src_qpn;

	CU_ASSERT_PTR_NULL(uroce_gsi_recv(gsi[who], &got, &src_qpn));
}

static void mads_arrive_with_their_addresses(void)
{
	const uint8_t mac[6] = {2, 0, 0, 0, 0, 2};
	const struct uroce_gsi_ends v4 = {ip(1), ip(2)}, v6 = {ip6(1), ip6(2)}, any = {{0}, ip(2)};

	start();
	CU_ASSERT_EQUAL(uroce_device_neighbour_set(pair.side[0].dev, "2001:db8::2", mac), 0);
	CU_ASSERT_EQUAL(send_from(0, &v4, mad), 0);
	CU_ASSERT_EQUAL(send_from(0, &v6, mad), 0);
	CU_ASSERT_EQUAL(send_from(0, &any, mad), 0);
	turns();
	gets(1, ends_to(ip(2), ip(1)));
	gets(1, ends_to(ip6(2), ip6(1)));
	gets(1, ends_to(ip(2), ip(1)));
	gets_nothing(1);
	gets_nothing(0);
	CU_ASSERT_FALSE(uroce_gsi_is_busy(gsi[0]));
	stop();
}

/* More than there are receives and sends, one after the other, and a burst as long as sends. */
static void receives_and_sends_come_back(void)
{
	const struct uroce_gsi_ends ends = {ip(1), ip(2)};

	start();
	for (int i = 0; i < 2000; i++) {
		CU_ASSERT_EQUAL(send_from(0, &ends, mad), 0);
		turns();
		gets(1, ends_to(ip(2), ip(1)));
		gets_nothing(0);
	}
	for (int i = 0; i < 128; i++) {
		CU_ASSERT_TRUE(uroce_gsi_has_room(gsi[0]));
		CU_ASSERT_EQUAL(send_from(0, &ends, mad), 0);
	}
	CU_ASSERT_FALSE(uroce_gsi_has_room(gsi[0]));
	turns();
	turns();
	gets_nothing(0);
	CU_ASSERT_TRUE(uroce_gsi_has_room(gsi[0]));
	for (int i = 0; i < 128; i++)
		gets(1, ends_to(ip(2), ip(1)));
	stop();
}

static void the_number_is_known_while_it_is_open(void)
{
	const struct uroce_gsi_ends ends = {ip(1), ip(2)};
	const struct uroce_qp_conf conf = {.send_cq = NULL, .qpn = 1};
	struct uroce_qp *qp;

	start();
	CU_ASSERT_EQUAL(uroce_qp_create(pair.side[1].pd, &conf, &qp), -EINVAL);
	uroce_gsi_close(gsi[1]);
	CU_ASSERT_EQUAL(send_from(0, &ends, mad), 0);
	turns();
	CU_ASSERT_EQUAL(drops(1, UROCE_DROP_QPN_UNKNOWN), 1);
	CU_ASSERT_EQUAL_FATAL(uroce_gsi_open(pair.side[1].dev, &gsi[1]), 0);
	CU_ASSERT_EQUAL(send_from(0, &ends, mad), 0);
	turns();
	gets(1, ends_to(ip(2), ip(1)));
	CU_ASSERT_EQUAL(drops(1, UROCE_DROP_QPN_UNKNOWN), 1);
	stop();
}

/* Datagrams of other lengths to number 1, and one with another Q_Key. */
static void what_is_no_mad_is_left_out(void)
{
	static const uint32_t bytes[] = {0, 4, 252, 255, 257, 260, 1024, 256};
	struct uroce_qp_conf conf = {.type = UROCE_QP_UD, .max_send_wr = 16};
	struct uroce_ah_conf to = {0};
	struct uroce_gsi_ends ends;
	struct uroce_ah *ah;
	struct uroce_qp *qp;
	uint32_t src_qpn;

	start();
	conf.send_cq = conf.recv_cq = pair.side[0].cq;
	uroce_gid_store(to.dgid, ip(2));
	CU_ASSERT_EQUAL_FATAL(uroce_qp_create(pair.side[0].pd, &conf, &qp), 0);
	CU_ASSERT_EQUAL_FATAL(uroce_qp_open_datagrams(qp, 0x80010000), 0);
	CU_ASSERT_EQUAL_FATAL(uroce_ah_create(pair.side[0].pd, &to, &ah), 0);
	for (uint32_t i = 0; i < sizeof(bytes) / sizeof(bytes[0]); i++) {
		struct uroce_sge sge = pair_sge(&pair, 0, 0, bytes[i]);
		struct uroce_send_wr wr = {.opcode = UROCE_WR_SEND,
			.sge = &sge,
			.num_sge = 1,
			.ud = {.ah = ah, .remote_qpn = 1, .remote_qkey = 0x80010000}};

		CU_ASSERT_EQUAL(uroce_post_send(qp, &wr, 1), 1);
		wr.ud.remote_qkey = 0x00010000;
		CU_ASSERT_EQUAL(uroce_post_send(qp, &wr, 1), 1);
	}
	turns();
	CU_ASSERT_EQUAL(drops(1, UROCE_DROP_QKEY), 8);
	CU_ASSERT_EQUAL(drops(1, UROCE_DROP_RECV_TOO_SHORT), 3);
	/* One of them could be, but for its sender. */
	CU_ASSERT_PTR_NOT_NULL(uroce_gsi_recv(gsi[1], &ends, &src_qpn));
	CU_ASSERT_EQUAL(src_qpn, uroce_qp_number(qp));
	gets_nothing(1);
	CU_ASSERT_EQUAL(uroce_ah_destroy(ah), 0);
	CU_ASSERT_EQUAL(uroce_qp_destroy(qp), 0);
	stop();
}

static void a_mad_waits_for_the_mac(void)
{
	const uint8_t mac[6] = {2, 0, 0, 0, 0, 2};
	const struct uroce_gsi_ends v6 = {ip6(1), ip6(2)};
	struct uroce_gsi_ends found;
	bool reachable;

	start();
	CU_ASSERT_EQUAL(uroce_gsi_deadline_ns(gsi[0]), UINT64_MAX);
	CU_ASSERT_EQUAL(send_from(0, &v6, mad), 0);
	now_ns += SECOND_NS;
	CU_ASSERT_EQUAL(send_from(0, &v6, NULL), 0);
	/* Repeated while it waits: once is enough. */
	CU_ASSERT_EQUAL(send_from(0, &v6, mad), 0);
	CU_ASSERT_EQUAL(uroce_gsi_deadline_ns(gsi[0]), 4 * SECOND_NS);
	turns();
	gets_nothing(1);
	CU_ASSERT_EQUAL(uroce_device_neighbour_set(pair.side[0].dev, "2001:db8::2", mac), 0);
	look(0);
	CU_ASSERT_EQUAL(uroce_gsi_deadline_ns(gsi[0]), UINT64_MAX);
	turns();
	gets(1, ends_to(ip6(2), ip6(1)));
	gets_nothing(1);
	CU_ASSERT_TRUE(uroce_gsi_answer(gsi[0], &found, &reachable));
	CU_ASSERT_TRUE(reachable);
	CU_ASSERT_TRUE(uroce_gid_equal(found.remote, ip6(2)));
	CU_ASSERT_FALSE(uroce_gsi_answer(gsi[0], &found, &reachable));
	/* Known by now: the answer is there at once. */
	CU_ASSERT_EQUAL(send_from(0, &v6, NULL), 0);
	CU_ASSERT_TRUE(uroce_gsi_answer(gsi[0], &found, &reachable));
	CU_ASSERT_TRUE(reachable);
	stop();
}

static void nobody_has_the_address(void)
{
	const struct uroce_gsi_ends nobody = {ip(1), ip(77)}, other = {ip(1), ip(78)};
	struct uroce_gsi_ends found;
	bool reachable;

	start();
	CU_ASSERT_EQUAL(send_from(0, &nobody, mad), 0);
	now_ns += SECOND_NS;
	CU_ASSERT_EQUAL(send_from(0, &other, mad), 0);
	now_ns += 2 * SECOND_NS - 1;
	look(0);
	CU_ASSERT_FALSE(uroce_gsi_answer(gsi[0], &found, &reachable));
	now_ns += 1;
	look(0);
	CU_ASSERT_TRUE(uroce_gsi_answer(gsi[0], &found, &reachable));
	CU_ASSERT_FALSE(reachable);
	CU_ASSERT_TRUE(uroce_gid_equal(found.remote, ip(77)));
	CU_ASSERT_TRUE(uroce_gid_equal(found.local, ip(1)));
	CU_ASSERT_FALSE(uroce_gsi_answer(gsi[0], &found, &reachable));
	CU_ASSERT_EQUAL(uroce_gsi_deadline_ns(gsi[0]), 5 * SECOND_NS);
	stop();
}

static void no_address_of_ours_fits(void)
{
	const struct uroce_gsi_ends foreign = {ip(9), ip(2)}, mixed = {ip6(1), ip(2)};

	start();
	CU_ASSERT_EQUAL(send_from(0, &foreign, mad), -EADDRNOTAVAIL);
	CU_ASSERT_EQUAL(send_from(0, &mixed, mad), -EADDRNOTAVAIL);
	stop();
}

/* Answers to a flood from addresses that nobody has do not keep one to somebody waiting. */
static void a_flood_from_nobody_keeps_nobody_out(void)
{
	const struct uroce_gsi_ends good = {ip(1), ip(2)};
	struct uroce_gsi_ends found;
	bool reachable;

	start();
	for (uint32_t i = 0; i < 1000; i++) {
		const struct uroce_gsi_ends bad = {ip(1), uroce_gid_of_ipv4(0x0a000000 + i)};

		mad[0] = (uint8_t)i;
		CU_ASSERT_EQUAL(send_from(0, &bad, mad), 0);
	}
	CU_ASSERT_EQUAL(send_from(0, &good, mad), 0);
	turns();
	gets(1, ends_to(ip(2), ip(1)));
	/* Who was pushed out is not said to have nobody. */
	CU_ASSERT_FALSE(uroce_gsi_answer(gsi[0], &found, &reachable));
	stop();
}

/* Those that wait are bounded too, whatever they wait for. */
static void mads_that_wait_are_bounded(void)
{
	const uint8_t mac[6] = {2, 0, 0, 0, 0, 2};
	const struct uroce_gsi_ends v6 = {ip6(1), ip6(2)};
	struct uroce_gsi_ends got;
	uint32_t n = 0, src_qpn;

	start();
	for (uint32_t i = 0; i < 1000; i++) {
		mad[0] = (uint8_t)i;
		mad[1] = (uint8_t)(i >> 8);
		CU_ASSERT_EQUAL(send_from(0, &v6, mad), 0);
	}
	CU_ASSERT_EQUAL(uroce_device_neighbour_set(pair.side[0].dev, "2001:db8::2", mac), 0);
	look(0);
	turns();
	turns();
	while (uroce_gsi_recv(gsi[1], &got, &src_qpn))
		n++;
	CU_ASSERT_TRUE(n > 0 && n <= 128);
	stop();
}

/* It is not one of those that the application asked for. */
static void the_number_comes_on_top_of_the_others(void)
{
	struct uroce_qp_conf conf = {.max_send_wr = 1, .max_recv_wr = 1};
	struct uroce_qp *qps[64];
	uint32_t n = 0;

	pair_init(&pair, NULL);
	conf.send_cq = conf.recv_cq = pair.side[0].cq;
	while (n < 64 && uroce_qp_create(pair.side[0].pd, &conf, &qps[n]) == 0)
		n++;
	CU_ASSERT_EQUAL(n, 63);
	CU_ASSERT_EQUAL_FATAL(uroce_gsi_open(pair.side[0].dev, &gsi[0]), 0);
	CU_ASSERT_EQUAL(uroce_qp_create(pair.side[0].pd, &conf, &qps[63]), -ENOMEM);
	CU_ASSERT_EQUAL(uroce_qp_destroy(qps[--n]), 0);
	CU_ASSERT_EQUAL(uroce_qp_create(pair.side[0].pd, &conf, &qps[n++]), 0);
	uroce_gsi_close(gsi[0]);
	CU_ASSERT_EQUAL(uroce_qp_create(pair.side[0].pd, &conf, &qps[63]), -ENOMEM);
	while (n > 0)
		CU_ASSERT_EQUAL(uroce_qp_destroy(qps[--n]), 0);
	pair_fini(&pair);
}

int main(void)
{
	static const struct unit_case cases[] = {
		{"MADs arrive with their addresses", mads_arrive_with_their_addresses},
		{"receives and sends come back", receives_and_sends_come_back},
		{"the number is known while it is open", the_number_is_known_while_it_is_open},
		{"the number comes on top of the others", the_number_comes_on_top_of_the_others},
		{"what is no MAD is left out", what_is_no_mad_is_left_out},
		{"a MAD waits for the MAC", a_mad_waits_for_the_mac},
		{"nobody has the address", nobody_has_the_address},
		{"no address of ours fits", no_address_of_ours_fits},
		{"a flood from nobody keeps nobody out", a_flood_from_nobody_keeps_nobody_out},
		{"MADs that wait are bounded", mads_that_wait_are_bounded},
	};

	return run_suite("gsi", cases, sizeof(cases) / sizeof(cases[0]));
}
