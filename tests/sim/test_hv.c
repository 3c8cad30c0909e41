/* SPDX-License-Identifier: MIT */
/* The simulated hypervisor: grants that are in use, event channels, what a killed domain leaves. */
#define _POSIX_C_SOURCE 200809L
#include "world.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "machine.h"

#define PAGES 3u

static void share(const struct guest *guest, struct pvf_region *region, uint32_t *refs, uint16_t domid, uint16_t flags)
{
	*region = (struct pvf_region){ .refs = refs, .pages = PAGES, .domid = domid, .flags = flags };
	assert_int_equal(guest->ops->share(guest->ctx, region), PVF_OK);
}

static int unshare(const struct guest *guest, struct pvf_region *region)
{
	return guest->ops->unshare(guest->ctx, region);
}

static uint16_t flags_of(const struct guest *guest, uint32_t ref)
{
	return hv_grant(guest->domain->hv, ref)->flags;
}

/* ---- grants ---- */

static void page_in_use_cannot_be_ended(void **state)
{
	struct world *world = *state;
	uint32_t refs[PAGES], others[PAGES], handle;
	struct pvf_region region, other;
	void *page;

	share(&world->one, &region, refs, 2, 0);
	for (uint32_t i = 0; i < PAGES; i++)
		assert_true(refs[i] >= PVF_WIRE_GRANT_RESERVED);
	memset((uint8_t *)region.base + PVF_PAGE_SIZE, 0x5a, PVF_PAGE_SIZE);
	assert_int_equal(pvf_sim_map(world->two.domain, 1, refs[1], false, &page, &handle), PVF_OK);
	assert_ptr_equal(page, (uint8_t *)region.base + PVF_PAGE_SIZE);

	/* The page stays the region's, and so do the references of those that could be ended. */
	assert_int_equal(unshare(&world->one, &region), PVF_UNSHARE_BUSY);
	share(&world->one, &other, others, 2, 0);
	for (uint32_t i = 0; i < PAGES; i++) {
		for (uint32_t j = 0; j < PAGES; j++)
			assert_int_not_equal(refs[i], others[j]);
	}
	assert_int_equal(((uint8_t *)page)[17], 0x5a);
	assert_int_equal(pvf_sim_map(world->two.domain, 1, refs[0], true, &page, &handle), PVF_STORE_DENIED);

	assert_int_equal(unshare(&world->one, &region), PVF_UNSHARE_BUSY);
	assert_int_equal(pvf_sim_unmap(world->two.domain, handle), PVF_OK);
	assert_int_equal(unshare(&world->one, &region), PVF_UNSHARE_RELEASED);
	assert_int_equal(unshare(&world->one, &other), PVF_UNSHARE_RELEASED);
}

static void each_mapping_counts(void **state)
{
	struct world *world = *state;
	uint32_t refs[PAGES], reader, writer;
	struct pvf_region region;
	struct pvf_sim_held held;
	void *page;

	share(&world->one, &region, refs, 2, 0);
	assert_int_equal(pvf_sim_map(world->two.domain, 1, refs[0], true, &page, &reader), PVF_OK);
	assert_int_equal(flags_of(&world->one, refs[0]), PVF_WIRE_GTF_PERMIT_ACCESS | PVF_WIRE_GTF_READING);
	assert_int_equal(pvf_sim_map(world->two.domain, 1, refs[0], false, &page, &writer), PVF_OK);
	assert_int_equal(flags_of(&world->one, refs[0]),
			 PVF_WIRE_GTF_PERMIT_ACCESS | PVF_WIRE_GTF_READING | PVF_WIRE_GTF_WRITING);
	pvf_sim_held(world->one.domain, &held);
	assert_int_equal(held.grants, PAGES);
	assert_int_equal(held.grants_mapped, 1);
	assert_int_equal(held.pages, PAGES);
	pvf_sim_held(world->two.domain, &held);
	assert_int_equal(held.maps, 2);

	assert_int_equal(pvf_sim_unmap(world->two.domain, writer), PVF_OK);
	assert_int_equal(flags_of(&world->one, refs[0]), PVF_WIRE_GTF_PERMIT_ACCESS | PVF_WIRE_GTF_READING);
	assert_int_equal(unshare(&world->one, &region), PVF_UNSHARE_BUSY);
	assert_int_equal(pvf_sim_unmap(world->two.domain, reader), PVF_OK);
	assert_int_not_equal(pvf_sim_unmap(world->two.domain, reader), PVF_OK);
	assert_int_equal(unshare(&world->one, &region), PVF_UNSHARE_RELEASED);
}

static void only_the_named_domain_maps(void **state)
{
	struct world *world = *state;
	uint32_t refs[PAGES], handle;
	struct pvf_region region;
	void *page;

	share(&world->one, &region, refs, 2, PVF_SHARE_READ_ONLY);
	assert_int_equal(pvf_sim_map(world->zero.domain, 1, refs[0], true, &page, &handle), PVF_STORE_DENIED);
	assert_int_equal(pvf_sim_map(world->two.domain, 1, refs[0], false, &page, &handle), PVF_STORE_DENIED);
	assert_int_equal(pvf_sim_map(world->two.domain, 1, 7, true, &page, &handle), PVF_STORE_DENIED);
	assert_int_equal(pvf_sim_map(world->two.domain, 1, 1u << 20, true, &page, &handle), PVF_RANGE);
	assert_int_equal(pvf_sim_map(world->two.domain, 1, PVF_GREF_INVALID, true, &page, &handle), PVF_RANGE);
	assert_int_equal(pvf_sim_map(world->two.domain, 9, refs[0], true, &page, &handle), PVF_INVALID);
	assert_int_equal(pvf_sim_map(world->two.domain, 1, refs[0], true, &page, &handle), PVF_OK);
	assert_int_equal(pvf_sim_unmap(world->two.domain, handle), PVF_OK);
	assert_int_equal(unshare(&world->one, &region), PVF_UNSHARE_RELEASED);
}

static void xsa316_a_bad_frame_is_an_error(void **state)
{
	struct world *world = *state;
	uint32_t refs[PAGES], handle;
	struct pvf_region region;
	void *page;

	share(&world->one, &region, refs, 2, 0);
	hv_grant(world->one.domain->hv, refs[0])->frame = 1u << 24;
	assert_int_equal(pvf_sim_map(world->two.domain, 1, refs[0], true, &page, &handle), PVF_RANGE);
	assert_int_equal(flags_of(&world->one, refs[0]), PVF_WIRE_GTF_PERMIT_ACCESS);
	assert_int_equal(unshare(&world->one, &region), PVF_UNSHARE_RELEASED);
}

static void copies_stay_within_the_page(void **state)
{
	struct world *world = *state;
	uint8_t buffer[PVF_PAGE_SIZE], *base;
	uint32_t refs[PAGES];
	struct pvf_region region;

	share(&world->one, &region, refs, 2, 0);
	base = region.base;
	memset(buffer, 0xc3, sizeof(buffer));
	assert_int_equal(pvf_sim_copy_to(world->two.domain, 1, refs[0], 4000, buffer, 96), PVF_OK);
	assert_int_equal(base[3999], 0);
	assert_int_equal(base[4000], 0xc3);
	assert_int_equal(base[4095], 0xc3);
	assert_int_equal(base[4096], 0);
	assert_int_equal(pvf_sim_copy_to(world->two.domain, 1, refs[0], 4000, buffer, 97), PVF_RANGE);
	assert_int_equal(pvf_sim_copy_from(world->two.domain, 1, refs[0], 0xffffffffu, buffer, 2), PVF_RANGE);
	memset(buffer, 0, sizeof(buffer));
	assert_int_equal(pvf_sim_copy_from(world->two.domain, 1, refs[0], 0, buffer, 4096), PVF_OK);
	assert_memory_equal(buffer, base, 4096);
	assert_int_equal(pvf_sim_copy_from(world->zero.domain, 1, refs[0], 0, buffer, 1), PVF_STORE_DENIED);
	assert_int_equal(unshare(&world->one, &region), PVF_UNSHARE_RELEASED);

	share(&world->one, &region, refs, 2, PVF_SHARE_READ_ONLY);
	assert_int_equal(pvf_sim_copy_to(world->two.domain, 1, refs[0], 0, buffer, 1), PVF_STORE_DENIED);
	assert_int_equal(pvf_sim_copy_from(world->two.domain, 1, refs[0], 0, buffer, 1), PVF_OK);
	assert_int_equal(unshare(&world->one, &region), PVF_UNSHARE_RELEASED);
}

static void xsa403_shared_pages_are_zeroed(void **state)
{
	struct world *world = *state;
	uint32_t refs[PAGES];
	struct pvf_region region;

	/* Often enough to come around to the same pages. */
	for (int i = 0; i < 6000; i++) {
		share(&world->one, &region, refs, 2, 0);
		for (uint32_t at = 0; at < PAGES * PVF_PAGE_SIZE; at += 512)
			assert_int_equal(((uint8_t *)region.base)[at], 0);
		memset(region.base, 0xff, PAGES * PVF_PAGE_SIZE);
		assert_int_equal(unshare(&world->one, &region), PVF_UNSHARE_RELEASED);
	}
}

static void single_frames_are_granted(void **state)
{
	struct world *world = *state;
	const struct guest *one = &world->one;
	uint32_t refs[PAGES], ref, handle;
	struct pvf_region region;
	void *page;

	share(one, &region, refs, 0, 0);
	assert_int_equal(one->ops->grant_frame(one->ctx, 2, region.handle + 1, true, &ref), PVF_OK);
	assert_int_equal(pvf_sim_map(world->two.domain, 1, ref, false, &page, &handle), PVF_STORE_DENIED);
	assert_int_equal(pvf_sim_map(world->two.domain, 1, ref, true, &page, &handle), PVF_OK);
	assert_ptr_equal(page, (uint8_t *)region.base + PVF_PAGE_SIZE);
	assert_int_equal(one->ops->revoke_frame(one->ctx, ref), PVF_REVOKE_BUSY);
	assert_int_equal(pvf_sim_unmap(world->two.domain, handle), PVF_OK);
	assert_int_equal(one->ops->revoke_frame(one->ctx, ref), PVF_REVOKE_ENDED);
	assert_int_equal(one->ops->grant_frame(one->ctx, 2, 1u << 20, true, &ref), PVF_RANGE);
	assert_int_equal(unshare(one, &region), PVF_UNSHARE_RELEASED);
}

static void too_much_is_refused_without_a_trace(void **state)
{
	struct world *world = *state;
	const struct guest *one = &world->one;
	uint32_t limit = one->ops->share_limit(one->ctx);
	uint32_t *refs = calloc(limit + 1, sizeof(*refs));
	struct pvf_region region = { .refs = refs, .pages = limit + 1, .domid = 2 };

	assert_non_null(refs);
	assert_int_equal(one->ops->share(one->ctx, &region), PVF_NO_MEMORY);
	assert_null(region.base);
	world_nothing_held(one->domain);
	region.pages = limit;
	assert_int_equal(one->ops->share(one->ctx, &region), PVF_OK);
	assert_int_equal(unshare(one, &region), PVF_UNSHARE_RELEASED);
	free(refs);
}

struct mapper {
	struct world *world;
	uint32_t ref;
	volatile uint32_t go;
	uint32_t mapped;
};

static void *map_and_unmap(void *arg)
{
	struct mapper *mapper = arg;
	uint32_t handle;
	void *page;

	while (pvf_load32_acquire(&mapper->go)) {
		if (pvf_sim_map(mapper->world->two.domain, 1, mapper->ref, false, &page, &handle) != PVF_OK)
			continue;
		((volatile uint8_t *)page)[8]++;
		mapper->mapped++;
		assert_int_equal(pvf_sim_unmap(mapper->world->two.domain, handle), PVF_OK);
	}
	return NULL;
}

/* A page that came back is written plainly: with the peer still in, ThreadSanitizer would see both. */
static void xsa396_ended_means_the_peer_is_out(void **state)
{
	struct world *world = *state;
	struct mapper mapper = { .world = world, .go = 1 };
	uint32_t refs[PAGES], busy = 0;
	struct pvf_region region;
	pthread_t thread;

	share(&world->one, &region, refs, 2, 0);
	mapper.ref = refs[0];
	assert_int_equal(pthread_create(&thread, NULL, map_and_unmap, &mapper), 0);
	for (int i = 0; i < 20000; i++) {
		int answer = unshare(&world->one, &region);

		if (answer == PVF_UNSHARE_BUSY) {
			busy++;
			continue;
		}
		assert_int_equal(answer, PVF_UNSHARE_RELEASED);
		share(&world->one, &region, refs, 2, 0);
		assert_int_equal(refs[0], mapper.ref);
	}
	pvf_store32_release(&mapper.go, 0);
	pthread_join(thread, NULL);
	assert_true(mapper.mapped > 0);
	assert_int_equal(unshare(&world->one, &region), PVF_UNSHARE_RELEASED);
	print_message("mapped %u times, found busy %u times\n", mapper.mapped, busy);
}

/* ---- event channels ---- */

static uint32_t alloc_port(const struct guest *guest, uint16_t domid, struct pvf_event *event)
{
	uint32_t port = 0;

	assert_int_equal(guest->ops->evtchn_alloc(guest->ctx, domid, event, &port), PVF_OK);
	return port;
}

static void notify(const struct guest *guest, uint32_t port)
{
	guest->ops->evtchn_notify(guest->ctx, port);
}

static void close_port(const struct guest *guest, uint32_t port)
{
	guest->ops->evtchn_close(guest->ctx, port);
}

static void every_port_number_works(void **state)
{
	static const uint32_t interesting[] = { 31, 32, 63, 64, 1023, 1024, 4095 };
	struct world *world = *state;
	struct pvf_event *near = calloc(4096, sizeof(*near)), far = { 0 };
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
	struct pvf_event near = { 0 }, far = { 0 };
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
	struct pvf_event near = { 0 }, far = { 0 };
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
	struct notifier notifier = { .guest = &world->two, .go = 1 };
	struct pvf_event far = { 0 };
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
	struct player first = { .guest = &world->one, .rounds = 10000, .first = true };
	struct player second = { .guest = &world->two, .rounds = 10000 };
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
	struct pvf_event event = { 0 };
	uint64_t deadline = soon(&world->one, 20000000);

	assert_int_equal(world->one.ops->wait(world->one.ctx, &event, 0, deadline), PVF_TIMEOUT);
	assert_true(soon(&world->one, 0) >= deadline);
	pvf_event(&event);
	assert_int_equal(world->one.ops->wait(world->one.ctx, &event, 0, 0), PVF_OK);
}

static void nothing_left_to_happen_is_no_hang(void **state)
{
	struct world *world = *state;
	struct pvf_event event = { 0 };

	assert_int_equal(world->one.ops->wait(world->one.ctx, &event, 0, PVF_FOREVER), PVF_TIMEOUT);
}

/* ---- faults ---- */

static void events_are_lost_doubled_and_late(void **state)
{
	struct world *world = *state;
	struct pvf_sim_faults faults = { .lose_events = 2 };
	struct pvf_event near = { 0 }, far = { 0 };
	uint32_t port = alloc_port(&world->one, 2, &near), bound;

	assert_int_equal(pvf_sim_bind(world->two.domain, 1, port, &far, &bound), PVF_OK);
	pvf_sim_domain_faults(world->one.domain, &faults);
	for (int i = 0; i < 3; i++)
		notify(&world->two, bound);
	assert_int_equal(near.sequence, 1);

	faults = (struct pvf_sim_faults){ .double_events = 1 };
	pvf_sim_domain_faults(world->one.domain, &faults);
	notify(&world->two, bound);
	notify(&world->two, bound);
	assert_int_equal(near.sequence, 4);

	if (world->stepped) {
		faults = (struct pvf_sim_faults){ .late_events = 1 };
		pvf_sim_domain_faults(world->one.domain, &faults);
		notify(&world->two, bound);
		assert_int_equal(near.sequence, 4);
		assert_int_equal(await(&world->one, &near, 4), PVF_OK);
		assert_int_equal(near.sequence, 5);
	}
	close_port(&world->one, port);
	close_port(&world->two, bound);
}

/* What a program does at its start, undone as far as it came; the status of what failed. */
static int start_up(const struct guest *guest)
{
	uint32_t refs[PAGES], port;
	struct pvf_region region = { .refs = refs, .pages = PAGES, .domid = 2 };
	struct pvf_event event = { 0 };
	void *memory = guest->ops->alloc(guest->ctx, 5000);
	int status = memory ? PVF_OK : PVF_NO_MEMORY;

	if (status == PVF_OK) {
		status = guest->ops->share(guest->ctx, &region);
		if (status == PVF_OK) {
			status = guest->ops->evtchn_alloc(guest->ctx, 2, &event, &port);
			if (status == PVF_OK) {
				status = put(guest, "key", "value");
				if (status == PVF_OK)
					status = watch(guest, "key", &event);
				if (status == PVF_OK)
					unwatch(guest, "key", &event);
				close_port(guest, port);
			}
			assert_int_equal(unshare(guest, &region), PVF_UNSHARE_RELEASED);
		}
		guest->ops->free(guest->ctx, memory, 5000);
	}
	return status;
}

static void every_host_call_can_fail(void **state)
{
	static const int expected[] = { PVF_NO_MEMORY, PVF_NO_SPACE, PVF_NO_SPACE, PVF_STORE_NO_MEMORY,
					PVF_STORE_NO_MEMORY, PVF_OK };
	struct world *world = *state;
	uint32_t before = pvf_sim_domain_calls(world->one.domain);

	assert_int_equal(start_up(&world->one), PVF_OK);
	assert_int_equal(pvf_sim_domain_calls(world->one.domain) - before, 5);
	for (uint32_t n = 0; n < 6; n++) {
		struct pvf_sim_faults faults = { .fail_call = n + 1 };

		pvf_sim_domain_faults(world->one.domain, &faults);
		assert_int_equal(start_up(&world->one), expected[n]);
		world_nothing_held(world->one.domain);
	}
	pvf_sim_domain_faults(world->one.domain, &(struct pvf_sim_faults){ 0 });
	assert_int_equal(drop(&world->one, "key"), PVF_OK);
}

/* ---- lives ---- */

static void a_killed_domain_lets_go(void **state)
{
	struct world *world = *state;
	struct pvf_event near = { 0 }, far = { 0 }, watched = { 0 };
	uint32_t refs[PAGES], theirs[PAGES], port, bound, handle, mapped;
	struct pvf_region mine, region;
	void *page, *other;

	/* Domain 2 maps a page of 1, domain 1 one of 2; a channel; a watch. Then 2 is killed. */
	share(&world->one, &mine, refs, 2, 0);
	share(&world->two, &region, theirs, 1, 0);
	assert_int_equal(pvf_sim_map(world->two.domain, 1, refs[0], false, &page, &handle), PVF_OK);
	assert_int_equal(pvf_sim_map(world->one.domain, 2, theirs[0], false, &other, &mapped), PVF_OK);
	port = alloc_port(&world->one, 2, &near);
	assert_int_equal(pvf_sim_bind(world->two.domain, 1, port, &far, &bound), PVF_OK);
	assert_int_equal(watch(&world->two, "thing", &watched), PVF_OK);
	assert_int_equal(put(&world->two, "thing", "1"), PVF_OK);
	assert_int_equal(unshare(&world->one, &mine), PVF_UNSHARE_BUSY);
	pvf_sim_domain_destroy(world->two.domain);

	assert_null(pvf_sim_domain_find(world->sim, 2));
	assert_int_equal(unshare(&world->one, &mine), PVF_UNSHARE_RELEASED);
	notify(&world->one, port);
	assert_int_equal(far.sequence, 1);
	/* Its page lives on for who maps it. */
	memset(other, 1, PVF_PAGE_SIZE);

	/* Another one with the same number is a new life. */
	assert_int_equal(pvf_sim_domain_create(world->sim, 2, &world->two.domain), PVF_OK);
	world->two = world_guest(world->two.domain);
	assert_int_not_equal(pvf_sim_map(world->one.domain, 2, theirs[1], false, &page, &handle), PVF_OK);
	world_nothing_held(world->two.domain);
	memset(other, 2, PVF_PAGE_SIZE);
	assert_int_equal(pvf_sim_unmap(world->one.domain, mapped), PVF_OK);
	assert_int_equal(drop(&world->two, "thing"), PVF_OK);
	close_port(&world->one, port);
}

static void domains_come_and_go(void **state)
{
	struct world *world = *state;

	for (int i = 0; i < 200; i++) {
		struct pvf_sim_domain *domain, *again;
		struct guest guest;

		assert_int_equal(pvf_sim_domain_create(world->sim, 7, &domain), PVF_OK);
		assert_int_equal(pvf_sim_domain_create(world->sim, 7, &again), PVF_BUSY);
		guest = world_guest(domain);
		assert_int_equal(put(&guest, "a", "b"), PVF_OK);
		pvf_sim_domain_destroy(domain);
	}
	assert_int_equal(pvf_sim_store_remove(world->sim, "/local/domain/7"), PVF_OK);
}

static void a_resume_forgets(void **state)
{
	struct world *world = *state;
	const struct guest *one = &world->one;
	struct pvf_event near = { 0 }, far = { 0 }, watched = { 0 };
	uint32_t refs[PAGES], port, bound, old, handle, generation;
	struct pvf_region region, next;
	uint32_t more[PAGES];
	void *page;
	int status;

	share(one, &region, refs, 2, 0);
	memset(region.base, 0x77, PAGES * PVF_PAGE_SIZE);
	port = alloc_port(one, 2, &near);
	assert_int_equal(pvf_sim_bind(world->two.domain, 1, port, &far, &bound), PVF_OK);
	assert_int_equal(pvf_sim_map(world->two.domain, 1, refs[0], false, &page, &old), PVF_OK);
	assert_int_equal(watch(one, "thing", &watched), PVF_OK);

	generation = pvf_sim_domain_resume(one->domain);
	assert_true(generation > 1);
	assert_int_not_equal(pvf_sim_map(world->two.domain, 1, refs[1], false, &page, &handle), PVF_OK);
	notify(&world->two, bound);
	assert_int_equal(near.sequence, 0);
	assert_int_equal(put(one, "thing", "1"), PVF_OK);
	get(one, "thing", &status);
	assert_int_equal(status, PVF_OK);

	/* The pages are granted again as they are. */
	page = region.base;
	assert_int_equal(one->ops->share(one->ctx, &region), PVF_OK);
	assert_ptr_equal(region.base, page);
	assert_int_equal(((uint8_t *)page)[0], 0x77);
	assert_int_equal(pvf_sim_map(world->two.domain, 1, refs[0], false, &page, &handle), PVF_OK);
	assert_ptr_equal(region.base, page);
	/* Ending the mapping of the earlier life does not end this one's. */
	assert_int_equal(pvf_sim_unmap(world->two.domain, old), PVF_OK);
	assert_int_equal(unshare(one, &region), PVF_UNSHARE_BUSY);
	assert_int_equal(pvf_sim_unmap(world->two.domain, handle), PVF_OK);
	assert_int_equal(unshare(one, &region), PVF_UNSHARE_RELEASED);

	/* Or forgotten; a page that somebody has mapped still is nobody else's until it is not. */
	share(one, &region, refs, 2, 0);
	assert_int_equal(pvf_sim_map(world->two.domain, 1, refs[0], false, &page, &old), PVF_OK);
	pvf_sim_domain_resume(one->domain);
	one->ops->forget(one->ctx, &region);
	memset(page, 0x11, PVF_PAGE_SIZE);
	for (int i = 0; i < 6000; i++) {
		share(one, &next, more, 2, 0);
		assert_true((uint8_t *)page < (uint8_t *)next.base ||
			    (uint8_t *)page >= (uint8_t *)next.base + PAGES * PVF_PAGE_SIZE);
		assert_int_equal(unshare(one, &next), PVF_UNSHARE_RELEASED);
	}
	assert_int_equal(pvf_sim_unmap(world->two.domain, old), PVF_OK);
	close_port(&world->two, bound);
	assert_int_equal(drop(one, "thing"), PVF_OK);
}

/* ---- the schedule ---- */

struct noisy {
	struct world *world;
	struct sim_actor actor;
	uint32_t id, left;
	char *log;
	uint32_t *length;
};

static bool noisy_work(void *arg)
{
	struct noisy *noisy = arg;

	if (noisy->left == 0)
		return false;
	noisy->left--;
	noisy->log[(*noisy->length)++] = (char)('a' + noisy->id);
	return true;
}

/* Four actors of two domains, twenty pieces of work each: who came when. */
static void run_of(uint64_t seed, char log[81])
{
	struct world *world = world_new(true, seed);
	struct noisy noisy[4];
	struct pvf_event never = { 0 };
	uint32_t length = 0;

	memset(noisy, 0, sizeof(noisy));
	for (uint32_t i = 0; i < 4; i++) {
		noisy[i] = (struct noisy){ .id = i, .left = 20, .log = log, .length = &length };
		noisy[i].actor.work = noisy_work;
		noisy[i].actor.arg = &noisy[i];
		assert_int_equal(sim_actor_add(i % 2 ? world->zero.domain : world->two.domain, &noisy[i].actor), PVF_OK);
	}
	assert_int_equal(await(&world->one, &never, 0), PVF_TIMEOUT);
	assert_int_equal(length, 80);
	log[80] = '\0';
	for (uint32_t i = 0; i < 4; i++)
		sim_actor_remove(i % 2 ? world->zero.domain : world->two.domain, &noisy[i].actor);
	world_free(world);
}

static void the_same_seed_is_the_same_run(void **state)
{
	char first[81], again[81], other[81];

	(void)state;
	run_of(1, first);
	run_of(1, again);
	run_of(2, other);
	assert_string_equal(first, again);
	assert_string_not_equal(first, other);
}

struct ticker {
	struct world *world;
	struct sim_actor actor;
	struct pvf_event *event;
	uint32_t times;
};

static bool tick(void *arg)
{
	struct ticker *ticker = arg;

	ticker->times++;
	if (ticker->times < 4)
		ticker->actor.due = sim_now(ticker->world->sim) + 10000000;
	if (ticker->times == 4)
		pvf_event(ticker->event);
	if (ticker->times == 4)
		sim_domain_wake(ticker->world->one.domain);
	return false;
}

static void an_actor_is_called_when_it_asked_to_be(void **state)
{
	struct world *world = *state;
	struct pvf_event event = { 0 };
	struct ticker ticker = { .world = world, .event = &event };
	uint64_t before = soon(&world->one, 0);

	ticker.actor.work = tick;
	ticker.actor.arg = &ticker;
	assert_int_equal(sim_actor_add(world->zero.domain, &ticker.actor), PVF_OK);
	assert_int_equal(await(&world->one, &event, 0), PVF_OK);
	sim_actor_remove(world->zero.domain, &ticker.actor);
	assert_true(ticker.times >= 4);
	assert_true(soon(&world->one, 0) - before >= (world->stepped ? 30000000u : 10000000u));
}

static bool count_calls(void *arg)
{
	(*(uint32_t *)arg)++;
	return true;
}

static void a_removed_actor_never_runs_again(void **state)
{
	struct world *world = *state;

	for (int i = 0; i < 300; i++) {
		uint32_t *calls = calloc(1, sizeof(*calls));
		struct sim_actor *actor = calloc(1, sizeof(*actor));

		assert_non_null(calls);
		assert_non_null(actor);
		actor->work = count_calls;
		actor->arg = calls;
		assert_int_equal(sim_actor_add(world->zero.domain, actor), PVF_OK);
		(void)pvf_sim_step(world->sim);
		sim_actor_remove(world->zero.domain, actor);
		free(actor);
		free(calls);
	}
}

static const struct pvf_test tests[] = {
	BOTH(page_in_use_cannot_be_ended, "", "a page that is mapped cannot be ended, and its region stays together"),
	BOTH(each_mapping_counts, "", "a grant is in use until its last mapping ends"),
	BOTH(only_the_named_domain_maps, "", "only the domain that a page was granted to maps it, and only as granted"),
	BOTH(xsa316_a_bad_frame_is_an_error, "", "XSA-316: mapping a frame that does not exist is an error"),
	BOTH(copies_stay_within_the_page, "", "grant copies keep to the page and to what was granted"),
	STEPPED(xsa403_shared_pages_are_zeroed, "", "XSA-403: pages are zeroed before a peer sees them"),
	BOTH(single_frames_are_granted, "", "single frames are granted and revoked, and busy while mapped"),
	BOTH(too_much_is_refused_without_a_trace, "", "sharing more than there is fails and leaves nothing"),
	THREADED(xsa396_ended_means_the_peer_is_out, "", "XSA-396: once a grant is ended, the peer is out"),
	BOTH(every_port_number_works, "", "ports 31, 32, 63, 64 and 4095 deliver, and the lowest free one comes first"),
	BOTH(a_port_is_bound_by_whom_it_is_for, "",
	     "a port is bound by the domain it was made for, and unbound again after"),
	BOTH(a_masked_port_stays_pending, "", "what comes to a masked port is pending when it is unmasked"),
	THREADED(xsa441_no_callback_after_close, "", "XSA-441: no callback runs or starts after a port was closed"),
	THREADED(no_wake_up_is_lost, "", "ten thousand round trips between two sleepers lose no wake-up"),
	BOTH(waiting_ends_at_the_deadline, "", "a wait ends at its deadline, and at once when the event was before"),
	STEPPED(nothing_left_to_happen_is_no_hang, "", "waiting for what nobody can do ends instead of hanging"),
	BOTH(events_are_lost_doubled_and_late, "", "events can be lost, doubled and late"),
	BOTH(every_host_call_can_fail, "", "the Nth host call fails and leaves nothing"),
	BOTH(a_killed_domain_lets_go, "", "a killed domain's mappings, ports and watches end, its granted pages live on"),
	BOTH(domains_come_and_go, "", "a domain can be made and killed two hundred times"),
	BOTH(a_resume_forgets, "", "a resume forgets grants, ports and watches, and keeps the pages"),
	PVF_TEST(the_same_seed_is_the_same_run, "", "sim-stepped",
		 "the same seed gives the same run, another seed another"),
	BOTH(an_actor_is_called_when_it_asked_to_be, "", "an actor that named a time is called then"),
	BOTH(a_removed_actor_never_runs_again, "", "an actor that was removed does not run any more"),
};

int main(void)
{
	return pvf_run_tests("sim", tests, sizeof(tests) / sizeof(tests[0]));
}
