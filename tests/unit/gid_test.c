/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * GIDs: of both IP versions, on the wire and in memory, and what kinds there are.
 */
#include <string.h>

#include "cunit_run.h"
#include "gid.h"

static const uint8_t mapped[16] = {[10] = 0xff, 0xff, 192, 0, 2, 1};
static const uint8_t v6[16] = {0x20, 0x01, 0x0d, 0xb8, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};

static void they_are_loaded_and_stored_as_on_the_wire(void)
{
	const uint8_t *const all[] = {mapped, v6};

	for (int i = 0; i < 2; i++) {
		struct uroce_gid gid = uroce_gid_load(all[i]);
		uint8_t bytes[16];

		uroce_gid_store(bytes, gid);
		CU_ASSERT_EQUAL(memcmp(bytes, all[i], 16), 0);
	}
	CU_ASSERT_EQUAL(uroce_gid_load(v6).high, 0x20010db801020304);
	CU_ASSERT_EQUAL(uroce_gid_load(v6).low, 0x05060708090a0b0c);
}

static void ipv4_is_the_mapped_address(void)
{
	struct uroce_gid gid = uroce_gid_of_ipv4(0xc0000201);

	CU_ASSERT_TRUE(uroce_gid_equal(gid, uroce_gid_load(mapped)));
	CU_ASSERT_TRUE(uroce_gid_is_ipv4(gid));
	CU_ASSERT_EQUAL(uroce_gid_ipv4(gid), 0xc0000201);
	CU_ASSERT_FALSE(uroce_gid_is_ipv4(uroce_gid_load(v6)));
	/* Any bit of the first 96 makes it another. */
	for (int bit = 0; bit < 96; bit++) {
		uint8_t other[16];

		memcpy(other, mapped, 16);
		other[bit / 8] ^= (uint8_t)(1 << bit % 8);
		CU_ASSERT_FALSE(uroce_gid_is_ipv4(uroce_gid_load(other)));
	}
}

static void equal_is_every_bit(void)
{
	for (int bit = 0; bit < 128; bit++) {
		uint8_t other[16];

		memcpy(other, v6, 16);
		other[bit / 8] ^= (uint8_t)(1 << bit % 8);
		CU_ASSERT_FALSE(uroce_gid_equal(uroce_gid_load(v6), uroce_gid_load(other)));
	}
	CU_ASSERT_TRUE(uroce_gid_equal(uroce_gid_load(v6), uroce_gid_load(v6)));
}

static void unspecified_is_no_address_of_either(void)
{
	CU_ASSERT_TRUE(uroce_gid_is_unspecified((struct uroce_gid){0, 0}));
	CU_ASSERT_TRUE(uroce_gid_is_unspecified(uroce_gid_of_ipv4(0)));
	CU_ASSERT_FALSE(uroce_gid_is_unspecified(uroce_gid_of_ipv4(1)));
	CU_ASSERT_FALSE(uroce_gid_is_unspecified(uroce_gid_load(mapped)));
	CU_ASSERT_FALSE(uroce_gid_is_unspecified((struct uroce_gid){0, 1}));
	CU_ASSERT_FALSE(uroce_gid_is_unspecified((struct uroce_gid){1, 0}));
	CU_ASSERT_FALSE(uroce_gid_is_unspecified((struct uroce_gid){1, uroce_gid_mapped}));
}

static void multicast_has_its_macs(void)
{
	static const struct {
		struct uroce_gid gid;
		bool multicast;
		uint8_t mac[6];
	} rows[] = {
		{{0, 0xffffe0000001}, true, {0x01, 0, 0x5e, 0, 0, 1}},
		{{0, 0xffffefffffff}, true, {0x01, 0, 0x5e, 0x7f, 0xff, 0xff}},
		{{0, 0xffffe8810203}, true, {0x01, 0, 0x5e, 0x01, 0x02, 0x03}},
		{{0, 0xffffdfffffff}, false, {0}},
		{{0, 0xfffff0000000}, false, {0}},
		{{0xff02000000000000, 0x1ff123456}, true, {0x33, 0x33, 0xff, 0x12, 0x34, 0x56}},
		{{0xff00000000000000, 0}, true, {0x33, 0x33, 0, 0, 0, 0}},
		{{0xfe80000000000000, 1}, false, {0}},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		uint8_t mac[6];

		CU_ASSERT_EQUAL(uroce_gid_is_multicast(rows[i].gid), rows[i].multicast);
		if (!rows[i].multicast)
			continue;
		uroce_gid_multicast_mac(rows[i].gid, mac);
		CU_ASSERT_EQUAL(memcmp(mac, rows[i].mac, 6), 0);
	}
}

int main(void)
{
	static const struct unit_case cases[] = {
		{"they are loaded and stored as on the wire",
			they_are_loaded_and_stored_as_on_the_wire},
		{"IPv4 is the mapped address", ipv4_is_the_mapped_address},
		{"equal is every bit", equal_is_every_bit},
		{"unspecified is no address of either", unspecified_is_no_address_of_either},
		{"multicast has its MACs", multicast_has_its_macs},
	};

	return run_suite("gid", cases, sizeof(cases) / sizeof(cases[0]));
}
