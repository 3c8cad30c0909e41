/* SPDX-License-Identifier: MIT */
#include "trace.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "json.h"
#include "progress.h"

#define SHOWN_BYTES 160u

struct trace_step {
	uint64_t at; /* nanoseconds since the start */
	enum pvf_trace_kind kind;
	enum pvf_phase from, phase;
	uint32_t frontend_state, backend_state;
	int32_t status;
	uint32_t length;
	char *name, *value, *text; /* NULL: none */
};

static const char *const kind_names[] = {
	[PVF_TRACE_PHASE] = "phase", [PVF_TRACE_STATE] = "state", [PVF_TRACE_PEER] = "peer",
	[PVF_TRACE_READ] = "read",   [PVF_TRACE_WRITE] = "write", [PVF_TRACE_REMOVE] = "remove",
};

/* A state's text is its name, which is shown anyway. */
static bool says_more(enum pvf_trace_kind kind, const char *text)
{
	return kind != PVF_TRACE_STATE && kind != PVF_TRACE_PEER && text != NULL && text[0] != '\0';
}

/* A key's value is the backend's: it may hold anything, also what a terminal takes for a command. */
static void print_value(const char *value, uint32_t length)
{
	(void)fputs(" = \"", stderr);
	for (uint32_t i = 0; i < length && i < SHOWN_BYTES; i++) {
		unsigned char byte = (unsigned char)value[i];
		if (byte >= 0x20 && byte < 0x7f && byte != '"' && byte != '\\')
			(void)fputc(byte, stderr);
		else
			(void)fprintf(stderr, "\\x%02x", byte);
	}
	if (length > SHOWN_BYTES)
		(void)fprintf(stderr, "\"... (%u bytes)", length);
	else
		(void)fputc('"', stderr);
}

static void print_key(const struct pvf_trace *step)
{
	(void)fprintf(stderr, "%-6s %s", kind_names[step->kind], step->name);
	if (step->status == PVF_STORE_NOT_FOUND)
		(void)fputs(": not there", stderr);
	else if (step->status != PVF_OK)
		(void)fprintf(stderr, ": %s (%s)", pvf_status_text(step->status), pvf_status_name(step->status));
	else if (step->kind != PVF_TRACE_REMOVE && step->value != NULL)
		print_value(step->value, step->length);
}

static void print_step(uint64_t at, const struct pvf_trace *step)
{
	(void)fprintf(stderr, "[%4u.%06u] ", (unsigned int)(at / 1000000000u), (unsigned int)(at / 1000u % 1000000u));
	switch (step->kind) {
	case PVF_TRACE_PHASE:
		(void)fprintf(stderr, "phase  %s -> %s", pvf_phase_name(step->from), pvf_phase_name(step->phase));
		break;
	case PVF_TRACE_STATE:
		(void)fprintf(stderr, "state  frontend %u (%s)", step->frontend_state,
			      pvf_state_name(step->frontend_state));
		break;
	case PVF_TRACE_PEER:
		(void)fprintf(stderr, "state  backend %u (%s)", step->backend_state,
			      pvf_state_name(step->backend_state));
		break;
	case PVF_TRACE_READ:
	case PVF_TRACE_WRITE:
	case PVF_TRACE_REMOVE:
		print_key(step);
		break;
	}
	if (says_more(step->kind, step->text))
		(void)fprintf(stderr, ": %s", step->text);
	(void)fputc('\n', stderr);
}

static char *copy(const char *bytes, size_t length)
{
	char *copied = bytes != NULL ? malloc(length + 1) : NULL;

	if (copied != NULL) {
		memcpy(copied, bytes, length);
		copied[length] = '\0';
	}
	return copied;
}

static void keep_step(struct trace *trace, uint64_t at, const struct pvf_trace *step)
{
	struct trace_step *kept;

	if (trace->steps == NULL)
		trace->steps = calloc(TRACE_MAX_STEPS, sizeof(*trace->steps));
	if (trace->steps == NULL || trace->nr_steps == TRACE_MAX_STEPS) {
		trace->dropped++;
		return;
	}
	kept = &trace->steps[trace->nr_steps++];
	kept->at = at;
	kept->kind = step->kind;
	kept->from = step->from;
	kept->phase = step->phase;
	kept->frontend_state = step->frontend_state;
	kept->backend_state = step->backend_state;
	kept->status = step->status;
	kept->length = step->value != NULL ? step->length : 0;
	kept->name = step->name != NULL ? copy(step->name, strlen(step->name)) : NULL;
	kept->value = copy(step->value, kept->length);
	kept->text = step->text != NULL ? copy(step->text, strlen(step->text)) : NULL;
}

void trace_step(void *ctx, const struct pvf_trace *step)
{
	struct trace *trace = ctx;
	uint64_t at = progress_now() - trace->started;

	if (trace->keep)
		keep_step(trace, at, step);
	else
		print_step(at, step);
}

static void step_json(const struct trace_step *step, struct json *json)
{
	json_object(json, NULL);
	json_number(json, "at_us", step->at / 1000);
	json_string(json, "kind", kind_names[step->kind]);
	switch (step->kind) {
	case PVF_TRACE_PHASE:
		json_string(json, "from", pvf_phase_name(step->from));
		json_string(json, "phase", pvf_phase_name(step->phase));
		break;
	case PVF_TRACE_STATE:
	case PVF_TRACE_PEER:
		json_number(json, "frontend_state", step->frontend_state);
		json_number(json, "backend_state", step->backend_state);
		break;
	case PVF_TRACE_READ:
	case PVF_TRACE_WRITE:
	case PVF_TRACE_REMOVE:
		json_string(json, "name", step->name);
		json_string(json, "status", pvf_status_name(step->status));
		if (step->value != NULL)
			json_bytes(json, "value", step->value, step->length);
		else
			json_null(json, "value");
		break;
	}
	if (says_more(step->kind, step->text))
		json_string(json, "text", step->text);
	json_object_end(json);
}

void trace_json(const struct trace *trace, struct json *json)
{
	json_array(json, "trace");
	for (uint32_t i = 0; i < trace->nr_steps; i++)
		step_json(&trace->steps[i], json);
	json_array_end(json);
	json_number(json, "trace_dropped", trace->dropped);
}

void trace_free(struct trace *trace)
{
	for (uint32_t i = 0; i < trace->nr_steps; i++) {
		free(trace->steps[i].name);
		free(trace->steps[i].value);
		free(trace->steps[i].text);
	}
	free(trace->steps);
}
