/* SPDX-License-Identifier: MIT */
/* Domains that fail, die and resume, and who runs when. */
#define _POSIX_C_SOURCE 200809L
#include "world.h"

#include <stdlib.h>
#include <string.h>

#include "machine.h"

/* ---- host calls ---- */

/* What a program does at its start, undone as far as it came; the status of what failed. */
static int start_up(const struct guest *guest)
{
	uint32_t refs[PAGES], port;
	struct pvf_region region = {.refs = refs, .pages = PAGES, .domid = 2};
	struct pvf_event event = {0};
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
	static const int expected[] = {PVF_NO_MEMORY,       PVF_NO_SPACE,        PVF_NO_SPACE,
				       PVF_STORE_NO_MEMORY, PVF_STORE_NO_MEMORY, PVF_OK};
	struct world *world = *state;
	uint32_t before = pvf_sim_domain_calls(world->one.domain);

	assert_int_equal(start_up(&world->one), PVF_OK);
	assert_int_equal(pvf_sim_domain_calls(world->one.domain) - before, 5);
	for (uint32_t n = 0; n < 6; n++) {
		struct pvf_sim_faults faults = {.fail_call = n + 1};

		pvf_sim_domain_faults(world->one.domain, &faults);
		assert_int_equal(start_up(&world->one), expected[n]);
		world_nothing_held(world->one.domain);
	}
	pvf_sim_domain_faults(world->one.domain, &(struct pvf_sim_faults){0});
	assert_int_equal(drop(&world->one, "key"), PVF_OK);
}

/* ---- lives ---- */

static void a_killed_domain_lets_go(void **state)
{
	struct world *world = *state;
	struct pvf_event near = {0}, far = {0}, watched = {0};
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
	struct pvf_event near = {0}, far = {0}, watched = {0};
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
	struct pvf_event never = {0};
	uint32_t length = 0;

	memset(noisy, 0, sizeof(noisy));
	for (uint32_t i = 0; i < 4; i++) {
		noisy[i] = (struct noisy){.id = i, .left = 20, .log = log, .length = &length};
		noisy[i].actor.work = noisy_work;
		noisy[i].actor.arg = &noisy[i];
		assert_int_equal(sim_actor_add(i % 2 ? world->zero.domain : world->two.domain, &noisy[i].actor),
				 PVF_OK);
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
	struct pvf_event event = {0};
	struct ticker ticker = {.world = world, .event = &event};
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

/* ---- memory ---- */

/* The platform, with an allocation that fails. */
struct starved {
	const struct pvf_sim_platform *real;
	uint32_t fail_at, allocated, blocks;
};

static void *starved_alloc(void *ctx, size_t bytes)
{
	struct starved *starved = ctx;
	void *memory;

	if (++starved->allocated == starved->fail_at)
		return NULL;
	memory = starved->real->alloc(NULL, bytes);
	starved->blocks += memory != NULL;
	return memory;
}

static void starved_free(void *ctx, void *memory, size_t bytes)
{
	struct starved *starved = ctx;

	starved->blocks--;
	starved->real->free(NULL, memory, bytes);
}

/* A machine, a domain, a transaction, a watch: true when nothing failed. */
static bool small_life(const struct pvf_sim_options *options)
{
	struct pvf_store_op ops[] = {{.verb = PVF_STORE_WRITE, .path = "a/b/c", .value = "1", .length = 1},
				     {.verb = PVF_STORE_REMOVE, .path = "a"}};
	struct pvf_event event = {0};
	struct pvf_sim_domain *domain;
	struct pvf_sim *sim;
	struct guest guest;
	bool well;

	if (pvf_sim_create(options, &sim) != PVF_OK)
		return false;
	well = pvf_sim_domain_create(sim, 1, &domain) == PVF_OK;
	if (well) {
		guest = world_guest(domain);
		for (uint32_t n = 1; n <= 2; n++)
			well &= guest.ops->store(guest.ctx, ops, n, PVF_STORE_TRANSACTION,
						 soon(&guest, WORLD_SECOND)) == PVF_OK;
		well &= guest.ops->watch(guest.ctx, "a", &event, soon(&guest, WORLD_SECOND)) == PVF_OK;
		unwatch(&guest, "a", &event);
	}
	pvf_sim_destroy(sim);
	return well;
}

static void memory_may_run_out_anywhere(void **state)
{
	struct starved starved = {.real = pvf_sim_posix_platform()};
	struct pvf_sim_platform platform = {
		.size = sizeof(platform), .ctx = &starved, .alloc = starved_alloc, .free = starved_free};
	struct pvf_sim_options options = {.size = sizeof(options), .stepped = true, .platform = &platform};
	uint32_t needed;

	(void)state;
	assert_true(small_life(&options));
	assert_int_equal(starved.blocks, 0);
	needed = starved.allocated;
	assert_true(needed > 50);
	for (uint32_t n = 1; n <= needed; n++) {
		starved.allocated = 0;
		starved.fail_at = n;
		(void)small_life(&options);
		assert_int_equal(starved.blocks, 0);
	}
}

static const struct pvf_test tests[] = {
	PVF_TEST(memory_may_run_out_anywhere, "", "sim-stepped",
		 "whichever allocation of the machine's fails, nothing is left behind"),
	BOTH(every_host_call_can_fail, "", "the Nth host call fails and leaves nothing"),
	BOTH(a_killed_domain_lets_go, "",
	     "a killed domain's mappings, ports and watches end, its granted pages live on"),
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
