/* SPDX-License-Identifier: MIT */
/*
 * submit and push. The fast path is one POOL segment of up to 11 pages: checked, then written to the ring as whole words,
 * the unused ones as zero, so that nothing of an earlier request or of anybody's stack is left in an entry (XSA-216).
 */
#include "vbd_internal.h"

/* The number of pages a range touches. */
PVF_INLINE uint32_t pages_of(uint32_t offset, uint32_t length)
{
	return ((offset & (PVF_PAGE_SIZE - 1u)) + length + (PVF_PAGE_SIZE - 1u)) >> PVF_PAGE_SHIFT;
}

PVF_INLINE void write_segments(volatile uint64_t *entry, const struct pvf_seg *seg, uint32_t pages)
{
	const uint32_t *refs = seg->refs + (seg->offset >> PVF_PAGE_SHIFT);
	uint64_t first = (seg->offset & (PVF_PAGE_SIZE - 1u)) >> PVF_WIRE_BLKIF_SECTOR_SHIFT;
	uint64_t last = ((seg->offset + seg->length - 1u) & (PVF_PAGE_SIZE - 1u)) >> PVF_WIRE_BLKIF_SECTOR_SHIFT;
	volatile uint64_t *word = entry + VBD_HEADER_WORDS;

	if (pages == 1) {
		pvf_store64(word, refs[0] | first << 32 | last << 40);
		return;
	}
	pvf_store64(word, refs[0] | first << 32 | (uint64_t)7 << 40);
	for (uint32_t i = 1; i < pages - 1u; i++)
		pvf_store64(word + i, refs[i] | (uint64_t)7 << 40);
	pvf_store64(word + pages - 1u, refs[pages - 1u] | last << 40);
}

/* True when the I/O is one the fast path can put on the ring. What it refuses is looked at again by vbd_split_submit. */
PVF_INLINE bool is_simple(const struct pvf_vbd_queue *queue, const struct pvf_vbd_io *io)
{
	const struct pvf_seg *seg = io->segs;
	uint32_t sectors;

	if (io->op > queue->max_op || io->nr_segs != 1 || seg->tag != queue->pool_tag)
		return false;
	sectors = seg->length >> PVF_WIRE_BLKIF_SECTOR_SHIFT;
	if ((seg->length | seg->offset) & queue->unit_mask)
		return false;
	if (sectors - 1u >= VBD_MAX_PAGES * 8u || seg->offset > (seg->pages << PVF_PAGE_SHIFT) - seg->length)
		return false;
	if (io->sector & queue->sector_mask || io->sector >= queue->sectors || sectors > queue->sectors - io->sector)
		return false;
	return pages_of(seg->offset, seg->length) <= VBD_MAX_PAGES;
}

PVF_INLINE void put_simple(struct pvf_vbd_queue *queue, const struct pvf_vbd_io *io, uint64_t now)
{
	const struct pvf_seg *seg = io->segs;
	uint32_t pages = pages_of(seg->offset, seg->length);
	uint32_t index = queue->free_ids[--queue->nr_free];
	struct vbd_slot *slot = &queue->slots[index];
	volatile uint64_t *entry = pvf_ring_entry(&queue->ring, queue->ring.req_prod++, VBD_STRIDE);

	slot->user = io->user;
	slot->expect = io->op;
	slot->bytes = seg->length;
	slot->time = now;
	pvf_store64(entry + 0, queue->entry_head | (uint64_t)pages << 8 | io->op);
	pvf_store64(entry + 1, slot->id);
	pvf_store64(entry + 2, io->sector);
	write_segments(entry, seg, pages);
	for (uint32_t i = VBD_HEADER_WORDS + pages; i < VBD_ENTRY_WORDS; i++)
		pvf_store64(entry + i, 0);
	queue->statistics.segments += pages;
}

static int submit_open(struct pvf_vbd_queue *queue, const struct pvf_vbd_io *ios, uint32_t n)
{
	uint64_t now = queue->flags & PVF_VBD_TIMING ? queue->host->ops->now(queue->host->ctx) : 0;
	uint32_t before = queue->ring.req_prod, done = 0;
	int status = PVF_AGAIN;

	if (PVF_UNLIKELY(queue->feeding != VBD_NO_SPLIT))
		vbd_split_feed(queue);
	while (done < n && queue->nr_free && queue->feeding == VBD_NO_SPLIT && !queue->nr_ended) {
		if (PVF_LIKELY(is_simple(queue, &ios[done]))) {
			put_simple(queue, &ios[done], now);
		} else {
			status = vbd_split_submit(queue, &ios[done]);
			if (status != PVF_OK)
				break;
			status = PVF_AGAIN;
		}
		done++;
	}
	queue->statistics.requests += queue->ring.req_prod - before;
	return done ? (int)done : n ? status : 0;
}

int pvf_vbd_submit(struct pvf_vbd_queue *queue, const struct pvf_vbd_io *ios, uint32_t n)
{
	int result;

	if (PVF_LIKELY(pvf_gate_enter(&queue->gate) == PVF_GATE_OPEN && !queue->bad))
		result = submit_open(queue, ios, n);
	else
		result = queue->bad ? PVF_BROKEN : queue->refusal;
	vbd_tell_busy(queue);
	pvf_gate_leave(&queue->gate);
	return result;
}

int pvf_vbd_push(struct pvf_vbd_queue *queue)
{
	int notified = 0;

	if (PVF_LIKELY(pvf_gate_enter(&queue->gate) != PVF_GATE_SHUT && queue->ring.req_prod != queue->ring.published))
		notified = vbd_push(queue);
	pvf_gate_leave(&queue->gate);
	return notified;
}
