/* SPDX-License-Identifier: MIT */
/* Every status has a name of its own and a text. */
#include <pvfront/status.h>

#include <string.h>

#include "check.h"

#define FIRST (-100)

static int known(int status)
{
	return strcmp(pvf_status_name(status), "PVF_?") != 0;
}

static void names_every_status(void **state)
{
	int status, known_count = 0;

	(void)state;
	for (status = FIRST; status <= 0; status++)
		known_count += known(status);
	/* PVF_OK to PVF_STALE, PVF_STORE_CONFLICT to PVF_STORE_PROTOCOL: without holes. */
	assert_int_equal(known_count, 1 - PVF_STALE + 1 + PVF_STORE_CONFLICT - PVF_STORE_PROTOCOL);
	for (status = PVF_STALE; status <= PVF_OK; status++)
		assert_true(known(status));
	for (status = PVF_STORE_PROTOCOL; status <= PVF_STORE_CONFLICT; status++)
		assert_true(known(status));
}

static void names_are_right(void **state)
{
	(void)state;
	assert_string_equal(pvf_status_name(PVF_OK), "PVF_OK");
	assert_string_equal(pvf_status_name(PVF_TIMEOUT), "PVF_TIMEOUT");
	assert_string_equal(pvf_status_name(-17), "PVF_STALE");
	assert_string_equal(pvf_status_name(-32), "PVF_STORE_CONFLICT");
	assert_string_equal(pvf_status_name(-49), "PVF_STORE_PROTOCOL");
	assert_string_equal(pvf_status_text(PVF_TIMEOUT), "a deadline passed");
}

static void names_are_different(void **state)
{
	int a, b;

	(void)state;
	for (a = FIRST; a <= 0; a++) {
		for (b = FIRST; b < a; b++) {
			if (!known(a) || !known(b))
				continue;
			assert_string_not_equal(pvf_status_name(a), pvf_status_name(b));
			assert_string_not_equal(pvf_status_text(a), pvf_status_text(b));
		}
	}
}

static void numbers_that_are_none(void **state)
{
	static const int none[] = {1, 2, 1000, -18, -31, -50, -1000, 0x7fffffff, -0x7fffffff - 1};
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(none) / sizeof(none[0]); i++) {
		assert_string_equal(pvf_status_name(none[i]), "PVF_?");
		assert_true(strlen(pvf_status_text(none[i])) > 0);
	}
}

int main(void)
{
	static const struct pvf_test tests[] = {
		PVF_TEST(names_every_status, "X07", "unit", "every status has a name"),
		PVF_TEST(names_are_right, "X07", "unit", "names are those of the header"),
		PVF_TEST(names_are_different, "X07", "unit", "no two statuses are told alike"),
		PVF_TEST(numbers_that_are_none, "X07", "unit", "a number that is no status has an answer too"),
	};

	return pvf_run_tests("unit", tests, sizeof(tests) / sizeof(tests[0]));
}
