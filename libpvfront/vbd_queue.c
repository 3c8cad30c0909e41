/* SPDX-License-Identifier: MIT */
/* A queue's memory, its start and its stop. All in control's hands: the gate is shut. */
#include "bytes.h"

#include "vbd_internal.h"

struct block {
	uint8_t *memory; /* NULL: only counting */
	size_t used;
};

static void *carve(struct block *block, size_t bytes)
{
	void *piece = block->memory ? block->memory + block->used : NULL;

	block->used += (bytes + 15u) & ~(size_t)15u;
	return piece;
}

/* All arrays in one block; with no memory it only learns the size. */
static size_t lay_out(struct pvf_vbd_queue *queue, uint8_t *memory, uint32_t entries, uint32_t bounce)
{
	struct block block = {.memory = memory};

	queue->slots = carve(&block, entries * sizeof(*queue->slots));
	queue->free_ids = carve(&block, entries * sizeof(*queue->free_ids));
	queue->used_words = carve(&block, entries * sizeof(*queue->used_words));
	queue->pieces = carve(&block, entries * sizeof(*queue->pieces));
	/* Each split I/O has a slot or is the one that waits for room. */
	queue->splits = carve(&block, (entries + 1u) * sizeof(*queue->splits));
	queue->ended = carve(&block, VBD_ENDED * sizeof(*queue->ended));
	queue->bounce = carve(&block, bounce * sizeof(*queue->bounce));
	queue->bounce_free = carve(&block, bounce * sizeof(*queue->bounce_free));
	queue->histogram = carve(&block, PVF_LATENCY_BUCKETS * sizeof(*queue->histogram));
	return block.used;
}

int pvf_vbd_queue_create(struct pvf_vbd *vbd, struct pvf_vbd_queue **result)
{
	const struct pvf_host *host = vbd->device.host;
	/* Its own cache lines: the block comes page-aligned when it is a page or more. */
	struct pvf_vbd_queue *queue = host->ops->alloc(host->ctx, PVF_PAGE_SIZE);

	_Static_assert(sizeof(struct pvf_vbd_queue) <= PVF_PAGE_SIZE, "queue");
	if (!queue)
		return PVF_NO_MEMORY;
	queue->memory_bytes = lay_out(queue, NULL, VBD_RING_ENTRIES, vbd->options.bounce_pages);
	queue->memory = host->ops->alloc(host->ctx, queue->memory_bytes);
	if (!queue->memory) {
		host->ops->free(host->ctx, queue, PVF_PAGE_SIZE);
		return PVF_NO_MEMORY;
	}
	(void)lay_out(queue, queue->memory, VBD_RING_ENTRIES, vbd->options.bounce_pages);
	queue->vbd = vbd;
	queue->host = host;
	queue->flags = vbd->options.flags;
	queue->nr_bounce = vbd->options.bounce_pages;
	queue->spin_max = host->ops->caps & PVF_HOST_NO_SPIN ? 0 : vbd->options.spin;
	queue->spin = queue->spin_max;
	queue->gate.owner_fences = host->ops->fence == NULL;
	queue->gate.mode = PVF_GATE_ENDED;
	queue->ring.mask = VBD_RING_ENTRIES - 1u;
	queue->refusal = (uint32_t)PVF_CLOSED;
	queue->stopped = true;
	queue->slow = VBD_SLOW_STOPPED | (queue->flags & PVF_VBD_TIMING ? VBD_SLOW_TIMING : 0);
	for (uint32_t i = 0; i < VBD_RING_ENTRIES; i++) {
		queue->slots[i].id = i + VBD_ID_GENERATION;
		queue->slots[i].want = VBD_WANT_NOTHING;
		queue->free_ids[i] = (uint16_t)(VBD_RING_ENTRIES - 1u - i);
	}
	queue->nr_free = VBD_RING_ENTRIES;
	for (uint32_t i = 0; i <= VBD_RING_ENTRIES; i++)
		queue->splits[i].next_free = i < VBD_RING_ENTRIES ? i + 1u : VBD_NO_SPLIT;
	queue->feeding = VBD_NO_SPLIT;
	queue->statistics.latency_min = UINT64_MAX;
	*result = queue;
	return PVF_OK;
}

void pvf_vbd_queue_destroy(struct pvf_vbd_queue *queue)
{
	const struct pvf_host *host = queue->host;

	host->ops->free(host->ctx, queue->memory, queue->memory_bytes);
	host->ops->free(host->ctx, queue, PVF_PAGE_SIZE);
}

/* ---- bounce pages: taken from the pool 64 at a time, kept as a stack, the last used first ---- */

static void stack_bounce(struct pvf_vbd_queue *queue)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < queue->nr_bounce_segs; i++) {
		const struct pvf_seg *seg = &queue->bounce_segs[i];

		for (uint32_t page = 0; page < seg->pages; page++, n++) {
			queue->bounce[n].data = (uint8_t *)seg->base + (size_t)page * PVF_PAGE_SIZE;
			queue->bounce[n].ref = seg->refs[page];
			queue->bounce_free[n] = (uint16_t)n;
		}
	}
	queue->nr_bounce_free = n;
}

static void return_bounce(struct pvf_vbd_queue *queue)
{
	while (queue->nr_bounce_segs)
		pvf_pool_put(&queue->vbd->pool, &queue->bounce_segs[--queue->nr_bounce_segs]);
	queue->nr_bounce_free = 0;
}

static int take_bounce(struct pvf_vbd_queue *queue)
{
	uint32_t left = queue->nr_bounce;

	while (left) {
		uint32_t pages = left < VBD_BOUNCE_RUN ? left : VBD_BOUNCE_RUN;
		int status = pvf_pool_get(&queue->vbd->pool, pages, &queue->bounce_segs[queue->nr_bounce_segs]);

		if (status != PVF_OK) {
			return_bounce(queue);
			return status;
		}
		queue->nr_bounce_segs++;
		left -= pages;
	}
	stack_bounce(queue);
	return PVF_OK;
}

/* ---- ring and channel ---- */

int pvf_vbd_queue_prepare(struct pvf_vbd_queue *queue)
{
	const struct pvf_host *host = queue->host;
	uint16_t domid = queue->vbd->device.backend_domid;
	int status = take_bounce(queue);

	if (status != PVF_OK)
		return status;
	queue->region = pvf_region_share(host, domid, 1, &status);
	if (!queue->region)
		goto no_ring;
	status = host->ops->evtchn_alloc(host->ctx, domid, &queue->event, &queue->port);
	if (status != PVF_OK)
		goto no_port;
	memset(queue->used_words, 0, VBD_RING_ENTRIES);
	pvf_ring_init(&queue->ring, queue->region->base, VBD_RING_ENTRIES, queue->vbd->options.ring_start);
	/* Who polls asks for no event, not for the first either: an index that was passed is never reached. */
	if (queue->flags & PVF_VBD_POLL)
		PVF_RING_STORE(init_poll, &queue->ring.shared->rsp_event, queue->vbd->options.ring_start);
	return PVF_OK;

no_port:
	(void)pvf_region_end(host, queue->region);
	queue->region = NULL;
no_ring:
	return_bounce(queue);
	pvf_pool_trim(&queue->vbd->pool, false);
	return status;
}

int pvf_vbd_queue_start(struct pvf_vbd_queue *queue)
{
	const struct vbd_negotiated *n = &queue->vbd->negotiated;
	bool read_only = (n->info & PVF_WIRE_BLKIF_INFO_READONLY) != 0 || n->mode[0] == 'r';

	/* The owner may be reaping what ended in an earlier life. */
	if (!pvf_gate_set(&queue->gate, PVF_GATE_SHUT, queue->host))
		return PVF_BUSY;
	queue->sectors = n->sectors;
	queue->fast_sectors = n->sectors > VBD_MAX_PAGES * 8u ? n->sectors - VBD_MAX_PAGES * 8u : 0;
	queue->last_entry = pvf_ring_entry(&queue->ring, queue->ring.mask, VBD_STRIDE);
	queue->unit_mask = n->sector_size - 1u;
	queue->sector_mask = (n->sector_size >> PVF_WIRE_BLKIF_SECTOR_SHIFT) - 1u;
	queue->entry_head = (uint64_t)(n->virtual_device & 0xffffu) << 16;
	queue->pool_tag = pvf_pool_tag(&queue->vbd->pool);
	queue->max_op = read_only ? PVF_VBD_READ : PVF_VBD_WRITE;
	queue->flush_offered = n->flush != 0;
	queue->bad = VBD_BAD_NONE;
	queue->event_base = 0;
	queue->event_base = pvf_vbd_events(queue) + 1u; /* what binding the channel fired, and the event below */
	vbd_slow(queue, VBD_SLOW_BAD | VBD_SLOW_STOPPED, false);
	queue->stopped = false;
	pvf_store32_release(&queue->gate.mode, PVF_GATE_OPEN);
	/* An owner whom submit told to try again after the next event must not sleep on. */
	pvf_event(&queue->event);
	return PVF_OK;
}

int pvf_vbd_queue_stop(struct pvf_vbd_queue *queue, int status, int refusal)
{
	bool other = pvf_load32(&queue->refusal) != (uint32_t)refusal;

	/* An owner that asks at the same moment may still hear the earlier refusal. */
	pvf_store32(&queue->refusal, (uint32_t)refusal);
	if (queue->stopped) {
		/* Whoever was told to try again after the next event hears of it. */
		if (other)
			pvf_event(&queue->event);
		return PVF_OK;
	}
	if (!pvf_gate_set(&queue->gate, PVF_GATE_SHUT, queue->host))
		return PVF_BUSY;
	/* What the backend has answered counts; the rest ends here. Both are reaped by the owner, once (FIELD-BUGS 51). */
	if (!queue->bad)
		pvf_vbd_take_aside(queue);
	pvf_vbd_end_all(queue, status);
	queue->statistics.events += pvf_vbd_events(queue);
	queue->statistics.responses += queue->ring.published - queue->ring.rsp_cons;
	queue->ring.rsp_cons = queue->ring.published;
	vbd_slow(queue, VBD_SLOW_STOPPED, true);
	queue->stopped = true;
	pvf_store32_release(&queue->gate.mode, PVF_GATE_ENDED);
	pvf_event(&queue->event);
	return PVF_OK;
}

/* Lets go of ring, channel and bounce pages; what the backend still maps is parked. Safe to call twice (XSA-465). */
int pvf_vbd_queue_release(struct pvf_vbd_queue *queue, bool forgotten)
{
	const struct pvf_host *host = queue->host;
	int status = PVF_OK;

	if (queue->region) {
		if (!forgotten)
			host->ops->evtchn_close(host->ctx, queue->port);
		if (forgotten)
			pvf_region_forget(host, queue->region);
		else
			status = pvf_region_end(host, queue->region);
		queue->region = NULL;
	}
	if (forgotten)
		pvf_pool_resumed(&queue->vbd->pool);
	return_bounce(queue);
	pvf_pool_trim(&queue->vbd->pool, false);
	return status;
}
