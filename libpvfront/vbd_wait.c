/* SPDX-License-Identifier: MIT */
/*
 * Waiting for a completion: spin a little, arm, look again, sleep. While it spins the event is not armed, so a backend that
 * answers meanwhile sends none. How long it spins follows from what came of the last spins.
 */
#include "vbd_internal.h"

/* A spin that found nothing halves the next one, down to a 64th of the longest: enough to notice when it pays again. */
static void spin_failed(struct pvf_vbd_queue *queue)
{
	queue->spin = queue->spin / 2u > queue->spin_max / 64u ? queue->spin / 2u : queue->spin_max / 64u;
}

static bool spin(struct pvf_vbd_queue *queue)
{
	for (uint32_t i = 0; i < queue->spin; i++) {
		if (pvf_ring_responses(&queue->ring) != queue->ring.rsp_cons) {
			queue->spin = queue->spin * 2u < queue->spin_max ? queue->spin * 2u + 1u : queue->spin_max;
			queue->statistics.spins++;
			return true;
		}
		pvf_relax();
	}
	if (queue->spin_max)
		spin_failed(queue);
	return false;
}

/* One look without sleeping; `armed` when nothing came and the event is armed. */
static uint32_t look(struct pvf_vbd_queue *queue, struct pvf_vbd_done *done, uint32_t max, bool *armed)
{
	uint32_t n = 0;

	*armed = false;
	if (pvf_gate_enter(&queue->gate) > PVF_GATE_DRAIN || vbd_off_ring(queue)) {
		pvf_gate_leave(&queue->gate);
		return (uint32_t)pvf_vbd_reap(queue, done, max);
	}
	do {
		n = pvf_vbd_take(queue, done, max);
		if (queue->feeding != VBD_NO_SPLIT)
			pvf_vbd_split_feed(queue);
		if (n || vbd_off_ring(queue))
			break;
		if (spin(queue))
			continue;
		*armed = !pvf_ring_final_check(&queue->ring);
	} while (!*armed);
	pvf_gate_leave(&queue->gate);
	if (n == 0 && vbd_off_ring(queue))
		n = (uint32_t)pvf_vbd_reap(queue, done, max);
	return n;
}

/* Control's turn, when its event fired or its time has come. Returns when it wants to be called again. */
static uint64_t control(struct pvf_vbd *vbd)
{
	struct pvf_device *device = &vbd->device;
	const struct pvf_host *host = device->host;
	bool due = pvf_device_event_due(device);

	if (!due && vbd->control_deadline != PVF_FOREVER)
		due = host->ops->now(host->ctx) >= vbd->control_deadline;
	return due ? pvf_vbd_advance(vbd) : vbd->control_deadline;
}

int pvf_vbd_wait(struct pvf_vbd_queue *queue, struct pvf_vbd_done *done, uint32_t max, uint64_t deadline)
{
	const struct pvf_host *host = queue->host;
	struct pvf_device *device = &queue->vbd->device;

	if (max == 0)
		return PVF_INVALID;
	if (!host->ops->wait)
		return PVF_UNSUPPORTED;
	for (;;) {
		/* Before the look: an event between the look and the sleep must end the sleep (FIELD-BUGS 15). */
		uint32_t sequence = pvf_event_sequence(&queue->event);
		uint64_t wake = control(queue->vbd);
		bool armed;
		uint32_t n = look(queue, done, max, &armed);
		int status;

		if (n)
			return (int)n;
		if (pvf_vbd_in_flight(queue) == 0)
			return 0;
		if (!armed && device->phase == PVF_PHASE_CONNECTED && !queue->bad)
			continue;
		queue->statistics.sleeps++;
		status = host->ops->wait(host->ctx, &queue->event, sequence, wake < deadline ? wake : deadline);
		if (status == PVF_AGAIN)
			return PVF_AGAIN;
		if (status == PVF_TIMEOUT && host->ops->now(host->ctx) >= deadline)
			return PVF_TIMEOUT;
	}
}
