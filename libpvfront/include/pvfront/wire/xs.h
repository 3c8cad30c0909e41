/* SPDX-License-Identifier: MIT */
/* The xenstore wire protocol (Xen: io/xs_wire.h; docs/misc/xenstore.txt). */
#ifndef PVFRONT_WIRE_XS_H
#define PVFRONT_WIRE_XS_H

#include <stdint.h>

enum pvf_wire_xs_type {
	PVF_XS_CONTROL = 0,
	PVF_XS_DIRECTORY = 1,
	PVF_XS_READ = 2,
	PVF_XS_GET_PERMS = 3,
	PVF_XS_WATCH = 4,
	PVF_XS_UNWATCH = 5,
	PVF_XS_TRANSACTION_START = 6,
	PVF_XS_TRANSACTION_END = 7,
	PVF_XS_INTRODUCE = 8,
	PVF_XS_RELEASE = 9,
	PVF_XS_GET_DOMAIN_PATH = 10,
	PVF_XS_WRITE = 11,
	PVF_XS_MKDIR = 12,
	PVF_XS_RM = 13,
	PVF_XS_SET_PERMS = 14,
	PVF_XS_WATCH_EVENT = 15,
	PVF_XS_ERROR = 16,
	PVF_XS_IS_DOMAIN_INTRODUCED = 17,
	PVF_XS_RESUME = 18,
	PVF_XS_SET_TARGET = 19,
	PVF_XS_RESET_WATCHES = 21,
	PVF_XS_DIRECTORY_PART = 22,
};

struct pvf_wire_xs_header {
	uint32_t type;
	uint32_t req_id;
	uint32_t tx_id;
	uint32_t length; /* of what follows */
};

#define PVF_WIRE_XS_HEADER 16u
#define PVF_WIRE_XS_PAYLOAD_MAX 4096u
#define PVF_WIRE_XS_ABS_PATH_MAX 3072u
#define PVF_WIRE_XS_REL_PATH_MAX 2048u
#define PVF_WIRE_XS_RING 1024u

/* Bits of server_features, and what the error field says once it is not 0. */
#define PVF_WIRE_XS_FEATURE_RECONNECTION 1u
#define PVF_WIRE_XS_FEATURE_ERROR 2u

#define PVF_WIRE_XS_ERROR_NONE 0u
#define PVF_WIRE_XS_ERROR_COMM 1u
#define PVF_WIRE_XS_ERROR_RINGIDX 2u
#define PVF_WIRE_XS_ERROR_PROTO 3u

struct pvf_wire_xs_interface {
	uint8_t req[PVF_WIRE_XS_RING]; /* to the store */
	uint8_t rsp[PVF_WIRE_XS_RING]; /* answers and watch events */
	volatile uint32_t req_cons, req_prod;
	volatile uint32_t rsp_cons, rsp_prod;
	volatile uint32_t server_features;
	volatile uint32_t connection;
	volatile uint32_t error;
};

_Static_assert(sizeof(struct pvf_wire_xs_header) == PVF_WIRE_XS_HEADER, "header");

#endif
