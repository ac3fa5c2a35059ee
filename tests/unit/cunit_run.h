/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How every unit test runs: a table of cases, one suite per executable, one line for machines.
 *
 *	static void psn_zero_follows_the_last(void) { CU_ASSERT_EQUAL(...); }
 *
 *	int main(void)
 *	{
 *		static const struct unit_case cases[] = {
 *			{"PSN 0 follows 0xffffff", psn_zero_follows_the_last},
 *		};
 *		return run_suite("psn", cases, sizeof(cases) / sizeof(cases[0]));
 *	}
 *
 * The last line of output is RESULT <suite> passed=N failed=N skipped=N; the exit status is 0 if no
 * case failed, else 1. A case that cannot run here says SKIP("why"), which is printed. Set
 * UNIT_VERBOSE in the environment to see every case.
 */
#ifndef UROCE_TESTS_CUNIT_RUN_H
#define UROCE_TESTS_CUNIT_RUN_H

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include <CUnit/Basic.h>

struct unit_case {
	const char *name; /* a sentence that is true when the case passes */
	void (*fn)(void);
};

/* One executable is one suite and one thread, so a counter per executable is enough. */
static unsigned int unit_skipped;

/* Leaves the case (a function without result); reason goes to the output. */
#define SKIP(reason) \
	do { \
		unit_skipped++; \
		printf("\nSKIP %s: %s\n", CU_get_current_test()->pName, (reason)); \
		return; \
	} while (0)

/* Registers and runs the cases in order; the result is what main returns. */
static inline int run_suite(const char *suite, const struct unit_case *cases, size_t n)
{
	unsigned int failed, run;
	CU_pSuite registered;

	/* A crash must not take with it what was printed before. */
	setvbuf(stdout, NULL, _IOLBF, 0);
	if (CU_initialize_registry() != CUE_SUCCESS)
		return 1;
	registered = CU_add_suite(suite, NULL, NULL);
	for (size_t i = 0; registered && i < n; i++)
		if (!CU_add_test(registered, cases[i].name, cases[i].fn))
			registered = NULL;
	if (!registered) {
		fprintf(stderr, "%s: cannot register: %s\n", suite, CU_get_error_msg());
		CU_cleanup_registry();
		return 1;
	}
	CU_basic_set_mode(getenv("UNIT_VERBOSE") ? CU_BRM_VERBOSE : CU_BRM_NORMAL);
	CU_basic_run_tests();
	run = CU_get_number_of_tests_run();
	failed = CU_get_number_of_tests_failed();
	CU_cleanup_registry();
	/* A case may skip after an assertion has failed: then it counts as failed alone. */
	if (unit_skipped > run - failed)
		unit_skipped = run - failed;
	printf("RESULT %s passed=%u failed=%u skipped=%u\n", suite, run - failed - unit_skipped,
		failed, unit_skipped);
	return failed || run != n ? 1 : 0;
}

#endif
