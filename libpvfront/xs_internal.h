/* SPDX-License-Identifier: MIT */
/* What the parts of the xenstore wire client say to each other: bytes (xs_ring.c), messages (xs_batch.c), calls (xs.c). */
#ifndef PVFRONT_XS_INTERNAL_H
#define PVFRONT_XS_INTERNAL_H

#include <pvfront/xs.h>

/* ---- bytes ---- */

/* Moves what fits of xs->out into the request ring; true when at least one byte went. */
bool pvf_xs_ring_push(struct pvf_xs *xs);

/*
 * Moves answer bytes into xs->in until a whole message stands there (true) or nothing is left, or *budget bytes were
 * taken. Whoever has used the message sets in_length to 0.
 */
bool pvf_xs_ring_pull(struct pvf_xs *xs, uint32_t *budget);

/* ---- messages ---- */

/* xenstored 4.17 reads no more from a domain that has 20 requests outstanding. */
#define XS_WINDOW 16u

/* A generation of DIRECTORY_PART: a 64-bit number in decimal, treated as an opaque string. */
#define XS_GENERATION_MAX 24u

/* In place of the status of an operation that is not finished; a finished one is never positive. */
enum xs_pending {
	XS_UNSENT = 1,
	XS_SENT = 2,
	XS_BIG = 3, /* a LIST that did not fit one message and waits for its parts */
};

#define XS_NO_OP 0xffffffffu /* the slot belongs to the batch's control request */

struct xs_slot {
	uint32_t id;
	uint32_t type; /* 0 (CONTROL, never sent): free */
	uint32_t op;
};

/* The request of a batch that is none of its operations: start or end of the transaction, watch, unwatch. */
struct xs_control {
	uint32_t type;
	int32_t status; /* PVF_OK: nothing to do */
	const char *first;
	const char *second;
};

/* The one LIST that is read in parts now. */
struct xs_parts {
	uint32_t op;
	uint32_t offset;
	bool active;
	bool sent;
	char generation[XS_GENERATION_MAX];
};

struct xs_batch {
	struct pvf_store_op *ops;
	uint32_t n;
	uint32_t next; /* the first that has not been sent */
	uint32_t tx_id;
	uint32_t outstanding;
	uint32_t lists; /* LISTs sent and not finished */
	uint32_t big;   /* of those, the ones that wait for parts */
	bool transaction;
	bool failed; /* a WRITE or REMOVE of the transaction failed: send no more of it */
	bool round_open;
	uint32_t round_id;
	struct xs_control control;
	struct xs_parts parts;
	struct xs_slot slots[XS_WINDOW];
};

/* Takes what has arrived and sends what may be sent; true when anything moved. Without a batch it only receives. */
bool pvf_xs_exchange(struct pvf_xs *xs, struct xs_batch *batch);

/* Exchanges and waits until the batch is finished (PVF_OK), the deadline has passed, or the ring is broken. */
int pvf_xs_run(struct pvf_xs *xs, struct xs_batch *batch, uint64_t deadline);

/* Gives each operation that was not finished its status, and takes back a message of which nothing has left yet. */
void pvf_xs_abandon(struct pvf_xs *xs, struct xs_batch *batch, int status);

/* Remembers a transaction to be ended with "F". */
void pvf_xs_abort_later(struct pvf_xs *xs, uint32_t tx_id);

/* ---- strings ---- */

/* The length of a string up to a limit; limit + 1 when it is longer. */
uint32_t pvf_xs_length(const char *text, uint32_t limit);

#define XS_TOKEN_SIZE 13u /* three digits of the slot, a dot, eight of the generation, NUL; hexadecimal */

void pvf_xs_token(char *text, uint32_t slot, uint32_t generation);
bool pvf_xs_token_parse(const char *text, uint32_t *slot, uint32_t *generation);

#endif
