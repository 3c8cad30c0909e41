/* SPDX-License-Identifier: MIT */
/* The table of functions that a program in a domain uses: memory, grants, event channels, time. */
#include "machine.h"

#include "bytes.h"

/* ---- memory ---- */

static void *host_alloc(void *ctx, size_t bytes)
{
	struct pvf_sim_domain *domain = ctx;
	void *memory;

	if (sim_fault_call(domain) || !sim_domain_alive(domain))
		return NULL;
	memory = sim_alloc(domain->sim, bytes);
	if (memory) {
		sim_lock(&domain->sim->os, &domain->lock);
		domain->control_bytes += bytes;
		sim_unlock(&domain->sim->os, &domain->lock);
	}
	return memory;
}

/* Control memory is the machine's, so it can be given back after the domain has died, too. */
static void host_free(void *ctx, void *memory, size_t bytes)
{
	struct pvf_sim_domain *domain = ctx;

	if (!memory)
		return;
	sim_lock(&domain->sim->os, &domain->lock);
	if (sim_domain_alive(domain))
		domain->control_bytes -= bytes;
	sim_unlock(&domain->sim->os, &domain->lock);
	sim_free(domain->sim, memory, bytes);
}

/* ---- grants ---- */

static uint8_t *frame_address(const struct pvf_sim_domain *domain, uint32_t frame)
{
	return domain->memory + (size_t)frame * PVF_PAGE_SIZE;
}

/* The frame of pages that an earlier share handed out; SIM_NO_FRAME when they are none. */
static uint32_t frame_of(const struct pvf_sim_domain *domain, const void *base, uint32_t pages)
{
	uintptr_t offset = (uintptr_t)base - (uintptr_t)domain->memory;
	uint32_t limit = domain->sim->limits.domain_pages;
	uint32_t frame = (uint32_t)(offset >> PVF_PAGE_SHIFT);

	if ((offset & (PVF_PAGE_SIZE - 1)) || offset >> PVF_PAGE_SHIFT >= limit || pages > limit - frame)
		return SIM_NO_FRAME;
	for (uint32_t i = 0; i < pages; i++) {
		if (!domain->page_used[frame + i])
			return SIM_NO_FRAME;
	}
	return frame;
}

static int host_share(void *ctx, struct pvf_region *region)
{
	struct pvf_sim_domain *domain = ctx;
	bool again = region->base != NULL;
	uint32_t frame;
	int status;

	if (sim_fault_call(domain))
		return PVF_NO_SPACE;
	if (!sim_domain_alive(domain))
		return PVF_CLOSED;
	if (region->pages == 0 || !region->refs)
		return PVF_INVALID;

	sim_lock(&domain->sim->os, &domain->lock);
	frame = again ? frame_of(domain, region->base, region->pages) : sim_pages_take(domain, region->pages);
	status = frame != SIM_NO_FRAME ? PVF_OK : again ? PVF_INVALID : PVF_NO_MEMORY;
	if (status == PVF_OK) {
		status = sim_refs_take(domain, region->refs, region->pages);
		if (status != PVF_OK && !again)
			sim_pages_give(domain, frame, region->pages);
	}
	sim_unlock(&domain->sim->os, &domain->lock);
	if (status != PVF_OK)
		return status;

	/* Nothing of the pages' earlier life may reach the peer (XSA-403). */
	if (!again)
		memset(frame_address(domain, frame), 0, (size_t)region->pages * PVF_PAGE_SIZE);
	for (uint32_t i = 0; i < region->pages; i++)
		hv_grant_make(domain->hv, region->refs[i], region->domid, frame + i,
			      (region->flags & PVF_SHARE_READ_ONLY) != 0);
	region->base = frame_address(domain, frame);
	region->handle = (uint64_t)frame;
	return PVF_OK;
}

/*
 * Ends whatever can be ended: what is already ended stays so and keeps its reference until the whole region is out, so
 * a later try goes through all of it again.
 */
static int host_unshare(void *ctx, struct pvf_region *region)
{
	struct pvf_sim_domain *domain = ctx;
	uint32_t busy = 0;

	/* What a dead domain had granted is gone with it. */
	if (!sim_domain_alive(domain))
		return PVF_UNSHARE_RELEASED;
	for (uint32_t i = 0; i < region->pages; i++)
		busy += !hv_grant_end(domain->hv, region->refs[i]);
	if (busy)
		return PVF_UNSHARE_BUSY;

	sim_lock(&domain->sim->os, &domain->lock);
	sim_refs_give(domain, region->refs, region->pages);
	sim_pages_give(domain, (uint32_t)region->handle, region->pages);
	sim_unlock(&domain->sim->os, &domain->lock);
	region->base = NULL;
	return PVF_UNSHARE_RELEASED;
}

static void host_forget(void *ctx, struct pvf_region *region)
{
	struct pvf_sim_domain *domain = ctx;

	if (!sim_domain_alive(domain))
		return;
	sim_lock(&domain->sim->os, &domain->lock);
	sim_pages_give(domain, (uint32_t)region->handle, region->pages);
	sim_unlock(&domain->sim->os, &domain->lock);
	region->base = NULL;
}

static uint32_t host_share_limit(void *ctx)
{
	const struct pvf_sim_domain *domain = ctx;
	uint32_t refs = domain->hv->grants - PVF_WIRE_GRANT_RESERVED, pages = domain->sim->limits.domain_pages - 1;

	return refs < pages ? refs : pages;
}

static int host_grant_frame(void *ctx, uint16_t domid, uint64_t frame, bool read_only, uint32_t *ref)
{
	struct pvf_sim_domain *domain = ctx;
	int status;

	if (frame >= domain->sim->limits.domain_pages)
		return PVF_RANGE;
	if (!sim_domain_alive(domain))
		return PVF_CLOSED;
	sim_lock(&domain->sim->os, &domain->lock);
	status = sim_refs_take(domain, ref, 1);
	sim_unlock(&domain->sim->os, &domain->lock);
	if (status == PVF_OK)
		hv_grant_make(domain->hv, *ref, domid, (uint32_t)frame, read_only);
	return status;
}

static int host_revoke_frame(void *ctx, uint32_t ref)
{
	struct pvf_sim_domain *domain = ctx;

	if (!sim_domain_alive(domain))
		return PVF_REVOKE_ENDED;
	if (!hv_grant_end(domain->hv, ref))
		return PVF_REVOKE_BUSY;
	sim_lock(&domain->sim->os, &domain->lock);
	sim_refs_give(domain, &ref, 1);
	sim_unlock(&domain->sim->os, &domain->lock);
	return PVF_REVOKE_ENDED;
}

/* ---- event channels ---- */

static int host_evtchn_alloc(void *ctx, uint16_t domid, struct pvf_event *event, uint32_t *port)
{
	struct pvf_sim_domain *domain = ctx;

	if (sim_fault_call(domain))
		return PVF_NO_SPACE;
	if (!sim_domain_alive(domain))
		return PVF_CLOSED;
	return hv_port_alloc(&domain->sim->hv, domain->hv, domid, event, port);
}

static void host_evtchn_close(void *ctx, uint32_t port)
{
	struct pvf_sim_domain *domain = ctx;

	if (sim_domain_alive(domain) && port != domain->store_port)
		hv_port_close(&domain->sim->hv, domain->hv, port);
}

static void host_evtchn_notify(void *ctx, uint32_t port)
{
	struct pvf_sim_domain *domain = ctx;

	hv_port_notify(&domain->sim->hv, domain->hv, port);
	if (domain->sim->stepped)
		sim_run_prompt(domain->sim);
}

static int host_evtchn_unmask(void *ctx, uint32_t port)
{
	struct pvf_sim_domain *domain = ctx;

	return hv_port_unmask(&domain->sim->hv, domain->hv, port);
}

/* ---- waiting, time ---- */

static int host_wait(void *ctx, struct pvf_event *event, uint32_t sequence, uint64_t deadline)
{
	struct pvf_sim_domain *domain = ctx;
	struct pvf_sim *sim = domain->sim;
	int status = PVF_OK;

	if (sim->stepped)
		return sim_wait_stepped(domain, event, sequence, deadline, true);

	while (status == PVF_OK) {
		uint32_t heard = sim_bell_listen(&domain->bell);

		(void)sim_client_serve(domain);
		if (pvf_event_sequence(event) != sequence)
			return PVF_OK;
		status = sim_bell_sleep(&sim->os, &domain->bell, heard, deadline);
	}
	return pvf_event_sequence(event) != sequence ? PVF_OK : status;
}

static uint64_t host_now(void *ctx)
{
	const struct pvf_sim_domain *domain = ctx;

	return sim_now(domain->sim);
}

static void host_fence(void *ctx)
{
	const struct pvf_sim_domain *domain = ctx;

	domain->sim->os.fence(domain->sim->os.ctx);
}

/* One thread runs everything: it sees its own writes. */
static void host_fence_stepped(void *ctx)
{
	(void)ctx;
	pvf_barrier();
}

static void host_log(void *ctx, int level, const char *message)
{
	const struct pvf_sim_domain *domain = ctx;

	sim_log(domain->sim, level, message);
}

void sim_host_init(struct pvf_sim_domain *domain)
{
	struct pvf_host_ops *ops = &domain->ops;

	memset(ops, 0, sizeof(*ops));
	ops->size = sizeof(*ops);
	ops->caps = PVF_HOST_CAN_RELEASE | PVF_HOST_CAN_BE_BUSY;
	if (domain->sim->stepped)
		ops->caps |= PVF_HOST_NO_SPIN;
	ops->alloc = host_alloc;
	ops->free = host_free;
	ops->share = host_share;
	ops->unshare = host_unshare;
	ops->forget = host_forget;
	ops->share_limit = host_share_limit;
	ops->grant_frame = host_grant_frame;
	ops->revoke_frame = host_revoke_frame;
	ops->evtchn_alloc = host_evtchn_alloc;
	ops->evtchn_close = host_evtchn_close;
	ops->evtchn_notify = host_evtchn_notify;
	ops->evtchn_unmask = host_evtchn_unmask;
	ops->wait = host_wait;
	sim_client_host(ops);
	ops->now = host_now;
	if (domain->sim->stepped)
		ops->fence = host_fence_stepped;
	else if (domain->sim->os.fence)
		ops->fence = host_fence;
	ops->log = host_log;

	domain->host.ops = ops;
	domain->host.ctx = domain;
	domain->host.parking = &domain->parking;
}
