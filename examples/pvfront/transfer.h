/* SPDX-License-Identifier: MIT */
/*
 * Moves a range through the ring, `depth` requests in flight, zero copy: the backend reads and writes the buffers in
 * place. The data are handed over in order.
 */
#ifndef TRANSFER_H
#define TRANSFER_H

#include <stdbool.h>
#include <stdint.h>

struct session;

#define TRANSFER_BLOCK 65536u

struct transfer {
	uint32_t op;            /* PVF_VBD_READ or PVF_VBD_WRITE */
	uint64_t sector, count; /* units of 512 bytes */
	uint32_t depth;
	const char *label; /* for the progress line; NULL: none */
	/*
	 * WRITE: fills `data`; READ: takes it. False ends the transfer; the failure is the callee's to set. The backend may
	 * still change the memory of a READ: look at each byte once.
	 */
	bool (*data)(void *ctx, uint64_t sector, uint8_t *data, uint32_t bytes);
	void *ctx;
};

/* Adds what was moved to outcome.bytes, and the time to outcome.seconds. False: see the failure; or a signal came. */
bool transfer_run(struct session *session, const struct transfer *transfer);

#endif
