/* SPDX-License-Identifier: MIT */
/* Control beside the data path: who is woken, what is remembered, and how long a store that fails or is silent can hold it. */
#include "fixture.h"

#include <pvfront/wire/xenbus.h>

#include <string.h>
#include <time.h>

/* ---- an owner that sleeps on its queue's event ---- */

/*
 * Both are this thread: the owner comes only when its event has fired, as one on a thread of its own would. Returns once the
 * device is in `phase`; true when the owner, whom submit had refused, was woken after that.
 */
static bool owner_is_woken(struct fx *fx, enum pvf_phase phase, bool kill)
{
	struct pvf_event *event = pvf_vbd_queue_event(fx->queue);
	uint64_t end = fx_now(fx) + 20000 * FX_MS;
	uint32_t slept_on = pvf_event_sequence(event) - 1u;
	bool refused = false;

	while (fx_now(fx) < end) {
		struct pvf_event *control = pvf_vbd_event(fx->vbd);
		uint32_t sequence = pvf_event_sequence(control);
		uint64_t wake = pvf_vbd_advance(fx->vbd);
		struct pvf_vbd_done done[4];

		if (refused && pvf_vbd_phase(fx->vbd) == phase)
			return pvf_event_sequence(event) != slept_on;
		if (pvf_event_sequence(event) != slept_on) {
			slept_on = pvf_event_sequence(event);
			(void)pvf_vbd_reap(fx->queue, done, 4);
			if (pvf_vbd_submit(fx->queue, &(struct pvf_vbd_io){.op = PVF_VBD_FLUSH}, 1) == PVF_AGAIN) {
				if (kill && !refused)
					pvf_sim_vbd_kill_backend(fx->half);
				refused = true;
			}
		}
		(void)fx->host->ops->wait(fx->host->ctx, control, sequence, wake < end ? wake : end);
	}
	fail_msg("the owner was %srefused and the device is %s", refused ? "" : "not ",
		 pvf_phase_name(pvf_vbd_phase(fx->vbd)));
	return false;
}

static void restart_wakes_the_owner(void **state)
{
	struct fx *fx = *state;

	for (uint32_t i = 0; i < 8; i++) {
		bool kill = i & 1u;
		struct fx_tally tally = {0};
		struct fx_options options = {
			.seed = i, .persistent = true, .fault = "restart@1", .vbd = PVF_VBD_OPTIONS};
		struct pvf_seg buffer;

		options.vbd.phase_ms = kill ? 300 : FX_PHASE_MS;
		fx_start(fx, &options);
		buffer = fx_buffer(fx, 4096);
		assert_int_equal(fx_submit_reads(fx, &buffer, 0, 1), 1);
		assert_true(owner_is_woken(fx, kill ? PVF_PHASE_BROKEN : PVF_PHASE_CONNECTED, kill));
		assert_int_equal(
			pvf_vbd_submit(fx->queue, &(struct pvf_vbd_io){.op = PVF_VBD_FLUSH, .user = fx_user(0)}, 1),
			kill ? PVF_BROKEN : 1);
		(void)pvf_vbd_push(fx->queue);
		fx_drain(fx, &tally, 5000);
		pvf_vbd_release(fx->queue, &buffer);
		fx_end(fx);
	}
}

/* ---- our own keys, which only the toolstack writes ---- */

static void own_keys_survive_a_restart(void **state)
{
	struct fx *fx = *state;
	struct pvf_vbd_info before, after;
	struct fx_tally tally = {0};
	struct pvf_seg buffer;

	fx_machine(fx, &(struct fx_options){.persistent = true});
	fx_set_frontend_key(fx, "trusted", "0");
	fx_open(fx);
	fx_connect(fx);
	assert_int_equal(pvf_vbd_info(fx->vbd, &before), PVF_OK);
	assert_int_equal(before.virtual_device, 51712);
	assert_false(before.trusted);
	assert_int_equal(pvf_sim_vbd_fault(fx->half, "restart@1"), PVF_OK);
	buffer = fx_buffer(fx, 4096);
	assert_int_equal(fx_submit_reads(fx, &buffer, 0, 1), 1);
	fx_drain(fx, &tally, 20000);
	fx_each_once(&tally, 1);
	assert_int_equal(tally.status[0], PVF_RESET);
	assert_true(fx_reaches(fx, PVF_PHASE_CONNECTED, 5000));
	assert_int_equal(pvf_vbd_info(fx->vbd, &after), PVF_OK);
	assert_int_equal(after.virtual_device, before.virtual_device);
	assert_false(after.trusted);
	pvf_vbd_release(fx->queue, &buffer);
	fx_end(fx);
}

/* ---- a silent store ---- */

/* CPU time of the whole process, nanoseconds: the simulated backend's thread sleeps meanwhile. */
static uint64_t cpu_time(void)
{
	return (uint64_t)clock() * (1000000000u / CLOCKS_PER_SEC);
}

static void silent_store_holds_a_close_for_one_phase(void **state)
{
	const uint32_t phase_ms = 1200; /* half of it is more than two short calls of the store */
	struct fx *fx = *state;
	struct fx_options options = {.persistent = true, .fault = "stall", .vbd = PVF_VBD_OPTIONS};
	struct pvf_vbd_done done;
	struct fx_tally tally = {0};
	struct pvf_seg buffer;
	uint64_t begin, cpu;

	options.vbd.phase_ms = phase_ms;
	fx_start(fx, &options);
	buffer = fx_buffer(fx, 4096);
	/* With a request that is not answered, and with none in flight. */
	for (uint32_t idle = 0; idle < 2; idle++) {
		memset(&tally, 0, sizeof(tally));
		if (!idle)
			assert_int_equal(fx_submit_reads(fx, &buffer, 0, 1), 1);
		fx_rest(fx);
		fx_faults(fx, (struct pvf_sim_faults){.store_silent = true});
		begin = fx_now(fx);
		cpu = cpu_time();
		(void)pvf_vbd_disconnect(fx->vbd);
		cpu = cpu_time() - cpu;
		/* What is in flight is waited for first, which is a phase of its own. */
		assert_in_range(fx_now(fx) - begin, 0, (idle ? 1u : 2u) * phase_ms * FX_MS + phase_ms * FX_MS / 2u);
		if (!fx->stepped)
			assert_true(cpu < (fx_now(fx) - begin) / 3u);
		assert_int_equal(pvf_vbd_phase(fx->vbd), PVF_PHASE_CLOSED);
		fx_note(&tally, &done, (uint32_t)pvf_vbd_reap(fx->queue, &done, 1));
		fx_each_once(&tally, idle ? 0 : 1);
		assert_int_equal(tally.status[0], idle ? 0 : PVF_CLOSED);
		fx_faults(fx, (struct pvf_sim_faults){0});
		if (!idle)
			fx_connect(fx);
	}
	pvf_vbd_release(fx->queue, &buffer);
	/* It could not be told of the last close: it may map the ring until it ends. */
	(void)fx_close(fx);
	pvf_sim_vbd_kill_backend(fx->half);
	assert_int_equal(pvf_host_unpark(fx->host), 0);
	fx_end(fx);
}

static void silent_store_does_not_hold_a_wait(void **state)
{
	struct fx *fx = *state;
	struct pvf_vbd_done done;
	struct fx_tally tally = {0};
	struct pvf_seg buffer;
	uint64_t begin;

	fx_start(fx, &(struct fx_options){.persistent = true, .fault = "stall"});
	buffer = fx_buffer(fx, 4096);
	assert_int_equal(fx_submit_reads(fx, &buffer, 0, 1), 1);
	fx_rest(fx);
	fx_faults(fx, (struct pvf_sim_faults){.store_silent = true});
	for (uint32_t i = 0; i < 3; i++) {
		pvf_event(pvf_vbd_event(fx->vbd)); /* something for control to ask the store about */
		begin = fx_now(fx);
		assert_int_equal(pvf_vbd_wait(fx->queue, &done, 1, begin + 50 * FX_MS), PVF_TIMEOUT);
		assert_in_range(fx_now(fx) - begin, 50 * FX_MS, 600 * FX_MS);
	}
	/* It talks again: nothing of the device has suffered. */
	fx_faults(fx, (struct pvf_sim_faults){0});
	assert_int_equal(pvf_vbd_phase(fx->vbd), PVF_PHASE_CONNECTED);
	assert_int_equal(pvf_vbd_wait(fx->queue, &done, 1, fx_now(fx) + 50 * FX_MS), PVF_TIMEOUT);
	assert_int_equal(pvf_vbd_disconnect(fx->vbd), PVF_OK);
	fx_drain(fx, &tally, 1000);
	fx_each_once(&tally, 1);
	pvf_vbd_release(fx->queue, &buffer);
	fx_end(fx);
}

/* ---- a host table around the simulator's ---- */

static struct {
	const struct pvf_host *inner;
	struct pvf_host_ops ops;
	struct pvf_host host;
	struct pvf_event deaf;     /* watches fire into this one */
	struct pvf_event *to_mark; /* marked by whatever the core calls before it sleeps */
	bool marked;
	uint32_t missed, slept_after_mark;
} around;

static void mark(void)
{
	if (!around.to_mark)
		return;
	pvf_event(around.to_mark);
	around.marked = true;
}

static int watch_into_the_void(void *ctx, const char *path, struct pvf_event *event, uint64_t deadline)
{
	(void)event;
	return around.inner->ops->watch(ctx, path, &around.deaf, deadline);
}

static void unwatch_the_void(void *ctx, const char *path, struct pvf_event *event, uint64_t deadline)
{
	(void)event;
	around.inner->ops->unwatch(ctx, path, &around.deaf, deadline);
}

static void notify_and_mark(void *ctx, uint32_t port)
{
	around.inner->ops->evtchn_notify(ctx, port);
	mark();
}

static int store_and_mark(void *ctx, struct pvf_store_op *ops, uint32_t n, uint32_t flags, uint64_t deadline)
{
	int status = around.inner->ops->store(ctx, ops, n, flags, deadline);

	mark();
	return status;
}

static int wait_after_mark(void *ctx, struct pvf_event *event, uint32_t sequence, uint64_t deadline)
{
	if (around.to_mark && around.marked) {
		around.slept_after_mark++;
		around.missed += pvf_event_sequence(event) == sequence;
		around.marked = false;
	}
	return around.inner->ops->wait(ctx, event, sequence, deadline);
}

/* The fixture's host becomes the one around it; before fx_open. */
static struct pvf_host_ops *wrap(struct fx *fx)
{
	memset(&around, 0, sizeof(around));
	around.inner = fx->host;
	around.ops = *fx->host->ops;
	around.host = *fx->host;
	around.host.ops = &around.ops;
	fx->host = &around.host;
	return &around.ops;
}

/* FIELD-BUGS 15: what fires after the look and before the sleep ends the sleep. */
static void event_between_look_and_sleep(void **state)
{
	const uint32_t size = 3u << 20;
	static uint8_t memory[3u << 20];
	struct fx *fx = *state;
	struct fx_tally tally = {0};
	struct pvf_seg seg = PVF_SEG_OF(memory, size);
	struct pvf_host_ops *ops;

	fx_machine(fx, &(struct fx_options){.persistent = true});
	ops = wrap(fx);
	ops->evtchn_notify = notify_and_mark;
	ops->store = store_and_mark;
	ops->wait = wait_after_mark;
	fx_open(fx);
	fx_connect(fx);
	for (uint32_t i = 0; i < 20; i++) {
		struct pvf_vbd_io io = {.segs = &seg, .nr_segs = 1, .user = fx_user(i)};

		assert_int_equal(pvf_vbd_submit(fx->queue, &io, 1), 1);
		(void)pvf_vbd_push(fx->queue);
		pvf_event(pvf_vbd_event(fx->vbd)); /* control has its turn within the wait, too */
		around.marked = false;
		around.to_mark = pvf_vbd_queue_event(fx->queue);
		fx_drain(fx, &tally, 20000);
		around.to_mark = NULL;
	}
	fx_each_once(&tally, 20);
	assert_true(around.slept_after_mark > 0);
	assert_int_equal(around.missed, 0);
	assert_true(fx_is_pattern(memory, 0, size));
	fx_end(fx);
}

/* ---- the backend closes, and we nearly did not hear of it ---- */

static void notices_closing(struct fx *fx)
{
	uint64_t begin = fx_now(fx), end = begin + 3u * FX_PHASE_MS * FX_MS / 2u;

	fx_set_backend_key(fx, "state", "5");
	while (fx_now(fx) < end) {
		uint32_t sequence = pvf_event_sequence(pvf_vbd_event(fx->vbd));
		uint64_t wake = pvf_vbd_advance(fx->vbd);

		if (pvf_vbd_phase(fx->vbd) != PVF_PHASE_CONNECTED)
			break;
		(void)fx->host->ops->wait(fx->host->ctx, pvf_vbd_event(fx->vbd), sequence, wake < end ? wake : end);
	}
	assert_int_not_equal(pvf_vbd_phase(fx->vbd), PVF_PHASE_CONNECTED);
	assert_in_range(fx_now(fx) - begin, 0, (FX_PHASE_MS + 300u) * FX_MS);
}

static void look_that_fails_is_made_up_for(void **state)
{
	struct fx *fx = *state;

	fx_start(fx, &(struct fx_options){.persistent = true});
	(void)pvf_vbd_advance(fx->vbd);
	fx_faults(fx, (struct pvf_sim_faults){.fail_call = 1});
	notices_closing(fx);
	fx_end(fx);
}

static void lost_watch_event_is_made_up_for(void **state)
{
	struct fx *fx = *state;
	struct pvf_host_ops *ops;

	fx_machine(fx, &(struct fx_options){.persistent = true});
	ops = wrap(fx);
	ops->watch = watch_into_the_void;
	ops->unwatch = unwatch_the_void;
	fx_open(fx);
	fx_connect(fx);
	notices_closing(fx);
	fx_end(fx);
}

static const struct pvf_test tests[] = {
	FX_BOTH(restart_wakes_the_owner, "X04 V22",
		"an owner that sleeps while the backend restarts is woken when it may go on, and when it never may"),
	FX_BOTH(own_keys_survive_a_restart, "X04 V01",
		"trusted and virtual-device are what they were after a backend restart"),
	FX_BOTH(silent_store_holds_a_close_for_one_phase, "X05 V22",
		"a silent store holds a close for a phase, which takes no CPU time"),
	FX_BOTH(silent_store_does_not_hold_a_wait, "X05", "a silent store does not hold a wait beyond its deadline"),
	FX_BOTH(event_between_look_and_sleep, "V22", "an event between the look and the sleep ends the sleep"),
	FX_BOTH(look_that_fails_is_made_up_for, "X05 X04",
		"a look at the backend that fails is repeated within a phase"),
	FX_BOTH(lost_watch_event_is_made_up_for, "X05 X04", "a lost watch event costs a phase at most"),
};

int main(void)
{
	return pvf_run_tests("sim", tests, sizeof(tests) / sizeof(tests[0]));
}
