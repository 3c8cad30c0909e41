/* SPDX-License-Identifier: MIT */
/*
 * The two byte rings of the xenstore page (Xen: io/xs_wire.h). Indices are free-running and stand anywhere at the start;
 * the peer's are never trusted. Messages are split wherever the ring is full or empty.
 *
 * xenstored sleeps when a ring is full or empty and has no event field to say so: every produce and every consume is
 * followed by a notification, which pvf_xs_exchange() sends.
 */
#include <pvfront/compiler.h>
#include <pvfront/status.h>

#include "bytes.h"
#include "xs_internal.h"

#define RING_MASK (PVF_WIRE_XS_RING - 1u)

/* The bytes between two indices; more than the ring holds means that it cannot be used any more. */
static uint32_t ring_used(struct pvf_xs *xs, uint32_t prod, uint32_t cons)
{
	uint32_t used = prod - cons;

	if (used > PVF_WIRE_XS_RING) {
		xs->broken = PVF_STORE_PROTOCOL;
		return 0;
	}
	return used;
}

bool pvf_xs_ring_push(struct pvf_xs *xs)
{
	struct pvf_wire_xs_interface *page = xs->page;
	uint32_t prod = pvf_load32(&page->req_prod);
	uint32_t used = ring_used(xs, prod, pvf_load32_acquire(&page->req_cons));
	uint32_t at = prod & RING_MASK;
	uint32_t length = xs->out_length - xs->out_sent;
	uint32_t first;

	if (length > PVF_WIRE_XS_RING - used)
		length = PVF_WIRE_XS_RING - used;
	if (xs->broken != PVF_OK || length == 0)
		return false;
	first = PVF_WIRE_XS_RING - at < length ? PVF_WIRE_XS_RING - at : length;
	memcpy(page->req + at, xs->out + xs->out_sent, first);
	memcpy(page->req, xs->out + xs->out_sent + first, length - first);
	/* The bytes before the index that publishes them. */
	pvf_store32_release(&page->req_prod, prod + length);
	xs->out_sent += length;
	return true;
}

/* Moves up to `length` bytes into xs->in and returns how many there were. */
static uint32_t ring_take(struct pvf_xs *xs, uint32_t length)
{
	struct pvf_wire_xs_interface *page = xs->page;
	uint32_t cons = pvf_load32(&page->rsp_cons);
	/* Acquire: the index before the bytes that it publishes. */
	uint32_t used = ring_used(xs, pvf_load32_acquire(&page->rsp_prod), cons);
	uint32_t at = cons & RING_MASK;
	uint32_t first;

	if (length > used)
		length = used;
	if (length == 0)
		return 0;
	first = PVF_WIRE_XS_RING - at < length ? PVF_WIRE_XS_RING - at : length;
	memcpy(xs->in + xs->in_length, page->rsp + at, first);
	memcpy(xs->in + xs->in_length + first, page->rsp, length - first);
	/* Release: the bytes are read before the index that lets the store overwrite them. */
	pvf_store32_release(&page->rsp_cons, cons + length);
	xs->in_length += length;
	return length;
}

/* What is missing of the message in xs->in; of the header first, which says how long the rest is. */
static uint32_t ring_missing(struct pvf_xs *xs)
{
	struct pvf_wire_xs_header header;

	if (xs->in_length < PVF_WIRE_XS_HEADER)
		return PVF_WIRE_XS_HEADER - xs->in_length;
	memcpy(&header, xs->in, sizeof(header));
	if (header.length > PVF_WIRE_XS_PAYLOAD_MAX) {
		xs->broken = PVF_STORE_PROTOCOL;
		return 0;
	}
	return PVF_WIRE_XS_HEADER + header.length - xs->in_length;
}

bool pvf_xs_ring_pull(struct pvf_xs *xs, uint32_t *budget)
{
	while (xs->broken == PVF_OK) {
		uint32_t missing = ring_missing(xs);
		uint32_t taken;

		if (xs->broken != PVF_OK)
			return false;
		if (missing == 0)
			return true;
		taken = ring_take(xs, missing < *budget ? missing : *budget);
		if (taken == 0)
			return false;
		*budget -= taken;
	}
	return false;
}
