/* SPDX-License-Identifier: MIT */
/* Decimal numbers and sentences without a C library; the latency histogram's edges. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <pvfront/vbd.h>

#include "check.h"
#include "text.h"

static void numbers_are_written_as_printf_writes_them(void **state)
{
	static const uint64_t numbers[] = {0,         1, 9, 10, 99, 100, 4294967295u, 4294967296u, 9999999999999999999u,
					   UINT64_MAX};

	(void)state;
	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
		char ours[32], theirs[32];
		struct pvf_text text;

		pvf_text_start(&text, ours, sizeof(ours));
		pvf_text_number(&text, numbers[i]);
		snprintf(theirs, sizeof(theirs), "%" PRIu64, numbers[i]);
		assert_string_equal(ours, theirs);
		assert_false(text.cut);
	}
}

struct parsed {
	const char *text;
	uint32_t length;
	bool good;
	uint64_t number;
};

static void only_plain_decimal_numbers_are_parsed(void **state)
{
	static const struct parsed rows[] = {
		{"0", 1, true, 0},
		{"512", 3, true, 512},
		{"00512", 5, true, 512},
		{"512", 4, true, 512}, /* some writers count the NUL */
		{"18446744073709551615", 20, true, UINT64_MAX},
		{"18446744073709551616", 20, false, 0},
		{"99999999999999999999", 20, false, 0},
		{"184467440737095516150", 21, false, 0},
		{"", 0, false, 0},
		{"", 1, false, 0},
		{"-1", 2, false, 0},
		{"+1", 2, false, 0},
		{" 1", 2, false, 0},
		{"1 ", 2, false, 0},
		{"1\n", 2, false, 0},
		{"0x10", 4, false, 0},
		{"1\0002", 3, false, 0},
		{"1.0", 3, false, 0},
		{"\xff\xfe", 2, false, 0},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		uint64_t number = 77;

		assert_int_equal(pvf_text_parse(rows[i].text, rows[i].length, &number), rows[i].good);
		assert_true(number == (rows[i].good ? rows[i].number : 77));
	}
}

static void a_text_that_does_not_fit_is_cut_and_says_so(void **state)
{
	char memory[8];
	struct pvf_text text;

	(void)state;
	memset(memory, 'x', sizeof(memory));
	pvf_text_start(&text, memory, 5);
	pvf_text_add(&text, "abcdefg");
	assert_string_equal(memory, "abcd");
	assert_true(text.cut);
	assert_int_equal(memory[5], 'x');
	pvf_text_start(&text, memory, 0);
	pvf_text_add(&text, "a");
	assert_true(text.cut);
}

static void what_the_peer_wrote_is_shown_without_control_characters(void **state)
{
	char memory[100];
	struct pvf_text text;

	(void)state;
	pvf_text_start(&text, memory, sizeof(memory));
	pvf_text_peer(&text, "a\033[2J\n\0b", 8);
	assert_string_equal(memory, "a?[2J??b");
	pvf_text_start(&text, memory, sizeof(memory));
	memset(memory + 1, 0, 1);
	pvf_text_peer(&text, "0123456789012345678901234567890123456789012345678901234567890123456789", 70);
	assert_int_equal(strlen(memory), 64 + 3);
}

static void histogram_edges_rise_and_are_an_eighth_apart(void **state)
{
	(void)state;
	for (uint32_t i = 1; i < 480; i++) {
		uint64_t before = pvf_latency_bucket_ns(i - 1), edge = pvf_latency_bucket_ns(i);

		assert_true(edge > before);
		if (i >= 16)
			assert_true(edge - before <= (before + 1) / 8 + 1);
	}
}

static const struct pvf_test tests[] = {
	PVF_TEST(numbers_are_written_as_printf_writes_them, "", "unit", "numbers of 64 bits are written in decimal"),
	PVF_TEST(only_plain_decimal_numbers_are_parsed, "X06", "unit",
		 "only plain decimal numbers of 64 bits are parsed"),
	PVF_TEST(a_text_that_does_not_fit_is_cut_and_says_so, "", "unit",
		 "a text that does not fit is cut and says so"),
	PVF_TEST(what_the_peer_wrote_is_shown_without_control_characters, "X06", "unit",
		 "what the peer wrote is shown without control characters"),
	PVF_TEST(histogram_edges_rise_and_are_an_eighth_apart, "V30", "unit",
		 "edges of the latency histogram rise by an eighth"),
};

int main(void)
{
	return pvf_run_tests("unit", tests, sizeof(tests) / sizeof(tests[0]));
}
