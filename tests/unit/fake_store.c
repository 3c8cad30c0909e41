/* SPDX-License-Identifier: MIT */
/* The scripted xenstored of the wire client's tests. */
#include "fake_store.h"

#include <pvfront/status.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"

#define MASK (PVF_WIRE_XS_RING - 1u)

static uint32_t fake_random(struct fake *fake, uint32_t n)
{
	fake->seed = fake->seed * 1664525u + 1013904223u;
	return (fake->seed >> 8) % n;
}

/* ------------------------------------------------------------------ nodes */

struct fake_node *fake_get(struct fake *fake, const char *path)
{
	uint32_t i;

	for (i = 0; i < FAKE_NODES; i++) {
		if (fake->nodes[i].used && strcmp(fake->nodes[i].path, path) == 0)
			return &fake->nodes[i];
	}
	return NULL;
}

static void put(struct fake *fake, const char *path, const void *value, uint32_t length)
{
	struct fake_node *node = fake_get(fake, path);
	uint32_t i;

	for (i = 0; !node; i++) {
		assert_true(i < FAKE_NODES);
		if (!fake->nodes[i].used)
			node = &fake->nodes[i];
	}
	assert_true(length <= sizeof(node->value));
	snprintf(node->path, sizeof(node->path), "%s", path);
	memcpy(node->value, value, length);
	node->length = length;
	node->used = true;
}

void fake_put(struct fake *fake, const char *path, const char *value)
{
	put(fake, path, value, (uint32_t)strlen(value));
}

/* ------------------------------------------------------------------ answers */

void fake_raw(struct fake *fake, const struct pvf_wire_xs_header *header, const void *bytes, uint32_t length)
{
	struct fake_reply *reply;

	assert_true(fake->reply_count < FAKE_REPLIES);
	reply = malloc(sizeof(*reply));
	assert_non_null(reply);
	fake->replies[fake->reply_count++] = reply;
	reply->type = header->type;
	memcpy(reply->bytes, header, sizeof(*header));
	if (length > 0)
		memcpy(reply->bytes + sizeof(*header), bytes, length);
	reply->length = (uint32_t)sizeof(*header) + length;
	fake->awake = true;
}

void fake_reply(struct fake *fake, uint32_t type, uint32_t req_id, uint32_t tx_id, const void *bytes, uint32_t length)
{
	struct pvf_wire_xs_header header = {type, req_id, tx_id, length};

	fake_raw(fake, &header, bytes, length);
}

void fake_event(struct fake *fake, const char *path, const char *token)
{
	struct pvf_wire_xs_header header = {PVF_XS_WATCH_EVENT, 0, 0, 0};
	char bytes[128];
	size_t path_size = strlen(path) + 1;
	size_t token_size = strlen(token) + 1;

	memcpy(bytes, path, path_size);
	memcpy(bytes + path_size, token, token_size);
	header.length = (uint32_t)(path_size + token_size);
	fake_raw(fake, &header, bytes, header.length);
}

void fake_events(struct fake *fake)
{
	uint32_t i;

	for (i = 0; i < FAKE_WATCHES; i++) {
		if (fake->watches[i].used)
			fake_event(fake, fake->watches[i].path, fake->watches[i].token);
	}
}

static void ok(struct fake *fake, const struct pvf_wire_xs_header *header)
{
	fake_reply(fake, header->type, header->req_id, header->tx_id, "OK", 3);
}

static void refuse(struct fake *fake, const struct pvf_wire_xs_header *header, const char *text)
{
	fake_reply(fake, PVF_XS_ERROR, header->req_id, header->tx_id, text, (uint32_t)strlen(text) + 1u);
}

bool fake_answer_error(struct fake *fake, const struct pvf_wire_xs_header *header, const char *payload)
{
	(void)payload;
	if (header->type != fake->error_type)
		return false;
	fake_reply(fake, PVF_XS_ERROR, header->req_id, header->tx_id, fake->error, fake->error_length);
	return true;
}

static void answer_list(struct fake *fake, const struct pvf_wire_xs_header *header, const char *path)
{
	char children[PVF_WIRE_XS_PAYLOAD_MAX];
	size_t length = strlen(path);
	uint32_t used = 0;
	uint32_t i;

	if (fake->big_path && strcmp(path, fake->big_path) == 0) {
		if (fake->big_length > PVF_WIRE_XS_PAYLOAD_MAX)
			refuse(fake, header, "E2BIG");
		else
			fake_reply(fake, header->type, header->req_id, header->tx_id, fake->big, fake->big_length);
		return;
	}
	for (i = 0; i < FAKE_NODES; i++) {
		const char *child = fake->nodes[i].path;

		if (!fake->nodes[i].used || strncmp(child, path, length) != 0 || child[length] != '/')
			continue;
		used += (uint32_t)snprintf(children + used, sizeof(children) - used, "%s", child + length + 1) + 1u;
	}
	if (used == 0 && !fake_get(fake, path))
		refuse(fake, header, "ENOENT");
	else
		fake_reply(fake, header->type, header->req_id, header->tx_id, children, used);
}

/* As docs/misc/xenstore.txt: the generation, whole children from the offset on, an empty one when that was all. */
static void answer_part(struct fake *fake, const struct pvf_wire_xs_header *header, const char *path,
			const char *offset_text)
{
	char bytes[PVF_WIRE_XS_PAYLOAD_MAX];
	uint32_t offset = (uint32_t)strtoul(offset_text, NULL, 10);
	uint32_t used;

	if (fake->big_unknown || !fake->big_path || strcmp(path, fake->big_path) != 0) {
		refuse(fake, header, "ENOSYS");
		return;
	}
	if (++fake->big_parts == fake->big_changes_at) {
		fake->big_generation++;
		memcpy(fake->big, "changed", 7);
	}
	used = (uint32_t)snprintf(bytes, sizeof(bytes), "%u", fake->big_generation) + 1u;
	while (offset < fake->big_length) {
		uint32_t size = (uint32_t)strlen(fake->big + offset) + 1u;

		if (used + size + 1u > sizeof(bytes))
			break;
		memcpy(bytes + used, fake->big + offset, size);
		used += size;
		offset += size;
	}
	if (offset >= fake->big_length)
		bytes[used++] = '\0';
	fake_reply(fake, header->type, header->req_id, header->tx_id, bytes, used);
}

static void answer_watch(struct fake *fake, const struct pvf_wire_xs_header *header, const char *path,
			 const char *token)
{
	struct fake_watch *same = NULL;
	struct fake_watch *unused = NULL;
	uint32_t i;

	for (i = 0; i < FAKE_WATCHES; i++) {
		struct fake_watch *watch = &fake->watches[i];

		if (watch->used && strcmp(watch->path, path) == 0 && strcmp(watch->token, token) == 0)
			same = watch;
		if (!watch->used && !unused)
			unused = watch;
	}
	if (header->type == PVF_XS_UNWATCH) {
		if (!same) {
			refuse(fake, header, "ENOENT");
			return;
		}
		same->used = false;
		ok(fake, header);
		return;
	}
	if (same) {
		refuse(fake, header, "EEXIST");
		return;
	}
	assert_non_null(unused);
	snprintf(unused->path, sizeof(unused->path), "%s", path);
	snprintf(unused->token, sizeof(unused->token), "%s", token);
	unused->used = true;
	ok(fake, header);
	fake_event(fake, path, token);
}

static void answer_transaction(struct fake *fake, const struct pvf_wire_xs_header *header, const char *how)
{
	char text[16];

	if (header->type == PVF_XS_TRANSACTION_START) {
		fake->transactions_open++;
		memcpy(fake->before, fake->nodes, sizeof(fake->nodes));
		snprintf(text, sizeof(text), "%u", ++fake->next_transaction);
		fake_reply(fake, header->type, header->req_id, 0, text, (uint32_t)strlen(text) + 1u);
		return;
	}
	if (header->tx_id == 0 || header->tx_id > fake->next_transaction || fake->transactions_open == 0) {
		refuse(fake, header, "ENOENT");
		return;
	}
	fake->transactions_open--;
	if (strcmp(how, "T") == 0 && fake->conflicts == 0) {
		ok(fake, header);
		return;
	}
	memcpy(fake->nodes, fake->before, sizeof(fake->nodes));
	if (strcmp(how, "F") == 0) {
		ok(fake, header);
		return;
	}
	fake->conflicts--;
	refuse(fake, header, "EAGAIN");
}

static void answer_node(struct fake *fake, const struct pvf_wire_xs_header *header, const char *payload)
{
	struct fake_node *node = fake_get(fake, payload);
	uint32_t path_size = (uint32_t)strlen(payload) + 1u;

	if (header->type == PVF_XS_WRITE) {
		put(fake, payload, payload + path_size, header->length - path_size);
		ok(fake, header);
	} else if (!node) {
		refuse(fake, header, "ENOENT");
	} else if (header->type == PVF_XS_RM) {
		node->used = false;
		ok(fake, header);
	} else {
		fake_reply(fake, header->type, header->req_id, header->tx_id, node->value, node->length);
	}
}

/* Every request has at least one string, WATCH, UNWATCH and DIRECTORY_PART have two, and nothing stands behind them. */
static bool well_formed(const struct pvf_wire_xs_header *header, const char *payload)
{
	uint32_t strings = 0;
	uint32_t wanted = 1;
	uint32_t i;

	for (i = 0; i < header->length; i++)
		strings += payload[i] == '\0' ? 1u : 0u;
	if (header->type == PVF_XS_WRITE)
		return strings >= 1;
	if (header->type == PVF_XS_WATCH || header->type == PVF_XS_UNWATCH || header->type == PVF_XS_DIRECTORY_PART)
		wanted = 2;
	return strings == wanted && payload[header->length - 1u] == '\0';
}

/* A request of a transaction comes between its start and its end. */
static bool in_its_transaction(const struct fake *fake, const struct pvf_wire_xs_header *header)
{
	return header->tx_id == 0 || header->type == PVF_XS_TRANSACTION_END ||
	       (fake->transactions_open > 0 && header->tx_id <= fake->next_transaction);
}

static void answer(struct fake *fake, const struct pvf_wire_xs_header *header, const char *payload)
{
	struct fake_request *log = &fake->log[fake->requests % FAKE_LOG];
	const char *second;

	if (header->length == 0 || !well_formed(header, payload) || !in_its_transaction(fake, header) ||
	    (fake->requests > 0 && header->req_id <= fake->log[(fake->requests - 1u) % FAKE_LOG].header.req_id)) {
		fake->bad++;
		return;
	}
	log->header = *header;
	snprintf(log->first, sizeof(log->first), "%s", payload);
	fake->requests++;
	if (fake->requests - fake->answered > fake->most_outstanding)
		fake->most_outstanding = fake->requests - fake->answered;
	if (fake->answer && fake->answer(fake, header, payload))
		return;
	second = payload + strlen(payload) + 1;
	switch (header->type) {
	case PVF_XS_DIRECTORY:
		answer_list(fake, header, payload);
		break;
	case PVF_XS_DIRECTORY_PART:
		answer_part(fake, header, payload, second);
		break;
	case PVF_XS_WATCH:
	case PVF_XS_UNWATCH:
		answer_watch(fake, header, payload, second);
		break;
	case PVF_XS_TRANSACTION_START:
	case PVF_XS_TRANSACTION_END:
		answer_transaction(fake, header, payload);
		break;
	default:
		answer_node(fake, header, payload);
	}
	if (fake->events_between)
		fake_events(fake);
}

/* ------------------------------------------------------------------ rings */

static bool take_requests(struct fake *fake)
{
	struct pvf_wire_xs_interface *page = &fake->page;
	struct pvf_wire_xs_header header;
	uint32_t used = page->req_prod - page->req_cons;
	uint32_t i;

	assert_true(used <= PVF_WIRE_XS_RING);
	if (fake->chunk && used > fake->chunk)
		used = fake->chunk;
	for (i = 0; i < used; i++) {
		fake->in[fake->in_length++] = page->req[page->req_cons++ & MASK];
		if (fake->in_length < sizeof(header))
			continue;
		memcpy(&header, fake->in, sizeof(header));
		assert_true(header.length <= PVF_WIRE_XS_PAYLOAD_MAX);
		if (fake->in_length < sizeof(header) + header.length)
			continue;
		fake->in[fake->in_length] = 0;
		fake->in_length = 0;
		answer(fake, &header, (const char *)fake->in + sizeof(header));
	}
	return used > 0;
}

/* Brings the answers that were kept back into the order they leave in; one that has begun to leave stays first. */
static void release(struct fake *fake)
{
	uint32_t first = fake->releasable;
	uint32_t n = fake->reply_count - first;
	struct fake_reply **replies = &fake->replies[first];
	struct fake_reply *swap;
	uint32_t i;

	for (i = 0; fake->order != FAKE_FIFO && i + 1u < n; i++) {
		uint32_t other = fake->order == FAKE_SHUFFLE ? i + fake_random(fake, n - i) : n - 1u - i;

		if (fake->order == FAKE_REVERSE && other <= i)
			break;
		swap = replies[i];
		replies[i] = replies[other];
		replies[other] = swap;
	}
	fake->releasable = fake->reply_count;
}

static void drop_first(struct fake *fake)
{
	struct fake_reply *reply = fake->replies[0];

	fake->answered += reply->type != PVF_XS_WATCH_EVENT;
	fake->reply_count--;
	for (uint32_t i = 0; i < fake->reply_count; i++)
		fake->replies[i] = fake->replies[i + 1];
	fake->releasable -= fake->releasable > 0;
	fake->reply_sent = 0;
	free(reply);
}

static bool give_bytes(struct fake *fake)
{
	struct pvf_wire_xs_interface *page = &fake->page;
	uint32_t room = PVF_WIRE_XS_RING - (page->rsp_prod - page->rsp_cons);
	bool moved = false;

	assert_true(room <= PVF_WIRE_XS_RING);
	if (fake->chunk && room > fake->chunk)
		room = fake->chunk;
	while (room > 0 && fake->releasable > 0) {
		struct fake_reply *reply = fake->replies[0];

		page->rsp[page->rsp_prod & MASK] = reply->bytes[fake->reply_sent++];
		page->rsp_prod++;
		room--;
		moved = true;
		if (fake->reply_sent == reply->length)
			drop_first(fake);
	}
	return moved;
}

static bool step(struct fake *fake)
{
	bool moved = !fake->deaf && take_requests(fake);

	if (!fake->silent && (fake->reply_count - fake->releasable >= fake->hold || !moved))
		release(fake);
	if (!fake->silent && give_bytes(fake))
		moved = true;
	if (moved)
		fake->sequence++;
	return moved;
}

void fake_work(struct fake *fake)
{
	while (step(fake))
		;
	fake->awake = false;
}

/* ------------------------------------------------------------------ transport */

static void transport_notify(void *ctx)
{
	struct fake *fake = ctx;

	fake->notified++;
	fake->awake = true;
}

static uint32_t transport_sequence(void *ctx)
{
	return ((struct fake *)ctx)->sequence;
}

static uint64_t transport_now(void *ctx)
{
	struct fake *fake = ctx;

	fake->now += 100;
	return fake->now;
}

static int transport_wait(void *ctx, uint32_t sequence, uint64_t deadline)
{
	struct fake *fake = ctx;

	while (fake->sequence == sequence && fake->awake)
		fake->awake = step(fake);
	fake->now += 1000;
	if (fake->sequence != sequence)
		return PVF_OK;
	if (deadline == PVF_FOREVER)
		fail_msg("the client sleeps for ever after %u requests", fake->requests);
	if (fake->now < deadline)
		fake->now = deadline;
	return PVF_TIMEOUT;
}

struct fake *fake_new(uint32_t req_start, uint32_t rsp_start)
{
	struct fake *fake = calloc(1, sizeof(*fake));
	struct pvf_xs_transport transport = {
		.notify = transport_notify,
		.wait = transport_wait,
		.sequence = transport_sequence,
		.now = transport_now,
	};

	assert_non_null(fake);
	fake->page.req_cons = req_start;
	fake->page.req_prod = req_start;
	fake->page.rsp_cons = rsp_start;
	fake->page.rsp_prod = rsp_start;
	fake->seed = 1;
	fake->now = 5u * FAKE_MS;
	transport.ctx = fake;
	assert_int_equal(pvf_xs_init(&fake->xs, &fake->page, &transport), PVF_OK);
	return fake;
}

void fake_free(struct fake *fake)
{
	while (fake->reply_count > 0)
		drop_first(fake);
	free(fake);
}
