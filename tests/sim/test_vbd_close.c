/* SPDX-License-Identifier: MIT */
/* Closing: with I/O in flight, by force, again and again. Every request completes once and nothing is left. */
#include "fixture.h"

#include <stdlib.h>
#include <string.h>

/* ---- V22 ---- */

static void close_lets_io_in_flight_finish(void **state)
{
	struct fx *fx = *state;
	struct fx_tally tally = {0};
	struct pvf_seg buffer;
	uint64_t begin;

	for (uint32_t n = 1; n <= 32; n += 31) {
		memset(&tally, 0, sizeof(tally));
		fx_start(fx, &(struct fx_options){.persistent = true, .seed = n});
		buffer = fx_buffer(fx, 32u * 4096u);
		assert_int_equal(fx_submit_reads(fx, &buffer, 0, n), n);
		begin = fx_now(fx);
		assert_int_equal(pvf_vbd_disconnect(fx->vbd), PVF_OK);
		assert_int_equal(pvf_vbd_phase(fx->vbd), PVF_PHASE_CLOSED);
		/* It waited for the answers, not for a deadline. */
		assert_true(fx_now(fx) - begin < 500 * FX_MS);
		fx_drain(fx, &tally, 1000);
		fx_each_once(&tally, n);
		for (uint32_t i = 0; i < n; i++)
			assert_int_equal(tally.status[i], PVF_OK);
		assert_true(fx_is_pattern(buffer.base, 0, n * 4096u));
		assert_int_equal(fx_submit_reads(fx, &buffer, 0, 1), 0);
		pvf_vbd_release(fx->queue, &buffer);
		fx_end(fx);
	}
}

/* The backend answers nothing any more: the phase's deadline ends the wait, and each request ends, once. */
static void forced_close_of_a_stalled_backend(void **state)
{
	struct fx *fx = *state;
	struct fx_tally tally = {0};
	struct pvf_seg buffer;
	struct pvf_vbd_options vbd = PVF_VBD_OPTIONS;
	uint64_t begin;

	vbd.phase_ms = 200;
	fx_start(fx, &(struct fx_options){.persistent = true, .fault = "stall@5", .vbd = vbd});
	buffer = fx_buffer(fx, 32u * 4096u);
	assert_int_equal(fx_submit_reads(fx, &buffer, 0, 20), 20);
	begin = fx_now(fx);
	assert_int_equal(pvf_vbd_disconnect(fx->vbd), PVF_OK);
	assert_in_range(fx_now(fx) - begin, 150 * FX_MS, 2000 * FX_MS);
	fx_drain(fx, &tally, 1000);
	fx_each_once(&tally, 20);
	for (uint32_t i = 0; i < 20; i++)
		assert_int_equal(tally.status[i], i < 4 ? PVF_OK : PVF_CLOSED);
	pvf_vbd_release(fx->queue, &buffer);
	fx_end(fx);
}

/* A long I/O is not on the ring as a whole: the part that is not must end too. */
static void close_in_the_middle_of_a_long_request(void **state)
{
	struct fx *fx = *state;
	struct fx_tally tally = {0};
	struct pvf_vbd_options vbd = PVF_VBD_OPTIONS;
	uint8_t *memory = malloc(4u << 20);
	struct pvf_seg seg = PVF_SEG_OF(memory, 4u << 20);
	struct pvf_vbd_io io = {.op = PVF_VBD_READ, .segs = &seg, .nr_segs = 1, .user = fx_user(0)};

	vbd.phase_ms = 200;
	fx_start(fx, &(struct fx_options){.persistent = true, .fault = "stall@40", .vbd = vbd});
	assert_int_equal(pvf_vbd_submit(fx->queue, &io, 1), 1);
	(void)pvf_vbd_push(fx->queue);
	assert_int_equal(pvf_vbd_disconnect(fx->vbd), PVF_OK);
	fx_drain(fx, &tally, 1000);
	fx_each_once(&tally, 1);
	assert_int_equal(tally.status[0], PVF_CLOSED);
	fx_end(fx);
	free(memory);
}

/* Close alone: what is in flight is nobody's any more, but its pages and grants go all the same. */
static void close_without_a_reap(void **state)
{
	struct fx *fx = *state;
	struct pvf_seg buffer;

	/* Many times: whether the answers are there when it looks first is chance, and it must not wait for a deadline. */
	for (uint64_t seed = 1; seed <= 60; seed++) {
		uint64_t begin;

		fx_start(fx, &(struct fx_options){.persistent = true, .seed = seed});
		buffer = fx_buffer(fx, 32u * 4096u);
		assert_int_equal(fx_submit_reads(fx, &buffer, 0, 32), 32);
		begin = fx_now(fx);
		assert_int_equal(fx_close(fx), PVF_OK);
		assert_true(fx_now(fx) - begin < FX_PHASE_MS * FX_MS / 2u);
		fx_end(fx);
	}
}

static void close_of_what_was_never_connected(void **state)
{
	struct fx *fx = *state;
	struct fx_options options = {.fault = "silent-init", .vbd = PVF_VBD_OPTIONS};

	options.vbd.phase_ms = 100;
	fx_machine(fx, &options);
	fx_open(fx);
	assert_int_equal(pvf_vbd_disconnect(fx->vbd), PVF_OK);
	fx_end(fx);
	fx_machine(fx, &options);
	fx_open(fx);
	assert_int_equal(pvf_vbd_connect(fx->vbd), PVF_TIMEOUT);
	fx_end(fx);
	/* The owner changes his mind while the backend is waited for. */
	fx_machine(fx, &options);
	fx_open(fx);
	pvf_vbd_want(fx->vbd, PVF_WANT_UP);
	(void)pvf_vbd_advance(fx->vbd);
	assert_int_equal(pvf_vbd_phase(fx->vbd), PVF_PHASE_WAITING);
	fx_end(fx);
}

static void fifty_connects_leave_nothing(void **state)
{
	struct fx *fx = *state;
	struct pvf_sim_held first, last;
	uint8_t memory[5000];
	uint32_t nodes = 0;

	memset(&first, 0, sizeof(first));
	fx_machine(fx, &(struct fx_options){.persistent = true});
	fx_open(fx);
	for (uint32_t i = 0; i < 50; i++) {
		fx_connect(fx);
		assert_int_equal(fx_read(fx, i, memory + i, 4608), PVF_OK);
		assert_true(fx_is_pattern(memory + i, i * 512u, 4608));
		assert_int_equal(pvf_vbd_disconnect(fx->vbd), PVF_OK);
		fx_rest(fx);
		last = fx_held(fx->guest);
		if (i == 0) {
			first = last;
			nodes = pvf_sim_store_count(fx->sim);
		}
		assert_int_equal(last.grants, 0);
		assert_int_equal(last.ports, 0);
		assert_int_equal(last.pages, 0);
		assert_int_equal(last.watches, first.watches);
		assert_int_equal(last.memory, first.memory);
		assert_int_equal(pvf_sim_store_count(fx->sim), nodes);
	}
	fx_end(fx);
	/* And with open and close as well. */
	fx_machine(fx, &(struct fx_options){.persistent = true});
	for (uint32_t i = 0; i < 20; i++) {
		fx_open(fx);
		fx_connect(fx);
		assert_int_equal(fx_close(fx), PVF_OK);
		fx_rest(fx);
		fx_nothing_held(fx, fx->guest);
	}
	fx_end(fx);
}

/* FIELD-BUGS 51 (win-xenvif 5f56143): what is answered while the device closes completes once, with its own status. */
static void answers_that_come_while_closing(void **state)
{
	struct fx *fx = *state;
	struct pvf_seg buffer;

	for (uint64_t seed = 1; seed <= 40; seed++) {
		struct fx_tally tally = {0};
		uint32_t n;

		fx_start(fx, &(struct fx_options){.persistent = seed & 1u, .seed = seed});
		buffer = fx_buffer(fx, 32u * 4096u);
		n = fx_submit_reads(fx, &buffer, 0, 1 + (uint32_t)seed % 32u);
		for (uint32_t i = 0; i < seed % 7u; i++)
			(void)pvf_sim_step(fx->sim);
		pvf_vbd_want(fx->vbd, PVF_WANT_DOWN);
		/* Reaping and closing in turn, on one thread. */
		for (uint32_t i = 0; i < 200000 && pvf_vbd_phase(fx->vbd) != PVF_PHASE_CLOSED; i++) {
			struct pvf_vbd_done done[3];
			uint64_t wake = pvf_vbd_advance(fx->vbd);
			uint32_t sequence = pvf_event_sequence(pvf_vbd_event(fx->vbd));

			fx_note(&tally, done, (uint32_t)pvf_vbd_reap(fx->queue, done, 3));
			if (!fx->stepped || !pvf_sim_step(fx->sim))
				(void)fx->host->ops->wait(fx->host->ctx, pvf_vbd_event(fx->vbd), sequence,
							  wake < fx_now(fx) + FX_MS ? wake : fx_now(fx) + FX_MS);
		}
		assert_int_equal(pvf_vbd_phase(fx->vbd), PVF_PHASE_CLOSED);
		fx_drain(fx, &tally, 1000);
		fx_each_once(&tally, n);
		for (uint32_t i = 0; i < n; i++)
			assert_int_equal(tally.status[i], PVF_OK);
		pvf_vbd_release(fx->queue, &buffer);
		fx_end(fx);
	}
}

/* ---- pages that the backend keeps ---- */

/* XSA-396: a page that the peer still maps is parked, counted, and never handed out again until the peer lets go. */
static void xsa396_kept_pages_are_parked(void **state)
{
	struct fx *fx = *state;
	struct pvf_seg buffer;
	struct pvf_sim_held held;
	uint32_t parked;

	fx_start(fx, &(struct fx_options){.persistent = true, .fault = "keep-grants"});
	buffer = fx_buffer(fx, 32u * 4096u);
	assert_int_equal(fx_io(fx, PVF_VBD_READ, 0, &buffer, 1), PVF_OK);
	pvf_vbd_release(fx->queue, &buffer);
	assert_int_equal(fx_close(fx), PVF_PAGE_HELD);
	parked = fx->host->parking->pages;
	held = fx_held(fx->guest);
	assert_true(parked >= 32);
	assert_int_equal(held.parked, parked);
	assert_int_equal(held.pages, parked);
	assert_true(held.grants_mapped >= 32);
	/* A new life gets other pages, and the parked ones stay what they are. */
	fx_open(fx);
	fx_connect(fx);
	buffer = fx_buffer(fx, 4096);
	memset(buffer.base, 0x77, 4096);
	assert_int_equal(fx_io(fx, PVF_VBD_READ, 0, &buffer, 1), PVF_OK);
	assert_true(fx->host->parking->pages >= parked);
	pvf_vbd_release(fx->queue, &buffer);
	assert_int_equal(fx_close(fx), PVF_PAGE_HELD);
	assert_true(pvf_host_unpark(fx->host) > parked);
	pvf_sim_vbd_kill_backend(fx->half);
	assert_int_equal(pvf_host_unpark(fx->host), 0);
	fx_end(fx);
}

static const struct pvf_test tests[] = {
	FX_BOTH(close_lets_io_in_flight_finish, "V22",
		"closing waits for what is in flight, and each request completes once"),
	FX_BOTH(forced_close_of_a_stalled_backend, "V22 X05",
		"a backend that answers nothing cannot keep the device: each request ends once"),
	FX_BOTH(close_in_the_middle_of_a_long_request, "V22 V06",
		"closing ends a long request once, with the part that was never sent"),
	FX_BOTH(close_without_a_reap, "V22", "closing with a full ring and no reap leaves nothing"),
	FX_BOTH(close_of_what_was_never_connected, "V22 X05", "a device that never connected can be closed"),
	FX_BOTH(fifty_connects_leave_nothing, "V22 X01", "fifty connects and closes leave nothing"),
	FX_BOTH(answers_that_come_while_closing, "V22", "answers that come while the device closes complete once"),
	FX_BOTH(xsa396_kept_pages_are_parked, "V22",
		"XSA-396: pages that the backend keeps are parked, counted, and come back when it dies"),
};

int main(void)
{
	return pvf_run_tests("sim", tests, sizeof(tests) / sizeof(tests[0]));
}
