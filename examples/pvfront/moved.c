/* SPDX-License-Identifier: MIT */
#include "moved.h"

#include <inttypes.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "json.h"
#include "session.h"
#include "units.h"

/* Where the data went is no place for a line about them: --out /dev/stdout. */
static FILE *line_file(const struct session *session)
{
	const char *out = session->options->out;
	struct stat one, other;
	bool same = out != NULL && stat(out, &one) == 0 && fstat(STDOUT_FILENO, &other) == 0 &&
		    one.st_dev == other.st_dev && one.st_ino == other.st_ino;

	return same ? stderr : stdout;
}

void moved_print(const struct session *session, const char *what, const char *file)
{
	const struct outcome *outcome = &session->outcome;
	char size[UNITS_TEXT], rate[UNITS_TEXT], time[UNITS_TEXT];

	(void)fprintf(line_file(session), "vbd %u %s%s%s: %s (sectors %" PRIu64 " to %" PRIu64 ") in %s, %s%s\n",
		      (unsigned int)session->info.virtual_device, what, file != NULL ? " " : "",
		      file != NULL ? file : "", units_bytes(size, outcome->count * 512), outcome->sector,
		      outcome->sector + outcome->count - 1, units_time(time, outcome->seconds * 1e9),
		      units_rate(rate, outcome->seconds > 0 ? (double)outcome->bytes / outcome->seconds : 0),
		      outcome->flushed ? ", flushed" : "");
}

void moved_json(const struct session *session, struct json *json, const char *file)
{
	const struct outcome *outcome = &session->outcome;

	json_number(json, "sector", outcome->sector);
	json_number(json, "count", outcome->count);
	json_number(json, "bytes", outcome->bytes);
	json_real(json, "seconds", outcome->seconds);
	json_bool(json, "flushed", outcome->flushed);
	json_string(json, "file", file);
}
