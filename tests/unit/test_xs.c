/* SPDX-License-Identifier: MIT */
/* The xenstore wire client against a scripted xenstored: batches, splitting, order, transactions. */
#include "fake_store.h"
#include "xs_ops.h"

#include <pvfront/status.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"

#define DEADLINE(fake) ((fake)->now + 1000u * (uint64_t)FAKE_MS)

static int run(struct fake *fake, struct pvf_store_op *ops, uint32_t n, uint32_t flags)
{
	return pvf_xs_store(&fake->xs, ops, n, flags, DEADLINE(fake));
}

static void check_sane(struct fake *fake)
{
	assert_int_equal(fake->xs.broken, PVF_OK);
	assert_int_equal(fake->bad, 0);
	assert_true(fake->most_outstanding <= 16);
}

/* A little of everything, checked. */
static void exercise(struct fake *fake)
{
	char value[16], missing[16], list[64];
	char one[] = "one", two[] = "2";
	struct pvf_store_op ops[] = {
		xs_write("device/a", one),
		xs_write("device/b", two),
		xs_read("device/a", value, sizeof(value)),
		xs_list("device", list, sizeof(list)),
		xs_remove("device/b"),
		xs_read("device/b", missing, sizeof(missing)),
		xs_remove("device/never"),
	};

	assert_int_equal(run(fake, ops, 7, 0), PVF_OK);
	assert_int_equal(ops[0].status, PVF_OK);
	assert_int_equal(ops[1].status, PVF_OK);
	assert_int_equal(ops[2].status, PVF_OK);
	assert_int_equal(ops[2].length, 3);
	assert_memory_equal(value, "one", 3);
	assert_int_equal(ops[3].status, PVF_OK);
	assert_int_equal(ops[3].length, 4);
	assert_memory_equal(list, "a\0b", 4);
	assert_int_equal(ops[4].status, PVF_OK);
	assert_int_equal(ops[5].status, PVF_STORE_NOT_FOUND);
	assert_int_equal(ops[6].status, PVF_OK);
	check_sane(fake);
}

static void starts_anywhere(void **state)
{
	static const uint32_t starts[] = {0, 1, 1007, 1008, 1023, 1024, 0x7fffffff, 0xfffffff0, 0xfffffc00, 0xffffffff};
	const uint32_t n = sizeof(starts) / sizeof(starts[0]);
	uint32_t i;

	(void)state;
	for (i = 0; i < n * n; i++) {
		struct fake *fake = fake_new(starts[i % n], starts[i / n]);

		exercise(fake);
		exercise(fake);
		fake_free(fake);
	}
}

static void split_anywhere(void **state)
{
	uint32_t chunk;

	(void)state;
	for (chunk = 1; chunk < 40; chunk++) {
		struct fake *fake = fake_new(0xfffffff0u - chunk, 0xfffffff0u + chunk);

		fake->chunk = chunk;
		exercise(fake);
		fake_free(fake);
	}
}

/* Keeps the last value written, of any size up to the protocol's, and reads it back for any path. */
static uint8_t echo_value[PVF_WIRE_XS_PAYLOAD_MAX];
static uint32_t echo_length;

static bool answer_echo(struct fake *fake, const struct pvf_wire_xs_header *header, const char *payload)
{
	uint32_t path_size = (uint32_t)strlen(payload) + 1u;

	if (header->type == PVF_XS_READ) {
		fake_reply(fake, header->type, header->req_id, 0, echo_value, echo_length);
		return true;
	}
	if (header->type != PVF_XS_WRITE)
		return false;
	echo_length = header->length - path_size;
	memcpy(echo_value, payload + path_size, echo_length);
	fake_reply(fake, header->type, header->req_id, 0, "OK", 3);
	return true;
}

static void carries_the_largest(void **state)
{
	static uint8_t value[4096], back[4096];
	struct pvf_store_op ops[] = {xs_read("p", back, 0), xs_read("p", back, sizeof(back))};
	struct fake *fake = fake_new(77, 0xfffffff0);
	uint32_t i;

	(void)state;
	for (i = 0; i < sizeof(value); i++)
		value[i] = (uint8_t)(i * 7u + (i >> 8));
	fake->answer = answer_echo;
	fake->chunk = 100;
	ops[0].verb = PVF_STORE_WRITE;
	ops[0].value = value;
	ops[0].length = sizeof(value) - 2u;
	assert_int_equal(run(fake, ops, 2, 0), PVF_OK);
	assert_int_equal(ops[1].length, sizeof(value) - 2u);
	assert_memory_equal(back, value, sizeof(value) - 2u);

	/* The other way round a full payload fits too: 4096 bytes of value. */
	memcpy(echo_value, value, sizeof(value));
	echo_length = sizeof(value);
	assert_int_equal(run(fake, ops + 1, 1, 0), PVF_OK);
	assert_int_equal(ops[1].length, sizeof(value));
	assert_memory_equal(back, value, sizeof(value));
	check_sane(fake);
	fake_free(fake);
}

static void reports_the_whole_length(void **state)
{
	struct fake *fake = fake_new(0, 0);
	char value[8] = "#######";
	struct pvf_store_op ops[] = {xs_read("p", value, 3), xs_read("p", NULL, 0), xs_read("empty", NULL, 0),
				     xs_read("p", value + 4, 0)};

	(void)state;
	fake_put(fake, "p", "12345");
	fake_put(fake, "empty", "");
	assert_int_equal(run(fake, ops, 4, 0), PVF_OK);
	assert_int_equal(ops[0].status, PVF_STORE_TOO_BIG);
	assert_int_equal(ops[0].length, 5);
	assert_string_equal(value, "123####");
	assert_int_equal(ops[1].status, PVF_STORE_TOO_BIG);
	assert_int_equal(ops[1].length, 5);
	assert_int_equal(ops[2].status, PVF_OK);
	assert_int_equal(ops[2].length, 0);
	assert_int_equal(ops[3].length, 5);
	fake_free(fake);
}

/* 200 reads whose answers tell which request they belong to. */
static void check_many(struct fake *fake)
{
	static char paths[200][16];
	static char values[200][16];
	static struct pvf_store_op ops[200];
	uint32_t i;

	for (i = 0; i < 20; i++) {
		char path[16], value[16];

		snprintf(path, sizeof(path), "k%u", i);
		snprintf(value, sizeof(value), "v%u", i * 31u);
		fake_put(fake, path, value);
	}
	for (i = 0; i < 200; i++) {
		snprintf(paths[i], sizeof(paths[i]), "k%u", i % 23u);
		ops[i] = xs_read(paths[i], values[i], sizeof(values[i]));
	}
	assert_int_equal(run(fake, ops, 200, 0), PVF_OK);
	for (i = 0; i < 200; i++) {
		char value[16];

		snprintf(value, sizeof(value), "v%u", i % 23u * 31u);
		assert_int_equal(ops[i].status, i % 23u < 20u ? PVF_OK : PVF_STORE_NOT_FOUND);
		if (i % 23u < 20u) {
			assert_int_equal(ops[i].length, strlen(value));
			assert_memory_equal(values[i], value, strlen(value));
		}
	}
	check_sane(fake);
}

static void answers_in_any_order(void **state)
{
	uint32_t i;

	(void)state;
	for (i = 0; i < 60; i++) {
		struct fake *fake = fake_new(i * 100u, 0xfffffff0u - i);

		fake->seed = i;
		fake->order = i % 3u == 0 ? FAKE_REVERSE : FAKE_SHUFFLE;
		fake->hold = i % 17u;
		fake->chunk = i % 5u * 11u;
		check_many(fake);
		fake_free(fake);
	}
}

static void pipelines(void **state)
{
	struct fake *fake = fake_new(0, 0);

	(void)state;
	check_many(fake);
	/* 200 requests, 16 at a time: a round trip each, and the last. */
	assert_int_equal(fake->most_outstanding, 16);
	assert_in_range(fake->xs.statistics.round_trips, 1, 14);
	assert_int_equal(fake->xs.statistics.requests, 200);
	fake_free(fake);
}

static void counts_round_trips(void **state)
{
	struct fake *fake = fake_new(0, 0);
	struct pvf_xs_statistics *statistics = &fake->xs.statistics;
	char value[8], text[] = "x";
	struct pvf_store_op ops[16];
	uint32_t i;

	(void)state;
	for (i = 0; i < 16; i++)
		ops[i] = xs_read("p", value, sizeof(value));
	fake->chunk = 5;
	assert_int_equal(run(fake, ops, 16, 0), PVF_OK);
	assert_int_equal(statistics->round_trips, 1);
	/* Only reads: the end goes out with them. */
	assert_int_equal(run(fake, ops, 3, PVF_STORE_TRANSACTION), PVF_OK);
	assert_int_equal(statistics->round_trips, 3);
	ops[0] = xs_write("p", text);
	assert_int_equal(run(fake, ops, 3, PVF_STORE_TRANSACTION), PVF_OK);
	assert_int_equal(statistics->round_trips, 6);
	fake_free(fake);
}

/* Requests and answers far larger than the rings, in both directions at once, and events on top. */
static void never_deadlocks(void **state)
{
	static uint8_t values[40][3000];
	static struct pvf_store_op ops[40];
	uint32_t chunk;

	(void)state;
	for (chunk = 0; chunk < 3; chunk++) {
		struct fake *fake = fake_new(0xfffffff0, 5);
		struct pvf_event event = {0};
		uint32_t i;

		assert_int_equal(pvf_xs_watch(&fake->xs, "w", &event, DEADLINE(fake)), PVF_OK);
		memset(echo_value, 'e', sizeof(echo_value));
		fake->answer = answer_echo;
		fake->events_between = true;
		fake->chunk = chunk * 500u;
		for (i = 0; i < 40; i++) {
			ops[i] = xs_read("p", values[i], sizeof(values[i]));
			ops[i].verb = i % 2u ? PVF_STORE_READ : PVF_STORE_WRITE;
			ops[i].length = ops[i].capacity;
		}
		assert_int_equal(pvf_xs_store(&fake->xs, ops, 40, 0, PVF_FOREVER), PVF_OK);
		for (i = 1; i < 40; i += 2)
			assert_int_equal(ops[i].length, 3000);
		check_sane(fake);
		fake_free(fake);
	}
}

/* ------------------------------------------------------------------ transactions */

static void commits(void **state)
{
	struct fake *fake = fake_new(0, 0);
	char value[8], text[] = "new";
	struct pvf_store_op ops[] = {xs_write("a", text), xs_read("a", value, sizeof(value)), xs_remove("gone")};
	uint32_t i;

	(void)state;
	assert_int_equal(run(fake, ops, 3, PVF_STORE_TRANSACTION), PVF_OK);
	assert_memory_equal(value, "new", 3);
	assert_int_equal(fake->requests, 5);
	assert_int_equal(fake->log[0].header.type, PVF_XS_TRANSACTION_START);
	assert_int_equal(fake->log[0].header.tx_id, 0);
	for (i = 1; i < 5; i++)
		assert_int_equal(fake->log[i].header.tx_id, 1);
	assert_int_equal(fake->log[4].header.type, PVF_XS_TRANSACTION_END);
	assert_string_equal(fake->log[4].first, "T");
	assert_int_equal(fake->transactions_open, 0);
	assert_non_null(fake_get(fake, "a"));
	fake_free(fake);
}

static void reports_conflicts(void **state)
{
	struct fake *fake = fake_new(0, 0);
	char text[] = "new";
	struct pvf_store_op ops[] = {xs_write("a", text)};
	uint32_t i;

	(void)state;
	fake->conflicts = 7;
	for (i = 0; i < 7; i++) {
		assert_int_equal(run(fake, ops, 1, PVF_STORE_TRANSACTION), PVF_STORE_CONFLICT);
		assert_null(fake_get(fake, "a"));
	}
	assert_int_equal(run(fake, ops, 1, PVF_STORE_TRANSACTION), PVF_OK);
	assert_non_null(fake_get(fake, "a"));
	assert_int_equal(fake->transactions_open, 0);
	fake_free(fake);
}

/* Refuses WRITE of the path "bad". */
static bool answer_bad(struct fake *fake, const struct pvf_wire_xs_header *header, const char *payload)
{
	if (header->type != PVF_XS_WRITE || strcmp(payload, "bad") != 0)
		return false;
	fake_reply(fake, PVF_XS_ERROR, header->req_id, header->tx_id, "EACCES", 7);
	return true;
}

static void undoes_a_failed_transaction(void **state)
{
	struct fake *fake = fake_new(0, 0);
	char text[] = "new";
	struct pvf_store_op ops[40];
	uint32_t i;

	(void)state;
	fake->answer = answer_bad;
	for (i = 0; i < 40; i++)
		ops[i] = xs_write(i == 2 ? "bad" : "good", text);
	assert_int_equal(run(fake, ops, 40, PVF_STORE_TRANSACTION), PVF_STORE_DENIED);
	assert_int_equal(ops[2].status, PVF_STORE_DENIED);
	/* What had not been sent when the refusal came was not reached. */
	assert_int_equal(ops[39].status, PVF_CLOSED);
	assert_string_equal(fake->log[fake->requests - 1u].first, "F");
	assert_null(fake_get(fake, "good"));
	assert_int_equal(fake->transactions_open, 0);
	assert_string_equal(fake->xs.last_error, "EACCES");

	/* Without a transaction the others happen, and the first failure is returned. */
	assert_int_equal(run(fake, ops, 40, 0), PVF_STORE_DENIED);
	assert_int_equal(ops[39].status, PVF_OK);
	assert_non_null(fake_get(fake, "good"));
	fake_free(fake);
}

static void refused_transaction_sends_nothing_else(void **state)
{
	struct fake *fake = fake_new(0, 0);
	char text[] = "new";
	struct pvf_store_op ops[] = {xs_write("a", text), xs_remove("b")};

	(void)state;
	fake->answer = fake_answer_error;
	fake->error_type = PVF_XS_TRANSACTION_START;
	fake->error = "ENOSPC";
	fake->error_length = 7;
	assert_int_equal(run(fake, ops, 2, PVF_STORE_TRANSACTION), PVF_STORE_QUOTA);
	assert_int_equal(ops[0].status, PVF_CLOSED);
	assert_int_equal(ops[1].status, PVF_CLOSED);
	assert_int_equal(fake->requests, 1);
	fake_free(fake);
}

/* ------------------------------------------------------------------ all at once */

#define MODEL_PATHS 8u

struct model_node {
	bool used;
	char value[12];
};

static void model_batch(struct fake *fake, struct model_node *model, uint32_t *seed, uint32_t flags)
{
	static const char *const paths[MODEL_PATHS] = {"m0", "m1", "m2", "m3", "m4", "m5", "m6", "m7"};
	static char values[64][12];
	static struct pvf_store_op ops[64];
	int expected[64];
	char wanted[64][12];
	uint32_t n, i;

	*seed = *seed * 1103515245u + 12345u;
	n = 1u + (*seed >> 16) % 64u;
	for (i = 0; i < n; i++) {
		struct model_node *node;
		uint32_t which;

		*seed = *seed * 1103515245u + 12345u;
		which = (*seed >> 16) % MODEL_PATHS;
		node = &model[which];
		expected[i] = PVF_OK;
		switch ((*seed >> 24) % 3u) {
		case 0:
			snprintf(values[i], sizeof(values[i]), "%u", *seed >> 12);
			ops[i] = xs_write(paths[which], values[i]);
			memcpy(node->value, values[i], sizeof(node->value));
			node->used = true;
			break;
		case 1:
			ops[i] = xs_remove(paths[which]);
			node->used = false;
			break;
		default:
			ops[i] = xs_read(paths[which], values[i], sizeof(values[i]));
			expected[i] = node->used ? PVF_OK : PVF_STORE_NOT_FOUND;
			memcpy(wanted[i], node->value, sizeof(node->value));
		}
	}
	assert_int_equal(run(fake, ops, n, flags), PVF_OK);
	for (i = 0; i < n; i++) {
		assert_int_equal(ops[i].status, expected[i]);
		if (ops[i].verb == PVF_STORE_READ && expected[i] == PVF_OK) {
			assert_int_equal(ops[i].length, strlen(wanted[i]));
			assert_memory_equal(values[i], wanted[i], strlen(wanted[i]));
		}
	}
}

static void behaves_as_a_plain_table(void **state)
{
	uint32_t run_seed;

	(void)state;
	for (run_seed = 0; run_seed < 300; run_seed++) {
		struct fake *fake = fake_new(run_seed * 0x9e3779b9u, run_seed * 0x85ebca6bu);
		struct model_node model[MODEL_PATHS];
		struct pvf_event event = {0};
		uint32_t seed = run_seed;
		uint32_t i;

		memset(model, 0, sizeof(model));
		fake->seed = run_seed;
		fake->chunk = run_seed % 4u ? run_seed % 97u : 0;
		fake->order = run_seed % 3u == 0 ? FAKE_FIFO : run_seed % 3u == 1 ? FAKE_REVERSE : FAKE_SHUFFLE;
		fake->hold = run_seed % 11u;
		assert_int_equal(pvf_xs_watch(&fake->xs, "m1", &event, DEADLINE(fake)), PVF_OK);
		fake->events_between = run_seed % 2u;
		for (i = 0; i < 6; i++)
			model_batch(fake, model, &seed, i % 2u ? PVF_STORE_TRANSACTION : 0);
		assert_int_equal(fake->xs.statistics.stray, 0);
		check_sane(fake);
		fake_free(fake);
	}
}

int main(void)
{
	static const struct pvf_test tests[] = {
		PVF_TEST(starts_anywhere, "X09", "unit",
			 "the store's rings may stand at any index when the client starts"),
		PVF_TEST(split_anywhere, "X09", "unit", "messages split at any byte are put together"),
		PVF_TEST(carries_the_largest, "X08 X09", "unit", "the largest payload the protocol has goes both ways"),
		PVF_TEST(reports_the_whole_length, "X08", "unit",
			 "a value larger than the buffer is reported with its whole length"),
		PVF_TEST(answers_in_any_order, "X09", "unit", "answers in any order find their request"),
		PVF_TEST(pipelines, "X08 X09", "unit", "a batch is pipelined, sixteen requests at a time"),
		PVF_TEST(counts_round_trips, "X09", "unit", "dependent round trips are counted, not waits"),
		PVF_TEST(never_deadlocks, "X09", "unit", "full rings in both directions do not deadlock"),
		PVF_TEST(commits, "X01", "unit", "a transaction carries its number in every request and is committed"),
		PVF_TEST(reports_conflicts, "X01", "unit",
			 "a conflict is reported every time and nothing has happened"),
		PVF_TEST(undoes_a_failed_transaction, "X01", "unit", "a transaction with a refused write is undone"),
		PVF_TEST(refused_transaction_sends_nothing_else, "X08", "unit",
			 "when the transaction quota is used up nothing else is sent"),
		PVF_TEST(behaves_as_a_plain_table, "X01 X02 X09", "unit",
			 "random batches under random splitting, order and events act as a plain table"),
	};

	return pvf_run_tests("unit", tests, sizeof(tests) / sizeof(tests[0]));
}
