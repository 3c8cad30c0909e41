/* SPDX-License-Identifier: MIT */
/* Tests that end in each way a test can end; tests/runner/run.py looks at what check.c makes of them. */
#include "check.h"

#include <stdlib.h>
#include <unistd.h>

static void passes(void **state)
{
	(void)state;
	assert_int_equal(1, 1);
}

static void fails(void **state)
{
	(void)state;
	assert_int_equal(1, 2);
}

static void aborts(void **state)
{
	(void)state;
	abort();
}

static void exits(void **state)
{
	(void)state;
	_exit(0);
}

static void hangs(void **state)
{
	(void)state;
	(void)pause();
}

static void skips(void **state)
{
	(void)state;
	skip();
}

static int set_up(void **state)
{
	*state = "set up";
	return 0;
}

static void needs_set_up(void **state)
{
	assert_string_equal(*state, "set up");
}

int main(void)
{
	static const struct pvf_test tests[] = {
		PVF_TEST(passes, "V01 V22", "sim", "it \"passes\""),
		PVF_TEST(fails, "V01", "unit", "it fails"),
		PVF_TEST(aborts, "", "unit", "it aborts"),
		PVF_TEST(exits, "", "unit", "it exits as if all were well"),
		PVF_TEST(hangs, "", "unit", "it hangs"),
		PVF_TEST(skips, "", "unit", "it skips itself"),
		PVF_TEST_WITH(needs_set_up, set_up, NULL, "", "unit", "it needs its set-up"),
	};

	return pvf_run_tests("planted", tests, sizeof(tests) / sizeof(tests[0]));
}
