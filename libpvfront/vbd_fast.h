/* SPDX-License-Identifier: MIT */
/*
 * The fast path of submit, push and reap, for those who compile the core into their program: the same code as behind the
 * functions of <pvfront/vbd.h>, inline. At queue depth 1 a third of the time of the three calls is getting in and out of
 * them (docs/DECISIONS.md, "The fast path"). Contexts, arguments and results are those of the functions.
 */
#ifndef PVFRONT_VBD_FAST_H
#define PVFRONT_VBD_FAST_H

#include "vbd_internal.h"

#define VBD_LAST_SECTOR ((uint64_t)7 << 40) /* of a page, in a segment's word */

/*
 * Puts I/Os on the ring from the first on, as long as they are whole pages of one POOL segment and far enough from the end
 * of the device that one compare is enough; returns how many. The caller has seen that there are `n` free slots. One
 * branch for each check: combined into one condition they cost three times the instructions.
 */
PVF_INLINE uint32_t vbd_put_whole_pages(struct pvf_vbd_queue *queue, const struct pvf_vbd_io *ios, uint32_t n,
					bool timed, uint64_t now)
{
	const struct pvf_vbd_io *io = ios, *end = ios + n;
	const uint16_t *free_ids = queue->free_ids + queue->nr_free;
	volatile uint64_t *entry = pvf_ring_entry(&queue->ring, queue->ring.req_prod, VBD_STRIDE);
	uint8_t *used_words = queue->used_words + (queue->ring.req_prod & queue->ring.mask);
	uint32_t tag = queue->pool_tag, more_segments = 0;

	for (; io != end; io++) {
		const struct pvf_seg *seg = io->segs;
		uint64_t length, offset;
		const uint32_t *refs;
		struct vbd_slot *slot;
		uint32_t pages;

		if (PVF_UNLIKELY(io->nr_segs != 1))
			break;
		if (PVF_UNLIKELY(io->op > queue->max_op))
			break;
		length = seg->length;
		offset = seg->offset;
		if (PVF_UNLIKELY(seg->tag != tag))
			break;
		if (PVF_UNLIKELY((offset | length) & (PVF_PAGE_SIZE - 1u)))
			break;
		if (PVF_UNLIKELY(length - 1u >= VBD_MAX_PAGES * PVF_PAGE_SIZE))
			break;
		if (PVF_UNLIKELY((offset + length - 1u) >> PVF_PAGE_SHIFT >= seg->pages))
			break;
		if (PVF_UNLIKELY(io->sector >= queue->fast_sectors))
			break;
		if (PVF_UNLIKELY(io->sector & queue->sector_mask))
			break;
		slot = &queue->slots[*--free_ids];
		refs = seg->refs + (offset >> PVF_PAGE_SHIFT);
		slot->user = io->user;
		slot->want = length << 32 | io->op;
		if (timed)
			slot->time = now;
		PVF_RING_FILL(entry + 1, slot->id);
		PVF_RING_FILL(entry + 2, io->sector);
		PVF_RING_FILL(entry + 3, refs[0] | VBD_LAST_SECTOR);
		pages = (uint32_t)length >> PVF_PAGE_SHIFT;
		PVF_RING_FILL(entry, queue->entry_head | pages << 8 | io->op);
		for (uint32_t i = 1; i < pages; i++)
			PVF_RING_FILL(entry + VBD_HEADER_WORDS + i, refs[i] | VBD_LAST_SECTOR);
		more_segments += pages - 1u;
		if (PVF_UNLIKELY(*used_words != pages))
			vbd_clear_tail(entry, used_words, pages);
		if (entry == queue->last_entry) {
			entry = pvf_ring_entry(&queue->ring, 0, VBD_STRIDE);
			used_words = queue->used_words;
		} else {
			entry += VBD_ENTRY_WORDS;
			used_words++;
		}
	}
	n = (uint32_t)(io - ios);
	queue->statistics.segments += n + more_segments;
	queue->nr_free -= n;
	queue->ring.req_prod += n;
	return n;
}

/*
 * Takes `n` responses from the first on, as long as each is the good answer to a simple request; returns how many. Their
 * slots are free afterwards, under their next ids.
 */
PVF_INLINE uint32_t vbd_take_plain(struct pvf_vbd_queue *queue, struct pvf_vbd_done *done, uint32_t n, bool timed)
{
	const volatile uint64_t *entry = pvf_ring_entry(&queue->ring, queue->ring.rsp_cons, VBD_STRIDE);
	struct pvf_vbd_done *at = done, *end = done + n;
	uint16_t *free_ids = queue->free_ids + queue->nr_free;
	struct vbd_slot *slots = queue->slots;
	uint32_t mask = queue->ring.mask;
	uint64_t writes = 0, bytes = 0, bytes_written = 0; /* in registers: totals in memory stall at queue depth 1 */

	for (; at != end; at++) {
		uint64_t id = PVF_RING_COPY(entry);
		uint32_t word = (uint32_t)PVF_RING_COPY(entry + 1);
		uint32_t index = (uint32_t)id & mask;
		struct vbd_slot *slot = &slots[index];
		uint64_t want;

		if (PVF_UNLIKELY(slot->id != id))
			break;
		want = slot->want;
		if (PVF_UNLIKELY((word & VBD_RESPONSE_MASK) != (uint32_t)want))
			break;
		if (timed)
			pvf_vbd_count_latency(queue, queue->reap_time - slot->time);
		at->user = slot->user;
		at->status = PVF_OK;
		writes += word & 1u;
		bytes += want >> 32;
		bytes_written += (0u - (uint64_t)(word & 1u)) & want >> 32;
		slot->id = id + VBD_ID_GENERATION;
		slot->want = VBD_WANT_NOTHING;
		*free_ids++ = (uint16_t)index;
		entry = entry == queue->last_entry ? pvf_ring_entry(&queue->ring, 0, VBD_STRIDE)
						   : entry + VBD_ENTRY_WORDS;
	}
	n = (uint32_t)(at - done);
	queue->nr_free += n;
	queue->ring.rsp_cons += n;
	queue->statistics.reads += n - writes;
	queue->statistics.bytes_read += bytes - bytes_written;
	/* Every store here is one the next push's barrier waits for. */
	if (writes) {
		queue->statistics.writes += writes;
		queue->statistics.bytes_written += bytes_written;
	}
	return n;
}

PVF_INLINE int pvf_vbd_submit_inline(struct pvf_vbd_queue *queue, const struct pvf_vbd_io *ios, uint32_t n)
{
	uint32_t mode = pvf_gate_enter(&queue->gate), done;
	int result;

	if (PVF_UNLIKELY(mode | pvf_load32(&queue->slow)))
		return pvf_vbd_submit_slowly(queue, ios, n, mode);
	done = vbd_put_whole_pages(queue, ios, n < queue->nr_free ? n : queue->nr_free, false, 0);
	result = (int)done;
	if (PVF_UNLIKELY(done != n))
		result = pvf_vbd_submit_any(queue, ios, n, done);
	pvf_gate_leave(&queue->gate);
	return result;
}

PVF_INLINE int pvf_vbd_push_inline(struct pvf_vbd_queue *queue)
{
	int notified = 0;

	if (PVF_LIKELY(pvf_gate_enter(&queue->gate) <= PVF_GATE_DRAIN && queue->ring.req_prod != queue->ring.published))
		notified = vbd_push(queue);
	pvf_gate_leave(&queue->gate);
	return notified;
}

PVF_INLINE int pvf_vbd_reap_inline(struct pvf_vbd_queue *queue, struct pvf_vbd_done *done, uint32_t max)
{
	uint32_t mode = pvf_gate_enter(&queue->gate), ready, n;

	if (PVF_UNLIKELY(mode | pvf_load32(&queue->slow)))
		return pvf_vbd_reap_slowly(queue, done, max, 0, mode);
	ready = pvf_ring_responses(&queue->ring) - queue->ring.rsp_cons;
	/* More than was sent is a lie; at `max` the ring may not be empty afterwards, and the event is not armed. */
	if (PVF_UNLIKELY(ready > queue->ring.published - queue->ring.rsp_cons || ready >= max))
		return pvf_vbd_reap_slowly(queue, done, max, 0, mode);
	n = vbd_take_plain(queue, done, ready, false);
	if (PVF_UNLIKELY(n != ready))
		return pvf_vbd_reap_slowly(queue, done, max, n, mode);
	if (!(queue->flags & PVF_VBD_POLL) && PVF_UNLIKELY(pvf_ring_final_check(&queue->ring)))
		return pvf_vbd_reap_slowly(queue, done, max, n, mode);
	pvf_gate_leave(&queue->gate);
	return (int)n;
}

#endif
