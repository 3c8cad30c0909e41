/* SPDX-License-Identifier: MIT */
/* One run of the tool: the attachment to a host, the device, what went wrong, and what is to be reported. */
#ifndef SESSION_H
#define SESSION_H

#include <pvfront/vbd.h>

#include "failure.h"
#include "host_driver.h"
#include "options.h"
#include "trace.h"

struct bench_result;

/* What the verbs have to tell; each fills in what it has. */
struct outcome {
	uint64_t sector, count; /* units of 512 bytes */
	uint64_t bytes;         /* done */
	double seconds;
	bool flushed;
	uint64_t seed, bad_sectors; /* verify */
	struct bench_result *bench;
};

struct session {
	const struct options *options;
	struct failure failure;
	struct attachment attachment;
	struct trace trace;

	struct pvf_vbd *vbd;
	struct pvf_vbd_queue *queue;
	uint32_t vbd_flags; /* PVF_VBD_* for the next connect */
	bool was_connected; /* info is filled in */
	struct pvf_vbd_info info;
	char path[128], backend_path[128]; /* info's, kept beyond the close */

	struct pvf_vbd_statistics statistics; /* of all connections of this run */
	struct named_number counters[MAX_NUMBERS];
	uint32_t nr_counters;
	struct named_number held[MAX_NUMBERS];
	uint32_t nr_held;

	struct outcome outcome;
};

/* Reaches the host and has the device attached there; the opposite. */
bool session_attach(struct session *session);
void session_detach(struct session *session);

/* The handshake; fails with the sentence of the core. An interrupt ends it early: see session_interrupted. */
bool session_connect(struct session *session);

/*
 * Waits for what is in flight, closes, adds the statistics up, and sees to it that nothing was left behind. Also to be
 * called after a failed connect.
 */
void session_disconnect(struct session *session);

/* The device's number, read from its path. */
uint32_t session_device(const struct session *session);

/* True once a signal has come: stop, say nothing more. */
bool session_interrupted(const struct session *session);

#endif
