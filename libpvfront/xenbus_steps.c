/* SPDX-License-Identifier: MIT */
/* The steps behind the phase table's actions, in the order of a device's life. */
#include "bytes.h"

#include "device.h"

/* How soon to look again for a key that the backend owes. */
#define LATE_KEYS_NS 20000000u

int pvf_device_write_state(struct pvf_device *device, uint32_t state)
{
	struct pvf_trace trace = {.kind = PVF_TRACE_STATE, .text = pvf_state_name(state)};
	int status;

	pvf_batch_start(device);
	pvf_batch_write_number(device, device->path, "state", state);
	status = pvf_batch_submit(device, 0);
	if (status != PVF_OK) {
		struct pvf_text text = pvf_device_text(device, status);

		pvf_text_add(&text, "cannot write ");
		pvf_text_path(&text, device->path);
		pvf_text_add(&text, "/state: ");
		pvf_text_add(&text, pvf_status_text(status));
		return status;
	}
	device->frontend_state = state;
	pvf_device_trace(device, &trace);
	return PVF_OK;
}

/* ---- start ---- */

static int start_error(struct pvf_device *device, int status, const char *key, const char *what)
{
	struct pvf_text text = pvf_device_text(device, status);

	pvf_text_path(&text, device->path);
	pvf_text_add(&text, "/");
	pvf_text_add(&text, key);
	pvf_text_add(&text, what);
	return status;
}

/* The same for a call that failed: with the store's reason. */
static int start_failed(struct pvf_device *device, int status, const char *key, const char *what)
{
	struct pvf_text text = pvf_device_text(device, status);

	pvf_text_path(&text, device->path);
	pvf_text_add(&text, "/");
	pvf_text_add(&text, key);
	pvf_text_add(&text, what);
	pvf_text_add(&text, ": ");
	/* E2BIG is how xenstored says that a domain has as many watches as it may. */
	pvf_text_add(&text, status == PVF_STORE_TOO_BIG ? "this domain's quota is used up" : pvf_status_text(status));
	return status;
}

/* The backend's path and domain from our own directory; both are needed before anything can be said. */
static int read_frontend(struct pvf_device *device)
{
	const struct pvf_store_op *ops = device->batch.ops;
	uint64_t number = 0;
	int status;

	pvf_batch_start(device);
	pvf_batch_read_path(device, device->path, "backend");
	pvf_batch_read(device, device->path, "backend-id");
	pvf_batch_read(device, device->path, "state");
	pvf_keys_read(device, PVF_KEY_FRONTEND);
	status = pvf_batch_submit(device, 0);
	if (status != PVF_OK)
		return start_failed(device, status, "backend", " cannot be read");
	if (ops[0].status == PVF_STORE_NOT_FOUND || ops[0].status == PVF_STORE_DENIED)
		return start_error(device, ops[0].status, "backend",
				   " is not there: no such device, or the toolstack removed it");
	if (ops[0].status != PVF_OK || ops[0].length == 0 || *(const char *)ops[0].value != '/')
		return start_error(device, PVF_GARBAGE, "backend", " is no absolute path");
	if (ops[1].status != PVF_OK || !pvf_text_parse(ops[1].value, ops[1].length, &number) || number > 0x7fefu)
		return start_error(device, PVF_GARBAGE, "backend-id", " is no domain number");
	device->backend_domid = (uint16_t)number;
	device->frontend_state = PVF_STATE_UNKNOWN;
	if (ops[2].status == PVF_OK && pvf_text_parse(ops[2].value, ops[2].length, &number) && number < PVF_STATES)
		device->frontend_state = (uint32_t)number;
	return pvf_keys_take(device, PVF_KEY_FRONTEND, 3);
}

static int read_column(struct pvf_device *device)
{
	const struct pvf_store_op *op = device->batch.ops;
	uint64_t number;
	int status;

	pvf_batch_start(device);
	pvf_batch_read(device, device->backend_path, "state");
	status = pvf_batch_submit(device, 0);
	if (status != PVF_OK)
		return start_failed(device, status, "backend", " names a directory whose state cannot be read");
	device->column = PVF_STATE_UNKNOWN;
	if (op->status == PVF_OK && pvf_text_parse(op->value, op->length, &number) && number < PVF_STATES)
		device->column = (uint32_t)number;
	return PVF_OK;
}

/*
 * Our state is beyond the start, or the backend's is: an earlier life left them so, killed before it could say goodbye.
 * Neither side cleans up by itself; our Closed makes the backend let go.
 */
static bool left_over(const struct pvf_device *device)
{
	bool ours = device->frontend_state >= PVF_STATE_INITIALISED && device->frontend_state <= PVF_STATE_CLOSED;
	bool theirs = device->column >= PVF_STATE_INITIALISED && device->column <= PVF_STATE_CLOSING;

	return ours && theirs;
}

/* Our Closed is what makes a backend let go, also one at Closing, which waits for nothing else (Linux blkback). */
int pvf_step_reset(struct pvf_device *device)
{
	int status = pvf_device_write_state(device, PVF_STATE_CLOSED);

	if (status == PVF_OK)
		pvf_device_enter(device, PVF_PHASE_RESETTING, "the backend stands where an earlier life left it");
	device->fresh = false;
	return status;
}

int pvf_step_start(struct pvf_device *device)
{
	int status;

	if (device->phase == PVF_PHASE_RESUMING) {
		status = device->class->stop(device, PVF_RESET, PVF_AGAIN);
		if (status != PVF_OK)
			return status;
		/* Once a resume: what is granted anew here is ended like anything else afterwards. */
		if (device->forgotten)
			status = device->class->release(device, true);
		device->forgotten = false;
		if (status != PVF_OK)
			return status;
	}
	device->want = PVF_WANT_UP;
	device->silent = false;
	device->status = PVF_OK;
	device->error[0] = 0;
	pvf_keys_reset(device, true);
	status = read_frontend(device);
	if (status != PVF_OK)
		return status;
	status = pvf_device_set_backend(device, device->batch.ops[0].value, device->batch.ops[0].length);
	if (status != PVF_OK)
		return start_failed(device, status, "backend", " cannot be watched");
	if (device->frontend_state != PVF_STATE_INITIALISING) {
		status = read_column(device);
		if (status != PVF_OK)
			return status;
		if (left_over(device))
			return pvf_step_reset(device);
		status = pvf_device_write_state(device, PVF_STATE_INITIALISING);
		if (status != PVF_OK)
			return status;
	}
	device->fresh = false;
	device->column = PVF_STATE_UNKNOWN;
	pvf_device_enter(device, PVF_PHASE_WAITING, "the backend is known");
	return PVF_OK;
}

/* ---- connecting ---- */

int pvf_step_prepare(struct pvf_device *device)
{
	int status;

	if (pvf_keys_missing(device, PVF_KEY_OFFER))
		return PVF_AGAIN;
	status = device->class->prepare(device);
	if (status != PVF_OK) {
		if (!device->error[0]) {
			struct pvf_text text = pvf_device_text(device, status);

			pvf_text_add(&text, "cannot make the ring: ");
			pvf_text_add(&text, pvf_status_text(status));
		}
		return status;
	}
	pvf_device_enter(device, PVF_PHASE_PUBLISHING, "the backend has made its offer");
	return PVF_OK;
}

/* All keys and the state, in one transaction, the state last (FIELD-BUGS 57, 68). */
int pvf_step_publish(struct pvf_device *device)
{
	struct pvf_trace trace = {.kind = PVF_TRACE_STATE, .text = pvf_state_name(PVF_STATE_INITIALISED)};
	int status;

	pvf_batch_start(device);
	device->class->publish(device);
	pvf_batch_write_number(device, device->path, "state", PVF_STATE_INITIALISED);
	status = pvf_batch_submit(device, PVF_STORE_TRANSACTION);
	if (status == PVF_STORE_CONFLICT) {
		/* Again from the reads: what the backend offers may have changed (docs/misc/xenstore.txt). */
		device->fresh = false;
		if (device->host->ops->now(device->host->ctx) < device->deadline)
			return PVF_OK;
	}
	if (status != PVF_OK) {
		struct pvf_text text = pvf_device_text(device, status);

		pvf_text_add(&text, "cannot publish the ring in ");
		pvf_text_path(&text, device->path);
		pvf_text_add(&text, ": ");
		pvf_text_add(&text, pvf_status_text(status));
		return status;
	}
	device->frontend_state = PVF_STATE_INITIALISED;
	device->published = true;
	/* The answer comes with an event; only a backend that is Connected already may have no more to say. */
	device->fresh = device->column != PVF_STATE_CONNECTED;
	pvf_device_trace(device, &trace);
	pvf_device_enter(device, PVF_PHASE_LINKED, "our keys are published");
	return PVF_OK;
}

int pvf_step_connect(struct pvf_device *device)
{
	int status;

	/* Some backends say Connected first and write the rest later (FEATURES X06): look again, within the deadline. */
	if (pvf_keys_missing(device, PVF_KEY_PROPERTY)) {
		uint64_t soon = device->host->ops->now(device->host->ctx) + LATE_KEYS_NS;

		device->read_again = soon < device->read_again ? soon : device->read_again;
		return PVF_AGAIN;
	}
	status = device->class->connect(device);
	if (status == PVF_OK)
		status = pvf_device_write_state(device, PVF_STATE_CONNECTED);
	if (status != PVF_OK)
		return status;
	/* From here on looks are rare without an event: no other firing may pass for the watch's first, should that be lost. */
	device->read_again = device->host->ops->now(device->host->ctx) + device->phase_ns;
	device->seen = device->sampled;
	device->expected = device->sampled;
	pvf_device_enter(device, PVF_PHASE_CONNECTED, "the backend is connected");
	return PVF_OK;
}

/* ---- closing ---- */

int pvf_step_drain(struct pvf_device *device)
{
	device->class->drain(device);
	pvf_device_enter(device, PVF_PHASE_DRAINING,
			 device->want == PVF_WANT_UP ? "the backend asks to close" : "the owner asks to close");
	return PVF_OK;
}

int pvf_step_drained(struct pvf_device *device)
{
	return device->class->in_flight(device) ? PVF_AGAIN : pvf_step_close(device);
}

/*
 * From here on nothing may keep the device (FIELD-BUGS 50): a store that fails is passed over, one that is silent is not
 * asked again, and the reason the device broke for stays what people read.
 */
static void say_goodbye(struct pvf_device *device, uint32_t state)
{
	struct pvf_trace trace = {.kind = PVF_TRACE_STATE, .text = pvf_state_name(state)};

	device->goodbye = state;
	device->fresh = false;
	/* Of a device that is not there we never knew a state; a write would make its directory. */
	if (device->silent || device->frontend_state == PVF_STATE_UNKNOWN)
		return;
	pvf_batch_start(device);
	pvf_batch_write_number(device, device->path, "state", state);
	trace.status = pvf_batch_submit(device, 0);
	if (trace.status == PVF_OK)
		device->frontend_state = state;
	pvf_device_trace(device, &trace);
}

void pvf_step_repeat_goodbye(struct pvf_device *device)
{
	if (device->frontend_state != device->goodbye)
		say_goodbye(device, device->goodbye);
	device->fresh = true; /* asked again with the next look, not at once */
}

int pvf_step_close(struct pvf_device *device)
{
	device->class->drain(device);
	pvf_device_enter(device, PVF_PHASE_CLOSING, "waiting for the backend to close");
	say_goodbye(device, PVF_STATE_CLOSING);
	return PVF_OK;
}

/* Why the requests that are still in flight end: the backend went away, or the owner closed. */
static int end_status(const struct pvf_device *device)
{
	if (device->phase == PVF_PHASE_BROKEN)
		return PVF_BROKEN;
	return device->want == PVF_WANT_DOWN ? PVF_CLOSED : PVF_RESET;
}

int pvf_step_finish(struct pvf_device *device)
{
	int status = device->class->stop(device, end_status(device), PVF_CLOSED);

	if (status != PVF_OK)
		return status;
	if (device->frontend_state != PVF_STATE_CLOSED)
		say_goodbye(device, PVF_STATE_CLOSED);
	(void)device->class->release(device, device->forgotten);
	device->forgotten = false;
	device->published = false;
	pvf_keys_reset(device, false);
	device->fresh = false;
	pvf_device_enter(device, PVF_PHASE_CLOSED, "everything is released");
	return PVF_OK;
}

int pvf_step_leave(struct pvf_device *device)
{
	/* At InitWait or Initialised it may be about to map what we published; without that it has nothing of ours. */
	if (!device->published)
		return pvf_step_finish(device);
	if (device->goodbye == PVF_STATE_CLOSED)
		return PVF_AGAIN; /* said, or said again with each look */
	say_goodbye(device, PVF_STATE_CLOSED);
	return PVF_OK;
}

/* ---- from an earlier life, or after the backend's restart ---- */

int pvf_step_reopen(struct pvf_device *device)
{
	int status = pvf_device_write_state(device, PVF_STATE_INITIALISING);

	if (status != PVF_OK)
		return status;
	device->fresh = false;
	device->column = PVF_STATE_UNKNOWN;
	pvf_device_enter(device, PVF_PHASE_WAITING, "the backend has let go of the earlier life");
	return PVF_OK;
}

int pvf_step_restart(struct pvf_device *device)
{
	pvf_device_enter(device, PVF_PHASE_RESTARTING, "the backend has left the connection");
	return PVF_OK;
}

int pvf_step_rewait(struct pvf_device *device)
{
	int status = device->class->stop(device, PVF_RESET, PVF_AGAIN);

	if (status != PVF_OK)
		return status;
	(void)device->class->release(device, false);
	device->published = false;
	pvf_keys_reset(device, false);
	return pvf_step_reopen(device);
}

/* ---- giving up ---- */

int pvf_device_break(struct pvf_device *device, int status)
{
	char where[96];
	struct pvf_text text;

	if (device->phase == PVF_PHASE_BROKEN)
		return PVF_AGAIN;
	if (!device->error[0]) {
		text = pvf_device_text(device, status);
		pvf_text_add(&text, pvf_status_text(status));
	}
	device->status = status;
	/* An owner inside the queue will see the shut gate on its next call; closing waits for it. */
	(void)device->class->stop(device, PVF_BROKEN, PVF_BROKEN);
	if (device->want == PVF_WANT_RECONNECT)
		device->want = PVF_WANT_UP;
	/* The toolstack looks for the reason here (PROTOCOL: error/<nodename>/error). */
	pvf_text_start(&text, where, sizeof(where));
	pvf_text_add(&text, "error/");
	pvf_text_add(&text, device->path);
	if (device->watching && status != PVF_TIMEOUT && !text.cut && device->path[0] != '/') {
		pvf_batch_start(device);
		pvf_batch_write(device, where, "error", device->error);
		(void)pvf_batch_submit(device, 0);
	}
	if (device->host->ops->log)
		device->host->ops->log(device->host->ctx, PVF_LOG_WARNING, device->error);
	pvf_device_enter(device, PVF_PHASE_BROKEN, device->error);
	/* Something was done: who wants it down is not to wait for an event that will not come. */
	return PVF_OK;
}

static void add_duration(struct pvf_text *text, uint32_t milliseconds)
{
	bool whole = milliseconds % 1000u == 0;

	pvf_text_number(text, whole ? milliseconds / 1000u : milliseconds);
	pvf_text_add(text, whole ? " s" : " ms");
}

/* "backend PATH stayed in InitWait for 10 s (phase linked, frontend in Initialised)" */
int pvf_step_timeout(struct pvf_device *device)
{
	struct pvf_text text = pvf_device_text(device, PVF_TIMEOUT);
	const struct pvf_key *key = NULL;

	if (device->phase == PVF_PHASE_LINKED && device->column == PVF_STATE_CONNECTED)
		key = pvf_keys_missing(device, PVF_KEY_PROPERTY);
	pvf_text_add(&text, device->phase == PVF_PHASE_RESTARTING ? "a queue's owner did not let go of it; backend in "
								  : "backend ");
	pvf_text_path(&text, device->backend_path ? device->backend_path : "");
	pvf_text_add(&text, device->column < PVF_STATES ? " stayed in " : " stayed at ");
	pvf_text_add(&text, pvf_state_name(device->column));
	pvf_text_add(&text, " for ");
	add_duration(&text, device->phase_ms);
	pvf_text_add(&text, " (phase ");
	pvf_text_add(&text, pvf_phase_name(device->phase));
	pvf_text_add(&text, ", frontend in ");
	pvf_text_add(&text, pvf_state_name(device->frontend_state));
	pvf_text_add(&text, ")");
	if (key) {
		pvf_text_add(&text, ": it wrote no ");
		pvf_text_add(&text, key->name);
	}
	return pvf_device_break(device, PVF_TIMEOUT);
}

static int give_up(struct pvf_device *device, int status, const char *what)
{
	struct pvf_text text = pvf_device_text(device, status);

	pvf_text_add(&text, "backend ");
	pvf_text_path(&text, device->backend_path);
	pvf_text_add(&text, what);
	pvf_text_add(&text, " (phase ");
	pvf_text_add(&text, pvf_phase_name(device->phase));
	pvf_text_add(&text, ")");
	return pvf_device_break(device, status);
}

int pvf_step_vanished(struct pvf_device *device)
{
	return give_up(device, PVF_CLOSED, " has vanished: its directory is gone");
}

int pvf_step_offline(struct pvf_device *device)
{
	return give_up(device, PVF_CLOSED, " is Closed and its key online is 0: the toolstack removes the device");
}

int pvf_step_refused(struct pvf_device *device)
{
	return give_up(device, PVF_CLOSED,
		       device->column == PVF_STATE_CLOSING
			       ? " went to Closing instead of Connected: it refuses our keys"
			       : " went to Closed instead of Connected: it refuses our keys");
}
