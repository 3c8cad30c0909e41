/* SPDX-License-Identifier: MIT */
/* What the benchmark asks of the machine: clock, CPUs, and the wake-up that P8 is compared with. */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "bench.h"

volatile uint64_t bench_sink;

struct wakeups {
	int there, back;
	pthread_t thread;
};

/* Sent once, at the end: the counter of an eventfd is the sum of what was written. */
#define WAKEUPS_END 2u

uint64_t bench_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* Remembered from the first call, before anything was pinned. */
static cpu_set_t *allowed(void)
{
	static cpu_set_t set;
	static bool known;

	if (!known && sched_getaffinity(0, sizeof(set), &set))
		CPU_ZERO(&set);
	known = true;
	return &set;
}

uint32_t bench_cpus(void)
{
	return (uint32_t)CPU_COUNT(allowed());
}

void bench_pin(uint32_t which)
{
	cpu_set_t one;

	if (bench_cpus() < 2)
		return;
	for (uint32_t cpu = 0; cpu < CPU_SETSIZE; cpu++) {
		if (!CPU_ISSET(cpu, allowed()) || which--)
			continue;
		CPU_ZERO(&one);
		CPU_SET(cpu, &one);
		sched_setaffinity(0, sizeof(one), &one);
		return;
	}
}

void bench_fail(const char *what, const char *why)
{
	fprintf(stderr, "pvf-bench: %s: %s\n", what, why);
	exit(2);
}

static uint64_t take(int fd)
{
	uint64_t value;

	if (read(fd, &value, sizeof(value)) != (ssize_t)sizeof(value))
		bench_fail("eventfd", "cannot be read");
	return value;
}

static void give(int fd, uint64_t value)
{
	if (write(fd, &value, sizeof(value)) != (ssize_t)sizeof(value))
		bench_fail("eventfd", "cannot be written");
}

static void *echo(void *arg)
{
	struct wakeups *wakeups = arg;

	bench_pin(1);
	while (take(wakeups->there) != WAKEUPS_END)
		give(wakeups->back, 1);
	return NULL;
}

struct wakeups *wakeups_open(void)
{
	struct wakeups *wakeups = calloc(1, sizeof(*wakeups));

	if (!wakeups)
		bench_fail("no memory", "for eventfds");
	wakeups->there = eventfd(0, EFD_CLOEXEC);
	wakeups->back = eventfd(0, EFD_CLOEXEC);
	if (wakeups->there < 0 || wakeups->back < 0 || pthread_create(&wakeups->thread, NULL, echo, wakeups))
		bench_fail("eventfd", "cannot be made");
	return wakeups;
}

void wakeups_run(struct wakeups *wakeups, uint32_t round_trips)
{
	for (uint32_t i = 0; i < round_trips; i++) {
		give(wakeups->there, 1);
		(void)take(wakeups->back);
	}
}

void wakeups_close(struct wakeups *wakeups)
{
	give(wakeups->there, WAKEUPS_END);
	pthread_join(wakeups->thread, NULL);
	close(wakeups->there);
	close(wakeups->back);
	free(wakeups);
}
