/* SPDX-License-Identifier: MIT */
#include "options.h"

#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>

#include "verbs.h"

static bool same_file(const char *a, const char *b)
{
	struct stat one, other;

	return stat(a, &one) == 0 && stat(b, &other) == 0 && one.st_dev == other.st_dev && one.st_ino == other.st_ino;
}

static bool image_is_apart(const struct options *options, const char *name, const char *file, struct failure *failure)
{
	if (file == NULL || options->image == NULL || !same_file(options->image, file))
		return true;
	return fail(failure, CODE_USAGE, "--%s %s is the same file as --image %s; name another one", name, file,
		    options->image);
}

static bool exclusive(const struct options *options, enum option_id one, enum option_id other, struct failure *failure)
{
	if (!option_given(options, one) || !option_given(options, other))
		return true;
	return fail(failure, CODE_USAGE, "--%s and --%s say the same in different units; give one of them",
		    option_table[one].name, option_table[other].name);
}

/* A range in bytes has to be whole sectors; what the device's sectors are is checked again when it is known. */
static bool whole_sectors(const struct options *options, enum option_id id, uint64_t bytes, struct failure *failure)
{
	if (!option_given(options, id) || bytes % options->sector_size == 0)
		return true;
	return fail(failure, CODE_USAGE,
		    "--%s %" PRIu64 " is not a multiple of the sector size, %" PRIu64
		    " bytes; the next lower one is %" PRIu64,
		    option_table[id].name, bytes, options->sector_size, bytes - bytes % options->sector_size);
}

static bool range_is_well_formed(const struct options *options, struct failure *failure)
{
	return exclusive(options, OPTION_SECTOR, OPTION_OFFSET, failure) &&
	       exclusive(options, OPTION_COUNT, OPTION_LENGTH, failure) &&
	       whole_sectors(options, OPTION_OFFSET, options->offset, failure) &&
	       whole_sectors(options, OPTION_LENGTH, options->length, failure) &&
	       whole_sectors(options, OPTION_SECTOR, options->sector * 512, failure) &&
	       whole_sectors(options, OPTION_COUNT, options->count * 512, failure);
}

bool options_check(const struct options *options, struct failure *failure)
{
	if (!options->device_class)
		return fail(failure, CODE_USAGE,
			    "what to do is missing; as: pvfront vbd info --image disk.img "
			    "(more: pvfront --help)");
	if (options->verb == NULL)
		return fail(failure, CODE_USAGE,
			    "the verb is missing after 'vbd'; there are: info, read, write, verify, "
			    "copy, bench, flush");
	if ((options->sector_size & (options->sector_size - 1)) != 0)
		return fail(failure, CODE_USAGE, "--sector-size %" PRIu64 " is no power of two; as 512 or 4096",
			    options->sector_size);
	if (options->write && options->read_only)
		return fail(failure, CODE_USAGE, "--write and --read-only contradict each other; give one of them");
	if (options->scratch && !options->write)
		return fail(failure, CODE_USAGE, "--scratch only says something together with --write");
	if (!range_is_well_formed(options, failure))
		return false;
	if (!image_is_apart(options, "out", options->out, failure) ||
	    !image_is_apart(options, "in", options->in, failure))
		return false;
	return options->verb->check == NULL || options->verb->check(options, failure);
}
