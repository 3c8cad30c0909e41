/* SPDX-License-Identifier: MIT */
/*
 * What an operating system supplies: one const table of functions and a context pointer.
 *
 * Calling contexts, named alike in every header:
 *   thread     may take its time (PASSIVE_LEVEL on Windows); one control thread at a time for one device
 *   owner      the one context that owns a queue; DISPATCH_LEVEL allowed
 *   interrupt  anywhere, also in interrupt context
 */
#ifndef PVFRONT_HOST_H
#define PVFRONT_HOST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PVF_PAGE_SIZE 4096u
#define PVF_PAGE_SHIFT 12u

/* Xen's own "no grant reference"; 0 is a valid one (PROTOCOL: refs 0..7 are reserved, invalid must be all ones). */
#define PVF_GREF_INVALID 0xffffffffu

/* A deadline that never comes. Times are nanoseconds of the host's monotonic clock. */
#define PVF_FOREVER UINT64_MAX

/*
 * Something that happened, counted. An event channel and a xenstore watch each point at one; whoever waits samples
 * the sequence BEFORE looking for work, so that an event between the look and the sleep is never lost
 * (FIELD-BUGS 15, win-xenbus 6188b28).
 */
struct pvf_event {
	volatile uint32_t sequence;
	uint32_t reserved;
	void *owner; /* the embedder's: what to schedule when it fires; the core does not touch it */
	struct pvf_event
		*waiters; /* the core's: events marked together with this one (a device's queues), linked by next */
	struct pvf_event *next;
};

/* Marks an event, and those that wait with it, as having happened. The only thing an interrupt handler has to do. Context: interrupt. */
void pvf_event(struct pvf_event *event);

/* The sequence to hand to wait(); sample it before looking for work. Context: interrupt. */
uint32_t pvf_event_sequence(const struct pvf_event *event);

/* Pages shared with one domain: the unit of sharing and of purging. */
struct pvf_region {
	void *base; /* in: NULL, or pages of an earlier share to grant again; out: first page, page-aligned, zeroed */
	uint32_t *refs;          /* in: room for `pages` references, filled by share */
	uint32_t pages;          /* in */
	uint16_t domid;          /* in: who may map it */
	uint16_t flags;          /* in: PVF_SHARE_* */
	uint64_t handle;         /* the host's own; the core does not touch it */
	struct pvf_region *next; /* the core's: pool and parking lists */
	uint64_t free_pages;     /* the core's: bit n set = page n is free */
	uint32_t in_use;         /* the core's: pages handed out */
	uint32_t reserved;
};

#define PVF_SHARE_READ_ONLY 1u
#define PVF_REGION_FORGOTTEN 0x8000u /* the core's: a resume has ended its grants */

/* What unshare answers. */
enum pvf_unshare {
	PVF_UNSHARE_RELEASED = 0, /* the peer is out, the memory is the host's again */
	PVF_UNSHARE_HOST_OWNS,    /* the host keeps what is still mapped until it is not (Linux gntalloc) */
	PVF_UNSHARE_BUSY,         /* the peer still maps it: the core parks the region and never uses it again */
};

/* Which of those answers a host can give, and what else it can do. */
#define PVF_HOST_CAN_RELEASE 0x01u
#define PVF_HOST_CAN_OWN 0x02u
#define PVF_HOST_CAN_BE_BUSY 0x04u
#define PVF_HOST_REVOKE_UNPROVEN 0x08u /* revoke_frame can never prove that the peer is out (Windows XENBUS) */
#define PVF_HOST_NO_SPIN 0x10u         /* spinning cannot help: the peer runs only while this host waits */

enum pvf_revoke {
	PVF_REVOKE_ENDED = 0,
	PVF_REVOKE_BUSY,     /* the peer still maps the frame */
	PVF_REVOKE_UNPROVEN, /* the host cannot tell */
};

/* One step of a batch of store operations. */
enum pvf_store_verb {
	PVF_STORE_READ,
	PVF_STORE_WRITE,
	PVF_STORE_REMOVE,
	PVF_STORE_LIST, /* children's names, each ended by NUL */
};

struct pvf_store_op {
	uint32_t verb;
	int32_t status;    /* out: PVF_OK or PVF_STORE_*; PVF_CLOSED when it was not reached */
	const char *path;  /* NUL-terminated; relative paths are below the own domain's home */
	void *value;       /* WRITE: the bytes; READ, LIST: where they go; values are not NUL-terminated */
	uint32_t capacity; /* READ, LIST: room at value */
	uint32_t length;   /* WRITE: in; READ, LIST: out, the whole length even when it was more than the room */
};

/*
 * All of the batch in one transaction. PVF_STORE_CONFLICT then means that nothing happened; the caller starts again
 * from its reads.
 */
#define PVF_STORE_TRANSACTION 1u

enum pvf_log_level { PVF_LOG_ERROR, PVF_LOG_WARNING, PVF_LOG_INFO, PVF_LOG_DEBUG };

struct pvf_host_ops {
	uint32_t size; /* sizeof(struct pvf_host_ops) of the caller */
	uint32_t caps; /* PVF_HOST_* */

	/* Memory, page-aligned when bytes >= PVF_PAGE_SIZE, 16-byte aligned otherwise; alloc zeroes. Context: thread. */
	void *(*alloc)(void *ctx, size_t bytes);
	void (*free)(void *ctx, void *memory, size_t bytes);

	/*
	 * Regions. share fills base (zeroed pages unless the caller brought its own), refs and handle, or changes nothing
	 * and returns PVF_NO_SPACE or PVF_NO_MEMORY. unshare returns enum pvf_unshare; after RELEASED and HOST_OWNS the
	 * memory is gone. forget drops a region whose grants a resume has ended already, and frees the memory.
	 * share_limit: pages this host can share, 0 = not known. Context: thread.
	 */
	int (*share)(void *ctx, struct pvf_region *region);
	int (*unshare)(void *ctx, struct pvf_region *region);
	void (*forget)(void *ctx, struct pvf_region *region);
	uint32_t (*share_limit)(void *ctx);

	/* Optional: single frames of the caller's own memory. revoke returns enum pvf_revoke. Context: owner. */
	int (*grant_frame)(void *ctx, uint16_t domid, uint64_t frame, bool read_only, uint32_t *ref);
	int (*revoke_frame)(void *ctx, uint32_t ref);

	/*
	 * Event channels. alloc makes an unbound port for domid; whenever it fires the host calls pvf_event(event), in any
	 * context. notify: context owner. unmask (optional) returns 1 for "still pending, poll again". eoi (optional)
	 * ends an interrupt, late, saying whether it was spurious (XSA-331, XSA-391). No lock of the host's is held
	 * across close (XSA-441), and no callback starts after it has returned. alloc, close: thread.
	 */
	int (*evtchn_alloc)(void *ctx, uint16_t domid, struct pvf_event *event, uint32_t *port);
	void (*evtchn_close)(void *ctx, uint32_t port);
	void (*evtchn_notify)(void *ctx, uint32_t port);
	int (*evtchn_unmask)(void *ctx, uint32_t port);
	void (*evtchn_eoi)(void *ctx, uint32_t port, bool spurious);

	/*
	 * Optional: sleeps until event->sequence differs from `sequence` (PVF_OK) or the deadline passes (PVF_TIMEOUT);
	 * serves watch events too. PVF_AGAIN: woken for another reason (a signal); the caller decides. Context: thread.
	 */
	int (*wait)(void *ctx, struct pvf_event *event, uint32_t sequence, uint64_t deadline);

	/*
	 * The store. Carries out the batch in order; blocks until the answers are there or the deadline has passed.
	 * Returns PVF_OK when every WRITE and REMOVE succeeded (removing what is not there is success; what a READ or LIST
	 * met is in its own status), else the first failure; in a transaction a failure undoes all of it.
	 * pvf_store_each() serves hosts that have one call at a time. Context: thread.
	 */
	int (*store)(void *ctx, struct pvf_store_op *ops, uint32_t n, uint32_t flags, uint64_t deadline);
	/* watch: the path stays the caller's string and must be valid until unwatch has returned. */
	int (*watch)(void *ctx, const char *path, struct pvf_event *event, uint64_t deadline);
	void (*unwatch)(void *ctx, const char *path, struct pvf_event *event, uint64_t deadline);
	/* Optional: hands out watch events that have arrived, for hosts with no thread of their own for it. */
	void (*store_poll)(void *ctx);

	/* Monotonic nanoseconds. Context: interrupt. */
	uint64_t (*now)(void *ctx);

	/*
	 * Optional: a full barrier on every CPU that runs this program (Linux membarrier, Windows KeFlushProcessWriteBuffers,
	 * nothing on one CPU). With it a queue's owner passes its gate without a barrier. Context: thread.
	 */
	void (*fence)(void *ctx);

	/* Optional. Context: interrupt. */
	void (*log)(void *ctx, int level, const char *message);
};

/* Regions that a peer did not let go of. One per host, zeroed by whoever makes the host. */
struct pvf_parking {
	struct pvf_region *volatile head;
	volatile uint32_t pages;
	uint32_t reserved;
};

struct pvf_host {
	const struct pvf_host_ops *ops;
	void *ctx;
	struct pvf_parking *parking;
};

/* Tries to end every parked region once more; returns the pages that stay parked. Context: thread. */
uint32_t pvf_host_unpark(const struct pvf_host *host);

/* A host says this once after a resume, before its devices are told: what was parked is nobody's now. Context: thread. */
void pvf_host_resumed(const struct pvf_host *host);

/* PVF_OK, or PVF_INVALID when the table lacks a function that is not optional. Context: thread. */
int pvf_host_check(const struct pvf_host *host);

/*
 * For hosts whose store does one call at a time: carries out a batch with these. The transaction number 0 means none.
 * Each returns PVF_OK or PVF_STORE_*; read and list store the length of the value at *length (also when the room was
 * smaller).
 */
struct pvf_store_calls {
	int (*read)(void *ctx, uint32_t tx, const char *path, void *value, uint32_t capacity, uint32_t *length);
	int (*list)(void *ctx, uint32_t tx, const char *path, void *value, uint32_t capacity, uint32_t *length);
	int (*write)(void *ctx, uint32_t tx, const char *path, const void *value, uint32_t length);
	int (*remove)(void *ctx, uint32_t tx, const char *path);
	int (*transaction_start)(void *ctx, uint32_t *tx);
	int (*transaction_end)(void *ctx, uint32_t tx, bool commit);
};

int pvf_store_each(const struct pvf_store_calls *calls, void *ctx, struct pvf_store_op *ops, uint32_t n,
		   uint32_t flags);

#endif
