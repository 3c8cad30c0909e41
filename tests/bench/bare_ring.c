/* SPDX-License-Identifier: MIT */
/*
 * The bare ring: slots and indices only, what the shared page costs whatever runs on it. No events, no checks, no
 * grants, no identities.
 *
 * FROZEN. Bars are ratios to this file, so that neither its loops nor its flags (-O2, nothing else; see meson.build) may
 * change: a faster or slower bare ring would move every bar. If it has to change, every figure measured against it starts
 * again.
 */
#include "bench.h"

PVF_INLINE void put_request(struct bench_ring *ring, uint32_t i, uint32_t segments)
{
	struct pvf_wire_blkif_request *request = &ring->entry[i & (BENCH_ENTRIES - 1)].request;

	request->operation = PVF_WIRE_BLKIF_OP_READ;
	request->nr_segments = (uint8_t)segments;
	request->handle = BENCH_HANDLE;
	request->id = i;
	request->sector_number = (uint64_t)i * BENCH_SECTORS;
	for (uint32_t k = 0; k < segments; k++) {
		request->seg[k].gref = i * PVF_WIRE_BLKIF_MAX_DIRECT + k;
		request->seg[k].first_sect = 0;
		request->seg[k].last_sect = BENCH_SECTORS - 1;
	}
}

PVF_INLINE uint64_t take_request(struct bench_ring *ring, uint32_t i)
{
	struct pvf_wire_blkif_request *request = &ring->entry[i & (BENCH_ENTRIES - 1)].request;
	struct pvf_wire_blkif_response *response = &ring->entry[i & (BENCH_ENTRIES - 1)].response;
	uint64_t sum = request->sector_number;
	uint32_t segments = request->nr_segments;

	for (uint32_t k = 0; k < segments; k++)
		sum += request->seg[k].gref + request->seg[k].last_sect;
	uint64_t id = request->id;
	uint8_t operation = request->operation;
	response->id = id;
	response->operation = operation;
	response->status = PVF_WIRE_BLKIF_OKAY;
	return sum;
}

PVF_INLINE uint64_t take_response(struct bench_ring *ring, uint32_t i)
{
	struct pvf_wire_blkif_response *response = &ring->entry[i & (BENCH_ENTRIES - 1)].response;

	return response->id + (uint64_t)response->status;
}

void bare_reset(struct bench_ring *ring)
{
	ring->head.req_prod = 0;
	ring->head.rsp_prod = 0;
}

void bare_one_thread(struct bench_ring *ring, uint32_t depth, uint32_t segments, uint32_t rounds)
{
	uint32_t produced = ring->head.req_prod, consumed = ring->head.rsp_prod, served = consumed;
	uint64_t sum = 0;

	for (uint32_t round = 0; round < rounds; round++) {
		for (uint32_t k = 0; k < depth; k++)
			put_request(ring, produced++, segments);
		pvf_store32_release(&ring->head.req_prod, produced);
		uint32_t end = pvf_load32_acquire(&ring->head.req_prod);
		while (served != end)
			sum += take_request(ring, served++);
		pvf_store32_release(&ring->head.rsp_prod, served);
		end = pvf_load32_acquire(&ring->head.rsp_prod);
		while (consumed != end)
			sum += take_response(ring, consumed++);
	}
	bench_sink = sum;
}

/* The frontend's two halves, as a program with a window of requests runs them. */
struct window {
	struct bench_ring *ring;
	uint32_t produced, consumed;
	uint32_t issued, done;
	uint32_t requests, depth, segments;
	uint64_t sum;
};

PVF_INLINE void submit(struct window *window)
{
	uint32_t produced = window->produced, before = produced, issued = window->issued;

	while (issued < window->requests && produced - window->consumed < window->depth) {
		put_request(window->ring, produced++, window->segments);
		issued++;
	}
	if (produced != before)
		pvf_store32_release(&window->ring->head.req_prod, produced);
	window->produced = produced;
	window->issued = issued;
}

PVF_INLINE void reap(struct window *window)
{
	uint32_t consumed = window->consumed, done = window->done, end;
	uint64_t sum = window->sum;

	while ((end = pvf_load32_acquire(&window->ring->head.rsp_prod)) == consumed)
		pvf_relax();
	while (consumed != end) {
		sum += take_response(window->ring, consumed++);
		done++;
	}
	window->consumed = consumed;
	window->done = done;
	window->sum = sum;
}

PVF_INLINE struct window window_over(struct bench_ring *ring, uint32_t depth, uint32_t segments, uint32_t requests)
{
	return (struct window){
		.ring = ring,
		.produced = ring->head.req_prod,
		.consumed = ring->head.rsp_prod,
		.requests = requests,
		.depth = depth,
		.segments = segments,
	};
}

void bare_front(struct bench_ring *ring, uint32_t depth, uint32_t segments, uint32_t requests)
{
	struct window window = window_over(ring, depth, segments, requests);

	while (window.done < requests) {
		submit(&window);
		reap(&window);
	}
	bench_sink = window.sum;
}

void bare_back(struct bench_ring *ring, volatile uint32_t *stop)
{
	uint32_t served = ring->head.rsp_prod;
	uint64_t sum = 0;

	for (;;) {
		uint32_t end = pvf_load32_acquire(&ring->head.req_prod);

		if (end == served) {
			if (*stop)
				break;
			pvf_relax();
			continue;
		}
		while (served != end)
			sum += take_request(ring, served++);
		pvf_store32_release(&ring->head.rsp_prod, served);
	}
	bench_sink = sum;
}

PVF_NOINLINE void counted_bare_submit(struct window *window);
PVF_NOINLINE void counted_bare_reap(struct window *window);

void counted_bare_submit(struct window *window)
{
	submit(window);
}

void counted_bare_reap(struct window *window)
{
	reap(window);
}

void bare_counted(struct bench_ring *ring, uint32_t depth, uint32_t segments, uint32_t requests)
{
	struct window window = window_over(ring, depth, segments, requests);
	uint32_t served = window.consumed;
	uint64_t sum = 0;

	while (window.done < requests) {
		counted_bare_submit(&window);
		uint32_t end = pvf_load32_acquire(&ring->head.req_prod);
		while (served != end)
			sum += take_request(ring, served++);
		pvf_store32_release(&ring->head.rsp_prod, served);
		counted_bare_reap(&window);
	}
	bench_sink = sum + window.sum;
}
