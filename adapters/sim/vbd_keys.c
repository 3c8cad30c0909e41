/* SPDX-License-Identifier: MIT */
/*
 * Batches of store operations of the reference backend. What it would write is replaced or suppressed by the owner's
 * overrides here and nowhere else, so that no step of the handshake can forget them (FEATURES X06).
 */
#include "vbd_back.h"
#include "vbd_text.h"

#define KEY_DEADLINE_NS 5000000000u
#define KEY_CONFLICTS 1000u

bool vbd_key_override(const struct pvf_sim_vbd_options *options, const char *name, const char **value, uint32_t *length)
{
	bool found = false;

	/* The last one given counts. */
	for (uint32_t i = 0; i < options->nr_backend_keys; i++) {
		const char *text = options->backend_keys[i];
		uint32_t equals = 0;

		while (text[equals] && text[equals] != '=')
			equals++;
		if (!text[equals] || !vbd_text_is(text, equals, name))
			continue;
		*value = text + equals + 1;
		*length = vbd_text_length(*value);
		found = true;
	}
	return found;
}

void vbd_keys_start(struct vbd_back *back)
{
	back->nr_keys = 0;
}

static struct pvf_store_op *add(struct vbd_back *back, enum pvf_store_verb verb, const char *directory,
				const char *name)
{
	struct pvf_store_op *op = &back->keys[back->nr_keys];
	char *path = back->paths[back->nr_keys];
	struct vbd_text text;

	vbd_text_start(&text, path, VBD_PATH);
	vbd_text_add(&text, directory);
	if (name) {
		vbd_text_add(&text, "/");
		vbd_text_add(&text, name);
	}
	*op = (struct pvf_store_op){
		.verb = verb,
		.path = path,
		.value = back->values[back->nr_keys],
		.capacity = VBD_VALUE,
	};
	back->nr_keys++;
	return op;
}

void vbd_keys_read(struct vbd_back *back, const char *directory, const char *name)
{
	add(back, PVF_STORE_READ, directory, name);
}

void vbd_keys_remove(struct vbd_back *back, const char *path)
{
	add(back, PVF_STORE_REMOVE, path, NULL);
}

void vbd_keys_write(struct vbd_back *back, const char *name, const char *value)
{
	uint32_t length = vbd_text_length(value);
	struct pvf_store_op *op;

	if (vbd_key_override(back->backend->options, name, &value, &length) && !length)
		return;
	op = add(back, PVF_STORE_WRITE, back->backend->path, name);
	/* The store only reads a WRITE's value; the override's bytes or the caller's literal. */
	op->value = (void *)(uintptr_t)value;
	op->length = length;
}

void vbd_keys_write_at(struct vbd_back *back, const char *path, const char *value)
{
	struct pvf_store_op *op = add(back, PVF_STORE_WRITE, path, NULL);

	op->value = (void *)(uintptr_t)value;
	op->length = vbd_text_length(value);
}

void vbd_keys_write_number(struct vbd_back *back, const char *name, uint64_t number)
{
	char *digits = back->values[back->nr_keys];
	struct vbd_text text;

	vbd_text_start(&text, digits, VBD_VALUE);
	vbd_text_number(&text, number);
	vbd_keys_write(back, name, digits);
}

int vbd_keys_run(struct vbd_back *back, uint32_t flags)
{
	const struct pvf_host *host = back->host;
	uint64_t deadline = host->ops->now(host->ctx) + KEY_DEADLINE_NS;
	int status = PVF_OK;

	if (!back->nr_keys)
		return PVF_OK;
	/* A conflict means that nothing happened; what is written here does not depend on what was read in between. */
	for (uint32_t i = 0; i < KEY_CONFLICTS; i++) {
		status = host->ops->store(host->ctx, back->keys, back->nr_keys, flags, deadline);
		if (status != PVF_STORE_CONFLICT)
			break;
	}
	if (status != PVF_OK)
		vbd_back_warn(back, "vbd backend: the store refused a step of the handshake");
	return status;
}

bool vbd_keys_number(const struct vbd_back *back, uint32_t index, uint32_t *number)
{
	const struct pvf_store_op *op = &back->keys[index];

	return op->status == PVF_OK && op->length <= op->capacity && vbd_text_parse(op->value, op->length, number);
}
