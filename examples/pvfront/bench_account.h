/* SPDX-License-Identifier: MIT */
/*
 * The time of a run, kept twice over the same looks at the clock: what was in flight between two looks, and how long
 * each request was. Whatever stops the process meanwhile lands in both, so that the two sums are equal for an honest
 * clock and for requests that each complete once (Little's law); the number in flight is the library's word, who
 * completes is the ring's.
 */
#ifndef BENCH_ACCOUNT_H
#define BENCH_ACCOUNT_H

#include <pvfront/vbd.h>
#include <stdint.h>

struct bench_account {
	uint64_t started, last;  /* looks at the clock, nanoseconds */
	uint64_t reversals;      /* times it went backwards */
	uint64_t in_flight_time; /* requests in flight times nanoseconds */
	uint64_t requests;       /* completed */
	uint64_t min, max, sum;  /* their latencies, nanoseconds */
	uint64_t edges[PVF_LATENCY_BUCKETS];
	uint32_t histogram[PVF_LATENCY_BUCKETS];
};

void bench_account_start(struct bench_account *account, uint64_t now);
/* A look at the clock; since the last one `in_flight` requests were. A request's time is that of the look before it. */
void bench_account_look(struct bench_account *account, uint64_t now, uint32_t in_flight);
/* One completed that was submitted after the look at `submitted`, and reaped before the last one. */
void bench_account_done(struct bench_account *account, uint64_t submitted);

#endif
