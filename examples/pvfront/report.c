/* SPDX-License-Identifier: MIT */
#include "report.h"

#include <errno.h>
#include <signal.h>
#include <string.h>

#include "json.h"
#include "session.h"
#include "statistics.h"
#include "vbd_name.h"
#include "verbs.h"

static const char *signal_name(int number)
{
	return number == SIGINT ? "SIGINT" : number == SIGTERM ? "SIGTERM" : number == SIGHUP ? "SIGHUP" : "a signal";
}

static void error_json(const struct session *session, int signal, struct json *json)
{
	const struct failure *failure = &session->failure;

	if (failure->code == CODE_OK && signal == 0) {
		json_null(json, "error");
		return;
	}
	json_object(json, "error");
	if (failure->code != CODE_OK) {
		json_string(json, "kind", failure_kind(failure->code));
		json_string(json, "status", failure->status != PVF_OK ? pvf_status_name(failure->status) : NULL);
		json_string(json, "message", failure->text);
	} else {
		json_string(json, "kind", "signal");
		json_null(json, "status");
		json_string(json, "message", signal_name(signal));
	}
	if (failure->has_sector)
		json_number(json, "sector", failure->sector);
	else
		json_null(json, "sector");
	json_object_end(json);
}

static void negotiated_json(const struct session *session, struct json *json)
{
	const struct pvf_vbd_info *info = &session->info;

	if (!session->was_connected) {
		json_null(json, "negotiated");
		return;
	}
	json_object(json, "negotiated");
	json_number(json, "sectors", info->sectors);
	json_number(json, "sector_size", info->sector_size);
	json_number(json, "physical_sector_size", info->physical_sector_size);
	json_number(json, "info", info->info);
	json_number(json, "ring_order", info->ring_order);
	json_number(json, "ring_entries", info->ring_entries);
	json_number(json, "queues", info->queues);
	json_number(json, "max_segments", info->max_segments);
	json_number(json, "max_ring_page_order", info->max_ring_page_order);
	json_number(json, "max_queues", info->max_queues);
	json_number(json, "max_indirect", info->max_indirect);
	json_number(json, "backend_domid", info->backend_domid);
	json_bool(json, "read_only", info->read_only);
	json_bool(json, "persistent", info->persistent);
	json_bool(json, "flush", info->flush);
	json_bool(json, "trusted", info->trusted);
	json_string(json, "mode", info->mode);
	json_string(json, "device_type", info->device_type);
	json_string(json, "path", info->path);
	json_string(json, "backend_path", info->backend_path);
	json_object_end(json);
}

static void numbers_json(const struct named_number *numbers, uint32_t n, struct json *json, const char *name)
{
	if (n == 0) {
		json_null(json, name);
		return;
	}
	json_object(json, name);
	for (uint32_t i = 0; i < n; i++)
		json_number(json, numbers[i].name, numbers[i].value);
	json_object_end(json);
}

static void device_json(const struct session *session, struct json *json)
{
	char name[VBD_NAME_TEXT];

	if (session->options->verb == NULL) {
		json_null(json, "device");
		return;
	}
	(void)vbd_name(name, session_device(session));
	json_object(json, "device");
	json_number(json, "virtual_device", session_device(session));
	json_string(json, "name", name[0] != '\0' ? name : NULL);
	json_string(json, "image", session->options->image);
	json_object_end(json);
}

static void whole_json(const struct session *session, int signal, int code)
{
	const struct options *options = session->options;
	struct json json = {.file = stdout};

	json_object(&json, NULL);
	json_string(&json, "command", options->verb != NULL ? options->verb->name : NULL);
	json_string(&json, "host", options->host);
	device_json(session, &json);
	json_string(&json, "status", code == CODE_OK ? "ok" : "error");
	json_signed(&json, "exit", code);
	error_json(session, signal, &json);
	negotiated_json(session, &json);
	if (session->was_connected)
		statistics_json(&session->statistics, &json, "frontend");
	else
		json_null(&json, "frontend");
	numbers_json(session->counters, session->nr_counters, &json, "backend");
	numbers_json(session->held, session->nr_held, &json, "held");
	if (options->trace)
		trace_json(&session->trace, &json);
	if (options->verb != NULL && options->verb->json != NULL) {
		json_object(&json, options->verb->name);
		options->verb->json(session, &json);
		json_object_end(&json);
	}
	json_object_end(&json);
	(void)fputc('\n', stdout);
}

/* A key's value or a file's name in a sentence may hold what a terminal takes for a command. */
static void print_sentence(const char *text)
{
	for (; *text != '\0'; text++) {
		unsigned char byte = (unsigned char)*text;
		if (byte < 0x20 || byte == 0x7f)
			(void)fprintf(stderr, "\\x%02x", byte);
		else
			(void)fputc(byte, stderr);
	}
	(void)fputc('\n', stderr);
}

static void print_failure(const struct session *session, int signal)
{
	const struct failure *failure = &session->failure;

	if (failure->code == CODE_OK && signal == 0)
		return;
	if (failure->code == CODE_OK) {
		(void)fprintf(stderr, "pvfront: ended by %s; the device was closed cleanly\n", signal_name(signal));
		return;
	}
	if (failure->about_device)
		(void)fprintf(stderr, "pvfront: vbd %u: ", (unsigned int)session_device(session));
	else
		(void)fputs("pvfront: ", stderr);
	print_sentence(failure->text);
}

int report(const struct session *session, int signal)
{
	const struct options *options = session->options;
	int code = signal != 0 && session->failure.code == CODE_OK ? 128 + signal : (int)session->failure.code;

	if (options->json)
		whole_json(session, signal, code);
	else if (code == CODE_OK && options->verb != NULL && options->verb->print != NULL)
		options->verb->print(session);
	if (!options->json)
		print_failure(session, signal);
	errno = 0;
	if ((fflush(stdout) != 0 || ferror(stdout)) && code == CODE_OK) {
		(void)fprintf(stderr, "pvfront: stdout cannot be written: %s\n",
			      errno != 0 ? strerror(errno) : "an earlier write failed");
		return CODE_IO;
	}
	return code;
}
