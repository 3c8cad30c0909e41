/* SPDX-License-Identifier: MIT */
#include "range.h"

#include <inttypes.h>

#include "session.h"
#include "units.h"

static bool aligned(struct session *session, const char *what, uint64_t sectors)
{
	uint64_t unit = session->info.sector_size / 512u;

	if (unit <= 1 || sectors % unit == 0)
		return true;
	return fail_device(&session->failure, CODE_USAGE, PVF_ALIGN,
			   "the range's %s, %" PRIu64
			   " sectors of 512 bytes, is not a multiple of the device's sector size, "
			   "%" PRIu32 " bytes; use multiples of %" PRIu64,
			   what, sectors, session->info.sector_size, unit);
}

bool range_set(struct session *session, uint64_t sector, uint64_t count)
{
	uint64_t sectors = session->info.sectors;
	char size[UNITS_TEXT];

	(void)units_bytes(size, sectors * 512);
	if (sectors == 0)
		return fail_device(&session->failure, CODE_USAGE, PVF_RANGE, "the device is empty: it has 0 sectors");
	if (sector >= sectors)
		return fail_device(&session->failure, CODE_USAGE, PVF_RANGE,
				   "sector %" PRIu64 " is past the end: the device has %" PRIu64
				   " sectors (%s), the last one is %" PRIu64,
				   sector, sectors, size, sectors - 1);
	if (count > sectors - sector)
		return fail_device(&session->failure, CODE_USAGE, PVF_RANGE,
				   "%" PRIu64 " sectors from sector %" PRIu64
				   " go past the end: the device has %" PRIu64 " sectors (%s), so %" PRIu64
				   " are left from there",
				   count, sector, sectors, size, sectors - sector);
	if (!aligned(session, "start", sector) || !aligned(session, "length", count))
		return false;
	session->outcome.sector = sector;
	session->outcome.count = count;
	return true;
}

bool range_start(struct session *session, uint64_t *count)
{
	const struct options *options = session->options;
	uint64_t sector = option_given(options, OPTION_OFFSET) ? options->offset / 512 : options->sector;

	*count = option_given(options, OPTION_LENGTH) ? options->length / 512 : options->count;
	return range_set(session, sector, *count);
}

bool range_resolve(struct session *session)
{
	uint64_t count;

	if (!range_start(session, &count))
		return false;
	if (count > 0)
		return true;
	return range_set(session, session->outcome.sector, session->info.sectors - session->outcome.sector);
}
