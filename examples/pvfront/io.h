/* SPDX-License-Identifier: MIT */
/* Single requests, waiting, and the sentences for what can go wrong with them. */
#ifndef IO_H
#define IO_H

#include <stdbool.h>
#include <stdint.h>

#include <pvfront/vbd.h>

struct session;

/* Reads `bytes` (whole sectors) at a sector into memory. */
bool io_read(struct session *session, uint64_t sector, void *data, uint32_t bytes);

/* Flushes if the backend offers it: outcome.flushed says whether. */
bool io_flush_if_offered(struct session *session);
bool io_flush(struct session *session);

/*
 * Completions, at least one. False: a signal came, or the backend was silent for the deadline (the failure says so then).
 * `doing` and `sector` name the oldest request in flight.
 */
bool io_wait(struct session *session, struct pvf_vbd_done *done, uint32_t max, uint32_t *n, const char *doing,
	     uint64_t sector);

/* Submits one I/O; false with *again when there is no room now, false with a failure otherwise. */
bool io_submit(struct session *session, const struct pvf_vbd_io *io, uint32_t bytes, bool *again);

/* Fails with what a request's status means. */
bool io_failed(struct session *session, uint32_t op, uint64_t sector, uint32_t bytes, int status);

/* Refuses, for safety: a changing verb without --write, or a device that cannot be written. */
bool io_may_write(struct session *session);

#endif
