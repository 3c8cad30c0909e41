/* SPDX-License-Identifier: MIT */
#include "hv.h"

#include <pvfront/compiler.h>

#define ALIGN_UP(bytes) (((bytes) + (PVF_CACHE_LINE - 1u)) & ~(PVF_CACHE_LINE - 1u))

size_t hv_domain_bytes(uint32_t grants, uint32_t ports)
{
	size_t bytes = ALIGN_UP((uint32_t)sizeof(struct hv_domain));

	bytes += ALIGN_UP(grants * (uint32_t)sizeof(struct pvf_wire_grant_v1));
	bytes += ALIGN_UP(grants * (uint32_t)sizeof(struct hv_active));
	bytes += ALIGN_UP(ports * (uint32_t)sizeof(struct hv_port));
	return bytes;
}

void hv_domain_init(void *block, uint32_t slot, uint32_t grants, uint32_t ports)
{
	struct hv_domain *domain = block;
	struct hv_port *table;

	domain->slot = slot;
	domain->grants = grants;
	domain->ports = ports;
	domain->grants_at = ALIGN_UP((uint32_t)sizeof(struct hv_domain));
	domain->active_at = domain->grants_at + ALIGN_UP(grants * (uint32_t)sizeof(struct pvf_wire_grant_v1));
	domain->ports_at = domain->active_at + ALIGN_UP(grants * (uint32_t)sizeof(struct hv_active));
	domain->lowest_port = 1; /* Xen keeps port 0 */

	table = (struct hv_port *)(void *)((uint8_t *)block + domain->ports_at);
	for (uint32_t i = 0; i < ports; i++) {
		table[i].gate.word = SIM_GATE_SHUT;
		table[i].link = HV_LINK_FREE;
	}
}
