/* SPDX-License-Identifier: MIT */
/*
 * A queue's gate: its owner passes it on every call, control shuts it and then has the queue to itself.
 *
 * The owner stores `inside`, then loads `mode`; control stores `mode`, then loads `inside`. Both need a full barrier
 * between the two, or each could miss the other. A barrier in each of submit, push and reap would cost a request at queue
 * depth 1 more than everything else in them; so where the host has a fence (a barrier on every CPU), control alone pays
 * (docs/DECISIONS.md, "The gate").
 */
#ifndef PVFRONT_GATE_H
#define PVFRONT_GATE_H

#include <pvfront/compiler.h>
#include <pvfront/host.h>

/* The owner touches the ring up to DRAIN. */
enum pvf_gate_mode {
	PVF_GATE_OPEN,  /* submit, push, reap */
	PVF_GATE_DRAIN, /* push and reap */
	PVF_GATE_SHUT,  /* the queue is control's: the owner touches nothing */
	PVF_GATE_ENDED, /* the owner may reap what ended without an answer */
};

struct pvf_gate {
	volatile uint32_t inside;
	volatile uint32_t mode;
	uint32_t owner_fences; /* the host has no fence: the owner pays */
};

PVF_INLINE uint32_t pvf_gate_enter(struct pvf_gate *gate)
{
	pvf_store32(&gate->inside, 1u);
	if (PVF_UNLIKELY(gate->owner_fences))
		pvf_mb();
	pvf_barrier();
	return pvf_load32_acquire(&gate->mode);
}

PVF_INLINE void pvf_gate_leave(struct pvf_gate *gate)
{
	pvf_store32_release(&gate->inside, 0u);
}

/* Control: sets the mode; true when no owner is inside that could still act on the old one. Ask again until true. */
PVF_INLINE bool pvf_gate_set(struct pvf_gate *gate, uint32_t mode, const struct pvf_host *host)
{
	pvf_store32_release(&gate->mode, mode);
	if (host->ops->fence)
		host->ops->fence(host->ctx);
	pvf_mb();
	return pvf_load32_acquire(&gate->inside) == 0;
}

#endif
