/* SPDX-License-Identifier: MIT */
/* The inside of a vbd: what its parts share. */
#ifndef PVFRONT_VBD_INTERNAL_H
#define PVFRONT_VBD_INTERNAL_H

#include <pvfront/compiler.h>
#include <pvfront/ring.h>
#include <pvfront/vbd.h>
#include <pvfront/wire/blkif.h>

#include "device.h"
#include "gate.h"

#define VBD_STRIDE 112u
#define VBD_ENTRY_WORDS 14u /* of eight bytes: header 3, segments 11 */
#define VBD_HEADER_WORDS 3u
#define VBD_MAX_PAGES PVF_WIRE_BLKIF_MAX_DIRECT
#define VBD_RING_ENTRIES 32u              /* of a one-page ring */
#define VBD_ENDED (VBD_RING_ENTRIES + 1u) /* most I/Os in flight: one a slot, and one that waits for room */

/* A request's id: its slot in the low 16 bits, a generation above; every use of a slot has another id. */
#define VBD_ID_GENERATION ((uint64_t)1 << 16)

/*
 * What the second word of a response must hold under this mask: the operation, and status 0. A slot that is free, or whose
 * completion is more than handing back `user`, wants what no response can hold: one compare sorts out both.
 */
#define VBD_RESPONSE_MASK 0xffff00ffu
#define VBD_WANT_NOTHING 0xffffffffu /* the slot is free */
#define VBD_WANT_SPECIAL 0x00000100u /* or-ed to the operation */

/* One for each id; what the fast path of reap needs, in half a cache line. */
struct vbd_slot {
	uint64_t id;
	void *user;
	uint64_t want; /* of the response, in the low half; bytes of the request above: one store, one load */
	uint64_t time; /* of submit, with PVF_VBD_TIMING */
};

PVF_INLINE uint64_t vbd_want(uint32_t want, uint32_t bytes)
{
	return (uint64_t)bytes << 32 | want;
}

/* Why submit and reap must leave the fast path; 0: they need not. */
#define VBD_SLOW_ENDED 0x01u /* something waits in `ended` */
#define VBD_SLOW_BAD 0x02u   /* the peer was found out */
#define VBD_SLOW_STOPPED 0x04u
#define VBD_SLOW_FEEDING 0x08u /* a long I/O waits for room */
#define VBD_SLOW_TIMING 0x10u  /* PVF_VBD_TIMING */
#define VBD_SLOW_NO_RING (VBD_SLOW_ENDED | VBD_SLOW_BAD | VBD_SLOW_STOPPED)

/* An I/O that takes more than one request, or bounces, or is a flush. */
struct vbd_split {
	void *user;
	struct pvf_seg *segs;
	uint64_t sector; /* of the next request */
	uint64_t time;
	uint64_t bytes; /* in all */
	uint64_t left;  /* not yet in a request */
	uint32_t nr_segs;
	uint32_t at_seg; /* where the next request starts */
	uint32_t at_offset;
	uint32_t op;
	uint32_t in_ring;  /* requests on the ring */
	uint32_t requests; /* so far */
	int32_t status;    /* the first that was not PVF_OK */
	uint32_t next_free;
};

/* What a request of a split I/O covers; a read's bounce pages are copied out from here. */
struct vbd_piece {
	uint64_t left; /* of the I/O when the request was cut: where it was cut follows from it */
	uint32_t split;
	uint32_t at_seg, at_offset;
	uint32_t bytes;
	uint32_t nr_bounce;
	uint16_t bounce[VBD_MAX_PAGES];
};

/* Bounce pages come from the pool in runs; enough runs for the most an owner may ask for. */
#define VBD_BOUNCE_RUN 64u
#define VBD_BOUNCE_RUNS 16u

struct vbd_bounce_page {
	uint8_t *data;
	uint32_t ref;
};

#define VBD_NO_SPLIT 0xffffffffu

/* Which check a response failed. */
enum vbd_bad {
	VBD_BAD_NONE,
	VBD_BAD_OVERRUN,
	VBD_BAD_ID,     /* beyond the slots */
	VBD_BAD_UNUSED, /* of a slot that is free: never sent, or answered already */
	VBD_BAD_GENERATION,
	VBD_BAD_OPERATION,
	VBD_BAD_STATUS,
};

struct pvf_vbd_queue {
	/* Hot: submit, push, reap. */
	_Alignas(PVF_CACHE_LINE) struct pvf_gate gate;
	uint32_t nr_free;
	volatile uint32_t slow; /* VBD_SLOW_*; an owner may look at it before it minds the mode */
	struct pvf_ring ring;
	struct vbd_slot *slots;
	uint16_t *free_ids;
	uint8_t *used_words; /* of each ring entry: its segments' words that are not zero */
	volatile uint64_t *last_entry;
	uint64_t fast_sectors; /* below it the longest request fits: one compare */
	uint64_t sectors;      /* capacity, 512-byte units */
	uint64_t entry_head;   /* handle, as it stands in the first word of a request */
	uint32_t pool_tag;
	uint32_t unit_mask;        /* of a segment's offset and length: sector size - 1 */
	uint32_t sector_mask;      /* of a sector number: sector size / 512 - 1 */
	uint32_t max_op;           /* PVF_VBD_READ on a read-only device */
	volatile uint32_t feeding; /* the split I/O that waits for room, or VBD_NO_SPLIT; control looks too */
	uint32_t port;
	uint32_t flags; /* PVF_VBD_* */
	const struct pvf_host *host;

	/* Bounce pages and split I/Os. */
	struct vbd_split *splits;
	struct vbd_piece *pieces; /* one for each slot */
	struct vbd_bounce_page *bounce;
	uint16_t *bounce_free;
	uint32_t nr_bounce, nr_bounce_free;
	uint32_t free_split;
	uint32_t split_active; /* split I/Os in flight */
	uint32_t split_slots;  /* slots their requests use */
	uint64_t reap_time;    /* of this reap, with PVF_VBD_TIMING */

	/* Ends. */
	struct pvf_vbd_done *ended;
	uint32_t first_ended, nr_ended;
	volatile uint32_t refusal; /* what submit answers while the gate is not open: a status */
	volatile uint32_t bad;     /* enum vbd_bad */
	uint32_t bad_value;        /* what was there instead */
	bool stopped;
	bool flush_offered;
	bool can_sleep;
	uint8_t reserved;

	/* Waiting. */
	uint32_t spin, spin_max;
	struct pvf_event event;
	uint32_t event_base; /* the event's count when the ring started, see pvf_vbd_statistics */

	struct pvf_vbd *vbd;
	struct pvf_region *region; /* the ring's page */
	struct pvf_seg bounce_segs[VBD_BOUNCE_RUNS];
	uint32_t nr_bounce_segs;
	struct pvf_vbd_statistics statistics; /* responses: those that never came; see pvf_vbd_statistics */
	uint32_t *histogram;
	void *memory; /* one block for all the arrays */
	size_t memory_bytes;
};

struct vbd_negotiated {
	uint64_t sectors;
	uint32_t sector_size;
	uint32_t physical_sector_size;
	uint32_t info;
	uint32_t virtual_device;
	uint32_t trusted;
	uint32_t max_ring_page_order;
	uint32_t max_queues;
	uint32_t max_indirect;
	uint32_t persistent;
	uint32_t flush;
	char mode[8];
	char device_type[16];
};

#define VBD_KEYS 13u

struct pvf_vbd {
	struct pvf_device device;
	struct pvf_vbd_options options;
	struct vbd_negotiated negotiated;
	uint8_t missing[VBD_KEYS];
	struct pvf_pool pool;
	struct pvf_vbd_queue *queue;
	uint64_t control_deadline; /* what advance last asked for */
};

/* vbd_keys.c */
extern const struct pvf_device_class pvf_vbd_class;

/* vbd_queue.c: a queue's memory, its start and its stop. */
int pvf_vbd_queue_create(struct pvf_vbd *vbd, struct pvf_vbd_queue **queue);
void pvf_vbd_queue_destroy(struct pvf_vbd_queue *queue);
int pvf_vbd_queue_prepare(struct pvf_vbd_queue *queue);
int pvf_vbd_queue_start(struct pvf_vbd_queue *queue);
int pvf_vbd_queue_stop(struct pvf_vbd_queue *queue, int status, int refusal);
int pvf_vbd_queue_release(struct pvf_vbd_queue *queue, bool forgotten);

/* vbd_split.c: I/O that is more than one segment of the pool. */
int pvf_vbd_split_submit(struct pvf_vbd_queue *queue, const struct pvf_vbd_io *io);
/* Puts as much of the waiting I/O on the ring as fits. */
void pvf_vbd_split_feed(struct pvf_vbd_queue *queue);
/* A request of a split I/O was answered; true when its I/O is complete and *done is filled. */
bool pvf_vbd_split_answer(struct pvf_vbd_queue *queue, uint32_t slot, int status, struct pvf_vbd_done *done);
/* Takes away what is not on the ring yet; true when that completes the I/O. */
bool pvf_vbd_split_abandon(struct pvf_vbd_queue *queue, uint32_t split, int status, struct pvf_vbd_done *done);

/* vbd_submit.c, vbd_reap.c: what the fast path leaves to others; each leaves the gate (submit_any does not). */
int pvf_vbd_submit_any(struct pvf_vbd_queue *queue, const struct pvf_vbd_io *ios, uint32_t n, uint32_t done);
int pvf_vbd_submit_slowly(struct pvf_vbd_queue *queue, const struct pvf_vbd_io *ios, uint32_t n, uint32_t mode);
int pvf_vbd_reap_slowly(struct pvf_vbd_queue *queue, struct pvf_vbd_done *done, uint32_t max, uint32_t n,
			uint32_t mode);

/* vbd_reap.c: takes responses from the ring without arming. The owner is inside the gate, or control has shut it. */
uint32_t pvf_vbd_take(struct pvf_vbd_queue *queue, struct pvf_vbd_done *done, uint32_t max);
/* Takes what the ring holds into the ended list, for a later reap. set_aside passes the gate, feeds and arms; true: more came. */
void pvf_vbd_take_aside(struct pvf_vbd_queue *queue);
bool pvf_vbd_set_aside(struct pvf_vbd_queue *queue);
/* Everything in flight ends with `status`; appended to the ended list. */
void pvf_vbd_end_all(struct pvf_vbd_queue *queue, int status);
/* What the failed check was, as a clause. */
void pvf_vbd_bad_text(const struct pvf_vbd_queue *queue, struct pvf_text *text);

/* Sets or clears one reason for the slow path. */
PVF_INLINE void vbd_slow(struct pvf_vbd_queue *queue, uint32_t reason, bool holds)
{
	uint32_t slow = pvf_load32(&queue->slow);

	pvf_store32(&queue->slow, holds ? slow | reason : slow & ~reason);
}

/* The ring is not to be looked at: something ended without it, or the peer was found out. */
PVF_INLINE bool vbd_off_ring(const struct pvf_vbd_queue *queue)
{
	return (pvf_load32(&queue->slow) & VBD_SLOW_NO_RING) != 0;
}

/* The long I/O that waits for room; control looks at the word too. */
PVF_INLINE void vbd_set_feeding(struct pvf_vbd_queue *queue, uint32_t split)
{
	pvf_store32_release(&queue->feeding, split);
	vbd_slow(queue, VBD_SLOW_FEEDING, split != VBD_NO_SPLIT);
}

/* A slot is free again, under its next id. The caller has checked that it is in use. */
PVF_INLINE void vbd_slot_free(struct pvf_vbd_queue *queue, uint32_t index)
{
	queue->slots[index].id += VBD_ID_GENERATION;
	queue->slots[index].want = VBD_WANT_NOTHING;
	queue->free_ids[queue->nr_free++] = (uint16_t)index;
}

/*
 * Makes every segment word of an entry from `pages` on zero. The ring starts zeroed and each entry remembers how many of
 * its words the last request used, so that nothing of it is left (XSA-216) and requests of one size write nothing twice.
 */
PVF_INLINE void vbd_clear_tail(volatile uint64_t *entry, uint8_t *used_words, uint32_t pages)
{
	for (uint32_t i = pages; i < *used_words; i++)
		PVF_RING_FILL(entry + VBD_HEADER_WORDS + i, 0);
	*used_words = (uint8_t)pages;
}

/* The I/Os in flight: simple ones are a slot each, split ones several or, while they wait for room, none. */
PVF_INLINE uint32_t vbd_in_flight(const struct pvf_vbd_queue *queue)
{
	return VBD_RING_ENTRIES - queue->nr_free - queue->split_slots + queue->split_active;
}

/*
 * Shows what was filled; the owner is inside the gate. Returns 1 when the backend was notified. Counted after the barrier,
 * which would wait for these stores too.
 */
PVF_INLINE int vbd_push(struct pvf_vbd_queue *queue)
{
	uint32_t before = queue->ring.published;
	bool notify = pvf_ring_push(&queue->ring);

	queue->statistics.pushes++;
	queue->statistics.requests += queue->ring.published - before;
	if (!notify)
		return 0;
	queue->statistics.notifications++;
	queue->host->ops->evtchn_notify(queue->host->ctx, queue->port);
	return 1;
}

/* vbd_statistics.c */
/* Events of the backend since the ring started: the device's own mark the queue too. */
uint32_t pvf_vbd_events(const struct pvf_vbd_queue *queue);
void pvf_vbd_count_latency(struct pvf_vbd_queue *queue, uint64_t nanoseconds);

#endif
