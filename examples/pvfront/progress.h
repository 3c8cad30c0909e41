/* SPDX-License-Identifier: MIT */
/* A line on the terminal: how far, how fast, how long still. Nothing when stderr is no terminal. */
#ifndef PROGRESS_H
#define PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

struct progress {
	const char *label;
	uint64_t total;   /* bytes */
	uint64_t started; /* nanoseconds */
	uint64_t shown;
	bool terminal;
};

void progress_start(struct progress *progress, const char *label, uint64_t total);
/* Cheap to call often: looks at the clock, draws ten times a second. */
void progress_update(struct progress *progress, uint64_t done);
/* Clears the line. */
void progress_end(struct progress *progress);

/* Monotonic nanoseconds. */
uint64_t progress_now(void);

#endif
