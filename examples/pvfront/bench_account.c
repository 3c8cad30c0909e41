/* SPDX-License-Identifier: MIT */
#include "bench_account.h"

#include <string.h>

void bench_account_start(struct bench_account *account, uint64_t now)
{
	memset(account, 0, sizeof(*account));
	account->started = account->last = now;
	account->min = UINT64_MAX;
	for (uint32_t i = 0; i < PVF_LATENCY_BUCKETS; i++)
		account->edges[i] = pvf_latency_bucket_ns(i);
}

void bench_account_look(struct bench_account *account, uint64_t now, uint32_t in_flight)
{
	if (now < account->last)
		account->reversals++;
	else
		account->in_flight_time += (now - account->last) * in_flight;
	account->last = now;
}

/* The first bucket whose upper edge is not below. */
static uint32_t bucket_of(const struct bench_account *account, uint64_t latency)
{
	uint32_t first = 0, last = PVF_LATENCY_BUCKETS - 1;

	while (first < last) {
		uint32_t middle = (first + last) / 2;

		if (account->edges[middle] < latency)
			first = middle + 1;
		else
			last = middle;
	}
	return first;
}

void bench_account_done(struct bench_account *account, uint64_t submitted)
{
	/* A clock that went backwards was counted; no latency is made of it. */
	uint64_t latency = account->last > submitted ? account->last - submitted : 0;

	account->requests++;
	account->sum += latency;
	if (latency < account->min)
		account->min = latency;
	if (latency > account->max)
		account->max = latency;
	account->histogram[bucket_of(account, latency)]++;
}
