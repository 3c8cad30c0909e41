/* SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

enum { LEFT_BY_FAILURE = 1, LEFT_BY_SKIP };

static jmp_buf leave;

void print_message(const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	(void)vprintf(format, arguments);
	va_end(arguments);
	(void)fflush(stdout);
}

void print_error(const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	(void)vfprintf(stderr, format, arguments);
	va_end(arguments);
}

void shim_fail(const char *file, int line)
{
	print_error("%s:%d: error: Failure!\n", file, line);
	longjmp(leave, LEFT_BY_FAILURE);
}

void shim_skip(const char *file, int line)
{
	print_error("%s:%d: skipped\n", file, line);
	longjmp(leave, LEFT_BY_SKIP);
}

void shim_true(uintmax_t value, const char *expression, const char *file, int line)
{
	if (value != 0)
		return;
	print_error("%s is not so\n", expression);
	shim_fail(file, line);
}

void shim_integers(uintmax_t left, uintmax_t right, int equal, const char *file, int line)
{
	if ((left == right) == (equal != 0))
		return;
	print_error("0x%" PRIxMAX " %s 0x%" PRIxMAX "\n", left, equal ? "!=" : "==", right);
	shim_fail(file, line);
}

void shim_range(uintmax_t value, uintmax_t minimum, uintmax_t maximum, int within, const char *file, int line)
{
	if ((value >= minimum && value <= maximum) == (within != 0))
		return;
	print_error("%" PRIuMAX " is %s the range %" PRIuMAX "-%" PRIuMAX "\n", value, within ? "not within" : "within",
		    minimum, maximum);
	shim_fail(file, line);
}

void shim_strings(const char *left, const char *right, int equal, const char *file, int line)
{
	if ((strcmp(left, right) == 0) == (equal != 0))
		return;
	print_error("\"%s\" %s \"%s\"\n", left, equal ? "!=" : "==", right);
	shim_fail(file, line);
}

void shim_memory(const void *left, const void *right, size_t bytes, int equal, const char *file, int line)
{
	const unsigned char *a = left;
	const unsigned char *b = right;

	if ((memcmp(left, right, bytes) == 0) == (equal != 0))
		return;
	if (!equal)
		print_error("%zu bytes are the same\n", bytes);
	for (size_t i = 0; equal && i < bytes; i++) {
		if (a[i] != b[i]) {
			print_error("difference at offset %zu of %zu: 0x%02x 0x%02x\n", i, bytes, a[i], b[i]);
			break;
		}
	}
	shim_fail(file, line);
}

/* How the body was left: 0 by its end, else by what longjmp said. Kept apart, so that no local lives across setjmp. */
static int run_body(CMUnitTestFunction body, void **state)
{
	int left = setjmp(leave);

	if (left != 0)
		return left;
	body(state);
	return 0;
}

static int run_fixture(CMFixtureFunction fixture, void **state, const char *what, const char *name)
{
	if (fixture == NULL)
		return 0;
	if (setjmp(leave) == 0 && fixture(state) == 0)
		return 0;
	print_error("%s of %s failed\n", what, name);
	return LEFT_BY_FAILURE;
}

static int run_one(const struct CMUnitTest *test)
{
	void *state = test->initial_state;
	int left = run_fixture(test->setup_func, &state, "the setup", test->name);

	if (left != 0)
		return left;
	left = run_body(test->test_func, &state);
	if (left == LEFT_BY_SKIP)
		print_message("[  SKIPPED ] %s\n", test->name);
	if (run_fixture(test->teardown_func, &state, "the teardown", test->name) != 0)
		left = LEFT_BY_FAILURE;
	return left;
}

int shim_run_group(const struct CMUnitTest *tests, size_t n, CMFixtureFunction setup, CMFixtureFunction teardown)
{
	void *state = NULL;
	int failed = 0;

	if (run_fixture(setup, &state, "the setup", "the group") != 0)
		return (int)n;
	for (size_t i = 0; i < n; i++)
		failed += run_one(&tests[i]) == LEFT_BY_FAILURE;
	if (run_fixture(teardown, &state, "the teardown", "the group") != 0)
		failed++;
	return failed;
}
