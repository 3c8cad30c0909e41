/* SPDX-License-Identifier: MIT */
/* Event, spin and poll at queue depth 1, and the statistics of both sides. */
#include "fixture.h"

#include <stdlib.h>
#include <string.h>

/* ---- V31 ---- */

#define IOS 400u

static struct fx_options mode(uint32_t flags, uint32_t spin)
{
	struct fx_options options = {.persistent = true, .vbd = PVF_VBD_OPTIONS};

	options.vbd.flags = flags;
	options.vbd.spin = spin;
	return options;
}

/* One at a time: what it cost the two sides beyond the request itself. */
static void at_depth_1(struct fx *fx, uint32_t spin)
{
	struct fx_options options = mode(0, spin);
	struct pvf_vbd_statistics s;
	struct pvf_sim_vbd_counters c;
	struct pvf_seg buffer;

	fx_start(fx, &options);
	buffer = fx_buffer(fx, 4096);
	for (uint32_t i = 0; i < IOS; i++) {
		uint64_t begin = fx_now(fx);

		assert_int_equal(fx_io(fx, i & 1u, i, &buffer, 1), PVF_OK);
		/* No timer is in the path: the simulated clock would have jumped to it. */
		if (fx->stepped)
			assert_true(fx_now(fx) - begin < FX_MS);
	}
	for (uint32_t i = 0; i < 4; i++)
		fx_rest(fx);
	s = fx_statistics(fx);
	c = fx_counters(fx);
	assert_int_equal(s.requests, IOS);
	assert_int_equal(s.pushes, IOS);
	assert_in_range(s.notifications, 0, IOS);
	assert_in_range(s.events, 0, IOS);
	assert_in_range(s.sleeps, 0, 2u * IOS);
	if (fx->stepped)
		assert_true(s.sleeps >= IOS);
	assert_int_equal(c.events, s.notifications);
	assert_int_equal(c.notifications, s.events);
	pvf_vbd_release(fx->queue, &buffer);
	fx_end(fx);
}

static void event_mode(void **state)
{
	at_depth_1(*state, 0);
}

static void spin_mode(void **state)
{
	at_depth_1(*state, 100000);
}

static void poll_mode(void **state)
{
	struct fx *fx = *state;
	struct fx_options options = mode(PVF_VBD_POLL, 0);
	struct pvf_seg buffer;

	fx_start(fx, &options);
	buffer = fx_buffer(fx, 32u * 4096u);
	for (uint32_t i = 0; i < IOS; i++) {
		uint32_t depth = 1 + i % 4u, taken = 0;

		assert_int_equal(fx_submit_reads(fx, &buffer, 0, depth), depth);
		while (taken < depth) {
			struct pvf_vbd_done done[8];

			taken += (uint32_t)pvf_vbd_reap(fx->queue, done, 8);
			if (taken < depth)
				(void)pvf_sim_step(fx->sim);
		}
	}
	assert_int_equal(fx_counters(fx).notifications, 0);
	assert_int_equal(fx_statistics(fx).events, 0);
	assert_int_equal(fx_statistics(fx).sleeps, 0);
	pvf_vbd_release(fx->queue, &buffer);
	fx_end(fx);
}

/* In flight is 0 or not: reap of nothing, wait for nothing, push of nothing. */
static void nothing_to_wait_for(void **state)
{
	struct fx *fx = *state;
	struct pvf_vbd_done done[2];

	fx_start(fx, &(struct fx_options){0});
	assert_int_equal(pvf_vbd_reap(fx->queue, done, 2), 0);
	assert_int_equal(pvf_vbd_wait(fx->queue, done, 2, fx_now(fx) + 1000 * FX_MS), 0);
	assert_int_equal(pvf_vbd_wait(fx->queue, done, 0, 0), PVF_INVALID);
	assert_int_equal(pvf_vbd_push(fx->queue), 0);
	assert_int_equal(pvf_vbd_submit(fx->queue, NULL, 0), 0);
	assert_int_equal(fx_statistics(fx).pushes, 0);
	/* A deadline that passes leaves the request in flight. */
	assert_int_equal(pvf_sim_vbd_fault(fx->half, "stall@1"), PVF_OK);
	{
		struct fx_tally tally = {0};
		struct pvf_seg buffer = fx_buffer(fx, 4096);

		assert_int_equal(fx_submit_reads(fx, &buffer, 0, 1), 1);
		assert_int_equal(pvf_vbd_wait(fx->queue, done, 2, fx_now(fx) + 20 * FX_MS), PVF_TIMEOUT);
		assert_int_equal(pvf_vbd_in_flight(fx->queue), 1);
		assert_int_equal(pvf_sim_vbd_restart_backend(fx->half), PVF_OK);
		fx_drain(fx, &tally, 20000);
		fx_each_once(&tally, 1);
		assert_int_equal(tally.status[0], PVF_RESET);
		pvf_vbd_release(fx->queue, &buffer);
	}
	assert_true(fx_reaches(fx, PVF_PHASE_CONNECTED, 5000));
	fx_end(fx);
}

/* ---- V30 ---- */

#define DEPTH 20u

struct timed {
	uint64_t before, after; /* the clock around submit */
	struct pvf_seg seg;
};

/* What the library measured lies between what can be measured just inside and just outside of it. */
struct bounds {
	uint64_t inner, outer;
};

static void submit_timed(struct fx *fx, struct timed *one, uint32_t op, uint64_t sector)
{
	struct pvf_vbd_io io = {
		.op = op, .sector = sector, .segs = &one->seg, .nr_segs = op == PVF_VBD_FLUSH ? 0 : 1, .user = one};

	one->before = fx_now(fx);
	assert_int_equal(pvf_vbd_submit(fx->queue, &io, 1), 1);
	one->after = fx_now(fx);
}

static void reap_timed(struct fx *fx, struct bounds *bounds)
{
	uint32_t left = DEPTH;

	while (left) {
		struct pvf_vbd_done done[DEPTH];
		uint64_t before = fx_now(fx), after;
		int n = pvf_vbd_wait(fx->queue, done, DEPTH, before + 20000 * FX_MS);

		after = fx_now(fx);
		assert_in_range(n, 1, DEPTH);
		for (int i = 0; i < n; i++) {
			const struct timed *one = done[i].user;

			assert_int_equal(done[i].status, PVF_OK);
			bounds->outer += after - one->before;
			bounds->inner += before > one->after ? before - one->after : 0;
		}
		left -= (uint32_t)n;
	}
}

static void statistics_of_both_sides_agree(void **state)
{
	struct fx *fx = *state;
	struct fx_options options = mode(PVF_VBD_TIMING, 0);
	static uint32_t histogram[PVF_LATENCY_BUCKETS];
	struct pvf_vbd_statistics s;
	struct pvf_sim_vbd_counters c;
	struct timed ios[DEPTH];
	struct bounds bounds = {0, 0};
	uint64_t seed = 30, count = 0, begin, took, at_least = 0;
	uint8_t *memory = calloc(DEPTH, 131072);
	struct pvf_seg pool;

	assert_non_null(memory);
	fx_start(fx, &options);
	pool = fx_buffer(fx, DEPTH * 4096u);
	begin = fx_now(fx);
	for (uint32_t round = 0; round < 30; round++) {
		for (uint32_t i = 0; i < DEPTH; i++) {
			uint32_t kind = fx_below(&seed, 12);

			ios[i].seg = pool;
			ios[i].seg.offset = i * 4096u;
			ios[i].seg.length = 4096u;
			if (kind >= 8)
				ios[i].seg = PVF_SEG_OF(memory + i * 131072u, 512u * (1 + fx_below(&seed, 64)));
			submit_timed(fx, &ios[i], kind == 0 ? PVF_VBD_FLUSH : kind & 1u, i * 300u);
			if (i % 5u == 0)
				(void)pvf_vbd_push(fx->queue);
		}
		(void)pvf_vbd_push(fx->queue);
		reap_timed(fx, &bounds);
	}
	took = fx_now(fx) - begin;
	for (uint32_t i = 0; i < 4; i++)
		fx_rest(fx);
	pvf_vbd_statistics(fx->queue, &s, histogram);
	c = fx_counters(fx);
	assert_int_equal(s.reads + s.writes + s.flushes, 30u * DEPTH);
	assert_int_equal(s.latency_count, 30u * DEPTH);
	/* min <= average <= max, and Little's law: the sum of latencies is the time-integral of what was in flight. */
	assert_true(s.latency_min > 0);
	assert_true(s.latency_min * s.latency_count <= s.latency_sum);
	assert_true(s.latency_sum <= s.latency_max * s.latency_count);
	assert_true(s.latency_max <= took);
	assert_true(s.latency_sum <= took * DEPTH);
	assert_in_range(s.latency_sum, bounds.inner, bounds.outer);
	/* The histogram holds each once, in a bucket whose edges are around it. */
	for (uint32_t i = 0; i < PVF_LATENCY_BUCKETS; i++) {
		count += histogram[i];
		if (histogram[i] && i) {
			assert_true(pvf_latency_bucket_ns(i) >= s.latency_min);
			assert_true(pvf_latency_bucket_ns(i - 1u) < s.latency_max);
			at_least += histogram[i] * pvf_latency_bucket_ns(i - 1u);
		}
	}
	assert_int_equal(count, s.latency_count);
	assert_true(at_least <= s.latency_sum);
	/* The other side saw the same. */
	assert_int_equal(s.requests, c.reads + c.writes + c.flushes);
	assert_int_equal(s.responses, s.requests);
	assert_int_equal(s.segments, c.segments);
	assert_int_equal(s.bytes_read, c.bytes_read);
	assert_int_equal(s.bytes_written, c.bytes_written);
	assert_int_equal(s.notifications, c.events);
	assert_int_equal(s.events, c.notifications);
	assert_int_equal(s.errors, 0);
	assert_int_equal(s.bad_responses, 0);
	assert_true(s.notifications <= s.pushes);
	pvf_vbd_release(fx->queue, &pool);
	free(memory);
	fx_end(fx);
}

static const struct pvf_test tests[] = {
	FX_BOTH(event_mode, "V31",
		"by event at depth 1: at most one notification and one event an I/O, no timer in the path"),
	FX_BOTH(spin_mode, "V31", "spinning at depth 1: at most one notification and one event an I/O"),
	FX_BOTH(poll_mode, "V31", "polling: the backend sends no notification at all"),
	FX_BOTH(nothing_to_wait_for, "V31",
		"waiting for nothing returns at once; a deadline leaves the request in flight"),
	FX_BOTH(statistics_of_both_sides_agree, "V30",
		"statistics obey min <= average <= max and Little's law, and equal the backend's"),
};

int main(void)
{
	return pvf_run_tests("sim", tests, sizeof(tests) / sizeof(tests[0]));
}
