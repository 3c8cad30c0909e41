/* SPDX-License-Identifier: MIT */
/*
 * The smallest backend that is correct: takes what is there, publishes its answers once, notifies if it was asked to, and
 * goes to sleep only after the final check (Xen: io/ring.h, RING_PUSH_RESPONSES_AND_CHECK_NOTIFY and
 * RING_FINAL_CHECK_FOR_REQUESTS). Floor and library are served by this very function.
 */
#include "bench.h"

void bench_channel_notify(void *channel)
{
	((struct bench_channel *)channel)->notifications++;
}

void bench_backend_init(struct bench_backend *backend, struct bench_ring *ring, uint32_t start, bool polls,
			struct bench_channel *channel)
{
	backend->ring = ring;
	backend->consumed = start;
	backend->polls = polls;
	backend->notify = bench_channel_notify;
	backend->notify_ctx = channel;
	backend->sum = 0;
}

PVF_INLINE uint64_t answer(struct bench_ring *ring, uint32_t i)
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

bool bench_backend_run(struct bench_backend *backend)
{
	struct pvf_wire_ring *head = &backend->ring->head;
	uint32_t start = backend->consumed, consumed = start;
	uint32_t end = pvf_load32_acquire(&head->req_prod);
	uint64_t sum = backend->sum;

	if (end == consumed)
		return false;
	for (;;) {
		while (consumed != end)
			sum += answer(backend->ring, consumed++);
		if (backend->polls)
			break;
		pvf_store32(&head->req_event, consumed + 1);
		pvf_mb();
		end = pvf_load32_acquire(&head->req_prod);
		if (end == consumed)
			break;
	}
	backend->sum = sum;
	backend->consumed = consumed;
	pvf_store32_release(&head->rsp_prod, consumed);
	pvf_mb();
	if (consumed - pvf_load32(&head->rsp_event) < consumed - start)
		backend->notify(backend->notify_ctx);
	return true;
}
