/* SPDX-License-Identifier: MIT */
/*
 * The reference vbd backend, and what its parts say to each other:
 *   vbd_backend.c  handshake, in the order in which Linux blkback can be observed to act
 *   vbd_ring.c     ring consumer: requests in, responses out
 *   vbd_grants.c   mappings: for one request, or kept (feature-persistent)
 *   vbd_fault.c    faults, each a row of a table
 */
#ifndef PVFRONT_SIM_VBD_BACK_H
#define PVFRONT_SIM_VBD_BACK_H

#include <pvfront/sim.h>
#include <pvfront/sim_backend.h>
#include <pvfront/wire/blkif.h>
#include <pvfront/wire/ring.h>
#include <pvfront/wire/xenbus.h>

#include "vbd_snapshot.h"

#define VBD_RING_ENTRIES 32u /* of one page (PROTOCOL: ring entries, order 0) */
#define VBD_BATCH VBD_RING_ENTRIES
#define VBD_KEYS 12u  /* store operations of one step */
#define VBD_PATH 192u /* bytes of a path */
#define VBD_VALUE 64u /* bytes of a value read or written by the backend */

/* ---- faults (vbd_fault.c) ---- */

/* What the toolstack shares with the backend: set by any thread, looked at by each work(). */
struct vbd_control {
	volatile uint32_t generation; /* changes when the fault does */
	volatile uint32_t fault;      /* index in pvf_sim_fault_names; VBD_NO_FAULT: none */
	volatile uint32_t at;
	bool restarted; /* written before the backend starts: an earlier backend has served this frontend */
};

#define VBD_NO_FAULT 0xffffffffu
#define VBD_STALE_IDS 64u

struct vbd_fault {
	uint32_t generation;
	uint32_t kind;
	uint32_t at;    /* the N of NAME@N */
	uint32_t count; /* times its place was passed */
	bool spent;
	uint32_t random;
	uint32_t ids; /* ids answered, so far */
	uint64_t answered[VBD_STALE_IDS];
};

/* Steps of the handshake that a fault may hold up or replace. */
enum vbd_step {
	VBD_STEP_ANNOUNCE, /* Initialising -> InitWait */
	VBD_STEP_CONNECT,  /* the frontend has published its ring */
	VBD_STEP_PUBLISH,  /* the disk's properties, before Connected */
	VBD_STEP_CLOSE,    /* the frontend is Closing or Closed */
};

/* What becomes of a request. */
enum vbd_verdict {
	VBD_SERVE,
	VBD_SWALLOW, /* never answered */
	VBD_FAIL,    /* answered with an error, not carried out */
	VBD_GONE,    /* the ring is no longer there */
};

struct vbd_request {
	uint8_t operation;
	uint8_t nr_segments;
	uint64_t id;
	uint64_t sector;
	struct pvf_wire_blkif_segment seg[PVF_WIRE_BLKIF_MAX_DIRECT];
};

/* ---- grants (vbd_grants.c) ---- */

struct vbd_mapping {
	uint32_t ref; /* PVF_GREF_INVALID: a free place of the table */
	uint32_t handle;
	void *address;
};

#define VBD_KEPT 4096u     /* places in the table of kept mappings: a power of two */
#define VBD_KEPT_MAX 3072u /* so many are kept; further ones are mapped for their request only */

struct vbd_grants {
	struct vbd_mapping *kept; /* hashed by ref, open addressing */
	uint32_t nr_kept;
	bool persistent;
	uint32_t nr_passing;
	struct vbd_mapping passing[PVF_WIRE_BLKIF_MAX_DIRECT];
};

/* ---- the ring (vbd_ring.c) ---- */

struct vbd_ring {
	struct pvf_wire_ring *shared; /* NULL: not connected */
	uint32_t ref, handle, port;
	uint32_t req_cons;
	uint32_t rsp_prod;  /* responses decided upon */
	uint32_t published; /* of those, seen by the frontend */
	bool armed;         /* req_event is req_cons + 1 */
	bool stopped;       /* the frontend broke the ring: nothing more is served */
	uint32_t nr_answers;
	struct pvf_wire_blkif_response answers[2 * VBD_BATCH]; /* twice: the fault that answers twice */
};

/* ---- the backend ---- */

struct vbd_back {
	struct pvf_sim_backend *backend;
	const struct vbd_control *control;
	const struct pvf_host *host;
	const struct pvf_sim_disk *disk;
	uint64_t sectors;     /* of the disk, in units of 512 bytes */
	uint32_t sector_mask; /* sectors of 512 bytes in a logical one, less one */

	uint32_t state;      /* what this backend believes it is in; a key override may say otherwise */
	uint32_t seen;       /* sequence of backend->event at the last look */
	uint32_t left_state; /* the frontend's state as an earlier life left it, to be ignored; PVF_STATES: none */
	uint32_t skipped;    /* passes of the ring since the store was looked at */
	bool look;           /* look at the frontend's state also without an event */
	bool watching, ended;
	void (*later)(struct vbd_back *back); /* what is to be done at `due`, or NULL */
	uint64_t due;

	struct pvf_event ring_event;
	uint32_t own_events; /* of those, not sent by the frontend */
	struct vbd_ring ring;
	struct vbd_grants grants;
	struct vbd_fault fault;
	struct pvf_sim_vbd_counters counters; /* the backend's own; `shown` is for others */
	struct vbd_snapshot shown;

	uint32_t nr_keys;
	struct pvf_store_op keys[VBD_KEYS];
	char paths[VBD_KEYS][VBD_PATH];
	char values[VBD_KEYS][VBD_VALUE];
	char watched[2][VBD_PATH];
};

extern const struct pvf_sim_backend_ops vbd_reference_ops; /* its config is a struct vbd_control */

/* vbd_backend.c, also for faults */
void vbd_back_show_counters(struct vbd_back *back);
void vbd_back_warn(struct vbd_back *back, const char *text);
void vbd_back_set_state(struct vbd_back *back, uint32_t state);
void vbd_back_announce(struct vbd_back *back);
void vbd_back_publish(struct vbd_back *back);
void vbd_back_disconnect(struct vbd_back *back);
void vbd_back_fall_back(struct vbd_back *back);
void vbd_back_jump_closed(struct vbd_back *back);
void vbd_back_later(struct vbd_back *back, void (*step)(struct vbd_back *back));
void vbd_back_vanish(struct vbd_back *back);
void vbd_back_die(struct vbd_back *back);

/* vbd_keys.c: batches of store operations, the owner's key overrides applied */
bool vbd_key_override(const struct pvf_sim_vbd_options *options, const char *name, const char **value,
		      uint32_t *length);
void vbd_keys_start(struct vbd_back *back);
void vbd_keys_read(struct vbd_back *back, const char *directory, const char *name);
void vbd_keys_write(struct vbd_back *back, const char *name, const char *value);
void vbd_keys_write_at(struct vbd_back *back, const char *path, const char *value);
void vbd_keys_write_number(struct vbd_back *back, const char *name, uint64_t number);
void vbd_keys_remove(struct vbd_back *back, const char *path);
int vbd_keys_run(struct vbd_back *back, uint32_t flags);
bool vbd_keys_number(const struct vbd_back *back, uint32_t index, uint32_t *number);

/* vbd_ring.c */
int vbd_ring_attach(struct vbd_back *back, uint32_t ref, uint32_t remote_port);
void vbd_ring_detach(struct vbd_back *back);
bool vbd_ring_work(struct vbd_back *back);
/* The slot of a request or response; the frontend may change it at any time. */
volatile uint64_t *vbd_ring_slot(const struct vbd_ring *ring, uint32_t index);

/* vbd_grants.c */
int vbd_grants_start(struct vbd_back *back, bool persistent);
void *vbd_grants_map(struct vbd_back *back, uint32_t ref, bool read_only);
void vbd_grants_end_request(struct vbd_back *back);
/* Takes a mapping that is not to be ended now into the table. */
void vbd_grants_keep(struct vbd_back *back, const struct vbd_mapping *mapping);
void vbd_grants_drop(struct vbd_back *back);
int vbd_grants_map_page(struct vbd_back *back, uint32_t ref, bool read_only, struct vbd_mapping *mapping);
void vbd_grants_unmap_page(struct vbd_back *back, const struct vbd_mapping *mapping);

/* vbd_fault.c */
bool vbd_fault_parse(const char *text, uint32_t *fault, uint32_t *at);
void vbd_fault_refresh(struct vbd_back *back);
/* True: go on with the step. */
bool vbd_fault_step(struct vbd_back *back, enum vbd_step step);
uint64_t vbd_fault_sectors(struct vbd_back *back, uint64_t sectors);
enum vbd_verdict vbd_fault_request(struct vbd_back *back, int16_t *status);
void vbd_fault_data(struct vbd_back *back, void *data);
/* May rewrite a response before it is put on the ring; returns how often it is to be put there. */
uint32_t vbd_fault_response(struct vbd_back *back, struct pvf_wire_blkif_response *response);
void vbd_fault_order(struct vbd_back *back);
uint32_t vbd_fault_producer(struct vbd_back *back, uint32_t producer);
uint32_t vbd_fault_notifications(struct vbd_back *back, uint32_t notifications);
bool vbd_fault_keeps_grants(const struct vbd_back *back);
/* Looks at the ring all the time, so as to answer before it is notified. */
bool vbd_fault_polls(const struct vbd_back *back);
bool vbd_fault_is_early(uint32_t fault);

#endif
