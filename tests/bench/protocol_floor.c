/* SPDX-License-Identifier: MIT */
/*
 * The protocol floor: the least a frontend must do to be correct with a peer it trusts. Batched, pages granted beforehand,
 * events as in Xen's io/ring.h on both sides (fill, release store, full barrier, load of the peer's event index; final
 * check with a full barrier), no check of anything that comes back. At depth 1 its four full barriers a round trip are
 * what time is spent on, which is why depth 1 is compared with this and not with the bare ring.
 */
#include "bench.h"

PVF_INLINE void fill(struct floor_front *front, uint32_t i, uint32_t segments)
{
	struct pvf_wire_blkif_request *request = &front->ring->entry[i & (BENCH_ENTRIES - 1)].request;
	const uint32_t *refs = front->refs + (i & (BENCH_ENTRIES - 1)) * BENCH_MAX_SEGMENTS;

	request->operation = PVF_WIRE_BLKIF_OP_READ;
	request->nr_segments = (uint8_t)segments;
	request->handle = BENCH_HANDLE;
	request->id = i;
	request->sector_number = (uint64_t)i * BENCH_SECTORS;
	for (uint32_t k = 0; k < segments; k++) {
		request->seg[k].gref = refs[k];
		request->seg[k].first_sect = 0;
		request->seg[k].last_sect = BENCH_SECTORS - 1;
	}
}

PVF_INLINE void submit(struct floor_front *front, uint32_t n, uint32_t segments)
{
	struct pvf_wire_ring *head = &front->ring->head;
	uint32_t start = front->produced, end = start + n;

	for (uint32_t i = start; i != end; i++)
		fill(front, i, segments);
	front->produced = end;
	pvf_store32_release(&head->req_prod, end);
	pvf_mb();
	if (end - pvf_load32(&head->req_event) < end - start)
		front->notify(front->notify_ctx);
}

PVF_INLINE uint32_t reap(struct floor_front *front, uint64_t *sum)
{
	struct pvf_wire_ring *head = &front->ring->head;
	uint32_t start = front->consumed, consumed = start;
	uint32_t end = pvf_load32_acquire(&head->rsp_prod);

	for (;;) {
		while (consumed != end) {
			struct pvf_wire_blkif_response *response =
				&front->ring->entry[consumed++ & (BENCH_ENTRIES - 1)].response;
			*sum += response->id + (uint64_t)response->status;
		}
		if (front->polls)
			break;
		pvf_store32(&head->rsp_event, consumed + 1);
		pvf_mb();
		end = pvf_load32_acquire(&head->rsp_prod);
		if (end == consumed)
			break;
	}
	front->consumed = consumed;
	return consumed - start;
}

void floor_init(struct floor_front *front, struct bench_ring *ring, bool polls, struct bench_channel *channel,
		const uint32_t *refs)
{
	front->ring = ring;
	front->produced = 0;
	front->consumed = 0;
	front->polls = polls;
	front->notify = bench_channel_notify;
	front->notify_ctx = channel;
	front->refs = refs;
	ring->head.req_prod = 0;
	ring->head.rsp_prod = 0;
	ring->head.req_event = 1;
	ring->head.rsp_event = 1;
}

void floor_one_thread(struct floor_front *front, struct bench_backend *backend, uint32_t depth, uint32_t segments,
		      uint32_t rounds)
{
	uint64_t sum = 0;

	for (uint32_t round = 0; round < rounds; round++) {
		submit(front, depth, segments);
		bench_backend_run(backend);
		reap(front, &sum);
	}
	bench_sink = sum;
}

void floor_front_run(struct floor_front *front, uint32_t depth, uint32_t segments, uint32_t requests)
{
	uint32_t done = 0, issued = 0;
	uint64_t sum = 0;

	while (done < requests) {
		uint32_t room = depth - (front->produced - front->consumed);
		uint32_t n = room < requests - issued ? room : requests - issued;
		uint32_t got;

		if (n)
			submit(front, n, segments);
		issued += n;
		while ((got = reap(front, &sum)) == 0)
			pvf_relax();
		done += got;
	}
	bench_sink = sum;
}

PVF_NOINLINE void counted_floor_submit(struct floor_front *front, uint32_t n, uint32_t segments);
PVF_NOINLINE uint32_t counted_floor_reap(struct floor_front *front, uint64_t *sum);

void counted_floor_submit(struct floor_front *front, uint32_t n, uint32_t segments)
{
	submit(front, n, segments);
}

uint32_t counted_floor_reap(struct floor_front *front, uint64_t *sum)
{
	return reap(front, sum);
}

void floor_counted(struct floor_front *front, struct bench_backend *backend, uint32_t depth, uint32_t segments,
		   uint32_t rounds)
{
	uint64_t sum = 0;

	for (uint32_t round = 0; round < rounds; round++) {
		counted_floor_submit(front, depth, segments);
		bench_backend_run(backend);
		counted_floor_reap(front, &sum);
	}
	bench_sink = sum;
}
