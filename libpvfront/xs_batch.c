/* SPDX-License-Identifier: MIT */
/*
 * Messages of the xenstore wire client: a batch of requests is pipelined, answers find their request by its id.
 *
 * Order: xenstored carries out one domain's requests in the order of the ring, so a batch may be sent ahead of its
 * answers. The one exception is a LIST that turns out to need several requests: no WRITE, REMOVE or end of transaction is
 * sent while a LIST is unanswered, so that its parts are read before the batch changes anything further.
 */
#include <pvfront/compiler.h>
#include <pvfront/status.h>

#include "bytes.h"
#include "text.h"
#include "xs_internal.h"

#define DECIMAL_SIZE 11u /* of a 32-bit number, with its NUL */

struct verb_row {
	uint32_t type;
	bool changes; /* the store; not to overtake a LIST */
};

static const struct verb_row verb_rows[] = {
	[PVF_STORE_READ] = {PVF_XS_READ, false},
	[PVF_STORE_WRITE] = {PVF_XS_WRITE, true},
	[PVF_STORE_REMOVE] = {PVF_XS_RM, true},
	[PVF_STORE_LIST] = {PVF_XS_DIRECTORY, false},
};

struct request {
	uint32_t type;
	uint32_t op;
	uint32_t tx_id;
	uint32_t raw_length;
	const char *first; /* sent with their NUL; second may be NULL */
	const char *second;
	const void *raw; /* what follows, without a NUL */
};

/* ------------------------------------------------------------------ sending */

static uint32_t out_string(struct pvf_xs *xs, uint32_t at, const char *text)
{
	uint32_t length = pvf_xs_length(text, PVF_WIRE_XS_PAYLOAD_MAX) + 1u;

	memcpy(xs->out + at, text, length);
	return at + length;
}

/* Assembles a message in xs->out, which must be empty. Lengths were checked when the call came in. */
static void compose(struct pvf_xs *xs, const struct request *request)
{
	struct pvf_wire_xs_header header;
	uint32_t at = PVF_WIRE_XS_HEADER;

	at = out_string(xs, at, request->first);
	if (request->second)
		at = out_string(xs, at, request->second);
	if (request->raw_length > 0)
		memcpy(xs->out + at, request->raw, request->raw_length);
	at += request->raw_length;
	header.type = request->type;
	header.req_id = xs->next_id++;
	header.tx_id = request->tx_id;
	header.length = at - PVF_WIRE_XS_HEADER;
	memcpy(xs->out, &header, sizeof(header));
	xs->out_sent = 0;
	xs->out_length = at;
	xs->statistics.requests++;
}

static void send_request(struct pvf_xs *xs, struct xs_batch *batch, const struct request *request)
{
	uint32_t i = 0;

	while (batch->slots[i].type != 0)
		i++;
	batch->slots[i].id = xs->next_id;
	batch->slots[i].type = request->type;
	batch->slots[i].op = request->op;
	batch->outstanding++;
	compose(xs, request);
}

static bool send_abort(struct pvf_xs *xs)
{
	struct request request = {.type = PVF_XS_TRANSACTION_END, .op = XS_NO_OP, .first = "F"};

	if (xs->abort_count == 0)
		return false;
	request.tx_id = xs->aborts[--xs->abort_count];
	compose(xs, &request);
	return true;
}

/* The next part of a LIST that did not fit one message (docs/misc/xenstore.txt, DIRECTORY_PART: path, offset). */
static bool send_part(struct pvf_xs *xs, struct xs_batch *batch)
{
	struct request request = {.type = PVF_XS_DIRECTORY_PART, .tx_id = batch->tx_id};
	struct pvf_text text;
	char offset[DECIMAL_SIZE];

	if (!batch->parts.active && batch->big > 0) {
		batch->parts.op = 0;
		while (batch->ops[batch->parts.op].status != XS_BIG)
			batch->parts.op++;
		batch->parts.active = true;
		batch->parts.sent = false;
		batch->parts.offset = 0;
	}
	if (!batch->parts.active || batch->parts.sent)
		return false;
	pvf_text_start(&text, offset, sizeof(offset));
	pvf_text_number(&text, batch->parts.offset);
	request.op = batch->parts.op;
	request.first = batch->ops[batch->parts.op].path;
	request.second = offset;
	batch->parts.sent = true;
	send_request(xs, batch, &request);
	return true;
}

static bool send_op(struct pvf_xs *xs, struct xs_batch *batch)
{
	struct request request = {.tx_id = batch->tx_id};
	const struct verb_row *verb;
	struct pvf_store_op *op;

	/* Operations refused before the start have their status already. */
	while (batch->next < batch->n && batch->ops[batch->next].status != XS_UNSENT)
		batch->next++;
	if (batch->next == batch->n || batch->failed)
		return false;
	op = &batch->ops[batch->next];
	verb = &verb_rows[op->verb];
	if (verb->changes && batch->lists > 0)
		return false;
	request.type = verb->type;
	request.op = batch->next++;
	request.first = op->path;
	if (op->verb == PVF_STORE_WRITE) {
		request.raw = op->value;
		request.raw_length = op->length;
	}
	if (op->verb == PVF_STORE_LIST)
		batch->lists++;
	op->status = XS_SENT;
	send_request(xs, batch, &request);
	return true;
}

static bool send_control(struct pvf_xs *xs, struct xs_batch *batch)
{
	struct request request = {.op = XS_NO_OP, .tx_id = batch->tx_id};

	if (batch->control.status != XS_UNSENT || batch->lists > 0 || (batch->next < batch->n && !batch->failed))
		return false;
	request.type = batch->control.type;
	request.first = batch->control.first;
	request.second = batch->control.second;
	batch->control.status = XS_SENT;
	send_request(xs, batch, &request);
	return true;
}

/* Puts the next message that may be sent into xs->out; false when there is none now. */
static bool send_next(struct pvf_xs *xs, struct xs_batch *batch)
{
	if (send_abort(xs))
		return true;
	if (!batch || batch->outstanding == XS_WINDOW)
		return false;
	return send_part(xs, batch) || send_op(xs, batch) || send_control(xs, batch);
}

static bool send_all(struct pvf_xs *xs, struct xs_batch *batch)
{
	bool moved = false;

	while (xs->broken == PVF_OK) {
		if (xs->out_sent == xs->out_length && !send_next(xs, batch))
			break;
		if (!pvf_xs_ring_push(xs))
			break;
		moved = true;
	}
	return moved;
}

/* ------------------------------------------------------------------ receiving */

void pvf_xs_abort_later(struct pvf_xs *xs, uint32_t tx_id)
{
	if (xs->abort_count < PVF_XS_MAX_ABORTS)
		xs->aborts[xs->abort_count++] = tx_id;
}

/* path NUL token NUL. A token that is not of a present watch is left over from an earlier one. */
static void receive_event(struct pvf_xs *xs, const char *payload, uint32_t length)
{
	uint32_t path = pvf_xs_length(payload, length);
	uint32_t slot, generation;

	if (path < length && pvf_xs_token_parse(payload + path + 1u, &slot, &generation) && slot < PVF_XS_MAX_WATCHES &&
	    xs->watches[slot].event && xs->watches[slot].generation == generation) {
		xs->statistics.watch_events++;
		pvf_event(xs->watches[slot].event);
		return;
	}
	xs->statistics.stray++;
}

/* Keeps the text for people; what is not printable becomes a question mark. */
static int receive_error(struct pvf_xs *xs, const char *payload, uint32_t length)
{
	uint32_t end = pvf_xs_length(payload, length);
	uint32_t i;

	if (end > length)
		end = length;
	for (i = 0; i < end && i < sizeof(xs->last_error) - 1u; i++)
		xs->last_error[i] = payload[i] >= ' ' && payload[i] <= '~' ? payload[i] : '?';
	xs->last_error[i] = '\0';
	return pvf_xs_error_status(payload, end);
}

/* Copies what the caller has room for from `offset` of the whole value on. */
static void deliver(struct pvf_store_op *op, uint32_t offset, const void *bytes, uint32_t length)
{
	if (offset >= op->capacity)
		return;
	if (length > op->capacity - offset)
		length = op->capacity - offset;
	if (length > 0)
		memcpy((uint8_t *)op->value + offset, bytes, length);
}

static void finish_value(struct pvf_store_op *op, uint32_t length)
{
	op->length = length;
	op->status = length > op->capacity ? PVF_STORE_TOO_BIG : PVF_OK;
}

static void finish_parts(struct xs_batch *batch, int status)
{
	struct pvf_store_op *op = &batch->ops[batch->parts.op];

	if (status == PVF_OK)
		finish_value(op, batch->parts.offset);
	else
		op->status = status;
	batch->parts.active = false;
	batch->big--;
	batch->lists--;
}

/*
 * generation NUL, then children each with its NUL; an empty child ends the list. A new generation means that the
 * node has changed since the first part: start again.
 */
static int parts_take(struct xs_batch *batch, const char *payload, uint32_t length)
{
	struct xs_parts *parts = &batch->parts;
	uint32_t generation = pvf_xs_length(payload, length) + 1u;
	const char *children = payload + generation;
	bool last;

	if (generation >= length || generation > sizeof(parts->generation) || payload[length - 1u] != '\0')
		return PVF_STORE_PROTOCOL;
	if (parts->offset > UINT32_MAX - length)
		return PVF_STORE_PROTOCOL;
	if (parts->offset > 0 && memcmp(parts->generation, payload, generation) != 0) {
		parts->offset = 0;
		return XS_BIG;
	}
	memcpy(parts->generation, payload, generation);
	length -= generation;
	last = length == 1u || children[length - 2u] == '\0';
	if (last)
		length--;
	deliver(&batch->ops[parts->op], parts->offset, children, length);
	parts->offset += length;
	return last ? PVF_OK : XS_BIG;
}

static void receive_part(struct xs_batch *batch, int status, const char *payload, uint32_t length)
{
	batch->parts.sent = false;
	if (status == PVF_OK)
		status = parts_take(batch, payload, length);
	/* An older xenstored: it has said that the list is too big, and that is what there is to say. */
	if (status == PVF_STORE_UNKNOWN_OP)
		status = PVF_STORE_TOO_BIG;
	if (status != XS_BIG)
		finish_parts(batch, status);
}

static void receive_op(struct xs_batch *batch, struct pvf_store_op *op, int status, const char *payload,
		       uint32_t length)
{
	if (op->verb == PVF_STORE_LIST && status == PVF_STORE_TOO_BIG) {
		op->status = XS_BIG;
		batch->big++;
		return;
	}
	if (op->verb == PVF_STORE_LIST)
		batch->lists--;
	/* Removing what is not there is success. */
	if (op->verb == PVF_STORE_REMOVE && status == PVF_STORE_NOT_FOUND)
		status = PVF_OK;
	op->status = status;
	if (status == PVF_OK && !verb_rows[op->verb].changes) {
		deliver(op, 0, payload, length);
		finish_value(op, length);
	}
	if (batch->transaction && verb_rows[op->verb].changes && status != PVF_OK)
		batch->failed = true;
}

/* The transaction's number; 0 stands for "no transaction" and is no answer. */
static uint32_t parse_transaction(const char *payload, uint32_t length)
{
	uint64_t number;

	if (!pvf_text_parse(payload, length, &number) || number > UINT32_MAX)
		return 0;
	return (uint32_t)number;
}

static void receive_control(struct xs_batch *batch, int status, const char *payload, uint32_t length)
{
	if (status == PVF_OK && batch->control.type == PVF_XS_TRANSACTION_START) {
		batch->tx_id = parse_transaction(payload, length);
		if (batch->tx_id == 0)
			status = PVF_STORE_PROTOCOL;
	}
	batch->control.status = status;
}

static struct xs_slot *find_slot(struct xs_batch *batch, uint32_t id)
{
	uint32_t i;

	for (i = 0; batch && i < XS_WINDOW; i++) {
		if (batch->slots[i].type != 0 && batch->slots[i].id == id)
			return &batch->slots[i];
	}
	return NULL;
}

/* Nobody waits for it. A transaction that a deadline left behind is given back at once. */
static void receive_stray(struct pvf_xs *xs, const struct pvf_wire_xs_header *header, const char *payload)
{
	uint32_t tx_id = header->type == PVF_XS_TRANSACTION_START ? parse_transaction(payload, header->length) : 0;

	xs->statistics.stray++;
	if (tx_id != 0)
		pvf_xs_abort_later(xs, tx_id);
}

static void receive_answer(struct pvf_xs *xs, struct xs_batch *batch, const struct pvf_wire_xs_header *header,
			   const char *payload)
{
	struct xs_slot *slot = find_slot(batch, header->req_id);
	struct xs_slot sent;
	int status = PVF_OK;

	if (!slot) {
		receive_stray(xs, header, payload);
		return;
	}
	sent = *slot;
	slot->type = 0;
	batch->outstanding--;
	if ((int32_t)(sent.id - batch->round_id) >= 0)
		batch->round_open = false;
	if (header->type == PVF_XS_ERROR)
		status = receive_error(xs, payload, header->length);
	else if (header->type != sent.type)
		status = PVF_STORE_PROTOCOL;
	if (sent.op == XS_NO_OP)
		receive_control(batch, status, payload, header->length);
	else if (sent.type == PVF_XS_DIRECTORY_PART)
		receive_part(batch, status, payload, header->length);
	else
		receive_op(batch, &batch->ops[sent.op], status, payload, header->length);
}

/* At most one ringful at a time, so that a flood of events cannot hold the caller past its deadline. */
static bool receive_all(struct pvf_xs *xs, struct xs_batch *batch)
{
	struct pvf_wire_xs_header header;
	uint32_t budget = PVF_WIRE_XS_RING;

	while (pvf_xs_ring_pull(xs, &budget)) {
		const char *payload = (const char *)xs->in + PVF_WIRE_XS_HEADER;

		memcpy(&header, xs->in, sizeof(header));
		xs->in[PVF_WIRE_XS_HEADER + header.length] = '\0';
		xs->in_length = 0;
		if (header.type == PVF_XS_WATCH_EVENT)
			receive_event(xs, payload, header.length);
		else
			receive_answer(xs, batch, &header, payload);
	}
	return budget != PVF_WIRE_XS_RING;
}

/* ------------------------------------------------------------------ both */

bool pvf_xs_exchange(struct pvf_xs *xs, struct xs_batch *batch)
{
	bool received = receive_all(xs, batch);
	bool sent = send_all(xs, batch);

	if (received || sent) {
		xs->transport.notify(xs->transport.ctx);
		return true;
	}
	/* A store that has given the ring up says so where it can (Xen 4.17: io/xs_wire.h, error). */
	if ((pvf_load32(&xs->page->server_features) & PVF_WIRE_XS_FEATURE_ERROR) &&
	    pvf_load32(&xs->page->error) != PVF_WIRE_XS_ERROR_NONE)
		xs->broken = PVF_STORE_PROTOCOL;
	return false;
}

static bool finished(const struct xs_batch *batch)
{
	return batch->outstanding == 0 && batch->big == 0 && (batch->next == batch->n || batch->failed) &&
	       batch->control.status != XS_UNSENT;
}

/*
 * A dependent round trip begins when there is nothing left to send, and ends with the answer to what was sent last until
 * then: a pipeline longer than the window is several.
 */
static void count_round_trip(struct pvf_xs *xs, struct xs_batch *batch)
{
	if (batch->round_open || batch->outstanding == 0 || xs->out_sent != xs->out_length)
		return;
	batch->round_open = true;
	batch->round_id = xs->next_id - 1u;
	xs->statistics.round_trips++;
}

int pvf_xs_run(struct pvf_xs *xs, struct xs_batch *batch, uint64_t deadline)
{
	const struct pvf_xs_transport *transport = &xs->transport;
	bool expired = false;

	for (;;) {
		/* Sampled before the look at the rings: an event in between makes the wait return at once. */
		uint32_t sequence = transport->sequence(transport->ctx);
		bool moved = pvf_xs_exchange(xs, batch);
		int rc;

		if (xs->broken != PVF_OK)
			return xs->broken;
		if (finished(batch))
			return PVF_OK;
		if (expired)
			return PVF_TIMEOUT;
		if (!moved) {
			count_round_trip(xs, batch);
			rc = transport->wait(transport->ctx, sequence, deadline);
			if (rc != PVF_OK && rc != PVF_AGAIN && rc != PVF_TIMEOUT)
				return rc;
			expired = rc == PVF_TIMEOUT;
		}
		expired = expired || transport->now(transport->ctx) >= deadline;
	}
}

void pvf_xs_abandon(struct pvf_xs *xs, struct xs_batch *batch, int status)
{
	struct xs_slot *slot = find_slot(batch, xs->next_id - 1u);
	uint32_t i;

	if (slot && xs->out_sent == 0 && xs->out_length > 0) {
		xs->out_length = 0;
		if (slot->op == XS_NO_OP)
			batch->control.status = XS_UNSENT;
		else if (slot->type != PVF_XS_DIRECTORY_PART)
			batch->ops[slot->op].status = XS_UNSENT;
	}
	for (i = 0; i < batch->n; i++) {
		if (batch->ops[i].status == XS_UNSENT)
			batch->ops[i].status = PVF_CLOSED;
		else if (batch->ops[i].status > 0)
			batch->ops[i].status = status;
	}
}
