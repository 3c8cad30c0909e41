/* SPDX-License-Identifier: MIT */
/* `pvfront vbd copy`: the whole device, to a file or from one. */
#include <inttypes.h>

#include "input.h"
#include "io.h"
#include "moved.h"
#include "output.h"
#include "range.h"
#include "session.h"
#include "transfer.h"
#include "units.h"
#include "vbd_verbs.h"

struct copy {
	struct failure *failure;
	struct input input;
	struct output output;
};

bool vbd_copy_check(const struct options *options, struct failure *failure)
{
	if ((options->in == NULL) == (options->out == NULL))
		return fail(failure, CODE_USAGE,
			    "vbd copy wants either --out FILE (device to file) or --in FILE (file to "
			    "device)");
	if (options->in != NULL && !options->write)
		return fail(failure, CODE_REFUSED,
			    "vbd copy --in changes the device's data and wants --write for that");
	return input_check(options->in, failure);
}

static bool to_file(void *ctx, uint64_t sector, uint8_t *data, uint32_t bytes)
{
	struct copy *copy = ctx;

	(void)sector;
	return output_write(&copy->output, data, bytes, copy->failure);
}

static bool from_file(void *ctx, uint64_t sector, uint8_t *data, uint32_t bytes)
{
	struct copy *copy = ctx;

	(void)sector;
	return input_read(&copy->input, data, bytes, copy->failure);
}

static bool copy_out(struct session *session, struct transfer *transfer, struct copy *copy)
{
	bool good;

	if (!output_open(&copy->output, session->options->out, &session->failure))
		return false;
	transfer->data = to_file;
	good = transfer_run(session, transfer);
	return output_close(&copy->output, good, &session->failure);
}

static bool copy_in(struct session *session, struct transfer *transfer, struct copy *copy)
{
	uint64_t bytes = transfer->count * 512;
	char has[UNITS_TEXT], wants[UNITS_TEXT];
	bool good = true;

	if (!io_may_write(session) || !input_open(&copy->input, session->options->in, bytes, 0, &session->failure))
		return false;
	if (copy->input.length != bytes)
		good = fail(&session->failure, CODE_USAGE,
			    "%s has %" PRIu64 " bytes (%s)%s, the device %" PRIu64
			    " (%s): a copy wants equal sizes; nothing was written; vbd write writes a part",
			    copy->input.name, copy->input.length, units_bytes(has, copy->input.length),
			    copy->input.length > bytes ? " or more" : "", bytes, units_bytes(wants, bytes));
	transfer->op = PVF_VBD_WRITE;
	transfer->data = from_file;
	good = good && transfer_run(session, transfer) && io_flush_if_offered(session);
	input_close(&copy->input);
	return good;
}

bool vbd_copy_run(struct session *session)
{
	struct copy copy = {.failure = &session->failure};
	struct transfer transfer = {
		.op = PVF_VBD_READ, .depth = (uint32_t)session->options->depth, .label = "copying", .ctx = &copy};

	if (!range_set(session, 0, session->info.sectors))
		return false;
	transfer.count = session->info.sectors;
	return session->options->out != NULL ? copy_out(session, &transfer, &copy) : copy_in(session, &transfer, &copy);
}

void vbd_copy_print(const struct session *session)
{
	if (session->options->out != NULL)
		moved_print(session, "copied to", session->options->out);
	else
		moved_print(session, "copied from", session->options->in);
}

void vbd_copy_json(const struct session *session, struct json *json)
{
	moved_json(session, json, session->options->out != NULL ? session->options->out : session->options->in);
}
