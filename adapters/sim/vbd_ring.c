/* SPDX-License-Identifier: MIT */
/*
 * The ring's consumer. Each request is copied out of shared memory once, checked, and carried out from the copy
 * (XSA-155); responses are published in batches, and the frontend is notified only if it asked for it.
 */
#include "vbd_back.h"
#include "bytes.h"

#include <pvfront/compiler.h>

#define SLOT_BYTES 112u
#define SEGMENTS_AT 3u /* 64-bit word of the first segment */

volatile uint64_t *vbd_ring_slot(const struct vbd_ring *ring, uint32_t index)
{
	uint8_t *base = (uint8_t *)ring->shared + PVF_WIRE_RING_HEADER;

	return (volatile uint64_t *)(void *)(base + (size_t)(index & (VBD_RING_ENTRIES - 1)) * SLOT_BYTES);
}

int vbd_ring_attach(struct vbd_back *back, uint32_t ref, uint32_t remote_port)
{
	const struct pvf_sim_backend *backend = back->backend;
	struct vbd_ring *ring = &back->ring;
	struct vbd_mapping mapping;
	uint32_t waiting;
	int status = vbd_grants_map_page(back, ref, false, &mapping);

	if (status < 0)
		return status;
	memset(ring, 0, sizeof(*ring));
	ring->shared = mapping.address;
	ring->ref = ref;
	ring->handle = mapping.handle;
	/*
	 * A ring may start anywhere (FIELD-BUGS 2), and the one of an earlier backend goes on where its responses ended:
	 * BACK_RING_ATTACH of Xen's io/ring.h.
	 */
	ring->rsp_prod = pvf_load32_acquire(&ring->shared->rsp_prod);
	ring->published = ring->rsp_prod;
	ring->req_cons = ring->rsp_prod;
	waiting = pvf_load32_acquire(&ring->shared->req_prod) - ring->req_cons;
	status = waiting > VBD_RING_ENTRIES ? PVF_BROKEN
					    : pvf_sim_bind(backend->domain, backend->frontend_domid, remote_port,
							   &back->ring_event, &ring->port);
	if (status < 0) {
		vbd_grants_unmap_page(back, &mapping);
		ring->shared = NULL;
		return status;
	}
	/* Binding raises the new port once (Xen: event_channel.c); that one did not come from the frontend. */
	back->own_events++;
	return PVF_OK;
}

void vbd_ring_detach(struct vbd_back *back)
{
	struct vbd_ring *ring = &back->ring;
	struct vbd_mapping mapping = {.ref = ring->ref, .handle = ring->handle, .address = ring->shared};

	if (!ring->shared)
		return;
	back->host->ops->evtchn_close(back->host->ctx, ring->port);
	ring->shared = NULL;
	if (vbd_fault_keeps_grants(back) && back->grants.nr_kept < VBD_KEPT_MAX)
		vbd_grants_keep(back, &mapping);
	else
		vbd_grants_unmap_page(back, &mapping);
}

/* ---- one request ---- */

static void take_request(const struct vbd_ring *ring, struct vbd_request *request)
{
	const volatile uint64_t *slot = vbd_ring_slot(ring, ring->req_cons);
	uint64_t head = pvf_load64(&slot[0]);

	request->operation = (uint8_t)head;
	request->nr_segments = (uint8_t)(head >> 8);
	request->id = pvf_load64(&slot[1]);
	request->sector = pvf_load64(&slot[2]);
	for (uint32_t i = 0; i < request->nr_segments && i < PVF_WIRE_BLKIF_MAX_DIRECT; i++) {
		uint64_t segment = pvf_load64(&slot[SEGMENTS_AT + i]);

		request->seg[i].gref = (uint32_t)segment;
		request->seg[i].first_sect = (uint8_t)(segment >> 32);
		request->seg[i].last_sect = (uint8_t)(segment >> 40);
	}
}

/* Sectors of the request, all of it within the page, the disk and the alignment; 0 when it is not. */
static uint32_t check_transfer(const struct vbd_back *back, const struct vbd_request *request)
{
	uint64_t unaligned = request->sector;
	uint32_t sectors = 0;

	if (request->nr_segments < 1 || request->nr_segments > PVF_WIRE_BLKIF_MAX_DIRECT)
		return 0;
	for (uint32_t i = 0; i < request->nr_segments; i++) {
		uint32_t first = request->seg[i].first_sect, last = request->seg[i].last_sect;

		if (first > last || last >= PVF_PAGE_SIZE / PVF_WIRE_BLKIF_SECTOR)
			return 0;
		unaligned |= first | (last + 1);
		sectors += last - first + 1;
	}
	/* In units of 512 bytes at every sector size, aligned to that size (PROTOCOL: blkif, 221f2748e8). */
	if (unaligned & back->sector_mask)
		return 0;
	if (request->sector > back->sectors || sectors > back->sectors - request->sector)
		return 0;
	return sectors;
}

/* A stretch of mapped memory that is contiguous, like what it holds of the disk. */
struct run {
	uint8_t *data;
	uint32_t bytes;
	uint64_t offset;
};

static int move_run(struct vbd_back *back, bool write, const struct run *run)
{
	const struct pvf_sim_disk *disk = back->disk;
	int status;

	if (!run->bytes)
		return PVF_OK;
	if (write)
		return disk->write(disk->ctx, run->offset, run->data, run->bytes);
	status = disk->read(disk->ctx, run->offset, run->data, run->bytes);
	if (status == PVF_OK)
		vbd_fault_data(back, run->data);
	return status;
}

static int16_t transfer(struct vbd_back *back, const struct vbd_request *request)
{
	bool write = request->operation == PVF_WIRE_BLKIF_OP_WRITE;
	uint32_t sectors = check_transfer(back, request);
	struct run run = {.offset = request->sector << PVF_WIRE_BLKIF_SECTOR_SHIFT};
	int status = PVF_OK;

	back->counters.segments += request->nr_segments;
	if (!sectors || (write && back->disk->read_only))
		return PVF_WIRE_BLKIF_ERROR;
	for (uint32_t i = 0; i < request->nr_segments && status == PVF_OK; i++) {
		const struct pvf_wire_blkif_segment *seg = &request->seg[i];
		uint32_t bytes = (uint32_t)(seg->last_sect - seg->first_sect + 1) << PVF_WIRE_BLKIF_SECTOR_SHIFT;
		uint8_t *page = vbd_grants_map(back, seg->gref, write);
		uint8_t *data = page + ((uint32_t)seg->first_sect << PVF_WIRE_BLKIF_SECTOR_SHIFT);

		if (!page) {
			status = PVF_STORE_DENIED;
			break;
		}
		if (run.bytes && data == run.data + run.bytes) {
			run.bytes += bytes;
			continue;
		}
		status = move_run(back, write, &run);
		run = (struct run){data, bytes, run.offset + run.bytes};
	}
	if (status == PVF_OK)
		status = move_run(back, write, &run);
	vbd_grants_end_request(back);
	if (status != PVF_OK)
		return PVF_WIRE_BLKIF_ERROR;
	*(write ? &back->counters.bytes_written : &back->counters.bytes_read) += (uint64_t)sectors << 9;
	return PVF_WIRE_BLKIF_OKAY;
}

static int16_t flush(struct vbd_back *back, const struct vbd_request *request)
{
	if (request->nr_segments)
		return PVF_WIRE_BLKIF_ERROR;
	if (back->disk->flush && back->disk->flush(back->disk->ctx) != PVF_OK)
		return PVF_WIRE_BLKIF_ERROR;
	return PVF_WIRE_BLKIF_OKAY;
}

static int16_t carry_out(struct vbd_back *back, const struct vbd_request *request)
{
	switch (request->operation) {
	case PVF_WIRE_BLKIF_OP_READ:
		back->counters.reads++;
		return transfer(back, request);
	case PVF_WIRE_BLKIF_OP_WRITE:
		back->counters.writes++;
		return transfer(back, request);
	case PVF_WIRE_BLKIF_OP_FLUSH:
		back->counters.flushes++;
		return flush(back, request);
	default:
		back->counters.other++;
		return PVF_WIRE_BLKIF_EOPNOTSUPP;
	}
}

/* False: the ring is gone. */
static bool serve_next(struct vbd_back *back)
{
	struct vbd_ring *ring = &back->ring;
	struct pvf_wire_blkif_response answer;
	struct vbd_request request;
	enum vbd_verdict verdict;
	int16_t status = PVF_WIRE_BLKIF_OKAY;

	take_request(ring, &request);
	ring->req_cons++;
	ring->armed = false;
	verdict = vbd_fault_request(back, &status);
	if (verdict == VBD_GONE)
		return false;
	if (verdict == VBD_SWALLOW)
		return true;
	if (verdict == VBD_SERVE)
		status = carry_out(back, &request);
	if (status != PVF_WIRE_BLKIF_OKAY)
		back->counters.refused++;
	/* Padding is zero: nothing of the backend's memory goes out (XSA-216). */
	memset(&answer, 0, sizeof(answer));
	answer.id = request.id;
	answer.operation = request.operation;
	answer.status = status;
	for (uint32_t n = vbd_fault_response(back, &answer); n; n--)
		ring->answers[ring->nr_answers++] = answer;
	return true;
}

/* ---- batches ---- */

static void put_answers(struct vbd_ring *ring)
{
	for (uint32_t i = 0; i < ring->nr_answers; i++) {
		volatile uint64_t *slot = vbd_ring_slot(ring, ring->rsp_prod++);
		const struct pvf_wire_blkif_response *answer = &ring->answers[i];

		pvf_store64(&slot[0], answer->id);
		pvf_store64(&slot[1], answer->operation | (uint64_t)(uint16_t)answer->status << 16);
	}
	ring->nr_answers = 0;
}

static void push(struct vbd_back *back)
{
	struct vbd_ring *ring = &back->ring;
	uint32_t before = ring->published, event, notifications;

	vbd_fault_order(back);
	put_answers(ring);
	/* Whoever sees a response sees it counted. */
	vbd_back_show_counters(back);
	pvf_store32_release(&ring->shared->rsp_prod, vbd_fault_producer(back, ring->rsp_prod));
	ring->published = ring->rsp_prod;
	/* The producer's rule of io/ring.h: publish, full barrier, then look whether an event was asked for. */
	pvf_mb();
	event = pvf_load32(&ring->shared->rsp_event);
	notifications = (uint32_t)(ring->rsp_prod - event) < (uint32_t)(ring->rsp_prod - before);
	notifications = vbd_fault_notifications(back, notifications);
	if (!notifications)
		return;
	back->counters.notifications += notifications;
	vbd_back_show_counters(back);
	while (notifications--)
		back->host->ops->evtchn_notify(back->host->ctx, ring->port);
}

/* Asks for an event with the next request, then looks once more (io/ring.h: RING_FINAL_CHECK_FOR_REQUESTS). */
static bool arm(struct vbd_ring *ring)
{
	pvf_store32(&ring->shared->req_event, ring->req_cons + 1);
	pvf_mb();
	ring->armed = true;
	return pvf_load32_acquire(&ring->shared->req_prod) != ring->req_cons;
}

bool vbd_ring_work(struct vbd_back *back)
{
	struct vbd_ring *ring = &back->ring;
	uint32_t producer, taken;

	if (!ring->shared || ring->stopped)
		return false;
	producer = pvf_load32_acquire(&ring->shared->req_prod);
	if (producer == ring->req_cons)
		return (!ring->armed && arm(ring)) || vbd_fault_polls(back);
	if (producer - ring->rsp_prod > VBD_RING_ENTRIES) {
		ring->stopped = true;
		vbd_back_warn(back, "vbd backend: the frontend's requests overrun its ring; nothing more is served");
		return true;
	}
	for (taken = 0; ring->req_cons != producer && taken < VBD_BATCH; taken++)
		if (!serve_next(back))
			return true;
	if (ring->nr_answers)
		push(back);
	return true;
}
