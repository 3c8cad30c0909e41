/* SPDX-License-Identifier: MIT */
/* The simulated xenstored: a connection for each domain, what it watches, and its transactions. */
#ifndef PVFRONT_SIM_XSD_H
#define PVFRONT_SIM_XSD_H

#include "machine.h"
#include "store.h"

/* A message on its way out; it is sent as the ring has room. */
struct xsd_message {
	struct xsd_message *next;
	uint32_t bytes; /* header and payload */
	bool answer;
	uint8_t data[];
};

struct xsd_watch {
	struct xsd_watch *next;
	uint32_t bytes;    /* of this allocation */
	uint32_t home;     /* bytes of the path that a relative watch does not want to hear: "/local/domain/N/" */
	uint32_t token_at; /* in text */
	char text[];       /* the absolute path, the token */
};

struct xsd_conn {
	struct xsd_conn *next;
	struct pvf_sim_domain *domain;
	uint16_t domid;
	bool privileged;
	bool broken;   /* it broke the protocol: nothing is read from it any more */
	bool ready;    /* there may be something in its ring */
	uint32_t seen; /* sequence of the event that was last looked at */
	struct pvf_event event;
	struct pvf_wire_xs_interface *page;
	uint32_t map, port;
	struct xsd_message *out, **out_last;
	uint32_t out_sent, answers;
	struct xsd_watch *watches, **watches_last;
	uint32_t nr_watches;
	struct store_tx *transactions;
	uint32_t nr_transactions, next_tx;
	uint32_t in_length;
	_Alignas(8) uint8_t in[PVF_WIRE_XS_HEADER + PVF_WIRE_XS_PAYLOAD_MAX + 1];
};

struct xsd {
	struct pvf_sim *sim;
	struct sim_mutex lock;
	struct sim_actor actor;
	struct store store;
	struct xsd_conn *conns;
	uint32_t nr_conns, turn;
	/* The request that is being carried out. */
	struct store_caller caller;
	uint32_t reply_length;
	char path[STORE_PATH_ROOM];
	union {
		uint8_t reply[PVF_WIRE_XS_PAYLOAD_MAX];
		/* While a request is parsed there is no reply yet. */
		struct store_perm perms[PVF_WIRE_XS_PAYLOAD_MAX / sizeof(struct store_perm)];
	};
};

/* xsd_conn.c: queues a message. False: no memory. */
bool xsd_queue(struct xsd *xsd, struct xsd_conn *conn, uint32_t type, uint32_t req_id, uint32_t tx_id, const void *data,
	       uint32_t length);
/* One bounded piece of what a connection asks for; false when there was nothing to do. */
bool xsd_serve(struct xsd *xsd, struct xsd_conn *conn);

/* xsd_request.c: carries out what stands in conn->in and queues the answer. */
void xsd_request(struct xsd *xsd, struct xsd_conn *conn);

/* store_watch.c */
enum store_error xsd_watch(struct xsd *xsd, struct xsd_conn *conn, const char *path, const char *token);
void xsd_watch_first(struct xsd *xsd, struct xsd_conn *conn);
enum store_error xsd_unwatch(struct xsd *xsd, struct xsd_conn *conn, const char *path, const char *token);
void xsd_unwatch_all(struct xsd *xsd, struct xsd_conn *conn);
void xsd_changed(void *ctx, const char *path, bool exact, const struct store_record *old,
		 const struct store_record *now, const struct store_record *parent);
/* Tells watches on @introduceDomain and @releaseDomain. */
void xsd_special(struct xsd *xsd, const char *name);

void xsd_end_transactions(struct xsd *xsd, struct xsd_conn *conn);

#endif
