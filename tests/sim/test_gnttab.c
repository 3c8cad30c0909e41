/* SPDX-License-Identifier: MIT */
/* The simulated hypervisor's grants: in use, copied, ended. */
#define _POSIX_C_SOURCE 200809L
#include "world.h"

#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "machine.h"

static uint16_t flags_of(const struct guest *guest, uint32_t ref)
{
	return hv_grant(guest->domain->hv, ref)->flags;
}

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
	struct pvf_region region = {.refs = refs, .pages = limit + 1, .domid = 2};

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
	volatile uint32_t mapped; /* how often */
	uint32_t kept;            /* what could not be unmapped again */
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
		mapper->kept += pvf_sim_unmap(mapper->world->two.domain, handle) != PVF_OK;
		(void)pvf_add32(&mapper->mapped, 1);
	}
	return NULL;
}

/* The grant stands until the peer has been in. */
static void let_in(struct mapper *mapper, uint64_t deadline)
{
	uint32_t before = pvf_load32_acquire(&mapper->mapped);

	while (pvf_load32_acquire(&mapper->mapped) == before) {
		assert_true(soon(&mapper->world->one, 0) < deadline);
		(void)sched_yield();
	}
}

#define ROUNDS 10000u
#define MEETINGS 20u

/*
 * A page that came back is written plainly: with the peer still in, ThreadSanitizer would see both. The grant stands for
 * a small part of each round only, so that where both share a CPU the peer may never find it standing: every so often
 * it is let in. That it is met inside, too, is left to when the scheduler stops it, hence to more rounds.
 */
static void xsa396_ended_means_the_peer_is_out(void **state)
{
	struct world *world = *state;
	struct mapper mapper = {.world = world, .go = 1};
	uint64_t deadline = soon(&world->one, 60000000000u);
	uint32_t refs[PAGES], released = 0, busy = 0;
	struct pvf_region region;
	pthread_t thread;

	share(&world->one, &region, refs, 2, 0);
	mapper.ref = refs[0];
	assert_int_equal(pthread_create(&thread, NULL, map_and_unmap, &mapper), 0);
	while (released < ROUNDS || busy == 0) {
		int answer = unshare(&world->one, &region);

		assert_true(soon(&world->one, 0) < deadline);
		if (answer == PVF_UNSHARE_BUSY) {
			busy++;
			(void)sched_yield();
			continue;
		}
		assert_int_equal(answer, PVF_UNSHARE_RELEASED);
		share(&world->one, &region, refs, 2, 0);
		assert_int_equal(refs[0], mapper.ref);
		if (released++ % (ROUNDS / MEETINGS) == 0)
			let_in(&mapper, deadline);
	}
	pvf_store32_release(&mapper.go, 0);
	pthread_join(thread, NULL);
	assert_true(mapper.mapped >= MEETINGS);
	assert_int_equal(mapper.kept, 0);
	assert_int_equal(unshare(&world->one, &region), PVF_UNSHARE_RELEASED);
	print_message("mapped %u times, found busy %u times\n", mapper.mapped, busy);
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
};

int main(void)
{
	return pvf_run_tests("sim", tests, sizeof(tests) / sizeof(tests[0]));
}
