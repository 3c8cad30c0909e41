/* SPDX-License-Identifier: MIT */
#include "transfer.h"

#include <stdlib.h>

#include "io.h"
#include "progress.h"
#include "session.h"

struct slot {
	struct pvf_seg buffer; /* whole */
	struct pvf_seg seg;    /* what of it is in use */
	uint64_t sector;
	bool done;
	int32_t status;
};

struct run {
	struct session *session;
	const struct transfer *transfer;
	struct slot *slots;
	uint32_t depth;
	uint64_t blocks, started, finished; /* blocks: in all, put on the ring, handed over */
	bool filled;                        /* WRITE: the next block's data are in its buffer already */
};

static uint32_t block_bytes(const struct transfer *transfer, uint64_t block)
{
	uint64_t left = transfer->count * 512u - block * TRANSFER_BLOCK;

	return left < TRANSFER_BLOCK ? (uint32_t)left : TRANSFER_BLOCK;
}

/* Puts blocks on the ring while there is a free slot and room. */
static bool start_blocks(struct run *run)
{
	const struct transfer *transfer = run->transfer;

	while (run->started < run->blocks && run->started - run->finished < run->depth) {
		struct slot *slot = &run->slots[run->started % run->depth];
		uint32_t bytes = block_bytes(transfer, run->started);
		bool again;

		slot->sector = transfer->sector + run->started * (TRANSFER_BLOCK / 512u);
		slot->seg = slot->buffer;
		slot->seg.length = bytes;
		slot->done = false;
		if (transfer->op == PVF_VBD_WRITE && !run->filled &&
		    !transfer->data(transfer->ctx, slot->sector, pvf_seg_data(&slot->seg), bytes))
			return false;
		run->filled = true;
		const struct pvf_vbd_io io = {
			.sector = slot->sector, .segs = &slot->seg, .nr_segs = 1, .op = transfer->op, .user = slot};
		if (!io_submit(run->session, &io, bytes, &again))
			return again;
		run->filled = false;
		run->started++;
	}
	return true;
}

/* Hands over, in order, what has come back. */
static bool finish_blocks(struct run *run)
{
	const struct transfer *transfer = run->transfer;

	while (run->finished < run->started) {
		struct slot *slot = &run->slots[run->finished % run->depth];

		if (!slot->done)
			return true;
		if (slot->status != PVF_OK)
			return io_failed(run->session, transfer->op, slot->sector, slot->seg.length, slot->status);
		if (transfer->op == PVF_VBD_READ &&
		    !transfer->data(transfer->ctx, slot->sector, pvf_seg_data(&slot->seg), slot->seg.length))
			return false;
		run->finished++;
		run->session->outcome.bytes += slot->seg.length;
	}
	return true;
}

static bool move_all(struct run *run, struct progress *progress)
{
	const struct transfer *transfer = run->transfer;
	const char *doing = transfer->op == PVF_VBD_READ ? "reading" : "writing";

	while (run->finished < run->blocks) {
		struct pvf_vbd_done done[32];
		uint32_t n = 0;

		if (!start_blocks(run))
			return false;
		(void)pvf_vbd_push(run->session->queue);
		if (!io_wait(run->session, done, 32, &n, doing, run->slots[run->finished % run->depth].sector))
			return false;
		for (uint32_t i = 0; i < n; i++) {
			struct slot *slot = done[i].user;
			slot->status = done[i].status;
			slot->done = true;
		}
		if (!finish_blocks(run))
			return false;
		progress_update(progress,
				run->finished == run->blocks ? transfer->count * 512u : run->finished * TRANSFER_BLOCK);
	}
	return true;
}

/* Fewer buffers than asked for are enough to go on with. */
static bool take_buffers(struct run *run)
{
	int status = PVF_OK;
	uint32_t n = 0;

	while (n < run->depth && n < run->blocks) {
		status = pvf_vbd_buffer(run->session->queue, TRANSFER_BLOCK, &run->slots[n].buffer);
		if (status != PVF_OK)
			break;
		n++;
	}
	run->depth = n;
	if (n == 0)
		(void)io_failed(run->session, run->transfer->op, run->transfer->sector, TRANSFER_BLOCK, status);
	return n > 0;
}

/* Buffers that are still in flight are freed when the device is closed. */
static void give_buffers_back(struct run *run)
{
	if (pvf_vbd_in_flight(run->session->queue) != 0)
		return;
	for (uint32_t i = 0; i < run->depth; i++)
		pvf_vbd_release(run->session->queue, &run->slots[i].buffer);
}

bool transfer_run(struct session *session, const struct transfer *transfer)
{
	struct run run = {
		.session = session,
		.transfer = transfer,
		.slots = calloc(transfer->depth, sizeof(struct slot)),
		.depth = transfer->depth,
		.blocks = (transfer->count * 512u + TRANSFER_BLOCK - 1) / TRANSFER_BLOCK,
	};
	struct progress progress = {.terminal = false};
	uint64_t begun = progress_now();
	bool good;

	if (run.slots == NULL)
		return fail(&session->failure, CODE_IO, "no memory for %u buffers; use a smaller --depth",
			    transfer->depth);
	if (transfer->label != NULL)
		progress_start(&progress, transfer->label, transfer->count * 512u);
	good = take_buffers(&run) && move_all(&run, &progress);
	progress_end(&progress);
	session->outcome.seconds += (double)(progress_now() - begun) / 1e9;
	give_buffers_back(&run);
	/* What is in flight still points into the slots: they have to outlive the reaping, and nobody looks at `user` there. */
	if (pvf_vbd_in_flight(session->queue) != 0)
		session_disconnect(session);
	free(run.slots);
	return good;
}
