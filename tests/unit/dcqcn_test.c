/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * DCQCN's rates after notifications, time and bytes.
 *
 * Tables of what the paper's formulas give, worked out by hand; then long random runs held against
 * the same formulas in floating point, which takes each timer at its time where the engine
 * catches up. 10 Gb/s, and all else by default, unless a test says otherwise.
 */
#include "dcqcn.h"

#include <errno.h>
#include <string.h>

#include "cunit_run.h"
#include "test_random.h"

#define MBPS 1000000ull
#define K_NS 55000ull

static struct uroce_dcqcn_conf conf;
static struct uroce_dcqcn d;

static void start(void)
{
	memset(&conf, 0, sizeof(conf));
	uroce_dcqcn_conf_complete(&conf);
	uroce_dcqcn_init(&d, conf.line_rate_bps);
}

static void the_defaults_are_the_papers(void)
{
	start();
	CU_ASSERT_EQUAL(conf.line_rate_bps, 10000 * MBPS);
	CU_ASSERT_EQUAL(conf.min_rate_bps, 10 * MBPS);
	CU_ASSERT_EQUAL(conf.ai_rate_bps, 40 * MBPS);
	CU_ASSERT_EQUAL(conf.hai_rate_bps, 400 * MBPS);
	CU_ASSERT_EQUAL(conf.byte_reset, 10000000);
	CU_ASSERT_EQUAL(conf.increase_ns, 55000);
	CU_ASSERT_EQUAL(conf.threshold, 5);
	CU_ASSERT_EQUAL(conf.alpha_ns, 55000);
	CU_ASSERT_EQUAL(conf.g_log2, 8);
	CU_ASSERT_EQUAL(conf.decrease_ns, 4000);
	CU_ASSERT_EQUAL(conf.cnp_ns, 50000);
	CU_ASSERT_EQUAL(uroce_dcqcn_conf_check(&conf), 0);
}

static void what_is_set_is_kept(void)
{
	struct uroce_dcqcn_conf set = {.line_rate_bps = 1000 * MBPS,
		.min_rate_bps = 2000,
		.ai_rate_bps = 3000,
		.hai_rate_bps = 4000,
		.byte_reset = 5,
		.increase_ns = 6,
		.threshold = 7,
		.alpha_ns = 8,
		.g_log2 = 9,
		.decrease_ns = 10,
		.cnp_ns = 11};
	const struct uroce_dcqcn_conf before = set;

	uroce_dcqcn_conf_complete(&set);
	CU_ASSERT_EQUAL(memcmp(&set, &before, sizeof(set)), 0);
	CU_ASSERT_EQUAL(uroce_dcqcn_conf_check(&set), 0);
}

static void what_cannot_be_is_refused(void)
{
	uint64_t *const rates[] = {
		&conf.line_rate_bps, &conf.min_rate_bps, &conf.ai_rate_bps, &conf.hai_rate_bps};

	for (int i = 0; i < 4; i++) {
		start();
		*rates[i] = UROCE_RATE_MIN_BPS - 1;
		CU_ASSERT_EQUAL(uroce_dcqcn_conf_check(&conf), -EINVAL);
		*rates[i] = UROCE_RATE_MAX_BPS + 1;
		CU_ASSERT_EQUAL(uroce_dcqcn_conf_check(&conf), -EINVAL);
		*rates[i] = UROCE_RATE_MAX_BPS;
		if (i == 1)
			conf.line_rate_bps = UROCE_RATE_MAX_BPS;
		CU_ASSERT_EQUAL(uroce_dcqcn_conf_check(&conf), 0);
	}
	start();
	conf.min_rate_bps = conf.line_rate_bps;
	CU_ASSERT_EQUAL(uroce_dcqcn_conf_check(&conf), 0);
	conf.min_rate_bps++;
	CU_ASSERT_EQUAL(uroce_dcqcn_conf_check(&conf), -EINVAL);
	start();
	conf.g_log2 = 10;
	conf.threshold = 255;
	CU_ASSERT_EQUAL(uroce_dcqcn_conf_check(&conf), 0);
	conf.g_log2 = 11;
	CU_ASSERT_EQUAL(uroce_dcqcn_conf_check(&conf), -EINVAL);
	start();
	conf.threshold = 256;
	CU_ASSERT_EQUAL(uroce_dcqcn_conf_check(&conf), -EINVAL);
}

static void without_notifications_there_is_no_limit(void)
{
	start();
	CU_ASSERT_FALSE(uroce_dcqcn_sent(&d, &conf, 100000000));
	CU_ASSERT_FALSE(uroce_dcqcn_advance(&d, &conf, 1000000000));
	CU_ASSERT_EQUAL(d.rate_bps, 0);
}

/* One step of a table: at this time a notification, or so many bytes, or nothing but the time. */
struct line {
	uint64_t us;
	bool notified;
	uint32_t bytes;
	uint64_t kbps; /* rate after it, rounded down */
};

static void follow(const struct line *lines, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		uint64_t before = d.rate_bps, now_ns = lines[i].us * 1000;
		bool changed = uroce_dcqcn_advance(&d, &conf, now_ns);

		if (lines[i].notified)
			changed |= uroce_dcqcn_notify(&d, &conf, now_ns);
		if (lines[i].bytes)
			changed |= uroce_dcqcn_sent(&d, &conf, lines[i].bytes);
		if (d.rate_bps / 1000 != lines[i].kbps)
			printf("\nline %zu, %llu us: %llu kb/s, expected %llu\n", i,
				(unsigned long long)lines[i].us,
				(unsigned long long)d.rate_bps / 1000,
				(unsigned long long)lines[i].kbps);
		CU_ASSERT_EQUAL(d.rate_bps / 1000, lines[i].kbps);
		CU_ASSERT_EQUAL(changed, d.rate_bps != before);
	}
}

#define FOLLOW(lines) follow(lines, sizeof(lines) / sizeof(lines[0]))

static void a_notification_halves_and_the_timer_recovers(void)
{
	static const struct line lines[] = {
		/* alpha is 1 */
		{1000, true, 0, 5000000},
		{1054, false, 0, 5000000},
		/* five steps, each half of the way back */
		{1055, false, 0, 7500000},
		{1110, false, 0, 8750000},
		{1165, false, 0, 9375000},
		{1220, false, 0, 9687500},
		{1275, false, 0, 9843750},
		/* the target, which would be raised, is the line already */
		{1330, false, 0, 9921875},
		/* less than a step of additive increase is missing: no limit any more */
		{1385, false, 0, 0},
		{2000, false, 0, 0},
	};

	start();
	FOLLOW(lines);
}

static void notifications_in_a_row_cut_from_the_last_rate(void)
{
	static const struct line lines[] = {
		{1000, true, 0, 5000000},
		{1050, true, 0, 2500000},
		{1100, true, 0, 1250000},
		/* its target is the rate before the last one */
		{1155, false, 0, 1875000},
		{1210, false, 0, 2187500},
		{1265, false, 0, 2343750},
		{1320, false, 0, 2421875},
		{1375, false, 0, 2460937},
		/* and then the target moves by 40 Mb/s at a time */
		{1430, false, 0, 2500468},
		{1485, false, 0, 2540234},
		{1540, false, 0, 2580117},
	};

	start();
	FOLLOW(lines);
}

static void alpha_decays_while_nobody_notifies(void)
{
	start();
	CU_ASSERT_TRUE(uroce_dcqcn_notify(&d, &conf, 1000000));
	CU_ASSERT_EQUAL(d.alpha, UROCE_DCQCN_ALPHA_ONE);
	/* 20 times K: (255 / 256)^20 = 0.92471; the rate is at the line again. */
	uroce_dcqcn_advance(&d, &conf, 1000000 + 20 * K_NS);
	CU_ASSERT_TRUE(uroce_dcqcn_notify(&d, &conf, 1000000 + 20 * K_NS));
	CU_ASSERT_EQUAL(d.rate_bps / MBPS, 5376);
	/* A second later it is nearly gone: a notification cuts next to nothing. */
	CU_ASSERT_TRUE(uroce_dcqcn_notify(&d, &conf, 1002200000));
	CU_ASSERT_TRUE(d.rate_bps > 9990 * MBPS);
	/* It grows by a 256th of what is missing with each. */
	CU_ASSERT_TRUE(
		d.alpha > UROCE_DCQCN_ALPHA_ONE / 256 && d.alpha < UROCE_DCQCN_ALPHA_ONE / 200);
}

static void the_byte_counter_takes_steps_too(void)
{
	static const struct line lines[] = {
		{1000, true, 0, 5000000},
		{1050, true, 0, 2500000},
		{1100, true, 0, 1250000},
		{1101, false, 9999999, 1250000},
		{1101, false, 1, 1875000},
		{1101, false, 10000000, 2187500},
		{1101, false, 10000000, 2343750},
		{1101, false, 10000000, 2421875},
		{1101, false, 10000000, 2460937},
		{1101, false, 10000000, 2500468},
		/* The timer has taken none: additive. Five of it, then the sixth of both: hyper. */
		{1155, false, 0, 2540234},
		{1210, false, 0, 2580117},
		{1265, false, 0, 2620058},
		{1320, false, 0, 2660029},
		{1375, false, 0, 2700014},
		{1430, false, 0, 2920007},
		{1430, false, 10000000, 3230003},
	};

	start();
	FOLLOW(lines);
}

static void a_notification_starts_all_anew(void)
{
	static const struct line lines[] = {
		{1000, true, 0, 5000000},
		{1000, false, 9999999, 5000000},
		{1050, true, 0, 2500000},
		/* neither the timer of the first nor its bytes */
		{1055, false, 0, 2500000},
		{1056, false, 9999999, 2500000},
		{1105, false, 0, 3750000},
	};

	start();
	FOLLOW(lines);
}

static void no_second_cut_at_once(void)
{
	start();
	CU_ASSERT_TRUE(uroce_dcqcn_notify(&d, &conf, 1000000));
	CU_ASSERT_FALSE(uroce_dcqcn_notify(&d, &conf, 1000000));
	CU_ASSERT_FALSE(uroce_dcqcn_notify(&d, &conf, 1003999));
	CU_ASSERT_EQUAL(d.rate_bps, 5000 * MBPS);
	CU_ASSERT_TRUE(uroce_dcqcn_notify(&d, &conf, 1004000));
	CU_ASSERT_EQUAL(d.rate_bps, 2500 * MBPS);
}

static void there_is_a_least_rate(void)
{
	start();
	for (uint64_t i = 0; i < 100; i++)
		uroce_dcqcn_notify(&d, &conf, i * 50000);
	CU_ASSERT_EQUAL(d.rate_bps, 10 * MBPS);
	/* Of a flow that may not even have that: what it may have. */
	uroce_dcqcn_init(&d, 5 * MBPS);
	for (uint64_t i = 0; i < 100; i++)
		uroce_dcqcn_notify(&d, &conf, i * 50000);
	CU_ASSERT_EQUAL(d.rate_bps, 5 * MBPS);
}

static void another_line_limits_at_once(void)
{
	start();
	uroce_dcqcn_set_line(&d, 4000 * MBPS);
	CU_ASSERT_EQUAL(d.rate_bps, 0);
	uroce_dcqcn_set_line(&d, 10000 * MBPS);
	uroce_dcqcn_notify(&d, &conf, 1000000);
	uroce_dcqcn_set_line(&d, 4000 * MBPS);
	CU_ASSERT_EQUAL(d.rate_bps, 4000 * MBPS);
	uroce_dcqcn_advance(&d, &conf, 1000000 + conf.increase_ns);
	CU_ASSERT_EQUAL(d.rate_bps, 0);
	uroce_dcqcn_notify(&d, &conf, 2000000);
	CU_ASSERT_EQUAL(d.target_bps, 4000 * MBPS);
	CU_ASSERT_TRUE(d.rate_bps < 2500 * MBPS);
}

static void the_largest_numbers_fit(void)
{
	start();
	conf.line_rate_bps = UROCE_RATE_MAX_BPS;
	conf.byte_reset = UINT32_MAX;
	uroce_dcqcn_init(&d, conf.line_rate_bps);
	uroce_dcqcn_notify(&d, &conf, UINT64_MAX / 2);
	CU_ASSERT_EQUAL(d.rate_bps, UROCE_RATE_MAX_BPS / 2);
	CU_ASSERT_FALSE(uroce_dcqcn_sent(&d, &conf, UINT32_MAX - 1));
	CU_ASSERT_TRUE(uroce_dcqcn_sent(&d, &conf, UINT32_MAX - 1));
	CU_ASSERT_EQUAL(d.rate_bps, UROCE_RATE_MAX_BPS / 4 * 3);
	/* A pause of years is caught up with in a moment. */
	conf.ai_rate_bps = 1000;
	uroce_dcqcn_notify(&d, &conf, UINT64_MAX / 2 + 10000);
	CU_ASSERT_TRUE(uroce_dcqcn_advance(&d, &conf, UINT64_MAX - 1));
	CU_ASSERT_TRUE(uroce_dcqcn_notify(&d, &conf, UINT64_MAX - 1));
}

/* ---- the formulas again ---- */

struct formula {
	double rate, target, alpha; /* rate 0: no limit */
	double bytes;
	uint64_t alpha_ns, increase_ns, cut_ns;
	unsigned int t, b;
};

static double lesser(double a, double b)
{
	return a < b ? a : b;
}

static double greater(double a, double b)
{
	return a > b ? a : b;
}

static void raise_rate(struct formula *f)
{
	double line = (double)conf.line_rate_bps;

	if (lesser(f->t, f->b) > conf.threshold)
		f->target += (double)conf.hai_rate_bps;
	else if (greater(f->t, f->b) > conf.threshold)
		f->target += (double)conf.ai_rate_bps;
	f->target = lesser(f->target, line);
	f->rate = (f->rate + f->target) / 2;
	if (f->target == line && f->rate + (double)conf.ai_rate_bps >= line)
		f->rate = 0;
}

static void pass_time(struct formula *f, uint64_t now_ns)
{
	for (; f->alpha_ns <= now_ns; f->alpha_ns += conf.alpha_ns)
		f->alpha *= 1 - 1.0 / (1 << conf.g_log2);
	for (; f->rate > 0 && f->increase_ns <= now_ns; f->increase_ns += conf.increase_ns) {
		f->t++;
		raise_rate(f);
	}
}

static void cut(struct formula *f, uint64_t now_ns)
{
	if (now_ns < f->cut_ns)
		return;
	f->target = f->rate > 0 ? f->rate : (double)conf.line_rate_bps;
	f->rate = greater(f->target * (1 - f->alpha / 2), (double)conf.min_rate_bps);
	f->alpha += (1 - f->alpha) / (1 << conf.g_log2);
	f->alpha_ns = now_ns + conf.alpha_ns;
	f->increase_ns = now_ns + conf.increase_ns;
	f->cut_ns = now_ns + conf.decrease_ns;
	f->t = f->b = 0;
	f->bytes = 0;
}

static void count_bytes(struct formula *f, uint32_t bytes)
{
	if (f->rate == 0)
		return;
	f->bytes += bytes;
	if (f->bytes < conf.byte_reset)
		return;
	f->bytes -= conf.byte_reset;
	f->b++;
	raise_rate(f);
}

/* Within a thousandth, but for the moment of reaching the line. */
static bool is_near(const struct formula *f)
{
	double line = (double)conf.line_rate_bps;
	double want = f->rate > 0 ? f->rate : line;
	double got = d.rate_bps ? (double)d.rate_bps : line;

	return greater(got - want, want - got) <= want * 0.001 + (double)conf.ai_rate_bps;
}

static void random_runs_follow_the_formulas(void)
{
	for (uint32_t run = 0; run < 200; run++) {
		uint64_t random = run + 1, now_ns = 1000000;
		struct formula f = {.alpha = 1, .alpha_ns = UINT64_MAX};
		bool good = true;

		start();
		conf.byte_reset = 100000 << (run % 5);
		conf.g_log2 = 4 + run % 7;
		conf.threshold = 1 + run % 6;
		for (uint32_t i = 0; good && i < 2000; i++) {
			now_ns += random_below(&random, 40000);
			pass_time(&f, now_ns);
			uroce_dcqcn_advance(&d, &conf, now_ns);
			if (random_below(&random, 2 + run % 30) == 0) {
				cut(&f, now_ns);
				uroce_dcqcn_notify(&d, &conf, now_ns);
			} else {
				uint32_t bytes = random_below(&random, 100000);

				count_bytes(&f, bytes);
				uroce_dcqcn_sent(&d, &conf, bytes);
			}
			good = is_near(&f);
			if (!good)
				printf("\nrun %u, step %u: %llu, by the formulas %.0f\n", run, i,
					(unsigned long long)d.rate_bps, f.rate);
		}
		CU_ASSERT_TRUE(good);
	}
}

int main(void)
{
	static const struct unit_case cases[] = {
		{"The defaults are the paper's", the_defaults_are_the_papers},
		{"What is set is kept", what_is_set_is_kept},
		{"What cannot be is refused", what_cannot_be_is_refused},
		{"Without notifications there is no limit",
			without_notifications_there_is_no_limit},
		{"A notification halves the rate, and the timer recovers it",
			a_notification_halves_and_the_timer_recovers},
		{"Notifications in a row cut from the last rate",
			notifications_in_a_row_cut_from_the_last_rate},
		{"Alpha decays while nobody notifies", alpha_decays_while_nobody_notifies},
		{"The byte counter takes steps too", the_byte_counter_takes_steps_too},
		{"A notification starts all anew", a_notification_starts_all_anew},
		{"There is no second cut at once", no_second_cut_at_once},
		{"There is a least rate", there_is_a_least_rate},
		{"Another line limits at once", another_line_limits_at_once},
		{"The largest numbers fit", the_largest_numbers_fit},
		{"Random runs follow the formulas", random_runs_follow_the_formulas},
	};

	return run_suite("dcqcn", cases, sizeof(cases) / sizeof(cases[0]));
}
