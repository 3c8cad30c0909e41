/* SPDX-License-Identifier: MIT */
/* Watches of the xenstore wire client: their events come at any time, also for watches that are gone. */
#include "fake_store.h"
#include "xs_ops.h"

#include <pvfront/status.h>

#include <stdio.h>
#include <string.h>

#include "check.h"

#define DEADLINE(fake) ((fake)->now + 1000u * (uint64_t)FAKE_MS)

static int watch(struct fake *fake, const char *path, struct pvf_event *event)
{
	return pvf_xs_watch(&fake->xs, path, event, DEADLINE(fake));
}

static int unwatch(struct fake *fake, const char *path, struct pvf_event *event)
{
	return pvf_xs_unwatch(&fake->xs, path, event, DEADLINE(fake));
}

static void settle(struct fake *fake)
{
	uint32_t i;

	for (i = 0; i < 64; i++) {
		fake_work(fake);
		pvf_xs_poll(&fake->xs);
	}
}

static uint32_t fired(const struct pvf_event *event)
{
	return pvf_event_sequence(event);
}

static void fires(void **state)
{
	struct fake *fake = fake_new(0xfffffff0, 0xfffffff0);
	struct pvf_event a = {0}, b = {0};

	(void)state;
	assert_int_equal(watch(fake, "a", &a), PVF_OK);
	assert_int_equal(watch(fake, "b", &b), PVF_OK);
	settle(fake);
	/* Once by itself. */
	assert_int_equal(fired(&a), 1);
	assert_int_equal(fired(&b), 1);
	fake_event(fake, "a/below/it", fake->watches[0].token);
	fake_event(fake, "a", fake->watches[0].token);
	settle(fake);
	assert_int_equal(fired(&a), 3);
	assert_int_equal(fired(&b), 1);
	assert_int_equal(fake->xs.statistics.watch_events, 4);
	assert_int_equal(fake->xs.statistics.stray, 0);
	fake_free(fake);
}

/* Events before the answer to their own WATCH, between and inside pipelines, split at every byte. */
static void fires_between_answers(void **state)
{
	uint32_t chunk;

	(void)state;
	for (chunk = 0; chunk < 30; chunk++) {
		struct fake *fake = fake_new(chunk, 0xfffffff0u + chunk);
		struct pvf_event events[3] = {{0}};
		char value[20][8];
		struct pvf_store_op ops[20];
		uint32_t i, sum;

		fake->chunk = chunk;
		fake->order = FAKE_SHUFFLE;
		fake->events_between = true;
		fake_put(fake, "a", "value");
		for (i = 0; i < 3; i++)
			assert_int_equal(watch(fake, "a", &events[i]), PVF_OK);
		for (i = 0; i < 20; i++)
			ops[i] = xs_read("a", value[i], sizeof(value[i]));
		assert_int_equal(pvf_xs_store(&fake->xs, ops, 20, 0, DEADLINE(fake)), PVF_OK);
		for (i = 0; i < 20; i++) {
			assert_int_equal(ops[i].status, PVF_OK);
			assert_memory_equal(value[i], "value", 5);
		}
		settle(fake);
		/* Three by themselves; after each answer one for every watch there was. */
		sum = fired(&events[0]) + fired(&events[1]) + fired(&events[2]);
		assert_int_equal(sum, 3 + 1 + 2 + 3 + 20 * 3);
		assert_int_equal(fake->xs.statistics.stray, 0);
		fake_free(fake);
	}
}

static void forgets_old_watches(void **state)
{
	struct fake *fake = fake_new(0, 0);
	struct pvf_event old = {0}, new = {0};
	char token[32];

	(void)state;
	assert_int_equal(watch(fake, "a", &old), PVF_OK);
	settle(fake);
	memcpy(token, fake->watches[0].token, sizeof(token));
	assert_int_equal(unwatch(fake, "a", &old), PVF_OK);
	assert_false(fake->watches[0].used);
	fake_event(fake, "a", token);
	settle(fake);
	assert_int_equal(fired(&old), 1);
	assert_int_equal(fake->xs.statistics.stray, 1);

	/* The next watch takes the same slot, and is not the old one. */
	assert_int_equal(watch(fake, "a", &new), PVF_OK);
	settle(fake);
	assert_string_not_equal(fake->watches[0].token, token);
	fake_event(fake, "a", token);
	settle(fake);
	assert_int_equal(fired(&new), 1);
	assert_int_equal(fired(&old), 1);
	assert_int_equal(fake->xs.statistics.stray, 2);
	fake_free(fake);
}

static void tells_watches_apart(void **state)
{
	struct fake *fake = fake_new(0, 0);
	struct pvf_event a = {0}, b = {0};
	uint32_t i, k;

	(void)state;
	/* The same path for two events, and two paths for one. */
	assert_int_equal(watch(fake, "x", &a), PVF_OK);
	assert_int_equal(watch(fake, "x", &b), PVF_OK);
	assert_int_equal(watch(fake, "y", &a), PVF_OK);
	for (i = 0; i < 3; i++) {
		for (k = 0; k < i; k++)
			assert_string_not_equal(fake->watches[i].token, fake->watches[k].token);
	}
	assert_int_equal(unwatch(fake, "x", &b), PVF_OK);
	assert_true(fake->watches[0].used);
	assert_false(fake->watches[1].used);
	assert_int_equal(unwatch(fake, "y", &b), PVF_STORE_NOT_FOUND);
	assert_int_equal(unwatch(fake, "y", &a), PVF_OK);
	assert_int_equal(unwatch(fake, "x", &a), PVF_OK);
	assert_int_equal(unwatch(fake, "x", &a), PVF_STORE_NOT_FOUND);
	assert_int_equal(fake->bad, 0);
	fake_free(fake);
}

static void has_as_many_as_the_store(void **state)
{
	struct fake *fake = fake_new(0, 0);
	static struct pvf_event events[PVF_XS_MAX_WATCHES + 1u];
	static char paths[PVF_XS_MAX_WATCHES + 1u][8];
	uint32_t i;

	(void)state;
	for (i = 0; i <= PVF_XS_MAX_WATCHES; i++) {
		snprintf(paths[i], sizeof(paths[i]), "p%u", i);
		assert_int_equal(watch(fake, paths[i], &events[i]), i < PVF_XS_MAX_WATCHES ? PVF_OK : PVF_STORE_QUOTA);
	}
	settle(fake);
	for (i = 0; i < PVF_XS_MAX_WATCHES; i++)
		assert_int_equal(fired(&events[i]), 1);
	assert_int_equal(unwatch(fake, paths[77], &events[77]), PVF_OK);
	assert_int_equal(watch(fake, paths[128], &events[128]), PVF_OK);
	settle(fake);
	assert_int_equal(fired(&events[128]), 1);
	fake_free(fake);
}

static void reports_refused_watches(void **state)
{
	static char long_path[4000];
	struct fake *fake = fake_new(0, 0);
	struct pvf_event event = {0};

	(void)state;
	memset(long_path, 'p', sizeof(long_path) - 1u);
	fake->answer = fake_answer_error;
	fake->error_type = PVF_XS_WATCH;
	fake->error = "EQUOTA";
	fake->error_length = 7;
	assert_int_equal(watch(fake, "a", &event), PVF_STORE_QUOTA);
	assert_null(fake->xs.watches[0].event);
	assert_int_equal(watch(fake, "", &event), PVF_STORE_INVALID);
	assert_int_equal(watch(fake, long_path, &event), PVF_STORE_TOO_BIG);
	assert_int_equal(watch(fake, "a", NULL), PVF_INVALID);
	assert_int_equal(fake->requests, 1);
	fake->answer = NULL;
	assert_int_equal(watch(fake, "a", &event), PVF_OK);
	fake_free(fake);
}

static void drops_events_for_no_watch(void **state)
{
	static const char *const tokens[] = {"",
					     "0",
					     "000.",
					     "000",
					     "zzz.00000001",
					     "000.0000000",
					     "000.000000001",
					     "000-00000001",
					     "fff.00000001",
					     "080.00000001",
					     "001.00000001",
					     "pvf"};
	struct fake *fake = fake_new(0, 0);
	struct pvf_wire_xs_header header = {PVF_XS_WATCH_EVENT, 0, 0, 0};
	struct pvf_event event = {0};
	uint32_t n = sizeof(tokens) / sizeof(tokens[0]);
	uint32_t i;

	(void)state;
	assert_int_equal(watch(fake, "a", &event), PVF_OK);
	settle(fake);
	for (i = 0; i < n; i++)
		fake_event(fake, "a", tokens[i]);
	/* No payload; a path without an end; a path alone. */
	fake_raw(fake, &header, "", 0);
	header.length = 3;
	fake_raw(fake, &header, "abc", 3);
	fake_raw(fake, &header, "ab", 3);
	settle(fake);
	assert_int_equal(fired(&event), 1);
	assert_int_equal(fake->xs.statistics.stray, n + 3u);
	/* A third string, as a later store might send, and a token without its NUL are read all the same. */
	header.length = 17;
	{
		char bytes[17] = "a\0............\0x";

		memcpy(bytes + 2, fake->watches[0].token, 12);
		fake_raw(fake, &header, bytes, 17);
		header.length = 14;
		fake_raw(fake, &header, bytes, 14);
	}
	settle(fake);
	assert_int_equal(fired(&event), 3);
	fake_free(fake);
}

/* Sends an event for every watch with each request, and answers none. */
static bool answer_events(struct fake *fake, const struct pvf_wire_xs_header *header, const char *payload)
{
	(void)header;
	(void)payload;
	fake_events(fake);
	return true;
}

static uint32_t flood_sequence(void *ctx)
{
	struct fake *fake = ctx;

	/* Always something new before the client looks. */
	while (fake->reply_count < 100u)
		fake_events(fake);
	fake_work(fake);
	return fake->sequence;
}

static void keeps_the_deadline_under_a_flood(void **state)
{
	struct fake *fake = fake_new(0, 0);
	struct pvf_event event = {0};
	char value[8];
	struct pvf_store_op op = xs_read("a", value, sizeof(value));
	uint64_t deadline;

	(void)state;
	assert_int_equal(watch(fake, "a", &event), PVF_OK);
	fake->answer = answer_events;
	fake->xs.transport.sequence = flood_sequence;
	deadline = fake->now + FAKE_MS / 10u;
	assert_int_equal(pvf_xs_store(&fake->xs, &op, 1, 0, deadline), PVF_TIMEOUT);
	assert_int_equal(op.status, PVF_TIMEOUT);
	assert_in_range(fake->now, deadline, deadline + FAKE_MS);
	assert_true(fired(&event) > 100);
	fake_free(fake);
}

static void starts_anew_after_a_resume(void **state)
{
	struct fake *fake = fake_new(0, 0);
	struct pvf_event event = {0};
	char token[32];

	(void)state;
	assert_int_equal(watch(fake, "a", &event), PVF_OK);
	memcpy(token, fake->watches[0].token, sizeof(token));
	memset(&fake->page, 0, sizeof(fake->page));
	memset(fake->watches, 0, sizeof(fake->watches));
	pvf_xs_resumed(&fake->xs, &fake->page);
	settle(fake);
	assert_int_equal(unwatch(fake, "a", &event), PVF_STORE_NOT_FOUND);
	assert_int_equal(watch(fake, "a", &event), PVF_OK);
	settle(fake);
	assert_string_not_equal(fake->watches[0].token, token);
	fake_free(fake);
}

static void names_tokens_anew_each_life(void **state)
{
	struct fake *fake = fake_new(0, 0);
	struct pvf_xs_transport transport = fake->xs.transport;
	struct pvf_event event = {0};

	(void)state;
	/* The first client ends without a word, as a boot loader does; the second finds its watch in the store. */
	assert_int_equal(watch(fake, "a", &event), PVF_OK);
	settle(fake);
	fake->now += 3u * FAKE_MS;
	assert_int_equal(pvf_xs_init(&fake->xs, &fake->page, &transport), PVF_OK);
	fake->requests = 0;
	assert_int_equal(watch(fake, "a", &event), PVF_OK);
	settle(fake);
	assert_int_equal(fired(&event), 2);
	fake_event(fake, "a", fake->watches[0].token);
	settle(fake);
	assert_int_equal(fired(&event), 2);
	assert_int_equal(fake->xs.statistics.stray, 1);
	fake_free(fake);
}

int main(void)
{
	static const struct pvf_test tests[] = {
		PVF_TEST(fires, "X02", "unit", "a watch fires once by itself and with every event"),
		PVF_TEST(fires_between_answers, "X02 X09", "unit",
			 "events between and inside pipelines reach their watch"),
		PVF_TEST(forgets_old_watches, "X02", "unit",
			 "events of a watch that is gone reach nobody, also in a reused slot"),
		PVF_TEST(tells_watches_apart, "X02", "unit",
			 "tokens are unique, and a watch is ended by its path and event"),
		PVF_TEST(has_as_many_as_the_store, "X02 X08", "unit",
			 "as many watches as xenstored allows, and no more"),
		PVF_TEST(reports_refused_watches, "X02 X08", "unit", "a refused watch takes no slot"),
		PVF_TEST(drops_events_for_no_watch, "X02 X09", "unit", "events with a token of nobody are dropped"),
		PVF_TEST(keeps_the_deadline_under_a_flood, "X02 X09", "unit", "a flood of events does not hold a call"),
		PVF_TEST(starts_anew_after_a_resume, "X02", "unit", "a resume forgets the watches"),
		PVF_TEST(names_tokens_anew_each_life, "X02", "unit",
			 "watches of an earlier life are not taken for new ones"),
	};

	return pvf_run_tests("unit", tests, sizeof(tests) / sizeof(tests[0]));
}
