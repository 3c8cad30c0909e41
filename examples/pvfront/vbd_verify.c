/* SPDX-License-Identifier: MIT */
/* `pvfront vbd verify`: a pattern out, all of it, then back, all of it. */
#include <inttypes.h>
#include <string.h>

#include "io.h"
#include "json.h"
#include "moved.h"
#include "pattern.h"
#include "progress.h"
#include "range.h"
#include "safety.h"
#include "session.h"
#include "transfer.h"
#include "vbd_verbs.h"

struct verify {
	uint64_t seed;
	uint64_t bad;                 /* sectors that differ */
	uint64_t first;               /* the first of them … */
	uint8_t found[PATTERN_BYTES]; /* … and what it holds */
};

static bool write_pattern(void *ctx, uint64_t sector, uint8_t *data, uint32_t bytes)
{
	const struct verify *verify = ctx;

	for (uint32_t at = 0; at < bytes; at += PATTERN_BYTES)
		pattern_fill(data + at, sector + at / 512u, verify->seed);
	return true;
}

static bool compare_pattern(void *ctx, uint64_t sector, uint8_t *data, uint32_t bytes)
{
	struct verify *verify = ctx;

	for (uint32_t at = 0; at < bytes; at += PATTERN_BYTES) {
		uint8_t expected[PATTERN_BYTES], found[PATTERN_BYTES];

		/* Copied before it is judged: the backend may still change the page (XSA-155). */
		memcpy(found, data + at, PATTERN_BYTES);
		pattern_fill(expected, sector + at / 512u, verify->seed);
		if (memcmp(found, expected, PATTERN_BYTES) == 0)
			continue;
		if (verify->bad++ == 0) {
			verify->first = sector + at / 512u;
			memcpy(verify->found, found, PATTERN_BYTES);
		}
	}
	return true;
}

static bool mismatch(struct session *session, const struct verify *verify)
{
	uint8_t expected[PATTERN_BYTES];
	uint64_t other;
	uint32_t byte = 0, bytes = 0;

	session->outcome.bad_sectors = verify->bad;
	session->failure.has_sector = true;
	session->failure.sector = verify->first;
	if (pattern_recognise(verify->found, verify->seed, &other))
		return fail_device(&session->failure, CODE_IO, PVF_IO,
				   "verify: sector %" PRIu64 " is the first of %" PRIu64 " bad ones of %" PRIu64
				   ": it holds what was written to sector %" PRIu64
				   "; the backend or its disk misplaces data",
				   verify->first, verify->bad, session->outcome.count, other);
	pattern_fill(expected, verify->first, verify->seed);
	for (uint32_t i = PATTERN_BYTES; i-- > 0;)
		if (expected[i] != verify->found[i]) {
			byte = i;
			bytes++;
		}
	return fail_device(&session->failure, CODE_IO, PVF_IO,
			   "verify: sector %" PRIu64 " is the first of %" PRIu64 " bad ones of %" PRIu64 ": %" PRIu32
			   " of its 512 bytes differ, the first at byte %" PRIu32
			   " (0x%02x instead of 0x%02x); the backend or its disk damages data",
			   verify->first, verify->bad, session->outcome.count, bytes, byte, verify->found[byte],
			   expected[byte]);
}

bool vbd_verify_run(struct session *session)
{
	const struct options *options = session->options;
	struct verify verify = {.seed = option_given(options, OPTION_SEED) ? options->seed : progress_now()};
	struct transfer transfer = {.op = PVF_VBD_WRITE,
				    .depth = (uint32_t)options->depth,
				    .label = "writing",
				    .data = write_pattern,
				    .ctx = &verify};

	session->outcome.seed = verify.seed;
	if (!io_may_write(session) || !range_resolve(session) || !safety_device_is_scratch(session))
		return false;
	transfer.sector = session->outcome.sector;
	transfer.count = session->outcome.count;
	if (!transfer_run(session, &transfer) || !io_flush_if_offered(session))
		return false;
	transfer.op = PVF_VBD_READ;
	transfer.label = "reading back";
	transfer.data = compare_pattern;
	return transfer_run(session, &transfer) && (verify.bad == 0 || mismatch(session, &verify));
}

void vbd_verify_print(const struct session *session)
{
	moved_print(session, "verified, every sector came back", NULL);
}

void vbd_verify_json(const struct session *session, struct json *json)
{
	moved_json(session, json, NULL);
	json_number(json, "seed", session->outcome.seed);
	json_number(json, "bad_sectors", session->outcome.bad_sectors);
}
