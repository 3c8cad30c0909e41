/* SPDX-License-Identifier: MIT */
/*
 * Waiting for a completion: spin a little, arm, look again, sleep. While it spins the event is not armed, so a backend that
 * answers meanwhile sends none. How long it spins follows from what came of the last spins.
 */
#include "vbd_internal.h"

/* How long a polling queue lets a peer run that runs only while its host waits. */
#define POLL_REST_NS 1000u

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

/*
 * One look without sleeping, a bounded one; `armed` when nothing came and the event is armed. What was submitted and not
 * pushed is pushed: who waits for it would wait for ever.
 */
static uint32_t look(struct pvf_vbd_queue *queue, struct pvf_vbd_done *done, uint32_t max, bool *armed)
{
	uint32_t n = 0;

	*armed = false;
	if (pvf_gate_enter(&queue->gate) > PVF_GATE_DRAIN || vbd_off_ring(queue)) {
		pvf_gate_leave(&queue->gate);
		return (uint32_t)pvf_vbd_reap(queue, done, max);
	}
	if (queue->ring.req_prod != queue->ring.published)
		(void)vbd_push(queue);
	n = pvf_vbd_take(queue, done, max);
	if (n == 0 && !vbd_off_ring(queue) && spin(queue))
		n = pvf_vbd_take(queue, done, max);
	if (queue->feeding != VBD_NO_SPLIT)
		pvf_vbd_split_feed(queue);
	if (n == 0 && !vbd_off_ring(queue) && !(queue->flags & PVF_VBD_POLL))
		*armed = !pvf_ring_final_check(&queue->ring);
	pvf_gate_leave(&queue->gate);
	if (n == 0 && vbd_off_ring(queue))
		n = (uint32_t)pvf_vbd_reap(queue, done, max);
	return n;
}

/* Control's turn, when its event fired or its time has come. Returns when it wants to be called again. */
static uint64_t control(struct pvf_vbd *vbd)
{
	const struct pvf_host *host = vbd->device.host;
	bool due = pvf_device_event_due(&vbd->device);

	if (!due && vbd->control_deadline != PVF_FOREVER)
		due = host->ops->now(host->ctx) >= vbd->control_deadline;
	return due ? pvf_vbd_advance(vbd) : vbd->control_deadline;
}

/*
 * Sleeps until the queue's event differs from `sequence`. A queue that polls is never sent one: it looks again at once, but
 * for hosts whose peer runs only while they wait.
 */
static int rest(struct pvf_vbd_queue *queue, uint32_t sequence, uint64_t deadline)
{
	const struct pvf_host *host = queue->host;

	if (queue->flags & PVF_VBD_POLL) {
		uint64_t soon;

		pvf_relax();
		if (!(host->ops->caps & PVF_HOST_NO_SPIN))
			return host->ops->now(host->ctx) < deadline ? PVF_OK : PVF_TIMEOUT;
		soon = host->ops->now(host->ctx) + POLL_REST_NS;
		deadline = soon < deadline ? soon : deadline;
	}
	queue->statistics.sleeps++;
	return host->ops->wait(host->ctx, &queue->event, sequence, deadline);
}

int pvf_vbd_wait(struct pvf_vbd_queue *queue, struct pvf_vbd_done *done, uint32_t max, uint64_t deadline)
{
	const struct pvf_host *host = queue->host;

	if (max == 0)
		return PVF_INVALID;
	if (!host->ops->wait)
		return PVF_UNSUPPORTED;
	for (;;) {
		/* Before the look: an event between the look and the sleep must end the sleep (FIELD-BUGS 15). */
		uint32_t sequence = pvf_event_sequence(&queue->event);
		bool armed;
		uint32_t n = look(queue, done, max, &armed);
		uint64_t wake;
		int status = PVF_OK;

		if (n)
			return (int)n;
		/* Only when the ring had nothing: control may have to ask a store that is slow. */
		wake = control(queue->vbd);
		if (pvf_vbd_in_flight(queue) == 0)
			return 0;
		if (armed || queue->flags & PVF_VBD_POLL || vbd_off_ring(queue))
			status = rest(queue, sequence, wake < deadline ? wake : deadline);
		if (status != PVF_OK && status != PVF_TIMEOUT)
			return status;
		if ((status == PVF_TIMEOUT || !armed) && host->ops->now(host->ctx) >= deadline)
			return PVF_TIMEOUT;
	}
}
