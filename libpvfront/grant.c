/* SPDX-License-Identifier: MIT */
/*
 * The pool: regions of up to 64 pages, a bit for each page. A larger buffer has a region of its own. Pages are shared
 * when a region is made and stay shared until it ends; the data path never makes or ends a grant (PERF P6).
 */
#include "bytes.h"

#include <pvfront/grant.h>

#define REGION_PAGES 64u

static size_t region_bytes(uint32_t pages)
{
	return sizeof(struct pvf_region) + (size_t)pages * sizeof(uint32_t);
}

struct pvf_region *pvf_region_share(const struct pvf_host *host, uint16_t domid, uint32_t pages, int *status)
{
	struct pvf_region *region = host->ops->alloc(host->ctx, region_bytes(pages));

	if (!region) {
		*status = PVF_NO_MEMORY;
		return NULL;
	}
	region->refs = (uint32_t *)(void *)(region + 1);
	region->pages = pages;
	region->domid = domid;
	*status = host->ops->share(host->ctx, region);
	if (*status != PVF_OK) {
		host->ops->free(host->ctx, region, region_bytes(pages));
		return NULL;
	}
	return region;
}

int pvf_region_end(const struct pvf_host *host, struct pvf_region *region)
{
	if (region->flags & PVF_REGION_FORGOTTEN) {
		pvf_region_forget(host, region);
		return PVF_OK;
	}
	switch (host->ops->unshare(host->ctx, region)) {
	case PVF_UNSHARE_RELEASED:
	case PVF_UNSHARE_HOST_OWNS:
		host->ops->free(host->ctx, region, region_bytes(region->pages));
		return PVF_OK;
	default:
		/* Never freed, never used again while the peer can reach it (XSA-396). */
		pvf_park(host, region);
		return PVF_PAGE_HELD;
	}
}

void pvf_region_forget(const struct pvf_host *host, struct pvf_region *region)
{
	host->ops->forget(host->ctx, region);
	host->ops->free(host->ctx, region, region_bytes(region->pages));
}

void pvf_pool_init(struct pvf_pool *pool, const struct pvf_host *host, uint32_t limit)
{
	memset(pool, 0, sizeof(*pool));
	pool->host = host;
	pool->limit = limit;
}

uint32_t pvf_pool_tag(const struct pvf_pool *pool)
{
	return pool->life << 2 | PVF_SEG_POOL;
}

/* Ends a life: regions with buffers that the caller still holds are kept for as long as he does. */
static void retire(struct pvf_pool *pool)
{
	pvf_pool_trim(pool, false);
	while (pool->regions) {
		struct pvf_region *region = pool->regions;

		pool->regions = region->next;
		region->next = pool->retired;
		pool->retired = region;
	}
	pool->life++;
}

/* After a resume: the same pages for the same peer, under new references. */
static int grant_again(struct pvf_pool *pool)
{
	for (struct pvf_region *region = pool->regions; region; region = region->next) {
		int status;

		if (!(region->flags & PVF_REGION_FORGOTTEN))
			continue;
		status = pool->host->ops->share(pool->host->ctx, region);
		if (status != PVF_OK) {
			retire(pool); /* references of before the resume may be anybody's: every buffer is stale */
			return status;
		}
		region->flags &= (uint16_t)~PVF_REGION_FORGOTTEN;
	}
	return PVF_OK;
}

int pvf_pool_set_peer(struct pvf_pool *pool, uint16_t domid)
{
	if (pool->has_peer && pool->domid == domid)
		return grant_again(pool);
	retire(pool);
	pool->has_peer = true;
	pool->domid = domid;
	return PVF_OK;
}

/* Where in the region `pages` free pages follow each other; PVF_GREF_INVALID when they do not. */
static uint32_t find_room(const struct pvf_region *region, uint32_t pages)
{
	uint64_t free_pages = region->free_pages, run = free_pages;

	if (pages > REGION_PAGES)
		return region->pages == pages && region->in_use == 0 ? 0 : PVF_GREF_INVALID;
	for (uint32_t i = 1; i < pages; i++)
		run &= free_pages >> i;
	for (uint32_t at = 0; at < REGION_PAGES; at++)
		if (run >> at & 1u)
			return at;
	return PVF_GREF_INVALID;
}

static uint64_t run_bits(uint32_t at, uint32_t pages)
{
	uint64_t ones = pages >= REGION_PAGES ? UINT64_MAX : ((uint64_t)1 << pages) - 1u;

	return ones << at;
}

static struct pvf_region *grow(struct pvf_pool *pool, uint32_t pages, int *status)
{
	uint32_t wanted = pages > REGION_PAGES ? pages : REGION_PAGES;
	struct pvf_region *region = NULL;

	*status = PVF_NO_SPACE;
	if (pool->pages + wanted <= pool->limit)
		region = pvf_region_share(pool->host, pool->domid, wanted, status);
	/* Near a limit a region of just the size may still do. */
	if (!region && wanted > pages && pool->pages + pages <= pool->limit)
		region = pvf_region_share(pool->host, pool->domid, wanted = pages, status);
	if (!region)
		return NULL;
	region->free_pages = wanted > REGION_PAGES ? 0 : run_bits(0, wanted);
	region->next = pool->regions;
	pool->regions = region;
	pool->pages += wanted;
	return region;
}

int pvf_pool_get(struct pvf_pool *pool, uint32_t pages, struct pvf_seg *seg)
{
	struct pvf_region *region;
	uint32_t at = 0;
	int status = PVF_OK;

	if (!pool->has_peer)
		return PVF_CLOSED;
	if (pages == 0)
		return PVF_INVALID;
	for (region = pool->regions; region; region = region->next) {
		at = find_room(region, pages);
		if (at != PVF_GREF_INVALID && !(region->flags & PVF_REGION_FORGOTTEN))
			break;
	}
	if (!region) {
		at = 0;
		region = grow(pool, pages, &status);
		if (!region)
			return status;
	}
	if (pages <= REGION_PAGES)
		region->free_pages &= ~run_bits(at, pages);
	region->in_use += pages;
	memset(seg, 0, sizeof(*seg));
	seg->base = (uint8_t *)region->base + (size_t)at * PVF_PAGE_SIZE;
	seg->refs = region->refs + at;
	seg->tag = pvf_pool_tag(pool);
	seg->length = pages * PVF_PAGE_SIZE;
	seg->pages = pages;
	return PVF_OK;
}

static bool put_into(struct pvf_region *list, const struct pvf_seg *seg)
{
	for (struct pvf_region *region = list; region; region = region->next) {
		if (seg->refs < region->refs || seg->refs >= region->refs + region->pages)
			continue;
		if (region->pages <= REGION_PAGES)
			region->free_pages |= run_bits((uint32_t)(seg->refs - region->refs), seg->pages);
		region->in_use -= seg->pages;
		return true;
	}
	return false;
}

/* Ends the list's regions that have no page in use; with `all` every one. Returns the pages that went. */
static uint32_t end_regions(const struct pvf_host *host, struct pvf_region **list, bool all)
{
	uint32_t gone = 0;

	while (*list) {
		struct pvf_region *region = *list;

		if (region->in_use && !all) {
			list = &region->next;
			continue;
		}
		*list = region->next;
		gone += region->pages;
		(void)pvf_region_end(host, region);
	}
	return gone;
}

void pvf_pool_put(struct pvf_pool *pool, struct pvf_seg *seg)
{
	if ((seg->tag & PVF_SEG_KIND_MASK) != PVF_SEG_POOL || !seg->refs)
		return;
	if (!put_into(pool->regions, seg) && put_into(pool->retired, seg))
		pool->pages -= end_regions(pool->host, &pool->retired, false);
	memset(seg, 0, sizeof(*seg));
}

void pvf_pool_trim(struct pvf_pool *pool, bool all)
{
	pool->pages -= end_regions(pool->host, &pool->regions, all);
	pool->pages -= end_regions(pool->host, &pool->retired, all);
}

static void forget_all(struct pvf_region *list)
{
	for (struct pvf_region *region = list; region; region = region->next)
		region->flags |= PVF_REGION_FORGOTTEN;
}

void pvf_pool_resumed(struct pvf_pool *pool)
{
	forget_all(pool->regions);
	forget_all(pool->retired);
}
