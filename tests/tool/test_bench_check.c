/* SPDX-License-Identifier: MIT */
/* The laws that a benchmark's result must obey, fed with results that break them. */
#include "tool_tests.h"

#include <math.h>
#include <string.h>

#include "bench_account.h"
#include "bench_check.h"
#include "bench_pattern.h"
#include "pattern.h"

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

/* What one run of 4000 requests looks like on a clock that is read at any time; every eighth completion may be told twice. */
static struct bench_run accounted(uint64_t seed, bool twice)
{
	static struct bench_account account;
	uint64_t submitted[32], now = 1000;
	uint32_t in_flight = 0;
	struct bench_run run = {0};

	bench_account_start(&account, now);
	while (account.requests < 4000 || in_flight > 0) {
		uint64_t word = pattern_mix(seed++);
		uint32_t before, n;

		while (account.requests < 4000 && in_flight < 32)
			submitted[in_flight++] = account.last;
		before = in_flight;
		/* One in sixteen waits is cut by a scheduler that had other things to do, for up to 16 ms. */
		now += word % 3000 + ((word >> 16) % 16 == 0 ? (word >> 32) % 16000000 : 0);
		bench_account_look(&account, now, before);
		for (n = 1 + (uint32_t)(word >> 20) % before; n > 0; n--) {
			bench_account_done(&account, submitted[--in_flight]);
			if (twice && account.requests % 8 == 0)
				bench_account_done(&account, submitted[in_flight]);
		}
	}
	run.requests = account.requests;
	run.seconds = (double)(account.last - account.started) / 1e9;
	run.iops = (double)run.requests / run.seconds;
	run.min = account.min;
	run.max = account.max;
	run.average = (double)account.sum / (double)account.requests;
	run.p50 = bench_percentile(account.histogram, PVF_LATENCY_BUCKETS, pvf_latency_bucket_ns, 50, run.max);
	run.p99 = bench_percentile(account.histogram, PVF_LATENCY_BUCKETS, pvf_latency_bucket_ns, 99, run.max);
	run.depth = (double)account.in_flight_time / (double)(account.last - account.started);
	run.time_reversals = account.reversals;
	if (!twice)
		assert_int_equal(account.in_flight_time, account.sum);
	return run;
}

static void accounts_for_preemption(void **state)
{
	char why[256] = "";

	(void)state;
	for (uint64_t seed = 0; seed < 100; seed++) {
		struct bench_run run = accounted(seed * 1000003, false);

		if (!bench_check(&run, why, sizeof(why)))
			fail_msg("seed %u: %s", (unsigned int)seed, why);
		run = accounted(seed * 1000003, true);
		expect_refused(&run, "Little's law");
	}
}

static void counts_reversals(void **state)
{
	struct bench_account account;

	(void)state;
	bench_account_start(&account, 5000);
	bench_account_look(&account, 6000, 1);
	bench_account_done(&account, 5000);
	bench_account_look(&account, 5999, 1);
	bench_account_done(&account, 6000);
	assert_int_equal(account.reversals, 1);
	assert_int_equal(account.sum, 1000);
	assert_int_equal(account.histogram[0], 1);
	assert_int_equal(account.in_flight_time, 1000);
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
	PVF_TEST(
		accounts_for_preemption, "V30", "unit",
		"a run that is stopped at any time still obeys Little's law, one with completions told twice does not"),
	PVF_TEST(counts_reversals, "V30", "unit",
		 "a clock that goes backwards is counted, and no latency is made of it"),
	PVF_TEST(finds_percentiles, "V30", "unit", "percentiles of a histogram are the buckets' upper edges"),
	PVF_TEST(finds_medians, "", "unit", "the median run and the spread are found in any order of runs"),
	PVF_TEST(picks_pattern, "", "unit",
		 "a bench pattern has its share of reads and random places, the same for a seed"),
};
const size_t nr_bench_check_tests = sizeof(bench_check_tests) / sizeof(bench_check_tests[0]);
