/* SPDX-License-Identifier: MIT */
/* Grant table version 1 (Xen: grant_table.h): entries, and what is in use of them. */
#include "hv.h"

#include <pvfront/compiler.h>

#include "bytes.h"

/* A guest that keeps changing its entry under us gets an error, as from Xen, not our time. */
#define TRIES 8

#define IN_USE (PVF_WIRE_GTF_READING | PVF_WIRE_GTF_WRITING)

/*
 * {flags, domid} as one word: a guest ends an entry by comparing and exchanging its flags (Xen: grant_table.h,
 * "Invalidating an entry"), and not every CPU can do that with 16 bits.
 */
static volatile uint32_t *entry_word(const struct hv_domain *owner, uint32_t ref)
{
	return (volatile uint32_t *)(void *)hv_grant(owner, ref);
}

static struct hv_active *active_entry(const struct hv_domain *owner, uint32_t ref)
{
	return (struct hv_active *)((uintptr_t)owner + owner->active_at) + ref;
}

static struct sim_mutex *stripe(struct hv_domain *owner, uint32_t ref)
{
	return &owner->stripes[ref % HV_STRIPES];
}

struct pvf_wire_grant_v1 *hv_grant(const struct hv_domain *owner, uint32_t ref)
{
	return (struct pvf_wire_grant_v1 *)((uintptr_t)owner + owner->grants_at) + ref;
}

void hv_grant_make(const struct hv_domain *owner, uint32_t ref, uint16_t domid, uint32_t frame, bool read_only)
{
	uint32_t flags = PVF_WIRE_GTF_PERMIT_ACCESS | (read_only ? PVF_WIRE_GTF_READ_ONLY : 0);

	/* Frame and domid first, then the flags (Xen: grant_table.h, "Introducing a valid entry"). */
	pvf_store32((volatile uint32_t *)&hv_grant(owner, ref)->frame, frame);
	pvf_store32_release(entry_word(owner, ref), flags | (uint32_t)domid << 16);
}

bool hv_grant_end(const struct hv_domain *owner, uint32_t ref)
{
	volatile uint32_t *word = entry_word(owner, ref);

	/* One step that fails while the entry is in use, never "ask, then end" (XSA-396). */
	for (;;) {
		uint32_t seen = pvf_load32(word);

		if (seen & IN_USE)
			return false;
		if (pvf_cas32(word, seen, 0))
			return true;
	}
}

/* Sets the bits that say in use; the guest may end or change its entry at the same moment. */
static int mark_in_use(volatile uint32_t *word, uint16_t mapper, bool read_only)
{
	uint32_t bits = PVF_WIRE_GTF_READING | (read_only ? 0 : PVF_WIRE_GTF_WRITING);

	for (int i = 0; i < TRIES; i++) {
		uint32_t seen = pvf_load32(word);

		if ((seen & 3u) != PVF_WIRE_GTF_PERMIT_ACCESS || seen >> 16 != mapper)
			return PVF_STORE_DENIED;
		if (!read_only && (seen & PVF_WIRE_GTF_READ_ONLY))
			return PVF_STORE_DENIED;
		if (pvf_cas32(word, seen, seen | bits))
			return PVF_OK;
	}
	return PVF_STORE_DENIED;
}

/* Clears what no pin asks for any more. */
static void unmark(volatile uint32_t *word, uint32_t pins)
{
	uint32_t clear = pins == 0 ? IN_USE : pins < HV_PIN_WRITE ? PVF_WIRE_GTF_WRITING : 0;
	uint32_t seen;

	do {
		seen = pvf_load32(word);
	} while ((seen & clear) && !pvf_cas32(word, seen, seen & ~clear));
}

int hv_grant_pin(struct hv *hv, struct hv_domain *owner, uint32_t ref, uint16_t mapper, bool read_only, uint32_t *frame,
		 uint32_t *life)
{
	uint32_t pin = read_only ? HV_PIN_READ : HV_PIN_WRITE;
	struct hv_active *active;
	int status;

	if (ref >= owner->grants)
		return PVF_RANGE;

	active = active_entry(owner, ref);
	sim_lock(hv->os, stripe(owner, ref));
	if ((read_only ? active->pins & 0xffffu : active->pins >> 16) == 0xffffu)
		status = PVF_NO_SPACE;
	else
		status = mark_in_use(entry_word(owner, ref), mapper, read_only);
	if (status == PVF_OK) {
		if (active->pins == 0)
			active->frame = pvf_load32((volatile uint32_t *)&hv_grant(owner, ref)->frame);
		active->pins += pin;
		(void)pvf_add32(&owner->pins, 1);
		*frame = active->frame;
		*life = owner->life;
	}
	sim_unlock(hv->os, stripe(owner, ref));
	return status;
}

void hv_grant_unpin(struct hv *hv, struct hv_domain *owner, uint32_t ref, bool read_only, uint32_t life)
{
	struct hv_active *active = active_entry(owner, ref);

	sim_lock(hv->os, stripe(owner, ref));
	if (life == owner->life) {
		active->pins -= read_only ? HV_PIN_READ : HV_PIN_WRITE;
		unmark(entry_word(owner, ref), active->pins);
	}
	(void)pvf_add32(&owner->pins, 0xffffffffu);
	sim_unlock(hv->os, stripe(owner, ref));
}

void hv_grant_reset(struct hv *hv, struct hv_domain *owner, uint32_t first)
{
	for (uint32_t i = 0; i < HV_STRIPES; i++)
		sim_lock(hv->os, &owner->stripes[i]);

	owner->life++;
	for (uint32_t ref = first; ref < owner->grants; ref++) {
		/* Most of a table was never touched: leave those pages untouched. */
		if (pvf_load32(entry_word(owner, ref)))
			pvf_store32_release(entry_word(owner, ref), 0);
		if (active_entry(owner, ref)->pins)
			active_entry(owner, ref)->pins = 0;
	}

	for (uint32_t i = 0; i < HV_STRIPES; i++)
		sim_unlock(hv->os, &owner->stripes[i]);
}

uint32_t hv_grants_mapped(struct hv *hv, struct hv_domain *owner, uint32_t first)
{
	uint32_t mapped = 0;

	for (uint32_t ref = first; ref < owner->grants; ref++) {
		sim_lock(hv->os, stripe(owner, ref));
		mapped += active_entry(owner, ref)->pins != 0;
		sim_unlock(hv->os, stripe(owner, ref));
	}
	return mapped;
}
