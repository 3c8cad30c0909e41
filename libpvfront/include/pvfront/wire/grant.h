/* SPDX-License-Identifier: MIT */
/* Grant table version 1 (Xen: grant_table.h). */
#ifndef PVFRONT_WIRE_GRANT_H
#define PVFRONT_WIRE_GRANT_H

#include <stdint.h>

struct pvf_wire_grant_v1 {
	uint16_t flags;
	uint16_t domid;
	uint32_t frame;
};

#define PVF_WIRE_GTF_INVALID 0u
#define PVF_WIRE_GTF_PERMIT_ACCESS 1u
#define PVF_WIRE_GTF_READ_ONLY (1u << 2)
#define PVF_WIRE_GTF_READING (1u << 3)
#define PVF_WIRE_GTF_WRITING (1u << 4)

/* References 0 to 7 belong to the tools (0 console, 1 xenstore). */
#define PVF_WIRE_GRANT_RESERVED 8u
#define PVF_WIRE_GRANTS_PER_FRAME 512u

_Static_assert(sizeof(struct pvf_wire_grant_v1) == 8, "grant entry");

#endif
