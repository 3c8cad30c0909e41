/* SPDX-License-Identifier: MIT */
#define _POSIX_C_SOURCE 200809L
#include "world.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

struct guest world_guest(struct pvf_sim_domain *domain)
{
	const struct pvf_host *host = pvf_sim_domain_host(domain);

	return (struct guest){.domain = domain, .ops = host->ops, .ctx = host->ctx};
}

struct world *world_new(bool stepped, uint64_t seed)
{
	struct pvf_sim_options options = {
		.size = sizeof(options),
		.stepped = stepped,
		.seed = seed,
		.platform = pvf_sim_posix_platform(),
		.store_ring_start = 0xfffffff0u,
	};
	struct world *world = calloc(1, sizeof(*world));
	struct pvf_sim_domain *one, *two;

	assert_non_null(world);
	world->stepped = stepped;
	assert_int_equal(pvf_sim_create(&options, &world->sim), PVF_OK);
	assert_int_equal(pvf_sim_domain_create(world->sim, 1, &one), PVF_OK);
	assert_int_equal(pvf_sim_domain_create(world->sim, 2, &two), PVF_OK);
	world->zero = world_guest(pvf_sim_domain_find(world->sim, 0));
	world->one = world_guest(one);
	world->two = world_guest(two);
	return world;
}

void world_free(struct world *world)
{
	pvf_sim_destroy(world->sim);
	free(world);
}

int world_threaded(void **state)
{
	*state = world_new(false, 1);
	return 0;
}

int world_stepped(void **state)
{
	*state = world_new(true, 1);
	return 0;
}

void world_nothing_held(struct pvf_sim_domain *domain)
{
	struct pvf_sim_held held;

	pvf_sim_held(domain, &held);
	assert_int_equal(held.grants, 0);
	assert_int_equal(held.grants_mapped, 0);
	assert_int_equal(held.maps, 0);
	assert_int_equal(held.ports, 0);
	assert_int_equal(held.watches, 0);
	assert_int_equal(held.transactions, 0);
	assert_int_equal(held.pages, 0);
	assert_int_equal(held.parked, 0);
	assert_int_equal(held.memory, 0);
}

int world_teardown(void **state)
{
	struct world *world = *state;

	for (uint16_t domid = 0; domid < 16; domid++) {
		struct pvf_sim_domain *domain = pvf_sim_domain_find(world->sim, domid);

		if (domain)
			world_nothing_held(domain);
	}
	world_free(world);
	return 0;
}

uint64_t soon(const struct guest *guest, uint64_t nanoseconds)
{
	return guest->ops->now(guest->ctx) + nanoseconds;
}

void world_rest(struct world *world)
{
	struct timespec moment = {.tv_nsec = 5000000};

	while (pvf_sim_step(world->sim))
		continue;
	if (!world->stepped)
		nanosleep(&moment, NULL);
}

void share(const struct guest *guest, struct pvf_region *region, uint32_t refs[PAGES], uint16_t domid, uint16_t flags)
{
	*region = (struct pvf_region){.refs = refs, .pages = PAGES, .domid = domid, .flags = flags};
	assert_int_equal(guest->ops->share(guest->ctx, region), PVF_OK);
}

int unshare(const struct guest *guest, struct pvf_region *region)
{
	return guest->ops->unshare(guest->ctx, region);
}

uint32_t alloc_port(const struct guest *guest, uint16_t domid, struct pvf_event *event)
{
	uint32_t port = 0;

	assert_int_equal(guest->ops->evtchn_alloc(guest->ctx, domid, event, &port), PVF_OK);
	return port;
}

void notify(const struct guest *guest, uint32_t port)
{
	guest->ops->evtchn_notify(guest->ctx, port);
}

void close_port(const struct guest *guest, uint32_t port)
{
	guest->ops->evtchn_close(guest->ctx, port);
}

static int one_op(const struct guest *guest, struct pvf_store_op *op)
{
	int status = guest->ops->store(guest->ctx, op, 1, 0, soon(guest, 10 * WORLD_SECOND));

	if (op->verb == PVF_STORE_WRITE || op->verb == PVF_STORE_REMOVE)
		assert_int_equal(status, op->status);
	return op->status;
}

int put(const struct guest *guest, const char *path, const char *value)
{
	struct pvf_store_op op = {.verb = PVF_STORE_WRITE, .path = path, .length = (uint32_t)strlen(value)};
	char *copy = strdup(value);
	int status;

	op.value = copy;
	status = one_op(guest, &op);
	free(copy);
	return status;
}

const char *get(const struct guest *guest, const char *path, int *status)
{
	static char value[4097];
	struct pvf_store_op op = {.verb = PVF_STORE_READ, .path = path, .value = value, .capacity = 4096};

	*status = one_op(guest, &op);
	if (*status != PVF_OK)
		return NULL;
	assert_true(op.length <= 4096);
	value[op.length] = '\0';
	return value;
}

int drop(const struct guest *guest, const char *path)
{
	struct pvf_store_op op = {.verb = PVF_STORE_REMOVE, .path = path};

	return one_op(guest, &op);
}

int list(const struct guest *guest, const char *path, char *names, uint32_t room, uint32_t *length)
{
	struct pvf_store_op op = {.verb = PVF_STORE_LIST, .path = path, .value = names, .capacity = room};
	int status = one_op(guest, &op);

	*length = op.length;
	return status;
}

int watch(const struct guest *guest, const char *path, struct pvf_event *event)
{
	return guest->ops->watch(guest->ctx, path, event, soon(guest, 10 * WORLD_SECOND));
}

void unwatch(const struct guest *guest, const char *path, struct pvf_event *event)
{
	guest->ops->unwatch(guest->ctx, path, event, soon(guest, 10 * WORLD_SECOND));
}

int await(const struct guest *guest, struct pvf_event *event, uint32_t sequence)
{
	return guest->ops->wait(guest->ctx, event, sequence, soon(guest, WORLD_SECOND));
}
