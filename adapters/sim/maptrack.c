/* SPDX-License-Identifier: MIT */
/* How a domain reaches pages and ports of another: map, copy, bind. */
#include "machine.h"

#include "bytes.h"

#define MAPS_AT_FIRST 64u

/* ---- handles ---- */

static bool grow(struct pvf_sim_domain *domain)
{
	uint32_t n = domain->nr_maps ? domain->nr_maps * 2 : MAPS_AT_FIRST;
	struct sim_map *maps = sim_alloc(domain->sim, n * sizeof(*maps));

	if (!maps)
		return false;
	if (domain->nr_maps)
		memcpy(maps, domain->maps, domain->nr_maps * sizeof(*maps));
	for (uint32_t i = domain->nr_maps; i < n; i++)
		maps[i].next_free = i + 1;
	sim_free(domain->sim, domain->maps, domain->nr_maps * sizeof(*maps));
	domain->maps = maps;
	domain->nr_maps = n;
	return true;
}

/* Handle numbers start at 1, so that a zeroed one is none. */
static int take_handle(struct pvf_sim_domain *domain, const struct sim_map *map, uint32_t *handle)
{
	uint32_t taken;
	int status = PVF_OK;

	sim_lock(&domain->sim->os, &domain->maps_lock);
	if (domain->free_map < domain->nr_maps || grow(domain)) {
		taken = domain->free_map;
		domain->free_map = domain->maps[taken].next_free;
		domain->maps[taken] = *map;
		domain->maps[taken].used = true;
		domain->maps_used++;
		*handle = taken + 1;
	} else {
		status = PVF_NO_MEMORY;
	}
	sim_unlock(&domain->sim->os, &domain->maps_lock);
	return status;
}

static bool give_handle(struct pvf_sim_domain *domain, uint32_t handle, struct sim_map *map)
{
	bool found;

	sim_lock(&domain->sim->os, &domain->maps_lock);
	found = handle != 0 && handle <= domain->nr_maps && domain->maps[handle - 1].used;
	if (found) {
		*map = domain->maps[handle - 1];
		domain->maps[handle - 1].used = false;
		domain->maps[handle - 1].next_free = domain->free_map;
		domain->free_map = handle - 1;
		domain->maps_used--;
	}
	sim_unlock(&domain->sim->os, &domain->maps_lock);
	return found;
}

/* ---- pages ---- */

/* The page's count goes down first: once the last pin is gone, the owner's memory may be, too. */
static void drop(struct pvf_sim *sim, const struct sim_map *map)
{
	struct pvf_sim_domain *owner = sim->domains[map->owner];

	(void)pvf_add32(&owner->page_maps[map->frame], 0xffffffffu);
	hv_grant_unpin(&sim->hv, owner->hv, map->ref, map->read_only, map->life);
}

/* The owner cannot die while this runs; a pin keeps its memory afterwards. Anything but PVF_OK is a failure (XSA-316). */
static int pin(struct pvf_sim_domain *domain, uint16_t owner_domid, uint32_t ref, bool read_only, struct sim_map *map)
{
	struct pvf_sim *sim = domain->sim;
	struct pvf_sim_domain *owner = sim_find(sim, owner_domid);
	int status = PVF_INVALID;

	if (!owner || !sim_domain_alive(domain) || !sim_gate_enter(&sim->os, &owner->gate))
		return PVF_INVALID;

	if (pvf_load32(&owner->domid) == owner_domid) {
		memset(map, 0, sizeof(*map));
		map->owner = owner->slot;
		map->ref = ref;
		map->read_only = read_only;
		status = hv_grant_pin(&sim->hv, owner->hv, ref, (uint16_t)domain->domid, read_only, &map->frame,
				      &map->life);
	}
	if (status == PVF_OK && map->frame >= sim->limits.domain_pages) {
		hv_grant_unpin(&sim->hv, owner->hv, ref, read_only, map->life);
		status = PVF_RANGE;
	}
	if (status == PVF_OK)
		(void)pvf_add32(&owner->page_maps[map->frame], 1);
	sim_gate_leave(&sim->os, &owner->gate);
	return status;
}

static uint8_t *address_of(const struct pvf_sim *sim, const struct sim_map *map)
{
	return sim->domains[map->owner]->memory + (size_t)map->frame * PVF_PAGE_SIZE;
}

int pvf_sim_map(struct pvf_sim_domain *domain, uint16_t owner, uint32_t ref, bool read_only, void **address,
		uint32_t *handle)
{
	struct sim_map map;
	int status = pin(domain, owner, ref, read_only, &map);

	if (status != PVF_OK)
		return status;
	status = take_handle(domain, &map, handle);
	if (status != PVF_OK) {
		drop(domain->sim, &map);
		return status;
	}
	*address = address_of(domain->sim, &map);
	return PVF_OK;
}

int pvf_sim_unmap(struct pvf_sim_domain *domain, uint32_t handle)
{
	struct sim_map map;

	if (!give_handle(domain, handle, &map))
		return PVF_INVALID;
	drop(domain->sim, &map);
	return PVF_OK;
}

void sim_unmap_all(struct pvf_sim_domain *domain)
{
	for (uint32_t handle = 1; handle <= domain->nr_maps; handle++)
		(void)pvf_sim_unmap(domain, handle);
}

static bool within_page(uint32_t offset, uint32_t bytes)
{
	return offset <= PVF_PAGE_SIZE && bytes <= PVF_PAGE_SIZE - offset;
}

int pvf_sim_copy_from(struct pvf_sim_domain *domain, uint16_t owner, uint32_t ref, uint32_t offset, void *data,
		      uint32_t bytes)
{
	struct sim_map map;
	int status = within_page(offset, bytes) ? pin(domain, owner, ref, true, &map) : PVF_RANGE;

	if (status != PVF_OK)
		return status;
	memcpy(data, address_of(domain->sim, &map) + offset, bytes);
	drop(domain->sim, &map);
	return PVF_OK;
}

int pvf_sim_copy_to(struct pvf_sim_domain *domain, uint16_t owner, uint32_t ref, uint32_t offset, const void *data,
		    uint32_t bytes)
{
	struct sim_map map;
	int status = within_page(offset, bytes) ? pin(domain, owner, ref, false, &map) : PVF_RANGE;

	if (status != PVF_OK)
		return status;
	memcpy(address_of(domain->sim, &map) + offset, data, bytes);
	drop(domain->sim, &map);
	return PVF_OK;
}

/* ---- ports ---- */

int pvf_sim_bind(struct pvf_sim_domain *domain, uint16_t remote, uint32_t remote_port, struct pvf_event *event,
		 uint32_t *port)
{
	struct pvf_sim *sim = domain->sim;
	struct pvf_sim_domain *far = sim_find(sim, remote);
	int status;

	if (!far || !sim_domain_alive(domain) || !sim_gate_enter(&sim->os, &far->gate))
		return PVF_INVALID;
	status = hv_port_bind(&sim->hv, domain->hv, far->hv, remote_port, event, port);
	sim_gate_leave(&sim->os, &far->gate);
	return status;
}
