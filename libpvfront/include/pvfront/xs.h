/* SPDX-License-Identifier: MIT */
/*
 * A xenstore wire client for a guest that has nothing but the shared xenstore page and an event channel.
 * It implements the store group of struct pvf_host_ops: pvf_xs_store, pvf_xs_watch, pvf_xs_unwatch, pvf_xs_poll.
 *
 * One caller at a time: the host holds a lock around these functions when several threads may call. Context: thread.
 */
#ifndef PVFRONT_XS_H
#define PVFRONT_XS_H

#include <pvfront/host.h>
#include <pvfront/wire/xs.h>

#define PVF_XS_MAX_WATCHES 128u /* xenstored's own limit for a domain (4.17) */
#define PVF_XS_MAX_ABORTS 10u   /* as many transactions as xenstored lets a domain have (4.17) */

/* What the client needs from the guest. */
struct pvf_xs_transport {
	void (*notify)(void *ctx);
	/* Sleeps until the store's event channel fires after `sequence` was sampled, or the deadline. As host wait. */
	int (*wait)(void *ctx, uint32_t sequence, uint64_t deadline);
	/* The number of times the store's event channel has fired, sampled before the client looks at the ring. */
	uint32_t (*sequence)(void *ctx);
	uint64_t (*now)(void *ctx);
	void *ctx;
};

struct pvf_xs_watch {
	struct pvf_event *event; /* NULL: free */
	const char *path;        /* the caller's string, valid until unwatch */
	uint32_t generation;
	uint32_t reserved;
};

struct pvf_xs_statistics {
	uint64_t requests;
	uint64_t round_trips; /* times the client had to wait for an answer before it could go on */
	uint64_t watch_events;
	uint64_t stray; /* answers to nothing, events for no watch */
};

struct pvf_xs {
	struct pvf_xs_transport transport;
	struct pvf_wire_xs_interface *page;
	uint32_t next_id;
	int32_t broken; /* PVF_OK or why nothing more can be said on this ring */
	uint32_t out_sent, out_length;
	uint32_t in_length;
	/* Transactions that a deadline left open: each is ended as soon as the ring has room. */
	uint32_t abort_count;
	uint32_t aborts[PVF_XS_MAX_ABORTS];
	struct pvf_xs_statistics statistics;
	char last_error[32]; /* the last error string the store sent, NUL-terminated, also an unknown one */
	struct pvf_xs_watch watches[PVF_XS_MAX_WATCHES];
	uint32_t watch_generation;
	_Alignas(8) uint8_t out[PVF_WIRE_XS_HEADER + PVF_WIRE_XS_PAYLOAD_MAX];
	_Alignas(8) uint8_t in[PVF_WIRE_XS_HEADER + PVF_WIRE_XS_PAYLOAD_MAX + 1];
};

/* Starts on a page whose indices may stand anywhere (FEATURES X09). The page stays the guest's. */
int pvf_xs_init(struct pvf_xs *xs, void *page, const struct pvf_xs_transport *transport);

/* As the store, watch and unwatch of struct pvf_host_ops. */
int pvf_xs_store(struct pvf_xs *xs, struct pvf_store_op *ops, uint32_t n, uint32_t flags, uint64_t deadline);
int pvf_xs_watch(struct pvf_xs *xs, const char *path, struct pvf_event *event, uint64_t deadline);
int pvf_xs_unwatch(struct pvf_xs *xs, const char *path, struct pvf_event *event, uint64_t deadline);

/* Reads whatever has arrived and fires the watches' events. Never blocks. */
void pvf_xs_poll(struct pvf_xs *xs);

/* After a resume the page is new and every watch is forgotten; the caller watches again. */
void pvf_xs_resumed(struct pvf_xs *xs, void *page);

/* The status for one of xenstored's error strings (length bytes, without NUL); PVF_STORE_OTHER for a new one. */
int pvf_xs_error_status(const char *text, uint32_t length);

#endif
