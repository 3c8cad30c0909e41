/* SPDX-License-Identifier: MIT */
/*
 * Measures; tests/bench/run.py knows the bars and judges. One JSON object a line.
 *
 *   pvf-bench instructions bare|floor|library SEGMENTS REQUESTS   runs under callgrind, prints nothing
 *   pvf-bench counts                                              what is the same in every run
 *   pvf-bench times                                               what is not
 *
 * Times are the medians (two threads: the tenth percentiles) of many short repetitions in which the contestants
 * alternate: the machine is shared, and what slows one repetition down must not fall on one contestant alone.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"

#define DEPTH BENCH_ENTRIES
#define PAGE_SEGMENTS 1u  /* 4 KiB */
#define LARGE_SEGMENTS 8u /* 32 KiB */
#define MAX_REPEATS 600u
/* On a busy machine threads that spin wait for each other by the scheduler's clock: fewer repetitions then, not hours. */
#define MIN_REPEATS 60u
#define BUDGET_NS 4000000000u

static _Alignas(4096) struct bench_ring bare_ring, floor_ring;

/* ---- results ---- */

static void print(const char *name, double value, const char *unit)
{
	printf("{\"name\": \"%s\", \"value\": %.6g, \"unit\": \"%s\"}\n", name, value, unit);
	fflush(stdout);
}

static int compare(const void *left, const void *right)
{
	double a = *(const double *)left, b = *(const double *)right;

	return (a > b) - (a < b);
}

/* The value below which `percent` of the n values lie. */
static double percentile(double *values, uint32_t n, uint32_t percent)
{
	qsort(values, n, sizeof(*values), compare);
	return values[n * percent / 100];
}

/* True while the `i`th repetition should still be made. */
static bool again(uint32_t i, uint32_t repeats, uint64_t begin)
{
	return i < repeats && (i < MIN_REPEATS || bench_now() - begin < BUDGET_NS);
}

/* ---- the floor with its rings and channels ---- */

struct floor {
	struct floor_front front;
	struct bench_backend backend;
	struct bench_channel to_backend, to_frontend;
	uint32_t refs[BENCH_ENTRIES * BENCH_MAX_SEGMENTS];
};

static void floor_open(struct floor *floor, bool polls)
{
	memset(floor, 0, sizeof(*floor));
	for (uint32_t i = 0; i < BENCH_ENTRIES * BENCH_MAX_SEGMENTS; i++)
		floor->refs[i] = 8 + i;
	memset(&floor_ring, 0, sizeof(floor_ring));
	floor_init(&floor->front, &floor_ring, polls, &floor->to_backend, floor->refs);
	bench_backend_init(&floor->backend, &floor_ring, 0, polls, &floor->to_frontend);
}

/* ---- instructions ---- */

static int instructions(const char *contestant, uint32_t segments, uint32_t requests)
{
	uint32_t rounds = requests / DEPTH;

	if (segments < 1 || segments > BENCH_MAX_SEGMENTS || !rounds)
		bench_fail("instructions", "wants 1 to 8 segments and at least 32 requests");
	if (!strcmp(contestant, "bare")) {
		bare_reset(&bare_ring);
		bare_counted(&bare_ring, DEPTH, segments, rounds * DEPTH);
	} else if (!strcmp(contestant, "floor")) {
		struct floor floor;

		floor_open(&floor, false);
		floor_counted(&floor.front, &floor.backend, DEPTH, segments, rounds);
	} else if (!strcmp(contestant, "library")) {
		struct library *library = library_open(segments, false);

		library_one_thread(library, DEPTH, rounds);
		library_close(library);
	} else {
		bench_fail(contestant, "is no contestant; they are bare, floor, library");
	}
	return 0;
}

/* ---- counts ---- */

static void count_one(bool polls, const char *suffix)
{
	enum { ROUNDS = 1000 };
	struct library *library = library_open(PAGE_SEGMENTS, polls);
	struct library_counts before, after;
	char name[64];

	/* A few rounds first: whatever a first use costs is not steady state. */
	library_one_thread(library, DEPTH, 4);
	library_counts(library, &before);
	library_one_thread(library, DEPTH, ROUNDS);
	library_counts(library, &after);
	double requests = (double)(after.requests - before.requests);
	if (after.requests - before.requests != ROUNDS * DEPTH || after.responses - before.responses != ROUNDS * DEPTH)
		bench_fail("statistics", "do not count the requests that were made");
	if (after.notifications - before.notifications != after.to_backend - before.to_backend)
		bench_fail("statistics", "do not count the notifications that were sent");

	snprintf(name, sizeof(name), "notifications_to_backend%s", suffix);
	print(name, (double)(after.to_backend - before.to_backend) / requests, "per request");
	snprintf(name, sizeof(name), "notifications_to_frontend%s", suffix);
	print(name, (double)(after.to_frontend - before.to_frontend) / requests, "per request");
	snprintf(name, sizeof(name), "grant_operations%s", suffix);
	print(name,
	      (double)(after.grant_operations - before.grant_operations + after.host_grant_calls -
		       before.host_grant_calls) /
		      requests,
	      "per request");
	snprintf(name, sizeof(name), "other_host_calls%s", suffix);
	print(name, (double)(after.host_other_calls - before.host_other_calls) / requests, "per request");
	library_close(library);
}

static int counts(void)
{
	enum { SEEDS = 16 };
	uint32_t worst = 0;

	count_one(false, "");
	count_one(true, "_polling");
	for (uint64_t seed = 1; seed <= SEEDS; seed++) {
		uint32_t trips = sim_connect_round_trips(seed);

		worst = trips > worst ? trips : worst;
	}
	print("store_round_trips", worst, "per connect");
	return 0;
}

/* ---- times, one thread ---- */

static void print_named(const char *what, const char *which, double value, const char *unit)
{
	char name[96];

	snprintf(name, sizeof(name), "%s_%s", what, which);
	print(name, value, unit);
}

/*
 * A ratio is the median of the repetitions' own ratios: how fast the machine is changes from one moment to the next, and a
 * contestant's median may fall in another moment than the other's.
 */
static void one_thread(uint32_t depth, uint32_t segments, uint32_t rounds, uint32_t repeats, const char *what)
{
	static double bare[MAX_REPEATS], floor_times[MAX_REPEATS], lib[MAX_REPEATS], embedded[MAX_REPEATS];
	static double over_bare[MAX_REPEATS], over_floor[MAX_REPEATS];
	static double embedded_over_bare[MAX_REPEATS], embedded_over_floor[MAX_REPEATS];
	struct library *library = library_open(segments, false);
	double requests = (double)depth * rounds;
	uint64_t begin = bench_now();
	struct floor floor;
	uint32_t i;

	bare_reset(&bare_ring);
	floor_open(&floor, false);
	for (i = 0; again(i, repeats, begin); i++) {
		uint64_t start = bench_now();
		bare_one_thread(&bare_ring, depth, segments, rounds);
		uint64_t after_bare = bench_now();
		floor_one_thread(&floor.front, &floor.backend, depth, segments, rounds);
		uint64_t after_floor = bench_now();
		library_one_thread(library, depth, rounds);
		uint64_t after_library = bench_now();
		embedded_one_thread(library, depth, rounds);
		uint64_t after_embedded = bench_now();

		bare[i] = (double)(after_bare - start) / requests;
		floor_times[i] = (double)(after_floor - after_bare) / requests;
		lib[i] = (double)(after_library - after_floor) / requests;
		embedded[i] = (double)(after_embedded - after_library) / requests;
		over_bare[i] = lib[i] / bare[i];
		over_floor[i] = lib[i] / floor_times[i];
		embedded_over_bare[i] = embedded[i] / bare[i];
		embedded_over_floor[i] = embedded[i] / floor_times[i];
	}
	print_named(what, "bare", percentile(bare, i, 50), "ns");
	print_named(what, "floor", percentile(floor_times, i, 50), "ns");
	print_named(what, "library", percentile(lib, i, 50), "ns");
	print_named(what, "embedded", percentile(embedded, i, 50), "ns");
	print_named(what, "embedded_over_bare", percentile(embedded_over_bare, i, 50), "ratio");
	print_named(what, "embedded_over_floor", percentile(embedded_over_floor, i, 50), "ratio");
	print_named(what, "library_over_bare", percentile(over_bare, i, 50), "ratio");
	print_named(what, "library_over_floor", percentile(over_floor, i, 50), "ratio");
	library_close(library);
}

/* ---- times, two threads ---- */

enum part { PART_NONE, PART_BARE, PART_SERVED, PART_END };

/* The backend's thread waits, spinning, for its next part: all contestants run on the same two threads. */
struct duet {
	_Alignas(PVF_CACHE_LINE) volatile uint32_t part;
	struct bench_backend *volatile backend;
	_Alignas(PVF_CACHE_LINE) volatile uint32_t stop;
};

static void *second(void *arg)
{
	struct duet *duet = arg;
	uint32_t part;

	bench_pin(1);
	while ((part = pvf_load32_acquire(&duet->part)) != PART_END) {
		if (part == PART_NONE) {
			pvf_relax();
			continue;
		}
		if (part == PART_BARE)
			bare_back(&bare_ring, &duet->stop);
		while (part == PART_SERVED && !duet->stop)
			if (!bench_backend_run(duet->backend))
				pvf_relax();
		pvf_store32_release(&duet->part, PART_NONE);
	}
	return NULL;
}

static void set_off(struct duet *duet, uint32_t part, struct bench_backend *backend)
{
	duet->stop = 0;
	duet->backend = backend;
	pvf_store32_release(&duet->part, part);
}

static void call_back(struct duet *duet)
{
	pvf_store32_release(&duet->stop, 1);
	while (pvf_load32_acquire(&duet->part) != PART_NONE)
		pvf_relax();
}

static void two_threads(uint32_t depth, uint32_t requests, uint32_t repeats, const char *what)
{
	static double bare[MAX_REPEATS], floor_times[MAX_REPEATS], lib[MAX_REPEATS];
	struct library *library = library_open(PAGE_SEGMENTS, true);
	static struct duet duet;
	uint64_t begin = bench_now();
	struct floor floor;
	pthread_t thread;
	uint32_t i;

	bare_reset(&bare_ring);
	floor_open(&floor, true);
	duet.part = PART_NONE;
	bench_pin(0);
	if (pthread_create(&thread, NULL, second, &duet))
		bench_fail("a second thread", "cannot be made");
	for (i = 0; again(i, repeats, begin); i++) {
		set_off(&duet, PART_BARE, NULL);
		uint64_t start = bench_now();
		bare_front(&bare_ring, depth, PAGE_SEGMENTS, requests);
		bare[i] = (double)(bench_now() - start) / requests;
		call_back(&duet);

		set_off(&duet, PART_SERVED, &floor.backend);
		start = bench_now();
		floor_front_run(&floor.front, depth, PAGE_SEGMENTS, requests);
		floor_times[i] = (double)(bench_now() - start) / requests;
		call_back(&duet);

		set_off(&duet, PART_SERVED, library_backend(library));
		start = bench_now();
		library_front(library, depth, requests);
		lib[i] = (double)(bench_now() - start) / requests;
		call_back(&duet);
	}
	pvf_store32_release(&duet.part, PART_END);
	pthread_join(thread, NULL);
	print_named(what, "bare", percentile(bare, i, 10), "ns");
	print_named(what, "floor", percentile(floor_times, i, 10), "ns");
	print_named(what, "library", percentile(lib, i, 10), "ns");
	library_close(library);
}

/* ---- times, asleep ---- */

static void blocking(uint32_t round_trips, uint32_t repeats)
{
	static double eventfds[MAX_REPEATS], lib[MAX_REPEATS], ratio[MAX_REPEATS];

	bench_pin(1);
	struct sim_blocking *sim = sim_blocking_open();
	bench_pin(0);
	struct wakeups *wakeups = wakeups_open();
	sim_blocking_run(sim, round_trips);
	wakeups_run(wakeups, round_trips);
	uint64_t begin = bench_now();
	uint32_t i;
	for (i = 0; again(i, repeats, begin); i++) {
		uint64_t start = bench_now();
		wakeups_run(wakeups, round_trips);
		uint64_t middle = bench_now();
		sim_blocking_run(sim, round_trips);
		uint64_t stop = bench_now();

		eventfds[i] = (double)(middle - start) / round_trips;
		lib[i] = (double)(stop - middle) / round_trips;
		ratio[i] = lib[i] / eventfds[i];
	}
	wakeups_close(wakeups);
	sim_blocking_close(sim);
	print("blocking_eventfds", percentile(eventfds, i, 50), "ns");
	print("blocking_library", percentile(lib, i, 50), "ns");
	print("blocking_library_over_eventfds", percentile(ratio, i, 50), "ratio");
}

static int times(void)
{
	bench_pin(0);
	one_thread(DEPTH, PAGE_SEGMENTS, 60, 500, "one_thread_qd32_4k");
	one_thread(DEPTH, LARGE_SEGMENTS, 60, 200, "one_thread_qd32_32k");
	one_thread(1, PAGE_SEGMENTS, 600, 500, "one_thread_qd1_4k");
	/* On one CPU two threads that spin take turns by the scheduler's clock: nothing to compare. */
	if (bench_cpus() >= 2) {
		two_threads(DEPTH, 10000, 200, "two_threads_qd32_4k");
		two_threads(1, 1000, 200, "two_threads_qd1_4k");
	}
	blocking(10, 200);
	return 0;
}

int main(int argc, char **argv)
{
	if (argc == 5 && !strcmp(argv[1], "instructions"))
		return instructions(argv[2], (uint32_t)strtoul(argv[3], NULL, 10),
				    (uint32_t)strtoul(argv[4], NULL, 10));
	if (argc == 2 && !strcmp(argv[1], "counts"))
		return counts();
	if (argc == 2 && !strcmp(argv[1], "times"))
		return times();
	fprintf(stderr, "usage: pvf-bench instructions bare|floor|library SEGMENTS REQUESTS | counts | times\n");
	return 2;
}
