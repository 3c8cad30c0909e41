/* SPDX-License-Identifier: MIT */
/* What a xenstored may answer: errors by name, long lists in parts, and things that are not the protocol's. */
#include "fake_store.h"
#include "xs_ops.h"

#include <pvfront/status.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <xen/io/xs_wire.h>

#include "check.h"

#define DEADLINE(fake) ((fake)->now + 1000u * (uint64_t)FAKE_MS)

static int run(struct fake *fake, struct pvf_store_op *ops, uint32_t n, uint32_t flags)
{
	return pvf_xs_store(&fake->xs, ops, n, flags, DEADLINE(fake));
}

/* ------------------------------------------------------------------ errors */

struct error_case {
	const char *text;
	uint32_t length;
	int status;
	const char *shown;
};

#define NAMED(text, status) \
	{ \
		text, sizeof(text), status, text \
	}
#define BYTES(text, status, shown) \
	{ \
		text, sizeof(text) - 1u, status, shown \
	}

static const struct error_case error_cases[] = {
	NAMED("EINVAL", PVF_STORE_INVALID),
	NAMED("EACCES", PVF_STORE_DENIED),
	NAMED("EEXIST", PVF_STORE_EXISTS),
	NAMED("EISDIR", PVF_STORE_DIRECTORY),
	NAMED("ENOENT", PVF_STORE_NOT_FOUND),
	NAMED("ENOMEM", PVF_STORE_NO_MEMORY),
	NAMED("ENOSPC", PVF_STORE_QUOTA),
	NAMED("EIO", PVF_STORE_IO),
	NAMED("ENOTEMPTY", PVF_STORE_NOT_EMPTY),
	NAMED("ENOSYS", PVF_STORE_UNKNOWN_OP),
	NAMED("EROFS", PVF_STORE_READ_ONLY),
	NAMED("EBUSY", PVF_STORE_BUSY),
	NAMED("EAGAIN", PVF_STORE_CONFLICT),
	NAMED("EISCONN", PVF_STORE_CONNECTED),
	NAMED("E2BIG", PVF_STORE_TOO_BIG),
	NAMED("EPERM", PVF_STORE_PERMISSION),
	NAMED("EQUOTA", PVF_STORE_QUOTA),
	NAMED("ETOMORROW", PVF_STORE_OTHER),
	NAMED("eio", PVF_STORE_OTHER),
	NAMED("", PVF_STORE_OTHER),
	BYTES("", PVF_STORE_OTHER, ""),
	BYTES("ENOENT", PVF_STORE_NOT_FOUND, "ENOENT"),
	BYTES("ENOEN", PVF_STORE_OTHER, "ENOEN"),
	BYTES("ENOENTS", PVF_STORE_OTHER, "ENOENTS"),
	BYTES("EIO\0junk", PVF_STORE_IO, "EIO"),
	BYTES("E\x1b[2J\xff\n", PVF_STORE_OTHER, "E?[2J??"),
	BYTES("a text that is far longer than the room there is", PVF_STORE_OTHER, "a text that is far longer than "),
};

#define ERROR_CASES (sizeof(error_cases) / sizeof(error_cases[0]))

static void maps_errors(void **state)
{
	size_t i;

	(void)state;
	for (i = 0; i < ERROR_CASES; i++) {
		const struct error_case *c = &error_cases[i];
		struct fake *fake = fake_new(0, 0xfffffff0);
		char value[8], text[] = "v";
		struct pvf_store_op ops[] = {xs_read("a", value, sizeof(value)), xs_write("b", text)};

		fake->answer = fake_answer_error;
		fake->error = c->text;
		fake->error_length = c->length;
		fake->error_type = PVF_XS_READ;
		assert_int_equal(run(fake, ops, 2, 0), PVF_OK);
		assert_int_equal(ops[0].status, c->status);
		assert_int_equal(ops[0].length, 0);
		assert_string_equal(fake->xs.last_error, c->shown);
		fake->error_type = PVF_XS_WRITE;
		assert_int_equal(run(fake, ops, 2, 0), c->status);
		assert_int_equal(ops[1].status, c->status);
		assert_int_equal(fake->xs.broken, PVF_OK);
		fake_free(fake);
	}
}

static void knows_every_error_of_xen(void **state)
{
	size_t i, k;

	(void)state;
	for (i = 0; i < sizeof(xsd_errors) / sizeof(xsd_errors[0]); i++) {
		const char *text = xsd_errors[i].errstring;

		assert_int_not_equal(pvf_xs_error_status(text, (uint32_t)strlen(text)), PVF_STORE_OTHER);
		for (k = 0; k < i; k++)
			assert_int_not_equal(pvf_xs_error_status(text, (uint32_t)strlen(text)),
					     pvf_xs_error_status(xsd_errors[k].errstring,
								 (uint32_t)strlen(xsd_errors[k].errstring)));
	}
}

static void refuses_a_transaction_by_name(void **state)
{
	size_t i;

	(void)state;
	for (i = 0; i < ERROR_CASES; i++) {
		struct fake *fake = fake_new(0, 0);
		char text[] = "v";
		struct pvf_store_op op = xs_write("a", text);

		fake->answer = fake_answer_error;
		fake->error = error_cases[i].text;
		fake->error_length = error_cases[i].length;
		fake->error_type = PVF_XS_TRANSACTION_END;
		assert_int_equal(run(fake, &op, 1, PVF_STORE_TRANSACTION), error_cases[i].status);
		fake_free(fake);
	}
}

/* ------------------------------------------------------------------ lists */

/* A directory of so many children with names of different lengths. */
static void make_big(struct fake *fake, uint32_t children)
{
	uint32_t i;

	fake->big = malloc(children * 32u);
	assert_non_null(fake->big);
	fake->big_path = "big";
	fake->big_generation = 41;
	for (i = 0; i < children; i++)
		fake->big_length +=
			(uint32_t)sprintf(fake->big + fake->big_length, "child%0*u", (int)(3u + i % 20u), i) + 1u;
}

static void end_big(struct fake *fake)
{
	assert_int_equal(fake->xs.broken, PVF_OK);
	assert_int_equal(fake->bad, 0);
	free(fake->big);
	fake_free(fake);
}

static void lists_large_directories(void **state)
{
	static const uint32_t children[] = {1, 100, 220, 240, 300, 1000, 3000};
	static char list[100000];
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(children) / sizeof(children[0]); i++) {
		struct fake *fake = fake_new(0xfffffff0, 100);
		struct pvf_store_op op = xs_list("big", list, sizeof(list));

		make_big(fake, children[i]);
		fake->chunk = (uint32_t)i * 100u;
		assert_int_equal(run(fake, &op, 1, i % 2u ? PVF_STORE_TRANSACTION : 0), PVF_OK);
		assert_int_equal(op.status, PVF_OK);
		assert_int_equal(op.length, fake->big_length);
		assert_memory_equal(list, fake->big, fake->big_length);
		assert_true((fake->big_parts > 0) == (fake->big_length > 4096));
		end_big(fake);
	}
}

static void lists_whole_length_of_large_directories(void **state)
{
	struct fake *fake = fake_new(0, 0);
	char list[5001];
	struct pvf_store_op op = xs_list("big", list, 5000);

	(void)state;
	make_big(fake, 1000);
	list[5000] = '#';
	assert_int_equal(run(fake, &op, 1, 0), PVF_OK);
	assert_int_equal(op.status, PVF_STORE_TOO_BIG);
	assert_int_equal(op.length, fake->big_length);
	assert_memory_equal(list, fake->big, 5000);
	assert_int_equal(list[5000], '#');
	end_big(fake);
}

static void lists_changing_directories(void **state)
{
	static char list[100000];
	uint32_t part;

	(void)state;
	for (part = 1; part < 6; part++) {
		struct fake *fake = fake_new(0, 0);
		struct pvf_store_op op = xs_list("big", list, sizeof(list));

		make_big(fake, 1000);
		fake->big_changes_at = part;
		assert_int_equal(run(fake, &op, 1, 0), PVF_OK);
		assert_int_equal(op.status, PVF_OK);
		assert_int_equal(op.length, fake->big_length);
		/* All of it from after the change. */
		assert_memory_equal(list, fake->big, fake->big_length);
		assert_memory_equal(list, "changed", 7);
		end_big(fake);
	}
}

static void lists_before_it_writes(void **state)
{
	static char lists[3][100000];
	struct fake *fake = fake_new(0, 0);
	char text[] = "v", value[8];
	struct pvf_store_op ops[] = {xs_list("big", lists[0], sizeof(lists[0])), xs_list("d", lists[1], 64),
				     xs_list("big", lists[2], sizeof(lists[2])), xs_read("d/x", value, sizeof(value)),
				     xs_write("d/y", text)};
	uint32_t i;

	(void)state;
	make_big(fake, 1000);
	fake_put(fake, "d/x", "1");
	assert_int_equal(run(fake, ops, 5, PVF_STORE_TRANSACTION), PVF_OK);
	for (i = 0; i < 5; i++)
		assert_int_equal(ops[i].status, PVF_OK);
	assert_memory_equal(lists[0], fake->big, fake->big_length);
	assert_memory_equal(lists[2], fake->big, fake->big_length);
	assert_int_equal(ops[1].length, 2);
	/* The last two requests: everything of the lists came before the write. */
	assert_int_equal(fake->log[fake->requests - 2u].header.type, PVF_XS_WRITE);
	assert_int_equal(fake->log[fake->requests - 1u].header.type, PVF_XS_TRANSACTION_END);
	end_big(fake);
}

static void lists_on_an_old_store(void **state)
{
	struct fake *fake = fake_new(0, 0);
	char list[64];
	struct pvf_store_op ops[] = {xs_list("big", list, sizeof(list)), xs_list("none", list, sizeof(list))};

	(void)state;
	make_big(fake, 1000);
	fake->big_unknown = true;
	assert_int_equal(run(fake, ops, 2, 0), PVF_OK);
	assert_int_equal(ops[0].status, PVF_STORE_TOO_BIG);
	assert_int_equal(ops[1].status, PVF_STORE_NOT_FOUND);
	end_big(fake);
}

static const char *bad_part;
static uint32_t bad_part_length;

static bool answer_bad_part(struct fake *fake, const struct pvf_wire_xs_header *header, const char *payload)
{
	(void)payload;
	if (header->type != PVF_XS_DIRECTORY_PART)
		return false;
	fake_reply(fake, header->type, header->req_id, 0, bad_part, bad_part_length);
	return true;
}

static void survives_bad_parts(void **state)
{
	static const struct {
		const char *bytes;
		uint32_t length;
	} parts[] = {
		{"", 0},
		{"41", 2},
		{"41", 3},                             /* no child and no end: would be asked for ever */
		{"41\0child", 8},                      /* a child without its NUL */
		{"1234567890123456789012345\0\0", 27}, /* no generation is so long */
	};
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		struct fake *fake = fake_new(0, 0);
		char list[64];
		struct pvf_store_op op = xs_list("big", list, sizeof(list));

		make_big(fake, 1000);
		fake->answer = answer_bad_part;
		bad_part = parts[i].bytes;
		bad_part_length = parts[i].length;
		assert_int_equal(run(fake, &op, 1, 0), PVF_OK);
		assert_int_equal(op.status, PVF_STORE_PROTOCOL);
		end_big(fake);
	}
}

/* ------------------------------------------------------------------ not the protocol's */

static bool answer_wrong_type(struct fake *fake, const struct pvf_wire_xs_header *header, const char *payload)
{
	(void)payload;
	fake_reply(fake, fake->error_type, header->req_id, header->tx_id, "1", 2);
	return true;
}

static void refuses_wrong_types(void **state)
{
	static const uint32_t types[] = {0, 1, 4, 6, 11, 13, 17, 22, 23, 0xffff, 0xffffffff};
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
		struct fake *fake = fake_new(0, 0);
		char value[8];
		struct pvf_store_op op = xs_read("a", value, sizeof(value));

		fake->answer = answer_wrong_type;
		fake->error_type = types[i];
		assert_int_equal(run(fake, &op, 1, 0), PVF_OK);
		assert_int_equal(op.status, PVF_STORE_PROTOCOL);
		assert_int_equal(op.length, 0);
		/* The stream is still in step: the next request is served. */
		fake->answer = NULL;
		assert_int_equal(run(fake, &op, 1, 0), PVF_OK);
		assert_int_equal(op.status, PVF_STORE_NOT_FOUND);
		fake_free(fake);
	}
}

static bool answer_twice(struct fake *fake, const struct pvf_wire_xs_header *header, const char *payload)
{
	(void)payload;
	fake_reply(fake, header->type, header->req_id, 0, "first", 5);
	fake_reply(fake, header->type, header->req_id, 0, "second", 6);
	fake_reply(fake, header->type, header->req_id + 1000u, 0, "third", 5);
	return true;
}

static void drops_answers_to_nothing(void **state)
{
	struct fake *fake = fake_new(0, 0);
	char value[2][8];
	struct pvf_store_op ops[] = {xs_read("a", value[0], 8), xs_read("b", value[1], 8)};

	(void)state;
	fake->answer = answer_twice;
	assert_int_equal(run(fake, ops, 2, 0), PVF_OK);
	assert_memory_equal(value[0], "first", 5);
	assert_memory_equal(value[1], "first", 5);
	pvf_xs_poll(&fake->xs);
	fake_work(fake);
	pvf_xs_poll(&fake->xs);
	assert_int_equal(fake->xs.statistics.stray, 4);
	fake_free(fake);
}

static bool answer_bad_start(struct fake *fake, const struct pvf_wire_xs_header *header, const char *payload)
{
	(void)payload;
	fake_reply(fake, header->type, header->req_id, 0, fake->error, fake->error_length);
	return true;
}

static void refuses_bad_transaction_numbers(void **state)
{
	static const struct {
		const char *text;
		uint32_t length;
	} numbers[] = {{"", 0}, {"", 1}, {"0", 2}, {"x", 2}, {"-1", 3}, {"4294967296", 11}, {"1 ", 3}};
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
		struct fake *fake = fake_new(0, 0);
		char text[] = "v";
		struct pvf_store_op op = xs_write("a", text);

		fake->answer = answer_bad_start;
		fake->error = numbers[i].text;
		fake->error_length = numbers[i].length;
		assert_int_equal(run(fake, &op, 1, PVF_STORE_TRANSACTION), PVF_STORE_PROTOCOL);
		assert_int_equal(op.status, PVF_CLOSED);
		assert_int_equal(fake->requests, 1);
		fake_free(fake);
	}
}

/* From here on everything is refused at once, and only a resume helps. */
static void check_broken(struct fake *fake)
{
	struct pvf_event event = {0};
	char value[8];
	struct pvf_store_op op = xs_read("a", value, sizeof(value));
	uint32_t requests = fake->requests;

	assert_int_equal(fake->xs.broken, PVF_STORE_PROTOCOL);
	assert_int_equal(run(fake, &op, 1, 0), PVF_STORE_PROTOCOL);
	assert_int_equal(op.status, PVF_CLOSED);
	assert_int_equal(run(fake, &op, 1, PVF_STORE_TRANSACTION), PVF_STORE_PROTOCOL);
	assert_int_equal(pvf_xs_watch(&fake->xs, "w", &event, DEADLINE(fake)), PVF_STORE_PROTOCOL);
	pvf_xs_poll(&fake->xs);
	assert_int_equal(fake->requests, requests);

	memset(&fake->page, 0, sizeof(fake->page));
	fake->in_length = 0;
	fake->releasable = fake->reply_count;
	fake->deaf = false;
	fake->answer = NULL;
	pvf_xs_resumed(&fake->xs, &fake->page);
	assert_int_equal(run(fake, &op, 1, 0), PVF_OK);
	assert_int_equal(op.status, PVF_STORE_NOT_FOUND);
	fake_free(fake);
}

static bool answer_too_long(struct fake *fake, const struct pvf_wire_xs_header *header, const char *payload)
{
	struct pvf_wire_xs_header reply = *header;

	(void)payload;
	reply.length = fake->error_length;
	fake_raw(fake, &reply, NULL, 0);
	return true;
}

static void breaks_on_long_payloads(void **state)
{
	static const uint32_t lengths[] = {4097, 5000, 0x10000, 0x7fffffff, 0xfffffff0, 0xffffffff};
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
		struct fake *fake = fake_new(0, 0);
		char value[8];
		struct pvf_store_op op = xs_read("a", value, sizeof(value));

		fake->answer = answer_too_long;
		fake->error_length = lengths[i];
		assert_int_equal(run(fake, &op, 1, 0), PVF_STORE_PROTOCOL);
		assert_int_equal(op.status, PVF_STORE_PROTOCOL);
		check_broken(fake);
	}
}

static void breaks_on_bad_indices(void **state)
{
	static const uint32_t distances[] = {1025, 2048, 0x7fffffff, 0x80000000, 0xffffffff};
	size_t i;

	(void)state;
	for (i = 0; i < 2 * sizeof(distances) / sizeof(distances[0]); i++) {
		struct fake *fake = fake_new(0xfffffff0, 0xfffffff0);
		char value[8];
		struct pvf_store_op op = xs_read("a", value, sizeof(value));

		fake->deaf = true;
		if (i % 2u)
			fake->page.rsp_prod = fake->page.rsp_cons + distances[i / 2];
		else
			fake->page.req_cons = fake->page.req_prod - distances[i / 2];
		assert_int_equal(run(fake, &op, 1, 0), PVF_STORE_PROTOCOL);
		check_broken(fake);
	}
}

static void breaks_on_the_error_field(void **state)
{
	struct fake *fake = fake_new(0, 0);
	char value[8];
	struct pvf_store_op op = xs_read("a", value, sizeof(value));

	(void)state;
	/* Only a store that says it has the field is asked. */
	fake->page.error = PVF_WIRE_XS_ERROR_PROTO;
	assert_int_equal(run(fake, &op, 1, 0), PVF_OK);
	fake->page.server_features = PVF_WIRE_XS_FEATURE_ERROR;
	fake->deaf = true;
	assert_int_equal(run(fake, &op, 1, 0), PVF_STORE_PROTOCOL);
	check_broken(fake);
}

/* A stream of random bytes, headers half likely, never reads or writes out of bounds and never outlives the deadline. */
static void survives_random_streams(void **state)
{
	uint32_t seed;

	(void)state;
	for (seed = 1; seed < 2000; seed++) {
		struct fake *fake = fake_new(seed * 77u, seed * 91u);
		struct pvf_event event = {0};
		char value[8], list[16];
		struct pvf_store_op ops[] = {xs_read("a", value, sizeof(value)), xs_list("b", list, sizeof(list))};
		uint32_t random = seed;
		uint32_t i;

		if (seed % 2u)
			assert_int_equal(pvf_xs_watch(&fake->xs, "w", &event, DEADLINE(fake)), PVF_OK);
		for (i = 0; i < 1000; i++) {
			random = random * 1664525u + 1013904223u;
			fake->page.rsp[fake->page.rsp_prod++ & 1023u] =
				(uint8_t)(i % 4u == 0 || seed % 3u == 0 ? (random >> 24) % 24u : 0);
		}
		fake->silent = true;
		assert_true(run(fake, ops, 2, seed % 5u ? 0 : PVF_STORE_TRANSACTION) < 0);
		assert_true(ops[0].status <= 0 && ops[1].status <= 0);
		fake_free(fake);
	}
}

int main(void)
{
	static const struct pvf_test tests[] = {
		PVF_TEST(maps_errors, "X07", "unit", "every error string has its status, unknown and cut ones too"),
		PVF_TEST(knows_every_error_of_xen, "X07", "public-headers",
			 "every error string of Xen's header is known"),
		PVF_TEST(refuses_a_transaction_by_name, "X01 X07", "unit",
			 "an error at the end of a transaction has its status"),
		PVF_TEST(lists_large_directories, "X08 X09", "unit", "directories of any size are listed"),
		PVF_TEST(lists_whole_length_of_large_directories, "X08", "unit",
			 "a directory larger than the buffer is reported with its whole length"),
		PVF_TEST(lists_changing_directories, "X09", "unit",
			 "a directory that changes in between is listed anew"),
		PVF_TEST(lists_before_it_writes, "X09", "unit", "a batch changes nothing before its lists are whole"),
		PVF_TEST(lists_on_an_old_store, "X07 X09", "unit", "a store without partial lists says too big"),
		PVF_TEST(survives_bad_parts, "X09", "unit", "a part that is no part ends the list"),
		PVF_TEST(refuses_wrong_types, "X09", "unit", "an answer of another type is refused"),
		PVF_TEST(drops_answers_to_nothing, "X09", "unit", "second answers and answers to nothing are dropped"),
		PVF_TEST(refuses_bad_transaction_numbers, "X01 X09", "unit",
			 "a transaction number that is none is refused"),
		PVF_TEST(breaks_on_long_payloads, "X09", "unit", "a payload beyond the limit breaks the ring for good"),
		PVF_TEST(breaks_on_bad_indices, "X09", "unit", "indices further apart than the ring break it for good"),
		PVF_TEST(breaks_on_the_error_field, "X09", "unit", "a store that gave the ring up is believed"),
		PVF_TEST(survives_random_streams, "X09", "unit", "random bytes from the store do no harm"),
	};

	return pvf_run_tests("unit", tests, sizeof(tests) / sizeof(tests[0]));
}
