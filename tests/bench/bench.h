/* SPDX-License-Identifier: MIT */
/* What the contestants of the benchmark share: the ring they all use, the clock, and their entry points. */
#ifndef PVFRONT_BENCH_H
#define PVFRONT_BENCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <pvfront/compiler.h>
#include <pvfront/wire/blkif.h>
#include <pvfront/wire/ring.h>

#define BENCH_ENTRIES 32u
#define BENCH_MAX_SEGMENTS 8u
#define BENCH_HANDLE 51712u
#define BENCH_SECTORS 8u /* of a 4 KiB page */

/* One ring page in the protocol's layout. */
struct bench_ring {
	struct pvf_wire_ring head;
	union pvf_wire_blkif_entry entry[BENCH_ENTRIES];
};

_Static_assert(sizeof(struct bench_ring) <= 4096, "one page");

/* Keeps results alive. */
extern volatile uint64_t bench_sink;

/* An event channel that only counts: what a hypervisor would do next is the same for every contestant. */
struct bench_channel {
	_Alignas(2 * PVF_CACHE_LINE) uint64_t notifications;
};

void bench_channel_notify(void *channel);

/* The backend of floor and library: correct event handling, touches in an entry what the bare ring's backend touches. */
struct bench_backend {
	/* Another thread's than what stands beside it: on lines of its own. */
	_Alignas(2 * PVF_CACHE_LINE) struct bench_ring *ring;
	uint32_t consumed; /* requests taken = responses made */
	bool polls;        /* never asks for an event */
	void (*notify)(void *ctx);
	void *notify_ctx;
	uint64_t sum;
};

void bench_backend_init(struct bench_backend *backend, struct bench_ring *ring, uint32_t start, bool polls,
			struct bench_channel *channel);
/* Serves what is on the ring; false when there was nothing. */
bool bench_backend_run(struct bench_backend *backend);

/* ---- bare ring ---- */

void bare_reset(struct bench_ring *ring);
void bare_one_thread(struct bench_ring *ring, uint32_t depth, uint32_t segments, uint32_t rounds);
/* Two threads: the frontend issues `requests`, at most `depth` at a time; the backend serves until *stop. */
void bare_front(struct bench_ring *ring, uint32_t depth, uint32_t segments, uint32_t requests);
void bare_back(struct bench_ring *ring, volatile uint32_t *stop);
/* One thread again, the frontend's two halves as functions of their own for callgrind to find. */
void bare_counted(struct bench_ring *ring, uint32_t depth, uint32_t segments, uint32_t requests);

/* ---- protocol floor ---- */

struct floor_front {
	struct bench_ring *ring;
	uint32_t produced, consumed;
	bool polls;
	void (*notify)(void *ctx);
	void *notify_ctx;
	const uint32_t *refs; /* a page of references for each slot and segment, granted beforehand */
};

void floor_init(struct floor_front *front, struct bench_ring *ring, bool polls, struct bench_channel *channel,
		const uint32_t *refs);
void floor_one_thread(struct floor_front *front, struct bench_backend *backend, uint32_t depth, uint32_t segments,
		      uint32_t rounds);
void floor_front_run(struct floor_front *front, uint32_t depth, uint32_t segments, uint32_t requests);
void floor_counted(struct floor_front *front, struct bench_backend *backend, uint32_t depth, uint32_t segments,
		   uint32_t rounds);

/* ---- the library ---- */

struct library;

/* Opens, connects, and makes the buffers: `segments` pages for each slot. Exits with a sentence when it cannot. */
struct library *library_open(uint32_t segments, bool polls);
void library_close(struct library *library);
struct bench_backend *library_backend(struct library *library);
void library_one_thread(struct library *library, uint32_t depth, uint32_t rounds);
/* The same with the core compiled in: submit, push and reap inline. */
void embedded_one_thread(struct library *library, uint32_t depth, uint32_t rounds);
void library_front(struct library *library, uint32_t depth, uint32_t requests);

/* What one run of the library did, from its own statistics, its host's counters and the backend's. */
struct library_counts {
	uint64_t requests, responses;     /* the library's figures */
	uint64_t to_backend, to_frontend; /* notifications that reached the channels */
	uint64_t notifications;           /* those to the backend, the library's figure */
	uint64_t grant_operations;        /* the library's figure */
	uint64_t host_grant_calls;        /* what the host saw */
	uint64_t host_other_calls;        /* likewise, but for notifications and the clock */
};

void library_counts(const struct library *library, struct library_counts *counts);

/* ---- the simulator ---- */

/* Dependent store round trips of one connect in the stepped simulator with this seed (PERF P11). */
uint32_t sim_connect_round_trips(uint64_t seed);

struct sim_blocking;
/* A vbd over a RAM disk, threads, spinning off. The backend's thread inherits the caller's CPU. */
struct sim_blocking *sim_blocking_open(void);
void sim_blocking_run(struct sim_blocking *sim, uint32_t requests);
void sim_blocking_close(struct sim_blocking *sim);

/* ---- two eventfd wake-ups ---- */

struct wakeups;
/* A thread on the second CPU that answers each write to one eventfd with a write to another. */
struct wakeups *wakeups_open(void);
void wakeups_run(struct wakeups *wakeups, uint32_t round_trips);
void wakeups_close(struct wakeups *wakeups);

/* ---- clock, CPUs, failure ---- */

uint64_t bench_now(void);
/* CPUs this process may use. */
uint32_t bench_cpus(void);
/* Pins the calling thread to the first (0) or second (1) of them when there are two. */
void bench_pin(uint32_t which);
/* Prints a sentence and exits with 2. */
_Noreturn void bench_fail(const char *what, const char *why);

#endif
