/* SPDX-License-Identifier: MIT */
/* The shared ring's head (Xen: io/ring.h). Entries follow at PVF_WIRE_RING_HEADER. */
#ifndef PVFRONT_WIRE_RING_H
#define PVFRONT_WIRE_RING_H

#include <stdint.h>

struct pvf_wire_ring {
	volatile uint32_t req_prod;
	volatile uint32_t req_event;
	volatile uint32_t rsp_prod;
	volatile uint32_t rsp_event;
	uint8_t pad[48];
};

#define PVF_WIRE_RING_HEADER 64u

_Static_assert(sizeof(struct pvf_wire_ring) == PVF_WIRE_RING_HEADER, "ring header");

#endif
