/* SPDX-License-Identifier: MIT */
/*
 * submit and push. The fast path is one POOL segment: a run of whole pages, or a part of one page. It is checked, then
 * written to the ring as whole words, and what it leaves unused is zero, so that nothing of an earlier request and nobody's
 * stack is left in an entry (XSA-216). All else goes by way of vbd_split.c. What it costs: docs/DECISIONS.md, "The fast path".
 */
#include "vbd_fast.h"

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
	if ((seg->length | in_page) & queue->unit_mask || io->sector >= queue->fast_sectors ||
	    io->sector & queue->sector_mask)
		return false;
	slot = &queue->slots[queue->free_ids[--queue->nr_free]];
	slot->user = io->user;
	slot->want = vbd_want(io->op, seg->length);
	slot->time = now;
	first = in_page >> PVF_WIRE_BLKIF_SECTOR_SHIFT;
	last = (in_page + seg->length - 1u) >> PVF_WIRE_BLKIF_SECTOR_SHIFT;
	entry = pvf_ring_entry(&queue->ring, queue->ring.req_prod, VBD_STRIDE);
	PVF_RING_FILL(entry, queue->entry_head | 1u << 8 | io->op);
	PVF_RING_FILL(entry + 1, slot->id);
	PVF_RING_FILL(entry + 2, io->sector);
	PVF_RING_FILL(entry + 3, seg->refs[page] | first << 32 | last << 40);
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
int pvf_vbd_submit_any(struct pvf_vbd_queue *queue, const struct pvf_vbd_io *ios, uint32_t n, uint32_t done)
{
	bool timed = (queue->flags & PVF_VBD_TIMING) != 0;
	uint64_t now = timed ? queue->host->ops->now(queue->host->ctx) : 0;

	if (queue->feeding != VBD_NO_SPLIT)
		pvf_vbd_split_feed(queue);
	while (queue->feeding == VBD_NO_SPLIT) {
		uint32_t run = n - done < queue->nr_free ? n - done : queue->nr_free;
		int status;

		done += vbd_put_whole_pages(queue, ios + done, run, true, now);
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
int pvf_vbd_submit_slowly(struct pvf_vbd_queue *queue, const struct pvf_vbd_io *ios, uint32_t n, uint32_t mode)
{
	int result;

	if (mode == PVF_GATE_SHUT)
		result = PVF_AGAIN;
	else if (queue->bad)
		result = PVF_BROKEN;
	else if (mode != PVF_GATE_OPEN)
		result = (int)pvf_load32(&queue->refusal);
	else if (vbd_off_ring(queue))
		result = PVF_AGAIN; /* what ended without an answer must be reaped first */
	else
		result = pvf_vbd_submit_any(queue, ios, n, 0);
	pvf_gate_leave(&queue->gate);
	return result;
}

int pvf_vbd_submit(struct pvf_vbd_queue *queue, const struct pvf_vbd_io *ios, uint32_t n)
{
	return pvf_vbd_submit_inline(queue, ios, n);
}

int pvf_vbd_push(struct pvf_vbd_queue *queue)
{
	return pvf_vbd_push_inline(queue);
}
