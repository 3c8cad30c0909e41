/* SPDX-License-Identifier: MIT */
/*
 * reap. A response is copied out of shared memory once, as two words, then checked, then used (XSA-155): the index against
 * what was sent, the id against its slot and generation, the operation and status against what the slot expects. A backend
 * that fails a check is not asked again: the device is broken, and everything in flight ends, once.
 */
#include "bytes.h"

#include "vbd_fast.h"

/* Rings' worth of responses that one reap looks at (FIELD-BUGS 22: an unbounded poll at DISPATCH is a bug check). */
#define REAP_PASSES 2u

static void found_bad(struct pvf_vbd_queue *queue, enum vbd_bad bad, uint32_t value)
{
	queue->statistics.bad_responses++;
	queue->bad_value = value;
	vbd_slow(queue, VBD_SLOW_BAD, true);
	pvf_store32_release(&queue->bad, (uint32_t)bad);
	/* Control must hear of it: it tells the backend and the toolstack. */
	pvf_event(&queue->vbd->device.event);
}

void pvf_vbd_bad_text(const struct pvf_vbd_queue *queue, struct pvf_text *text)
{
	static const char *const clauses[] = {
		[VBD_BAD_NONE] = "",
		[VBD_BAD_OVERRUN] = "it answered more requests than it was sent, too many: ",
		[VBD_BAD_ID] = "it answered with an id that was never used, slot ",
		[VBD_BAD_UNUSED] = "it answered a request that was not in flight, slot ",
		[VBD_BAD_GENERATION] = "it answered with the id of an earlier request in slot ",
		[VBD_BAD_OPERATION] = "it answered with another operation than was asked, ",
		[VBD_BAD_STATUS] = "it answered with a status that does not exist, 0x",
	};
	uint32_t bad = pvf_load32_acquire(&queue->bad);

	pvf_text_add(text, clauses[bad]);
	if (bad == VBD_BAD_STATUS) {
		static const char digits[] = "0123456789abcdef";
		char hex[5] = {digits[queue->bad_value >> 12 & 15u], digits[queue->bad_value >> 8 & 15u],
			       digits[queue->bad_value >> 4 & 15u], digits[queue->bad_value & 15u], 0};

		pvf_text_add(text, hex);
		return;
	}
	pvf_text_number(text, queue->bad_value);
}

/* PVF_OK and the request's status, or PVF_BROKEN. `id` and `word` are the response as it was copied. */
static int check(struct pvf_vbd_queue *queue, uint64_t id, uint32_t word, int *status)
{
	static const int statuses[] = {PVF_OK, PVF_IO, PVF_UNSUPPORTED};
	uint32_t index = (uint32_t)id & 0xffffu;
	const struct vbd_slot *slot = &queue->slots[index & queue->ring.mask];
	uint32_t code = (0u - (word >> 16)) & 0xffffu; /* 0, 1, 2 for 0, -1, -2 */

	if (index > queue->ring.mask)
		found_bad(queue, VBD_BAD_ID, index);
	else if ((uint32_t)slot->want == VBD_WANT_NOTHING)
		found_bad(queue, VBD_BAD_UNUSED, index);
	else if (slot->id != id)
		found_bad(queue, VBD_BAD_GENERATION, index);
	else if ((slot->want & 0xffu) != (word & 0xffu))
		found_bad(queue, VBD_BAD_OPERATION, word & 0xffu);
	else if (code >= sizeof(statuses) / sizeof(statuses[0]))
		found_bad(queue, VBD_BAD_STATUS, word >> 16);
	else {
		*status = statuses[code];
		return PVF_OK;
	}
	return PVF_BROKEN;
}

/*
 * A response that is an error, wrong, or one of a split I/O. It is copied here anew, and only this copy counts: the peer may
 * have changed it since. Returns the completions it made, or PVF_BROKEN.
 */
PVF_NOINLINE static int take_special(struct pvf_vbd_queue *queue, const volatile uint64_t *entry,
				     struct pvf_vbd_done *done)
{
	uint64_t id = PVF_RING_COPY(entry);
	uint32_t word = (uint32_t)PVF_RING_COPY(entry + 1);
	uint32_t index = (uint32_t)id & queue->ring.mask;
	struct vbd_slot *slot = &queue->slots[index];
	int status = PVF_OK;

	if (check(queue, id, word, &status) != PVF_OK)
		return PVF_BROKEN;
	if (slot->want & VBD_WANT_SPECIAL)
		return pvf_vbd_split_answer(queue, index, status, done) ? 1 : 0;
	done->user = slot->user;
	done->status = status;
	done->reserved = 0;
	if (status != PVF_OK)
		queue->statistics.errors++;
	vbd_slot_free(queue, index);
	return 1;
}

uint32_t pvf_vbd_take(struct pvf_vbd_queue *queue, struct pvf_vbd_done *done, uint32_t max)
{
	uint32_t prod = pvf_ring_responses(&queue->ring), first = queue->ring.rsp_cons, n = 0;
	bool timed = (queue->flags & PVF_VBD_TIMING) != 0;

	if (prod == first || max == 0)
		return 0;
	if (PVF_UNLIKELY(pvf_ring_overrun(&queue->ring, prod))) {
		found_bad(queue, VBD_BAD_OVERRUN, prod - first);
		pvf_vbd_end_all(queue, PVF_BROKEN);
		return 0;
	}
	if (timed)
		queue->reap_time = queue->host->ops->now(queue->host->ctx);
	for (;;) {
		uint32_t run = prod - queue->ring.rsp_cons < max - n ? prod - queue->ring.rsp_cons : max - n;
		int made;

		n += timed ? vbd_take_plain(queue, done + n, run, true) : vbd_take_plain(queue, done + n, run, false);
		if (PVF_LIKELY(queue->ring.rsp_cons == prod || n == max))
			break;
		made = take_special(queue, pvf_ring_entry(&queue->ring, queue->ring.rsp_cons, VBD_STRIDE), &done[n]);
		queue->ring.rsp_cons++;
		if (made < 0) {
			pvf_vbd_end_all(queue, PVF_BROKEN);
			break;
		}
		n += (uint32_t)made;
	}
	return n;
}

/* ---- what does not come from the ring ---- */

static void append_ended(struct pvf_vbd_queue *queue, void *user, int status)
{
	struct pvf_vbd_done *done = &queue->ended[queue->first_ended + queue->nr_ended++];

	done->user = user;
	done->status = status;
	done->reserved = 0;
	vbd_slow(queue, VBD_SLOW_ENDED, true);
}

static void end_slot(struct pvf_vbd_queue *queue, uint32_t index, int status)
{
	struct vbd_slot *slot = &queue->slots[index];
	struct pvf_vbd_done done;

	if ((uint32_t)slot->want == VBD_WANT_NOTHING)
		return;
	if (!(slot->want & VBD_WANT_SPECIAL)) {
		queue->statistics.errors++;
		append_ended(queue, slot->user, status);
		vbd_slot_free(queue, index);
	} else if (pvf_vbd_split_answer(queue, index, status, &done)) {
		append_ended(queue, done.user, done.status);
	}
}

void pvf_vbd_end_all(struct pvf_vbd_queue *queue, int status)
{
	struct pvf_vbd_done done;

	/* What waits for room will not go on the ring any more. */
	if (queue->feeding != VBD_NO_SPLIT && pvf_vbd_split_abandon(queue, queue->feeding, status, &done))
		append_ended(queue, done.user, done.status);
	vbd_set_feeding(queue, VBD_NO_SPLIT);
	/* What was filled and not yet shown ends here too, and must not be shown by a later push. */
	queue->ring.req_prod = queue->ring.published;
	for (uint32_t i = 0; i <= queue->ring.mask; i++)
		end_slot(queue, i, status);
}

/* Hands out what ended without an answer. */
PVF_NOINLINE static uint32_t take_ended(struct pvf_vbd_queue *queue, struct pvf_vbd_done *done, uint32_t max)
{
	uint32_t n = queue->nr_ended < max ? queue->nr_ended : max;

	if (n)
		memcpy(done, queue->ended + queue->first_ended, n * sizeof(*done));
	queue->nr_ended -= n;
	queue->first_ended = queue->nr_ended ? queue->first_ended + n : 0;
	vbd_slow(queue, VBD_SLOW_ENDED, queue->nr_ended != 0);
	return n;
}

/* One at a time: when a response is bad, what is in flight is appended behind those that were good. */
void pvf_vbd_take_aside(struct pvf_vbd_queue *queue)
{
	uint32_t n;

	do {
		n = pvf_vbd_take(queue, queue->ended + queue->first_ended + queue->nr_ended, 1);
		queue->nr_ended += n;
	} while (n && !queue->bad);
	vbd_slow(queue, VBD_SLOW_ENDED, queue->nr_ended != 0);
}

bool pvf_vbd_set_aside(struct pvf_vbd_queue *queue)
{
	bool more = false;

	if (pvf_gate_enter(&queue->gate) <= PVF_GATE_DRAIN && !queue->bad) {
		pvf_vbd_take_aside(queue);
		if (queue->feeding != VBD_NO_SPLIT)
			pvf_vbd_split_feed(queue);
		more = !queue->bad && pvf_ring_final_check(&queue->ring);
	}
	pvf_gate_leave(&queue->gate);
	return more;
}

static uint32_t reap_ring(struct pvf_vbd_queue *queue, struct pvf_vbd_done *done, uint32_t max)
{
	uint32_t n = 0;

	/* A backend that answers as fast as a long I/O is fed could keep us here: after REAP_PASSES the owner is called again. */
	for (uint32_t pass = 0; pass < REAP_PASSES; pass++) {
		n += pvf_vbd_take(queue, done + n, max - n);
		if (vbd_off_ring(queue))
			return n + take_ended(queue, done + n, max - n);
		if (queue->feeding != VBD_NO_SPLIT)
			pvf_vbd_split_feed(queue);
		if (n == max || queue->flags & PVF_VBD_POLL || !pvf_ring_final_check(&queue->ring))
			return n;
	}
	queue->event_base++; /* our own event, not the backend's */
	pvf_event(&queue->event);
	return n;
}

/* What is not a plain run of good answers that leaves the ring empty. `n` completions are in `done` already. */
int pvf_vbd_reap_slowly(struct pvf_vbd_queue *queue, struct pvf_vbd_done *done, uint32_t max, uint32_t n, uint32_t mode)
{
	if (mode <= PVF_GATE_DRAIN && !vbd_off_ring(queue))
		n += reap_ring(queue, done + n, max - n);
	else if (mode != PVF_GATE_SHUT)
		n += take_ended(queue, done + n, max - n);
	pvf_gate_leave(&queue->gate);
	return (int)n;
}

int pvf_vbd_reap(struct pvf_vbd_queue *queue, struct pvf_vbd_done *done, uint32_t max)
{
	return pvf_vbd_reap_inline(queue, done, max);
}
