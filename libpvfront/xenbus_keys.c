/* SPDX-License-Identifier: MIT */
/* Store batches, and the negotiated keys, whose rows are data of the device's class. */
#include "bytes.h"

#include "device.h"

/* Enough for any store that answers at all. */
#define SHORT_CALL_NS 250000000u

/* ---- batches ---- */

/* Room for a batch on the longest directory: paths of directory, slash and key, and values, one of them a path. */
int pvf_device_scratch(struct pvf_device *device)
{
	const struct pvf_host *host = device->host;
	uint32_t longest =
		device->path_bytes > device->backend_path_bytes ? device->path_bytes : device->backend_path_bytes;
	uint32_t bytes = PVF_BATCH_OPS * (longest + 48u + PVF_BATCH_VALUE) + PVF_WIRE_XS_ABS_PATH_MAX;

	char *scratch;

	if (device->scratch && device->scratch_bytes >= bytes)
		return PVF_OK;
	/* The old block stays until the new one is there: without any, the device could not even close. */
	scratch = host->ops->alloc(host->ctx, bytes);
	if (!scratch)
		return PVF_NO_MEMORY;
	if (device->scratch)
		host->ops->free(host->ctx, device->scratch, device->scratch_bytes);
	device->scratch = scratch;
	device->scratch_bytes = bytes;
	return PVF_OK;
}

void pvf_batch_start(struct pvf_device *device)
{
	device->batch.n = 0;
	device->batch.used = 0;
	device->batch.overflow = false;
}

static void *take(struct pvf_device *device, uint32_t bytes)
{
	struct pvf_batch *batch = &device->batch;
	char *at = device->scratch + batch->used;

	if (bytes > device->scratch_bytes - batch->used) {
		batch->overflow = true;
		return NULL;
	}
	batch->used += bytes;
	return at;
}

static char *copy_path(struct pvf_device *device, const char *directory, const char *name)
{
	uint32_t a = pvf_text_length(directory), b = pvf_text_length(name);
	char *path = take(device, a + b + 2u);

	if (!path)
		return NULL;
	memcpy(path, directory, a);
	if (b)
		path[a++] = '/';
	memcpy(path + a, name, b);
	path[a + b] = 0;
	return path;
}

static struct pvf_store_op *add(struct pvf_device *device, uint32_t verb, const char *directory, const char *name,
				uint32_t value_bytes)
{
	struct pvf_batch *batch = &device->batch;
	struct pvf_store_op *op = &batch->ops[batch->n];
	char *path = batch->n < PVF_BATCH_OPS ? copy_path(device, directory, name) : NULL;
	void *value = path ? take(device, value_bytes) : NULL;

	if (!value) {
		batch->overflow = true;
		return NULL;
	}
	memset(op, 0, sizeof(*op));
	op->verb = verb;
	op->path = path;
	op->value = value;
	batch->n++;
	return op;
}

void pvf_batch_read(struct pvf_device *device, const char *directory, const char *name)
{
	struct pvf_store_op *op = add(device, PVF_STORE_READ, directory, name, PVF_BATCH_VALUE);

	if (op)
		op->capacity = PVF_BATCH_VALUE;
}

void pvf_batch_read_path(struct pvf_device *device, const char *directory, const char *name)
{
	struct pvf_store_op *op = add(device, PVF_STORE_READ, directory, name, PVF_WIRE_XS_ABS_PATH_MAX);

	if (op)
		op->capacity = PVF_WIRE_XS_ABS_PATH_MAX;
}

void pvf_batch_write(struct pvf_device *device, const char *directory, const char *name, const char *value)
{
	uint32_t length = pvf_text_length(value);
	struct pvf_store_op *op = add(device, PVF_STORE_WRITE, directory, name, length + 1u);

	if (!op)
		return;
	memcpy(op->value, value, length);
	op->length = length;
}

void pvf_batch_write_number(struct pvf_device *device, const char *directory, const char *name, uint64_t value)
{
	char digits[24];
	struct pvf_text text;

	pvf_text_start(&text, digits, sizeof(digits));
	pvf_text_number(&text, value);
	pvf_batch_write(device, directory, name, digits);
}

void pvf_batch_remove(struct pvf_device *device, const char *directory, const char *name)
{
	(void)add(device, PVF_STORE_REMOVE, directory, name, 0);
}

static void trace_batch(struct pvf_device *device)
{
	for (uint32_t i = 0; i < device->batch.n; i++) {
		const struct pvf_store_op *op = &device->batch.ops[i];
		struct pvf_trace trace = {
			.kind = op->verb == PVF_STORE_READ    ? PVF_TRACE_READ
				: op->verb == PVF_STORE_WRITE ? PVF_TRACE_WRITE
							      : PVF_TRACE_REMOVE,
			.name = op->path,
			.value = op->value,
			.length = op->verb == PVF_STORE_READ && op->length > op->capacity ? op->capacity : op->length,
			.status = op->status,
		};

		if (op->status != PVF_OK && op->verb == PVF_STORE_READ)
			trace.length = 0;
		pvf_device_trace(device, &trace);
	}
}

/*
 * By the phase's deadline, or a phase from now where there is none; but always with time enough for a store that answers.
 * While I/O flows, a store that is silent must not hold it up: no more than that time then.
 */
static uint64_t call_deadline(const struct pvf_device *device, uint64_t now)
{
	uint64_t least = now + SHORT_CALL_NS;

	if (device->phase == PVF_PHASE_CONNECTED)
		return least;
	if (device->deadline == PVF_FOREVER)
		return now + device->phase_ns;
	return device->deadline > least ? device->deadline : least;
}

int pvf_batch_submit(struct pvf_device *device, uint32_t flags)
{
	const struct pvf_host *host = device->host;
	uint64_t deadline = call_deadline(device, host->ops->now(host->ctx));
	int status;

	if (device->batch.overflow)
		return PVF_STORE_TOO_BIG;
	status = host->ops->store(host->ctx, device->batch.ops, device->batch.n, flags, deadline);
	if (status == PVF_TIMEOUT && device->phase != PVF_PHASE_CONNECTED)
		device->silent = true;
	if (device->trace)
		trace_batch(device);
	return status;
}

/* ---- keys ---- */

static void store_number(const struct pvf_key *key, void *negotiated, uint64_t value)
{
	uint8_t *at = (uint8_t *)negotiated + key->offset;
	uint32_t small = (uint32_t)value;

	if (key->type == PVF_KEY_U64)
		memcpy(at, &value, sizeof(value));
	else
		memcpy(at, &small, sizeof(small));
}

void pvf_keys_reset(struct pvf_device *device, bool frontend_too)
{
	for (uint32_t i = 0; i < device->class->nr_keys; i++) {
		const struct pvf_key *key = &device->class->keys[i];

		if (key->side == PVF_KEY_FRONTEND && !frontend_too)
			continue;
		device->missing[i] = 1;
		if (key->type == PVF_KEY_TEXT)
			memset((uint8_t *)device->negotiated + key->offset, 0, key->size);
		else
			store_number(key, device->negotiated, key->fallback);
	}
}

static const char *side_directory(const struct pvf_device *device, enum pvf_key_side side)
{
	return side == PVF_KEY_FRONTEND ? device->path : device->backend_path;
}

void pvf_keys_read(struct pvf_device *device, enum pvf_key_side side)
{
	for (uint32_t i = 0; i < device->class->nr_keys; i++)
		if (device->class->keys[i].side == side)
			pvf_batch_read(device, side_directory(device, side), device->class->keys[i].name);
}

static bool power_of_two(uint64_t value)
{
	return value && (value & (value - 1u)) == 0;
}

/* True when the value is what the row allows; it is stored then. */
static bool take_value(const struct pvf_key *key, void *negotiated, const struct pvf_store_op *op)
{
	uint64_t number;

	if (op->status != PVF_OK || op->length > op->capacity)
		return false;
	if (key->type == PVF_KEY_TEXT) {
		char *at = (char *)negotiated + key->offset;

		if (op->length >= key->size)
			return false;
		memset(at, 0, key->size);
		memcpy(at, op->value, op->length);
		return true;
	}
	if (!pvf_text_parse(op->value, op->length, &number) || number < key->min || number > key->max)
		return false;
	if (key->type == PVF_KEY_POWER2 && !power_of_two(number))
		return false;
	store_number(key, negotiated, number);
	return true;
}

static int garbage_error(struct pvf_device *device, const struct pvf_key *key, const struct pvf_store_op *op)
{
	struct pvf_text text = pvf_device_text(device, PVF_GARBAGE);

	pvf_text_path(&text, side_directory(device, (enum pvf_key_side)key->side));
	pvf_text_add(&text, "/");
	pvf_text_add(&text, key->name);
	if (op->status != PVF_OK && op->status != PVF_STORE_TOO_BIG) {
		pvf_text_add(&text, " cannot be read: ");
		pvf_text_add(&text, pvf_status_text(op->status));
		return op->status;
	}
	pvf_text_add(&text, " = \"");
	pvf_text_peer(&text, op->value, op->length > op->capacity ? op->capacity : op->length);
	if (key->type == PVF_KEY_TEXT) {
		pvf_text_add(&text, "\" is too long");
		return PVF_GARBAGE;
	}
	pvf_text_add(&text,
		     key->type == PVF_KEY_POWER2 ? "\", expected a power of two from " : "\", expected a number from ");
	pvf_text_number(&text, key->min);
	pvf_text_add(&text, " to ");
	pvf_text_number(&text, key->max);
	return PVF_GARBAGE;
}

int pvf_keys_take(struct pvf_device *device, enum pvf_key_side side, uint32_t first)
{
	uint32_t at = first;

	for (uint32_t i = 0; i < device->class->nr_keys; i++) {
		const struct pvf_key *key = &device->class->keys[i];
		const struct pvf_store_op *op;

		if (key->side != side)
			continue;
		op = &device->batch.ops[at++];
		device->missing[i] = op->status == PVF_STORE_NOT_FOUND || op->status == PVF_STORE_DENIED;
		if (take_value(key, device->negotiated, op))
			continue;
		if (!device->missing[i] && key->garbage_is_error)
			return garbage_error(device, key, op);
		if (key->type != PVF_KEY_TEXT)
			store_number(key, device->negotiated, key->fallback);
	}
	return PVF_OK;
}

const struct pvf_key *pvf_keys_missing(const struct pvf_device *device, enum pvf_key_side side)
{
	for (uint32_t i = 0; i < device->class->nr_keys; i++) {
		const struct pvf_key *key = &device->class->keys[i];

		if (key->side == side && key->required && device->missing[i])
			return key;
	}
	return NULL;
}
