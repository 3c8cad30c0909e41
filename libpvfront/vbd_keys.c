/* SPDX-License-Identifier: MIT */
/* The vbd's keys: what is read of the backend, what is told to it, and the check of what they agree on. */
#include <stddef.h>

#include "vbd_internal.h"

#define AT(member) offsetof(struct vbd_negotiated, member), sizeof(((struct vbd_negotiated *)0)->member)

/* Defaults are those of Xen's io/blkif.h. A disk whose size or sector size is garbage is not guessed at. */
static const struct pvf_key keys[VBD_KEYS] = {
	/* name, type, side, required, garbage is an error, where, fallback, min, max */
	{"virtual-device", PVF_KEY_U32, PVF_KEY_FRONTEND, false, true, AT(virtual_device), 0, 0, UINT32_MAX},
	{"trusted", PVF_KEY_BOOL, PVF_KEY_FRONTEND, false, false, AT(trusted), 1, 0, 1},
	{"max-ring-page-order", PVF_KEY_U32, PVF_KEY_OFFER, false, false, AT(max_ring_page_order), 0, 0, 15},
	{"multi-queue-max-queues", PVF_KEY_U32, PVF_KEY_OFFER, false, false, AT(max_queues), 1, 1, 65535},
	{"feature-max-indirect-segments", PVF_KEY_U32, PVF_KEY_OFFER, false, false, AT(max_indirect), 0, 0, UINT32_MAX},
	{"sectors", PVF_KEY_U64, PVF_KEY_PROPERTY, true, true, AT(sectors), 0, 1, UINT64_MAX >> 9},
	{"sector-size", PVF_KEY_POWER2, PVF_KEY_PROPERTY, false, true, AT(sector_size), 512, 512, 4096},
	{"physical-sector-size", PVF_KEY_POWER2, PVF_KEY_PROPERTY, false, false, AT(physical_sector_size), 0, 512,
	 1u << 30},
	{"info", PVF_KEY_U32, PVF_KEY_PROPERTY, false, true, AT(info), 0, 0, UINT32_MAX},
	{"mode", PVF_KEY_TEXT, PVF_KEY_PROPERTY, false, true, AT(mode), 0, 0, 0},
	{"device-type", PVF_KEY_TEXT, PVF_KEY_PROPERTY, false, false, AT(device_type), 0, 0, 0},
	{"feature-persistent", PVF_KEY_BOOL, PVF_KEY_PROPERTY, false, false, AT(persistent), 0, 0, 1},
	{"feature-flush-cache", PVF_KEY_BOOL, PVF_KEY_PROPERTY, false, false, AT(flush), 0, 0, 1},
};

static struct pvf_vbd *vbd_of(struct pvf_device *device)
{
	return (struct pvf_vbd *)(void *)device; /* its first member */
}

static int prepare(struct pvf_device *device)
{
	struct pvf_vbd *vbd = vbd_of(device);

	int status = pvf_pool_set_peer(&vbd->pool, device->backend_domid);

	return status == PVF_OK ? pvf_vbd_queue_prepare(vbd->queue) : status;
}

/*
 * Keys of other shapes of ring, left by an earlier life, must go: QEMU reads ring-ref0 as soon as ring-page-order exists,
 * and a backend that finds multi-queue-num-queues looks for queue-0 (FIELD-BUGS 9).
 */
static const char *const stale_keys[] = {"ring-page-order", "num-ring-pages", "multi-queue-num-queues"};

static void publish(struct pvf_device *device)
{
	struct pvf_vbd *vbd = vbd_of(device);

	for (uint32_t i = 0; i < sizeof(stale_keys) / sizeof(stale_keys[0]); i++)
		pvf_batch_remove(device, device->path, stale_keys[i]);
	pvf_batch_write_number(device, device->path, "ring-ref", vbd->queue->region->refs[0]);
	pvf_batch_write_number(device, device->path, "event-channel", vbd->queue->port);
	pvf_batch_write(device, device->path, "protocol", PVF_WIRE_BLKIF_PROTOCOL);
	pvf_batch_write_number(device, device->path, "feature-persistent", vbd->options.persistent ? 1u : 0u);
}

static int mismatch(struct pvf_device *device, const char *what, uint64_t number)
{
	struct pvf_text text = pvf_device_text(device, PVF_GARBAGE);

	pvf_text_path(&text, device->backend_path);
	pvf_text_add(&text, what);
	pvf_text_number(&text, number);
	return PVF_GARBAGE;
}

static int connect(struct pvf_device *device)
{
	struct pvf_vbd *vbd = vbd_of(device);
	struct vbd_negotiated *n = &vbd->negotiated;

	if (n->physical_sector_size < n->sector_size)
		n->physical_sector_size =
			n->sector_size; /* its default; a multiple otherwise, both being powers of two */
	if (n->sectors & ((n->sector_size >> PVF_WIRE_BLKIF_SECTOR_SHIFT) - 1u))
		return mismatch(device, "/sectors counts units of 512 and is no multiple of sector-size: ", n->sectors);
	if (!vbd->options.persistent)
		n->persistent = 0;
	return pvf_vbd_queue_start(vbd->queue);
}

static void drain(struct pvf_device *device)
{
	struct pvf_vbd_queue *queue = vbd_of(device)->queue;

	if (queue->stopped)
		return;
	pvf_store32(&queue->refusal, (uint32_t)PVF_CLOSED);
	(void)pvf_gate_set(&queue->gate, PVF_GATE_DRAIN, device->host);
}

/*
 * Nothing is in flight when the backend has answered all that was pushed and no long I/O waits for room: an owner that
 * waits for the close itself finds the answers afterwards. Both words are the backend's; a lie ends its own requests.
 */
static uint32_t in_flight(const struct pvf_device *device)
{
	const struct pvf_vbd_queue *queue = ((const struct pvf_vbd *)(const void *)device)->queue;
	uint32_t unanswered;

	if (queue->stopped)
		return 0;
	unanswered = PVF_RING_LOAD(drain_req_prod, &queue->ring.shared->req_prod) - pvf_ring_responses(&queue->ring);
	return pvf_load32_acquire(&queue->feeding) != VBD_NO_SPLIT ? unanswered + 1u : unanswered;
}

static int stop(struct pvf_device *device, int status, int refusal)
{
	return pvf_vbd_queue_stop(vbd_of(device)->queue, status, refusal);
}

static int release(struct pvf_device *device, bool forgotten)
{
	return pvf_vbd_queue_release(vbd_of(device)->queue, forgotten);
}

static int failure(const struct pvf_device *device, struct pvf_text *text)
{
	const struct pvf_vbd_queue *queue = ((const struct pvf_vbd *)(const void *)device)->queue;

	if (!pvf_load32_acquire(&queue->bad))
		return PVF_OK;
	pvf_vbd_bad_text(queue, text);
	return PVF_BROKEN;
}

const struct pvf_device_class pvf_vbd_class = {
	.name = "vbd",
	.keys = keys,
	.nr_keys = VBD_KEYS,
	.prepare = prepare,
	.publish = publish,
	.connect = connect,
	.drain = drain,
	.in_flight = in_flight,
	.stop = stop,
	.release = release,
	.failure = failure,
};
