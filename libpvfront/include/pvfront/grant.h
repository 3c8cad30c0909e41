/* SPDX-License-Identifier: MIT */
/*
 * Buffers, and the pool of pages that are shared with the peer once and used again and again.
 */
#ifndef PVFRONT_GRANT_H
#define PVFRONT_GRANT_H

#include <pvfront/host.h>
#include <pvfront/status.h>

enum pvf_seg_kind {
	PVF_SEG_PLAIN, /* memory of the caller's: copied through the pool */
	PVF_SEG_POOL,  /* pages of the pool, shared once: the backend reads and writes them in place */
	PVF_SEG_HOST,  /* one frame of the caller's, granted for the request; not offered by a vbd yet */
};

/*
 * A piece of memory: `length` bytes at `base` + `offset`. A POOL segment may span the pages of its buffer. The peer may
 * change a POOL page at any time, also after completion: who validates, copies first (XSA-155).
 */
struct pvf_seg {
	void *base;           /* PLAIN: the memory. POOL: the first page of the buffer */
	const uint32_t *refs; /* POOL: the reference of each page from base; the core's */
	uint64_t frame;       /* HOST: the frame number; offset is within it */
	uint32_t tag;         /* enum pvf_seg_kind in the low two bits; POOL: the pool's life above it */
	uint32_t offset;
	uint32_t length;
	uint32_t pages; /* POOL: pages of the buffer */
};

#define PVF_SEG_KIND_MASK 3u

/* A segment over the caller's own memory. */
#define PVF_SEG_OF(memory, bytes) ((struct pvf_seg){.base = (memory), .tag = PVF_SEG_PLAIN, .length = (bytes)})

/* The address of a segment's first byte. */
static inline void *pvf_seg_data(const struct pvf_seg *seg)
{
	return (uint8_t *)seg->base + seg->offset;
}

/*
 * A pool belongs to one peer. Its pages are zeroed when they are shared (XSA-403), stay shared while the pool lives, and
 * are never handed to another domain. Control side only: what the data path needs of it is in the segments.
 */
struct pvf_pool {
	const struct pvf_host *host;
	struct pvf_region *regions; /* of this life */
	struct pvf_region *retired; /* of an earlier peer, with buffers the caller still holds */
	uint32_t pages;             /* shared now, both lists */
	uint32_t limit;             /* most pages to share */
	uint32_t life;              /* counts peers */
	uint16_t domid;
	bool has_peer;
	uint8_t reserved;
};

/* The default limit: the references of a v1 table of 64 frames. */
#define PVF_POOL_LIMIT 32768u

void pvf_pool_init(struct pvf_pool *pool, const struct pvf_host *host, uint32_t limit);

/*
 * Names the peer. With another domain than before, every buffer of the old one becomes stale; with the same one after a
 * resume, its regions are granted anew, at their old addresses, and the references in the segments change by themselves.
 * Errors: those of share; every buffer is stale then. Context: thread.
 */
int pvf_pool_set_peer(struct pvf_pool *pool, uint16_t domid);

/* The tag of segments that belong to the pool's present life. */
uint32_t pvf_pool_tag(const struct pvf_pool *pool);

/*
 * Takes `pages` pages with contiguous addresses; the segment spans all of them. Errors: PVF_CLOSED (no peer yet),
 * PVF_NO_SPACE, PVF_NO_MEMORY. Context: thread.
 */
int pvf_pool_get(struct pvf_pool *pool, uint32_t pages, struct pvf_seg *seg);

/* Gives them back; the segment is emptied. A segment that is not the pool's changes nothing. Context: thread. */
void pvf_pool_put(struct pvf_pool *pool, struct pvf_seg *seg);

/* Ends regions without buffers in use; with `all`, every region. What the peer still holds is parked. Context: thread. */
void pvf_pool_trim(struct pvf_pool *pool, bool all);

/* After a resume: what was granted is so no longer. Nothing is granted anew before the peer is named: it may be another. */
void pvf_pool_resumed(struct pvf_pool *pool);

/* Parks a region: it is never used again until its host can end it. Context: thread. */
void pvf_park(const struct pvf_host *host, struct pvf_region *region);

/* A region of `pages` with its references, shared with domid; NULL and *status on failure. Context: thread. */
struct pvf_region *pvf_region_share(const struct pvf_host *host, uint16_t domid, uint32_t pages, int *status);

/* Ends it or parks it; PVF_PAGE_HELD when it was parked. Context: thread. */
int pvf_region_end(const struct pvf_host *host, struct pvf_region *region);

/* Drops a region whose grants a resume has ended. Context: thread. */
void pvf_region_forget(const struct pvf_host *host, struct pvf_region *region);

#endif
