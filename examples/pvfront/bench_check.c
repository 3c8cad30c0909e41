/* SPDX-License-Identifier: MIT */
#include "bench_check.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

static bool check_time(const struct bench_run *run, char *why, size_t capacity)
{
	if (run->time_reversals == 0 && run->seconds > 0)
		return true;
	(void)snprintf(why, capacity, "time ran backwards: the clock did so %" PRIu64 " times, and the run took %.9f s",
		       run->time_reversals, run->seconds);
	return false;
}

static bool check_order(const struct bench_run *run, char *why, size_t capacity)
{
	if (run->min <= run->p50 && run->p50 <= run->p99 && run->p99 <= run->max && run->average >= (double)run->min &&
	    run->average <= (double)run->max)
		return true;
	(void)snprintf(why, capacity,
		       "min <= p50 <= p99 <= max and min <= average <= max do not hold: min %" PRIu64 ", p50 %" PRIu64
		       ", p99 %" PRIu64 ", max %" PRIu64 ", average %.0f ns",
		       run->min, run->p50, run->p99, run->max, run->average);
	return false;
}

/* Written so that a number that is none fails it too. */
static bool check_little(const struct bench_run *run, char *why, size_t capacity)
{
	double expected = run->iops * run->average / 1e9;

	if (isfinite(run->depth) && run->depth > 0 &&
	    fabs(expected - run->depth) <= BENCH_LITTLE_TOLERANCE * run->depth)
		return true;
	(void)snprintf(
		why, capacity,
		"Little's law is broken by more than %.0f %%: %.1f IOPS x %.0f ns average latency = %.3f requests in "
		"flight, but %.3f were",
		BENCH_LITTLE_TOLERANCE * 100, run->iops, run->average, expected, run->depth);
	return false;
}

bool bench_check(const struct bench_run *run, char *why, size_t capacity)
{
	if (run->requests == 0) {
		(void)snprintf(why, capacity, "no request completed in %.3f s", run->seconds);
		return false;
	}
	return check_time(run, why, capacity) && check_order(run, why, capacity) && check_little(run, why, capacity);
}

uint64_t bench_percentile(const uint32_t *histogram, uint32_t buckets, uint64_t (*upper)(uint32_t bucket),
			  double percent, uint64_t max)
{
	double total = 0, seen = 0;

	for (uint32_t i = 0; i < buckets; i++)
		total += histogram[i];
	for (uint32_t i = 0; i < buckets; i++) {
		seen += histogram[i];
		if (histogram[i] == 0 || seen < total * percent / 100)
			continue;
		if (max < upper(i) && (i == 0 || max >= upper(i - 1)))
			return max;
		return upper(i);
	}
	return max;
}

uint32_t bench_median(const double *iops, uint32_t n, double *spread)
{
	uint32_t median = 0;
	double smallest = iops[0], largest = iops[0];

	for (uint32_t i = 0; i < n; i++) {
		uint32_t below = 0;

		/* Its place in the order; equal ones keep theirs. */
		for (uint32_t j = 0; j < n; j++)
			below += iops[j] < iops[i] || (iops[j] <= iops[i] && j < i) ? 1u : 0u;
		if (below == n / 2)
			median = i;
		smallest = iops[i] < smallest ? iops[i] : smallest;
		largest = iops[i] > largest ? iops[i] : largest;
	}
	*spread = iops[median] > 0 ? (largest - smallest) / iops[median] : 0;
	return median;
}
