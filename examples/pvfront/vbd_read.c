/* SPDX-License-Identifier: MIT */
/* `pvfront vbd read` */
#include <unistd.h>

#include "hexdump.h"
#include "json.h"
#include "moved.h"
#include "output.h"
#include "range.h"
#include "session.h"
#include "transfer.h"
#include "vbd_verbs.h"

struct sink {
	struct failure *failure;
	struct output output;
	struct hexdump dump;
	bool terminal;
};

bool vbd_read_check(const struct options *options, struct failure *failure)
{
	if (options->json && options->out == NULL)
		return fail(failure, CODE_USAGE,
			    "vbd read with --json wants --out FILE: stdout is taken by the report");
	return true;
}

static bool take(void *ctx, uint64_t sector, uint8_t *data, uint32_t bytes)
{
	struct sink *sink = ctx;

	if (!sink->terminal)
		return output_write(&sink->output, data, bytes, sink->failure);
	return hexdump_print(&sink->dump, sector * 512, data, bytes) ||
	       fail(sink->failure, CODE_IO, "stdout cannot be written");
}

bool vbd_read_run(struct session *session)
{
	struct sink sink = {.failure = &session->failure,
			    .terminal = session->options->out == NULL && isatty(STDOUT_FILENO) == 1};
	struct transfer transfer = {.op = PVF_VBD_READ,
				    .depth = (uint32_t)session->options->depth,
				    .label = session->options->out != NULL ? "reading" : NULL,
				    .data = take,
				    .ctx = &sink};
	bool good;

	if (!range_resolve(session) || !output_open(&sink.output, session->options->out, &session->failure))
		return false;
	transfer.sector = session->outcome.sector;
	transfer.count = session->outcome.count;
	good = transfer_run(session, &transfer);
	return output_close(&sink.output, good, &session->failure);
}

void vbd_read_print(const struct session *session)
{
	if (session->options->out != NULL)
		moved_print(session, "read to", session->options->out);
}

void vbd_read_json(const struct session *session, struct json *json)
{
	moved_json(session, json, session->options->out);
}
