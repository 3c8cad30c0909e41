/* SPDX-License-Identifier: MIT */
/* What vbd and vif share: one frontend's control plane. */
#ifndef PVFRONT_DEVICE_H
#define PVFRONT_DEVICE_H

#include <pvfront/grant.h>
#include <pvfront/host.h>
#include <pvfront/wire/xs.h>
#include <pvfront/xenbus.h>

#include "text.h"

/* ---- keys: negotiation is data ---- */

enum pvf_key_type {
	PVF_KEY_BOOL,   /* 0 or 1, into a uint32_t */
	PVF_KEY_U32,    /* decimal, into a uint32_t */
	PVF_KEY_U64,    /* decimal, into a uint64_t */
	PVF_KEY_POWER2, /* decimal power of two, into a uint32_t */
	PVF_KEY_TEXT,   /* into char[size], NUL-terminated */
};

enum pvf_key_side {
	PVF_KEY_FRONTEND, /* in our directory, written by the toolstack; read once */
	PVF_KEY_OFFER,    /* in the backend's, there at InitWait */
	PVF_KEY_PROPERTY, /* in the backend's, there only at Connected (Linux blkback) */
};

struct pvf_key {
	const char *name;
	uint8_t type;
	uint8_t side;
	bool required;         /* its absence is waited out, then an error; else the fallback */
	bool garbage_is_error; /* what cannot be parsed or is out of range: an error, else the fallback */
	uint16_t offset;       /* in the class's negotiated set */
	uint16_t size;
	uint64_t fallback, min, max;
};

/* ---- a batch of store operations in the device's one scratch block ---- */

#define PVF_BATCH_OPS 32u
#define PVF_BATCH_VALUE 64u /* room for a value that is read; a longer one is garbage */

struct pvf_batch {
	uint32_t n;
	uint32_t used;
	bool overflow;
	struct pvf_store_op ops[PVF_BATCH_OPS];
};

/* ---- the device ---- */

/* Columns of the phase table: the backend's state, or what stands in its place. */
enum pvf_column {
	PVF_COLUMN_OFFLINE = PVF_STATES, /* Closed, and `online` is 0: the toolstack removes it */
	PVF_COLUMN_VANISHED,             /* its directory is gone */
	PVF_COLUMN_GARBAGE,              /* a state that is no number, or none that exists */
	PVF_COLUMNS
};

struct pvf_device;

/* What a class of device adds. All run in thread context, inside advance. */
struct pvf_device_class {
	const char *name;
	const struct pvf_key *keys;
	uint32_t nr_keys;
	/* Makes rings and channels; undone by release. */
	int (*prepare)(struct pvf_device *device);
	/* Adds what is published, and the removal of stale keys, to the batch. */
	void (*publish)(struct pvf_device *device);
	/* The backend is Connected and every key was read: check the set, start the queues. PVF_BUSY: an owner is inside. */
	int (*connect)(struct pvf_device *device);
	/* Refuse new work, let go on what is in flight. */
	void (*drain)(struct pvf_device *device);
	uint32_t (*in_flight)(const struct pvf_device *device);
	/*
	 * Stops the queues; what is in flight will be reaped with `status`, and submit answers `refusal` from now on.
	 * PVF_BUSY while an owner is still inside; nothing to do when they are stopped already.
	 */
	int (*stop)(struct pvf_device *device, int status, int refusal);
	/* Lets go of rings and channels. `forgotten`: a resume has ended them already. */
	int (*release)(struct pvf_device *device, bool forgotten);
	/* PVF_OK, or what an owner found wrong with the peer; `text` gets a clause that says what. */
	int (*failure)(const struct pvf_device *device, struct pvf_text *text);
};

#define PVF_ERROR_BYTES 256u

struct pvf_device {
	const struct pvf_host *host;
	const struct pvf_device_class *class;
	struct pvf_event event;
	uint32_t seen;     /* events up to here say nothing new: */
	uint32_t sampled;  /*   the sequence when the backend was last read, */
	uint32_t expected; /*   or the one that the watch's first firing brings */
	enum pvf_phase phase;
	enum pvf_want want;
	uint32_t column;         /* last seen of the backend */
	uint32_t frontend_state; /* last written */
	uint32_t goodbye;        /* what is to be written while letting go */
	uint32_t generation;     /* of the host's resumes */
	int32_t status;          /* why it is broken */
	uint16_t backend_domid;
	bool watching;
	bool published; /* the backend knows our ring */
	bool forgotten; /* a resume came; nothing of before can be ended */
	bool offline;
	bool fresh;          /* the backend was read in this round */
	bool silent;         /* the store did not answer; not asked again while letting go */
	uint64_t deadline;   /* of the phase */
	uint64_t phase_ns;   /* deadline of each phase, and of each store call */
	uint32_t phase_ms;   /* the same, as people gave it */
	uint64_t read_again; /* look at the backend then, even without an event */
	void *negotiated;
	uint8_t *missing; /* per key: its status when last read */
	char *path;
	char *backend_path; /* NULL until known */
	char *watch_path;   /* its state */
	uint32_t path_bytes, backend_path_bytes, watch_path_bytes;
	char *scratch;
	uint32_t scratch_bytes;
	struct pvf_batch batch;
	pvf_trace_fn *trace;
	void *trace_ctx;
	char error[PVF_ERROR_BYTES];
};

/* xenbus.c: life. `missing` has room for a byte for each key. */
int pvf_device_open(struct pvf_device *device, const struct pvf_host *host, const struct pvf_device_class *class,
		    const char *path, void *negotiated, uint8_t *missing);
void pvf_device_free(struct pvf_device *device);
/* Learns the backend's path and watches it; another path than before is forgotten first. */
int pvf_device_set_backend(struct pvf_device *device, const char *path, uint32_t length);
uint64_t pvf_device_advance(struct pvf_device *device);
/* Draining or beyond: the device is on its way down, or there. */
bool pvf_device_lets_go(const struct pvf_device *device);
/* Whether the device's event fired since the backend was last read. */
bool pvf_device_event_due(const struct pvf_device *device);
void pvf_device_resumed(struct pvf_device *device, uint32_t generation);
/* Advances until the phase is `until`, or the device broke or closed; needs the host's wait. */
int pvf_device_run(struct pvf_device *device, enum pvf_phase until);

/* xenbus_keys.c: reading and writing the store. */
void pvf_batch_start(struct pvf_device *device);
void pvf_batch_read(struct pvf_device *device, const char *directory, const char *name);
void pvf_batch_read_path(struct pvf_device *device, const char *directory,
			 const char *name); /* a value that is a path */
void pvf_batch_write(struct pvf_device *device, const char *directory, const char *name, const char *value);
void pvf_batch_write_number(struct pvf_device *device, const char *directory, const char *name, uint64_t value);
void pvf_batch_remove(struct pvf_device *device, const char *directory, const char *name);
/* Carries the batch out by the phase's deadline and traces it. */
int pvf_batch_submit(struct pvf_device *device, uint32_t flags);
int pvf_device_scratch(struct pvf_device *device);
/* Adds the reads of the class's keys of one side; then takes them in, the batch's `first` operation being the first. */
void pvf_keys_read(struct pvf_device *device, enum pvf_key_side side);
int pvf_keys_take(struct pvf_device *device, enum pvf_key_side side, uint32_t first);
/* The first key of a side that is required and not there, or NULL. */
const struct pvf_key *pvf_keys_missing(const struct pvf_device *device, enum pvf_key_side side);
/* Sets the backend's keys to their fallbacks; ours too, which only the toolstack changes, when they are about to be read. */
void pvf_keys_reset(struct pvf_device *device, bool frontend_too);

/* The device's error text, started anew. */
struct pvf_text pvf_device_text(struct pvf_device *device, int status);
void pvf_device_trace(struct pvf_device *device, const struct pvf_trace *trace);

/* xenbus_table.c: the phase table. */
struct pvf_action {
	const char *name;
	int (*run)(struct pvf_device *device); /* NULL: stay */
	/* Where it can lead, ended by PVF_PHASES; the graph test walks these. */
	uint8_t next[4];
};

extern const struct pvf_action pvf_actions[];
/* The action for a phase, an intent and a column; the one for the phase's deadline; whether the phase has one. */
uint32_t pvf_table_action(enum pvf_phase phase, enum pvf_want want, uint32_t column);
uint32_t pvf_table_deadline_action(enum pvf_phase phase); /* one that does not run: no deadline */

/* xenbus_steps.c: what the actions do. Each returns PVF_OK when it changed the phase, PVF_AGAIN when it has to wait. */
int pvf_step_start(struct pvf_device *device);
int pvf_step_reset(struct pvf_device *device);
int pvf_step_prepare(struct pvf_device *device);
int pvf_step_publish(struct pvf_device *device);
int pvf_step_connect(struct pvf_device *device);
int pvf_step_drain(struct pvf_device *device);
int pvf_step_drained(struct pvf_device *device);
int pvf_step_close(struct pvf_device *device);
int pvf_step_leave(struct pvf_device *device);
/* Writes again what was to be written while letting go, and failed. */
void pvf_step_repeat_goodbye(struct pvf_device *device);
int pvf_step_finish(struct pvf_device *device);
int pvf_step_reopen(struct pvf_device *device);
int pvf_step_restart(struct pvf_device *device);
int pvf_step_rewait(struct pvf_device *device);
int pvf_step_timeout(struct pvf_device *device);
int pvf_step_vanished(struct pvf_device *device);
int pvf_step_offline(struct pvf_device *device);
int pvf_step_refused(struct pvf_device *device);
/* Any step's failure: error text is set already. */
int pvf_device_break(struct pvf_device *device, int status);
void pvf_device_enter(struct pvf_device *device, enum pvf_phase phase, const char *why);
int pvf_device_write_state(struct pvf_device *device, uint32_t state);

#endif
