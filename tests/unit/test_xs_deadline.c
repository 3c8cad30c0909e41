/* SPDX-License-Identifier: MIT */
/* The xenstore wire client against a scripted xenstored: limits, arguments, deadlines. */
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

/* The store is there again. */
static void check_serves(struct fake *fake)
{
	char value[16];
	char text[] = "one";
	struct pvf_store_op ops[] = {xs_write("device/a", text), xs_read("device/a", value, sizeof(value))};

	assert_int_equal(run(fake, ops, 2, 0), PVF_OK);
	assert_int_equal(ops[1].length, 3);
	assert_memory_equal(value, "one", 3);
	check_sane(fake);
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

/* ------------------------------------------------------------------ limits */

static void check_limit(const char *path, uint32_t length, bool fits)
{
	static uint8_t value[5000];
	struct fake *fake = fake_new(0, 0);
	struct pvf_store_op op = xs_read(path, value, sizeof(value));
	int expected = fits ? PVF_OK : PVF_STORE_TOO_BIG;

	fake->answer = answer_echo;
	op.verb = PVF_STORE_WRITE;
	op.length = length;
	assert_int_equal(run(fake, &op, 1, 0), expected);
	assert_int_equal(op.status, expected);
	assert_int_equal(fake->requests, fits ? 1 : 0);
	assert_int_equal(fake->xs.statistics.requests, fits ? 1 : 0);
	fake_free(fake);
}

static void keeps_the_limits(void **state)
{
	static char path[4000];

	(void)state;
	memset(path, 'p', sizeof(path) - 1u);
	path[0] = '/';
	path[3072] = '\0';
	check_limit(path, 0, true);
	check_limit(path, 4096 - 3073, true);
	check_limit(path, 4096 - 3073 + 1, false);
	path[3072] = 'p';
	path[3073] = '\0';
	check_limit(path, 0, false);
	path[3073] = 'p';
	check_limit(path, 0, false);
	check_limit(path + 1, 0, false);
	check_limit(path + sizeof(path) - 1 - 2048, 0, true);
	check_limit(path + sizeof(path) - 1 - 2049, 0, false);
	check_limit("a", 4094, true);
	check_limit("a", 4095, false);
	check_limit("a", 0xffffffffu, false);
}

static void refuses_bad_arguments(void **state)
{
	struct fake *fake = fake_new(0, 0);
	char value[8], text[] = "v";
	static char long_path[4000];
	struct pvf_store_op ops[] = {xs_write("a", text), xs_read("", value, sizeof(value)), xs_write("b", text),
				     xs_read(NULL, value, sizeof(value))};

	(void)state;
	memset(long_path, 'p', sizeof(long_path) - 1u);
	/* A read that cannot be sent has its own status; the rest happens. */
	assert_int_equal(run(fake, ops, 4, 0), PVF_OK);
	assert_int_equal(ops[1].status, PVF_STORE_INVALID);
	assert_int_equal(ops[3].status, PVF_STORE_INVALID);
	assert_int_equal(fake->requests, 2);
	/* A transaction with a write that cannot be sent is not begun. */
	ops[2].path = long_path;
	assert_int_equal(run(fake, ops, 4, PVF_STORE_TRANSACTION), PVF_STORE_TOO_BIG);
	assert_int_equal(ops[0].status, PVF_CLOSED);
	assert_int_equal(ops[2].status, PVF_STORE_TOO_BIG);
	assert_int_equal(fake->requests, 2);
	ops[0].verb = 99;
	assert_int_equal(run(fake, ops, 1, 0), PVF_INVALID);
	ops[0] = xs_read("a", NULL, 5);
	assert_int_equal(run(fake, ops, 1, 0), PVF_INVALID);
	assert_int_equal(run(fake, ops, 1, 2), PVF_INVALID);
	assert_int_equal(run(fake, NULL, 1, 0), PVF_INVALID);
	assert_int_equal(run(fake, NULL, 0, PVF_STORE_TRANSACTION), PVF_OK);
	assert_int_equal(fake->requests, 2);
	check_sane(fake);
	fake_free(fake);
}

/* ------------------------------------------------------------------ deadlines */

static void late_answers_are_stray(void **state)
{
	struct fake *fake = fake_new(0, 0);
	char value[3][8], text[] = "v";
	struct pvf_store_op ops[] = {xs_read("a", value[0], 8), xs_write("b", text), xs_list("c", value[1], 8)};

	(void)state;
	memset(value, '#', sizeof(value));
	fake_put(fake, "a", "late");
	fake->silent = true;
	assert_int_equal(run(fake, ops, 3, 0), PVF_TIMEOUT);
	assert_int_equal(ops[0].status, PVF_TIMEOUT);
	assert_int_equal(ops[1].status, PVF_TIMEOUT);
	assert_int_equal(ops[2].status, PVF_TIMEOUT);
	assert_int_equal(fake->requests, 3);
	fake->silent = false;
	fake->awake = true;
	check_serves(fake);
	assert_int_equal(fake->xs.statistics.stray, 3);
	assert_int_equal(value[0][0], '#');
	fake_free(fake);
}

static void continues_a_half_sent_message(void **state)
{
	static uint8_t big[3000];
	struct fake *fake = fake_new(1000, 0xfffffff0);
	char text[] = "v";
	struct pvf_store_op ops[] = {xs_read("big", big, sizeof(big)), xs_write("next", text)};

	(void)state;
	ops[0].verb = PVF_STORE_WRITE;
	ops[0].length = sizeof(big);
	fake->answer = answer_echo;
	fake->deaf = true;
	assert_int_equal(run(fake, ops, 2, 0), PVF_TIMEOUT);
	assert_int_equal(ops[0].status, PVF_TIMEOUT);
	assert_int_equal(ops[1].status, PVF_CLOSED);
	assert_int_equal(fake->page.req_prod - fake->page.req_cons, 1024);
	/* The ring is full and in the middle of a message: nothing else can be said, and that is a timeout too. */
	assert_int_equal(run(fake, ops + 1, 1, 0), PVF_TIMEOUT);
	assert_int_equal(ops[1].status, PVF_CLOSED);
	fake->deaf = false;
	fake->awake = true;
	assert_int_equal(run(fake, ops + 1, 1, 0), PVF_OK);
	assert_int_equal(fake->requests, 2);
	assert_int_equal(fake->xs.statistics.stray, 1);
	check_sane(fake);
	fake_free(fake);
}

static void takes_back_what_has_not_begun(void **state)
{
	static uint8_t big[1024 - 16 - 4];
	struct fake *fake = fake_new(0, 0);
	char text[] = "v";
	struct pvf_store_op ops[] = {xs_read("big", big, sizeof(big)), xs_write("next", text)};

	(void)state;
	ops[0].verb = PVF_STORE_WRITE;
	ops[0].length = sizeof(big);
	fake->answer = answer_echo;
	fake->deaf = true;
	assert_int_equal(run(fake, ops, 2, 0), PVF_TIMEOUT);
	assert_int_equal(ops[0].status, PVF_TIMEOUT);
	/* The first filled the ring to the last byte: the second never happened and never will. */
	assert_int_equal(ops[1].status, PVF_CLOSED);
	fake->deaf = false;
	fake->awake = true;
	pvf_xs_poll(&fake->xs);
	fake_work(fake);
	pvf_xs_poll(&fake->xs);
	assert_int_equal(fake->requests, 1);
	fake_free(fake);
}

/* Falls silent with the request number `fake->hold`. */
static bool answer_then_silent(struct fake *fake, const struct pvf_wire_xs_header *header, const char *payload)
{
	(void)header;
	(void)payload;
	if (fake->requests == fake->error_length)
		fake->silent = true;
	return false;
}

static void ends_abandoned_transactions(void **state)
{
	uint32_t at;

	(void)state;
	/* 1: the start is answered late; 2, 3: the operations. */
	for (at = 1; at <= 3; at++) {
		struct fake *fake = fake_new(0, 0);
		char text[] = "v";
		struct pvf_store_op ops[] = {xs_write("a", text), xs_write("b", text)};

		fake->answer = answer_then_silent;
		fake->error_length = at;
		assert_int_equal(run(fake, ops, 2, PVF_STORE_TRANSACTION), PVF_TIMEOUT);
		assert_int_equal(ops[1].status, at == 1 ? PVF_CLOSED : PVF_TIMEOUT);
		assert_int_equal(fake->transactions_open, 1);
		fake->answer = NULL;
		fake->silent = false;
		fake_work(fake);
		pvf_xs_poll(&fake->xs);
		fake_work(fake);
		pvf_xs_poll(&fake->xs);
		assert_int_equal(fake->transactions_open, 0);
		assert_string_equal(fake->log[fake->requests - 1u].first, "F");
		assert_null(fake_get(fake, "a"));
		assert_int_equal(fake->xs.abort_count, 0);
		check_serves(fake);
		fake_free(fake);
	}
}

static void leaves_an_ended_transaction_alone(void **state)
{
	struct fake *fake = fake_new(0, 0);
	char text[] = "v";
	struct pvf_store_op op = xs_write("a", text);

	(void)state;
	fake->answer = answer_then_silent;
	fake->error_length = 3;
	assert_int_equal(run(fake, &op, 1, PVF_STORE_TRANSACTION), PVF_TIMEOUT);
	fake->silent = false;
	fake_work(fake);
	pvf_xs_poll(&fake->xs);
	fake_work(fake);
	assert_int_equal(fake->requests, 3);
	assert_non_null(fake_get(fake, "a"));
	fake_free(fake);
}

static int wait_dead(void *ctx, uint32_t sequence, uint64_t deadline)
{
	(void)ctx;
	(void)sequence;
	(void)deadline;
	return PVF_CLOSED;
}

static void passes_on_a_dead_transport(void **state)
{
	struct fake *fake = fake_new(0, 0);
	char value[8];
	struct pvf_store_op op = xs_read("a", value, sizeof(value));

	(void)state;
	fake->xs.transport.wait = wait_dead;
	assert_int_equal(run(fake, &op, 1, 0), PVF_CLOSED);
	assert_int_equal(op.status, PVF_CLOSED);
	fake_free(fake);
}

int main(void)
{
	static const struct pvf_test tests[] = {
		PVF_TEST(keeps_the_limits, "X08", "unit",
			 "paths and payloads up to the limits pass, one byte more is refused"),
		PVF_TEST(refuses_bad_arguments, "X08", "unit", "what cannot be sent is refused before anything is"),
		PVF_TEST(late_answers_are_stray, "X09", "unit", "answers after the deadline are dropped"),
		PVF_TEST(continues_a_half_sent_message, "X09", "unit", "a message cut by a deadline is finished later"),
		PVF_TEST(takes_back_what_has_not_begun, "X09", "unit",
			 "a request that never left does not happen later"),
		PVF_TEST(ends_abandoned_transactions, "X01 X09", "unit", "a transaction cut by a deadline is ended"),
		PVF_TEST(leaves_an_ended_transaction_alone, "X01 X09", "unit",
			 "a transaction whose end was sent is not ended again"),
		PVF_TEST(passes_on_a_dead_transport, "X09", "unit", "a transport that fails ends the call"),
	};

	return pvf_run_tests("unit", tests, sizeof(tests) / sizeof(tests[0]));
}
