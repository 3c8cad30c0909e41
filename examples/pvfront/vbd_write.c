/* SPDX-License-Identifier: MIT */
/* `pvfront vbd write` */
#include <inttypes.h>

#include "input.h"
#include "io.h"
#include "json.h"
#include "moved.h"
#include "range.h"
#include "session.h"
#include "transfer.h"
#include "vbd_verbs.h"

struct source {
	struct failure *failure;
	struct input input;
};

bool vbd_write_check(const struct options *options, struct failure *failure)
{
	if (!options->write)
		return fail(failure, CODE_REFUSED, "vbd write changes the device's data and wants --write for that");
	return input_check(options->in, failure);
}

static bool give(void *ctx, uint64_t sector, uint8_t *data, uint32_t bytes)
{
	struct source *source = ctx;

	(void)sector;
	return input_read(&source->input, data, bytes, source->failure);
}

/* How much is written: what --count says, else what the input has. Nothing when the two do not fit. */
static bool choose_count(struct session *session, const struct input *input, uint64_t count)
{
	uint32_t unit = session->info.sector_size;

	if (input->length == 0)
		return fail(&session->failure, CODE_USAGE, "%s is empty: there is nothing to write", input->name);
	if (count != 0 && input->length < count * 512)
		return fail(&session->failure, CODE_USAGE,
			    "%s has %" PRIu64 " bytes, but %" PRIu64 " sectors need %" PRIu64 "; nothing was written",
			    input->name, input->length, count, count * 512);
	/* Of a pipe that is too long, only as much is known as shows that. */
	if (count == 0 && input->length > (session->info.sectors - session->outcome.sector) * 512)
		return range_set(session, session->outcome.sector, (input->length + 511) / 512);
	if (count == 0 && input->length % unit != 0)
		return fail(&session->failure, CODE_USAGE,
			    "%s has %" PRIu64 " bytes, which is not a multiple of the sector size, %" PRIu32
			    "; nothing was written; pad it, or give --count",
			    input->name, input->length, unit);
	return range_set(session, session->outcome.sector, count != 0 ? count : input->length / 512);
}

bool vbd_write_run(struct session *session)
{
	struct source source = {.failure = &session->failure};
	struct transfer transfer = {.op = PVF_VBD_WRITE,
				    .depth = (uint32_t)session->options->depth,
				    .label = "writing",
				    .data = give,
				    .ctx = &source};
	uint64_t count;
	bool good;

	if (!io_may_write(session) || !range_start(session, &count))
		return false;
	if (!input_open(&source.input, session->options->in, (session->info.sectors - session->outcome.sector) * 512,
			count * 512, &session->failure))
		return false;
	good = choose_count(session, &source.input, count);
	transfer.sector = session->outcome.sector;
	transfer.count = session->outcome.count;
	good = good && transfer_run(session, &transfer) && io_flush_if_offered(session);
	input_close(&source.input);
	return good;
}

void vbd_write_print(const struct session *session)
{
	moved_print(session, "written", NULL);
}

void vbd_write_json(const struct session *session, struct json *json)
{
	moved_json(session, json, session->options->in);
}
