/* SPDX-License-Identifier: MIT */
/* The laws that a benchmark's result must obey, fed with results that break them. */
#include "tool_tests.h"

#include <math.h>
#include <string.h>

#include "bench_check.h"
#include "bench_pattern.h"

/* 100000 IOPS at 320 us: 32 in flight. */
static struct bench_run good_run(void)
{
	return (struct bench_run){
		.requests = 200000,
		.seconds = 2,
		.iops = 100000,
		.min = 20000,
		.p50 = 300000,
		.p99 = 900000,
		.max = 4000000,
		.average = 320000,
		.depth = 32,
	};
}

static void expect_refused(const struct bench_run *run, const char *names)
{
	char why[256] = "";

	assert_false(bench_check(run, why, sizeof(why)));
	if (strstr(why, names) == NULL)
		fail_msg("the sentence '%s' does not name '%s'", why, names);
}

static void accepts_consistent(void **state)
{
	struct bench_run run = good_run();
	char why[256];

	(void)state;
	assert_true(bench_check(&run, why, sizeof(why)));
	run.depth = 32 / 0.96;
	assert_true(bench_check(&run, why, sizeof(why)));
	run.depth = 32 / 1.04;
	assert_true(bench_check(&run, why, sizeof(why)));
	run = good_run();
	run.min = run.p50 = run.p99 = run.max = 320000;
	assert_true(bench_check(&run, why, sizeof(why)));
}

static void refuses_order(void **state)
{
	static const struct {
		uint64_t min, p50, p99, max;
		double average;
	} rows[] = {
		{300001, 300000, 900000, 4000000, 320000}, {20000, 300000, 900000, 299999, 320000},
		{20000, 300000, 299999, 4000000, 320000},  {20000, 300000, 900000, 899999, 320000},
		{20000, 300000, 900000, 4000000, 19999},   {20000, 300000, 900000, 4000000, 4000001},
		{20000, 300000, 900000, 4000000, NAN},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct bench_run run = good_run();

		run.min = rows[i].min;
		run.p50 = rows[i].p50;
		run.p99 = rows[i].p99;
		run.max = rows[i].max;
		run.average = rows[i].average;
		expect_refused(&run, "min <= p50");
	}
}

static void refuses_time(void **state)
{
	struct bench_run run = good_run();

	(void)state;
	run.time_reversals = 1;
	expect_refused(&run, "time ran backwards");
	run = good_run();
	run.seconds = 0;
	expect_refused(&run, "time ran backwards");
	run.seconds = -1;
	expect_refused(&run, "time ran backwards");
	run = good_run();
	run.requests = 0;
	expect_refused(&run, "no request");
}

static void refuses_little(void **state)
{
	static const double depths[] = {32 / 0.94, 32 / 1.06, 1, 64, 0, -32, NAN, INFINITY};
	struct bench_run run;

	(void)state;
	for (size_t i = 0; i < sizeof(depths) / sizeof(depths[0]); i++) {
		run = good_run();
		run.depth = depths[i];
		expect_refused(&run, "Little's law");
	}
	run = good_run();
	run.iops = 110000;
	expect_refused(&run, "110000");
	run.iops = NAN;
	expect_refused(&run, "Little's law");
}

static uint64_t hundreds(uint32_t bucket)
{
	return (bucket + 1u) * 100u;
}

static void finds_percentiles(void **state)
{
	uint32_t histogram[8] = {0, 50, 30, 0, 19, 0, 0, 1};

	(void)state;
	assert_int_equal(bench_percentile(histogram, 8, hundreds, 50, 777), 200);
	assert_int_equal(bench_percentile(histogram, 8, hundreds, 51, 777), 300);
	assert_int_equal(bench_percentile(histogram, 8, hundreds, 99, 777), 500);
	assert_int_equal(bench_percentile(histogram, 8, hundreds, 100, 777), 777);
	/* A largest value that no bucket of the histogram can hold must not hide what the histogram says. */
	assert_int_equal(bench_percentile(histogram, 8, hundreds, 50, 99), 200);
}

static void finds_medians(void **state)
{
	static const double five[] = {50, 10, 30, 20, 40}, equal[] = {7, 7, 7, 7}, two[] = {100, 150};
	double spread;

	(void)state;
	assert_int_equal(bench_median(five, 5, &spread), 2);
	assert_true(fabs(spread - 40.0 / 30.0) < 1e-9);
	assert_int_equal(bench_median(equal, 4, &spread), 2);
	assert_true(spread == 0);
	assert_int_equal(bench_median(two, 2, &spread), 1);
	assert_int_equal(bench_median(two, 1, &spread), 0);
}

static void picks_pattern(void **state)
{
	struct bench_picker picker, again;
	uint32_t reads = 0, jumps = 0;
	uint64_t next = 0;

	(void)state;
	bench_picker_start(&picker, bench_pattern_find("reallife"), 100, 1000, 7);
	bench_picker_start(&again, bench_pattern_find("reallife"), 100, 1000, 7);
	for (uint32_t i = 0; i < 100000; i++) {
		bool read, same;
		uint64_t sector = bench_pick(&picker, &read);

		assert_int_equal(sector, bench_pick(&again, &same));
		assert_int_equal(read, same);
		assert_in_range(sector, 100, 100 + 999 * 4);
		assert_int_equal((sector - 100) % 4, 0);
		reads += read;
		if ((sector - 100) / 4 == next % 1000)
			next++;
		else
			jumps++;
	}
	assert_in_range(reads, 64000, 66000);
	assert_in_range(jumps, 59000, 61000);
}

const struct pvf_test bench_check_tests[] = {
	PVF_TEST(accepts_consistent, "V30", "unit", "bench accepts a result within 5 % of Little's law"),
	PVF_TEST(refuses_order, "V30", "unit", "bench refuses a result whose latencies are out of order"),
	PVF_TEST(refuses_time, "V30", "unit",
		 "bench refuses a result in which time ran backwards or nothing completed"),
	PVF_TEST(refuses_little, "V30", "unit", "bench refuses a result that breaks Little's law by more than 5 %"),
	PVF_TEST(finds_percentiles, "V30", "unit", "percentiles of a histogram are the buckets' upper edges"),
	PVF_TEST(finds_medians, "", "unit", "the median run and the spread are found in any order of runs"),
	PVF_TEST(picks_pattern, "", "unit",
		 "a bench pattern has its share of reads and random places, the same for a seed"),
};
const size_t nr_bench_check_tests = sizeof(bench_check_tests) / sizeof(bench_check_tests[0]);
