/* SPDX-License-Identifier: MIT */
/*
 * A scripted xenstored at the other end of a xenstore page, in the test's own thread: it works while the client waits,
 * and only when it was notified, so that a notification the client forgets is a wait that never ends.
 */
#ifndef PVFRONT_TESTS_FAKE_STORE_H
#define PVFRONT_TESTS_FAKE_STORE_H

#include <pvfront/xs.h>

#define FAKE_NODES 64u
#define FAKE_WATCHES 160u
#define FAKE_REPLIES 512u
#define FAKE_LOG 512u
#define FAKE_MS 1000000u

struct fake_node {
	char path[64];
	uint8_t value[64];
	uint32_t length;
	bool used;
};

struct fake_watch {
	char path[64];
	char token[32];
	bool used;
};

struct fake_reply {
	uint32_t type;
	uint32_t length;
	uint8_t bytes[PVF_WIRE_XS_HEADER + PVF_WIRE_XS_PAYLOAD_MAX];
};

struct fake_request {
	struct pvf_wire_xs_header header;
	char first[64];
};

enum fake_order { FAKE_FIFO, FAKE_REVERSE, FAKE_SHUFFLE };

struct fake {
	_Alignas(8) struct pvf_wire_xs_interface page;
	struct pvf_xs xs;

	/* The script. */
	uint32_t chunk; /* bytes moved at a time in each direction; 0: what fits */
	enum fake_order order;
	uint32_t hold; /* answers are kept back until there are so many, or the client waits with nothing to read */
	bool events_between; /* every answer is followed by an event for every watch */
	bool silent;         /* reads requests, keeps the answers */
	bool deaf;           /* reads nothing */
	/* Answers instead of the default when it returns true. */
	bool (*answer)(struct fake *fake, const struct pvf_wire_xs_header *header, const char *payload);
	const char *error; /* what answer_error() says */
	uint32_t error_length;
	uint32_t error_type; /* to requests of this type */

	/* What it has. */
	struct fake_node nodes[FAKE_NODES];
	struct fake_node before[FAKE_NODES]; /* as the transaction found them */
	struct fake_watch watches[FAKE_WATCHES];
	uint32_t transactions_open, next_transaction;
	uint32_t conflicts; /* so many transactions to come end in a conflict */
	const char *big_path;
	char *big; /* children of big_path, each with its NUL */
	uint32_t big_length;
	uint32_t big_generation;
	uint32_t big_changes_at; /* with this part the node changes; 0: never */
	uint32_t big_parts;
	bool big_unknown; /* an old one, that does not know DIRECTORY_PART */

	/* What happened. */
	struct fake_request log[FAKE_LOG];
	uint32_t requests;
	uint32_t answered;         /* that have left whole */
	uint32_t most_outstanding; /* read and not answered */
	uint32_t notified;
	uint32_t bad; /* requests that break the protocol's rules */

	/* Its machinery. */
	uint64_t now;
	uint32_t sequence;
	bool awake;
	uint32_t seed;
	uint8_t in[PVF_WIRE_XS_HEADER + PVF_WIRE_XS_PAYLOAD_MAX + 1];
	uint32_t in_length;
	struct fake_reply *replies[FAKE_REPLIES];
	uint32_t reply_count;
	uint32_t reply_sent; /* bytes of the first that have left */
	uint32_t releasable; /* replies that may leave */
};

/* A store with nothing in it, its rings' indices at these places, and a client started on it. */
struct fake *fake_new(uint32_t req_start, uint32_t rsp_start);
void fake_free(struct fake *fake);

void fake_put(struct fake *fake, const char *path, const char *value);
/* NULL when there is no such node. */
struct fake_node *fake_get(struct fake *fake, const char *path);

void fake_reply(struct fake *fake, uint32_t type, uint32_t req_id, uint32_t tx_id, const void *bytes, uint32_t length);
/* A message with any header and any number of bytes behind it. */
void fake_raw(struct fake *fake, const struct pvf_wire_xs_header *header, const void *bytes, uint32_t length);
void fake_event(struct fake *fake, const char *path, const char *token);
/* An event for every watch. */
void fake_events(struct fake *fake);
/* Lets the store work until it has nothing more to do or the rings are in its way. */
void fake_work(struct fake *fake);

/* For `answer`: says fake->error to requests of fake->error_type. */
bool fake_answer_error(struct fake *fake, const struct pvf_wire_xs_header *header, const char *payload);

#endif
