/* SPDX-License-Identifier: MIT */
/*
 * The few names of CMocka that our tests use, for CPUs for which no CMocka is installed. Same names, same meaning:
 * an assertion that does not hold ends the test and fails it. What is not here does not compile, so nothing is silently
 * left unchecked.
 */
#ifndef PVFRONT_TARGETS_CMOCKA_H
#define PVFRONT_TARGETS_CMOCKA_H

#include <stddef.h>
#include <stdint.h>

typedef void (*CMUnitTestFunction)(void **state);
typedef int (*CMFixtureFunction)(void **state);

struct CMUnitTest {
	const char *name;
	CMUnitTestFunction test_func;
	CMFixtureFunction setup_func;
	CMFixtureFunction teardown_func;
	void *initial_state;
};

/* Returns the number of tests that failed. */
int shim_run_group(const struct CMUnitTest *tests, size_t n, CMFixtureFunction setup, CMFixtureFunction teardown);
#define cmocka_run_group_tests(tests, setup, teardown) \
	shim_run_group(tests, sizeof(tests) / sizeof((tests)[0]), setup, teardown)

void print_message(const char *format, ...) __attribute__((format(printf, 1, 2)));
void print_error(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Each compares, and on failure says what and where, and leaves the test. */
_Noreturn void shim_fail(const char *file, int line);
_Noreturn void shim_skip(const char *file, int line);
void shim_true(uintmax_t value, const char *expression, const char *file, int line);
void shim_integers(uintmax_t left, uintmax_t right, int equal, const char *file, int line);
void shim_range(uintmax_t value, uintmax_t minimum, uintmax_t maximum, int within, const char *file, int line);
void shim_strings(const char *left, const char *right, int equal, const char *file, int line);
void shim_memory(const void *left, const void *right, size_t bytes, int equal, const char *file, int line);

#define SHIM_INTEGER(x) ((uintmax_t)(x))
#define SHIM_POINTER(x) ((uintmax_t)(uintptr_t)(x))

#define assert_true(c) shim_true((c) ? 1u : 0u, #c, __FILE__, __LINE__)
#define assert_false(c) shim_true((c) ? 0u : 1u, "!(" #c ")", __FILE__, __LINE__)
#define assert_non_null(p) shim_true((p) != NULL, #p " != NULL", __FILE__, __LINE__)
#define assert_null(p) shim_true((p) == NULL, #p " == NULL", __FILE__, __LINE__)
#define assert_int_equal(a, b) shim_integers(SHIM_INTEGER(a), SHIM_INTEGER(b), 1, __FILE__, __LINE__)
#define assert_int_not_equal(a, b) shim_integers(SHIM_INTEGER(a), SHIM_INTEGER(b), 0, __FILE__, __LINE__)
#define assert_ptr_equal(a, b) shim_integers(SHIM_POINTER(a), SHIM_POINTER(b), 1, __FILE__, __LINE__)
#define assert_ptr_not_equal(a, b) shim_integers(SHIM_POINTER(a), SHIM_POINTER(b), 0, __FILE__, __LINE__)
#define assert_in_range(v, low, high) \
	shim_range(SHIM_INTEGER(v), SHIM_INTEGER(low), SHIM_INTEGER(high), 1, __FILE__, __LINE__)
#define assert_not_in_range(v, low, high) \
	shim_range(SHIM_INTEGER(v), SHIM_INTEGER(low), SHIM_INTEGER(high), 0, __FILE__, __LINE__)
#define assert_string_equal(a, b) shim_strings(a, b, 1, __FILE__, __LINE__)
#define assert_string_not_equal(a, b) shim_strings(a, b, 0, __FILE__, __LINE__)
#define assert_memory_equal(a, b, bytes) shim_memory(a, b, bytes, 1, __FILE__, __LINE__)
#define assert_memory_not_equal(a, b, bytes) shim_memory(a, b, bytes, 0, __FILE__, __LINE__)
#define fail() shim_fail(__FILE__, __LINE__)
#define skip() shim_skip(__FILE__, __LINE__)
#define fail_msg(...) (print_error("ERROR: " __VA_ARGS__), print_error("\n"), shim_fail(__FILE__, __LINE__))

#endif
