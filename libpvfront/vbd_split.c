/* SPDX-License-Identifier: MIT */
/*
 * I/O that is more than one POOL segment: several segments, PLAIN memory, any alignment, any length, and flushes. It is cut
 * into pieces of a page at most, up to eleven a request, as many requests as it takes; the caller sees one completion.
 *
 * A piece is direct (a POOL page that the backend reads or writes in place) or bounced (copied through a pool page of ours,
 * filled from as many segments as it takes). Which it is follows from the segments alone, so the walk that builds a
 * request and the walk that copies a read's pages out cut alike.
 */
#include "bytes.h"

#include "vbd_internal.h"

struct cursor {
	uint32_t seg, offset;
};

struct request {
	uint64_t words[VBD_MAX_PAGES];
	uint32_t nr;
	uint32_t bytes;
	struct cursor start;
	uint32_t nr_bounce;
	uint16_t bounce[VBD_MAX_PAGES];
};

static uint32_t least(uint64_t a, uint32_t b)
{
	return a < b ? (uint32_t)a : b;
}

/* Skips what is used up, so that the cursor stands on a byte (there is one: the I/O is not at its end). */
static void settle(const struct vbd_split *split, struct cursor *at)
{
	while (at->offset == split->segs[at->seg].length) {
		at->seg++;
		at->offset = 0;
	}
}

/* Bytes that can go in place from the cursor: none unless page, alignment and length allow it. */
static uint32_t direct_bytes(const struct pvf_vbd_queue *queue, const struct vbd_split *split, struct cursor at,
			     uint64_t left)
{
	const struct pvf_seg *seg = &split->segs[at.seg];
	uint32_t in_page = (seg->offset + at.offset) & (PVF_PAGE_SIZE - 1u);
	uint32_t bytes = least(seg->length - at.offset, PVF_PAGE_SIZE - in_page);

	if (seg->tag != queue->pool_tag)
		return 0;
	bytes = least(left, bytes);
	return (in_page | bytes) & queue->unit_mask ? 0 : bytes;
}

static void advance(const struct vbd_split *split, struct cursor *at, uint32_t bytes)
{
	while (bytes) {
		uint32_t n;

		settle(split, at);
		n = least(split->segs[at->seg].length - at->offset, bytes);
		at->offset += n;
		bytes -= n;
	}
}

/* Bytes that a bounced piece takes from the cursor: up to a page, but it stops where a direct one can begin. */
static uint32_t bounced_bytes(const struct pvf_vbd_queue *queue, const struct vbd_split *split, struct cursor at,
			      uint64_t left)
{
	uint32_t most = least(left, PVF_PAGE_SIZE), bytes = 0;

	while (bytes < most) {
		uint32_t n;

		settle(split, &at);
		if (bytes && !(bytes & queue->unit_mask) && direct_bytes(queue, split, at, left - bytes))
			break;
		n = least(split->segs[at.seg].length - at.offset, most - bytes);
		at.offset += n;
		bytes += n;
	}
	return bytes;
}

/* Between a bounce page and the segments from the cursor on; the cursor moves. */
static void copy(const struct vbd_split *split, struct cursor *at, uint8_t *page, uint32_t bytes, bool to_page)
{
	while (bytes) {
		const struct pvf_seg *seg;
		uint8_t *memory;
		uint32_t n;

		settle(split, at);
		seg = &split->segs[at->seg];
		memory = (uint8_t *)seg->base + seg->offset + at->offset;
		n = least(seg->length - at->offset, bytes);
		if (to_page)
			memcpy(page, memory, n);
		else
			memcpy(memory, page, n);
		page += n;
		bytes -= n;
		at->offset += n;
	}
}

static uint64_t segment_word(uint32_t ref, uint32_t in_page, uint32_t bytes)
{
	uint64_t first = in_page >> PVF_WIRE_BLKIF_SECTOR_SHIFT;
	uint64_t last = (in_page + bytes - 1u) >> PVF_WIRE_BLKIF_SECTOR_SHIFT;

	return ref | first << 32 | last << 40;
}

/* Cuts the next request; with no bounce page left it may be shorter than it could be, or empty. */
static void cut(struct pvf_vbd_queue *queue, const struct vbd_split *split, struct request *request)
{
	struct cursor at = {split->at_seg, split->at_offset};

	request->nr = 0;
	request->bytes = 0;
	request->nr_bounce = 0;
	request->start = at;
	while (request->nr < VBD_MAX_PAGES && request->bytes < split->left) {
		uint64_t left = split->left - request->bytes;
		uint32_t bytes;

		settle(split, &at);
		bytes = direct_bytes(queue, split, at, left);
		if (bytes) {
			const struct pvf_seg *seg = &split->segs[at.seg];
			uint32_t offset = seg->offset + at.offset;

			request->words[request->nr] =
				segment_word(seg->refs[offset >> PVF_PAGE_SHIFT], offset & (PVF_PAGE_SIZE - 1u), bytes);
			at.offset += bytes;
		} else {
			uint16_t page;

			if (queue->nr_bounce_free == 0)
				return;
			bytes = bounced_bytes(queue, split, at, left);
			page = queue->bounce_free[--queue->nr_bounce_free];
			request->bounce[request->nr_bounce++] = page;
			request->words[request->nr] = segment_word(queue->bounce[page].ref, 0, bytes);
			if (split->op == PVF_VBD_WRITE)
				copy(split, &at, queue->bounce[page].data, bytes, true);
			else
				advance(split, &at, bytes);
			queue->statistics.bounced_bytes += bytes;
		}
		request->nr++;
		request->bytes += bytes;
	}
}

static void put(struct pvf_vbd_queue *queue, uint32_t number, const struct request *request)
{
	struct vbd_split *split = &queue->splits[number];
	uint32_t index = queue->free_ids[--queue->nr_free];
	struct vbd_slot *slot = &queue->slots[index];
	struct vbd_piece *piece = &queue->pieces[index];
	uint32_t at = queue->ring.req_prod++ & queue->ring.mask;
	volatile uint64_t *entry = pvf_ring_entry(&queue->ring, at, VBD_STRIDE);

	slot->want = vbd_want(split->op | VBD_WANT_SPECIAL, 0);
	piece->left = split->left;
	piece->split = number;
	piece->at_seg = request->start.seg;
	piece->at_offset = request->start.offset;
	piece->bytes = request->bytes;
	piece->nr_bounce = request->nr_bounce;
	memcpy(piece->bounce, request->bounce, request->nr_bounce * sizeof(piece->bounce[0]));
	PVF_RING_FILL(entry + 0, queue->entry_head | (uint64_t)request->nr << 8 | split->op);
	PVF_RING_FILL(entry + 1, slot->id);
	PVF_RING_FILL(entry + 2, split->sector);
	for (uint32_t i = 0; i < request->nr; i++)
		PVF_RING_FILL(entry + VBD_HEADER_WORDS + i, request->words[i]);
	vbd_clear_tail(entry, &queue->used_words[at], request->nr);
	queue->split_slots++;
	queue->statistics.segments += request->nr;
	split->in_ring++;
	split->requests++;
}

/* True when at least one request went on the ring. */
static bool feed(struct pvf_vbd_queue *queue, uint32_t number)
{
	struct vbd_split *split = &queue->splits[number];
	bool any = false;

	do {
		struct request request;
		struct cursor at = {split->at_seg, split->at_offset};

		if (queue->nr_free == 0)
			break;
		cut(queue, split, &request);
		if (request.nr == 0 && split->left)
			break;
		put(queue, number, &request);
		advance(split, &at, request.bytes);
		split->at_seg = at.seg;
		split->at_offset = at.offset;
		split->left -= request.bytes;
		split->sector += request.bytes >> PVF_WIRE_BLKIF_SECTOR_SHIFT;
		any = true;
	} while (split->left);
	vbd_set_feeding(queue, split->left ? number : VBD_NO_SPLIT);
	return any;
}

void pvf_vbd_split_feed(struct pvf_vbd_queue *queue)
{
	if (feed(queue, queue->feeding))
		(void)vbd_push(queue);
}

/* ---- the I/O as a whole ---- */

static int check_segment(const struct pvf_vbd_queue *queue, const struct pvf_seg *seg)
{
	switch (seg->tag & PVF_SEG_KIND_MASK) {
	case PVF_SEG_PLAIN:
		return seg->base || seg->length == 0 ? PVF_OK : PVF_INVALID;
	case PVF_SEG_POOL:
		if (seg->tag != queue->pool_tag)
			return PVF_STALE;
		if ((uint64_t)seg->offset + seg->length > (uint64_t)seg->pages << PVF_PAGE_SHIFT)
			return PVF_INVALID;
		return PVF_OK;
	default:
		return PVF_UNSUPPORTED;
	}
}

static int check_range(const struct pvf_vbd_queue *queue, const struct pvf_vbd_io *io, uint64_t *bytes)
{
	uint64_t sectors;

	*bytes = 0;
	for (uint32_t i = 0; i < io->nr_segs; i++) {
		int status = check_segment(queue, &io->segs[i]);

		if (status != PVF_OK)
			return status;
		*bytes += io->segs[i].length;
	}
	if (*bytes == 0)
		return PVF_INVALID;
	/* Every sector quantity is in 512-byte units, aligned to sector-size (Xen 221f2748e8); never rounded. */
	if (*bytes & queue->unit_mask || io->sector & queue->sector_mask)
		return PVF_ALIGN;
	sectors = *bytes >> PVF_WIRE_BLKIF_SECTOR_SHIFT;
	return io->sector < queue->sectors && sectors <= queue->sectors - io->sector ? PVF_OK : PVF_RANGE;
}

static int check_io(const struct pvf_vbd_queue *queue, const struct pvf_vbd_io *io, uint64_t *bytes)
{
	*bytes = 0;
	switch (io->op) {
	case PVF_VBD_FLUSH:
		if (io->nr_segs)
			return PVF_INVALID;
		return queue->flush_offered ? PVF_OK : PVF_UNSUPPORTED;
	case PVF_VBD_WRITE:
		if (queue->max_op < PVF_VBD_WRITE)
			return PVF_READ_ONLY;
		return check_range(queue, io, bytes);
	case PVF_VBD_READ:
		return check_range(queue, io, bytes);
	default:
		return PVF_INVALID;
	}
}

static void free_split(struct pvf_vbd_queue *queue, uint32_t number)
{
	queue->splits[number].next_free = queue->free_split;
	queue->free_split = number;
	queue->split_active--;
}

int pvf_vbd_split_submit(struct pvf_vbd_queue *queue, const struct pvf_vbd_io *io)
{
	uint32_t number = queue->free_split;
	struct vbd_split *split;
	uint64_t bytes;
	int status = check_io(queue, io, &bytes);

	if (status != PVF_OK)
		return status;
	if (number == VBD_NO_SPLIT)
		return PVF_AGAIN;
	split = &queue->splits[number];
	queue->free_split = split->next_free;
	queue->split_active++;
	memset(split, 0, sizeof(*split));
	split->user = io->user;
	split->segs = io->segs;
	split->nr_segs = io->nr_segs;
	split->op = io->op;
	split->sector = io->op == PVF_VBD_FLUSH ? 0 : io->sector;
	split->bytes = bytes;
	split->left = bytes;
	split->time = queue->flags & PVF_VBD_TIMING ? queue->host->ops->now(queue->host->ctx) : 0;
	if (feed(queue, number))
		return PVF_OK;
	vbd_set_feeding(queue, VBD_NO_SPLIT);
	free_split(queue, number);
	return PVF_AGAIN;
}

static void complete(struct pvf_vbd_queue *queue, uint32_t number, struct pvf_vbd_done *done)
{
	struct vbd_split *split = &queue->splits[number];
	struct pvf_vbd_statistics *s = &queue->statistics;

	done->user = split->user;
	done->status = split->status;
	done->reserved = 0;
	s->split += split->requests > 1u;
	if (split->status != PVF_OK) {
		s->errors++;
	} else if (split->op == PVF_VBD_READ) {
		s->reads++;
		s->bytes_read += split->bytes;
	} else if (split->op == PVF_VBD_WRITE) {
		s->writes++;
		s->bytes_written += split->bytes;
	} else {
		s->flushes++;
	}
	if (queue->flags & PVF_VBD_TIMING && split->status == PVF_OK)
		pvf_vbd_count_latency(queue, queue->reap_time - split->time);
	free_split(queue, number);
}

/* The peer may still write to the page: what is copied is what is there now, once. */
static void copy_out(struct pvf_vbd_queue *queue, const struct vbd_split *split, const struct vbd_piece *piece)
{
	struct cursor at = {piece->at_seg, piece->at_offset};
	uint32_t done = 0, next = 0;

	while (done < piece->bytes) {
		uint32_t bytes;

		settle(split, &at);
		bytes = direct_bytes(queue, split, at, piece->left - done);
		if (bytes) {
			at.offset += bytes;
		} else {
			bytes = bounced_bytes(queue, split, at, piece->left - done);
			copy(split, &at, queue->bounce[piece->bounce[next++]].data, bytes, false);
		}
		done += bytes;
	}
}

bool pvf_vbd_split_answer(struct pvf_vbd_queue *queue, uint32_t slot, int status, struct pvf_vbd_done *done)
{
	struct vbd_piece *piece = &queue->pieces[slot];
	uint32_t number = piece->split;
	struct vbd_split *split = &queue->splits[number];

	if (status == PVF_OK && split->op == PVF_VBD_READ && piece->nr_bounce)
		copy_out(queue, split, piece);
	for (uint32_t i = 0; i < piece->nr_bounce; i++)
		queue->bounce_free[queue->nr_bounce_free++] = piece->bounce[i];
	queue->split_slots--;
	vbd_slot_free(queue, slot);
	split->in_ring--;
	if (status != PVF_OK && split->status == PVF_OK) {
		/* It has failed: what is not on the ring yet need not go there. */
		split->status = status;
		split->left = 0;
		if (queue->feeding == number)
			vbd_set_feeding(queue, VBD_NO_SPLIT);
	}
	if (split->in_ring || split->left)
		return false;
	complete(queue, number, done);
	return true;
}

bool pvf_vbd_split_abandon(struct pvf_vbd_queue *queue, uint32_t number, int status, struct pvf_vbd_done *done)
{
	struct vbd_split *split = &queue->splits[number];

	split->left = 0;
	if (split->status == PVF_OK)
		split->status = status;
	if (split->in_ring)
		return false;
	complete(queue, number, done);
	return true;
}
