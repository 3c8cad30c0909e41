/* SPDX-License-Identifier: MIT */
/* `pvfront vbd bench`: chooses the pattern, checks that it may run, runs it as often as asked. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bench.h"
#include "io.h"
#include "range.h"
#include "safety.h"
#include "session.h"
#include "vbd_verbs.h"

static bool choose_pattern(const struct options *options, struct bench_pattern *pattern, struct failure *failure)
{
	const struct bench_pattern *named = options->pattern != NULL ? bench_pattern_find(options->pattern) : NULL;

	if (options->pattern != NULL && named == NULL)
		return fail(failure, CODE_USAGE,
			    "--pattern '%s' is unknown; there are: maxio, maxthroughput, reallife, 4k5050, 32k5050",
			    options->pattern);
	*pattern = (struct bench_pattern){"custom", (uint32_t)options->block, (uint32_t)options->read_percent,
					  (uint32_t)options->random};
	if (named == NULL)
		return true;
	pattern->name = named->name;
	if (!option_given(options, OPTION_BLOCK))
		pattern->block = named->block;
	if (!option_given(options, OPTION_READ_PERCENT))
		pattern->read_percent = named->read_percent;
	if (!option_given(options, OPTION_RANDOM))
		pattern->random_percent = named->random_percent;
	return true;
}

static bool check_compare(const struct options *options, bool writes, struct failure *failure)
{
	struct stat info;

	if (options->compare == NULL)
		return true;
	if (stat(options->compare, &info) != 0 || access(options->compare, writes ? R_OK | W_OK : R_OK) != 0)
		return fail(failure, CODE_USAGE, "--compare %s cannot be used: %s", options->compare, strerror(errno));
	if (!S_ISREG(info.st_mode) && !S_ISBLK(info.st_mode))
		return fail(failure, CODE_USAGE, "--compare %s is neither a file nor a block device", options->compare);
	return !writes || safety_file_is_scratch(options, options->compare, failure);
}

bool vbd_bench_check(const struct options *options, struct failure *failure)
{
	struct bench_pattern pattern = {0};
	bool writes;

	if (!choose_pattern(options, &pattern, failure))
		return false;
	writes = pattern.read_percent < 100;
	if (writes && !options->write)
		return fail(
			failure, CODE_REFUSED,
			"%u %% of the requests of pattern %s write, which changes the device's data and wants --write; "
			"--read 100 only reads",
			100u - pattern.read_percent, pattern.name);
	if (pattern.block % options->sector_size != 0)
		return fail(failure, CODE_USAGE, "--block %u is not a multiple of the sector size, %" PRIu64 " bytes",
			    pattern.block, options->sector_size);
	return check_compare(options, writes, failure);
}

/* A connection of its own: what it reads must not be in the figures. */
static bool probe(struct session *session, const struct bench_pattern *pattern)
{
	bool good = session_connect(session) && range_resolve(session);

	if (good && pattern->read_percent < 100)
		good = io_may_write(session) && safety_device_is_scratch(session);
	if (good && pattern->block % session->info.sector_size != 0)
		good = fail_device(&session->failure, CODE_USAGE, PVF_ALIGN,
				   "a block of %u bytes is not a multiple of the device's sector size, %" PRIu32
				   " bytes",
				   pattern->block, session->info.sector_size);
	if (good && session->outcome.count < pattern->block / 512u)
		good = fail_device(&session->failure, CODE_USAGE, PVF_RANGE,
				   "the range has %" PRIu64 " sectors, less than one block of %u bytes",
				   session->outcome.count, pattern->block);
	session_disconnect(session);
	return good && session->failure.code == CODE_OK && !session_interrupted(session);
}

static bool run_once(struct session *session, struct bench_result *result, uint32_t i)
{
	const struct options *options = session->options;
	uint64_t seed = option_given(options, OPTION_SEED) ? options->seed : 1;
	uint64_t blocks = session->outcome.count / (result->pattern.block / 512u);
	struct bench_picker picker;
	char why[256];

	session->vbd_flags = options->poll ? PVF_VBD_POLL : 0;
	bench_picker_start(&picker, &result->pattern, session->outcome.sector, blocks, seed + i);
	if (!session_connect(session) || !bench_vbd(session, &picker, &result->run[i]) ||
	    session->failure.code != CODE_OK)
		return false;
	if (!bench_check(&result->run[i], why, sizeof(why)))
		return fail(&session->failure, CODE_IO, "the result of run %u is not shown, it cannot be right: %s",
			    i + 1, why);
	result->iops[i] = result->run[i].iops;
	session->outcome.bytes += result->run[i].requests * result->pattern.block;
	session->outcome.seconds += result->run[i].seconds;
	if (options->compare == NULL)
		return true;
	bench_picker_start(&picker, &result->pattern, session->outcome.sector, blocks, seed + i);
	return bench_raw(session, &picker, &result->raw_iops[i]);
}

bool vbd_bench_run(struct session *session)
{
	static struct bench_result result;

	session->outcome.bench = &result;
	if (!choose_pattern(session->options, &result.pattern, &session->failure) || !probe(session, &result.pattern))
		return false;
	for (; result.runs < session->options->repeat; result.runs++)
		if (!run_once(session, &result, result.runs))
			return false;
	result.median = bench_median(result.iops, result.runs, &result.spread);
	if (session->options->compare != NULL) {
		result.raw_median = result.raw_iops[bench_median(result.raw_iops, result.runs, &result.raw_spread)];
		result.overhead = result.raw_median / result.iops[result.median];
	}
	result.complete = true;
	return true;
}
