/* SPDX-License-Identifier: MIT */
#include "progress.h"

#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "units.h"

#define REDRAW_NS 100000000u

uint64_t progress_now(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

void progress_start(struct progress *progress, const char *label, uint64_t total)
{
	progress->label = label;
	progress->total = total;
	progress->started = progress_now();
	progress->shown = 0;
	progress->terminal = isatty(STDERR_FILENO) == 1;
}

void progress_update(struct progress *progress, uint64_t done)
{
	char sofar[UNITS_TEXT], total[UNITS_TEXT], rate[UNITS_TEXT], left[UNITS_TEXT];
	uint64_t now;
	double seconds, speed;

	if (!progress->terminal)
		return;
	now = progress_now();
	if (now - progress->shown < REDRAW_NS && done < progress->total)
		return;
	progress->shown = now;
	seconds = (double)(now - progress->started) / 1e9;
	speed = seconds > 0 ? (double)done / seconds : 0;
	(void)fprintf(stderr, "\r%s  %s of %s  %3u %%  %s  ETA %s\033[K", progress->label, units_bytes(sofar, done),
		      units_bytes(total, progress->total),
		      progress->total > 0 ? (unsigned int)(100.0 * (double)done / (double)progress->total) : 100u,
		      units_rate(rate, speed),
		      speed > 0 ? units_clock(left, (uint64_t)((double)(progress->total - done) / speed + 0.5)) : "?");
	(void)fflush(stderr);
}

void progress_end(struct progress *progress)
{
	if (progress->terminal && progress->shown != 0) {
		(void)fputs("\r\033[K", stderr);
		(void)fflush(stderr);
	}
	progress->terminal = false;
}
