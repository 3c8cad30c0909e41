/* SPDX-License-Identifier: MIT */
/*
 * The oracle: random reads, writes and flushes of every alignment and length, many in flight, against a plain copy of the
 * disk in memory. A run follows from its seed. What is in flight never overlaps what a write in flight touches: what comes
 * of that is the disk's choice, not the library's.
 *
 *   PVF_SEEDS       how many seeds each test runs
 *   PVF_FIRST_SEED  where they begin (also PVF_SEED)
 *   PVF_LONG        1: as many as fit in a minute and a half
 */
#include "fixture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define DISK_BYTES (6u << 20)
#define MOST_DEPTH 64u
#define MOST_SEGS 12u
#define LONGEST (3u << 20)
#define GUARD 32u
#define GUARD_BYTE 0xa5u
#define POOL_BYTES 65536u
#define POOL_BUFFERS 24u
#define OPERATIONS 70u
#define PATIENCE_MS 60000u
#define LONG_SECONDS 90

struct operation {
	bool busy;
	uint32_t op;
	uint64_t offset; /* on the disk, bytes */
	uint32_t bytes;
	struct pvf_seg segs[MOST_SEGS];
	uint32_t nr_segs;
	uint8_t *plain; /* the memory that PLAIN segments lie in, with guards between them */
	size_t plain_bytes;
	uint8_t *guards; /* a byte for each of `plain`: 1 where it must stay GUARD_BYTE */
	int pool;        /* the buffer of POOL segments; -1: none */
};

struct oracle {
	struct fx *fx;
	uint64_t seed;
	uint32_t sector_size;
	uint32_t depth;
	uint8_t *model;
	struct operation ops[MOST_DEPTH];
	struct pvf_seg pool[POOL_BUFFERS];
	bool pool_busy[POOL_BUFFERS];
	uint32_t in_flight;
	uint64_t reads, writes, flushes;
};

static uint32_t below(struct oracle *o, uint32_t n)
{
	return fx_below(&o->seed, n);
}

/* ---- one operation's memory ---- */

static void random_bytes(struct oracle *o, uint8_t *memory, uint32_t bytes)
{
	uint64_t word = fx_random(&o->seed);

	for (uint32_t i = 0; i < bytes; i++) {
		if (i % 64u == 0)
			word = fx_random(&o->seed);
		memory[i] = (uint8_t)((word >> (i % 8u * 8u)) + i);
	}
}

static uint32_t random_length(struct oracle *o)
{
	uint32_t sectors;

	switch (below(o, 12)) {
	case 0:
		sectors = 1;
		break;
	case 1:
	case 2:
	case 3:
		sectors = 1 + below(o, 16);
		break;
	case 4:
		sectors = 84 + below(o, 10); /* around eleven pages */
		break;
	case 5:
		sectors = 1 + below(o, below(o, 4) == 0 ? LONGEST / 512u : 1024u);
		break;
	default:
		sectors = 1 + below(o, 100);
		break;
	}
	sectors *= 512u;
	return (sectors + o->sector_size - 1u) & ~(o->sector_size - 1u);
}

/* A cut of `bytes` into pieces: mostly any lengths, now and then an empty one. */
static uint32_t cut(struct oracle *o, uint32_t bytes, uint32_t *pieces)
{
	uint32_t n = 1 + below(o, MOST_SEGS - 1u), left = bytes;

	for (uint32_t i = 0; i + 1 < n; i++) {
		uint32_t most = left < 20000u ? left : 20000u;

		pieces[i] = below(o, 8) == 0 ? 0 : below(o, most + 1u);
		if (below(o, 3) == 0)
			pieces[i] &= ~511u;
		left -= pieces[i];
	}
	pieces[n - 1u] = left;
	return n;
}

static int free_pool(struct oracle *o)
{
	uint32_t start = below(o, POOL_BUFFERS);

	for (uint32_t i = 0; i < POOL_BUFFERS; i++) {
		uint32_t at = (start + i) % POOL_BUFFERS;

		if (!o->pool_busy[at] && o->pool[at].pages)
			return (int)at;
	}
	return -1;
}

/* One POOL segment at a sector's offset: what the fast path takes when it is short enough. */
static bool make_pool(struct oracle *o, struct operation *op)
{
	uint32_t room;

	op->pool = op->bytes <= POOL_BYTES ? free_pool(o) : -1;
	if (op->pool < 0)
		return false;
	room = (POOL_BYTES - op->bytes) / o->sector_size;
	op->segs[0] = o->pool[op->pool];
	op->segs[0].offset = below(o, room + 1u) * o->sector_size;
	op->segs[0].length = op->bytes;
	op->nr_segs = 1;
	return true;
}

/* PLAIN memory at any byte, or several segments of both kinds in any order. */
static void make_list(struct oracle *o, struct operation *op, bool mixed)
{
	uint32_t pieces[MOST_SEGS] = {0}, pool_at = 0;
	uint32_t plain_at = GUARD;

	op->nr_segs = 1;
	pieces[0] = op->bytes;
	if (mixed)
		op->nr_segs = cut(o, op->bytes, pieces);
	op->pool = mixed ? free_pool(o) : -1;
	op->plain_bytes = op->bytes + (size_t)(op->nr_segs + 1u) * (GUARD + 512u);
	op->plain = malloc(op->plain_bytes);
	op->guards = malloc(op->plain_bytes);
	assert_non_null(op->plain);
	assert_non_null(op->guards);
	memset(op->plain, GUARD_BYTE, op->plain_bytes);
	memset(op->guards, 1, op->plain_bytes);
	for (uint32_t i = 0; i < op->nr_segs; i++) {
		uint32_t gap = below(o, 3) == 0 ? (0u - pool_at) & 511u : below(o, 600);

		if (op->pool >= 0 && below(o, 2) && pool_at + gap + pieces[i] <= POOL_BYTES) {
			op->segs[i] = o->pool[op->pool];
			op->segs[i].offset = pool_at + gap;
			op->segs[i].length = pieces[i];
			pool_at += gap + pieces[i];
			continue;
		}
		plain_at += below(o, 512);
		op->segs[i] = PVF_SEG_OF(op->plain, pieces[i]);
		op->segs[i].offset = plain_at;
		memset(op->guards + plain_at, 0, pieces[i]);
		plain_at += pieces[i] + GUARD;
	}
}

/* ---- submitting ---- */

static bool overlaps(const struct oracle *o, uint64_t offset, uint32_t bytes, uint32_t kind)
{
	for (uint32_t i = 0; i < o->depth; i++) {
		const struct operation *op = &o->ops[i];

		if (!op->busy || op->op == PVF_VBD_FLUSH || (op->op == PVF_VBD_READ && kind == PVF_VBD_READ))
			continue;
		if (offset < op->offset + op->bytes && op->offset < offset + bytes)
			return true;
	}
	return false;
}

static void fill(struct oracle *o, struct operation *op)
{
	uint64_t at = op->offset;

	for (uint32_t i = 0; i < op->nr_segs; i++) {
		uint8_t *memory = pvf_seg_data(&op->segs[i]);

		random_bytes(o, memory, op->segs[i].length);
		memcpy(o->model + at, memory, op->segs[i].length);
		at += op->segs[i].length;
	}
}

/* A random operation that overlaps nothing in flight; false when none was found. */
static bool choose(struct oracle *o, struct operation *op)
{
	uint32_t kind = below(o, 20), disk_sectors = DISK_BYTES / o->sector_size;

	memset(op, 0, sizeof(*op));
	op->pool = -1;
	op->op = kind == 0 ? PVF_VBD_FLUSH : kind < 10 ? PVF_VBD_READ : PVF_VBD_WRITE;
	if (op->op == PVF_VBD_FLUSH)
		return true;
	for (uint32_t tries = 0; tries < 20; tries++) {
		uint32_t sectors;

		op->bytes = random_length(o);
		sectors = op->bytes / o->sector_size;
		op->offset = (uint64_t)below(o, disk_sectors - sectors + 1u) * o->sector_size;
		if (below(o, 16) == 0)
			op->offset = (uint64_t)(disk_sectors - sectors) * o->sector_size; /* up to the very end */
		if (!overlaps(o, op->offset, op->bytes, op->op))
			return true;
	}
	return false;
}

static void make(struct oracle *o, struct operation *op)
{
	if (op->op == PVF_VBD_FLUSH)
		return;
	if (below(o, 2) || !make_pool(o, op))
		make_list(o, op, below(o, 2));
	if (op->pool >= 0)
		o->pool_busy[op->pool] = true;
	if (op->op == PVF_VBD_WRITE)
		fill(o, op);
}

/* ---- completions ---- */

static void check_memory(const struct oracle *o, const struct operation *op)
{
	uint64_t at = op->offset;

	for (uint32_t i = 0; i < op->nr_segs; i++) {
		const struct pvf_seg *seg = &op->segs[i];

		if (memcmp(pvf_seg_data(seg), o->model + at, seg->length) != 0)
			print_error("%s of %u bytes at %u: segment %u of %u (%s, offset %u, length %u) is wrong\n",
				    op->op == PVF_VBD_READ ? "read" : "write", (unsigned)op->bytes,
				    (unsigned)op->offset, (unsigned)i, (unsigned)op->nr_segs,
				    (seg->tag & PVF_SEG_KIND_MASK) == PVF_SEG_POOL ? "POOL" : "PLAIN",
				    (unsigned)seg->offset, (unsigned)seg->length);
		assert_int_equal(memcmp(pvf_seg_data(seg), o->model + at, seg->length), 0);
		at += seg->length;
	}
	for (size_t i = 0; i < op->plain_bytes; i++)
		if (op->guards[i])
			assert_int_equal(op->plain[i], GUARD_BYTE);
}

static void complete(struct oracle *o, const struct pvf_vbd_done *done)
{
	struct operation *op = done->user;

	assert_true(op >= o->ops && op < o->ops + MOST_DEPTH);
	assert_true(op->busy);
	assert_int_equal(done->status, PVF_OK);
	check_memory(o, op);
	o->reads += op->op == PVF_VBD_READ;
	o->writes += op->op == PVF_VBD_WRITE;
	o->flushes += op->op == PVF_VBD_FLUSH;
	if (op->pool >= 0)
		o->pool_busy[op->pool] = false;
	free(op->plain);
	free(op->guards);
	op->busy = false;
	o->in_flight--;
}

/* Some completions: now and then only a look, else at least one. */
static void reap(struct oracle *o)
{
	struct fx *fx = o->fx;
	struct pvf_vbd_done done[MOST_DEPTH];
	uint32_t max = 1 + below(o, MOST_DEPTH);
	int n = pvf_vbd_reap(fx->queue, done, max);

	if (n == 0 && (o->in_flight == o->depth || below(o, 2))) {
		(void)pvf_vbd_push(fx->queue);
		n = pvf_vbd_wait(fx->queue, done, max, fx_now(fx) + PATIENCE_MS * FX_MS);
	}
	if (n < 0)
		print_error("wait: %s: %s\n", pvf_status_name(n), pvf_vbd_error(fx->vbd));
	assert_in_range(n, 0, max);
	for (int i = 0; i < n; i++)
		complete(o, &done[i]);
	assert_int_equal(pvf_vbd_in_flight(fx->queue), o->in_flight);
}

/* ---- a run ---- */

/* A batch of new operations, as many as there is depth for; returns how many. */
static uint32_t submit(struct oracle *o, uint32_t most)
{
	struct pvf_vbd_io ios[MOST_DEPTH];
	uint32_t n = 0, taken = 0;

	for (uint32_t i = 0; i < o->depth && n < most; i++) {
		struct operation *op = &o->ops[i];

		if (op->busy)
			continue;
		if (!choose(o, op))
			break;
		make(o, op);
		op->busy = true;
		o->in_flight++;
		ios[n] = (struct pvf_vbd_io){.op = op->op,
					     .sector = op->offset / 512u,
					     .segs = op->segs,
					     .nr_segs = op->nr_segs,
					     .user = op};
		n++;
	}
	while (taken < n) {
		int status = pvf_vbd_submit(o->fx->queue, ios + taken, n - taken);
		struct pvf_vbd_done done[MOST_DEPTH];
		int reaped;

		if (status > 0) {
			taken += (uint32_t)status;
			continue;
		}
		assert_int_equal(status, PVF_AGAIN);
		(void)pvf_vbd_push(o->fx->queue);
		reaped = pvf_vbd_wait(o->fx->queue, done, MOST_DEPTH, fx_now(o->fx) + PATIENCE_MS * FX_MS);
		if (reaped < 0)
			print_error("wait: %s: %s\n", pvf_status_name(reaped), pvf_vbd_error(o->fx->vbd));
		assert_in_range(reaped, 1, MOST_DEPTH);
		for (int i = 0; i < reaped; i++)
			complete(o, &done[i]);
	}
	if (below(o, 8))
		(void)pvf_vbd_push(o->fx->queue);
	return n;
}

static void start(struct oracle *o, uint64_t seed)
{
	static const uint32_t starts[] = {0, 0xfffffff0u, 0x7ffffff0u};
	static const uint32_t bounces[] = {0, 11, 24, 100};
	static const char *const faults[] = {NULL, "shuffle@3", "early", "double-notify", "shuffle@99"};
	struct fx_options options = {
		.seed = seed,
		.bytes = DISK_BYTES,
		.sector_size = 512u << below(o, 4),
		.persistent = below(o, 2),
		.fault = faults[below(o, 5)],
		.limits = {.domain_pages = 2048},
		.vbd = PVF_VBD_OPTIONS,
	};

	o->sector_size = options.sector_size;
	options.vbd.persistent = below(o, 4) != 0;
	options.vbd.ring_start = starts[below(o, 3)];
	options.vbd.bounce_pages = bounces[below(o, 4)];
	options.vbd.flags = below(o, 2) ? PVF_VBD_TIMING : 0;
	options.vbd.spin = below(o, 2) ? 0 : 200;
	o->depth = below(o, 3) == 0 ? 1 + below(o, MOST_DEPTH) : 1u << below(o, 7);
	fx_start(o->fx, &options);
	for (uint32_t i = 0; i < POOL_BUFFERS; i++)
		o->pool[i] = fx_buffer(o->fx, POOL_BYTES);
	o->model = malloc(DISK_BYTES);
	assert_non_null(o->model);
	assert_int_equal(o->fx->disk.read(o->fx->disk.ctx, 0, o->model, DISK_BYTES), PVF_OK);
}

/* The whole disk, the counters of both sides, and nothing left. */
static void finish(struct oracle *o)
{
	struct pvf_vbd_statistics s = fx_statistics(o->fx);
	struct pvf_sim_vbd_counters c = fx_counters(o->fx);
	uint8_t *disk = malloc(DISK_BYTES);

	assert_non_null(disk);
	assert_int_equal(o->fx->disk.read(o->fx->disk.ctx, 0, disk, DISK_BYTES), PVF_OK);
	assert_int_equal(memcmp(disk, o->model, DISK_BYTES), 0);
	free(disk);
	free(o->model);
	assert_int_equal(s.reads, o->reads);
	assert_int_equal(s.writes, o->writes);
	assert_int_equal(s.flushes, o->flushes);
	assert_int_equal(s.errors, 0);
	assert_int_equal(s.requests, s.responses);
	assert_int_equal(s.requests, c.reads + c.writes + c.flushes);
	assert_int_equal(s.segments, c.segments);
	assert_int_equal(s.bytes_read, c.bytes_read);
	assert_int_equal(s.bytes_written, c.bytes_written);
	assert_int_equal(s.grant_operations, 0);
	assert_int_equal(c.refused, 0);
	for (uint32_t i = 0; i < POOL_BUFFERS; i++)
		pvf_vbd_release(o->fx->queue, &o->pool[i]);
	fx_end(o->fx);
}

static void run(struct fx *fx, uint64_t seed)
{
	struct oracle o = {.fx = fx, .seed = seed};
	uint32_t done = 0;

	start(&o, seed);
	while (done < OPERATIONS) {
		done += submit(&o, 1 + below(&o, 16));
		reap(&o);
	}
	while (o.in_flight) {
		(void)pvf_vbd_push(fx->queue);
		reap(&o);
	}
	finish(&o);
}

static void run_seeds(struct fx *fx, uint64_t seeds)
{
	uint64_t first = fx_setting("PVF_FIRST_SEED", fx_setting("PVF_SEED", 1));
	time_t begin = time(NULL), end = begin;

	if (fx_setting("PVF_LONG", 0)) {
		seeds = UINT32_MAX;
		end += LONG_SECONDS;
	}
	seeds = fx_setting("PVF_SEEDS", seeds);
	for (uint64_t seed = first; seed < first + seeds && (end == begin || time(NULL) < end); seed++) {
		/* A test that fails shows what it printed: the last seed is the one. */
		print_message("again with: PVF_FIRST_SEED=%llu PVF_SEEDS=1\n", (unsigned long long)seed);
		run(fx, seed);
	}
}

static void agrees_stepped(void **state)
{
	run_seeds(*state, 200);
}

static void agrees_threaded(void **state)
{
	run_seeds(*state, 20);
}

static const struct pvf_test tests[] = {
	FX_STEPPED(
		agrees_stepped, "V01 V06 V10",
		"random reads, writes and flushes of every alignment and length agree with a plain copy of the disk"),
	FX_THREADED(
		agrees_threaded, "V01 V06 V10",
		"random reads, writes and flushes of every alignment and length agree with a plain copy of the disk"),
};

int main(void)
{
	return pvf_run_tests("sim", tests, sizeof(tests) / sizeof(tests[0]));
}
