/* SPDX-License-Identifier: MIT */
/* The calls of the xenstore wire client. */
#include <pvfront/status.h>

#include "bytes.h"
#include "xs_internal.h"

static void xs_start(struct pvf_xs *xs, void *page)
{
	xs->page = page;
	xs->broken = PVF_OK;
	xs->out_sent = 0;
	xs->out_length = 0;
	xs->in_length = 0;
	xs->abort_count = 0;
	memset(xs->watches, 0, sizeof(xs->watches));
}

int pvf_xs_init(struct pvf_xs *xs, void *page, const struct pvf_xs_transport *transport)
{
	if (!xs || !page || !transport || !transport->notify || !transport->wait || !transport->sequence ||
	    !transport->now || ((uintptr_t)page & 3u) != 0)
		return PVF_INVALID;
	memset(xs, 0, sizeof(*xs));
	xs->transport = *transport;
	xs->next_id = 1;
	/*
	 * Watches of an earlier life of this domain (a boot loader, a kernel before kexec) may still be registered: tokens
	 * start at another number each time, so that their events are stray and new ones are not EEXIST.
	 */
	xs->watch_generation = (uint32_t)(transport->now(transport->ctx) >> 10);
	xs_start(xs, page);
	return PVF_OK;
}

void pvf_xs_resumed(struct pvf_xs *xs, void *page)
{
	xs_start(xs, page);
}

void pvf_xs_poll(struct pvf_xs *xs)
{
	if (xs->broken == PVF_OK)
		(void)pvf_xs_exchange(xs, NULL);
}

/* ------------------------------------------------------------------ the store */

/* What xenstored would refuse for its size, and what the wire cannot carry, is refused here (io/xs_wire.h, limits). */
static int check_path(const char *path)
{
	uint32_t limit;

	if (!path || path[0] == '\0')
		return PVF_STORE_INVALID;
	limit = path[0] == '/' ? PVF_WIRE_XS_ABS_PATH_MAX : PVF_WIRE_XS_REL_PATH_MAX;
	return pvf_xs_length(path, limit) > limit ? PVF_STORE_TOO_BIG : PVF_OK;
}

static int check_op(const struct pvf_store_op *op)
{
	int status;

	if (op->verb > PVF_STORE_LIST)
		return PVF_INVALID;
	status = check_path(op->path);
	if (status != PVF_OK || op->verb == PVF_STORE_REMOVE)
		return status;
	if (!op->value && (op->verb == PVF_STORE_WRITE ? op->length : op->capacity) > 0)
		return PVF_INVALID;
	if (op->verb == PVF_STORE_WRITE &&
	    op->length > PVF_WIRE_XS_PAYLOAD_MAX - 1u - pvf_xs_length(op->path, PVF_WIRE_XS_ABS_PATH_MAX))
		return PVF_STORE_TOO_BIG;
	return PVF_OK;
}

static bool op_changes(const struct pvf_store_op *op)
{
	return op->verb == PVF_STORE_WRITE || op->verb == PVF_STORE_REMOVE;
}

/* Marks every operation as not sent, or refuses it as the store would. */
static void prepare(struct xs_batch *batch)
{
	uint32_t i;

	for (i = 0; i < batch->n; i++) {
		struct pvf_store_op *op = &batch->ops[i];

		op->status = check_op(op);
		if (op->status == PVF_OK)
			op->status = XS_UNSENT;
		if (op->verb == PVF_STORE_READ || op->verb == PVF_STORE_LIST)
			op->length = 0;
	}
}

static int first_failure(const struct xs_batch *batch)
{
	uint32_t i;

	for (i = 0; i < batch->n; i++) {
		const struct pvf_store_op *op = &batch->ops[i];

		if (op->status < 0 && (op_changes(op) || op->status == PVF_INVALID))
			return op->status;
	}
	return PVF_OK;
}

static bool only_reads(const struct xs_batch *batch)
{
	uint32_t i;

	for (i = 0; i < batch->n; i++) {
		if (op_changes(&batch->ops[i]))
			return false;
	}
	return true;
}

static void set_control(struct xs_batch *batch, uint32_t type, const char *first, const char *second)
{
	batch->control.type = type;
	batch->control.first = first;
	batch->control.second = second;
	batch->control.status = XS_UNSENT;
}

/* Sends what is in the batch; when that is cut short, finishes the operations and returns why. */
static int run_or_abandon(struct pvf_xs *xs, struct xs_batch *batch, uint64_t deadline)
{
	int rc = pvf_xs_run(xs, batch, deadline);

	if (rc != PVF_OK)
		pvf_xs_abandon(xs, batch, rc);
	return rc;
}

/*
 * Without the deadline's patience: a transaction whose end was not sent is ended with "F" when there is room, at the
 * latest before the next request. One whose end was sent may have happened.
 */
static void give_up(struct pvf_xs *xs, const struct xs_batch *batch)
{
	if (batch->control.type == PVF_XS_TRANSACTION_END && batch->control.status == XS_SENT)
		return;
	pvf_xs_abort_later(xs, batch->tx_id);
	pvf_xs_poll(xs);
}

static int start_transaction(struct pvf_xs *xs, struct xs_batch *batch, uint64_t deadline)
{
	uint32_t n = batch->n;
	int rc;

	batch->n = 0;
	set_control(batch, PVF_XS_TRANSACTION_START, "", NULL);
	rc = run_or_abandon(xs, batch, deadline);
	batch->n = n;
	return rc != PVF_OK ? rc : batch->control.status;
}

static int run_transaction(struct pvf_xs *xs, struct xs_batch *batch, uint64_t deadline)
{
	int rc = start_transaction(xs, batch, deadline);
	int failure;

	if (rc != PVF_OK) {
		pvf_xs_abandon(xs, batch, PVF_CLOSED);
		return rc;
	}
	/* Whether it is to be committed depends on the answers, unless nothing in it can fail it. */
	batch->control.type = 0;
	if (only_reads(batch))
		set_control(batch, PVF_XS_TRANSACTION_END, "T", NULL);
	rc = run_or_abandon(xs, batch, deadline);
	failure = first_failure(batch);
	if (rc == PVF_OK && batch->control.type == 0) {
		set_control(batch, PVF_XS_TRANSACTION_END, failure == PVF_OK ? "T" : "F", NULL);
		rc = run_or_abandon(xs, batch, deadline);
	}
	if (rc != PVF_OK) {
		give_up(xs, batch);
		return rc;
	}
	if (failure == PVF_OK)
		return batch->control.status;
	/* What a failure cut off was not reached. */
	pvf_xs_abandon(xs, batch, PVF_CLOSED);
	return failure;
}

int pvf_xs_store(struct pvf_xs *xs, struct pvf_store_op *ops, uint32_t n, uint32_t flags, uint64_t deadline)
{
	struct xs_batch batch;
	int rc;

	if (!xs || (!ops && n > 0) || (flags & ~PVF_STORE_TRANSACTION) != 0)
		return PVF_INVALID;
	memset(&batch, 0, sizeof(batch));
	batch.ops = ops;
	batch.n = n;
	batch.transaction = (flags & PVF_STORE_TRANSACTION) != 0;
	prepare(&batch);
	rc = first_failure(&batch);
	if (xs->broken != PVF_OK)
		rc = xs->broken;
	if (n == 0 || xs->broken != PVF_OK || (batch.transaction && rc != PVF_OK)) {
		pvf_xs_abandon(xs, &batch, PVF_CLOSED);
		return rc;
	}
	if (batch.transaction)
		return run_transaction(xs, &batch, deadline);
	rc = run_or_abandon(xs, &batch, deadline);
	return rc != PVF_OK ? rc : first_failure(&batch);
}

/* ------------------------------------------------------------------ watches */

static int watch_call(struct pvf_xs *xs, uint32_t type, const char *path, uint32_t slot, uint64_t deadline)
{
	struct xs_batch batch;
	char token[XS_TOKEN_SIZE];
	int rc;

	memset(&batch, 0, sizeof(batch));
	pvf_xs_token(token, slot, xs->watches[slot].generation);
	set_control(&batch, type, path, token);
	rc = run_or_abandon(xs, &batch, deadline);
	return rc != PVF_OK ? rc : batch.control.status;
}

/* The token carries the slot and a generation of its own: events of an earlier watch in this slot are recognised. */
int pvf_xs_watch(struct pvf_xs *xs, const char *path, struct pvf_event *event, uint64_t deadline)
{
	uint32_t slot = 0;
	int status;

	if (!xs || !event)
		return PVF_INVALID;
	status = check_path(path);
	if (status == PVF_OK)
		status = xs->broken;
	if (status != PVF_OK)
		return status;
	while (slot < PVF_XS_MAX_WATCHES && xs->watches[slot].event)
		slot++;
	if (slot == PVF_XS_MAX_WATCHES)
		return PVF_STORE_QUOTA;
	xs->watches[slot].event = event;
	xs->watches[slot].path = path;
	xs->watches[slot].generation = ++xs->watch_generation;
	status = watch_call(xs, PVF_XS_WATCH, path, slot, deadline);
	if (status != PVF_OK)
		xs->watches[slot].event = NULL;
	return status;
}

static bool same_text(const char *a, const char *b)
{
	uint32_t length = pvf_xs_length(a, PVF_WIRE_XS_ABS_PATH_MAX);

	return length == pvf_xs_length(b, PVF_WIRE_XS_ABS_PATH_MAX) && memcmp(a, b, length) == 0;
}

int pvf_xs_unwatch(struct pvf_xs *xs, const char *path, struct pvf_event *event, uint64_t deadline)
{
	uint32_t slot = 0;

	if (!xs || !event)
		return PVF_INVALID;
	if (check_path(path) != PVF_OK)
		return check_path(path);
	while (slot < PVF_XS_MAX_WATCHES &&
	       (xs->watches[slot].event != event || !same_text(xs->watches[slot].path, path)))
		slot++;
	if (slot == PVF_XS_MAX_WATCHES)
		return PVF_STORE_NOT_FOUND;
	/* From here on its events are stray: the caller's event may go away whatever the store answers. */
	xs->watches[slot].event = NULL;
	if (xs->broken != PVF_OK)
		return xs->broken;
	return watch_call(xs, PVF_XS_UNWATCH, path, slot, deadline);
}
