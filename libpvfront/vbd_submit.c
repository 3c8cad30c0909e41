/* SPDX-License-Identifier: MIT */
/*
 * submit and push. The fast path is one POOL segment: a run of whole pages, or a part of one page. It is checked, then
 * written to the ring as whole words, and what it leaves unused is zero, so that nothing of an earlier request and nobody's
 * stack is left in an entry (XSA-216). All else goes by way of vbd_split.c. What it costs: docs/DECISIONS.md, "The fast path".
 */
#include "vbd_internal.h"

#define LAST_SECTOR ((uint64_t)7 << 40) /* of a page, in a segment's word */

/*
 * Puts I/Os on the ring from the first on, as long as they are whole pages of one POOL segment and far enough from the end
 * of the device that one compare is enough; returns how many. The caller has seen that there are `n` free slots. One
 * branch for each check: combined into one condition they cost three times the instructions.
 */
PVF_INLINE uint32_t put_whole_pages(struct pvf_vbd_queue *queue, const struct pvf_vbd_io *ios, uint32_t n, bool timed,
				    uint64_t now)
{
	const struct pvf_vbd_io *io = ios, *end = ios + n;
	const uint16_t *free_ids = queue->free_ids + queue->nr_free;
	volatile uint64_t *entry = pvf_ring_entry(&queue->ring, queue->ring.req_prod, VBD_STRIDE);
	uint8_t *used_words = queue->used_words + (queue->ring.req_prod & queue->ring.mask);
	uint32_t tag = queue->pool_tag, more_segments = 0;

	for (; io != end; io++) {
		const struct pvf_seg *seg = io->segs;
		uint64_t length = seg->length, offset = seg->offset;
		const uint32_t *refs;
		struct vbd_slot *slot;
		uint32_t pages;

		if (PVF_UNLIKELY(io->nr_segs != 1))
			break;
		if (PVF_UNLIKELY(io->op > queue->max_op))
			break;
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
		pvf_store64(entry + 1, slot->id);
		pvf_store64(entry + 2, io->sector);
		pvf_store64(entry + 3, refs[0] | LAST_SECTOR);
		pages = (uint32_t)length >> PVF_PAGE_SHIFT;
		pvf_store64(entry, queue->entry_head | pages << 8 | io->op);
		for (uint32_t i = 1; i < pages; i++)
			pvf_store64(entry + VBD_HEADER_WORDS + i, refs[i] | LAST_SECTOR);
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

/* One POOL segment within one page, as for 512 bytes or 2 KiB. False: it is not one, or something is wrong with it. */
PVF_NOINLINE static bool put_in_page(struct pvf_vbd_queue *queue, const struct pvf_vbd_io *io, uint64_t now)
{
	const struct pvf_seg *seg = io->segs;
	volatile uint64_t *entry;
	struct vbd_slot *slot;
	uint32_t in_page, page;
	uint64_t first, last;

	if (io->nr_segs != 1 || io->op > queue->max_op || seg->tag != queue->pool_tag)
		return false;
	in_page = seg->offset & (PVF_PAGE_SIZE - 1u);
	page = seg->offset >> PVF_PAGE_SHIFT;
	if (seg->length == 0 || seg->length > PVF_PAGE_SIZE - in_page || page >= seg->pages)
		return false;
	if ((seg->length | in_page) & queue->unit_mask || io->sector >= queue->fast_sectors || io->sector & queue->sector_mask)
		return false;
	slot = &queue->slots[queue->free_ids[--queue->nr_free]];
	slot->user = io->user;
	slot->want = vbd_want(io->op, seg->length);
	slot->time = now;
	first = in_page >> PVF_WIRE_BLKIF_SECTOR_SHIFT;
	last = (in_page + seg->length - 1u) >> PVF_WIRE_BLKIF_SECTOR_SHIFT;
	entry = pvf_ring_entry(&queue->ring, queue->ring.req_prod, VBD_STRIDE);
	pvf_store64(entry, queue->entry_head | 1u << 8 | io->op);
	pvf_store64(entry + 1, slot->id);
	pvf_store64(entry + 2, io->sector);
	pvf_store64(entry + 3, seg->refs[page] | first << 32 | last << 40);
	vbd_clear_tail(entry, &queue->used_words[queue->ring.req_prod & queue->ring.mask], 1);
	queue->ring.req_prod++;
	queue->statistics.segments++;
	return true;
}

/* What the run of whole pages stopped at: one I/O, any kind. */
PVF_NOINLINE static int put_other(struct pvf_vbd_queue *queue, const struct pvf_vbd_io *io, uint64_t now)
{
	return put_in_page(queue, io, now) ? PVF_OK : pvf_vbd_split_submit(queue, io);
}

/* From the I/O `done` on, with all that can happen on the way. The caller has found the gate open. */
PVF_NOINLINE static int submit_any(struct pvf_vbd_queue *queue, const struct pvf_vbd_io *ios, uint32_t n, uint32_t done)
{
	bool timed = (queue->flags & PVF_VBD_TIMING) != 0;
	uint64_t now = timed ? queue->host->ops->now(queue->host->ctx) : 0;

	if (queue->feeding != VBD_NO_SPLIT)
		pvf_vbd_split_feed(queue);
	while (queue->feeding == VBD_NO_SPLIT) {
		uint32_t run = n - done < queue->nr_free ? n - done : queue->nr_free;
		int status;

		done += put_whole_pages(queue, ios + done, run, true, now);
		if (done == n || queue->nr_free == 0)
			break;
		status = put_other(queue, &ios[done], now);
		if (status != PVF_OK)
			return done ? (int)done : status;
		done++;
	}
	return done || n == 0 ? (int)done : PVF_AGAIN;
}

/* The gate is not open, or something keeps submit from the fast path. */
PVF_NOINLINE static int submit_slowly(struct pvf_vbd_queue *queue, const struct pvf_vbd_io *ios, uint32_t n, uint32_t mode)
{
	int result;

	if (mode == PVF_GATE_SHUT)
		result = PVF_AGAIN;
	else if (queue->bad)
		result = PVF_BROKEN;
	else if (mode != PVF_GATE_OPEN)
		result = (int)pvf_load32(&queue->refusal);
	else if (queue->slow & VBD_SLOW_NO_RING)
		result = PVF_AGAIN; /* what ended without an answer must be reaped first */
	else
		result = submit_any(queue, ios, n, 0);
	pvf_gate_leave(&queue->gate);
	return result;
}

int pvf_vbd_submit(struct pvf_vbd_queue *queue, const struct pvf_vbd_io *ios, uint32_t n)
{
	uint32_t mode = pvf_gate_enter(&queue->gate), done;
	int result;

	if (PVF_UNLIKELY(mode | queue->slow))
		return submit_slowly(queue, ios, n, mode);
	done = put_whole_pages(queue, ios, n < queue->nr_free ? n : queue->nr_free, false, 0);
	result = (int)done;
	if (PVF_UNLIKELY(done != n))
		result = submit_any(queue, ios, n, done);
	pvf_gate_leave(&queue->gate);
	return result;
}

int pvf_vbd_push(struct pvf_vbd_queue *queue)
{
	int notified = 0;

	if (PVF_LIKELY(pvf_gate_enter(&queue->gate) <= PVF_GATE_DRAIN && queue->ring.req_prod != queue->ring.published))
		notified = vbd_push(queue);
	pvf_gate_leave(&queue->gate);
	return notified;
}
