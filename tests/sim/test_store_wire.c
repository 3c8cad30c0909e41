/* SPDX-License-Identifier: MIT */
/*
 * The simulated xenstored byte by byte: a guest without the wire client writes messages into its ring, cut anywhere, and
 * reads what comes back. Stepped, so that nobody else touches the ring.
 */
#include "world.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "machine.h"

#include <pvfront/wire/xs.h>

#define ANSWER_ROOM 4096u

struct answer {
	struct pvf_wire_xs_header header;
	uint8_t data[ANSWER_ROOM + 1];
};

static struct answer answer;

static struct pvf_wire_xs_interface *page_of(const struct guest *guest)
{
	uint8_t *memory = guest->domain->memory + (size_t)guest->domain->store_frame * PVF_PAGE_SIZE;

	return (struct pvf_wire_xs_interface *)(void *)memory;
}

static void kick(struct world *world, const struct guest *guest)
{
	guest->ops->evtchn_notify(guest->ctx, guest->domain->store_port);
	while (pvf_sim_step(world->sim))
		continue;
}

/* At most `cut` bytes at a time; false when the store takes no more. */
static bool push(struct world *world, const struct guest *guest, const void *data, uint32_t bytes, uint32_t cut)
{
	struct pvf_wire_xs_interface *page = page_of(guest);
	const uint8_t *from = data;

	while (bytes) {
		uint32_t prod = page->req_prod, room = PVF_WIRE_XS_RING - (prod - page->req_cons);
		uint32_t at = prod % PVF_WIRE_XS_RING, now = bytes < cut ? bytes : cut;

		if (room == 0)
			return false;
		if (now > room)
			now = room;
		if (now > PVF_WIRE_XS_RING - at)
			now = PVF_WIRE_XS_RING - at;
		memcpy(page->req + at, from, now);
		page->req_prod = prod + now;
		from += now;
		bytes -= now;
		kick(world, guest);
	}
	return true;
}

static bool pull(struct world *world, const struct guest *guest, void *data, uint32_t bytes, uint32_t cut)
{
	struct pvf_wire_xs_interface *page = page_of(guest);
	uint8_t *to = data;

	while (bytes) {
		uint32_t cons = page->rsp_cons, there = page->rsp_prod - cons;
		uint32_t now = bytes < cut ? bytes : cut;

		assert_true(there <= PVF_WIRE_XS_RING);
		if (there == 0)
			return false;
		if (now > there)
			now = there;
		for (uint32_t i = 0; i < now; i++)
			to[i] = page->rsp[(cons + i) % PVF_WIRE_XS_RING];
		page->rsp_cons = cons + now;
		to += now;
		bytes -= now;
		kick(world, guest);
	}
	return true;
}

static bool receive(struct world *world, const struct guest *guest, uint32_t cut)
{
	if (!pull(world, guest, &answer.header, sizeof(answer.header), cut))
		return false;
	assert_true(answer.header.length <= ANSWER_ROOM);
	answer.data[answer.header.length] = '\0';
	return answer.header.length == 0 || pull(world, guest, answer.data, answer.header.length, cut);
}

static void send(struct world *world, const struct guest *guest, uint32_t type, uint32_t tx, const void *payload,
		 uint32_t length, uint32_t cut)
{
	struct pvf_wire_xs_header header = {type, 77, tx, length};

	assert_true(push(world, guest, &header, sizeof(header), cut));
	assert_true(push(world, guest, payload, length, cut));
}

/* The answer to a request; an error's string, or "OK"-like text, for the eye of the test. */
static const char *ask_bytes(struct world *world, const struct guest *guest, uint32_t type, uint32_t tx,
			     const void *payload, uint32_t length)
{
	send(world, guest, type, tx, payload, length, PVF_WIRE_XS_RING);
	assert_true(receive(world, guest, PVF_WIRE_XS_RING));
	assert_int_equal(answer.header.req_id, 77);
	assert_int_equal(answer.header.tx_id, tx);
	assert_true(answer.header.type == type || answer.header.type == PVF_XS_ERROR);
	if (answer.header.type == PVF_XS_ERROR)
		assert_int_equal(answer.data[answer.header.length - 1], '\0');
	return (const char *)answer.data;
}

/* A payload of NUL-terminated strings. */
#define ask(world, guest, type, tx, text) ask_bytes(world, guest, type, tx, text, sizeof(text))
/* The same without the last NUL: a value at the end. */
#define ask_value(world, guest, type, tx, text) ask_bytes(world, guest, type, tx, text, sizeof(text) - 1)

static uint32_t begin(struct world *world, const struct guest *guest)
{
	const char *number = ask(world, guest, PVF_XS_TRANSACTION_START, 0, "");
	char *end;
	unsigned long tx = strtoul(number, &end, 10);

	assert_true(end != number && *end == '\0');
	assert_in_range(tx, 1, UINT32_MAX);
	return (uint32_t)tx;
}

/* ---- what is asked, what is answered ---- */

static void each_request_has_its_answer(void **state)
{
	struct world *world = *state;
	const struct guest *one = &world->one;

	assert_string_equal(ask_value(world, one, PVF_XS_WRITE, 0, "k\0value"), "OK");
	assert_int_equal(answer.header.length, 3);
	assert_string_equal(ask(world, one, PVF_XS_READ, 0, "k"), "value");
	assert_int_equal(answer.header.length, 5);
	assert_string_equal(ask(world, one, PVF_XS_MKDIR, 0, "dir/sub"), "OK");
	assert_string_equal(ask(world, one, PVF_XS_MKDIR, 0, "dir/sub"), "OK");
	assert_string_equal(ask_value(world, one, PVF_XS_WRITE, 0, "dir/two\0"), "OK");
	ask(world, one, PVF_XS_DIRECTORY, 0, "dir");
	assert_int_equal(answer.header.length, 8);
	assert_memory_equal(answer.data, "sub\0two\0", 8);
	ask(world, one, PVF_XS_READ, 0, "dir");
	assert_int_equal(answer.header.type, PVF_XS_READ);
	assert_int_equal(answer.header.length, 0);
	assert_string_equal(ask(world, one, PVF_XS_RM, 0, "dir"), "OK");
	assert_string_equal(ask(world, one, PVF_XS_RM, 0, "dir"), "OK");
	assert_string_equal(ask(world, one, PVF_XS_RM, 0, "dir/sub/deep"), "ENOENT");
	assert_string_equal(ask(world, one, PVF_XS_READ, 0, "dir"), "ENOENT");
	assert_string_equal(ask(world, one, PVF_XS_RM, 0, "k"), "OK");
	assert_string_equal(ask(world, one, PVF_XS_GET_DOMAIN_PATH, 0, "2"), "/local/domain/2");
	assert_int_equal(answer.header.length, 16);
	assert_string_equal(ask(world, one, PVF_XS_IS_DOMAIN_INTRODUCED, 0, "2"), "T");
	assert_string_equal(ask(world, one, PVF_XS_IS_DOMAIN_INTRODUCED, 0, "3"), "F");
}

static void each_mistake_has_its_error(void **state)
{
	struct world *world = *state;
	const struct guest *one = &world->one;

	assert_string_equal(ask(world, one, 99, 0, "k"), "ENOSYS");
	assert_string_equal(ask(world, one, 20, 0, "k"), "ENOSYS"); /* RESTRICT, which is gone */
	assert_string_equal(ask(world, one, PVF_XS_WATCH_EVENT, 0, "k"), "ENOSYS");
	assert_string_equal(ask(world, one, PVF_XS_READ, 4711, "k"), "ENOENT");
	assert_string_equal(ask_value(world, one, PVF_XS_READ, 0, "no-nul"), "EINVAL");
	assert_string_equal(ask_value(world, one, PVF_XS_READ, 0, ""), "EINVAL");
	assert_string_equal(ask(world, one, PVF_XS_READ, 0, "two\0strings"), "EINVAL");
	assert_string_equal(ask(world, one, PVF_XS_READ, 0, "@releaseDomain"), "EINVAL");
	assert_string_equal(ask_value(world, one, PVF_XS_WRITE, 0, "no-nul"), "EINVAL");
	assert_string_equal(ask(world, one, PVF_XS_WATCH, 0, "path-only"), "EINVAL");
	assert_string_equal(ask(world, one, PVF_XS_WATCH, 0, "@unknown\0t"), "EINVAL");
	assert_string_equal(ask(world, one, PVF_XS_UNWATCH, 0, "p\0t"), "ENOENT");
	assert_string_equal(ask(world, one, PVF_XS_TRANSACTION_END, 0, "T"), "ENOENT");
	assert_string_equal(ask(world, one, PVF_XS_TRANSACTION_END, 0, "maybe"), "EINVAL");
	assert_string_equal(ask(world, one, PVF_XS_GET_DOMAIN_PATH, 0, "x"), "EINVAL");
	assert_string_equal(ask(world, one, PVF_XS_INTRODUCE, 0, "1"), "EACCES");
	assert_string_equal(ask(world, one, PVF_XS_CONTROL, 0, "help"), "EACCES");
	assert_string_equal(ask(world, one, PVF_XS_DIRECTORY, 0, "/local/domain/2"), "EACCES");
	assert_string_equal(ask(world, one, PVF_XS_READ, 0, "/local/domain/2/none"), "EACCES");
}

static void long_paths_are_refused(void **state)
{
	struct world *world = *state;
	char path[3100];

	memset(path, 'p', sizeof(path));
	path[2049] = '\0';
	assert_string_equal(ask_bytes(world, &world->zero, PVF_XS_READ, 0, path, 2050), "EINVAL");
	path[2049] = 'p';
	path[0] = '/';
	path[3073] = '\0';
	assert_string_equal(ask_bytes(world, &world->zero, PVF_XS_READ, 0, path, 3074), "EINVAL");
	path[3072] = '\0';
	assert_string_equal(ask_bytes(world, &world->zero, PVF_XS_READ, 0, path, 3073), "ENOENT");
}

static void permissions_by_letter(void **state)
{
	struct world *world = *state;
	const struct guest *one = &world->one, *two = &world->two;

	assert_string_equal(ask_value(world, one, PVF_XS_WRITE, 0, "p\0v"), "OK");
	ask(world, one, PVF_XS_GET_PERMS, 0, "p");
	assert_int_equal(answer.header.length, 3);
	assert_memory_equal(answer.data, "n1\0", 3);
	assert_string_equal(ask_bytes(world, one, PVF_XS_SET_PERMS, 0, "p\0n1\0r2", 8), "OK");
	ask(world, two, PVF_XS_GET_PERMS, 0, "/local/domain/1/p");
	assert_int_equal(answer.header.length, 6);
	assert_memory_equal(answer.data, "n1\0r2\0", 6);
	assert_string_equal(ask_value(world, two, PVF_XS_WRITE, 0, "/local/domain/1/p\0w"), "EACCES");
	assert_string_equal(ask(world, two, PVF_XS_SET_PERMS, 0, "/local/domain/1/p\0b2"), "EACCES");
	assert_string_equal(ask(world, one, PVF_XS_SET_PERMS, 0, "p\0n1\0w2"), "OK");
	assert_string_equal(ask_value(world, two, PVF_XS_WRITE, 0, "/local/domain/1/p\0w"), "OK");
	assert_string_equal(ask(world, two, PVF_XS_READ, 0, "/local/domain/1/p"), "EACCES");
	/* What the writer makes in it is the writer's. */
	assert_string_equal(ask_value(world, two, PVF_XS_WRITE, 0, "/local/domain/1/p/child\0c"), "OK");
	ask(world, two, PVF_XS_GET_PERMS, 0, "/local/domain/1/p/child");
	assert_memory_equal(answer.data, "n2\0w2\0", 6);
	assert_string_equal(ask(world, one, PVF_XS_SET_PERMS, 0, "p\0b1"), "OK");
	assert_string_equal(ask(world, two, PVF_XS_READ, 0, "/local/domain/1/p"), "w");

	/* Only the owner or domain 0 gives a node away, and only domain 0 to another. */
	assert_string_equal(ask(world, one, PVF_XS_SET_PERMS, 0, "p\0n2"), "EPERM");
	assert_string_equal(ask(world, &world->zero, PVF_XS_SET_PERMS, 0, "/local/domain/1/p\0n9"), "ENOENT");
	assert_string_equal(ask(world, &world->zero, PVF_XS_SET_PERMS, 0, "/local/domain/1/p\0n2"), "OK");
	assert_string_equal(ask(world, one, PVF_XS_READ, 0, "p"), "EACCES");
	assert_string_equal(ask(world, &world->zero, PVF_XS_SET_PERMS, 0, "/local/domain/1/p\0x2"), "EINVAL");
	assert_string_equal(ask(world, &world->zero, PVF_XS_SET_PERMS, 0, "/local/domain/1/p\0"), "EINVAL");
	assert_string_equal(ask(world, &world->zero, PVF_XS_RM, 0, "/local/domain/1/p"), "OK");
}

static void large_directories_in_parts(void **state)
{
	struct world *world = *state;
	const struct guest *zero = &world->zero;
	char path[64], names[16384], generation[32] = "";
	uint32_t offset = 0;

	for (int i = 0; i < 1000; i++) {
		snprintf(path, sizeof(path), "/local/domain/0/many/child%d", i);
		assert_int_equal(pvf_sim_store_write(world->sim, path, "", 0), PVF_OK);
	}
	assert_string_equal(ask(world, zero, PVF_XS_DIRECTORY, 0, "many"), "E2BIG");
	for (bool last = false; !last;) {
		char request[64];
		uint32_t length = (uint32_t)snprintf(request, sizeof(request), "many%c%u", 0, offset) + 1, head;

		ask_bytes(world, zero, PVF_XS_DIRECTORY_PART, 0, request, length);
		assert_int_equal(answer.header.type, PVF_XS_DIRECTORY_PART);
		head = (uint32_t)strlen((char *)answer.data) + 1;
		if (offset)
			assert_string_equal(generation, (char *)answer.data);
		memcpy(generation, answer.data, head);
		last = answer.data[answer.header.length - 2] == '\0';
		memcpy(names + offset, answer.data + head, answer.header.length - head);
		offset += answer.header.length - head - last;
	}
	for (uint32_t at = 0, i = 0; at < offset; i++, at += (uint32_t)strlen(names + at) + 1) {
		snprintf(path, sizeof(path), "child%u", i);
		assert_string_equal(names + at, path);
	}
	assert_true(offset > 8000);
	ask(world, zero, PVF_XS_DIRECTORY_PART, 0,
	    "/tool/xenstored\0"
	    "0");
	assert_int_equal(answer.header.length, strlen((char *)answer.data) + 2);
	assert_string_equal(ask(world, zero, PVF_XS_DIRECTORY_PART, 0, "many"), "EINVAL");
	assert_string_equal(ask(world, zero, PVF_XS_DIRECTORY_PART, 0,
				"none\0"
				"0"),
			    "ENOENT");
}

/* ---- transactions ---- */

static void a_transaction_sees_and_shows_nothing_else(void **state)
{
	struct world *world = *state;
	const struct guest *one = &world->one;
	uint32_t tx;

	ask_value(world, one, PVF_XS_WRITE, 0,
		  "n\0"
		  "0");
	tx = begin(world, one);
	assert_string_equal(ask(world, one, PVF_XS_TRANSACTION_START, tx, ""), "EBUSY");
	assert_string_equal(ask(world, one, PVF_XS_READ, tx, "n"), "0");
	assert_string_equal(ask_value(world, one, PVF_XS_WRITE, tx,
				      "n\0"
				      "1"),
			    "OK");
	assert_string_equal(ask_value(world, one, PVF_XS_WRITE, tx,
				      "new/one\0"
				      "1"),
			    "OK");
	assert_string_equal(ask(world, one, PVF_XS_READ, tx, "n"), "1");
	assert_string_equal(ask(world, one, PVF_XS_READ, 0, "n"), "0");
	assert_string_equal(ask(world, one, PVF_XS_READ, 0, "new/one"), "ENOENT");
	assert_string_equal(ask(world, one, PVF_XS_TRANSACTION_END, tx, "T"), "OK");
	assert_string_equal(ask(world, one, PVF_XS_READ, 0, "n"), "1");
	assert_string_equal(ask(world, one, PVF_XS_READ, 0, "new/one"), "1");
	assert_string_equal(ask(world, one, PVF_XS_READ, tx, "n"), "ENOENT");

	tx = begin(world, one);
	assert_string_equal(ask(world, one, PVF_XS_RM, tx, "new"), "OK");
	assert_string_equal(ask(world, one, PVF_XS_READ, tx, "new/one"), "ENOENT");
	assert_string_equal(ask(world, one, PVF_XS_READ, 0, "new/one"), "1");
	assert_string_equal(ask(world, one, PVF_XS_TRANSACTION_END, tx, "F"), "OK");
	assert_string_equal(ask(world, one, PVF_XS_READ, 0, "new/one"), "1");

	/* Two that do not touch each other's nodes both end well. */
	tx = begin(world, one);
	assert_string_equal(ask_value(world, one, PVF_XS_WRITE, tx,
				      "n\0"
				      "2"),
			    "OK");
	assert_string_equal(ask_value(world, one, PVF_XS_WRITE, 0,
				      "new/one\0"
				      "2"),
			    "OK");
	assert_string_equal(ask(world, one, PVF_XS_TRANSACTION_END, tx, "T"), "OK");
	assert_string_equal(ask(world, one, PVF_XS_READ, 0, "n"), "2");
	assert_string_equal(ask(world, one, PVF_XS_READ, 0, "new/one"), "2");
	assert_string_equal(ask(world, one, PVF_XS_RM, 0, "new"), "OK");
	assert_string_equal(ask(world, one, PVF_XS_RM, 0, "n"), "OK");
}

/* What domain 1 does in a transaction, and domain 0 outside of it meanwhile. */
static const struct {
	uint32_t type;
	const char *text;
	uint32_t length;
	uint32_t other;
	const char *other_text;
	uint32_t other_length;
	const char *end;
} crossings[] = {
#define T(text) text, sizeof(text)
#define V(text) text, sizeof(text) - 1
	{PVF_XS_READ, T("c/n"), PVF_XS_WRITE, V("/local/domain/1/c/n\0x"), "EAGAIN"},
	{PVF_XS_WRITE, V("c/n\0y"), PVF_XS_WRITE, V("/local/domain/1/c/n\0x"), "EAGAIN"},
	{PVF_XS_READ, T("c/n"), PVF_XS_RM, T("/local/domain/1/c"), "EAGAIN"},
	{PVF_XS_RM, T("c/n"), PVF_XS_WRITE, V("/local/domain/1/c/n\0x"), "EAGAIN"},
	{PVF_XS_READ, T("c/none"), PVF_XS_WRITE, V("/local/domain/1/c/none\0x"), "EAGAIN"},
	{PVF_XS_DIRECTORY, T("c"), PVF_XS_MKDIR, T("/local/domain/1/c/d"), "EAGAIN"},
	{PVF_XS_MKDIR, T("c/e"), PVF_XS_MKDIR, T("/local/domain/1/c/d"), "EAGAIN"},
	{PVF_XS_GET_PERMS, T("c/n"), PVF_XS_SET_PERMS, T("/local/domain/1/c/n\0r1"), "EAGAIN"},
	{PVF_XS_READ, T("c/n"), PVF_XS_WRITE, V("/local/domain/1/c/m\0x"), "OK"},
	{PVF_XS_WRITE, V("c/n\0y"), PVF_XS_WRITE, V("/local/domain/1/c/m\0x"), "OK"},
	{PVF_XS_WRITE, V("c/n\0y"), PVF_XS_READ, T("/local/domain/1/c/n"), "OK"},
	/* The same value written again is a change. */
	{PVF_XS_READ, T("c/n"), PVF_XS_WRITE,
	 V("/local/domain/1/c/n\0"
	   "0"),
	 "EAGAIN"},
#undef T
#undef V
};

static void crossing_changes_conflict(void **state)
{
	struct world *world = *state;
	const struct guest *one = &world->one;

	for (size_t i = 0; i < sizeof(crossings) / sizeof(crossings[0]); i++) {
		uint32_t tx;

		ask_value(world, one, PVF_XS_WRITE, 0,
			  "c/n\0"
			  "0");
		ask_value(world, one, PVF_XS_WRITE, 0,
			  "c/m\0"
			  "0");
		tx = begin(world, one);
		ask_bytes(world, one, crossings[i].type, tx, crossings[i].text, crossings[i].length);
		ask_value(world, one, PVF_XS_WRITE, tx,
			  "mark\0"
			  "1");
		ask_bytes(world, &world->zero, crossings[i].other, 0, crossings[i].other_text,
			  crossings[i].other_length);
		assert_int_not_equal(answer.header.type, PVF_XS_ERROR);
		if (strcmp(ask(world, one, PVF_XS_TRANSACTION_END, tx, "T"), crossings[i].end) != 0)
			fail_msg("crossing %zu ended in %s", i, (char *)answer.data);
		assert_string_equal(ask(world, one, PVF_XS_READ, 0, "mark"),
				    strcmp(crossings[i].end, "OK") == 0 ? "1" : "ENOENT");
		ask(world, one, PVF_XS_RM, 0, "mark");
		ask(world, one, PVF_XS_RM, 0, "c");
	}
}

static void transactions_are_limited(void **state)
{
	struct world *world = *state;
	struct pvf_sim_held held;

	for (int i = 0; i < 10; i++)
		begin(world, &world->one);
	assert_string_equal(ask(world, &world->one, PVF_XS_TRANSACTION_START, 0, ""), "ENOSPC");
	pvf_sim_held(world->one.domain, &held);
	assert_int_equal(held.transactions, 10);
	assert_string_equal(ask(world, &world->one, PVF_XS_RESET_WATCHES, 0, ""), "OK");
	begin(world, &world->one);
	assert_string_equal(ask(world, &world->one, PVF_XS_RESET_WATCHES, 0, ""), "OK");
}

/* ---- watches ---- */

static void expect_event(struct world *world, const struct guest *guest, const char *path, const char *token)
{
	assert_true(receive(world, guest, PVF_WIRE_XS_RING));
	assert_int_equal(answer.header.type, PVF_XS_WATCH_EVENT);
	assert_int_equal(answer.header.req_id, 0);
	assert_int_equal(answer.header.tx_id, 0);
	assert_string_equal((char *)answer.data, path);
	assert_string_equal((char *)answer.data + strlen(path) + 1, token);
	assert_int_equal(answer.header.length, strlen(path) + strlen(token) + 2);
}

static void events_come_under_the_watchs_own_name(void **state)
{
	struct world *world = *state;
	const struct guest *one = &world->one;

	/* The answer, then the first event; the token is whatever it was. */
	assert_string_equal(ask(world, one, PVF_XS_WATCH, 0, "w\0a token:%s/\x01"), "OK");
	expect_event(world, one, "w", "a token:%s/\x01");
	assert_string_equal(ask(world, one, PVF_XS_WATCH, 0, "w\0a token:%s/\x01"), "EEXIST");
	assert_string_equal(ask(world, one, PVF_XS_WATCH, 0, "/local/domain/1/w\0abs"), "OK");
	expect_event(world, one, "/local/domain/1/w", "abs");
	assert_int_equal(pvf_sim_store_write(world->sim, "/local/domain/1/w/x/y", "1", 1), PVF_OK);
	kick(world, one);
	expect_event(world, one, "w/x/y", "a token:%s/\x01");
	expect_event(world, one, "/local/domain/1/w/x/y", "abs");

	/* A removal from above is told once to each, as what was removed. */
	assert_string_equal(ask(world, one, PVF_XS_WATCH, 0, "w/x/y\0leaf"), "OK");
	expect_event(world, one, "w/x/y", "leaf");
	assert_int_equal(pvf_sim_store_remove(world->sim, "/local/domain/1/w"), PVF_OK);
	kick(world, one);
	expect_event(world, one, "w/x/y", "leaf");
	expect_event(world, one, "w", "a token:%s/\x01");
	expect_event(world, one, "/local/domain/1/w", "abs");
	assert_false(receive(world, one, PVF_WIRE_XS_RING));

	/* A watch is its absolute path and its token. */
	assert_string_equal(ask(world, one, PVF_XS_UNWATCH, 0, "w\0other"), "ENOENT");
	assert_string_equal(ask(world, one, PVF_XS_UNWATCH, 0, "w\0abs"), "OK");
	assert_string_equal(ask(world, one, PVF_XS_UNWATCH, 0, "/local/domain/1/w\0abs"), "ENOENT");
	assert_string_equal(ask(world, one, PVF_XS_RESET_WATCHES, 0, ""), "OK");
	assert_int_equal(pvf_sim_store_write(world->sim, "/local/domain/1/w", "1", 1), PVF_OK);
	kick(world, one);
	assert_false(receive(world, one, PVF_WIRE_XS_RING));
}

static void watches_are_limited(void **state)
{
	struct world *world = *state;
	const struct guest *one = &world->one;
	char request[32];

	for (int i = 0; i <= 128; i++) {
		uint32_t length = (uint32_t)snprintf(request, sizeof(request), "w%d%ct%d", i, 0, i) + 1;
		const char *text = ask_bytes(world, one, PVF_XS_WATCH, 0, request, length);

		assert_string_equal(text, i < 128 ? "OK" : "E2BIG");
		if (i < 128)
			assert_true(receive(world, one, PVF_WIRE_XS_RING));
	}
	assert_string_equal(ask(world, one, PVF_XS_RESET_WATCHES, 0, ""), "OK");
}

static void domains_that_come_and_go_are_told(void **state)
{
	struct world *world = *state;
	const struct guest *zero = &world->zero;
	struct pvf_sim_domain *domain;

	assert_string_equal(ask(world, zero, PVF_XS_WATCH, 0, "@introduceDomain\0in"), "OK");
	expect_event(world, zero, "@introduceDomain", "in");
	assert_string_equal(ask(world, zero, PVF_XS_WATCH, 0, "@releaseDomain\0out"), "OK");
	expect_event(world, zero, "@releaseDomain", "out");
	assert_int_equal(pvf_sim_domain_create(world->sim, 5, &domain), PVF_OK);
	kick(world, zero);
	expect_event(world, zero, "@introduceDomain", "in");
	pvf_sim_domain_destroy(domain);
	kick(world, zero);
	expect_event(world, zero, "@releaseDomain", "out");
	assert_string_equal(ask(world, zero, PVF_XS_RESET_WATCHES, 0, ""), "OK");
}

/* ---- the ring ---- */

static void messages_may_be_cut_anywhere(void **state)
{
	struct world *world = *state;
	char payload[3000] = "big";

	memset(payload + 4, 'x', sizeof(payload) - 4);
	for (uint32_t cut = 1; cut < 40; cut += 3) {
		payload[4] = (char)('a' + cut % 26);
		send(world, &world->zero, PVF_XS_WRITE, 0, payload, sizeof(payload), cut);
		assert_true(receive(world, &world->zero, cut));
		assert_string_equal((char *)answer.data, "OK");
		send(world, &world->zero, PVF_XS_READ, 0, "big", 4, cut);
		assert_true(receive(world, &world->zero, cut));
		assert_int_equal(answer.header.length, sizeof(payload) - 4);
		assert_memory_equal(answer.data, payload + 4, sizeof(payload) - 4);
	}
	assert_string_equal(ask(world, &world->zero, PVF_XS_RM, 0, "big"), "OK");
}

static void many_requests_before_the_first_answer_is_taken(void **state)
{
	struct world *world = *state;
	const struct guest *one = &world->one;
	struct pvf_wire_xs_header header = {PVF_XS_GET_DOMAIN_PATH, 0, 0, 2};
	uint32_t sent = 0, taken = 0;

	/* Until the store takes no more: it never waits, and it never loses one. */
	for (;; sent++) {
		uint8_t message[sizeof(header) + 2];

		header.req_id = sent;
		memcpy(message, &header, sizeof(header));
		memcpy(message + sizeof(header), "1", 2);
		if (PVF_WIRE_XS_RING - (page_of(one)->req_prod - page_of(one)->req_cons) < sizeof(message))
			break;
		assert_true(push(world, one, message, sizeof(message), PVF_WIRE_XS_RING));
	}
	assert_true(sent > 40);
	assert_int_equal(put(&world->two, "x", "1"), PVF_OK); /* the others are served meanwhile */
	assert_int_equal(drop(&world->two, "x"), PVF_OK);
	while (receive(world, one, PVF_WIRE_XS_RING)) {
		assert_int_equal(answer.header.req_id, taken++);
		assert_string_equal((char *)answer.data, "/local/domain/1");
	}
	assert_int_equal(taken, sent);
}

static void a_payload_too_long_ends_the_conversation(void **state)
{
	struct world *world = *state;
	const struct guest *one = &world->one;
	struct pvf_wire_xs_header header = {PVF_XS_READ, 1, 0, PVF_WIRE_XS_PAYLOAD_MAX + 1};

	assert_true(push(world, one, &header, sizeof(header), PVF_WIRE_XS_RING));
	assert_int_equal(page_of(one)->error, 3);
	assert_false(receive(world, one, PVF_WIRE_XS_RING));
	/* Nobody else is hurt. */
	assert_int_equal(put(&world->two, "x", "1"), PVF_OK);
	assert_int_equal(drop(&world->two, "x"), PVF_OK);
}

static void impossible_indices_end_the_conversation(void **state)
{
	struct world *world = *state;
	const struct guest *one = &world->one;

	page_of(one)->req_prod = page_of(one)->req_cons + PVF_WIRE_XS_RING + 1;
	kick(world, one);
	assert_int_equal(page_of(one)->error, 2);
	assert_int_equal(put(&world->two, "x", "1"), PVF_OK);
	assert_int_equal(drop(&world->two, "x"), PVF_OK);
}

static const struct pvf_test tests[] = {
	STEPPED(each_request_has_its_answer, "X09", "each request of the wire protocol has its answer"),
	STEPPED(each_mistake_has_its_error, "X07 X09", "each mistake has xenstored's own error string"),
	STEPPED(long_paths_are_refused, "X08", "paths beyond 2048 and 3072 bytes are refused by the store, too"),
	STEPPED(permissions_by_letter, "", "permissions n, r, w and b, owners, and what children inherit"),
	STEPPED(large_directories_in_parts, "X08 X09", "a directory larger than a message is read in parts"),
	STEPPED(a_transaction_sees_and_shows_nothing_else, "X01", "a transaction sees its own changes and shows none"),
	STEPPED(crossing_changes_conflict, "X01", "whatever a transaction touched and another changed ends in EAGAIN"),
	STEPPED(transactions_are_limited, "X08", "a domain has ten transactions open and no more"),
	STEPPED(events_come_under_the_watchs_own_name, "X02", "events come with the watch's own path and token"),
	STEPPED(watches_are_limited, "X08", "a domain has 128 watches and no more"),
	STEPPED(domains_that_come_and_go_are_told, "X02", "@introduceDomain and @releaseDomain are told to domain 0"),
	STEPPED(messages_may_be_cut_anywhere, "X09", "messages may be cut anywhere, both ways, across the ring's end"),
	STEPPED(many_requests_before_the_first_answer_is_taken, "X09",
		"a guest that takes no answers is not read from, and loses none"),
	STEPPED(a_payload_too_long_ends_the_conversation, "X09", "a payload that is too long ends the conversation"),
	STEPPED(impossible_indices_end_the_conversation, "X09", "impossible ring indices end the conversation"),
};

int main(void)
{
	return pvf_run_tests("sim", tests, sizeof(tests) / sizeof(tests[0]));
}
