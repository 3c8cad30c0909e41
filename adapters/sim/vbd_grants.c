/* SPDX-License-Identifier: MIT */
/*
 * Pages of the frontend. Without feature-persistent each is mapped for one request, read-only when it is only read from;
 * with it, it is mapped once, writable, and kept until the backend lets go of the ring (Xen: io/blkif.h,
 * feature-persistent).
 */
#include "vbd_back.h"
#include "bytes.h"

int vbd_grants_map_page(struct vbd_back *back, uint32_t ref, bool read_only, struct vbd_mapping *mapping)
{
	const struct pvf_sim_backend *backend = back->backend;
	int status = pvf_sim_map(backend->domain, backend->frontend_domid, ref, read_only, &mapping->address,
				 &mapping->handle);

	if (status < 0)
		return status;
	mapping->ref = ref;
	back->counters.grant_maps++;
	back->counters.grants_mapped++;
	return PVF_OK;
}

void vbd_grants_unmap_page(struct vbd_back *back, const struct vbd_mapping *mapping)
{
	(void)pvf_sim_unmap(back->backend->domain, mapping->handle);
	back->counters.grant_unmaps++;
	back->counters.grants_mapped--;
}

/* The place of a reference in the table: where it is, or where it would go. */
static struct vbd_mapping *place(const struct vbd_grants *grants, uint32_t ref)
{
	uint32_t i = (ref * 2654435761u) >> 20;

	while (grants->kept[i].ref != ref && grants->kept[i].ref != PVF_GREF_INVALID)
		i = (i + 1) & (VBD_KEPT - 1);
	return &grants->kept[i];
}

_Static_assert(VBD_KEPT == 1u << 12, "place() takes the upper 12 bits");

static void clear_table(struct vbd_grants *grants)
{
	for (uint32_t i = 0; i < VBD_KEPT; i++)
		grants->kept[i].ref = PVF_GREF_INVALID;
	grants->nr_kept = 0;
}

int vbd_grants_start(struct vbd_back *back, bool persistent)
{
	struct vbd_grants *grants = &back->grants;

	if (!grants->kept) {
		grants->kept = back->host->ops->alloc(back->host->ctx, VBD_KEPT * sizeof(struct vbd_mapping));
		if (!grants->kept)
			return PVF_NO_MEMORY;
		clear_table(grants);
	}
	grants->persistent = persistent;
	return PVF_OK;
}

void vbd_grants_keep(struct vbd_back *back, const struct vbd_mapping *mapping)
{
	*place(&back->grants, mapping->ref) = *mapping;
	back->grants.nr_kept++;
	back->counters.persistent_mapped++;
}

void *vbd_grants_map(struct vbd_back *back, uint32_t ref, bool read_only)
{
	struct vbd_grants *grants = &back->grants;
	bool keep = grants->persistent || vbd_fault_keeps_grants(back);
	struct vbd_mapping mapping;

	if (ref == PVF_GREF_INVALID)
		return NULL;
	if (keep) {
		const struct vbd_mapping *known = place(grants, ref);

		if (known->ref == ref)
			return known->address;
	}
	/* A kept mapping serves reads and writes alike. */
	if (vbd_grants_map_page(back, ref, read_only && !keep, &mapping) != PVF_OK)
		return NULL;
	if (keep && grants->nr_kept < VBD_KEPT_MAX)
		vbd_grants_keep(back, &mapping);
	else
		grants->passing[grants->nr_passing++] = mapping;
	return mapping.address;
}

void vbd_grants_end_request(struct vbd_back *back)
{
	struct vbd_grants *grants = &back->grants;

	while (grants->nr_passing)
		vbd_grants_unmap_page(back, &grants->passing[--grants->nr_passing]);
}

void vbd_grants_drop(struct vbd_back *back)
{
	struct vbd_grants *grants = &back->grants;

	if (!grants->nr_kept)
		return;
	for (uint32_t i = 0; i < VBD_KEPT; i++)
		if (grants->kept[i].ref != PVF_GREF_INVALID)
			vbd_grants_unmap_page(back, &grants->kept[i]);
	clear_table(grants);
	back->counters.persistent_mapped = 0;
}
