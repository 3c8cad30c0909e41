/* SPDX-License-Identifier: MIT */
/* Counters and the latency histogram: eight buckets for each power of two, so an edge is at most an eighth off. */
#include "bytes.h"

#include "vbd_internal.h"

/* The position of the highest bit; `value` is not 0. */
static uint32_t highest_bit(uint64_t value)
{
	uint32_t bit = 0;

	for (uint32_t step = 32; step; step >>= 1) {
		if (value >> step) {
			value >>= step;
			bit += step;
		}
	}
	return bit;
}

static uint32_t bucket_of(uint64_t nanoseconds)
{
	uint32_t bit;

	if (nanoseconds < 8u)
		return (uint32_t)nanoseconds;
	bit = highest_bit(nanoseconds);
	return (bit - 2u) * 8u + (uint32_t)(nanoseconds >> (bit - 3u) & 7u);
}

uint64_t pvf_latency_bucket_ns(uint32_t bucket)
{
	uint32_t power = bucket / 8u, step = bucket % 8u;

	if (bucket < 8u)
		return bucket;
	if (power + 2u >= 64u)
		return UINT64_MAX;
	return ((uint64_t)(8u + step + 1u) << (power - 1u)) - 1u;
}

void pvf_vbd_count_latency(struct pvf_vbd_queue *queue, uint64_t nanoseconds)
{
	struct pvf_vbd_statistics *s = &queue->statistics;

	if (nanoseconds < s->latency_min)
		s->latency_min = nanoseconds;
	if (nanoseconds > s->latency_max)
		s->latency_max = nanoseconds;
	s->latency_sum += nanoseconds;
	s->latency_count++;
	queue->histogram[bucket_of(nanoseconds)]++;
}

uint32_t pvf_vbd_events(const struct pvf_vbd_queue *queue)
{
	/* The device's first: pvf_event counts it last, so that the difference is never short. */
	uint32_t device = pvf_event_sequence(&queue->vbd->device.event);

	return pvf_event_sequence(&queue->event) - device - queue->event_base;
}

int pvf_vbd_statistics(struct pvf_vbd_queue *queue, struct pvf_vbd_statistics *statistics, uint32_t *histogram)
{
	uint32_t mode = pvf_gate_enter(&queue->gate);

	memset(statistics, 0, sizeof(*statistics));
	if (mode == PVF_GATE_SHUT) {
		pvf_gate_leave(&queue->gate);
		return PVF_AGAIN;
	}
	*statistics = queue->statistics;
	if (statistics->latency_count == 0)
		statistics->latency_min = 0;
	/* What was sent and is not outstanding was answered, but for what was cut off when a ring stopped. */
	statistics->responses = statistics->requests - queue->statistics.responses;
	if (mode <= PVF_GATE_DRAIN) {
		statistics->responses -= queue->ring.published - queue->ring.rsp_cons;
		statistics->events += pvf_vbd_events(queue);
	}
	if (histogram)
		memcpy(histogram, queue->histogram, PVF_LATENCY_BUCKETS * sizeof(*histogram));
	pvf_gate_leave(&queue->gate);
	return PVF_OK;
}
