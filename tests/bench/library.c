/* SPDX-License-Identifier: MIT */
/*
 * The library as a program uses it that owns its buffers: one pool buffer for each slot, prepared once, filled in place.
 * For each request the program sets the sector and looks at what came back.
 */
#include <stdlib.h>
#include <string.h>

#include <pvfront/vbd.h>

#include "bench.h"
#include "bench_host.h"
#include "vbd_fast.h" /* of the core: the same calls, inline */

/* Room for more completions than there can be: reap must find the ring empty and arm the event, as the floor does. */
#define DONE (2 * BENCH_ENTRIES)

struct library {
	struct bench_host *host;
	struct pvf_vbd *vbd;
	struct pvf_vbd_queue *queue;
	struct bench_backend backend;
	struct bench_channel to_frontend;
	uint32_t next; /* request number: its slot and its sector */
	uint32_t in_flight;
	struct pvf_seg segs[BENCH_ENTRIES];
	struct pvf_vbd_io ios[2 * BENCH_ENTRIES]; /* twice, so that any run of slots is contiguous */
	struct pvf_vbd_done done[DONE];
};

struct library *library_open(uint32_t segments, bool polls)
{
	struct library *library = aligned_alloc(_Alignof(struct library), sizeof(*library));
	struct pvf_vbd_options options = PVF_VBD_OPTIONS;

	if (!library)
		bench_fail("no memory", "for the library's contestant");
	memset(library, 0, sizeof(*library));
	library->host = bench_host_create();
	options.flags = polls ? PVF_VBD_POLL : 0;
	int status = pvf_vbd_open(bench_host_table(library->host), BENCH_VBD_PATH, &options, &library->vbd);
	if (status < 0)
		bench_fail("pvf_vbd_open", pvf_status_text(status));
	status = pvf_vbd_connect(library->vbd);
	if (status < 0)
		bench_fail(pvf_status_name(status), pvf_vbd_error(library->vbd));
	library->queue = pvf_vbd_queue(library->vbd, 0);
	struct bench_ring *ring = bench_host_ring(library->host);
	if (!ring)
		bench_fail("pvf_vbd_connect", "published no ring");
	bench_backend_init(&library->backend, ring, ring->head.rsp_prod, polls, &library->to_frontend);
	for (uint32_t i = 0; i < BENCH_ENTRIES; i++) {
		status = pvf_vbd_buffer(library->queue, segments << PVF_PAGE_SHIFT, &library->segs[i]);
		if (status < 0)
			bench_fail("pvf_vbd_buffer", pvf_status_text(status));
		library->ios[i] = (struct pvf_vbd_io){
			.segs = &library->segs[i],
			.user = &library->segs[i],
			.nr_segs = 1,
			.op = PVF_VBD_READ,
		};
		library->ios[BENCH_ENTRIES + i] = library->ios[i];
	}
	return library;
}

void library_close(struct library *library)
{
	for (uint32_t i = 0; i < BENCH_ENTRIES; i++)
		pvf_vbd_release(library->queue, &library->segs[i]);
	if (pvf_vbd_close(library->vbd) < 0)
		bench_fail("pvf_vbd_close", "a page was held");
	bench_host_destroy(library->host);
	free(library);
}

struct bench_backend *library_backend(struct library *library)
{
	return &library->backend;
}

/* `embedded`: the calls inline, as a program has them that compiles the core in; else the library's functions. */
PVF_INLINE void issue(struct library *library, uint32_t n, bool embedded)
{
	struct pvf_vbd_io *ios = library->ios + (library->next & (BENCH_ENTRIES - 1));
	struct pvf_vbd_queue *queue = library->queue;

	for (uint32_t i = 0; i < n; i++)
		ios[i].sector = (uint64_t)library->next++ * BENCH_SECTORS;
	int taken = embedded ? pvf_vbd_submit_inline(queue, ios, n) : pvf_vbd_submit(queue, ios, n);
	if (PVF_UNLIKELY(taken != (int)n))
		bench_fail("pvf_vbd_submit", taken < 0 ? pvf_status_text(taken) : "took fewer than there is room for");
	library->in_flight += n;
	(void)(embedded ? pvf_vbd_push_inline(queue) : pvf_vbd_push(queue));
}

PVF_INLINE uint32_t collect(struct library *library, uint64_t *sum, bool embedded)
{
	int got = embedded ? pvf_vbd_reap_inline(library->queue, library->done, DONE)
			   : pvf_vbd_reap(library->queue, library->done, DONE);
	uint32_t n = (uint32_t)got;

	for (uint32_t i = 0; i < n; i++)
		*sum += (uintptr_t)library->done[i].user + (uint32_t)library->done[i].status;
	library->in_flight -= n;
	return n;
}

PVF_INLINE void one_thread(struct library *library, uint32_t depth, uint32_t rounds, bool embedded)
{
	uint64_t sum = 0;

	for (uint32_t round = 0; round < rounds; round++) {
		issue(library, depth, embedded);
		bench_backend_run(&library->backend);
		if (PVF_UNLIKELY(collect(library, &sum, embedded) != depth))
			bench_fail("pvf_vbd_reap", "did not return what the backend answered");
	}
	bench_sink = sum;
}

void library_one_thread(struct library *library, uint32_t depth, uint32_t rounds)
{
	one_thread(library, depth, rounds, false);
}

void embedded_one_thread(struct library *library, uint32_t depth, uint32_t rounds)
{
	one_thread(library, depth, rounds, true);
}

void library_front(struct library *library, uint32_t depth, uint32_t requests)
{
	uint32_t done = 0, issued = 0, got;
	uint64_t sum = 0;

	while (done < requests) {
		uint32_t room = depth - library->in_flight;
		uint32_t n = room < requests - issued ? room : requests - issued;

		if (n)
			issue(library, n, false);
		issued += n;
		while ((got = collect(library, &sum, false)) == 0)
			pvf_relax();
		done += got;
	}
	bench_sink = sum;
}

void library_counts(const struct library *library, struct library_counts *counts)
{
	struct pvf_vbd_statistics statistics;
	struct bench_host_calls calls;

	pvf_vbd_statistics(library->queue, &statistics, NULL);
	bench_host_calls(library->host, &calls);
	*counts = (struct library_counts){
		.requests = statistics.requests,
		.responses = statistics.responses,
		.to_backend = bench_host_channel(library->host)->notifications,
		.to_frontend = library->to_frontend.notifications,
		.notifications = statistics.notifications,
		.grant_operations = statistics.grant_operations,
		.host_grant_calls = calls.grants,
		.host_other_calls = calls.other,
	};
}
