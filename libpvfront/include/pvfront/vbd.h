/* SPDX-License-Identifier: MIT */
/*
 * The block frontend. Three places to call from, and no fourth:
 *   thread  pvf_vbd_open, advance, want, buffer, release, free and the blocking helpers connect, disconnect, wait
 *   owner   pvf_vbd_submit, push, reap: one owner at a time for a queue
 *   any     pvf_event() on the queue's or the device's event
 */
#ifndef PVFRONT_VBD_H
#define PVFRONT_VBD_H

#include <pvfront/grant.h>
#include <pvfront/host.h>
#include <pvfront/status.h>
#include <pvfront/xenbus.h>

struct pvf_vbd;
struct pvf_vbd_queue;

/* ---- one I/O ---- */

enum pvf_vbd_op {
	PVF_VBD_READ = 0,
	PVF_VBD_WRITE = 1,
	PVF_VBD_FLUSH =
		3, /* no segments; what completed before it was submitted is on stable storage when it completes */
};

struct pvf_vbd_io {
	uint64_t sector; /* in units of 512 bytes, at every sector size */
	struct pvf_seg *segs;
	void *user; /* comes back in pvf_vbd_done */
	uint32_t nr_segs;
	uint32_t op; /* enum pvf_vbd_op */
};

struct pvf_vbd_done {
	void *user;
	int32_t status; /* PVF_OK, PVF_IO, PVF_UNSUPPORTED, PVF_RESET, PVF_CLOSED or PVF_BROKEN */
	uint32_t reserved;
};

/* ---- the device ---- */

#define PVF_VBD_POLL 0x1u   /* the owner polls: the backend is never asked for an event */
#define PVF_VBD_TIMING 0x2u /* one clock read per submit and reap: latency in the statistics */

struct pvf_vbd_options {
	uint32_t size;         /* sizeof(struct pvf_vbd_options) */
	uint32_t flags;        /* PVF_VBD_* */
	uint32_t phase_ms;     /* deadline of each phase in milliseconds; 0: 10000 */
	uint32_t ring_order;   /* log2 of the ring's pages; only 0 yet */
	uint32_t persistent;   /* advertise feature-persistent (1) or not (0) */
	uint32_t bounce_pages; /* pool pages for PLAIN memory; 0: enough for a full ring (352), at least 11 */
	uint32_t spin;         /* longest spin of pvf_vbd_wait in polls of the ring; 0: never spin */
	uint32_t ring_start;   /* first ring index; 0 but in tests (FIELD-BUGS 2) */
	pvf_trace_fn *trace;   /* told each step of the handshake; may be NULL */
	void *trace_ctx;
};

#define PVF_VBD_OPTIONS \
	((struct pvf_vbd_options){.size = sizeof(struct pvf_vbd_options), .persistent = 1, .spin = 2000})

/* What was agreed with the backend; valid while connected. */
struct pvf_vbd_info {
	uint64_t sectors;              /* capacity in units of 512 bytes */
	uint32_t sector_size;          /* logical, bytes: I/O must be aligned to it */
	uint32_t physical_sector_size; /* bytes */
	uint32_t info;                 /* PVF_WIRE_BLKIF_INFO_* bits */
	uint32_t virtual_device;       /* number in the frontend's path, as 51712 */
	uint32_t ring_order;
	uint32_t ring_entries;
	uint32_t queues;
	uint32_t max_segments;        /* pages in one request on the ring */
	uint32_t max_ring_page_order; /* offered by the backend */
	uint32_t max_queues;          /* offered by the backend */
	uint32_t max_indirect;        /* offered by the backend */
	uint16_t backend_domid;
	bool read_only, persistent, flush, trusted;
	char mode[8];         /* the backend's mode key, as "w" */
	char device_type[16]; /* the backend's device-type key, as "disk" */
	const char *path, *backend_path;
};

#define PVF_LATENCY_BUCKETS 512u /* 8 per power of two of nanoseconds, see pvf_latency_bucket_ns */

struct pvf_vbd_statistics {
	uint64_t reads, writes, flushes; /* I/Os completed, of the caller's */
	uint64_t errors;                 /* completed with another status than PVF_OK */
	uint64_t bytes_read, bytes_written;
	uint64_t requests;  /* put on the ring */
	uint64_t responses; /* taken from it */
	uint64_t segments;
	uint64_t pushes;        /* times the producer index was published */
	uint64_t notifications; /* of those, sent to the backend */
	uint64_t events;        /* received from the backend */
	uint64_t sleeps;        /* times pvf_vbd_wait slept */
	uint64_t spins;         /* times it found work while spinning */
	uint64_t bounced_bytes;
	uint64_t split;            /* I/Os that took more than one request */
	uint64_t grant_operations; /* grants made or ended by the data path */
	uint64_t bad_responses;
	/* With PVF_VBD_TIMING: submit to reap, nanoseconds. */
	uint64_t latency_min, latency_max, latency_sum, latency_count;
};

/* The upper edge of a latency bucket in nanoseconds. */
uint64_t pvf_latency_bucket_ns(uint32_t bucket);

/*
 * Opens the frontend at `path` (as "device/vbd/51712"). Nothing is said to the backend yet. The host and the options'
 * trace stay the caller's and must outlive the device. Errors: PVF_INVALID, PVF_RANGE, PVF_UNSUPPORTED, PVF_NO_MEMORY; *vbd is
 * NULL then, and pvf_status_text explains. Context: thread.
 */
int pvf_vbd_open(const struct pvf_host *host, const char *path, const struct pvf_vbd_options *options,
		 struct pvf_vbd **vbd);

/* What the owner wants; advance makes it so. Context: thread. */
void pvf_vbd_want(struct pvf_vbd *vbd, enum pvf_want want);

/*
 * Moves the device as far as it can go without waiting and returns the time at which it wants to be called again even if
 * its event does not fire (PVF_FOREVER: only on an event). Context: thread.
 */
uint64_t pvf_vbd_advance(struct pvf_vbd *vbd);

/* The device's own event: call advance when it fires. Context: interrupt. */
struct pvf_event *pvf_vbd_event(struct pvf_vbd *vbd);

enum pvf_phase pvf_vbd_phase(const struct pvf_vbd *vbd);

/* After a suspend/resume: grants, ports and watches are forgotten, not ended. Context: thread. */
void pvf_vbd_resumed(struct pvf_vbd *vbd, uint32_t generation);

/* A sentence: what went wrong last, naming the key, value or state. Never NULL. Context: thread. */
const char *pvf_vbd_error(const struct pvf_vbd *vbd);

/* Context: thread. PVF_CLOSED when not connected. */
int pvf_vbd_info(const struct pvf_vbd *vbd, struct pvf_vbd_info *info);

/*
 * Helpers for programs that may block; they need the host's wait. connect: PVF_OK once connected, else the status that
 * stopped it (pvf_vbd_error explains). disconnect: waits for what is in flight up to the phase deadline, closes, and
 * releases everything; what completed meanwhile, and what was never answered, is still to be reaped, once. Context: thread,
 * which for disconnect is also the owner of the queues; otherwise say pvf_vbd_want and advance while the owner reaps.
 */
int pvf_vbd_connect(struct pvf_vbd *vbd);
int pvf_vbd_disconnect(struct pvf_vbd *vbd);

/*
 * Disconnects if need be and frees the device with its buffers. Returns PVF_OK, or PVF_PAGE_HELD when pages had to be
 * parked because the backend still maps them (host->parking->pages counts them). Context: thread.
 */
int pvf_vbd_close(struct pvf_vbd *vbd);

/* ---- queues ---- */

struct pvf_vbd_queue *pvf_vbd_queue(struct pvf_vbd *vbd, uint32_t number);

/* The queue's event: reap when it fires. Context: interrupt. */
struct pvf_event *pvf_vbd_queue_event(struct pvf_vbd_queue *queue);

/*
 * A buffer of `bytes` (rounded up to pages, contiguous addresses) that the backend reads and writes in place. It is the
 * caller's until released, and valid until pvf_vbd_close or until the backend's domain changes (submit then says
 * PVF_STALE). Errors: PVF_NO_MEMORY, PVF_NO_SPACE, PVF_CLOSED (the peer is not known before the first connect).
 * Context: thread.
 */
int pvf_vbd_buffer(struct pvf_vbd_queue *queue, uint32_t bytes, struct pvf_seg *seg);
void pvf_vbd_release(struct pvf_vbd_queue *queue, struct pvf_seg *seg);

/*
 * Puts I/Os on the ring's private part, in order, and returns how many were taken (they complete exactly once), or the
 * status of the first when none was: PVF_AGAIN (ring, pool or gate; reap, then try again), PVF_INVALID, PVF_RANGE,
 * PVF_ALIGN, PVF_READ_ONLY, PVF_UNSUPPORTED, PVF_STALE, PVF_CLOSED, PVF_BROKEN. The segments and what they point to stay
 * untouched by the caller until completion; the pvf_vbd_io itself may be reused at once. I/O of any length is taken: what
 * does not fit the ring yet follows as room comes, one such I/O at a time. Context: owner.
 */
int pvf_vbd_submit(struct pvf_vbd_queue *queue, const struct pvf_vbd_io *ios, uint32_t n);

/* Publishes what was submitted and notifies the backend if it asked for it; returns 1 if it did, 0 if not. Context: owner. */
int pvf_vbd_push(struct pvf_vbd_queue *queue);

/*
 * Takes up to `max` completions, in the order they came. When fewer than `max` are returned, the ring was empty and the
 * event is armed (unless PVF_VBD_POLL), or the queue's event was marked to call the owner again: a reap is bounded, also
 * while a long I/O is fed. Never fails: when the device broke or closed, what was in flight comes back from
 * here with PVF_BROKEN, PVF_CLOSED or PVF_RESET, each once. Context: owner.
 */
int pvf_vbd_reap(struct pvf_vbd_queue *queue, struct pvf_vbd_done *done, uint32_t max);

/*
 * As reap, but waits for at least one: pushes what was not pushed, spins (adaptive, bounded), arms, checks, then sleeps in
 * the host's wait; with PVF_VBD_POLL it never sleeps. Advances the device meanwhile. Returns the number of completions; 0
 * when nothing is in flight; PVF_TIMEOUT at the deadline (absolute, host clock; a store that does not answer can delay it by
 * a quarter of a second); PVF_AGAIN when the host's wait was interrupted, or what else it said; PVF_INVALID for a max of 0;
 * PVF_UNSUPPORTED when the host cannot wait. Context: thread that is also the owner.
 */
int pvf_vbd_wait(struct pvf_vbd_queue *queue, struct pvf_vbd_done *done, uint32_t max, uint64_t deadline);

/* I/Os submitted and not yet reaped; not 0 while control is stopping the queue. Context: owner. */
uint32_t pvf_vbd_in_flight(struct pvf_vbd_queue *queue);

/*
 * Copies the queue's counters; `histogram` (PVF_LATENCY_BUCKETS counts) may be NULL. PVF_AGAIN, and zeros, while control is
 * stopping the queue. Context: owner.
 */
int pvf_vbd_statistics(struct pvf_vbd_queue *queue, struct pvf_vbd_statistics *statistics, uint32_t *histogram);

#endif
