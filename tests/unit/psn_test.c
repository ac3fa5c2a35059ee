/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * 24-bit serial arithmetic: windows as tables at 0, at 2^23 and across 2^24.
 *
 * Each table line is two places on the circle and what is to be said of them. Every line is also
 * turned around the circle to other starting points, since nothing may depend on where zero lies.
 */
#include "psn.h"

#include "cunit_run.h"

#define HALF (1u << 23)
#define LAST 0xffffffu

static const uint32_t turns[] = {
	0, 1, 0x000010, 0x7ffffe, HALF - 1, HALF, HALF + 1, 0xfffffe, LAST};

enum {
	NUM_TURNS = sizeof(turns) / sizeof(turns[0])
};

static uint32_t turned(uint32_t psn, int turn)
{
	return (psn + turns[turn]) & LAST;
}

static void sums_stay_on_the_circle(void)
{
	static const struct {
		uint32_t psn, n, sum;
	} lines[] = {
		{0, 0, 0},
		{0, 1, 1},
		{LAST, 1, 0},
		{LAST, 2, 1},
		{0xfffffe, 1, LAST},
		{HALF - 1, 1, HALF},
		{HALF, HALF, 0},
		{LAST, HALF, HALF - 1},
		{0, (uint32_t)-1, LAST},
		{1, (uint32_t)-1, 0},
		{HALF, (uint32_t)-1, HALF - 1},
		{5, (uint32_t)-10, 0xfffffb},
		{7, 1u << 24, 7},
	};

	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++)
		CU_ASSERT_EQUAL(uroce_psn_add(lines[i].psn, lines[i].n), lines[i].sum);
}

static void differences_are_signed_and_shortest(void)
{
	static const struct {
		uint32_t a, b;
		int32_t diff;
	} lines[] = {
		/* at 0 and across 2^24 */
		{0, 0, 0},
		{1, 0, 1},
		{0, 1, -1},
		{0, LAST, 1},
		{LAST, 0, -1},
		{3, 0xfffffd, 6},
		{0xfffffd, 3, -6},
		/* at 2^23 */
		{HALF, HALF, 0},
		{HALF, HALF - 1, 1},
		{HALF - 1, HALF, -1},
		/* the far side: half a circle counts as behind */
		{HALF - 1, 0, 0x7fffff},
		{HALF, 0, -0x800000},
		{HALF + 1, 0, -0x7fffff},
		{0, HALF - 1, -0x7fffff},
		{0, HALF, -0x800000},
		{0, HALF + 1, 0x7fffff},
	};

	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++)
		for (int turn = 0; turn < NUM_TURNS; turn++)
			CU_ASSERT_EQUAL(
				uroce_psn_diff(turned(lines[i].a, turn), turned(lines[i].b, turn)),
				lines[i].diff);
}

static void before_is_the_half_circle_behind(void)
{
	static const struct {
		uint32_t a, b;
		bool before;
	} lines[] = {
		{0, 0, false},
		{0, 1, true},
		{1, 0, false},
		{LAST, 0, true},
		{0, LAST, false},
		{HALF - 1, HALF, true},
		{HALF, HALF - 1, false},
		{HALF - 1, 0, false},
		{HALF, 0, true},
		{HALF + 1, 0, true},
		{0, HALF - 1, true},
		{0, HALF + 1, false},
	};

	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++)
		for (int turn = 0; turn < NUM_TURNS; turn++)
			CU_ASSERT_EQUAL(uroce_psn_before(
						turned(lines[i].a, turn), turned(lines[i].b, turn)),
				lines[i].before);
}

static void a_window_holds_its_first_and_not_the_one_past_its_last(void)
{
	static const struct {
		uint32_t psn, first, n;
		bool within;
	} lines[] = {
		/* an empty window */
		{0, 0, 0, false},
		{LAST, 0, 0, false},
		/* one PSN */
		{0, 0, 1, true},
		{1, 0, 1, false},
		{LAST, 0, 1, false},
		/* at 0 */
		{9, 0, 10, true},
		{10, 0, 10, false},
		{LAST, 0, 10, false},
		/* at 2^23 */
		{HALF - 6, HALF - 5, 10, false},
		{HALF - 5, HALF - 5, 10, true},
		{HALF, HALF - 5, 10, true},
		{HALF + 4, HALF - 5, 10, true},
		{HALF + 5, HALF - 5, 10, false},
		/* across 2^24 */
		{0xfffffa, 0xfffffb, 10, false},
		{0xfffffb, 0xfffffb, 10, true},
		{LAST, 0xfffffb, 10, true},
		{0, 0xfffffb, 10, true},
		{4, 0xfffffb, 10, true},
		{5, 0xfffffb, 10, false},
		/* the largest window */
		{0, 0, HALF, true},
		{HALF - 1, 0, HALF, true},
		{HALF, 0, HALF, false},
		{LAST, 0, HALF, false},
		{HALF - 2, LAST, HALF, true},
		{HALF - 1, LAST, HALF, false},
	};

	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++)
		for (int turn = 0; turn < NUM_TURNS; turn++)
			CU_ASSERT_EQUAL(uroce_psn_within(turned(lines[i].psn, turn),
						turned(lines[i].first, turn), lines[i].n),
				lines[i].within);
}

/* Around each corner of the circle, against arithmetic on wide integers. */
static void all_pairs_around_the_corners_agree_with_wide_arithmetic(void)
{
	static const uint32_t corners[] = {0, HALF, 0x400000, 0xc00000};
	unsigned int wrong = 0;

	for (size_t i = 0; i < 4; i++)
		for (size_t j = 0; j < 4; j++)
			for (int64_t da = -4; da <= 4; da++)
				for (int64_t db = -4; db <= 4; db++) {
					int64_t a = (corners[i] + da) & LAST;
					int64_t b = (corners[j] + db) & LAST;
					int64_t diff = a - b;

					if (diff >= (int64_t)HALF)
						diff -= (int64_t)LAST + 1;
					if (diff < -(int64_t)HALF)
						diff += (int64_t)LAST + 1;
					wrong += uroce_psn_diff((uint32_t)a, (uint32_t)b) != diff;
					wrong += uroce_psn_before((uint32_t)a, (uint32_t)b) !=
						(diff < 0);
					wrong += uroce_psn_add((uint32_t)b, (uint32_t)diff) != a;
				}
	CU_ASSERT_EQUAL(wrong, 0);
}

static void at_most_half_the_circle_is_outstanding(void)
{
	CU_ASSERT_EQUAL(UROCE_PSN_OUTSTANDING_MAX, 8388608);
	CU_ASSERT_EQUAL(UROCE_PSN_MASK, 16777215);
}

int main(void)
{
	static const struct unit_case cases[] = {
		{"Sums stay on the circle", sums_stay_on_the_circle},
		{"Differences are signed and the shortest", differences_are_signed_and_shortest},
		{"Before is the half circle behind", before_is_the_half_circle_behind},
		{"A window holds its first PSN and not the one past its last",
			a_window_holds_its_first_and_not_the_one_past_its_last},
		{"All pairs around the corners agree with wide arithmetic",
			all_pairs_around_the_corners_agree_with_wide_arithmetic},
		{"At most half the circle is outstanding", at_most_half_the_circle_is_outstanding},
	};

	return run_suite("psn", cases, sizeof(cases) / sizeof(cases[0]));
}
