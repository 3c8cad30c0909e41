/* SPDX-License-Identifier: MIT */
/*
 * The block protocol's wire format, x86_64 layout (Xen: io/blkif.h). Every sector quantity is in units of 512 bytes
 * whatever sector-size is (Xen 221f2748e8, 2024-09).
 */
#ifndef PVFRONT_WIRE_BLKIF_H
#define PVFRONT_WIRE_BLKIF_H

#include <stdint.h>

#define PVF_WIRE_BLKIF_SECTOR 512u
#define PVF_WIRE_BLKIF_SECTOR_SHIFT 9u
#define PVF_WIRE_BLKIF_MAX_DIRECT 11u

#define PVF_WIRE_BLKIF_OP_READ 0u
#define PVF_WIRE_BLKIF_OP_WRITE 1u
#define PVF_WIRE_BLKIF_OP_WRITE_BARRIER 2u
#define PVF_WIRE_BLKIF_OP_FLUSH 3u
#define PVF_WIRE_BLKIF_OP_DISCARD 5u
#define PVF_WIRE_BLKIF_OP_INDIRECT 6u

#define PVF_WIRE_BLKIF_OKAY 0
#define PVF_WIRE_BLKIF_ERROR (-1)
#define PVF_WIRE_BLKIF_EOPNOTSUPP (-2)

/* Bits of the backend's `info` key. */
#define PVF_WIRE_BLKIF_INFO_CDROM 1u
#define PVF_WIRE_BLKIF_INFO_REMOVABLE 2u
#define PVF_WIRE_BLKIF_INFO_READONLY 4u

struct pvf_wire_blkif_segment {
	uint32_t gref;
	uint8_t first_sect; /* of the page, 512-byte units, inclusive */
	uint8_t last_sect;
	uint16_t pad;
};

struct pvf_wire_blkif_request {
	uint8_t operation;
	uint8_t nr_segments;
	uint16_t handle;
	uint32_t pad;
	uint64_t id;
	uint64_t sector_number;
	struct pvf_wire_blkif_segment seg[PVF_WIRE_BLKIF_MAX_DIRECT];
};

struct pvf_wire_blkif_response {
	uint64_t id;
	uint8_t operation;
	uint8_t pad0;
	int16_t status;
	uint32_t pad1;
};

union pvf_wire_blkif_entry {
	struct pvf_wire_blkif_request request;
	struct pvf_wire_blkif_response response;
};

#define PVF_WIRE_BLKIF_PROTOCOL "x86_64-abi"

_Static_assert(sizeof(struct pvf_wire_blkif_segment) == 8, "segment");
_Static_assert(sizeof(struct pvf_wire_blkif_response) == 16, "response");
#if defined(__i386__) || defined(_M_IX86)
/* A 32-bit x86 compiler aligns uint64_t to 4: the core writes entries by words, never through this struct there. */
#else
_Static_assert(sizeof(struct pvf_wire_blkif_request) == 112, "request");
#endif

#endif
