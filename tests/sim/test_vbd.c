/* SPDX-License-Identifier: MIT */
/* The data path: what a well-behaved backend and a well-behaved owner see of it. */
#include "fixture.h"

#include <stdlib.h>
#include <string.h>

static uint8_t *bytes(size_t n)
{
	uint8_t *memory = calloc(1, n);

	assert_non_null(memory);
	return memory;
}

/* ---- long, unaligned ---- */

static void one_completion_for_64_mib(void **state)
{
	struct fx *fx = *state;
	const uint32_t size = 64u << 20;
	uint8_t *memory;

	fx_start(fx, &(struct fx_options){.bytes = size, .persistent = true});
	memory = bytes(size);
	assert_int_equal(fx_read(fx, 0, memory, size), PVF_OK);
	assert_int_equal(pvf_vbd_in_flight(fx->queue), 0);
	assert_true(fx_is_pattern(memory, 0, size));
	for (uint32_t i = 0; i < size; i++)
		memory[i] ^= 0xffu;
	assert_int_equal(fx_write(fx, 0, memory, size), PVF_OK);
	memset(memory, 0, size);
	assert_int_equal(fx->disk.read(fx->disk.ctx, 0, memory, size), PVF_OK);
	for (uint32_t i = 0; i < size; i++)
		if ((memory[i] ^ fx_pattern(i)) != 0xff)
			fail();
	assert_int_equal(fx_statistics(fx).reads, 1);
	assert_int_equal(fx_statistics(fx).writes, 1);
	assert_int_equal(fx_statistics(fx).split, 2);
	/* 45056 bytes a request, all of it bounced. */
	assert_int_equal(fx_statistics(fx).requests, 2u * ((size + 45055u) / 45056u));
	free(memory);
	fx_end(fx);
}

static void every_offset_of_memory(void **state)
{
	static const uint32_t lengths[] = {512, 1024, 4096, 4608, 45056, 45568, 131072, 1u << 20};
	struct fx *fx = *state;
	uint8_t *memory = bytes((1u << 20) + 1024u), *disk = bytes(1u << 20);

	fx_start(fx, &(struct fx_options){.persistent = true});
	for (uint32_t offset = 0; offset < 512; offset++) {
		/* Every offset with each short length; the long ones take turns. */
		for (uint32_t i = 0; i < 8; i++) {
			uint32_t length = lengths[i], sector = (offset * 5u + i * 3u) % 1024u;

			if (length > 5000u && offset % 4u != i % 4u)
				continue;
			memset(memory, 0xee, length + 1024u);
			assert_int_equal(fx_read(fx, sector, memory + offset, length), PVF_OK);
			if (offset)
				assert_int_equal(memory[offset - 1u], 0xee);
			assert_int_equal(memory[offset + length], 0xee);
			assert_int_equal(fx->disk.read(fx->disk.ctx, sector * 512u, disk, length), PVF_OK);
			assert_int_equal(memcmp(memory + offset, disk, length), 0);
			memory[offset] ^= 0x55;
			memory[offset + length - 1u] ^= 0xaa;
			assert_int_equal(fx_write(fx, sector, memory + offset, length), PVF_OK);
			assert_int_equal(fx->disk.read(fx->disk.ctx, sector * 512u, disk, length), PVF_OK);
			assert_int_equal(memcmp(memory + offset, disk, length), 0);
		}
	}
	free(memory);
	free(disk);
	fx_end(fx);
}

/* ---- the ring ---- */

static void indices_wrap(void **state)
{
	struct fx *fx = *state;
	struct pvf_vbd_options vbd = PVF_VBD_OPTIONS;
	const uint32_t requests = 66000;
	uint32_t submitted = 0, completed = 0;
	struct pvf_seg buffer;

	vbd.ring_start = 0xfffffff0u;
	fx_start(fx, &(struct fx_options){.persistent = true, .vbd = vbd});
	buffer = fx_buffer(fx, 512);
	while (completed < requests) {
		struct pvf_vbd_io io = {.op = PVF_VBD_READ, .segs = &buffer, .nr_segs = 1};
		struct pvf_vbd_done done[32];
		int n;

		while (submitted < requests && pvf_vbd_submit(fx->queue, &io, 1) == 1)
			submitted++;
		(void)pvf_vbd_push(fx->queue);
		n = pvf_vbd_wait(fx->queue, done, 32, fx_now(fx) + 20000 * FX_MS);
		assert_in_range(n, 1, 32);
		for (int i = 0; i < n; i++)
			assert_int_equal(done[i].status, PVF_OK);
		completed += (uint32_t)n;
	}
	assert_int_equal(fx_statistics(fx).responses, requests);
	assert_true(fx_is_pattern(buffer.base, 0, 512));
	pvf_vbd_release(fx->queue, &buffer);
	fx_end(fx);
}

/* FIELD-BUGS 6 (win-xenvbd 4d149b6): what does not fit is refused whole, nothing is lost, and it goes on. */
static void full_ring_refuses_and_goes_on(void **state)
{
	struct fx *fx = *state;
	struct fx_tally tally = {0};
	struct pvf_vbd_io ios[33];
	struct pvf_seg buffer, segs[33];

	fx_start(fx, &(struct fx_options){.persistent = true});
	buffer = fx_buffer(fx, 33u * 4096u);
	for (uint32_t i = 0; i < 33; i++) {
		segs[i] = buffer;
		segs[i].offset = i * 4096u;
		segs[i].length = 4096u;
		ios[i] = (struct pvf_vbd_io){
			.op = PVF_VBD_READ, .sector = i * 8u, .segs = &segs[i], .nr_segs = 1, .user = fx_user(i)};
	}
	assert_int_equal(pvf_vbd_submit(fx->queue, ios, 33), 32);
	assert_int_equal(pvf_vbd_submit(fx->queue, ios + 32, 1), PVF_AGAIN);
	assert_int_equal(pvf_vbd_in_flight(fx->queue), 32);
	(void)pvf_vbd_push(fx->queue);
	while (pvf_vbd_submit(fx->queue, ios + 32, 1) != 1) {
		struct pvf_vbd_done done[1];

		assert_int_equal(pvf_vbd_wait(fx->queue, done, 1, fx_now(fx) + 20000 * FX_MS), 1);
		fx_note(&tally, done, 1);
	}
	assert_int_equal(tally.total, 1);
	(void)pvf_vbd_push(fx->queue);
	fx_drain(fx, &tally, 20000);
	fx_each_once(&tally, 33);
	assert_true(fx_is_pattern(buffer.base, 0, 33u * 4096u));
	pvf_vbd_release(fx->queue, &buffer);
	fx_end(fx);
}

/* FIELD-BUGS 8 (win-xenvbd 8277cdf): the answer is there before the frontend has gone on. */
static void answers_before_push_returns(void **state)
{
	struct fx *fx = *state;
	struct fx_tally tally = {0};
	struct pvf_seg buffer;

	fx_start(fx, &(struct fx_options){.persistent = true, .fault = "early"});
	buffer = fx_buffer(fx, 32u * 4096u);
	for (uint32_t round = 0; round < 10; round++) {
		memset(&tally, 0, sizeof(tally));
		assert_int_equal(fx_submit_reads(fx, &buffer, 0, 1 + round * 3u), 1 + round * 3u);
		fx_drain(fx, &tally, 20000);
		fx_each_once(&tally, 1 + round * 3u);
		for (uint32_t i = 0; i < tally.total; i++)
			assert_int_equal(tally.status[i], PVF_OK);
	}
	pvf_vbd_release(fx->queue, &buffer);
	fx_end(fx);
}

/*
 * FIELD-BUGS 4 (win-xenvif e8bfdb0): however reap is left, an event comes for what arrives later, or it said there is more.
 * A wait that is never woken would end in its deadline.
 */
static void armed_on_every_exit(void **state)
{
	struct fx *fx = *state;
	struct pvf_seg buffer;
	uint64_t seed = 4;

	fx_start(fx, &(struct fx_options){.persistent = true});
	buffer = fx_buffer(fx, 32u * 4096u);
	for (uint32_t round = 0; round < 300; round++) {
		uint32_t n = 1 + fx_below(&seed, 32), taken = 0;
		struct pvf_vbd_done done[32];

		assert_int_equal(fx_submit_reads(fx, &buffer, 0, n), n);
		while (taken < n) {
			uint32_t max = 1 + fx_below(&seed, 32);
			uint32_t sequence = pvf_event_sequence(pvf_vbd_queue_event(fx->queue));
			int got = pvf_vbd_reap(fx->queue, done, max);

			assert_in_range(got, 0, max);
			taken += (uint32_t)got;
			if ((uint32_t)got < max && taken < n)
				assert_int_equal(fx->host->ops->wait(fx->host->ctx, pvf_vbd_queue_event(fx->queue),
								     sequence, fx_now(fx) + 20000 * FX_MS),
						 PVF_OK);
		}
	}
	pvf_vbd_release(fx->queue, &buffer);
	fx_end(fx);
}

/* FIELD-BUGS 10: an event that is lost costs a deadline, not the request. */
static void lost_event_recovers_by_reap(void **state)
{
	struct fx *fx = *state;
	struct fx_tally tally = {0};
	struct pvf_vbd_done done[4];
	struct pvf_seg buffer;
	int n = 0;

	fx_start(fx, &(struct fx_options){.persistent = true});
	buffer = fx_buffer(fx, 4096);
	fx_faults(fx, (struct pvf_sim_faults){.lose_events = 1});
	assert_int_equal(fx_submit_reads(fx, &buffer, 0, 1), 1);
	for (uint32_t i = 0; i < 1000 && n == 0; i++) {
		fx_rest(fx);
		n = pvf_vbd_reap(fx->queue, done, 4);
	}
	assert_int_equal(n, 1);
	fx_note(&tally, done, 1);
	fx_each_once(&tally, 1);
	assert_int_equal(tally.status[0], PVF_OK);
	fx_faults(fx, (struct pvf_sim_faults){0});
	assert_int_equal(fx_read(fx, 0, buffer.base, 512), PVF_OK);
	pvf_vbd_release(fx->queue, &buffer);
	fx_end(fx);
}

static void events_that_come_twice_or_late(void **state)
{
	struct fx *fx = *state;
	struct fx_tally tally = {0};
	struct pvf_seg buffer;

	fx_start(fx, &(struct fx_options){.persistent = true, .fault = "double-notify"});
	buffer = fx_buffer(fx, 32u * 4096u);
	fx_faults(fx, (struct pvf_sim_faults){.double_events = 20, .late_events = 20});
	for (uint32_t round = 0; round < 20; round++) {
		memset(&tally, 0, sizeof(tally));
		assert_int_equal(fx_submit_reads(fx, &buffer, 0, 16), 16);
		fx_drain(fx, &tally, 20000);
		fx_each_once(&tally, 16);
	}
	pvf_vbd_release(fx->queue, &buffer);
	fx_end(fx);
}

/* ---- refusals: an error, and nothing sent ---- */

static int submit(struct fx *fx, uint32_t op, uint64_t sector, struct pvf_seg *segs, uint32_t n)
{
	struct pvf_vbd_io io = {.op = op, .sector = sector, .segs = segs, .nr_segs = n};

	return pvf_vbd_submit(fx->queue, &io, 1);
}

static void bad_arguments_send_nothing(void **state)
{
	struct fx *fx = *state;
	uint8_t *memory = bytes(8192);
	struct pvf_seg plain = PVF_SEG_OF(memory, 4096), empty = PVF_SEG_OF(memory, 0), odd = PVF_SEG_OF(memory, 513);
	struct pvf_seg nowhere = PVF_SEG_OF(NULL, 512), pool, wrong;
	uint64_t sectors;

	fx_start(fx, &(struct fx_options){.sector_size = 1024});
	sectors = fx->bytes / 512u;
	pool = fx_buffer(fx, 4096);
	assert_int_equal(submit(fx, PVF_VBD_READ, 0, &empty, 1), PVF_INVALID);
	assert_int_equal(submit(fx, PVF_VBD_READ, 0, NULL, 0), PVF_INVALID);
	assert_int_equal(submit(fx, PVF_VBD_READ, 0, &nowhere, 1), PVF_INVALID);
	assert_int_equal(submit(fx, 2, 0, &plain, 1), PVF_INVALID);
	assert_int_equal(submit(fx, 77, 0, &plain, 1), PVF_INVALID);
	assert_int_equal(submit(fx, PVF_VBD_FLUSH, 0, &plain, 1), PVF_INVALID);
	assert_int_equal(submit(fx, PVF_VBD_WRITE, 0, &odd, 1), PVF_ALIGN);
	assert_int_equal(submit(fx, PVF_VBD_WRITE, 1, &plain, 1), PVF_ALIGN); /* 512 is no sector of this disk */
	plain.length = 512;
	assert_int_equal(submit(fx, PVF_VBD_WRITE, 0, &plain, 1), PVF_ALIGN);
	plain.length = 4096;
	assert_int_equal(submit(fx, PVF_VBD_READ, sectors, &plain, 1), PVF_RANGE);
	assert_int_equal(submit(fx, PVF_VBD_READ, sectors - 6u, &plain, 1), PVF_RANGE);
	assert_int_equal(submit(fx, PVF_VBD_WRITE, UINT64_MAX - 1u, &plain, 1), PVF_RANGE);
	assert_int_equal(submit(fx, PVF_VBD_READ, sectors, &pool, 1), PVF_RANGE);
	assert_int_equal(submit(fx, PVF_VBD_READ, UINT64_MAX - 1u, &pool, 1), PVF_RANGE);
	/* Beyond the buffer: offset, length, both so large that a sum wraps. */
	wrong = pool;
	wrong.length = 8192;
	assert_int_equal(submit(fx, PVF_VBD_READ, 0, &wrong, 1), PVF_INVALID);
	wrong.length = 1024;
	wrong.offset = 4096;
	assert_int_equal(submit(fx, PVF_VBD_READ, 0, &wrong, 1), PVF_INVALID);
	wrong.offset = 0xfffffc00u;
	assert_int_equal(submit(fx, PVF_VBD_READ, 0, &wrong, 1), PVF_INVALID);
	wrong = pool;
	wrong.tag = PVF_SEG_HOST;
	assert_int_equal(submit(fx, PVF_VBD_READ, 0, &wrong, 1), PVF_UNSUPPORTED);
	wrong.tag = pool.tag + 4u; /* of another life */
	assert_int_equal(submit(fx, PVF_VBD_READ, 0, &wrong, 1), PVF_STALE);
	assert_int_equal(pvf_vbd_in_flight(fx->queue), 0);
	assert_int_equal(pvf_vbd_push(fx->queue), 0);
	fx_rest(fx);
	assert_int_equal(fx_statistics(fx).requests, 0);
	assert_int_equal(fx_counters(fx).reads + fx_counters(fx).writes + fx_counters(fx).flushes, 0);
	/* The first that is wrong ends the batch; those before it are taken. */
	assert_int_equal(fx_io(fx, PVF_VBD_READ, 0, &pool, 1), PVF_OK);
	pvf_vbd_release(fx->queue, &pool);
	assert_int_equal(pool.pages, 0);
	pvf_vbd_release(fx->queue, &pool); /* emptied: nothing happens */
	free(memory);
	fx_end(fx);
}

static void read_only_device(void **state)
{
	static const char *const mode_r[] = {"mode=r"};
	struct fx *fx = *state;
	uint8_t memory[1024];
	struct pvf_vbd_info info;
	struct pvf_seg pool;

	for (uint32_t by_mode = 0; by_mode < 2; by_mode++) {
		fx_start(fx, &(struct fx_options){
				     .read_only = !by_mode, .keys = by_mode ? mode_r : NULL, .nr_keys = by_mode});
		assert_int_equal(pvf_vbd_info(fx->vbd, &info), PVF_OK);
		assert_true(info.read_only);
		pool = fx_buffer(fx, 512);
		assert_int_equal(fx_write(fx, 0, memory, 1024), PVF_READ_ONLY);
		assert_int_equal(fx_io(fx, PVF_VBD_WRITE, 0, &pool, 1), PVF_READ_ONLY);
		assert_int_equal(fx_read(fx, 2, memory, 1024), PVF_OK);
		assert_true(fx_is_pattern(memory, 1024, 1024));
		assert_int_equal(fx_counters(fx).writes, 0);
		pvf_vbd_release(fx->queue, &pool);
		fx_end(fx);
	}
}

static void flush_that_is_not_offered(void **state)
{
	static const char *const keys[] = {"feature-flush-cache="};
	struct fx *fx = *state;

	fx_start(fx, &(struct fx_options){.keys = keys, .nr_keys = 1});
	assert_int_equal(fx_flush(fx), PVF_UNSUPPORTED);
	assert_int_equal(fx_counters(fx).flushes, 0);
	fx_end(fx);
}

/* The backend's own errors: the one request, whichever part of it, and no other. */
static void errors_of_the_backend(void **state)
{
	struct fx *fx = *state;
	uint8_t *memory = bytes(300000);
	struct pvf_seg pool;

	fx_start(fx, &(struct fx_options){.persistent = true, .fault = "error@1"});
	pool = fx_buffer(fx, 4096);
	assert_int_equal(fx_io(fx, PVF_VBD_READ, 0, &pool, 1), PVF_IO);
	assert_int_equal(fx_io(fx, PVF_VBD_READ, 0, &pool, 1), PVF_OK);
	assert_int_equal(pvf_sim_vbd_fault(fx->half, "unsupported@1"), PVF_OK);
	assert_int_equal(fx_flush(fx), PVF_UNSUPPORTED);
	assert_int_equal(fx_flush(fx), PVF_OK);
	/* The third of the seven requests of a long I/O: one completion, with the error. */
	assert_int_equal(pvf_sim_vbd_fault(fx->half, "error@3"), PVF_OK);
	assert_int_equal(fx_read(fx, 0, memory, 299520), PVF_IO);
	assert_int_equal(pvf_vbd_in_flight(fx->queue), 0);
	assert_int_equal(fx_read(fx, 0, memory, 299520), PVF_OK);
	assert_true(fx_is_pattern(memory, 0, 299520));
	assert_int_equal(fx_statistics(fx).errors, 3);
	assert_int_equal(fx_statistics(fx).bad_responses, 0);
	pvf_vbd_release(fx->queue, &pool);
	free(memory);
	fx_end(fx);
}

/* ---- buffers ---- */

static void buffers_come_and_go(void **state)
{
	struct fx *fx = *state;
	struct pvf_seg segs[64];
	uint64_t seed = 9;

	memset(segs, 0, sizeof(segs));
	fx_machine(fx, &(struct fx_options){.persistent = true});
	fx_open(fx);
	/* Whose pages they are to be is not known before the first connect. */
	assert_int_equal(pvf_vbd_buffer(fx->queue, 4096, &segs[0]), PVF_CLOSED);
	fx_connect(fx);
	assert_int_equal(pvf_vbd_buffer(fx->queue, 0, &segs[0]), PVF_INVALID);
	assert_int_equal(pvf_vbd_buffer(fx->queue, UINT32_MAX, &segs[0]), PVF_INVALID);
	for (uint32_t round = 0; round < 2000; round++) {
		uint32_t i = fx_below(&seed, 64), size = 1 + fx_below(&seed, fx_below(&seed, 8) ? 70000 : 700000);

		if (segs[i].pages) {
			/* Nobody else has written to it meanwhile. */
			assert_int_equal(*(uint32_t *)segs[i].base, i);
			assert_int_equal(((uint8_t *)segs[i].base)[segs[i].length - 1u], i & 0xffu);
			pvf_vbd_release(fx->queue, &segs[i]);
			continue;
		}
		if (pvf_vbd_buffer(fx->queue, size, &segs[i]) != PVF_OK)
			continue;
		assert_int_equal(segs[i].length, size);
		assert_int_equal(segs[i].pages, (size + 4095u) / 4096u);
		((uint8_t *)segs[i].base)[size - 1u] = (uint8_t)i;
		if (size > 4)
			*(uint32_t *)segs[i].base = i;
		else
			pvf_vbd_release(fx->queue, &segs[i]);
	}
	for (uint32_t i = 0; i < 64; i++)
		pvf_vbd_release(fx->queue, &segs[i]);
	fx_end(fx);
}

static void buffers_run_out(void **state)
{
	struct fx *fx = *state;
	struct pvf_seg seg, held[64];
	uint32_t n = 0;
	uint8_t memory[512];

	fx_start(fx, &(struct fx_options){.persistent = true, .limits = {.domain_pages = 1024}});
	while (n < 64 && pvf_vbd_buffer(fx->queue, 65536, &held[n]) == PVF_OK)
		n++;
	assert_in_range(n, 8, 63);
	assert_true(pvf_vbd_buffer(fx->queue, 65536, &seg) < 0);
	assert_int_equal(fx_read(fx, 0, memory, 512), PVF_OK);
	while (n)
		pvf_vbd_release(fx->queue, &held[--n]);
	seg = fx_buffer(fx, 65536);
	pvf_vbd_release(fx->queue, &seg);
	fx_end(fx);
}

/* PERF P6: a run makes and ends no grant, and the backend of a persistent device maps each page once. */
static void no_grant_operations_in_a_run(void **state)
{
	struct fx *fx = *state;
	uint8_t *memory = bytes(65536);
	struct pvf_sim_held before, after;
	struct pvf_sim_vbd_counters first, last;
	struct pvf_seg pool;

	fx_start(fx, &(struct fx_options){.persistent = true});
	pool = fx_buffer(fx, 65536);
	for (uint32_t i = 0; i < 200; i++) {
		if (i == 100) {
			before = fx_held(fx->guest);
			first = fx_counters(fx);
		}
		pool.length = 4096;
		pool.offset = i % 16u * 4096u;
		assert_int_equal(fx_io(fx, i & 1u ? PVF_VBD_READ : PVF_VBD_WRITE, i * 8u, &pool, 1), PVF_OK);
		assert_int_equal(fx_read(fx, i * 8u, memory, 65536), PVF_OK);
	}
	after = fx_held(fx->guest);
	last = fx_counters(fx);
	assert_int_equal(fx_statistics(fx).grant_operations, 0);
	assert_int_equal(after.grants, before.grants);
	assert_int_equal(last.grant_maps, first.grant_maps);
	assert_int_equal(last.grant_unmaps, first.grant_unmaps);
	pool.length = 65536;
	pvf_vbd_release(fx->queue, &pool);
	free(memory);
	fx_end(fx);
}

static const struct pvf_test tests[] = {
	FX_BOTH(one_completion_for_64_mib, "V06", "a request of 64 MiB is split and completes once"),
	FX_BOTH(every_offset_of_memory, "V10",
		"memory at every offset 0 to 511 is read and written, 512 bytes to 1 MiB"),
	FX_BOTH(indices_wrap, "V01", "66000 requests on a ring that starts at 0xfffffff0"),
	FX_BOTH(full_ring_refuses_and_goes_on, "V01", "a full ring takes 32 of 33, refuses the last, and goes on"),
	FX_BOTH(answers_before_push_returns, "V01 V32",
		"a backend that answers before push has returned is reaped once"),
	FX_BOTH(armed_on_every_exit, "V31", "however reap is left, an event comes for what arrives later"),
	FX_BOTH(lost_event_recovers_by_reap, "V31", "a lost event costs no request: the next reap finds it"),
	FX_BOTH(events_that_come_twice_or_late, "V31", "events that come twice or late change nothing"),
	FX_BOTH(bad_arguments_send_nothing, "V01 V10",
		"a wrong range, alignment, length or segment is refused and nothing is sent"),
	FX_BOTH(read_only_device, "V01", "a read-only device refuses writes, and reads"),
	FX_BOTH(flush_that_is_not_offered, "V01", "a flush the backend does not offer is refused"),
	FX_BOTH(errors_of_the_backend, "V01 V06", "an error of the backend ends that I/O, once, and no other"),
	FX_BOTH(buffers_come_and_go, "V01", "buffers of any size come and go and never overlap"),
	FX_BOTH(buffers_run_out, "V01", "when the domain has no pages left a buffer is refused and I/O goes on"),
	FX_BOTH(no_grant_operations_in_a_run, "V01", "a run makes no grant operation on either side"),
};

int main(void)
{
	return pvf_run_tests("sim", tests, sizeof(tests) / sizeof(tests[0]));
}
