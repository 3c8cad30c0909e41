/* SPDX-License-Identifier: MIT */
/* A vbd from open to close. */
#include "bytes.h"

#include "vbd_internal.h"

#define DEFAULT_PHASE_MS 10000u
#define LONGEST_PHASE_MS 3600000u
#define MOST_BOUNCE_PAGES (VBD_BOUNCE_RUN * VBD_BOUNCE_RUNS)

static int check_options(const struct pvf_vbd_options *options)
{
	if (options->size < sizeof(*options))
		return PVF_INVALID;
	if (options->ring_order != 0)
		return PVF_UNSUPPORTED;
	if (options->phase_ms > LONGEST_PHASE_MS || options->persistent > 1u)
		return PVF_INVALID;
	if (options->flags & ~(PVF_VBD_POLL | PVF_VBD_TIMING))
		return PVF_INVALID;
	/* A request of eleven bounced pages must always be possible, or a long I/O could wait for ever. */
	if (options->bounce_pages &&
	    (options->bounce_pages < VBD_MAX_PAGES || options->bounce_pages > MOST_BOUNCE_PAGES))
		return PVF_RANGE;
	return PVF_OK;
}

static uint32_t pool_limit(const struct pvf_host *host)
{
	uint32_t limit = host->ops->share_limit ? host->ops->share_limit(host->ctx) : 0;

	return limit && limit < PVF_POOL_LIMIT ? limit : PVF_POOL_LIMIT;
}

int pvf_vbd_open(const struct pvf_host *host, const char *path, const struct pvf_vbd_options *options,
		 struct pvf_vbd **result)
{
	struct pvf_vbd *vbd;
	int status = pvf_host_check(host);

	*result = NULL;
	if (status == PVF_OK)
		status = check_options(options);
	if (status != PVF_OK)
		return status;
	vbd = host->ops->alloc(host->ctx, sizeof(*vbd));
	if (!vbd)
		return PVF_NO_MEMORY;
	vbd->options = *options;
	if (vbd->options.phase_ms == 0)
		vbd->options.phase_ms = DEFAULT_PHASE_MS;
	if (vbd->options.bounce_pages == 0)
		vbd->options.bounce_pages = VBD_RING_ENTRIES * VBD_MAX_PAGES;
	vbd->device.phase_ms = vbd->options.phase_ms;
	vbd->device.phase_ns = (uint64_t)vbd->options.phase_ms * 1000000u;
	vbd->device.trace = options->trace;
	vbd->device.trace_ctx = options->trace_ctx;
	vbd->control_deadline = PVF_FOREVER;
	pvf_pool_init(&vbd->pool, host, pool_limit(host));
	status = pvf_device_open(&vbd->device, host, &pvf_vbd_class, path, &vbd->negotiated, vbd->missing);
	if (status == PVF_OK)
		status = pvf_vbd_queue_create(vbd, &vbd->queue);
	if (status != PVF_OK) {
		pvf_device_free(&vbd->device);
		host->ops->free(host->ctx, vbd, sizeof(*vbd));
		return status;
	}
	vbd->device.event.waiters = &vbd->queue->event;
	*result = vbd;
	return PVF_OK;
}

void pvf_vbd_want(struct pvf_vbd *vbd, enum pvf_want want)
{
	/* A device on its way up connects anew anyway. */
	if (want == PVF_WANT_RECONNECT && vbd->device.phase != PVF_PHASE_CONNECTED && !pvf_device_lets_go(&vbd->device))
		want = PVF_WANT_UP;
	vbd->device.want = want;
	/* Whoever sleeps on the queue must let control have its turn. */
	pvf_event(&vbd->device.event);
}

uint64_t pvf_vbd_advance(struct pvf_vbd *vbd)
{
	vbd->control_deadline = pvf_device_advance(&vbd->device);
	return vbd->control_deadline;
}

struct pvf_event *pvf_vbd_event(struct pvf_vbd *vbd)
{
	return &vbd->device.event;
}

enum pvf_phase pvf_vbd_phase(const struct pvf_vbd *vbd)
{
	return vbd->device.phase;
}

void pvf_vbd_resumed(struct pvf_vbd *vbd, uint32_t generation)
{
	pvf_device_resumed(&vbd->device, generation);
}

const char *pvf_vbd_error(const struct pvf_vbd *vbd)
{
	return vbd->device.error;
}

int pvf_vbd_info(const struct pvf_vbd *vbd, struct pvf_vbd_info *info)
{
	const struct vbd_negotiated *n = &vbd->negotiated;

	memset(info, 0, sizeof(*info));
	info->path = vbd->device.path;
	info->backend_path = vbd->device.backend_path;
	if (vbd->device.phase != PVF_PHASE_CONNECTED && vbd->device.phase != PVF_PHASE_DRAINING)
		return PVF_CLOSED;
	info->sectors = n->sectors;
	info->sector_size = n->sector_size;
	info->physical_sector_size = n->physical_sector_size;
	info->info = n->info;
	info->virtual_device = n->virtual_device;
	info->ring_order = 0;
	info->ring_entries = VBD_RING_ENTRIES;
	info->queues = 1;
	info->max_segments = VBD_MAX_PAGES;
	info->max_ring_page_order = n->max_ring_page_order;
	info->max_queues = n->max_queues;
	info->max_indirect = n->max_indirect;
	info->backend_domid = vbd->device.backend_domid;
	info->read_only = vbd->queue->max_op < PVF_VBD_WRITE;
	info->persistent = n->persistent != 0;
	info->flush = n->flush != 0;
	info->trusted = n->trusted != 0;
	memcpy(info->mode, n->mode, sizeof(info->mode));
	memcpy(info->device_type, n->device_type, sizeof(info->device_type));
	return PVF_OK;
}

/* ---- helpers for programs that may block ---- */

int pvf_vbd_connect(struct pvf_vbd *vbd)
{
	bool ended = vbd->device.phase == PVF_PHASE_BROKEN || vbd->device.phase == PVF_PHASE_CLOSED;

	pvf_vbd_want(vbd, ended ? PVF_WANT_RECONNECT : PVF_WANT_UP);
	return pvf_device_run(&vbd->device, PVF_PHASE_CONNECTED);
}

/* This thread is the owner too: it takes the answers, keeps them for its reap, and lets a long I/O go on. */
static int drain(struct pvf_vbd *vbd)
{
	const struct pvf_host *host = vbd->device.host;

	(void)pvf_vbd_advance(vbd);
	while (vbd->device.phase == PVF_PHASE_DRAINING) {
		uint32_t sequence = pvf_event_sequence(&vbd->queue->event);
		uint64_t deadline;
		int status;

		if (pvf_vbd_set_aside(vbd->queue) && host->ops->now(host->ctx) < vbd->device.deadline)
			continue;
		deadline = pvf_vbd_advance(vbd);
		if (vbd->device.phase != PVF_PHASE_DRAINING)
			break;
		if (!host->ops->wait)
			return PVF_UNSUPPORTED;
		status = host->ops->wait(host->ctx, &vbd->queue->event, sequence, deadline);
		if (status != PVF_OK && status != PVF_TIMEOUT)
			return status;
	}
	return PVF_OK;
}

int pvf_vbd_disconnect(struct pvf_vbd *vbd)
{
	int status;

	pvf_vbd_want(vbd, PVF_WANT_DOWN);
	if (vbd->device.phase == PVF_PHASE_IDLE)
		return PVF_OK;
	status = drain(vbd);
	return status == PVF_OK ? pvf_device_run(&vbd->device, PVF_PHASE_CLOSED) : status;
}

int pvf_vbd_close(struct pvf_vbd *vbd)
{
	const struct pvf_host *host = vbd->device.host;
	uint32_t parked = pvf_load32(&host->parking->pages);

	if (vbd->device.phase != PVF_PHASE_CLOSED)
		(void)pvf_vbd_disconnect(vbd);
	/* The wait may have been cut short, or there is none: let go all the same. */
	if (vbd->device.phase != PVF_PHASE_CLOSED && vbd->device.phase != PVF_PHASE_IDLE) {
		(void)pvf_vbd_queue_stop(vbd->queue, PVF_CLOSED, PVF_CLOSED);
		(void)pvf_vbd_queue_release(vbd->queue, vbd->device.forgotten);
	}
	pvf_pool_trim(&vbd->pool, true);
	pvf_device_free(&vbd->device);
	pvf_vbd_queue_destroy(vbd->queue);
	host->ops->free(host->ctx, vbd, sizeof(*vbd));
	return pvf_host_unpark(host) > parked ? PVF_PAGE_HELD : PVF_OK;
}

/* ---- queues and buffers ---- */

struct pvf_vbd_queue *pvf_vbd_queue(struct pvf_vbd *vbd, uint32_t number)
{
	return number == 0 ? vbd->queue : NULL;
}

struct pvf_event *pvf_vbd_queue_event(struct pvf_vbd_queue *queue)
{
	return &queue->event;
}

int pvf_vbd_buffer(struct pvf_vbd_queue *queue, uint32_t bytes, struct pvf_seg *seg)
{
	int status;

	if (bytes == 0 || bytes > UINT32_MAX - PVF_PAGE_SIZE)
		return PVF_INVALID;
	status = pvf_pool_get(&queue->vbd->pool, (bytes + PVF_PAGE_SIZE - 1u) >> PVF_PAGE_SHIFT, seg);
	if (status == PVF_OK)
		seg->length = bytes;
	return status;
}

void pvf_vbd_release(struct pvf_vbd_queue *queue, struct pvf_seg *seg)
{
	pvf_pool_put(&queue->vbd->pool, seg);
}

uint32_t pvf_vbd_in_flight(struct pvf_vbd_queue *queue)
{
	/* While control stops the queue its counts move from one place to the other. */
	uint32_t n = 1;

	if (pvf_gate_enter(&queue->gate) != PVF_GATE_SHUT)
		n = vbd_in_flight(queue) + queue->nr_ended;
	pvf_gate_leave(&queue->gate);
	return n;
}
