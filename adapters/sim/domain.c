/* SPDX-License-Identifier: MIT */
/* A domain: its life, its memory, its grant references. */
#include "machine.h"

#include "bytes.h"

struct pvf_sim_domain *sim_find(struct pvf_sim *sim, uint32_t domid)
{
	uint32_t n = domid == SIM_NO_DOMID ? 0 : pvf_load32_acquire(&sim->nr_domains);

	for (uint32_t i = 0; i < n; i++) {
		if (pvf_load32_acquire(&sim->domains[i]->domid) == domid)
			return sim->domains[i];
	}
	return NULL;
}

struct pvf_sim_domain *pvf_sim_domain_find(struct pvf_sim *sim, uint16_t domid)
{
	return domid == SIM_STORE_DOMID ? NULL : sim_find(sim, domid);
}

const struct pvf_host *pvf_sim_domain_host(struct pvf_sim_domain *domain)
{
	return &domain->host;
}

/* ---- memory ---- */

uint32_t sim_pages_take(struct pvf_sim_domain *domain, uint32_t pages)
{
	uint32_t limit = domain->sim->limits.domain_pages;
	uint32_t run = 0, frame = domain->page_cursor;

	if (pages == 0 || pages > limit)
		return SIM_NO_FRAME;

	/* Next fit, once around: what was freed last is used last, which shows who still writes to it. */
	for (uint32_t looked = 0; looked < limit + pages; looked++, frame++) {
		if (frame >= limit) {
			frame = 0;
			run = 0;
		}
		run = domain->page_used[frame] || pvf_load32_acquire(&domain->page_maps[frame]) ? 0 : run + 1;
		if (run == pages) {
			memset(domain->page_used + (frame + 1 - pages), 1, pages);
			domain->pages_used += pages;
			domain->page_cursor = frame + 1;
			return frame + 1 - pages;
		}
	}
	return SIM_NO_FRAME;
}

void sim_pages_give(struct pvf_sim_domain *domain, uint32_t frame, uint32_t pages)
{
	memset(domain->page_used + frame, 0, pages);
	domain->pages_used -= pages;
}

/* ---- grant references ---- */

int sim_refs_take(struct pvf_sim_domain *domain, uint32_t *refs, uint32_t n)
{
	uint32_t left = domain->nr_free_refs + (domain->hv->grants - domain->fresh_ref);

	if (n > left)
		return PVF_NO_SPACE;
	for (uint32_t i = 0; i < n; i++)
		refs[i] = domain->nr_free_refs ? domain->free_refs[--domain->nr_free_refs] : domain->fresh_ref++;
	domain->refs_used += n;
	return PVF_OK;
}

void sim_refs_give(struct pvf_sim_domain *domain, const uint32_t *refs, uint32_t n)
{
	for (uint32_t i = n; i-- > 0;)
		domain->free_refs[domain->nr_free_refs++] = refs[i];
	domain->refs_used -= n;
}

/* ---- life ---- */

static size_t memory_bytes(const struct pvf_sim *sim)
{
	return (size_t)sim->limits.domain_pages * PVF_PAGE_SIZE;
}

static size_t refs_bytes(const struct pvf_sim *sim)
{
	return (size_t)sim->limits.grant_frames * PVF_WIRE_GRANTS_PER_FRAME * sizeof(uint32_t);
}

static void free_memory(struct pvf_sim_domain *domain)
{
	struct pvf_sim *sim = domain->sim;
	uint32_t pages = sim->limits.domain_pages;

	sim_free(sim, domain->memory, memory_bytes(sim));
	sim_free(sim, domain->page_used, pages);
	sim_free(sim, (void *)(uintptr_t)domain->page_maps, pages * sizeof(uint32_t));
	sim_free(sim, domain->free_refs, refs_bytes(sim));
	domain->memory = NULL;
	domain->page_used = NULL;
	domain->page_maps = NULL;
	domain->free_refs = NULL;
}

static bool take_memory(struct pvf_sim_domain *domain)
{
	struct pvf_sim *sim = domain->sim;
	uint32_t pages = sim->limits.domain_pages;

	domain->memory = sim_alloc(sim, memory_bytes(sim));
	domain->page_used = sim_alloc(sim, pages);
	domain->page_maps = sim_alloc(sim, pages * sizeof(uint32_t));
	domain->free_refs = sim_alloc(sim, refs_bytes(sim));
	if (domain->memory && domain->page_used && domain->page_maps && domain->free_refs)
		return true;
	free_memory(domain);
	return false;
}

/* A slot for a domain: one whose domain is dead and of which nobody maps a page any more, or a new one. */
static struct pvf_sim_domain *take_slot(struct pvf_sim *sim)
{
	uint32_t n = sim->nr_domains, grants = sim->limits.grant_frames * PVF_WIRE_GRANTS_PER_FRAME;
	struct pvf_sim_domain *domain;
	void *block, *targets;

	for (uint32_t i = 0; i < n; i++) {
		domain = sim->domains[i];
		if (!sim_domain_alive(domain) && pvf_load32_acquire(&domain->hv->pins) == 0)
			return domain;
	}
	if (n == HV_DOMAINS)
		return NULL;

	domain = sim_alloc(sim, sizeof(*domain));
	block = sim_alloc(sim, hv_domain_bytes(grants, sim->limits.ports));
	targets = sim_alloc(sim, sim->limits.ports * sizeof(void *));
	if (!domain || !block || !targets) {
		sim_free(sim, domain, sizeof(*domain));
		sim_free(sim, block, hv_domain_bytes(grants, sim->limits.ports));
		sim_free(sim, targets, sim->limits.ports * sizeof(void *));
		return NULL;
	}
	hv_domain_init(block, n, grants, sim->limits.ports);
	domain->sim = sim;
	domain->slot = n;
	domain->domid = SIM_NO_DOMID;
	domain->gate.word = SIM_GATE_SHUT;
	domain->hv = block;
	sim->hv.domains[n] = block;
	sim->hv.targets[n] = targets;
	sim->domains[n] = domain;
	pvf_store32_release(&sim->nr_domains, n + 1);
	return domain;
}

static void start_life(struct pvf_sim_domain *domain, uint16_t domid)
{
	static const struct sim_fault_words no_faults;

	domain->generation++;
	domain->pages_used = 0;
	domain->page_cursor = 0;
	domain->nr_free_refs = 0;
	domain->fresh_ref = PVF_WIRE_GRANT_RESERVED;
	domain->refs_used = 0;
	domain->control_bytes = 0;
	domain->parking.head = NULL;
	domain->parking.pages = 0;
	domain->calls = 0;
	domain->faults = no_faults;
	domain->thread = NULL;
	domain->stop = 0;
	domain->hv->domid = domid;
	sim_host_init(domain);
	pvf_store32_release(&domain->domid, domid);
	sim_gate_open(&domain->gate);
}

int sim_domain_new(struct pvf_sim *sim, uint16_t domid, struct pvf_sim_domain **made)
{
	struct pvf_sim_domain *domain;
	int status = PVF_OK;

	sim_lock(&sim->os, &sim->lock);
	if (sim_find(sim, domid)) {
		status = PVF_BUSY;
	} else {
		domain = take_slot(sim);
		if (domain)
			free_memory(domain); /* of a domain whose pages outlived it */
		if (domain && take_memory(domain)) {
			start_life(domain, domid);
			*made = domain;
		} else {
			status = PVF_NO_MEMORY;
		}
	}
	sim_unlock(&sim->os, &sim->lock);
	return status;
}

int pvf_sim_domain_create(struct pvf_sim *sim, uint16_t domid, struct pvf_sim_domain **made)
{
	int status;

	*made = NULL;
	if (domid >= SIM_STORE_DOMID)
		return PVF_INVALID;
	status = sim_domain_new(sim, domid, made);
	if (status != PVF_OK)
		return status;
	status = sim_client_open(*made);
	if (status != PVF_OK) {
		pvf_sim_domain_destroy(*made);
		*made = NULL;
	}
	return status;
}

void sim_domain_end(struct pvf_sim_domain *domain)
{
	struct pvf_sim *sim = domain->sim;

	sim_actors_stop(domain);
	/* Parked pages stay with the dead domain's memory until nobody maps it; what the core keeps of them goes now. */
	pvf_host_resumed(&domain->host);
	sim_gate_shut(&sim->os, &domain->gate);
	pvf_store32_release(&domain->domid, SIM_NO_DOMID);
	hv_port_close_all(&sim->hv, domain->hv);
	sim_unmap_all(domain);
	hv_grant_reset(&sim->hv, domain->hv, 0);

	/* As in Xen, the pages of a dead domain live on while somebody maps them: then the next user of the slot frees. */
	sim_lock(&sim->os, &sim->lock);
	if (pvf_load32_acquire(&domain->hv->pins) == 0)
		free_memory(domain);
	sim_unlock(&sim->os, &sim->lock);
}

void pvf_sim_domain_destroy(struct pvf_sim_domain *domain)
{
	struct pvf_sim *sim = domain->sim;

	if (!sim_domain_alive(domain))
		return;
	sim_actors_stop(domain);
	xsd_release(sim, domain, true);
	sim_domain_end(domain);
}

uint32_t pvf_sim_domain_resume(struct pvf_sim_domain *domain)
{
	struct pvf_sim *sim = domain->sim;

	sim_lock(&sim->os, &domain->store_lock);
	xsd_release(sim, domain, false);
	hv_port_close_all(&sim->hv, domain->hv);
	hv_grant_reset(&sim->hv, domain->hv, 0);

	sim_lock(&sim->os, &domain->lock);
	domain->nr_free_refs = 0;
	domain->fresh_ref = PVF_WIRE_GRANT_RESERVED;
	domain->refs_used = 0;
	domain->generation++;
	sim_unlock(&sim->os, &domain->lock);

	sim_client_resume(domain);
	sim_unlock(&sim->os, &domain->store_lock);
	/* What was parked is nobody's now. */
	pvf_host_resumed(&domain->host);
	sim_domain_wake(domain);
	return domain->generation;
}

void sim_domain_release(struct pvf_sim_domain *domain)
{
	struct pvf_sim *sim = domain->sim;

	free_memory(domain);
	sim_free(sim, domain->maps, domain->nr_maps * sizeof(*domain->maps));
	sim_free(sim, sim->hv.targets[domain->slot], sim->limits.ports * sizeof(void *));
	sim_free(sim, domain->hv, hv_domain_bytes(domain->hv->grants, domain->hv->ports));
	sim_free(sim, domain, sizeof(*domain));
}

void pvf_sim_held(struct pvf_sim_domain *domain, struct pvf_sim_held *held)
{
	struct pvf_sim *sim = domain->sim;

	memset(held, 0, sizeof(*held));
	if (!sim_domain_alive(domain))
		return;

	/* The domain's own line to xenstored, one page and one port, is not the program's doing. */
	held->ports = hv_ports(&sim->hv, domain->hv) - 1;
	held->grants_mapped = hv_grants_mapped(&sim->hv, domain->hv, PVF_WIRE_GRANT_RESERVED);
	held->parked = pvf_load32(&domain->parking.pages);
	xsd_held(sim, domain, held);

	sim_lock(&sim->os, &domain->maps_lock);
	held->maps = domain->maps_used;
	sim_unlock(&sim->os, &domain->maps_lock);

	sim_lock(&sim->os, &domain->lock);
	held->grants = domain->refs_used;
	held->pages = domain->pages_used - 1;
	held->memory = domain->control_bytes;
	sim_unlock(&sim->os, &domain->lock);
}

uint64_t pvf_sim_store_round_trips(struct pvf_sim_domain *domain)
{
	struct pvf_sim *sim = domain->sim;
	uint64_t trips;

	sim_lock(&sim->os, &domain->store_lock);
	trips = domain->xs.statistics.round_trips;
	sim_unlock(&sim->os, &domain->store_lock);
	return trips;
}
