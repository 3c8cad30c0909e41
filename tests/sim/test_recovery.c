/* SPDX-License-Identifier: MIT */
/* What happens when the other side goes away under I/O, when the guest is resumed, and when the host itself fails. */
#include "fixture.h"

#include <pvfront/wire/xenbus.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void intact(struct fx *fx)
{
	uint8_t memory[9216];

	assert_int_equal(fx_read(fx, 17, memory, sizeof(memory)), PVF_OK);
	assert_true(fx_is_pattern(memory, 17 * 512, sizeof(memory)));
}

/* ---- the backend goes away at its Nth request ---- */

/* Reads in flight when it happens: each ends once, as `lost` or well; returns how many were lost. */
static uint32_t lose_reads(struct fx *fx, struct pvf_seg *buffer, int lost)
{
	struct fx_tally tally = {0};
	uint32_t n = fx_submit_reads(fx, buffer, 0, 24), losses = 0;

	assert_int_equal(n, 24);
	fx_drain(fx, &tally, 20000);
	fx_each_once(&tally, n);
	for (uint32_t i = 0; i < n; i++) {
		if (tally.status[i] != PVF_OK && tally.status[i] != lost)
			print_error("request %u ended with %s\n", (unsigned)i, pvf_status_name(tally.status[i]));
		assert_true(tally.status[i] == PVF_OK || tally.status[i] == lost);
		losses += tally.status[i] == lost;
	}
	return losses;
}

static void comes_back_by_itself(struct fx *fx, const char *const faults[3])
{
	for (uint32_t i = 0; i < 3; i++) {
		struct pvf_seg buffer;
		uint8_t data[2048];

		memset(data, (int)(0x30u + i), sizeof(data));
		fx_start(fx, &(struct fx_options){.persistent = i & 1u, .seed = i});
		buffer = fx_buffer(fx, 32u * 4096u);
		assert_int_equal(fx_write(fx, 1000, data, sizeof(data)), PVF_OK);
		assert_int_equal(fx_flush(fx), PVF_OK);
		assert_int_equal(pvf_sim_vbd_fault(fx->half, faults[i]), PVF_OK);
		assert_true(lose_reads(fx, &buffer, PVF_RESET) > 0);
		assert_int_equal(pvf_sim_vbd_fault(fx->half, NULL), PVF_OK);
		assert_true(fx_reaches(fx, PVF_PHASE_CONNECTED, 5000));
		/* The buffer of before is as good as it was, and what was flushed is there. */
		buffer.offset = 0;
		buffer.length = 2048;
		assert_int_equal(fx_io(fx, PVF_VBD_READ, 1000, &buffer, 1), PVF_OK);
		assert_memory_equal(buffer.base, data, sizeof(data));
		intact(fx);
		pvf_vbd_release(fx->queue, &buffer);
		fx_end(fx);
	}
}

static void backend_restarts(void **state)
{
	comes_back_by_itself(*state, (const char *const[]){"restart@1", "restart@9", "restart@24"});
}

static void backend_jumps_to_closed(void **state)
{
	comes_back_by_itself(*state, (const char *const[]){"closed@1", "closed@9", "closed@24"});
}

/* It dies without a word; whoever starts it anew says so by its state. */
static void backend_dies_and_is_restarted(void **state)
{
	struct fx *fx = *state;

	for (uint32_t killed = 0; killed < 2; killed++) {
		struct fx_tally tally = {0};
		struct pvf_seg buffer;
		uint32_t losses = 0;

		fx_start(fx, &(struct fx_options){.persistent = true, .fault = killed ? "stall@5" : "die@5"});
		buffer = fx_buffer(fx, 32u * 4096u);
		assert_int_equal(fx_submit_reads(fx, &buffer, 0, 24), 24);
		for (uint32_t i = 0; i < 5; i++)
			fx_rest(fx);
		if (killed)
			pvf_sim_vbd_kill_backend(fx->half);
		assert_int_equal(pvf_sim_vbd_fault(fx->half, NULL), PVF_OK);
		assert_int_equal(pvf_sim_vbd_restart_backend(fx->half), PVF_OK);
		fx_drain(fx, &tally, 20000);
		fx_each_once(&tally, 24);
		for (uint32_t i = 0; i < 24; i++)
			losses += tally.status[i] == PVF_RESET;
		assert_true(losses >= 20);
		assert_true(fx_reaches(fx, PVF_PHASE_CONNECTED, 5000));
		intact(fx);
		pvf_vbd_release(fx->queue, &buffer);
		fx_end(fx);
	}
}

static void backend_vanishes(void **state)
{
	struct fx *fx = *state;
	struct pvf_seg buffer;

	fx_start(fx, &(struct fx_options){.persistent = true, .fault = "vanish@7"});
	buffer = fx_buffer(fx, 32u * 4096u);
	assert_true(lose_reads(fx, &buffer, PVF_BROKEN) > 0);
	assert_int_equal(pvf_vbd_phase(fx->vbd), PVF_PHASE_BROKEN);
	assert_non_null(strstr(pvf_vbd_error(fx->vbd), "has vanished"));
	assert_int_equal(fx_submit_reads(fx, &buffer, 0, 1), 0);
	assert_int_equal(pvf_sim_vbd_fault(fx->half, NULL), PVF_OK);
	assert_int_equal(pvf_sim_vbd_restart_backend(fx->half), PVF_OK);
	fx_connect(fx);
	intact(fx);
	pvf_vbd_release(fx->queue, &buffer);
	fx_end(fx);
}

/* A long request that is half on the ring when the backend restarts ends once. */
static void restart_under_a_long_request(void **state)
{
	struct fx *fx = *state;
	const uint32_t size = 3u << 20;
	uint8_t *memory = malloc(size);

	for (uint64_t seed = 1; seed <= 5; seed++) {
		char fault[24];

		snprintf(fault, sizeof(fault), "restart@%u", (unsigned)(seed * 12u));
		fx_start(fx, &(struct fx_options){.seed = seed, .fault = fault});
		assert_int_equal(fx_read(fx, 0, memory, size), PVF_RESET);
		assert_int_equal(pvf_vbd_in_flight(fx->queue), 0);
		assert_true(fx_reaches(fx, PVF_PHASE_CONNECTED, 5000));
		assert_int_equal(fx_read(fx, 0, memory, size), PVF_OK);
		assert_true(fx_is_pattern(memory, 0, size));
		fx_end(fx);
	}
	free(memory);
}

/* Another domain is another peer: the buffers of the old one are stale, and their pages are never shared with the new. */
static void moved_to_another_backend_domain(void **state)
{
	struct fx *fx = *state;
	struct pvf_sim_domain *driver;
	struct pvf_sim_vbd_options half = {.size = sizeof(half),
					   .frontend_domid = 1,
					   .backend_domid = 2,
					   .disk = &fx->disk,
					   .backend_persistent = true};
	struct pvf_seg old, new;

	fx_start(fx, &(struct fx_options){.persistent = true});
	old = fx_buffer(fx, 65536);
	memset(old.base, 0x42, 65536);
	assert_int_equal(fx_io(fx, PVF_VBD_WRITE, 128, &old, 1), PVF_OK);
	assert_int_equal(pvf_sim_domain_create(fx->sim, 2, &driver), PVF_OK);
	pvf_sim_vbd_detach(fx->half);
	assert_int_equal(pvf_sim_vbd_attach(fx->sim, &half, &fx->half), PVF_OK);
	(void)fx_reaches(fx, PVF_PHASE_BROKEN, 1000);
	fx_connect(fx);
	new = fx_buffer(fx, 65536);
	for (uint32_t i = 0; i < 65536; i++)
		if (((uint8_t *)new.base)[i] != 0)
			fail();
	assert_int_equal(fx_io(fx, PVF_VBD_READ, 128, &old, 1), PVF_STALE);
	assert_int_equal(fx_io(fx, PVF_VBD_READ, 128, &new, 1), PVF_OK);
	assert_int_equal(((uint8_t *)new.base)[65535], 0x42);
	pvf_vbd_release(fx->queue, &old);
	pvf_vbd_release(fx->queue, &new);
	intact(fx);
	assert_int_equal(fx_close(fx), PVF_OK);
	fx_rest(fx);
	pvf_sim_vbd_detach(fx->half);
	fx->half = NULL;
	fx_nothing_held(fx, driver);
	fx_nothing_held(fx, fx->guest);
	fx_destroy(fx);
}

/* ---- a device that a dead frontend left ---- */

static void taken_over_from_a_dead_guest(void **state)
{
	struct fx *fx = *state;
	struct pvf_seg buffer;

	for (uint64_t seed = 1; seed <= 4; seed++) {
		struct fx_options options = {.persistent = seed & 1u, .seed = seed, .vbd = PVF_VBD_OPTIONS};

		options.vbd.phase_ms = 500; /* the dead guest's own close has nobody to wait for */
		fx_start(fx, &options);
		buffer = fx_buffer(fx, 32u * 4096u);
		assert_int_equal(fx_submit_reads(fx, &buffer, 0, 20), 20);
		pvf_sim_domain_destroy(fx->guest);
		/* Its memory is the test's to give back; there is nobody left who could say goodbye. */
		(void)fx_close(fx);
		assert_int_equal(pvf_sim_domain_create(fx->sim, 1, &fx->guest), PVF_OK);
		fx->host = pvf_sim_domain_host(fx->guest);
		assert_string_equal(fx_frontend_key(fx, "state"), "4");
		fx_open(fx);
		fx_connect(fx);
		intact(fx);
		fx_end(fx);
	}
}

/* ---- suspend and resume ---- */

static void resume(struct fx *fx)
{
	uint32_t generation = pvf_sim_domain_resume(fx->guest);

	pvf_host_resumed(fx->host);
	pvf_vbd_resumed(fx->vbd, generation);
}

static void resumed_under_io(void **state)
{
	struct fx *fx = *state;

	for (uint64_t seed = 1; seed <= 8; seed++) {
		struct fx_tally tally = {0};
		struct pvf_seg buffer;
		uint8_t data[4096];

		memset(data, (int)seed, sizeof(data));
		fx_start(fx, &(struct fx_options){.persistent = seed & 1u, .seed = seed});
		buffer = fx_buffer(fx, 32u * 4096u);
		assert_int_equal(fx_submit_reads(fx, &buffer, 0, 24), 24);
		for (uint32_t i = 0; i < seed; i++)
			(void)pvf_sim_step(fx->sim);
		resume(fx);
		fx_drain(fx, &tally, 20000);
		fx_each_once(&tally, 24);
		/* Between the two halves of a resume the simulated backend, which lives on, finds pages it may not map. */
		for (uint32_t i = 0; i < 24; i++)
			assert_true(tally.status[i] == PVF_OK || tally.status[i] == PVF_RESET ||
				    (!fx->stepped && tally.status[i] == PVF_IO));
		assert_true(fx_reaches(fx, PVF_PHASE_CONNECTED, 5000));
		/* POOL buffers keep their address; their pages are granted anew. */
		memcpy(buffer.base, data, sizeof(data));
		buffer.length = sizeof(data);
		assert_int_equal(fx_io(fx, PVF_VBD_WRITE, 2000, &buffer, 1), PVF_OK);
		memset(buffer.base, 0, sizeof(data));
		assert_int_equal(fx_io(fx, PVF_VBD_READ, 2000, &buffer, 1), PVF_OK);
		assert_memory_equal(buffer.base, data, sizeof(data));
		intact(fx);
		resume(fx);
		assert_true(fx_reaches(fx, PVF_PHASE_CONNECTED, 5000));
		intact(fx);
		pvf_vbd_release(fx->queue, &buffer);
		fx_end(fx);
	}
}

static void resumed_in_every_phase(void **state)
{
	static const enum pvf_phase phases[] = {PVF_PHASE_IDLE, PVF_PHASE_WAITING, PVF_PHASE_LINKED,
						PVF_PHASE_CONNECTED, PVF_PHASE_CLOSED};
	struct fx *fx = *state;

	for (uint32_t i = 0; i < sizeof(phases) / sizeof(phases[0]); i++) {
		struct fx_options options = {.vbd = PVF_VBD_OPTIONS};

		options.vbd.phase_ms = 2000;
		options.fault = phases[i] == PVF_PHASE_WAITING  ? "silent-init"
				: phases[i] == PVF_PHASE_LINKED ? "silent-initwait"
								: NULL;
		fx_machine(fx, &options);
		fx_open(fx);
		if (phases[i] == PVF_PHASE_CLOSED)
			fx_connect(fx);
		if (phases[i] != PVF_PHASE_IDLE)
			pvf_vbd_want(fx->vbd, phases[i] == PVF_PHASE_CLOSED ? PVF_WANT_DOWN : PVF_WANT_UP);
		assert_true(fx_reaches(fx, phases[i], 1900));
		resume(fx);
		/* A backend that is let go only now must not find the keys of before the resume. */
		if (options.fault) {
			assert_int_equal(pvf_vbd_phase(fx->vbd), PVF_PHASE_RESUMING);
			assert_true(fx_reaches(fx, phases[i], 1900));
			fx_rest(fx);
		}
		assert_int_equal(pvf_sim_vbd_fault(fx->half, NULL), PVF_OK);
		fx_connect(fx);
		intact(fx);
		fx_end(fx);
	}
}

/* XSA-465 (netfront, CVE-2024-53240): resumed, cannot connect again, then removed. Nothing is touched twice or left. */
static void xsa465_resume_then_failure_then_close(void **state)
{
	struct fx *fx = *state;

	for (uint32_t way = 0; way < 4; way++) {
		struct fx_options options = {.persistent = true, .vbd = PVF_VBD_OPTIONS};
		struct fx_tally tally = {0};
		struct pvf_seg buffer;

		options.vbd.phase_ms = 200;
		fx_start(fx, &options);
		buffer = fx_buffer(fx, 32u * 4096u);
		assert_int_equal(fx_submit_reads(fx, &buffer, 0, 8), 8);
		resume(fx);
		if (way == 0)
			fx_remove_backend(fx, "");
		else if (way == 1)
			pvf_sim_vbd_kill_backend(fx->half);
		else if (way == 2)
			assert_int_equal(pvf_sim_vbd_fault(fx->half, "silent-initwait"), PVF_OK);
		else
			fx_faults(fx, (struct pvf_sim_faults){.fail_call = 3});
		assert_true(pvf_vbd_connect(fx->vbd) < 0);
		fx_drain(fx, &tally, 1000);
		fx_each_once(&tally, 8);
		pvf_vbd_release(fx->queue, &buffer);
		pvf_sim_vbd_kill_backend(fx->half);
		(void)pvf_vbd_disconnect(fx->vbd);
		(void)fx_close(fx);
		assert_int_equal(pvf_host_unpark(fx->host), 0);
		fx_end(fx);
	}
}

/* ---- every call of the host fails once ---- */

/* A life: connect, buffer, I/O, maybe a resume, close. Any of it may fail; nothing may crash, hang or be left. */
static void live(struct fx *fx, bool with_resume)
{
	struct pvf_seg buffer = {0};
	struct fx_tally tally = {0};
	uint8_t memory[6000];
	bool connected;
	int status;

	memset(memory, 0, sizeof(memory));
	if (pvf_vbd_open(fx->host, pvf_sim_vbd_path(fx->half), &fx->options, &fx->vbd) != PVF_OK) {
		assert_null(fx->vbd);
		return;
	}
	fx->queue = pvf_vbd_queue(fx->vbd, 0);
	if (pvf_vbd_connect(fx->vbd) != PVF_OK)
		assert_true(pvf_vbd_error(fx->vbd)[0] != 0);
	if (pvf_vbd_buffer(fx->queue, 8u * 4096u, &buffer) == PVF_OK) {
		(void)fx_submit_reads(fx, &buffer, 0, 8);
		if (with_resume) {
			resume(fx);
			(void)fx_reaches(fx, PVF_PHASE_CONNECTED, 400);
		}
		fx_drain(fx, &tally, 20000);
		fx_each_once(&tally, tally.total);
		/* What a buffer still reads is the disk, or it is refused. */
		buffer.offset = 0;
		buffer.length = 4096;
		memset(buffer.base, 0xdd, 4096);
		if (pvf_vbd_phase(fx->vbd) != PVF_PHASE_CONNECTED)
			(void)pvf_vbd_connect(fx->vbd);
		status = fx_io(fx, PVF_VBD_READ, 40, &buffer, 1);
		connected = pvf_vbd_phase(fx->vbd) == PVF_PHASE_CONNECTED;
		assert_true(!connected || status == PVF_OK || status == PVF_STALE);
		if (status == PVF_OK)
			assert_true(fx_is_pattern(buffer.base, 40 * 512, 4096));
	}
	status = fx_read(fx, 8, memory + 1, 5632);
	connected = pvf_vbd_phase(fx->vbd) == PVF_PHASE_CONNECTED;
	assert_true(!connected || status == PVF_OK);
	if (status == PVF_OK)
		assert_true(fx_is_pattern(memory + 1, 8 * 512, 5632));
	if (buffer.pages)
		pvf_vbd_release(fx->queue, &buffer);
}

static void fail_each_call(struct fx *fx, bool with_resume, uint32_t most)
{
	uint32_t n = 1;

	/* Until a life makes fewer calls than the one that is to fail. */
	for (bool reached = true; reached && n < most; n++) {
		uint32_t before;
		struct fx_options options = {.persistent = n & 1u, .seed = n, .vbd = PVF_VBD_OPTIONS};

		options.vbd.phase_ms = 300;
		options.vbd.bounce_pages = 22;
		fx_machine(fx, &options);
		before = pvf_sim_domain_calls(fx->guest);
		fx_faults(fx, (struct pvf_sim_faults){.fail_call = n});
		live(fx, with_resume);
		(void)fx_close(fx);
		fx_rest(fx);
		/* What could not be said to the backend it did not hear: it may still map something until it ends. */
		pvf_sim_vbd_kill_backend(fx->half);
		assert_int_equal(pvf_host_unpark(fx->host), 0);
		reached = pvf_sim_domain_calls(fx->guest) - before >= n;
		fx_end(fx);
	}
	assert_in_range(n, 20, most - 1u);
}

/* XSA-362, XSA-365: failures of our own side are error codes, never a crash or a leak. */
static void xsa365_each_host_call_fails(void **state)
{
	fail_each_call(*state, false, 400);
}

static void each_host_call_fails_around_a_resume(void **state)
{
	fail_each_call(*state, true, 400);
}

static const struct pvf_test tests[] = {
	FX_BOTH(backend_restarts, "X04 V22",
		"a backend that restarts under I/O: each request ends once, it reconnects, data is intact"),
	FX_BOTH(backend_jumps_to_closed, "X04 V22",
		"a backend that jumps to Closed under I/O: each request ends once, it reconnects"),
	FX_BOTH(backend_dies_and_is_restarted, "X04 V22",
		"a backend that dies and is started anew: each request ends once, it reconnects"),
	FX_BOTH(backend_vanishes, "X02 X04",
		"a backend that vanishes under I/O breaks the device; it can be connected again"),
	FX_BOTH(restart_under_a_long_request, "V06 X04",
		"a long request ends once when the backend restarts in the middle of it"),
	FX_BOTH(moved_to_another_backend_domain, "V01 X04",
		"in another backend domain the old buffers are stale and new ones are zeroed"),
	FX_BOTH(taken_over_from_a_dead_guest, "X04",
		"a device that a dead frontend left connected is reset first, then works"),
	FX_BOTH(resumed_under_io, "X04 V22",
		"a resume under I/O: each request ends once, it reconnects, buffers stay usable"),
	FX_BOTH(resumed_in_every_phase, "X04", "a resume in any phase: it connects again"),
	FX_BOTH(xsa465_resume_then_failure_then_close, "V22",
		"XSA-465: resumed, cannot connect again, closed: nothing is left"),
	FX_STEPPED(xsa365_each_host_call_fails, "V22 X07",
		   "XSA-365: each host call fails once: no crash, no hang, no leak, an error that says so"),
	FX_STEPPED(each_host_call_fails_around_a_resume, "V22 X07",
		   "each host call fails once around a resume: no crash, no hang, no leak"),
};

int main(void)
{
	return pvf_run_tests("sim", tests, sizeof(tests) / sizeof(tests[0]));
}
