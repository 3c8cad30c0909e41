/* SPDX-License-Identifier: MIT */
/* One frontend's life: look at the backend, ask the table, take the step. */
#include "bytes.h"

#include <pvfront/compiler.h>

#include "device.h"

/* A lost watch event costs at most this long; every look reads the store anew (DESIGN: watches only schedule). */
#define LOOK_AGAIN_NS 1000000000u
/* How soon to ask again whether an owner has left its queue. */
#define OWNER_LEAVES_NS 1000000u
/* Steps of one advance; a backend that flaps is looked at again in the next. */
#define ADVANCE_STEPS 32u
/* A whole connect or close may take this many phase deadlines, however the backend flaps. */
#define RUN_PHASES 6u

static const char *const phase_names[PVF_PHASES] = {
	[PVF_PHASE_IDLE] = "idle",
	[PVF_PHASE_WAITING] = "waiting",
	[PVF_PHASE_PUBLISHING] = "publishing",
	[PVF_PHASE_LINKED] = "linked",
	[PVF_PHASE_CONNECTED] = "connected",
	[PVF_PHASE_DRAINING] = "draining",
	[PVF_PHASE_CLOSING] = "closing",
	[PVF_PHASE_CLOSED] = "closed",
	[PVF_PHASE_RESETTING] = "resetting",
	[PVF_PHASE_RESTARTING] = "restarting",
	[PVF_PHASE_RESUMING] = "resuming",
	[PVF_PHASE_BROKEN] = "broken",
};

static const char *const state_names[PVF_COLUMNS] = {
	"Unknown",
	"Initialising",
	"InitWait",
	"Initialised",
	"Connected",
	"Closing",
	"Closed",
	"Reconfiguring",
	"Reconfigured",
	"Closed and offline",
	"a directory that is gone",
	"a state that does not exist",
};

const char *pvf_phase_name(enum pvf_phase phase)
{
	return (uint32_t)phase < PVF_PHASES ? phase_names[phase] : "?";
}

const char *pvf_state_name(uint32_t state)
{
	return state < PVF_COLUMNS ? state_names[state] : "?";
}

void pvf_device_trace(struct pvf_device *device, const struct pvf_trace *trace)
{
	struct pvf_trace full = *trace;

	if (!device->trace)
		return;
	if (full.kind != PVF_TRACE_PHASE) {
		full.from = device->phase;
		full.phase = device->phase;
	}
	full.frontend_state = device->frontend_state;
	full.backend_state = device->column;
	device->trace(device->trace_ctx, &full);
}

struct pvf_text pvf_device_text(struct pvf_device *device, int status)
{
	struct pvf_text text;

	device->status = status;
	pvf_text_start(&text, device->error, sizeof(device->error));
	return text;
}

static uint64_t now_of(const struct pvf_device *device)
{
	return device->host->ops->now(device->host->ctx);
}

void pvf_device_enter(struct pvf_device *device, enum pvf_phase phase, const char *why)
{
	struct pvf_trace trace = {.kind = PVF_TRACE_PHASE, .from = device->phase, .phase = phase, .text = why};
	bool has_deadline = pvf_actions[pvf_table_deadline_action(phase)].run != NULL;

	device->phase = phase;
	device->deadline = has_deadline ? now_of(device) + device->phase_ns : PVF_FOREVER;
	pvf_device_trace(device, &trace);
}

/* ---- looking at the backend ---- */

static uint32_t column_of(struct pvf_device *device)
{
	const struct pvf_store_op *ops = device->batch.ops;
	uint64_t number;

	/* Without a right to read, a missing directory is EACCES to a guest. */
	if (ops[0].status == PVF_STORE_NOT_FOUND || ops[0].status == PVF_STORE_DENIED)
		return PVF_COLUMN_VANISHED;
	device->offline =
		ops[2].status == PVF_OK && pvf_text_parse(ops[2].value, ops[2].length, &number) && number == 0;
	if (ops[1].status != PVF_OK)
		return PVF_STATE_UNKNOWN;
	if (ops[1].length > ops[1].capacity || !pvf_text_parse(ops[1].value, ops[1].length, &number) ||
	    number >= PVF_STATES)
		return PVF_COLUMN_GARBAGE;
	return number == PVF_STATE_CLOSED && device->offline ? PVF_COLUMN_OFFLINE : (uint32_t)number;
}

static bool reads_side(const struct pvf_device *device, enum pvf_key_side side)
{
	if (side == PVF_KEY_OFFER)
		return device->phase == PVF_PHASE_WAITING || device->phase == PVF_PHASE_PUBLISHING;
	return device->phase == PVF_PHASE_LINKED;
}

/* Reads state, online and the keys of this phase in one batch. */
static int look(struct pvf_device *device)
{
	static const enum pvf_key_side sides[] = {PVF_KEY_OFFER, PVF_KEY_PROPERTY};
	uint32_t before = device->column, first = 3;
	int status;

	device->sampled = pvf_event_sequence(&device->event);
	device->seen = device->sampled;
	if ((int32_t)(device->expected - device->seen) > 0)
		device->seen = device->expected;
	device->read_again = now_of(device) + LOOK_AGAIN_NS;
	pvf_batch_start(device);
	pvf_batch_read(device, device->backend_path, "");
	pvf_batch_read(device, device->backend_path, "state");
	pvf_batch_read(device, device->backend_path, "online");
	for (uint32_t i = 0; i < 2; i++)
		if (reads_side(device, sides[i]))
			pvf_keys_read(device, sides[i]);
	status = pvf_batch_submit(device, 0);
	if (status != PVF_OK) {
		struct pvf_text text = pvf_device_text(device, status);

		pvf_text_add(&text, "cannot read the backend's directory ");
		pvf_text_path(&text, device->backend_path);
		pvf_text_add(&text, ": ");
		pvf_text_add(&text, pvf_status_text(status));
		return status;
	}
	device->column = column_of(device);
	if (device->column != before) {
		struct pvf_trace trace = {.kind = PVF_TRACE_PEER, .text = pvf_state_name(device->column)};

		pvf_device_trace(device, &trace);
	}
	if (device->column == PVF_COLUMN_VANISHED)
		return PVF_OK;
	/* Properties count once the backend is Connected; before, they may be an earlier life's. */
	for (uint32_t i = 0; i < 2 && status == PVF_OK; i++)
		if (reads_side(device, sides[i]) &&
		    (sides[i] == PVF_KEY_OFFER || device->column == PVF_STATE_CONNECTED))
			status = pvf_keys_take(device, sides[i], first);
	return status;
}

bool pvf_device_lets_go(const struct pvf_device *device)
{
	return device->phase == PVF_PHASE_DRAINING || device->phase == PVF_PHASE_CLOSING ||
	       device->phase == PVF_PHASE_CLOSED || device->phase == PVF_PHASE_BROKEN;
}

/* Whether there is a backend to look at, and a store that answers. */
static bool knows_backend(const struct pvf_device *device)
{
	return device->backend_path && device->phase != PVF_PHASE_IDLE && device->phase != PVF_PHASE_RESUMING &&
	       !(device->silent && pvf_device_lets_go(device));
}

bool pvf_device_event_due(const struct pvf_device *device)
{
	return (int32_t)(pvf_event_sequence(&device->event) - device->seen) > 0;
}

/* Looks when something may have changed. In phases that only let go, a store that fails does not stop them. */
static int look_if_due(struct pvf_device *device, bool *looked)
{
	bool due = !device->fresh || pvf_device_event_due(device);
	int status;

	*looked = false;
	if (!knows_backend(device)) {
		device->read_again = PVF_FOREVER;
		return PVF_OK;
	}
	if (!due && (device->read_again == PVF_FOREVER || now_of(device) < device->read_again))
		return PVF_OK;
	status = look(device);
	device->fresh = true;
	*looked = true;
	if (device->phase == PVF_PHASE_CONNECTED) {
		/* The data path goes on while the store fails or is silent, and looks are rare: a lost event costs a phase. */
		if (status != PVF_OK)
			device->error[0] = 0;
		if (status == PVF_OK || status == PVF_TIMEOUT)
			device->read_again = now_of(device) + device->phase_ns;
		return PVF_OK;
	}
	if (device->phase == PVF_PHASE_CLOSING)
		pvf_step_repeat_goodbye(device);
	if (device->phase == PVF_PHASE_BROKEN || (device->phase == PVF_PHASE_CLOSED && device->want == PVF_WANT_DOWN))
		device->read_again = PVF_FOREVER;
	return pvf_device_lets_go(device) ? PVF_OK : status;
}

/* ---- advancing ---- */

static int check_failure(struct pvf_device *device)
{
	struct pvf_text text;
	char clause[160];
	int status;

	if (device->phase != PVF_PHASE_CONNECTED && device->phase != PVF_PHASE_DRAINING)
		return PVF_OK;
	pvf_text_start(&text, clause, sizeof(clause));
	status = device->class->failure(device, &text);
	if (status == PVF_OK)
		return PVF_OK;
	text = pvf_device_text(device, status);
	pvf_text_add(&text, "the backend broke the protocol: ");
	pvf_text_add(&text, clause);
	return pvf_device_break(device, status);
}

/* One step; PVF_OK when something was done, PVF_AGAIN when there is nothing to do now. */
static int step(struct pvf_device *device)
{
	const struct pvf_action *action;
	bool looked;
	int status = look_if_due(device, &looked);

	if (status != PVF_OK)
		return pvf_device_break(device, status);
	status = check_failure(device);
	if (status != PVF_OK)
		return status;
	/* An owner that was inside when it broke has left by now: end what was in flight. */
	if (device->phase == PVF_PHASE_BROKEN && device->class->stop(device, PVF_BROKEN, PVF_BROKEN) != PVF_OK)
		device->read_again = now_of(device) + OWNER_LEAVES_NS;
	action = &pvf_actions[pvf_table_action(device->phase, device->want, device->column)];
	if (!action->run && device->deadline != PVF_FOREVER && now_of(device) >= device->deadline) {
		/* A watch event may have been lost: the last word is what the store says now. */
		if (!looked && device->fresh) {
			device->fresh = false;
			return PVF_OK;
		}
		action = &pvf_actions[pvf_table_deadline_action(device->phase)];
	}
	if (!action->run)
		return PVF_AGAIN;
	status = action->run(device);
	if (status == PVF_BUSY) {
		device->read_again = now_of(device) + OWNER_LEAVES_NS;
		status = PVF_AGAIN;
	}
	if (status == PVF_AGAIN && device->deadline != PVF_FOREVER && now_of(device) >= device->deadline) {
		action = &pvf_actions[pvf_table_deadline_action(device->phase)];
		status = action->run ? action->run(device) : PVF_AGAIN;
		if (status == PVF_BUSY)
			status = PVF_AGAIN;
	}
	return status == PVF_AGAIN || status == PVF_OK ? status : pvf_device_break(device, status);
}

uint64_t pvf_device_advance(struct pvf_device *device)
{
	uint32_t steps = 0;

	if (device->host->ops->store_poll)
		device->host->ops->store_poll(device->host->ctx);
	while (steps < ADVANCE_STEPS && step(device) == PVF_OK)
		steps++;
	if (steps == ADVANCE_STEPS)
		return now_of(device);
	/* Answers mark the queue's event, not the device's: look again soon whether the last one has come. */
	if (device->phase == PVF_PHASE_DRAINING) {
		uint64_t soon = now_of(device) + OWNER_LEAVES_NS;

		return soon < device->deadline ? soon : device->deadline;
	}
	return device->read_again < device->deadline ? device->read_again : device->deadline;
}

int pvf_device_run(struct pvf_device *device, enum pvf_phase until)
{
	const struct pvf_host *host = device->host;
	uint64_t end = now_of(device) + RUN_PHASES * device->phase_ns;

	if (!host->ops->wait)
		return PVF_UNSUPPORTED;
	for (;;) {
		uint32_t sequence = pvf_event_sequence(&device->event);
		uint64_t deadline = pvf_device_advance(device);
		int status;

		if (device->phase == until)
			return PVF_OK;
		if (device->phase == PVF_PHASE_BROKEN && device->want == PVF_WANT_UP)
			return device->status;
		if (device->phase == PVF_PHASE_CLOSED && device->want != PVF_WANT_RECONNECT)
			return PVF_CLOSED;
		if (now_of(device) >= end) {
			struct pvf_text text = pvf_device_text(device, PVF_TIMEOUT);

			pvf_text_add(&text, "the backend kept changing its state and never settled");
			(void)pvf_device_break(device, PVF_TIMEOUT);
			return PVF_TIMEOUT;
		}
		status = host->ops->wait(host->ctx, &device->event, sequence, deadline < end ? deadline : end);
		if (status != PVF_OK && status != PVF_TIMEOUT)
			return status;
	}
}

/* ---- opening, resuming, freeing ---- */

static char *copy_string(const struct pvf_host *host, const char *string, uint32_t length)
{
	char *copy = host->ops->alloc(host->ctx, length + 1u);

	if (copy)
		memcpy(copy, string, length);
	return copy;
}

int pvf_device_open(struct pvf_device *device, const struct pvf_host *host, const struct pvf_device_class *class,
		    const char *path, void *negotiated, uint8_t *missing)
{
	uint32_t length = pvf_text_length(path);

	if (length == 0 || length > PVF_WIRE_XS_ABS_PATH_MAX - 64u)
		return PVF_INVALID;
	device->host = host;
	device->class = class;
	device->negotiated = negotiated;
	device->missing = missing;
	device->phase = PVF_PHASE_IDLE;
	device->want = PVF_WANT_DOWN;
	device->deadline = PVF_FOREVER;
	device->read_again = PVF_FOREVER;
	device->path_bytes = length + 1u;
	device->path = copy_string(host, path, length);
	if (!device->path)
		return PVF_NO_MEMORY;
	pvf_keys_reset(device, true);
	return pvf_device_scratch(device);
}

static void forget_backend(struct pvf_device *device)
{
	const struct pvf_host *host = device->host;

	if (device->watching)
		host->ops->unwatch(host->ctx, device->watch_path, &device->event, now_of(device) + device->phase_ns);
	device->watching = false;
	if (device->backend_path)
		host->ops->free(host->ctx, device->backend_path, device->backend_path_bytes);
	if (device->watch_path)
		host->ops->free(host->ctx, device->watch_path, device->watch_path_bytes);
	device->backend_path = NULL;
	device->backend_path_bytes = 0;
	device->watch_path = NULL;
}

/*
 * The backend's state is watched, not its directory: a backend that publishes a dozen keys would cause a dozen looks, each a
 * round trip. It fires too when the directory is removed. Keys that come late are looked for (pvf_step_connect).
 */
static int watch_state(struct pvf_device *device, uint32_t length)
{
	static const char suffix[] = "/state";
	const struct pvf_host *host = device->host;
	int status;

	device->watch_path = host->ops->alloc(host->ctx, length + sizeof(suffix));
	if (!device->watch_path)
		return PVF_NO_MEMORY;
	device->watch_path_bytes = length + (uint32_t)sizeof(suffix);
	memcpy(device->watch_path, device->backend_path, length);
	memcpy(device->watch_path + length, suffix, sizeof(suffix));
	/*
	 * A watch fires once when it is registered (docs/misc/xenstore.txt); a look that comes after says all that this
	 * firing could. Should it be the only one of two that arrives, the other is a lost event like any.
	 */
	device->expected = pvf_event_sequence(&device->event) + 1u;
	status = host->ops->watch(host->ctx, device->watch_path, &device->event, now_of(device) + device->phase_ns);
	device->watching = status == PVF_OK;
	return status;
}

int pvf_device_set_backend(struct pvf_device *device, const char *path, uint32_t length)
{
	const struct pvf_host *host = device->host;
	int status;

	if (device->watching && device->backend_path_bytes == length + 1u &&
	    memcmp(device->backend_path, path, length) == 0)
		return PVF_OK;
	forget_backend(device);
	device->backend_path = copy_string(host, path, length);
	if (!device->backend_path)
		return PVF_NO_MEMORY;
	device->backend_path_bytes = length + 1u;
	status = pvf_device_scratch(device);
	if (status == PVF_OK)
		status = watch_state(device, length);
	device->fresh = false;
	return status;
}

void pvf_device_resumed(struct pvf_device *device, uint32_t generation)
{
	if (generation == device->generation)
		return;
	device->generation = generation;
	device->forgotten = true;
	device->watching = false;
	if (device->phase == PVF_PHASE_IDLE || (device->phase == PVF_PHASE_CLOSED && device->want == PVF_WANT_DOWN)) {
		(void)device->class->release(device, true);
		device->forgotten = false;
		return;
	}
	pvf_device_enter(device, PVF_PHASE_RESUMING, "the domain was resumed");
	pvf_event(&device->event);
}

void pvf_device_free(struct pvf_device *device)
{
	const struct pvf_host *host = device->host;

	forget_backend(device);
	if (device->scratch)
		host->ops->free(host->ctx, device->scratch, device->scratch_bytes);
	if (device->path)
		host->ops->free(host->ctx, device->path, device->path_bytes);
	device->scratch = NULL;
	device->path = NULL;
}
