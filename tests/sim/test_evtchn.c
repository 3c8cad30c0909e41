/* SPDX-License-Identifier: MIT */
/* The simulated hypervisor's event channels, and sleeping until one fires. */
#define _POSIX_C_SOURCE 200809L
#include "world.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "machine.h"

/* ---- event channels ---- */

static void every_port_number_works(void **state)
{
	static const uint32_t interesting[] = {31, 32, 63, 64, 1023, 1024, 4095};
	struct world *world = *state;
	struct pvf_event *near = calloc(4096, sizeof(*near)), far = {0};
	uint32_t port, last = 0, none;

	assert_non_null(near);
	/* 1 is the domain's line to xenstored. */
	for (uint32_t i = 2; i < 4096; i++)
		assert_int_equal(last = alloc_port(&world->one, 2, &near[i]), i);
	assert_int_equal(last, 4095);
	assert_int_equal(world->one.ops->evtchn_alloc(world->one.ctx, 2, &far, &none), PVF_NO_SPACE);

	for (size_t i = 0; i < sizeof(interesting) / sizeof(interesting[0]); i++) {
		uint32_t number = interesting[i], before = near[number].sequence;

		assert_int_equal(pvf_sim_bind(world->two.domain, 1, number, &far, &port), PVF_OK);
		notify(&world->two, port);
		assert_int_equal(near[number].sequence, before + 1);
		before = far.sequence;
		notify(&world->one, number);
		assert_int_equal(far.sequence, before + 1);
		close_port(&world->two, port);
	}

	/* The lowest that is free comes first. */
	close_port(&world->one, 64);
	close_port(&world->one, 31);
	assert_int_equal(alloc_port(&world->one, 2, &near[31]), 31);
	assert_int_equal(alloc_port(&world->one, 2, &near[64]), 64);
	for (uint32_t i = 2; i < 4096; i++)
		close_port(&world->one, i);
	free(near);
}

static void a_port_is_bound_by_whom_it_is_for(void **state)
{
	struct world *world = *state;
	struct pvf_event near = {0}, far = {0};
	uint32_t port = alloc_port(&world->one, 2, &near), bound, none = 0;

	notify(&world->one, port); /* unbound: nobody hears it */
	assert_int_not_equal(pvf_sim_bind(world->zero.domain, 1, port, &far, &none), PVF_OK);
	assert_int_not_equal(pvf_sim_bind(world->two.domain, 1, port + 1, &far, &none), PVF_OK);
	assert_int_not_equal(pvf_sim_bind(world->two.domain, 1, 0, &far, &none), PVF_OK);
	assert_int_not_equal(pvf_sim_bind(world->two.domain, 1, 1u << 20, &far, &none), PVF_OK);
	assert_int_not_equal(pvf_sim_bind(world->two.domain, 9, port, &far, &none), PVF_OK);
	assert_int_equal(far.sequence, 0);

	/* What was sent before is lost, so the new port is raised once. */
	assert_int_equal(pvf_sim_bind(world->two.domain, 1, port, &far, &bound), PVF_OK);
	assert_int_equal(far.sequence, 1);
	assert_int_not_equal(pvf_sim_bind(world->two.domain, 1, port, &far, &none), PVF_OK);
	notify(&world->two, bound);
	assert_int_equal(near.sequence, 1);

	/* The other end gone, the port is unbound again, for the same domain. */
	close_port(&world->two, bound);
	notify(&world->one, port);
	assert_int_equal(far.sequence, 1);
	assert_int_equal(pvf_sim_bind(world->two.domain, 1, port, &far, &bound), PVF_OK);
	notify(&world->two, bound);
	assert_int_equal(near.sequence, 2);

	close_port(&world->one, port);
	notify(&world->two, bound);
	assert_int_equal(near.sequence, 2);
	close_port(&world->two, bound);
}

static void a_masked_port_stays_pending(void **state)
{
	struct world *world = *state;
	struct hv *hv = &world->sim->hv;
	struct pvf_event near = {0}, far = {0};
	uint32_t port = alloc_port(&world->one, 2, &near), bound;

	assert_int_equal(pvf_sim_bind(world->two.domain, 1, port, &far, &bound), PVF_OK);
	hv_port_mask(hv, world->one.domain->hv, port);
	assert_int_equal(world->one.ops->evtchn_unmask(world->one.ctx, port), 0);
	hv_port_mask(hv, world->one.domain->hv, port);
	notify(&world->two, bound);
	notify(&world->two, bound);
	assert_int_equal(near.sequence, 0);
	assert_int_equal(world->one.ops->evtchn_unmask(world->one.ctx, port), 1);
	notify(&world->two, bound);
	assert_int_equal(near.sequence, 1);
	close_port(&world->one, port);
	close_port(&world->two, bound);
}

struct notifier {
	const struct guest *guest;
	volatile uint32_t port;
	volatile uint32_t go;
};

static void *notify_on(void *arg)
{
	struct notifier *notifier = arg;

	while (pvf_load32_acquire(&notifier->go))
		notify(notifier->guest, pvf_load32_acquire(&notifier->port));
	return NULL;
}

/* The event's memory is freed right after the close: a callback that ran or started later would write to it. */
static void xsa441_no_callback_after_close(void **state)
{
	struct world *world = *state;
	struct notifier notifier = {.guest = &world->two, .go = 1};
	struct pvf_event far = {0};
	pthread_t threads[2];

	for (int i = 0; i < 2; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, notify_on, &notifier), 0);
	for (int i = 0; i < 5000; i++) {
		struct pvf_event *event = calloc(1, sizeof(*event));
		uint32_t port = alloc_port(&world->one, 2, event), bound;

		assert_int_equal(pvf_sim_bind(world->two.domain, 1, port, &far, &bound), PVF_OK);
		pvf_store32_release(&notifier.port, bound);
		if (i % 2)
			close_port(&world->two, bound);
		close_port(&world->one, port);
		free(event);
		close_port(&world->two, bound);
	}
	pvf_store32_release(&notifier.go, 0);
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
}

struct player {
	const struct guest *guest;
	struct pvf_event event;
	uint32_t port, rounds;
	bool first;
	int status;
};

static void *play(void *arg)
{
	struct player *player = arg;
	uint32_t sequence = 0;

	for (uint32_t i = 0; i < player->rounds && player->status == PVF_OK; i++) {
		if (player->first)
			notify(player->guest, player->port);
		player->status = player->guest->ops->wait(player->guest->ctx, &player->event, sequence,
							  soon(player->guest, 10 * WORLD_SECOND));
		sequence++;
		if (!player->first)
			notify(player->guest, player->port);
	}
	return NULL;
}

static void no_wake_up_is_lost(void **state)
{
	struct world *world = *state;
	struct player first = {.guest = &world->one, .rounds = 10000, .first = true};
	struct player second = {.guest = &world->two, .rounds = 10000};
	pthread_t thread;

	first.port = alloc_port(&world->one, 2, &first.event);
	assert_int_equal(pvf_sim_bind(world->two.domain, 1, first.port, &second.event, &second.port), PVF_OK);
	second.event.sequence = 0;
	assert_int_equal(pthread_create(&thread, NULL, play, &second), 0);
	play(&first);
	pthread_join(thread, NULL);
	assert_int_equal(first.status, PVF_OK);
	assert_int_equal(second.status, PVF_OK);
	assert_int_equal(first.event.sequence, first.rounds);
	assert_int_equal(second.event.sequence, second.rounds);
	close_port(&world->one, first.port);
	close_port(&world->two, second.port);
}

/* ---- waiting ---- */

static void waiting_ends_at_the_deadline(void **state)
{
	struct world *world = *state;
	struct pvf_event event = {0};
	uint64_t deadline = soon(&world->one, 20000000);

	assert_int_equal(world->one.ops->wait(world->one.ctx, &event, 0, deadline), PVF_TIMEOUT);
	assert_true(soon(&world->one, 0) >= deadline);
	pvf_event(&event);
	assert_int_equal(world->one.ops->wait(world->one.ctx, &event, 0, 0), PVF_OK);
}

static void nothing_left_to_happen_is_no_hang(void **state)
{
	struct world *world = *state;
	struct pvf_event event = {0};

	assert_int_equal(world->one.ops->wait(world->one.ctx, &event, 0, PVF_FOREVER), PVF_TIMEOUT);
}

static void events_are_lost_doubled_and_late(void **state)
{
	struct world *world = *state;
	struct pvf_sim_faults faults = {.lose_events = 2};
	struct pvf_event near = {0}, far = {0};
	uint32_t port = alloc_port(&world->one, 2, &near), bound;

	assert_int_equal(pvf_sim_bind(world->two.domain, 1, port, &far, &bound), PVF_OK);
	pvf_sim_domain_faults(world->one.domain, &faults);
	for (int i = 0; i < 3; i++)
		notify(&world->two, bound);
	assert_int_equal(near.sequence, 1);

	faults = (struct pvf_sim_faults){.double_events = 1};
	pvf_sim_domain_faults(world->one.domain, &faults);
	notify(&world->two, bound);
	notify(&world->two, bound);
	assert_int_equal(near.sequence, 4);

	if (world->stepped) {
		faults = (struct pvf_sim_faults){.late_events = 1};
		pvf_sim_domain_faults(world->one.domain, &faults);
		notify(&world->two, bound);
		assert_int_equal(near.sequence, 4);
		assert_int_equal(await(&world->one, &near, 4), PVF_OK);
		assert_int_equal(near.sequence, 5);
	}
	close_port(&world->one, port);
	close_port(&world->two, bound);
}

static const struct pvf_test tests[] = {
	BOTH(every_port_number_works, "", "ports 31, 32, 63, 64 and 4095 deliver, and the lowest free one comes first"),
	BOTH(a_port_is_bound_by_whom_it_is_for, "",
	     "a port is bound by the domain it was made for, and unbound again after"),
	BOTH(a_masked_port_stays_pending, "", "what comes to a masked port is pending when it is unmasked"),
	THREADED(xsa441_no_callback_after_close, "", "XSA-441: no callback runs or starts after a port was closed"),
	THREADED(no_wake_up_is_lost, "", "ten thousand round trips between two sleepers lose no wake-up"),
	BOTH(waiting_ends_at_the_deadline, "", "a wait ends at its deadline, and at once when the event was before"),
	STEPPED(nothing_left_to_happen_is_no_hang, "", "waiting for what nobody can do ends instead of hanging"),
	BOTH(events_are_lost_doubled_and_late, "", "events can be lost, doubled and late"),
};

int main(void)
{
	return pvf_run_tests("sim", tests, sizeof(tests) / sizeof(tests[0]));
}
