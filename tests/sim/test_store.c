/* SPDX-License-Identifier: MIT */
/* The simulated xenstored, through each domain's own wire client. */
#define _POSIX_C_SOURCE 200809L
#include "world.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim_internal.h"

static void expect(const struct guest *guest, const char *path, const char *value)
{
	int status;
	const char *found = get(guest, path, &status);

	assert_int_equal(status, PVF_OK);
	assert_string_equal(found, value);
}

static void expect_status(const struct guest *guest, const char *path, int expected)
{
	int status;

	(void)get(guest, path, &status);
	assert_int_equal(status, expected);
}

static int batch(const struct guest *guest, struct pvf_store_op *ops, uint32_t n)
{
	return guest->ops->store(guest->ctx, ops, n, PVF_STORE_TRANSACTION, soon(guest, 10 * WORLD_SECOND));
}

/* Takes the events of one watch so far; true when there were any. */
static bool heard(const struct guest *guest, struct pvf_event *event, uint32_t *seen)
{
	uint32_t before = *seen;

	(void)guest->ops->wait(guest->ctx, event, before, soon(guest, 20000000));
	*seen = pvf_event_sequence(event);
	return *seen != before;
}

/* ---- nodes and permissions ---- */

static void what_is_written_is_read(void **state)
{
	struct world *world = *state;
	const struct guest *one = &world->one;
	char names[64];
	uint32_t length;

	assert_int_equal(put(one, "a/b/c", "deep"), PVF_OK);
	expect(one, "a/b/c", "deep");
	expect(one, "/local/domain/1/a/b/c", "deep");
	expect(one, "a/b", "");
	assert_int_equal(put(one, "a/b/c", ""), PVF_OK);
	expect(one, "a/b/c", "");
	assert_int_equal(put(one, "a/x", "1"), PVF_OK);
	assert_int_equal(put(one, "a/y", "2"), PVF_OK);
	assert_int_equal(drop(one, "a/x"), PVF_OK);
	assert_int_equal(list(one, "a", names, sizeof(names), &length), PVF_OK);
	assert_int_equal(length, 4);
	assert_memory_equal(names, "b\0y\0", 4);

	assert_int_equal(drop(one, "a"), PVF_OK);
	expect_status(one, "a/b/c", PVF_STORE_NOT_FOUND);
	assert_int_equal(drop(one, "a"), PVF_OK); /* its parent is there */
	assert_int_equal(list(one, "a", names, sizeof(names), &length), PVF_STORE_NOT_FOUND);
}

static void bad_paths_are_refused(void **state)
{
	static const char *const bad[] = {"a//b",    "a/", "/a/", "//", "a b", "a.b", "a\nb", "@introduceDomain",
					  "@nothing"};
	struct world *world = *state;
	char *path = malloc(4000);

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		expect_status(&world->one, bad[i], PVF_STORE_INVALID);
		assert_int_equal(put(&world->one, bad[i], "x"), PVF_STORE_INVALID);
	}
	assert_int_equal(drop(&world->zero, "/"), PVF_STORE_INVALID);

	/* Relative paths up to 2048 bytes, absolute ones up to 3072. */
	assert_non_null(path);
	memset(path, 'p', 4000);
	path[2048] = '\0';
	assert_int_equal(put(&world->zero, path, "long"), PVF_OK);
	expect(&world->zero, path, "long");
	assert_int_equal(drop(&world->zero, path), PVF_OK);
	path[2048] = 'p';
	path[2049] = '\0';
	assert_int_equal(put(&world->zero, path, "long"), PVF_STORE_TOO_BIG);
	memset(path, 'p', 4000);
	path[0] = '/';
	path[3072] = '\0';
	assert_int_equal(put(&world->zero, path, "long"), PVF_OK);
	assert_int_equal(drop(&world->zero, path), PVF_OK);
	path[3072] = 'p';
	path[3073] = '\0';
	assert_int_equal(put(&world->zero, path, "long"), PVF_STORE_TOO_BIG);
	free(path);
}

static void a_domain_keeps_to_what_is_its(void **state)
{
	struct world *world = *state;

	assert_int_equal(put(&world->one, "secret", "s"), PVF_OK);
	/* Whoever may not look is not told what is there. */
	expect_status(&world->two, "/local/domain/1/secret", PVF_STORE_DENIED);
	expect_status(&world->two, "/local/domain/1/nothing", PVF_STORE_DENIED);
	assert_int_equal(put(&world->two, "/local/domain/1/secret", "x"), PVF_STORE_DENIED);
	assert_int_equal(put(&world->two, "/local/domain/1/new", "x"), PVF_STORE_DENIED);
	assert_int_equal(put(&world->two, "/new", "x"), PVF_STORE_DENIED);
	assert_int_equal(drop(&world->two, "/local/domain/1/secret"), PVF_STORE_DENIED);
	expect(&world->one, "secret", "s");

	/* Domain 0 may everything, and what it makes below a domain's home is the domain's. */
	expect(&world->zero, "/local/domain/1/secret", "s");
	assert_int_equal(put(&world->zero, "/local/domain/1/given", "g"), PVF_OK);
	assert_int_equal(put(&world->one, "given", "h"), PVF_OK);

	/* The toolstack's nodes: one owner, one reader. */
	assert_int_equal(sim_store_create(world->sim, "/local/domain/1/shared/key", "v", 1, 1, 2), PVF_OK);
	expect(&world->two, "/local/domain/1/shared/key", "v");
	assert_int_equal(put(&world->two, "/local/domain/1/shared/key", "x"), PVF_STORE_DENIED);
	assert_int_equal(put(&world->one, "shared/key", "w"), PVF_OK);
	expect_status(&world->two, "/local/domain/1/shared/none", PVF_STORE_NOT_FOUND);
	/* What the owner adds has the permissions of what it is in. */
	assert_int_equal(put(&world->one, "shared/more", "m"), PVF_OK);
	expect(&world->two, "/local/domain/1/shared/more", "m");

	assert_int_equal(drop(&world->one, "shared"), PVF_OK);
	assert_int_equal(drop(&world->one, "given"), PVF_OK);
	assert_int_equal(drop(&world->one, "secret"), PVF_OK);
}

static void values_larger_than_the_ring(void **state)
{
	struct world *world = *state;
	char *value = malloc(4097);

	assert_non_null(value);
	for (uint32_t length = 1000; length < 4000; length += 61) {
		for (uint32_t i = 0; i < length; i++)
			value[i] = (char)('!' + (i * 7 + length) % 90);
		value[length] = '\0';
		assert_int_equal(put(&world->zero, "big", value), PVF_OK);
		expect(&world->zero, "big", value);
	}
	assert_int_equal(drop(&world->zero, "big"), PVF_OK);
	free(value);
}

static void listing_a_thousand_children(void **state)
{
	struct world *world = *state;
	char path[64], *names = malloc(16384);
	uint32_t length, seen = 0;

	assert_non_null(names);
	for (int i = 0; i < 1000; i++) {
		snprintf(path, sizeof(path), "/local/domain/0/many/child%d", i);
		assert_int_equal(pvf_sim_store_write(world->sim, path, "", 0), PVF_OK);
	}
	assert_int_equal(list(&world->zero, "many", names, 16384, &length), PVF_OK);
	for (uint32_t at = 0; at < length; at += (uint32_t)strlen(names + at) + 1) {
		snprintf(path, sizeof(path), "child%u", seen++);
		assert_string_equal(names + at, path);
	}
	assert_int_equal(seen, 1000);
	assert_int_equal(drop(&world->zero, "many"), PVF_OK);
	free(names);
}

static void the_toolstack_reaches_in(void **state)
{
	struct world *world = *state;
	uint32_t count = pvf_sim_store_count(world->sim), length = 0;
	char value[8] = "";

	assert_int_equal(pvf_sim_store_write(world->sim, "/tool/some/thing", "12345678901", 11), PVF_OK);
	assert_int_equal(pvf_sim_store_count(world->sim), count + 2);
	assert_int_equal(pvf_sim_store_read(world->sim, "/tool/some/thing", value, 4, &length), PVF_OK);
	assert_int_equal(length, 11);
	assert_string_equal(value, "1234");
	assert_int_equal(pvf_sim_store_read(world->sim, "/tool/none", value, 4, &length), PVF_STORE_NOT_FOUND);
	assert_int_equal(pvf_sim_store_read(world->sim, "relative", value, 4, &length), PVF_STORE_INVALID);
	assert_int_equal(pvf_sim_store_remove(world->sim, "/tool/some"), PVF_OK);
	assert_int_equal(pvf_sim_store_count(world->sim), count);
}

/* ---- transactions ---- */

static void a_batch_is_all_or_nothing(void **state)
{
	struct world *world = *state;
	char buffer[16];
	struct pvf_store_op good[] = {
		{.verb = PVF_STORE_WRITE, .path = "t/a", .value = "1", .length = 1},
		{.verb = PVF_STORE_WRITE, .path = "t/b", .value = "2", .length = 1},
		{.verb = PVF_STORE_READ, .path = "t/a", .value = buffer, .capacity = sizeof(buffer)},
	};
	struct pvf_store_op bad[] = {
		{.verb = PVF_STORE_WRITE, .path = "t/c", .value = "3", .length = 1},
		{.verb = PVF_STORE_WRITE, .path = "/nobody", .value = "4", .length = 1},
	};
	struct pvf_sim_held held;

	assert_int_equal(batch(&world->one, good, 3), PVF_OK);
	assert_int_equal(buffer[0], '1');
	expect(&world->one, "t/b", "2");
	assert_int_equal(batch(&world->one, bad, 2), PVF_STORE_DENIED);
	expect_status(&world->one, "t/c", PVF_STORE_NOT_FOUND);
	pvf_sim_held(world->one.domain, &held);
	assert_int_equal(held.transactions, 0);
	assert_int_equal(drop(&world->one, "t"), PVF_OK);
}

static void a_made_conflict_undoes_all(void **state)
{
	struct world *world = *state;
	struct pvf_sim_faults faults = {.conflicts = 2};
	struct pvf_store_op op = {.verb = PVF_STORE_WRITE, .path = "c", .value = "1", .length = 1};

	pvf_sim_domain_faults(world->one.domain, &faults);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(batch(&world->one, &op, 1), PVF_STORE_CONFLICT);
		expect_status(&world->one, "c", PVF_STORE_NOT_FOUND);
	}
	assert_int_equal(batch(&world->one, &op, 1), PVF_OK);
	expect(&world->one, "c", "1");
	assert_int_equal(drop(&world->one, "c"), PVF_OK);
}

struct counter {
	const struct guest *guest;
	uint32_t rounds, conflicts;
	int failed;
};

/* Read and write in two transactions would lose counts; the conflict is what keeps them from being lost. */
static void *count_up(void *arg)
{
	struct counter *counter = arg;
	const struct guest *guest = counter->guest;
	struct pvf_event never = {0};

	for (uint32_t i = 0; i < counter->rounds;) {
		char before[16] = "", again[16] = "", after[16];
		struct pvf_store_op look = {
			.verb = PVF_STORE_READ, .path = "/shared/n", .value = before, .capacity = 15};
		struct pvf_store_op ops[] = {
			{.verb = PVF_STORE_READ, .path = "/shared/n", .value = again, .capacity = 15},
			{.verb = PVF_STORE_WRITE, .path = "/shared/n", .value = after},
		};
		int status;

		(void)guest->ops->store(guest->ctx, &look, 1, 0, soon(guest, 10 * WORLD_SECOND));
		(void)guest->ops->wait(guest->ctx, &never, 0, soon(guest, 1000));
		ops[1].length = (uint32_t)snprintf(after, sizeof(after), "%d", (int)strtol(before, NULL, 10) + 1);
		status = batch(guest, ops, 2);
		if (status == PVF_STORE_CONFLICT) {
			counter->conflicts++;
			continue;
		}
		if (status != PVF_OK)
			counter->failed = status;
		i++;
	}
	return NULL;
}

static void domains_at_once(void **state)
{
	struct world *world = *state;
	struct counter counters[3] = {{.guest = &world->zero}, {.guest = &world->one}, {.guest = &world->one}};
	pthread_t threads[3];
	struct pvf_sim_held held;

	assert_int_equal(sim_store_create(world->sim, "/shared/n", "0", 1, 1, 2), PVF_OK);
	for (int i = 0; i < 3; i++) {
		counters[i].rounds = 100;
		assert_int_equal(pthread_create(&threads[i], NULL, count_up, &counters[i]), 0);
	}
	for (int i = 0; i < 3; i++) {
		pthread_join(threads[i], NULL);
		assert_int_equal(counters[i].failed, PVF_OK);
	}
	pvf_sim_held(world->one.domain, &held);
	assert_int_equal(held.transactions, 0);
	assert_int_equal(drop(&world->zero, "/shared"), PVF_OK);
}

/* ---- watches ---- */

static void a_watch_fires_when_it_is_set(void **state)
{
	struct world *world = *state;
	struct pvf_event event = {0};
	uint32_t seen = 0;

	assert_int_equal(watch(&world->one, "w", &event), PVF_OK);
	assert_true(heard(&world->one, &event, &seen));
	assert_false(heard(&world->one, &event, &seen));
	assert_int_equal(put(&world->one, "w", "1"), PVF_OK);
	assert_true(heard(&world->one, &event, &seen));
	assert_int_equal(put(&world->one, "w/below/it", "1"), PVF_OK);
	assert_true(heard(&world->one, &event, &seen));
	assert_int_equal(put(&world->one, "wx", "1"), PVF_OK);
	assert_false(heard(&world->one, &event, &seen));
	unwatch(&world->one, "w", &event);
	assert_int_equal(put(&world->one, "w", "2"), PVF_OK);
	assert_false(heard(&world->one, &event, &seen));
	assert_int_equal(drop(&world->one, "w"), PVF_OK);
	assert_int_equal(drop(&world->one, "wx"), PVF_OK);
}

static void removal_from_above_is_heard(void **state)
{
	struct world *world = *state;
	struct pvf_event leaf = {0}, top = {0};
	uint32_t leaf_seen = 0, top_seen = 0;

	assert_int_equal(put(&world->one, "r/s/t", "1"), PVF_OK);
	assert_int_equal(watch(&world->one, "r/s/t", &leaf), PVF_OK);
	assert_int_equal(watch(&world->one, "r", &top), PVF_OK);
	assert_true(heard(&world->one, &leaf, &leaf_seen));
	(void)heard(&world->one, &top, &top_seen);
	assert_int_equal(pvf_sim_store_remove(world->sim, "/local/domain/1/r"), PVF_OK);
	assert_true(heard(&world->one, &leaf, &leaf_seen));
	(void)heard(&world->one, &top, &top_seen);
	assert_int_equal(leaf.sequence, 2);
	assert_int_equal(top.sequence, 2);
	unwatch(&world->one, "r/s/t", &leaf);
	unwatch(&world->one, "r", &top);
}

static void watches_fire_when_a_transaction_ends(void **state)
{
	struct world *world = *state;
	struct pvf_event event = {0};
	uint32_t seen = 0;
	struct pvf_store_op ops[] = {
		{.verb = PVF_STORE_WRITE, .path = "d/a", .value = "1", .length = 1},
		{.verb = PVF_STORE_WRITE, .path = "/nobody", .value = "4", .length = 1},
	};

	assert_int_equal(watch(&world->one, "d", &event), PVF_OK);
	assert_true(heard(&world->one, &event, &seen));
	assert_int_equal(batch(&world->one, ops, 2), PVF_STORE_DENIED);
	assert_false(heard(&world->one, &event, &seen));
	assert_int_equal(batch(&world->one, ops, 1), PVF_OK);
	assert_true(heard(&world->one, &event, &seen));
	unwatch(&world->one, "d", &event);
	assert_int_equal(drop(&world->one, "d"), PVF_OK);
}

static void unreadable_nodes_do_not_fire(void **state)
{
	struct world *world = *state;
	struct pvf_event event = {0};
	uint32_t seen = 0;

	assert_int_equal(watch(&world->two, "/local/domain/1", &event), PVF_OK);
	assert_true(heard(&world->two, &event, &seen));
	assert_int_equal(put(&world->one, "private", "1"), PVF_OK);
	assert_int_equal(drop(&world->one, "private"), PVF_OK);
	assert_false(heard(&world->two, &event, &seen));
	assert_int_equal(sim_store_create(world->sim, "/local/domain/1/open", "v", 1, 1, 2), PVF_OK);
	assert_true(heard(&world->two, &event, &seen));
	assert_int_equal(drop(&world->one, "open"), PVF_OK);
	assert_true(heard(&world->two, &event, &seen));
	unwatch(&world->two, "/local/domain/1", &event);
}

static void spurious_watch_events(void **state)
{
	struct world *world = *state;
	struct pvf_sim_faults faults = {.spurious_watches = 1};
	struct pvf_event event = {0};

	assert_int_equal(watch(&world->one, "s", &event), PVF_OK);
	world_rest(world);
	assert_int_equal(await(&world->one, &event, 0), PVF_OK);
	pvf_sim_domain_faults(world->one.domain, &faults);
	assert_int_equal(put(&world->one, "s", "1"), PVF_OK);
	for (uint32_t seen = event.sequence; event.sequence < 3; seen = event.sequence)
		assert_int_equal(await(&world->one, &event, seen), PVF_OK);
	assert_int_equal(put(&world->one, "s", "2"), PVF_OK);
	assert_int_equal(await(&world->one, &event, 3), PVF_OK);
	assert_int_equal(event.sequence, 4);
	unwatch(&world->one, "s", &event);
	assert_int_equal(drop(&world->one, "s"), PVF_OK);
}

/* ---- quotas ---- */

static void nodes_are_limited(void **state)
{
	struct world *world = *state;
	uint32_t before = pvf_sim_store_count(world->sim) - 1; /* the home is the domain's, too */
	char path[64];
	int status = PVF_OK;

	/* Few to a directory: a directory's list of children counts for its size. */
	for (int n = 0; n < 1100 && status == PVF_OK; n++) {
		snprintf(path, sizeof(path), "many%d/x%d", n / 30, n % 30);
		status = put(&world->one, path, "");
	}
	assert_int_equal(status, PVF_STORE_QUOTA);
	assert_int_equal(pvf_sim_store_count(world->sim) - before, 1000);
	assert_int_equal(put(&world->one, "many0/x0", "still"), PVF_OK);
	assert_int_equal(put(&world->two, "more", ""), PVF_OK);
	assert_int_equal(drop(&world->one, "many0/x0"), PVF_OK);
	assert_int_equal(put(&world->one, "many0/x0", ""), PVF_OK);
	assert_int_equal(put(&world->one, "many0/x99", ""), PVF_STORE_QUOTA);
	assert_int_equal(put(&world->zero, "/local/domain/1/many0/x99", ""), PVF_OK);
}

static void node_size_is_limited(void **state)
{
	struct world *world = *state;
	char *value = malloc(2100);

	assert_non_null(value);
	memset(value, 'v', 2100);
	value[2099] = '\0';
	assert_int_equal(put(&world->one, "fat", value), PVF_STORE_QUOTA);
	expect_status(&world->one, "fat", PVF_STORE_NOT_FOUND);
	assert_int_equal(put(&world->zero, "fat", value), PVF_OK);
	value[2000] = '\0';
	assert_int_equal(put(&world->one, "fat", value), PVF_OK);
	assert_int_equal(drop(&world->one, "fat"), PVF_OK);
	free(value);
}

/* ---- silence ---- */

static void silence_ends_at_the_deadline(void **state)
{
	struct world *world = *state;
	struct pvf_sim_faults faults = {.store_silent = true};
	struct pvf_store_op op = {.verb = PVF_STORE_WRITE, .path = "q", .value = "1", .length = 1};
	int status;

	pvf_sim_domain_faults(world->one.domain, &faults);
	status = world->one.ops->store(world->one.ctx, &op, 1, 0, soon(&world->one, 50000000));
	assert_int_equal(status, PVF_TIMEOUT);
	/* The others are served meanwhile. */
	assert_int_equal(put(&world->two, "q", "2"), PVF_OK);
	expect(&world->two, "q", "2");
	assert_int_equal(drop(&world->two, "q"), PVF_OK);
}

static const struct pvf_test tests[] = {
	BOTH(what_is_written_is_read, "", "nodes are written, read, listed and removed, relative and absolute"),
	BOTH(bad_paths_are_refused, "X08", "paths that are none, or too long, are refused"),
	BOTH(a_domain_keeps_to_what_is_its, "", "a domain reads and writes what it was given, and learns nothing else"),
	BOTH(values_larger_than_the_ring, "X08 X09", "values larger than the ring come through whole"),
	BOTH(listing_a_thousand_children, "X08", "a directory larger than a message is listed whole"),
	BOTH(the_toolstack_reaches_in, "", "the toolstack writes, reads and removes nodes from outside"),
	BOTH(a_batch_is_all_or_nothing, "X01", "a transaction that fails in the middle leaves nothing"),
	BOTH(a_made_conflict_undoes_all, "X01", "a transaction that ends in EAGAIN leaves nothing"),
	THREADED(domains_at_once, "X01", "two domains and three threads use transactions at the same time"),
	BOTH(a_watch_fires_when_it_is_set, "X02", "a watch fires when it is set, and for its node and below"),
	BOTH(removal_from_above_is_heard, "X02", "removing a tree is heard once by a watch on a leaf and once above"),
	BOTH(watches_fire_when_a_transaction_ends, "X02",
	     "a transaction is heard when it has ended, and not when it failed"),
	BOTH(unreadable_nodes_do_not_fire, "X02",
	     "XSA-115: a watch hears nothing of nodes that its domain may not read"),
	BOTH(spurious_watch_events, "X02", "watch events can be doubled"),
	BOTH(nodes_are_limited, "X08", "a domain has a thousand nodes and no more"),
	BOTH(node_size_is_limited, "X08", "an unprivileged domain's node is limited in size"),
	BOTH(silence_ends_at_the_deadline, "",
	     "a store that does not answer ends at the deadline, for one domain only"),
};

int main(void)
{
	return pvf_run_tests("sim", tests, sizeof(tests) / sizeof(tests[0]));
}
