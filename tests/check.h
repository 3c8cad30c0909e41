/* SPDX-License-Identifier: MIT */
/*
 * The tests' frame around CMocka: each test says which rows of the feature table it shows, against which peer, in a
 * sentence about behaviour.
 *
 *	static const struct pvf_test tests[] = {
 *		PVF_TEST(reads_back, "V01 V22", "sim", "what was written is read back"),
 *		PVF_TEST_WITH(breaks, setup, teardown, "V32", "sim", "a response that nobody asked for breaks the device"),
 *	};
 *
 *	int main(void)
 *	{
 *		return pvf_run_tests("sim", tests, sizeof(tests) / sizeof(tests[0]));
 *	}
 *
 * Environment:
 *   PVF_REPORT   a file to which each finished test appends one line of JSON
 *   PVF_ONLY     only tests whose sentence or function name contains this text
 *   PVF_SUITE    replaces the suite's name in the report
 *   PVF_PEER     replaces the peers' names in the report (a run under qemu-user, say)
 *   PVF_BUILD    how the program was built, for the report; "plain" when not given
 *   PVF_TIMEOUT  seconds after which a test is killed and failed; 300 when not given
 *   PVF_VERBOSE  any value: shows what tests print, also when they pass
 *   PVF_NO_FORK  any value: runs the tests in this process (debuggers, callgrind)
 */
#ifndef PVFRONT_TESTS_CHECK_H
#define PVFRONT_TESTS_CHECK_H

/* cmocka.h needs these before it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#ifdef __clang_analyzer__
/* CMocka does not say that a failed assertion does not return, and the analyzer goes on with what cannot be. */
#undef assert_true
#undef assert_false
#undef assert_non_null
#define assert_true(condition) ((condition) ? (void)0 : __builtin_unreachable())
#define assert_false(condition) assert_true(!(condition))
#define assert_non_null(pointer) assert_true((pointer) != NULL)
#endif

struct pvf_test {
	const char *function_name;
	const char *rows; /* ids of the feature table, separated by spaces; "" for a test that shows none */
	const char *peer; /* unit, sim, sim-stepped, public-headers, … */
	const char *sentence;
	CMUnitTestFunction function;
	CMFixtureFunction setup;
	CMFixtureFunction teardown;
};

#define PVF_TEST_WITH(function, setup, teardown, rows, peer, sentence) \
	{ \
#function, rows, peer, sentence, function, setup, teardown \
	}
#define PVF_TEST(function, rows, peer, sentence) PVF_TEST_WITH(function, NULL, NULL, rows, peer, sentence)

/*
 * Runs the tests in order, each in a process of its own, so that a crash, a hang or a leak is the failure of one test
 * and has its name. A test that calls skip() fails: a suite is left out by whoever runs it, not by the test.
 * Returns what main should return: 0 when all passed and at least one ran, else 1.
 */
int pvf_run_tests(const char *suite, const struct pvf_test *tests, size_t n);

#endif
