/* SPDX-License-Identifier: MIT */
/*
 * The frontend's half of a shared ring. Shared ring memory is touched through these operations only, those on indices with
 * the name of their site: a schedule enumerator replaces them (define PVF_RING_HOOKS as a header that does).
 */
#ifndef PVFRONT_RING_H
#define PVFRONT_RING_H

#include <stddef.h>

#include <pvfront/compiler.h>
#include <pvfront/wire/ring.h>

#if defined(PVF_RING_HOOKS)
#include PVF_RING_HOOKS
#else
#define PVF_RING_LOAD(site, word) pvf_load32_acquire(word)
#define PVF_RING_STORE(site, word, value) pvf_store32_release(word, value)
#define PVF_RING_FENCE(site) pvf_mb()
/* A word of an entry: filled before it is shown, copied after it was shown. */
#define PVF_RING_FILL(word, value) pvf_store64(word, value)
#define PVF_RING_COPY(word) pvf_load64(word)
#endif

struct pvf_ring {
	struct pvf_wire_ring *shared;
	uint8_t *entries;
	uint32_t mask;      /* entries - 1 */
	uint32_t req_prod;  /* filled, private */
	uint32_t published; /* filled, shown to the peer */
	uint32_t rsp_cons;  /* taken */
};

/*
 * Entries of `stride` bytes that `bytes` of ring memory hold, rounded down to a power of two (Xen: io/ring.h, __RING_SIZE).
 * By doubling: a division is a library call on some CPUs.
 */
PVF_INLINE uint32_t pvf_ring_entries(uint32_t bytes, uint32_t stride)
{
	uint32_t n = 1;

	while (PVF_WIRE_RING_HEADER + 2u * n * stride <= bytes)
		n *= 2u;
	return n;
}

/*
 * Starts a ring on zeroed memory. Only the frontend does, and both event indices start at one past the producers
 * (FIELD-BUGS 11: a backend could not notify while they were 0). `start` is 0 on a real peer.
 */
PVF_INLINE void pvf_ring_init(struct pvf_ring *ring, void *memory, uint32_t entries, uint32_t start)
{
	ring->shared = (struct pvf_wire_ring *)memory;
	ring->entries = (uint8_t *)memory + PVF_WIRE_RING_HEADER;
	ring->mask = entries - 1u;
	ring->req_prod = start;
	ring->published = start;
	ring->rsp_cons = start;
	PVF_RING_STORE(init_req_prod, &ring->shared->req_prod, start);
	PVF_RING_STORE(init_rsp_prod, &ring->shared->rsp_prod, start);
	PVF_RING_STORE(init_req_event, &ring->shared->req_event, start + 1u);
	PVF_RING_STORE(init_rsp_event, &ring->shared->rsp_event, start + 1u);
}

/* An entry as 64-bit words. `stride` is a constant at each call. */
PVF_INLINE volatile uint64_t *pvf_ring_entry(const struct pvf_ring *ring, uint32_t index, uint32_t stride)
{
	return (volatile uint64_t *)(void *)(ring->entries + (size_t)(index & ring->mask) * stride);
}

/*
 * Shows the filled entries to the peer; true when it asked for a notification within them. Full barrier between the store
 * of the index and the load of the peer's event index (Xen: io/ring.h, RING_PUSH_REQUESTS_AND_CHECK_NOTIFY). Never
 * notifying without being asked matters: Xen's backends delay a guest that does (XSA-332).
 */
PVF_INLINE bool pvf_ring_push(struct pvf_ring *ring)
{
	uint32_t old = ring->published, new = ring->req_prod;

	PVF_RING_STORE(push_req_prod, &ring->shared->req_prod, new);
	ring->published = new;
	PVF_RING_FENCE(push);
	return (uint32_t)(new - PVF_RING_LOAD(push_req_event, &ring->shared->req_event)) < (uint32_t)(new - old);
}

/* The peer's response index, read once; what is below it may be copied. */
PVF_INLINE uint32_t pvf_ring_responses(const struct pvf_ring *ring)
{
	return PVF_RING_LOAD(rsp_prod, &ring->shared->rsp_prod);
}

/* More responses than requests it was shown: the peer lies (XSA-155 class, FEATURES V32). */
PVF_INLINE bool pvf_ring_overrun(const struct pvf_ring *ring, uint32_t rsp_prod)
{
	return (uint32_t)(rsp_prod - ring->rsp_cons) > (uint32_t)(ring->published - ring->rsp_cons);
}

/*
 * Asks to be told of the next response, then looks again: true when one has come meanwhile. The full barrier between the
 * two is the one whose lack froze Windows guests for 30 seconds (FIELD-BUGS 1, GPLPV eacab29).
 */
PVF_INLINE bool pvf_ring_final_check(struct pvf_ring *ring)
{
	PVF_RING_STORE(arm_rsp_event, &ring->shared->rsp_event, ring->rsp_cons + 1u);
	/*
	 * Every request shown is answered: no response can come before the next push, whose release store of req_prod
	 * carries the event index with it. One of the four barriers of a round trip at queue depth 1 less.
	 */
	if (ring->rsp_cons == ring->published)
		return false;
	PVF_RING_FENCE(final_check);
	return pvf_ring_responses(ring) != ring->rsp_cons;
}

#endif
