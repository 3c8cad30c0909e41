/* SPDX-License-Identifier: MIT */
/* One measured run, and the laws that it must obey before anybody is shown it. */
#ifndef BENCH_CHECK_H
#define BENCH_CHECK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define BENCH_LITTLE_TOLERANCE 0.05

struct bench_run {
	uint64_t requests; /* completed */
	double seconds;    /* from the first submit to the last completion */
	double iops;
	uint64_t min, p50, p99, max;      /* latency, nanoseconds */
	double average;                   /* latency, nanoseconds */
	double depth;                     /* requests in flight, averaged over time */
	uint64_t time_reversals;          /* times the clock went backwards */
	double frontend_cpu, backend_cpu; /* seconds */
	uint64_t notifications, events;
};

/* True when the run can be believed; else `why` says which check it breaks, with the numbers. */
bool bench_check(const struct bench_run *run, char *why, size_t capacity);

/*
 * The latency that `percent` of a histogram's requests do not exceed. `upper` gives each bucket's upper edge. In the
 * bucket that holds the largest value, that value (`max`) is the better answer than the edge.
 */
uint64_t bench_percentile(const uint32_t *histogram, uint32_t buckets, uint64_t (*upper)(uint32_t bucket),
			  double percent, uint64_t max);

/* The index of the median run by IOPS; *spread is (largest - smallest) / median. */
uint32_t bench_median(const double *iops, uint32_t n, double *spread);

#endif
